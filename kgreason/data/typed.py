"""The kinds of the columns of a predicate over all its sources, their values as codes, and what is odd about cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.arrays import as_arrow, pc
from kgreason.cores import each
from kgreason.data.cast import (
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
    coded,
    collections,
    fits,
    infer,
    strings,
)
from kgreason.data.raw import Column, Raw
from kgreason.data.select import Selected, Shape
from kgreason.data.values import LARGE_HINT, CastError, int64, is_text
from kgreason.engine.symbols import Symbols, whole
from kgreason.engine.table import Codes, Kind, any_codes
from kgreason.lang.values import EXACT

_FEW = 3
_LONG = re.compile(r"^[+-]?[1-9][0-9]{18,}$")
_PART = 100  # one in so many cells is few, too
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")

Fresh = Callable[[int], Codes]
"""Codes of so many labelled nulls that nothing else has."""


def kinds(tables: Sequence[Selected], shape: Shape) -> tuple[Kind | None, ...]:
    """Kind of the values at each position over all its sources; `None` if no source has a value.

    Integers meet doubles as doubles; anything that meets text, and truth values that meet numbers, are text. What meets
    labelled nulls stays as it is.
    """
    found = []
    for position in range(shape.arity):
        kind = shape.kinds[position]
        if kind is None:
            seen = {k for t in tables if (k := _seen(t, position)) is not None}
            if position in shape.percent and seen <= {Kind.INT, Kind.DOUBLE}:
                seen = {Kind.DOUBLE} if seen else seen
            kind = _joint(seen)
        found.append(kind)
    return tuple(found)


def _seen(table: Selected, position: int) -> Kind | None:
    """Inferred kind of a column; `None` without values."""
    if not table.columns:  # an empty file has not even columns
        return None
    column = table.present(position)
    if not len(column):
        return None
    strings = table.raw.typed or table.names[position] in table.raw.texts
    return Kind.STRING if strings and is_text(column) else infer(column, table.decimal)


def nullable(tables: Sequence[Selected], shape: Shape) -> frozenset[int]:
    """Positions at which some source has a labelled null."""
    return frozenset(
        p for p in range(shape.arity) for t in tables if t.holes is not None and t.holes[p].any()
    )


def _joint(seen: set[Kind]) -> Kind | None:
    if len(seen) <= 1:
        return next(iter(seen), None)
    if Kind.ANY in seen:
        return Kind.ANY
    return Kind.DOUBLE if seen == {Kind.INT, Kind.DOUBLE} else Kind.STRING


def typed(
    table: Selected,
    kinds: Sequence[Kind],
    nulls: frozenset[int],
    shape: Shape,
    symbols: Symbols,
    fresh: Fresh,
) -> tuple[Codes, ...]:
    """Code the columns of a selection.

    Parameters
    ----------
    kinds
        Of the values at each position.
    nulls
        Positions that hold labelled nulls beside values: their codes are of `Kind.ANY`.

    Raises
    ------
    DataError
        At the first value that is not of its kind.
    """
    columns: dict[int, Codes] = {}
    for position, kind in enumerate(kinds):
        if kind is Kind.STRING:
            continue
        try:
            columns[position] = _coded(table, position, kind, shape, symbols)
        except CastError as error:
            raise _misfit(table, shape, position, error) from error
    texts = [position for position, kind in enumerate(kinds) if kind is Kind.STRING]
    if texts:
        codes = strings([table.present(position) for position in texts], symbols)
        columns.update(zip(texts, codes, strict=True))
    if nulls:
        _add_nulls(table, columns, kinds, nulls, symbols, fresh)
    return tuple(columns[position] for position in range(shape.arity))


def _coded(table: Selected, position: int, kind: Kind, shape: Shape, symbols: Symbols) -> Codes:
    column = table.present(position)
    if not len(column):
        return np.empty(0, dtype=np.int64)
    if kind in (Kind.LIST, Kind.SET):
        return interned(collections(column, kind), symbols)
    if kind is Kind.ANY:
        return _mixed(table, position, shape, symbols)
    last = position == shape.arity - 1
    share = (position in shape.percent or (table.percent and last)) and not (table.ones and last)
    codes = coded(column, kind, percent=share, decimal=table.decimal)
    if kind is Kind.DOUBLE and shape.kinds[position] is None and not share:
        _check_exact(table, position, codes.view(np.float64))
    return codes


def _check_exact(table: Selected, position: int, found: npt.NDArray[np.float64]) -> None:
    """Refuse integers that no double equals where nobody asked for doubles.

    Raises
    ------
    CastError
        At the first.
    """
    large = np.flatnonzero(np.abs(found) >= EXACT)
    cells = table.present(position).take(as_arrow(large)).to_pylist() if len(large) else []
    for row, cell in zip(large.tolist(), cells, strict=True):
        whole = cell if isinstance(cell, int) else _INTEGER.fullmatch(cell) if isinstance(cell, str) else None
        if whole is not None and int(cell) != float(found[row]):
            raise CastError(row, str(cell), "a double, as other numbers of the column are", LARGE_HINT)


def _mixed(table: Selected, position: int, shape: Shape, symbols: Symbols) -> Codes:
    """Code a column that holds labelled nulls in this or another source."""
    column, own = table.present(position), _seen(table, position)
    if own is None or own is Kind.ANY:
        return interned([whole(v) for v in column], symbols)
    codes = (
        strings([column], symbols)[0] if own is Kind.STRING else _coded(table, position, own, shape, symbols)
    )
    return any_codes(codes, own, symbols)


def interned(values: Sequence[Any], symbols: Symbols) -> Codes:
    """Codes of values of any type, as columns of kind ANY, LIST and SET hold them."""
    return np.fromiter((symbols.intern(v) for v in values), dtype=np.int64, count=len(values))


def _misfit(table: Selected, shape: Shape, position: int, error: CastError) -> Exception:
    row = int(table.rows[table.place(position, error.row)])
    name = table.names[position]
    hint = _cast_hint(error, table.raw, row, name) or _mark_hint(error, table, weight=shape.edge)
    several = f" ({error.count:,} such cells)" if error.count > 1 else ""
    return table.raw.error(row, f"{error.value!r} is not {error.expected}{several}", name, hint)


def _mark_hint(error: CastError, table: Selected, *, weight: bool) -> str | None:
    """Hint for a word that may mean a missing value."""
    mark = error.value.strip()
    few = 2 * error.count <= len(table.rows)
    if table.raw.memory or table.raw.typed or not few or not MARK.fullmatch(mark):
        return None
    if weight:
        return f"if it stands for a missing value, nullString={mark} and missing=skip leave such rows out"
    return f"if it stands for a missing value, say nullString={mark}"


def _cast_hint(error: CastError, raw: Raw, row: int, column: str) -> str | None:
    if raw.memory and error.hint == DECIMAL_COMMA:
        return f"if the comma is the decimal point: df[{column!r}].str.replace(',', '.')"
    headed = not raw.graph or not (raw.memory or raw.typed or raw.vertices is not None)
    if error.hint is None and row == 0 and not raw.named and headed:
        return (
            "if the first row holds names, leave it out"
            if raw.memory
            else "if the first line holds names, say useHeaders=true"
        )
    return error.hint


def _add_nulls(
    table: Selected,
    columns: dict[int, Codes],
    kinds: Sequence[Kind],
    nulls: frozenset[int],
    symbols: Symbols,
    fresh: Fresh,
) -> None:
    """Fill missing cells with fresh labelled nulls, numbered row by row; their columns become ANY."""
    holes = table.holes or tuple(np.zeros(len(table.rows), dtype=bool) for _ in kinds)
    where = np.stack(holes, axis=1)
    number = np.cumsum(where.ravel()).reshape(where.shape) - 1
    codes = fresh(int(where.sum()))
    for position in nulls:
        whole = np.empty(len(table.rows), dtype=np.int64)
        whole[~holes[position]] = any_codes(columns[position], kinds[position], symbols)
        whole[holes[position]] = codes[number[holes[position], position]]
        columns[position] = whole


def almost_numbers(table: Selected, shape: Shape) -> tuple[str, ...]:
    """Notes about columns that are read as text because of a few cells."""
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
    """Whether an odd cell among integers is a name: it occurs once; marks for missing values occur more often."""
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


def remarks(table: Selected, kinds: Sequence[Kind], shape: Shape) -> tuple[str, ...]:
    """Notes about cells that may have another meaning: names with blanks around them, percentages among numbers.

    Parameters
    ----------
    kinds
        Of the values at each position.
    """
    if not table.columns:
        return ()

    def remark(position: int) -> str | None:
        if kinds[position] is Kind.STRING:
            return _padded(table, position)
        return _percentages(table, position, shape) if kinds[position] is Kind.DOUBLE else None

    return tuple(note for note in each(remark, range(len(kinds))) if note)


def _padded(table: Selected, position: int) -> str | None:
    """Note about names with leading or trailing blanks."""
    column = table.present(position)
    if not is_text(column):
        return None
    padded = pc.or_(pc.starts_with(column, " "), pc.ends_with(column, " "))
    if not pc.any(padded).as_py():
        return None
    names = pc.unique(column.filter(padded))
    one = len(names) == 1
    count = "1 name begins or ends" if one else f"{len(names):,} names begin or end"
    first = names[0].as_py()
    where = "table" if table.raw.memory else "file"
    return (
        f"{table.raw.file}: column {table.names[position]!r}: {count} with a blank, as {first!r} does, and "
        f"stay{'s' * one} as written; if {first.strip()!r} is meant, take the blanks out of the {where}"
    )


def _percentages(table: Selected, position: int, shape: Shape) -> str | None:
    """Note about a column that mixes percentages and plain numbers without an option that says which is meant."""
    column = table.present(position)
    stated = position in shape.percent or (table.percent and position == shape.arity - 1)
    if stated or not is_text(column):
        return None
    marked = pc.sum(pc.ends_with(pc.ascii_rtrim_whitespace(column), "%")).as_py() or 0
    plain = len(column) - marked
    if not marked or not plain:
        return None
    last = position == shape.arity - 1
    mapping = f'@mapping("{shape.predicate}", {position}, "{table.names[position]}", "percent")'
    cure = "percent=true" if last and not table.raw.memory else mapping
    return (
        f"{table.raw.file}: column {table.names[position]!r} mixes {marked:,} number{'s' * (marked > 1)} with % and "
        f"{plain:,} without: the former are divided by 100, the latter stay; {cure} divides all"
    )
