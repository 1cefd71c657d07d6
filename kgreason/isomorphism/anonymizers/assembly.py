"""Assembly of augmented graphs, and their publication with random labels and row order."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from kgreason.base.errors import AnonymizationError
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices, Weights
from kgreason.isomorphism.definition import Augmented, Release
from kgreason.release.mapping import fresh_labels, numbers, permutation


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges to add to one relation."""

    source: Vertices
    target: Vertices
    weight: Weights | None


Pairs = tuple[Vertices, Vertices]


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


def synthetic_labels(graph: KnowledgeGraph, count: int) -> list[str]:
    """Internal labels of new vertices; `publish` replaces all labels."""
    present = set(graph.labels.tolist())
    mark = "new"
    while any(label.startswith(mark) for label in present):
        mark += "'"
    return [f"{mark}{i}" for i in range(count)]


def assemble(
    graph: KnowledgeGraph,
    n: int,
    copies: Mapping[str, Edges],
    synthetic: Pairs,
    rng: np.random.Generator,
    *,
    symmetric: bool = False,
) -> tuple[KnowledgeGraph, dict[str, int]]:
    """Add vertices, copied edges and synthetic edges.

    Each synthetic edge is assigned to a random relation, in proportion to the sizes of the relations; its weight is 0
    until it is drawn.

    Parameters
    ----------
    n
        Number of vertices of the result.
    copies
        Copied edges by relation.
    synthetic
        Sources and targets of the synthetic edges.
    symmetric
        Whether to add the reverse of each synthetic edge to the same relation.

    Returns
    -------
    graph, fixed
        The augmented graph, and for each relation the number of leading edges that are originals or copies.

    Raises
    ------
    AnonymizationError
        If there are synthetic edges but no relation.
    """
    names, (source, target) = list(graph.relations), synthetic
    if len(source) and not names:
        raise AnonymizationError(
            "the graph has no relation, so it can have no synthetic edges",
            hint="name the predicate of its edges with @edge",
        )
    of = _proportional(graph, len(source), rng)
    relations, fixed = {}, {}
    for number, name in enumerate(names):
        relation, copied, chosen = graph.relations[name], copies.get(name), of == number
        parts: list[Relation | Edges] = [relation, copied] if copied else [relation]
        fixed[name] = sum(len(p.source) for p in parts)
        ends = source[chosen], target[chosen]
        new_source, new_target = both_ways(ends) if symmetric else ends
        new = Edges(new_source, new_target, np.zeros(len(new_source)))
        relations[name] = _joined(relation, [*parts, new])
    labels = np.concatenate(
        [graph.labels, np.array(synthetic_labels(graph, n - graph.n), dtype=object)], dtype=object
    )
    return KnowledgeGraph(labels, relations), fixed


def _proportional(graph: KnowledgeGraph, count: int, rng: np.random.Generator) -> Vertices:
    sizes = np.array([len(r) for r in graph.relations.values()], dtype=np.float64)
    if not len(sizes) or not count:
        return np.zeros(count, dtype=np.int64)
    share = sizes / sizes.sum() if sizes.sum() else np.full(len(sizes), 1 / len(sizes))
    return rng.choice(len(sizes), count, p=share).astype(np.int64)


def _joined(relation: Relation, parts: list[Relation | Edges]) -> Relation:
    weights = [p.weight for p in parts if p.weight is not None]
    return replace(
        relation,
        source=np.concatenate([p.source for p in parts]),
        target=np.concatenate([p.target for p in parts]),
        weight=None if relation.weight is None else np.concatenate(weights),
    )


def publish(
    augmented: Augmented, avoid_labels: Collection[str] | None, rng: np.random.Generator | None
) -> Release:
    """Permute vertices and rows at random, assign random labels, drop attributes.

    Parameters
    ----------
    avoid_labels
        Labels that must not occur: those of the original graph. `None`: the labels are the numbers 1 to n, assigned at
        random regardless of the original labels.
    rng
        For experiments. `None`: the random source of the operating system, as published labels could reveal the state
        of a generator that is not cryptographic, and with it the permutation.

    References
    ----------
    docs/anonymization.md, Form; item 2 of Definition 4.1.

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
    return Release(
        published, number[:originals], augmented.guarantee, augmented.figures, augmented.parts, copies
    )


def _shuffled(relation: Relation, number: Vertices, rng: np.random.Generator | None) -> Relation:
    rows = permutation(len(relation), rng)
    weight = None if relation.weight is None else relation.weight[rows]
    return replace(
        relation, source=number[relation.source[rows]], target=number[relation.target[rows]], weight=weight
    )
