"""Attackers who know attribute values and degrees of single users, and the candidates they find in a release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgreason.base.printable import Displayed
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.model import EMPTY, Counts, PeopleGraph, attribute, distinct_links, links_of
from kgreason.people.verification.information import degrees, information, values
from kgreason.release.report.candidate_tables import Candidates, as_shown, by_classes

STANDS = ", as released"  # end of the kinds of knowledge of what a graph shows, be it true or not


def candidates_of_users(
    original: PeopleGraph, released: PeopleGraph, mapping: Vertices
) -> Iterator[Candidates]:
    """Candidates for attackers who know the true data of a user, or the data as the graph shows them."""
    both, n = beside(original, released), original.n
    kinds = [("numbers of links", degrees)] if original.relations else []
    if original.attributes:
        kinds.append(("values", values))
    if len(kinds) == 2:
        kinds.append(("values and numbers of links", information))
    for name, classes in kinds:
        found = classes(both)
        yield by_classes(f"true {name}", found[:n], found[n:], mapping)
    for name, classes in kinds:
        yield as_shown(f"{name}{STANDS}", classes(original), classes(released), mapping)


def beside(one: PeopleGraph, other: PeopleGraph) -> PeopleGraph:
    """Disjoint union of two graphs; users of the second follow those of the first."""
    n = one.n + other.n
    labels = np.arange(n).astype(str).astype(object)
    attributes, relations = {}, {}
    for name in {**one.attributes, **other.attributes}:
        ours, theirs = one.attributes.get(name, EMPTY), other.attributes.get(name, EMPTY)
        user = np.concatenate([ours.user, theirs.user + one.n])
        texts = np.concatenate([ours.domain[ours.value], theirs.domain[theirs.value]])
        attributes[name] = attribute("categorical", user, texts)
    for name in {**one.relations, **other.relations}:
        first, second = links_of(one, name), links_of(other, name)
        source = np.concatenate([first.source, second.source + one.n])
        target = np.concatenate([first.target, second.target + one.n])
        relations[name] = distinct_links(n, source, target)
    return PeopleGraph(labels, attributes, relations)


HEAD = (
    "an attacker knows",
    "smallest",
    "median",
    "unique",
    "fewer than k",
    "highest risk",
    "average",
    "misled",
)


@dataclass(frozen=True, eq=False)
class UserAttacks(Displayed):
    """Candidates for attackers who know single users, before and after the anonymization.

    Attributes
    ----------
    seen
        Candidates for each kind of knowledge, from little knowledge to much.
    k
        Least number of candidates of each original user, int64, shape (n,).
    """

    seen: tuple[Candidates, ...]
    k: Counts

    def __repr__(self) -> str:
        return f"<UserAttacks: {len(self.seen)} kinds of knowledge; {self.state}>"

    def short(self, seen: Candidates) -> int:
        """Number of users with fewer than k candidates."""
        after = seen.after
        return 0 if after is None else int((after.right & (after.candidates < self.k)).sum())

    @property
    def promised(self) -> tuple[Candidates, ...]:
        """Knowledge against which every anonymity model guarantees candidates: what the release shows of a user."""
        return tuple(one for one in self.seen if one.knowledge.endswith(STANDS))

    @property
    def holds(self) -> bool:
        """Whether each user has k candidates, for an attacker who knows what the release shows of the user."""
        return not any(map(self.short, self.promised))

    @property
    def state(self) -> str:
        """The finding in one sentence."""
        if self.holds:
            return "every user has as many candidates as its level"
        return f"{max(map(self.short, self.promised)):,} users have fewer candidates than their level"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"format": 1, "holds": self.holds, "attacks": [self._as_dict(one) for one in self.seen]}

    def _as_dict(self, seen: Candidates) -> dict[str, Any]:
        figures = ("fewest", "median", "unique", "highest", "average", "misled")
        return {
            "knowledge": seen.knowledge,
            "promised": seen in self.promised,
            "fewer_than_k": self.short(seen),
            **{
                side: {name: getattr(candidates, name) for name in figures}
                for side, candidates in (("before", seen.before), ("after", seen.after))
                if candidates is not None
            },
        }

    def __str__(self) -> str:
        rows = [HEAD, *map(self.row, self.seen)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, "", *LEGEND, "", self.state])

    def row(self, seen: Candidates) -> tuple[str, ...]:
        """Table cells in the order of `HEAD`: before and after the anonymization."""
        before, after = seen.before, seen.after
        assert before is not None
        assert after is not None
        fewer = int((before.right & (before.candidates < self.k)).sum())
        return (
            seen.knowledge,
            f"{before.fewest:,} -> {after.fewest:,}",
            f"{before.median:,.0f} -> {after.median:,.0f}",
            f"{before.unique:,} -> {after.unique:,}",
            f"{fewer:,} -> {self.short(seen):,}",
            f"{before.highest:.3f} -> {after.highest:.3f}",
            f"{before.average:.3f} -> {after.average:.3f}",
            f"{after.misled:.1%}",
        )


LEGEND = (
    "smallest, median  users of the graph who fit the knowledge of a user: before -> after the anonymization;",
    "                  0 if no user is among the candidates",
    "unique            users who are the only candidate",
    "fewer than k      users with fewer candidates than their anonymity level",
    "risk, average     probability to pick the right candidate, at most and on average",
    "misled            users who are not among the candidates in the release",
    "as released       the attacker knows what the release shows of a user, which is the worst case",
)
