r"""Bring a program into the house style; what it says and its comments stay.

Examples
--------
>>> print(format_text("control( X,X )<-company(X) .% itself\n"), end="")
control(X, X) :- company(X).  % itself
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kgreason.lang.layout import WIDTH, Note, Word, lay_out
from kgreason.lang.parser import parse

_COMMENT = re.compile(r"%[^\n]*")
_OPERANDS = frozenset({"VAR", "NAME", "RPAR", "RBRACKET", "RBRACE", "CLOSE", "PARAMETER"}) | {
    "INTEGER",
    "DOUBLE",
    "STRING",
    "BOOLEAN",
    "DATE",
}


def format_text(text: str, file: str = "<text>") -> str:
    """Format a program.

    Each rule and each annotation gets a line of its own, which is broken after a comma where it would be
    longer than 100 columns; facts on one line stay together. At most one blank line is left between clauses.
    Names, numbers, strings and comments stay as they are written; ``<-`` becomes ``:-``.

    Parameters
    ----------
    text
        Source.
    file
        Name in diagnostics.

    Raises
    ------
    ProgramError
        If the text has syntax errors: there is no telling what it means.
    """
    parse(text, file)
    lines: list[str] = []
    words: list[Word] = []
    notes: list[Note] = []
    fact = False
    pieces = list(_pieces(text))
    for i, piece in enumerate(pieces):
        if isinstance(piece, Note):
            notes.append(piece)
            continue
        if not words:
            _between(notes, lines)
            _blank(piece.newlines, lines)
            fact, notes = fact and not notes, []  # nothing may stand behind a comment
        piece.notes, notes = notes, []
        words.append(piece)
        if piece.type == "END":
            notes = _behind(words, pieces[i + 1 : i + 2])
            laid = [_verbatim(words, text)] if _foreign(words) else lay_out(list(_retyped(words)))
            beside = fact and _is_fact(words) and not words[0].newlines and not words[0].notes
            if beside and len(laid) == 1 and len(lines[-1]) + 1 + len(laid[0]) <= WIDTH:
                lines[-1] += f" {laid[0]}"
            else:
                lines += laid
            fact, words = _is_fact(words), []
    _between(notes, lines)
    return "".join(f"{line}\n" for line in lines)


def _pieces(text: str) -> Iterator[Word | Note]:
    """Tokens and comments of a text in their order."""
    from kgreason.lang.builder import grammar

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
    """Write the comments between two clauses."""
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
    """Take the comment that stands between the last word of a clause and its ``.``, to put it behind."""
    end = words[-1]
    taken = any(isinstance(piece, Note) and not piece.newlines for piece in following)
    if taken or len(end.notes) != 1 or end.notes[0].newlines:
        return []  # comments on lines of their own would come to stand above the next clause
    moved, end.notes = end.notes, []
    return moved


def _is_fact(words: list[Word]) -> bool:
    """Whether a clause has neither annotation nor body; the first word tells where both are missing."""
    return words[0].type == "NAME" and not any(w.type in ("ARROW", "LEFT_ARROW") for w in words)


def _foreign(words: list[Word]) -> bool:
    """Whether a clause is outside of the language; such are kept as they are."""
    from kgreason.lang.explain import sql

    graph_call = any(w.type == "HASH" and w.text[1].isupper() for w in words)
    return graph_call or any(w.type == "TEMPORAL" for w in words) or sql([(w.type, w.text) for w in words])


def _verbatim(words: list[Word], text: str) -> str:
    return text[words[0].start : words[-1].start + 1]


def _retyped(words: list[Word]) -> Iterator[Word]:
    """Tell apart the signs that have two meanings, and put comments behind the comma they stand before."""
    before = ""
    arrow = contributors = False
    waiting: list[Note] = []
    for word in words:
        if word.type == "COMMA":
            waiting, word.notes = word.notes, []
        elif waiting:
            word.notes, waiting = waiting + [n.on_its_own() for n in word.notes], []
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
