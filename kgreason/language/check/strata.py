"""Stratification: components of predicates as strata of checked rules.

Reports cycles that prevent stratification.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Literal, NamedTuple

from kgreason.base.errors import Findings, Span
from kgreason.base.records import record
from kgreason.language.check.aggregates import IN_RECURSION
from kgreason.language.check.body_order import OrderedRule, Terms, WrittenClause, order_body
from kgreason.language.check.checked_program import (
    Aggregation,
    CheckedAtom,
    CheckedRule,
    Denial,
    Keyed,
    Stratum,
    Unification,
)
from kgreason.language.check.expressions import variables
from kgreason.language.check.joint_aggregates import check_split, finish, keyed_positions
from kgreason.language.check.non_monotone import check_equalities, check_improving
from kgreason.language.functions import signature
from kgreason.language.syntax.syntax_tree import (
    Aggregate,
    Atom,
    Bodied,
    BodyItem,
    Call,
    Condition,
    Constant,
    Equality,
    Equation,
    Negation,
    Program,
    Rule,
    Unary,
    UnsupportedClause,
)
from kgreason.language.vocabulary import STRATIFIED

LONGEST = 500
"""Most atoms, conditions and assignments of one body: evaluation takes them one inside the other."""


class Built(NamedTuple):
    """Checked facts, rules, equalities and constraints; `hidden` are the arities of internal predicates (``#...``)."""

    facts: tuple[CheckedAtom, ...]
    strata: tuple[Stratum, ...]
    keyed: Mapping[str, Keyed]
    unifications: tuple[Unification, ...]
    denials: tuple[Denial, ...]
    hidden: Mapping[str, int]


def read_conditions(program: Program, defined: frozenset[str]) -> Program:
    """Convert body atoms that are function calls, such as ``contains(X, "a")``, to conditions.

    The predicates `defined` by facts, rules or annotations take precedence over functions of the same name.
    """

    def resolved(item: BodyItem) -> BodyItem:
        atom = item.atom if isinstance(item, Negation) else item
        if not isinstance(atom, Atom) or atom.predicate in defined:
            return item
        known = signature(atom.predicate, len(atom.arguments))
        if known is None and ":" not in atom.predicate:
            return item
        call = Call(atom.predicate, atom.arguments, span=atom.span)
        return Condition(Unary("!", call, span=item.span) if atom is not item else call, span=item.span)

    clauses = tuple(
        replace(c, body=tuple(map(resolved, c.body))) if isinstance(c, Bodied) else c for c in program.clauses
    )
    return replace(program, clauses=clauses)


def build(program: Program, findings: Findings) -> Built:
    """Check all facts and rules of a result of `read_conditions`; the result is complete only without errors."""
    for clause in program.bodied:
        if len(clause.body) > LONGEST:
            findings.add(
                "E125",
                f"the body has {len(clause.body)} atoms and conditions",
                clause.body[LONGEST].span,
                note=f"a body has {LONGEST} atoms and conditions at most",
                hint="derive parts of it by rules of their own, or put constants that are compared into facts",
            )
    written = list(_written(program, findings))
    facts, nulls = _facts(program, len(written), findings)
    written += nulls
    ordered = [d for w in written if (d := order_body(w, findings))]
    edges = _dependencies(written)
    parts = _components(edges, (a.predicate for w in written for a in w.head))
    _report_unstratified(parts, edges, findings)
    strata, keyed = _strata(ordered, parts, findings)
    check_split(ordered, facts, keyed, findings)
    rules = {rule.head.predicate: rule for stratum in strata for rule in stratum.rules}
    hidden = {r.heads[0].predicate: r.written.kind for r in ordered if r.hidden}
    unifications = tuple(Unification(p, rules[p]) for p, kind in hidden.items() if kind == "equality")
    denials = tuple(Denial(p, rules[p]) for p, kind in hidden.items() if kind == "constraint")
    check_equalities(unifications, strata, findings)
    arities = {p: len(rules[p].head.terms) for p in hidden}
    return Built(facts, strata, keyed, unifications, denials, arities)


def _written(program: Program, findings: Findings) -> Iterator[WrittenClause]:
    for clause in program.clauses:
        if isinstance(clause, UnsupportedClause):
            findings.add("E205", f"{clause.feature}: not supported by this version", clause.span)
    for number, clause in enumerate(program.bodied, 1):
        if isinstance(clause, Rule):
            yield WrittenClause("rule", number, clause.head, clause.body, clause)
        elif isinstance(clause, Equality):
            head = Atom(f"#equal_{number}", (clause.left, clause.right), span=clause.span)
            yield WrittenClause("equality", number, (head,), clause.body, clause)
        else:
            head = Atom(f"#false_{number}", (), span=clause.span)
            yield WrittenClause("constraint", number, (head,), clause.body, clause)


def _facts(
    program: Program, number: int, findings: Findings
) -> tuple[tuple[CheckedAtom, ...], list[WrittenClause]]:
    """Facts of constants; facts with Skolem terms become rules without a body, numbered after the others."""
    facts: dict[CheckedAtom, None] = {}
    nulls: list[WrittenClause] = []
    for clause in program.facts:
        arguments = clause.atom.arguments
        constants = tuple(a for a in arguments if isinstance(a, Constant))
        if len(constants) == len(arguments):
            facts.setdefault(CheckedAtom(clause.atom.predicate, constants, clause.atom.span))
            continue
        free = next((v for a in arguments for v in variables(a)), None)
        if free:
            findings.add(
                "E102",
                f"the fact holds the variable {free}",
                free.span,
                note="a fact consists of constants",
                hint=f'write "{free}" for a string, or give the clause a body',
            )
            continue
        terms = Terms(findings)
        atom, steps = terms.atom(clause.atom)
        if steps:
            number += 1
            nulls.append(WrittenClause("fact", number, (clause.atom,), (), clause))
        elif terms.fine:
            facts.setdefault(atom)
    return tuple(facts), nulls


def _strata(
    ordered: Sequence[OrderedRule], parts: Sequence[frozenset[str]], findings: Findings
) -> tuple[tuple[Stratum, ...], dict[str, Keyed]]:
    number = {predicate: i for i, part in enumerate(parts) for predicate in part}
    loops = [_loops(rule, number) for rule in ordered]
    keyed = keyed_positions(ordered, loops, number, findings)
    rules: list[list[CheckedRule]] = [[] for _ in parts]
    for rule, recursive in zip(ordered, loops, strict=True):
        aggregation = finish(rule, recursive, keyed, findings)
        for head in rule.heads:
            rules[number[head.predicate]].append(_checked(rule, head, aggregation))
    check_improving(ordered, number, keyed, findings)
    strata = (
        Stratum(part, tuple(members), any(a.predicate in part for rule in members for a in rule.positives))
        for part, members in zip(parts, rules, strict=True)
    )
    return tuple(strata), keyed


def _checked(rule: OrderedRule, head: CheckedAtom, aggregation: Aggregation | None) -> CheckedRule:
    body = (rule.positives, rule.negatives, rule.before, aggregation, rule.after)
    clause = rule.written.clause
    label = clause.label if isinstance(clause, Bodied) else ""
    weight = clause.weight if isinstance(clause, Rule) else None
    named = (rule.written.number, label, clause.documentation, weight)
    return CheckedRule(head, *body, str(clause), clause.span, rule.inventions, *named)


def _loops(rule: OrderedRule, number: Mapping[str, int]) -> bool:
    """Whether some head of the rule depends on itself through this rule."""
    below = {number.get(atom.predicate) for atom in rule.positives}
    return any(number[head.predicate] in below for head in rule.heads)


@record
class _Dependency:
    """`head` depends on `body`; through negation or a stratified aggregate, all of `body` must be complete before."""

    head: str
    body: str
    kind: Literal["positive", "negative", "aggregate"]
    span: Span = field(compare=False)

    def __str__(self) -> str:
        through = {"positive": "", "negative": " under `not`", "aggregate": " under an aggregate"}
        return f"`{self.head}` depends on `{self.body}`{through[self.kind]}"


def _dependencies(rules: Iterable[WrittenClause]) -> list[_Dependency]:
    edges = []
    for rule in rules:
        aggregates = [
            i.right for i in rule.body if isinstance(i, Equation) and isinstance(i.right, Aggregate)
        ]
        strict = any(a.function in STRATIFIED and a.function not in IN_RECURSION for a in aggregates)
        kind: Literal["positive", "aggregate"] = "aggregate" if strict else "positive"
        for head in rule.head:
            for item in rule.body:
                if isinstance(item, Atom):
                    edges.append(_Dependency(head.predicate, item.predicate, kind, item.span))
                elif isinstance(item, Negation):
                    edges.append(_Dependency(head.predicate, item.atom.predicate, "negative", item.span))
    return edges


def _components(edges: Sequence[_Dependency], heads: Iterable[str]) -> list[frozenset[str]]:
    """Strongly connected components of the head predicates in dependency order (Kosaraju, iterative)."""
    below: dict[str, list[str]] = {h: [] for h in heads}
    above: dict[str, list[str]] = {h: [] for h in below}
    for edge in edges:
        if edge.body in below:
            below[edge.head].append(edge.body)
            above[edge.body].append(edge.head)
    visited: set[str] = set()
    order = [node for start in below for node in _post_order(start, below, visited)]
    visited = set()
    parts = [frozenset(_post_order(start, above, visited)) for start in reversed(order)]
    return [part for part in reversed(parts) if part]


def _post_order(start: str, following: Mapping[str, Sequence[str]], visited: set[str]) -> Iterator[str]:
    """Unvisited nodes in post-order of a depth-first search."""
    work = [(start, iter(following[start]))] if start not in visited else []
    visited.add(start)
    while work:
        _, rest = work[-1]
        step = next((n for n in rest if n not in visited), None)
        if step is None:
            yield work.pop()[0]
        else:
            visited.add(step)
            work.append((step, iter(following[step])))


def _report_unstratified(
    parts: Iterable[frozenset[str]], edges: Sequence[_Dependency], findings: Findings
) -> None:
    for part in parts:
        inside = [e for e in edges if e.head in part and e.body in part]
        reported: set[_Dependency] = set()
        for edge in inside:
            if edge.kind != "positive" and edge not in reported:
                path = _path(edge.body, edge.head, inside)
                reported.update((edge, *path))  # report a cycle with two negations once
                _report_cycle(edge, path, findings)


def _path(start: str, goal: str, edges: Sequence[_Dependency]) -> list[_Dependency]:
    paths: dict[str, list[_Dependency]] = {start: []}
    queue = [start]
    for node in queue:
        for edge in edges:
            if edge.head == node and edge.body not in paths:
                paths[edge.body] = [*paths[node], edge]
                queue.append(edge.body)
    return paths[goal]


def _report_cycle(edge: _Dependency, path: Sequence[_Dependency], findings: Findings) -> None:
    cycle = " -> ".join([edge.head, edge.body, *(e.body for e in path)])
    through = "its own negation" if edge.kind == "negative" else "an aggregate of itself"
    findings.add(
        "E106",
        f"`{edge.head}` depends on {through}: {cycle}",
        edge.span,
        note="all of a predicate must be known before it is negated or aggregated: no cycle may do so",
        hint="negate a predicate that does not depend on this one"
        if edge.kind == "negative"
        else "use a monotonic aggregate (msum, mprod, mcount, mmin, mmax, munion), or aggregate in a later rule",
        related=tuple((e.span, str(e)) for e in (edge, *path)),
    )
