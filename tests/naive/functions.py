"""The functions of the language, one by one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from kgreason.language.functions import Signature, plain_name, signature
from kgreason.language.values import Null, Value, date_text, source
from tests.naive.values import Fault, canonical, checked, compare, member, type_of

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "int": ("number",),
    "double": ("number",),
    "number": ("number",),
    "collection": ("list", "set"),
}
"""Types of values that a parameter of a type takes, where that is not the type itself."""
TRUTHS: Mapping[str, bool] = {"true": True, "#t": True, "1": True, "false": False, "#f": False, "0": False}
TAKE_NULLS = frozenset({"is_null", "is_not_null", "coalesce", "as_string"})


def call(name: str, values: list[Value]) -> Value:
    """Apply a function to all its arguments; those of ``if`` and ``coalesce`` are not all wanted.

    Raises
    ------
    Fault
        Where it is not defined for them.

    Examples
    --------
    >>> call("substring", ["Vadalog", 0, 4]), call("math:round", [2.5]), call("as_int", ["12"])
    ('Vada', 3, 12)
    """
    plain = plain_name(name)
    described = signature(name, len(values))
    if described is None:
        raise Fault(f"no function {name} with {len(values)} arguments")
    if described.call is None and plain not in TAKE_NULLS and any(isinstance(v, Null) for v in values):
        raise Fault(f"{plain} of a null")
    for i, value in enumerate(values):
        check_type(plain, described.parameter(i), value)
    if described.call is not None:
        return _user(name, described, values)
    return checked(FUNCTIONS[plain](*values))


def check_type(name: str, wanted: str, value: Value) -> None:
    if wanted == "any":
        return
    if type_of(value) not in PARAMETERS.get(wanted, (wanted,)):
        raise Fault(f"{name} takes a {wanted}, not a {type_of(value)}")
    if wanted == "int" and not isinstance(value, int):
        raise Fault(f"{name} takes an integer, not a double")


def _user(name: str, described: Signature, values: list[Value]) -> Value:
    assert described.call is not None
    doubles = [described.parameter(i) == "double" for i in range(len(values))]
    given: list[Any] = [float(v) if d else v for v, d in zip(values, doubles, strict=True)]  # type: ignore[arg-type]
    try:
        result = _frozen(described.call(*given))
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise Fault(f"{name}: {error}") from None
    if described.result == "double" and type_of(result) == "number":
        result = float(result)
    if type_of(result) == "null" and not isinstance(result, Null):
        raise Fault(f"{name} gives no value of the language: {result!r}")
    check_type(f"the result of {name}", described.result, result)
    if described.result == "any":
        result = canonical(result)
    return checked(result)


def _frozen(value: Any) -> Any:
    """A value with tuples for lists and frozen sets for sets."""
    if isinstance(value, tuple | list):
        return tuple(map(_frozen, value))
    return frozenset(map(_frozen, value)) if isinstance(value, frozenset | set) else value


# --- strings --------------------------------------------------------------------------------------------------


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else max(end, 0)
    return text[max(start, 0) : stop]


def _contains(whole: Any, part: Any) -> bool:
    if isinstance(whole, str):
        if not isinstance(part, str):
            raise Fault(f"a string does not contain a {type_of(part)}")
        return part in whole
    return member(part, whole)


def _split(text: str, separator: str) -> tuple[str, ...]:
    if not separator:
        raise Fault("split needs a separator")
    return tuple(text.split(separator))


def _rlike(text: str, pattern: str) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:  # RE2, as the language says; that of Python may try for ever
        return bool(pc.match_substring_regex(pa.scalar(text), pattern).as_py())
    except pa.ArrowInvalid as error:
        raise Fault(f"no regular expression: {error}") from None


# --- casts ----------------------------------------------------------------------------------------------------


def _as_string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return date_text(value)
    return source(value)


def _as_int(value: Any) -> int:
    if isinstance(value, str):
        if not re.fullmatch(r"[+-]?[0-9]+", value):
            raise Fault(f"{value!r} is no integer")
        return int(value)
    if not isinstance(value, int | float):
        raise Fault(f"a {type_of(value)} is no integer")
    return math.trunc(value)


def _as_double(value: Any) -> float:
    if isinstance(value, str):
        if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", value):
            raise Fault(f"{value!r} is no double")
        return float(value)
    if not isinstance(value, int | float):
        raise Fault(f"a {type_of(value)} is no double")
    return float(value)


def _as_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in TRUTHS:
        return TRUTHS[value.lower()]
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    raise Fault(f"{value!r} is no boolean")


def _as_date(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, str) and re.fullmatch(
        r"\d{4}-\d\d-\d\d([ Tt]\d\d:\d\d(:\d\d(\.\d{1,6})?)?([zZ]|[+-]\d\d:?\d\d)?)?", value, re.ASCII
    ):
        try:
            there = datetime.fromisoformat(value.upper())
            return (there - (there.utcoffset() or timedelta())).replace(tzinfo=None)
        except (ValueError, OverflowError):
            raise Fault(f"{value!r} is no date") from None
    raise Fault(f"{value!r} is no date")


# --- numbers --------------------------------------------------------------------------------------------------


def _defined(function: Callable[..., float]) -> Callable[..., float]:
    def total(*values: float) -> float:
        try:
            result = function(*values)
        except (ValueError, ZeroDivisionError):
            raise Fault(f"not defined for {', '.join(map(str, values))}") from None
        except OverflowError:
            raise Fault("double overflow") from None
        return result

    return total


def _round(value: float, digits: int | None = None) -> int | float:
    """Half away from zero; to some digits, of the shortest decimal that stands for the double."""
    if digits is None:
        return int(Decimal(value).to_integral_value(ROUND_HALF_UP))
    exact = Decimal(repr(value))
    if digits > 400:
        return float(value)
    return float(exact.quantize(Decimal((0, (1,), -digits)), ROUND_HALF_UP)) if digits > -400 else 0.0


def _extreme(order: str) -> Callable[..., Any]:
    def pick(*values: Any) -> Any:
        best = values[0]
        for value in values[1:]:
            best = value if compare(order, value, best) else best
        return best

    return pick


def _days(later: datetime, earlier: datetime) -> int:
    return math.trunc((later - earlier) / timedelta(days=1))


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "substring": _substring,
    "contains": _contains,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "concat": lambda *parts: "".join(parts),
    "string_length": len,
    "index_of": str.find,
    "to_lower": str.lower,
    "to_upper": str.upper,
    "split": _split,
    "replace": str.replace,
    "rlike": _rlike,
    "between": lambda x, low, high: compare("<=", low, x) and compare("<=", x, high),
    "is_null": lambda x: isinstance(x, Null),
    "is_not_null": lambda x: not isinstance(x, Null),
    "as_string": _as_string,
    "as_int": _as_int,
    "as_double": _as_double,
    "as_boolean": _as_boolean,
    "as_date": _as_date,
    "abs": abs,
    "sqrt": _defined(math.sqrt),
    "pow": _defined(math.pow),
    "exp": _defined(math.exp),
    "log": _defined(math.log),
    "round": _round,
    "floor": math.floor,
    "ceil": math.ceil,
    "min": _extreme("<"),
    "max": _extreme(">"),
    "year": lambda date: date.year,
    "month": lambda date: date.month,
    "day": lambda date: date.day,
    "diff": _days,
}
