"""Columns that grow as a file is read: Arrow arrays piece by piece, objects of Python only for the last few rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason import memory
from kgreason.arrays import as_numpy
from kgreason.graph.io.raw import Column
from kgreason.graph.io.values import arrow_column, text
from kgreason.lang.values import EXACT

PIECE = 1 << 16  # rows that are objects of Python at once

_NUMBERS = frozenset({"int", "float", "numbers"})
_KINDS = {
    frozenset({str}): "text",
    frozenset({bool}): "bool",
    frozenset({int}): "int",
    frozenset({float}): "float",
    frozenset({int, float}): "numbers",
    frozenset({datetime}): "date",
}


class Gathered:
    """A column of values of any type, as `kgreason.graph.io.values.arrow_column` makes it of all of them at once.

    Attributes
    ----------
    kinds
        What its pieces hold: null, text, bool, int, float, numbers (integers and doubles), date, or mixed.

    Examples
    --------
    >>> column = Gathered()
    >>> column.add([1, 2]); column.pad(3); column.add([0.5])
    >>> column.whole().to_pylist(), sorted(column.kinds)
    ([1.0, 2.0, None, 0.5], ['float', 'int', 'null'])
    """

    def __init__(self) -> None:
        self._pieces: list[tuple[str, Any]] = []
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of the pieces."""
        return frozenset(kind for kind, _ in self._pieces)

    def pad(self, rows: int) -> None:
        """Add missing cells up to a number of rows."""
        import pyarrow as pa

        if rows > self._rows:
            memory.look()
            self._pieces.append(("null", pa.nulls(rows - self._rows)))
            self._rows = rows

    def add(self, values: Sequence[Any]) -> None:
        """Add a piece."""
        if len(values):
            memory.look()
            kind, made = _piece(values)
            self._pieces.append((kind, made))
            self._rows += len(values)

    def whole(self) -> Column:
        """The column.

        Raises
        ------
        CastError
            If a value is none of the language, or lists meet other values.
        """
        import pyarrow as pa

        kinds = self.kinds - {"null"}
        if "mixed" in kinds:
            return arrow_column([value for kind, made in self._pieces for value in _objects(kind, made)])
        if len(kinds) == 1 and kinds != {"numbers"}:
            (kind,) = kinds
            type = next(made.type for own, made in self._pieces if own == kind)
            return pa.chunked_array([made if own == kind else made.cast(type) for own, made in self._pieces])
        if kinds and kinds <= _NUMBERS:
            return pa.chunked_array([_doubles(kind, made) for kind, made in self._pieces])
        large = pa.large_string()
        return pa.chunked_array([_texts(kind, made) for kind, made in self._pieces], large)


def _piece(values: Sequence[Any]) -> tuple[str, Any]:
    """Kind of some values, and their array; of a mixture, the values themselves."""
    import pyarrow as pa

    types = frozenset(map(type, values)) - {type(None)}
    kind = _KINDS.get(types, "mixed") if types else "null"
    if kind == "null":
        return kind, pa.nulls(len(values))
    if kind == "mixed":
        return kind, values
    if kind == "numbers":
        return _both(values)
    if kind == "text":
        memory.claim(2 * sum(len(v) for v in values if v))
    try:
        made = pa.array(values, pa.large_string()) if kind == "text" else _array(kind, values)
    except (OverflowError, pa.ArrowInvalid, UnicodeEncodeError):
        return "mixed", values
    if kind == "float":
        finite = np.isfinite(as_numpy(made.fill_null(0.0))).all()
        return (kind, _unsigned(made)) if finite else ("mixed", values)
    return kind, made


def _array(kind: str, values: Sequence[Any]) -> Column:
    import pyarrow as pa

    if kind == "date":
        return arrow_column(values)
    return pa.array(values, {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64()}[kind])


def _unsigned(column: Column) -> Column:
    """No zero has a sign."""
    import pyarrow.compute as pc

    return pc.add(column, 0.0)


def _both(values: Sequence[Any]) -> tuple[str, Any]:
    """Integers and doubles as doubles, and which of them are integers; those that are not exact stay as they are."""
    import pyarrow as pa

    large = any(type(v) is int and not -EXACT <= v <= EXACT for v in values)
    made = None if large else pa.array([None if v is None else float(v) for v in values], pa.float64())
    if made is None or not np.isfinite(as_numpy(made.fill_null(0.0))).all():
        return "mixed", values
    return "numbers", _Numbers(_unsigned(made), np.array([type(v) is int for v in values]))


class _Numbers:
    """Doubles, some of which were integers."""

    def __init__(self, doubles: Column, whole: npt.NDArray[np.bool_]) -> None:
        self.doubles, self.whole = doubles, whole
        self.nbytes = doubles.nbytes + whole.nbytes


def _doubles(kind: str, made: Any) -> Column:
    import pyarrow as pa

    return made.doubles if kind == "numbers" else made.cast(pa.float64(), safe=False)


def _objects(kind: str, made: Any) -> Sequence[Any]:
    if kind == "mixed":
        return list(made)
    if kind == "numbers":
        pairs = zip(made.doubles.to_pylist(), made.whole.tolist(), strict=True)
        return [int(v) if whole else v for v, whole in pairs]
    found: list[Any] = made.to_pylist()
    return found


def _texts(kind: str, made: Any) -> Column:
    import pyarrow as pa

    if kind == "text":
        return made
    cells = [None if v is None else text(v) for v in _objects(kind, made)]
    return pa.array(cells, pa.large_string())


class Numbers:
    """Integers that come one by one, as those of lines do.

    Examples
    --------
    >>> lines = Numbers()
    >>> lines.append(3); lines.append(5)
    >>> lines[1], len(lines)
    (5, 2)
    """

    def __init__(self, dtype: npt.DTypeLike = np.int64) -> None:
        self._dtype = np.dtype(dtype)
        self._pieces: list[npt.NDArray[np.integer[Any]]] = []
        self._last: list[int] = []

    def __len__(self) -> int:
        return sum(map(len, self._pieces)) + len(self._last)

    def __getitem__(self, row: int) -> int:
        return int(self.whole()[row])

    def append(self, number: int) -> None:
        """Add one."""
        self._last.append(number)
        if len(self._last) == PIECE:
            self._flush()

    def whole(self) -> npt.NDArray[np.integer[Any]]:
        """All of them."""
        self._flush()
        if len(self._pieces) != 1:
            self._pieces = [np.concatenate([np.empty(0, dtype=self._dtype), *self._pieces])]
        return self._pieces[0]

    def _flush(self) -> None:
        if self._last:
            self._pieces.append(np.array(self._last, dtype=self._dtype))
            self._last = []


class Texts:
    """Strings, or missing cells, that come one by one; an attribute of things of which not all have it."""

    def __init__(self) -> None:
        self._pieces: list[Column] = []
        self._last: list[str | None] = []
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def append(self, cell: str | None) -> None:
        """Add one."""
        self._last.append(cell)
        self._rows += 1
        if len(self._last) >= PIECE:
            self._flush()

    def pad(self, rows: int) -> None:
        """Add missing cells up to a number of rows."""
        import pyarrow as pa

        if rows - self._rows < PIECE:
            self._last += [None] * (rows - self._rows)
        else:
            self._flush()
            self._pieces.append(pa.nulls(rows - self._rows, pa.string()))
        self._rows = max(rows, self._rows)

    def whole(self) -> Column:
        """The column."""
        import pyarrow as pa

        self._flush()
        return pa.chunked_array(self._pieces, pa.string())

    def _flush(self) -> None:
        import pyarrow as pa

        if self._last:
            memory.claim(sum(len(cell) for cell in self._last if cell))  # a default may stand for all of them
            self._pieces.append(pa.array(self._last, pa.string()))
            self._last = []
