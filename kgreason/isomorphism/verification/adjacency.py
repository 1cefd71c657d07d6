"""Adjacency of a release with the ties of vertex pairs, numbered for subgraph enumeration.

A *tie* encodes everything that patterns contain of two vertices: the ground edges of each relation in either direction,
and what the rules distinguish of their weights. The *kind* of a vertex encodes the same for its loops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.graph.induced.situations import Ties
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.refinement import Pairs, looked_up, paired

Ints = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.int32]
WORD = 62  # maximum number of bits of the value that a vertex holds


@dataclass(frozen=True)
class Adjacency:
    """Neighbours and ties of renumbered vertices.

    Attributes
    ----------
    vertices
        Released vertex of each number, shape (n,).
    indptr, neighbour, tie
        CSR lists of neighbours, ascending, and the tie to each as seen by the neighbour.
    kinds
        Kind of each vertex, shape (n,).
    bits, low
        Numbers of bits of a tie and of a kind.
    linked
        Bit of a tie that is set if the two vertices are adjacent; 0 if all tied pairs are.
    """

    vertices: Ints
    indptr: Ints
    neighbour: Shorts
    tie: Shorts
    kinds: Ints
    bits: int
    low: int
    linked: int

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


@dataclass(frozen=True)
class Bonds:
    """Ties of all vertex pairs of a release.

    Attributes
    ----------
    keys
        u * n + v for each ordered pair of different tied vertices, ascending.
    tie
        Number of the tie of each pair, from 1, as seen by v.
    kinds
        Kind of each vertex, shape (n,).
    """

    n: int
    keys: Ints
    tie: Ints
    kinds: Ints

    @classmethod
    def of(cls, pairs: Pairs, seen: Ties | None) -> Bonds:
        """Create ties from ground edges and what the rules distinguish.

        If `seen` is `None`, patterns are not shared between sets, and all ties are equal.
        """
        n = pairs.n
        source, target = np.divmod(pairs.keys, max(n, 1))
        straight = source != target
        mirrored = target[straight] * n + source[straight]
        keys = np.union1d(pairs.keys[straight], mirrored)
        if seen is None:
            return cls(n, keys, np.ones(len(keys), dtype=np.int64), np.zeros(n, dtype=np.int64))
        u, v = np.divmod(keys, max(n, 1))
        forth, back = pairs.types_at(keys), pairs.types_at(v * n + u)
        ties = paired(forth, back)
        rows = np.repeat(np.arange(n), np.diff(seen.indptr))
        ties = paired(ties, looked_up(rows * n + seen.neighbour, seen.tie, keys))
        loops = np.arange(n) * (n + 1)
        kinds = paired(pairs.types_at(loops), seen.loop)
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
        inside = np.zeros(n, dtype=bool)
        inside[mapping] = True
        u, v = np.divmod(self.keys, max(n, 1))
        here = inside[u] & inside[v]
        keys, tie = self.keys[here], self.tie[here]
        linked = 0
        if not np.array_equal(keys, links):  # tied pairs and adjacent pairs differ
            both = np.union1d(keys, links)
            linked = 1 << int(tie.max(initial=0)).bit_length()
            tie = looked_up(keys, tie, both) + linked * np.isin(both, links)
            keys = both
        u, v = np.divmod(keys, max(n, 1))
        return Adjacency.of(_hubs_first(u, n), u, v, tie, self.kinds, linked)


def _both_ways(source: Ints, target: Ints, n: int) -> Ints:
    """Keys u * n + v of the ends of each edge in both directions, without loops, ascending."""
    straight = source != target
    source, target = source[straight], target[straight]
    return np.unique(np.concatenate([source * n + target, target * n + source]))


def _hubs_first(ends: Ints, n: int) -> Ints:
    return np.argsort(-np.bincount(ends, minlength=n), kind="stable")
