"""Line plots as SVG, the same bytes for the same figures: panels in a grid, one legend, readable on dark pages too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WIDTH, HEIGHT = 3.4, 2.7  # inches of a panel

LOOK = {
    "svg.fonttype": "none",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
}


@dataclass(frozen=True)
class Style:
    """How a line is drawn: colour, mark at each point, and kind of stroke."""

    colour: str
    marker: str = ""
    stroke: str = "-"


@dataclass(frozen=True)
class Panel:
    """Lines over one quantity.

    Attributes
    ----------
    title, x, y
        Its name, and those of its axes with their units.
    lines
        Points of each line, by the name that the legend has.
    log_x, log_y
        Which axes are logarithmic.
    mark
        Position of a vertical line.
    """

    title: str
    x: str
    y: str
    lines: Mapping[str, Mapping[float, float]]
    log_x: bool = False
    log_y: bool = False
    mark: float | None = None


@dataclass(frozen=True)
class Plot:
    """Panels in rows under one title.

    Attributes
    ----------
    title
        Title.
    rows
        Panels; rows may differ in length.
    styles
        How each line is drawn; the legend has them in this order, as far as they are drawn.
    """

    title: str
    rows: Sequence[Sequence[Panel]]
    styles: Mapping[str, Style] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Write it as SVG, with text as text; the background is white."""
        import matplotlib as mpl

        mpl.use("svg")
        from matplotlib import pyplot as plt

        with mpl.rc_context({**LOOK, "svg.hashsalt": path.name}):
            width = max(map(len, self.rows))
            size = (WIDTH * width, HEIGHT * len(self.rows) + 0.7)
            figure, grid = plt.subplots(
                len(self.rows), width, figsize=size, squeeze=False, layout="constrained"
            )
            figure.suptitle(self.title)
            for axes, panels in zip(grid, self.rows, strict=True):
                for place, panel in zip(axes, panels, strict=False):
                    self.draw(place, panel)
                for place in axes[len(panels) :]:
                    place.set_axis_off()
            drawn = {
                name for row in self.rows for panel in row for name, points in panel.lines.items() if points
            }
            names = [name for name in self.styles if name in drawn]
            if names:
                handles = [plt.Line2D([], [], **self.stroke(name)) for name in names]
                columns = min(len(names), max(map(len, self.rows)) + 1)
                figure.legend(handles, names, loc="outside lower center", ncols=columns, frameon=False)
            figure.savefig(path, format="svg", facecolor="white", metadata={"Date": None})
            plt.close(figure)

    def stroke(self, name: str) -> dict[str, Any]:
        """A line's style in the words of matplotlib."""
        style = self.styles[name]
        return {"color": style.colour, "marker": style.marker, "linestyle": style.stroke, "markersize": 4}

    def draw(self, axes: Any, panel: Panel) -> None:
        """Draw one panel."""
        axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
        for name, points in panel.lines.items():
            if points:
                at = sorted(points)
                axes.plot(at, [points[x] for x in at], **self.stroke(name), clip_on=False, zorder=3)
        if not any(panel.lines.values()):
            axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center")
            return
        if panel.log_x:
            axes.set_xscale("log")
        elif all(float(x).is_integer() for points in panel.lines.values() for x in points):
            axes.xaxis.get_major_locator().set_params(integer=True)
        if panel.log_y:
            axes.set_yscale("log", subs=[])
            axes.yaxis.get_major_locator().set_params(subs=(1.0, 3.0))
        else:
            axes.set_ylim(bottom=0)
        axes.minorticks_off()
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        if panel.mark is not None:
            axes.axvline(panel.mark, color="#cc3311", linewidth=0.8)
