"""From an augmented graph to one that may be shown: nothing in its form tells original from synthetic."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from kgreason.anonymizers.base import Augmented, Release
from kgreason.graph.labels import fresh_labels, numbers, permutation
from kgreason.graph.model import KnowledgeGraph, Relation, Vertices


def publish(
    augmented: Augmented, avoid_labels: Collection[str] | None, rng: np.random.Generator | None
) -> Release:
    """Permute vertices and rows at random, give opaque labels, drop attributes.

    Parameters
    ----------
    avoid_labels
        Labels that must not occur: those of the original graph. `None`: the labels are the numbers 1 to n, given at
        random whatever the original labels are.
    rng
        For experiments. `None`: the operating system's source, since labels are seen and could betray the state of
        a generator that is not made for secrets, and with it the permutation.

    References
    ----------
    docs/anonymization.md, Form; item 2 of Definition 4.1.

    Examples
    --------
    >>> from kgreason.anonymizers.base import Guarantee
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
