"""A growing relation: rows in one buffer, hash tables that live across rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import Keyed
from kgreason.engine import index_kernels, kernels, memory
from kgreason.engine.limits import Limits
from kgreason.engine.scalars import Refusal, described, make_set, number
from kgreason.engine.symbols import Symbols, rank
from kgreason.engine.table import Kind
from kgreason.lang.values import Null, Value
from kgreason.plan.ir import Part

Rows = npt.NDArray[np.int64]
"""Coded values, shape (rows, columns), C-contiguous."""

CHUNK = 1 << 14
"""Most rows that one operator passes to the next at once: bounds memory and stays in the cache."""

FOLD = 64
"""Fewest rows of an index that are worth being brought together."""

DENSE = 24
"""Bytes per row up to which a bit for each possible pair of values is kept instead of a hash table."""

CHEAP = 1 << 25
"""Bytes that are never too many for that."""

MANY = 1 << 14
"""Rows from which that is worth it."""

PIECE = 1 << 20
"""Rows that are turned into columns before their memory is given up."""

SPARE = 16
"""One in so many rows of a large buffer is room for more."""

Number = TypeVar("Number", np.int64, np.float64)

NO_RANKS = np.empty(0, dtype=np.int64)


def chunks(rows: Rows) -> Iterator[Rows]:
    """Cut rows into pieces of at most `CHUNK`."""
    if len(rows) <= CHUNK:
        if len(rows):
            yield rows
        return
    for start in range(0, len(rows), CHUNK):
        yield rows[start : start + CHUNK]


def grown(array: npt.NDArray[Number], length: int, fill: int | None = None) -> npt.NDArray[Number]:
    """Copy of an array with room for `length` entries along the first axis."""
    memory.claim(array.nbytes + memory.SMALL)  # the rest is taken when it is used
    new = np.empty((length, *array.shape[1:]), dtype=array.dtype)
    new[: len(array)] = array
    if fill is not None:
        new[len(array) :] = fill
    return new


def _most(size: int) -> int:
    """Keys of a hash table of some size: with 8 bytes for each place, a key takes 23 bytes at most."""
    return size * 7 // 10


class Slots:
    """An open-addressing hash table that is at most seven tenths full (layout: `kgreason.engine.kernels`)."""

    def __init__(self, packed: bool = False) -> None:
        self.array: npt.NDArray[np.int64] = np.full(64, -1, dtype=np.int64)
        self.packed = packed

    @classmethod
    def direct(cls, values: int) -> Slots:
        """One slot for each value below `values`, instead of a hash table."""
        memory.claim(8 * values)
        slots = cls()
        slots.array = np.full(values + 1, -1, dtype=np.int64)
        slots.array[-1] = index_kernels.DIRECT
        return slots

    def full(self, keys: int) -> bool:
        """Whether there is no room for `keys` keys in all."""
        return self.array[-1] != index_kernels.DIRECT and keys > _most(len(self.array))

    def empty(self, keys: int) -> None:
        """Drop all entries, and then make room for `keys`; so there are never two tables at once."""
        size = 64
        while keys > _most(size):
            size *= 2
        self.array = np.empty(0, dtype=np.int64)
        memory.claim(8 * size)
        self.array = np.full(size, -1, dtype=np.int64)

    def reserve(self, keys: int) -> None:
        """Make room for `keys` keys in all."""
        size = len(self.array)
        if not self.full(keys):
            return
        while keys > _most(size):
            size *= 2
        memory.claim(8 * size)
        new = np.full(size, -1, dtype=np.int64)
        kernels.rehash(self.array, new, self.packed)
        self.array = new


class Index:
    """The rows of a relation by the values of some columns.

    Older rows with one key stand together, without the columns of the key; the newest form a chain (see
    `index_kernels.chain`). Rows move on when they are as many as the older ones, so each moves a few times at most.
    """

    def __init__(self, relation: Relation, columns: tuple[int, ...]) -> None:
        self.relation = relation
        self.key = np.array(columns, dtype=np.int64)
        self.rest = np.array([i for i in range(relation.arity) if i not in columns], dtype=np.int64)
        self.where: npt.NDArray[np.int64] = np.empty(relation.arity, dtype=np.int64)
        self.where[self.key] = -1 - np.arange(len(self.key))
        self.where[self.rest] = np.arange(len(self.rest))
        self.slots = Slots()
        self.entries: Rows = np.empty((16, 3 + len(columns)), dtype=np.int64)
        self.folded: Rows = np.empty((0, len(self.rest)), dtype=np.int64)
        self.following: npt.NDArray[np.int64] = np.empty(16, dtype=np.int64)
        self.base = self.stop = self.keys = 0

    def extend(self, stop: int) -> None:
        """Take in all rows below `stop`."""
        while self.stop < stop:
            end = min(stop, self.stop + CHUNK)
            need = self.keys + end - self.stop
            if not self.keys or self.slots.full(need):
                self._address(self.relation.buffer[self.stop : stop])
            if need > len(self.entries):
                self.entries = grown(self.entries[: self.keys], max(need, 2 * len(self.entries)))
            if end - self.base > len(self.following):
                self.following = grown(self.following, max(end - self.base, 2 * len(self.following)))
            self.stop, self.keys = index_kernels.chain(
                self.relation.buffer,
                self.key,
                self.stop,
                end,
                self.slots.array,
                self.entries,
                self.following,
                self.base,
                self.keys,
            )
            if self.stop < end:
                self._address(self.relation.buffer[self.stop : stop])
        stable = min(self.relation.stable, self.stop)
        if self.relation.fluid is None and stable - self.base >= max(self.base, FOLD):
            self._fold(stable)

    def _address(self, rows: Rows) -> None:
        """Give the keys new slots, with room for those of some rows: by value where these are small, or by hash."""
        held = self.entries[: self.keys]
        values = (held[:, 3], rows[:, self.key[0]]) if len(self.key) == 1 else ()
        known = [v for v in values if len(v)]
        most = max((int(v.max()) for v in known), default=-1)
        if 0 <= most < 2 * (self.keys + len(rows)) + CHUNK and min(int(v.min()) for v in known) >= 0:
            self.slots = Slots.direct(most + most // 2 + 1)
        else:
            self.slots = Slots()
            self.slots.reserve(self.keys + min(len(rows), CHUNK))
        index_kernels.register(held, 3 + np.arange(len(self.key)), self.keys, self.slots.array)

    def _fold(self, stop: int) -> None:
        memory.claim(8 * stop * len(self.rest))
        folded = np.empty((stop, len(self.rest)), dtype=np.int64)
        shifted = np.empty(max(self.stop - stop, 16), dtype=np.int64)
        index_kernels.fold(
            self.relation.buffer,
            self.rest,
            self.entries,
            self.keys,
            self.following,
            self.base,
            stop,
            self.folded,
            folded,
            shifted,
        )
        self.folded, self.following, self.base = folded, shifted, stop


class Relation:
    """Distinct rows in the order of their insertion.

    Rows fall into three parts: stable ``[0, stable)``, recent ``[stable, seen)`` and to add ``[seen,
    count)``; `turn` makes the recent ones stable and those to add recent. Joins see only stable and recent
    rows.
    """

    def __init__(self, arity: int) -> None:
        self._buffer: Rows | None = np.empty((16, arity), dtype=np.int64)
        self._columns: tuple[npt.NDArray[np.int64], ...] = ()
        self.arity = arity
        self.stable = self.seen = self.count = 0
        self.indexes: dict[tuple[int, ...], Index] = {}
        self.key = np.arange(arity, dtype=np.int64)
        self._bits: npt.NDArray[np.int64] | None = _share(np.zeros(arity, dtype=np.int64))
        self._slots = Slots(packed=self._bits is not None)
        self._matrix: Rows | None = None
        self._matrix_columns = 0
        self._hashed = 0

    @property
    def fluid(self) -> int | None:
        """Position whose value may change in place."""
        return None

    @property
    def buffer(self) -> Rows:
        """All rows, with room for more behind them."""
        if self._buffer is None:
            memory.claim(8 * self.count * self.arity)
            self._buffer, self._columns = np.column_stack(self._columns), ()
        return self._buffer

    @buffer.setter
    def buffer(self, rows: Rows) -> None:
        self._buffer = rows

    def adopt(self, columns: tuple[npt.NDArray[np.int64], ...]) -> None:
        """Hold the distinct rows of some columns instead; nothing will be added any more."""
        self._buffer, self._columns = None, columns
        self.count = len(columns[0])
        self.indexes.clear()
        self._slots = Slots(packed=self._bits is not None)
        self.settle()

    def column(self, position: int) -> npt.NDArray[np.int64]:
        """Values of all rows at a position, contiguous."""
        if self._buffer is None:
            return self._columns[position]
        return np.ascontiguousarray(self._buffer[: self.count, position])

    def transpose(self) -> None:
        """Hold columns instead of rows, of which memory is given up piece by piece; nothing will be added any more."""
        if self._buffer is None or not self.arity:
            return
        buffer, self._buffer, end = self._buffer, None, self.count
        columns = tuple(np.empty(end, dtype=np.int64) for _ in range(self.arity))
        while end:
            start = (end - 1) // PIECE * PIECE
            for i, column in enumerate(columns):
                column[start:end] = buffer[start:end, i]
            end = start
            with suppress(ValueError):  # somebody looks at rows of it
                buffer.resize((end, self.arity))
        self.adopt(columns)

    def load(self, rows: Rows, distinct: bool) -> None:
        """Take over rows, before any others."""
        if distinct:
            self.buffer, self.count = rows, len(rows)
        else:
            for chunk in chunks(rows):
                self.insert(chunk)

    def insert(self, batch: Rows) -> int:
        """Add rows, a chunk at most; returns how many were new."""
        before = self.count
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
                self._refill()
        while self._bits is not None:
            done, self.count = kernels.insert_packed(
                batch, self.buffer, self._slots.array, self._bits, done, self.count
            )
            if done == len(batch):
                return
            self._repack(batch)
        self.count = kernels.insert(batch[done:], self.buffer, self._slots.array, self.key, self.count)

    def _repack(self, batch: Rows) -> None:
        """Share out the bits of a packed row anew, or give up packing, so that `batch` fits."""
        held = self.buffer[: self.count]
        ends = [rows for rows in (held, batch) if len(rows)]
        least = np.min([rows.min(axis=0) for rows in ends], axis=0)
        needs = [int(most).bit_length() for most in np.max([rows.max(axis=0) for rows in ends], axis=0)]
        self._bits = _share(np.array(needs, dtype=np.int64)) if least.min() >= 0 else None
        self._slots = Slots(packed=self._bits is not None)
        self._slots.reserve(self.count + len(batch))
        self._refill()

    def _refill(self) -> None:
        """Put all rows into an empty hash table; each lands where it is."""
        held = self.buffer[: self.count]
        if self._bits is None:
            kernels.insert(held, self.buffer, self._slots.array, self.key, 0)
        else:
            done, _ = kernels.insert_packed(held, self.buffer, self._slots.array, self._bits, 0, 0)
            if done < self.count:
                self._repack(held)

    def _reserve(self, rows: int) -> None:
        need = self.count + rows
        if need > len(self.buffer):
            self._extend(need + max(need // SPARE, min(need, CHUNK)))
        if self._matrix is not None or (self._slots.full(need) and self._densify()):
            return
        # loaded rows are hashed when the first others come
        if self._hashed < self.count or self._slots.full(need):
            self._slots.empty(need)
            self._refill()
            self._hashed = self.count

    def _extend(self, length: int) -> None:
        """Make the buffer longer, where it stands if the system can do that: then there are never two of them."""
        held = self.buffer.nbytes
        memory.claim(8 * length * self.arity - held)
        try:
            self.buffer.resize((length, self.arity))
        except ValueError:  # somebody looks at rows of it
            self.buffer = grown(self.buffer[: self.count], length)

    def _densify(self, batch: Rows | None = None) -> bool:
        """Keep a bit for each pair of values, those of a batch too, if that takes less memory than hashing."""
        if self.arity != 2 or self._bits is None or self.count < MANY:
            return False
        held = self.buffer[: self.count]
        known = [rows for rows in (held, batch) if rows is not None and len(rows)]
        most = np.max([rows.max(axis=0) for rows in known], axis=0)
        # with room, so that this does not recur too often
        height, columns = (int(m) + int(m) // 8 + 1 for m in most)
        words = columns // 64 + 1
        if min(int(rows.min()) for rows in known) < 0 or 8 * height * words > max(DENSE * self.count, CHEAP):
            return False
        memory.claim(8 * height * words)
        self._matrix, self._matrix_columns = np.zeros((height, words), dtype=np.int64), columns
        kernels.insert_dense(held, self.buffer, self._matrix, columns, 0, 0)
        self._slots = Slots(packed=True)
        self._hashed = self.count
        return True

    def turn(self) -> bool:
        """Begin a round; tells whether there are recent rows."""
        self.stable, self.seen = self.seen, self.count
        for index in self.indexes.values():
            index.extend(self.seen)
        return self.seen > self.stable

    def settle(self) -> None:
        """Make all rows stable: nothing will be added any more, and so nothing looked up to see whether it is new."""
        self._slots, self._matrix, self._hashed = Slots(packed=self._bits is not None), None, 0
        self.stable = self.seen = self.count
        for index in self.indexes.values():
            index.extend(self.seen)

    def rows(self, part: Part) -> Rows:
        """Rows of a part, as a view of the buffer."""
        if part is Part.RECENT:
            return self.buffer[self.stable : self.seen]
        return self.buffer[: self.limit(part)]

    def batches(self, part: Part) -> Iterator[Rows]:
        """Rows of a part in chunks, while others may be added."""
        if self._buffer is None and part is Part.ALL:
            for start in range(0, self.count, CHUNK):
                yield np.column_stack([column[start : start + CHUNK] for column in self._columns])
            return
        first, end = (self.stable if part is Part.RECENT else 0), self.limit(part)
        for start in range(first, end, CHUNK):
            # a copy: who looks at the buffer itself keeps it from growing where it is
            yield self.buffer[start : min(start + CHUNK, end)].copy()

    def limit(self, part: Part) -> int:
        """Number of the first row beyond the part."""
        return self.stable if part is Part.STABLE else self.seen

    def enough(self, columns: Sequence[int]) -> Sequence[int]:
        """Which of some columns an index needs, in their order; the others may be compared one by one."""
        return columns

    def index(self, columns: tuple[int, ...]) -> Index:
        """Index on some columns, made if there is none yet."""
        found = self.indexes.get(columns)
        if found is None:
            found = self.indexes[columns] = Index(self, columns)
            found.extend(self.seen)
        return found


def _share(needs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64] | None:
    """Bits for each column of a packed row, 62 in all; `None` if that is too few."""
    spare = 62 - int(needs.sum())
    return needs + spare // max(len(needs), 1) if spare >= 0 and len(needs) <= 62 else None


def _better(old: Value, new: Value, keyed: Keyed) -> Value:
    if keyed.keep == "union":
        parts = [v if isinstance(v, frozenset) else frozenset({v}) for v in (old, new)]
        return make_set([*parts[0], *parts[1]])
    if not _comparable(old, new):
        raise Refusal(f"type clash: {described(old)}, meets {described(new)}")
    better = rank(new) > rank(old) if keyed.keep == "greatest" else rank(new) < rank(old)
    return new if better else old


def _comparable(a: Value, b: Value) -> bool:
    """Whether values have an order; a null has none, except that it is as great as itself."""
    if isinstance(a, Null | tuple | frozenset):
        return a == b
    return type(a) is type(b) or (number(a) and number(b))


class KeyedRelation(Relation):
    """One row per key: a better value replaces the old one in place, and the row is recent again."""

    def __init__(self, arity: int, keyed: Keyed, kind: Kind, symbols: Symbols, limits: Limits) -> None:
        super().__init__(arity)
        self._bits = None
        self._slots = Slots()
        self.keyed = keyed
        self.kind = kind
        self.symbols = symbols
        self.limits = limits
        self.key = np.array([i for i in range(arity) if i != keyed.position], dtype=np.int64)
        self.told: npt.NDArray[np.int64] = np.empty(16, dtype=np.int64)
        self.stamps: npt.NDArray[np.int64] = np.full(16, -1, dtype=np.int64)
        self.now = 0
        self._places: dict[bytes, int] = {}  # keys of the rows, where Python combines their values
        self.changed: npt.NDArray[np.int64] = np.empty(16, dtype=np.int64)
        self.n_changed = 0
        self.recent: Rows = self.buffer[:0]

    @property
    def fluid(self) -> int | None:
        """The aggregated position, until the relation is settled."""
        return self.keyed.position

    def load(self, rows: Rows, distinct: bool) -> None:  # noqa: ARG002
        """Take over rows; of those with one key the best stays."""
        super().load(rows, distinct=False)

    def insert(self, batch: Rows) -> int:
        """Add rows or better values, a chunk at most; returns how many rows changed."""
        before = self.n_changed
        self._reserve(len(batch))
        if self.keyed.keep == "union" or self.kind is Kind.ANY:
            self._combine(batch)
            return self.n_changed - before
        ranks = self.symbols.ranks() if self.kind is Kind.STRING else NO_RANKS
        self.count, self.n_changed = kernels.improve(
            batch,
            self.buffer,
            self._slots.array,
            self.key,
            self.count,
            self.keyed.position,
            kernels.GREATEST if self.keyed.keep == "greatest" else kernels.LEAST,
            int(self.kind),
            ranks,
            self.told,
            self.limits.growth if self.now > self.limits.patience else 0.0,
            self.stamps,
            self.now,
            self.changed,
            self.n_changed,
        )
        self._hashed = self.count
        return self.n_changed - before

    def _combine(self, batch: Rows) -> None:
        """Insert rows whose values only Python can combine.

        Raises
        ------
        Refusal
            If two values of one key do not compare, or have no union.
        """
        position, symbols = self.keyed.position, self.symbols
        for row in batch:
            code = int(row[position])
            at = self._places.setdefault(row[self.key].tobytes(), self.count)
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
                    self.told[at] = code
                    continue
                if not self._grown(symbols.value(int(self.told[at])), symbols.value(code)):
                    continue
            self.told[at] = code
            self.stamps[at] = self.now
            self.changed[self.n_changed] = at
            self.n_changed += 1
        self._hashed = self.count

    def _grown(self, old: Value, new: Value) -> bool:
        """Whether a value of any type has changed by more than the bound on growth."""
        if not isinstance(old, float) or not isinstance(new, float):
            return True
        growth = self.limits.growth if self.now > self.limits.patience else 0.0
        return abs(new - old) > growth * abs(old)

    def _reserve(self, rows: int) -> None:
        super()._reserve(rows)
        if len(self.buffer) > len(self.told):
            length = max(len(self.buffer), 2 * len(self.told))
            self.told = grown(self.told, length)
            self.stamps = grown(self.stamps, length, -1)
            self.changed = grown(self.changed, length)

    def turn(self) -> bool:
        """Begin a round; tells whether there are recent rows."""
        super().turn()
        self.recent = self.buffer[self.changed[: self.n_changed]]
        self.n_changed = 0
        self.now += 1
        return len(self.recent) > 0

    def rows(self, part: Part) -> Rows:
        """Rows of a part; those that changed in the round before are the recent ones."""
        return self.recent if part is Part.RECENT else super().rows(part)

    def batches(self, part: Part) -> Iterator[Rows]:
        """Rows of a part in chunks."""
        return chunks(self.recent) if part is Part.RECENT else super().batches(part)
