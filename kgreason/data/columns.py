"""Columns of facts as the files and databases of tables hold them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from kgreason.arrays import as_arrow, strings
from kgreason.data.values import text
from kgreason.engine.table import Facts, Kind, Table, decode
from kgreason.lang.values import Value, plain

PIECE = 1 << 20  # rows, as many as Parquet keeps in one group
NESTED = frozenset({Kind.LIST, Kind.SET, Kind.ANY})
"""Kinds of which Arrow may have no type."""


def pieces(facts: Facts, predicate: str) -> Iterator[Facts]:
    """Facts piece by piece, so that no whole column stands in memory as text; one piece, if types depend on values."""
    table = facts.tables[predicate]
    if not NESTED.isdisjoint(table.kinds) or table.length <= PIECE:
        yield facts
        return
    for start in range(0, table.length, PIECE):
        columns = tuple(column[start : start + PIECE] for column in table.columns)
        yield Facts({predicate: Table(table.kinds, columns, len(columns[0]))}, facts.symbols)


def columns_of(
    facts: Facts, predicate: str, written: Collection[Kind], write: Callable[[Value], str] = text
) -> list[Any]:
    """Arrow columns of facts; those of some kinds are strings, as a function writes their values."""
    from kgreason.data.interchange import facts_to_arrow

    table = facts.tables[predicate]
    columns: list[Any] = list(facts_to_arrow(facts, predicate).columns)
    for place, (kind, data) in enumerate(zip(table.kinds, table.columns, strict=True)):
        if kind in written:
            used, where = np.unique(data, return_inverse=True)
            texts = [write(value) for value in decode(kind, used, facts.symbols)]
            columns[place] = strings(texts).take(as_arrow(where))
    return columns


def json_text(value: Value) -> str:
    """A value as a cell of text; lists and sets are JSON."""
    if isinstance(value, (tuple, frozenset)):
        return json.dumps(plain(value), ensure_ascii=False)
    return text(value)
