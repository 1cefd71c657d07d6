"""KGUARD, published mode: use the isomorphic subgraphs of the graph, and add copies only where there are too few.

It provides images for k chosen members of each class only, so item 4 of Definition 4.1 may fail for other members; the
checker reports how many. Line 11 is read in its weaker form unless `literal`: vertices at the same position of chosen
members differ in degree, not all chosen vertices related by a chain of isomorphisms (`images`, `partitioned`).

References
----------
KGISO, Algorithm 3; docs/methods/kguard.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from kgreason.base.progress import Progress
from kgreason.base.records import record
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices, Weights
from kgreason.graph.subgraphs.enumeration import attacked_subgraphs
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
from kgreason.isomorphism.anonymizers.augmentation import EdgeIndex
from kgreason.isomorphism.anonymizers.degree_distributions import Draws
from kgreason.isomorphism.anonymizers.degree_diversity import Diversifier, Members, classes_of
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising, exchanged
from kgreason.isomorphism.definition import Augmented, Guarantee
from kgreason.language.check.checked_program import CheckedProgram

_SAMPLE = 20_000  # members of a large class among which disjoint ones are sought first
_RESTARTS = 8  # of the search for disjoint members
_ATTEMPTS = 20  # draws of weights for copies

# models and, row by row, their copies, whose vertices are in nothing else
Copied = list[tuple[Members, Members]]


@record
class PublishedKguard:
    """Anonymizer for one x, at most 6; smaller components are attacked as a whole.

    If `literal`, vertices differ in degree as line 11 of Algorithm 3 says: in classes that chains of images form.
    `weights` and `degrees` (in, out) are distributions instead of those of the graph.
    """

    k: int
    x: int
    trials: int
    max_subgraphs: int
    literal: bool = False
    weights: Weights | None = None
    degrees: tuple[Draws | None, Draws | None] = (None, None)

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Make the augmented graph of Algorithm 3; refuses graphs with more than `max_subgraphs` subgraphs."""
        noising = WeightNoising.fit(graph, rules, self.trials, self.weights)
        progress.step("Counting subgraphs")
        groups = attacked_subgraphs(graph, self.x, self.max_subgraphs)
        noised = noising.originals(rng, progress)
        build = _Build(noised, self.k, rng, np.arange(graph.n) if self.literal else None)
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
        diversifier = Diversifier(
            *(noised, build.buckets, degrees, ties, self.x, rng),
            symmetric=symmetric,
            different=build.different,
            distributions=self.degrees,
        )
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
    """Chosen subgraphs, with copies where a bucket has too few disjoint members.

    The `partition` of all vertices that line 11 makes, if it is wanted, has a number for each class.
    """

    graph: KnowledgeGraph
    k: int
    rng: np.random.Generator
    partition: Vertices | None = None
    buckets: list[Members] = field(default_factory=list)
    copied: Copied = field(default_factory=list)

    def __post_init__(self) -> None:
        self.n = self.graph.n
        self.copied_subgraphs = 0

    def fill(self, rules: CheckedProgram, members: Members, progress: Progress) -> None:
        """Bucket subgraphs of one size and choose k of each bucket."""
        classes = classify(self.graph, rules, members, progress)
        if self.partition is not None:
            self.partition = partitioned(self.partition, classes)
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

    @property
    def different(self) -> list[set[int]] | None:
        """Vertices whose degrees must differ from that of each vertex by the partition, if there is one."""
        if self.partition is None:
            return None
        numbers = np.append(self.partition, np.zeros(self.n - self.graph.n, dtype=np.int64))
        for model, copy in self.copied:
            numbers[copy] = numbers[model]
        return classes_of(numbers, self.buckets, self.n)

    def degrees(self, ties: Pairs, copies: Collection[Edges]) -> tuple[Vertices, Vertices]:
        """In- and out-degree of originals and copies, ties included."""
        sources = np.concatenate([ties[0], *(edges.source for edges in copies)])
        targets = np.concatenate([ties[1], *(edges.target for edges in copies)])
        inner, outer = (np.bincount(ends, minlength=self.n) for ends in (targets, sources))
        inner[: self.graph.n] += self.graph.in_degree()
        outer[: self.graph.n] += self.graph.out_degree()
        return inner, outer


def partitioned(partition: Vertices, classes: Classes) -> Vertices:
    """Join the parts of vertices that isomorphisms between any two subgraphs map onto each other (line 11).

    `partition` has for each vertex the first one of its part, shape (n,), and so has the result. Isomorphisms are those
    between all subgraphs that line 3 finds, not only chosen ones, and of a subgraph onto itself.

    >>> classes = Classes(np.zeros(2, dtype=np.int64), np.array([[0, 1], [2, 1]]), 1)
    >>> partitioned(np.arange(4), classes).tolist()
    [0, 1, 0, 3]
    """
    n, x = len(partition), classes.members.shape[1]
    orbit = np.tile(np.arange(x), (classes.count, 1))  # of each position of a class under its automorphisms
    if classes.forms is not None:
        first, turns = classes.forms.turns()
        if classes.count:
            orbit = np.minimum.reduceat(turns, first[:-1], axis=0)
    place = n + classes.ids[:, None] * x + orbit[classes.ids]
    ends = np.append(np.arange(n), classes.members.ravel()), np.append(partition, place.ravel())
    size = max(n + classes.count * x, 1)
    steps = coo_array((np.ones(len(ends[0]), dtype=np.bool_), ends), shape=(size, size))
    number = connected_components(steps, directed=False)[1][:n]
    _, first_of, part = np.unique(number, return_index=True, return_inverse=True)
    return first_of[part].astype(np.int64)


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
