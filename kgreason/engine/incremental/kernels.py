"""Compiled inner loops of indexes whose rows come and go.

The layout of an index is that of `kgreason.engine.index_kernels.chain`: of one key, older rows stand together in
`folded`, without the columns of the key; newer ones form a chain of rows of `buffer`.
"""

from __future__ import annotations

from kgreason.engine.index_kernels import after, entered, seek
from kgreason.engine.kernels import LOW, find, hashed
from kgreason.jit import Flags, Ints, Rows, Shorts, kernel


@kernel
def number(
    rows: Rows, key: Ints, start: int, stop: int, slots: Ints, entries: Rows, used: int, owner: Shorts
) -> int:
    """Count rows start, ..., stop - 1 in the entries of their keys; returns the number of keys.

    Parameters
    ----------
    owner
        Receives the entry of each row.
    """
    for i in range(start, stop):
        k = entered(rows, i, key, slots, entries, used)
        if k == used:
            used += 1
        entries[k, 1] += 1
        owner[i] = k
    return used


@kernel
def arrange(rows: Rows, rest: Ints, owner: Shorts, entries: Rows, used: int, folded: Rows) -> None:
    """Put the columns `rest` of all rows to where those of one key stand together, after `number`."""
    at = 0
    for k in range(used):
        entries[k, 0] = at
        at += entries[k, 1]
        entries[k, 1] = entries[k, 0]
    for i in range(len(rows)):
        k = owner[i]
        end = entries[k, 1]
        for j in range(len(rest)):
            folded[end, j] = rows[i, rest[j]]
        entries[k, 1] = end + 1


@kernel
def _among(rows: Rows, i: int, rest: Ints, folded: Rows, first: int, end: int) -> int:
    """Place of row i in ``folded[first:end]``, or -1; looks at the last ones first."""
    r = end - 1
    while r >= first:
        same = True
        for j in range(len(rest)):
            if folded[r, j] != rows[i, rest[j]]:
                same = False
                break
        if same:
            return r
        r -= 1
    return -1


@kernel
def _same(rows: Rows, i: int, rest: Ints, buffer: Rows, r: int) -> bool:
    same = True
    for j in range(len(rest)):
        same &= buffer[r, rest[j]] == rows[i, rest[j]]
    return same


@kernel
def held(
    rows: Rows,
    key: Ints,
    rest: Ints,
    buffer: Rows,
    folded: Rows,
    entries: Rows,
    slots: Ints,
    following: Shorts,
    base: int,
    found: Flags,
) -> None:
    """Set `found[i]` to whether row i is in an index; `rest` are the columns that are not in its key."""
    for i in range(len(rows)):
        entry = slots[seek(rows, i, key, key, entries, slots)]
        found[i] = False
        if entry < 0:
            continue
        k = entry & LOW
        if _among(rows, i, rest, folded, entries[k, 0], entries[k, 1]) >= 0:
            found[i] = True
            continue
        row = entries[k, 2]
        while row >= 0 and not _same(rows, i, rest, buffer, row):
            row = after(row, following, base)
        found[i] = row >= 0


@kernel
def remove(
    rows: Rows,
    every: Ints,
    table: Ints,
    key: Ints,
    where: Ints,
    row: Rows,
    buffer: Rows,
    folded: Rows,
    entries: Rows,
    slots: Ints,
    following: Shorts,
    base: int,
    swept: Flags,
) -> int:
    """Take rows out of an index; returns how many were in it. Looks once at each row that shares a key with one.

    Parameters
    ----------
    every, table
        Numbers of all columns, and a hash table of the rows by these (see `kgreason.engine.kernels.insert`).
    where
        For each column: its column in `folded` or, below 0, -1 - its place in the key.
    row
        Room for one row.
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
        end = entries[k, 0]
        for r in range(entries[k, 0], entries[k, 1]):
            for j in range(len(where)):
                place = where[j]
                row[0, j] = folded[r, place] if place >= 0 else entries[k, 2 - place]
            if table[find(row, 0, every, every, rows, every, table, hashed(row, 0, every, every))] >= 0:
                done += 1
            else:
                for j in range(folded.shape[1]):
                    folded[end, j] = folded[r, j]
                end += 1
        entries[k, 1] = end
        previous = -1
        at = entries[k, 2]
        while at >= 0:
            behind = after(at, following, base)
            if (
                table[find(buffer, at, every, every, rows, every, table, hashed(buffer, at, every, every))]
                >= 0
            ):
                done += 1
                if previous < 0:
                    entries[k, 2] = behind
                else:
                    following[previous - base] = following[at - base]
            else:
                previous = at
            at = behind
    return done


@kernel
def collect(
    entries: Rows, used: int, folded: Rows, buffer: Rows, following: Shorts, base: int, where: Ints, out: Rows
) -> int:
    """Write all rows of an index, those of one key together; returns their number.

    Parameters
    ----------
    where
        For each column: its column in `folded` or, below 0, -1 - its place in the key.
    """
    n = 0
    width = len(where)
    for k in range(used):
        for r in range(entries[k, 0], entries[k, 1]):
            for j in range(width):
                place = where[j]
                out[n, j] = folded[r, place] if place >= 0 else entries[k, 2 - place]
            n += 1
        row = entries[k, 2]
        while row >= 0:
            for j in range(width):
                out[n, j] = buffer[row, j]
            n += 1
            row = after(row, following, base)
    return n
