"""Compiled loops over the components of a closure; each has a plain twin in ``tests/test_closure.py``."""

from __future__ import annotations

from kgreason.jit import Ints, Rows, kernel


@kernel
def sinks_first(ptr: Ints, before: Ints, out: Ints, order: Ints) -> int:
    """Order the vertices of an acyclic graph so that each comes after those its edges lead to.

    Parameters
    ----------
    ptr, before
        Edges into vertex v come from ``before[ptr[v]:ptr[v + 1]]``.
    out
        Out-degrees; 0 afterwards.
    order
        Filled.

    Returns
    -------
    int
        Number of vertices ordered: all of them.
    """
    count = 0
    for v in range(len(out)):
        if out[v] == 0:
            order[count] = v
            count += 1
    at = 0
    while at < count:
        v = order[at]
        at += 1
        for i in range(ptr[v], ptr[v + 1]):
            u = before[i]
            out[u] -= 1
            if out[u] == 0:
                order[count] = u
                count += 1
    return count


@kernel
def mark(rows: Ints, columns: Ints, marks: Rows) -> None:
    """Set a bit in the row of each of some columns."""
    for i in range(len(rows)):
        marks[rows[i], columns[i] >> 6] |= 1 << (columns[i] & 63)


@kernel
def spread(ptr: Ints, to: Ints, marks: Rows) -> None:
    """Give each row the bits of those that its edges lead to, all of which have lower numbers."""
    width = marks.shape[1]
    for v in range(len(ptr) - 1):
        for i in range(ptr[v], ptr[v + 1]):
            u = to[i]
            for w in range(width):
                marks[v, w] |= marks[u, w]


@kernel
def _bits(word: int) -> int:
    word = word - ((word >> 1) & 0x5555555555555555)
    word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (word * 0x0101010101010101) >> 56


@kernel
def common_bits(sizes: Ints, a: Ints, marks_a: Rows, b: Ints, marks_b: Rows) -> int:
    """Count the bits that rows ``a[i]`` and ``b[i]`` share, ``sizes[i]`` times each."""
    total = 0
    for i in range(len(sizes)):
        shared = 0
        for w in range(marks_a.shape[1]):
            shared += _bits(marks_a[a[i], w] & marks_b[b[i], w])
        total += sizes[i] * shared
    return total
