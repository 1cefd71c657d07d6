"""The part of a large graph that a picture shows: connected, as far as the graph is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

import numpy as np

from kgreason.graph.model import KnowledgeGraph, Vertices

OWN = 0.75
"""Share of a sample for vertices of the original; the rest is for synthetic ones beside them."""

BRANCHES = 6
"""Neighbours that a snowball takes of a vertex before it goes on, so that one hub does not fill it."""


def snowball(graph: KnowledgeGraph, most: int, rng: np.random.Generator) -> Vertices:
    """Vertices in the order in which a snowball meets them: neighbours of a random vertex, their neighbours, and so on.

    Directions do not count. It takes up to `BRANCHES` neighbours of each vertex, comes back for the others when there
    is nothing else to take, and begins anew from another vertex when a component is exhausted.

    Parameters
    ----------
    graph
        The graph.
    most
        Vertices to take at most.
    rng
        Source of the choices.

    Returns
    -------
    Vertices
        int64, shape (min(most, n),).

    References
    ----------
    Goodman, L. A.: Snowball sampling. The Annals of Mathematical Statistics 32(1), 1961.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("A", "B"), ("B", "C"), ("D", "E")])
    >>> len(snowball(graph, 4, np.random.default_rng(1)))
    4
    """
    return np.fromiter(islice(_met(graph, rng), most), dtype=np.int64)


def _met(graph: KnowledgeGraph, rng: np.random.Generator) -> Iterator[int]:
    begin, neighbours = _neighbours(graph)
    taken = np.zeros(graph.n, dtype=np.bool_)
    starts = rng.permutation(graph.n)
    alone = np.diff(begin)[starts] == 0
    for start in np.concatenate([starts[~alone], starts[alone]]).tolist():
        if taken[start]:
            continue
        taken[start] = True
        yield start
        queue = deque([start])
        while queue:
            vertex = queue.popleft()
            near = neighbours[begin[vertex] : begin[vertex + 1]]
            free = np.unique(near[~taken[near]])
            chosen = rng.permutation(free)[:BRANCHES]
            taken[chosen] = True
            yield from chosen.tolist()
            queue.extend(chosen.tolist())
            if len(free) > BRANCHES:
                queue.append(vertex)


def _neighbours(graph: KnowledgeGraph) -> tuple[Vertices, Vertices]:
    """Where the neighbours of each vertex begin, shape (n + 1,), and all neighbours, in either direction."""
    source, target = graph.ends
    ends, others = np.concatenate([source, target]), np.concatenate([target, source])
    begin = np.zeros(graph.n + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=graph.n), out=begin[1:])
    return begin, others[np.argsort(ends, kind="stable")]


def sample(
    original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, most: int, rng: np.random.Generator
) -> tuple[Vertices, Vertices]:
    """Vertices of the original by a snowball, and synthetic ones of the release that have an edge to them.

    Parameters
    ----------
    original, released
        The graphs.
    mapping
        Number in the release of each vertex of the original, below 0: it is not released.
    most
        Vertices of both kinds at most.
    rng
        Source of the choices.

    Returns
    -------
    tuple of Vertices
        Numbers in the original, and numbers in the release; all, if there are no more than `most`.
    """
    synthetic = np.ones(released.n, dtype=np.bool_)
    synthetic[mapping[mapping >= 0]] = False
    if original.n + int(synthetic.sum()) <= most:
        return np.arange(original.n), np.flatnonzero(synthetic)
    order = snowball(original, most, rng)
    own = order[: max(1, int(most * OWN))]
    shown = np.zeros(released.n, dtype=np.bool_)
    images = mapping[own]
    shown[images[images >= 0]] = True
    source, target = released.ends
    beside = np.unique(np.concatenate([target[shown[source]], source[shown[target]]]))
    made = rng.permutation(beside[synthetic[beside]])[: most - len(own)]
    return order[: most - len(made)], np.sort(made)
