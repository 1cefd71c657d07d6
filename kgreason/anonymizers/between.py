"""The edges between given vertices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgreason.graph.model import KnowledgeGraph, Relation, Vertices


@dataclass(frozen=True, eq=False)
class Between:
    """The rows of a relation by ordered pair of vertices.

    Attributes
    ----------
    relation
        The relation.
    order, keys
        Its rows by pair, and the pair u n + v of each.
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
        """Look-up of each relation."""
        return {name: cls.within(relation, graph.n) for name, relation in graph.relations.items()}

    @classmethod
    def within(cls, relation: Relation, n: int) -> Between:
        """Look-up of a relation among n vertices."""
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
