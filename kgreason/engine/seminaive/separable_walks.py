"""Parallel walks of a separable stratum, over steps that the engine computes and numbers."""

from __future__ import annotations

from collections import deque
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
GATHERED = 1 << 18  # rows of steps that are made smaller at once
SLOTS = 1 << 12  # of the first hash table of a thread
ROUNDS = 100_000  # number of rounds with separate counts
NOTHING = np.empty(0, dtype=np.int64)
States = npt.NDArray[np.int32]
Listed = tuple[States, States, npt.NDArray[np.float64]]  # sources, targets and weights of steps in any order
Block = tuple[Codes | States, Codes | States, npt.NDArray[np.float64]]  # the same with codes of values
Find = Callable[[Steps], tuple[Iterator[Rows], Kind]]
"""Finds rows of `Steps.columns`, perhaps with duplicates, and contributions as last column; kind of these.

The rows come in batches, each valid only until the next one.
"""


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


def run(tally: Tally, relations: Mapping[str, Relation], find: Find, advance: Callable[[int], None]) -> bool:
    """Complete the relations of a stratum, which hold the facts of its other rules, and record the work in the tally.

    Returns `False`, without effect, if the data require the general evaluation.
    """
    plan = tally.plan
    seeds = [(relations[p].column(at), relations[p].column(1 - at)) for p, at in plan.fixed.items()]
    graph = build(plan, seeds, find, numbered=tally.profile)
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
    plan: Separable, seeds: Sequence[tuple[Codes, Codes]], find: Find, *, numbered: bool = False
) -> Graph | None:
    """Compute all steps; `None` if sums may deviate from the semantics of rules (overflow or negative contributions).

    `seeds` are, for each predicate, sorted by name, fixed and moving values of the facts derived by other rules. With
    `numbered`, each step records its rule, as index into `plan.steps`.
    """
    parts = tuple(plan.fixed)
    blocks = deque(_found(steps, find) for steps in plan.steps)
    doubling = any(steps.doubling for steps in plan.steps)
    values = [column for pair in seeds for column in (pair if doubling else pair[1:])]
    numbering = Numbering([*values, *(ends for some, _ in blocks for block in some for ends in block[:2])])
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


class Seeds(NamedTuple):
    """Starting points of the walks: distinct fixed values, each with some states."""

    values: Codes
    ptr: Codes
    states: States

    @classmethod
    def make(cls, fixed: Codes, states: States) -> Seeds:
        """Group states by fixed value; walks with close starting points are adjacent."""
        values, ptr = fixed, np.arange(len(fixed) + 1)
        if not (fixed[1:] > fixed[:-1]).all():
            numbering = Numbering([fixed])
            if len(numbering) >= 2**31 - 1:
                raise memory.Exhausted("walks start at more than 2^31 values")
            grouped = Compressed.make([(numbering.states(fixed, 0), states, np.empty(0))], len(numbering))
            walk_kernels.sort_rows(grouped.ptr, grouped.to)
            used = np.flatnonzero(np.diff(grouped.ptr))
            values, ptr, states = numbering.codes[used], np.append(grouped.ptr[used], len(fixed)), grouped.to
        if len(values) < len(fixed):
            return cls(values, ptr, states)
        order = np.argsort(states, kind="stable")
        return cls(values[order], ptr, states[order])


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
    walk = Walk(blocks.tally, graph, start, counts)
    out, used, size = _room(walk.most), 0, 1
    while (block := blocks.take(size)) is not None:
        first, last = block
        walks, steps = last - first, 0
        while first < last and not blocks.over:
            memory.look()
            begin = used
            room = out[: used + walk.most + REACHED]
            done, used, tried = walk(room, used, first, last)
            if done > first:
                blocks.record(done - first, tried, used - begin - int(start.ptr[done] - start.ptr[first]))
                yield Reached(first, done, out[begin:used])
            if done < last and len(room) - used >= walk.most:
                walk.enlarge()
            if done < last and len(out) - used < walk.most:
                out, used = _room(walk.most), 0
            first, steps = done, steps + tried
        size = max(1, min(4 * walks, walks * STEPS // (steps + 1)))


def _room(most: int) -> States:
    """Array for the states of several walks, of which one reaches at most so many."""
    states = max(LEAST, 4 * most)
    memory.claim(4 * states)
    return np.empty(states, dtype=np.int32)


class Walk:
    """Kernel with the work arrays of one thread; `most` is the number of states that a walk may reach.

    Cells of states are found by hash where few walks reach a notable share of many states: a table that is large enough
    for these walks stays in the caches, and each thread has one.
    """

    def __init__(self, tally: Tally, graph: Graph, start: Seeds, counts: Codes) -> None:
        self._graph, self._start, self._counts, plan = graph, start, counts, tally.plan
        self._states = len(graph.numbering) * len(graph.parts)
        if graph.sums is not None:
            summed = {
                steps.head: number for number, steps in enumerate(plan.steps) if steps.bound is not None
            }
            self._rules = np.array([summed.get(part, 0) for part in graph.parts])
            rounds = min(self._states, ROUNDS) if tally.profile else 0
            self._rounds = np.zeros((rounds, 2 * len(plan.steps)), dtype=np.int64)
            tally.rounds.append(self._rounds)
        # a walk that begins again would be counted twice
        self._allocate(self._states if tally.profile or self._states < MANY else SLOTS)

    def _allocate(self, cells: int) -> None:
        hashed = cells < self._states
        self.most = cells // 2 if hashed else self._states
        self._keys = np.empty(cells if hashed else 0, dtype=np.int32)
        self._stamps = np.zeros(cells if self._graph.sums is None else 0, dtype=np.int32)
        self._totals = np.zeros(0 if self._graph.sums is None else 4 * cells)

    def enlarge(self) -> None:
        """Make room for a walk that needs more cells."""
        cells = 2 * len(self._keys)
        self._allocate(cells if 2 * cells <= self._states else self._states)

    def __call__(self, out: States, used: int, first: int, last: int) -> tuple[int, int, int]:
        """Run the kernel; it stops in front of a walk for which `out` or the cells are too small."""
        start, (plain, sums, bounds, *_) = self._start, self._graph
        if sums is None:
            return walk_kernels.reach(
                start.ptr,
                start.states,
                plain.ptr,
                plain.to,
                self._keys,
                self._stamps,
                out,
                used,
                self._counts,
                first,
                last,
            )
        return walk_kernels.accumulate(
            start.ptr,
            start.states,
            plain.ptr,
            plain.to,
            plain.weights,
            sums.ptr,
            sums.to,
            sums.weights,
            self._rules,
            bounds,
            self._keys,
            self._totals,
            out,
            used,
            self._counts,
            self._rounds,
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
