"""Sums of the weights of edges into one vertex: bounds, and sides of the thresholds in rules.

Weights that exceed a bound are lowered such that few query answers are lost. If shares must sum to 1, at most one of
two owners of more than half of a company can keep the majority. Initially the owners with the fewest such edges keep
them, as their answers depend on the fewest edges; then other choices are tried at many vertices at once, and kept where
answers nearby are regained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import Progress
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices, Weights
from kgreason.graph.sorted_keys import ascending, ranks, repeated
from kgreason.isomorphism.anonymizers.answer_loss import Judge, Judged
from kgreason.isomorphism.anonymizers.weight_density import GRID, Cuts, Units, floored, nearest, weights_of

_SUBSETS = 10  # maximum in-degree for which all subsets of the edges are summed
_AT_ONCE = 1 << 20  # sums that are held in memory
_TIE = 1e-9  # relative difference from a bound, or difference from a cut, that is a rounding error
_HEADROOM = (1.2, 1.5)  # beta distribution of the share of the maximum head room that is left below a bound
_MOST = 0.4  # maximum head room, as a share of the bound
_LEAST = 0.002  # minimum share of a bound that is left if less than the usual head room is requested
_FEW = 1 / 3  # minimum share of the distinct usual weights that must fit for one of them to be drawn
_LOWERED = 100  # rounds of lowering weights to common values, and as many to any value

_SPARE = 0.04  # share of a bound that is kept free where weights exceed the bound
_BEYOND = 0.03  # distance of a weight above a cut from the cut, as a share of the bound
_ROUNDS = 4  # per trial, of choosing which weights to lower
_TRIED = 0.3  # initial share of the lowered edges that are raised in a round; halved after a failure, at least one edge
_PATIENCE = 10  # consecutive failures that end the search
_FAR = 3  # maximum number of edges between a changed vertex and the answers attributed to the change

Flags = npt.NDArray[np.bool_]
Numbers = dict[str, npt.NDArray[np.float64]]


@record(eq=False)
class Lowering:
    """Lowers weights to the `bounds` of incoming sums by relation; `cuts` are those of single weights by relation."""

    judge: Judge
    bounds: Mapping[str, float]
    cuts: Mapping[str, Cuts]
    rng: np.random.Generator

    def lowered(self, trials: int, progress: Progress) -> Judged:
        """Original graph with weights lowered to the bounds such that few answers are lost."""
        graph, cuts = self.judge.graph, self.cuts
        priority = self._priority()
        best = self._lowered_by(priority)
        if not best.loss:
            return best
        rounds = _ROUNDS * trials
        progress.step("Choosing which weights to lower", rounds)
        lost, tried, refused = self.judge.lost(best.answers), _TRIED, 0
        for number in range(rounds):
            if not best.loss or refused == _PATIENCE:
                progress.advance(rounds - number)
                break
            progress.advance()
            other, near = {}, np.full(graph.n, -1, dtype=np.int64)
            for name in self.bounds:
                r, now = graph.relations[name], weights_of(best.graph.relations[name])
                fallen = cuts[name].side(now) < cuts[name].side(weights_of(r))
                raised = fallen & (self.rng.random(len(r)) < max(tried, 1 / max(fallen.sum(), 1)))
                other[name] = np.where(
                    raised, priority[name].min() - self.rng.random(len(r)) - 1, priority[name]
                )
                near[r.target[raised]] = r.target[raised]
            tries = self._lowered_by(other)
            gain = self._gain(near, lost - self.judge.lost(tries.answers))
            taken = (gain > 0) | ((gain == 0) & (self.rng.random(graph.n) < 0.5))
            mixed = {
                n: np.where(taken[graph.relations[n].target], other[n], priority[n]) for n in self.bounds
            }
            found, chosen = min(
                (self._lowered_by(mixed), mixed), (tries, other), key=lambda made: made[0].loss
            )
            refused = 0 if found.loss < best.loss else refused + 1
            tried /= 2 if refused else 1
            if found.loss <= best.loss:
                best, priority, lost = found, chosen, self.judge.lost(found.answers)
        return best

    def _priority(self) -> Numbers:
        """Priority of edges: sources with few edges above a cut first, sources in no answer last."""
        graph, priority = self.judge.graph, {}
        answering = self.judge.lost({query: rows[:0] for query, rows in self.judge.reference.items()}) > 0
        for name, bound in self.bounds.items():
            r, weight = graph.relations[name], weights_of(graph.relations[name])
            over = np.bincount(r.target, weight, graph.n) > bound
            at_stake = over[r.target] & (self.cuts[name].side(weight) > 0)
            few = np.bincount(r.source[at_stake], minlength=graph.n)[r.source]
            priority[name] = np.where(answering[r.source], 0, len(r)) + few + self.rng.random(len(r))
        return priority

    def _lowered_by(self, priority: Numbers) -> Judged:
        weights = {}
        for name, bound in self.bounds.items():
            r = self.judge.graph.relations[name]
            weights[name] = within_bound(weights_of(r), r.target, priority[name], bound, self.cuts[name])
        return self.judge.judged(self.judge.graph.with_weights(weights))

    def _gain(self, near: Vertices, gain: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Sum the gains of vertices at the nearest marked vertex, against the direction of edges."""
        source, target = self.judge.graph.ends
        for _ in range(_FAR):
            reached = (near[target] >= 0) & (near[source] < 0)
            near[source[reached]] = near[target[reached]]
        return np.bincount(near[near >= 0], gain[near >= 0], len(near)).astype(np.float64)


def within_bound(
    weights: Weights, target: Vertices, first: npt.NDArray[np.float64], bound: float, cuts: Cuts
) -> Weights:
    """Lower weights whose sum exceeds a bound; as many as fit stay on their sides of the cuts, smallest `first` first.

    >>> half = Cuts.of([(0.5, False)])
    >>> weights, target = np.array([0.6, 0.7, 0.3, 0.9]), np.array([0, 0, 0, 1])
    >>> within_bound(weights, target, np.array([2.0, 1.0, 3.0, 4.0]), 1.0, half).round(2).tolist()
    [0.24, 0.6, 0.12, 0.9]
    """
    over = np.flatnonzero((np.bincount(target, weights=weights) > bound * (1 + _TIE))[target])
    rows = over[np.lexsort((first[over], target[over]))]
    _, vertex = np.unique(target[rows], return_inverse=True)
    start = np.searchsorted(vertex, vertex)
    old, most = weights[rows], bound * (1 - _SPARE)
    limits = np.append(0.0, cuts.value + _BEYOND * bound)
    side = cuts.side(old)
    while True:
        least = np.minimum(limits[side], old)
        before = np.cumsum(least) - least
        crowded = np.flatnonzero((before - before[start] + least > most) & (side > 0))
        if not len(crowded):
            break
        side[crowded[np.unique(vertex[crowded], return_index=True)[1]]] -= 1
    taken, rest = (np.bincount(vertex, weights=w) for w in (least, old - least))
    share = np.minimum(1.0, (most - taken) / np.maximum(rest, _TIE))
    lowered = weights.copy()
    lowered[rows] = least + (old - least) * share[vertex]
    return lowered


def sides_kept(target: Vertices, old: Weights, new: Units, cuts: Cuts) -> Flags:
    """Whether sums of new weights lie on the sides of the old sums, per edge, for all edges into the same vertex.

    Examined are the sums of all subsets of up to 10 edges; otherwise of all edges, and of all but one. New weights are
    in grid units; a sum equal to a cut is rejected, as rounding could move it to either side.

    >>> half = Cuts.of([(0.5, False)])
    >>> old, new = np.array([0.3, 0.3]), np.array([400_000, 50_000])
    >>> sides_kept(np.array([7, 7]), old, new, half), sides_kept(np.array([7, 8]), old, new, half)
    (array([False, False]), array([ True,  True]))
    """
    kept = np.ones(len(target), dtype=np.bool_)
    for rows in _by_degree(target):
        before, after = _sums(old[rows])[1:], _sums(new[rows])[1:]  # the empty sum does not move
        fine = np.ones(rows.shape[1], dtype=np.bool_)
        for value, above in zip(cuts.value.tolist(), cuts.above.tolist(), strict=True):
            beyond = before > value + (-_TIE if above else _TIE)
            over = after - value * GRID
            fine &= (np.where(beyond, over, -over) >= 0.5).all(axis=0)
        kept[rows] = fine
    return kept


def room_below(target: Vertices, weights: Units, n: int, cuts: Cuts) -> npt.NDArray[np.float64]:
    """Weight that edges may add to each of n vertices before the sum of any subset of its edges changes sides.

    In grid units, as `weights`; 0 for more than 10 edges whose sum is above a cut.

    >>> room_below(np.array([0, 0]), np.array([100_000, 450_000]), 2, Cuts.of([(0.5, False)])).tolist()
    [49999.5, 499999.5]
    """
    room = np.full(n, np.inf)
    if not len(cuts):
        return room
    values = cuts.value * GRID - 0.5
    room[:] = min(values[values > 0], default=np.inf)
    for rows in _by_degree(target):
        here = target[rows[0]]
        sums = _sums(weights[rows])
        for value in values.tolist():
            left = value - sums
            least = np.where(left > 0, left, np.inf).min(axis=0)
            if len(rows) > _SUBSETS:  # the sums of some subsets are unknown and may be just below the cut
                least = np.where(left.min(axis=0) > 0, least, 0.0)
            room[here] = np.minimum(room[here], least)
    return room


def _by_degree(target: Vertices) -> Iterator[Vertices]:
    """Edges into vertices of one in-degree d, shape (d, vertices)."""
    order = ascending(target)
    first = np.flatnonzero(np.diff(target[order], prepend=-1))
    degree = np.diff(np.append(first, len(target)))
    for d in np.flatnonzero(np.bincount(degree)).tolist():
        starts = first[degree == d]
        step = max(1, _AT_ONCE >> d if d <= _SUBSETS else _AT_ONCE // d)
        for begin in range(0, len(starts), step):
            yield order[starts[begin : begin + step] + np.arange(d)[:, None]]


def _sums(weights: Weights | Units) -> Weights | Units:
    """Sums of subsets of rows, the empty one first: all subsets of up to 10 rows, else all rows and all but one."""
    if len(weights) <= _SUBSETS:
        found: Weights = _all_subsets(len(weights)) @ weights
        return found
    total = weights.sum(axis=0, keepdims=True)
    return np.concatenate([np.zeros_like(total), total, total - weights])


@cache
def _all_subsets(d: int) -> npt.NDArray[np.float64]:
    return (np.arange(1 << d)[:, None] >> np.arange(d) & 1).astype(np.float64)


def fitted_sums(
    units: npt.NDArray[np.float64] | Units,
    target: Vertices,
    bound: int,
    levels: Units,
    rng: np.random.Generator,
    share: float = 1.0,
) -> Units:
    """Scale weights down where the sum into a vertex would leave no head room under the bound.

    The head room is random without a fixed minimum; otherwise any sum beyond the minimum would reveal a synthetic edge.
    With a smaller `share` of the usual head room, weights stay nearer to their values.
    """
    number = ranks(target)
    total = np.bincount(number, weights=units)
    head = np.maximum(_MOST * share * rng.beta(*_HEADROOM, len(total)), _LEAST * (share < 1))
    scale = np.minimum(1.0, bound * (1 - head) / np.maximum(total, 1.0))
    scaled = units * scale[number]
    fitted = floored(levels, scaled)
    if share < 1:
        rounded = nearest(levels, scaled)
        fits = np.bincount(number, weights=rounded) <= bound
        fitted = np.where(fits[number], rounded, fitted)
    return fitted


def fitted_room(
    units: Units,
    target: Vertices,
    room: npt.NDArray[np.float64],
    usual: Units,
    levels: Units,
    rng: np.random.Generator,
    alike: int = 1,
) -> Units:
    """Replace weights whose sum exceeds the room at their target, shape (n,).

    Edge by edge, a `usual` weight that fits into the remaining room is drawn. If few distinct usual weights fit, any
    level that fits is drawn: otherwise the smallest usual weights would become so frequent as to reveal these edges. As
    far as possible, `alike` edges get each drawn level. Usual weights and levels ascend.
    """
    n, usual = len(room), usual if len(usual) else levels
    means = np.cumsum(usual) / np.arange(1, len(usual) + 1)  # of the smallest usual weights
    different = np.unique(usual)
    # drawn levels occur `alike` times, so fewer distinct weights need to fit
    least = max(1, int(_FEW * len(different)) // alike)
    room = room - np.bincount(target, minlength=n)  # reserve one unit for each edge
    full = np.flatnonzero((np.bincount(target, weights=units, minlength=n) > room)[target])
    full = rng.permutation(full)
    full = full[np.argsort(target[full], kind="stable")]
    rank = np.arange(len(full)) - np.searchsorted(target[full], target[full])
    after = np.bincount(target[full], minlength=n)[target[full]] - rank
    fitted = units.copy()
    for number in range(int(rank.max(initial=-1)) + 1):
        now = rank == number
        rows, left = full[now], np.maximum(room[target[full[now]]], 0.0)
        part = left / np.sqrt(after[now])  # leave room for the following edges
        order = np.argsort(part, kind="stable")
        rows, left, part = rows[order], left[order], part[order]
        group = np.arange(len(rows)) // alike
        level = floored(levels, part[group * alike] * rng.random(len(rows))[group])
        few = np.searchsorted(different, left, side="right") < least
        fitting = np.searchsorted(means, left / after[now][order], side="right")
        fitting = np.minimum(fitting, np.searchsorted(usual, left, side="right"))
        drawn = usual[rng.integers(0, np.maximum(fitting, 1))]
        fitted[rows] = np.where(few[group * alike] | (fitting == 0), level, drawn)
        room[target[rows]] -= fitted[rows]
    return fitted


def check_sums(units: Units, target: Vertices, bound: int, name: str) -> None:
    """Raise `AnonymizationError` if the weights into some vertex exceed the bound."""
    total = np.bincount(target, weights=units)
    if len(total) and total.max() > bound:
        edges = int(np.bincount(target)[total.argmax()])
        raise AnonymizationError(
            f"the {edges:,} edges of relation {name!r} into one vertex cannot have positive weights "
            f"on a grid of 1/{GRID} and sum to at most {(bound + 1) / GRID:g}",
            hint="raise the bound of @incoming_sum",
        )


def lowered(
    pair: Vertices, units: Units, taken: Vertices, levels: Units, rng: np.random.Generator, name: str
) -> Units:
    """Lower weights that are taken at their pair of vertices or occur there twice, preferably to common levels.

    Weights that are `taken` are given as ``pair * (GRID + 1) + weight``, with the number of the pair of vertices;
    levels ascend.

    Raises
    ------
    AnonymizationError
        If there are not enough different smaller weights.
    """
    units = units.copy()
    for attempt in range(2 * _LOWERED):
        keys = pair * (GRID + 1) + units
        clash = np.isin(keys, taken) | repeated(keys)
        if not clash.any():
            return units
        most = units[clash]
        if attempt < _LOWERED:
            below = np.maximum(np.searchsorted(levels, most, side="right"), 1)
            units[clash] = np.minimum(levels[rng.integers(0, below)], most)
        else:
            units[clash] = rng.integers(1, np.maximum(most, 1) + 1)
    raise AnonymizationError(
        f"no weights of relation {name!r} were found that differ from the real ones and from each other",
        hint="parallel edges may need more distinct weights than there are; or leave --split out",
    )
