"""Plots of the figures of the KGISO paper."""

from __future__ import annotations

from plots import Panel, Plot, Style

from kgiso.cases import EXACT, KLONE, PUBLISHED, Figure, Line, Sweep
from kgiso.claims import Lines
from kgiso.compare import METRICS, Results

WHOLE = 10_000  # vertices up to which the paper does not divide graphs
BOUND = "KLONE, upper bound"
STYLES = {
    str(Line(KLONE)): Style("#0077bb", "o"),
    str(Line(PUBLISHED)): Style("#ee7733", "s"),
    str(Line(EXACT)): Style("#009988", "^"),
    str(Line(KLONE, split=True)): Style("#0077bb", "o", "--"),
    str(Line(PUBLISHED, split=True)): Style("#ee7733", "s", "--"),
    str(Line(EXACT, split=True)): Style("#009988", "^", "--"),
    BOUND: Style("#555555", "", ":"),
}
COLUMNS = 3  # of panels, where one sweep fills several rows


def plot(results: Results, figure: Figure) -> Plot:
    """Panels of a figure: one row a sweep, or one sweep in rows of three."""
    rows = [[panel(results, sweep, metric) for metric in figure.metrics] for sweep in figure.sweeps]
    if len(rows) == 1:
        rows = [rows[0][i : i + COLUMNS] for i in range(0, len(rows[0]), COLUMNS)]
    return Plot(f"{figure.title}: lower is better in every panel", rows, STYLES)


def panel(results: Results, sweep: Sweep, metric: str) -> Panel:
    """One metric along a sweep."""
    found = Lines(results, sweep)
    lines = {str(line): found.values(metric, line.method, split=line.split) for line in sweep.lines}
    if metric == "added":
        bounds = {at: 100.0 * (2 * s.k - 1) for at, s in sweep.lines[Line(KLONE)].items()}
        lines[BOUND] = bounds if any(lines.values()) else {}
    large = sweep.sizes and max(sweep.values) > WHOLE
    return Panel(
        sweep.title,
        sweep.axis,
        METRICS[metric].axis,
        lines,
        log_x=sweep.sizes,
        log_y=metric == "seconds",
        mark=WHOLE if large else None,
    )
