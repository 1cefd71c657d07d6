"""How often friends of friends are friends."""

from __future__ import annotations

from math import fsum

import numpy as np

from kgreason.assess.people.clustering_kernels import triangles
from kgreason.assess.people.pairs import degrees, keys, linked, rows
from kgreason.graph.people.model import PeopleGraph


def clustering(graph: PeopleGraph) -> float:
    """Average clustering coefficient of the directed graph of all relations, edges in several of them counting once.

    The coefficient of a user is the number of directed triangles through him over that of those possible with his
    degrees, 0 where none is possible. It takes time O(m^1.5) and memory O(n + m), also where somebody is linked with
    everybody.

    References
    ----------
    Fagiolo, "Clustering in complex directed networks", 2007, equation 8; also `networkx.average_clustering`.

    Examples
    --------
    A triangle whose links all run both ways, and one with a link missing, in which every second way round is closed:

    >>> both = PeopleGraph.from_triples("abc", [], [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")], mutual=["r"])
    >>> clustering(both)
    1.0
    >>> clustering(PeopleGraph.from_triples("abc", [], [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")]))
    0.5
    """
    n = graph.n
    if not n:
        return 0.0
    source, target = linked(graph)
    ways = np.unique((source * n + target)[source != target])
    # an edge that runs both ways weighs 2: it is part of twice as many directed triangles
    pairs, weight = np.unique(keys(n, *np.divmod(ways, n)), return_counts=True)
    ends = np.stack(np.divmod(pairs, n))
    degree = degrees(n, ends) + (mutual := degrees(n, ends[:, weight == 2]))
    place = np.empty(n, dtype=np.int64)
    place[np.argsort(degree - mutual, kind="stable")] = np.arange(n)
    low, high = np.sort(place[ends], axis=0)
    start, near, order = rows(n, low, high)
    found = np.zeros(n, dtype=np.int64)
    triangles(start, near, weight[order], np.zeros(n, dtype=np.int64), found)
    possible = degree * (degree - 1) - 2 * mutual
    # exact, so that the order of users, which labels decide, makes no difference
    return fsum((found[place] / np.where(possible > 0, possible, 1)).tolist()) / n
