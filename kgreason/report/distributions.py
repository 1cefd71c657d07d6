"""Distributions before and after as charts: numbers of edges in bins that double, weights in ten equal ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from kgreason.report.data import Chart

Counts = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]
SINGLE = 15  # up to here each number has a bin of its own
BINS = 10
WIDE = 1_000.0  # ratio of the largest to the least positive value from which bins grow with the values


def counts_chart(
    title: str,
    axis: str,
    after: Counts,
    before: Counts | None = None,
    counted: str = "vertices",
    term: str = "",
) -> Chart:
    """Shares of vertices by a whole number, such as a degree.

    Parameters
    ----------
    after, before
        The numbers in the release and in the original, at least 0; without the latter the chart is of the release
        alone, its bins too.

    Examples
    --------
    >>> chart = counts_chart("In-degree", "edges", np.array([0, 1, 1, 40]), np.array([0, 1]))
    >>> chart.labels, chart.after
    (('0', '1', '2', '3 to 4', '5 to 8', '9 to 16', '17 to 32', '33 to 64'), (0.25, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25))
    """
    sides = [side for side in (after, before) if side is not None]
    most = max((int(side.max(initial=0)) for side in sides), default=0)
    uppers = list(range(most + 1)) if most <= SINGLE else _doubling(most)
    labels = [_span(low + 1, high) for low, high in zip([-1, *uppers], uppers, strict=False)]
    edges = np.array(uppers)
    return _chart(
        title, axis, labels, lambda side: np.searchsorted(edges, side), after, before, counted, term
    )


def values_chart(
    title: str,
    axis: str,
    after: Values,
    before: Values | None = None,
    counted: str = "edges",
    term: str = "weight",
) -> Chart:
    """Shares of edges by weight: ten bins between 0 and 1 if all lie there, else ten between the least and the largest.

    Examples
    --------
    >>> chart = values_chart("Weights", "share", np.array([0.05, 0.95, 1.0]))
    >>> chart.labels[0], chart.after[-1], chart.before
    ('0 to 0.1', 0.6667, ())
    """
    sides = [side for side in (after, before) if side is not None and len(side)]
    low, high = (min(map(np.min, sides)), max(map(np.max, sides))) if sides else (0.0, 1.0)
    edges = _edges(float(low), float(high))
    labels = [f"{a:.3g} to {b:.3g}" for a, b in pairwise(edges)]
    inner = np.array(edges[1:-1])
    return _chart(
        title, axis, labels, lambda side: np.searchsorted(inner, side, "right"), after, before, counted, term
    )


def _doubling(most: int) -> list[int]:
    uppers = [0, 1, 2]
    while uppers[-1] < most:
        uppers.append(uppers[-1] * 2)
    return uppers


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _edges(low: float, high: float) -> list[float]:
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    wide = low > 0 and high / low > WIDE
    edges = (np.geomspace if wide else np.linspace)(low, high if high > low else low + 1, BINS + 1)
    return list(map(float, edges))


def _chart(
    title: str,
    axis: str,
    labels: Sequence[str],
    binned: Callable[[npt.NDArray[np.generic]], npt.NDArray[np.intp]],
    after: npt.NDArray[np.generic],
    before: npt.NDArray[np.generic] | None,
    counted: str,
    term: str,
) -> Chart:
    def shares(side: npt.NDArray[np.generic]) -> tuple[float, ...]:
        numbers = np.bincount(binned(side), minlength=len(labels)) / max(len(side), 1)
        return tuple(round(share, 4) for share in numbers.tolist())

    first = () if before is None else shares(before)
    return Chart(title, axis, tuple(labels), first, shares(after), f"share of {counted}", term)
