"""Which labelled nulls can come to stand where, by the functions that make them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

import numpy as np

from kgreason.analysis.checked import Aggregation, Assign, CheckedProgram, CheckedRule
from kgreason.engine.table import Facts, Kind
from kgreason.lang.ast import Call, Expression, Skolem, Variable
from kgreason.lang.functions import signature
from kgreason.lang.values import Null
from kgreason.plan.ir import plain

Position = tuple[str, int]

MADE = -1
"""``(function, MADE)`` stands for all the nulls of a function, as if they were at a position."""

Origins = Mapping[Position, Collection[Position]]


def null_origins(program: CheckedProgram, facts: Facts) -> Origins:
    """Where the nulls of each position come from: functions, and groups of columns of the data that share nulls."""
    held: defaultdict[Position, set[Position]] = defaultdict(set)
    for position, origin in _given(facts).items():
        held[position].add(origin)
    size = -1
    while size != sum(map(len, held.values())):
        size = sum(map(len, held.values()))
        for rule in program.rules:
            names = _variables(rule, held)
            for i, term in enumerate(rule.head.terms):
                if isinstance(term, Variable) and term.name in names:
                    held[rule.head.predicate, i] |= names[term.name]
    return held


def _given(facts: Facts) -> dict[Position, Position]:
    """For each column of the data that holds nulls, what stands for them: the same where columns share one."""
    origins: dict[Position, Position] = {}
    first: dict[int, Position] = {}  # where each null stands first
    for predicate, table in facts.tables.items():
        for i, (kind, column) in enumerate(zip(table.kinds, table.columns, strict=True)):
            codes = np.unique(column).tolist() if kind is Kind.ANY else []
            nulls = [c for c in codes if isinstance(facts.symbols.value(c), Null)]
            if nulls:
                here = origins[predicate, i] = (predicate, MADE - 1 - i)
                shared = {origins[first.setdefault(null, (predicate, i))] for null in nulls}
                origins.update({p: here for p, origin in origins.items() if origin in shared})
    return origins


def _variables(rule: CheckedRule, held: Origins) -> dict[str, set[Position]]:
    """Origins of the nulls that the variables of a rule can stand for."""
    names: defaultdict[str, set[Position]] = defaultdict(set)
    for atom in rule.positives:
        for i, term in enumerate(atom.terms):
            if isinstance(term, Variable):
                names[term.name].update(held.get((atom.predicate, i), ()))
    for step in (*rule.before, rule.aggregation, *rule.after):
        if isinstance(step, Assign):
            names[step.variable] |= _of(step.expression, names)
        if isinstance(step, Aggregation) and step.argument is not None and plain(step) in ("min", "max"):
            names[step.variable] |= _of(step.argument, names)
    for invention in rule.inventions:
        names[invention.variable].add((invention.function, MADE))
    return names


def _of(node: Expression, names: Mapping[str, set[Position]]) -> set[Position]:
    match node:
        case Variable():
            return names.get(node.name, set())
        case Skolem():
            return {(f"#{node.function}", MADE)}
        case Call():
            given = signature(node.function, len(node.arguments))
            if given is not None and given.result in ("join", "any"):
                joined = given.joined or range(len(node.arguments))
                return {origin for i in joined for origin in _of(node.arguments[i], names)}
    return set()
