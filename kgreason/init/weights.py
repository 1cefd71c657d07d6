"""Readings of weights: parts of 1, percentages or other numbers; rows with wrong weights; shares in something owned."""

from __future__ import annotations

from kgreason.errors import DataError
from kgreason.init.columns import Column, often, sums, texts, written_one
from kgreason.init.tables import Table

_SLIPS = 0.05  # share of the weights that may be mistakes
_FAR = 2.0  # what no mistake among parts of 1 is above
_NAMED = 5  # wrong rows that are named
_MIXED = "some of its numbers have a % and some do not: "
# Reading: options of the source, how 1 is written (None: weights are no parts of anything), and the reason
_READINGS: dict[str, tuple[dict[str, str], float | None, str]] = {
    "as stated": ({}, None, ""),
    "parts": ({}, 1.0, ""),
    "percent signs": ({}, 100.0, ""),
    "mixed parts": ({}, 1.0, f"{_MIXED}those without are parts of 1"),
    "mixed percent": ({"percent": "true"}, 100.0, f"{_MIXED}all are taken for percentages"),
    "percent": (
        {"percent": "true"},
        100.0,
        "numbers up to 100 that are shares are taken for percentages and divided by 100",
    ),
    "counts": (
        {"scale": "abs"},
        None,
        "its numbers are counts, not parts of 1: each is divided by the greatest. Rules of control need what part of "
        "the whole a count is; divide it by the sum of its company in the table",
    ),
    "numbers": (
        {"scale": "abs"},
        None,
        "weights must lie in [0,1], so each is divided by the greatest, without its sign",
    ),
}


def read_weights(table: Table) -> None:
    """Choose the reading of the weights of edges, say why, and name the rows that are wrong under it.

    Raises
    ------
    DataError
        If shares may be parts of 1 as well as percentages.
    """
    weight, target = table.roles["weight"], table.roles["target"]
    added, whole, reason = _READINGS[_reading(table, weight, target)]
    unit = "%" if weight.marked > 0.5 else ""
    what = "by its name" if weight.named_weight else "it holds numbers"
    table.reasons.append(
        f"column {weight} is the weight: {what}; its values go from {weight.low:g}{unit} to {weight.high:g}{unit}"
    )
    if weight.comma:
        table.added["decimal"] = ","
        table.reasons.append("its numbers have decimal commas")
    table.added |= added
    table.reasons += [reason] if reason else []
    if whole is None:
        table.shares = False
        return
    table.wrong = _wrong_rows(table, weight, whole)
    if table.wrong:
        table.reasons.append(
            f"rows with weights outside [0,{whole:g}] are wrong and must be mended: reasoning takes them as they are, "
            "but adds up no negative ones; anonymizing refuses them"
        )
    totals = sorted(sums(target, weight, whole, most=whole)) or [2.0]
    fits = totals[-1] <= 1.0 + 1e-9
    if fits and not table.shares and sum(rows > 1 for rows in target.counts.values()) >= 3:
        table.shares = True
        table.reasons.append("weights of the edges into each vertex sum to 1 at most, as shares do")
    table.shares |= weight.percent and totals[int(0.95 * (len(totals) - 1))] <= 1.005
    table.bounded = fits and table.whole and len(weight.values) == weight.rows and not table.wrong


def _reading(table: Table, weight: Column, target: Column) -> str:
    if "scale" in table.options:
        return "as stated"
    if "percent" in table.options:
        return "percent signs" if table.options["percent"] == "true" else "parts"
    counted = [(number, "%" in text, weight.counts[text]) for text, number in weight.numbers.items()]
    rows = sum(n for *_, n in counted)
    slips = max(1, int(_SLIPS * rows))
    over, over_percent = (sum(n for v, _, n in counted if not 0 <= v <= most) for most in (1, 100))
    totals = sorted(sums(target, weight, 1.0))
    if weight.marked and over_percent <= slips:
        plain = sum(n for _, sign, n in counted if not sign)
        if not plain:
            return "percent signs"
        if sum(n for v, sign, n in counted if v > 1 and not sign) <= slips and 2 * plain > rows:
            table.doubt("all may be percentages", percent="true")
            return "mixed parts"
        table.doubt("those without may be parts of 1", percent="false")
        return "mixed percent"
    if not over:
        if weight.percent and weight.high < 1 and not any(abs(total - 1) < 0.02 for total in totals):
            table.doubt(
                f"column {weight.name} is called a percentage, but no number is above 1", percent="true"
            )
        return "parts"
    if table.shares or weight.percent:
        return _reading_of_shares(table, weight, target, rows, over, over_percent)
    if rows >= 10 and over <= max(1, rows // 50) and 2 * sum(n for v, _, n in counted if 0 < v < 1) > rows:
        table.doubt("weights outside [0,1] may be no slips", scale="abs")
        return "parts"
    if not over_percent and weight.fraction and totals[len(totals) // 2] >= 50 and totals[-1] <= 105:
        return "percent"
    if weight.low < 0 < weight.high:
        table.doubt(
            "negative weights lose their sign",
            reading="the other reading, in which the lowest is 0",
            scale="minmax",
        )
    return "numbers"


def _reading_of_shares(
    table: Table, weight: Column, target: Column, rows: int, over: int, over_percent: int
) -> str:
    """Shares of which some are above 1: percentages, or mistakes among parts of 1."""
    slips = max(1, int(_SLIPS * rows))
    far = weight.high > _FAR
    if weight.percent and over_percent <= slips:
        if over <= slips:
            table.doubt(
                f"{over:,} of {rows:,} numbers above 1 may be slips among parts of 1", percent="false"
            )
        return "percent"
    if over_percent > slips or (weight.whole and often(sums(target, weight, 100.0), 1.2, 0.5)):
        return "counts"
    if 2 * over <= rows and not far:
        return "parts"
    if 2 * over > rows or often(sums(target, weight, 1.0, most=1.0), 1.005, _SLIPS):
        return "percent"
    if over <= slips and 2 * over < rows:
        table.doubt("they may be percentages", percent="true")
        return "parts"
    raise DataError(
        table.name,
        f"{over:,} of {rows:,} shares are above 1, so they may be percentages or slips among parts of 1",
        column=weight.name,
        hint=f"say which: percentages {table.reading(percent='true')}, parts of 1 {table.reading(percent='false')}",
    )


def _wrong_rows(table: Table, weight: Column, whole: float) -> list[str]:
    """Rows whose weights are outside [0, whole], as in ``row 52: 1.2 > 1``."""
    wrong = {text: n for text, n in weight.numbers.items() if not 0 <= n <= written_one(text, whole)}
    cells = texts(table.raw.columns[weight.number - 1]) if wrong else []
    rows = [(row, text) for row, text in enumerate(cells) if text in wrong]
    told = []
    for row, text in rows[:_NAMED]:
        line = table.raw.line(row)
        bound = "< 0" if wrong[text] < 0 else f"> {written_one(text, whole):g}"
        told.append(f"row {row + 1}: {text.strip()} {bound}" + (f" (line {line})" if line else ""))
    if len(rows) > _NAMED:
        told[-1] += f", and {len(rows) - _NAMED:,} more"
    return told
