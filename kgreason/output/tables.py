"""Facts as CSV, TSV and Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from kgreason.arrays import as_arrow, strings
from kgreason.engine.table import Facts, Kind, Table
from kgreason.errors import DataError
from kgreason.graph.interchange import facts_to_arrow
from kgreason.graph.io.options import delimiter_of
from kgreason.graph.io.values import text
from kgreason.lang.values import Null, Value, date_text
from kgreason.output.target import Target

PIECE = 1 << 20  # rows, as many as Parquet keeps in one group

_QUOTING = {"all": "all_valid", "minimal": "needed", "non_numeric": "needed", "none": "none"}


def write_delimited(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write a line of names and a line for each fact, in UTF-8; strings are quoted."""
    import pyarrow as pa
    from pyarrow import csv

    options = target.options
    file = str(target.path)
    delimiter = delimiter_of(file, options.get("delimiter", "\t" if target.format == "tsv" else ","))
    quoting = _QUOTING.get(options.get("quotemode", "needed").lower(), "needed")
    header = options.get("useheaders", "true").lower() != "false"
    cells = (_as_cells(piece, predicate, options.get("nullstring")) for piece in pieces(facts, predicate))
    tables = (pa.Table.from_arrays(columns, names=list(names)) for columns in cells)
    first = next(tables)
    bare = header and quoting == "none"  # Arrow quotes names whatever the style is
    settings = csv.WriteOptions(
        include_header=header and not bare, delimiter=delimiter, quoting_style=quoting
    )
    try:
        with path.open("wb") as stream:
            if bare:
                stream.write((delimiter.join(names) + "\n").encode())
            with csv.CSVWriter(stream, first.schema, write_options=settings) as writer:
                for table in chain([first], tables):
                    writer.write_table(table)
    except pa.ArrowInvalid as error:
        raise DataError(
            file, f"cannot be written without quotes: {error}", hint="leave out quoteMode=NONE"
        ) from error


def pieces(facts: Facts, predicate: str) -> Iterator[Facts]:
    """Facts piece by piece, so that no whole column stands in memory as text; one piece, if types depend on values."""
    table = facts.tables[predicate]
    if not {Kind.LIST, Kind.SET, Kind.ANY}.isdisjoint(table.kinds) or table.length <= PIECE:
        yield facts
        return
    for start in range(0, table.length, PIECE):
        columns = tuple(column[start : start + PIECE] for column in table.columns)
        yield Facts({predicate: Table(table.kinds, columns, len(columns[0]))}, facts.symbols)


def _as_cells(facts: Facts, predicate: str, null_string: str | None) -> list[Any]:
    """Columns of numbers, truth values and text; dates, lists and sets are text as the language writes it."""
    import numpy as np

    table = facts.tables[predicate]
    columns = list(facts_to_arrow(facts, predicate).columns)
    for place, (kind, data) in enumerate(zip(table.kinds, table.columns, strict=True)):
        if kind is Kind.DATE:
            texts: list[str] = [date_text(v) for v in columns[place].to_pylist()]
            columns[place] = strings(texts)
        elif kind in (Kind.LIST, Kind.SET, Kind.ANY):
            used, where = np.unique(data, return_inverse=True)
            values = facts.symbols.values(used.tolist())
            cells = [_cell(v, null_string) for v in values]
            columns[place] = strings(cells).take(as_arrow(where))
    return columns


def _cell(value: Value, null_string: str | None) -> str:
    return null_string if null_string is not None and isinstance(value, Null) else text(value)


def write_parquet(path: Path, facts: Facts, predicate: str, names: Sequence[str], _: Target) -> None:
    """Write typed columns; see `kgreason.graph.interchange.facts_to_arrow`."""
    import pyarrow.parquet as pq

    tables = (facts_to_arrow(piece, predicate, names) for piece in pieces(facts, predicate))
    first = next(tables)
    with pq.ParquetWriter(path, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)
