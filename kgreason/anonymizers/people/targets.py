"""The out- and in-degree that each cluster shall have in one relation: near the degrees of its users, with equal sums.

What a degree costs is the number of edges that it changes. An added edge adds to one out-degree and one in-degree, so
one that is too small by one costs half an added edge. One that is too large costs a removed edge. If both ends of the
removed edge are too large, that is half a removed edge for each; if one is, an edge has to be added at the other end
in its place. With a removed edge counting `removal` times as much as an added one, this is between `removal` and
1 + 2 removal half edges. In between, the cost of a target t of a cluster with the degrees d_1..d_s is

    Σ max(t - d, 0) + (1 + removal) Σ max(d - t, 0),

which is convex and piecewise linear, and least at a quantile: with removal = 1 two thirds of the users have at most t.
The factor 1 + removal was chosen on citations in DBLP (k = 4, 10) and e-mails of an institution (k = 5, 50). If
removal is large (`KEEP`), targets are the largest degrees, as in the papers, and edges are removed only where these
degrees cannot be had otherwise. That is the usual choice: where few users of a cluster have edges at all, as in the
sparse relations of knowledge graphs, the cheapest target is none, and real edges are lost.

References
----------
THESIS, 3.3.3 (largest degrees, Degree Decrement); PCKGA, section 3 (KGG).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from heapq import heapify, heappop, heapreplace

import numpy as np
import numpy.typing as npt

from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Counts

KEEP = 1e6
"""What a removed edge counts where targets are the largest degrees."""

Step = tuple[float, int]
"""What one more unit costs, and of which variable: target i, out-degrees first, then in-degrees."""


def excess(removal: float) -> float:
    """What a degree costs that is too large by one, where one too small by one costs 1."""
    return 1 + removal


class Targets:
    """Targets of the clusters 0 .. c-1, at first those that cost least.

    Attributes
    ----------
    value
        Out-degree of each cluster, then in-degree of each; int64, shape (2c,).
    size
        Users of the cluster of each target, shape (2c,).
    sign
        1 for out-degrees, -1 for in-degrees; shape (2c,).

    Parameters
    ----------
    out, into
        Degrees of users, int64, shape (n,).
    clusters
        Cluster of each user, shape (n,); each of 0 .. c-1 occurs.
    removal
        What a removed edge counts, where an added one counts 1.
    caps
        Most that each target may be, shape (2c,).
    """

    def __init__(self, out: Counts, into: Counts, clusters: Vertices, removal: float, caps: Counts) -> None:
        sizes = np.bincount(clusters)
        self.size = np.tile(sizes, 2)
        self.sign = np.repeat([1, -1], len(sizes))
        self.caps = caps
        self._excess = excess(removal)
        degrees = np.concatenate([out, into])
        degrees = degrees[np.lexsort((degrees, np.concatenate([clusters, clusters + len(sizes)])))]
        self._begin: list[int] = [0, *np.cumsum(self.size).tolist()]
        self._degrees: list[int] = degrees.tolist()
        above = np.maximum(np.ceil(self.size / (1 + self._excess)).astype(np.int64) - 1, 0)
        self.value: Counts = np.minimum(degrees[np.cumsum(self.size) - 1 - above], caps)

    @property
    def imbalance(self) -> int:
        """Sum of the out-degrees of all users, less the sum of their in-degrees."""
        return int(self.size * self.sign @ self.value)

    def cost(self, i: int, by: int, value: int) -> float | None:
        """What a unit more (`by` 1) or less (-1) of a target costs that has some value; `None` if it cannot be."""
        begin, end = self._begin[i], self._begin[i + 1]
        if by > 0:
            if value >= self.caps[i]:
                return None
            fit = bisect_right(self._degrees, value, begin, end)
            return (fit - begin) - self._excess * (end - fit)
        if value <= 0:
            return None
        less = bisect_left(self._degrees, value, begin, end)
        return self._excess * (end - less) - (less - begin)

    def steps(self, of: npt.NDArray[np.int64], direction: int) -> Iterator[Step]:
        """Changes by one unit that raise the imbalance (or lower it, if `direction` is -1), cheapest per user first.

        Among equally cheap ones those come first whose target has been changed least, then large targets.

        Parameters
        ----------
        of
            The targets that may change.
        """
        by = (self.sign * direction).tolist()
        size = self.size.tolist()
        queue = []

        def entry(i: int, done: int) -> tuple[float, int, int, int, float] | None:
            value = int(self.value[i]) + by[i] * done
            cost = self.cost(i, by[i], value)
            return None if cost is None else (cost / size[i], done, -value, i, cost)

        for i in of.tolist():
            first = entry(i, 0)
            if first:
                queue.append(first)
        heapify(queue)
        while queue:
            _, done, _, i, cost = queue[0]
            yield cost, i
            after = entry(i, done + 1)
            if after:
                heapreplace(queue, after)
            else:
                heappop(queue)

    def change(self, i: int, direction: int) -> None:
        """Take one step."""
        self.value[i] += self.sign[i] * direction
