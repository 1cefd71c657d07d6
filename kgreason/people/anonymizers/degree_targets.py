"""Degree targets: the out- and in-degree of each cluster in one relation, with equal sums.

The cost of a degree is the number of edges that it changes. An added edge adds to one out-degree and one in-degree, so
a degree one unit too small costs half an added edge. A degree one unit too large costs a removed edge: half of one if
both ends of the edge are too large, otherwise a whole one plus an added edge at the other end. If a removed edge costs
`removal` times as much as an added one, this is between `removal` and 1 + 2 removal half edges. As a compromise, the
cost of a target t of a cluster with the degrees d_1..d_s is

    Σ max(t - d, 0) + (1 + removal) Σ max(d - t, 0),

which is convex and piecewise linear, with its minimum at a quantile: for removal = 1 two thirds of the users have at
most t. The factor 1 + removal was chosen on citations in DBLP (k = 4, 10) and e-mails of an institution (k = 5, 50).
If removal is large (`KEEP`), targets are the largest degrees, as in the papers, and edges are removed only if these
degrees are not realizable otherwise. That is the usual choice: if few users of a cluster have edges at all, as in the
sparse relations of knowledge graphs, the cheapest target is 0, and original edges would be lost.

One unit of a target of a cluster with s users changes the imbalance Σ |c| o_c - Σ |c| i_c by s. Costs are convex, so
taking the steps with the least cost per user first is optimal as long as none overshoots (Lagrangian relaxation). The
remaining imbalance is less than the next step; it is settled by dynamic programming over the imbalance, with some more
or fewer steps of the clusters of each size. Steps of one size differ in cost only, so there are as many stages as
sizes. For some sizes this fails (two clusters of 1,000 and 1,001 users); then the largest clusters are balanced among
themselves, Σ o_c = Σ i_c, which is always possible, and the others are balanced without them.

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
    """Cost of a degree one unit too large, where one unit too small costs 1."""
    return 1 + removal


class Targets:
    """Targets of the clusters 0 .. c-1, initially of least cost; out-degrees, then in-degrees.

    Attributes
    ----------
    value
        Degree of each target, int64, shape (2c,).
    size
        Number of users of the cluster of each target.
    sign
        1 for out-degrees, -1 for in-degrees.
    caps
        Upper bound of each target.

    Parameters
    ----------
    out, into
        Degrees of users, shape (n,).
    clusters
        Cluster of each user; each of 0 .. c-1 occurs.
    removal
        Cost of a removed edge, where an added one costs 1.
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
        """Sum of the out-degrees of all users, minus the sum of their in-degrees."""
        return int(self.size * self.sign @ self.value)

    def cost(self, i: int, by: int, value: int) -> float | None:
        """Cost of changing a target from `value` by one unit up (`by` 1) or down (-1); `None` if out of bounds."""
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
        """Unit changes that raise the imbalance (or lower it, if `direction` is -1), least cost per user first.

        Only the targets `of` change. Ties: targets changed least so far come first, then large targets.
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
        """Take one step of target i."""
        self.value[i] += self.sign[i] * direction


_STEPS = 256  # steps up or down to consider, over all sizes
_REACH = 1 << 14  # least range of imbalances in the dynamic program


def balance(targets: Targets) -> None:
    """Change targets until the sums of out- and in-degrees are equal.

    Terminates: each round excludes the clusters of one size, and without any cluster the imbalance is 0.
    """
    of = np.arange(len(targets.value))
    while targets.imbalance and not _balance(targets, of):
        largest = targets.size[of] == targets.size[of].max()
        _by_themselves(targets, of[largest])
        of = of[~largest]


def _by_themselves(targets: Targets, of: npt.NDArray[np.int64]) -> None:
    """Balance the clusters of one size among themselves, by the cheapest steps."""
    over = int(targets.sign[of] @ targets.value[of])
    direction = -1 if over > 0 else 1
    for _, i in list(islice(targets.steps(of, direction), abs(over))):
        targets.change(i, direction)


def _balance(targets: Targets, of: npt.NDArray[np.int64]) -> bool:
    """Balance all targets by changing some of them; returns whether it succeeded, and undoes its changes if not."""
    before = targets.value.copy()
    if _relaxed(targets, of) or _settled(targets, of):
        return True
    targets.value[:] = before
    return False


def _relaxed(targets: Targets, of: npt.NDArray[np.int64]) -> bool:
    """Take the cheapest steps that do not overshoot; returns whether this reached the optimum."""
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
    """Settle the remaining imbalance by dynamic programming over the sizes; returns whether it succeeded."""
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
    """One stage: least cost of each imbalance if clusters of one size may change too, and their signed steps."""
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
