"""The knowledge graph: a directed multigraph with several ground relations, weights, labels and attributes.

Graphs of all families can be written as tables; a knowledge graph can be divided into parts, between which edges are
cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from kgreason.base.printable import Displayed
from kgreason.base.records import record
from kgreason.engine.relations.rows import first_rows

Vertices = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]
Column = np.ndarray[Any, Any]
PIECE = 1 << 20  # fewest edges that are counted at once


@record(eq=False)
class EdgeTable:
    """Edges of one relation.

    Attributes
    ----------
    source, target
        Vertex numbers, int64, shape (m,).
    carried
        Edge attributes by name; arrays of shape (m,).
    columns
        Column names of the table; if empty: ``source``, ``target`` and the names of `carried`.
    mutual
        Whether the relation is undirected; each edge is in the table once.
    """

    source: Vertices
    target: Vertices
    carried: Mapping[str, Column] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    mutual: bool = False


@record(eq=False)
class GraphTables:
    """A graph as tables.

    Attributes
    ----------
    vertices
        Vertex attributes by name; lists of n values.
    edges
        Edges by relation.
    values
        Multi-valued vertex attributes: vertex numbers and values, by attribute.
    """

    vertices: Mapping[str, list[Any]]
    edges: Mapping[str, EdgeTable]
    values: Mapping[str, tuple[Vertices, Column]] = field(default_factory=dict)


class Tabular(Protocol):
    """Graph of any family that can be written as tables."""

    @property
    def labels(self) -> npt.NDArray[np.object_]:
        """Names of the vertices, shape (n,)."""

    def tables(self) -> GraphTables:
        """Edges, and attributes of vertices and edges."""


@dataclass(frozen=True, eq=False)
class Relation:
    """Edges of one ground relation: edge i goes from ``source[i]`` to ``target[i]``.

    Attributes
    ----------
    source, target
        int64 vertex numbers, shape (m,).
    weight
        float64, shape (m,); `None` for a relation without weights.
    columns
        Column names of the file it was read from, used for writing.
    """

    source: Vertices
    target: Vertices
    weight: Weights | None = None
    columns: tuple[str, ...] = ("source", "target", "weight")

    def __post_init__(self) -> None:
        columns = (self.source, self.target, *([] if self.weight is None else [self.weight]))
        lengths = set(map(len, columns))
        if len(lengths) != 1:
            raise ValueError(f"columns of a relation differ in length: {sorted(lengths)}")
        for column in columns:
            column.setflags(write=False)
        if len(self.columns) != len(columns):
            object.__setattr__(self, "columns", (*self.columns, "weight")[: len(columns)])

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Relation:
        """Select edges by number or by boolean mask."""
        weight = None if self.weight is None else self.weight[rows]
        return Relation(self.source[rows], self.target[rows], weight, self.columns)


class Columns(Protocol):
    """Columns of edges, as `Relation` holds them; they may be made anew with each access."""

    def __len__(self) -> int: ...

    @property
    def source(self) -> Vertices:
        """Vertex numbers, int64, shape (m,)."""

    @property
    def target(self) -> Vertices:
        """Vertex numbers, int64, shape (m,)."""

    @property
    def weight(self) -> Weights | None:
        """float64, shape (m,), or `None`."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names, for writing."""


@dataclass(frozen=True, eq=False)
class KnowledgeGraph(Displayed):
    """Immutable graph on the vertices 0 .. n-1.

    Ground edges are a set of facts: within a relation each (source, target, weight) should occur once (see `distinct`;
    all functions of `kgreason` ensure it), but parallel edges with different weights are allowed.

    Attributes
    ----------
    labels
        Unique name of each vertex; NumPy array of str objects, shape (n,).
    relations
        Ground relations by edge predicate.
    attributes
        Further vertex columns by name, each of shape (n,).

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("A", "D", 0.6), ("D", "E", 0.8)], relation="own")
    >>> graph.n, graph.m, graph.out_degree().tolist()
    (3, 2, [1, 1, 0])
    """

    labels: npt.NDArray[np.object_]
    relations: Mapping[str, Relation]
    attributes: Mapping[str, npt.NDArray[np.generic]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.labels, *self.attributes.values()):
            array.setflags(write=False)
        object.__setattr__(self, "relations", MappingProxyType(dict(self.relations)))
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))
        for name, relation in self.relations.items():
            for ends in (relation.source, relation.target):
                if len(ends) and not (ends.min() >= 0 and ends.max() < self.n):
                    raise ValueError(f"relation {name!r} names a vertex outside 0..{self.n - 1}")

    @classmethod
    def from_edges(
        cls,
        edges: Sequence[tuple[str, str] | tuple[str, str, float]],
        relation: str = "edge",
        vertices: Sequence[str] = (),
    ) -> KnowledgeGraph:
        """Build a graph with one relation from labelled edges; `vertices` are numbered first and may be isolated."""
        number: dict[str, int] = {}
        for label in (*vertices, *(end for edge in edges for end in edge[:2])):
            number.setdefault(label, len(number))
        source = np.array([number[e[0]] for e in edges], dtype=np.int64)
        target = np.array([number[e[1]] for e in edges], dtype=np.int64)
        weighted = bool(edges) and len(edges[0]) == 3
        weight = np.array([e[2] for e in edges if len(e) == 3], dtype=np.float64) if weighted else None
        labels = np.array(list(number), dtype=object)
        return cls(labels, {relation: Relation(source, target, weight)}).distinct()

    def __reduce__(self) -> tuple[object, ...]:
        return KnowledgeGraph, (self.labels, dict(self.relations), dict(self.attributes))

    def __repr__(self) -> str:
        edges = ", ".join(f"{name}: {len(r):,} edges" for name, r in self.relations.items())
        return f"<KnowledgeGraph with {self.n:,} vertices; {edges}>"

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.labels)

    @property
    def m(self) -> int:
        """Number of ground edges over all relations."""
        return sum(len(r) for r in self.relations.values())

    @cached_property
    def ends(self) -> tuple[Vertices, Vertices]:
        """Sources and targets of the edges of all relations, in the order of `relations`."""
        if len(self.relations) == 1:
            (relation,) = self.relations.values()
            return relation.source, relation.target
        empty = np.empty(0, dtype=np.int64)
        return (
            np.concatenate([empty, *(r.source for r in self.relations.values())]),
            np.concatenate([empty, *(r.target for r in self.relations.values())]),
        )

    def tables(self) -> GraphTables:
        """Edges and attributes as tables."""
        edges = {
            name: EdgeTable(r.source, r.target, {} if r.weight is None else {"weight": r.weight}, r.columns)
            for name, r in self.relations.items()
        }
        return GraphTables({name: values.tolist() for name, values in self.attributes.items()}, edges)

    def in_degree(self) -> Vertices:
        """In-degree of each vertex over all relations, shape (n,)."""
        return counts(self.ends[1], self.n)

    def out_degree(self) -> Vertices:
        """Out-degree of each vertex over all relations, shape (n,)."""
        return counts(self.ends[0], self.n)

    def components(self) -> tuple[int, Vertices]:
        """Weakly connected components: their number and the component of each vertex, shape (n,)."""
        # Each root of a vertex joins a smaller neighbouring one until none is left. SciPy takes 0.24 s to be imported,
        # and as long for millions of edges.
        root = np.arange(self.n)
        source, target = self.ends
        while True:
            ends = root[source], root[target]
            low, high = np.minimum(*ends), np.maximum(*ends)
            apart = low < high
            if not apart.any():
                break
            np.minimum.at(root, high[apart], low[apart])
            source, target = source[apart], target[apart]
            while (root[root] != root).any():
                root = root[root]
        roots, component = np.unique(root, return_inverse=True)
        return len(roots), component.astype(np.int64)

    def distinct(self) -> KnowledgeGraph:
        """Drop duplicate (source, target, weight) rows, keeping the first of each."""
        return replace(self, relations={name: _distinct(r) for name, r in self.relations.items()})

    def with_weights(self, weights: Mapping[str, Weights]) -> KnowledgeGraph:
        """Replace the weights of the named relations."""
        changed = {name: replace(self.relations[name], weight=weight) for name, weight in weights.items()}
        return replace(self, relations={**self.relations, **changed})


def counts(ends: Vertices, n: int) -> Vertices:
    """Number of ends at each of n vertices; piece by piece, as `numpy.bincount` copies arrays that are read-only."""
    found, piece = np.zeros(n, dtype=np.int64), max(n, PIECE)
    for start in range(0, len(ends), piece):
        found += np.bincount(ends[start : start + piece], minlength=n)
    return found


def labels_with_synthetic(graph: KnowledgeGraph, count: int) -> npt.NDArray[np.object_]:
    """Labels of a graph, and those of new vertices: internal ones, as a release has labels of its own."""
    mark = "new"
    while count and any(label.startswith(mark) for label in graph.labels.tolist()):
        mark += "'"
    return np.concatenate([graph.labels, np.array([f"{mark}{i}" for i in range(count)], dtype=object)])


def _distinct(relation: Relation) -> Relation:
    columns = [relation.source, relation.target]
    if relation.weight is not None:
        columns.append((relation.weight + 0.0).view(np.int64))
    keep = first_rows(columns)
    return relation if keep.all() else relation.take(keep)


@record(eq=False)
class Piece:
    """Subgraph induced by one part."""

    graph: KnowledgeGraph  # its vertices and edges, in the order of the whole graph
    vertices: Vertices  # their numbers in the whole graph
    rows: dict[str, Vertices]  # for each relation, the indices of its edges in the whole graph


def inside(graph: KnowledgeGraph, parts: Vertices) -> KnowledgeGraph:
    """Remove the edges between parts; `parts` holds the number of the part of each vertex, int64, shape (n,).

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("c", "d")])
    >>> inside(graph, np.array([0, 0, 1, 1])).ends
    (array([0, 2]), array([1, 3]))
    """
    relations = {name: r.take(parts[r.source] == parts[r.target]) for name, r in graph.relations.items()}
    return replace(graph, relations=relations)


def pieces(graph: KnowledgeGraph, parts: Vertices) -> list[Piece]:
    """Split a graph into its parts, numbered consecutively from 0 in `parts`, int64, shape (n,).

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
        source_part = parts[r.source]
        rows[name] = grouped(np.where(source_part == parts[r.target], source_part, count), count)
    found = []
    for part, vertices in enumerate(members):
        own = {name: by_part[part] for name, by_part in rows.items()}
        edges = {name: graph.relations[name].take(edges_of) for name, edges_of in own.items()}
        relations = {n: replace(r, source=local[r.source], target=local[r.target]) for n, r in edges.items()}
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
    relations = {name: joined(r, other.relations[name], one.n) for name, r in one.relations.items()}
    return KnowledgeGraph(np.concatenate([one.labels, other.labels]), relations)


def joined(one: Relation, other: Relation, shift: int = 0) -> Relation:
    """Edges of one relation, then those of another, whose vertices are `shift` higher; with weights if both have."""
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
