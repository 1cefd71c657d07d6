"""Texts of reports: leads, limits, and what each figure and condition means, in plain words.

A page shows the definition itself (it has no network); `Term.link` is the page of the documentation that says more.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

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
