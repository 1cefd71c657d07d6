"""Work divided into numbered tasks, for the cores of this machine or for an engine that has more of them.

An algorithm says what is done with some of its tasks; where that happens is decided above it, by `divided_by`. The work
and its result must be picklable for engines of other processes; large arrays in the work are best contiguous.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeAlias, TypeVar

from kgreason.base.cores import FEW, consumed, together

R = TypeVar("R")

Advance: TypeAlias = Callable[[int], object]
Work: TypeAlias = Callable[[Iterator[int], Advance], R]
"""Does the tasks whose numbers it is given, reports progress in units of its own, and returns one result for all."""


class Engine(Protocol):
    """Executor of divided work."""

    def pays(self, steps: float) -> bool:
        """Whether work of so many elementary steps, of some ns, is worth the overhead."""

    def run(self, work: Work[Any], tasks: int, advance: Advance) -> list[Any]:
        """Results of the calls of `work`, which together do all tasks; their order has no meaning."""


_engine: ContextVar[Engine | None] = ContextVar("engine", default=None)


@contextmanager
def divided_by(engine: Engine | None) -> Iterator[None]:
    """Have an engine do the divided work of the block; `None`: the cores of this machine."""
    token = _engine.set(engine)
    try:
        yield
    finally:
        _engine.reset(token)


def _silent(_: int) -> None:
    pass


def divided(work: Work[R], tasks: int, steps: float = FEW, advance: Advance = _silent) -> list[R]:
    """Have tasks 0 .. `tasks` - 1 done, each once, and return the result of each call of `work`.

    Parameters
    ----------
    work
        Called in several threads, or by the engine in other processes with copies of its arguments. What it changes in
        shared objects is then lost: all that matters must be in its result.
    steps
        Approximate number of elementary steps of some ns, for the decision where the work is done.
    advance
        Receives the progress, from any thread.

    Examples
    --------
    >>> def squares(tasks, advance):
    ...     return sum(i * i for i in tasks)
    >>> sum(divided(squares, 10))
    285
    """
    engine = _engine.get()
    if engine is not None and tasks and engine.pays(steps):
        return engine.run(work, tasks, advance)
    waiting = deque(range(tasks))
    return together(lambda: work(consumed(waiting), advance), tasks, waiting.clear)
