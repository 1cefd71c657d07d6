"""WeightNoising: new weights that differ from the original ones, satisfy incoming sums and lose few query answers.

References
----------
KGISO, Algorithm 2; docs/anonymization.md, Weights; item 3 of Definition 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kgreason.base.cores import both
from kgreason.base.progress import Progress
from kgreason.graph.knowledge_graph import Columns, KnowledgeGraph, Relation, Vertices, Weights
from kgreason.isomorphism.anonymizers.answer_loss import Judge, Judged, Repair, Rows
from kgreason.isomorphism.anonymizers.incoming_sums import Lowering, check_sums, fitted_room, room_below
from kgreason.isomorphism.anonymizers.replacement_weights import NEAR, Drawing, constant_beside, pair_numbers
from kgreason.isomorphism.anonymizers.weight_density import (
    GRID,
    NO_THRESHOLDS,
    Sample,
    Thresholds,
    Units,
    WeightDensity,
    in_units,
    thresholds,
    weights_of,
)
from kgreason.isomorphism.utility.query_utility import utility
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import restricted
from kgreason.language.check.weight_visibility import Use, only_grows

_NEARER = 30  # failed draws that a redraw counts for
# size of the sample for copies: so many for each copied edge, at most one for each edge, but at least so many, or so
# many for each edge
_DRAWN, _LEAST = 100, 10_000
_PER_ROW = 16  # elementary steps of a draw or an evaluation for each vertex and edge, at least


@dataclass(frozen=True, eq=False)
class WeightNoising:
    """Draws of weights for a graph and for its augmentations.

    Attributes
    ----------
    graph, program
        Original graph G with its real weights, and its rules; draws are evaluated by the ``@query`` predicates.
    densities
        Distribution p_w of each weighted relation.
    trials
        Number M of draws, the best of which is kept and then repaired.
    drawings, redraws
        Record of the draws of original weights, so that all other edges get weights in the same way: draws by relation,
        and the redrawn weights with numbers of attempts, in order.
    """

    graph: KnowledgeGraph
    program: CheckedProgram
    densities: Mapping[str, WeightDensity]
    trials: int
    drawings: dict[str, Drawing] = field(default_factory=dict)
    redraws: list[tuple[Rows, int]] = field(default_factory=list)
    _samples: dict[str, Sample] = field(default_factory=dict)

    @classmethod
    def fit(
        cls, graph: KnowledgeGraph, program: CheckedProgram, trials: int, like: Weights | None = None
    ) -> WeightNoising:
        """Fit the weight distributions to the real weights, or one for all relations to weights `like` these."""
        densities = {
            name: WeightDensity.fit(r.weight, name, int(np.bincount(pair_numbers(r)).max(initial=1)), like)
            for name, r in graph.relations.items()
            if r.weight is not None
        }
        return cls(graph, program, densities, trials)

    def originals(
        self, rng: np.random.Generator, progress: Progress, known: Mapping[str, Weights] | None = None
    ) -> KnowledgeGraph:
        """Give every original edge a new weight, if possible on the same sides of all rule thresholds.

        No edge keeps its weight, and no new weight of parallel edges equals any old weight of their pair of vertices,
        so that no permutation of them keeps a weight. Edges have the weights of an earlier release, as far as these are
        `known` (not NaN) and satisfy the conditions; other edges into the same vertex then have new ones.
        """
        within = self._within_bounds(rng, progress)
        old = self.graph if within is None else within.graph
        drawings = {n: self._drawing(n, old.relations[n], rng) for n in self._names(self.graph)}
        self.drawings.update(drawings)
        starts = {n: d.start((known or {}).get(n)) for n, d in drawings.items()}
        made: dict[KnowledgeGraph, tuple[KnowledgeGraph, Rows, int]] = {}

        def drawn() -> KnowledgeGraph:
            constant = {n: self._constant_weights(n, rng) for n in self.densities if n not in drawings}
            return self.graph.with_weights(
                constant | {n: d.run(*starts[n]) / GRID for n, d in drawings.items()}
            )

        def redrawn(current: KnowledgeGraph, rows: Rows, attempt: int) -> KnowledgeGraph:
            near = min(_NEARER * (attempt + 1), NEAR)
            new = current.with_weights(
                {
                    n: d.run(in_units(weights_of(current.relations[n])), rows[n], near) / GRID
                    for n, d in drawings.items()
                }
            )
            made[new] = current, rows, near
            return new

        progress.step("Drawing weights")
        if all(cuts.use is Use.COMPARED for cuts in self._queried.values()):
            first = drawn()
            if not self.judge.queries or self._keeps_answers(first):
                return first
        else:  # the answers of the original will be needed
            steps = _PER_ROW * (self.graph.n + self.graph.m)
            first, _ = both(drawn, lambda: self.judge.reference, steps)
        wanted, least = (self.judge.reference, 0.0) if within is None else (within.answers, within.loss)
        repair = Repair(self.judge, self.trials, progress, "Judging weights", least=least)
        best = repair.best(first, drawn)
        found = earlier = repair.repaired(best, wanted, redrawn).graph
        while earlier in made:
            earlier, rows, near = made[earlier]
            self.redraws.insert(0, (rows, near))
        return found

    def copies(self, graph: KnowledgeGraph, rng: np.random.Generator) -> KnowledgeGraph:
        """Draw weights for copied edges like those of the originals; `graph` contains the copied edges alone."""
        drawings = {}
        for name in self._names(graph):
            relation, cuts = graph.relations[name], self._thresholds.get(name, NO_THRESHOLDS)
            sample = self._sample(name, len(relation))
            drawings[name] = Drawing(name, relation, sample, self._bound(name), cuts, rng, forbidden=None)
        return graph.with_weights({n: d.run() / GRID for n, d in drawings.items()})

    def again(
        self,
        graph: KnowledgeGraph,
        fixed: Mapping[str, int],
        targets: Mapping[str, Vertices],
        rng: np.random.Generator,
    ) -> KnowledgeGraph:
        """Draw weights again, on the same sides of thresholds, for some edges after the `fixed` ones of each relation.

        Where incoming weights are added up, these are the edges into the `targets`, which original edges with new
        weights have. Weights that exceed the bound of incoming sums are lowered.
        """
        found = {}
        for name in self.densities:
            r, start = graph.relations[name], fixed[name]
            if len(r) == start:
                continue
            weight, rest = weights_of(r), r.take(np.arange(start, len(r)))
            if start and self._constant(name):
                found[name] = np.full(len(r), weight[0])
                continue
            cuts, bound = self._thresholds.get(name, NO_THRESHOLDS), self._bound(name)
            if bound is None and not len(cuts.added):
                continue
            drawing = Drawing(name, rest, self.densities[name], None, cuts, rng, forbidden=rest.weight)
            units = in_units(weight)
            units[start:] = drawing.run(units[start:], np.isin(rest.target, targets.get(name, ())))
            if bound is not None:
                units[start:] = self._within_room(name, r, units, start, bound, 1, rng)
            found[name] = np.append(weight[:start], units[start:] / GRID)
        return graph.with_weights(found)

    def _within_room(
        self,
        name: str,
        relation: Columns,
        units: Units,
        fixed: int,
        bound: int,
        alike: int,
        rng: np.random.Generator,
    ) -> Units:
        """Weights after the `fixed` ones, lowered to the room that those leave below the bound of incoming sums."""
        target = relation.target
        used = np.bincount(target[:fixed], weights=units[:fixed], minlength=target.max(initial=-1) + 1)
        room = bound - used.astype(np.float64)
        usual, levels = np.sort(units[:fixed]), self.densities[name].levels
        lowered = fitted_room(units[fixed:], target[fixed:], room, usual, levels, rng, alike)
        check_sums(np.append(units[:fixed], lowered), target, bound, name)
        return lowered

    def synthetic(
        self,
        augmented: KnowledgeGraph,
        fixed: Mapping[str, int],
        rng: np.random.Generator,
        progress: Progress,
        *,
        alike: int = 1,
    ) -> KnowledgeGraph:
        """Give the synthetic edges weights with the distribution of the original ones.

        Where incoming sums are bounded, weights are moreover chosen, if possible, such that rules derive no additional
        answers from them. Elsewhere they follow the distribution only; otherwise answers would reveal synthetic edges.
        The `fixed` leading edges of each relation, originals and copies, keep their weights, each of which `alike` of
        them share; synthetic weights are repeated as often.
        """

        def drawn(graph: KnowledgeGraph, names: Iterable[str]) -> KnowledgeGraph:
            relations = {n: graph.relations[n] for n in names}
            weights = self.synthetic_weights(relations, fixed, rng, alike=alike)
            return graph.with_weights(
                {n: np.append(weights_of(r)[: fixed[n]], weights[n]) for n, r in relations.items()}
            )

        progress.step("Drawing weights of synthetic edges")
        unlowered = drawn(augmented, self.densities)
        if not (bounded := self.lowered):
            return unlowered
        lowered = self._lowered(unlowered, bounded, fixed, alike, rng)
        repair = Repair(self.judge, self.trials, progress, "Judging weights of synthetic edges", fixed)
        if self._grows:
            if all(
                np.array_equal(weights_of(unlowered.relations[n]), weights_of(lowered.relations[n]))
                for n in bounded
            ):
                return unlowered
            # no draw has fewer answers than the lowered one
            least, most = self.judge.all_judged(lowered, unlowered)
            found = repair.repaired(most, least.answers, lambda now, rows, _: exchanged(now, lowered, rows))
        else:
            least = self.judge.judged(lowered)
            most = repair.best(unlowered, lambda: drawn(unlowered, bounded))

            def by_turns(now: KnowledgeGraph, rows: Rows, attempt: int) -> KnowledgeGraph:
                return exchanged(now, drawn(now, bounded) if attempt % 2 else lowered, rows)

            found = repair.repaired(most, self.judge.reference, by_turns)
        return (found if found.loss <= least.loss else least).graph

    def synthetic_weights(
        self,
        relations: Mapping[str, Columns],
        fixed: Mapping[str, int],
        rng: np.random.Generator,
        *,
        alike: int = 1,
    ) -> dict[str, Weights]:
        """Draw weights for the edges after the `fixed` ones of each weighted relation, as `synthetic` does.

        They are those of `synthetic` unless they have to be `lowered`.
        """
        return {
            n: self._synthetic_weights(n, relations[n], fixed[n], alike, rng)
            for n in self.densities
            if n in relations
        }

    @property
    def lowered(self) -> Sequence[str]:
        """Relations whose synthetic weights are chosen by the answers that rules derive from them."""
        bounded = [n for n in self._queried if n in self.program.incoming_sums]
        return bounded if self.judge.queries else ()

    def judging_derived(self) -> WeightNoising:
        """Return the same draws, judged by the facts of derived predicates, too."""
        program = self.program
        queries = tuple(dict.fromkeys((*program.queries, *program.derived)))
        return replace(self, program=replace(program, queries=queries))

    @cached_property
    def judge(self) -> Judge:
        """Evaluation of query answers against those of the original graph."""
        return Judge(self.graph, self.program)

    @cached_property
    def _thresholds(self) -> Mapping[str, Thresholds]:
        """Dependence of the rules of queries and derived predicates on weights."""
        return thresholds(restricted(self.program, (*self.program.queries, *self.program.derived)))

    @cached_property
    def _queried(self) -> Mapping[str, Thresholds]:
        """Dependence of the rules of the evaluated queries on drawn weights, without unread ones."""
        found = thresholds(self.judge.needed)
        return {n: found[n] for n in self.densities if n in found and found[n].use > Use.UNREAD}

    @cached_property
    def _grows(self) -> bool:
        return only_grows(self.judge.needed)

    def _keeps_answers(self, drawn: KnowledgeGraph) -> bool:
        """Whether query answers equal those of the original graph because all compared weights keep their sides."""
        return all(
            cuts.use is Use.COMPARED
            and np.array_equal(
                cuts.single.side(weights_of(drawn.relations[n])),
                cuts.single.side(weights_of(self.graph.relations[n])),
            )
            for n, cuts in self._queried.items()
        )

    def _bound(self, relation: str) -> int | None:
        bound = self.program.incoming_sums.get(relation)
        # one unit is reserved: a sum of rounded doubles may exceed the sum of the decimals by an ulp
        return None if bound is None else int(np.floor(bound * GRID + 1e-6)) - 1

    def _names(self, graph: KnowledgeGraph) -> list[str]:
        """Relations of a graph whose edges get individual weights."""
        return [
            n for n, r in graph.relations.items() if n in self.densities and len(r) and not self._constant(n)
        ]

    def _constant(self, name: str) -> bool:
        """Whether all edges get the same weight, which bounded sums do not allow."""
        return self._bound(name) is None and len(self.densities[name].constants) > 0

    def _constant_weights(self, name: str, rng: np.random.Generator) -> Weights:
        old = weights_of(self.graph.relations[name])
        if not len(old):
            return old
        density, cuts = self.densities[name], self._thresholds.get(name, NO_THRESHOLDS)
        return np.full(len(old), constant_beside(float(old[0]), density, cuts, rng))

    def _drawing(self, name: str, relation: Relation, rng: np.random.Generator) -> Drawing:
        cuts, real = self._thresholds.get(name, NO_THRESHOLDS), weights_of(self.graph.relations[name])
        return Drawing(name, relation, self.densities[name], self._bound(name), cuts, rng, forbidden=real)

    def _within_bounds(self, rng: np.random.Generator, progress: Progress) -> Judged | None:
        """Original graph with weights lowered to the bounds of incoming sums; `None` if none is exceeded."""
        bounds = {}
        for name, bound in self.program.incoming_sums.items():
            r = self.graph.relations.get(name)
            sums = None if r is None or r.weight is None else np.bincount(r.target, r.weight)
            if sums is not None and sums.max(initial=0.0) > bound * (1 + 1e-9):
                bounds[name] = bound
        if not bounds:
            return None
        cuts = {name: self._thresholds.get(name, NO_THRESHOLDS).single for name in bounds}
        found = Lowering(self.judge, bounds, cuts, rng).lowered(self.trials, progress)
        self._note_lost(found.graph, progress)
        return found

    def _note_lost(self, lowered: KnowledgeGraph, progress: Progress) -> None:
        """Report what is lost because incoming weights are lowered to their bounds."""
        found = utility(self.graph, lowered, np.arange(self.graph.n), self.program)
        kind = "answers" if self.program.queries else "derived edges"
        lost = [
            f"{q.lost:,} of {q.original:,} {kind} of {name}" for name, q in found.per_query.items() if q.lost
        ]
        progress.note(
            "incoming weights that sum to more than @incoming_sum allows are lowered; "
            f"alone this loses {', '.join(lost) or 'nothing'} and costs U {found.u:.3f}"
        )

    def _sample(self, name: str, copies: int) -> Sample:
        """Sample of further draws of the weights of the original edges of a relation, for some copied edges."""
        if name not in self._samples:
            # many more than there are copies: few draws would repeat some weights, which would reveal copies
            m = len(self.drawings[name].old)
            drawn = self._again(name, max(min(_DRAWN * m, _LEAST), min(_DRAWN * copies, m)))
            self._samples[name] = Sample(np.sort(drawn), self.densities[name].levels)
        return self._samples[name]

    def _again(self, name: str, size: int) -> Units:
        return self.drawings[name].again(size, [(rows[name], attempt) for rows, attempt in self.redraws])

    def _synthetic_weights(
        self, name: str, relation: Columns, fixed: int, alike: int, rng: np.random.Generator
    ) -> Weights:
        size, bound = len(relation) - fixed, self._bound(name)
        if fixed and self._constant(name):
            return np.full(size, weights_of(relation)[0])
        drawn = self._like(name, relation, fixed, alike, rng)
        if bound is not None:
            units = np.append(in_units(weights_of(relation)[:fixed]), drawn)
            drawn = self._within_room(name, relation, units, fixed, bound, alike, rng)
        return drawn / GRID

    def _like(self, name: str, relation: Columns, fixed: int, alike: int, rng: np.random.Generator) -> Units:
        """Draw weights like the `fixed` ones, which occur `alike` times each; so many successive edges share one."""
        size = len(relation) - fixed
        if not fixed:
            return self.densities[name].draw(rng, size)
        drawn: Units = np.empty(0, dtype=np.int64)
        if name in self.drawings and self._bound(name) is None:  # else drawn part by part, or lowered later
            # further draws instead of present weights: otherwise all unique weights would be original
            drawn = np.repeat(rng.permutation(self._again(name, size // alike)), alike)
        if len(drawn) == size:
            return drawn
        rest = in_units(rng.choice(weights_of(relation)[:fixed], size - len(drawn)))
        return np.concatenate([drawn, rest])

    def _lowered(
        self,
        unlowered: KnowledgeGraph,
        names: Iterable[str],
        fixed: Mapping[str, int],
        alike: int,
        rng: np.random.Generator,
    ) -> KnowledgeGraph:
        """Lower synthetic weights of some relations so that rules depend on them as little as possible."""
        weights = {}
        for name in names:
            relation, start, cuts = unlowered.relations[name], fixed[name], self._queried[name]
            if not start:
                continue
            units, target = in_units(weights_of(relation)), relation.target
            usual, levels = np.sort(units[:start]), self.densities[name].levels
            side = cuts.single.side(levels / GRID)
            lowest = levels[side == side.min()]
            high = start + np.flatnonzero(cuts.single.side(units[start:] / GRID) > side.min())
            units[high] = Sample(usual, levels).draw(rng, len(high), lowest)
            room = room_below(target[:start], units[:start], int(target.max(initial=-1)) + 1, cuts.added)
            units[start:] = fitted_room(units[start:], target[start:], room, usual, levels, rng, alike)
            weights[name] = np.concatenate([weights_of(relation)[:start], units[start:] / GRID])
        return unlowered.with_weights(weights)


def exchanged(graph: KnowledgeGraph, other: KnowledgeGraph, rows: Rows) -> KnowledgeGraph:
    """Graph with the weights of another graph in the marked rows."""
    return graph.with_weights(
        {
            n: np.where(rows[n], weights_of(other.relations[n]), weights_of(r))
            for n, r in graph.relations.items()
            if r.weight is not None
        }
    )
