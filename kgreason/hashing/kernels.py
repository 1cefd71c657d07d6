"""Compiled inner loops that find equal strings and rows by their hashes, which must then prove right.

A hash table is an int64 array `slots`, each -1 or the upper half of a hash and the number of its group; the lower half
tells the place. The length is a power of two. The caller makes a larger one when half of it is full.
"""

from __future__ import annotations

import numpy as np

from kgreason.jit import Bytes, Ints, kernel

GOLDEN = -7046029254386353131  # 2^64 / golden ratio, as a signed number: spreads consecutive integers
UPPER_HALF = -1 << 32
BATCH = 32
UPPER = 41  # a bit of hashes from which on none tells the place in a small table


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
def _slot(slots: Ints, h: int) -> int:
    """Place of a hash in the table, or the free one where it belongs."""
    mask = len(slots) - 1
    s = h & mask
    while slots[s] != -1 and (slots[s] ^ h) & UPPER_HALF != 0:
        s = (s + 1) & mask
    return s


@kernel
def move(hashes: Ints, firsts: Ints, count: int, slots: Ints) -> None:
    """Put the groups so far into an empty hash table."""
    for group in range(count):
        h = hashes[firsts[group]]
        slots[_slot(slots, h)] = h & UPPER_HALF | group


@kernel
def group(hashes: Ints, slots: Ints, firsts: Ints, groups: Ints, start: int, count: int) -> tuple[int, int]:
    """Number the hashes from `start` on as they first appear, the equal ones alike; `firsts` are the first rows.

    Stops when the table is half full; returns where to go on and the number of groups.
    """
    mask = len(slots) - 1
    while start < len(hashes) and 2 * (count + BATCH) <= mask:
        stop = min(len(hashes), start + BATCH)
        for row in range(start, stop):
            groups[row] = slots[hashes[row] & mask]  # a batch at once: memory is slow to answer
        for row in range(start, stop):
            h = hashes[row]
            s = _slot(slots, h)
            if slots[s] == -1:
                slots[s] = h & UPPER_HALF | count
                firsts[count] = row
                count += 1
            groups[row] = slots[s] & ~UPPER_HALF
        start = stop
    return start, count


@kernel
def repeats(hashes: Ints, starts: Ints, parted: Ints, slots: Ints) -> bool:
    """Whether hashes may be equal: two are, or one is 0, or more than half the length of `slots` stand in one part.

    Their upper bits part them, so that the hash table of a part, here of hashes alone, stays in the cache. `starts` has
    room for one number more than parts, of which there is a power of two, `parted` for all hashes.
    """
    parts = len(starts) - 1
    starts[:] = 0
    for h in hashes:
        starts[(h >> UPPER & parts - 1) + 1] += 1
    for part in range(parts):
        starts[part + 1] += starts[part]
    for h in hashes:
        part = h >> UPPER & parts - 1
        parted[starts[part]] = h
        starts[part] += 1  # in the end the start of the next part
    mask = len(slots) - 1
    start = 0
    for part in range(parts):
        stop = starts[part]
        if 2 * (stop - start) > len(slots):
            return True
        slots[:] = 0
        for i in range(start, stop):
            h = parted[i]
            s = h & mask
            while slots[s] != 0 and slots[s] != h:
                s = (s + 1) & mask
            if slots[s] == h:
                return True
            slots[s] = h
        start = stop
    return False
