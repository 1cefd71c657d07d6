"""Compiled count of connected vertex sets; its plain twin is in ``tests/test_population.py``.

All sets are found once, from their least vertex (ESU of Wernicke, "Efficient detection of network motifs", 2006). A
share of the work is a range of entries of the adjacency: those sets of which the least vertex and the neighbour of it
that joins first stand in the range.
"""

from __future__ import annotations

from kgreason.jit import Ints, Rows, Shorts, kernel

CHOSEN, NEXT, END, LIMIT = range(4)  # rows of the path of `count_sets`


@kernel
def last_to_join(
    indptr: Ints, neighbour: Shorts, w: int, seen: Shorts, opened: Shorts, begin: int, stop: int, number: int
) -> int:
    """Which vertex joins last, of those that wait at ``opened[begin:stop]`` and the neighbours that w opens."""
    if begin + number < stop:
        return int(opened[begin + number])
    number -= stop - begin
    e = indptr[w + 1] - 1
    while seen[neighbour[e]] != 0 or number > 0:
        number -= 1 - seen[neighbour[e]]
        e -= 1
    return int(neighbour[e])


@kernel
def count_sets(
    indptr: Ints,
    neighbour: Shorts,
    first: int,
    stop: int,
    root: int,
    path: Rows,
    seen: Shorts,
    opened: Shorts,
    ranks: Ints,
    out: Rows,
) -> int:
    """Count the sets of a share, and hand out some of them; the vertices that join last are counted, not visited.

    Parameters
    ----------
    indptr, neighbour
        For each vertex its neighbours, ascending.
    first, stop, root
        The share, not empty, and the vertex of its first entry.
    path
        Scratch of shape (4, x + 1), x at least 2.
    seen, opened
        Scratch of n and n + 1 numbers; `seen` is zero before and after.
    ranks, out
        Which sets to hand out, by their number in the count, ascending and without doubles; their vertices become
        ``out[i]``.
    """
    size = path.shape[1] - 1
    total = 0
    given = 0
    while root < len(indptr) - 1 and indptr[root] < stop:
        high = 0
        begin = 0
        end = 0
        for e in range(indptr[root + 1] - 1, indptr[root] - 1, -1):
            u = neighbour[e]
            if u <= root:
                break
            seen[u] = 1
            opened[high] = u
            high += 1
            if e >= stop:
                begin = high
            if e >= first:
                end = high
        if size == 2:
            while given < len(ranks) and ranks[given] < total + end - begin:
                out[given, 0] = root
                out[given, 1] = opened[begin + ranks[given] - total]
                given += 1
            total += end - begin
        depth = 1 if size > 2 else 0
        path[CHOSEN, 0] = root
        path[NEXT, 1] = begin
        path[END, 1] = high
        path[LIMIT, 1] = end
        while depth >= 1:
            if path[NEXT, depth] == path[LIMIT, depth]:
                depth -= 1
                for i in range(path[END, depth], path[END, depth + 1]):
                    if depth >= 1:
                        seen[opened[i]] = 0
                continue
            w = opened[path[NEXT, depth]]
            path[CHOSEN, depth] = w
            path[NEXT, depth] += 1
            stand = path[END, depth]
            e = indptr[w + 1] - 1
            if depth == size - 2:
                more = stand - path[NEXT, depth]
                while e >= indptr[w] and neighbour[e] > root:
                    more += 1 - seen[neighbour[e]]
                    e -= 1
                while given < len(ranks) and ranks[given] < total + more:
                    for p in range(size - 1):
                        out[given, p] = path[CHOSEN, p]
                    out[given, size - 1] = last_to_join(
                        indptr, neighbour, w, seen, opened, path[NEXT, depth], stand, ranks[given] - total
                    )
                    given += 1
                total += more
                continue
            while e >= indptr[w] and neighbour[e] > root:
                u = neighbour[e]
                if seen[u] == 0:
                    seen[u] = 1
                    opened[stand] = u
                    stand += 1
                e -= 1
            depth += 1
            path[NEXT, depth] = path[NEXT, depth - 1]
            path[END, depth] = stand
            path[LIMIT, depth] = stand
        for i in range(high):
            seen[opened[i]] = 0
        root += 1
    return total
