"""Tables of releases of people and of links, whose bytes are a function of what they hold: CSV, TSV or Parquet.

Two versions of Arrow may write the same Parquet table in other bytes; one writes the same each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.arrays import pa, pq
from kgreason.base.atomic_files import replacing
from kgreason.base.errors import DataError, ReleaseError
from kgreason.data.formats.delimited import read_csv, read_tsv, write_csv
from kgreason.data.formats.parquet import read_parquet
from kgreason.data.raw_table import Raw
from kgreason.data.source_options import Options

FORMATS = ("csv", "tsv", "parquet")
"""Formats, which are also the extensions of their files."""
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def check_plain(format: str | None) -> None:
    """Refuse a format that such a release is not written in.

    Raises
    ------
    ReleaseError
        With those that there are.
    """
    if format is not None and format not in FORMATS:
        raise ReleaseError(
            f"a release of people or links is not written as {format}", hint=f"one of {', '.join(FORMATS)}"
        )


def plain_format(kind: str | None) -> str:
    """Format of a release of data in a format: the same, else CSV.

    Examples
    --------
    >>> plain_format("parquet"), plain_format("edges"), plain_format(None)
    ('parquet', 'csv', 'csv')
    """
    return kind if kind in FORMATS else "csv"


def found_format(folder: Path, table: str) -> str:
    """Format of the tables in a release folder, by the file of one of them; CSV where there is none."""
    return next((e for e in FORMATS if (folder / f"{table}.{e}").exists()), "csv")


def write_table(
    path: Path, names: Sequence[str], columns: Sequence[npt.NDArray[Any]], numbers: Sequence[str] = ()
) -> None:
    """Write columns of equal length as the extension of the file says.

    Parameters
    ----------
    columns
        Arrays of strings or integers.
    numbers
        Columns of texts that are numbers or nothing; those of Parquet are doubles and nulls.

    Raises
    ------
    ReleaseError
        If the file cannot be written.
    """
    with replacing(path) as temporary:
        if path.suffix in _DELIMITERS:
            write_csv(temporary, names, columns, _DELIMITERS[path.suffix])
            return
        arrays = []
        for name, column in zip(names, map(np.asarray, columns), strict=True):
            if name in numbers:
                arrays.append(
                    pa.array([float(text) if text else None for text in column.tolist()], pa.float64())
                )
            else:
                whole = np.issubdtype(column.dtype, np.integer)
                arrays.append(pa.array(column.tolist(), pa.int64() if whole else pa.string()))
        pq.write_table(pa.Table.from_arrays(arrays, names=list(names)), temporary, store_schema=False)


def read_table(path: Path) -> Raw:
    """Read such a table; the first line of a text holds names.

    Raises
    ------
    DataError
        If it is none, or a Parquet file says more than its table.
    """
    if path.suffix in _DELIMITERS:
        return (read_csv if path.suffix == ".csv" else read_tsv)(path, Options(header=True))
    raw = read_parquet(path, Options())
    schema = pq.read_schema(path)
    said = {*(schema.metadata or {}), *(key for field in schema for key in field.metadata or {})}
    if told := sorted(said - {b"PARQUET:field_id"}):
        what = told[0].decode(errors="replace")
        raise DataError(
            str(path),
            f"the file says more than its table, under {what!r}",
            hint="write it anew without metadata, with the program that made it",
        )
    return raw


def width(format: str) -> int:
    """Characters of a column of the names of files, in a text."""
    return len(f"attributes.{format}") + 2


def cell(table: str, format: str) -> str:
    """Name of the file of a table, as wide as the column of names."""
    return f"{f'{table}.{format}':<{width(format)}}"


def indented(text: str, format: str) -> str:
    """Lines that go on beside the column of names, as deep as it is wide; those of CSV are so already."""
    return text.replace("\n" + " " * (2 + width("csv")), "\n" + " " * (2 + width(format)))


def row_of(raw: Raw, row: int) -> str:
    """Where a row stands, for messages: its line or, where there are none, its number."""
    line = raw.line(row)
    return f"{Path(raw.file).name}:{line}" if line is not None else f"{Path(raw.file).name}: row {row + 1}"
