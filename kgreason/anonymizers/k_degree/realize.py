"""Simple undirected graphs with given degrees that keep all edges of a graph, or most of them.

Let a vertex have an edge too many s times in all, and let r be the number of edges of the largest set in which nobody
has more of them than it has too many, so that each mends both its ends. Then no graph with these degrees lacks fewer
than s - r original edges. Step 1 looks for such a set; what follows costs more edges only where it gets stuck.

1. Edges between vertices that have too many are removed, along alternating rows; then others of those who still have
   too many.
2. Missing edges are added, whoever lacks most first, between vertices that are not linked.
3. Where that gets stuck, edges x-y are replaced by u-x and y-v, or longer rows of that kind: added edges if that can
   be, else original ones, as few as possible.
4. Original edges are brought back wherever that is possible by a row that costs none.

If the rows of step 3 do not lead to the degrees although there are graphs with them, one is constructed from the
degrees alone, and step 4 makes the most of it.

References
----------
Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, section 6.1 (Supergraph).
"""

from __future__ import annotations

import numpy as np

from kgreason.anonymizers.k_degree.construct import Degrees, Edges, construct, ensure_realizable
from kgreason.anonymizers.k_degree.workpiece import Workpiece

_ATTEMPTS = 3  # the search for rows misses one by chance in a few thousand cases
_NEAR = 8  # ends of edges that are lacking where it may have been chance


def supergraph(edges: Edges, degrees: Degrees, rng: np.random.Generator) -> tuple[Edges | None, int]:
    """Add edges until every vertex has its degree.

    A random vertex that lacks edges is joined with those who lack most and are not linked with it. Where that gets
    stuck, added edges are exchanged along alternating rows: instead of x-y there are u-x and y-v, and so on.

    Parameters
    ----------
    edges
        The original edges, all of which are kept; int64, shape (m, 2).
    degrees
        Degree that each vertex shall have, int64, shape (n,).
    rng
        Decides whose turn it is, and between equals.

    Returns
    -------
    Edges or None
        `None` if none was found: there is none, but in rare cases.
    int
        How many ends of edges were still lacking then; 0 if a graph was found, or degrees are lower than those there
        are, or their sum is odd.

    Examples
    --------
    >>> supergraph(np.array([[0, 1], [1, 2], [2, 3]]), np.array([2, 2, 2, 2]), np.random.default_rng(0))[0].tolist()
    [[0, 1], [0, 3], [1, 2], [2, 3]]
    >>> supergraph(np.array([[0, 1], [1, 2]]), np.array([3, 2, 3]), np.random.default_rng(0))
    (None, 2)
    """
    lacking = degrees - np.bincount(edges.ravel(), minlength=len(degrees))
    if (lacking < 0).any() or lacking.sum() % 2:
        return None, 0
    least = int(lacking.sum())
    for _ in range(_ATTEMPTS):
        graph = Workpiece(edges, degrees, rng)
        graph.join(rng.permutation(np.flatnonzero(graph.graph.lack)))
        graph.mend(cost=0)
        if graph.finished:
            graph.mix()
            return graph.edges, 0
        least = min(least, int(graph.graph.lack.sum()))
        if least > _NEAR:
            break
    return None, least


_COSTS = 4  # original edges less one that a row may cost
_STEPS = 20_000_000  # of the search for rows that bring original edges back


def relaxed(edges: Edges, degrees: Degrees, rng: np.random.Generator) -> Edges:
    """Find a simple graph with given degrees that has as many of the original edges as possible, or nearly so.

    Parameters
    ----------
    edges
        The original edges, int64, shape (m, 2).
    degrees
        Degree that each vertex shall have, int64, shape (n,).
    rng
        Decides which edges are removed and added, among equals.

    Raises
    ------
    NotRealizable
        If no simple graph has these degrees (and never otherwise).

    References
    ----------
    Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, section 6.3, solve the same problem by a
    graph from the degrees alone and switches of two edges.

    Examples
    --------
    >>> path = np.array([[0, 1], [1, 2], [2, 3]])
    >>> relaxed(path, np.array([2, 1, 1, 2]), np.random.default_rng(0)).tolist()
    [[0, 1], [0, 3], [2, 3]]
    """
    ensure_realizable(degrees)
    graph = Workpiece(edges, degrees, rng)
    graph.drop()
    turns = rng.permutation(np.flatnonzero(graph.graph.lack))
    graph.join(turns[np.argsort(-graph.graph.lack[turns], kind="stable")])
    graph.mend(0, ahead=1)
    for cost in range(1, _COSTS):
        graph.mend(cost)
    if not graph.finished:
        graph = Workpiece(edges, degrees, rng, construct(degrees, rng))
    graph.restore(_STEPS)
    graph.mix()
    return graph.edges


__all__ = ["Degrees", "Edges", "construct", "relaxed", "supergraph"]
