"""Column types of a predicate over all its sources, encoding of values, and notes on suspicious cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.arrays import as_arrow, pa, pc
from kgreason.base.cores import each
from kgreason.data.predicate_rows import Selected, Shape
from kgreason.data.raw_table import Column
from kgreason.data.text_conversion import (
    ABSENT,
    COMMA_NUMBER,
    DECIMAL_COMMA,
    DECIMAL_POINT,
    INTEGER,
    MARK,
    NUMBER,
    NUMBERS,
    PLAIN_NUMBERS,
    all_fit,
    coded,
    fits,
    infer,
)
from kgreason.data.value_conversion import (
    EXPECTED,
    LARGE_HINT,
    CastError,
    Cells,
    Objects,
    checked,
    int64,
    is_text,
    text,
)
from kgreason.engine.relations.fact_tables import Kind, any_codes
from kgreason.engine.relations.symbols import Codes, Symbols, whole
from kgreason.language.values import EXACT

_FEW, _PART = 3, 100  # cells that count as few: so many, or one in so many
_LONG = re.compile(r"^[+-]?[1-9][0-9]{18,}$")
_DOLLAR = re.compile(r"\\(.)", re.DOTALL)  # the rule language escapes \$ before a brace, JSON does not
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")

Fresh = Callable[[int], Codes]  # codes of so many labelled nulls that nothing else has


def kinds(tables: Sequence[Selected], shape: Shape) -> tuple[Kind | None, ...]:
    """Kind of the values at each position over all sources; `None` if no source has a value.

    Integers and doubles combine to doubles; text and anything else, or truth values and numbers, to text. Values next
    to labelled nulls keep their kinds.
    """
    found = []
    for position, kind in enumerate(shape.kinds):
        inferred = {_inferred(table, position) for table in tables} - {None} if kind is None else {kind}
        if Kind.ANY in inferred:
            inferred = {Kind.ANY}
        elif kind is None and inferred and inferred <= {Kind.INT, Kind.DOUBLE}:
            inferred = {Kind.DOUBLE} if len(inferred) > 1 or position in shape.percent else inferred
        found.append(next(iter(inferred), None) if len(inferred) <= 1 else Kind.STRING)
    return tuple(found)


def _inferred(table: Selected, position: int) -> Kind | None:
    """Inferred kind of a column; `None` without values."""
    column = table.present(position) if table.columns else ()
    if not len(column):
        return None
    strings = table.raw.typed or table.names[position] in table.raw.texts
    return Kind.STRING if strings and is_text(column) else infer(column, table.options.decimal)


def nullable(tables: Sequence[Selected], shape: Shape) -> frozenset[int]:
    """Positions at which some source has a labelled null."""
    holes = [table.holes for table in tables if table.holes is not None]
    return frozenset(p for p in range(shape.arity) for cells in holes if cells[p].any())


def typed(
    table: Selected,
    kinds: Sequence[Kind],
    nulls: frozenset[int],
    shape: Shape,
    symbols: Symbols,
    fresh: Fresh,
) -> tuple[Codes, ...]:
    """Encode the columns of a selection; `DataError` at the first value that does not have the kind of its column.

    Missing cells at the positions `nulls` become labelled nulls; these columns are of kind ANY.
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
        own = _inferred(table, position)
        if own is None or own is Kind.ANY:
            return interned([whole(v) for v in column], symbols)
        return any_codes(_coded(table, position, own, shape, symbols), own, symbols)
    last = position == shape.arity - 1
    share = (position in shape.percent or (table.options.percent and last)) and not (table.ones and last)
    codes = coded(column, kind, percent=share, decimal=table.options.decimal)
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
    if not symbols.loaded and all(isinstance(column, Cells) for column in columns):
        return [symbols.encode(column.values) for column in columns]
    texts, large = [], pa.large_string()
    for column in columns:
        if isinstance(column, Cells):
            column = column.arrow()
        bare = not isinstance(column, Objects) and not pa.types.is_timestamp(column.type)
        texts.append(column.cast(large) if bare else pa.array(list(map(text, column.to_pylist())), large))
    return np.split(symbols.load(texts), np.cumsum(list(map(len, texts)))[:-1])


def _collections(column: Column, kind: Kind) -> list[Any]:
    """Lists or sets of a column without missing cells; text is parsed as JSON, with sets also in braces."""
    if not isinstance(column, Objects) and not is_text(column):
        raise CastError(0, text(column[0].as_py()), EXPECTED[kind])
    values = [_collection(v, row, kind) for row, v in enumerate(column.to_pylist())]
    if kind is Kind.LIST:
        return [tuple(v) for v in values]
    mixed = ({int, float} <= set(map(type, v)) for v in values)  # all integers and doubles become doubles
    return [
        frozenset(float(e) if doubles and type(e) is int else e for e in v)
        for v, doubles in zip(values, mixed, strict=True)
    ]


def _collection(value: Any, row: int, kind: Kind) -> Any:
    if isinstance(value, frozenset):
        return sorted(value, key=text)
    if not isinstance(value, str):
        return value
    bare = value.strip()
    if kind is Kind.SET and bare.startswith("{") and bare.endswith("}"):
        bare = f"[{bare[1:-1]}]"
    import json

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
    raw, name = table.raw, table.names[position]
    row = int(table.rows[table.row_of(position, error.row)])
    several = f" ({error.count:,} such cells)" if error.count > 1 else ""
    hint, mark = error.hint, error.value.strip()
    headed = not raw.graph or not (raw.memory or raw.typed or raw.vertices is not None)
    few = 2 * error.count <= len(table.rows)
    if raw.memory and hint == DECIMAL_COMMA:
        hint = f"if the comma is the decimal point: df[{name!r}].str.replace(',', '.')"
    elif hint is None and row == 0 and not raw.named and headed:
        line = "row holds names, leave it out" if raw.memory else "line holds names, say useHeaders=true"
        hint = f"if the first {line}"
    elif hint is None and few and not (raw.memory or raw.typed) and MARK.fullmatch(mark):
        hint = f"if it means a missing value, say nullString={mark}"
        if shape.edge:
            hint = f"if it means a missing value, nullString={mark} and missing=skip leave such rows out"
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
    notes = (_almost_number(table, shape, p) for p in range(shape.arity) if shape.kinds[p] is None)
    return tuple(note for note in notes if note)


def _almost_number(table: Selected, shape: Shape, position: int) -> str | None:
    column = table.present(position)
    raw, name = table.raw, table.names[position]
    if name in raw.texts or not len(column) or not is_text(column):
        return None
    if infer(column, table.options.decimal) is not Kind.STRING:
        return None
    if (value := _other_point(column, table.options.decimal)) is not None:
        cure = DECIMAL_POINT if table.options.decimal == "," else DECIMAL_COMMA
        return f"{raw.file}: column {name!r} is text, as {value!r} is; {cure}"
    odd = _odd_cells(column, table.options.decimal)
    if not len(odd):
        return None
    value = column[int(odd[0])].as_py()
    row = int(table.rows[table.row_of(position, int(odd[0]))])
    line = raw.line(row)
    where = f"row {row + 1}" if line is None else f"line {line}"
    others = f" (and {len(odd) - 1:,} other{'s' * (len(odd) > 2)})" if len(odd) > 1 else ""
    mark = value.strip()
    # a name among integers occurs once; markers of missing values occur more often
    once = sum(column[int(cell)].as_py().strip() == mark for cell in odd) == 1
    word = any(c.isalpha() for c in mark) and not ABSENT.fullmatch(mark)
    if word and once and int(fits(column, INTEGER).sum()) == len(column) - len(odd):
        mapping = f'@mapping("{shape.predicate}", {position}, "{name}", "string")'
        why = f"the whole column {name!r} is read as text because of {value!r} in {where}{others}"
        return f'{raw.file}: {why}; {mapping} says that it is meant, "int" makes that an error'
    mapped, does = "double", "makes that an error"
    if _LONG.fullmatch(mark):
        where += ", a number of more than 18 digits"
        exact = int64(mark) is not None
        mapped, does = ("int", "reads it exactly") if exact else ("double", "rounds it")
    mapping = f'@mapping("{shape.predicate}", {position}, "{name}", "{mapped}") {does}'
    marks = not raw.memory and MARK.fullmatch(mark)
    marked = f"nullString={mark} makes such cells missing; " if marks else ""
    if table.options.decimal != "," and "," in mark and re.match(COMMA_NUMBER, mark):
        no_points = (fits(column, NUMBER) <= fits(column, COMMA_NUMBER)).all()
        marked = f"{DECIMAL_COMMA}; " if no_points else ""
    elif table.options.decimal == "," and re.match(NUMBER, mark) and not _LONG.fullmatch(mark):
        marked = "with decimal=, points group thousands; "
    return f"{raw.file}: column {name!r} is text because of {value!r} in {where}{others}; {marked}{mapping}"


def _other_point(column: Column, decimal: str) -> str | None:
    """First number with the other decimal separator, if the column holds only such and plain numbers."""
    if not all_fit(column, NUMBER if decimal == "," else COMMA_NUMBER):
        return None
    odd = np.flatnonzero(~fits(column, NUMBERS[decimal]))
    return None if not len(odd) else str(column[int(odd[0])].as_py())


def _odd_cells(column: Column, decimal: str) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Rows of the few non-numeric cells; digits with leading zeros, or more than 18 digits, are names."""
    none = np.empty(0, dtype=np.intp)
    most = min(max(_FEW, len(column) // _PART), len(column) // 2)
    if np.count_nonzero(~fits(column.slice(0, 2 * most + 1), PLAIN_NUMBERS[decimal])) > most:
        return none  # early exit: most name columns are decided by a sample
    numbers = fits(column, PLAIN_NUMBERS[decimal])
    odd = np.flatnonzero(~numbers)
    if len(odd) > most or (fits(column, NUMBERS[decimal]) != numbers | fits(column, _LONG.pattern)).any():
        return none
    return odd


def remarks(table: Selected, kinds: Sequence[Kind], shape: Shape) -> tuple[str, ...]:
    """Notes about ambiguous cells: names with surrounding blanks, percentages among plain numbers."""
    if not table.columns:
        return ()

    notes = {Kind.STRING: _padded, Kind.DOUBLE: _percentages}

    def remark(position: int) -> str | None:
        note = notes.get(kinds[position])
        return note(table, position, shape) if note else None

    return tuple(filter(None, each(remark, range(len(kinds)), 16 * len(table.rows))))


def _padded(table: Selected, position: int, _: Shape) -> str | None:
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
    stated = position in shape.percent or (table.options.percent and position == shape.arity - 1)
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
