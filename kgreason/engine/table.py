"""Facts as typed columns over dictionary-coded values: what goes into an engine and what comes out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from kgreason.engine.symbols import Symbols
from kgreason.lang.values import Value

Codes = npt.NDArray[np.int64]


class Kind(IntEnum):
    """Type of a column. The data of every kind is an int64 array, so that kernels see one type.

    INT holds the integer, DOUBLE the bit pattern of the double (never that of -0.0 or NaN), STRING the code
    of the string in the table's `Symbols`, BOOL 0 or 1, DATE microseconds since 1970-01-01, SET and LIST the code
    of the collection in the `Symbols`.

    ANY is for columns that can hold labelled nulls, alone or beside values of any type: codes of values in
    the `Symbols`. There a string has the same code as in a STRING column, and an integer the same as the double
    that equals it.
    """

    INT = 0
    DOUBLE = 1
    STRING = 2
    BOOL = 3
    DATE = 4
    SET = 5
    LIST = 6
    ANY = 7


@dataclass(frozen=True)
class Table:
    """Rows of one predicate, column by column, each row once.

    Attributes
    ----------
    kinds
        One per column.
    columns
        int64 arrays of the same length, coded as `Kind` says.
    length
        Number of rows; needed because a predicate may have no columns.
    """

    kinds: tuple[Kind, ...]
    columns: tuple[Codes, ...]
    length: int

    @property
    def arity(self) -> int:
        """Number of columns."""
        return len(self.kinds)


@dataclass(frozen=True)
class Facts:
    """A set of facts: a table for each predicate, and the symbols that its strings are coded by."""

    tables: Mapping[str, Table]
    symbols: Symbols = field(default_factory=Symbols)

    @classmethod
    def from_rows(cls, rows: Mapping[str, Iterable[Sequence[Value]]]) -> Facts:
        """Build from Python values; repeated rows count once.

        Raises
        ------
        TypeError
            If a column mixes types (integers and doubles may meet: the column is then DOUBLE).

        Examples
        --------
        >>> facts = Facts.from_rows({"own": [("a", "b", 0.6), ("b", "c", 1)]})
        >>> sorted(facts.rows("own"))
        [('a', 'b', 0.6), ('b', 'c', 1.0)]
        """
        symbols = Symbols()
        tables = {}
        for predicate, given in rows.items():
            unique = list(dict.fromkeys(tuple(row) for row in given))
            columns = list(zip(*unique, strict=True))
            coded = [column(values, symbols) for values in columns]
            tables[predicate] = Table(tuple(k for k, _ in coded), tuple(c for _, c in coded), len(unique))
        return cls(tables, symbols)

    def rows(self, predicate: str) -> Iterator[tuple[Value, ...]]:
        """Iterate over the facts of a predicate as Python values."""
        table = self.tables[predicate]
        if not table.kinds:
            return iter([()] * table.length)
        decoded = [
            decode(kind, data, self.symbols) for kind, data in zip(table.kinds, table.columns, strict=True)
        ]
        return zip(*decoded, strict=True)

    def count(self, predicate: str) -> int:
        """Count the facts of a predicate, 0 if it has none."""
        table = self.tables.get(predicate)
        return table.length if table else 0


def column(values: Sequence[Value], symbols: Symbols) -> tuple[Kind, Codes]:
    """Code Python values as one column; strings enter `symbols`."""
    types = {type(v) for v in values}
    if types <= {int}:
        return Kind.INT, np.array(values, dtype=np.int64)
    if types <= {int, float}:
        return Kind.DOUBLE, doubles(np.array(values, dtype=np.float64))
    if types == {bool}:
        return Kind.BOOL, np.array(values, dtype=np.int64)
    if types == {str}:
        return Kind.STRING, symbols.encode([str(v) for v in values])
    raise TypeError(f"a column mixes values of types {', '.join(sorted(t.__name__ for t in types))}")


def doubles(values: npt.NDArray[np.float64]) -> Codes:
    """Code doubles as bit patterns; -0.0 becomes 0.0 so that equal values have equal codes."""
    return np.ascontiguousarray(values + 0.0).view(np.int64)


def decode(kind: Kind, data: Codes, symbols: Symbols) -> list[Value]:
    """Python values of a column."""
    if kind is Kind.INT:
        return list(data.tolist())
    if kind is Kind.DOUBLE:
        return list(np.ascontiguousarray(data).view(np.float64).tolist())
    if kind is Kind.BOOL:
        return [bool(v) for v in data.tolist()]
    return list(symbols.decode(data))
