"""Compiled loops about who stands where; each has a plain twin in ``tests/test_places.py``."""

from __future__ import annotations

from kgreason.jit import Bytes, Ints, Rows, kernel


@kernel
def stand(rows: Rows, places: Rows, width: int, bits: Bytes) -> None:
    """Note that vertex ``rows[i, p]`` stands at place ``places[i, p]``; a place has `width` bytes of `bits`."""
    for i in range(rows.shape[0]):
        for p in range(rows.shape[1]):
            v = rows[i, p]
            bits[places[i, p] * width + (v >> 3)] |= 1 << (v & 7)


@kernel
def least(order: Ints, counts: Ints, width: int, bits: Bytes, found: Ints) -> None:
    """Give each vertex the count of the first place, in an order of ascending counts, where it stands.

    `found` is -1 where nothing is known yet; a vertex that stands nowhere stays so.
    """
    left = len(found)
    i = 0
    while i < len(order) and left > 0:
        place = order[i]
        for b in range(width):
            byte = bits[place * width + b]
            if byte:
                for r in range(8):
                    v = 8 * b + r
                    if byte >> r & 1 and found[v] < 0:
                        found[v] = counts[place]
                        left -= 1
        i += 1


@kernel
def tally(width: int, bits: Bytes, mask: Bytes, counts: Ints) -> None:
    """Count the vertices of a mask that stand at each place."""
    for place in range(len(counts)):
        total = 0
        for b in range(width):
            byte = bits[place * width + b] & mask[b]
            if byte:
                for r in range(8):
                    total += byte >> r & 1
        counts[place] = total
