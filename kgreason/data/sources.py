"""Data sources: files, database addresses and in-memory tables, with their read options."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kgreason.base.errors import DataError, Span
from kgreason.base.printable import HINT, hidden, in_address, names_password
from kgreason.base.records import record
from kgreason.data.source_options import FORMATS, Options, normal
from kgreason.language.check.file_access import address, table_of
from kgreason.language.vocabulary import EXTENSIONS, SERVERS

if TYPE_CHECKING:
    from kgreason.data.raw_table import Raw

TABLES = frozenset({"csv", "tsv", "parquet", "json", "sqlite", "duckdb", "postgresql", "neo4j"})
DATABASES = frozenset({"sqlite", "duckdb", "postgresql"})
_SHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")

_PART = re.compile(r"""(where=(?:[^&'"]|'[^']*'|"[^"]*"|['"](?!.*['"]))*|[^&]+)(?:&|$)""", re.IGNORECASE)
"""An option; within the quotation marks of a condition & is a letter."""
_ADDRESS = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^@/]*)@)?(?P<host>\[[^]]*\]|[^:/]*)(?::(?P<port>[^/]*))?(?:/(?P<database>.*))?"
)


@record
class Remote:
    """A table that another program holds, and that is fetched when facts of its predicate are needed."""

    file: str  # name in messages
    # fetches the columns that the options name; others may be empty
    read: Callable[[Options], Raw]
    memory: bool = False  # whether options of files do not apply, as for tables in memory


@record
class SourceSpec:
    """A data source and its read options."""

    # path of the file; a trailing ``.gz`` denotes gzip. Unused for database servers, whose address is in `options`
    path: Path
    format: str | None = None  # one of `FORMATS`; `None`: inferred from the file name
    # options of ``@bind`` or after the ``?`` of ``--data``; see `Options`
    options: Mapping[str, str] = field(default_factory=dict)
    # SQL query whose result is the table; `path` is then the database, or the folder to which file names in the query
    # are relative
    query: str | None = None
    span: Span | None = None  # location in the rule file; `None`: not declared in one
    # fetches the table, which is otherwise treated as one of `format`; `path` then only names it
    remote: Remote | None = None

    @property
    def location(self) -> str:
        """Location of the options or the query, for error messages."""
        return self.file if self.span is None else str(self.span)

    @property
    def file(self) -> str:
        """Path for messages; for a database server its address, without user and password."""
        if not self.server:
            return str(self.path) if self.remote is None else self.remote.file
        table = normal(self.options).get("table")
        return address(self.options) + (f" table {table_of(self.options, table)}" if table else "")

    @property
    def server(self) -> bool:
        """Whether the source is a table of a database server."""
        return (self.format or normal(self.options).get("format")) in SERVERS

    def kind(self, default: str | None = None) -> str:
        """Format of the source: as given, else inferred from the file name, else `default`, else a `DataError`.

        Examples
        --------
        >>> SourceSpec(Path("a.edges.gz")).kind(), SourceSpec(Path("out.moreno_blogs")).kind()
        ('edges', 'konect')
        """
        name = self.path.name.lower().removesuffix(".gz")
        given = self.format or normal(self.options).get("format")
        if given is None and self.query is None and name.endswith(_SHEETS):
            hint = "save the sheet as CSV (in Excel: Save As, CSV UTF-8) and give that file"
            raise DataError(self.location, "spreadsheets are not read", hint=hint)
        if given is not None:
            if given not in FORMATS:
                hint = f"one of {', '.join(FORMATS)}"
                raise DataError(self.location, f"{given!r} is not a format kgreason reads", hint=hint)
            return given
        if name.endswith((".bods.json", ".bods.jsonl")):
            return "bods"
        known = EXTENSIONS.get(name.rpartition(".")[2], default)
        if known is None and name.startswith("out."):
            return "konect"
        if known is None and os.path.isdir(self.path):
            from kgreason.data.raw_table import no_file

            raise no_file(self.path)
        if known is None:
            hint = f"say format=, one of {', '.join(FORMATS)}"
            raise DataError(self.location, "the name does not show the format", hint=hint)
        return known


def parse_source(text: str) -> tuple[str, SourceSpec]:
    """Parse ``PRED=FILE`` or ``PRED=FILE?option=value&option=value``."""
    predicate, equals, rest = text.partition("=")
    if not equals or not re.fullmatch(r"[a-z][A-Za-z0-9_]*", predicate) or not rest:
        hint = f"write which predicate the facts are of, as in own={hidden(text)}"
        if equals:
            hint = "write for instance own=register.csv, or 'own=register.csv?delimiter=;'"
        raise DataError(hidden(text), "expected PRED=FILE or PRED=FILE?option=value&option=value", hint=hint)
    return predicate, parse_file(rest)


def parse_file(text: str) -> SourceSpec:
    """Parse ``FILE`` or ``FILE?option=value&option=value``, where ``FILE`` may be the address of a database server.

    Examples
    --------
    >>> source = parse_file("postgresql://reader@db1:5433/register?table=own")
    >>> source.kind(), source.file
    ('postgresql', 'postgresql://db1:5433/register table own')
    """
    if text.lower().startswith(("postgresql://", "postgres://")):
        return _parse_address(text)
    path, mark, tail = text.partition("?")
    if mark and not re.match(r"\w+=", tail):
        path, tail = text, ""
    return SourceSpec(Path(path), None, _parse_options(path, tail))


def _parse_options(path: str, tail: str) -> dict[str, str]:
    options = {}
    for part in filter(None, _PART.findall(tail)):
        name, equals, value = part.partition("=")
        if not equals:
            raise DataError(path, f"option {part!r} has no value", hint="write option=value")
        options[name] = value
    return options


def _parse_address(text: str) -> SourceSpec:
    """Parse ``postgresql://user@host:port/database?option=value``; libpq supplies missing components."""
    if in_address(text):
        raise DataError(hidden(text), "the address holds a password", hint=HINT)
    start, _, tail = text.partition("?")
    if start.count("@") > 1 or "@" in start.split("://", 1)[1].partition("/")[2]:
        hint = "write %40 for @ and %2F for / within a name"
        raise DataError("postgresql://...", "this is no address of a database server", hint=hint)
    found = _ADDRESS.fullmatch(start)
    if found is None or "," in start:
        hint = "write postgresql://user@host:port/database?table=name; of several hosts name one"
        raise DataError(hidden(text), "this is no address of a database server", hint=hint)
    parts = {name: unquote(value) for name, value in found.groupdict().items() if value}
    if "host" in parts:
        parts["host"] = parts["host"].strip("[]")
    given = _parse_options(start, tail)
    if secret := next(filter(names_password, given), None):
        raise DataError(start, f"option {secret} would hold a password", hint=HINT)
    options = {**parts, **{name: unquote(value) for name, value in given.items()}}
    return SourceSpec(Path(start), "postgresql", options)


def sources_of(predicate: str, given: Any, arity: int | None) -> list[SourceSpec | Raw]:
    """Files and tables of one predicate."""
    if not isinstance(given, list | tuple) or not given:
        return [_source(predicate, given)]
    if arity not in (None, 1) and _is_row(given, arity):
        shown = repr(tuple(given))
        hint = f"put it into a list: [{shown}]"
        raise DataError(f"<{predicate}>", f"{shown} is one row, not a table", hint=hint)
    values = arity == 1 and any(isinstance(g, str) for g in given)
    if not values and all(_is_source(g) for g in given):
        return [_source(predicate, g) for g in given]
    return [_source(predicate, given)]


def _is_row(given: list[object] | tuple[object, ...], arity: int | None) -> bool:
    """Whether a collection is a single row, rather than rows, tables or file names."""
    if all(isinstance(g, str) for g in given):
        return len(given) == arity and not any("." in str(g) or "/" in str(g) for g in given)
    return all(isinstance(g, str) or not (isinstance(g, Iterable) or _is_source(g)) for g in given)


def _is_source(given: object) -> bool:
    if isinstance(given, str | Path | SourceSpec):
        return True
    from kgreason.data.library_imports import is_table

    return is_table(given)


def _source(predicate: str, given: object) -> SourceSpec | Raw:
    if isinstance(given, str):
        return parse_file(given)
    if isinstance(given, Path):
        return SourceSpec(given)
    if isinstance(given, SourceSpec):
        return given
    from kgreason.data.library_imports import as_raw

    return as_raw(given, f"<{predicate}>")
