"""Ctrl-C and terminating signals, deferred to moments where they do no harm."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

NOTHING = "interrupted; nothing was written"
INTERRUPTED = 130
"""Exit code."""

PATIENCE = 0.1  # seconds between two attempts to stop the work


@contextmanager
def deferred() -> Iterator[None]:
    """Defer interrupts by the user until the end of the block, which should be short, also if it raises."""
    if threading.current_thread() is not threading.main_thread():
        yield  # other threads are not interrupted
        return
    usual = {n: handler for n in _SIGNALS if callable(handler := signal.getsignal(n))}
    waiting: list[Callable[[], object]] = []

    def wait(number: int, frame: FrameType | None) -> None:
        waiting.append(lambda: usual[number](number, frame))

    for number in usual:
        signal.signal(number, wait)
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
    if waiting:
        waiting[-1]()


def stoppable(work: Callable[[], T], stop: Callable[[], object]) -> T:
    """Run work that ignores signals, such as a database query, so that the user can interrupt it.

    The work runs in another thread, with the context of the caller. After an interrupt, `stop` is called until the work
    has returned, and `KeyboardInterrupt` is raised.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()  # other threads are not interrupted
    from concurrent.futures import ThreadPoolExecutor, wait

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(copy_context().run, work)
        try:
            while not wait((future,), PATIENCE).done:
                pass
        except BaseException:
            while not wait((future,), PATIENCE).done:
                stop()
            raise
        return future.result()


def leave_at_once() -> None:
    """Let signals end the process immediately while it does no work, except signals ignored by nohup."""
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _leave)


def leave_in_order() -> None:
    """Turn the same signals into `KeyboardInterrupt` from now on, so that temporary files are cleaned up."""
    for number in _SIGNALS:
        if signal.getsignal(number) is _leave:
            signal.signal(number, signal.default_int_handler)


def _leave(_number: int, _frame: FrameType | None) -> None:
    os.write(2, f"{NOTHING}\n".encode())
    os._exit(INTERRUPTED)
