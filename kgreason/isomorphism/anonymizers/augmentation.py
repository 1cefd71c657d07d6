"""Augmentation of a graph by synthetic vertices, edges, and copies of subgraphs with new weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices
from kgreason.graph.subgraphs.ordered_adjacency import undirected
from kgreason.isomorphism.anonymizers.assembly import Edges, Pairs
from kgreason.isomorphism.anonymizers.bisection import Between
from kgreason.isomorphism.anonymizers.degree_diversity import ball
from kgreason.isomorphism.anonymizers.klone import check_vertices
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising, exchanged

if TYPE_CHECKING:
    from kgreason.isomorphism.anonymizers.forbidden_degrees import Standing


Ints = npt.NDArray[np.int64]


_FULL = 0.97  # share of a bound on incoming weights that edges of images may use


_TRIES = 1_000


class Draft:
    """Augmentation in progress, which changes no original x-subgraph and no image made before.

    An edge between two original vertices is safe if they are at least x apart, so that no connected set of x vertices
    contains both, and not yet tied. An edge with a new vertex is always safe. No edge may be added inside a *piece*,
    the vertex set of a made image.

    Attributes
    ----------
    graph
        Original graph.
    n
        Current number of vertices; those from ``graph.n`` on are new.
    inner, outer
        Current in- and out-degree of each vertex.
    loops
        Whether each original vertex has a loop.
    symmetric
        Whether the reverse of each synthetic edge is added.
    open
        Vertices with a promised incoming edge, and vertices with a promised outgoing edge, with repetitions.
    standing
        Positions of original vertices in subgraphs that rely on made images, or `None`.
    apart
        Whether original vertices keep their degrees from now on.
    bounds
        Bounds on the incoming weights of a vertex, by relation.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        x: int,
        bounds: Mapping[str, float],
        rng: np.random.Generator,
        *,
        symmetric: bool,
    ) -> None:
        self.apart = False
        self.standing: Standing | None = None
        self._rng = rng
        self._spares: list[int] = []
        self.open: tuple[list[int], list[int]] = [], []
        self.graph, self.n, self.symmetric = graph, graph.n, symmetric
        self.inner, self.outer = graph.in_degree(), graph.out_degree()
        self._x = x
        self._indptr, self._neighbours = undirected(graph)
        self._balls: dict[int, set[int]] = {}
        self._beside: dict[int, set[int]] = {}
        self._mates: dict[int, set[int]] = {}
        self.loops = np.zeros(graph.n, dtype=np.bool_)
        self.loops[graph.ends[0][graph.ends[0] == graph.ends[1]]] = True
        self._bounds = bounds
        self._incoming = {
            name: np.bincount(r.target, weights=r.weight, minlength=graph.n).astype(np.float64)
            for name, r in graph.relations.items()
            if name in bounds and r.weight is not None
        }
        self._source: list[int] = []
        self._target: list[int] = []
        self._edges: dict[str, list[tuple[int, int, float]]] = {name: [] for name in graph.relations}

    @property
    def ties(self) -> Pairs:
        """Synthetic edges outside copies, in one direction only if the graph is symmetric."""
        return np.array(self._source, dtype=np.int64), np.array(self._target, dtype=np.int64)

    @property
    def added(self) -> int:
        """Number of synthetic vertices and edges."""
        ways = 2 if self.symmetric else 1
        ties = ways * len(self._source) + max(map(len, self.open))
        return self.n - self.graph.n + ties + sum(map(len, self._edges.values()))

    def new(self, count: int) -> Vertices:
        """Add vertices and return their numbers."""
        check_vertices(self.n + count)
        made = np.arange(self.n, self.n + count, dtype=np.int64)
        self.n += count
        self.inner = np.concatenate([self.inner, np.zeros(count, dtype=np.int64)])
        self.outer = np.concatenate([self.outer, np.zeros(count, dtype=np.int64)])
        self._incoming = {name: np.pad(sums, (0, count)) for name, sums in self._incoming.items()}
        return made

    def room(self, relation: str, vertices: Ints | int) -> npt.NDArray[np.float64]:
        """Remaining sum of weights into vertices; a reserve is kept for edges that only raise degrees."""
        if relation not in self._incoming:
            return np.full(np.shape(vertices), np.inf)
        found: npt.NDArray[np.float64] = np.asarray(
            _FULL * self._bounds[relation] - self._incoming[relation][vertices]
        )
        return found

    def piece(self, vertices: Sequence[int]) -> None:
        """Register a piece: no edges are added between these vertices from now on."""
        for v in vertices:
            self._mates.setdefault(v, set()).update(vertices)

    def mates(self, vertex: int) -> set[int]:
        """Vertices that share a piece with a vertex."""
        return self._mates.get(vertex, set())

    def serving(self, vertices: Ints) -> npt.NDArray[np.bool_]:
        """Whether vertices are in a made image."""
        return np.isin(vertices, list(self._mates))

    def may(self, vertex: int, inner: int, outer: int) -> bool:
        """Whether an original vertex may get these degrees without invalidating a made image."""
        if vertex in self._mates:
            return False
        return self.standing is None or not self.standing.hurts(vertex, (inner, outer))

    def around(self, vertex: int) -> set[int]:
        """Vertices that may not share a piece with a vertex: nearer than x, tied to it, or in a piece with it."""
        return self.ball(vertex) | self.mates(vertex) | self.beside(vertex)

    def ball(self, vertex: int) -> set[int]:
        """Original vertices nearer than x to an original vertex, itself included."""
        if vertex >= self.graph.n:
            return {vertex}
        if vertex not in self._balls:
            near = ball(self._indptr, self._neighbours, vertex, max(self._x - 1, 1))
            self._balls[vertex] = set(np.flatnonzero(near).tolist())
        return self._balls[vertex]

    def fits(self, source: int, target: int) -> bool:
        """Whether an edge between two vertices is safe and the first synthetic one between them."""
        return not any(target in near(source) for near in (self.beside, self.mates, self.ball))

    def tie(self, source: int, target: int) -> None:
        """Add an edge, and its reverse if the graph is symmetric."""
        self._put(source, target)
        for u, v in ((source, target), (target, source))[: 2 if self.symmetric else 1]:
            self.outer[u] += 1
            self.inner[v] += 1

    def _put(self, source: int, target: int) -> None:
        self._source.append(source)
        self._target.append(target)
        self._meet(source, target)

    def _meet(self, u: int, v: int) -> None:
        self._beside.setdefault(u, set()).add(v)
        self._beside.setdefault(v, set()).add(u)

    def edge(self, relation: str, source: int, target: int, weight: float) -> None:
        """Add an edge of a relation with a weight required by its position in a class."""
        self._edges[relation].append((source, target, weight))
        if relation in self._incoming:
            self._incoming[relation][target] += weight
        self.outer[source] += 1
        self.inner[target] += 1
        self._meet(source, target)

    def edges(self) -> dict[str, Edges]:
        """Weighted edges by relation."""
        found = {}
        for name, rows in self._edges.items():
            source, target = (np.array([r[i] for r in rows], dtype=np.int64) for i in (0, 1))
            weight = np.array([r[2] for r in rows], dtype=np.float64)
            found[name] = Edges(source, target, None if self.graph.relations[name].weight is None else weight)
        return found

    def beside(self, vertex: int) -> set[int]:
        """Vertices with a synthetic edge to or from a vertex."""
        return self._beside.get(vertex, set())

    def promise(self, vertices: Ints, lack_in: Ints, lack_out: Ints) -> None:
        """Add promised edges to the degrees of vertices; `settle` adds the edges themselves."""
        for ends, degree, lack in ((self.open[0], self.inner, lack_in), (self.open[1], self.outer, lack_out)):
            more = np.maximum(lack, 0)
            degree[vertices] += more
            ends += np.repeat(vertices, more).tolist()

    def settle(self) -> None:
        """Add the promised edges.

        Vertices that lack edges are tied to each other where that is safe; the remaining ends are tied to partners.
        """
        targets, sources = (self._rng.permutation(np.array(e, dtype=np.int64)).tolist() for e in self.open)
        self.open = [], []
        if self.symmetric:  # an edge supplies both of its ends with an incoming and an outgoing edge
            half = len(sources) // 2
            sources, targets = sources[:half], sources[half:]
        sources, targets = self._paired(sources, targets)
        for v in sources:
            self.tie_to_partner(v, incoming=False, promised=True)
        for v in targets:
            self.tie_to_partner(v, incoming=True, promised=True)

    def _paired(self, sources: list[int], targets: list[int]) -> tuple[list[int], list[int]]:
        """Tie sources to targets where that is safe; returns the ends without partner."""
        left = []
        for u in sources:
            at = next((i for i, v in enumerate(targets) if self.fits(u, v)), None)
            if at is None:
                left.append(u)
            else:
                self._put(u, targets.pop(at))
        return left, targets

    def tie_to_partner(self, vertex: int, *, incoming: bool, promised: bool = False) -> None:
        """Tie a vertex to one outside images: an original one, drawn in proportion to its degree, or a spare one."""
        partner = self._spare(vertex) if self.apart else self._original(vertex, incoming=incoming)
        self.tie(*((partner, vertex) if incoming else (vertex, partner)))
        if promised:
            self.inner[vertex] -= incoming or self.symmetric
            self.outer[vertex] -= self.symmetric or not incoming

    def _original(self, vertex: int, *, incoming: bool) -> int:
        ends = self.graph.ends
        for _ in range(_TRIES):
            side = ends[int(self._rng.integers(2))]
            found = int(side[self._rng.integers(len(side))]) if len(side) else 0
            inner = int(self.inner[found]) + (self.symmetric or not incoming)
            outer = int(self.outer[found]) + (self.symmetric or incoming)
            if self.fits(vertex, found) and self.may(found, inner, outer):
                return found
        return self._spare(vertex)

    def _spare(self, vertex: int) -> int:
        """New vertex outside pieces; the first of them is tied to an original vertex of high degree."""
        for found in self._spares:
            if self.fits(vertex, found):
                return found
        found = int(self.new(1)[0])
        degree = (self.inner + self.outer)[: self.graph.n]
        anchors = [*self._spares[:1], *np.argsort(-degree, kind="stable")[:2].tolist()]
        self.tie(found, next(v for v in anchors if v != vertex))
        self._spares.append(found)
        return found


Rows = npt.NDArray[np.int64]
Copied = list[tuple[Rows, Rows]]
"""Rows of models and, row by row and place by place, of their copies: vertices that are in nothing else."""

_ATTEMPTS = 20


def copied_edges(relation: Relation, n: int, copied: Copied) -> Edges:
    """Edges of a relation inside each model, including parallel edges and loops, with renamed ends."""
    between = Between.within(relation, n)
    sources, targets, rows = [], [], []
    for model, copy in copied:
        size = model.shape[1]
        one, other = (np.repeat(m, size, axis=1).ravel() for m in (model, copy))
        pair, row = between.rows(one, np.tile(model, (1, size)).ravel())
        rows.append(row)
        sources.append(other[pair])
        targets.append(np.tile(copy, (1, size)).ravel()[pair])
    none = np.empty(0, dtype=np.int64)
    row = np.concatenate([none, *rows])
    weight = None if relation.weight is None else relation.weight[row]
    return Edges(np.concatenate([none, *sources]), np.concatenate([none, *targets]), weight)


def reweighed(
    graph: KnowledgeGraph,
    copied: Copied,
    edges: Mapping[str, Edges],
    noising: WeightNoising,
    rng: np.random.Generator,
) -> dict[str, Edges]:
    """Draw new weights for the edges of copies, as weights equal to those of the models would reveal the copies.

    A draw is accepted for the copies from which the rules derive the same as from the model; the others are redrawn,
    and keep the weights of the model if no draw is accepted.

    Parameters
    ----------
    graph
        Graph that contains the models.
    edges
        Edges of the copies, from `copied_edges`.
    """
    weighted = [name for name, e in edges.items() if e.weight is not None]
    n = max((int(copy.max(initial=-1)) + 1 for _, copy in copied), default=graph.n)
    alone = {name: Relation(e.source, e.target, e.weight) for name, e in edges.items()}
    current = KnowledgeGraph(np.arange(n).astype(object), alone)
    copy_of = np.full(current.n, -1, dtype=np.int64)
    open_ = np.ones(sum(len(copy) for _, copy in copied), dtype=np.bool_)
    numbers = np.split(np.arange(len(open_)), np.cumsum([len(copy) for _, copy in copied]))
    for number, (_, copy) in zip(numbers, copied, strict=False):
        copy_of[copy] = number[:, None]
    wanted = _derived(graph, noising, [model for model, _ in copied])
    for _ in range(_ATTEMPTS if weighted else 0):
        if not open_.any():
            break
        rows = {name: open_[copy_of[edges[name].source]] for name in weighted}
        drawn = noising.copies(current, rng)
        tried = exchanged(current, drawn, rows)
        found = _derived(tried, noising, [copy for _, copy in copied])
        for number, now, before in zip(numbers, found, wanted, strict=False):
            open_[number] &= (now != before).any(axis=(1, 2, 3))
        settled = {name: row & ~open_[copy_of[edges[name].source]] for name, row in rows.items()}
        current = exchanged(current, drawn, settled)
    return {name: replace(e, weight=current.relations[name].weight) for name, e in edges.items()}


def _derived(
    graph: KnowledgeGraph, noising: WeightNoising, members: list[Rows]
) -> list[npt.NDArray[np.bool_]]:
    from kgreason.graph.induced.derivation import InducedReasoner

    if not noising.program.derived:
        return [np.zeros((len(rows), 0, 1, 1), dtype=np.bool_) for rows in members]
    reasoner = InducedReasoner(graph, noising.program)
    return [reasoner.derived(rows) for rows in members]
