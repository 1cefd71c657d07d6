"""DuckDB databases, and queries over files; needs the package duckdb."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from kgreason import memory
from kgreason.errors import DataError
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Raw, no_file
from kgreason.graph.io.sql import ONLY_READS, extra, located, no_table, only, quoted, refused
from kgreason.graph.io.where import condition

_ROWS = 1 << 16  # rows at once
_LEAST = 16_000_000  # bytes without which DuckDB does nothing


def read_duckdb(path: Path, options: Options, query: str | None = None, place: str | None = None) -> Raw:
    """Read a table or view, or the result of a query that is written at `place`.

    Where `path` is a folder, the query reads files (``FROM 'own.parquet'``) that are relative to it.
    """
    duckdb = extra("duckdb", "duckdb", path)
    file, table = (path, None) if query else located(path, options.table)
    if not file.exists():
        raise no_file(file)
    place = place or str(file)
    with closing(_opened(duckdb, file)) as connection:
        _settle(connection)
        if file.is_dir():
            connection.execute("SET file_search_path = ?", [str(file)])
        tables = _tables(connection)
        if query is None:
            query = f"SELECT * FROM {_named(file, table or only(file, tables), tables)}"
            if options.where is not None:
                names = connection.sql(f"{query} LIMIT 0").columns
                query += f" WHERE {condition(place, options.where, names)}"
        try:
            if not _reads(duckdb, connection, query):
                raise refused(place, query, ONLY_READS, tables)
            found = _fetched(connection, query)
        except duckdb.OutOfMemoryException as error:
            raise memory.Exhausted(_first(error)) from error
        except duckdb.Error as error:
            raise refused(place, query, _first(error), tables) from error
    return Raw(place, tuple(found.column_names), tuple(found.columns), lambda _: None, typed=True)


def _fetched(connection: Any, query: str) -> Any:
    """Table of the rows that a query gives; a view or a query makes any number of them out of nothing."""
    import pyarrow as pa

    result = connection.sql(query)
    newer = hasattr(result, "to_arrow_reader")
    reader = result.to_arrow_reader(_ROWS) if newer else result.fetch_arrow_reader(_ROWS)
    batches = []
    for batch in reader:
        memory.look()
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema)


def _settle(connection: Any) -> None:
    """Let texts of a column be longer than 2 GB together, and DuckDB hold no more than what is left."""
    connection.execute("SET arrow_large_buffer_size = true")
    if (left := memory.left()) is not None:
        connection.execute(f"SET memory_limit = '{max(_LEAST, left)}B'")


def _opened(duckdb: Any, file: Path) -> Any:
    try:
        return duckdb.connect(":memory:" if file.is_dir() else str(file), read_only=file.is_file())
    except duckdb.Error as error:
        raise DataError(
            str(file),
            f"no DuckDB database that can be read: {_first(error)}",
            hint="is it of another format, made by a newer DuckDB, or open in another program? format= says which",
        ) from error


def duckdb_tables(path: Path) -> list[str]:
    """Names of the tables and views of a database.

    Raises
    ------
    DataError
        If the file is none, or the package duckdb is missing.
    """
    with closing(_opened(extra("duckdb", "duckdb", path), path)) as connection:
        return _tables(connection)


def _reads(duckdb: Any, connection: Any, query: str) -> bool:
    statements = connection.extract_statements(query)
    return len(statements) == 1 and bool(statements[0].type == duckdb.StatementType.SELECT)


def check_duckdb(query: str, place: str) -> None:
    """Parse a query; without the package duckdb nothing is checked.

    Raises
    ------
    DataError
        If it is no SELECT.
    """
    try:
        duckdb: Any = importlib.import_module("duckdb")
    except ModuleNotFoundError:
        return
    try:
        with closing(duckdb.connect(":memory:")) as connection:
            reads = _reads(duckdb, connection, query)
    except duckdb.Error as error:
        raise refused(place, query, _first(error), ()) from error
    if not reads:
        raise refused(place, query, ONLY_READS, ())


def _tables(connection: Any) -> list[str]:
    found = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema NOT IN "
        "('information_schema', 'pg_catalog') ORDER BY ALL"
    )
    return [name if schema == "main" else f"{schema}.{name}" for schema, name in found.fetchall()]


def _named(file: Path, table: str, tables: Sequence[str]) -> str:
    known = {name.lower(): name for name in tables}  # as DuckDB compares names
    exact = known.get(table.lower().removeprefix("main."))
    if exact is None:
        raise no_table(file, table, tables)
    return ".".join(quoted(part) for part in exact.split(".", 1)) if "." in exact else quoted(exact)


def _first(error: Exception) -> str:
    """First line of a message of DuckDB, with the candidates it knows."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines[1:] if line.startswith(("Did you mean", "Candidate"))]
    return " ".join([*lines[:1], *told])
