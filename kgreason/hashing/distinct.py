"""Strings and rows that stand more than once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import numpy as np
import numpy.typing as npt

from kgreason.arrays import ArrowArray, as_arrow, string_buffers
from kgreason.hashing.kernels import GOLDEN, group, hash_texts, move, repeats, same_texts

Codes = npt.NDArray[np.int64]

_SMALL = 1 << 10
_GROWTH = 4
_PART = 1 << 10  # hashes of which a table stays in the cache


def first_rows(columns: Sequence[Codes]) -> npt.NDArray[np.bool_]:
    """Mark the first of each set of equal rows.

    Examples
    --------
    >>> first_rows([np.array([1, 1, 1]), np.array([7, 8, 7])]).tolist()
    [True, True, False]
    """
    if not _repeats(_row_hashes(columns, 0)):  # as a rule
        return np.ones(len(columns[0]), dtype=bool)
    for seed in count():
        firsts, groups = _grouped(_row_hashes(columns, seed))
        if len(firsts) == len(groups) or all(np.array_equal(c, c[firsts][groups]) for c in columns):
            break
    first = np.zeros(len(groups), dtype=bool)
    first[firsts] = True
    return first


def distinct_texts(texts: ArrowArray) -> tuple[ArrowArray, Codes]:
    """Distinct strings of an Arrow array of large strings as they first appear, and the number of each of all strings.

    Examples
    --------
    >>> import pyarrow as pa
    >>> found, numbers = distinct_texts(pa.array(["b", "a", "b"], pa.large_string()))
    >>> found.to_pylist(), numbers.tolist()
    (['b', 'a'], [0, 1, 0])
    """
    offsets, text = string_buffers(texts)
    hashes = np.empty(len(texts), dtype=np.int64)
    for seed in count():
        hash_texts(offsets, text, seed, hashes)
        firsts, groups = _grouped(hashes)
        found = texts.take(as_arrow(firsts))
        if same_texts(offsets, text, *string_buffers(found), groups):
            break
    return found, groups


def _repeats(hashes: Codes) -> bool:
    """Whether there may be equal hashes; much faster than to group them."""
    parts = 1 << (len(hashes) // _PART).bit_length()
    starts, slots = np.empty(parts + 1, dtype=np.int64), np.empty(4 * _PART, dtype=np.int64)
    return repeats(hashes, starts, np.empty_like(hashes), slots)


def _grouped(hashes: Codes) -> tuple[Codes, Codes]:
    """First row of each group of equal hashes, and the group of each row."""
    firsts, groups = np.empty_like(hashes), np.empty_like(hashes)
    row = found = 0
    size = _SMALL
    while row < len(hashes):
        slots = np.full(2 * size, -1)
        move(hashes, firsts, found, slots)
        row, found = group(hashes, slots, firsts, groups, row, found)
        size *= _GROWTH
    return firsts[:found], groups


def _row_hashes(columns: Sequence[Codes], seed: int) -> Codes:
    factor = np.uint64(GOLDEN % 2**64)
    mixed = np.full(len(columns[0]), factor + np.uint64(2 * seed))
    for column in columns:
        mixed = (mixed ^ column.view(np.uint64)) * factor
        mixed ^= mixed >> np.uint64(29)
    return mixed.view(np.int64)
