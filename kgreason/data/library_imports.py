"""Tables and graphs of other libraries, and tables of Python values, as sources."""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from kgreason.base.arrays import pa
from kgreason.base.errors import DataError
from kgreason.base.records import record
from kgreason.data.library_exports import to_networkx
from kgreason.data.raw_table import Column, Raw
from kgreason.data.value_conversion import CastError, arrow_column
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices, Weights
from kgreason.language.values import Null

if TYPE_CHECKING:
    import igraph
    import networkx as nx

# methods by which libraries export tables: the Arrow PyCapsule interface, and the older one of DataFrames
INTERFACE = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")
_FAMILIES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "a truth value"),
    ((int, float, np.number, Decimal), "a number"),
    ((str,), "a string"),
    ((date,), "a date"),
    ((tuple, list), "a list"),
    ((set, frozenset), "a set"),
)
"""Types of Python whose values may share a column, and the word for one of them."""


def as_table(obj: object) -> tuple[tuple[str, ...], tuple[Column, ...]]:
    """Column names and Arrow columns of a table-like object; a `DataError` if it is none.

    Parameters
    ----------
    obj
        A DataFrame of pandas or Polars, an Arrow Table or RecordBatch, an object with the Arrow interface
        ``__arrow_c_stream__``, a mapping from names to columns, an iterable of rows, or a graph of NetworkX or igraph
        (columns source, target and, if its edges have one, weight).
    """
    raw = as_raw(obj, "<table>")
    return raw.names, raw.columns


def as_raw(obj: object, name: str) -> Raw:
    """Source table of a table-like object, as `as_table`; `name` identifies it in messages."""
    if hasattr(obj, "sparkSession"):  # its rows may exceed the memory, which kgreason.spark examines
        hint = "call kgreason.spark.reason, or give the table that its toArrow() returns"
        raise DataError(name, "frames of Spark are not read without Spark", hint=hint)
    if (graph := as_foreign(obj)) is not None:
        return graph.as_raw(name)
    if hasattr(obj, "iloc") and hasattr(obj, "columns"):
        return from_frame(obj, name)
    if hasattr(obj, "collect_schema") and hasattr(obj, "collect"):
        what = f"a {type(obj).__name__} has no rows yet"
        raise DataError(name, what, hint="give the frame that its collect() returns")
    if has_interface(obj):
        return from_arrow(obj, name)
    if isinstance(obj, np.ndarray) and obj.dtype.names:
        return _from_columns({title: obj[title] for title in obj.dtype.names}, name)
    if hasattr(obj, "tocoo"):
        hint = "networkx.from_scipy_sparse_array(matrix, create_using=networkx.DiGraph) makes a graph of it"
        raise DataError(name, "a matrix of SciPy is no table", hint=hint)
    if isinstance(obj, Mapping):
        return _from_columns(obj, name)
    scalar = isinstance(obj, np.ndarray) and not obj.ndim
    if isinstance(obj, Iterable) and not isinstance(obj, (str, bytes)) and not scalar:
        return _from_rows(list(obj), name)
    hint = "give a file, a DataFrame of pandas or Polars, an Arrow Table, a graph of NetworkX or igraph"
    what = f"a value of type {type(obj).__name__} is no table"
    raise DataError(name, what, hint=f"{hint}, or a list of tuples")


def is_table(obj: object) -> bool:
    """Whether an object is a table or graph of another library, and therefore not a list of them."""
    frame = hasattr(obj, "columns") or has_interface(obj)
    return frame or is_networkx(obj) or is_igraph(obj)


def has_interface(obj: object) -> bool:
    """Whether an object implements one of the table interfaces."""
    return any(hasattr(obj, name) for name in INTERFACE)


def from_arrow(obj: Any, name: str) -> Raw:
    """Table from an Arrow Table or RecordBatch, or an object that exports one."""
    if isinstance(obj, pa.RecordBatch):
        obj = pa.Table.from_batches([obj])
    table = obj if isinstance(obj, pa.Table) else _exported(obj, name)
    check_types(name, table.schema)
    return in_memory(name, table.column_names, map(_without_dictionary, table.columns))


def from_frame(frame: Any, name: str) -> Raw:
    """Table from a DataFrame; its index is not a column."""
    names = [str(c) for c in frame.columns]
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (TypeError, ValueError, OverflowError, pa.ArrowNotImplementedError):  # also for sparse columns
        series = [frame.iloc[:, i] for i in range(len(names))]
        cells = [s.astype(object).where(s.notna(), None).tolist() for s in series]
        return in_memory(name, names, [array(name, c, n) for c, n in zip(cells, names, strict=True)])
    check_types(name, table.schema)
    return in_memory(name, names, table.columns)


def check_types(name: str, schema: pa.Schema) -> None:
    """Reject library-specific types, whose stored values, such as period ordinals, are not the values."""
    for field in schema:
        if isinstance(field.type, pa.BaseExtensionType):
            kind = field.type.extension_name.removeprefix("pandas.")
            what = f"values of the type {kind} are none of the rules"
            hint = f"df[{field.name!r}].astype(str) makes strings of them"
            raise DataError(name, what, column=field.name, hint=hint)


def _exported(obj: Any, name: str) -> pa.Table:
    try:
        if not any(hasattr(obj, capsule) for capsule in INTERFACE[:2]):
            from pyarrow.interchange import from_dataframe

            return from_dataframe(obj)
        return pa.table(obj)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError, NotImplementedError):
        try:  # a single column
            column = pa.chunked_array(obj)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError, ValueError) as error:
            what = f"a value of type {type(obj).__name__} hands over no table: {error}"
            raise DataError(name, what, hint="give an Arrow Table of it") from error
    return pa.table([column], names=["column1"])


def _without_dictionary(column: Column) -> Column:
    """Decode dictionary columns; Arrow cannot decode those of string views."""
    if not pa.types.is_dictionary(column.type):
        return column
    kind = column.type.value_type
    kind = pa.large_string() if pa.types.is_string_view(kind) else kind
    return pa.chunked_array([c.dictionary.cast(kind).take(c.indices) for c in column.chunks], kind)


def _from_columns(columns: Mapping[Any, Any], name: str) -> Raw:
    for title, values in columns.items():
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            what = f"a column is a list of values, not of type {type(values).__name__}"
            raise DataError(name, what, column=str(title), hint="give a list, or an array")
    listed = {str(title): list(values) for title, values in columns.items()}
    length = len(next(iter(listed.values()), ()))
    for title, values in listed.items():
        if len(values) != length:
            what = f"{len(values)} values where the first column has {length}"
            raise DataError(name, what, column=title, hint="give all columns the same length")
    return in_memory(name, list(listed), [array(name, values, title) for title, values in listed.items()])


def _from_rows(rows: Sequence[object], name: str) -> Raw:
    """Table from rows; a value that is not a row is a row with one column."""
    for number, row in enumerate(rows, 1):
        if isinstance(row, Mapping):
            what = f"row {number} is a mapping"
            raise DataError(name, what, hint="pandas.DataFrame(rows) makes a table of such rows")
    tuples = [tuple(row) if isinstance(row, (tuple, list, np.ndarray)) else (row,) for row in rows]
    width = len(tuples[0]) if tuples else 0
    for number, row in enumerate(tuples, 1):
        if len(row) != width:
            what = f"row {number}: {len(row)} values where the first row has {width}"
            raise DataError(name, what, hint="give each row a value for each column; None is a missing one")
    columns = [array(name, column) for column in zip(*tuples, strict=True)]
    return in_memory(name, [f"column{i + 1}" for i in range(width)], columns, named=False)


def in_memory(name: str, names: Sequence[str], columns: Iterable[Column], *, named: bool = True) -> Raw:
    """Table of in-memory columns."""
    return Raw(name, tuple(names), tuple(columns), lambda _: None, named=named, memory=True, typed=True)


def array(name: str, values: Sequence[object], column: str | None = None) -> Column:
    """Column of Python values; values with one plain Arrow type are not inspected individually."""
    _check_one_type(name, values, column)
    try:
        found = pa.array(values)
        tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string)
        if any(test(found.type) for test in tests):
            return found
    except UnicodeEncodeError as error:
        what = f"{error.object!a} is no Unicode text"
        raise DataError(name, what, column=column, hint="replace the lone surrogates in it") from None
    except (pa.ArrowInvalid, TypeError, OverflowError):
        pass  # mixed integers and doubles, or values that `arrow_column` reports
    try:
        return arrow_column(values)
    except CastError as error:
        message = f"row {error.row + 1}: {error.value} is not {error.expected}"
        raise DataError(name, message, column=column, hint=error.hint) from error


def _check_one_type(name: str, values: Sequence[object], column: str | None) -> None:
    """Reject values of different types: in a file they may be meant as text, in a Python program not."""
    types = set(map(type, values))
    families = {
        kind: words for kind in types for kinds, words in reversed(_FAMILIES) if issubclass(kind, kinds)
    }
    if len(set(families.values())) < 2 or Null in types:  # next to labelled nulls the rules also mix types
        return
    first = next(family for v in values if (family := families.get(type(v))))
    row, value = next((i, v) for i, v in enumerate(values, 1) if families.get(type(v), first) != first)
    what = f"row {row}: {reprlib.repr(value)} is {families[type(value)]} where the rows before have {first}"
    hint = "a column has values of one type; str(...) makes strings of them"
    raise DataError(name, what, column=column, hint=hint)


@record
class Foreign:
    """A graph of another library."""

    labels: list[str]  # text of each vertex, unique
    source: Vertices  # int64, shape (m,)
    target: Vertices
    # edge attributes by name; lists of m values, `None` where an edge lacks it
    values: Mapping[str, Sequence[Any]]
    directed: bool  # whether the graph is directed

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels):
            twice = Counter(self.labels).most_common(1)[0][0]
            what = f"two vertices of the graph have the same text, {twice!r}"
            raise DataError("<graph>", what, hint="relabel them")

    def as_raw(self, name: str) -> Raw:
        """Source table of the edges whose relation is the predicate that `name` names."""
        rows, wanted = np.arange(len(self.source)), name.strip("<>")
        relations = self.values.get("relation", ())
        known = set(relations) - {None}
        if wanted in known:
            rows = np.flatnonzero([relation in (None, wanted) for relation in relations])
        elif len(known) > 1:
            what = f"edges of the graph are of the relations {', '.join(sorted(map(str, known)))}, none of {wanted!r}"
            hint = "the edge attribute relation says which predicate an edge is of: name it as the rules do"
            raise DataError(name, what, hint=hint)
        weights = self._weights(rows, name, "of the graph")
        labels = np.array(self.labels, dtype=object)
        columns = [array(name, labels[end[rows]].tolist()) for end in (self.source, self.target)]
        columns += [] if weights is None else [array(name, weights)]
        return Raw(
            name,
            ("source", "target", "weight")[: len(columns)],
            tuple(columns),
            lambda _: None,
            named=False,
            graph=True,
            undirected=None if self.directed else np.ones(len(rows), dtype=bool),
            vertices=in_memory(name, ("id",), [array(name, self.labels)]),
            memory=True,
            attributes=tuple(sorted(self.values.keys() - {"relation", "weight"})),
        )

    def as_graph(self, relation: str) -> KnowledgeGraph:
        """Convert to a knowledge graph; undirected edges become edges in both directions.

        `relation` is that of edges without the attribute ``relation``.
        """
        names = self.values.get("relation") or [None] * len(self.source)
        rows: dict[str, list[int]] = {} if names else {relation: []}
        for row, name in enumerate(names):
            rows.setdefault(relation if name is None else str(name), []).append(row)
        found = {name: self._relation(name, np.array(some, dtype=np.int64)) for name, some in rows.items()}
        return KnowledgeGraph(np.array(self.labels, dtype=object), found).distinct()

    def _relation(self, name: str, rows: Vertices) -> Relation:
        weights = self._weights(rows, "<graph>", f"of {name!r}")
        weight = None if weights is None else _numbers(weights)
        source, target = self.source[rows], self.target[rows]
        if not self.directed:
            back = source != target
            source, target = np.concatenate([source, target[back]]), np.concatenate([target, source[back]])
            weight = None if weight is None else np.concatenate([weight, weight[back]])
        return Relation(source, target, weight)

    def _weights(self, rows: Vertices, file: str, of: str) -> list[Any] | None:
        """Weights of some edges; `None` if none of them has one."""
        every = self.values.get("weight") or [None] * len(self.source)
        weights = [every[row] for row in rows.tolist()]
        absent = sum(weight is None for weight in weights)
        if 0 < absent < len(weights):
            what = f"{absent} of the {len(rows)} edges {of} have no weight"
            raise DataError(file, what, hint="give each edge of a relation a weight, or none")
        return None if absent == len(weights) else weights


def _numbers(values: Sequence[Any]) -> Weights:
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        what = f"a weight is no number: {error}"
        raise DataError("<graph>", what, hint="make the attribute weight a number") from error
    if not np.isfinite(found).all():
        row = int(np.argmin(np.isfinite(found)))
        what = f"a weight is no number: that of edge {row + 1} is {values[row]!r}"
        raise DataError("<graph>", what, hint="give the edge a weight, or take it out")
    return found


def is_networkx(obj: object) -> bool:
    """Whether an object is, or looks like, a NetworkX graph."""
    return hasattr(obj, "adjacency") and hasattr(obj, "edges")


def is_igraph(obj: object) -> bool:
    """Whether an object is, or looks like, a graph of igraph."""
    return hasattr(obj, "get_edgelist") and hasattr(obj, "vs") and hasattr(obj, "es")


def as_foreign(obj: Any) -> Foreign | None:
    """Convert a graph of another library or of kgreason; `None` if the object is neither."""
    if isinstance(obj, KnowledgeGraph):
        obj = to_networkx(obj)
    if is_networkx(obj):
        return _of_networkx(obj)
    return _of_igraph(obj) if is_igraph(obj) else None


def _of_networkx(graph: Any) -> Foreign:
    number = {v: i for i, v in enumerate(graph.nodes)}
    edges = list(graph.edges(data=True))
    names = dict.fromkeys(str(name) for _, _, data in edges for name in data)
    return Foreign(
        [str(v) for v in graph.nodes],
        np.array([number[s] for s, _, _ in edges], dtype=np.int64),
        np.array([number[t] for _, t, _ in edges], dtype=np.int64),
        {name: [data.get(name) for _, _, data in edges] for name in names},
        bool(graph.is_directed()),
    )


def _of_igraph(graph: Any) -> Foreign:
    names = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())
    if any(name is None for name in names):
        what = "some vertices of the graph have no name"
        raise DataError("<graph>", what, hint="name all of them, or none")
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    carried = {name: graph.es[name] for name in graph.es.attributes()}
    labels = [str(name) for name in names]
    return Foreign(labels, ends[:, 0].copy(), ends[:, 1].copy(), carried, bool(graph.is_directed()))


def from_networkx(graph: nx.Graph[Any], relation: str = "edge") -> KnowledgeGraph:
    """Knowledge graph from a NetworkX graph of any type; undirected edges become edges in both directions.

    Vertex labels are the text of the nodes. Of the edge attributes only ``relation`` and ``weight`` are read, and no
    node attributes: a release must not contain them.

    Parameters
    ----------
    relation
        Relation name of edges without attribute ``relation``.

    Raises
    ------
    DataError
        If two nodes have the same text, or only some edges of a relation have a weight.
    """
    return _of_networkx(graph).as_graph(relation)


def from_igraph(graph: igraph.Graph, relation: str = "edge") -> KnowledgeGraph:
    """Knowledge graph from a graph of igraph; undirected edges become edges in both directions.

    Vertex labels are the attribute ``name``, else the indices. Of the edge attributes only ``relation`` and ``weight``
    are read: a release must not contain others.

    Parameters
    ----------
    relation
        Relation name of edges without attribute ``relation``.

    Raises
    ------
    DataError
        If two vertices have the same name, or only some edges of a relation have a weight.

    Examples
    --------
    >>> import igraph
    >>> from_igraph(igraph.Graph([(0, 1), (1, 2)], directed=True), relation="own")
    <KnowledgeGraph with 3 vertices; own: 2 edges>
    """
    return _of_igraph(graph).as_graph(relation)
