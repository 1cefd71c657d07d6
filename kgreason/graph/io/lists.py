"""Columns of lists and sets."""

from __future__ import annotations

import json
import re
from typing import Any

from kgreason.engine.table import Kind
from kgreason.graph.io.raw import Column
from kgreason.graph.io.values import EXPECTED, CastError, Objects, as_set, checked, is_text, text

_DOLLAR = re.compile(r"\\(.)", re.DOTALL)  # the language writes \$ before a brace, JSON does not know it


def collections(column: Column, kind: Kind) -> list[Any]:
    """Lists or sets of a `plain` column without missing cells; text holds them as JSON does, sets in braces too.

    Raises
    ------
    CastError
        If a value is no list.
    """
    if not isinstance(column, Objects) and not is_text(column):
        raise CastError(0, text(column[0].as_py()), EXPECTED[kind])
    values = [_collection(v, row, kind) for row, v in enumerate(column.to_pylist())]
    return [as_set(v) for v in values] if kind is Kind.SET else [tuple(v) for v in values]


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
