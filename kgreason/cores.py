"""Work on the cores of the machine, for functions that release the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def each(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Results of `work` on all items, in their order; one item alone needs no thread.

    Examples
    --------
    >>> each(abs, [-2, 3])
    [2, 3]
    """
    items = list(items)
    workers = min(cores(), len(items))
    if workers < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))
