"""Compiled work on pools of members."""

from __future__ import annotations

from kgreason.jit import Flags, Ints, Rows, Shorts, kernel
from kgreason.subgraphs.visit_kernels import covered


@kernel
def _apart(
    one: Rows, i: int, turn: int, other: Rows, j: int, other_turn: int, turns: Rows, ranks: Shorts
) -> bool:  # fmt: skip
    """Whether two members, each turned, share no vertex and differ in all degrees."""
    n = len(ranks) >> 1
    x = one.shape[1]
    for a in range(x):
        u, v = one[i, turns[turn, a]], other[j, turns[other_turn, a]]
        if ranks[u] == ranks[v] or ranks[n + u] == ranks[n + v]:
            return False
    for a in range(x):
        for b in range(x):
            if one[i, a] == other[j, b]:
                return False
    return True


@kernel
def fill_sets(
    first: Ints, pool: Rows, first_turn: Ints, turns: Rows, ranks: Shorts, width: int, apart: Ints, taken: Ints
) -> None:  # fmt: skip
    """Fill the bit sets of pools: members apart from each other, and members of equal degree."""
    n = len(ranks) >> 1
    x = pool.shape[1]
    for c in range(len(first) - 1):
        for i in range(first[c], first[c + 1]):
            bit = 1 << (i - first[c])
            for a in range(x):
                v = pool[i, a]
                at = (c * x + a) * width
                taken[at + ranks[v]] |= bit
                taken[at + ranks[n + v]] |= bit
            for j in range(first[c], i):
                same = first_turn[c]  # the first turn is none
                if _apart(pool, i, same, pool, j, same, turns, ranks):
                    apart[i] |= 1 << (j - first[c])
                    apart[j] |= bit


@kernel
def choose(
    members: Rows, bounds: Ints, first_turn: Ints, turns: Rows, ranks: Shorts, first: Ints, used: Flags, pool: Rows
) -> None:  # fmt: skip
    """Choose ``first[c + 1] - first[c]`` members of each class, in groups that are pairwise apart."""
    x = members.shape[1]
    for c in range(len(bounds) - 1):
        row = first[c]
        while row < first[c + 1]:
            group = row
            for i in range(bounds[c], bounds[c + 1]):
                if used[i]:
                    continue
                if row == first[c + 1]:
                    break
                for turn in range(first_turn[c], first_turn[c + 1]):
                    fits = True
                    for j in range(group, row):
                        if not _apart(pool, j, first_turn[c], members, i, turn, turns, ranks):
                            fits = False
                            break
                    if fits:
                        for a in range(x):
                            pool[row, a] = members[i, turns[turn, a]]
                        used[i] = True
                        row += 1
                        break


@kernel
def cover(
    members: Rows, kinds: Ints, x: int, need: int, member: Ints, ordered: Ints, open_: Ints,
    ranks: Shorts, class_of: Shorts, orders: Rows, first_turn: Ints, turns: Rows, first_member: Ints, pool: Rows,
    apart: Ints, width: int, taken: Ints, found: Flags,
) -> None:  # fmt: skip
    """Tell of each subgraph whether it finds its images in the pool of its class."""
    for i in range(len(members)):
        for a in range(x):
            member[a] = members[i, a]
        found[i] = covered(
            kinds[i], x, need, member, ordered, open_, ranks, class_of, orders,
            first_turn, turns, first_member, pool, apart, width, taken,
        )  # fmt: skip


@kernel
def search(
    targets: Rows, classes: Ints, bounds: Ints, members: Rows, first_turn: Ints, turns: Rows, ranks: Shorts,
    need: int, budget: int, places: Ints, turned: Ints, level_at: Ints, found: Flags,
) -> None:  # fmt: skip
    """Search images of subgraphs among all members of their class, in all their turns.

    Parameters
    ----------
    targets, classes
        Subgraphs in canonical order, and their classes.
    bounds, members
        Members of class c are ``members[bounds[c]:bounds[c + 1]]``.
    budget
        Comparisons after which a search is given up.
    places, turned, level_at
        Room: members that are apart from the target, their turns; and `need` numbers.
    found
        Written.
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
