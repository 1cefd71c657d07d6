"""Merge-Split: valid clusters that are not too large, of the clusters that any algorithm finds."""

from __future__ import annotations

import numpy as np

from kgreason.anonymizers.people.adopt import adopted
from kgreason.anonymizers.people.anonymization import AnonymizationDistance
from kgreason.anonymizers.people.balanced import between_medoids, split
from kgreason.anonymizers.people.distance import Clusters


def merge_split(
    far: AnonymizationDistance, clusters: Clusters, tau: float, rng: np.random.Generator
) -> Clusters:
    """Make clusters valid, and split those of twice the users that their level needs.

    Users of invalid clusters join the valid ones that are nearest by the anonymization distance. Clusters are split
    into balanced parts until none has twice its level: the published algorithm takes the level of the cluster for all
    parts, and the last of them may be as large as before.

    Parameters
    ----------
    far
        The anonymization distance, which has the level of each user.
    clusters
        Of any algorithm; -1 for users in none.
    tau
        From 0 to 1: users who are farther than that, between the least and the largest distance, are removed.

    Returns
    -------
    Clusters
        -1 for removed users: those too far, those whose level no cluster reaches, and everybody if no cluster is valid.

    Raises
    ------
    AnonymizationError
        If `tau` is not between 0 and 1.

    References
    ----------
    PCKGA, section 4.3, Algorithm 3.

    Examples
    --------
    >>> from kgreason.anonymizers.people.distance import MatrixDistance
    >>> at = np.array([0, 1, 5, 6, 9])
    >>> far = AnonymizationDistance(MatrixDistance(abs(np.subtract.outer(at, at))), np.full(5, 2))
    >>> merge_split(far, np.array([0, 0, 0, 0, 1]), 1.0, np.random.default_rng(1)).tolist()
    [0, 0, 1, 1, 1]
    """
    return split(adopted(far, clusters, far.levels, tau), far.levels, between_medoids(far, rng))
