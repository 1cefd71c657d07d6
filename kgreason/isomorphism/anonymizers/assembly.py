"""Assembly of augmented graphs, and their publication with random labels and row order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError
from kgreason.base.records import record
from kgreason.graph.copied_graph import CopiedGraph
from kgreason.graph.knowledge_graph import (
    Columns,
    KnowledgeGraph,
    Relation,
    Vertices,
    Weights,
    labels_with_synthetic,
)
from kgreason.isomorphism.definition import Augmented, Release
from kgreason.isomorphism.settings import MAX_VERTICES
from kgreason.release.mapping import fresh_labels, numbers, permutation

Pairs = tuple[Vertices, Vertices]  # sources and targets


@record(eq=False)
class Edges:
    """Edges to add to one relation."""

    source: Vertices
    target: Vertices
    weight: Weights | None

    def __len__(self) -> int:
        return len(self.source)


def is_symmetric(graph: KnowledgeGraph) -> bool:
    """Whether every edge except loops has its reverse in the same relation, and there is such an edge.

    One-way edges would be recognizable in such a graph, so its synthetic edges have to be symmetric, too.

    Examples
    --------
    >>> edges = [("a", "b"), ("b", "a"), ("c", "c")]
    >>> [is_symmetric(KnowledgeGraph.from_edges(edges[:end])) for end in (1, 2, 3)]
    [False, True, True]
    """
    source, target = graph.ends
    return bool((source != target).any()) and all(
        np.array_equal(np.sort(r.source * graph.n + r.target), np.sort(r.target * graph.n + r.source))
        for r in graph.relations.values()
    )


def both_ways(edges: Pairs) -> Pairs:
    """Append the reverse of every edge."""
    return np.concatenate(edges), np.concatenate(edges[::-1])


def assemble(
    graph: KnowledgeGraph,
    n: int,
    copies: Mapping[str, Edges],
    synthetic: Pairs,
    rng: np.random.Generator,
    *,
    symmetric: bool = False,
) -> tuple[KnowledgeGraph, dict[str, int]]:
    """Add vertices up to the number n, copied edges, and synthetic edges, if `symmetric` with their reverses.

    The weight of a synthetic edge, whose relation is random (see `assigned`), is 0 until it is drawn. Also returns for
    each relation the number of leading edges that are originals or copies.

    Raises
    ------
    AnonymizationError
        If there are synthetic edges but no relation.
    """
    ties, relations, fixed = assigned(graph, synthetic, rng, symmetric=symmetric), {}, {}
    for name, own in graph.relations.items():
        parts: list[Relation | Edges] = [own, copies[name]] if name in copies else [own]
        fixed[name] = sum(len(part) for part in parts)
        parts.append(Edges(*ties[name], np.zeros(len(ties[name][0]))))
        relations[name] = replace(
            own,
            source=np.concatenate([part.source for part in parts]),
            target=np.concatenate([part.target for part in parts]),
            weight=None
            if own.weight is None
            else np.concatenate([part.weight for part in parts if part.weight is not None]),
        )
    return KnowledgeGraph(labels_with_synthetic(graph, n - graph.n), relations), fixed


def assigned(
    graph: KnowledgeGraph, synthetic: Pairs, rng: np.random.Generator, *, symmetric: bool = False
) -> dict[str, Pairs]:
    """Assign synthetic edges to random relations in proportion to their sizes, if `symmetric` with their reverses.

    Raises
    ------
    AnonymizationError
        If there are synthetic edges but no relation.
    """
    names = list(graph.relations)
    if len(synthetic[0]) and not names:
        raise AnonymizationError(
            "the graph has no relation, so it can have no synthetic edges",
            hint="name the predicate of its edges with @edge",
        )
    of = _proportional(graph, len(synthetic[0]), rng)
    found = {name: _chosen(synthetic, of == number) for number, name in enumerate(names)}
    return {name: both_ways(ends) for name, ends in found.items()} if symmetric else found


def _chosen(edges: Pairs, chosen: npt.NDArray[np.bool_]) -> Pairs:
    return edges if chosen.all() else (edges[0][chosen], edges[1][chosen])


def _proportional(graph: KnowledgeGraph, count: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    sizes = np.array([len(r) for r in graph.relations.values()], dtype=np.float64)
    if not len(sizes) or not count:
        return np.zeros(count, dtype=np.int32)
    share = sizes / sizes.sum() if sizes.sum() else np.full(len(sizes), 1 / len(sizes))
    return rng.choice(len(sizes), count, p=share).astype(np.int32)


def publish(
    augmented: Augmented,
    avoid_labels: Collection[str] | None,
    rng: np.random.Generator | None,
    given: Sequence[str] | None = None,
) -> Release:
    """Permute vertices and rows at random, assign random labels, drop attributes.

    No label is one of `avoid_labels`, those of the original graph; `None`: the labels are the numbers 1 to n, assigned
    at random regardless of the original labels. Labels are drawn from those `given`, if any are: which vertex has
    which, and which are left over, is random. `rng` is for experiments; `None`: the random source of the operating
    system, as published labels could reveal the state of a generator that is not cryptographic, and with it the
    permutation.

    Examples
    --------
    >>> from kgreason.isomorphism.definition import Guarantee
    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.5), ("b", "c", 0.25)])
    >>> augmented = Augmented(graph, Guarantee(1, None), originals=2)
    >>> release = publish(augmented, ["a", "b", "c"], None)
    >>> release.graph.n, release.mapping.shape, {len(label) for label in release.graph.labels}
    (3, (2,), {10})
    """
    graph = augmented.made
    number = permutation(graph.n, rng)
    relations = {name: _shuffled(r, number, rng) for name, r in graph.relations.items()}
    if given is not None:
        check_enough(given, graph.n)
        labels = np.array(given, dtype=object)[permutation(len(given), rng)[: graph.n]]
    else:
        labels = numbers(graph.n) if avoid_labels is None else fresh_labels(graph.n, rng, avoid_labels)
    originals = graph.n if augmented.originals is None else augmented.originals
    published = KnowledgeGraph(labels, relations)
    copies = None if augmented.copies is None else number[augmented.copies]
    serials = np.zeros(graph.n, dtype=np.int64)
    serials[number[originals:]] = (
        1 + np.arange(graph.n - originals) if augmented.serials is None else augmented.serials
    )
    found = (
        augmented.guarantee,
        augmented.figures,
        augmented.parts,
        copies,
        augmented.answers,
        augmented.plans,
        serials,
    )
    return Release(published, number[:originals], *found)


def check_enough(labels: Sequence[str], vertices: int) -> None:
    """Raise `AnonymizationError` if there are fewer labels than the release has, or will at least have, vertices."""
    if len(labels) < vertices:
        raise AnonymizationError(
            f"{vertices:,} vertices or more need labels, and {len(labels):,} are given",
            hint=f"list at least {vertices - len(labels):,} more",
        )


def _shuffled(relation: Columns, number: Vertices, rng: np.random.Generator | None) -> Relation:
    rows = permutation(len(relation), rng)
    source, target = (number[getattr(relation, ends)[rows]] for ends in ("source", "target"))
    weight = relation.weight
    return Relation(source, target, None if weight is None else weight[rows], relation.columns)


def check_vertices(count: int) -> None:
    """Raise `AnonymizationError` for a release of more than `MAX_VERTICES` vertices."""
    if count > MAX_VERTICES:
        raise AnonymizationError(
            f"the release would have {count:,} vertices or more, beyond {MAX_VERTICES:,}",
            hint="choose a smaller k or x",
        )


def check_diversity(graph: KnowledgeGraph | CopiedGraph, buckets: Iterable[Vertices]) -> None:
    """Check the postcondition that images are disjoint and differ in in- and in out-degree.

    Each bucket is a set of mutual images, shape (k, vertices), position by position. A `RuntimeError` is a defect of
    the algorithm.
    """
    for degree in (graph.in_degree(), graph.out_degree(), np.arange(graph.n)):
        for bucket in buckets:
            ordered = np.sort(degree[bucket], axis=0)
            if (ordered[1:] == ordered[:-1]).any():
                raise RuntimeError("two images of a vertex were left with equal degrees")


def ties_to_largest(graph: KnowledgeGraph, more: Iterable[Vertices], rng: np.random.Generator) -> Pairs:
    """Random edges that tie every other component, and a random vertex of each row of `more`, to the largest one."""
    count, component = graph.components()
    if not count:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    largest = int(np.bincount(component).argmax())
    shuffled = rng.permutation(graph.n)
    _, first = np.unique(component[shuffled], return_index=True)
    others = [rng.permuted(rows, axis=1)[:, 0] for rows in more]
    inner = np.concatenate([np.delete(shuffled[first], largest), *others])
    outer = rng.choice(np.flatnonzero(component == largest), len(inner))
    forth = rng.random(len(inner)) < 0.5
    return np.where(forth, inner, outer), np.where(forth, outer, inner)
