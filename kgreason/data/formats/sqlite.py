"""SQLite databases: tables, views and queries.

DuckDB can read them only with an extension that is not in its wheel and would be downloaded.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kgreason.base import memory
from kgreason.base.arrays import pa, pc
from kgreason.base.errors import DataError
from kgreason.base.interrupts import stoppable
from kgreason.data.fact_columns import json_text
from kgreason.data.formats import sql
from kgreason.data.raw_table import Column, Raw, no_file
from kgreason.data.row_conditions import condition
from kgreason.data.source_options import Options
from kgreason.data.targets import Target
from kgreason.data.value_conversion import BATCH, LARGEST, SMALLEST, CastError, Gathered, Large, Objects
from kgreason.engine.relations.fact_tables import Kind
from kgreason.language.values import read_date

_LONGEST = 10**9  # maximum bytes of a row in SQLite
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_WRITES = frozenset(
    (
        *("alter", "analyze", "attach", "begin", "commit", "create", "delete", "detach", "drop", "end"),
        *("insert", "reindex", "release", "replace", "rollback", "savepoint", "update", "vacuum"),
    )
)

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


def read_sqlite(path: Path, options: Options, query: str | None = None, location: str | None = None) -> Raw:
    """Read a table or view, or the result of a query written at `location`.

    Columns declared as boolean, date or JSON are read as truth values, dates and lists, if all their values are 0 or 1,
    ISO dates, or lists.
    """
    file, table = (path, None) if query else sql.located(path, options.table)
    if not file.is_file():
        raise no_file(file)
    with _opened(file) as connection:
        tables = _tables(connection)
        if query is None:
            read = partial(
                _table, connection, str(file), sql.resolved(str(file), table, tables), options.where
            )
        else:
            read = partial(_query, connection, location or str(file), query, tables)
        return stoppable(read, connection.interrupt)


def sqlite_tables(path: Path) -> list[str]:
    """Names of the tables and views of a database."""
    with _opened(path) as connection:
        return [*_tables(connection)]


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    """Open a database read-only, for any thread; its views cannot call unsafe functions."""
    address = f"file:{quote(str(file.resolve()))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            if (left := memory.left()) is not None:
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(_LONGEST, left))
            yield connection
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if getattr(error, "sqlite_errorname", None) == "SQLITE_TOOBIG":
            raise memory.Exhausted("a row is longer than what is left of it") from error
        hint = "is it of another kind? say format=duckdb, or name the right file"
        raise DataError(str(file), f"no SQLite database that can be read: {error}", hint=hint) from error


def _tables(connection: sqlite3.Connection) -> dict[str, str]:
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name"
    )
    return {name: name for (name,) in found}


def _table(connection: sqlite3.Connection, file: str, table: str, where: str | None) -> Raw:
    name = sql.quoted(table)
    columns = connection.execute(f"PRAGMA table_xinfo({name})")
    declared = [str(type).upper() for _, _, type, *_, hidden in columns if hidden != 1]
    rows = f"SELECT * FROM {name}"
    if where is not None:
        names = [d[0] for d in connection.execute(f"{rows} LIMIT 0").description]
        connection.execute("PRAGMA case_sensitive_like = true")
        rows += f" WHERE {condition(file, where, names, insensitive='LOWER')}"
    return _fetched(connection, file, rows, declared)


def _query(connection: sqlite3.Connection, location: str, query: str, tables: Collection[str]) -> Raw:
    refusals: list[int] = []

    def authorize(action: int, *_: object) -> int:
        """Deny ATTACH, and VACUUM INTO which uses it: both create files even if the database is read-only."""
        if action == sqlite3.SQLITE_ATTACH:
            refusals.append(action)
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    connection.set_authorizer(authorize)
    try:
        return _fetched(connection, location, query, ())
    except (
        sqlite3.DatabaseError,
        sqlite3.Warning,
    ) as error:  # Warning: several statements, in Python 3.11
        if not refusals and type(error) is sqlite3.DatabaseError:
            raise
        raise sql.refused(location, query, sql.ONLY_READS if refusals else str(error), tables) from error


def check_sqlite(query: str, location: str) -> None:
    """Parse a query without its tables."""
    words = _COMMENT.sub(" ", query).split(None, 1)
    if words and words[0].lower() == "explain":
        return
    if words and words[0].lower() in _WRITES:
        raise sql.refused(location, query, sql.ONLY_READS)
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute(f"EXPLAIN {query}")
        except (sqlite3.Error, sqlite3.Warning) as error:
            if "syntax error" in str(error) or "one statement" in str(error):
                raise sql.refused(location, query, str(error)) from error


def _fetched(connection: sqlite3.Connection, file: str, query: str, declared: Sequence[str]) -> Raw:
    cursor = connection.execute(query)
    if cursor.description is None:
        raise sqlite3.ProgrammingError(sql.ONLY_READS)
    names = tuple(d[0] for d in cursor.description)
    cells = [Gathered() for _ in names]
    rows = map(_looked_at, cursor)
    while batch := list(islice(rows, BATCH)):
        for column, values in zip(cells, zip(*batch, strict=True), strict=True):
            column.add(values)
    types = declared if len(declared) == len(names) else [""] * len(names)
    columns = []
    for name, column, type in zip(names, cells, types, strict=True):
        try:
            columns.append(_as_declared(column.whole(), type))
        except CastError as error:
            message = f"{error.value} is not {error.expected}"
            raise Raw(file, names, (), lambda _: None).error(error.row, message, name, error.hint) from error
    return Raw(file, names, tuple(columns), lambda _: None, typed=True)


def _looked_at(row: tuple[Any, ...]) -> tuple[Any, ...]:
    memory.look()  # checked for each value, since a view can create large ones
    return row


def _as_declared(column: Column, declared: str) -> Column:
    """Convert a column to a declared type that SQLite lacks, if all values fit."""
    numbers = isinstance(column, Large) or pa.types.is_floating(column.type)
    if "INT" in declared and numbers:
        values = column.to_pylist()
        if any(isinstance(v, float) and not SMALLEST <= v <= LARGEST for v in values):
            return Large(values, rounded=True)
    if isinstance(column, Objects) or column.null_count == len(column):
        return column
    if declared.startswith("BOOL") and (numbers or pa.types.is_integer(column.type)):
        truths = pc.is_in(column.drop_null(), value_set=pa.array([0, 1], column.type))
        return column.cast(pa.bool_()) if pc.all(truths).as_py() else column
    convert = read_date if declared.startswith(("DATE", "TIMESTAMP")) else _list
    texts = isinstance(column, pa.ChunkedArray) and pa.types.is_large_string(column.type)
    if not texts or (convert is _list and declared != "JSON"):
        return column
    made = Gathered()
    for chunk in column.chunks:
        values = [None if text is None else convert(text) for text in chunk.to_pylist()]
        if values.count(None) > chunk.null_count:
            return column
        made.add(values)
    return made.whole()


def _list(text: str) -> object:
    try:
        found = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def write_sqlite(database: Target) -> AbstractContextManager[sql.Writer]:
    """Replace tables of a database, as `kgreason.data.formats.sql.replacing_tables`."""
    return sql.replacing_tables(
        database.path, sqlite3.Error, partial(sqlite3.connect, isolation_level=None), _replace
    )


def _replace(connection: Any, name: str, facts: Any, predicate: str, names: Sequence[str]) -> None:
    kinds = facts.tables[predicate].kinds
    columns = (f"{sql.quoted(n)} {_TYPES[k]}".rstrip() for n, k in zip(names, kinds, strict=True))
    plain = (bool, int, float, str)
    rows = ([v if isinstance(v, plain) else json_text(v) for v in row] for row in facts.rows(predicate))
    connection.execute(f"DROP TABLE IF EXISTS {name}")
    connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
    connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(names))})", rows)
