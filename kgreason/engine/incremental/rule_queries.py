"""Parametrized queries over rules: consequences of given facts, and derivations of given facts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kgreason.base.records import record
from kgreason.engine.incremental.database import JOINED, Change, Context, distinct
from kgreason.engine.plan.planner import compile_rule
from kgreason.engine.relations.fact_tables import Kind
from kgreason.engine.relations.relation import Relation
from kgreason.engine.relations.rows import Rows
from kgreason.engine.seminaive.rule_evaluation import Aggregating
from kgreason.engine.seminaive.rule_pipeline import Batches, Pipeline
from kgreason.language.check.checked_program import Assign, CheckedAtom, CheckedRule
from kgreason.language.syntax.syntax_tree import Term, Variable

GIVEN, ANSWER = "#given", "#answer"


class Delta(Relation):
    """Relation whose rows are always recent."""

    def hold(self, rows: Rows) -> None:
        """Replace the rows."""
        self.buffer = np.ascontiguousarray(rows)
        self.stable, self.seen, self.count = 0, len(rows), len(rows)


class RuleQuery:
    """Prepared query of a rule in which an atom of the predicate `GIVEN`, if there is one, reads the given rows.

    `given` and `answer` are the kinds of the given rows, and of the rows of a head `ANSWER`.
    """

    def __init__(
        self,
        rule: CheckedRule,
        context: Context,
        variables: Mapping[str, Kind],
        given: Sequence[Kind],
        answer: Sequence[Kind] = (),
    ) -> None:
        self.rule = rule
        self.none: Rows = np.empty((0, len(rule.head.terms)), dtype=np.int64)
        self.context = context
        self.kinds = {**context.kinds, GIVEN: tuple(given), ANSWER: tuple(answer)}
        self.given = Delta(len(given))
        self.relations: Mapping[str, Relation] = {**context.stores, GIVEN: self.given}
        sizes = {p: store.live for p, store in context.stores.items()}
        self.plan = compile_rule(rule, {GIVEN}, (), variables, sizes)
        self.prepare()

    def prepare(self) -> None:
        """Create the stages and the indexes that they use."""
        nulls = self.context.nulls
        self._pipeline = Pipeline(self.relations, self.kinds, self.plan.kinds, self.rule, frozenset(), nulls)
        for operator in self.plan.lines[0].operators:
            self._pipeline.add(operator)

    def ask(self, rows: Rows) -> Rows:
        """Distinct head rows for the given rows."""
        if not len(rows):
            return self.none
        work, batches = self.context.work, [self.none]
        work.pay(len(rows))
        self.given.hold(rows)
        for batch in self.answers():
            work.pay(len(batch) // JOINED)
            batches.append(batch.copy())
        return distinct(np.concatenate(batches))

    def answers(self) -> Batches:
        """Head rows in batches, possibly with duplicates."""
        return self._pipeline.run()


class Totals(RuleQuery):
    """Query of a rule with an aggregate, for the facts of whole groups."""

    def prepare(self) -> None:
        """Create the indexes of the rule; its state is created for each answer."""
        self.plan = self.plan._replace(recursive=False)
        list(self._new().lines)

    def _new(self) -> Aggregating:
        return Aggregating(self.plan, self.kinds, self.relations, self.context.nulls, frozenset())

    def answers(self) -> Batches:
        """Head rows in batches."""
        return self._new().derived()


def given(terms: Sequence[Term], rule: CheckedRule) -> CheckedAtom:
    """Atom of the given rows."""
    return CheckedAtom(GIVEN, tuple(terms), rule.head.span)


def bound_by(atoms: Collection[CheckedAtom]) -> set[str]:
    """Variables of some atoms."""
    return {v for atom in atoms for v in atom.variables}


def _masked(terms: Sequence[Term], known: Collection[str]) -> tuple[Term, ...]:
    """The terms, with fresh variables in place of unbound ones."""
    return tuple(
        Variable(f"#free{i}") if isinstance(t, Variable) and t.name not in known else t
        for i, t in enumerate(terms)
    )


def admissible(rule: CheckedRule) -> bool:
    """Whether a rule can be queried: its negative atoms must be index lookups, and it must not create nulls."""
    made = {step.variable for step in rule.before if isinstance(step, Assign)}
    for atom in rule.negatives:
        names = [t.name for t in atom.terms if isinstance(t, Variable)]
        if len(names) > len(set(names)) or made.intersection(names):
            return False
    return not rule.inventions


@record
class Consequences:
    """Query for the consequences of facts of one body atom, positive or negated."""

    predicate: str
    negated: bool
    prepared: RuleQuery

    def lost(self, changes: Mapping[str, Change]) -> Rows:
        """Consequences of changed facts through matches that may no longer hold."""
        return self._ask(changes, added=self.negated)

    def won(self, changes: Mapping[str, Change]) -> Rows:
        """Consequences of changed facts through matches that may be new."""
        return self._ask(changes, added=not self.negated)

    def _ask(self, changes: Mapping[str, Change], *, added: bool) -> Rows:
        change = changes.get(self.predicate)
        if change is None:
            return self.prepared.none
        return self.prepared.ask(change.added if added else change.removed)


def consequences(
    rule: CheckedRule, context: Context, variables: Mapping[str, Kind], terms: Sequence[Term] | None = None
) -> list[Consequences]:
    """Query for each body atom: the head facts or, if given, the values of some terms that its facts lead to."""
    plain = replace(rule, aggregation=None, after=()) if rule.aggregation else rule
    answer: list[Kind] = []
    if terms is not None:
        plain = replace(plain, head=CheckedAtom(ANSWER, tuple(terms), rule.head.span))
        answer = [variables[t.name] for t in terms if isinstance(t, Variable)]
    known, positives = bound_by(rule.positives), rule.positives
    bodies = [
        (atom, False, (given(atom.terms, rule), *positives[:i], *positives[i + 1 :]))
        for i, atom in enumerate(positives)
    ]
    bodies += [(atom, True, (given(_masked(atom.terms, known), rule), *positives)) for atom in rule.negatives]
    return [
        Consequences(
            atom.predicate,
            negated,
            RuleQuery(
                replace(plain, positives=body), context, variables, context.kinds[atom.predicate], answer
            ),
        )
        for atom, negated, body in bodies
    ]


def derivations(
    rule: CheckedRule,
    context: Context,
    variables: Mapping[str, Kind],
    terms: Sequence[Term],
    kinds: Sequence[Kind],
) -> RuleQuery:
    """Query of a rule for its facts with given values of `terms`; it may return more facts."""
    known = bound_by(rule.positives)
    fitting = [
        isinstance(t, Variable) and t.name in known and variables[t.name] is kind
        for t, kind in zip(terms, kinds, strict=True)
    ]
    form = Totals if rule.aggregation is not None else RuleQuery
    if not any(fitting):
        return form(rule, context, variables, kinds)
    free = [Variable(f"#free{i}") for i in range(len(terms))]
    asked_terms = [t if fits else f for t, f, fits in zip(terms, free, fitting, strict=True)]
    asked = replace(rule, positives=(given(asked_terms, rule), *rule.positives))
    return form(asked, context, variables, kinds)


def used(rules: Collection[CheckedRule]) -> Iterator[str]:
    """Predicates read by rule bodies."""
    for rule in rules:
        for atom in (*rule.positives, *rule.negatives):
            yield atom.predicate
