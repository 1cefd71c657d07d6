"""Distances between users by rows, without an n x n matrix, and the nearest users of each user.

A distance says how much information is lost if two users are made alike. Clusterings ask for the rows they need; only
those of other libraries, which want the whole matrix, ask for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kgreason.base.cores import cores, each
from kgreason.base.jit import Ints, SingleRows, Singles, kernel
from kgreason.graph.knowledge_graph import Vertices

Distances = npt.NDArray[np.float32]
Clusters = Vertices
"""Cluster of each user, int64, shape (n,); -1: in none, so the user will be removed."""
Levels = npt.NDArray[np.int64]
"""Anonymity level k of each user, shape (n,)."""


class Distance(Protocol):
    """A symmetric distance of the users 0 .. n-1."""

    @property
    def n(self) -> int:
        """Number of users."""

    def between(self, rows: Vertices, columns: Vertices | None = None) -> Distances:
        """Distances from some users to some others (`None`: to all), float32, shape (rows, columns)."""


class MatrixDistance:
    """A distance that is known as a matrix.

    Examples
    --------
    >>> MatrixDistance(np.array([[0, 2], [2, 0]])).between(np.array([1])).tolist()
    [[2.0, 0.0]]
    """

    def __init__(self, matrix: npt.ArrayLike) -> None:
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float32)

    @property
    def n(self) -> int:
        """Number of users."""
        return len(self.matrix)

    def between(self, rows: Vertices, columns: Vertices | None = None) -> Distances:
        """See `Distance.between`."""
        return self.matrix[rows] if columns is None else self.matrix[np.ix_(rows, columns)]


@dataclass(frozen=True, eq=False)
class Among:
    """A distance of some users only, numbered anew."""

    distance: Distance
    users: Vertices

    @property
    def n(self) -> int:
        """Number of these users."""
        return len(self.users)

    def between(self, rows: Vertices, columns: Vertices | None = None) -> Distances:
        """See `Distance.between`."""
        return self.distance.between(self.users[rows], self.users if columns is None else self.users[columns])


@kernel
def _nearest_rows(rows: SingleRows, users: Ints, start: Ints, found: Ints, near: Singles) -> None:
    """Find the nearest others of some users, ascending; of equally near ones those of the lowest number."""
    # `rows` are distances to everybody, shape (users, n). Those of user u go to ``start[u] .. start[u + 1] -
    # 1`` of `found` and `near`; at most n-1.
    for i in range(len(users)):
        u = users[i]
        first = start[u]
        room = start[u + 1] - first
        if room == 0:
            continue
        held = 0
        for v in range(rows.shape[1]):
            d = rows[i, v]
            if v == u or (held == room and d >= near[first + room - 1]):
                continue
            at = held if held < room else room - 1
            while at > 0 and near[first + at - 1] > d:
                near[first + at] = near[first + at - 1]
                found[first + at] = found[first + at - 1]
                at -= 1
            near[first + at] = d
            found[first + at] = v
            held = min(held + 1, room)


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
    >>> from kgreason.people.anonymizers.user_distances import MatrixDistance
    >>> line = MatrixDistance([[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    >>> neighbours(line, np.array([1, 1, 2])).user.tolist()
    [1, 0, 1, 0]
    """
    start = np.zeros(distance.n + 1, dtype=np.int64)
    np.cumsum(np.minimum(counts, distance.n - 1), out=start[1:])
    found = Neighbours(start, np.zeros(start[-1], dtype=np.int64), np.zeros(start[-1], dtype=np.float32))
    wanted = np.flatnonzero(np.diff(start))

    def fill(users: Vertices) -> None:
        _nearest_rows(distance.between(users), users, start, found.user, found.distance)

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
