"""CSV and TSV files: delimited fields, optionally quoted, optionally with a header line.

The reader uses Arrow. DuckDB takes as long for ten million edges (2.2 s each, 0.8 in place of 0.6 GB) and reports the
line of an unclosed quotation mark, but supports three encodings only and interprets ``*`` in file names as a pattern.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.arrays import arrow_csv, pa, pc
from kgreason.base.errors import DataError
from kgreason.data.formats.delimited_text import read_columns, records
from kgreason.data.formats.field_text import NESTED, columns_of, whole_pieces, write_lines
from kgreason.data.formats.neo4j import is_header, read_neo4j
from kgreason.data.raw_table import Column, Raw, open_bytes
from kgreason.data.source_options import Options, delimiter_of
from kgreason.data.targets import Target
from kgreason.data.text_conversion import ABSENT
from kgreason.data.value_conversion import text
from kgreason.engine.relations.fact_tables import Facts, Kind
from kgreason.language.values import Null, Value

_SAMPLE = 200
_START = 1 << 16  # characters of a file that contain its first line
_ROWS = 1 << 20  # rows per written block
_QUOTING = {"all": "all_valid", "minimal": "needed", "non_numeric": "needed", "none": "none"}
DECIMALS = 6
NUMBER = re.compile(r"\s*[+-]?(\d[\d.,]*|[.,]\d+)([eE][+-]?\d+)?\s*%?\s*")
_TITLE = re.compile(r"[^\W\d][\w .#/()-]*")


def read_csv(path: Path, options: Options) -> Raw:
    """Read a comma-separated file (or with another `delimiter`); every field stays text."""
    return _read(path, options, options.delimiter or ",")


def read_tsv(path: Path, options: Options) -> Raw:
    """Read a tab-separated file."""
    return _read(path, options, options.delimiter or "\t")


def _read(path: Path, options: Options, delimiter: str) -> Raw:
    for name, character in (("delimiter", delimiter), ("quote", options.quote or "")):
        if not character.isascii():
            raise DataError(
                str(path), f"option {name} cannot be {character!r}", hint="only ASCII characters can"
            )
    sample = list(itertools.islice(records(path, options, delimiter), _SAMPLE))
    if not sample:
        return Raw(str(path), (), (), lambda _: None, named=False)
    first = sample[0][1]
    if options.header is not False and is_header(first):
        raw = read_neo4j(path, options)
        return replace(
            raw, notes=(f"{path}: read as an import file of Neo4j, as its header says", *raw.notes)
        )
    header, doubt = _header(sample, options)
    names = _unique(first) if header else tuple(f"column{i + 1}" for i in range(len(first)))
    columns = read_columns(path, options, delimiter, len(first), header=header)
    read_as = (
        "names: say useHeaders=false if it is data"
        if header
        else "data: say useHeaders=true if it names columns"
    )
    shown = " ".join(delimiter.join(first).split())[:60]
    note = f"{path}: the first line ({shown}) was read as {read_as}" if doubt else None

    def line(row: int) -> int | None:
        found = records(path, options, delimiter)
        return next(itertools.islice(found, row + header, None), (None, ()))[0]

    bare = [name.strip() for name in first] if header else []
    return Raw(
        str(path),
        names,
        columns,
        line,
        named=header,
        doubt=note,
        title_line=sample[0][0] if header else None,
        repeated=tuple(sorted({name for name in bare if name and bare.count(name) > 1})),
    )


def _header(sample: Sequence[tuple[int, list[str]]], options: Options) -> tuple[bool, bool]:
    """Whether the first record holds column names, and whether the decision is uncertain."""
    first, rest = sample[0][1], [record for _, record in sample[1:]]
    named = set(options.columns or ()) - {str(i + 1) for i in range(len(first))}
    known = bool(named) and named <= set(first)
    number = any(NUMBER.fullmatch(cell) for cell in first)
    if options.header is not None:
        return options.header, options.header and number and not known
    if known or number:
        return known, False
    values = {cell for record in rest for cell in record}
    again = not values.isdisjoint(cell for cell in first if cell.strip())
    absent = [_absent(cell, place, options) for place, cell in enumerate(first)]
    numeric = [_numeric([r[i] for r in rest if i < len(r)]) for i in range(len(first))]
    if any(numeric):  # above numbers, only a known title distinguishes names from data
        title = any(n and not a for n, a in zip(numeric, absent, strict=True))
        return title, again or any(absent) or not title
    titles = len(set(first)) == len(first) and all(_TITLE.fullmatch(cell.strip()) for cell in first)
    return titles and not again, True  # no further lines: a table without rows


def _absent(cell: str, place: int, options: Options) -> bool:
    """Whether a cell is a missing value; the first column name may be empty, as for row numbers."""
    if not cell.strip():
        return place > 0
    return cell == options.null_string or ABSENT.fullmatch(cell.strip()) is not None


def _numeric(cells: Sequence[str]) -> bool:
    """Whether at least half of the cells are numbers."""
    filled = [cell for cell in cells if cell.strip()]
    return bool(filled) and 2 * sum(NUMBER.fullmatch(cell) is not None for cell in filled) >= len(filled)


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    """Column names, with numbers appended to repeated ones."""
    seen: dict[str, int] = {}
    unique = []
    for position, name in enumerate(names):
        bare = name.strip() or f"column{position + 1}"
        seen[bare] = seen.get(bare, 0) + 1
        unique.append(bare if seen[bare] == 1 else f"{bare}_{seen[bare]}")
    return tuple(unique)


def write_delimited(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write a header line and one line per fact, in UTF-8; strings are quoted."""
    options = target.options
    delimiter = _delimiter(target)
    quoting = _QUOTING.get(options.get("quotemode", "needed").lower(), "needed")
    header = options.get("useheaders", "true").lower() != "false"
    null_string = options.get("nullstring")

    def write(value: Value) -> str:
        return null_string if null_string is not None and isinstance(value, Null) else text(value)

    columns = (
        columns_of(piece, predicate, {Kind.DATE, *NESTED}, write) for piece in whole_pieces(facts, predicate)
    )
    tables = (pa.Table.from_arrays(some, names=list(names)) for some in columns)
    first = next(tables)
    bare = header and quoting == "none"  # Arrow always quotes column names
    settings = arrow_csv.WriteOptions(
        include_header=header and not bare, delimiter=delimiter, quoting_style=quoting
    )
    try:
        with path.open("wb") as stream:
            if bare:
                stream.write((delimiter.join(names) + "\n").encode())
            with arrow_csv.CSVWriter(stream, first.schema, write_options=settings) as writer:
                for table in itertools.chain([first], tables):
                    writer.write_table(table)
    except pa.ArrowInvalid as error:
        raise DataError(
            str(target.path), f"cannot be written without quotes: {error}", hint="leave out quoteMode=NONE"
        ) from error


def _delimiter(target: Target) -> str:
    return delimiter_of(
        str(target.path), target.options.get("delimiter", "\t" if target.format == "tsv" else ",")
    )


def delimited_columns(target: Target) -> tuple[str, ...] | None:
    """Column names of a file that an output would replace; `None` if it has no header line."""
    if target.options.get("useheaders", "true").lower() == "false":
        return None
    with io.TextIOWrapper(open_bytes(target.path), encoding="utf-8", errors="replace", newline="") as stream:
        return tuple(next(csv.reader([stream.readline(_START)], delimiter=_delimiter(target)), ()))


def write_csv(
    path: Path, names: Sequence[str], columns: Sequence[npt.ArrayLike], delimiter: str = ","
) -> None:
    """Write columns of equal length under a header line.

    Parameters
    ----------
    names
        One per column.
    columns
        Arrays of strings, integers, truth values (true and false) or doubles (with up to 6 decimals).
    delimiter
        A comma or a tab.
    """
    arrays = [np.asarray(column) for column in columns]
    length = len(arrays[0]) if arrays else 0
    if len(names) != len(arrays) or any(len(a) != length for a in arrays):
        raise ValueError("names and columns of a table differ in length")
    title = [np.array([name], dtype=object) for name in names]
    parts = ([a[start : start + _ROWS] for a in arrays] for start in range(0, length, _ROWS))
    with path.open("wb") as stream:
        for some in itertools.chain([title], parts):
            fields = [part for array in some for part in (delimiter, _fields(array, alone=len(some) == 1))]
            write_lines(stream, fields[1:])


def _fields(array: npt.NDArray[Any], *, alone: bool) -> Column:
    large = pa.large_string()
    if array.dtype.kind == "f":
        return _decimals(array)
    if array.dtype.kind in "iub":
        return pa.array(array).cast(large)
    values = pa.array(array.tolist())
    if pa.types.is_floating(values.type):
        return _decimals(np.array(array, dtype=np.float64))
    text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    return _quoted(values.cast(large), alone=alone) if text else values.cast(large)


def _decimals(values: npt.NDArray[np.floating]) -> Column:
    """Doubles as text with at most 6 decimals and no trailing zeros; large numbers in full precision."""
    column = pa.array(values.astype(np.float64))
    if not (np.abs(values) < 2.0**53 / 10**DECIMALS).all():
        return column.cast(pa.large_string())
    decimals = column.cast(pa.decimal128(38, DECIMALS)).cast(pa.large_string())
    return pc.ascii_rtrim(pc.ascii_rtrim(decimals, "0"), ".")


def _quoted(text: Column, *, alone: bool) -> Column:
    special = pc.match_substring_regex(text, r'[",\t\r\n]|^\s|\s$|^\x{FEFF}')
    if alone:  # an empty line would not be read as a row
        special = pc.or_(special, pc.equal(text, ""))
    if not pc.any(special).as_py():
        return text
    mark, nothing = pa.scalar('"', pa.large_string()), pa.scalar("", pa.large_string())
    doubled = pc.replace_substring(text, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise(mark, doubled, mark, nothing), text)
