"""Merging of clusters until the values of each are close to those of all entities (t-closeness).

The distances are those of `kgreason.links.closeness`, which decides the result and shares no code with this module.

References
----------
Li, Li and Venkatasubramanian, t-closeness: privacy beyond k-anonymity and l-diversity, ICDE 2007.
"""

from __future__ import annotations

from math import ceil

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError
from kgreason.graph.knowledge_graph import Vertices
from kgreason.links.model import LinkGraph
from kgreason.people.anonymizers.valid_clusters import numbered
from kgreason.people.model import Attribute, Counts

Doubles = npt.NDArray[np.float64]
SHARE = 8  # of the clusters that are too far, the furthest 1 / SHARE are merged in a round
PARTNERS = 64  # clusters among which that to merge with is chosen
TRIES = 6  # in try t, the choice is among at most one t-th of the clusters
PIECE = 1 << 10  # clusters whose distances are computed at once
SLACK = 1e-12  # rounding errors, less than those that the checker allows


class _Values:
    """Values of one attribute by cluster; the values of a merged cluster are the union."""

    def __init__(self, attribute: Attribute, clusters: Vertices) -> None:
        self._ordered = attribute.kind == "numeric"
        texts = attribute.numbers if self._ordered else attribute.domain.astype(str)
        _, value = np.unique(texts[attribute.value], return_inverse=True)
        self._held = np.zeros((int(clusters.max()) + 1, int(value.max()) + 1), dtype=np.bool_)
        self._held[clusters[attribute.user], value] = True

    def merge(self, into: int, other: int) -> None:
        self._held[into] |= self._held[other]

    def weigh(self, size: Counts) -> None:
        """Recompute the overall distribution; merged clusters have size 0."""
        has = self._held.any(axis=1)
        having = float(size[has].sum())
        self._share = having / float(size.sum())
        cluster, value = np.nonzero(self._held)
        each = size / np.maximum(self._held.sum(axis=1), 1)
        self._overall = np.bincount(value, each[cluster], self._held.shape[1]) / having

    def distances(self, rows: Vertices, other: int | None = None) -> Doubles:
        """Distance of each cluster, or of its union with another one."""
        held = self._held[rows] if other is None else self._held[rows] | self._held[other]
        many = held.sum(axis=1)
        differ = held / np.maximum(many, 1)[:, None] - self._overall
        if self._ordered:
            apart = np.abs(differ.cumsum(axis=1)).sum(axis=1) / max(differ.shape[1] - 1, 1)
        else:
            apart = np.abs(differ).sum(axis=1) / 2
        return np.where(many > 0, np.maximum(apart, 1 - self._share), self._share)


def check_given(graph: LinkGraph, clusters: Vertices, most: float) -> None:
    """Raise `AnonymizationError` if given clusters are too far; they are not merged."""
    values = [_Values(a, clusters) for a in graph.attributes.values() if len(a)]
    for each in values:
        each.weigh(np.bincount(clusters))
    furthest = float(_furthest(values, np.arange(int(clusters.max()) + 1)).max())
    if furthest > most + SLACK:
        raise AnonymizationError(
            f"closeness {most:g} is not reached: the given clusters come to {furthest:.3f}",
            hint=f"allow {ceil(furthest * 1000) / 1000:g} with closeness (--closeness), or leave the clusters out: "
            "clusters of a clustering are merged",
        )


def close_clusters(graph: LinkGraph, clusters: Vertices, most: float, rng: np.random.Generator) -> Vertices:
    """Merge clusters until the values of each are within `most` of those of all entities, in each attribute.

    In rounds, the furthest clusters are merged, each with one of some random clusters. If that ends in a single
    cluster, it is tried again with fewer to choose from.

    Parameters
    ----------
    clusters
        Cluster of each entity, all of 0 .. c-1, int64, shape (n,).
    most
        Largest distance, 0 to 1.

    Returns
    -------
    Vertices
        As `clusters`, numbered by first entity.

    Raises
    ------
    AnonymizationError
        If only a single cluster is close enough, although there were several.
    """
    best = 1.0
    for chosen_of in range(1, TRIES + 1):
        into, furthest = _merged(graph, clusters, most, chosen_of, rng)
        if furthest <= most + SLACK:
            return numbered(into[clusters])
        best = min(best, furthest)
    raise AnonymizationError(
        f"closeness {most:g} is not reached: two or more clusters came to {best:.3f} at best",
        hint=f"allow {ceil(best * 1000) / 1000:g} or more with closeness (--closeness), or lower k",
    )


def _merged(
    graph: LinkGraph, clusters: Vertices, most: float, chosen_of: int, rng: np.random.Generator
) -> tuple[Vertices, float]:
    """The cluster that each is merged into, and the least distance that several clusters came to."""
    of = np.arange(int(clusters.max(initial=-1)) + 1)
    size = np.bincount(clusters, minlength=len(of)).astype(np.int64)
    values = [_Values(a, clusters) for a in graph.attributes.values() if len(a)]
    best = 1.0
    while True:
        for each in values:
            each.weigh(size)
        left = np.flatnonzero(size)
        apart = np.concatenate(
            [_furthest(values, some) for some in np.array_split(left, -(-len(left) // PIECE))]
        )
        best = min(best, float(apart.max()))
        if best <= most + SLACK:
            return _roots(of), best
        far = left[apart > most + SLACK]
        order = np.argsort(-apart[apart > most + SLACK], kind="stable")
        for cluster in far[order][: ceil(len(far) / SHARE)].tolist():
            _merge(values, cluster, far, most, chosen_of, of, size, rng)
        if np.count_nonzero(size) == 1:
            return _roots(of), best


def _furthest(values: list[_Values], rows: Vertices, other: int | None = None) -> Doubles:
    found: Doubles = np.max([each.distances(rows, other) for each in values], axis=0)
    return found


def _merge(
    values: list[_Values],
    cluster: int,
    far: Vertices,
    most: float,
    chosen_of: int,
    of: Vertices,
    size: Counts,
    rng: np.random.Generator,
) -> None:
    """Merge a cluster with one of `PARTNERS` others, unless it was merged already.

    The others are too far as well, if there are such. Preferred are those with which it is close enough; then the
    smallest, by powers of two, which leaves more clusters in the end than the closest would; then the closest.
    """
    if not size[cluster]:
        return
    far = far[(size[far] > 0) & (far != cluster)]
    others = far if len(far) else np.setdiff1d(np.flatnonzero(size), [cluster])
    some = rng.choice(others, min(PARTNERS, -(-len(others) // chosen_of)), replace=False)
    apart = _furthest(values, some, cluster)
    magnitude = np.log2(size[some]).astype(np.int64)
    partner = int(some[np.lexsort((apart, magnitude, apart > most + SLACK))[0]])
    of[partner] = cluster
    size[cluster] += size[partner]
    size[partner] = 0
    for each in values:
        each.merge(cluster, partner)


def _roots(of: Vertices) -> Vertices:
    while not np.array_equal(of, of[of]):
        of = of[of]
    return of
