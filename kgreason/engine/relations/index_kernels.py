"""Compiled inner loops of indexes: keys, the rows of each, joins by them.

Tables of keys are those of `kgreason.engine.relations.hash_kernels`, or hold a slot for each value (see `_addressed`).
"""

from __future__ import annotations

from kgreason.base.jit import Flags, Ints, Rows, Shorts, kernel
from kgreason.engine.relations.hash_kernels import LOW, find, hashed

DIRECT = -2  # in the last slot of an index: slots are found by value, not by hash


@kernel
def _addressed(rows: Rows, i: int, key: Ints, constants: Ints, slots: Ints) -> int:
    """Slot of the key of row i in an index whose last slot is `DIRECT`."""
    # The key is one column, and its value is the slot; the last one stands for all values beyond.
    last = len(slots) - 1
    column = key[0]
    value = rows[i, column] if column >= 0 else constants[-1 - column]
    return value if value >= 0 and value < last else last


@kernel
def seek(rows: Rows, i: int, key: Ints, constants: Ints, entries: Rows, slots: Ints) -> int:
    """Slot of the key of row i in an index, or of the free place where it belongs."""
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


@kernel
def _entered(rows: Rows, i: int, key: Ints, slots: Ints, entries: Rows, used: int) -> int:
    """Entry of the key of row i, or -1 without a slot or room; a new key gets the entry `used` (see `chain`)."""
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
def after(row: int, following: Shorts, base: int) -> int:
    """Next row of a chain, or -1 (see `chain`)."""
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
    """Put rows start, ..., stop - 1 into the chains of their keys, newest first.

    Stops at a row whose key has no slot, or no room among the entries; returns its number and the number of keys.

    An index holds for each key ``[first, end, head, *values of the key]``: rows below `base` stand together, at
    first, ..., end - 1 (see `fold`), the others form a chain: ``following[row - base]`` is the next one less `base`, or
    -1.
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
    """Move the rows below `stop` from their chains to where those of one key stand together.

    `folded` holds the columns `rest` of these rows: first those that stood together before, key by key as in `entries`,
    then room for the others. The last keys are moved first, so none is overwritten. `shifted` receives the links of the
    chains that are left, as `following` has them for `base`.
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
    """Set `found[i]` to whether row i is in an index that is all chains; `rest` are the columns outside its key."""
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
    """Take rows out of an index that is all chains; returns how many were in it.

    Looks once at each row that shares a key with one.

    Parameters
    ----------
    every, table
        Numbers of all columns, and a hash table of the rows by these (see `hash_kernels.insert`).
    dead
        Receives, for each row of `buffer`, whether it was taken out.
    swept
        One per entry, all false.
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
