"""Conclusions that later rounds invalidate: conditions on improving values, equalities of unified nulls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kgreason.base.errors import Findings, Span
from kgreason.language.check.affected_positions import invents
from kgreason.language.check.aggregates import monotonic_name
from kgreason.language.check.body_order import OrderedRule
from kgreason.language.check.checked_program import (
    CheckedAtom,
    CheckedRule,
    Filter,
    Keyed,
    Stratum,
    Unification,
)
from kgreason.language.check.expressions import grown, names
from kgreason.language.syntax.syntax_tree import (
    Binary,
    Constant,
    Expression,
    Unary,
    Variable,
)

_RISES = {"greatest": 1, "least": -1, "union": 1}
_ORDERS = {"<": -1, "<=": -1, ">": 1, ">=": 1}


Directions = dict[str, int]
"""Variables whose values change while the recursion runs: 1 for those that rise, -1 for those that fall."""


def check_improving(
    ordered: Sequence[OrderedRule], number: Mapping[str, int], keyed: Mapping[str, Keyed], findings: Findings
) -> None:
    """Warn of conditions that may hold for an intermediate value only: their conclusions are not retracted."""
    for rule in ordered:
        strata = {number[head.predicate] for head in rule.heads}
        inside = [a for a in rule.positives if number.get(a.predicate) in strata]
        if not inside:
            continue
        changing: Directions = {}
        for atom in inside:
            known = keyed.get(atom.predicate)
            value = known.value(atom) if known else None
            if known and isinstance(value, Variable):
                changing[value.name] = _RISES[known.keep]
            elif known and value is not None:
                _report(f"{atom}", value.span, known.keep, findings)
        if rule.aggregate:
            name = monotonic_name(rule.aggregate.node.function, True)
            changing[rule.aggregate.variable] = -1 if name == "mmin" else 1
        for step in rule.steps:
            if isinstance(step, Filter):
                for node in _reversible(step.expression, changing, True):
                    rising = any(changing.get(n) == 1 for n in names(node))
                    _report(f"{node}", node.span, "greatest" if rising else "least", findings)
            elif direction := _direction(step.expression, changing):
                changing.setdefault(step.variable, direction)


def _report(condition: str, span: Span, keep: str, findings: Findings) -> None:
    better = "greater" if keep != "least" else "smaller"
    findings.add(
        "W508",
        f"a {better} value in the recursion can undo `{condition}`",
        span,
        note="an aggregate in recursion improves step by step; what a condition let through on the way stays, "
        "so that the result depends on the order of evaluation",
        hint="test the final value in a rule outside of the recursion",
    )


def _reversible(node: Expression, changing: Directions, wanted: bool) -> Iterator[Expression]:
    """Comparisons that are `wanted` to hold (or not to hold) now, and can change; none if nothing is known of them."""
    match node:
        case Unary(operator="!"):
            yield from _reversible(node.operand, changing, not wanted)
        case Binary(operator="&&" | "||"):
            yield from _reversible(node.left, changing, wanted)
            yield from _reversible(node.right, changing, wanted)
        case Binary(operator="in" | "!in"):
            if _direction(node.left, changing) or (
                _direction(node.right, changing) == 1 and (node.operator == "in") is not wanted
            ):
                yield node
        case Binary(operator="==" | "!="):
            if _direction(node.left, changing) or _direction(node.right, changing):
                yield node
        case Binary() if node.operator in _ORDERS:
            left, right = _direction(node.left, changing), _direction(node.right, changing)
            if left is None or right is None:
                return
            turns = -_ORDERS[node.operator] * (1 if wanted else -1)
            if turns in (left, -right):
                yield node


def _direction(node: Expression, changing: Directions) -> int | None:
    """1 if a value can only rise, -1 if it can only fall, 0 if it is constant, `None` if unknown."""
    match node:
        case Constant():
            return 0
        case Variable():
            return changing.get(node.name, 0)
        case Unary(operator="-"):
            inner = _direction(node.operand, changing)
            return inner if inner is None else -inner
        case Binary(operator="+" | "-"):
            right = _direction(node.right, changing)
            sign = 1 if node.operator == "+" else -1
            return _sum(_direction(node.left, changing), right if right is None else sign * right)
        case Binary(operator="*"):
            return _product(node.left, node.right, changing)
        case Binary(operator="/") if isinstance(node.right, Constant):
            return _product(node.left, node.right, changing)
    return None if any(changing.get(n) for n in names(node)) else 0


def _sum(left: int | None, right: int | None) -> int | None:
    if left is None or right is None or left * right < 0:
        return None
    return left or right


def _product(left: Expression, right: Expression, changing: Directions) -> int | None:
    """Direction of a product with a constant factor; that of other products depends on signs."""
    if isinstance(left, Constant):
        left, right = right, left
    if isinstance(right, Constant) and isinstance(right.value, int | float) and right.value != 0:
        inner = _direction(left, changing)
        return inner if inner is None or right.value > 0 else -inner
    return None if any(changing.get(n) for n in names(left) | names(right)) else 0


def check_equalities(
    unifications: Sequence[Unification], strata: Iterable[Stratum], findings: Findings
) -> None:
    """Warn of equalities that depend on a negation or a stratified aggregate of predicates that can hold nulls.

    Unifying two nulls can make a negated atom true, or change a total; what an equality concluded before is not
    retracted.
    """
    rules = [rule for stratum in strata for rule in stratum.rules] if unifications else []
    nulls = grown(
        {rule.head.predicate for rule in rules if invents(rule)},
        lambda found: {r.head.predicate for r in rules if any(a.predicate in found for a in r.positives)},
    )
    for unification in unifications:
        rule = unification.rule
        for atom, words in _strict_uses(rule, rules):
            if atom.predicate in nulls:
                findings.add(
                    "W505",
                    f"the equality depends on `{atom.predicate}` {words}, and merging nulls can change it",
                    rule.span,
                    note="equalities are applied to what was known before the merging, and never taken back",
                    hint="let the equality depend on predicates without nulls there",
                    related=()
                    if atom in (*rule.negatives, *rule.positives)
                    else ((atom.span, f"`{atom.predicate}` {words}"),),
                )
                break


def _strict_uses(rule: CheckedRule, rules: Sequence[CheckedRule]) -> Iterator[tuple[CheckedAtom, str]]:
    """Atoms under negation or a stratified aggregate on which a rule depends, its own first."""
    reached: set[str] = set()
    queue = [rule]
    for current in queue:
        yield from ((atom, "under `not`") for atom in current.negatives)
        if current.aggregation and not current.aggregation.monotonic:
            yield from ((atom, "under an aggregate") for atom in current.positives)
        needed = {a.predicate for a in current.body} - reached
        reached |= needed
        queue += [r for r in rules if r.head.predicate in needed]
