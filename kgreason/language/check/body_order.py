"""Check of one rule: safety, and the evaluation order of its body."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple

from kgreason.base.errors import Findings
from kgreason.language.check.aggregates import RuleAggregate, dependent, find_aggregate
from kgreason.language.check.call_types import no_predicate
from kgreason.language.check.checked_program import Assign, CheckedAtom, Filter, Invention, Step
from kgreason.language.check.expressions import boolean, fold, names, supported, variables, well_formed
from kgreason.language.check.safety import Safety, decimal_comma
from kgreason.language.syntax.syntax_tree import (
    Aggregate,
    Atom,
    Binary,
    Bodied,
    BodyItem,
    Condition,
    Constant,
    Equation,
    Expression,
    Fact,
    Negation,
    Term,
    Variable,
    expressions,
)


class WrittenClause(NamedTuple):
    """A clause with head and body: a rule, an equality, a constraint or a fact with a null.

    The head of an equality or a constraint has a hidden predicate; its arguments are the two sides of the equality,
    followed by variables that messages name. Clauses with a body are numbered from 1.
    """

    kind: Literal["rule", "equality", "constraint", "fact"]
    number: int
    head: tuple[Atom, ...]
    body: tuple[BodyItem, ...]
    clause: Fact | Bodied


class OrderedRule(NamedTuple):
    """A rule with its body in evaluation order; what depends on the other rules is not yet decided."""

    heads: tuple[CheckedAtom, ...]
    positives: tuple[CheckedAtom, ...]
    negatives: tuple[CheckedAtom, ...]
    before: tuple[Step, ...]
    aggregate: RuleAggregate | None
    after: tuple[Step, ...]
    inventions: tuple[Invention, ...]
    written: WrittenClause

    @property
    def steps(self) -> tuple[Step, ...]:
        """Steps before and after the aggregation."""
        return (*self.before, *self.after)

    @property
    def hidden(self) -> bool:
        """Whether it represents an equality or a constraint."""
        return self.written.kind in ("equality", "constraint")


def order_body(written: WrittenClause, findings: Findings) -> OrderedRule | None:
    """Order the body of a rule; `None` with findings if it is not safe."""
    body = _Body(written, findings)
    for item in written.body:
        body.add(item)
    heads = []
    for atom in written.head:
        head, steps = body.terms.atom(atom)
        heads.append(head)
        body.head_steps += steps
    return body.sort(tuple(heads)) if body.fine and body.terms.fine else None


class _Body:
    def __init__(self, written: WrittenClause, findings: Findings) -> None:
        self.written, self.findings = written, findings
        self.positives: list[CheckedAtom] = []
        self.negatives: list[CheckedAtom] = []
        self.equations: list[Equation] = []
        self.filters: list[Filter] = []
        self.negated_steps: list[Assign] = []
        self.head_steps: list[Assign] = []
        self.terms = Terms(findings)
        self.fine = True
        self._previous: Expression | None = None  # the condition or equation before
        self.safety = Safety(self.positives, self.negatives, findings)

    def add(self, item: BodyItem) -> None:
        match item:
            case Atom():
                atom, steps = self.terms.atom(item)
                self.positives.append(atom)
                for s in steps:
                    same = Binary("==", Variable(s.variable, span=s.span), s.expression, span=s.span)
                    self.filters.append(Filter(same, s.span))
            case Negation():
                atom, steps = self.terms.atom(item.atom)
                self.negatives.append(atom)
                self.negated_steps += steps
            case Equation():
                self._previous = item.right
                if self._usable(item.left) & self._usable(item.right):
                    left, right = fold(item.left, self.findings), fold(item.right, self.findings)
                    self.equations.append(Equation(left, right, span=item.span))
            case Condition():
                before, self._previous = self._previous, item.expression
                if not no_predicate(item.expression, self.findings):
                    self.fine = False
                elif self._usable(item.expression) and self._is_condition(item.expression, before):
                    self.filters.append(Filter(fold(item.expression, self.findings), item.expression.span))

    def _usable(self, node: Expression) -> bool:
        fine = supported(node, self.findings) and well_formed(node, self.findings)
        self.fine = self.fine and fine
        return fine

    def _is_condition(self, node: Expression, before: Expression | None) -> bool:
        if boolean(node) is not False and not isinstance(node, Aggregate):
            return True
        self.findings.add(
            "E107",
            f"`{node}` is no condition",
            node.span,
            note="a body consists of atoms, negations, assignments and conditions that are true or false",
            hint=f"`Value = {node}`"
            if isinstance(node, Aggregate)
            else decimal_comma(before, node) or f"compare it, as in `{node} > 0`",
        )
        self.fine = False
        return False

    def sort(self, heads: tuple[CheckedAtom, ...]) -> OrderedRule | None:
        """Order the steps so that each uses bound variables only."""
        bound = {v for a in self.positives for v in a.variables}
        assigns, filters = self._read_equations(bound)
        aggregate = find_aggregate(assigns, filters, bound, self.findings)
        if aggregate is False:
            return None
        plain: list[Step] = [a for a in assigns if not isinstance(a.expression, Aggregate)]
        late = dependent(aggregate.variable, plain) if aggregate else set()
        steps = [*filters, *plain, *self.negated_steps]
        early = [s for s in steps if not names(s.expression) & late]
        before, open_before = _order([*early, *([] if aggregate else self.head_steps)], bound)
        available = bound | {s.variable for s in before if isinstance(s, Assign)}
        fine = self.safety.all_bound(open_before, available)
        after: list[Step] = []
        if aggregate:
            aggregate = aggregate._replace(group=self._group(aggregate, heads, available))
            late_steps = [s for s in steps if names(s.expression) & late]
            known = {*aggregate.group, aggregate.variable}
            after, open_after = _order([*late_steps, *self.head_steps], known)
            fine &= self._aggregate(aggregate, open_after, available, late)
        known = available | late | {a.variable for a in (*assigns, *self.head_steps)}
        if self.written.kind == "equality":
            left, right = (t for t in heads[0].terms if isinstance(t, Variable))
            fine &= self.safety.sides_bound(left, right, known)
        if not fine:
            return None
        heads = self._shown(heads, {*aggregate.group, *late} if aggregate else available)
        return OrderedRule(
            heads,
            tuple(self.positives),
            tuple(self.negatives),
            tuple(before),
            aggregate,
            tuple(after),
            self._inventions(heads, aggregate, available, known),
            self.written,
        )

    def _read_equations(self, bound: set[str]) -> tuple[list[Assign], list[Filter]]:
        """Separate assignments from comparisons: the first ``X = ...`` of an unbound X is an assignment."""
        assigns: list[Assign] = []
        filters = list(self.filters)
        known = set(bound)
        for equation in self.equations:
            left = equation.left
            if isinstance(left, Variable) and left.name not in known:
                known.add(left.name)
                assigns.append(Assign(left.name, equation.right, equation.span))
            else:
                test = Binary("==", left, equation.right, span=equation.span)
                filters.append(Filter(test, equation.span))
        filters.sort(key=lambda f: (f.span.line, f.span.column))
        return assigns, filters

    def _group(
        self, aggregate: RuleAggregate, heads: tuple[CheckedAtom, ...], available: set[str]
    ) -> tuple[str, ...]:
        node = aggregate.node
        if self.written.kind == "constraint":
            groups = node.groups if node.groups and node.contributors is not None else ()
            return tuple(dict.fromkeys(v.name for v in groups if v.name in available))
        return tuple(v for v in self._in_head(heads) if v in available)

    def _in_head(self, heads: tuple[CheckedAtom, ...]) -> dict[str, None]:
        """Variables of the head as written, including those inside terms."""
        made = {s.variable for s in self.head_steps}
        plain = dict.fromkeys(v for h in heads for v in h.variables if v not in made)
        return plain | dict.fromkeys(v.name for s in self.head_steps for v in variables(s.expression))

    def _aggregate(
        self, aggregate: RuleAggregate, waiting: list[Step], available: set[str], late: set[str]
    ) -> bool:
        fine = self.safety.aggregate_bound(aggregate, available)
        fine &= self.safety.visible(waiting, {*aggregate.group, *late}, available, aggregate)
        fine &= self.safety.negations(late)
        if self.written.kind == "constraint":
            self.safety.one_group(aggregate)
        return fine and self.safety.same_group(aggregate, aggregate.group)

    def _inventions(
        self,
        heads: tuple[CheckedAtom, ...],
        aggregate: RuleAggregate | None,
        available: set[str],
        known: set[str],
    ) -> tuple[Invention, ...]:
        """Existential variables of the head, with the frontier that identifies their nulls."""
        free = {t.name: t for h in heads for t in h.terms if isinstance(t, Variable) and t.name not in known}
        in_head = self._in_head(heads)
        frontier = aggregate.group if aggregate else tuple(v for v in in_head if v in available)
        misspelt = [self.safety.misspelt(variable, set(in_head)) for variable in free.values()]
        if free and not any(misspelt):
            self.safety.forgotten(tuple(free.values()), self._once(set(in_head)))
        return tuple(Invention(name, f"{self.written.number}:{name}", frontier) for name in free)

    def _once(self, in_head: set[str]) -> list[Variable]:
        """Named variables of positive atoms that occur once in the whole rule."""
        items = self.written.body
        count = Counter(v.name for item in items for v in _item_variables(item))
        found = (v for item in items if isinstance(item, Atom) for v in _item_variables(item))
        return [v for v in found if not v.anonymous and count[v.name] == 1 and v.name not in in_head]

    def _shown(self, heads: tuple[CheckedAtom, ...], visible: set[str]) -> tuple[CheckedAtom, ...]:
        """The heads; for an equality or constraint, extended by the variables that its messages name."""
        if self.written.kind not in ("equality", "constraint"):
            return heads
        (head,) = heads
        named = (v for item in self.written.body for v in _item_variables(item) if not v.anonymous)
        more = {v.name: v for v in named if v.name in visible and v.name not in head.variables}
        return (CheckedAtom(head.predicate, (*head.terms, *more.values()), head.span),)


def _item_variables(item: BodyItem) -> tuple[Variable, ...]:
    return tuple(v for expression in expressions(item) for v in variables(expression))


def _order(steps: Iterable[Step], bound: set[str]) -> tuple[list[Step], list[Step]]:
    """Order steps by dependency, filters as early as possible; also returns the steps that never become ready."""
    waiting = sorted(steps, key=lambda s: isinstance(s, Assign))
    ready: list[Step] = []
    known = set(bound)
    while True:
        step = next((s for s in waiting if names(s.expression) <= known), None)
        if step is None:
            return ready, waiting
        waiting.remove(step)
        ready.append(step)
        if isinstance(step, Assign):
            known.add(step.variable)


class Terms:
    """Conversion of the arguments of the atoms of one clause; `fine` tells whether all are valid."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.fine = True
        self._made = 0

    def atom(self, atom: Atom) -> tuple[CheckedAtom, list[Assign]]:
        """Atom of variables and constants, and the assignments of new variables: ``_T1 = #f(X)``."""
        steps: list[Assign] = []
        terms = tuple(self._term(argument, steps) for argument in atom.arguments)
        return CheckedAtom(atom.predicate, terms, atom.span), steps

    def _term(self, argument: Expression, steps: list[Assign]) -> Term:
        if isinstance(argument, Variable | Constant):
            return argument
        folded = fold(argument, self.findings)
        if isinstance(folded, Constant):
            return folded
        self._made += 1
        variable = Variable(f"_T{self._made}", span=argument.span)
        fine = supported(argument, self.findings)
        if fine and (isinstance(argument, Aggregate) or boolean(argument)):
            fine = False
            self.findings.add(
                "E103",
                f"`{argument}` cannot be an argument of an atom",
                argument.span,
                note="arguments are values; a condition is an item of the body by itself",
                hint=f"if its value is meant, assign it in the body: `Value = {argument}`",
            )
        elif fine and (fine := well_formed(argument, self.findings)):
            steps.append(Assign(variable.name, folded, argument.span))
        self.fine = self.fine and fine
        return variable
