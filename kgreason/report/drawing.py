"""Geometry of pictures of graphs: the lines of edges, and how thick they are; a template draws them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from kgreason.records import dataclass
from kgreason.report.data import Picture

SIZE, MARGIN = 1000, 40
"""Units of the square that the unit square of a picture becomes, and of its margin."""

CURVE = 0.12
"""How far edges that share both ends bend aside, as a share of their length."""

WIDTHS = 4
SHORT = 28
"""Letters of a label that are drawn; the whole is told beside the picture."""

FEW = 25
"""Vertices of which all labels are drawn where no script chooses."""


@dataclass(frozen=True, slots=True)
class DrawnVertex:
    """A vertex: its place, its label, what is drawn of the label, and whether it is synthetic."""

    x: float
    y: float
    label: str
    short: str
    synthetic: bool


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge: its ends, its line (the ``d`` of a path), class of its width from 1, and what it is."""

    source: int
    target: int
    line: str
    width: int
    synthetic: bool
    told: str


@dataclass(frozen=True, slots=True)
class DrawnPicture:
    """All that a template needs; `weighted`: whether widths tell weights."""

    vertices: tuple[DrawnVertex, ...]
    edges: tuple[DrawnEdge, ...]
    weighted: bool
    labelled: bool
    size: int = SIZE


def drawn_picture(picture: Picture) -> DrawnPicture:
    """Place the vertices and edges of a picture."""
    x = [round(MARGIN + (SIZE - 2 * MARGIN) * value) for value in picture.x]
    y = [round(MARGIN + (SIZE - 2 * MARGIN) * value) for value in picture.y]
    weights = [_number(weight) for _, _, _, weight, _ in picture.edges]
    known = [abs(w) for w in weights if w is not None]
    largest = max(known, default=0.0)
    vertices = (
        DrawnVertex(at_x, at_y, label, short(label), synthetic)
        for at_x, at_y, label, synthetic in zip(x, y, picture.labels, picture.synthetic, strict=True)
    )
    return DrawnPicture(
        tuple(vertices),
        tuple(_edges(picture, x, y, weights, largest)),
        len(set(known)) > 1,
        len(picture.labels) <= FEW,
    )


def short(label: str) -> str:
    """Label as far as it is drawn.

    Examples
    --------
    >>> short("Banca Centrale"), len(short("x" * 100))
    ('Banca Centrale', 28)
    """
    return label if len(label) <= SHORT else label[: SHORT - 1] + "…"


def _number(weight: str) -> float | None:
    try:
        value = float(weight.replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _edges(
    picture: Picture, x: list[int], y: list[int], weights: list[float | None], largest: float
) -> Iterator[DrawnEdge]:
    alike = Counter(frozenset((s, t)) for s, t, *_ in picture.edges)
    seen: Counter[tuple[int, int]] = Counter()
    for (s, t, relation, weight, synthetic), value in zip(picture.edges, weights, strict=True):
        seen[s, t] += 1
        bend = 0.0 if alike[frozenset((s, t))] == 1 else CURVE * seen[s, t]
        line = _loop(x[s], y[s]) if s == t else _line(x[s], y[s], x[t], y[t], bend)
        width = 1 if not value or not largest else min(WIDTHS, 1 + int(WIDTHS * abs(value) / largest))
        told = f"{picture.labels[s]} → {picture.labels[t]}: {relation} {weight}".rstrip()
        yield DrawnEdge(s, t, line, width, synthetic, told)


def _line(x1: int, y1: int, x2: int, y2: int, bend: float) -> str:
    if not bend:
        return f"M{x1} {y1}L{x2} {y2}"
    # aside to the left of its direction, so that there and back bend apart
    middle = (x1 + x2) / 2 + bend * (y2 - y1), (y1 + y2) / 2 - bend * (x2 - x1)
    return f"M{x1} {y1}Q{middle[0]:.0f} {middle[1]:.0f} {x2} {y2}"


def _loop(x: int, y: int) -> str:
    return f"M{x} {y}C{x - 45} {y - 50} {x + 45} {y - 50} {x} {y}"
