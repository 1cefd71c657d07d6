"""Index of a release for the checker: types of vertex pairs, traits of vertices, and adjacencies with ties.

A *tie* encodes everything that patterns contain of two vertices: the ground edges of each relation in either direction,
and what the rules distinguish of their weights. The *kind* of a vertex encodes the same for its loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.induced.situations import Ties
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.refinement import Pairs, paired
from kgreason.graph.sorted_keys import descending, distinct, looked_up, places
from kgreason.language.check.checked_program import CheckedProgram

Ints = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.int32]
WORD = 62  # maximum number of bits of the value that a vertex holds


@record
class Adjacency:
    """Neighbours and ties of renumbered vertices."""

    vertices: Ints  # released vertex of each number, shape (n,)
    indptr: Ints  # the neighbours of v are ``neighbour[indptr[v]:indptr[v + 1]]``, ascending
    neighbour: Shorts
    tie: Shorts  # tie to each neighbour as seen by the neighbour
    kinds: Ints  # kind of each vertex, shape (n,)
    bits: int  # width of a tie
    low: int  # width of a kind
    linked: int  # bit of a tie that is set if the two vertices are adjacent; 0 if all tied pairs are

    @classmethod
    def of(cls, order: Ints, u: Ints, v: Ints, tie: Ints, kinds: Ints, linked: int) -> Adjacency:
        """Create from tied pairs in both directions, vertices numbered by `order`; the tie is that seen by v."""
        n = len(order)
        number = np.empty(n, dtype=np.int64)
        number[order] = np.arange(n)
        u, v = number[u], number[v]
        sort = np.argsort(u * n + v)
        indptr = np.searchsorted(u[sort], np.arange(n + 1)).astype(np.int64)
        ends = v[sort].astype(np.int32), tie[sort].astype(np.int32)
        bits, low = (int(a.max(initial=0)).bit_length() for a in (tie, kinds))
        return cls(order, indptr, *ends, kinds[order], bits, low, linked)

    def link(self, size: int) -> int:
        """Mask of the bits of a held value of which one is set if a chosen vertex is adjacent."""
        if not self.linked:
            return ((1 << WORD) - 1) & ~((1 << self.low) - 1)
        return sum(self.linked << (self.low + self.bits * d) for d in range(size - 1))


def undirected(graph: KnowledgeGraph) -> Adjacency:
    """Adjacency without tie information, hubs first: as roots they leave the enumeration early."""
    n = graph.n
    source, target = graph.ends
    u, v = np.divmod(_both_ways(source, target, n), max(n, 1))
    nothing = np.zeros(n, dtype=np.int64)
    return Adjacency.of(_hubs_first(u, n), u, v, np.ones(len(u), dtype=np.int64), nothing, 0)


@record
class Bonds:
    """Ties of all vertex pairs of a release with n vertices."""

    n: int
    keys: Ints  # u * n + v for each ordered pair of different tied vertices, ascending
    tie: Ints  # number of the tie of each pair, from 1, as seen by v
    kinds: Ints  # kind of each vertex, shape (n,)

    @classmethod
    def of(cls, pairs: Pairs, cells: Ties | None) -> Bonds:
        """Create ties from ground edges and the cells of their weights; without cells all ties are equal."""
        n = pairs.n
        source, target = np.divmod(pairs.keys, max(n, 1))
        straight = source != target
        mirrored = target[straight] * n + source[straight]
        keys = distinct(np.concatenate([pairs.keys[straight], mirrored]))
        if cells is None:
            return cls(n, keys, np.ones(len(keys), dtype=np.int64), np.zeros(n, dtype=np.int64))
        u, v = np.divmod(keys, max(n, 1))
        ties = paired(pairs.types_at(keys), pairs.types_at(v * n + u))
        rows = np.repeat(np.arange(n), np.diff(cells.indptr))
        ties = paired(ties, looked_up(rows * n + cells.neighbour, cells.tie, keys))
        kinds = paired(pairs.types_at(np.arange(n) * (n + 1)), cells.loop)
        return cls(n, keys, ties + 1, kinds)

    def fit(self, size: int) -> bool:
        """Whether the ties to all but one vertex of a set, with their adjacency bits, fit into a word."""
        bits, low = (int(a.max(initial=0)).bit_length() for a in (self.tie, self.kinds))
        return low + (bits + 1) * (size - 1) <= WORD and bits < 31

    def release(self, order: Ints) -> Adjacency:
        """Adjacency of the whole release, vertices in the given order."""
        u, v = np.divmod(self.keys, max(self.n, 1))
        return Adjacency.of(order, u, v, self.tie, self.kinds, 0)

    def attacked(self, original: KnowledgeGraph, mapping: Ints) -> Adjacency:
        """Original vertices with the adjacency of the original and the ties of the release."""
        n = self.n
        source, target = original.ends
        links = _both_ways(mapping[source], mapping[target], n)
        known = np.zeros(n, dtype=np.bool_)
        known[mapping] = True
        u, v = np.divmod(self.keys, max(n, 1))
        inside = known[u] & known[v]
        keys, tie = self.keys[inside], self.tie[inside]
        linked = 0
        if not np.array_equal(keys, links):  # tied pairs and adjacent pairs differ
            both = distinct(np.concatenate([keys, links]))
            linked = 1 << int(tie.max(initial=0)).bit_length()
            tie = looked_up(keys, tie, both) + linked * places(links, both)[1]
            keys = both
        u, v = np.divmod(keys, max(n, 1))
        return Adjacency.of(_hubs_first(u, n), u, v, tie, self.kinds, linked)


def _both_ways(source: Ints, target: Ints, n: int) -> Ints:
    """Keys u * n + v of the ends of each edge in both directions, without loops, ascending."""
    straight = source != target
    source, target = source[straight], target[straight]
    return distinct(np.concatenate([source * n + target, target * n + source]))


def _hubs_first(ends: Ints, n: int) -> Ints:
    return descending(np.bincount(ends, minlength=n))


def scrambled(count: int) -> Ints:
    """Fixed pseudorandom permutation of 0 .. count-1."""
    # splitmix64 (Steele, Lea, Flood 2014)
    z = (np.arange(count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.argsort(z ^ (z >> np.uint64(31)))


class ReleaseIndex:
    """Pair types, derived edges and vertex traits of a release.

    Attributes
    ----------
    traits
        In-degree, out-degree and label number of each vertex, int64 (n, 3); for other `degrees`, these and the label
        number; if images need not differ in these (not `diverse`), three numbers of the vertex instead.
    distinct
        Whether all labels are unique.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        rules: CheckedProgram,
        *,
        diverse: bool = True,
        degrees: Sequence[Ints] | None = None,
    ) -> None:
        self.graph, self.rules = graph, rules
        self.pairs = Pairs(graph)
        self.reasoner = InducedReasoner(graph, rules)
        names, labels = np.unique(graph.labels.astype(str), return_inverse=True)
        self.distinct = len(names) == graph.n or not diverse
        own = labels.reshape(-1).astype(np.int64)
        degrees = (graph.in_degree(), graph.out_degree()) if degrees is None else degrees
        traits = (*degrees, own) if diverse else (np.arange(graph.n),) * 3
        self.traits = np.ascontiguousarray(np.stack(traits, axis=1))

    @cached_property
    def degree_marks(self) -> Ints:
        """Sort key of each vertex, equal for equal degrees; shape (n,)."""
        first, *others = self.traits[:, :-1].T
        mark: Ints = reduce(paired, others, first)
        marks: Ints = scrambled(int(mark.max(initial=-1)) + 1)[mark]
        return marks

    @cached_property
    def _bonds(self) -> Bonds:
        return Bonds.of(self.pairs, self.reasoner.ties)

    def shares(self, size: int) -> bool:
        """Whether sets of equal pattern are classified together; otherwise each set is classified."""
        return self.reasoner.ties is not None and self._bonds.fit(size)

    def bonds(self, size: int) -> Bonds:
        """Ties of the release for sets of `size` vertices."""
        return self._bonds if self.shares(size) else Bonds.of(self.pairs, None)

    def rare_first(self, size: int) -> Adjacency:
        """Adjacency of the release with vertices ordered from common to rare degrees.

        As every set is enumerated from its smallest vertex, the last shares hold only sets of rare degrees.
        """
        common = np.ones(self.graph.n)
        for degrees in self.traits[:, :-1].T:
            common *= np.bincount(degrees, minlength=1)[degrees]
        return self.bonds(size).release(np.argsort(-common, kind="stable"))

    @cached_property
    def ground_types(self) -> int:
        """Number of ground pair types; a full type is ground + `ground_types` * (bit set of derived predicates)."""
        return len(self.pairs.counts)

    def with_masks(self, ground: Ints, masks: Ints) -> Ints:
        """Add derived edges, bits (N, P) of the reasoner, to the ground types of all pairs (N, x * x)."""
        bits = np.arange(ground.shape[1])
        full = ground.copy()
        for p in range(len(self.rules.derived)):
            full += self.ground_types * (1 << p) * (masks[:, p, None] >> bits & 1)
        return full
