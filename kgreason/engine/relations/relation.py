"""Relations that grow in rounds, with their indexes; keyed relations with one row per key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import numpy as np

from kgreason.base import memory
from kgreason.engine.expressions.builtin_functions import Refusal, described, make_set, number
from kgreason.engine.limits import Limits
from kgreason.engine.plan.ir import Part
from kgreason.engine.relations import hash_kernels, index_kernels
from kgreason.engine.relations import hash_kernels as kernels
from kgreason.engine.relations.fact_tables import Kind
from kgreason.engine.relations.rows import CHUNK, Rows, Slots, chunks, grown, lengthen, release
from kgreason.engine.relations.symbols import Codes, Symbols, rank
from kgreason.language.check.checked_program import Keyed
from kgreason.language.values import Null, Value


class Index:
    """Index of a relation on some columns (layout: `index_kernels`).

    Rows are stored by key, without the key columns; or as numbers of rows, where values or rows may change (`live`).
    """

    def __init__(self, relation: Relation, columns: tuple[int, ...], *, live: bool = False) -> None:
        self.relation = relation
        self.key = np.array(columns, dtype=np.int64)
        rest = [i for i in range(relation.arity) if i not in columns]
        self.where: Codes = np.empty(relation.arity, dtype=np.int64)
        self.where[self.key] = -1 - np.arange(len(self.key))
        self.where[rest] = np.arange(len(rest))
        self.rest = np.array([index_kernels.NUMBERS] if live else rest, dtype=np.int64)
        self.live = live
        self.entries: Rows = np.empty((16, index_kernels.HEAD + len(columns)), dtype=np.int64)
        self.clear()

    def clear(self) -> None:
        """Remove all rows."""
        self.slots = Slots()
        self.entries = self.entries[:16].copy()
        self.arena: Codes = np.empty(16, dtype=np.int64)
        self.starts = NONE
        self.now = self.stop = self.keys = self.top = 0

    def sort(self) -> bool:
        """Sort all rows of a complete relation, if the key is one column of small values."""
        rows = self.relation.buffer[: self.relation.count]
        if len(self.key) != 1 or not len(rows):
            return False
        column = int(self.key[0])
        ((least, most),) = _extremes(rows[:, self.key])
        if least < 0 or most >= 2 * len(rows) + CHUNK:
            return False
        memory.claim(8 * (most + 2 + self.relation.count * len(self.rest)))
        # kernels read two rows behind the first one, whether they belong to its key or not
        self.arena = np.empty((len(rows) + 2) * len(self.rest), dtype=np.int64)
        self.starts = np.zeros(most + 2, dtype=np.int64)
        index_kernels.sort(rows, column, self.rest, self.starts, self.arena)
        return True

    def extend(self, stop: int) -> None:
        """Add all rows below `stop`."""
        self.now += 1
        if not self.keys and len(self.rest):
            self._add(self.stop, stop, counting=True)
            need = self.keys + (stop - self.stop) * len(self.rest)
            if need > len(self.arena):
                self._lengthen(need)
        self._add(self.stop, stop)

    def _add(self, start: int, stop: int, *, counting: bool = False) -> None:
        while start < stop:
            end = min(stop, start + CHUNK)
            if not self.keys or self.slots.full(self.keys + end - start):
                self._address(self.relation.buffer[start:stop])
            if self.keys == len(self.entries):
                self.entries = grown(self.entries, 2 * self.keys)
            start, self.keys, self.top, lacking = index_kernels.extend(
                self.relation.buffer,
                self.key,
                self.rest,
                start,
                end,
                self.slots.array,
                self.entries,
                self.arena,
                self.keys,
                self.top,
                self.now,
                counting,
            )
            if not counting:
                self.stop = start
            if lacking:
                self._lengthen(len(self.arena) + lacking)
            elif start < end and self.keys < len(self.entries):
                self._address(self.relation.buffer[start:stop])

    def _lengthen(self, words: int) -> None:
        if words > WORDS:
            raise memory.Exhausted("an index of a predicate has more than 2^31 values")
        # spare capacity included: blocks begin where the arena has room
        lengthen(self, "arena", min(WORDS, words + max(words // SPARE, min(words, CHUNK))))

    def _address(self, rows: Rows) -> None:
        """Rebuild the slots with room for the keys of `rows`: addressed by value if these are small, else hashed."""
        held = self.entries[: self.keys]
        values = (held[:, index_kernels.HEAD], rows[:, self.key[0]]) if len(self.key) == 1 else ()
        known = [v for v in values if len(v)]
        most = max((int(v.max()) for v in known), default=-1)
        if 0 <= most < 2 * (self.keys + len(rows)) + CHUNK and min(int(v.min()) for v in known) >= 0:
            self.slots = Slots.direct(most + most // 2 + 1)
        else:
            self.slots = Slots()
            self.slots.reserve(self.keys + min(len(rows), CHUNK))
        columns = index_kernels.HEAD + np.arange(len(self.key))
        index_kernels.register(held, columns, self.keys, self.slots.array)


NONE = np.empty(0, dtype=np.int64)
Known = tuple[Codes, Codes, Codes]
"""Bit matrix of pairs, and factors and bounds of their values, as for `index_kernels.join`."""
NOTHING: Known = (NONE, NONE, NONE)
DENSE = 14  # bytes per row up to which a matrix with a bit per pair of values replaces the hash table
# bytes that the matrix may take in any case; twice as many if rows are looked up `OFTEN` times on average
CHEAP = 1 << 24
OFTEN = 4
MANY = 1 << 14  # fewest rows for a bit matrix
PIECE = 1 << 20  # rows that are hashed at once
COPIED = 1 << 22  # most rows by which a buffer grows at once while other threads read it
FREED = 1 << 17  # rows that are transposed before their memory is freed
WORDS = 1 << 31  # longest arena of an index, whose entries hold two positions in one word
SPARE = 32  # the spare capacity of a large buffer is one row in so many


class Relation:
    """Distinct rows in the order of insertion.

    Rows form three parts: stable ``[0, stable)``, recent ``[stable, seen)`` and to add ``[seen, count)``; `turn` makes
    recent rows stable and rows to add recent. Joins see only stable and recent rows.
    """

    def __init__(self, arity: int) -> None:
        self._buffer: Rows | None = np.empty((16, arity), dtype=np.int64)
        self._columns: tuple[Codes, ...] = ()
        self.arity = arity
        self.fluid: int | None = None  # position whose value may change in place
        self.complete = False  # no rows are added any more
        self.stable = self.seen = self.count = 0
        self.indexes: dict[tuple[int, ...], Index] = {}
        self.key = np.arange(arity, dtype=np.int64)
        self._bits: Codes | None = _share(np.zeros(arity, dtype=np.int64))
        self._slots = Slots(packed=self._bits is not None)
        self._matrix: Rows | None = None
        self._matrix_columns = 0
        self._hashed = 0
        self.tried = 0  # rows that were inserted or known
        self._read = False  # whether other threads may read the buffer

    @property
    def buffer(self) -> Rows:
        """All rows, followed by spare capacity."""
        if self._buffer is None:
            memory.claim(8 * self.count * self.arity)
            self._buffer, self._columns = np.column_stack(self._columns), ()
        return self._buffer

    @buffer.setter
    def buffer(self, rows: Rows) -> None:
        self._buffer = rows

    @property
    def buffered(self) -> bool:
        """Whether the rows are in the buffer, not in columns."""
        return self._buffer is not None

    @contextmanager
    def read_by_others(self) -> Iterator[None]:
        """Let other threads read the rows within the block: the buffer grows by copies, not in place."""
        self._read = True
        try:
            yield
        finally:
            self._read = False

    def adopt(self, columns: tuple[Codes, ...]) -> None:
        """Replace the content by the distinct rows of some columns; no rows can be added afterwards."""
        self._buffer, self._columns = None, columns
        self.count = len(columns[0])
        self.indexes.clear()
        self._slots = Slots(packed=self._bits is not None)
        self.settle()

    def column(self, position: int) -> Codes:
        """Contiguous array of the values at a position."""
        if self._buffer is None:
            return self._columns[position]
        return np.ascontiguousarray(self._buffer[: self.count, position])

    def transpose(self) -> None:
        """Switch to column storage, freeing the row buffer piece by piece; no rows can be added afterwards."""
        if self._buffer is not None and self.arity:
            self.indexes.clear()
            self.pack()
            self.adopt(self._columns)

    def pack(self) -> None:
        """Store the rows by column, without hash table, until rows are added; there must be no index."""
        if self._buffer is None or not self.arity:
            return
        self._slots, self._matrix, self._hashed = Slots(packed=self._bits is not None), None, 0
        buffer, self._buffer, end = self._buffer, None, self.count
        columns = tuple(np.empty(end, dtype=np.int64) for _ in range(self.arity))
        while end:
            start = (end - 1) // FREED * FREED
            for i, column in enumerate(columns):
                column[start:end] = buffer[start:end, i]
            end = start
            with suppress(ValueError):  # a view of the buffer exists
                buffer.resize((end, self.arity))
            release(buffer, end)
        self._columns = columns

    def load(self, rows: Rows, distinct: bool) -> None:
        """Load the first rows."""
        if distinct:
            self.buffer, self.count = rows, len(rows)
        else:
            for chunk in chunks(rows):
                self.insert(chunk)

    def insert(self, batch: Rows) -> int:
        """Insert rows (at most one chunk); returns the number of new rows."""
        before = self.count
        self.tried += len(batch)
        self._reserve(len(batch))
        self._add(batch)
        self._hashed = self.count
        return self.count - before

    def _add(self, batch: Rows) -> None:
        done = 0
        while self._matrix is not None:
            done, self.count = kernels.insert_dense(
                batch, self.buffer, self._matrix, self._matrix_columns, done, self.count
            )
            if done == len(batch):
                return
            self._matrix = None
            if not self._densify(batch):
                self._slots.reserve(self.count + len(batch))
                self._refill(self.count + len(batch))
        while self._bits is not None:
            done, self.count = kernels.insert_packed(
                batch, self.buffer, self._slots.array, self._bits, done, self.count
            )
            if done == len(batch):
                return
            self._repack(batch, self.count + len(batch))
        self.count = kernels.insert(batch[done:], self.buffer, self._slots.array, self.key, self.count)

    @property
    def known(self) -> Known:
        """Bit matrix of the rows, if there is one and most rows that are tried are known."""
        return NOTHING if self._matrix is None or self.tried < 2 * self.count else self._known

    def _repack(self, batch: Rows, room: int) -> None:
        """Recompute the bits per column so that `batch` fits, or stop packing; `room` counts all rows."""
        held = self.buffer[: self.count]
        ranges = _extremes(held, batch)
        needs = [most.bit_length() for _, most in ranges]
        self._bits = (
            _share(np.array(needs, dtype=np.int64)) if all(least >= 0 for least, _ in ranges) else None
        )
        self._slots = Slots(packed=self._bits is not None)
        self._slots.reserve(room)
        self._refill(room)

    def _refill(self, room: int) -> None:
        """Insert all rows into an empty hash table with capacity `room`; each row keeps its position."""
        held = self.buffer[: self.count]
        for start in range(0, self.count, PIECE):  # pieces allow keyboard interrupts in between
            stop = min(start + PIECE, self.count)
            if self._bits is None:
                kernels.insert(held[start:stop], self.buffer, self._slots.array, self.key, start)
            elif kernels.insert_packed(
                held[:stop], self.buffer, self._slots.array, self._bits, start, start
            ) != (stop, stop):
                self._repack(held, room)
                return

    def _reserve(self, rows: int) -> None:
        need = self.count + rows
        if need > len(self.buffer):
            # while views of the buffer exist it cannot be resized in place, probably also the next times
            if self._read:
                self.buffer = grown(self.buffer, max(need, self.count + min(self.count, COPIED)))
            else:
                lengthen(self, "_buffer", need + max(need // SPARE, min(need, CHUNK // 2)), 2 * self.count)
        if self._matrix is not None or (self._slots.full(need) and self._densify()):
            return
        # loaded rows are hashed at the first insertion
        if self._hashed == self.count and self._slots.packed:
            self._slots.reserve(need)
        elif self._hashed < self.count or self._slots.full(need):
            self._slots.empty(need)
            self._refill(need)
            self._hashed = self.count

    def _densify(self, batch: Rows | None = None) -> bool:
        """Switch to a bit matrix over pairs of values (those of `batch` too) if it takes less memory than hashing."""
        if self.arity != 2 or self._bits is None or self.count < MANY:
            return False
        held = self.buffer[: self.count]
        ranges = _extremes(held, held[:0] if batch is None else batch)
        # spare capacity, more of it after the first time, so that rebuilds are rare
        share = 8 if self._matrix_columns else 64
        height, columns = (most + most // share + 1 for _, most in ranges)
        words = columns // 64 + 1
        cheap = CHEAP << (self.tried >= OFTEN * self.count)
        if min(ranges)[0] < 0 or 8 * height * words > max(DENSE * self.count, cheap):
            return False
        memory.claim(8 * height * words)
        self._matrix, self._matrix_columns = np.zeros((height, words), dtype=np.int64), columns
        self._known = self._matrix.reshape(-1), np.array([64 * words, 1]), np.array([height, columns])
        kernels.insert_dense(held, self.buffer, self._matrix, columns, 0, 0)
        self._slots = Slots(packed=True)
        self._hashed = self.count
        return True

    def turn(self) -> bool:
        """Begin a round; returns whether there are recent rows."""
        self.stable, self.seen = self.seen, self.count
        for index in self.indexes.values():
            index.extend(self.seen)
        return self.seen > self.stable

    def settle(self) -> None:
        """Make all rows stable and drop the hash table; no rows can be added afterwards."""
        self._slots, self._matrix, self._hashed = Slots(packed=self._bits is not None), None, 0
        self.stable = self.seen = self.count
        self.complete = self.fluid is None
        for index in self.indexes.values():
            index.extend(self.seen)

    def rows(self, part: Part) -> Rows:
        """Rows of a part, as a view of the buffer."""
        if part is Part.RECENT:
            return self.buffer[self.stable : self.seen]
        return self.buffer[: self.limit(part)]

    def size(self, part: Part) -> int:
        """Number of rows of a part."""
        return self.seen - self.stable if part is Part.RECENT else self.limit(part)

    def batches(self, part: Part) -> Iterator[Rows]:
        """Chunks of a part; rows may be added during the iteration."""
        if self._buffer is None and part is Part.ALL:
            columns = self._columns  # rows may be moved into the buffer during the iteration
            for start in range(0, self.count, CHUNK):
                yield np.column_stack([column[start : start + CHUNK] for column in columns])
            return
        first, end = (self.stable if part is Part.RECENT else 0), self.limit(part)
        for start in range(first, end, CHUNK):
            # a copy, because views of the buffer prevent resizing in place
            yield self.buffer[start : min(start + CHUNK, end)].copy()

    def limit(self, part: Part) -> int:
        """Index after the last row of the part."""
        return self.stable if part is Part.STABLE else self.seen

    def enough(self, columns: Sequence[int]) -> Sequence[int]:
        """Subset of `columns`, in order, that an index needs; the others may be compared row by row."""
        return columns

    def index(self, columns: tuple[int, ...]) -> Index:
        """Index on some columns, created at first use."""
        found = self.indexes.get(columns)
        if found is None:
            found = self.indexes[columns] = Index(self, columns, live=self.fluid is not None)
            if not self.complete or not found.sort():
                found.extend(self.stable)
                found.extend(self.seen)
        return found


def _share(needs: Codes) -> Codes | None:
    """Bits per column of a packed row, 62 in total; `None` if these are too few."""
    spare = 62 - int(needs.sum())
    return needs + spare // max(len(needs), 1) if spare >= 0 and len(needs) <= 62 else None


def _extremes(*parts: Rows) -> list[tuple[int, int]]:
    """Least and greatest value of each column; column by column, which is 30 times as fast as along an axis."""
    columns = [
        [column for column in of if len(column)] for of in zip(*(rows.T for rows in parts), strict=True)
    ]
    return [(min(int(c.min()) for c in of), max(int(c.max()) for c in of)) for of in columns]


NO_RANKS = np.empty(0, dtype=np.int64)


class KeyedRelation(Relation):
    """Relation with one row per key: a better value replaces the old one in place and makes the row recent again."""

    def __init__(self, arity: int, keyed: Keyed, kind: Kind, symbols: Symbols, limits: Limits) -> None:
        super().__init__(arity)
        self._bits = None
        self._slots = Slots()
        self.keyed = keyed
        self.fluid = keyed.position
        self.kind = kind
        self.symbols = symbols
        self.limits = limits
        self.key = np.array([i for i in range(arity) if i != keyed.position], dtype=np.int64)
        self.propagated: Codes = np.empty(16, dtype=np.int64)  # value of each row when last recent
        self.stamps: Codes = np.full(16, -1, dtype=np.int64)  # round of each row's last change
        self.now = 0
        self._numbers: dict[bytes, int] = {}  # row by key, where values are combined in Python
        self.changed: Codes = np.empty(16, dtype=np.int64)  # rows changed in this round
        self.n_changed = 0
        self.recent: Rows = self.buffer[:0]

    def load(self, rows: Rows, distinct: bool) -> None:  # noqa: ARG002
        """Load the first rows, keeping the best of each key."""
        super().load(rows, distinct=False)

    def insert(self, batch: Rows) -> int:
        """Insert rows or better values (at most one chunk); returns the number of changed rows."""
        before = self.n_changed
        self._reserve(len(batch))
        if self.keyed.keep == "union" or self.kind is Kind.ANY:
            self._combine(batch)
            return self.n_changed - before
        ranks = self.symbols.ranks() if self.kind is Kind.STRING else NO_RANKS
        self.count, self.n_changed = hash_kernels.improve(
            batch,
            self.buffer,
            self._slots.array,
            self.key,
            self.count,
            self.keyed.position,
            hash_kernels.GREATEST if self.keyed.keep == "greatest" else hash_kernels.LEAST,
            int(self.kind),
            ranks,
            self.propagated,
            self._growth,
            self.stamps,
            self.now,
            self.changed,
            self.n_changed,
        )
        self._hashed = self.count
        return self.n_changed - before

    def _combine(self, batch: Rows) -> None:
        """Insert rows whose values are combined in Python; `Refusal` if two values of a key have no order or union."""
        position, symbols = self.keyed.position, self.symbols
        for row in batch:
            code = int(row[position])
            at = self._numbers.setdefault(row[self.key].tobytes(), self.count)
            if at == self.count:
                self.buffer[at] = row
                self.count += 1
            else:
                old = int(self.buffer[at, position])
                code = symbols.intern(_better(symbols.value(old), symbols.value(code), self.keyed))
                if code == old:
                    continue
                self.buffer[at, position] = code
                if self.stamps[at] == self.now:
                    self.propagated[at] = code
                    continue
                last, new = symbols.value(int(self.propagated[at])), symbols.value(code)
                if (
                    isinstance(last, float)
                    and isinstance(new, float)
                    and abs(new - last) <= self._growth * abs(last)
                ):
                    continue
            self.propagated[at] = code
            self.stamps[at] = self.now
            self.changed[self.n_changed] = at
            self.n_changed += 1
        self._hashed = self.count

    @property
    def _growth(self) -> float:
        return self.limits.growth if self.now > self.limits.patience else 0.0

    def _reserve(self, rows: int) -> None:
        super()._reserve(rows)
        if len(self.buffer) > len(self.propagated):
            length = max(len(self.buffer), 2 * len(self.propagated))
            self.propagated = grown(self.propagated, length)
            self.stamps = grown(self.stamps, length, -1)
            self.changed = grown(self.changed, length)

    def turn(self) -> bool:
        """Begin a round; returns whether there are recent rows."""
        super().turn()
        self.recent = self.buffer[self.changed[: self.n_changed]]
        self.n_changed = 0
        self.now += 1
        return len(self.recent) > 0

    def rows(self, part: Part) -> Rows:
        """Rows of a part; the recent ones are those that changed in the previous round."""
        return self.recent if part is Part.RECENT else super().rows(part)

    def size(self, part: Part) -> int:
        """Number of rows of a part."""
        return len(self.recent) if part is Part.RECENT else super().size(part)

    def batches(self, part: Part) -> Iterator[Rows]:
        """Chunks of a part."""
        return chunks(self.recent) if part is Part.RECENT else super().batches(part)


def empty_relation(
    arity: int, keyed: Keyed | None, kinds: Sequence[Kind], symbols: Symbols, limits: Limits
) -> Relation:
    """Relation without rows, keyed or not."""
    if keyed is None:
        return Relation(arity)
    return KeyedRelation(arity, keyed, kinds[keyed.position], symbols, limits)


def _better(old: Value, new: Value, keyed: Keyed) -> Value:
    if keyed.keep == "union":
        parts = [v if isinstance(v, frozenset) else frozenset({v}) for v in (old, new)]
        return make_set([*parts[0], *parts[1]])
    if not _comparable(old, new):
        raise Refusal(f"type clash: {described(old)}, meets {described(new)}")
    better = rank(new) > rank(old) if keyed.keep == "greatest" else rank(new) < rank(old)
    return new if better else old


def _comparable(a: Value, b: Value) -> bool:
    """Whether two values are comparable; a null or collection is comparable only with itself."""
    if isinstance(a, Null | tuple | frozenset):
        return a == b
    return type(a) is type(b) or (number(a) and number(b))
