"""Plausible places of synthetic edges: those that a classifier of edges by the degrees of their ends suspects least.

A classifier recognizes synthetic edges mostly by the in- and out-degrees of their ends, and may be trained on the
release itself. So ends are chosen such that original edges with such degrees are many and synthetic ones few.

References
----------
docs/methods/kguard.md, places of synthetic edges.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.sorted_keys import Ints, places
from kgreason.isomorphism.anonymizers.assembly import Pairs, both_ways

Odds = npt.NDArray[np.float64]
Degrees = tuple[Ints, Ints]  # in- and out-degrees of vertices

_BITS = 6  # of the number of an interval of degrees
_SEEN = 0.9  # weight of counted combinations; the rest is for those that do not occur
_RARE = 1e-3  # added to a number of original edges
_BATCHES, _BATCH = 16, 32  # batches of joining edges at most, and least number of edges of a batch
_PARTNERS = 8  # partners of a vertex that are compared, for each direction


def intervals(degrees: Ints) -> Ints:
    """Number of the interval of each degree; two intervals for each doubling.

    >>> intervals(np.array([0, 1, 2, 3, 4, 5, 6, 7, 20, 1_000_000])).tolist()
    [0, 2, 3, 4, 4, 5, 5, 6, 8, 39]
    """
    return np.asarray(2 * np.log2(degrees + 1.0)).astype(np.int64)


@record(eq=False)
class _Counts:
    """Numbers of occurrences of distinct keys, ascending."""

    keys: Ints
    count: Ints

    @classmethod
    def of(cls, keys: Ints) -> _Counts:
        return cls(*np.unique(keys, return_counts=True))

    def at(self, keys: Ints) -> Odds:
        place, found = places(self.keys, keys)
        return np.where(found, np.append(self.count, 0)[place], 0.0)


@record(eq=False)
class _EdgeCounts:
    """Numbers of edges by the intervals of the in- and out-degrees of source and target, alone and in combination."""

    tables: list[_Counts]
    total: int

    @classmethod
    def of(cls, source: Degrees, target: Degrees) -> _EdgeCounts:
        return cls([_Counts.of(keys) for keys in _combined(source, target)], len(source[0]))

    def at(self, source: Degrees, target: Degrees) -> Odds:
        """Expected number of edges; combinations that do not occur get a little of the number under independence."""
        combined = zip(self.tables, _combined(source, target), strict=True)
        *single, sources, targets, whole = (table.at(keys) for table, keys in combined)
        sources, targets = self._mixed(sources, *single[:2]), self._mixed(targets, *single[2:])
        return self._mixed(whole, sources, targets)

    def _mixed(self, both: Odds, one: Odds, other: Odds) -> Odds:
        return _SEEN * both + (1 - _SEEN) * one * other / max(1, self.total)


def _combined(source: Degrees, target: Degrees) -> list[Ints]:
    a, b, c, d = (intervals(degrees) for degrees in (*source, *target))
    sources, targets = a << _BITS | b, c << _BITS | d
    return [a, b, c, d, sources, targets, sources << 2 * _BITS | targets]


@record(eq=False)
class EdgePlausibility:
    """Original and synthetic edges of a graph, counted by the degrees of their ends.

    >>> degrees = np.array([0, 0, 0, 1, 1, 1]), np.array([1, 1, 1, 0, 0, 0])
    >>> original, synthetic = (np.array([0, 1, 2]), np.array([3, 4, 5])), (np.array([3]), np.array([0]))
    >>> model = EdgePlausibility.fit(degrees, original, synthetic)
    >>> owner, owned = (np.array([0]), np.array([1])), (np.array([1]), np.array([0]))
    >>> bool(model.of(owner, owned)[0] > model.of(owned, owner)[0])
    True
    """

    original: _EdgeCounts
    synthetic: _EdgeCounts

    @classmethod
    def fit(cls, degrees: Degrees, original: Pairs, synthetic: Pairs) -> EdgePlausibility:
        """Count the edges between vertices with these degrees."""
        inner, outer = degrees
        return cls(*(_EdgeCounts.of(*((inner[e], outer[e]) for e in ends)) for ends in (original, synthetic)))

    def of(self, source: Degrees, target: Degrees) -> Odds:
        """Log-odds that edges between vertices with these degrees are original ones, up to a constant."""
        original, synthetic = (counts.at(source, target) for counts in (self.original, self.synthetic))
        return np.asarray(np.log(original + _RARE) - np.log(synthetic + 1))


def plausible_joins(
    graph: KnowledgeGraph, rng: np.random.Generator, *, symmetric: bool, leave: int = 0
) -> Pairs:
    """Edges that join the other components, but `leave` of them, to the largest one, at plausible ends.

    A random vertex of the component is joined to the most plausible of some random ends of edges of the largest one.
    More vertices and ends would be worse: greedy choices spread less. With `symmetric`, the reverse of each edge will
    be added.

    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("a", "c"), ("a", "d"), ("d", "e"), ("f", "g")])
    >>> joins = plausible_joins(graph, np.random.default_rng(0), symmetric=False)
    >>> [graph.labels[ends].tolist() for ends in joins]
    [['a'], ['g']]
    """
    count, component = graph.components()
    sources, targets = nothing = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if count < 2:
        return nothing
    largest = int(np.bincount(component).argmax())
    inside = component == largest
    shuffled = rng.permutation(graph.n)
    chosen = shuffled[np.unique(component[shuffled], return_index=True)[1]]
    ends = [end[inside[end]] for end in graph.ends]
    pools = ends if len(ends[0]) else [np.flatnonzero(inside)] * 2
    inner, outer = graph.in_degree(), graph.out_degree()
    others = rng.permutation(np.delete(chosen, largest))[leave:]
    for mine in np.array_split(others, min(_BATCHES, len(others) // _BATCH + 1)):
        added = both_ways((sources, targets)) if symmetric else (sources, targets)
        model = EdgePlausibility.fit((inner, outer), graph.ends, added)
        one = np.repeat(mine, _PARTNERS)
        first, second = (pool[rng.integers(len(pool), size=len(one))] for pool in pools)
        source, target = np.append(first, one), np.append(one, second)
        after = (inner[source] + symmetric, outer[source] + 1), (inner[target] + 1, outer[target] + symmetric)
        owner = np.append(one, one)
        order = np.lexsort((-model.of(*after), owner))
        best = order[np.unique(owner[order], return_index=True)[1]]
        sources, targets = np.append(sources, source[best]), np.append(targets, target[best])
        for u, v in ((source[best], target[best]), (target[best], source[best]))[: 1 + symmetric]:
            outer += np.bincount(u, minlength=graph.n)
            inner += np.bincount(v, minlength=graph.n)
    return sources, targets
