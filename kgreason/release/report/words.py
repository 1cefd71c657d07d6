"""Words of reports: leads, limits, what each term means, and two sentences about a release (what was done, how safe).

A page shows a definition itself (it has no network); `Term.link` is the page of the documentation that says more.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.definition import Guarantee
from kgreason.isomorphism.verification.verdict import Examined, Verdict

if TYPE_CHECKING:
    from jinja2.environment import TemplateModule

DOCUMENTATION = "docs/"
"""Where the pages of the documentation are, relative to the project; links of terms are relative to it."""


@dataclass(frozen=True)
class Term:
    """A word of the reports.

    Attributes
    ----------
    name
        As reports write it.
    definition
        One or two sentences.
    link
        Page and section below `DOCUMENTATION`.
    """

    name: str
    definition: str
    link: str

    @property
    def anchor(self) -> str:
        """Identifier of the definition within a page.

        Examples
        --------
        >>> TERMS["δ-anonymity"].anchor, TERMS["(k,x)-isomorphism"].anchor
        ('term-d-anonymity', 'term-k-x-isomorphism')
        """
        plain = self.name.lower().replace("△", " sym").replace("δ", "d")
        words = "".join(c if c.isascii() and c.isalnum() else " " for c in plain).split()
        return "-".join(["term", *words])


def _joined(found: Any) -> Any:
    """Texts in whose file line ends are blanks."""
    if isinstance(found, str):
        return " ".join(found.split())
    return {name: _joined(value) for name, value in found.items()}


_READ = _joined(tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8")))
TEXTS: dict[str, dict[str, str]] = _READ["texts"]
"""Leads and limits by family."""
FILES: dict[str, dict[str, str]] = _READ["files"]
"""What the files of a release hold, by family."""
TERMS: Mapping[str, Term] = MappingProxyType(
    {name: Term(name, text, link) for link, terms in _READ["terms"].items() for name, text in terms.items()}
)
"""All words by name."""


def term_of(condition: str) -> str:
    """Name in `TERMS` of a condition that a verdict names; empty if there is none.

    Examples
    --------
    >>> term_of("incoming sums of own"), term_of("images of 2 vertices"), term_of("labels")
    ('incoming sums', 'images', 'labels')
    """
    name = condition.split(" of ")[0]
    return name if name in TERMS else ""


SHARED = TEXTS["shared"]
STATES = {
    "holds": "holds",
    "given up": "holds within parts",
    "undecided": "was not decided",
    "fails": "does not hold",
}
METHODS = {"kguard": "KGUARD", "klone": "KLONE", "k-iso": "k-Iso"}


@dataclass(frozen=True)
class Promise:
    """What a release promises, as its README.txt says it: nothing in it tells of the original.

    Attributes
    ----------
    text
        The guarantee.
    k
        Number of places, or of blocks.
    sizes
        For which x, in words: ``"x = 2, 4"``.
    edges
        What the guarantee covers: predicates of ground edges and derived ones.
    within_parts
        Whether edges between parts were left out.
    baseline
        Whether it is k-Iso's.
    """

    text: str
    k: int
    sizes: str
    edges: tuple[str, ...]
    within_parts: bool = False
    baseline: bool = False

    @classmethod
    def of(
        cls, guarantee: Guarantee, sizes: str, edges: tuple[str, ...], derived: tuple[str, ...]
    ) -> Promise:
        """The promise of a guarantee that was checked for some sizes."""
        baseline = guarantee.model == "k-iso"
        covered = edges if baseline else (*edges, *derived)
        return cls(str(guarantee), guarantee.k, sizes, covered, bool(guarantee.cut), baseline)

    @property
    def term(self) -> str:
        """Name of its definition in `kgreason.release.report.words.TERMS`."""
        return "k-isomorphism" if self.baseline else "(k,x)-isomorphism"

    @property
    def meaning(self) -> str:
        """What it means for who looks for somebody, without a full stop."""
        if self.baseline:
            return SHARED["k_iso"]
        return said("meaning", promise=self)

    @property
    def vertices(self) -> str:
        """The sizes, as words about vertices."""
        if self.sizes == "every x":
            return "any number of vertices"
        return f"x vertices ({self.sizes})"


def state_words(verdict: Examined) -> str:
    """What was found, in a few words."""
    if isinstance(verdict, Verdict) and verdict.nothing_against and not verdict.as_promised:
        return "was not refuted by a sample, which is no proof"
    return STATES[verdict.state]


def verdict_words(promise: Promise, verdict: Verdict) -> str:
    """The guarantee and what was found of it; what it gives up stands in it already.

    Examples
    --------
    >>> from kgreason.isomorphism.verification.verdict import Item
    >>> promise = Promise("(3,4)-isomorphism", 3, "x = 4", ("own", "control"))
    >>> verdict_words(promise, Verdict(3, 4, (Item("images", True, "all"),), None))
    '(3,4)-isomorphism holds'
    """
    if promise.baseline or promise.within_parts:
        return f"{promise.text}: {'holds' if verdict.as_promised else state_words(verdict)}"
    return f"{promise.text} {state_words(verdict)}"


def done_private(
    method: str, original: KnowledgeGraph, released: KnowledgeGraph, guarantee: Guarantee, verdict: Verdict
) -> str:
    """What was done, with the figures of the original: secret."""
    weighted = any(r.weight is not None for r in released.relations.values())
    return said(
        "done_rules",
        name=METHODS.get(method, method),
        original=original,
        released=released,
        cut=guarantee.cut,
        edits=verdict.edits,
        k=guarantee.k,
        weighted=weighted,
    )


def safe_private(promise: Promise, verdict: Verdict, *, seeded: bool) -> str:
    """Why the release is safe, or that it is not, in one sentence."""
    delta = verdict.delta
    if promise.baseline and not seeded:
        unsafe = "" if verdict.as_promised else f"{SHARED['no_blocks']}, so do not publish it"
        return f"{SHARED['k_iso']}{unsafe}."
    if verdict.nothing_against and not verdict.as_promised and delta is not None and not seeded:
        return said("sampled", total=delta.total)
    number = "" if delta is None or not delta.total else f" for all {delta.total:,} such parts"
    kept = f"{promise.meaning}; an independent check of what was written confirmed it{number}."
    undecided = "could not decide for all parts whether they are protected, so nothing is confirmed"
    return safe_for_owner(verdict, kept, undecided, seeded=seeded, refuted=_refuted(promise, verdict))


def safe_for_owner(verdict: Examined, kept: str, undecided: str, *, seeded: bool, refuted: str = "") -> str:
    """Why a release is safe, or that it is not, in one sentence.

    Parameters
    ----------
    kept
        The sentence where all is as promised.
    undecided
        Why the check, the subject of a sentence, was not decided.
    refuted
        What does not hold; empty: the names of the conditions.
    """
    return said(
        "safe_for_owner", verdict=verdict, kept=kept, undecided=undecided, seeded=seeded, refuted=refuted
    )


def _refuted(promise: Promise, verdict: Verdict) -> str:
    """What does not hold, in words for those who do not know the conditions; empty: the conditions say it."""
    others = [i.name for i in verdict.items if i.state == "fails" and not i.name.startswith("images")]
    delta = verdict.delta
    if others or delta is None or delta.satisfied + delta.undecided == delta.total:
        return ""
    bad = delta.total - delta.satisfied - delta.undecided
    return said("refuted", promise=promise, delta=delta, bad=bad)


def safe_public(promise: Promise, *, confirmed: bool, seeded: bool) -> str:
    """Why the release is safe, or that it is not, for those who receive it."""
    if promise.baseline and not seeded:
        return f"{SHARED['k_iso']}{'' if confirmed else SHARED['no_blocks']}."
    kept = f"{promise.meaning}; an exact check confirmed it."
    return safe_for_everybody(kept, confirmed=confirmed, seeded=seeded)


def safe_for_everybody(kept: str, *, confirmed: bool, seeded: bool) -> str:
    """`kept`, or why a release is not safe, for those who receive it."""
    if seeded:
        return SHARED["not_public"]
    if confirmed:
        return kept
    return "What is promised here was checked and not confirmed: it is not safe, and must not be published."


def said(name: str, /, **values: object) -> str:
    """A sentence of the templates, with its values."""
    return plain(getattr(_sentences(), name)(**values))


@cache
def _sentences() -> TemplateModule:
    from kgreason.release.report.html_page import templates

    return templates().overlay(autoescape=False).get_template("sentences.txt").module


def plain(text: str) -> str:
    """Words of a text that is broken into lines, in one line."""
    return " ".join(text.split())
