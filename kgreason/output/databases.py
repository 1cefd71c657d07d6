"""Facts as a table of an SQLite or DuckDB database; the other tables of the file stay as they are."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from kgreason.engine.table import Facts, Kind
from kgreason.errors import ReleaseError
from kgreason.graph.interchange import facts_to_arrow
from kgreason.graph.io.duck import CONFINED
from kgreason.graph.io.sql import extra, quoted
from kgreason.graph.io.values import text
from kgreason.lang.values import Value, plain
from kgreason.output.place import replacing
from kgreason.output.target import Target

Writer = Callable[[Facts, str, Sequence[str], Target], None]
"""Replaces one table by facts, with these names of columns."""

_CONFIG = {**CONFINED, "threads": "1"}  # several threads lay out the same table differently each time
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


@contextmanager
def sqlite_tables(database: Target) -> Iterator[Writer]:
    """Replace tables of a database; all of them if the block ends well, else none.

    Raises
    ------
    ReleaseError
        If they cannot be written.
    """
    path = database.path
    with (
        _target(path) as file,
        _refused(path, sqlite3.Error),
        closing(sqlite3.connect(file, isolation_level=None)) as connection,
    ):
        connection.execute("BEGIN IMMEDIATE")

        def write(facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
            kinds = facts.tables[predicate].kinds
            name = quoted(target.table or predicate)
            columns = ", ".join(
                f"{quoted(n)} {_TYPES[k]}".rstrip() for n, k in zip(names, kinds, strict=True)
            )
            marks = ", ".join("?" * len(names))
            with _refused(path, sqlite3.Error, name):
                connection.execute(f"DROP TABLE IF EXISTS {name}")
                connection.execute(f"CREATE TABLE {name} ({columns})")
                connection.executemany(f"INSERT INTO {name} VALUES ({marks})", _rows(facts, predicate))

        yield write
        connection.execute("COMMIT")


@contextmanager
def duckdb_tables(database: Target) -> Iterator[Writer]:
    """Replace tables of a database; all of them if the block ends well, else none.

    Raises
    ------
    ReleaseError
        If they cannot be written.
    DataError
        If the package duckdb is missing.
    """
    path = database.path
    duckdb = extra("duckdb", "duckdb", path)
    with (
        _target(path) as file,
        _refused(path, duckdb.Error),
        closing(duckdb.connect(str(file), config=_CONFIG)) as connection,
    ):
        connection.execute("BEGIN")

        def write(facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
            name = quoted(target.table or predicate)
            table: Any = facts_to_arrow(facts, predicate, names)
            with _refused(path, duckdb.Error, name):
                connection.register("kgreason_facts", table)
                connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM kgreason_facts")
                connection.unregister("kgreason_facts")

        yield write
        connection.execute("COMMIT")


@contextmanager
def _target(path: Path) -> Iterator[Path]:
    """The database that is there or, for one that is not, a temporary file that becomes it in the end."""
    if path.exists():
        log = path.with_name(f"{path.name}.wal")
        clean = not log.exists()
        try:
            yield path
        except BaseException:
            if clean:  # what DuckDB wrote there is of the transaction that failed
                log.unlink(missing_ok=True)
            raise
    else:
        with replacing(path) as temporary:
            yield temporary


@contextmanager
def _refused(path: Path, errors: type[Exception], table: str = "") -> Iterator[None]:
    """Say what the database says, in the terms of the user."""
    try:
        yield
    except errors as error:
        reason = str(error).splitlines()[0]
        what = f"the table {table} cannot be written" if table else "cannot be written"
        full = any(words in reason for words in ("No space left", "is full", "File too large"))
        hint = "is another program using the database, or is it read-only? choose another place"
        if full:
            reason, hint = "no space left on device", f"choose another place, or make room in {path.parent}"
        raise ReleaseError(f"{path}: {what}: {reason}", hint=hint) from error


def _rows(facts: Facts, predicate: str) -> Iterator[list[object]]:
    kinds = facts.tables[predicate].kinds
    for row in facts.rows(predicate):
        yield [cell(v, k) for v, k in zip(row, kinds, strict=True)]


def cell(value: Value, kind: Kind) -> object:
    """A value as a database keeps it; lists and sets are JSON."""
    if kind in (Kind.LIST, Kind.SET):
        return json.dumps(plain(value), ensure_ascii=False)
    if isinstance(value, (bool, int, float, str)):
        return value
    return text(value)
