"""Facts by the part that their value at one position belongs to, in memory and in files.

Parts are ranges of hashes in [0, `HASHES`). A value has the same hash wherever it occurs in a stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgreason.base import memory
from kgreason.engine.relations.fact_tables import Kind, converted
from kgreason.engine.relations.rows import Rows
from kgreason.engine.relations.symbols import Codes, Symbols

HASHES = 1 << 32
_BUCKETS = 256
_WIDTH = HASHES // _BUCKETS
_KEPT = 1 << 25  # bytes of facts that are held before they are appended to the files

Hashes = npt.NDArray[np.uint32]


def hashes(codes: Codes) -> Hashes:
    """Hash of each code.

    Examples
    --------
    >>> found = hashes(np.arange(100_000))
    >>> counts = np.bincount(found >> 29)
    >>> len(counts), bool(counts.min() > 12_000)
    (8, True)
    """
    mixed = np.ascontiguousarray(codes).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(32)).astype(np.uint32)


def common(kinds: Sequence[Kind]) -> dict[Kind, Kind]:
    """Kind in which the values of each kind are hashed, so that equal values of different kinds have equal hashes."""
    if Kind.ANY in kinds:
        return dict.fromkeys(kinds, Kind.ANY)
    number = Kind.DOUBLE if Kind.DOUBLE in kinds else Kind.INT
    return {kind: number if kind is Kind.INT else kind for kind in kinds}


class Hashing:
    """Hash function of the values of one kind."""

    def __init__(self, kind: Kind, hashed: Kind, symbols: Symbols) -> None:
        self._kind, self._hashed, self._symbols = kind, hashed, symbols

    def __call__(self, codes: Codes) -> Hashes:
        """Hash of each value."""
        return hashes(converted(codes, self._kind, self._hashed, self._symbols))


class Slices:
    """Rows of a complete relation, ordered by the hash of one column; `distinct`: none is there twice."""

    def __init__(
        self, columns: Sequence[Codes], position: int, hashing: Hashing, *, distinct: bool = True
    ) -> None:
        self.distinct = distinct
        found = hashing(columns[position])
        order = np.argsort(found, kind="stable")
        memory.claim((8 * len(columns) + 4) * len(order))
        self.hashes = found[order]
        self.columns = tuple(column[order] for column in columns)

    def rows(self, low: int, high: int) -> Rows:
        """Rows with a hash in [low, high)."""
        first, last = self._bounds(low, high)
        return np.column_stack([column[first:last] for column in self.columns])

    def count(self, low: int, high: int) -> int:
        """Number of rows with a hash in [low, high)."""
        first, last = self._bounds(low, high)
        return last - first

    def several(self, low: int, high: int) -> bool:
        """Whether rows have different hashes in [low, high)."""
        first, last = self._bounds(low, high)
        return last > first and self.hashes[first] != self.hashes[last - 1]

    def _bounds(self, low: int, high: int) -> tuple[int, int]:
        first = int(np.searchsorted(self.hashes, np.uint32(low)))
        return first, len(self.hashes) if high == HASHES else int(
            np.searchsorted(self.hashes, np.uint32(high))
        )


class FactFiles:
    """Facts of one predicate in files, by the hash of one column; appended part by part.

    Facts that any part can derive may be there several times.
    """

    distinct = False

    def __init__(self, folder: Path, arity: int, position: int, hashing: Hashing) -> None:
        self.folder, self.arity, self.position = folder, arity, position
        self.appended = 0
        self._hashing = hashing
        self._held: list[Rows] = []
        self._size = 0

    def append(self, rows: Rows) -> None:
        """Append rows."""
        self.appended += len(rows)
        if len(rows) and self.arity:
            self._held.append(rows)
            self._size += rows.nbytes
        if self._size >= _KEPT:
            self._write()

    def _write(self) -> None:
        rows = np.concatenate(self._held)
        self._held, self._size = [], 0
        buckets = self._buckets(rows)
        order = np.argsort(buckets, kind="stable")
        bounds = np.searchsorted(buckets[order], np.arange(_BUCKETS + 1))
        for bucket in np.flatnonzero(np.diff(bounds)).tolist():
            with self._file(bucket).open("ab") as file:
                rows[order[bounds[bucket] : bounds[bucket + 1]]].tofile(file)

    def _buckets(self, rows: Rows) -> Hashes:
        return self._hashing(rows[:, self.position]) // np.uint32(_WIDTH)

    def _file(self, bucket: int) -> Path:
        return self.folder / f"{bucket}.rows"

    def rows(self, low: int = 0, high: int = HASHES) -> Rows:
        """Rows with a hash in [low, high)."""
        if not self.arity:
            return np.empty((int(low == 0 and self.appended > 0), 0), dtype=np.int64)
        files = [self._file(bucket) for bucket in range(low // _WIDTH, -(-high // _WIDTH))]
        found = [file for file in files if file.exists()]
        memory.claim(sum(file.stat().st_size for file in found))
        stored = [np.fromfile(file, dtype=np.int64).reshape(-1, self.arity) for file in found]
        inside = []
        for rows in (*stored, *self._held):
            key = self._hashing(rows[:, self.position])
            inside.append(rows[(key >= np.uint64(low)) & (key < np.uint64(high))])
        return np.concatenate([np.empty((0, self.arity), dtype=np.int64), *inside])

    def several(self, low: int, high: int) -> bool:
        """Whether rows have different hashes in [low, high)."""
        return bool(self.arity) and len(np.unique(self._hashing(self.rows(low, high)[:, self.position]))) > 1
