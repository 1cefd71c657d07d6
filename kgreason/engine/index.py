"""Indexes that live across rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kgreason.engine import index_kernels
from kgreason.engine.rows import CHUNK, Rows, Slots, grown, lengthen

if TYPE_CHECKING:
    from kgreason.engine.relation import Relation

FOLD = 64
"""Fewest rows of an index that are worth being brought together."""


class Index:
    """The rows of a relation by the values of some columns.

    Older rows with one key stand together, without the columns of the key; the newest form a chain (see
    `index_kernels.chain`). Rows move on when they are as many as the older ones, so each moves a few times at most.
    """

    def __init__(self, relation: Relation, columns: tuple[int, ...]) -> None:
        self.relation = relation
        self.key = np.array(columns, dtype=np.int64)
        self.rest = np.array([i for i in range(relation.arity) if i not in columns], dtype=np.int64)
        self.where: npt.NDArray[np.int64] = np.empty(relation.arity, dtype=np.int64)
        self.where[self.key] = -1 - np.arange(len(self.key))
        self.where[self.rest] = np.arange(len(self.rest))
        self.slots = Slots()
        self.entries: Rows = np.empty((16, 3 + len(columns)), dtype=np.int64)
        self.folded: Rows = np.empty((0, len(self.rest)), dtype=np.int64)
        self.following: npt.NDArray[np.int32] = np.empty(16, dtype=np.int32)
        self.base = self.stop = self.keys = 0

    def extend(self, stop: int) -> None:
        """Take in all rows below `stop`."""
        while self.stop < stop:
            end = min(stop, self.stop + CHUNK)
            need = self.keys + end - self.stop
            if not self.keys or self.slots.full(need):
                self._address(self.relation.buffer[self.stop : stop])
            if self.keys == len(self.entries):
                self.entries = grown(self.entries, 2 * self.keys)
            if end - self.base > len(self.following):
                self.following = grown(self.following, max(end - self.base, 2 * len(self.following)))
            self.stop, self.keys = index_kernels.chain(
                self.relation.buffer,
                self.key,
                self.stop,
                end,
                self.slots.array,
                self.entries,
                self.following,
                self.base,
                self.keys,
            )
            if self.stop < end and self.keys < len(self.entries):
                self._address(self.relation.buffer[self.stop : stop])
        stable = min(self.relation.stable, self.stop)
        if self.relation.fluid is None and stable - self.base >= max(self.base, FOLD):
            self._fold(stable)

    def _address(self, rows: Rows) -> None:
        """Give the keys new slots, with room for those of some rows: by value where these are small, or by hash."""
        held = self.entries[: self.keys]
        values = (held[:, 3], rows[:, self.key[0]]) if len(self.key) == 1 else ()
        known = [v for v in values if len(v)]
        most = max((int(v.max()) for v in known), default=-1)
        if 0 <= most < 2 * (self.keys + len(rows)) + CHUNK and min(int(v.min()) for v in known) >= 0:
            self.slots = Slots.direct(most + most // 2 + 1)
        else:
            self.slots = Slots()
            self.slots.reserve(self.keys + min(len(rows), CHUNK))
        index_kernels.register(held, 3 + np.arange(len(self.key)), self.keys, self.slots.array)

    def _fold(self, stop: int) -> None:
        """Bring the rows below `stop` together, where the older ones stand if the system can make room there."""
        lengthen(self, "folded", stop)
        shifted = np.empty(max(self.stop - stop, 16), dtype=np.int32)
        index_kernels.fold(
            self.relation.buffer,
            self.rest,
            self.entries,
            self.keys,
            self.following,
            self.base,
            stop,
            self.folded,
            shifted,
        )
        self.following, self.base = shifted, stop
