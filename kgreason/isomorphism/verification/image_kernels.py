"""Compiled search for images of attacked subgraphs; the tests have an uncompiled counterpart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.base.jit import allocating

Ints = npt.NDArray[np.int64]


@allocating
def _apart(first: Ints, turn: Ints, second: Ints, other_turn: Ints, traits: Ints) -> bool:
    """Whether two placements share no vertex and no trait at any position."""
    size = len(first)
    for p in range(size):
        u, v = first[turn[p]], second[other_turn[p]]
        for t in range(3):
            if traits[u, t] == traits[v, t]:
                return False
    for p in range(size):
        for q in range(size):
            if first[p] == second[q]:
                return False
    return True


@allocating
def _scarce(found: Ints, count: int, members: Ints, turns: Ints, traits: Ints, need: int) -> bool:
    """Whether some position has fewer than `need` different in-degrees or out-degrees."""
    values = np.empty(need, dtype=np.int64)
    for p in range(turns.shape[1]):
        for t in range(2):
            different = 0
            for i in range(count):
                value = traits[members[found[i] // len(turns), turns[found[i] % len(turns), p]], t]
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


@allocating
def _clique(
    start: int, found: Ints, count: int, need: int, work: Ints, left: Ints, chosen: Ints,
    members: Ints, turns: Ints, traits: Ints, budget: int,
) -> tuple[int, int]:  # fmt: skip
    """Choose `need` placements that are pairwise apart: `start` and others of ``found[:count]``."""
    # Returns the status (1 chosen, 0 impossible, -1 given up) and the number of comparisons.
    f = len(turns)
    chosen[0] = start
    if need == 1:
        return 1, 0
    size = 0
    for i in range(count):
        c = found[i]
        if _apart(members[start // f], turns[start % f], members[c // f], turns[c % f], traits):
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
            if _apart(members[c // f], turns[c % f], members[d // f], turns[d % f], traits):
                work[level + 1, size] = d
                size += 1
        spent += left[level]
        if spent > budget:
            return -1, spent
        level += 1
        left[level] = size
    return 0, spent


@allocating
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

    Placement (m, f) puts vertex ``members[m, turns[f, p]]`` at position p. Two placements are apart if they share no
    vertex and the vertices at each position differ in all three traits.

    Parameters
    ----------
    targets
        Shape (T, x), in canonical order; consecutive rows with equal degrees share their list of placements.
    members, turns
        Members, shape (M, x), in canonical order, and the automorphisms of the canonical form, shape (F, x).
    traits
        In-degree, out-degree and label number of each vertex, shape (n, 3).
    patience
        Number of comparisons after which a search stops to test by counts whether it can succeed.
    budget
        Number of comparisons after which a search is given up.
    images
        Output where images are found; shape (T, need): placement m * F + f.

    Returns
    -------
    ndarray
        int64 (T,): 1 found, 0 no images exist (exact), -1 given up.
    """
    size = targets.shape[1]
    f = len(turns)
    status = np.zeros(len(targets), dtype=np.int64)
    alike = np.empty(256, dtype=np.int64)  # placements that differ from the target in all degrees
    mine = np.empty(256, dtype=np.int64)  # those that also share no vertex with the target
    work = np.empty((need, 256), dtype=np.int64)
    left = np.zeros(need + 1, dtype=np.int64)
    chosen = np.zeros(need, dtype=np.int64)
    known = 0
    turn = 0
    scan = 0
    hopeless = False
    for t in range(len(targets)):
        same = t > 0
        for p in range(size):
            if not same:
                break
            u, v = targets[t, p], targets[t - 1, p]
            same = traits[u, 0] == traits[v, 0] and traits[u, 1] == traits[v, 1]
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
                            if traits[u, 0] == traits[v, 0] or traits[u, 1] == traits[v, 1]:
                                c = -1
                                break
                        scan += 1
                    if c < 0:
                        turn += 1
                        scan = 0
                if c >= 0:
                    if known == len(alike):
                        alike = np.concatenate((alike, np.empty_like(alike)))
                        mine = np.concatenate((mine, np.empty_like(mine)))
                        work = np.empty((need, len(alike)), dtype=np.int64)
                    alike[known] = c
                    known += 1
                    position = known
            if c >= 0:
                m, g = c // f, c % f
                clash = False
                for p in range(size):
                    if traits[targets[t, p], 2] == traits[members[m, turns[g, p]], 2]:
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
                if _scarce(alike, known, members, turns, traits, need):
                    hopeless = True
                    break
                if _scarce(mine, count, members, turns, traits, need):
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
    return status
