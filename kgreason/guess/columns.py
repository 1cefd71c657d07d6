"""What can be seen of a column: how many values, which kind, how large."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from kgreason.graph.io.cast import ABSENT, foreign
from kgreason.graph.io.values import Objects, Unfit
from kgreason.guess.words import COUNTS, PERCENTS, RANKS, TIMES, WEIGHTS, tokens
from kgreason.records import dataclass

SAMPLE = 20_000
"""Rows that names, ids and shared values are looked for in."""
NUMERIC = 0.9
"""Share of the values that must be numbers."""
_RUNS = 10  # numbers that tell ranks
_POINT = re.compile(r"\s*[+-]?(\d+(,\d{3})+(\.\d*)?|\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*%?\s*")
_COMMA = re.compile(r"\s*[+-]?(\d{1,3}(\.\d{3})*|\d+)(,\d+)?\s*%?\s*")
_DATE = re.compile(r"[\"']?([\d#]{1,4}-[\d#]{1,2}-[\d#]{1,2}([ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4})[\"']?")
_EPOCHS = ((5e8, 4.3e9), (5e11, 4.3e12), (19000101, 21001231))
"""Ranges of seconds and milliseconds since 1970, and of dates written as one number."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name, number
        As the table calls it, and its place, from 1.
    values
        Texts of the first rows; an empty one is missing.
    rows, missing
        Of the whole table, as far as it was read.
    seen
        The different ones among `values`.
    low, high
        Of its numbers, over all rows, without percent signs; `None`: it has none, or they are not numbers.
    others
        Texts that are no numbers in a column of numbers.
    marked
        Share of its numbers that have a percent sign.
    comma
        Its numbers have decimal commas.
    whole
        All its numbers are integers.
    grouped
        One of its numbers with commas between thousands, which no option reads.
    named
        The file has a name for it.
    nested
        It holds lists, objects or bytes, of which nothing else is known.
    """

    name: str
    number: int
    values: tuple[str, ...]
    rows: int
    missing: int
    seen: frozenset[str]
    low: float | None = None
    high: float | None = None
    others: tuple[str, ...] = ()
    marked: float = 0.0
    comma: bool = False
    whole: bool = False
    grouped: str | None = None
    named: bool = True
    nested: bool = False

    @property
    def distinct(self) -> int:
        """Number of different values in the first rows."""
        return len(self.seen)

    @property
    def words(self) -> frozenset[str]:
        """Words of its name; none of one that was invented."""
        return tokens(self.name) if self.named else frozenset()

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers."""
        return self.low is not None

    @property
    def constant(self) -> bool:
        """Whether all its values are one."""
        return self.distinct <= 1 < len(self.values)

    @property
    def telling(self) -> bool:
        """Whether its cells differ; an empty one, which is no value, differs from one that holds something."""
        if self.missing:
            return self.missing < self.rows
        return not self.constant or len(self.values) < self.rows

    @property
    def unique(self) -> bool:
        """Whether no value is there twice."""
        return self.distinct == len(self.values) - self.values.count("") > 1 and not self.missing

    @property
    def counter(self) -> bool:
        """Whether it numbers the rows."""
        if not (self.unique and self.whole and self.high is not None) or self.words & WEIGHTS:
            return False
        return self.high - (self.low or 0) < 3 * self.rows

    @property
    def few(self) -> bool:
        """Whether its values are so few that they are kinds, not names."""
        rows = len(self.values)
        return (rows > 5 and self.distinct < 3) or (rows > 50 and self.distinct < 0.02 * rows)

    @property
    def dated(self) -> bool:
        """Whether its values are dates."""
        filled = [v for v in self.values if v]
        return bool(filled) and sum(map(bool, map(_DATE.fullmatch, filled))) >= NUMERIC * len(filled)

    @property
    def time(self) -> bool:
        """Whether it tells when."""
        if self.dated:
            return True
        if self.words & (WEIGHTS | COUNTS):
            return False
        low, high = self.low or 0.0, self.high or 0.0
        epoch = self.whole and any(first <= low and high <= last for first, last in _EPOCHS)
        return bool(self.words & TIMES) or (epoch and self._many)

    @property
    def large(self) -> bool:
        """Whether it holds large numbers that no name explains: times, or counts."""
        return (
            self._many and self.whole and not self.words and (self.low or 0) >= 0 and (self.high or 0) > 1e6
        )

    @property
    def _many(self) -> bool:
        return self.distinct > 0.3 * len(self.values)

    @property
    def rank(self) -> bool:
        """Whether it numbers the rows, or those of each thing, from 1."""
        found = [n for n in numbers(self) if n is not None] if self.numeric else []
        if not found or self.marked or any(n % 1 for n in found):
            return False
        if self.words & RANKS:
            return True
        if self.words & WEIGHTS or len(found) < _RUNS or found[0] not in (0, 1):
            return False
        steps = sum(b - a == 1 or b == found[0] for a, b in pairwise(found))
        return steps >= 0.95 * (len(found) - 1) and max(found) > 1

    @property
    def percent(self) -> bool:
        """Whether its name says percent."""
        return bool(self.words & (PERCENTS | {"%"}))


def column(name: str, number: int, cells: Any, *, named: bool = True) -> Column:
    """Look at a column.

    Parameters
    ----------
    cells
        An Arrow array, chunked or not, or what a reader has in place of one.
    """
    if _nested(cells):
        return Column(name, number, (), len(cells), 0, frozenset(), named=named, nested=True)
    first = texts(cells.slice(0, SAMPLE))
    rows, missing = len(cells), _missing(cells)
    filled = [v for v in _distinct(cells) if v.strip()]
    facts = _numbers(filled, [v for v in first if v.strip()])
    values = tuple(v if v.strip() else "" for v in first)
    return Column(name, number, values, rows, missing, frozenset(values) - {""}, named=named, **facts)


def texts(cells: Any) -> list[str]:
    """Values of a column as texts; an empty one for what Python has no value for, such as an infinite date."""
    try:
        return [_text(v) for v in cells.to_pylist()]
    except (ValueError, OverflowError):
        return [_text(_python(v)) for v in cells]


def _python(value: Any) -> object:
    try:
        return value.as_py()
    except (ValueError, OverflowError):
        return None


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _nested(cells: Any) -> bool:
    """Whether a column of JSON, Parquet or DuckDB holds lists or objects, or bytes of a type of its own."""
    import pyarrow as pa

    if isinstance(cells, Objects | Unfit):
        return True
    own = isinstance(cells.type, pa.BaseExtensionType)
    return pa.types.is_nested(cells.type) or (own and foreign(cells.type.storage_type))


def _distinct(cells: Any) -> list[str]:
    """All different values."""
    import pyarrow.compute as pc

    return texts(pc.unique(cells))


def _missing(cells: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        empty = pc.equal(pc.utf8_trim_whitespace(cells), "")
    except (pa.ArrowException, TypeError, AttributeError):
        return int(getattr(cells, "null_count", 0))
    return int(cells.null_count) + int(pc.sum(empty).as_py() or 0)


def _numbers(texts: Sequence[str], rows: Sequence[str]) -> dict[str, Any]:
    """What is to be known of numbers; nothing of a column most of whose rows have none."""
    commas = [t for t in texts if _COMMA.fullmatch(t) and math.isfinite(_number(t, True))]
    points = [t for t in texts if _POINT.fullmatch(t) and math.isfinite(_number(t, False))]
    comma = len(commas) > len(points) or (
        len(commas) == len(points) > 0 and any(re.search(r",\d{1,2}(\D|$)|,\d{4}", t) for t in commas)
    )
    known = commas if comma else points
    fit = set(known)
    rows = [t for t in rows if t in fit or not ABSENT.fullmatch(t.strip())]
    if not known or sum(t in fit for t in rows) < NUMERIC * len(rows):
        return {}
    numbers = [_number(t, comma) for t in known]
    return {
        "low": min(numbers),
        "high": max(numbers),
        "others": tuple(sorted(t for t in texts if t not in fit)),
        "marked": sum("%" in t for t in known) / len(known),
        "comma": comma,
        "grouped": None if comma else next((t for t in sorted(known) if "," in t), None),
        "whole": all(n == int(n) for n in numbers) and not any("." in t for t in known if not comma),
    }


def _number(text: str, comma: bool) -> float:
    bare = text.replace("%", "").strip()
    return float(bare.replace(".", "").replace(",", ".") if comma else bare.replace(",", ""))


def numbers(one: Column) -> list[float | None]:
    """Numbers of the first rows, `None` where there is none."""
    return [read_number(v, one) for v in one.values]


def read_number(text: str, one: Column) -> float | None:
    """The number that a cell of a column holds, without its percent sign; `None`: it holds none."""
    if not (_COMMA if one.comma else _POINT).fullmatch(text):
        return None
    number = _number(text, one.comma)
    return number if math.isfinite(number) else None
