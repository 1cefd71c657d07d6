"""Explanations of unexpected tokens."""

from __future__ import annotations

from collections.abc import Sequence

from lark import Token

from kgreason.base.errors import Diagnostic
from kgreason.language.syntax.clauses import CLOSING, OPENING, percentage, span

_TERMS = frozenset({"VAR", "INTEGER", "DOUBLE", "STRING", "BOOLEAN", "DATE", "PARAMETER", "HASH", "LBRACE"})
_OPERATORS = frozenset({"OR", "AND", "PLUS", "TIMES", "COMPARATOR"})
_COMPARISONS = frozenset({"LESS", "GREATER", "COMPARATOR", "EQUAL", "IN", "NOT_IN"})
_INFIX = _COMPARISONS | {"PLUS", "MINUS", "TIMES", "DIVIDED", "MODULO"}
_WORDS = {
    "ARROW": "`:-`",
    "END": "`.`",
    "COMMA": "`,`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "RBRACKET": "`]`",
    "RBRACE": "`}`",
    "NAME": "a predicate",
    "NOT": "`not`",
    "ANNOTATION": "an annotation",
}


def sql(tokens: Sequence[tuple[str, str]]) -> bool:
    """Whether the body is an SQL statement; tokens are given by type and text."""
    arrow = next((i for i, (kind, _) in enumerate(tokens) if kind in ("ARROW", "LEFT_ARROW")), len(tokens))
    body = tokens[arrow + 1 :]
    return len(body) > 1 and body[0][1].lower() == "select" and body[1][0] not in ("LPAR", "COMMA", "END")


def unexpected(
    tokens: list[Token], position: int, expected: frozenset[str], file: str, text: str
) -> Diagnostic:
    """Explain the first unexpected token."""
    token = tokens[position]
    before = tokens[position - 1] if position else None
    if before is not None and before.type == "NAME" and expected <= {"LPAR"}:
        return Diagnostic(
            "E010",
            f"unexpected bare word `{before}`",
            span(before, before, file),
            note="arguments are constants and variables; variables begin with a capital letter",
            hint=f'write "{before}" for the string, or `{before[0].upper()}{before[1:]}` for a variable',
        )
    shown = str(token).split("\n", 1)[0]
    return Diagnostic(
        "E001",
        f"unexpected `{shown if len(shown) <= 40 else shown[:40] + '...'}`",
        span(token, token, file),
        note=_expected(expected),
        hint=(percentage(tokens[position - 1], text) if position else None) or _hint(tokens, position),
    )


def _expected(expected: frozenset[str]) -> str | None:
    if len(expected) == 1 and expected <= {"VAR", "EQUAL"}:
        return f"expected {'a variable' if 'VAR' in expected else '`=`'}"
    words = [shown for name, shown in _WORDS.items() if name in expected]
    if expected & _TERMS:
        words.append("a term")
    if expected & _OPERATORS:
        words.append("an operator")
    if not words:
        return None
    return "expected " + (" or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0])


def _hint(tokens: list[Token], position: int) -> str | None:
    token = tokens[position]
    before = tokens[position - 1] if position else None
    if before is not None and before.type == "STRING" and before.line != before.end_line:
        return f'the string that begins in line {before.line} may lack its closing `"`'
    if foreign := _foreign(tokens, position):
        return foreign
    if "LEFT" in token.type or (token.type == "ARROW" and any(t.type == "ARROW" for t in tokens[:position])):
        return "the clause above may lack its final `.`"
    if before is not None and before.end_line != token.line and token.type in ("NAME", "ANNOTATION"):
        return "the clause above may lack its final `.`"
    if token.type in _COMPARISONS and any(t.type in _COMPARISONS for t in tokens[:position]):
        return "compare two values at a time: `X < Y, Y < Z`; write `==` inside of an expression"
    if position == 0 and token.type == "ARROW":
        return "a constraint is written `#F :- ...`"
    if before is not None and position <= 2 and tokens[0].type == "VAR":
        return _head_hint(tokens, position)
    if token.type == "NOT" and [t.type for t in tokens[position + 1 : position + 2]] == ["IN"]:
        return "write `!in`"
    inside = _open(tokens[:position])
    group = tokens[inside[-1] - 1 : inside[-1] + 1] if inside else []
    if token.type == "COMMA" and [t.type for t in group] in (["IN", "LPAR"], ["NOT_IN", "LPAR"]):
        return "a set is written `{1, 2}`, a list `[1, 2]`"
    if token.type == "LPAR" and before is not None and before.type == "VAR":
        return f"predicates begin with a small letter: `{_small(before)}(`"
    if token.type == "END" and before is not None and before.type == "COMMA":
        return "remove the `,` before it"
    if token.type in ("END", "ARROW") and inside:
        return "a bracket is still open"
    return None


def _foreign(tokens: list[Token], position: int) -> str | None:
    token = tokens[position]
    before = tokens[position - 1] if position else None
    if [t.type for t in tokens[position : position + 2]] == ["TIMES", "DIVIDED"]:
        return "a comment begins with `%` and ends with its line"
    if before is None:
        return None
    if token.type == "PLUS" and before.type in _INFIX | OPENING | {"COMMA", "ARROW"}:
        return "numbers have no sign `+`: leave it out"
    if (before.type, token.type) == ("EQUAL", "LESS"):
        return "write `<=`"
    if (before.type, token.type) == ("EQUAL", "GREATER"):
        return "write `>=`"
    if token.type == "NAME" and token == "is" and before.type == "VAR":
        return f"write `{before} = ...`"
    in_body = any(t.type == "ARROW" for t in tokens[:position])
    if before.type == "NAME" and before != "not" and token.type in _INFIX and in_body:
        return f"variables begin with a capital letter: `{before[0].upper()}{before[1:]}`"
    return None


def graph_call(tokens: list[Token], position: int) -> Token | None:
    """Name of the graph call, such as ``#TC(own)``, that contains a token."""
    named = [tokens[i - 1] for i in _open(tokens[:position]) if i]
    return next((t for t in reversed(named) if t.type == "HASH" and t[1].isupper()), None)


def temporal(tokens: list[Token], position: int) -> tuple[Token, Token] | None:
    """First and last token of a temporal operator, ``[0,5] p(X)`` or ``p(X) S[0,1] q(X)``, before or at a token."""
    token, before = tokens[position], tokens[max(position - 1, 0)]
    if token in ("S", "U") and before.type == "RPAR" and tokens[position + 1].type in ("LBRACKET", "NAME"):
        return token, token
    interval = tokens[max(position - 6, 0) : position]
    types = [t.type for t in interval]
    if token.type != "NAME" or types[1:] != ["LBRACKET", "INTEGER", "COMMA", "INTEGER", "RBRACKET"]:
        return None
    return (interval[1], before) if types[0] in ("COMMA", "ARROW") else None


def _head_hint(tokens: list[Token], position: int) -> str | None:
    token, first = tokens[position], tokens[0]
    if token.type == "LPAR" or (token.type in ("ARROW", "COMMA", "END") and position == 1):
        if first.lower() == "false":
            return "did you mean `#F`?"
        bracket = "(" if token.type == "LPAR" else ""
        return f"predicates begin with a small letter: `{_small(first)}{bracket}`"
    if token.type in _COMPARISONS or tokens[1].type == "EQUAL":
        return "an equality is written `X = Y :- ...`, with two variables"
    return None


def _small(name: Token) -> str:
    return name[0].lower() + name[1:]


def _open(tokens: list[Token]) -> list[int]:
    found: list[int] = []
    for i, token in enumerate(tokens):
        if token.type in OPENING:
            found.append(i)
        elif token.type in CLOSING and found:
            found.pop()
    return found
