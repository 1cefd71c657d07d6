"""The slow oracle: the rules carried out word by word on sets of Python tuples.

It shares nothing with the fast engine but the checked program. Every round evaluates every rule on all facts;
nothing is indexed, ordered or remembered between rounds but the facts themselves.
"""

from __future__ import annotations

import math
import operator
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from kgreason.analysis.checked import (
    MONOTONIC,
    Aggregation,
    Assign,
    CheckedAtom,
    CheckedProgram,
    CheckedRule,
    Keyed,
    Step,
    Stratum,
)
from kgreason.errors import EvaluationError
from kgreason.lang.ast import (
    Aggregate,
    Binary,
    Call,
    Constant,
    Expression,
    Unary,
    Unsupported,
    Variable,
)
from kgreason.lang.values import Value

Row = tuple[Value, ...]
Binding = dict[str, Value]
Relation = dict[Row, Row]
"""Facts by their key: the fact itself or, for a keyed predicate, the fact without its aggregated position."""

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
}
ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": lambda a, b: math.nan if math.isinf(a) else math.fmod(a, b),
}
TOTALS: Mapping[str, Callable[[list[Any]], Any]] = {
    "sum": lambda values: _exact_sum(values) if isinstance(values[0], float) else sum(values),
    "prod": lambda values: _exact_product(values) if isinstance(values[0], float) else math.prod(values),
    "count": len,
    "min": min,
    "max": max,
    "avg": lambda values: _exact_sum(values) / len(values),
    "median": lambda values: float(statistics.median(values)),
}
FLOORS = {"msum": 0, "mprod": 1}
"""Least contributions with which a total in recursion can only grow."""
COUNTS = frozenset({"mcount", "count"})


def evaluate(
    program: CheckedProgram,
    facts: Mapping[str, Iterable[tuple[Value, ...]]],
    *,
    rounds: int = 100_000,
    growth: float = 1e-12,
) -> dict[str, set[Row]]:
    """Derive all facts of a program.

    Parameters
    ----------
    facts
        Rows of the input predicates. A position where a double can come to stand holds doubles only.
    rounds
        Most rounds that a stratum may take.
    growth
        A double of a keyed predicate that improves by at most this fraction does not count as a change.

    Returns
    -------
    dict
        All facts, derived or given, of every predicate.

    Raises
    ------
    EvaluationError
        On overflow of integers and of doubles, division by zero, a negative contribution to a recursive
        ``msum`` (one below 1 to ``mprod``), and when `rounds` do not suffice.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> program = load_text("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z).")
    >>> sorted(evaluate(program, {"e": [(1, 2), (2, 3)]})["t"])
    [(1, 2), (1, 3), (2, 3)]
    """
    given = [(p, tuple(row)) for p, rows in facts.items() for row in rows]
    given += [(a.predicate, tuple(_constant(t) for t in a.terms)) for a in program.facts]
    database = _Database(program, _double_positions(program, given), growth)
    for predicate, row in given:
        database.insert(predicate, row)
    for stratum in program.strata:
        _fixpoint(stratum, database, rounds)
    return {p: set(relation.values()) for p, relation in database.relations.items()}


def _exact_sum(values: list[Any]) -> float:
    """Round once; `math.fsum` does so too, unless it overflows on the way."""
    if not all(map(math.isfinite, values)):
        return math.nan
    try:
        return math.fsum(values)
    except OverflowError:
        return _rounded(sum(map(Fraction, values)))


def _exact_product(values: list[float]) -> float:
    """Round once, so that the order of the factors does not matter."""
    if not all(map(math.isfinite, values)):
        return math.nan
    return _rounded(math.prod(map(Fraction, values)))


def _rounded(exact: Fraction | int) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf


class _Database:
    """The facts so far; doubles stand at positions of doubles, and one value under each key."""

    def __init__(self, program: CheckedProgram, doubles: set[tuple[str, int]], growth: float) -> None:
        self.relations: dict[str, Relation] = {p: {} for p in program.arities}
        self.keyed = program.keyed
        self.doubles = doubles
        self.growth = growth

    def rows(self, predicate: str) -> Iterable[Row]:
        return self.relations[predicate].values()

    def insert(self, predicate: str, row: Row) -> bool:
        """Add a fact, with 0.0 for -0.0; tell whether anything changed."""
        row = tuple(float(v) + 0.0 if (predicate, i) in self.doubles else v for i, v in enumerate(row))
        relation = self.relations.setdefault(predicate, {})
        keyed = self.keyed.get(predicate)
        key = row if keyed is None else row[: keyed.position] + row[keyed.position + 1 :]
        old = relation.get(key)
        if old is not None and (keyed is None or not _better(row, old, keyed)):
            return False
        relation[key] = row
        return old is None or keyed is None or self._grown(old[keyed.position], row[keyed.position])

    def _grown(self, old: Any, new: Any) -> bool:
        return not isinstance(new, float) or abs(new - old) > self.growth * abs(old)


def _better(new: Row, old: Row, keyed: Keyed) -> bool:
    a: Any = new[keyed.position]
    b: Any = old[keyed.position]
    return bool(a > b if keyed.keep == "greatest" else a < b)


def _fixpoint(stratum: Stratum, database: _Database, rounds: int) -> None:
    """Carry out all rules on all facts until a round changes nothing."""
    changed: list[tuple[CheckedRule, Row]] = []
    for _ in range(rounds + 1):
        derived = [(rule, row) for rule in stratum.rules for row in _consequences(rule, stratum, database)]
        changed = [(rule, row) for rule, row in derived if database.insert(rule.head.predicate, row)]
        if not changed:
            return
    rule, row = changed[0]
    raise EvaluationError(
        f"values still change after {rounds} rounds, for instance {rule.head.predicate}{row}",
        rule.text,
        rule.span,
        "bound the values that grow in the recursion",
    )


def _consequences(rule: CheckedRule, stratum: Stratum, database: _Database) -> Iterator[Row]:
    """Head facts of a rule."""
    doubles = _double_variables(rule, database.doubles)
    bindings = _body(rule, database, doubles)
    if rule.aggregation is not None:
        recursive = any(atom.predicate in stratum.predicates for atom in rule.positives)
        groups = _aggregate(rule, rule.aggregation, bindings, recursive)
        bindings = (b for group in groups for b in _steps(rule.after, group, rule, doubles))
    for binding in bindings:
        yield tuple(binding[t.name] if isinstance(t, Variable) else t.value for t in rule.head.terms)


def _body(rule: CheckedRule, database: _Database, doubles: set[str]) -> Iterator[Binding]:
    """Bindings of the rule's body before aggregation."""
    assigned = {step.variable for step in rule.before if isinstance(step, Assign)}
    late = [a for a in rule.negatives if assigned & set(a.variables)]
    early = [a for a in rule.negatives if a not in late]
    for match in _join(rule.positives, {}, database):
        if not any(_holds(atom, match, database) for atom in early):
            for binding in _steps(rule.before, match, rule, doubles):
                if not any(_holds(atom, binding, database) for atom in late):
                    yield binding


def _join(atoms: Sequence[CheckedAtom], binding: Binding, database: _Database) -> Iterator[Binding]:
    if not atoms:
        yield binding
        return
    for row in database.rows(atoms[0].predicate):
        extended = _unify(atoms[0], row, binding)
        if extended is not None:
            yield from _join(atoms[1:], extended, database)


def _holds(atom: CheckedAtom, binding: Binding, database: _Database) -> bool:
    """Whether some fact fits; unbound variables are existential."""
    return any(_unify(atom, row, binding) is not None for row in database.rows(atom.predicate))


def _unify(atom: CheckedAtom, row: Row, binding: Binding) -> Binding | None:
    """Extend the binding so that the atom becomes the fact."""
    result = dict(binding)
    for term, value in zip(atom.terms, row, strict=True):
        if isinstance(term, Variable):
            if result.setdefault(term.name, value) != value:
                return None
        elif term.value != value:
            return None
    return result


def _steps(steps: Sequence[Step], start: Binding, rule: CheckedRule, doubles: set[str]) -> Iterator[Binding]:
    """The binding with its assignments, or nothing if a condition fails."""
    result = dict(start)
    for step in steps:
        value = _value(step.expression, result, rule)
        if isinstance(step, Assign):
            result[step.variable] = float(value) if step.variable in doubles else value
        elif not value:
            return
    yield result


def _aggregate(
    rule: CheckedRule, aggregation: Aggregation, bindings: Iterable[Binding], recursive: bool
) -> Iterator[Binding]:
    """One binding for each group: its variables and the aggregated one."""
    groups: dict[Row, dict[Row, Any]] = {}
    name = aggregation.function[1:] if aggregation.function in MONOTONIC else aggregation.function
    keep = min if name == "min" else max
    for binding in bindings:
        contributor = tuple(binding[v] for v in aggregation.contributors)
        value: Any = 1
        if name != "count" and aggregation.argument is not None:
            value = _value(aggregation.argument, binding, rule)
        if recursive and value < FLOORS.get(aggregation.function, value):
            raise _error(f"contribution {value} to {aggregation.function} in recursion", binding, rule)
        best = groups.setdefault(tuple(binding[v] for v in aggregation.group), {})
        best[contributor] = keep(best.get(contributor, value), value)
    for group, contributions in groups.items():
        known = dict(zip(aggregation.group, group, strict=True))
        total = TOTALS[name](list(contributions.values()))
        yield {**known, aggregation.variable: _checked(total, known, rule)}


def _value(node: Expression, binding: Binding, rule: CheckedRule) -> Any:
    """Value of an expression."""
    match node:
        case Constant():
            return node.value
        case Variable():
            return binding[node.name]
        case Unary("-", operand):
            return _checked(-_value(operand, binding, rule), binding, rule)
        case Unary("!", operand):
            return not _value(operand, binding, rule)
        case Binary("&&", left, right):
            return _value(left, binding, rule) and _value(right, binding, rule)
        case Binary("||", left, right):
            return _value(left, binding, rule) or _value(right, binding, rule)
        case Binary(name, left, right):
            a, b = _value(left, binding, rule), _value(right, binding, rule)
            if name in COMPARISONS:
                return COMPARISONS[name](a, b)
            return _checked(_arithmetic(name, a, b, binding, rule), binding, rule)
        case Call() | Aggregate() | Unsupported() | Unary():
            raise AssertionError(f"the checker lets no {node} through")


def _arithmetic(name: str, a: Any, b: Any, binding: Binding, rule: CheckedRule) -> Any:
    if name in "/%" and b == 0:
        raise _error("division by zero", binding, rule)
    if name in "/%" and isinstance(a, int) and isinstance(b, int):  # toward zero; Python's // goes down
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if name == "/" else a - b * quotient
    return ARITHMETIC[name](a, b)


def _checked(value: Any, binding: Binding, rule: CheckedRule) -> Any:
    """Refuse integers beyond 64 bits, doubles that are not finite and what is no number; -0.0 is 0.0."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _error("not a number" if math.isnan(value) else "double overflow", binding, rule)
        return value + 0.0
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise _error("integer overflow", binding, rule)
    return value


def _error(message: str, binding: Binding, rule: CheckedRule) -> EvaluationError:
    where = ", ".join(f"{name} = {value!r}" for name, value in binding.items())
    return EvaluationError(f"{message}, with {where}" if where else message, rule.text, rule.span)


def _constant(term: Any) -> Value:
    assert isinstance(term, Constant)
    return term.value


def _double_positions(program: CheckedProgram, given: Iterable[tuple[str, Row]]) -> set[tuple[str, int]]:
    """Positions (predicate, index) of doubles: those where a double can ever come to stand."""
    doubles = {(p, i) for p, row in given for i, value in enumerate(row) if isinstance(value, float)}
    size = -1
    while size != len(doubles):
        size = len(doubles)
        for rule in program.rules:
            names = _double_variables(rule, doubles)
            for atom in (rule.head, *rule.positives, *rule.negatives):
                doubles |= {(atom.predicate, i) for i, t in enumerate(atom.terms) if _is_double(t, names)}
    return doubles


def _double_variables(rule: CheckedRule, doubles: set[tuple[str, int]]) -> set[str]:
    names = {
        term.name
        for atom in (*rule.positives, *rule.negatives)
        for i, term in enumerate(atom.terms)
        if isinstance(term, Variable) and (atom.predicate, i) in doubles
    }
    for step in (*rule.before, rule.aggregation, *rule.after):
        if isinstance(step, Assign) and _is_double(step.expression, names):
            names.add(step.variable)
        if isinstance(step, Aggregation) and _is_double_total(step, names):
            names.add(step.variable)
    return names


def _is_double_total(aggregation: Aggregation, names: set[str]) -> bool:
    if aggregation.argument is None or aggregation.function in COUNTS:
        return False
    return aggregation.function in ("avg", "median") or _is_double(aggregation.argument, names)


def _is_double(node: Expression, names: set[str]) -> bool:
    match node:
        case Constant():
            return isinstance(node.value, float)
        case Variable():
            return node.name in names
        case Unary("-", operand):
            return _is_double(operand, names)
        case Binary(name, left, right) if name in ARITHMETIC:
            return _is_double(left, names) or _is_double(right, names)
    return False
