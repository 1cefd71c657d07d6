"""Sums and counts of one predicate in several rules, whose contributions are not added up."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kgreason.analysis.aggregation import AggregateDraft, dependent
from kgreason.analysis.checked import CheckedAtom, Filter
from kgreason.analysis.expressions import names
from kgreason.analysis.findings import Findings
from kgreason.analysis.rules import Draft
from kgreason.lang.ast import Binary, Constant, Term, Variable

_ADDED = {"sum": "added up", "prod": "multiplied", "count": "counted together"}
_COMPARED = 100  # so many rules of one predicate are compared with each other
_Side = tuple[Draft, AggregateDraft, CheckedAtom]
_Key = tuple[int, str] | Constant


def check_split(drafts: Sequence[Draft], keyed: Collection[str], findings: Findings) -> None:
    """Warn of rules that each sum up contributions to what may be the same group of one predicate.

    Parameters
    ----------
    keyed
        Predicates that keep one value for each group.
    """
    seen: dict[tuple[str, str], list[_Side]] = {}
    told: set[tuple[str, str]] = set()
    for rule in drafts:
        for kind, aggregate, head in _added(rule):
            place, side = (head.predicate, kind), (rule, aggregate, head)
            earlier = seen.setdefault(place, [])
            if place in told or len(earlier) > _COMPARED:
                continue
            other = next((o for o in earlier if o[0] is not rule and _meet(o, side)), None)
            if other is not None:
                told.add(place)
                _report(kind, other, side, head.predicate in keyed, findings)
            earlier.append(side)


def _added(rule: Draft) -> Iterator[tuple[str, AggregateDraft, CheckedAtom]]:
    """Heads of a rule that hold a sum, a product or a count, or what is computed from it."""
    if rule.aggregate is None or rule.hidden:
        return
    kind = rule.aggregate.node.function.removeprefix("m")
    late = dependent(rule.aggregate.variable, rule.after)
    for head in rule.heads if kind in _ADDED else ():
        if late.intersection(head.variables):
            yield kind, rule.aggregate, head


def _report(kind: str, first: _Side, second: _Side, keyed: bool, findings: Findings) -> None:
    head = second[2]
    findings.add(
        "W513",
        f"what several rules contribute to `{head.predicate}` is not {_ADDED[kind]}",
        second[1].node.span,
        note="each rule aggregates the matches of its own body; of two values for one group "
        + ("the greater counts" if keyed else "both are facts"),
        hint="let the rules derive their contributions into one predicate, and aggregate that once, "
        "as rules/integrated_ownership.vada does",
        related=((first[1].node.span, "the other aggregate"),),
    )


def _meet(one: _Side, other: _Side) -> bool:
    """Whether two rules can give values to one group, as far as heads, `!=` and `not` tell."""
    same = _Same()
    late = [dependent(a.variable, rule.after) for rule, a, _ in (one, other)]
    for left, right in zip(one[2].terms, other[2].terms, strict=False):
        if names(left) & late[0] or names(right) & late[1]:
            continue
        if not same.join(_key(0, left), _key(1, right)):
            return False
    return not (_unequal(one[0], 0, same) or _unequal(other[0], 1, same)) and not (
        _opposed(one[0], 0, other[0], 1, same) or _opposed(other[0], 1, one[0], 0, same)
    )


def _key(side: int, term: Term) -> _Key:
    return (side, term.name) if isinstance(term, Variable) else term


class _Same:
    """Terms of two heads that are the same for one group."""

    def __init__(self) -> None:
        self._above: dict[_Key, _Key] = {}

    def find(self, key: _Key) -> _Key:
        while key in self._above:
            key = self._above[key]
        return key

    def join(self, left: _Key, right: _Key) -> bool:
        """Make two terms one; false if they are different constants."""
        left, right = self.find(left), self.find(right)
        if left == right:
            return True
        if isinstance(left, Constant):
            left, right = right, left
        if isinstance(left, Constant):
            return False
        self._above[left] = right
        return True


def _unequal(rule: Draft, side: int, same: _Same) -> bool:
    """Whether the rule wants two terms to differ that are the same in the other."""
    for step in (*rule.before, *rule.after):
        test = step.expression if isinstance(step, Filter) else None
        if isinstance(test, Binary) and test.operator == "!=":
            sides = [t for t in (test.left, test.right) if isinstance(t, Variable | Constant)]
            if len(sides) == 2 and same.find(_key(side, sides[0])) == same.find(_key(side, sides[1])):
                return True
    return False


def _opposed(one: Draft, side: int, other: Draft, other_side: int, same: _Same) -> bool:
    """Whether one rule needs an atom that the other negates."""
    negated = {(a.predicate, tuple(same.find(_key(other_side, t)) for t in a.terms)) for a in other.negatives}
    return any(
        (a.predicate, tuple(same.find(_key(side, t)) for t in a.terms)) in negated for a in one.positives
    )
