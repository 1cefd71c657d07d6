"""PostgreSQL: tables, views and queries of a database server; needs the package psycopg.

The password is libpq's affair: ``PGPASSWORD`` or ``~/.pgpass``. Rows come by COPY, block by block, into Arrow columns.

References
----------
PostgreSQL Global Development Group: PostgreSQL 15 documentation, COPY; chapter 34, libpq.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kgreason import memory
from kgreason.analysis.server import address
from kgreason.errors import DataError
from kgreason.graph.io.connect import cause, connected, found_at, give_up
from kgreason.graph.io.options import Options
from kgreason.graph.io.pgtypes import Typed, typed_columns
from kgreason.graph.io.raw import BLOCK, Raw
from kgreason.graph.io.sql import ONLY_READS, no_table, only, quoted, refused
from kgreason.graph.io.where import condition
from kgreason.interrupts import stoppable

_READ_ONLY = "25006"  # SQLSTATE of what a transaction that only reads refuses
_TOKEN = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?\*/)|(?P<text>[eE]?'(?:[^'\\]|''|\\.)*'|"(?:[^"]|"")*"|\$(\w*)\$.*?\$\3\$)"""
    r"|(?P<end>;)|(?P<word>\w+)|(?P<other>.)",
    re.DOTALL,
)
_READS = frozenset({"select", "with", "values", "table", "("})
_TABLES = """
SELECT n.nspname, c.relname, pg_table_is_visible(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
ORDER BY 1, 2
"""


def read_postgresql(_: Path, options: Options, query: str | None = None, place: str | None = None) -> Raw:
    """Read a table or view, or the result of a query that is written at `place`, in a transaction that only reads.

    Raises
    ------
    DataError
        If the server lets nobody in, there is no such table, or the query does something else than reading.
    """
    where = address(options.connection)
    with connected(options.connection, where) as connection:
        import psycopg

        where = found_at(connection, options.connection)
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        try:
            read = partial(_read, connection, where, options, query, place)
            return stoppable(read, partial(give_up, connection))
        except psycopg.Error as error:
            raise DataError(where, *cause(error)) from None


def _read(connection: Any, where: str, options: Options, query: str | None, place: str | None) -> Raw:
    _settle(connection, options.schema)
    tables = tables_of(connection, options.schema)
    if query is None:
        name = resolved(where, options.table, tables)
        place, rows = f"{where} table {name}", _named(name, options.schema)
        return _fetched(connection, place, _restricted(connection, place, rows, options.where))
    return _query(connection, place or where, query, [*tables])


def _settle(connection: Any, schema: str | None) -> None:
    """Have dates, times and numbers written so that they are read back as they are."""
    for name, value in (("datestyle", "ISO, YMD"), ("timezone", "UTC"), ("extra_float_digits", "1")):
        connection.execute("SELECT set_config(%s, %s, true)", (name, value))
    if schema:
        connection.execute("SELECT set_config('search_path', %s, true)", (quoted(schema),))


def tables_of(connection: Any, schema: str | None) -> dict[str, tuple[str, str]]:
    """Schema and name of each table and view, by what one calls it: with its schema, unless that is searched anyway."""
    found = connection.execute(_TABLES).fetchall()
    if schema:
        found = [(space, name, True) for space, name, _ in found if space == schema]
    return {name if visible else f"{space}.{name}": (space, name) for space, name, visible in found}


def resolved(where: str, table: str | None, tables: dict[str, tuple[str, str]]) -> str:
    """Tell which table of the database is meant; the case of letters does not matter where only one fits.

    Raises
    ------
    DataError
        If none is, or none is named and there are several.
    """
    known = [*tables]
    if not table:
        return only(where, known) if len(known) == 1 else _unnamed(where, known)
    both = {**{f"{space}.{name}": key for key, (space, name) in tables.items()}, **{k: k for k in known}}
    if table in both:
        return both[table]
    near = {key for name, key in both.items() if name.lower() == table.lower()}
    if len(near) != 1:
        raise no_table(where, table, known)
    return near.pop()


def _unnamed(where: str, known: Sequence[str]) -> str:
    shown = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
    raise DataError(
        where,
        f"the database has {len(known)} tables that this user sees, and none is named",
        hint=f"say table=, one of {shown}"
        if known
        else "say database= and schema=, if the tables are elsewhere",
    )


def _named(name: str, schema: str | None) -> str:
    """A table as SQL writes it; what `tables_of` names without a schema is found by the search path."""
    if schema:
        return f"{quoted(schema)}.{quoted(name)}"
    return ".".join(map(quoted, name.split(".", 1)))


def _query(connection: Any, place: str, query: str, tables: Sequence[str]) -> Raw:
    import psycopg

    text = one_select(query, place, tables)
    try:
        return _fetched(connection, place, f"(\n{text}\n)")
    except psycopg.OperationalError:
        raise
    except psycopg.Error as error:
        if error.sqlstate == _READ_ONLY:
            raise refused(place, query, ONLY_READS, tables) from None
        raise refused(place, query, cause(error)[0], tables) from None


def one_select(query: str, place: str, tables: Sequence[str] = ()) -> str:
    """The one statement of a query, without a semicolon behind it.

    Raises
    ------
    DataError
        If it begins like a statement that does something else than reading, or another follows.
    """
    first, end = "", len(query)
    for token in _TOKEN.finditer(query):
        if token["blank"]:
            continue
        if end < len(query):
            raise refused(place, query, ONLY_READS, tables)
        first = first or token[0].lower()
        if token["end"]:
            end = token.start()
    if first not in _READS:
        raise refused(place, query, ONLY_READS, tables)
    return query[:end]


def check_postgresql(query: str, place: str) -> None:
    """See without a server whether a query is one SELECT, as far as that shows.

    Raises
    ------
    DataError
        If it is not.
    """
    one_select(query, place)


def _restricted(connection: Any, place: str, rows: str, where: str | None) -> str:
    """What stands behind FROM for the rows that meet a condition."""
    if where is None:
        return rows
    names, _ = typed_columns(connection, rows)
    return f"(SELECT * FROM {rows} WHERE {condition(place, where, names, escaped=True)})"


def _fetched(connection: Any, file: str, rows: str) -> Raw:
    """Read what stands behind FROM."""
    names, columns = typed_columns(connection, rows)
    if not columns:
        raise DataError(file, "the table has no columns", hint="is it the one you mean? table= says which")
    listed = ", ".join(f"k{i}" for i in range(len(columns)))
    chosen = ", ".join(column.selected(f"k{i}") for i, column in enumerate(columns))
    command = f"COPY (SELECT {chosen} FROM {rows} AS q({listed})) TO STDOUT (FORMAT csv)"
    for block in _blocks(connection, command):
        _parsed(file, block, columns)
    notes = tuple(note for n, c in zip(names, columns, strict=True) if (note := c.note(file, n)))
    made = tuple(column.whole() for column in columns)
    return Raw(file, names, made, lambda _: None, typed=True, ordered=False, notes=notes)


def _blocks(connection: Any, command: str) -> Iterator[bytes]:
    """Some megabytes of whole rows at a time; the server sends row by row."""
    with connection.cursor() as cursor, cursor.copy(command) as copy:
        rows: list[Any] = []
        size = 0
        for row in copy:
            rows.append(row)
            size += len(row)
            if size >= BLOCK:
                yield b"".join(rows)
                rows, size = [], 0
        if rows:
            yield b"".join(rows)


def _parsed(file: str, block: bytes, columns: Sequence[Typed]) -> None:
    import pyarrow as pa
    from pyarrow import csv

    memory.claim(2 * len(block))
    names = [f"k{i}" for i in range(len(columns))]
    try:
        table = csv.read_csv(
            pa.BufferReader(block),
            csv.ReadOptions(column_names=names, block_size=len(block) + 1),
            csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types={name: column.arrow for name, column in zip(names, columns, strict=True)},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=["t"],
                false_values=["f"],
            ),
        )
    except pa.ArrowInvalid as error:
        raise DataError(
            file, f"the server sends what is no UTF-8 text: {error}", hint="is the database SQL_ASCII?"
        ) from error
    for column, values in zip(columns, table.columns, strict=True):
        column.add(values)
