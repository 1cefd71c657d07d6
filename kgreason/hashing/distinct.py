"""Strings and rows that stand more than once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, pairwise

import numpy as np
import numpy.typing as npt

from kgreason import memory
from kgreason.arrays import ArrowArray, as_arrow, string_buffers
from kgreason.cores import cores, each
from kgreason.hashing.kernels import GOLDEN, find, hash_texts, partition, renumber, same_texts, tally

Codes = npt.NDArray[np.int64]

_BLOCK = 1 << 16  # rows that one thread takes at once
_PART = 1 << 12  # hashes of which a table stays in the cache


def first_rows(columns: Sequence[Codes]) -> npt.NDArray[np.bool_]:
    """Mark the first of each set of equal rows.

    Examples
    --------
    >>> first_rows([np.array([1, 1, 1]), np.array([7, 8, 7])]).tolist()
    [True, True, False]
    """
    rows = np.arange(len(columns[0]))
    seeds = count()
    while True:
        firsts, distinct = _first_rows(_row_hashes(columns, next(seeds)))
        if distinct == len(rows) or all(np.array_equal(column, column[firsts]) for column in columns):
            return np.equal(firsts, rows)


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

    def take(i: int) -> ArrowArray:
        return parts[i].take(as_arrow(rows[cuts[i] : cuts[i + 1]] - starts[i]))

    taken = each(take, range(len(parts)))
    return pa.concat_arrays(taken) if taken else pa.array([], pa.large_string())


def _partitioned(hashes: Codes) -> tuple[Codes, Codes]:
    """Pairs of a hash and its row, one after the other, in parts that fit the cache; where these begin."""
    rows = len(hashes)
    parts = 1 << (rows // _PART).bit_length()
    shares = min(cores(), 1 + rows // _BLOCK)
    cuts = [rows * share // shares for share in range(shares + 1)]
    sizes = np.zeros((shares, parts), dtype=np.int64)
    each(lambda share: tally(hashes[cuts[share] : cuts[share + 1]], sizes[share]), range(shares))
    ends = np.cumsum(sizes.T).reshape(parts, shares)  # within a part the rows ascend
    places = np.ascontiguousarray(ends.T - sizes)
    memory.claim(2 * hashes.nbytes)
    parted = np.empty(2 * rows, dtype=np.int64)

    def put(share: int) -> None:
        low, high = cuts[share : share + 2]
        partition(hashes[low:high], low, places[share], parted)

    each(put, range(shares))
    return parted, np.append(0, ends[:, -1])


def _first_rows(hashes: Codes) -> tuple[Codes, int]:
    """First row that has the same hash, for each row, in place of the hashes; how many of them there are."""
    parted, starts = _partitioned(hashes)

    def some(parts: tuple[int, int]) -> int:
        low, high = parts
        slots, count = np.empty(8 * _PART, dtype=np.int64), 0
        while True:
            low, found = find(starts, parted, low, high, slots, hashes)
            count += found
            if low == high:
                return count
            memory.claim(32 * len(slots))
            slots = np.empty(4 * len(slots), dtype=np.int64)  # as it is, there is room for most parts

    cuts = np.searchsorted(starts, range(_BLOCK, len(hashes), _BLOCK))
    return hashes, sum(each(some, pairwise(np.unique([0, *cuts.tolist(), len(starts) - 1]).tolist())))


def _grouped(hashes: Codes) -> tuple[Codes, Codes]:
    """First row of each group of equal hashes, and the group of each row."""
    groups, count = _first_rows(hashes)
    memory.claim(8 * count)
    firsts = np.empty(count, dtype=np.int64)
    renumber(groups, firsts)
    return firsts, groups


def _row_hashes(columns: Sequence[Codes], seed: int) -> Codes:
    factor = np.uint64(GOLDEN % 2**64)
    hashes = np.full(len(columns[0]), factor + np.uint64(2 * seed))

    def mix(start: int) -> None:
        rows = slice(start, start + _BLOCK)
        mixed = hashes[rows]
        for column in columns:
            mixed ^= column[rows].view(np.uint64)
            mixed *= factor
            mixed ^= mixed >> np.uint64(29)

    each(mix, range(0, len(hashes), _BLOCK))
    return hashes.view(np.int64)
