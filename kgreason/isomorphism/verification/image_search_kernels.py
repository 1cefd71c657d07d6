"""Compiled search for placements of the members of a class that are images of attacked subgraphs.

The tests have an uncompiled counterpart of `find_images`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kgreason.base.jit import Ints, Rows, inlined, kernel

PLACEMENTS = 1 << 8  # placements of the members of a class that are kept for a target at first


@inlined
def _apart(c: int, d: int, members: Rows, turns: Rows, traits: Rows) -> bool:
    """Whether two placements share no vertex and no trait at any position."""
    f = len(turns)
    one, turn, other, other_turn = c // f, c % f, d // f, d % f
    size = turns.shape[1]
    for p in range(size):
        u, v = members[one, turns[turn, p]], members[other, turns[other_turn, p]]
        for t in range(traits.shape[1]):
            if traits[u, t] == traits[v, t]:
                return False
    for p in range(size):
        for q in range(size):
            if members[one, p] == members[other, q]:
                return False
    return True


@inlined
def _equal_degrees(u: int, v: int, traits: Rows) -> int:
    """Number of equal degrees of two vertices."""
    equal = 0
    for t in range(traits.shape[1] - 1):
        equal += traits[u, t] == traits[v, t]
    return equal


@inlined
def _scarce(
    found: Ints, count: int, members: Rows, turns: Rows, traits: Rows, need: int, values: Ints
) -> bool:
    """Whether some position has fewer than `need` different values of a degree; `values` is a buffer."""
    f = len(turns)
    for p in range(turns.shape[1]):
        for t in range(traits.shape[1] - 1):
            different = 0
            for i in range(count):
                value = traits[members[found[i] // f, turns[found[i] % f, p]], t]
                new = True
                for j in range(different):
                    if values[j] == value:
                        new = False
                        break
                if new:
                    values[different] = value
                    different += 1
                    if different == need:
                        break
            if different < need:
                return True
    return False


@inlined
def _clique(
    start: int, found: Ints, count: int, need: int, work: Rows, left: Ints, chosen: Ints,
    members: Rows, turns: Rows, traits: Rows, budget: int,
) -> tuple[int, int]:  # fmt: skip
    """Choose `need` placements that are pairwise apart: `start` and others of ``found[:count]``."""
    # Returns the status (1 chosen, 0 impossible, -1 given up) and the number of comparisons.
    chosen[0] = start
    if need == 1:
        return 1, 0
    size = 0
    for i in range(count):
        c = found[i]
        if _apart(start, c, members, turns, traits):
            if need == 2:
                chosen[1] = c
                return 1, i
            work[1, size] = c
            size += 1
    spent = count
    level = 1
    left[1] = size
    while level >= 1:
        if left[level] < need - level:
            level -= 1
            continue
        left[level] -= 1
        c = work[level, left[level]]
        chosen[level] = c
        if level == need - 1:
            return 1, spent
        size = 0
        for i in range(left[level]):
            d = work[level, i]
            if _apart(c, d, members, turns, traits):
                work[level + 1, size] = d
                size += 1
        spent += left[level]
        if spent > budget:
            return -1, spent
        level += 1
        left[level] = size
    return 0, spent


@kernel
def _find_images(
    targets: Rows, first: int, members: Rows, turns: Rows, traits: Rows, need: int, patience: int, budget: int,
    alike: Ints, mine: Ints, work: Rows, left: Ints, chosen: Ints, values: Ints, status: Ints, images: Rows,
) -> int:  # fmt: skip
    """Decide targets from the `first` one on, as `find_images` does; returns where the buffers became too small."""
    # Buffers: `alike` for the placements that differ from a target in all degrees, and `mine` for those that also share
    # no vertex with it, of the same length; `work` for `need` times as many; `left`, `chosen` and `values` for `need`
    # numbers and one more.
    size = targets.shape[1]
    f = len(turns)
    label = traits.shape[1] - 1
    known = 0
    turn = 0
    scan = 0
    hopeless = False
    for t in range(first, len(targets)):
        same = t > first
        for p in range(size):
            if not same:
                break
            u, v = targets[t, p], targets[t - 1, p]
            same = _equal_degrees(u, v, traits) == label
        if not same:
            known = 0
            turn = 0
            scan = 0
            hopeless = False
        if hopeless:
            continue
        position = 0
        count = 0
        tried = 0
        spent = 0
        counted = False
        while True:
            c = -1
            if position < known:
                c = alike[position]
                position += 1
            else:
                while turn < f and c < 0:
                    while scan < len(members) and c < 0:
                        c = scan * f + turn
                        for p in range(size):
                            u, v = targets[t, p], members[scan, turns[turn, p]]
                            if _equal_degrees(u, v, traits):
                                c = -1
                                break
                        scan += 1
                    if c < 0:
                        turn += 1
                        scan = 0
                if c >= 0:
                    if known == len(alike):
                        return t
                    alike[known] = c
                    known += 1
                    position = known
            if c >= 0:
                m, g = c // f, c % f
                clash = False
                for p in range(size):
                    if traits[targets[t, p], label] == traits[members[m, turns[g, p]], label]:
                        clash = True
                    for q in range(size):
                        if targets[t, p] == members[m, q]:
                            clash = True
                if clash:
                    continue
                mine[count] = c
                count += 1
                if spent > patience:
                    continue
            elif not counted:
                counted = True
                if _scarce(alike, known, members, turns, traits, need, values):
                    hopeless = True
                    break
                if _scarce(mine, count, members, turns, traits, need, values):
                    break
            if tried == count:
                break
            result, cost = _clique(
                mine[tried], mine, tried, need, work, left, chosen, members, turns, traits, budget - spent
            )
            tried += 1
            spent += cost + 1
            if result == 1:
                status[t] = 1
                for j in range(need):
                    images[t, j] = chosen[j]
                break
            if result < 0 or spent > budget:
                status[t] = -1
                break
    return len(targets)


def find_images(
    targets: Ints,
    members: Ints,
    turns: Ints,
    traits: Ints,
    need: int,
    patience: int,
    budget: int,
    images: Ints,
) -> Ints:
    """Find for each target `need` placements of members that are apart from the target and from each other.

    Targets (T, x) and members (M, x) are in canonical order; `turns` are the automorphisms of the canonical form, (F,
    x). Placement m * F + f puts vertex ``members[m, turns[f, p]]`` at position p. Two placements are apart if they
    share no vertex and the vertices at each position differ in all traits, of which the label is the last. Consecutive
    targets with equal degrees share their list of placements. After `patience` comparisons, a search stops to test by
    counts whether it can succeed; after `budget` comparisons it is given up. Images that are found are written to
    `images`, shape (T, need).

    Returns the status of each target: 1 found, 0 no images exist (exact), -1 given up.
    """
    targets, members, turns = map(np.ascontiguousarray, (targets, members, turns))
    status, lengths = np.zeros(len(targets), dtype=np.int64), (need + 1, max(need, 1), max(need, 1))
    buffers = [np.zeros(length, dtype=np.int64) for length in lengths]
    done, room = 0, PLACEMENTS
    while done < len(targets):
        lists = (
            np.empty(room, dtype=np.int64),
            np.empty(room, dtype=np.int64),
            np.empty((need, room), dtype=np.int64),
        )
        graph: tuple[Any, ...] = members, turns, traits, need, patience, budget
        found: tuple[Any, ...] = *lists, *buffers, status, images
        done = _find_images(targets, done, *graph, *found)
        room *= 4
    return status
