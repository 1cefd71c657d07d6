"""Compiled kernels of indexes: keys, rows by key, joins.

Tables of keys have the layout of `kgreason.engine.relations.hash_kernels`, or one slot per value (see `_addressed`).

The entry of a key is ``[blocks, counts, round, *key values]``. The rows of a key, in the order of insertion, are stored
in blocks of an arena. `blocks` holds the first block in the upper half and the last one in the lower half, or is -1. A
block begins with a word that holds its size in rows in the lower half, and in the upper half the next block or 0. A row
of a block consists of the columns `rest` of the row, or of the number of the row if `rest` is `NUMBERS`; if `rest` is
empty, there are no blocks. `counts` holds the number of rows in the upper half, and the number of free places of the
last block in the lower half (without a block: the number of rows to expect). `round` holds the number of the last
extension that added rows in the upper half, and the number of rows before in the lower half.

An index of a complete relation on one column of small values has neither slots nor entries: its rows are sorted by the
key, without blocks, and those of value v are the rows starts[v], ..., starts[v + 1] - 1 of the arena.
"""

from __future__ import annotations

import numpy as np

from kgreason.base.jit import Flags, Ints, Rows, inlined, kernel
from kgreason.engine.relations.hash_kernels import LOW, find, hashed

DIRECT = -2  # last slot of a directly addressed index: slots are found by value, not by hash
NUMBERS = -1  # in `rest`: blocks hold numbers of rows
HEAD = 3  # words of an entry before the values of its key
SMALL = 16  # rows of a block, unless the key has many rows
SHARE = 4  # a block has room for one row in 1 << SHARE of those before


@inlined
def _addressed(rows: Rows, i: int, key: Ints, constants: Ints, slots: Ints) -> int:
    # The key is a single column, whose value is the slot; the last slot represents all values out of range.
    last = len(slots) - 1
    column = key[0]
    value = rows[i, column] if column >= 0 else constants[-1 - column]
    return value if value >= 0 and value < last else last


@inlined
def seek(rows: Rows, i: int, key: Ints, constants: Ints, entries: Rows, slots: Ints) -> int:
    """Slot of the key of row i in an index, or the free slot where it belongs."""
    last = len(slots) - 1
    if slots[last] == DIRECT:
        return _addressed(rows, i, key, constants, slots)
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
                if entries[k, HEAD + j] != value:
                    same = False
                    break
            if same:
                return s
        s = (s + 1) & last


@inlined
def _entered(rows: Rows, i: int, key: Ints, slots: Ints, entries: Rows, used: int) -> int:
    """Entry of the key of row i (new: `used`), or -1 if it has no slot or `entries` is full (see `extend`)."""
    s = seek(rows, i, key, key, entries, slots)
    if slots[s] < 0:
        if slots[s] == DIRECT or used == len(entries):
            return -1
        direct = slots[len(slots) - 1] == DIRECT
        slots[s] = used if direct else hashed(rows, i, key, key) << 32 | used
        entries[used, 0] = -1
        entries[used, 1] = 0
        entries[used, 2] = 0
        for j in range(len(key)):
            entries[used, HEAD + j] = rows[i, key[j]]
    return int(slots[s] & LOW)


@kernel
def register(entries: Rows, key: Ints, used: int, slots: Ints) -> None:
    """Assign slots to all entries of an index; `key` are the columns of the key values in `entries`."""
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
def extend(
    rows: Rows,
    key: Ints,
    rest: Ints,
    i: int,
    stop: int,
    slots: Ints,
    entries: Rows,
    arena: Ints,
    used: int,
    top: int,
    now: int,
    counting: bool,
) -> tuple[int, int, int, int]:
    """Add rows i, ..., stop - 1 to an index in extension number `now`; if `counting`, only announce them.

    Stops at a row whose key has no slot or no free entry, or for which the arena is too short. Returns the number of
    the row, the numbers of used entries and of used words of the arena, and the words that the arena lacks.
    """
    width = len(rest)
    while i < stop:
        k = _entered(rows, i, key, slots, entries, used)
        if k < 0:
            break
        if k == used:
            used += 1
        if counting:
            entries[k, 1] += 1
            i += 1
            continue
        count = entries[k, 1] >> 32
        left = entries[k, 1] & LOW
        if width > 0:
            block = entries[k, 0] & LOW if entries[k, 0] >= 0 else -1
            if block < 0 or left == 0:
                behind = arena[block] >> 32 if block >= 0 else 0
                if behind == 0:
                    size = left
                    if block >= 0 or left == 0:
                        size = max(min(count + 1, SMALL), count >> SHARE)
                    lacking = top + 1 + size * width - len(arena)
                    if lacking > 0:
                        return i, used, top, lacking
                    behind = top
                    arena[top] = size
                    top += 1 + size * width
                    if block < 0:
                        entries[k, 0] = behind << 32
                    else:
                        arena[block] |= behind << 32
                block = behind
                left = arena[block] & LOW
                entries[k, 0] = entries[k, 0] >> 32 << 32 | block
            at = block + 1 + ((arena[block] & LOW) - left) * width
            for j in range(width):
                arena[at + j] = rows[i, rest[j]] if rest[j] != NUMBERS else i
            left -= 1
        if entries[k, 2] >> 32 != now:
            entries[k, 2] = now << 32 | count
        entries[k, 1] = count + 1 << 32 | left
        i += 1
    return i, used, top, 0


@kernel
def sort(rows: Rows, column: int, rest: Ints, starts: Ints, arena: Ints) -> None:
    """Sort the rows, columns `rest` only, by the values of a column; `starts` is zero, for one value more."""
    width = len(rest)
    for i in range(len(rows)):
        starts[rows[i, column] + 1] += 1
    for v in range(1, len(starts)):
        starts[v] += starts[v - 1]
    for i in range(len(rows)):
        at = starts[rows[i, column]]
        starts[rows[i, column]] = at + 1
        for j in range(width):
            arena[at * width + j] = rows[i, rest[j]]
    for v in range(len(starts) - 1, 0, -1):
        starts[v] = starts[v - 1]
    starts[0] = 0


@inlined
def counted(entries: Rows, k: int, now: int) -> int:
    """Number of the rows of an entry that were added before extension `now`, or of all if `now` is -1."""
    return int(entries[k, 2] & LOW if entries[k, 2] >> 32 == now else entries[k, 1] >> 32)


@kernel
def join(
    left: Rows,
    left_key: Ints,
    constants: Ints,
    right: Rows,
    rest: Ints,
    where: Ints,
    arena: Ints,
    entries: Rows,
    slots: Ints,
    starts: Ints,
    now: int,
    takes: Ints,
    out: Rows,
    i: int,
    done: int,
) -> tuple[int, int, int]:
    """Join `left`, from row i on, with the rows of `right` that were added before extension `now` (-1: all).

    `arena`, `entries`, `slots` and `starts` are an index of `right`. Negative entries of `left_key` are -1 - position
    in `constants`; those of `takes`, the columns of `out`, are -1 - column of the right; those of `where`, the columns
    of the right in `rest`, are -1 - position in the key.

    `done` are the partners of row i that precede. Returns `i` and `done` with which to continue when `out` is full, and
    the number of rows written.
    """
    n = 0
    room = len(out)
    width = len(takes)
    step = max(len(rest), 1)
    numbers = len(rest) > 0 and rest[0] == NUMBERS
    complete = len(starts) > 0
    while i < len(left):
        block = -1
        if complete:
            k = _addressed(left, i, left_key, constants, starts)
            first = starts[k]
            count = starts[k + 1] - first if k < len(starts) - 1 else 0
            first *= step
        else:
            entry = slots[seek(left, i, left_key, constants, entries, slots)]
            k = entry & LOW
            first = count = 0
            if entry >= 0:
                count = counted(entries, k, now)
                block = entries[k, 0] >> 32
        before = 0  # rows of the blocks before
        while before < count:
            size = count - before
            if block >= 0:
                first = block + 1
                size = min(arena[block] & LOW, size)
                block = arena[block] >> 32
            for at in range(max(done - before, 0), size):
                if n == room:
                    return i, before + at, n
                r = first + at * step
                for j in range(width):
                    c = takes[j]
                    if c >= 0:
                        out[n, j] = left[i, c]
                    elif numbers:
                        out[n, j] = right[arena[r], -1 - c]
                    elif where[-1 - c] >= 0:
                        out[n, j] = arena[r + where[-1 - c]]
                    else:
                        out[n, j] = k if complete else entries[k, HEAD - 1 - where[-1 - c]]
                n += 1
            before += size
        done = 0
        i += 1
    return i, 0, n


@inlined
def _unknown(
    arena: Ints, r: int, end: int, step: int, matrix: Ints, place: int, factor: int, bound: int
) -> int:
    """Position of the first value, at r, r + step, ... before `end`, without a bit at place + factor * value."""
    # unsigned, because numba checks signed indexes for being negative
    at, stop = np.uint64(r), np.uint64(end)
    while at < stop:
        value = arena[at]
        bit = np.uint64(place + factor * value)
        if (
            value < 0
            or value >= bound
            or matrix[bit >> np.uint64(6)] >> np.int64(bit & np.uint64(63)) & 1 == 0
        ):
            break
        at += np.uint64(step)
    return int(np.int64(at))


@kernel
def pair(
    left: Rows,
    left_key: Ints,
    constants: Ints,
    step: int,
    shift: int,
    arena: Ints,
    entries: Rows,
    slots: Ints,
    starts: Ints,
    now: int,
    column: int,
    second: int,
    matrix: Ints,
    factors: Ints,
    bounds: Ints,
    out: Rows,
    i: int,
    done: int,
) -> tuple[int, int, int, int]:
    """Join as `join` does, where `out` has one column of each side: `column` of the left, and from the right `second`.

    A row of the arena has `step` words, of which the one at `shift` is taken. Pairs whose bit of `matrix` is set are
    omitted: the bit of a pair is its product with `factors`, where each value is below its bound. The fourth result is
    the number of pairs with those omitted.
    """
    n = 0
    tried = 0
    room = len(out)
    complete = len(starts) > 0
    direct = (
        complete or slots[len(slots) - 1] == DIRECT
    )  # branch here: the general lookup takes twice as long
    sifting = len(matrix) > 0
    while i < len(left):
        block = -1
        first = count = 0
        if complete:
            k = _addressed(left, i, left_key, constants, starts)
            if k < len(starts) - 1:
                first = starts[k]
                count = starts[k + 1] - first
                first = first * step + shift
        else:
            if direct:
                entry = slots[_addressed(left, i, left_key, constants, slots)]
            else:
                entry = slots[seek(left, i, left_key, constants, entries, slots)]
            if entry >= 0:
                k = entry & LOW
                count = counted(entries, k, now)
                block = entries[k, 0] >> 32
        same = left[i, column]
        sifted = sifting and same >= 0 and same < bounds[1 - second]
        if complete and not sifted and done == 0 and n + max(count, 2) <= room:
            # always two rows, because a branch that depends on their number would often be predicted wrongly
            out[n, second] = arena[first]
            out[n, 1 - second] = same
            out[n + 1, second] = arena[first + step]
            out[n + 1, 1 - second] = same
            for at in range(2, count):
                out[n + at, second] = arena[first + at * step]
                out[n + at, 1 - second] = same
            n += count
            tried += count
            i += 1
            continue
        place = same * factors[1 - second] if sifted else 0
        before = 0  # rows of the blocks before
        while before < count:
            size = count - before
            if block >= 0:
                first = block + 1 + shift
                size = min(arena[block] & LOW, size)
                block = arena[block] >> 32
            r = first + max(done - before, 0) * step
            end = first + size * step
            while r < end:
                if sifted:
                    r = _unknown(arena, r, end, step, matrix, place, factors[second], bounds[second])
                if r < end:
                    if n == room:
                        stop = before + (r - first) // step
                        return i, stop, n, tried + stop - done
                    out[n, second] = arena[r]
                    out[n, 1 - second] = same
                    n += 1
                    r += step
            before += size
        tried += count - done
        done = 0
        i += 1
    return i, 0, n, tried


@kernel
def matches(
    left: Rows,
    left_key: Ints,
    constants: Ints,
    entries: Rows,
    slots: Ints,
    starts: Ints,
    now: int,
    found: Flags,
) -> None:
    """Set `found[i]` to whether left row i has a partner in an index that was added before extension `now`."""
    for i in range(len(left)):
        if len(starts) > 0:
            k = _addressed(left, i, left_key, constants, starts)
            found[i] = k < len(starts) - 1 and starts[k + 1] > starts[k]
        else:
            entry = slots[seek(left, i, left_key, constants, entries, slots)]
            found[i] = entry >= 0 and counted(entries, entry & LOW, now) > 0


@kernel
def held(
    rows: Rows,
    key: Ints,
    rest: Ints,
    buffer: Rows,
    arena: Ints,
    entries: Rows,
    slots: Ints,
    found: Flags,
) -> None:
    """Set `found[i]` to whether row i is in an index of row numbers; `rest` are the columns outside its key."""
    for i in range(len(rows)):
        found[i] = False
        entry = slots[seek(rows, i, key, key, entries, slots)]
        k = entry & LOW
        count = entries[k, 1] >> 32 if entry >= 0 else 0
        block = entries[k, 0] >> 32 if count > 0 else 0
        r = block
        end = block + (arena[block] & LOW) if count > 0 else 0
        while count > 0 and not found[i]:
            if r == end:
                block = arena[block] >> 32
                r = block
                end = block + (arena[block] & LOW)
            r += 1
            count -= 1
            same = True
            for j in range(len(rest)):
                same &= buffer[arena[r], rest[j]] == rows[i, rest[j]]
            found[i] = same


@kernel
def unlink(
    rows: Rows,
    every: Ints,
    table: Ints,
    key: Ints,
    buffer: Rows,
    arena: Ints,
    entries: Rows,
    slots: Ints,
    dead: Flags,
    swept: Flags,
) -> int:
    """Remove rows from an index of row numbers, going through each key once; returns the number of removed rows.

    `table` is a hash table of the rows by `every` column (see `hash_kernels.insert`). `dead` is set for each removed
    row of `buffer`; `swept` has one flag per entry, initially false.
    """
    removed = 0
    for i in range(len(rows)):
        entry = slots[seek(rows, i, key, key, entries, slots)]
        k = entry & LOW
        if entry < 0 or swept[k] or entries[k, 0] < 0:
            continue
        swept[k] = True
        count = entries[k, 1] >> 32
        block = kept_block = entries[k, 0] >> 32
        r = kept = 0  # read and kept rows of the blocks
        number = 0
        for _ in range(count):
            if r == arena[block] & LOW:
                block = arena[block] >> 32
                r = 0
            r += 1
            row = arena[block + r]
            tag = hashed(buffer, row, every, every)
            if table[find(buffer, row, every, every, rows, every, table, tag)] >= 0:
                removed += 1
                dead[row] = True
                continue
            if kept == arena[kept_block] & LOW:
                kept_block = arena[kept_block] >> 32
                kept = 0
            kept += 1
            number += 1
            arena[kept_block + kept] = row
        entries[k, 0] = entries[k, 0] >> 32 << 32 | kept_block
        entries[k, 1] = number << 32 | (arena[kept_block] & LOW) - kept
    return removed
