"""Local search that lowers the anonymization loss of clusters by moves and swaps of users.

The loss of a cluster is a sum over columns: the cluster's amount times the sum of its users' weights, minus a constant.
The first columns count values, one for each categorical attribute: the amount is the size of the union. For all other
columns it is the maximum of the users' numbers. The last column is the level, with weight 0.

Clusterings see distances of pairs, but the cost of a cluster depends on all its users at once. So users move to another
cluster, or are swapped with a user of another cluster, as long as the loss of AIL falls (PCKGA, section 6.3). Each
round evaluates all users in parallel, for the clusters of users near them, and then applies the best proposals first,
one at a time, each if it still lowers the loss. The result is deterministic and independent of the number of cores.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kgreason.base.cores import cores, each
from kgreason.base.jit import DoubleRows, Doubles, Ints, Rows, kernel
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.cluster_columns import Columns, Table, count_down, count_up, slot
from kgreason.people.anonymizers.user_distances import Clusters, Distance, neighbours
from kgreason.people.anonymizers.valid_clusters import numbered

OF, AFTER, BEFORE = 0, 1, 2
FIRST, SIZE = 0, 1


class State(NamedTuple):
    """Clusters and their amounts in each column.

    Attributes
    ----------
    start, value, column
        Values of user u: ``value[start[u]:start[u + 1]]``, ascending; the column of each value.
    counted
        Number of columns that count values; they come first.
    user
        Amounts of each user in each column, then the user's weights; shape (n, 2 · columns).
    member
        Cluster of each user, next and previous user in it; shape (n, 3), -1: none.
    cluster
        First user of each cluster, and its size; shape (clusters, 2).
    tally
        Counts of each value in each cluster: `cluster_columns`.
    sums
        Amounts of each cluster, sums of weights, and second largest numbers; shape (clusters, 3 · columns).
    """

    start: Ints
    value: Ints
    column: Ints
    counted: int
    user: DoubleRows
    member: Rows
    cluster: Rows
    tally: Rows
    sums: DoubleRows


@kernel
def enter(of: State, u: int, c: int) -> None:
    """Add an unassigned user to a cluster."""
    columns = of.user.shape[1] >> 1
    head = of.cluster[c, FIRST]
    of.member[u, OF], of.member[u, AFTER], of.member[u, BEFORE] = c, head, -1
    if head >= 0:
        of.member[head, BEFORE] = u
    of.cluster[c, FIRST] = u
    of.cluster[c, SIZE] += 1
    for e in range(of.start[u], of.start[u + 1]):
        if count_up(of.tally, c * len(of.column) + of.value[e]) == 1:
            of.sums[c, of.column[of.value[e]]] += 1.0
    for j in range(columns):
        of.sums[c, columns + j] += of.user[u, columns + j]
    for j in range(of.counted, columns):
        x = of.user[u, j]
        of.sums[c, 2 * columns + j] = max(of.sums[c, 2 * columns + j], min(x, of.sums[c, j]))
        of.sums[c, j] = max(of.sums[c, j], x)


@kernel
def leave(of: State, u: int) -> None:
    """Remove a user from its cluster."""
    columns = of.user.shape[1] >> 1
    c, after, before = of.member[u, OF], of.member[u, AFTER], of.member[u, BEFORE]
    of.member[u, OF] = -1
    of.cluster[c, SIZE] -= 1
    if before >= 0:
        of.member[before, AFTER] = after
    else:
        of.cluster[c, FIRST] = after
    if after >= 0:
        of.member[after, BEFORE] = before
    for e in range(of.start[u], of.start[u + 1]):
        if count_down(of.tally, c * len(of.column) + of.value[e]) == 0:
            of.sums[c, of.column[of.value[e]]] -= 1.0
    for j in range(columns):
        of.sums[c, columns + j] -= of.user[u, columns + j]
    for j in range(of.counted, columns):
        if of.user[u, j] < of.sums[c, 2 * columns + j]:
            continue
        most, second = 0.0, 0.0
        v = of.cluster[c, FIRST]
        while v >= 0:
            second = max(second, min(of.user[v, j], most))
            most = max(most, of.user[v, j])
            v = of.member[v, AFTER]
        of.sums[c, j], of.sums[c, 2 * columns + j] = most, second


@kernel
def changes(of: State, c: int, u: int, v: int, more: Doubles) -> float:
    """Change of the loss of cluster c if u enters and v leaves (-1: nobody).

    Output `more`: increase of the cluster's amounts, shape (columns,).
    """
    columns = of.user.shape[1] >> 1
    for j in range(len(more)):
        more[j] = 0.0
    e, e_end, f, f_end = 0, 0, 0, 0
    if u >= 0:
        e, e_end = of.start[u], of.start[u + 1]
    if v >= 0:
        f, f_end = of.start[v], of.start[v + 1]
    while e < e_end or f < f_end:
        if f == f_end or (e < e_end and of.value[e] < of.value[f]):
            t = of.value[e]
            if of.tally[slot(of.tally, c * len(of.column) + t), 0] < 0:
                more[of.column[t]] += 1.0
            e += 1
        elif e == e_end or of.value[f] < of.value[e]:
            t = of.value[f]
            if of.tally[slot(of.tally, c * len(of.column) + t), 1] == 1:
                more[of.column[t]] -= 1.0
            f += 1
        else:
            e += 1
            f += 1
    for j in range(of.counted, columns):
        rest = of.sums[c, j]
        if v >= 0 and of.user[v, j] >= rest:
            rest = of.sums[c, 2 * columns + j]
        if u >= 0:
            rest = max(rest, of.user[u, j])
        more[j] = rest - of.sums[c, j]
    total = 0.0
    for j in range(columns):
        heavier = 0.0
        if u >= 0:
            heavier += of.user[u, columns + j]
        if v >= 0:
            heavier -= of.user[v, columns + j]
        total += more[j] * (of.sums[c, columns + j] + heavier) + of.sums[c, j] * heavier
    return total


@kernel
def may_leave(of: State, u: int) -> bool:
    """Whether the cluster of a user stays valid, or becomes empty, without that user."""
    c, columns = of.member[u, OF], of.user.shape[1] >> 1
    highest = of.sums[c, columns - 1]
    if of.user[u, columns - 1] >= highest:
        highest = of.sums[c, 3 * columns - 1]
    return bool(of.cluster[c, SIZE] - 1 >= highest)


@kernel
def cheapest(of: State, u: int, more: Doubles) -> int:
    """Cheapest cluster for an unassigned user that is valid with that user; -1: none.

    `more` is scratch, shape (columns,).
    """
    level = of.user[u, len(more) - 1]
    best, least = -1, 0.0
    for c in range(len(of.cluster)):
        if of.cluster[c, SIZE] > 0 and level <= of.cluster[c, SIZE] + 1:
            cost = changes(of, c, u, -1, more)
            if best < 0 or cost < least:
                best, least = c, cost
    return best


_LEAST = 1e-12  # smaller gains are rounding errors


class Round(NamedTuple):
    """Proposals of users in a round.

    Attributes
    ----------
    looked, changed
        Round in which each user was last evaluated, and each cluster last changed.
    gain, goal
        Decrease of the loss; target cluster and user to swap with (-1: none), shape (n, 2).
    parting
        Decrease of each column of the user's cluster without the user, then the change of its loss; shape
        (n, columns + 1).
    """

    looked: Ints
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
    of: State, by: Round, first: int, stop: int, near: Rows, now: int, seen: Ints, more: Doubles, other: Doubles
) -> None:  # fmt: skip
    """Find the best move or swap of users first .. stop-1 among clusters of `near` users, shape (n, candidates)."""
    # Scratch: `seen`, the user who last tried a cluster; `more` and `other`, shape (columns,).
    columns = len(more)
    for u in range(first, stop):
        by.gain[u] = _LEAST
        by.goal[u, 0] = -1
        c = of.member[u, OF]
        if c < 0:
            continue
        seen[c] = u
        level = of.user[u, columns - 1]
        leaving = by.parting[u, columns]
        free = may_leave(of, u)
        for i in range(near.shape[1]):
            d = of.member[near[u, i], OF]
            if d < 0 or seen[d] == u or level > of.cluster[d, SIZE] + 1:
                continue
            seen[d] = u
            if by.changed[c] < by.looked[u] and by.changed[d] < by.looked[u]:
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
        by.looked[u] = now


@kernel
def carry_out(of: State, by: Round, order: Ints, now: int, more: Doubles) -> int:
    """Apply proposals in the given order where they still lower the loss; returns how many were applied."""
    done = 0
    columns = len(more)
    for i in range(len(order)):
        u = order[i]
        c, d, v = of.member[u, OF], by.goal[u, 0], by.goal[u, 1]
        if by.changed[c] == now or by.changed[d] == now:
            by.looked[u] = -1
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
    """Lower the loss of clusters by moves and swaps of users; clusters stay valid, and removed users removed.

    Parameters
    ----------
    columns
        Columns of the graph, with the level of each user.
    clusters
        Valid clusters; int64, shape (n,), -1 for removed users.
    near
        Users near each user, shape (n, candidates): their clusters are candidates for moves.
    rounds
        Most rounds.
    least
        Relative decrease of the loss in a round below which the search ends.

    Returns
    -------
    Clusters
        Clusters, numbered from 0 by first user.
    """
    search = Search(columns, clusters)
    last = search.loss()
    for now in range(1, rounds + 1):
        done = search.improve(near, now)
        last, before = search.loss(), last
        if not done or before - last < least * before:
            break
    return numbered(search.clusters)


def nearest(distance: Distance, candidates: int = 20) -> Vertices:
    """The users nearest to each user, int64, shape (n, candidates); fewer columns in a small graph."""
    counts = np.full(distance.n, min(candidates, distance.n - 1))
    return neighbours(distance, counts).user.reshape(distance.n, -1)


class Search:
    """Clusters and their amounts in each column."""

    def __init__(self, columns: Columns, clusters: Clusters) -> None:
        n, width = columns.own.shape
        count = int(clusters.max(initial=-1)) + 1
        self.columns = columns
        self.state = State(
            columns.start,
            columns.value,
            columns.column,
            columns.counted,
            columns.user,
            np.full((n, 3), -1, dtype=np.int64),
            np.tile(np.array([-1, 0]), (count, 1)),
            np.full((1 << (2 * len(columns.value) + 1).bit_length(), 2), -1, dtype=np.int64),
            np.zeros((count, 3 * width)),
        )
        self._scratch = np.empty(width)
        # constant that the kernels do not subtract from the loss of a cluster
        self._constant = (columns.own * columns.weight).sum(axis=1)
        for u in np.flatnonzero(clusters >= 0).tolist():
            self.enter(u, int(clusters[u]))
        self._round = Round(
            np.full(n, -1, dtype=np.int64),
            np.zeros(count, dtype=np.int64),
            np.zeros(n),
            np.zeros((n, 2), dtype=np.int64),
            np.zeros((n, width + 1)),
        )

    @property
    def clusters(self) -> Clusters:
        """Cluster of each user, -1: none; a view."""
        return self.state.member[:, OF]

    @property
    def sizes(self) -> Vertices:
        """Users of each cluster, int64, shape (clusters,); a view."""
        return self.state.cluster[:, SIZE]

    def loss(self) -> float:
        """Summed loss of all users in clusters."""
        return float(self.losses().sum())

    def losses(self) -> Table:
        """Loss of each user, 0 for users in no cluster; float64, shape (n,)."""
        found = np.zeros(len(self.clusters))
        inside = np.flatnonzero(self.clusters >= 0)
        own, weight = self.columns.own, self.columns.weight
        more = self.state.sums[self.clusters[inside], : own.shape[1]] - own[inside]
        found[inside] = (more * weight[inside]).sum(axis=1)
        return found

    def joining(self, u: int, c: int) -> float:
        """Change of the loss if an unassigned user enters a cluster."""
        return changes(self.state, c, u, -1, self._scratch) - float(self._constant[u])

    def leaving(self, u: int) -> float:
        """Change of the loss if a user leaves its cluster."""
        return changes(self.state, int(self.clusters[u]), -1, u, self._scratch) + float(self._constant[u])

    def enter(self, u: int, c: int) -> None:
        """Add an unassigned user to a cluster."""
        enter(self.state, u, c)

    def leave(self, u: int) -> None:
        """Remove a user from its cluster."""
        leave(self.state, u)

    def may_leave(self, u: int) -> bool:
        """Whether the cluster of a user stays valid, or becomes empty, without that user."""
        return may_leave(self.state, u)

    def cheapest(self, u: int) -> int:
        """Cheapest cluster for an unassigned user that is valid with that user; -1: none."""
        return cheapest(self.state, u, self._scratch)

    def improve(self, near: Vertices, now: int) -> int:
        """Run one round of proposals; returns how many were applied."""
        width = len(self._scratch)

        def proposed(first: int, stop: int) -> None:
            seen = np.full(len(self.sizes), -1, dtype=np.int64)
            _propose(self.state, self._round, first, stop, near, now, seen, np.empty(width), np.empty(width))

        ends = np.linspace(0, len(self.clusters), 4 * cores() + 1).astype(np.int64).tolist()
        each(lambda share: survey(self.state, self._round, *share, np.empty(width)), pairwise(ends))
        each(lambda share: proposed(*share), pairwise(ends))
        order = np.argsort(-self._round.gain, kind="stable")
        order = order[self._round.goal[order, 0] >= 0]
        return carry_out(self.state, self._round, order, now, self._scratch)
