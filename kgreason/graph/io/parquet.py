"""Parquet files: typed columns with names."""

from __future__ import annotations

from pathlib import Path

from kgreason.errors import DataError
from kgreason.graph.io.damaged import AGAIN
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Raw, no_file


def read_parquet(path: Path, _: Options) -> Raw:
    """Read all columns; rows have no lines, so messages count rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        raise (
            DataError(str(path), "is a folder", hint="name a file in it") if path.is_dir() else no_file(path)
        )
    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
        table.validate(full=True)  # texts that are no UTF-8 would come to light only when they are wanted
        names = tuple(table.column_names)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(
            str(path),
            f"no Parquet file that can be read: {' '.join(str(error).split())}",
            hint=f"if it is of another format say so, for instance format=csv; else: {AGAIN}",
        ) from error
    return Raw(str(path), names, tuple(table.columns), lambda _: None, typed=True)
