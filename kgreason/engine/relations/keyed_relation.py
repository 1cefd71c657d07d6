"""Keyed relations: one row per key, with the best value."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from kgreason.engine.expressions.scalars import Refusal, described, make_set, number
from kgreason.engine.limits import Limits
from kgreason.engine.plan.ir import Part
from kgreason.engine.relations import hash_kernels
from kgreason.engine.relations.kinds import Kind
from kgreason.engine.relations.relation import Relation
from kgreason.engine.relations.rows import Rows, Slots, chunks, grown
from kgreason.engine.relations.symbols import Symbols, rank
from kgreason.language.check.checked_program import Keyed
from kgreason.language.values import Null, Value

NO_RANKS = np.empty(0, dtype=np.int64)


class KeyedRelation(Relation):
    """Relation with one row per key: a better value replaces the old one in place and makes the row recent again."""

    def __init__(self, arity: int, keyed: Keyed, kind: Kind, symbols: Symbols, limits: Limits) -> None:
        super().__init__(arity)
        self._bits = None
        self._slots = Slots()
        self.keyed = keyed
        self.kind = kind
        self.symbols = symbols
        self.limits = limits
        self.key = np.array([i for i in range(arity) if i != keyed.position], dtype=np.int64)
        self.told: npt.NDArray[np.int64] = np.empty(16, dtype=np.int64)
        self.stamps: npt.NDArray[np.int64] = np.full(16, -1, dtype=np.int64)
        self.now = 0
        self._places: dict[bytes, int] = {}  # rows by key, where values are combined in Python
        self.changed: npt.NDArray[np.int64] = np.empty(16, dtype=np.int64)
        self.n_changed = 0
        self.recent: Rows = self.buffer[:0]

    @property
    def fluid(self) -> int | None:
        """The aggregated position."""
        return self.keyed.position

    def load(self, rows: Rows, distinct: bool) -> None:  # noqa: ARG002
        """Load the first rows, keeping the best of each key."""
        super().load(rows, distinct=False)

    def insert(self, batch: Rows) -> int:
        """Insert rows or better values (at most one chunk); returns the number of changed rows."""
        before = self.n_changed
        self._reserve(len(batch))
        if self.keyed.keep == "union" or self.kind is Kind.ANY:
            self._combine(batch)
            return self.n_changed - before
        ranks = self.symbols.ranks() if self.kind is Kind.STRING else NO_RANKS
        self.count, self.n_changed = hash_kernels.improve(
            batch,
            self.buffer,
            self._slots.array,
            self.key,
            self.count,
            self.keyed.position,
            hash_kernels.GREATEST if self.keyed.keep == "greatest" else hash_kernels.LEAST,
            int(self.kind),
            ranks,
            self.told,
            self.limits.growth if self.now > self.limits.patience else 0.0,
            self.stamps,
            self.now,
            self.changed,
            self.n_changed,
        )
        self._hashed = self.count
        return self.n_changed - before

    def _combine(self, batch: Rows) -> None:
        """Insert rows whose values are combined in Python; `Refusal` if two values of a key have no order or union."""
        position, symbols = self.keyed.position, self.symbols
        for row in batch:
            code = int(row[position])
            at = self._places.setdefault(row[self.key].tobytes(), self.count)
            if at == self.count:
                self.buffer[at] = row
                self.count += 1
            else:
                old = int(self.buffer[at, position])
                code = symbols.intern(_better(symbols.value(old), symbols.value(code), self.keyed))
                if code == old:
                    continue
                self.buffer[at, position] = code
                if self.stamps[at] == self.now:
                    self.told[at] = code
                    continue
                if not self._grown(symbols.value(int(self.told[at])), symbols.value(code)):
                    continue
            self.told[at] = code
            self.stamps[at] = self.now
            self.changed[self.n_changed] = at
            self.n_changed += 1
        self._hashed = self.count

    def _grown(self, old: Value, new: Value) -> bool:
        """Whether a value has changed by more than the growth bound."""
        if not isinstance(old, float) or not isinstance(new, float):
            return True
        growth = self.limits.growth if self.now > self.limits.patience else 0.0
        return abs(new - old) > growth * abs(old)

    def _reserve(self, rows: int) -> None:
        super()._reserve(rows)
        if len(self.buffer) > len(self.told):
            length = max(len(self.buffer), 2 * len(self.told))
            self.told = grown(self.told, length)
            self.stamps = grown(self.stamps, length, -1)
            self.changed = grown(self.changed, length)

    def turn(self) -> bool:
        """Begin a round; returns whether there are recent rows."""
        super().turn()
        self.recent = self.buffer[self.changed[: self.n_changed]]
        self.n_changed = 0
        self.now += 1
        return len(self.recent) > 0

    def rows(self, part: Part) -> Rows:
        """Rows of a part; the recent ones are those that changed in the previous round."""
        return self.recent if part is Part.RECENT else super().rows(part)

    def batches(self, part: Part) -> Iterator[Rows]:
        """Chunks of a part."""
        return chunks(self.recent) if part is Part.RECENT else super().batches(part)


def _better(old: Value, new: Value, keyed: Keyed) -> Value:
    if keyed.keep == "union":
        parts = [v if isinstance(v, frozenset) else frozenset({v}) for v in (old, new)]
        return make_set([*parts[0], *parts[1]])
    if not _comparable(old, new):
        raise Refusal(f"type clash: {described(old)}, meets {described(new)}")
    better = rank(new) > rank(old) if keyed.keep == "greatest" else rank(new) < rank(old)
    return new if better else old


def _comparable(a: Value, b: Value) -> bool:
    """Whether two values are comparable; a null or collection is comparable only with itself."""
    if isinstance(a, Null | tuple | frozenset):
        return a == b
    return type(a) is type(b) or (number(a) and number(b))
