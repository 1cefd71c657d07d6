"""Users who are left out because to keep them would cost more than all that is lost of them.

AIL counts the loss of a user who stays from 0, nothing, to 1, everything, and a removed user 1 (PCKGA, section 6.3). So
one sum weighs both: the losses of the users who stay, and a price for each who does not. At the price 1 this sum is AIL
times the number of users. Each step here lowers the sum, so that nobody is removed for nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.cluster_columns import Columns, Table
from kgreason.people.anonymizers.local_search import Search
from kgreason.people.anonymizers.user_distances import Clusters
from kgreason.people.anonymizers.valid_clusters import Pull, members, numbered, split

_LEAST = 1e-9  # smaller gains are noise of sums


def weigh(columns: Columns, clusters: Clusters, price: float, pull: Callable[[Vertices], Pull]) -> Clusters:
    """Remove users where that lowers the sum of losses and prices, and let removed ones return where that does.

    Parameters
    ----------
    columns
        Of the graph, with the level of each user.
    clusters
        Valid ones; int64, shape (n,), -1 for removed users.
    price
        What a removed user costs.
    pull
        Makes centres for parts of a cluster, as for `split`.

    Returns
    -------
    Clusters
        Valid ones, numbered from 0 in the order of their first users.
    """
    found = _without_the_highest(columns, clusters, price, pull)
    alone = np.flatnonzero((found < 0) & (columns.levels <= 1))  # who needs nobody costs nothing
    found[alone] = found.max(initial=-1) + 1 + np.arange(len(alone))
    search = Search(columns, found)
    costs = _costs(search.clusters, search.losses())
    for c in np.argsort(-costs, kind="stable")[: np.count_nonzero(costs > price)].tolist():
        _thin_out(search, c, price)
        _dissolve(search, c, price)
    for u in np.flatnonzero(search.clusters < 0).tolist():
        if _placed(search, u, price) == price:
            _gather(search, u, price)
    return numbered(search.clusters)


def _without_the_highest(
    columns: Columns, clusters: Clusters, price: float, pull: Callable[[Vertices], Pull]
) -> Clusters:
    """Remove those of a cluster whose levels make it large, and split the rest, where that pays."""
    levels = columns.levels
    found = numbered(clusters)
    count = int(found.max(initial=-1)) + 1
    costs = _costs(found, Search(columns, found).losses())
    for users, cost in zip(members(found), costs.tolist(), strict=True):
        best = cost - _LEAST
        for level in np.unique(levels[users])[::-1] if cost > price else ():
            stay = users[levels[users] <= level]
            removal = (len(users) - len(stay)) * price
            if removal >= best:
                break
            if len(stay) < level:
                continue
            trial = np.full(len(found), -1, dtype=np.int64)
            trial[stay] = 0
            trial = split(trial, levels, pull)
            now = Search(columns, trial).loss() + removal
            if now < best:
                best = now
                found[users] = np.where(trial[users] < 0, -1, trial[users] + count)
        count += len(users)
    return numbered(found)


def _thin_out(search: Search, c: int, price: float) -> None:
    """Remove users of a cluster one by one, while it stays valid and each saves more than the price."""
    for u in np.flatnonzero(search.clusters == c).tolist():
        if search.may_leave(u) and search.leaving(u) + price < -_LEAST:
            search.leave(u)


def _dissolve(search: Search, c: int, price: float) -> None:
    """Let each user of a cluster join another one, or be removed, if that pays for all of them together."""
    users = np.flatnonzero(search.clusters == c).tolist()
    change = 0.0
    for u in users:
        change += search.leaving(u)
        search.leave(u)
    change += sum(_placed(search, u, price) for u in users)
    if change >= -_LEAST:
        _back(search, users, [c] * len(users))


def _gather(search: Search, u: int, price: float) -> None:
    """Join the clusters nearest to a removed user until they are as many as he needs, if that costs less than he."""
    sizes = search.sizes
    level = int(search.columns.levels[u])
    if not sizes.any() or level > sizes.sum() + 1:
        return
    costs = np.array([search.joining(u, c) if sizes[c] else np.inf for c in range(len(sizes))])
    order = np.argsort(costs, kind="stable")
    joined = order[: 1 + int(np.searchsorted(np.cumsum(sizes[order]), level - 1))]
    moved = [v for c in joined[1:].tolist() for v in np.flatnonzero(search.clusters == c).tolist()]
    before = search.clusters[moved].tolist()
    change = 0.0
    for v in moved:
        change += search.leaving(v)
        search.leave(v)
        change += search.joining(v, int(joined[0]))
        search.enter(v, int(joined[0]))
    if change + search.joining(u, int(joined[0])) < price - _LEAST:
        search.enter(u, int(joined[0]))
    else:
        _back(search, moved, before)


def _placed(search: Search, u: int, price: float) -> float:
    """Put a user into the cluster where he costs least, if that is less than the price; returns what he costs."""
    c = search.cheapest(u)
    cost = search.joining(u, c) if c >= 0 else price
    if cost >= price - _LEAST:
        return price
    search.enter(u, c)
    return cost


def _back(search: Search, users: list[int], clusters: list[int]) -> None:
    for u, c in zip(users, clusters, strict=True):
        if search.clusters[u] >= 0:
            search.leave(u)
        search.enter(u, c)


def _costs(clusters: Clusters, losses: Table) -> Table:
    inside = clusters >= 0
    return np.bincount(clusters[inside], weights=losses[inside]).astype(np.float64)
