"""Opens tables of which nothing is said: in which format, with which delimiter and encoding they are written."""

from __future__ import annotations

import csv
import itertools
import os
import re
import shlex
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from kgreason.analysis.reach import Reach
from kgreason.data.parquet import sound
from kgreason.errors import DataError
from kgreason.graph.io.damaged import damaged
from kgreason.graph.io.formats import check_content, read_table
from kgreason.graph.io.raw import Raw, no_file, open_bytes, read_block
from kgreason.graph.io.source import DATABASES, SourceSpec, parse_file
from kgreason.guess.columns import Column, column
from kgreason.guess.words import is_title
from kgreason.lang.names import SERVERS
from kgreason.records import dataclass

LARGE = 1 << 26
"""Bytes of a file of which more than the first rows are looked at."""
ROWS = 20_000
"""First rows of larger ones."""
_LINES = ("csv", "tsv", "edges", "konect")
_DELIMITERS = (",", ";", "\t", "|")
_SHOWN = 1000  # rows whose cells the first line is compared with


@dataclass(frozen=True)
class Found:
    """A table, as it was found.

    Attributes
    ----------
    path
        The file.
    format
        As ``@bind`` names it.
    options
        How it is read.
    raw
        Its rows, or the first of them.
    whole
        Whether these are all.
    columns
        What can be seen of each.
    said
        What was found out about the file.
    given
        As the user names it, with the options that the user says.
    relation
        The column that the user says to hold the kinds of edges.
    """

    path: Path
    format: str
    options: Mapping[str, str]
    raw: Raw
    whole: bool
    columns: tuple[Column, ...]
    said: tuple[str, ...]
    given: str = ""
    relation: str | None = None

    @property
    def name(self) -> str:
        """The file, and the table in it."""
        table = self.options.get("table")
        if self.format in SERVERS:
            return SourceSpec(self.path, self.format, self.options).file
        return f"{self.path} ({table})" if table else str(self.path)

    def reading(self, option: str) -> str:
        """The command that reads the table with an option."""
        return f"kgreason init {shlex.quote(_with(self.given, option))}"


def _with(given: str, option: str) -> str:
    name = option.partition("=")[0]
    path, mark, tail = given.partition("?")
    kept = [part for part in tail.split("&") if part and part.partition("=")[0] != name] if mark else []
    return f"{path}?{'&'.join([*kept, option])}"


def tables(text: str) -> list[Found]:
    """Open a file; of a database without a table named all its tables.

    Besides the options of a source there is ``relation=COLUMN``: that column holds the kinds of edges.

    Raises
    ------
    DataError
        If it cannot be read in any way that is known, or is not sure to have a first line of names.
    """
    spec = parse_file(text)
    options = dict(spec.options)
    relation = options.pop("relation", None)
    spec = replace(spec, options=options)
    found = _served(spec, text) if spec.server else _of_file(spec, text)
    return [replace(one, relation=relation) for one in found]


def _served(spec: SourceSpec, text: str) -> Iterator[Found]:
    from kgreason.guess.server import served

    for options, raw, whole in served(spec, ROWS):
        given = _with(text, f"table={options['table']}")
        yield _seen(spec.path, "postgresql", options, raw, whole, [], given)


def _of_file(spec: SourceSpec, text: str) -> Iterator[Found]:
    path = spec.path
    if not path.is_file():
        if path.is_dir():
            raise DataError(text, "is a folder", hint="name the tables in it one by one")
        raise no_file(path)
    if path.suffix == ".toml":
        hint = f"it goes with --schema: kgreason anonymize --method pckga --schema {path}"
        raise DataError(text, "this is a schema, no table", hint=hint)
    said: list[str] = []
    options = dict(spec.options)
    kind = spec.kind("text")
    if kind != "text":
        check_content(spec)
    kind = options.pop("format", kind)
    if kind in ("csv", "tsv", "edges", "text"):
        kind, more, said = _written(path, kind, options)
        options = {**more, **options}
    if kind in DATABASES and "table" not in options:
        for table in _tables_in(path, kind):
            given = _with(text, f"table={table}")
            yield _opened(path, kind, {**options, "table": table}, said, given)
    else:
        yield _opened(path, kind, options, said, text)


def _opened(path: Path, kind: str, options: dict[str, str], said: Sequence[str], given: str) -> Found:
    said = list(said)
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
    said += [note.removeprefix(f"{path}: ") for note in raw.notes]
    return _seen(path, kind, options, raw, whole, said, given)


def _has_title(raw: Raw, given: str) -> bool:
    """Whether the first line, which the reader took for names but is not sure of, holds names.

    Raises
    ------
    DataError
        If it may be either.
    """
    shapes = []
    for name, cells in zip(raw.names, raw.columns, strict=True):
        texts = [str(v) for v in cells.slice(0, _SHOWN).to_pylist() if v and str(v).strip()]
        of_column = Counter(map(_shape, texts))
        alike = of_column[_shape(name)] >= max(1, 0.2 * len(texts))
        regular = bool(texts) and of_column.most_common(1)[0][1] >= 0.8 * len(texts)
        shapes.append((name, alike, regular and not alike))
    if any(alike and re.search(r"\d", name) for name, alike, _ in shapes):
        return False
    if any(is_title(name) for name, *_ in shapes) or any(other for *_, other in shapes) or len(raw) == 0:
        return True
    if not all(alike for _, alike, _ in shapes):
        return True
    first = ", ".join(raw.names)
    names, data = (
        f"kgreason init {shlex.quote(_with(given, f'useHeaders={said}'))}" for said in ("true", "false")
    )
    raise DataError(
        str(raw.file),
        f"the first line ({first[:60]}) may hold the names of the columns, or be data as the lines below it",
        raw.title_line,
        hint=f"say which: of names {names}, of data {data}",
    )


def _shape(text: str) -> str:
    """What kinds of letters a cell is made of, in order.

    Examples
    --------
    >>> _shape("Ann Smith"), _shape("p12"), _shape("name")
    ('Aa Aa', 'a9', 'a')
    """
    kinds = ("9" if c.isdigit() else "A" if c.isupper() else "a" if c.isalpha() else c for c in text.strip())
    return "".join(kind for kind, _ in itertools.groupby(kinds))


def _seen(
    path: Path, kind: str, options: Mapping[str, str], raw: Raw, whole: bool, said: list[str], given: str
) -> Found:
    if not whole:
        said.append(f"it is large: these are guesses from its first {len(raw):,} rows")
    pairs = enumerate(zip(raw.names, raw.columns, strict=True), 1)
    columns = tuple(column(n, i, c, named=raw.named) for i, (n, c) in pairs)
    return Found(path, kind, options, raw, whole, columns, tuple(said), given)


def _read(path: Path, kind: str, options: Mapping[str, str]) -> tuple[Raw, bool]:
    """Read a file whole, or of a large one the first rows."""
    size = path.stat().st_size * (5 if path.suffix == ".gz" else 1)
    if size <= LARGE or kind not in (*_LINES, "parquet", *DATABASES):
        return read_table(SourceSpec(path, kind, options)), True
    with _beginning(path, kind, options) as spec:
        return read_table(spec), False


@contextmanager
def _beginning(path: Path, kind: str, options: Mapping[str, str]) -> Iterator[SourceSpec]:
    """The first rows of a file, as a file of its own."""
    if kind in DATABASES:
        from kgreason.graph.io.sql import quoted

        query = f"SELECT * FROM {quoted(options['table'])} LIMIT {ROWS}"
        yield SourceSpec(path, kind, {}, query)
        return
    with TemporaryDirectory() as folder:
        part = Path(folder) / path.name.removesuffix(".gz")
        if kind == "parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            with sound(path):
                batches = itertools.islice(pq.ParquetFile(path).iter_batches(ROWS), 1)
                pq.write_table(pa.Table.from_batches(batches), part)
        else:
            with damaged(str(path)), open_bytes(path) as stream, part.open("wb") as out:
                out.writelines(itertools.islice(stream, ROWS))
        yield SourceSpec(part, kind, options)


def _tables_in(path: Path, kind: str) -> list[str]:
    if kind == "sqlite":
        try:
            with closing(sqlite3.connect(f"file:{path.resolve()}?mode=ro", uri=True)) as connection:
                rows = connection.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
                ).fetchall()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            hint = "is it a database of another kind? say FILE?format=duckdb"
            raise DataError(str(path), f"no SQLite database that can be read: {error}", hint=hint) from error
        found = [str(name) for (name,) in rows]
    else:
        query = "SELECT table_name FROM information_schema.tables ORDER BY table_name"
        raw = read_table(SourceSpec(path, kind, {}, query))
        found = [str(v) for v in raw.columns[0].to_pylist()] if raw.columns else []
    if not found:
        raise DataError(str(path), "the database has no tables", hint="name another file")
    return found


def _written(path: Path, kind: str, given: Mapping[str, str]) -> tuple[str, dict[str, str], list[str]]:
    """How a text file is written: its format, the options that say so, and words on both."""
    with open_bytes(path) as stream:
        start = read_block(path, stream, 1 << 16)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(str(path), "the file looks like UTF-16", hint="save it as UTF-8")
    if b"\0" in start and path.suffix:
        hint = "save it again as text; if it is in another format, say FILE?format=, as in own.csv?format=parquet"
        raise DataError(str(path), "this is no text, whatever its name says", hint=hint)
    if b"\0" in start:
        hint = "say FILE?format=, for instance own.dat?format=csv"
        raise DataError(str(path), "this is no text, and its name does not tell the format", hint=hint)
    text = start.decode("utf-8-sig", errors="replace")
    lines = [line for line in text.splitlines()[: -1 if len(start) == 1 << 16 else None] if line.strip()]
    bare = [line for line in lines if not line.startswith(("%", "#"))][:200]
    options: dict[str, str] = {}
    said: list[str] = []
    delimiter = given.get("delimiter") or _delimiter(bare)
    if "skip" not in given and _counted(bare, lines, delimiter):
        options["skip"] = "1"
        said.append(f"its first line ({bare[0].strip()}) is a count, so it is passed over")
        bare = bare[1:]
    if text.startswith("%") and "format" not in given and kind in ("edges", "text"):
        return "edges", options, said
    if kind == "edges" and delimiter in (None, ",") and not _titled(bare, delimiter):
        return "edges", options, said
    if delimiter is None:
        if kind in ("csv", "tsv"):
            return kind, options, said
        if _titled(bare, None):
            options["useHeaders"] = "true"
        return "edges", options, [*said, "its fields are separated by blanks"] if kind == "text" else said
    usual = {"csv": ",", "tsv": "\t"}.get(kind)
    if delimiter != usual:
        name = {"\t": "tab"}.get(delimiter, delimiter)
        if kind not in ("csv", "tsv"):
            kind = "tsv" if delimiter == "\t" else "csv"
        if delimiter != {"csv": ",", "tsv": "\t"}[kind]:
            options["delimiter"] = name
        said.append(f"its fields are separated by {name!r}")
    return kind, options, said


def _delimiter(lines: Sequence[str]) -> str | None:
    """The delimiter that cuts nearly all lines into as many fields, the more the better."""
    best: tuple[float, int, str] | None = None
    for mark in _DELIMITERS:
        try:
            widths = Counter(len(row) for row in csv.reader(lines, delimiter=mark) if row)
        except csv.Error:
            continue
        if not widths:
            continue
        width, often = widths.most_common(1)[0]
        share = often / sum(widths.values())
        if width > 1 and share >= 0.8 and (best is None or (round(share, 2), width) > best[:2]):
            best = (round(share, 2), width, mark)
    return None if best is None else best[2]


def _counted(bare: Sequence[str], lines: Sequence[str], delimiter: str | None) -> bool:
    """Whether the first line is a number alone, and those below it have several fields."""
    below = bare[1:20]
    return (
        bool(below)
        and bare[0] == lines[0]
        and bare[0].strip().isdecimal()
        and all(len(line.split(delimiter)) > 1 for line in below)
    )


def _titled(lines: Sequence[str], delimiter: str | None) -> bool:
    """Whether the first line holds names above numbers."""
    rows = [line.split(delimiter) for line in lines[:20]]
    if len(rows) < 2:
        return False
    names = not any(_is_number(cell) for cell in rows[0])
    return names and any(_is_number(row[i]) for row in rows[1:] for i in range(min(len(row), len(rows[0]))))


def _is_number(text: str) -> bool:
    try:
        float(text.strip().rstrip("%").replace(",", "."))
    except ValueError:
        return False
    return True


def allowance(tables: Iterable[Found], folder: Path) -> str:
    """The option that rules of a folder need to read tables: none, if these lie where rules may read."""
    reach = Reach(folder)
    return "" if all(t.format not in SERVERS and reach.reads(t.path) for t in tables) else " --allow-files"


def one_line(text: str) -> str:
    """A text that a comment may hold: the name of a file may have several lines, and would end it."""
    return " ".join(text.splitlines())


def relative(path: Path, folder: Path) -> str:
    """A path as seen from the folder of a rule file."""
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return path.resolve().as_posix()
