"""Pairs of users who are linked, whichever way: the edges of an undirected graph."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Counts, PeopleGraph

Pairs = npt.NDArray[np.int64]


def keys(n: int, source: Vertices, target: Vertices) -> Vertices:
    """A number of the pair of each link, whichever way it runs; the order of numbers is that of pairs."""
    return np.minimum(source, target) * n + np.maximum(source, target)


def pairs(n: int, source: Vertices, target: Vertices) -> Pairs:
    """Pairs of different users that are linked, each once; int64, shape (2, m), the smaller number first, in order.

    Examples
    --------
    >>> pairs(3, np.array([0, 1, 2, 2]), np.array([1, 0, 1, 2])).tolist()
    [[0, 1], [1, 2]]
    """
    other = source != target
    return np.stack(np.divmod(np.unique(keys(n, source[other], target[other])), max(n, 1)))


def degrees(n: int, edges: Pairs) -> Counts:
    """How many users each of n is linked with; int64, shape (n,)."""
    return np.bincount(edges.ravel(), minlength=n)


def rows(n: int, tail: Vertices, head: Vertices) -> tuple[Vertices, Vertices, Vertices]:
    """Heads by their tails: those of v are ``near[start[v] : start[v + 1]]``, and where each of them was.

    Returns
    -------
    start, near, order
        int64, shapes (n + 1,), (m,), (m,).
    """
    order = np.argsort(tail, kind="stable")
    start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(tail, minlength=n), out=start[1:])
    return start, head[order], order


def linked(graph: PeopleGraph) -> tuple[Vertices, Vertices]:
    """Both ends of the links of all relations; int64, shape (m,)."""
    parts = [np.stack([links.source, links.target]) for links in graph.relations.values()]
    source, target = np.concatenate([np.empty((2, 0), dtype=np.int64), *parts], axis=1)
    return source, target
