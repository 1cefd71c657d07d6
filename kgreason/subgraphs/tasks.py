"""A search for subgraphs, cut into tasks that cores share; the work of a hub is many tasks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from kgreason.cores import together
from kgreason.subgraphs.adjacency import Adjacency, Ints

T = TypeVar("T")
R = TypeVar("R")

_TASKS = 2_048  # about so many in all
_PIECES = 64  # of a hub at most
_ALL = np.iinfo(np.int64).max


def tasks(adjacency: Adjacency) -> Ints:
    """Cut the search into ranges of roots, and that of a hub into ranges of its extensions.

    Returns
    -------
    int64, shape (tasks, 4): roots from and to, extensions of the first depth from and to.

    Examples
    --------
    >>> from kgreason.graph.model import KnowledgeGraph
    >>> star = KnowledgeGraph.from_edges([("hub", str(i)) for i in range(300)])
    >>> found = tasks(Adjacency.plain(star))
    >>> found[[0, 1]].tolist(), found[-1, 1].tolist()
    ([[0, 1, 0, 64], [0, 1, 64, 128]], 301)
    """
    n = adjacency.n
    owner = np.repeat(np.arange(n), np.diff(adjacency.indptr))
    greater = np.bincount(owner[adjacency.neighbour > owner], minlength=n)
    share = max(64, int(greater.sum()) // _TASKS)
    found: list[tuple[int, int, int, int]] = []
    hubs = np.flatnonzero(greater > share)
    start = 0
    for hub in (*hubs.tolist(), n):
        if start < hub:
            number = (np.cumsum(greater[start:hub] + 1) - 1) // (2 * share)
            bounds = start + np.flatnonzero(np.diff(number, prepend=-1))
            found += [
                (a, b, 0, _ALL) for a, b in zip(bounds.tolist(), [*bounds[1:].tolist(), hub], strict=True)
            ]
        if hub < n:
            size = int(greater[hub])
            step = max(share, -(-size // _PIECES))
            found += [(hub, hub + 1, i, i + step) for i in range(0, size, step)]
        start = hub + 1
    return np.array(found, dtype=np.int64).reshape(-1, 4)


def shared(work: Callable[[], Callable[[Ints], R | None]], todo: Ints) -> list[R]:
    """Let the cores share tasks; `work` makes what does one, with room of its own.

    Returns
    -------
    What the tasks gave, in their order, but for `None`.
    """
    lock = threading.Lock()
    waiting = iter(range(len(todo)))
    found: dict[int, R] = {}
    stopped = threading.Event()

    def some() -> None:
        do = work()
        while not stopped.is_set():
            with lock:
                number = next(waiting, None)
            if number is None:
                return
            if (result := do(todo[number].copy())) is not None:
                found[number] = result

    together(some, len(todo), stopped.set)
    return [found[number] for number in sorted(found)]
