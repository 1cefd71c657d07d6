"""Columns that grow as a file is read: Arrow arrays piece by piece, objects of Python only for the last few rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from kgreason import memory
from kgreason.arrays import as_numpy
from kgreason.data.raw import Column
from kgreason.data.values import CastError, Objects, arrow_column
from kgreason.lang.values import EXACT

PIECE = 1 << 16  # rows that are objects of Python at once

_KINDS = {
    frozenset[type](): "null",
    frozenset({str}): "text",
    frozenset({bool}): "bool",
    frozenset({int}): "int",
    frozenset({float}): "float",
    frozenset({int, float}): "numbers",
    frozenset({datetime}): "date",
}
_NUMBERS = frozenset({"int", "float", "numbers"})


class Gathered:
    """A column of values of any type, as `kgreason.data.values.arrow_column` makes it of all of them at once.

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
        self._pieces: list[Column] = []
        self._values: list[Sequence[Any] | None] = []  # of pieces whose arrays do not tell them
        self._rows = 0
        self.kinds: set[str] = set()

    def __len__(self) -> int:
        return self._rows

    def pad(self, rows: int) -> None:
        """Add missing cells up to a number of rows."""
        import pyarrow as pa

        if rows > self._rows:
            self._append("null", pa.nulls(rows - self._rows))

    def add(self, values: Sequence[Any]) -> None:
        """Add a piece."""
        if len(values):
            kind, made = _piece(values)
            self._append(kind, made, values if kind in ("mixed", "numbers") else None)

    def _append(self, kind: str, made: Column, values: Sequence[Any] | None = None) -> None:
        memory.look()
        self.kinds.add(kind)
        self._pieces.append(made)
        self._values.append(values)
        self._rows += len(made)

    def whole(self) -> Column:
        """The column.

        Raises
        ------
        CastError
            If a value is none of the language, or lists meet other values.
        """
        import pyarrow as pa

        kinds = self.kinds - {"null"}
        try:
            if kinds and kinds <= _NUMBERS and kinds != {"int"}:
                return pa.chunked_array([made.cast(pa.float64()) for made in self._pieces])
            if len(kinds) <= 1 and kinds != {"mixed"}:
                type = next((m.type for m in self._pieces if m.type != pa.null()), pa.large_string())
                return pa.chunked_array([made.cast(type) for made in self._pieces], type)
        except pa.ArrowInvalid:
            pass  # an integer beside doubles that none of them may equal
        pairs = zip(self._pieces, self._values, strict=True)
        return arrow_column([v for made, kept in pairs for v in (kept or made.to_pylist())])


def _piece(values: Sequence[Any]) -> tuple[str, Column]:
    """Kind of some values, and their array; of a mixture, the values themselves."""
    import pyarrow as pa

    kind = _KINDS.get(frozenset(map(type, values)) - {type(None)}, "mixed")
    if kind == "null":
        return kind, pa.nulls(len(values))
    if kind == "text":
        memory.claim(2 * sum(len(v) for v in values if v))
    try:
        made = _doubles(values) if kind in ("float", "numbers") else None
        made = arrow_column(values) if made is None and kind != "mixed" else made
    except CastError:
        made = None
    return (kind, made) if made is not None and not isinstance(made, Objects) else ("mixed", values)


def _doubles(values: Sequence[Any]) -> Column | None:
    """Doubles, and integers that are exact as such, at once; `None`: the values are others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if any(type(v) is int and not -EXACT <= v <= EXACT for v in values):
        return None
    made = pa.array([None if v is None else float(v) for v in values], pa.float64())
    return (
        pc.add(made, 0.0) if np.isfinite(as_numpy(made.fill_null(0.0))).all() else None
    )  # no zero has a sign
