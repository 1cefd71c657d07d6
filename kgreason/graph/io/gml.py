"""GML: nested lists of keys and values; ids are the key, labels optional.

References
----------
M. Himsolt: GML: A portable Graph File Format, Universität Passau, 1997.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.entities import name2codepoint
from pathlib import Path

from kgreason.errors import DataError
from kgreason.graph.io.graphparts import Parts
from kgreason.graph.io.naming import named
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Raw, decoded, open_bytes, read_block

_TOKEN = re.compile(
    r'(?P<open>\[)|(?P<close>\])|"(?P<string>[^"]*)"|(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)'
    r"|(?P<key>[A-Za-z][A-Za-z0-9_]*)|(?P<space>\s+)|(?P<comment>\#[^\n]*)"
)
_ENTITY = re.compile(r"&(?:#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6})|([A-Za-z]+[0-9]*));")
_EDGE = frozenset({"source", "target", "weight", "value"})
_Token = tuple[str, str, int]
_Block = dict[str, str]


def read_gml(path: Path, options: Options) -> Raw:
    """Read the nodes and edges of a GML graph; the weight is the key ``weight`` or else ``value``.

    Other keys are columns that `columns` can choose by name.
    """
    with open_bytes(path) as stream:
        text = decoded(str(path), read_block(path, stream, -1), options.encoding)
    parts, directed = Parts(str(path)), False
    path_of_keys: list[str] = []
    block: _Block = {}
    began = key_line = 0
    key: str | None = None
    for kind, value, line in _tokens(str(path), text):
        depth = len(path_of_keys)
        if kind == "open":
            if key is None:
                raise DataError(
                    str(path),
                    "a list without a key before it",
                    line,
                    hint="write a key before the bracket, as in node [ id 7 ]",
                )
            path_of_keys.append(key)
            if depth == 1 and key in ("node", "edge"):
                block, began = {}, line
            key = None
        elif kind == "close":
            if not path_of_keys:
                raise DataError(
                    str(path),
                    "a closing bracket without an opening one",
                    line,
                    hint="take it out, or look for an opening one that is missing before it",
                )
            if depth == 2:
                _add(parts, path_of_keys[-1], block, began)
            path_of_keys.pop()
        elif key is None:
            if kind != "key":
                raise DataError(
                    str(path),
                    f"expected a key, found {value!r}",
                    line,
                    hint="a key begins with a letter; texts with blanks need quotation marks",
                )
            key, key_line = value, line
        else:
            if kind == "key":
                raise DataError(
                    str(path),
                    f"key {key!r} has no value",
                    key_line,
                    hint="write one behind it, or take the key out",
                )
            if depth == 1 and key == "directed":
                directed = value == "1"
            if depth == 2:
                block[key] = value
                if kind == "string":
                    parts.types[path_of_keys[-1], key] = "string"
            key = None
    if path_of_keys:
        raise DataError(
            str(path), f"the list {path_of_keys[-1]!r} is not closed", began, hint="is the file cut off?"
        )
    return named(parts.raw(undirected_by_default=not directed), options)


def _tokens(file: str, text: str) -> Iterator[_Token]:
    position, line = 0, 1
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise DataError(
                file,
                f"no GML: {text[position : position + 20].splitlines()[0]!r}",
                line,
                hint="is the file of another format? say format=, for instance format=graphml",
            )
        kind = str(found.lastgroup)
        if kind == "string":
            yield kind, unescaped(found["string"]), line
        elif kind not in ("space", "comment"):
            yield kind, found[0], line
        line += found[0].count("\n")
        position = found.end()


def unescaped(words: str) -> str:
    """Text with the letters that numbers and names stand for; what names none stays.

    Examples
    --------
    >>> unescaped("Caf&#233; &quot;A&amp;B&quot; AT&T")
    'Café "A&B" AT&T'
    """
    return _ENTITY.sub(_letter, words) if "&" in words else words


def _letter(found: re.Match[str]) -> str:
    decimal, hexadecimal, name = found.groups()
    number = int(decimal or hexadecimal, 10 if decimal else 16) if not name else name2codepoint.get(name, -1)
    if name == "apos":
        return "'"
    return chr(number) if 0 <= number < 0xD800 or 0xDFFF < number < 0x110000 else found[0]


def _add(parts: Parts, kind: str, block: _Block, line: int) -> None:
    if kind == "node":
        if "id" not in block:
            raise DataError(parts.file, "a node without id", line, hint="give it one, as in id 7")
        data = {key: value for key, value in block.items() if key not in ("id", "label")}
        parts.vertex(block["id"], block.get("label", ""), line, data)
    elif kind == "edge":
        missing = {"source", "target"} - block.keys()
        if missing:
            raise DataError(
                parts.file,
                f"an edge without {' and '.join(sorted(missing))}",
                line,
                hint="an edge needs both, as in source 1 target 2",
            )
        weight = block.get("weight", block.get("value"))
        data = {key: value for key, value in block.items() if key not in _EDGE}
        parts.edge(block["source"], block["target"], weight, line, data=data)
