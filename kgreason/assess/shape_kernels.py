"""Compiled loops over an undirected graph; each has a plain twin in ``tests/reference.py``."""

from __future__ import annotations

from kgreason.jit import Ints, Shorts, kernel


@kernel
def peel(indptr: Ints, neighbours: Shorts, core: Ints, order: Ints, place: Ints, start: Ints) -> None:
    """Turn degrees into core numbers: take away vertices of least degree, one by one.

    Parameters
    ----------
    indptr, neighbours
        Undirected simple graph in compressed rows.
    core
        Degrees before, core numbers after.
    order, place
        Vertices by ascending degree, and where each stands; kept so while degrees fall.
    start
        Where the vertices of each degree begin in `order`.

    References
    ----------
    V. Batagelj, M. Zaveršnik: An O(m) algorithm for cores decomposition of networks (2003).
    """
    for i in range(len(order)):
        v = order[i]
        for e in range(indptr[v], indptr[v + 1]):
            u = neighbours[e]
            if core[u] > core[v]:  # to the front of its degree, which then begins behind it
                front = start[core[u]]
                other = order[front]
                order[front], order[place[u]] = u, other
                place[other], place[u] = place[u], front
                start[core[u]] = front + 1
                core[u] -= 1


@kernel
def _holds(neighbours: Shorts, low: int, end: int, wanted: int) -> bool:
    """Whether ``neighbours[low:end]``, ascending, holds a vertex."""
    high = end
    while low < high:
        middle = (low + high) >> 1
        if neighbours[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low < end and neighbours[low] == wanted


@kernel
def count_links(indptr: Ints, neighbours: Shorts, vertices: Ints, links: Ints) -> None:
    """Count for some vertices the ordered pairs of neighbours that are neighbours of each other.

    Parameters
    ----------
    indptr, neighbours
        As in `peel`, each row ascending.
    vertices, links
        Vertices and their counts, of the same length.
    """
    for i in range(len(vertices)):
        v = vertices[i]
        count = 0
        for e in range(indptr[v], indptr[v + 1]):
            u = neighbours[e]
            few, many = u, v
            if indptr[u + 1] - indptr[u] > indptr[v + 1] - indptr[v]:
                few, many = v, u
            for f in range(indptr[few], indptr[few + 1]):
                count += _holds(neighbours, indptr[many], indptr[many + 1], neighbours[f])
        links[i] = count
