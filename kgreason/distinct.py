"""Rows that stand more than once.

For ten million rows of three columns, all different, the compiled hash table takes 0.5 s and 0.5 GB, `numpy.lexsort`
7 s and 0.3 GB, `pyarrow.Table.group_by` 3 s and 1.8 GB (``python benchmarks/loading.py --distinct 10000000``); each
loading of a graph asks once or twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kgreason import memory
from kgreason.jit import Flags, Ints, Rows, kernel

Codes = npt.NDArray[np.int64]

GOLDEN = -7046029254386353131  # 2^64 / golden ratio, as a signed number: spreads consecutive integers


def first_rows(columns: Sequence[Codes]) -> npt.NDArray[np.bool_]:
    """Mark the first of each set of equal rows.

    Parameters
    ----------
    columns
        At least one int64 array; all of equal length.

    Returns
    -------
    ndarray
        Truth values, one per row.

    Examples
    --------
    >>> first_rows([np.array([1, 1, 1]), np.array([7, 8, 7])]).tolist()
    [True, True, False]
    """
    length = len(columns[0])
    size = 1 << (2 * length).bit_length()  # the hash table is at most half full
    memory.claim(8 * (len(columns) * length + size))
    rows = np.stack(columns, axis=1, dtype=np.int64)
    first = np.empty(length, dtype=np.bool_)
    _mark_first(rows, np.full(size, -1, dtype=np.int64), first)
    return first


@kernel
def _mark_first(rows: Rows, slots: Ints, first: Flags) -> None:
    """Put each row that `slots`, an open-addressing hash table of row numbers, lacks into it."""
    for row in range(len(rows)):
        h = 0
        for i in range(rows.shape[1]):
            h = (h ^ rows[row, i]) * GOLDEN
            h ^= h >> 32
        slot = h & (len(slots) - 1)
        first[row] = True
        while slots[slot] >= 0:
            other = slots[slot]
            same = True
            for i in range(rows.shape[1]):
                same = same and rows[row, i] == rows[other, i]
            if same:
                first[row] = False
                break
            slot = (slot + 1) & (len(slots) - 1)
        if first[row]:
            slots[slot] = row
