"""What a user hands over as the data of a predicate: files, tables in memory, or several of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kgreason.errors import DataError
from kgreason.graph.io.raw import Raw
from kgreason.graph.io.source import SourceSpec, parse_file
from kgreason.graph.io.values import Objects
from kgreason.lang.values import Null


def sources_of(predicate: str, given: object, arity: int | None) -> list[SourceSpec | Raw]:
    """Files and tables of one predicate.

    Raises
    ------
    DataError
        If that is no table, as one row without a list around it.
    """
    if not isinstance(given, (list, tuple)) or not given:
        return [_source(predicate, given)]
    if arity == 1 and any(isinstance(g, str) for g in given):  # values
        return [_source(predicate, given)]
    if arity not in (None, 1) and _is_row(given, arity):
        shown = repr(tuple(given))
        raise DataError(
            f"<{predicate}>", f"{shown} is one row, not a table", hint=f"put it into a list: [{shown}]"
        )
    if all(map(_is_source, given)):
        return [_source(predicate, g) for g in given]
    return [_source(predicate, given)]


def _is_row(given: list[object] | tuple[object, ...], arity: int | None) -> bool:
    """Whether a collection holds the values of one row, and not rows nor tables nor names of files."""
    if all(isinstance(g, str) for g in given):
        return len(given) == arity and not any("." in str(g) or "/" in str(g) for g in given)
    return all(
        isinstance(g, str) or not (isinstance(g, Iterable | Path | SourceSpec) or _is_table(g)) for g in given
    )


def _is_source(given: object) -> bool:
    """Whether something in a list is a source of its own, not a row."""
    return isinstance(given, (str, Path, SourceSpec)) or _is_table(given)


def _is_table(given: object) -> bool:
    from kgreason.graph.interchange import is_table

    return is_table(given)


def _source(predicate: str, given: object) -> SourceSpec | Raw:
    if isinstance(given, str):
        return parse_file(given)
    if isinstance(given, Path):
        return SourceSpec(given)
    if isinstance(given, SourceSpec):
        return given
    from kgreason.graph.interchange import as_raw

    return as_raw(given, f"<{predicate}>")


def given_nulls(table: Raw) -> Iterable[Null]:
    """Labelled nulls among the values of a table in memory."""
    mixed = (column for column in table.columns if isinstance(column, Objects))
    return (value for column in mixed for value in column if isinstance(value, Null))
