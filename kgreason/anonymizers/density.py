"""The weight distribution p_w of a relation, and draws from it on the levels of released weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.errors import AnonymizationError
from kgreason.graph.model import Weights

GRID = 1_000_000
"""Released weights are multiples of 1/GRID, so that what was reasoned on is what stands in the file."""

Units = npt.NDArray[np.int64]
_ROUNDS = 100
_MANY = 20_000  # edges from which on weights have a third significant digit
_SPARSE = 20  # levels in a decade for each of the edges that run in parallel


def decimal_levels(digits: int) -> Units:
    """Weights in (0, 1] with at most so many significant digits, in grid units, ascending.

    Examples
    --------
    >>> decimal_levels(1)[[0, 1, 8, 9, -2, -1]].tolist()
    [1, 2, 9, 10, 900000, 1000000]
    """
    levels = np.unique(np.outer(np.arange(1, 10**digits), 10 ** np.arange(7)))
    found: Units = levels[levels <= GRID]
    return found


def nearest(levels: Units, units: npt.NDArray[np.float64] | Units) -> Units:
    """Move each value to the nearest of some ascending levels."""
    found: Units = levels[np.searchsorted((levels[1:] + levels[:-1]) / 2, units)]
    return found


def floored(levels: Units, units: npt.NDArray[np.float64] | Units) -> Units:
    """Move each value down to the next of some ascending levels, or to the least of them."""
    found: Units = levels[np.maximum(np.searchsorted(levels, units, side="right") - 1, 0)]
    return found


@dataclass(frozen=True, eq=False)
class WeightDensity:
    """Gaussian kernel density of a relation's real weights, cut to (0, 1].

    Attributes
    ----------
    values
        The real weights; empty: uniform draws.
    bandwidth
        Scott's rule as in scipy; for (nearly) constant weights, where it vanishes, 0.1.
    levels
        The weights that may be released, in grid units, ascending: those with few significant digits, so that
        weights repeat anyway. On a fine grid those of the copies alone would, and tell which edges are synthetic.
    constants
        If all real weights are the same, those next to it, in grid units: one of them becomes the weight of all.
    """

    values: Weights
    bandwidth: float
    levels: Units
    constants: Units

    @classmethod
    def fit(cls, weights: Weights, relation: str, parallel: int = 1) -> WeightDensity:
        """Fit to the weights of a relation.

        Parameters
        ----------
        parallel
            Greatest number of edges from one vertex to another; they need different weights.

        Raises
        ------
        AnonymizationError
            If a weight lies outside [0, 1].
        """
        outside = ~((weights >= 0) & (weights <= 1))
        if outside.any():
            example = float(weights[outside][0])
            raise AnonymizationError(
                f"relation {relation!r} has weights outside [0, 1], for instance {example!r}",
                hint="scale its weights to [0, 1]",
            )
        enough = int(np.ceil(np.log10(_SPARSE * max(parallel, 1))))
        levels = decimal_levels(min(6, max(enough, 3 if len(weights) > _MANY else 2)))
        constants = levels[:0]
        if parallel == 1 and len(weights) and np.ptp(np.rint(weights * GRID)) == 0:
            unit = np.rint(weights[0] * GRID)
            constants = np.concatenate([levels[levels < unit][-1:], levels[levels > unit][:1]])
        if not len(weights) or float(weights.std()) < 1e-6:
            return cls(weights, 0.1, levels, constants)
        bandwidth = float(weights.std(ddof=1)) * len(weights) ** -0.2
        return cls(weights, max(1e-3, bandwidth), levels, constants)

    def draw(self, rng: np.random.Generator, size: int, levels: Units | None = None) -> Units:
        """Draw weights in grid units, from `levels` (by default the own ones); draws outside are drawn again.

        Where hardly any draw lies between the least and the greatest of the levels, it is the nearer of the two.

        Examples
        --------
        >>> density = WeightDensity.fit(np.array([0.2, 0.9, 1.0]), "own")
        >>> drawn = density.draw(np.random.default_rng(0), 1000)
        >>> bool(np.isin(drawn, density.levels).all())
        True
        """
        levels = self.levels if levels is None else levels
        low, high = levels[0] - 0.5, levels[-1] + 0.5
        if not len(self.values):
            return nearest(levels, rng.uniform(low, high, size))
        drawn = np.empty(size)
        missing = np.arange(size)
        for _ in range(_ROUNDS):
            if not len(missing):
                break
            centre = self.values[rng.integers(0, len(self.values), len(missing))]
            drawn[missing] = rng.normal(centre, self.bandwidth) * GRID
            missing = missing[(drawn[missing] < low) | (drawn[missing] > high)]
        return nearest(levels, drawn)


@dataclass(frozen=True, eq=False)
class Sample:
    """Weights that were drawn, to draw from again: what is drawn stands where others stand, too.

    Attributes
    ----------
    units
        The weights in grid units, ascending, not empty.
    levels
        Those that may be released, as of the density.
    """

    units: Units
    levels: Units

    def draw(self, rng: np.random.Generator, size: int, levels: Units | None = None) -> Units:
        """Draw weights that lie among adjacent levels; if there are none, the levels nearest to some.

        Examples
        --------
        >>> sample = Sample(np.array([3, 3, 8]), decimal_levels(1))
        >>> drawn = sample.draw(np.random.default_rng(0), 9, np.arange(2, 6))
        >>> np.unique(drawn).tolist()
        [3]
        """
        if levels is None:
            return self.units[rng.integers(0, len(self.units), size)]
        low, high = np.searchsorted(self.units, levels[0]), np.searchsorted(self.units, levels[-1], "right")
        if low < high:
            return self.units[rng.integers(low, high, size)]
        return nearest(levels, self.units[rng.integers(0, len(self.units), size)])
