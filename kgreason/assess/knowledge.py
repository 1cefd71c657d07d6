"""What an attacker may know of a vertex, and which vertices look the same to him.

References
----------
M. Hay, G. Miklau, D. Jensen, D. Towsley, P. Weis, "Resisting structural re-identification in anonymized social
networks", PVLDB 1(1), 2008: vertex refinement queries.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from kgreason.assess.refinement import Sides, degrees, effort, neighbourhoods, refine
from kgreason.graph.model import KnowledgeGraph

Ints = npt.NDArray[np.int64]

MOST = 1 << 26  # edges of all neighbourhoods, above which they are not looked at


def knowledge(
    graph: KnowledgeGraph, most: int | None = None, *, refined: bool = True
) -> Iterator[tuple[str, Ints | None]]:
    """Partitions of the vertices into those that look the same, from little knowledge to much.

    Parameters
    ----------
    most
        Edges of all neighbourhoods, above which these are not looked at; `None`: `MOST`.
    refined
        Whether anything beyond degrees is looked at, which takes seconds in graphs of a million edges.

    Yields
    ------
    tuple
        What is known, and the class of each vertex, int64, shape (n,); `None` where it is
        not looked at.

    Notes
    -----
    In- and out-degrees count edges of all relations. All that is known beyond degrees tells relations apart.

    Examples
    --------
    Degrees tell the ends of a chain, and its middle; refinement tells all:

    >>> chain = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])
    >>> found = {what: len(np.unique(classes)) for what, classes in knowledge(chain)}
    >>> found["in- and out-degree"], found["neighbours' degrees"], found["refinement"]
    (3, 5, 5)
    """
    both = degrees(graph)
    yield "nothing", np.zeros(graph.n, dtype=np.int64)
    yield "in-degree", graph.in_degree()
    yield "out-degree", graph.out_degree()
    yield "in- and out-degree", both
    sides = Sides.of(graph) if refined else None
    yield "neighbours' degrees", None if sides is None else refine(sides, both, 1)
    yield "refinement", None if sides is None else refine(sides, both, graph.n)
    near = refined and effort(graph) <= (MOST if most is None else most)
    yield "neighbourhood", neighbourhoods(graph) if near else None
