"""The seam between parts: where a subgraph with edges between parts can lie, and copies of that region.

References
----------
docs/anonymization.md, Split & merge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgreason.anonymizers.assemble import Edges, Pairs
from kgreason.anonymizers.degrees import DegreeDistribution, Degrees
from kgreason.anonymizers.klone import to_new_vertices
from kgreason.anonymizers.matching import match_between
from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.subgraphs.adjacency import undirected


def seam(graph: KnowledgeGraph, parts: Vertices, x: int) -> Vertices:
    """Vertices of connected subgraphs of x >= 2 vertices in which an edge between parts runs.

    Examples
    --------
    >>> path = KnowledgeGraph.from_edges([(str(i), str(i + 1)) for i in range(7)])
    >>> parts = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> [seam(path, parts, x).tolist() for x in (2, 3)]
    [[3, 4], [2, 3, 4, 5]]
    """
    source, target = graph.ends
    cut = parts[source] != parts[target]
    reached = np.zeros(graph.n, dtype=np.bool_)
    reached[source[cut]] = reached[target[cut]] = True
    indptr, neighbours = undirected(graph)
    of = np.repeat(np.arange(graph.n), np.diff(indptr))
    for _ in range(x - 2):
        reached[neighbours[reached[of]]] = True
    return np.flatnonzero(reached)


@dataclass(frozen=True, eq=False)
class Copies:
    """k - 1 copies of a region, whose vertices differ in degree from their originals and from each other.

    Attributes
    ----------
    edges
        Edges inside the copies by relation.
    synthetic
        Sources and targets of edges between copies and to new vertices; in a symmetric graph without their reverses.
    n
        Number of vertices afterwards: the graph, copy after copy, new vertices.
    """

    edges: dict[str, Edges]
    synthetic: Pairs
    n: int


def copies(
    graph: KnowledgeGraph, region: Vertices, k: int, rng: np.random.Generator, *, symmetric: bool
) -> Copies:
    """Copy what a region induces k - 1 times; no edge is added to a vertex of the graph, nor inside a copy.

    Parameters
    ----------
    graph
        With the weights and degrees that the region is to have.
    region
        Vertices, ascending.
    """
    count = len(region)
    local = np.full(graph.n, -1, dtype=np.int64)
    local[region] = np.arange(count)
    shifts = graph.n + np.arange(k - 1) * count
    edges, inner = {}, [np.zeros(count, dtype=np.int64) for _ in range(2)]
    for name, r in graph.relations.items():
        rows = np.flatnonzero((local[r.source] >= 0) & (local[r.target] >= 0))
        source, target = local[r.source[rows]], local[r.target[rows]]
        weight = None if r.weight is None else np.tile(r.weight[rows], k - 1)
        shift = np.repeat(shifts, len(rows))
        edges[name] = Edges(np.tile(source, k - 1) + shift, np.tile(target, k - 1) + shift, weight)
        for phi, ends in enumerate((source, target)):
            inner[phi] += np.bincount(ends, minlength=count)
    lacks = [
        _raised(whole[region], mine, k, DegreeDistribution.fit(whole), rng) - mine[:, None]
        for mine, whole in zip(inner, (graph.out_degree(), graph.in_degree()), strict=True)
    ]
    out_missing, in_missing = _halves(lacks[0], rng) if symmetric else lacks
    nothing = np.empty(0, dtype=np.int64)
    source, target, *left = match_between(
        out_missing, in_missing, (nothing, nothing), rng, undirected=symmetric
    )
    if symmetric:
        left = [np.concatenate(left), nothing]
    usual = graph.m / max(graph.n, 1)
    outgoing, incoming, new = to_new_vertices(left[0], left[1], count * (k - 1), usual, rng)
    sources = graph.n + np.concatenate([source, outgoing[0], incoming[0]])
    targets = graph.n + np.concatenate([target, outgoing[1], incoming[1]])
    return Copies(edges, (sources, targets), graph.n + count * (k - 1) + new)


def _raised(
    fixed: Degrees, inner: Degrees, k: int, fitted: DegreeDistribution, rng: np.random.Generator
) -> Degrees:
    """Degrees of k - 1 copies, at least `inner`, that differ from each other and from the fixed one; shape (n, k-1)."""
    chosen = np.concatenate([fixed[:, None], np.tile(inner[:, None], (1, k - 1))], axis=1)
    for j in range(1, k):
        rows = np.arange(len(chosen))
        while True:
            rows = rows[(chosen[rows, :j] == chosen[rows, j, None]).any(axis=1)]
            if not len(rows):
                break
            chosen[rows, j] = np.maximum(chosen[rows, j] + 1, fitted.draw(rng, len(rows)))
    return chosen[:, 1:]


def _halves(missing: Degrees, rng: np.random.Generator) -> tuple[Degrees, Degrees]:
    """Divide missing degrees at random into those of edges that go forth and of edges that go back."""
    owner = rng.permutation(np.repeat(np.arange(missing.size), missing.ravel()))
    forth = np.bincount(owner[::2], minlength=missing.size).reshape(missing.shape).astype(np.int64)
    return forth, missing - forth
