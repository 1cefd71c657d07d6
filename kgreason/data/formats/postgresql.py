"""PostgreSQL: tables, views and queries of a database server; requires the package psycopg.

Passwords are handled by libpq: ``PGPASSWORD`` or ``~/.pgpass``. Rows are transferred by COPY, block by block, as Arrow
columns. All output tables of a run are written in one transaction; other tables are unchanged.

References
----------
PostgreSQL Global Development Group: PostgreSQL 15 documentation, COPY; chapter 34, libpq.
"""

from __future__ import annotations

import io
import json
import os
import re
import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from kgreason.base import memory
from kgreason.base.arrays import Lazy, arrow_csv, pa, pc
from kgreason.base.errors import DataError, ReleaseError
from kgreason.base.interrupts import stoppable
from kgreason.base.printable import hidden
from kgreason.data.fact_columns import columns_of, fact_chunks, json_text
from kgreason.data.formats.sql import ONLY_READS, Writer, dotted, extra, quoted, refused, resolved
from kgreason.data.raw_table import BLOCK, Column, Raw
from kgreason.data.row_conditions import condition
from kgreason.data.source_options import Options
from kgreason.data.targets import Target
from kgreason.data.text_conversion import first_misfit
from kgreason.data.value_conversion import CastError, Objects, Unfit, arrow_column, checked
from kgreason.engine.relations.fact_tables import NESTED, Facts, Kind
from kgreason.language.check.file_access import address
from kgreason.language.values import read_date

psycopg: Any = Lazy("psycopg")

_NAMES = {"database": "dbname"}
_PORT = 5432
_SECONDS = "10"  # connection timeout
_SECONDS_TO_CANCEL = 0.3
_PASSWORD = (
    "the password comes from the environment variable PGPASSWORD, else from a line host:port:database:user:password "
    "in ~/.pgpass (chmod 600; PGPASSFILE names another file)"
)
_GONE = "the server ended it: nothing was read or written by halves, so run it again, or see its log"
_HINTS = (
    ("closed the connection", _GONE),
    ("terminating connection", _GONE),
    ("no password supplied", _PASSWORD),
    ("password authentication failed", f"is it that of this user? {_PASSWORD}"),
    ("connection refused", "is the server running there? host= and port= say where, else PGHOST and PGPORT"),
    ("no such file or directory", "is the server running? host= and port= say where, else PGHOST and PGPORT"),
    ("could not translate host name", "look at host= (or PGHOST)"),
    ("resolve host", "look at host= (or PGHOST)"),
    ("timeout expired", "does the server answer at all? look at host= and port=, and for a firewall between"),
    ("no pg_hba.conf entry", "the server lets this user in from elsewhere, or with sslmode=require only"),
    ("ssl", "look at sslmode= and sslrootcert="),
    ("definition of service", "look at service= and at ~/.pg_service.conf (PGSERVICEFILE)"),
)
_STATES = {
    "28P01": f"is it that of this user? {_PASSWORD}",
    "28000": "does this user exist? user= names another",
    "3D000": "look at database=; psql -l lists the databases",
    "42501": "ask the owner for the right, as in GRANT SELECT ON TABLE own TO reader",
    "25006": "the server is a copy that only reads, or the database is set so",
    "53300": "too many are connected: try again later",
    "57014": "the server ends long statements: ask for a higher statement_timeout",
    "2BP01": "something depends on the table, a view for instance: write to another table, or drop that first",
    "53100": "make room on the server",
}
_STARTS = re.compile(
    r"^(connection failed: |connection is bad: )?(connection to server .*? failed: (FATAL: +)?)?"
)
_READ_ONLY = "25006"  # SQLSTATE of a write in a read-only transaction
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
_INTEGERS = frozenset({"int2", "int4", "int8", "oid"})
_FLOATS = frozenset({"float4", "float8"})
_DATES = {"date": "date", "timestamp": "timestamp", "timestamptz": "timestamp with time zone"}
_NUMBERS = (*_INTEGERS, *_FLOATS, "numeric")
_TYPES_OF = """
SELECT t.oid, t.typname, t.typcategory, e.typname, e.typcategory, format_type(t.oid, NULL)
FROM pg_type t LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A' WHERE t.oid = ANY(%s)
"""
_CURE = "columns=a,b takes other columns; a query can cast this one, as in select owner::text"
_WRITTEN = {
    Kind.INT: "bigint",
    Kind.DOUBLE: "double precision",
    Kind.STRING: "text",
    Kind.BOOL: "boolean",
    Kind.DATE: "timestamp without time zone",
    Kind.LIST: "jsonb",
    Kind.SET: "jsonb",
    Kind.ANY: "text",
}
"""Types of the columns that are written."""
_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), c.relkind
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.oid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_FILLED = ("r", "p")  # relkinds of tables: ordinary and partitioned


@contextmanager
def _connected(options: Mapping[str, str], where: str) -> Iterator[Any]:
    """Connection to the server that the options name; libpq supplies missing options."""
    extra("psycopg", "postgresql", where)
    given = {_NAMES.get(name, name): value for name, value in options.items()}
    if "PGCONNECT_TIMEOUT" not in os.environ and "service" not in given:
        given.setdefault("connect_timeout", _SECONDS)
    try:
        connection = psycopg.connect(**given, client_encoding="UTF8", application_name="kgreason")
    except psycopg.Error as error:
        reason, hint = _cause(error)
        raise DataError(where, f"no connection: {reason}", hint=hint) from None
    with closing(connection):
        yield connection


def _give_up(connection: Any) -> None:
    """Cancel the running statement and close the socket; called from another thread."""
    with suppress(psycopg.Error):
        connection.cancel_safe(timeout=_SECONDS_TO_CANCEL)
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as link:
        link.shutdown(socket.SHUT_RDWR)  # a hanging server does not react to the cancellation


def _cause(error: Exception) -> tuple[str, str | None]:
    diag = getattr(error, "diag", None)
    primary = getattr(diag, "message_primary", None)
    lines = [line.strip() for line in hidden(str(error)).splitlines() if line.strip()]
    telling = [line for line in lines if "failed:" in line or "FATAL" in line]
    reason = hidden(primary or _STARTS.sub("", (telling or lines or [type(error).__name__])[-1]))
    state = getattr(error, "sqlstate", None)
    hint = _STATES.get(state or "") or next((h for words, h in _HINTS if words in reason.lower()), None)
    if hint is None and "does not exist" in reason:
        hint = _STATES["3D000"] if "database" in reason else _STATES["28000"]
    detail = getattr(diag, "message_detail", None)
    return reason + (f" ({hidden(detail)})" if detail else ""), hint


def read_postgresql(_: Path, options: Options, query: str | None = None, location: str | None = None) -> Raw:
    """Read a table or view, or the result of a query written at `location`, in a read-only transaction.

    Numbers, truth values, dates, texts, enumerations, UUIDs and arrays of these keep their types; other types are
    errors if read. ``numeric`` without decimals becomes integer, else double; JSON becomes lists if all values are.

    Raises
    ------
    DataError
        If the connection fails, the table does not exist, or the query is not read-only.
    """
    where = address(options.connection)
    with _connected(options.connection, where) as connection:
        info = connection.info  # includes the defaults of libpq
        port = {} if info.port == _PORT else {"port": str(info.port)}
        found = {**port, **options.connection, "host": info.host, "database": info.dbname, "service": ""}
        where = address(found)
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        try:
            read = partial(_read, connection, where, options, query, location or where)
            return stoppable(read, partial(_give_up, connection))
        except psycopg.Error as error:
            reason, hint = _cause(error)
            raise DataError(where, reason, hint=hint) from None


def _read(connection: Any, where: str, options: Options, query: str | None, location: str) -> Raw:
    settings = {"datestyle": "ISO, YMD", "timezone": "UTC", "extra_float_digits": "1"}
    if options.schema:
        settings["search_path"] = quoted(options.schema)
    for setting in settings.items():
        connection.execute("SELECT set_config(%s, %s, true)", setting)
    tables = _tables(connection, options.schema)
    if query is not None:
        return _query(connection, location, query, {*tables.values()})
    name = resolved(where, options.table, tables, "say database= and schema=, if the tables are elsewhere")
    location, rows = f"{where} table {name}", dotted(name, options.schema)
    if options.where is not None:
        names, _ = _typed_columns(connection, rows)
        rows = f"(SELECT * FROM {rows} WHERE {condition(location, options.where, names, escaped=True)})"
    return _fetched(connection, location, rows)


def _tables(connection: Any, schema: str | None) -> dict[str, str]:
    """Tables and views by their possible names; the schema may be omitted if it is in the search path."""
    found = connection.execute(_TABLES).fetchall()
    if schema:
        found = [(space, name, True) for space, name, _ in found if space == schema]
    names = {f"{space}.{name}": name if visible else f"{space}.{name}" for space, name, visible in found}
    return {**names, **{name: name for name in names.values()}}


def _query(connection: Any, location: str, query: str, tables: Collection[str]) -> Raw:
    text = one_select(query, location, tables)
    try:
        return _fetched(connection, location, f"(\n{text}\n)")
    except psycopg.OperationalError:
        raise
    except psycopg.Error as error:
        reason = ONLY_READS if error.sqlstate == _READ_ONLY else _cause(error)[0]
        raise refused(location, query, reason, tables) from None


def one_select(query: str, location: str, tables: Collection[str] = ()) -> str:
    """The single statement of a query, without a trailing semicolon."""
    first, end = "", len(query)
    for token in _TOKEN.finditer(query):
        if token["blank"]:
            continue
        if end < len(query):
            raise refused(location, query, ONLY_READS, tables)
        first = first or token[0].lower()
        if token["end"]:
            end = token.start()
    if first not in _READS:
        raise refused(location, query, ONLY_READS, tables)
    return query[:end]


def _fetched(connection: Any, file: str, rows: str) -> Raw:
    names, columns = _typed_columns(connection, rows)
    if not columns:
        raise DataError(file, "the table has no columns", hint="is it the one you mean? table= says which")
    listed = ", ".join(f"k{i}" for i in range(len(columns)))
    chosen = ", ".join(column.selected.format(f"k{i}") for i, column in enumerate(columns))
    command = f"COPY (SELECT {chosen} FROM {rows} AS q({listed})) TO STDOUT (FORMAT csv)"
    schema = pa.schema([(f"k{i}", column.arrow) for i, column in enumerate(columns)])
    blocks = [_parse(file, block, schema) for block in _blocks(connection, command)]
    table = pa.concat_tables([schema.empty_table(), *blocks])
    whole = tuple(column.whole(cells) for column, cells in zip(columns, table.columns, strict=True))
    return Raw(file, names, whole, lambda _: None, typed=True, ordered=False)


def _blocks(connection: Any, command: str) -> Iterator[bytes]:
    """CSV in blocks of whole rows, some megabytes each."""
    with connection.cursor() as cursor, cursor.copy(command) as copy:
        rows, size = [], 0
        for row in copy:
            rows.append(row)
            size += len(row)
            if size >= BLOCK:
                yield b"".join(rows)
                rows, size = [], 0
        yield b"".join(rows)


def _parse(file: str, block: bytes, schema: Any) -> Any:
    if not block:
        return schema.empty_table()
    memory.claim(2 * len(block))
    try:
        return arrow_csv.read_csv(
            pa.BufferReader(block),
            arrow_csv.ReadOptions(column_names=schema.names, block_size=len(block) + 1),
            arrow_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            arrow_csv.ConvertOptions(
                column_types=schema,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=["t"],
                false_values=["f"],
            ),
        )
    except pa.ArrowInvalid as error:
        what = f"the server sends what is no UTF-8 text: {error}"
        raise DataError(file, what, hint="is the database SQL_ASCII?") from error


def _typed_columns(connection: Any, rows: str) -> tuple[tuple[str, ...], list[_Typed]]:
    """Names and types of the columns of a FROM clause; the server plans the statement but reads no row."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {rows} AS q LIMIT 0", binary=True)
        described = cursor.description or ()
    oids = sorted({column.type_code for column in described})
    found = {row[0]: row[1:] for row in connection.execute(_TYPES_OF, (oids,)).fetchall()}
    columns = [_typed(found[column.type_code], column.scale) for column in described]
    return tuple(column.name for column in described), columns


class _Typed(NamedTuple):
    """Transfer of one column type: CSV cell type, SQL expression, and conversion of the cells."""

    arrow: Any
    whole: Callable[[Column], Column] = lambda column: column
    selected: str = "{}"


def _numeric(column: Column) -> Column:
    """Exact numerics: integers if all values are, else doubles."""
    with suppress(pa.ArrowInvalid):
        return column.cast(pa.int64())
    if not pc.any(pc.match_substring_regex(column, "^-?[0-9]{16,}$")).as_py():
        return column.cast(pa.float64())
    cells = column.to_pylist()
    try:
        return arrow_column([c and (int(c) if c.lstrip("-").isdecimal() else float(c)) for c in cells])
    except CastError as error:
        return Unfit(len(cells), error)


def _dates(kind: str, column: Column) -> Column:
    """Microsecond timestamps; those with a time zone are in UTC."""
    type = pa.timestamp("us", "UTC" if kind == "timestamptz" else None)
    try:
        return column.cast(type)
    except pa.ArrowInvalid:
        row = first_misfit(column, type)
        expected = f"a {_DATES[kind]} of the years 1 to 9999"
        return Unfit(len(column), CastError(row, str(column[row].as_py()), expected))


def _lists(element: str | None, column: Column) -> Column:
    """Arrays, transferred as JSON; JSON columns (no `element`) if all their values are lists."""
    cells = [None if text is None else json.loads(text) for text in column.to_pylist()]
    if element is None and not all(cell is None or isinstance(cell, list) for cell in cells):
        return column

    def converted(value: Any, row: int) -> Any:
        """Convert JSON elements to the element type of the array."""
        if isinstance(value, list):
            return [converted(part, row) for part in value]
        if element in _DATES and value is not None:
            found = read_date(value.removesuffix("+00:00"))
            if found is None:
                raise CastError(row, value, "a date of the years 1 to 9999")
            return found
        if element in _NUMBERS and isinstance(value, str):
            raise CastError(row, value, "a finite number")
        return value

    try:
        return Objects(None if c is None else checked(converted(c, row), row) for row, c in enumerate(cells))
    except CastError as error:
        return Unfit(len(cells), error)


def _typed(type: Sequence[Any], scale: int | None) -> _Typed:
    name, category, element, elements, shown = type
    if name in _INTEGERS:
        return _Typed(pa.int64())
    if name in _FLOATS or (name == "numeric" and scale):
        return _Typed(pa.float64())
    if name == "bool":
        return _Typed(pa.bool_())
    text = pa.string()
    if name == "numeric":
        return _Typed(text, _numeric)
    if name in _DATES:
        return _Typed(text, partial(_dates, name))
    if category in "SE" or name == "uuid":  # trailing blanks of bpchar are insignificant
        return _Typed(text, selected="{}::text" if name == "bpchar" else "{}")
    if name in ("json", "jsonb"):
        return _Typed(text, partial(_lists, None))
    if category == "A" and (element in {*_NUMBERS, *_DATES, "uuid", "bool"} or elements in ("S", "E")):
        return _Typed(text, partial(_lists, element), "to_json({})::text")
    expected = "a number, a string, a truth value, a date or a list of them"
    unfit = CastError(0, f"a value of type {shown}", expected, _CURE)
    return _Typed(pa.bool_(), lambda column: Unfit(len(column), unfit), "NULL::boolean")


@contextmanager
def write_postgresql(target: Target) -> Iterator[Writer]:
    """Replace tables of a database: all if the block succeeds, else none.

    An existing table with the same columns is emptied and filled, which preserves its privileges, indexes and views.
    One with other columns is dropped and recreated.
    """
    with _connected(target.connection, target.address) as connection:

        def write(facts: Any, predicate: str, names: Sequence[str], one: Any) -> None:
            with _writing(one):
                connection.execute("SELECT set_config('datestyle', 'ISO, YMD', true)")
                name = dotted(one.table or predicate, one.options.get("schema"))
                types = [_WRITTEN[kind] for kind in facts.tables[predicate].kinds]
                _make_room(connection, name, list(zip(names, types, strict=True)))
                listed = ", ".join(map(quoted, names))
                with connection.cursor().copy(f"COPY {name} ({listed}) FROM STDIN (FORMAT csv)") as copy:
                    for block in _csv_blocks(facts, predicate):
                        copy.write(block)

        yield write
        with _writing(target):
            connection.commit()  # deferred constraints are checked here


def _make_room(connection: Any, name: str, columns: Sequence[tuple[str, str]]) -> None:
    there = connection.execute(_COLUMNS, (name,)).fetchall()
    plain = all(kind in _FILLED for *_, kind in there)
    if there and plain and [(column, type) for column, type, _ in there] == list(columns):
        connection.execute(f"TRUNCATE {name}")
        return
    if there:
        connection.execute(f"DROP TABLE {name}")
    connection.execute(f"CREATE TABLE {name} ({', '.join(f'{quoted(n)} {t}' for n, t in columns)})")


def _csv_blocks(facts: Facts, predicate: str) -> Iterator[bytes]:
    """Facts as CSV for COPY; all values are quoted, since unquoted empty fields are NULL; lists and sets are JSON."""
    style = arrow_csv.WriteOptions(include_header=False, quoting_style="all_valid")
    names = [str(i) for i in range(facts.tables[predicate].arity)]
    for chunk in fact_chunks(facts, predicate):
        stream = io.BytesIO()
        columns = columns_of(chunk, predicate, NESTED, json_text)
        arrow_csv.write_csv(pa.Table.from_arrays(columns, names), stream, style)
        yield stream.getvalue()


@contextmanager
def _writing(target: Target) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        reason, hint = _cause(error)
        if hint and hint.startswith("ask the owner"):
            hint = "ask for the right, as in GRANT CREATE ON SCHEMA results TO writer"
            hint += "; a table is replaced by its owner"
        raise ReleaseError(f"{target.file}: cannot be written: {reason}", hint=hint) from None
