"""Tables of an unknown form: delimiter, line of names and encoding are found out, and the loader reads them so."""

from __future__ import annotations

import csv
import re
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kgreason.analysis.reach import connection, table_of
from kgreason.data.cast import NUMBER
from kgreason.data.formats import check_content, read_table
from kgreason.data.options import normal
from kgreason.data.raw import Raw, no_file, open_bytes, read_block
from kgreason.data.source import DATABASES, SourceSpec, parse_file
from kgreason.data.sql import quoted
from kgreason.errors import DataError
from kgreason.init.roles import ROWS, Column
from kgreason.lang.names import suggest

_HEAD = 1 << 16  # bytes that tell the delimiter
_NAMES = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
)
_OF_SQLITE = "SELECT '', name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'"


@dataclass(eq=False)
class Table:
    """A table, how it is read, and what is guessed of it."""

    given: str  # the name as the user writes it
    source: SourceSpec
    options: dict[str, str]  # of the source, and those that were guessed
    raw: Raw
    notes: list[str]  # what was found out, and why
    doubts: list[str] = field(default_factory=list)
    error: DataError | None = None  # why it holds neither edges nor vertices
    roles: dict[str, Column] = field(default_factory=dict)  # source, target, weight, kind; key of vertices
    kinds: list[str] = field(default_factory=list)  # of edges that are relations of their own
    sure: bool = False  # names tell that these are edges, or the user does
    shares: bool = False  # weights are shares in something owned
    bounded: bool = False  # which sum to 1 at most for each target

    def __post_init__(self) -> None:
        """Profile the columns."""
        self.path, self.format = self.source.path, self.source.kind()
        within = f" ({self.options['table']})" if "table" in self.options and not self.source.server else ""
        self.name = self.source.file + within
        self.stem = self.options.get("table") or self.path.name.partition(".")[0]
        self.relation = parse_file(self.given).options.get("relation")  # the column of kinds of edges
        self.undirected = self.raw.undirected is not None and bool(self.raw.undirected.all())
        self.notes += [note.removeprefix(f"{self.raw.file}: ") for note in self.raw.notes]
        if len(self.raw) > ROWS:
            self.notes.append(f"it is large: these are guesses from its first {ROWS:,} rows")
        pairs = enumerate(zip(self.raw.names, self.raw.columns, strict=True), 1)
        self.columns = [Column(name, i, cells, named=self.raw.named) for i, (name, cells) in pairs]

    @property
    def taken(self) -> list[Column]:
        """Source, target and weight."""
        return [self.roles[role] for role in ("source", "target", "weight") if role in self.roles]

    @property
    def unread(self) -> list[Column]:
        """Columns without a role."""
        return [c for c in self.columns if c not in self.roles.values()]

    @property
    def ends(self) -> list[set[str]]:
        """Sources and targets, as rules see them."""
        prefixes = self.options.get("prefix", ",").split(",")
        return [{f"{p}{v}" for v in c.counts} for p, c in zip(prefixes, self.taken[:2], strict=False)]

    def column(self, name: str) -> Column:
        """Find a column by its name, or by its number from 1.

        Raises
        ------
        DataError
            If there is no such column.
        """
        known = {str(c.number): c for c in self.columns} | {c.name: c for c in self.columns}
        if name not in known:
            near, there = suggest(name, known), f"there are {', '.join(self.raw.names[:20])}"
            hint = f"did you mean {near}? {there}" if near else there
            raise DataError(self.name, f"there is no column {name!r}", hint=hint)
        return known[name]

    def called(self, *columns: Column) -> str:
        """Columns as options name them: by a name if that is plain and unmistakable, else by a number."""
        names = self.raw.names if self.raw.named else ()
        plain = {name for name in names if re.fullmatch(r"[^\W\d]([\w .%()-]*[\w.%()-])?", name)}
        return ",".join(
            c.name if c.name in plain and names.count(c.name) == 1 else str(c.number) for c in columns
        )

    def reading(self, *columns: Column, **options: str) -> str:
        """The command that reads some columns, or takes options."""
        options |= {"columns": self.called(*columns)} if columns else {}
        return f"kgreason init {shlex.quote(_with(self.given, options))}"

    def doubt(self, text: str, *columns: Column, **options: str) -> None:
        """Note what is not sure, and the command for the other reading."""
        self.doubts.append(f"not sure: {text}; the other reading: {self.reading(*columns, **options)}")


def _with(given: str, options: Mapping[str, str]) -> str:
    """The name of a table with other options."""
    path, _, tail = given.partition("?")
    kept = [part for part in tail.split("&") if part and part.partition("=")[0] not in options]
    return f"{path}?{'&'.join([*kept, *map('='.join, options.items())])}"


def tables(given: str) -> list[Table]:
    """Open a table; of a database without the option ``table``, all its tables.

    Raises
    ------
    DataError
        If the file cannot be read.
    """
    spec = parse_file(given)
    path, options, notes = spec.path, dict(spec.options), list[str]()
    if not spec.server and not path.is_file():
        raise no_file(path)
    if path.suffix == ".toml":
        hint = f"it goes with --schema: kgreason anonymize --method pckga --schema {path}"
        raise DataError(given, "this is a schema, no table", hint=hint)
    kind = spec.kind("text")
    if kind != "text":
        check_content(spec)
    options.pop("format", None)
    options.pop("relation", None)
    if kind in DATABASES:
        return _of_database(given, SourceSpec(path, kind, normal(options)))
    if kind in ("csv", "tsv", "edges", "text"):
        kind, form = _form(path, kind, spec.options, notes)
        options = form | options
    try:
        raw = read_table(SourceSpec(path, kind, options))
    except DataError as error:
        if "is not UTF-8 text" not in error.message or "encoding" in options:
            raise
        options["encoding"] = "latin-1"
        notes.append("it is no UTF-8, so it was read as Latin-1")
        raw = read_table(SourceSpec(path, kind, options))
    table = Table(given, SourceSpec(path, kind, options), options, raw, notes)
    if raw.doubt and "useHeaders" not in options:
        said, other = ("names", "false") if raw.named else ("data", "true")
        table.doubt(f"its first line was read as {said}", useHeaders=other)
    if kind in ("csv", "tsv") and raw.columns:
        options.setdefault("useHeaders", str(raw.named).lower())
    return [table]


def _of_database(given: str, spec: SourceSpec) -> list[Table]:
    """The table that the options name, or all; of a server their first rows."""
    kind, login, named = spec.kind(), connection(spec.options), spec.options.get("table", "")
    rows = [("", named)]
    if named and spec.server:
        rows = [table_of(spec.options, named).rpartition(".")[::2]]
    elif not named:
        listed = read_table(SourceSpec(spec.path, kind, login, _OF_SQLITE if kind == "sqlite" else _NAMES))
        rows = [*zip(*(cells.to_pylist() for cells in listed.columns), strict=True)]
    made = []
    for schema, name in rows:
        if spec.options.get("schema", schema) == schema:
            own = {"schema": schema} if spec.server and schema not in ("", "public") else {}
            one = SourceSpec(spec.path, kind, {**spec.options, "table": name, **own})
            place = ".".join(quoted(part) for part in (schema, name) if part)
            first = SourceSpec(spec.path, kind, login, f"SELECT * FROM {place} LIMIT {ROWS + 1}")
            raw = read_table(first if spec.server else one)
            made.append(Table(_with(given, {"table": name}), one, dict(one.options), raw, []))
    if not made:
        hint = "name another database, or one that you may read: postgresql://user@host/database?table=own"
        raise DataError(spec.file, "the database has no tables", hint=hint)
    return made


def _form(path: Path, kind: str, given: Mapping[str, str], notes: list[str]) -> tuple[str, dict[str, str]]:
    """Find out the format of a text file, and the options that it needs."""
    with open_bytes(path) as stream:
        start = read_block(path, stream, _HEAD)
    if b"\0" in start:
        hint = "save it as text in UTF-8; if it is in another format, say FILE?format=, as in own.csv?format=parquet"
        raise DataError(str(path), "this is no text, whatever its name says", hint=hint)
    text, options = start.decode("utf-8-sig", errors="replace"), dict[str, str]()
    lines = [line for line in text.splitlines() if line.strip() and line[0] not in "%#"][:200]
    found = []  # delimiters that split most lines into as many fields
    for mark in ",;\t|" if lines else "":
        width, often = Counter(len(row) for row in csv.reader(lines, delimiter=mark)).most_common(1)[0]
        found += (
            [(round(often / len(lines), 2), width, mark)] if width > 1 and often >= 0.8 * len(lines) else []
        )
    delimiter = given.get("delimiter") or max(found, default=(0, 0, None))[2]
    first = text.partition("\n")[0].strip()
    if "skip" not in given and first.isdecimal() and lines[1:] and len(lines[1].split(delimiter)) > 1:
        options["skip"] = "1"
        notes.append(f"its first line ({first}) is a count, so it is passed over")
    usual = {"csv": ",", "tsv": "\t"}
    listed = delimiter is None or text[:1] == "%" or (kind == "edges" and delimiter == ",")
    if kind not in usual and listed:
        numbers = [any(re.match(NUMBER, cell) for cell in line.split(delimiter)) for line in lines[:20]]
        return "edges", options | ({"useHeaders": "true"} if any(numbers) and not numbers[0] else {})
    kind = kind if kind in usual else "tsv" if delimiter == "\t" else "csv"
    if delimiter not in (None, usual[kind]):
        options["delimiter"] = "tab" if delimiter == "\t" else str(delimiter)
        notes.append(f"its fields are separated by {options['delimiter']!r}")
    return kind, options
