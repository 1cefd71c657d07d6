"""Text to syntax tree.

Examples
--------
>>> program = parse("control(X,X) :- company(X).")
>>> print(program.clauses[0])
control(X, X) :- company(X).
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
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
    Collection,
    Condition,
    Constant,
    Constraint,
    Equality,
    Equation,
    Expression,
    Fact,
    Negation,
    Program,
    Rule,
    Skolem,
    Unary,
    UnsupportedClause,
)

if TYPE_CHECKING:
    from lark import Lark, Token

    from kgreason.lang.builder import Builder
    from kgreason.lang.clauses import Clause as Tokens

FINDINGS = 1_000  # a file with more errors than this is no program

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


def read(
    text: str,
    file: str = "<text>",
    given: Mapping[str, Constant] | None = None,
    outer: Container[str] = (),
) -> tuple[Program, tuple[Diagnostic, ...]]:
    """Parse what can be parsed: the program of the good clauses, and the errors of the others.

    Parameters
    ----------
    given
        Parameters that other files define; those of the text win.
    outer
        Names of those which win over the text.
    """
    with _ONE_AT_A_TIME:
        return _read(text, file, given or {}, outer)


def _read(
    text: str, file: str, given: Mapping[str, Constant], outer: Container[str]
) -> tuple[Program, tuple[Diagnostic, ...]]:
    from kgreason.lang.builder import grammar
    from kgreason.lang.clauses import clauses, unreadable
    from kgreason.lang.parameters import define

    problem = unreadable(text, file)
    if problem is not None:
        return Program((), file, text, whole=False), (problem,)
    lark, builder = grammar()
    cut = list(clauses(lark, text, file))
    builder.begin(file, text, {})
    # parameters may be used above their definition
    builder.parameters = define((c for c in cut if not isinstance(c, list)), builder, given, outer)
    parsed: list[Clause] = []
    label: Annotation | None = None
    whole = True
    for clause in cut:
        if isinstance(clause, list):
            built: list[Clause] = [*clause]
        elif len(builder.found) >= FINDINGS:
            builder.found.append(_too_many(clause, file))
            whole = False
            break
        else:
            before = len(builder.found)
            built = _parse_clause(clause, lark, builder)
            wrong = len(builder.found) > before
            whole = whole and bool(built) and not (wrong and all(isinstance(c, Annotation) for c in built))
        if label is not None or any(isinstance(c, Annotation) for c in built[:1]):
            built, label = _labelled(built, label, builder)
        parsed += built
    if label is not None:
        builder.found.append(_without_rule(label))
    found = sorted(builder.found, key=lambda d: _position(d.span))
    whole = whole and not builder.unread and not any(isinstance(c, UnsupportedClause) for c in parsed)
    return Program(tuple(parsed), file, text, whole), tuple(found)


def _position(span: Span | None) -> tuple[int, int]:
    return (span.line, span.column) if span else (0, 0)


def _too_many(clause: Tokens, file: str) -> Diagnostic:
    from kgreason.lang.clauses import span

    where = span(clause.tokens[0], clause.tokens[0], file)
    return Diagnostic("E019", f"reading stops here, after {FINDINGS:,} errors", where)


def _labelled(
    built: list[Clause], label: Annotation | None, builder: Builder
) -> tuple[list[Clause], Annotation | None]:
    """Give the rule after ``@label("text")`` its label; returns the label that is still to be given, too."""
    result: list[Clause] = []
    for clause in built:
        if isinstance(clause, Annotation) and clause.name == "label":
            if label is not None:
                builder.found.append(_without_rule(label))
            label = clause
        elif label is not None and not isinstance(clause, Annotation):
            if isinstance(clause, Rule | Equality | Constraint):
                text = label.arguments[0].value if label.arguments else ""
                clause = replace(clause, label=text if isinstance(text, str) else str(label.arguments[0]))
                weight = _weight(label)
                if isinstance(clause, Rule):
                    clause = replace(clause, weight=weight)
                elif weight is not None:
                    builder.found.append(_without_head(label))
            elif not isinstance(clause, UnsupportedClause):
                builder.found.append(_without_rule(label))
            label = None
        result.append(clause)
    return result, None if not built else label


def _without_rule(label: Annotation) -> Diagnostic:
    return Diagnostic(
        "E018",
        "this label names no rule",
        label.span,
        note='`@label("name")` names the rule, equality or constraint right after it',
    )


def _weight(label: Annotation) -> float | None:
    """The probability in ``@label("text", 0.9)``; the checker refuses anything else there."""
    value = label.arguments[1].value if len(label.arguments) == 2 else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _without_head(label: Annotation) -> Diagnostic:
    return Diagnostic(
        "E018",
        "this label gives a probability to what is no rule",
        label.span,
        note="a probability tells how often the body of a rule causes its head; equalities and constraints have none",
        hint='write `@label("name")`',
    )


def _refused(feature: str, first: Token, last: Token, tokens: list[Token], builder: Builder) -> list[Clause]:
    from kgreason.lang.clauses import span

    start, end = tokens[0].start_pos, tokens[-1].end_pos
    return [UnsupportedClause(feature, builder.text[start:end], span=span(first, last, builder.file))]


def _parse_clause(clause: Tokens, lark: Lark, builder: Builder) -> list[Clause]:
    from lark import UnexpectedToken

    from kgreason.lang.clauses import DEPTH, body_first, too_deep
    from kgreason.lang.explain import graph_call, sql, temporal, unexpected
    from kgreason.lang.parser import deeper

    if clause.problem is not None:
        builder.found.append(clause.problem)
        return []
    tokens = clause.tokens
    builder.next_clause(clause.documentation)
    if sql([(t.type, t) for t in tokens]):
        return _refused("SQL in a rule body", tokens[0], tokens[-1], tokens, builder)
    state = lark.parse_interactive()
    for i, token in enumerate(tokens):
        try:
            state.feed_token(token)
        except UnexpectedToken:
            if name := graph_call(tokens, i):
                return _refused(f"graph call {name}", name, name, tokens, builder)
            if place := temporal(tokens, i):
                return _refused("temporal operator", *place, tokens, builder)
            accepted = frozenset(state.accepts())  # type: ignore[no-untyped-call]
            reversed_ = body_first(builder.text, tokens[0], tokens[-1].end_pos or 0, builder.file)
            builder.found.append(reversed_ or unexpected(tokens, i, accepted, builder.file, builder.text))
            return []
    built: list[Clause] = state.feed_eof(tokens[-1])  # type: ignore[no-untyped-call]
    builder.end_clause()
    for made in built if len(tokens) > DEPTH else ():
        deep = deeper(made, DEPTH)
        if deep is not None:
            builder.found.append(too_deep(deep.span))
            return []
    return built


def deeper(clause: Clause, limit: int) -> Expression | None:
    """The first expression of a clause that is nested more than so many levels deep.

    Examples
    --------
    >>> from kgreason.lang.parser import parse
    >>> (rule,) = parse("p(X) :- q(Y), X = -(Y + [1]).").clauses
    >>> print(deeper(rule, 3), deeper(rule, 4))
    -(Y + [1]) None
    """
    expressions = (e for item in _items(clause) for e in _expressions(item))
    return next((e for e in expressions if _deep(e, limit)), None)


def _deep(node: Expression, limit: int) -> bool:
    depth, level = 0, [node]
    while level and depth <= limit:
        depth += 1
        level = [child for node in level for child in _children(node)]
    return depth > limit


def _items(clause: Clause) -> tuple[BodyItem, ...]:
    match clause:
        case Rule():
            return (*clause.head, *clause.body)
        case Equality() | Constraint():
            return clause.body
        case Fact():
            return (clause.atom,)
        case _:
            return ()


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
        case Call() | Skolem():
            return node.arguments
        case Collection():
            return node.elements
        case Aggregate():
            return () if node.argument is None else (node.argument,)
        case _:
            return ()
