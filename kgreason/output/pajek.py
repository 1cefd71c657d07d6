"""Facts as a Pajek network: numbered vertices with their labels, then arcs.

References
----------
V. Batagelj, A. Mrvar: Pajek, reference manual, section 5.3.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kgreason.arrays import as_arrow
from kgreason.engine.table import Facts
from kgreason.output.fields import TextColumn, check_weight, numbers, pieces, write_lines
from kgreason.output.target import Target
from kgreason.output.vertices import vertices_of

_SPECIAL = re.compile('["\x00-\x1f\x7f]|&(?=#[0-9])')


def write_pajek(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write vertices and arcs, in UTF-8; quotation marks and line ends are written by number, as in ``&#34;``.

    Raises
    ------
    DataError
        If a name is empty, or a weight is no number.
    """
    import pyarrow as pa

    table, file = facts.tables[predicate], str(target.path)
    check_weight(file, predicate, table, names, "net")
    found = vertices_of(facts, predicate, target)
    with path.open("wb") as stream:
        stream.write(f"*vertices {len(found.names)}\n".encode())
        stream.writelines(f'{i} "{_label(name)}"\n'.encode() for i, name in enumerate(found.names, 1))
        stream.write(b"*arcs\n")
        for rows in pieces(facts, predicate) if table.arity > 1 else ():
            source, end = (as_arrow(np.add(e[rows], 1)).cast(pa.large_string()) for e in found.ends)
            weight: list[TextColumn | str] = []
            if table.arity > 2:
                weight = [" ", numbers(table.kinds[2], table.columns[2][rows])]
            write_lines(stream, [source, " ", end, *weight])


def _label(name: str) -> str:
    """A label without what would end it."""
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", name)
