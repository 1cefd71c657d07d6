"""Edge lists: a line per edge, source and target and perhaps a weight; KONECT files are such lists.

A KONECT file begins ``% asym unweighted``: ``sym`` edges are undirected, ``bip`` ones join two sets of
vertices that are numbered separately. http://konect.cc
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from kgreason.errors import DataError
from kgreason.graph.io.fields import read_fields
from kgreason.graph.io.naming import labelled
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Raw, open_bytes, read_block

_KONECT = re.compile(rb"%\s*(sym|asym|bip)\s+\w+")


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
    columns, lines, names = fields.columns, fields.lines, None
    if options.header and columns:
        names = tuple(str(c[0]) for c in columns)
        columns, lines = tuple(c.slice(1) for c in columns), lines[1:]
    raw = Raw(
        file=str(path),
        names=names or _names(len(columns), konect=form is not None),
        columns=columns,
        line=lambda row: int(lines[row]),
        named=names is not None,
        graph=names is None and (form is not None or len(columns) <= 3),
        undirected=np.ones(len(lines), dtype=bool) if form == "sym" else None,
    )
    return labelled(raw, path, options)


def konect_form(path: Path) -> str | None:
    """What the first line of a KONECT file says of its edges: sym, asym or bip; `None`: it is another list."""
    with open_bytes(path) as stream:
        found = _KONECT.match(read_block(path, stream, 1 << 10))
    return found.group(1).decode() if found else None


def _names(width: int, *, konect: bool) -> tuple[str, ...]:
    known = ("source", "target", "weight", "time") if konect else ("source", "target", "weight")
    return tuple(known[i] if i < len(known) else f"column{i + 1}" for i in range(width))
