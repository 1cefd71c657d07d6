"""Facts as a table of an SQLite or DuckDB database; the other tables of the file stay as they are."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from kgreason.engine.table import Facts, Kind
from kgreason.errors import ReleaseError
from kgreason.graph.interchange import facts_to_arrow
from kgreason.graph.io.sql import extra, quoted
from kgreason.graph.io.values import text
from kgreason.lang.values import Value, plain
from kgreason.output.target import Target

_TYPES = {
    Kind.INT: "INTEGER",
    Kind.DOUBLE: "REAL",
    Kind.STRING: "TEXT",
    Kind.BOOL: "BOOLEAN",
    Kind.DATE: "TIMESTAMP",
    Kind.LIST: "JSON",
    Kind.SET: "JSON",
    Kind.ANY: "",  # a column without a type keeps the type of each value
}


def write_sqlite(facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Replace one table, in a transaction."""
    kinds = facts.tables[predicate].kinds
    name = quoted(target.table or predicate)
    columns = ", ".join(f"{quoted(n)} {_TYPES[k]}".rstrip() for n, k in zip(names, kinds, strict=True))
    rows = ([_cell(v, k) for v, k in zip(row, kinds, strict=True)] for row in facts.rows(predicate))
    new = not target.path.exists()
    try:
        with closing(sqlite3.connect(target.path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute(f"DROP TABLE IF EXISTS {name}")
                connection.execute(f"CREATE TABLE {name} ({columns})")
                marks = ", ".join("?" * len(names))
                connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
    except (sqlite3.Error, OSError) as error:
        _remove(target.path, new)
        raise ReleaseError(f"{target.path}: the table {name} cannot be written: {error}") from error


def _cell(value: Value, kind: Kind) -> object:
    if kind in (Kind.LIST, Kind.SET):
        return json.dumps(plain(value), ensure_ascii=False)
    if isinstance(value, (bool, int, float, str)):
        return value
    return text(value)


def write_duckdb(facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Replace one table, in a transaction.

    Raises
    ------
    DataError
        If the package duckdb is missing.
    """
    duckdb = extra("duckdb", "duckdb", target.path)
    table: Any = facts_to_arrow(facts, predicate, names)
    name = quoted(target.table or predicate)
    new = not target.path.exists()
    try:
        with closing(duckdb.connect(str(target.path))) as connection:
            connection.register("kgreason_facts", table)
            connection.execute("BEGIN")
            connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM kgreason_facts")
            connection.execute("COMMIT")
    except (duckdb.Error, OSError) as error:
        _remove(target.path, new)
        reason = str(error).splitlines()[0]
        raise ReleaseError(f"{target.path}: the table {name} cannot be written: {reason}") from error


def _remove(path: Path, new: bool) -> None:
    """Leave no database behind that was not there before."""
    if new:
        path.unlink(missing_ok=True)
