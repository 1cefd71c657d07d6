"""Lines of fields: the common ground of edge lists, KONECT, MatrixMarket and Pajek files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgreason.arrays import pa, pc
from kgreason.data.raw import Column, decoded, whole_lines
from kgreason.errors import DataError

_ALWAYS = 1_000_000  # vertices that any file may declare, besides one for each of its bytes
_UNPACKED = 20  # bytes that one of gzip stands for, at most, in files of edges


@dataclass(frozen=True)
class Fields:
    """Equally long lists of fields.

    Attributes
    ----------
    columns
        Arrow string arrays.
    lines
        Line in the file of each row, int64.
    """

    columns: tuple[Column, ...]
    lines: npt.NDArray[np.int64]


def read_fields(
    path: Path, encoding: str, *, skip: int = 0, delimiter: str | None = None, comments: str = "%#"
) -> Fields:
    """Split the lines of a file at `delimiter`, passing over blank lines and comments.

    Parameters
    ----------
    skip
        Lines to pass over at the start.
    delimiter
        `None`: tab or comma if the first line of data has one, else any run of spaces and tabs.
    comments
        Characters that begin a comment line.

    Raises
    ------
    DataError
        If a line has more or fewer fields than the first.
    """
    blocks = _blocks(str(path), whole_lines(path), encoding)
    return split_lines(str(path), blocks, skip, delimiter, comments)


def _blocks(file: str, blocks: Iterator[bytes], encoding: str) -> Iterator[tuple[int, str]]:
    first = 1
    for block in blocks:
        yield first, decoded(file, block, encoding, first)
        first += block.count(b"\n")


def split_lines(
    file: str, blocks: Iterator[tuple[int, str]], skip: int, delimiter: str | None, comments: str
) -> Fields:
    """`read_fields` on blocks of text, each with the number of its first line."""
    parts: list[list[Column]] = []
    numbers: list[npt.NDArray[np.int64]] = []
    for first, text in blocks:
        lines, number = _data_lines(text, first, skip, comments)
        if not len(lines):
            continue
        delimiter = delimiter or next((mark for mark in "\t," if mark in lines[0].as_py()), " ")
        width = len(parts[0]) if parts else None
        parts.append(_split(file, lines, number, delimiter, width))
        numbers.append(number)
    if not parts:
        return Fields((), np.empty(0, dtype=np.int64))
    columns = tuple(pa.chunked_array(chunks) for chunks in zip(*parts, strict=True))
    return Fields(columns, np.concatenate(numbers))


def _data_lines(text: str, first: int, skip: int, comments: str) -> tuple[Column, npt.NDArray[np.int64]]:
    lines = pc.list_flatten(pc.split_pattern(pa.array([text], pa.large_string()), "\n"))
    lines = pc.ascii_trim(lines, " \t\r")
    number = np.arange(first, first + len(lines), dtype=np.int64)
    keep = pc.not_equal(lines, "").to_numpy(zero_copy_only=False) & (number > skip)
    for mark in comments:
        keep &= ~pc.starts_with(lines, mark).to_numpy(zero_copy_only=False)
    return lines.filter(pa.array(keep)), number[keep]


def _split(
    file: str, lines: Column, number: npt.NDArray[np.int64], delimiter: str, width: int | None
) -> list[Column]:
    fields = pc.ascii_split_whitespace(lines) if delimiter == " " else pc.split_pattern(lines, delimiter)
    widths = pc.list_value_length(fields).to_numpy(zero_copy_only=False)
    width = int(widths[0]) if width is None else width
    odd = np.flatnonzero(widths != width)
    if len(odd):
        hint = "if the first line is a title or a count, say skip=1" if number[odd[0]] <= 2 else None
        raise DataError(
            file,
            f"{widths[odd[0]]} field{'s' * int(widths[odd[0]] != 1)} where the lines before have {width}",
            int(number[odd[0]]),
            hint=hint,
        )
    columns = [pc.list_element(fields, position) for position in range(width)]
    return columns if delimiter == " " else [pc.ascii_trim(c, " \t") for c in columns]


def check_declared(path: Path, count: int, line: int) -> None:
    """Refuse a number of vertices that is out of all proportion to the file: each of them is held in memory.

    Raises
    ------
    DataError
        Naming the line that declares them.
    """
    size = path.stat().st_size * (_UNPACKED if path.suffix == ".gz" else 1)
    if count > _ALWAYS + size:
        raise DataError(
            str(path),
            f"the file declares {count:,} vertices, and is far too small to have edges for them",
            line,
            hint="is the number a slip, or the file cut off? if it is right, write the edges as an edge list: "
            "format=edges has the vertices on edges alone",
        )


def check_indices(file: str, column: Column, lines: npt.NDArray[np.int64], limit: int, what: str) -> None:
    """See that every field is a number from 1 to `limit`, without leading zeros.

    Raises
    ------
    DataError
        At the first that is not.
    """
    digits = pc.match_substring_regex(column, r"^[1-9][0-9]{0,17}$")
    index = pc.if_else(digits, column, pa.scalar("0", column.type)).cast(pa.int64()).to_numpy()
    bad = np.flatnonzero((index < 1) | (index > limit))
    if len(bad):
        value = column[int(bad[0])].as_py()
        raise DataError(
            file,
            f"{value!r} is no {what}, expected 1 to {limit}",
            int(lines[bad[0]]),
            hint="the head of the file says how many there are: is it of another file?",
        )
