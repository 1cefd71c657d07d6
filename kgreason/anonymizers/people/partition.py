"""Partition strategies of CKGA and CTKGA: clusters of k to 2k - 1 users, of the clusters that any algorithm finds."""

from __future__ import annotations

import numpy as np

from kgreason.anonymizers.people.adopt import adopted
from kgreason.anonymizers.people.balanced import Points, between_means, between_medoids, split
from kgreason.anonymizers.people.distance import Clusters, Distance, Distances
from kgreason.anonymizers.people.validity import invalid_removal as invalid_removal
from kgreason.graph.model import Vertices


def k_means_partition(points: Points, clusters: Clusters, k: int, tau: float = 1.0) -> Clusters:
    """Let users of clusters below k join the nearest others, and split those of 2k users or more by balanced k-means.

    Parameters
    ----------
    points
        A point of each user; float64, shape (n, d).
    tau
        From 0 to 1: users whose farthest companion would be farther than that are removed.

    Returns
    -------
    Clusters
        Of k to 2k - 1 users; all -1 if no given cluster has k users.

    Raises
    ------
    AnonymizationError
        If `tau` is not between 0 and 1.

    References
    ----------
    THESIS, section 4.4.2, Algorithm 3.

    Examples
    --------
    >>> points = np.array([[0.0], [1], [5], [6], [9]])
    >>> k_means_partition(points, np.array([0, 0, 0, 0, 1]), 2).tolist()
    [0, 0, 1, 1, 1]
    """
    levels = np.full(len(clusters), k, dtype=np.int64)
    return split(adopted(PointDistance(points), clusters, levels, tau), levels, between_means(points))


def k_medoids_partition(distance: Distance, clusters: Clusters, k: int, rng: np.random.Generator) -> Clusters:
    """The same with distances: all users join some cluster, and large ones are split by same-size k-medoids.

    References
    ----------
    THESIS, section 5.3.3, Algorithm 6.
    """
    levels = np.full(len(clusters), k, dtype=np.int64)
    return split(adopted(distance, clusters, levels, 1.0), levels, between_medoids(distance, rng))


class PointDistance:
    """Euclidean distance of points."""

    def __init__(self, points: Points) -> None:
        self.points = points

    @property
    def n(self) -> int:
        """Number of users."""
        return len(self.points)

    def between(self, rows: Vertices, columns: Vertices | None = None) -> Distances:
        """See `Distance.between`."""
        from scipy.spatial.distance import cdist

        others = self.points if columns is None else self.points[columns]
        return cdist(self.points[rows], others).astype(np.float32)
