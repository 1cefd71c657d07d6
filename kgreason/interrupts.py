"""Ctrl-C, and signals that end the work as it does, at a moment that does no harm."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def deferred() -> Iterator[None]:
    """Let an interrupt by the user wait until the block has ended, which should be soon; an error ends it as well."""
    if threading.current_thread() is not threading.main_thread():
        yield  # others are not interrupted
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
