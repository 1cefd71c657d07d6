"""Nodes and edges with attributes, collected one by one into Arrow tables; the readers of GML and GraphML use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kgreason import memory
from kgreason.arrays import as_numpy
from kgreason.errors import DataError
from kgreason.graph.io.raw import Column, Raw

# Columns that are no attributes; neither GML nor XML has names with a zero byte.
ID, LABEL, SOURCE, TARGET, WEIGHT = "\0id", "\0label", "\0source", "\0target", "\0weight"
UNDIRECTED, LINE = "\0undirected", "\0line"

PIECE = 1 << 15
"""Nodes or edges that are Python objects at a time: 10,000,000 edges take 10 GB as dictionaries."""

_TYPES = {
    **dict.fromkeys(("int", "long"), "int64"),
    **dict.fromkeys(("float", "double"), "double"),
    "boolean": "bool",
}


class GraphBuilder:
    """Collects the nodes and edges of one file.

    Attributes
    ----------
    types
        Declared type of an attribute, by ``node`` or ``edge`` and its name; the values tell the type of others.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.types: dict[tuple[str, str], str] = {}
        self._rows: dict[str, list[Mapping[str, Any]]] = {"node": [], "edge": []}
        self._tables: dict[str, list[Any]] = {"node": [], "edge": []}

    def add(self, kind: str, row: Mapping[str, Any]) -> None:
        """Add a ``node`` or an ``edge``: its texts by attribute, `ID` or `SOURCE` and `TARGET`, and its `LINE`."""
        rows = self._rows[kind]
        rows.append(row)
        if len(rows) == PIECE:
            self._flush(kind)

    def raw(self, *, undirected: bool) -> Raw:
        """Make the table of edges, with the table of vertices.

        Parameters
        ----------
        undirected
            Whether an edge without `UNDIRECTED` is undirected.

        Raises
        ------
        DataError
            If a vertex is declared twice, only some edges have a weight, or an edge ends at a vertex that is not
            declared.
        """
        import pyarrow as pa

        nodes = self._table("node", {ID: pa.string(), LABEL: pa.string(), LINE: pa.int64()})
        self._check_nodes(nodes)
        text = dict.fromkeys((SOURCE, TARGET, WEIGHT), pa.string())
        edges = self._table("edge", {**text, UNDIRECTED: pa.bool_(), LINE: pa.int64()})
        self._check_edges(nodes, edges)
        lines, node_lines = as_numpy(edges[LINE].combine_chunks()), as_numpy(nodes[LINE].combine_chunks())
        columns = [edges[SOURCE], edges[TARGET]]
        if len(edges) and not edges[WEIGHT].null_count:
            columns.append(_typed(edges[WEIGHT], self.types.get(("edge", "weight"))))
        ways = edges[UNDIRECTED].fill_null(undirected).to_numpy()
        vertices = Raw(
            self.file,
            ("id", "label"),
            (nodes[ID].combine_chunks(), nodes[LABEL].combine_chunks().fill_null("")),
            lambda row: int(node_lines[row]),
            extra={name: column.combine_chunks() for name, column in self._attributes("node", nodes).items()},
            texts=self._texts("node"),
        )
        return Raw(
            self.file,
            ("source", "target", "weight")[: len(columns)],
            tuple(columns),
            lambda row: int(lines[row]),
            named=False,
            graph=True,
            undirected=ways if ways.any() else None,
            vertices=vertices,
            extra=self._attributes("edge", edges),
            texts=self._texts("edge"),
        )

    def _flush(self, kind: str) -> None:
        import pyarrow as pa

        rows = self._rows[kind]
        columns = {}
        for name in {name: None for row in rows for name in row}:
            cells = [row.get(name) for row in rows]
            if name == LINE:
                columns[name] = pa.array(cells, pa.int64())
            elif name == UNDIRECTED:
                columns[name] = pa.array(cells, pa.bool_())
            else:
                memory.claim(
                    sum(len(cell) for cell in cells if cell)
                )  # a default may be the text of all cells
                columns[name] = pa.array(cells, pa.string())
        self._tables[kind].append(pa.table(columns))
        rows.clear()

    def _table(self, kind: str, known: Mapping[str, Any]) -> Any:
        """All rows of a kind; the columns of `known` come first."""
        import pyarrow as pa

        if self._rows[kind]:
            self._flush(kind)
        first = pa.schema(list(known.items())).empty_table()
        return pa.concat_tables([first, *self._tables[kind]], promote_options="default")

    def _attributes(self, kind: str, table: Any) -> dict[str, Column]:
        names = [name for name in table.column_names if not name.startswith("\0")]
        return {name: _typed(table[name], self.types.get((kind, name))) for name in names}

    def _texts(self, kind: str) -> frozenset[str]:
        return frozenset(name for (of, name), type in self.types.items() if (of, type) == (kind, "string"))

    def _check_nodes(self, nodes: Any) -> None:
        ids = nodes[ID]
        if len(ids.unique()) == len(ids):
            return
        first: dict[str, int] = {}
        for name, line in zip(ids.to_pylist(), nodes[LINE].to_pylist(), strict=True):
            if name in first:
                raise DataError(
                    self.file,
                    f"vertex {name!r} is declared again, first in line {first[name]}",
                    line,
                    hint="take one of the two out, or give it another id",
                )
            first[name] = line

    def _check_edges(self, nodes: Any, edges: Any) -> None:
        """Report the first edge whose weight or end is wrong."""
        import pyarrow.compute as pc

        if not len(edges):
            return
        weighted = edges[WEIGHT].is_valid().to_numpy()
        wrong = [weighted != weighted[0]]
        ends = [edges[SOURCE], edges[TARGET]]
        if len(nodes):
            known = nodes[ID].combine_chunks()
            wrong += [~pc.is_in(end, value_set=known).to_numpy() for end in ends]
        odd = np.flatnonzero(np.logical_or.reduce(wrong))
        if not len(odd):
            return
        row = int(odd[0])
        line, source, target = (edges[name][row].as_py() for name in (LINE, SOURCE, TARGET))
        if wrong[0][row]:
            own, first = ("no", "one") if weighted[0] else ("a", "none")
            raise DataError(
                self.file,
                f"the edge from {source!r} to {target!r} has {own} weight, the first edge has {first}",
                line,
                hint="give every edge a weight, or none",
            )
        end = source if wrong[1][row] else target
        message = f"the edge ends at {end!r}, which is no vertex of the file"
        raise DataError(self.file, message, line, hint="declare the vertex, or take the edge out")


def _typed(column: Column, type: str | None) -> Column:
    """Attribute as its declared type; text if a value is not of the type, for messages to name it."""
    import pyarrow as pa

    if type not in _TYPES:
        return column
    try:
        return column.cast(pa.type_for_alias(_TYPES[type]))
    except pa.ArrowInvalid:
        return column
