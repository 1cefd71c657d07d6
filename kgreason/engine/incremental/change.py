"""What an update does to the facts of predicates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgreason.engine.incremental.store import Store
from kgreason.engine.rows import Rows
from kgreason.engine.table import Kind, Table
from kgreason.plan.ir import Part
from kgreason.records import dataclass


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


def from_rows(rows: Rows, kinds: Sequence[Kind]) -> Table:
    """Table of coded rows."""
    return Table(tuple(kinds), tuple(np.ascontiguousarray(c) for c in rows.T), len(rows))
