"""Isomorphic weakly connected components, by colour refinement; whether a release is copies of the original.

Two components are isomorphic if a bijection of their vertices keeps, for every ordered pair, the number of edges of
each relation. Colours are refined for all components together; isomorphic ones then have as many vertices of each
colour. The converse holds

- for trees (directions, loops and parallel edges aside): the first colours tell in which round a vertex goes if leaves
  are taken off again and again, so refined ones tell the parent of a vertex from its children. By induction from the
  leaves on, vertices of one colour have isomorphic trees below them. What is left last, one vertex or two neighbours,
  has colours that agree as well.
- if no two vertices of the *core*, which is left when no leaf is, share a colour: then colours match the cores, arc by
  arc, and vertices that are matched have isomorphic trees on them.

In other cases a vertex of a shared colour is matched with each vertex of this colour in the other component in turn,
and colours are refined again, until they differ or the second condition holds.

Copies: let k places be named for each vertex of the graph that is attacked, itself the first, and all places be
different. Suppose that for each weakly connected component C of this graph the ground edges of the release inside C
and inside each copy of it are the same, weights included, and that the k places of each vertex differ in in-degree,
out-degree and label. An attacked subgraph X1 lies in one C. Its copies are disjoint, and rules derive the same from
the same edges and weights, so they are KG-isomorphic to it: item 4 of Definition 4.1 holds for every x, and for any
rules. All this is looked up in time linear in the release, but for sorting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import numpy.typing as npt

from kgreason.assess.refinement import Sides, refine
from kgreason.assess.verdict import listing
from kgreason.graph.model import KnowledgeGraph, Relation, Vertices


def shared(colours: Vertices) -> npt.NDArray[np.bool_]:
    """Whether some other vertex has the same colour."""
    alone: npt.NDArray[np.bool_] = np.bincount(colours)[colours] > 1 if len(colours) else colours > 0
    return alone


def _alike_colours(colours: Vertices, cut: int) -> bool:
    """Whether as many vertices before `cut` have each colour as from there on."""
    return np.array_equal(np.sort(colours[:cut]), np.sort(colours[cut:]))


BUDGET = 10_000_000  # ties and vertices that all searches together refine; about a minute


class Components:
    """The weakly connected components of a graph.

    Attributes
    ----------
    members
        Vertices of each component, ascending.
    left
        Ties and vertices that searches may still refine.

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
        self._sides = Sides.of(graph)
        self._layer = self._sides.layers()
        self._colours = refine(self._sides, self._layer + 1, graph.n)
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
        if not _alike_colours(colours, len(a)):
            return 0
        return 1 if self._decisive(one) else self._searched(a, b)

    def _decisive(self, number: int) -> bool:
        """Whether the same colours mean that a component is isomorphic to this one."""
        vertices = self.members[number]
        core = vertices[self._layer[vertices] < 0]
        return not shared(self._colours[core]).any()

    def _searched(self, a: Vertices, b: Vertices) -> int:
        both = np.concatenate([a, b])
        sides, core, cut = self._sides.within(both), self._layer[both] < 0, len(a)
        waiting = [iter([self._colours[both]])]
        while waiting:
            if self.left < 0:
                return -1
            if (attempt := next(waiting[-1], None)) is None:
                waiting.pop()
                continue
            colours = refine(sides, attempt, sides.n)
            self.left -= len(sides.u) + sides.n
            if not _alike_colours(colours, cut):
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


Ints = npt.NDArray[np.int64]


def faults_of_copies(
    attacked: KnowledgeGraph, released: KnowledgeGraph, mapping: Ints, copies: Ints, k: int
) -> tuple[str, ...]:
    """Say why named copies do not show that every subgraph stands at k places; nothing if they do.

    Parameters
    ----------
    attacked
        The original graph, without the edges that are given up.
    mapping
        Vertices of the release, int64 (n,).
    copies
        Their copies in the release, int64 (K - 1, n) with K >= k.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.5)])
    >>> edges = [("p", "q", 0.7), ("r", "s", 0.7), ("p", "s", 0.1), ("q", "r", 0.2)]
    >>> released = KnowledgeGraph.from_edges(edges)
    >>> faults_of_copies(graph, released, np.array([0, 1]), np.array([[2, 3]]), 2)
    ()
    """
    places = np.concatenate([mapping[None], copies[: k - 1]])
    if len(places) < k:
        return (f"it names {len(places)} places of each vertex, not {k}",)
    if places.shape[1] != attacked.n or (places < 0).any() or (places >= released.n).any():
        return ("its copies are not of vertices of this release",)
    _, component = attacked.components()
    vertices, count = np.unique(places, return_counts=True)
    several = released.labels[vertices[count > 1]].tolist()
    met = (f"{label} is the place of several vertices" for label in several)
    alike = _alike(attacked, released, places)
    return listing([*met, *alike, *_differences(component, released, places)])


def _alike(attacked: KnowledgeGraph, released: KnowledgeGraph, places: Ints) -> Iterator[str]:
    """Vertices of which two places have a degree or a label in common."""
    _, label = np.unique(released.labels.astype(str), return_inverse=True)
    traits = {"in-degree": released.in_degree(), "out-degree": released.out_degree(), "label": label}
    for name, trait in traits.items():
        held = trait.reshape(-1)[places]
        for i, j in combinations(range(len(places)), 2):
            for v in np.flatnonzero(held[i] == held[j]).tolist():
                a, b = (released.labels[places[p, v]] for p in (i, j))
                yield f"the places {a}, {b} of original {attacked.labels[v]} have equal {name}"


def _differences(component: Ints, released: KnowledgeGraph, places: Ints) -> Iterator[str]:
    """Edges inside a component that some copy lacks, or has besides."""
    for name, relation in released.relations.items():
        first, *others = (_inside(relation, component, row, released.n) for row in places)
        for number, other in enumerate(others, start=1):
            if np.array_equal(first, other):
                continue
            counts = Counter(map(tuple, first.tolist()))
            counts.subtract(map(tuple, other.tolist()))
            for source, target, weight in (row for row, more in counts.items() if more):
                ends = " -> ".join(str(released.labels[places[0, v]]) for v in (int(source), int(target)))
                yield f"{name}: {ends} with weight {weight} is not the same in copy {number}"


def _inside(relation: Relation, component: Ints, place: Ints, n: int) -> npt.NDArray[np.float64]:
    """Source, target and weight of the edges inside the places of components, as the original numbers them, sorted."""
    original = np.full(n, -1, dtype=np.int64)
    original[place] = np.arange(len(place))
    ends = original[relation.source], original[relation.target]
    mine = np.flatnonzero((ends[0] >= 0) & (ends[1] >= 0))
    source, target = (end[mine] for end in ends)
    weight = np.zeros(len(mine)) if relation.weight is None else relation.weight[mine]
    same = component[source] == component[target]
    rows = np.stack([source, target, weight], axis=1)[same]
    ordered: npt.NDArray[np.float64] = rows[np.lexsort(rows.T[::-1])]
    return ordered
