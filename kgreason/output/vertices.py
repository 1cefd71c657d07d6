"""The vertices of facts, numbered: for formats whose edges join numbers."""

from __future__ import annotations

from collections.abc import Sequence
from string import whitespace

import numpy as np
import numpy.typing as npt

from kgreason.arrays import as_arrow, as_numpy
from kgreason.engine.table import Codes, Facts, decode
from kgreason.errors import DataError
from kgreason.graph.io.values import text
from kgreason.output.target import Target
from kgreason.records import dataclass

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Vertices:
    """Vertices of a predicate: the values at its first two places.

    Attributes
    ----------
    names
        Each once, as text.
    ends
        For each of the (at most two) places the number of the vertex in each row, from 0; int64.
    counted
        The names are 1 to n, and each is one more than its number.
    """

    names: Sequence[str]
    ends: tuple[Numbers, ...]
    counted: bool


def vertices_of(facts: Facts, predicate: str, target: Target) -> Vertices:
    """Number the vertices of a predicate: in order if their names are 1 to n, else as they first appear.

    Those that `target` declares besides come last.

    Raises
    ------
    DataError
        If a name is empty, or nothing but blanks.
    """
    table = facts.tables[predicate]
    number: dict[str, int] = {}
    ends = []
    for kind, data in zip(table.kinds[:2], table.columns[:2], strict=True):
        codes, values = _encoded(data)
        names = [text(v) for v in decode(kind, values, facts.symbols)]
        found = np.array([number.setdefault(name, len(number)) for name in names], dtype=np.int64)
        ends.append(found[codes])
    for name in target.vertices:
        number.setdefault(name, len(number))
    odd = next((name for name in number if not name.strip(whitespace)), None)
    if odd is not None:
        raise DataError(
            str(target.path),
            f"{predicate} holds a vertex with {'a blank' if odd else 'an empty'} name, which readers take for none",
            hint="csv and parquet hold such names",
        )
    return _counted(Vertices(list(number), tuple(ends), counted=False))


def _encoded(data: Codes) -> tuple[Numbers, Codes]:
    """Place of each code among the different ones, and these as they first appear."""
    encoded = as_arrow(np.ascontiguousarray(data)).dictionary_encode()
    return as_numpy(encoded.indices).astype(np.int64), as_numpy(encoded.dictionary)


def _counted(found: Vertices) -> Vertices:
    """Bring the names 1 to n into their order, so that number and name go together."""
    numbers = {str(i + 1) for i in range(len(found.names))}
    if not numbers.issuperset(found.names):
        return found
    place = np.array([int(name) - 1 for name in found.names], dtype=np.int64)
    names = [str(i + 1) for i in range(len(found.names))]
    return Vertices(names, tuple(place[end] for end in found.ends), counted=True)
