"""Operators on single Python values of any types: results and type errors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kgreason.engine.plan.expression_kinds import NAMES, kind_of, remedy
from kgreason.engine.relations.symbols import key, to_doubles
from kgreason.language.values import DEPTH, Null, Value, source

SMALLEST, LARGEST = -(2**63), 2**63 - 1


MIXED = "a list holds them side by side; as_string(...) makes them strings"


class Refusal(Exception):
    """An expression has no value: the reason and a hint. The caller adds rule and binding."""

    def __init__(self, what: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


def described(value: Value) -> str:
    """A value with its type, as text.

    Examples
    --------
    >>> described("a"), described(Null(2))
    ('"a", a string', '_:n2, a labelled null')
    """
    return f"{source(value)}, {'a labelled null' if isinstance(value, Null) else NAMES[kind_of(value)]}"


def number(value: Value) -> bool:
    """Whether a value is an integer or a double."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def checked(value: Any) -> Any:
    """Return a value; `Refusal` for integers beyond 64 bits and doubles that are not finite; -0.0 becomes 0.0."""
    if isinstance(value, float):
        if math.isfinite(value):
            return value + 0.0
        raise Refusal("not a number" if math.isnan(value) else "double overflow")
    if isinstance(value, int) and not SMALLEST <= value <= LARGEST:
        raise Refusal("integer overflow")
    return value


def clash(name: str, a: Value, b: Value) -> Refusal:
    """Error for two values that an operator or function cannot combine, with a cast as hint."""
    what = f"type clash: {name} does not apply to {described(a)}, and {described(b)}"
    return Refusal(what, remedy(kind_of(a), kind_of(b)))


def no_null(name: str, *values: Value) -> None:
    """Raise `Refusal` for labelled nulls."""
    for value in values:
        if isinstance(value, Null):
            raise Refusal(
                f"{name} needs values, but {value} is a labelled null", "test is_not_null(...) first"
            )


def arithmetic(name: str, a: Any, b: Any) -> Value:
    """Value of ``a name b`` for operands of any types."""
    no_null(name, a, b)
    joins = name == "+" and type(a) is type(b) and isinstance(a, str | tuple)
    if not joins and not (number(a) and number(b)):
        raise clash(name, a, b)
    if name in ("/", "%"):
        if b == 0:
            raise Refusal("division by zero")
        if name == "%" and isinstance(a, int) and isinstance(b, int):
            return abs(a) % abs(b) * (1 if a >= 0 else -1)
        # division of doubles, as everywhere: Python would round the quotient of integers only once
        if name == "/":
            a, b = float(a), float(b)
    compute: Callable[[Any, Any], Any] = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "%": math.fmod,
    }[name]
    try:
        result: Value = checked(compute(a, b))
    except OverflowError:
        raise Refusal("double overflow") from None
    return result


ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(name: str, a: Any, b: Any) -> bool:
    """Whether ``a name b`` for an ordering operator; false for nulls, whose values are unknown."""
    if isinstance(a, Null) or isinstance(b, Null):
        return False
    if type(a) is not type(b) and not (number(a) and number(b)):
        raise clash(name, a, b)
    if isinstance(a, tuple | frozenset):
        raise Refusal(f"{name} does not apply to {described(a)}, and {described(b)}")
    return ORDER[name](a, b)


def truth(value: Value) -> bool:
    """Boolean of kind ANY."""
    if not isinstance(value, bool):
        no_null("a condition", value)
        raise Refusal(f"type clash: a condition is {described(value)}")
    return value


class _Same:
    """Collection compared by identity, as a cache key: in Python (1,), (1.0,) and (True,) are equal."""

    def __init__(self, collection: tuple[Value, ...] | frozenset[Value]) -> None:
        self.collection = collection

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.collection is other.collection

    def __hash__(self) -> int:
        return id(self.collection)


@lru_cache(maxsize=64)
def _elements(same: _Same) -> frozenset[Any]:
    """Keys of the elements."""
    return frozenset(map(key, same.collection))


def member(value: Value, collection: Value) -> bool:
    """Whether a list or set contains a value; integers and doubles are compared by value.

    Examples
    --------
    >>> member(1, (1.0,)), member(True, (1.0,)), member((1,), ((1.0,),))
    (True, False, False)
    """
    if not isinstance(collection, tuple | frozenset):
        no_null("in", collection)
        raise Refusal(f"type clash: in takes a list or set, not {described(collection)}")
    return key(value) in _elements(_Same(collection))


def make_set(values: Sequence[Value]) -> frozenset[Value]:
    """Create a set: integers become doubles if there are doubles; booleans and numbers cannot be mixed."""
    numbers = any(map(number, values))
    if numbers and any(isinstance(v, bool) for v in values):
        raise Refusal("a set holds booleans or numbers, not both", MIXED)
    if numbers and any(isinstance(v, float) for v in values):
        values = to_doubles(values)
    shallow(values)
    distinct: dict[Value, Value] = {}
    for value in {key(v): v for v in values}.values():
        other = distinct.setdefault(value, value)
        if other is not value:  # in Python (1,), (1.0,) and (True,) are equal
            a, b = sorted(map(source, (value, other)))
            raise Refusal(
                f"a set cannot hold both {a} and {b}, which differ only in the types of their elements",
                MIXED,
            )
    return frozenset(distinct)


def make_list(values: Sequence[Value]) -> tuple[Value, ...]:
    """Create a list."""
    shallow(values)
    return tuple(values)


def shallow(values: Sequence[Value]) -> None:
    """Raise `Refusal` for elements of a list or set that are nested too deep."""
    if any(isinstance(v, tuple | frozenset) and _depth(v) >= DEPTH for v in values):
        raise Refusal(
            f"lists and sets nested more than {DEPTH} deep",
            "values grow for ever where a recursion nests them; bound it, for instance by a counter",
        )


def _depth(value: Value) -> int:
    return 1 + max(map(_depth, value), default=0) if isinstance(value, tuple | frozenset) else 0
