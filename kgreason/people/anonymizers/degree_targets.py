"""Degree targets: the out- and in-degree of each cluster in one relation, with equal sums.

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

A unit of a target of a cluster with s users moves the imbalance Σ |c| o_c - Σ |c| i_c by s. Costs are convex, so steps
that are taken cheapest per user first are optimal as long as none of them overshoots (Lagrangian relaxation). What is
left is less than the next step; it is settled by dynamic programming over what is left, with some more or
fewer steps of the clusters of each size. Steps of one size are alike but for their cost, so there are as many stages as
sizes. Sizes may be such that this does not succeed (two clusters of 1,000 and 1,001 users); then the largest clusters
are balanced by themselves, Σ o_c = Σ i_c, which is always possible, and the others go on without them.

References
----------
THESIS, 3.3.3 (largest degrees, Degree Decrement); PCKGA, section 3 (KGG).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from heapq import heapify, heappop, heapreplace
from itertools import islice

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.model import Counts

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


_STEPS = 256  # more or fewer steps that are tried, over all sizes
_REACH = 1 << 14  # imbalance that is come through at least


def balance(targets: Targets) -> None:
    """Change targets until the sums of degrees are equal.

    Ends, as each round takes out the clusters of one size, and without any cluster the imbalance is 0.
    """
    of = np.arange(len(targets.value))
    while targets.imbalance and not _balance(targets, of):
        largest = targets.size[of] == targets.size[of].max()
        _by_themselves(targets, of[largest])
        of = of[~largest]


def _by_themselves(targets: Targets, of: npt.NDArray[np.int64]) -> None:
    """Give clusters of one size equal sums of out- and in-degrees, by the cheapest steps."""
    over = int(targets.sign[of] @ targets.value[of])
    direction = -1 if over > 0 else 1
    for _, i in list(islice(targets.steps(of, direction), abs(over))):
        targets.change(i, direction)


def _balance(targets: Targets, of: npt.NDArray[np.int64]) -> bool:
    """Balance all with some of the targets; whether that succeeds. If not, the targets are as before."""
    before = targets.value.copy()
    if _relaxed(targets, of) or _settled(targets, of):
        return True
    targets.value[:] = before
    return False


def _relaxed(targets: Targets, of: npt.NDArray[np.int64]) -> bool:
    """Take the cheapest steps that do not overshoot; whether that is all and optimal."""
    optimal = True
    while left := abs(targets.imbalance):
        direction = -1 if targets.imbalance > 0 else 1
        fitting = of[targets.size[of] <= left]
        optimal = optimal and len(fitting) == len(of)
        taken = []
        for _, i in targets.steps(fitting, direction):
            left -= targets.size[i]
            if left < 0:
                break
            taken.append(i)
        for i in taken:
            targets.change(i, direction)
        if not taken:
            return False
        optimal = optimal and left == 0
    return optimal


def _settled(targets: Targets, of: npt.NDArray[np.int64]) -> bool:
    """Come from the present imbalance to none by the cheapest steps, some of each size; whether that is possible."""
    sizes = np.unique(targets.size[of])
    most = max(8, _STEPS // max(len(sizes), 1))
    groups = [of[targets.size[of] == size] for size in sizes]
    ladders = [
        {direction: list(islice(targets.steps(group, direction), most)) for direction in (1, -1)}
        for group in groups
    ]
    start = targets.imbalance
    reach = min(max(_REACH, 4 * abs(start)), abs(start) + int(sizes.sum()) * most)
    cost = np.full(2 * reach + 1, np.inf)
    cost[reach + start] = 0.0
    choices = []
    for size, ladder in zip(sizes.tolist(), ladders, strict=True):
        cost, choice = _stage(cost, size, ladder)
        choices.append(choice)
    if not np.isfinite(cost[reach]):
        return False
    at = reach
    for size, ladder, choice in zip(sizes[::-1].tolist(), ladders[::-1], choices[::-1], strict=True):
        count = int(choice[at])
        direction = 1 if count > 0 else -1
        for _, i in ladder[direction][: abs(count)]:
            targets.change(i, direction)
        at -= size * count
    return True


def _stage(
    cost: npt.NDArray[np.float64], size: int, ladder: dict[int, list[Step]]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int16]]:
    """Least cost of each imbalance when clusters of one size may change too, and by how many steps they do."""
    least, choice = cost.copy(), np.zeros(len(cost), dtype=np.int16)
    for direction, steps in ladder.items():
        paid = 0.0
        for count, (price, _) in enumerate(steps, start=1):
            paid += price
            shift = size * count
            if shift >= len(cost):
                break
            reached = slice(shift, None) if direction > 0 else slice(None, -shift)
            left = slice(None, -shift) if direction > 0 else slice(shift, None)
            better = cost[left] + paid < least[reached]
            least[reached][better] = (cost[left] + paid)[better]
            choice[reached][better] = direction * count
    return least, choice
