"""Tables of an unknown form: delimiter, line of names and encoding are found out, and the loader reads them so."""

from __future__ import annotations

import csv
import itertools
import re
import shlex
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from kgreason.analysis.server import connection, table_of
from kgreason.data.formats import check_content, read_table
from kgreason.data.options import normal
from kgreason.data.raw import Raw, no_file, open_bytes, read_block
from kgreason.data.source import DATABASES, SourceSpec, parse_file
from kgreason.data.sql import quoted
from kgreason.errors import DataError
from kgreason.init.columns import Column, column
from kgreason.init.words import is_title
from kgreason.lang.names import SERVERS, suggest

LARGE = 1 << 26
"""Bytes of a file of which only the first rows are looked at."""
ROWS = 20_000
"""First rows of larger files, and of tables of a server."""
_HEAD = 1 << 16  # bytes that tell the delimiter
_TABLES = {
    "sqlite": "SELECT '', name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    "duckdb": "SELECT '', table_name FROM information_schema.tables ORDER BY table_name",
    "postgresql": "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2",
}
_PLAIN = re.compile(r"[^\W\d][\w .%()-]*")
_COMPARED = 1000  # cells whose shapes the first line is compared with
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?%?\s*", re.IGNORECASE)


@dataclass(eq=False)
class Table:
    """A table, how it is read, and what is guessed of it.

    Attributes
    ----------
    given, path, format, options, relation
        The name as the user writes it; what the loader reads; and the column of kinds of edges that the user names.
    raw, whole
        The rows, or the first of them if the table is not whole.
    said, notes, error
        What was found out about the file; why the columns have their roles and what is not sure; why none has one.
    roles
        Columns by their roles: ``source``, ``target``, ``weight`` and ``kind`` of edges; ``key``, which names vertices.
    because, directed, sure, stated
        What tells the ends of edges; whether something tells which is the source; whether more than the number of
        columns tells them; whether the user or the names of both do.
    kinds, added
        Kinds of edges that are relations of their own, the most frequent first; options besides those of the file.
    shares, bounded
        Weights are shares in something owned; they sum to 1 at most for each target.
    """

    given: str
    path: Path
    format: str
    options: dict[str, str]
    relation: str | None
    raw: Raw
    whole: bool
    said: list[str]
    notes: list[str] = field(default_factory=list)
    error: DataError | None = None
    roles: dict[str, Column] = field(default_factory=dict)
    because: str = "as was said"
    directed: bool = True
    sure: bool = True
    stated: bool = False
    kinds: list[str] = field(default_factory=list)
    added: dict[str, str] = field(default_factory=dict)
    shares: bool = False
    bounded: bool = False

    def __post_init__(self) -> None:
        """Profile the columns."""
        self.said += [note.removeprefix(f"{self.raw.file}: ") for note in self.raw.notes]
        if not self.whole:
            self.said.append(f"it is large: these are guesses from its first {len(self.raw):,} rows")
        pairs = enumerate(zip(self.raw.names, self.raw.columns, strict=True), 1)
        self.columns = [column(name, i, cells, named=self.raw.named) for i, (name, cells) in pairs]

    @property
    def name(self) -> str:
        """The file, and the table in it."""
        if self.format in SERVERS:
            return SourceSpec(self.path, self.format, self.options).file
        return f"{self.path} ({self.options['table']})" if "table" in self.options else str(self.path)

    @property
    def stem(self) -> str:
        """The name of the table in a database, else of the file without its ending."""
        return self.options.get("table") or self.path.name.partition(".")[0]

    @property
    def undirected(self) -> bool:
        """Whether the file says that no edge has a direction."""
        return self.raw.undirected is not None and bool(self.raw.undirected.all())

    @property
    def taken(self) -> list[Column]:
        """Source, target and weight."""
        return [self.roles[role] for role in ("source", "target", "weight") if role in self.roles]

    @property
    def unread(self) -> list[Column]:
        """Columns without a role."""
        return [c for c in self.columns if c not in self.roles.values()]

    @property
    def ends(self) -> Set[str]:
        """Vertices of the edges."""
        return {v for one in self.taken[:2] for v in one.counts}

    @property
    def apart(self) -> bool:
        """Whether no source is ever a target."""
        source, target = self.taken[:2]
        return "prefix" in self.added or source.counts.keys().isdisjoint(target.counts)

    @property
    def guesses(self) -> list[str]:
        """All that is said of the table; what is not sure comes last."""
        return [*self.said, *sorted(self.notes, key=lambda note: note.startswith("not sure: "))]

    def column(self, name: str) -> Column:
        """Find a column by its name, or by its number from 1.

        Raises
        ------
        DataError
            If there is no such column.
        """
        known = {str(c.number): c for c in self.columns} | {c.name: c for c in self.columns}
        if name not in known:
            near = suggest(name, [c.name for c in self.columns])
            there = ", ".join(c.name for c in self.columns[:20])
            hint = f"{f'did you mean {near}? ' if near else ''}there are {there}"
            raise DataError(self.name, f"there is no column {name!r}", hint=hint)
        return known[name]

    def called(self, one: Column) -> str:
        """A column as options name it: by its name if that is plain and unmistakable, else by its number."""
        plain = _PLAIN.fullmatch(one.name) and one.name == one.name.strip()
        return (
            one.name if plain and self.raw.named and self.raw.names.count(one.name) == 1 else str(one.number)
        )

    def reading(self, *columns: Column, **options: str) -> str:
        """The command that reads some columns, or takes options."""
        if columns:
            options = {"columns": ",".join(map(self.called, columns)), **options}
        return f"kgreason init {shlex.quote(_with(self.given, options))}"

    def doubt(self, text: str, *columns: Column, reading: str = "the other reading", **options: str) -> None:
        """Note what is not sure, and the command for another reading."""
        self.notes.append(f"not sure: {text}; {reading}: {self.reading(*columns, **options)}")


def _with(given: str, options: Mapping[str, str]) -> str:
    """The name of a table with other options."""
    path, _, tail = given.partition("?")
    kept = [part for part in tail.split("&") if part and part.partition("=")[0] not in options]
    return f"{path}?{'&'.join([*kept, *map('='.join, options.items())])}"


def tables(given: str) -> Iterator[Table]:
    """Open a table; of a database without the option ``table``, all its tables.

    Besides the options of a source there is ``relation=COLUMN``: that column holds the kinds of edges.

    Raises
    ------
    DataError
        If the file cannot be read, or its first line may be names of columns as well as data.
    """
    spec = parse_file(given)
    path, options, said = spec.path, dict(spec.options), list[str]()
    relation = options.pop("relation", None)
    if not spec.server and not path.is_file():
        raise no_file(path)
    if path.suffix == ".toml":
        hint = f"it goes with --schema: kgreason anonymize --method pckga --schema {path}"
        raise DataError(given, "this is a schema, no table", hint=hint)
    kind = spec.kind("text")
    if kind != "text":
        check_content(spec)
    options.pop("format", None)
    if kind in DATABASES:
        yield from _of_database(given, SourceSpec(path, kind, options), relation)
        return
    if kind in ("csv", "tsv", "edges", "text"):
        kind, form = _form(path, kind, spec.options, said)
        options = {**form, **options}
    try:
        raw, whole = _read(path, kind, options)
    except DataError as error:
        if "is not UTF-8 text" not in error.message or "encoding" in options:
            raise
        options["encoding"] = "latin-1"
        said.append("it is no UTF-8, so it was read as Latin-1")
        raw, whole = _read(path, kind, options)
    if raw.doubt is not None and raw.named and not _has_title(raw, given):
        options["useHeaders"] = "false"
        said.append("its first line looks as the others do, so it is data, not names of columns")
        raw, whole = _read(path, kind, options)
    if kind in ("csv", "tsv") and raw.columns:
        options.setdefault("useHeaders", "true" if raw.named else "false")
    yield Table(given, path, kind, options, relation, raw, whole, said)


def _of_database(given: str, spec: SourceSpec, relation: str | None) -> Iterator[Table]:
    kind, options = spec.kind(), normal(spec.options)
    login = connection(options)
    if "table" in options:
        parts = table_of(options, options["table"]).rpartition(".")
        found = [(parts[0], parts[2]) if spec.server else ("", options["table"])]
    else:
        listed = read_table(SourceSpec(spec.path, kind, login, _TABLES[kind]))
        rows = zip(*(cells.to_pylist() for cells in listed.columns), strict=True)
        found = [(schema, table) for schema, table in rows if options.get("schema", schema) == schema]
    if not found:
        hint = "name another database, or one that you may read: postgresql://user@host/database?table=own"
        raise DataError(spec.file, "the database has no tables", hint=hint)
    for schema, table in found:
        named = {**options, "table": table, **({"schema": schema} if schema not in ("", "public") else {})}
        source = SourceSpec(spec.path, kind, named)
        if spec.server or spec.path.stat().st_size > LARGE:
            place = ".".join(quoted(part) for part in (schema, table) if part)
            source = SourceSpec(spec.path, kind, login, f"SELECT * FROM {place} LIMIT {ROWS}")
        raw = read_table(source)
        whole = source.query is None or len(raw) < ROWS
        yield Table(_with(given, {"table": table}), spec.path, kind, named, relation, raw, whole, [])


def _read(path: Path, kind: str, options: Mapping[str, str]) -> tuple[Raw, bool]:
    """Read a file, or of a large one the first rows; and whether these are all."""
    size = path.stat().st_size * (5 if path.suffix == ".gz" else 1)
    with TemporaryDirectory() as folder:
        part = Path(folder) / path.name.removesuffix(".gz")
        if size > LARGE and _cut(path, kind, part):
            raw = read_table(SourceSpec(part, kind, options))
            return replace(raw, line=lambda _: None), False
    return read_table(SourceSpec(path, kind, options)), True


def _cut(path: Path, kind: str, part: Path) -> bool:
    """Write the first rows into a file of their own, if the format has rows and the file is sound."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    try:
        if kind == "parquet":
            pq.write_table(ds.dataset(path, format="parquet").head(ROWS), part)
        elif kind in ("csv", "tsv", "edges", "konect"):
            with open_bytes(path) as stream, part.open("wb") as out:
                out.writelines(itertools.islice(stream, ROWS))
        return part.exists()
    except (pa.ArrowException, OSError, EOFError, zlib.error):
        return False  # the loader says what is wrong with the file


def _form(path: Path, kind: str, given: Mapping[str, str], said: list[str]) -> tuple[str, dict[str, str]]:
    """Find out the format of a text file, and the options that it needs."""
    with open_bytes(path) as stream:
        start = read_block(path, stream, _HEAD)
    if b"\0" in start:
        hint = "save it as text in UTF-8; if it is in another format, say FILE?format=, as in own.csv?format=parquet"
        raise DataError(str(path), "this is no text, whatever its name says", hint=hint)
    text = start.decode("utf-8-sig", errors="replace")
    lines = [line for line in text.splitlines()[: -1 if len(start) == _HEAD else None] if line.strip()]
    bare = [line for line in lines if not line.startswith(("%", "#"))][:200]
    options: dict[str, str] = {}
    delimiter = given.get("delimiter") or _delimiter(bare)
    fields = [len(line.split(delimiter)) for line in bare[1:20]]
    first = "".join(lines[:1]).strip()
    if "skip" not in given and first.isdecimal() and min(fields, default=1) > 1:
        options["skip"] = "1"
        said.append(f"its first line ({first}) is a count, so it is passed over")
        del bare[0]
    numbers = [[bool(_NUMBER.fullmatch(cell)) for cell in line.split(delimiter)] for line in bare[:20]]
    titled = not any(map(any, numbers[:1])) and any(map(any, numbers[1:]))
    comments = text.startswith("%") and "format" not in given
    if kind in ("edges", "text") and (
        comments or delimiter is None or (kind == "edges" and delimiter == "," and not titled)
    ):
        if delimiter is None and titled:
            options["useHeaders"] = "true"
        if kind == "text" and not comments:
            said.append("its fields are separated by blanks")
        return "edges", options
    usual = {"csv": ",", "tsv": "\t"}
    if delimiter not in (None, usual.get(kind)):
        name = "tab" if delimiter == "\t" else delimiter
        said.append(f"its fields are separated by {name!r}")
        kind = kind if kind in usual else "tsv" if delimiter == "\t" else "csv"
        if delimiter != usual[kind]:
            options["delimiter"] = name
    return kind, options


def _delimiter(lines: Sequence[str]) -> str | None:
    """The delimiter that splits nearly all lines into the same number of fields, the more the better."""
    found = []
    for mark in (",", ";", "\t", "|"):
        try:
            widths = Counter(len(row) for row in csv.reader(lines, delimiter=mark) if row)
        except csv.Error:
            continue
        for width, often in widths.most_common(1):
            share = round(often / widths.total(), 2)
            if width > 1 and share >= 0.8:
                found.append((share, width, mark))
    return max(found, key=lambda one: one[:2])[2] if found else None


def _has_title(raw: Raw, given: str) -> bool:
    """Whether the first line, which the reader takes for names but is not sure of, holds names.

    Raises
    ------
    DataError
        If it may be either.
    """
    likenesses = []
    for name, cells in zip(raw.names, raw.columns, strict=True):
        texts = [str(v) for v in cells.slice(0, _COMPARED).to_pylist() if v and str(v).strip()]
        shapes = Counter(map(_shape, texts))
        alike = shapes[_shape(name)] >= max(1, 0.2 * len(texts))
        if alike and re.search(r"\d", name):
            return False
        regular = bool(texts) and max(shapes.values()) >= 0.8 * len(texts)
        likenesses.append((alike, regular and not alike))
    titles = any(map(is_title, raw.names)) or any(unlike for _, unlike in likenesses)
    if titles or not len(raw) or not all(alike for alike, _ in likenesses):
        return True
    first = ", ".join(raw.names)[:60]
    commands = (
        f"kgreason init {shlex.quote(_with(given, {'useHeaders': said}))}" for said in ("true", "false")
    )
    raise DataError(
        raw.file,
        f"the first line ({first}) may hold the names of the columns, or be data as the lines below it",
        raw.title_line,
        hint="say which: of names {}, of data {}".format(*commands),
    )


def _shape(text: str) -> str:
    """Kinds of characters in a cell: ``Aa Aa`` of Ann Smith, ``a9`` of p12, ``a`` of name."""
    kinds = ("9" if c.isdigit() else "A" if c.isupper() else "a" if c.isalpha() else c for c in text.strip())
    return "".join(kind for kind, _ in itertools.groupby(kinds))
