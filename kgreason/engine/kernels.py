"""Compiled inner loops of the engine: hashing, joins, duplicate elimination.

Rows are int64 arrays of shape (rows, columns), C-contiguous. A hash table is an int64 array `slots` whose
length is a power of two: -1 marks a free slot, any other entry holds the 31-bit hash of a key in its upper
half (the *tag*: most probes end without touching the row) and a row number in its lower half. Callers reserve
room before a call, so no kernel grows anything.

All kernels take the same array types whatever the rule, so that each is compiled once.
"""

from __future__ import annotations

import numpy as np

from kgreason.jit import Flags, Ints, Rows, kernel

LOW = 0xFFFFFFFF
GOLDEN = -7046029254386353131  # 2^64 / golden ratio, as a signed number: spreads consecutive integers

DIRECT = -2  # in the last slot of an index: slots are found by value, not by hash

DOUBLE, STRING = 1, 2  # as in table.Kind
ANY, GREATEST, LEAST = 0, 1, 2


@kernel
def hashed(rows: Rows, i: int, key: Ints, constants: Ints) -> int:
    """Hash of 31 bits of the key of row i; entries of `key` below 0 are -1 - position in `constants`."""
    h = 0
    for j in range(len(key)):
        column = key[j]
        value = rows[i, column] if column >= 0 else constants[-1 - column]
        h = (h ^ value) * GOLDEN
        h ^= h >> 32
    h *= GOLDEN
    return (h >> 32) & 0x7FFFFFFF


@kernel
def _equal(rows: Rows, i: int, key: Ints, constants: Ints, other: Rows, r: int, other_key: Ints) -> bool:
    for j in range(len(key)):
        column = key[j]
        value = rows[i, column] if column >= 0 else constants[-1 - column]
        if value != other[r, other_key[j]]:
            return False
    return True


@kernel
def find(
    rows: Rows, i: int, key: Ints, constants: Ints, other: Rows, other_key: Ints, slots: Ints, tag: int
) -> int:
    """Slot of the key of row i, or of the free place where it belongs."""
    mask = len(slots) - 1
    s = tag & mask
    while True:
        entry = slots[s]
        if entry < 0 or (
            entry >> 32 == tag and _equal(rows, i, key, constants, other, entry & LOW, other_key)
        ):
            return s
        s = (s + 1) & mask


@kernel
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


@kernel
def _mix(packed: int) -> int:
    h = packed * GOLDEN
    return h ^ (h >> 32)


@kernel
def rehash(old: Ints, new: Ints, packed: bool) -> None:
    """Move all entries of a hash table into a larger, empty one."""
    mask = len(new) - 1
    for i in range(len(old)):
        entry = old[i]
        if entry >= 0:
            s = (_mix(entry) if packed else entry >> 32) & mask
            while new[s] >= 0:
                s = (s + 1) & mask
            new[s] = entry


@kernel
def insert(batch: Rows, buffer: Rows, slots: Ints, key: Ints, count: int) -> int:
    """Append the rows of `batch` that `buffer[:count]` lacks; returns the new count."""
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
    """Append the rows of `batch`, from row i on, that `buffer[:count]` lacks, as `insert` does.

    Here `slots` holds whole rows, packed into one number by giving `bits[j]` bits to column j: a look-up
    touches one place of memory. Stops at a row that does not fit; returns its number and the new count.
    """
    width = batch.shape[1]
    mask = len(slots) - 1
    while i < len(batch):
        packed = 0
        excess = 0
        for j in range(width):
            excess |= batch[i, j] >> bits[j]  # not 0 for negative values too
            packed = packed << bits[j] | batch[i, j]
        if excess != 0:
            return i, count
        s = _mix(packed) & mask
        while slots[s] >= 0 and slots[s] != packed:
            s = (s + 1) & mask
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
    told: Ints,
    growth: float,
    stamps: Ints,
    now: int,
    changed: Ints,
    n_changed: int,
) -> tuple[int, int]:
    """Insert rows of which one per key survives: the one with the greatest or least value at `position`.

    `changed[:n_changed]` lists the rows that changed since `now` began by more than the fraction `growth` of
    the value `told` before. Returns the new count and the new n_changed.
    """
    width = batch.shape[1]
    doubles = batch.view(np.float64)
    told_doubles = told.view(np.float64)
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
                told[row] = value
                continue
            if kind == DOUBLE:
                last = told_doubles[row]
                if abs(doubles[i, position] - last) <= growth * abs(last):
                    continue
        told[row] = value
        stamps[row] = now
        changed[n_changed] = row
        n_changed += 1
    return count, n_changed


@kernel
def insert_dense(
    batch: Rows, buffer: Rows, matrix: Rows, columns: int, i: int, count: int
) -> tuple[int, int]:
    """Append the rows of `batch`, from row i on, that `buffer[:count]` lacks, as `insert` does.

    Rows are pairs, and `matrix` holds one bit for each pair of codes, those of the second column below `columns`.
    Stops at a row that does not fit; returns its number and the new count.
    """
    while i < len(batch):
        a, b = batch[i, 0], batch[i, 1]
        if a < 0 or a >= len(matrix) or b < 0 or b >= columns:
            return i, count
        bit = 1 << (b & 63)
        word = matrix[a, b >> 6]
        if word & bit == 0:
            matrix[a, b >> 6] = word | bit
            buffer[count, 0] = a
            buffer[count, 1] = b
            count += 1
        i += 1
    return i, count


@kernel
def places(rows: Rows, key: Ints, held: Rows, held_key: Ints, slots: Ints, found: Ints) -> None:
    """Set `found[i]` to the number of the row of `held` with the key of row i, or -1; `slots` as `insert` leaves it."""
    for i in range(len(rows)):
        tag = hashed(rows, i, key, key)
        entry = slots[find(rows, i, key, key, held, held_key, slots, tag)]
        found[i] = entry & LOW if entry >= 0 else -1


@kernel
def addressed(rows: Rows, i: int, key: Ints, constants: Ints, slots: Ints) -> int:
    """Slot of the key of row i in an index whose last slot is `DIRECT`.

    The key is one column, and its value is the slot; the last one stands for all values beyond.
    """
    last = len(slots) - 1
    column = key[0]
    value = rows[i, column] if column >= 0 else constants[-1 - column]
    return value if value >= 0 and value < last else last


@kernel
def seek(rows: Rows, i: int, key: Ints, constants: Ints, entries: Rows, slots: Ints) -> int:
    """Slot of the key of row i in an index, or of the free place where it belongs."""
    last = len(slots) - 1
    if slots[last] == DIRECT:
        return addressed(rows, i, key, constants, slots)
    tag = hashed(rows, i, key, constants)
    s = tag & last
    while True:
        entry = slots[s]
        if entry < 0:
            return s
        if entry >> 32 == tag:
            k = entry & LOW
            same = True
            for j in range(len(key)):
                column = key[j]
                value = rows[i, column] if column >= 0 else constants[-1 - column]
                if entries[k, 3 + j] != value:
                    same = False
                    break
            if same:
                return s
        s = (s + 1) & last


@kernel
def entered(rows: Rows, i: int, key: Ints, slots: Ints, entries: Rows, used: int) -> int:
    """Entry of the key of row i in an index, or -1 if there is no slot for it.

    A new key gets the entry `used` (see `chain`).
    """
    s = seek(rows, i, key, key, entries, slots)
    if slots[s] < 0:
        if slots[s] == DIRECT:
            return -1
        direct = slots[len(slots) - 1] == DIRECT
        slots[s] = used if direct else hashed(rows, i, key, key) << 32 | used
        entries[used, 0] = 0
        entries[used, 1] = 0
        entries[used, 2] = -1
        for j in range(len(key)):
            entries[used, 3 + j] = rows[i, key[j]]
    return int(slots[s] & LOW)


@kernel
def register(entries: Rows, key: Ints, used: int, slots: Ints) -> None:
    """Give all entries of an index a slot; `key` are the columns of their values."""
    last = len(slots) - 1
    for k in range(used):
        if slots[last] == DIRECT:
            slots[entries[k, key[0]]] = k
            continue
        tag = hashed(entries, k, key, key)
        s = tag & last
        while slots[s] >= 0:
            s = (s + 1) & last
        slots[s] = tag << 32 | k


@kernel
def chain(
    rows: Rows,
    key: Ints,
    start: int,
    stop: int,
    slots: Ints,
    entries: Rows,
    following: Ints,
    base: int,
    used: int,
) -> tuple[int, int]:
    """Put rows start, ..., stop - 1 into the chains of their keys, newest first.

    Stops at a row whose key has no slot; returns its number and the number of keys.

    An index holds for each key ``[first, end, head, *values of the key]``: rows below `base` stand together, at
    first, ..., end - 1 (see `fold`), the others form a chain: ``following[row - base]`` is the next one or -1.
    """
    for i in range(start, stop):
        k = entered(rows, i, key, slots, entries, used)
        if k < 0:
            return i, used
        if k == used:
            used += 1
        following[i - base] = entries[k, 2]
        entries[k, 2] = i
    return stop, used


@kernel
def fold(
    rows: Rows,
    rest: Ints,
    entries: Rows,
    used: int,
    following: Ints,
    base: int,
    stop: int,
    old: Rows,
    new: Rows,
    shifted: Ints,
) -> None:
    """Move the rows below `stop` from their chains to where those of one key stand together.

    `old` and `new` hold the columns `rest` of these rows, before and after; `shifted` receives the links of the chains
    that are left, as `following` has them for `base`.
    """
    at = 0
    for k in range(used):
        first = at
        for r in range(entries[k, 0], entries[k, 1]):
            for j in range(len(rest)):
                new[at, j] = old[r, j]
            at += 1
        row = entries[k, 2]
        kept = -1
        while row >= stop:
            kept = row
            row = following[row - base]
            shifted[kept - stop] = row
        if kept >= 0:
            shifted[kept - stop] = -1
        else:
            entries[k, 2] = -1
        end = at
        r = row
        while r >= 0:
            end += 1
            r = following[r - base]
        at = end
        while row >= 0:
            end -= 1
            for j in range(len(rest)):
                new[end, j] = rows[row, rest[j]]
            row = following[row - base]
        entries[k, 0] = first
        entries[k, 1] = at


@kernel
def join(
    left: Rows,
    left_key: Ints,
    constants: Ints,
    right: Rows,
    folded: Rows,
    entries: Rows,
    slots: Ints,
    following: Ints,
    base: int,
    limit: int,
    takes: Ints,
    where: Ints,
    out: Rows,
    i: int,
    at: int,
) -> tuple[int, int, int]:
    """Join `left` with the rows of `right` below `limit`, from left row `i` on.

    Parameters
    ----------
    left_key
        Columns of the left or, below 0, -1 - position in `constants`.
    folded, entries, slots, following, base
        An index of `right` (see `chain`); `limit` is not below `base`.
    takes
        Columns of `out`: those of the left or, below 0, -1 - column of the right.
    where
        For each column of the right: its column in `folded` or, below 0, -1 - its place in the key.
    at
        Place in `folded` to go on at; -1: begin with row i; below: -2 - row of `right` to go on at.

    Returns
    -------
    tuple
        `i` and `at` to go on with when `out` is full, and the number of rows written.
    """
    n = 0
    room = len(out)
    width = len(takes)
    direct = slots[len(slots) - 1] == DIRECT  # told here, because the other way to a slot is twice as long
    while i < len(left):
        if direct:
            entry = slots[addressed(left, i, left_key, constants, slots)]
        else:
            entry = slots[seek(left, i, left_key, constants, entries, slots)]
        if entry < 0:
            i += 1
            at = -1
            continue
        k = entry & LOW
        if at >= -1:
            r = entries[k, 0] if at < 0 else at
            end = entries[k, 1]
            while r < end:
                if n == room:
                    return i, r, n
                for j in range(width):
                    column = takes[j]
                    if column >= 0:
                        out[n, j] = left[i, column]
                    else:
                        place = where[-1 - column]
                        out[n, j] = folded[r, place] if place >= 0 else entries[k, 2 - place]
                n += 1
                r += 1
            row = entries[k, 2]
        else:
            row = -2 - at
        while row >= 0:
            if row < limit:
                if n == room:
                    return i, -2 - row, n
                for j in range(width):
                    column = takes[j]
                    out[n, j] = left[i, column] if column >= 0 else right[row, -1 - column]
                n += 1
            row = following[row - base]
        i += 1
        at = -1
    return i, -1, n


@kernel
def matches(
    left: Rows,
    left_key: Ints,
    constants: Ints,
    entries: Rows,
    slots: Ints,
    following: Ints,
    base: int,
    limit: int,
    found: Flags,
) -> None:
    """Set `found[i]` to whether left row i has a partner among the rows below `limit` of an indexed relation."""
    for i in range(len(left)):
        entry = slots[seek(left, i, left_key, constants, entries, slots)]
        found[i] = False
        if entry >= 0:
            k = entry & LOW
            row = entries[k, 2]
            while row >= limit:
                row = following[row - base]
            found[i] = row >= 0 or entries[k, 1] > entries[k, 0]
