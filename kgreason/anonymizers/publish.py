"""From an augmented graph to one that may be shown: nothing in its form tells original from synthetic."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.base import Augmented, Release
from kgreason.graph.model import KnowledgeGraph, Relation, Vertices

_LETTERS = np.array(list("abcdefghjkmnpqrstuvwxyz"))
_SIGNS = np.array(list("abcdefghjkmnpqrstuvwxyz23456789"))
_LENGTH = 10


def publish(augmented: Augmented, avoid_labels: Collection[str], rng: np.random.Generator | None) -> Release:
    """Permute vertices and rows at random, give opaque labels, drop attributes.

    Parameters
    ----------
    avoid_labels
        Labels that must not occur: those of the original graph.
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
    labels = fresh_labels(graph.n, rng, avoid_labels)
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


def fresh_labels(
    count: int, rng: np.random.Generator | None, avoid: Collection[str] = ()
) -> npt.NDArray[np.object_]:
    """Draw distinct labels of one length; they start with a letter, lest readers take them for numbers."""
    avoid = set(avoid)
    found: dict[str, None] = {}
    while len(found) < count:
        drawn = _spelled(_words(count - len(found), rng))
        found.update((label, None) for label in drawn if label not in avoid)
    return np.array(list(found), dtype=object)


def _spelled(words: npt.NDArray[np.uint64]) -> list[str]:
    signs = np.empty((len(words), _LENGTH), dtype="<U1")
    words, first = np.divmod(words, np.uint64(len(_LETTERS)))
    signs[:, 0] = _LETTERS[first]
    for i in range(1, _LENGTH):
        words, sign = np.divmod(words, np.uint64(len(_SIGNS)))
        signs[:, i] = _SIGNS[sign]
    spelled: list[str] = signs.view(f"<U{_LENGTH}").ravel().tolist()
    return spelled


def permutation(count: int, rng: np.random.Generator | None) -> Vertices:
    """Draw an order of so many things, from the operating system's source where no generator is given."""
    return np.argsort(_words(count, rng), kind="stable").astype(np.int64)


def _words(count: int, rng: np.random.Generator | None) -> npt.NDArray[np.uint64]:
    """Random 64-bit words, shape (count,)."""
    if rng is None:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
    return rng.integers(0, 2**64, count, dtype=np.uint64)
