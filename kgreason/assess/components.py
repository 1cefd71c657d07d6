"""Which weakly connected components of a graph are isomorphic.

Two are if a bijection of their vertices keeps, for every ordered pair, the number of edges of each relation. Colours
are refined for all components together; isomorphic ones then have as many vertices of each colour. The converse holds

- for trees (directions, loops and parallel edges aside): the first colours tell in which round a vertex goes if leaves
  are taken off again and again, so refined ones tell the parent of a vertex from its children. By induction from the
  leaves on, vertices of one colour have isomorphic trees below them. What is left last, one vertex or two neighbours,
  has colours that agree as well.
- if no two vertices of the *core*, which is left when no leaf is, share a colour: then colours match the cores, arc by
  arc, and vertices that are matched have isomorphic trees on them.

In other cases a vertex of a shared colour is matched with each vertex of this colour in the other component in turn,
and colours are refined again, until they differ or the second condition holds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kgreason.assess.colours import Arcs, same_colours, shared
from kgreason.graph.model import KnowledgeGraph, Vertices

BUDGET = 50_000_000  # arcs that all searches together look at; about a minute


class Components:
    """The weakly connected components of a graph.

    Attributes
    ----------
    members
        Vertices of each component, ascending.
    left
        Arcs that searches may still look at.

    Examples
    --------
    >>> edges = [("a", "b"), ("b", "c"), ("p", "q"), ("r", "q"), ("x", "z"), ("y", "x")]
    >>> components = Components(KnowledgeGraph.from_edges(edges))
    >>> [len(vertices) for vertices in components.members], components.alike()
    ([3, 3, 3], [[0, 2], [1]])
    >>> components.isomorphic(0, 2)
    1
    """

    def __init__(self, graph: KnowledgeGraph, budget: int = BUDGET) -> None:
        count, component = graph.components()
        order = np.argsort(component, kind="stable").astype(np.int64)
        bounds = np.searchsorted(component[order], np.arange(1, count))
        self.members: list[Vertices] = np.split(order, bounds) if count else []
        self._arcs = Arcs.of(graph)
        self._layer = self._arcs.layers()
        loops = self._arcs.loops
        first = np.unique(self._layer * (loops.max(initial=0) + 1) + loops, return_inverse=True)[1]
        self._colours, _ = self._arcs.refined(first.reshape(-1).astype(np.int64))
        self.left = budget

    def alike(self) -> list[list[int]]:
        """Numbers of the components that colours do not tell apart, in groups."""
        groups: dict[bytes, list[int]] = {}
        for number, vertices in enumerate(self.members):
            groups.setdefault(np.sort(self._colours[vertices]).tobytes(), []).append(number)
        return list(groups.values())

    def classes(self, group: list[int]) -> tuple[list[list[int]], bool]:
        """Sort components of a group into classes of isomorphic ones; tell whether all could be decided."""
        if self._decisive(group[0]):
            return [group], True
        classes: list[list[int]] = []
        sure = True
        for number in group:
            for known in classes:
                found = self.isomorphic(known[0], number)
                sure &= found >= 0
                if found == 1:
                    known.append(number)
                    break
            else:
                classes.append([number])
        return classes, sure

    def isomorphic(self, one: int, other: int) -> int:
        """Decide whether two components are isomorphic: 1, 0, or -1 where the search was given up."""
        a, b = self.members[one], self.members[other]
        colours = self._colours[np.concatenate([a, b])]
        if not same_colours(*np.split(colours, [len(a)])):
            return 0
        return 1 if self._decisive(one) else self._searched(a, b)

    def _decisive(self, number: int) -> bool:
        """Whether the same colours mean that a component is isomorphic to this one."""
        vertices = self.members[number]
        core = vertices[self._layer[vertices] < 0]
        return not shared(self._colours[core]).any()

    def _searched(self, a: Vertices, b: Vertices) -> int:
        """Search for an isomorphism, depth first."""
        both = np.concatenate([a, b])
        arcs, core, cut = self._arcs.within(both), self._layer[both] < 0, len(a)
        waiting = [iter([self._colours[both]])]
        while waiting:
            if self.left < 0:
                return -1
            if (attempt := next(waiting[-1], None)) is None:
                waiting.pop()
                continue
            colours, looked_at = arcs.refined(attempt)
            self.left -= looked_at
            if not same_colours(colours[:cut], colours[cut:]):
                continue
            inner = np.flatnonzero(core[:cut])
            open_ = inner[shared(colours[inner])]
            if not len(open_):
                return 1
            often = np.bincount(colours[open_])[colours[open_]]
            waiting.append(_matched(colours, int(open_[often.argmin()]), cut))
        return 0


def _matched(colours: Vertices, v: int, cut: int) -> Iterator[Vertices]:
    """Colours after a vertex is matched with each one of its colour among those from `cut` on."""
    for w in np.flatnonzero(colours[cut:] == colours[v]).tolist():
        matched = colours.copy()
        matched[[v, cut + w]] = colours.max() + 1
        yield matched
