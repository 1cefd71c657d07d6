"""WeightNoising: new weights that differ from the original ones, satisfy incoming sums and lose few query answers.

References
----------
KGISO, Algorithm 2; docs/anonymization.md, Weights; item 3 of Definition 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgreason.base.progress import Progress
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices, Weights
from kgreason.isomorphism.anonymizers.incoming_sums import check_sums, fitted_room, room_below
from kgreason.isomorphism.anonymizers.lowered_weights import Answers, Excess, Judge, Judged, missing
from kgreason.isomorphism.anonymizers.replacement_weights import NEAR, Drawing, constant_beside, pair_numbers
from kgreason.isomorphism.anonymizers.weight_density import (
    BLIND,
    GRID,
    Sample,
    Sight,
    Units,
    WeightDensity,
    sights,
)
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.restriction import restricted
from kgreason.language.check.weight_visibility import Use, only_grows

Rows = Mapping[str, npt.NDArray[np.bool_]]
Redraw = Callable[[KnowledgeGraph, Rows, int], KnowledgeGraph]

_PATIENCE = 3  # consecutive failed redraws that end the search
_FAR = 4  # maximum number of edges between a weight and the vertices of an answer that it changes


@dataclass(frozen=True, eq=False)
class Repair:
    """Search for a draw with few lost answers, by independent draws and local redraws.

    Attributes
    ----------
    judge
        Evaluates answers and their loss.
    trials
        Maximum number of draws, and of redraws.
    progress, title
        Progress display, and the title of the step.
    fixed
        Number of leading edges of each relation that keep their weights; default: none.
    least
        Lower bound of the loss that a draw can be expected to reach.
    """

    judge: Judge
    trials: int
    progress: Progress
    title: str
    fixed: Mapping[str, int] = field(default_factory=dict)
    least: float = 0.0

    def best(self, first: KnowledgeGraph, draw: Callable[[], KnowledgeGraph]) -> Judged:
        """Best of the draws; a draw with at most the expected minimum loss ends the search."""
        self.progress.step(self.title, self.trials)
        best = self.judge.judged(first)
        for trial in range(1, self.trials):
            if best.loss <= self.least:
                self.progress.advance(self.trials - trial)
                break
            self.progress.advance()
            candidate = self.judge.judged(draw())
            best = min(best, candidate, key=lambda judged: judged.loss)
        self.progress.advance()
        return best

    def repaired(self, best: Judged, wanted: Answers, redraw: Redraw) -> Judged:
        """Redraw weights near unwanted answers, and near missing wanted ones, while the loss decreases.

        Parameters
        ----------
        wanted
            Best possible answers; the search ends when they are reached.
        redraw
            Returns a graph with other weights in the marked rows, which include all non-fixed edges into their targets;
            its last argument is the number of earlier redraws.

        Returns
        -------
        Judged
            Never worse than `best`.
        """
        refused = 0
        for attempt in range(self.trials):
            marked = self.judge.differing(best.answers, wanted, best.graph.n)
            if refused == _PATIENCE or not marked.any():
                break
            if not attempt:
                self.progress.step("Redrawing weights that changed answers")
            rows = self._near(best.graph, marked, min(attempt + 1, _FAR))
            candidate = self.judge.judged(redraw(best.graph, rows, attempt))
            refused = 0 if candidate.loss < best.loss else refused + 1
            best = min(best, candidate, key=lambda judged: judged.loss)
        return best

    def _near(self, graph: KnowledgeGraph, marked: npt.NDArray[np.bool_], far: int) -> Rows:
        """Mark edges near marked vertices, with all other edges into the same targets."""
        source, target = graph.ends
        for _ in range(far - 1):
            touched = marked[source] | marked[target]
            marked = marked.copy()
            marked[source[touched]] = True
            marked[target[touched]] = True
        return {name: self._into(r.source, r.target, marked, name) for name, r in graph.relations.items()}

    def _into(
        self, source: Vertices, target: Vertices, marked: npt.NDArray[np.bool_], name: str
    ) -> npt.NDArray[np.bool_]:
        free = np.arange(len(source)) >= self.fixed.get(name, 0)
        into = np.zeros(len(marked), dtype=np.bool_)
        into[target[free & (marked[source] | marked[target])]] = True
        return free & into[target]


_NEARER = 30  # failed draws that a redraw counts for
_DRAWN, _MOST = 100, 10_000  # size of the sample for copies: this many per edge, up to this many in total


@dataclass(frozen=True, eq=False)
class WeightNoising:
    """Draws of weights for a graph and for its augmentations.

    Attributes
    ----------
    graph
        Original graph G with its real weights.
    program
        Rules of the graph; draws are evaluated by the ``@query`` predicates.
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
    def fit(cls, graph: KnowledgeGraph, program: CheckedProgram, trials: int) -> WeightNoising:
        """Fit the weight distributions to the real weights."""
        densities = {
            name: WeightDensity.fit(r.weight, name, int(np.bincount(pair_numbers(r)).max(initial=1)))
            for name, r in graph.relations.items()
            if r.weight is not None
        }
        return cls(graph, program, densities, trials)

    def originals(self, rng: np.random.Generator, progress: Progress) -> KnowledgeGraph:
        """Give every original edge a new weight, if possible on the same sides of all rule thresholds.

        No edge keeps its weight, and no new weight of parallel edges equals any old weight of their pair of vertices,
        so that no permutation of them keeps a weight.
        """
        aim = self._within_bounds(rng, progress)
        old = self.graph if aim is None else aim.graph
        drawings = {n: self._drawing(n, old.relations[n], rng) for n in self._names(self.graph)}
        self.drawings.update(drawings)
        made: dict[KnowledgeGraph, tuple[KnowledgeGraph, Rows, int]] = {}

        def drawn() -> KnowledgeGraph:
            constant = {n: self._constant_weights(n, rng) for n in self.densities if n not in drawings}
            return self.graph.with_weights(constant | {n: d.run() / GRID for n, d in drawings.items()})

        def redrawn(current: KnowledgeGraph, rows: Rows, attempt: int) -> KnowledgeGraph:
            near = min(_NEARER * (attempt + 1), NEAR)
            new = current.with_weights(
                {n: d.run(_units(current.relations[n]), rows[n], near) / GRID for n, d in drawings.items()}
            )
            made[new] = current, rows, near
            return new

        progress.step("Drawing weights")
        first = drawn()
        if not self.judge.queries or self._unseen(first):
            return first
        wanted, least = (self.judge.reference, 0.0) if aim is None else (aim.answers, aim.loss)
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
            relation, sight = graph.relations[name], self._sights.get(name, BLIND)
            sample = self._sample(name)
            drawings[name] = Drawing(name, relation, sample, self._bound(name), sight, rng, barred=None)
        return graph.with_weights({n: d.run() / GRID for n, d in drawings.items()})

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

        Parameters
        ----------
        fixed
            Number of leading edges of each relation that keep their weights: originals and copies.
        alike
            Number of originals and copies that share each drawn weight; synthetic weights are repeated as often.
        """

        def drawn(graph: KnowledgeGraph, names: Iterable[str]) -> KnowledgeGraph:
            return graph.with_weights(
                {n: self._synthetic_weights(n, graph.relations[n], fixed[n], alike, rng) for n in names}
            )

        progress.step("Drawing weights of synthetic edges")
        loud = drawn(augmented, self.densities)
        bounded = [n for n in self._seen if n in self.program.incoming_sums]
        if not self.judge.queries or not bounded:
            return loud
        quiet = self._quiet(loud, bounded, fixed, alike, rng)
        repair = Repair(self.judge, self.trials, progress, "Judging weights of synthetic edges", fixed)
        if self._grows:
            if all(
                np.array_equal(_weights(loud.relations[n]), _weights(quiet.relations[n])) for n in bounded
            ):
                return loud
            # no draw has fewer answers than the quiet one
            least, most = self.judge.all_judged(quiet, loud)
            found = repair.repaired(most, least.answers, lambda now, rows, _: exchanged(now, quiet, rows))
        else:
            least, most = self.judge.judged(quiet), repair.best(loud, lambda: drawn(loud, bounded))

            def by_turns(now: KnowledgeGraph, rows: Rows, attempt: int) -> KnowledgeGraph:
                return exchanged(now, drawn(now, bounded) if attempt % 2 else quiet, rows)

            found = repair.repaired(most, self.judge.reference, by_turns)
        return (found if found.loss <= least.loss else least).graph

    @cached_property
    def judge(self) -> Judge:
        """Evaluation of query answers against those of the original graph."""
        return Judge(self.graph, self.program)

    @cached_property
    def _sights(self) -> Mapping[str, Sight]:
        """Dependence of the rules of queries and derived predicates on weights."""
        return sights(restricted(self.program, (*self.program.queries, *self.program.derived)))

    @cached_property
    def _seen(self) -> Mapping[str, Sight]:
        """Dependence of the rules of the evaluated queries on drawn weights, without unread ones."""
        found = sights(self.judge.needed)
        return {n: found[n] for n in self.densities if n in found and found[n].use > Use.UNREAD}

    @cached_property
    def _grows(self) -> bool:
        return only_grows(self.judge.needed)

    def _unseen(self, drawn: KnowledgeGraph) -> bool:
        """Whether query answers equal those of the original graph because all compared weights keep their sides."""
        return all(
            sight.use is Use.COMPARED
            and np.array_equal(
                sight.single.side(_weights(drawn.relations[n])),
                sight.single.side(_weights(self.graph.relations[n])),
            )
            for n, sight in self._seen.items()
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
        old = _weights(self.graph.relations[name])
        if not len(old):
            return old
        density, sight = self.densities[name], self._sights.get(name, BLIND)
        return np.full(len(old), constant_beside(float(old[0]), density, sight, rng))

    def _drawing(self, name: str, relation: Relation, rng: np.random.Generator) -> Drawing:
        sight, real = self._sights.get(name, BLIND), _weights(self.graph.relations[name])
        return Drawing(name, relation, self.densities[name], self._bound(name), sight, rng, barred=real)

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
        cuts = {name: self._sights.get(name, BLIND).single for name in bounds}
        found = Excess(self.judge, bounds, cuts, rng).lowered(self.trials, progress)
        gone = {
            query: len(missing(found.answers[query], rows)) for query, rows in self.judge.reference.items()
        }
        lost = [f"{n:,} of {len(self.judge.reference[q]):,} answers of {q}" for q, n in gone.items() if n]
        if lost:
            progress.note(
                f"incoming weights that sum to more than @incoming_sum allows lose {', '.join(lost)}"
            )
        return found

    def _sample(self, name: str) -> Sample:
        """Sample of further draws of the weights of the original edges of a relation."""
        if name not in self._samples:
            # many more than there are copies: few draws would repeat some weights, which would reveal copies
            m = len(self.drawings[name].old)
            drawn = self._again(name, max(m, min(_DRAWN * m, _MOST)))
            self._samples[name] = Sample(np.sort(drawn), self.densities[name].levels)
        return self._samples[name]

    def _again(self, name: str, size: int) -> Units:
        return self.drawings[name].again(size, [(rows[name], attempt) for rows, attempt in self.redraws])

    def _synthetic_weights(
        self, name: str, relation: Relation, fixed: int, alike: int, rng: np.random.Generator
    ) -> Weights:
        weight, units = _weights(relation), _units(relation)
        bound = self._bound(name)
        if fixed and self._constant(name):
            return np.full(len(relation), weight[0])
        units[fixed:] = self._like(name, units[:fixed], len(relation) - fixed, alike, rng)
        if bound is not None:
            target = relation.target
            used = np.bincount(target[:fixed], weights=units[:fixed], minlength=target.max(initial=-1) + 1)
            room = bound - used.astype(np.float64)
            usual, levels = np.sort(units[:fixed]), self.densities[name].levels
            units[fixed:] = fitted_room(units[fixed:], target[fixed:], room, usual, levels, rng, alike)
            check_sums(units, target, bound, name)
        return np.concatenate([weight[:fixed], units[fixed:] / GRID])

    def _like(self, name: str, present: Units, size: int, alike: int, rng: np.random.Generator) -> Units:
        """Draw weights like the present ones, which occur `alike` times each."""
        if not len(present):
            return self.densities[name].draw(rng, size)
        if name not in self.drawings or self._bound(name) is not None:  # drawn part by part, or lowered later
            return rng.choice(present, size)
        # further draws instead of present weights: otherwise all unique weights would be original
        drawn = np.repeat(self._again(name, size // alike), alike)
        return rng.permutation(np.concatenate([drawn, rng.choice(present, size - len(drawn))]))

    def _quiet(
        self,
        loud: KnowledgeGraph,
        names: Iterable[str],
        fixed: Mapping[str, int],
        alike: int,
        rng: np.random.Generator,
    ) -> KnowledgeGraph:
        """Lower synthetic weights of some relations so that rules depend on them as little as possible."""
        weights = {}
        for name in names:
            relation, start, sight = loud.relations[name], fixed[name], self._seen[name]
            if not start:
                continue
            units, target = _units(relation), relation.target
            usual, levels = np.sort(units[:start]), self.densities[name].levels
            side = sight.single.side(levels / GRID)
            lowest = levels[side == side.min()]
            high = start + np.flatnonzero(sight.single.side(units[start:] / GRID) > side.min())
            units[high] = Sample(usual, levels).draw(rng, len(high), lowest)
            room = room_below(target[:start], units[:start], int(target.max(initial=-1)) + 1, sight.added)
            units[start:] = fitted_room(units[start:], target[start:], room, usual, levels, rng, alike)
            weights[name] = np.concatenate([_weights(relation)[:start], units[start:] / GRID])
        return loud.with_weights(weights)


def _weights(relation: Relation) -> Weights:
    assert relation.weight is not None
    return relation.weight


def _units(relation: Relation) -> Units:
    units: Units = np.rint(_weights(relation) * GRID).astype(np.int64)
    return units


def exchanged(graph: KnowledgeGraph, other: KnowledgeGraph, rows: Rows) -> KnowledgeGraph:
    """Graph with the weights of another graph in the marked rows."""
    return graph.with_weights(
        {
            n: np.where(rows[n], _weights(other.relations[n]), _weights(r))
            for n, r in graph.relations.items()
            if r.weight is not None
        }
    )
