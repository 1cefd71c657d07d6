"""Builder of syntax trees: callbacks of the grammar's rules, one for each name in the grammar."""

# ruff: noqa: D102  (the grammar says what each callback gets)

from __future__ import annotations

import math
import re
from calendar import month_name, monthrange
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

from lark import Lark, Token, Transformer

from kgreason.base import caches
from kgreason.base.errors import Diagnostic, Span
from kgreason.base.records import record
from kgreason.base.resources import resource
from kgreason.language.functions import BUILT_IN
from kgreason.language.syntax.syntax_tree import (
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
    Rule,
    Skolem,
    Unary,
    Unsupported,
    UnsupportedClause,
    Variable,
)
from kgreason.language.values import Null
from kgreason.language.vocabulary import AGGREGATES, meant, suggest

GREATEST = 2**63 - 1
LONGEST = 1_000_000  # characters that parameters may add to a string: expansion can be exponential
UNKNOWN = Constant(Null(0))
"""Value of a parameter that has none; of a null, no message tells the type."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "'": "'", "$": "$", "/": "/"}
_SPECIAL = re.compile(r'\\([\s\S])|""|\$\{([^}\n]*)\}')
_DATE = re.compile(r"(\d+)-(\d+)-(\d+)(?:[ T](\d+):(\d+)(?::(\d+)(?:\.(\d+))?)?)?(.*)")


def references(token: Token) -> list[str]:
    """Names of the parameters that a token refers to."""
    if token.type == "PARAMETER":
        return [str(token[2:-1])]
    if token.type != "STRING" or "$" not in token:
        return []
    return [m[2] for m in _SPECIAL.finditer(token, 1, len(token) - 1) if m[2] is not None]


@record
class _Contributors:
    variables: tuple[Variable, ...]
    span: Span


class Builder(Transformer[Token, list[Clause]]):
    """Builder of the nodes of each clause; `found` collects diagnostics."""

    def __init__(self) -> None:
        super().__init__()
        self.begin("<text>", "", {})

    def begin(self, file: str, text: str, parameters: Mapping[str, Constant]) -> None:
        """Start a file; the parameters are values of ``${name}``."""
        self.file, self.text, self.parameters = file, text, parameters
        self.found: list[Diagnostic] = []
        self._reported: set[Diagnostic] = set()
        self._line_starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self.unread = False  # whether a skipped clause may hold predicates
        self.next_clause()

    def next_clause(self, documentation: str = "") -> None:
        """Start a clause."""
        self.documentation = documentation
        self._anonymous = 0
        self._border: dict[Span, Constant] = {}

    def only(self, found: list[Diagnostic]) -> None:
        """Discard all diagnostics but these."""
        self.found = list(found)
        self._reported = set(found)

    def end_clause(self) -> None:
        """Report errors that can be decided only at the end of a clause."""
        for span, constant in self._border.items():
            self._too_large(str(constant.value), span)

    def _span(self, first: Any, last: Any) -> Span:
        start, end = getattr(first, "span", first), getattr(last, "span", last)
        return Span(self.file, start.line, start.column, end.end_line, end.end_column)

    def _source(self, span: Span) -> str:
        start = self._line_starts[span.line - 1] + span.column - 1
        return self.text[start : self._line_starts[span.end_line - 1] + span.end_column - 1]

    def _report(
        self, code: str, message: str, span: Span, note: str | None = None, hint: str | None = None
    ) -> None:
        finding = Diagnostic(code, message, span, note, hint)
        if finding not in self._reported:  # a string may have the same error a million times
            self._reported.add(finding)
            self.found.append(finding)

    # Numbers and booleans

    def unary(self, children: list[Any]) -> Expression:
        operator, operand = children
        span = self._span(operator, operand)
        if operator == "-" and isinstance(operand, Constant) and type(operand.value) in (int, float):
            self._border.pop(operand.span, None)
            return Constant(-operand.value, span=span)  # type: ignore[operator]
        return Unary(str(operator), operand, span=span)

    def integer(self, children: list[Token]) -> Constant:
        token = children[0]
        span = self._span(token, token)
        value = int(token) if len(token) < 40 else GREATEST + 2
        if value > GREATEST + 1:
            self._too_large(str(token), span)
            value = 0
        constant = Constant(value, span=span)
        if value > GREATEST:
            self._border[span] = constant  # valid only after a minus
        return constant

    def _too_large(self, shown: str, span: Span) -> None:
        self._report(
            "E005",
            f"the integer {shown if len(shown) <= 40 else shown[:20] + '...'} is too large",
            span,
            note=f"integers have 64 bits: {-GREATEST - 1} to {GREATEST}",
            hint="write it as a double (with a decimal point) or as a string",
        )

    def double(self, children: list[Token]) -> Constant:
        token = children[0]
        span = self._span(token, token)
        value = float(token.rstrip("fF"))
        if math.isinf(value):
            self._report("E005", f"the double {token[:40]} is too large", span, "doubles end near 1.8e308")
            value = 0.0
        return Constant(value, span=span)

    def boolean(self, children: list[Token]) -> Constant:
        return Constant(children[0] == "#T", span=self._span(children[0], children[0]))

    # Dates

    def date(self, children: list[Token]) -> Constant:
        token = children[0]
        span = self._span(token, token)
        match = _DATE.match(token)
        assert match is not None, token
        *parts, fraction, zone = match.groups("")
        numbers = [int(part or 0) for part in parts]
        if zone or len(fraction) > 6:
            self._report(
                "E014",
                f"the date {token} has {'a time zone' if zone else 'more than six digits of a second'}",
                span,
                note="a date is a day, or a day and a time without a zone, exact to microseconds",
                hint=f"write {token.removesuffix(zone) if zone else token[: 6 - len(fraction)]}",
            )
            return Constant(datetime.min, span=span)
        try:
            value = datetime(*numbers, int(fraction.ljust(6, "0")))  # type: ignore[call-arg, arg-type]
        except ValueError:
            self._report("E014", f"there is no date {token}", span, note=_impossible(*numbers[:3]))
            value = datetime.min
        return Constant(value, span=span)

    # Parameters and strings

    def parameter(self, children: list[Token]) -> Constant:
        token = children[0]
        span = self._span(token, token)
        return Constant(self._parameter(token[2:-1], span).value, span=span)

    def _parameter(self, name: str, span: Span) -> Constant:
        if name in self.parameters:
            return self.parameters[name]
        self._report(
            "E306",
            f"there is no parameter {name!r}",
            span,
            note='`${name}` is the value that @param("name", value) gives',
            hint=meant(name, self.parameters, "${{{}}}") or f'add @param("{name}", ...)',
        )
        return UNKNOWN

    def string(self, children: list[Token]) -> Constant:
        token = children[0]
        span = self._span(token, token)
        content = str(token[1:-1])
        if "\\" in content or '"' in content or "$" in content:
            self._room = LONGEST
            content = _SPECIAL.sub(lambda m: self._special(m, span), content)
        return Constant(content, span=span)

    def _special(self, match: re.Match[str], span: Span) -> str:
        escaped, parameter = match.groups()
        if parameter is not None:
            return self._within_string(self._parameter(parameter, span), span)
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

    def _within_string(self, constant: Constant, span: Span) -> str:
        if constant == UNKNOWN:
            return ""
        text = constant.value if isinstance(constant.value, str) else str(constant)
        if self._room < 0:
            return ""
        self._room -= len(text)
        if self._room >= 0:
            return text
        self._report(
            "E019",
            f"parameters make this string longer than {LONGEST:,} characters",
            span,
            note="the value of a parameter may hold other parameters, which multiplies its length",
        )
        return ""

    def _unsupported(self, feature: str, first: Any, last: Any) -> Unsupported:
        span = self._span(first, last)
        self.unread = True
        return Unsupported(feature, self._source(span), span=span)

    # Clauses

    def annotations(self, children: list[Any]) -> list[Clause]:
        return children[:-1]

    def fact(self, children: list[Any]) -> list[Clause]:
        *before, head, end = children
        refused = self._refused(head, end)
        if refused is not None:
            return [*before, *refused]
        special: Any = next((item for item in head if not isinstance(item, Atom)), None)
        if special is None:
            return [*before, *(Fact(atom, self.documentation, span=atom.span) for atom in head)]
        what, note = "constraint", "`#F :- body` says that the body must never hold"
        if isinstance(special, Equation):
            what, note = "equality", "`X = Y :- body` makes X and Y one value wherever the body holds"
        message = f"the {what} `{self._source(special.span)}` has no body"
        self._report("E017", message, special.span, note)
        return before

    def rule(self, children: list[Any]) -> list[Clause]:
        *before, head, _, body, end = children
        refused = self._refused(head, end)
        if refused is not None:
            return [*before, *refused]
        span = self._span(head[0], end)
        items, documentation = tuple(body), self.documentation
        special: Any = next((item for item in head if not isinstance(item, Atom)), None)
        if special is None:
            return [*before, Rule(tuple(head), items, documentation, span=span)]
        if len(head) > 1:
            self._report(
                "E016",
                f"`{self._source(special.span)}` must be the only item of its head",
                special.span,
                note="a head is one or more atoms, or one equality `X = Y`, or `#F`",
                hint="write a second clause with the same body",
            )
            return before
        match special:
            case Equation(Variable() as left, Variable() as right):
                return [*before, Equality(left, right, items, documentation, span=span)]
        return [*before, Constraint(items, documentation, span=span)]

    def _refused(self, head: list[Any], end: Token) -> list[Clause] | None:
        """Check for invalid heads; `None` if there are none."""
        for item in head:
            if isinstance(item, Unsupported):
                span = self._span(head[0], end)
                return [UnsupportedClause(item.feature, self._source(span), span=span)]
            name = str(item)
            if name in ("#T", "false", "true"):
                self._report(
                    "E016",
                    f"`{name}` cannot be a head",
                    item.span,
                    note="a constraint `#F :- body` says that the body must never hold",
                    hint="did you mean `#F`?" if name == "false" else None,
                )
                return []
        return None

    def annotation(self, children: list[Any]) -> Annotation:
        name, _, *arguments, end = children
        constants = []
        for argument in arguments:
            if not isinstance(argument, Constant):
                span = argument.span
                argument = Constant(self._source(span), span=span)
                if name != "@qbind":
                    self._report(
                        "E013",
                        f"`{argument.value}` cannot be an argument of an annotation",
                        span,
                        note="arguments of annotations are strings, numbers, booleans, dates and bare words",
                    )
            constants.append(argument)
        return Annotation(str(name[1:]), tuple(constants), span=self._span(name, end))

    def word(self, children: list[Token]) -> Constant:
        return Constant(str(children[0]), span=self._span(children[0], children[0]))

    def head(self, children: list[Any]) -> list[Any]:
        return children

    body = head

    def egd(self, children: list[Token]) -> Equation:
        left, right = (self.variable([name]) for name in children)
        return Equation(left, right, span=self._span(left, right))

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
        if isinstance(node, Aggregate) and node.contributors is None:  # a predicate with this name
            listed = () if node.groups is None else (Collection("list", node.groups, span=node.span),)
            arguments = () if node.argument is None else (node.argument,)
            return Atom(node.function, (*arguments, *listed), span=node.span)
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
        arguments = self._arguments(call)
        closest = suggest(call.function, AGGREGATES) if len(arguments) < len(call.arguments) else None
        if closest is not None and len(arguments) < 2:  # continue with the suggested function
            return Aggregate(closest, arguments[0] if arguments else None, (), span=call.span)
        return Call(call.function, arguments, span=call.span)

    def _arguments(self, call: Call) -> tuple[Expression, ...]:
        for argument in call.arguments:
            if isinstance(argument, _Contributors):
                self._misplaced(call, argument)
        return tuple(a for a in call.arguments if not isinstance(a, _Contributors))

    def _misplaced(self, call: Call, argument: _Contributors) -> None:
        self._report(
            "E012",
            f"contributors `{self._source(argument.span)}` outside of an aggregate",
            argument.span,
            note=f"`<...>` is the last argument of an aggregate such as msum; {call.function!r} is none",
            hint=meant(call.function, AGGREGATES),
        )

    def _aggregate(self, call: Call) -> Aggregate | None:
        """Read a call as an aggregate; `None` if it is a function of the same name, such as ``min(X, Y)``."""
        plain = [a for a in call.arguments if not isinstance(a, _Contributors)]
        last = call.arguments[-1] if call.arguments else None
        if isinstance(last, _Contributors) and len(call.arguments) == len(plain) + 1 and len(plain) <= 1:
            return Aggregate(call.function, plain[0] if plain else None, last.variables, span=call.span)
        if len(plain) == len(call.arguments) == 1 and _counts(call):
            return self._older_form(call)
        if len(plain) == len(call.arguments) <= 1:
            return Aggregate(call.function, plain[0] if plain else None, None, span=call.span)
        if len(plain) == len(call.arguments) == 3 or (len(plain) == 2 and call.function not in BUILT_IN):
            return self._older_form(call)
        return None

    def _older_form(self, call: Call) -> Aggregate | None:
        """``msum(X, [K], [C])``: group and contributors as lists, or one of them; also ``mcount([K], [C])``."""
        argument: Expression | None = call.arguments[0]
        lists = call.arguments[1:]
        if len(lists) < 2 and _counts(call):
            argument, lists = None, call.arguments
        names: list[tuple[Variable, ...]] = []
        for listed in lists:
            if not isinstance(listed, Collection) or listed.kind != "list":
                return None
            names.append(tuple(e for e in listed.elements if isinstance(e, Variable)))
            if len(names[-1]) < len(listed.elements):
                return None
        contributors = names[1] if len(names) == 2 else None
        return Aggregate(call.function, argument, contributors, groups=names[0], span=call.span)

    def contributors(self, children: list[Token]) -> _Contributors:
        less, *names, greater = children
        return _Contributors(tuple(self.variable([n]) for n in names), self._span(less, greater))

    def binary(self, children: list[Any]) -> Binary:
        left, operator, right = children
        name = "!in" if operator.type == "NOT_IN" else "!=" if operator == "<>" else str(operator)
        return Binary(name, left, right, span=self._span(left, right))

    def equals(self, children: list[Any]) -> Binary:
        left, right = children
        return Binary("==", left, right, span=self._span(left, right))

    def variable(self, children: list[Token]) -> Variable:
        name = str(children[0])
        if name.startswith("_"):
            self._anonymous += 1
            name = f"_{self._anonymous}"
        return Variable(name, span=self._span(children[0], children[0]))

    def skolem(self, children: list[Any]) -> Expression:
        name, _, *arguments, end = children
        if name[1].isupper():
            return self._unsupported(f"graph call {name}", name, end)
        call = Call(str(name), tuple(arguments), span=self._span(name, end))
        return Skolem(str(name[1:]), self._arguments(call), span=call.span)

    def list_(self, children: list[Any]) -> Collection:
        return Collection("list", tuple(children[1:-1]), span=self._span(children[0], children[-1]))

    def set_(self, children: list[Any]) -> Collection:
        return replace(self.list_(children), kind="set")


def _counts(call: Call) -> bool:
    return call.function in ("mcount", "count") and isinstance(call.arguments[0], Collection)


class _AllTokens:
    """Keep the terminals that no rule of the grammar mentions."""

    always_accept = ("LEFT_ARROW", "DOCUMENTATION", "UNCLOSED", "ILLEGAL")

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return stream


@cache
def grammar() -> tuple[Lark, Builder]:
    """Parser for ``grammars/vadalog.lark``, and the builder of its clauses; not thread-safe."""
    builder = Builder()
    return compiled(builder), builder


def compiled(builder: Builder) -> Lark:
    """Compile the grammar, or load its cached tables."""
    kept = caches.place("vadalog.grammar", __file__)
    return Lark(
        resource("grammars", "vadalog.lark").read_text(encoding="utf-8"),
        start="clause",
        parser="lalr",
        lexer="basic",
        maybe_placeholders=False,
        postlex=_AllTokens(),
        transformer=builder,
        cache=str(kept) if kept else False,
    )


def _impossible(year: int, month: int, day: int) -> str:
    """Report which part of a date is out of range."""
    if year < 1:
        return "years run from 0001 to 9999"
    if not 1 <= month <= 12:
        return "a date is written year-month-day, and months run from 01 to 12"
    last = monthrange(year, month)[1]
    if not 1 <= day <= last:
        return f"the days of {month_name[month]} {year} run from 01 to {last}"
    return "hours run from 00 to 23, minutes and seconds from 00 to 59"
