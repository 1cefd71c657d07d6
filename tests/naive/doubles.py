"""Which positions and variables hold doubles: integers that come there become doubles."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from kgreason.language.check.checked_program import Aggregation, Assign, CheckedProgram, CheckedRule
from kgreason.language.functions import signature
from kgreason.language.syntax.syntax_tree import (
    Binary,
    Call,
    Collection,
    Constant,
    Expression,
    Skolem,
    Term,
    Unary,
    Variable,
)
from kgreason.language.values import Null, Value
from kgreason.language.vocabulary import MONOTONIC

Position = tuple[str, int]
Origins = dict[Position, set[Position]]

NULL = -1
"""``(function, NULL)`` stands for all nulls of a function, ``(label, NULL)`` for one of the data."""


def double_positions(
    program: CheckedProgram, given: Iterable[tuple[str, tuple[Value, ...]]]
) -> set[Position]:
    """Positions (predicate, index) where a double can ever come to stand.

    Besides ``(function, NULL)`` where the nulls of a function can become doubles. What cannot hold any value is left
    out: nothing follows from it for other positions.
    """
    rows = list(given)
    doubles = {(p, i) for p, row in rows for i, value in enumerate(row) if isinstance(value, float)}
    filled = {(p, i) for p, row in rows for i in range(len(row))}
    origins: Origins = {}
    for p, row in rows:
        for i, value in enumerate(row):
            if isinstance(value, Null):
                origins.setdefault((p, i), set()).add((str(value), NULL))
    columns = list(origins.values())
    for column, other in itertools.product(columns * len(columns), columns):
        if column & other:  # nulls of one column, and of those that share one, belong together
            column |= other
            other |= column
    grown = -1
    while grown != (grown := len(filled) + sum(map(len, origins.values()))):
        for rule in program.rules:
            _fill(rule, filled, origins)
    size = -1
    while size != len(doubles):
        size = len(doubles)
        for rule in program.rules:
            names = double_variables(rule, doubles)
            for atom in (rule.head, *rule.positives, *rule.negatives):
                spread = {(atom.predicate, i) for i, t in enumerate(atom.terms) if _term(t, names)}
                doubles |= spread & filled
        for unification in program.unifications:
            sides = {(unification.predicate, 0), (unification.predicate, 1)}
            sides = sides.union(*(origins.get(side, ()) for side in sides))
            doubles |= sides if sides & doubles else set()
        doubles |= {position for position, found in origins.items() if found & doubles}
    return doubles


def _fill(rule: CheckedRule, filled: set[Position], origins: Origins) -> None:
    """Which positions of the head hold values, and nulls from where."""
    known: dict[str, set[Position]] = {}
    for atom in (*rule.positives, *rule.negatives):
        for i, term in enumerate(atom.terms):
            if isinstance(term, Variable) and (atom.predicate, i) in filled:
                known.setdefault(term.name, set()).update(origins.get((atom.predicate, i), ()))
    for step in (*rule.before, rule.aggregation, *rule.after):
        if isinstance(step, Assign):
            used = _variables(step.expression)
            if not used or used & known.keys():
                known[step.variable] = _nulls_of(step.expression, known)
        elif isinstance(step, Aggregation):
            least = plain(step.function) in ("min", "max") and step.argument is not None
            known[step.variable] = _nulls_of(step.argument, known) if least else set()
    for invention in rule.inventions:
        known[invention.variable] = {(invention.function, NULL)}
    for i, term in enumerate(rule.head.terms):
        if not isinstance(term, Variable) or term.name in known:
            filled.add((rule.head.predicate, i))
        if isinstance(term, Variable):
            origins.setdefault((rule.head.predicate, i), set()).update(known.get(term.name, ()))


def _variables(node: Any) -> set[str]:
    match node:
        case Variable(name):
            return {name}
        case Unary(_, operand):
            return _variables(operand)
        case Binary(_, left, right):
            return _variables(left) | _variables(right)
        case Call(_, parts) | Skolem(_, parts) | Collection(_, parts):
            return set().union(*map(_variables, parts))
    return set()


def _nulls_of(node: Any, known: Mapping[str, set[Position]]) -> set[Position]:
    """Where the nulls come from that an expression can give."""
    match node:
        case Variable(name):
            return known.get(name, set())
        case Skolem(function):
            return {(f"#{function}", NULL)}
        case Call(function, arguments):
            described = signature(function, len(arguments))
            if described is not None and described.result in ("join", "any"):
                joined = described.joined or range(len(arguments))
                return set().union(*(_nulls_of(arguments[i], known) for i in joined))
    return set()


def _functions(node: Any) -> set[str]:
    """Functions of the Skolem terms in an expression."""
    match node:
        case Skolem(function, parts):
            return {f"#{function}"}.union(*map(_functions, parts))
        case Unary(_, operand):
            return _functions(operand)
        case Binary(_, left, right):
            return _functions(left) | _functions(right)
        case Call(_, parts) | Collection(_, parts):
            return set().union(*map(_functions, parts))
    return set()


def double_variables(rule: CheckedRule, doubles: set[Position]) -> set[str]:
    """Variables of a rule that hold doubles, and functions of Skolem terms in it that become doubles."""
    names = {
        term.name
        for atom in (*rule.positives, *rule.negatives)
        for i, term in enumerate(atom.terms)
        if isinstance(term, Variable) and (atom.predicate, i) in doubles
    }
    for filtered in (*rule.before, *rule.after):
        names |= {f for f in _functions(filtered.expression) if (f, NULL) in doubles}
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
        case Skolem(function):
            return f"#{function}" in names
        case Unary("-", operand):
            return is_double(operand, names)
        case Binary("/"):
            return True
        case Binary(name, left, right) if name in "+-*%":
            return is_double(left, names) or is_double(right, names)
        case Call(function, arguments):
            described = signature(function, len(arguments))
            if described is None or described.result != "join":
                return described is not None and described.result == "double"
            joined = described.joined or range(len(arguments))
            return any(is_double(arguments[i], names) for i in joined)
    return False
