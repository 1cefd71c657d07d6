"""Users of invalid clusters join valid ones, or are removed."""

from __future__ import annotations

import numpy as np

from kgreason.anonymizers.people.adopt_kernels import adopt
from kgreason.anonymizers.people.distance import Clusters, Distance, Levels
from kgreason.anonymizers.people.neighbours import blocks, rows_of
from kgreason.anonymizers.people.validity import highest_levels, invalid_removal, sizes
from kgreason.cores import cores, each
from kgreason.errors import AnonymizationError
from kgreason.graph.model import Vertices


def adopted(distance: Distance, clusters: Clusters, levels: Levels, tau: float) -> Clusters:
    """Let each user of an invalid cluster join the valid one whose farthest user is nearest to him.

    He joins only where the cluster stays valid, also for him. As clusters grow, they have room for higher levels: who
    found none is asked again until nobody joins. If no cluster is valid, nobody can join any, and all are removed.

    Parameters
    ----------
    tau
        From 0 to 1: how far he may be from the farthest, between the least (0) and the largest distance of two users.

    Raises
    ------
    AnonymizationError
        If `tau` is not between 0 and 1.

    References
    ----------
    PCKGA, Procedure 1; THESIS, Procedure 1 of section 4.4.2 and Procedure 2 of section 5.3.3.
    """
    if not 0 <= tau <= 1:
        raise AnonymizationError(
            f"tau must be between 0 and 1, not {tau:g}", hint="1 removes nobody who can be with others"
        )
    found = invalid_removal(clusters, levels)
    size, highest = sizes(found), highest_levels(found, levels)
    waiting = np.flatnonzero(found < 0)
    if not len(size) or not len(waiting):
        return found
    limit, widest = _limit(distance, tau), np.empty(len(size))
    joined = 1
    while joined and len(waiting):
        joined = 0
        for users in blocks(waiting, distance.n):
            joined += adopt(users, rows_of(distance, users), limit, levels, found, size, highest, widest)
        waiting = waiting[found[waiting] < 0]
    return found


def _limit(distance: Distance, tau: float) -> float:
    """A share `tau` of the way from the least distance of two users to the largest."""
    if tau == 1:
        return np.inf
    rows = np.arange(distance.n)

    def ends(users: Vertices) -> tuple[float, float]:
        far = distance.between(users)
        own = (np.arange(len(users)), users)
        far[own] = np.inf
        least = float(far.min())
        far[own] = -np.inf
        return least, float(far.max())

    least, most = np.array(each(ends, blocks(rows, distance.n * cores()))).T
    return float(tau * (most.max() - least.min()) + least.min())
