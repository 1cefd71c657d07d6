"""Affected positions: argument positions that can hold labelled nulls, and variables bound to nulls only.

A position is affected if some rule invents a null there, or propagates to it a variable that occurs in affected
positions of the body only; so are the columns of inputs that may hold nulls.

References
----------
A. Calì, G. Gottlob, M. Kifer: Taming the Infinite Chase: Query Answering under Expressive Relational Constraints.
JAIR 48, 2013, section 3 (affected positions).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import NamedTuple

from kgreason.language.check.checked_program import (
    Assign,
    Bind,
    CheckedAtom,
    CheckedRule,
    Filter,
    Position,
    Query,
    Step,
    positions_of,
)
from kgreason.language.check.expressions import walk
from kgreason.language.functions import plain_name
from kgreason.language.syntax.syntax_tree import (
    Binary,
    Call,
    Collection,
    Constant,
    Expression,
    Skolem,
    Variable,
)
from kgreason.language.vocabulary import ORDERS

_PASSING = frozenset({"min", "max", "mmin", "mmax", "set", "list", "union", "munion"})


class Flow(NamedTuple):
    """Possible values of a head position: values of `variables` or their elements, or nulls of this rule.

    The `keys` are body variables that are arguments of an explicit Skolem term there.
    """

    variables: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    invented: bool = False

    def __or__(self, other: Flow) -> Flow:
        return Flow(self.variables | other.variables, self.keys | other.keys, self.invented or other.invented)


class WrittenRule(NamedTuple):
    """A rule as written, with all its heads, for the analysis of nulls.

    Variables that an equation of the body makes equal are represented by one of them. `occurrences` are the positions
    of each variable in the positive atoms, `proper` the variables that cannot be nulls where the body holds.
    """

    rules: tuple[CheckedRule, ...]
    same: Mapping[str, str]
    occurrences: Mapping[str, tuple[Position, ...]]
    proper: frozenset[str]
    flows: Mapping[Position, Flow]

    @property
    def first(self) -> CheckedRule:
        """One of the rules: all have the same body."""
        return self.rules[0]

    def variables(self, atom: CheckedAtom) -> frozenset[str]:
        """Variables of a body atom."""
        return frozenset(self.same.get(v, v) for v in atom.variables)

    def harmful(self, affected: Iterable[Position]) -> frozenset[str]:
        """Variables that can be bound only to nulls, or to values in positions of nulls."""
        found = self.occurrences.items()
        return frozenset(v for v, at in found if v not in self.proper and all(p in affected for p in at))


@dataclass(eq=False, repr=False)
class _Reader:
    """Data flow through the steps of one body."""

    rule: CheckedRule
    same: dict[str, str] = field(default_factory=dict)
    proper: set[str] = field(default_factory=set)
    assigned: dict[str, Flow] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bound = {v for atom in self.rule.positives for v in atom.variables}
        self._assign(self.rule.before)
        aggregation = self.rule.aggregation
        if aggregation is not None and aggregation.argument is not None and aggregation.function in _PASSING:
            self.assigned[aggregation.variable] = self._flow(aggregation.argument)
        self._assign(self.rule.after)
        for step in self.rule.before:
            if isinstance(step, Filter):
                self._learn(step.expression)

    def _assign(self, steps: Iterable[Step]) -> None:
        for step in steps:  # in evaluation order: what a step uses is already known
            if isinstance(step, Assign):
                self.assigned[step.variable] = self._flow(step.expression)

    def name(self, variable: str) -> str:
        """Representative of the variables that are equal to it."""
        while variable in self.same:
            variable = self.same[variable]
        return variable

    def flow(self, expression: Expression) -> Flow:
        found = self._flow(expression)
        variables, keys = (frozenset(map(self.name, names)) for names in (found.variables, found.keys))
        return Flow(variables, keys, found.invented)

    def _flow(self, expression: Expression) -> Flow:
        match expression:
            case Variable(name):
                return Flow(frozenset({name})) if name in self.bound else self.assigned.get(name, Flow())
            case Skolem():
                inner = self._union(expression.arguments)
                return Flow(frozenset(), inner.variables | inner.keys, True)
            case Collection():
                return self._union(expression.elements)
            case Call(function, arguments) if plain_name(function) == "if":
                return self._union(arguments[1:])
            case Call(function, arguments) if plain_name(function) == "coalesce":
                return self._union(arguments)
            case Binary("+", left, right):  # of lists; a null itself cannot be added
                known = [e.value for e in (left, right) if isinstance(e, Constant)]
                return self._union((left, right)) if all(isinstance(v, tuple) for v in known) else Flow()
            case _:
                return Flow()

    def _union(self, expressions: Iterable[Expression]) -> Flow:
        return reduce(or_, map(self._flow, expressions), Flow())

    def _learn(self, condition: Expression) -> None:
        """Use a condition: equal variables are unified, and ordered ones cannot be nulls."""
        match condition:
            case Binary("&&", left, right):
                self._learn(left)
                self._learn(right)
            case Binary("==", left, right):
                self._equal(left, right)
                self._equal(right, left)
            case Binary(operator, left, right) if operator in ORDERS:
                self.proper.update(e.name for e in (left, right) if isinstance(e, Variable))
            case Call(function, (Variable(name),)) if plain_name(function) == "is_not_null":
                self.proper.add(name)

    def _equal(self, left: Expression, right: Expression) -> None:
        if not isinstance(left, Variable) or left.name not in self.bound:
            return
        flow = self._flow(right)
        if not flow.variables and not flow.invented:
            self.proper.add(left.name)
        elif isinstance(right, Variable) and right.name in self.bound:
            one, other = self.name(left.name), self.name(right.name)
            if one != other:
                self.same[other] = one


def written(rules: Iterable[CheckedRule]) -> list[WrittenRule]:
    """Group the rules made from one rule as written, and analyse their data flow."""
    groups: dict[object, list[CheckedRule]] = {}
    for rule in rules:
        groups.setdefault(rule.number or id(rule), []).append(rule)
    return [_written(tuple(group)) for group in groups.values()]


def _written(rules: tuple[CheckedRule, ...]) -> WrittenRule:
    reader = _Reader(rules[0])
    occurrences: dict[str, list[Position]] = defaultdict(list)
    for position, variable in positions_of(rules[0].positives):
        occurrences[reader.name(variable.name)].append(position)
    flows: dict[Position, Flow] = {}
    for rule in rules:
        invented = {i.variable for i in rule.inventions}
        for i, term in enumerate(rule.head.terms if not hidden(rule) else ()):
            position = (rule.head.predicate, i)
            new = isinstance(term, Variable) and term.name in invented
            flow = Flow(invented=True) if new else reader.flow(term)
            flows[position] = flows.get(position, Flow()) | flow
    return WrittenRule(
        rules,
        {v: reader.name(v) for v in reader.same},
        {v: tuple(where) for v, where in occurrences.items()},
        frozenset(reader.name(v) for v in reader.proper),
        flows,
    )


def hidden(rule: CheckedRule) -> bool:
    """Whether a rule is an equality or a constraint; the analysis of nulls treats these as rules without a head."""
    return rule.head.predicate.startswith("#")


def invents(rule: CheckedRule) -> bool:
    """Whether a rule has existential variables or Skolem terms."""
    return bool(rule.inventions) or any(isinstance(e, Skolem) for s in rule.steps for e in walk(s.expression))


def nullable_inputs(sources: Iterable[Bind | Query], arities: Mapping[str, int]) -> frozenset[Position]:
    """Positions of inputs that are read with ``missing=null``."""
    return frozenset(
        (s.predicate, i)
        for s in sources
        if any(name.lower() == "missing" and value == "null" for name, value in s.options.items())
        for i in range(arities.get(s.predicate, 0))
    )


def affected_positions(
    rules: Iterable[WrittenRule], nullable: Iterable[Position]
) -> dict[Position, WrittenRule | None]:
    """Find all affected positions, each with the first rule found to make it affected (`None`: an input)."""
    rules = list(rules)
    affected: dict[Position, WrittenRule | None] = dict.fromkeys(nullable)
    size = -1
    while size < len(affected):  # rules are in evaluation order, so few rounds are needed
        size = len(affected)
        for rule in rules:
            harmful = rule.harmful(affected)
            for position, flow in rule.flows.items():
                if position not in affected and (flow.invented or flow.variables & harmful):
                    affected[position] = rule
    return affected
