"""A distance of users by its whole matrix."""

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.user_distances import Distances


class MatrixDistance:
    def __init__(self, matrix: npt.ArrayLike) -> None:
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float32)

    @property
    def n(self) -> int:
        return len(self.matrix)

    def between(self, rows: Vertices, columns: Vertices | None = None) -> Distances:
        return self.matrix[rows] if columns is None else self.matrix[np.ix_(rows, columns)]
