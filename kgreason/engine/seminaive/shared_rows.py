"""Rows of a pipeline, shared by threads, with results in the order of the rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from kgreason.base.cores import cores, each
from kgreason.engine.relations.rows import Rows

LEAST = 256  # fewest rows that threads share; without experience, as many show what the others will take
TASK = 1 << 15  # rows that a thread looks up or finds, about 0.2 ms, before it takes the next ones
ROOM = 1 << 14  # rows of results after which a task pauses, which bounds memory
RESULT = 2  # rows looked up or found in the time that it takes to hand over a result
TASKS = 4  # per thread, computed before their results are used
Batches = Iterator[Rows]


class Pieces:
    """Batches, cut into pieces of any size; `left` is the number of rows that are left."""

    def __init__(self, batches: Batches, left: int) -> None:
        self.batches = batches
        self.left = left
        self.rest: Rows = np.empty((0, 0), dtype=np.int64)

    def take(self, size: int) -> Rows:
        """Next piece, of at most `size` rows."""
        if not len(self.rest):
            self.rest = next(self.batches)
        piece, self.rest = self.rest[:size], self.rest[size:]
        self.left -= len(piece)
        return piece


class Task:
    """Results of one piece, computed step by step."""

    def __init__(self, batches: Batches) -> None:
        self.batches = batches
        self.results: list[Rows] = []
        self.ended = False

    def advance(self) -> None:
        """Compute results, up to `ROOM` rows or more by one batch."""
        rows = 0
        for batch in self.batches:
            self.results.append(batch.copy())
            rows += len(batch)
            if rows >= ROOM:
                return
        self.ended = True


def shared_out(work: Callable[[Batches], Batches], pieces: Pieces, size: int) -> Batches:
    """Results of `work` on pieces of `size` rows, in the order of the pieces, computed by all threads.

    No thread works while the caller uses a batch. Order and content of all batches together do not depend on threads.
    """
    tasks: deque[Task] = deque()
    while True:
        while len(tasks) < TASKS * cores() and pieces.left:
            tasks.append(Task(work(iter([pieces.take(size)]))))
        if not tasks:
            return
        each(Task.advance, [task for task in tasks if not task.ended and not task.results])
        while tasks:
            yield from tasks[0].results
            tasks[0].results = []
            if not tasks[0].ended:
                break
            tasks.popleft()
