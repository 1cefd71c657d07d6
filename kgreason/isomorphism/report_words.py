"""Sentences of reports about graphs under rules: what was done, what is promised, and whether a release is safe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.definition import Guarantee
from kgreason.isomorphism.verification.verdict import Verdict
from kgreason.release.report.words import SHARED, safe_for_everybody, safe_for_owner, said, state_words

if TYPE_CHECKING:
    pass


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
