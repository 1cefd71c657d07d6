"""How often friends of friends are friends."""

from __future__ import annotations

from math import fsum

import numpy as np
import numpy.typing as npt

from kgreason.graph.people.model import PeopleGraph

Doubles = npt.NDArray[np.float64]


def clustering(graph: PeopleGraph) -> float:
    """Average clustering coefficient of the directed graph of all relations, edges in several of them counting once.

    The coefficient of a user is the number of directed triangles through him over that of those possible with his
    degrees, 0 where none is possible.

    References
    ----------
    Fagiolo, "Clustering in complex directed networks", 2007, equation 8; also `networkx.average_clustering`.
    """
    from scipy.sparse import csr_array

    n = graph.n
    if not n:
        return 0.0
    keys = [links.source * n + links.target for links in graph.relations.values()]
    edges = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *keys]))
    source, target = edges // n, edges % n
    directed = csr_array((np.ones(len(edges)), (source, target)), shape=(n, n))
    both = csr_array(directed + directed.T)
    triangles: Doubles = np.asarray((both @ both).multiply(both).sum(axis=1)).ravel()
    degree: Doubles = np.asarray(both.sum(axis=1)).ravel()
    mutual: Doubles = np.asarray(directed.multiply(directed.T).sum(axis=1)).ravel()
    possible = 2 * (degree * (degree - 1) - 2 * mutual)
    # exact, so that the order of users, which labels decide, makes no difference
    return fsum((triangles / np.where(possible > 0, possible, 1)).tolist()) / n
