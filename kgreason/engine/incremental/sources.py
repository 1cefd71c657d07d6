"""What the walks of a separable stratum ask of its rules: where steps begin, and where walks do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from kgreason.engine.incremental.change import Deltas
from kgreason.engine.incremental.database import Database
from kgreason.engine.incremental.questions import (
    Contributions,
    Touching,
    bound,
    given,
    touching,
)
from kgreason.engine.incremental.store import distinct
from kgreason.engine.rows import Rows
from kgreason.engine.separable.steps import Codes, distinct_steps
from kgreason.engine.table import Kind
from kgreason.lang.ast import Constant, Expression, Variable
from kgreason.plan import ir


class Touched:
    """Values of one variable that changes concern, before an update and after."""

    touching: list[Touching]
    column = 0
    """Of the answers, that of the variable."""

    def begin(self) -> None:
        """Begin an update."""
        self.values: list[Codes] = []

    def lose(self, below: Deltas) -> None:
        """Take in values of matches that may be none any more."""
        for way in self.touching:
            self._touch(way, way.lost(below))

    def win(self, below: Deltas) -> None:
        """Take in values of matches that may be new."""
        for way in self.touching:
            self._touch(way, way.won(below))

    def _touch(self, way: Touching, rows: Rows | None) -> None:
        if rows is not None and len(rows):
            self.values.append(way.question.ask(rows)[:, self.column])


class Sources(Touched):
    """The rule of some steps, asked for their sources, and for the steps from given ones."""

    def __init__(self, plan: ir.Steps, kinds: Mapping[str, Kind], database: Database) -> None:
        self.plan = plan
        self.touching = []
        if plan.body is None:
            return
        context, source = database.context, Variable(plan.columns[0])
        kind = (kinds[source.name],)
        self.touching = touching(plan.body, context, kinds, (source,))
        self.all = Contributions(plan.body, context, kinds, kind, plan.columns, _argument(plan))
        asked = replace(plan.body, positives=(given((source,), plan.body), *plan.body.positives))
        self.some = Contributions(asked, context, kinds, kind, plan.columns, _argument(plan))

    def find(self, codes: Codes | None = None) -> tuple[Rows, Kind]:
        """Distinct steps from some values, or from all (see `kgreason.engine.separable.steps.Find`)."""
        if self.plan.body is None:
            return np.empty((0, 3), dtype=np.int64), Kind.INT
        question = self.all if codes is None else self.some
        rows = question.ask(np.empty((0, 1), dtype=np.int64) if codes is None else codes.reshape(-1, 1))
        return distinct_steps(self.plan, lambda _: (rows, question.kind))


class Doubled(Sources):
    """The steps of ``p(X, Z) :- p(X, Y), p(Y, Z)``: the facts that other rules derive."""

    def __init__(self, plan: ir.Steps, facts: Callable[[Codes], Rows]) -> None:
        self.plan = plan
        self.touching = []
        self.facts = facts

    def find(self, codes: Codes | None = None) -> tuple[Rows, Kind]:
        """Steps from some values."""
        assert codes is not None
        rows = distinct(self.facts(codes))
        return np.column_stack([rows, np.ones(len(rows), dtype=np.int64)]), Kind.INT


class Seeds(Touched):
    """A rule without a recursion, asked for the fixed values of its facts, and for the facts of given ones."""

    def __init__(self, plan: ir.RulePlan, database: Database, at: int) -> None:
        rule, context = plan.rule, database.context
        self.head, self.at = rule.head.predicate, at
        term, kind = rule.head.terms[at], context.kinds[self.head][at]
        grouped = rule.aggregation is not None
        self.touching = touching(rule, context, plan.kinds, (term,) if grouped else None)
        self.column = 0 if grouped else at
        self.all = bound(rule, context, plan.kinds, (), ())
        self.some = bound(rule, context, plan.kinds, (term,), (kind,))

    def facts(self, values: Codes | None = None) -> Rows:
        """Facts with some fixed values, or all."""
        if values is None:
            return self.all.ask(np.empty((0, 0), dtype=np.int64))
        rows = self.some.ask(values.reshape(-1, 1))
        return rows[np.isin(rows[:, self.at], values)]


def _argument(plan: ir.Steps) -> Expression:
    """What a step contributes."""
    aggregation = plan.rule.aggregation
    if aggregation is None or aggregation.argument is None or aggregation.function == "mcount":
        return Constant(1)
    return aggregation.argument
