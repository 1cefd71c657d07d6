"""Data model of reports, independent of their presentation; serialized as versioned JSON.

A report is a list of sections, and a section a list of figures, tables, charts, pictures and findings. Each family of
methods creates its report (`report.py` of the family); one template renders them all (`html_page.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kgreason.base.printable import Displayed

FORMAT = 1
"""Version of the JSON; a reader refuses another one."""

State = Literal["holds", "given up", "fails", "undecided"]


@dataclass(frozen=True)
class Figure:
    """One figure and its interpretation.

    Attributes
    ----------
    name, value
        As displayed: ``"δ-anonymity"``, ``"1.000 (1,850 of 1,850, exact)"``.
    better
        Preferred value: ``"better is 1"``; empty if there is none.
    term
        Name in `kgreason.release.report.words.TERMS`, whose definition is shown and linked; empty: none.
    before
        The same figure of the original graph, for figures of graphs; `None`: not available.
    number
        The value for programs; `None`: not a number.
    note
        Qualification of the figure, such as that it is an estimate; with key figures only the first clause is shown.
    key
        Whether it is one of the key figures at the top of the page.
    """

    name: str
    value: str
    better: str = ""
    term: str = ""
    before: str | None = None
    number: float | None = None
    note: str = ""
    key: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text; numeric cells are aligned as numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    better: str = ""
    term: str = ""
    note: str = ""


@dataclass(frozen=True)
class Chart:
    """Two distributions over the same bins, as bars side by side.

    Attributes
    ----------
    axis
        Quantity of the bins, with its unit: ``"number of incoming edges"``.
    labels
        Bin labels: ``("0", "1", "2", "3 to 4", ...)``.
    before, after
        Share of the vertices (edges, ...) in each bin, with sum 1; `before` is empty in a public report.
    counted
        Quantity of the bars: ``"share of vertices"``.
    """

    title: str
    axis: str
    labels: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    counted: str
    term: str = ""
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A drawing of a graph or of a sample of it.

    Attributes
    ----------
    title
        ``"before"`` or ``"after"``, and the number of vertices: ``"after: 300 of 12,000 vertices"``.
    x, y
        Position of each vertex in the unit square; two digits suffice.
    labels
        Vertex labels.
    synthetic
        Whether each vertex is synthetic.
    edges
        Source, target (vertex numbers), relation, weight as text or empty, whether synthetic.
    note
        Sampling method.
    """

    title: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    labels: tuple[str, ...]
    synthetic: tuple[bool, ...]
    edges: tuple[tuple[int, int, str, str, bool], ...]
    note: str = ""


@dataclass(frozen=True)
class Finding:
    """A condition that was checked: its state, the finding, and witnesses if it does not hold."""

    name: str
    state: State
    detail: str
    witnesses: tuple[str, ...] = ()
    term: str = ""


Item = Figure | Table | Chart | Picture | Finding


@dataclass(frozen=True)
class Section:
    """A section of a report: a title, an introduction, and items."""

    title: str
    lead: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Report(Displayed):
    """Content of a report page.

    Attributes
    ----------
    title
        For instance ``"Release of own.csv"``; in a public report without names of the original data.
    secret
        Whether it contains information on the original graph, so that it must not be published.
    state
        State of the verdict.
    verdict
        A few words: ``"(3,4)-isomorphism holds"``.
    done, safe
        Two sentences: what was done, and why the release is safe or not.
    warnings
        For instance on a fixed seed.
    sections
        In order: guarantee, risk, utility, distributions, picture, run.
    parameters
        Parameters and versions that reproduce the run.
    """

    title: str
    secret: bool
    state: State
    verdict: str
    done: str
    safe: str
    sections: tuple[Section, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
