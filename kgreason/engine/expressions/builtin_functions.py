"""Operators and functions on single Python values (vectorized ones: `compiled_expressions`, `function_calls`)."""

from __future__ import annotations

import math
import operator
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.arrays import as_numpy, pa, pc, strings
from kgreason.engine.plan.expression_kinds import CASTS, NAMES, TYPES, kind_of, remedy
from kgreason.engine.relations.fact_tables import Kind
from kgreason.engine.relations.symbols import Symbols, form, key, tidy, to_doubles
from kgreason.language.functions import Signature, exception_text
from kgreason.language.values import DEPTH, Null, Value, date_text, read_date, source

SMALLEST, LARGEST = -(2**63), 2**63 - 1
MIXED = "a list holds them side by side; as_string(...) makes them strings"


class Refusal(Exception):
    """An expression has no value: the reason and a hint. The caller adds rule and binding."""

    def __init__(self, what: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


def described(value: Value) -> str:
    """Text of a value with its type."""
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
            what = f"{name} needs values, but {value} is a labelled null"
            raise Refusal(what, "test is_not_null(...) first")


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
    return frozenset(map(key, same.collection))


def member(value: Value, collection: Value) -> bool:
    """Whether a list or set contains a value; integers and doubles are compared by value."""
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
    check_depth(values)
    distinct: dict[Value, Value] = {}
    for value in {key(v): v for v in values}.values():
        other = distinct.setdefault(value, value)
        if other is not value:  # in Python (1,), (1.0,) and (True,) are equal
            a, b = sorted(map(source, (value, other)))
            what = f"a set cannot hold both {a} and {b}, which differ only in the types of their elements"
            raise Refusal(what, MIXED)
    return frozenset(distinct)


def make_list(values: Sequence[Value]) -> tuple[Value, ...]:
    """Create a list."""
    check_depth(values)
    return tuple(values)


def check_depth(values: Sequence[Value]) -> None:
    """Raise `Refusal` for elements of a list or set that are nested too deep."""
    if any(isinstance(v, tuple | frozenset) and _depth(v) >= DEPTH for v in values):
        raise Refusal(
            f"lists and sets nested more than {DEPTH} deep",
            "values grow for ever where a recursion nests them; bound it, for instance by a counter",
        )


def _depth(value: Value) -> int:
    return 1 + max(map(_depth, value), default=0) if isinstance(value, tuple | frozenset) else 0


WHOLE = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
BOOLEANS: Mapping[str, bool] = {"true": True, "false": False, "#t": True, "#f": False, "1": True, "0": False}


def _misfit(kind: Kind, value: Value) -> Refusal:
    no_null(CASTS[kind], value)
    return Refusal(f"{source(value)} is not {NAMES[kind]}")


def as_string(value: Value) -> str:
    """Convert a value to a string."""
    if isinstance(value, str):
        return value
    return date_text(value) if isinstance(value, datetime) else source(value)


def as_int(value: Value) -> int:
    """Convert a value to an integer; a double loses its fraction."""
    if isinstance(value, str) and WHOLE.fullmatch(value):
        return int(checked(int(value[:400])))
    if isinstance(value, int | float):
        return int(checked(int(value)))
    raise _misfit(Kind.INT, value)


def as_double(value: Value) -> float:
    """Convert a value to a double."""
    if isinstance(value, int | float) or (isinstance(value, str) and NUMBER.fullmatch(value)):
        return float(checked(float(value)))
    raise _misfit(Kind.DOUBLE, value)


def as_boolean(value: Value) -> bool:
    """Convert a value to a boolean."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in BOOLEANS:
        return BOOLEANS[value.lower()]
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    raise _misfit(Kind.BOOL, value)


def as_date(value: Value) -> datetime:
    """Convert a value to a date."""
    if isinstance(value, datetime):
        return value
    made = read_date(value) if isinstance(value, str) else None
    if made is None:
        raise _misfit(Kind.DATE, value)
    return made


def _sqrt(x: float) -> float:
    if x < 0:
        raise Refusal(f"sqrt of the negative number {x}")
    return math.sqrt(x)


def _log(x: float) -> float:
    if x <= 0:
        raise Refusal(f"log of {x}, which is not above 0")
    return math.log(x)


def _pow(x: float, y: float) -> float:
    if x == 0 and y < 0:
        raise Refusal("division by zero")
    try:
        return math.pow(x, y)
    except ValueError:
        raise Refusal("not a number") from None


def _round(x: float, digits: int | None = None) -> float:
    """Round half away from zero, based on the shortest decimal representation."""
    if digits is not None:
        return _digits(float(x), digits)
    if isinstance(x, int):
        return x
    whole = math.trunc(x)
    return int(checked(whole + (int(math.copysign(1, x)) if abs(x - whole) >= 0.5 else 0)))


def _digits(x: float, digits: int) -> float:
    exact = Decimal(repr(x))
    exponent = exact.as_tuple().exponent
    assert isinstance(exponent, int)
    if digits >= -exponent:
        return x
    if -digits > exact.adjusted() + 1:
        return 0.0
    unit = Decimal(1).scaleb(-digits)
    rounded = float(exact.quantize(unit, ROUND_HALF_UP, Context(prec=800, Emin=-999, Emax=999)))
    return float(checked(rounded))


def _extreme(name: str, *values: Any) -> Value:
    no_null(name, *values)
    order = "<" if name == "min" else ">"
    best = values[0]
    for value in values[1:]:
        best = value if compare(order, value, best) else best
    if any(isinstance(v, float) for v in values):
        best = float(best)
    result: Value = best
    return result


def _substring(text: str, start: int, end: int | None = None) -> str:
    return text[max(start, 0) : len(text) if end is None else max(end, 0)]


def _split(text: str, separator: str) -> tuple[Value, ...]:
    if not separator:
        raise Refusal("split by an empty separator")
    return tuple(text.split(separator))


def matches(texts: Sequence[str], pattern: str) -> npt.NDArray[np.bool_]:
    """Whether each text matches a regular expression, in time linear in its length."""
    try:
        found = pc.match_substring_regex(strings(texts), pattern)
    except pa.ArrowInvalid as error:
        why = str(error).removeprefix("Invalid regular expression: ")
        raise Refusal(
            f"{source(pattern)} is no regular expression: {why}",
            "the syntax is that of RE2, which has no backreferences and does not look around",
        ) from None
    return as_numpy(found)


def _contains(whole: Value, part: Value) -> bool:
    if isinstance(whole, tuple | frozenset):
        return member(part, whole)
    if isinstance(whole, str) and isinstance(part, str):
        return part in whole
    raise clash("contains", whole, part)


def _diff(later: datetime, earlier: datetime) -> int:
    day = timedelta(days=1)
    return (later - earlier) // day if later >= earlier else -((earlier - later) // day)


def _between(value: Value, low: Value, high: Value) -> bool:
    return compare(">=", value, low) and compare("<=", value, high)


# all functions but ``if`` and ``coalesce``, which do not need the values of all their arguments
SCALARS: Mapping[str, Callable[..., Any]] = {
    "substring": _substring,
    "contains": _contains,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "concat": lambda *texts: "".join(texts),
    "string_length": len,
    "index_of": str.find,
    "to_lower": str.lower,
    "to_upper": str.upper,
    "split": _split,
    "replace": str.replace,
    "rlike": lambda text, pattern: bool(matches([text], pattern)[0]),
    "between": _between,
    "is_null": lambda value: isinstance(value, Null),
    "is_not_null": lambda value: not isinstance(value, Null),
    "as_string": as_string,
    "as_int": as_int,
    "as_double": as_double,
    "as_boolean": as_boolean,
    "as_date": as_date,
    "abs": abs,
    "sqrt": _sqrt,
    "pow": _pow,
    "exp": math.exp,
    "log": _log,
    "round": _round,
    "floor": math.floor,
    "ceil": math.ceil,
    "min": lambda *values: _extreme("min", *values),
    "max": lambda *values: _extreme("max", *values),
    "year": lambda date: date.year,
    "month": lambda date: date.month,
    "day": lambda date: date.day,
    "diff": _diff,
}


OPEN = frozenset({"is_null", "is_not_null", "as_string"})  # functions that take nulls
NESTED = 100  # most levels of lists and sets in the result of a user-defined function


def call(name: str, given: Signature, arguments: Sequence[Value], *, typed: bool) -> Value:
    """Value of a built-in function; unless `typed`, the types of the arguments are checked first."""
    if not typed and name not in OPEN:
        _check_types(name, given, arguments)
    try:
        value: Value = checked(SCALARS[name](*arguments))
    except OverflowError:
        raise Refusal("double overflow") from None
    return value


def _check_types(name: str, given: Signature, arguments: Sequence[Value]) -> None:
    no_null(name, *arguments)
    for i, value in enumerate(arguments):
        expected = given.parameter(i)
        if kind_of(value) not in TYPES[expected]:
            article = "an" if expected[0] in "aeiou" else "a"
            what = f"type clash: {name} takes {article} {expected}, not {described(value)}"
            raise Refusal(what, remedy(TYPES[expected][0], kind_of(value)))


def call_user(name: str, given: Signature, arguments: Sequence[Value], symbols: Symbols) -> Value:
    """Value of a user-defined function, which is called once for equal arguments."""
    function = given.call
    assert function is not None
    _check_types(name, given, arguments)
    passed = [
        float(v) if given.parameter(i) == "double" and isinstance(v, int) else v
        for i, v in enumerate(arguments)
    ]
    remembered = (function, *map(form, passed))
    if remembered in symbols.calls:
        return symbols.calls[remembered]
    try:
        result = function(*passed)
    except (Exception, SystemExit) as error:  # any exception of user code becomes an error of the rule
        raise Refusal(f"{name} fails with {exception_text(error)}") from error
    value = symbols.calls[remembered] = _result(name, given, result)
    return value


def _result(name: str, given: Signature, result: Any) -> Value:
    if given.result == "double" and isinstance(result, int) and not isinstance(result, bool):
        try:
            result = float(result)
        except OverflowError:
            raise Refusal("double overflow") from None
    try:
        value = _accepted(name, result)
    except TypeError:
        raise Refusal(f"{name} gives {_shown(result)}, which is no value of the rule language") from None
    fits = TYPES[given.result]
    if kind_of(value) not in fits:
        article = "an" if given.result[0] in "aeiou" else "a"
        raise Refusal(f"{name} gives {described(value)}, but promises {article} {given.result}")
    return value


def _shown(result: Any) -> str:
    try:
        return reprlib.repr(result)
    except ValueError:  # Python refuses to print integers of thousands of digits
        return f"a {type(result).__name__}"


def _accepted(name: str, result: Any, depth: int = 0) -> Value:
    """Convert a result and its elements to values of the language; TypeError if that is impossible."""
    if isinstance(result, Null):
        hint = "rules alone make nulls: leave a variable of the head unbound, or write #f(...)"
        raise Refusal(f"{name} gives {result}, a labelled null", hint)
    if depth > NESTED:
        raise Refusal(f"{name} gives a value that is nested more than {NESTED} levels deep")
    if isinstance(result, tuple | list):
        return tuple(_accepted(name, v, depth + 1) for v in result)
    if isinstance(result, frozenset | set):
        return make_set([_accepted(name, v, depth + 1) for v in result])
    if not isinstance(result, int | float | str | date):
        raise TypeError
    value: Value = checked(tidy(result))  # type: ignore[arg-type]  # tidy also accepts dates without a time
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Refusal(f"{name} gives {value!a}, which is no Unicode text") from None
    return value
