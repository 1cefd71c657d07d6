"""Compiled kernels of indexes: keys, rows by key, joins.

Tables of keys have the layout of `kgreason.engine.relations.hash_kernels`, or one slot per value (see `_addressed`).
"""

from __future__ import annotations

from kgreason.base.jit import Flags, Ints, Rows, Shorts, inlined, kernel
from kgreason.engine.relations.hash_kernels import LOW, find, hashed

DIRECT = -2  # last slot of a directly addressed index: slots are found by value, not by hash


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
                if entries[k, 3 + j] != value:
                    same = False
                    break
            if same:
                return s
        s = (s + 1) & last


@inlined
def _entered(rows: Rows, i: int, key: Ints, slots: Ints, entries: Rows, used: int) -> int:
    """Entry of the key of row i (new: `used`), or -1 if it has no slot or `entries` is full (see `chain`)."""
    s = seek(rows, i, key, key, entries, slots)
    if slots[s] < 0:
        if slots[s] == DIRECT or used == len(entries):
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


@inlined
def after(row: int, following: Shorts, base: int) -> int:
    """Next row of a chain, or -1."""
    link = following[row - base]
    return link + base if link >= 0 else -1


@kernel
def chain(
    rows: Rows,
    key: Ints,
    start: int,
    stop: int,
    slots: Ints,
    entries: Rows,
    following: Shorts,
    base: int,
    used: int,
) -> tuple[int, int]:
    """Prepend rows start, ..., stop - 1 to the chains of their keys.

    Stops at a row whose key has no slot or no free entry; returns the number of the row and the number of keys.

    The entry of a key is ``[first, end, head, *key values]``: rows below `base` are stored contiguously in `folded`, at
    first, ..., end - 1 (see `fold`); the others form a linked list from `head`, newest first: ``following[row - base]``
    is the next row minus `base`, or -1.
    """
    for i in range(start, stop):
        k = _entered(rows, i, key, slots, entries, used)
        if k < 0:
            return i, used
        if k == used:
            used += 1
        head = entries[k, 2]
        following[i - base] = head - base if head >= 0 else -1
        entries[k, 2] = i
    return stop, used


@kernel
def fold(
    rows: Rows,
    rest: Ints,
    entries: Rows,
    used: int,
    following: Shorts,
    base: int,
    stop: int,
    folded: Rows,
    shifted: Shorts,
) -> None:
    """Move the rows below `stop` from their chains into contiguous storage by key.

    `folded` holds the columns `rest` of these rows: first the rows stored so far, in the order of keys in `entries`,
    then free space for the others. Keys are processed from the last to the first, so that no row is overwritten.
    `shifted` receives the links of the remaining chains, with the layout of `following` relative to `stop`.
    """
    end = len(folded)
    for k in range(used - 1, -1, -1):
        row = entries[k, 2]
        kept = -1
        while row >= stop:
            kept = row
            row = after(row, following, base)
            shifted[kept - stop] = row - stop
        if kept >= 0:
            shifted[kept - stop] = -1
        else:
            entries[k, 2] = -1
        at = end
        while row >= 0:
            at -= 1
            for j in range(len(rest)):
                folded[at, j] = rows[row, rest[j]]
            row = after(row, following, base)
        for r in range(entries[k, 1] - 1, entries[k, 0] - 1, -1):
            at -= 1
            for j in range(len(rest)):
                folded[at, j] = folded[r, j]
        entries[k, 0] = at
        entries[k, 1] = end
        end = at


@kernel
def join(
    left: Rows,
    left_key: Ints,
    constants: Ints,
    right: Rows,
    folded: Rows,
    entries: Rows,
    slots: Ints,
    following: Shorts,
    base: int,
    limit: int,
    takes: Ints,
    where: Ints,
    out: Rows,
    i: int,
    at: int,
) -> tuple[int, int, int]:
    """Join `left` with the rows of `right` below `limit`, which is at least `base`, from left row `i` on.

    `folded`, `entries`, `slots`, `following` and `base` are an index of `right` (see `chain`). Negative entries of
    `left_key` are -1 - position in `constants`; those of `takes`, the columns of `out`, are -1 - column of the right;
    those of `where`, the columns of the right in `folded`, are -1 - position in the key.

    `at` is the position in `folded` at which to continue; -1: begin with row i; below -1: -2 - row of `right` at which
    to continue. Returns `i` and `at` with which to continue when `out` is full, and the number of rows written.
    """
    n = 0
    room = len(out)
    width = len(takes)
    direct = slots[len(slots) - 1] == DIRECT  # branch here, because the general lookup takes twice as long
    while i < len(left):
        if direct:
            entry = slots[_addressed(left, i, left_key, constants, slots)]
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
            row = after(row, following, base)
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
    following: Shorts,
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
                row = after(row, following, base)
            found[i] = row >= 0 or entries[k, 1] > entries[k, 0]


@kernel
def held(
    rows: Rows,
    key: Ints,
    rest: Ints,
    buffer: Rows,
    entries: Rows,
    slots: Ints,
    following: Shorts,
    found: Flags,
) -> None:
    """Set `found[i]` to whether row i is in an index without folded rows; `rest` are the columns outside its key."""
    for i in range(len(rows)):
        entry = slots[seek(rows, i, key, key, entries, slots)]
        row = entries[entry & LOW, 2] if entry >= 0 else -1
        while row >= 0:
            same = True
            for j in range(len(rest)):
                same &= buffer[row, rest[j]] == rows[i, rest[j]]
            if same:
                break
            row = following[row]
        found[i] = row >= 0


@kernel
def unlink(
    rows: Rows,
    every: Ints,
    table: Ints,
    key: Ints,
    buffer: Rows,
    entries: Rows,
    slots: Ints,
    following: Shorts,
    dead: Flags,
    swept: Flags,
) -> int:
    """Remove rows from an index without folded rows, traversing each chain once; returns the number of removed rows.

    `table` is a hash table of the rows by `every` column (see `hash_kernels.insert`). `dead` is set for each removed
    row of `buffer`; `swept` has one flag per entry, initially false.
    """
    done = 0
    for i in range(len(rows)):
        entry = slots[seek(rows, i, key, key, entries, slots)]
        if entry < 0 or swept[entry & LOW]:
            continue
        k = entry & LOW
        swept[k] = True
        previous = -1
        at = entries[k, 2]
        while at >= 0:
            behind = following[at]
            tag = hashed(buffer, at, every, every)
            if table[find(buffer, at, every, every, rows, every, table, tag)] >= 0:
                done += 1
                dead[at] = True
                if previous < 0:
                    entries[k, 2] = behind
                else:
                    following[previous] = behind
            else:
                previous = at
            at = behind
    return done
