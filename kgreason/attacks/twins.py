"""Twins of a graph: what another sample of the same population may look like.

A twin has nobody's relationships, so what an attacker finds by knowing it he would find without the data.

References
----------
M. Giomi, F. Boenisch, C. Wehmeyer, B. Tasnádi: A unified framework for quantifying privacy risk in synthetic data
(Anonymeter), 2022: attacks on a control set. S. Maslov, K. Sneppen: Specificity and stability in topology of protein
networks, Science 296, 2002: rewiring that keeps degrees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.graph.model import KnowledgeGraph, Relation

Ints = npt.NDArray[np.int64]
Change = Callable[[Ints, Ints, int, np.random.Generator, bool], tuple[Ints, Ints]]
"""Of sources, targets, the number of vertices, a generator, and whether direction does not matter."""

SWAPS = 10  # offered to each edge
DRAWS = 20  # of new ends for edges that would be loops or stand twice


def rewired(graph: KnowledgeGraph, rng: np.random.Generator) -> KnowledgeGraph:
    """Exchange the sources of random pairs of edges: each vertex keeps its in- and out-degree in each relation.

    A weight stays with the target, so that sums of incoming weights stay as they are. A relation that has the reverse
    of each edge has so afterwards; its weights go with the edges. No loop and no parallel edge is made.
    """
    return _each(graph, rng, _swap)


def redrawn(graph: KnowledgeGraph, rng: np.random.Generator) -> KnowledgeGraph:
    """Draw the ends of all edges anew, uniformly: only the numbers of vertices and edges and the weights stay."""
    return _each(graph, rng, _draw)


def _each(graph: KnowledgeGraph, rng: np.random.Generator, change: Change) -> KnowledgeGraph:
    relations = {}
    for name, r in graph.relations.items():
        half = _half(r, graph.n)
        if half is None:
            source, target = change(r.source, r.target, graph.n, rng, False)
            relations[name] = replace(r, source=source, target=target)
        else:
            forth, back = half
            source, target = change(r.source[forth], r.target[forth], graph.n, rng, True)
            weight = None if r.weight is None else r.weight[np.concatenate([forth, back])]
            ends = np.concatenate([source, target]), np.concatenate([target, source])
            relations[name] = Relation(*ends, weight, r.columns)
    return replace(graph, relations=relations)


def _half(r: Relation, n: int) -> tuple[Ints, Ints] | None:
    """Edges and their reverses, where each has one and none stands twice."""
    keys, mirrored = r.source * n + r.target, r.target * n + r.source
    forth = np.flatnonzero(r.source < r.target)
    order = np.argsort(keys)
    if 2 * len(forth) != len(r) or len(np.unique(keys)) != len(r):
        return None
    place = np.searchsorted(keys[order], mirrored[forth])
    back = order[np.minimum(place, len(r) - 1)] if len(r) else order
    return (forth, back) if np.array_equal(keys[back], mirrored[forth]) else None


def _swap(
    source: Ints, target: Ints, n: int, rng: np.random.Generator, undirected: bool
) -> tuple[Ints, Ints]:
    source, target = source.copy(), target.copy()
    half = len(source) // 2
    for _ in range(SWAPS):
        if undirected:  # which end of an edge counts as its source is drawn each time
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
    """Which keys stand only once."""
    _, place, count = np.unique(keys, return_inverse=True, return_counts=True)
    single: npt.NDArray[np.bool_] = (count == 1)[place.reshape(-1)]
    return single
