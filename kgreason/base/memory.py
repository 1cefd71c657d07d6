"""Memory limit of the process, checked before large allocations so that the machine does not start to swap.

System limits are not sufficient. ``RLIMIT_AS`` counts address space: a run that holds 0.29 GB uses 1.99 GB of it,
mostly for NumPy, Arrow and LLVM, and does not start under a limit of 0.5 GB. Without any limit, a rule that derives all
pairs of 100,000 names makes 10^10 rows of 16 bytes: the system swaps, or kills the process without naming the rule.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from time import monotonic
from typing import Any

LEAST = 10_000_000  # bytes; a lower limit is taken for a wrong unit
_MOST = 1 << 62
SMALL = 1 << 20  # bytes that may be allocated without a check
SPARE = 0.95  # usable share of the memory that is free at the start
# Reading the memory use took 0.28 ms, and a reader checks at every line: without a pause, 280 s for a million lines.
PAUSE = 0.02  # seconds between two readings of the memory use

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)

_limit: ContextVar[int | None] = ContextVar("limit", default=None)
_next_check: ContextVar[float] = ContextVar("next_check", default=0.0)


class Exhausted(MemoryError):
    """The memory limit would be exceeded; the message gives the numbers."""


def parse_size(text: str) -> int:
    """Parse a memory limit such as ``8GB``, ``512 MiB`` or ``100000000``; raise `ValueError` if it is none."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no size; write it as in 8GB or 512MiB")
    unit = _UNITS[found[2].lower()]
    if found[3]:
        unit = 1024 ** (len(str(unit)) // 3)
    from decimal import Decimal

    size = int(Decimal(found[1]) * unit)
    if size > _MOST:
        raise ValueError(f"{text[:40]!r} is more than any machine has; say for instance 8GB or 512MiB")
    if size < LEAST:
        least = shown(LEAST)
        raise ValueError(f"{text!r} is less than {least}, which nothing fits; say for instance 8GB or 512MiB")
    return size


def shown(size: float) -> str:
    """Format bytes for display."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"


@contextmanager
def limited(limit: int | None = None) -> Iterator[None]:
    """Limit memory to `limit` bytes within the block; default: the memory available at its start."""
    if limit is None:
        here, free = held(), available()
        limit = None if here is None or free is None else here + int(SPARE * free)
    _next_check.set(0.0)
    with _bounded(limit):
        yield


def always_limited() -> AbstractContextManager[None]:
    """Keep the current limit; without one, apply `limited()`."""
    return limited() if _limit.get() is None else nullcontext()


def unlimited() -> AbstractContextManager[None]:
    """Suspend the limit within the block, for work that must be completed and allocates little."""
    return _bounded(None)


@contextmanager
def _bounded(limit: int | None) -> Iterator[None]:
    token = _limit.set(limit)
    try:
        yield
    finally:
        _limit.reset(token)


def claim(size: int) -> None:
    """Raise `Exhausted` if the process would exceed its limit with `size` more bytes."""
    limit = _limit.get()
    if size < SMALL or limit is None:
        return
    here = held()
    if here is not None and here + size > limit:
        used = f"{shown(here)} are in use, {shown(size)} more are needed"
        raise Exhausted(f"{used}, the limit is {shown(limit)}")


def left() -> int | None:
    """Bytes that may still be allocated; `None` without a limit, or if the system does not report memory use."""
    limit, here = _limit.get(), held()
    return None if limit is None or here is None else max(0, limit - here)


def look(now: bool = False) -> None:
    """Raise `Exhausted` if the process exceeds its limit; checks from time to time, or immediately with `now`."""
    limit = _limit.get()
    if limit is None or (monotonic() < _next_check.get() and not now):
        return
    _next_check.set(monotonic() + PAUSE)
    here = held()
    if here is not None and here > limit:
        raise Exhausted(f"{shown(here)} are in use, the limit is {shown(limit)}")


def held() -> int | None:
    """Resident memory in bytes; the peak where the system reports only that; else `None`."""
    statm = _text("/proc/self/statm").split()
    if len(statm) > 1:
        import resource

        return int(statm[1]) * resource.getpagesize()
    return peak()


def peak() -> int | None:
    """Peak memory of the process in bytes; `None` where the system does not report it."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def available() -> int | None:
    """Bytes that the process could allocate without swapping, given the machine and its control group."""
    found = []
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            found.append(1024 * int(line.split()[1]))
    most, now = _text("/sys/fs/cgroup/memory.max").strip(), _text("/sys/fs/cgroup/memory.current").strip()
    if most.isdecimal() and now.isdecimal():
        found.append(max(0, int(most) - int(now)))
    return min(found, default=None)


def _text(path: str) -> str:
    """Text of a small file of the system; empty if it cannot be read."""
    try:
        file = os.open(path, os.O_RDONLY)  # a fifth of the time of `Path.read_text`
        try:
            return os.read(file, 1 << 16).decode("ascii")
        finally:
            os.close(file)
    except OSError:
        return ""


def give_back() -> None:
    """Return freed memory to the operating system; the allocators of C and Arrow would keep it.

    Without, the peak of an anonymization of 300,000 companies is 755 MB instead of 620 MB.
    """
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    if trim := _trim():
        trim(0)


@cache
def _trim() -> Any:
    """The function `malloc_trim` of glibc, where there is one."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
