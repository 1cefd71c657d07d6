"""Aggregates of a few Python values: what the engine computes for whole columns, once more for one group."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from kgreason.engine.symbols import rank
from kgreason.lang.values import Value

EXTREMES = frozenset({"min", "max"})


def better(name: str, new: Value, old: Value) -> bool:
    """Whether a value takes the place of another one of the same contributor.

    Examples
    --------
    >>> better("min", 3, 5), better("sum", 3, 5)
    (True, False)
    """
    return rank(new) < rank(old) if name == "min" else rank(new) > rank(old)


def total(name: str, values: Sequence[Any]) -> Value:
    """The aggregate `name` (without the ``m`` of the monotonic form) of the values of all contributors.

    Examples
    --------
    >>> total("sum", [0.1, 0.2, 0.3]), total("union", [frozenset({1}), 2]) == frozenset({1, 2})
    (0.6, True)
    """
    match name:
        case "count":
            return len(values)
        case "sum":
            return _sum(values)
        case "prod":
            exact = math.prod(map(Fraction, values))
            return float(exact) if any(isinstance(v, float) for v in values) else int(exact)
        case "min":
            return min(values, key=rank)  # type: ignore[no-any-return]
        case "max":
            return max(values, key=rank)  # type: ignore[no-any-return]
        case "avg":
            return float(_sum(values)) / len(values)
        case "median":
            return float(statistics.median(values))
        case "list":
            return tuple(sorted(values, key=rank))
    sets = [v if name == "union" and isinstance(v, frozenset) else frozenset({v}) for v in values]
    return frozenset().union(*sets)


def _sum(values: Sequence[Any]) -> int | float:
    return math.fsum(values) if any(isinstance(v, float) for v in values) else int(sum(values))
