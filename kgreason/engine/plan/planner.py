"""Planner: compiles a checked program to a plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from kgreason.engine.plan.ir import (
    UNKNOWN,
    AntiJoin,
    Invent,
    Join,
    Line,
    Operator,
    Part,
    Plan,
    Project,
    RulePlan,
    Steps,
    StratumPlan,
)
from kgreason.engine.plan.placement import place_early, prune_columns
from kgreason.engine.plan.separable_strata import separable
from kgreason.engine.plan.static_kinds import Kinds
from kgreason.engine.relations.kinds import Kind
from kgreason.language.check.checked_program import Assign, CheckedProgram, CheckedRule, Stratum
from kgreason.language.syntax.syntax_tree import Constant


def variants(rule: CheckedRule, recursive: Collection[str], keyed: Collection[str]) -> list[tuple[Part, ...]]:
    """Part that each positive atom reads, for each semi-naive variant of a rule.

    A rule without recursive atoms has one variant, which reads all facts. Facts of `keyed` predicates change
    in place, so that they are never read as stable.
    """
    here = [i for i, atom in enumerate(rule.positives) if atom.predicate in recursive]
    if not here:
        return [(Part.ALL,) * len(rule.positives)]

    def part(i: int, recent: int) -> Part:
        if i == recent:
            return Part.RECENT
        stable = i in here and i < recent and rule.positives[i].predicate not in keyed
        return Part.STABLE if stable else Part.ALL

    return [tuple(part(i, recent) for i in range(len(rule.positives))) for recent in here]


def _order_atoms(line: Line, _kinds: Mapping[str, Kind]) -> Line:
    """Pass: greedy join order, from recent facts or else the smallest relation to atoms with most bound terms."""
    atoms = [o for o in line.operators if isinstance(o, Join)]
    rest = [o for o in line.operators if not isinstance(o, Join)]
    bound: set[str] = set()
    ordered: list[Operator] = []
    while atoms:
        rank = _next if ordered else _first
        best = min(atoms, key=lambda atom: rank(atom, bound))
        atoms.remove(best)
        bound.update(best.atom.variables)
        ordered.append(best)
    return Line((*ordered, *rest))


def _first(operator: Join, _bound: set[str]) -> tuple[int, ...]:
    constants = sum(isinstance(t, Constant) for t in operator.atom.terms)
    return (operator.part is not Part.RECENT, -constants, operator.size)


def _next(operator: Join, bound: set[str]) -> tuple[int, ...]:
    terms = operator.atom.terms
    free = sum(not isinstance(t, Constant) and t.name not in bound for t in terms)
    apart = free == len(terms) and free > 0  # a cross product
    return (free > 0, apart, free, operator.size)


PASSES: tuple[Callable[[Line, Mapping[str, Kind]], Line], ...] = (
    _order_atoms,  # join order
    place_early,  # selection pushdown
    prune_columns,  # column pruning
)


def compile_program(program: CheckedProgram, kinds: Kinds, sizes: Mapping[str, int]) -> Plan:
    """Plan all rules that can fire.

    Parameters
    ----------
    kinds
        Kinds of all positions and variables; rules that read a predicate without facts have none and are
        omitted.
    sizes
        Number of facts of the predicates without rules.
    """
    strata = tuple(_stratum(s, program, kinds, sizes) for s in program.strata)
    return Plan(strata, kinds.tables(), kinds.double_positions)


def _stratum(
    stratum: Stratum, program: CheckedProgram, kinds: Kinds, sizes: Mapping[str, int]
) -> StratumPlan:
    keyed = program.keyed
    recursive = stratum.predicates if stratum.recursive else frozenset()
    rules = tuple(
        compile_rule(rule, recursive, keyed, variables, sizes)
        for rule in stratum.rules
        if (variables := kinds.of_rule(rule)) is not None
    )
    inventive = any(rule.recursive and _invents(rule.rule) for rule in rules)
    apart = None if inventive else separable(stratum, keyed, program.arities, kinds)
    if apart is not None:
        apart = replace(apart, steps=tuple(_found(steps, keyed, kinds, sizes) for steps in apart.steps))
    return StratumPlan(stratum.predicates, rules, stratum.recursive, inventive, apart)


def _found(steps: Steps, keyed: Collection[str], kinds: Kinds, sizes: Mapping[str, int]) -> Steps:
    """Add the operators that compute the steps."""
    known = kinds.of_rule(steps.rule)
    if steps.body is None or known is None:
        return steps
    return replace(steps, line=compile_rule(steps.body, (), keyed, known, sizes).lines[0])


def compile_rule(
    rule: CheckedRule,
    recursive: Collection[str],
    keyed: Collection[str],
    kinds: Mapping[str, Kind],
    sizes: Mapping[str, int],
) -> RulePlan:
    """Plan one rule; `recursive` are the predicates of its stratum."""
    lines = []
    for parts in variants(rule, recursive, keyed):
        line = lower(rule, parts, sizes)
        for rewrite in PASSES:
            line = rewrite(line, kinds)
        lines.append(line)
    recurs = any(atom.predicate in recursive for atom in rule.positives)
    return RulePlan(rule, tuple(lines), kinds, recurs)


def lower(rule: CheckedRule, parts: tuple[Part, ...], sizes: Mapping[str, int]) -> Line:
    """Operators in the order of `CheckedRule`."""
    atoms: list[Operator] = [
        Join(atom, part, sizes.get(atom.predicate, UNKNOWN))
        for atom, part in zip(rule.positives, parts, strict=True)
    ]
    assigned = {step.variable for step in rule.before if isinstance(step, Assign)}
    late = [atom for atom in rule.negatives if assigned & set(atom.variables)]
    early = [atom for atom in rule.negatives if atom not in late]
    body = [*atoms, *map(AntiJoin, early), *rule.before, *map(AntiJoin, late)]
    if rule.aggregation is not None:
        body.append(rule.aggregation)
    body += rule.after
    if rule.inventions:
        body.append(Invent(rule.inventions))
    return Line((*body, Project(rule.head)))


def _invents(rule: CheckedRule) -> bool:
    """Whether a rule can create values without bound; nulls are bounded by the chase."""
    made = {step.variable for step in (*rule.before, *rule.after) if isinstance(step, Assign)}
    if rule.aggregation is not None:
        made.add(rule.aggregation.variable)
    return bool(made & set(rule.head.variables))
