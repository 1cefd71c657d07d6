"""Graphs of NetworkX and of igraph, in and out."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from kgreason.data.interchange.arrow import needed
from kgreason.data.interchange.foreign import Foreign
from kgreason.data.interchange.plain import Graph, Plain, plain
from kgreason.errors import DataError
from kgreason.graph.model import KnowledgeGraph

if TYPE_CHECKING:
    import igraph
    import networkx as nx


def is_networkx(obj: object) -> bool:
    """Whether an object is a graph of NetworkX, or looks like one."""
    return hasattr(obj, "adjacency") and hasattr(obj, "edges")


def taken_networkx(graph: Any) -> Foreign:
    """Take a NetworkX graph of any sort apart.

    Raises
    ------
    DataError
        If two vertices have the same text.
    """
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


def from_networkx(graph: nx.Graph[Any], relation: str = "edge") -> KnowledgeGraph:
    """Read a NetworkX graph of any sort; undirected edges run both ways.

    Vertices are named by the text of the nodes. Edges may carry ``relation`` and ``weight``; nothing else is read, nor
    what nodes carry: a release must not show it.

    Parameters
    ----------
    relation
        Name of the relation of edges that carry no ``relation``.

    Raises
    ------
    DataError
        If two vertices have the same text, or only some edges of a relation have a weight.
    """
    return taken_networkx(graph).as_graph(relation)


@overload
def to_networkx(graph: KnowledgeGraph) -> nx.MultiDiGraph[str]: ...


@overload
def to_networkx(graph: Graph) -> nx.MultiGraph[str]: ...


def to_networkx(graph: Graph) -> nx.MultiGraph[str]:
    """Make a NetworkX graph; vertices are the labels, edges carry ``relation`` and perhaps ``weight``.

    Of a `kgreason.PeopleGraph` vertices carry the list of their values of each attribute; of a `kgreason.LinkGraph`
    edges carry ``count``, too. Where all relations run both ways, it is a `networkx.MultiGraph` with each edge once;
    else a `networkx.MultiDiGraph`, in which they stand in both directions.

    Examples
    --------
    >>> nxg = to_networkx(KnowledgeGraph.from_edges([("A", "D", 0.6)], relation="own"))
    >>> list(nxg.edges(data=True))
    [('A', 'D', {'relation': 'own', 'weight': 0.6})]
    """
    return as_networkx(plain(graph))


def as_networkx(whole: Plain) -> nx.MultiGraph[str]:
    """Put a graph together in NetworkX."""
    import networkx as nx

    result: nx.MultiGraph[str] = nx.MultiDiGraph() if whole.directed else nx.MultiGraph()
    for number, label in enumerate(whole.labels):
        result.add_node(label, **{name: values[number] for name, values in whole.vertices.items()})
    for name in whole.relations:
        source, target, values = whole.ends(name)
        if any(title in ("relation", "key") for title in values):
            clash = next(title for title in values if title in ("relation", "key"))
            raise DataError(
                "<graph>",
                f"edges of {name!r} carry {clash!r}, which NetworkX has another use for",
                hint="call the attribute otherwise",
            )
        titles, columns = list(values), list(values.values())
        result.add_edges_from(
            (whole.labels[s], whole.labels[t], {"relation": name, **dict(zip(titles, row, strict=True))})
            for s, t, *row in zip(source, target, *columns, strict=True)
        )
    return result


def is_igraph(obj: object) -> bool:
    """Whether an object is a graph of igraph, or looks like one."""
    return hasattr(obj, "get_edgelist") and hasattr(obj, "vs") and hasattr(obj, "es")


def taken_igraph(graph: Any) -> Foreign:
    """Take an igraph graph apart; without the vertex attribute ``name`` vertices are named by their indices.

    Raises
    ------
    DataError
        If two vertices have the same name, or only some have one.
    """
    names = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())
    if any(name is None for name in names):
        raise DataError(
            "<graph>", "some vertices of the graph have no name", hint="name all of them, or none"
        )
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    return Foreign(
        [str(name) for name in names],
        ends[:, 0].copy(),
        ends[:, 1].copy(),
        {name: graph.es[name] for name in graph.es.attributes()},
        bool(graph.is_directed()),
    )


def from_igraph(graph: igraph.Graph, relation: str = "edge") -> KnowledgeGraph:
    """Read a graph of igraph; undirected edges run both ways.

    Vertices are named by their attribute ``name``, else by their indices. Edges may carry ``relation`` and ``weight``;
    nothing else is read: a release must not show it.

    Parameters
    ----------
    relation
        Name of the relation of edges that carry no ``relation``.

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
    return taken_igraph(graph).as_graph(relation)


def to_igraph(graph: Graph) -> igraph.Graph:
    """Make a graph of igraph; vertices carry ``name``, edges ``relation`` and perhaps ``weight``.

    What else vertices and edges carry, and which graphs have directions: as for `kgreason.to_networkx`. Where only some
    relations have weights, the others have `None`.

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
    return as_igraph(plain(graph))


def as_igraph(whole: Plain) -> igraph.Graph:
    """Put a graph together in igraph.

    Raises
    ------
    DataError
        If igraph is not installed, or the graph has a vertex attribute of a name that igraph has another use for.
    """
    library = needed("igraph", "an igraph graph", "to_igraph", "to_networkx does without")
    if "name" in whole.vertices:
        raise DataError(
            "<graph>",
            "users have the attribute 'name', which igraph has another use for",
            hint="call the attribute otherwise, or take to_networkx()",
        )
    parts = {name: whole.ends(name) for name in whole.relations}
    ends = [pair for source, target, _ in parts.values() for pair in zip(source, target, strict=True)]
    titles = dict.fromkeys(title for _, _, values in parts.values() for title in values)
    if "relation" in titles:
        raise DataError(
            "<graph>",
            "edges carry 'relation', which stands for their predicate",
            hint="call the attribute otherwise",
        )
    carried = {
        title: list(chain.from_iterable(v.get(title, [None] * len(s)) for s, _, v in parts.values()))
        for title in titles
    }
    of = list(chain.from_iterable([name] * len(s) for name, (s, _, _) in parts.items()))
    made: igraph.Graph = library.Graph(
        n=len(whole.labels),
        edges=ends,
        directed=whole.directed,
        vertex_attrs={"name": whole.labels, **whole.vertices},
        edge_attrs={"relation": of, **carried},
    )
    return made
