"""Which clusters are valid: those of at least as many users as the largest level in them (PCKGA, Definition 3)."""

from __future__ import annotations

import numpy as np

from kgreason.anonymizers.people.distance import Clusters, Levels
from kgreason.graph.model import Vertices


def sizes(clusters: Clusters) -> Vertices:
    """Users of each cluster, int64, shape (clusters,)."""
    return np.bincount(clusters[clusters >= 0]).astype(np.int64)


def highest_levels(clusters: Clusters, levels: Levels) -> Levels:
    """The largest level in each cluster, int64, shape (clusters,); 0 for one without users."""
    inside = clusters >= 0
    highest = np.zeros(clusters.max(initial=-1) + 1, dtype=np.int64)
    np.maximum.at(highest, clusters[inside], levels[inside])
    return highest


def invalid_removal(clusters: Clusters, levels: Levels) -> Clusters:
    """Remove the users of invalid clusters (THESIS, section 4.4.2); the others are numbered anew from 0.

    Examples
    --------
    >>> invalid_removal(np.array([0, 1, 1, 2, -1]), np.array([1, 2, 2, 2, 1])).tolist()
    [0, 1, 1, -1, -1]
    """
    valid = sizes(clusters) >= highest_levels(clusters, levels)
    inside = clusters >= 0
    inside[inside] = valid[clusters[inside]]
    return numbered(np.where(inside, clusters, -1))


def numbered(clusters: Clusters) -> Clusters:
    """The same clusters, numbered from 0 without gaps in the order of their first users."""
    inside = np.flatnonzero(clusters >= 0)
    found = np.full(len(clusters), -1, dtype=np.int64)
    _, first, place = np.unique(clusters[inside], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    found[inside] = rank[place]
    return found


def members(clusters: Clusters) -> list[Vertices]:
    """Users of each cluster, ascending."""
    inside = np.flatnonzero(clusters >= 0)
    order = inside[np.argsort(clusters[inside], kind="stable")]
    return np.split(order, np.cumsum(sizes(clusters))[:-1]) if len(order) else []
