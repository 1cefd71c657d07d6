"""The loops of realize.py: selected edges as rows of slots, filled greedily, then along shortest alternating paths.

Row u of `outs` holds the targets of the selected edges of u, row v of `ins` the sources of those of v; both begin at
`out_start` and `in_start` and have as many slots as the user shall have edges. `used` says how many are taken. The
original edges are rows of ascending targets, `targets` from `start` on.
"""

from __future__ import annotations

from kgreason.jit import Flags, Ints, kernel

FAR = 1 << 40


@kernel
def original(start: Ints, targets: Ints, u: int, v: int) -> bool:
    """Whether the edge (u, v) is an original one."""
    low, high = start[u], start[u + 1]
    while low < high:
        middle = (low + high) // 2
        if targets[middle] < v:
            low = middle + 1
        else:
            high = middle
    return bool(low < start[u + 1] and targets[low] == v)


@kernel
def select(outs: Ints, out_start: Ints, out_used: Ints, u: int, v: int) -> None:
    """Put v into the row of u."""
    outs[out_start[u] + out_used[u]] = v
    out_used[u] += 1


@kernel
def drop(outs: Ints, out_start: Ints, out_used: Ints, u: int, v: int) -> None:
    """Take v out of the row of u."""
    place = out_start[u]
    while outs[place] != v:
        place += 1
    out_used[u] -= 1
    outs[place] = outs[out_start[u] + out_used[u]]


@kernel
def fill(
    start: Ints, targets: Ints,
    outs: Ints, out_start: Ints, out_used: Ints,
    ins: Ints, in_start: Ints, in_used: Ints,
    first: Ints, order: Ints, place: Ints, head: Ints, taken: Ints, chosen: Ints,
) -> None:  # fmt: skip
    """Add pairs that are no original edges: who lacks most out-edges, first, to those who lack most in-edges.

    Parameters
    ----------
    first
        The users whose rows are filled, in this order.
    order, place, head
        Users by what their rows of `ins` lack, most first; where each of them is; `head[r]` is where those begin
        that lack at most r, shape (most + 2,).
    taken, chosen
        Scratch, shape (n,); `taken` -1 throughout.
    """
    for u in first:
        taken[u] = u
        for i in range(start[u], start[u + 1]):
            taken[targets[i]] = u
        for i in range(out_start[u], out_start[u] + out_used[u]):
            taken[outs[i]] = u
        wanted = out_start[u + 1] - out_start[u] - out_used[u]
        count = 0
        for i in range(head[0]):  # head[0]: where those begin that lack nothing
            if count == wanted:
                break
            if taken[order[i]] != u:
                chosen[count] = order[i]
                count += 1
        for i in range(count):
            v = chosen[i]
            lack = in_start[v + 1] - in_start[v] - in_used[v]
            select(outs, out_start, out_used, u, v)
            select(ins, in_start, in_used, v, u)
            last = head[lack - 1] - 1  # of those who lack as much; the border moves over it
            other = order[last]
            order[place[v]], place[other] = other, place[v]
            order[last], place[v] = v, last
            head[lack - 1] = last


@kernel
def wait(queue: Ints, waiting: Flags, ring: Ints, w: int) -> None:
    """Let a user wait for his turn, unless he does; `ring` is where the queue begins and how long it is."""
    if not waiting[w]:
        waiting[w] = True
        queue[(ring[0] + ring[1]) % len(queue)] = w
        ring[1] += 1


@kernel
def back(
    start: Ints, targets: Ints, ins: Ints, in_start: Ints, in_used: Ints,
    out_far: Ints, out_from: Ints, queue: Ints, waiting: Flags, ring: Ints, v: int, far: int,
) -> None:  # fmt: skip
    """Go on from v over edges that might be dropped, to their sources."""
    for i in range(in_start[v], in_start[v] + in_used[v]):
        u = ins[i]
        farther = far + (1 if original(start, targets, u, v) else 0)
        if farther < out_far[u]:
            out_far[u], out_from[u] = farther, v
            wait(queue, waiting, ring, u)


@kernel
def forth(
    start: Ints, targets: Ints, outs: Ints, out_start: Ints, out_used: Ints,
    in_far: Ints, in_from: Ints, queue: Ints, waiting: Flags, ring: Ints, left: Ints, lefts: int, taken: Ints,
    u: int, far: int,
) -> int:  # fmt: skip
    """Go on from u over pairs that might be added, to their targets; returns how many are left that are farther."""
    n = len(in_far)
    taken[u] = u
    for i in range(out_start[u], out_start[u] + out_used[u]):
        taken[outs[i]] = u
    for i in range(start[u], start[u + 1]):
        v = targets[i]
        if taken[v] != u and far - 1 < in_far[v]:
            in_far[v], in_from[v] = far - 1, u
            wait(queue, waiting, ring, n + v)
    kept = 0
    for i in range(lefts):
        v = left[i]
        if in_far[v] > far and taken[v] == u:
            left[kept] = v
            kept += 1
        elif in_far[v] > far:
            in_far[v], in_from[v] = far, u
            wait(queue, waiting, ring, n + v)
    return kept


@kernel
def search(
    start: Ints, targets: Ints,
    outs: Ints, out_start: Ints, out_used: Ints,
    ins: Ints, in_start: Ints, in_used: Ints,
    out_far: Ints, in_far: Ints, out_from: Ints, in_from: Ints,
    queue: Ints, waiting: Flags, ring: Ints, left: Ints, taken: Ints,
) -> None:  # fmt: skip
    """Find what cheapest alternating paths from users who lack an out-edge cost, and whence they come.

    Such a path consists of pairs that are added and edges that are dropped, in turn. To drop an original edge costs 1,
    to take one back gains 1, all else is free. Labels are corrected until none can be, cheapest first. Each user is
    joined to nearly all others; so `left` holds those that are farther than the level at hand, and a level takes time
    linear in users and edges.

    Parameters
    ----------
    out_far, in_far, out_from, in_from
        Cost of the way to each user as source and as target, and the user before; made here, shape (n,).
    queue, waiting, ring
        Ring of users that wait, sources as u and targets as n + v, who does, where it begins and how many there are;
        scratch, shape (2n,), (2n,), (2,).
    left, taken
        Scratch, shape (n,).
    """
    n = len(out_far)
    in_far[:], out_far[:], taken[:], waiting[:], ring[:] = FAR, FAR, -1, False, 0
    for u in range(n):
        if out_used[u] < out_start[u + 1] - out_start[u]:
            out_far[u], out_from[u] = 0, -1
            wait(queue, waiting, ring, u)
    level, lefts = FAR, 0
    while ring[1]:
        least = FAR
        for i in range(ring[1]):
            w = queue[(ring[0] + i) % (2 * n)]
            least = min(least, out_far[w] if w < n else in_far[w - n])
        if least != level:
            level, lefts = least, 0
            for v in range(n):
                if in_far[v] > level:
                    left[lefts] = v
                    lefts += 1
        for _ in range(ring[1]):
            w = queue[ring[0]]
            ring[0] = (ring[0] + 1) % (2 * n)
            ring[1] -= 1
            waiting[w] = False
            if (out_far[w] if w < n else in_far[w - n]) != level:
                wait(queue, waiting, ring, w)
            elif w < n:
                lefts = forth(
                    start, targets, outs, out_start, out_used, in_far, in_from, queue, waiting, ring,
                    left, lefts, taken, w, level,
                )  # fmt: skip
            else:
                back(
                    start, targets, ins, in_start, in_used, out_far, out_from, queue, waiting, ring,
                    w - n, level,
                )  # fmt: skip


@kernel
def complete(
    outs: Ints, out_start: Ints, out_used: Ints,
    ins: Ints, in_start: Ints, in_used: Ints,
    in_far: Ints, out_from: Ints, in_from: Ints,
) -> int:  # fmt: skip
    """Complete one more edge along the cheapest path to a user who lacks an in-edge.

    Returns
    -------
    cost
        Original edges lost, or FAR if there is no path: then no choice of edges has the degrees.
    """
    best, cost = -1, FAR
    for v in range(len(in_far)):
        if in_used[v] < in_start[v + 1] - in_start[v] and in_far[v] < cost:
            best, cost = v, in_far[v]
    v = best
    while v >= 0:
        u = in_from[v]
        before = out_from[u]
        if before >= 0:  # first out of the rows, which may have no slot to spare
            drop(outs, out_start, out_used, u, before)
            drop(ins, in_start, in_used, before, u)
        select(outs, out_start, out_used, u, v)
        select(ins, in_start, in_used, v, u)
        v = before
    return cost


@kernel
def has(outs: Ints, out_start: Ints, u: int, v: int) -> bool:
    """Whether v is in the row of u, all slots of which are taken."""
    place, end = out_start[u], out_start[u + 1]
    while place < end and outs[place] != v:
        place += 1
    return bool(place < end)


@kernel
def mix(
    start: Ints, targets: Ints, outs: Ints, out_start: Ints, source: Ints, one: Ints, other: Ints
) -> None:  # fmt: skip
    """Let pairs of added edges change their targets, wherever no edge is met twice and no original one.

    Parameters
    ----------
    source
        Whose row each slot of `outs` is in; all slots are taken.
    one, other
        Slots of added edges that shall change, one pair after the other.
    """
    for i in range(len(one)):
        p, q = one[i], other[i]
        a, b, c, d = source[p], outs[p], source[q], outs[q]
        if a == c or b == d or a == d or c == b:  # noqa: SIM109
            continue
        if original(start, targets, a, d) or original(start, targets, c, b):
            continue
        if not has(outs, out_start, a, d) and not has(outs, out_start, c, b):
            outs[p], outs[q] = d, b
