"""Build syntax trees: the callbacks of the grammar's rules, one for each name in the grammar."""

# ruff: noqa: D102  (the grammar says what each callback gets)

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lark import Token, Transformer

from kgreason.errors import Diagnostic, Span
from kgreason.lang.ast import (
    Aggregate,
    Annotation,
    Atom,
    Binary,
    BodyItem,
    Call,
    Condition,
    Constant,
    Equation,
    Expression,
    Fact,
    Negation,
    Rule,
    Unary,
    Unsupported,
    UnsupportedClause,
    Variable,
)
from kgreason.lang.ast import Clause as ClauseNode
from kgreason.lang.names import AGGREGATES, suggest

GREATEST = 2**63 - 1
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "'": "'", "$": "$", "/": "/"}
_SPECIAL = re.compile(r'\\([\s\S])|""|\$\{([^}\n]*)\}')

_PLAIN = {"INTEGER", "DOUBLE", "STRING", "BOOLEAN"}

Node = Expression | Atom | Negation | Equation | Condition | Annotation | UnsupportedClause


@dataclass(frozen=True, slots=True)
class _Contributors:
    variables: tuple[Variable, ...]
    span: Span


class Builder(Transformer[Token, list[ClauseNode]]):
    """Builds the nodes of one clause after the other; `found` collects diagnostics.

    Parameters
    ----------
    file, text
        Source, for spans and the text of what is not supported.
    parameters
        Values of ``${name}``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.begin("<text>", "", {})

    def begin(self, file: str, text: str, parameters: Mapping[str, Constant]) -> None:
        """Start on a file."""
        self.file, self.text, self.parameters = file, text, parameters
        self.found: list[Diagnostic] = []
        self._line_starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self.next_clause()

    def next_clause(self, documentation: str = "") -> None:
        """Start on a clause."""
        self.documentation = documentation
        self._anonymous = 0
        self._lists: dict[Span, tuple[Node, ...]] = {}
        self._border: dict[Span, Constant] = {}

    def _span(self, first: Any, last: Any) -> Span:
        if isinstance(first, Token):
            line, column = first.line or 1, first.column or 1
        else:
            line, column = first.span.line, first.span.column
        if isinstance(last, Token):
            return Span(self.file, line, column, last.end_line or 1, last.end_column or 1)
        return Span(self.file, line, column, last.span.end_line, last.span.end_column)

    def _source(self, span: Span) -> str:
        starts = self._line_starts
        return self.text[
            starts[span.line - 1] + span.column - 1 : starts[span.end_line - 1] + span.end_column - 1
        ]

    def _unsupported(self, feature: str, first: Any, last: Any) -> Unsupported:
        span = self._span(first, last)
        return Unsupported(feature, self._source(span), span=span)

    def _report(
        self, code: str, message: str, span: Span, note: str | None = None, hint: str | None = None
    ) -> None:
        self.found.append(Diagnostic(code, message, span, note, hint))

    # Clauses

    def annotations(self, children: list[Any]) -> list[ClauseNode]:
        return children[:-1]

    def fact(self, children: list[Any]) -> list[ClauseNode]:
        *before, head, end = children
        return [*before, *(self._fact(item, end) for item in head)]

    def _fact(self, item: Any, end: Token) -> ClauseNode:
        if not isinstance(item, Atom):
            return self._refused_clause(item, end)
        return Fact(item, self.documentation, span=item.span)

    def plain_fact(self, tokens: list[Token]) -> Fact | None:
        """Read ``p("a", 1, 0.5).`` without the parser: files may hold thousands of these."""
        types = [t.type for t in tokens]
        if types[:2] != ["NAME", "LPAR"] or types[-2:] != ["RPAR", "END"]:
            return None
        values, commas = types[2:-2:2], types[3:-2:2]
        if len(types) % 2 == 0 or not _PLAIN.issuperset(values) or commas.count("COMMA") < len(commas):
            return None
        arguments = tuple(getattr(self, t.type.lower())([t]) for t in tokens[2:-2:2])
        self.end_clause()
        span = self._span(tokens[0], tokens[-2])
        return Fact(Atom(str(tokens[0]), arguments, span=span), self.documentation, span=span)

    def rule(self, children: list[Any]) -> list[ClauseNode]:
        *before, head, _, body, end = children
        for item in head:
            if not isinstance(item, Atom):
                return [*before, self._refused_clause(item, end, head[0])]
        return [*before, Rule(tuple(head), tuple(body), self.documentation, span=self._span(head[0], end))]

    def _refused_clause(self, item: Any, end: Token, first: Any = None) -> ClauseNode:
        feature = item.feature if isinstance(item, Unsupported | UnsupportedClause) else "clause"
        span = self._span(first or item, end)
        return UnsupportedClause(feature, self._source(span), span=span)

    def annotation(self, children: list[Any]) -> Annotation:
        name, _, *arguments, end = children
        constants = []
        for argument in arguments:
            if not isinstance(argument, Constant):
                span = argument.span
                argument = Constant(self._source(span), span=span)
                if not name.startswith("@qbind"):
                    self._report(
                        "E013",
                        f"`{argument.value}` cannot stand in an annotation",
                        span,
                        note="arguments of annotations are strings, numbers, booleans and bare words",
                    )
            constants.append(argument)
        return Annotation(str(name[1:]), tuple(constants), span=self._span(name, end))

    def word(self, children: list[Token]) -> Constant:
        return Constant(str(children[0]), span=self._span(children[0], children[0]))

    def head(self, children: list[Any]) -> list[Any]:
        return children

    def body(self, children: list[Any]) -> list[Any]:
        return children

    def egd(self, children: list[Token]) -> UnsupportedClause:
        return self._clause_of("equality-generating dependency `X = Y :- ...`", *children)

    def constraint(self, children: list[Token]) -> UnsupportedClause:
        return self._clause_of("constraint `#F :- ...`", children[0], children[0])

    def _clause_of(self, feature: str, first: Token, last: Token) -> UnsupportedClause:
        return UnsupportedClause(feature, "", span=self._span(first, last))

    # Body items

    def proposition(self, children: list[Token]) -> Atom:
        return Atom(str(children[0]), (), span=self._span(children[0], children[0]))

    def atom(self, children: list[Call]) -> Expression | Atom:
        return self._atom(children[0])

    def _atom(self, call: Call) -> Atom:
        return Atom(call.function, self._arguments(call), span=call.span)

    def item(self, children: list[Any]) -> BodyItem:
        node = children[0]
        if isinstance(node, Call):
            return self._atom(node)
        if isinstance(node, Aggregate) and node.contributors is None:  # a predicate that is called like one
            arguments = () if node.argument is None else (node.argument,)
            return Atom(node.function, arguments, span=node.span)
        return Condition(node, span=node.span)

    def equation(self, children: list[Any]) -> Equation:
        left, right = children
        return Equation(left, right, span=self._span(left, right))

    def negation(self, children: list[Any]) -> BodyItem:
        word, atom = children
        return Negation(atom, span=self._span(word, atom))

    def temporal(self, children: list[Any]) -> Unsupported:
        return self._unsupported("temporal operator", children[0], children[-1])

    # Expressions

    def call(self, children: list[Any]) -> Call:
        name, _, *arguments, end = children
        return Call(str(name), tuple(arguments), span=self._span(name, end))

    def value(self, children: list[Call]) -> Expression:
        call = children[0]
        if call.function in AGGREGATES:
            aggregate = self._aggregate(call)
            if aggregate is not None:
                return aggregate
        return Call(call.function, self._arguments(call), span=call.span)

    def _arguments(self, call: Call) -> tuple[Expression, ...]:
        for argument in call.arguments:
            if isinstance(argument, _Contributors):
                self._misplaced(call, argument)
        return tuple(a for a in call.arguments if not isinstance(a, _Contributors))

    def _misplaced(self, call: Call, argument: _Contributors) -> None:
        closest = suggest(call.function, AGGREGATES)
        self._report(
            "E012",
            f"contributors `{self._source(argument.span)}` stand outside of an aggregate",
            argument.span,
            note=f"`<...>` is the last argument of an aggregate such as msum; {call.function!r} is none",
            hint=closest and f"did you mean {closest!r}?",
        )

    def _aggregate(self, call: Call) -> Aggregate | None:
        """Read a call as an aggregate; `None` where it is a function of the same name, as ``min(X, Y)``."""
        plain = [a for a in call.arguments if not isinstance(a, _Contributors)]
        last = call.arguments[-1] if call.arguments else None
        if isinstance(last, _Contributors) and len(call.arguments) == len(plain) + 1 and len(plain) <= 1:
            return Aggregate(call.function, plain[0] if plain else None, last.variables, span=call.span)
        if len(plain) == len(call.arguments) <= 1:
            return Aggregate(call.function, plain[0] if plain else None, None, span=call.span)
        if len(plain) == len(call.arguments) == 3:
            return self._older_form(call)
        return None

    def _older_form(self, call: Call) -> Aggregate | None:
        """``msum(X, [K], [C])``: group and contributors as lists."""
        group, contributors = (self._lists.get(a.span) for a in call.arguments[1:])
        if group is None or contributors is None:
            return None
        variables = [n for n in (*group, *contributors) if isinstance(n, Variable)]
        if len(variables) < len(group) + len(contributors):
            return None
        groups = tuple(variables[: len(group)])
        return Aggregate(
            call.function, call.arguments[0], tuple(variables[len(group) :]), groups=groups, span=call.span
        )

    def contributors(self, children: list[Token]) -> _Contributors:
        less, *names, greater = children
        return _Contributors(tuple(self.variable([n]) for n in names), self._span(less, greater))

    def binary(self, children: list[Any]) -> Binary:
        left, operator, right = children
        shown = {"NOT_IN": "!in"}.get(operator.type, str(operator))
        return Binary("!=" if shown == "<>" else shown, left, right, span=self._span(left, right))

    def equals(self, children: list[Any]) -> Binary:
        left, right = children
        return Binary("==", left, right, span=self._span(left, right))

    def unary(self, children: list[Any]) -> Expression:
        operator, operand = children
        span = self._span(operator, operand)
        if operator == "-" and isinstance(operand, Constant) and type(operand.value) in (int, float):
            self._border.pop(operand.span, None)
            return Constant(-operand.value, span=span)  # type: ignore[operator]
        return Unary(str(operator), operand, span=span)

    def variable(self, children: list[Token]) -> Variable:
        name = str(children[0])
        if name.startswith("_"):
            self._anonymous += 1
            name = f"_{self._anonymous}"
        return Variable(name, span=self._span(children[0], children[0]))

    def skolem(self, children: list[Any]) -> Unsupported:
        name = str(children[0])
        feature = f"graph call {name}" if name[1].isupper() else f"Skolem term {name}"
        return self._unsupported(feature, children[0], children[-1])

    def list_(self, children: list[Any]) -> Unsupported:
        node = self._unsupported("list", children[0], children[-1])
        self._lists[node.span] = tuple(children[1:-1])
        return node

    def set_(self, children: list[Any]) -> Unsupported:
        return self._unsupported("set", children[0], children[-1])

    # Constants

    def integer(self, children: list[Token]) -> Constant:
        token = children[0]
        span = self._span(token, token)
        value = int(token) if len(token) < 40 else GREATEST + 2
        if value > GREATEST + 1:
            self._too_large(str(token), span)
            value = 0
        constant = Constant(value, span=span)
        if value > GREATEST:
            self._border[span] = constant  # fits behind a minus only
        return constant

    def _too_large(self, shown: str, span: Span) -> None:
        self._report(
            "E005",
            f"the integer {shown if len(shown) <= 40 else shown[:20] + '...'} is too large",
            span,
            note=f"integers have 64 bits: {-GREATEST - 1} to {GREATEST}",
            hint="write it as a double (with a decimal point) or as a string",
        )

    def end_clause(self) -> None:
        """Report what only the end of a clause decides."""
        for span, constant in self._border.items():
            self._too_large(str(constant.value), span)

    def double(self, children: list[Token]) -> Constant:
        token = children[0]
        span = self._span(token, token)
        value = float(token.rstrip("fF"))
        if math.isinf(value):
            self._report(
                "E005", f"the double {str(token)[:40]} is too large", span, note="doubles end near 1.8e308"
            )
            value = 0.0
        return Constant(value, span=span)

    def boolean(self, children: list[Token]) -> Constant:
        return Constant(children[0] == "#T", span=self._span(children[0], children[0]))

    def date(self, children: list[Token]) -> Unsupported:
        return self._unsupported("date", children[0], children[0])

    def parameter(self, children: list[Token]) -> Constant:
        token = children[0]
        span = self._span(token, token)
        return Constant(self._parameter(token[2:-1], span).value, span=span)

    def _parameter(self, name: str, span: Span) -> Constant:
        if name in self.parameters:
            return self.parameters[name]
        closest = suggest(name, self.parameters)
        self._report(
            "E306",
            f"there is no parameter {name!r}",
            span,
            note='`${name}` stands for the value that @param("name", value) gives',
            hint=f"did you mean ${{{closest}}}?" if closest else f'add @param("{name}", ...)',
        )
        return Constant("")

    def string(self, children: list[Token]) -> Constant:
        token = children[0]
        span = self._span(token, token)
        content = str(token[1:-1])
        if "\\" in content or '"' in content or "$" in content:
            content = _SPECIAL.sub(lambda m: self._special(m, span), content)
        return Constant(content, span=span)

    def _special(self, match: re.Match[str], span: Span) -> str:
        escaped, parameter = match.groups()
        if parameter is not None:
            value = self._parameter(parameter, span)
            return str(value.value) if isinstance(value.value, str) else str(value)
        if escaped is None:
            return '"'
        if escaped not in _ESCAPES:
            self._report(
                "E011",
                f"unknown escape `\\{escaped}` in a string",
                span,
                note='the escapes are \\n \\t \\r \\" \\\\ and \\$',
                hint="write `\\\\` for a backslash",
            )
        return _ESCAPES.get(escaped, escaped)
