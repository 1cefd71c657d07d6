"""Text to syntax tree.

Examples
--------
>>> program = parse("control(X,X) :- company(X).")
>>> print(program.clauses[0])
control(X, X) :- company(X).
"""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from kgreason.errors import Diagnostic, ProgramError, Span
from kgreason.lang.ast import (
    Aggregate,
    Annotation,
    Atom,
    Binary,
    BodyItem,
    Call,
    Clause,
    Condition,
    Constant,
    Equation,
    Expression,
    Fact,
    Negation,
    Program,
    Rule,
    Unary,
    UnsupportedClause,
)

if TYPE_CHECKING:
    from lark import Lark

    from kgreason.lang.builder import Builder
    from kgreason.lang.clauses import Clause as Tokens


_ONE_AT_A_TIME = Lock()  # the callbacks of the cached parser have a state


def parse(text: str, file: str = "<text>") -> Program:
    """Parse a program.

    Parameters
    ----------
    text
        Source.
    file
        Name in diagnostics.

    Raises
    ------
    ProgramError
        With every syntax error of the text.
    """
    program, diagnostics = read(text, file)
    if diagnostics:
        raise ProgramError(diagnostics, text)
    return program


def read(text: str, file: str = "<text>") -> tuple[Program, tuple[Diagnostic, ...]]:
    """Parse what can be parsed: the program of the good clauses, and the errors of the others."""
    with _ONE_AT_A_TIME:
        return _read(text, file)


def _read(text: str, file: str) -> tuple[Program, tuple[Diagnostic, ...]]:
    from kgreason.lang.clauses import clauses

    lark, builder = _parser()
    cut = list(clauses(text, file))
    parameters: dict[str, Constant] = {}
    builder.begin(file, text, parameters)
    parsed: list[list[Clause]] = [[] for _ in cut]
    for i, clause in enumerate(cut):  # first the parameters, for they may be used above their definition
        if clause.tokens[0] == "@param":
            parsed[i] = _parse_clause(clause, lark, builder)
            parameters.update(_parameters(parsed[i]))
    for i, clause in enumerate(cut):
        if clause.tokens[0] != "@param":
            parsed[i] = _parse_clause(clause, lark, builder)
    found = sorted(builder.found, key=lambda d: _position(d.span))
    return Program(tuple(c for cs in parsed for c in cs), file, text), tuple(found)


@cache
def _parser() -> tuple[Lark, Builder]:
    from kgreason.lang.builder import Builder
    from kgreason.lang.clauses import load_grammar

    builder = Builder()
    return load_grammar(transformer=builder), builder


def _position(span: Span | None) -> tuple[int, int]:
    return (span.line, span.column) if span else (0, 0)


def _parameters(clauses: list[Clause]) -> dict[str, Constant]:
    return {
        str(clause.arguments[0].value): clause.arguments[1]
        for clause in clauses
        if isinstance(clause, Annotation) and clause.name == "param" and len(clause.arguments) == 2
    }


def _parse_clause(clause: Tokens, lark: Lark, builder: Builder) -> list[Clause]:
    from lark import UnexpectedToken

    from kgreason.lang.clauses import DEPTH, span, too_deep
    from kgreason.lang.explain import sql, unexpected

    if clause.problem is not None:
        builder.found.append(clause.problem)
        return []
    tokens = clause.tokens
    if sql(tokens):
        where = span(tokens[0], tokens[-1], builder.file)
        start, end = tokens[0].start_pos, tokens[-1].end_pos
        return [UnsupportedClause("SQL in a rule body", builder.text[start:end], span=where)]
    builder.next_clause(clause.documentation)
    fact = builder.plain_fact(tokens)
    if fact is not None:
        return [fact]
    state = lark.parse_interactive()
    for i, token in enumerate(tokens):
        try:
            state.feed_token(token)
        except UnexpectedToken:
            accepted = frozenset(state.accepts())  # type: ignore[no-untyped-call]
            builder.found.append(unexpected(tokens, i, accepted, builder.file, builder.text))
            return []
    built: list[Clause] = state.feed_eof(tokens[-1])  # type: ignore[no-untyped-call]
    builder.end_clause()
    if len(tokens) > DEPTH and any(_depth(c) > DEPTH for c in built):
        builder.found.append(too_deep(built[0].span))
        return []
    return built


def _depth(clause: Clause) -> int:
    """Depth of the deepest expression, found without recursion."""
    depth = 0
    level: list[Expression] = [e for item in _items(clause) for e in _expressions(item)]
    while level and depth <= 2 * 100:
        depth += 1
        level = [child for node in level for child in _children(node)]
    return depth


def _items(clause: Clause) -> tuple[BodyItem, ...]:
    if isinstance(clause, Rule):
        return (*clause.head, *clause.body)
    return (clause.atom,) if isinstance(clause, Fact) else ()


def _expressions(item: BodyItem) -> tuple[Expression, ...]:
    match item:
        case Atom():
            return item.arguments
        case Negation():
            return item.atom.arguments
        case Equation():
            return (item.left, item.right)
        case Condition():
            return (item.expression,)


def _children(node: Expression) -> tuple[Expression, ...]:
    match node:
        case Unary():
            return (node.operand,)
        case Binary():
            return (node.left, node.right)
        case Call():
            return node.arguments
        case Aggregate():
            return () if node.argument is None else (node.argument,)
        case _:
            return ()
