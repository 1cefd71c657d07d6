"""Parts of about equal size with few edges between them, by recursive bisection.

References
----------
KGISO, split & merge; G. Karypis, V. Kumar: A fast and high quality multilevel scheme for partitioning irregular
graphs (METIS, 1998).
"""

from __future__ import annotations

import numpy as np

from kgreason.errors import AnonymizationError
from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.subgraphs.adjacency import undirected


def partition(graph: KnowledgeGraph, size: int, least: int) -> Vertices:
    """Divide a graph; the same graph is always divided alike.

    Parameters
    ----------
    size
        Wanted number of vertices of a part.
    least
        Number of vertices that every part has to have; components with fewer are not divided.

    Returns
    -------
    ndarray
        int64, shape (n,): the part of each vertex, from 0, none left out.

    Raises
    ------
    AnonymizationError
        If `size` is below `least`, or the library is not installed.

    Examples
    --------
    >>> edges = [(f"{side}{i}", f"{side}{j}") for side in "ab" for i in range(5) for j in range(i)]
    >>> graph = KnowledgeGraph.from_edges([*edges, ("a0", "b0")])
    >>> parts = partition(graph, 5, 3)
    >>> [len(set(parts[:5].tolist())), len(set(parts[5:].tolist())), int(parts.max())]
    [1, 1, 1]
    """
    if size < least:
        raise AnonymizationError(
            f"parts of {size} vertices hold no subgraph of {least}",
            hint=f"choose larger parts, as in --split 1000, or x <= {size}",
        )
    count = round(graph.n / size)
    if count < 2:
        return np.zeros(graph.n, dtype=np.int64)
    try:
        import pymetis
    except ModuleNotFoundError as error:
        raise AnonymizationError(
            "dividing a graph into parts needs the package pymetis",
            hint="pip install '.[split]' in a checkout of kgreason, or leave --split out",
        ) from error
    indptr, neighbours = undirected(graph)
    adjacency = pymetis.CSRAdjacency(indptr.astype(np.int32), neighbours.astype(np.int32))
    _, found = pymetis.part_graph(count, adjacency, recursive=True)
    return _with_least(_whole(graph, np.array(found, dtype=np.int64), least), least)


def _whole(graph: KnowledgeGraph, parts: Vertices, least: int) -> Vertices:
    """Components of fewer than `least` vertices, which are attacked as a whole, go to the part of their first one."""
    _, component = graph.components()
    small = np.bincount(component)[component] < least
    _, first = np.unique(component, return_index=True)
    return np.where(small, parts[first[component]], parts)


def _with_least(parts: Vertices, least: int) -> Vertices:
    """Number parts from 0; those with too few vertices join the smallest of the others."""
    while True:
        parts = np.unique(parts, return_inverse=True)[1].reshape(-1).astype(np.int64)
        sizes = np.bincount(parts)
        first, *others = np.argsort(sizes, kind="stable").tolist()
        if sizes[first] >= least or not others:
            return parts
        parts = np.where(parts == first, others[0], parts)
