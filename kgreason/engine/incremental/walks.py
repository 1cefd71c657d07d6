"""A separable stratum follows the changes of the facts that it reads: values that a changed step concerns walk again.

The walks of all other values meet no state whose steps have changed, so they are as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from kgreason.analysis.checked import Keyed
from kgreason.engine.incremental import kernels
from kgreason.engine.incremental.change import Change, Deltas
from kgreason.engine.incremental.database import Database
from kgreason.engine.incremental.graph import Adjacency, Doubles, StepGraph
from kgreason.engine.incremental.questions import admissible
from kgreason.engine.incremental.recompute import Recomputing
from kgreason.engine.incremental.sources import Doubled, Seeds, Sources
from kgreason.engine.incremental.store import Flags, distinct
from kgreason.engine.incremental.work import STATE
from kgreason.engine.rows import Rows
from kgreason.engine.separable.steps import EXACT, Codes, Listed, States, build, step_weights
from kgreason.engine.table import Kind
from kgreason.errors import EvaluationError
from kgreason.lang.ast import Variable
from kgreason.plan import ir

FEW = 16
"""Most targets of a state for which it is worth asking who has reached them already."""

MANY = 1 << 11
"""Most values from which the steps are rewritten however few values there are."""

NONE = np.empty(0, dtype=np.int64)

Found = tuple[Sources, Rows, Kind]
"""Steps, what was found of them, and the kind of their contributions."""


def walkable(plan: ir.StratumPlan) -> bool:
    """Whether `Walking` can keep a stratum up to date."""
    if plan.separable is None or not all(admissible(rule.rule) for rule in plan.rules):
        return False
    for rule in (r.rule for r in plan.rules if not r.recursive and r.rule.aggregation is not None):
        assert rule.aggregation is not None
        term = rule.head.terms[plan.separable.fixed[rule.head.predicate]]
        if not isinstance(term, Variable) or term.name not in rule.aggregation.group:
            return False
    return True


class Walking:
    """A separable stratum that is kept up to date by walking again.

    Without a graph, because the data do not admit one, the stratum is derived in the general way.
    """

    graph: StepGraph | None

    def __init__(self, plan: ir.StratumPlan, database: Database, keyed: Mapping[str, Keyed]) -> None:
        assert plan.separable is not None
        self.separable, self.database = plan.separable, database
        self.general = Recomputing(plan, database, keyed)
        self.parts = tuple(plan.separable.fixed)
        self.fixed = [plan.separable.fixed[p] for p in self.parts]
        kinds = {id(rule.rule): rule.kinds for rule in plan.rules}
        self.steps = [
            Doubled(s, self._given) if s.doubling else Sources(s, kinds[id(s.rule)], database)
            for s in plan.separable.steps
        ]
        self.seeds = [
            Seeds(rule, database, plan.separable.fixed[rule.rule.head.predicate])
            for rule in plan.rules
            if not rule.recursive
        ]
        self.reads = {way.predicate for one in (*self.steps, *self.seeds) for way in one.touching}
        self._build()

    def _build(self) -> None:
        """Find all steps."""
        self.graph = None
        parts = range(len(self.parts))
        if self.steps and self.steps[0].plan.doubling:
            rows = self._given()
            values = [(rows[:, 0].copy(), rows[:, 1].copy())]
        else:
            values = [(NONE, self._moving(part)) for part in parts]
        find = {id(steps.plan): steps for steps in self.steps}
        try:
            graph = build(self.separable, values, lambda s: find[id(s)].find())
        except EvaluationError:  # of a step that perhaps nobody takes
            return
        if graph is not None:
            copies = [s.plan for s in self.steps if s.plan.body is None and not s.plan.doubling]
            index = self.parts.index
            self.graph = StepGraph(graph, [(index(c.source), index(c.head)) for c in copies])

    def _moving(self, part: int) -> Codes:
        """Moving values of all facts, each once."""
        index = self.database.stores[self.parts[part]].index((1 - self.fixed[part],))
        return index.entries[: index.keys, 3].copy()

    def _given(self, values: Codes | None = None) -> Rows:
        """Facts of the one predicate, of some fixed values or all, that need no recursion; some perhaps twice."""
        (predicate,), (at,) = self.parts, self.fixed
        found = [np.empty((0, 2), dtype=np.int64), *(seeds.facts(values) for seeds in self.seeds)]
        base = self.database.base.get(predicate)
        for store in (base.data, base.stated) if base else ():
            index = store.index((at,))
            found.append(store.rows(ir.Part.ALL) if values is None else index.matching(values.reshape(-1, 1)))
        return distinct(np.concatenate(found))

    def _forget(self) -> None:
        """Trust the graph no more."""
        self.graph = None

    # --- an update ------------------------------------------------------------------

    def update(self, changes: Deltas, given: Deltas) -> Deltas:
        """Changes of the stratum's facts, carried out."""
        if self.graph is not None:
            found = self._walked(self.graph, changes, given)
            if found is not None:
                return found
        self.database.later(self._forget)
        found = self.general.update(changes, given)
        self._build()
        return found

    def _walked(self, graph: StepGraph, changes: Deltas, given: Deltas) -> Deltas | None:
        """The same by walking; `None`, and no fact has changed, where that cannot be done or would take long."""
        below = {p: change for p, change in changes.items() if p in self.reads}
        asked = (*self.steps, *self.seeds)
        for one in asked:
            one.begin()
        self.database.rewind(below)
        for one in asked:
            one.lose(below)
        self.database.replay(below)
        try:
            for one in asked:
                one.win(below)
            changed = self._changed(given)
            for steps in self.steps:
                if steps.plan.doubling:
                    steps.values = changed
            affected = self._edit(graph)
        except EvaluationError:  # of a step that perhaps nobody takes
            return None
        if affected is None:
            return None
        return self._walk(graph, np.unique(np.concatenate([NONE, *affected, *changed])))

    def _changed(self, given: Deltas) -> list[Codes]:
        """Fixed values of the facts that need no recursion and may have come or gone."""
        values = [values for seeds in self.seeds for values in seeds.values]
        for part, predicate in enumerate(self.parts):
            change, at = given.get(predicate), self.fixed[part]
            values += [] if change is None else [change.added[:, at], change.removed[:, at]]
        return values

    # --- steps ----------------------------------------------------------------------

    def _edit(self, graph: StepGraph) -> list[Codes] | None:
        """Rewrite the steps from all values that changes touch; returns the fixed values that may notice.

        `None` if there are too many, or sums might not be what the rules say.
        """
        edits: list[tuple[int, Codes, list[Found]]] = []
        for part, predicate in enumerate(self.parts):
            here = [steps for steps in self.steps if steps.plan.source == predicate]
            touched = [values for steps in here for values in steps.values]
            if touched:
                codes = np.unique(np.concatenate(touched))
                if len(codes) > MANY and len(codes) > len(graph.numbers) // 20:
                    return None
                edits.append((part, codes, [(steps, *steps.find(codes)) for steps in here]))
        for _, codes, found in edits:
            if any((step_weights(rows, kind) < 0).any() for s, rows, kind in found if s.plan.threshold):
                return None
            if graph.number([codes, *(rows[:, i] for _, rows, _ in found for i in (0, 1))]):
                self.database.later(self._forget)
        affected: list[Codes] = []
        for part, codes, found in edits:
            plain, sums = self._listed(graph, found, codes, part)
            affected += self._rewrite(graph, graph.plain, plain, codes, part)
            affected += self._rewrite(graph, graph.sums, sums, codes, part)
            kinds = [kind for steps, _, kind in found if steps.plan.threshold]
            most = EXACT if Kind.INT in kinds else np.finfo(np.float64).max / 2
            if not graph.totals[sums.target].max(initial=0) < most:
                return None
        return affected

    def _listed(
        self, graph: StepGraph, found: Sequence[Found], codes: Codes, part: int
    ) -> tuple[Listed, Listed]:
        """All steps from some values, plain ones and those that are summed up."""
        plain: list[Listed] = []
        sums: list[Listed] = []
        for steps, rows, kind in found:
            target = self.parts.index(steps.plan.head)
            copies = steps.plan.body is None and not steps.plan.doubling
            columns = (codes, codes) if copies else (rows[:, 0], rows[:, 1])
            ends = graph.states(columns[0], part), graph.states(columns[1], target)
            if steps.plan.threshold is None:
                plain.append(Listed(*ends, np.empty(0)))
            else:
                sums.append(Listed(*ends, step_weights(rows, kind)))
        return Listed.join(plain), Listed.join(sums)

    def _rewrite(
        self, graph: StepGraph, adjacency: Adjacency, steps: Listed, codes: Codes, part: int
    ) -> Iterator[Codes]:
        """Replace the rows of some values of a part; gives the fixed values that may notice."""
        self.database.context.work.pay(STATE * len(codes))
        order = np.argsort(steps.source, kind="stable")
        source, target = steps.source[order], steps.target[order]
        weights = steps.weights[order] if adjacency.weighted else steps.weights
        states = graph.states(codes, part)
        first, end = np.searchsorted(source, states), np.searchsorted(source, states, side="right")
        for state, a, b in zip(states.tolist(), first.tolist(), end.tolist(), strict=True):
            old, new = adjacency.row(state), (target[a:b], weights[a:b])
            less, more = compared(old, new)
            if len(less) or len(more):
                yield self._noticing(graph, state, less, more)
                self._replace(graph, adjacency, state, *new)

    def _replace(
        self, graph: StepGraph, adjacency: Adjacency, state: int, to: States, weights: Doubles
    ) -> None:
        old = adjacency.row(state)

        def undo() -> None:
            if self.graph is graph:
                graph.replace(adjacency, state, *old)

        self.database.later(undo)
        graph.replace(adjacency, state, to, weights)

    def _noticing(self, graph: StepGraph, state: int, less: States, more: States) -> Codes:
        """Fixed values that reach a state from which the steps to some others count less or more.

        Those that reach a state already do not notice that a step to it counts more.
        """
        here = self._reaching(graph, state)
        if not len(here) or len(less) + len(more) > FEW:
            return here
        found = [NONE]
        found += [np.intersect1d(here, self._reaching(graph, s), assume_unique=True) for s in less.tolist()]
        found += [np.setdiff1d(here, self._reaching(graph, s), assume_unique=True) for s in more.tolist()]
        return np.concatenate(found)

    def _reaching(self, graph: StepGraph, state: int) -> Codes:
        """Fixed values of the facts that a state stands for."""
        part = state // graph.room
        index = self.database.stores[self.parts[part]].index((1 - self.fixed[part],))
        code = int(graph.numbers.codes[state % graph.room])
        return index.matching(np.array([[code]]), self.database.context.work)[:, self.fixed[part]]

    # --- walks ----------------------------------------------------------------------

    def _walk(self, graph: StepGraph, values: Codes) -> Deltas:
        """Walk again for some fixed values, and carry out what is different."""
        work = self.database.context.work
        start, seeds = self._seeds(graph, values)
        rows, old_ptr, old = self._held(graph, values)
        gone = np.zeros(len(old), dtype=np.bool_)
        owners, reached = [NONE], [old[:0]]
        counts = np.zeros(len(values), dtype=np.int64)
        first = 0
        try:
            while first < len(values):
                done, out = graph.walk(start, seeds, counts, first)
                work.pay(len(out))
                fresh = np.zeros(len(out), dtype=np.bool_)
                kernels.differ(old_ptr, old, counts, out, first, done, graph.marks, graph.mark, gone, fresh)
                owners.append(np.repeat(np.arange(first, done), counts[first:done])[fresh])
                reached.append(out[fresh])
                first = done
        finally:  # what walks that were given up have left must mean nothing to later ones
            graph.stamp += len(values)
            graph.mark += 2 * len(values) + 2
        new = np.concatenate(reached)
        return self._carry_out(graph, values[np.concatenate(owners)], new, rows, gone)

    def _seeds(self, graph: StepGraph, values: Codes) -> tuple[Codes, States]:
        """States where the walks of some fixed values begin, those of one value together, and their bounds."""
        facts = [(self.parts.index(seeds.head), seeds.facts(values)) for seeds in self.seeds]
        for part, predicate in enumerate(self.parts):
            base = self.database.base.get(predicate)
            for store in (base.data, base.stated) if base else ():
                facts.append((part, store.index((self.fixed[part],)).matching(values.reshape(-1, 1))))
        if graph.number(rows[:, 1 - self.fixed[part]] for part, rows in facts):
            self.database.later(self._forget)
        states = [graph.states(rows[:, 1 - self.fixed[part]], part) for part, rows in facts]
        places = [np.searchsorted(values, rows[:, self.fixed[part]]) for part, rows in facts]
        place = np.concatenate([NONE, *places])
        order = np.argsort(place, kind="stable")
        return bounds(place, len(values)), np.concatenate([NONE.astype(np.int32), *states])[order]

    def _held(self, graph: StepGraph, values: Codes) -> tuple[Rows, Codes, States]:
        """Facts of some fixed values as (part, fixed, moving), those of one value together; bounds and states."""
        pieces = [np.empty((0, 3), dtype=np.int64)]
        for part, predicate in enumerate(self.parts):
            at = self.fixed[part]
            index = self.database.stores[predicate].index((at,))
            found = index.matching(values.reshape(-1, 1), self.database.context.work)
            pieces.append(np.column_stack([np.full(len(found), part), found[:, at], found[:, 1 - at]]))
        rows = np.concatenate(pieces)
        place = np.searchsorted(values, rows[:, 1])
        order = np.argsort(place, kind="stable")
        rows = rows[order]
        states = graph.numbers.of(rows[:, 2]) + rows[:, 0] * graph.room
        return rows, bounds(place, len(values)), states.astype(np.int32)

    def _carry_out(self, graph: StepGraph, fixed: Codes, states: States, rows: Rows, gone: Flags) -> Deltas:
        found: Deltas = {}
        lost = rows[gone]
        for part, predicate in enumerate(self.parts):
            at, here = self.fixed[part], states // graph.room == part
            added = np.empty((int(here.sum()), 2), dtype=np.int64)
            added[:, at], added[:, 1 - at] = fixed[here], graph.codes(states[here])
            removed = np.ascontiguousarray(lost[lost[:, 0] == part][:, [1 + at, 2 - at]])
            found[predicate] = Change(added, removed)
            self.database.change(predicate, found[predicate])
        return found


def bounds(place: Codes, length: int) -> Codes:
    """Where the entries of each of the places 0, ..., length - 1 begin and end once they are in order."""
    return np.append(0, np.cumsum(np.bincount(place, minlength=length)))


def compared(old: tuple[States, Doubles], new: tuple[States, Doubles]) -> tuple[States, States]:
    """Targets for which one row of steps counts less than another before, and for which it counts more.

    Examples
    --------
    >>> to = np.array([4, 7, 9], dtype=np.int32)
    >>> less, more = compared((to, np.array([0.5, 0.25, 1])), (to, np.array([0.5, 0.5, 0])))
    >>> less.tolist(), more.tolist()
    ([9], [7])
    """
    if np.array_equal(old[0], new[0]) and np.array_equal(old[1], new[1]):
        return old[0][:0], old[0][:0]
    if not len(old[1]) and not len(new[1]):
        return np.setdiff1d(old[0], new[0]), np.setdiff1d(new[0], old[0])
    targets, weights = np.concatenate([old[0], new[0]]), np.concatenate([old[1], new[1]])
    signs = np.repeat([-1, 1], [len(old[0]), len(new[0])])
    order = np.lexsort((weights, targets))
    targets, weights = targets[order], weights[order]
    alike = (targets[1:] == targets[:-1]) & (weights[1:] == weights[:-1])
    first = np.flatnonzero(np.append(True, ~alike))
    more = np.add.reduceat(signs[order], first) * weights[first]  # by how much each step counts more
    here = np.flatnonzero(np.add.reduceat(signs[order], first))
    found, which = np.unique(targets[first[here]], return_inverse=True)
    total = np.bincount(which, more[here], len(found))
    # a small difference may be what rounding left of more or less: both, to be sure
    doubtful = np.abs(total) <= 1e-9 * np.bincount(which, np.abs(more[here]), len(found))
    return found[(total < 0) | doubtful], found[(total > 0) | doubtful]
