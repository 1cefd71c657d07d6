"""Database of given and derived facts, with rollback of failed updates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf

import numpy as np
import numpy.typing as npt

from kgreason.base import memory
from kgreason.base.records import record
from kgreason.engine.chase.nulls import Nulls
from kgreason.engine.limits import Limits
from kgreason.engine.plan.ir import Part
from kgreason.engine.relations import hash_kernels, index_kernels
from kgreason.engine.relations.fact_tables import Kind
from kgreason.engine.relations.relation import Index, Relation
from kgreason.engine.relations.rows import Rows, Slots, chunks, grown
from kgreason.engine.relations.symbols import Codes
from kgreason.engine.seminaive.rule_pipeline import Joining, Probe

SLACK = 1 << 10  # removed rows that the buffer may hold however few rows remain
FEW = 1 << 10  # most rows per value of a selective column
Flags = npt.NDArray[np.bool_]


def distinct(rows: Rows) -> Rows:
    """Distinct rows."""
    if len(rows) < 2:
        return rows
    found = Relation(rows.shape[1])
    for chunk in chunks(np.ascontiguousarray(rows)):
        found.insert(chunk)
    return found.buffer[: found.count]


def _selective(rows: Rows, columns: Sequence[int]) -> tuple[int, ...]:
    """One of the columns as a key with few rows per value; empty if there is none."""
    for i in columns if len(rows) > SLACK else ():
        column = rows[:, i]
        if column.min() >= 0 and column.max() < 4 * len(rows) and np.bincount(column).max() <= FEW:
            return (i,)
    return ()


class LiveIndex(Index):
    """Index with removal by value."""

    relation: Store

    def __init__(self, relation: Store, columns: tuple[int, ...]) -> None:
        super().__init__(relation, columns, live=True)
        self.others = np.array([i for i in range(relation.arity) if i not in columns], dtype=np.int64)

    def holds(self, rows: Rows) -> Flags:
        """Mask of the rows that are in the index."""
        found = np.empty(len(rows), dtype=np.bool_)
        index_kernels.held(rows, self.key, self.others, self.relation.buffer, *self._arrays(), found)
        return found

    def remove(self, rows: Rows) -> int:
        """Remove distinct rows; returns the number of removed rows."""
        every, table = np.arange(rows.shape[1]), Slots()
        table.reserve(len(rows))
        hash_kernels.insert(rows, np.empty_like(rows), table.array, every, 0)
        swept = np.zeros(self.keys, dtype=np.bool_)
        held = self.relation.buffer, *self._arrays()
        return index_kernels.unlink(rows, every, table.array, self.key, *held, self.relation.dead, swept)

    def matching(self, keys: Rows) -> Rows:
        """Rows with the given keys, in the order of the keys."""
        width, none = self.relation.arity, np.empty(0, dtype=np.int64)
        probe = Probe(self, np.arange(keys.shape[1]), none, (), "")
        joined = Joining(probe, Part.ALL, range(-1, -1 - width, -1))
        nothing = np.empty((0, width), dtype=np.int64)
        return np.concatenate([nothing, *(batch.copy() for batch in joined(iter([keys])))])

    def _arrays(self) -> tuple[Codes, Rows, Codes]:
        return self.arena, self.entries, self.slots.array


class Store(Relation):
    """Relation of distinct, settled rows with removal.

    Removed rows stay in the buffer, outside all indexes, until they outnumber the others. Membership tests use an index
    on the columns `key`; by default on a column with few rows per value, or else on all columns.
    """

    indexes: dict[tuple[int, ...], LiveIndex]  # type: ignore[assignment]

    def __init__(self, arity: int, rows: Rows, key: Sequence[int] | None = None) -> None:
        super().__init__(arity)
        self._hold(rows)
        self.selective = _selective(rows, range(arity) if key is None else key)
        columns = self.selective or tuple(range(arity) if key is None else key)
        self.primary = self.index(columns)

    def _hold(self, rows: Rows) -> None:
        """Replace the content by distinct rows."""
        self.load(np.ascontiguousarray(rows), distinct=True)
        self.stable = self.seen = self.live = self.count
        self.dead = np.zeros(self.count, dtype=np.bool_)

    def __len__(self) -> int:
        return self.live

    def holds(self, rows: Rows) -> Flags:
        """Mask of the rows that are present."""
        return self.primary.holds(rows)

    def append(self, rows: Rows) -> None:
        """Add distinct rows that are not present; none is added if memory runs out."""
        if not len(rows):
            return
        end = self.count + len(rows)
        if end > len(self.buffer):
            self.buffer = grown(self.buffer[: self.count], end + end // 4)
        if end > len(self.dead):
            self.dead = np.append(self.dead, np.zeros(end + end // 4 - len(self.dead), dtype=np.bool_))
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
        """Remove distinct rows that are present."""
        if not len(rows):
            return
        with memory.unlimited():
            for index in self.indexes.values():
                removed = index.remove(rows)
                assert removed == len(rows)
            self.live -= len(rows)
            if self.count - self.live > max(self.live, SLACK):
                self._compact()

    def index(self, columns: tuple[int, ...]) -> LiveIndex:
        """Index on some columns, created at first use; removed rows are not in it."""
        found = self.indexes.get(columns)
        if found is None:
            if self.live < self.count:
                self._compact()
            found = self.indexes[columns] = LiveIndex(self, columns)
            found.extend(self.count)
        return found

    def _compact(self) -> None:
        self._hold(self.rows(Part.ALL))
        for index in self.indexes.values():
            index.clear()
        self._extend_indexes()

    def enough(self, columns: Sequence[int]) -> Sequence[int]:
        """Use the primary key where `columns` contain it, to save indexes."""
        return self.selective if self.selective and set(self.selective) < set(columns) else columns

    def rows(self, part: Part) -> Rows:
        """All rows; none is recent."""
        if part is Part.RECENT:
            return self.buffer[:0]
        rows = self.buffer[: self.count]
        return rows if self.live == self.count else rows[~self.dead[: self.count]]

    def size(self, part: Part) -> int:
        """Number of rows; none is recent."""
        return 0 if part is Part.RECENT else self.live

    def batches(self, part: Part) -> Iterator[Rows]:
        """All rows in chunks."""
        yield from chunks(self.rows(part))

    def column(self, position: int) -> Codes:
        """Contiguous array of the values at a position."""
        return np.ascontiguousarray(self.rows(Part.ALL)[:, position])

    def plain(self) -> Relation:
        """Copy as an ordinary relation."""
        made = Relation(self.arity)
        made.load(self.rows(Part.ALL), distinct=True)
        made.settle()
        return made


@record
class Change:
    """Added and removed facts of one predicate, disjoint."""

    added: Rows
    removed: Rows

    @classmethod
    def between(cls, removed: Rows, added: Rows) -> Change:
        """Net change after removing distinct facts and then adding distinct facts that were missing."""
        width = added.shape[1]
        if not len(removed) or not len(added):
            return cls(added, removed)
        back = Store(width, removed).holds(added)
        return cls(added[~back], removed[~Store(width, added).holds(removed)])

    @classmethod
    def towards(cls, rows: Rows, store: Store) -> Change:
        """Change that makes a store hold exactly the given distinct rows."""
        added = rows[~store.holds(rows)]
        before = store.rows(Part.ALL)
        if store.live == len(rows) - len(added):
            return cls(added, before[:0])
        return cls(added, before[~Store(store.arity, rows).holds(before)])

    def __bool__(self) -> bool:
        return bool(len(self.added) or len(self.removed))


Deltas = dict[str, Change]  # changes by predicate


# an update pays one unit of work for each row that it handles, which costs it as much as `SHARE` facts an evaluation
SHARE = 24
LEAST = 1 << 10  # units that an update may spend however few facts there are
JOINED = 4  # rows found by a join per unit
ANEW = 4  # recomputed facts of a stratum per unit
PART = 8  # an edit of more than one in so many given facts is not applied incrementally


class BudgetExceeded(Exception):
    """The cost of an update exceeds its budget."""


def small(rows: int, given: int) -> bool:
    """Whether an edit of `rows` rows is small enough for an incremental update of `given` input facts."""
    return rows <= (LEAST + given) // PART


class Work:
    """Remaining budget of an incremental update."""

    def __init__(self) -> None:
        self.left: float = inf

    def begin(self, facts: int) -> None:
        """Start an update; `facts` is the number of given and derived facts."""
        self.left = LEAST + facts // SHARE

    def pay(self, rows: int) -> None:
        """Subtract `rows` handled rows from the budget; `BudgetExceeded` if it is exceeded."""
        self.left -= rows
        if self.left < 0:
            raise BudgetExceeded


@record
class Context:
    """Context of queries: stores, kinds, nulls, limits and the work budget."""

    stores: Mapping[str, Store]
    kinds: Mapping[str, tuple[Kind, ...]]
    nulls: Nulls
    limits: Limits
    work: Work = field(default_factory=Work)


class Base:
    """Given facts of one predicate: editable ones, and those stated in the program.

    `ends` is the number of edge ends at each vertex, by code; `None` if the predicate is not one of vertices.
    """

    def __init__(self, data: Store, stated: Rows, ends: Codes | None) -> None:
        self.data = data
        self.stated = Store(data.arity, stated)
        self.ends = ends

    def holds(self, rows: Rows) -> Flags:
        """Mask of the facts that are given."""
        return self.data.holds(rows) | self.otherwise(rows)

    def otherwise(self, rows: Rows) -> Flags:
        """Mask of the facts that are given independently of the editable data."""
        found = self.stated.holds(rows)
        if self.ends is not None:
            inside = rows[:, 0] < len(self.ends)
            found[inside] |= self.ends[rows[inside, 0]] > 0
        return found

    def rows(self) -> Rows:
        """All given facts."""
        given = [self.data.rows(Part.ALL), self.stated.rows(Part.ALL)]
        if self.ends is not None:
            given.append(np.flatnonzero(self.ends > 0).reshape(-1, 1))
        return distinct(np.concatenate(given))

    def count_ends(self, codes: Codes, by: int) -> tuple[Rows, Rows]:
        """Add (or subtract) ends of edges; returns the added and the removed vertices."""
        assert self.ends is not None
        vertices, times = np.unique(codes, return_counts=True)
        size = int(vertices.max(initial=-1)) + 1
        if size > len(self.ends):
            self.ends = np.append(self.ends, np.zeros(size + size // 4 - len(self.ends), dtype=np.int64))
        before = self.ends[vertices] > 0
        self.ends[vertices] += by * times
        after = self.ends[vertices] > 0
        rows = vertices.reshape(-1, 1)
        free = ~(self.data.holds(rows) | self.stated.holds(rows))
        return rows[free & after & ~before], rows[free & before & ~after]


@dataclass
class Database:
    """Stores of all predicates, and their given facts; `log` has the inverse of each step of the current update.

    If all facts of a predicate are given, `Base.data` is the store itself.
    """

    context: Context
    base: dict[str, Base]
    log: list[Callable[[], object]] = field(default_factory=list)

    @property
    def stores(self) -> Mapping[str, Store]:
        """Facts by predicate."""
        return self.context.stores

    def append(self, store: Store, rows: Rows) -> None:
        """Add facts that are not in the store."""
        if len(rows):
            self.context.work.pay(len(rows))
            store.append(rows)
            self.log.append(lambda: store.remove(rows))

    def remove(self, store: Store, rows: Rows) -> None:
        """Remove facts that are in the store."""
        if len(rows):
            self.context.work.pay(len(rows))
            store.remove(rows)
            self.log.append(lambda: store.append(rows))

    def change(self, predicate: str, change: Change) -> None:
        """Apply a change to the facts of a predicate."""
        self.remove(self.stores[predicate], change.removed)
        self.append(self.stores[predicate], change.added)

    @contextmanager
    def before(self, changes: Mapping[str, Change]) -> Iterator[None]:
        """Context in which predicates have the facts that they had before some changes."""
        for predicate, change in changes.items():
            self.change(predicate, Change(change.removed, change.added))
        try:
            yield
        finally:
            for predicate, change in changes.items():
                self.change(predicate, change)

    def given(self, predicate: str) -> Rows:
        """Given facts of a predicate."""
        base = self.base.get(predicate)
        return base.rows() if base else np.empty((0, self.stores[predicate].arity), dtype=np.int64)

    def is_given(self, predicate: str, rows: Rows) -> Flags:
        """Mask of the facts of a predicate that are given."""
        base = self.base.get(predicate)
        return base.holds(rows) if base else np.zeros(len(rows), dtype=np.bool_)
