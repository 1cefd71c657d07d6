"""Parallel walks of a separable stratum, over steps that the engine computes and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from threading import Lock
from typing import NamedTuple

import numpy as np

from kgreason.base import memory
from kgreason.base.cores import cores, each, together
from kgreason.engine.plan.ir import Separable
from kgreason.engine.relations.fact_tables import Kind
from kgreason.engine.relations.relation import Relation
from kgreason.engine.relations.rows import Rows
from kgreason.engine.relations.symbols import Codes
from kgreason.engine.seminaive import walk_kernels
from kgreason.engine.seminaive.walk_preparation import MANY, NOTHING, Find, Graph, Seeds, States, build

STEPS = 1 << 18  # per block of walks, so that neither other threads nor a user interrupt wait long
REACHED = 1 << 17  # states after which a block pauses, for the same reason
BLOCKS = 32  # minimum per core, because light walks do not predict the cost of later ones
LEAST = 1 << 16  # states allocated at once
SLOTS = 1 << 12  # of the first hash table of a thread
ROUNDS = 100_000  # number of rounds with separate counts


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
    While there are walks the relations are empty: the starting points take less than half of their memory.
    """
    plan = tally.plan
    seeds = [(relations[p].column(at), relations[p].column(1 - at)) for p, at in plan.fixed.items()]

    def make(values: Sequence[Codes] = ()) -> Graph | None:
        return build(plan, seeds, find, numbered=tally.profile, values=values)

    graph = make() if kept is None else kept.graph(plan, seeds, kind, make)
    if graph is None:
        return False
    given = {predicate: relations[predicate].count for predicate in plan.fixed}
    for predicate in plan.fixed:
        relations[predicate].adopt((NOTHING, NOTHING))
    start = Seeds.of(graph.numbering, seeds)
    counts, reached = _walked(graph, start, advance, tally)
    for number, (predicate, at) in enumerate(plan.fixed.items()):
        first, second = _facts(graph, start, counts, reached, number)
        columns = (first, second) if at == 0 else (second, first)
        tally.by_predicate[predicate] = len(first) - given[predicate]
        relations[predicate].adopt(columns)
    return True


def _walked(
    graph: Graph, start: Seeds, advance: Callable[[int], None], tally: Tally
) -> tuple[Codes, list[Reached]]:
    """Number of states reached from each value, and these states."""
    walks = len(start.values)
    counts, blocks = np.zeros(walks, dtype=np.int64), Blocks(walks, advance, tally)
    edges = sum(len(part.to) for part in (graph.plain, graph.sums) if part is not None)
    steps = walks * edges // 2  # a walk hardly reaches all
    found = together(lambda: list(_thread(graph, start, counts, blocks)), walks // 2, blocks.stop, steps)
    return counts, sorted(chain.from_iterable(found), key=lambda block: block.first)


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
