"""Clusters Generation of CDGA: agglomerative clustering of the users of a directed graph by degrees."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np

from kgreason.base.cores import cores, each
from kgreason.base.errors import AnonymizationError
from kgreason.base.jit import DoubleRows, Doubles, Ints, kernel
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.losses import direction_weights
from kgreason.people.anonymizers.user_distances import Clusters
from kgreason.people.anonymizers.valid_clusters import invalid_removal
from kgreason.people.model import Counts, Numbers


@kernel
def _nearest_clusters(
    wanted: Ints, first: int, stop: int, alive: Ints, size: Ints, most: int, low: DoubleRows, high: DoubleRows,
    near: Ints, far: Doubles,
) -> None:  # fmt: skip
    """Find the nearest cluster of each of wanted[first:stop] by complete linkage, up to `most` users together."""
    # The distance of two users is the largest difference of their coordinates, so that of two clusters is the
    # largest difference between a maximum of one and a minimum of the other (`low`, `high`: shape
    # (clusters, coordinates)). `near` is set to the first of equally near ones, or -1 if none fits.
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


_RELATIONS = 4
_PAIRS = 1 << 20  # pairs of clusters from which threads pay off


def merge(
    outs: Counts,
    ins: Counts,
    k: int,
    tau: float,
    omega: float,
    epsilon: int,
    rng: np.random.Generator,
    *,
    alpha_dm: float = 0.5,
    literal: bool = False,
) -> Clusters:
    """Merge clusters, initially single users, until all have k users or none can be merged.

    Each round draws a share of the clusters below k, and merges the nearest pair of a drawn cluster and any other one.
    If no drawn cluster can be merged, all clusters below k are tried, where the published algorithm stops (`literal`).
    The nearest neighbour of a cluster only changes when that neighbour is merged, so it is only then computed again.
    Users of clusters that remain below k are in none (-1).

    Parameters
    ----------
    outs, ins
        Degrees of users, int64, shape (n, relations).
    tau
        Largest distance DM of merged clusters, from 0, the least distance of two users, to 1, the largest. (Example 5
        of the thesis excludes a user at a distance of 0.15 by tau = 0.4, where the largest distance is 0.25.)
    omega
        Share of the clusters below k to draw, above 0 and up to 1; rounded up.
    epsilon
        Most users of a merged cluster.
    alpha_dm
        Weight of out-degrees in DM; in-degrees have the rest.

    References
    ----------
    THESIS, section 3.3, Definition 5, equation 3.1, Algorithm 1 and Function 1.
    """
    _check(k, tau, omega, epsilon, outs.shape[1])
    merging = _Merging(_rotated(outs, ins, alpha_dm), epsilon)
    limit = merging.limit(tau)
    while len(invalid := merging.below(k)):
        share = math.ceil(omega * len(invalid))
        drawn = np.sort(rng.choice(invalid, share, replace=False)) if share < len(invalid) else invalid
        if merging.merge_nearest(drawn, limit):
            continue
        if literal or not merging.merge_nearest(invalid, limit):
            break
    return invalid_removal(merging.cluster, np.full(len(outs), k, dtype=np.int64))


class _Merging:
    """Clusters, the ranges of their coordinates, and their cached nearest neighbours."""

    def __init__(self, coordinates: Numbers, most: int) -> None:
        n = len(coordinates)
        self.cluster: Clusters = np.arange(n)
        self._alive = np.arange(n)
        self._users = [[u] for u in range(n)]
        self._size = np.ones(n, dtype=np.int64)
        self._most = most
        self._low, self._high = coordinates, coordinates.copy()
        self._near = np.full(n, -1, dtype=np.int64)
        self._far = np.full(n, np.inf)
        self._known = np.zeros(n, dtype=np.bool_)

    def below(self, k: int) -> Vertices:
        return self._alive[self._size[self._alive] < k]

    def limit(self, tau: float) -> float:
        """Distance at the share `tau` between the least and the largest distance of two users; before any merge."""
        if tau == 1:
            return np.inf
        self._search(self._alive)
        largest = (self._high.max(axis=0) - self._low.min(axis=0)).max(initial=0.0)
        least = min(float(self._far.min(initial=np.inf)), largest)
        return float(tau * (largest - least) + least)

    def merge_nearest(self, clusters: Vertices, limit: float) -> bool:
        """Merge the closest pair of one of `clusters` and any other one, unless its distance exceeds `limit`."""
        self._search(clusters)
        best = int(clusters[self._far[clusters].argmin()])
        if not self._far[best] <= limit or self._near[best] < 0:
            return False
        self._merge(*sorted((best, int(self._near[best]))))
        return True

    def _search(self, clusters: Vertices) -> None:
        """Find the nearest clusters of `clusters` that are not known."""
        wanted = clusters[~self._known[clusters]]
        shares = cores() if len(wanted) * len(self._alive) > _PAIRS else 1
        ends = np.linspace(0, len(wanted), shares + 1).astype(np.int64).tolist()

        def search(ends: tuple[int, int]) -> None:
            _nearest_clusters(
                wanted, *ends, self._alive, self._size, self._most, self._low, self._high, self._near, self._far
            )  # fmt: skip

        each(search, pairwise(ends))
        self._known[wanted] = True

    def _merge(self, one: int, other: int) -> None:
        self._users[one] += self._users[other]
        self.cluster[self._users[other]] = one
        self._users[other] = []
        self._size[one] += self._size[other]
        self._low[one] = np.minimum(self._low[one], self._low[other])
        self._high[one] = np.maximum(self._high[one], self._high[other])
        self._alive = np.delete(self._alive, np.searchsorted(self._alive, other))
        self._known &= (self._near != one) & (self._near != other)
        self._known[one] = False


def _rotated(outs: Counts, ins: Counts, alpha_dm: float) -> Numbers:
    """Coordinates with DM as Chebyshev distance, but for a factor: signed sums of weighted degrees."""
    relations = outs.shape[1]
    by_out, by_in = direction_weights(alpha_dm)  # sums are exact, so that ties are ties
    degrees = np.concatenate([by_out * outs, by_in * ins], axis=1)
    signs = np.array(list(product((1.0, -1.0), repeat=2 * relations)))[: 1 << max(2 * relations - 1, 0)]
    return np.ascontiguousarray(degrees @ signs.T)


def _check(k: int, tau: float, omega: float, epsilon: int, relations: int) -> None:
    ranges = [
        ("k", k >= 1, k, "at least 1"),
        ("tau", 0 <= tau <= 1, tau, "between 0 and 1"),
        ("omega", 0 < omega <= 1, omega, "above 0 and at most 1"),
        ("epsilon", epsilon >= k, epsilon, f"at least k = {k}"),
    ]
    for name, fits, value, wanted in ranges:
        if not fits:
            raise AnonymizationError(f"{name} must be {wanted}, not {value:g}")
    if relations > _RELATIONS:
        raise AnonymizationError(
            f"merging compares users by at most {_RELATIONS} relations, not {relations}",
            hint="use VAC with the loss ADM and alpha = 0: it takes any number of relations",
        )
