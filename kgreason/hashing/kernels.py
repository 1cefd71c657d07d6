"""Compiled inner loops that find equal strings and rows by their hashes, which must then prove right."""

from __future__ import annotations

import numpy as np

from kgreason.jit import Bytes, Ints, kernel

GOLDEN = -7046029254386353131  # 2^64 / golden ratio, as a signed number: spreads consecutive integers
UPPER = 41  # a bit of hashes from which on they tell the part, but for the largest parts not the place in its table


@kernel
def _word(text: Bytes, i: int) -> int:
    """Eight bytes as a number; indices without a sign let the compiler read them at once."""
    k = np.uint64(i)
    word = np.uint64(0)
    for j in range(8):
        word |= np.uint64(text[k + np.uint64(j)]) << np.uint64(8 * j)
    return int(np.int64(word))


@kernel
def _mix(h: int, word: int) -> int:
    h = (h ^ word) * GOLDEN
    return h ^ (h >> 32)


@kernel
def hash_texts(offsets: Ints, text: Bytes, seed: int, hashes: Ints) -> None:
    """Hash the strings ``text[offsets[i]:offsets[i + 1]]``."""
    for row in range(len(hashes)):
        i, end = offsets[row], offsets[row + 1]
        h = _mix(seed, end - i)
        rest = 0
        if end - i >= 8:
            while i + 8 < end:
                h = _mix(h, _word(text, i))
                i += 8
            rest = _word(text, end - 8)  # the last word overlaps the one before
        else:
            while i < end:
                rest = rest << 8 | text[i]
                i += 1
        hashes[row] = _mix(_mix(h, rest), 0)


@kernel
def same_texts(offsets: Ints, text: Bytes, places: Ints, others: Bytes, groups: Ints) -> bool:
    """Whether each string equals that of its group, ``others[places[g]:places[g + 1]]``."""
    for row in range(len(groups)):
        i, end = offsets[row], offsets[row + 1]
        k, other_end = places[groups[row]], places[groups[row] + 1]
        length = end - i
        if length != other_end - k:
            return False
        while i + 8 < end:
            if _word(text, i) != _word(others, k):
                return False
            i += 8
            k += 8
        if length >= 8:  # the last word overlaps the one before
            if _word(text, end - 8) != _word(others, other_end - 8):
                return False
            continue
        while i < end:
            if text[i] != others[k]:
                return False
            i += 1
            k += 1
    return True


@kernel
def tally(hashes: Ints, sizes: Ints) -> None:
    """Count the hashes of each part; some of their bits tell it. The number of parts is a power of two."""
    for h in hashes:
        sizes[h >> UPPER & len(sizes) - 1] += 1


@kernel
def partition(hashes: Ints, row: int, places: Ints, parted: Ints) -> None:
    """Put pairs of a hash and its row, the first of which is given, where those of its part go on."""
    for i in range(len(hashes)):
        p = hashes[i] >> UPPER & len(places) - 1
        parted[2 * places[p]] = hashes[i]
        parted[2 * places[p] + 1] = row + i
        places[p] += 1


@kernel
def find(starts: Ints, parted: Ints, p: int, stop: int, slots: Ints, firsts: Ints) -> tuple[int, int]:
    """First row that has the same hash, for each row of the parts p, ..., stop - 1; the number of such rows.

    Each part has a hash table of its own in the beginning of `slots`, at most half of it full: it stays in the cache.
    Stops at a part that has too many different hashes for that; returns its number and that of first rows before.
    """
    found = 0
    while p < stop:
        size = 2
        while size < 2 * (starts[p + 1] - starts[p]) and 2 * size <= len(slots):
            size *= 2
        slots[:size] = -1
        mask = size - 1
        here = 0
        for i in range(starts[p], starts[p + 1]):
            h = parted[2 * i]
            s = h & mask
            while slots[s] != -1 and parted[2 * slots[s]] != h:
                s = (s + 1) & mask
            if slots[s] == -1:
                if 2 * here == size:
                    return p, found
                slots[s] = i
                here += 1
            firsts[parted[2 * i + 1]] = parted[2 * slots[s] + 1]
        found += here
        p += 1
    return p, found


@kernel
def renumber(groups: Ints, firsts: Ints) -> None:
    """Turn the first row of the group of each row into the number of the group, as they first appear."""
    count = 0
    for row in range(len(groups)):
        if groups[row] == row:
            firsts[count] = row
            groups[row] = count
            count += 1
        else:
            groups[row] = groups[groups[row]]  # of a row before this one, hence a number
