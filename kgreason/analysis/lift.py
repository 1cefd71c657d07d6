"""Lift a program to many databases at once: every predicate gets the database as a further first argument."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kgreason.analysis.checked import CheckedAtom, CheckedProgram, CheckedRule, Filter, Keyed, Step, Stratum
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
    facts = [_lift_rule(CheckedRule(a, (), (), (), None, (), f"{a}.", a.span), part) for a in program.facts]
    derived = program.heads
    given = {rule.head.predicate: None for rule in facts if rule.head.predicate not in derived}
    first = [
        Stratum(frozenset({p}), tuple(r for r in facts if r.head.predicate == p), recursive=False)
        for p in given
    ]
    strata = [
        replace(
            stratum,
            rules=(
                *(r for r in facts if r.head.predicate in stratum.predicates),
                *(_lift_rule(r, part) for r in stratum.rules),
            ),
        )
        for stratum in program.strata
    ]
    return replace(
        program,
        facts=(),
        strata=(*first, *strata),
        arities={p: arity + 1 for p, arity in program.arities.items()} | {part: 1},
        keyed={p: Keyed(k.position + 1, k.keep) for p, k in program.keyed.items()},
        binds=(),
        mappings=(),
    )


def _lift_rule(rule: CheckedRule, part: str) -> CheckedRule:
    variable = Variable(_fresh(rule))

    def atoms(given: Iterable[CheckedAtom]) -> tuple[CheckedAtom, ...]:
        return tuple(replace(atom, terms=(variable, *atom.terms)) for atom in given)

    def nulls(expression: Expression) -> Expression:
        def more(node: Expression) -> Expression:
            return replace(node, arguments=(variable, *node.arguments)) if isinstance(node, Skolem) else node

        return rewrite(expression, more)

    def steps(given: Iterable[Step]) -> tuple[Step, ...]:
        return tuple(replace(step, expression=nulls(step.expression)) for step in given)

    total = rule.aggregation
    if total is not None:
        argument = total.argument and nulls(total.argument)
        total = replace(total, argument=argument, group=(variable.name, *total.group))
    return replace(
        rule,
        head=atoms([rule.head])[0],
        positives=atoms(rule.positives) or (CheckedAtom(part, (variable,), rule.head.span),),
        negatives=atoms(rule.negatives),
        before=steps(rule.before),
        after=steps(rule.after),
        aggregation=total,
        inventions=tuple(replace(i, frontier=(variable.name, *i.frontier)) for i in rule.inventions),
    )


def _fresh(rule: CheckedRule) -> str:
    used = {name for atom in rule.atoms for name in atom.variables}
    used |= {step.variable for step in (*rule.steps, *rule.inventions) if not isinstance(step, Filter)}
    if rule.aggregation:
        used.add(rule.aggregation.variable)
    name = "Part"
    while name in used:
        name += "_"
    return name
