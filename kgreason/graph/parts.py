"""Partition of a graph into parts: each vertex belongs to one part, and edges between parts are cut."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices


@dataclass(frozen=True, eq=False)
class Piece:
    """Subgraph induced by one part.

    Attributes
    ----------
    graph
        Its vertices and edges, in the order of the whole graph.
    vertices
        Their numbers in the whole graph; int64, shape (n,).
    rows
        For each relation, the indices of its edges in the whole graph.
    """

    graph: KnowledgeGraph
    vertices: Vertices
    rows: dict[str, Vertices]


def inside(graph: KnowledgeGraph, parts: Vertices) -> KnowledgeGraph:
    """Remove the edges between parts.

    Parameters
    ----------
    parts
        Number of the part of each vertex; int64, shape (n,).

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("c", "d")])
    >>> inside(graph, np.array([0, 0, 1, 1])).ends
    (array([0, 2]), array([1, 3]))
    """
    relations = {name: r.take(parts[r.source] == parts[r.target]) for name, r in graph.relations.items()}
    return replace(graph, relations=relations)


def pieces(graph: KnowledgeGraph, parts: Vertices) -> list[Piece]:
    """Split a graph into its parts.

    Parameters
    ----------
    parts
        Number of the part of each vertex, consecutive from 0; int64, shape (n,).

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("c", "d")])
    >>> [(p.vertices.tolist(), p.graph.m) for p in pieces(graph, np.array([0, 1, 0, 0]))]
    [([0, 2, 3], 1), ([1], 0)]
    """
    count = int(parts.max(initial=-1)) + 1
    members = grouped(parts, count)
    local = np.empty(graph.n, dtype=np.int64)
    for vertices in members:
        local[vertices] = np.arange(len(vertices))
    rows = {}
    for name, r in graph.relations.items():
        of = parts[r.source]
        rows[name] = grouped(np.where(of == parts[r.target], of, count), count)
    found = []
    for part, vertices in enumerate(members):
        own = {name: rows[name][part] for name in graph.relations}
        relations = {}
        for name, r in graph.relations.items():
            edges = r.take(own[name])
            relations[name] = replace(edges, source=local[edges.source], target=local[edges.target])
        found.append(Piece(KnowledgeGraph(graph.labels[vertices], relations), vertices, own))
    return found


def beside(one: KnowledgeGraph, other: KnowledgeGraph) -> KnowledgeGraph:
    """Disjoint union of two graphs with the same relations; the vertices of the second follow those of the first.

    A relation has weights if it has them in both graphs.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b")])
    >>> beside(graph, graph).ends
    (array([0, 2]), array([1, 3]))
    """
    relations = {name: _joined(r, other.relations[name], one.n) for name, r in one.relations.items()}
    return KnowledgeGraph(np.concatenate([one.labels, other.labels]), relations)


def _joined(one: Relation, other: Relation, shift: int) -> Relation:
    source = np.concatenate([one.source, other.source + shift])
    target = np.concatenate([one.target, other.target + shift])
    both = one.weight is not None and other.weight is not None
    weight = np.concatenate([one.weight, other.weight]) if both else None
    return Relation(source, target, weight, one.columns)


def grouped(numbers: Vertices, count: int) -> list[Vertices]:
    """Indices of each of the numbers 0 .. count-1, in ascending order; other numbers are ignored."""
    order = np.argsort(numbers, kind="stable").astype(np.int64)
    bounds = np.searchsorted(numbers[order], np.arange(count + 1))
    return [order[a:b] for a, b in pairwise(bounds.tolist())]
