"""Geometry of pictures of graphs: the lines of edges, and how thick they are; a template draws them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from kgreason.report.data import Picture

SIZE, MARGIN = 1000, 40
"""Units of the square that the unit square of a picture becomes, and of its margin."""

CURVE = 0.12
"""How far edges that share both ends bend aside, as a share of their length."""

WIDTHS = 4
SHORT = 28
"""Letters of a label that are drawn; the whole is told beside the picture."""


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
    """Places and labels of vertices, edges, and whether widths tell weights."""

    vertices: tuple[tuple[int, int, str], ...]
    edges: tuple[DrawnEdge, ...]
    weighted: bool


def drawn_picture(picture: Picture) -> DrawnPicture:
    """Place the vertices and edges of a picture."""
    x, y = ([round(MARGIN + (SIZE - 2 * MARGIN) * at) for at in ats] for ats in (picture.x, picture.y))
    weights = [_number(weight) for _, _, _, weight, _ in picture.edges]
    largest = max((abs(w) for w in weights), default=0.0)
    alike = Counter(frozenset(edge[:2]) for edge in picture.edges)
    seen: Counter[tuple[int, int]] = Counter()
    edges = []
    for (s, t, relation, text, synthetic), weight in zip(picture.edges, weights, strict=True):
        seen[s, t] += 1
        bend = 0.0 if alike[frozenset((s, t))] == 1 else CURVE * seen[s, t]
        width = min(WIDTHS, 1 + int(WIDTHS * abs(weight) / largest)) if largest else 1
        told = f"{picture.labels[s]} → {picture.labels[t]}: {relation} {text}".rstrip()
        edges.append(DrawnEdge(s, t, _line(x[s], y[s], x[t], y[t], bend, s == t), width, synthetic, told))
    vertices = tuple(zip(x, y, map(short, picture.labels), strict=True))
    return DrawnPicture(vertices, tuple(edges), len({abs(w) for w in weights if w}) > 1)


def short(label: str) -> str:
    """Label as far as it is drawn.

    Examples
    --------
    >>> short("Banca Centrale"), len(short("x" * 100))
    ('Banca Centrale', 28)
    """
    return label if len(label) <= SHORT else label[: SHORT - 1] + "…"


def _number(weight: str) -> float:
    """A weight; 0 where the text is no finite number."""
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
    # aside to the left of its direction, so that there and back bend apart
    middle = (x1 + x2) / 2 + bend * (y2 - y1), (y1 + y2) / 2 - bend * (x2 - x1)
    return f"M{x1} {y1}Q{middle[0]:.0f} {middle[1]:.0f} {x2} {y2}"
