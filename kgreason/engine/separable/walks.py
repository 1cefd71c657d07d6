"""Parallel walks of a separable stratum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from kgreason.base import memory
from kgreason.base.cores import cores, each, together
from kgreason.engine.plan.ir import Separable
from kgreason.engine.relations.relation import Relation
from kgreason.engine.relations.rows import Rows
from kgreason.engine.separable import walk_kernels
from kgreason.engine.separable.steps import Codes, Find, Graph, States, build

STEPS = 1 << 18  # per block of walks, so that neither other threads nor a user interrupt wait long
REACHED = 1 << 17  # states after which a block pauses, for the same reason
BLOCKS = 32  # minimum per core, because light walks do not predict the cost of later ones
LEAST = 1 << 16  # states allocated at once
ROUNDS = 100_000  # number of rounds with separate counts


@dataclass(frozen=True)
class Seeds:
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
        first = (
            np.flatnonzero(np.append(True, fixed[1:] != fixed[:-1])) if len(fixed) else np.empty(0, np.int64)
        )
        if len(first) == len(fixed):
            order = np.argsort(states, kind="stable")
            return cls(fixed[order], np.arange(len(fixed) + 1), states[order])
        return cls(fixed[first], np.append(first, len(fixed)), states)


@dataclass(frozen=True)
class Piece:
    """States reached from the values first, ..., last - 1, concatenated."""

    first: int
    last: int
    states: States


class Tally:
    """Statistics of the walks so far, also if they are interrupted.

    Attributes
    ----------
    walks, tried, facts
        Numbers of walks, of tried steps, and of new facts.
    by_predicate
        New facts of each predicate, set at the end.
    rounds
        If `profile`, counts of each thread by round and rule (see `walk_kernels.accumulate`).
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

    Returns
    -------
    bool
        `False` if the data require the general evaluation.
    """
    plan = tally.plan
    parts = tuple(plan.fixed)
    held = [relations[p] for p in parts]
    places = [(plan.fixed[p], 1 - plan.fixed[p]) for p in parts]
    seeds = [(r.column(i), r.column(j)) for r, (i, j) in zip(held, places, strict=True)]
    graph = build(plan, seeds, find, numbered=tally.profile)
    if graph is None:
        return False
    states = [graph.numbering.states(moving, number) for number, (_, moving) in enumerate(seeds)]
    start = Seeds.make(np.concatenate([fixed for fixed, _ in seeds]), np.concatenate(states))
    counts = np.zeros(len(start.values), dtype=np.int64)
    pieces = sorted(_walks(graph, start, counts, advance, tally), key=lambda piece: piece.first)
    for number, predicate in enumerate(parts):
        first, second = _facts(graph, start, counts, pieces, number)
        columns = (first, second) if plan.fixed[predicate] == 0 else (second, first)
        tally.by_predicate[predicate] = len(first) - relations[predicate].count
        relations[predicate].adopt(columns)
    return True


def _walks(
    graph: Graph, start: Seeds, counts: Codes, advance: Callable[[int], None], tally: Tally
) -> list[Piece]:
    blocks = Blocks(len(start.values), advance, tally)

    def work() -> list[Piece]:
        return list(_thread(graph, start, counts, blocks))

    return [piece for pieces in together(work, len(start.values) // 2, blocks.stop) for piece in pieces]


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

    def tell(self, walks: int, tried: int, facts: int) -> None:
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


def _thread(graph: Graph, start: Seeds, counts: Codes, blocks: Blocks) -> Iterator[Piece]:
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
                blocks.tell(done - first, tried, used - begin - int(start.ptr[done] - start.ptr[first]))
                yield Piece(first, done, out[begin:used])
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
    summed = {steps.head: number for number, steps in enumerate(plan.steps) if steps.threshold is not None}
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
    graph: Graph, start: Seeds, counts: Codes, pieces: Sequence[Piece], number: int
) -> tuple[Codes, Codes]:
    """Fixed and moving values of the facts of one predicate."""
    parts, size = len(graph.parts), len(graph.numbering)
    if parts > 1:
        pieces, counts = _of_part(pieces, counts, number * size, (number + 1) * size)
    codes = np.tile(graph.numbering.codes, parts) if parts > 1 else graph.numbering.codes
    ends = np.cumsum([0, *(len(piece.states) for piece in pieces)])
    memory.claim(16 * int(ends[-1]))
    fixed, moving = (np.empty(ends[-1], dtype=np.int64) for _ in range(2))

    def unfold(i: int) -> None:
        piece, here = pieces[i], slice(ends[i], ends[i + 1])
        first, last = piece.first, piece.last
        walk_kernels.unfold(start.values, counts, piece.states, codes, fixed[here], moving[here], first, last)

    each(unfold, range(len(pieces)))
    return fixed, moving


def _of_part(pieces: Sequence[Piece], counts: Codes, low: int, high: int) -> tuple[list[Piece], Codes]:
    """Restrict pieces to the states of one predicate."""
    kept, lengths = [], np.zeros_like(counts)
    for piece in pieces:
        inside = (piece.states >= low) & (piece.states < high)
        owner = np.repeat(np.arange(piece.first, piece.last), counts[piece.first : piece.last])
        lengths[piece.first : piece.last] = np.bincount(
            owner[inside] - piece.first, minlength=piece.last - piece.first
        )
        kept.append(Piece(piece.first, piece.last, np.ascontiguousarray(piece.states[inside])))
    return kept, lengths
