"""Values of the parameters of a file, which may refer to each other in any order."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from lark import Token

from kgreason.errors import Diagnostic, Span
from kgreason.lang.ast import Constant
from kgreason.lang.builder import Builder
from kgreason.lang.clauses import Clause, span
from kgreason.lang.literals import UNKNOWN, references

_WORDS = frozenset({"NAME", "VAR", "IN", "NOT"})


@dataclass(frozen=True, slots=True)
class _Definition:
    """``@param("name", value)``; `value` are its tokens, `needs` the parameters in them."""

    value: Sequence[Token]
    needs: tuple[str, ...]
    span: Span


def define(
    cut: Iterable[Clause], builder: Builder, given: Mapping[str, Constant], outer: Container[str] = ()
) -> dict[str, Constant]:
    """Evaluate the parameters that clauses define.

    Faults of the values are left to the parser, which sees them later; only cycles are reported.

    Parameters
    ----------
    cut
        Clauses of the file, not parsed yet.
    builder
        Makes the constants; gets the diagnostics.
    given
        Parameters that other files define; those of the clauses win.
    outer
        Names of those which win over the clauses.
    """
    values = dict(given)
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


def _definitions(clause: Clause, builder: Builder) -> Iterator[tuple[str, _Definition]]:
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


_LITERALS = frozenset({"INTEGER", "DOUBLE", "STRING", "BOOLEAN", "DATE", "PARAMETER"})


def _order(needs: Mapping[str, Sequence[str]]) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """Put each parameter after those it needs; and the circle of each that is in one."""
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
