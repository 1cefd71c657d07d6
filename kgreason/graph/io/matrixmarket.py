"""MatrixMarket coordinate files: entry (i, j) is an edge from i to j, its value the weight.

A symmetric matrix stores one triangle: its edges are undirected, and its diagonal is no part of the graph.

References
----------
R. F. Boisvert, R. Pozo, K. Remington: The Matrix Market Exchange Formats, NISTIR 5935, 1996.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgreason import memory
from kgreason.errors import DataError
from kgreason.graph.io.fields import check_declared, check_indices, read_fields
from kgreason.graph.io.naming import labelled
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Column, Raw, decoded, whole_lines
from kgreason.graph.io.values import int64
from kgreason.records import dataclass

_BYTES = 30  # of a vertex
_BANNER = "%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric|skew-symmetric"


@dataclass(frozen=True)
class _Head:
    field: str
    symmetry: str
    rows: int
    columns: int
    entries: int
    lines: int


def read_mtx(path: Path, options: Options) -> Raw:
    """Read a coordinate matrix; the ids are the indices as written."""
    import pyarrow as pa
    import pyarrow.compute as pc

    head = _head(path, options.encoding)
    fields = read_fields(path, options.encoding, skip=head.lines, delimiter=" ", comments="%")
    width = 2 if head.field == "pattern" else 3
    names = ("source", "target", "weight")[:width]
    columns, lines = fields.columns or (pa.array([], pa.string()),) * width, fields.lines
    _check(str(path), head, columns, lines, width)
    undirected, notes = None, tuple[str, ...]()
    if head.symmetry != "general":
        diagonal = pc.equal(columns[0], columns[1]).to_numpy(zero_copy_only=False)
        if diagonal.any() and not options.keep_diagonal:
            entries = f"{diagonal.sum()} entr{'y' if diagonal.sum() == 1 else 'ies'}"
            notes = (f"{path}: {entries} of the diagonal left out; diagonal=keep keeps them",)
            columns = tuple(c.filter(pa.array(~diagonal)) for c in columns)
            lines, diagonal = lines[~diagonal], diagonal[~diagonal]
        undirected = ~diagonal
    if head.symmetry == "skew-symmetric":
        columns, lines, undirected = _negated(columns, lines)
    check_declared(path, max(head.rows, head.columns), head.lines)
    memory.claim(_BYTES * max(head.rows, head.columns))
    declared = pa.array(np.arange(1, max(head.rows, head.columns) + 1)).cast(pa.string())
    vertices = Raw(str(path), ("id",), (declared,), lambda _: head.lines)
    raw = Raw(
        str(path),
        names,
        columns,
        lambda row: int(lines[row]),
        named=False,
        graph=True,
        undirected=undirected,
        vertices=vertices,
        notes=notes,
    )
    return labelled(raw, path, options, max(head.rows, head.columns))


def _negated(
    columns: tuple[Column, ...], lines: npt.NDArray[np.int64]
) -> tuple[tuple[Column, ...], npt.NDArray[np.int64], None]:
    """Write the other triangle of a skew-symmetric matrix out: its values have the other sign."""
    import pyarrow as pa
    import pyarrow.compute as pc

    large = pa.large_string()
    minus = pc.binary_join_element_wise(pa.scalar("-", large), columns[2], pa.scalar("", large))
    minus = pc.replace_substring_regex(minus, r"^-[+]", "-")
    minus = pc.replace_substring_regex(minus, "^--", "")
    both = [(columns[0], columns[1]), (columns[1], columns[0]), (columns[2], minus)]
    joined = tuple(pa.chunked_array([*_chunks(a), *_chunks(b)]) for a, b in both)
    return joined, np.concatenate([lines, lines]), None


def _chunks(column: Column) -> list[Column]:
    return list(column.chunks) if hasattr(column, "chunks") else [column]


def _head(path: Path, encoding: str) -> _Head:
    file = str(path)
    lines = itertools.chain.from_iterable(block.splitlines() for block in whole_lines(path))
    banner = decoded(file, next(lines, b""), encoding).lower().split()
    if banner[:3] != ["%%matrixmarket", "matrix", "coordinate"] or len(banner) != 5:
        raise DataError(file, "this is no MatrixMarket coordinate file", 1, hint=f"it begins {_BANNER}")
    field, symmetry = banner[3:]
    fits = field in ("real", "integer", "pattern") and symmetry in ("general", "symmetric", "skew-symmetric")
    if not fits or (field == "pattern" and symmetry == "skew-symmetric"):
        raise DataError(file, f"a {field} {symmetry} matrix is no graph with weights", 1, hint=_BANNER)
    number = 1
    for number, line in enumerate(lines, 2):
        text = line.decode("latin-1").strip()
        if text and not text.startswith("%"):
            return _sized(file, field, symmetry, text, number)
    raise DataError(file, "the size line is missing", number, hint="rows, columns and entries, as in 5 5 12")


def _sized(file: str, field: str, symmetry: str, text: str, number: int) -> _Head:
    counts = [int64(word) if word.isdecimal() else None for word in text.split()]
    rows, columns, entries = counts if len(counts) == 3 else (None, None, None)
    if rows is None or columns is None or entries is None:
        raise DataError(
            file,
            f"expected the size line (rows, columns, entries), found {text[:60]!r}",
            number,
            hint="as in 5 5 12",
        )
    return _Head(field, symmetry, rows, columns, entries, number)


def _check(
    file: str, head: _Head, columns: tuple[Column, ...], lines: npt.NDArray[np.int64], width: int
) -> None:
    if len(columns) != width:
        raise DataError(
            file,
            f"{len(columns)} fields in an entry of a {head.field} matrix, expected {width}",
            int(lines[0]),
            hint="the first line says what the matrix is of: pattern has 2 fields, real and integer 3",
        )
    if len(lines) != head.entries:
        raise DataError(
            file,
            f"{len(lines)} entries, but the size line says {head.entries}",
            head.lines,
            hint="is the file cut off?",
        )
    if len(lines):
        check_indices(file, columns[0], lines, head.rows, "row index")
        check_indices(file, columns[1], lines, head.columns, "column index")
