"""Safety of a rule: bound variables, assignments without cycles, and at most one aggregate of correct form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from kgreason.base.errors import Findings
from kgreason.language.check.checked_program import Assign, CheckedAtom, Filter, Step
from kgreason.language.check.expressions import grown, names, variables, walk
from kgreason.language.syntax.syntax_tree import Aggregate, Binary, Constant, Expression, Variable
from kgreason.language.vocabulary import MONOTONIC, meant

IN_RECURSION = {name: f"m{name}" for name in ("sum", "prod", "count", "min", "max")}
"""Stratified functions that are read as monotonic ones in recursion."""


@dataclass(frozen=True, slots=True)
class RuleAggregate:
    """Aggregate of a rule whose stratum is not yet known."""

    variable: str
    node: Aggregate
    group: tuple[str, ...] = ()


class Safety:
    """Safety checks of a rule with these body atoms; each returns whether it passes."""

    def __init__(
        self, positives: Sequence[CheckedAtom], negatives: Sequence[CheckedAtom], findings: Findings
    ) -> None:
        self.positives, self.negatives, self.findings = positives, negatives, findings

    def all_bound(self, steps: Sequence[Step], available: set[str]) -> bool:
        """Report steps that could not be ordered: cyclic assignments and unbound variables."""
        for variable, step in self._open_variables(steps, available):
            self._unbound(variable, step)
        return not steps

    def _open_variables(self, steps: Sequence[Step], known: set[str]) -> Iterator[tuple[Variable, Step]]:
        """Unbound variables of steps; reports cyclic assignments."""
        assigned = {s.variable: s for s in steps if isinstance(s, Assign)}
        if found := _cycle(assigned):
            self._report_cycle(found)
        for step in steps:
            for variable in variables(step.expression):
                if variable.name not in known and variable.name not in assigned:
                    yield variable, step

    def _report_cycle(self, found: list[Assign]) -> None:
        path = " -> ".join([*(a.variable for a in found), found[0].variable])
        self.findings.add(
            "E105",
            f"assignments need each other: {path}",
            found[0].span,
            note="an assignment computes the value of a variable from others; it is no equation to solve",
            hint="bind one of the variables in an atom",
            related=tuple((a.span, f"`{a}`") for a in found[1:]),
        )

    def _unbound(self, variable: Variable, step: Step | None, where: str = "") -> None:
        self.findings.add(
            "E101",
            f"the variable {_shown(variable)} is not bound{where}",
            variable.span,
            note=f"a variable of {_role(step)} needs a value: from a positive atom of the body or an assignment",
            hint=self._unbound_hint(variable, step),
        )

    def _unbound_hint(self, variable: Variable, step: Step | None) -> str | None:
        if variable.anonymous:
            return "name it, and use the name in an atom"
        if closest := _nearest(variable.name, self._bound()):
            return closest
        test = step.expression if isinstance(step, Filter) else None
        if isinstance(test, Binary) and test.operator == "==" and test.right == variable:
            return f"an assignment has its variable on the left: `{variable} = {test.left}`"
        if isinstance(test, Binary) and test.operator == "in" and test.left == variable:
            return "`in` tests and binds nothing; nothing takes a list apart: keep its elements in facts of their own"
        if any(variable.name in a.variables for a in self.negatives):
            return "a negated atom binds nothing: add a positive atom with it"
        return f"add an atom with {variable} to the body"

    def _bound(self) -> set[str]:
        return {v for a in self.positives for v in a.variables if not v.startswith("_")}

    def aggregate_bound(self, aggregate: RuleAggregate, available: set[str]) -> bool:
        """Check the variables that an aggregate uses."""
        free = [v for v in variables(aggregate.node) if v.name not in available]
        for variable in free:
            self._unbound(variable, None, f" where `{aggregate.node}` aggregates")
        return not free

    def visible(
        self, steps: Sequence[Step], after: set[str], available: set[str], aggregate: RuleAggregate
    ) -> bool:
        """Report steps that could not be ordered after the aggregation, where only `after` have values."""
        for variable, step in self._open_variables(steps, after):
            if variable.name not in available:
                self._unbound(variable, step)
                continue
            self.findings.add(
                "E113",
                f"the variable {_shown(variable)} has no value after the aggregation",
                variable.span,
                note=f"after `{aggregate.variable} = {aggregate.node}` each group has one result, "
                "and the group is the head variables",
                hint=f"put {_shown(variable)} into the head, or the condition into another rule",
            )
        return not steps

    def negations(self, late: set[str]) -> bool:
        """Report negated atoms that use values of the aggregation."""
        culprits = [a for a in self.negatives if set(a.variables) & late]
        for atom in culprits:
            self.findings.add(
                "E114",
                f"`not {atom}` uses a value of the aggregation",
                atom.span,
                note="negated atoms are tested before the aggregation",
                hint="derive the aggregate in one rule and negate in a second one",
            )
        return not culprits

    def same_group(self, aggregate: RuleAggregate, group: Iterable[str]) -> bool:
        """Check the group that the older form of an aggregate repeats."""
        groups = aggregate.node.groups
        if groups is None or aggregate.node.contributors is None or {v.name for v in groups} == set(group):
            return True
        self.findings.add(
            "E117",
            f"the group [{', '.join(v.name for v in groups)}] differs from the one of the head "
            f"[{', '.join(group)}]",
            aggregate.node.span,
            note="the group of an aggregate is the other variables of the head",
            hint=f"write `{aggregate.node.function}({aggregate.node.argument}, "
            f"<{', '.join(map(str, aggregate.node.contributors or ()))}>)`",
        )
        return False

    def one_group(self, aggregate: RuleAggregate) -> None:
        """Warn that the aggregate of a constraint, which has no head, is one value over all matches."""
        used = names(aggregate.node)
        rest = [v for a in self.positives for v in a.variables if v not in used and not v.startswith("_")]
        if aggregate.node.groups is None and rest:
            self.findings.add(
                "W504",
                f"`{aggregate.node}` is one value for all matches of the body, not one for each {rest[0]}",
                aggregate.node.span,
                note="the group of an aggregate is the other variables of the head, and a constraint has none",
                hint=f"derive `total({rest[0]}, {aggregate.variable})` in a rule of its own, "
                "and test it in the constraint",
            )

    def sides_bound(self, left: Variable, right: Variable, available: set[str]) -> bool:
        """Check the two sides of an equality-generating dependency."""
        free = [v for v in (left, right) if v.name not in available]
        for variable in free:
            self.findings.add(
                "E120",
                f"the variable {_shown(variable)} of the equality is not bound in the body",
                variable.span,
                note="`X = Y :- ...` makes one of two values that its body finds",
                hint=_nearest(variable.name, available - {left.name, right.name})
                or f"add an atom with {_shown(variable)} to the body",
            )
        return not free

    def misspelt(self, invented: Variable, in_head: set[str]) -> bool:
        """Whether an existential variable is probably a misspelt body variable missing from the head; warns if so."""
        twin = next((v for v in sorted(self._bound() - in_head) if _alike(v, invented.name)), None)
        if twin is None or invented.anonymous:
            return False
        self.findings.add(
            "W507",
            f"the head variable {invented} is not bound in the body, and {twin} is not used in the head",
            invented.span,
            note="a variable that only the head has is existential: its value is a new null",
            hint=f"did you mean {twin}?",
        )
        return True

    def forgotten(self, invented: Sequence[Variable], once: Sequence[Variable]) -> None:
        """Warn of an existential variable and an unused body variable that may be meant to be the same."""
        first = next((v for v in invented if not v.anonymous), None)
        if first is None or not once:
            return
        *rest, last = [v.name for v in once]
        listed = f"{', '.join(rest)} and {last} occur" if rest else f"{last} occurs"
        self.findings.add(
            "W507",
            f"{first} occurs only in the head, so it is a labelled null, and {listed} only once",
            first.span,
            note="a variable that only the head has is existential: its value is a new null",
            hint=f"is {'one of them' if rest else last} meant in the head? "
            "If not, write `_` for what does not matter",
            related=tuple((v.span, f"{v} occurs only here") for v in once[:3]),
        )


def decimal_comma(before: Expression | None, node: Expression) -> str | None:
    """Explain ``W >= 0,5``: the comma ends the condition."""
    left = before.right if isinstance(before, Binary) else before
    if not all(isinstance(n, Constant) and type(n.value) is int for n in (left, node)):
        return None
    assert left is not None
    start, end = node.span, left.span
    if (end.end_line, end.end_column + 1) != (start.line, start.column):
        return None
    digits = str(node).zfill(start.end_column - start.column)
    return f"a decimal point is written `.`: `{left}.{digits}`"


def _role(step: Step | None) -> str:
    """What a step is, for messages; the name of an expression in an atom begins with ``_T``."""
    test = step.expression if isinstance(step, Filter) else None
    made = test.left if isinstance(test, Binary) else None
    name = step.variable if isinstance(step, Assign) else made.name if isinstance(made, Variable) else ""
    if name.startswith("_T"):
        return "an expression in an atom"
    return "a condition, an assignment or an aggregate"


def _alike(one: str, other: str) -> bool:
    """Whether two names differ by a typing error, not by a number or a letter after a short name."""
    a, b = (name.lower().rstrip("0123456789_") for name in (one, other))
    if a == b:
        return one.lower() == other.lower()
    return min(len(a), len(b)) > 3 and SequenceMatcher(None, a, b).ratio() >= 0.8


def _shown(variable: Variable) -> str:
    return "`_`" if variable.anonymous else variable.name


def _nearest(name: str, known: Iterable[str]) -> str | None:
    return meant(name, [v for v in known if not v.startswith("_")], "{}") if len(name) > 2 else None


def _cycle(assigned: dict[str, Assign]) -> list[Assign]:
    for start in assigned:
        path: list[str] = []
        current: str | None = start
        while current is not None and current not in path:
            path.append(current)
            current = next((v for v in sorted(names(assigned[current].expression)) if v in assigned), None)
        if current is not None:
            return [assigned[v] for v in path[path.index(current) :]]
    return []


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
