"""Lay out the words of one clause: spaces between them, and lines of at most `WIDTH` columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

WIDTH = 100
INDENT = 4

_OPENING = frozenset({"LPAR", "LBRACKET", "LBRACE", "OPEN"})
_CLOSING = frozenset({"RPAR", "RBRACKET", "RBRACE", "CLOSE"})
_TIGHT_BEFORE = _CLOSING | {"COMMA", "END"}
_TIGHT_AFTER = _OPENING | {"SIGN", "NOT_OPERATOR"}
_CALLED = frozenset({"NAME", "LIBRARY", "HASH", "ANNOTATION"})


_WORDLIKE = re.compile(r"[\w)}]\Z")


@dataclass(slots=True)
class Note:
    """A comment; without `newlines` before it, it stands behind something on the same line."""

    text: str
    newlines: int
    end: int

    def on_its_own(self) -> Note:
        """Put the comment on a line of its own."""
        return replace(self, newlines=self.newlines or 1)


@dataclass(slots=True)
class Word:
    """A token; `notes` are the comments right before it.

    The types are those of the grammar, with OPEN and CLOSE for the signs around contributors, and SIGN for a
    minus with one operand.
    """

    type: str
    text: str
    newlines: int
    start: int
    notes: list[Note] = field(default_factory=list)


@dataclass(slots=True)
class _Chunk:
    """Words that stay together; the line may break before them at this depth of brackets or above."""

    text: str
    spaced: bool
    level: int
    notes: list[Note]


def lay_out(words: list[Word]) -> list[str]:
    """Lines of a clause, the annotations before it first."""
    lines: list[str] = []
    for part in _parts(words):
        _Writer(lines, part).write()
    return lines


def _parts(words: list[Word]) -> Iterator[list[Word]]:
    """Cut the annotations off that stand before a head."""
    start = depth = 0
    for i, word in enumerate(words):
        depth += (word.type in _OPENING) - (word.type in _CLOSING)
        ends = word.type == "RPAR" and depth == 0 and words[start].type == "ANNOTATION"
        if ends and words[i + 1].type != "END":
            yield words[start : i + 1]
            start = i + 1
    yield words[start:]


def _chunks(words: list[Word]) -> list[_Chunk]:
    chunks: list[_Chunk] = []
    depth = 0
    before: Word | None = None
    for word in words:
        spaced = before is not None and _spaced(before.type, word.type)
        if before is None or word.notes or before.type in ("COMMA", "ARROW"):
            chunks.append(_Chunk(word.text, spaced, depth, word.notes))
        else:
            chunks[-1].text += f"{' ' * spaced}{word.text}"
        depth += (word.type in _OPENING) - (word.type in _CLOSING)
        before = word
    return chunks


def _spaced(before: str, after: str) -> bool:
    if after in _TIGHT_BEFORE or before in _TIGHT_AFTER:
        return False
    return not (after == "LPAR" and before in _CALLED)


class _Writer:
    """Writes one part; `lines` are the finished lines of the clause, `line` is the current one."""

    def __init__(self, lines: list[str], words: list[Word]) -> None:
        self._lines = lines
        self._line = ""
        self._begun = False
        self._chunks = _chunks(words)
        arrow = next((i for i, chunk in enumerate(self._chunks) if chunk.text.endswith(":-")), None)
        self._body = None if arrow is None else arrow + 1
        self._spread = arrow is not None and any(c.notes and c.text != "." for c in self._chunks[arrow + 1 :])

    def write(self) -> None:
        start = 0
        for i, chunk in enumerate(self._chunks):
            if chunk.notes:
                self._fill(start, i, 0)
                self._notes(chunk)
                start = i
        self._fill(start, len(self._chunks), 0)
        self._lines.append(self._line)

    def _notes(self, chunk: _Chunk) -> None:
        for note in chunk.notes:
            if note.newlines:
                self._break(chunk.level)
                self._line += note.text
                continue
            if not self._line.strip() and self._lines:
                self._line = self._lines.pop()
            # after an operand and at most two spaces, `%` may be the remainder
            gap = 3 if _WORDLIKE.search(self._line) else 2
            self._line += f"{' ' * gap}{note.text}"
        self._break(chunk.level)

    def _break(self, level: int) -> None:
        if self._line.strip():
            self._lines.append(self._line)
        inner = level > 0 and self._body is not None
        self._line = " " * (INDENT * (1 + inner) if self._begun else 0)

    def _fill(self, start: int, end: int, level: int) -> None:
        """Put chunks on lines, breaking at this depth where that is enough, else in the unit that is too long."""
        for first, last in self._units(start, end, level):
            unit = self._chunks[first:last]
            text = unit[0].text + "".join(" " * c.spaced + c.text for c in unit[1:])
            forced = self._spread and first == self._body
            if self._line.strip() and (forced or not self._fits(text, unit[0].spaced)):
                self._break(unit[0].level)
            if last - first > 1 and not self._fits(text, unit[0].spaced):
                self._fill(first, last, level + 1)
            else:
                self._put(text, unit[0].spaced)

    def _units(self, start: int, end: int, level: int) -> Iterator[tuple[int, int]]:
        breaks = [i for i in range(start + 1, end) if self._chunks[i].level <= level]
        if start < end:
            yield from zip([start, *breaks], [*breaks, end], strict=True)

    def _fits(self, text: str, spaced: bool) -> bool:
        width = len(self._line) - self._line.rfind("\n") - 1
        space = spaced and bool(self._line.strip())
        return width + space + len(text.split("\n", 1)[0]) <= WIDTH

    def _put(self, text: str, spaced: bool) -> None:
        self._line += f"{' ' * (spaced and bool(self._line.strip()))}{text}"
        self._begun = True
