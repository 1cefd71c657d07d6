"""Connected parts of a graph to which edges and vertices are added."""

from __future__ import annotations

import numpy as np

from kgreason.graph.knowledge_graph import KnowledgeGraph


class ConnectedParts:
    """Weakly connected components of a graph, which added edges join.

    Attributes
    ----------
    count
        Number of parts.
    inside, outside
        Vertices of the graph inside and outside its largest component, int64.

    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("d", "e")])
    >>> parts = ConnectedParts(graph)
    >>> parts.count, parts.outside.tolist(), parts.in_main(3)
    (2, [3, 4], False)
    >>> parts.join(0, 4)
    >>> parts.count, parts.in_main(3)
    (1, True)
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.count, component = graph.components()
        self._main = int(np.bincount(component, minlength=1).argmax())
        self.inside, self.outside = (
            np.flatnonzero(component == self._main),
            np.flatnonzero(component != self._main),
        )
        self._component: list[int] = component.tolist()
        self._joined = list(
            range(self.count)
        )  # a component of the same part for each one, itself for one of them

    def add(self, count: int) -> None:
        """Add new vertices, each a part of its own."""
        first = len(self._joined)
        self._component += range(first, first + count)
        self._joined += range(first, first + count)
        self.count += count

    def of(self, vertex: int) -> int:
        """Component that represents the part of a vertex."""
        return self._representative(self._component[vertex])

    def in_main(self, vertex: int) -> bool:
        """Whether a vertex is in the part of the largest component."""
        return self.of(vertex) == self._representative(self._main)

    def join(self, one: int, other: int) -> None:
        """Record an edge between two vertices."""
        first, second = self.of(one), self.of(other)
        if first != second:
            self._joined[first] = second
            self.count -= 1

    def _representative(self, component: int) -> int:
        while self._joined[component] != component:
            self._joined[component] = component = self._joined[self._joined[component]]
        return component
