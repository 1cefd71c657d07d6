"""Import and export of Arrow, pandas and Polars tables; import of any object with an Arrow table interface."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from kgreason.base.arrays import as_arrow, pa
from kgreason.base.errors import DataError
from kgreason.data.raw_table import Column, Raw
from kgreason.data.value_conversion import CastError, arrow_column, text
from kgreason.engine.relations.fact_tables import Facts, Kind
from kgreason.engine.relations.symbols import Codes, Symbols
from kgreason.language.values import Null, Value, ordered

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

INTERFACE = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")
"""By which libraries hand tables over: the Arrow PyCapsule interface, and the older one of DataFrames."""


def has_interface(obj: object) -> bool:
    """Whether an object implements one of the table interfaces."""
    return any(hasattr(obj, name) for name in INTERFACE)


def from_arrow(obj: Any, name: str) -> Raw:
    """Table from an Arrow Table or RecordBatch, or an object that exports one.

    Raises
    ------
    DataError
        If the exported object is not a table.
    """
    if isinstance(obj, pa.RecordBatch):
        obj = pa.Table.from_batches([obj])
    table = obj if isinstance(obj, pa.Table) else _taken(obj, name)
    check_types(name, table.schema)
    return in_memory(name, table.column_names, map(_without_dictionary, table.columns))


def from_frame(frame: Any, name: str) -> Raw:
    """Table from a DataFrame; its index is not a column."""
    names = [str(c) for c in frame.columns]
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (
        TypeError,
        ValueError,
        OverflowError,
        pa.ArrowNotImplementedError,
    ):  # TypeError: includes sparse columns
        series = [frame.iloc[:, i] for i in range(len(names))]
        cells = [s.astype(object).where(s.notna(), None).tolist() for s in series]
        return in_memory(name, names, [array(name, c, n) for c, n in zip(cells, names, strict=True)])
    check_types(name, table.schema)
    return in_memory(name, names, table.columns)


def check_types(name: str, schema: pa.Schema) -> None:
    """Reject library-specific types, whose stored values, such as period ordinals, are not the values."""
    for field in schema:
        if isinstance(field.type, pa.BaseExtensionType):
            kind = field.type.extension_name.removeprefix("pandas.")
            raise DataError(
                name,
                f"values of the type {kind} are none of the rules",
                column=field.name,
                hint=f"df[{field.name!r}].astype(str) makes strings of them",
            )


def _taken(obj: Any, name: str) -> pa.Table:
    try:
        if not any(hasattr(obj, capsule) for capsule in INTERFACE[:2]):
            from pyarrow.interchange import from_dataframe

            return from_dataframe(obj)
        return pa.table(obj)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError, NotImplementedError):
        try:  # a single column
            column = pa.chunked_array(obj)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError, ValueError) as error:
            what = f"a value of type {type(obj).__name__} hands over no table: {error}"
            raise DataError(name, what, hint="give an Arrow Table of it") from error
    return pa.table([column], names=["column1"])


def _without_dictionary(column: Column) -> Column:
    """Decode dictionary columns; Arrow cannot decode those of string views."""
    if not pa.types.is_dictionary(column.type):
        return column
    kind = column.type.value_type
    kind = pa.large_string() if pa.types.is_string_view(kind) else kind
    return pa.chunked_array([c.dictionary.cast(kind).take(c.indices) for c in column.chunks], kind)


def facts_to_arrow(facts: Facts, predicate: str, names: Sequence[str] | None = None) -> pa.Table:
    """Arrow table of the facts of a predicate, with columns ``c1, c2, ...`` unless named.

    Dates are microsecond timestamps; lists and (sorted) sets are lists if their elements have one type. Labelled nulls
    are strings such as ``_:n1``; a column with values of several types is text.

    Examples
    --------
    >>> facts_to_arrow(Facts.from_rows({"own": [("a", "b", 0.6)]}), "own").to_pylist()
    [{'c1': 'a', 'c2': 'b', 'c3': 0.6}]
    """
    table = facts.tables[predicate]
    columns = [
        _facts_column(kind, data, facts.symbols)
        for kind, data in zip(table.kinds, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=list(names or (f"c{i + 1}" for i in range(table.arity))))


def _facts_column(kind: Kind, data: Codes, symbols: Symbols) -> Column:
    if kind is Kind.STRING:
        return symbols.texts(data).cast(pa.string())
    if kind is Kind.DOUBLE:
        return as_arrow(np.ascontiguousarray(data).view(np.float64))
    if kind is Kind.DATE:
        return as_arrow(np.ascontiguousarray(data).view("datetime64[us]"))
    if kind in (Kind.INT, Kind.BOOL):
        return as_arrow(data.astype(bool) if kind is Kind.BOOL else data)
    used, where = np.unique(data, return_inverse=True)
    return _mixed(symbols.values(used.tolist())).take(as_arrow(where))


def _mixed(values: Sequence[Value]) -> Column:
    types = {type(v) for v in values}
    if types and types <= {tuple, frozenset}:
        return _lists(values)
    if types & {tuple, frozenset}:
        return pa.array([text(v) for v in values], pa.string())
    column = arrow_column([_labelled(v) for v in values])
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column


def _labelled(value: Value) -> Value:
    return str(value) if isinstance(value, Null) else value


def _lists(values: Sequence[Any]) -> Column:
    """Arrow column of lists and sets; text if their elements have several types."""
    lists = [list(map(_labelled, ordered(v) if isinstance(v, frozenset) else v)) for v in values]
    inner = {type(e) for v in lists for e in v}
    if not inner:
        return pa.array(lists, pa.list_(pa.string()))
    if inner == {int, float}:
        return pa.array([[float(text(e)) for e in v] for v in lists])
    if len(inner) == 1 and inner <= {int, float, str, bool, datetime}:
        return pa.array(lists)
    return pa.array([text(v) for v in values], pa.string())


def as_frame(table: pa.Table) -> pd.DataFrame:
    """Convert an Arrow table to a pandas DataFrame.

    Raises
    ------
    DataError
        If pandas is not installed; the hint contains the install command.
    """
    needed("pandas", "a DataFrame", "to_pandas", "to_arrow does without")
    frame: pd.DataFrame = table.to_pandas()
    return frame


def as_polars(table: pa.Table) -> pl.DataFrame:
    """Convert an Arrow table to a Polars DataFrame.

    Raises
    ------
    DataError
        If Polars is not installed; the hint contains the install command.
    """
    library = needed("polars", "a Polars DataFrame", "to_polars", "to_arrow does without")
    frame: pl.DataFrame = library.from_arrow(table)
    return frame


def needed(package: str, what: str, asked: str, instead: str = "") -> Any:
    """Import an optional package that a result type requires.

    Parameters
    ----------
    what
        Description of the result, for the message.
    asked
        The function that was called.
    instead
        Alternative without the package, for the hint.

    Raises
    ------
    DataError
        If the package is not installed; the hint contains the install command.

    Examples
    --------
    >>> needed("future_graphics", "a hologram", "to_hologram", "to_networkx does without")
    Traceback (most recent call last):
    kgreason.base.errors.DataError: to_hologram: a hologram needs the package future_graphics, which is not installed
      help: pip install future_graphics; to_networkx does without
    """
    try:
        return import_module(package)
    except ModuleNotFoundError:
        hint = f"pip install {package}" + f"; {instead}" * bool(instead)
        message = f"{what} needs the package {package}, which is not installed"
        raise DataError(asked, message, hint=hint) from None


# Values of Python

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
    """Table of in-memory columns."""
    return Raw(name, tuple(names), tuple(columns), lambda _: None, named=named, memory=True, typed=True)


def array(name: str, values: Sequence[object], column: str | None = None) -> Column:
    """Column of Python values; values with one plain Arrow type are not inspected individually."""
    _check_one_type(name, values, column)
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
        pass  # mixed integers and doubles, or values that `arrow_column` reports
    try:
        return arrow_column(values)
    except CastError as error:
        message = f"row {error.row + 1}: {error.value} is not {error.expected}"
        raise DataError(name, message, column=column, hint=error.hint) from error


def _family(kind: type) -> str | None:
    return next((words for kinds, words in _FAMILIES if issubclass(kind, kinds)), None)


def _check_one_type(name: str, values: Sequence[object], column: str | None) -> None:
    """Reject values of different types: in a file they may be meant as text, in a Python program not."""
    types = set(map(type, values))
    families = {kind: family for kind in types if (family := _family(kind)) is not None}
    if len(set(families.values())) < 2 or Null in types:  # next to labelled nulls the rules also mix types
        return
    first = next(family for v in values if (family := families.get(type(v))))
    row, value = next((i, v) for i, v in enumerate(values, 1) if families.get(type(v), first) != first)
    raise DataError(
        name,
        f"row {row}: {reprlib.repr(value)} is {families[type(value)]} where the rows before have {first}",
        column=column,
        hint="a column has values of one type; str(...) makes strings of them",
    )
