"""Measures of undirected graphs: degrees, triangles, clustering, core numbers and distances."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.base.jit import Ints, kernel
from kgreason.graph.knowledge_graph import Vertices

Pairs = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]


def keys(n: int, source: Vertices, target: Vertices) -> Vertices:
    """Number of the vertex pair of each edge, independent of its direction; numbers are ordered like pairs."""
    return np.minimum(source, target) * n + np.maximum(source, target)


def pairs(n: int, source: Vertices, target: Vertices) -> Pairs:
    """Distinct pairs of linked vertices without loops; int64, shape (2, m), sorted, the smaller number first.

    Examples
    --------
    >>> pairs(3, np.array([0, 1, 2, 2]), np.array([1, 0, 1, 2])).tolist()
    [[0, 1], [1, 2]]
    """
    other = source != target
    return np.stack(np.divmod(np.unique(keys(n, source[other], target[other])), max(n, 1)))


def degrees(n: int, edges: Pairs) -> Vertices:
    """Degree of each of n vertices; int64, shape (n,)."""
    return np.bincount(edges.ravel(), minlength=n)


def _rows(n: int, tail: Vertices, head: Vertices) -> tuple[Vertices, Vertices, Vertices]:
    """Heads by tail: those of v are ``near[start[v] : start[v + 1]]``; returns `start`, `near`, and their indices."""
    order = np.argsort(tail, kind="stable")
    start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(tail, minlength=n), out=start[1:])
    return start, head[order], order


def _neighbours(n: int, edges: Pairs) -> tuple[Vertices, Vertices]:
    return _rows(n, edges.ravel(), edges[::-1].ravel())[:2]


def triangles(n: int, edges: Pairs, weight: Vertices) -> Vertices:
    """Sum over the triangles of each vertex of the product of their edge weights; int64, shape (n,).

    Vertices are ordered by degree, so that none has more than sqrt(2m) greater neighbours: time O(m^1.5) and memory O(n
    + m), also in the presence of hubs.
    """
    place = np.empty(n, dtype=np.int64)
    place[np.argsort(degrees(n, edges), kind="stable")] = np.arange(n)
    low, high = np.sort(place[edges], axis=0)
    start, near, order = _rows(n, low, high)
    found = np.zeros(n, dtype=np.int64)
    _add_triangles(start, near, weight[order], np.zeros(n, dtype=np.int64), found)
    return found[place]


@kernel
def _add_triangles(start: Ints, near: Ints, weight: Ints, mark: Ints, found: Ints) -> None:
    """Add the triangles of greater neighbours; `mark` is scratch, all 0, and weights are positive."""
    for u in range(len(start) - 1):
        begin, end = start[u], start[u + 1]
        for e in range(begin, end):
            mark[near[e]] = weight[e]
        for e in range(begin, end):
            v = near[e]
            closed = 0
            for f in range(start[v], start[v + 1]):
                w = near[f]
                if mark[w] > 0:
                    product = weight[e] * weight[f] * mark[w]
                    closed += product
                    found[w] += product
            found[u] += closed
            found[v] += closed
        for e in range(begin, end):
            mark[near[e]] = 0


def clustering(n: int, edges: Pairs) -> Doubles:
    """Local clustering coefficient of each vertex; 0 for vertices with fewer than two neighbours."""
    degree = degrees(n, edges)
    closed = 2 * triangles(n, edges, np.ones(edges.shape[1], dtype=np.int64))
    found: Doubles = closed / np.maximum(degree * (degree - 1), 1)
    return found


def coreness(n: int, edges: Pairs) -> Vertices:
    """Core number of each vertex: the greatest c such that it is in a subgraph of minimum degree c.

    References
    ----------
    V. Batagelj, M. Zaveršnik: An O(m) algorithm for cores decomposition of networks (2003).
    """
    core = degrees(n, edges)
    order = np.argsort(core, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(n)
    start = np.searchsorted(core[order], np.arange(core.max(initial=0) + 1)).astype(np.int64)
    _peel(*_neighbours(n, edges), core, order, place, start)
    return core


@kernel
def _peel(indptr: Ints, neighbours: Ints, core: Ints, order: Ints, place: Ints, start: Ints) -> None:
    """Remove vertices in order of least degree; `start` gives the first position of each degree in `order`."""
    for i in range(len(order)):
        v = order[i]
        for e in range(indptr[v], indptr[v + 1]):
            u = neighbours[e]
            if core[u] > core[v]:  # move to the front of its degree, which then begins one further
                front = start[core[u]]
                other = order[front]
                order[front], order[place[u]] = u, other
                place[other], place[u] = place[u], front
                start[core[u]] = front + 1
                core[u] -= 1


@kernel
def _spread(
    start: Ints, near: Ints, sources: Ints, known: Ints, front: Ints, coming: Ints, active: Ints, found: Ints
) -> None:
    """Add the distances from at most 63 sources to all vertices they reach, and the number of such pairs, to `found`.

    Bits of `known`, `front` and `coming`, scratch of n zeros each, mark the sources that have reached a vertex so far,
    in the last step, and in this step; `active`, shape (2n,), holds the vertices of the last and of this step.
    """
    n = len(start) - 1
    count = len(sources)
    for i in range(count):
        v = sources[i]
        known[v] = front[v] = 1 << i
        active[i] = v
    distance = 0
    while count > 0:
        distance += 1
        more = 0
        for i in range(count):
            v = active[i]
            bits = front[v]
            for e in range(start[v], start[v + 1]):
                w = near[e]
                fresh = bits & ~known[w]
                if fresh != 0:
                    if coming[w] == 0:
                        active[n + more] = w
                        more += 1
                    coming[w] |= fresh
        reached = 0
        for i in range(more):
            w = active[n + i]
            active[i] = w
            bits = coming[w]
            coming[w] = 0
            front[w] = bits
            known[w] |= bits
            while bits != 0:
                bits &= bits - 1
                reached += 1
        found[0] += distance * reached
        found[1] += reached
        count = more


def distances(n: int, edges: Pairs, sources: Vertices) -> tuple[float | None, float | None]:
    """Mean distance over connected pairs of a source and another vertex, and the share of pairs that are connected.

    Each is `None` if there are no such pairs. Edges are distinct pairs of vertices, shape (2, m), and the sources
    distinct. Time is at most O(m) per source, much less if many sources are close to each other; memory O(n + m).

    Examples
    --------
    >>> distances(4, np.array([[0, 1], [1, 2]]), np.array([0, 3]))
    (1.5, 0.3333333333333333)
    """
    start, near = _neighbours(n, edges)
    found, active = np.zeros(2, dtype=np.int64), np.empty(2 * n, dtype=np.int64)
    for first in range(0, len(sources), 63):  # bits of a positive int64
        reached, front, coming = (np.zeros(n, dtype=np.int64) for _ in range(3))
        _spread(start, near, sources[first : first + 63], reached, front, coming, active, found)
    total, pairs = map(int, found)
    possible = len(sources) * (n - 1)
    return total / pairs if pairs else None, pairs / possible if possible else None
