"""Programs that are evaluated anew after each edit, because nulls come about in them, and edits of whole tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from kgreason.engine.incremental.change import Change
from kgreason.engine.incremental.store import Store, distinct
from kgreason.engine.relation import Rows
from kgreason.engine.seminaive import Chase, table
from kgreason.engine.symbols import Symbols, key
from kgreason.engine.table import Codes, Facts, Kind, Table, any_codes, converted, decode
from kgreason.lang.values import Value
from kgreason.plan import ir
from kgreason.plan.kinds import Kinds
from kgreason.plan.types import join


class Anew:
    """A finished evaluation, of which only the given facts and those of the goals are kept."""

    def __init__(self, chase: Chase, kinds: Kinds, own: Facts, goals: Iterable[str]) -> None:
        self.given = own
        self.tables = {
            g: table(g, chase.relations[g], chase.plan.kinds[g], kinds, own.symbols) for g in goals
        }

    def own(self) -> Facts:
        """The given facts."""
        return self.given

    def count(self, predicate: str) -> int:
        """Count the facts of a goal."""
        return self.tables[predicate].length

    def table(self, predicate: str) -> Table:
        """Facts of a goal."""
        return self.tables[predicate]


def without_nulls(plan: ir.Plan) -> bool:
    """Whether no value can be a labelled null, or of a type that only the value tells."""
    kinds = [*plan.kinds.values(), *(rule.kinds.values() for s in plan.strata for rule in s.rules)]
    return not any(Kind.ANY in some for some in kinds)


def rows_of(given: Table) -> Rows:
    """Codes of a table, row by row."""
    rows = np.empty((given.length, given.arity), dtype=np.int64)
    for i, column in enumerate(given.columns):
        rows[:, i] = column
    return rows


def from_rows(rows: Rows, kinds: Collection[Kind]) -> Table:
    """Table of coded rows."""
    return Table(tuple(kinds), tuple(np.ascontiguousarray(c) for c in rows.T), len(rows))


def together(old: Table, new: Table, symbols: Symbols) -> Table | None:
    """Rows of both tables, each once; `None` if the types of a column do not fit."""
    kinds = [join(a, b) for a, b in zip(old.kinds, new.kinds, strict=True)]
    if None in kinds:
        return None
    both = [_rewritten(given, [k for k in kinds if k is not None], symbols) for given in (old, new)]
    return from_rows(distinct(np.concatenate(both)), [k for k in kinds if k is not None])


def apart(old: Table, new: Table, symbols: Symbols) -> Table:
    """Rows of the old table that are not, by their values, in the new one."""
    gone = {tuple(map(key, row)) for row in _values(new, symbols)}
    kept = np.array([tuple(map(key, row)) not in gone for row in _values(old, symbols)], dtype=np.bool_)
    return from_rows(rows_of(old)[kept], old.kinds)


def difference(old: Table, new: Table) -> tuple[Rows, Rows]:
    """Rows that are only in the new table, and those only in the old one; both are coded alike."""
    change = Change.towards(rows_of(new), Store(old.arity, rows_of(old)))
    return change.added, change.removed


def _values(given: Table, symbols: Symbols) -> Iterable[tuple[Value, ...]]:
    if not given.columns:
        return [()] * given.length
    columns = (decode(k, c, symbols) for k, c in zip(given.kinds, given.columns, strict=True))
    return zip(*columns, strict=True)


def _rewritten(given: Table, kinds: list[Kind], symbols: Symbols) -> Rows:
    rows = rows_of(given)
    for i, (kind, target) in enumerate(zip(given.kinds, kinds, strict=True)):
        if kind is not target:
            rows[:, i] = _in_data(given.columns[i], kind, target, symbols)
    return rows


def _in_data(column: Codes, kind: Kind, target: Kind, symbols: Symbols) -> Codes:
    """Codes of another kind; in data a double stays one among values of any type."""
    if target is Kind.ANY and kind is Kind.DOUBLE:
        return np.array([symbols.intern(v) for v in decode(kind, column, symbols)], dtype=np.int64)
    return (
        any_codes(column, kind, symbols) if target is Kind.ANY else converted(column, kind, target, symbols)
    )
