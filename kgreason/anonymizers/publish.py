"""From an augmented graph to one that may be shown: nothing in its form tells original from synthetic."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.base import Augmented, Release
from kgreason.graph.model import KnowledgeGraph, Relation, Vertices

_LETTERS = np.array(list("abcdefghjkmnpqrstuvwxyz"))
_SIGNS = np.array(list("abcdefghjkmnpqrstuvwxyz23456789"))
_LENGTH = 10


def publish(augmented: Augmented, rng: np.random.Generator, avoid_labels: Collection[str]) -> Release:
    """Permute vertices and rows at random, give opaque labels, drop attributes.

    Parameters
    ----------
    avoid_labels
        Labels that must not occur: those of the original graph.

    References
    ----------
    ANONYMIZATION.md §10 and item 2 of Definition 4.1.

    Examples
    --------
    >>> from kgreason.anonymizers.base import Guarantee
    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.5), ("b", "c", 0.25)])
    >>> augmented = Augmented(graph, Guarantee(1, None), originals=2)
    >>> release = publish(augmented, np.random.default_rng(0), ["a", "b", "c"])
    >>> release.graph.n, release.mapping.shape, {len(label) for label in release.graph.labels}
    (3, (2,), {10})
    """
    graph = augmented.graph
    number = rng.permutation(graph.n).astype(np.int64)
    relations = {name: _shuffled(r, number, rng) for name, r in graph.relations.items()}
    labels = fresh_labels(graph.n, rng, avoid_labels)
    originals = graph.n if augmented.originals is None else augmented.originals
    published = KnowledgeGraph(labels, relations)
    return Release(published, number[:originals], augmented.guarantee, augmented.figures)


def _shuffled(relation: Relation, number: Vertices, rng: np.random.Generator) -> Relation:
    rows = rng.permutation(len(relation))
    weight = None if relation.weight is None else relation.weight[rows]
    return replace(
        relation, source=number[relation.source[rows]], target=number[relation.target[rows]], weight=weight
    )


def fresh_labels(
    count: int, rng: np.random.Generator, avoid: Collection[str] = ()
) -> npt.NDArray[np.object_]:
    """Draw distinct labels of one length; they start with a letter, lest readers take them for numbers."""
    avoid = set(avoid)
    found: dict[str, None] = {}
    while len(found) < count:
        wanted = count - len(found)
        first = rng.choice(_LETTERS, (wanted, 1))
        rest = rng.choice(_SIGNS, (wanted, _LENGTH - 1))
        drawn = np.ascontiguousarray(np.concatenate([first, rest], axis=1)).view(f"<U{_LENGTH}").ravel()
        found.update((label, None) for label in drawn.tolist() if label not in avoid)
    return np.array(list(found), dtype=object)
