"""Pygments lexer for rules, registered under the aliases ``vadalog`` and ``vada``.

Its tokens are the terminals of ``grammars/vadalog.lark``. ``grammars/vadalog.tmLanguage.json`` defines them for
editors; docs/editors.md describes its installation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Error, Keyword, Literal, Name, Number, Operator, Punctuation, String, Text
from pygments.token import _TokenType as TokenType

from kgreason.base.resources import resource
from kgreason.language.functions import BUILT_IN
from kgreason.language.vocabulary import AGGREGATES

Found = tuple[int, TokenType, str]
Rule = tuple[str, TokenType | Callable[..., Iterator[Any]]]

_INSIDE = re.compile(r'\\[\s\S]|""|\$\{[^}\n]*\}')
"""Escapes and parameters within a string."""


def terminals() -> dict[str, str]:
    """Regular expressions of the terminals of the grammar."""
    grammar = resource("grammars", "vadalog.lark").read_text(encoding="utf-8")
    found = {}
    for name, body in re.findall(r"^([A-Z_]+)(?:\.-?\d+)?: (.+)$", grammar, re.MULTILINE):
        if body.startswith("/"):
            found[name] = body[1:-1]
        else:  # one or several literals
            found[name] = "|".join(re.escape(text) for text in re.findall(r'"([^"]+)"', body))
    return found


def _string(_: Any, match: re.Match[str]) -> Iterator[Found]:
    text, start, done = match.group(), match.start(), 1
    yield start, String.Double, text[0]
    for inner in _INSIDE.finditer(text, 1, len(text) - 1):
        if inner.start() > done:
            yield start + done, String.Double, text[done : inner.start()]
        kind = String.Interpol if inner.group().startswith("$") else String.Escape
        yield start + inner.start(), kind, inner.group()
        done = inner.end()
    yield start + done, String.Double, text[done:]


def _rules() -> list[Rule]:
    t = terminals()
    calls = r"(?=[ \t\r\n]*\()"
    aggregate, function = (rf"(?:{'|'.join(sorted(known))})\b{calls}" for known in (AGGREGATES, BUILT_IN))
    return [
        (t["WHITESPACE"], Text.Whitespace),
        (t["DOCUMENTATION"], String.Doc),
        (t["MODULO"], Operator),
        (t["COMMENT"], Comment.Single),
        (t["STRING"], _string),
        (t["UNCLOSED"], Error),
        (t["PARAMETER"], String.Interpol),
        (t["DATE"], Literal.Date),
        (t["DOUBLE"], Number.Float),
        (t["INTEGER"], Number.Integer),
        (t["BOOLEAN"], Keyword.Constant),
        (t["HASH"], Name.Class),
        (t["ANNOTATION"], Name.Decorator),
        (t["LIBRARY"], Name.Builtin),
        (t["TEMPORAL"], Keyword.Pseudo),
        (t["NOT_IN"], Operator.Word),
        (r"(?:not|in)\b", Operator.Word),
        (function, Name.Builtin),
        (t["NAME"] + calls, Name.Function),
        (t["NAME"], Name),
        (t["VAR"], Name.Variable),
        (f"{t['ARROW']}|{t['LEFT_ARROW']}", Keyword),
        (t["COMPARATOR"], Operator),
        (rf"(=)([ \t\r\n]*)({aggregate})", bygroups(Operator, Text.Whitespace, Keyword.Reserved)),  # type: ignore[no-untyped-call]
        (r"\|\||&&|[<>=!+\-*/]", Operator),
        (r"[()\[\]{},.]", Punctuation),
        (t["ILLEGAL"], Error),
    ]


__all__ = ["VadalogLexer"]  # names that Pygments loads


class VadalogLexer(RegexLexer):
    """Lexer for Vadalog rules.

    Variables that occur only in the head of a rule, i.e. existential variables, have a token type of their own.
    """

    name = "Vadalog"
    url = "https://www.vadalog.org"
    aliases: ClassVar[list[str]] = ["vadalog", "vada"]
    filenames: ClassVar[list[str]] = ["*.vada"]
    mimetypes: ClassVar[list[str]] = ["text/x-vadalog"]
    flags = re.RegexFlag(0)  # those of the grammar
    tokens: ClassVar[dict[str, list[Any]]] = {"root": list(_rules())}

    def get_tokens_unprocessed(self, text: str, stack: Iterable[str] = ("root",)) -> Iterator[Found]:
        """Split a text into tokens: their positions, types and texts."""
        clause: list[Found] = []
        for found in super().get_tokens_unprocessed(text, stack):
            clause.append(found)
            if found[1] is Punctuation and found[2] == ".":
                yield from _marked(clause)
                clause = []
        yield from clause


def _marked(clause: list[Found]) -> Iterator[Found]:
    """Mark head variables that are missing from the body, and arrows after the first one, which are comparisons."""
    arrow = next((i for i, (_, kind, _) in enumerate(clause) if kind is Keyword), None)
    if arrow is None:
        yield from clause
        return
    body = {text for _, kind, text in clause[arrow:] if kind is Name.Variable}
    equality = any(text == "=" for _, kind, text in clause[:arrow] if kind is Operator)
    for i, (start, kind, text) in enumerate(clause):
        if kind is Name.Variable and i < arrow and text not in body and not equality:
            kind = Name.Variable.Magic
        elif text == "<-" and i > arrow:  # less than, followed by a minus
            kind = Operator
        yield start, kind, text
