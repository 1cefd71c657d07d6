"""Edges of a release that do not look as if they had been there before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.attacks.results import Filtered
from kgreason.attacks.world import kept
from kgreason.graph.model import KnowledgeGraph, Relation

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

CHUNK = 1 << 14  # edges whose detours are counted at once


def implausibility(graph: KnowledgeGraph) -> Floats:
    """Score each edge, of the relations in their order: 0 looks most like an original one, 1 least; shape (m,).

    The mean of up to three ranks, each from 0 to 1: how few ways of two or three other edges lead between the ends
    (KGUARD joins vertices that are far apart); how rare the in- and out-degree of the rarer end are (images must
    differ in degree); and, where there are weights, how small the weight is (synthetic ones get what room is left).

    Examples
    --------
    >>> ring = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "e"), ("e", "f"), ("f", "d")]
    >>> graph = KnowledgeGraph.from_edges([*ring, ("a", "d")])
    >>> int(implausibility(graph).argmax())
    6
    """
    scores = [_ranks(-np.log1p(_detours(graph))), _ranks(_rarity(graph))]
    weights = [r.weight for r in graph.relations.values()]
    if weights and all(w is not None for w in weights):
        scores.append(_ranks(-np.concatenate([w for w in weights if w is not None])))
    return np.asarray(np.mean(scores, axis=0))


def without_implausible(graph: KnowledgeGraph, count: int) -> tuple[KnowledgeGraph, Flags]:
    """Drop the least plausible edges; returns what is left, and which were dropped, shape (m,)."""
    order = np.argsort(-implausibility(graph), kind="stable")
    dropped = np.zeros(graph.m, dtype=np.bool_)
    dropped[order[:count]] = True
    relations: dict[str, Relation] = {}
    begin = 0
    for name, r in graph.relations.items():
        relations[name] = kept(r, ~dropped[begin : begin + len(r)])
        begin += len(r)
    return replace(graph, relations=relations), dropped


def synthetic(original: KnowledgeGraph, released: KnowledgeGraph, mapping: Ints) -> Flags:
    """Which edges of a release join vertices that no original edge of the relation joins; shape (m,)."""
    found = [np.empty(0, dtype=np.bool_)]
    for name, r in released.relations.items():
        own = original.relations[name]
        keys = mapping[own.source] * released.n + mapping[own.target]
        found.append(~np.isin(r.source * released.n + r.target, keys))
    return np.concatenate(found)


def judged(dropped: Flags, made: Flags) -> Filtered:
    """Count what of the dropped edges is synthetic."""
    return Filtered(len(made), int(dropped.sum()), int(made.sum()), int((dropped & made).sum()))


def _detours(graph: KnowledgeGraph) -> Floats:
    """Ways of two or three edges, whatever their direction, between the ends of each edge, without itself."""
    from scipy.sparse import coo_array

    source, target = graph.ends
    straight = source != target
    ends = (
        np.concatenate([source[straight], target[straight]]),
        np.concatenate([target[straight], source[straight]]),
    )
    near = coo_array((np.ones(len(ends[0])), ends), shape=(graph.n, graph.n)).tocsr()
    near.data[:] = 1
    degree = np.asarray(near.sum(axis=1)).reshape(-1)
    found = np.zeros(graph.m)
    for begin in range(0, graph.m, CHUNK):
        u, v = source[begin : begin + CHUNK], target[begin : begin + CHUNK]
        there = near[v]
        two = np.asarray(near[u].multiply(there).sum(axis=1)).reshape(-1)
        three = np.asarray((near[u] @ near).multiply(there).sum(axis=1)).reshape(-1)
        found[begin : begin + CHUNK] = np.where(u == v, 0, two + three - (degree[u] + degree[v] - 1))
    return found


def _rarity(graph: KnowledgeGraph) -> Floats:
    """How few vertices have the degrees of the rarer end of each edge, as a negative logarithm."""
    degrees = np.stack([graph.in_degree(), graph.out_degree()], axis=1)
    _, place, count = np.unique(degrees, axis=0, return_inverse=True, return_counts=True)
    rare = -np.log(count[place.reshape(-1)] / max(graph.n, 1))
    source, target = graph.ends
    return np.asarray(np.maximum(rare[source], rare[target]))


def _ranks(values: Floats) -> Floats:
    """Ranks between 0 and 1, equal ones shared."""
    from scipy.stats import rankdata

    return np.asarray((rankdata(values) - 0.5) / max(len(values), 1))
