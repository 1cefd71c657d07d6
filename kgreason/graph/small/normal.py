"""Rules in the form that plans are made of: variables are vertices or values, and each thing is said in one way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kgreason.analysis.checked import Aggregation, Assign, CheckedAtom, CheckedProgram, CheckedRule, Stratum
from kgreason.analysis.expressions import names, rewrite
from kgreason.analysis.generic import Position, vertex_positions
from kgreason.graph.small.expressions import Unfit, conjuncts
from kgreason.lang.ast import Binary, Constant, Expression, Term, Variable


@dataclass(frozen=True)
class Atom:
    """An atom over vertices; `value` is what stands at its last argument, if that is no vertex."""

    predicate: str
    vertices: tuple[str, ...]
    value: str | None = None


@dataclass(frozen=True)
class NormalRule:
    """A rule whose variables are told apart.

    Attributes
    ----------
    head, positives, negatives
        The value of each atom is a variable of its own; a negated atom has none.
    same
        Pairs of vertices that must be equal (True) or different (False).
    conditions
        What else must hold before the aggregate.
    aggregation, after
        The aggregate and the conditions on it; `contributors` are vertices that are not in the group.
    """

    head: Atom
    positives: tuple[Atom, ...]
    negatives: tuple[Atom, ...]
    same: tuple[tuple[str, str, bool], ...]
    conditions: tuple[Expression, ...]
    aggregation: Aggregation | None = None
    after: tuple[Expression, ...] = ()
    text: str = ""


def project(program: CheckedProgram) -> CheckedProgram:
    """Give each negated atom with variables that only it knows a predicate of its own, for the others."""
    made: list[CheckedRule] = []

    def changed(rule: CheckedRule) -> CheckedRule:
        negatives = tuple(_projected(atom, rule, made) for atom in rule.negatives)
        return replace(rule, negatives=negatives) if rule.negatives else rule

    strata: list[Stratum] = []
    for stratum in program.strata:
        before = len(made)
        rules = tuple(map(changed, stratum.rules))
        strata += [Stratum(frozenset({r.head.predicate}), (r,), recursive=False) for r in made[before:]]
        strata.append(replace(stratum, rules=rules))
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


class Normalizer:
    """Brings the rules of a program into normal form."""

    def __init__(self, program: CheckedProgram) -> None:
        self.program = program
        self.positions: frozenset[Position] = vertex_positions(program)

    def width(self, predicate: str) -> int:
        """Number of vertices in a fact of a predicate; one value may follow."""
        arity = self.program.arities[predicate]
        vertices = [(predicate, i) in self.positions for i in range(arity)]
        width = sum(vertices)
        if width > 2 or arity - width > 1 or not all(vertices[:width]):
            raise Unfit(f"`{predicate}` has other arguments than up to two vertices and one value")
        return width

    def rule(self, rule: CheckedRule) -> NormalRule:
        """Bring a rule into normal form.

        Raises
        ------
        Unfit
            If it does something that plans cannot do.
        """
        return _Draft(self, rule).normal()


class _Draft:
    """One rule on its way into normal form."""

    def __init__(self, all_: Normalizer, rule: CheckedRule) -> None:
        self.all, self.rule = all_, rule
        self.aliases: dict[str, Expression] = {}
        self.vertices: set[str] = set()
        self.values: set[str] = set()
        self.same: list[tuple[str, str, bool]] = []
        self.conditions: list[Expression] = []
        self.after: list[Expression] = []

    def normal(self) -> NormalRule:
        rule = self.rule
        positives = tuple(self.positive(atom) for atom in rule.positives)
        self.steps(rule.before, "")
        total = self.aggregation(rule.aggregation) if rule.aggregation else None
        self.steps(rule.after, total.variable if total else "")
        negatives = tuple(self.negative(atom) for atom in rule.negatives)
        head = self.head(total)
        return NormalRule(
            head,
            positives,
            negatives,
            tuple(self.same),
            tuple(self.conditions),
            total,
            tuple(self.after),
            rule.text,
        )

    def fresh(self, name: str) -> str:
        return f"{name}'{len(self.vertices) + len(self.values)}"

    def positive(self, atom: CheckedAtom) -> Atom:
        width = self.all.width(atom.predicate)
        ends: list[str] = []
        for term in atom.terms[:width]:
            name = self._variable(term)
            if name in ends:
                self.same.append((name, twin := self.fresh(name), True))
                name = twin
            self.vertices.add(name)
            ends.append(name)
        value = None
        for term in atom.terms[width:]:
            value = self._variable(term) if isinstance(term, Variable) else self.fresh("value")
            if value in self.values or isinstance(term, Constant):
                other: Term = term
                value = self.fresh("value")
                self.conditions.append(Binary("==", Variable(value), other))
            self.values.add(value)
        return Atom(atom.predicate, tuple(ends), value)

    def negative(self, atom: CheckedAtom) -> Atom:
        width = self.all.width(atom.predicate)
        if len(atom.terms) > width:
            raise Unfit(f"`not {atom}` is about a value")
        return Atom(atom.predicate, tuple(self.vertex(term) for term in atom.terms))

    def steps(self, steps: Sequence[object], aggregated: str) -> None:
        for step in steps:
            expression = self.resolved(step.expression)  # type: ignore[attr-defined]
            if isinstance(step, Assign):
                self.aliases[step.variable] = expression
                continue
            for condition in conjuncts(expression):
                ends = self._two_vertices(condition)
                if ends:
                    self.same.append(ends)
                elif aggregated and aggregated in names(condition):
                    self.after.append(condition)
                else:
                    self.conditions.append(condition)

    def aggregation(self, total: Aggregation) -> Aggregation:
        group = tuple(dict.fromkeys(self.vertex(Variable(name)) for name in total.group))
        contributors = dict.fromkeys(self.vertex(Variable(name)) for name in total.contributors)
        return replace(
            total,
            argument=total.argument and self.resolved(total.argument),
            group=group,
            contributors=tuple(name for name in contributors if name not in group),
        )

    def head(self, total: Aggregation | None) -> Atom:
        head = self.rule.head
        width = self.all.width(head.predicate)
        ends = tuple(self.vertex(term) for term in head.terms[:width])
        for term in head.terms[width:]:
            if total is None or term != Variable(total.variable):
                raise Unfit(f"`{head}` holds a value that is no aggregate")
            return Atom(head.predicate, ends, total.variable)
        return Atom(head.predicate, ends)

    def resolved(self, expression: Expression) -> Expression:
        """An expression without assigned variables."""
        return rewrite(expression, lambda n: self.aliases.get(n.name, n) if isinstance(n, Variable) else n)

    def vertex(self, term: Term) -> str:
        """Name of the vertex that a term is."""
        found = self.resolved(term)
        if isinstance(found, Variable) and found.name in self.vertices:
            return found.name
        raise Unfit(f"{found} stands where only vertices can")

    def _variable(self, term: Term) -> str:
        if isinstance(term, Variable):
            return term.name
        raise Unfit(f"{term} stands where only vertices can")

    def _two_vertices(self, node: Expression) -> tuple[str, str, bool] | None:
        match node:
            case Binary("==" | "!=", Variable(a), Variable(b)) if {a, b} <= self.vertices:
                return (a, b, node.operator == "==")
        return None
