"""Weakly connected induced subgraphs: how many there are, and which."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.errors import AnonymizationError
from kgreason.graph.model import KnowledgeGraph, Vertices

Members = npt.NDArray[np.int64]


def undirected(graph: KnowledgeGraph) -> tuple[Vertices, Vertices]:
    """Compressed rows of the undirected simple graph that the edges of all relations make, loops left out.

    Returns
    -------
    indptr, neighbours
        int64; the neighbours of v are ``neighbours[indptr[v]:indptr[v + 1]]``, ascending.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "a"), ("b", "c"), ("c", "c")])
    >>> [a.tolist() for a in undirected(graph)]
    [[0, 1, 3, 4], [1, 0, 2, 1]]
    """
    return _rows(graph.n, *graph.ends)


def _rows(n: int, source: Vertices, target: Vertices) -> tuple[Vertices, Vertices]:
    proper = source != target
    low = np.minimum(source, target)[proper]
    high = np.maximum(source, target)[proper]
    pairs = np.unique(low * n + high)
    keys = np.sort(np.concatenate([pairs, pairs % max(n, 1) * n + pairs // max(n, 1)]))
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(keys // max(n, 1), minlength=n), out=indptr[1:])
    return indptr, keys % max(n, 1)


def _hubs_first(graph: KnowledgeGraph) -> tuple[Vertices, Vertices, Vertices]:
    """Relabel by descending degree: hubs become roots first and then vanish from the search."""
    indptr, _ = undirected(graph)
    original = np.argsort(-np.diff(indptr), kind="stable").astype(np.int64)
    rank = np.empty_like(original)
    rank[original] = np.arange(graph.n)
    source, target = graph.ends
    return (*_rows(graph.n, rank[source], rank[target]), original)


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
    if x < 1:
        raise ValueError(f"x must be at least 1, not {x}")
    if x == 1 or graph.n < x:
        return graph.n if x == 1 else 0
    from kgreason.subgraphs.kernels import esu

    indptr, neighbours, _ = _hubs_first(graph)
    none = np.empty((0, x), dtype=np.int64)
    return int(esu(indptr, neighbours, x, -1 if limit is None else limit, none))


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
    count = count_connected(graph, x, limit)
    if limit is not None and count > limit:
        raise too_many(x, limit)
    if x == 1:
        return np.arange(graph.n, dtype=np.int64).reshape(-1, 1)
    members = np.empty((count, x), dtype=np.int64)
    if count:
        from kgreason.subgraphs.kernels import esu

        indptr, neighbours, original = _hubs_first(graph)
        esu(indptr, neighbours, x, -1, members)
        members = original[members]
    return members


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
    whole = _small_components(graph, x)
    largest = connected_subgraphs(graph, x, limit)
    return [*whole, largest] if len(largest) else whole


def _small_components(graph: KnowledgeGraph, x: int) -> list[Members]:
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
