"""Columns of facts in the types of files and databases, or as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import IO, Any

import numpy as np

from kgreason.base.arrays import as_arrow, pa, pc, string_buffers, strings
from kgreason.base.errors import DataError
from kgreason.data.value_conversion import text
from kgreason.engine.relations.fact_tables import Facts, Kind, Table, decode
from kgreason.engine.relations.symbols import Codes
from kgreason.language.values import Value, plain

PIECE = 1 << 18
"""Rows whose text stands in memory at once."""

WHOLE_PIECE = 1 << 20
"""Rows whose columns stand in memory at once, as many as Parquet keeps in one group."""

WEIGHTS = (Kind.INT, Kind.DOUBLE)
"""Kinds of weights."""

NESTED = frozenset({Kind.LIST, Kind.SET, Kind.ANY})
"""Kinds of which Arrow may have no type."""

TextColumn = Any
"""An Arrow array of large strings."""


def pieces(facts: Facts, predicate: str) -> Iterator[slice]:
    """Consecutive ranges of rows."""
    for start in range(0, facts.tables[predicate].length, PIECE):
        yield slice(start, start + PIECE)


def numbers(kind: Kind, data: Codes) -> TextColumn:
    """Integers or doubles as the shortest text with the same value; doubles contain a point.

    Examples
    --------
    >>> from kgreason.engine.relations.fact_tables import doubles
    >>> numbers(Kind.DOUBLE, doubles(np.array([0.5, 2.0, 1e-300]))).to_pylist()
    ['0.5', '2.0', '1.0e-300']
    """
    data = np.ascontiguousarray(data)
    if kind is Kind.INT:
        return as_arrow(data).cast(pa.large_string())
    shortest = as_arrow(data.view(np.float64)).cast(pa.large_string())
    return pc.replace_substring_regex(shortest, r"^(-?[0-9]+)(e.*)?$", r"\1.0\2")


def texts(kind: Kind, data: Codes, facts: Facts, form: Callable[[str], str] | None = None) -> TextColumn:
    """Values of a column as text.

    Parameters
    ----------
    form
        Format-specific conversion of non-numeric texts.
    """
    if kind in WEIGHTS:
        return numbers(kind, data)
    used, where = np.unique(data, return_inverse=True)
    found = [text(v) for v in decode(kind, used, facts.symbols)]
    return strings(list(map(form, found)) if form else found).take(as_arrow(where.reshape(-1)))


def check_weight(file: str, predicate: str, table: Table, names: Sequence[str], format: str) -> None:
    """Check that weights are numbers.

    Raises
    ------
    DataError
        If they are not; names the column.
    """
    if table.arity > 2 and table.kinds[2] not in WEIGHTS:
        raise DataError(
            file,
            f"the weights of {predicate} are no numbers, and {format} holds no others",
            column=names[2],
            hint="gml, graphml and edges hold text as well",
        )


def write_lines(stream: IO[bytes], columns: Sequence[TextColumn | str]) -> None:
    """Write one line per row from columns and constant separators; a line end is appended."""
    parts = [pa.scalar(c, pa.large_string()) if isinstance(c, str) else c for c in columns]
    nothing, newline = pa.scalar("", pa.large_string()), pa.scalar("\n", pa.large_string())
    rows = pc.binary_join_element_wise(*parts, newline, nothing)
    offsets, letters = string_buffers(rows)
    stream.write(letters[int(offsets[0]) : int(offsets[-1])].data)


def first_with(column: TextColumn, pattern: str) -> str | None:
    """First text that matches a regular expression anywhere."""
    found = pc.match_substring_regex(column, pattern)
    if not pc.any(found).as_py():
        return None
    value: str = column.filter(found)[0].as_py()
    return value


def whole_pieces(facts: Facts, predicate: str) -> Iterator[Facts]:
    """Facts in pieces, so that no whole column is held as text; a single piece if types depend on values."""
    table = facts.tables[predicate]
    if not NESTED.isdisjoint(table.kinds) or table.length <= WHOLE_PIECE:
        yield facts
        return
    for start in range(0, table.length, WHOLE_PIECE):
        columns = tuple(column[start : start + WHOLE_PIECE] for column in table.columns)
        yield Facts({predicate: Table(table.kinds, columns, len(columns[0]))}, facts.symbols)


def columns_of(
    facts: Facts, predicate: str, written: Collection[Kind], write: Callable[[Value], str] = text
) -> list[Any]:
    """Arrow columns of facts; columns of the kinds `written` are strings formatted by `write`."""
    from kgreason.data.exchange import facts_to_arrow

    table = facts.tables[predicate]
    columns: list[Any] = list(facts_to_arrow(facts, predicate).columns)
    for place, (kind, data) in enumerate(zip(table.kinds, table.columns, strict=True)):
        if kind in written:
            used, where = np.unique(data, return_inverse=True)
            texts = [write(value) for value in decode(kind, used, facts.symbols)]
            columns[place] = strings(texts).take(as_arrow(where))
    return columns


def json_text(value: Value) -> str:
    """Format a value as cell text; lists and sets as JSON."""
    if isinstance(value, (tuple, frozenset)):
        return json.dumps(plain(value), ensure_ascii=False)
    return text(value)
