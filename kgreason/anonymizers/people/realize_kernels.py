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
    return low < start[u + 1] and targets[low] == v


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
def path(
    start: Ints, targets: Ints,
    outs: Ints, out_start: Ints, out_used: Ints,
    ins: Ints, in_start: Ints, in_used: Ints,
    out_far: Ints, in_far: Ints, out_from: Ints, in_from: Ints,
    queue: Ints, waiting: Flags, left: Ints, taken: Ints,
) -> int:  # fmt: skip
    """Find an alternating path that costs fewest original edges and complete one more edge along it.

    The path leads from a user who lacks an out-edge over pairs that are added and edges that are dropped in turn to
    a user who lacks an in-edge. To drop an original edge costs 1, to take one back gains 1, all else is free. Costs
    are settled by correcting labels, cheapest first; as a user is at once joined to nearly all others, `left` holds
    those that are farther than the level at hand, so that each level takes time linear in users and edges.

    Parameters
    ----------
    out_far, in_far, out_from, in_from
        Cost of the way to each user as source and as target, and whence; scratch, shape (n,).
    queue, waiting
        Ring of users that wait, sources as u and targets as n + v, and who does; scratch, shape (2n,).
    left, taken
        Scratch, shape (n,).

    Returns
    -------
    cost
        Original edges lost, or FAR if there is no such path: then no choice of edges has these degrees.
    """
    n = len(out_far)
    in_far[:], out_far[:], taken[:], waiting[:] = FAR, FAR, -1, False
    size = 0
    for u in range(n):
        if out_used[u] < out_start[u + 1] - out_start[u]:
            out_far[u], out_from[u] = 0, -1
            queue[size] = u
            waiting[u] = True
            size += 1
    begin, level, lefts = 0, FAR, 0
    while size:
        low = FAR
        for i in range(size):
            w = queue[(begin + i) % (2 * n)]
            low = min(low, out_far[w] if w < n else in_far[w - n])
        if low != level:
            level, lefts = low, 0
            for v in range(n):
                if in_far[v] > level:
                    left[lefts] = v
                    lefts += 1
        for _ in range(size):
            w = queue[begin]
            begin = (begin + 1) % (2 * n)
            size -= 1
            if (out_far[w] if w < n else in_far[w - n]) != level:
                queue[(begin + size) % (2 * n)] = w
                size += 1
                continue
            waiting[w] = False
            if w >= n:
                v = w - n
                for i in range(in_start[v], in_start[v] + in_used[v]):
                    u = ins[i]
                    far = level + (1 if original(start, targets, u, v) else 0)
                    if far < out_far[u]:
                        out_far[u], out_from[u] = far, v
                        if not waiting[u]:
                            waiting[u] = True
                            queue[(begin + size) % (2 * n)] = u
                            size += 1
                continue
            u = w
            taken[u] = u
            for i in range(out_start[u], out_start[u] + out_used[u]):
                taken[outs[i]] = u
            for i in range(start[u], start[u + 1]):
                v = targets[i]
                if taken[v] != u and level - 1 < in_far[v]:
                    in_far[v], in_from[v] = level - 1, u
                    if not waiting[n + v]:
                        waiting[n + v] = True
                        queue[(begin + size) % (2 * n)] = n + v
                        size += 1
            kept = 0
            for i in range(lefts):
                v = left[i]
                if in_far[v] <= level:
                    continue
                if taken[v] == u:
                    left[kept] = v
                    kept += 1
                    continue
                in_far[v], in_from[v] = level, u
                if not waiting[n + v]:
                    waiting[n + v] = True
                    queue[(begin + size) % (2 * n)] = n + v
                    size += 1
            lefts = kept
    best = -1
    for v in range(n):
        lacks = in_used[v] < in_start[v + 1] - in_start[v]
        if lacks and in_far[v] < FAR and (best < 0 or in_far[v] < in_far[best]):
            best = v
    if best < 0:
        return FAR
    cost, v = in_far[best], best
    while v >= 0:
        u = in_from[v]
        before = out_from[u]
        if before >= 0:  # first out of the rows, which have no slot to spare
            drop(outs, out_start, out_used, u, before)
            drop(ins, in_start, in_used, before, u)
        select(outs, out_start, out_used, u, v)
        select(ins, in_start, in_used, v, u)
        v = before
    return cost


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
        if a == c or b == d or a == d or c == b:
            continue
        if original(start, targets, a, d) or original(start, targets, c, b):
            continue
        free = True
        for j in range(out_start[a], out_start[a + 1]):
            free = free and outs[j] != d
        for j in range(out_start[c], out_start[c + 1]):
            free = free and outs[j] != b
        if free:
            outs[p], outs[q] = d, b
