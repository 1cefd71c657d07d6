"""Parser from text to syntax tree."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from threading import Lock

from lark import Lark, Token, UnexpectedToken

from kgreason.base.errors import Diagnostic, ProgramError, Span
from kgreason.base.records import record
from kgreason.language.syntax.clauses import (
    DEPTH,
    ClauseTokens,
    body_first,
    clauses,
    span,
    too_deep,
    unreadable,
)
from kgreason.language.syntax.syntax_errors import graph_call, sql, temporal, unexpected
from kgreason.language.syntax.syntax_tree import (
    Annotation,
    Bodied,
    Clause,
    Constant,
    Expression,
    Fact,
    Program,
    Rule,
    UnsupportedClause,
    children,
    expressions,
)
from kgreason.language.syntax.tree_builder import UNKNOWN, Builder, grammar, references

_WORDS = frozenset({"NAME", "VAR", "IN", "NOT"})
_LITERALS = frozenset({"INTEGER", "DOUBLE", "STRING", "BOOLEAN", "DATE", "PARAMETER"})
FINDINGS = 1_000  # maximum number of reported errors

_ONE_AT_A_TIME = Lock()  # the callbacks of the cached parser have state


def parse(text: str, file: str = "<text>") -> Program:
    """Parse a program; raise `ProgramError` with all syntax errors of the text, which diagnostics call `file`."""
    program, diagnostics = read(text, file)
    if diagnostics:
        raise ProgramError(diagnostics, text)
    return program


def read(
    text: str, file: str = "<text>", shared: Mapping[str, Constant] | None = None, outer: Container[str] = ()
) -> tuple[Program, tuple[Diagnostic, ...]]:
    """Parse the valid clauses; returns their program and the errors of the other clauses.

    Parameters of the text take precedence over those `shared` by other files, except for the names `outer`.
    """
    with _ONE_AT_A_TIME:
        return _read(text, file, shared or {}, outer)


def _read(
    text: str, file: str, shared: Mapping[str, Constant], outer: Container[str]
) -> tuple[Program, tuple[Diagnostic, ...]]:
    problem = unreadable(text, file)
    if problem is not None:
        return Program((), file, text, whole=False), (problem,)
    lark, builder = grammar()
    cut = list(clauses(lark, text, file))
    builder.begin(file, text, {})
    # parameters may be used above their definition
    builder.parameters = _define((c for c in cut if not isinstance(c, list)), builder, shared, outer)
    parsed: list[Clause | None] = []
    whole = True
    for clause in cut:
        if isinstance(clause, list):
            parsed += clause
        elif len(builder.found) >= FINDINGS:
            where = span(clause.tokens[0], clause.tokens[0], file)
            message = f"reading stops here, after {FINDINGS:,} errors"
            builder.found.append(Diagnostic("E019", message, where))
            whole = False
            break
        else:
            before = len(builder.found)
            built = _parse_clause(clause, lark, builder)
            wrong = len(builder.found) > before
            whole = whole and bool(built) and not (wrong and all(isinstance(c, Annotation) for c in built))
            parsed += built or [None]
    program = tuple(_labelled(parsed, builder.found))
    found = sorted(builder.found, key=lambda d: (d.span.line, d.span.column) if d.span else (0, 0))
    whole = whole and not builder.unread and not any(isinstance(c, UnsupportedClause) for c in program)
    return Program(program, file, text, whole), tuple(found)


@record
class _Definition:
    """``@param("name", value)``; `value` are its tokens, `needs` the parameters in them."""

    value: Sequence[Token]
    needs: tuple[str, ...]
    span: Span


def _define(
    cut: Iterable[ClauseTokens], builder: Builder, shared: Mapping[str, Constant], outer: Container[str]
) -> dict[str, Constant]:
    """Evaluate parameters, which may refer to each other; errors other than cycles are found when parsing them."""
    values = dict(shared)
    definitions = {
        name: d for clause in cut for name, d in _definitions(clause, builder) if name not in outer
    }
    order, circles = _order({name: d.needs for name, d in definitions.items()})
    found = list(builder.found)
    builder.parameters = values
    for name in order:
        values[name] = UNKNOWN if name in circles else _evaluate(definitions[name].value, builder)
    builder.only([*found, *(_circular(circle, definitions) for circle in dict.fromkeys(circles.values()))])
    builder.next_clause()
    return values


def _definitions(clause: ClauseTokens, builder: Builder) -> Iterator[tuple[str, _Definition]]:
    tokens = clause.tokens
    if clause.problem is not None or tokens[0].type != "ANNOTATION":
        return
    for i, token in enumerate(tokens):
        if token != "@param" or [t.type for t in tokens[i + 1 : i + 4 : 2]] != ["LPAR", "COMMA"]:
            continue
        name = tokens[i + 2]
        ends = (j for j in range(i + 4, len(tokens)) if tokens[j].type == "RPAR")
        value = tokens[i + 4 : next(ends, i + 4)]
        text = str(name) if name.type in _WORDS else name[1:-1]
        needs = tuple(n for t in value for n in references(t))
        last = tokens[min(i + 4 + len(value), len(tokens) - 1)]
        yield text, _Definition(value, needs, span(token, last, builder.file))


def _evaluate(value: Sequence[Token], builder: Builder) -> Constant:
    signs, literal = value[:-1], value[-1:]
    if not literal or [t.type for t in signs] not in ([], ["MINUS"]):
        return UNKNOWN
    token = literal[0]
    if token.type in _WORDS:
        return Constant(str(token))
    made = getattr(builder, token.type.lower(), None)
    constant = made([token]) if token.type in _LITERALS and made else UNKNOWN
    signed = builder.unary([signs[0], constant]) if signs else constant
    return signed if isinstance(signed, Constant) else UNKNOWN


def _order(needs: Mapping[str, Sequence[str]]) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """Order parameters by dependency; also returns the cycle of each parameter that is in one."""
    graph = {name: [n for n in wanted if n in needs] for name, wanted in needs.items()}
    circles: dict[str, tuple[str, ...]] = {}
    while True:
        try:
            return list(TopologicalSorter(graph).static_order()), circles
        except CycleError as error:
            circle = tuple(reversed(error.args[1][1:]))
            for name in circle:
                graph[name] = []
                circles[name] = circle


def _circular(circle: tuple[str, ...], definitions: Mapping[str, _Definition]) -> Diagnostic:
    names = list(definitions)
    first = circle.index(min(circle, key=names.index))
    circle = circle[first:] + circle[:first]
    return Diagnostic(
        "E015",
        f"the parameter {circle[0]!r} needs itself: {' -> '.join((*circle, circle[0]))}",
        definitions[circle[0]].span,
        note="the value of a parameter may hold other parameters, but not in a circle",
        hint="give one of them a value without `${...}`",
        related=tuple((definitions[name].span, f"{name!r} is in the circle") for name in circle[1:]),
    )


def _labelled(parsed: Iterable[Clause | None], found: list[Diagnostic]) -> Iterator[Clause]:
    """Attach ``@label("text")`` to the rule after it; `None` represents a clause with errors."""
    label: Annotation | None = None
    for clause in parsed:
        if isinstance(clause, Annotation) and clause.name != "label":
            yield clause
            continue
        if label is not None and isinstance(clause, Bodied):
            clause = _with_label(clause, label, found)
        elif label is not None and isinstance(clause, Annotation | Fact):
            found.append(_idle(label))
        label = clause if isinstance(clause, Annotation) else None
        if clause is not None:
            yield clause
    if label is not None:
        found.append(_idle(label))


def _idle(label: Annotation) -> Diagnostic:
    note = '`@label("name")` names the rule, equality or constraint right after it'
    return Diagnostic("E018", "this label names no rule", label.span, note=note)


def _with_label(clause: Bodied, label: Annotation, found: list[Diagnostic]) -> Bodied:
    text = label.arguments[0].value if label.arguments else ""
    clause = replace(clause, label=text if isinstance(text, str) else str(label.arguments[0]))
    weight = label.arguments[1].value if len(label.arguments) == 2 else None
    if not isinstance(weight, int | float) or isinstance(weight, bool):  # the checker refuses it
        return clause
    if isinstance(clause, Rule):
        return replace(clause, weight=float(weight))
    message = "this label gives a probability to what is no rule"
    note = (
        "a probability is how often the body of a rule causes its head; equalities and constraints have none"
    )
    found.append(Diagnostic("E018", message, label.span, note, 'write `@label("name")`'))
    return clause


def _parse_clause(clause: ClauseTokens, lark: Lark, builder: Builder) -> list[Clause]:
    def refused(feature: str, first: Token, last: Token) -> list[Clause]:
        source = builder.text[tokens[0].start_pos : tokens[-1].end_pos]
        return [UnsupportedClause(feature, source, span=span(first, last, builder.file))]

    if clause.problem is not None:
        builder.found.append(clause.problem)
        return []
    tokens = clause.tokens
    builder.next_clause(clause.documentation)
    if sql([(t.type, t) for t in tokens]):
        return refused("SQL in a rule body", tokens[0], tokens[-1])
    state = lark.parse_interactive()
    for i, token in enumerate(tokens):
        try:
            state.feed_token(token)
        except UnexpectedToken:
            if name := graph_call(tokens, i):
                return refused(f"graph call {name}", name, name)
            if operator := temporal(tokens, i):
                return refused("temporal operator", *operator)
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
    """The first expression of a clause nested more than `limit` levels deep."""
    heads = clause.head if isinstance(clause, Rule) else (clause.atom,) if isinstance(clause, Fact) else ()
    body = clause.body if isinstance(clause, Bodied) else ()
    for expression in (e for item in (*heads, *body) for e in expressions(item)):
        level, depth = [expression], 0
        while level and depth <= limit:
            level, depth = [child for node in level for child in children(node)], depth + 1
        if depth > limit:
            return expression
    return None
