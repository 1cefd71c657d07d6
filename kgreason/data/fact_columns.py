"""Columns of facts in the types of Arrow, for files, databases and libraries, or as text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from kgreason.base.arrays import as_arrow, pa, pc, string_buffers, strings
from kgreason.base.errors import DataError
from kgreason.data.raw_table import Column
from kgreason.data.value_conversion import arrow_column, joined, text
from kgreason.engine.relations.fact_tables import NESTED, Facts, Kind, Table, decode
from kgreason.engine.relations.symbols import Codes, Symbols
from kgreason.language.values import Null, Value, ordered, plain

TEXT_ROWS = 1 << 18  # rows whose text is in memory at once
COLUMN_ROWS = 1 << 20  # rows whose columns are in memory at once, as many as Parquet keeps in one group
WEIGHTS = (Kind.INT, Kind.DOUBLE)

TextColumn = Any  # an Arrow array of large strings


def facts_to_arrow(facts: Facts, predicate: str, names: Sequence[str] | None = None) -> pa.Table:
    """Arrow table of the facts of a predicate, with columns ``c1, c2, ...`` unless named.

    Dates are microsecond timestamps; lists and (sorted) sets are lists if their elements have one type. Labelled nulls
    are strings such as ``_:n1``; a column with values of several types is text.
    """
    table = facts.tables[predicate]
    pairs = zip(table.kinds, table.columns, strict=True)
    columns = [facts_column(kind, data, facts.symbols) for kind, data in pairs]
    return pa.Table.from_arrays(columns, names=list(names or (f"c{i + 1}" for i in range(table.arity))))


def facts_column(kind: Kind, data: Codes, symbols: Symbols) -> Column:
    """Arrow array of a column of facts."""
    if kind is Kind.STRING:
        return symbols.texts(data).cast(pa.string())
    if kind in (Kind.INT, Kind.DOUBLE, Kind.DATE, Kind.BOOL):
        return as_arrow(typed_array(kind, data))
    used, where = np.unique(data, return_inverse=True)
    return _mixed(symbols.values(used.tolist())).take(as_arrow(where))


def typed_array(kind: Kind, data: Codes) -> npt.NDArray[Any]:
    """Integers, doubles, dates (datetime64[us]) or truth values of codes."""
    if kind is Kind.BOOL:
        return data.astype(bool)
    types = {Kind.DOUBLE: "float64", Kind.DATE: "datetime64[us]"}
    return np.ascontiguousarray(data).view(types.get(kind, "int64"))


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
    lists: list[list[Any]] = [
        list(map(_labelled, ordered(v) if isinstance(v, frozenset) else v)) for v in values
    ]
    inner = {type(e) for v in lists for e in v}
    if not inner:
        return pa.array(lists, pa.list_(pa.string()))
    if inner == {int, float}:
        return pa.array([[float(e) for e in v] for v in lists])
    if len(inner) == 1 and inner <= {int, float, str, bool, datetime}:
        return pa.array(lists)
    return pa.array([text(v) for v in values], pa.string())


def row_ranges(facts: Facts, predicate: str) -> Iterator[slice]:
    """Consecutive ranges of rows."""
    for start in range(0, facts.tables[predicate].length, TEXT_ROWS):
        yield slice(start, start + TEXT_ROWS)


def numbers(kind: Kind, data: Codes) -> TextColumn:
    """Integers or doubles as the shortest text with the same value; doubles contain a point."""
    data = np.ascontiguousarray(data)
    if kind is Kind.INT:
        return as_arrow(data).cast(pa.large_string())
    shortest = as_arrow(data.view(np.float64)).cast(pa.large_string())
    return pc.replace_substring_regex(shortest, r"^(-?[0-9]+)(e.*)?$", r"\1.0\2")


def texts(kind: Kind, data: Codes, facts: Facts, write: Callable[[Value], str] = text) -> TextColumn:
    """Values of a column as text; `write` formats those that are no integers and doubles."""
    if kind in WEIGHTS:
        return numbers(kind, data)
    used, where = np.unique(data, return_inverse=True)
    return strings(list(map(write, decode(kind, used, facts.symbols)))).take(as_arrow(where.reshape(-1)))


def check_weight(file: str, predicate: str, table: Table, names: Sequence[str], format: str) -> None:
    """Check that weights are numbers."""
    if table.arity > 2 and table.kinds[2] not in WEIGHTS:
        what = f"the weights of {predicate} are no numbers, and {format} holds no others"
        raise DataError(file, what, column=names[2], hint="gml, graphml and edges hold text as well")


def write_lines(stream: IO[bytes], columns: Sequence[TextColumn | str]) -> None:
    """Write one line per row from columns and constant separators; a line end is appended."""
    offsets, letters = string_buffers(joined(*columns, "\n"))
    stream.write(letters[int(offsets[0]) : int(offsets[-1])].data)


def first_with(column: TextColumn, pattern: str) -> str | None:
    """First text that matches a regular expression anywhere."""
    found = pc.match_substring_regex(column, pattern)
    if not pc.any(found).as_py():
        return None
    value: str = column.filter(found)[0].as_py()
    return value


def fact_chunks(facts: Facts, predicate: str) -> Iterator[Facts]:
    """Facts in chunks, so that no whole column is held as text; a single one if types depend on values."""
    table = facts.tables[predicate]
    if not NESTED.isdisjoint(table.kinds) or table.length <= COLUMN_ROWS:
        yield facts
        return
    for start in range(0, table.length, COLUMN_ROWS):
        columns = tuple(column[start : start + COLUMN_ROWS] for column in table.columns)
        yield Facts({predicate: Table(table.kinds, columns, len(columns[0]))}, facts.symbols)


def chunk_writer(
    predicate: str, convert: Callable[[Facts], pa.Table], start: Callable[[pa.Schema], Any]
) -> Callable[[Facts], None]:
    """Function that writes facts in chunks as Arrow tables; `start` opens the writer when the first one is known."""
    writer: Any = None

    def write(facts: Facts) -> None:
        nonlocal writer
        for chunk in fact_chunks(facts, predicate):
            table = convert(chunk)
            writer = start(table.schema) if writer is None else writer
            writer.write_table(table)

    return write


def columns_of(
    facts: Facts, predicate: str, written: Collection[Kind], write: Callable[[Value], str] = text
) -> list[Any]:
    """Arrow columns of facts; columns of the kinds `written` are strings formatted by `write`."""
    table = facts.tables[predicate]
    columns: list[Any] = list(facts_to_arrow(facts, predicate).columns)
    for position, (kind, data) in enumerate(zip(table.kinds, table.columns, strict=True)):
        if kind in written:
            columns[position] = texts(kind, data, facts, write)
    return columns


def json_text(value: Value) -> str:
    """Format a value as cell text; lists and sets as JSON."""
    if isinstance(value, (tuple, frozenset)):
        import json

        return json.dumps(plain(value), ensure_ascii=False)
    return text(value)
