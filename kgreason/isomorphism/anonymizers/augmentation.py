"""Augmentation of a graph for KGUARD: synthetic vertices and edges that change no attacked subgraph and no image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from kgreason.base.jit import Ints
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices
from kgreason.graph.subgraphs.ordered_adjacency import undirected
from kgreason.isomorphism.anonymizers.assembly import Edges, Pairs, both_ways, check_vertices
from kgreason.isomorphism.anonymizers.connected_parts import ConnectedParts
from kgreason.isomorphism.anonymizers.edge_plausibility import Degrees, EdgePlausibility, Odds
from kgreason.isomorphism.anonymizers.forbidden_degrees import ForbiddenDegrees

Flags = npt.NDArray[np.bool_]

_ANCHORS = 256  # vertices of high degree, one of which is tied to the first new vertex outside copies
_FULL = 0.97  # share of a bound on incoming weights that edges of images may use
_REFITTED = 1.1  # growth of the additions after which the plausibility of edges is fitted again
_JOINED = 64  # vertices with a promised edge that may join another such vertex's part of the graph
_TRIES = 4, 32, 256, 1_024  # random original vertices that are tried as a partner, one batch after the other


@record(eq=False)
class EdgeIndex:
    """Rows of a relation by ordered pair of vertices: `order` holds them by their `keys` u n + v, ascending.

    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.2), ("b", "a", 0.3), ("a", "b", 0.4)], relation="own")
    >>> own = EdgeIndex.of(graph)["own"]
    >>> [a.tolist() for a in own.rows(np.array([1, 0]), np.array([0, 1]))]
    [[0, 1, 1], [1, 0, 2]]
    """

    relation: Relation
    order: Vertices
    keys: Vertices
    n: int

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> dict[str, EdgeIndex]:
        """Index each relation."""
        return {name: cls.within(relation, graph.n) for name, relation in graph.relations.items()}

    @classmethod
    def within(cls, relation: Relation, n: int) -> EdgeIndex:
        """Index a relation among n vertices."""
        keys = relation.source * n + relation.target
        order = np.argsort(keys, kind="stable")
        return cls(relation, order, keys[order], n)

    def rows(self, sources: Vertices, targets: Vertices) -> tuple[Vertices, Vertices]:
        """Number of the pair, and row, of every edge from ``sources[i]`` to ``targets[i]``."""
        wanted = sources * self.n + targets
        start, end = (np.searchsorted(self.keys, wanted, side=s) for s in ("left", "right"))
        many = end - start
        pair = np.repeat(np.arange(len(wanted)), many)
        at = np.arange(len(pair)) + np.repeat(start - (np.cumsum(many) - many), many)
        return pair, self.order[at]

    def among(self, vertices: Vertices) -> tuple[Vertices, Vertices, Vertices]:
        """Positions of source and target, and row, of every edge among some vertices."""
        size = len(vertices)
        a, b = np.divmod(np.arange(size * size), max(size, 1))
        pair, row = self.rows(vertices[a], vertices[b])
        return a[pair], b[pair], row


def ball(indptr: Vertices, neighbours: Vertices, v: int, radius: int) -> Flags:
    """Vertices within `radius` steps of v.

    >>> path = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("c", "d")])
    >>> ball(*undirected(path), 0, 2).tolist()
    [True, True, True, False]
    """
    within = np.zeros(len(indptr) - 1, dtype=np.bool_)
    within[v] = True
    frontier = np.array([v])
    for _ in range(radius):
        count = indptr[frontier + 1] - indptr[frontier]
        skip = np.repeat(indptr[frontier] - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
        reached = neighbours[np.arange(count.sum()) + skip]
        frontier = np.unique(reached[~within[reached]])
        within[frontier] = True
        if not len(frontier):
            break
    return within


class Augmentation:
    """Augmentation in progress.

    An edge between two original vertices is safe if they are at least x apart, so that no connected set of x vertices
    contains both, and not yet tied. An edge with a new vertex is always safe. No edge may be added inside a *template
    copy*, the vertex set of made images.

    Original vertices are tied to partners at ends of random edges: at either end, or, if `plausible`, at the end that
    the synthetic edge needs, and to the most plausible of some of them.

    Attributes
    ----------
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
    forbidden
        Degrees of original vertices that would invalidate an image, or `None`.
    parts
        Weakly connected components of the graph with all additions.
    raised
        Like `open`, for raises of rare degrees; `FrequentDegrees` adds the edges.
    keep_degrees
        Whether original vertices keep their degrees from now on.
    neighbours
        Result of `undirected` for the graph.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        x: int,
        bounds: Mapping[str, float],
        rng: np.random.Generator,
        *,
        symmetric: bool,
        neighbours: tuple[Vertices, Vertices] | None = None,
        plausible: bool = True,
    ) -> None:
        self._plausible = plausible
        self.keep_degrees = False
        self.forbidden: ForbiddenDegrees | None = None
        self._rng = rng
        self._spares: list[int] = []
        self.parts = ConnectedParts(graph)
        self.open: tuple[list[int], list[int]] = [], []
        self.raised: tuple[list[int], list[int]] = [], []
        self.graph, self.n, self.symmetric = graph, graph.n, symmetric
        self.inner, self.outer = graph.in_degree(), graph.out_degree()
        self._x = x
        self.neighbours = neighbours or undirected(graph)
        self._model: EdgePlausibility | None = None
        self._fitted = 0
        self._balls: dict[int, set[int]] = {}
        self._tied: dict[int, set[int]] = {}
        self._copies: dict[int, set[int]] = {}
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
        ties = ways * len(self._source) + max(map(len, self.open)) + max(map(len, self.raised))
        return self.n - self.graph.n + ties + sum(map(len, self._edges.values()))

    def add_vertices(self, count: int) -> Vertices:
        """Add vertices and return their numbers."""
        check_vertices(self.n + count)
        made = np.arange(self.n, self.n + count, dtype=np.int64)
        self.n += count
        self.parts.add(count)
        self.inner = np.concatenate([self.inner, np.zeros(count, dtype=np.int64)])
        self.outer = np.concatenate([self.outer, np.zeros(count, dtype=np.int64)])
        self._incoming = {name: np.pad(sums, (0, count)) for name, sums in self._incoming.items()}
        return made

    def room(self, relation: str, vertices: Ints | int) -> npt.NDArray[np.float64]:
        """Remaining sum of weights into vertices; a reserve is kept for edges that only raise degrees."""
        if relation not in self._incoming:
            return np.full(np.shape(vertices), np.inf)
        room: npt.NDArray[np.float64] = np.asarray(
            _FULL * self._bounds[relation] - self._incoming[relation][vertices]
        )
        return room

    def add_copy(self, vertices: Sequence[int]) -> None:
        """Register a template copy: no edges are added between its vertices from now on."""
        for v in vertices:
            self._copies.setdefault(v, set()).update(vertices)

    def copy_mates(self, vertex: int) -> set[int]:
        """Vertices that share a template copy with a vertex."""
        return self._copies.get(vertex, set())

    def in_copies(self, vertices: Ints) -> npt.NDArray[np.bool_]:
        """Whether vertices are in a made image."""
        return np.isin(vertices, list(self._copies))

    def may_have(self, vertex: int, inner: int, outer: int) -> bool:
        """Whether an original vertex may get these degrees without invalidating a made image."""
        if vertex in self._copies:
            return False
        if self.forbidden is None:
            return True
        degrees = np.array([inner]), np.array([outer])
        return self.forbidden.first_allowed(np.array([vertex]), degrees) >= 0

    def around(self, vertex: int) -> set[int]:
        """Vertices that may not host a copy together with a vertex: nearer than x, tied to it, or in a copy with it."""
        return self.ball(vertex) | self.copy_mates(vertex) | self.tied_to(vertex)

    def adjacent(self, vertex: int) -> set[int]:
        """Vertices with an edge to or from a vertex, itself included."""
        indptr, near = self.neighbours
        mine = near[indptr[vertex] : indptr[vertex + 1]].tolist() if vertex < self.graph.n else []
        return {vertex, *mine} | self.tied_to(vertex)

    def ball(self, vertex: int) -> set[int]:
        """Original vertices nearer than x to an original vertex, itself included."""
        if vertex >= self.graph.n:
            return {vertex}
        if vertex not in self._balls:
            near = ball(*self.neighbours, vertex, max(self._x - 1, 1))
            self._balls[vertex] = set(np.flatnonzero(near).tolist())
        return self._balls[vertex]

    def fits(self, source: int, target: int) -> bool:
        """Whether an edge between two vertices is safe and the first synthetic one between them."""
        return not any(target in near(source) for near in (self.tied_to, self.copy_mates, self.ball))

    def tie(self, source: int, target: int) -> None:
        """Add an edge, and its reverse if the graph is symmetric."""
        self.put(source, target)
        for u, v in ((source, target), (target, source))[: 2 if self.symmetric else 1]:
            self.outer[u] += 1
            self.inner[v] += 1

    def put(self, source: int, target: int) -> None:
        """Add a promised edge: degrees stay."""
        self._source.append(source)
        self._target.append(target)
        self._record_tie(source, target)

    def _record_tie(self, u: int, v: int) -> None:
        self.parts.join(u, v)
        self._tied.setdefault(u, set()).add(v)
        self._tied.setdefault(v, set()).add(u)

    def add_edge(self, relation: str, source: int, target: int, weight: float) -> None:
        """Add an edge of a relation with a weight required by its position in a class."""
        self._edges[relation].append((source, target, weight))
        if relation in self._incoming:
            self._incoming[relation][target] += weight
        self.outer[source] += 1
        self.inner[target] += 1
        self._record_tie(source, target)

    def edges(self) -> dict[str, Edges]:
        """Weighted edges by relation."""
        found = {}
        for name, rows in self._edges.items():
            source, target = (np.array([r[i] for r in rows], dtype=np.int64) for i in (0, 1))
            weight = np.array([r[2] for r in rows], dtype=np.float64)
            found[name] = Edges(source, target, None if self.graph.relations[name].weight is None else weight)
        return found

    def tied_to(self, vertex: int) -> set[int]:
        """Vertices with a synthetic edge to or from a vertex."""
        return self._tied.get(vertex, set())

    def promise(self, vertices: Ints, lack_in: Ints, lack_out: Ints) -> None:
        """Add promised edges to the degrees of vertices; `settle` adds the edges themselves."""
        for ends, degree, lack in ((self.open[0], self.inner, lack_in), (self.open[1], self.outer, lack_out)):
            more = np.maximum(lack, 0)
            degree[vertices] += more
            ends += np.repeat(vertices, more).tolist()

    def settle(self) -> None:
        """Add the promised edges.

        Vertices that lack edges are tied to others in parts of the graph that no edge joins yet, then to each other
        where that is safe; the remaining ends are tied to partners.
        """
        targets, sources = (self._rng.permutation(np.array(e, dtype=np.int64)).tolist() for e in self.open)
        self.open = [], []
        if self.symmetric:  # an edge supplies both of its ends with an incoming and an outgoing edge
            half = len(sources) // 2
            sources, targets = sources[:half], sources[half:]
        if self.parts.count > 1:
            sources, targets = self._paired(sources, targets, joining=True)
        while self.parts.count > 1 and (sources or targets):
            incoming = len(targets) > len(sources)
            self.tie_to_partner((targets if incoming else sources).pop(), incoming=incoming, promised=True)
        sources, targets = self._paired(sources, targets)
        for v in sources:
            self.tie_to_partner(v, incoming=False, promised=True)
        for v in targets:
            self.tie_to_partner(v, incoming=True, promised=True)

    def _paired(
        self, sources: list[int], targets: list[int], *, joining: bool = False
    ) -> tuple[list[int], list[int]]:
        """Tie sources to targets where that is safe, or `joining` parts; returns the ends without partner."""
        left = []
        for u in sources:
            fitting = (
                i
                for i, v in enumerate(targets[:_JOINED] if joining else targets)
                if not (joining and self.parts.of(u) == self.parts.of(v)) and self.fits(u, v)
            )
            at = next(fitting, None) if not joining or self.parts.count > 1 else None
            if at is None:
                left.append(u)
            else:
                self.put(u, targets.pop(at))
        return left, targets

    def join(self) -> None:
        """Tie each other part of the graph to the largest component, where possible without changing images."""
        outside = self._rng.permutation(self.parts.outside).tolist()
        for v, strict in ((v, strict) for strict in (True, False) for v in outside):
            if self.parts.in_main(v):
                continue
            incoming = bool(self._rng.integers(self.inner[v] + self.outer[v] + 1) < self.inner[v])
            more = int(self.symmetric or incoming), int(self.symmetric or not incoming)
            if not strict or self.may_have(v, int(self.inner[v]) + more[0], int(self.outer[v]) + more[1]):
                pool = self.parts.inside
                drawn = pool[self._rng.integers(len(pool), size=_TRIES[1])].tolist()
                partner = self._fitting(v, dict.fromkeys(drawn), incoming=incoming)
                partner = drawn[0] if partner is None else partner
                self.tie(*((partner, v) if incoming else (v, partner)))

    def raise_to(self, inner: Ints, outer: Ints) -> None:
        """Raise the degrees of all vertices by promised edges, which `FrequentDegrees` adds."""
        for ends, degree, new in zip(self.raised, (self.inner, self.outer), (inner, outer), strict=True):
            ends += np.repeat(np.arange(self.n), new - degree).tolist()
            degree[:] = new

    def tie_to_partner(self, vertex: int, *, incoming: bool, promised: bool = False) -> None:
        """Tie a vertex to an original or a spare one outside images."""
        partner = self._spare(vertex) if self.keep_degrees else self._original(vertex, incoming=incoming)
        self.tie(*((partner, vertex) if incoming else (vertex, partner)))
        if promised:
            self.inner[vertex] -= incoming or self.symmetric
            self.outer[vertex] -= self.symmetric or not incoming

    def _original(self, vertex: int, *, incoming: bool) -> int:
        """Random original vertex outside images that may be tied to a vertex; a spare one if none is found."""
        for drawn in self._drawn(vertex, incoming=incoming):
            found = self._fitting(vertex, drawn, incoming=incoming)
            if found is not None:
                return found
        return self._spare(vertex)

    def _fitting(self, vertex: int, drawn: Iterable[int], *, incoming: bool) -> int | None:
        """The first, or most plausible, of some vertices that may be tied to a vertex."""
        near = self.around(vertex)
        more = int(self.symmetric or not incoming), int(self.symmetric or incoming)
        some = np.array([v for v in drawn if v not in near and v not in self._copies], dtype=np.int64)
        after = self.inner[some] + more[0], self.outer[some] + more[1]
        if self._plausible:
            order = np.argsort(-self._plausibility(vertex, after, incoming=incoming), kind="stable")
            some, after = some[order], (after[0][order], after[1][order])
        if self.forbidden is not None:
            some = some[some == self.forbidden.first_allowed(some, after)]
        return int(some[0]) if len(some) else None

    def _drawn(self, vertex: int, *, incoming: bool) -> Iterator[list[int]]:
        """Random ends of edges, first those in parts of the graph that a vertex is not joined to."""
        ends = self.graph.ends
        if self.parts.count > 1:
            pool = self.parts.outside if self.parts.in_main(vertex) else ends[int(not incoming)]
            drawn = pool[self._rng.integers(len(pool), size=_TRIES[1])].tolist() if len(pool) else []
            yield [v for v in dict.fromkeys(drawn) if self.parts.of(v) != self.parts.of(vertex)]
        for tries in _TRIES[self._plausible :] if len(ends[0]) else ():
            side = np.full(tries, not incoming) if self._plausible else self._rng.integers(2, size=tries)
            edge = self._rng.integers(len(ends[0]), size=tries)
            yield [*dict.fromkeys(np.where(side, ends[1][edge], ends[0][edge]).tolist())]

    def _plausibility(self, vertex: int, partners: Degrees, *, incoming: bool) -> Odds:
        """Plausibility of edges between a vertex and partners with some degrees."""
        added = self.added
        if self._model is None or added > _REFITTED * self._fitted:
            rows = [row[:2] for rows in self._edges.values() for row in rows]
            copied = np.array(rows, dtype=np.int64).reshape(-1, 2).T
            ties = both_ways(self.ties) if self.symmetric else self.ties
            synthetic = np.append(copied[0], ties[0]), np.append(copied[1], ties[1])
            self._model = EdgePlausibility.fit((self.inner, self.outer), self.graph.ends, synthetic)
            self._fitted = added
        mine = tuple(np.full(len(partners[0]), degree[vertex]) for degree in (self.inner, self.outer))
        return self._model.of(*((partners, mine) if incoming else (mine, partners)))

    def _spare(self, vertex: int) -> int:
        """New vertex outside copies; the first of them is tied to an original vertex of high degree."""
        for found in self._spares:
            if self.fits(vertex, found):
                return found
        found = int(self.add_vertices(1)[0])
        degree = (self.inner + self.outer)[: self.graph.n]
        high = [v for v in np.argsort(-degree, kind="stable")[:_ANCHORS].tolist() if v != vertex]
        allowed = (
            v for v in high if self.may_have(v, int(self.inner[v]) + 1, int(self.outer[v]) + self.symmetric)
        )
        anchors = [v for v in self._spares[:1] if v != vertex] or [*islice(allowed, 1)] or high
        for anchor in anchors[:1]:
            self.tie(found, anchor)
        self._spares.append(found)
        return found
