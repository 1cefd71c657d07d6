"""Pools of members of each class with different degrees, in which most subgraphs of the class find their images."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.cores import each
from kgreason.base.jit import Flags, Ints, Rows, Shorts, inlined, kernel
from kgreason.graph.knowledge_graph import Vertices
from kgreason.graph.sorted_keys import ranks, row_numbers

MOST = 63  # members of a pool, which fit into a bit set
_STEPS = 4_000  # of the search for disjoint images; an unfinished search counts as not found

_SHARES = 16  # into which the choice of pools is divided for the cores
_STEPS_OF_MEMBER = 1 << 8  # of the choice


@dataclass(frozen=True, eq=False)
class Pools:
    """Members of classes, in canonical order, in which images are looked up."""

    members: Ints  # shape (N, x), sorted by class
    first: Ints  # those of class c are ``members[first[c]:first[c + 1]]``, at most 63
    first_turn: Ints  # automorphisms of class c are ``turns[first_turn[c]:first_turn[c + 1]]``
    turns: Ints
    ranks: Shorts  # of the in-degree and the out-degree of each vertex in turn; also of vertices outside the graph
    width: int  # number of ranks

    @classmethod
    def none(cls, x: int, classes: int = 0, n: int = 0) -> Pools:
        """Empty pools."""
        first, rows = np.zeros(classes + 1, dtype=np.int64), np.empty((0, x), dtype=np.int64)
        return cls(rows, first, first, rows, np.zeros(2 * n, dtype=np.int32), 1)

    @cached_property
    def sets(self) -> tuple[Ints, Ints]:
        """`apart` and `taken`, as used by `covered`."""
        x, classes = self.members.shape[1], len(self.first) - 1
        apart = np.zeros(len(self.members), dtype=np.int64)
        taken = np.zeros(classes * x * self.width, dtype=np.int64)
        _fill_sets(
            self.first, self.members, self.first_turn, self.turns, self.ranks, self.width, apart, taken
        )
        return apart, taken

    @property
    def holders(self) -> Ints:
        """``holders[64 * class + r]``: bit set of the members that have a vertex v with v % 64 = r."""
        classes = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))[:, None]
        bits = 1 << (np.arange(len(self.members))[:, None] - self.first[classes])
        found = np.zeros(64 * (len(self.first) - 1), dtype=np.int64)
        np.bitwise_or.at(found, 64 * classes + self.members % 64, bits)
        return found

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints, Ints, int, Ints, Ints]:
        """Pools as arguments of `covered`, from `first_turn` on."""
        apart, taken = self.sets
        return self.first_turn, self.turns, self.first, self.members, apart, self.width, taken, self.holders

    def renumbered(self, original: Vertices) -> Pools:
        """The same pools with vertices numbered as in an adjacency; other vertices keep their numbers."""
        n, total = len(original), len(self.ranks) // 2
        number = np.arange(total, dtype=np.int64)
        number[original] = np.arange(n)
        ranks = self.ranks.reshape(total, 2).copy()
        ranks[:n] = ranks[original]
        found = replace(self, members=number[self.members], ranks=ranks.ravel())
        found.__dict__["sets"] = self.sets  # the same under any numbering
        return found

    def finds(self, members: Ints, classes: Ints, need: int) -> npt.NDArray[np.bool_]:
        """Which subgraphs, in canonical order, have `need` images in the pool of their class."""
        found = np.zeros(len(members), dtype=np.bool_)
        x, count = members.shape[1], len(self.first) - 1
        buffers: tuple[Any, ...] = tuple(np.zeros(s, dtype=np.int64) for s in (x, x, max(need, 1)))
        identity = np.arange(count, dtype=np.int32), np.tile(np.arange(x, dtype=np.int64), (count, 1))
        members, classes = np.ascontiguousarray(members), np.ascontiguousarray(classes)
        arguments: tuple[Any, ...] = x, need, *buffers, self.ranks, *identity, *self.arrays, found
        cover(members, classes, *arguments)
        return found


def degree_ranks(degrees: tuple[Vertices, Vertices]) -> tuple[Shorts, int]:
    """Ranks of the in-degree and the out-degree of each vertex in turn, and the number of distinct ranks."""
    inner, outer = map(ranks, degrees)
    first, second = (int(found.max(initial=-1)) + 1 for found in (inner, outer))
    return np.stack([inner, outer + first], axis=1).ravel().astype(np.int32), first + second


def diverse(
    members: Ints,
    classes: Ints,
    count: int,
    turns: tuple[Ints, Ints],
    ranks: Shorts,
    width: int,
    most: int = MOST,
) -> Pools:
    """Choose pools among members in canonical order, the first member of each of `count` classes first.

    Sets of members that are pairwise disjoint and differ in all degrees at every position are built greedily, one after
    the other, each as large as possible. `classes`, of the members, ascend; `turns` are those of `Forms.turns`.
    """
    bounds = np.searchsorted(classes, np.arange(count + 1)).astype(np.int64)
    sizes = np.minimum(np.diff(bounds), most)
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    pool = np.zeros((int(first[-1]), members.shape[1]), dtype=np.int64)
    members, used = np.ascontiguousarray(members), np.zeros(len(members), dtype=np.bool_)
    both = row_numbers(list(ranks.reshape(-1, 2).T.astype(np.int64)))
    alike = row_numbers([classes, *both[members].T])
    clashed = np.full(len(members), -1, dtype=np.int64)

    def some(start: int, stop: int) -> None:
        mine = slice(start, stop + 1)
        choose(
            members, bounds[mine], turns[0][mine], turns[1], ranks, first[mine], used, alike, clashed, pool
        )

    # classes of about equal numbers of members for each core
    cuts = np.searchsorted(bounds, np.arange(_SHARES + 1) * len(members) // _SHARES).tolist()
    cuts[0], cuts[-1] = 0, count
    each(lambda share: some(*share), pairwise(cuts), steps=len(members) * _STEPS_OF_MEMBER)
    return Pools(pool, first, *turns, ranks, width)


@inlined
def _met(member: Ints, other: Rows, row: int, x: int) -> bool:
    """Whether a subgraph shares a vertex with a member of a pool."""
    met = False
    for a in range(x):
        v = member[a]
        for b in range(x):
            met |= v == other[row, b]
    return met


@kernel
def _place(bit: int) -> int:
    """Number of the only bit of a positive number, without a branch for each."""
    place = 0
    place += 1 * ((bit & 0x2AAAAAAAAAAAAAAA) != 0)
    place += 2 * ((bit & 0x4CCCCCCCCCCCCCCC) != 0)
    place += 4 * ((bit & 0x70F0F0F0F0F0F0F0) != 0)
    place += 8 * ((bit & 0x7F00FF00FF00FF00) != 0)
    place += 16 * ((bit & 0x7FFF0000FFFF0000) != 0)
    place += 32 * ((bit & 0x7FFFFFFF00000000) != 0)
    return place


@inlined
def _images(
    free: int,
    need: int,
    x: int,
    first: int,
    member: Ints,
    pool: Rows,
    apart: Ints,
    candidates: Ints,
) -> bool:
    """Whether `need` free members of a pool are pairwise apart and disjoint from a subgraph."""
    # `free`: bit set of the members that differ from the subgraph in all degrees. The pool begins at ``pool[first]``;
    # `apart` holds for each of its members those apart from it. `candidates`: buffer for `need` bit sets.
    level = 0
    candidates[0] = free
    for _ in range(_STEPS):
        rest = candidates[level]
        if rest == 0:
            if level == 0:
                return False
            level -= 1
            continue
        bit = rest & -rest
        i = _place(bit)
        candidates[level] = rest ^ bit
        if _met(member, pool, first + i, x):
            for lower in range(level):
                candidates[lower] &= ~bit
            continue
        if level + 1 == need:
            return True
        level += 1
        candidates[level] = candidates[level - 1] & apart[first + i]
    return False


@inlined
def covered(
    kind: int, x: int, need: int, member: Ints, ordered: Ints, candidates: Ints, ranks: Shorts,
    class_of: Shorts, orders: Rows, first_turn: Ints, turns: Rows, first_member: Ints, pool: Rows, apart: Ints,
    width: int, taken: Ints, holders: Ints,
) -> bool:  # fmt: skip
    """Whether a subgraph has its images in the pool of its class.

    Parameters
    ----------
    kind
        Kind of the subgraph; its class is ``class_of[kind]``, and ``member[orders[kind]]`` are its vertices in the
        canonical order of the class.
    ranks
        Ranks of the in-degree and the out-degree of each vertex in turn, each among all distinct ones.
    first_turn, turns
        Automorphisms of each class.
    first_member, pool, apart
        Pool of each class, at most 63 members in canonical order, and the bit set of those apart from each.
    width, taken
        ``taken[(class * x + position) * width + rank]``: bit set of the members with this degree at this position.
    holders
        As `Pools.holders`.
    """
    c = class_of[kind]
    first = first_member[c]
    size = first_member[c + 1] - first
    if size < need:
        return False
    near = 0  # members that may share a vertex with the subgraph
    for a in range(x):
        v = member[orders[kind, a]]
        ordered[a] = v
        near |= holders[(c << 6) + (v & 63)]
    everyone = (1 << size) - 1
    for turn in range(first_turn[c], first_turn[c + 1]):
        clash = 0
        for a in range(x):
            v = ordered[turns[turn, a]]
            at = (c * x + a) * width
            clash |= taken[at + ranks[2 * v]] | taken[at + ranks[2 * v + 1]]
        free = everyone & ~clash
        rest = free & ~near
        count = 1
        while rest != 0 and count < need:  # nearly always, the first members that fit are enough
            rest &= apart[first + _place(rest & -rest)]
            count += 1
        if rest != 0 or (free != 0 and _images(free, need, x, first, member, pool, apart, candidates)):
            return True
    return False


@inlined
def _differ(
    one: Rows, i: int, turn: int, other: Rows, j: int, other_turn: int, turns: Rows, ranks: Shorts
) -> bool:  # fmt: skip
    """Whether two members, each under an automorphism, differ in all degrees."""
    for a in range(one.shape[1]):
        u, v = one[i, turns[turn, a]], other[j, turns[other_turn, a]]
        if ranks[2 * u] == ranks[2 * v] or ranks[2 * u + 1] == ranks[2 * v + 1]:
            return False
    return True


@inlined
def _disjoint(one: Rows, i: int, other: Rows, j: int) -> bool:
    """Whether two members share no vertex."""
    x = one.shape[1]
    for a in range(x):
        for b in range(x):
            if one[i, a] == other[j, b]:
                return False
    return True


@inlined
def _apart(
    one: Rows, i: int, turn: int, other: Rows, j: int, other_turn: int, turns: Rows, ranks: Shorts
) -> bool:  # fmt: skip
    """Whether two members, each under an automorphism, are disjoint and differ in all degrees."""
    return _differ(one, i, turn, other, j, other_turn, turns, ranks) and _disjoint(one, i, other, j)


@kernel
def _fill_sets(
    first: Ints, pool: Rows, first_turn: Ints, turns: Rows, ranks: Shorts, width: int, apart: Ints, taken: Ints
) -> None:  # fmt: skip
    """Fill the bit sets of pools: members apart from each other, and members of equal degree."""
    x = pool.shape[1]
    for c in range(len(first) - 1):
        for i in range(first[c], first[c + 1]):
            bit = 1 << (i - first[c])
            for a in range(x):
                v = pool[i, a]
                at = (c * x + a) * width
                taken[at + ranks[2 * v]] |= bit
                taken[at + ranks[2 * v + 1]] |= bit
            for j in range(first[c], i):
                same = first_turn[c]  # the first automorphism is the identity
                if _apart(pool, i, same, pool, j, same, turns, ranks):
                    apart[i] |= 1 << (j - first[c])
                    apart[j] |= bit


@kernel
def choose(
    members: Rows, bounds: Ints, first_turn: Ints, turns: Rows, ranks: Shorts, first: Ints, used: Flags, alike: Ints,
    clashed: Ints, pool: Rows,
) -> None:  # fmt: skip
    """Choose ``first[c + 1] - first[c]`` members of each class, in groups that are pairwise apart.

    Members with equal degrees are `alike`; `clashed`, initially -1, is the last group from which they do not differ.
    """
    x = members.shape[1]
    for c in range(len(bounds) - 1):
        row = first[c]
        while row < first[c + 1]:
            group = row
            for i in range(bounds[c], bounds[c + 1]):
                if used[i] or clashed[alike[i]] == group:
                    continue
                if row == first[c + 1]:
                    break
                clash = True
                for turn in range(first_turn[c], first_turn[c + 1]):
                    fits = True
                    for j in range(group, row):
                        if not _differ(pool, j, first_turn[c], members, i, turn, turns, ranks):
                            fits = False
                            break
                    if not fits:
                        continue
                    clash = False
                    for j in range(group, row):
                        if not _disjoint(pool, j, members, i):
                            fits = False
                            break
                    if fits:
                        for a in range(x):
                            pool[row, a] = members[i, turns[turn, a]]
                        used[i] = True
                        row += 1
                    break
                if clash:
                    clashed[alike[i]] = group


@kernel
def cover(
    members: Rows, kinds: Ints, x: int, need: int, member: Ints, ordered: Ints, candidates: Ints,
    ranks: Shorts, class_of: Shorts, orders: Rows, first_turn: Ints, turns: Rows, first_member: Ints, pool: Rows,
    apart: Ints, width: int, taken: Ints, holders: Ints, found: Flags,
) -> None:  # fmt: skip
    """Whether each subgraph has its images in the pool of its class."""
    for i in range(len(members)):
        for a in range(x):
            member[a] = members[i, a]
        found[i] = covered(
            kinds[i], x, need, member, ordered, candidates, ranks, class_of, orders,
            first_turn, turns, first_member, pool, apart, width, taken, holders,
        )  # fmt: skip


@kernel
def search(
    targets: Rows, classes: Ints, bounds: Ints, members: Rows, first_turn: Ints, turns: Rows, ranks: Shorts,
    need: int, budget: int, places: Ints, turned: Ints, level_at: Ints, found: Flags, apart: Ints,
) -> None:  # fmt: skip
    """Search images of subgraphs (`targets`, in canonical order) among all members of their class.

    Members of class c are ``members[bounds[c]:bounds[c + 1]]``, under all automorphisms. A search is abandoned after
    `budget` comparisons. Buffers: `places` and `turned` for the members that are apart from a target, and their
    automorphisms; `level_at` for `need` numbers. Results: `found`, and how many members are `apart` from each target,
    at most as many as there are `places`.
    """
    most = len(places)
    for t in range(len(targets)):
        c = classes[t]
        many = 0
        for i in range(bounds[c], bounds[c + 1]):
            if many == most:
                break
            for turn in range(first_turn[c], first_turn[c + 1]):
                if many < most and _apart(targets, t, first_turn[c], members, i, turn, turns, ranks):
                    places[many] = i
                    turned[many] = turn
                    many += 1
        found[t] = False
        apart[t] = many
        level = 0
        level_at[0] = 0
        steps = 0
        while level >= 0 and steps < budget:
            i = level_at[level]
            if i >= many:
                level -= 1
                if level >= 0:
                    level_at[level] += 1
                continue
            fits = True
            for lower in range(level):
                j = level_at[lower]
                steps += 1
                if not _apart(members, places[j], turned[j], members, places[i], turned[i], turns, ranks):
                    fits = False
                    break
            steps += 1
            if not fits:
                level_at[level] += 1
            elif level + 1 == need:
                found[t] = True
                break
            else:
                level += 1
                level_at[level] = i + 1
