"""Variables of kind ANY whose numbers are doubles: as for DOUBLE, integers are converted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

import numpy as np

from kgreason.engine.plan.ir import plain
from kgreason.engine.relations.fact_tables import Facts, Kind
from kgreason.engine.relations.symbols import Codes
from kgreason.language.check.checked_program import (
    Aggregation,
    Assign,
    CheckedAtom,
    CheckedProgram,
    CheckedRule,
)
from kgreason.language.check.expressions import walk
from kgreason.language.functions import signature
from kgreason.language.syntax.syntax_tree import (
    Binary,
    Call,
    Constant,
    Expression,
    Skolem,
    Term,
    Unary,
    Variable,
)
from kgreason.language.values import Null
from kgreason.language.vocabulary import ARITHMETIC

Position = tuple[str, int]

MADE = -1  # ``(function, MADE)`` stands for all nulls of a function, as if they were at a position

Origins = Mapping[Position, Collection[Position]]


def _null_origins(program: CheckedProgram, facts: Facts) -> Origins:
    """Origins of the nulls at each position: functions, and groups of data columns that share nulls."""
    held: defaultdict[Position, set[Position]] = defaultdict(set)
    for position, origin in _data_origins(facts).items():
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


def _data_origins(facts: Facts) -> dict[Position, Position]:
    """For each data column with nulls, a representative position; columns that share a null have the same one."""
    origins: dict[Position, Position] = {}
    first: dict[int, Position] = {}  # first position of each null
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
    """Origins of the nulls that the variables of a rule can hold."""
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


class VariableKinds(dict[str, Kind]):
    """Kinds of the variables of a rule; the numbers of variables in `doubles` are doubles."""

    def __init__(self, kinds: Mapping[str, Kind], doubles: frozenset[str]) -> None:
        super().__init__(kinds)
        self.doubles = doubles


def double_positions(
    program: CheckedProgram, facts: Facts, known: Collection[Position], more: Collection[Position] = ()
) -> set[Position]:
    """Positions that can hold a double, and functions ``(function, MADE)`` whose nulls can become one.

    Facts can reach the `known` positions; rules without facts do not affect others. `more` are positions that hold
    doubles because of rules or facts that are not passed here.
    """
    found = set(more).intersection(known)
    found |= {
        (predicate, i)
        for predicate, table in facts.tables.items()
        for i, (kind, data) in enumerate(zip(table.kinds, table.columns, strict=True))
        if kind is Kind.DOUBLE or (kind is Kind.ANY and _holds_double(data, facts))
    }
    found.update(_positions(program.facts, frozenset()))
    origins = _null_origins(program, facts) if program.unifications else {}
    size = -1
    while size != len(found):
        size = len(found)
        for rule in program.rules:
            names = double_variables(rule, found)
            spread = _positions((rule.head, *rule.positives, *rule.negatives), names)
            found.update(position for position in spread if position in known)
        for unification in program.unifications:
            sides = [(unification.predicate, i) for i in range(2)]
            equated = {*sides, *(origin for side in sides for origin in origins.get(side, ()))}
            if not equated.isdisjoint(found):
                found |= equated
        found.update(position for position, nulls in origins.items() if not found.isdisjoint(nulls))
    return found


def double_variables(rule: CheckedRule, positions: Collection[Position]) -> frozenset[str]:
    """Variables of a rule that can hold doubles, and functions of its Skolem terms that can become doubles."""
    functions = {
        f"#{node.function}"
        for step in (*rule.before, *rule.after)
        for node in walk(step.expression)
        if isinstance(node, Skolem)
    }
    names = {f for f in functions if (f, MADE) in positions}
    names |= {
        term.name
        for atom in (*rule.positives, *rule.negatives)
        for i, term in enumerate(atom.terms)
        if isinstance(term, Variable) and (atom.predicate, i) in positions
    }
    for step in (*rule.before, rule.aggregation, *rule.after):
        if (isinstance(step, Assign) and gives_double(step.expression, names)) or (
            isinstance(step, Aggregation) and _total(step, names)
        ):
            names.add(step.variable)
    return frozenset(names)


def gives_double(node: Expression, names: Collection[str]) -> bool:
    """Whether the numeric values of an expression are doubles, if those of the variables `names` are."""
    match node:
        case Constant() | Variable():
            return _term(node, names)
        case Skolem():
            return f"#{node.function}" in names
        case Unary("-"):
            return gives_double(node.operand, names)
        case Binary("/"):
            return True
        case Binary(operator) if operator in ARITHMETIC:
            return gives_double(node.left, names) or gives_double(node.right, names)
        case Call():
            given = signature(node.function, len(node.arguments))
            if given is None or given.result != "join":
                return given is not None and given.result == "double"
            joined = given.joined or range(len(node.arguments))
            return any(gives_double(node.arguments[i], names) for i in joined)
    return False


def _positions(atoms: Collection[CheckedAtom], names: frozenset[str]) -> set[Position]:
    return {(a.predicate, i) for a in atoms for i, term in enumerate(a.terms) if _term(term, names)}


def _term(term: Term, names: Collection[str]) -> bool:
    return term.name in names if isinstance(term, Variable) else isinstance(term.value, float)


def _total(aggregation: Aggregation, names: Collection[str]) -> bool:
    name = plain(aggregation)
    if aggregation.argument is None or name in ("count", "set", "list", "union"):
        return False
    return name in ("avg", "median") or gives_double(aggregation.argument, names)


def _holds_double(data: Codes, facts: Facts) -> bool:
    return any(isinstance(v, float) for v in facts.symbols.values(np.unique(data).tolist()))
