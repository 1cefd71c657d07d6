"""Items 1 and 3 of Definition 4.1: original edges are kept (or known to be given up), their weights are not.

What k-Iso changes besides is counted here, too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kgreason.graph.model import KnowledgeGraph, Relation, Vertices


def kept_edges(
    original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, name: str
) -> Iterator[str]:
    """Say which pairs of vertices have fewer edges of a relation in the release than in the original."""
    keys, counts, present = _pairs(original, released, mapping, name)
    for i in np.flatnonzero(present < counts):
        edge = _edge(original, released, mapping, name, int(keys[i]))
        yield f"{edge}: {counts[i]} in the original, {present[i]} in the release"


def lost_edges(original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices) -> int:
    """Count the original edges that the release lacks."""
    lost = 0
    for name in original.relations:
        _, counts, present = _pairs(original, released, mapping, name)
        lost += int(np.maximum(counts - present, 0).sum())
    return lost


def _pairs(
    original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, name: str
) -> tuple[Vertices, Vertices, Vertices]:
    """Pairs of vertices with original edges of a relation, and how many these have there and in the release."""
    mine, theirs = original.relations[name], released.relations.get(name)
    keys, counts = np.unique(_keys(mine, mapping, released.n), return_counts=True)
    present = np.zeros(len(keys), dtype=np.int64)
    if theirs is not None:
        known, numbers = np.unique(_keys(theirs, np.arange(released.n), released.n), return_counts=True)
        position = np.searchsorted(known, keys)
        found = np.isin(keys, known)
        present[found] = numbers[position[found]]
    return keys, counts, present


def standing_weights(
    original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, name: str
) -> Iterator[str]:
    """Say which weights the release has where the original has them, whichever edges of a pair are left."""
    mine, theirs = original.relations[name], released.relations.get(name)
    if mine.weight is None or theirs is None or theirs.weight is None:
        return
    before = zip(_keys(mine, mapping, released.n).tolist(), mine.weight.tolist(), strict=True)
    after = zip(
        _keys(theirs, np.arange(released.n), released.n).tolist(), theirs.weight.tolist(), strict=True
    )
    for key, weight in sorted(set(before) & set(after)):
        yield f"{_edge(original, released, mapping, name, key)} still has the weight {weight}"


def kept_weights(
    original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, name: str
) -> Iterator[str]:
    """Say which original weights cannot be told from released ones.

    Of parallel edges the release does not say which is which: it is enough that each original edge can be
    given a released one of another weight. By Hall's theorem this fails only if some weight occurs more often
    among the originals of a pair than the release has other weights there. Pairs that lack edges are left to
    item 1.
    """
    mine, theirs = original.relations[name], released.relations.get(name)
    if mine.weight is None or theirs is None:
        return
    if theirs.weight is None:
        yield f"{name}: the release has no weights"
        return
    keys = _keys(mine, mapping, released.n)
    their_keys = _keys(theirs, np.arange(released.n), released.n)
    shared = np.isin(their_keys, keys)
    their_keys = their_keys[shared]
    _, pair = np.unique(np.concatenate([keys, their_keys]), return_inverse=True)
    values, weight = np.unique(
        np.concatenate([mine.weight, theirs.weight[shared]]), return_inverse=True, equal_nan=False
    )
    edge, first, which = np.unique(
        pair.reshape(-1) * len(values) + weight.reshape(-1), return_index=True, return_inverse=True
    )
    before, after = np.split(which.reshape(-1), [len(keys)])
    number, there = (np.bincount(part, minlength=len(edge)) for part in (before, after))
    pairs = edge // max(len(values), 1)
    total, count = (np.bincount(pairs, part).astype(np.int64)[pairs] for part in (number, there))
    kept = np.flatnonzero((number > 0) & (total <= count) & (number > count - there))
    for i in kept[np.argsort(first[kept])]:
        words = _edge(original, released, mapping, name, int(keys[first[i]]))
        yield f"{words} still has the weight {float(mine.weight[first[i]])}"


def _keys(relation: Relation, mapping: Vertices, n: int) -> Vertices:
    return mapping[relation.source] * n + mapping[relation.target]


def _edge(original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, name: str, key: int) -> str:
    """Name an edge by its released labels and, in brackets, the original ones."""
    ends = []
    for v in divmod(key, released.n):
        (u,) = np.flatnonzero(mapping == v)
        ends.append(f"{released.labels[v]} (original {original.labels[u]})")
    return f"{name}: {' -> '.join(ends)}"
