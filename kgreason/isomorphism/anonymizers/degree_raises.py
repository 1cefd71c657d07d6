"""Raises of degrees after which rare pairs of in- and out-degree are frequent: at least k vertices have each.

A pair is *rare* if fewer than k vertices have it. Its vertices are raised to another pair, or other vertices, with
smaller degrees, are raised to the pair.

References
----------
K. Liu, E. Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, raise degrees of undirected graphs.
docs/anonymization.md, further guarantees.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kgreason.graph.sorted_keys import Ints
from kgreason.isomorphism.anonymizers.degree_distributions import Degrees

_NEAREST = 8  # pairs of degrees of each kind that are considered as the new pair of a rare one
VERTEX_COST = 2.0  # cost of a new vertex, in edges

Pair = tuple[int, int]  # in- and out-degree


def pair_counts(inner: Degrees, outer: Degrees) -> tuple[Ints, Ints, Ints]:
    """Distinct pairs of degrees, shape (P, 2), the number of each vertex's pair, and the count of each pair.

    Examples
    --------
    >>> [found.tolist() for found in pair_counts(np.array([1, 0, 1]), np.array([0, 2, 0]))]
    [[[0, 2], [1, 0]], [1, 0, 1], [1, 2]]
    """
    width = int(outer.max(initial=0)) + 1
    keys, number, counts = np.unique(inner * width + outer, return_inverse=True, return_counts=True)
    pairs = np.stack(np.divmod(keys, width), axis=1)
    return pairs, number.reshape(-1).astype(np.int64), counts.astype(np.int64)


class DegreeRaises:
    """Raises of in- and out-degrees, after which few vertices have a rare pair, at low cost.

    Pairs stay rare where new vertices with the same pair cost less than raises. Only `movable` vertices are raised, and
    only to pairs that they `may_have`. In a `symmetric` graph both degrees of a vertex rise equally.

    Attributes
    ----------
    inner, outer
        Degrees, raised by `run`.

    Examples
    --------
    Two vertices have a pair of their own each, (9, 9) and (8, 8):

    >>> raises = DegreeRaises(np.array([9, 8, 1, 1]), np.array([9, 8, 1, 1]), 2)
    >>> raises.run(np.random.default_rng(0))
    >>> raises.inner.tolist(), raises.outer.tolist()
    ([9, 9, 1, 1], [9, 9, 1, 1])
    """

    def __init__(
        self,
        inner: Degrees,
        outer: Degrees,
        k: int,
        *,
        movable: npt.NDArray[np.bool_] | None = None,
        symmetric: bool = False,
    ) -> None:
        self.inner, self.outer, self._k, self._symmetric = inner.copy(), outer.copy(), k, symmetric
        pairs, self._of, counts = pair_counts(inner, outer)
        room = 2 * len(pairs) + 1  # each pair that is settled makes at most one new one
        self._pairs = np.full((room, 2), -1, dtype=np.int64)
        self._pairs[: len(pairs)] = pairs
        self._count = np.zeros(room, dtype=np.int64)
        self._count[: len(pairs)] = counts
        self._number = {(a, b): i for i, (a, b) in enumerate(pairs.tolist())}
        self._movable = np.ones(len(inner), dtype=np.bool_) if movable is None else movable
        self._added = np.zeros(2, dtype=np.int64)  # to in- and out-degrees in total

    def may_have(self, vertex: int, pair: Pair, others: Sequence[int]) -> bool:  # noqa: ARG002
        """Whether a vertex may get a pair of degrees beside `others` that will get it, too."""
        return True

    def run(self, rng: np.random.Generator) -> None:
        """Raise degrees, the greatest rare pairs first."""
        order = rng.permutation(np.flatnonzero(self._movable))
        self._free = np.bincount(self._of[order], minlength=len(self._pairs))
        self._members: list[list[int]] = [[] for _ in self._pairs]
        for v, pair in zip(order.tolist(), self._of[order].tolist(), strict=True):
            self._members[pair].append(v)
        rare = np.flatnonzero((self._count > 0) & (self._count < self._k))
        for number in rare[np.argsort(-self._pairs[rare].sum(axis=1), kind="stable")].tolist():
            if 0 < self._count[number] < self._k:
                self._settle(number)

    def _settle(self, number: int) -> None:
        """Make a pair frequent, or raise all its vertices, if that costs less than new vertices."""
        lack = self._k - int(self._count[number])
        new = self._edges(lack * self._pairs[number]) + lack * VERTEX_COST
        costs = {option: self._cost(number, option) for option in self._options(number)}
        for option in sorted(costs, key=lambda option: costs[option]):
            if costs[option] >= new or self._gather(number, option):
                return

    def _edges(self, more: Ints) -> float:
        """Estimated number of edges for further in- and out-degrees.

        It lies between half of their ends, if all edges join raised vertices, and what the larger total needs so far.
        """
        most = float((self._added + more).max() - self._added.max())
        return (most + float(more.sum()) / 2) / 2

    def _options(self, number: int) -> list[Pair]:
        """The pair itself, and near pairs that are at least as great in both degrees."""
        mine, known = self._pairs[number], np.flatnonzero(self._count)
        joint = np.maximum(mine, self._pairs[known])
        if self._symmetric:  # both degrees rise equally
            joint = mine + (joint - mine).max(axis=1)[:, None]
        distance = (joint - mine).sum(axis=1)
        above = (joint == self._pairs[known]).all(axis=1)
        found = []
        for kind in (above, ~above & (self._count[known] < self._k)):
            rows = np.flatnonzero(kind)
            rows = rows[np.argsort(distance[rows], kind="stable")[: _NEAREST + 1]]
            found += joint[rows].tolist()
        return list(dict.fromkeys((a, b) for a, b in found))

    def _cost(self, number: int, target: Pair) -> float:
        """Cost in edges to raise the vertices of a pair, and so many of smaller ones as are needed, to a target."""
        here = self._number.get(target, -1)
        count, same = int(self._count[number]), here == number
        if not same and self._free[number] < count:
            return np.inf
        own = count * (np.array(target) - self._pairs[number])
        need = self._k - count - (0 if same or here < 0 else int(self._count[here]))
        if need <= 0:
            return self._edges(own)
        below, free = self._below(number, target)
        before = np.cumsum(free) - free
        taken = np.clip(need - before, 0, free)
        if taken.sum() < need:
            return np.inf
        return self._edges(own + (taken[:, None] * (np.array(target) - self._pairs[below])).sum(axis=0))

    def _below(self, number: int, target: Pair) -> tuple[Ints, Ints]:
        """Smaller pairs, the nearest first, and the numbers of vertices that they can give away."""
        lack = np.array(target) - self._pairs
        fits = (lack >= 0).all(axis=1) & (lack > 0).any(axis=1) & (self._free > 0)
        if self._symmetric:
            fits &= lack[:, 0] == lack[:, 1]
        fits[number] = False
        rows = np.flatnonzero(fits)
        rare = self._count[rows] < self._k
        free = np.minimum(np.where(rare, self._count[rows], self._count[rows] - self._k), self._free[rows])
        order = np.lexsort((~rare, lack[rows].sum(axis=1)))  # of equally near ones first the rare
        order = order[free[order] > 0]
        return rows[order], free[order]

    def _gather(self, number: int, target: Pair) -> bool:
        """Raise vertices to the target, unless too few may have these degrees; returns whether any was raised."""
        here = self._number.get(target, -1)
        moves: list[int] = []
        for v in self._members[number] if here != number else ():
            if not self.may_have(v, target, moves):
                return False
            moves.append(v)
        present = int(self._count[here]) if here >= 0 else 0
        for row, free in zip(*(a.tolist() for a in self._below(number, target)), strict=True):
            left = free
            for v in self._members[row]:
                if not left or len(moves) + present >= self._k:
                    break
                if self.may_have(v, target, moves):
                    moves.append(v)
                    left -= 1
        if len(moves) + present < self._k:
            return False
        for v in moves:
            self._move(v, target)
        return True

    def _move(self, vertex: int, target: Pair) -> None:
        new = self._number.setdefault(target, len(self._number))
        self._pairs[new] = target
        old = self._number[int(self.inner[vertex]), int(self.outer[vertex])]
        for pair, change in ((old, -1), (new, 1)):
            self._count[pair] += change
            self._free[pair] += change
        self._members[old].remove(vertex)
        self._members[new].append(vertex)
        self._added += self._pairs[new] - self._pairs[old]
        self.inner[vertex], self.outer[vertex] = target
