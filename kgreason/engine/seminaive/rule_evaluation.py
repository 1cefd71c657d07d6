"""Evaluation of one rule, plain or with an aggregate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from time import perf_counter

import numpy as np

from kgreason.base import memory
from kgreason.base.errors import EvaluationError, InexactError
from kgreason.engine.chase.nulls import Nulls
from kgreason.engine.expressions.builtin_functions import Refusal
from kgreason.engine.expressions.compiled_expressions import CONTRIBUTIONS, Scope
from kgreason.engine.plan import ir
from kgreason.engine.plan.double_variables import gives_double
from kgreason.engine.plan.ir import inputs, plain
from kgreason.engine.relations.fact_tables import CODED, Kind, decode
from kgreason.engine.relations.relation import Relation
from kgreason.engine.relations.rows import Rows, chunks
from kgreason.engine.seminaive.grouped_aggregates import Groups, grouping
from kgreason.engine.seminaive.rule_pipeline import Batches, Pipeline
from kgreason.engine.seminaive.value_aggregates import Gathered, NoTotal
from kgreason.engine.statistics import JoinStats, RoundStats, RuleStats
from kgreason.language.check.checked_program import Aggregation, Assign, CheckedRule
from kgreason.language.syntax.syntax_tree import Constant, Variable
from kgreason.language.values import Value, brief, elements, source

FLOORS = {"msum": 0, "mprod": 1}  # least contribution with which a total never falls


class Rule(ABC):
    """Rule under evaluation: its pipelines and statistics."""

    def __init__(
        self,
        plan: ir.RulePlan,
        kinds: Mapping[str, Sequence[Kind]],
        relations: Mapping[str, Relation],
        nulls: Nulls,
        live: frozenset[str],
    ) -> None:
        self.plan = plan
        self.head = relations[plan.rule.head.predicate]
        self.kinds = kinds[plan.rule.head.predicate]
        self.growing = _growing(plan.rule, self.kinds)
        self.symbols = nulls.symbols
        self.facts = self.changed = self.tried = 0
        self.spent = 0.0  # seconds
        self.stopped = False  # whether to give up, since another rule failed or the user interrupts
        self.rounds: list[RoundStats] = []
        self.relations = relations
        self._pipeline = Pipeline(relations, kinds, plan.kinds, plan.rule, live, nulls)

    def pipeline(self) -> Pipeline:
        """New pipeline of the rule, without stages."""
        return self._pipeline.successor(())

    @cached_property
    def lines(self) -> list[tuple[Relation | None, Pipeline]]:
        """Pipelines, each with the relation whose recent rows it reads (if any); creates the indexes they use."""
        pipelines = [self.pipeline() for _ in self.plan.lines]
        for line, pipeline in zip(self.plan.lines, pipelines, strict=True):
            self.build(line, pipeline)
        recent = [self.relations[line.recent] if line.recent else None for line in self.plan.lines]
        return list(zip(recent, pipelines, strict=True))

    @abstractmethod
    def build(self, line: ir.Line, pipeline: Pipeline) -> None:
        """Add the stages of a line to its pipeline."""

    @property
    def reads(self) -> bool:
        """Whether the rule changes nothing but its head, by new rows; creates the indexes of its pipelines."""
        plain = self.plan.rule.aggregation is None and self.head.fluid is None
        return plain and all(pipeline.reads for _, pipeline in self.lines)

    def apply(self, number: int) -> int:
        """Apply the rule to recent facts, or to all if it is not recursive; returns the number of new facts."""
        start = perf_counter()
        self.changed = self.tried = 0
        try:
            for rows in self.derived():
                if self.stopped:
                    break
                if len(rows):
                    self.changed += self._insert(rows)
                    memory.look()
        except InexactError as error:
            raise self.error(error.message, error.hint) from None
        finally:
            self.count(number, self.tried, self.changed, perf_counter() - start)
        return self.changed

    def count(self, number: int, tried: int, new: int, seconds: float) -> None:
        """Record the counts of a round, if there are any."""
        self.spent += seconds
        if tried or new:
            self.facts += new
            self.rounds.append(RoundStats(number, tried, new, seconds))

    def stats(self) -> RuleStats:
        """Statistics of the rule so far."""
        seconds, tried = sum(r.seconds for r in self.rounds), sum(r.tried for r in self.rounds)
        return RuleStats(self.plan.rule.text, self.facts, seconds, tried, tuple(self.rounds))

    def joins(self) -> Iterator[JoinStats]:
        """Statistics of its joins so far."""
        for _, pipeline in self.__dict__.get("lines", ()):
            for stage in pipeline.lookups:
                if stage.probed:
                    yield JoinStats(
                        self.plan.rule.text, stage.probe.text, stage.probed, stage.found, stage.seconds
                    )

    def _insert(self, rows: Rows) -> int:
        try:
            return self.head.insert(rows)
        except Refusal as refusal:  # a union of booleans and numbers, or values that are not comparable
            clash = refusal.what.startswith("type clash")
            hint = "the values of one key must be of one type, and no nulls" if clash else None
            raise self.error(f"{refusal.what}, in {self.plan.rule.head}", hint) from None

    def error(self, message: str, hint: str | None) -> EvaluationError:
        """Evaluation error located at the rule."""
        return EvaluationError(message, self.plan.rule.text, self.plan.rule.span, hint)

    @abstractmethod
    def derived(self) -> Batches:
        """Head rows derived from recent facts, known ones included."""

    def bindings(self) -> Iterator[tuple[Pipeline, Rows]]:
        """Batches from the pipelines that have input."""
        for relation, pipeline in self.lines:
            if relation is None or relation.size(ir.Part.RECENT):
                omitted = pipeline.omitted
                try:
                    for batch in pipeline.run():
                        self.tried += len(batch)
                        yield pipeline, batch
                finally:
                    self.tried += pipeline.omitted - omitted

    def computes(self) -> bool:
        """Whether the rule computes new values."""
        rule = self.plan.rule
        return rule.aggregation is not None or any(isinstance(step, Assign) for step in rule.before)

    def example(self, row: int = -1) -> str:
        """Example of a fact or group that changed in the last round, for error messages."""
        recent = self.head.rows(ir.Part.RECENT)[row:][:1]
        if not len(recent) or not self.kinds:
            return ""
        values = [decode(kind, recent[:, i].copy(), self.symbols)[0] for i, kind in enumerate(self.kinds)]
        return f", for instance {self.plan.rule.head.predicate}({', '.join(map(brief, values))})"

    def longer(self, given: int, most: int) -> int | None:
        """Index of a recent fact that holds a value with code at least `given` and more than `most` elements."""
        recent = self.head.rows(ir.Part.RECENT)
        for column, size in self.growing.items():
            fresh = np.flatnonzero(recent[:, column] >= given)
            for row, value in zip(fresh, self.symbols.values(recent[fresh, column].tolist()), strict=True):
                if size(value, most) > most:
                    return int(row)
        return None


def _growing(rule: CheckedRule, kinds: Sequence[Kind]) -> dict[int, Callable[[Value, int], int]]:
    """Head columns with computed values that can grow, each with its size function."""
    sizes = {step.variable: elements for step in (*rule.before, *rule.after) if isinstance(step, Assign)}
    if rule.aggregation is not None and plain(rule.aggregation) == "union":
        sizes[rule.aggregation.variable] = _element  # their number is bounded by the rules that make elements
    elif rule.aggregation is not None:
        sizes[rule.aggregation.variable] = elements
    return {
        i: sizes[term.name]
        for i, (term, kind) in enumerate(zip(rule.head.terms, kinds, strict=True))
        if kind in CODED and isinstance(term, Variable) and term.name in sizes
    }


def _element(value: Value, most: int) -> int:
    assert isinstance(value, frozenset)
    return max((elements(element, most) for element in value), default=0)


class Plain(Rule):
    """Rule without an aggregate."""

    def build(self, line: ir.Line, pipeline: Pipeline) -> None:
        """Add the stages of a line to its pipeline."""
        for operator in line.operators:
            pipeline.add(operator)

    def derived(self) -> Batches:
        """Head rows derived from recent facts."""
        return (batch for _, batch in self.bindings())


class Aggregating(Rule):
    """Rule with an aggregate: one pipeline per line before it, one shared pipeline after it."""

    groups: Groups | Gathered
    behind: Pipeline
    last: Rows = np.empty((0, 0), dtype=np.int64)
    first = ""

    def build(self, line: ir.Line, pipeline: Pipeline) -> None:
        """Add the stages before the aggregate, and once those after it."""
        at = next(i for i, o in enumerate(line.operators) if isinstance(o, Aggregation))
        for operator in line.operators[:at]:
            pipeline.add(operator)
        aggregation = line.operators[at]
        assert isinstance(aggregation, Aggregation)
        group, contributors = inputs(aggregation)
        argument = aggregation.argument
        if argument is None or aggregation.function.endswith("count"):
            argument = Constant(1)
        kind = pipeline.contribute((*group, *contributors), argument)
        if not hasattr(self, "groups"):
            self.aggregation = aggregation
            self.scope = Scope(
                (*group, aggregation.variable), self.plan.kinds, pipeline.symbols, self.plan.rule
            )
            self.floor = FLOORS.get(aggregation.function) if self.plan.recursive else None
            double = gives_double(argument, pipeline.scope.doubles)
            self.groups = grouping(aggregation, len(group), len(contributors), kind, pipeline.symbols, double)
            self.behind = pipeline.successor(self.scope.layout)
            for operator in line.operators[at + 1 :]:
                self.behind.add(operator)

    def derived(self) -> Batches:
        """Head rows of the groups whose totals changed."""
        try:
            groups, totals = self._totals()
        except NoTotal as error:
            row = self.groups.group(error.group)
            hint = CONTRIBUTIONS if error.what == "integer overflow" else error.hint
            what = f"{error.what} in {self.aggregation.function}"
            if not len(row) and self.first:
                what += f", whose first contribution is {self.first}"
            raise self.scope.error(what, row, (), hint) from None
        rows = np.empty((len(groups), groups.shape[1] + 1), dtype=np.int64)
        rows[:, :-1] = groups
        rows[:, -1] = totals
        if len(rows):
            self.last = rows[:1].copy()
        return self.behind.flow(chunks(rows))

    def _totals(self) -> tuple[Rows, Rows]:
        for pipeline, batch in self.bindings():
            if self.floor is not None:
                self._check(pipeline, batch, self.floor)
            if not self.first and len(batch):
                value = source(decode(self.groups.kind, batch[0, -1:].copy(), self.symbols)[0])
                shown = pipeline.scope.binding(batch[0], pipeline.scope.shown)
                plain = isinstance(self.aggregation.argument, Variable)
                self.first = shown if plain else value + (f" ({shown})" if shown else "")
            self.groups.add(batch, track=self.plan.recursive)
        return self.groups.changes() if self.plan.recursive else self.groups.totals()

    def _check(self, pipeline: Pipeline, batch: Rows, floor: int) -> None:
        low = self.groups.below(batch[:, -1], floor)
        if low.any():
            row = batch[int(np.argmax(low))]
            value = decode(self.groups.kind, row[-1:].copy(), self.symbols)[0]
            wrong = "negative" if floor == 0 else f"below {floor}"
            what = f"contribution {source(value)} to {self.aggregation.function} in recursion is {wrong}"
            raise pipeline.scope.error(what, row, pipeline.scope.shown)

    def example(self, row: int = -1) -> str:
        """Example of a total or fact of the last round, for error messages."""
        if not len(self.last) or row >= 0:
            return super().example(row)
        return ", for instance " + self.scope.binding(self.last[0], self.scope.layout)
