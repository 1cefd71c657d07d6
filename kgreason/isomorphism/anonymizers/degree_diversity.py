"""Synthetic edges for degree diversity of images and for weak connectivity.

References
----------
KGISO, Algorithm 3 lines 11-30; docs/methods/kguard.md, steps 5 and 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.base.progress import Progress
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.graph.subgraphs.ordered_adjacency import undirected
from kgreason.isomorphism.anonymizers.assembly import Pairs
from kgreason.isomorphism.anonymizers.degree_distributions import DegreeDistribution, Degrees, choose_apart

Mask = npt.NDArray[np.bool_]
Buckets = Sequence[npt.NDArray[np.int64]]
IN, OUT = 0, 1


def images(buckets: Buckets, n: int) -> list[set[int]]:
    """For each vertex, itself and its images under isomorphisms of chosen subgraphs; empty if it is in none.

    The relation is not closed transitively: item 4 of Definition 4.1 requires that images of one vertex differ, and the
    transitive closure can be a huge class that would need as many different degrees.

    Parameters
    ----------
    buckets
        Chosen subgraphs per class, each of shape (k, size), rows in canonical order.

    Examples
    --------
    >>> images([np.array([[0, 1], [2, 3]])], 5)
    [{0, 2}, {1, 3}, {0, 2}, {1, 3}, set()]
    """
    return _grouped((row for bucket in buckets for row in bucket.T.tolist()), n)


def _companions(buckets: Buckets, n: int) -> list[set[int]]:
    """For each vertex, itself and the vertices of its chosen subgraphs; empty if it is in none."""
    return _grouped((row for bucket in buckets for row in bucket.tolist()), n)


def _grouped(rows: Iterable[list[int]], n: int) -> list[set[int]]:
    of: list[set[int]] = [set() for _ in range(n)]
    for row in rows:
        for v in row:
            of[v].update(row)
    return of


class Diversifier:
    """Adds edges until the images of every chosen vertex differ in both degrees.

    Parameters
    ----------
    graph
        The original graph.
    buckets
        Chosen subgraphs; vertices from ``graph.n`` on are copies.
    degrees
        Current in- and out-degree of originals and copies, `ties` included.
    ties
        Sources and targets of the existing synthetic edges.
    x
        Edges between original vertices nearer than this change attacked subgraphs and are avoided where possible.
    symmetric
        Whether the reverse of every tie and of every added edge will be added, too. In- and out-degrees are then
        equal, so only in-degrees are processed.

    Attributes
    ----------
    n
        Number of vertices, including new ones.
    source, target
        Added synthetic edges.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        buckets: Buckets,
        degrees: tuple[Degrees, Degrees],
        ties: tuple[Vertices, Vertices],
        x: int,
        rng: np.random.Generator,
        *,
        symmetric: bool = False,
    ) -> None:
        self.n = len(degrees[IN])
        self.source: list[int] = []
        self.target: list[int] = []
        self._graph, self._x, self._rng = graph, x, rng
        self._phis = (IN,) if symmetric else (IN, OUT)
        self._names = ("degrees",) if symmetric else ("in-degrees", "out-degrees")
        self._near = undirected(graph)
        self._neighbours = (_grouped_ends(graph, IN), _grouped_ends(graph, OUT))
        self._companions = _companions(buckets, self.n)
        chosen = [v for v, others in enumerate(self._companions) if others]
        apart = images(buckets, self.n)
        missing, reals = [], (graph.in_degree(), graph.out_degree())
        for phi in self._phis:
            order = [chosen[i] for i in rng.permutation(len(chosen))]
            fitted = DegreeDistribution.fit(reals[phi])
            missing.append(choose_apart(degrees[phi], order, apart, fitted, rng) - degrees[phi])
        # new vertices can be shared by all vertices, so the maximum number of missing edges suffices
        most = max((int(m.max(initial=0)) for m in missing), default=0)
        padded = [np.concatenate([m, np.zeros(2 * most, dtype=np.int64)]) for m in missing]
        self._missing = (padded[0], padded[-1])  # the same array in a symmetric graph
        self._outside = np.ones(self.n + 2 * most, dtype=np.bool_)
        self._outside[chosen] = False
        self._added: tuple[dict[int, list[int]], dict[int, list[int]]] = ({}, {})
        for u, v in zip(*(t.tolist() for t in ties), strict=True):
            self._note(u, v)

    def run(self, progress: Progress) -> None:
        """Add the edges."""
        for phi in self._phis:
            needing = self._rng.permutation(np.flatnonzero(self._missing[phi]))
            progress.step(f"Diversifying {self._names[phi]}", len(needing))
            for v in needing.tolist():
                self._complete(v, phi)
                progress.advance()

    def _complete(self, v: int, phi: int) -> None:
        wanted = int(self._missing[phi][v])
        if not wanted:
            return
        partners = self._partners(v, phi, wanted)
        fresh = list(range(self.n, self.n + wanted - len(partners)))
        self.n += len(fresh)
        for u in partners + fresh:
            ends = (u, v) if phi == IN else (v, u)
            self.source.append(ends[0])
            self.target.append(ends[1])
            self._note(*ends)
            self._missing[1 - phi][u] = max(0, self._missing[1 - phi][u] - 1)
        self._missing[phi][v] = 0

    def _partners(self, v: int, phi: int, wanted: int) -> list[int]:
        """Up to `wanted` partners of v: vertices that need edges, then unchosen ones; those at distance >= x first."""
        allowed = np.ones(self.n, dtype=np.bool_)
        allowed[list(self._companions[v]) if v < len(self._companions) else v] = False
        allowed[self._phi_neighbours(v, phi)] = False
        needing = allowed & (self._missing[1 - phi][: self.n] > 0)
        outside = allowed & self._outside[: self.n]
        far = np.ones(self.n, dtype=np.bool_)
        if v < self._graph.n:
            far[: self._graph.n] = ~ball(*self._near, v, self._x - 1)
        partners: list[int] = []
        for pool in (needing & far, outside & far, needing & ~far, outside & ~far):
            candidates = np.flatnonzero(pool)
            take = min(wanted - len(partners), len(candidates))
            partners += self._rng.choice(candidates, take, replace=False).tolist() if take else []
        return partners

    def _phi_neighbours(self, v: int, phi: int) -> list[int]:
        indptr, ends = self._neighbours[phi]
        real = ends[indptr[v] : indptr[v + 1]].tolist() if v < self._graph.n else []
        return real + self._added[phi].get(v, [])

    def _note(self, u: int, v: int) -> None:
        for a, b in ((u, v), (v, u)) if len(self._phis) == 1 else ((u, v),):
            self._added[IN].setdefault(b, []).append(a)
            self._added[OUT].setdefault(a, []).append(b)


def _grouped_ends(graph: KnowledgeGraph, phi: int) -> tuple[Vertices, Vertices]:
    """CSR lists of the in- (phi = IN) or out-neighbours of each vertex."""
    source, target = graph.ends
    own, other = (target, source) if phi == IN else (source, target)
    indptr = np.zeros(graph.n + 1, dtype=np.int64)
    np.cumsum(np.bincount(own, minlength=graph.n), out=indptr[1:])
    return indptr, other[np.argsort(own, kind="stable")]


def ball(indptr: Vertices, neighbours: Vertices, v: int, radius: int) -> Mask:
    """Vertices within `radius` steps of v.

    Examples
    --------
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


@dataclass(frozen=True, eq=False)
class Apart:
    """Vertices that must differ in degree: those of a part, and those of a row.

    Attributes
    ----------
    part
        Part of each vertex; -1 for none.
    rows
        Vertices with their copies, one row each; int64, shape (any, k).
    """

    part: Vertices
    rows: Vertices

    def others(self, v: int) -> Vertices:
        """Vertices from which v must differ in degree."""
        part = np.flatnonzero(self.part == self.part[v]) if self.part[v] >= 0 else self.rows[:0, 0]
        row = self.rows[(self.rows == v).any(axis=1)].ravel()
        found: Vertices = np.union1d(part, row)
        others: Vertices = found[found != v]
        return others


def ties(
    component: Vertices,
    degrees: tuple[Degrees, Degrees],
    apart: Apart,
    rng: np.random.Generator,
    *,
    symmetric: bool = False,
) -> tuple[Pairs, int]:
    """Choose edges that connect the components.

    Their ends are vertices without degree constraints. A component without such a vertex gets a new one, tied to a
    vertex of the component by an edge, or by edges via further new vertices until the degree of that vertex differs
    from all from which it must differ.

    Parameters
    ----------
    component
        Component of each vertex, from 0.
    degrees
        Out- and in-degree of each vertex.
    symmetric
        Whether the reverse of each edge will be added, too.

    Returns
    -------
    edges, n
        Sources and targets, and the new number of vertices.
    """
    count = int(component.max(initial=-1)) + 1
    if count < 2:
        return (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)), len(component)
    loose = apart.part < 0
    loose[apart.rows.ravel()] = False
    degrees = degrees[0].copy(), degrees[1].copy()
    edges: list[tuple[int, int]] = []
    n = len(component)
    ends: list[Vertices] = []
    for c in range(count):
        members = np.flatnonzero(component == c)
        own = members[loose[members]]
        if not len(own):
            v, phi, more = _least(rng.permutation(members)[:_TRIED], degrees, apart, symmetric)
            own = np.arange(n, n + more)
            edges += [(v, u) if phi == 0 else (u, v) for u in own.tolist()]
            n += more
            for raised in degrees if symmetric else degrees[phi : phi + 1]:
                raised[v] += more
        ends.append(own)
    for c in range(1, count):
        pair = int(rng.choice(ends[c])), int(rng.choice(ends[int(rng.integers(c))]))
        edges.append(pair if rng.random() < 0.5 else pair[::-1])
    chosen = np.array(edges, dtype=np.int64)
    return (chosen[:, 0].copy(), chosen[:, 1].copy()), n


_TRIED = 20  # vertices of a component that are tried


def _least(
    members: Vertices, degrees: Sequence[Degrees], apart: Apart, symmetric: bool
) -> tuple[int, int, int]:
    """Vertex, direction and number of edges that make the degree of the vertex free; the fewest found."""
    found = []
    for v in members.tolist():
        others = apart.others(v)
        taken = [set((degree[others] - degree[v]).tolist()) for degree in degrees]
        if symmetric:
            taken = [taken[0] | taken[1]]
        for phi, differences in enumerate(taken):
            more = next(m for m in range(1, len(differences) + 2) if m not in differences)
            found.append((more, v, phi))
    more, v, phi = min(found)
    return v, phi, more
