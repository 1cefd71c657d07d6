"""Columns of text that are numbers but for a few cells."""

from __future__ import annotations

import re

import numpy as np

from kgreason.engine.table import Kind
from kgreason.graph.io.cast import (
    ABSENT,
    COMMA_NUMBER,
    COMMA_PLAUSIBLE,
    DECIMAL_COMMA,
    DECIMAL_POINT,
    INTEGER,
    MARK,
    NUMBER,
    PLAUSIBLE,
    all_fit,
    fits,
    infer,
)
from kgreason.graph.io.raw import Column
from kgreason.graph.io.select import Selected, Shape
from kgreason.graph.io.values import int64, is_text

_FEW = 3
_LONG = re.compile(r"^[+-]?[1-9][0-9]{18,}$")
_PART = 100  # one in so many cells is few, too


def almost_numbers(table: Selected, shape: Shape) -> tuple[str, ...]:
    """Say of each column that is read as text which few cells make it so."""
    if table.raw.typed or not table.columns:
        return ()
    said = (_said(table, shape, p) for p in range(shape.arity) if shape.kinds[p] is None)
    return tuple(note for note in said if note)


def _said(table: Selected, shape: Shape, position: int) -> str | None:
    column = table.present(position)
    raw, name = table.raw, table.names[position]
    if name in raw.texts:
        return None
    if (value := _other_point(column, table.decimal)) is not None:
        cure = DECIMAL_POINT if table.decimal == "," else DECIMAL_COMMA
        return f"{raw.file}: column {name!r} is text, as {value!r} is; {cure}"
    odd = _odd_cells(column, table.decimal)
    if not len(odd):
        return None
    value = column[int(odd[0])].as_py()
    row = int(table.rows[table.place(position, int(odd[0]))])
    line = raw.line(row)
    where = f"row {row + 1}" if line is None else f"line {line}"
    others = f" (and {len(odd) - 1:,} other{'s' * (len(odd) > 2)})" if len(odd) > 1 else ""
    mark = value.strip()
    if _is_name(column, odd, mark):
        return (
            f"{raw.file}: the whole column {name!r} is read as text because of {value!r} in {where}{others}; "
            f'@mapping("{shape.predicate}", {position}, "{name}", "string") says that it is meant, '
            '"int" makes that an error'
        )
    mapped, does = "double", "makes that an error"
    if _LONG.fullmatch(mark):
        where += ", a number of more than 18 digits"
        exact = int64(mark) is not None
        mapped, does = ("int", "reads it exactly") if exact else ("double", "rounds it")
    mapping = f'@mapping("{shape.predicate}", {position}, "{name}", "{mapped}") {does}'
    marks = not raw.memory and MARK.fullmatch(mark)
    marked = f"nullString={mark} makes such cells missing; " if marks else ""
    if table.decimal != "," and "," in mark and re.match(COMMA_NUMBER, mark):
        no_points = (fits(column, NUMBER) <= fits(column, COMMA_NUMBER)).all()
        marked = f"{DECIMAL_COMMA}; " if no_points else ""
    elif table.decimal == "," and re.match(NUMBER, mark) and not _LONG.fullmatch(mark):
        marked = "with decimal=, points group thousands; "
    return f"{raw.file}: column {name!r} is text because of {value!r} in {where}{others}; {marked}{mapping}"


def _is_name(column: Column, odd: np.ndarray[tuple[int], np.dtype[np.intp]], mark: str) -> bool:
    """Whether a cell is a name among integers: ids, where one is written once; what is missing is so more often."""
    if not any(c.isalpha() for c in mark) or ABSENT.fullmatch(mark):
        return False
    once = sum(column[int(row)].as_py().strip() == mark for row in odd) == 1
    return once and int(fits(column, INTEGER).sum()) == len(column) - len(odd)


def _other_point(column: Column, decimal: str) -> str | None:
    """The first number with the other decimal point in a column that holds nothing but such numbers and plain ones."""
    if not is_text(column) or not len(column):
        return None
    own, other = (COMMA_NUMBER, NUMBER) if decimal == "," else (NUMBER, COMMA_NUMBER)
    if not all_fit(column, other):
        return None
    odd = np.flatnonzero(~fits(column, own))
    return None if not len(odd) else str(column[int(odd[0])].as_py())


def _odd_cells(column: Column, decimal: str) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Rows of the cells that are no numbers where few are and the most are; else none.

    Digits with leading zeros are names: a column that holds some has nothing odd. So are many with more than
    18, but a few are odd.
    """
    none = np.empty(0, dtype=np.intp)
    if not is_text(column) or not len(column) or infer(column, decimal) is not Kind.STRING:
        return none
    plain, number = (COMMA_PLAUSIBLE, COMMA_NUMBER) if decimal == "," else (PLAUSIBLE, NUMBER)
    most = min(max(_FEW, len(column) // _PART), len(column) // 2)
    if np.count_nonzero(~fits(column.slice(0, 2 * most + 1), plain)) > most:
        return none  # as of most columns of names a part tells
    numbers = fits(column, plain)
    odd = np.flatnonzero(~numbers)
    few = len(odd) <= most
    return (
        odd if few and bool((fits(column, number) == numbers | fits(column, _LONG.pattern)).all()) else none
    )
