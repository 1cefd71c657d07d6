"""Derived facts of a graph about two vertices, and the false facts to expect of a further derived edge between hosts.

A derived edge u -> v of an image is rarely one false fact: what derives u derives v and all that v derives, too, if the
facts of a predicate compose, as those of company control do.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.graph.facts import derived_edges
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.graph.sorted_keys import distinct
from kgreason.language.check.checked_program import CheckedProgram

NEW = -1  # host of a template vertex that becomes a new vertex, or has no host yet

_JOINED = 1_000  # facts that are joined with others to see whether the facts of a predicate compose

_COMPOSED = 0.5  # share of joined facts from which those of a template compose

Flags = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.float64]


@record(eq=False)
class Pairs:
    """Facts of a predicate, with one from each of n vertices to itself; `composed` is the share that compose.

    >>> chain = Pairs.of(np.array([0, 1, 0]), np.array([1, 2, 2]), 4)
    >>> chain.composed, chain.from_host(3).tolist(), chain.into_host(3).tolist()
    (1.0, [3.0, 2.0, 1.0, 0.0], [1.0, 2.0, 3.0, 0.0])
    """

    source: Vertices
    target: Vertices
    n: int
    composed: float

    @classmethod
    def of(cls, source: Vertices, target: Vertices, n: int) -> Pairs:
        """Create from facts in any order."""
        keys = distinct(np.concatenate([source * n + target, np.arange(n) * (n + 1)]))
        source, target = np.divmod(keys, max(n, 1))
        return cls(source, target, n, _composed(keys, source, target, n))

    def from_host(self, host: int) -> Counts:
        """False facts to expect of a derived edge from a host to each vertex."""
        return self._expected(host, self.source, self.target)

    def into_host(self, host: int) -> Counts:
        """False facts to expect of a derived edge from each vertex to a host."""
        return self._expected(host, self.target, self.source)

    def _expected(self, host: int, source: Vertices, target: Vertices) -> Counts:
        """Pairs of a vertex before the host and one behind each vertex that are no facts."""
        before, single = np.zeros(self.n, dtype=np.bool_), np.ones(self.n, dtype=np.bool_)
        before[source[target == host]] = True
        single[target[source == host]] = False
        lacking = before.sum() - np.bincount(target[before[source]], minlength=self.n)
        behind = np.bincount(source, lacking[target], self.n)
        expected: Counts = self.composed * behind + (1 - self.composed) * single
        return expected


def _composed(keys: Vertices, source: Vertices, target: Vertices, n: int) -> float:
    """Share of the pairs of facts (a, b), (b, c) for which (a, c) is a fact, among some of them; 0 without any."""
    other = np.flatnonzero(source != target)
    first = other[np.linspace(0, len(other) - 1, min(len(other), _JOINED)).astype(np.int64)]
    start, end = (np.searchsorted(source, target[first], side=s) for s in ("left", "right"))
    count = end - start
    second = np.arange(count.sum()) + np.repeat(start - (np.cumsum(count) - count), count)
    a, c = np.repeat(source[first], count), target[second]
    joined = (source[second] != c) & (a != c)
    if not joined.any():
        return 0.0
    return float(np.isin(a[joined] * n + c[joined], keys).mean())


class DerivedFacts:
    """Facts of each derived predicate of a graph, to estimate the false facts that copies on its vertices cause.

    Template vertices without a host, which become new vertices, have the host `NEW`.
    """

    def __init__(self, graph: KnowledgeGraph, program: CheckedProgram) -> None:
        # two vertices without facts stand for new ones: an edge between them is a fact, too
        self._pairs = {
            name: Pairs.of(*ends, graph.n + 2) for name, ends in derived_edges(graph, program).items()
        }
        self._known: dict[tuple[str, bool, int], Counts] = {}

    @property
    def predicates(self) -> tuple[str, ...]:
        """Names of the derived predicates, in the order of the program."""
        return tuple(self._pairs)

    def joined(self, name: str, edges: Flags) -> Flags:
        """Derived edges of a template, shape (t, t), with those that follow if the facts of a predicate compose."""
        if self._pairs[name].composed < _COMPOSED:
            return edges
        for _ in range(len(edges).bit_length()):
            edges = edges | (edges @ edges)
        return edges & ~np.eye(len(edges), dtype=np.bool_)

    def expected(self, name: str, host: int, *, into: bool) -> Counts:
        """False facts to expect of a derived edge between a host and each vertex, `into` the host or from it.

        The last entry stands for a new vertex.
        """
        key = name, into, host
        if key not in self._known:
            pairs = self._pairs[name]
            at = pairs.n - 2 if host == NEW else host
            self._known[key] = pairs.into_host(at) if into else pairs.from_host(at)
        return self._known[key]
