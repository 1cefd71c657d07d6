"""How far users are from one another."""

from __future__ import annotations

import numpy as np

from kgreason.assess.people.distance_kernels import spread
from kgreason.assess.people.pairs import Pairs, rows
from kgreason.graph.model import Vertices

AT_ONCE = 63  # bits of a whole number above 0


def distances(n: int, edges: Pairs, sources: Vertices) -> tuple[float | None, float | None]:
    """Mean distance of connected pairs of a source and another user, and the share of pairs that are connected.

    It takes time O(m) for each source at most, much less if many are near one another, and memory O(n + m).

    Parameters
    ----------
    edges
        Pairs of users, each once; int64, shape (2, m).
    sources
        int64, none twice.

    Returns
    -------
    mean, share
        `None` if there are no such pairs.

    Examples
    --------
    >>> distances(4, np.array([[0, 1], [1, 2]]), np.array([0, 3]))
    (1.5, 0.3333333333333333)
    """
    start, near, _ = rows(n, np.concatenate([edges[0], edges[1]]), np.concatenate([edges[1], edges[0]]))
    found, active = np.zeros(2, dtype=np.int64), np.empty(2 * n, dtype=np.int64)
    for first in range(0, len(sources), AT_ONCE):
        seen, front, coming = (np.zeros(n, dtype=np.int64) for _ in range(3))
        spread(start, near, sources[first : first + AT_ONCE], seen, front, coming, active, found)
    total, pairs = map(int, found)
    possible = len(sources) * (n - 1)
    return total / pairs if pairs else None, pairs / possible if possible else None
