"""What papers print, as data: tables of figures, each with the case that measures it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Measured = Mapping[str, float]


@dataclass(frozen=True)
class Case:
    """Something that is measured.

    Attributes
    ----------
    name
        Names its runs in the file of runs; no two cases have the same.
    measure
        From the folder of data and the number of the run: figures by name. ``holds``, where there is one, is 1 if the
        release was verified.
    runs
        How often it is measured; pages have means.
    """

    name: str
    measure: Callable[[Path, int], Measured] = field(compare=False)
    runs: int = 1


@dataclass(frozen=True)
class Cell:
    """A figure of a table.

    Attributes
    ----------
    case, figure
        What measures it, and the name of the figure there.
    paper
        What the paper prints, with its digits; empty: nothing.
    """

    case: Case
    figure: str
    paper: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a table: its title, and a cell (or none) for each column."""

    title: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Table:
    """A table, or a figure of which the text names values.

    Attributes
    ----------
    name
        Such as ``PCKGA, Table 2a``; the words of ``--only`` are parts of it.
    title
        What it shows.
    head
        What its rows are.
    columns, rows
        Titles of the columns, and the rows.
    digits
        Decimals of ours.
    higher
        Whether higher is better.
    words
        Markdown below the title.
    """

    name: str
    title: str
    head: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    digits: int = 4
    higher: bool = False
    words: str = ""

    @property
    def cases(self) -> Iterable[Case]:
        """Cases of all its cells."""
        return (cell.case for row in self.rows for cell in row.cells if cell)
