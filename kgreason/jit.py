"""The one way kgreason compiles a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function over plain arrays to machine code; released GIL, cached on disk.

    Where no cache folder is writable the kernel still works: it is compiled anew in each process.
    """
    try:
        return cast(F, numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:  # numba: "no locator available", i.e. nowhere to write the cache
        return cast(F, numba.njit(nogil=True)(function))
