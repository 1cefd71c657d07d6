"""The anonymization distance d^a: what the smallest valid cluster around two users costs (PCKGA, section 4.1)."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.people.distance import Distance, Distances, Levels
from kgreason.anonymizers.people.neighbours import Neighbours, neighbours
from kgreason.graph.model import Vertices


class AnonymizationDistance:
    """d^a(u, v): the largest of both core distances and of d(u, v), times the higher of both levels.

    Parameters
    ----------
    distance
        The distance d.
    levels
        int64, shape (n,).

    References
    ----------
    PCKGA, Definitions 7 and 8.

    Examples
    --------
    >>> from kgreason.anonymizers.people.distance import MatrixDistance
    >>> line = MatrixDistance([[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    >>> far = AnonymizationDistance(line, np.array([2, 2, 3]))
    >>> far.core.tolist(), far.costs.tolist()
    ([1.0, 1.0, 3.0], [2.0, 2.0, 9.0])
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
        """N(u): the k_u - 1 others nearest to each user, or all others if they are fewer."""
        return neighbours(self.distance, self.levels - 1)

    @cached_property
    def core(self) -> Distances:
        """Core distance of each user: how far the farthest of N(u) is; float32, shape (n,)."""
        ends = self.near.start[1:]
        core = np.zeros(self.n, dtype=np.float32)
        some = np.diff(self.near.start) > 0
        core[some] = self.near.distance[ends[some] - 1]
        return core

    @cached_property
    def costs(self) -> npt.NDArray[np.float64]:
        """Anonymization cost of each user: the largest d^a to one of N(u); float64, shape (n,)."""
        user, other = np.repeat(np.arange(self.n), np.diff(self.near.start)), self.near.user
        far = np.maximum(np.maximum(self.core[user], self.core[other]), self.near.distance)
        costs = np.zeros(self.n)
        np.maximum.at(costs, user, far.astype(np.float64) * np.maximum(self.levels[user], self.levels[other]))
        return costs

    def between(self, rows: Vertices, columns: Vertices | None = None) -> Distances:
        """See `Distance.between`; a user is at some distance even from himself."""
        to: Vertices | slice = slice(None) if columns is None else columns
        far = self.distance.between(rows, columns)
        far = np.maximum(np.maximum(far, self.core[rows][:, None]), self.core[to])
        far *= np.maximum(self.levels[rows][:, None], self.levels[to])
        return far
