"""Lift a program to many databases at once: every predicate gets the database as a further first argument."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from kgreason.analysis.checked import (
    Aggregation,
    CheckedAtom,
    CheckedProgram,
    CheckedRule,
    Filter,
    Keyed,
    Step,
    Stratum,
)
from kgreason.analysis.expressions import rewrite
from kgreason.lang.ast import Expression, Skolem, Variable


def lift(program: CheckedProgram, part: str = "part_") -> CheckedProgram:
    """Make a program that reasons on disjoint databases, its parts, in one run.

    Facts of different parts never meet: each atom of a rule has the same first argument. Facts written in the
    file hold in every part, and each null is of one part. Sources are dropped: the caller supplies the facts,
    those of `part` included.

    Parameters
    ----------
    program
        Any checked program.
    part
        Name of a unary predicate, not used in `program`, that lists the parts.

    Raises
    ------
    ValueError
        If the program uses `part`, or has equalities or constraints: those speak of all parts at once.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> lifted = lift(load_text("reach(X,Y) :- own(X,Y). root(1)."))
    >>> for rule in lifted.rules:
    ...     print(rule.head, rule.positives[0])
    root(Part, 1) part_(Part)
    reach(Part, X, Y) own(Part, X, Y)
    """
    if part in program.arities:
        raise ValueError(f"the program uses the predicate {part!r} itself")
    if program.unifications or program.denials:
        raise ValueError("a program with equalities or constraints cannot be lifted")
    facts = [_lift_fact(atom, part) for atom in program.facts]
    derived = program.heads
    given = {rule.head.predicate: None for rule in facts if rule.head.predicate not in derived}
    first = [
        Stratum(frozenset({p}), tuple(r for r in facts if r.head.predicate == p), recursive=False)
        for p in given
    ]
    strata = [_lift_stratum(stratum, facts, part) for stratum in program.strata]
    return replace(
        program,
        facts=(),
        strata=(*first, *strata),
        arities={p: arity + 1 for p, arity in program.arities.items()} | {part: 1},
        keyed={p: Keyed(k.position + 1, k.keep) for p, k in program.keyed.items()},
        binds=(),
        mappings=(),
    )


def _lift_fact(atom: CheckedAtom, part: str) -> CheckedRule:
    variable = Variable("Part")
    head = _lift_atom(atom, variable)
    return CheckedRule(head, (_part(part, variable, atom),), (), (), None, (), f"{atom}.", atom.span)


def _part(part: str, variable: Variable, near: CheckedAtom) -> CheckedAtom:
    return CheckedAtom(part, (variable,), near.span)


def _lift_atom(atom: CheckedAtom, variable: Variable) -> CheckedAtom:
    return replace(atom, terms=(variable, *atom.terms))


def _lift_stratum(stratum: Stratum, facts: list[CheckedRule], part: str) -> Stratum:
    own = [r for r in facts if r.head.predicate in stratum.predicates]
    return replace(stratum, rules=(*own, *(_lift_rule(r, part) for r in stratum.rules)))


def _lift_rule(rule: CheckedRule, part: str) -> CheckedRule:
    variable = Variable(_fresh(rule))
    positives = tuple(_lift_atom(a, variable) for a in rule.positives)
    return replace(
        rule,
        head=_lift_atom(rule.head, variable),
        positives=positives or (_part(part, variable, rule.head),),
        negatives=tuple(_lift_atom(a, variable) for a in rule.negatives),
        before=tuple(_lift_step(s, variable) for s in rule.before),
        after=tuple(_lift_step(s, variable) for s in rule.after),
        aggregation=rule.aggregation and _lift_aggregation(rule.aggregation, variable),
        inventions=tuple(replace(i, frontier=(variable.name, *i.frontier)) for i in rule.inventions),
    )


def _lift_step(step: Step, variable: Variable) -> Step:
    return replace(step, expression=_lift_nulls(step.expression, variable))


def _lift_nulls(expression: Expression, variable: Variable) -> Expression:
    """Give each Skolem term the part as a further argument."""
    return rewrite(
        expression,
        lambda n: replace(n, arguments=(variable, *n.arguments)) if isinstance(n, Skolem) else n,
    )


def _lift_aggregation(aggregation: Aggregation, variable: Variable) -> Aggregation:
    argument = aggregation.argument and _lift_nulls(aggregation.argument, variable)
    return replace(aggregation, argument=argument, group=(variable.name, *aggregation.group))


def _fresh(rule: CheckedRule) -> str:
    """A variable that the rule does not use."""
    steps = rule.steps
    used = set(chain.from_iterable(a.variables for a in rule.atoms))
    used |= {step.variable for step in (*steps, *rule.inventions) if not isinstance(step, Filter)}
    if rule.aggregation:
        used.add(rule.aggregation.variable)
    name = "Part"
    while name in used:
        name += "_"
    return name
