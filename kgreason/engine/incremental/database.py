"""The facts of a program, given and derived, with all edits of one update to be undone if it fails."""

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
    """The facts of one predicate that are given, not derived.

    Parameters
    ----------
    data
        Those that may be edited.
    stated
        Those that the program states.
    ends
        For each code of a vertex, the number of edge ends that it is; `None` where edges do not matter.
    """

    def __init__(self, data: Store, stated: Rows, ends: npt.NDArray[np.int64] | None) -> None:
        self.data = data
        self.stated = Store(data.arity, stated)
        self.ends = ends

    def holds(self, rows: Rows) -> Flags:
        """Which facts are given."""
        return self.data.holds(rows) | self.otherwise(rows)

    def otherwise(self, rows: Rows) -> Flags:
        """Which facts are given whatever the data are."""
        found = self.stated.holds(rows)
        if self.ends is not None:
            inside = rows[:, 0] < len(self.ends)
            found[inside] |= self.ends[rows[inside, 0]] > 0
        return found

    def rows(self) -> Rows:
        """All of them."""
        pieces = [self.data.rows(Part.ALL), self.stated.rows(Part.ALL)]
        if self.ends is not None:
            pieces.append(np.flatnonzero(self.ends > 0).reshape(-1, 1))
        return distinct(np.concatenate(pieces))

    def count_ends(self, codes: npt.NDArray[np.int64], by: int) -> tuple[Rows, Rows]:
        """Count more or fewer ends of edges; returns the vertices that came, and those that went."""
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
    """Stores of all predicates and what is given of them.

    Attributes
    ----------
    context
        The stores, by predicate, and what it takes to read them.
    base
        Given facts by predicate; where they are all facts, `Base.data` is the very store.
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
        """Remember how to undo a step of the present update."""
        self._undo.append(undo)

    def begin(self) -> None:
        """Begin an update: forget how to undo the last one."""
        self._undo.clear()

    def undo(self) -> None:
        """Take all steps of the present update back, the last one first."""
        while self._undo:
            self._undo.pop()()

    def append(self, store: Store, rows: Rows) -> None:
        """Add facts that a store lacks."""
        if len(rows):
            self.context.work.pay(len(rows))
            store.append(rows)
            self.later(lambda: store.remove(rows))

    def remove(self, store: Store, rows: Rows) -> None:
        """Remove facts that a store holds."""
        if len(rows):
            self.context.work.pay(len(rows))
            store.remove(rows)
            self.later(lambda: store.append(rows))

    def change(self, predicate: str, change: Change) -> None:
        """Carry out a change of the facts of a predicate."""
        self.remove(self.stores[predicate], change.removed)
        self.append(self.stores[predicate], change.added)

    def rewind(self, changes: Mapping[str, Change]) -> None:
        """Bring predicates back to where they were before the present update."""
        for predicate, change in changes.items():
            self.change(predicate, Change(change.removed, change.added))

    def replay(self, changes: Mapping[str, Change]) -> None:
        """Take `rewind` back."""
        for predicate, change in changes.items():
            self.change(predicate, change)

    def given(self, predicate: str) -> Rows:
        """Given facts of a predicate."""
        base = self.base.get(predicate)
        return base.rows() if base else np.empty((0, self.stores[predicate].arity), dtype=np.int64)

    def is_given(self, predicate: str, rows: Rows) -> Flags:
        """Which facts of a predicate are given."""
        base = self.base.get(predicate)
        return base.holds(rows) if base else np.zeros(len(rows), dtype=np.bool_)
