"""Work in several processes, for what keeps the interpreter busy."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from multiprocessing.queues import SimpleQueue
from typing import Any, TypeVar

from kgreason.cores import cores
from kgreason.interrupts import deferred

T = TypeVar("T")
R = TypeVar("R")


def in_processes(work: Callable[[T], R], items: Sequence[T], done: Callable[[], None]) -> list[R]:
    """Do work on all items, each in one of as many processes as there are cores.

    Parameters
    ----------
    work
        Must not depend on what it did before. Where processes are forked (Linux) it may be any function, elsewhere one
        that can be pickled; its results can be in any case.
    done
        Called after each item.

    Returns
    -------
    list
        Results in the order of the items.

    Raises
    ------
    MemoryError
        If the system ends a process. What `work` raises is raised here; either ends all processes, and so does an
        interruption by the user.

    Examples
    --------
    >>> in_processes(abs, [-2, 3], lambda: None)
    [2, 3]
    """
    workers = min(cores(), len(items))
    if workers < 2:
        return [_told(work(item), done) for item in items]
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    places: SimpleQueue[int] = context.SimpleQueue()
    for place in sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else range(workers):
        places.put(place)
    before = set(multiprocessing.active_children())
    with ExitStack() as last, ExitStack() as otherwise:
        pool = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(work, places))
        last.callback(pool.shutdown, cancel_futures=True)
        otherwise.callback(_end, before)
        with deferred(), warnings.catch_warnings():  # other threads: those of the progress bar do no harm
            warnings.simplefilter("ignore", DeprecationWarning)
            running = [pool.submit(_one, item) for item in items]
        try:
            for future in as_completed(running):
                _told(future.result(), done)
        except BrokenProcessPool as error:
            raise MemoryError("the system ended one of the processes") from error
        otherwise.pop_all()
    return [future.result() for future in running]


def _told(result: R, done: Callable[[], None]) -> R:
    done()
    return result


_work: Callable[[Any], Any]  # of a process that was begun for it


def _begin(work: Callable[[Any], Any], places: SimpleQueue[int]) -> None:
    """Prepare a process: it has one core, and leaves interruptions to the one that began it."""
    global _work
    _work = work
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    place = places.get()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {place})


def _one(item: Any) -> Any:
    return _work(item)


def _end(before: set[multiprocessing.process.BaseProcess]) -> None:
    for process in set(multiprocessing.active_children()) - before:
        process.terminate()
