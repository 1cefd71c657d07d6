"""Evaluation of a checked program, stratum by stratum, with the chase and the check of constraints."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from kgreason.base.errors import Diagnostic, EvaluationError, InexactError
from kgreason.base.progress import SILENT, Progress
from kgreason.engine.chase.constraints import deny, hidden, promptly, unify
from kgreason.engine.chase.frontiers import NESTING
from kgreason.engine.chase.identities import Merges
from kgreason.engine.chase.nulls import Endless, Nulls
from kgreason.engine.expressions.builtin_functions import Refusal
from kgreason.engine.limits import Limits
from kgreason.engine.plan import ir
from kgreason.engine.plan.planner import compile_program
from kgreason.engine.plan.separable_strata import factored
from kgreason.engine.plan.static_kinds import Kinds, Position, infer
from kgreason.engine.relations.fact_tables import Facts, Kind, Table, stated
from kgreason.engine.relations.relation import KeyedRelation, Relation, empty_relation
from kgreason.engine.relations.rows import chunks
from kgreason.engine.relations.symbols import Symbols
from kgreason.engine.seminaive.fixpoint import Fixpoint, OnRound
from kgreason.engine.statistics import Recorder, Stats, StratumStats
from kgreason.language.check.checked_program import CheckedAtom, CheckedProgram
from kgreason.language.check.program_checker import restricted
from kgreason.language.vocabulary import suggest


class Result(NamedTuple):
    """Facts of the goals, with statistics and warnings of the evaluation."""

    facts: Facts
    stats: Stats
    warnings: tuple[Diagnostic, ...] = ()


def evaluate(
    program: CheckedProgram,
    facts: Facts,
    *,
    goals: Sequence[str] | None = None,
    limits: Limits = Limits(),  # noqa: B008
    progress: Progress = SILENT,
    on_round: OnRound | None = None,
    merges: Merges | None = None,
    recorder: Recorder | None = None,
    doubles: Collection[Position] = (),
) -> Result:
    """Derive the facts of the goal predicates; the tables are coded with the symbols of `facts`.

    Parameters
    ----------
    facts
        Input facts, of any predicates (derived ones too).
    goals
        Predicates to derive; by default the outputs of the program. Only their dependencies are evaluated.
    on_round
        Callback at the start of each round; it gets the relations of the stratum, by predicate. When the evaluation
        restarts, it gets new relations.
    merges
        Records all unifications of nulls, for explanations.
    recorder
        Receives the statistics, even if the evaluation fails.
    doubles
        Positions that hold doubles because of rules or facts that are not passed here.

    Raises
    ------
    ProgramError
        If the types of data and rules are incompatible.
    EvaluationError
        On integer or double overflow, division by zero, a negative contribution to a recursive sum, values that grow
        beyond `limits`, a violated constraint, or a dependency that equates two constants.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> program = load_text("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z).")
    >>> result = evaluate(program, Facts.from_rows({"e": [(1, 2), (2, 3)]}))
    >>> sorted(result.facts.rows("t"))
    [(1, 2), (1, 3), (2, 3)]
    """
    start = perf_counter()
    goals = tuple(program.outputs if goals is None else goals)
    chase, kinds = prepare(program, facts, goals, limits, on_round, doubles=doubles)
    chase.nulls.merges = merges
    chase.profile = recorder is not None and recorder.profile
    try:
        chase.run(progress)
        for relation in chase.relations.values():
            relation.indexes.clear()  # which refer to their relation
        chase.relations = {g: chase.relations[g] for g in goals}  # free the other relations
        for relation in chase.relations.values():
            relation.transpose()
        tables = {
            g: table(g, r, chase.plan.kinds[g], kinds.double_positions, facts.symbols)
            for g, r in chase.relations.items()
        }
    finally:
        stats = Stats(tuple(chase.done), perf_counter() - start, chase.restarts)
        if recorder is not None:
            recorder.stats = stats
    return Result(Facts(tables, facts.symbols), stats, tuple(chase.nulls.warnings.values()))


def prepare(
    program: CheckedProgram,
    facts: Facts,
    goals: Sequence[str],
    limits: Limits,
    on_round: OnRound | None = None,
    earlier: Nulls | None = None,
    doubles: Collection[Position] = (),
) -> tuple[Chase, Kinds]:
    """Plan the evaluation of the goals; returns the chase, ready to run, and the inferred kinds of columns."""
    if on_round is None:  # the callback is to see the rules as written
        program = factored(program)
    # Kinds come from all rules and facts: the choice of goals must not change which columns hold doubles.
    kinds = infer(program, facts, doubles)
    program = restricted(program, goals)
    program = replace(program, strata=promptly(program.strata, hidden(program)))
    facts = relevant(program, facts)
    program = replace(program, arities={p: t.arity for p, t in facts.tables.items()} | dict(program.arities))
    kinds = replace(kinds, arities=program.arities)
    sizes = {p: facts.count(p) for p in program.arities.keys() - program.heads}
    plan = compile_program(program, kinds, sizes)
    return Chase(program, facts, plan, limits, on_round, earlier), kinds


def relevant(program: CheckedProgram, facts: Facts) -> Facts:
    """Facts of the predicates of a program; EvaluationError for other numbers of arguments and unknown outputs."""
    used = {a.predicate for r in program.rules for a in (r.head, *r.positives, *r.negatives)}
    used.update(program.outputs)
    tables = {p: table for p, table in facts.tables.items() if p in used}
    for predicate, table in tables.items():
        arity = program.arities.get(predicate, table.arity)
        if table.length and table.arity != arity:
            what = f"{predicate} has {arity} arguments in the rules, but {table.arity} columns in the data"
            hint = "choose the columns of the source with columns=, or change the rules"
            raise EvaluationError(what, hint=hint)
    known = {*program.arities, *facts.tables}
    for goal in program.outputs:
        if goal not in program.arities and goal not in tables:
            closest = suggest(goal, sorted(known))
            hint = f"did you mean {closest}?" if closest else f"there are {', '.join(sorted(known))}"
            raise EvaluationError(f"no rule and no fact mentions the predicate {goal}", hint=hint)
    return Facts(tables, facts.symbols)


@dataclass(eq=False, repr=False)
class Chase:
    """Chase over the strata of a program, restarted after each unification of nulls.

    Only the nulls survive a restart, with their unifications: the next run derives all facts with the unified values.
    """

    program: CheckedProgram
    facts: Facts
    plan: ir.Plan
    limits: Limits
    on_round: OnRound | None
    earlier: Nulls | None
    profile: bool = False
    restarts: int = 0
    done: list[StratumStats] = field(default_factory=list)
    relations: dict[str, Relation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.nulls = self._nulls()

    def _nulls(self) -> Nulls:
        nulls = Nulls(self.facts.symbols, self.program.wardedness, self.limits, self.earlier)
        for table in self.facts.tables.values():
            for kind, column in zip(table.kinds, table.columns, strict=True):
                if kind in NESTING:
                    nulls.leave_out(column)
        return nulls

    def run(self, progress: Progress) -> None:
        """Evaluate all strata until a fixpoint without pending unifications; `done` has their statistics."""
        try:
            self._run(progress)
        except Endless:  # second attempt, with a bounded chase
            merges, self.nulls = self.nulls.merges, self._nulls()
            if merges is not None:
                merges.forget()
            self.nulls.merges, self.nulls.whole = merges, False
            self.restarts = 0
            self._run(progress)

    def _run(self, progress: Progress) -> None:
        # more: runs that created new nulls; every other run leaves fewer nulls
        known, more = self.nulls.last, 0
        while self._attempt(progress):
            self.restarts += 1
            more += self.nulls.last > known
            known = self.nulls.last
            if more > self.limits.restarts:
                raise EvaluationError(
                    f"unified nulls still lead to new ones after {self.restarts} runs",
                    hint="look for a dependency (X = Y :- ...) over a recursion that makes nulls, or allow more runs "
                    "(in Python Limits(restarts=N))",
                )
            self.nulls.restart()
            if self.nulls.merges is not None:
                self.nulls.merges.again(self.relations, self.nulls.identities)

    def _attempt(self, progress: Progress) -> bool:
        """Run all strata once; returns `True` as soon as a unification has merged different values."""
        plan, symbols = self.plan, self.facts.symbols
        self.relations = load_relations(self.program, self.facts, plan.kinds, self.limits, self.nulls)
        done = self.done = []
        unifications, denials = list(self.program.unifications), self.program.denials
        for stratum in plan.strata:
            fixpoint = Fixpoint(
                stratum, plan.kinds, self.relations, self.nulls, self.limits, self.on_round, self.profile
            )
            try:
                fixpoint.run(progress)
            except EvaluationError:  # an already violated constraint may be the cause
                if not unifications:
                    complete = {p for s in done for p in s.predicates}
                    deny((d for d in denials if d.predicate in complete), self.relations, plan.kinds, symbols)
                raise
            finally:
                done.append(fixpoint.stats())
            here = [u for u in unifications if u.predicate in stratum.predicates]
            unifications = [u for u in unifications if u not in here]
            if sum(unify(u, self.relations, plan.kinds, self.nulls, plan.doubles) for u in here):
                return True
        # no unification is pending, so that violations are final
        deny(denials, self.relations, plan.kinds, symbols)
        return False


def load_relations(
    program: CheckedProgram, facts: Facts, kinds: Mapping[str, Sequence[Kind]], limits: Limits, nulls: Nulls
) -> dict[str, Relation]:
    """Relations of all predicates of a program, with the given facts and those that it states."""
    relations: dict[str, Relation] = {}
    changing = {*program.heads, *(fact.predicate for fact in program.facts)}
    for predicate, arity in program.arities.items():
        keyed = program.keyed.get(predicate)
        relation = empty_relation(arity, keyed, kinds[predicate], facts.symbols, limits)
        relations[predicate] = relation
        table = facts.tables.get(predicate)
        if table is not None and table.length:
            same = table.kinds == tuple(kinds[predicate]) and not nulls.identities.unified
            try:
                given = _converted(table, kinds[predicate], nulls)
                distinct = same and Kind.ANY not in table.kinds
                if distinct and given.arity and keyed is None and predicate not in changing:
                    relation.adopt(tuple(map(np.ascontiguousarray, given.columns)))
                else:
                    relation.load(given.matrix(), distinct)
            except InexactError as error:
                what = f"{error.message}, in the data of {predicate}"
                raise EvaluationError(what, hint=error.hint) from None
            except Refusal as refusal:
                raise EvaluationError(f"{refusal.what}, in the data of {predicate}") from None
    by_predicate: dict[str, list[CheckedAtom]] = {}
    for fact in program.facts:
        by_predicate.setdefault(fact.predicate, []).append(fact)
    for predicate, atoms in by_predicate.items():
        _state(atoms, relations[predicate], kinds[predicate], facts.symbols)
    for predicate in relations.keys() - program.heads:
        relations[predicate].settle()
    return relations


def _state(facts: Sequence[CheckedAtom], relation: Relation, kinds: Sequence[Kind], symbols: Symbols) -> None:
    rows = stated(facts, kinds, symbols)
    if not isinstance(relation, KeyedRelation):
        for chunk in chunks(rows):
            relation.insert(chunk)
        return
    for i, fact in enumerate(facts):  # one by one, for the error message
        try:
            relation.insert(rows[i : i + 1])
        except Refusal as refusal:
            raise EvaluationError(f"{refusal.what}, in the fact {fact}", span=fact.span) from None


def _converted(table: Table, kinds: Sequence[Kind], nulls: Nulls) -> Table:
    """Table of these kinds with the present identities of nulls; columns that do not change are shared."""
    found = table.converted(kinds, nulls.symbols)
    columns = zip(found.columns, table.kinds, strict=True)
    return found._replace(
        columns=tuple(nulls.identities.find(c) if kind in NESTING else c for c, kind in columns)
    )


def table(
    goal: str,
    relation: Relation,
    kinds: Sequence[Kind],
    doubles: Collection[tuple[str, int]],
    symbols: Symbols,
) -> Table:
    """Table of a goal; numbers of an ANY column become doubles if the column can hold doubles."""
    columns = [relation.column(i) for i in range(relation.arity)]
    for i, kind in enumerate(kinds):
        if kind is Kind.ANY and (goal, i) in doubles:
            columns[i] = symbols.doubled(columns[i])
    return Table(tuple(kinds), tuple(columns), relation.count)
