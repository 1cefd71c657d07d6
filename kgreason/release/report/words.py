"""Texts of reports: introductions, limits, term definitions, and sentences on what was done and how safe a release is.

Definitions are shown on the page itself; `Term.link` is the page of the documentation with details.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kgreason.release.verdicts import Examined

if TYPE_CHECKING:
    from jinja2.environment import TemplateModule

DOCUMENTATION = "docs/"
"""Where the pages of the documentation are, relative to the project; links of terms are relative to it."""


@dataclass(frozen=True)
class Term:
    """A glossary term of the reports.

    Attributes
    ----------
    name
        As written in reports.
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
    """Texts with line ends replaced by blanks, recursively."""
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
    """Name in `TERMS` of a condition of a verdict; empty if there is none.

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


def state_words(verdict: Examined) -> str:
    """Result of a verdict in a few words."""
    if verdict.nothing_against and not verdict.as_promised:
        return "was not refuted by a sample, which is no proof"
    return STATES[verdict.state]


def safe_for_owner(verdict: Examined, kept: str, undecided: str, *, seeded: bool, refuted: str = "") -> str:
    """Sentence for the owner on why a release is safe or not.

    Parameters
    ----------
    kept
        Sentence for the case that the guarantee holds.
    undecided
        Reason for which the check was not decided, as the subject of a sentence.
    refuted
        What does not hold; empty: the names of the conditions.
    """
    return said(
        "safe_for_owner", verdict=verdict, kept=kept, undecided=undecided, seeded=seeded, refuted=refuted
    )


def safe_for_everybody(kept: str, *, confirmed: bool, seeded: bool) -> str:
    """Sentence for recipients: `kept`, or why a release is not safe."""
    if seeded:
        return SHARED["not_public"]
    if confirmed:
        return kept
    return "What is promised here was checked and not confirmed: it is not safe, and must not be published."


def said(name: str, /, **values: object) -> str:
    """Sentence from a template, with its values."""
    return plain(getattr(_sentences(), name)(**values))


@cache
def _sentences() -> TemplateModule:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("kgreason.release.report")
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("sentences.txt").module


def plain(text: str) -> str:
    """Join the lines of a text into one."""
    return " ".join(text.split())
