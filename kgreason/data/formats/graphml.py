"""GraphML: XML with nodes and edges identified by ids, and attributes.

`GraphBuilder`, which collects nodes and edges, is shared with GML files.

igraph's reader is unsuitable: it gives no line numbers of edges, ignores ``directed`` of an edge and defaults of keys,
creates undeclared vertices, reads integers as doubles, and expands entities.

References
----------
U. Brandes, M. Eiglsperger, J. Lerner, C. Pich: Graph Markup Language (GraphML), 2013.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from kgreason.base import memory
from kgreason.base.arrays import pa
from kgreason.base.errors import DataError
from kgreason.data.formats.vertex_names import edges, ends_of, named, repeated
from kgreason.data.raw_table import Column, Raw, parse_xml
from kgreason.data.source_options import Options
from kgreason.data.targets import Target
from kgreason.data.value_conversion import text
from kgreason.engine.relations.fact_tables import Facts, Kind
from kgreason.language.values import Value

# Non-attribute columns; names in GML and XML cannot contain a NUL character.
ID, LABEL, SOURCE, TARGET, WEIGHT = "\0id", "\0label", "\0source", "\0target", "\0weight"
UNDIRECTED, LINE = "\0undirected", "\0line"
# nodes or edges that are Python objects at a time: as dictionaries, 10,000,000 edges take 4 GB
BATCH = 1 << 15
_DECLARED = {
    **dict.fromkeys(("int", "long"), "int64"),
    **dict.fromkeys(("float", "double"), "double"),
    "boolean": "bool",
}
_WRITTEN = {Kind.INT: "long", Kind.DOUBLE: "double", Kind.BOOL: "boolean"}
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'


class GraphBuilder:
    """Builder of the tables of one graph file.

    `types` are the declared attribute types by element (``node`` or ``edge``) and name; other types are inferred.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.types: dict[tuple[str, str], str] = {}
        self._rows: dict[str, list[Mapping[str, Any]]] = {"node": [], "edge": []}
        self._tables: dict[str, list[Any]] = {"node": [], "edge": []}

    def add(self, kind: str, row: Mapping[str, Any]) -> None:
        """Add a ``node`` or ``edge`` row: texts by attribute, `ID` or `SOURCE` and `TARGET`, and `LINE`."""
        rows = self._rows[kind]
        rows.append(row)
        if len(rows) == BATCH:
            self._flush(kind)

    def _flush(self, kind: str) -> None:
        rows = self._rows[kind]
        names = {name: None for row in rows for name in row}
        # attribute defaults may be long and are repeated in every row
        memory.claim(sum(len(cell) for row in rows for cell in row.values() if isinstance(cell, str)))
        types = {LINE: pa.int64(), UNDIRECTED: pa.bool_()}
        schema = pa.schema([(name, types.get(name, pa.string())) for name in names])
        self._tables[kind].append(pa.Table.from_pylist(rows, schema=schema))
        rows.clear()

    def _table(self, kind: str, *texts: str) -> Any:
        """All rows of an element type; the columns `texts` are always present."""
        self._flush(kind)
        known = [*((name, pa.string()) for name in texts), (LINE, pa.int64()), (UNDIRECTED, pa.bool_())]
        parts = [pa.schema(known).empty_table(), *self._tables[kind]]
        return pa.concat_tables(parts, promote_options="default")

    def raw(self, *, undirected: bool) -> Raw:
        """Table of edges, with the table of vertices; `undirected` applies to edges without `UNDIRECTED`."""
        nodes = self._table("node", ID, LABEL)
        ids, lines = nodes[ID].combine_chunks(), nodes[LINE].to_numpy()
        if (twice := repeated(ids)) is not None:
            first, row = twice
            message = f"vertex {ids[row].as_py()!r} is declared again, first in line {lines[first]}"
            hint = "take one of the two out, or give it another id"
            raise DataError(self.file, message, int(lines[row]), hint=hint)
        columns = ids, nodes[LABEL].combine_chunks().fill_null("")
        vertices = Raw(self.file, ("id", "label"), columns, lines.item, **self._attributes("node", nodes))
        raw = self._edges(undirected=undirected, vertices=vertices)
        if len(nodes):
            ends_of(raw, vertices)
        return raw

    def _edges(self, *, undirected: bool, vertices: Raw) -> Raw:
        table = self._table("edge", SOURCE, TARGET, WEIGHT)
        columns, lines = [table[SOURCE], table[TARGET]], table[LINE].to_numpy()
        weighted = table[WEIGHT].is_valid().to_numpy()
        if weighted.all() and len(weighted):
            columns.append(_typed(table[WEIGHT], self.types.get(("edge", "weight"))))
        elif weighted.any():
            row = int(np.argmax(weighted != weighted[0]))
            source, target = (column[row].as_py() for column in columns)
            own, first = ("no", "one") if weighted[0] else ("a", "none")
            message = f"the edge from {source!r} to {target!r} has {own} weight, the first edge has {first}"
            raise DataError(self.file, message, int(lines[row]), hint="give every edge a weight, or none")
        ways = table[UNDIRECTED].fill_null(undirected).to_numpy()
        both, more = ways if ways.any() else None, self._attributes("edge", table)
        return edges(self.file, columns, lines.item, undirected=both, vertices=vertices, **more)

    def _attributes(self, kind: str, table: Any) -> dict[str, Any]:
        """Columns beside the ends and the weight, as fields of `Raw`."""
        names = [name for name in table.column_names if not name.startswith("\0")]
        texts = (name for (of, name), type in self.types.items() if (of, type) == (kind, "string"))
        columns = {name: _typed(table[name], self.types.get((kind, name))) for name in names}
        return {"extra": columns, "texts": frozenset(texts)}


def _typed(column: Column, type: str | None) -> Column:
    """Attribute in its declared type; text if a value does not fit, so that messages can show the value."""
    if type not in _DECLARED:
        return column
    try:
        return column.cast(pa.type_for_alias(_DECLARED[type]))
    except pa.ArrowInvalid:
        return column


def read_graphml(path: Path, options: Options) -> Raw:
    """Read a GraphML graph; the weight is the edge key named ``weight`` or else ``value``.

    All other data of vertices and edges are columns that `columns` can select by name, as in GML. Names are ids; files
    by igraph need ``names=name``. The encoding is that of the
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
    """Write vertices and directed edges; a third column is the weight, further columns are attributes."""
    table, file = facts.tables[predicate], str(target.path)
    titles = ["weight", *names[3:]][: max(0, table.arity - 2)]
    vertices = dict.fromkeys(_legal(end, file) for row in facts.rows(predicate) for end in row[:2])
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(_HEAD)
        for number, (title, kind) in enumerate(zip(titles, table.kinds[2:], strict=True)):
            type = _WRITTEN.get(kind, "string")
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
