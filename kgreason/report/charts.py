"""Geometry of bar charts: where bars, ticks and labels stand; a template draws them."""

from __future__ import annotations

from collections.abc import Iterator

from kgreason.records import dataclass
from kgreason.report.data import Chart

WIDTH, LEFT, RIGHT, TOP, PLOT = 460, 50, 6, 34, 190
"""Units of the drawing: its width, the margins left and right and above, and the height of the bars' field."""

LETTER = 7.3
"""Mean width of a letter of a label."""

STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25)
MOST_TICKS = 5


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of the series ``before`` or ``after``, and what it stands for."""

    x: float
    y: float
    width: float
    height: float
    series: str
    told: str


@dataclass(frozen=True, slots=True)
class DrawnChart:
    """All that a template needs.

    Attributes
    ----------
    bars
        In the order of the bins.
    ticks
        Height and label of each.
    labels
        Middle and text of the bins that have one: of many bins, not each.
    turned
        Whether labels are too long to stand side by side, and are turned.
    base, height
        Height of the zero line, and of all.
    """

    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    labels: tuple[tuple[float, str], ...]
    turned: bool
    base: float
    height: float


def percent(share: float) -> str:
    r"""Share as a percentage, with as many digits as it takes to see it.

    Examples
    --------
    >>> percent(0.125), percent(0.5), percent(0.0004), percent(0)
    ('12.5\xa0%', '50\xa0%', '0.04\xa0%', '0\xa0%')
    """
    value = 100 * share
    digits = 1 if value >= 1 else 2
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
    return f"{'<0.01' if text == '0' and value > 0 else text}\xa0%"


def drawn_chart(chart: Chart) -> DrawnChart:
    """Place the bars of a chart."""
    base = float(TOP + PLOT)
    step = _step(max((*chart.before, *chart.after), default=0.0))
    highest = max((*chart.before, *chart.after), default=0.0)
    count = max(1, -int(-highest / step // 1))
    scale = PLOT / (count * step)
    each = (WIDTH - LEFT - RIGHT) / max(1, len(chart.labels))
    turned = any(LETTER * len(label) > each - 4 for label in chart.labels)
    longest = max(map(len, chart.labels), default=0)
    below = 22.0 if not turned else 20 + LETTER * min(longest, 16) * 0.72
    return DrawnChart(
        tuple(_bars(chart, each, base, scale)),
        tuple((base - i * step * scale, percent(i * step)) for i in range(count + 1)),
        tuple(_labels(chart.labels, each, turned)),
        turned,
        base,
        base + below + 22,
    )


def _step(highest: float) -> float:
    return next((step for step in STEPS if highest / step <= MOST_TICKS), STEPS[-1])


def _bars(chart: Chart, each: float, base: float, scale: float) -> Iterator[Bar]:
    series = [(name, shares) for name in ("before", "after") if (shares := getattr(chart, name))]
    width = round(min(26.0, each * 0.8 / max(1, len(series))), 2)
    for i, label in enumerate(chart.labels):
        left = LEFT + each * (i + 0.5) - width * len(series) / 2
        for j, (name, shares) in enumerate(series):
            height = shares[i] * scale
            told = f"{name}, {label}: {percent(shares[i])}"
            yield Bar(
                round(left + j * width, 2), round(base - height, 2), width, round(height, 2), name, told
            )


def _labels(labels: tuple[str, ...], each: float, turned: bool) -> Iterator[tuple[float, str]]:
    every = max(1, -int(-14 // each)) if turned else 1
    for i in range(0, len(labels), every):
        text = labels[i] if len(labels[i]) <= 16 else labels[i][:15] + "…"
        yield round(LEFT + each * (i + 0.5), 2), text
