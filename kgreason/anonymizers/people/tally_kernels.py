"""Compiled tallies of clusters: how often each value occurs in each cluster, in one hash table.

A row of the table holds a key, cluster · values + value, and a count; -1: free. Each user has a value once, so there
are never more keys than values of users, and the table never grows. The plain twin is a ``Counter``, in
``tests/test_people_refine.py``.
"""

from __future__ import annotations

from kgreason.jit import Rows, kernel

_SPREAD = -7046029254386353131  # 2^64 over the golden ratio


@kernel
def home(tally: Rows, key: int) -> int:
    """Where the search for a key begins."""
    return int(((key * _SPREAD) >> 20) & (len(tally) - 1))


@kernel
def slot(tally: Rows, key: int) -> int:
    """The row that holds a key; if none does, the free one where it would be."""
    at = home(tally, key)
    while tally[at, 0] != key and tally[at, 0] >= 0:
        at = (at + 1) & (len(tally) - 1)
    return at


@kernel
def count_up(tally: Rows, key: int) -> int:
    """Count one more; returns how many there are then."""
    at = slot(tally, key)
    if tally[at, 0] < 0:
        tally[at, 0] = key
        tally[at, 1] = 0
    tally[at, 1] += 1
    return int(tally[at, 1])


@kernel
def count_down(tally: Rows, key: int) -> int:
    """Count one less of a key that is there; returns how many are left. The last one frees its row."""
    at = slot(tally, key)
    tally[at, 1] -= 1
    left = int(tally[at, 1])
    if left > 0:
        return left
    last = len(tally) - 1
    hole = at
    tally[hole, 0] = -1
    at = (at + 1) & last
    while tally[at, 0] >= 0:
        begin = home(tally, tally[at, 0])
        if ((at - begin) & last) >= ((at - hole) & last):  # the search for it would end at the hole
            tally[hole, 0] = tally[at, 0]
            tally[hole, 1] = tally[at, 1]
            tally[at, 0] = -1
            hole = at
        at = (at + 1) & last
    return left
