"""Collection of nodes and edges with attributes into Arrow tables, for the GML and GraphML readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kgreason.base import memory
from kgreason.base.arrays import as_numpy, pa
from kgreason.base.errors import DataError
from kgreason.data.formats.vertex_names import edges, ends_of, repeated
from kgreason.data.raw_table import Column, Raw

# Non-attribute columns; names in GML and XML cannot contain a NUL character.
ID, LABEL, SOURCE, TARGET, WEIGHT = "\0id", "\0label", "\0source", "\0target", "\0weight"
UNDIRECTED, LINE = "\0undirected", "\0line"

PIECE = 1 << 15
"""Nodes or edges that are Python objects at a time: as dictionaries, 10,000,000 edges take 4 GB."""

_TYPES = {
    **dict.fromkeys(("int", "long"), "int64"),
    **dict.fromkeys(("float", "double"), "double"),
    "boolean": "bool",
}


class GraphBuilder:
    """Builder of the tables of one graph file.

    Attributes
    ----------
    types
        Declared attribute types by element (``node`` or ``edge``) and name; other types are inferred from values.
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
        if len(rows) == PIECE:
            self._flush(kind)

    def raw(self, *, undirected: bool) -> Raw:
        """Table of edges, with the table of vertices.

        Parameters
        ----------
        undirected
            Whether an edge without `UNDIRECTED` is undirected.

        Raises
        ------
        DataError
            If a vertex is declared twice, only some edges have a weight, or an end of an edge is not declared.
        """
        nodes = self._table("node", ID, LABEL)
        lines = as_numpy(nodes[LINE].combine_chunks())
        twice = repeated(nodes[ID].combine_chunks())
        if twice is not None:
            first, row = twice
            message = f"vertex {nodes[ID][row].as_py()!r} is declared again, first in line {lines[first]}"
            hint = "take one of the two out, or give it another id"
            raise DataError(self.file, message, int(lines[row]), hint=hint)
        vertices = Raw(
            self.file,
            ("id", "label"),
            (nodes[ID].combine_chunks(), nodes[LABEL].combine_chunks().fill_null("")),
            lines.item,
            extra={name: column.combine_chunks() for name, column in self._attributes("node", nodes).items()},
            texts=self._texts("node"),
        )
        raw = self._edges(undirected=undirected, vertices=vertices)
        if len(nodes):
            ends_of(raw, vertices)
        return raw

    def _edges(self, *, undirected: bool, vertices: Raw) -> Raw:
        table = self._table("edge", SOURCE, TARGET, WEIGHT)
        columns, lines = [table[SOURCE], table[TARGET]], as_numpy(table[LINE].combine_chunks())
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
        return edges(
            self.file,
            columns,
            lines.item,
            undirected=ways if ways.any() else None,
            vertices=vertices,
            extra=self._attributes("edge", table),
            texts=self._texts("edge"),
        )

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
        return pa.concat_tables(
            [pa.schema(known).empty_table(), *self._tables[kind]], promote_options="default"
        )

    def _attributes(self, kind: str, table: Any) -> dict[str, Column]:
        names = [name for name in table.column_names if not name.startswith("\0")]
        return {name: _typed(table[name], self.types.get((kind, name))) for name in names}

    def _texts(self, kind: str) -> frozenset[str]:
        return frozenset(name for (of, name), type in self.types.items() if (of, type) == (kind, "string"))


def _typed(column: Column, type: str | None) -> Column:
    """Attribute in its declared type; text if a value does not fit, so that messages can show the value."""
    if type not in _TYPES:
        return column
    try:
        return column.cast(pa.type_for_alias(_TYPES[type]))
    except pa.ArrowInvalid:
        return column
