"""The kinds of the columns of a predicate over all its sources, and their values as codes of these kinds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.arrays import as_arrow
from kgreason.engine.symbols import Symbols, whole
from kgreason.engine.table import Codes, Kind, any_codes
from kgreason.graph.io.cast import DECIMAL_COMMA, MARK, coded, infer, strings
from kgreason.graph.io.lists import collections
from kgreason.graph.io.raw import Raw
from kgreason.graph.io.select import Selected, Shape
from kgreason.graph.io.values import LARGE_HINT, CastError, is_text
from kgreason.lang.values import EXACT

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
    """Kind that the values of a column show; `None` if there are none."""
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
        codes = strings([table.written(position) for position in texts], symbols)
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
    cells = table.written(position).take(as_arrow(large)).to_pylist() if len(large) else []
    for row, cell in zip(large.tolist(), cells, strict=True):
        whole = cell if isinstance(cell, int) else _INTEGER.fullmatch(cell) if isinstance(cell, str) else None
        if whole is not None and int(cell) != float(found[row]):
            raise CastError(row, str(cell), "a double, as other numbers of the column are", LARGE_HINT)


def _mixed(table: Selected, position: int, shape: Shape, symbols: Symbols) -> Codes:
    """Code a column beside which, in this source or another, labelled nulls were given."""
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
    """Ask whether a word among other values stands for a missing one."""
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
    """Put fresh nulls, numbered row by row, into the holes of columns that become ANY."""
    holes = table.holes or tuple(np.zeros(len(table.rows), dtype=bool) for _ in kinds)
    where = np.stack(holes, axis=1)
    number = np.cumsum(where.ravel()).reshape(where.shape) - 1
    codes = fresh(int(where.sum()))
    for position in nulls:
        whole = np.empty(len(table.rows), dtype=np.int64)
        whole[~holes[position]] = any_codes(columns[position], kinds[position], symbols)
        whole[holes[position]] = codes[number[holes[position], position]]
        columns[position] = whole
