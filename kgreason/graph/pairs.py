"""Ordered pairs of vertices with the edges between them."""

from __future__ import annotations

import numpy as np

from kgreason.base.jit import Ints, Rows, kernel
from kgreason.graph.knowledge_graph import KnowledgeGraph


@kernel
def _pair_types(members: Rows, indptr: Ints, indices: Ints, types: Ints, out: Rows) -> None:
    """Type of every ordered pair of vertices of every set, from the sorted successors of each vertex; 0: no edge."""
    size = members.shape[1]
    for i in range(len(members)):
        for a in range(size):
            first, stop = indptr[members[i, a]], indptr[members[i, a] + 1]
            for b in range(size):
                v = members[i, b]
                low, high = first, stop
                while low < high:
                    middle = (low + high) // 2
                    if indices[middle] < v:
                        low = middle + 1
                    else:
                        high = middle
                out[i, a * size + b] = types[low] if low < stop and indices[low] == v else 0


def looked_up(keys: Ints, values: Ints, wanted: Ints) -> Ints:
    """Value of each wanted key, 0 where it is not among the keys, which ascend."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found: Ints = np.where(keys[place] == wanted, values[place], 0)
    return found


class Pairs:
    """The ground edges of a graph by ordered pair of vertices.

    The type of a pair is the number of edges of each relation between the two in that direction; 0 is none.

    Attributes
    ----------
    counts
        Edges per relation of each type, shape (types, relations).
    keys
        u * n + v for each ordered pair with edges, ascending.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        n = max(graph.n, 1)
        source, target = graph.ends
        keys, position = np.unique(source * n + target, return_inverse=True)
        self.n, self.keys = graph.n, keys
        relation = np.repeat(np.arange(len(graph.relations)), [len(r) for r in graph.relations.values()])
        counts = np.zeros((len(keys), len(graph.relations)), dtype=np.int64)
        np.add.at(counts, (position, relation.astype(np.int64)), 1)
        none = np.zeros((1, counts.shape[1]), dtype=np.int64)
        kinds, types = np.unique(np.concatenate([none, counts]), axis=0, return_inverse=True)
        self.counts: Ints = kinds
        self._types = np.ascontiguousarray(types.reshape(-1)[1:].astype(np.int64))
        self._indptr = np.searchsorted(keys, np.arange(graph.n + 1) * n)
        self._indices = keys % n

    def types_at(self, keys: Ints) -> Ints:
        """Types of ordered pairs by their keys."""
        return looked_up(self.keys, self._types, keys)

    def of(self, members: Ints) -> Ints:
        """Types of all ordered pairs within each vertex set (N, x), shape (N, x * x)."""
        types = np.empty((len(members), members.shape[1] ** 2), dtype=np.int64)
        _pair_types(np.ascontiguousarray(members), self._indptr, self._indices, self._types, types)
        return types
