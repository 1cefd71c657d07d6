"""For each class some members whose degrees differ: where most subgraphs of the class find their images."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.graph.model import Vertices
from kgreason.subgraphs.adjacency import Ints, Shorts

MOST = 63  # members of a pool: bits of a set


@dataclass(frozen=True, eq=False)
class Pools:
    """Members of classes.

    Attributes
    ----------
    members
        Shape (N, x), in canonical order, by class.
    first
        Those of class c are ``members[first[c]:first[c + 1]]``, at most 63.
    first_turn, turns
        Automorphisms of the classes.
    ranks
        Rank of the in-degree of each vertex, then that of its out-degree; members may be more vertices than those
        of the graph.
    width
        Number of ranks.
    """

    members: Ints
    first: Ints
    first_turn: Ints
    turns: Ints
    ranks: Shorts
    width: int

    @classmethod
    def none(cls, x: int, classes: int = 0, n: int = 0) -> Pools:
        """No members."""
        first, rows = np.zeros(classes + 1, dtype=np.int64), np.empty((0, x), dtype=np.int64)
        return cls(rows, first, first, rows, np.zeros(2 * n, dtype=np.int32), 1)

    @cached_property
    def sets(self) -> tuple[Ints, Ints]:
        """`apart` and `taken`, as `covered` takes them."""
        from kgreason.subgraphs.pool_kernels import fill_sets

        x, classes = self.members.shape[1], len(self.first) - 1
        apart = np.zeros(len(self.members), dtype=np.int64)
        taken = np.zeros(classes * x * self.width, dtype=np.int64)
        fill_sets(self.first, self.members, self.first_turn, self.turns, self.ranks, self.width, apart, taken)
        return apart, taken

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints, Ints, int, Ints]:
        """Pools as `covered` takes them, from `first_turn` on."""
        apart, taken = self.sets
        return self.first_turn, self.turns, self.first, self.members, apart, self.width, taken

    def renumbered(self, original: Vertices) -> Pools:
        """The same with vertices as an adjacency numbers them; vertices beyond it keep their numbers."""
        n, total = len(original), len(self.ranks) // 2
        rank = np.arange(total, dtype=np.int64)
        rank[original] = np.arange(n)
        ranks = self.ranks.reshape(2, total).copy()
        ranks[:, :n] = ranks[:, original]
        found = replace(self, members=rank[self.members], ranks=ranks.ravel())
        found.__dict__["sets"] = self.sets
        return found

    def finds(self, members: Ints, classes: Ints, need: int) -> npt.NDArray[np.bool_]:
        """Which subgraphs, in canonical order, find `need` images in the pool of their class."""
        from kgreason.subgraphs.pool_kernels import cover

        found = np.zeros(len(members), dtype=np.bool_)
        x, count = members.shape[1], len(self.first) - 1
        room: tuple[Any, ...] = tuple(np.zeros(s, dtype=np.int64) for s in (x, x, max(need, 1)))
        as_they_are = np.arange(count, dtype=np.int32), np.tile(np.arange(x, dtype=np.int64), (count, 1))
        members, classes = np.ascontiguousarray(members), np.ascontiguousarray(classes)
        given: tuple[Any, ...] = members, classes, x, need, *room, self.ranks, *as_they_are
        given = *given, *self.arrays, found
        cover(*given)
        return found


def degree_ranks(degrees: tuple[Vertices, Vertices]) -> tuple[Shorts, int]:
    """Ranks of in-degrees, then of out-degrees, and how many there are."""
    inner, outer = (np.unique(d, return_inverse=True) for d in degrees)
    ranks = np.concatenate([inner[1].reshape(-1), outer[1].reshape(-1) + len(inner[0])])
    return ranks.astype(np.int32), len(inner[0]) + len(outer[0])


def diverse(
    members: Ints,
    classes: Ints,
    count: int,
    turns: tuple[Ints, Ints],
    ranks: Shorts,
    width: int,
    most: int = MOST,
) -> Pools:
    """Choose pools among members in canonical order, the first of a class first.

    Sets of members that are pairwise disjoint and differ in all degrees at every position are built greedily, one
    after the other, each as large as it gets.

    Parameters
    ----------
    classes
        Class of each member, ascending; there are `count` of them.
    turns
        Automorphisms, as `Forms.turns` gives them.
    """
    from kgreason.subgraphs.pool_kernels import choose

    bounds = np.searchsorted(classes, np.arange(count + 1)).astype(np.int64)
    sizes = np.minimum(np.diff(bounds), most)
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    pool = np.zeros((int(first[-1]), members.shape[1]), dtype=np.int64)
    used = np.zeros(len(members), dtype=np.bool_)
    choose(np.ascontiguousarray(members), bounds, *turns, ranks, first, used, pool)
    return Pools(pool, first, *turns, ranks, width)
