"""Facts as edge lists: a line for each fact, its values between blanks or another mark; KONECT files are such lists.

References
----------
J. Kunegis: KONECT, the Koblenz Network Collection, WWW 2013 Companion; http://konect.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kgreason.engine.table import Facts
from kgreason.errors import DataError
from kgreason.graph.io.options import delimiter_of
from kgreason.output.fields import (
    TextColumn,
    check_weight,
    first_with,
    numbers,
    pieces,
    texts,
    write_lines,
)
from kgreason.output.numbered import numbered
from kgreason.output.target import Target

_TAB = "delimiter=tab keeps blanks and commas; csv holds any text"


def write_edges(path: Path, facts: Facts, predicate: str, _: Sequence[str], target: Target) -> None:
    """Write the values of each fact on a line of its own, in UTF-8.

    Raises
    ------
    DataError
        If a value holds the delimiter or a line end, or would be read as something else.
    """
    table, file = facts.tables[predicate], str(target.path)
    delimiter = delimiter_of(file, target.options.get("delimiter", "space"))
    if delimiter in "\r\n%#\"'\\":
        raise DataError(file, f"option delimiter cannot be {delimiter!r}", hint="for instance delimiter=tab")
    with path.open("wb") as stream:
        for rows in pieces(facts, predicate):
            columns: list[TextColumn | str] = []
            for place, (kind, data) in enumerate(zip(table.kinds, table.columns, strict=True)):
                column = texts(kind, data[rows], facts)
                _check(file, column, delimiter, first=place == 0)
                columns += [column, delimiter]
            write_lines(stream, columns[:-1])


def _check(file: str, column: TextColumn, delimiter: str, *, first: bool) -> None:
    """See that a reader finds the values where they were written."""
    if first_with(column, "^$") is not None:
        raise DataError(file, "an edge list has no place for an empty value", hint="csv and parquet have one")
    marks, ends = _marks(delimiter)
    odd = first_with(column, f"[{marks}]")
    if odd is None and ends:
        odd = first_with(column, f"^[{ends}]|[{ends}]$")
    if odd is not None:
        hint = _TAB if delimiter == " " and "\n" not in odd and "\t" not in odd else "csv holds any text"
        raise DataError(file, f"{odd!r} would be read as more than one value, or less", hint=hint)
    comment = first_with(column, r"^[%#\x{FEFF}]") if first else None
    if comment is not None:
        hint = "write csv, or put another column first (@mapping, or another order in the head)"
        raise DataError(file, f"a line that begins with {comment!r} would be read as a comment", hint=hint)


def _marks(delimiter: str) -> tuple[str, str]:
    """Characters that no value can hold, and those that it cannot begin or end with."""
    if delimiter == " ":
        return r" \t\n\v\f\r,", ""
    if delimiter == "\t":
        return r"\t\n", r" \t\r"
    other = rf"\x{{{ord(delimiter):X}}}"
    return rf"{other}\t\n" if delimiter == "," else rf"{other}\n", r" \t\r"


def write_konect(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write a directed network: a line of its kind, one of its size, then an edge a line.

    A third column is the weight, a fourth the time of the edge.

    Raises
    ------
    DataError
        If the vertices are no numbers, a weight is none, or a time is no integer.
    """
    table, file = facts.tables[predicate], str(target.path)
    check_weight(file, predicate, table, names, "konect")
    if table.arity > 3 and table.kinds[3].name != "INT":
        raise DataError(
            file,
            f"the times of {predicate} are no integers, and konect holds no others",
            column=names[3],
            hint="write them as integers, for instance seconds, or choose another format",
        )
    found = numbered(facts, predicate, target)
    with path.open("wb") as stream:
        form = "weighted" if table.arity > 2 else "unweighted"
        stream.write(f"% asym {form}\n% {table.length} {found.most} {found.most}\n".encode())
        for rows in pieces(facts, predicate):
            columns: list[TextColumn | str] = list(found.columns(rows))
            for kind, data in zip(table.kinds[2:], table.columns[2:], strict=True):
                columns += [" ", numbers(kind, data[rows])]
            write_lines(stream, [columns[0], " ", *columns[1:]])
