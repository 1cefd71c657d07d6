"""Alternating rows: pairs that are linked and edges that are removed, in turn, along a walk through a graph.

A step from v to x links them, and passes on what v lacked: x has an edge too many then. A step from x to y removes
their edge: y lacks one then. So a row that ends where an edge is lacking, or one too many, mends both its ends and
changes no other degree. To remove an original edge costs 1, to bring one back gains 1; all else is free.

The search goes by breadth through states (vertex, what is next to do there, cost so far), each of which is met once.
A row may come through a vertex more than once, but never over a pair twice. As long as an edge is to be added anywhere,
all vertices can be reached but neighbours; so `left` holds those that have not been, and a search takes time linear in
the edges, for each level of cost.
"""

from __future__ import annotations

from kgreason.anonymizers.k_degree.pair_kernels import ADDED, KEPT, LOST, present, put, spot, take
from kgreason.jit import Ints, Rows, kernel

DEAD = -1  # states from which no row led on, in an earlier search


@kernel
def unwind(before: Ints, path: Ints, n: int, node: int) -> int:
    """Write the vertices of a row, its end first; returns how many, or 0 if it is too long or meets a pair twice."""
    count = 0
    while node >= 0:
        if count == len(path):
            return 0
        path[count] = node % n
        count += 1
        node = before[node]
    for i in range(count - 1):
        for j in range(i):
            a, b, c, d = path[i], path[i + 1], path[j], path[j + 1]
            if (a == c and b == d) or (a == d and b == c):
                return 0
    return count


@kernel
def reach(
    lack: Ints, before: Ints, seen: Ints, queue: Ints, path: Ints, size: Ints, stamp: int, most: int,
    node: int, v: int, adds: int, cost: int,
) -> int:  # fmt: skip
    """Come from a state to another, unless it is known; returns the length of a row that ends there, 0 if none does.

    Parameters
    ----------
    node
        The state at hand; the first of the search stands at the head of the queue.
    v, adds, cost
        The other state: a vertex; 0 if it lacks an edge then, 1 if it has one too many; the cost so far.
    """
    n = len(lack)
    found = (2 * cost + adds) * n + v
    if seen[found] == stamp or seen[found] == DEAD:
        return 0
    seen[found], before[found] = stamp, node
    queue[size[0]] = found
    size[0] += 1
    if cost > most:
        return 0
    own = 1 if queue[0] == (1 - adds) * n + v else 0  # a row from a vertex to itself mends two edges there
    if (lack[v] if adds else -lack[v]) > own:
        return unwind(before, path, n, found)
    return 0


@kernel
def follow(
    ends: Rows, first: Rows, chain: Rows, lack: Ints,
    before: Ints, seen: Ints, queue: Ints, path: Ints, size: Ints, stamp: int, most: int,
    node: int, kind: int, adds: int, cost: int,
) -> int:  # fmt: skip
    """Go on from a state over all pairs of a kind."""
    half = first[node % len(lack), kind]
    while half >= 0:
        v = ends[half >> 1, 1 - (half & 1)]
        length = reach(lack, before, seen, queue, path, size, stamp, most, node, v, adds, cost)
        if length:
            return length
        half = chain[half, 0]
        size[1] += 1
    return 0


@kernel
def venture(
    ends: Rows, first: Rows, chain: Rows, lack: Ints,
    before: Ints, seen: Ints, queue: Ints, left: Rows, taken: Ints, path: Ints, size: Ints, stamp: int, most: int,
    node: int, cost: int,
) -> int:  # fmt: skip
    """Go on from a state over all pairs that are not linked."""
    n = len(lack)
    v = node % n
    taken[v] = v
    for kind in (KEPT, ADDED):
        half = first[v, kind]
        while half >= 0:
            taken[ends[half >> 1, 1 - (half & 1)]] = v
            half = chain[half, 0]
            size[1] += 1
    kept = 0
    length = 0
    for i in range(left[cost, n]):
        x = left[cost, i]
        if length == 0 and taken[x] != v:
            length = reach(lack, before, seen, queue, path, size, stamp, most, node, x, 1, cost)
        else:
            left[cost, kept] = x
            kept += 1
    size[1] += left[cost, n]
    left[cost, n] = kept
    return length


@kernel
def search(
    ends: Rows, first: Rows, chain: Rows, lack: Ints,
    before: Ints, seen: Ints, queue: Ints, left: Rows, taken: Ints, path: Ints, size: Ints,
    stamp: int, u: int, top: int, most: int, fresh: bool,
) -> int:  # fmt: skip
    """Find a row from u, which lacks an edge or has one too many, to another such vertex.

    Parameters
    ----------
    before, seen, queue
        Scratch by state, shape (2n(top + 1),); `seen` holds no `stamp`. Those that are DEAD are passed by.
    left, taken
        Scratch, shapes (top + 1, n + 1) and (n,).
    path
        The vertices of the row, the end first; a longer row is not found.
    size
        How many states were met, and how many steps were taken, which are added to those before; shape (2,).
    top, most
        Cost of the row at each place, and at its end, that is not exceeded.
    fresh
        Whether vertices may be linked that were not in the original graph.

    Returns
    -------
    length
        How many vertices the row has, 0 if none was found.
    """
    n = len(lack)
    root = u if lack[u] > 0 else n + u
    seen[root], before[root], queue[0], size[0] = stamp, -1, root, 1
    if fresh:
        for v in range(n):
            taken[v] = -1
            for cost in range(top + 1):
                left[cost, v] = v
        for cost in range(top + 1):
            left[cost, n] = n
        size[1] += n
    at, length = 0, 0
    while at < size[0] and length == 0:
        node = queue[at]
        cost = node // (2 * n)
        at += 1
        if node // n % 2:
            length = follow(
                ends, first, chain, lack, before, seen, queue, path, size, stamp, most, node, ADDED, 0, cost
            )
            if length == 0 and cost < top:
                length = follow(
                    ends, first, chain, lack, before, seen, queue, path, size, stamp, most, node, KEPT, 0, cost + 1
                )  # fmt: skip
            continue
        length = follow(
            ends, first, chain, lack, before, seen, queue, path, size, stamp, most, node, LOST, 1, max(cost - 1, 0)
        )  # fmt: skip
        if length == 0 and fresh:
            length = venture(
                ends, first, chain, lack, before, seen, queue, left, taken, path, size, stamp, most, node, cost
            )  # fmt: skip
    return length


@kernel
def mend(
    ends: Rows, kind: Ints, first: Rows, chain: Rows, table: Ints, free: Ints, lack: Ints,
    before: Ints, seen: Ints, queue: Ints, left: Rows, taken: Ints, path: Ints, size: Ints,
    stamp: int, u: int, top: int, most: int, fresh: bool,
) -> bool:  # fmt: skip
    """Carry out a row from u, if there is one (see `search`); whether there is.

    If there is none, all states that were met are DEAD.
    """
    adds = lack[u] > 0
    length = search(
        ends, first, chain, lack, before, seen, queue, left, taken, path, size, stamp, u, top, most, fresh
    )
    if length == 0:
        for i in range(size[0]):
            seen[queue[i]] = DEAD
        return False
    for i in range(length - 1, 0, -1):
        if adds:
            put(ends, kind, first, chain, table, free, lack, path[i], path[i - 1])
        else:
            take(ends, kind, first, chain, table, free, lack, table[spot(ends, table, path[i], path[i - 1])])
        adds = not adds
    return True


@kernel
def mend_all(
    ends: Rows, kind: Ints, first: Rows, chain: Rows, table: Ints, free: Ints, lack: Ints,
    before: Ints, seen: Ints, queue: Ints, left: Rows, taken: Ints, path: Ints, size: Ints,
    turns: Ints, stamp: int, top: int, most: int, fresh: bool,
) -> None:  # fmt: skip
    """Carry out rows from vertices with an edge too few or too many, in their turn, as long as any is found.

    A row that is carried out may open a way from a state that is DEAD since an earlier search. Such states stay DEAD
    until the scratch is made anew, so a row may be missed: that is what makes many searches in vain cheap.

    Parameters
    ----------
    stamp
        Greater than all in `seen`.
    """
    for u in turns:
        going = True
        while going and lack[u] != 0:
            going = mend(
                ends, kind, first, chain, table, free, lack, before, seen, queue, left, taken, path, size,
                stamp, u, top, most, fresh,
            )  # fmt: skip
            stamp += 1


@kernel
def spread(
    ends: Rows, kind: Ints, first: Rows, chain: Rows, table: Ints, free: Ints, lack: Ints,
    turns: Ints, halves: Ints, tries: int,
) -> None:  # fmt: skip
    """Carry out rows that remove one original edge x-y for u-x and y-v, where u and v lack an edge or u lacks two.

    A search would find such rows as well, but each time in all edges, and mostly at the same x.

    Parameters
    ----------
    turns
        The vertices that lack an edge.
    halves
        Halves of pairs, in the order in which they are tried, again and again; at least one.
    tries
        After so many in vain it is the next vertex's turn.
    """
    at = 0
    for i in range(len(turns)):
        u = turns[i]
        vain = 0
        while lack[u] > 0 and vain < tries:
            pair, side = halves[at] >> 1, halves[at] & 1
            at = (at + 1) % len(halves)
            vain += 1
            x, y = ends[pair, side], ends[pair, 1 - side]
            if kind[pair] != KEPT or x == u or y == u or present(ends, kind, table, u, x):
                continue
            for j in range(i, len(turns)):
                v = turns[j]
                if (
                    lack[v] > (1 if v == u else 0)
                    and v != x
                    and v != y
                    and not present(ends, kind, table, v, y)
                ):
                    take(ends, kind, first, chain, table, free, lack, pair)
                    put(ends, kind, first, chain, table, free, lack, u, x)
                    put(ends, kind, first, chain, table, free, lack, y, v)
                    vain = 0
                    break
                vain += 1
