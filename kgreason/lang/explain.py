"""Explain why a token cannot stand where it stands."""

from __future__ import annotations

from lark import Token

from kgreason.errors import Diagnostic
from kgreason.lang.clauses import percentage, span, starts_line

_TERMS = frozenset({"VAR", "INTEGER", "DOUBLE", "STRING", "BOOLEAN", "DATE", "PARAMETER", "HASH", "LBRACE"})
_OPERATORS = frozenset({"OR", "AND", "PLUS", "TIMES", "COMPARATOR"})
_COMPARISONS = frozenset({"LESS", "GREATER", "COMPARATOR", "EQUAL", "IN", "NOT_IN"})
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


def sql(tokens: list[Token]) -> bool:
    """Whether the body is an SQL statement."""
    types = [t.type for t in tokens]
    if "ARROW" not in types:
        return False
    body = tokens[types.index("ARROW") + 1 :]
    return len(body) > 1 and body[0].lower() == "select" and body[1].type not in ("LPAR", "COMMA", "END")


def unexpected(
    tokens: list[Token], position: int, expected: frozenset[str], file: str, text: str
) -> Diagnostic:
    """Explain the first token that does not fit."""
    token = tokens[position]
    before = tokens[position - 1] if position else None
    if before is not None and before.type == "NAME" and expected <= {"LPAR"}:
        return Diagnostic(
            "E010",
            f"the bare word `{before}` cannot stand here",
            span(before, before, file),
            note="arguments are constants and variables; variables begin with a capital letter",
            hint=f'write "{before}" for the string, or `{before[0].upper()}{before[1:]}` for a variable',
        )
    return Diagnostic(
        "E001",
        f"unexpected {_show(token)}",
        span(token, token, file),
        note=_expected(expected),
        hint=(percentage(tokens[position - 1], text) if position else None) or _hint(tokens, position),
    )


def _show(token: Token) -> str:
    text = str(token).split("\n", 1)[0]
    return f"`{text if len(text) <= 40 else text[:40] + '...'}`"


def _expected(expected: frozenset[str]) -> str | None:
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
    if "LEFT" in token.type or (token.type == "ARROW" and any(t.type == "ARROW" for t in tokens[:position])):
        return "the clause above may lack its final `.`"
    if position and starts_line(tokens, position) and token.type in ("NAME", "ANNOTATION"):
        return "the clause above may lack its final `.`"
    if token.type in _COMPARISONS and any(t.type in _COMPARISONS for t in tokens[:position]):
        return "compare two values at a time: `X < Y, Y < Z`; write `==` inside of an expression"
    if token.type == "VAR" and position == 0:
        return "predicates begin with a small letter"
    if token.type == "LPAR" and before is not None and before.type == "VAR":
        return f"predicates begin with a small letter: `{before[0].lower()}{before[1:]}(`"
    if token.type == "END" and before is not None and before.type == "COMMA":
        return "remove the `,` before it"
    if token.type in ("END", "ARROW") and _open(tokens[:position]):
        return "a bracket is still open"
    return None


def _open(tokens: list[Token]) -> bool:
    types = [t.type for t in tokens]
    return types.count("LPAR") > types.count("RPAR")
