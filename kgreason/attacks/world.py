"""What an attacker works with: a graph that he knows, a release, and the truth by which he is judged."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kgreason.graph.model import KnowledgeGraph, Relation
from kgreason.graph.parts import beside

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class World:
    """One run of an attack.

    Attributes
    ----------
    known
        The graph of which the attacker knows something.
    released
        The graph in which he looks for it.
    truth
        Vertex v of `known` stands at ``truth[v]`` in `released`; int64, shape (n,).
    drawn
        The graph in which a known part is connected: `known`, or what of it the guarantee is about.
    """

    known: KnowledgeGraph
    released: KnowledgeGraph
    truth: Ints
    drawn: KnowledgeGraph


def united(one: KnowledgeGraph, other: KnowledgeGraph) -> KnowledgeGraph:
    """Put two graphs beside each other, with labels of their own: both may be the same graph.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b")])
    >>> united(graph, graph).labels.tolist()
    ['0', '1', '2', '3']
    """
    labels = np.arange(one.n + other.n).astype(str).astype(object)
    return replace(beside(one, other), labels=labels)


def induced(graph: KnowledgeGraph, vertices: Ints) -> KnowledgeGraph:
    """The subgraph on some vertices, numbered in their order.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c")])
    >>> induced(graph, np.array([2, 1])).ends
    (array([1]), array([0]))
    """
    number = np.full(graph.n, -1, dtype=np.int64)
    number[vertices] = np.arange(len(vertices))
    relations = {
        name: kept(replace(r, source=number[r.source], target=number[r.target]), _inside(r, number))
        for name, r in graph.relations.items()
    }
    return KnowledgeGraph(graph.labels[vertices], relations)


def _inside(relation: Relation, number: Ints) -> Flags:
    inside: Flags = (number[relation.source] >= 0) & (number[relation.target] >= 0)
    return inside


def kept(relation: Relation, rows: Flags) -> Relation:
    """Some edges of a relation."""
    weight = None if relation.weight is None else relation.weight[rows]
    return replace(relation, source=relation.source[rows], target=relation.target[rows], weight=weight)
