"""Profiles of columns: their values, the numbers among them, and what the values look like."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from kgreason.data.cast import ABSENT, foreign
from kgreason.data.values import Objects, Unfit
from kgreason.init.words import COUNTS, PERCENTS, RANKS, SHARES, SOURCES, TARGETS, TIMES, WEIGHTS, words

SAMPLE = 20_000
"""Rows whose order and combinations are looked at; different values are counted over all rows."""
_MOST = 0.9  # share of the values that decides what a column holds
_POINT = re.compile(r"\s*[+-]?(\d+(,\d{3})+(\.\d*)?|\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*%?\s*")
_COMMA = re.compile(r"\s*[+-]?(\d{1,3}(\.\d{3})*|\d+)(,\d+)?\s*%?\s*")
_DATE = re.compile(r"[\"']?([\d#]{1,4}-[\d#]{1,2}-[\d#]{1,2}([ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4})[\"']?")
# Ranges of seconds and milliseconds since 1970, and of dates written as one number.
_EPOCHS = ((5e8, 4.3e9), (5e11, 4.3e12), (19000101, 21001231))


@dataclass(eq=False)
class Column:
    """Profile of a column.

    Its name, position from 1 and the words of the name; texts of the first `SAMPLE` rows (empty if missing), rows of
    each different text, and the number of each text that holds one, without its percent sign: no numbers if fewer
    than nine values in ten are numbers. Lists, objects and bytes (`nested`) are not looked at.
    """

    name: str
    number: int
    words: frozenset[str]
    rows: int
    missing: int
    values: tuple[str, ...]
    counts: Mapping[str, int]
    numbers: Mapping[str, float]
    comma: bool
    nested: bool = False

    def __post_init__(self) -> None:
        """Derive what the values and the name tell."""
        numbers, filled = self.numbers, [v for v in self.values if v]
        self.distinct = len(self.counts)
        self.constant = not self.nested and self.distinct <= 1 < self.rows
        self.unique = self.distinct == self.rows > 1
        self.few = self.distinct < (0.02 * self.rows if self.rows > 150 else 3) and self.rows > 5
        many = self.distinct > 0.3 * self.rows
        self.named_end, self.named_weight = bool(self.words & (SOURCES | TARGETS)), bool(self.words & WEIGHTS)

        self.numeric = bool(numbers)
        self.low, self.high = min(numbers.values(), default=0.0), max(numbers.values(), default=0.0)
        self.others = sorted(self.counts.keys() - numbers.keys()) if numbers else []
        self.marked = sum("%" in text for text in numbers) / max(1, len(numbers))
        self.percent = bool(self.words & PERCENTS) or self.marked > 0.5
        integers = self.numeric and not self.marked and all(n % 1 == 0 for n in numbers.values())
        self.whole = integers and (self.comma or not any("." in text for text in numbers))
        self.fraction = self.numeric and not self.whole
        # a number with commas between thousands, which no option of a source reads
        self.grouped = None if self.comma else min((text for text in numbers if "," in text), default=None)

        self.dated = bool(filled) and sum(map(bool, map(_DATE.fullmatch, filled))) >= _MOST * len(filled)
        epoch = many and self.whole and any(a <= self.low and self.high <= b for a, b in _EPOCHS)
        timely = not self.words & (WEIGHTS | COUNTS) and (epoch or bool(self.words & TIMES))
        self.time = self.dated or timely
        dense = self.unique and self.high - self.low < 3 * self.rows
        self.counter = dense and self.whole and not self.named_weight
        self.rank = integers and (bool(self.words & RANKS) or (not self.named_weight and _rises(self)))
        # times or counts that no name explains
        self.large = many and self.whole and not self.words and self.low >= 0 and self.high > 1e6

    def __str__(self) -> str:
        """Position and name, as comments show a column."""
        return f"{self.number} ({' '.join(self.name.split())})"

    @property
    def described(self) -> str:
        """The column, and what it looks like."""
        looks = (
            ("lists, objects or bytes", self.nested),
            ("one value", self.constant),
            ("a time", self.time),
            ("numbers the rows", self.counter),
            ("ranks", self.rank),
            ("counts", self.whole and bool(self.words & (SHARES | COUNTS))),
            ("large numbers", self.large),
            (f"{self.distinct:,} {'numbers' if self.numeric else 'values'}", True),
        )
        return f"{self} ({next(what for what, holds in looks if holds)})"


def column(name: str, number: int, cells: Any, *, named: bool = True) -> Column:
    """Profile a column.

    Parameters
    ----------
    cells
        An Arrow array, chunked or not, or the substitute of readers for values that Arrow has no type for.
    named
        The name is in the file, not invented by its reader.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    known = words(name) if named else frozenset()
    nested = isinstance(cells, Objects | Unfit) or pa.types.is_nested(cells.type)
    if nested or (isinstance(cells.type, pa.BaseExtensionType) and foreign(cells.type.storage_type)):
        return Column(name, number, known, len(cells), 0, (), {}, {}, comma=False, nested=True)
    counted = pc.value_counts(cells)
    counts: Counter[str] = Counter()
    for text, rows in zip(texts(counted.field("values")), counted.field("counts").to_pylist(), strict=True):
        counts[text] += rows
    missing = counts.pop("", 0)
    comma, numbers = _numbers(counts)
    values = tuple(texts(cells.slice(0, SAMPLE)))
    return Column(name, number, known, len(cells), missing, values, counts, numbers, comma)


def texts(cells: Any) -> list[str]:
    """Values as texts; blanks are empty."""
    import pyarrow as pa

    try:
        values = cells.to_pylist()
    except (ValueError, OverflowError):  # dates beyond those of Python
        values = cells.cast(pa.string()).to_pylist()
    found = ("" if v is None else v.isoformat() if isinstance(v, datetime) else str(v) for v in values)
    return [text if text.strip() else "" for text in found]


def _numbers(counts: Mapping[str, int]) -> tuple[bool, dict[str, float]]:
    """Whether the numbers have decimal commas, and the number of each text."""
    commas = {t: n for t in counts if _COMMA.fullmatch(t) and math.isfinite(n := _number(t, comma=True))}
    points = {t: n for t in counts if _POINT.fullmatch(t) and math.isfinite(n := _number(t, comma=False))}
    comma = len(commas) > len(points) or (
        len(commas) == len(points) and any(re.search(r",\d{1,2}(\D|$)|,\d{4}", t) for t in commas)
    )
    known = commas if comma else points
    filled = sum(rows for t, rows in counts.items() if t in known or not ABSENT.fullmatch(t.strip()))
    return comma, known if sum(counts[t] for t in known) >= _MOST * filled else {}


def _number(text: str, *, comma: bool) -> float:
    bare = text.replace("%", "")
    return float(bare.replace(".", "").replace(",", ".") if comma else bare.replace(",", ""))


def _rises(column: Column) -> bool:
    """Whether numbers count up by ones from 0 or 1, and perhaps start again."""
    found = [column.numbers[v] for v in column.values if v in column.numbers]
    if len(found) < 10 or found[0] not in (0, 1) or max(found) <= 1:
        return False
    return sum(b - a == 1 or b == found[0] for a, b in pairwise(found)) >= 0.95 * (len(found) - 1)


def often(totals: list[float], most: float, share: float) -> bool:
    """Whether a sum is above `most` for more than a share of the targets."""
    return sum(total > most for total in totals) > share * len(totals)


def sums(target: Column, weight: Column, whole: float, most: float | None = None) -> list[float]:
    """Sums of the weights into each target, among the first rows, of the weights from 0 to `most`."""
    totals: defaultdict[str, float] = defaultdict(float)
    for name, text in zip(target.values, weight.values, strict=True):
        number = weight.numbers.get(text)
        if number is not None and (most is None or 0 <= number <= written_one(text, most)):
            totals[name] += number / written_one(text, whole)
    return list(totals.values())


def written_one(text: str, whole: float) -> float:
    """How a cell writes 1: a percent sign tells it, whatever it is in other cells."""
    return 100.0 if "%" in text else whole
