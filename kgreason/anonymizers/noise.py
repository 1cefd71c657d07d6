"""WeightNoising: new weights that differ from the real ones, keep incoming sums and lose few query answers.

References
----------
KGISO, Algorithm 2; ANONYMIZATION.md §3 and item 3 of Definition 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram
from kgreason.anonymizers.density import GRID, Units, WeightDensity
from kgreason.anonymizers.loss import query_answers, symmetric_loss
from kgreason.errors import AnonymizationError
from kgreason.graph.model import KnowledgeGraph, Relation, Vertices, Weights
from kgreason.progress import Progress

_ROUNDS = 200
_HEADROOM = (0.75, 0.95)  # share of a bound that the original edges of a vertex may use up at most


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
        weighted = {name: r.weight for name, r in graph.relations.items() if r.weight is not None}
        return cls(graph, program, {n: WeightDensity.fit(w, n) for n, w in weighted.items()}, trials)

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
        relation, density, bound = self.graph.relations[name], self.densities[name], self._bound(name)
        assert relation.weight is not None
        units = density.draw(rng, len(relation))
        if bound is not None:
            units = _fitted_sums(units, relation.target, self.graph.n, bound, density.least, rng)
        pair = _pair_numbers(relation, self.graph.n)
        spread = 2 * int(np.bincount(pair).max()) + 2

        def redraw(rows: npt.NDArray[np.bool_]) -> Units:
            if bound is None:
                return density.draw(rng, int(rows.sum()))
            most = np.maximum(units[rows], density.least + spread)
            return rng.integers(density.least, most, endpoint=True, dtype=np.int64)

        units = _told_apart(units, pair, np.rint(relation.weight * GRID).astype(np.int64), redraw, name)
        if bound is not None:
            _check_sums(units, relation.target, self.graph.n, bound, name)
        return units / GRID

    def _synthetic_weights(
        self, name: str, relation: Relation, fixed: int, rng: np.random.Generator
    ) -> Weights:
        assert relation.weight is not None
        density, bound = self.densities[name], self._bound(name)
        units = density.draw(rng, len(relation) - fixed)
        if bound is not None:
            units = _fitted_room(units, relation, fixed, bound, density.least, rng)
        weights = np.concatenate([relation.weight[:fixed], units / GRID])
        if bound is not None:
            n = int(relation.target.max(initial=0)) + 1
            _check_sums(np.rint(weights * GRID).astype(np.int64), relation.target, n, bound, name)
        return weights


def _pair_numbers(relation: Relation, n: int) -> npt.NDArray[np.int64]:
    keys: Vertices = relation.source * n + relation.target
    pair: npt.NDArray[np.int64] = np.unique(keys, return_inverse=True)[1].astype(np.int64)
    return pair


def _fitted_sums(
    units: Units, target: Vertices, n: int, bound: int, least: int, rng: np.random.Generator
) -> Units:
    """Scale weights down where the incoming ones of a vertex would leave no head room under the bound."""
    total = np.bincount(target, weights=units, minlength=n)
    scale = np.minimum(1.0, bound * rng.uniform(*_HEADROOM, n) / np.maximum(total, 1.0))
    return np.maximum(np.floor(units * scale[target]).astype(np.int64), least)


def _fitted_room(
    units: Units, relation: Relation, fixed: int, bound: int, least: int, rng: np.random.Generator
) -> Units:
    """Scale synthetic weights down to the room that the other weights leave at their targets."""
    assert relation.weight is not None
    n = int(relation.target.max(initial=0)) + 1
    target = relation.target[fixed:]
    used = np.bincount(relation.target[:fixed], weights=np.rint(relation.weight[:fixed] * GRID), minlength=n)
    wanted = np.bincount(target, weights=units, minlength=n)
    edges = np.bincount(target, minlength=n)
    room = bound - used - least * edges
    scale = np.where(wanted <= room, 1.0, room * rng.uniform(0.5, 1.0, n) / np.maximum(wanted, 1.0))
    shrunk = np.floor(units * np.maximum(scale, 0.0)[target]).astype(np.int64)
    return np.maximum(least, np.where(scale[target] < 1.0, shrunk + least, units))


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
    redraw: Callable[[npt.NDArray[np.bool_]], Units],
    name: str,
) -> Units:
    """Redraw weights until no pair of vertices has an old weight or the same weight twice."""
    taken = np.sort(pair * (GRID + 1) + old)
    for _ in range(_ROUNDS):
        key = pair * (GRID + 1) + units
        at = np.minimum(np.searchsorted(taken, key), len(taken) - 1)
        clash = taken[at] == key
        repeated = np.ones(len(key), dtype=np.bool_)
        repeated[np.unique(key, return_index=True)[1]] = False
        clash |= repeated
        if not clash.any():
            return units
        units[clash] = redraw(clash)
    raise AnonymizationError(
        f"no weights of relation {name!r} were found that differ from the real ones in {_ROUNDS} attempts",
        hint="parallel edges may need more distinct weights than there are",
    )
