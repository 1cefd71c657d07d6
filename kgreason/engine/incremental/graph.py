"""The steps of a separable stratum in a form that can be edited."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.engine import kernels as engine
from kgreason.engine.aggregate import Keys
from kgreason.engine.relation import grown
from kgreason.engine.separable.steps import Codes, Compressed, States

Doubles = npt.NDArray[np.float64]


class Numbers:
    """Values numbered 0, 1, ... in the order in which they come."""

    def __init__(self, codes: Codes) -> None:
        self.keys = Keys(1)
        self.add(codes)

    def __len__(self) -> int:
        return self.keys.count

    @property
    def codes(self) -> Codes:
        """The value of each number."""
        return self.keys.rows[: self.keys.count, 0]

    def add(self, codes: Codes) -> None:
        """Number those that have no number."""
        rows = np.ascontiguousarray(codes).reshape(-1, 1)
        self.keys.reserve(len(rows))
        self.keys.count = engine.insert(
            rows, self.keys.rows, self.keys.slots.array, self.keys.key, self.keys.count
        )

    def of(self, codes: Codes) -> Codes:
        """The number of each value, all of which have one."""
        rows = np.ascontiguousarray(codes).reshape(-1, 1)
        found = np.empty(len(rows), dtype=np.int64)
        keys = self.keys
        engine.places(rows, keys.key, keys.rows, keys.key, keys.slots.array, found)
        return found


class Adjacency:
    """Steps from each state ``s``, at ``ptr[2 * s]:ptr[2 * s + 1]``, so that each row can be replaced by itself."""

    def __init__(self, steps: Compressed, weighted: bool) -> None:
        states = len(steps.ptr) - 1
        self.ptr: Codes = np.empty(2 * states, dtype=np.int64)
        self.ptr[0::2], self.ptr[1::2] = steps.ptr[:-1], steps.ptr[1:]
        self.used = self.live = len(steps.to)
        room = 2 * self.used + 1024  # memory that nothing touches costs nothing
        self.to: States = np.empty(room, dtype=np.int32)
        self.to[: self.used] = steps.to
        self.weights: Doubles = np.empty(room if weighted else 0)
        if weighted:
            self.weights[: self.used] = steps.weights
        self.weighted = weighted

    def row(self, state: int) -> tuple[States, Doubles]:
        """Copies of the targets of a state, and of their weights."""
        here = slice(*self.ptr[2 * state : 2 * state + 2])
        return self.to[here].copy(), self.weights[here].copy() if self.weighted else np.empty(0)

    def replace(self, state: int, to: States, weights: Doubles) -> None:
        """Give a state other steps."""
        first, end = self.ptr[2 * state : 2 * state + 2].tolist()
        self.live += len(to) - (end - first)
        if len(to) > end - first:
            if self.used + len(to) > len(self.to):
                self._compact(len(to))
            first = self.used
            self.used += len(to)
        self.ptr[2 * state], self.ptr[2 * state + 1] = first, first + len(to)
        self.to[first : first + len(to)] = to
        if self.weighted:
            self.weights[first : first + len(to)] = weights

    def _compact(self, more: int) -> None:
        """Bring all rows together, with room for others."""
        lengths = self.ptr[1::2] - self.ptr[0::2]
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        order = np.arange(total) + np.repeat(self.ptr[0::2] - (ends - lengths), lengths)
        room = 2 * (total + more) + 1024
        to, weights = self.to[order], self.weights[order] if self.weighted else self.weights
        self.to = grown(to, room)  # type: ignore[type-var]
        self.weights = grown(weights, room) if self.weighted else weights
        self.ptr[0::2], self.ptr[1::2] = ends - lengths, ends
        self.used = total

    def spread(self, parts: int, old: int, new: int) -> None:
        """Make room for `new` instead of `old` states of each part."""
        ptr = np.zeros((parts, 2 * new), dtype=np.int64)
        ptr[:, : 2 * old] = self.ptr.reshape(parts, 2 * old)
        self.ptr = ptr.reshape(-1)
        if parts > 1:
            here = self.to[: self.used]
            here[:] = here // old * new + here % old
