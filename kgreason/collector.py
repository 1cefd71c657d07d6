"""Work during which Python does not look for cyclic garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Pause the search for cyclic garbage.

    Imports, parsing and planning make many objects that stay, and hardly a cycle; to go through them again and again
    takes a sixth of the time of a small run.

    Examples
    --------
    >>> with paused():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
