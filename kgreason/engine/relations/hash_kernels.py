"""Compiled kernels for hashing and duplicate elimination.

Rows are int64 arrays of shape (rows, columns), C-contiguous. A hash table is an int64 array `slots` whose length is a
power of two: -1 marks a free slot; any other entry holds the 31-bit hash of a key in its upper half (the *tag*, with
which most probes end without access to the row) and a row number in its lower half. Callers reserve capacity before a
call; kernels never grow arrays. Tables of packed rows have another layout (see `insert_packed`).

All kernels take the same array types for every rule, so that each is compiled once.
"""

from __future__ import annotations

import numpy as np

from kgreason.base.jit import Flags, Ints, Rows, inlined, kernel

LOW = 0xFFFFFFFF
GOLDEN = -7046029254386353131  # 2^64 / golden ratio, as a signed number: spreads consecutive integers

DOUBLE, STRING = 1, 2  # as in `Kind`
ANY, GREATEST, LEAST, FACTOR = 0, 1, 2, 3


@inlined
def hashed(rows: Rows, i: int, key: Ints, constants: Ints) -> int:
    """31-bit hash of the key of row i; negative entries of `key` are -1 - position in `constants`."""
    h = 0
    for j in range(len(key)):
        column = key[j]
        value = rows[i, column] if column >= 0 else constants[-1 - column]
        h = (h ^ value) * GOLDEN
        h ^= h >> 32
    h *= GOLDEN
    return (h >> 32) & 0x7FFFFFFF


@inlined
def _equal(rows: Rows, i: int, key: Ints, constants: Ints, other: Rows, r: int, other_key: Ints) -> bool:
    for j in range(len(key)):
        column = key[j]
        value = rows[i, column] if column >= 0 else constants[-1 - column]
        if value != other[r, other_key[j]]:
            return False
    return True


@inlined
def find(
    rows: Rows, i: int, key: Ints, constants: Ints, other: Rows, other_key: Ints, slots: Ints, tag: int
) -> int:
    """Slot of the key of row i, or the free slot where it belongs."""
    mask = len(slots) - 1
    s = tag & mask
    while True:
        entry = slots[s]
        if entry < 0 or (
            entry >> 32 == tag and _equal(rows, i, key, constants, other, entry & LOW, other_key)
        ):
            return s
        s = (s + 1) & mask


@inlined
def before(a: int, b: int, kind: int, ranks: Ints) -> bool:
    """Whether coded value a is less than b."""
    if kind == STRING:
        a, b = ranks[a], ranks[b]
    elif kind == DOUBLE:  # flipping the lower bits of negative patterns puts doubles into integer order
        if a < 0:
            a ^= 0x7FFFFFFFFFFFFFFF
        if b < 0:
            b ^= 0x7FFFFFFFFFFFFFFF
    return a < b


@inlined
def _place(packed: int, size: int) -> int:
    """Slot of a packed row in a table of any size: its hash, as a fraction of 2^32, times the size."""
    # Two mixing steps, because a single product leaves rows of even distance adjacent. Two products with the
    # size, because a single one would exceed 64 bits in a table of 2^31 slots.
    h = packed * GOLDEN
    h = (h ^ h >> 32) * GOLDEN >> 32 & LOW
    return (h * (size >> 16) >> 16) + (h * (size & 0xFFFF) >> 32)


@kernel
def rehash(old: Ints, new: Ints, packed: bool) -> None:
    """Move all entries of a hash table into a larger, empty one."""
    size = len(new)
    for i in range(len(old)):
        entry = old[i]
        if entry >= 0:
            s = _place(entry, size) if packed else entry >> 32 & size - 1
            while new[s] >= 0:
                s = s + 1 if s + 1 < size else 0
            new[s] = entry


@kernel
def spread(slots: Ints, before: int, spare: Ints) -> int:
    """Rehash a table of packed rows in place, from `before` slots to all of `slots`; the added slots are free.

    Slots are monotone in the hash, so that entries processed from the last to the first mostly move past the
    unprocessed ones. Exceptions are kept in `spare` and reinserted at the end. Returns -1, or the number of entries in
    `spare` if it is full.
    """
    size = len(slots)
    waiting = 0
    for i in range(before - 1, -1, -1):
        entry = slots[i]
        if entry < 0:
            continue
        s = _place(entry, size)
        if s < i:
            s = size
        while s < size and s != i and slots[s] >= 0:
            s += 1
        if s == size and waiting == len(spare):
            return waiting
        slots[i] = -1
        if s < size:
            slots[s] = entry
        else:
            spare[waiting] = entry
            waiting += 1
    for i in range(waiting):
        s = _place(spare[i], size)
        while slots[s] >= 0:
            s = s + 1 if s + 1 < size else 0
        slots[s] = spare[i]
    return -1


@kernel
def insert(batch: Rows, buffer: Rows, slots: Ints, key: Ints, count: int) -> int:
    """Append the rows of `batch` that are not in `buffer[:count]`; returns the new count."""
    width = batch.shape[1]
    for i in range(len(batch)):
        tag = hashed(batch, i, key, key)
        s = find(batch, i, key, key, buffer, key, slots, tag)
        if slots[s] < 0:
            slots[s] = tag << 32 | count
            for j in range(width):
                buffer[count, j] = batch[i, j]
            count += 1
    return count


@kernel
def insert_packed(batch: Rows, buffer: Rows, slots: Ints, bits: Ints, i: int, count: int) -> tuple[int, int]:
    """Append the rows of `batch`, from row i on, that are not in `buffer[:count]`, using packed rows.

    Here `slots` holds whole rows, packed into one integer with `bits[j]` bits for column j: a lookup touches one memory
    location, and the table may have any length. Stops at a row that does not fit; returns its number and the new count.
    """
    width = batch.shape[1]
    size = len(slots)
    while i < len(batch):
        packed = 0
        excess = 0
        for j in range(width):
            excess |= batch[i, j] >> bits[j]  # nonzero for negative values, too
            packed = packed << bits[j] | batch[i, j]
        if excess != 0:
            return i, count
        s = _place(packed, size)
        while slots[s] >= 0 and slots[s] != packed:
            s = s + 1 if s + 1 < size else 0
        if slots[s] < 0:
            slots[s] = packed
            for j in range(width):
                buffer[count, j] = batch[i, j]
            count += 1
        i += 1
    return i, count


@kernel
def improve(
    batch: Rows,
    buffer: Rows,
    slots: Ints,
    key: Ints,
    count: int,
    position: int,
    keep: int,
    kind: int,
    ranks: Ints,
    propagated: Ints,
    growth: float,
    stamps: Ints,
    now: int,
    changed: Ints,
    n_changed: int,
) -> tuple[int, int]:
    """Insert rows, keeping one row per key: the one with the greatest or least value at `position`.

    `changed[:n_changed]` lists the rows whose value has changed, since round `now` began, by more than the fraction
    `growth` of the previously propagated value. Returns the new count and the new n_changed.
    """
    width = batch.shape[1]
    doubles = batch.view(np.float64)
    propagated_doubles = propagated.view(np.float64)
    for i in range(len(batch)):
        tag = hashed(batch, i, key, key)
        s = find(batch, i, key, key, buffer, key, slots, tag)
        value = batch[i, position]
        if slots[s] < 0:
            row = count
            slots[s] = tag << 32 | row
            for j in range(width):
                buffer[row, j] = batch[i, j]
            count += 1
        else:
            row = slots[s] & LOW
            old = buffer[row, position]
            low, high = (old, value) if keep == GREATEST else (value, old)
            if not before(low, high, kind, ranks):
                continue
            buffer[row, position] = value
            if stamps[row] == now:
                propagated[row] = value
                continue
            if kind == DOUBLE:
                last = propagated_doubles[row]
                if abs(doubles[i, position] - last) <= growth * abs(last):
                    continue
        propagated[row] = value
        stamps[row] = now
        changed[n_changed] = row
        n_changed += 1
    return count, n_changed


@kernel
def insert_dense(
    batch: Rows, buffer: Rows, matrix: Rows, columns: int, i: int, count: int
) -> tuple[int, int]:
    """Append the pairs of `batch`, from row i on, that are not in `buffer[:count]`, using a bit matrix.

    `matrix` holds one bit for each pair of codes; codes of the second column are below `columns`. Stops at a row that
    does not fit; returns its number and the new count. Every row is written, and counted if it is new: a branch would
    often be predicted wrongly.
    """
    height = np.uint64(len(matrix))
    bound = np.uint64(columns)
    while i < len(batch):
        a, b = batch[i, 0], batch[i, 1]
        # unsigned, because negative values are too large then, and numba checks signed indexes
        row, bit = np.uint64(a), np.uint64(b)
        if row >= height or bit >= bound:
            return i, count
        word = matrix[row, bit >> np.uint64(6)]
        matrix[row, bit >> np.uint64(6)] = word | 1 << (b & 63)
        buffer[count, 0] = a
        buffer[count, 1] = b
        count += 1 - (word >> (b & 63) & 1)
        i += 1
    return i, count


@kernel
def mark_first(rows: Rows, slots: Ints, key: Ints, first: Flags) -> None:
    """Insert the rows into a hash table, and mark the first occurrence of each key."""
    for i in range(len(rows)):
        tag = hashed(rows, i, key, key)
        s = find(rows, i, key, key, rows, key, slots, tag)
        first[i] = slots[s] < 0
        if first[i]:
            slots[s] = tag << 32 | i


@kernel
def find_rows(rows: Rows, key: Ints, held: Rows, held_key: Ints, slots: Ints, found: Ints) -> None:
    """Set `found[i]` to the row of `held` with the key of row i, or -1; `slots` is the table built by `insert`."""
    for i in range(len(rows)):
        tag = hashed(rows, i, key, key)
        entry = slots[find(rows, i, key, key, held, held_key, slots, tag)]
        found[i] = entry & LOW if entry >= 0 else -1
