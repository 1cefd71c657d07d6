"""Weakly connected induced subgraphs: how many there are, and which."""

from __future__ import annotations

import numpy as np

from kgreason.errors import AnonymizationError
from kgreason.graph.model import KnowledgeGraph
from kgreason.subgraphs.adjacency import Adjacency
from kgreason.subgraphs.census import census
from kgreason.subgraphs.patterns import Members
from kgreason.subgraphs.visit import listed


def count_connected(graph: KnowledgeGraph, x: int, limit: int | None = None) -> int:
    """Count the vertex sets of size x whose induced subgraph is weakly connected.

    Parameters
    ----------
    limit
        Stop soon after the count exceeds this; the value returned is then only known to be greater.

    Examples
    --------
    >>> path = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("d", "c")])
    >>> [count_connected(path, x) for x in (1, 2, 3, 4, 5)]
    [4, 3, 2, 1, 0]
    """
    return census(Adjacency.plain(graph), x, limit).total


def connected_subgraphs(graph: KnowledgeGraph, x: int, limit: int | None = None) -> Members:
    """List the vertex sets of size x whose induced subgraph is weakly connected.

    Returns
    -------
    int64, shape (count, x); each set once, in no promised order.

    Raises
    ------
    AnonymizationError
        If there are more than `limit`; nothing has been listed then.

    Examples
    --------
    >>> path = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("d", "c")])
    >>> sorted(sorted(s) for s in connected_subgraphs(path, 3).tolist())
    [[0, 1, 2], [1, 2, 3]]
    """
    adjacency = Adjacency.plain(graph)
    found = census(adjacency, x, limit)
    if limit is not None and found.total > limit:
        raise too_many(x, limit)
    return np.arange(graph.n, dtype=np.int64).reshape(-1, 1) if x == 1 else listed(adjacency, found)


def attacked_subgraphs(graph: KnowledgeGraph, x: int, limit: int | None = None) -> list[Members]:
    """List what an attacker may know: per component C the connected sets of min(x, |C|) vertices.

    Returns
    -------
    One array per size that occurs, ascending; sizes below x hold whole components.

    Raises
    ------
    AnonymizationError
        If there are more than `limit` sets with x vertices.

    References
    ----------
    docs/anonymization.md, "Disconnected G".

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c")], vertices=["d"])
    >>> [np.sort(members).tolist() for members in attacked_subgraphs(graph, 3)]
    [[[0]], [[1, 2, 3]]]
    """
    whole = small_components(graph, x)
    largest = connected_subgraphs(graph, x, limit)
    return [*whole, largest] if len(largest) else whole


def small_components(graph: KnowledgeGraph, x: int) -> list[Members]:
    """The components with fewer than x vertices; an array for each size, ascending."""
    _, component = graph.components()
    sizes = np.bincount(component, minlength=0)
    size_of = sizes[component]
    by_component = np.argsort(component, kind="stable")
    groups = []
    for size in np.unique(size_of[size_of < x]):
        rows = by_component[size_of[by_component] == size]
        groups.append(rows.reshape(-1, int(size)).astype(np.int64))
    return groups


def too_many(x: int, limit: int) -> AnonymizationError:
    """The error for a graph with more connected subgraphs than allowed."""
    return AnonymizationError(
        f"the graph has more than {limit:,} connected subgraphs with {x} vertices",
        hint=f"choose a smaller x than {x} (KLONE protects every x, whichever is verified), "
        "or allow more with --max-subgraphs, which takes time and memory",
    )
