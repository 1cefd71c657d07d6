"""Aggregation: the contributions of each group, and what becomes of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from kgreason.language.check.checked_program import Aggregation
from kgreason.language.values import Value
from tests.naive.doubles import plain
from tests.naive.expressions import Binding, Scene, error, evaluate
from tests.naive.values import Fault, checked, key, rank, to_set, type_of

FLOORS = {"msum": 0, "mprod": 1}
"""Least contributions with which a total in recursion can only grow."""


def aggregate(
    aggregation: Aggregation, bindings: Iterable[Binding], recursive: bool, scene: Scene
) -> Iterator[Binding]:
    """One binding for each group: its variables and the aggregated one."""
    known: dict[Hashable, Binding] = {}
    groups: dict[Hashable, dict[Hashable, Any]] = {}
    name = plain(aggregation.function)
    for binding in bindings:
        contributor = tuple(key(binding[v]) for v in aggregation.contributors)
        value: Any = 1
        if name != "count" and aggregation.argument is not None:
            value = evaluate(aggregation.argument, binding, scene)
        try:
            _check(value, aggregation.function, name, recursive)
            if name in ("union", "set"):
                value = value if name == "union" and isinstance(value, frozenset) else frozenset({value})
            group = tuple(key(binding[v]) for v in aggregation.group)
            known.setdefault(group, {v: binding[v] for v in aggregation.group})
            best = groups.setdefault(group, {})
            best[contributor] = _keep(best[contributor], value, name) if contributor in best else value
        except Fault as fault:
            raise error(f"{fault}", binding, scene.rule) from None
    for at, contributions in groups.items():
        try:
            total = checked(TOTALS[name](list(contributions.values())))
        except Fault as fault:
            raise error(f"{fault} in {aggregation.function}", known[at], scene.rule) from None
        yield {**known[at], aggregation.variable: total}


def _check(value: Value, function: str, name: str, recursive: bool) -> None:
    kind = type_of(value)
    numeric = name in ("sum", "prod", "avg", "median")
    if (numeric and kind != "number") or (name in ("min", "max") and kind in ("null", "list", "set")):
        raise Fault(f"{function} of a {kind}")
    if recursive and function in FLOORS and isinstance(value, int | float) and value < FLOORS[function]:
        raise Fault(f"contribution {value} to {function} in recursion")


def _keep(old: Any, new: Any, name: str) -> Any:
    """What remains of two values of one contributor."""
    if name in ("union", "set"):
        return to_set([*old, *new])
    if name != "list" and type_of(old) != type_of(new):
        raise Fault(f"a {type_of(old)} and a {type_of(new)} do not compare")
    falls = name == "min" or (name == "prod" and (old < 1 or new < 1))
    return min(old, new, key=rank) if falls else max(old, new, key=rank)


def _exact_sum(values: list[Any]) -> float:
    """Round once; `math.fsum` does so too, unless it overflows on the way."""
    if not all(map(math.isfinite, values)):
        return math.nan
    try:
        return math.fsum(values)
    except OverflowError:
        return _rounded(sum(map(Fraction, values)))


def _exact_product(values: list[float]) -> float:
    """Round once, so that the order of the factors does not matter."""
    if not all(map(math.isfinite, values)):
        return math.nan
    return _rounded(math.prod(map(Fraction, values)))


def _rounded(exact: Fraction | int) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf


def _mean(values: list[Any]) -> float:
    total = _exact_sum(values)
    return total / len(values) if math.isfinite(total) else float(sum(map(Fraction, values)) / len(values))


def _median(values: list[Any]) -> float:
    middle = float(statistics.median(values))
    return middle if math.isfinite(middle) else float(statistics.median(map(Fraction, values)))


def _has_double(values: list[Any]) -> bool:
    return any(isinstance(v, float) for v in values)


def _extreme(values: list[Any], pick: Callable[..., Any]) -> Any:
    if len({type_of(v) for v in values}) > 1:
        raise Fault("values of several types")
    return pick(values)


TOTALS: Mapping[str, Callable[[list[Any]], Any]] = {
    "sum": lambda values: _exact_sum(values) if _has_double(values) else sum(values),
    "prod": lambda values: _exact_product(values) if _has_double(values) else math.prod(values),
    "count": len,
    "min": lambda values: _extreme(values, min),
    "max": lambda values: _extreme(values, max),
    "avg": lambda values: _mean(values),
    "median": lambda values: _median(values),
    "set": lambda values: to_set([v for part in values for v in part]),
    "list": lambda values: tuple(sorted(values, key=rank)),
    "union": lambda values: to_set([v for part in values for v in part]),
}
