"""Semi-naive evaluation: the fixpoint of each stratum.

References
----------
F. Bancilhon, R. Ramakrishnan: An amateur's introduction to recursive query processing strategies, SIGMOD 1986, §4.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter

from kgreason.base import memory
from kgreason.base.cores import consumed, cores, each, together
from kgreason.base.errors import EvaluationError, MemoryLimitError
from kgreason.base.progress import Progress
from kgreason.engine.chase.nulls import Nulls
from kgreason.engine.limits import Limits
from kgreason.engine.plan import ir
from kgreason.engine.relations.fact_tables import Kind
from kgreason.engine.relations.relation import Relation
from kgreason.engine.relations.rows import Rows
from kgreason.engine.seminaive import separable_walks
from kgreason.engine.seminaive.rule_evaluation import Aggregating, Plain, Rule
from kgreason.engine.statistics import StratumStats, visible
from kgreason.language.syntax.syntax_tree import Constant
from kgreason.language.values import elements

MANY = 1 << 14  # facts of a round from which threads extend the indexes, and apply rules of different heads
SHARED = 1 << 22  # most facts of a relation that grows by copies, as threads read it
OnRound = Callable[[Mapping[str, Relation]], None]


@dataclass(eq=False, repr=False)
class Fixpoint:
    """Fixpoint of one stratum.

    Loop invariant, at the start of each round: for every rule of the stratum and every match of its body in *stable*
    facts, the head is in the relation. Each round evaluates all matches with at least one *recent* fact, where the
    other atoms match stable or recent facts, and collects new heads as facts *to add*; then the recent facts become
    stable, and the facts to add become recent. When a round adds nothing, all facts are stable, and by the invariant
    the relations are closed under the rules.

    A fact of a keyed relation whose value improves becomes recent again and loses its older value.
    """

    plan: ir.StratumPlan
    kinds: Mapping[str, Sequence[Kind]]
    by_name: Mapping[str, Relation]
    nulls: Nulls
    limits: Limits
    on_round: OnRound | None = None
    profile: bool = False
    graphs: separable_walks.KeptGraphs | None = None

    def __post_init__(self) -> None:
        self.start = perf_counter()
        self.round = 1
        self.walks = 0
        self.given = 0  # codes from here on are of values made by recursive rules
        self.relations = [self.by_name[p] for p in sorted(self.plan.predicates) if p in self.by_name]
        self.rules = [
            (Aggregating if rule.rule.aggregation else Plain)(
                rule, self.kinds, self.by_name, self.nulls, self.plan.predicates
            )
            for rule in self.plan.rules
        ]

    def run(self, progress: Progress) -> None:
        """Evaluate the rules until the fixpoint."""
        progress.step(f"Deriving {', '.join(visible(sorted(self.plan.predicates)))}", unit="facts")
        try:
            self._rounds(progress)
        except MemoryError as error:
            rule = max(self.rules, key=lambda rule: rule.facts)
            raise self._exhausted(rule, error) from None
        for relation in self.relations:
            relation.settle()

    def stats(self) -> StratumStats:
        """Statistics so far."""
        predicates = tuple(sorted(self.plan.predicates))
        rules = tuple(rule.stats() for rule in self.rules)
        joins = tuple(join for rule in self.rules for join in rule.joins())
        return StratumStats(predicates, self.round, perf_counter() - self.start, rules, self.walks, joins)

    def _rounds(self, progress: Progress) -> None:
        """Apply all rules once, then the recursive ones until no fact is new."""
        for rule in self.rules:
            if not rule.plan.recursive:
                progress.advance(self._apply(rule))
        self.given = len(self.nulls.symbols)
        recursive = [rule for rule in self.rules if rule.plan.recursive]
        separable = self.plan.separable if self.on_round is None else None
        if separable is not None and self._separately(separable, progress):
            return
        while self._turn() and recursive:
            if self.plan.inventive:
                self._check(recursive, self.round + 1)
            self.round += 1
            progress.advance(self._apply_all(recursive))

    def _separately(self, plan: ir.Separable, progress: Progress) -> bool:
        """Evaluate a separable stratum value by value; `False` if the data do not allow it."""
        start = perf_counter()
        rules = {id(rule.plan.rule): rule for rule in self.rules}
        recursive = [rules[id(steps.rule)] for steps in plan.steps]
        tally = separable_walks.Tally(plan, self.profile)
        for relation in self.relations:
            if not relation.indexes:
                relation.pack()  # walks read columns, and need no hash table
        try:
            predicate, at = next(iter(plan.fixed.items()))
            kind = self.kinds[predicate][1 - at]
            return separable_walks.run(tally, self.by_name, self._find, progress.advance, self.graphs, kind)
        except EvaluationError:  # from a step that might never be taken
            return False
        except MemoryError as error:
            raise self._exhausted(recursive[0], error) from None
        finally:
            self.walks = tally.walks
            self._count(tally, recursive, perf_counter() - start)

    def _count(self, tally: separable_walks.Tally, rules: Sequence[Rule], seconds: float) -> None:
        """Distribute the counts of the walks over the recursive rules."""
        if self.profile:
            for i, rule in enumerate(rules):
                for number, (tried, new) in enumerate(tally.counted(i), self.round + 1):
                    rule.count(number, tried, new, seconds * tried / max(tally.tried, 1))
            return
        found = dict(tally.by_predicate) or {rules[0].plan.rule.head.predicate: tally.facts}
        tried = tally.tried
        for rule in rules:  # the first rule of each predicate represents all its rules
            predicate = rule.plan.rule.head.predicate
            if predicate in found:
                rule.count(self.round, tried, found.pop(predicate), seconds)
                tried, seconds = 0, 0.0

    def _find(self, steps: ir.Steps) -> tuple[Iterator[Rows], Kind]:
        """Batches of the rows found by the line of `steps`, with their contribution as the last column."""
        assert steps.line is not None
        aggregation = steps.rule.aggregation
        argument = aggregation.argument if aggregation and aggregation.function != "mcount" else None
        pipeline = next(r.pipeline() for r in self.rules if r.plan.rule is steps.rule)
        for operator in steps.line.operators[:-1]:
            pipeline.add(operator)
        kind = pipeline.contribute(steps.columns, argument or Constant(1))
        return pipeline.run(), kind

    def _apply(self, rule: Rule) -> int:
        try:
            return rule.apply(self.round)
        except MemoryError as error:
            raise self._exhausted(rule, error) from None

    def _apply_all(self, rules: Sequence[Rule]) -> int:
        """Apply recursive rules, those of different heads beside each other where this is safe and pays."""
        if len(self.relations) == 1 or sum(r.seen - r.stable for r in self.relations) < MANY:
            return sum(map(self._apply, rules))  # first of all, as there may be many small rounds
        by_head: dict[str, list[Rule]] = {}
        for rule in rules:
            by_head.setdefault(rule.plan.rule.head.predicate, []).append(rule)
        small = all(relation.count <= SHARED for relation in self.relations)
        spent = [sum(rule.spent for rule in some) for some in by_head.values()]
        # threads share the rows of each rule as well: that is better where one head takes most of the time
        pays = len(by_head) > 1 and cores() > 1 and 3 * max(spent) <= 2 * sum(spent)
        if not (small and pays and all(rule.reads for rule in rules)):
            return sum(map(self._apply, rules))
        waiting = deque(by_head.values())

        def some() -> int:
            return sum(self._apply(rule) for head in consumed(waiting) for rule in head)

        def stop() -> None:
            waiting.clear()
            for rule in rules:
                rule.stopped = True

        with ExitStack() as stack:
            for relation in self.relations:
                stack.enter_context(relation.read_by_others())
            return sum(together(some, len(by_head), stop))

    def _turn(self) -> bool:
        several = len(self.relations) > 1 and sum(r.count - r.seen for r in self.relations) >= MANY
        # not any() of a generator: every relation must turn
        recent = each(Relation.turn, self.relations) if several else [r.turn() for r in self.relations]
        if self.on_round is not None:
            self.on_round(dict(zip(sorted(self.plan.predicates), self.relations, strict=True)))
        return any(recent)

    def _check(self, rules: Sequence[Rule], rounds: int) -> None:
        """Raise an error for values that grow without bound."""
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
        """Number of elements of the longest given value."""
        given = self.nulls.symbols.values(range(self.given))
        return max((elements(value, sys.maxsize) for value in given), default=0)

    def _exhausted(self, rule: Rule, error: MemoryError) -> MemoryLimitError:
        found = f", besides the {rule.facts:,} facts so far{rule.example()}" if rule.facts else ""
        numbers = f": {error}" if isinstance(error, memory.Exhausted) else ""
        return MemoryLimitError(
            f"there is not enough memory for what this rule derives{found}{numbers}",
            rule.plan.rule.text,
            rule.plan.rule.span,
            ("bound what grows in the recursion, " if rule.plan.recursive else "")
            + "derive less at once, or allow more (--memory-limit SIZE, in Python Limits(memory=BYTES))",
        )

    def _endless(self, rules: Sequence[Rule]) -> EvaluationError:
        most = max(rule.facts for rule in rules)
        growing = [rule for rule in rules if 2 * rule.facts >= most]
        growing.sort(key=lambda rule: not rule.computes())  # rules that only copy values are not the cause
        rule = next((rule for rule in growing if rule.example()), growing[0])
        return rule.error(
            f"values still change after {self.limits.rounds} rounds{rule.example()}",
            "bound the values that grow in the recursion, or allow more rounds "
            "(--rounds N, in Python Limits(rounds=N))",
        )
