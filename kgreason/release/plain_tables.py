"""Tables of people and link releases in CSV, TSV or Parquet, whose bytes are determined by their content.

The bytes of a Parquet table may differ between versions of Arrow, but not for one version.
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

FORMATS = ("csv", "tsv", "parquet")  # also the extensions of their files
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def check_plain(format: str | None) -> None:
    """Raise `ReleaseError` for an unsupported table format."""
    if format is not None and format not in FORMATS:
        raise ReleaseError(
            f"a release of people or links is not written as {format}", hint=f"one of {', '.join(FORMATS)}"
        )


def plain_format(kind: str | None) -> str:
    """Release format for an input format: the same if supported, else CSV."""
    return kind if kind in FORMATS else "csv"


def found_format(folder: Path, table: str) -> str:
    """Table format of a release folder, from the file of the given table; CSV if there is none."""
    return next((e for e in FORMATS if (folder / f"{table}.{e}").exists()), "csv")


def write_table(
    path: Path, names: Sequence[str], columns: Sequence[npt.NDArray[Any]], numbers: Sequence[str] = ()
) -> None:
    """Write columns (strings or integers) of equal length in the format of the file extension.

    Text columns in `numbers` hold numbers or are empty; in Parquet they are doubles and nulls.

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
            values, kind = column.tolist(), pa.string()
            if name in numbers:
                values, kind = [float(text) if text else None for text in values], pa.float64()
            elif np.issubdtype(column.dtype, np.integer):
                kind = pa.int64()
            arrays.append(pa.array(values, kind))
        pq.write_table(pa.Table.from_arrays(arrays, names=list(names)), temporary, store_schema=False)


def read_table(path: Path) -> Raw:
    """Read such a table; text files have a header line.

    Raises
    ------
    DataError
        If the file is not such a table, or a Parquet file contains more than its table.
    """
    if path.suffix in _DELIMITERS:
        return (read_csv if path.suffix == ".csv" else read_tsv)(path, Options(header=True))
    raw = read_parquet(path, Options())
    schema = pq.read_schema(path)
    keys = {*(schema.metadata or {}), *(key for field in schema for key in field.metadata or {})}
    if further := sorted(keys - {b"PARQUET:field_id"}):
        what = further[0].decode(errors="replace")
        raise DataError(
            str(path),
            f"the file says more than its table, under {what!r}",
            hint="write it anew without metadata, with the program that made it",
        )
    return raw


def width(format: str) -> int:
    """Width of the column of file names in a text."""
    return len(f"attributes.{format}") + 2


def cell(table: str, format: str) -> str:
    """File name of a table, padded to the width of the column of file names."""
    return f"{f'{table}.{format}':<{width(format)}}"


def indented(text: str, format: str) -> str:
    """Indent continuation lines to the column of file names; the text is already indented for CSV."""
    return text.replace("\n" + " " * (2 + width("csv")), "\n" + " " * (2 + width(format)))


def row_of(raw: Raw, row: int) -> str:
    """Location of a row for messages: its line, or its number if there are no lines."""
    line = raw.line(row)
    return f"{Path(raw.file).name}:{line}" if line is not None else f"{Path(raw.file).name}: row {row + 1}"
