"""Tables that are values of Python: rows, and mappings from names to columns."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np

from kgreason.data.raw import Column, Raw
from kgreason.data.values import CastError, arrow_column
from kgreason.errors import DataError
from kgreason.lang.values import Null

_FAMILIES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "a truth value"),
    ((int, float, np.number, Decimal), "a number"),
    ((str,), "a string"),
    ((date,), "a date"),
    ((tuple, list), "a list"),
    ((set, frozenset), "a set"),
)
"""Types of Python whose values may stand in one column, and what one of them is."""


def in_memory(name: str, names: Sequence[str], columns: Iterable[Column], *, named: bool = True) -> Raw:
    """Columns of a table of the calling program."""
    return Raw(name, tuple(names), tuple(columns), lambda _: None, named=named, memory=True, typed=True)


def from_columns(columns: Mapping[Any, Any], name: str) -> Raw:
    """Read a mapping from names to columns.

    Raises
    ------
    DataError
        If a value is no column, or columns differ in length.
    """
    for title, values in columns.items():
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            what = f"a column is a list of values, not of type {type(values).__name__}"
            raise DataError(name, what, column=str(title), hint="give a list, or an array")
    listed = {str(title): list(values) for title, values in columns.items()}
    length = len(next(iter(listed.values()), ()))
    for title, values in listed.items():
        if len(values) != length:
            what = f"{len(values)} values where the first column has {length}"
            raise DataError(name, what, column=title, hint="give all columns the same length")
    return in_memory(name, list(listed), [array(name, values, title) for title, values in listed.items()])


def from_rows(rows: Sequence[object], name: str) -> Raw:
    """Read rows; a value that is no row is one of a single column.

    Raises
    ------
    DataError
        If they differ in length, or one is a mapping.
    """
    for number, row in enumerate(rows, 1):
        if isinstance(row, Mapping):
            raise DataError(
                name, f"row {number} is a mapping", hint="pandas.DataFrame(rows) makes a table of such rows"
            )
    tuples = [tuple(row) if isinstance(row, (tuple, list, np.ndarray)) else (row,) for row in rows]
    width = len(tuples[0]) if tuples else 0
    for number, row in enumerate(tuples, 1):
        if len(row) != width:
            raise DataError(
                name,
                f"row {number}: {len(row)} values where the first row has {width}",
                hint="give each row a value for each column; None is a missing one",
            )
    columns = [array(name, column) for column in zip(*tuples, strict=True)]
    return in_memory(name, [f"column{i + 1}" for i in range(width)], columns, named=False)


def array(name: str, values: Sequence[object], column: str | None = None) -> Column:
    """Column of Python values; those that Arrow has one plain type for are not looked at one by one."""
    import pyarrow as pa

    _check_types(name, values, column)
    try:
        found = pa.array(values)
        tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string)
        if any(test(found.type) for test in tests):
            return found
    except UnicodeEncodeError as error:
        raise DataError(
            name,
            f"{error.object!a} is no Unicode text",
            column=column,
            hint="replace the lone surrogates in it",
        ) from None
    except (pa.ArrowInvalid, TypeError, OverflowError):
        pass  # integers beside doubles, or values that `arrow_column` names
    try:
        return arrow_column(values)
    except CastError as error:
        message = f"row {error.row + 1}: {error.value} is not {error.expected}"
        raise DataError(name, message, column=column, hint=error.hint) from error


def _family(kind: type) -> str | None:
    return next((words for kinds, words in _FAMILIES if issubclass(kind, kinds)), None)


def _check_types(name: str, values: Sequence[object], column: str | None) -> None:
    """Refuse values of different types: a file may mean text by them, a Python program did not."""
    types = set(map(type, values))
    families = {kind: family for kind in types if (family := _family(kind)) is not None}
    if len(set(families.values())) < 2 or Null in types:  # beside nulls the rules, too, mix types
        return
    first = next(family for v in values if (family := families.get(type(v))))
    row, value = next((i, v) for i, v in enumerate(values, 1) if families.get(type(v), first) != first)
    raise DataError(
        name,
        f"row {row}: {reprlib.repr(value)} is {families[type(value)]} where the rows before have {first}",
        column=column,
        hint="a column has values of one type; str(...) makes strings of them",
    )
