"""What is left out of a graph of people as it is read, and what looks amiss in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from kgreason.graph.people.model import Attribute, Links, PeopleGraph
from kgreason.progress import Progress

_SAID = {
    "empty": "empty values, left out",
    "loops": "links from a user to itself, left out",
    "repeated": "statements that repeat others, counted once",
    "numbers": "values that are another one's number in other digits (1.0 beside 1), taken for it",
    "completed": "links of mutual relations whose reverse was missing, completed by it",
    "ignored": "statements left out as the schema says",
    "users": "values of attributes that are names of users. They are released as they are: is one of these a relation?",
}
_SHOWN = 5
_FEWEST = 10  # links that tell whether a relation is mutual
_MOSTLY = 0.5  # share of its links that have their reverse, then
_OWN = 0.9  # share of the values that are of one user each, where they may name him
_NUMBER = re.compile(r"[+-]?[\d.,]+")


@dataclass
class Remarks:
    """Counts of what was left out, by kind and name, and what else there is to say."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def count(self, what: str, name: str, number: int) -> None:
        """Add to a count."""
        if number:
            of = self.counts.setdefault(what, {})
            of[name] = of.get(name, 0) + number

    def suspect(self, graph: PeopleGraph) -> None:
        """Look for what gives users away.

        Values that are names of users are counted, but for numbers, which may stand for anything. Relations are
        looked at whose links mostly have their reverse: generalization adds links without, so they would be told.
        """
        users = {label for label in graph.labels.tolist() if not _NUMBER.fullmatch(label)}
        for name, a in graph.attributes.items():
            self.count("users", name, len(users.intersection(a.domain.tolist())))
        for name, a in graph.attributes.items():
            self._naming(name, a)
        relations = {name: (r.source * graph.n + r.target, r) for name, r in graph.relations.items()}
        for name, (_, r) in relations.items():
            if len(r) >= _FEWEST:
                back = r.target * graph.n + r.source
                for other, (there, _) in relations.items():
                    self._against(name, other, r, np.count_nonzero(np.isin(back, there)) / len(r))

    def _naming(self, name: str, a: Attribute) -> None:
        """Warn of an attribute of which nearly everybody has a value of his own."""
        own = int((np.bincount(a.value) == 1).sum())
        if a.kind == "categorical" and len(a) >= _FEWEST and own >= _OWN * len(a):
            self.warnings.append(
                f"nearly all values of {name} are of one user each ({own:,} of {len(a):,}). They are released as they "
                f"are: if {name} names its user, leave it out (ignore)"
            )

    def _against(self, name: str, other: str, links: Links, share: float) -> None:
        """Warn if a share of the links of a relation have their reverse in another, or in itself."""
        if share < _MOSTLY:
            return
        if name != other:
            self.warnings.append(
                f"links of {name} mostly run against links of {other} ({100 * share:.0f} %): if the one follows from "
                "the other, leave one out, or added links can be told"
            )
        elif not links.mutual:
            self.warnings.append(
                f"{100 * share:.0f} % of the links of {name} have their reverse: if {name} is mutual, say so in "
                "[kinds], or added links can be told"
            )

    def tell(self, progress: Progress) -> None:
        """Note all of it."""
        for what, said in _SAID.items():
            if found := self.counts.get(what):
                progress.note(f"{said}: {sum(found.values()):,} ({_largest(found)})")
        for warning in self.warnings:
            progress.note(warning)


def _largest(counts: Mapping[str, int]) -> str:
    most = sorted(counts.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name} {number:,}" for name, number in most[:_SHOWN])
    return shown + (f", and {len(most) - _SHOWN} more" if len(most) > _SHOWN else "")
