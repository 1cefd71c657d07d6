"""Pajek networks: ``*vertices``, then ``*arcs`` (directed) and ``*edges`` (undirected), with numbered vertices.

igraph's reader is unsuitable: it rejects arcs after edges, and comments; it reads mixed networks as directed, fails
at labels that are not UTF-8 even if they are not used, and gives no line numbers of edges.

References
----------
V. Batagelj, A. Mrvar: Pajek, reference manual, section 5.3.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kgreason.base import memory
from kgreason.base.arrays import pa
from kgreason.base.errors import DataError
from kgreason.data.fact_columns import check_weight
from kgreason.data.formats.edge_list import check_declared, check_indices, split_lines
from kgreason.data.formats.vertex_names import edges, named, vertices_of, write_entries
from kgreason.data.raw_table import Raw, decoded, whole_lines
from kgreason.data.source_options import Options
from kgreason.data.targets import Target
from kgreason.data.value_conversion import int64
from kgreason.engine.relations.fact_tables import Facts

_TITLE = re.compile(r"^([ \t]*\*[A-Za-z]+[^\n]*)$", re.MULTILINE)
_VERTEX = re.compile(r'\s*(\d+)(?:\s+(?:"([^"]*)"|(\S+)))?')
_BYTES = 40  # bytes per vertex
_ENTITY = re.compile(r"&#([0-9]{1,6});")
_SPECIAL = re.compile('["\x00-\x1f\x7f]|&(?=#[0-9])')


def read_pajek(path: Path, options: Options) -> Raw:
    """Read the vertices and lines of a network.

    Names are those of GML. Labels that are not used as vertex names may be invalid in the encoding.
    """
    file, count, vertices = str(path), 0, Raw(str(path), ("id", "label"), (), lambda _: None)
    text, wrong = _text(path, options.encoding)
    before, *sections = _TITLE.split(text)
    if not sections:
        message = "no section *vertices, *arcs or *edges: this is no Pajek network"
        raise DataError(file, message, 1, hint="say what it is, for instance format=edges")
    line = 1 + before.count("\n")
    bodies: list[tuple[int, str]] = []
    both: list[bool] = []  # whether each row is an undirected edge
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        section = title.split()[0].lower()
        if section == "*vertices":
            count = _count(file, title, line)
            vertices = _vertices(file, body, line, count)
        elif section in ("*arcs", "*edges"):
            bodies.append((line, body))
            both.append(section == "*edges")
        elif section != "*network":
            hint = "kgreason reads *vertices, *arcs and *edges"
            raise DataError(file, f"a section {section} is not read", line, hint=hint)
        line += body.count("\n")
    columns, lines = split_lines(file, iter(bodies), 0, " ", "%")
    columns = columns or (pa.chunked_array([], pa.large_string()),) * 2
    if len(columns) not in (2, 3):
        message = f"{len(columns)} fields, expected two vertices and perhaps a weight"
        hint = "a line of *arcs or *edges is for instance 1 2 0.5"
        raise DataError(file, message, int(lines[0]), hint=hint)
    for column in columns[:2]:
        check_indices(file, column, lines, count, "vertex number")
    undirected = np.array(both)[np.searchsorted([first for first, _ in bodies], lines, "right") - 1]
    both_ways = undirected if undirected.any() else None
    raw = named(edges(file, columns, lines.item, undirected=both_ways, vertices=vertices), options)
    labelled = options.vertices or options.columns is not None or options.names not in (None, "id")
    if wrong is not None and (labelled or (raw.vertices is not None and raw.vertices.key is not None)):
        raise wrong
    return raw


def _text(path: Path, encoding: str) -> tuple[str, DataError | None]:
    """Text of the file; if it is invalid in the encoding, decoded as Latin-1, with the error."""
    data = b"".join(whole_lines(path))
    try:
        return decoded(str(path), data, encoding), None
    except DataError as error:
        return data.removeprefix(BOM_UTF8).decode("latin-1"), error


def _count(file: str, title: str, line: int) -> int:
    words = title.split()
    count = int64(words[1]) if len(words) > 1 and words[1].isdecimal() else None
    if count is None:
        message = f"expected *vertices and their number, found {title[:60]!r}"
        raise DataError(file, message, line, hint="write for instance *vertices 34")
    return count


def _vertices(file: str, body: str, title: int, count: int) -> Raw:
    """Vertices and their labels; vertices without a line are located at the title line."""
    check_declared(Path(file), count, title)
    memory.claim(_BYTES * count)
    labels, lines = [""] * count, np.full(count, title)
    for line, words in enumerate(body.split("\n"), title):
        if not words.strip() or words.lstrip().startswith("%"):
            continue
        found = _VERTEX.match(words)
        number = int64(found[1]) if found is not None else None
        if found is None or number is None or not 1 <= number <= count:
            what = f"expected a vertex number from 1 to {count} and a label, found {words.strip()[:60]!r}"
            raise DataError(file, what, line, hint='write for instance 1 "Ada"')
        labels[number - 1], lines[number - 1] = _ENTITY.sub(_letter, found[2] or found[3] or ""), line
    ids = pa.array(np.arange(1, count + 1)).cast(pa.string())
    return Raw(file, ("id", "label"), (ids, pa.array(labels, pa.string())), lambda row: int(lines[row]))


def _letter(found: re.Match[str]) -> str:
    """Character of a numeric entity; surrogates are kept as written."""
    number = int(found[1])
    return found[0] if 0xD800 <= number < 0xE000 else chr(number)


def write_pajek(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write vertices and arcs, in UTF-8; quotation marks and line ends are numeric entities such as ``&#34;``."""
    table = facts.tables[predicate]
    check_weight(str(target.path), predicate, table, names, "net")
    found = vertices_of(facts, predicate, target)
    with path.open("wb") as stream:
        stream.write(f"*vertices {len(found.names)}\n".encode())
        stream.writelines(f'{i} "{_label(name)}"\n'.encode() for i, name in enumerate(found.names, 1))
        stream.write(b"*arcs\n")
        if table.arity > 1:
            write_entries(stream, facts, predicate, found)


def _label(name: str) -> str:
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", name)
