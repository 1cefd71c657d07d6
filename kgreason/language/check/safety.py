"""Safety of a rule: bound variables, and assignments without cycles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kgreason.base.errors import Findings
from kgreason.language.check.aggregates import RuleAggregate
from kgreason.language.check.checked_program import Assign, CheckedAtom, Filter, Step
from kgreason.language.check.expressions import names, variables
from kgreason.language.syntax.syntax_tree import Binary, Constant, Expression, Variable
from kgreason.language.vocabulary import meant


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
    from difflib import SequenceMatcher

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
