"""Parametrized queries over rules: consequences of given facts, and derivations of given facts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kgreason.engine.incremental.database import JOINED, Change, Context, Work, distinct
from kgreason.engine.plan import ir
from kgreason.engine.plan.planner import compile_rule
from kgreason.engine.relations.fact_tables import Kind
from kgreason.engine.relations.relation import Relation
from kgreason.engine.relations.rows import Rows
from kgreason.engine.seminaive.rule_evaluation import Aggregating
from kgreason.engine.seminaive.rule_pipeline import Batches, Pipeline
from kgreason.language.check.checked_program import Assign, CheckedAtom, CheckedRule
from kgreason.language.syntax.syntax_tree import Term, Variable

GIVEN, ANSWER = "#given", "#answer"
NOWHERE = ir.StratumPlan(frozenset(), (), False, False)


def gathered(batches: Batches, width: int, work: Work) -> Rows:
    """Distinct rows of some batches."""
    pieces = [np.empty((0, width), dtype=np.int64)]
    for batch in batches:
        work.pay(len(batch) // JOINED)
        pieces.append(batch.copy())
    return distinct(np.concatenate(pieces))


class Delta(Relation):
    """Relation whose rows are always recent."""

    def hold(self, rows: Rows) -> None:
        """Replace the rows."""
        self.buffer = np.ascontiguousarray(rows)
        self.stable, self.seen, self.count = 0, len(rows), len(rows)


class Question:
    """Prepared query of a rule in which one atom reads the given rows.

    Parameters
    ----------
    rule
        Rule with an atom of the predicate `GIVEN`, or without.
    variables
        Kinds of its variables.
    given, answer
        Kinds of the columns of the given rows, and of the rows of a head `ANSWER`.
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
        self.context = context
        self.kinds = {**context.kinds, GIVEN: tuple(given), ANSWER: tuple(answer)}
        self.given = Delta(len(given))
        self.relations: Mapping[str, Relation] = {**context.stores, GIVEN: self.given}
        sizes = {p: store.live for p, store in context.stores.items()}
        self.plan = compile_rule(rule, {GIVEN}, (), variables, sizes)
        self.prepare()

    def pipeline(self) -> Pipeline:
        """New pipeline of the rule, without stages."""
        nulls = self.context.nulls
        return Pipeline(self.relations, self.kinds, self.plan.kinds, self.rule, frozenset(), nulls)

    def prepare(self) -> None:
        """Create the stages and the indexes that they use."""
        self._line = self.pipeline()
        for operator in self.plan.lines[0].operators:
            self._line.add(operator)

    @property
    def width(self) -> int:
        """Number of columns of an answer."""
        return len(self.rule.head.terms)

    def ask(self, rows: Rows) -> Rows:
        """Distinct head rows for the given rows."""
        self.context.work.pay(len(rows))
        self.given.hold(rows)
        return gathered(self.answers(), self.width, self.context.work)

    def answers(self) -> Batches:
        """Head rows in batches, possibly with duplicates."""
        return self._line.run()


class Totals(Question):
    """Query of a rule with an aggregate, for the facts of whole groups."""

    def prepare(self) -> None:
        """Create the indexes of the rule; its state is created for each answer."""
        self.plan = replace(self.plan, recursive=False)
        list(self._new().lines)

    def _new(self) -> Aggregating:
        return Aggregating(self.plan, self.kinds, self.relations, self.context.nulls, NOWHERE)

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


@dataclass(frozen=True)
class Touching:
    """Query for the consequences of facts of one body atom, positive or negated."""

    predicate: str
    negated: bool
    question: Question

    def lost(self, changes: Mapping[str, Change]) -> Iterator[Rows]:
        """Consequences of changed facts through matches that may no longer hold."""
        return self._asked(changes, came=self.negated)

    def won(self, changes: Mapping[str, Change]) -> Iterator[Rows]:
        """Consequences of changed facts through matches that may be new."""
        return self._asked(changes, came=not self.negated)

    def _asked(self, changes: Mapping[str, Change], *, came: bool) -> Iterator[Rows]:
        change = changes.get(self.predicate)
        rows = None if change is None else change.added if came else change.removed
        if rows is not None and len(rows):
            yield self.question.ask(rows)


def touching(
    rule: CheckedRule, context: Context, variables: Mapping[str, Kind], terms: Sequence[Term] | None = None
) -> list[Touching]:
    """Query for each body atom: the head facts or, if given, the values of some terms that its facts lead to."""
    plain = replace(rule, aggregation=None, after=()) if rule.aggregation else rule
    answer: list[Kind] = []
    if terms is not None:
        plain = replace(plain, head=CheckedAtom(ANSWER, tuple(terms), rule.head.span))
        answer = [variables[t.name] for t in terms if isinstance(t, Variable)]
    known = bound_by(rule.positives)
    found = []
    for i, atom in enumerate(rule.positives):
        others = (*rule.positives[:i], *rule.positives[i + 1 :])
        asked = replace(plain, positives=(given(atom.terms, rule), *others))
        question = Question(asked, context, variables, context.kinds[atom.predicate], answer)
        found.append(Touching(atom.predicate, False, question))
    for atom in rule.negatives:
        asked = replace(plain, positives=(given(_masked(atom.terms, known), rule), *rule.positives))
        question = Question(asked, context, variables, context.kinds[atom.predicate], answer)
        found.append(Touching(atom.predicate, True, question))
    return found


def bound(
    rule: CheckedRule,
    context: Context,
    variables: Mapping[str, Kind],
    terms: Sequence[Term],
    kinds: Sequence[Kind],
) -> Question:
    """Query of a rule for its facts with given values of `terms`; it may return more facts."""
    known = bound_by(rule.positives)
    fitting = [
        isinstance(t, Variable) and t.name in known and variables[t.name] is kind
        for t, kind in zip(terms, kinds, strict=True)
    ]
    form = Totals if rule.aggregation is not None else Question
    if not any(fitting):
        return form(rule, context, variables, kinds)
    free = [Variable(f"#free{i}") for i in range(len(terms))]
    places = [t if fits else f for t, f, fits in zip(terms, free, fitting, strict=True)]
    asked = replace(rule, positives=(given(places, rule), *rule.positives))
    return form(asked, context, variables, kinds)


def used(rules: Collection[CheckedRule]) -> Iterator[str]:
    """Predicates read by rule bodies."""
    for rule in rules:
        for atom in (*rule.positives, *rule.negatives):
            yield atom.predicate
