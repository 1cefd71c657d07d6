"""Graphs of NetworkX, in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from kgreason.errors import DataError
from kgreason.graph.interchange.foreign import Foreign
from kgreason.graph.interchange.plain import Graph, Plain, plain
from kgreason.graph.model import KnowledgeGraph

if TYPE_CHECKING:
    import networkx as nx


def is_networkx(obj: object) -> bool:
    """Whether an object is a graph of NetworkX, or looks like one."""
    return hasattr(obj, "adjacency") and hasattr(obj, "edges")


def taken(graph: Any) -> Foreign:
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
    return taken(graph).as_graph(relation)


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
