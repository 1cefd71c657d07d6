"""Facts as GraphML: pairs are edges, single values vertices.

References
----------
U. Brandes, M. Eiglsperger, J. Lerner, C. Pich: Graph Markup Language (GraphML), 2013.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from kgreason.engine.table import Facts, Kind
from kgreason.errors import DataError
from kgreason.graph.io.values import text
from kgreason.lang.values import Value
from kgreason.output.target import Target

_TYPES = {Kind.INT: "long", Kind.DOUBLE: "double", Kind.BOOL: "boolean"}
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'


def write_graphml(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write vertices and directed edges; a third column is the weight, any further ones are attributes.

    Raises
    ------
    DataError
        If a value holds a character that XML has no place for.
    """
    table, file = facts.tables[predicate], str(target.path)
    titles = ["weight", *names[3:]][: max(0, table.arity - 2)]
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(_HEAD)
        for number, (title, kind) in enumerate(zip(titles, table.kinds[2:], strict=True)):
            type = _TYPES.get(kind, "string")
            stream.write(
                f'<key id="d{number}" for="edge" attr.name={quoteattr(title)} attr.type="{type}"/>\n'
            )
        stream.write(f'<graph id={quoteattr(predicate)} edgedefault="directed">\n')
        rows = partial(_rows, facts, predicate, file)
        vertices = dict.fromkeys(end for row in rows() for end in row[:2])
        vertices.update(dict.fromkeys(_legal(name, file) for name in target.vertices))
        stream.writelines(f"<node id={_attribute(v)}/>\n" for v in vertices)
        if table.arity > 1:
            stream.writelines(map(_edge, rows()))
        stream.write("</graph>\n</graphml>\n")


def _rows(facts: Facts, predicate: str, file: str) -> Iterator[list[str]]:
    for row in facts.rows(predicate):
        yield [_legal(v, file) for v in row]


def _edge(row: Sequence[str]) -> str:
    data = "".join(f'<data key="d{n}">{_content(v)}</data>' for n, v in enumerate(row[2:]))
    ends = f"source={_attribute(row[0])} target={_attribute(row[1])}"
    return f"<edge {ends}>{data}</edge>\n" if data else f"<edge {ends}/>\n"


def _legal(value: Value, file: str) -> str:
    words = text(value)
    if _FORBIDDEN.search(words):
        raise DataError(file, f"{words!r} holds a character that XML cannot", hint="write another format")
    return words


def _attribute(value: str) -> str:
    """Attribute in quotes; blanks other than the space are kept by number."""
    return quoteattr(value, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _content(value: str) -> str:
    return escape(value, {"\r": "&#13;"})
