"""Merge-Split: valid clusters that are not too large, of the clusters that any algorithm finds."""

from __future__ import annotations

import numpy as np

from kgreason.anonymizers.people.adopt import adopted
from kgreason.anonymizers.people.anonymization import AnonymizationDistance
from kgreason.anonymizers.people.balanced import between_medoids, split
from kgreason.anonymizers.people.distance import Clusters, Distance, Levels


def merge_split(
    distance: Distance, clusters: Clusters, levels: Levels, tau: float, rng: np.random.Generator
) -> Clusters:
    """Make clusters valid, and split those of twice the users that their level needs.

    Users of invalid clusters join the valid ones that are nearest by the anonymization distance. Clusters are split
    into balanced parts until none has twice its level: the published algorithm takes the level of the cluster for all
    parts, and the last of them may be as large as before.

    Parameters
    ----------
    clusters
        Of any algorithm; -1 for users in none. A single k is a `levels` array of equal numbers.
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
    >>> line, two = MatrixDistance(abs(np.subtract.outer(at, at))), np.full(5, 2)
    >>> merge_split(line, np.array([0, 0, 0, 0, 1]), two, 1.0, np.random.default_rng(1)).tolist()
    [0, 0, 1, 1, 1]
    """
    far = AnonymizationDistance(distance, levels)
    return split(adopted(far, clusters, levels, tau), levels, between_medoids(far, rng))
