"""Positions of predicates that hold a monotonic aggregate: one value of each group is final."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kgreason.analysis.aggregation import dependent, monotonic_name, named_contributors
from kgreason.analysis.calls import article
from kgreason.analysis.checked import MONOTONIC, Assign, CheckedAtom, Keyed
from kgreason.analysis.expressions import names
from kgreason.analysis.findings import Findings
from kgreason.analysis.rules import Draft
from kgreason.errors import Span
from kgreason.lang.ast import Constant, Skolem, Variable

_KEEP: dict[str, Literal["greatest", "least", "union"]] = {"mmin": "least", "munion": "union"}
_UNASKED = frozenset({"mmin", "mmax", "min", "max", "munion", "union"})
"""Aggregates that a contribution repeated by another contributor does not change."""


def keyed_positions(
    drafts: Sequence[Draft], recursive: Sequence[bool], number: Mapping[str, int], findings: Findings
) -> dict[str, Keyed]:
    """Head positions that hold a monotonic aggregate, or a copy of one that its own stratum still improves.

    A rule that copies the aggregate of a predicate of its own stratum copies every value on the way to the
    last. So its head keeps one value per key too: the best of all that its rules and facts give.

    Parameters
    ----------
    recursive
        Of each draft, whether its head and its body are in one stratum.
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
    """A variable that holds a keyed value of the rule's own stratum, or what is computed from one."""

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
    """Extend `keyed` by the positions that recursive rules copy keyed values to, until nothing changes."""
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
        for head in rule.heads:  # a better value takes the place of one that would count nevertheless
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
    """Head positions that improving values come to: the head, the position, the value."""
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
    nulls = (  # existential variables as what they are: values of a function of the frontier
        Assign(i.variable, Skolem(i.variable, tuple(map(Variable, i.frontier))), rule.written.span)
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
    """Where a variable stands."""
    return [i for i, t in enumerate(head.terms) if isinstance(t, Variable) and t.name == variable]


def _meet(one: CheckedAtom, other: CheckedAtom, position: int) -> bool:
    """Whether two heads can have a group in common: no constants of them differ."""
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
