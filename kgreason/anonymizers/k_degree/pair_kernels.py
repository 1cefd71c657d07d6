"""A graph that changes: each pair of vertices that is or was an edge has a number, and stands in the lists of its ends.

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
"""

from __future__ import annotations

from kgreason.jit import Ints, Rows, kernel

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
    return pair >= 0 and kind[pair] != LOST


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
    pair = table[at]
    if pair >= 0:
        unlink(ends, kind, first, chain, pair)
        link(ends, kind, first, chain, pair, KEPT)
        return pair
    last = len(free) - 1
    free[last] -= 1
    pair = free[free[last]]
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
def enter(
    ends: Rows, kind: Ints, first: Rows, chain: Rows, table: Ints, count: int
) -> None:
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
