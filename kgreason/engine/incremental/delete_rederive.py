"""Delete and rederive (DRed) for strata without recursive aggregates.

All facts that may lose support are deleted first, by evaluating the rules on the previous facts; those that the
remaining facts still derive are reinserted; then new facts are added semi-naively. Aggregates are recomputed for the
affected groups.

References
----------
A. Gupta, I. S. Mumick, V. S. Subrahmanian: Maintaining views incrementally, SIGMOD 1993, §7 (the DRed algorithm).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from kgreason.engine.incremental.database import Change, Database, Deltas, distinct
from kgreason.engine.incremental.rule_queries import admissible, consequences, derivations
from kgreason.engine.plan import ir
from kgreason.engine.relations.fact_tables import sought
from kgreason.engine.relations.relation import Relation
from kgreason.engine.relations.rows import Rows, chunks
from kgreason.language.check.checked_program import Keyed
from kgreason.language.syntax.syntax_tree import Constant, Term, Variable

LEAST = 1 << 10  # facts that may be deleted at first however few there are


def rederivable(plan: ir.StratumPlan, database: Database, keyed: Mapping[str, Keyed]) -> bool:
    """Whether `Rederiving` can maintain a stratum."""
    if plan.inventive or not all(admissible(rule.rule) for rule in plan.rules):
        return False
    aggregating = [rule for rule in plan.rules if rule.rule.aggregation is not None]
    if aggregating and (plan.recursive or not all(_grouped(rule, database) for rule in aggregating)):
        return False
    if not plan.predicates & keyed.keys():
        return True
    # each group of a single non-recursive rule has one value, so that nothing has to be chosen
    return len(plan.rules) == len(aggregating) == 1 and not plan.predicates & database.base.keys()


def _grouped(rule: ir.RulePlan, database: Database) -> bool:
    """Whether the facts of a group can be looked up by the group variables."""
    assert rule.rule.aggregation is not None
    head, kinds = rule.rule.head, database.context.kinds[rule.rule.head.predicate]
    known = {t.name: kind for t, kind in zip(head.terms, kinds, strict=True) if isinstance(t, Variable)}
    return all(known.get(v) is rule.kinds[v] for v in rule.rule.aggregation.group)


class Rederiving:
    """Stratum maintained by deletion and rederivation.

    Loop invariant of the deletion: everything that follows, before the update, from a changed fact or from a processed
    doomed fact is doomed. Loop invariant of the insertion: everything that follows, after the update, from the
    remaining facts and the processed inserted facts is present.
    """

    def __init__(self, plan: ir.StratumPlan, database: Database) -> None:
        self.plan = plan
        self.database = database
        self.predicates = sorted(p for p in plan.predicates if p in database.stores)
        self.rules = [_Group(r, database) if r.rule.aggregation else _Rule(r, database) for r in plan.rules]
        self.within = [(r, t) for r in self.rules for t in r.consequences if t.predicate in plan.predicates]

    def update(self, changes: Deltas, given: Deltas) -> Deltas | None:
        """Apply changes; returns the changes of the stratum's facts, or `None`, without effect, for too many."""
        read = {t.predicate for rule in self.rules for t in rule.consequences}
        below = {p: change for p, change in changes.items() if p in read and p not in self.plan.predicates}
        doomed = {p: Relation(self.database.stores[p].arity) for p in self.predicates}
        for rule in self.rules:
            rule.touched = rule.touched[:0]
        with self.database.before(below):
            few = self._doom_all(doomed, below, given)
        if not few:
            return None
        self._doom_groups(doomed, below)
        deleted = {p: relation.buffer[: relation.count] for p, relation in doomed.items()}
        for predicate, rows in deleted.items():
            self.database.remove(self.database.stores[predicate], rows)
        inserted = self._insert_all(deleted, below, given)
        return {p: Change.between(deleted[p], inserted[p]) for p in self.predicates}

    # --- deletion -------------------------------------------------------------------

    def _doom_all(self, doomed: Mapping[str, Relation], below: Deltas, given: Deltas) -> bool:
        for predicate, change in given.items():
            self._doom(doomed, predicate, change.removed)
        for rule in self.rules:
            for query in rule.consequences:
                rule.touch(query.lost(below))
            if not isinstance(rule, _Group):
                self._doom(doomed, rule.head, rule.touched)
        asked = dict.fromkeys(self.predicates, 0)
        while any(doomed[p].count > asked[p] for p in self.predicates):
            fresh = {p: doomed[p].buffer[asked[p] : doomed[p].count].copy() for p in self.predicates}
            asked = {p: doomed[p].count for p in self.predicates}
            for rule, query in self.within:
                self._doom(doomed, rule.head, query.prepared.ask(fresh[query.predicate]))
            if any(doomed[p].count > LEAST + self.database.stores[p].live // 2 for p in self.predicates):
                return False
        return True

    def _doom(self, doomed: Mapping[str, Relation], predicate: str, rows: Rows) -> None:
        rows = rows[self.database.stores[predicate].holds(rows)]
        rows = rows[~self.database.is_given(predicate, rows)]
        for chunk in chunks(np.ascontiguousarray(rows)):
            doomed[predicate].insert(chunk)

    def _doom_groups(self, doomed: Mapping[str, Relation], below: Deltas) -> None:
        """Doom the facts of all affected groups; strata with groups are not recursive."""
        for rule in self.rules:
            if isinstance(rule, _Group):
                for query in rule.consequences:
                    rule.touch(query.won(below))
                self._doom(doomed, rule.head, rule.facts())

    # --- insertion ------------------------------------------------------------------

    def _insert_all(self, deleted: Mapping[str, Rows], below: Deltas, given: Deltas) -> dict[str, Rows]:
        inserted: dict[str, list[Rows]] = {p: [rows[:0]] for p, rows in deleted.items()}
        for predicate, change in given.items():
            self._insert(inserted, predicate, change.added)
        for rule in self.rules:
            for rows in rule.again(deleted[rule.head], below):
                self._insert(inserted, rule.head, rows)
        asked = dict.fromkeys(self.predicates, 0)
        while any(len(inserted[p]) > asked[p] for p in self.predicates):
            fresh = {
                p: np.concatenate([inserted[p][0][:0], *inserted[p][asked[p] :]]) for p in self.predicates
            }
            asked = {p: len(inserted[p]) for p in self.predicates}
            for rule, query in self.within:
                self._insert(inserted, rule.head, query.prepared.ask(fresh[query.predicate]))
        return {p: np.concatenate(batches) for p, batches in inserted.items()}

    def _insert(self, inserted: dict[str, list[Rows]], predicate: str, rows: Rows) -> None:
        store = self.database.stores[predicate]
        rows = rows[~store.holds(rows)]
        if len(rows):
            self.database.append(store, rows)
            inserted[predicate].append(rows)


class _Rule:
    """Rule of the stratum with its queries; `touched` are the head facts, or groups, of matches that changed."""

    def __init__(
        self, plan: ir.RulePlan, database: Database, group: tuple[Variable, ...] | None = None
    ) -> None:
        rule, context = plan.rule, database.context
        self.head = rule.head.predicate
        terms: Sequence[Term] = rule.head.terms if group is None else group
        kinds = context.kinds[self.head] if group is None else [plan.kinds[v.name] for v in group]
        self.consequences = consequences(rule, context, plan.kinds, group)
        self.derivations = derivations(rule, context, plan.kinds, terms, kinds)
        self.touched: Rows = np.empty((0, len(terms)), dtype=np.int64)

    def touch(self, rows: Rows) -> None:
        self.touched = np.concatenate([self.touched, rows])

    def again(self, deleted: Rows, below: Deltas) -> Iterator[Rows]:
        """Deleted facts that the rule still derives, and facts derived from changed ones."""
        yield self.derivations.ask(deleted)
        for query in self.consequences:
            yield query.won(below)


class _Group(_Rule):
    def __init__(self, plan: ir.RulePlan, database: Database) -> None:
        rule, context = plan.rule, database.context
        assert rule.aggregation is not None
        group = tuple(Variable(v) for v in rule.aggregation.group)
        super().__init__(plan, database, group)
        names = [t.name if isinstance(t, Variable) else "" for t in rule.head.terms]
        self.positions = [names.index(v.name) for v in group]
        self.constants = {
            i: sought(t.value, kind, context.nulls.symbols)
            for i, (t, kind) in enumerate(zip(rule.head.terms, context.kinds[self.head], strict=True))
            if isinstance(t, Constant)
        }
        self.columns = tuple(sorted([*self.positions, *self.constants]))
        self.index = database.stores[self.head].index(self.columns)

    def facts(self) -> Rows:
        """Facts of the head that may belong to the touched groups."""
        groups = distinct(self.touched)
        keys = np.empty((len(groups), len(self.columns)), dtype=np.int64)
        for i, position in enumerate(self.positions):
            keys[:, self.columns.index(position)] = groups[:, i]
        for position, value in self.constants.items():
            keys[:, self.columns.index(position)] = value
        return distinct(self.index.matching(keys))

    def again(self, deleted: Rows, below: Deltas) -> Iterator[Rows]:  # noqa: ARG002
        """Facts of the touched groups, and of the groups of deleted facts."""
        self.touch(deleted[:, self.positions])
        yield self.derivations.ask(distinct(self.touched))
