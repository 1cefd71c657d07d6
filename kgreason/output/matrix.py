"""Facts as a MatrixMarket coordinate file: the edge from i to j is the entry (i, j).

References
----------
R. F. Boisvert, R. Pozo, K. Remington: The Matrix Market Exchange Formats, NISTIR 5935, 1996.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kgreason.engine.table import Facts, Kind
from kgreason.errors import DataError
from kgreason.output.fields import TextColumn, check_weight, numbers, pieces, write_lines
from kgreason.output.numbered import Numbered, numbered
from kgreason.output.target import Target

_FIELDS = {Kind.INT: "integer", Kind.DOUBLE: "real"}


def write_mtx(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write a general matrix: of weights if the predicate has them, else a pattern; single values are an empty one.

    Raises
    ------
    DataError
        If the vertices are no numbers, a weight is none, or a pair has two weights.
    """
    table, file = facts.tables[predicate], str(target.path)
    check_weight(file, predicate, table, names, "mtx")
    found = numbered(facts, predicate, target)
    entries = table.length if table.arity > 1 else 0
    _check_pairs(file, found)
    field = _FIELDS[table.kinds[2]] if table.arity > 2 else "pattern"
    with path.open("wb") as stream:
        stream.write(f"%%MatrixMarket matrix coordinate {field} general\n".encode())
        stream.write(f"{found.most} {found.most} {entries}\n".encode())
        for rows in pieces(facts, predicate) if entries else ():
            source, end = found.columns(rows)
            weight: list[TextColumn | str] = []
            if table.arity > 2:
                weight = [" ", numbers(table.kinds[2], table.columns[2][rows])]
            write_lines(stream, [source, " ", end, *weight])


def _check_pairs(file: str, found: Numbered) -> None:
    """Refuse parallel edges: who reads two entries of one place adds them up, or takes the last."""
    if len(found.ends) < 2:
        return
    source, end = found.ends
    order = np.lexsort((end, source))
    same = (np.diff(source[order]) == 0) & (np.diff(end[order]) == 0)
    if same.any():
        first = order[int(np.argmax(same))]
        raise DataError(
            file,
            f"a matrix has one entry for a pair, but {int(same.sum())} more than one, as that of rows "
            f"{int(source[first])} and {int(end[first])}",
            hint="add the weights up by a rule (msum), or write konect, gml or net",
        )
