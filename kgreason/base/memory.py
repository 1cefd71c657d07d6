"""How much memory the process may hold: large arrays are asked for here, before the machine begins to swap.

The limits of the system do not do it. ``RLIMIT_AS`` counts addresses: a run that holds 0.29 GB has 1.99 GB of them,
most of NumPy, Arrow and LLVM, and under a limit of 0.5 GB it does not start. Without any limit, a rule that derives all
pairs of 100,000 names makes 10^10 rows of 16 bytes: the system swaps, or ends the process without a word on the rule.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from decimal import Decimal
from pathlib import Path
from time import monotonic

LEAST = 10_000_000  # bytes of a limit; less is a slip of the unit
_MOST = 1 << 62
SMALL = 1 << 20  # bytes that need not be asked for
SPARE = 0.95  # of the memory that is free at the start, the part that may be used
# A look took 0.28 ms (2 busy cores, x86-64), and a reader of lines looks at each: 280 s of a million without a pause.
PAUSE = 0.02  # seconds between two looks at what is held

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)

_limit: ContextVar[int | None] = ContextVar("limit", default=None)
_next_look: ContextVar[float] = ContextVar("next_look", default=0.0)


class Exhausted(MemoryError):
    """There is no room for what is asked for; says so in numbers."""


def parse_size(text: str) -> int:
    """Bytes of a size such as ``8GB``, ``512 MiB`` or ``100000000``.

    Raises
    ------
    ValueError
        If it is none, or one of a few bytes.

    Examples
    --------
    >>> parse_size("8GB"), parse_size("1.5 g"), parse_size("512MiB"), parse_size("100000000")
    (8000000000, 1500000000, 536870912, 100000000)
    """
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no size; write it as in 8GB or 512MiB")
    unit = _UNITS[found[2].lower()]
    if found[3]:
        unit = 1024 ** (len(str(unit)) // 3)
    size = int(Decimal(found[1]) * unit)
    if size > _MOST:
        raise ValueError(f"{text[:40]!r} is more than any machine has; say for instance 8GB or 512MiB")
    if size < LEAST:
        raise ValueError(
            f"{text!r} is less than {shown(LEAST)}, which nothing fits; say for instance 8GB or 512MiB"
        )
    return size


def shown(size: float) -> str:
    """Bytes as a person reads them.

    Examples
    --------
    >>> shown(8_240_000_000), shown(31_000_000)
    ('8.2 GB', '31 MB')
    """
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"


@contextmanager
def limited(limit: int | None = None) -> Iterator[None]:
    """Refuse to hold more than `limit` bytes within the block; by default, more than is free at its start."""
    if limit is None:
        here, free = held(), available()
        limit = None if here is None or free is None else here + int(SPARE * free)
    _next_look.set(0.0)
    with _bounded(limit):
        yield


def always_limited() -> AbstractContextManager[None]:
    """Keep the limit that holds; where none does, `limited()`."""
    return limited() if _limit.get() is None else nullcontext()


def unlimited() -> AbstractContextManager[None]:
    """Refuse nothing within the block: what must be done to the end, and asks for little."""
    return _bounded(None)


@contextmanager
def _bounded(limit: int | None) -> Iterator[None]:
    token = _limit.set(limit)
    try:
        yield
    finally:
        _limit.reset(token)


def claim(size: int) -> None:
    """Ask for so many bytes more.

    Raises
    ------
    Exhausted
        If the process would then hold more than it may.
    """
    limit = _limit.get()
    if size < SMALL or limit is None:
        return
    here = held()
    if here is not None and here + size > limit:
        raise Exhausted(
            f"{shown(here)} are in use, {shown(size)} more are needed, the limit is {shown(limit)}"
        )


def left() -> int | None:
    """Bytes that the process may still take; `None`: there is no limit, or the system does not tell."""
    limit, here = _limit.get(), held()
    return None if limit is None or here is None else max(0, limit - here)


def look(now: bool = False) -> None:
    """Ask for nothing but see, now and then or `now`, that the process does not hold more than it may.

    Raises
    ------
    Exhausted
        If it does.
    """
    limit = _limit.get()
    if limit is None or (monotonic() < _next_look.get() and not now):
        return
    _next_look.set(monotonic() + PAUSE)
    here = held()
    if here is not None and here > limit:
        raise Exhausted(f"{shown(here)} are in use, the limit is {shown(limit)}")


def held() -> int | None:
    """Bytes of memory that the process holds now; at most, where the system only tells that; else `None`."""
    statm = _text("/proc/self/statm").split()
    if len(statm) > 1:
        import resource

        return int(statm[1]) * resource.getpagesize()
    return peak()


def peak() -> int | None:
    """Most bytes that the process has ever held; `None` where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def available() -> int | None:
    """Bytes that the process could take without swapping, by the machine and its control group."""
    found = []
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            found.append(1024 * int(line.split()[1]))
    most, now = _text("/sys/fs/cgroup/memory.max").strip(), _text("/sys/fs/cgroup/memory.current").strip()
    if most.isdecimal() and now.isdecimal():
        found.append(max(0, int(most) - int(now)))
    return min(found, default=None)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError:
        return ""
