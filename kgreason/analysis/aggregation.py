"""Aggregates: their form in a rule, their contributors, and which positions they make keyed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from kgreason.analysis.checked import (
    MONOTONIC,
    STRATIFIED,
    Aggregation,
    Assign,
    CheckedAtom,
    Filter,
    Keyed,
)
from kgreason.analysis.expressions import names, walk
from kgreason.analysis.findings import Findings
from kgreason.errors import Span
from kgreason.lang.ast import Aggregate, Constant, Expression, Variable

if TYPE_CHECKING:
    from kgreason.analysis.rules import Draft

IN_RECURSION = {name[1:]: name for name in sorted(MONOTONIC)}


@dataclass(frozen=True, slots=True)
class AggregateDraft:
    """An aggregate of a rule before its stratum is known."""

    variable: str
    node: Aggregate
    group: tuple[str, ...] = ()

    def with_group(self, group: tuple[str, ...]) -> AggregateDraft:
        """Set the group."""
        return replace(self, group=group)


def find_aggregate(
    assigns: Sequence[Assign], filters: Sequence[Filter], bound: set[str], findings: Findings
) -> AggregateDraft | Literal[False] | None:
    """The one aggregate of a rule, `None` without any, `False` with findings for a wrong one."""
    fine = True
    steps: tuple[Assign | Filter, ...] = (*assigns, *filters)
    for step in steps:
        for node in _nested(step):
            fine = False
            _misplaced(node, step, bound, findings)
    found = [(a, a.expression) for a in assigns if isinstance(a.expression, Aggregate)]
    if len(found) > 1:
        fine = False
        findings.add(
            "E110",
            "a rule has one aggregate at most",
            found[1][0].span,
            note="an aggregation groups the matches of the body; a second one would have none to group",
            hint="write one rule for each and join their results",
            related=((found[0][0].span, "the first one"),),
        )
    for _, node in found:
        fine &= _form(node, findings)
    if not fine:
        return False
    if not found:
        return None
    assign, node = found[0]
    return AggregateDraft(assign.variable, node)


def _nested(step: Assign | Filter) -> list[Aggregate]:
    aggregates = [n for n in walk(step.expression) if isinstance(n, Aggregate)]
    return [n for n in aggregates if not (isinstance(step, Assign) and n is step.expression)]


def _misplaced(node: Aggregate, step: Assign | Filter, bound: set[str], findings: Findings) -> None:
    expression = step.expression
    left = getattr(expression, "left", None)
    taken = isinstance(left, Variable) and left.name in bound and getattr(expression, "right", None) is node
    findings.add(
        "E111",
        f"`{node}` must stand alone on the right of an assignment",
        node.span,
        note=f"{left} has a value already, so that `=` compares" if taken else None,
        hint=f"write `Total = {node}`" + (f", Total == {left}" if taken else " and use Total"),
    )


def _form(node: Aggregate, findings: Findings) -> bool:
    if node.function not in MONOTONIC | STRATIFIED:
        findings.add("E204", f"the aggregate `{node.function}` is not supported by this version", node.span)
        return False
    counts = node.function in ("mcount", "count")
    if node.argument is None and not counts:
        findings.add(
            "E112",
            f"`{node.function}` has nothing to aggregate",
            node.span,
            hint=f"write `{node.function}(X, <C>)`: the values X, one for each contributor C",
        )
        return False
    if counts and node.contributors is None and not isinstance(node.argument, Variable | Constant | None):
        findings.add(
            "E112",
            f"`{node.function}` counts the values of a variable",
            node.argument.span,
            hint=f"write `Value = {node.argument}, ... = {node.function}(Value)`",
        )
        return False
    return True


def keyed_positions(
    drafts: Sequence[Draft], recursive: Sequence[bool], findings: Findings
) -> dict[str, Keyed]:
    """Head positions that hold a monotonic aggregate, or a copy of one that its own stratum still improves.

    A rule that copies the aggregate of a predicate of its own stratum copies every value on the way to the
    last. So its head keeps one value per key too: the best of all that its rules and facts give.

    Parameters
    ----------
    recursive
        Of each draft, whether its head and its body are in one stratum.
    """
    keyed: dict[str, Keyed] = {}
    for rule, loops in zip(drafts, recursive, strict=True):
        aggregate = rule.aggregate
        if aggregate is None:
            continue
        name = monotonic_name(aggregate.node.function, loops)
        if name is None:
            continue
        for head in rule.heads:
            _add_keyed(head, rule, name, loops, keyed, findings)
    looping = [rule for rule, loops in zip(drafts, recursive, strict=True) if loops]
    _carry(looping if keyed else [], keyed, findings)
    return keyed


def monotonic_name(function: str, recursive: bool) -> str | None:
    """Monotonic form of a function: ``sum`` is ``msum`` in recursion; `None` for a stratified one."""
    if function in MONOTONIC:
        return function
    return IN_RECURSION.get(function) if recursive else None


def _add_keyed(
    head: CheckedAtom, rule: Draft, name: str, loops: bool, keyed: dict[str, Keyed], findings: Findings
) -> None:
    assert rule.aggregate is not None
    variable = rule.aggregate.variable
    computed = {s.variable for s in rule.after if isinstance(s, Assign)}
    names = [t.name if isinstance(t, Variable) else None for t in head.terms]
    if loops and computed & set(names):
        findings.add(
            "E116",
            f"the head of a recursive rule holds a value computed from the aggregate {variable}",
            head.span,
            note="an aggregate in recursion improves step by step, and only its own value is replaced",
            hint=f"put {variable} into the head, and compute in a rule that reads `{head.predicate}`",
        )
    positions = [i for i, n in enumerate(names) if n == variable]
    if not positions:
        return
    new = Keyed(positions[0], "least" if name == "mmin" else "greatest")
    old = keyed.setdefault(head.predicate, new)
    if len(positions) > 1 or old != new:
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
    keep: Literal["greatest", "least"]
    computed: Assign | None = None


def _carry(rules: Sequence[Draft], keyed: dict[str, Keyed], findings: Findings) -> None:
    """Extend `keyed` by the positions that recursive rules copy keyed values to, until nothing changes."""
    strata = _Strata(rules)
    size = -1
    while size < len(keyed):
        size = len(keyed)
        for head, position, origin in _arrivals(rules, keyed, strata):
            if origin.computed is None:
                keyed.setdefault(head.predicate, Keyed(position, origin.keep))
    for head, position, origin in _arrivals(rules, keyed, strata):
        known = keyed.get(head.predicate)
        if origin.computed is None and known != Keyed(position, origin.keep):
            where = f"{origin.value} is an aggregate of `{origin.atom.predicate}`"
            _inconsistent(head, findings, (origin.atom.span, where))
        elif origin.computed is not None and (known is None or known.position != position):
            _stale(head, origin, origin.computed, findings)
    for rule in rules:
        if rule.aggregate is not None:
            _fleeting(rule.aggregate.node, rule, keyed, strata, findings)


def _fleeting(
    node: Aggregate, rule: Draft, keyed: Mapping[str, Keyed], strata: _Strata, findings: Findings
) -> None:
    """Report contributors that a better value takes the place of: they would count nevertheless."""
    if node.function in ("mmin", "mmax", "min", "max"):
        return  # does not ask who contributes
    told = _named_contributors(node)
    for head in rule.heads:
        origins = _improving(rule, head, keyed, strata)
        for origin in [o for name in told or () for o in origins.get(name, ())]:
            where = f"{origin.value} is an aggregate of `{origin.atom.predicate}`"
            findings.add(
                "E118",
                f"`{node}` tells contributions apart by an aggregate that still improves",
                node.span,
                note="each value on the way to the last would contribute",
                hint="tell them apart by other variables of the body, or aggregate in a rule outside the recursion",
                related=((origin.atom.span, where),),
            )


def _stale(head: CheckedAtom, origin: _Improving, computed: Assign, findings: Findings) -> None:
    function = "mmax" if origin.keep == "greatest" else "mmin"
    findings.add(
        "E116",
        f"the head of a recursive rule holds {computed.variable}, computed from the aggregate {origin.value}",
        head.span,
        note="an aggregate in recursion improves step by step, and what is computed from it stays",
        hint=f"if it grows with {origin.value}, write `{computed.variable} = {function}({computed.expression})`",
        related=((origin.atom.span, f"{origin.value} is an aggregate of `{origin.atom.predicate}`"),),
    )


def _arrivals(
    rules: Sequence[Draft], keyed: Mapping[str, Keyed], strata: _Strata
) -> Iterator[tuple[CheckedAtom, int, _Improving]]:
    """Head positions that improving values come to: the head, the position, the value."""
    for rule in rules:
        for head in rule.heads:
            origins = _improving(rule, head, keyed, strata)
            for position, term in enumerate(head.terms):
                for origin in origins.get(term.name, ()) if isinstance(term, Variable) else ():
                    yield head, position, origin


def _improving(
    rule: Draft, head: CheckedAtom, keyed: Mapping[str, Keyed], strata: _Strata
) -> dict[str, list[_Improving]]:
    """Variables of a rule that improve while the stratum of `head` is evaluated."""
    origins: dict[str, list[_Improving]] = {}
    for atom in rule.positives:
        known = keyed.get(atom.predicate)
        term = atom.terms[known.position] if known else None
        if known and isinstance(term, Variable) and strata.same(head.predicate, atom.predicate):
            origins.setdefault(term.name, []).append(_Improving(atom, term.name, known.keep))
    for step in rule.before if origins else ():
        if isinstance(step, Assign):
            found = [o for name in sorted(names(step.expression)) for o in origins.get(name, ())]
            if not isinstance(step.expression, Variable):
                found = [replace(o, computed=step) for o in found]
            origins.setdefault(step.variable, []).extend(found)
    return origins


class _Strata:
    """Which predicates of recursive rules are in one stratum: those that need each other."""

    def __init__(self, rules: Sequence[Draft]) -> None:
        self.below: dict[str, set[str]] = {}
        for rule in rules:
            for head in rule.heads:
                self.below.setdefault(head.predicate, set()).update(a.predicate for a in rule.positives)
        self.needed: dict[str, set[str]] = {}

    def same(self, head: str, body: str) -> bool:
        """Whether `body`, which `head` needs, needs `head` as well."""
        if body not in self.needed:
            found, queue = set[str](), [body]
            while queue:
                more = self.below.get(queue.pop(), set()) - found
                found |= more
                queue.extend(more)
            self.needed[body] = found
        return head in self.needed[body]


def finish(
    rule: Draft, recursive: bool, keyed: Mapping[str, Keyed], findings: Findings
) -> Aggregation | None:
    """Fill in the contributors and the monotonic form."""
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
    counts = function in ("mcount", "count")
    argument: Expression | None = None if counts else node.argument
    return Aggregation(
        aggregate.variable,
        function,
        argument,
        _contributors(node, rule, keyed),
        aggregate.group,
        name is not None,
        node.span,
    )


def _named_contributors(node: Aggregate) -> tuple[str, ...] | None:
    """Those of ``<...>`` or, for a count of a variable, that variable; `None` for the default."""
    if node.contributors is not None:
        return tuple(dict.fromkeys(v.name for v in node.contributors))
    if node.function in ("mcount", "count") and isinstance(node.argument, Variable):
        return (node.argument.name,)
    return None


def _contributors(node: Aggregate, rule: Draft, keyed: Mapping[str, Keyed]) -> tuple[str, ...]:
    named = _named_contributors(node)
    if named is not None:
        return named
    values = {
        term.name
        for atom in rule.positives
        if atom.predicate in keyed
        for term in [atom.terms[keyed[atom.predicate].position]]
        if isinstance(term, Variable)
    }
    matched = dict.fromkeys(v for atom in rule.positives for v in atom.variables)
    return tuple(v for v in matched if v not in values)
