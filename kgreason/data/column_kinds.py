"""Column types of a predicate over all its sources, encoding of values, and notes on suspicious cells."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.arrays import as_arrow, pa, pc
from kgreason.base.cores import each
from kgreason.data import text_conversion
from kgreason.data.predicate_rows import Selected, Shape
from kgreason.data.raw_table import Column
from kgreason.data.value_conversion import (
    EXPECTED,
    LARGE_HINT,
    CastError,
    Objects,
    checked,
    int64,
    is_text,
    text,
)
from kgreason.engine.relations.fact_tables import Kind, any_codes
from kgreason.engine.relations.symbols import Codes, Symbols, whole
from kgreason.language.values import EXACT

_FEW = 3
_LONG = re.compile(r"^[+-]?[1-9][0-9]{18,}$")
_PART = 100  # at most one in so many cells counts as few
_DOLLAR = re.compile(r"\\(.)", re.DOTALL)  # the rule language escapes \$ before a brace, JSON does not
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")

Fresh = Callable[[int], Codes]
"""Codes of so many labelled nulls that nothing else has."""


def kinds(tables: Sequence[Selected], shape: Shape) -> tuple[Kind | None, ...]:
    """Kind of the values at each position over all sources; `None` if no source has a value.

    Integers and doubles combine to doubles; text and anything else, or truth values and numbers, to text. Values next
    to labelled nulls keep their kinds.
    """
    found = []
    for position, kind in enumerate(shape.kinds):
        seen = {k for t in tables if (k := _seen(t, position)) is not None} if kind is None else {kind}
        if Kind.ANY in seen:
            seen = {Kind.ANY}
        elif kind is None and seen and seen <= {Kind.INT, Kind.DOUBLE}:
            seen = {Kind.DOUBLE} if len(seen) > 1 or position in shape.percent else seen
        found.append(next(iter(seen), None) if len(seen) <= 1 else Kind.STRING)
    return tuple(found)


def _seen(table: Selected, position: int) -> Kind | None:
    """Inferred kind of a column; `None` without values."""
    if not table.columns:  # empty file without columns
        return None
    column = table.present(position)
    if not len(column):
        return None
    strings = table.raw.typed or table.names[position] in table.raw.texts
    return Kind.STRING if strings and is_text(column) else text_conversion.infer(column, table.decimal)


def nullable(tables: Sequence[Selected], shape: Shape) -> frozenset[int]:
    """Positions at which some source has a labelled null."""
    return frozenset(
        p for p in range(shape.arity) for t in tables if t.holes is not None and t.holes[p].any()
    )


def typed(
    table: Selected,
    kinds: Sequence[Kind],
    nulls: frozenset[int],
    shape: Shape,
    symbols: Symbols,
    fresh: Fresh,
) -> tuple[Codes, ...]:
    """Encode the columns of a selection.

    Parameters
    ----------
    kinds
        Kind of the values at each position.
    nulls
        Positions with labelled nulls next to values; encoded as `Kind.ANY`.

    Raises
    ------
    DataError
        At the first value that does not have the kind of its column.
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
        codes = _strings([table.present(position) for position in texts], symbols)
        columns.update(zip(texts, codes, strict=True))
    if nulls:
        _add_nulls(table, columns, kinds, nulls, symbols, fresh)
    return tuple(columns[position] for position in range(shape.arity))


def _coded(table: Selected, position: int, kind: Kind, shape: Shape, symbols: Symbols) -> Codes:
    column = table.present(position)
    if not len(column):
        return np.empty(0, dtype=np.int64)
    if kind in (Kind.LIST, Kind.SET):
        return interned(_collections(column, kind), symbols)
    if kind is Kind.STRING:
        return _strings([column], symbols)[0]
    if kind is Kind.ANY:  # the column has labelled nulls in some source
        own = _seen(table, position)
        if own is None or own is Kind.ANY:
            return interned([whole(v) for v in column], symbols)
        return any_codes(_coded(table, position, own, shape, symbols), own, symbols)
    last = position == shape.arity - 1
    share = (position in shape.percent or (table.percent and last)) and not (table.ones and last)
    codes = text_conversion.coded(column, kind, percent=share, decimal=table.decimal)
    if kind is Kind.DOUBLE and shape.kinds[position] is None and not share:
        _check_exact(column, codes.view(np.float64))
    return codes


def _check_exact(column: Column, found: npt.NDArray[np.float64]) -> None:
    """Raise `CastError` at the first integer not representable as a double, unless doubles were requested."""
    large = np.flatnonzero(np.abs(found) >= EXACT)
    cells = column.take(as_arrow(large)).to_pylist() if len(large) else []
    for row, cell in zip(large.tolist(), cells, strict=True):
        integer = isinstance(cell, int) or (isinstance(cell, str) and _INTEGER.fullmatch(cell))
        if integer and int(cell) != float(found[row]):
            raise CastError(row, str(cell), "a double, as other numbers of the column are", LARGE_HINT)


def _strings(columns: Sequence[Column], symbols: Symbols) -> list[Codes]:
    """Encode text columns together, since the vertices of two columns mostly coincide."""
    texts = []
    for column in columns:
        bare = not isinstance(column, Objects) and not pa.types.is_timestamp(column.type)
        large = pa.large_string()
        texts.append(column.cast(large) if bare else pa.array(list(map(text, column.to_pylist())), large))
    return np.split(symbols.load(texts), np.cumsum(list(map(len, texts)))[:-1])


def _collections(column: Column, kind: Kind) -> list[Any]:
    """Lists or sets of a column without missing cells; text is parsed as JSON, with sets also in braces."""
    if not isinstance(column, Objects) and not is_text(column):
        raise CastError(0, text(column[0].as_py()), EXPECTED[kind])
    values = [_collection(v, row, kind) for row, v in enumerate(column.to_pylist())]
    if kind is Kind.LIST:
        return [tuple(v) for v in values]
    mixed = [
        {int, float} <= {type(e) for e in v} for v in values
    ]  # if integers and doubles are mixed, all become doubles
    return [
        frozenset(float(e) if some and type(e) is int else e for e in v)
        for v, some in zip(values, mixed, strict=True)
    ]


def _collection(value: Any, row: int, kind: Kind) -> Any:
    if isinstance(value, frozenset):
        return sorted(value, key=text)
    if not isinstance(value, str):
        return value
    bare = value.strip()
    if kind is Kind.SET and bare.startswith("{") and bare.endswith("}"):
        bare = f"[{bare[1:-1]}]"
    try:
        found = json.loads(_DOLLAR.sub(lambda m: "$" if m[1] == "$" else m[0], bare), strict=False)
    except (json.JSONDecodeError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise CastError(row, value, EXPECTED[kind])
    return checked(found, row)


def interned(values: Sequence[Any], symbols: Symbols) -> Codes:
    """Codes of values of any type, for columns of kind ANY, LIST and SET."""
    return np.fromiter((symbols.intern(v) for v in values), dtype=np.int64, count=len(values))


def _misfit(table: Selected, shape: Shape, position: int, error: CastError) -> Exception:
    """Error for a value that does not have the kind of its column, with a hint."""
    raw, name = table.raw, table.names[position]
    row = int(table.rows[table.place(position, error.row)])
    several = f" ({error.count:,} such cells)" if error.count > 1 else ""
    hint, mark = error.hint, error.value.strip()
    headed = not raw.graph or not (raw.memory or raw.typed or raw.vertices is not None)
    few = 2 * error.count <= len(table.rows)
    if raw.memory and hint == text_conversion.DECIMAL_COMMA:
        hint = f"if the comma is the decimal point: df[{name!r}].str.replace(',', '.')"
    elif hint is None and row == 0 and not raw.named and headed:
        line = "row holds names, leave it out" if raw.memory else "line holds names, say useHeaders=true"
        hint = f"if the first {line}"
    elif hint is None and few and not (raw.memory or raw.typed) and text_conversion.MARK.fullmatch(mark):
        say = (
            f"nullString={mark} and missing=skip leave such rows out"
            if shape.edge
            else f"say nullString={mark}"
        )
        hint = f"if it stands for a missing value, {say}"
    return raw.error(row, f"{error.value!r} is not {error.expected}{several}", name, hint)


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
        cure = text_conversion.DECIMAL_POINT if table.decimal == "," else text_conversion.DECIMAL_COMMA
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
    # a name among integers occurs once; markers of missing values occur more often
    once = sum(column[int(cell)].as_py().strip() == mark for cell in odd) == 1
    word = any(c.isalpha() for c in mark) and not text_conversion.ABSENT.fullmatch(mark)
    if (
        word
        and once
        and int(text_conversion.fits(column, text_conversion.INTEGER).sum()) == len(column) - len(odd)
    ):
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
    marks = not raw.memory and text_conversion.MARK.fullmatch(mark)
    marked = f"nullString={mark} makes such cells missing; " if marks else ""
    if table.decimal != "," and "," in mark and re.match(text_conversion.COMMA_NUMBER, mark):
        no_points = (
            text_conversion.fits(column, text_conversion.NUMBER)
            <= text_conversion.fits(column, text_conversion.COMMA_NUMBER)
        ).all()
        marked = f"{text_conversion.DECIMAL_COMMA}; " if no_points else ""
    elif table.decimal == "," and re.match(text_conversion.NUMBER, mark) and not _LONG.fullmatch(mark):
        marked = "with decimal=, points group thousands; "
    return f"{raw.file}: column {name!r} is text because of {value!r} in {where}{others}; {marked}{mapping}"


def _other_point(column: Column, decimal: str) -> str | None:
    """First number with the other decimal separator, if the column holds only such and plain numbers."""
    if not is_text(column) or not len(column):
        return None
    own, other = (
        (text_conversion.COMMA_NUMBER, text_conversion.NUMBER)
        if decimal == ","
        else (text_conversion.NUMBER, text_conversion.COMMA_NUMBER)
    )
    if not text_conversion.all_fit(column, other):
        return None
    odd = np.flatnonzero(~text_conversion.fits(column, own))
    return None if not len(odd) else str(column[int(odd[0])].as_py())


def _odd_cells(column: Column, decimal: str) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Rows of the few non-numeric cells; digits with leading zeros, or more than 18 digits, are names."""
    none = np.empty(0, dtype=np.intp)
    if not is_text(column) or not len(column) or text_conversion.infer(column, decimal) is not Kind.STRING:
        return none
    plain, number = (
        (text_conversion.COMMA_PLAUSIBLE, text_conversion.COMMA_NUMBER)
        if decimal == ","
        else (text_conversion.PLAUSIBLE, text_conversion.NUMBER)
    )
    most = min(max(_FEW, len(column) // _PART), len(column) // 2)
    if np.count_nonzero(~text_conversion.fits(column.slice(0, 2 * most + 1), plain)) > most:
        return none  # early exit: most name columns are decided by a sample
    numbers = text_conversion.fits(column, plain)
    odd = np.flatnonzero(~numbers)
    few = len(odd) <= most
    return (
        odd
        if few
        and bool(
            (
                text_conversion.fits(column, number) == numbers | text_conversion.fits(column, _LONG.pattern)
            ).all()
        )
        else none
    )


def remarks(table: Selected, kinds: Sequence[Kind], shape: Shape) -> tuple[str, ...]:
    """Notes about ambiguous cells: names with surrounding blanks, percentages among plain numbers.

    Parameters
    ----------
    kinds
        Kind of the values at each position.
    """
    if not table.columns:
        return ()

    def remark(position: int) -> str | None:
        if kinds[position] is Kind.STRING:
            return _padded(table, position)
        return _percentages(table, position, shape) if kinds[position] is Kind.DOUBLE else None

    return tuple(note for note in each(remark, range(len(kinds))) if note)


def _padded(table: Selected, position: int) -> str | None:
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
    """Note about a column that mixes percentages and plain numbers without the option ``percent``."""
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
