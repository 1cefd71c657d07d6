"""Several copies of a graph and edges between them, of which one copy and the further edges are held.

An edge takes 24 bytes. Three copies and their ties have almost five times as many edges as the graph: the result of
KLONE holds 59 bytes for each edge of the graph this way, and 153 with all edges (random graph of 10^7 edges, k = 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.graph.knowledge_graph import (
    KnowledgeGraph,
    Relation,
    Vertices,
    Weights,
    counts,
    labels_with_synthetic,
)


@record(eq=False)
class CopiedRelation:
    """Edges of one relation: k copies of the edges between n vertices, then ties. Each access makes a column anew.

    Vertex v of copy j has number ``j * n + v``, from j = 0. Columns are those of `Relation`.
    """

    copied: Relation
    ties: Relation
    k: int
    n: int

    def __len__(self) -> int:
        return self.k * len(self.copied) + len(self.ties)

    @property
    def source(self) -> Vertices:
        """Sources, int64, shape (m,)."""
        return self._ends(self.copied.source, self.ties.source)

    @property
    def target(self) -> Vertices:
        """Targets, int64, shape (m,)."""
        return self._ends(self.copied.target, self.ties.target)

    @property
    def weight(self) -> Weights | None:
        """Weights, float64, shape (m,); `None` for a relation without weights."""
        if self.copied.weight is None or self.ties.weight is None:
            return None
        return np.concatenate([*[self.copied.weight] * self.k, self.ties.weight])

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names, for writing."""
        return self.copied.columns

    def _ends(self, copied: Vertices, ties: Vertices) -> Vertices:
        ends, m = np.empty(len(self), dtype=np.int64), len(copied)
        for copy in range(self.k):
            np.add(copied, copy * self.n, out=ends[copy * m : copy * m + m])
        ends[self.k * m :] = ties
        return ends


@record(eq=False)
class CopiedGraph:
    """k copies of a graph, ties between them, and new vertices, which follow the copies.

    Attributes
    ----------
    graph
        Each of the copies; vertex v of copy j has number ``j * graph.n + v``, from j = 0.
    k
        Number of copies.
    n
        Number of vertices, new ones included.
    ties
        Further edges, for each relation of the graph; with weights if the relation has some.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.5)])
    >>> tie = Relation(np.array([1, 3]), np.array([2, 4]), np.array([0.25, 0.75]))
    >>> copied = CopiedGraph(graph, 2, 5, {"edge": tie})
    >>> copied.m, copied.out_degree().tolist()
    (4, [1, 1, 1, 1, 0])
    >>> copied.relations["edge"].target.tolist()
    [1, 3, 2, 4]
    >>> copied.whole().labels.tolist()
    ['a', 'b', 'new0', 'new1', 'new2']
    """

    graph: KnowledgeGraph
    k: int
    n: int
    ties: Mapping[str, Relation]

    @property
    def relations(self) -> Mapping[str, CopiedRelation]:
        """Edges by relation: first those of the copies, then the ties."""
        return {
            name: CopiedRelation(r, self.ties[name], self.k, self.graph.n)
            for name, r in self.graph.relations.items()
        }

    @property
    def m(self) -> int:
        """Number of edges over all relations."""
        return sum(map(len, self.relations.values()))

    def in_degree(self) -> Vertices:
        """In-degree of each vertex over all relations, shape (n,)."""
        return self._degree(self.graph.in_degree(), [r.target for r in self.ties.values()])

    def out_degree(self) -> Vertices:
        """Out-degree of each vertex over all relations, shape (n,)."""
        return self._degree(self.graph.out_degree(), [r.source for r in self.ties.values()])

    def _degree(self, copied: Vertices, ties: list[npt.NDArray[np.int64]]) -> Vertices:
        degree = np.zeros(self.n, dtype=np.int64)
        degree[: self.k * self.graph.n] = np.tile(copied, self.k)
        for ends in ties:
            degree += counts(ends, self.n)
        return degree

    def with_ties(self, weights: Mapping[str, Weights]) -> CopiedGraph:
        """Replace the weights of the ties of the named relations."""
        ties = {name: replace(self.ties[name], weight=weight) for name, weight in weights.items()}
        return CopiedGraph(self.graph, self.k, self.n, {**self.ties, **ties})

    def whole(self) -> KnowledgeGraph:
        """Return the graph with all its edges; labels of the copies and new vertices are arbitrary."""
        relations = {
            name: Relation(r.source, r.target, r.weight, r.columns) for name, r in self.relations.items()
        }
        return KnowledgeGraph(labels_with_synthetic(self.graph, self.n - self.graph.n), relations)
