"""Blocks of equal size with many edges in common: the places of vertices for k-Iso."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgreason.anonymizers.align_kernels import align
from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.progress import Progress

_ROUNDS = 50
_COLD = 10  # rounds at the end in which nothing is lost
_HEAT = 1.0  # at the beginning, in edges in common
_SWEEPS = 40  # attempts per arc in a round at most, ...
_ATTEMPTS = 1 << 17  # in a round at most, ...
_WORK = (
    1 << 19
)  # and arcs of the vertices exchanged then, so that hubs take no longer: all together some seconds


@dataclass(frozen=True, eq=False)
class Arcs:
    """The edges as each end sees them; arcs of vertex v are those from ``begin[v]`` to ``begin[v + 1]``.

    Attributes
    ----------
    begin
        int64, shape (n + 1,).
    key
        ``kind * n + w``, ascending for each vertex; the kind is twice the number of the relation for edges from v to w,
        one more for those from w to v; loops go out only. int64.
    count
        Edges of this kind, int64.
    """

    begin: Vertices
    key: Vertices
    count: Vertices

    @classmethod
    def of(cls, graph: KnowledgeGraph, n: int) -> Arcs:
        """List the arcs of a graph to which vertices are added until there are n.

        Examples
        --------
        >>> arcs = Arcs.of(KnowledgeGraph.from_edges([("a", "b", 0.1), ("a", "b", 0.2), ("b", "b", 1)]), 3)
        >>> arcs.begin.tolist(), arcs.key.tolist(), arcs.count.tolist()
        ([0, 1, 3, 3], [1, 1, 3], [2, 1, 2])
        """
        ends, keys, counts = ([np.empty(0, dtype=np.int64)] for _ in range(3))
        for number, r in enumerate(graph.relations.values()):
            pairs, count = np.unique(r.source * n + r.target, return_counts=True)
            source, target = np.divmod(pairs, max(n, 1))
            back = source != target
            ends += [source, target[back]]
            keys += [2 * number * n + target, (2 * number + 1) * n + source[back]]
            counts += [count, count[back]]
        end, key, count = np.concatenate(ends), np.concatenate(keys), np.concatenate(counts)
        order = np.lexsort((key, end))
        begin = np.searchsorted(end[order], np.arange(n + 1)).astype(np.int64)
        return cls(begin, key[order], count[order].astype(np.int64))


def arranged(graph: KnowledgeGraph, k: int, rng: np.random.Generator, progress: Progress) -> Vertices:
    """Divide the vertices into k blocks of equal size and align these, so that they have many edges in common.

    Vertices of like degree begin in the same row. Then places are exchanged by simulated annealing: where two blocks
    have an edge between the same rows, it is in common. Both at once: which vertices are together in a block, and in
    which rows they stand.

    Returns
    -------
    ndarray
        int64, shape (n',) with n' = n rounded up to a multiple of k: ``row * k + block`` of each vertex; the vertices
        from n on are new ones.

    References
    ----------
    S. Kirkpatrick, C. Gelatt, M. Vecchi: Optimization by simulated annealing (1983).

    Examples
    --------
    >>> from kgreason.progress import SILENT
    >>> two = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("p", "q"), ("q", "r")])
    >>> place = arranged(two, 2, np.random.default_rng(0), SILENT)
    >>> (place // 2).tolist()[:3] == (place // 2).tolist()[3:]
    True
    """
    n = -(-graph.n // k) * k
    degree = np.zeros(n, dtype=np.int64)
    degree[: graph.n] = graph.in_degree() + graph.out_degree()
    at = np.argsort(-degree, kind="stable").astype(np.int64)
    at = rng.permuted(at.reshape(-1, k), axis=1).reshape(-1)
    place = np.empty(n, dtype=np.int64)
    place[at] = np.arange(n)
    arcs = Arcs.of(graph, n)
    attempts = min(_SWEEPS * len(arcs.key), _ATTEMPTS)
    progress.step("Aligning the blocks", _ROUNDS)
    for number in range(_ROUNDS):
        heat = _HEAT * max(0.0, 1 - number / (_ROUNDS - _COLD))
        align(arcs.begin, arcs.key, arcs.count, place, at, k, heat, rng.random(5 * attempts), _WORK)
        progress.advance()
    return place
