"""Optimizer passes: selection pushdown and column pruning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kgreason.engine.plan.ir import AntiJoin, Invent, Join, Line, Operator, Project, plain
from kgreason.engine.relations.kinds import Kind
from kgreason.language.check.checked_program import Aggregation, Assign, Filter
from kgreason.language.check.expressions import LOGIC, ORDERS
from kgreason.language.check.expressions import variables as occurrences
from kgreason.language.functions import plain_name
from kgreason.language.syntax.syntax_tree import Binary, Call, Constant, Expression, Unary, Variable

EQUALITIES = frozenset({"==", "!=", "<>"})
TESTS = frozenset({"is_null", "is_not_null"})


def variables(expression: Expression) -> tuple[str, ...]:
    """Names of the variables of an expression, without duplicates, in order.

    Examples
    --------
    >>> variables(Binary("+", Variable("X"), Binary("*", Variable("Y"), Variable("X"))))
    ('X', 'Y')
    """
    return tuple(dict.fromkeys(variable.name for variable in occurrences(expression)))


def total(expression: Expression, kinds: Mapping[str, Kind]) -> bool:
    """Whether an expression has a value for every binding, without creating nulls.

    Arithmetic and most functions may fail, and so may an ordering of values of unknown types. Nulls may
    be created only for bindings of the whole body.

    Examples
    --------
    >>> smaller = Binary("<", Variable("X"), Constant(1))
    >>> total(smaller, {"X": Kind.INT}), total(smaller, {"X": Kind.ANY})
    (True, False)
    """
    match expression:
        case Constant():
            return True
        case Variable():
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


def place_early(line: Line, kinds: Mapping[str, Kind]) -> Line:
    """Push filters that cannot fail, and anti-joins, to where their variables are first bound.

    Filters that can fail remain behind all atoms, so that they are evaluated only for bindings of the whole
    body.
    """
    cut = next(
        (i for i, o in enumerate(line.operators) if isinstance(o, Aggregation)), len(line.operators) - 1
    )
    body, rest = line.operators[:cut], line.operators[cut:]
    waiting: list[tuple[set[str], Operator]] = []
    fixed: list[Operator] = []
    bound: set[str] = set()
    for operator in body:
        if isinstance(operator, AntiJoin):
            waiting.append((bound & set(operator.atom.variables), operator))
        elif isinstance(operator, Filter) and _condition(operator.expression, kinds):
            waiting.append((set(variables(operator.expression)), operator))
        else:
            fixed.append(operator)
            bound |= binds(operator)
    placed: list[Operator] = []
    bound = set()
    placed += [o for needs, o in waiting if not needs]
    waiting = [(needs, o) for needs, o in waiting if needs]
    for operator in fixed:
        placed.append(operator)
        bound |= binds(operator)
        placed += [o for needs, o in waiting if needs <= bound]
        waiting = [(needs, o) for needs, o in waiting if not needs <= bound]
    return Line((*placed, *rest))


def binds(operator: Operator) -> set[str]:
    """Variables bound by an operator."""
    match operator:
        case Join():
            return set(operator.atom.variables)
        case Assign() | Aggregation():
            return {operator.variable}
        case Invent():
            return {invention.variable for invention in operator.inventions}
    return set()


def prune_columns(line: Line, _kinds: Mapping[str, Kind]) -> Line:
    """Fill in `columns` of every join, in the order required by the following operators."""
    bound: list[set[str]] = []
    seen: set[str] = set()
    for operator in line.operators:
        bound.append(set(seen))
        seen |= binds(operator)
    pruned: list[Operator] = []
    live: tuple[str, ...] = ()
    for operator, before in zip(reversed(line.operators), reversed(bound), strict=True):
        pruned.append(replace(operator, columns=live) if isinstance(operator, Join) else operator)
        behind = () if isinstance(operator, Aggregation) else live
        wanted = dict.fromkeys((*behind, *_uses(operator)))
        live = tuple(v for v in wanted if v in before)
    return Line(tuple(reversed(pruned)))


def inputs(aggregation: Aggregation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Group variables, and variables that distinguish the contributions of a group.

    A minimum or maximum needs no contributors.
    """
    if plain(aggregation) in ("min", "max"):
        return aggregation.group, ()
    group = set(aggregation.group)
    return aggregation.group, tuple(v for v in dict.fromkeys(aggregation.contributors) if v not in group)


def _uses(operator: Operator) -> tuple[str, ...]:
    match operator:
        case Join() | AntiJoin() | Project():
            return operator.atom.variables
        case Filter() | Assign():
            return variables(operator.expression)
        case Invent(inventions):
            return tuple(v for invention in inventions for v in invention.frontier)
        case Aggregation():
            group, contributors = inputs(operator)
            argument = () if operator.argument is None else variables(operator.argument)
            return (*group, *contributors, *argument)
