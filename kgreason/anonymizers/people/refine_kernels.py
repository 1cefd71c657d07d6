"""Compiled local search for better clusters; `cluster_kernels` explains the parameters that are not explained here."""

from __future__ import annotations

from kgreason.anonymizers.people.cluster_kernels import (
    AFTER,
    FIRST,
    OF,
    SIZE,
    changes,
    enter,
    leave,
    may_leave,
)
from kgreason.jit import DoubleRows, Doubles, Ints, Rows, kernel

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
