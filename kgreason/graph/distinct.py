"""Rows that stand more than once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]


def first_rows(columns: Sequence[Codes]) -> npt.NDArray[np.bool_]:
    """Mark the first of each set of equal rows.

    Examples
    --------
    >>> first_rows([np.array([1, 1, 1]), np.array([7, 8, 7])]).tolist()
    [True, True, False]
    """
    first = np.ones(len(columns[0]), dtype=bool)
    if _surely_distinct(columns):
        return first
    order = np.lexsort(columns)  # stable: of equal rows the first comes first
    same = np.ones(max(len(order) - 1, 0), dtype=bool)
    for column in columns:
        same &= np.diff(column[order]) == 0
    first[order[1:][same]] = False
    return first


def _surely_distinct(columns: Sequence[Codes]) -> bool:
    """Whether no two rows share a hash: so it mostly is, and this costs one plain sort."""
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ column.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    mixed.sort()
    return not (mixed[1:] == mixed[:-1]).any()
