"""An augmented graph in the making: synthetic vertices and edges, and the degrees they give."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.assemble import Edges, Pairs
from kgreason.anonymizers.klone import check_vertices
from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.subgraphs.enumerate import undirected

Ints = npt.NDArray[np.int64]


class Draft:
    """Grows by vertices and edges that change no subgraph of the original graph and no image made before.

    An edge between two original vertices is safe if they are at least x apart: no connected set of x vertices
    holds both. An edge with a new vertex always is. Neither may lie inside a piece.

    Attributes
    ----------
    graph
        The original one.
    n
        Vertices by now; those from ``graph.n`` on are new.
    inner, outer
        In- and out-degree of each vertex.
    symmetric
        Whether each synthetic edge also runs back.
    """

    def __init__(self, graph: KnowledgeGraph, x: int, *, symmetric: bool) -> None:
        self.graph, self.n, self.symmetric = graph, graph.n, symmetric
        self.inner, self.outer = graph.in_degree(), graph.out_degree()
        self._x = x
        self._indptr, self._neighbours = undirected(graph)
        self._balls: dict[int, set[int]] = {}
        self._beside: dict[int, set[int]] = {}
        self._pieces: dict[int, set[int]] = {}
        self._count = 0
        self._source: list[int] = []
        self._target: list[int] = []
        self._edges: dict[str, list[tuple[int, int, float]]] = {name: [] for name in graph.relations}

    @property
    def ties(self) -> Pairs:
        """Synthetic edges that stand in no copy, in one direction only if the graph is symmetric."""
        return np.array(self._source, dtype=np.int64), np.array(self._target, dtype=np.int64)

    def new(self, count: int) -> Vertices:
        """Add vertices."""
        check_vertices(self.n + count)
        made = np.arange(self.n, self.n + count, dtype=np.int64)
        self.n += count
        self.inner = np.concatenate([self.inner, np.zeros(count, dtype=np.int64)])
        self.outer = np.concatenate([self.outer, np.zeros(count, dtype=np.int64)])
        return made

    def piece(self, vertices: Iterable[int]) -> None:
        """Bar edges among these vertices from now on."""
        for v in vertices:
            self._pieces.setdefault(v, set()).add(self._count)
        self._count += 1

    def ball(self, vertex: int) -> set[int]:
        """Original vertices nearer than x to an original one, itself included."""
        if vertex not in self._balls:
            reached, border = {vertex}, [vertex]
            for _ in range(self._x - 1):
                near = (
                    int(u) for v in border for u in self._neighbours[self._indptr[v] : self._indptr[v + 1]]
                )
                border = list({u for u in near if u not in reached})
                reached.update(border)
            self._balls[vertex] = reached
        return self._balls[vertex]

    def fits(self, source: int, target: int) -> bool:
        """Whether an edge between two vertices is safe, and the first between them."""
        if source == target or target in self._beside.get(source, ()):
            return False
        if self._pieces.get(source, set()) & self._pieces.get(target, set()):
            return False
        n = self.graph.n
        return source >= n or target >= n or target not in self.ball(source)

    def tie(self, source: int, target: int) -> None:
        """Add an edge, and its reverse if the graph is symmetric."""
        self._source.append(source)
        self._target.append(target)
        self.settled([source], [target])
        if self.symmetric:
            self.settled([target], [source])

    def edge(self, relation: str, source: int, target: int, weight: float) -> None:
        """Add an edge of a relation with the weight that its place in a class needs."""
        self._edges[relation].append((source, target, weight))
        self.settled([source], [target])

    def edges(self) -> dict[str, Edges]:
        """Edges with weights, by relation."""
        found = {}
        for name, rows in self._edges.items():
            source, target = (np.array([r[i] for r in rows], dtype=np.int64) for i in (0, 1))
            weight = np.array([r[2] for r in rows], dtype=np.float64)
            found[name] = Edges(source, target, None if self.graph.relations[name].weight is None else weight)
        return found

    def adjacent(self, u: int, v: int) -> bool:
        """Whether two original vertices have an edge."""
        row = self._neighbours[self._indptr[u] : self._indptr[u + 1]]
        at = int(np.searchsorted(row, v))
        return at < len(row) and int(row[at]) == v

    def settled(self, sources: Iterable[int], targets: Iterable[int]) -> None:
        """Count edges in."""
        for u, v in zip(sources, targets, strict=True):
            self.outer[u] += 1
            self.inner[v] += 1
            self._beside.setdefault(u, set()).add(v)
            self._beside.setdefault(v, set()).add(u)

    def beside(self, vertex: int) -> set[int]:
        """Vertices with which a vertex has synthetic edges."""
        return self._beside.get(vertex, set())
