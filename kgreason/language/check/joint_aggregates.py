"""Aggregates of one predicate in several rules.

Positions that hold a monotonic aggregate have one final value per group; sums and counts contributed by several rules
or facts to one group are not added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from kgreason.base.errors import Findings, Span
from kgreason.language.check.body_order import Draft
from kgreason.language.check.checked_program import (
    MONOTONIC,
    Aggregation,
    Assign,
    CheckedAtom,
    Filter,
    Keyed,
    Step,
)
from kgreason.language.check.expressions import article, names
from kgreason.language.check.safety import dependent, monotonic_name, named_contributors
from kgreason.language.syntax.syntax_tree import Binary, Constant, Skolem, Term, Variable

if TYPE_CHECKING:
    from kgreason.language.check.body_order import Draft

_KEEP: dict[str, Literal["greatest", "least", "union"]] = {"mmin": "least", "munion": "union"}
_UNASKED = frozenset({"mmin", "mmax", "min", "max", "munion", "union"})
"""Aggregates that a contribution repeated by another contributor does not change."""


def keyed_positions(
    drafts: Sequence[Draft], recursive: Sequence[bool], number: Mapping[str, int], findings: Findings
) -> dict[str, Keyed]:
    """Head positions that hold a monotonic aggregate, or a copy of one that its own stratum still improves.

    A rule that copies the aggregate of a predicate of its own stratum copies every intermediate value. Its head
    therefore keeps one value per key as well: the best of all values of its rules and facts.

    Parameters
    ----------
    recursive
        For each draft, whether its head and its body are in one stratum.
    number
        Stratum of each derived predicate.
    """
    keyed: dict[str, Keyed] = {}
    for rule, loops in zip(drafts, recursive, strict=True):
        name = monotonic_name(rule.aggregate.node.function, loops) if rule.aggregate else None
        if name is None:
            continue
        for head in rule.heads if not rule.hidden else ():
            _add_keyed(head, rule, name, loops, keyed, findings)
    looping = [rule for rule, loops in zip(drafts, recursive, strict=True) if loops]
    _carry(looping if keyed else [], keyed, number, findings)
    _check_consistent(drafts, keyed, findings)
    for rule in drafts:
        for head in rule.heads:
            _no_null(head, rule, keyed, findings)
    return keyed


def _add_keyed(
    head: CheckedAtom, rule: Draft, name: str, loops: bool, keyed: dict[str, Keyed], findings: Findings
) -> None:
    assert rule.aggregate is not None
    variable = rule.aggregate.variable
    computed = dependent(variable, rule.after) - {variable}
    if loops and computed & set(head.variables):
        findings.add(
            "E116",
            f"the head of a recursive rule holds a value computed from the aggregate {variable}",
            head.span,
            note="an aggregate in recursion improves step by step, and only its own value is replaced",
            hint=f"put {variable} into the head, and compute in a rule that reads `{head.predicate}`",
        )
    positions = _positions(variable, head)
    if positions:
        old = keyed.setdefault(head.predicate, Keyed(positions[0], _KEEP.get(name, "greatest")))
        if len(positions) > 1 or old.position != positions[0]:
            _inconsistent(head, findings)


def _inconsistent(head: CheckedAtom, findings: Findings, *related: tuple[Span, str]) -> None:
    findings.add(
        "E115",
        f"`{head.predicate}` has aggregates in more than one way",
        head.span,
        note="a predicate with a monotonic aggregate has one value for each key, at one position in all "
        "of its rules, and either always the greatest value or always the least",
        hint="use a predicate for each",
        related=related,
    )


@dataclass(frozen=True, slots=True)
class _Improving:
    """A variable that holds a keyed value of the rule's own stratum, or a value computed from one."""

    atom: CheckedAtom
    value: str
    keep: Literal["greatest", "least", "union"]
    computed: Assign | None = None

    @property
    def place(self) -> tuple[Span, str]:
        return self.atom.span, f"{self.value} is an aggregate of `{self.atom.predicate}`"


def _carry(
    rules: Sequence[Draft], keyed: dict[str, Keyed], number: Mapping[str, int], findings: Findings
) -> None:
    """Extend `keyed` by the positions to which recursive rules copy keyed values, until nothing changes."""
    size = -1
    while size < len(keyed):
        size = len(keyed)
        for head, position, origin in _arrivals(rules, keyed, number):
            if origin.computed is None:
                keyed.setdefault(head.predicate, Keyed(position, origin.keep))
    for head, position, origin in _arrivals(rules, keyed, number):
        known = keyed.get(head.predicate)
        if origin.computed is None and known != Keyed(position, origin.keep):
            _inconsistent(head, findings, origin.place)
        elif origin.computed is not None and (known is None or known.position != position):
            _stale(head, origin, origin.computed, findings)
    for rule in rules:
        if rule.aggregate is None or rule.aggregate.node.function in _UNASKED:
            continue
        told, node = named_contributors(rule.aggregate), rule.aggregate.node
        for head in rule.heads:  # a value replaced by a better one would still count as a contribution
            origins = _improving(rule, head, keyed, number)
            for origin in [o for name in told or () for o in origins.get(name, ())]:
                findings.add(
                    "E118",
                    f"`{node}` tells contributions apart by an aggregate that still improves",
                    node.span,
                    note="each value on the way to the last would contribute",
                    hint="tell them apart by other variables of the body, or aggregate in a rule outside the recursion",
                    related=(origin.place,),
                )


def _stale(head: CheckedAtom, origin: _Improving, computed: Assign, findings: Findings) -> None:
    function = {"greatest": "mmax", "least": "mmin", "union": "munion"}[origin.keep]
    expression, null = computed.expression, isinstance(computed.expression, Skolem)
    made = computed.variable if not computed.variable.startswith("_") else f"`{expression}`"
    findings.add(
        "E116",
        f"the head of a recursive rule holds {made}, "
        f"{'a null of' if null else 'computed from'} the aggregate {origin.value}",
        head.span,
        note="an aggregate in recursion improves step by step, and what is computed from it stays",
        hint="make the null in a rule outside of the recursion"
        if null
        else f"if it grows with {origin.value}, write `{computed.variable.lstrip('_')} = {function}({expression})`",
        related=(origin.place,),
    )


def _arrivals(
    rules: Sequence[Draft], keyed: Mapping[str, Keyed], number: Mapping[str, int]
) -> Iterator[tuple[CheckedAtom, int, _Improving]]:
    """Head positions that improving values reach: the head, the position, the value."""
    for rule in rules:
        for head in rule.heads:
            origins = _improving(rule, head, keyed, number)
            for position, term in enumerate(head.terms):
                for origin in origins.get(term.name, ()) if isinstance(term, Variable) else ():
                    yield head, position, origin


def _improving(
    rule: Draft, head: CheckedAtom, keyed: Mapping[str, Keyed], number: Mapping[str, int]
) -> dict[str, list[_Improving]]:
    """Variables of a rule that improve while the stratum of `head` is evaluated."""
    origins: dict[str, list[_Improving]] = {}
    for atom in rule.positives:
        known = keyed.get(atom.predicate)
        term = known.value(atom) if known else None
        if known and isinstance(term, Variable) and number[head.predicate] == number.get(atom.predicate):
            origins.setdefault(term.name, []).append(_Improving(atom, term.name, known.keep))
    nulls = (  # existential variables as functions of the frontier
        Assign(i.variable, Skolem(i.variable, tuple(map(Variable, i.frontier))), rule.written.clause.span)
        for i in rule.inventions
    )
    for step in (*rule.steps, *nulls) if origins else ():
        if isinstance(step, Assign):
            found = [o for name in sorted(names(step.expression)) for o in origins.get(name, ())]
            if not isinstance(step.expression, Variable):
                found = [replace(o, computed=step) for o in found]
            origins.setdefault(step.variable, []).extend(found)
    return origins


def _check_consistent(drafts: Sequence[Draft], keyed: Mapping[str, Keyed], findings: Findings) -> None:
    """Report positions that different functions fill for the same groups."""
    first: dict[tuple[str, int], list[tuple[CheckedAtom, str]]] = {}
    for head, position, function in _aggregated(drafts):
        others = first.setdefault((head.predicate, position), [])
        kept = head.predicate in keyed and keyed[head.predicate].position == position
        for atom, name in others:
            unlike = kept and _KEEP.get(f"m{name}") != _KEEP.get(f"m{function}")
            if name != function and (unlike or _meet(head, atom, position)):
                findings.add(
                    "E119",
                    f"argument {position + 1} of `{head.predicate}` is {article(function)} here "
                    f"and {article(name)} elsewhere",
                    head.span,
                    note="an aggregated position of a predicate holds the results of one function",
                    hint="use a predicate for each",
                    related=((atom.span, f"{article(name)} here"),),
                )
                break
        others.append((head, function))


def _aggregated(drafts: Sequence[Draft]) -> Iterator[tuple[CheckedAtom, int, str]]:
    for rule in drafts:
        if rule.aggregate is None or rule.hidden:
            continue
        name = rule.aggregate.node.function
        for head in rule.heads:
            for position in _positions(rule.aggregate.variable, head):
                yield head, position, name[1:] if name in MONOTONIC else name


def _positions(variable: str, head: CheckedAtom) -> list[int]:
    return [i for i, t in enumerate(head.terms) if isinstance(t, Variable) and t.name == variable]


def _meet(one: CheckedAtom, other: CheckedAtom, position: int) -> bool:
    """Whether two heads can have a common group, i.e. their constants do not differ."""
    pairs = [p for i, p in enumerate(zip(one.terms, other.terms, strict=False)) if i != position]
    return not any(isinstance(a, Constant) and isinstance(b, Constant) and a != b for a, b in pairs)


def _no_null(head: CheckedAtom, rule: Draft, keyed: Mapping[str, Keyed], findings: Findings) -> None:
    known = keyed.get(head.predicate)
    term = known.value(head) if known else None
    made = {s.variable for s in rule.steps if isinstance(s, Assign) and isinstance(s.expression, Skolem)}
    if not isinstance(term, Variable) or term.name not in made | {i.variable for i in rule.inventions}:
        return
    findings.add(
        "E119",
        f"argument {head.terms.index(term) + 1} of `{head.predicate}` is a null here and an aggregate elsewhere",
        term.span,
        note="a null is neither greater nor less than a value, so that none of the two could be kept",
        hint="use a predicate for each",
    )


_ADDED = {"sum": "added up", "prod": "multiplied", "count": "counted together"}
_COMPARED = 100  # maximum of rules per predicate that are compared with each other
_Key = tuple[int, str] | Constant


@dataclass(frozen=True, slots=True)
class _Side:
    """A head or a fact of a predicate, with the body of its rule."""

    head: CheckedAtom
    place: Span
    late: frozenset[str] = frozenset()  # variables that hold the aggregate
    positives: tuple[CheckedAtom, ...] = ()
    negatives: tuple[CheckedAtom, ...] = ()
    steps: tuple[Step, ...] = ()
    rule: Draft | None = None

    def key(self, term: Term) -> _Key:
        """Key of a term that distinguishes variables of the two sides."""
        return (id(self), term.name) if isinstance(term, Variable) else term


def check_split(
    drafts: Sequence[Draft], facts: Sequence[CheckedAtom], keyed: Mapping[str, Keyed], findings: Findings
) -> None:
    """Warn of rules that separately sum up contributions to what may be the same group of a predicate.

    If a predicate keeps one value per group, facts and rules without an aggregate count as well.
    """
    seen: dict[tuple[str, str], list[_Side]] = {}
    told: set[tuple[str, str]] = set()
    for rule in drafts:
        for kind, side in _added(rule):
            place = (side.head.predicate, kind)
            earlier = seen.setdefault(place, [])
            if place in told or len(earlier) > _COMPARED:
                continue
            other = next((o for o in earlier if o.rule is not rule and _can_meet(o, side)), None)
            if other is not None:
                told.add(place)
                _report_split(kind, "several rules contribute", other, side, keyed, findings)
            earlier.append(side)
    sums = {place: [s for s in sides if _keeps(s, keyed)] for place, sides in seen.items()}
    plain = _plain(drafts, facts, {p for (p, _), sides in sums.items() if sides})
    for (predicate, kind), sides in sums.items():
        for other in plain.get(predicate, ())[:_COMPARED] if sides and (predicate, kind) not in told else ():
            if kind != "prod" and _value(other, keyed) == Constant(0):
                continue  # the value for an empty sum
            aggregate = next((s for s in sides if _can_meet(s, other)), None)
            if aggregate is not None:
                what = "rules without an aggregate" if other.rule else "facts"
                _report_split(kind, f"{what} contribute", aggregate, other, keyed, findings)
                break


def _added(rule: Draft) -> Iterator[tuple[str, _Side]]:
    """Heads of a rule that hold a sum, a product or a count, or a value computed from it."""
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
    """Term at the position where the predicate keeps one value."""
    known = keyed.get(side.head.predicate)
    return known.value(side.head) if known else None


def _plain(drafts: Sequence[Draft], facts: Sequence[CheckedAtom], wanted: set[str]) -> dict[str, list[_Side]]:
    """Facts of the `wanted` predicates, and heads of rules without aggregates."""
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


def _report_split(
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


def _can_meet(one: _Side, other: _Side) -> bool:
    """Whether two rules can give values to one group, judging by heads, `!=` and `not`."""
    same = _Same()
    for left, right in zip(one.head.terms, other.head.terms, strict=False):
        if names(left) & one.late or names(right) & other.late:
            continue
        if not same.join(one.key(left), other.key(right)):
            return False
    pairs = (one, other), (other, one)
    return not any(_unequal(a, same) or _opposed(a, b, same) for a, b in pairs)


class _Same:
    """Union-find of terms of two heads that are equal for one group."""

    def __init__(self) -> None:
        self._above: dict[_Key, _Key] = {}

    def find(self, key: _Key) -> _Key:
        while key in self._above:
            key = self._above[key]
        return key

    def join(self, left: _Key, right: _Key) -> bool:
        """Unify two terms; false if they are different constants."""
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
    """Whether the rule requires two terms to differ that are unified."""
    for step in side.steps:
        match step:
            case Filter(Binary("!=", Variable() | Constant() as left, Variable() | Constant() as right)):
                if same.find(side.key(left)) == same.find(side.key(right)):
                    return True
    return False


def _opposed(one: _Side, other: _Side, same: _Same) -> bool:
    """Whether one rule requires an atom that the other negates."""
    needed, negated = (
        {(a.predicate, tuple(same.find(side.key(t)) for t in a.terms)) for a in atoms}
        for side, atoms in ((one, one.positives), (other, other.negatives))
    )
    return bool(needed & negated)


def finish(
    rule: Draft, recursive: bool, keyed: Mapping[str, Keyed], findings: Findings
) -> Aggregation | None:
    """Determine the contributors and the monotonic form."""
    aggregate = rule.aggregate
    if aggregate is None:
        return None
    node = aggregate.node
    name = monotonic_name(node.function, recursive)
    if name not in (None, node.function):
        findings.add(
            "W502",
            f"`{node.function}` in recursion is read as `{name}`",
            node.span,
            note="only a monotonic aggregate has a meaning in recursion",
            hint=f"write `{name}`",
        )
    function = name or node.function
    argument = None if function in ("mcount", "count") else node.argument
    told = named_contributors(aggregate)
    if told is None:
        values = {known.value(a) for a in rule.positives if (known := keyed.get(a.predicate)) is not None}
        matched = dict.fromkeys(v for atom in rule.positives for v in atom.variables)
        told = tuple(v for v in matched if Variable(v) not in values)
    monotonic = name is not None
    return Aggregation(aggregate.variable, function, argument, told, aggregate.group, monotonic, node.span)
