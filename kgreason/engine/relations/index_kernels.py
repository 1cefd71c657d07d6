"""Compiled kernels of indexes: keys, rows by key, joins.

Tables of keys have the layout of `kgreason.engine.relations.hash_kernels`, or one slot per value (see `_addressed`).

The entry of a key is ``[first, last, counts, round, *key values]``. Its rows, in the order of insertion, are stored in
blocks of an arena, from block `first` to block `last`. A block begins with a word that holds its size in rows in the
lower half, and in the upper half the next block or 0. A row of a block consists of the columns `rest` of the row, or of
the number of the row if `rest` is `NUMBERS`; if `rest` is empty, there are no blocks. `counts` holds the number of rows
in the upper half, and the number of free places of the last block in the lower half (without a block: the number of
rows to expect). `round` holds the number of the last extension that added rows in the upper half, and the number of
rows before in the lower half.

An index of a complete relation on one column of small values has neither slots nor entries: its rows are sorted by the
key, without blocks, and those of value v are the rows starts[v], ..., starts[v + 1] - 1 of the arena.
"""

from __future__ import annotations

import numpy as np

from kgreason.base.jit import Flags, Ints, Rows, kernel
from kgreason.engine.relations.hash_kernels import LOW, find, hashed

DIRECT = -2  # last slot of a directly addressed index: slots are found by value, not by hash
NUMBERS = -1  # in `rest`: blocks hold numbers of rows
HEAD = 4  # words of an entry before the values of its key
SMALL = 16  # rows of a block, unless the key has many rows
SHARE = 4  # a block has room for one row in 1 << SHARE of those before


@kernel
def _addressed(rows: Rows, i: int, key: Ints, constants: Ints, slots: Ints) -> int:
    # The key is a single column, whose value is the slot; the last slot represents all values out of range.
    last = len(slots) - 1
    column = key[0]
    value = rows[i, column] if column >= 0 else constants[-1 - column]
    return value if value >= 0 and value < last else last


@kernel
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


@kernel
def _entered(rows: Rows, i: int, key: Ints, slots: Ints, entries: Rows, used: int) -> int:
    """Entry of the key of row i (new: `used`), or -1 if it has no slot or `entries` is full (see `extend`)."""
    s = seek(rows, i, key, key, entries, slots)
    if slots[s] < 0:
        if slots[s] == DIRECT or used == len(entries):
            return -1
        direct = slots[len(slots) - 1] == DIRECT
        slots[s] = used if direct else hashed(rows, i, key, key) << 32 | used
        entries[used, 0] = -1
        entries[used, 1] = -1
        entries[used, 2] = 0
        entries[used, 3] = 0
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
            entries[k, 2] += 1
            i += 1
            continue
        count = entries[k, 2] >> 32
        left = entries[k, 2] & LOW
        if width > 0:
            block = entries[k, 1]
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
                        entries[k, 0] = behind
                    else:
                        arena[block] |= behind << 32
                block = behind
                left = arena[block] & LOW
                entries[k, 1] = block
            at = block + 1 + ((arena[block] & LOW) - left) * width
            for j in range(width):
                arena[at + j] = rows[i, rest[j]] if rest[j] != NUMBERS else i
            left -= 1
        if entries[k, 3] >> 32 != now:
            entries[k, 3] = now << 32 | count
        entries[k, 2] = count + 1 << 32 | left
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


@kernel
def counted(entries: Rows, k: int, now: int) -> int:
    """Number of the rows of an entry that were added before extension `now`, or of all if `now` is -1."""
    return int(entries[k, 3] & LOW if entries[k, 3] >> 32 == now else entries[k, 2] >> 32)


@kernel
def _unknown(
    arena: Ints, r: int, end: int, step: int, matrix: Ints, place: int, factor: int, bound: int
) -> int:
    """Position of the first value, at r, r + step, ... before `end`, without a bit at place + factor * value."""
    # unsigned, because numba checks signed indexes for being negative
    at, stop = np.uint64(r), np.uint64(end)
    while at < stop:
        value = arena[at]
        bit = place + factor * value
        if np.uint64(value) >= np.uint64(bound):
            break
        if matrix[np.uint64(bit) >> np.uint64(6)] >> (bit & 63) & 1 == 0:
            break
        at += np.uint64(step)
    return int(at)


@kernel
def _pairs(
    left: Rows,
    key: int,
    starts: Ints,
    arena: Ints,
    step: int,
    shift: int,
    one: int,
    takes: Ints,
    matrix: Ints,
    factors: Ints,
    bounds: Ints,
    out: Rows,
    i: int,
    n: int,
    tried: int,
) -> tuple[int, int, int]:
    """Join as `join` does for pairs and a complete relation, until a row whose partners may not fit into `out`.

    Always writes two pairs: a processor would often predict wrongly whether there are two.
    """
    room = len(out) - 2
    last = np.uint64(len(starts) - 1)
    other = takes[1 - one]
    sifting = len(matrix) > 0
    high = np.uint64(bounds[1 - one] if sifting else 0)
    bound = np.uint64(bounds[one] if sifting else 0)
    factor = factors[one] if sifting else 0
    single = np.uint64(1)
    while i < len(left):
        value = np.uint64(left[np.uint64(i), key])
        if value >= last:
            i += 1
            continue
        first = starts[value]
        count = starts[value + single] - first
        if n + count > room:
            break
        same = left[np.uint64(i), other]
        at = np.uint64(first * step + shift)
        if sifting and np.uint64(same) < high:
            place = factors[1 - one] * same
            for _ in range(count):
                value = np.uint64(arena[at])
                bit = np.uint64(place + factor * arena[at])
                if value >= bound or matrix[bit >> np.uint64(6)] >> np.int64(bit & np.uint64(63)) & 1 == 0:
                    out[np.uint64(n), one] = arena[at]
                    out[np.uint64(n), 1 - one] = same
                    n += 1
                at += np.uint64(step)
        else:
            to = np.uint64(n)
            out[to, one] = arena[at]
            out[to, 1 - one] = same
            out[to + single, one] = arena[at + np.uint64(step)]
            out[to + single, 1 - one] = same
            for j in range(2, count):
                out[n + j, one] = arena[first * step + shift + j * step]
                out[n + j, 1 - one] = same
            n += count
        tried += count
        i += 1
    return i, n, tried


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
    matrix: Ints,
    factors: Ints,
    bounds: Ints,
    out: Rows,
    i: int,
    done: int,
) -> tuple[int, int, int, int]:
    """Join `left`, from row i on, with the rows of `right` that were added before extension `now` (-1: all).

    `arena`, `entries`, `slots` and `starts` are an index of `right`. Negative entries of `left_key` are -1 - position
    in `constants`; those of `takes`, the columns of `out`, are -1 - column of the right; those of `where`, the columns
    of the right in `rest`, are -1 - position in the key.

    If `out` takes one column of each side, pairs whose bit of `matrix` is set are omitted: the bit of row `r` is the
    product of `factors` and r, where each value is below its bound.

    `done` are the partners of row i that precede. Returns `i` and `done` with which to continue when `out` is full, the
    number of rows written, and the number of pairs with those omitted.
    """
    n = 0
    tried = 0
    room = len(out)
    width = len(takes)
    step = max(len(rest), 1)
    numbers = len(rest) > 0 and rest[0] == NUMBERS
    complete = len(starts) > 0
    direct = (
        complete or slots[len(slots) - 1] == DIRECT
    )  # branch here: the general lookup takes twice as long
    one = 1 if width == 2 and takes[1] < 0 else 0  # of two columns, that of the right
    pairs = (
        width == 2 and takes[one] < 0 and takes[1 - one] >= 0 and not numbers and where[-1 - takes[one]] >= 0
    )
    shift = where[-1 - takes[one]] if pairs else 0
    sifting = pairs and len(matrix) > 0
    while i < len(left):
        if complete and pairs and left_key[0] >= 0 and done == 0:
            i, n, tried = _pairs(
                left,
                left_key[0],
                starts,
                arena,
                step,
                shift,
                one,
                takes,
                matrix,
                factors,
                bounds,
                out,
                i,
                n,
                tried,
            )
            if i == len(left):
                break
        if complete:
            k = _addressed(left, i, left_key, constants, starts)
            count = starts[k + 1] - starts[k] if k < len(starts) - 1 else 0
            block = -1
            first = starts[k] * step
        else:
            if direct:
                entry = slots[_addressed(left, i, left_key, constants, slots)]
            else:
                entry = slots[seek(left, i, left_key, constants, entries, slots)]
            k = entry & LOW
            count = 0
            if entry >= 0:
                count = entries[k, 2] >> 32 if now < 0 else counted(entries, k, now)
                block = entries[k, 0]
                first = block + 1
        same = left[i, takes[1 - one]] if pairs else 0
        sifted = sifting and same >= 0 and same < bounds[1 - one]
        place = same * factors[1 - one] if sifted else 0
        before = 0  # rows of the blocks before
        while before < count:
            size = count - before
            if block >= 0:
                first = block + 1
                size = min(arena[block] & LOW, size)
                block = arena[block] >> 32
            r = first + max(done - before, 0) * step
            end = first + size * step
            while r < end:
                if sifted:
                    r = (
                        _unknown(arena, r + shift, end, step, matrix, place, factors[one], bounds[one])
                        - shift
                    )
                    if r >= end:
                        break
                if n == room:
                    stop = before + (r - first) // step
                    return i, stop, n, tried + stop - done
                if pairs:
                    out[n, one] = arena[r + shift]
                    out[n, 1 - one] = same
                else:
                    for j in range(width):
                        c = takes[j]
                        if c >= 0:
                            out[n, j] = left[i, c]
                        elif numbers:
                            out[n, j] = right[arena[r], -1 - c]
                        else:
                            at_column = where[-1 - c]
                            if at_column >= 0:
                                out[n, j] = arena[r + at_column]
                            else:
                                out[n, j] = k if complete else entries[k, HEAD - 1 - at_column]
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
        count = entries[k, 2] >> 32 if entry >= 0 else 0
        block = entries[k, 0] if count > 0 else 0
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
        count = entries[k, 2] >> 32
        block = kept_block = entries[k, 0]
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
        entries[k, 1] = kept_block
        entries[k, 2] = number << 32 | (arena[kept_block] & LOW) - kept
    return removed
