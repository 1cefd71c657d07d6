"""Columns of dates as microseconds since 1970."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import numpy as np

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
    codes = as_numpy(column.cast(pa.int64()))
    fits = (codes >= _FIRST) & (codes <= _LAST)
    if not fits.all():
        row = int(np.argmin(fits))
        raise CastError(row, str(column[row]), "a date from the year 1 to 9999")
    return codes


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
