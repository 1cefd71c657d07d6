"""Compiled loops over the adjacency of a graph."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.base.jit import allocating

Ints = npt.NDArray[np.int64]


@allocating
def tie_between(indptr: Ints, neighbour: Ints, tie: Ints, mirror: Ints, u: int, v: int) -> int:
    """Tie of two vertices as seen from u, 0 for none; searched on the side of the lower degree."""
    swap = indptr[u + 1] - indptr[u] > indptr[v + 1] - indptr[v]
    at, wanted = (v, u) if swap else (u, v)
    low, high = indptr[at], indptr[at + 1]
    end = high
    while high - low > 8:
        middle = (low + high) >> 1
        if neighbour[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    while low < end and neighbour[low] < wanted:  # few steps, with predictable branches
        low += 1
    if low == end or neighbour[low] != wanted:
        return 0
    return int(mirror[tie[low]] if swap else tie[low])


@allocating
def place_of(keys: Ints, row: int, table: Ints) -> int:
    """Slot of the key ``keys[row]`` in an open-addressing table, or the free slot for it."""
    mixed = np.uint64(0)
    for w in range(keys.shape[1]):
        mixed = (mixed ^ np.uint64(keys[row, w])) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    mask = len(table) - 1
    place = np.int64(mixed >> np.uint64(1)) & mask
    while table[place] >= 0:
        same = True
        for w in range(keys.shape[1]):
            same &= keys[table[place], w] == keys[row, w]
        if same:
            break
        place = (place + 1) & mask
    return int(place)


@allocating
def intern_induced(
    indptr: Ints,
    neighbour: Ints,
    tie: Ints,
    mirror: Ints,
    loop: Ints,
    members: Ints,
    bits: int,
    keys: Ints,
    count: int,
    table: Ints,
    rebuild: bool,
) -> tuple[Ints, int]:
    """Number the induced subgraphs of vertex tuples: equal numbers if and only if equal ties.

    The key of a tuple packs the ties of the positions a <= b, row by row, ``63 // bits`` to a word.

    Parameters
    ----------
    indptr, neighbour, tie
        Symmetric adjacency: entries ``indptr[v]:indptr[v+1]`` belong to vertex v, sorted by neighbour; ``tie`` is the
        number, from 1, of the tie between the two as seen from v.
    mirror
        ``mirror[t]`` is tie t as seen from the neighbour.
    loop
        Tie of each vertex with itself, 0 for none.
    members
        Shape (N, x), distinct vertices in each row.
    bits
        Width of a tie in a key.
    keys
        Shape (capacity, words), capacity at least count + N; rows 0 .. count-1 hold the known keys, new keys are
        appended.
    table
        Open-addressing table of key numbers, -1 for free; its length is a power of two of at least 2 (count + N), so
        that a search always ends at a free slot.
    rebuild
        Whether `table` is new and the known keys must be inserted first.

    Returns
    -------
    tuple
        The key number of each tuple, shape (N,), and the new count.
    """
    if rebuild:
        for row in range(count):
            table[place_of(keys, row, table)] = row
    size, x = members.shape
    full = 63 // bits * bits
    ids = np.empty(size, dtype=np.int64)
    for i in range(size):
        word, shift, packed = 0, 0, 0
        for a in range(x):
            u = members[i, a]
            for b in range(a, x):
                v = members[i, b]
                found = loop[u] if a == b else tie_between(indptr, neighbour, tie, mirror, u, v)
                packed |= found << shift
                shift += bits
                if shift == full:
                    keys[count, word] = packed
                    word, shift, packed = word + 1, 0, 0
        if shift:
            keys[count, word] = packed
        place = place_of(keys, count, table)
        if table[place] < 0:
            table[place] = count
            count += 1
        ids[i] = table[place]
    return ids, count
