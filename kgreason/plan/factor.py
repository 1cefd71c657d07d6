"""Split off joins whose results are few because some of their variables are not needed any more.

``p(V, O) :- load(V, P), p(P, A), q(A, O)`` with recursive p and q becomes ``j(V, A) :- load(V, P), p(P, A)`` and
``p(V, O) :- j(V, A), q(A, O)``: each pair (V, A) is joined with q once, by however many P it comes about, and new facts
of q meet only facts of p that are loaded.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from kgreason.analysis.checked import CheckedAtom, CheckedProgram, CheckedRule, Stratum
from kgreason.lang.ast import Variable
from kgreason.plan.place import variables

WIDTH = 2  # most variables of a join that is split off: more would make it large


def factored(program: CheckedProgram) -> CheckedProgram:
    """The same program with hidden predicates for such joins; it derives the same facts in fewer steps.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> text = "p(V, O) :- a(V, O). p(V, O) :- load(V, P), p(P, A), q(A, O). q(A, O) :- p(O, A)."
    >>> for rule in factored(load_text(text)).rules:
    ...     print(rule.head, *rule.positives)
    p(V, O) a(V, O)
    #join1(A, V) p(P, A) load(V, P)
    p(V, O) #join1(A, V) q(A, O)
    q(A, O) p(O, A)
    """
    if any(rule.inventions for rule in program.rules):
        return program  # the chase looks at the rules as they are written
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
            rules += _split(rule, recursive, joins)
        else:
            rules.append(rule)
    hidden = frozenset(join.predicate for join in joins[before:])
    return replace(stratum, predicates=stratum.predicates | hidden, rules=tuple(rules))


def _split(
    rule: CheckedRule, recursive: Sequence[CheckedAtom], joins: list[CheckedAtom]
) -> list[CheckedRule]:
    """The rule, and before it the rule of the join that is split off, if there is one."""
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
    """Variables that anything but the join itself mentions."""
    found = {v for atom in (rule.head, *rest, *rule.negatives) for v in atom.variables}
    found.update(v for step in (*rule.before, *rule.after) for v in variables(step.expression))
    if rule.aggregation is not None:
        argument = rule.aggregation.argument
        found.update((*rule.aggregation.group, *rule.aggregation.contributors))
        found.update(() if argument is None else variables(argument))
    return found
