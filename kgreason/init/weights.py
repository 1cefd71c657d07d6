"""Readings of weights: parts of 1, percentages or other numbers; rows with wrong weights; shares in something owned."""

from __future__ import annotations

from kgreason.errors import DataError
from kgreason.init.columns import Column, often, sums, texts, written_one
from kgreason.init.tables import Table

_SLIPS = 0.05  # share of the weights that may be mistakes
_FAR = 2.0  # what no mistake among parts of 1 is above
_NAMED = 5  # wrong rows that are named
_MIXED = "some of its numbers have a % and some do not: "
_PERCENT, _ABS = {"percent": "true"}, {"scale": "abs"}
# Reading: options of the source, how 1 is written (None: weights are no parts of anything), and the reason
_READINGS: dict[str, tuple[dict[str, str], float | None, str]] = {
    "as stated": ({}, None, ""),
    "parts": ({}, 1.0, ""),
    "percent signs": ({}, 100.0, ""),
    "mixed parts": ({}, 1.0, f"{_MIXED}those without are parts of 1"),
    "mixed percent": (_PERCENT, 100.0, f"{_MIXED}all are taken for percentages"),
    "percent": (_PERCENT, 100.0, "numbers up to 100 that are shares are taken for percentages and divided by 100"),
    "counts": (_ABS, None, "its numbers are counts, not parts of 1: each is divided by the greatest. Rules of control "
               "need what part of the whole a count is; divide it by the sum of its company in the table"),
    "numbers": (_ABS, None, "weights must lie in [0,1], so each is divided by the greatest, without its sign"),
}  # fmt: skip


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
    table.notes.append(
        f"column {weight} is the weight: {what}; its values go from {weight.low:g}{unit} to {weight.high:g}{unit}"
    )
    if weight.comma:
        table.added["decimal"] = ","
        table.notes.append("its numbers have decimal commas")
    table.added |= added
    table.notes += [reason] if reason else []
    if whole is None:
        table.shares = False
        return
    wrong = _wrong_rows(table, weight, whole)
    if wrong:
        table.notes.append(
            f"rows with weights outside [0,{whole:g}] are wrong and must be mended: reasoning takes them as they are, "
            "but adds up no negative ones; anonymizing refuses them"
        )
        table.notes += [f"wrong: {row}" for row in wrong]
    totals = sorted(sums(target, weight, whole, most=whole)) or [2.0]
    fits = totals[-1] <= 1.0 + 1e-9
    if fits and not table.shares and sum(rows > 1 for rows in target.counts.values()) >= 3:
        table.shares = True
        table.notes.append("weights of the edges into each vertex sum to 1 at most, as shares do")
    table.shares |= weight.percent and totals[int(0.95 * (len(totals) - 1))] <= 1.005
    table.bounded = fits and table.whole and len(weight.values) == weight.rows and not wrong


def _reading(table: Table, weight: Column, target: Column) -> str:
    counted = [(number, "%" in text, weight.counts[text]) for text, number in weight.numbers.items()]
    rows, plain = sum(n for *_, n in counted), sum(n for _, sign, n in counted if not sign)
    slips = max(1, int(_SLIPS * rows))
    over, over_percent = (sum(n for v, _, n in counted if not 0 <= v <= most) for most in (1, 100))
    over_plain = sum(n for v, sign, n in counted if v > 1 and not sign)
    inside = sum(n for v, _, n in counted if 0 < v < 1)
    totals, parts = sorted(sums(target, weight, 1.0)) or [0.0], sums(target, weight, 1.0, most=1.0)
    near_one = any(abs(total - 1) < 0.02 for total in totals)
    stated, called, shares = table.options.get("percent"), weight.percent, table.shares or weight.percent
    marked, few, many = weight.marked > 0 and over_percent <= slips, over <= slips, 2 * over > rows
    counts = over_percent > slips or (weight.whole and often(sums(target, weight, 100.0), 1.2, 0.5))
    like_percent = (
        not over_percent and weight.fraction and totals[len(totals) // 2] >= 50 and totals[-1] <= 105
    )
    # the first reading whose condition holds, with what makes it doubtful and the options of the other reading
    decisions: list[tuple[bool, str, str, dict[str, str]]] = [
        ("scale" in table.options, "as stated", "", {}),
        (stated is not None, "percent signs" if stated == "true" else "parts", "", {}),
        (marked and not plain, "percent signs", "", {}),
        (marked and over_plain <= slips and 2 * plain > rows, "mixed parts", "all may be percentages", _PERCENT),
        (marked, "mixed percent", "those without may be parts of 1", {"percent": "false"}),
        (not over and called and weight.high < 1 and not near_one, "parts",
         f"column {weight.name} is called a percentage, but no number is above 1", _PERCENT),
        (not over, "parts", "", {}),
        (called and few and over_percent <= slips, "percent",
         f"{over:,} of {rows:,} numbers above 1 may be slips among parts of 1", {"percent": "false"}),
        (called and over_percent <= slips, "percent", "", {}),
        (shares and counts, "counts", "", {}),
        (shares and not many and weight.high <= _FAR, "parts", "", {}),
        (shares and (many or often(parts, 1.005, _SLIPS)), "percent", "", {}),
        (shares and few and 2 * over < rows, "parts", "they may be percentages", _PERCENT),
        (shares, "", "", {}),
        (rows >= 10 and over <= max(1, rows // 50) and 2 * inside > rows, "parts",
         "weights outside [0,1] may be no slips", _ABS),
        (like_percent, "percent", "", {}),
        (weight.low < 0 < weight.high, "numbers", "negative weights lose their sign, unless the lowest becomes 0",
         {"scale": "minmax"}),
        (True, "numbers", "", {}),
    ]  # fmt: skip
    _, reading, doubt, options = next(one for one in decisions if one[0])
    if doubt:
        table.doubt(doubt, **options)
    if not reading:
        readings = f"percentages {table.reading(percent='true')}, parts of 1 {table.reading(percent='false')}"
        what = (
            f"{over:,} of {rows:,} shares are above 1, so they may be percentages or slips among parts of 1"
        )
        raise DataError(table.name, what, column=weight.name, hint=f"say which: {readings}")
    return reading


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
