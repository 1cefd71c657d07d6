"""Randomized twins of a graph: degrees stay, relationships are random.

References
----------
S. Maslov, K. Sneppen: Specificity and stability in topology of protein networks, Science 296, 2002.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation

Ints = npt.NDArray[np.int64]
# Of sources, targets, the number of vertices, a generator, and whether direction does not matter.
Change = Callable[[Ints, Ints, int, np.random.Generator, bool], tuple[Ints, Ints]]

SWAPS = 10  # attempted swaps per edge
DRAWS = 20  # attempts to redraw the ends of loops and duplicate edges


def rewired(graph: KnowledgeGraph, rng: np.random.Generator) -> KnowledgeGraph:
    """Swap the sources of random pairs of edges: each vertex keeps its in- and out-degree in each relation.

    A weight stays with the target, so sums of incoming weights are preserved. A symmetric relation (with the reverse of
    each edge) stays symmetric; its weights stay with the edges. No loop and no parallel edge is created.
    """
    return _each(graph, rng, _swap)


def redrawn(graph: KnowledgeGraph, rng: np.random.Generator) -> KnowledgeGraph:
    """Redraw the ends of all edges uniformly: only the numbers of vertices and edges and the weights are kept."""
    return _each(graph, rng, _draw)


def _each(graph: KnowledgeGraph, rng: np.random.Generator, change: Change) -> KnowledgeGraph:
    relations = {}
    for name, r in graph.relations.items():
        if (half := _half(r, graph.n)) is None:
            source, target = change(r.source, r.target, graph.n, rng, False)
            relations[name] = replace(r, source=source, target=target)
        else:
            forth, _ = half
            source, target = change(r.source[forth], r.target[forth], graph.n, rng, True)
            ends = np.concatenate([source, target]), np.concatenate([target, source])
            relations[name] = replace(r.take(np.concatenate(half)), source=ends[0], target=ends[1])
    return replace(graph, relations=relations)


def _half(r: Relation, n: int) -> tuple[Ints, Ints] | None:
    """Edges and their reverses if the relation is symmetric without duplicates, else `None`."""
    keys, mirrored = r.source * n + r.target, r.target * n + r.source
    forth = np.flatnonzero(r.source < r.target)
    order = np.argsort(keys)
    if 2 * len(forth) != len(r) or len(np.unique(keys)) != len(r):
        return None
    at = np.searchsorted(keys[order], mirrored[forth])
    back = order[np.minimum(at, len(r) - 1)] if len(r) else order
    return (forth, back) if np.array_equal(keys[back], mirrored[forth]) else None


def _swap(
    source: Ints, target: Ints, n: int, rng: np.random.Generator, undirected: bool
) -> tuple[Ints, Ints]:
    source, target = source.copy(), target.copy()
    half = len(source) // 2
    for _ in range(SWAPS):
        if undirected:  # the end that counts as the source is drawn for each swap
            turned = rng.random(len(source)) < 0.5
            source[turned], target[turned] = target[turned], source[turned]
        order = rng.permutation(len(source))
        a, b = order[:half], order[half : 2 * half]
        new = np.concatenate(
            [_keys(source[b], target[a], n, undirected), _keys(source[a], target[b], n, undirected)]
        )
        fine = ~np.isin(new, _keys(source, target, n, undirected)) & _single(new)
        fine &= np.concatenate([source[b] != target[a], source[a] != target[b]])
        both = fine[:half] & fine[half:]
        a, b = a[both], b[both]
        source[a], source[b] = source[b], source[a]
    return source, target


def _draw(old: Ints, _target: Ints, n: int, rng: np.random.Generator, undirected: bool) -> tuple[Ints, Ints]:
    source, target = rng.integers(0, n, size=(2, len(old)))
    for _round in range(DRAWS):
        again = np.ones(len(old), dtype=np.bool_)
        again[np.unique(_keys(source, target, n, undirected), return_index=True)[1]] = False
        again |= source == target
        if not again.any():
            break
        source[again], target[again] = rng.integers(0, n, size=(2, int(again.sum())))
    return source, target


def _keys(source: Ints, target: Ints, n: int, undirected: bool) -> Ints:
    if undirected:
        source, target = np.minimum(source, target), np.maximum(source, target)
    return source * n + target


def _single(keys: Ints) -> npt.NDArray[np.bool_]:
    _, number, count = np.unique(keys, return_inverse=True, return_counts=True)
    return np.equal(count, 1)[number]
