"""How tables stand on a page: heads that columns share, numbers to the right, long words that may be broken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from kgreason.records import dataclass
from kgreason.report.data import Figure, Table

WIDE = 8
"""Columns from which on a table is set smaller."""

SHORT = 14
"""Rows up to which a table is not divided between printed pages."""

LONG = 22
"""Letters of a word that is broken where it does not fit."""

_NUMBER = re.compile(r"(?:at least |about |[≥≤<>~] ?)?[+−–-]?\d(?:[\d,.' ]*\d)?\s?%?(?: ± [\d,.]+)?")
_NOTHING = frozenset({"", "-", "–", "—"})
_PAIR = re.compile(r"(.+), (before|after)")


@dataclass(frozen=True, slots=True)
class Head:
    """A head: its text, the columns that it is of, the rows of heads that it fills, and whether of numbers."""

    text: str
    columns: int
    rows: int
    numeric: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its text, and its class, ``number``, ``long`` or none."""

    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class DrawnTable:
    """All that a template needs: one or two rows of heads, and the rows."""

    heads: tuple[tuple[Head, ...], ...]
    rows: tuple[tuple[Cell, ...], ...]
    wide: bool
    short: bool


def drawn_table(table: Table) -> DrawnTable:
    """Divide the heads of a table, and class its cells."""
    numbers = [_numeric(table, column) for column in range(len(table.columns))]
    rows = tuple(
        tuple(
            Cell(text, "number" if number else _kind(text)) for text, number in zip(row, numbers, strict=True)
        )
        for row in table.rows
    )
    heads = tuple(_heads(table.columns, numbers))
    return DrawnTable(heads, rows, len(table.columns) >= WIDE, len(rows) <= SHORT)


def _numeric(table: Table, column: int) -> bool:
    """Whether all cells of a column that hold anything hold a number."""
    held = [cell for row in table.rows if (cell := row[column].strip()) not in _NOTHING]
    return bool(held) and all(_NUMBER.fullmatch(cell) for cell in held)


def _kind(text: str) -> str:
    return "long" if max(map(len, text.split()), default=0) > LONG else ""


def _heads(columns: tuple[str, ...], numbers: list[bool]) -> Iterator[tuple[Head, ...]]:
    """Rows of heads: columns ``x, before`` and ``x, after`` that follow each other share the head ``x``."""
    stems = [match[1] if (match := _PAIR.fullmatch(column)) else "" for column in columns]
    groups = [list(group) for _, group in groupby(range(len(columns)), lambda i: stems[i] or i)]
    paired = [group for group in groups if len(group) > 1]
    depth = 2 if paired else 1
    yield tuple(
        Head(stems[group[0]], len(group), 1, all(numbers[i] for i in group))
        if len(group) > 1
        else Head(columns[group[0]], 1, depth, numbers[group[0]])
        for group in groups
    )
    if paired:
        yield tuple(
            Head(columns[i].removeprefix(f"{stems[i]}, "), 1, 1, numbers[i])
            for group in paired
            for i in group
        )


def noted(figures: list[Figure]) -> list[tuple[str, list[Figure]]]:
    """Figures in groups that share a note, which then stands once; a note of one figure alone stays with it.

    Examples
    --------
    >>> a, b, c = Figure("a", "1", note="n"), Figure("b", "2", note="n"), Figure("c", "3", note="m")
    >>> [(note, len(group)) for note, group in noted([a, b, c])]
    [('n', 2), ('', 1)]
    """
    groups = [(note, list(group)) for note, group in groupby(figures, lambda figure: figure.note)]
    return [(note if len(group) > 1 else "", group) for note, group in groups]
