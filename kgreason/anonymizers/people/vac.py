"""VAC, clusters for users who have levels of their own, and none of whom is left over."""

from __future__ import annotations

import numpy as np

from kgreason.anonymizers.people.anonymization import AnonymizationDistance
from kgreason.anonymizers.people.distance import Clusters, Distances
from kgreason.anonymizers.people.neighbours import rows_of
from kgreason.anonymizers.people.vac_kernels import grow
from kgreason.graph.model import Vertices

_SEEDS = 64  # whose distances are asked for at a time


def vac(far: AnonymizationDistance, literal: bool = False) -> Clusters:
    """Cluster users around seeds, each with as many as the levels in the cluster need.

    The published algorithm begins with users who are cheap to anonymize. Those who are expensive, far from others or
    of a high level, must take who is left, and the last ones find too few: they are removed. Here the most expensive
    user chooses first, and whom he chooses depends on levels, too: someone of half his level counts as twice as far,
    for in this cluster he pays for twice the users that he needs. Too few for the highest level among them are never
    left: they go into the last cluster. So all clusters are valid, and all users are in one whose levels are at most n.

    Parameters
    ----------
    far
        The anonymization distance, which has the level of each user.
    literal
        Do as published: ascending costs, nearest users by anonymization distance, possibly an invalid last cluster,
        and users who are left over.

    Returns
    -------
    Clusters
        -1 for users whose level is above n; with `literal`, also for those left over.

    References
    ----------
    PCKGA, section 4.2, Algorithm 2.

    Examples
    --------
    >>> from kgreason.anonymizers.people.distance import MatrixDistance
    >>> line = MatrixDistance(abs(np.subtract.outer([0, 1, 5, 6, 8], [0, 1, 5, 6, 8])))
    >>> vac(AnonymizationDistance(line, np.array([2, 2, 2, 3, 2]))).tolist()
    [1, 1, 0, 0, 0]
    """
    n, levels = far.n, far.levels
    order = np.argsort(far.costs if literal else -far.costs, kind="stable")
    cluster = np.full(n, -1, dtype=np.int64)
    free = np.ones(n, dtype=np.bool_) if literal else levels <= n
    state = np.array([np.count_nonzero(free), 0, 0, 0])
    ranked = np.argsort(-levels, kind="stable")
    while not state[3] and len(order := order[free[order]]):
        seeds, order = order[:_SEEDS], order[_SEEDS:]
        rows = rows_of(far, seeds) if literal else _by_levels(far, seeds)
        grow(seeds, rows, levels, literal, ranked, free, state, cluster)
    return cluster


def _by_levels(far: AnonymizationDistance, seeds: Vertices) -> Distances:
    """Distances times the ratio of the higher level to the lower one."""
    rows, levels = rows_of(far.distance, seeds), far.levels
    own = levels[seeds][:, None]
    rows *= (np.maximum(own, levels) / np.minimum(own, levels)).astype(np.float32)
    return rows
