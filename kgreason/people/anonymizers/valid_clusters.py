"""Valid clusters (PCKGA, Definition 3), no smaller than the highest level of their users: VAC and Merge-Split.

An optimal bisection with given sizes and centres follows from sorting users by the difference of their (squared)
distances to both centres: the first ones go to one centre. So balanced k-means and k-medoids with two centres need one
sort per round, where those with many centres solve an assignment problem.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kgreason.base.cores import cores, each
from kgreason.base.errors import AnonymizationError
from kgreason.base.jit import Doubles, Flags, Ints, SingleRows, kernel
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.user_distances import (
    AnonymizationDistance,
    Clusters,
    Distance,
    Distances,
    Levels,
    blocks,
    rows_of,
)
from kgreason.people.model import Numbers


def sizes(clusters: Clusters) -> Vertices:
    """Users of each cluster."""
    return np.bincount(clusters[clusters >= 0]).astype(np.int64)


def _highest_levels(clusters: Clusters, levels: Levels) -> Levels:
    """Highest level in each cluster, int64, shape (clusters,); 0 for empty ones."""
    inside = clusters >= 0
    highest = np.zeros(clusters.max(initial=-1) + 1, dtype=np.int64)
    np.maximum.at(highest, clusters[inside], levels[inside])
    return highest


def invalid_removal(clusters: Clusters, levels: Levels) -> Clusters:
    """Remove the users of invalid clusters (THESIS, section 4.4.2); the others are renumbered from 0."""
    valid = sizes(clusters) >= _highest_levels(clusters, levels)
    inside = clusters >= 0
    inside[inside] = valid[clusters[inside]]
    return numbered(np.where(inside, clusters, -1))


def numbered(clusters: Clusters) -> Clusters:
    """The same clusters, numbered from 0 without gaps by first user."""
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


@kernel
def adopt(
    users: Ints,
    rows: SingleRows,
    limit: float,
    level: Ints,
    cluster: Ints,
    size: Ints,
    highest: Ints,
    widest: Doubles,
) -> int:
    """Let users, one after another, join the valid cluster whose farthest user is nearest; returns how many do.

    `rows` are the distances of the unclustered `users` to all, `limit` the largest distance to a user of the joined
    cluster. `cluster`, `size` and `highest` level of each cluster are modified; `widest` is scratch, shape (clusters,).
    """
    joined = 0
    for i in range(len(users)):
        u = users[i]
        for c in range(len(widest)):
            widest[c] = 0.0
        for v in range(len(cluster)):
            if cluster[v] >= 0:
                widest[cluster[v]] = max(widest[cluster[v]], float(rows[i, v]))
        best = -1
        for c in range(len(size)):
            if (
                widest[c] <= limit
                and size[c] > 0
                and size[c] + 1 >= max(level[u], highest[c])
                and (best < 0 or widest[c] < widest[best])
            ):
                best = c
        if best >= 0:
            cluster[u] = best
            size[best] += 1
            highest[best] = max(highest[best], level[u])
            joined += 1
    return joined


def adopted(distance: Distance, clusters: Clusters, levels: Levels, tau: float) -> Clusters:
    """Let each user of an invalid cluster join the valid one whose farthest user is nearest.

    A user joins only if the cluster stays valid, with the user's level included. Growing clusters admit higher levels,
    so the remaining users are tried again until none joins. If no cluster is valid, all users are removed. `tau` bounds
    the distance to the farthest user, from 0 (the least) to 1 (the largest distance of two users).

    References
    ----------
    PCKGA, Procedure 1; THESIS, Procedure 1 of section 4.4.2 and Procedure 2 of section 5.3.3.
    """
    if not 0 <= tau <= 1:
        raise AnonymizationError(
            f"tau must be between 0 and 1, not {tau:g}", hint="1 removes no user who can join a cluster"
        )
    found = invalid_removal(clusters, levels)
    size, highest = sizes(found), _highest_levels(found, levels)
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
    """Distance at the share `tau` between the least and the largest distance of two users."""
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


# of all users of a part, how much farther the centre of some of them is than the centre of the others
Pull = Callable[[Vertices, Vertices], Numbers]

_ROUNDS = 20
_CANDIDATES = 256  # most medoid candidates of a half


def split(clusters: Clusters, levels: Levels, pull: Callable[[Vertices], Pull]) -> Clusters:
    """Split valid clusters into as many parts as their levels allow: no part has twice its level.

    A part has the highest level of its own users, so it may be split further than its cluster could. `pull` is the
    centre function: it returns the `Pull` of the users of a part.
    """
    found = np.full(len(clusters), -1, dtype=np.int64)
    parts = [users for users in members(clusters) if len(users)]
    done = 0
    while parts:
        users = parts.pop()
        k = max(int(levels[users].max()), 1)
        count = len(users) // k
        if count > 1:
            first = _halved(len(users), k, pull(users))
            parts += [users[first], users[~first]]
        else:
            found[users] = done
            done += 1
    return numbered(found)


def _halved(n: int, k: int, pull: Pull) -> npt.NDArray[np.bool_]:
    """First half of a part: the users nearer to its centre, as far as the sizes allow."""
    # Together, both halves can be split into as many parts of k users as the whole.
    count, rest = divmod(n, k)
    sizes = (k * np.arange(1, count)[:, None] + np.arange(rest + 1)).ravel()
    first = np.arange(n) < n // 2
    for _ in range(_ROUNDS):
        farther = pull(np.flatnonzero(first), np.flatnonzero(~first))
        size = sizes[np.abs(sizes - np.count_nonzero(farther < 0)).argmin()]
        last, first = first, np.zeros(n, dtype=np.bool_)
        first[np.argsort(farther, kind="stable")[:size]] = True
        if np.array_equal(first, last):
            break
    return first


def _between_means(points: Numbers) -> Callable[[Vertices], Pull]:
    """Mean centres with squared Euclidean distance, as in k-means."""

    def of(users: Vertices) -> Pull:
        place = points[users]
        # two seeds: the user farthest from the mean, and the user farthest from that one
        apart = place[_farthest(place, place.mean(axis=0))]
        seeds = [apart, place[_farthest(place, apart)]]

        def pull(first: Vertices, others: Vertices) -> Numbers:
            one, other = seeds or (place[first].mean(axis=0), place[others].mean(axis=0))
            seeds.clear()
            return _squared(place, one) - _squared(place, other)

        return pull

    return of


def between_medoids(distance: Distance, rng: np.random.Generator) -> Callable[[Vertices], Pull]:
    """Medoid centres: the users with least mean distance to their half, among a random sample of candidates."""

    def of(users: Vertices) -> Pull:
        apart = int(distance.between(users[:1], users)[0].argmax())
        seeds = [apart, int(distance.between(users[[apart]], users)[0].argmax())]

        def medoid(half: Vertices) -> int:
            drawn = (
                half if len(half) <= _CANDIDATES else np.sort(rng.choice(half, _CANDIDATES, replace=False))
            )
            rows = distance.between(users[drawn], users[half])
            return int(drawn[rows.sum(axis=1, dtype=np.float64).argmin()])

        def pull(first: Vertices, others: Vertices) -> Numbers:
            centres = seeds.copy() if seeds else [medoid(first), medoid(others)]
            seeds.clear()
            one, other = distance.between(users[centres], users).astype(np.float64)
            return np.asarray(one - other, dtype=np.float64)

        return pull

    return of


def _squared(place: Numbers, centre: Numbers) -> Numbers:
    found: Numbers = ((place - centre) ** 2).sum(axis=1)
    return found


def _farthest(place: Numbers, centre: Numbers) -> int:
    return int(_squared(place, centre).argmax())


def k_means_partition(points: Numbers, clusters: Clusters, k: int, tau: float = 1.0) -> Clusters:
    """Let users of clusters below k join the nearest others, and split clusters of 2k users by balanced k-means.

    `points` has the shape (n, d), `tau` is that of `adopted`. Clusters have k to 2k - 1 users; all are -1 if no given
    cluster has k users.

    References
    ----------
    THESIS, section 4.4.2, Algorithm 3.
    """
    levels = np.full(len(clusters), k, dtype=np.int64)
    return split(adopted(_PointDistance(points), clusters, levels, tau), levels, _between_means(points))


def k_medoids_partition(distance: Distance, clusters: Clusters, k: int, rng: np.random.Generator) -> Clusters:
    """Let all users join some cluster, and split large ones by same-size k-medoids; needs only distances.

    References
    ----------
    THESIS, section 5.3.3, Algorithm 6.
    """
    levels = np.full(len(clusters), k, dtype=np.int64)
    return split(adopted(distance, clusters, levels, 1.0), levels, between_medoids(distance, rng))


class _PointDistance:
    def __init__(self, points: Numbers) -> None:
        self.points = points

    @property
    def n(self) -> int:
        return len(self.points)

    def between(self, rows: Vertices, columns: Vertices | None = None) -> Distances:
        from scipy.spatial.distance import cdist

        others = self.points if columns is None else self.points[columns]
        return cdist(self.points[rows], others).astype(np.float32)


def merge_split(
    far: AnonymizationDistance, clusters: Clusters, tau: float, rng: np.random.Generator
) -> Clusters:
    """Make clusters valid, and split those of at least twice their level.

    Users of invalid clusters join the valid ones that are nearest by the anonymization distance, unless they are
    farther than `tau` admits (`adopted`); -1 marks removed users. Clusters are split into balanced parts until none has
    twice its level; in the published algorithm all parts keep the level of the cluster, and the last of them may be as
    large as before.

    References
    ----------
    PCKGA, section 4.3, Algorithm 3.
    """
    return split(adopted(far, clusters, far.levels, tau), far.levels, between_medoids(far, rng))


@kernel
def grow(
    seeds: Ints,
    rows: SingleRows,
    level: Ints,
    literal: bool,
    ranked: Ints,
    free: Flags,
    state: Ints,
    cluster: Ints,
) -> None:
    """Grow clusters around seeds that are still free, one after another.

    `rows` are the distances of the seeds to all users, ties by number; `literal` follows Algorithm 2 of PCKGA; `ranked`
    are all users by descending level. Modified: `free`, users in no cluster yet, and `state`: number of free users,
    number of clusters, first of `ranked` that may be free, 1 at the end.
    """
    n = len(level)
    for i in range(len(seeds)):
        u = seeds[i]
        if not free[u] or state[3] == 1:
            continue
        if level[u] > state[0]:
            state[3] = 1
            continue
        v = u
        highest = 0
        size = 0
        while v >= 0:
            free[v] = False
            cluster[v] = state[1]
            size += 1
            highest = max(highest, level[v])
            state[0] -= 1
            v = -1
            enough = size >= highest
            if enough and not literal:  # go on if too few would be left for their highest level
                while state[2] < n and not free[ranked[state[2]]]:
                    state[2] += 1
                enough = state[2] == n or level[ranked[state[2]]] <= state[0]
            if not enough:
                for w in range(n):
                    if free[w] and (v < 0 or rows[i, w] < rows[i, v]):
                        v = w
        state[1] += 1


_SEEDS = 64  # seeds with distances computed at a time


def vac(far: AnonymizationDistance, literal: bool = False) -> Clusters:
    """Cluster users around seeds, each cluster as large as the levels in it demand.

    The published algorithm (`literal`) starts with users of low anonymization cost. Expensive ones, far from others or
    of a high level, have to take the remaining users, and the last ones find too few and are removed (-1). Here the
    most expensive user chooses first, and distances take levels into account: a user of half the level counts as twice
    as far, as it would be in a cluster twice as large as it needs. If too few users were left for their highest level,
    they join the last cluster. So all clusters are valid, and every user whose level is at most n is in one.

    References
    ----------
    PCKGA, section 4.2, Algorithm 2.
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
