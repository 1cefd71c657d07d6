"""Edge lists: one line per edge with source, target and optional weight. KONECT files are numeric edge lists.

A KONECT file begins with ``% asym unweighted``: ``sym`` edges are undirected, ``bip`` edges join two vertex sets that
are numbered separately. The field parser is shared with Matrix Market and Pajek files.

References
----------
J. Kunegis: KONECT, the Koblenz Network Collection, WWW 2013 Companion; http://konect.cc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgreason.base.arrays import as_arrow, as_numpy, pa, pc
from kgreason.base.errors import DataError
from kgreason.data.fact_columns import TextColumn, check_weight, first_with, row_ranges, texts, write_lines
from kgreason.data.formats.vertex_names import labelled, numbered, write_entries
from kgreason.data.raw_table import Column, Raw, decoded, open_bytes, read_block, whole_lines
from kgreason.data.source_options import Options, delimiter_of
from kgreason.data.targets import Target
from kgreason.engine.relations.fact_tables import Facts

_ALWAYS = 1_000_000  # vertices that any file may declare, besides one per byte
_UNPACKED = 20  # maximum compression ratio of gzip for edge files


Lines = npt.NDArray[np.int64]


def read_fields(
    path: Path, encoding: str, *, skip: int = 0, delimiter: str | None = None, comments: str = "%#"
) -> tuple[tuple[Column, ...], Lines]:
    """Fields of the lines of a file as columns, and the line number of each row.

    Comments, blank lines and the first `skip` lines are left out. Without a delimiter: tab or comma if the first line
    of data has one, else any run of spaces and tabs. All lines must have as many fields as the first.
    """

    def blocks() -> Iterator[tuple[int, str]]:
        first = 1
        for block in whole_lines(path):
            yield first, decoded(str(path), block, encoding, first)
            first += block.count(b"\n")

    return split_lines(str(path), blocks(), skip, delimiter, comments)


def split_lines(
    file: str, blocks: Iterator[tuple[int, str]], skip: int, delimiter: str | None, comments: str
) -> tuple[tuple[Column, ...], Lines]:
    """`read_fields` for blocks of text, each with the number of its first line."""
    parts: list[list[Column]] = []
    numbers: list[Lines] = []
    for first, text in blocks:
        lines, number = _data_lines(text, first, skip, comments)
        if not len(lines):
            continue
        delimiter = delimiter or next((mark for mark in "\t," if mark in lines[0].as_py()), " ")
        parts.append(_split(file, lines, number, delimiter, len(parts[0]) if parts else None))
        numbers.append(number)
    if not parts:
        return (), np.empty(0, dtype=np.int64)
    columns = tuple(pa.chunked_array(chunks) for chunks in zip(*parts, strict=True))
    return columns, np.concatenate(numbers)


def _data_lines(text: str, first: int, skip: int, comments: str) -> tuple[Column, Lines]:
    lines = pc.list_flatten(pc.split_pattern(pa.array([text], pa.large_string()), "\n"))
    lines = pc.ascii_trim(lines, " \t\r")
    number = np.arange(first, first + len(lines), dtype=np.int64)
    keep = as_numpy(pc.not_equal(lines, "")) & (number > skip)
    for mark in comments:
        keep &= ~as_numpy(pc.starts_with(lines, mark))
    return lines.filter(as_arrow(keep)), number[keep]


def _split(file: str, lines: Column, number: Lines, delimiter: str, width: int | None) -> list[Column]:
    fields = pc.ascii_split_whitespace(lines) if delimiter == " " else pc.split_pattern(lines, delimiter)
    widths = as_numpy(pc.list_value_length(fields))
    width = int(widths[0]) if width is None else width
    odd = np.flatnonzero(widths != width)
    if len(odd):
        hint = "if the first line is a title or a count, say skip=1" if number[odd[0]] <= 2 else None
        what = f"{widths[odd[0]]} field{'s' * int(widths[odd[0]] != 1)} where the lines before have {width}"
        raise DataError(file, what, int(number[odd[0]]), hint=hint)
    columns = [pc.list_element(fields, position) for position in range(width)]
    return columns if delimiter == " " else [pc.ascii_trim(c, " \t") for c in columns]


def check_declared(path: Path, count: int, line: int) -> None:
    """Check that the declared number of vertices is plausible for the file size, since each vertex takes memory."""
    size = path.stat().st_size * (_UNPACKED if path.suffix == ".gz" else 1)
    if count > _ALWAYS + size:
        what = f"the file declares {count:,} vertices, and is far too small to have edges for them"
        hint = "is the number a slip, or the file cut off? if it is right, write the edges as an edge list"
        hint += ": format=edges has the vertices on edges alone"
        raise DataError(str(path), what, line, hint=hint)


def check_indices(file: str, column: Column, lines: Lines, limit: int, what: str) -> None:
    """Check that every field is a number from 1 to `limit`, without leading zeros."""
    digits = pc.match_substring_regex(column, r"^[1-9][0-9]{0,17}$")
    index = pc.if_else(digits, column, pa.scalar("0", column.type)).cast(pa.int64()).to_numpy()
    bad = np.flatnonzero((index < 1) | (index > limit))
    if len(bad):
        value = column[int(bad[0])].as_py()
        hint = "the head of the file says how many there are: is it of another file?"
        raise DataError(file, f"{value!r} is no {what}, expected 1 to {limit}", int(lines[bad[0]]), hint=hint)


_KONECT = re.compile(rb"%\s*(sym|asym|bip)\s+\w+")
_TAB = "delimiter=tab keeps blanks and commas; csv holds any text"


def read_edges(path: Path, options: Options) -> Raw:
    """Read an edge list or a KONECT file; ids are kept as written.

    Blanks, tabs or commas separate the values; ``%`` and ``#`` begin comment lines. The first ``%`` line of KONECT
    gives the direction; its ``ent`` files are suitable as `labels`.
    """
    form = konect_form(path)
    if form == "bip" and options.prefix is None:
        what = "the file is bipartite: both of its sides count their ids from 1"
        hint = "keep them apart with prefix, for instance prefix=left:,right:"
        raise DataError(str(path), what, 1, hint=hint)
    columns, lines = read_fields(path, options.encoding, skip=options.skip, delimiter=options.delimiter)
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
    """Edge type in the first line of a KONECT file: sym, asym or bip; `None` for other edge lists."""
    with open_bytes(path) as stream:
        found = _KONECT.match(read_block(path, stream, 1 << 10))
    return found.group(1).decode() if found else None


def write_edges(path: Path, facts: Facts, predicate: str, _: Sequence[str], target: Target) -> None:
    """Write the values of each fact on a line, in UTF-8."""
    table, file = facts.tables[predicate], str(target.path)
    delimiter = delimiter_of(file, target.options.get("delimiter", "space"))
    if delimiter in "\r\n%#\"'\\":
        raise DataError(file, f"option delimiter cannot be {delimiter!r}", hint="for instance delimiter=tab")
    with path.open("wb") as stream:
        for rows in row_ranges(facts, predicate):
            columns: list[TextColumn | str] = []
            for position, (kind, data) in enumerate(zip(table.kinds, table.columns, strict=True)):
                column = texts(kind, data[rows], facts)
                _check(file, column, delimiter, first=position == 0)
                columns += [column, delimiter]
            write_lines(stream, columns[:-1])


def _check(file: str, column: TextColumn, delimiter: str, *, first: bool) -> None:
    """Check that a reader splits the values as they were written."""
    if first_with(column, "^$") is not None:
        raise DataError(file, "an edge list cannot hold an empty value", hint="csv and parquet have one")
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
    """Write a directed network: a type line, a size line, then one line per edge.

    A third column is the weight, a fourth the time of the edge.
    """
    table, file = facts.tables[predicate], str(target.path)
    check_weight(file, predicate, table, names, "konect")
    if table.arity > 3 and table.kinds[3].name != "INT":
        what = f"the times of {predicate} are no integers, and konect holds no others"
        hint = "write them as integers, for instance seconds, or choose another format"
        raise DataError(file, what, column=names[3], hint=hint)
    found, most = numbered(facts, predicate, target)
    with path.open("wb") as stream:
        form = "weighted" if table.arity > 2 else "unweighted"
        stream.write(f"% asym {form}\n% {table.length} {most} {most}\n".encode())
        write_entries(stream, facts, predicate, found)
