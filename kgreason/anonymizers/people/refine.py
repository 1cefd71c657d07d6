"""Better clusters by local search on the loss that their anonymization costs.

The loss of a cluster is a sum over columns: what its users have in common times the sum of their weights, less a
constant. The first columns count values, one for each categorical attribute: the cluster has the union. Of all
others it has the largest of the numbers of its users. The last one is the level, of weight 0.

Parameters that kernels share
-----------------------------
start, value, column
    Values of user u: ``value[start[u]:start[u + 1]]``, ascending; the column of each value.
user
    What each user has of each column, then his weights; shape (n, 2 · columns).
member
    Cluster of each user, the user after him in it, the one before; shape (n, 3), -1: none.
cluster
    First user of each cluster, and its size; shape (clusters, 2).
tally
    How often each value occurs in each cluster: `cluster_columns`.
sums
    What each cluster has of each column, the sums of weights, the next largest numbers; shape (clusters, 3 · columns).

Clusterings see distances between two users; what a cluster costs depends on all of its users at once. So users move to
another cluster, or change places with one of another cluster, as long as the loss falls, which is that of AIL (PCKGA,
section 6.3). Each round looks at all users in parallel, among the clusters of those near them, and carries out the best
proposals first, one at a time, each if it still pays then. The result depends neither on the number of cores nor on
chance.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from kgreason.anonymizers.people.cluster_columns import Columns, Table, count_down, count_up, slot
from kgreason.anonymizers.people.neighbours import Clusters, Distance, neighbours
from kgreason.anonymizers.people.valid_clusters import numbered
from kgreason.cores import cores, each
from kgreason.graph.model import Vertices
from kgreason.jit import DoubleRows, Doubles, Ints, Rows, kernel

OF, AFTER, BEFORE = 0, 1, 2
FIRST, SIZE = 0, 1


@kernel
def enter(
    u: int,
    c: int,
    start: Ints,
    value: Ints,
    column: Ints,
    counted: int,
    user: DoubleRows,
    member: Rows,
    cluster: Rows,
    tally: Rows,
    sums: DoubleRows,
) -> None:
    """Put a user who is in no cluster into one; the first `counted` columns count values."""
    columns = user.shape[1] >> 1
    head = cluster[c, FIRST]
    member[u, OF] = c
    member[u, BEFORE] = -1
    member[u, AFTER] = head
    if head >= 0:
        member[head, BEFORE] = u
    cluster[c, FIRST] = u
    cluster[c, SIZE] += 1
    for e in range(start[u], start[u + 1]):
        if count_up(tally, c * len(column) + value[e]) == 1:
            sums[c, column[value[e]]] += 1.0
    for j in range(columns):
        sums[c, columns + j] += user[u, columns + j]
    for j in range(counted, columns):
        x = user[u, j]
        if x > sums[c, j]:
            sums[c, 2 * columns + j] = sums[c, j]
            sums[c, j] = x
        elif x > sums[c, 2 * columns + j]:
            sums[c, 2 * columns + j] = x


@kernel
def leave(
    u: int,
    start: Ints,
    value: Ints,
    column: Ints,
    counted: int,
    user: DoubleRows,
    member: Rows,
    cluster: Rows,
    tally: Rows,
    sums: DoubleRows,
) -> None:
    """Take a user out of his cluster."""
    columns = user.shape[1] >> 1
    c, after, before = member[u, OF], member[u, AFTER], member[u, BEFORE]
    member[u, OF] = -1
    cluster[c, SIZE] -= 1
    if before >= 0:
        member[before, AFTER] = after
    else:
        cluster[c, FIRST] = after
    if after >= 0:
        member[after, BEFORE] = before
    for e in range(start[u], start[u + 1]):
        if count_down(tally, c * len(column) + value[e]) == 0:
            sums[c, column[value[e]]] -= 1.0
    for j in range(columns):
        sums[c, columns + j] -= user[u, columns + j]
    for j in range(counted, columns):
        if user[u, j] < sums[c, 2 * columns + j]:
            continue
        most, second = 0.0, 0.0
        v = cluster[c, FIRST]
        while v >= 0:
            x = user[v, j]
            second = max(second, min(x, most))
            most = max(most, x)
            v = member[v, AFTER]
        sums[c, j] = most
        sums[c, 2 * columns + j] = second


@kernel
def changes(
    c: int,
    u: int,
    v: int,
    start: Ints,
    value: Ints,
    column: Ints,
    counted: int,
    user: DoubleRows,
    tally: Rows,
    sums: DoubleRows,
    more: Doubles,
) -> float:
    """How the loss of cluster c changes if u enters and v, one of it, leaves; -1 for nobody.

    `more` becomes what the cluster has more of each column; shape (columns,).
    """
    columns = user.shape[1] >> 1
    for j in range(len(more)):
        more[j] = 0.0
    e, e_end, f, f_end = 0, 0, 0, 0
    if u >= 0:
        e, e_end = start[u], start[u + 1]
    if v >= 0:
        f, f_end = start[v], start[v + 1]
    while e < e_end or f < f_end:
        if f == f_end or (e < e_end and value[e] < value[f]):
            if tally[slot(tally, c * len(column) + value[e]), 0] < 0:
                more[column[value[e]]] += 1.0
            e += 1
        elif e == e_end or value[f] < value[e]:
            if tally[slot(tally, c * len(column) + value[f]), 1] == 1:
                more[column[value[f]]] -= 1.0
            f += 1
        else:
            e += 1
            f += 1
    for j in range(counted, columns):
        rest = sums[c, j]
        if v >= 0 and user[v, j] >= rest:
            rest = sums[c, 2 * columns + j]
        if u >= 0:
            rest = max(rest, user[u, j])
        more[j] = rest - sums[c, j]
    total = 0.0
    for j in range(columns):
        heavier = 0.0
        if u >= 0:
            heavier += user[u, columns + j]
        if v >= 0:
            heavier -= user[v, columns + j]
        total += more[j] * (sums[c, columns + j] + heavier) + sums[c, j] * heavier
    return total


@kernel
def may_leave(u: int, user: DoubleRows, member: Rows, cluster: Rows, sums: DoubleRows) -> bool:
    """Whether the cluster of a user stays valid, or becomes empty, without him."""
    c = member[u, OF]
    columns = user.shape[1] >> 1
    highest = sums[c, columns - 1]
    if user[u, columns - 1] >= highest:
        highest = sums[c, 3 * columns - 1]
    return bool(cluster[c, SIZE] - 1 >= highest)


@kernel
def cheapest(
    u: int,
    start: Ints,
    value: Ints,
    column: Ints,
    counted: int,
    user: DoubleRows,
    cluster: Rows,
    tally: Rows,
    sums: DoubleRows,
    more: Doubles,
) -> int:
    """The cluster that a user who is in none enters at the least cost and that is valid with him; -1: none.

    `more` is scratch, shape (columns,).
    """
    level = user[u, len(more) - 1]
    best, least = -1, 0.0
    for c in range(len(cluster)):
        if cluster[c, SIZE] > 0 and level <= cluster[c, SIZE] + 1:
            cost = changes(c, u, -1, start, value, column, counted, user, tally, sums, more)
            if best < 0 or cost < least:
                best, least = c, cost
    return best


_LEAST = 1e-12  # smaller gains are noise of sums


@kernel
def survey(
    first: int,
    stop: int,
    start: Ints,
    value: Ints,
    column: Ints,
    counted: int,
    user: DoubleRows,
    member: Rows,
    tally: Rows,
    sums: DoubleRows,
    more: Doubles,
    parting: DoubleRows,
) -> None:
    """Find what changes when users first .. stop-1 leave.

    Parameters
    ----------
    parting
        Becomes what their clusters lose of each column, then how their loss changes; shape (n, columns + 1).
    """
    for u in range(first, stop):
        c = member[u, OF]
        if c >= 0:
            parting[u, len(more)] = changes(c, -1, u, start, value, column, counted, user, tally, sums, more)
            for j in range(len(more)):
                parting[u, j] = -more[j]


@kernel
def propose(
    first: int,
    stop: int,
    near: Rows,
    looked: Ints,
    changed: Ints,
    now: int,
    seen: Ints,
    gain: Doubles,
    goal: Rows,
    start: Ints,
    value: Ints,
    column: Ints,
    counted: int,
    user: DoubleRows,
    member: Rows,
    cluster: Rows,
    tally: Rows,
    sums: DoubleRows,
    parting: DoubleRows,
    more: Doubles,
    other: Doubles,
) -> None:
    """Find the best move or swap of users first .. stop-1 among the clusters of those near them.

    Parameters
    ----------
    near
        Users near each user, shape (n, candidates).
    looked, changed, now
        When each user was last looked at, when each cluster last changed, and the time.
    seen
        Scratch: the user who last saw a cluster.
    gain, goal
        Become by how much the loss falls, and into which cluster, in exchange for whom (-1: nobody); shape (n, 2).
    parting
        Of `survey`.
    more, other
        Scratch, shape (columns,).
    """
    columns = len(more)
    for u in range(first, stop):
        gain[u] = _LEAST
        goal[u, 0] = -1
        c = member[u, OF]
        if c < 0:
            continue
        seen[c] = u
        level = user[u, columns - 1]
        leaving = parting[u, columns]
        free = may_leave(u, user, member, cluster, sums)
        for i in range(near.shape[1]):
            d = member[near[u, i], OF]
            if d < 0 or seen[d] == u or level > cluster[d, SIZE] + 1:
                continue
            seen[d] = u
            if changed[c] < looked[u] and changed[d] < looked[u]:
                continue
            entering = changes(d, u, -1, start, value, column, counted, user, tally, sums, more)
            if free and -leaving - entering > gain[u]:
                gain[u] = -leaving - entering
                goal[u, 0] = d
                goal[u, 1] = -1
            if level > cluster[d, SIZE]:
                continue
            v = cluster[d, FIRST]
            while v >= 0:
                best = -leaving - entering - parting[v, columns]
                if user[v, columns - 1] <= cluster[c, SIZE]:
                    for j in range(columns):  # what cannot cost less if one leaves as the other enters
                        best += parting[v, j] * user[u, columns + j] + more[j] * user[v, columns + j]
                    if best > gain[u]:
                        best = -changes(c, v, u, start, value, column, counted, user, tally, sums, other)
                        best -= changes(d, u, v, start, value, column, counted, user, tally, sums, other)
                        if best > gain[u]:
                            gain[u] = best
                            goal[u, 0] = d
                            goal[u, 1] = v
                v = member[v, AFTER]
        looked[u] = now


@kernel
def carry_out(
    order: Ints,
    looked: Ints,
    changed: Ints,
    now: int,
    goal: Rows,
    start: Ints,
    value: Ints,
    column: Ints,
    counted: int,
    user: DoubleRows,
    member: Rows,
    cluster: Rows,
    tally: Rows,
    sums: DoubleRows,
    more: Doubles,
) -> int:
    """Do what users propose, in the given order, where it still lowers the loss; returns how often it did."""
    done = 0
    columns = len(more)
    for i in range(len(order)):
        u = order[i]
        c, d, v = member[u, OF], goal[u, 0], goal[u, 1]
        if changed[c] == now or changed[d] == now:
            looked[u] = -1
            if c == d or (v >= 0 and member[v, OF] != d):
                continue
            if v >= 0:
                fits = user[u, columns - 1] <= cluster[d, SIZE] and user[v, columns - 1] <= cluster[c, SIZE]
            else:
                fits = user[u, columns - 1] <= cluster[d, SIZE] + 1 and may_leave(
                    u, user, member, cluster, sums
                )
            if not fits:
                continue
            better = -changes(c, v, u, start, value, column, counted, user, tally, sums, more)
            better -= changes(d, u, v, start, value, column, counted, user, tally, sums, more)
            if better <= _LEAST:
                continue
        leave(u, start, value, column, counted, user, member, cluster, tally, sums)
        if v >= 0:
            leave(v, start, value, column, counted, user, member, cluster, tally, sums)
            enter(v, c, start, value, column, counted, user, member, cluster, tally, sums)
        enter(u, d, start, value, column, counted, user, member, cluster, tally, sums)
        changed[c] = now
        changed[d] = now
        done += 1
    return done


def refine(
    columns: Columns, clusters: Clusters, near: Vertices, rounds: int = 60, least: float = 0.002
) -> Clusters:
    """Lower the loss of clusters by moves and swaps of users; valid clusters stay valid, removed users removed.

    Parameters
    ----------
    columns
        Of the graph, with the level of each user.
    clusters
        Valid ones; int64, shape (n,), -1 for removed users.
    near
        Users near each user, shape (n, candidates): he may go to their clusters.
    rounds
        At most so many.
    least
        The search ends when a round lowers the loss by a smaller share than this.

    Returns
    -------
    Clusters
        Numbered from 0 in the order of their first users.
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
    """The users nearest to each user, int64, shape (n, candidates), fewer of them in a small graph."""
    counts = np.full(distance.n, min(candidates, distance.n - 1))
    return neighbours(distance, counts).user.reshape(distance.n, -1)


class Search:
    """Clusters, and what they have of each column."""

    def __init__(self, columns: Columns, clusters: Clusters) -> None:
        n, width = columns.own.shape
        count = int(clusters.max(initial=-1)) + 1
        self.columns = columns
        self.member = np.full((n, 3), -1, dtype=np.int64)
        self.cluster = np.tile(np.array([-1, 0]), (count, 1))
        self.tally = np.full((1 << (2 * len(columns.value) + 1).bit_length(), 2), -1, dtype=np.int64)
        self.sums = np.zeros((count, 3 * width))
        self._values = (columns.start, columns.value, columns.column, columns.counted, columns.user)
        self._state = (self.member, self.cluster, self.tally, self.sums)
        self._scratch = np.empty(width)
        self._constant = (columns.own * columns.weight).sum(
            axis=1
        )  # what kernels leave in the loss of a cluster
        for u in np.flatnonzero(clusters >= 0).tolist():
            self.enter(u, int(clusters[u]))
        self._looked = np.full(n, -1, dtype=np.int64)
        self._changed = np.zeros(count, dtype=np.int64)
        self._gain = np.zeros(n)
        self._goal = np.zeros((n, 2), dtype=np.int64)
        self._parting = np.zeros((n, width + 1))

    @property
    def clusters(self) -> Clusters:
        """Cluster of each user, -1: none; a view."""
        return self.member[:, OF]

    def loss(self) -> float:
        """Summed loss of the users who are in a cluster."""
        return float(self.losses().sum())

    def losses(self) -> Table:
        """Loss of each user, 0 of those who are in no cluster; float64, shape (n,)."""
        found = np.zeros(len(self.member))
        inside = np.flatnonzero(self.member[:, OF] >= 0)
        own, weight = self.columns.own, self.columns.weight
        more = self.sums[self.member[inside, OF], : own.shape[1]] - own[inside]
        found[inside] = (more * weight[inside]).sum(axis=1)
        return found

    def joining(self, u: int, c: int) -> float:
        """How the loss changes if a user who is in no cluster enters this one."""
        more = changes(c, u, -1, *self._values, self.tally, self.sums, self._scratch)
        return more - float(self._constant[u])

    def leaving(self, u: int) -> float:
        """How the loss changes if a user leaves his cluster."""
        c = int(self.member[u, OF])
        more = changes(c, -1, u, *self._values, self.tally, self.sums, self._scratch)
        return more + float(self._constant[u])

    def enter(self, u: int, c: int) -> None:
        """Put a user who is in no cluster into one."""
        enter(u, c, *self._values, *self._state)

    def leave(self, u: int) -> None:
        """Take a user out of his cluster."""
        leave(u, *self._values, *self._state)

    def may_leave(self, u: int) -> bool:
        """Whether the cluster of a user stays valid, or becomes empty, without him."""
        return may_leave(u, self.columns.user, self.member, self.cluster, self.sums)

    def cheapest(self, u: int) -> int:
        """The cluster that a user who is in none enters at the least cost; -1: none has the users that he needs."""
        return cheapest(u, *self._values, self.cluster, self.tally, self.sums, self._scratch)

    def improve(self, near: Vertices, now: int) -> int:
        """Let all users propose what is best for them, and carry it out; returns how many did."""
        self._over_users(self._survey)
        self._over_users(lambda first, stop: self._propose(first, stop, near, now))
        order = np.argsort(-self._gain, kind="stable")
        order = order[self._goal[order, 0] >= 0]
        return carry_out(
            order, self._looked, self._changed, now, self._goal, *self._values, *self._state, self._scratch
        )

    def _over_users(self, work: Callable[[int, int], None]) -> None:
        ends = np.linspace(0, len(self.member), 4 * cores() + 1).astype(np.int64).tolist()
        each(lambda share: work(*share), pairwise(ends))

    def _survey(self, first: int, stop: int) -> None:
        scratch = np.empty(self.columns.own.shape[1])
        survey(first, stop, *self._values, self.member, self.tally, self.sums, scratch, self._parting)

    def _propose(self, first: int, stop: int, near: Vertices, now: int) -> None:
        width = self.columns.own.shape[1]
        seen = np.full(len(self.cluster), -1, dtype=np.int64)
        propose(
            first,
            stop,
            near,
            self._looked,
            self._changed,
            now,
            seen,
            self._gain,
            self._goal,
            *self._values,
            *self._state,
            self._parting,
            np.empty(width),
            np.empty(width),
        )
