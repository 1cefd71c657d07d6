"""All walks of a separable stratum, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from threading import Lock

import numpy as np

from kgreason.cores import cores
from kgreason.engine import memory
from kgreason.engine.relation import Relation
from kgreason.engine.separable import kernels
from kgreason.engine.separable.steps import Codes, Find, Graph, States, build
from kgreason.plan.ir import Separable

BLOCKS = 256  # pieces of work per thread, so that none waits long for the others, nor a user who interrupts
LEAST = 1 << 16  # room for states that is asked for at once


@dataclass(frozen=True)
class Seeds:
    """Where the walks begin: distinct fixed values, and for each of them some states."""

    values: Codes
    ptr: Codes
    states: States

    @classmethod
    def make(cls, fixed: Codes, states: States) -> Seeds:
        """Group states by fixed value; walks that begin near each other follow one another."""
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
    """What the values first, ..., last - 1 reach, one after the other, in `tried` steps."""

    first: int
    last: int
    states: States
    tried: int = 0


@dataclass
class Walks:
    """Number of walks and of their steps, and new facts by predicate."""

    walks: int
    tried: int
    facts: dict[str, int]


def run(
    plan: Separable, relations: Mapping[str, Relation], find: Find, advance: Callable[[int], None]
) -> Walks | None:
    """Complete the relations of a stratum, which hold what its other rules derive.

    Returns
    -------
    Walks or None
        What was done; `None`, and nothing is done, if the data need the general way.
    """
    parts = tuple(plan.fixed)
    held = [relations[p] for p in parts]
    places = [(plan.fixed[p], 1 - plan.fixed[p]) for p in parts]
    seeds = [(r.column(i), r.column(j)) for r, (i, j) in zip(held, places, strict=True)]
    graph = build(plan, seeds, find)
    if graph is None:
        return None
    states = [graph.numbering.states(moving, number) for number, (_, moving) in enumerate(seeds)]
    start = Seeds.make(np.concatenate([fixed for fixed, _ in seeds]), np.concatenate(states))
    counts = np.zeros(len(start.values), dtype=np.int64)
    pieces = sorted(_walks(graph, start, counts, advance), key=lambda piece: piece.first)
    found = Walks(len(start.values), sum(piece.tried for piece in pieces), {})
    for number, predicate in enumerate(parts):
        first, second = _facts(graph, start, counts, pieces, number)
        columns = (first, second) if plan.fixed[predicate] == 0 else (second, first)
        found.facts[predicate] = len(first) - relations[predicate].count
        relations[predicate].adopt(columns)
    return found


def _walks(graph: Graph, start: Seeds, counts: Codes, advance: Callable[[int], None]) -> list[Piece]:
    values, workers = len(start.values), cores()
    each = max(1, -(-values // (workers * BLOCKS)))
    blocks = Blocks([(first, min(first + each, values)) for first in range(0, values, each)], advance)
    if workers == 1 or values < 2 * workers:
        return list(_thread(graph, start, counts, blocks))

    def work() -> list[Piece]:
        try:
            return list(_thread(graph, start, counts, blocks))
        finally:
            blocks.stop()  # there are none left, or this thread has failed

    with ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(copy_context().run, work) for _ in range(workers)]
        try:
            return [piece for done in running for piece in done.result()]
        finally:
            blocks.stop()  # the user may have interrupted


class Blocks:
    """Blocks of values that wait for a thread."""

    def __init__(self, blocks: Sequence[tuple[int, int]], advance: Callable[[int], None]) -> None:
        self._blocks = iter(blocks)
        self._advance = advance
        self._lock = Lock()

    def take(self) -> tuple[int, int] | None:
        """First value of the next block, and the one behind its last; `None` if there is none."""
        with self._lock:
            return next(self._blocks, None)

    def tell(self, facts: int) -> None:
        """Report new facts."""
        with self._lock:
            self._advance(facts)

    def stop(self) -> None:
        """Leave all other blocks undone."""
        with self._lock:
            self._blocks = iter(())


def _thread(graph: Graph, start: Seeds, counts: Codes, blocks: Blocks) -> Iterator[Piece]:
    """Work of one thread: blocks of values as long as there are any."""
    states = len(graph.numbering) * len(graph.parts)
    room = max(LEAST, 4 * states)
    walk = _walker(graph, start, counts, states)
    out, used = _room(room), 0
    while (block := blocks.take()) is not None:
        first, last = block
        memory.look()
        while first < last:
            begin = used
            done, used, tried = walk(out, used, first, last)
            if done > first:
                blocks.tell(used - begin - int(start.ptr[done] - start.ptr[first]))
                yield Piece(first, done, out[begin:used], tried)
            if done < last:
                out, used = _room(room), 0
            first = done


def _room(states: int) -> States:
    memory.claim(4 * states)
    return np.empty(states, dtype=np.int32)


def _walker(
    graph: Graph, start: Seeds, counts: Codes, states: int
) -> Callable[[States, int, int, int], tuple[int, int, int]]:
    """Kernel with the memory of one thread."""
    plain, sums = graph.plain, graph.sums
    if sums is None:
        stamps = np.zeros(states, dtype=np.int32)
        return lambda out, used, first, last: kernels.reach(
            start.ptr, start.states, 1, plain.ptr, plain.to, stamps, 0, out, used, counts, first, last
        )
    cells = np.zeros(4 * states)
    return lambda out, used, first, last: kernels.accumulate(
        start.ptr,
        start.states,
        1,
        plain.ptr,
        plain.to,
        sums.ptr,
        sums.to,
        sums.weights,
        graph.bounds,
        cells,
        0,
        out,
        used,
        counts,
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
        kernels.unfold(
            start.values, counts, piece.states, codes, fixed[here], moving[here], piece.first, piece.last
        )

    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(unfold, range(len(pieces))))
    return fixed, moving


def _of_part(pieces: Sequence[Piece], counts: Codes, low: int, high: int) -> tuple[list[Piece], Codes]:
    """Only the states of one predicate."""
    kept, lengths = [], np.zeros_like(counts)
    for piece in pieces:
        inside = (piece.states >= low) & (piece.states < high)
        owner = np.repeat(np.arange(piece.first, piece.last), counts[piece.first : piece.last])
        lengths[piece.first : piece.last] = np.bincount(
            owner[inside] - piece.first, minlength=piece.last - piece.first
        )
        kept.append(Piece(piece.first, piece.last, np.ascontiguousarray(piece.states[inside])))
    return kept, lengths
