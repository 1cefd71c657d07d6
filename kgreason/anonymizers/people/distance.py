"""Distances between users, by rows: nothing here needs an n x n matrix.

A distance says how much information is lost if two users are made alike. Clusterings ask for the rows they need; only
those of other libraries, which want the whole matrix, ask for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kgreason.graph.model import Vertices

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
