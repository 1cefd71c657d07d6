"""Steps of walks as the engine computes them, numbered and in compressed rows, and the starting points of walks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kgreason.base import memory
from kgreason.engine.plan.ir import Separable, Steps
from kgreason.engine.relations.fact_tables import Kind
from kgreason.engine.relations.rows import Rows, first_rows
from kgreason.engine.relations.symbols import Codes
from kgreason.engine.seminaive import walk_kernels
from kgreason.language.values import EXACT

MANY = 1 << 15  # number of states from which the data of a walk exceed the nearest caches
GATHERED = 1 << 18  # rows of steps that are made smaller at once
NOTHING = np.empty(0, dtype=np.int64)
States = npt.NDArray[np.int32]
Listed = tuple[States, States, npt.NDArray[np.float64]]  # sources, targets and weights of steps in any order
Block = tuple[Codes | States, Codes | States, npt.NDArray[np.float64]]  # the same with codes of values
Find = Callable[[Steps], tuple[Iterator[Rows], Kind]]
"""Finds rows of `Steps.columns`, perhaps with duplicates, and contributions as last column; kind of these.

The rows come in batches, each valid only until the next one.
"""


def build(
    plan: Separable,
    seeds: Sequence[tuple[Codes, Codes]],
    find: Find,
    *,
    numbered: bool = False,
    values: Sequence[Codes] = (),
) -> Graph | None:
    """Compute all steps; `None` if sums may deviate from the semantics of rules (overflow or negative contributions).

    `seeds` are, for each predicate, sorted by name, fixed and moving values of the facts derived by other rules. With
    `numbered`, each step records its rule, as index into `plan.steps`. `values` are numbered as well.
    """
    parts = tuple(plan.fixed)
    blocks = deque(_found(steps, find) for steps in plan.steps)
    doubling = any(steps.doubling for steps in plan.steps)
    started = [column for pair in seeds for column in (pair if doubling else pair[1:])]
    numbering = Numbering(
        [*values, *started, *(ends for some, _ in blocks for block in some for ends in block[:2])]
    )
    size = len(numbering) * len(parts)
    if size >= 2**31 - 1:
        return None

    def listed(steps: Steps, found: list[Block]) -> list[Listed]:
        source, target = parts.index(steps.source), parts.index(steps.head)
        if steps.doubling or steps.body is None:
            ends = seeds[source] if steps.doubling else (numbering.codes, numbering.codes)
            found = [(*ends, np.empty(0))]
        some = [(numbering.states(s, source), numbering.states(t, target), w) for s, t, w in found]
        found.clear()
        return some

    bounds = np.full(len(parts), np.inf)
    plain: list[Listed] = []
    sums: list[Compressed] = []
    for number, steps in enumerate(plan.steps):
        found, kind = blocks.popleft()
        if steps.bound is None:
            rules = float(number)
            plain += [(s, t, np.full(len(s) * numbered, rules)) for s, t, _ in listed(steps, found)]
            continue
        bounds[parts.index(steps.head)] = steps.bound
        made = _summed(steps, listed(steps, found), kind, size)
        if made is None:
            return None
        sums.append(made)
    summed = numbered or len(sums) > 0
    one = Compressed.make(plain, size)
    several = sums.pop() if len(sums) == 1 else Compressed.make([each.listed() for each in sums], size)
    del plain, sums
    if size >= MANY:
        memory.give_back()
    if len(parts) == 1 and size >= MANY:
        numbers = _near(one, several)
        numbering.renumber(numbers)
        one = one.renumbered(numbers)
        several = several.renumbered(numbers)
    return Graph(one, several if summed else None, bounds, numbering, parts)


class Graph(NamedTuple):
    """Graph of the walks; `sums` are the steps with contributions, and `bounds` the thresholds of their totals.

    The weights of `plain` steps are the numbers of their rules, if requested (`build`).
    """

    plain: Compressed
    sums: Compressed | None
    bounds: npt.NDArray[np.float64]
    numbering: Numbering
    parts: tuple[str, ...]


class Numbering:
    """Numbering of states: 0, 1, ... for the values of each predicate, one predicate after another."""

    def __init__(self, columns: Sequence[Codes | States]) -> None:
        filled = [c for c in columns if len(c)]
        least = min((int(c.min()) for c in filled), default=0)
        most = max((int(c.max()) for c in filled), default=-1)
        total = sum(map(len, filled))
        self.dense = least >= 0 and most < min(4 * total + 1024, 2**31 - 2)
        self.codes = np.arange(most + 1) if self.dense else _distinct(filled)
        self._numbers: States | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def states(self, codes: Codes | States, part: int) -> States:
        """States of values in facts of predicate number `part`."""
        if self._numbers is not None:
            return self._numbers[codes if self.dense else np.searchsorted(self._sorted, codes)]
        numbers = codes if self.dense else np.searchsorted(self.codes, codes)
        states = numbers.astype(np.int32, copy=False)
        return states + np.int32(part * len(self)) if part else states

    def has(self, codes: Codes) -> bool:
        """Whether all codes have a number."""
        if not len(codes):
            return True
        known = self.codes if self._numbers is None else self._sorted
        if self.dense:
            return bool(codes.min() >= 0 and codes.max() < len(known))
        at = np.searchsorted(known, codes)
        return bool(len(known) and (known[np.minimum(at, len(known) - 1)] == codes).all())

    def renumber(self, numbers: States) -> None:
        """Renumber the states of a single predicate."""
        self._numbers, self._sorted = numbers, self.codes
        self.codes = np.empty_like(self._sorted)
        self.codes[numbers] = self._sorted


class Compressed(NamedTuple):
    """Steps in compressed sparse rows (see `walk_kernels`); `weights` is empty if one step is enough."""

    ptr: Codes
    to: States
    weights: npt.NDArray[np.float64]

    @classmethod
    def make(cls, blocks: Sequence[Listed], states: int) -> Compressed:
        """Sort steps by source, in linear time; those of one source keep their order."""
        ptr = np.zeros(states + 2, dtype=np.int64)
        for source, _, _ in blocks:
            walk_kernels.count(source, ptr)
        np.cumsum(ptr, out=ptr)
        steps = int(ptr[-1])
        to = np.empty(steps, dtype=np.int32)
        kept = np.empty(steps if any(len(weights) for *_, weights in blocks) else 0)
        for source, target, weights in blocks:
            walk_kernels.place(source, target, weights, ptr, to, kept)
        return cls(ptr[:-1], to, kept)

    def listed(self) -> Listed:
        """All steps."""
        source = np.repeat(np.arange(len(self.ptr) - 1, dtype=np.int32), np.diff(self.ptr))
        return source, self.to, self.weights

    def distinct(self) -> Compressed:
        """Keep the step of greatest weight from one state to another; if steps are repeated, they are sorted."""
        if not walk_kernels.repeated(self.ptr, self.to, np.zeros(len(self.ptr) - 1, dtype=np.int32)):
            return self
        steps = walk_kernels.keep_greatest(self.ptr, self.to, self.weights)
        return Compressed(self.ptr, self.to[:steps].copy(), self.weights[:steps].copy())

    def safe(self, kind: Kind) -> bool:
        """Whether no sum of weights at any target can overflow or, for integers, be rounded."""
        totals = np.zeros(len(self.ptr) - 1)
        walk_kernels.add_up(self.to, self.weights, totals)
        return bool(totals.max(initial=0.0) < (EXACT if kind is Kind.INT else np.finfo(np.float64).max / 2))

    def renumbered(self, numbers: States) -> Compressed:
        """Give each state a new number; the steps of one source keep their order."""
        ptr, to, weights = np.zeros_like(self.ptr), np.empty_like(self.to), np.empty_like(self.weights)
        walk_kernels.renumber(*self, numbers, ptr, to, weights)
        return Compressed(ptr, to, weights)


def _near(one: Compressed, several: Compressed) -> States:
    """Renumbering of the states by which those visited in one walk are mostly adjacent."""
    numbers = np.full(len(one.ptr) - 1, -1, dtype=np.int32)
    stack = np.empty(len(one.to) + len(several.to) + 1, dtype=np.int32)
    walk_kernels.preorder(one.ptr, one.to, several.ptr, several.to, stack, numbers)
    return numbers


def _summed(steps: Steps, listed: list[Listed], kind: Kind, states: int) -> Compressed | None:
    """Distinct steps with contributions; `None` if sums of these may deviate from the semantics of rules."""
    # a negative contribution is an error where it is reached, even next to a greater one
    if any(weights.min(initial=0.0) < 0 for *_, weights in listed):
        return None
    made = Compressed.make(listed, states)
    listed.clear()
    made = made if _wide(steps) else made.distinct()
    return made if made.safe(kind) else None


def _wide(steps: Steps) -> bool:
    """Whether more than its two states distinguishes a step with a contribution."""
    return steps.bound is not None and len(steps.columns) > 2


def _found(steps: Steps, find: Find) -> tuple[list[Block], Kind]:
    """Blocks of steps as codes, with their contributions if these are summed; kind of the contributions."""
    if steps.body is None:
        return [], Kind.INT
    batches, kind = find(steps)
    if _wide(steps):
        nothing = np.empty((0, len(steps.columns) + 1), dtype=np.int64)
        rows = iter([_distinct_rows(np.concatenate([nothing, *(batch.copy() for batch in batches)]), kind)])
    else:
        rows = _gathered(batches)
    return [_block(some, kind, weighted=steps.bound is not None) for some in rows], kind


def _gathered(batches: Iterator[Rows]) -> Iterator[Rows]:
    """Concatenate batches, which are valid only until the next one."""
    held: list[Rows] = []
    size = 0
    for batch in batches:
        held.append(batch.copy())
        size += len(batch)
        if size >= GATHERED:
            memory.look()
            yield np.concatenate(held)
            held, size = [], 0
    if held:
        yield np.concatenate(held)


def _block(rows: Rows, kind: Kind, *, weighted: bool) -> Block:
    last = np.ascontiguousarray(rows[:, -1]) if weighted else NOTHING
    weights = last.view(np.float64) if kind is Kind.DOUBLE else last.astype(np.float64)
    return _narrow(rows[:, 0]), _narrow(rows[:, 1]), weights


def _narrow(codes: Codes) -> Codes | States:
    """Codes in half the memory, if they are small."""
    small = not len(codes) or (codes.min() >= 0 and codes.max() < 2**31)
    return codes.astype(np.int32) if small else np.ascontiguousarray(codes)


def _distinct(columns: Sequence[Codes | States]) -> Codes:
    """Distinct codes, ascending; merged from time to time, so that repeated ones take no memory."""
    found, held, size = NOTHING, list[Codes | States](), 0
    for column in columns:
        held.append(column)
        size += len(column)
        if size >= max(GATHERED, len(found)):
            found, held, size = np.unique(np.concatenate([found, *held])), [], 0
    return np.unique(np.concatenate([found, *held]))


def _distinct_rows(rows: Rows, kind: Kind) -> Rows:
    """Distinct rows, with the greatest value of each contribution."""
    if not len(rows):
        return rows
    values = rows[:, -1].view(np.float64) if kind is Kind.DOUBLE else rows[:, -1]
    keys = rows[:, :-1]
    if values.min() < 0 or first_rows([np.ascontiguousarray(key) for key in keys.T]).all():
        return rows
    order = np.lexsort((values, *keys.T))
    last = np.append((np.diff(keys[order], axis=0) != 0).any(axis=1), True)
    return np.ascontiguousarray(rows[order[last]])


_MOST = 2**31 - 1  # values whose walks have a number of 32 bits


class Seeds(NamedTuple):
    """Starting points of the walks: distinct fixed values, each with some states."""

    values: Codes
    ptr: Codes
    states: States

    @classmethod
    def of(cls, numbering: Numbering, seeds: list[tuple[Codes, Codes]]) -> Seeds:
        """Starting points of all predicates; `seeds` (see `build`) is emptied, to free what nobody else holds."""
        starts: list[tuple[Codes | States, States]] = []
        while seeds:
            fixed, moving = seeds.pop(0)
            states = numbering.states(moving, len(starts))
            del moving
            starts.append((_narrow(fixed), states))
            del fixed, states
        if len(starts) == 1:
            return cls.make(*starts.pop())
        return cls.make(*(np.concatenate(columns) for columns in zip(*starts, strict=True)))

    @classmethod
    def make(cls, fixed: Codes | States, states: States) -> Seeds:
        """Group states by fixed value; walks with close starting points are adjacent."""
        if (fixed[1:] > fixed[:-1]).all():
            if len(fixed) >= _MOST:
                raise memory.Exhausted("walks start at more than 2^31 values")
            values, ptr = fixed.astype(np.int64), np.arange(len(fixed) + 1)
        else:
            numbering = Numbering([fixed])
            if len(numbering) >= _MOST:
                raise memory.Exhausted("walks start at more than 2^31 values")
            grouped = Compressed.make([(numbering.states(fixed, 0), states, np.empty(0))], len(numbering))
            walk_kernels.sort_rows(grouped.ptr, grouped.to)
            used = np.flatnonzero(np.diff(grouped.ptr))
            values, ptr, states = numbering.codes[used], np.append(grouped.ptr[used], len(fixed)), grouped.to
        if len(values) < len(fixed):
            return cls(values, ptr, states)
        order = np.argsort(states, kind="stable")
        return cls(values[order], ptr, states[order])
