"""Compiled clusters that users enter and leave; the plain twins are in ``tests/test_people_refine.py``.

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
    How often each value occurs in each cluster: `tally_kernels`.
sums
    What each cluster has of each column, the sums of weights, the next largest numbers; shape (clusters, 3 · columns).
"""

from __future__ import annotations

from kgreason.anonymizers.people.tally_kernels import count_down, count_up, slot
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
