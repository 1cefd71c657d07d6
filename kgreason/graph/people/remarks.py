"""What is left out of a graph of people as it is read, and what looks amiss in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from kgreason.graph.people.model import PeopleGraph
from kgreason.progress import Progress
from kgreason.records import dataclass

_SAID = {
    "empty": "empty values, left out",
    "loops": "links from a user to itself, left out",
    "repeated": "statements that repeat others, counted once",
    "numbers": "values that are another one's number in other digits (1.0 beside 1), taken for it",
    "ignored": "statements left out as the schema says",
    "users": "values of attributes that are names of users. They are released as they are: is one of these a relation?",
}
_SHOWN = 5
_NUMBER = re.compile(r"[+-]?[\d.,]+")


@dataclass
class Remarks:
    """Counts of what was left out, by kind and name."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)

    def count(self, what: str, name: str, number: int) -> None:
        """Add to a count."""
        if number:
            of = self.counts.setdefault(what, {})
            of[name] = of.get(name, 0) + number

    def suspect(self, graph: PeopleGraph) -> None:
        """Count values that are names of users, but for numbers, which may stand for anything."""
        users = {label for label in graph.labels.tolist() if not _NUMBER.fullmatch(label)}
        for name, a in graph.attributes.items():
            self.count("users", name, len(users.intersection(a.domain.tolist())))

    def tell(self, progress: Progress) -> None:
        """Note all of it."""
        for what, said in _SAID.items():
            if found := self.counts.get(what):
                progress.note(f"{said}: {sum(found.values()):,} ({_largest(found)})")


def _largest(counts: Mapping[str, int]) -> str:
    most = sorted(counts.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name} {number:,}" for name, number in most[:_SHOWN])
    return shown + (f", and {len(most) - _SHOWN} more" if len(most) > _SHOWN else "")
