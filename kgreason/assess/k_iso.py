"""Decide whether a release is k isomorphic blocks without edges between them, as k-Iso promises.

References
----------
J. Cheng, A. Fu, J. Liu: K-isomorphism: privacy preserving network publication against structural attacks (SIGMOD 2010).
"""

from __future__ import annotations

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.assess import conditions
from kgreason.assess.components import Components
from kgreason.assess.conditions import labels, lost_edges, standing_weights
from kgreason.assess.verdict import Edits, Item, Verdict, listing
from kgreason.graph.model import KnowledgeGraph, Vertices

NAMED = 5
NEEDS_ORIGINAL = (
    "labels: none of the release is one of the original",
    "weights: no edge of the release has a weight that the original has between its ends",
)


def verify(
    released: KnowledgeGraph,
    rules: CheckedProgram,
    k: int,
    x: int,
    original: KnowledgeGraph | None = None,
    mapping: Vertices | None = None,
) -> Verdict:
    """Check what k-Iso promises: of the release alone, and as far as it is known, against its original.

    Parameters
    ----------
    released
        A set of facts: a row that stands twice is one edge.
    rules
        Those whose ``@incoming_sum`` is to be kept; what they derive does not matter.
    x
        Number of vertices for which δ is told (`kgreason.assess.verify.delta`).
    original
        If it is known, no label of it may be in the release.
    mapping
        If that is known too: original vertex v is released vertex ``mapping[v]``; int64, shape (n,). No edge may have a
        weight that the original has between the same vertices. What was inserted and deleted is counted.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
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
        paired = None if mapping is None else conditions.mapping(original, released, mapping)
        items.append(labels(original, released, mapping if paired and paired.holds else None))
        if mapping is not None and paired is not None:
            items.append(paired)
            if paired.holds:
                pair = original, released, mapping
                kept = [words for name in original.relations for words in standing_weights(*pair, name)]
                detail = "no edge has a weight that the original has between its ends"
                detail = f"{len(kept):,} original weights are kept" if kept else detail
                items.append(Item("weights", not kept, detail, listing(kept)))
                deleted = lost_edges(*pair)
                edits = Edits(released.n - original.n, released.m - original.m + deleted, deleted)
    items += conditions.bounds(released, rules)
    alone = () if original is not None else NEEDS_ORIGINAL
    return Verdict(k, x, tuple(items), None, needs_original=alone, model="k-iso", edits=edits)


def blocks(released: KnowledgeGraph, k: int, components: Components | None = None) -> Item:
    """Decide whether vertices can be divided into k blocks that are pairwise isomorphic and have no edges between them.

    They can if and only if k divides the number of members of every class of isomorphic weakly connected components:

    - If: give each block the same number of members of each class. Isomorphisms between the members make one between
      the blocks, and no edge joins components.
    - Only if: no edge joins blocks, so each component lies in one of them. An isomorphism of blocks maps components to
      isomorphic ones, so all blocks have the same number of members of each class.

    Colours that k does not divide settle it without a search: the members of some class among those of the same colours
    are not divided by k either.
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
