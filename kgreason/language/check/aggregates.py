"""Aggregates: their form in a rule, and their contributors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from kgreason.base.errors import Findings
from kgreason.language.check.checked_program import Assign, Filter, Step
from kgreason.language.check.expressions import grown, names, walk
from kgreason.language.syntax.syntax_tree import Aggregate, Constant, Expression, Variable
from kgreason.language.vocabulary import MONOTONIC

IN_RECURSION = {name: f"m{name}" for name in ("sum", "prod", "count", "min", "max")}
"""Stratified functions that are read as monotonic ones in recursion."""


class RuleAggregate(NamedTuple):
    """Aggregate of a rule whose stratum is not yet known."""

    variable: str
    node: Aggregate
    group: tuple[str, ...] = ()


def find_aggregate(
    assigns: Sequence[Assign], filters: Sequence[Filter], bound: set[str], findings: Findings
) -> RuleAggregate | Literal[False] | None:
    """The single aggregate of a rule; `None` if there is none, `False` with findings if it is invalid."""
    fine = True
    steps: tuple[Step, ...] = (*assigns, *filters)
    for step in steps:
        for node in walk(step.expression):
            alone = isinstance(step, Assign) and node is step.expression
            if isinstance(node, Aggregate) and not alone:
                fine = False
                _misplaced(node, step.expression, bound, findings)
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
    return RuleAggregate(found[0][0].variable, found[0][1]) if found else None


def _misplaced(node: Aggregate, expression: Expression, bound: set[str], findings: Findings) -> None:
    left = getattr(expression, "left", None)
    taken = isinstance(left, Variable) and left.name in bound and getattr(expression, "right", None) is node
    findings.add(
        "E111",
        f"`{node}` must be the whole right side of an assignment",
        node.span,
        note=f"{left} has a value already, so that `=` compares" if taken else None,
        hint=f"write `Total = {node}`" + (f", Total == {left}" if taken else " and use Total"),
    )


def _form(node: Aggregate, findings: Findings) -> bool:
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


def dependent(variable: str, steps: Iterable[Step]) -> set[str]:
    """The variable and all variables computed from it."""
    assigns = [s for s in steps if isinstance(s, Assign)]
    return grown({variable}, lambda late: {s.variable for s in assigns if names(s.expression) & late})


def monotonic_name(function: str, recursive: bool) -> str | None:
    """Monotonic form of a function: ``sum`` becomes ``msum`` in recursion; `None` for a stratified aggregate."""
    if function in MONOTONIC:
        return function
    return IN_RECURSION.get(function) if recursive else None


def named_contributors(aggregate: RuleAggregate) -> tuple[str, ...] | None:
    """Contributors given by ``<...>`` or a list, or the variable of a count; `None` for the default.

    Variables of the group do not distinguish contributions: a list or a count of only these names the group.
    """
    node = aggregate.node
    if node.contributors is not None and node.groups is None:
        return tuple(dict.fromkeys(v.name for v in node.contributors))
    listed = node.contributors
    if listed is None:
        listed = node.groups or ()
        if node.function in ("mcount", "count") and isinstance(node.argument, Variable):
            listed = (*listed, node.argument)
    names = tuple(dict.fromkeys(v.name for v in listed))
    return None if set(names) <= set(aggregate.group) else names
