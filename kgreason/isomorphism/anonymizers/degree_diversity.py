"""Synthetic edges that give the images of a subgraph different degrees.

References
----------
KGISO, Algorithm 3, lines 11 to 30; docs/methods/kguard.md, steps 5 and 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from kgreason.base.progress import Progress
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.graph.subgraphs.ordered_adjacency import undirected
from kgreason.isomorphism.anonymizers.augmentation import ball
from kgreason.isomorphism.anonymizers.degree_distributions import DegreeDistribution, Degrees, Draws

Members = npt.NDArray[np.int64]  # one per row, in canonical order
IN, OUT = 0, 1


class Diversifier:
    """Adds edges until the images of every chosen vertex differ in both degrees.

    Vertices of `buckets`, the chosen subgraphs of each class, are copies from ``graph.n`` on. The current in- and
    out-degrees include the `ties`, the existing synthetic edges. Edges between original vertices nearer than x change
    attacked subgraphs and are avoided where possible. In a `symmetric` graph the reverse of every tie and of every
    added edge will be added, too; as in- and out-degrees are then equal, only in-degrees are processed. `different`
    lists for each vertex those whose degrees must differ from its own; default: its `images`. New degrees are drawn
    from the `distributions` of in- and of out-degrees, or those fitted to the graph.

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
        buckets: Sequence[Members],
        degrees: tuple[Degrees, Degrees],
        ties: tuple[Vertices, Vertices],
        x: int,
        rng: np.random.Generator,
        *,
        symmetric: bool = False,
        different: Sequence[set[int]] | None = None,
        distributions: Sequence[Draws | None] = (None, None),
    ) -> None:
        self.n = len(degrees[IN])
        self.source: list[int] = []
        self.target: list[int] = []
        self._graph, self._x, self._rng = graph, x, rng
        self._phis = (IN,) if symmetric else (IN, OUT)
        self._names = ("degrees",) if symmetric else ("in-degrees", "out-degrees")
        self._near = undirected(graph)
        self._neighbours = (_grouped_ends(graph, IN), _grouped_ends(graph, OUT))
        # for each vertex, itself and the vertices of its chosen subgraphs; empty if it is in none
        self._companions = _grouped((row for bucket in buckets for row in bucket.tolist()), self.n)
        chosen = [v for v, others in enumerate(self._companions) if others]
        different = images(buckets, self.n) if different is None else different
        missing, reals = [], (graph.in_degree(), graph.out_degree())
        for phi in self._phis:
            order = [chosen[i] for i in rng.permutation(len(chosen))]
            fitted = distributions[phi] or DegreeDistribution.fit(reals[phi])
            missing.append(choose_apart(degrees[phi], order, different, fitted, rng) - degrees[phi])
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


def images(buckets: Sequence[Members], n: int) -> list[set[int]]:
    """For each vertex, itself and its images under isomorphisms of chosen subgraphs; empty if it is in none.

    The relation is not closed transitively, as line 11 of Algorithm 3 is (`classes_of`): item 4 of Definition 4.1
    requires that images of one vertex differ, and a class can be huge and need as many different degrees.

    >>> images([np.array([[0, 1], [2, 3]])], 5)
    [{0, 2}, {1, 3}, {0, 2}, {1, 3}, set()]
    """
    return _grouped((row for bucket in buckets for row in bucket.T.tolist()), n)


def classes_of(numbers: Vertices, buckets: Sequence[Members], n: int) -> list[set[int]]:
    """For each vertex of chosen subgraphs, all of these with its number in the partition of line 11; else empty.

    >>> classes_of(np.array([0, 1, 0, 1, 0]), [np.array([[0, 1], [2, 3]])], 5)
    [{0, 2}, {1, 3}, {0, 2}, {1, 3}, set()]
    """
    members: dict[int, set[int]] = {}
    found: list[set[int]] = [set() for _ in range(n)]
    for v in {v for bucket in buckets for v in bucket.ravel().tolist()}:
        found[v] = members.setdefault(int(numbers[v]), set())
        found[v].add(v)
    return found


def _grouped(rows: Iterable[list[int]], n: int) -> list[set[int]]:
    of: list[set[int]] = [set() for _ in range(n)]
    for row in rows:
        for v in row:
            of[v].update(row)
    return of


def _grouped_ends(graph: KnowledgeGraph, phi: int) -> tuple[Vertices, Vertices]:
    """CSR lists of the in- (phi = IN) or out-neighbours of each vertex."""
    source, target = graph.ends
    own, other = (target, source) if phi == IN else (source, target)
    indptr = np.zeros(graph.n + 1, dtype=np.int64)
    np.cumsum(np.bincount(own, minlength=graph.n), out=indptr[1:])
    return indptr, other[np.argsort(own, kind="stable")]


def choose_apart(
    degrees: Degrees,
    order: Iterable[int],
    different: Sequence[Iterable[int]],
    fitted: Draws,
    rng: np.random.Generator,
) -> Degrees:
    """Raise degrees so that each vertex differs from those `different` lists for it (ChooseDeg), in the `order`.

    >>> fitted = DegreeDistribution.fit(np.array([0]))
    >>> rng = np.random.default_rng(0)
    >>> choose_apart(np.array([2, 2, 2]), [0, 1, 2], [[1], [0, 2], [1]], fitted, rng).tolist()
    [2, 3, 2]
    """
    chosen = degrees.copy()
    settled: set[int] = set()
    for v in order:
        taken = {int(chosen[u]) for u in different[v] if u in settled}
        degree = int(chosen[v])
        while degree in taken:
            degree = max(degree + 1, int(fitted.draw(rng, 1)[0]))
        chosen[v] = degree
        settled.add(v)
    return chosen
