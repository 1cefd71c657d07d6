"""Which positions and variables hold doubles: integers that come there become doubles."""

from __future__ import annotations

from collections.abc import Iterable

from kgreason.analysis.checked import MONOTONIC, Aggregation, Assign, CheckedProgram, CheckedRule
from kgreason.lang.ast import Binary, Call, Constant, Expression, Term, Unary, Variable
from kgreason.lang.functions import signature
from kgreason.lang.values import Value

Position = tuple[str, int]


def double_positions(
    program: CheckedProgram, given: Iterable[tuple[str, tuple[Value, ...]]]
) -> set[Position]:
    """Positions (predicate, index) where a double can ever come to stand."""
    doubles = {(p, i) for p, row in given for i, value in enumerate(row) if isinstance(value, float)}
    size = -1
    while size != len(doubles):
        size = len(doubles)
        for rule in program.rules:
            names = double_variables(rule, doubles)
            for atom in (rule.head, *rule.positives, *rule.negatives):
                doubles |= {(atom.predicate, i) for i, t in enumerate(atom.terms) if _term(t, names)}
    return doubles


def double_variables(rule: CheckedRule, doubles: set[Position]) -> set[str]:
    """Variables of a rule that hold doubles."""
    names = {
        term.name
        for atom in (*rule.positives, *rule.negatives)
        for i, term in enumerate(atom.terms)
        if isinstance(term, Variable) and (atom.predicate, i) in doubles
    }
    for step in (*rule.before, rule.aggregation, *rule.after):
        if isinstance(step, Assign) and is_double(step.expression, names):
            names.add(step.variable)
        if isinstance(step, Aggregation) and _is_double_total(step, names):
            names.add(step.variable)
    return names


def plain(function: str) -> str:
    """Name of the total: ``msum`` is a sum.

    Examples
    --------
    >>> plain("msum"), plain("median")
    ('sum', 'median')
    """
    return function[1:] if function in MONOTONIC else function


def _term(term: Term, names: set[str]) -> bool:
    return term.name in names if isinstance(term, Variable) else isinstance(term.value, float)


def _is_double_total(aggregation: Aggregation, names: set[str]) -> bool:
    name = plain(aggregation.function)
    if aggregation.argument is None or name in ("count", "set", "list", "union"):
        return False
    return name in ("avg", "median") or is_double(aggregation.argument, names)


def is_double(node: Expression, names: set[str]) -> bool:
    """Whether an expression gives doubles, if numbers at all."""
    match node:
        case Constant():
            return isinstance(node.value, float)
        case Variable():
            return node.name in names
        case Unary("-", operand):
            return is_double(operand, names)
        case Binary(name, left, right) if name in "+-*/%":
            return is_double(left, names) or is_double(right, names)
        case Call(function, arguments):
            described = signature(function, len(arguments))
            if described is None or described.result != "join":
                return described is not None and described.result == "double"
            joined = described.joined or range(len(arguments))
            return any(is_double(arguments[i], names) for i in joined)
    return False
