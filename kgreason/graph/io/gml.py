"""GML: nested lists of keys and values; ids are the key, labels optional.

References
----------
M. Himsolt: GML: A portable Graph File Format, Universität Passau, 1997.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from html.entities import name2codepoint
from pathlib import Path

from kgreason import memory
from kgreason.errors import DataError
from kgreason.graph.io.graphparts import Parts
from kgreason.graph.io.naming import named
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Raw, texts

_TOKEN = re.compile(
    r'(?P<open>\[)|(?P<close>\])|"(?P<string>[^"]*)"|(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)'
    r"|(?P<key>[A-Za-z][A-Za-z0-9_]*)|(?P<space>\s+)|(?P<comment>\#[^\n]*)"
)
_ENTITY = re.compile(r"&(?:#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6})|([A-Za-z]+[0-9]*));")
_EDGE = frozenset({"source", "target", "weight", "value"})
_FLAT = re.compile(
    r'\s*\[((?:\s+[A-Za-z][A-Za-z0-9_]*\s+(?:"[^"]*"|[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))*)\s+\]'
)
"""A list of keys with plain values, as most nodes and edges are."""
_PAIR = re.compile(r'([A-Za-z]\w*)\s+(?:"([^"]*)"|(\S+))')
_AHEAD = 24  # characters behind a token that tell where it ends, and what is wrong if it is none
_BLOCK = 1 << 20  # characters that are looked at at once
_Token = tuple[str, str, int]
_Keys = dict[str, str]


def read_gml(path: Path, options: Options) -> Raw:
    """Read the nodes and edges of a GML graph; the weight is the key ``weight`` or else ``value``.

    Other keys are columns that `columns` can choose by name.
    """
    reader = _Reader(str(path))
    for kind, value, line in _tokens(reader, texts(path, options.encoding, _BLOCK)):
        reader.take(kind, value, line)
    return named(reader.end().raw(undirected_by_default=not reader.directed), options)


class _Reader:
    """Follows the keys and lists of one file."""

    def __init__(self, file: str) -> None:
        self.file, self.parts, self.directed = file, Parts(file), False
        self._open: list[str] = []
        self._block: _Keys = {}
        self._began = self._key_line = 0
        self._key: str | None = None

    @property
    def flat(self) -> bool:
        """Whether a list of plain values may follow that is taken whole: that of a node or an edge."""
        return len(self._open) == 1 and self._key in ("node", "edge")

    def take(self, kind: str, value: str, line: int) -> None:
        """Take a token."""
        if kind == "open":
            if self._key is None:
                raise self._wrong(
                    "a list without a key before it",
                    line,
                    "write a key before the bracket, as in node [ id 7 ]",
                )
            if self.flat:
                self._block, self._began = {}, line
            self._open.append(self._key)
            self._key = None
        elif kind == "close":
            if not self._open:
                hint = "take it out, or look for an opening one that is missing before it"
                raise self._wrong("a closing bracket without an opening one", line, hint)
            if len(self._open) == 2:
                _add(self.parts, self._open[-1], self._block, self._began)
            self._open.pop()
        elif self._key is None:
            if kind != "key":
                hint = "a key begins with a letter; texts with blanks need quotation marks"
                raise self._wrong(f"expected a key, found {value!r}", line, hint)
            self._key, self._key_line = value, line
        else:
            if kind == "key":
                hint = "write one behind it, or take the key out"
                raise self._wrong(f"key {self._key!r} has no value", self._key_line, hint)
            if len(self._open) == 1 and self._key == "directed":
                self.directed = value == "1"
            if len(self._open) == 2:
                self._block[self._key] = value
                if kind == "string":
                    self.parts.types[self._open[-1], self._key] = "string"
            self._key = None

    def take_flat(self, pairs: str, line: int) -> None:
        """Take the list of a node or an edge at once, which begins in a line."""
        kind, self._key, self._began = str(self._key), None, line
        block: _Keys = {}
        for key, words, number in _PAIR.findall(pairs):
            if number:
                block[key] = number
            else:
                block[key] = unescaped(words)
                self.parts.types[kind, key] = "string"
        _add(self.parts, kind, block, line)

    def end(self) -> Parts:
        """What was found."""
        if self._open:
            hint = "is the file cut off?"
            raise self._wrong(f"the list {self._open[-1]!r} is not closed", self._began, hint)
        return self.parts

    def _wrong(self, message: str, line: int, hint: str) -> DataError:
        return DataError(self.file, message, line, hint=hint)


def _tokens(reader: _Reader, blocks: Iterator[str]) -> Iterator[_Token]:
    """Tokens that the reader is to take; it takes lists of plain values here, for they come by the million.

    Loop invariant: what stands before `position` in `text` is done, and `position` is in `line`.
    """
    text, position, line = "", 0, 1
    more = True
    while True:
        found = _TOKEN.match(text, position)
        left = len(text) - (position if found is None else found.end())
        if more and (left < _AHEAD or (found is None and text[position] == '"')):
            rest, position = text[position:], 0  # what is cut off by the end of the block goes on
            memory.claim(2 * len(rest))
            following = list(
                itertools.islice(blocks, 1 + len(rest) // _BLOCK)
            )  # a long text is not begun often
            more = bool(following)
            text = "".join([rest, *following])
            continue
        if position == len(text):
            return
        if found is None:
            raise DataError(
                reader.file,
                f"no GML: {text[position : position + 20].splitlines()[0]!r}",
                line,
                hint="is the file of another format? say format=, for instance format=graphml",
            )
        if found.lastgroup == "open" and reader.flat and (flat := _FLAT.match(text, position)):
            reader.take_flat(flat[1], line)
            found = flat
        elif found.lastgroup == "string":
            yield "string", unescaped(found["string"]), line
        elif found.lastgroup not in ("space", "comment"):
            yield str(found.lastgroup), found[0], line
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


def _add(parts: Parts, kind: str, block: _Keys, line: int) -> None:
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
