"""Colour refinement: vertices get different colours until those of one colour have the same arcs to each colour."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.assess.classes import Pairs
from kgreason.graph.model import KnowledgeGraph, Vertices


@dataclass(frozen=True, eq=False)
class Arcs:
    """The ordered pairs of different vertices with edges, as each end sees them.

    Attributes
    ----------
    begin
        Arcs of vertex v are those from ``begin[v]`` to ``begin[v + 1]``; int64, shape (n + 1,).
    neighbour, kind
        Who is at the other end, and what the edges are: the same number for as many of each relation in the same
        direction; int64.
    loops
        What the loops of each vertex are, int64, shape (n,).
    """

    begin: Vertices
    neighbour: Vertices
    kind: Vertices
    loops: Vertices

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> Arcs:
        """List the arcs of a graph."""
        pairs = Pairs(graph)
        source, target = np.divmod(pairs.keys, max(graph.n, 1))
        types = pairs.types_at(pairs.keys)
        straight = source != target
        source, target, types = source[straight], target[straight], types[straight]
        end, neighbour = np.concatenate([source, target]), np.concatenate([target, source])
        kind = np.concatenate([2 * types, 2 * types + 1])
        order = np.lexsort((neighbour, end))
        begin = np.searchsorted(end[order], np.arange(graph.n + 1)).astype(np.int64)
        loops = pairs.types_at(np.arange(graph.n) * (graph.n + 1))
        return cls(begin, neighbour[order], kind[order], loops)

    def within(self, vertices: Vertices) -> Arcs:
        """The arcs of whole components, their vertices numbered as they are given."""
        number = np.empty(len(self.loops), dtype=np.int64)
        number[vertices] = np.arange(len(vertices))
        degree = np.diff(self.begin)[vertices]
        begin = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
        rows = np.arange(begin[-1]) + np.repeat(self.begin[vertices] - begin[:-1], degree)
        return Arcs(begin, number[self.neighbour[rows]], self.kind[rows], self.loops[vertices])

    def layers(self) -> Vertices:
        """In which round each vertex is taken off, if all with one neighbour or none go at once; -1 for the core.

        Returns
        -------
        ndarray
            int64, shape (n,).

        Examples
        --------
        A path, and a cycle with a leaf:

        >>> edges = [("a", "b"), ("b", "c"), ("p", "q"), ("q", "r"), ("r", "p"), ("p", "s")]
        >>> Arcs.of(KnowledgeGraph.from_edges(edges)).layers().tolist()
        [0, 1, 0, -1, -1, -1, 0]
        """
        n = len(self.loops)
        keys = np.unique(np.repeat(np.arange(n), np.diff(self.begin)) * n + self.neighbour)
        end, other = np.divmod(keys, max(n, 1))
        layer = np.full(n, -1, dtype=np.int64)
        number = 0
        while True:
            degree = np.bincount(end, minlength=n)
            leaves = (degree <= 1) & (layer < 0)
            if not leaves.any():
                return layer
            layer[leaves] = number
            number += 1
            left = ~(leaves[end] | leaves[other])
            end, other = end[left], other[left]

    def refined(self, colours: Vertices) -> tuple[Vertices, int]:
        """Refine colours until nothing changes.

        Returns
        -------
        colours, looked_at
            The colours, int64, shape (n,), and the number of arcs looked at on the way. Colours are numbered by their
            first vertex, so they are comparable within this graph alone.

        Examples
        --------
        >>> path = Arcs.of(KnowledgeGraph.from_edges([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")]))
        >>> path.refined(np.zeros(3, dtype=np.int64))[0].tolist()
        [0, 1, 0]
        """
        n, looked_at = len(colours), 0
        owner = np.repeat(np.arange(n), np.diff(self.begin))
        bounds = self.begin.tolist()
        found = len(np.unique(colours))
        while True:
            looked_at += len(owner) + n
            seen = self.kind * (int(colours.max(initial=0)) + 1) + colours[self.neighbour]
            seen = seen[np.lexsort((seen, owner))]
            told: dict[tuple[int, bytes], int] = {}
            each = enumerate(colours.tolist())
            signs = ((colour, seen[bounds[v] : bounds[v + 1]].tobytes()) for v, colour in each)
            colours = np.array([told.setdefault(sign, len(told)) for sign in signs], dtype=np.int64)
            if len(told) == found:
                return colours, looked_at
            found = len(told)


def shared(colours: Vertices) -> npt.NDArray[np.bool_]:
    """Whether some other vertex has the same colour."""
    alone: npt.NDArray[np.bool_] = np.bincount(colours)[colours] > 1 if len(colours) else colours > 0
    return alone


def same_colours(one: Vertices, other: Vertices) -> bool:
    """Whether both have as many vertices of each colour."""
    return Counter(one.tolist()) == Counter(other.tolist())
