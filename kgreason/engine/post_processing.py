"""Post-processing of output facts, as declared by ``@post``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kgreason.engine.chase.frontiers import NESTING, nulls_in
from kgreason.engine.relations.fact_tables import CODED, Facts, Kind, Table
from kgreason.engine.relations.symbols import Codes, Symbols, once_each
from kgreason.language.check.checked_program import CheckedProgram, Post


def apply_posts(program: CheckedProgram, facts: Facts) -> Facts:
    """Apply the ``@post`` annotations of a program to its outputs, in textual order.

    Processed facts are sorted by their values unless an ``orderby`` gives another order.
    """
    tables = dict(facts.tables)
    for predicate in dict.fromkeys(post.predicate for post in program.posts):
        if predicate in tables and tables[predicate].length:
            posts = [post for post in program.posts if post.predicate == predicate]
            tables[predicate] = _processed(tables[predicate], posts, facts.symbols)
    return Facts(tables, facts.symbols)


def _processed(table: Table, posts: Sequence[Post], symbols: Symbols) -> Table:
    """Loop invariant: `rows` are the remaining rows, in order."""
    columns = _Columns(table, symbols)
    rows = np.arange(table.length)
    rows = rows[columns.sorted(rows, range(1, table.arity + 1))]
    for post in sorted(posts, key=lambda p: p.operation != "prelimit"):
        rows = rows[_kept(columns, rows, post)]
    return Table(table.kinds, tuple(c[rows] for c in table.columns), len(rows))


def _kept(columns: _Columns, rows: Codes, post: Post) -> Codes:
    """Indexes into `rows` of the rows that remain after an operation, in their new order."""
    operation, arguments = post.operation, post.arguments
    every = range(1, columns.table.arity + 1)
    if operation == "orderby":
        return columns.sorted(rows, arguments)
    if operation in ("limit", "prelimit"):
        return np.arange(min(arguments[0], len(rows)))
    if operation == "certain":
        return np.flatnonzero(columns.certain(rows))
    if operation == "unique":
        first = np.unique(columns.numbers(rows, arguments or every), return_index=True)[1]
        return np.sort(first)
    if operation in ("argmin", "argmax"):
        values, group = arguments[:1], arguments[1:]
    else:
        values, group = arguments, tuple(p for p in every if p not in arguments)
    best = _best(
        columns.numbers(rows, group), columns.numbers(rows, values), greatest=operation.endswith("max")
    )
    return np.flatnonzero(best)


def _best(group: Codes, value: Codes, *, greatest: bool) -> Codes:
    """Mark the rows whose value is the greatest (or least) of its group."""
    value = value if greatest else -value
    top = np.full(int(group.max(initial=-1)) + 1, np.iinfo(np.int64).min)
    np.maximum.at(top, group, value)
    return np.asarray(value == top[group])


class _Columns(NamedTuple):
    """Columns of a table as numbers with the order of the values; positions count from 1."""

    table: Table
    symbols: Symbols

    def _order(self, position: int, rows: Codes) -> Codes:
        """Dense ranks of the values of a column, in reverse for a negative position."""
        kind, data = self.table.kinds[abs(position) - 1], self.table.columns[abs(position) - 1][rows]
        values: npt.NDArray[Any] = self.symbols.ranks()[data] if kind in CODED else data
        if kind is Kind.DOUBLE:
            values = np.ascontiguousarray(data).view(np.float64)
        dense = np.unique(values, return_inverse=True)[1].reshape(-1)
        return -dense if position < 0 else dense

    def sorted(self, rows: Codes, positions: Sequence[int]) -> Codes:
        """Indexes into `rows`, sorted lexicographically by some columns; the sort is stable."""
        if not positions:
            return np.arange(len(rows))
        return np.lexsort([self._order(p, rows) for p in reversed(positions)])

    def numbers(self, rows: Codes, positions: Sequence[int]) -> Codes:
        """Dense ranks of the combinations of values."""
        found = np.zeros(len(rows), dtype=np.int64)
        for position in positions:
            dense = self._order(position, rows)
            combined = found * (int(dense.max(initial=0)) + 1) + dense
            found = np.unique(combined, return_inverse=True)[1].reshape(-1)
        return found

    def certain(self, rows: Codes) -> Codes:
        """Mark the rows without labelled nulls."""
        marks = np.ones(len(rows), dtype=bool)
        for kind, data in zip(self.table.kinds, self.table.columns, strict=True):
            if kind in NESTING:
                marks &= once_each(data[rows], self._without_nulls) > 0
        return marks

    def _without_nulls(self, codes: Codes) -> list[int]:
        return [next(nulls_in(v), None) is None for v in self.symbols.values(codes.tolist())]
