"""Rows of coded values and hash tables over them."""

from __future__ import annotations

import mmap as mapping
from collections.abc import Iterator, Sequence
from math import prod
from mmap import PAGESIZE, mmap
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from kgreason.base import memory
from kgreason.engine.relations import hash_kernels as kernels
from kgreason.engine.relations import index_kernels
from kgreason.engine.relations.symbols import Codes

Rows = npt.NDArray[np.int64]  # coded values, shape (rows, columns), C-contiguous

# most rows that one operator passes to the next at once: bounds memory and stays in the cache
CHUNK = 1 << 14
LARGE = 1 << 16  # slots from which a hash table grows by a quarter instead of doubling
HASHED = 1 << 31  # most rows of a table with hashes of 31 bits and row numbers of 32 bits
SPARE = 1 << 12  # rows that are kept apart while a hash table grows in place

MAPPED = 1 << 22  # bytes from which a growing array is in mapped memory
RESERVE = 2  # addresses reserved for growth, as a multiple of the size
HUGE_PAGES = hasattr(mapping, "MADV_HUGEPAGE")

Number = TypeVar("Number", np.int32, np.int64, np.float64)


def chunks(rows: Rows) -> Iterator[Rows]:
    """Split rows into pieces of at most `CHUNK`."""
    for start in range(0, len(rows), CHUNK):
        yield rows[start : start + CHUNK]


def grown(array: npt.NDArray[Number], length: int, fill: int | None = None) -> npt.NDArray[Number]:
    """Copy of an array with `length` entries along the first axis."""
    memory.claim(array.nbytes + memory.SMALL)  # the rest is claimed when it is used
    new = np.empty((length, *array.shape[1:]), dtype=array.dtype)
    new[: len(array)] = array
    if fill is not None:
        new[len(array) :] = fill
    return new


def lengthen(holder: object, name: str, length: int, otherwise: int = 0) -> None:
    """Extend the array attribute `name` of `holder`, in place if the operating system can do so.

    An extension in place avoids a second array. An array with views is copied instead, to a length of at least
    `otherwise`. Large arrays are in mapped memory with huge pages: where a page of 4 KB takes 3 µs, 64 MB take 7 ms
    instead of 38 ms.
    """
    array = vars(holder).pop(name)  # no other reference is left, unless there are views
    kind, before, shape = array.dtype, array.shape, (length, *array.shape[1:])
    size = kind.itemsize * prod(shape)
    try:
        memory.claim(size - array.nbytes)
        if not isinstance(array.base, mmap) and (size < MAPPED or not HUGE_PAGES):
            array.resize(shape)
            return
        pages, array = _pages(array, size), None
        try:
            if size > len(pages):
                pages.resize(RESERVE * size)
        finally:
            array = np.ndarray(before, kind, pages)
        array = np.ndarray(shape, kind, pages)
    except (ValueError, BufferError, OSError):  # views, or too few addresses
        array = grown(array, max(length, otherwise))
    finally:
        setattr(holder, name, array)


def _pages(array: npt.NDArray[Number], size: int) -> mmap:
    """Mapped memory that begins with the content of an array: its own, or new memory for `size` bytes and more."""
    if isinstance(array.base, mmap):
        return array.base
    pages = mmap(-1, RESERVE * size, flags=mapping.MAP_PRIVATE | mapping.MAP_ANONYMOUS)
    pages.madvise(mapping.MADV_HUGEPAGE)
    np.ndarray(array.shape, array.dtype, pages)[:] = array
    return pages


def release(array: npt.NDArray[Number], start: int) -> None:
    """Free the memory of the rows from `start` on, which are not used any more, if the array is in mapped memory."""
    if isinstance(array.base, mmap):
        first = -(-array[:start].nbytes // PAGESIZE) * PAGESIZE
        if first < array.nbytes:
            array.base.madvise(mapping.MADV_DONTNEED, first)


class Slots:
    """Open-addressing hash table with a load of at most 0.7 (layout: `hash_kernels`)."""

    def __init__(self, packed: bool = False) -> None:
        self.array: Codes = np.full(64, -1, dtype=np.int64)
        self.packed = packed

    @classmethod
    def direct(cls, values: int) -> Slots:
        """Directly addressed table with one slot per value below `values`."""
        memory.claim(8 * values)
        slots = cls()
        slots.array = np.full(values + 1, -1, dtype=np.int64)
        slots.array[-1] = index_kernels.DIRECT
        return slots

    def full(self, keys: int) -> bool:
        """Whether `keys` keys in total do not fit."""
        return self.array[-1] != index_kernels.DIRECT and keys > self._most(len(self.array))

    def _most(self, size: int) -> int:
        # At 8 bytes per slot, a key takes 11 to 23 bytes, or 11 to 14 in a large packed table.
        most = size * 7 // 10
        return most if self.packed else min(most, HASHED)

    def _size(self, size: int, keys: int) -> int:
        """Table size for `keys` keys, grown from `size`; large packed tables grow by a quarter to save memory."""
        if keys > HASHED and not self.packed:
            raise memory.Exhausted("a table has more than 2^31 rows that cannot be packed into 62 bits each")
        while keys > self._most(size):
            size += size // 4 if self.packed and size >= LARGE else size
        return size

    def empty(self, keys: int) -> None:
        """Drop all entries and allocate slots for `keys` keys, freeing the old table first."""
        size = self._size(64, keys)
        self.array = np.empty(0, dtype=np.int64)
        memory.claim(8 * size)
        self.array = np.full(size, -1, dtype=np.int64)

    def reserve(self, keys: int) -> None:
        """Grow the table to hold `keys` keys in total."""
        if not self.full(keys):
            return
        size = self._size(len(self.array), keys)
        if self.packed:
            self._spread(size)
            return
        memory.claim(8 * size)
        new = np.full(size, -1, dtype=np.int64)
        kernels.rehash(self.array, new, self.packed)
        self.array = new

    def _spread(self, size: int) -> None:
        before, spare = len(self.array), np.empty(SPARE, dtype=np.int64)
        lengthen(self, "array", size)
        self.array[before:] = -1
        waiting = kernels.spread(self.array, before, spare)
        if waiting >= 0:
            memory.claim(8 * size)
            crowded, self.array = self.array, np.full(size, -1, dtype=np.int64)
            kernels.rehash(crowded, self.array, self.packed)
            kernels.rehash(spare[:waiting], self.array, self.packed)


class Keys:
    """Distinct rows of codes, numbered in order of first insertion."""

    def __init__(self, width: int) -> None:
        self.key = np.arange(width, dtype=np.int64)
        self.rows: Rows = np.empty((16, width), dtype=np.int64)
        self.slots = Slots()
        self.count = 0

    def reserve(self, more: int) -> int:
        """Reserve capacity for `more` rows; returns the total capacity."""
        need = self.count + more
        if need > len(self.rows):
            self.rows = grown(self.rows[: self.count], max(need, 2 * len(self.rows)))
        self.slots.reserve(need)
        return len(self.rows)

    def number(self, batch: Rows) -> Codes:
        """Number of each row; new rows are added."""
        self.reserve(len(batch))
        self.count = kernels.insert(batch, self.rows, self.slots.array, self.key, self.count)
        return self.find(batch)

    def find(self, batch: Rows) -> Codes:
        """Number of each row, -1 for unknown ones."""
        found = np.empty(len(batch), dtype=np.int64)
        kernels.find_rows(batch, self.key, self.rows, self.key, self.slots.array, found)
        return found


def first_rows(columns: Sequence[Codes]) -> npt.NDArray[np.bool_]:
    """Mark the first of each set of equal rows; `columns` are int64 arrays of equal length, at least one.

    For ten million distinct rows of three columns, this takes a tenth of the time of `numpy.lexsort` and a fifth of
    that of `pyarrow.Table.group_by` (``python benchmarks/loading.py --distinct 10000000``).
    """
    length, slots = len(columns[0]), Slots()
    memory.claim(8 * len(columns) * length)
    slots.empty(length)
    rows = np.stack(columns, axis=1, dtype=np.int64)
    first = np.empty(length, dtype=np.bool_)
    kernels.mark_first(rows, slots.array, np.arange(len(columns), dtype=np.int64), first)
    return first
