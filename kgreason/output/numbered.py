"""Facts whose vertices a format writes as numbers alone: MatrixMarket and KONECT.

Names that are numbers are these numbers. Others need a file of their own, a name a line, that the option ``labels``
calls: line i is the name of vertex i.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from kgreason.arrays import as_arrow
from kgreason.engine.table import Facts
from kgreason.errors import DataError
from kgreason.output.fields import TextColumn
from kgreason.output.target import Target
from kgreason.output.vertices import Numbers, Vertices, vertices_of
from kgreason.records import dataclass

MOST = 10_000_000
"""Greatest number that is a name and has no vertex for each number before it: a matrix has a row for each."""

_NUMBER = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)


@dataclass(frozen=True)
class Numbered:
    """Vertices by number.

    Attributes
    ----------
    ends
        Numbers from 1, for each of the first two places; int64.
    most
        The greatest number there is.
    """

    ends: tuple[Numbers, ...]
    most: int

    def columns(self, rows: slice) -> tuple[TextColumn, ...]:
        """Text of the numbers in a range of rows."""
        import pyarrow as pa

        return tuple(as_arrow(end[rows]).cast(pa.large_string()) for end in self.ends)


def numbered(facts: Facts, predicate: str, target: Target) -> Numbered:
    """Take the names of vertices for their numbers or, where a file of labels is to be written, number them.

    Raises
    ------
    DataError
        If a name is no number, or one far beyond the count of vertices.
    """
    file, format = str(target.path), target.format
    found = vertices_of(facts, predicate, target)
    if target.labels is not None or found.counted:
        return Numbered(tuple(end + 1 for end in found.ends), len(found.names))
    _check(found, file, format, single=len(found.ends) == 1)
    value = np.array([int(name) for name in found.names], dtype=np.int64)
    return Numbered(tuple(value[end] for end in found.ends), int(value.max()))


def _check(found: Vertices, file: str, format: str, *, single: bool) -> None:
    hint = f"write gml, net or csv, or labels=names.txt ({format}) with the names in a second file"
    odd = next((name for name in found.names if not _NUMBER.fullmatch(name)), None)
    if odd is not None:
        what = f"{format} holds numbers of vertices, from 1 on, and no names such as {odd!r}"
        raise DataError(file, what, hint=hint)
    most = max(map(int, found.names))
    if most > MOST:
        raise DataError(file, f"{most} is the name of a vertex, but too great for its number", hint=hint)
    if single:
        what = (
            f"{format} holds all vertices from 1 on, but of those up to {most} {len(found.names)} are there"
        )
        raise DataError(file, what, hint=hint)


def write_labels(path: Path, facts: Facts, predicate: str, target: Target) -> None:
    """Write the name of each vertex on a line, in the order of their numbers.

    Raises
    ------
    DataError
        If a name does not fit a line.
    """
    found = vertices_of(facts, predicate, target)
    odd = next((name for name in found.names if "\n" in name or "\r" in name or name[0] == "\ufeff"), None)
    if odd is not None:
        raise DataError(str(target.labels), f"the name {odd!r} does not fit a line", hint="write gml or net")
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(name + "\n" for name in found.names)
