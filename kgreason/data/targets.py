"""Output targets: location, format, options and column names of written facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from kgreason.base.errors import DataError
from kgreason.base.printable import HINT, names_password
from kgreason.base.records import record
from kgreason.data.source_options import check_value, delimiter_of, normal
from kgreason.data.sources import SourceSpec, parse_file
from kgreason.language.check.checked_program import Bind, CheckedProgram
from kgreason.language.check.file_access import OPTIONS, address, connection, table_of
from kgreason.language.syntax.syntax_tree import Variable
from kgreason.language.vocabulary import FILES, SERVERS, suggest


def column_names(program: CheckedProgram, predicate: str, arity: int) -> tuple[str, ...]:
    """Column names from ``@mapping``, else from the first rule head with a new variable there, else numbered."""
    mapped = {m.position: m.column for m in program.mappings if m.predicate == predicate}
    heads = [rule.head for rule in program.rules if rule.head.predicate == predicate]
    names: list[str] = []
    for position in range(arity):
        terms = [head.terms[position] for head in heads if len(head.terms) == arity]
        found = (t.name for t in terms if isinstance(t, Variable) and not t.anonymous and t.name not in names)
        name = mapped.get(position) or next(found, f"c{position + 1}")
        names.append(free(name, names))
    return tuple(names)


def free(name: str, taken: Sequence[str]) -> str:
    """Append a number to a name that is already taken, ignoring case as databases do.

    >>> free("share", ["Share"])
    'share_2'
    """
    lower = {t.lower() for t in taken}
    number, free = 1, name
    while free.lower() in lower:
        number += 1
        free = f"{name}_{number}"
    return free


FORMATS: dict[str, str] = {
    name: {"json": "jsonl", "neo4j": "csv", "rdf": "nt", "bods": "bods.json"}.get(name, name)
    for name in FILES
}
"""Formats that can be written, with the extension each gives a file without one of its own."""

DECLARING = frozenset({"gml", "graphml", "net", "mtx", "neo4j"})
"""Formats that hold vertices beside the edges."""

_UNPACKED = ("parquet", "sqlite", "duckdb", "neo4j")
_DELIMITED = ("useHeaders", "delimiter", "quoteMode", "nullString", "recordSeparator")
_OPTIONS = {
    "csv": _DELIMITED,
    "tsv": _DELIMITED,
    "sqlite": ("table",),
    "duckdb": ("table",),
    "edges": ("delimiter",),
    "konect": ("labels",),
    "mtx": ("labels",),
    "neo4j": ("type", "label"),
    "postgresql": ("table", "schema", *OPTIONS),
    "rdf": ("base", "literals"),
}


@record
class Target:
    """An output file, or the table of a database (by default named after the predicate).

    `options` have names in lower case (docs/data.md). `vertices` may have no edges; formats that declare vertices
    contain them as well.
    """

    path: Path
    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    table: str | None = None
    vertices: Sequence[str] = ()

    @property
    def labels(self) -> Path | None:
        """Second file with vertex names, for formats that only store vertex numbers."""
        named = self.options.get("labels")
        return None if named is None else self.path.parent / named

    @property
    def declares(self) -> bool:
        """Whether the format can represent vertices without edges."""
        return self.format in DECLARING or self.labels is not None

    def beside(self, arity: int) -> Path | None:
        """Second file written with the facts of a predicate, if any."""
        if self.format == "neo4j" and arity > 1:
            return self.path.with_name(f"{self.path.stem}-nodes{self.path.suffix}")
        return self.labels

    @property
    def server(self) -> bool:
        """Whether the target is a table of a database server; `path` is then unused."""
        return self.format in SERVERS

    @property
    def connection(self) -> Mapping[str, str]:
        """Connection options of a database server."""
        return connection(self.options)

    @property
    def address(self) -> str:
        """Address of a database server, without user and password."""
        return address(self.options)

    @property
    def file(self) -> str:
        """Name of the target in messages."""
        if not self.server:
            return str(self.path)
        return self.address + (f" table {table_of(self.options, self.table)}" if self.table else "")

    @classmethod
    def parse(cls, text: str) -> Target:
        """Parse ``FILE`` or ``FILE?option=value&option=value``; the format is inferred from the extension.

        A format that cannot be written, or an unknown option, is a `DataError`.

        >>> Target.parse("control.jsonl").format, Target.parse("out.db?table=t").table
        ('json', 't')
        """
        return cls.at(parse_file(text))

    @classmethod
    def at(cls, spec: SourceSpec) -> Target:
        """Target with the path and options of a source; errors as in `parse`."""
        format = spec.kind()
        if format not in FORMATS and not spec.server:
            raise no_format(spec.location, format)
        options = {name: value for name, value in normal(spec.options).items() if name != "format"}
        known = {name.lower(): name for name in _OPTIONS.get(format, ())}
        for name in options:
            if name not in known:
                if names_password(name):
                    raise DataError(spec.location, f"option {name} would hold a password", hint=HINT)
                near = suggest(name, known)
                means = f"did you mean {known[near]}? " if near else ""
                there = f"there are {', '.join(known.values())}" if known else "it has none"
                what = f"unknown option {name!r} of a {format} output"
                raise DataError(spec.location, what, hint=means + there)
            check_value(spec.location, name, options[name])
        if format in _UNPACKED and spec.path.name.lower().endswith(".gz"):
            message = f"a file of the format {format} is not packed with gzip"
            raise DataError(
                spec.location, message, hint=f"write {spec.path.name[:-3]}, or say another format"
            )
        if "delimiter" in options:
            delimiter_of(spec.location, options["delimiter"])
        return cls(spec.path, format, options, options.get("table"))

    @classmethod
    def of(cls, bind: Bind) -> Target:
        """Target of the ``@bind`` annotation of an output; errors as in `parse`."""
        path, source, options = Path(bind.path), bind.source, dict(normal(bind.options))
        if source == "csv" and path.suffix.lower() in (".tsv", ".tab"):
            source = "tsv"
        if bind.table and "table" not in options:
            if path.is_dir() and source not in SERVERS:  # folder and file name, as for other sources
                path = path / bind.table
            else:
                options["table"] = bind.table
        return cls.at(SourceSpec(path, source, options, span=bind.span))

    @classmethod
    def within(cls, folder: Path, predicate: str, format: str = "csv") -> Target:
        """Target of a predicate in a folder."""
        if format not in FORMATS:
            raise no_format(str(folder), format)
        name = f"out.{predicate}" if format == "konect" else f"{predicate}.{FORMATS[format]}"
        return cls(folder / name, format)


def no_format(file: str, format: str) -> DataError:
    """Error for a format that cannot be written."""
    return DataError(file, f"facts cannot be written as {format!r}", hint=f"one of {', '.join(FORMATS)}")
