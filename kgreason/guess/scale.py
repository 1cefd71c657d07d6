"""Whether weights are parts of 1, percentages, or numbers of another kind; and which rows hold none of these."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field, replace

import numpy as np
import numpy.typing as npt

from kgreason.errors import DataError
from kgreason.guess.columns import Column, numbers, read_number, texts
from kgreason.guess.tables import Found
from kgreason.records import dataclass

MORE = 2.0
"""What shares are above if they are percentages; a little more than 1 is a slip."""
_WRONG = 0.05
"""Rows among shares that may be slips."""
_NAMED = 5  # wrong rows that are named


@dataclass(frozen=True)
class Scale:
    """How weights become numbers in [0,1].

    Attributes
    ----------
    options
        That a source needs.
    said
        Words on them.
    doubts
        Other readings that are possible.
    whole
        What 1 is written as: 1 or 100; `None`: weights are no parts of anything.
    wrong
        Texts of weights outside [0, `whole`], where that is so of few.
    """

    options: dict[str, str] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    whole: float | None = 1.0
    wrong: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Spread:
    """Different numbers of a weight and the rows of each."""

    texts: tuple[str, ...]
    values: npt.NDArray[np.float64]
    rows: npt.NDArray[np.int64]

    def count(self, low: float, high: float) -> int:
        """Rows outside of a range."""
        return int(self.rows[(self.values < low) | (self.values > high)].sum())

    def outside(self, high: float) -> frozenset[str]:
        """Texts of numbers outside of [0, high], or of [0, 100] with a percent sign."""
        pairs = zip(self.texts, self.values, strict=True)
        return frozenset(t for t, v in pairs if not 0 <= v <= _whole(t, high))


def scale(table: Found, target: Column, weight: Column, *, ownership: bool) -> Scale:
    """Judge how weights are to be read.

    Raises
    ------
    DataError
        If shares may be parts of 1 as well as percentages.
    """
    said = () if not weight.comma else ("its numbers have decimal commas",)
    options = {"decimal": ","} if weight.comma else {}
    spread = _spread(table, weight)
    found = _given(table, spread) or _judged(table, target, weight, spread, ownership=ownership)
    return Scale({**options, **found.options}, (*said, *found.said), found.doubts, found.whole, found.wrong)


def _spread(table: Found, weight: Column) -> _Spread:
    import pyarrow.compute as pc

    counted = pc.value_counts(table.raw.columns[weight.number - 1])
    read = [
        (text, read_number(text, weight), rows)
        for text, rows in zip(
            texts(counted.field("values")), counted.field("counts").to_pylist(), strict=True
        )
    ]
    known = [(t, v, n) for t, v, n in read if v is not None]
    return _Spread(
        tuple(t for t, *_ in known),
        np.array([v for _, v, _ in known], dtype=np.float64),
        np.array([n for *_, n in known], dtype=np.int64),
    )


def _given(table: Found, spread: _Spread) -> Scale | None:
    """As the user says it."""
    if "scale" in table.options:
        return Scale(whole=None)
    if "percent" not in table.options:
        return None
    whole = 100.0 if table.options["percent"] == "true" else 1.0
    return Scale(whole=whole, wrong=spread.outside(whole))


def _judged(table: Found, target: Column, weight: Column, spread: _Spread, *, ownership: bool) -> Scale:
    rows = int(spread.rows.sum())
    over, over_percent = spread.count(0, 1), spread.count(0, 100)
    slips = max(1, int(_WRONG * rows))
    if weight.marked == 1 and over_percent <= slips:
        return Scale(whole=100.0, wrong=spread.outside(100))
    if weight.marked > 0 and over_percent <= slips:
        return _mixed(table, spread)
    if not over:
        return Scale(doubts=_of_one_percent(table, target, weight))
    if ownership or weight.percent:
        return _share(table, target, weight, spread)
    parts = int(spread.rows[(spread.values > 0) & (spread.values < 1)].sum())
    if rows >= 10 and over <= max(1, rows // 50) and 2 * parts > rows:
        doubt = f"weights outside [0,1] may be no slips; the other reading: {table.reading('scale=abs')}"
        return Scale(doubts=(doubt,), wrong=spread.outside(1))
    if over_percent == 0 and _sums_like_percent(target, weight):
        return _percent(spread)
    said = "weights must lie in [0,1], so each is divided by the greatest, without its sign"
    doubts: tuple[str, ...] = ()
    if spread.values.min() < 0 < spread.values.max():
        doubts = (
            "negative weights lose their sign; the other reading, in which the lowest is 0: "
            f"{table.reading('scale=minmax')}",
        )
    return Scale({"scale": "abs"}, (said,), doubts, None)


def _mixed(table: Found, spread: _Spread) -> Scale:
    """Numbers of which some have a percent sign; those without may be percentages, too, or parts of 1."""
    plain = np.array(["%" not in text for text in spread.texts])
    rows, over = int(spread.rows[plain].sum()), int(spread.rows[plain & (spread.values > 1)].sum())
    said = "some of its numbers have a % and some do not: "
    if over <= max(1, int(_WRONG * rows)) and 2 * rows > int(spread.rows.sum()):
        doubt = f"all may be percentages; the other reading: {table.reading('percent=true')}"
        return Scale(said=(f"{said}those without are parts of 1",), doubts=(doubt,), wrong=spread.outside(1))
    doubt = f"those without may be parts of 1; the other reading: {table.reading('percent=false')}"
    return Scale(
        {"percent": "true"}, (f"{said}all are taken for percentages",), (doubt,), 100.0, spread.outside(100)
    )


def _of_one_percent(table: Found, target: Column, weight: Column) -> tuple[str, ...]:
    """A doubt about a column that is called percent and has no number above 1."""
    totals = sums(target, weight, 1.0)
    if not weight.percent or weight.high == 1 or any(abs(total - 1) < 0.02 for total in totals):
        return ()
    reading = table.reading("percent=true")
    return (
        f"column {weight.name} is called a percentage, but no number is above 1; the other reading: {reading}",
    )


def _share(table: Found, target: Column, weight: Column, spread: _Spread) -> Scale:
    """Shares of which some are above 1: percentages, or slips among parts of 1."""
    rows = int(spread.rows.sum())
    slips = max(1, int(_WRONG * rows))
    over, over_percent = spread.count(0, 1), spread.count(0, 100)
    far = int(spread.rows[spread.values > MORE].sum())
    as_parts = Scale(wrong=spread.outside(1))
    if weight.percent and over_percent <= slips:
        few = f"{over:,} of {rows:,} numbers above 1 may be slips among parts of 1; the other reading: "
        doubts = (f"{few}{table.reading('percent=false')}",) if over <= slips else ()
        return replace(_percent(spread), doubts=doubts)
    if over_percent > slips or (weight.whole and _too_much(target, weight)):
        said = (
            "its numbers are counts, not parts of 1: each is divided by the greatest. Rules of control need what part "
            "of the whole a count is; divide it by the sum of its company in the table"
        )
        return Scale({"scale": "abs"}, (said,), (), None)
    if not far and 2 * over <= rows:
        return as_parts
    inside = sums(target, weight, 1.0, most=1.0)
    if sum(total > 1.005 for total in inside) > _WRONG * len(inside):
        return _percent(spread)
    if 2 * over > rows:
        return _percent(spread)
    if over <= slips and 2 * over < rows:
        doubt = f"they may be percentages; the other reading: {table.reading('percent=true')}"
        return Scale(doubts=(doubt,) if far else (), wrong=as_parts.wrong)
    raise DataError(
        table.name,
        f"{over:,} of {rows:,} shares are above 1, so they may be percentages or slips among parts of 1",
        column=weight.name,
        hint=f"say which: percentages {table.reading('percent=true')}, parts of 1 {table.reading('percent=false')}",
    )


def _percent(spread: _Spread) -> Scale:
    said = "numbers up to 100 that are shares are taken for percentages and divided by 100"
    return Scale({"percent": "true"}, (said,), (), 100.0, spread.outside(100))


def _too_much(target: Column, weight: Column) -> bool:
    """Whether percentages of many targets would sum to far more than 100."""
    totals = sums(target, weight, 100.0)
    return sum(total > 1.2 for total in totals) > 0.5 * len(totals)


def _sums_like_percent(target: Column, weight: Column) -> bool:
    totals = sorted(sums(target, weight, 1.0))
    return bool(totals) and not weight.whole and totals[len(totals) // 2] >= 50 and totals[-1] <= 105


def sums(target: Column, weight: Column, whole: float, most: float | None = None) -> list[float]:
    """Sums of the weights into each target, among the first rows, of those from 0 to `most`."""
    totals: defaultdict[str, float] = defaultdict(float)
    for name, text, number in zip(target.values, weight.values, numbers(weight), strict=True):
        if number is not None and (most is None or 0 <= number <= _whole(text, most)):
            totals[name] += number / _whole(text, whole)
    return list(totals.values())


def _whole(text: str, whole: float) -> float:
    """What 1 is written as in a cell: a percent sign says it, whatever it is in others."""
    return 100.0 if "%" in text else whole


def wrong_rows(table: Found, weight: Column, found: Scale) -> tuple[str, ...]:
    """Name the rows whose weights are none, as in ``row 52: 1.2 > 1``."""
    if not found.wrong or found.whole is None:
        return ()
    cells = texts(table.raw.columns[weight.number - 1])
    rows = [(row, text) for row, text in enumerate(cells) if text in found.wrong]
    told = []
    for row, text in rows[:_NAMED]:
        number, line = read_number(text, weight) or 0.0, table.raw.line(row)
        bound = "< 0" if number < 0 else f"> {_whole(text, found.whole):g}"
        told.append(f"row {row + 1}: {text.strip()} {bound}" + (f" (line {line})" if line else ""))
    if len(rows) > _NAMED:
        told[-1] += f", and {len(rows) - _NAMED:,} more"
    return tuple(told)
