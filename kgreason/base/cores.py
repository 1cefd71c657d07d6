"""Thread parallelism for functions that release the GIL."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import cache, partial
from threading import get_ident
from typing import TYPE_CHECKING, TypeVar

from kgreason.base.interrupts import deferred

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")
R = TypeVar("R")

# elementary steps, of some ns, that one thread makes before others are imported and started, which takes 5 ms
FEW = 1 << 21

_share: ContextVar[int | None] = ContextVar("share", default=None)


def cores() -> int:
    """Number of cores available to this process, or to the block of `sharing`."""
    share = _share.get()
    if share is not None:
        return share
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def sharing(count: int) -> Iterator[None]:
    """Use `count` cores within the block, where others use the rest of the machine.

    Examples
    --------
    >>> with sharing(1):
    ...     cores()
    1
    """
    token = _share.set(max(1, count))
    try:
        yield
    finally:
        _share.reset(token)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Persistent threads: starting them takes 0.07 ms, and a run on a small graph would do so thousands of times."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


def together(work: Callable[[], R], tasks: int, stop: Callable[[], object], steps: int = FEW) -> list[R]:
    """Run the same work on all cores, which share a number of tasks; returns the result of each thread.

    Calls may be nested: a thread that is still busy elsewhere when all tasks are done is not waited for.

    Parameters
    ----------
    work
        Processes tasks until none is left. It runs with the context variables of the caller, whose thread takes part.
    tasks
        A single one runs without threads.
    stop
        Drops the tasks that have not been started; called when a thread fails or the user interrupts.
    steps
        Elementary steps of all tasks, if they may be so `FEW` that threads are of no use.
    """
    threads = cores() - 1
    others = min(threads, tasks - 1)
    if others < 1 or steps < FEW:
        return [work()]
    from concurrent.futures import wait

    def guarded(task: Callable[[], T]) -> T:
        with ExitStack() as otherwise:
            otherwise.callback(stop)
            done = task()
            otherwise.pop_all()
            return done

    shares: list[Callable[[], R]] = [
        partial(copy_context().run, lambda: guarded(work)) for _ in range(others)
    ]
    running: list[Future[R]] = []

    def share() -> list[R]:
        with deferred():  # an interrupt here would lose track of a thread being started
            running.extend(_pool(threads).submit(lambda: shares.pop()()) for _ in range(others))
        return [work(), *(done.result() for done in running if not done.cancel())]

    try:
        return guarded(share)
    finally:
        wait([done for done in running if not done.cancel()])
        shares.clear()  # queue entries not started remain, but release their data


def consumed(waiting: deque[T]) -> Iterator[T]:
    """Tasks that this thread takes from those that several threads share."""
    with suppress(IndexError):
        while True:
            yield waiting.popleft()


def each(work: Callable[[T], R], items: Iterable[T], steps: int = FEW) -> list[R]:
    """Apply work to all items on all cores; returns the results in order; `steps` as of `together`."""
    items = list(items)
    results: dict[int, R] = {}
    waiting = iter(range(len(items)))

    def some() -> None:
        for i in waiting:
            results[i] = work(items[i])

    together(some, len(items), lambda: deque(waiting, maxlen=0), steps)
    return [results[i] for i in range(len(items))]


def both(one: Callable[[], A], other: Callable[[], B], steps: int = FEW) -> tuple[A, B]:
    """Call two functions beside each other, the first in the thread of the caller; `steps` as of `together`.

    An interrupt ends the first at once, and the result of the second is waited for.

    Examples
    --------
    >>> both(lambda: 1, lambda: "a")
    (1, 'a')
    """
    waiting: dict[int, Callable[[], object]] = {0: one, 1: other}
    results: dict[int, object] = {}
    caller = get_ident()

    def some() -> None:
        for i in (0, 1) if get_ident() == caller else (1,):
            if (call := waiting.pop(i, None)) is not None:
                results[i] = call()

    together(some, 2, waiting.clear, steps)
    return results[0], results[1]  # type: ignore[return-value]
