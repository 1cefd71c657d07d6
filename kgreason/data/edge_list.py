"""Edge lists: one line per edge, source and target and perhaps a weight. KONECT files are such lists of numbers.

A KONECT file begins ``% asym unweighted``: ``sym`` edges are undirected, ``bip`` edges join two sets of vertices that
are numbered separately.

References
----------
J. Kunegis: KONECT, the Koblenz Network Collection, WWW 2013 Companion; http://konect.cc.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kgreason.data.field_lines import read_fields
from kgreason.data.field_text import (
    TextColumn,
    check_weight,
    first_with,
    pieces,
    texts,
    write_lines,
)
from kgreason.data.options import Options, delimiter_of
from kgreason.data.raw import Raw, open_bytes, read_block
from kgreason.data.target import Target
from kgreason.data.vertex_names import labelled, numbered, write_entries
from kgreason.engine.table import Facts
from kgreason.errors import DataError

_KONECT = re.compile(rb"%\s*(sym|asym|bip)\s+\w+")
_TAB = "delimiter=tab keeps blanks and commas; csv holds any text"


def read_edges(path: Path, options: Options) -> Raw:
    """Read an edge list or a KONECT file; ids stay as written."""
    form = konect_form(path)
    if form == "bip" and options.prefix is None:
        raise DataError(
            str(path),
            "the file is bipartite: both of its sides count their ids from 1",
            1,
            hint="keep them apart with prefix, for instance prefix=left:,right:",
        )
    fields = read_fields(path, options.encoding, skip=options.skip, delimiter=options.delimiter)
    columns, lines = fields.columns, fields.lines
    titled = bool(options.header and columns)
    known = ("source", "target", "weight", "time") if form else ("source", "target", "weight")
    names = tuple(known[i] if i < len(known) else f"column{i + 1}" for i in range(len(columns)))
    if titled:
        names = tuple(str(c[0]) for c in columns)
        columns, lines = tuple(c.slice(1) for c in columns), lines[1:]
    raw = Raw(
        str(path),
        names,
        columns,
        lambda row: int(lines[row]),
        named=titled,
        graph=not titled and (form is not None or len(columns) <= 3),
        undirected=np.ones(len(lines), dtype=bool) if form == "sym" else None,
    )
    return labelled(raw, path, options)


def konect_form(path: Path) -> str | None:
    """What the first line of a KONECT file says of its edges: sym, asym or bip; `None`: it is another list."""
    with open_bytes(path) as stream:
        found = _KONECT.match(read_block(path, stream, 1 << 10))
    return found.group(1).decode() if found else None


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
    mark = rf"\x{{{ord(delimiter):X}}}"
    marks = {" ": r"\s\v,", "\t": r"\t\n", ",": r",\t\n"}.get(delimiter, rf"{mark}\n")
    odd = first_with(column, f"[{marks}]")
    if odd is None and delimiter != " ":  # the reader trims values
        odd = first_with(column, r"^[ \t\r]|[ \t\r]$")
    if odd is not None:
        hint = _TAB if delimiter == " " and "\n" not in odd and "\t" not in odd else "csv holds any text"
        raise DataError(file, f"{odd!r} would be read as more than one value, or less", hint=hint)
    comment = first_with(column, r"^[%#\x{FEFF}]") if first else None
    if comment is not None:
        hint = "write csv, or put another column first (@mapping, or another order in the head)"
        raise DataError(file, f"a line that begins with {comment!r} would be read as a comment", hint=hint)


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
    found, most = numbered(facts, predicate, target)
    with path.open("wb") as stream:
        form = "weighted" if table.arity > 2 else "unweighted"
        stream.write(f"% asym {form}\n% {table.length} {most} {most}\n".encode())
        write_entries(stream, facts, predicate, found)
