"""Switches: two edges a-b, c-d become a-c, b-d (or a-d, b-c), which changes no degree."""

from __future__ import annotations

from kgreason.anonymizers.k_degree.pair_kernels import ADDED, KEPT, LOST, present, put, spot, take
from kgreason.jit import Flags, Ints, Rows, kernel


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
