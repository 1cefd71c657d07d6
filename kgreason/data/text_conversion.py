"""Conversion of text columns to typed columns, with the row of the first value that does not fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base import memory
from kgreason.base.arrays import as_arrow, as_numpy, constant, pa, pc, string_buffers
from kgreason.data.raw_table import Column
from kgreason.data.value_conversion import (
    EXPECTED,
    LARGE_HINT,
    UNFIT_HINT,
    CastError,
    Cells,
    Large,
    Objects,
    Unfit,
    checked,
    int64,
    is_text,
    joined,
    misplaced,
)
from kgreason.data.value_conversion import text as text_of
from kgreason.engine.relations.fact_tables import Kind, doubles
from kgreason.engine.relations.symbols import Codes
from kgreason.language.values import Null, read_date

INTEGER = r"^-?(0|[1-9][0-9]{0,17})$"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*%?$"
COMMA_NUMBER = r"^[+-]?(([0-9]+|[1-9][0-9]{0,2}(\.[0-9]{3})+)(,[0-9]*)?|,[0-9]+)([eE][+-]?[0-9]+)?\s*%?$"
NUMBERS = {".": NUMBER, ",": COMMA_NUMBER}  # by the decimal separator
PLAIN_NUMBERS = {
    ".": r"^[+-]?((0|[1-9][0-9]{0,17})(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*%?$",
    ",": COMMA_NUMBER.replace("[0-9]+|", "0|[1-9][0-9]{0,17}|", 1),
}
"""Numbers without leading zeros and of at most 18 digits before the separator: other digits are names."""

MARK = re.compile(r"[^\W\d]{1,12}|[^\w\s]{1,3}|[nN][./]?[aAkK][.]?")
"""Short words and symbols that may mean a missing value."""
ABSENT = re.compile(r"\W*|\\N|n[./]?[ak]\.?|nan|null|none|nil|missing|unknown", re.IGNORECASE)
"""Words and symbols that usually mean a missing value."""

_POWERS = 10 ** np.arange(1, 19)  # from the last one on, integers have more than 18 digits
_FIRST = 1000  # cells that usually show whether a column holds numbers

DECIMAL_COMMA = "if the comma is the decimal point, say decimal=, (in @bind: decimal=',')"
DECIMAL_POINT = "with decimal=, points group thousands; if the point is the decimal point, leave it out"

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "ms": 10**6,
    "s": 10**9,
    "date64[ms]": 10**6,
    "date32[day]": 86_400 * 10**9,
}
"""Of the units that Arrow counts in."""
_YEAR = 31_556_952 * 10**6  # microseconds of an average calendar year
_INFINITE = {sign * end for sign in (1, -1) for end in (2**63 - 1, (2**31 - 1) * 86_400 * 10**6)}
"""DuckDB's internal values of infinite times and dates."""
_ELSEWHERE = "make it an empty cell, or text, where the table is made: in SQL CAST(day AS VARCHAR)"
_EARLIEST, _LATEST = ((edge - _EPOCH) // _MICROSECOND for edge in (datetime.min, datetime.max))


def plain(column: Column, wanted: Kind | None = None) -> Column:
    """Convert a column to one array of large strings, int64, double, bool or microseconds, or to `Objects`.

    Other types become text. Integers beyond 64 bits are converted to text or doubles only if this kind is `wanted`.

    Raises
    ------
    CastError
        If the language has no such value.
    """
    if isinstance(column, Unfit):
        raise column.error
    if isinstance(column, Large):
        return column.wanted(wanted)
    if isinstance(column, Cells) and not column.fit(wanted):
        return column.arrow()
    if isinstance(column, Objects):
        return column
    kind = column.type
    memory.claim(column.nbytes)
    if isinstance(kind, pa.BaseExtensionType):
        return _stored(column)
    if pa.types.is_dictionary(kind):
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            claim_texts(chunk.dictionary, chunk.indices)
        return plain(column.cast(kind.value_type), wanted)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return Objects(_lists(column))
    if pa.types.is_integer(kind):
        column = _whole(column, wanted)
    elif pa.types.is_decimal(kind):
        column = _whole(column, wanted) if kind.scale == 0 else _nearest(column)
    elif pa.types.is_floating(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        column = _in_range(column)
        try:
            column = column.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            row = first_misfit(column, pa.timestamp("us"))
            raise CastError(row, _shown(column[row]), "a date of microseconds") from None
    elif foreign(kind):
        value = next((v for v in column if v.is_valid), None)
        if value is None:
            return pa.nulls(len(column), pa.large_string())
        shown = "{...}" if pa.types.is_struct(kind) else _shown(value, repr)
        raise CastError(0, shown, f"a value of the rules (the column is of type {kind})", UNFIT_HINT)
    elif not pa.types.is_boolean(kind):
        written = column.cast(pa.large_string())
        row = pc.index(pc.starts_with(written, "<"), True).as_py() if pa.types.is_time(kind) else -1
        if row >= 0:  # Arrow formats a time out of range, as DuckDB's 24:00:00, as an error message
            shown = f"{column[row].value:,} {kind.unit}"
            raise CastError(row, shown, "a time of day before 24:00:00", UNFIT_HINT)
        column = written
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _nearest(decimals: Column) -> Column:
    """Nearest doubles of decimals; Arrow's own cast makes 60.050000000000004 of 60.05."""
    memory.claim(2 * decimals.nbytes)
    return decimals.cast(pa.large_string()).cast(pa.float64())


def as_texts(column: Column) -> Column:
    """Convert an Arrow column to large strings as Arrow formats its values; missing values stay missing.

    A list, an object, bytes, or an invalid date or time is a `CastError`.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return as_texts(column.cast(kind.value_type))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        column = _in_range(column)
    elif pa.types.is_time(kind) or isinstance(kind, pa.BaseExtensionType):
        column = plain(column)
    try:
        return column.cast(pa.large_string())
    except pa.ArrowException:
        row = next((row for row, value in enumerate(plain(column)) if value is not None), None)
        if row is None:
            return pa.nulls(len(column), pa.large_string())
        raise CastError(row, "[...]", "one value", UNFIT_HINT) from None


def claim_texts(texts: Column, indices: Column) -> None:
    """Claim the memory that a dictionary column takes as plain text."""
    if pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type):
        memory.claim(pc.sum(pc.binary_length(texts).cast(pa.int64()).take(indices)).as_py() or 0)


def foreign(kind: Any) -> bool:
    """Whether an Arrow type cannot be converted to a rule value, not even as text."""
    tests = (pa.types.is_nested, pa.types.is_duration, pa.types.is_interval, pa.types.is_binary)
    return any(test(kind) for test in (*tests, pa.types.is_large_binary, pa.types.is_fixed_size_binary))


def first_misfit(column: Column, kind: Any) -> int:
    """Row of the first value of an Arrow column that cannot be cast to a type."""
    for row, value in enumerate(column):
        try:
            value.cast(kind)
        except pa.ArrowInvalid:
            return row
    raise AssertionError("a column that cannot be cast has a value that cannot")


def _shown(value: Any, write: Callable[[Any], str] = str) -> str:
    """Text of an Arrow value for messages; Python cannot represent some durations."""
    try:
        return write(value.as_py())
    except (ValueError, OverflowError):
        return f"a {value.type}"


def _stored(column: Column) -> Column:
    """Convert a column of an extension type to its storage type, unless that is binary."""
    kind = column.type
    if not foreign(kind.storage_type):
        return plain(column.cast(kind.storage_type))
    name = getattr(kind, "type_name", kind.extension_name)
    hint = "take it as another type where the table is made: in SQL CAST(n AS BIGINT), or AS VARCHAR"
    raise CastError(0, f"a value of type {name}", "a value of the rules", hint)


def _lists(column: Column) -> Iterator[Any]:
    """Values of a list column; `CastError` at the first that Python cannot represent, as a date before year 1."""
    for row, value in enumerate(column):
        try:
            found = value.as_py()
        except (ValueError, OverflowError, pa.ArrowException) as error:
            expected = f"a list of values of the rules (the column is of type {column.type}): {error}"
            raise CastError(row, "[...]", expected, UNFIT_HINT) from error
        yield None if found is None else checked(found, row)


def _whole(column: Column, wanted: Kind | None) -> Column:
    """Integers, including decimals of scale 0, which are the type of integer sums in SQL."""
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        if wanted is Kind.DOUBLE:
            return column.cast(pa.float64(), safe=False)
        if wanted is Kind.STRING:
            return column.cast(pa.large_string())
        raise misplaced([None if v is None else int(v) for v in column.to_pylist()]) from None


def missing(column: Column, null_string: str | None = None, *, blank: bool = True) -> npt.NDArray[np.bool_]:
    """Mask of missing cells: null, the given text, or (unless `blank` is false) only blanks."""
    if isinstance(column, Objects):
        return column.missing()
    if not column.null_count and not is_text(column):
        return np.zeros(len(column), dtype=np.bool_)
    absent = as_numpy(column.is_null())
    if is_text(column) and blank:
        offsets, letters = string_buffers(column)
        if (letters <= ord(" ")).any():
            offsets, _ = string_buffers(pc.ascii_trim_whitespace(column))
        absent |= np.diff(offsets) == 0
    if is_text(column) and null_string is not None:
        absent |= as_numpy(pc.equal(column.cast(pa.large_string()), constant(null_string)))
    return absent


def infer(column: Column, decimal: str = ".") -> Kind:
    """Infer the kind of a `plain` column without missing cells: text is INT, DOUBLE, else STRING.

    Digits with leading zeros, or more than 18 digits, are names, not numbers.
    """
    if isinstance(column, Cells):
        return column.kind
    if isinstance(column, Objects):
        types = {type(v) for v in column}
        if Null in types:
            return Kind.ANY
        return Kind.SET if types == {frozenset} else Kind.LIST if types == {tuple} else Kind.STRING
    if not is_text(column):
        if pa.types.is_timestamp(column.type):
            return Kind.DATE
        if pa.types.is_boolean(column.type):
            return Kind.BOOL
        return Kind.INT if pa.types.is_integer(column.type) else Kind.DOUBLE
    if _usual_integers(column) is not None or all_fit(column, INTEGER):
        return Kind.INT
    return Kind.DOUBLE if all_fit(column, PLAIN_NUMBERS[decimal]) else Kind.STRING


def coded(column: Column, kind: Kind, *, percent: bool = False, decimal: str = ".") -> Codes:
    """Encode a `plain` column of numbers, truth values or dates without missing cells; see `Kind`."""
    if isinstance(column, Cells):
        if percent or not column.fit(kind):
            return coded(column.arrow(), kind, percent=percent, decimal=decimal)
        if kind is Kind.INT:
            return np.fromiter(map(int, column), np.int64, len(column))
        return doubles(np.fromiter(map(float, column), np.float64, len(column)))
    if isinstance(column, Objects):
        row = next((i for i, value in enumerate(column) if isinstance(value, Null)), 0)
        raise CastError(row, text_of(column[row]), EXPECTED[kind])
    if kind is Kind.DATE:
        return _dates(column)
    if pa.types.is_timestamp(column.type):
        raise CastError(0, text_of(column[0].as_py()), EXPECTED[kind])
    if kind is Kind.INT:
        return _integers(column)
    if kind is Kind.DOUBLE:
        return doubles(numbers(column, percent=percent, decimal=decimal))
    text = pc.ascii_lower(pc.ascii_trim_whitespace(column.cast(pa.large_string())))
    true, false = (pc.is_in(text, pa.array(words, text.type)) for words in (["true", "1"], ["false", "0"]))
    _refuse(column, as_numpy(pc.or_(true, false)), "true or false")
    return as_numpy(true).astype(np.int64)


def numbers(column: Column, *, percent: bool = False, decimal: str = ".") -> npt.NDArray[np.float64]:
    """Doubles of a `plain` column; ``8.15%`` is the double nearest to 0.0815, as are 8.15 and "8.15" with `percent`.

    With the `decimal` comma it is written ``8,15%``; points are then thousands separators.
    """
    if is_text(column):
        text = pc.ascii_trim_whitespace(column)
        example = "a number with a decimal comma, as in 0,25" if decimal == "," else "a number, as in 0.25"
        _refuse(column, fits(text, NUMBERS[decimal]), f"{example} or 25%")
        if decimal == ",":
            text = pc.replace_substring(pc.replace_substring(text, ".", ""), ",", ".")
        share = pc.ends_with(text, "%")
        if percent or pc.any(share).as_py():
            shifted = _shifted(pc.ascii_trim(text, " \t%"))
            text = shifted if percent else pc.if_else(share, shifted, text)
        values = as_numpy(pc.ascii_ltrim(text, "+").cast(pa.float64()))
    else:
        values = as_numpy(column.cast(pa.float64(), safe=False))
        if percent and np.isfinite(values).all():
            values = as_numpy(_shifted(as_arrow(values).cast(pa.large_string())).cast(pa.float64()))
    _refuse(column, np.isfinite(values), "a finite number")
    return values


def _shifted(text: Column) -> Column:
    """Divide numbers in text form by 100 in decimal arithmetic, so that the result is the nearest double."""
    exponent = pc.match_substring_regex(text, "[eE]")
    divided = joined(text, "e-2")
    if not pc.any(exponent).as_py():
        return divided
    pairs = zip(exponent.to_pylist(), text.to_pylist(), strict=True)
    slow = [repr(float(t) / 100.0) if e else None for e, t in pairs]
    return pc.coalesce(pa.array(slow, pa.large_string()), divided)


def _integers(column: Column) -> Codes:
    if is_text(column):
        if (usual := _usual_integers(column)) is not None:
            return usual
        text = pc.ascii_ltrim(pc.ascii_trim_whitespace(column), "+")
        _refuse(column, fits(text, r"^-?[0-9]+$"), "an integer")
        if (as_numpy(pc.utf8_length(text)) <= 18).all():
            return as_numpy(text.cast(pa.int64()))
        values = [int64(t) for t in text.to_pylist()]
        good = np.array([value is not None for value in values])
        _refuse(column, good, "an integer of 64 bits", LARGE_HINT)
        return np.array(values, dtype=np.int64)
    if pa.types.is_integer(column.type):
        return as_numpy(column).astype(np.int64)
    whole = as_numpy(column.cast(pa.float64()))
    _refuse(column, whole == np.rint(whole), "an integer")
    return as_numpy(column.cast(pa.int64())).astype(np.int64)


def _usual_integers(column: Column) -> Codes | None:
    """Values of a column of integers in canonical form with at most 18 digits; `None` if a cell has another form.

    This takes 0.03 µs for a cell, where a regular expression takes 0.11 µs.
    """
    if not fits(column.slice(0, _FIRST), INTEGER).all():
        return None
    offsets, letters = string_buffers(column)
    letters = letters[offsets[0] : offsets[-1]]
    if not ((letters - ord("0") < 10) | (letters == ord("-"))).all():
        return None  # the cast would take 2 µs for each cell that it refuses
    memory.claim(24 * len(column))
    try:
        values: Codes = as_numpy(column.cast(pa.int64()))
    except pa.ArrowInvalid:
        return None
    digits = np.searchsorted(_POWERS, np.abs(values), side="right") + 1
    usual = (np.diff(offsets) == digits + (values < 0)) & (digits <= len(_POWERS))
    return values if usual.all() else None


def fits(column: Column, pattern: str) -> npt.NDArray[np.bool_]:
    """Mask of the texts that match a pattern after trimming."""
    return as_numpy(pc.match_substring_regex(pc.ascii_trim_whitespace(column), pattern))


def all_fit(column: Column, pattern: str) -> bool:
    """Whether all texts match a pattern; the first ones are tested first."""
    return all(bool(fits(part, pattern).all()) for part in (column.slice(0, _FIRST), column.slice(_FIRST)))


def _refuse(column: Column, good: npt.NDArray[np.bool_], expected: str, hint: str | None = None) -> None:
    if good.all():
        return
    row = int(np.argmin(good))
    value = str(column[row].as_py())
    if hint is None and "," in value and re.match(COMMA_NUMBER, value.strip()):
        hint = DECIMAL_COMMA
    raise CastError(row, value, expected, hint, int(np.count_nonzero(~good)))


def _dates(column: Column) -> Codes:
    """Microseconds since 1970 of ISO dates, with or without a time of day."""
    if is_text(column):
        texts = [str(t).strip() for t in column.to_pylist()]
        made = list(map(read_date, texts))
        if None in made:
            row = made.index(None)
            raise CastError(row, texts[row], EXPECTED[Kind.DATE], _form(texts[row]))
        column = pa.array(made, pa.timestamp("us"))
    elif not pa.types.is_timestamp(column.type):
        raise CastError(0, text_of(column[0].as_py()), EXPECTED[Kind.DATE])
    return as_numpy(column.cast(pa.int64()))


def _in_range(column: Column) -> Column:
    """Dates or times of an Arrow column; `CastError` at the first outside the years 1 to 9999."""
    kind = column.type
    unit = _NANOSECONDS[kind.unit if pa.types.is_timestamp(kind) else str(kind)]
    least, most = (max(-(2**63), min(1_000 * edge // unit, 2**63 - 1)) for edge in (_EARLIEST, _LATEST))
    numbers = column.cast(pa.int32() if kind == pa.date32() else pa.int64())
    outside = pc.or_(pc.less(numbers, pa.scalar(least)), pc.greater(numbers, pa.scalar(most)))
    row = pc.index(outside, True).as_py()
    if row >= 0:
        shown = _shown_time(numbers[row].as_py() * unit // 1_000)
        raise CastError(row, shown, "a date from the year 1 to 9999", _ELSEWHERE)
    return column


def _shown_time(microseconds: int) -> str:
    if microseconds in _INFINITE:
        return "infinity" if microseconds > 0 else "-infinity"
    year = 1970 + microseconds // _YEAR
    return f"a date of about the year {year}" if year > 0 else f"a date of about the year {1 - year} BC"


def _form(text: str) -> str | None:
    """Hint on date formats; none for words and impossible dates, which are errors in the data, not in the format."""
    if not re.search("[0-9]", text) or re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return None
    if re.match("[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]", text):
        digits = "with up to 6 more digits and a zone as +01:00"
        return f"write dates as 2024-01-15, times as 2024-01-15T10:30:00, {digits}"
    parts = re.fullmatch(r"[0-9]{2}([./-])[0-9]{2}\1[0-9]{4}", text)
    if parts is None:
        return "write dates as 2024-01-15, or map the column as string"
    rule = 'as_date(concat(substring(D, 6, 10), "-", substring(D, 3, 5), "-", substring(D, 0, 2)))'
    cure = f"map the column as string and let a rule make dates of day, month and year: {rule}"
    return f"write dates as 2024-01-15; or {cure}"
