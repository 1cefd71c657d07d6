"""Conversion of Python, Arrow, SQL and JSON values to rule values; columns of values without an Arrow type."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base import memory
from kgreason.base.arrays import as_numpy, constant, pa, pc
from kgreason.base.records import record
from kgreason.data.raw_table import Column
from kgreason.engine.relations.fact_tables import Kind
from kgreason.language.values import DEPTH, Null, Value, source

_DIGITS = re.compile(r"([+-]?)0*?([0-9]{1,19})")
EXPECTED = {
    Kind.INT: "an integer",
    Kind.DOUBLE: "a number",
    Kind.BOOL: "true or false",
    Kind.DATE: "a date, as in 2024-01-15 or 2024-01-15 10:30:00",
    Kind.LIST: 'a list, as in [1, "a"]',
    Kind.SET: 'a set, as in {1, "a"}',
}
"""Description of a valid value of each kind, for messages."""
_SHOWN = 60  # characters of a value in a message
SMALLEST, LARGEST = -(2**63), 2**63 - 1
LARGE_HINT = "map the column as string, or as double, which rounds"
UNFIT_HINT = "take other columns by columns=, or write this one as text or numbers where the table is made"


@dataclass
class CastError(Exception):
    """First value of a column that cannot be converted, and the number of such values."""

    row: int
    value: str
    expected: str
    hint: str | None = None
    count: int = 1

    def __post_init__(self) -> None:
        if len(self.value) > _SHOWN:
            self.value = f"{self.value[:_SHOWN]}..."


def int64(text: str) -> int | None:
    """Parse a 64-bit integer written in digits; `None` if the text is not one.

    Python's `int` raises an error beyond 4,300 digits, leading zeros included.

    >>> int64("-34"), int64("0" * 5000 + "7"), int64("9" * 5000), int64("1.5")
    (-34, 7, None, None)
    """
    found = _DIGITS.fullmatch(text)
    value = int(found[1] + found[2]) if found else 2**63
    return value if SMALLEST <= value <= LARGEST else None


BATCH = 1 << 16  # rows of a file that are Python objects at the same time
_ARROW = {
    frozenset[type](): "large_string",
    frozenset({str}): "large_string",
    frozenset({bool}): "bool",
    frozenset({int}): "int64",
    frozenset({float}): "double",
    frozenset({int, float}): "double",
    frozenset({datetime}): "timestamp[us]",
}


class Objects(Sequence[Any]):
    """A column of lists, sets or labelled nulls, with the methods of an Arrow array that the loader needs."""

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = list(values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, row: Any) -> Any:
        return Objects(self.values[row]) if isinstance(row, slice) else self.values[row]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def to_pylist(self) -> list[Any]:
        """All values."""
        return self.values

    def filter(self, mask: Column) -> Objects:
        """Keep the rows selected by an Arrow boolean array."""
        found = copy(self)
        found.values = [v for v, kept in zip(self.values, mask.to_pylist(), strict=True) if kept]
        return found

    def missing(self) -> npt.NDArray[np.bool_]:
        """Mask of rows without a value, or with a list that contains a missing value."""
        return np.array([_holed(v) for v in self.values], dtype=bool)


class Cells(Objects):
    """Texts of a small file: all integers of few digits, all such decimals, or all names without outer blanks.

    They stand for an Arrow array, whose import a small run then avoids (0.07 s); `arrow` makes it.
    """

    def __init__(self, values: Iterable[str], kind: Kind) -> None:
        super().__init__(values)
        self.kind = kind

    def __getitem__(self, row: Any) -> Any:
        return Cells(self.values[row], self.kind) if isinstance(row, slice) else self.values[row]

    def missing(self) -> npt.NDArray[np.bool_]:
        """No cell is missing."""
        return np.zeros(len(self), dtype=np.bool_)

    def fit(self, kind: Kind | None) -> bool:
        """Whether NumPy, or Python for strings, converts all cells to a kind, by default to their own."""
        return kind in (None, self.kind, Kind.STRING) or (kind, self.kind) == (Kind.DOUBLE, Kind.INT)

    def arrow(self) -> Column:
        """The texts as an Arrow array."""
        return pa.array(self.values, pa.large_string())


class Large(Objects):
    """A column with numbers that no single numeric type represents; the consumer decides how to convert them.

    These are integers beyond 64 bits and, next to doubles, integers that no double equals; if `rounded`, the source has
    rounded them already.
    """

    def __init__(self, values: Iterable[Any], *, rounded: bool = False) -> None:
        super().__init__(values)
        self.rounded = rounded

    def wanted(self, kind: Kind | None) -> Column:
        """The column converted to strings or doubles."""
        if kind is Kind.STRING and not self.rounded:
            return pa.array([None if v is None else text(v) for v in self.values], pa.large_string())
        if kind is not Kind.DOUBLE:
            raise misplaced(self.values, rounded=self.rounded)
        try:
            return pa.array([None if v is None else float(v) for v in self.values], pa.float64())
        except OverflowError:
            pairs = enumerate(self.values)
            row, value = next((r, v) for r, v in pairs if v is not None and abs(v) > sys.float_info.max)
            what = "a double, which ends near 1.8e308"
            raise CastError(row, str(value), what, "map the column as string") from None


def misplaced(values: Sequence[Any], *, rounded: bool = False) -> CastError:
    """Error for the first number that its column cannot represent."""
    for row, value in enumerate(values):
        if isinstance(value, int | float) and not SMALLEST <= value <= LARGEST:
            if rounded:
                hint = "the database keeps it as a double: map the column as double, or store texts"
                return CastError(row, f"{value:.0f}", "an integer of 64 bits", hint)
            if isinstance(value, int):
                return CastError(row, str(value), "an integer of 64 bits", LARGE_HINT)
    pairs = enumerate(values)
    row, value = next((r, v) for r, v in pairs if isinstance(v, int) and v != float(v))
    return CastError(row, str(value), "a double, as other numbers of the column are", LARGE_HINT)


@record
class Unfit(Sequence[Any]):
    """A column with a value that the rules do not support; an error is raised only when it is used."""

    length: int
    error: CastError

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, _: Any) -> Any:
        raise self.error


def is_text(column: Column) -> bool:
    """Whether a column returned by `plain` holds strings."""
    return not isinstance(column, Objects) and bool(pa.types.is_large_string(column.type))


def joined(*parts: Column | str) -> Column:
    """Concatenate large strings and constants, row by row."""
    cells = [constant(part) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*cells, constant(""))


def _holed(value: object) -> bool:
    return value is None or (isinstance(value, tuple) and any(map(_holed, value)))


def text(value: Value) -> str:
    """Format a value as cell text: strings and nulls unquoted, others in the syntax of the language.

    >>> text("a"), text(True), text((1, "x")), text(0.5)
    ('a', 'true', '[1, "x"]', '0.5')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return source(value)


def arrow_column(values: Sequence[object]) -> Column:
    """Arrow column of Python values; `None` is a missing cell.

    Integers and doubles combine to doubles; values of any other two types except lists combine to text. Next to
    labelled nulls values are unchanged.
    """
    types = frozenset(map(type, values)) - {type(None)}
    if types in _ARROW and datetime not in types:
        try:
            made = pa.array(values, pa.type_for_alias(_ARROW[types]))
            if float not in types:
                return made
            if np.isfinite(as_numpy(made.fill_null(0.0))).all():
                return pc.add(made, 0.0)  # normalizes -0.0
        except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
            pass
    if int in types and types <= {int, float} and _large(values):
        return Large(values)
    clean: list[Any] = [
        v if v is None or isinstance(v, Null) else checked(v, row) for row, v in enumerate(values)
    ]
    types = frozenset(map(type, clean)) - {type(None)}
    if Null in types or (types and types <= {tuple, frozenset}):
        return Objects(clean)
    if types & {tuple, frozenset}:
        first = next(type(v) for v in clean if v is not None)
        row = next(i for i, v in enumerate(clean) if v is not None and type(v) is not first)
        raise CastError(row, repr(values[row]), "of one type with the values before (the column mixes types)")
    convert = float if float in types and types in _ARROW else text
    if types not in _ARROW or float in types:
        clean = [None if v is None else convert(v) for v in clean]
    return pa.array(clean, pa.type_for_alias(_ARROW.get(types, "large_string")))


def _large(values: Sequence[Any]) -> bool:
    """Whether neither int64 nor float64 represents all numbers exactly."""
    if not any(isinstance(v, float) for v in values):
        return any(not SMALLEST <= v <= LARGEST for v in values if v is not None)
    if not all(math.isfinite(v) for v in values if isinstance(v, float)):
        return False
    integers = (v for v in values if isinstance(v, int))
    return any(v.bit_length() >= sys.float_info.max_exp or v != float(v) for v in integers)


class Gathered:
    """A column collected in batches while a file is read; batches are Arrow arrays where types permit."""

    def __init__(self) -> None:
        self._batches: list[tuple[Column, Sequence[Any] | None]] = []
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def pad(self, rows: int) -> None:
        """Append missing cells up to a number of rows."""
        if rows > self._rows:
            self._batches.append((pa.nulls(rows - self._rows), None))
            self._rows = rows

    def add(self, values: Sequence[Any]) -> None:
        """Append a batch."""
        memory.look()
        memory.claim(2 * sum(len(v) for v in values if isinstance(v, str)))
        types = set(map(type, values)) - {type(None)}
        try:
            made = arrow_column(values) if types else pa.nulls(len(values))
        except CastError:  # possibly unsupported values, which `whole` counts over all batches
            made = Objects(values)
        self._batches.append((made, values if len(types) > 1 or isinstance(made, Objects) else None))
        self._rows += len(values)

    def whole(self) -> Column:
        """The column, as `arrow_column` would return it for all values at once."""
        whole = not any(isinstance(made, Objects) for made, _ in self._batches)
        types = {made.type for made, _ in self._batches if made.type != pa.null()} if whole else set()
        if not types and whole:
            return pa.nulls(self._rows, pa.large_string())
        if types == {pa.int64(), pa.float64()}:
            types.remove(pa.int64())
        if len(types) == 1:
            try:
                return pa.chunked_array([made.cast(*types) for made, _ in self._batches])
            except pa.ArrowInvalid:
                pass  # integers that may not be exact as doubles
        return arrow_column([v for made, kept in self._batches for v in (kept or made.to_pylist())])


def checked(value: Any, row: int, level: int = 0) -> Any:
    """Convert a value of Python, Arrow, SQL or JSON to a rule value; `None` within a list is kept.

    `level` is the nesting depth of lists and sets.
    """
    for types, convert in _CONVERSIONS:
        if isinstance(value, types):
            return convert(value, row)
    if isinstance(value, list | tuple | set | frozenset):
        if level == DEPTH:
            raise CastError(row, "[...]", f"a list or set nested {DEPTH} deep at most")
        elements = (None if v is None else checked(v, row, level + 1) for v in value)
        return frozenset(elements) if isinstance(value, set | frozenset) else tuple(elements)
    if isinstance(value, np.datetime64):
        date = value.astype("datetime64[us]").item()  # Python dates have no nanoseconds
        if isinstance(date, int):
            raise CastError(row, str(value), "a date from the year 1 to 9999")
        value = np.datetime64(date, "us")
    if isinstance(value, np.generic):
        return checked(value.item(), row)
    shown = "{...}" if isinstance(value, dict) else repr(value)
    raise CastError(row, shown, "a number, a string, a truth value, a date or a list of them", UNFIT_HINT)


def _integer(value: int, row: int) -> int:
    if not SMALLEST <= value <= LARGEST:
        raise CastError(row, str(value), "an integer of 64 bits", LARGE_HINT)
    return int(value)


def _double(value: float, row: int) -> float:
    if not math.isfinite(value):
        raise CastError(row, str(value), "a finite number")
    return float(value) + 0.0


def _date(value: date, row: int) -> datetime:
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    if getattr(value, "nanosecond", 0):  # pandas timestamp
        raise CastError(row, str(value), "a date of microseconds")
    if value.tzinfo is not None:
        try:
            value = value.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            raise CastError(row, str(value), "a date from the year 1 to 9999 in UTC") from None
    return datetime.combine(value.date(), value.time())


def _decimal(value: Decimal, row: int) -> int | float:
    exact = value.is_finite() and value == value.to_integral_value() and value.as_tuple().exponent == 0
    return _integer(int(value), row) if exact else _double(float(value), row)


def _text(value: str, row: int) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise CastError(row, ascii(value), "a text: it holds half of a surrogate pair") from None
    return str(value)


_CONVERSIONS: tuple[tuple[type | tuple[type, ...], Callable[[Any, int], Any]], ...] = (
    (bool, lambda value, _: value),
    (int, _integer),
    (float, _double),
    (str, _text),
    (date, _date),
    (Decimal, _decimal),
)
