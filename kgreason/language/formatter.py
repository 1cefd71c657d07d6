"""Formatter of programs; meaning and comments are preserved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from kgreason.language.syntax.clauses import CLOSING, OPENING
from kgreason.language.syntax.parser import parse
from kgreason.language.syntax.syntax_errors import sql
from kgreason.language.syntax.tree_builder import grammar

WIDTH = 100
INDENT = 4

_OPENING = OPENING | {"OPEN"}
_CLOSING = CLOSING | {"CLOSE"}
_TIGHT_BEFORE = _CLOSING | {"COMMA", "END"}
_TIGHT_AFTER = _OPENING | {"SIGN", "NOT_OPERATOR"}
_CALLED = frozenset({"NAME", "LIBRARY", "HASH", "ANNOTATION"})
_WORDLIKE = re.compile(r"[\w)}]\Z")
_COMMENT = re.compile(r"%[^\n]*")
_OPERANDS = _CLOSING | {"VAR", "NAME", "PARAMETER", "INTEGER", "DOUBLE", "STRING", "BOOLEAN", "DATE"}


@dataclass(slots=True)
class Note:
    """A comment; without `newlines` before it, it follows something on the same line."""

    text: str
    newlines: int
    end: int


@dataclass(slots=True)
class Word:
    """A token; `notes` are the comments directly before it.

    Types are those of the grammar, OPEN and CLOSE for the brackets around contributors, and SIGN for a unary minus.
    """

    type: str
    text: str
    newlines: int
    start: int
    notes: list[Note] = field(default_factory=list)


@dataclass(slots=True)
class _Chunk:
    """Words kept together; the line may break before them at this bracket depth or above."""

    text: str
    spaced: bool
    level: int
    notes: list[Note]


def _parts(words: list[Word]) -> Iterator[list[Word]]:
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
        tight = before is None or word.type in _TIGHT_BEFORE or before.type in _TIGHT_AFTER
        spaced = not tight and not (word.type == "LPAR" and before and before.type in _CALLED)
        if before is None or word.notes or before.type in ("COMMA", "ARROW"):
            chunks.append(_Chunk(word.text, spaced, depth, word.notes))
        else:
            chunks[-1].text += f"{' ' * spaced}{word.text}"
        depth += (word.type in _OPENING) - (word.type in _CLOSING)
        before = word
    return chunks


class _Writer:
    """Writer of one part; `lines` are the finished lines of the clause, `line` is the current one."""

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
        """Write chunks to lines, breaking at this depth where sufficient, else inside the long unit."""
        for first, last in self._units(start, end, level):
            unit = self._chunks[first:last]
            text = unit[0].text + "".join(" " * c.spaced + c.text for c in unit[1:])
            forced = self._spread and first == self._body
            if self._line.strip() and (forced or not self._fits(text, unit[0].spaced)):
                self._break(unit[0].level)
            if last - first > 1 and not self._fits(text, unit[0].spaced):
                self._fill(first, last, level + 1)
            else:
                self._line += f"{' ' * (unit[0].spaced and bool(self._line.strip()))}{text}"
                self._begun = True

    def _units(self, start: int, end: int, level: int) -> Iterator[tuple[int, int]]:
        breaks = [i for i in range(start + 1, end) if self._chunks[i].level <= level]
        if start < end:
            yield from zip([start, *breaks], [*breaks, end], strict=True)

    def _fits(self, text: str, spaced: bool) -> bool:
        width = len(self._line) - self._line.rfind("\n") - 1
        space = spaced and bool(self._line.strip())
        return width + space + len(text.split("\n", 1)[0]) <= WIDTH


def format_text(text: str, file: str = "<text>") -> str:
    """Format a program.

    Each rule and each annotation gets a line of its own, broken after a comma if it would be longer than 100 columns;
    facts on one line stay together. At most one blank line is left between clauses. Names, numbers, strings and
    comments are unchanged; ``<-`` becomes ``:-``.

    Raises
    ------
    ProgramError
        If the text has syntax errors, since its meaning is then unknown.
    """
    parse(text, file)
    lines: list[str] = []
    words: list[Word] = []
    notes: list[Note] = []
    fact = False
    tokens = list(_words_and_notes(text))
    for i, token in enumerate(tokens):
        if isinstance(token, Note):
            notes.append(token)
            continue
        if not words:
            _between(notes, lines)
            _blank(token.newlines, lines)
            fact, notes = fact and not notes, []  # nothing may follow a comment on its line
        token.notes, notes = notes, []
        words.append(token)
        if token.type == "END":
            notes = _behind(words, tokens[i + 1 : i + 2])
            verbatim = text[words[0].start : token.start + 1]
            laid = [verbatim] if _foreign(words) else []
            for part in _parts(list(_retyped(words))) if not laid else ():
                _Writer(laid, part).write()
            beside = fact and _is_fact(words) and not words[0].newlines and not words[0].notes
            if beside and len(laid) == 1 and len(lines[-1]) + 1 + len(laid[0]) <= WIDTH:
                lines[-1] += f" {laid[0]}"
            else:
                lines += laid
            fact, words = _is_fact(words), []
    _between(notes, lines)
    return "".join(f"{line}\n" for line in lines)


def _words_and_notes(text: str) -> Iterator[Word | Note]:
    end = 0
    for token in grammar()[0].lex(text):
        start = token.start_pos or 0
        yield from (comments := list(_comments(text, end, start)))
        newlines = text.count("\n", comments[-1].end if comments else end, start)
        end = token.end_pos or 0
        if token.type == "DOCUMENTATION":
            yield Note(token.rstrip(), newlines, end)
        else:
            yield Word(token.type, str(token), newlines, start)
    yield from _comments(text, end, len(text))


def _comments(text: str, start: int, end: int) -> Iterator[Note]:
    for match in _COMMENT.finditer(text, start, end):
        yield Note(match[0].rstrip(), text.count("\n", start, match.start()), match.end())
        start = match.end()


def _between(notes: Iterable[Note], lines: list[str]) -> None:
    for note in notes:
        if lines and not note.newlines:
            lines[-1] += f"  {note.text}"
        else:
            _blank(note.newlines, lines)
            lines.append(note.text)


def _blank(newlines: int, lines: list[str]) -> None:
    if newlines > 1 and lines:
        lines.append("")


def _behind(words: list[Word], following: list[Word | Note]) -> list[Note]:
    """Remove and return the comment between the last word of a clause and its ``.``, to write it after the ``.``."""
    end = words[-1]
    taken = any(isinstance(token, Note) and not token.newlines for token in following)
    if taken or len(end.notes) != 1 or end.notes[0].newlines:
        return []  # comments on lines of their own would move above the next clause
    moved, end.notes = end.notes, []
    return moved


def _is_fact(words: list[Word]) -> bool:
    return words[0].type == "NAME" and not any(w.type in ("ARROW", "LEFT_ARROW") for w in words)


def _foreign(words: list[Word]) -> bool:
    """Whether a clause is outside of the language; such clauses are kept unchanged."""
    graph_call = any(w.type == "HASH" and w.text[1].isupper() for w in words)
    return graph_call or any(w.type == "TEMPORAL" for w in words) or sql([(w.type, w.text) for w in words])


def _retyped(words: list[Word]) -> Iterator[Word]:
    """Distinguish the signs that have two meanings, and move comments before a comma after it."""
    before = ""
    arrow = contributors = False
    waiting: list[Note] = []
    for word in words:
        if word.type == "COMMA":
            waiting, word.notes = word.notes, []
        elif waiting:
            word.notes, waiting = waiting + [replace(n, newlines=n.newlines or 1) for n in word.notes], []
        if word.type == "LEFT_ARROW" and arrow:
            yield Word("LESS", "<", 0, word.start, word.notes)
            word = Word("MINUS", "-", 0, word.start + 1)
            before = "LESS"
        elif word.type in ("ARROW", "LEFT_ARROW"):
            word.type, word.text, arrow = "ARROW", ":-", True
        elif word.type == "LESS" and before in ("LPAR", "COMMA"):
            word.type, contributors = "OPEN", True
        elif word.type == "GREATER" and contributors:
            word.type, contributors = "CLOSE", False
        elif word.type == "IN" and before not in _OPERANDS:
            word.type = "NAME"
        elif word.type == "NOT_IN":
            word.text = "!in"
        if word.type == "MINUS" and before not in _OPERANDS:
            word.type = "SIGN"
        yield word
        before = word.type
