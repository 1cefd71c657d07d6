"""DuckDB databases, and SQL queries over files; requires the package duckdb."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kgreason.base import memory
from kgreason.base.arrays import Lazy, pa
from kgreason.base.errors import DataError
from kgreason.base.interrupts import stoppable
from kgreason.data.fact_columns import facts_to_arrow
from kgreason.data.formats import sql
from kgreason.data.raw_table import Raw, no_file
from kgreason.data.row_conditions import condition
from kgreason.data.source_options import Options
from kgreason.data.targets import Target
from kgreason.language.check.file_access import ALLOW

duckdb: Any = Lazy("duckdb")

CONFINED = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}
"""Settings of every connection: queries, and the views of a database, may be a stranger's, and read no other file."""

_WRITTEN = {**CONFINED, "threads": "1"}  # with several threads the file layout is not deterministic
_ROWS = 1 << 16  # rows per batch
_LEAST = 16_000_000  # minimum memory limit of DuckDB in bytes


def read_duckdb(path: Path, options: Options, query: str | None = None, location: str | None = None) -> Raw:
    """Read a table or view, or the result of a query written at `location`.

    If `path` is a folder, file names in the query (``FROM 'own.parquet'``) are relative to it.
    """
    sql.extra("duckdb", "duckdb", path)
    file, table = (path, None) if query else sql.located(path, options.table)
    if not file.exists():
        raise no_file(file)
    location = location or str(file)
    with closing(_opened(file, allow_files=options.allow_files)) as connection:
        tables = _tables(connection)
        whole = query is None
        query = query or f"SELECT * FROM {sql.dotted(sql.resolved(str(file), table, tables))}"
        try:
            if whole and options.where is not None:
                names = connection.sql(f"{query} LIMIT 0").columns
                query += f" WHERE {condition(location, options.where, names)}"
            if not _reads(connection, query):
                raise sql.refused(location, query, sql.ONLY_READS, {*tables.values()})
            found = stoppable(partial(_fetched, connection, query), connection.interrupt)
        except duckdb.OutOfMemoryException as error:
            raise memory.Exhausted(_first(error)) from error
        except duckdb.PermissionException as error:
            raise _confined(location, query, error) from error
        except duckdb.Error as error:
            raise sql.refused(location, query, _first(error), {*tables.values()}) from error
    return Raw(location, tuple(found.column_names), tuple(found.columns), lambda _: None, typed=True)


def _fetched(connection: Any, query: str) -> Any:
    """Rows of a query; the memory limit is checked at each batch."""
    result = connection.sql(query)
    newer = hasattr(result, "to_arrow_reader")
    reader = result.to_arrow_reader(_ROWS) if newer else result.fetch_arrow_reader(_ROWS)
    batches = []
    for batch in reader:
        memory.look()
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema)


def _opened(file: Path, *, allow_files: bool = False) -> Any:
    """Open a database that reads no other file, or an in-memory one that reads files of a folder if allowed."""
    # The texts of a column may exceed 2 GB in total; DuckDB's limit is the remaining memory.
    folder = file.is_dir()
    config = {
        **CONFINED,
        "enable_external_access": str(allow_files).lower(),
        "arrow_large_buffer_size": "true",
    }
    if folder and allow_files:
        config["file_search_path"] = str(file)
    if (left := memory.left()) is not None:
        config["memory_limit"] = f"{max(_LEAST, left)}B"
    try:
        return duckdb.connect(":memory:" if folder else str(file), read_only=not folder, config=config)
    except duckdb.Error as error:
        what = f"no DuckDB database that can be read: {_first(error)}"
        hint = "is it of another format, made by a newer DuckDB, or open in another program?"
        raise DataError(str(file), what, hint=f"{hint} format= says which") from error


def duckdb_tables(path: Path) -> list[str]:
    """Names of the tables and views of a database."""
    sql.extra("duckdb", "duckdb", path)
    with closing(_opened(path)) as connection:
        return [*dict.fromkeys(_tables(connection).values())]


def _confined(location: str, query: str, error: Exception) -> DataError:
    """Error for a query, or a view in it, that reads other files."""
    what = _first(error).removeprefix("Permission Error: ").partition(" - ")[0]
    return replace(sql.refused(location, query, f"it reaches beyond its database: {what}"), hint=ALLOW)


def _reads(connection: Any, query: str) -> bool:
    statements = connection.extract_statements(query)
    return len(statements) == 1 and bool(statements[0].type == duckdb.StatementType.SELECT)


def check_duckdb(query: str, location: str, *, allow_files: bool = False) -> None:
    """Parse a query; without the package duckdb nothing is checked."""
    if find_spec("duckdb") is None:
        return
    try:
        with closing(_opened(Path())) as connection:
            reads = _reads(connection, query)
            if reads and not allow_files:
                with suppress(duckdb.CatalogException, duckdb.BinderException):  # its tables are missing
                    connection.execute(f"EXPLAIN {query}")
    except duckdb.PermissionException as error:
        raise _confined(location, query, error) from error
    except duckdb.Error as error:
        raise sql.refused(location, query, _first(error)) from error
    if not reads:
        raise sql.refused(location, query, sql.ONLY_READS)


def _tables(connection: Any) -> dict[str, str]:
    found = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema NOT IN "
        "('information_schema', 'pg_catalog') ORDER BY ALL"
    ).fetchall()
    names = {f"{space}.{name}": name if space == "main" else f"{space}.{name}" for space, name in found}
    return {**names, **{name: name for name in names.values()}}


def _first(error: Exception) -> str:
    """First line of a DuckDB message, with the candidate names it lists."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    candidates = [line for line in lines[1:] if line.startswith(("Did you mean", "Candidate"))]
    return " ".join([*lines[:1], *candidates])


def write_duckdb(database: Target) -> AbstractContextManager[sql.Writer]:
    """Replace tables of a database, as `kgreason.data.formats.sql.replacing_tables`."""
    sql.extra("duckdb", "duckdb", database.path)
    connect = partial(duckdb.connect, config=_WRITTEN)
    return sql.replacing_tables(database.path, duckdb.Error, connect, _replace)


def _replace(connection: Any, name: str, facts: Any, predicate: str, names: Sequence[str]) -> None:
    connection.register("kgreason_facts", facts_to_arrow(facts, predicate, names))
    connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM kgreason_facts")
    connection.unregister("kgreason_facts")
