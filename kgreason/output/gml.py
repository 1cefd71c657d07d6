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
from kgreason.errors import DataError
from kgreason.output.fields import WEIGHTS, TextColumn, pieces, texts, write_lines
from kgreason.output.target import Target
from kgreason.output.vertices import vertices_of

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_TAKEN = ("source", "target", "weight", "label", "id")
_SPECIAL = re.compile(r'[^ -~]|[&"]')
_NAMED = {"&": "&amp;", '"': "&quot;"}


def write_gml(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write nodes and edges in ASCII, as GML wants it: other letters stand by their number, as in ``&#233;``.

    A third column is the weight, further ones are keys of the edges.

    Raises
    ------
    DataError
        If a name is empty, or the name of a column is no key of GML.
    """
    import pyarrow as pa

    table, file = facts.tables[predicate], str(target.path)
    keys = ["weight", *names[3:]][: max(0, table.arity - 2)]
    for key in keys[1:]:
        _check_key(file, predicate, key)
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


def _check_key(file: str, predicate: str, key: str) -> None:
    if not _KEY.fullmatch(key) or key in _TAKEN:
        raise DataError(
            file,
            f"a key of GML is made of letters and digits, and {', '.join(_TAKEN)} are taken",
            column=key,
            hint=f'name it otherwise: @mapping("{predicate}", ...), or write graphml',
        )
