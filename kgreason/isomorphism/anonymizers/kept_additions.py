"""Additions of an earlier release of a series that stay in the next one.

An attacker who joins both releases finds an image of an unchanged subgraph again if its vertices and edges are still
there, with degrees that still differ. The synthetic vertices and edges of the earlier release are therefore part of the
graph to be augmented, as far as they change no attacked subgraph of the new original. Edges that stay have the released
weights of the earlier release, so that the rules derive the same from them: the original weights have no part in that.
Where the weight of another incoming edge does not fit, the weights of all edges into the vertex are drawn again,
synthetic ones included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices, Weights
from kgreason.graph.sorted_keys import places
from kgreason.graph.subgraphs.ordered_adjacency import undirected
from kgreason.isomorphism.anonymizers.assembly import labels_with_synthetic
from kgreason.isomorphism.anonymizers.augmentation import ball
from kgreason.isomorphism.anonymizers.weight_density import weights_of
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising
from kgreason.isomorphism.definition import Earlier


def released_weights(graph: KnowledgeGraph, earlier: Earlier) -> dict[str, Weights]:
    """Released weights of the edges of a graph in an earlier release, by relation, shape (m,).

    NaN for new edges, and for those of a pair of vertices with several edges of the relation.
    """
    number = {name: v for v, name in enumerate(earlier.names) if earlier.copy[v] == 0}
    place = np.array([number.get(name, -1) for name in graph.labels.tolist()], dtype=np.int64)
    found = {}
    for name, r in graph.relations.items():
        before = earlier.graph.relations[name]
        if r.weight is None or before.weight is None:
            continue
        theirs = before.source * earlier.graph.n + before.target
        order = np.argsort(theirs, kind="stable")
        keys, first, many = np.unique(theirs[order], return_index=True, return_counts=True)
        source, target = place[r.source], place[r.target]
        at, there = places(keys, np.where((source < 0) | (target < 0), -1, source * earlier.graph.n + target))
        _, pair, mine = np.unique(r.source * graph.n + r.target, return_inverse=True, return_counts=True)
        there &= mine[pair.reshape(-1)] == 1
        weights = np.full(len(r), np.nan)
        if len(keys):
            there &= many[at] == 1
            weights[there] = before.weight[order][first[at]][there]
        found[name] = weights
    return found


def with_kept(
    graph: KnowledgeGraph,
    earlier: Earlier,
    known: Mapping[str, Weights],
    noising: WeightNoising,
    x: int,
    rng: np.random.Generator,
) -> tuple[KnowledgeGraph, Vertices]:
    """Graph with new weights and the additions that stay, and the numbers of its synthetic vertices in the series.

    Edges whose ends are both gone or new, and edges between original vertices nearer than x, are left out; the others
    follow the original ones. `known` are the weights that original edges had in the earlier release.
    """
    known_vertices = {name: v for v, name in enumerate(graph.labels.tolist())}
    place = np.array([known_vertices.get(name, -1) for name in earlier.names], dtype=np.int64)
    others = np.flatnonzero(earlier.copy < 0)
    place[others] = graph.n + np.arange(len(others))
    near = _Near(graph, x)
    found = {}
    for name, r in earlier.graph.relations.items():
        added = r.take(earlier.synthetic[name])
        source, target = place[added.source], place[added.target]
        stays = (source >= 0) & (target >= 0)
        for i in np.flatnonzero(stays & (np.maximum(source, target) < graph.n)).tolist():
            stays[i] = not near(int(source[i]), int(target[i]))
        weight = None if added.weight is None else added.weight[stays]
        found[name] = Relation(source[stays], target[stays], weight)
    ends = np.concatenate([end for r in found.values() for end in (r.source, r.target)])
    used = np.unique(ends[ends >= graph.n])
    number = np.append(np.arange(graph.n), np.full(len(others), -1))
    number[used] = graph.n + np.arange(len(used))
    relations, redrawn = {}, {}
    for name, r in graph.relations.items():
        more = found[name]
        weight = None if r.weight is None or more.weight is None else np.append(r.weight, more.weight)
        source, target = np.append(r.source, number[more.source]), np.append(r.target, number[more.target])
        if name in known:
            redrawn[name] = np.isin(target, r.target[weights_of(r) != known[name]])
        relations[name] = replace(r, source=source, target=target, weight=weight)
    whole = KnowledgeGraph(labels_with_synthetic(graph, len(used)), relations)
    fixed = {name: len(r) for name, r in graph.relations.items()}
    return noising.again(whole, fixed, redrawn, rng), earlier.serial[others[used - graph.n]]


class _Near:
    """Whether two vertices are nearer than x in a graph."""

    def __init__(self, graph: KnowledgeGraph, x: int) -> None:
        self._adjacency, self._radius = undirected(graph), max(x - 1, 1)
        self._balls: dict[int, set[int]] = {}

    def __call__(self, u: int, v: int) -> bool:
        if u not in self._balls:
            self._balls[u] = set(np.flatnonzero(ball(*self._adjacency, u, self._radius)).tolist())
        return v in self._balls[u]
