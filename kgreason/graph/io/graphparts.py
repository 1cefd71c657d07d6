"""Vertices and edges as a reader of a graph format finds them, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason import memory
from kgreason.arrays import as_numpy
from kgreason.errors import DataError
from kgreason.graph.io.gathered import PIECE
from kgreason.graph.io.raw import Column, Raw

_TYPES = {
    **dict.fromkeys(("int", "long"), "int64"),
    **dict.fromkeys(("float", "double"), "double"),
    "boolean": "bool",
}
_DEFAULT, _UNDIRECTED = -1, 1


class Numbers:
    """Integers that come one by one, as those of lines do.

    Examples
    --------
    >>> lines = Numbers()
    >>> lines.append(3); lines.append(5)
    >>> lines[1], len(lines)
    (5, 2)
    """

    def __init__(self, dtype: npt.DTypeLike = np.int64) -> None:
        self._dtype = np.dtype(dtype)
        self._pieces: list[npt.NDArray[np.integer[Any]]] = []
        self._last: list[int] = []

    def __len__(self) -> int:
        return sum(map(len, self._pieces)) + len(self._last)

    def __getitem__(self, row: int) -> int:
        return int(self.whole()[row])

    def append(self, number: int) -> None:
        """Add one."""
        self._last.append(number)
        if len(self._last) == PIECE:
            self._flush()

    def whole(self) -> npt.NDArray[np.integer[Any]]:
        """All of them."""
        self._flush()
        if len(self._pieces) != 1:
            self._pieces = [np.concatenate([np.empty(0, dtype=self._dtype), *self._pieces])]
        return self._pieces[0]

    def _flush(self) -> None:
        if self._last:
            self._pieces.append(np.array(self._last, dtype=self._dtype))
            self._last = []


class Texts:
    """Strings, or missing cells, that come one by one; an attribute of things of which not all have it."""

    def __init__(self) -> None:
        self._pieces: list[Column] = []
        self._last: list[str | None] = []
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def append(self, cell: str | None) -> None:
        """Add one."""
        self._last.append(cell)
        self._rows += 1
        if len(self._last) >= PIECE:
            self._flush()

    def pad(self, rows: int) -> None:
        """Add missing cells up to a number of rows."""
        import pyarrow as pa

        if rows - self._rows < PIECE:
            self._last += [None] * (rows - self._rows)
        else:
            self._flush()
            self._pieces.append(pa.nulls(rows - self._rows, pa.string()))
        self._rows = max(rows, self._rows)

    def whole(self) -> Column:
        """The column."""
        import pyarrow as pa

        self._flush()
        return pa.chunked_array(self._pieces, pa.string())

    def _flush(self) -> None:
        import pyarrow as pa

        if self._last:
            memory.claim(sum(len(cell) for cell in self._last if cell))  # a default may stand for all of them
            self._pieces.append(pa.array(self._last, pa.string()))
            self._last = []


class Parts:
    """Collects the declared vertices and the edges of one file, as Arrow columns."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._ids, self._labels, self._vertex_lines = Texts(), Texts(), Numbers()
        self._sources, self._targets, self._weights = Texts(), Texts(), Texts()
        self._undirected, self._lines = Numbers(np.int8), Numbers()
        self._data: dict[str, dict[str, Texts]] = {"node": {}, "edge": {}}
        self.types: dict[tuple[str, str], str] = {}
        """Type of an attribute, ``node`` or ``edge`` and its name; those that are missing show in the values."""

    def vertex(self, name: str, label: str, line: int, data: Mapping[str, str] | None = None) -> None:
        """Declare a vertex."""
        self._ids.append(name)
        self._labels.append(label)
        self._vertex_lines.append(line)
        if data:
            self._attach("node", len(self._ids) - 1, data)

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
        self._sources.append(source)
        self._targets.append(target)
        self._weights.append(weight)
        self._undirected.append(_DEFAULT if undirected is None else int(undirected))
        self._lines.append(line)
        if data:
            self._attach("edge", len(self._sources) - 1, data)

    def _attach(self, domain: str, row: int, data: Mapping[str, str]) -> None:
        columns = self._data[domain]
        for name, value in data.items():
            column = columns.get(name)
            if column is None:
                column = columns[name] = Texts()
            if len(column) < row:
                column.pad(row)
            column.append(value)

    def raw(self, *, undirected_by_default: bool) -> Raw:
        """Make the table of edges, with that of the vertices beside it.

        Raises
        ------
        DataError
            If a vertex is declared twice, only some edges have a weight, or an edge ends at a vertex that is not
            declared.
        """
        ids, ends, weights = (
            self._ids.whole(),
            (self._sources.whole(), self._targets.whole()),
            self._weights.whole(),
        )
        self._check_vertices(ids)
        self._check_edges(ids, ends, weights)
        columns = [*ends]
        if len(weights) and not weights.null_count:
            columns.append(_typed(weights, self.types.get(("edge", "weight"))))
        said = self._undirected.whole()
        undirected = np.where(said == _DEFAULT, undirected_by_default, said == _UNDIRECTED)
        lines, vertex_lines = self._lines.whole(), self._vertex_lines.whole()
        declared = Raw(
            self.file,
            ("id", "label"),
            (ids.combine_chunks(), self._labels.whole().combine_chunks()),
            lambda row: int(vertex_lines[row]),
            extra={
                name: column.combine_chunks() for name, column in self._attributes("node", len(ids)).items()
            },
            texts=self._texts("node"),
        )
        return Raw(
            self.file,
            ("source", "target", "weight")[: len(columns)],
            tuple(columns),
            lambda row: int(lines[row]),
            named=False,
            graph=True,
            undirected=undirected if undirected.any() else None,
            vertices=declared,
            extra=self._attributes("edge", len(lines)),
            texts=self._texts("edge"),
        )

    def _attributes(self, domain: str, rows: int) -> dict[str, Column]:
        """Column of each attribute, with missing cells where a vertex or edge has it not."""
        found = {}
        for name, column in self._data[domain].items():
            column.pad(rows)
            found[name] = _typed(column.whole(), self.types.get((domain, name)))
        return found

    def _texts(self, domain: str) -> frozenset[str]:
        return frozenset(name for (of, name), type in self.types.items() if (of, type) == (domain, "string"))

    def _check_vertices(self, ids: Column) -> None:
        if len(ids.unique()) == len(ids):
            return
        lines, first = self._vertex_lines.whole(), dict[str, int]()
        for name, line in zip(ids.to_pylist(), lines.tolist(), strict=True):
            if name in first:
                raise DataError(
                    self.file,
                    f"vertex {name!r} is declared again, first in line {first[name]}",
                    line,
                    hint="take one of the two out, or give it another id",
                )
            first[name] = line

    def _check_edges(self, ids: Column, ends: tuple[Column, Column], weights: Column) -> None:
        """Report the first edge with a fault."""
        import pyarrow.compute as pc

        faults: list[tuple[int, int]] = []
        if 0 < weights.null_count < len(weights):
            faults.append((_first(weights.is_null() if weights[0].is_valid else weights.is_valid()), 0))
        known = ids.combine_chunks()
        for place, column in enumerate(ends, 1):
            there = pc.is_in(column, value_set=known) if len(known) else None
            if there is not None and not pc.all(there, min_count=0).as_py():
                faults.append((_first(pc.invert(there)), place))
        if not faults:
            return
        row, place = min(faults)
        source, target = (column[row].as_py() for column in ends)
        line = int(self._lines.whole()[row])
        if place:
            message = f"the edge ends at {(source, target)[place - 1]!r}, which is no vertex of the file"
            raise DataError(self.file, message, line, hint="declare the vertex, or take the edge out")
        own, first = ("no", "one") if weights[0].is_valid else ("a", "none")
        raise DataError(
            self.file,
            f"the edge from {source!r} to {target!r} has {own} weight, the first edge has {first}",
            line,
            hint="give every edge a weight, or none",
        )


def _first(mask: Column) -> int:
    """First row of a column of truth values that is true."""
    return int(np.argmax(np.concatenate([as_numpy(chunk) for chunk in mask.chunks])))


def _typed(column: Column, type: str | None) -> Column:
    """Column of an attribute; values that are not of its type are left as text, for messages to name them."""
    import pyarrow as pa

    if type not in _TYPES:
        return column
    try:
        return column.cast(pa.type_for_alias(_TYPES[type]))
    except pa.ArrowInvalid:
        return column
