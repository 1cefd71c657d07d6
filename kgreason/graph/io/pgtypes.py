"""Columns of PostgreSQL by their types: how each is asked for, and what Arrow column it becomes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kgreason.graph.io.cast import INTEGER
from kgreason.graph.io.raw import Column
from kgreason.graph.io.values import CastError, Objects, Unfit, arrow_column, checked
from kgreason.lang.values import read_date

_INTEGERS = frozenset({"int2", "int4", "int8", "oid"})
_FLOATS = frozenset({"float4", "float8"})
_DATES = {"date": "date", "timestamp": "timestamp", "timestamptz": "timestamp with time zone"}
_TEXTS = frozenset({"uuid"})
_NUMBERS = (*_INTEGERS, *_FLOATS, "numeric")
_TYPES = """
SELECT t.oid, t.typname, t.typcategory, e.typname, e.typcategory, format_type(t.oid, NULL)
FROM pg_type t LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A' WHERE t.oid = ANY(%s)
"""
_CURE = "columns=a,b takes other columns; a query can cast this one, as in select owner::text"


class Typed:
    """A column of one type, filled block by block."""

    arrow: Any
    """Type of its cells as COPY writes them."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.parts: list[Column] = []
        self.rows = 0

    def selected(self, name: str) -> str:
        """What to select of the column called so."""
        return name

    def add(self, values: Column) -> None:
        """Take the next cells."""
        self.parts += values.chunks
        self.rows += len(values)

    def whole(self) -> Column:
        """The column."""
        import pyarrow as pa

        return pa.chunked_array(self.parts, self.arrow)

    def note(self, file: str, name: str) -> str | None:
        """What to say of it once all cells are there."""


class Plain(Typed):
    """Numbers, truth values and texts, which Arrow reads by itself."""

    def __init__(self, kind: str, arrow: Any) -> None:
        super().__init__(kind)
        self.arrow = arrow


class Texts(Typed):
    """Cells that come as text and become something else."""

    def __init__(self, kind: str) -> None:
        import pyarrow as pa

        super().__init__(kind)
        self.arrow = pa.string()


class Padded(Texts):
    """Texts of ``character(n)``: the blanks behind them mean nothing."""

    def selected(self, name: str) -> str:
        """The text without them."""
        return f"{name}::text"


class Numeric(Texts):
    """Exact numbers that may be whole: integers if all are, else doubles."""

    def whole(self) -> Column:
        """Integers or doubles."""
        import pyarrow as pa

        column = super().whole()
        if self._all(INTEGER):
            return column.cast(pa.int64())
        if self._all(r"^-?[0-9]{1,15}$|[^0-9-]"):
            return column.cast(pa.float64())
        values = [
            None if c is None else int(c) if c.lstrip("-").isdecimal() else float(c)
            for c in column.to_pylist()
        ]
        try:
            return arrow_column(values)
        except CastError as error:
            return Unfit(len(values), error)

    def _all(self, pattern: str) -> bool:
        import pyarrow.compute as pc

        return all(pc.all(pc.match_substring_regex(p, pattern), min_count=0).as_py() for p in self.parts)


class Dates(Texts):
    """Dates and times, with a time zone in UTC."""

    def add(self, values: Column) -> None:
        """Take the next cells; those of a block with one that Arrow cannot read stay text."""
        import pyarrow as pa

        zone = "UTC" if self.kind == "timestamptz" else None
        for chunk in values.chunks:
            try:
                self.parts.append(chunk.cast(pa.timestamp("us", zone)))
            except pa.ArrowInvalid:
                self.parts.append(chunk)
        self.rows += len(values)

    def whole(self) -> Column:
        """Times of microseconds."""
        import pyarrow as pa

        before = 0
        for part in self.parts:
            if pa.types.is_string(part.type):
                return Unfit(self.rows, self._misfit(part, before))
            before += len(part)
        zone = "UTC" if self.kind == "timestamptz" else None
        return pa.chunked_array(self.parts, pa.timestamp("us", zone))

    def _misfit(self, part: Column, before: int) -> CastError:
        import pyarrow as pa

        zone = "UTC" if self.kind == "timestamptz" else None
        for row, cell in enumerate(part):
            try:
                cell.cast(pa.timestamp("us", zone))
            except pa.ArrowInvalid:
                return CastError(
                    before + row, str(cell.as_py()), f"a {_DATES[self.kind]} of the years 1 to 9999"
                )
        raise AssertionError("a part that cannot be cast has a cell that cannot")


class Lists(Texts):
    """Arrays, which the server writes as JSON; so are columns of JSON, if all their values are lists."""

    def __init__(self, kind: str, element: str | None) -> None:
        super().__init__(kind)
        self.element = element

    def selected(self, name: str) -> str:
        """The array as JSON."""
        return name if self.element is None else f"to_json({name})::text"

    def whole(self) -> Column:
        """Lists, or the text of JSON."""
        column = super().whole()
        texts = column.to_pylist()
        cells = [None if text is None else json.loads(text) for text in texts]
        if self.element is None and not all(cell is None or isinstance(cell, list) for cell in cells):
            return column
        try:
            return Objects(
                None if cell is None else checked(self._converted(cell, row), row)
                for row, cell in enumerate(cells)
            )
        except CastError as error:
            return Unfit(self.rows, error)

    def _converted(self, value: Any, row: int) -> Any:
        """Elements of JSON as elements of the array's type."""
        if isinstance(value, list):
            return [self._converted(element, row) for element in value]
        if self.element in _DATES and value is not None:
            return _date(value, row)
        if self.element in _NUMBERS and isinstance(value, str):
            raise CastError(row, value, "a finite number")
        return value


class Foreign(Typed):
    """Values that are none of the language; an error only for who wants them."""

    def __init__(self, kind: str) -> None:
        import pyarrow as pa

        super().__init__(kind)
        self.arrow = pa.bool_()

    def selected(self, _: str) -> str:
        """Nothing."""
        return "NULL::boolean"

    def whole(self) -> Column:
        """A column that is an error for who takes it."""
        expected = "a number, a string, a truth value, a date or a list of them"
        return Unfit(self.rows, CastError(0, f"a value of type {self.kind}", expected, _CURE))


def typed_columns(connection: Any, rows: str) -> tuple[tuple[str, ...], list[Typed]]:
    """Names and types of what stands behind FROM; it is parsed as one statement, and not carried out."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {rows} AS q LIMIT 0", binary=True)
        described = cursor.description or ()
    oids = sorted({column.type_code for column in described})
    found = {row[0]: row[1:] for row in connection.execute(_TYPES, (oids,)).fetchall()}
    columns = [_typed(found[column.type_code], column.scale) for column in described]
    return tuple(column.name for column in described), columns


def _typed(type: Sequence[Any], scale: int | None) -> Typed:
    import pyarrow as pa

    name, category, element, elements, shown = type
    if name in _INTEGERS:
        return Plain(name, pa.int64())
    if name in _FLOATS or (name == "numeric" and scale):
        return Plain(name, pa.float64())
    if name == "numeric":
        return Numeric(name)
    if name == "bool":
        return Plain(name, pa.bool_())
    if name == "bpchar":
        return Padded(name)
    if category in "SE" or name in _TEXTS:
        return Plain(name, pa.string())
    if name in _DATES:
        return Dates(name)
    if name in ("json", "jsonb"):
        return Lists(name, None)
    known = element in {*_NUMBERS, *_DATES, *_TEXTS, "bool"} or elements in ("S", "E")
    return Lists(name, element) if category == "A" and known else Foreign(shown)


def _date(text: str, row: int) -> Any:
    found = read_date(text) if not text.endswith(("Z", "+00:00")) else read_date(text.removesuffix("+00:00"))
    if found is None:
        raise CastError(row, text, "a date of the years 1 to 9999")
    return found
