"""Conditions of further guarantees: at least k vertices of a release share each degree, or their neighbours' degrees.

References
----------
M. Hay, G. Miklau, D. Jensen, D. Towsley, P. Weis, "Resisting structural re-identification in anonymized social
networks", PVLDB 1(1), 2008: knowledge H1 and H2. docs/anonymization.md, further guarantees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.refinement import Sides, degrees, refine
from kgreason.graph.sorted_keys import Ints
from kgreason.isomorphism.definition import KNOWN
from kgreason.isomorphism.settings import Further
from kgreason.release.verdicts import SHOWN, Item, judged


def shared_knowledge(released: KnowledgeGraph, k: int, further: Sequence[Further]) -> list[Item]:
    """Decide for each further guarantee whether every vertex shares this knowledge with at least k - 1 others.

    Degrees count the edges of all relations. Neighbours' degrees are the degrees of a vertex and of each neighbour, and
    the relations and directions of the edges between the two. All vertices count, synthetic ones included.

    Examples
    --------
    All vertices of a cycle are alike; with a further edge, two are not:

    >>> cycle = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    >>> for item in shared_knowledge(KnowledgeGraph.from_edges(cycle), 2, ["degree", "neighbours"]):
    ...     print(item)
    holds  degrees: each vertex has those of at least 3 others
    holds  neighbours' degrees: each vertex has those of at least 3 others
    >>> print(*shared_knowledge(KnowledgeGraph.from_edges([*cycle, ("a", "c")]), 2, ["degree"]))
    FAILS  degrees: 2 of 4 vertices have those of fewer than 1 others
        a (in-degree 1, out-degree 2) is like 0 others
        c (in-degree 2, out-degree 1) is like 0 others
    """
    both, found = degrees(released), []
    for one in further:
        classes = both if one == "degree" else refine(Sides.of(released), both, 1)
        found.append(_item(released, classes, k, KNOWN[one]))
    return found


def _item(released: KnowledgeGraph, classes: Ints, k: int, name: str) -> Item:
    count = np.bincount(classes, minlength=1)[classes]
    few = np.flatnonzero(count < k)
    fails = f"{len(few):,} of {released.n:,} vertices have those of fewer than {k - 1} others"
    holds = f"each vertex has those of at least {count.min(initial=released.n) - 1:,} others"
    return judged(name, _words(released, few, count), fails, holds, len(few))


def _words(released: KnowledgeGraph, few: Ints, count: Ints) -> Iterator[str]:
    inner, outer = released.in_degree(), released.out_degree()
    for v in few[:SHOWN].tolist():
        degree = f"in-degree {inner[v]}, out-degree {outer[v]}"
        yield f"{released.labels[v]} ({degree}) is like {count[v] - 1} others"
