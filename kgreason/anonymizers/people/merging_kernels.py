"""Compiled search for the nearest cluster; the plain twin is in ``tests/test_people_clusters.py``."""

from __future__ import annotations

import numpy as np

from kgreason.jit import DoubleRows, Doubles, Ints, kernel


@kernel
def nearest_clusters(
    wanted: Ints,
    first: int,
    stop: int,
    alive: Ints,
    size: Ints,
    most: int,
    low: DoubleRows,
    high: DoubleRows,
    near: Ints,
    far: Doubles,
) -> None:
    """Find the nearest cluster of each of wanted[first:stop] by complete linkage.

    The distance of two users is the largest difference of their coordinates, so that of two clusters is the largest
    difference between a highest coordinate of one and a lowest of the other.

    Parameters
    ----------
    alive
        Clusters, ascending.
    size, most
        Sizes of clusters; both together have at most `most` users.
    low, high
        Lowest and highest coordinates of users of each cluster; shape (clusters, coordinates).
    near, far
        Become which is nearest, the first of equally near ones (-1: none fits), and how far; shape (clusters,).
    """
    for i in range(first, stop):
        c = wanted[i]
        near[c] = -1
        far[c] = np.inf
        for j in range(len(alive)):
            d = alive[j]
            if d == c or size[c] + size[d] > most:
                continue
            apart = 0.0
            for x in range(low.shape[1]):
                apart = max(apart, high[c, x] - low[d, x], high[d, x] - low[c, x])
                if apart >= far[c]:
                    break
            if apart < far[c]:
                far[c] = apart
                near[c] = d
                if apart == 0:
                    break
