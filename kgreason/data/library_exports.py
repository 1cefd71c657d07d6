"""Export of graphs and facts as Arrow, pandas, Polars, NetworkX and igraph objects."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast, overload

from kgreason.base.arrays import pa, pc
from kgreason.base.errors import CallError, DataError
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import GraphTables, KnowledgeGraph, Tabular

if TYPE_CHECKING:
    import igraph
    import networkx as nx
    import pandas as pd
    import polars as pl


def as_frame(table: pa.Table) -> pd.DataFrame:
    """Convert an Arrow table to a pandas DataFrame; a `DataError` without pandas."""
    needed("pandas", "a DataFrame", "to_pandas", "to_arrow does without")
    frame: pd.DataFrame = table.to_pandas()
    return frame


def as_polars(table: pa.Table) -> pl.DataFrame:
    """Convert an Arrow table to a Polars DataFrame; a `DataError` without Polars."""
    library = needed("polars", "a Polars DataFrame", "to_polars", "to_arrow does without")
    frame: pl.DataFrame = library.from_arrow(table)
    return frame


def needed(package: str, what: str, function: str, instead: str) -> Any:
    """Import an optional package; without it a `DataError` says which result `what` of which `function` needs it."""
    try:
        return import_module(package)
    except ModuleNotFoundError:
        message = f"{what} needs the package {package}, which is not installed"
        raise DataError(function, message, hint=f"pip install {package}; {instead}") from None


@record
class Plain:
    """A graph in a library-independent form.

    `vertices` are lists of n values by attribute; `relations` tables of the labels of both ends and the attributes of
    edges; `mutual` the undirected relations, whose tables contain each edge once.
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
        kind = type(graph).__name__
        what = f"a graph is a KnowledgeGraph, a PeopleGraph or a LinkGraph, not of type {kind}"
        raise CallError(what, hint="of a result of anonymize it is result.release.graph")
    return cast(Tabular, graph).tables()


def edges_of(table: pa.Table, predicate: str) -> Plain:
    """Edges from facts: first column to second column; a numeric third column is the weight."""
    if table.num_columns < 2:
        what = f"facts of {table.num_columns} argument{'s' * (table.num_columns != 1)} are no edges"
        hint = "to_arrow, to_pandas and to_polars take facts of any number of arguments"
        raise DataError(f"<{predicate}>", what, hint=hint)
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
        what = f"choose a relation: {known}" if known else "the graph has no relation"
        hint = f"say relation={next(iter(names))!r}" if known else "it holds vertices alone"
        raise DataError("<graph>", what, hint=hint)
    return next(iter(names))


def to_pandas(graph: Tabular, relation: str | None = None) -> pd.DataFrame:
    """`kgreason.to_arrow` as a pandas DataFrame; requires pandas."""
    return as_frame(to_arrow(graph, relation))


def to_polars(graph: Tabular, relation: str | None = None) -> pl.DataFrame:
    """`kgreason.to_arrow` as a Polars DataFrame; requires Polars."""
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
            what = f"edges of {name!r} carry {clash!r}, which NetworkX has another use for"
            raise DataError("<graph>", what, hint="call the attribute otherwise")
        result.add_edges_from(
            (source, target, {"relation": name, **dict(zip(titles, values, strict=True))})
            for source, target, *values in zip(*(c.to_pylist() for c in table.columns), strict=True)
        )
    return result


def to_igraph(graph: Tabular) -> igraph.Graph:
    """Graph of igraph; vertices have attribute ``name``, edges ``relation`` and, if present, ``weight``.

    Further attributes and directedness are as for `kgreason.to_networkx`. If only some relations have weights, the
    weights of the others are `None`.

    Examples
    --------
    >>> made = to_igraph(KnowledgeGraph.from_edges([("A", "D", 0.6)], relation="own"))
    >>> made.vs["name"], made.es["weight"], made.is_directed()
    (['A', 'D'], [0.6], True)
    """
    return as_igraph(_plain(graph))


def as_igraph(whole: Plain) -> igraph.Graph:
    """Convert to a graph of igraph."""
    library = needed("igraph", "an igraph graph", "to_igraph", "to_networkx does without")
    if "name" in whole.vertices:
        what = "users have the attribute 'name', which igraph has another use for"
        raise DataError("<graph>", what, hint="call the attribute otherwise, or take to_networkx()")
    number = {label: i for i, label in enumerate(whole.labels)}
    tables = {name: whole.edges(name) for name in whole.relations}
    titles = dict.fromkeys(title for table in tables.values() for title in table.column_names[2:])
    if "relation" in titles:
        what = "edges carry 'relation', which names their predicate"
        raise DataError("<graph>", what, hint="call the attribute otherwise")
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
