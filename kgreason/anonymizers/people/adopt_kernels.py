"""Compiled assignment of users who are left over; the plain twins are in ``tests/test_people_clusters.py``."""

from __future__ import annotations

from kgreason.jit import Doubles, Ints, SingleRows, kernel


@kernel
def adopt(
    users: Ints,
    rows: SingleRows,
    limit: float,
    level: Ints,
    cluster: Ints,
    size: Ints,
    highest: Ints,
    widest: Doubles,
) -> int:
    """Let users, one after the other, join the valid cluster whose farthest user is nearest; returns how many do.

    Parameters
    ----------
    users, rows
        Who is in no cluster, and the distances to everybody.
    limit
        Nobody joins a cluster with a user who is farther than this.
    cluster, size, highest
        Changed: cluster of each user, size and largest level of each cluster.
    widest
        Scratch, shape (clusters,).
    """
    joined = 0
    for i in range(len(users)):
        u = users[i]
        for c in range(len(widest)):
            widest[c] = 0.0
        for v in range(len(cluster)):
            if cluster[v] >= 0:
                widest[cluster[v]] = max(widest[cluster[v]], float(rows[i, v]))
        best = -1
        for c in range(len(size)):
            if (
                widest[c] <= limit
                and size[c] > 0
                and size[c] + 1 >= max(level[u], highest[c])
                and (best < 0 or widest[c] < widest[best])
            ):
                best = c
        if best >= 0:
            cluster[u] = best
            size[best] += 1
            highest[best] = max(highest[best], level[u])
            joined += 1
    return joined
