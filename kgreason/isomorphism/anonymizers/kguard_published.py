"""KGUARD, published mode: use the isomorphic subgraphs of the graph, and add copies only where there are too few.

It provides images for k chosen members of each class only, so item 4 of Definition 4.1 may fail for other members; the
checker reports how many. Line 11 is read in its weaker form: vertices at the same position of chosen members differ in
degree, not all vertices related by a chain of isomorphisms (`images`).

References
----------
KGISO, Algorithm 3; docs/methods/kguard.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from kgreason.base.progress import Progress
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices
from kgreason.graph.subgraphs.enumeration import attacked_subgraphs
from kgreason.graph.subgraphs.ordered_adjacency import undirected
from kgreason.graph.subgraphs.patterns import Classes, classify
from kgreason.isomorphism.anonymizers.assembly import (
    Edges,
    Pairs,
    assemble,
    both_ways,
    check_diversity,
    check_vertices,
    is_symmetric,
    ties_to_largest,
)
from kgreason.isomorphism.anonymizers.augmentation import EdgeIndex, ball
from kgreason.isomorphism.anonymizers.degree_distributions import DegreeDistribution, Degrees
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising, exchanged
from kgreason.isomorphism.definition import Augmented, Guarantee
from kgreason.language.check.checked_program import CheckedProgram

IN, OUT = 0, 1

_SAMPLE = 20_000  # members of a large class among which disjoint ones are sought first
_RESTARTS = 8  # of the search for disjoint members
_ATTEMPTS = 20  # draws of weights for copies

Members = npt.NDArray[np.int64]  # one per row, in canonical order
# models and, row by row, their copies, whose vertices are in nothing else
Copied = list[tuple[Members, Members]]


@dataclass(frozen=True)
class PublishedKguard:
    """Anonymizer for one x, at most 6; smaller components are attacked as a whole."""

    k: int
    x: int
    trials: int
    max_subgraphs: int

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Make the augmented graph of Algorithm 3; refuses graphs with more than `max_subgraphs` subgraphs."""
        noising = WeightNoising.fit(graph, rules, self.trials)
        progress.step("Counting subgraphs")
        groups = attacked_subgraphs(graph, self.x, self.max_subgraphs)
        noised = noising.originals(rng, progress)
        build = _Build(noised, self.k, rng)
        for members in groups:
            progress.step(f"Classifying subgraphs of {members.shape[1]} vertices", len(members))
            build.fill(rules, members, progress)
        progress.note(f"{len(build.buckets):,} classes, {build.copied_subgraphs:,} copies of members")
        symmetric = is_symmetric(graph)
        ties = ties_to_largest(noised, (copy for _, copy in build.copied), rng)
        copies = {
            name: copied_edges(relation, graph.n, build.copied) for name, relation in noised.relations.items()
        }
        degrees = build.degrees(both_ways(ties) if symmetric else ties, copies.values())
        diversifier = Diversifier(noised, build.buckets, degrees, ties, self.x, rng, symmetric=symmetric)
        diversifier.run(progress)
        source = np.concatenate([ties[0], np.array(diversifier.source, dtype=np.int64)])
        target = np.concatenate([ties[1], np.array(diversifier.target, dtype=np.int64)])
        copies = reweighed(noised, build.copied, copies, noising, rng)
        augmented, fixed = assemble(noised, diversifier.n, copies, (source, target), rng, symmetric=symmetric)
        check_diversity(augmented, build.buckets)
        figures = {
            "vertices": graph.n,
            "edges": graph.m,
            "subgraphs": sum(map(len, groups)),
            "classes": len(build.buckets),
            "copied_subgraphs": build.copied_subgraphs,
            "vertices_added": augmented.n - graph.n,
            "edges_added": augmented.m - graph.m,
            "synthetic_edges": augmented.m - sum(fixed.values()),
            "new_vertices": diversifier.n - build.n,
        }
        weighed = noising.synthetic(augmented, fixed, rng, progress)
        return Augmented(weighed, Guarantee(self.k, self.x), figures, originals=graph.n)


@dataclass(eq=False)
class _Build:
    """Chosen subgraphs, with copies where a bucket has too few disjoint members."""

    graph: KnowledgeGraph
    k: int
    rng: np.random.Generator
    buckets: list[Members] = field(default_factory=list)
    copied: Copied = field(default_factory=list)

    def __post_init__(self) -> None:
        self.n = self.graph.n
        self.copied_subgraphs = 0

    def fill(self, rules: CheckedProgram, members: Members, progress: Progress) -> None:
        """Bucket subgraphs of one size and choose k of each bucket."""
        classes = classify(self.graph, rules, members, progress)
        degrees = (self.graph.in_degree(), self.graph.out_degree())
        for found in choose_disjoint(classes, self.k, degrees, self.rng):
            lacking, size = self.k - len(found), found.shape[1]
            if lacking:
                check_vertices(self.n + lacking * size)
                model = found[self.rng.integers(0, len(found), lacking)]
                copy = self.n + np.arange(lacking * size, dtype=np.int64).reshape(lacking, size)
                self.copied.append((model, copy))
                self.copied_subgraphs += lacking
                self.n += copy.size
                found = np.concatenate([found, copy])
            self.buckets.append(found)

    def degrees(self, ties: Pairs, copies: Collection[Edges]) -> tuple[Vertices, Vertices]:
        """In- and out-degree of originals and copies, ties included."""
        sources = np.concatenate([ties[0], *(edges.source for edges in copies)])
        targets = np.concatenate([ties[1], *(edges.target for edges in copies)])
        inner, outer = (np.bincount(ends, minlength=self.n) for ends in (targets, sources))
        inner[: self.graph.n] += self.graph.in_degree()
        outer[: self.graph.n] += self.graph.out_degree()
        return inner, outer


def choose_disjoint(
    classes: Classes, k: int, degrees: tuple[Vertices, Vertices], rng: np.random.Generator
) -> list[Members]:
    """Choose up to k pairwise disjoint members of each class, shape (1 .. k, x), by greedy search with restarts.

    Among the members disjoint from those already chosen, one is chosen whose vertices differ from theirs, position by
    position, in as many in- and out-degrees as possible.

    Examples
    --------
    >>> members = np.array([[0, 1], [1, 2], [3, 4]])
    >>> classes = Classes(np.zeros(3, dtype=np.int64), members, 1)
    >>> degree = np.array([1, 1, 1, 2, 2])
    >>> chosen = choose_disjoint(classes, 2, (degree, degree), np.random.default_rng(0))
    >>> chosen[0].shape, 3 in chosen[0]
    ((2, 2), True)
    """
    order = np.argsort(classes.ids, kind="stable")
    bounds = np.searchsorted(classes.ids[order], np.arange(classes.count + 1)).tolist()
    buckets = (classes.members[order[start:end]] for start, end in pairwise(bounds))
    return [_choose(bucket, k, degrees, rng) for bucket in buckets]


def _choose(bucket: Members, k: int, degrees: tuple[Vertices, Vertices], rng: np.random.Generator) -> Members:
    best = bucket[:0]
    if len(bucket) > _SAMPLE:
        best = _greedy(bucket[rng.choice(len(bucket), _SAMPLE, replace=False)], k, degrees, rng)
    for _ in range(min(_RESTARTS, len(bucket))):
        if len(best) == k:
            break
        found = _greedy(bucket, k, degrees, rng)
        best = found if len(found) > len(best) else best
    return best


def _greedy(bucket: Members, k: int, degrees: tuple[Vertices, Vertices], rng: np.random.Generator) -> Members:
    taken: list[Vertices] = []
    differs = np.ones((len(degrees), *bucket.shape), dtype=np.bool_)
    free = np.arange(len(bucket))
    while len(taken) < k and len(free):
        score = differs[:, free].sum(axis=(0, 2)) + rng.random(len(free))
        member = bucket[free[score.argmax()]]
        taken.append(member)
        free = free[~np.isin(bucket[free], member).any(axis=1)]
        for phi, degree in enumerate(degrees):
            differs[phi] &= degree[bucket] != degree[member]
    return np.array(taken, dtype=np.int64).reshape(-1, bucket.shape[1])


def copied_edges(relation: Relation, n: int, copied: Copied) -> Edges:
    """Edges of a relation inside each model, including parallel edges and loops, with renamed ends."""
    index = EdgeIndex.within(relation, n)
    sources, targets, rows = [], [], []
    for model, copy in copied:
        size = model.shape[1]
        one, other = (np.repeat(m, size, axis=1).ravel() for m in (model, copy))
        pair, row = index.rows(one, np.tile(model, (1, size)).ravel())
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
    """
    weighted = [name for name, e in edges.items() if e.weight is not None]
    n = max((int(copy.max(initial=-1)) + 1 for _, copy in copied), default=graph.n)
    alone = {name: Relation(e.source, e.target, e.weight) for name, e in edges.items()}
    current = KnowledgeGraph(np.arange(n).astype(object), alone)
    copy_of = np.full(current.n, -1, dtype=np.int64)
    unsettled = np.ones(sum(len(copy) for _, copy in copied), dtype=np.bool_)
    numbers = np.split(np.arange(len(unsettled)), np.cumsum([len(copy) for _, copy in copied]))
    for number, (_, copy) in zip(numbers, copied, strict=False):
        copy_of[copy] = number[:, None]
    wanted = _derived(graph, noising, [model for model, _ in copied])
    for _ in range(_ATTEMPTS if weighted else 0):
        if not unsettled.any():
            break
        rows = {name: unsettled[copy_of[edges[name].source]] for name in weighted}
        drawn = noising.copies(current, rng)
        tried = exchanged(current, drawn, rows)
        found = _derived(tried, noising, [copy for _, copy in copied])
        for number, now, before in zip(numbers, found, wanted, strict=False):
            unsettled[number] &= (now != before).any(axis=(1, 2, 3))
        settled = {name: row & ~unsettled[copy_of[edges[name].source]] for name, row in rows.items()}
        current = exchanged(current, drawn, settled)
    return {name: replace(e, weight=current.relations[name].weight) for name, e in edges.items()}


def _derived(
    graph: KnowledgeGraph, noising: WeightNoising, members: list[Members]
) -> list[npt.NDArray[np.bool_]]:
    if not noising.program.derived:
        return [np.zeros((len(rows), 0, 1, 1), dtype=np.bool_) for rows in members]
    reasoner = InducedReasoner(graph, noising.program)
    return [reasoner.derived(rows) for rows in members]


class Diversifier:
    """Adds edges until the images of every chosen vertex differ in both degrees.

    Vertices of `buckets`, the chosen subgraphs of each class, are copies from ``graph.n`` on. The current in- and
    out-degrees include the `ties`, the existing synthetic edges. Edges between original vertices nearer than x change
    attacked subgraphs and are avoided where possible. In a `symmetric` graph the reverse of every tie and of every
    added edge will be added, too; as in- and out-degrees are then equal, only in-degrees are processed.

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
        different = images(buckets, self.n)
        missing, reals = [], (graph.in_degree(), graph.out_degree())
        for phi in self._phis:
            order = [chosen[i] for i in rng.permutation(len(chosen))]
            fitted = DegreeDistribution.fit(reals[phi])
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

    The relation is not closed transitively: item 4 of Definition 4.1 requires that images of one vertex differ, and the
    transitive closure can be a huge class that would need as many different degrees.

    >>> images([np.array([[0, 1], [2, 3]])], 5)
    [{0, 2}, {1, 3}, {0, 2}, {1, 3}, set()]
    """
    return _grouped((row for bucket in buckets for row in bucket.T.tolist()), n)


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
    fitted: DegreeDistribution,
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
