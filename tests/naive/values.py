"""What may be done with Python values as values of the language: identity, order, arithmetic."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import datetime
from typing import Any

from kgreason.language.values import Null, Value, identity

ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": lambda a, b: math.nan if math.isinf(a) else math.fmod(a, b),
}


class Fault(Exception):
    """What cannot be done with some values; the rule and the binding are known further out."""


def key(value: Value) -> Hashable:
    """Key that is equal for the same value: 1 and 1.0 are one, 1 and ``#T`` are not, nor are [1] and [1.0].

    Examples
    --------
    >>> key(1) == key(1.0), key(1) == key(True), key((1, "a")) == key((1.0, "a"))
    (True, False, False)
    """
    return identity(value) if isinstance(value, bool | tuple | frozenset) else value


def keys(values: Iterable[Value]) -> Hashable:
    """Keys of some values, such as those of a row."""
    return tuple(map(key, values))


def canonical(value: Value) -> Value:
    """The integer that equals a double, where there is one."""
    fits = isinstance(value, float) and value.is_integer() and -(2**63) <= value < 2**63
    return int(value) if fits else value  # type: ignore[arg-type]


def type_of(value: Value) -> str:
    """Name of the type; integers and doubles are numbers.

    Examples
    --------
    >>> type_of(1), type_of(0.5), type_of(True), type_of(())
    ('number', 'number', 'boolean', 'list')
    """
    if isinstance(value, bool):
        return "boolean"
    names: tuple[tuple[type | tuple[type, ...], str], ...] = (
        ((int, float), "number"),
        (str, "string"),
        (datetime, "date"),
        (tuple, "list"),
        (frozenset, "set"),
    )
    return next((name for types, name in names if isinstance(value, types)), "null")


def rank(value: Value) -> tuple[Any, ...]:
    """Position of a value in an order of all values: by type, then by value."""
    name = type_of(value)
    if isinstance(value, Null):
        return (name, value.number)
    if isinstance(value, tuple):
        return (name, [rank(v) for v in value])
    if isinstance(value, frozenset):
        return (name, sorted(rank(v) for v in value))
    return (name, value, isinstance(value, float))


def compare(name: str, a: Value, b: Value) -> bool:
    """Carry out ``== != < <= > >=``: nulls are equal by identity, and no order holds of them.

    Examples
    --------
    >>> compare("<", 1, 1.5), compare("<=", Null(1), Null(1)), compare("==", "1", 1)
    (True, False, False)
    """
    if name == "==":
        return key(a) == key(b)
    if name in ("!=", "<>"):
        return key(a) != key(b)
    if isinstance(a, Null) or isinstance(b, Null):
        return False
    if type_of(a) != type_of(b) or type_of(a) in ("list", "set"):
        raise Fault(f"{name} does not apply to a {type_of(a)} and a {type_of(b)}")
    return ORDERS[name](a, b)


def member(element: Value, values: Value) -> bool:
    """Whether a list or set has an element.

    Examples
    --------
    >>> member(1, (1.0, 2)), member(True, frozenset({1}))
    (True, False)
    """
    if not isinstance(values, tuple | frozenset):
        raise Fault(f"a {type_of(values)} has no elements")
    if type_of(element) != "number":
        return any(key(element) == key(v) for v in values)
    numbers = [v for v in values if type_of(v) == "number"]
    return any(_same_number(element, v) for v in numbers)


def _same_number(a: Value, b: Value) -> bool:
    """Numbers are compared by their values."""
    return a == b


def arithmetic(name: str, a: Value, b: Value) -> Value:
    """Carry out ``+ - * / %``; ``/`` gives a double, ``%`` has the sign of `a`, ``+`` joins strings and lists.

    Examples
    --------
    >>> arithmetic("/", -7, 2), arithmetic("%", -7, 2), arithmetic("+", "a", "b"), arithmetic("+", (1,), (2,))
    (-3.5, -1, 'ab', (1, 2))
    """
    types = (type_of(a), type_of(b))
    joined = name == "+" and types in (("string", "string"), ("list", "list"))
    if not joined and types != ("number", "number"):
        raise Fault(f"{name} does not apply to a {types[0]} and a {types[1]}")
    if name in "/%" and b == 0:
        raise Fault("division by zero")
    if name == "%" and isinstance(a, int) and isinstance(b, int):
        return abs(a) % abs(b) * (1 if a >= 0 else -1)
    if name == "/":  # Python rounds the quotient of integers once, kgreason first makes doubles of them
        assert isinstance(a, int | float)
        assert isinstance(b, int | float)
        a, b = float(a), float(b)
    try:
        return checked(ARITHMETIC[name](a, b))
    except OverflowError:
        raise Fault("double overflow") from None


def checked(value: Value) -> Value:
    """Refuse integers beyond 64 bits, doubles that are not finite and what is no number; -0.0 is 0.0."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Fault("not a number" if math.isnan(value) else "double overflow")
        return value + 0.0
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Fault("integer overflow")
    return value


def to_double(value: Value) -> Value:
    """The double that equals an integer; anything else as it is.

    Raises
    ------
    Fault
        If none does.
    """
    if type_of(value) != "number" or not isinstance(value, int | float):
        return value
    found = float(value) + 0.0
    if found != value:  # Python compares exactly
        raise Fault(f"no double equals {value}")
    return found


def to_set(values: Iterable[Value]) -> frozenset[Value]:
    """Make a set; beside doubles integers become doubles, and booleans do not stand beside numbers.

    Examples
    --------
    >>> sorted(to_set([1, 2.5])), to_set(["a", "a"])
    ([1.0, 2.5], frozenset({'a'}))
    """
    found = list(values)
    types = {type_of(v) for v in found}
    if types >= {"boolean", "number"}:
        raise Fault("booleans and numbers in one set")
    if any(isinstance(v, float) for v in found):
        found = [to_double(v) for v in found]
    deep(found)
    made = frozenset(found)
    if len(made) < len(set(map(identity, found))):
        raise Fault("a set of values that differ only in the types of what they hold")
    return made


def deep(values: Iterable[Value], level: int = 100) -> None:
    """Refuse elements of a list or set that are nested too deep."""
    for value in values:
        if isinstance(value, tuple | frozenset):
            if level == 1:
                raise Fault("a list or set is nested too deep")
            deep(value, level - 1)
