"""Facts as import files of Neo4j: relationships, and beside them the nodes at their ends.

References
----------
Neo4j Operations Manual, Import, neo4j-admin database import.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kgreason.arrays import as_arrow, strings
from kgreason.data.vertex_names import vertices_of
from kgreason.engine.table import Codes, Facts, Kind, decode
from kgreason.graph.io.raw import Column
from kgreason.graph.io.values import text
from kgreason.lang.values import Null, Value, ordered
from kgreason.output.fields import pieces, texts
from kgreason.output.target import Target

_TYPES = {
    Kind.INT: "long",
    Kind.DOUBLE: "double",
    Kind.BOOL: "boolean",
    Kind.DATE: "localdatetime",
}
_ARROW = {Kind.INT: "int64", Kind.DOUBLE: "double", Kind.BOOL: "bool"}
_ELEMENTS = {int: "long", float: "double", bool: "boolean", str: "string"}
_ODD = re.compile(r'[:(){}\[\],;"\r\n]')


def write_neo4j(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write relationships with typed properties; of single values, nodes.

    In the names of properties a line stands for the marks of a header.

    Raises
    ------
    DataError
        If a vertex has an empty name.
    """
    table = facts.tables[predicate]
    if table.arity == 1:
        write_nodes(path, facts, predicate, target)
        return
    places = range(2, table.arity)
    properties = [_property(facts, place, names, predicate) for place in places]
    header = [":START_ID", ":END_ID", *(head for head, _ in properties), ":TYPE"]
    type = target.options.get("type", predicate)
    with _Lines(path, header, [_ARROW.get(table.kinds[place], "large_string") for place in places]) as lines:
        for rows in pieces(facts, predicate):
            ends = [texts(k, c[rows], facts) for k, c in zip(table.kinds[:2], table.columns[:2], strict=True)]
            cells = [
                _cells(table.kinds[place], table.columns[place][rows], facts, form)
                for place, (_, form) in zip(places, properties, strict=True)
            ]
            lines.write([*ends, *cells, _same(type, len(ends[0]))])


def write_nodes(path: Path, facts: Facts, predicate: str, target: Target) -> None:
    """Write the vertices of a predicate as nodes with one label.

    Raises
    ------
    DataError
        If one has an empty name.
    """
    found = vertices_of(facts, predicate, target)
    single = len(found.ends) == 1
    label = target.options.get("label", predicate if single else "Vertex")
    with _Lines(path, ["name:ID", ":LABEL"]) as lines:
        lines.write([strings(list(found.names)), _same(label, len(found.names))])


class _Lines:
    """A CSV file under way; of its columns those between the second and the last may be no strings."""

    def __init__(self, path: Path, header: Sequence[str], types: Sequence[str] = ()) -> None:
        import pyarrow as pa
        from pyarrow import csv

        self._stream = path.open("wb")
        self._stream.write((",".join(header) + "\n").encode())
        self._names = [str(i) for i in range(len(header))]
        filled = ("large_string", "large_string", *types, "large_string")[-len(header) :]
        schema = pa.schema(list(zip(self._names, map(pa.type_for_alias, filled), strict=True)))
        options = csv.WriteOptions(include_header=False, quoting_style="needed")
        self._writer: Any = csv.CSVWriter(self._stream, schema, write_options=options)

    def __enter__(self) -> _Lines:
        return self

    def write(self, columns: Sequence[Column]) -> None:
        """Write rows; numbers stand bare, text in quotation marks."""
        import pyarrow as pa

        self._writer.write_table(pa.Table.from_arrays(list(columns), names=self._names))

    def __exit__(self, *_: object) -> None:
        self._writer.close()
        self._stream.close()


def _same(words: str, count: int) -> Column:
    return strings([words]).take(as_arrow(np.zeros(count, dtype=np.int64)))


def _property(
    facts: Facts, place: int, names: Sequence[str], predicate: str
) -> tuple[str, Callable[[Value], str]]:
    """Cell of the header, and what makes a text of a value."""
    name, table = _ODD.sub("_", names[place]), facts.tables[predicate]
    kind, data = table.kinds[place], table.columns[place]
    if kind in (Kind.LIST, Kind.SET, Kind.ANY):
        element = _element(decode(kind, np.unique(data), facts.symbols))
        if element:
            return f"{name}:{element}[]", _array
    return f"{name}:{_TYPES.get(kind, 'string')}", _date if kind is Kind.DATE else text


def _cells(kind: Kind, data: Codes, facts: Facts, form: Callable[[Value], str]) -> Column:
    """Numbers and truth values as they are, all else as text."""
    if kind in _ARROW:
        data = np.ascontiguousarray(data)
        forms = {Kind.DOUBLE: np.float64}
        return as_arrow(data.astype(bool) if kind is Kind.BOOL else data.view(forms.get(kind, np.int64)))
    used, where = np.unique(data, return_inverse=True)
    return strings([form(v) for v in decode(kind, used, facts.symbols)]).take(as_arrow(where.reshape(-1)))


def _element(values: Sequence[Value]) -> str | None:
    """Type of the elements of lists and sets; `None`: the values are others, or Neo4j has no arrays for them."""
    if not values or not all(isinstance(v, tuple | frozenset) and v for v in values):
        return None
    elements = [e for v in values if isinstance(v, tuple | frozenset) for e in v]
    types = {type(e) for e in elements}
    if len(types) != 1 or not types <= set(_ELEMENTS):
        return None
    if any(isinstance(e, str) and (not e or ";" in e) for e in elements):
        return None
    return _ELEMENTS[types.pop()]


def _array(value: Value) -> str:
    elements = ordered(value) if isinstance(value, frozenset) else value
    assert isinstance(elements, tuple | list)
    return ";".join(text(e) for e in elements if not isinstance(e, Null))


def _date(value: Value) -> str:
    return text(value).replace(" ", "T") if " " in text(value) else f"{text(value)}T00:00:00"
