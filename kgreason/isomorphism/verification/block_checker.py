"""Checker of k-isomorphism: whether a release is k isomorphic blocks without edges between them, as k-Iso guarantees.

Two components are isomorphic if a bijection of their vertices preserves, for every ordered pair, the number of edges of
each relation. Colours are refined for all components together; isomorphic components have equal numbers of vertices of
each colour. The converse holds

- for trees (directions, loops and parallel edges aside): the initial colours encode the round in which a vertex is
  removed if leaves are removed repeatedly, so refined colours distinguish the parent of a vertex from its children. By
  induction from the leaves, vertices of one colour have isomorphic subtrees. The colours of the last vertex, or of the
  last two neighbours, agree as well.
- if no two vertices of the *core*, which remains after the repeated removal of leaves, share a colour: colours then
  match the cores, arc by arc, and matched vertices are roots of isomorphic trees.

Otherwise a vertex of a shared colour is matched with each vertex of this colour in the other component in turn, and
colours are refined again, until they differ or the second condition holds.

References
----------
J. Cheng, A. Fu, J. Liu: K-isomorphism: privacy preserving network publication against structural attacks (SIGMOD 2010).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.graph.refinement import Sides, refine
from kgreason.isomorphism.verification import conditions
from kgreason.isomorphism.verification.conditions import labels, lost_edges, repeated_weights
from kgreason.isomorphism.verification.verdict import Edits, Verdict
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.release import verdicts as shared
from kgreason.release.verdicts import Item, judged, listing

NAMED = 5
NEEDS_ORIGINAL = (
    "labels: none of the release is one of the original",
    "weights: no edge of the release has a weight that the original has between its ends",
)
BUDGET = 10_000_000  # ties and vertices that all searches together may refine; about a minute


def verify(
    released: KnowledgeGraph,
    rules: CheckedProgram,
    k: int,
    x: int,
    original: KnowledgeGraph | None = None,
    mapping: Vertices | None = None,
) -> Verdict:
    """Check the guarantee of k-Iso on the release alone and, where known, against its original.

    Rules are those whose ``@incoming_sum`` must be satisfied; derived edges are ignored. If the original is known, no
    label of it may occur in the release; with the mapping, no edge may have a weight that the original has between the
    same vertices, and inserted and deleted edges are counted. The size x is that of the δ that is reported
    (`kgreason.isomorphism.verification.checker.delta`).

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> rules = load_text('@edge("own"). @derived("major"). major(X,Y) :- own(X,Y,W), W > 0.5.')
    >>> edges = [("a", "b", 0.8), ("c", "d", 0.1), ("e", "e", 0.3), ("f", "f", 0.3)]
    >>> graph = KnowledgeGraph.from_edges(edges, relation="own")
    >>> print(verify(graph, rules, k=2, x=2)["blocks"].detail)
    4 components make 2 isomorphic blocks of 3 vertices and 2 edges
    >>> print("; ".join(verify(graph, rules, k=4, x=2)["blocks"].witnesses))
    2 isomorphic components of 2 vertices and 1 edges, for instance a, b; 2 isomorphic components of 1 vertices and 1 \
edges, for instance e
    """
    released = released.distinct()
    items, edits = [blocks(released, k)], None
    if original is not None:
        original = original.distinct()
        paired = None if mapping is None else shared.mapping(original, released, mapping)
        items.append(labels(original, released, mapping if paired and paired.holds else None))
        if mapping is not None and paired is not None:
            items.append(paired)
            if paired.holds:
                kept = list(repeated_weights(original, released, mapping))
                holds = "no edge has a weight that the original has between its ends"
                items.append(judged("weights", kept, f"{len(kept):,} original weights are kept", holds))
                deleted = lost_edges(original, released, mapping)
                edits = Edits(released.n - original.n, released.m - original.m + deleted, deleted)
    items += conditions.bounds(released, rules)
    alone = () if original is not None else NEEDS_ORIGINAL
    return Verdict(k, x, tuple(items), None, needs_original=alone, model="k-iso", edits=edits)


def blocks(released: KnowledgeGraph, k: int, components: Components | None = None) -> Item:
    """Decide whether the vertices can be partitioned into k pairwise isomorphic blocks without edges between them.

    Such a partition exists if and only if k divides the size of every class of isomorphic weakly connected components:

    - If: each block gets the same number of members of each class. Isomorphisms between the members make up one between
      the blocks, and no edge joins components.
    - Only if: no edge joins blocks, so each component lies in one block. An isomorphism of blocks maps components to
      isomorphic ones, so all blocks have the same number of members of each class.

    A colour multiset whose number of components is not divisible by k decides the question without a search: some class
    among these components has a size that is not divisible by k either.
    """
    components = components or Components(released)
    words, undecided, failed = [], 0, 0
    for group in components.alike():
        classes, sure = ([group], True) if len(group) % k else components.classes(group)
        undecided += not sure
        for same in classes:
            if len(same) % k:
                failed += 1
                words.append(_described(released, components.members[same[0]], len(same), sure))
    count = len(components.members)
    if undecided:
        detail = f"not decided for {undecided:,} kinds of components"
        return Item("blocks", False, detail, listing(words), undecided=True)
    if failed:
        detail = f"the numbers of {failed:,} kinds of components are no multiples of {k}"
        return Item("blocks", False, detail, listing(words))
    size = f"{released.n // k:,} vertices and {released.m // k:,} edges"
    return Item("blocks", True, f"{count:,} components make {k} isomorphic blocks of {size}")


def _described(graph: KnowledgeGraph, vertices: Vertices, number: int, sure: bool) -> str:
    edges = int(np.isin(graph.ends[0], vertices).sum())
    names = ", ".join(map(str, graph.labels[vertices[:NAMED]])) + ", ..." * (len(vertices) > NAMED)
    kind = "isomorphic components" if sure else "components, the search for more was given up,"
    return f"{number:,} {kind} of {len(vertices):,} vertices and {edges:,} edges, for instance {names}"


def _shared(colours: Vertices) -> npt.NDArray[np.bool_]:
    """Whether another vertex has the same colour, per vertex."""
    return np.bincount(colours)[colours] > 1


def _alike_colours(colours: Vertices, cut: int) -> bool:
    """Whether the colours before `cut` and from `cut` on are equal multisets."""
    return np.array_equal(np.sort(colours[:cut]), np.sort(colours[cut:]))


class Components:
    """Weakly connected components of a graph (`members`: their vertices, ascending) and their isomorphism classes.

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
        self.left = budget  # ties and vertices that searches may still refine

    def alike(self) -> list[list[int]]:
        """Groups of components with equal colours."""
        groups: dict[bytes, list[int]] = {}
        for number, vertices in enumerate(self.members):
            groups.setdefault(np.sort(self._colours[vertices]).tobytes(), []).append(number)
        return list(groups.values())

    def classes(self, group: list[int]) -> tuple[list[list[int]], bool]:
        """Classes of isomorphic components of a group, and whether all pairs were decided."""
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
        """Decide whether two components are isomorphic: 1, 0, or -1 if the search was given up."""
        a, b = self.members[one], self.members[other]
        colours = self._colours[np.concatenate([a, b])]
        if not _alike_colours(colours, len(a)):
            return 0
        return 1 if self._decisive(one) else self._search(a, b)

    def _decisive(self, number: int) -> bool:
        """Whether equal colours imply isomorphism to this component."""
        vertices = self.members[number]
        core = vertices[self._layer[vertices] < 0]
        return not _shared(self._colours[core]).any()

    def _search(self, a: Vertices, b: Vertices) -> int:
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
            alike = inner[_shared(colours[inner])]
            if not len(alike):
                return 1
            often = np.bincount(colours[alike])[colours[alike]]
            waiting.append(_matched(colours, int(alike[often.argmin()]), cut))
        return 0


def _matched(colours: Vertices, v: int, cut: int) -> Iterator[Vertices]:
    """Colours after vertex v is matched with each vertex of its colour from `cut` on, in turn."""
    for w in np.flatnonzero(colours[cut:] == colours[v]).tolist():
        matched = colours.copy()
        matched[[v, cut + w]] = colours.max() + 1
        yield matched
