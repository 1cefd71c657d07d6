"""One rule: safety, and the order in which its body is evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kgreason.analysis.aggregation import AggregateDraft, find_aggregate
from kgreason.analysis.checked import Assign, CheckedAtom, Filter, Step
from kgreason.analysis.expressions import boolean, names, supported, variables, well_formed
from kgreason.analysis.findings import Findings
from kgreason.errors import Span
from kgreason.lang.ast import (
    Aggregate,
    Atom,
    Binary,
    Condition,
    Constant,
    Equation,
    Expression,
    Negation,
    Rule,
    Variable,
)
from kgreason.lang.names import FUNCTIONS, suggest


@dataclass(frozen=True, slots=True)
class Draft:
    """A rule whose body is sorted; what depends on the other rules is still open."""

    heads: tuple[CheckedAtom, ...]
    positives: tuple[CheckedAtom, ...]
    negatives: tuple[CheckedAtom, ...]
    before: tuple[Step, ...]
    aggregate: AggregateDraft | None
    after: tuple[Step, ...]
    text: str
    span: Span


def checked_atom(atom: Atom, findings: Findings) -> CheckedAtom | None:
    """An atom whose arguments are variables and constants; `None` with a finding for any other."""
    if not all(_term(argument, findings) for argument in atom.arguments):
        return None
    terms = tuple(a for a in atom.arguments if isinstance(a, Variable | Constant))
    return CheckedAtom(atom.predicate, terms, atom.span)


def _term(argument: Expression, findings: Findings) -> bool:
    if isinstance(argument, Variable | Constant):
        return True
    if isinstance(argument, Aggregate) and argument.contributors is None:
        known = False
    else:
        known = supported(argument, findings)
    if known or isinstance(argument, Aggregate):
        findings.add(
            "E103",
            f"`{argument}` cannot be an argument of an atom",
            argument.span,
            note="arguments are variables and constants",
            hint=f"assign it in the body first: `Value = {argument}`",
        )
    return False


def draft(rule: Rule, defined: frozenset[str], findings: Findings) -> Draft | None:
    """Sort the body of a rule; `None` with findings if it is not safe.

    Parameters
    ----------
    defined
        Predicates with facts, rules or annotations: they win over functions of the same name.
    """
    body = _Body(rule, findings)
    heads = [checked_atom(a, findings) for a in rule.head]
    for item in rule.body:
        body.add(item, defined)
    if not body.fine or None in heads:
        return None
    atoms = tuple(a for a in heads if a is not None)
    return body.sort(atoms)


class _Body:
    def __init__(self, rule: Rule, findings: Findings) -> None:
        self.rule, self.findings = rule, findings
        self.positives: list[CheckedAtom] = []
        self.negatives: list[CheckedAtom] = []
        self.equations: list[Equation] = []
        self.conditions: list[Expression] = []
        self.fine = True

    def add(self, item: Atom | Negation | Equation | Condition, defined: frozenset[str]) -> None:
        match item:
            case Atom():
                self._add_atom(item, self.positives, defined)
            case Negation():
                self._add_atom(item.atom, self.negatives, defined)
            case Equation():
                if self._usable(item.left) & self._usable(item.right):
                    self.equations.append(item)
            case Condition():
                if self._usable(item.expression) and self._is_condition(item.expression):
                    self.conditions.append(item.expression)

    def _add_atom(self, atom: Atom, atoms: list[CheckedAtom], defined: frozenset[str]) -> None:
        if atom.predicate not in defined and (atom.predicate in FUNCTIONS or ":" in atom.predicate):
            self.findings.add(
                "E202",
                f"the function `{atom.predicate}` is not supported by this version",
                atom.span,
                hint=f'if it is a predicate, declare it: @input("{atom.predicate}")',
            )
            self.fine = False
            return
        checked = checked_atom(atom, self.findings)
        if checked is None:
            self.fine = False
        else:
            atoms.append(checked)

    def _usable(self, node: Expression) -> bool:
        fine = supported(node, self.findings) and well_formed(node, self.findings)
        self.fine = self.fine and fine
        return fine

    def _is_condition(self, node: Expression) -> bool:
        if boolean(node) is not False and not isinstance(node, Aggregate):
            return True
        self.findings.add(
            "E107",
            f"`{node}` is no condition",
            node.span,
            note="a body consists of atoms, negations, assignments and conditions that are true or false",
            hint=f"compare it, as in `{node} > 0`"
            if not isinstance(node, Aggregate)
            else f"`Value = {node}`",
        )
        self.fine = False
        return False

    def sort(self, heads: tuple[CheckedAtom, ...]) -> Draft | None:
        """Order the steps so that each uses bound variables only."""
        bound = {v for a in self.positives for v in a.variables}
        assigns, filters = self._read_equations(bound)
        aggregate = find_aggregate(assigns, filters, bound, self.findings)
        if aggregate is False:
            return None
        plain: list[Step] = [a for a in assigns if not isinstance(a.expression, Aggregate)]
        late = _dependent(aggregate.variable, plain) if aggregate else set()
        steps: list[Step] = [*filters, *plain]
        before, open_before = _order(
            [s for s in steps if not _needs(s) & late and _gives(s) not in late], bound
        )
        available = bound | {s.variable for s in before if isinstance(s, Assign)}
        fine = self._all_bound(open_before, available)
        group: tuple[str, ...] = ()
        after: list[Step] = []
        if aggregate:
            group = tuple(dict.fromkeys(v for h in heads for v in h.variables if v in available))
            fine &= self._aggregate_bound(aggregate, available)
            late_steps = [s for s in steps if _needs(s) & late or _gives(s) in late]
            after, open_after = _order(late_steps, {*group, aggregate.variable})
            fine &= self._visible(open_after, {*group, *late}, available, aggregate)
            fine &= self._negations(late)
            fine &= self._same_group(aggregate, group)
        fine &= self._head_bound(heads, available | late | {a.variable for a in assigns})
        if not fine:
            return None
        return Draft(
            heads,
            tuple(self.positives),
            tuple(self.negatives),
            tuple(before),
            aggregate.with_group(group) if aggregate else None,
            tuple(after),
            str(self.rule),
            self.rule.span,
        )

    def _read_equations(self, bound: set[str]) -> tuple[list[Assign], list[Filter]]:
        """Tell assignments from comparisons: the first ``X = ...`` of an unbound X assigns."""
        assigns: list[Assign] = []
        filters = [Filter(c, c.span) for c in self.conditions]
        given = set(bound)
        for equation in self.equations:
            left = equation.left
            if isinstance(left, Variable) and left.name not in given:
                given.add(left.name)
                assigns.append(Assign(left.name, equation.right, equation.span))
            else:
                test = Binary("==", left, equation.right, span=equation.span)
                filters.append(Filter(test, equation.span))
        filters.sort(key=lambda f: (f.span.line, f.span.column))
        return assigns, filters

    def _all_bound(self, steps: Sequence[Step], available: set[str]) -> bool:
        """Report what `_order` could not place: cycles of assignments, and variables nothing binds."""
        assigned = {s.variable: s for s in steps if isinstance(s, Assign)}
        cycle = _cycle(assigned)
        if cycle:
            self._report_cycle(cycle)
        for step in steps:
            for variable in variables(step.expression):
                if variable.name not in available and variable.name not in assigned:
                    self._unbound(variable, step)
        return not steps

    def _report_cycle(self, cycle: list[Assign]) -> None:
        path = " -> ".join([*(a.variable for a in cycle), cycle[0].variable])
        self.findings.add(
            "E105",
            f"assignments need each other: {path}",
            cycle[0].span,
            note="an assignment computes the value of a variable from others; it is no equation to solve",
            hint="bind one of the variables in an atom",
            related=tuple((a.span, f"`{a}`") for a in cycle[1:]),
        )

    def _unbound(self, variable: Variable, step: Step | None, where: str = "") -> None:
        self.findings.add(
            "E101",
            f"the variable {_shown(variable)} is not bound{where}",
            variable.span,
            note="a variable of a condition, an assignment or an aggregate needs a value: "
            "from a positive atom of the body or an assignment",
            hint=self._unbound_hint(variable, step),
        )

    def _unbound_hint(self, variable: Variable, step: Step | None) -> str | None:
        if variable.anonymous:
            return "name it, and use the name in an atom"
        known = {v for a in self.positives for v in a.variables if not v.startswith("_")}
        closest = _nearest(variable.name, known)
        if closest:
            return f"did you mean {closest}?"
        test = step.expression if isinstance(step, Filter) else None
        if isinstance(test, Binary) and test.operator == "==" and test.right == variable:
            return f"an assignment has its variable on the left: `{variable} = {test.left}`"
        if any(variable.name in a.variables for a in self.negatives):
            return "a negated atom binds nothing: add a positive atom with it"
        return f"add an atom with {variable} to the body"

    def _aggregate_bound(self, aggregate: AggregateDraft, available: set[str]) -> bool:
        free = [v for v in variables(aggregate.node) if v.name not in available]
        for variable in free:
            self._unbound(variable, None, f" where `{aggregate.node}` aggregates")
        return not free

    def _visible(
        self, steps: Sequence[Step], visible: set[str], available: set[str], aggregate: AggregateDraft
    ) -> bool:
        assigned = {s.variable: s for s in steps if isinstance(s, Assign)}
        cycle = _cycle(assigned)
        if cycle:
            self._report_cycle(cycle)
        for step in steps:
            for variable in variables(step.expression):
                if variable.name in visible or variable.name in assigned:
                    continue
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

    def _negations(self, late: set[str]) -> bool:
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

    def _same_group(self, aggregate: AggregateDraft, group: tuple[str, ...]) -> bool:
        groups = aggregate.node.groups
        if groups is None or {v.name for v in groups} == set(group):
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

    def _head_bound(self, heads: tuple[CheckedAtom, ...], available: set[str]) -> bool:
        free = [t for h in heads for t in h.terms if isinstance(t, Variable) and t.name not in available]
        known = {v for v in available if not v.startswith("_")}
        for variable in free:
            closest = None if variable.anonymous else _nearest(variable.name, known)
            self.findings.add(
                "E201",
                f"the head variable {_shown(variable)} is not bound in the body: "
                "existential variables are not supported by this version",
                variable.span,
                note="each head variable needs a value from a positive atom or an assignment of the body",
                hint=f"did you mean {closest}?" if closest else f"bind {_shown(variable)} in the body",
            )
        return not free


def _shown(variable: Variable) -> str:
    return "`_`" if variable.anonymous else variable.name


def _nearest(name: str, known: Iterable[str]) -> str | None:
    return suggest(name, known) if len(name) > 2 else None


def _needs(step: Step) -> frozenset[str]:
    return names(step.expression)


def _gives(step: Step) -> str | None:
    return step.variable if isinstance(step, Assign) else None


def _dependent(variable: str, steps: Iterable[Step]) -> set[str]:
    """The variable and all that is computed from it."""
    steps = list(steps)
    late, size = {variable}, 0
    while size < len(late):
        size = len(late)
        late.update(s.variable for s in steps if isinstance(s, Assign) and _needs(s) & late)
    return late


def _order(steps: Iterable[Step], bound: set[str]) -> tuple[list[Step], list[Step]]:
    """Order steps by what they need, filters as early as possible; also the rest that never gets ready."""
    waiting = sorted(steps, key=lambda s: isinstance(s, Assign))
    ready: list[Step] = []
    given = set(bound)
    while True:
        step = next((s for s in waiting if _needs(s) <= given), None)
        if step is None:
            return ready, waiting
        waiting.remove(step)
        ready.append(step)
        if isinstance(step, Assign):
            given.add(step.variable)


def _cycle(assigned: dict[str, Assign]) -> list[Assign]:
    """A cycle among assignments that wait for each other, empty if there is none."""
    for start in assigned:
        path: list[str] = []
        current: str | None = start
        while current is not None and current not in path:
            path.append(current)
            current = next((v for v in sorted(_needs(assigned[current])) if v in assigned), None)
        if current is not None:
            return [assigned[v] for v in path[path.index(current) :]]
    return []
