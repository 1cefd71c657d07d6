"""From clauses to strata of checked rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kgreason.analysis.aggregation import finish
from kgreason.analysis.checked import (
    Aggregation,
    CheckedAtom,
    CheckedRule,
    Denial,
    Keyed,
    Stratum,
    Unification,
)
from kgreason.analysis.expressions import variables
from kgreason.analysis.findings import Findings
from kgreason.analysis.keyed import keyed_positions
from kgreason.analysis.rules import Draft, Terms, Written, draft
from kgreason.analysis.split import check_split
from kgreason.analysis.strata import components, dependencies, report_unstratified
from kgreason.analysis.undone import check_equalities, check_undone
from kgreason.lang.ast import (
    Atom,
    Bodied,
    BodyItem,
    Call,
    Condition,
    Constant,
    Constraint,
    Equality,
    Negation,
    Program,
    Rule,
    Unary,
    UnsupportedClause,
)
from kgreason.lang.functions import signature

LONGEST = 500
"""Most atoms, conditions and assignments of one body: evaluation takes them one inside the other."""


@dataclass(frozen=True, slots=True)
class Built:
    """What the facts, rules, equalities and constraints of a program become.

    Attributes
    ----------
    hidden
        Arities of the predicates that only kgreason knows; their names start with ``#``.
    """

    facts: tuple[CheckedAtom, ...]
    strata: tuple[Stratum, ...]
    keyed: Mapping[str, Keyed]
    unifications: tuple[Unification, ...]
    denials: tuple[Denial, ...]
    hidden: Mapping[str, int]


def read_conditions(program: Program, defined: frozenset[str]) -> Program:
    """Make conditions of the body atoms that are calls of functions, as ``contains(X, "a")``.

    Parameters
    ----------
    defined
        Predicates with facts, rules or annotations: they win over functions of the same name.
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


def build(program: Program, defined: frozenset[str], findings: Findings) -> Built:
    """Check all facts and rules of a program; what it returns is whole only if there are no errors.

    Parameters
    ----------
    program
        With the clauses of all its files.
    defined
        Predicates with facts, rules or annotations.
    """
    program = read_conditions(program, defined)
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
    drafts = [d for w in written if (d := draft(w, findings))]
    edges = dependencies(written)
    parts = components(edges, (a.predicate for w in written for a in w.head))
    report_unstratified(parts, edges, findings)
    strata, keyed = _strata(drafts, parts, findings)
    check_split(drafts, facts, keyed, findings)
    rules = {rule.head.predicate: rule for stratum in strata for rule in stratum.rules}
    found = {k: [d.heads[0].predicate for d in drafts if d.written.kind == k] for k in _HIDDEN}
    built = Built(
        facts,
        strata,
        keyed,
        tuple(Unification(p, rules[p]) for p in found["equality"]),
        tuple(Denial(p, rules[p]) for p in found["constraint"]),
        {p: len(rules[p].head.terms) for predicates in found.values() for p in predicates},
    )
    check_equalities(built.unifications, strata, findings)
    return built


_HIDDEN = {"equality": "equal", "constraint": "false"}


def _written(program: Program, findings: Findings) -> Iterator[Written]:
    """Clauses with a body, in the order of the text."""
    for clause in program.clauses:
        if isinstance(clause, UnsupportedClause):
            findings.add("E205", f"{clause.feature}: not supported by this version", clause.span)
    for number, clause in enumerate(program.bodied, 1):
        rest = (clause.body, str(clause), clause.span, clause.label, clause.documentation)
        match clause:
            case Rule():
                yield Written("rule", number, clause.head, *rest, clause.weight)
            case Equality():
                sides = (clause.left, clause.right)
                yield Written("equality", number, (Atom(f"#equal_{number}", sides, span=clause.span),), *rest)
            case Constraint():
                yield Written("constraint", number, (Atom(f"#false_{number}", (), span=clause.span),), *rest)


def _facts(
    program: Program, number: int, findings: Findings
) -> tuple[tuple[CheckedAtom, ...], list[Written]]:
    """Facts of constants; those with Skolem terms become rules without a body, numbered behind the others."""
    facts: dict[CheckedAtom, None] = {}
    nulls: list[Written] = []
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
            rest = ((), str(clause), clause.span, "", clause.documentation)
            nulls.append(Written("fact", number, (clause.atom,), *rest))
        elif terms.fine:
            facts.setdefault(atom)
    return tuple(facts), nulls


def _strata(
    drafts: Sequence[Draft], parts: Sequence[frozenset[str]], findings: Findings
) -> tuple[tuple[Stratum, ...], dict[str, Keyed]]:
    number = {predicate: i for i, part in enumerate(parts) for predicate in part}
    loops = [_loops(rule, number) for rule in drafts]
    keyed = keyed_positions(drafts, loops, number, findings)
    rules: list[list[CheckedRule]] = [[] for _ in parts]
    for rule, recursive in zip(drafts, loops, strict=True):
        aggregation = finish(rule, recursive, keyed, findings)
        for head in rule.heads:
            rules[number[head.predicate]].append(_checked(rule, head, aggregation))
    check_undone(drafts, number, keyed, findings)
    strata = (
        Stratum(part, tuple(members), any(a.predicate in part for rule in members for a in rule.positives))
        for part, members in zip(parts, rules, strict=True)
    )
    return tuple(strata), keyed


def _checked(rule: Draft, head: CheckedAtom, aggregation: Aggregation | None) -> CheckedRule:
    body = (rule.positives, rule.negatives, rule.before, aggregation, rule.after)
    w = rule.written
    named = (w.number, w.label, w.documentation, w.weight)
    return CheckedRule(head, *body, w.text, w.span, rule.inventions, *named)


def _loops(rule: Draft, number: Mapping[str, int]) -> bool:
    """Whether some head of the rule needs itself through this rule."""
    below = {number.get(atom.predicate) for atom in rule.positives}
    return any(number[head.predicate] in below for head in rule.heads)
