"""Planner: compiles a checked program to a plan, by greedy join order, selection pushdown and column pruning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from kgreason.engine.plan import ir
from kgreason.engine.plan.ir import inputs, variables
from kgreason.engine.plan.separable_strata import separable
from kgreason.engine.plan.static_kinds import Kinds
from kgreason.engine.relations.fact_tables import Kind
from kgreason.language.check.checked_program import (
    Aggregation,
    Assign,
    CheckedProgram,
    CheckedRule,
    Filter,
    Stratum,
)
from kgreason.language.functions import plain_name
from kgreason.language.syntax.syntax_tree import Binary, Call, Constant, Expression, Unary, Variable
from kgreason.language.vocabulary import LOGIC, ORDERS


def compile_program(program: CheckedProgram, kinds: Kinds, sizes: Mapping[str, int]) -> ir.Plan:
    """Plan all rules that can fire: those that read no predicate without facts.

    `sizes` are the numbers of facts of the predicates without rules.
    """
    strata = tuple(_stratum(s, program, kinds, sizes) for s in program.strata)
    return ir.Plan(strata, kinds.tables(), kinds.double_positions)


def _stratum(
    stratum: Stratum, program: CheckedProgram, kinds: Kinds, sizes: Mapping[str, int]
) -> ir.StratumPlan:
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
        apart = apart._replace(steps=tuple(_found(steps, keyed, kinds, sizes) for steps in apart.steps))
    return ir.StratumPlan(stratum.predicates, rules, stratum.recursive, inventive, apart)


def _found(steps: ir.Steps, keyed: Collection[str], kinds: Kinds, sizes: Mapping[str, int]) -> ir.Steps:
    """Add the operators that compute the steps."""
    known = kinds.of_rule(steps.rule)
    if steps.body is None or known is None:
        return steps
    return steps._replace(line=compile_rule(steps.body, (), keyed, known, sizes).lines[0])


def _invents(rule: CheckedRule) -> bool:
    """Whether a rule can create values without bound; nulls are bounded by the chase."""
    made = {step.variable for step in (*rule.before, *rule.after) if isinstance(step, Assign)}
    if rule.aggregation is not None:
        made.add(rule.aggregation.variable)
    return bool(made & set(rule.head.variables))


def compile_rule(
    rule: CheckedRule,
    recursive: Collection[str],
    keyed: Collection[str],
    kinds: Mapping[str, Kind],
    sizes: Mapping[str, int],
) -> ir.RulePlan:
    """Plan one rule; `recursive` are the predicates of its stratum."""
    lines = []
    for parts in variants(rule, recursive, keyed):
        line = lower(rule, parts, sizes)
        for rewrite in PASSES:
            line = rewrite(line, kinds)
        lines.append(line)
    recurs = any(atom.predicate in recursive for atom in rule.positives)
    return ir.RulePlan(rule, tuple(lines), kinds, recurs)


def variants(
    rule: CheckedRule, recursive: Collection[str], keyed: Collection[str]
) -> list[tuple[ir.Part, ...]]:
    """Part that each positive atom reads, for each semi-naive variant of a rule.

    A rule without recursive atoms has one variant, which reads all facts. Facts of `keyed` predicates change in place,
    so that they are never read as stable.
    """
    here = [i for i, atom in enumerate(rule.positives) if atom.predicate in recursive]
    if not here:
        return [(ir.Part.ALL,) * len(rule.positives)]

    def part(i: int, recent: int) -> ir.Part:
        if i == recent:
            return ir.Part.RECENT
        stable = i in here and i < recent and rule.positives[i].predicate not in keyed
        return ir.Part.STABLE if stable else ir.Part.ALL

    return [tuple(part(i, recent) for i in range(len(rule.positives))) for recent in here]


def lower(rule: CheckedRule, parts: tuple[ir.Part, ...], sizes: Mapping[str, int]) -> ir.Line:
    """Operators in the order of `CheckedRule`."""
    atoms: list[ir.Operator] = [
        ir.Join(atom, part, sizes.get(atom.predicate, ir.UNKNOWN))
        for atom, part in zip(rule.positives, parts, strict=True)
    ]
    assigned = {step.variable for step in rule.before if isinstance(step, Assign)}
    late = [atom for atom in rule.negatives if assigned & set(atom.variables)]
    early = [atom for atom in rule.negatives if atom not in late]
    body = [*atoms, *map(ir.AntiJoin, early), *rule.before, *map(ir.AntiJoin, late)]
    if rule.aggregation is not None:
        body.append(rule.aggregation)
    body += rule.after
    if rule.inventions:
        body.append(ir.Invent(rule.inventions))
    return ir.Line((*body, ir.Project(rule.head)))


def _order_atoms(line: ir.Line, _kinds: Mapping[str, Kind]) -> ir.Line:
    """Greedy join order: from recent facts or else the smallest relation to atoms with most bound terms."""
    atoms = [o for o in line.operators if isinstance(o, ir.Join)]
    rest = [o for o in line.operators if not isinstance(o, ir.Join)]
    bound: set[str] = set()
    ordered: list[ir.Operator] = []
    while atoms:
        rank = _next if ordered else _first
        best = min(atoms, key=lambda atom: rank(atom, bound))
        atoms.remove(best)
        bound.update(best.atom.variables)
        ordered.append(best)
    return ir.Line((*ordered, *rest))


def _first(operator: ir.Join, _bound: set[str]) -> tuple[int, ...]:
    constants = sum(isinstance(t, Constant) for t in operator.atom.terms)
    return (operator.part is not ir.Part.RECENT, -constants, operator.size)


def _next(operator: ir.Join, bound: set[str]) -> tuple[int, ...]:
    terms = operator.atom.terms
    free = sum(not isinstance(t, Constant) and t.name not in bound for t in terms)
    apart = free == len(terms) and free > 0  # a cross product
    return (free > 0, apart, free, operator.size)


EQUALITIES = frozenset({"==", "!=", "<>"})
TESTS = frozenset({"is_null", "is_not_null"})


def total(expression: Expression, kinds: Mapping[str, Kind]) -> bool:
    """Whether an expression has a value for every binding, without creating nulls.

    Arithmetic and most functions may fail, and so may an ordering of values of unknown types. Nulls may be created only
    for bindings of the whole body.

    Examples
    --------
    >>> smaller = Binary("<", Variable("X"), Constant(1))
    >>> total(smaller, {"X": Kind.INT}), total(smaller, {"X": Kind.ANY})
    (True, False)
    """
    match expression:
        case Constant() | Variable():
            return True
        case Unary():
            return expression.operator == "!" and _condition(expression.operand, kinds)
        case Binary():
            sides = (expression.left, expression.right)
            if expression.operator in LOGIC:
                return all(_condition(side, kinds) for side in sides)
            if expression.operator in ORDERS and any(_dynamic(side, kinds) for side in sides):
                return False
            known = expression.operator in EQUALITIES or expression.operator in ORDERS
            return known and all(total(side, kinds) for side in sides)
        case Call():
            return plain_name(expression.function) in TESTS and all(
                total(a, kinds) for a in expression.arguments
            )
    return False


def _condition(expression: Expression, kinds: Mapping[str, Kind]) -> bool:
    return not _dynamic(expression, kinds) and total(expression, kinds)


def _dynamic(expression: Expression, kinds: Mapping[str, Kind]) -> bool:
    """Whether the type is known only at run time."""
    return isinstance(expression, Variable) and kinds.get(expression.name) is Kind.ANY


def place_early(line: ir.Line, kinds: Mapping[str, Kind]) -> ir.Line:
    """Push filters that cannot fail, and anti-joins, to where their variables are first bound.

    Filters that can fail remain behind all atoms: they are evaluated only for bindings of the whole body.
    """
    cut = next(i for i, o in enumerate(line.operators) if isinstance(o, Aggregation | ir.Project))
    body, rest = line.operators[:cut], line.operators[cut:]
    waiting: list[tuple[set[str], ir.Operator]] = []
    fixed: list[ir.Operator] = []
    bound: set[str] = set()
    for operator in body:
        if isinstance(operator, ir.AntiJoin):
            waiting.append((bound & set(operator.atom.variables), operator))
        elif isinstance(operator, Filter) and _condition(operator.expression, kinds):
            waiting.append((set(variables(operator.expression)), operator))
        else:
            fixed.append(operator)
            bound |= binds(operator)
    placed = [o for needs, o in waiting if not needs]
    waiting = [(needs, o) for needs, o in waiting if needs]
    bound = set()
    for operator in fixed:
        placed.append(operator)
        bound |= binds(operator)
        placed += [o for needs, o in waiting if needs <= bound]
        waiting = [(needs, o) for needs, o in waiting if not needs <= bound]
    return ir.Line((*placed, *rest))


def binds(operator: ir.Operator) -> set[str]:
    """Variables bound by an operator."""
    match operator:
        case ir.Join():
            return set(operator.atom.variables)
        case Assign() | Aggregation():
            return {operator.variable}
        case ir.Invent():
            return {invention.variable for invention in operator.inventions}
    return set()


def prune_columns(line: ir.Line, _kinds: Mapping[str, Kind]) -> ir.Line:
    """Fill in `columns` of every join, in the order required by the following operators."""
    bound: list[set[str]] = []
    seen: set[str] = set()
    for operator in line.operators:
        bound.append(set(seen))
        seen |= binds(operator)
    pruned: list[ir.Operator] = []
    live: tuple[str, ...] = ()
    for operator, before in zip(reversed(line.operators), reversed(bound), strict=True):
        pruned.append(operator._replace(columns=live) if isinstance(operator, ir.Join) else operator)
        behind = () if isinstance(operator, Aggregation) else live
        wanted = dict.fromkeys((*behind, *_uses(operator)))
        live = tuple(v for v in wanted if v in before)
    return ir.Line(tuple(reversed(pruned)))


def _uses(operator: ir.Operator) -> tuple[str, ...]:
    match operator:
        case ir.Join() | ir.AntiJoin() | ir.Project():
            return operator.atom.variables
        case Filter() | Assign():
            return variables(operator.expression)
        case ir.Invent(inventions):
            return tuple(v for invention in inventions for v in invention.frontier)
        case Aggregation():
            group, contributors = inputs(operator)
            argument = () if operator.argument is None else variables(operator.argument)
            return (*group, *contributors, *argument)


PASSES: tuple[Callable[[ir.Line, Mapping[str, Kind]], ir.Line], ...] = (
    _order_atoms,  # join order
    place_early,  # selection pushdown
    prune_columns,  # column pruning
)
