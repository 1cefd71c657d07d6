"""Facts as tables of a PostgreSQL database: all of one run in one transaction; other tables stay as they are."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kgreason.engine.table import Facts, Kind
from kgreason.errors import ReleaseError
from kgreason.graph.io.connect import cause, connected
from kgreason.graph.io.sql import quoted
from kgreason.output.databases import Writer, cell
from kgreason.output.tables import pieces
from kgreason.output.target import Target

_TYPES = {
    Kind.INT: "bigint",
    Kind.DOUBLE: "double precision",
    Kind.STRING: "text",
    Kind.BOOL: "boolean",
    Kind.DATE: "timestamp without time zone",
    Kind.LIST: "jsonb",
    Kind.SET: "jsonb",
    Kind.ANY: "text",
}
_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), c.relkind
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.oid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_TABLES = ("r", "p")


@contextmanager
def postgresql_tables(target: Target) -> Iterator[Writer]:
    """Replace tables of a database; all of them if the block ends well, else none.

    A table that is there with the same columns is emptied and filled: its rights, indexes and views stay. One with
    other columns is dropped and made anew.

    Raises
    ------
    ReleaseError
        If they cannot be written.
    DataError
        If the server lets nobody in, or the package psycopg is missing.
    """
    with connected(target.connection, target.address) as connection:
        import psycopg

        def write(facts: Facts, predicate: str, names: Sequence[str], one: Target) -> None:
            with _refused(one):
                connection.execute("SELECT set_config('datestyle', 'ISO, YMD', true)")
                name = named(one, predicate)
                types = [_TYPES[kind] for kind in facts.tables[predicate].kinds]
                _make_room(connection, name, list(zip(names, types, strict=True)))
                listed = ", ".join(map(quoted, names))
                with connection.cursor().copy(f"COPY {name} ({listed}) FROM STDIN (FORMAT csv)") as copy:
                    for block in _blocks(facts, predicate):
                        copy.write(block)

        yield write
        try:
            connection.commit()
        except psycopg.Error as error:  # a constraint may wait until now
            raise _error(target, error) from None


def existing(target: Target, predicate: str) -> tuple[str, ...] | None:
    """Columns of the table that an output would replace; `None` if there is none.

    Raises
    ------
    DataError
        If the server lets nobody in.
    """
    with connected(target.connection, target.address) as connection, _refused(target):
        found = connection.execute(_COLUMNS, (named(target, predicate),)).fetchall()
    return tuple(row[0] for row in found) or None


def named(target: Target, predicate: str) -> str:
    """The table of an output as SQL writes it."""
    name, schema = target.table or predicate, target.options.get("schema")
    if schema:
        return f"{quoted(schema)}.{quoted(name)}"
    return ".".join(map(quoted, name.split(".", 1)))


def _make_room(connection: Any, name: str, columns: Sequence[tuple[str, str]]) -> None:
    there = connection.execute(_COLUMNS, (name,)).fetchall()
    plain = all(kind in _TABLES for *_, kind in there)
    if there and plain and [(column, type) for column, type, _ in there] == list(columns):
        connection.execute(f"TRUNCATE {name}")
        return
    if there:
        connection.execute(f"DROP TABLE {name}")
    connection.execute(f"CREATE TABLE {name} ({', '.join(f'{quoted(n)} {t}' for n, t in columns)})")


def _blocks(facts: Facts, predicate: str) -> Iterator[bytes]:
    """Facts as COPY reads them: every value in quotation marks, for bare nothing is NULL."""
    import pyarrow as pa
    from pyarrow import csv

    style = csv.WriteOptions(include_header=False, quoting_style="all_valid")
    for piece in pieces(facts, predicate):
        stream = io.BytesIO()
        csv.write_csv(
            pa.Table.from_arrays(_cells(piece, predicate), names=_numbers(piece, predicate)), stream, style
        )
        yield stream.getvalue()


def _numbers(facts: Facts, predicate: str) -> list[str]:
    return [str(i) for i in range(facts.tables[predicate].arity)]


def _cells(facts: Facts, predicate: str) -> list[Any]:
    """Columns as Arrow has them; lists and sets are JSON, what is of any type is text."""
    import numpy as np

    from kgreason.arrays import as_arrow, strings
    from kgreason.graph.interchange import facts_to_arrow
    from kgreason.graph.io.values import text

    table = facts.tables[predicate]
    columns = list(facts_to_arrow(facts, predicate).columns)
    for place, (kind, data) in enumerate(zip(table.kinds, table.columns, strict=True)):
        if kind in (Kind.LIST, Kind.SET, Kind.ANY):
            used, where = np.unique(data, return_inverse=True)
            values = facts.symbols.values(used.tolist())
            cells = [text(v) if kind is Kind.ANY else str(cell(v, kind)) for v in values]
            columns[place] = strings(cells).take(as_arrow(where))
    return columns


@contextmanager
def _refused(target: Target) -> Iterator[None]:
    """Say what the server says, in the terms of the user."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise _error(target, error) from None


def _error(target: Target, error: Exception) -> ReleaseError:
    reason, *_, hint = cause(error)
    if hint and hint.startswith("ask the owner"):
        hint = "ask for the right, as in GRANT CREATE ON SCHEMA results TO writer; a table is replaced by its owner"
    return ReleaseError(f"{target.file}: cannot be written: {reason}", hint=hint)
