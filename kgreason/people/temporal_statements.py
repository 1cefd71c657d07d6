"""Statements of files that say when each is true: by a column of times, or two with a start and an end.

A time is a number, or a date such as 2014-05-31 or 2014-05-31T12:00. ``#`` stands for unknown digits of a date, which
is then as long as they allow: 2014-##-## is the year 2014. A statement without a start or an end, but not without both,
is true from the first time or until the last.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from kgreason.base.errors import DataError
from kgreason.base.progress import Progress
from kgreason.base.records import record
from kgreason.data.raw_table import Raw
from kgreason.graph.knowledge_graph import Vertices
from kgreason.language.vocabulary import suggest
from kgreason.people.file_schema import LINKS, SKIPPED, Schema
from kgreason.people.model import Texts
from kgreason.people.reading import Statements, joined, read_statements
from kgreason.people.statements import Flags, texts_of

if TYPE_CHECKING:
    from kgreason.people.statements import Part

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_DATE = re.compile(r"(-?)([0-9]{1,6}|[0-9]{0,5}#{1,6})-([0-9]{2}|##)-([0-9]{2}|##)")
_SECOND = 1_000_000  # moments of dates count microseconds
_HINT = "a time is a number, or a date as 2014-05-31, 2014-05-31T12:00 or 2014-##-## (# is unknown)"


@record
class Dated:
    """Statements of a relation or attribute, with their times.

    Attributes
    ----------
    kind
        One of `kgreason.people.file_schema.OTHERS`.
    domain
        Distinct values of an attribute; empty for a relation.
    user, other
        Subject of each statement, and its target: a user, or the index of a value; int64, shape (m,).
    first, last
        Index of the first and last time at which it is true, int64, shape (m,).
    """

    kind: str
    domain: Texts
    user: Vertices
    other: Vertices
    first: Vertices
    last: Vertices

    def of(self, rows: Flags) -> Dated:
        """A selection of the statements."""
        columns = (column[rows] for column in (self.user, self.other, self.first, self.last))
        return Dated(self.kind, self.domain, *columns)


@record
class TemporalStatements:
    """Statements with times.

    Attributes
    ----------
    labels
        Name of each user.
    times
        All distinct times in ascending order, as text.
    named
        Statements of each relation and attribute.
    """

    labels: Texts
    times: tuple[str, ...]
    named: Mapping[str, Dated]


def read_temporal(schema: Schema, time: str, end: str | None, progress: Progress) -> TemporalStatements:
    """Read statements with the columns `time` (or start) and `end`, given by title or number from 1.

    Raises
    ------
    DataError
        If a file lacks a column, or has a time that cannot be read.
    """
    said = read_statements(schema, progress)
    clock = _Clock(schema, time, end)
    parts = {name: some for name, some in said.entries.items() if not _of_clock(said, name, clock)}
    spans = {name: [clock.of(part) for part in some] for name, some in parts.items()}
    ascending = sorted(range(len(clock.order)), key=clock.order.__getitem__)
    rank = np.append(np.argsort(np.array(ascending, dtype=np.int64)), -1)  # last: of unknown moments (-1)
    found = {}
    for name, some in parts.items():
        relation = said.kinds[name] in LINKS
        domain, value = (np.array([], dtype=object), None) if relation else said.values(name)
        other = joined([part.other for part in some]) if value is None else value
        low, high = (joined([span[i] for span in spans[name]]) for i in (0, 1))
        kept = (low >= 0) | (high >= 0)
        said.remarks.count("untimed", name, int((~kept).sum()))
        ended = (low >= 0) & (high >= 0) & (rank[low] > rank[high])
        said.remarks.count("ended", name, int(ended.sum()))
        kept &= ~ended
        user = joined([part.number for part in some])
        said.remarks.count("loops", name, int((user == other).sum()) if relation else 0)
        found[name] = Dated(said.kinds[name], domain, user[kept], other[kept], low[kept], high[kept])
    said.remarks.report(progress)
    every = joined([ends for d in found.values() for ends in (d.first, d.last)])
    used = np.unique(rank[every[every >= 0]])
    times = [clock.texts[ascending[i]] for i in used]
    for name, d in found.items():
        first = np.searchsorted(used, rank[d.first])
        last = np.where(d.last < 0, len(used) - 1, np.searchsorted(used, rank[d.last]))
        found[name] = replace(d, first=first, last=last)
    return TemporalStatements(said.labels, tuple(times), found)


def _of_clock(said: Statements, name: str, clock: _Clock) -> bool:
    """Whether an attribute is just a column of times in tables."""
    return name in (clock.time, clock.end) and all(part.table for part in said.entries[name])


class _Clock:
    """Reads the times of files; moments are numbered as they occur."""

    def __init__(self, schema: Schema, time: str, end: str | None) -> None:
        self.time, self.end = time, end
        self.roles = {file.spec.file: data.columns for data in schema.data for file in data.files}
        self.number: dict[_Order, int] = {}
        self.order: list[_Order] = []
        self.texts: list[str] = []
        self.known: dict[int, tuple[Vertices, Vertices]] = {}

    def of(self, part: Part) -> tuple[Vertices, Vertices]:
        """Number of the first and of the last moment of each statement; -1: unknown."""
        if id(part.raw) not in self.known:
            low, high = self._column(part.raw, self.time, part.missing)
            if self.end is not None:
                high = self._column(part.raw, self.end, part.missing)[1]
            self.known[id(part.raw)] = low, high
        low, high = self.known[id(part.raw)]
        return low[part.row], high[part.row]

    def _column(self, raw: Raw, column: str, missing: Sequence[str]) -> tuple[Vertices, Vertices]:
        coded = texts_of(raw, self._place(raw, column), column).dictionary_encode()
        codes = coded.indices.to_numpy()
        numbers = np.full((len(coded.dictionary), 2), -1, dtype=np.int64)
        for code, text in enumerate(coded.dictionary.to_pylist()):
            try:
                found = None if text.strip() in missing else period(text.strip())
                numbers[code] = [-1, -1] if found is None else [self._numbered(*moment) for moment in found]
            except ValueError as error:
                row = int(np.argmax(codes == code))
                raise raw.error(row, f"{text!r} {error}", column, _HINT) from None
        return numbers[codes, 0], numbers[codes, 1]

    def _numbered(self, order: _Order, text: str) -> int:
        if self.order and isinstance(self.order[0], int) != isinstance(order, int):
            other = "numbers" if isinstance(order, int) else "dates"
            raise ValueError(f"is among times that are {other}")
        if order not in self.number:
            self.order.append(order)
            self.texts.append(text)
        return self.number.setdefault(order, len(self.number))

    def _place(self, raw: Raw, column: str) -> int:
        width = len(raw.columns)
        if raw.named and column in raw.names:
            place = raw.names.index(column)
        elif column.isdecimal() and 0 < int(column) <= width:
            place = int(column) - 1
        else:
            there = raw.names if raw.named else [str(i + 1) for i in range(width)]
            near = suggest(column, there)
            hint = f"did you mean {near!r}?" if near else f"there are {', '.join(there[:20])}"
            raise DataError(raw.file, f"there is no column {column!r} of times", raw.title_line, hint=hint)
        roles = self.roles.get(raw.file)
        if roles is not None and roles[place] != SKIPPED:
            names = [SKIPPED if i == place else role for i, role in enumerate(roles)]
            raise DataError(
                raw.file,
                f"column {column} holds times, and is read as {roles[place]}",
                raw.title_line,
                hint=f"say which columns are others, as in columns={','.join(names)}",
            )
        return place


_Order = Decimal | int  # of numbers and of dates; comparable within a kind


def period(text: str) -> tuple[tuple[_Order, str], tuple[_Order, str]] | None:
    """First and last moment of a time, each with its order and text; `None`: nothing is known of it.

    Raises
    ------
    ValueError
        If it is no time; the message says why.

    Examples
    --------
    >>> [moment for _, moment in period("2014-02-##")]
    ['2014-02-01', '2014-02-28']
    >>> period("####-##-##") is None
    True
    """
    if not text.strip("#-"):
        return None
    if _NUMBER.fullmatch(text):
        number = Decimal(text), text
        return number, number
    if (found := _DATE.fullmatch(text)) is None:
        moment = _instant(text), text
        return moment, moment
    sign, digits, month, day = found.groups()
    if not digits.strip("#"):
        return None
    if day != month == "##":
        raise ValueError("is no time: its day is known, but not its month")
    years = sorted(int(sign + digits.replace("#", digit)) for digit in "09")
    months = (1, 12) if month == "##" else (int(month), int(month))
    if not 1 <= months[0] <= 12:
        raise ValueError(f"is no time: there is no month {month}")
    lengths = [calendar.monthrange(y, m)[1] for y, m in zip(years, months, strict=True)]
    days = (1, lengths[1]) if day == "##" else (int(day), int(day))
    if not 1 <= days[0] <= lengths[0]:
        raise ValueError(f"is no time: there is no day {day} in its month")
    first, last = (
        (_midnight(y, m, d), f"{y:04}-{m:02}-{d:02}") for y, m, d in zip(years, months, days, strict=True)
    )
    return first, last


def _instant(text: str) -> int:
    """Order of a date with a time of day, UTC unless it says another zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("is no time") from None
    moment = moment.astimezone(UTC) if moment.tzinfo else moment
    seconds = (moment.hour * 60 + moment.minute) * 60 + moment.second
    return _midnight(moment.year, moment.month, moment.day) + seconds * _SECOND + moment.microsecond


def _midnight(year: int, month: int, day: int) -> int:
    """Order of the beginning of a day; years may be negative."""
    return ((year * 12 + month) * 31 + day) * 24 * 3600 * _SECOND
