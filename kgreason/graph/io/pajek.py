"""Pajek .net files: ``*vertices``, then ``*arcs`` (directed), ``*edges`` (undirected) or lists of either.

Vertices are numbered from 1; the numbers are the key, for labels are optional and may repeat.

References
----------
V. Batagelj, A. Mrvar: Pajek, reference manual, section 5.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from kgreason.errors import DataError
from kgreason.graph.io.fields import Fields, check_indices, split_lines
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Raw, decoded, open_bytes, read_block

_SECTION = re.compile(r"^[ \t]*\*([A-Za-z]+)[^\n]*$", re.MULTILINE)
_VERTEX = re.compile(r'\s*(\d+)(?:\s+(?:"([^"]*)"|(\S+)))?')


def read_pajek(path: Path, options: Options) -> Raw:
    """Read the vertices and lines of a network.

    Labels only matter if the vertices are asked for, so only then must they fit the encoding.
    """
    file = str(path)
    with open_bytes(path) as stream:
        data = read_block(path, stream, -1)
    text = decoded(file, data, options.encoding if options.vertices else "latin-1")
    parts: list[tuple[Fields, bool]] = []
    count, vertices = 0, Raw(file, ("id", "label"), (), lambda _: None)
    for name, first, title, body in _sections(file, text):
        if name == "vertices":
            count = _count(file, title, first - 1)
            vertices = _vertices(file, body, first, count)
        elif name in ("arcs", "edges"):
            fields = split_lines(file, iter([(first, body)]), 0, " ", "%")
            _check(file, fields, count)
            parts.append((fields, name == "edges"))
        elif name != "network":
            raise DataError(
                file,
                f"a section *{name} is not read",
                first - 1,
                hint="kgreason reads *vertices, *arcs and *edges",
            )
    return replace(_joined(file, parts), vertices=vertices)


def _sections(file: str, text: str) -> Iterator[tuple[str, int, str, str]]:
    """Name, number of the first line, title line and body of each section."""
    found = list(_SECTION.finditer(text))
    if not found:
        raise DataError(
            file,
            "no section *vertices, *arcs or *edges: this is no Pajek network",
            1,
            hint="say what it is, for instance format=edges",
        )
    ends = [*(m.start() for m in found[1:]), len(text)]
    line, last = 1, 0
    for match, end in zip(found, ends, strict=True):
        line += text.count("\n", last, match.end() + 1)
        last = match.end() + 1
        yield match[1].lower(), line, match[0], text[last:end]


def _count(file: str, title: str, line: int) -> int:
    words = title.split()
    if len(words) < 2 or not words[1].isdecimal():
        raise DataError(
            file,
            f"expected *vertices and their number, found {title.strip()!r}",
            line,
            hint="write for instance *vertices 34",
        )
    return int(words[1])


def _vertices(file: str, body: str, first: int, count: int) -> Raw:
    import pyarrow as pa

    labels, lines = [""] * count, [first - 1] * count
    for line, text in enumerate(body.split("\n"), first):
        if not text.strip() or text.lstrip().startswith("%"):
            continue
        found = _VERTEX.match(text)
        if found is None or not 1 <= int(found[1]) <= count:
            raise DataError(
                file,
                f"expected a vertex number from 1 to {count} and a label, found {text.strip()!r}",
                line,
                hint='write for instance 1 "Ada"',
            )
        labels[int(found[1]) - 1] = found[2] or found[3] or ""
        lines[int(found[1]) - 1] = line
    ids = pa.array(np.arange(1, count + 1)).cast(pa.string())
    return Raw(file, ("id", "label"), (ids, pa.array(labels, pa.string())), lambda row: lines[row])


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
