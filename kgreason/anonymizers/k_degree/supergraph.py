"""Graphs with given degrees that have all edges of another.

References
----------
Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, section 6.1 (Supergraph).
"""

from __future__ import annotations

import numpy as np

from kgreason.anonymizers.k_degree.construct import Degrees, Edges
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
        graph.join(rng.permutation(np.flatnonzero(graph.lack)))
        graph.mend(cost=0)
        if graph.finished:
            graph.mix()
            return graph.edges, 0
        least = min(least, int(graph.lack.sum()))
        if least > _NEAR:
            break
    return None, least
