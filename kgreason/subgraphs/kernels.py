"""Compiled lookup of what runs between the vertices of subgraphs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.jit import allocating

Ints = npt.NDArray[np.int64]


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
