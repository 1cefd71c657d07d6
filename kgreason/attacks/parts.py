"""The connected parts of a graph that an attacker may know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.assess.adjacency import undirected
from kgreason.assess.visit_kernels import HANDED
from kgreason.assess.visits import ENDLESS, SHARES, Orders, Tree, Walker, count_connected, shares
from kgreason.graph.model import KnowledgeGraph

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Parts:
    """Connected sets of vertices, shape (N, x), and whether these are all there are."""

    members: Ints
    all: bool


def draw_parts(graph: KnowledgeGraph, size: int, count: int, rng: np.random.Generator) -> Parts:
    """Draw weakly connected vertex sets of a size; all of them if there are no more than `count`.

    The sets are spread over the graph: each grows from a vertex of its own, these taken in random order (again, when
    all have had their turn), by a vertex drawn uniformly from those adjacent to it, until it is large enough. Sets
    that come twice are dropped.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("d", "e")])
    >>> np.sort(draw_parts(graph, 2, 10, np.random.default_rng(1)).members).tolist()
    [[0, 1], [1, 2], [3, 4]]
    """
    _, component = graph.components()
    fit = (
        np.flatnonzero(np.bincount(component)[component] >= size) if graph.n else np.empty(0, dtype=np.int64)
    )
    if not len(fit):
        return Parts(np.empty((0, size), dtype=np.int64), True)
    if size == 1:
        chosen = fit if len(fit) <= count else np.sort(rng.permutation(fit)[:count])
        return Parts(chosen[:, None], len(fit) <= count)
    adjacency = undirected(graph)
    if count_connected(adjacency, size, count) <= count:
        return Parts(_all(graph, size), True)
    starts = np.resize(rng.permutation(fit), count)
    near = _neighbours(graph)
    grown = np.array([_grow(near, int(v), size, rng) for v in starts], dtype=np.int64).reshape(-1, size)
    return Parts(np.unique(grown, axis=0), False)


def _grow(near: list[Ints], start: int, size: int, rng: np.random.Generator) -> list[int]:
    chosen, border = [start], set(near[start].tolist()) - {start}
    while len(chosen) < size:
        options = sorted(border)
        v = options[int(rng.integers(len(options)))]
        chosen.append(v)
        border = (border | set(near[v].tolist())) - set(chosen)
    return sorted(chosen)


def _neighbours(graph: KnowledgeGraph) -> list[Ints]:
    adjacency = undirected(graph)
    found: list[Ints] = [np.empty(0, dtype=np.int64)] * graph.n
    for i, v in enumerate(adjacency.vertices.tolist()):
        found[v] = adjacency.vertices[adjacency.neighbour[adjacency.indptr[i] : adjacency.indptr[i + 1]]]
    return found


def _all(graph: KnowledgeGraph, size: int) -> Ints:
    """All connected sets."""
    adjacency = undirected(graph)
    traits = np.zeros((graph.n, 3), dtype=np.int64)
    found = [np.empty((0, size), dtype=np.int64)]
    walker = Walker(adjacency, traits, size, Tree())
    for share in shares(adjacency, size, SHARES):
        walker.gather(share, Orders.learning(len(walker.tree.nodes), size), ENDLESS)
    orders = Orders.learning(len(walker.tree.nodes), size)
    orders.jobs[:] = HANDED
    orders.canonical[:] = np.arange(size)
    for share in shares(adjacency, size, SHARES):
        found += [rows for rows, _ in walker.gather(share, orders)[0]]
    return np.unique(np.sort(np.concatenate(found), axis=1), axis=0)
