"""Make the sums of out- and in-degrees of all users equal, at least cost.

A unit of a target of a cluster with s users moves the imbalance Σ |c| o_c - Σ |c| i_c by s. Costs are convex, so steps
that are taken cheapest per user first are optimal as long as none of them overshoots (Lagrangian relaxation). What is
left is less than the next step; it is settled by dynamic programming over what is left, with some more or
fewer steps of the clusters of each size. Steps of one size are alike but for their cost, so there are as many stages as
sizes. Sizes may be such that this does not succeed (two clusters of 1,000 and 1,001 users); then the largest clusters
are balanced by themselves, Σ o_c = Σ i_c, which is always possible, and the others go on without them.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.people.targets import Step, Targets

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
