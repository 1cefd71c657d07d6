"""Compiled enumeration of connected subgraphs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.jit import allocating

Ints = npt.NDArray[np.int64]


@allocating
def esu(indptr: Ints, neighbours: Ints, x: int, limit: int, out: Ints) -> int:
    """Count, and list into `out` if it has rows, the connected sets of x >= 2 vertices.

    Each set is met once, from its least vertex `root`, by extending it with vertices greater than the root
    (Wernicke's ESU); all levels share one extension array.

    Parameters
    ----------
    indptr, neighbours
        Undirected simple graph in compressed rows, each row ascending.
    limit
        The count stops soon after it exceeds this; negative: never.
    out
        Shape (count, x), or (0, x) to count only.

    References
    ----------
    S. Wernicke: Efficient detection of network motifs (2006), algorithm ESU.
    """
    n = len(indptr) - 1
    listing = out.shape[0] > 0
    seen = np.zeros(n, np.int64)  # level at which a vertex became an extension; 0: it is none
    extension = np.empty(n + 1, np.int64)
    first, end, chosen = np.zeros(x + 1, np.int64), np.zeros(x + 1, np.int64), np.zeros(x + 1, np.int64)
    total: int = 0
    for root in range(n):
        size = 0
        e = indptr[root + 1] - 1
        while e >= indptr[root] and neighbours[e] > root:
            seen[neighbours[e]] = 1
            extension[size] = neighbours[e]
            size += 1
            e -= 1
        chosen[0] = root
        first[1], end[1] = 0, size
        depth = 1
        while True:
            if depth == x - 1:  # every remaining extension completes a set
                if listing:
                    for i in range(first[depth], end[depth]):
                        for a in range(depth):
                            out[total, a] = chosen[a]
                        out[total, depth] = extension[i]
                        total += 1
                else:
                    total += end[depth] - first[depth]
            elif depth == x - 2 and not listing:  # count the last two levels without touching `seen`
                for i in range(first[depth], end[depth]):
                    total += end[depth] - i - 1
                    w = extension[i]
                    e = indptr[w + 1] - 1
                    while e >= indptr[w] and neighbours[e] > root:
                        if seen[neighbours[e]] == 0:
                            total += 1
                        e -= 1
                    if limit >= 0 and total > limit:
                        return total
            elif first[depth] < end[depth]:
                w = extension[first[depth]]
                first[depth] += 1
                chosen[depth] = w
                size = end[depth]
                e = indptr[w + 1] - 1
                while e >= indptr[w] and neighbours[e] > root:
                    u = neighbours[e]
                    if seen[u] == 0:
                        seen[u] = depth + 1
                        extension[size] = u
                        size += 1
                    e -= 1
                first[depth + 1], end[depth + 1] = first[depth], size
                depth += 1
                continue
            if limit >= 0 and total > limit:
                return total
            depth -= 1
            if depth == 0:
                break
            for i in range(end[depth], end[depth + 1]):  # what the vertex chosen last had brought in
                seen[extension[i]] = 0
        for i in range(end[1]):
            seen[extension[i]] = 0
    return total


@allocating
def pair_cells(indptr: Ints, target: Ints, kind: Ints, members: Ints, cells: Ints) -> None:
    """Write the kind of every ordered pair of each member's vertices, 0 for none, into `cells`.

    Parameters
    ----------
    indptr, target, kind
        Directed graph in compressed rows, targets of a row ascending and distinct; kind of each entry.
    members
        Shape (N, x).
    cells
        Shape (N, x, x).
    """
    count, x = members.shape
    for i in range(count):
        for a in range(x):
            low, end = indptr[members[i, a]], indptr[members[i, a] + 1]
            for b in range(x):
                wanted = members[i, b]
                start, stop = low, end
                while stop - start > 8:
                    middle = (start + stop) >> 1
                    if target[middle] < wanted:
                        start = middle + 1
                    else:
                        stop = middle
                while start < end and target[start] < wanted:  # few steps, and well predicted ones
                    start += 1
                cells[i, a, b] = kind[start] if start < end and target[start] == wanted else 0
