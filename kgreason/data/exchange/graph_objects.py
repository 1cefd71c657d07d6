"""Import and export of graphs as NetworkX, igraph, Arrow, pandas and Polars objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from kgreason.base.arrays import pa, pc
from kgreason.base.errors import CallError, DataError
from kgreason.data.exchange.arrow import array, as_frame, as_polars, in_memory, needed
from kgreason.data.raw_table import Raw
from kgreason.graph.knowledge_graph import GraphTables, KnowledgeGraph, Relation, Tabular, Vertices, Weights

if TYPE_CHECKING:
    import igraph
    import networkx as nx
    import pandas as pd
    import polars as pl


# Export


@dataclass(frozen=True)
class Plain:
    """A graph in a library-independent form.

    Attributes
    ----------
    labels
        Vertex labels.
    vertices
        Vertex attributes by name; lists of n values.
    relations
        Arrow table of the edges of each relation: the labels of both ends, and the edge attributes.
    mutual
        Undirected relations; their tables contain each edge once.
    """

    labels: list[str]
    vertices: Mapping[str, list[Any]]
    relations: Mapping[str, pa.Table]
    mutual: frozenset[str] = frozenset()

    @property
    def directed(self) -> bool:
        """Whether any relation is directed, or there is none."""
        return not self.relations or not self.mutual.issuperset(self.relations)

    def edges(self, name: str) -> pa.Table:
        """Edges of a relation; in a directed graph, undirected edges are listed in both directions."""
        table = self.relations[name]
        if name not in self.mutual or not self.directed:
            return table
        source, target, *values = table.columns
        back = pa.Table.from_arrays([target, source, *values], names=table.column_names)
        return pa.concat_tables([table, back.filter(pc.not_equal(source, target))])


def _plain(graph: Tabular) -> Plain:
    tables = _tables(graph)
    labels = pa.array(graph.labels, pa.string())
    relations = {}
    for name, edges in tables.edges.items():
        ends = {"source": labels.take(pa.array(edges.source)), "target": labels.take(pa.array(edges.target))}
        relations[name] = pa.table({**ends, **{title: pa.array(v) for title, v in edges.carried.items()}})
    mutual = frozenset(name for name, edges in tables.edges.items() if edges.mutual)
    return Plain(graph.labels.tolist(), tables.vertices, relations, mutual)


def _tables(graph: object) -> GraphTables:
    if not callable(getattr(graph, "tables", None)):
        raise CallError(
            f"a graph is a KnowledgeGraph, a PeopleGraph or a LinkGraph, not of type {type(graph).__name__}",
            hint="of a result of anonymize it is result.release.graph",
        )
    return cast(Tabular, graph).tables()


def edges_of(table: pa.Table, predicate: str) -> Plain:
    """Edges from facts: first column to second column; a numeric third column is the weight.

    Raises
    ------
    DataError
        If the facts have fewer than two arguments.
    """
    if table.num_columns < 2:
        raise DataError(
            f"<{predicate}>",
            f"facts of {table.num_columns} argument{'s' * (table.num_columns != 1)} are no edges",
            hint="to_arrow, to_pandas and to_polars take facts of any number of arguments",
        )
    names = list(table.column_names)
    kind = table.schema.types[2] if len(names) > 2 else pa.null()
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        names[2] = "weight"
    ends = [[str(v) for v in column.to_pylist()] for column in table.columns[:2]]
    labels = dict.fromkeys(label for pair in zip(*ends, strict=True) for label in pair)
    columns = [*(pa.array(end, pa.string()) for end in ends), *table.columns[2:]]
    return Plain(list(labels), {}, {predicate: pa.Table.from_arrays(columns, names=names)})


def to_arrow(graph: Tabular, relation: str | None = None) -> pa.Table:
    """Arrow table of one relation (the only one by default), with vertex labels.

    Parameters
    ----------
    relation
        Name of the relation. For a `PeopleGraph` or `LinkGraph` also the name of an attribute: the table then has a
        row for each value of a user. Undirected links are listed once.

    Raises
    ------
    DataError
        If there is no such relation, or there are several and none is named.

    Examples
    --------
    >>> from kgreason import KnowledgeGraph
    >>> to_arrow(KnowledgeGraph.from_edges([("A", "D", 0.6)], relation="own")).to_pylist()
    [{'source': 'A', 'target': 'D', 'weight': 0.6}]
    >>> from kgreason.people import PeopleGraph
    >>> people = PeopleGraph.from_triples(["Ken"], [("Ken", "age", "18")], numeric=["age"])
    >>> to_arrow(people, "age").to_pylist()
    [{'user': 'Ken', 'age': 18.0}]
    """
    tables = _tables(graph)
    chosen = _only({**tables.edges, **tables.values}, relation)
    if chosen in tables.values:
        users, found = tables.values[chosen]
        values = pa.array(found, pa.string() if found.dtype == object else pa.float64())
        columns = [pa.array(graph.labels[users], pa.string()), values]
        return pa.Table.from_arrays(columns, names=["user", chosen])
    table = _plain(graph).relations[chosen]
    return table.rename_columns(list(tables.edges[chosen].columns or table.column_names))


def _only(names: Mapping[str, object], relation: str | None) -> str:
    known = ", ".join(names)
    if relation is not None:
        if relation not in names:
            hint = f"one of {known}" if known else None
            raise DataError("<graph>", f"there is no relation {relation!r}", hint=hint)
        return relation
    if len(names) != 1:
        raise DataError(
            "<graph>",
            f"choose a relation: {known}" if known else "the graph has no relation",
            hint=f"say relation={next(iter(names))!r}" if known else "it holds vertices alone",
        )
    return next(iter(names))


def to_pandas(graph: Tabular, relation: str | None = None) -> pd.DataFrame:
    """`kgreason.to_arrow` as a pandas DataFrame; requires pandas.

    Raises
    ------
    DataError
        If pandas is not installed.

    Examples
    --------
    >>> from kgreason import KnowledgeGraph
    >>> to_pandas(KnowledgeGraph.from_edges([("A", "D", 0.6)], relation="own")).to_dict("records")
    [{'source': 'A', 'target': 'D', 'weight': 0.6}]
    """
    return as_frame(to_arrow(graph, relation))


def to_polars(graph: Tabular, relation: str | None = None) -> pl.DataFrame:
    """`kgreason.to_arrow` as a Polars DataFrame; requires Polars.

    Raises
    ------
    DataError
        If Polars is not installed.

    Examples
    --------
    >>> from kgreason import KnowledgeGraph
    >>> to_polars(KnowledgeGraph.from_edges([("A", "D", 0.6)], relation="own")).rows()
    [('A', 'D', 0.6)]
    """
    return as_polars(to_arrow(graph, relation))


@overload
def to_networkx(graph: KnowledgeGraph) -> nx.MultiDiGraph[str]: ...


@overload
def to_networkx(graph: Tabular) -> nx.MultiGraph[str]: ...


def to_networkx(graph: Tabular) -> nx.MultiGraph[str]:
    """NetworkX graph whose vertices are the labels; edges have attribute ``relation`` and, if present, ``weight``.

    Vertices of a `PeopleGraph` have the list of their values for each attribute; edges of a `LinkGraph` also have
    ``count``. If all relations are undirected, the result is a `networkx.MultiGraph` with each edge once; otherwise a
    `networkx.MultiDiGraph` with undirected edges in both directions.

    Examples
    --------
    >>> nxg = to_networkx(KnowledgeGraph.from_edges([("A", "D", 0.6)], relation="own"))
    >>> list(nxg.edges(data=True))
    [('A', 'D', {'relation': 'own', 'weight': 0.6})]
    """
    return as_networkx(_plain(graph))


def as_networkx(whole: Plain) -> nx.MultiGraph[str]:
    """Convert to a NetworkX graph."""
    import networkx as nx

    result: nx.MultiGraph[str] = nx.MultiDiGraph() if whole.directed else nx.MultiGraph()
    for number, label in enumerate(whole.labels):
        result.add_node(label, **{name: values[number] for name, values in whole.vertices.items()})
    for name in whole.relations:
        table = whole.edges(name)
        titles = table.column_names[2:]
        if clash := next((title for title in titles if title in ("relation", "key")), None):
            raise DataError(
                "<graph>",
                f"edges of {name!r} carry {clash!r}, which NetworkX has another use for",
                hint="call the attribute otherwise",
            )
        result.add_edges_from(
            (source, target, {"relation": name, **dict(zip(titles, values, strict=True))})
            for source, target, *values in zip(*(c.to_pylist() for c in table.columns), strict=True)
        )
    return result


def to_igraph(graph: Tabular) -> igraph.Graph:
    """Graph of igraph; vertices have attribute ``name``, edges ``relation`` and, if present, ``weight``.

    Further attributes and directedness are as for `kgreason.to_networkx`. If only some relations have weights, the
    weights of the others are `None`.

    Raises
    ------
    DataError
        If igraph is not installed.

    Examples
    --------
    >>> made = to_igraph(KnowledgeGraph.from_edges([("A", "D", 0.6)], relation="own"))
    >>> made.vs["name"], made.es["weight"], made.is_directed()
    (['A', 'D'], [0.6], True)
    """
    return as_igraph(_plain(graph))


def as_igraph(whole: Plain) -> igraph.Graph:
    """Convert to a graph of igraph.

    Raises
    ------
    DataError
        If igraph is not installed, or an attribute has a name that igraph reserves.
    """
    library = needed("igraph", "an igraph graph", "to_igraph", "to_networkx does without")
    if "name" in whole.vertices:
        raise DataError(
            "<graph>",
            "users have the attribute 'name', which igraph has another use for",
            hint="call the attribute otherwise, or take to_networkx()",
        )
    number = {label: i for i, label in enumerate(whole.labels)}
    tables = {name: whole.edges(name) for name in whole.relations}
    titles = dict.fromkeys(title for table in tables.values() for title in table.column_names[2:])
    if "relation" in titles:
        raise DataError(
            "<graph>",
            "edges carry 'relation', which stands for their predicate",
            hint="call the attribute otherwise",
        )
    ends: list[tuple[int, int]] = []
    carried: dict[str, list[Any]] = {title: [] for title in ("relation", *titles)}
    for name, table in tables.items():
        source, target = ([number[label] for label in end.to_pylist()] for end in table.columns[:2])
        ends += zip(source, target, strict=True)
        carried["relation"] += [name] * len(table)
        for title in titles:
            there = title in table.column_names
            carried[title] += table[title].to_pylist() if there else [None] * len(table)
    made: igraph.Graph = library.Graph(
        n=len(whole.labels),
        edges=ends,
        directed=whole.directed,
        vertex_attrs={"name": whole.labels, **whole.vertices},
        edge_attrs=carried,
    )
    return made


# Import


@dataclass(frozen=True)
class Foreign:
    """A graph of another library.

    Attributes
    ----------
    labels
        Text of each vertex, unique.
    source, target
        int64 vertex numbers, shape (m,).
    values
        Edge attributes by name; lists of m values, `None` where an edge lacks it.
    directed
        Whether the graph is directed.
    """

    labels: list[str]
    source: Vertices
    target: Vertices
    values: Mapping[str, Sequence[Any]]
    directed: bool

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels):
            twice = Counter(self.labels).most_common(1)[0][0]
            what = f"two vertices of the graph have the same text, {twice!r}"
            raise DataError("<graph>", what, hint="relabel them")

    def as_raw(self, name: str) -> Raw:
        """Source table of the edges whose relation is the predicate that `name` names.

        Raises
        ------
        DataError
            If edges have several relations and none is that one, or only some have a weight.
        """
        rows, wanted = np.arange(len(self.source)), name.strip("<>")
        said = self.values.get("relation", ())
        known = set(said) - {None}
        if wanted in known:
            rows = np.flatnonzero([one in (None, wanted) for one in said])
        elif len(known) > 1:
            raise DataError(
                name,
                f"edges of the graph are of the relations {', '.join(sorted(map(str, known)))}, none of {wanted!r}",
                hint="the edge attribute relation says which predicate an edge is of: name it as the rules do",
            )
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

        Parameters
        ----------
        relation
            Relation name of edges without attribute ``relation``.

        Raises
        ------
        DataError
            If only some edges of a relation have a weight, or a weight is not a number.
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
        every = self.values.get("weight")
        weights = [] if every is None else [every[row] for row in rows.tolist()]
        absent = sum(w is None for w in weights)
        if absent == len(weights):
            return None
        if absent:
            raise DataError(
                file,
                f"{absent} of the {len(rows)} edges {of} have no weight",
                hint="give each edge of a relation a weight, or none",
            )
        return weights


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
        return _taken_networkx(obj)
    return _taken_igraph(obj) if is_igraph(obj) else None


def _taken_networkx(graph: Any) -> Foreign:
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


def _taken_igraph(graph: Any) -> Foreign:
    names = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())
    if any(name is None for name in names):
        raise DataError(
            "<graph>", "some vertices of the graph have no name", hint="name all of them, or none"
        )
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
    return _taken_networkx(graph).as_graph(relation)


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
    return _taken_igraph(graph).as_graph(relation)
