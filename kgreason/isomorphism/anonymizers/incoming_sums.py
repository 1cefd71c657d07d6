"""Sums of the weights of edges into one vertex: bounds, and sides of the thresholds in rules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError
from kgreason.graph.knowledge_graph import Vertices, Weights
from kgreason.isomorphism.anonymizers.weight_density import GRID, Cuts, Units, floored, nearest

_SUBSETS = 10  # maximum in-degree for which all subsets of the edges are summed
_AT_ONCE = 1 << 20
_TIE = 1e-9
_HEADROOM = (1.2, 1.5)  # beta distribution of the share of the maximum head room that is left below a bound
_MOST = 0.4
_LEAST = 0.002  # minimum share of a bound that is left if less than the usual head room is requested
_FEW = 1 / 3  # minimum share of the distinct usual weights that must fit for one of them to be drawn
Flags = npt.NDArray[np.bool_]


def sides_kept(target: Vertices, old: Weights, new: Units, cuts: Cuts) -> Flags:
    """Whether sums of new weights lie on the sides of the old sums, per edge, for all edges into the same vertex.

    Examined are the sums of all subsets of up to 10 edges; otherwise of all edges, and of all but one.

    Parameters
    ----------
    target
        Target of each edge, shape (m,).
    old
        Old weights, shape (m,).
    new
        New weights in grid units; a sum equal to a cut is rejected, as rounding could move it to either side.

    Returns
    -------
    bool, shape (m,)

    Examples
    --------
    >>> half = Cuts.of([(0.5, False)])
    >>> old, new = np.array([0.3, 0.3]), np.array([400_000, 50_000])
    >>> sides_kept(np.array([7, 7]), old, new, half), sides_kept(np.array([7, 8]), old, new, half)
    (array([False, False]), array([ True,  True]))
    """
    kept = np.ones(len(target), dtype=np.bool_)
    for rows, masks in _subsets(target):
        before, after = old[rows] @ masks, new[rows] @ masks
        fine = np.ones(len(rows), dtype=np.bool_)
        for value, above in zip(cuts.value.tolist(), cuts.above.tolist(), strict=True):
            beyond = before > value + (-_TIE if above else _TIE)
            moved = np.where(beyond, after - value * GRID, value * GRID - after)
            fine &= (moved[:, 1:] >= 0.5).all(axis=1)  # the empty sum does not move
        kept[rows] = fine[:, None]
    return kept


def room_below(target: Vertices, weights: Units, n: int, cuts: Cuts) -> npt.NDArray[np.float64]:
    """Weight that edges may add to each vertex before the sum of any subset of its edges changes sides.

    Parameters
    ----------
    target, weights
        Targets and weights of the existing edges, shape (m,); weights in grid units.

    Returns
    -------
    float64, shape (n,), in grid units; 0 for more than 10 edges whose sum is above a cut.

    Examples
    --------
    >>> room_below(np.array([0, 0]), np.array([100_000, 450_000]), 2, Cuts.of([(0.5, False)])).tolist()
    [49999.5, 499999.5]
    """
    room = np.full(n, np.inf)
    if not len(cuts):
        return room
    values = cuts.value * GRID - 0.5
    room[:] = min(values[values > 0], default=np.inf)
    for rows, masks in _subsets(target):
        here = target[rows[:, 0]]
        sums = weights[rows] @ masks
        for value in values.tolist():
            left = value - sums
            least = np.where(left > 0, left, np.inf).min(axis=1)
            if rows.shape[1] > _SUBSETS:  # the sums of some subsets are unknown and may be just below the cut
                least = np.where(left.min(axis=1) > 0, least, 0.0)
            room[here] = np.minimum(room[here], least)
    return room


def _subsets(target: Vertices) -> Iterator[tuple[Vertices, npt.NDArray[np.float64]]]:
    """Edges into vertices of one in-degree d, shape (vertices, d), and 0-1 columns of subsets, shape (d, subsets)."""
    order = np.argsort(target, kind="stable")
    first = np.flatnonzero(np.diff(target[order], prepend=-1))
    degree = np.diff(np.append(first, len(target)))
    for d in np.unique(degree).tolist():
        if d <= _SUBSETS:
            masks = (np.arange(1 << d) >> np.arange(d)[:, None] & 1).astype(np.float64)
        else:
            masks = np.concatenate([np.zeros((d, 1)), np.ones((d, 1)), 1 - np.eye(d)], axis=1)
        starts = first[degree == d]
        step = max(1, _AT_ONCE // masks.shape[1])
        for begin in range(0, len(starts), step):
            yield order[starts[begin : begin + step, None] + np.arange(d)], masks


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

    Parameters
    ----------
    share
        Share of the usual head room; with less, weights stay nearer to their values.
    """
    vertex, number = np.unique(target, return_inverse=True)
    total = np.bincount(number, weights=units, minlength=len(vertex))
    head = np.maximum(_MOST * share * rng.beta(*_HEADROOM, len(vertex)), _LEAST * (share < 1))
    scale = np.minimum(1.0, bound * (1 - head) / np.maximum(total, 1.0))
    scaled = units * scale[number]
    fitted = floored(levels, scaled)
    if share < 1:
        rounded = nearest(levels, scaled)
        fits = np.bincount(number, weights=rounded, minlength=len(vertex)) <= bound
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

    Edge by edge, a usual weight that fits into the remaining room is drawn. If few distinct usual weights fit, any
    level that fits is drawn: otherwise the smallest usual weights would become so frequent as to reveal these edges.

    Parameters
    ----------
    usual
        Weights to draw from, ascending.
    levels
        Weights that may be released, ascending.
    alike
        Number of edges that get each drawn level, as far as possible.
    """
    n, usual = len(room), usual if len(usual) else levels
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
        fitting = np.searchsorted(usual, left, side="right")
        drawn = usual[rng.integers(0, np.maximum(fitting, 1))]
        fitted[rows] = np.where(few[group * alike] | (fitting == 0), level, drawn)
        room[target[rows]] -= fitted[rows]
    return fitted


def check_sums(units: Units, target: Vertices, bound: int, name: str) -> None:
    """Check that sums do not exceed the bound.

    Raises
    ------
    AnonymizationError
        If the weights into some vertex exceed it.
    """
    total = np.bincount(target, weights=units)
    if len(total) and total.max() > bound:
        edges = int(np.bincount(target)[total.argmax()])
        raise AnonymizationError(
            f"the {edges:,} edges of relation {name!r} into one vertex cannot have positive weights "
            f"on a grid of 1/{GRID} and sum to at most {(bound + 1) / GRID:g}",
            hint="raise the bound of @incoming_sum",
        )


_ROUNDS = 100  # rounds of lowering weights to common values, and as many to any value


def lowered(
    pair: Vertices, units: Units, taken: Vertices, levels: Units, rng: np.random.Generator, name: str
) -> Units:
    """Lower weights that are taken at their pair of vertices or occur there twice, preferably to common values.

    Parameters
    ----------
    pair
        Number of the pair of vertices of each edge, shape (m,).
    taken
        Weights that are not allowed, as ``pair * (GRID + 1) + weight``.
    levels
        Common weights, ascending.
    name
        Name of the relation for messages.

    Raises
    ------
    AnonymizationError
        If there are not enough different smaller weights.
    """
    units = units.copy()
    for attempt in range(2 * _ROUNDS):
        keys = pair * (GRID + 1) + units
        clash = np.isin(keys, taken)
        repeated = np.ones(len(keys), dtype=np.bool_)
        repeated[np.unique(keys, return_index=True)[1]] = False
        clash |= repeated
        if not clash.any():
            return units
        most = units[clash]
        if attempt < _ROUNDS:
            below = np.maximum(np.searchsorted(levels, most, side="right"), 1)
            units[clash] = np.minimum(levels[rng.integers(0, below)], most)
        else:
            units[clash] = rng.integers(1, np.maximum(most, 1) + 1)
    raise AnonymizationError(
        f"no weights of relation {name!r} were found that differ from the real ones and from each other",
        hint="parallel edges may need more distinct weights than there are; or leave --split out",
    )
