"""Semi-naive evaluation: the fixpoint of each stratum.

References
----------
F. Bancilhon, R. Ramakrishnan: An amateur's introduction to recursive query processing strategies, SIGMOD
1986, §4.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.engine.aggregate import Groups
from kgreason.engine.expressions import Scope, code
from kgreason.engine.limits import Limits
from kgreason.engine.operators import Batches, Pipeline
from kgreason.engine.relation import KeyedRelation, Relation, Rows, chunks
from kgreason.engine.symbols import Symbols
from kgreason.engine.table import Facts, Kind, Table, doubles
from kgreason.errors import EvaluationError
from kgreason.lang.ast import Constant
from kgreason.lang.names import suggest
from kgreason.plan import ir
from kgreason.plan.compile import compile_program
from kgreason.plan.kinds import infer
from kgreason.plan.prune import inputs
from kgreason.progress import SILENT, Progress


@dataclass(frozen=True, slots=True)
class RuleStats:
    """What one rule did: new facts (or better values of keyed ones) and seconds."""

    rule: str
    facts: int
    seconds: float


@dataclass(frozen=True, slots=True)
class StratumStats:
    """What one stratum did."""

    predicates: tuple[str, ...]
    rounds: int
    seconds: float
    rules: tuple[RuleStats, ...]


@dataclass(frozen=True, slots=True)
class Stats:
    """What an evaluation did, stratum by stratum; `seconds` includes planning and loading."""

    strata: tuple[StratumStats, ...]
    seconds: float

    @property
    def facts(self) -> int:
        """Number of new facts of all rules."""
        return sum(rule.facts for stratum in self.strata for rule in stratum.rules)


@dataclass(frozen=True)
class Result:
    """Facts of the goals, and how they came about."""

    facts: Facts
    stats: Stats


def evaluate(
    program: CheckedProgram,
    facts: Facts,
    *,
    goals: Sequence[str] | None = None,
    limits: Limits = Limits(),  # noqa: B008
    progress: Progress = SILENT,
) -> Result:
    """Derive the facts of some predicates.

    Parameters
    ----------
    facts
        Of the input predicates; any predicate may have some.
    goals
        Predicates wanted; by default the outputs of the program. Only what they depend on is evaluated.

    Returns
    -------
    Result
        Tables of the goals, coded by the symbols of `facts`.

    Raises
    ------
    ProgramError
        If the types of data and rules do not go together.
    EvaluationError
        On overflow of integers and of doubles, division by zero, a negative contribution to a sum in
        recursion, and where values grow beyond `limits`.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> program = load_text("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z).")
    >>> result = evaluate(program, Facts.from_rows({"e": [(1, 2), (2, 3)]}))
    >>> sorted(result.facts.rows("t"))
    [(1, 2), (1, 3), (2, 3)]
    >>> result.stats.facts
    3
    """
    start = perf_counter()
    goals = tuple(program.outputs if goals is None else goals)
    program = program.restricted(goals)
    facts = _relevant(program, facts)
    program = replace(program, arities={p: t.arity for p, t in facts.tables.items()} | dict(program.arities))
    kinds = infer(program, facts)
    sizes = {p: facts.count(p) for p in program.arities.keys() - program.heads}
    plan = compile_program(program, kinds, sizes)
    relations = _load(program, facts, plan.kinds, limits)
    strata = tuple(
        Fixpoint(stratum, plan.kinds, relations, facts.symbols, limits).run(progress)
        for stratum in plan.strata
    )
    tables = {goal: _table(relations[goal], plan.kinds[goal]) for goal in goals}
    return Result(Facts(tables, facts.symbols), Stats(strata, perf_counter() - start))


def _relevant(program: CheckedProgram, facts: Facts) -> Facts:
    """Facts of the predicates that the program uses."""
    used = {a.predicate for r in program.rules for a in (r.head, *r.positives, *r.negatives)}
    used.update(program.outputs)
    tables = {p: table for p, table in facts.tables.items() if p in used}
    for predicate, table in tables.items():
        arity = program.arities.get(predicate, table.arity)
        if table.length and table.arity != arity:
            raise EvaluationError(
                f"{predicate} has {arity} arguments in the rules, but {table.arity} columns in the data"
            )
    for goal in program.outputs:
        if goal not in program.arities and goal not in tables:
            closest = suggest(goal, (*program.arities, *facts.tables))
            raise EvaluationError(
                f"no rule and no fact mentions the predicate {goal}",
                hint=f"did you mean {closest}?" if closest else None,
            )
    return Facts(tables, facts.symbols)


def _load(
    program: CheckedProgram, facts: Facts, kinds: Mapping[str, Sequence[Kind]], limits: Limits
) -> dict[str, Relation]:
    relations: dict[str, Relation] = {}
    for predicate, arity in program.arities.items():
        keyed = program.keyed.get(predicate)
        relation = relations[predicate] = (
            Relation(arity)
            if keyed is None
            else KeyedRelation(arity, keyed, kinds[predicate][keyed.position], facts.symbols, limits)
        )
        table = facts.tables.get(predicate)
        if table is not None and table.length:
            rows = _rows(table, kinds[predicate])
            relation.load(rows, distinct=table.kinds == tuple(kinds[predicate]))
    for fact in program.facts:
        codes = [
            code(term.value, kind, facts.symbols)
            for term, kind in zip(fact.terms, kinds[fact.predicate], strict=True)
            if isinstance(term, Constant)
        ]
        relations[fact.predicate].insert(np.array([codes], dtype=np.int64).reshape(1, -1))
    derived = program.heads
    for predicate, relation in relations.items():
        if predicate not in derived:
            relation.settle()
    return relations


def _rows(table: Table, kinds: Sequence[Kind]) -> Rows:
    rows = np.empty((table.length, table.arity), dtype=np.int64)
    for i, (data, kind, target) in enumerate(zip(table.columns, table.kinds, kinds, strict=True)):
        rows[:, i] = data if kind is target else doubles(data.astype(np.float64))
    return rows


def _table(relation: Relation, kinds: Sequence[Kind]) -> Table:
    rows = relation.buffer[: relation.count]
    return Table(
        tuple(kinds), tuple(np.ascontiguousarray(rows[:, i]) for i in range(relation.arity)), len(rows)
    )


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
        symbols: Symbols,
        limits: Limits,
    ) -> None:
        self.plan = plan
        self.limits = limits
        self.relations = [relations[p] for p in sorted(plan.predicates) if p in relations]
        self.rules = [
            (_Aggregating if rule.rule.aggregation else _Plain)(rule, kinds, relations, symbols, plan)
            for rule in plan.rules
        ]

    def run(self, progress: Progress) -> StratumStats:
        """Reach the fixpoint."""
        start = perf_counter()
        progress.step("deriving " + ", ".join(sorted(self.plan.predicates)))
        for rule in self.rules:
            if not rule.plan.recursive:
                progress.advance(rule.apply())
        rounds = 1
        recursive = [rule for rule in self.rules if rule.plan.recursive]
        while self._turn() and recursive:
            rounds += 1
            if self.plan.inventive and rounds > self.limits.rounds:
                raise self._endless(recursive)
            progress.advance(sum(rule.apply() for rule in recursive))
        for relation in self.relations:
            relation.settle()
        rules = tuple(RuleStats(rule.plan.rule.text, rule.facts, rule.seconds) for rule in self.rules)
        return StratumStats(tuple(sorted(self.plan.predicates)), rounds, perf_counter() - start, rules)

    def _turn(self) -> bool:
        recent = [relation.turn() for relation in self.relations]  # every one of them, so not inside any()
        return any(recent)

    def _endless(self, rules: Sequence[_Rule]) -> EvaluationError:
        most = max(rule.facts for rule in rules)
        growing = [rule for rule in rules if 2 * rule.facts >= most]
        rule = next((rule for rule in growing if rule.example()), growing[0])
        return EvaluationError(
            f"values still change after {self.limits.rounds} rounds{rule.example()}",
            rule.plan.rule.text,
            rule.plan.rule.span,
            "bound the values that grow in the recursion, or allow more rounds",
        )


class _Rule(ABC):
    """A rule at work: its lines of stages, and what became of them."""

    def __init__(
        self,
        plan: ir.RulePlan,
        kinds: Mapping[str, Sequence[Kind]],
        relations: Mapping[str, Relation],
        symbols: Symbols,
        stratum: ir.StratumPlan,
    ) -> None:
        self.plan = plan
        self.head = relations[plan.rule.head.predicate]
        self.lines: list[tuple[Relation | None, Pipeline]] = []
        self.facts = self.changed = 0
        self.seconds = 0.0
        for line in plan.lines:
            pipeline = Pipeline(relations, kinds, plan.kinds, symbols, plan.rule, stratum.predicates)
            self.build(line, pipeline)
            self.lines.append((relations[line.recent] if line.recent else None, pipeline))

    @abstractmethod
    def build(self, line: ir.Line, pipeline: Pipeline) -> None:
        """Add the stages of a line to its pipeline."""

    def apply(self) -> int:
        """Carry the rule out on recent facts, or on all if it is not recursive; returns how many are new."""
        start = perf_counter()
        self.changed = 0
        for rows in self.derived():
            if len(rows):
                self.changed += self.head.insert(rows)
        self.facts += self.changed
        self.seconds += perf_counter() - start
        return self.changed

    @abstractmethod
    def derived(self) -> Batches:
        """Rows of the head from what is recent, known ones among them."""

    def bindings(self) -> Iterator[tuple[Pipeline, Rows]]:
        """What leaves the lines that have anything to read."""
        for relation, pipeline in self.lines:
            if relation is None or len(relation.rows(ir.Part.RECENT)):
                for batch in pipeline.run():
                    yield pipeline, batch

    def example(self) -> str:
        """A changed group, for messages."""
        return ""


class _Plain(_Rule):
    def build(self, line: ir.Line, pipeline: Pipeline) -> None:
        for operator in line.operators:
            pipeline.add(operator)

    def derived(self) -> Batches:
        return (batch for _, batch in self.bindings())


class _Aggregating(_Rule):
    """A rule with an aggregate: before it one pipeline per line, behind it one for all."""

    groups: Groups
    behind: Pipeline
    last: Rows = np.empty((0, 0), dtype=np.int64)

    def build(self, line: ir.Line, pipeline: Pipeline) -> None:
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
            self.groups = Groups(aggregation, len(group), len(contributors), kind, pipeline.symbols)
            self.behind = pipeline.successor(self.scope.layout)
            for operator in line.operators[at + 1 :]:
                self.behind.add(operator)

    def derived(self) -> Batches:
        for pipeline, batch in self.bindings():
            if self.floor is not None:
                self._check(pipeline, batch, self.floor)
            changes = self.groups.add(batch)
            if self.plan.recursive:
                self.groups.track(changes)
        try:
            groups, totals = self.groups.changes() if self.plan.recursive else self.groups.totals()
        except OverflowError as error:
            what = "double" if self.groups.kind is Kind.DOUBLE else "integer"
            row = self.groups.groups.rows[error.args[0]]
            raise self.scope.error(f"{what} overflow in {self.aggregation.function}", row, ()) from None
        rows = np.empty((len(groups), groups.shape[1] + 1), dtype=np.int64)
        rows[:, :-1] = groups
        rows[:, -1] = totals
        if len(rows):
            self.last = rows[:1].copy()
        return self.behind.flow(chunks(rows))

    def _check(self, pipeline: Pipeline, batch: Rows, floor: int) -> None:
        values = batch[:, -1]
        low = (values.view(np.float64) if self.groups.kind is Kind.DOUBLE else values) < floor
        if low.any():
            what = "negative contribution" if floor == 0 else f"contribution below {floor}"
            function = self.aggregation.function
            raise pipeline.scope.error(
                f"{what} to {function} in recursion", batch[int(np.argmax(low))], pipeline.scope.shown
            )

    def example(self) -> str:
        if not len(self.last):
            return ""
        return ", for instance " + self.scope.binding(self.last[0], self.scope.layout)
