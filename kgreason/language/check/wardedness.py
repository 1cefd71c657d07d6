"""Wardedness: whether the chase of a program can be cut off without losing answers, and if not, why.

A variable of a rule is *harmful* if it occurs in affected positions of the body only, otherwise *harmless*; it is
*dangerous* if it is harmful and occurs in the head. A rule is *warded* if all its dangerous variables occur in one body
atom, the ward, that shares only harmless variables with the rest of the body. The fragments, narrowest first:

- Datalog: no existential variable and no Skolem term.
- linear: at most one positive body atom in each rule.
- guarded: in each rule one body atom holds all variables of the positive body.
- piecewise linear: warded, and each body has at most one atom that is mutually recursive with a head.
- warded: each rule is warded.

Equalities and constraints have no head: they are always warded, and the other definitions ignore them.

A *harmful join* joins several atoms by harmful variables. Negation of harmful variables counts as one, and so does an
aggregate that counts, combines or groups by them: for these, one representative of isomorphic facts is not sufficient.

References
----------
G. Gottlob, A. Pieris: Beyond SPARQL under OWL 2 QL Entailment Regime: Rules to the Rescue. IJCAI 2015 (warded).
L. Bellomarini, E. Sallinger, G. Gottlob: The Vadalog System: Datalog-based Reasoning for Knowledge Graphs. PVLDB 11(9),
2018, section 2 (harmless, harmful, dangerous).
G. Berger, G. Gottlob, A. Pieris, E. Sallinger: The Space-Efficient Core of Vadalog. PODS 2019 (piecewise linear).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from kgreason.base.errors import Findings
from kgreason.language.check.affected_positions import (
    WrittenRule,
    affected_positions,
    hidden,
    invents,
    nullable_inputs,
    written,
)
from kgreason.language.check.checked_program import (
    Assign,
    CheckedAtom,
    CheckedProgram,
    CheckedRule,
    Position,
    Stratum,
    Wardedness,
)
from kgreason.language.check.expressions import grown, names

Affected = Mapping[Position, WrittenRule | None]


class Warding(NamedTuple):
    """Analysis of the nulls of one rule as written.

    Attributes
    ----------
    harmless, harmful, dangerous
        Its body variables; the dangerous ones are among the harmful.
    ward
        The atom that holds the dangerous variables; `None` if there are none, or the rule is not warded.
    reason
        Why the rule is not warded; empty if it is.
    joined
        Largest number of body atoms joined through harmful variables; 0 if there is no such join. An aggregate over
        harmful variables counts as one more atom.
    closed
        Whether harmful variables occur under `not` or in an aggregate.
    aggregates
        Whether harmful variables occur in an aggregate.
    """

    rule: CheckedRule
    harmless: tuple[str, ...]
    harmful: tuple[str, ...]
    dangerous: tuple[str, ...]
    ward: CheckedAtom | None
    reason: str
    joined: int
    closed: bool = False
    aggregates: bool = False


def wardedness(strata: Sequence[Stratum], nullable: Collection[Position]) -> Wardedness:
    """Analyse the nulls of a program; `nullable` are the positions of inputs that may hold nulls."""
    rules = [r for s in strata for r in s.rules]
    if not nullable and not any(map(invents, rules)):
        return Wardedness()
    grouped, affected, wardings = _warded(rules, nullable)
    return Wardedness(
        fragment=_fragment(grouped, wardings, strata),
        affected=frozenset(affected),
        warded=not any(w.reason for w in wardings),
        harmful_joins=max((w.joined for w in wardings), default=0),
        closed=any(w.closed for w in wardings),
    )


def _warded(
    rules: Iterable[CheckedRule], nullable: Collection[Position]
) -> tuple[list[WrittenRule], Affected, list[Warding]]:
    grouped = written(rules)
    affected = affected_positions(grouped, nullable)
    return grouped, affected, [_ward_rule(rule, affected) for rule in grouped]


def _ward_rule(rule: WrittenRule, affected: Affected) -> Warding:
    harmful = rule.harmful(affected)
    reached = {v for flow in rule.flows.values() for v in flow.variables | flow.keys}
    aggregated = _aggregated(rule)
    closed = aggregated.union(*(rule.variables(atom) for atom in rule.first.negatives))
    order = [v for v in rule.occurrences if not v.startswith("_")]
    dangerous = tuple(v for v in rule.occurrences if v in harmful & reached)
    ward, reason = _ward(rule, frozenset(dangerous), harmful) if dangerous else (None, "")
    return Warding(
        rule.first,
        tuple(v for v in order if v not in harmful),
        tuple(v for v in order if v in harmful),
        dangerous,
        ward,
        reason,
        _joined(rule, harmful),
        bool(closed & harmful),
        bool(aggregated & harmful),
    )


def _ward(
    rule: WrittenRule, dangerous: frozenset[str], harmful: frozenset[str]
) -> tuple[CheckedAtom | None, str]:
    atoms = rule.first.positives
    body = (*atoms, *rule.first.negatives)
    reason = ""
    for atom in atoms:
        if not dangerous <= rule.variables(atom):
            continue
        shared = [
            (v, other)
            for other in body
            if other is not atom
            for v in sorted(rule.variables(atom) & rule.variables(other) & harmful)
        ]
        if not shared:
            return atom, ""
        variable, other = shared[0]
        below = " under `not`" if other in rule.first.negatives else ""
        reason = reason or (
            f"`{atom}` holds {_listed('the dangerous variable', dangerous)}, but shares the harmful {variable} with "
            f"`{other}`{below}"
        )
    return None, reason or f"no body atom holds all of {_listed('the dangerous variable', dangerous)}"


def _listed(words: str, variables: Iterable[str]) -> str:
    named = sorted(variables)
    return f"{words}{'s' if len(named) > 1 else ''} {', '.join(named)}"


def _joined(rule: WrittenRule, harmful: frozenset[str]) -> int:
    """Size of the largest set of body atoms connected by harmful variables, if it is at least two."""
    parts: list[tuple[set[str], int]] = []
    links = [(rule.variables(atom) & harmful, 1) for atom in rule.first.body]
    compared = (frozenset(rule.same.get(v, v) for v in names(s.expression)) for s in rule.first.before)
    links += [(found & harmful, 0) for found in compared if len(found) > 1]
    links.append((_aggregated(rule) & harmful, 1))
    for variables, count in links:
        group, size = set(variables), count
        for other in [p for p in parts if p[0] & group]:
            parts.remove(other)
            group |= other[0]
            size += other[1]
        if group:
            parts.append((group, size))
    most = max((size for _, size in parts), default=0)
    return most if most > 1 else 0


def _aggregated(rule: WrittenRule) -> frozenset[str]:
    """Body variables that the aggregate groups by, combines, or uses as contributors."""
    aggregation = rule.first.aggregation
    if aggregation is None:
        return frozenset()
    found = {*aggregation.group, *aggregation.contributors}
    if aggregation.argument is not None:
        found |= set(names(aggregation.argument))
    for step in reversed(rule.first.before):  # values are computed from earlier ones
        if isinstance(step, Assign) and step.variable in found:
            found |= set(names(step.expression))
    return frozenset(rule.same.get(v, v) for v in found)


def _fragment(rules: Sequence[WrittenRule], wardings: Sequence[Warding], strata: Sequence[Stratum]) -> str:
    proper = [r for r in rules if not hidden(r.first)]
    if not any(invents(rule) for r in proper for rule in r.rules):
        return "Datalog"
    if all(len(r.first.positives) <= 1 for r in proper):
        return "linear"
    if all(map(_guarded, proper)):
        return "guarded"
    if any(w.reason for w in wardings):
        return "none"
    number = {predicate: i for i, stratum in enumerate(strata) for predicate in stratum.predicates}
    for rule in proper:
        own = {number[r.head.predicate] for r in rule.rules}
        if sum(number.get(atom.predicate) in own for atom in rule.first.positives) > 1:
            return "warded"
    return "piecewise linear"


def _guarded(rule: WrittenRule) -> bool:
    atoms = rule.first.positives
    needed = {v for atom in atoms for v in atom.variables}
    return not atoms or any(needed <= set(atom.variables) for atom in atoms)


def endless(rules: Sequence[WrittenRule], affected: Affected) -> bool:
    """Whether a null can be made from a null of the same kind, so that the chase may not terminate by itself.

    Nulls flow from affected body positions to head positions; the program is weakly acyclic (Fagin et al.: Data
    Exchange: Semantics and Query Answering, ICDT 2003, section 3.1) if no cycle of the flow makes a new null.
    """
    flows: dict[Position, set[Position]] = {}
    makes: set[tuple[Position, Position]] = set()
    for rule in rules:
        harmful = rule.harmful(affected)
        heads = {v for flow in rule.flows.values() for v in flow.variables}
        for position, flow in rule.flows.items():
            for variable in harmful & (heads | flow.keys if flow.invented else flow.variables):
                for source in rule.occurrences[variable]:
                    flows.setdefault(source, set()).add(position)
                    if flow.invented:
                        makes.add((source, position))

    def following(reached: set[Position]) -> set[Position]:
        return set[Position]().union(*(flows.get(position, ()) for position in reached))

    return any(source in grown({position}, following) for source, position in makes)


class WardedReport(NamedTuple):
    """Fragment of a program, its affected positions, and the variables of each rule, in text order.

    Attributes
    ----------
    ends
        Whether the chase terminates by itself, i.e. the program is weakly acyclic; it may be warded or not.
    positions
        Positions that can hold nulls, sorted, 0-based here and counted from 1 in the text; each with the rule that
        makes it affected, `None` for an input.
    """

    wardedness: Wardedness
    ends: bool
    positions: Mapping[Position, CheckedRule | None]
    rules: tuple[Warding, ...]

    def __str__(self) -> str:
        lines = [f"fragment: {self.wardedness.fragment}", "affected positions:"]
        for (predicate, i), rule in self.positions.items():
            cause = f"rule {rule.number}: {rule.text}" if rule else "its source is read with missing=null"
            lines.append(f"  {predicate}[{i + 1}]: {cause}")
        lines += [] if self.positions else ["  none"]
        for warding in self.rules:
            lines += [f"rule {warding.rule.number}: {warding.rule.text}", *_lines(warding)]
        return "\n".join(lines)


def _lines(warding: Warding) -> list[str]:
    kinds = ("harmless", "harmful", "dangerous")
    lines = [f"  {kind}: {', '.join(found)}" for kind in kinds if (found := getattr(warding, kind))]
    if warding.ward is not None:
        lines.append(f"  ward: {warding.ward}")
    if warding.reason:
        lines.append(f"  not warded: {warding.reason}")
    if warding.joined:
        counted = ", the aggregate counted as one" if warding.aggregates else ""
        lines.append(f"  joins {warding.joined} atoms through nulls{counted}")
    return lines


def explain(program: CheckedProgram) -> WardedReport:
    """Report the affected positions of a program and their consequences for each rule."""
    nullable = nullable_inputs((*program.binds, *program.queries_bound), program.arities)
    rules, affected, wardings = _warded(program.rules, nullable)
    positions = {p: rule.first if (rule := affected[p]) else None for p in sorted(affected)}
    wardings.sort(key=lambda w: w.rule.number)
    return WardedReport(program.wardedness, not endless(rules, affected), positions, tuple(wardings))


def warn_unwarded(strata: Sequence[Stratum], nullable: Collection[Position], findings: Findings) -> None:
    """Warn of rules that are not warded, unless the chase terminates by itself."""
    rules, affected, wardings = _warded([r for s in strata for r in s.rules], nullable)
    for warding in wardings if endless(rules, affected) else ():
        if warding.reason:
            findings.add(
                "W509",
                f"this rule is not warded: {warding.reason}",
                warding.rule.span,
                note="a rule is warded if its dangerous variables (nulls in the body and in the head) occur in one "
                "body atom that shares no nulls with the others; without that the chase might never end, so nulls "
                "are nested to a depth (--depth)",
                hint="`kgreason check --explain` shows which positions can hold nulls and why",
            )
