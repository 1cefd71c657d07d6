"""What a report says, before anything says how it looks; its JSON has a version.

A report is a list of sections, and a section a list of figures, tables, charts, pictures and witnesses. The families of
methods fill it (`report.py` of each family); one template shows them all (`html_page.py`).
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
    """One figure and what it means.

    Attributes
    ----------
    name, value
        As shown: ``"δ-anonymity"``, ``"1.000 (1,850 of 1,850, exact)"``.
    better
        What it should be: ``"better is 1"``; empty where nothing is better.
    term
        Name in `kgreason.release.report.words.TERMS`, whose definition is shown and linked to; empty: none.
    before
        The same of the original, where the figure is of a graph; `None`: there is none.
    number
        The value for programs; `None`: it is no number.
    note
        What limits the figure, for instance that it is an estimate; beside key figures the first clause stands alone.
    key
        Whether it is one of the few that matter most, which stand on top of the page.
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
    """Rows of text; cells that are numbers are aligned as such."""

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
        What the bins are of, with its unit: ``"number of incoming edges"``.
    labels
        Of the bins: ``("0", "1", "2", "3 to 4", ...)``.
    before, after
        Share of the vertices (edges, ...) in each bin, summing to 1; `before` is empty in a public report.
    counted
        What is counted: ``"share of vertices"``.
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
    """A drawn graph, or a sample of one.

    Attributes
    ----------
    title
        ``"before"`` or ``"after"``, with what is shown: ``"after: 300 of 12,000 vertices"``.
    x, y
        Place of each vertex within the unit square, two digits are enough.
    labels
        Of the vertices.
    synthetic
        Whether each vertex is synthetic.
    edges
        Source, target (numbers of vertices), relation, weight as text or empty, whether synthetic.
    note
        How the sample was taken.
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
    """A condition that was checked: its state, what was found, and witnesses where it does not hold."""

    name: str
    state: State
    detail: str
    witnesses: tuple[str, ...] = ()
    term: str = ""


Item = Figure | Table | Chart | Picture | Finding


@dataclass(frozen=True)
class Section:
    """A part of a report: a title, a lead in plain words, and items."""

    title: str
    lead: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Report(Displayed):
    """All that a page shows.

    Attributes
    ----------
    title
        For instance ``"Release of own.csv"``; of a public report nothing that names the original.
    secret
        Whether it tells of the original, so that it must not be published.
    state
        Of the verdict.
    verdict
        A few words: ``"(3,4)-isomorphism holds"``.
    done, safe
        Two sentences in plain words: what was done, and why it is safe (or that it is not).
    warnings
        Such as a fixed seed.
    sections
        In order: guarantee, risk, utility, distributions, picture, run.
    parameters
        All that repeats the run, and the versions that made it.
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
