"""Replacement weights for edges, where possible on the same side of every rule threshold as the old weights."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError
from kgreason.graph.knowledge_graph import Relation, Vertices, Weights
from kgreason.graph.sorted_keys import repeated
from kgreason.isomorphism.anonymizers.incoming_sums import check_sums, fitted_sums, sides_kept
from kgreason.isomorphism.anonymizers.weight_density import (
    GRID,
    Sample,
    Thresholds,
    Units,
    WeightDensity,
    in_units,
    nearest,
    weights_of,
)

Flags = npt.NDArray[np.bool_]

_ROUNDS = 240
_FREE = 20  # draws after which weights approach the old ones, ...
NEAR = 100  # draws after which they are as near as they can be, ...
_BESIDE = 0.04  # relative distance from the old weight at that point
_FORCED = 160  # draws after which weights only have to differ
_PATIENCE = 5  # draws before repeated weights are shifted


class Drawing:
    """Draws of weights for the edges of one relation, on the sides of its old weights by `thresholds` where possible.

    Incoming sums have a `bound` in grid units; `None`: unbounded. A new weight may equal none of the `forbidden`
    weights of its pair of vertices, shape (m,); `None`: no restriction.
    """

    def __init__(
        self,
        name: str,
        relation: Relation,
        density: WeightDensity | Sample,
        bound: int | None,
        thresholds: Thresholds,
        rng: np.random.Generator,
        *,
        forbidden: Weights | None,
    ) -> None:
        self.name, self.density, self.bound, self.thresholds, self.rng = name, density, bound, thresholds, rng
        self.target, self.old = relation.target, weights_of(relation)
        self.pair = pair_numbers(relation)
        self.side = thresholds.single.side(self.old).astype(np.int16)
        self.levels = _by_side(density.levels, thresholds)
        self.summed = bound is not None or len(thresholds.added) > 0
        parallel = np.bincount(self.pair)
        self.single = parallel[self.pair] == 1  # edges without parallel ones
        nothing = np.full(len(self.old), -1, dtype=np.int32)
        self.forbidden = nothing if forbidden is None else in_units(forbidden).astype(np.int32)
        self.taken = self._taken()
        self.spread = 2 * int(parallel.max(initial=0)) + 2

    def _taken(self) -> Vertices:
        """Keys of the forbidden weights of parallel edges, ascending."""
        rows = np.flatnonzero(~self.single & (self.forbidden >= 0))
        return np.sort(self._keys(rows, self.forbidden))

    def _keys(self, rows: Vertices, units: npt.NDArray[np.integer]) -> Vertices:
        """Numbers of pairs of vertices with weights."""
        return self.pair[rows] * (GRID + 1) + units[rows]

    def run(self, units: Units | None = None, rows: Flags | None = None, attempt: int = 0) -> Units:
        """Draw until all weights satisfy the conditions, or at least differ.

        `units` are initial weights, and `rows` the ones to redraw: with an edge all others into its target. The more
        earlier failed draws (`attempt`), the nearer weights are to the old ones.

        Raises
        ------
        AnonymizationError
            If there are not enough different weights.
        """
        units = np.zeros(len(self.old), dtype=np.int64) if units is None else units.copy()
        unsettled = np.arange(len(units)) if rows is None else np.flatnonzero(rows)
        units[unsettled] = self._drawn(unsettled, attempt)
        group = self.target if self.summed else self.pair
        for number in range(attempt, attempt + _ROUNDS):
            clash = self._clashing(unsettled, units)
            moved = self._strayed(unsettled, units) if number - attempt < _FORCED else np.zeros_like(clash)
            wrong = clash | moved
            if not wrong.any():
                break
            within = _sharing(group[unsettled], wrong)
            unsettled, clash, moved = unsettled[within], clash[within], moved[within]
            again = _sharing(self.target[unsettled], moved) if self.summed else moved
            if not self.summed and number < attempt + _PATIENCE:
                again = again | clash
            units[unsettled[again]] = self._drawn(unsettled[again], number + 1)
            shifted = unsettled[clash & ~again]
            units[shifted] = self._shifted(shifted, units, number - attempt)
        else:
            raise AnonymizationError(
                f"no weights of relation {self.name!r} were found that differ from the real ones in {_ROUNDS} attempts",
                hint="parallel edges may need more distinct weights than there are",
            )
        if self.bound is not None:
            check_sums(units, self.target, self.bound, self.name)
        return units

    def start(self, known: Weights | None) -> tuple[Units | None, Flags | None]:
        """Initial weights and rows to redraw, for `run`, if some weights are `known`; others are NaN, shape (m,).

        The others are drawn such that the known weights can stay, where that succeeds.
        """
        if known is None:
            return None, None
        units, missing = in_units(np.nan_to_num(known)), np.isnan(known)
        redrawn = missing
        for _ in range(_FREE):
            units[redrawn] = self._drawn(np.flatnonzero(redrawn), 0)
            wrong = self._wrong(units)
            if not (redrawn := wrong & missing).any():
                break
        return units, wrong

    def _wrong(self, units: Units) -> Flags:
        """Weights that violate a condition, and all others into their vertices, or of their pairs of vertices."""
        rows = np.arange(len(units))
        wrong = self._clashing(rows, units) | self._strayed(rows, units)
        if self.bound is not None:
            wrong |= (np.bincount(self.target, weights=units) > self.bound)[self.target]
        return _sharing(self.target if self.summed else self.pair, wrong)

    def again(self, size: int, redraws: Sequence[tuple[Flags, int]]) -> Units:
        """Weights of independent further draws, equally many for each edge, with the distribution of the first draw.

        Whole draws come first, in the order of the edges; the last one is a random selection of edges. `redraws` are
        the marked weights that were redrawn, with the `attempt`, in order.
        """
        if not size:
            return np.empty(0, dtype=np.int64)
        m = len(self.old)
        times = -(-size // m)
        many = self._repeated(times)
        last = m * (times - 1)
        chosen = np.append(np.arange(last), last + np.sort(self.rng.permutation(m)[: size - last]))
        rows = _sharing(many.target, chosen)
        units = many.run(rows=rows)
        for redrawn, attempt in redraws:
            units = many.run(units, rows & np.tile(redrawn, times), attempt)
        return units[chosen]

    def _repeated(self, times: int) -> Drawing:
        """Copies of all edges, each copy between vertices of its own, so that all are drawn in the same rounds."""
        if times == 1:
            return self
        many = copy(self)
        number = np.repeat(np.arange(times), len(self.old))
        pairs = int(self.pair.max()) + 1
        vertex, target = np.unique(self.target, return_inverse=True)
        many.old, many.side = np.tile(self.old, times), np.tile(self.side, times)
        many.target = np.tile(target, times) + number * len(vertex)
        many.pair = np.tile(self.pair, times) + number * pairs
        many.single, many.forbidden = np.tile(self.single, times), np.tile(self.forbidden, times)
        many.taken = many._taken()
        return many

    def _drawn(self, rows: Vertices, attempt: int) -> Units:
        """Draw weights on the sides of the old ones, nearer to them with more attempts."""
        near = min(max(attempt - _FREE, 0) / (NEAR - _FREE), 1.0)
        units = np.empty(len(rows), dtype=np.int64)
        for side, levels in enumerate(self.levels):
            here = self.side[rows] == side
            units[here] = self.density.draw(self.rng, int(here.sum()), levels)
        if near:
            old = self.old[rows] * GRID
            beside = old * self.rng.uniform(1 - _BESIDE, 1 + _BESIDE, len(rows))
            units = nearest(self.density.levels, beside + (units - beside) * (1 - near))
        if self.bound is not None:
            target = self.target[rows]
            units = fitted_sums(units, target, self.bound, self.density.levels, self.rng, 1 - near)
        return units

    def _clashing(self, rows: Vertices, units: Units) -> Flags:
        """Weights equal to an old weight or an earlier new weight of their pair of vertices; pairs are complete."""
        clash: Flags = units[rows] == self.forbidden[rows]
        parallel = np.flatnonzero(~self.single[rows])
        if len(parallel):
            keys = self._keys(rows[parallel], units)
            clash[parallel] = repeated(keys) | np.isin(keys, self.taken)
        return clash

    def _strayed(self, rows: Vertices, units: Units) -> Flags:
        """Weights on another side than the old ones, or with sums on another side."""
        moved: Flags = self.thresholds.single.side(units[rows] / GRID) != self.side[rows]
        if len(self.thresholds.added):
            moved |= ~sides_kept(self.target[rows], self.old[rows], units[rows], self.thresholds.added)
        return moved

    def _shifted(self, rows: Vertices, units: Units, attempt: int) -> Units:
        """Shift weights by some levels of their side, further with more attempts; finally by any levels."""
        if attempt >= _FORCED:
            return self._moved(units[rows], self.density.levels, attempt - _FORCED)
        moved = np.empty(len(rows), dtype=np.int64)
        for side, levels in enumerate(self.levels):
            here = self.side[rows] == side
            moved[here] = self._moved(units[rows[here]], levels, attempt)
        return moved

    def _moved(self, units: Units, levels: Units, attempt: int) -> Units:
        """Shift weights by some levels; the smallest ones to any low level."""
        rng = self.rng
        at = np.searchsorted(levels, units)
        up = (rng.random(len(units)) < 0.5) & (self.bound is None)
        step = rng.integers(1, attempt + 2, len(units)) * np.where(up, 1, -1)
        low = rng.integers(0, min(self.spread, len(levels)), len(units))
        at = np.where((at < self.spread) & (levels[0] == self.density.levels[0]), low, at + step)
        moved: Units = levels[np.clip(at, 0, len(levels) - 1)]
        return moved


def _sharing(group: Vertices, some: Flags | Vertices) -> Flags:
    """Which elements are in a group with some of them."""
    marked = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.bool_)
    marked[group[some]] = True
    return marked[group]


def _by_side(levels: Units, thresholds: Thresholds) -> list[Units]:
    """Levels on each side of the cuts; all levels for a side without any."""
    side = thresholds.single.side(levels / GRID)
    found = [levels[side == s] for s in range(len(thresholds.single) + 1)]
    return [some if len(some) else levels for some in found]


def pair_numbers(relation: Relation) -> Vertices:
    """Number of the pair of vertices of each edge, shape (m,)."""
    n = int(max(relation.source.max(initial=0), relation.target.max(initial=0))) + 1
    keys: Vertices = relation.source * n + relation.target
    pair: Vertices = np.unique(keys, return_inverse=True)[1].astype(np.int64)
    return pair


def constant_beside(
    old: float, density: WeightDensity, thresholds: Thresholds, rng: np.random.Generator
) -> float:
    """New weight for all edges of a relation with constant weight `old`, on the same side if possible."""
    constants = density.constants / GRID
    same = thresholds.single.side(constants) == thresholds.single.side(np.array(old))
    return float(rng.choice(constants[same] if same.any() else constants))
