"""The columns of a file that stands where an output is to be written."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from io import TextIOWrapper

from kgreason.graph.io.duck import CONFINED
from kgreason.graph.io.options import delimiter_of
from kgreason.graph.io.raw import open_bytes
from kgreason.graph.io.sql import extra, quoted
from kgreason.output.servers import existing
from kgreason.output.target import Target

_START = 1 << 16  # characters; an object beyond it is not looked at


def existing_columns(target: Target, predicate: str) -> tuple[str, ...] | None:
    """Tell the columns of what `target` would replace; `None` if there is nothing, or nothing tells them."""
    if target.server:
        return existing(target, predicate)
    look = _LOOKS.get(target.format)
    if look is None or not target.path.is_file() or not target.path.stat().st_size:
        return None
    return look(target, predicate)


def _delimited(target: Target, _: str) -> tuple[str, ...] | None:
    if target.options.get("useheaders", "true").lower() == "false":
        return None
    given = target.options.get("delimiter", "\t" if target.format == "tsv" else ",")
    with TextIOWrapper(open_bytes(target.path), encoding="utf-8", errors="replace", newline="") as stream:
        first = stream.readline(_START)
    return tuple(next(csv.reader([first], delimiter=delimiter_of(str(target.path), given)), ()))


def _parquet(target: Target, _: str) -> tuple[str, ...] | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return tuple(pq.read_schema(target.path).names)
    except (pa.ArrowException, OSError, UnicodeDecodeError):  # whatever it is, it is replaced
        return None


def _json(target: Target, _: str) -> tuple[str, ...] | None:
    with TextIOWrapper(open_bytes(target.path), encoding="utf-8", errors="replace") as stream:
        start = stream.read(_START).lstrip("\ufeff[ \r\n\t")
    try:
        first, _end = json.JSONDecoder().raw_decode(start)
    except json.JSONDecodeError:
        return None
    return tuple(first) if isinstance(first, dict) else None


def _sqlite(target: Target, predicate: str) -> tuple[str, ...] | None:
    query = f"PRAGMA table_info({quoted(target.table or predicate)})"
    try:
        with closing(sqlite3.connect(f"{target.path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            return tuple(row[1] for row in connection.execute(query)) or None
    except sqlite3.Error:
        return None


def _duckdb(target: Target, predicate: str) -> tuple[str, ...] | None:
    duckdb = extra("duckdb", "duckdb", target.path)
    try:
        with closing(duckdb.connect(str(target.path), read_only=True, config=CONFINED)) as connection:
            found = connection.execute(f"DESCRIBE {quoted(target.table or predicate)}").fetchall()
    except duckdb.Error:
        return None
    return tuple(row[0] for row in found)


_LOOKS: dict[str, Callable[[Target, str], tuple[str, ...] | None]] = {
    "csv": _delimited,
    "tsv": _delimited,
    "parquet": _parquet,
    "json": _json,
    "sqlite": _sqlite,
    "duckdb": _duckdb,
}
