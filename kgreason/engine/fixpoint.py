"""Semi-naive evaluation: the fixpoint of each stratum.

References
----------
F. Bancilhon, R. Ramakrishnan: An amateur's introduction to recursive query processing strategies, SIGMOD
1986, §4.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from time import perf_counter

import numpy as np

from kgreason.analysis.checked import Assign, CheckedRule
from kgreason.engine import memory
from kgreason.engine.advice import CONTRIBUTIONS
from kgreason.engine.aggregate import Groups, grouping
from kgreason.engine.collect import Gathered, Unfit
from kgreason.engine.expressions import CODED, Scope
from kgreason.engine.limits import Limits
from kgreason.engine.nulls import Nulls
from kgreason.engine.operators import Batches, Looking
from kgreason.engine.pipeline import Pipeline
from kgreason.engine.relation import Relation, Rows, chunks
from kgreason.engine.scalars import Refusal
from kgreason.engine.separable import walk as separable
from kgreason.engine.stats import JoinStats, RoundStats, RuleStats, StratumStats, visible
from kgreason.engine.table import Kind, decode
from kgreason.errors import EvaluationError
from kgreason.lang.ast import Constant, Variable
from kgreason.lang.values import Value, brief, elements, source
from kgreason.plan import ir
from kgreason.plan.doubles import gives_double
from kgreason.plan.ir import plain
from kgreason.plan.prune import inputs
from kgreason.progress import Progress

Watch = Callable[[Mapping[str, Relation]], None]


FLOORS = {"msum": 0, "mprod": 1}
"""Least contribution with which a total never falls, as recursion needs it."""


class Fixpoint:
    """The fixpoint of one stratum.

    Loop invariant, at the start of each round: for every rule of the stratum and every way to match its body
    with *stable* facts, the head is in the relation. Each round matches the bodies in all ways that use a
    *recent* fact at least once, with the other atoms on stable or recent ones, and puts new heads among the
    facts *to add*; then the recent facts become stable and those to add recent. When a round adds nothing no
    fact is recent: all are stable, and the invariant says that the relations are closed under the rules.

    A fact of a keyed relation whose value improves counts as recent again, and its older value is forgotten.
    """

    def __init__(
        self,
        plan: ir.StratumPlan,
        kinds: Mapping[str, Sequence[Kind]],
        relations: Mapping[str, Relation],
        nulls: Nulls,
        limits: Limits,
        watch: Watch | None = None,
        *,
        profile: bool = False,
    ) -> None:
        self.plan = plan
        self.limits = limits
        self.watch = watch
        self.profile = profile
        self.start = perf_counter()
        self.symbols = nulls.symbols
        self.round = 1
        self.walks = 0
        self.given = 0  # codes below are of values that no recursive rule has made
        self.by_name = relations
        self.relations = [relations[p] for p in sorted(plan.predicates) if p in relations]
        self.rules = [
            (Aggregating if rule.rule.aggregation else _Plain)(rule, kinds, relations, nulls, plan)
            for rule in plan.rules
        ]

    def run(self, progress: Progress) -> None:
        """Reach the fixpoint."""
        progress.step(f"Deriving {', '.join(visible(sorted(self.plan.predicates)))}", unit="facts")
        self._rounds(progress)
        for relation in self.relations:
            relation.settle()

    def stats(self) -> StratumStats:
        """What has been done so far."""
        predicates = tuple(sorted(self.plan.predicates))
        rules = tuple(rule.stats() for rule in self.rules)
        joins = tuple(join for rule in self.rules for join in rule.joins())
        return StratumStats(predicates, self.round, perf_counter() - self.start, rules, self.walks, joins)

    def _rounds(self, progress: Progress) -> None:
        """Carry out all rules once, and the recursive ones until nothing is new."""
        for rule in self.rules:
            if not rule.plan.recursive:
                progress.advance(self._apply(rule))
        self.given = len(self.symbols)
        recursive = [rule for rule in self.rules if rule.plan.recursive]
        if (
            self.plan.separable is not None
            and self.watch is None
            and self._separately(self.plan.separable, progress)
        ):
            return
        while self._turn() and recursive:
            if self.plan.inventive:
                self._check(recursive, self.round + 1)
            self.round += 1
            progress.advance(sum(map(self._apply, recursive)))

    def _separately(self, plan: ir.Separable, progress: Progress) -> bool:
        """Complete a stratum that falls apart, value by value; tells whether the data admit that."""
        start = perf_counter()
        rules = {id(rule.plan.rule): rule for rule in self.rules}
        recursive = [rules[id(steps.rule)] for steps in plan.steps]
        tally = separable.Tally(plan, self.profile)
        try:
            return separable.run(tally, self.by_name, self._find, progress.advance)
        except EvaluationError:  # of a step that perhaps nobody takes
            return False
        except MemoryError as error:
            raise self._exhausted(recursive[0], error) from None
        finally:
            self.walks = tally.walks
            self._count(tally, recursive, perf_counter() - start)

    def _count(self, tally: separable.Tally, rules: Sequence[_Rule], seconds: float) -> None:
        """Share out among the recursive rules what walks have done."""
        if self.profile:
            for place, rule in enumerate(rules):
                for number, (tried, new) in enumerate(tally.counted(place), self.round + 1):
                    rule.count(number, tried, new, seconds * tried / max(tally.tried, 1))
            return
        found = tally.by_predicate or {rules[0].plan.rule.head.predicate: tally.facts}
        tried, told = tally.tried, set[str]()
        for rule in rules:  # the first of each predicate stands for all
            predicate = rule.plan.rule.head.predicate
            if predicate in found and predicate not in told:
                rule.count(self.round, tried, found[predicate], seconds)
                tried, seconds = 0, 0.0
                told.add(predicate)

    def _find(self, steps: ir.Steps) -> tuple[Rows, Kind]:
        """Rows that the line of some steps finds, with what they contribute as the last column."""
        assert steps.line is not None
        aggregation = steps.rule.aggregation
        argument = aggregation.argument if aggregation and aggregation.function != "mcount" else None
        pipeline = next(r.pipeline() for r in self.rules if r.plan.rule is steps.rule)
        for operator in steps.line.operators[:-1]:
            pipeline.add(operator)
        kind = pipeline.contribute(steps.columns, argument or Constant(1))
        nothing = np.empty((0, len(steps.columns) + 1), dtype=np.int64)
        return np.concatenate([nothing, *(batch.copy() for batch in pipeline.run())]), kind

    def _apply(self, rule: _Rule) -> int:
        try:
            return rule.apply(self.round)
        except MemoryError as error:
            raise self._exhausted(rule, error) from None

    def _turn(self) -> bool:
        try:
            recent = [r.turn() for r in self.relations]  # every one of them, so not inside any()
        except MemoryError as error:
            raise self._exhausted(max(self.rules, key=lambda rule: rule.facts), error) from None
        if self.watch is not None:
            self.watch(dict(zip(sorted(self.plan.predicates), self.relations, strict=True)))
        return any(recent)

    def _check(self, rules: Sequence[_Rule], rounds: int) -> None:
        """Stop what grows for ever."""
        if rounds > self.limits.rounds:
            raise self._endless(rules)
        for rule in rules:
            if rule.longer(self.given, self.limits.length) is None:
                continue
            grown = rule.longer(self.given, self.limits.length + 2 * self._longest)
            if grown is not None:
                raise rule.error(
                    f"values still grow after {rounds - 1} round{'s' * (rounds > 2)}{rule.example(grown)}",
                    "bound the values that grow in the recursion, or allow longer ones "
                    "(in Python Limits(length=N))",
                )

    @cached_property
    def _longest(self) -> int:
        """Elements of the longest value that was there before."""
        given = self.symbols.values(range(self.given))
        return max((elements(value, sys.maxsize) for value in given), default=0)

    def _exhausted(self, rule: _Rule, error: MemoryError) -> EvaluationError:
        found = f", besides the {rule.facts:,} facts so far{rule.example()}" if rule.facts else ""
        numbers = f": {error}" if isinstance(error, memory.Exhausted) else ""
        return rule.error(
            f"there is not enough memory for what this rule derives{found}{numbers}",
            ("bound what grows in the recursion, " if rule.plan.recursive else "")
            + "derive less at once, or allow more (--memory-limit SIZE, in Python Limits(memory=BYTES))",
        )

    def _endless(self, rules: Sequence[_Rule]) -> EvaluationError:
        most = max(rule.facts for rule in rules)
        growing = [rule for rule in rules if 2 * rule.facts >= most]
        growing.sort(key=lambda rule: not rule.computes())  # a rule that only copies is not the reason
        rule = next((rule for rule in growing if rule.example()), growing[0])
        return rule.error(
            f"values still change after {self.limits.rounds} rounds{rule.example()}",
            "bound the values that grow in the recursion, or allow more rounds "
            "(--rounds N, in Python Limits(rounds=N))",
        )


class _Rule(ABC):
    """A rule at work: its lines of stages, and what became of them."""

    def __init__(
        self,
        plan: ir.RulePlan,
        kinds: Mapping[str, Sequence[Kind]],
        relations: Mapping[str, Relation],
        nulls: Nulls,
        stratum: ir.StratumPlan,
    ) -> None:
        self.plan = plan
        self.head = relations[plan.rule.head.predicate]
        self.kinds = kinds[plan.rule.head.predicate]
        self.growing = _growing(plan.rule, self.kinds)
        self.symbols = nulls.symbols
        self.facts = self.changed = self.tried = 0
        self.rounds: list[RoundStats] = []
        self.relations = relations
        self.stratum = stratum
        self._pipeline = Pipeline(
            relations, kinds, plan.kinds, nulls.symbols, plan.rule, stratum.predicates, nulls
        )

    def pipeline(self) -> Pipeline:
        """A line of the rule, still without stages."""
        return self._pipeline.successor(())

    @cached_property
    def lines(self) -> list[tuple[Relation | None, Pipeline]]:
        """Relation whose recent rows a line reads, if it does, and its stages; they make the indexes that they use."""
        made: list[tuple[Relation | None, Pipeline]] = []
        for line in self.plan.lines:
            pipeline = self.pipeline()
            self.build(line, pipeline)
            made.append((self.relations[line.recent] if line.recent else None, pipeline))
        return made

    @abstractmethod
    def build(self, line: ir.Line, pipeline: Pipeline) -> None:
        """Add the stages of a line to its pipeline."""

    def apply(self, number: int) -> int:
        """Carry the rule out on recent facts, or on all if it is not recursive; returns how many are new."""
        start = perf_counter()
        self.changed = self.tried = 0
        try:
            for rows in self.derived():
                if len(rows):
                    self.changed += self._insert(rows)
                    memory.look()
        finally:
            self.count(number, self.tried, self.changed, perf_counter() - start)
        return self.changed

    def count(self, number: int, tried: int, new: int, seconds: float) -> None:
        """Remember what the rule did in a round, if anything."""
        if tried or new:
            self.facts += new
            self.rounds.append(RoundStats(number, tried, new, seconds))

    def stats(self) -> RuleStats:
        """What the rule has done so far."""
        seconds, tried = sum(r.seconds for r in self.rounds), sum(r.tried for r in self.rounds)
        return RuleStats(self.plan.rule.text, self.facts, seconds, tried, tuple(self.rounds))

    def joins(self) -> Iterator[JoinStats]:
        """What its joins have done so far."""
        for _, pipeline in self.__dict__.get("lines", ()):
            for stage in pipeline.stages:
                if isinstance(stage, Looking) and stage.probed:
                    yield JoinStats(
                        self.plan.rule.text, stage.probe.text, stage.probed, stage.found, stage.seconds
                    )

    def _insert(self, rows: Rows) -> int:
        try:
            return self.head.insert(rows)
        except Refusal as refusal:  # of a union of booleans and numbers, or of values that do not compare
            clash = refusal.what.startswith("type clash")
            hint = "the values of one key must be of one type, and no nulls" if clash else None
            raise self.error(f"{refusal.what}, in {self.plan.rule.head}", hint) from None

    def error(self, message: str, hint: str | None) -> EvaluationError:
        """An error that the rule makes."""
        return EvaluationError(message, self.plan.rule.text, self.plan.rule.span, hint)

    @abstractmethod
    def derived(self) -> Batches:
        """Rows of the head from what is recent, known ones among them."""

    def bindings(self) -> Iterator[tuple[Pipeline, Rows]]:
        """What leaves the lines that have anything to read."""
        for relation, pipeline in self.lines:
            if relation is None or len(relation.rows(ir.Part.RECENT)):
                for batch in pipeline.run():
                    self.tried += len(batch)
                    yield pipeline, batch

    def computes(self) -> bool:
        """Whether the rule makes new values."""
        rule = self.plan.rule
        return rule.aggregation is not None or any(isinstance(step, Assign) for step in rule.before)

    def example(self, row: int = -1) -> str:
        """A fact or group that changed in the last round, for messages."""
        recent = self.head.rows(ir.Part.RECENT)[row:][:1]
        values = [
            decode(kind, recent[:, i].copy(), self.symbols)[0]
            for i, kind in enumerate(self.kinds)
            if len(recent)
        ]
        return (
            f", for instance {self.plan.rule.head.predicate}({', '.join(map(brief, values))})"
            if values
            else ""
        )

    def longer(self, given: int, most: int) -> int | None:
        """Which of the newest facts holds a value of more than `most` elements that has no code below `given`."""
        recent = self.head.rows(ir.Part.RECENT)
        for column, size in self.growing.items():
            fresh = np.flatnonzero(recent[:, column] >= given)
            for row, value in zip(fresh, self.symbols.values(recent[fresh, column].tolist()), strict=True):
                if size(value, most) > most:
                    return int(row)
        return None


def _growing(rule: CheckedRule, kinds: Sequence[Kind]) -> dict[int, Callable[[Value, int], int]]:
    """Columns of the values that a rule computes, if they can grow, and what tells their sizes."""
    sizes = {step.variable: elements for step in (*rule.before, *rule.after) if isinstance(step, Assign)}
    if rule.aggregation is not None and plain(rule.aggregation) == "union":
        sizes[rule.aggregation.variable] = _element  # there are no more elements than somebody makes
    elif rule.aggregation is not None:
        sizes[rule.aggregation.variable] = elements
    return {
        i: sizes[term.name]
        for i, (term, kind) in enumerate(zip(rule.head.terms, kinds, strict=True))
        if kind in CODED and isinstance(term, Variable) and term.name in sizes
    }


def _element(value: Value, most: int) -> int:
    """Size of the largest element of a set."""
    assert isinstance(value, frozenset)
    return max((elements(element, most) for element in value), default=0)


class _Plain(_Rule):
    def build(self, line: ir.Line, pipeline: Pipeline) -> None:
        for operator in line.operators:
            pipeline.add(operator)

    def derived(self) -> Batches:
        return (batch for _, batch in self.bindings())


class Aggregating(_Rule):
    """A rule with an aggregate: before it one pipeline per line, behind it one for all."""

    groups: Groups | Gathered
    behind: Pipeline
    last: Rows = np.empty((0, 0), dtype=np.int64)
    first = ""

    def build(self, line: ir.Line, pipeline: Pipeline) -> None:
        """Add the stages before the aggregate, and once those behind it."""
        at = next(i for i, o in enumerate(line.operators) if isinstance(o, ir.Aggregate))
        for operator in line.operators[:at]:
            pipeline.add(operator)
        aggregate = line.operators[at]
        assert isinstance(aggregate, ir.Aggregate)
        aggregation = aggregate.aggregation
        group, contributors = inputs(aggregate)
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
        """Rows of the head for the groups whose totals changed."""
        try:
            groups, totals = self._totals()
        except Unfit as error:
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
            changes = self.groups.add(batch)
            if self.plan.recursive:
                self.groups.track(changes)
        return self.groups.changes() if self.plan.recursive else self.groups.totals()

    def _check(self, pipeline: Pipeline, batch: Rows, floor: int) -> None:
        low = self.groups.below(batch[:, -1], floor)
        if low.any():
            row = batch[int(np.argmax(low))]
            value = decode(self.groups.kind, row[-1:].copy(), self.symbols)[0]
            wrong = "negative" if floor == 0 else f"below {floor}"
            raise pipeline.scope.error(
                f"contribution {source(value)} to {self.aggregation.function} in recursion is {wrong}",
                row,
                pipeline.scope.shown,
            )

    def example(self, row: int = -1) -> str:
        """A total or fact of the last round, for messages."""
        if not len(self.last) or row >= 0:
            return super().example(row)
        return ", for instance " + self.scope.binding(self.last[0], self.scope.layout)
