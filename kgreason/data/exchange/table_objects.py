"""Conversion of Python objects that represent tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from kgreason.base.errors import DataError
from kgreason.data.exchange import arrow
from kgreason.data.exchange import graph_objects as graphs
from kgreason.data.exchange.arrow import array, in_memory
from kgreason.data.raw_table import Column, Raw


def as_table(obj: object) -> tuple[tuple[str, ...], tuple[Column, ...]]:
    """Column names and Arrow columns of a table-like object.

    Parameters
    ----------
    obj
        A DataFrame of pandas or Polars, an Arrow Table or RecordBatch, an object with the Arrow interface
        ``__arrow_c_stream__``, a mapping from names to columns, an iterable of rows, or a graph of NetworkX or igraph
        (columns source, target and, if its edges have one, weight).

    Raises
    ------
    DataError
        If it is none of these, or its rows differ in length.

    Examples
    --------
    >>> names, columns = as_table([("a", "b", 0.5), ("b", "c", 0.25)])
    >>> names, columns[2].to_pylist()
    (('column1', 'column2', 'column3'), [0.5, 0.25])
    """
    raw = as_raw(obj, "<table>")
    return raw.names, raw.columns


def as_raw(obj: object, name: str) -> Raw:
    """Source table of a table-like object, as `as_table`; `name` identifies it in messages."""
    if (graph := graphs.as_foreign(obj)) is not None:
        return graph.as_raw(name)
    if hasattr(obj, "iloc") and hasattr(obj, "columns"):
        return arrow.from_frame(obj, name)
    if hasattr(obj, "collect_schema") and hasattr(obj, "collect"):
        what = f"a {type(obj).__name__} has no rows yet"
        raise DataError(name, what, hint="give the frame that its collect() returns")
    if arrow.has_interface(obj):
        return arrow.from_arrow(obj, name)
    if isinstance(obj, np.ndarray) and obj.dtype.names:
        return _from_columns({title: obj[title] for title in obj.dtype.names}, name)
    if hasattr(obj, "tocoo"):
        raise DataError(
            name,
            "a matrix of SciPy is no table",
            hint="networkx.from_scipy_sparse_array(matrix, create_using=networkx.DiGraph) makes a graph of it",
        )
    if isinstance(obj, Mapping):
        return _from_columns(obj, name)
    scalar = isinstance(obj, np.ndarray) and not obj.ndim
    if isinstance(obj, Iterable) and not isinstance(obj, (str, bytes)) and not scalar:
        return _from_rows(list(obj), name)
    raise DataError(
        name,
        f"a value of type {type(obj).__name__} is no table",
        hint="give a file, a DataFrame of pandas or Polars, an Arrow Table, a graph of NetworkX or igraph, "
        "or a list of tuples",
    )


def is_table(obj: object) -> bool:
    """Whether an object is a table or graph of another library, and therefore not a list of them."""
    frame = hasattr(obj, "columns") or arrow.has_interface(obj)
    return frame or graphs.is_networkx(obj) or graphs.is_igraph(obj)


def _from_columns(columns: Mapping[Any, Any], name: str) -> Raw:
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


def _from_rows(rows: Sequence[object], name: str) -> Raw:
    """Table from rows; a value that is not a row is a row with one column."""
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
