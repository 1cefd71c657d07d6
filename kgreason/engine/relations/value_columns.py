"""Values of expressions over batches of rows: conversion to codes, other kinds and Python values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import EvaluationError, InexactError
from kgreason.engine.relations.fact_tables import Codes, any_codes, as_doubles, dates, decode, doubles
from kgreason.engine.relations.kinds import Kind
from kgreason.engine.relations.rows import Rows
from kgreason.engine.relations.symbols import Symbols, whole
from kgreason.language.check.checked_program import CheckedAtom
from kgreason.language.values import Value, as_double

Values: TypeAlias = npt.NDArray[Any]
"""DOUBLE float64, BOOL bool, all else int64 as `Kind` says; one per row, or a single one for all."""

Function: TypeAlias = Callable[[Rows], Values]


def code(value: Value, kind: Kind, symbols: Symbols) -> int:
    """Code of a constant at a position of some kind.

    Raises
    ------
    InexactError
        If an integer at a position of doubles is not representable as a double.

    Examples
    --------
    >>> code(True, Kind.BOOL, Symbols()), code(1, Kind.DOUBLE, Symbols()) == code(1.0, Kind.DOUBLE, Symbols())
    (1, True)
    """
    if kind is Kind.DOUBLE:
        return int(doubles(np.array([as_double(value)], dtype=np.float64))[0])  # type: ignore[arg-type]
    if kind is Kind.DATE:
        return int(dates([value])[0])
    if kind is Kind.ANY:
        return symbols.intern(whole(value))
    return int(value) if kind in (Kind.INT, Kind.BOOL) else symbols.intern(value)  # type: ignore[arg-type]


def stated(facts: Sequence[CheckedAtom], kinds: Sequence[Kind], symbols: Symbols) -> Rows:
    """Coded rows of the facts of one predicate that a program states.

    Raises
    ------
    EvaluationError
        If an integer among doubles is not representable as a double.
    """
    rows = np.empty((len(facts), len(kinds)), dtype=np.int64)
    for row, fact in zip(rows, facts, strict=True):
        try:
            row[:] = [code(t.value, k, symbols) for t, k in zip(fact.terms, kinds, strict=True)]  # type: ignore[union-attr]
        except InexactError as error:
            message = f"{error.message}, in the fact {fact}"
            raise EvaluationError(message, span=fact.span, hint=error.hint) from None
    return rows


def sought(value: Value, kind: Kind, symbols: Symbols) -> int:
    """Code of a constant to look up; an unused code if no value at the position can equal it."""
    try:
        return code(value, kind, symbols)
    except InexactError:
        return int(np.float64(np.nan).view(np.int64))


def coded(values: Values, kind: Kind, target: Kind, symbols: Symbols) -> Codes:
    """Values as codes of a column of kind `target`."""
    if target is Kind.DOUBLE:
        return doubles(as_doubles(np.atleast_1d(values))).reshape(values.shape)
    if kind is Kind.BOOL:
        values = values.astype(np.int64)
    if target is Kind.ANY and kind is not Kind.ANY:
        own = doubles(np.atleast_1d(values)).reshape(values.shape) if kind is Kind.DOUBLE else values
        return any_codes(own, kind, symbols)
    return values


def widened(values: Values, kind: Kind, target: Kind, symbols: Symbols) -> Values:
    """Values converted to the wider kind `target`."""
    if kind is target:
        return values
    return as_doubles(values) if target is Kind.DOUBLE else coded(values, kind, target, symbols)


def dtype(kind: Kind) -> npt.DTypeLike:
    """NumPy type of values of a kind."""
    return {Kind.DOUBLE: np.float64, Kind.BOOL: np.bool_}.get(kind, np.int64)


def encoded(values: Sequence[Value], kind: Kind, symbols: Symbols) -> Values:
    """Python values as an array of values."""
    if kind is Kind.DATE:
        return dates(values)
    if kind in (Kind.INT, Kind.DOUBLE, Kind.BOOL):
        return np.array(values, dtype=dtype(kind))
    if kind is Kind.STRING:
        return symbols.encode(values)  # type: ignore[arg-type]
    if kind is Kind.ANY:
        values = list(map(whole, values))
    return np.fromiter(map(symbols.intern, values), dtype=np.int64, count=len(values))


def distinct(columns: Sequence[Codes]) -> tuple[list[Codes], npt.NDArray[np.intp]]:
    """Distinct rows of some columns, by column, and the index of each row among them.

    Examples
    --------
    >>> rows, which = distinct([np.array([1, 2, 1]), np.array([5, 5, 5])])
    >>> [r.tolist() for r in rows], which.tolist()
    ([[1, 2], [5, 5]], [0, 1, 0])
    """
    values, which = np.unique(columns[0], return_inverse=True)
    rows = [values]
    for column in columns[1:]:
        values, inverse = np.unique(column, return_inverse=True)
        pairs, which = np.unique(which * len(values) + inverse, return_inverse=True)
        rows = [*(r[pairs // len(values)] for r in rows), values[pairs % len(values)]]
    return rows, which


def decoded(kinds: Sequence[Kind], columns: Sequence[Codes], symbols: Symbols) -> list[list[Value]]:
    """Python values of some columns."""
    return [decode(k, c, symbols) for k, c in zip(kinds, columns, strict=True)]


Compiled = tuple[Kind, Function]
