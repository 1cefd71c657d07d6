"""The knowledge graph: a directed multigraph with several ground relations, weights, labels and attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kgreason.base.printable import Displayed
from kgreason.engine.relations.rows import first_rows
from kgreason.graph.tables import EdgeTable, GraphTables

Vertices = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]


def _frozen(array: npt.NDArray[np.generic]) -> None:
    array.setflags(write=False)


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
        lengths = {len(self.source), len(self.target)} | (
            {len(self.weight)} if self.weight is not None else set()
        )
        if len(lengths) != 1:
            raise ValueError(f"columns of a relation differ in length: {sorted(lengths)}")
        _frozen(self.source)
        _frozen(self.target)
        if self.weight is not None:
            _frozen(self.weight)
        width = 2 if self.weight is None else 3
        if len(self.columns) != width:
            object.__setattr__(self, "columns", (*self.columns, "weight")[:width])

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Relation:
        """Select edges by number or by boolean mask."""
        weight = None if self.weight is None else self.weight[rows]
        return Relation(self.source[rows], self.target[rows], weight, self.columns)


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
            _frozen(array)
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
        for label in vertices:
            number.setdefault(label, len(number))
        for edge in edges:
            number.setdefault(edge[0], len(number))
            number.setdefault(edge[1], len(number))
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
        relations = list(self.relations.values())
        empty = np.empty(0, dtype=np.int64)
        return (
            np.concatenate([empty, *(r.source for r in relations)]),
            np.concatenate([empty, *(r.target for r in relations)]),
        )

    def tables(self) -> GraphTables:
        """Edges and attributes as tables."""
        return GraphTables(
            {name: values.tolist() for name, values in self.attributes.items()},
            {
                name: EdgeTable(
                    r.source, r.target, {} if r.weight is None else {"weight": r.weight}, tuple(r.columns)
                )
                for name, r in self.relations.items()
            },
        )

    def in_degree(self) -> Vertices:
        """In-degree of each vertex over all relations, shape (n,)."""
        return np.bincount(self.ends[1], minlength=self.n).astype(np.int64)

    def out_degree(self) -> Vertices:
        """Out-degree of each vertex over all relations, shape (n,)."""
        return np.bincount(self.ends[0], minlength=self.n).astype(np.int64)

    def components(self) -> tuple[int, Vertices]:
        """Weakly connected components: their number and the component of each vertex, shape (n,)."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        source, target = self.ends
        ones = np.ones(len(source), dtype=np.int8)
        count, component = connected_components(
            coo_array((ones, (source, target)), shape=(self.n, self.n)), directed=False
        )
        return int(count), component.astype(np.int64)

    def distinct(self) -> KnowledgeGraph:
        """Drop duplicate (source, target, weight) rows, keeping the first of each."""
        return replace(self, relations={name: _distinct(r) for name, r in self.relations.items()})

    def with_weights(self, weights: Mapping[str, Weights]) -> KnowledgeGraph:
        """Replace the weights of the named relations."""
        changed = {
            name: replace(r, weight=weights[name]) if name in weights else r
            for name, r in self.relations.items()
        }
        return replace(self, relations=changed)


def _distinct(relation: Relation) -> Relation:
    columns = [relation.source, relation.target]
    if relation.weight is not None:
        columns.append((relation.weight + 0.0).view(np.int64))
    keep = first_rows(columns)
    return relation if keep.all() else relation.take(keep)
