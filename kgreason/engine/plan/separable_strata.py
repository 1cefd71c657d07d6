"""Detection of separable recursive strata, and factoring of joins.

In ``reach(X, Z) :- reach(X, Y), edge(Y, Z)`` the first argument of every fact is copied from the fact it is derived
from: each value of it is an independent problem, a walk over a graph whose steps ``(Y, Z)`` are the same for all
values.

A join with few results, because some of its variables are no longer needed, becomes a separate rule:
``p(V, O) :- load(V, P), p(P, A), q(A, O)`` with recursive p and q becomes ``j(V, A) :- load(V, P), p(P, A)`` and
``p(V, O) :- j(V, A), q(A, O)``. Each pair (V, A) is then joined with q once, for any number of values P, and new facts
of q are joined only with facts of p that are loaded.

References
----------
J. F. Naughton: Compiling separable recursions, SIGMOD 1988, §2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from kgreason.engine.plan.ir import Separable, Steps, variables
from kgreason.engine.plan.static_kinds import Kinds
from kgreason.engine.relations.fact_tables import Kind
from kgreason.language.check.checked_program import (
    Assign,
    CheckedAtom,
    CheckedProgram,
    CheckedRule,
    Filter,
    Stratum,
)
from kgreason.language.check.expressions import walk
from kgreason.language.syntax.syntax_tree import Binary, Call, Constant, Expression, Skolem, Variable
from kgreason.language.values import EXACT
from kgreason.language.vocabulary import MIRRORED

MOST = 4  # largest number of predicates of a stratum, because all choices of arguments are tried
SUMS = frozenset({"msum", "mcount"})


def separable(
    stratum: Stratum, keyed: Collection[str], arities: Mapping[str, int], kinds: Kinds
) -> Separable | None:
    """How a recursive stratum separates; `None` if it does not."""
    predicates = tuple(sorted(stratum.predicates))
    if (
        not stratum.recursive
        or len(predicates) > MOST
        or any(p in keyed or arities.get(p) != 2 for p in predicates)
    ):
        return None
    recursive = [
        rule
        for rule in stratum.rules
        if any(a.predicate in stratum.predicates for a in rule.positives) and kinds.of_rule(rule) is not None
    ]
    if len(predicates) == len(recursive) == 1 and doubling(recursive[0]):
        one = kinds.tables()[predicates[0]]
        doubled = Steps(recursive[0], *predicates, *predicates, None, (), None, doubling=True)
        return Separable(dict.fromkeys(predicates, 0), (doubled,)) if one[0] is one[1] else None
    for fixed in product((0, 1), repeat=len(predicates)):
        positions = dict(zip(predicates, fixed, strict=True))
        steps = [_steps(rule, positions, kinds) for rule in recursive]
        found = [s for s in steps if s is not None]
        summed = [s.head for s in found if s.bound is not None]
        if len(found) == len(steps) and len(summed) == len(set(summed)) and _one_kind(positions, kinds):
            return Separable(positions, tuple(found))
    return None


def doubling(rule: CheckedRule) -> bool:
    """Whether a rule is ``p(X, Z) :- p(X, Y), p(Y, Z)``: its closure is that of steps by facts of other rules."""
    more = rule.negatives or rule.before or rule.aggregation or rule.after or rule.inventions
    if more or [a.predicate for a in rule.positives] != 2 * [rule.head.predicate]:
        return False
    head, *body = (a.variables for a in (rule.head, *rule.positives))
    if any(len(ends) != 2 for ends in (head, *body)):
        return False
    return any(
        a[0] == head[0] and b[1] == head[1] and a[1] == b[0] and a[1] not in head
        for a, b in (body, body[::-1])
    )


def _one_kind(positions: Mapping[str, int], kinds: Kinds) -> bool:
    """Whether codes have the same meaning in all predicates."""
    tables = kinds.tables()
    pairs = {(tables[p][i], tables[p][1 - i]) for p, i in positions.items() if p in tables}
    return len(pairs) == 1


def _steps(rule: CheckedRule, positions: Mapping[str, int], kinds: Kinds) -> Steps | None:
    """Steps of a rule, if it keeps the value at the fixed positions."""
    recursive = [atom for atom in rule.positives if atom.predicate in positions]
    if len(recursive) != 1 or rule.inventions:
        return None
    (start,) = recursive
    rest = tuple(atom for atom in rule.positives if atom is not start)
    fixed, source = _split(start, positions)
    kept, target = _split(rule.head, positions)
    if fixed is None or source is None or target is None or fixed != kept or fixed in (source, target):
        return None
    bound = None
    wanted = [source, target]
    if rule.aggregation is not None:
        bound = _threshold(rule)
        if bound is None or set(rule.aggregation.group) != {fixed, target}:
            return None
        apart = [v for v in rule.aggregation.contributors if v not in (fixed, source, target)]
        if source not in rule.aggregation.contributors and source != target:
            return None
        argument = () if rule.aggregation.argument is None else variables(rule.aggregation.argument)
        wanted = list(dict.fromkeys((*wanted, *apart, *argument)))
    elif rule.after:
        return None
    if not rest and source == target and not (rule.negatives or rule.before or rule.aggregation):
        return Steps(rule, start.predicate, rule.head.predicate, None, (), None)
    if not _simple(rule, rest, wanted, fixed):
        return None
    terms = tuple(Variable(v) for v in wanted)
    body = replace(
        rule, head=CheckedAtom("#steps", terms, rule.head.span), positives=rest, aggregation=None, after=()
    )
    known = kinds.of_rule(rule)
    tables = kinds.tables()
    moving = tables[rule.head.predicate][1 - positions[rule.head.predicate]]
    if known is None or known[source] is not moving or known[target] is not moving:
        return None
    if bound is not None and not _number(rule, known):
        return None
    distinguishing = () if rule.aggregation is None else rule.aggregation.contributors
    contributors = tuple(v for v in wanted if v in distinguishing and v not in (source, target))
    return Steps(rule, start.predicate, rule.head.predicate, body, (source, target, *contributors), bound)


def _split(atom: CheckedAtom, positions: Mapping[str, int]) -> tuple[str | None, str | None]:
    """Variables at the fixed and at the moving position."""
    at = positions[atom.predicate]
    terms = (atom.terms[at], atom.terms[1 - at])
    fixed, moving = (t.name if isinstance(t, Variable) else None for t in terms)
    return fixed, moving


def _simple(rule: CheckedRule, rest: Sequence[CheckedAtom], wanted: Sequence[str], fixed: str) -> bool:
    """Whether the steps are at most as many as the facts of one atom, and can be computed without errors."""
    made = {step.variable for step in rule.before if isinstance(step, Assign)}
    expressions = [step.expression for step in rule.before]
    used = {v for atom in (*rest, *rule.negatives) for v in atom.variables}
    used.update(v for expression in expressions for v in variables(expression))
    if fixed in used or any(isinstance(node, Call | Skolem) for e in expressions for node in walk(e)):
        return False
    for main in rest:
        known = {*main.variables, *made}
        others = [atom for atom in rest if atom is not main]
        shared = [
            v
            for atom in others
            for v in atom.variables
            if v not in known and sum(v in other.variables for other in (*others, *rule.negatives)) > 1
        ]
        free = {v for atom in others for v in atom.variables} - known
        needed = {v for expression in expressions for v in variables(expression)}
        if known.issuperset(wanted) and not shared and not free & needed:
            return True
    return False


def _number(rule: CheckedRule, known: Mapping[str, Kind]) -> bool:
    """Whether the summed numbers are constants or values of facts with a static kind."""
    assert rule.aggregation is not None
    argument = rule.aggregation.argument
    if rule.aggregation.function == "mcount" or isinstance(argument, Constant):
        return True
    return isinstance(argument, Variable) and known[argument.name] in (Kind.INT, Kind.DOUBLE)


def _threshold(rule: CheckedRule) -> float | None:
    """Greatest double that does not pass the threshold of a total, if the rule has no other condition on it."""
    aggregation = rule.aggregation
    assert aggregation is not None
    if (
        aggregation.function not in SUMS
        or aggregation.variable in rule.head.variables
        or len(rule.after) != 1
    ):
        return None
    (step,) = rule.after
    return _bound(step.expression, aggregation.variable) if isinstance(step, Filter) else None


def _bound(expression: Expression, variable: str) -> float | None:
    if not isinstance(expression, Binary) or expression.operator not in MIRRORED:
        return None
    left, right, operator = expression.left, expression.right, expression.operator
    if isinstance(left, Constant):
        left, right, operator = right, left, MIRRORED[operator]
    if not isinstance(left, Variable) or left.name != variable or not isinstance(right, Constant):
        return None
    value = right.value
    if operator not in (">", ">=") or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if abs(value) > EXACT:
        return None
    return float(value) if operator == ">" else float(np.nextafter(float(value), -np.inf))


WIDTH = 2  # largest number of variables of a factored join; more would make it large


def factored(program: CheckedProgram) -> CheckedProgram:
    """Factor joins with few results into hidden predicates; the program derives the same facts in fewer steps."""
    if any(rule.inventions for rule in program.rules):
        return program  # the chase needs the rules as written
    joins: list[CheckedAtom] = []
    strata = tuple(_stratum(s, program.keyed, joins) if s.recursive else s for s in program.strata)
    arities = dict(program.arities) | {join.predicate: len(join.terms) for join in joins}
    return replace(program, strata=strata, arities=arities) if joins else program


def _stratum(stratum: Stratum, keyed: Collection[str], joins: list[CheckedAtom]) -> Stratum:
    rules: list[CheckedRule] = []
    before = len(joins)
    for rule in stratum.rules:
        recursive = [a for a in rule.positives if a.predicate in stratum.predicates]
        if len(recursive) == 2 and not any(a.predicate in keyed for a in (rule.head, *recursive)):
            rules += _without_join(rule, recursive, joins)
        else:
            rules.append(rule)
    hidden = frozenset(join.predicate for join in joins[before:])
    return stratum._replace(predicates=stratum.predicates | hidden, rules=tuple(rules))


def _without_join(
    rule: CheckedRule, recursive: Sequence[CheckedAtom], joins: list[CheckedAtom]
) -> list[CheckedRule]:
    """The rule, preceded by the rule of the factored join, if there is one."""
    others = [a for a in rule.positives if a not in recursive]
    for atom in recursive:
        partners = [a for a in others if set(a.variables) & set(atom.variables)]
        body = (atom, *partners)
        rest = tuple(a for a in rule.positives if a not in body)
        kept = sorted(_needed(rule, rest).intersection(v for a in body for v in a.variables))
        shared = {v for p in partners for v in p.variables if v in atom.variables}
        if 0 < len(kept) <= WIDTH and shared.difference(kept):
            head = CheckedAtom(f"#join{len(joins) + 1}", tuple(map(Variable, kept)), rule.head.span)
            joins.append(head)
            text = f"{head} :- {', '.join(map(str, body))}."
            join = replace(
                rule,
                head=head,
                positives=body,
                negatives=(),
                before=(),
                aggregation=None,
                after=(),
                text=text,
            )
            return [join, replace(rule, positives=(head, *rest))]
    return [rule]


def _needed(rule: CheckedRule, rest: Sequence[CheckedAtom]) -> set[str]:
    """Variables used outside the join."""
    found = {v for atom in (rule.head, *rest, *rule.negatives) for v in atom.variables}
    found.update(v for step in (*rule.before, *rule.after) for v in variables(step.expression))
    if rule.aggregation is not None:
        argument = rule.aggregation.argument
        found.update((*rule.aggregation.group, *rule.aggregation.contributors))
        found.update(() if argument is None else variables(argument))
    return found
