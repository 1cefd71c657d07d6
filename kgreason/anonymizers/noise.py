"""WeightNoising: new weights that differ from the real ones, keep incoming sums and lose few query answers.

References
----------
KGISO, Algorithm 2; docs/anonymization.md, Weights; item 3 of Definition 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram
from kgreason.anonymizers.density import GRID, Units, WeightDensity, decimal_levels, floored
from kgreason.anonymizers.loss import query_answers, symmetric_loss
from kgreason.errors import AnonymizationError
from kgreason.graph.model import KnowledgeGraph, Relation, Vertices, Weights
from kgreason.progress import Progress
from kgreason.records import dataclass

_ROUNDS = 200
_PATIENCE = 5  # draws before weights are moved by force
_HEADROOM = (1.2, 1.5)  # Beta law of what original edges leave of a bound at least, as a share of the most
_MOST = 0.4
_FILLED = (0.4, 0.9)  # share of what is left that synthetic edges use up at most


@dataclass(frozen=True, eq=False)
class WeightNoising:
    """Draws weights for a graph and for its augmentations.

    Attributes
    ----------
    graph
        The original graph G with its real weights.
    program
        Its rules; the trials are judged by its ``@query`` predicates.
    densities
        p_w of each weighted relation.
    trials
        Number M of draws, the best of which is kept.
    """

    graph: KnowledgeGraph
    program: CheckedProgram
    densities: Mapping[str, WeightDensity]
    trials: int

    @classmethod
    def fit(cls, graph: KnowledgeGraph, program: CheckedProgram, trials: int) -> WeightNoising:
        """Fit the weight distributions to the real weights."""
        if trials < 1:
            raise AnonymizationError(
                f"the number of trials must be at least 1, not {trials}", hint="--trials 10 is usual"
            )
        densities = {
            name: WeightDensity.fit(r.weight, name, _most_parallel(r))
            for name, r in graph.relations.items()
            if r.weight is not None
        }
        return cls(graph, program, densities, trials)

    def originals(self, rng: np.random.Generator, progress: Progress) -> KnowledgeGraph:
        """Give every original edge a new weight.

        No edge keeps its weight, and where edges run in parallel no new weight of a pair equals any old
        one of it, so that not even a permutation of them does.
        """

        def drawn() -> KnowledgeGraph:
            return self.graph.with_weights(
                {n: self._original_weights(n, rng) for n in self.densities if len(self.graph.relations[n])}
            )

        return self._best(drawn, "Drawing weights", progress)

    def copies(self, graph: KnowledgeGraph, rng: np.random.Generator) -> KnowledgeGraph:
        """Give copied edges weights of their own, once; `graph` holds them alone."""
        weights = {
            name: self._fresh(name, r, np.rint(r.weight * GRID).astype(np.int64), rng) / GRID
            for name, r in graph.relations.items()
            if r.weight is not None and len(r) and not self._constant(name)
        }
        return graph.with_weights(weights)

    def synthetic(
        self,
        augmented: KnowledgeGraph,
        fixed: Mapping[str, int],
        rng: np.random.Generator,
        progress: Progress,
    ) -> KnowledgeGraph:
        """Give the synthetic edges weights.

        Parameters
        ----------
        fixed
            Number of leading edges of each relation that keep theirs: originals and copies.
        """

        def drawn() -> KnowledgeGraph:
            return augmented.with_weights(
                {n: self._synthetic_weights(n, augmented.relations[n], fixed[n], rng) for n in self.densities}
            )

        return self._best(drawn, "Drawing weights of synthetic edges", progress)

    def _best(self, drawn: Callable[[], KnowledgeGraph], title: str, progress: Progress) -> KnowledgeGraph:
        if not (self.densities and self.program.queries):
            return drawn()  # no trial could be better than another
        needed = self.program.restricted(self.program.queries)
        progress.step(title, self.trials)
        reference = query_answers(self.graph, needed)
        best, least = drawn(), np.inf
        for trial in range(self.trials):
            candidate = drawn() if trial else best
            loss = symmetric_loss(reference, query_answers(candidate, needed))
            if loss < least:
                best, least = candidate, loss
            if least == 0:  # no draw can lose less
                progress.advance(self.trials - trial)
                break
            progress.advance()
        return best

    def _bound(self, relation: str) -> int | None:
        bound = self.program.incoming_sums.get(relation)
        # one unit is kept back: a sum of rounded doubles may exceed the sum of the decimals by an ulp
        return None if bound is None else int(np.floor(bound * GRID + 1e-6)) - 1

    def _original_weights(self, name: str, rng: np.random.Generator) -> Weights:
        relation = self.graph.relations[name]
        assert relation.weight is not None
        if self._constant(name):
            return np.full(len(relation), rng.choice(self.densities[name].constants) / GRID)
        return self._fresh(name, relation, np.rint(relation.weight * GRID).astype(np.int64), rng) / GRID

    def _constant(self, name: str) -> bool:
        """Whether all edges get the same weight; sums that are bounded leave no room for that."""
        return self._bound(name) is None and len(self.densities[name].constants) > 0

    def _fresh(self, name: str, relation: Relation, old: Units, rng: np.random.Generator) -> Units:
        """Draw weights for edges that stand alone, none of them an old one of its pair of vertices."""
        density, bound, n = self.densities[name], self._bound(name), int(relation.target.max(initial=0)) + 1
        units = density.draw(rng, len(relation))
        if bound is not None:
            units = _fitted_sums(units, relation.target, n, bound, density.levels, rng)
        pair = _pair_numbers(relation)
        spread = 2 * int(np.bincount(pair).max()) + 2

        def redraw(rows: npt.NDArray[np.bool_], attempt: int) -> Units:
            if bound is None and attempt < _PATIENCE:
                return density.draw(rng, int(rows.sum()))
            return _moved(units[rows], density.levels, attempt, spread, rng, up=bound is None)

        units = _told_apart(units, pair, old, redraw, name)
        if bound is not None:
            _check_sums(units, relation.target, n, bound, name)
        return units

    def _synthetic_weights(
        self, name: str, relation: Relation, fixed: int, rng: np.random.Generator
    ) -> Weights:
        assert relation.weight is not None
        density, bound = self.densities[name], self._bound(name)
        if fixed and self._constant(name):
            return np.full(len(relation), relation.weight[0])
        # only weights that occur already, lest a rare one tell its edge
        present = np.unique(np.rint(relation.weight[:fixed] * GRID).astype(np.int64))
        units = density.draw(rng, len(relation) - fixed, present if fixed else None)
        if bound is not None:
            coarse = decimal_levels(1)
            levels = np.concatenate([coarse[coarse < present.min(initial=GRID + 1)], present])
            units = _fitted_room(units, relation, fixed, bound, levels, rng)
        weights = np.concatenate([relation.weight[:fixed], units / GRID])
        if bound is not None:
            n = int(relation.target.max(initial=0)) + 1
            _check_sums(np.rint(weights * GRID).astype(np.int64), relation.target, n, bound, name)
        return weights


def _pair_numbers(relation: Relation) -> npt.NDArray[np.int64]:
    n = int(max(relation.source.max(initial=0), relation.target.max(initial=0))) + 1
    keys: Vertices = relation.source * n + relation.target
    pair: npt.NDArray[np.int64] = np.unique(keys, return_inverse=True)[1].astype(np.int64)
    return pair


def _most_parallel(relation: Relation) -> int:
    return int(np.bincount(_pair_numbers(relation)).max(initial=1))


def _moved(
    units: Units, levels: Units, attempt: int, spread: int, rng: np.random.Generator, *, up: bool
) -> Units:
    """Move weights by some levels, the farther the more attempts there were; the least ones anywhere low."""
    at = np.searchsorted(levels, units)
    step = rng.integers(1, attempt + 2, len(units)) * np.where(up & (rng.random(len(units)) < 0.5), 1, -1)
    low = rng.integers(0, min(spread, len(levels)), len(units))
    at = np.where(at < spread, low, at + step)
    moved: Units = levels[np.clip(at, 0, len(levels) - 1)]
    return moved


def _fitted_sums(
    units: Units, target: Vertices, n: int, bound: int, levels: Units, rng: np.random.Generator
) -> Units:
    """Scale weights down where the incoming ones of a vertex would leave no head room under the bound.

    How much is left is random without a limit, or any sum beyond the limit would tell of a synthetic edge.
    """
    total = np.bincount(target, weights=units, minlength=n)
    scale = np.minimum(1.0, bound * (1 - _MOST * rng.beta(*_HEADROOM, n)) / np.maximum(total, 1.0))
    return floored(levels, units * scale[target])


def _fitted_room(
    units: Units, relation: Relation, fixed: int, bound: int, levels: Units, rng: np.random.Generator
) -> Units:
    """Scale synthetic weights down to the room that the other weights leave at their targets."""
    assert relation.weight is not None
    n = int(relation.target.max(initial=0)) + 1
    target = relation.target[fixed:]
    used = np.bincount(relation.target[:fixed], weights=np.rint(relation.weight[:fixed] * GRID), minlength=n)
    wanted = np.bincount(target, weights=units, minlength=n)
    room = bound - used - np.bincount(target, minlength=n)  # a unit for each edge is kept back
    scale = np.where(wanted <= room, 1.0, room * rng.uniform(*_FILLED, n) / np.maximum(wanted, 1.0))
    return np.where(scale[target] < 1.0, floored(levels, units * np.maximum(scale, 0.0)[target]), units)


def _check_sums(units: Units, target: Vertices, n: int, bound: int, name: str) -> None:
    total = np.bincount(target, weights=units, minlength=n)
    if len(total) and total.max() > bound:
        edges = int(np.bincount(target, minlength=n)[total.argmax()])
        raise AnonymizationError(
            f"the {edges:,} edges of relation {name!r} into one vertex cannot have positive weights "
            f"on a grid of 1/{GRID} and sum to at most {(bound + 1) / GRID:g}",
            hint="raise the bound of @incoming_sum",
        )


def _told_apart(
    units: Units,
    pair: npt.NDArray[np.int64],
    old: Units,
    redraw: Callable[[npt.NDArray[np.bool_], int], Units],
    name: str,
) -> Units:
    """Redraw weights until no pair of vertices has an old weight or the same weight twice."""
    taken = np.sort(pair * (GRID + 1) + old)
    for attempt in range(_ROUNDS):
        key = pair * (GRID + 1) + units
        at = np.minimum(np.searchsorted(taken, key), len(taken) - 1)
        clash = taken[at] == key
        repeated = np.ones(len(key), dtype=np.bool_)
        repeated[np.unique(key, return_index=True)[1]] = False
        clash |= repeated
        if not clash.any():
            return units
        units[clash] = redraw(clash, attempt)
    raise AnonymizationError(
        f"no weights of relation {name!r} were found that differ from the real ones in {_ROUNDS} attempts",
        hint="parallel edges may need more distinct weights than there are",
    )
