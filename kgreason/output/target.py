"""Where facts are written to, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from kgreason.analysis.checked import Bind
from kgreason.analysis.server import OPTIONS, address, connection, table_of
from kgreason.errors import DataError
from kgreason.graph.io.options import check_value, delimiter_of, normal
from kgreason.graph.io.source import SourceSpec, parse_file
from kgreason.lang.names import SERVERS, suggest
from kgreason.passwords import HINT, names_password
from kgreason.records import dataclass

FORMATS = {
    "csv": "csv",
    "tsv": "tsv",
    "parquet": "parquet",
    "json": "jsonl",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "graphml": "graphml",
    "rdf": "nt",
}
"""Formats that can be written, with the extension each gives a file without one of its own."""

_DELIMITED = ("useHeaders", "delimiter", "quoteMode", "nullString", "recordSeparator")
_OPTIONS = {
    "csv": _DELIMITED,
    "tsv": _DELIMITED,
    "sqlite": ("table",),
    "duckdb": ("table",),
    "postgresql": ("table", "schema", *OPTIONS),
    "rdf": ("base", "literals"),
}


@dataclass(frozen=True)
class Target:
    """A file that facts are written to.

    Attributes
    ----------
    path
        The file.
    format
        One of `FORMATS`.
    options
        Names in lower case; see docs/data.md.
    table
        Of a database; `None`: named as the predicate.
    """

    path: Path
    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    table: str | None = None

    @property
    def server(self) -> bool:
        """Whether it is a table of a database server; `path` says nothing then."""
        return self.format in SERVERS

    @property
    def connection(self) -> Mapping[str, str]:
        """Options of the connection to a server."""
        return connection(self.options)

    @property
    def address(self) -> str:
        """Address of a server, without user and password."""
        return address(self.options)

    @property
    def file(self) -> str:
        """What messages call it."""
        if not self.server:
            return str(self.path)
        return self.address + (f" table {table_of(self.options, self.table)}" if self.table else "")

    @classmethod
    def parse(cls, text: str) -> Target:
        """Read ``FILE`` or ``FILE?option=value&option=value``; the extension tells the format.

        Raises
        ------
        DataError
            If the format cannot be written, or an option is unknown.

        Examples
        --------
        >>> Target.parse("control.jsonl").format, Target.parse("out.db?table=t").table
        ('json', 't')
        """
        return _target(parse_file(text))

    @classmethod
    def of(cls, bind: Bind) -> Target:
        """Target of the ``@bind`` of an output.

        Raises
        ------
        DataError
            As `parse`.
        """
        path, source, options = Path(bind.path), bind.source, dict(normal(bind.options))
        if source == "csv" and path.suffix.lower() in (".tsv", ".tab"):
            source = "tsv"
        if bind.table and "table" not in options:
            if path.is_dir() and source not in SERVERS:  # folder and file, as for other sources
                path = path / bind.table
            else:
                options["table"] = bind.table
        return _target(SourceSpec(path, source, options, span=bind.span))

    @classmethod
    def within(cls, folder: Path, predicate: str, format: str = "csv") -> Target:
        """File of a predicate in a folder.

        Raises
        ------
        DataError
            If the format cannot be written.
        """
        if format not in FORMATS:
            raise no_format(str(folder), format)
        return cls(folder / f"{predicate}.{FORMATS[format]}", format)


def _target(spec: SourceSpec) -> Target:
    format = spec.kind()
    if format not in FORMATS and not spec.server:
        raise no_format(spec.place, format)
    options = {name: value for name, value in normal(spec.options).items() if name != "format"}
    known = {name.lower(): name for name in _OPTIONS.get(format, ())}
    for name in options:
        if name not in known:
            if names_password(name):
                raise DataError(spec.place, f"option {name} would hold a password", hint=HINT)
            near = suggest(name, known)
            means = f"did you mean {known[near]}? " if near else ""
            there = f"there are {', '.join(known.values())}" if known else "it has none"
            raise DataError(spec.place, f"unknown option {name!r} of a {format} output", hint=means + there)
        check_value(spec.place, name, options[name])
    if "delimiter" in options:
        delimiter_of(spec.place, options["delimiter"])
    return Target(spec.path, format, options, options.get("table"))


def no_format(file: str, format: str) -> DataError:
    """Build the error for a format that cannot be written."""
    return DataError(file, f"facts cannot be written as {format!r}", hint=f"one of {', '.join(FORMATS)}")
