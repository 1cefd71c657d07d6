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
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices, Weights, labels_with_synthetic
from kgreason.graph.sorted_keys import places
from kgreason.graph.subgraphs.ordered_adjacency import undirected
from kgreason.isomorphism.anonymizers.assembly import is_symmetric
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


@record(eq=False)
class Kept:
    """Additions of an earlier release that stay.

    Attributes
    ----------
    edges
        Synthetic edges by relation, with their released weights. Vertex v of copy j has number ``j * n + v``; new
        vertices follow the copies.
    serials
        Number in the series of each new vertex.
    """

    edges: Mapping[str, Relation]
    serials: Vertices

    @classmethod
    def of(cls, graph: KnowledgeGraph, earlier: Earlier, k: int, apart: int = 0) -> Kept:
        """Find the additions whose vertices still exist, of a release with k copies of the original (itself included).

        Edges between original vertices nearer than `apart` in the graph are left out. If the graph is symmetric, the
        reverse of each edge stays, too.
        """
        number = {name: v for v, name in enumerate(graph.labels.tolist())}
        place = np.array([number.get(name, -1) for name in earlier.names], dtype=np.int64)
        first, others = k * graph.n, np.flatnonzero(earlier.copy < 0)
        place = np.where(place >= 0, place + earlier.copy * graph.n, -1)
        place[others] = first + np.arange(len(others))
        symmetric = is_symmetric(graph)
        found = {}
        for name in graph.relations:
            added = earlier.graph.relations[name].take(earlier.synthetic[name])
            source, target = place[added.source], place[added.target]
            stays = (source >= 0) & (target >= 0)
            if apart:
                stays &= ~_near(graph, source, target, apart)
            weight = None if added.weight is None else added.weight[stays]
            found[name] = Relation(source[stays], target[stays], weight)
            if symmetric:
                found[name] = _both_ways(found[name], first + len(others))
        none = np.empty(0, dtype=np.int64)
        used = np.unique(
            np.concatenate([none, *(end for r in found.values() for end in (r.source, r.target))])
        )
        used = used[used >= first]
        numbers = np.append(np.arange(first), np.full(len(others), -1))
        numbers[used] = first + np.arange(len(used))
        edges = {n: Relation(numbers[r.source], numbers[r.target], r.weight) for n, r in found.items()}
        return cls(edges, earlier.serial[others[used - first]])


def _near(graph: KnowledgeGraph, source: Vertices, target: Vertices, apart: int) -> npt.NDArray[np.bool_]:
    """Whether ends of edges are nearer than `apart` in the graph; new and missing vertices are near to nothing."""
    adjacency, near = undirected(graph), np.zeros(len(source), dtype=np.bool_)
    inside = np.flatnonzero((np.minimum(source, target) >= 0) & (np.maximum(source, target) < graph.n))
    for u in np.unique(source[inside]).tolist():
        rows = inside[source[inside] == u]
        near[rows] = ball(*adjacency, u, apart - 1)[target[rows]]
    return near


def _both_ways(r: Relation, n: int) -> Relation:
    """Add the reverse of each edge that has none, with the same weight."""
    lacks = ~np.isin(r.target * n + r.source, r.source * n + r.target)
    weight = None if r.weight is None else np.append(r.weight, r.weight[lacks])
    return Relation(np.append(r.source, r.target[lacks]), np.append(r.target, r.source[lacks]), weight)


def redrawn_targets(graph: KnowledgeGraph, known: Mapping[str, Weights]) -> dict[str, Vertices]:
    """Targets of the edges, by relation, whose weights are not the known ones of an earlier release."""
    relations = ((name, graph.relations[name]) for name in known)
    return {name: np.unique(r.target[weights_of(r) != known[name]]) for name, r in relations}


def with_kept(
    graph: KnowledgeGraph,
    earlier: Earlier,
    known: Mapping[str, Weights],
    noising: WeightNoising,
    x: int,
    rng: np.random.Generator,
) -> tuple[KnowledgeGraph, Vertices]:
    """Graph with new weights and the additions that stay, and the numbers of its synthetic vertices in the series.

    The additions follow the original edges. Edges between original vertices nearer than x would change attacked
    subgraphs and are left out. `known` are the weights that original edges had in the earlier release.
    """
    kept = Kept.of(graph, earlier, 1, max(x, 2))
    relations = {}
    for name, r in graph.relations.items():
        more = kept.edges[name]
        weight = None if r.weight is None or more.weight is None else np.append(r.weight, more.weight)
        source, target = np.append(r.source, more.source), np.append(r.target, more.target)
        relations[name] = replace(r, source=source, target=target, weight=weight)
    whole = KnowledgeGraph(labels_with_synthetic(graph, len(kept.serials)), relations)
    fixed = {name: len(r) for name, r in graph.relations.items()}
    return noising.again(whole, fixed, redrawn_targets(graph, known), rng), kept.serials
