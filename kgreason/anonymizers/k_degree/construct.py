"""Graphs from degrees alone: a random vertex after the other is joined with those who lack most.

References
----------
KDEGREE, Algorithm 1 (ConstructGraph).
Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, section 6.
Hakimi, SIAM J. Appl. Math. 10, 1962: whichever vertex is next, that finds a graph if there is one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.k_degree import join_kernels
from kgreason.anonymizers.k_degree.realizable import obstacle
from kgreason.errors import NotRealizable

Edges = npt.NDArray[np.int64]
"""Edges of an undirected simple graph: rows u < v in ascending order, none twice; int64, shape (m, 2)."""
Degrees = npt.NDArray[np.int64]


def construct(degrees: Degrees, rng: np.random.Generator) -> Edges:
    """Find a simple graph with given degrees, in time linear in its edges but for one sort.

    Parameters
    ----------
    degrees
        Degree of each vertex, int64, shape (n,).
    rng
        Decides whose turn it is, and between those who lack equally many edges.

    Returns
    -------
    Edges
        int64, shape (m, 2).

    Raises
    ------
    NotRealizable
        If no simple graph has these degrees (and never otherwise).

    References
    ----------
    KDEGREE, Algorithm 1.

    Examples
    --------
    >>> construct(np.array([1, 2, 1]), np.random.default_rng(0)).tolist()
    [[0, 1], [1, 2]]
    """
    ensure_realizable(degrees)
    turns = rng.permutation(np.flatnonzero(degrees))
    made, _ = joined(np.empty((0, 2), dtype=np.int64), degrees, turns, rng)
    return ordered(made, len(degrees))


def ensure_realizable(degrees: Degrees) -> None:
    """Raise `NotRealizable` unless a simple graph has these degrees."""
    found = obstacle(degrees)
    if found:
        raise NotRealizable(
            f"no simple graph has these degrees: {found}", "give some vertices another degree"
        )


def joined(
    edges: Edges, lack: Degrees, turns: Degrees, rng: np.random.Generator
) -> tuple[Edges, npt.NDArray[np.int64]]:
    """Join vertices that lack edges with each other, unless they are linked by `edges`.

    Parameters
    ----------
    lack
        Edges that each vertex lacks, int64, shape (n,).
    turns
        The vertices that lack an edge, in the order in which they choose others.

    Returns
    -------
    Edges
        The new ones, in no order.
    NDArray[np.int64]
        What each vertex lacks after all, shape (n,).
    """
    n = len(lack)
    start, near = neighbours(edges, n)
    order = rng.permutation(turns)
    order = order[np.argsort(-lack[order], kind="stable")]
    place = np.zeros(n, dtype=np.int64)
    place[order] = np.arange(len(order))
    head = np.searchsorted(-lack[order], -np.arange(int(lack.max(initial=0)) + 1), side="left").astype(
        np.int64
    )
    stuck = np.zeros(n, dtype=np.int64)
    made = np.empty((int(lack.sum()) // 2, 2), dtype=np.int64)
    count = join_kernels.join_all(
        start, near, lack.copy(), turns, order, place, head,
        np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64), stuck, made,
    )  # fmt: skip
    return made[:count], stuck


def neighbours(edges: Edges, n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows of the adjacency matrix: where each begins, shape (n + 1,), and who is in them, shape (2m,)."""
    end, other = np.concatenate([edges, edges[:, ::-1]]).T
    start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(end, minlength=n))])
    return start, other[np.argsort(end, kind="stable")]


def ordered(pairs: Edges, n: int) -> Edges:
    """The same edges with their smaller end first, in ascending order."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    keys = np.sort(low * n + high)
    return np.stack(np.divmod(keys, max(n, 1)), axis=1)
