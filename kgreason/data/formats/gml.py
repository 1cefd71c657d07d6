"""GML: nested lists of keys and values; vertices are identified by ids, labels are optional.

igraph's reader is unsuitable: it takes 7.1 GB for 10,000,000 edges, aborts the process at a label that is not UTF-8,
reads integers as doubles and missing attributes as NaN, does not decode ``&#233;``, and gives no line numbers of edges.

References
----------
M. Himsolt: GML: A portable Graph File Format, Universität Passau, 1997.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html.entities import html5
from pathlib import Path

from kgreason.base.errors import DataError
from kgreason.data.fact_columns import WEIGHTS, TextColumn, row_ranges, write_lines
from kgreason.data.fact_columns import texts as cells
from kgreason.data.formats.graphml import ID, LABEL, LINE, SOURCE, TARGET, WEIGHT, GraphBuilder
from kgreason.data.formats.vertex_names import named, vertices_of
from kgreason.data.raw_table import Raw, texts
from kgreason.data.source_options import Options
from kgreason.data.targets import Target, free
from kgreason.data.value_conversion import text
from kgreason.engine.relations.fact_tables import Facts
from kgreason.language.values import Value

_KEY = r"[A-Za-z][A-Za-z0-9_]*+"
_VALUE = r'(?:"[^"]*"|[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)'
_GAP = r"(?:\s|\#.*)*+"
_TOKEN = re.compile(
    rf"(?P<key>{_KEY}){_GAP}(?:\[(?P<flat>(?:\s*{_KEY}\s*{_VALUE})*+)\s*\]|(?P<open>\[)|(?P<value>{_VALUE}))"
    r"|(?P<close>\])|(?P<comment>\#.*)|(?P<bad>\S)"
)
"""A key with a list of plain values (most nodes and edges), with the beginning of another list, or with a value."""
_PAIR = re.compile(rf"({_KEY})\s*({_VALUE})")
_ENTITY = re.compile(r"&(?:#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6})|([A-Za-z]+[0-9]*));")

_ODD = re.compile(r"[^A-Za-z0-9]")
_TAKEN = ("source", "target", "weight", "value", "label", "id")
_SPECIAL = re.compile(r'[^ -~]|[&"]')
_NAMED = {"&": "&amp;", '"': "&quot;"}


def read_gml(path: Path, options: Options) -> Raw:
    """Read the nodes and edges of a GML graph; the weight is the key ``weight`` or else ``value``.

    Other keys are columns that `columns` can select by name: ``columns=source,target,role`` those of edges,
    ``table=vertices&columns=id,label`` those of vertices. Names are labels, if every vertex has its own; else the key
    ``name`` on this condition; else ids.
    """
    graph = GraphBuilder(str(path))
    lists: list[tuple[str, dict[str, str], int]] = []  # open lists
    directed = False
    for found, line in _tokens(graph.file, "".join(texts(path, options.encoding))):
        kind, key = found.lastgroup, found["key"]
        if kind == "flat" and len(lists) == 1:
            _add(graph, key, dict(_PAIR.findall(found["flat"])), line)
        elif kind == "open":
            lists.append((key, {}, line))
        elif kind == "value" and lists:
            lists[-1][1][key] = found["value"]
            if len(lists) == 1 and key == "directed":
                directed = found["value"] == "1"
        elif kind == "close":
            if not lists:
                hint = "take it out, or look for an opening one that is missing before it"
                raise DataError(graph.file, "a closing bracket without an opening one", line, hint=hint)
            closed = lists.pop()
            if len(lists) == 1:
                _add(graph, *closed)
    if lists:
        key, _, line = lists[-1]
        raise DataError(graph.file, f"the list {key!r} is not closed", line, hint="is the file cut off?")
    return named(graph.raw(undirected=not directed), options)


def _tokens(file: str, text: str) -> Iterator[tuple[re.Match[str], int]]:
    line, last = 1, 0
    for found in _TOKEN.finditer(text):
        line += text.count("\n", last, found.start())
        last = found.start()
        if found.lastgroup == "bad":
            words = text[last : last + 40].splitlines()[0].strip()
            message = f"no GML: expected a key with its value or list, found {words!r}"
            hint = "as in id 7 or node [ id 7 ]; is the file of another format? say format=, as in format=graphml"
            raise DataError(file, message, line, hint=hint)
        yield found, line


def _add(graph: GraphBuilder, kind: str, written: dict[str, str], line: int) -> None:
    if kind not in ("node", "edge"):
        return
    values = {}
    for key, value in written.items():
        if value[0] == '"':
            value = _unescaped(value[1:-1])
            graph.types[kind, key] = "string"
        values[key] = value
    try:
        if kind == "node":
            ends = {ID: values.pop("id"), LABEL: values.pop("label", "")}
        else:
            ends = {SOURCE: values.pop("source"), TARGET: values.pop("target")}
            if weights := [values.pop(key) for key in ("weight", "value") if key in values]:
                ends[WEIGHT] = weights[0]
    except KeyError as error:
        hint = "a node needs id, an edge source and target, as in source 1 target 2"
        what = "a node" if kind == "node" else "an edge"
        raise DataError(graph.file, f"{what} without {error.args[0]}", line, hint=hint) from None
    graph.add(kind, {**ends, LINE: line, **values})


def _unescaped(words: str) -> str:
    """Decode numeric and named character entities; unknown names are kept."""
    return _ENTITY.sub(_letter, words) if "&" in words else words


def _letter(found: re.Match[str]) -> str:
    decimal, hexadecimal, name = found.groups()
    if name:
        return html5.get(f"{name};", found[0])
    number = int(decimal) if decimal else int(hexadecimal, 16)
    return found[0] if number > 0x10FFFF or 0xD800 <= number < 0xE000 else chr(number)


def write_gml(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write nodes and directed edges in ASCII, as GML requires, with numeric entities such as ``&#233;``.

    A third column is the weight; further columns are edge keys, named by the letters and digits of the column names.
    """
    table, found = facts.tables[predicate], vertices_of(facts, predicate, target)
    keys = _keys(names)
    with path.open("wb") as stream:
        stream.write(b"graph [\n  directed 1\n")
        stream.writelines(
            f'  node [ id {i} label "{_escaped(name)}" ]\n'.encode() for i, name in enumerate(found.names, 1)
        )
        for rows in row_ranges(facts, predicate) if table.arity > 1 else ():
            source, end = found.columns(rows)
            line: list[TextColumn | str] = ["  edge [ source ", source, " target ", end]
            for key, kind, data in zip(keys, table.kinds[2:], table.columns[2:], strict=True):
                mark = "" if kind in WEIGHTS else '"'
                line += [f" {key} {mark}", cells(kind, data[rows], facts, _written), mark]
            write_lines(stream, [*line, " ]"])
        stream.write(b"]\n")


def _written(value: Value) -> str:
    return _escaped(text(value))


def _escaped(words: str) -> str:
    """Text between quotation marks.

    >>> _escaped('Café "A&B"')
    'Caf&#233; &quot;A&amp;B&quot;'
    """
    return _SPECIAL.sub(lambda found: _NAMED.get(found[0], f"&#{ord(found[0])};"), words)


def _keys(names: Sequence[str]) -> list[str]:
    """Edge keys of the columns after the ends: letters and digits, avoiding reserved keys."""
    keys = list(_TAKEN)
    for position, name in enumerate(names[3:], 4):
        bare = _ODD.sub("", name)
        keys.append(_ODD.sub("", free(bare if bare[:1].isalpha() else f"c{position}", keys)))
    return ["weight", *keys[len(_TAKEN) :]][: max(0, len(names) - 2)]
