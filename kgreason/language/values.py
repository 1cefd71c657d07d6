"""Values of the language as Python objects.

Integers are `int`, doubles `float`, strings `str`, booleans `bool`, dates `datetime.datetime` without a time zone
(midnight for a day), lists `tuple`, sets `frozenset`, labelled nulls `Null`.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import TypeAlias

from kgreason.base.errors import InexactError

EXACT = 2**53  # integers up to it equal doubles
DEPTH = 100  # maximum nesting of lists and sets

_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?([Zz]|[+-][0-9]{2}:?[0-9]{2})?)?"
)


@dataclass(frozen=True, slots=True)
class Null:
    """A labelled null: a value that is known to exist, but is unknown.

    Two nulls are the same value if and only if they have the same number; numbers are assigned in the order of
    invention within one evaluation.
    """

    number: int

    def __str__(self) -> str:
        return f"_:n{self.number}"


Value: TypeAlias = "int | float | str | bool | datetime | tuple[Value, ...] | frozenset[Value] | Null"


def identity(value: Value) -> Hashable:
    """Key that is equal only for the same constants: in Python ``1``, ``1.0`` and ``True`` are equal.

    Examples
    --------
    >>> identity(1) == identity(1.0), identity((1,)) == identity((True,)), identity("a") == identity("a")
    (False, False, True)
    """
    if isinstance(value, tuple):
        return ("list", *map(identity, value))
    if isinstance(value, frozenset):
        return ("set", frozenset(map(identity, value)))
    return (type(value).__name__, value)


def as_double(value: float) -> float:
    """The double that equals a number; raise `InexactError` if there is none."""
    if isinstance(value, int) and not -EXACT <= value <= EXACT and int(float(value)) != value:
        raise inexact(value)
    return float(value) + 0.0


def inexact(value: int) -> InexactError:
    """Error for an integer that no double equals."""
    return InexactError(
        f"no double equals the integer {value}, which occurs among doubles",
        hint="as_double(...) rounds it; if these are names, read them as strings, by @mapping or as_string(...)",
    )


def source(value: Value) -> str:
    """Write a value in the syntax of the language (a null has none and is written as its label)."""
    if isinstance(value, bool):
        return "#T" if value else "#F"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return '"' + escaped.replace("${", "\\${") + '"'
    if isinstance(value, datetime):
        return date_text(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(map(source, value)) + "]"
    if isinstance(value, frozenset):
        return "{" + ", ".join(source(v) for v in ordered(value)) + "}"
    return str(value) if isinstance(value, Null) else repr(value)


def brief(value: Value) -> str:
    """Write a value in the syntax of the language, truncated after 200 characters."""
    text = source(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def elements(value: Value, most: int) -> int:
    """Size of a value up to `most`: elements of a list or set, including nested ones, and a tenth of string characters.

    Examples
    --------
    >>> elements((1, (2, 3)), 9), elements("a" * 25, 9), elements((1, (2, 3)), 1)
    (4, 2, 2)
    """
    count, waiting = 0, [value]
    while waiting and count <= most:
        one = waiting.pop()
        if isinstance(one, tuple | frozenset):
            count += len(one)
            waiting.extend(one)
        elif isinstance(one, str):
            count += len(one) // 10
    return count


def read_date(text: str) -> datetime | None:
    """Parse a date in ISO format; with a time zone it is converted to UTC.

    Examples
    --------
    >>> str(read_date("2024-01-15")), str(read_date("2024-01-15T00:30+01:00")), read_date("15.01.2024")
    ('2024-01-15 00:00:00', '2024-01-14 23:30:00', None)
    """
    if not _DATE.fullmatch(text):
        return None
    try:
        made = datetime.fromisoformat(text.upper())
        return made.astimezone(UTC).replace(tzinfo=None) if made.tzinfo else made
    except (ValueError, OverflowError):  # not a date of the calendar, or not in the years 1 to 9999 in UTC
        return None


def date_text(value: datetime) -> str:
    """Write a date; the time of day only if it is not midnight."""
    if value.time() == time():
        return value.date().isoformat()
    return value.isoformat(sep=" ")


def ordered(values: frozenset[Value]) -> list[Value]:
    """Elements of a set in an order that depends only on the elements."""
    return sorted(values, key=lambda v: (type(v).__name__, v if isinstance(v, int | float) else 0, str(v)))


def plain(value: Value) -> object:
    """Value as JSON: lists and sets are arrays, sets are sorted; dates and nulls are strings."""
    if isinstance(value, frozenset):
        return [plain(v) for v in ordered(value)]
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    return source(value) if isinstance(value, datetime | Null) else value
