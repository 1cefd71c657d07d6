"""Ownership statements (BODS JSON) as edges from the interested party to the subject, with shares as weights."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgreason.arrays import as_arrow
from kgreason.data.vertex_names import called
from kgreason.errors import DataError
from kgreason.graph.io.jsonstream import values
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Column, Raw
from kgreason.graph.io.statements import (
    UNSPECIFIED,
    Interest,
    Malformed,
    Statement,
    interests,
    normal,
    parties,
    statement,
)

LEVELS = ("direct", "indirect", "unknown")
SHARES = ("exact", "minimum", "maximum", "middle")


def read_bods(path: Path, options: Options) -> Raw:
    """Read the interests that hold now; what is left out is told.

    Of each record the last statement counts, of replaced statements none. Vertices are records (up to 0.3 statements)
    of entities and persons, with their names as labels.
    """
    reader = _Reader(path, options)
    for given, line in values(path, options.encoding, Decimal):
        try:
            reader.add(statement(given), line)
        except Malformed as error:
            raise DataError(str(path), str(error), line, hint=error.hint) from error
    return called(reader.raw(), options)


class _Reader:
    """Collects relationships row by row in arrays, vertices by number."""

    def __init__(self, path: Path, options: Options) -> None:
        self._path, self._options = path, options
        self._wanted = None if options.interest == "any" else normal(options.interest)
        self._number: dict[str, int] = {}
        self._names: dict[int, tuple[str, str, int]] = {}  # name, date and line of a vertex
        self._later: dict[str, str] = {}  # statement: what replaces it
        self._last: dict[str, int] = {}  # record: number of its last statement
        self._dates = array("q")  # of the statements by number
        self._closed: set[int] = set()
        self._rows = {name: array("q") for name in ("source", "target", "statement", "line")}
        self._shares = array("d")
        self._ranges = array("q")
        self._left: Counter[str] = Counter()

    def add(self, given: Statement, line: int) -> None:
        """Take a statement."""
        for old in given.replaces:
            self._later[old] = given.record
        if given.kind == "relationship":
            self._relationship(given, line)
            return
        vertex = self._vertex(given.record)
        if vertex not in self._names or given.date >= self._names[vertex][1]:
            self._names[vertex] = (given.name, given.date, line)

    def _relationship(self, given: Statement, line: int) -> None:
        number = len(self._dates)
        self._dates.append(_time(given.date))
        before = self._last.setdefault(given.record, number)
        if self._dates[number] >= self._dates[before]:
            self._last[given.record] = number
        if given.closed:
            self._closed.add(number)
        owner, subject = parties(given.details)
        if UNSPECIFIED in (owner, subject):
            self._left["relationships in which a party is not named"] += 1
            return
        for interest in interests(given.details):
            if self._counts(interest):
                share = self._share(interest, len(self._shares))
                row = (self._vertex(owner), self._vertex(subject), number, line)
                for column, value in zip(self._rows.values(), row, strict=True):
                    column.append(value)
                self._shares.append(share)

    def _counts(self, interest: Interest) -> bool:
        if interest.ended:
            self._left["interests that have ended"] += 1
        elif self._wanted is not None and interest.type != self._wanted:
            self._left[f"interests of another type ({interest.type}; interest=any takes all)"] += 1
        elif self._options.level is None and interest.level == "indirect":
            self._left["indirect interests (level=any takes them)"] += 1
        elif self._options.level not in (None, "any", interest.level):
            self._left[f"interests of another level ({interest.level})"] += 1
        else:
            return True
        return False

    def _share(self, interest: Interest, row: int) -> float:
        low, high = interest.minimum, interest.maximum
        if interest.exact is not None:
            return interest.exact
        if low is None and high is None:
            return float("nan")
        if self._options.share is None:
            self._ranges.append(row)
            return float("nan")
        low, high = 0.0 if low is None else low, 1.0 if high is None else high
        chosen = {"minimum": low, "maximum": high, "middle": (low + high) / 2}
        return chosen.get(self._options.share, float("nan"))

    def _vertex(self, record: str) -> int:
        return self._number.setdefault(record, len(self._number))

    def raw(self) -> Raw:
        """Table of the edges that count, with that of the vertices beside it."""
        columns = {name: np.array(rows, dtype=np.int64) for name, rows in self._rows.items()}
        shares = np.array(self._shares, dtype=np.float64)
        kept = self._current(columns["statement"])
        self._left["interests of statements that later ones replace or that end their record"] += int(
            (~kept).sum()
        )
        self._refuse_ranges(kept, columns["line"])
        columns, shares = {name: c[kept] for name, c in columns.items()}, shares[kept]
        names, number = self._labels()
        ends = [_text(names, number[columns[end]]) for end in ("source", "target")]
        lines, without = columns["line"], np.isnan(shares)
        weight: list[Column] = [] if without.all() else [_weights(shares, without)]
        return Raw(
            str(self._path),
            ("source", "target", "weight")[: 2 + len(weight)],
            (*ends, *weight),
            lambda row: int(lines[row]),
            named=False,
            graph=True,
            typed=True,
            vertices=self._vertices(names, number),
            notes=tuple(self._notes()),
        )

    def _current(self, statements: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Rows whose statement is the last of its record, and neither replaced nor closed."""
        last = np.zeros(len(self._dates), dtype=bool)
        for record, number in self._last.items():
            last[number] = number not in self._closed and record not in self._later
        found: npt.NDArray[np.bool_] = last[statements]
        return found

    def _refuse_ranges(self, kept: npt.NDArray[np.bool_], lines: npt.NDArray[np.int64]) -> None:
        ranges = [row for row in self._ranges if kept[row]]
        if ranges:
            raise DataError(
                str(self._path),
                f"the share is a range, not a number ({len(ranges):,} such interest{'s' * (len(ranges) != 1)})",
                int(lines[ranges[0]]),
                hint="share=minimum, maximum or middle takes one; share=exact with missing=skip leaves such rows out",
            )

    def _labels(self) -> tuple[list[str], npt.NDArray[np.int64]]:
        """Vertices that count, and the number among them of each that was met: the one that replaced it, if any."""
        kept: dict[str, int] = {}
        number = np.empty(len(self._number), dtype=np.int64)
        for record, met in self._number.items():
            seen = {record}
            while record in self._later and self._later[record] not in seen:
                record = self._later[record]
                seen.add(record)
            number[met] = kept.setdefault(record, len(kept))
        return list(kept), number

    def _vertices(self, names: list[str], number: npt.NDArray[np.int64]) -> Raw:
        labels, lines = list(names), [0] * len(names)
        dates = [""] * len(names)
        for met, (label, date, line) in self._names.items():
            vertex = number[met]
            if not lines[vertex] or date >= dates[vertex]:
                labels[vertex], dates[vertex], lines[vertex] = label or names[vertex], date, line
        import pyarrow as pa

        columns = pa.array(names, pa.large_string()), pa.array(labels, pa.large_string())
        return Raw(str(self._path), ("id", "label"), columns, lambda row: lines[row] or None, typed=True)

    def _notes(self) -> Iterator[str]:
        for what, count in self._left.items():
            if count:
                yield f"{self._path}: left out {what}: {count:,}"


def _time(date: str) -> int:
    """Order of an ISO date or time among others: its digits, to the second."""
    digits = "".join(filter(str.isdecimal, date))[:14]
    return int(digits.ljust(14, "0"))


def _text(names: list[str], number: npt.NDArray[np.int64]) -> Column:
    import pyarrow as pa

    return pa.array(names, pa.large_string()).take(as_arrow(number))


def _weights(shares: npt.NDArray[np.float64], without: npt.NDArray[np.bool_]) -> Column:
    import pyarrow as pa

    return pa.array(shares, pa.float64(), mask=without)
