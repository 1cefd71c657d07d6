"""Equalities that depend on what their own merging can change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kgreason.analysis.checked import Assign, CheckedAtom, CheckedRule, Stratum, Unification
from kgreason.analysis.expressions import walk
from kgreason.analysis.findings import Findings
from kgreason.lang.ast import Skolem


def check_equalities(
    unifications: Sequence[Unification], strata: Iterable[Stratum], findings: Findings
) -> None:
    """Warn of equalities behind a negation or a stratified aggregate of predicates that can hold nulls.

    Merging two nulls can make a negated atom true, or a total another one; what an equality concluded from the
    state before is not taken back.
    """
    rules = [rule for stratum in strata for rule in stratum.rules] if unifications else []
    nulls = _with_nulls(rules)
    for unification in unifications:
        rule = unification.rule
        for atom, words in _strict_uses(rule, rules):
            if atom.predicate in nulls:
                findings.add(
                    "W505",
                    f"the equality depends on `{atom.predicate}` {words}, and merging nulls can change it",
                    rule.span,
                    note="equalities are applied to what was known before the merging, and never taken back",
                    hint="let the equality depend on predicates without nulls there",
                    related=()
                    if atom in (*rule.negatives, *rule.positives)
                    else ((atom.span, f"`{atom.predicate}` {words}"),),
                )
                break


def _with_nulls(rules: Sequence[CheckedRule]) -> set[str]:
    """Predicates with a null of some rule above them."""
    found = {rule.head.predicate for rule in rules if _makes_nulls(rule)}
    size = -1
    while size < len(found):
        size = len(found)
        found |= {r.head.predicate for r in rules if any(a.predicate in found for a in r.positives)}
    return found


def _makes_nulls(rule: CheckedRule) -> bool:
    steps = (s for s in (*rule.before, *rule.after) if isinstance(s, Assign))
    return bool(rule.inventions) or any(isinstance(n, Skolem) for s in steps for n in walk(s.expression))


def _strict_uses(rule: CheckedRule, rules: Sequence[CheckedRule]) -> Iterator[tuple[CheckedAtom, str]]:
    """Atoms under negation or a stratified aggregate that a rule needs, its own first."""
    seen: set[str] = set()
    queue = [rule]
    for current in queue:
        yield from ((atom, "under `not`") for atom in current.negatives)
        if current.aggregation and not current.aggregation.monotonic:
            yield from ((atom, "under an aggregate") for atom in current.positives)
        needed = {a.predicate for a in (*current.positives, *current.negatives)} - seen
        seen |= needed
        queue += [r for r in rules if r.head.predicate in needed]
