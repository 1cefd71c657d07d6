"""Balanced parts of a cluster: halved again and again until none can be halved.

Two halves of given sizes around two centres are best if users are in the order of the difference of both (squared)
distances: the first go to one centre. So balanced k-means and k-medoids with two centres need a sort a round, where
those with many centres solve an assignment problem.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.people.distance import Clusters, Distance, Levels
from kgreason.anonymizers.people.validity import members, numbered
from kgreason.graph.model import Vertices

Points = npt.NDArray[np.float64]
Pull = Callable[[Vertices, Vertices], npt.NDArray[np.float64]]
"""Of all users of a part, how much farther the centre of some of them is than the centre of the others."""

_ROUNDS = 20
_CANDIDATES = 256  # users of a half who may be its medoid


def split(clusters: Clusters, levels: Levels, pull: Callable[[Vertices], Pull]) -> Clusters:
    """Split clusters of at least twice their level into as many parts as they have room for, none of which is so large.

    A part has the highest of the levels of its own users, so parts may be split further than the cluster could.

    Parameters
    ----------
    clusters
        Valid ones.
    pull
        Makes centres for the users of a part.
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
    """Which users of a part are in its first half: nearer to its centre, as far as sizes allow.

    Both halves together can still be split into as many parts of k users as the whole.
    """
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


def between_means(points: Points) -> Callable[[Vertices], Pull]:
    """Centres are means; users pull by squared Euclidean distance, as in k-means."""

    def of(users: Vertices) -> Pull:
        place = points[users]
        # two seeds: the user farthest from the mean, and the one farthest from that one
        apart = place[_farthest(place, place.mean(axis=0))]
        seeds = [apart, place[_farthest(place, apart)]]

        def pull(first: Vertices, others: Vertices) -> npt.NDArray[np.float64]:
            one, other = seeds or (place[first].mean(axis=0), place[others].mean(axis=0))
            seeds.clear()
            return _squared(place, one) - _squared(place, other)

        return pull

    return of


def between_medoids(distance: Distance, rng: np.random.Generator) -> Callable[[Vertices], Pull]:
    """Centres are the users nearest on average to the rest of their half, of so many drawn ones."""

    def of(users: Vertices) -> Pull:
        apart = int(distance.between(users[:1], users)[0].argmax())
        seeds = [apart, int(distance.between(users[[apart]], users)[0].argmax())]

        def medoid(half: Vertices) -> int:
            drawn = (
                half if len(half) <= _CANDIDATES else np.sort(rng.choice(half, _CANDIDATES, replace=False))
            )
            rows = distance.between(users[drawn], users[half])
            return int(drawn[rows.sum(axis=1, dtype=np.float64).argmin()])

        def pull(first: Vertices, others: Vertices) -> npt.NDArray[np.float64]:
            centres = seeds.copy() if seeds else [medoid(first), medoid(others)]
            seeds.clear()
            one, other = distance.between(users[centres], users).astype(np.float64)
            return np.asarray(one - other, dtype=np.float64)

        return pull

    return of


def _squared(place: Points, centre: Points) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = ((place - centre) ** 2).sum(axis=1)
    return found


def _farthest(place: Points, centre: Points) -> int:
    return int(_squared(place, centre).argmax())
