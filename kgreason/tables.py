"""Derived facts as tables of plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kgreason.engine.table import Facts, Kind

if TYPE_CHECKING:
    import pyarrow


def value_columns(facts: Facts, predicate: str) -> dict[str, npt.NDArray[Any]]:
    """Columns ``c1, c2, ...`` of a predicate: int64, float64, bool or str objects.

    Examples
    --------
    >>> facts = Facts.from_rows({"own": [("a", "b", 0.5)]})
    >>> {name: column.tolist() for name, column in value_columns(facts, "own").items()}
    {'c1': ['a'], 'c2': ['b'], 'c3': [0.5]}
    """
    table = facts.tables[predicate]
    pairs = zip(table.kinds, table.columns, strict=True)
    return {f"c{i}": _values(kind, data, facts) for i, (kind, data) in enumerate(pairs, start=1)}


def _values(kind: Kind, data: npt.NDArray[np.int64], facts: Facts) -> npt.NDArray[Any]:
    if kind is Kind.INT:
        return data
    if kind is Kind.DOUBLE:
        return np.ascontiguousarray(data).view(np.float64)
    if kind is Kind.BOOL:
        return data.astype(np.bool_)
    strings = np.array(facts.symbols.decode(range(len(facts.symbols))), dtype=object)
    return strings[data] if len(data) else np.empty(0, dtype=object)


def to_arrow(facts: Facts, predicate: str) -> pyarrow.Table:
    """Facts of a predicate as an Arrow table."""
    import pyarrow

    columns = value_columns(facts, predicate)
    strings = {
        name: pyarrow.array(values, pyarrow.string() if values.dtype == object else None)
        for name, values in columns.items()
    }
    return pyarrow.table(strings)
