"""MatrixMarket coordinate files: entry (i, j) is an edge from i to j, weighted by its value.

A symmetric matrix stores one triangle: its edges are undirected, and its diagonal is not part of the graph.

SciPy is unsuitable: `mmread` parses the entries ``0,5``, ``50%`` and ``0.5 7`` as 0, 50 and 0.5, gives no line numbers
of entries, and aborts the process at some files that are not given by a path (gzip); `mmwrite` writes 0.5 as 5E-1.

References
----------
R. F. Boisvert, R. Pozo, K. Remington: The Matrix Market Exchange Formats, NISTIR 5935, 1996.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from kgreason.base import memory
from kgreason.base.arrays import as_arrow, pa, pc
from kgreason.base.errors import DataError
from kgreason.data.fact_columns import check_weight
from kgreason.data.formats.edge_list import check_declared, check_indices, read_fields
from kgreason.data.formats.vertex_names import Vertices, edges, labelled, numbered, write_entries
from kgreason.data.raw_table import Raw, decoded, whole_lines
from kgreason.data.source_options import Options
from kgreason.data.targets import Target
from kgreason.data.value_conversion import int64
from kgreason.engine.relations.fact_tables import Facts, Kind

_BANNER = "%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric|skew-symmetric"
_FIELDS = {Kind.INT: "integer", Kind.DOUBLE: "real"}
_BYTES = 30  # bytes per vertex


def read_mtx(path: Path, options: Options) -> Raw:
    """Read a coordinate matrix; vertices are named by their indices, as written.

    Line i of `labels` names vertex i; ``nodename`` files of SuiteSparse are suitable. Symmetric matrices are expanded.
    """
    file = str(path)
    field, symmetry, size_line, (height, width, entries) = _head(path, options.encoding)
    count = max(height, width)
    check_declared(path, count, size_line)
    memory.claim(_BYTES * count)
    columns, lines = read_fields(path, options.encoding, skip=size_line, delimiter=" ", comments="%")
    expected = 2 if field == "pattern" else 3
    columns = columns or (pa.chunked_array([], pa.large_string()),) * expected
    if len(columns) != expected:
        message = f"{len(columns)} fields in an entry of a {field} matrix, expected {expected}"
        hint = "the first line says what the matrix is of: pattern has 2 fields, real and integer 3"
        raise DataError(file, message, int(lines[0]), hint=hint)
    if len(lines) != entries:
        message = f"{len(lines)} entries, but the size line says {entries}"
        raise DataError(file, message, size_line, hint="is the file cut off?")
    check_indices(file, columns[0], lines, height, "row index")
    check_indices(file, columns[1], lines, width, "column index")
    off_diagonal, notes = None, tuple[str, ...]()
    if symmetry != "general":
        off_diagonal = pc.not_equal(columns[0], columns[1]).to_numpy(zero_copy_only=False)
        left_out = int((~off_diagonal).sum())
        if left_out and not options.keep_diagonal:
            what = f"{left_out} entr{'y' if left_out == 1 else 'ies'} of the diagonal left out"
            notes = (f"{file}: {what}; diagonal=keep keeps them",)
            columns = tuple(column.filter(pa.array(off_diagonal)) for column in columns)
            lines, off_diagonal = lines[off_diagonal], off_diagonal[off_diagonal]
    if symmetry == "skew-symmetric":  # the other triangle has opposite signs
        source, target, weight = columns
        minus = pc.replace_substring_regex(pc.replace_substring_regex(weight, r"^[+]?", "-"), "^--", "")
        both = [(source, target), (target, source), (weight, minus)]
        columns = tuple(pa.chunked_array([*a.chunks, *b.chunks], a.type) for a, b in both)
        lines, off_diagonal = np.concatenate([lines, lines]), None
    ids = as_arrow(np.arange(1, count + 1)).cast(pa.string())
    vertices = Raw(file, ("id",), (ids,), lambda _: size_line)
    raw = edges(file, columns, lines.item, undirected=off_diagonal, vertices=vertices, notes=notes)
    return labelled(raw, path, options, count)


def _head(path: Path, encoding: str) -> tuple[str, str, int, list[int]]:
    """Field, symmetry, and the line number of the size line with its rows, columns and entries."""
    file = str(path)
    lines = enumerate(chain.from_iterable(block.splitlines() for block in whole_lines(path)), 1)
    number, first = next(lines, (1, b""))
    banner = decoded(file, first, encoding).lower().split()
    if banner[:3] != ["%%matrixmarket", "matrix", "coordinate"] or len(banner) != 5:
        raise DataError(file, "this is no MatrixMarket coordinate file", 1, hint=f"it begins {_BANNER}")
    field, symmetry = banner[3:]
    fits = field in ("real", "integer", "pattern") and symmetry in ("general", "symmetric", "skew-symmetric")
    if not fits or (field == "pattern" and symmetry == "skew-symmetric"):
        raise DataError(file, f"a {field} {symmetry} matrix is no graph with weights", 1, hint=_BANNER)
    entries = ((number, line.decode("latin-1")) for number, line in lines)
    number, line = next((e for e in entries if e[1].strip() and e[1].lstrip()[0] != "%"), (number, ""))
    sizes = [int64(word) for word in line.split()]
    known = [size for size in sizes if size is not None and size >= 0]
    if len(sizes) == len(known) == 3:
        return field, symmetry, number, known
    message = f"expected the size line (rows, columns, entries), found {line.strip()[:60]!r}"
    raise DataError(file, message, number, hint="as in 5 5 12")


def write_mtx(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write a general matrix of weights, or a pattern matrix without weights; it is empty for unary predicates."""
    table, file = facts.tables[predicate], str(target.path)
    check_weight(file, predicate, table, names, "mtx")
    found, most = numbered(facts, predicate, target)
    _check_pairs(file, found)
    entries = table.length if table.arity > 1 else 0
    field = _FIELDS[table.kinds[2]] if table.arity > 2 else "pattern"
    with path.open("wb") as stream:
        stream.write(f"%%MatrixMarket matrix coordinate {field} general\n".encode())
        stream.write(f"{most} {most} {entries}\n".encode())
        if entries:
            write_entries(stream, facts, predicate, found)


def _check_pairs(file: str, found: Vertices) -> None:
    """Reject parallel edges: readers either add up entries of one position or keep the last."""
    if len(found.ends) < 2:
        return
    source, end = found.ends
    order = np.lexsort((end, source))
    same = (np.diff(source[order]) == 0) & (np.diff(end[order]) == 0)
    if same.any():
        first = order[int(np.argmax(same))]
        pair = f"{int(source[first])} and {int(end[first])}"
        what = (
            f"a matrix has one entry for a pair, but {int(same.sum())} more than one, as that of rows {pair}"
        )
        raise DataError(file, what, hint="add the weights up by a rule (msum), or write konect, gml or net")
