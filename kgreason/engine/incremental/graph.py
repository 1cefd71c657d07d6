"""The steps of a separable stratum in a form that can be edited, and walks over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from kgreason.engine import kernels as engine
from kgreason.engine.aggregate import Keys
from kgreason.engine.rows import grown
from kgreason.engine.separable import kernels
from kgreason.engine.separable.steps import Codes, Compressed, Graph, States

Doubles = npt.NDArray[np.float64]

STAMPS = 2**31 - 2
"""Greatest number that a walk can leave as its mark."""


class Numbers:
    """Values numbered 0, 1, ... in the order in which they come.

    Examples
    --------
    >>> numbers = Numbers(np.array([7, 5]))
    >>> numbers.add(np.array([5, 9]))
    >>> numbers.of(np.array([9, 7])).tolist(), numbers.codes.tolist()
    ([2, 0], [7, 5, 9])
    """

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
        keys = self.keys
        keys.reserve(len(rows))
        keys.count = engine.insert(rows, keys.rows, keys.slots.array, keys.key, keys.count)

    def of(self, codes: Codes) -> Codes:
        """The number of each value, all of which have one."""
        rows = np.ascontiguousarray(codes).reshape(-1, 1)
        found = np.empty(len(rows), dtype=np.int64)
        keys = self.keys
        engine.places(rows, keys.key, keys.rows, keys.key, keys.slots.array, found)
        return found


class Adjacency:
    """Steps from each state ``s``, at ``ptr[2 * s]:ptr[2 * s + 1]``, so that each row can be replaced by itself."""

    def __init__(self, steps: Compressed, *, weighted: bool) -> None:
        self.ptr: Codes = np.empty(2 * len(steps.ptr) - 2, dtype=np.int64)
        self.ptr[0::2], self.ptr[1::2] = steps.ptr[:-1], steps.ptr[1:]
        self.weighted = weighted
        self.used = len(steps.to)
        self._hold(steps.to, steps.weights)

    def _hold(self, to: States, weights: Doubles) -> None:
        """Hold some steps, with room for others; memory that nothing touches costs nothing."""
        room = 2 * len(to) + 1024
        self.to: States = grown(to, room)
        self.weights: Doubles = grown(weights, room) if self.weighted else np.empty(0)

    def row(self, state: int) -> tuple[States, Doubles]:
        """Copies of the targets of a state, and of their weights."""
        here = slice(*self.ptr[2 * state : 2 * state + 2])
        return self.to[here].copy(), self.weights[here].copy()

    def replace(self, state: int, to: States, weights: Doubles) -> None:
        """Give a state other steps, in their old place if they fit."""
        first, end = self.ptr[2 * state : 2 * state + 2].tolist()
        if len(to) > end - first:
            if self.used + len(to) > len(self.to):
                self._compact(len(to))
            first = self.used
            self.used += len(to)
        end = first + len(to)
        self.ptr[2 * state], self.ptr[2 * state + 1] = first, end
        self.to[first:end] = to
        if self.weighted:
            self.weights[first:end] = weights

    def _compact(self, more: int) -> None:
        """Bring all rows together, with room for `more` steps and others."""
        lengths = self.ptr[1::2] - self.ptr[0::2]
        ends = np.cumsum(lengths)
        self.used = int(lengths.sum())
        order = np.arange(self.used) + np.repeat(self.ptr[0::2] - (ends - lengths), lengths)
        rest = np.zeros(more, dtype=np.int32)
        weights = np.append(self.weights[order], np.zeros(more)) if self.weighted else self.weights
        self._hold(np.append(self.to[order], rest), weights)
        self.ptr[0::2], self.ptr[1::2] = ends - lengths, ends

    def spread(self, parts: int, old: int, new: int) -> None:
        """Make room for `new` instead of `old` states of each part."""
        ptr = np.zeros((parts, 2 * new), dtype=np.int64)
        ptr[:, : 2 * old] = self.ptr.reshape(parts, 2 * old)
        self.ptr = ptr.reshape(-1)
        here = self.to[: self.used]
        here[:] = here // old * new + here % old


class StepGraph:
    """What the walks of a stratum go over.

    Attributes
    ----------
    plain, sums
        Steps of which one is enough, and steps whose weights are added up.
    totals
        Of the weights of all steps to each state.
    room
        Value number n of part p is the state ``p * room + n``.
    """

    def __init__(self, graph: Graph, copies: Sequence[tuple[int, int]]) -> None:
        size, self.parts = len(graph.numbering), len(graph.parts)
        states = size * self.parts
        nothing = Compressed(np.zeros(states + 1, np.int64), np.empty(0, np.int32), np.empty(0))
        self.summing = graph.sums is not None
        self.numbers = Numbers(graph.numbering.codes)
        self.plain = Adjacency(graph.plain, weighted=False)
        self.sums = Adjacency(graph.sums or nothing, weighted=True)
        self.bounds = graph.bounds
        self.copies = copies  # parts of which one has all facts of the other
        used = self.sums.used
        self.totals: Doubles = np.zeros(states)
        np.add.at(self.totals, self.sums.to[:used], self.sums.weights[:used])
        self.room = size
        self._spread(size + size // 4 + 64)

    def _spread(self, room: int) -> None:
        """Make room for numbers below `room`, and the memory of the walks."""
        totals = np.zeros((self.parts, room))
        totals[:, : self.room] = self.totals.reshape(self.parts, self.room)
        self.totals = totals.reshape(-1)
        for adjacency in (self.plain, self.sums):
            adjacency.spread(self.parts, self.room, room)
        self.room = room
        states = self.parts * room
        self.cells = np.full(
            4 * states if self.summing else 0, 0.0
        )  # written, so that no walk waits for memory
        self.stamps: States = np.full(0 if self.summing else states, 0, dtype=np.int32)
        self.marks: Codes = np.full(states, 0)
        self.stamp = self.mark = 0
        self.out = np.empty(4 * states + 1024, dtype=np.int32)

    def states(self, codes: Codes, part: int) -> States:
        """States of values in facts of predicate number `part`."""
        return (self.numbers.of(codes) + part * self.room).astype(np.int32)

    def codes(self, states: States) -> Codes:
        """The values of some states."""
        return self.numbers.codes[states % self.room]

    def number(self, codes: Iterable[Codes]) -> bool:
        """Number new values; tells whether all states have got other numbers."""
        before = len(self.numbers)
        for some in codes:
            self.numbers.add(some)
        size, moved = len(self.numbers), len(self.numbers) > self.room
        if moved:
            self._spread(2 * size)
        for source, target in self.copies:
            for number in range(before, size):
                to, weights = self.plain.row(source * self.room + number)
                more = np.append(to, np.int32(target * self.room + number))
                self.plain.replace(source * self.room + number, more, weights)
        return moved

    def replace(self, adjacency: Adjacency, state: int, to: States, weights: Doubles) -> None:
        """Give a state other steps."""
        if adjacency.weighted:
            old, old_weights = adjacency.row(state)
            np.subtract.at(self.totals, old, old_weights)
            np.add.at(self.totals, to, weights)
        adjacency.replace(state, to, weights)

    def walk(self, start: Codes, seeds: States, counts: Codes, first: int) -> tuple[int, States]:
        """Walk for the values from `first` on, as far as there is memory (see `kgreason.engine.separable.kernels`).

        Returns
        -------
        tuple
            The value to go on with, and the states reached.
        """
        last, plain, sums = len(counts), self.plain, self.sums
        if self.stamp + last > STAMPS:
            self.stamps[:] = self.stamp = 0
        if self.summing:
            done, used, _ = kernels.accumulate(
                start,
                seeds,
                2,
                plain.ptr,
                plain.to,
                sums.ptr,
                sums.to,
                sums.weights,
                self.bounds,
                self.cells,
                self.stamp,
                self.out,
                0,
                counts,
                first,
                last,
            )
        else:
            memory = (self.stamps, self.stamp, self.out, 0)
            done, used, _ = kernels.reach(start, seeds, 2, plain.ptr, plain.to, *memory, counts, first, last)
        return done, self.out[:used]
