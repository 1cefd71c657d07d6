"""Vertices and edges as a reader of a graph format finds them, one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kgreason.errors import DataError
from kgreason.graph.io.raw import Column, Raw

_TYPES = {
    **dict.fromkeys(("int", "long"), "int64"),
    **dict.fromkeys(("float", "double"), "double"),
    "boolean": "bool",
}


class Parts:
    """Collects the declared vertices and the edges of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._vertices: dict[str, tuple[str, int]] = {}
        self._ends: list[tuple[str, str]] = []
        self._weights: list[str | None] = []
        self._undirected: list[bool | None] = []
        self._lines: list[int] = []
        self._vertex_data: list[Mapping[str, str]] = []
        self._edge_data: list[Mapping[str, str]] = []
        self.types: dict[tuple[str, str], str] = {}
        """Type of an attribute, ``node`` or ``edge`` and its name; those that are missing show in the values."""

    def vertex(self, name: str, label: str, line: int, data: Mapping[str, str] | None = None) -> None:
        """Declare a vertex.

        Raises
        ------
        DataError
            If its id was declared before.
        """
        if name in self._vertices:
            before = self._vertices[name][1]
            raise DataError(
                self.file,
                f"vertex {name!r} is declared again, first in line {before}",
                line,
                hint="take one of the two out, or give it another id",
            )
        self._vertices[name] = (label, line)
        self._vertex_data.append(data or {})

    def edge(
        self,
        source: str,
        target: str,
        weight: str | None,
        line: int,
        *,
        undirected: bool | None = None,
        data: Mapping[str, str] | None = None,
    ) -> None:
        """Add an edge; `undirected` is `None` where the file's default holds."""
        self._ends.append((source, target))
        self._weights.append(weight)
        self._undirected.append(undirected)
        self._lines.append(line)
        self._edge_data.append(data or {})

    def raw(self, *, undirected_by_default: bool) -> Raw:
        """Make the table of edges, with that of the vertices beside it.

        Raises
        ------
        DataError
            If only some edges have a weight, or an edge ends at a vertex that is not declared.
        """
        self._check()
        weighted = bool(self._weights) and self._weights[0] is not None
        columns = [_strings([s for s, _ in self._ends]), _strings([t for _, t in self._ends])]
        if weighted:
            columns.append(_typed(self._weights, self.types.get(("edge", "weight"))))
        undirected = np.array(
            [undirected_by_default if u is None else u for u in self._undirected], dtype=bool
        )
        lines, vertices = self._lines, list(self._vertices.items())
        declared = Raw(
            self.file,
            ("id", "label"),
            (_strings([v for v, _ in vertices]), _strings([label for _, (label, _) in vertices])),
            lambda row: vertices[row][1][1],
            extra=self._attributes("node", self._vertex_data),
            texts=self._texts("node"),
        )
        return Raw(
            self.file,
            ("source", "target", "weight")[: len(columns)],
            tuple(columns),
            lambda row: lines[row],
            named=False,
            graph=True,
            undirected=undirected if undirected.any() else None,
            vertices=declared,
            extra=self._attributes("edge", self._edge_data),
            texts=self._texts("edge"),
        )

    def _attributes(self, domain: str, data: Sequence[Mapping[str, str]]) -> dict[str, Column]:
        """Column of each attribute, with missing cells where a vertex or edge has it not."""
        names = dict.fromkeys(name for given in data for name in given)
        return {
            name: _typed([given.get(name) for given in data], self.types.get((domain, name)))
            for name in names
        }

    def _texts(self, domain: str) -> frozenset[str]:
        return frozenset(name for (of, name), type in self.types.items() if (of, type) == (domain, "string"))

    def _check(self) -> None:
        for ends, weight, line in zip(self._ends, self._weights, self._lines, strict=True):
            if (weight is None) != (self._weights[0] is None):
                raise DataError(
                    self.file,
                    f"the edge from {ends[0]!r} to {ends[1]!r} has {'no' if weight is None else 'a'} weight, "
                    f"the first edge has {'one' if weight is None else 'none'}",
                    line,
                    hint="give every edge a weight, or none",
                )
            for end in ends:
                if self._vertices and end not in self._vertices:
                    raise DataError(
                        self.file,
                        f"the edge ends at {end!r}, which is no vertex of the file",
                        line,
                        hint="declare the vertex, or take the edge out",
                    )


def _typed(values: Sequence[str | None], type: str | None) -> Column:
    """Column of an attribute; values that are not of its type are left as text, for messages to name them."""
    import pyarrow as pa

    column = _strings(values)
    if type not in _TYPES:
        return column
    try:
        return column.cast(pa.type_for_alias(_TYPES[type]))
    except pa.ArrowInvalid:
        return column


def _strings(values: Sequence[str | None]) -> Column:
    import pyarrow as pa

    return pa.array(values, pa.string())
