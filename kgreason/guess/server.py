"""Tables of a database server of which nothing is said but where they are."""

from __future__ import annotations

from collections.abc import Iterator

from kgreason.analysis.server import connection, table_of
from kgreason.errors import DataError
from kgreason.graph.io.formats import read_table
from kgreason.graph.io.options import normal
from kgreason.graph.io.raw import Raw
from kgreason.graph.io.source import SourceSpec
from kgreason.graph.io.sql import quoted

_TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
)
_PUBLIC = "public"


def served(given: SourceSpec, rows: int) -> Iterator[tuple[dict[str, str], Raw, bool]]:
    """Read the first rows of a table, or of all tables of the database if none is named.

    Parameters
    ----------
    rows
        How many at most.

    Yields
    ------
    options
        That name the table.
    raw
        Its rows.
    whole
        Whether these are all.

    Raises
    ------
    DataError
        If the server does not answer, or has no such table.
    """
    options = normal(given.options)
    login = connection(options)
    for schema, table in _named(options) or _found(given, login, options.get("schema")):
        place = ".".join(quoted(part) for part in (schema, table) if part)
        query = f"SELECT * FROM {place} LIMIT {rows + 1}"
        raw = read_table(SourceSpec(given.path, "postgresql", login, query))
        at = {**options, **({"schema": schema} if schema not in ("", _PUBLIC) else {}), "table": table}
        yield at, raw, len(raw) <= rows


def _named(options: dict[str, str]) -> list[tuple[str, str]]:
    """The table that is named, with its schema, if it has one."""
    if "table" not in options:
        return []
    schema, _, table = table_of(options, options["table"]).rpartition(".")
    return [(schema, table)]


def _found(given: SourceSpec, login: dict[str, str], schema: str | None) -> list[tuple[str, str]]:
    raw = read_table(SourceSpec(given.path, "postgresql", login, _TABLES))
    columns = [column.to_pylist() for column in raw.columns]
    found = [(str(s), str(t)) for s, t in zip(*columns, strict=True) if schema in (None, s)]
    if not found:
        hint = "name another database, or one that you may read: postgresql://user@host/database?table=own"
        raise DataError(given.file, "the database has no tables", hint=hint)
    return found
