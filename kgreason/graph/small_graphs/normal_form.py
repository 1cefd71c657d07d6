"""Normal form of rules, from which plans are made: each variable is a vertex or a value with a range."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from kgreason.base.records import record
from kgreason.language.check.checked_program import (
    Aggregation,
    Assign,
    CheckedAtom,
    CheckedProgram,
    CheckedRule,
    Position,
    Step,
    Stratum,
)
from kgreason.language.check.expressions import names, rewrite
from kgreason.language.syntax.syntax_tree import Binary, Constant, Expression, Term, Unary, Variable

WHOLE = 2.0**53  # below it, doubles represent integers exactly
GREATEST = 1e300  # far below overflow of doubles
_ENDS: Mapping[str, Callable[[float, float], float]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
}


class Unfit(Exception):
    """Rules that cannot be compiled to a plan; the message gives the reason."""


@record
class Range:
    """Least and greatest value of an expression, and whether its values are integers."""

    low: float
    high: float
    whole: bool = False


def range_of(node: Expression, ranges: Mapping[str, Range]) -> Range:
    """Range of an arithmetic expression; `Unfit` if its evaluation may fail or overflow.

    Examples
    --------
    >>> range_of(Binary("-", Constant(1), Variable("W")), {"W": Range(0.0, 0.25)})
    Range(low=0.75, high=1.0, whole=False)
    """
    match node:
        case Variable(name) if name in ranges:
            return ranges[name]
        case Constant(value) if isinstance(value, int | float) and not isinstance(value, bool):
            return _within(float(value), float(value), isinstance(value, int), node)
        case Unary("-", operand):
            return range_of(Binary("-", Constant(0), operand), ranges)
        case Binary(operator, left, right) if operator in _ENDS:
            a, b = range_of(left, ranges), range_of(right, ranges)
            whole = a.whole and b.whole and operator != "/"
            if operator == "/" and b.low <= 0 <= b.high:
                raise Unfit(f"`{node}` perhaps divides by zero")
            ends = [_ENDS[operator](x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
            return _within(min(ends), max(ends), whole, node)
    raise Unfit(f"`{node}` is more than arithmetic")


def _within(low: float, high: float, whole: bool, node: Expression) -> Range:
    if not (-GREATEST < low <= high < GREATEST) or (whole and max(-low, high) >= WHOLE):
        raise Unfit(f"`{node}` may become too large")
    return Range(low, high, whole)


def _conjuncts(node: Expression) -> Iterator[Expression]:
    if isinstance(node, Binary) and node.operator == "&&":
        yield from _conjuncts(node.left)
        yield from _conjuncts(node.right)
    else:
        yield node


@record
class Atom:
    """An atom over vertices; `value` is its last argument if that is not a vertex."""

    predicate: str
    vertices: tuple[str, ...]
    value: str | None = None


def project(program: CheckedProgram) -> CheckedProgram:
    """Replace each negated atom that has variables of its own by a new predicate without these variables."""
    made: list[CheckedRule] = []

    def changed(rule: CheckedRule) -> CheckedRule:
        negatives = tuple(_projected(atom, rule, made) for atom in rule.negatives)
        return replace(rule, negatives=negatives) if rule.negatives else rule

    strata: list[Stratum] = []
    for stratum in program.strata:
        before = len(made)
        rules = tuple(map(changed, stratum.rules))
        strata += [Stratum(frozenset({r.head.predicate}), (r,), recursive=False) for r in made[before:]]
        strata.append(stratum._replace(rules=rules))
    arities = {r.head.predicate: len(r.head.terms) for r in made}
    return replace(program, strata=tuple(strata), arities={**program.arities, **arities})


def _projected(atom: CheckedAtom, rule: CheckedRule, made: list[CheckedRule]) -> CheckedAtom:
    bound = {v for a in rule.positives for v in a.variables}
    bound |= {step.variable for step in rule.before if isinstance(step, Assign)}
    known = tuple(Variable(name) for name in atom.variables if name in bound)
    if len(known) == len(atom.terms):
        return atom
    head = CheckedAtom(f"#any{len(made)} of {atom.predicate}", known, atom.span)
    made.append(CheckedRule(head, (atom,), (), (), None, (), rule.text, rule.span))
    return head


class NormalRule:
    """A rule with vertex and value variables separated; `Unfit` if a plan cannot express it.

    The value of each atom is a separate variable; a negated atom has none. Contributors of the aggregate are vertices
    that are not in its group.
    """

    def __init__(self, rule: CheckedRule, arities: Mapping[str, int], positions: frozenset[Position]) -> None:
        self.arities, self.positions, self.text = arities, positions, rule.text
        self.aliases: dict[str, Expression] = {}
        self.vertices: set[str] = set()
        self.values: set[str] = set()
        self.same: list[tuple[str, str, bool]] = []  # vertices that must be equal (True) or different (False)
        self.conditions: list[Expression] = []  # further conditions before the aggregate
        self.after: list[Expression] = []  # conditions on the aggregate
        self.positives = [self._positive(atom) for atom in rule.positives]
        self._steps(rule.before, "")
        self.aggregation = self._aggregation(rule.aggregation) if rule.aggregation else None
        self._steps(rule.after, self.aggregation.variable if self.aggregation else "")
        self.negatives = [self._negative(atom) for atom in rule.negatives]
        self.head = self._head(rule.head)

    def _width(self, predicate: str) -> int:
        """Number of vertices in a fact of a predicate; one value may follow them."""
        is_vertex = [(predicate, i) in self.positions for i in range(self.arities[predicate])]
        width = sum(is_vertex)
        if width > 2 or len(is_vertex) - width > 1 or not all(is_vertex[:width]):
            raise Unfit(f"`{predicate}` has other arguments than up to two vertices and one value")
        return width

    def _fresh(self, name: str) -> str:
        return f"{name}'{len(self.vertices) + len(self.values)}"

    def _positive(self, atom: CheckedAtom) -> Atom:
        width = self._width(atom.predicate)
        ends: list[str] = []
        for term in atom.terms[:width]:
            if not isinstance(term, Variable):
                raise _no_vertex(term)
            name = term.name
            if name in ends:
                self.same.append((name, twin := self._fresh(name), True))
                name = twin
            self.vertices.add(name)
            ends.append(name)
        value = None
        for term in atom.terms[width:]:
            value = term.name if isinstance(term, Variable) else ""
            if not value or value in self.values:
                value = self._fresh("value")
                self.conditions.append(Binary("==", Variable(value), term))
            self.values.add(value)
        return Atom(atom.predicate, tuple(ends), value)

    def _negative(self, atom: CheckedAtom) -> Atom:
        width = self._width(atom.predicate)
        if len(atom.terms) > width:
            raise Unfit(f"`not {atom}` is about a value")
        return Atom(atom.predicate, tuple(self._vertex(term) for term in atom.terms))

    def _steps(self, steps: Sequence[Step], aggregated: str) -> None:
        for step in steps:
            expression = self._resolved(step.expression)
            if isinstance(step, Assign):
                self.aliases[step.variable] = expression
                continue
            for condition in _conjuncts(expression):
                ends = self._two_vertices(condition)
                if ends:
                    self.same.append(ends)
                elif aggregated and aggregated in names(condition):
                    self.after.append(condition)
                else:
                    self.conditions.append(condition)

    def _aggregation(self, total: Aggregation) -> Aggregation:
        group = tuple(dict.fromkeys(self._vertex(Variable(name)) for name in total.group))
        contributors = dict.fromkeys(self._vertex(Variable(name)) for name in total.contributors)
        return replace(
            total,
            argument=total.argument and self._resolved(total.argument),
            group=group,
            contributors=tuple(name for name in contributors if name not in group),
        )

    def _head(self, head: CheckedAtom) -> Atom:
        width = self._width(head.predicate)
        ends = tuple(self._vertex(term) for term in head.terms[:width])
        for term in head.terms[width:]:
            if self.aggregation is None or term != Variable(self.aggregation.variable):
                raise Unfit(f"`{head}` holds a value that is no aggregate")
            return Atom(head.predicate, ends, self.aggregation.variable)
        return Atom(head.predicate, ends)

    def _resolved(self, expression: Expression) -> Expression:
        """Expression with assigned variables substituted."""
        return rewrite(expression, lambda n: self.aliases.get(n.name, n) if isinstance(n, Variable) else n)

    def _vertex(self, term: Term) -> str:
        found = self._resolved(term)
        if isinstance(found, Variable) and found.name in self.vertices:
            return found.name
        raise _no_vertex(found)

    def _two_vertices(self, node: Expression) -> tuple[str, str, bool] | None:
        match node:
            case Binary("==" | "!=", Variable(a), Variable(b)) if {a, b} <= self.vertices:
                return (a, b, node.operator == "==")
        return None


def _no_vertex(term: Expression) -> Unfit:
    return Unfit(f"{term} is where only vertices can be")
