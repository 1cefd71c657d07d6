"""Charts and graph pictures of reports: bins of distributions, and layout in drawing units for the templates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.release.report.report_data import Chart, Picture

G = TypeVar("G")
SINGLE = 15  # largest number with a bin of its own
BINS = 10
WIDE = 1_000.0  # ratio of largest to smallest positive value above which bins grow with the values

# drawing units
# of a chart: width, margins, height of the field of the bars
WIDTH, LEFT, RIGHT, TOP, PLOT = 460, 50, 6, 34, 190
LETTER = 7.3  # mean character width of a label
LONGEST = 16  # maximum characters of a label
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25)
MOST_TICKS = 5
SIZE, MARGIN = 1000, 40  # of a picture
CURVE = 0.12  # bend of edges that share both ends, as a share of their length
WIDTHS = 4  # of edges
LABEL = 28  # maximum characters of the label of a vertex; the whole label stands beside the picture


class Series(NamedTuple):
    """Numbers of a chart, with their axis title, the counted objects, and a glossary term."""

    axis: str
    numbers: npt.NDArray[Any]
    counted: str
    term: str


def series_charts(
    series: Callable[[G], Mapping[str, Series]], released: G, original: G | None
) -> Iterator[Chart]:
    """Charts by title for the series of a graph."""
    before = {} if original is None else series(original)
    for title, after in series(released).items():
        yield distribution(title, after, before[title].numbers if title in before else None)


def distribution(title: str, after: Series, before: npt.NDArray[Any] | None = None) -> Chart:
    """Chart of shares by bin: of counts if the numbers are integers, else of values.

    Without the numbers of the original graph, chart and bins are of the release only.

    Examples
    --------
    >>> chart = distribution("In-degree", Series("edges", np.array([0, 1, 1, 40]), "vertices", ""), np.array([0, 1]))
    >>> chart.labels, chart.after
    (('0', '1', '2', '3 to 4', '5 to 8', '9 to 16', '17 to 32', '33 to 64'), (0.25, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25))
    >>> chart = distribution("Weights", Series("share", np.array([0.05, 0.95, 1.0]), "edges", "weight"))
    >>> chart.labels[0], chart.after[-1], chart.before
    ('0 to 0.1', 0.6667, ())
    """
    axis, numbers, counted, term = after
    bins = _count_bins if numbers.dtype.kind == "i" else _value_bins
    edges, labels = bins(numbers if before is None else np.concatenate([numbers, before]))
    shares = _shares(before, edges), _shares(numbers, edges)
    return Chart(title, axis, labels, *shares, f"share of {counted}", term)


def _count_bins(numbers: npt.NDArray[Any]) -> tuple[npt.NDArray[np.float64], tuple[str, ...]]:
    """Edges and labels of bins of nonnegative integers; they double for large numbers."""
    most = int(numbers.max(initial=0))
    uppers = list(range(most + 1))
    if most > SINGLE:
        uppers = [0, *(1 << i for i in range((most - 1).bit_length() + 1))]
    spans = [(low + 1, high) for low, high in pairwise([-1, *uppers])]
    labels = tuple(f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in spans)
    return np.array([-1, *uppers]) + 0.5, labels


def _value_bins(numbers: npt.NDArray[Any]) -> tuple[npt.NDArray[np.float64], tuple[str, ...]]:
    """Ten bins between 0 and 1 if all numbers are in this range, else between the extremes."""
    low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 1.0)
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    spaced = np.geomspace if low > 0 and high / low > WIDE else np.linspace
    edges = spaced(low, high if high > low else low + 1, BINS + 1)
    return edges, tuple(f"{a:.3g} to {b:.3g}" for a, b in pairwise(edges.tolist()))


def _shares(side: npt.NDArray[np.generic] | None, edges: npt.NDArray[np.float64]) -> tuple[float, ...]:
    if side is None:
        return ()
    counts, _ = np.histogram(np.clip(side, edges[0], edges[-1]), edges)
    return tuple(np.round(counts / max(len(side), 1), 4).tolist())


@record
class Bar:
    """A bar of the series ``before`` or ``after``, and its description."""

    x: float
    y: float
    width: float
    height: float
    series: str
    description: str


@record
class DrawnChart:
    """A chart in drawing units: bars in the order of the bins, and texts with their positions.

    `ticks` have a height; `labels` have the center of their bin, and are `turned` if too long to stand side by side.
    `base` and `height` are those of the zero line and of the drawing.
    """

    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    labels: tuple[tuple[float, str], ...]
    turned: bool
    base: float
    height: float


def drawn_chart(chart: Chart) -> DrawnChart:
    """Layout of a chart."""
    base, highest = float(TOP + PLOT), max((*chart.before, *chart.after), default=0.0)
    step = next((step for step in STEPS if highest / step <= MOST_TICKS), STEPS[-1])
    count = max(1, -int(-highest / step // 1))
    scale = PLOT / (count * step)
    each = (WIDTH - LEFT - RIGHT) / max(1, len(chart.labels))
    longest = max(map(len, chart.labels), default=0)
    turned = LETTER * longest > each - 4
    below = 20 + LETTER * min(longest, LONGEST) * 0.72 if turned else 22.0
    every = max(1, -int(-14 // each)) if turned else 1
    return DrawnChart(
        tuple(_bars(chart, each, base, scale)),
        tuple((base - i * step * scale, percent(i * step)) for i in range(count + 1)),
        tuple(
            (round(LEFT + each * (i + 0.5), 2), short(text, LONGEST))
            for i, text in enumerate(chart.labels)
            if i % every == 0
        ),
        turned,
        base,
        base + below + 22,
    )


def _bars(chart: Chart, each: float, base: float, scale: float) -> Iterator[Bar]:
    series = [(name, shares) for name in ("before", "after") if (shares := getattr(chart, name))]
    width = round(min(26.0, each * 0.8 / max(1, len(series))), 2)
    for i, label in enumerate(chart.labels):
        left = LEFT + each * (i + 0.5) - width * len(series) / 2
        for j, (name, shares) in enumerate(series):
            height = shares[i] * scale
            description = f"{name}, {label}: {percent(shares[i])}"
            x, y = round(left + j * width, 2), round(base - height, 2)
            yield Bar(x, y, width, round(height, 2), name, description)


def percent(share: float) -> str:
    r"""Format a share as a percentage, with as many digits as are needed for a nonzero value.

    Examples
    --------
    >>> percent(0.125), percent(0.5), percent(0.0004), percent(0)
    ('12.5\xa0%', '50\xa0%', '0.04\xa0%', '0\xa0%')
    """
    value = 100 * share
    digits = 1 if value >= 1 else 2
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
    return f"{'<0.01' if text == '0' and value > 0 else text}\xa0%"


@record
class DrawnEdge:
    """An edge: its ends, its line (the ``d`` of a path), 1-based width class, and description."""

    source: int
    target: int
    line: str
    width: int
    synthetic: bool
    description: str


@record
class DrawnPicture:
    """Positions and labels of vertices, edges, and whether widths represent weights."""

    vertices: tuple[tuple[int, int, str], ...]
    edges: tuple[DrawnEdge, ...]
    weighted: bool


def drawn_picture(picture: Picture) -> DrawnPicture:
    """Layout of a picture."""
    x, y = ([round(MARGIN + (SIZE - 2 * MARGIN) * at) for at in ats] for ats in (picture.x, picture.y))
    weights = [_number(weight) for _, _, _, weight, _ in picture.edges]
    largest = max((abs(w) for w in weights), default=0.0)
    alike = Counter(frozenset(edge[:2]) for edge in picture.edges)
    parallel: Counter[tuple[int, int]] = Counter()
    edges = []
    for (s, t, relation, text, synthetic), weight in zip(picture.edges, weights, strict=True):
        parallel[s, t] += 1
        bend = 0.0 if alike[frozenset((s, t))] == 1 else CURVE * parallel[s, t]
        width = min(WIDTHS, 1 + int(WIDTHS * abs(weight) / largest)) if largest else 1
        description = f"{picture.labels[s]} → {picture.labels[t]}: {relation} {text}".rstrip()
        edges.append(
            DrawnEdge(s, t, _line(x[s], y[s], x[t], y[t], bend, s == t), width, synthetic, description)
        )
    vertices = tuple(zip(x, y, (short(label, LABEL) for label in picture.labels), strict=True))
    return DrawnPicture(vertices, tuple(edges), len({abs(w) for w in weights if w}) > 1)


def short(text: str, length: int) -> str:
    """Shorten a text to a number of characters."""
    return text if len(text) <= length else text[: length - 1] + "…"


def _number(weight: str) -> float:
    """A weight; 0 if the text is not a finite number."""
    try:
        value = float(weight.replace(",", ""))
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0


def _line(x1: int, y1: int, x2: int, y2: int, bend: float, loop: bool) -> str:
    if loop:
        return f"M{x1} {y1}C{x1 - 45} {y1 - 50} {x1 + 45} {y1 - 50} {x1} {y1}"
    if not bend:
        return f"M{x1} {y1}L{x2} {y2}"
    # control point to the left of the direction, so that opposite edges bend apart
    middle = (x1 + x2) / 2 + bend * (y2 - y1), (y1 + y2) / 2 - bend * (x2 - x1)
    return f"M{x1} {y1}Q{middle[0]:.0f} {middle[1]:.0f} {x2} {y2}"
