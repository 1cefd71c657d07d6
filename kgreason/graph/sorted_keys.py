"""Arrays of keys, such as u n + v for vertex pairs: distinct keys, ranks, rows of keys, and values looked up by key."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

# If there are so many keys, so many wanted ones are sorted before the look-up: random access to long arrays is slow.
_MANY = 1 << 16
_WORD = 1 << 62


def distinct(values: Ints) -> Ints:
    """Distinct values, ascending.

    A million integers take `numpy.unique`, which hashes them, 0.45 s, and sorting 0.02 s.

    Examples
    --------
    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    values = np.sort(values, axis=None)
    found: Ints = values[np.append(True, values[1:] != values[:-1])[: len(values)]]
    return found


def repeated(keys: Ints) -> npt.NDArray[np.bool_]:
    """Mark all but the first occurrence of each key.

    Examples
    --------
    >>> repeated(np.array([3, 1, 3, 3])).tolist()
    [False, False, True, True]
    """
    order = np.argsort(keys, kind="stable")
    found, ordered = np.zeros(len(keys), dtype=np.bool_), keys[order]
    found[order[1:]] = ordered[1:] == ordered[:-1]
    return found


def ranks(values: Ints) -> Ints:
    """Ranks of non-negative values among the distinct ones.

    Examples
    --------
    >>> ranks(np.array([7, 2, 7])).tolist()
    [1, 0, 1]
    """
    size = int(values.max(initial=-1)) + 1
    if size > 4 * len(values) + 1024:
        return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    present = np.zeros(size, dtype=np.bool_)
    present[values] = True
    found: Ints = (np.cumsum(present) - 1)[values]
    return found


def ascending(values: Ints) -> Ints:
    """Order of non-negative values by ascending value, equal ones in their order.

    Values below 2^16, as degrees usually are, are ordered by a radix sort, in a tenth of the time.

    Examples
    --------
    >>> ascending(np.array([1, 3, 1])).tolist()
    [0, 2, 1]
    """
    short = values.max(initial=0) < 1 << 16
    return np.argsort(values.astype(np.uint16) if short else values, kind="stable").astype(np.int64)


def descending(values: Ints) -> Ints:
    """Order of non-negative values by descending value, equal ones in their order.

    Examples
    --------
    >>> descending(np.array([1, 3, 1])).tolist()
    [1, 0, 2]
    """
    return ascending(values.max(initial=0) - values)


def row_numbers(columns: Sequence[Ints]) -> Ints:
    """Number the rows of some columns of non-negative integers, from 0, in lexicographic order.

    Examples
    --------
    >>> row_numbers([np.array([1, 0, 1]), np.array([0, 5, 0])]).tolist()
    [1, 0, 1]
    """
    code = np.zeros(len(columns[0]) if columns else 0, dtype=np.int64)
    for column in columns:
        if column.max(initial=0) >= 1 << 31:
            column = ranks(column)
        code = ranks(code * (int(column.max(initial=0)) + 1) + column)
    return code


def sorted_rows(columns: Sequence[Ints] | Ints) -> Ints:
    """Distinct rows of some columns of non-negative integers, in lexicographic order; shape (columns, rows).

    Examples
    --------
    >>> sorted_rows([np.array([1, 0, 1]), np.array([2, 5, 2])]).tolist()
    [[0, 1], [5, 2]]
    """
    widths = [int(column.max(initial=0)) + 1 for column in columns]
    if prod(widths) < _WORD:  # a row fits into a number
        keys = np.zeros(len(columns[0]), dtype=np.int64)
        for column, width in zip(columns, widths, strict=True):
            keys = keys * width + column
        return np.array(np.unravel_index(distinct(keys), widths), dtype=np.int64)
    rows = np.stack(list(columns))[:, np.lexsort(columns[::-1])]
    return rows[:, np.append(True, (np.diff(rows) != 0).any(axis=0))[: rows.shape[1]]]


def places(keys: Ints, wanted: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Place of each wanted key among ascending keys, 0 if it is not there, and whether it is there.

    Examples
    --------
    >>> [a.tolist() for a in places(np.array([2, 5]), np.array([5, 3, 9]))]
    [[1, 0, 0], [True, False, False]]
    """
    if not len(keys):
        return np.zeros(wanted.shape, dtype=np.int64), np.zeros(wanted.shape, dtype=np.bool_)
    if wanted.ndim > 1 or min(len(keys), len(wanted)) < _MANY:
        at = np.searchsorted(keys, wanted)
    else:
        order = np.argsort(wanted)
        at = np.empty(len(wanted), dtype=np.int64)
        at[order] = np.searchsorted(keys, wanted[order])
    at[at == len(keys)] = 0
    there = keys[at] == wanted
    return np.where(there, at, 0), there


def looked_up(keys: Ints, values: npt.NDArray[Any], wanted: Ints, otherwise: int = 0) -> Ints:
    """Value of each wanted key, `otherwise` if it is not among the ascending keys.

    Examples
    --------
    >>> looked_up(np.array([2, 5]), np.array([7, 8]), np.array([5, 3])).tolist()
    [8, 0]
    """
    if not len(keys):
        return np.full(wanted.shape, otherwise, dtype=np.int64)
    at, there = places(keys, wanted)
    return np.where(there, values[at], otherwise).astype(np.int64, copy=False)
