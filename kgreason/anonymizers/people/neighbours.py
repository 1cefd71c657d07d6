"""The nearest users of each user, found in blocks of rows: no n x n matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kgreason.anonymizers.people.distance import Distance, Distances
from kgreason.anonymizers.people.neighbour_kernels import nearest_rows
from kgreason.cores import cores, each
from kgreason.graph.model import Vertices

_BLOCK = 1 << 22  # distances held at a time by one core: 16 MB


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest others of each user, nearest first; of equally near ones the lowest number comes first.

    Attributes
    ----------
    start
        Those of user u are entries ``start[u] .. start[u + 1] - 1``; int64, shape (n + 1,).
    user, distance
        Who they are and how far; int64 and float32.
    """

    start: Vertices
    user: Vertices
    distance: Distances


def neighbours(distance: Distance, counts: Vertices) -> Neighbours:
    """Find the nearest others of each user.

    Parameters
    ----------
    counts
        How many of each; int64, shape (n,). Nobody has more than n-1.

    Examples
    --------
    >>> from kgreason.anonymizers.people.distance import MatrixDistance
    >>> line = MatrixDistance([[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    >>> neighbours(line, np.array([1, 1, 2])).user.tolist()
    [1, 0, 1, 0]
    """
    start = np.zeros(distance.n + 1, dtype=np.int64)
    np.cumsum(np.minimum(counts, distance.n - 1), out=start[1:])
    found = Neighbours(start, np.zeros(start[-1], dtype=np.int64), np.zeros(start[-1], dtype=np.float32))
    wanted = np.flatnonzero(np.diff(start))

    def fill(users: Vertices) -> None:
        nearest_rows(distance.between(users), users, start, found.user, found.distance)

    each(fill, blocks(wanted, distance.n))
    return found


def rows_of(distance: Distance, users: Vertices) -> Distances:
    """Distances from some users to everybody, by all cores; float32, shape (users, n)."""
    shares = np.array_split(users, min(cores(), max(len(users), 1)))
    return np.concatenate(each(distance.between, shares))


def blocks(users: Vertices, columns: int) -> Iterator[Vertices]:
    """Users in blocks whose distances to so many others fit in memory for each core."""
    size = max(1, _BLOCK // max(columns, 1))
    return (users[i : i + size] for i in range(0, len(users), size))
