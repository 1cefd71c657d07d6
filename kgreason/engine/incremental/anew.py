"""Evaluations anew after edits, because nulls come about or much changes, and edits of whole tables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.engine.incremental.store import Flags
from kgreason.engine.incremental.update import Updating
from kgreason.engine.rows import first_rows
from kgreason.engine.seminaive import Chase, table
from kgreason.engine.symbols import Symbols, key
from kgreason.engine.table import Codes, Facts, Kind, Table, any_codes, converted, decode
from kgreason.lang.values import Value
from kgreason.plan import ir
from kgreason.plan.kinds import Kinds
from kgreason.plan.types import join


class Anew:
    """A finished evaluation, of which the given facts and those of the goals are kept.

    Without nulls the others are kept, too, for small edits, which want them in another form.
    """

    def __init__(
        self, chase: Chase, kinds: Kinds, program: CheckedProgram, own: Facts, goals: Iterable[str]
    ) -> None:
        self.given = own
        self.tables = {
            g: table(g, chase.relations[g], chase.plan.kinds[g], kinds, own.symbols) for g in goals
        }
        self.nulls = chase.nulls
        self.nulls.earlier = None  # one before is enough
        self._kept = (chase, kinds, program) if without_nulls(chase.plan) else None

    @property
    def size(self) -> int:
        """Number of given facts."""
        return sum(table.length for table in self.given.tables.values())

    def own(self) -> Facts:
        """The given facts."""
        return self.given

    def count(self, predicate: str) -> int:
        """Count the facts of a goal."""
        return self.tables[predicate].length

    def table(self, predicate: str) -> Table:
        """Facts of a goal."""
        return self.tables[predicate]

    def updating(self) -> Updating | None:
        """The same facts in the form that can be edited; `None` if there are nulls."""
        if self._kept is None:
            return None
        (chase, kinds, program), self._kept = self._kept, None  # facts are taken over one by one
        return Updating(chase, kinds, program, self.given)


def without_nulls(plan: ir.Plan) -> bool:
    """Whether no value can be a labelled null, or of a type that only the value tells."""
    kinds = [*plan.kinds.values(), *(rule.kinds.values() for s in plan.strata for rule in s.rules)]
    return not any(Kind.ANY in some for some in kinds)


def together(old: Table, new: Table, symbols: Symbols) -> Table:
    """Rows of both tables, whose types fit, each once."""
    joined = map(join, old.kinds, new.kinds)
    kinds = tuple(kind for kind in joined if kind is not None)
    one, other = (_rewritten(given, kinds, symbols) for given in (old, new))
    columns = tuple(np.concatenate(same) for same in zip(one, other, strict=True))
    return _some(kinds, columns, first_rows(columns)) if columns else max(old, new, key=lambda t: t.length)


def apart(old: Table, new: Table, symbols: Symbols, same: Callable[[Value], Hashable] = key) -> Table:
    """Rows of the old table that are not in the new one; values are compared by what `same` makes of them."""
    if old.kinds == new.kinds and (same is not key or Kind.ANY not in old.kinds):
        return unlike(old, new)
    mine, others = (
        [tuple(map(same, row)) for row in Facts({"": given}, symbols).rows("")] for given in (old, new)
    )
    gone = set(others)
    return _some(old.kinds, old.columns, np.array([row not in gone for row in mine], dtype=np.bool_))


def unlike(old: Table, new: Table) -> Table:
    """Rows of the old table that are not in the new one; both are coded alike."""
    if not old.columns:
        return Table((), (), 0 if new.length else old.length)
    columns = [np.concatenate(same) for same in zip(new.columns, old.columns, strict=True)]
    return _some(old.kinds, old.columns, first_rows(columns)[new.length :])


def _some(kinds: tuple[Kind, ...], columns: Sequence[Codes], keep: Flags) -> Table:
    return Table(kinds, tuple(column[keep] for column in columns), int(keep.sum()))


def _rewritten(given: Table, kinds: Sequence[Kind], symbols: Symbols) -> list[Codes]:
    return [
        column if kind is target else _in_data(column, kind, target, symbols)
        for column, kind, target in zip(given.columns, given.kinds, kinds, strict=True)
    ]


def _in_data(column: Codes, kind: Kind, target: Kind, symbols: Symbols) -> Codes:
    """Codes of another kind; in data a double stays one among values of any type."""
    if target is Kind.ANY and kind is Kind.DOUBLE:
        return np.array([symbols.intern(v) for v in decode(kind, column, symbols)], dtype=np.int64)
    return (
        any_codes(column, kind, symbols) if target is Kind.ANY else converted(column, kind, target, symbols)
    )
