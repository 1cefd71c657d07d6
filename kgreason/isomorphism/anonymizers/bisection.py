"""Partition of a graph into parts of about equal size with few edges between them, by recursive bisection.

References
----------
KGISO, split & merge; G. Karypis, V. Kumar: A fast and high quality multilevel scheme for partitioning irregular
graphs (METIS, 1998).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgreason.base.errors import AnonymizationError
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices
from kgreason.graph.subgraphs.ordered_adjacency import undirected


def partition(graph: KnowledgeGraph, size: int, least: int) -> Vertices:
    """Partition a graph, deterministically.

    Parameters
    ----------
    size
        Target number of vertices of a part.
    least
        Minimum number of vertices of a part; smaller components are not divided.

    Returns
    -------
    ndarray
        int64, shape (n,): the part of each vertex, numbered from 0 without gaps.

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
    """Assign components of fewer than `least` vertices, which are attacked as a whole, to the part of one vertex."""
    _, component = graph.components()
    small = np.bincount(component)[component] < least
    _, first = np.unique(component, return_index=True)
    return np.where(small, parts[first[component]], parts)


def _with_least(parts: Vertices, least: int) -> Vertices:
    """Number parts from 0; parts with too few vertices are merged with the smallest other part."""
    while True:
        parts = np.unique(parts, return_inverse=True)[1].reshape(-1).astype(np.int64)
        sizes = np.bincount(parts)
        first, *others = np.argsort(sizes, kind="stable").tolist()
        if sizes[first] >= least or not others:
            return parts
        parts = np.where(parts == first, others[0], parts)


@dataclass(frozen=True, eq=False)
class Between:
    """Index of the rows of a relation by ordered pair of vertices.

    Attributes
    ----------
    relation
        The relation.
    order, keys
        Row numbers sorted by pair, and the key u n + v of each.
    n
        Number of vertices.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.2), ("b", "a", 0.3), ("a", "b", 0.4)], relation="own")
    >>> own = Between.of(graph)["own"]
    >>> [a.tolist() for a in own.rows(np.array([1, 0]), np.array([0, 1]))]
    [[0, 1, 1], [1, 0, 2]]
    """

    relation: Relation
    order: Vertices
    keys: Vertices
    n: int

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> dict[str, Between]:
        """Index of each relation."""
        return {name: cls.within(relation, graph.n) for name, relation in graph.relations.items()}

    @classmethod
    def within(cls, relation: Relation, n: int) -> Between:
        """Index of a relation among n vertices."""
        keys = relation.source * n + relation.target
        order = np.argsort(keys, kind="stable")
        return cls(relation, order, keys[order], n)

    def rows(self, sources: Vertices, targets: Vertices) -> tuple[Vertices, Vertices]:
        """Number of the pair, and row, of every edge from ``sources[i]`` to ``targets[i]``."""
        wanted = sources * self.n + targets
        start, end = (np.searchsorted(self.keys, wanted, side=s) for s in ("left", "right"))
        many = end - start
        pair = np.repeat(np.arange(len(wanted)), many)
        at = np.arange(len(pair)) + np.repeat(start - (np.cumsum(many) - many), many)
        return pair, self.order[at]

    def among(self, vertices: Vertices) -> tuple[Vertices, Vertices, Vertices]:
        """Positions of source and target, and row, of every edge among some vertices."""
        size = len(vertices)
        a, b = np.divmod(np.arange(size * size), max(size, 1))
        pair, row = self.rows(vertices[a], vertices[b])
        return a[pair], b[pair], row
