"""Pajek .net files: ``*vertices``, then ``*arcs`` (directed), ``*edges`` (undirected) or lists of either.

Vertices are numbered from 1; the numbers are the key, for labels are optional and may repeat.

References
----------
V. Batagelj, A. Mrvar: Pajek, reference manual, section 5.3.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np

from kgreason import memory
from kgreason.errors import DataError
from kgreason.graph.io.fields import Fields, check_declared, check_indices, split_lines
from kgreason.graph.io.naming import named, names_all
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Raw, decoded, whole_lines
from kgreason.graph.io.values import int64

_SECTION = re.compile(r"^[ \t]*\*([A-Za-z]+)[^\n]*$", re.MULTILINE)
_Block = tuple[int, str]  # number of its first line, and text
_ENTITY = re.compile(r"&#([0-9]{1,6});")
_BYTES = 40  # of a vertex
_VERTEX = re.compile(r'\s*(\d+)(?:\s+(?:"([^"]*)"|(\S+)))?')


def read_pajek(path: Path, options: Options) -> Raw:
    """Read the vertices and lines of a network.

    Labels that are not asked for and name no vertex need not fit the encoding.
    """
    file = str(path)
    parts: list[tuple[Fields, bool]] = []
    count, vertices = 0, Raw(file, ("id", "label"), (), lambda _: None)
    for name, first, title, body in _sections(path):
        if name == "vertices":
            count = _count(file, title, first - 1)
            vertices = _vertices(file, body, first, count)
            if not _idle(vertices, options):
                vertices = _encoded(vertices, options.encoding)
        elif name in ("arcs", "edges"):
            fields = split_lines(file, body, 0, " ", "%")
            _check(file, fields, count)
            parts.append((fields, name == "edges"))
        elif name != "network":
            raise DataError(
                file,
                f"a section *{name} is not read",
                first - 1,
                hint="kgreason reads *vertices, *arcs and *edges",
            )
    return named(replace(_joined(file, parts), vertices=vertices), options)


def _idle(vertices: Raw, options: Options) -> bool:
    """Whether nobody asks for labels, and they do not name the vertices without that."""
    asked = options.vertices or options.columns is not None or options.names not in (None, "id")
    return not asked and (options.names == "id" or not names_all(vertices, "label"))


def _encoded(vertices: Raw, encoding: str) -> Raw:
    """Vertices with their labels, read as Latin-1 until here, in the encoding of the file."""
    import pyarrow as pa

    labels = []
    for row, label in enumerate(vertices.columns[1].to_pylist()):
        if not label.isascii():  # a line after the first: what begins a file may be a byte-order mark
            line = max(2, vertices.line(row) or 0)
            label = decoded(vertices.file, label.encode("latin-1") + b"\n", encoding, line)[:-1]
        labels.append(_ENTITY.sub(_letter, label))
    return replace(vertices, columns=(vertices.columns[0], pa.array(labels, pa.string())))


def _letter(found: re.Match[str]) -> str:
    """Letter of a number; what is half of a surrogate pair stays as written."""
    number = int(found[1])
    return found[0] if 0xD800 <= number < 0xE000 else chr(number)


def _sections(path: Path) -> Iterator[tuple[str, int, str, Iterator[_Block]]]:
    """Name, number of the first line, title line and body of each section."""
    title: tuple[int, str, str] | None = None
    for title, pieces in groupby(_pieces(path), key=lambda piece: piece[0]):
        first, name, line = title
        yield name.lower(), first, line, (block for _, block in pieces)
    if title is None:
        raise DataError(
            str(path),
            "no section *vertices, *arcs or *edges: this is no Pajek network",
            1,
            hint="say what it is, for instance format=edges",
        )


def _pieces(path: Path) -> Iterator[tuple[tuple[int, str, str], _Block]]:
    """Bodies of sections, as far as they stand in one block of the file, each with the title above it."""
    title: tuple[int, str, str] | None = None
    first = 1
    for block in whole_lines(path):
        text = decoded(str(path), block.removeprefix(codecs.BOM_UTF8) if first == 1 else block, "latin-1")
        last, line = 0, first
        for match in _SECTION.finditer(text):
            if title is not None:
                yield title, (line, text[last : match.start()])
            line += text.count("\n", last, match.end() + 1)
            last = match.end() + 1
            title = line, match[1], match[0]
        if title is not None:
            yield title, (line, text[last:])
        first += block.count(b"\n")


def _count(file: str, title: str, line: int) -> int:
    words = title.split()
    count = int64(words[1]) if len(words) > 1 and words[1].isdecimal() else None
    if count is None:
        raise DataError(
            file,
            f"expected *vertices and their number, found {title.strip()[:60]!r}",
            line,
            hint="write for instance *vertices 34",
        )
    return count


def _vertices(file: str, body: Iterator[_Block], first: int, count: int) -> Raw:
    import pyarrow as pa

    check_declared(Path(file), count, first - 1)
    memory.claim(_BYTES * count)
    labels, lines = [""] * count, np.full(count, first - 1)
    numbered = ((line, text) for start, some in body for line, text in enumerate(some.split("\n"), start))
    for line, text in numbered:
        if not text.strip() or text.lstrip().startswith("%"):
            continue
        found = _VERTEX.match(text)
        number = int64(found[1]) if found is not None else None
        if found is None or number is None or not 1 <= number <= count:
            raise DataError(
                file,
                f"expected a vertex number from 1 to {count} and a label, found {text.strip()[:60]!r}",
                line,
                hint='write for instance 1 "Ada"',
            )
        labels[number - 1] = found[2] or found[3] or ""
        lines[number - 1] = line
    ids = pa.array(np.arange(1, count + 1)).cast(pa.string())
    return Raw(file, ("id", "label"), (ids, pa.array(labels, pa.string())), lambda row: int(lines[row]))


def _check(file: str, fields: Fields, count: int) -> None:
    if fields.columns and len(fields.columns) not in (2, 3):
        raise DataError(
            file,
            f"{len(fields.columns)} fields, expected two vertices and perhaps a weight",
            int(fields.lines[0]),
            hint="a line of *arcs or *edges is for instance 1 2 0.5",
        )
    for column in fields.columns[:2]:
        check_indices(file, column, fields.lines, count, "vertex number")


def _joined(file: str, parts: list[tuple[Fields, bool]]) -> Raw:
    import pyarrow as pa

    filled = [(fields, both) for fields, both in parts if fields.columns]
    width = len(filled[0][0].columns) if filled else 2
    for fields, _ in filled:
        if len(fields.columns) != width:
            raise DataError(
                file,
                "some lines have a weight and some have none",
                int(fields.lines[0]),
                hint="give every line a weight, or none",
            )
    lines = np.concatenate([np.empty(0, dtype=np.int64), *(fields.lines for fields, _ in filled)])
    undirected = np.concatenate([np.empty(0, dtype=bool), *(np.full(len(f.lines), b) for f, b in filled)])
    columns = tuple(
        pa.chunked_array([c for f, _ in filled for c in f.columns[i].chunks], pa.large_string())
        for i in range(width)
    )
    return Raw(
        file,
        ("source", "target", "weight")[:width],
        columns,
        lambda row: int(lines[row]),
        named=False,
        graph=True,
        undirected=undirected if undirected.any() else None,
    )
