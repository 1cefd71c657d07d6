"""Whose values decide whether the numbers of some predicates are integers or doubles."""

from __future__ import annotations

from collections.abc import Collection

from kgreason.analysis.checked import Aggregation, Assign, CheckedProgram, CheckedRule
from kgreason.analysis.expressions import walk
from kgreason.engine.table import Kind
from kgreason.lang.ast import Expression, Variable
from kgreason.plan.kinds import Kinds, Position


def deciding(program: CheckedProgram, kinds: Kinds, needed: Collection[str]) -> set[str]:
    """Predicates of which doubles could come to the integers of the `needed` ones, by whatever rules.

    Parameters
    ----------
    kinds
        As far as they are known.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> from kgreason.engine.table import Facts
    >>> from kgreason.plan.kinds import infer
    >>> program = load_text("r(X) :- a(X, N), w(N). s(X) :- a(X, _), t(X).")
    >>> kinds = infer(program, Facts.from_rows({"a": [("x", 1)]}))
    >>> sorted(deciding(program, kinds, ["a"]))
    ['a', 'w']
    """
    found = {p for p, kind in kinds.positions.items() if p[0] in needed and kind in (Kind.INT, Kind.ANY)}
    size = -1
    while size != len(found):
        size = len(found)
        for rule in program.rules:
            names = _variables(rule, found)
            for atom in (*rule.positives, *rule.negatives):
                found.update(
                    (atom.predicate, i)
                    for i, t in enumerate(atom.terms)
                    if isinstance(t, Variable) and t.name in names
                )
    return {predicate for predicate, _ in found}


def _variables(rule: CheckedRule, positions: Collection[Position]) -> set[str]:
    """Variables of a rule whose types can reach some of its positions."""
    names = {
        term.name
        for atom in (rule.head, *rule.positives, *rule.negatives)
        for i, term in enumerate(atom.terms)
        if isinstance(term, Variable) and (atom.predicate, i) in positions
    }
    for step in reversed((*rule.before, rule.aggregation, *rule.after)):
        if isinstance(step, Assign) and step.variable in names:
            names |= _used(step.expression)
        elif isinstance(step, Aggregation) and step.variable in names and step.argument is not None:
            names |= _used(step.argument)
    return names


def _used(expression: Expression) -> set[str]:
    return {node.name for node in walk(expression) if isinstance(node, Variable)}
