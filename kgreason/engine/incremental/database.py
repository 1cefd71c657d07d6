"""Database of given and derived facts, with rollback of failed updates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.engine.incremental.changing_relations import Change, Flags, Store, distinct
from kgreason.engine.incremental.rule_queries import Context
from kgreason.engine.plan.ir import Part
from kgreason.engine.relations.rows import Rows


class Base:
    """Given facts of one predicate.

    Parameters
    ----------
    data
        Editable facts.
    stated
        Facts stated in the program.
    ends
        Number of edge ends at each vertex, by code; `None` if the predicate is not one of vertices.
    """

    def __init__(self, data: Store, stated: Rows, ends: npt.NDArray[np.int64] | None) -> None:
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
        pieces = [self.data.rows(Part.ALL), self.stated.rows(Part.ALL)]
        if self.ends is not None:
            pieces.append(np.flatnonzero(self.ends > 0).reshape(-1, 1))
        return distinct(np.concatenate(pieces))

    def count_ends(self, codes: npt.NDArray[np.int64], by: int) -> tuple[Rows, Rows]:
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
    """Stores of all predicates, and their given facts.

    Attributes
    ----------
    context
        Stores by predicate, with the context of queries.
    base
        Given facts by predicate; if all facts are given, `Base.data` is the store itself.
    """

    context: Context
    base: dict[str, Base]

    def __post_init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    @property
    def stores(self) -> Mapping[str, Store]:
        """Facts by predicate."""
        return self.context.stores

    def later(self, undo: Callable[[], None]) -> None:
        """Register the inverse of a step of the current update."""
        self._undo.append(undo)

    def begin(self) -> None:
        """Begin an update; discards the undo log."""
        self._undo.clear()

    def undo(self) -> None:
        """Roll back the current update, in reverse order."""
        while self._undo:
            self._undo.pop()()

    def append(self, store: Store, rows: Rows) -> None:
        """Add facts that are not in the store."""
        if len(rows):
            self.context.work.pay(len(rows))
            store.append(rows)
            self.later(lambda: store.remove(rows))

    def remove(self, store: Store, rows: Rows) -> None:
        """Remove facts that are in the store."""
        if len(rows):
            self.context.work.pay(len(rows))
            store.remove(rows)
            self.later(lambda: store.append(rows))

    def change(self, predicate: str, change: Change) -> None:
        """Apply a change to the facts of a predicate."""
        self.remove(self.stores[predicate], change.removed)
        self.append(self.stores[predicate], change.added)

    def rewind(self, changes: Mapping[str, Change]) -> None:
        """Restore predicates to their state before the current update."""
        for predicate, change in changes.items():
            self.change(predicate, Change(change.removed, change.added))

    def replay(self, changes: Mapping[str, Change]) -> None:
        """Revert `rewind`."""
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
