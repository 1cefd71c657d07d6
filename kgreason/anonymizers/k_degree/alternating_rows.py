"""Alternating rows and switches: edges that are removed and added in turn, so that degrees change as wanted.

A pair is an original edge that is kept or lost, or an edge that was added. The arrays, for n vertices and room for c
pairs:

ends
    Smaller and greater end of each pair, shape (c, 2).
kind
    KEPT, LOST, ADDED or FREE, shape (c,).
first
    Where the list of each vertex and kind begins, shape (n, 3). A list holds halves of pairs: half 2p is the one at the
    smaller end of pair p, half 2p + 1 the one at its greater end; -1 ends it.
chain
    The next and the previous half in the list of each half, shape (2c, 2).
table
    Numbers of pairs by a hash of their ends, -1 where there is none; its length is a power of two greater than c.
free
    Numbers that are free, and at last how many, shape (c + 1,).
lack
    How many edges more than it has each vertex shall have, shape (n,).

A step from v to x links them, and passes on what v lacked: x has an edge too many then. A step from x to y removes
their edge: y lacks one then. So a row that ends where an edge is lacking, or one too many, mends both its ends and
changes no other degree. To remove an original edge costs 1, to bring one back gains 1; all else is free.

The search goes by breadth through states (vertex, what is next to do there, cost so far), each of which is met once.
A row may come through a vertex more than once, but never over a pair twice. As long as an edge is to be added anywhere,
all vertices can be reached but neighbours; so `left` holds those that have not been, and a search takes time linear in
the edges, for each level of cost.
"""

from __future__ import annotations

from kgreason.jit import Flags, Ints, Rows, kernel

KEPT, LOST, ADDED, FREE = range(4)
_ODD = 0x1E3779B97F4A7C15


@kernel
def home(table: Ints, a: int, b: int) -> int:
    """Where a pair a < b stands if nobody else stands there."""
    mixed = (a * 0x9E3779B1 + b) * _ODD
    return int((mixed ^ (mixed >> 32)) & (len(table) - 1))


@kernel
def spot(ends: Rows, table: Ints, a: int, b: int) -> int:
    """Where the pair stands in the table, or would."""
    low, high = min(a, b), max(a, b)
    at = home(table, low, high)
    while table[at] >= 0 and (ends[table[at], 0] != low or ends[table[at], 1] != high):
        at = (at + 1) & (len(table) - 1)
    return at


@kernel
def present(ends: Rows, kind: Ints, table: Ints, a: int, b: int) -> bool:
    """Whether two vertices are linked."""
    pair = table[spot(ends, table, a, b)]
    return bool(pair >= 0 and kind[pair] != LOST)


@kernel
def link(ends: Rows, kind: Ints, first: Rows, chain: Rows, pair: int, to: int) -> None:
    """Put a pair into the lists of a kind."""
    kind[pair] = to
    for side in range(2):
        half, v = 2 * pair + side, ends[pair, side]
        following = first[v, to]
        chain[half, 0], chain[half, 1] = following, -1
        if following >= 0:
            chain[following, 1] = half
        first[v, to] = half


@kernel
def unlink(ends: Rows, kind: Ints, first: Rows, chain: Rows, pair: int) -> None:
    """Take a pair out of its lists."""
    for side in range(2):
        half = 2 * pair + side
        following, previous = chain[half, 0], chain[half, 1]
        if following >= 0:
            chain[following, 1] = previous
        if previous >= 0:
            chain[previous, 0] = following
        else:
            first[ends[pair, side], kind[pair]] = following


@kernel
def put(
    ends: Rows, kind: Ints, first: Rows, chain: Rows, table: Ints, free: Ints, lack: Ints, a: int, b: int
) -> int:
    """Link two vertices that are not linked; returns the number of the pair."""
    lack[a] -= 1
    lack[b] -= 1
    at = spot(ends, table, a, b)
    pair = int(table[at])
    if pair >= 0:
        unlink(ends, kind, first, chain, pair)
        link(ends, kind, first, chain, pair, KEPT)
        return pair
    last = len(free) - 1
    free[last] -= 1
    pair = int(free[free[last]])
    ends[pair, 0], ends[pair, 1] = min(a, b), max(a, b)
    table[at] = pair
    link(ends, kind, first, chain, pair, ADDED)
    return pair


@kernel
def take(
    ends: Rows, kind: Ints, first: Rows, chain: Rows, table: Ints, free: Ints, lack: Ints, pair: int
) -> None:  # fmt: skip
    """Remove an edge."""
    lack[ends[pair, 0]] += 1
    lack[ends[pair, 1]] += 1
    unlink(ends, kind, first, chain, pair)
    if kind[pair] == KEPT:
        link(ends, kind, first, chain, pair, LOST)
        return
    forget(ends, table, pair)
    kind[pair] = FREE
    last = len(free) - 1
    free[free[last]] = pair
    free[last] += 1


@kernel
def forget(ends: Rows, table: Ints, pair: int) -> None:
    """Take a pair out of the table, and close the gap."""
    mask = len(table) - 1
    gap = spot(ends, table, ends[pair, 0], ends[pair, 1])
    at = (gap + 1) & mask
    while table[at] >= 0:
        wanted = home(table, ends[table[at], 0], ends[table[at], 1])
        if ((at - wanted) & mask) >= ((at - gap) & mask):
            table[gap] = table[at]
            gap = at
        at = (at + 1) & mask
    table[gap] = -1


@kernel
def enter(ends: Rows, kind: Ints, first: Rows, chain: Rows, table: Ints, count: int) -> None:
    """Put the first `count` pairs, whose ends and kinds are known, into the lists and the table."""
    for pair in range(count):
        table[spot(ends, table, ends[pair, 0], ends[pair, 1])] = pair
        link(ends, kind, first, chain, pair, kind[pair])


@kernel
def put_all(
    ends: Rows, kind: Ints, first: Rows, chain: Rows, table: Ints, free: Ints, lack: Ints, pairs: Rows
) -> None:  # fmt: skip
    """Link pairs of vertices that are not linked."""
    for i in range(len(pairs)):
        put(ends, kind, first, chain, table, free, lack, pairs[i, 0], pairs[i, 1])


@kernel
def drop(
    ends: Rows, kind: Ints, first: Rows, chain: Rows, table: Ints, free: Ints, lack: Ints
) -> None:  # fmt: skip
    """Remove original edges of those who have too many, whoever is at the other end."""
    for v in range(len(lack)):
        while lack[v] < 0 and first[v, KEPT] >= 0:
            take(ends, kind, first, chain, table, free, lack, first[v, KEPT] >> 1)


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


@kernel
def switch(
    ends: Rows, kind: Ints, first: Rows, chain: Rows, table: Ints, free: Ints, lack: Ints, one: int, other: int,
    turn: bool,
) -> None:  # fmt: skip
    """Replace the edges a-b and c-d by a-c and b-d, where c is the smaller end, or the greater if `turn`."""
    a, b = ends[one, 0], ends[one, 1]
    c, d = ends[other, 1 if turn else 0], ends[other, 0 if turn else 1]
    take(ends, kind, first, chain, table, free, lack, one)
    take(ends, kind, first, chain, table, free, lack, other)
    put(ends, kind, first, chain, table, free, lack, a, c)
    put(ends, kind, first, chain, table, free, lack, b, d)


@kernel
def gain(
    ends: Rows, kind: Ints, first: Rows, chain: Rows, table: Ints, free: Ints, lack: Ints, pair: int
) -> bool:  # fmt: skip
    """Bring a lost edge a-c back by a switch of an added edge c-d with another edge a-b; whether that can be.

    Either a-b was added as well and b and d are not linked, or it is an original edge, but so is b-d.
    """
    for side in range(2):
        a, c = ends[pair, side], ends[pair, 1 - side]
        half = first[c, ADDED]
        while half >= 0:
            d = ends[half >> 1, 1 - (half & 1)]
            near = first[a, ADDED]
            while near >= 0:
                b = ends[near >> 1, 1 - (near & 1)]
                if b != d and not present(ends, kind, table, b, d):
                    exchange(ends, kind, first, chain, table, free, lack, pair, half, near)
                    return True
                near = chain[near, 0]
            far = first[d, LOST]
            while far >= 0:
                b = ends[far >> 1, 1 - (far & 1)]
                if b != a:
                    edge = table[spot(ends, table, a, b)]
                    if edge >= 0 and kind[edge] == KEPT:
                        near = 2 * edge + (0 if ends[edge, 0] == a else 1)
                        exchange(ends, kind, first, chain, table, free, lack, pair, half, near)
                        return True
                far = chain[far, 0]
            half = chain[half, 0]
    return False


@kernel
def exchange(
    ends: Rows, kind: Ints, first: Rows, chain: Rows, table: Ints, free: Ints, lack: Ints,
    pair: int, half: int, near: int,
) -> None:  # fmt: skip
    """Replace the edges of two halves by a lost pair and the pair of their other ends."""
    b, d = ends[near >> 1, 1 - (near & 1)], ends[half >> 1, 1 - (half & 1)]
    take(ends, kind, first, chain, table, free, lack, near >> 1)
    take(ends, kind, first, chain, table, free, lack, half >> 1)
    put(ends, kind, first, chain, table, free, lack, ends[pair, 0], ends[pair, 1])
    put(ends, kind, first, chain, table, free, lack, b, d)


@kernel
def gain_all(
    ends: Rows, kind: Ints, first: Rows, chain: Rows, table: Ints, free: Ints, lack: Ints, lost: Ints
) -> int:  # fmt: skip
    """Bring lost edges back by switches; returns how many switches there were."""
    count = 0
    for pair in lost:
        if kind[pair] == LOST and gain(ends, kind, first, chain, table, free, lack, pair):
            count += 1
    return count


@kernel
def mix(
    ends: Rows, kind: Ints, first: Rows, chain: Rows, table: Ints, free: Ints, lack: Ints,
    one: Ints, other: Ints, turn: Flags,
) -> None:  # fmt: skip
    """Switch pairs of added edges wherever that makes neither loops nor edges that are there, or are original ones."""
    for i in range(len(one)):
        a, b = ends[one[i], 0], ends[one[i], 1]
        c, d = ends[other[i], 1 if turn[i] else 0], ends[other[i], 0 if turn[i] else 1]
        if a == c or b == d or a == d or b == c:  # noqa: SIM109
            continue
        if table[spot(ends, table, a, c)] < 0 and table[spot(ends, table, b, d)] < 0:
            switch(ends, kind, first, chain, table, free, lack, one[i], other[i], turn[i])
