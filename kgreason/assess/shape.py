"""What can be seen of a vertex in a graph without labels: degrees, neighbours, position, weights."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.graph.model import KnowledgeGraph, Vertices, Weights

Features = npt.NDArray[np.float64]
Neighbours = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]

NONE = -1.0  # where there is nothing to take a mean of

NAMES = (
    *("in-degree", "out-degree", "coreness", "clustering"),
    *(
        f"{what} degree of {way} neighbours"
        for way in ("out", "in")
        for what in ("mean", "least", "greatest")
    ),
    *(f"{what} {way}going weight" for way in ("out", "in") for what in ("mean", "least", "greatest")),
)
"""Columns of `features`."""


def features(graph: KnowledgeGraph, vertices: Vertices) -> Features:
    """Describe some vertices.

    Parameters
    ----------
    vertices
        int64, ascending, none twice.

    Returns
    -------
    ndarray
        float64, shape (vertices, features) as `NAMES` says; -1 where there is no neighbour or weight.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.5), ("b", "c", 0.25), ("c", "a", 1.0), ("d", "a", 0.75)])
    >>> dict(zip(NAMES, features(graph, np.array([0]))[0].round(2).tolist()))["clustering"]
    0.33
    """
    neighbours = undirected(graph)
    ins, outs = graph.in_degree(), graph.out_degree()
    return np.column_stack(
        [
            *(ins[vertices], outs[vertices]),
            *(coreness(*neighbours)[vertices], clustering(*neighbours, vertices)),
            *_ends(graph, vertices, (ins + outs).astype(np.float64)),
            *_weights(graph, vertices),
        ]
    ).astype(np.float64)


def undirected(graph: KnowledgeGraph) -> Neighbours:
    """Compressed rows, ascending, of the undirected simple graph under all relations, loops left out."""
    from scipy.sparse import coo_array

    source, target = graph.ends
    proper = source != target
    ones = np.ones(int(proper.sum()), dtype=np.bool_)
    ends = coo_array((ones, (source[proper], target[proper])), shape=(graph.n, graph.n)).tocsr()
    both = (ends + ends.T).tocsr()
    both.sum_duplicates()
    return both.indptr.astype(np.int64), both.indices.astype(np.int32)


def coreness(indptr: npt.NDArray[np.int64], neighbours: npt.NDArray[np.int32]) -> Vertices:
    """Core number of each vertex: the greatest c for which it is in a subgraph of degrees >= c."""
    from kgreason.assess.shape_kernels import peel

    core = np.diff(indptr)
    order = np.argsort(core, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    start = np.searchsorted(core[order], np.arange(core.max(initial=0) + 1)).astype(np.int64)
    peel(indptr, neighbours, core, order, place, start)
    return core


def clustering(
    indptr: npt.NDArray[np.int64], neighbours: npt.NDArray[np.int32], vertices: Vertices
) -> npt.NDArray[np.float64]:
    """Share of the pairs of neighbours of a vertex that are neighbours themselves; 0 with fewer than two."""
    from kgreason.assess.shape_kernels import count_links

    links = np.zeros(len(vertices), dtype=np.int64)
    count_links(indptr, neighbours, np.ascontiguousarray(vertices, dtype=np.int64), links)
    degree = np.diff(indptr)[vertices]
    found: npt.NDArray[np.float64] = links / np.maximum(degree * (degree - 1), 1)
    return found


def _ends(graph: KnowledgeGraph, vertices: Vertices, degree: Weights) -> list[Features]:
    source, target = graph.ends
    found = []
    for own, other in ((source, target), (target, source)):
        at, chosen = _places(own, vertices, graph.n)
        found += _summary(at, degree[other[chosen]], len(vertices))
    return found


def _weights(graph: KnowledgeGraph, vertices: Vertices) -> list[Features]:
    weighted = [r for r in graph.relations.values() if r.weight is not None]
    none = np.empty(0, dtype=np.int64)
    weight = np.concatenate([none.astype(np.float64), *(r.weight for r in weighted if r.weight is not None)])
    found = []
    for ends in ([r.source for r in weighted], [r.target for r in weighted]):
        at, chosen = _places(np.concatenate([none, *ends]), vertices, graph.n)
        found += _summary(at, weight[chosen], len(vertices))
    return found


def _places(own: Vertices, vertices: Vertices, n: int) -> tuple[Vertices, Vertices]:
    """Edges at some vertices: the place of the vertex of each among them, and which edges these are."""
    place = np.full(n, -1, dtype=np.int64)
    place[vertices] = np.arange(len(vertices))
    at = place[own]
    chosen = np.flatnonzero(at >= 0)
    return at[chosen], chosen


def _summary(at: Vertices, values: Weights, count: int) -> list[Features]:
    """Mean, least and greatest of the values at each place."""
    order = np.lexsort((values, at))
    at, values = at[order], values[order]
    many = np.bincount(at, minlength=count)
    end = np.cumsum(many)
    some = many > 0
    found = [np.full(count, NONE) for _ in range(3)]
    found[0][some] = (np.bincount(at, weights=values, minlength=count) / np.maximum(many, 1))[some]
    found[1][some] = values[(end - many)[some]]
    found[2][some] = values[end[some] - 1]
    return found
