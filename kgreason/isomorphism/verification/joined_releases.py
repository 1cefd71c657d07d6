"""Checker of a series of releases: occurrences that an attacker who joins the releases cannot tell apart.

The releases of a window are joined vertex by vertex, in the worst case for the owner: the attacker recognizes every
vertex again, synthetic ones included. A subgraph keeps its k occurrences if k - 1 disjoint sets of vertices are its
images by the same bijection in every release of the window, and differ from it and from each other in label, in-degree
and out-degree in each release. This is item 4 of Definition 4.1 for the joined graph, in which every relation and every
derived predicate occurs once for each release.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from itertools import permutations

import numpy as np
import numpy.typing as npt

from kgreason.base.progress import SILENT, Progress
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices
from kgreason.graph.sorted_keys import places
from kgreason.isomorphism.verification.certified_images import faults_of_copies
from kgreason.isomorphism.verification.checker import examine
from kgreason.isomorphism.verification.population import Drawn, Population
from kgreason.isomorphism.verification.release_index import ReleaseIndex
from kgreason.isomorphism.verification.subgraph_visits import ENDLESS
from kgreason.isomorphism.verification.verdict import Delta, Joined
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.renaming import renamed, side_by_side
from kgreason.release.verdicts import Item, judged, listing

SERIES = "series"
LISTED = (
    2_000_000  # attacked subgraphs of one size that are all examined; of more, a random sample of so many is
)


@record(eq=False)
class Dated:
    """One release of a series.

    Attributes
    ----------
    original, released
        Both graphs; of the original, names and edges are used.
    mapping
        Original vertex v is released vertex ``mapping[v]``.
    identity
        Number of each released vertex in the series, equal for the same vertex in several releases.
    copies
        The k - 1 copies of each original vertex, int64, shape (k - 1, n), if the whole graph was copied.
    """

    original: KnowledgeGraph
    released: KnowledgeGraph
    mapping: Vertices
    identity: Vertices
    copies: Vertices | None = None


def joined_occurrences(
    series: Sequence[Dated],
    rules: CheckedProgram,
    k: int,
    sizes: Sequence[int],
    rng: np.random.Generator,
    progress: Progress = SILENT,
) -> tuple[Item, Joined]:
    """Condition ``series``: subgraphs that did not change keep k occurrences over all releases of a window.

    If all releases are k copies of their originals, the condition is that the copies are the same ones in each; then
    every subgraph keeps k occurrences, whether it changed or not. Otherwise images are searched for, and subgraphs that
    have too few of them are given up.

    Parameters
    ----------
    series
        The releases, oldest first.
    sizes
        Numbers of vertices of the attacked subgraphs.
    """
    many = f"the last {len(series)} releases"
    if all(one.copies is not None for one in series):
        faults = listing(_faults(series, k))
        holds = f"the same {k} copies of each vertex are in {many}, apart from each other"
        every = Delta(0, 0, every=not faults)
        item = judged(SERIES, faults, f"the copies are not the same ones in {many}", holds)
        return item, Joined(k, len(series), every, every)
    same, other, words = Delta(0, 0), Delta(0, 0), tuple[str, ...]()
    window = _Window(series, rules)
    for size in sizes:
        progress.step(f"Joining {many}: subgraphs of {size} vertices")
        found, some = window.examined(k, size, rng, progress, changed=False)
        same, words = same + found, (*words, *some)
        other += window.examined(k, size, rng, progress, changed=True)[0]
    detail = (
        f"of {same.total:,} subgraphs that did not change over {many}, {same.satisfied:,} keep {k} places in all of "
        f"them; of {other.total:,} that changed, {other.satisfied:,}"
    )
    sampled = " (a random sample)" * any(one.sampled for one in (same, other))
    lost = same.total - same.satisfied
    item = Item(SERIES, not lost, detail + sampled, words, given_up=bool(lost))
    return item, Joined(k, len(series), same, other)


def _faults(series: Sequence[Dated], k: int) -> list[str]:
    """Reasons why the copies of some releases are not k occurrences of each subgraph in all of them."""
    found: list[str] = []
    place: dict[str, tuple[int, ...]] = {}
    vertices = [set(one.identity.tolist()) for one in series]
    for number, one in enumerate(series, start=1):
        assert one.copies is not None
        graphs = one.original, one.released, one.mapping, one.copies
        found += [f"release {number}: {fault}" for fault in faults_of_copies(*graphs, k, whole=True)]
        if len(one.copies) < k - 1:
            continue
        places_of = one.identity[np.concatenate([one.mapping[None], one.copies[: k - 1]])].T
        for name, own in zip(one.original.labels.tolist(), map(tuple, places_of.tolist()), strict=True):
            if place.setdefault(name, own) != own:
                found.append(f"release {number}: the copies of {name} are other vertices than before")
    known = [set(one.original.labels.tolist()) for one in series]
    for number, (names, here) in enumerate(zip(known, vertices, strict=True), start=1):
        for name, own in place.items():
            if name not in names and here & set(own):
                found.append(f"release {number}: {name} is not in it, but a copy of it is")
    return found


class _Window:
    """Joined graph of a window, and the union of the originals, whose connected subgraphs are attacked."""

    def __init__(self, series: Sequence[Dated], rules: CheckedProgram) -> None:
        self.index = _joined(series, rules)
        names = list(dict.fromkeys(name for one in series for name in one.original.labels.tolist()))
        number = dict(zip(names, range(len(names)), strict=True))
        self.place = np.empty(len(names), dtype=np.int64)
        n, present, pairs = len(names), np.zeros(len(names), dtype=np.int64), []
        ends = []
        for one in series:
            of = np.array([number[name] for name in one.original.labels.tolist()], dtype=np.int64)
            self.place[of] = one.identity[one.mapping]
            present[of] += 1
            relations = one.original.relations.values()
            for i, relation in enumerate(relations):
                keys, counts = np.unique(of[relation.source] * n + of[relation.target], return_counts=True)
                pairs.append(np.stack([keys, np.full(len(keys), i), counts], axis=1))
            ends.append(of[np.stack(one.original.ends)])
        edges = np.unique(np.concatenate(ends, axis=1), axis=1)
        self.union = KnowledgeGraph(np.array(names, dtype=object), {"edge": Relation(edges[0], edges[1])})
        everywhere = len(series)
        rows, times = np.unique(np.concatenate(pairs), axis=0, return_counts=True)
        self._changed_pairs = np.unique(rows[times < everywhere, 0])
        self._stays = present == everywhere

    def examined(
        self, k: int, size: int, rng: np.random.Generator, progress: Progress, *, changed: bool
    ) -> tuple[Delta, tuple[str, ...]]:
        """δ of the attacked subgraphs that changed or did not, and witnesses of failures."""
        population = Population.of(self.union, size, LISTED)
        total, most = population.total, LISTED
        ranks = np.arange(total) if total <= most else np.sort(rng.choice(total, most, replace=False))
        sets = [(of, rows[self._changed(rows) == changed]) for of, rows in population.of_ranks(ranks)]
        kept = sum(len(rows) for _, rows in sets)
        drawn = Drawn(total if total > most else None, ENDLESS, sets)
        if not kept:
            return Delta(0, 0), ()
        return examine(self.index, self.union, self.place, k, size, progress, drawn=drawn)[:2]

    def _changed(self, rows: Vertices) -> npt.NDArray[np.bool_]:
        n = self.union.n
        changed: npt.NDArray[np.bool_] = ~self._stays[rows].all(axis=1)
        for p, q in [*permutations(range(rows.shape[1]), 2), *((p, p) for p in range(rows.shape[1]))]:
            changed |= places(self._changed_pairs, rows[:, p] * n + rows[:, q])[1]
        return changed


def _joined(series: Sequence[Dated], rules: CheckedProgram) -> ReleaseIndex:
    """Index of the joined graph; a vertex that a release lacks has a degree of its own there."""
    n = 1 + max(int(one.identity.max(initial=-1)) for one in series)
    relations, degrees = {}, []
    labels = np.full(n, None, dtype=object)
    for number, one in enumerate(series, start=1):
        labels[one.identity] = one.released.labels
        for name, r in one.released.relations.items():
            ends = one.identity[r.source], one.identity[r.target]
            relations[_in_release(name, number)] = Relation(*ends, r.weight)
        for degree in (one.released.in_degree(), one.released.out_degree()):
            degrees.append(int(degree.max(initial=0)) + 1 + np.arange(n))
            degrees[-1][one.identity] = degree
        if one.released.n < n:
            relations[f"in release {number}"] = Relation(one.identity, one.identity)
    graph = KnowledgeGraph(labels, relations)
    programs = [renamed(rules, partial(_in_release, number=number)) for number in range(1, len(series) + 1)]
    return ReleaseIndex(graph, reduce(side_by_side, programs), degrees=degrees)


def _in_release(predicate: str, number: int) -> str:
    return f"{predicate} of release {number}"
