"""Parallel walks of a separable stratum, over steps that the engine computes and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kgreason.base import memory
from kgreason.base.cores import cores, each, together
from kgreason.engine.plan.ir import Separable, Steps
from kgreason.engine.relations.fact_tables import Kind
from kgreason.engine.relations.relation import Relation
from kgreason.engine.relations.rows import Rows, first_rows
from kgreason.engine.relations.symbols import Codes
from kgreason.engine.seminaive import walk_kernels
from kgreason.language.values import EXACT

MANY = 1 << 15  # number of states from which the data of a walk exceed the nearest caches
STEPS = 1 << 18  # per block of walks, so that neither other threads nor a user interrupt wait long
REACHED = 1 << 17  # states after which a block pauses, for the same reason
BLOCKS = 32  # minimum per core, because light walks do not predict the cost of later ones
LEAST = 1 << 16  # states allocated at once
ROUNDS = 100_000  # number of rounds with separate counts
States = npt.NDArray[np.int32]
Listed = tuple[States, States, npt.NDArray[np.float64]]  # sources, targets and weights of steps in any order
Find = Callable[[Steps], tuple[Rows, Kind]]
"""Finds rows of `Steps.columns`, perhaps with duplicates, and contributions as last column; kind of these."""


class Tally:
    """Statistics of the walks so far, also if they are interrupted: walks, tried steps, and new facts.

    New facts by predicate are set at the end. If `profile`, `rounds` has the counts of each thread by round and rule
    (see `walk_kernels.accumulate`).
    """

    def __init__(self, plan: Separable, profile: bool = False) -> None:
        self.plan = plan
        self.profile = profile
        self.walks = self.tried = self.facts = 0
        self.by_predicate: dict[str, int] = {}
        self.rounds: list[Rows] = []

    def counted(self, rule: int) -> list[tuple[int, int]]:
        """Tried and new facts of a rule by round; `rule` is an index into `plan.steps`."""
        columns = [rounds[:, 2 * rule : 2 * rule + 2] for rounds in self.rounds]
        return [(int(tried), int(new)) for tried, new in np.sum(columns, axis=0)] if columns else []


class KeptGraphs:
    """Graphs of separable strata that are walked in parts: the steps are computed once.

    `columns` returns all columns of a kind whose values parts may start from.
    """

    def __init__(self, columns: Callable[[Kind], Sequence[Codes]]) -> None:
        self._columns = columns
        self._kept: dict[tuple[str, ...], Graph | None] = {}

    def graph(
        self,
        plan: Separable,
        seeds: Sequence[tuple[Codes, Codes]],
        kind: Kind,
        make: Callable[[Sequence[Codes]], Graph | None],
    ) -> Graph | None:
        """The graph kept for a stratum, if it has the states of all seeds; otherwise `make` builds and keeps it."""
        name = tuple(plan.fixed)
        kept = self._kept.get(name)
        if name not in self._kept or (kept and not all(kept.numbering.has(moving) for _, moving in seeds)):
            self._kept[name] = None  # if an error of a step ends `make`
            self._kept[name] = make(self._columns(kind))
        return self._kept[name]


def run(
    tally: Tally,
    relations: Mapping[str, Relation],
    find: Find,
    advance: Callable[[int], None],
    kept: KeptGraphs | None = None,
    kind: Kind = Kind.STRING,
) -> bool:
    """Complete the relations of a stratum, which hold the facts of its other rules, and record the work in the tally.

    `kind` is that of the moving values. Returns `False`, without effect, if the data require the general evaluation.
    """
    plan = tally.plan
    seeds = [(relations[p].column(at), relations[p].column(1 - at)) for p, at in plan.fixed.items()]

    def make(values: Sequence[Codes] = ()) -> Graph | None:
        return build(plan, seeds, find, numbered=tally.profile, values=values)

    graph = make() if kept is None else kept.graph(plan, seeds, kind, make)
    if graph is None:
        return False
    states = [graph.numbering.states(moving, number) for number, (_, moving) in enumerate(seeds)]
    start = Seeds.make(np.concatenate([fixed for fixed, _ in seeds]), np.concatenate(states))
    counts = np.zeros(len(start.values), dtype=np.int64)
    blocks = Blocks(len(start.values), advance, tally)
    walks = len(start.values)
    edges = sum(len(part.to) for part in (graph.plain, graph.sums) if part is not None)
    steps = walks * edges // 2  # a walk hardly reaches all
    found = together(lambda: list(_thread(graph, start, counts, blocks)), walks // 2, blocks.stop, steps)
    reached = sorted(chain.from_iterable(found), key=lambda block: block.first)
    for number, (predicate, at) in enumerate(plan.fixed.items()):
        first, second = _facts(graph, start, counts, reached, number)
        columns = (first, second) if at == 0 else (second, first)
        tally.by_predicate[predicate] = len(first) - relations[predicate].count
        relations[predicate].adopt(columns)
    return True


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
    found = [(steps, *_distinct_steps(steps, find)) for steps in plan.steps]
    doubling = any(steps.doubling for steps in plan.steps)
    started = [column for pair in seeds for column in (pair if doubling else pair[1:])]
    numbering = Numbering([*values, *started, *(rows[:, i] for _, rows, _ in found for i in (0, 1))])
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
        if steps.bound is None:
            plain.append((*ends, np.full(len(ends[0]) if numbered else 0, float(number))))
            continue
        last = np.ascontiguousarray(rows[:, -1])
        weights = last.view(np.float64) if kind is Kind.DOUBLE else last.astype(np.float64)
        if not _safe(weights, ends[1], kind):
            return None
        bounds[target] = steps.bound
        sums.append((*ends, weights))
    lists = [_joined(plain), _joined(sums)]
    if len(parts) == 1 and size >= MANY:
        numbers = _near(lists, size)
        numbering.renumber(numbers)
        lists = [(numbers[source], numbers[target], weights) for source, target, weights in lists]
    one, several = (Compressed.make(steps, size) for steps in lists)
    return Graph(one, several if sums or numbered else None, bounds, numbering, parts)


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
    def make(cls, steps: Listed, states: int) -> Compressed:
        """Sort steps by source."""
        source, target, weights = steps
        ptr = np.zeros(states + 1, dtype=np.int64)
        order = np.empty(len(source), dtype=np.int64)
        walk_kernels.by_source(source, ptr, order)
        return cls(ptr, target[order], weights[order] if len(weights) else weights)


def _joined(lists: Sequence[Listed]) -> Listed:
    none = np.empty(0, dtype=np.int32)
    sources, targets, weights = zip((none, none, np.empty(0)), *lists, strict=True)
    return np.concatenate(sources), np.concatenate(targets), np.concatenate(weights)


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
    if steps.bound is None or not len(rows):
        return rows, kind
    values = rows[:, -1].view(np.float64) if kind is Kind.DOUBLE else rows[:, -1]
    keys = rows[:, :-1]
    # a negative contribution is an error where it is reached, even next to a greater one
    if values.min() < 0 or first_rows([np.ascontiguousarray(key) for key in keys.T]).all():
        return rows, kind
    order = np.lexsort((values, *keys.T))
    last = np.append((np.diff(keys[order], axis=0) != 0).any(axis=1), True)
    return np.ascontiguousarray(rows[order[last]]), kind


def _safe(weights: npt.NDArray[np.float64], target: States, kind: Kind) -> bool:
    """Whether no sum at any target can decrease, overflow or, for integers, be rounded."""
    if not len(weights):
        return True
    if weights.min() < 0:
        return False
    most = np.bincount(target, weights).max()
    return bool(most < (EXACT if kind is Kind.INT else np.finfo(np.float64).max / 2))


class Seeds(NamedTuple):
    """Starting points of the walks: distinct fixed values, each with some states."""

    values: Codes
    ptr: Codes
    states: States

    @classmethod
    def make(cls, fixed: Codes, states: States) -> Seeds:
        """Group states by fixed value; walks with close starting points are adjacent."""
        if not (fixed[1:] > fixed[:-1]).all():
            order = np.lexsort((states, fixed))
            fixed, states = fixed[order], states[order]
        first = np.flatnonzero(np.append(True, fixed[1:] != fixed[:-1])[: len(fixed)])
        if len(first) == len(fixed):
            order = np.argsort(states, kind="stable")
            return cls(fixed[order], np.arange(len(fixed) + 1), states[order])
        return cls(fixed[first], np.append(first, len(fixed)), states)


class Reached(NamedTuple):
    """States reached from the values first, ..., last - 1, concatenated."""

    first: int
    last: int
    states: States


class Blocks:
    """Queue of blocks of values for the threads."""

    def __init__(self, values: int, advance: Callable[[int], None], tally: Tally) -> None:
        self._next, self._end = 0, values
        self._most = max(1, values // (BLOCKS * cores()))
        self.over = False
        self._advance = advance
        self.tally = tally
        self._lock = Lock()

    def take(self, size: int) -> tuple[int, int] | None:
        """First and end value of the next block; `None` if there is none."""
        with self._lock:
            first = self._next
            self._next = min(first + min(size, self._most), self._end)
            return (first, self._next) if first < self._next else None

    def record(self, walks: int, tried: int, facts: int) -> None:
        """Record walks, tried steps and new facts."""
        with self._lock:
            self.tally.walks += walks
            self.tally.tried += tried
            self.tally.facts += facts
            self._advance(facts)

    def stop(self) -> None:
        """Cancel the remaining blocks."""
        with self._lock:
            self._end, self.over = self._next, True


def _thread(graph: Graph, start: Seeds, counts: Codes, blocks: Blocks) -> Iterator[Reached]:
    """Work of one thread: process blocks of values until there are none."""
    states = len(graph.numbering) * len(graph.parts)
    room = max(LEAST, 4 * states)
    walk = _walker(blocks.tally, graph, start, counts, states)
    out, used, size = _room(room), 0, 1
    while (block := blocks.take(size)) is not None:
        first, last = block
        walks, steps = last - first, 0
        while first < last and not blocks.over:
            memory.look()
            begin = used
            done, used, tried = walk(out[: used + states + REACHED], used, first, last)
            if done > first:
                blocks.record(done - first, tried, used - begin - int(start.ptr[done] - start.ptr[first]))
                yield Reached(first, done, out[begin:used])
            if done < last and len(out) - used < states:
                out, used = _room(room), 0
            first, steps = done, steps + tried
        size = max(1, min(4 * walks, walks * STEPS // (steps + 1)))


def _room(states: int) -> States:
    memory.claim(4 * states)
    return np.empty(states, dtype=np.int32)


Walk = Callable[[States, int, int, int], tuple[int, int, int]]


def _walker(tally: Tally, graph: Graph, start: Seeds, counts: Codes, states: int) -> Walk:
    """Kernel with the work arrays of one thread."""
    plain, sums, plan = graph.plain, graph.sums, tally.plan
    if sums is None:
        stamps = np.zeros(states, dtype=np.int32)
        return lambda out, used, first, last: walk_kernels.reach(
            start.ptr, start.states, plain.ptr, plain.to, stamps, out, used, counts, first, last
        )
    summed = {steps.head: number for number, steps in enumerate(plan.steps) if steps.bound is not None}
    rules = np.array([summed.get(part, 0) for part in graph.parts])
    rounds = np.zeros((min(states, ROUNDS) if tally.profile else 0, 2 * len(plan.steps)), dtype=np.int64)
    tally.rounds.append(rounds)
    cells = np.zeros(4 * states)
    return lambda out, used, first, last: walk_kernels.accumulate(
        start.ptr,
        start.states,
        plain.ptr,
        plain.to,
        plain.weights,
        sums.ptr,
        sums.to,
        sums.weights,
        rules,
        graph.bounds,
        cells,
        out,
        used,
        counts,
        rounds,
        first,
        last,
    )


def _facts(
    graph: Graph, start: Seeds, counts: Codes, reached: Sequence[Reached], number: int
) -> tuple[Codes, Codes]:
    """Fixed and moving values of the facts of one predicate."""
    parts, size = len(graph.parts), len(graph.numbering)
    if parts > 1:
        reached, counts = _of_part(reached, counts, number * size, (number + 1) * size)
    codes = np.tile(graph.numbering.codes, parts) if parts > 1 else graph.numbering.codes
    ends = np.cumsum([0, *(len(block.states) for block in reached)])
    memory.claim(16 * int(ends[-1]))
    fixed, moving = (np.empty(ends[-1], dtype=np.int64) for _ in range(2))

    def unfold(i: int) -> None:
        block, here = reached[i], slice(ends[i], ends[i + 1])
        first, last = block.first, block.last
        walk_kernels.unfold(start.values, counts, block.states, codes, fixed[here], moving[here], first, last)

    each(unfold, range(len(reached)), 8 * int(ends[-1]))
    return fixed, moving


def _of_part(reached: Sequence[Reached], counts: Codes, low: int, high: int) -> tuple[list[Reached], Codes]:
    """Restrict blocks to the states of one predicate."""
    kept, lengths = [], np.zeros_like(counts)
    for block in reached:
        inside = (block.states >= low) & (block.states < high)
        owner = np.repeat(np.arange(block.first, block.last), counts[block.first : block.last])
        lengths[block.first : block.last] = np.bincount(
            owner[inside] - block.first, minlength=block.last - block.first
        )
        kept.append(Reached(block.first, block.last, np.ascontiguousarray(block.states[inside])))
    return kept, lengths
