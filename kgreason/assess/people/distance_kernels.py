"""The loop of distances.py: a search in breadth from many users at once, each of whom has a bit."""

from __future__ import annotations

from kgreason.jit import Ints, kernel


@kernel
def spread(
    start: Ints, near: Ints, sources: Ints, seen: Ints, front: Ints, coming: Ints, active: Ints, found: Ints
) -> None:
    """Add the distances of all vertices that sources reach, themselves excepted, and their number.

    References
    ----------
    Then et al., "The more the merrier: efficient multi-source graph traversal", PVLDB 2014.

    Parameters
    ----------
    start, near
        The neighbours of v are ``near[start[v] : start[v + 1]]``.
    sources
        At most 63 vertices, none twice.
    seen, front, coming
        Who has reached a vertex, has done so in the last step, does so in this one: scratch, shape (n,), 0 throughout.
    active
        Vertices that somebody reached in the last step, and in this one: scratch, shape (2n,).
    found
        Sum of the distances, and number of the pairs: shape (2,).
    """
    n = len(start) - 1
    count = len(sources)
    for i in range(count):
        v = sources[i]
        seen[v] = front[v] = 1 << i
        active[i] = v
    distance = 0
    while count > 0:
        distance += 1
        more = 0
        for i in range(count):
            v = active[i]
            bits = front[v]
            for e in range(start[v], start[v + 1]):
                w = near[e]
                fresh = bits & ~seen[w]
                if fresh != 0:
                    if coming[w] == 0:
                        active[n + more] = w
                        more += 1
                    coming[w] |= fresh
        reached = 0
        for i in range(more):
            w = active[n + i]
            active[i] = w
            bits = coming[w]
            coming[w] = 0
            front[w] = bits
            seen[w] |= bits
            while bits != 0:
                bits &= bits - 1
                reached += 1
        found[0] += distance * reached
        found[1] += reached
        count = more
