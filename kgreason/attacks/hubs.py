"""Hub fingerprints: how far a vertex is from the best connected ones.

References
----------
M. Hay, G. Miklau, D. Jensen, D. Towsley, P. Weis: Resisting structural re-identification in anonymized social
networks, VLDB 2008: hub fingerprints.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.assess.refinement import numbered
from kgreason.graph.model import KnowledgeGraph

Ints = npt.NDArray[np.int64]
HUBS = 5


def hubs(graph: KnowledgeGraph, count: int = HUBS) -> Ints:
    """The vertices of the highest degrees, in and out together; of equal ones those with the least numbers."""
    return np.argsort(-(graph.in_degree() + graph.out_degree()), kind="stable")[:count]


def fingerprints(graph: KnowledgeGraph, anchors: Ints) -> Ints:
    """Number the vertices by their directed distances from and to some hubs; shape (n,).

    Parameters
    ----------
    anchors
        Vertices, shape (hubs, places): of several places of the same hub, in parts of the graph that are not
        connected, each vertex has its own.

    Examples
    --------
    >>> path = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("b", "d")])
    >>> fingerprints(path, np.array([[1]])).tolist()
    [0, 1, 2, 2]
    """
    return numbered(
        np.stack([_distances(graph, row, back) for row in anchors for back in (False, True)], axis=1)
        if len(anchors)
        else np.zeros((graph.n, 1), dtype=np.int64)
    )


def _distances(graph: KnowledgeGraph, sources: Ints, back: bool) -> Ints:
    """Edges from the nearest of the sources to each vertex, -1 where there is no way."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    source, target = graph.ends[::-1] if back else graph.ends
    edges = coo_array((np.ones(len(source)), (source, target)), shape=(graph.n, graph.n)).tocsr()
    found = dijkstra(edges, indices=sources, unweighted=True, min_only=True)
    distances: Ints = np.where(np.isinf(found), -1, found).astype(np.int64)
    return distances
