"""Facts as typed columns over dictionary-coded values, and the coding of values by the kind of their column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kgreason.base import memory
from kgreason.base.errors import EvaluationError, InexactError
from kgreason.base.printable import Displayed
from kgreason.engine.relations.rows import Rows
from kgreason.engine.relations.symbols import Codes, Symbols, once_each, to_doubles, whole
from kgreason.language.check.checked_program import CheckedAtom
from kgreason.language.values import EXACT, Null, Value, as_double, inexact

# values of an expression: float64 for DOUBLE, bool for BOOL, else int64 as in `Kind`; one per row or one for all
Values: TypeAlias = npt.NDArray[Any]
PIECE = 1 << 16  # rows converted to Python values at once
# types of columns in which equality in Python can differ from equality in the rule language
AMBIGUOUS = frozenset({bool, tuple, frozenset, Null, date, datetime})


class Kind(IntEnum):
    """Kind of a column. Data of every kind are int64 arrays, so that kernels handle a single type.

    INT holds the integer, DOUBLE the bit pattern of the double (never that of -0.0 or NaN), STRING the code of the
    string in the table's `Symbols`, BOOL 0 or 1, DATE microseconds since 1970-01-01, SET and LIST the code of the
    collection in the `Symbols`.

    ANY is for columns that can hold labelled nulls or values of mixed types: codes of values in the `Symbols`. A string
    has the same code as in a STRING column. During evaluation, a double that equals an integer has the code of the
    integer; in data and results they have different codes.
    """

    INT = 0
    DOUBLE = 1
    STRING = 2
    BOOL = 3
    DATE = 4
    SET = 5
    LIST = 6
    ANY = 7


# kinds of columns that hold codes of `Symbols`
CODED = frozenset({Kind.STRING, Kind.SET, Kind.LIST, Kind.ANY})
NESTED = frozenset({Kind.LIST, Kind.SET, Kind.ANY})  # kinds of which Arrow may have no type


class Table(NamedTuple):
    """Distinct rows of one predicate, stored by column.

    Attributes
    ----------
    kinds
        Kind of each column.
    columns
        int64 arrays of equal length, coded as described by `Kind`.
    length
        Number of rows; stored because a predicate may have no columns.
    """

    kinds: tuple[Kind, ...]
    columns: tuple[Codes, ...]
    length: int

    @classmethod
    def of(cls, kinds: Sequence[Kind], rows: Codes) -> Table:
        """Table of coded rows, shape (length, arity)."""
        return cls(tuple(kinds), tuple(np.ascontiguousarray(c) for c in rows.T), len(rows))

    @property
    def arity(self) -> int:
        """Number of columns."""
        return len(self.kinds)

    def matrix(self) -> Codes:
        """Coded rows, shape (length, arity)."""
        rows = np.empty((self.length, self.arity), dtype=np.int64)
        for i, column in enumerate(self.columns):
            rows[:, i] = column
        return rows

    def converted(self, kinds: Sequence[Kind], symbols: Symbols) -> Table:
        """Convert the rows to wider kinds; see the function `converted`."""
        columns = zip(self.columns, self.kinds, kinds, strict=True)
        return Table(tuple(kinds), tuple(converted(c, k, t, symbols) for c, k, t in columns), self.length)


@dataclass(frozen=True)
class Facts(Displayed):
    """Facts: a table per predicate, and the symbol table of all values."""

    tables: Mapping[str, Table]
    symbols: Symbols = field(default_factory=Symbols)

    def __repr__(self) -> str:
        return f"<Facts: {', '.join(f'{p} {self.count(p):,}' for p in self.tables) or 'none'}>"

    @classmethod
    def from_rows(cls, rows: Mapping[str, Iterable[Sequence[Value]]]) -> Facts:
        """Build from Python values; duplicate rows are dropped.

        Raises
        ------
        TypeError
            If a column mixes types (a column of integers and doubles is allowed and becomes DOUBLE).
        InexactError
            If an integer in a column of doubles is not representable as a double.

        Examples
        --------
        >>> facts = Facts.from_rows({"own": [("a", "b", 0.6), ("b", "c", 1)]})
        >>> sorted(facts.rows("own"))
        [('a', 'b', 0.6), ('b', 'c', 1.0)]
        """
        symbols = Symbols()
        return cls({p: _table([tuple(row) for row in given], symbols) for p, given in rows.items()}, symbols)

    def rows(self, predicate: str) -> Iterator[tuple[Value, ...]]:
        """Iterate over the facts of a predicate as Python values."""
        table = self.tables[predicate]
        if not table.kinds:
            yield from [()] * table.length
            return
        for start in range(0, table.length, PIECE):
            memory.look()
            columns = [column[start : start + PIECE] for column in table.columns]
            yield from zip(*decoded(table.kinds, columns, self.symbols), strict=True)

    def count(self, predicate: str) -> int:
        """Number of facts of a predicate, 0 if it has none."""
        table = self.tables.get(predicate)
        return table.length if table else 0


def _table(rows: list[tuple[Value, ...]], symbols: Symbols) -> Table:
    ambiguous = {type(v) for row in rows for v in row} & AMBIGUOUS
    if not ambiguous:
        rows = list(dict.fromkeys(rows))
    coded = [column(values, symbols) for values in zip(*rows, strict=True)]
    kinds, columns, length = tuple(k for k, _ in coded), tuple(c for _, c in coded), len(rows)
    if ambiguous:  # 1 == True in Python, so that equality is decided by codes
        matrix = np.column_stack(columns)
        first = np.sort(np.unique(matrix, axis=0, return_index=True)[1])
        columns, length = tuple(np.ascontiguousarray(c[first]) for c in columns), len(first)
    return Table(kinds, columns, length)


def column(values: Sequence[Value], symbols: Symbols) -> tuple[Kind, Codes]:
    """Code Python values as one column; strings, lists, sets and nulls are added to `symbols`.

    Raises TypeError if the column mixes types, except integers with doubles and labelled nulls with any type, or holds
    a value outside the rule language.
    """
    types = {type(v) for v in values}
    if types <= {int}:
        return Kind.INT, np.array(values, dtype=np.int64)
    if types <= {int, float}:
        return Kind.DOUBLE, doubles(np.array(to_doubles(values), dtype=np.float64))
    if types == {bool}:
        return Kind.BOOL, np.array(values, dtype=np.int64)
    if types == {str}:
        return Kind.STRING, symbols.encode([str(v) for v in values])
    if types <= {datetime, date}:
        return Kind.DATE, dates(values)
    if types in ({tuple}, {frozenset}) or Null in types:
        if Null in types and float in types:
            values = to_doubles(values)
        codes = np.fromiter(map(symbols.intern, values), dtype=np.int64, count=len(values))
        return Kind.ANY if Null in types else Kind.LIST if types == {tuple} else Kind.SET, codes
    raise TypeError(f"a column mixes values of types {', '.join(sorted(t.__name__ for t in types))}")


def dates(values: Sequence[Value]) -> Codes:
    """Code dates as microseconds since 1970-01-01; TypeError for a date with a time zone."""
    if any(isinstance(v, datetime) and v.tzinfo is not None for v in values):
        raise TypeError("a date of the rule language has no time zone")
    return np.array(values, dtype="datetime64[us]").view(np.int64)


def doubles(values: npt.NDArray[np.float64]) -> Codes:
    """Code doubles as bit patterns; -0.0 becomes 0.0 so that equal values have equal codes."""
    return np.ascontiguousarray(values + 0.0).view(np.int64)


def as_doubles(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Convert numbers to doubles; InexactError for an integer that no double represents."""
    found = values.astype(np.float64)
    if values.dtype == np.int64 and not representable(values):
        most = found == 2.0**63  # 2^63 is not a 64-bit integer
        wrong = most | (np.where(most, 0.0, found).astype(np.int64) != values)
        if wrong.any():
            raise inexact(int(values[wrong][0]))
    return found


def representable(values: Codes) -> bool:
    """Whether all integers are small enough to be exact as doubles."""
    return not values.size or bool(values.max() <= EXACT and values.min() >= -EXACT)


def decode(kind: Kind, data: Codes, symbols: Symbols) -> list[Value]:
    """Python values of a column."""
    if kind is Kind.INT:
        return list(data.tolist())
    if kind is Kind.DOUBLE:
        return list(np.ascontiguousarray(data).view(np.float64).tolist())
    if kind is Kind.BOOL:
        return [bool(v) for v in data.tolist()]
    if kind is Kind.DATE:
        return list(np.ascontiguousarray(data).view("datetime64[us]").tolist())
    return symbols.values(data.tolist())


def decoded(kinds: Sequence[Kind], columns: Sequence[Codes], symbols: Symbols) -> list[list[Value]]:
    """Python values of some columns."""
    return [decode(k, c, symbols) for k, c in zip(kinds, columns, strict=True)]


def any_codes(data: Codes, kind: Kind, symbols: Symbols) -> Codes:
    """Codes of a column converted to kind ANY, where a double that equals an integer becomes that integer."""
    if kind in CODED:
        return data
    return once_each(data, lambda found: [symbols.intern(whole(v)) for v in decode(kind, found, symbols)])


def converted(data: Codes, kind: Kind, target: Kind, symbols: Symbols) -> Codes:
    """Convert a column to the same kind, DOUBLE or ANY; InexactError for an integer that no double represents."""
    if target is Kind.ANY:
        return symbols.unified(data) if kind is Kind.ANY else any_codes(data, kind, symbols)
    if kind is target:
        return data
    return doubles(as_doubles(data))


def code(value: Value, kind: Kind, symbols: Symbols) -> int:
    """Code of a constant at a position of some kind; InexactError for an integer that no double represents."""
    if kind is Kind.DOUBLE:
        return int(doubles(np.array([as_double(value)], dtype=np.float64))[0])  # type: ignore[arg-type]
    if kind is Kind.DATE:
        return int(dates([value])[0])
    if kind is Kind.ANY:
        return symbols.intern(whole(value))
    return int(value) if kind in (Kind.INT, Kind.BOOL) else symbols.intern(value)  # type: ignore[arg-type]


def stated(facts: Sequence[CheckedAtom], kinds: Sequence[Kind], symbols: Symbols) -> Rows:
    """Coded rows of the facts of one predicate that a program states.

    Raises EvaluationError if an integer in a column of doubles is not representable as a double.
    """
    rows = np.empty((len(facts), len(kinds)), dtype=np.int64)
    for row, fact in zip(rows, facts, strict=True):
        try:
            row[:] = [code(t.value, k, symbols) for t, k in zip(fact.terms, kinds, strict=True)]  # type: ignore[union-attr]
        except InexactError as error:
            message = f"{error.message}, in the fact {fact}"
            raise EvaluationError(message, span=fact.span, hint=error.hint) from None
    return rows


def sought(value: Value, kind: Kind, symbols: Symbols) -> int:
    """Code of a constant to look up; an unused code if no value at the position can equal it."""
    try:
        return code(value, kind, symbols)
    except InexactError:
        return int(np.float64(np.nan).view(np.int64))


def coded(values: Values, kind: Kind, target: Kind, symbols: Symbols) -> Codes:
    """Values as codes of a column of kind `target`."""
    if target is Kind.DOUBLE:
        return doubles(as_doubles(np.atleast_1d(values))).reshape(values.shape)
    if kind is Kind.BOOL:
        values = values.astype(np.int64)
    if target is Kind.ANY and kind is not Kind.ANY:
        own = doubles(np.atleast_1d(values)).reshape(values.shape) if kind is Kind.DOUBLE else values
        return any_codes(own, kind, symbols)
    return values


def widened(values: Values, kind: Kind, target: Kind, symbols: Symbols) -> Values:
    """Convert values of an expression to the wider kind `target`."""
    if kind is target:
        return values
    return as_doubles(values) if target is Kind.DOUBLE else coded(values, kind, target, symbols)


def dtype(kind: Kind) -> npt.DTypeLike:
    """NumPy type of values of a kind."""
    return {Kind.DOUBLE: np.float64, Kind.BOOL: np.bool_}.get(kind, np.int64)


def encoded(values: Sequence[Value], kind: Kind, symbols: Symbols) -> Values:
    """Python values as an array of values."""
    if kind is Kind.DATE:
        return dates(values)
    if kind in (Kind.INT, Kind.DOUBLE, Kind.BOOL):
        return np.array(values, dtype=dtype(kind))
    if kind is Kind.STRING:
        return symbols.encode(values)  # type: ignore[arg-type]
    if kind is Kind.ANY:
        values = list(map(whole, values))
    return np.fromiter(map(symbols.intern, values), dtype=np.int64, count=len(values))


def distinct(columns: Sequence[Codes]) -> tuple[list[Codes], npt.NDArray[np.intp]]:
    """Distinct rows of some columns, by column, and the index of each row among them."""
    values, which = np.unique(columns[0], return_inverse=True)
    rows = [values]
    for column in columns[1:]:
        values, inverse = np.unique(column, return_inverse=True)
        pairs, which = np.unique(which * len(values) + inverse, return_inverse=True)
        rows = [*(r[pairs // len(values)] for r in rows), values[pairs % len(values)]]
    return rows, which
