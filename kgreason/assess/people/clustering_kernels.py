"""The loop of clustering.py: each triangle is found once, from the least of its vertices."""

from __future__ import annotations

from kgreason.jit import Ints, kernel


@kernel
def triangles(start: Ints, near: Ints, weight: Ints, mark: Ints, found: Ints) -> None:
    """Add to each vertex the product of the weights of each triangle's edges.

    If vertices are numbered by their degrees, none has more than sqrt(2m) neighbours of greater number, so that it
    takes time O(m^1.5).

    Parameters
    ----------
    start, near, weight
        The neighbours of v of greater number, ``near[start[v] : start[v + 1]]``, and the weights, above 0, of the edges
        to them.
    mark
        Scratch, shape (n,), 0 throughout.
    found
        The sums, shape (n,).
    """
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
