"""Risks of users before any anonymization: candidates for what an attacker may know of each user.

References
----------
THESIS, Definition 8; K. El Emam, F. K. Dankar, "Protecting privacy using k-anonymity", JAMIA 15(5), 2008 (prosecutor).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kgreason.base.atomic_files import replacing
from kgreason.base.printable import Displayed
from kgreason.data.formats.delimited import write_csv
from kgreason.graph.refinement import paired
from kgreason.people.attacker_knowledge import LINKS, Traits, aligned, known_k
from kgreason.people.level_dependence import Dependence
from kgreason.people.model import Counts, Numbers, PeopleGraph
from kgreason.people.recommended_levels import Recommended
from kgreason.people.verification.information import sizes
from kgreason.release.report.candidate_tables import Candidates, CandidateSets

HEAD = ("an attacker knows", "unique", "", "fewer than k", "", "highest risk", "average")
NAMED = 20  # attributes with a row of their own in the text, those with the most unique users
BANDS = 4  # ranges of recommended k in the text


def seen_in(graph: PeopleGraph, k: Counts | None = None) -> tuple[Candidates, ...]:
    """Candidates for each kind of knowledge, from little to much: users with equal traits.

    `k` are the public levels of users, which attackers know as well.
    """
    traits = Traits.of(graph)
    kinds = traits.kinds()
    single = {f"values of {name}": of for (part, name), of in traits.parts.items() if part == "values"}
    if len(single) > 1:
        kinds = {name: of for name, of in kinds.items() if name == LINKS} | single | kinds
    if k is not None:
        last = [*kinds][-1]
        kinds[known_k(last)] = paired(kinds[last], k)
    everybody = np.ones(graph.n, dtype=np.bool_)
    return tuple(Candidates(name, CandidateSets(sizes(of), everybody)) for name, of in kinds.items())


def _users(count: int) -> str:
    return f"{count:,} user{'s' * (count != 1)}"


@dataclass(frozen=True, eq=False)
class PeopleRisk(Displayed):
    """Risks of the users of a graph before any anonymization.

    Attributes
    ----------
    graph
        The graph.
    k
        Level of each user, int64, shape (n,): users with fewer candidates are at risk.
    seen
        Candidates in the graph for each kind of knowledge, from little knowledge to much.
    recommended
        Least k of each user for a wanted confidence, if one was asked for.
    dependences
        Whether the levels depend on the data; `None` if there is one k for all users.
    """

    graph: PeopleGraph
    k: Counts
    seen: tuple[Candidates, ...]
    recommended: Recommended | None = None
    dependences: tuple[Dependence, ...] | None = None

    def __repr__(self) -> str:
        return f"<PeopleRisk: {self.graph.n:,} users, {self.strongest.unique:,} unique by what an attacker may know>"

    @property
    def strongest(self) -> CandidateSets:
        """Candidates for the most knowledge."""
        found = self.seen[-1].before
        assert found is not None
        return found

    @cached_property
    def risks(self) -> Numbers:
        """Definition 8 for the most knowledge: 1 / number of users who fit; float64, shape (n,)."""
        return 1 / self.strongest.candidates

    def exposed(self, count: int) -> list[tuple[str, list[str]]]:
        """Users with the highest sum of risks over all knowledge, and the kinds by which each is unique; secret."""
        total = np.zeros(self.graph.n)
        for _, sets in self._sets():
            total += 1 / sets.candidates
        most = np.argsort(-total, kind="stable")[:count].tolist()
        return [
            (
                str(self.graph.labels[user]),
                [name for name, sets in self._sets() if sets.candidates[user] == 1],
            )
            for user in most
        ]

    def _sets(self) -> Iterator[tuple[str, CandidateSets]]:
        for one in self.seen:
            assert one.before is not None
            yield one.knowledge, one.before

    def at_risk(self, sets: CandidateSets) -> int:
        """Number of users with fewer candidates than their k."""
        return int((sets.candidates < self.k).sum())

    def as_dict(self, exposed: int = 0) -> dict[str, Any]:
        """Plain data for JSON, with the names of the `exposed` most exposed users (secret)."""
        advice, dependences = self.recommended, self.dependences
        return {
            "format": 1,
            "users": self.graph.n,
            "risks": [
                {
                    "knowledge": name,
                    "unique": sets.unique,
                    "fewer_than_k": self.at_risk(sets),
                    "highest": sets.highest,
                    "average": sets.average,
                    "median": sets.median,
                }
                for name, sets in self._sets()
            ],
            "recommended": None if advice is None else advice.as_dict(),
            "dependences": None
            if dependences is None
            else [asdict(one) | {"significant": one.significant} for one in dependences],
            **(
                {"exposed": [{"user": u, "unique_by": by} for u, by in self.exposed(exposed)]}
                if exposed
                else {}
            ),
        }

    def write(self, path: Path) -> None:
        """Write a row for each user: k, candidates by kind of knowledge, risk, recommended k (0: none suffices).

        The file is readable by its owner only.
        """
        names = [name for name, _ in self._sets()]
        columns: list[Any] = [self.graph.labels, self.k, *(sets.candidates for _, sets in self._sets())]
        header = ["user", "k", *names, "risk"]
        columns.append(self.risks)
        if self.recommended is not None:
            header.append("recommended k")
            columns.append(self.recommended.k)
        with replacing(path, private=True) as temporary:
            write_csv(temporary, header, columns)

    def write_levels(self, path: Path) -> None:
        """Write the recommended k as a table ``user,k`` for `anonymize`, readable by its owner.

        Users for whom no k suffices have no row.
        """
        assert self.recommended is not None
        users = np.flatnonzero(self.recommended.k)
        with replacing(path, private=True) as temporary:
            write_csv(temporary, ("user", "k"), (self.graph.labels[users], self.recommended.k[users]))

    def row(self, knowledge: str, sets: CandidateSets) -> tuple[str, ...]:
        """Table cells in the order of `HEAD`."""
        unique, few = sets.unique, self.at_risk(sets)
        n = self.graph.n
        return (
            knowledge,
            *(f"{unique:,}", f"{unique / n:.1%}", f"{few:,}", f"{few / n:.1%}"),
            *(f"{sets.highest:.4f}", f"{sets.average:.4f}"),
        )

    def rows(self) -> list[tuple[str, ...]]:
        """Rows of the table; of many attributes those with the most unique users."""
        single = [(name, sets) for name, sets in self._sets() if name.startswith("values of ")]
        kept = {name for name, _ in sorted(single, key=lambda one: -one[1].unique)[:NAMED]}
        others = {name for name, _ in self._sets()} - {name for name, _ in single}
        return [self.row(name, sets) for name, sets in self._sets() if name in kept | others]

    def __str__(self) -> str:
        return self.text()

    def text(self, exposed: int = 0) -> str:
        """The figures as text, with the `exposed` most exposed users (secret)."""
        rows = self.rows()
        lines = [f"{_users(self.graph.n)}, before any anonymization", "", *aligned([HEAD, *rows])]
        left_out = len(self.seen) - len(rows)
        if left_out:
            lines.append(f"further attributes, with fewer unique users: {left_out:,}")
        if remarks := list(self.remarks()):
            lines += ["", *remarks]
        if exposed:
            named = [(user, "; ".join(by)) for user, by in self.exposed(exposed)]
            width = max(len("most exposed"), *(len(user) for user, _ in named))
            head = ("most exposed", "unique if an attacker knows")
            lines += ["", *(f"{user:<{width}}  {by}".rstrip() for user, by in (head, *named))]
        return "\n".join(lines)

    def remarks(self) -> Iterator[str]:
        """What the k of users tell of their data, and which k are recommended, in words."""
        if self.dependences is not None:
            yield from self._dependent(self.dependences)
        if self.recommended is not None:
            yield from self._advice(self.recommended)

    def _dependent(self, found: tuple[Dependence, ...]) -> Iterator[str]:
        yield from (str(one) for one in found if one.significant)
        if any(one.significant for one in found):
            yield "an attacker who knows the k of a user may conclude data from it: do not publish the k"
        elif found:
            yield f"no dependence of k on the data was found (tests: {len(found):,})"
        else:
            yield "dependence of k on the data was not tested: all k are equal, or nothing can be compared"

    def _advice(self, found: Recommended) -> Iterator[str]:
        limit, what = f"{found.confidence:g}", " or ".join(found.sensitive)
        yield f"guaranteed: with k = {found.least} no user is found with a confidence above {limit}"
        alike = int((self._users_alike() >= found.least).sum())
        yield f"already in a group of {found.least} or more with equal values and numbers of links: {_users(alike)}"
        if not found.sensitive:
            yield "this k is the same for all users, as no attribute is sensitive"
            return
        yield f"estimated: k with which no {what} of a user is concluded with a confidence above {limit}, or above the"
        yield "share of all users with the value:"
        levels = found.k[found.k > 0]
        edges = np.unique(np.geomspace(found.least, found.most + 1, BANDS + 1).round().astype(np.int64))
        counts = np.histogram(levels, edges)[0].tolist()
        counts[0] -= (first := int((levels == found.least).sum()))
        if first:
            yield f"  k = {found.least}: {_users(first)}"
        for low, high, count in zip(edges[:-1].tolist(), edges[1:].tolist(), counts, strict=True):
            low, high = max(low, found.least + 1), high - 1
            if count:
                yield f"  k = {low}{f' to {high}' * (high > low)}: {_users(count)}"
        if len(found.without):
            yield f"  no k up to {found.most} suffices: {_users(len(found.without))}"
        yield "these k depend on the values: keep them secret"

    def _users_alike(self) -> Counts:
        """Number of users who are equal in all values and numbers of links."""
        found = self.seen[-1 if self.dependences is None else -2].before
        assert found is not None
        return found.candidates
