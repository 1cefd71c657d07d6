"""Local search that lowers the anonymization loss of clusters: moves and swaps of users, and their removal.

Clusterings see distances of pairs, but the cost of a cluster depends on all its users at once. So users move to another
cluster, or are swapped with a user of another cluster, as long as the loss of AIL falls (PCKGA, section 6.3). Each
round evaluates all users in parallel, for the clusters of users near them, and then applies the best proposals first,
one at a time, each if it still lowers the loss. The result is deterministic and independent of the number of cores.

AIL counts a loss from 0 to 1 for each released user, and 1 for a removed one. Removal lowers the sum of the losses of
released users and of a price for each removed one; at the price 1 it is AIL times the number of users. Each step lowers
this sum, so no user is removed without gain.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kgreason.base.cores import cores, each
from kgreason.base.jit import DoubleRows, Doubles, Ints, Rows, kernel
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.cluster_loss import (
    AFTER,
    FIRST,
    OF,
    SIZE,
    Columns,
    Search,
    State,
    changes,
    enter,
    leave,
    may_leave,
)
from kgreason.people.anonymizers.user_distances import Clusters, Distance, neighbours
from kgreason.people.anonymizers.valid_clusters import Pull, members, numbered, split
from kgreason.people.model import Numbers

# smaller gains are rounding errors
_LEAST = 1e-12
_LEAST_SAVING = 1e-9


class Round(NamedTuple):
    """Proposals of users in a round.

    Attributes
    ----------
    evaluated, changed
        Round in which each user was last evaluated, and each cluster last changed.
    gain, goal
        Decrease of the loss; target cluster and user to swap with (-1: none), shape (n, 2).
    parting
        Decrease of each column of the user's cluster without the user, then the change of its loss; shape
        (n, columns + 1).
    """

    evaluated: Ints
    changed: Ints
    gain: Doubles
    goal: Rows
    parting: DoubleRows


@kernel
def survey(of: State, by: Round, first: int, stop: int, more: Doubles) -> None:
    """Compute `parting` for users first .. stop-1; `more` is scratch, shape (columns,)."""
    for u in range(first, stop):
        c = of.member[u, OF]
        if c >= 0:
            by.parting[u, len(more)] = changes(of, c, -1, u, more)
            for j in range(len(more)):
                by.parting[u, j] = -more[j]


@kernel
def _propose(
    of: State, by: Round, first: int, stop: int, near: Rows, now: int, tried: Ints, more: Doubles, other: Doubles
) -> None:  # fmt: skip
    """Find the best move or swap of users first .. stop-1 among clusters of `near` users, shape (n, candidates)."""
    # Scratch: `tried`, the user who last tried a cluster; `more` and `other`, shape (columns,).
    columns = len(more)
    for u in range(first, stop):
        by.gain[u] = _LEAST
        by.goal[u, 0] = -1
        c = of.member[u, OF]
        if c < 0:
            continue
        tried[c] = u
        level = of.user[u, columns - 1]
        leaving = by.parting[u, columns]
        free = may_leave(of, u)
        for i in range(near.shape[1]):
            d = of.member[near[u, i], OF]
            if d < 0 or tried[d] == u or level > of.cluster[d, SIZE] + 1:
                continue
            tried[d] = u
            if by.changed[c] < by.evaluated[u] and by.changed[d] < by.evaluated[u]:
                continue
            entering = changes(of, d, u, -1, more)
            if free and -leaving - entering > by.gain[u]:
                by.gain[u] = -leaving - entering
                by.goal[u, 0], by.goal[u, 1] = d, -1
            if level > of.cluster[d, SIZE]:
                continue
            v = of.cluster[d, FIRST]
            while v >= 0:
                best = -leaving - entering - by.parting[v, columns]
                if of.user[v, columns - 1] <= of.cluster[c, SIZE]:
                    for j in range(columns):  # bound: costs that a swap cannot avoid
                        best += by.parting[v, j] * of.user[u, columns + j] + more[j] * of.user[v, columns + j]
                    if best > by.gain[u]:
                        best = -changes(of, c, v, u, other) - changes(of, d, u, v, other)
                        if best > by.gain[u]:
                            by.gain[u] = best
                            by.goal[u, 0], by.goal[u, 1] = d, v
                v = of.member[v, AFTER]
        by.evaluated[u] = now


@kernel
def carry_out(of: State, by: Round, order: Ints, now: int, more: Doubles) -> int:
    """Apply proposals in the given order where they still lower the loss; returns how many were applied."""
    done = 0
    columns = len(more)
    for i in range(len(order)):
        u = order[i]
        c, d, v = of.member[u, OF], by.goal[u, 0], by.goal[u, 1]
        if by.changed[c] == now or by.changed[d] == now:
            by.evaluated[u] = -1
            if c == d or (v >= 0 and of.member[v, OF] != d):
                continue
            if v >= 0:
                fits = of.user[u, columns - 1] <= of.cluster[d, SIZE]
                fits = fits and of.user[v, columns - 1] <= of.cluster[c, SIZE]
            else:
                fits = of.user[u, columns - 1] <= of.cluster[d, SIZE] + 1 and may_leave(of, u)
            if not fits or -changes(of, c, v, u, more) - changes(of, d, u, v, more) <= _LEAST:
                continue
        leave(of, u)
        if v >= 0:
            leave(of, v)
            enter(of, v, c)
        enter(of, u, d)
        by.changed[c] = by.changed[d] = now
        done += 1
    return done


def refine(
    columns: Columns, clusters: Clusters, near: Vertices, rounds: int = 60, least: float = 0.002
) -> Clusters:
    """Lower the loss of valid clusters by moves and swaps of users; removed users stay removed.

    The clusters of `near` users, shape (n, candidates), are candidates. The search ends after some rounds, or if a
    round lowers the loss by less than the share `least`. The result is numbered from 0 by first user.
    """
    search = Search(columns, clusters)
    n, width = columns.own.shape
    state = Round(
        np.full(n, -1, dtype=np.int64),
        np.zeros(len(search.sizes), dtype=np.int64),
        np.zeros(n),
        np.zeros((n, 2), dtype=np.int64),
        np.zeros((n, width + 1)),
    )
    last = search.loss()
    for now in range(1, rounds + 1):
        done = _improve(search.state, state, near, now)
        last, before = search.loss(), last
        if not done or before - last < least * before:
            break
    return numbered(search.clusters)


def _improve(of: State, by: Round, near: Vertices, now: int) -> int:
    """Run one round of proposals; returns how many were applied."""
    n, width = len(by.gain), by.parting.shape[1] - 1

    def propose(first: int, stop: int) -> None:
        tried = np.full(len(of.cluster), -1, dtype=np.int64)
        _propose(of, by, first, stop, near, now, tried, np.empty(width), np.empty(width))

    ends = np.linspace(0, n, 4 * cores() + 1).astype(np.int64).tolist()
    each(lambda share: survey(of, by, *share, np.empty(width)), pairwise(ends))
    each(lambda share: propose(*share), pairwise(ends))
    order = np.argsort(-by.gain, kind="stable")
    order = order[by.goal[order, 0] >= 0]
    return carry_out(of, by, order, now, np.empty(width))


def nearest(distance: Distance, candidates: int = 20) -> Vertices:
    """The users nearest to each user, int64, shape (n, candidates); fewer columns in a small graph."""
    counts = np.full(distance.n, min(candidates, distance.n - 1))
    return neighbours(distance, counts).user.reshape(distance.n, -1)


def weigh(columns: Columns, clusters: Clusters, price: float, pull: Callable[[Vertices], Pull]) -> Clusters:
    """Remove users, or return removed ones, where that lowers the sum of losses and of a price for each removed user.

    Takes and returns valid clusters, with -1 for removed users; `pull` is the centre function of `split`.
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
        best = cost - _LEAST_SAVING
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
        if search.may_leave(u) and search.leaving(u) + price < -_LEAST_SAVING:
            search.leave(u)


def _dissolve(search: Search, c: int, price: float) -> None:
    """Move each user of a cluster to another one, or remove it, if that lowers the total cost."""
    users = np.flatnonzero(search.clusters == c).tolist()
    change = 0.0
    for u in users:
        change += search.leaving(u)
        search.leave(u)
    change += sum(_placed(search, u, price) for u in users)
    if change >= -_LEAST_SAVING:
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
    if change + search.joining(u, int(joined[0])) < price - _LEAST_SAVING:
        search.enter(u, int(joined[0]))
    else:
        _back(search, moved, before)


def _placed(search: Search, u: int, price: float) -> float:
    """Put a user into its cheapest cluster if that costs less than the price; returns the cost."""
    c = search.cheapest(u)
    cost = search.joining(u, c) if c >= 0 else price
    if cost >= price - _LEAST_SAVING:
        return price
    search.enter(u, c)
    return cost


def _back(search: Search, users: list[int], clusters: list[int]) -> None:
    for u, c in zip(users, clusters, strict=True):
        if search.clusters[u] >= 0:
            search.leave(u)
        search.enter(u, c)


def _costs(clusters: Clusters, losses: Numbers) -> Numbers:
    inside = clusters >= 0
    return np.bincount(clusters[inside], weights=losses[inside]).astype(np.float64)
