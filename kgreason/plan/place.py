"""Pass: negations and comparisons as soon as their variables are bound."""

from __future__ import annotations

from collections.abc import Iterator

from kgreason.lang.ast import Aggregate as AggregateCall
from kgreason.lang.ast import Binary, Call, Constant, Expression, Unary, Unsupported, Variable
from kgreason.plan.ir import Aggregate, AntiJoin, Assign, Filter, Join, Line, Operator, Scan

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
LOGIC = frozenset({"&&", "||"})


def variables(expression: Expression) -> Iterator[str]:
    """Names of the variables of an expression."""
    match expression:
        case Variable():
            yield expression.name
        case Unary():
            yield from variables(expression.operand)
        case Binary():
            yield from variables(expression.left)
            yield from variables(expression.right)
        case Call():
            for argument in expression.arguments:
                yield from variables(argument)
        case AggregateCall() | Constant() | Unsupported():
            pass


def total(expression: Expression) -> bool:
    """Whether an expression has a value for every binding: arithmetic may overflow or divide by zero."""
    match expression:
        case Variable() | Constant():
            return True
        case Unary():
            return expression.operator == "!" and total(expression.operand)
        case Binary():
            simple = expression.operator in COMPARISONS or expression.operator in LOGIC
            return simple and total(expression.left) and total(expression.right)
    return False


def place_early(line: Line) -> Line:
    """Move what only drops bindings, and cannot fail, to where its variables are first bound.

    What can fail stays behind all atoms, so that it meets only bindings of the whole body.
    """
    cut = next((i for i, o in enumerate(line.operators) if isinstance(o, Aggregate)), len(line.operators) - 1)
    body, rest = line.operators[:cut], line.operators[cut:]
    waiting: list[tuple[set[str], Operator]] = []
    fixed: list[Operator] = []
    bound: set[str] = set()
    for operator in body:
        if isinstance(operator, AntiJoin):
            waiting.append((bound & set(operator.atom.variables), operator))
        elif isinstance(operator, Filter) and total(operator.expression):
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
    """Variables that are bound by an operator."""
    if isinstance(operator, Scan | Join):
        return set(operator.atom.variables)
    if isinstance(operator, Assign):
        return {operator.variable}
    if isinstance(operator, Aggregate):
        return {operator.aggregation.variable}
    return set()
