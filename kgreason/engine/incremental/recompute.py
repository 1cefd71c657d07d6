"""A stratum whose facts are derived anew, and compared with those before."""

from __future__ import annotations

from collections.abc import Mapping

from kgreason.analysis.checked import Keyed
from kgreason.engine.fixpoint import Fixpoint
from kgreason.engine.incremental.change import Change, Deltas
from kgreason.engine.incremental.database import Database
from kgreason.engine.incremental.work import ANEW
from kgreason.engine.keyed import KeyedRelation
from kgreason.engine.relation import Relation
from kgreason.plan import ir
from kgreason.progress import SILENT


class Recomputing:
    """The general way: right for every stratum, whatever its rules."""

    def __init__(self, plan: ir.StratumPlan, database: Database, keyed: Mapping[str, Keyed]) -> None:
        self.plan = plan
        self.database = database
        self.keyed = keyed

    def update(self, changes: Deltas, given: Deltas) -> Deltas:  # noqa: ARG002
        """Deltas of the stratum's facts, carried out; `changes` of other facts and of `given` ones are done."""
        database, context = self.database, self.database.context
        context.work.pay(
            sum(context.stores[p].live for p in self.plan.predicates if p in context.stores) // ANEW
        )
        anew = {p: self._empty(p) for p in self.plan.predicates if p in context.stores}
        for predicate, relation in anew.items():
            relation.load(database.given(predicate), distinct=True)
        relations: dict[str, Relation] = {**context.stores, **anew}
        Fixpoint(self.plan, context.kinds, relations, context.nulls, context.limits).run(SILENT)
        found = {p: Change.towards(r.buffer[: r.count], context.stores[p]) for p, r in anew.items()}
        for predicate, change in found.items():
            database.change(predicate, change)
        return found

    def _empty(self, predicate: str) -> Relation:
        context, keyed = self.database.context, self.keyed.get(predicate)
        arity = context.stores[predicate].arity
        if keyed is None:
            return Relation(arity)
        kind = context.kinds[predicate][keyed.position]
        return KeyedRelation(arity, keyed, kind, context.nulls.symbols, context.limits)
