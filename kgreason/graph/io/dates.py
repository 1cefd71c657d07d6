"""Columns of dates as microseconds since 1970."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from kgreason.arrays import as_numpy
from kgreason.engine.table import Codes, Kind
from kgreason.graph.io.raw import Column
from kgreason.graph.io.values import EXPECTED, CastError, is_text, text
from kgreason.lang.values import read_date

FORMS = (
    "write dates as 2024-01-15, times as 2024-01-15T10:30:00, with up to 6 more digits and a zone as +01:00"
)

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
_YEAR = 31_556_952 * 10**6  # microseconds of a year of the calendar, on average
_INFINITE = {sign * end for sign in (1, -1) for end in (2**63 - 1, (2**31 - 1) * 86_400 * 10**6)}
"""How DuckDB writes infinite times and dates."""
_ELSEWHERE = "make it an empty cell, or text, where the table is made: in SQL CAST(day AS VARCHAR)"
_FIRST, _LAST = ((edge - _EPOCH) // _MICROSECOND for edge in (datetime.min, datetime.max))


def is_temporal(column: Column) -> bool:
    """Whether the column holds dates as such."""
    import pyarrow as pa

    return bool(pa.types.is_timestamp(column.type))


def dates(column: Column) -> Codes:
    """Microseconds since 1970 of ISO dates, with or without a time of day."""
    import pyarrow as pa

    if is_text(column):
        stripped = [str(t).strip() for t in column.to_pylist()]
        column = pa.array([_date(t, row) for row, t in enumerate(stripped)], pa.timestamp("us"))
    elif not is_temporal(column):
        raise CastError(0, text(column[0].as_py()), EXPECTED[Kind.DATE])
    return as_numpy(column.cast(pa.int64()))


def in_range(column: Column) -> Column:
    """A column of dates or times of Arrow, all of which are dates of the language.

    Raises
    ------
    CastError
        At the first that is not: years before 1, those after 9999, and the infinities of DuckDB and PostgreSQL.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    unit = _NANOSECONDS[kind.unit if pa.types.is_timestamp(kind) else str(kind)]
    least, most = -(-1_000 * _FIRST // unit), 1_000 * _LAST // unit
    numbers = column.cast(pa.int32() if kind == pa.date32() else pa.int64())
    ends = pc.min_max(numbers)
    if not ends["min"].is_valid or (ends["min"].as_py() >= least and ends["max"].as_py() <= most):
        return column
    for row, value in enumerate(numbers.to_pylist()):
        if value is not None and not least <= value <= most:
            raise CastError(row, _shown(value * unit // 1_000), "a date from the year 1 to 9999", _ELSEWHERE)
    return column


def _shown(microseconds: int) -> str:
    if microseconds in _INFINITE:
        return "infinity" if microseconds > 0 else "-infinity"
    year = 1970 + microseconds // _YEAR
    return f"a date of about the year {year}" if year > 0 else f"a date of about the year {1 - year} BC"


def _date(text: str, row: int) -> datetime:
    made = read_date(text)
    if made is None:
        raise CastError(row, text, EXPECTED[Kind.DATE], _form(text))
    return made


def _form(text: str) -> str | None:
    """Say how to come by dates; of day, month and year there is a way in the rules.

    Words, and days that are in no calendar, are a matter of the data, not of the form.
    """
    if not re.search("[0-9]", text) or re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return None
    if re.match("[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]", text):
        return FORMS
    parts = re.fullmatch(r"[0-9]{2}([./-])[0-9]{2}\1[0-9]{4}", text)
    if parts is None:
        return "write dates as 2024-01-15, or map the column as string"
    iso = 'concat(substring(D, 6, 10), "-", substring(D, 3, 5), "-", substring(D, 0, 2))'
    return (
        "write dates as 2024-01-15; or map the column as string and let a rule make dates of day, month and year: "
        f"as_date({iso})"
    )
