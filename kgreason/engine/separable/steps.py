"""Steps of a separable stratum: computed by the engine and numbered for the walks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.engine.plan.ir import Separable, Steps, Threshold
from kgreason.engine.relations.kinds import Kind
from kgreason.engine.relations.rows import Rows, first_rows
from kgreason.engine.separable import walk_kernels

States = npt.NDArray[np.int32]
Codes = npt.NDArray[np.int64]

EXACT = 2.0**53  # integers up to here are exact as doubles
MANY = 1 << 15  # number of states from which the data of a walk exceed the nearest caches

Find = Callable[[Steps], tuple[Rows, Kind]]
"""Finds rows of `Steps.columns`, with contributions as a last column, some perhaps twice; and the kind of these."""


@dataclass(frozen=True)
class Compressed:
    """Steps in compressed sparse rows (see `kgreason.engine.separable.walk_kernels`)."""

    ptr: Codes
    to: States
    weights: npt.NDArray[np.float64]

    @classmethod
    def make(cls, steps: Listed, states: int) -> Compressed:
        """Sort steps by source."""
        ptr = np.zeros(states + 1, dtype=np.int64)
        order = np.empty(len(steps.source), dtype=np.int64)
        walk_kernels.by_source(steps.source, ptr, order)
        weights = steps.weights[order] if len(steps.weights) else steps.weights
        return cls(ptr, steps.target[order], weights)


@dataclass(frozen=True)
class Listed:
    """Steps in any order; `weights` is empty if one step is enough."""

    source: States
    target: States
    weights: npt.NDArray[np.float64]

    @classmethod
    def join(cls, pieces: Sequence[Listed]) -> Listed:
        """Concatenation of lists of steps."""
        none, nothing = np.empty(0, dtype=np.int32), np.empty(0)
        return cls(
            np.concatenate([none, *(p.source for p in pieces)]),
            np.concatenate([none, *(p.target for p in pieces)]),
            np.concatenate([nothing, *(p.weights for p in pieces)]),
        )

    def renumbered(self, numbers: States) -> Listed:
        """The steps with renumbered states."""
        return Listed(numbers[self.source], numbers[self.target], self.weights)


class Numbering:
    """Numbering of states: 0, 1, ... for the values of each predicate, one predicate after another."""

    def __init__(self, columns: Sequence[Codes]) -> None:
        filled = [c for c in columns if len(c)]
        least = min((int(c.min()) for c in filled), default=0)
        most = max((int(c.max()) for c in filled), default=-1)
        total = sum(map(len, filled))
        self.dense = least >= 0 and most < 4 * total + 1024
        self.codes = np.arange(most + 1) if self.dense else np.unique(np.concatenate(filled))
        self._numbers: States | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def states(self, codes: Codes, part: int) -> States:
        """States of values in facts of predicate number `part`."""
        if self._numbers is not None:
            return self._numbers[codes if self.dense else np.searchsorted(self._sorted, codes)]
        numbers = codes if self.dense else np.searchsorted(self.codes, codes)
        return (numbers + part * len(self)).astype(np.int32)

    def renumber(self, numbers: States) -> None:
        """Renumber the states of a single predicate."""
        self._numbers, self._sorted = numbers, self.codes
        self.codes = np.empty_like(self._sorted)
        self.codes[numbers] = self._sorted


@dataclass(frozen=True)
class Graph:
    """Graph of the walks; `sums` are the steps with contributions, and `bounds` the thresholds of their totals.

    The weights of `plain` steps are the numbers of their rules, if requested (`build`).
    """

    plain: Compressed
    sums: Compressed | None
    bounds: npt.NDArray[np.float64]
    numbering: Numbering
    parts: tuple[str, ...]


def build(
    plan: Separable, seeds: Sequence[tuple[Codes, Codes]], find: Find, *, numbered: bool = False
) -> Graph | None:
    """Compute all steps; `None` if sums may deviate from the semantics of rules (overflow or negative contributions).

    Parameters
    ----------
    seeds
        For each predicate, sorted by name: fixed and moving values of the facts derived by other rules.
    numbered
        Whether each step records its rule, as index into `plan.steps`.
    """
    parts = tuple(plan.fixed)
    found = [(steps, *_distinct_steps(steps, find)) for steps in plan.steps]
    doubling = any(steps.doubling for steps in plan.steps)
    values = [column for pair in seeds for column in (pair if doubling else pair[1:])]
    numbering = Numbering([*values, *(rows[:, i] for _, rows, _ in found for i in (0, 1))])
    size = len(numbering) * len(parts)
    if size >= 2**31 - 1:
        return None
    bounds = np.full(len(parts), np.inf)
    plain: list[Listed] = []
    sums: list[Listed] = []
    for number, (steps, rows, kind) in enumerate(found):
        source, target = parts.index(steps.source), parts.index(steps.head)
        if steps.doubling:
            columns = seeds[source]
        else:
            columns = (numbering.codes, numbering.codes) if steps.body is None else (rows[:, 0], rows[:, 1])
        ends = numbering.states(columns[0], source), numbering.states(columns[1], target)
        if steps.threshold is None:
            plain.append(Listed(*ends, np.full(len(ends[0]) if numbered else 0, float(number))))
            continue
        weights, bound = _step_weights(rows, kind), _bound_of(steps.threshold)
        if bound is None or not _safe(weights, ends[1], kind):
            return None
        bounds[target] = bound
        sums.append(Listed(*ends, weights))
    lists = [Listed.join(plain), Listed.join(sums)]
    if len(parts) == 1 and size >= MANY:
        numbers = _near(lists, size)
        numbering.renumber(numbers)
        lists = [steps.renumbered(numbers) for steps in lists]
    one, several = (Compressed.make(steps, size) for steps in lists)
    return Graph(one, several if sums or numbered else None, bounds, numbering, parts)


def _near(lists: Sequence[Listed], states: int) -> States:
    """Renumbering of the states by which those visited in one walk are mostly adjacent."""
    one, several = (Compressed.make(steps, states) for steps in lists)
    numbers = np.full(states, -1, dtype=np.int32)
    stack = np.empty(len(one.to) + len(several.to) + 1, dtype=np.int32)
    walk_kernels.preorder(one.ptr, one.to, several.ptr, several.to, stack, numbers)
    return numbers


def _distinct_steps(steps: Steps, find: Find) -> tuple[Rows, Kind]:
    """Distinct steps, with the greatest value of each contribution."""
    if steps.body is None:
        return np.empty((0, 3), dtype=np.int64), Kind.INT
    rows, kind = find(steps)
    if steps.threshold is None or not len(rows):
        return rows, kind
    values = rows[:, -1].view(np.float64) if kind is Kind.DOUBLE else rows[:, -1]
    keys = rows[:, :-1]
    if values.min() < 0:  # an error where it is reached, even next to a greater one
        return rows, kind
    if first_rows([np.ascontiguousarray(key) for key in keys.T]).all():
        return rows, kind
    order = np.lexsort((values, *keys.T))
    last = np.append((np.diff(keys[order], axis=0) != 0).any(axis=1), True)
    return np.ascontiguousarray(rows[order[last]]), kind


def _step_weights(rows: Rows, kind: Kind) -> npt.NDArray[np.float64]:
    """Contribution of each step, from the last column of its rows."""
    last = np.ascontiguousarray(rows[:, -1])
    return last.view(np.float64) if kind is Kind.DOUBLE else last.astype(np.float64)


def _safe(weights: npt.NDArray[np.float64], target: States, kind: Kind) -> bool:
    """Whether no sum at any target can decrease, overflow or, for integers, be rounded."""
    if not len(weights):
        return True
    if weights.min() < 0:
        return False
    most = np.bincount(target, weights).max()
    return bool(most < (EXACT if kind is Kind.INT else np.finfo(np.float64).max / 2))


def _bound_of(threshold: Threshold) -> float | None:
    """Greatest double that does not pass the threshold."""
    if abs(threshold.value) > EXACT:
        return None
    value = float(threshold.value)
    return value if threshold.strict else float(np.nextafter(value, -np.inf))
