"""Plots of Figures 7 to 9, and of precision and recall over the number of students."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from plots import Panel, Plot, Style

from zheleva.conclusions import FEW
from zheleva.derived import OVER_SIZE, Derived
from zheleva.series import COARSE, FINE, INTACT, PARTIAL, SIX, THRESHOLDS, Measured, Point, Release, Series
from zheleva.values import ATTACKERS, WAYS, Valued

Value = Callable[[Point], float | None]
GUESS = "all pairs (friendship density)"
STYLES = {
    str(release): style
    for release, style in zip(
        SIX,
        (
            Style("#000000", "o"),
            Style("#cc3311", "s"),
            Style("#0077bb", "^"),
            Style("#33bbee", "v"),
            Style("#ee7733", "D"),
            Style("#009988", "x", "--"),
        ),
        strict=True,
    )
} | {GUESS: Style("#777777", "", ":")}


def plots(found: Measured) -> dict[str, Plot]:
    """All plots, by the names of their files."""
    over = "friendship likelihood threshold"
    graphs = {"dense: 10 classes, 10 groups": found.dense, "sparse: 30 classes, 30 groups": found.sparse}

    def pair(y: str, value: Value) -> list[list[Panel]]:
        return [
            [
                Panel(title, over, y, {str(r): _line(_by_threshold(series, r), value) for r in SIX})
                for title, series in graphs.items()
            ]
        ]

    density, size = "classmate density", "students"
    return {
        "links7": Plot("Figure 7: friends revealed", pair("friends revealed, mean", _revealed), STYLES),
        "links8": Plot("Figure 8: precision of what is revealed", pair("precision", _precision), STYLES),
        "links9": Plot(
            "Figure 9: precision and recall over classmate density",
            _both(found.by_density, density, (0.4, 0.6, 0.8)),
            STYLES,
        ),
        "links_size": Plot(
            "Precision and recall over the number of students", _both(found.by_size, size, (0.4, 0.6)), STYLES
        ),
    }


def plot_of_values(found: Valued) -> Plot:
    """Revealed and precision over the threshold, of the attackers who see links, and links and countries."""
    colours = ("#000000", "#777777", "#cc3311", "#ee7733", "#0077bb", "#33bbee", "#009988", "#66ccbb")
    styles = {
        str(way): Style(colour, "osD^v<x+"[i])
        for i, (way, colour) in enumerate(zip(WAYS, colours, strict=True))
    }
    rows = [
        [
            Panel(
                f"by {attacker}",
                "friendship likelihood threshold",
                y,
                {
                    str(way): _line({at: found.points[way, attacker, at] for at in THRESHOLDS}, value)
                    for way in WAYS
                },
            )
            for attacker in ATTACKERS
        ]
        for y, value in (("friends revealed, mean", _revealed), ("precision", _precision))
    ]
    return Plot("Schools whose students have countries", rows, styles)


def plot_of_rules(found: Derived) -> Plot:
    """Revealed and precision over the threshold, and precision and recall over the size of groups."""
    over, low = "probability threshold", THRESHOLDS[0]
    rows = [
        [
            Panel(name, over, y, {str(r): _line(_by_threshold(series, r), value) for r in SIX})
            for name, series in found.graphs.items()
        ]
        for y, value in (("links of control revealed, mean", _revealed), ("precision", _precision))
    ]
    title = f"registers, threshold {low:g}"
    rows.append(
        [
            Panel(
                title,
                "companies in a group, mean",
                y,
                {
                    str(r): _line({size: one.points[r, low] for size, one in found.by_group.items()}, value)
                    for r in OVER_SIZE
                },
            )
            for y, value in (("precision", _precision), ("recall", _recall))
        ]
    )
    return Plot("Control, which rules derive", rows, STYLES)


def _both(series: Mapping[float, Series], x: str, thresholds: tuple[float, ...]) -> list[list[Panel]]:
    """A row a threshold: precision, recall."""
    rows = []
    for at in thresholds:
        row = []
        for y, value in (("precision", _precision), ("recall", _recall)):
            lines = {
                str(r): _line({place: one.points[r, at] for place, one in series.items()}, value)
                for r in (INTACT, PARTIAL, FINE, COARSE)
            }
            if value is _precision:
                lines[GUESS] = {place: one.friends for place, one in series.items()}
            row.append(Panel(f"threshold {at:g}", x, y, lines))
        rows.append(row)
    return rows


def _by_threshold(series: Series, release: Release) -> dict[float, Point]:
    return {at: series.points[release, at] for at in THRESHOLDS}


def _line(points: Mapping[float, Point], value: Value) -> dict[float, float]:
    return {at: y for at, point in points.items() if (y := value(point)) is not None}


def _revealed(point: Point) -> float:
    return point.revealed


def _precision(point: Point) -> float | None:
    return point.precision if point.predicted >= FEW else None


def _recall(point: Point) -> float:
    return point.recall
