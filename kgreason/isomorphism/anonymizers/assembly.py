"""Assembly of augmented graphs, and their publication with random labels and row order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices, Weights
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


@record(eq=False)
class CopiedEdges:
    """Copies 1 to k - 1 of the edges of a relation between n vertices, then further edges; made column by column."""

    relation: Relation
    k: int
    n: int
    more: Edges | Relation | None = None

    def __len__(self) -> int:
        return (self.k - 1) * len(self.relation) + (0 if self.more is None else len(self.more))

    @property
    def source(self) -> Vertices:
        """Sources; vertex v of copy i has number ``i * n + v``."""
        return self._copied(self.relation.source, None if self.more is None else self.more.source)

    @property
    def target(self) -> Vertices:
        """Targets."""
        return self._copied(self.relation.target, None if self.more is None else self.more.target)

    @property
    def weight(self) -> Weights | None:
        """Weights, if the edges have some."""
        weight = self.relation.weight
        if weight is None or self.more is None:
            return None if weight is None else np.tile(weight, self.k - 1)
        more = self.more.weight
        return np.concatenate([np.tile(weight, self.k - 1), *([] if more is None else [more])])

    def _copied(self, ends: Vertices, more: Vertices | None) -> Vertices:
        copied = (np.arange(1, self.k)[:, None] * self.n + ends).reshape(-1)
        return copied if more is None else np.append(copied, more)


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


def labels_with_synthetic(graph: KnowledgeGraph, count: int) -> npt.NDArray[np.object_]:
    """Labels of a graph and internal labels of new vertices; `publish` replaces all labels."""
    mark = "new"
    while count and any(label.startswith(mark) for label in graph.labels.tolist()):
        mark += "'"
    return np.concatenate([graph.labels, np.array([f"{mark}{i}" for i in range(count)], dtype=object)])


def assemble(
    graph: KnowledgeGraph,
    n: int,
    copies: Mapping[str, Edges | CopiedEdges],
    synthetic: Pairs,
    rng: np.random.Generator,
    *,
    symmetric: bool = False,
) -> tuple[KnowledgeGraph, dict[str, int]]:
    """Add vertices up to the number n, copied edges, and synthetic edges, if `symmetric` with their reverses.

    Each synthetic edge is assigned to a random relation, in proportion to the sizes of the relations; its weight is 0
    until it is drawn. Also returns for each relation the number of leading edges that are originals or copies.

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
    relations, fixed = {}, {}
    for number, name in enumerate(names):
        own = graph.relations[name]
        parts: list[Relation | Edges | CopiedEdges] = [own, copies[name]] if name in copies else [own]
        fixed[name] = sum(len(part) for part in parts)
        starts, stops = _chosen(synthetic, of == number)
        if symmetric:
            starts, stops = both_ways((starts, stops))
        parts.append(Edges(starts, stops, np.zeros(len(starts))))
        relations[name] = replace(
            own,
            source=np.concatenate([part.source for part in parts]),
            target=np.concatenate([part.target for part in parts]),
            weight=None
            if own.weight is None
            else np.concatenate([part.weight for part in parts if part.weight is not None]),
        )
    return KnowledgeGraph(labels_with_synthetic(graph, n - graph.n), relations), fixed


def _chosen(edges: Pairs, chosen: npt.NDArray[np.bool_]) -> Pairs:
    return edges if chosen.all() else (edges[0][chosen], edges[1][chosen])


def _proportional(graph: KnowledgeGraph, count: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    sizes = np.array([len(r) for r in graph.relations.values()], dtype=np.float64)
    if not len(sizes) or not count:
        return np.zeros(count, dtype=np.int32)
    share = sizes / sizes.sum() if sizes.sum() else np.full(len(sizes), 1 / len(sizes))
    return rng.choice(len(sizes), count, p=share).astype(np.int32)


def publish(
    augmented: Augmented, avoid_labels: Collection[str] | None, rng: np.random.Generator | None
) -> Release:
    """Permute vertices and rows at random, assign random labels, drop attributes.

    No label is one of `avoid_labels`, those of the original graph; `None`: the labels are the numbers 1 to n, assigned
    at random regardless of the original labels. `rng` is for experiments; `None`: the random source of the operating
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
    graph = augmented.graph
    number = permutation(graph.n, rng)
    relations = {name: _shuffled(r, number, rng) for name, r in graph.relations.items()}
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


def _shuffled(relation: Relation, number: Vertices, rng: np.random.Generator | None) -> Relation:
    rows = permutation(len(relation), rng)
    weight = None if relation.weight is None else relation.weight[rows]
    return replace(
        relation, source=number[relation.source[rows]], target=number[relation.target[rows]], weight=weight
    )


def check_vertices(count: int) -> None:
    """Raise `AnonymizationError` for a release of more than `MAX_VERTICES` vertices."""
    if count > MAX_VERTICES:
        raise AnonymizationError(
            f"the release would have {count:,} vertices or more, beyond {MAX_VERTICES:,}",
            hint="choose a smaller k or x",
        )


def check_diversity(graph: KnowledgeGraph, buckets: Iterable[Vertices]) -> None:
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
