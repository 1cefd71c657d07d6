"""Graphs and tables of other libraries: NetworkX, Arrow, pandas, lists of tuples; in and out."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from kgreason.arrays import as_arrow
from kgreason.engine.symbols import Symbols
from kgreason.engine.table import Codes, Facts, Kind
from kgreason.errors import DataError
from kgreason.graph.io.raw import Column, Raw
from kgreason.graph.io.values import CastError, arrow_column, text
from kgreason.graph.model import KnowledgeGraph, Relation, Weights
from kgreason.lang.values import Null, Value, ordered

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    import pyarrow as pa


def as_table(obj: object) -> tuple[tuple[str, ...], tuple[Column, ...]]:
    """Take a table-like apart into names and Arrow columns.

    Parameters
    ----------
    obj
        A pandas DataFrame, an Arrow Table or RecordBatch, a mapping from names to columns, an iterable
        of rows, or a NetworkX graph (columns source, target and, if its edges have one, weight).

    Raises
    ------
    DataError
        If it is none of these, or its rows differ in length.

    Examples
    --------
    >>> names, columns = as_table([("a", "b", 0.5), ("b", "c", 0.25)])
    >>> names, columns[2].to_pylist()
    (('column1', 'column2', 'column3'), [0.5, 0.25])
    """
    raw = as_raw(obj, "<table>")
    return raw.names, raw.columns


def as_raw(obj: object, name: str) -> Raw:
    """`as_table` as a table to load from; `name` stands for it in messages."""
    import pyarrow as pa

    if isinstance(obj, (pa.Table, pa.RecordBatch)):
        return _raw(name, obj.schema.names, obj.columns)
    if hasattr(obj, "adjacency") and hasattr(obj, "edges"):
        return _from_edges(obj, name)
    if hasattr(obj, "iloc") and hasattr(obj, "columns"):
        return _from_frame(obj, name)
    if isinstance(obj, Mapping):
        return _from_columns(obj, name)
    scalar = isinstance(obj, np.ndarray) and not obj.ndim
    if isinstance(obj, Iterable) and not isinstance(obj, (str, bytes)) and not scalar:
        return _from_rows(list(obj), name)
    raise DataError(
        name,
        f"a value of type {type(obj).__name__} is no table",
        hint="give a file, a pandas DataFrame, an Arrow Table, a NetworkX graph or a list of tuples",
    )


def _raw(name: str, names: Sequence[str], columns: Iterable[Column], *, named: bool = True) -> Raw:
    return Raw(name, tuple(names), tuple(columns), lambda _: None, named=named, memory=True, typed=True)


def _from_frame(frame: Any, name: str) -> Raw:
    import pyarrow as pa

    names = [str(c) for c in frame.columns]
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (ValueError, OverflowError, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        series = [frame.iloc[:, i] for i in range(len(names))]
        cells = [s.astype(object).where(s.notna(), None).tolist() for s in series]
        return _raw(name, names, [_array(name, c, n) for c, n in zip(cells, names, strict=True)])
    return _raw(name, names, table.columns)


def _from_columns(columns: Mapping[Any, Any], name: str) -> Raw:
    for title, values in columns.items():
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            what = f"a column is a list of values, not of type {type(values).__name__}"
            raise DataError(name, what, column=str(title))
    listed = {str(title): list(values) for title, values in columns.items()}
    length = len(next(iter(listed.values()), ()))
    for title, values in listed.items():
        if len(values) != length:
            what = f"{len(values)} values where the first column has {length}"
            raise DataError(name, what, column=title)
    return _raw(name, list(listed), [_array(name, values, title) for title, values in listed.items()])


_FAMILIES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "a truth value"),
    ((int, float, np.number, Decimal), "a number"),
    ((str,), "a string"),
    ((date,), "a date"),
    ((tuple, list), "a list"),
    ((set, frozenset), "a set"),
)
"""Types of Python whose values may stand in one column, and what one of them is."""


def _family(kind: type) -> str | None:
    return next((words for kinds, words in _FAMILIES if issubclass(kind, kinds)), None)


def _check_types(name: str, values: Sequence[object], column: str | None) -> None:
    """Refuse values of different types: a file may mean text by them, a Python program did not."""
    types = set(map(type, values))
    families = {kind: family for kind in types if (family := _family(kind)) is not None}
    if len(set(families.values())) < 2 or Null in types:  # beside nulls the rules, too, mix types
        return
    first = next(family for v in values if (family := families.get(type(v))))
    row, value = next((i, v) for i, v in enumerate(values, 1) if families.get(type(v), first) != first)
    raise DataError(
        name,
        f"row {row}: {reprlib.repr(value)} is {families[type(value)]} where the rows before have {first}",
        column=column,
        hint="a column has values of one type; str(...) makes strings of them",
    )


def _array(name: str, values: Sequence[object], column: str | None = None) -> Column:
    """Column of Python values; those that Arrow has one plain type for are not looked at one by one."""
    import pyarrow as pa

    _check_types(name, values, column)
    try:
        found = pa.array(values)
        tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string)
        if any(test(found.type) for test in tests):
            return found
    except UnicodeEncodeError as error:
        raise DataError(
            name,
            f"{error.object!a} is no Unicode text",
            column=column,
            hint="replace the lone surrogates in it",
        ) from None
    except (pa.ArrowInvalid, TypeError, OverflowError):
        pass  # integers beside doubles, or values that `arrow_column` names
    try:
        return arrow_column(values)
    except CastError as error:
        message = f"row {error.row + 1}: {error.value} is not {error.expected}"
        raise DataError(name, message, column=column, hint=error.hint) from error


def _from_rows(rows: Sequence[object], name: str) -> Raw:
    tuples = [tuple(row) if isinstance(row, (tuple, list, np.ndarray)) else (row,) for row in rows]
    width = len(tuples[0]) if tuples else 0
    for number, row in enumerate(tuples, 1):
        if len(row) != width:
            raise DataError(
                name,
                f"row {number}: {len(row)} values where the first row has {width}",
                hint="give every row as many values",
            )
    columns = [_array(name, column) for column in zip(*tuples, strict=True)]
    return _raw(name, [f"column{i + 1}" for i in range(width)], columns, named=False)


def _from_edges(graph: Any, name: str) -> Raw:
    edges = list(graph.edges(data="weight"))
    weighted = bool(edges) and any(w is not None for _, _, w in edges)
    if weighted and any(w is None for _, _, w in edges):
        raise DataError(
            name,
            "some edges of the graph have a weight and some have none",
            hint="give every edge a weight, or none",
        )
    columns = [_array(name, [str(e[i]) for e in edges]) for i in (0, 1)]
    if weighted:
        columns.append(_array(name, [w for _, _, w in edges]))
    others = {str(a) for _, _, data in graph.edges(data=True) for a in data} - {"relation", "weight"}
    undirected = None if graph.is_directed() else np.ones(len(edges), dtype=bool)
    vertices = _raw(name, ("id",), [_array(name, [str(v) for v in graph.nodes])])
    return Raw(
        name,
        ("source", "target", "weight")[: len(columns)],
        tuple(columns),
        lambda _: None,
        named=False,
        graph=True,
        undirected=undirected,
        vertices=vertices,
        memory=True,
        attributes=tuple(sorted(others)),
    )


def to_networkx(graph: KnowledgeGraph) -> nx.MultiDiGraph[str]:
    """Make a NetworkX graph; vertices are the labels, edges carry ``relation`` and perhaps ``weight``.

    Examples
    --------
    >>> nxg = to_networkx(KnowledgeGraph.from_edges([("A", "D", 0.6)], relation="own"))
    >>> list(nxg.edges(data=True))
    [('A', 'D', {'relation': 'own', 'weight': 0.6})]
    """
    import networkx as nx

    result: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    attributes = {name: values.tolist() for name, values in graph.attributes.items()}
    for number, label in enumerate(graph.labels.tolist()):
        result.add_node(label, **{name: values[number] for name, values in attributes.items()})
    for name, relation in graph.relations.items():
        sources, targets = graph.labels[relation.source].tolist(), graph.labels[relation.target].tolist()
        if relation.weight is None:
            result.add_edges_from((s, t, {"relation": name}) for s, t in zip(sources, targets, strict=True))
        else:
            weights = relation.weight.tolist()
            result.add_edges_from(
                (s, t, {"relation": name, "weight": w})
                for s, t, w in zip(sources, targets, weights, strict=True)
            )
    return result


def from_networkx(graph: nx.Graph[Any], relation: str = "edge") -> KnowledgeGraph:
    """Read a NetworkX graph of any sort; undirected edges run both ways.

    Parameters
    ----------
    relation
        Name of the relation of edges that carry no ``relation``.

    Raises
    ------
    DataError
        If two vertices have the same text, or only some edges of a relation have a weight.
    """
    labels = [str(v) for v in graph.nodes]
    if len(set(labels)) != len(labels):
        raise DataError("<graph>", "two vertices of the graph have the same text", hint="relabel them")
    number = {v: i for i, v in enumerate(graph.nodes)}
    edges: dict[str, list[tuple[int, int, Any]]] = {}
    for source, target, data in graph.edges(data=True):
        ends = (number[source], number[target])
        rows = edges.setdefault(str(data.get("relation", relation)), [])
        rows.append((*ends, data.get("weight")))
        if not graph.is_directed() and ends[0] != ends[1]:
            rows.append((*ends[::-1], data.get("weight")))
    relations = {name: _relation(name, rows) for name, rows in edges.items()}
    relations = relations or {relation: _relation(relation, [])}
    return KnowledgeGraph(np.array(labels, dtype=object), relations).distinct()


def _relation(name: str, rows: Sequence[tuple[int, int, Any]]) -> Relation:
    absent = sum(w is None for _, _, w in rows)
    if 0 < absent < len(rows):
        raise DataError(
            "<graph>",
            f"{absent} of the {len(rows)} edges of {name!r} have no weight",
            hint="give every edge a weight, or none",
        )
    source = np.array([s for s, _, _ in rows], dtype=np.int64)
    target = np.array([t for _, t, _ in rows], dtype=np.int64)
    weight = None if absent or not rows else _weights("<graph>", [w for _, _, w in rows])
    return Relation(source, target, weight)


def _weights(name: str, values: Sequence[Any]) -> Weights:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            name, f"a weight is no number: {error}", hint="weights are numbers in [0,1]"
        ) from error


def to_arrow(graph: KnowledgeGraph, relation: str | None = None) -> pa.Table:
    """Make an Arrow table of one relation (the only one by default), with the labels of the vertices.

    Examples
    --------
    >>> to_arrow(KnowledgeGraph.from_edges([("A", "D", 0.6)], relation="own")).to_pylist()
    [{'source': 'A', 'target': 'D', 'weight': 0.6}]
    """
    import pyarrow as pa

    chosen = _only(graph, relation)
    columns: list[Any] = [pa.array(graph.labels[chosen.source]), pa.array(graph.labels[chosen.target])]
    columns = [c.cast(pa.string()) for c in columns]
    if chosen.weight is not None:
        columns.append(pa.array(chosen.weight))
    return pa.Table.from_arrays(columns, names=list(chosen.columns))


def facts_to_arrow(facts: Facts, predicate: str, names: Sequence[str] | None = None) -> pa.Table:
    """Make an Arrow table of the facts of a predicate, with columns ``c1, c2, ...`` unless named.

    Dates are timestamps of microseconds, lists and sets are lists, sets in order, if their elements are of one type.
    Labelled nulls are strings such as ``_:n1``; a column of values of several types is one of text.

    Examples
    --------
    >>> facts_to_arrow(Facts.from_rows({"own": [("a", "b", 0.6)]}), "own").to_pylist()
    [{'c1': 'a', 'c2': 'b', 'c3': 0.6}]
    """
    import pyarrow as pa

    table = facts.tables[predicate]
    columns = [
        _facts_column(kind, data, facts.symbols)
        for kind, data in zip(table.kinds, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=list(names or (f"c{i + 1}" for i in range(table.arity))))


def _facts_column(kind: Kind, data: Codes, symbols: Symbols) -> Column:
    import pyarrow as pa

    if kind is Kind.STRING:
        return symbols.texts(data).cast(pa.string())
    if kind is Kind.DOUBLE:
        return as_arrow(np.ascontiguousarray(data).view(np.float64))
    if kind is Kind.DATE:
        return as_arrow(np.ascontiguousarray(data).view("datetime64[us]"))
    if kind in (Kind.INT, Kind.BOOL):
        return as_arrow(data.astype(bool) if kind is Kind.BOOL else data)
    used, where = np.unique(data, return_inverse=True)
    return _mixed(symbols.values(used.tolist())).take(as_arrow(where))


def _mixed(values: Sequence[Value]) -> Column:
    """Arrow column of values of any types."""
    import pyarrow as pa

    types = {type(v) for v in values}
    if types and types <= {tuple, frozenset}:
        return _lists(values)
    if types & {tuple, frozenset}:
        return pa.array([text(v) for v in values], pa.string())
    column = arrow_column([_labelled(v) for v in values])
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column


def _labelled(value: Value) -> Value:
    return str(value) if isinstance(value, Null) else value


def _lists(values: Sequence[Any]) -> Column:
    """Arrow column of lists and sets; of text if their elements are of several types."""
    import pyarrow as pa

    lists = [list(map(_labelled, ordered(v) if isinstance(v, frozenset) else v)) for v in values]
    inner = {type(e) for v in lists for e in v}
    if not inner:
        return pa.array(lists, pa.list_(pa.string()))
    if inner == {int, float}:
        return pa.array([[float(text(e)) for e in v] for v in lists])
    if len(inner) == 1 and inner <= {int, float, str, bool, datetime}:
        return pa.array(lists)
    return pa.array([text(v) for v in values], pa.string())


def to_pandas(graph: KnowledgeGraph, relation: str | None = None) -> pd.DataFrame:
    """`to_arrow` as a pandas DataFrame; needs pandas installed.

    Raises
    ------
    DataError
        If it is not.
    """
    return as_frame(to_arrow(graph, relation))


def as_frame(table: pa.Table) -> pd.DataFrame:
    """Make a pandas DataFrame of an Arrow table.

    Raises
    ------
    DataError
        If pandas is not installed, with the command that installs it.
    """
    try:
        frame: pd.DataFrame = table.to_pandas()
    except ModuleNotFoundError:
        what = "a DataFrame needs the package pandas, which is not installed"
        raise DataError("to_pandas", what, hint="pip install pandas; to_arrow does without") from None
    return frame


def _only(graph: KnowledgeGraph, relation: str | None) -> Relation:
    if relation is not None:
        if relation not in graph.relations:
            raise DataError(
                "<graph>", f"there is no relation {relation!r}", hint=f"one of {', '.join(graph.relations)}"
            )
        return graph.relations[relation]
    if len(graph.relations) != 1:
        raise DataError(
            "<graph>", f"choose a relation: {', '.join(graph.relations)}", hint="name one with relation="
        )
    return next(iter(graph.relations.values()))


def from_table(obj: object, relation: str = "edge") -> KnowledgeGraph:
    """Read a table-like (see `as_table`) as a graph: its columns are source, target and perhaps weight.

    Raises
    ------
    DataError
        If it has not two or three columns.
    """
    names, columns = as_table(obj)
    if len(columns) not in (2, 3):
        raise DataError(
            "<table>",
            f"{len(columns)} columns, expected source, target and perhaps weight",
            hint="take out the other columns first",
        )
    ends = [[str(v) for v in column.to_pylist()] for column in columns[:2]]
    number: dict[str, int] = {}
    for label in chain.from_iterable(zip(*ends, strict=True)):
        number.setdefault(label, len(number))
    source, target = (np.array([number[v] for v in end], dtype=np.int64) for end in ends)
    weight = _weights("<table>", columns[2].to_pylist()) if len(columns) == 3 else None
    made = Relation(source, target, weight, names)
    return KnowledgeGraph(np.array(list(number), dtype=object), {relation: made}).distinct()
