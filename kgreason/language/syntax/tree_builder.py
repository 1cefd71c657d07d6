"""Builder of syntax trees: callbacks of the grammar's rules, one for each name in the grammar."""

# ruff: noqa: D102  (the grammar says what each callback gets)

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from lark import Lark, Token

from kgreason.base import caches
from kgreason.base.errors import Span
from kgreason.base.resources import resource
from kgreason.language.syntax.literals import Literals
from kgreason.language.syntax.syntax_tree import (
    Aggregate,
    Annotation,
    Atom,
    Binary,
    BodyItem,
    Call,
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
    Unsupported,
    UnsupportedClause,
    Variable,
)
from kgreason.language.syntax.syntax_tree import Clause as ClauseNode
from kgreason.language.vocabulary import AGGREGATES, FUNCTIONS, meant, suggest


@dataclass(frozen=True, slots=True)
class _Contributors:
    variables: tuple[Variable, ...]
    span: Span


class Builder(Literals):
    """Builder of the nodes of each clause; `found` collects diagnostics."""

    def _unsupported(self, feature: str, first: Any, last: Any) -> Unsupported:
        span = self._span(first, last)
        self.unread = True
        return Unsupported(feature, self._source(span), span=span)

    # Clauses

    def annotations(self, children: list[Any]) -> list[ClauseNode]:
        return children[:-1]

    def fact(self, children: list[Any]) -> list[ClauseNode]:
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

    def rule(self, children: list[Any]) -> list[ClauseNode]:
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
                f"`{self._source(special.span)}` must stand alone in its head",
                special.span,
                note="a head is one or more atoms, or one equality `X = Y`, or `#F`",
                hint="write a second clause with the same body",
            )
            return before
        match special:
            case Equation(Variable() as left, Variable() as right):
                return [*before, Equality(left, right, items, documentation, span=span)]
        return [*before, Constraint(items, documentation, span=span)]

    def _refused(self, head: list[Any], end: Token) -> list[ClauseNode] | None:
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
                        f"`{argument.value}` cannot stand in an annotation",
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
            f"contributors `{self._source(argument.span)}` stand outside of an aggregate",
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
        if len(plain) == len(call.arguments) == 3 or (len(plain) == 2 and call.function not in FUNCTIONS):
            return self._older_form(call)
        return None

    def _older_form(self, call: Call) -> Aggregate | None:
        """``msum(X, [K], [C])``: group and contributors as lists, or one of them; also ``mcount([K], [C])``."""
        argument: Expression | None = call.arguments[0]
        lists = call.arguments[1:]
        if len(lists) < 2 and _counts(call):
            argument, lists = None, call.arguments
        names: list[tuple[Variable, ...]] = []
        for given in lists:
            if not isinstance(given, Collection) or given.kind != "list":
                return None
            names.append(tuple(e for e in given.elements if isinstance(e, Variable)))
            if len(names[-1]) < len(given.elements):
                return None
        told = names[1] if len(names) == 2 else None
        return Aggregate(call.function, argument, told, groups=names[0], span=call.span)

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
    """Whether a count begins with a list, of its group or of its contributors."""
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
