"""How Python calls the machine code of kernels.

The entry of a kernel takes the address of a place for its results, one word each, then for each parameter a number or
the address of an array object; records are passed as their fields. It returns 0 unless the kernel failed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_args, get_type_hints

HEAD = object.__basicsize__
"""Bytes before NumPy's part of an array object: data pointer, number of axes, lengths."""

PREFIX = "kgreason_"


def entry_name(function: Callable[..., Any]) -> str:
    """Symbol of a kernel's entry in its object file."""
    return PREFIX + function.__name__


def signature(function: Callable[..., Any]) -> tuple[list[Any], list[Any]]:
    """Annotated types of the parameters and of the results."""
    hints = get_type_hints(function, include_extras=True)
    result = hints.pop("return")
    return list(hints.values()), [] if result is type(None) else list(get_args(result)) or [result]


def flat(types: Sequence[Any]) -> list[tuple[int, str, Any]]:
    """Parameters of an entry: number of the kernel's parameter, expression and type; records are expanded."""
    found: list[tuple[int, str, Any]] = []
    for i, t in enumerate(types):
        fields = get_type_hints(t, include_extras=True).items() if hasattr(t, "_fields") else ()
        found += [(i, f"a{i}.{name}", of) for name, of in fields] or [(i, f"a{i}", t)]
    return found
