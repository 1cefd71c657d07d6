"""Graphs with given degrees that have as many edges of another as can be.

Let a vertex have an edge too many s times in all, and let r be the number of edges of the largest set in which nobody
has more of them than it has too many, so that each mends both its ends. Then no graph with these degrees lacks fewer
than s - r original edges. Step 1 looks for such a set; what follows costs more edges only where it gets stuck.

1. Edges between vertices that have too many are removed, along alternating rows; then others of those who still have
   too many.
2. Missing edges are added, whoever lacks most first, between vertices that are not linked.
3. Where that gets stuck, edges x-y are replaced by u-x and y-v, or longer rows of that kind: added edges if that can be,
   else original ones, as few as possible.
4. Original edges are brought back wherever that is possible by a row that costs none.

If the rows of step 3 do not lead to the degrees although there are graphs with them, one is constructed from the degrees
alone, and step 4 makes the most of it.
"""

from __future__ import annotations

import numpy as np

from kgreason.anonymizers.k_degree.construct import Degrees, Edges, construct
from kgreason.anonymizers.k_degree.workpiece import Workpiece

_COSTS = 4  # original edges less one that a row may cost
_STEPS = 100_000_000  # of the search for rows that bring original edges back


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
    graph from the degrees alone and switches: see `switched`.

    Examples
    --------
    >>> star = np.array([[0, 1], [0, 2], [0, 3]])
    >>> relaxed(star, np.array([2, 2, 1, 1]), np.random.default_rng(0)).tolist()
    [[0, 1], [0, 2], [1, 3]]
    """
    graph = Workpiece(edges, degrees, rng)
    if degrees.sum() % 2 == 0:
        graph.drop()
        turns = rng.permutation(np.flatnonzero(graph.lack))
        graph.join(turns[np.argsort(-graph.lack[turns], kind="stable")])
        for cost in range(_COSTS):
            graph.mend(cost)
    if not graph.finished:
        graph = Workpiece(edges, degrees, rng, construct(degrees, rng))
    graph.switch()
    graph.restore(_STEPS)
    graph.mix()
    return graph.edges


def switched(edges: Edges, start: Edges, n: int, rng: np.random.Generator) -> Edges:
    """Bring a graph nearer to the original one by switches of two edges, which change no degree, until none gains.

    Parameters
    ----------
    edges
        The original edges, int64, shape (m, 2).
    start
        Edges of another graph over the same vertices, such as one of `construct`.
    n
        Number of vertices.

    References
    ----------
    Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, section 6.3 (Greedy_Swap).

    Examples
    --------
    >>> paths = np.array([[0, 1], [2, 3]]), np.array([[0, 2], [1, 3]])
    >>> switched(*paths, 4, np.random.default_rng(0)).tolist()
    [[0, 1], [2, 3]]
    """
    graph = Workpiece(edges, np.bincount(start.ravel(), minlength=n), rng, start)
    graph.switch()
    graph.mix()
    return graph.edges
