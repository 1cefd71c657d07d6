"""Strings and rows that stand more than once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt

from kgreason import memory
from kgreason.arrays import ArrowArray, as_arrow, string_buffers
from kgreason.cores import each
from kgreason.hashing.kernels import GOLDEN, group, hash_texts, move, repeats, same_texts

Codes = npt.NDArray[np.int64]

_SMALL = 1 << 10
_GROWTH = 4
_BLOCK = 1 << 16  # rows that one thread takes at once
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


def distinct_texts(parts: Sequence[ArrowArray]) -> tuple[ArrowArray, Codes]:
    """Distinct strings of Arrow arrays of large strings, one after the other, as they first appear; the number of each.

    Examples
    --------
    >>> import pyarrow as pa
    >>> found, numbers = distinct_texts([pa.array(["b", "a"], pa.large_string()), pa.array(["b"], pa.large_string())])
    >>> found.to_pylist(), numbers.tolist()
    (['b', 'a'], [0, 1, 0])
    """
    blocks = _blocks(parts)
    for seed in count():
        firsts, groups = _grouped(_hashes(blocks, seed))
        found = _taken(parts, firsts)
        if _same(blocks, found, groups):
            break
    return found, groups


@dataclass(frozen=True)
class _Block:
    """Strings that one thread takes at once: where they begin and end in a text, and their rows."""

    offsets: Codes
    text: npt.NDArray[np.uint8]
    rows: slice


def _blocks(parts: Sequence[ArrowArray]) -> list[_Block]:
    made = []
    row = 0
    for part in parts:
        offsets, text = string_buffers(part)
        for start in range(0, len(part), _BLOCK):
            some = offsets[start : start + _BLOCK + 1]
            made.append(_Block(some, text, slice(row, row + len(some) - 1)))
            row += len(some) - 1
    return made


def _hashes(blocks: Sequence[_Block], seed: int) -> Codes:
    rows = blocks[-1].rows.stop if blocks else 0
    memory.claim(8 * rows)
    hashes = np.empty(rows, dtype=np.int64)
    each(lambda block: hash_texts(block.offsets, block.text, seed, hashes[block.rows]), blocks)
    return hashes


def _same(blocks: Sequence[_Block], found: ArrowArray, groups: Codes) -> bool:
    """Whether each string is the one of its group."""
    places, others = string_buffers(found)
    return all(
        each(lambda block: same_texts(block.offsets, block.text, places, others, groups[block.rows]), blocks)
    )


def _taken(parts: Sequence[ArrowArray], rows: Codes) -> ArrowArray:
    """Strings of ascending rows."""
    import pyarrow as pa

    if len(rows):
        memory.claim(sum(part.nbytes for part in parts) * len(rows) // sum(map(len, parts)))
    starts = np.cumsum([0, *map(len, parts)])
    cuts = np.searchsorted(rows, starts)
    taken = [
        part.take(as_arrow(rows[low:high] - start))
        for part, start, low, high in zip(parts, starts, cuts, cuts[1:], strict=False)
    ]
    return pa.concat_arrays(taken) if taken else pa.array([], pa.large_string())


def _repeats(hashes: Codes) -> bool:
    """Whether there may be equal hashes; much faster than to group them."""
    parts = 1 << (len(hashes) // _PART).bit_length()
    starts, slots = np.empty(parts + 1, dtype=np.int64), np.empty(4 * _PART, dtype=np.int64)
    return repeats(hashes, starts, np.empty_like(hashes), slots)


def _grouped(hashes: Codes) -> tuple[Codes, Codes]:
    """First row of each group of equal hashes, and the group of each row."""
    memory.claim(2 * hashes.nbytes)
    firsts, groups = np.empty_like(hashes), np.empty_like(hashes)
    row = found = 0
    size = _SMALL
    while row < len(hashes):
        memory.claim(8 * size)
        slots = np.full(size, -1)
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
