"""Compiled growth of clusters; the plain twins are in ``tests/test_people_clusters.py``."""

from __future__ import annotations

from kgreason.jit import Flags, Ints, SingleRows, kernel


@kernel
def grow(
    seeds: Ints,
    rows: SingleRows,
    level: Ints,
    literal: bool,
    ranked: Ints,
    free: Flags,
    state: Ints,
    cluster: Ints,
) -> None:
    """Make clusters around seeds that are still free, one after the other.

    Parameters
    ----------
    seeds, rows
        Users, and their distances to everybody; of users at the same distance the lowest number comes first.
    literal
        Follow Algorithm 2 of PCKGA to the letter.
    ranked
        All users by descending level.
    free
        Changed: who is in no cluster yet.
    state
        Changed: free users, clusters, the first of `ranked` who may be free, 1 if it has ended.
    """
    n = len(level)
    for i in range(len(seeds)):
        u = seeds[i]
        if not free[u] or state[3] == 1:
            continue
        if level[u] > state[0]:
            state[3] = 1
            continue
        v = u
        highest = 0
        size = 0
        while v >= 0:
            free[v] = False
            cluster[v] = state[1]
            size += 1
            highest = max(highest, level[v])
            state[0] -= 1
            v = -1
            enough = size >= highest
            if enough and not literal:  # unless too few are left for the highest level among them
                while state[2] < n and not free[ranked[state[2]]]:
                    state[2] += 1
                enough = state[2] == n or level[ranked[state[2]]] <= state[0]
            if not enough:
                for w in range(n):
                    if free[w] and (v < 0 or rows[i, w] < rows[i, v]):
                        v = w
        state[1] += 1
