"""Incremental maintenance of a program's facts under edits, and full evaluation as the alternative."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from kgreason.base import memory
from kgreason.engine.chase.constraints import deny
from kgreason.engine.incremental.database import (
    Base,
    BudgetExceeded,
    Change,
    Context,
    Database,
    Deltas,
    Flags,
    Store,
    distinct,
)
from kgreason.engine.incremental.delete_rederive import Rederiving, rederivable
from kgreason.engine.incremental.recomputation import Dividing, Recomputing, divisible
from kgreason.engine.incremental.rule_queries import used
from kgreason.engine.plan import ir
from kgreason.engine.plan.expression_kinds import join
from kgreason.engine.plan.static_kinds import Kinds
from kgreason.engine.relations.fact_tables import Facts, Kind, Table, converted, decode, stated
from kgreason.engine.relations.relation import Relation
from kgreason.engine.relations.rows import Rows, first_rows
from kgreason.engine.relations.symbols import Codes, Symbols, key, once_each
from kgreason.engine.seminaive.evaluation import Chase, table
from kgreason.language.check.checked_program import CheckedAtom, CheckedProgram, Keyed
from kgreason.language.syntax.syntax_tree import Constant
from kgreason.language.values import Value

Strategy = Dividing | Rederiving | Recomputing


class Maintained:
    """Program whose strata are maintained, in order, under changes of the facts below them.

    `chase` is a finished evaluation without nulls; `own` are the given facts before completion of vertices by edge
    ends.
    """

    def __init__(self, chase: Chase, kinds: Kinds, program: CheckedProgram, own: Facts) -> None:
        self.program = program
        self.denials = chase.program.denials
        self.kinds = kinds
        self.plan = chase.plan
        self.symbols: Symbols = chase.facts.symbols
        keyed = chase.program.keyed
        apart = [s.separable for s in self.plan.strata if s.separable is not None and divisible(s)]
        first = {p: (at,) for separable in apart for p, at in separable.fixed.items()}
        self.nulls = chase.nulls
        held = chase.relations  # moved one by one to save memory
        stores = {p: _store(held.pop(p), first.get(p)) for p in list(held)}
        context = Context(stores, self.plan.kinds, chase.nulls, chase.limits)
        self.needed = {*used(chase.program.rules), *chase.program.heads, *chase.program.outputs}
        self.database = Database(context, {})
        self._tables = frozenset(own.tables)
        self._give(own)
        self.strata = [(s, _strategy(s, self.database, keyed)) for s in self.plan.strata]
        self.general = {id(s): Recomputing(s, self.database, keyed) for s in self.plan.strata}

    # --- given facts ----------------------------------------------------------------

    def _give(self, own: Facts) -> None:
        """Separate the given facts from the derived ones."""
        derived = {p for s in self.plan.strata for p in s.predicates}
        facts: dict[str, list[CheckedAtom]] = {}
        for fact in self.program.facts:
            facts.setdefault(fact.predicate, []).append(fact)
        ends = self._ends(own)
        nodes = [n for n in self.program.nodes if self.program.arities.get(n, 1) == 1]
        self.base_kinds: dict[str, tuple[Kind, ...]] = {}
        held = {p: table.kinds for p, table in own.tables.items()} | dict(self.plan.kinds)
        for predicate in {*own.tables, *facts, *nodes}:
            if predicate not in held and predicate not in nodes:  # stated, but unused
                continue
            kinds = self.base_kinds[predicate] = held.get(predicate, (Kind.STRING,))
            shown = distinct(stated(facts.get(predicate, ()), kinds, self.symbols))
            store = self.database.stores.get(predicate)
            alone = predicate not in derived and predicate not in nodes and not len(shown)
            if not alone or store is None or predicate not in self.needed:
                store = Store(len(kinds), _rows(own.tables.get(predicate), kinds, self.symbols))
            counted = ends.copy() if predicate in nodes else None
            self.database.base[predicate] = Base(store, shown, counted)

    def _ends(self, own: Facts) -> Codes:
        columns = [own.tables[e].columns[i] for e in self.program.edges if e in own.tables for i in (0, 1)]
        names = [
            str(t.value)
            for fact in self.program.facts
            if fact.predicate in self.program.edges
            for t in fact.terms[:2]
            if isinstance(t, Constant)
        ]
        codes = np.concatenate([np.empty(0, dtype=np.int64), *columns, self.symbols.encode(names)])
        return np.bincount(codes, minlength=len(self.symbols)).astype(np.int64)

    def fitting(self, predicate: str, given: Table) -> bool:
        """Whether the plan admits such facts of a predicate."""
        if predicate not in self.database.base:
            return False
        known = all((predicate, i) in self.kinds.positions for i in range(given.arity))
        if predicate in self.needed and not known:
            return False
        kinds = self.base_kinds[predicate]
        return all(join(a, b) is b for a, b in zip(given.kinds, kinds, strict=True))

    def rows(self, predicate: str, given: Table) -> Rows:
        """Rows of a table that is `fitting` for a predicate."""
        return _rows(given, self.base_kinds[predicate], self.symbols)

    @property
    def size(self) -> int:
        """Number of given facts."""
        return sum(base.data.live for base in self.database.base.values())

    def own(self) -> Facts:
        """Current given facts."""
        tables = {}
        for predicate, base in self.database.base.items():
            rows = base.data.rows(ir.Part.ALL)
            if predicate in self._tables or len(rows):
                tables[predicate] = Table.of(self.base_kinds[predicate], rows)
        return Facts(tables, self.symbols)

    # --- updates --------------------------------------------------------------------

    def update(self, edits: Mapping[str, Rows], *, add: bool) -> Deltas | None:
        """Add or remove given facts; returns the changes of all facts.

        A failed update is rolled back. The result is `None` if the update would cost more than a full evaluation; it is
        rolled back then, too.
        """
        database = self.database
        database.log.clear()
        database.context.work.begin(sum(store.live for store in database.stores.values()))
        try:
            return self._update(edits, add=add)
        except BaseException as error:
            with memory.unlimited():
                while database.log:
                    database.log.pop()()
            if isinstance(error, BudgetExceeded):
                return None
            raise

    def _update(self, edits: Mapping[str, Rows], *, add: bool) -> Deltas:
        changes: Deltas = {}
        self.edited = 0
        given = dict(self._edit(edits, add=add))
        derived = {p for stratum, _ in self.strata for p in stratum.predicates}
        for predicate in given.keys() - derived:
            if predicate in self.needed and predicate in self.database.stores:
                changes[predicate] = given[predicate]
                if self.database.base[predicate].data is not self.database.stores[predicate]:
                    self.database.change(predicate, given[predicate])
        for stratum, strategy in self.strata:
            here = {p: given[p] for p in stratum.predicates if p in given}
            reads = set(used([rule.rule for rule in stratum.rules]))
            if not here and reads.isdisjoint(changes):
                continue
            found = strategy.update(changes, here)
            if found is None:
                found = self.general[id(stratum)].update(changes, here)
            changes.update({p: change for p, change in found.items() if change})
        self._deny(changes)
        return changes

    def _edit(self, edits: Mapping[str, Rows], *, add: bool) -> Iterator[tuple[str, Change]]:
        """Edit the given facts; yields the facts that have become given, or are no longer given, by predicate."""
        vertices: list[Codes] = [np.empty(0, dtype=np.int64)]
        nodes = {p: base for p, base in self.database.base.items() if base.ends is not None}
        found: dict[str, list[Change]] = {}
        for predicate, given in edits.items():
            self.database.context.work.pay(len(given))
            base, rows = self.database.base[predicate], distinct(given)
            rows = rows[base.data.holds(rows) != add]
            self.edited += len(rows)
            (self.database.append if add else self.database.remove)(base.data, rows)
            if predicate in self.program.edges:
                vertices += [rows[:, 0], rows[:, 1]]
            free = rows[~base.otherwise(rows)]
            change = Change(free, free[:0]) if add else Change(free[:0], free)
            found.setdefault(predicate, []).append(change)
        codes, by = np.concatenate(vertices), 1 if add else -1
        if len(codes):
            for predicate, base in nodes.items():
                change = Change(*base.count_ends(codes, by))
                self.database.log.append(partial(base.count_ends, codes, -by))
                found.setdefault(predicate, []).append(change)
        for predicate, changes in found.items():
            added = np.concatenate([change.added for change in changes])
            removed = np.concatenate([change.removed for change in changes])
            if len(added) or len(removed):
                yield predicate, Change(added, removed)

    def _deny(self, changes: Deltas) -> None:
        denials = [d for d in self.denials if d.predicate in changes]
        if any(self.database.stores[d.predicate].live for d in denials):
            plain = {p: store.plain() for p, store in self.database.stores.items()}
            deny(denials, plain, self.plan.kinds, self.symbols)

    def count(self, predicate: str) -> int:
        """Number of facts of a predicate."""
        return self.database.stores[predicate].live

    def table(self, predicate: str) -> Table:
        """Facts of a predicate."""
        store = self.database.stores[predicate]
        return table(
            predicate, store.plain(), self.plan.kinds[predicate], self.kinds.double_positions, self.symbols
        )


def _strategy(plan: ir.StratumPlan, database: Database, keyed: Mapping[str, Keyed]) -> Strategy:
    if divisible(plan):
        return Dividing(plan, database)
    if rederivable(plan, database, keyed):
        return Rederiving(plan, database)
    return Recomputing(plan, database, keyed)


def _store(relation: Relation, key: Sequence[int] | None) -> Store:
    columns = [relation.column(i) for i in range(relation.arity)]
    rows = np.column_stack(columns) if columns else np.empty((relation.count, 0), dtype=np.int64)
    return Store(relation.arity, rows, key)


def _rows(given: Table | None, kinds: Sequence[Kind], symbols: Symbols) -> Rows:
    if given is None or not given.length:
        return np.empty((0, len(kinds)), dtype=np.int64)
    rows = given.converted(kinds, symbols).matrix()
    return rows if given.kinds == tuple(kinds) else distinct(rows)


class Evaluated:
    """Finished evaluation, with the given facts and those of the goals.

    Without nulls all facts are kept, because small edits convert them to an `Maintained`.
    """

    def __init__(
        self, chase: Chase, kinds: Kinds, program: CheckedProgram, own: Facts, goals: Iterable[str]
    ) -> None:
        self.given = own
        self.tables = {
            g: table(g, chase.relations[g], chase.plan.kinds[g], kinds.double_positions, own.symbols)
            for g in goals
        }
        self.nulls = chase.nulls
        self.nulls.earlier = None  # one earlier evaluation is enough
        self._kept = (chase, kinds, program) if without_nulls(chase.plan) else None

    @property
    def size(self) -> int:
        """Number of given facts."""
        return sum(table.length for table in self.given.tables.values())

    def own(self) -> Facts:
        """The given facts."""
        return self.given

    def count(self, predicate: str) -> int:
        """Number of facts of a goal."""
        return self.tables[predicate].length

    def table(self, predicate: str) -> Table:
        """Facts of a goal."""
        return self.tables[predicate]

    def updating(self) -> Maintained | None:
        """Convert to the editable form, once; `None` if there are nulls."""
        if self._kept is None:
            return None
        (chase, kinds, program), self._kept = self._kept, None  # facts are moved one by one
        return Maintained(chase, kinds, program, self.given)


def without_nulls(plan: ir.Plan) -> bool:
    """Whether no value can be a labelled null or have a type known only at run time."""
    kinds = [*plan.kinds.values(), *(rule.kinds.values() for s in plan.strata for rule in s.rules)]
    return not any(Kind.ANY in some for some in kinds)


def together(old: Table, new: Table, symbols: Symbols) -> Table:
    """Union of two tables with compatible kinds."""
    joined = map(join, old.kinds, new.kinds)
    kinds = tuple(kind for kind in joined if kind is not None)
    one, other = (
        [_in_data(c, k, t, symbols) for c, k, t in zip(table.columns, table.kinds, kinds, strict=True)]
        for table in (old, new)
    )
    columns = tuple(np.concatenate(same) for same in zip(one, other, strict=True))
    return _some(kinds, columns, first_rows(columns)) if columns else max(old, new, key=lambda t: t.length)


def apart(old: Table, new: Table, symbols: Symbols, same: Callable[[Value], Hashable] = key) -> Table:
    """Difference of two tables, old minus new; values are compared by the results of `same`."""
    if old.kinds == new.kinds and (same is not key or Kind.ANY not in old.kinds):
        return unlike(old, new)
    mine, others = (
        [tuple(map(same, row)) for row in Facts({"": given}, symbols).rows("")] for given in (old, new)
    )
    gone = set(others)
    return _some(old.kinds, old.columns, np.array([row not in gone for row in mine], dtype=np.bool_))


def unlike(old: Table, new: Table) -> Table:
    """Difference of two tables with equal coding, old minus new."""
    if not old.columns:
        return Table((), (), 0 if new.length else old.length)
    columns = [np.concatenate(same) for same in zip(new.columns, old.columns, strict=True)]
    return _some(old.kinds, old.columns, first_rows(columns)[new.length :])


def _some(kinds: tuple[Kind, ...], columns: Sequence[Codes], keep: Flags) -> Table:
    return Table(kinds, tuple(column[keep] for column in columns), int(keep.sum()))


def _in_data(column: Codes, kind: Kind, target: Kind, symbols: Symbols) -> Codes:
    """Convert codes to another kind; unlike `any_codes`, doubles remain doubles in columns of kind ANY."""
    if kind is target:
        return column
    if target is Kind.ANY and kind is Kind.DOUBLE:
        return once_each(column, lambda found: [symbols.intern(v) for v in decode(kind, found, symbols)])
    return converted(column, kind, target, symbols)
