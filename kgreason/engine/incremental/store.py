"""Relations whose rows come and go, held by their indexes, and changes of such relations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason import memory
from kgreason.engine import index_kernels
from kgreason.engine import kernels as engine
from kgreason.engine.incremental import kernels
from kgreason.engine.incremental.work import Work
from kgreason.engine.relation import FOLD, Index, Relation
from kgreason.engine.rows import CHUNK, Rows, Slots, chunks, grown
from kgreason.plan.ir import Part

SLACK = 1 << 10
"""Rows of the buffer that may be dead however few are alive."""

FEW = 1 << 10
"""Most rows of a key among which one row is looked for."""

Flags = npt.NDArray[np.bool_]


def distinct(rows: Rows) -> Rows:
    """Each row once."""
    if len(rows) < 2:
        return rows
    seen = Relation(rows.shape[1])
    for piece in chunks(np.ascontiguousarray(rows)):
        seen.insert(piece)
    return seen.buffer[: seen.count]


def _selective(rows: Rows, columns: Sequence[int]) -> tuple[int, ...]:
    """One of some columns, as a key of which no value has many rows; none if there is no such column."""
    for i in columns if len(rows) > SLACK else ():
        column = rows[:, i]
        if column.min() >= 0 and column.max() < 4 * len(rows) and np.bincount(column).max() <= FEW:
            return (i,)
    return ()


class LiveIndex(Index):
    """An index from which rows can be taken out again, by value."""

    def __init__(self, store: Store, columns: tuple[int, ...], rows: Rows) -> None:
        super().__init__(store, columns)
        self.build(rows)

    def build(self, rows: Rows) -> None:
        """Hold some rows, all of them together by key, and none of the buffer of the relation."""
        owner = np.empty(len(rows), dtype=np.int32)
        self.slots, self.keys = Slots(), 0
        # room for others; memory that nothing touches costs nothing
        self.entries = np.empty((len(rows) + len(rows) // 2 + CHUNK, 3 + len(self.key)), dtype=np.int64)
        self._number(rows, owner)
        if 2 * self.keys < len(rows):
            self.entries = grown(self.entries[: self.keys], self.keys + self.keys // 2 + CHUNK)
        self.slots.reserve(self.keys + self.keys // 4 + FOLD)
        self.folded = np.empty((len(rows), len(self.rest)), dtype=np.int64)
        kernels.arrange(rows, self.rest, owner, self.entries, self.keys, self.folded)
        self.base = self.stop = self.relation.count
        self.following = np.empty(16, dtype=np.int32)

    def _number(self, rows: Rows, owner: npt.NDArray[np.int32]) -> None:
        """Make the entries of all keys, and tell which one each row has."""
        if len(rows):
            self._address(rows)
        if not len(self.rest):  # each row is a key of its own
            self.slots.reserve(len(rows))
        for start in range(0, len(rows), CHUNK):
            stop = min(start + CHUNK, len(rows))
            self.slots.reserve(self.keys + stop - start)
            self.keys = kernels.number(
                rows, self.key, start, stop, self.slots.array, self.entries, self.keys, owner
            )

    def holds(self, rows: Rows) -> Flags:
        """Which rows are there."""
        found = np.empty(len(rows), dtype=np.bool_)
        kernels.held(rows, self.key, self.rest, self.relation.buffer, *self._places(), found)
        return found

    def remove(self, rows: Rows) -> int:
        """Take distinct rows out; returns how many were there."""
        every, table = np.arange(rows.shape[1]), Slots()
        table.reserve(len(rows))
        engine.insert(rows, np.empty_like(rows), table.array, every, 0)
        row, swept = np.empty((1, rows.shape[1]), dtype=np.int64), np.zeros(self.keys, dtype=np.bool_)
        places = (self.key, self.where, row, self.relation.buffer, *self._places())
        return kernels.remove(rows, every, table.array, *places, swept)

    def rows(self, count: int) -> Rows:
        """All rows, of which there are `count`."""
        out = np.empty((count, self.relation.arity), dtype=np.int64)
        kernels.collect(
            self.entries,
            self.keys,
            self.folded,
            self.relation.buffer,
            self.following,
            self.base,
            self.where,
            out,
        )
        return out

    def matching(self, keys: Rows, work: Work | None = None) -> Rows:
        """Rows with some keys, in the order of these; `work` accounts for each."""
        takes = -1 - np.arange(self.relation.arity)
        pieces = [np.empty((0, self.relation.arity), dtype=np.int64)]
        out, i, at = np.empty((CHUNK, self.relation.arity), dtype=np.int64), 0, -1
        columns = np.arange(keys.shape[1])
        while i < len(keys):
            i, at, n = index_kernels.join(
                keys,
                columns,
                columns,
                self.relation.buffer,
                self.folded,
                self.entries,
                self.slots.array,
                self.following,
                self.base,
                self.relation.count,
                takes,
                self.where,
                out,
                i,
                at,
            )
            if work is not None:
                work.pay(n)
            pieces.append(out[:n].copy())
        return np.concatenate(pieces)

    def _places(
        self,
    ) -> tuple[Rows, Rows, npt.NDArray[np.int64], npt.NDArray[np.int32], int]:
        return self.folded, self.entries, self.slots.array, self.following, self.base


class Store(Relation):
    """Distinct rows, all of them settled, that can be removed again.

    The buffer serves only the rows that its indexes have not brought together yet; some of these may be dead.

    Parameters
    ----------
    rows
        Distinct ones.
    key
        Columns of the index that tells which rows there are; by default a column of which no value has many rows,
        or else all.

    Examples
    --------
    >>> store = Store(2, np.array([[1, 2], [1, 3]]))
    >>> store.remove(np.array([[1, 2]]))
    >>> store.append(np.array([[4, 5]]))
    >>> store.rows(Part.ALL).tolist(), store.holds(np.array([[1, 2], [4, 5]])).tolist()
    ([[1, 3], [4, 5]], [False, True])
    """

    def __init__(self, arity: int, rows: Rows, key: Sequence[int] | None = None) -> None:
        super().__init__(arity)
        self.live = 0
        self._start(len(rows))
        self.selective = _selective(rows, range(arity) if key is None else key)
        columns = self.selective or tuple(range(arity) if key is None else key)
        self.primary = LiveIndex(self, columns, rows)
        self.indexes[tuple(self.primary.key.tolist())] = self.primary

    def _start(self, count: int) -> None:
        """Begin a buffer behind the place of `count` rows that indexes hold; memory for these is never touched."""
        self.buffer = np.empty((2 * count + 16, self.arity), dtype=np.int64)
        self.count = self.stable = self.seen = self.live = count

    def __len__(self) -> int:
        return self.live

    def holds(self, rows: Rows) -> Flags:
        """Which rows are there."""
        return self.primary.holds(rows)

    def append(self, rows: Rows) -> None:
        """Add distinct rows that are not there, or none of them if the memory does not suffice."""
        if not len(rows):
            return
        end = self.count + len(rows)
        if end > len(self.buffer):
            low = min(index.base for index in self.live_indexes())
            larger = np.empty((2 * end, self.arity), dtype=np.int64)
            larger[low : self.count] = self.buffer[low : self.count]
            self.buffer = larger
        self.buffer[self.count : end] = rows
        self.live += len(rows)
        self.count = self.stable = self.seen = end
        try:
            self._extend_indexes()
        except memory.Exhausted:
            with memory.unlimited():
                self._extend_indexes()
                self.remove(rows)
            raise

    def _extend_indexes(self) -> None:
        for index in self.indexes.values():
            index.extend(self.count)

    def remove(self, rows: Rows) -> None:
        """Remove distinct rows that are there."""
        if not len(rows):
            return
        with memory.unlimited():
            for index in self.live_indexes():
                done = index.remove(rows)
                assert done == len(rows)
            self.live -= len(rows)
            if self.count - self.live > max(self.live, SLACK):
                self._compact()

    def _compact(self) -> None:
        """Forget the dead."""
        rows = self.primary.rows(self.live)
        self._start(len(rows))
        for index in self.live_indexes():
            index.build(rows)

    def live_indexes(self) -> Iterator[LiveIndex]:
        """All indexes."""
        for index in self.indexes.values():
            assert isinstance(index, LiveIndex)
            yield index

    def index(self, columns: tuple[int, ...]) -> LiveIndex:
        """Index on some columns, made if there is none yet."""
        found = self.indexes.get(columns)
        if found is None:
            found = self.indexes[columns] = LiveIndex(self, columns, self.primary.rows(self.live))
        assert isinstance(found, LiveIndex)
        return found

    def enough(self, columns: Sequence[int]) -> Sequence[int]:
        """Of columns that hold a key with few rows that key, so that there are fewer indexes."""
        return self.selective if self.selective and set(self.selective) < set(columns) else columns

    def rows(self, part: Part) -> Rows:
        """All rows, those of one key of the first index together; none is recent."""
        if part is Part.RECENT:
            return self.buffer[:0]
        return self.primary.rows(self.live)

    def batches(self, part: Part) -> Iterator[Rows]:
        """All rows in chunks."""
        yield from chunks(self.rows(part))

    def column(self, position: int) -> npt.NDArray[np.int64]:
        """Values of all rows at a position, contiguous."""
        return np.ascontiguousarray(self.rows(Part.ALL)[:, position])

    def plain(self) -> Relation:
        """The same rows as an ordinary relation."""
        made = Relation(self.arity)
        made.load(self.rows(Part.ALL), distinct=True)
        made.settle()
        return made


@dataclass(frozen=True)
class Change:
    """Facts of one predicate that came and went; none did both."""

    added: Rows
    removed: Rows

    @classmethod
    def between(cls, removed: Rows, added: Rows) -> Change:
        """What is left of removing distinct facts and then adding distinct ones that were missing."""
        width = added.shape[1]
        if not len(removed) or not len(added):
            return cls(added, removed)
        back = Store(width, removed).holds(added)
        return cls(added[~back], removed[~Store(width, added).holds(removed)])

    @classmethod
    def towards(cls, rows: Rows, store: Store) -> Change:
        """What must come into a store, and go from it, for it to hold just some distinct rows."""
        added = rows[~store.holds(rows)]
        before = store.rows(Part.ALL)
        if store.live == len(rows) - len(added):
            return cls(added, before[:0])
        return cls(added, before[~Store(store.arity, rows).holds(before)])

    def __bool__(self) -> bool:
        return bool(len(self.added) or len(self.removed))


Deltas = dict[str, Change]
"""Changes by predicate."""
