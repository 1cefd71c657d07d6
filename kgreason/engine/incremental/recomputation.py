"""Recomputation of strata, as a whole or for single fixed values.

In a separable stratum the facts of one fixed value (`engine.plan.separable_strata`) do not depend on those of others. A
change affects the fixed values of the matches that it adds or removes: their facts are derived again, and all others
remain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kgreason.base.errors import EvaluationError
from kgreason.base.progress import SILENT
from kgreason.engine.incremental.database import ANEW, Change, Database, Deltas
from kgreason.engine.incremental.rule_queries import (
    GIVEN,
    Consequences,
    admissible,
    bound_by,
    consequences,
    given,
)
from kgreason.engine.plan import ir
from kgreason.engine.plan.planner import compile_rule
from kgreason.engine.relations.relation import Relation, empty_relation
from kgreason.engine.relations.rows import Rows
from kgreason.engine.relations.symbols import Codes
from kgreason.engine.seminaive.fixpoint import Fixpoint
from kgreason.language.check.checked_program import Keyed
from kgreason.language.syntax.syntax_tree import Variable


class Recomputing:
    """Strategy for any stratum: derive all its facts again and compare."""

    def __init__(self, plan: ir.StratumPlan, database: Database, keyed: Mapping[str, Keyed]) -> None:
        self.plan = plan
        self.database = database
        self.keyed = keyed

    def update(self, changes: Deltas, given: Deltas) -> Deltas:  # noqa: ARG002
        """Recompute the stratum after `changes` below it and `given` ones; returns the changes of its facts."""
        database, context = self.database, self.database.context
        context.work.pay(
            sum(context.stores[p].live for p in self.plan.predicates if p in context.stores) // ANEW
        )
        anew: dict[str, Relation] = {}
        for p in self.plan.predicates & context.stores.keys():
            arity, symbols = context.stores[p].arity, context.nulls.symbols
            anew[p] = empty_relation(arity, self.keyed.get(p), context.kinds[p], symbols, context.limits)
            anew[p].load(database.given(p), distinct=True)
        relations: dict[str, Relation] = {**context.stores, **anew}
        Fixpoint(self.plan, context.kinds, relations, context.nulls, context.limits).run(SILENT)
        found = {p: Change.towards(r.buffer[: r.count], context.stores[p]) for p, r in anew.items()}
        for predicate, change in found.items():
            database.change(predicate, change)
        return found


def divisible(plan: ir.StratumPlan) -> bool:
    """Whether `Dividing` can maintain a stratum."""
    if plan.separable is None or not all(admissible(rule.rule) for rule in plan.rules):
        return False
    if any(steps.doubling for steps in plan.separable.steps):  # such a rule reads facts of other fixed values
        return False
    for rule in (r.rule for r in plan.rules if r.rule.aggregation is not None):
        assert rule.aggregation is not None
        term = rule.head.terms[plan.separable.fixed[rule.head.predicate]]
        if not isinstance(term, Variable) or term.name not in rule.aggregation.group:
            return False
    return True


class Dividing:
    """Strategy for a separable stratum: derive the facts of affected fixed values again."""

    def __init__(self, plan: ir.StratumPlan, database: Database) -> None:
        assert plan.separable is not None
        self.database = database
        stores = database.stores
        self.fixed = {p: at for p, at in plan.separable.fixed.items() if p in stores}
        (self.kind,) = {database.context.kinds[p][at] for p, at in self.fixed.items()}
        self.queries: list[tuple[Consequences, str]] = []
        rules = tuple(map(self._guarded, plan.rules))
        self.plan = plan._replace(predicates=frozenset(self.fixed), rules=rules, separable=None)
        for rule in plan.rules:
            head, aggregates = rule.rule.head, rule.rule.aggregation is not None and not rule.recursive
            terms = (head.terms[plan.separable.fixed[head.predicate]],) if aggregates else None
            for query in consequences(rule.rule, database.context, rule.kinds, terms):
                if query.predicate not in plan.predicates:
                    self.queries.append((query, "" if aggregates else head.predicate))

    def _guarded(self, plan: ir.RulePlan) -> ir.RulePlan:
        """Restrict a non-recursive rule to the wanted fixed values, if the kinds agree."""
        rule, term = plan.rule, plan.rule.head.terms[self.fixed[plan.rule.head.predicate]]
        if plan.recursive or not isinstance(term, Variable) or term.name not in bound_by(rule.positives):
            return plan
        if plan.kinds[term.name] is not self.kind:
            return plan
        asked = replace(rule, positives=(given((term,), rule), *rule.positives))
        sizes = {p: store.live for p, store in self.database.stores.items()} | {GIVEN: 1}
        return compile_rule(asked, (), (), plan.kinds, sizes)

    def update(self, changes: Deltas, given: Deltas) -> Deltas | None:
        """Apply changes; returns the changes of the stratum's facts, or `None`, without effect, if a rule fails."""
        try:
            values = self._concerned(changes, given)
            found = self._derived(values)
        except EvaluationError:  # possibly for a match that no fact leads to
            return None
        result = {}
        for predicate, at in self.fixed.items():
            old = self.database.stores[predicate].index((at,))
            gone = old.matching(values)
            result[predicate] = Change.between(gone, found[predicate])
            self.database.change(predicate, result[predicate])
        return result

    def _concerned(self, changes: Deltas, given: Deltas) -> Rows:
        """Fixed values of the matches that changes add or remove, as rows."""
        below = {p: changes[p] for p in {query.predicate for query, _ in self.queries} if p in changes}
        values: list[Codes] = [np.empty(0, dtype=np.int64)]

        def note(predicate: str, rows: Rows, *, there: bool) -> None:
            """Add the fixed values of the rows that are (`there`) or are not in the store."""
            rows = rows[self.database.stores[predicate].holds(rows) == there]
            values.append(rows[:, self.fixed[predicate]])

        def touch(head: str, rows: Rows, *, there: bool) -> None:
            if head:
                note(head, rows, there=there)
            else:  # a total may rise or fall, whether matches are added or removed
                values.append(rows[:, 0])

        for predicate, change in given.items():
            note(predicate, change.removed, there=True)
            note(predicate, change.added, there=False)
        with self.database.before(below):
            for query, head in self.queries:
                touch(head, query.lost(below), there=True)
        for query, head in self.queries:
            touch(head, query.won(below), there=False)
        return np.unique(np.concatenate(values)).reshape(-1, 1)

    def _derived(self, values: Rows) -> Mapping[str, Rows]:
        """Facts of some fixed values, derived from the given facts."""
        database, context = self.database, self.database.context
        wanted = Relation(1)
        wanted.load(values, distinct=True)
        wanted.settle()
        anew = {predicate: Relation(2) for predicate in self.fixed}
        for predicate, at in self.fixed.items():
            base = database.base.get(predicate)
            for store in (base.data, base.stated) if base else ():
                anew[predicate].load(store.index((at,)).matching(values), distinct=False)
        paid = 0

        def pay_for_new_facts(relations: Mapping[str, Relation]) -> None:
            nonlocal paid
            counted = sum(relation.count for relation in relations.values())
            context.work.pay((counted - paid) // ANEW)
            paid = counted

        relations: dict[str, Relation] = {**context.stores, **anew, GIVEN: wanted}
        kinds = {**context.kinds, GIVEN: (self.kind,)}
        Fixpoint(self.plan, kinds, relations, context.nulls, context.limits, pay_for_new_facts).run(SILENT)
        found = {}
        for predicate, relation in anew.items():
            rows, at = relation.buffer[: relation.count], self.fixed[predicate]
            rows = rows[np.isin(rows[:, at], values)]
            # facts are reported in the order of these values
            found[predicate] = rows[np.argsort(rows[:, at], kind="stable")]
        return found
