"""Rewriting of rules for provenance: creation of nulls is logged in hidden predicates.

A second evaluation would create different nulls. Therefore the first evaluation logs, for every rule that
creates nulls, which null belongs to which values, in a hidden predicate in addition to its head; when the
rule is matched again, it reads the log instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kgreason.engine.expressions.compiled_expressions import has_skolem
from kgreason.engine.plan.ir import variables
from kgreason.language.check.checked_program import (
    Assign,
    CheckedAtom,
    CheckedProgram,
    CheckedRule,
    Step,
    Stratum,
)
from kgreason.language.check.expressions import rewrite, walk
from kgreason.language.syntax.syntax_tree import Expression, Skolem, Variable

MADE = "#made:"


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Rule prepared for matching against known facts.

    Attributes
    ----------
    rule
        Original rule, for display.
    body
        Rule without inventions; its last `hidden` positive atoms read the logs.
    recursive
        Whether the rule reads a predicate of its own stratum.
    stratum
        Predicates of that stratum.
    """

    rule: CheckedRule
    body: CheckedRule
    hidden: int
    recursive: bool
    stratum: frozenset[str]

    @property
    def shown(self) -> tuple[CheckedAtom, ...]:
        """Positive atoms of the rule as written."""
        return self.body.positives[: len(self.body.positives) - self.hidden]


def prepare(program: CheckedProgram) -> tuple[CheckedProgram, tuple[tuple[Prepared, ...], ...]]:
    """Program that logs created nulls, and its rules as `Prepared`, by stratum."""
    strata: list[Stratum] = []
    prepared: list[tuple[Prepared, ...]] = []
    arities = dict(program.arities)
    number = 0
    for stratum in program.strata:
        rules: list[CheckedRule] = []
        ready: list[Prepared] = []
        for rule in stratum.rules:
            logs, body = _logged(rule, number)
            number += len(logs)
            rules += [rule, *logs]
            arities.update({log.head.predicate: len(log.head.terms) for log in logs})
            recursive = any(a.predicate in stratum.predicates for a in rule.positives)
            ready.append(Prepared(rule, body, len(logs), recursive, stratum.predicates))
        predicates = stratum.predicates | {r.head.predicate for r in rules}
        strata.append(replace(stratum, predicates=predicates, rules=tuple(rules)))
        prepared.append(tuple(ready))
    return replace(program, strata=tuple(strata), arities=arities), tuple(prepared)


def _logged(rule: CheckedRule, number: int) -> tuple[list[CheckedRule], CheckedRule]:
    """Logging rules for the nulls of a rule, and the rule that reads the logs."""
    logs: list[CheckedRule] = []

    def log(names: Sequence[str], source: CheckedRule) -> None:
        terms = tuple(map(Variable, dict.fromkeys(names)))
        head = CheckedAtom(f"{MADE}{number + len(logs)}", terms, rule.head.span)
        logs.append(replace(source, head=head))

    inner = replace(rule, aggregation=None, after=(), inventions=())
    before = tuple(rule.before)
    for step in rule.before:
        if isinstance(step, Assign) and has_skolem(step.expression):
            log([*variables(step.expression), step.variable], inner)
            before = tuple(s for s in before if s is not step)
        elif has_skolem(step.expression):
            read = _lifted(step, lambda names, assign: log(names, _early(inner, assign)))
            before = tuple(read if s is step else s for s in before)
    after = tuple(rule.after)
    total = rule.aggregation.variable if rule.aggregation else None
    for step in rule.after:
        if not has_skolem(step.expression) or total in variables(step.expression):
            continue
        if isinstance(step, Assign):
            log([*variables(step.expression), step.variable], replace(rule, inventions=()))
            after = tuple(s for s in after if s is not step)
    if rule.inventions:
        frontier = [name for invention in rule.inventions for name in invention.frontier]
        log([*frontier, *(invention.variable for invention in rule.inventions)], rule)
    aggregation = rule.aggregation
    if aggregation is not None and logs:
        made = [name for entry in logs for name in entry.head.variables if name in rule.head.variables]
        group = dict.fromkeys((*aggregation.group, *(n for n in made if n != aggregation.variable)))
        aggregation = replace(aggregation, group=tuple(group))
    positives = (*rule.positives, *(entry.head for entry in logs))
    body = replace(
        rule, positives=positives, before=before, after=after, inventions=(), aggregation=aggregation
    )
    return logs, body


def _early(rule: CheckedRule, assign: Assign) -> CheckedRule:
    """The rule with an assignment before its conditions on nulls, so that it is also executed if they fail."""
    steps = [s for s in rule.before if isinstance(s, Assign) or not has_skolem(s.expression)]
    return replace(rule, before=(*steps, assign))


def _lifted(step: Step, log: Callable[[Sequence[str], Assign], None]) -> Step:
    """A condition that reads its Skolem terms from the logs, as variables named like the terms."""
    assert not isinstance(step, Assign)
    terms = [e for e in walk(step.expression) if isinstance(e, Skolem)]
    outer = [t for t in terms if not any(t is not o and any(t is e for e in walk(o)) for o in terms)]
    for term in outer:
        log([*variables(term), str(term)], Assign(str(term), term, step.span))

    def read(node: Expression) -> Expression:
        return Variable(str(node)) if isinstance(node, Skolem) else node

    return replace(step, expression=rewrite(step.expression, read))
