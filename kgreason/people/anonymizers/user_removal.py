"""Removal of users whose release would cost more than their removal.

AIL counts a loss from 0 to 1 for each released user, and 1 for a removed user (PCKGA, section 6.3). The objective here
is the sum of the losses of released users and of a price for each removed one; at the price 1 it is AIL times the
number of users. Each step lowers this sum, so no user is removed without gain.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.cluster_columns import Columns, Table
from kgreason.people.anonymizers.local_search import Search
from kgreason.people.anonymizers.user_distances import Clusters
from kgreason.people.anonymizers.valid_clusters import Pull, members, numbered, split

_LEAST = 1e-9  # smaller gains are rounding errors


def weigh(columns: Columns, clusters: Clusters, price: float, pull: Callable[[Vertices], Pull]) -> Clusters:
    """Remove users, or return removed ones, where that lowers the sum of losses and prices.

    Parameters
    ----------
    columns
        Columns of the graph, with the level of each user.
    clusters
        Valid clusters; int64, shape (n,), -1 for removed users.
    price
        Cost of a removed user.
    pull
        Centre function, as for `split`.

    Returns
    -------
    Clusters
        Valid clusters, numbered from 0 by first user.
    """
    found = _without_the_highest(columns, clusters, price, pull)
    alone = np.flatnonzero((found < 0) & (columns.levels <= 1))  # users of level 1 cost nothing alone
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
    """Remove the users of highest level of a cluster and split the rest, where that lowers the cost."""
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
    """Move each user of a cluster to another one, or remove it, if that lowers the total cost."""
    users = np.flatnonzero(search.clusters == c).tolist()
    change = 0.0
    for u in users:
        change += search.leaving(u)
        search.leave(u)
    change += sum(_placed(search, u, price) for u in users)
    if change >= -_LEAST:
        _back(search, users, [c] * len(users))


def _gather(search: Search, u: int, price: float) -> None:
    """Return a removed user into a union of the cheapest clusters, as large as its level, if that lowers the cost."""
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
    """Put a user into its cheapest cluster if that costs less than the price; returns the cost."""
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
