"""GraphML: XML with nodes and edges identified by ids, and attributes.

igraph's reader is unsuitable: it gives no line numbers of edges, ignores ``directed`` of an edge and defaults of keys,
creates undeclared vertices, reads integers as doubles, and expands entities.

References
----------
U. Brandes, M. Eiglsperger, J. Lerner, C. Pich: Graph Markup Language (GraphML), 2013.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from kgreason.base.errors import DataError
from kgreason.data.formats.graph_builder import (
    ID,
    LABEL,
    LINE,
    SOURCE,
    TARGET,
    UNDIRECTED,
    WEIGHT,
    GraphBuilder,
)
from kgreason.data.formats.vertex_names import named
from kgreason.data.raw_table import Raw, parse_xml
from kgreason.data.source_options import Options
from kgreason.data.targets import Target
from kgreason.data.value_conversion import text
from kgreason.engine.relations.fact_tables import Facts, Kind
from kgreason.language.values import Value

_TYPES = {Kind.INT: "long", Kind.DOUBLE: "double", Kind.BOOL: "boolean"}
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'


def read_graphml(path: Path, options: Options) -> Raw:
    """Read a GraphML graph; the weight is the edge key named ``weight`` or else ``value``.

    All other data of vertices and edges are columns that `columns` can select by name. The encoding is that of the
    XML declaration.
    """
    reader = _Reader(str(path))
    parse_xml(
        path,
        reader.parser,
        "is the file cut off, or changed by hand? write it anew with the program that made it",
    )
    return named(reader.graph.raw(undirected=reader.undirected), options, usual=False)


class _Reader:
    """Element handlers for one file."""

    def __init__(self, file: str) -> None:
        self.graph, self.undirected = GraphBuilder(file), False
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self._keys: dict[str, tuple[tuple[str, ...], str]] = {}  # id: element types, attribute name
        self._defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
        self._element: dict[str, str] = {}
        self._data: dict[str, str] = {}
        self._words: list[str] = []
        self._key = ""
        self._line = 0

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        if tag == "graph":
            self.undirected = attributes.get("edgedefault") == "undirected"
        elif tag == "key":
            self._key = self._get(attributes, "id", tag)
            domain, title = attributes.get("for", "all"), attributes.get("attr.name", self._key)
            kinds = ("node", "edge") if domain in ("all", "graph") else (domain,)
            self._keys[self._key] = kinds, title
            if "attr.type" in attributes:
                self.graph.types.update(((kind, title), attributes["attr.type"]) for kind in kinds)
        elif tag in ("node", "edge"):
            self._element, self._data, self._line = attributes, {}, self.parser.CurrentLineNumber
        elif tag in ("data", "default"):
            self._key, self._words = attributes.get("key", self._key), []
            self.parser.CharacterDataHandler = self._words.append
        elif tag == "hyperedge":
            hint = "write each as edges between pairs of its vertices"
            line = self.parser.CurrentLineNumber
            raise DataError(self.graph.file, "hyperedges are no edges", line, hint=hint)

    def _end(self, name: str) -> None:
        tag = name.rpartition(" ")[2]
        if tag in ("data", "default"):
            kinds, title = self._keys.get(self._key, (("node", "edge"), self._key))
            words = "".join(self._words)
            self.parser.CharacterDataHandler = None
            if tag == "data":
                self._data[title] = words
            else:
                for kind in kinds:
                    self._defaults.setdefault(kind, {})[title] = words
        elif tag == "node":
            data = self._defaults[tag] | self._data
            name = self._get(self._element, "id", tag)
            self.graph.add(tag, {ID: name, LABEL: self._data.get("label", ""), LINE: self._line, **data})
        elif tag == "edge":
            data = self._defaults[tag] | self._data
            row: dict[str, Any] = {
                SOURCE: self._get(self._element, "source", tag),
                TARGET: self._get(self._element, "target", tag),
                WEIGHT: data.get("weight", data.get("value")),
            }
            if "directed" in self._element:
                row[UNDIRECTED] = self._element["directed"] == "false"
            self.graph.add(tag, {**row, LINE: self._line, **data})

    def _get(self, attributes: dict[str, str], name: str, tag: str) -> str:
        if name in attributes:
            return attributes[name]
        hint = "GraphML needs it: write the file anew with the program that made it"
        line = self.parser.CurrentLineNumber
        raise DataError(self.graph.file, f"a {tag} without {name}", line, hint=hint)


def write_graphml(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write vertices and directed edges; a third column is the weight, further columns are attributes.

    Raises
    ------
    DataError
        If a value contains a character that XML cannot represent.
    """
    table, file = facts.tables[predicate], str(target.path)
    titles = ["weight", *names[3:]][: max(0, table.arity - 2)]
    vertices = dict.fromkeys(_legal(end, file) for row in facts.rows(predicate) for end in row[:2])
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(_HEAD)
        for number, (title, kind) in enumerate(zip(titles, table.kinds[2:], strict=True)):
            type = _TYPES.get(kind, "string")
            key = f'<key id="d{number}" for="edge" attr.name={quoteattr(title)} attr.type="{type}"/>\n'
            stream.write(key)
        stream.write(f'<graph id={quoteattr(predicate)} edgedefault="directed">\n')
        vertices |= dict.fromkeys(target.vertices)
        stream.writelines(f"<node id={_attribute(vertex, file)}/>\n" for vertex in vertices)
        for row in facts.rows(predicate) if table.arity > 1 else ():
            ends = f"<edge source={_attribute(row[0], file)} target={_attribute(row[1], file)}"
            cells = (escape(_legal(v, file), {"\r": "&#13;"}) for v in row[2:])
            data = "".join(f'<data key="d{n}">{cell}</data>' for n, cell in enumerate(cells))
            stream.write(f"{ends}>{data}</edge>\n" if data else f"{ends}/>\n")
        stream.write("</graph>\n</graphml>\n")


def _legal(value: Value, file: str) -> str:
    words = text(value)
    if _FORBIDDEN.search(words):
        raise DataError(file, f"{words!r} holds a character that XML cannot", hint="write another format")
    return words


def _attribute(value: Value, file: str) -> str:
    """Quoted attribute; whitespace other than spaces is written as numeric entities."""
    return quoteattr(_legal(value, file), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
