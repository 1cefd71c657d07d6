"""Facts as GML: nodes with their labels, then directed edges.

References
----------
M. Himsolt: GML: A portable Graph File Format, Universität Passau, 1997.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kgreason.arrays import as_arrow
from kgreason.engine.table import Facts
from kgreason.output.fields import WEIGHTS, TextColumn, pieces, texts, write_lines
from kgreason.output.names import free
from kgreason.output.target import Target
from kgreason.output.vertices import vertices_of

_ODD = re.compile(r"[^A-Za-z0-9]")
_TAKEN = ("source", "target", "weight", "value", "label", "id")
_SPECIAL = re.compile(r'[^ -~]|[&"]')
_NAMED = {"&": "&amp;", '"': "&quot;"}


def write_gml(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write nodes and edges in ASCII, as GML wants it: other letters stand by their number, as in ``&#233;``.

    A third column is the weight, further ones are keys of the edges, called by the letters and digits of their names.

    Raises
    ------
    DataError
        If a vertex has an empty name.
    """
    import pyarrow as pa

    table = facts.tables[predicate]
    keys = _keys(names)
    found = vertices_of(facts, predicate, target)
    with path.open("wb") as stream:
        stream.write(b"graph [\n  directed 1\n")
        stream.writelines(
            f'  node [ id {i} label "{escaped(name)}" ]\n'.encode() for i, name in enumerate(found.names, 1)
        )
        for rows in pieces(facts, predicate) if table.arity > 1 else ():
            source, end = (as_arrow(e[rows] + 1).cast(pa.large_string()) for e in found.ends)
            line: list[TextColumn | str] = ["  edge [ source ", source, " target ", end]
            for key, kind, data in zip(keys, table.kinds[2:], table.columns[2:], strict=True):
                mark = "" if kind in WEIGHTS else '"'
                line += [f" {key} {mark}", texts(kind, data[rows], facts, escaped), mark]
            write_lines(stream, [*line, " ]"])
        stream.write(b"]\n")


def escaped(words: str) -> str:
    """Text as it stands between the quotation marks of GML.

    Examples
    --------
    >>> escaped('Café "A&B"')
    'Caf&#233; &quot;A&amp;B&quot;'
    """
    return _SPECIAL.sub(lambda found: _NAMED.get(found[0], f"&#{ord(found[0])};"), words)


def _keys(names: Sequence[str]) -> list[str]:
    """Keys of the columns after the ends: letters and digits, and no key that says something else."""
    keys = list(_TAKEN)
    for place, name in enumerate(names[3:], 4):
        bare = _ODD.sub("", name)
        keys.append(free(bare if bare[:1].isalpha() else f"c{place}", keys))
    return ["weight", *(_ODD.sub("", key) for key in keys[len(_TAKEN) :])][: max(0, len(names) - 2)]
