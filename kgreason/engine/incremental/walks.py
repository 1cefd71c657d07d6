"""A separable stratum follows the changes of the facts that it reads: only values that a changed step concerns walk again.

The walks of the other values visit no state whose steps have changed, so they are as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kgreason.analysis.checked import Keyed
from kgreason.engine.incremental import kernels
from kgreason.engine.incremental.database import Changes, Database
from kgreason.engine.incremental.graph import Adjacency, Doubles, Numbers
from kgreason.engine.incremental.questions import (
    Change,
    Contributions,
    Touching,
    admissible,
    bound,
    given,
    touching,
)
from kgreason.engine.incremental.recompute import Recomputing
from kgreason.engine.incremental.store import Flags
from kgreason.engine.relation import Rows
from kgreason.engine.separable import kernels as walking
from kgreason.engine.separable.steps import (
    EXACT,
    Codes,
    Compressed,
    Listed,
    States,
    build,
    distinct_steps,
    step_weights,
)
from kgreason.engine.table import Kind
from kgreason.errors import EvaluationError
from kgreason.lang.ast import Constant, Expression, Variable
from kgreason.plan import ir

FEW = 16
"""Most new targets of a state for which it is worth asking who has reached them already."""


def walkable(plan: ir.StratumPlan) -> bool:
    """Whether `Walking` can keep a stratum up to date."""
    if plan.separable is None or not all(admissible(rule.rule) for rule in plan.rules):
        return False
    for rule in plan.rules:
        term = rule.rule.head.terms[plan.separable.fixed[rule.rule.head.predicate]]
        aggregation = rule.rule.aggregation
        if (
            not rule.recursive
            and aggregation is not None
            and not (isinstance(term, Variable) and term.name in aggregation.group)
        ):
            return False
    return True


class Walking:
    """A separable stratum that is kept up to date by walking again."""

    def __init__(self, plan: ir.StratumPlan, database: Database, keyed: Mapping[str, Keyed]) -> None:
        assert plan.separable is not None
        self.plan, self.separable, self.database = plan, plan.separable, database
        self.general = Recomputing(plan, database, keyed)
        self.parts = tuple(plan.separable.fixed)
        self.fixed = [plan.separable.fixed[p] for p in self.parts]
        kinds = {id(rule.rule): rule.kinds for rule in plan.rules}
        self.steps = [_Steps(s, kinds[id(s.rule)], database) for s in plan.separable.steps]
        self.seeds = [
            _Seeds(rule, database, plan.separable.fixed[rule.rule.head.predicate])
            for rule in plan.rules
            if not rule.recursive
        ]
        self.reads = {t.predicate for one in (*self.steps, *self.seeds) for t in one.touching}
        for part, at in zip(self.parts, self.fixed, strict=True):
            for column in (at, 1 - at):
                database.stores[part].index((column,))
        self._build()

    # --- the graph ------------------------------------------------------------------

    def _build(self) -> None:
        """Find all steps; without a graph (`self.numbers` is None) the stratum is derived in the general way."""
        self.numbers: Numbers | None = None
        moving = [self._distinct(p, 1 - at) for p, at in zip(self.parts, self.fixed, strict=True)]
        find = {id(steps.plan): steps for steps in self.steps}
        try:
            graph = build(self.separable, moving, lambda s: find[id(s)].find())
        except EvaluationError:
            return
        if graph is None:
            return
        size = len(graph.numbering)
        self.numbers = Numbers(graph.numbering.codes)
        states = size * len(self.parts)
        empty = Compressed(np.zeros(states + 1, np.int64), np.empty(0, np.int32), np.empty(0))
        self.bounds = graph.bounds
        self.plain = Adjacency(graph.plain, False)
        self.sums = Adjacency(graph.sums or empty, True)
        self.summing = graph.sums is not None
        to, weights = self.sums.to[: self.sums.used], self.sums.weights[: self.sums.used]
        self.totals = np.bincount(to, weights, minlength=states)
        self.room = size
        self._spread(size + size // 4 + 64)

    def _distinct(self, predicate: str, column: int) -> Codes:
        index = self.database.stores[predicate].index((column,))
        return index.entries[: index.keys, 3].copy()

    def _spread(self, room: int) -> None:
        """Make room for numbers below `room`, and the memory of the walks."""
        parts = len(self.parts)
        totals = np.zeros((parts, room))
        totals[:, : self.room] = self.totals.reshape(parts, self.room)
        self.totals = totals.reshape(-1)
        for adjacency in (self.plain, self.sums):
            adjacency.spread(parts, self.room, room)
        self.room = room
        states = parts * room
        self.cells = np.full(4 * states if self.summing else 0, 0.0)
        self.stamps = np.full(0 if self.summing else states, 0, dtype=np.int32)
        self.marks = np.full(states, 0)
        self.stamp = self.mark = 0
        self.out = np.empty(4 * states + 1024, dtype=np.int32)

    def _forget(self) -> None:
        """Trust the graph no more."""
        self.numbers = None

    def _states(self, codes: Codes, part: int) -> States:
        assert self.numbers is not None
        return (self.numbers.of(codes) + part * self.room).astype(np.int32)

    def _number(self, codes: Iterable[Codes]) -> None:
        """Number new values; facts of one predicate that another one copies make a step for each."""
        assert self.numbers is not None
        before = len(self.numbers)
        for some in codes:
            self.numbers.add(some)
        size = len(self.numbers)
        if size > self.room:
            self.database.later(self._forget)
            self._spread(2 * size)
        for steps in self.steps:
            if steps.plan.body is None:
                source, target = (
                    self.parts.index(p) * self.room for p in (steps.plan.source, steps.plan.head)
                )
                for number in range(before, size):
                    to, weights = self.plain.row(source + number)
                    self.plain.replace(source + number, np.append(to, np.int32(target + number)), weights)

    def _replace(self, adjacency: Adjacency, state: int, to: States, weights: Doubles) -> None:
        """Give a state other steps."""
        room, (old, old_weights) = self.room, adjacency.row(state)

        def undo() -> None:
            if self.numbers is not None and self.room == room:
                self._put(adjacency, state, old, old_weights)

        self.database.later(undo)
        self._put(adjacency, state, to, weights)

    def _put(self, adjacency: Adjacency, state: int, to: States, weights: Doubles) -> None:
        if adjacency.weighted:
            old, old_weights = adjacency.row(state)
            np.subtract.at(self.totals, old, old_weights)
            np.add.at(self.totals, to, weights)
        adjacency.replace(state, to, weights)

    # --- an update ------------------------------------------------------------------

    def update(self, changes: Changes, given: Changes) -> Changes:
        """Changes of the stratum's facts, carried out."""
        if self.numbers is not None:
            found = self._walked(changes, given)
            if found is not None:
                return found
        self.database.later(self._forget)
        found = self.general.update(changes, given)
        self._build()
        return found

    def _walked(self, changes: Changes, given: Changes) -> Changes | None:
        """The same by walking; `None`, and no fact has changed, where sums might not be what the rules say."""
        below = {p: change for p, change in changes.items() if p in self.reads}
        values = [c for p, at in zip(self.parts, self.fixed, strict=True) for c in _column(given.get(p), at)]
        asked = (*self.steps, *self.seeds)
        try:
            for one in asked:
                one.begin()
            self.database.rewind(below)
            for one in asked:
                one.lose(below)
            self.database.replay(below)
            for one in asked:
                one.win(below)
            affected = self._edit()
        except EvaluationError:  # of a step that perhaps nobody takes
            return None
        if affected is None:
            return None
        values += [affected, *(codes for seeds in self.seeds for codes in seeds.touched)]
        return self._walk(np.unique(np.concatenate(values)))

    def _edit(self) -> Codes | None:
        """Rewrite the steps from all values that changes touch; returns the fixed values that may notice."""
        edits: list[tuple[int, Codes, list[tuple[_Steps, Rows, Kind]]]] = []
        for part, predicate in enumerate(self.parts):
            here = [steps for steps in self.steps if steps.plan.source == predicate]
            touched = [codes for steps in here for codes in steps.touched]
            if touched:
                codes = np.unique(np.concatenate(touched))
                edits.append((part, codes, [(steps, *steps.find(codes)) for steps in here]))
        for _, codes, found in edits:
            if any(s.plan.threshold and (step_weights(r, k) < 0).any() for s, r, k in found):
                return None
            self._number([codes, *(rows[:, i] for _, rows, _ in found for i in (0, 1))])
        affected = [np.empty(0, dtype=np.int64)]
        for part, codes, found in edits:
            plain, sums = self._listed(found, codes, part)
            affected += self._rewrite(self.plain, plain, codes, part)
            affected += self._rewrite(self.sums, sums, codes, part)
            kinds = [kind for steps, _, kind in found if steps.plan.threshold]
            most = EXACT if Kind.INT in kinds else np.finfo(np.float64).max / 2
            if not self.totals[sums.target].max(initial=0) < most:
                return None
        return np.concatenate(affected)

    def _listed(
        self, found: Sequence[tuple[_Steps, Rows, Kind]], codes: Codes, part: int
    ) -> tuple[Listed, Listed]:
        """All steps from some values, plain ones and those that are summed up."""
        plain: list[Listed] = []
        sums: list[Listed] = []
        for steps, rows, kind in found:
            columns = (codes, codes) if steps.plan.body is None else (rows[:, 0], rows[:, 1])
            ends = self._states(columns[0], part), self._states(columns[1], self.parts.index(steps.plan.head))
            if steps.plan.threshold is None:
                plain.append(Listed(*ends, np.empty(0)))
            else:
                sums.append(Listed(*ends, step_weights(rows, kind)))
        return Listed.join(plain), Listed.join(sums)

    def _rewrite(self, adjacency: Adjacency, steps: Listed, codes: Codes, part: int) -> Iterator[Codes]:
        """Replace the rows of some values of a part; gives the fixed values that may notice."""
        order = np.argsort(steps.source, kind="stable")
        source, target = steps.source[order], steps.target[order]
        weights = steps.weights[order] if adjacency.weighted else steps.weights
        states = self._states(codes, part)
        first, end = np.searchsorted(source, states), np.searchsorted(source, states, side="right")
        for state, code, a, b in zip(
            states.tolist(), codes.tolist(), first.tolist(), end.tolist(), strict=True
        ):
            old = adjacency.row(state)
            new = target[a:b], weights[a:b] if adjacency.weighted else weights
            less, more = _compared(old, new)
            if len(less) or len(more):
                yield self._notice(part, code, less, more)
                self._replace(adjacency, state, *new)

    def _notice(self, part: int, code: int, less: States, more: States) -> Codes:
        """Fixed values that reach a state from which steps to some others count less or more."""
        here = self._reaching(part, code)
        if not len(here) or len(less) + len(more) > FEW:
            return here
        assert self.numbers is not None
        found = [here[:0]]
        for some, meets in ((less, np.intersect1d), (more, np.setdiff1d)):
            for state in some.tolist():
                there = self._reaching(state // self.room, int(self.numbers.codes[state % self.room]))
                found.append(meets(here, there, assume_unique=True))  # type: ignore[operator]
        return np.concatenate(found)

    def _reaching(self, part: int, code: int) -> Codes:
        """Fixed values of the facts of a predicate with a moving value."""
        at = self.fixed[part]
        index = self.database.stores[self.parts[part]].index((1 - at,))
        return index.matching(np.array([[code]]))[:, at]

    # --- walks ----------------------------------------------------------------------

    def _walk(self, values: Codes) -> Changes:
        """Walk again for some fixed values, and carry out what is different."""
        start, states = self._seeds(values)
        rows, old_ptr, old = self._held(values)
        gone = np.zeros(len(old), dtype=np.bool_)
        owners, reached = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int32)]
        counts = np.zeros(len(values), dtype=np.int64)
        first = 0
        while first < len(values):
            done, used = self._advance(start, states, counts, first, len(values))
            fresh = np.zeros(used, dtype=np.bool_)
            out = self.out[:used]
            kernels.differ(old_ptr, old, counts, out, first, done, self.marks, self.mark, gone, fresh)
            owners.append(np.repeat(np.arange(first, done), counts[first:done])[fresh])
            reached.append(out[fresh])
            first = done
        self.stamp += len(values)
        self.mark += 2 * len(values) + 2
        return self._carry_out(values, np.concatenate(owners), np.concatenate(reached), rows, gone)

    def _advance(self, start: Codes, states: States, counts: Codes, first: int, last: int) -> tuple[int, int]:
        plain, sums = self.plain, self.sums
        if self.stamp + last > 2**31 - 2:
            self.stamps[:] = self.stamp = 0
        if not self.summing:
            return walking.reach(
                start,
                states,
                2,
                plain.ptr,
                plain.to,
                self.stamps,
                self.stamp,
                self.out,
                0,
                counts,
                first,
                last,
            )
        return walking.accumulate(
            start,
            states,
            2,
            plain.ptr,
            plain.to,
            sums.ptr,
            sums.to,
            sums.weights,
            self.bounds,
            self.cells,
            self.stamp,
            self.out,
            0,
            counts,
            first,
            last,
        )

    def _seeds(self, values: Codes) -> tuple[Codes, States]:
        """States where the walks of some fixed values begin, one value after another, and their bounds."""
        facts: list[tuple[int, Rows]] = []
        for seeds in self.seeds:
            rows = seeds.bound.ask(values.reshape(-1, 1))
            facts.append((self.parts.index(seeds.head), rows[np.isin(rows[:, seeds.at], values)]))
        for part, predicate in enumerate(self.parts):
            base, at = self.database.base.get(predicate), self.fixed[part]
            for store in (base.data, base.stated) if base else ():
                facts.append((part, store.index((at,)).matching(values.reshape(-1, 1))))
        self._number([rows[:, 1 - self.fixed[part]] for part, rows in facts])
        places = [np.searchsorted(values, rows[:, self.fixed[part]]) for part, rows in facts]
        states = [self._states(rows[:, 1 - self.fixed[part]], part) for part, rows in facts]
        place = np.concatenate([np.empty(0, dtype=np.int64), *places])
        order = np.argsort(place, kind="stable")
        state = np.concatenate([np.empty(0, dtype=np.int32), *states])[order]
        return _bounds(place, len(values)), state

    def _held(self, values: Codes) -> tuple[Rows, Codes, States]:
        """Facts of some fixed values (part, fixed, moving), those of one value together; bounds and states."""
        pieces = [np.empty((0, 3), dtype=np.int64)]
        for part, predicate in enumerate(self.parts):
            at = self.fixed[part]
            found = self.database.stores[predicate].index((at,)).matching(values.reshape(-1, 1))
            pieces.append(np.column_stack([np.full(len(found), part), found[:, at], found[:, 1 - at]]))
        rows = np.concatenate(pieces)
        place = np.searchsorted(values, rows[:, 1])
        if len(self.parts) > 1:
            order = np.argsort(place, kind="stable")
            rows, place = rows[order], place[order]
        assert self.numbers is not None
        states = self.numbers.of(rows[:, 2]) + rows[:, 0] * self.room
        return rows, _bounds(place, len(values)), states.astype(np.int32)

    def _carry_out(self, values: Codes, owner: Codes, reached: States, rows: Rows, gone: Flags) -> Changes:
        assert self.numbers is not None
        found: Changes = {}
        lost = rows[gone][::-1]  # an index finds the last of its rows first
        for part, predicate in enumerate(self.parts):
            at, here = self.fixed[part], reached // self.room == part
            moving = self.numbers.codes[reached[here] % self.room]
            added = np.empty((len(moving), 2), dtype=np.int64)
            added[:, at], added[:, 1 - at] = values[owner[here]], moving
            of_part = lost[lost[:, 0] == part]
            removed = np.ascontiguousarray(of_part[:, [1 + at, 2 - at]])
            found[predicate] = Change(added, removed)
            self.database.change(predicate, found[predicate])
        return found


def _column(change: Change | None, position: int) -> list[Codes]:
    return [] if change is None else [change.added[:, position], change.removed[:, position]]


def _bounds(place: Codes, length: int) -> Codes:
    return np.append(0, np.cumsum(np.bincount(place, minlength=length))).astype(np.int64)


def _compared(old: tuple[States, Doubles], new: tuple[States, Doubles]) -> tuple[States, States]:
    """Targets for which one row of steps counts less than another before, and for which it counts more."""
    if all(np.array_equal(a, b) for a, b in zip(old, new, strict=True)):
        return old[0][:0], old[0][:0]
    if not len(old[1]) and not len(new[1]):
        return np.setdiff1d(old[0], new[0]), np.setdiff1d(new[0], old[0])
    targets, which = np.unique(np.concatenate([old[0], new[0]]), return_inverse=True)
    difference = np.concatenate([-old[1], new[1]])
    total = np.bincount(which, difference, len(targets))
    # a difference of 0 may be one of doubles that was rounded away: both, to be sure
    doubtful = np.abs(total) <= 1e-9 * np.bincount(which, np.abs(difference), len(targets))
    return targets[(total < 0) | doubtful], targets[(total > 0) | doubtful]


class _Asked:
    """What changes touch: values of one variable, before an update and after."""

    touching: list[Touching]
    column = 0

    def begin(self) -> None:
        """Begin an update."""
        self.touched: list[Codes] = []

    def lose(self, below: Changes) -> None:
        """Take in values of matches that may be none any more."""
        for touching in self.touching:
            self._touch(touching, touching.lost(below))

    def win(self, below: Changes) -> None:
        """Take in values of matches that may be new."""
        for touching in self.touching:
            self._touch(touching, touching.won(below))

    def _touch(self, touching: Touching, rows: Rows | None) -> None:
        if rows is not None and len(rows):
            self.touched.append(touching.question.ask(rows)[:, self.column])


class _Steps(_Asked):
    """What is asked of the rule of some steps: their sources."""

    def __init__(self, plan: ir.Steps, kinds: Mapping[str, Kind], database: Database) -> None:
        self.plan = plan
        self.touching = []
        if plan.body is None:
            return
        aggregation, context = plan.rule.aggregation, database.context
        counts = aggregation is None or aggregation.function == "mcount" or aggregation.argument is None
        argument: Expression = Constant(1) if counts else aggregation.argument  # type: ignore[assignment,union-attr]
        source = Variable(plan.columns[0])
        kind = (kinds[source.name],)
        self.touching = touching(plan.body, context, kinds, (source,))
        self.all = Contributions(plan, plan.body, context, kinds, kind, argument)
        asked = replace(plan.body, positives=(given((source,), plan.body), *plan.body.positives))
        self.bound = Contributions(plan, asked, context, kinds, kind, argument)

    def find(self, codes: Codes | None = None) -> tuple[Rows, Kind]:
        """Distinct steps from some values, or from all."""
        if self.plan.body is None:
            return np.empty((0, 3), dtype=np.int64), Kind.INT
        question = self.all if codes is None else self.bound
        rows = question.ask(np.empty((0, 1), dtype=np.int64) if codes is None else codes.reshape(-1, 1))
        return distinct_steps(self.plan, lambda _: (rows, question.kind))


class _Seeds(_Asked):
    """What is asked of a rule without a recursion: the fixed values of its facts."""

    def __init__(self, plan: ir.RulePlan, database: Database, at: int) -> None:
        rule, context = plan.rule, database.context
        self.head, self.at = rule.head.predicate, at
        term, kind = rule.head.terms[at], context.kinds[self.head][at]
        grouped = rule.aggregation is not None
        self.touching = touching(rule, context, plan.kinds, (term,) if grouped else None)
        self.column = 0 if grouped else at
        self.bound = bound(rule, context, plan.kinds, (term,), (kind,))
