"""Distances between users by rows, without an n x n matrix; nearest neighbours; the anonymization distance of PCKGA.

A distance is the information loss of making two users alike. Clusterings request the rows they need; only those of
other libraries, which need the whole matrix, request all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kgreason.base.cores import cores, each
from kgreason.base.jit import Ints, SingleRows, Singles, kernel
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.model import Numbers

Distances = npt.NDArray[np.float32]
Clusters = Vertices  # cluster of each user, shape (n,); -1: in none, so the user will be removed
Levels = npt.NDArray[np.int64]  # anonymity level k of each user, shape (n,)


class Distance(Protocol):
    """A symmetric distance of the users 0 .. n-1."""

    @property
    def n(self) -> int:
        """Number of users."""

    def between(self, rows: Vertices, columns: Vertices | None = None) -> Distances:
        """Distances from some users to others (`None`: to all), float32, shape (rows, columns)."""


@record(eq=False)
class Among:
    """A distance restricted to some users, renumbered."""

    distance: Distance
    users: Vertices

    @property
    def n(self) -> int:
        """Number of users."""
        return len(self.users)

    def between(self, rows: Vertices, columns: Vertices | None = None) -> Distances:
        """See `Distance.between`."""
        return self.distance.between(self.users[rows], self.users if columns is None else self.users[columns])


@kernel
def _nearest_rows(rows: SingleRows, users: Ints, start: Ints, found: Ints, near: Singles) -> None:
    """Find the nearest other users of some users, ascending; ties by number."""
    # `rows` are distances to all users, shape (users, n). Results of user u are at ``start[u] .. start[u + 1] - 1``
    # of `found` and `near`; at most n - 1.
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


_BLOCK = 1 << 22  # distances held at a time by each core: 16 MB


@record(eq=False)
class Neighbours:
    """The nearest other users of each user, nearest first; ties by number.

    Attributes
    ----------
    start
        Neighbours of user u are entries ``start[u] .. start[u + 1] - 1``; int64, shape (n + 1,).
    user, distance
        Neighbours and their distances; int64 and float32.
    """

    start: Vertices
    user: Vertices
    distance: Distances


def neighbours(distance: Distance, counts: Vertices) -> Neighbours:
    """Find the nearest other users of each user: `counts` of them, int64, shape (n,), but at most n - 1."""
    start = np.zeros(distance.n + 1, dtype=np.int64)
    np.cumsum(np.minimum(counts, distance.n - 1), out=start[1:])
    found = Neighbours(start, np.zeros(start[-1], dtype=np.int64), np.zeros(start[-1], dtype=np.float32))
    wanted = np.flatnonzero(np.diff(start))

    def fill(users: Vertices) -> None:
        _nearest_rows(distance.between(users), users, start, found.user, found.distance)

    each(fill, blocks(wanted, distance.n))
    return found


def rows_of(distance: Distance, users: Vertices) -> Distances:
    """Distances from some users to all, on all cores; float32, shape (users, n)."""
    shares = np.array_split(users, min(cores(), max(len(users), 1)))
    return np.concatenate(each(distance.between, shares))


def blocks(users: Vertices, columns: int) -> Iterator[Vertices]:
    """Blocks of users whose distances to `columns` others fit in memory on each core."""
    size = max(1, _BLOCK // max(columns, 1))
    return (users[i : i + size] for i in range(0, len(users), size))


class AnonymizationDistance:
    """Anonymization distance d^a(u, v): maximum of both core distances and d(u, v), times the higher level.

    References
    ----------
    PCKGA, Definitions 7 and 8.
    """

    def __init__(self, distance: Distance, levels: Levels) -> None:
        self.distance = distance
        self.levels = levels

    @property
    def n(self) -> int:
        """Number of users."""
        return self.distance.n

    @cached_property
    def near(self) -> Neighbours:
        """N(u): the k_u - 1 nearest other users of each user, or all others if they are fewer."""
        return neighbours(self.distance, self.levels - 1)

    @cached_property
    def core(self) -> Distances:
        """Core distance of each user: distance to the farthest of N(u); float32, shape (n,)."""
        ends = self.near.start[1:]
        core = np.zeros(self.n, dtype=np.float32)
        some = np.diff(self.near.start) > 0
        core[some] = self.near.distance[ends[some] - 1]
        return core

    @cached_property
    def costs(self) -> Numbers:
        """Anonymization cost of each user: the largest d^a to a user of N(u); float64, shape (n,)."""
        user, other = np.repeat(np.arange(self.n), np.diff(self.near.start)), self.near.user
        far = np.maximum(np.maximum(self.core[user], self.core[other]), self.near.distance)
        costs = np.zeros(self.n)
        np.maximum.at(costs, user, far.astype(np.float64) * np.maximum(self.levels[user], self.levels[other]))
        return costs

    def between(self, rows: Vertices, columns: Vertices | None = None) -> Distances:
        """See `Distance.between`; the distance of a user to itself is not 0."""
        to: Vertices | slice = slice(None) if columns is None else columns
        far = self.distance.between(rows, columns)
        far = np.maximum(np.maximum(far, self.core[rows][:, None]), self.core[to])
        far *= np.maximum(self.levels[rows][:, None], self.levels[to])
        return far
