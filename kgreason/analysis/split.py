"""Sums and counts of one predicate whose contributions in several rules, or facts, are not added up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kgreason.analysis.aggregation import dependent
from kgreason.analysis.checked import CheckedAtom, Filter, Keyed, Step
from kgreason.analysis.expressions import names
from kgreason.analysis.findings import Findings
from kgreason.analysis.rules import Draft
from kgreason.errors import Span
from kgreason.lang.ast import Binary, Constant, Term, Variable

_ADDED = {"sum": "added up", "prod": "multiplied", "count": "counted together"}
_COMPARED = 100  # so many rules of one predicate are compared with each other
_Key = tuple[int, str] | Constant


@dataclass(frozen=True, slots=True)
class _Side:
    """A head or a fact of a predicate, and what its rule asks for."""

    head: CheckedAtom
    place: Span
    late: frozenset[str] = frozenset()  # what holds the aggregate
    positives: tuple[CheckedAtom, ...] = ()
    negatives: tuple[CheckedAtom, ...] = ()
    steps: tuple[Step, ...] = ()
    rule: Draft | None = None

    def key(self, term: Term) -> _Key:
        """Tell variables of two sides apart."""
        return (id(self), term.name) if isinstance(term, Variable) else term


def check_split(
    drafts: Sequence[Draft], facts: Sequence[CheckedAtom], keyed: Mapping[str, Keyed], findings: Findings
) -> None:
    """Warn of rules that each sum up contributions to what may be the same group of one predicate.

    Where a predicate keeps one value for each group, facts and rules without an aggregate count as well.
    """
    seen: dict[tuple[str, str], list[_Side]] = {}
    told: set[tuple[str, str]] = set()
    for rule in drafts:
        for kind, side in _added(rule):
            place = (side.head.predicate, kind)
            earlier = seen.setdefault(place, [])
            if place in told or len(earlier) > _COMPARED:
                continue
            other = next((o for o in earlier if o.rule is not rule and _meet(o, side)), None)
            if other is not None:
                told.add(place)
                _report(kind, "several rules contribute", other, side, keyed, findings)
            earlier.append(side)
    sums = {place: [s for s in sides if _keeps(s, keyed)] for place, sides in seen.items()}
    plain = _plain(drafts, facts, {p for (p, _), sides in sums.items() if sides})
    for (predicate, kind), sides in sums.items():
        for other in plain.get(predicate, ())[:_COMPARED] if sides and (predicate, kind) not in told else ():
            if kind != "prod" and _value(other, keyed) == Constant(0):
                continue  # the value where there is nothing to add
            aggregate = next((s for s in sides if _meet(s, other)), None)
            if aggregate is not None:
                what = "rules without an aggregate" if other.rule else "facts"
                _report(kind, f"{what} contribute", aggregate, other, keyed, findings)
                break


def _added(rule: Draft) -> Iterator[tuple[str, _Side]]:
    """Heads of a rule that hold a sum, a product or a count, or what is computed from it."""
    if rule.aggregate is None or rule.hidden:
        return
    kind = rule.aggregate.node.function.removeprefix("m")
    late = frozenset(dependent(rule.aggregate.variable, rule.after))
    for head in rule.heads if kind in _ADDED else ():
        if late.intersection(head.variables):
            place = rule.aggregate.node.span
            yield kind, _Side(head, place, late, rule.positives, rule.negatives, rule.steps, rule)


def _keeps(side: _Side, keyed: Mapping[str, Keyed]) -> bool:
    """Whether the value of the side replaces others of its group."""
    value = _value(side, keyed)
    return value is not None and bool(names(value) & side.late)


def _value(side: _Side, keyed: Mapping[str, Keyed]) -> Term | None:
    """What stands where the predicate keeps one value."""
    known = keyed.get(side.head.predicate)
    return known.value(side.head) if known else None


def _plain(drafts: Sequence[Draft], facts: Sequence[CheckedAtom], wanted: set[str]) -> dict[str, list[_Side]]:
    """Facts of the `wanted` predicates, and heads of rules that aggregate nothing."""
    found: dict[str, list[_Side]] = {}
    if wanted:
        for rule in drafts:
            for head in rule.heads if rule.aggregate is None and not rule.inventions else ():
                if head.predicate in wanted:
                    body = (rule.positives, rule.negatives, rule.steps, rule)
                    found.setdefault(head.predicate, []).append(_Side(head, head.span, frozenset(), *body))
        for fact in facts:
            if fact.predicate in wanted:
                found.setdefault(fact.predicate, []).append(_Side(fact, fact.span))
    return found


def _report(
    kind: str, who: str, first: _Side, second: _Side, keyed: Mapping[str, Keyed], findings: Findings
) -> None:
    predicate = second.head.predicate
    findings.add(
        "W513",
        f"what {who} to `{predicate}` is not {_ADDED[kind]}",
        second.place,
        note="each rule aggregates the matches of its own body; of two values for one group "
        + ("the greater counts" if predicate in keyed else "both are facts"),
        hint="let the rules derive their contributions into one predicate, and aggregate that once, "
        "as rules/integrated_ownership.vada does",
        related=((first.place, "the other aggregate" if second.late else "the aggregate"),),
    )


def _meet(one: _Side, other: _Side) -> bool:
    """Whether two rules can give values to one group, as far as heads, `!=` and `not` tell."""
    same = _Same()
    for left, right in zip(one.head.terms, other.head.terms, strict=False):
        if names(left) & one.late or names(right) & other.late:
            continue
        if not same.join(one.key(left), other.key(right)):
            return False
    pairs = (one, other), (other, one)
    return not any(_unequal(a, same) or _opposed(a, b, same) for a, b in pairs)


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


def _unequal(side: _Side, same: _Same) -> bool:
    """Whether the rule wants two terms to differ that are the same in the other."""
    for step in side.steps:
        match step:
            case Filter(Binary("!=", Variable() | Constant() as left, Variable() | Constant() as right)):
                if same.find(side.key(left)) == same.find(side.key(right)):
                    return True
    return False


def _opposed(one: _Side, other: _Side, same: _Same) -> bool:
    """Whether one rule needs an atom that the other negates."""
    needed, negated = (
        {(a.predicate, tuple(same.find(side.key(t)) for t in a.terms)) for a in atoms}
        for side, atoms in ((one, one.positives), (other, other.negatives))
    )
    return bool(needed & negated)
