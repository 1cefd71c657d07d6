"""Where a table comes from, and the options that say how it is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from kgreason.errors import DataError, Span
from kgreason.graph.io.options import FORMATS, Options, normal, read_options
from kgreason.records import dataclass

__all__ = ["FORMATS", "Options", "SourceSpec", "parse_file", "parse_source", "read_options"]

TABLES = frozenset({"csv", "tsv", "parquet", "json", "sqlite", "duckdb", "neo4j"})
DATABASES = frozenset({"sqlite", "duckdb"})

_EXTENSIONS = {
    **{name: name for name in FORMATS},
    "txt": "edges",
    "edgelist": "edges",
    "el": "edges",
    "tab": "tsv",
    "pajek": "net",
    "pq": "parquet",
    "jsonl": "json",
    "ndjson": "json",
    "db": "sqlite",
    "db3": "sqlite",
    "sqlite3": "sqlite",
    "ddb": "duckdb",
    "nt": "rdf",
    "ttl": "rdf",
}
_SHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
_SAVE = "save the sheet as CSV (in Excel: Save As, CSV UTF-8) and give that file"


@dataclass(frozen=True)
class SourceSpec:
    """A file and how to read it.

    Attributes
    ----------
    path
        The file; a trailing ``.gz`` means gzip.
    format
        One of `FORMATS`; `None`: told by the extension.
    options
        As written in ``@bind`` or behind the ``?`` of ``--data``; see `Options`.
    query
        SQL whose result is the table; `path` is then the database, or the folder that the files named in the query
        are relative to.
    span
        Where a rule file says all this; `None`: it does not.
    """

    path: Path
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    query: str | None = None
    span: Span | None = None

    @property
    def place(self) -> str:
        """Where messages look for a mistake in the options or the query."""
        return self.file if self.span is None else str(self.span)

    @property
    def file(self) -> str:
        """The path as messages show it."""
        return str(self.path)

    def kind(self, default: str | None = None) -> str:
        """Tell the format: as given, else from the name.

        Parameters
        ----------
        default
            Where neither says it; `None`: that is an error.

        Raises
        ------
        DataError
            If neither says what the file is.

        Examples
        --------
        >>> SourceSpec(Path("a.edges.gz")).kind(), SourceSpec(Path("out.moreno_blogs")).kind()
        ('edges', 'konect')
        """
        name = self.path.name.lower().removesuffix(".gz")
        given = self.format or normal(self.options).get("format")
        if given is None and self.query is None and name.endswith(_SHEETS):
            raise DataError(self.place, "spreadsheets are not read", hint=_SAVE)
        if given is not None:
            if given not in FORMATS:
                raise DataError(
                    self.place,
                    f"{given!r} is not a format kgreason reads",
                    hint=f"one of {', '.join(FORMATS)}",
                )
            return given
        known = _EXTENSIONS.get(name.rpartition(".")[2], default)
        if known is None and name.startswith("out."):
            return "konect"
        if known is None:
            raise DataError(
                self.place,
                "the name does not tell the format",
                hint=f"say format=, one of {', '.join(FORMATS)}",
            )
        return known


def parse_source(text: str) -> tuple[str, SourceSpec]:
    """Read ``PRED=FILE`` or ``PRED=FILE?option=value&option=value``.

    Raises
    ------
    DataError
        If the text has another form.

    Examples
    --------
    >>> predicate, source = parse_source("own=shares.csv?percent=true&delimiter=;")
    >>> predicate, source.path.name, dict(source.options)
    ('own', 'shares.csv', {'percent': 'true', 'delimiter': ';'})
    """
    predicate, equals, rest = text.partition("=")
    if not equals or not re.fullmatch(r"[a-z][A-Za-z0-9_]*", predicate) or not rest:
        raise DataError(text, "expected PRED=FILE or PRED=FILE?option=value&option=value")
    return predicate, parse_file(rest)


def parse_file(text: str) -> SourceSpec:
    """Read ``FILE`` or ``FILE?option=value&option=value``.

    Raises
    ------
    DataError
        If an option has no value.
    """
    path, mark, tail = text.partition("?")
    if mark and not re.match(r"\w+=", tail):
        path, tail = text, ""
    options = {}
    for part in filter(None, tail.split("&")):
        name, equals, value = part.partition("=")
        if not equals:
            raise DataError(path, f"option {part!r} has no value", hint="write option=value")
        options[name] = value
    return SourceSpec(Path(path), None, options)
