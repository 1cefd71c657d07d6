"""Strict readers of files that kgreason wrote, which report truncation, damage and changes.

Other readers accept any table. Files of a release and its private folder are known to be UTF-8 with terminated lines,
and every vertex of a table is listed in ``nodes.csv``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from kgreason.base.arrays import ArrowArray, as_arrow, constant, pa, pc, split_at, strings
from kgreason.base.errors import DataError, ReleaseError
from kgreason.base.records import record
from kgreason.data.format_list import read_table
from kgreason.data.predicate_rows import keyed
from kgreason.data.raw_table import BLOCK, decoded, open_bytes, read_block
from kgreason.data.sources import SourceSpec
from kgreason.data.value_conversion import Objects
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.release.table_layout import (
    BESIDE,
    DATABASES,
    HEADED,
    NODES,
    Layout,
    found_edges,
    found_nodes,
    is_table,
    table_of,
)

UNCHANGED = "kgreason writes it otherwise: take an unchanged copy"
# of each kind of release: the file that no other has, what it is of, and which commands it is for
KINDS = {
    "people": (
        "people.toml",
        "people",
        "kgreason people verify takes it with the model that it was made for, as --model k-ad; kgreason people score "
        "takes it as well",
    ),
    "links": (
        "links.toml",
        "links",
        "kgreason links verify and kgreason links attack take it; the share of links kept, in place of a score, is "
        "printed by anonymize and is in its report.json",
    ),
    "rules": ("rules.vada", "a graph under rules", "kgreason verify, score and attack take it, with --rules"),
}
WIDE = (b"\xff\xfe", b"\xfe\xff")  # byte-order marks of UTF-16


@record
class Rows:
    """Rows of a table of two columns: the second field by the first, and the line of each row."""

    texts: Mapping[str, str]
    lines: Sequence[int]

    def line(self, first: str) -> int:
        """Line of the row with a first field."""
        return self.lines[list(self.texts).index(first)]


@contextmanager
def as_written() -> Iterator[None]:
    """Add to errors within the block a hint that the file differs from what kgreason writes."""
    try:
        yield
    except DataError as error:
        if error.hint and UNCHANGED in error.hint:
            raise
        hint = f"{UNCHANGED}; if another program made it: {error.hint}" if error.hint else UNCHANGED
        raise replace(error, hint=hint) from error


def check_whole(path: Path, *, empty: bool = False) -> None:
    """Check the bytes of a table for truncation and damage.

    Raises
    ------
    DataError
        If the file is empty (unless `empty`), its last line is not terminated, or a byte is zero.
    """
    lines, last = 0, b""
    with open_bytes(path) as stream:
        while block := read_block(path, stream, BLOCK):
            if not last and block.startswith(WIDE):
                return  # UTF-16, which the reader rejects
            _check_zeros(path, block, lines)
            lines += block.count(b"\n")
            last = block[-1:]
    if not last and empty:
        return
    if not last:
        raise DataError(str(path), "the file is empty, without even the names of columns", hint=UNCHANGED)
    if last not in b"\r\n":
        hint = f"{UNCHANGED}; if nothing is missing, end the line"
        raise DataError(str(path), "the last line has no end: the file may be cut off", lines + 1, hint=hint)


def _check_zeros(path: Path, block: bytes, lines: int = 0) -> None:
    if (place := block.find(0)) >= 0:
        line = lines + block.count(b"\n", 0, place) + 1
        raise DataError(str(path), "a byte is zero: the file is damaged, or UTF-16", line, hint=UNCHANGED)


def check_kind(folder: Path, kind: str) -> None:
    """Raise `DataError` if a folder contains a release of another kind; names that kind and its commands."""
    if (folder / KINDS[kind][0]).is_file():
        return
    for other, (file, words, hint) in KINDS.items():
        if other != kind and (folder / file).is_file():
            raise DataError(str(folder), f"this is a release of {words}, not of {KINDS[kind][1]}", hint=hint)


def check_files(folder: Path, kind: str, files: Collection[str]) -> None:
    """Check that a folder contains exactly the files of a release of a kind.

    Raises
    ------
    DataError
        Names the missing or unexpected file.
    """
    unchanged = "take an unchanged copy of the folder"
    if not folder.is_dir():
        hint = f"name a folder with {', '.join(files)}"
        raise DataError(str(folder), "there is no such release folder", hint=hint)
    check_kind(folder, kind)
    for name in files:
        if not (folder / name).is_file():
            raise DataError(str(folder / name), "there is no such file", hint=unchanged)
    for path in sorted(folder.iterdir()):
        if path.name not in (*files, *BESIDE):
            hint = "take it out of the release: its content is not examined"
            raise DataError(str(path), f"this is none of the files of a release of {kind}", hint=hint)
        if not path.is_file():
            what = "a link that leads nowhere" if path.is_symlink() else "no file"
            raise DataError(str(path), f"this is {what}", hint=unchanged)


def check_folder(folder: Path, edges: Sequence[str]) -> None:
    """Check that a release folder has its vertices, and no tables besides those of the edge predicates.

    Raises
    ------
    DataError
        Names the missing or unused table.
    """
    from kgreason.data.formats.duckdb_files import duckdb_tables
    from kgreason.data.formats.sqlite import sqlite_tables

    tables = {predicate: found_edges(folder, predicate) for predicate in edges}
    nodes = found_nodes(folder, tables.values())
    if nodes is None:
        hint = "a release has one, with all vertices: take an unchanged copy of the folder"
        raise DataError(str(folder / f"{NODES}.csv"), "there is no such file", hint=hint)
    known = set(Layout(tables, nodes).files)
    for path in sorted(folder.iterdir()):
        if path.name not in known and is_table(path.name):
            raise _unknown(str(path), table_of(path.name))
    for stored in {stored.file: stored for stored in tables.values() if stored.format in DATABASES}.values():
        file = folder / stored.file
        for table in (sqlite_tables if stored.format == "sqlite" else duckdb_tables)(file):
            if table.lower() not in {NODES, *(predicate.lower() for predicate in edges)}:
                raise _unknown(str(file), table)


def _unknown(file: str, table: str) -> DataError:
    return DataError(
        file,
        f"the rules have no edges {table}, so it is not known what this table holds",
        hint="take it out of the release, or name the rules that it was made with",
    )


def read_nodes(nodes: SourceSpec) -> ArrowArray:
    """Vertex labels of a release, as Arrow strings.

    Raises
    ------
    DataError
        If the file is not a table with one column, or the column name is a vertex.
    """
    headed = nodes.kind() in HEADED
    with as_written():
        raw = read_table(replace(nodes, options={"useHeaders": "true", **nodes.options}) if headed else nodes)
        if raw.vertices is not None:
            raw = keyed(raw.vertices)
        if len(raw.columns) != 1:
            line = 1 if headed else None
            message = f"{len(raw.columns)} columns where vertices have one, their label"
            raise DataError(str(nodes.path), message, line, hint=UNCHANGED)
    column = raw.columns[0]
    plain = not isinstance(column, Objects) and pa.types.is_string(column.type) and not column.null_count
    labels = column.cast(pa.large_string()) if plain else strings([*map(str, column.to_pylist())])
    row = pc.index(labels, constant(raw.names[0])).as_py() if headed else -1
    if row >= 0:
        raise raw.error(row, f"the name of the column, {raw.names[0]!r}, is among vertices", hint=UNCHANGED)
    return labels


def check_ends(graph: KnowledgeGraph, tables: Mapping[str, Path], labels: Iterable[str], nodes: Path) -> None:
    """Check that the ends of all edges are listed as vertices.

    Parameters
    ----------
    tables
        Edge file of each relation.
    labels
        Vertex labels in the file `nodes`.

    Raises
    ------
    DataError
        Names the missing vertex and the table.
    """
    known = set(labels)
    for name, path in tables.items():
        relation = graph.relations[name]
        ends = np.zeros(graph.n, dtype=np.bool_)
        ends[relation.source] = ends[relation.target] = True
        if lost := [label for label in graph.labels[ends].tolist() if label not in known]:
            such = f" ({len(lost):,} such vertices)" if len(lost) > 1 else ""
            raise DataError(
                str(nodes),
                f"the vertex {lost[0]!r} of {path.name} is not in it{such}",
                hint=f"is one of the two cut off, edited, or of another release? {UNCHANGED}",
            )


def read_pairs(path: Path, header: tuple[str, str], *, partial: bool = False) -> Rows:
    """Read a private table of two columns: original vertices, and texts that may be empty if `partial`.

    Raises
    ------
    ReleaseError
        If the file cannot be read, the header differs, a row does not have two fields, or a vertex is repeated.
    """
    text = _text(path)
    return _plain(text, header, partial=partial) or _parsed(path, text, header, partial=partial)


def plain_fields(path: Path, header: tuple[str, str]) -> tuple[ArrowArray, ArrowArray] | None:
    """Columns of a private table of two columns as Arrow strings; `None` if it is not written as usual."""
    return _fields(_text(path), header)


def _fields(text: str, header: tuple[str, str]) -> tuple[ArrowArray, ArrowArray] | None:
    """Columns of a table as it is usually written: no field is quoted, no line is blank; `None` for other tables."""
    title, _, body = text.partition("\n")
    if title != ",".join(header) or '"' in body or "\r" in body or not body.endswith("\n"):
        return None
    letters = np.frombuffer(body.encode(), dtype=np.uint8)[:-1]
    ends = (letters == ord(",")) | (letters == ord("\n"))
    signs = letters[ends]
    if not len(signs) % 2 or (signs[::2] != ord(",")).any() or (signs[1::2] != ord("\n")).any():
        return None
    fields = split_at(letters, ends)
    first = np.arange(0, len(fields), 2)
    return fields.take(as_arrow(first)), fields.take(as_arrow(first + 1))


def _plain(text: str, header: tuple[str, str], *, partial: bool) -> Rows | None:
    """Rows of a table as it is usually written; `None` for other tables."""
    if (fields := _fields(text, header)) is None:
        return None
    first, second = (column.to_pylist() for column in fields)
    texts = dict(zip(first, second, strict=True))
    if len(texts) < len(first) or "" in texts or not (partial or all(second)):
        return None
    return Rows(texts, range(2, len(first) + 2))


def _parsed(path: Path, text: str, header: tuple[str, str], *, partial: bool) -> Rows:
    words = ",".join(header)
    lines: dict[str, int] = {}
    texts: dict[str, str] = {}
    found = _records(path, text)
    _, first = next(found, (1, []))
    if first != list(header):
        what = repr(",".join(first)) if first else "an empty file"
        hint = "is this the right file? take an unchanged copy"
        raise ReleaseError(f"{path}:1: the header must be {words}, not {what}", hint=hint)
    for line, row in found:
        if len(row) != 2 or not row[0] or not (row[1] or partial):
            fields = len([cell for cell in row if cell])
            hint = "is the line cut off? a label with a comma or a line end needs quotation marks"
            raise ReleaseError(f"{path}:{line}: a row needs two fields {words}, not {fields}", hint=hint)
        if row[0] in texts:
            raise ReleaseError(
                f"{path}:{line}: the original vertex {row[0]!r} stands twice, first in line {lines[row[0]]}",
                hint="keep the row of this release",
            )
        texts[row[0]], lines[row[0]] = row[1], line
    return Rows(texts, list(lines.values()))


def _records(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Non-empty rows with their first line numbers."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for row in reader:
            if row:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        hint = "is a quotation mark never closed? take an unchanged copy"
        raise ReleaseError(f"{path}:{line}: not a CSV file: {error}", hint=hint) from error


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        hint = "name the private folder, or the file in it"
        raise ReleaseError(f"{path}: cannot be read: {error.strerror or error}", hint=hint) from error
    if data.startswith(b"\x1f\x8b"):
        raise ReleaseError(f"{path}: the file is packed with gzip", hint="unpack it")
    wide = data.startswith(WIDE)
    try:
        if not wide:
            _check_zeros(path, data)
        return decoded(str(path), data, "utf-8")
    except DataError as error:
        mending = error.hint if wide else "save it as UTF-8, or take an unchanged copy"
        raise ReleaseError(str(replace(error, hint=None)), hint=mending) from error
