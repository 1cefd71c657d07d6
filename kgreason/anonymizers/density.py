"""The weight distribution p_w of a relation, and draws from it on the grid of released weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.errors import AnonymizationError
from kgreason.graph.model import Weights

GRID = 1_000_000
"""Released weights are multiples of 1/GRID, so that what was reasoned on is what stands in the file."""

Units = npt.NDArray[np.int64]
_ROUNDS = 1_000


@dataclass(frozen=True, eq=False)
class WeightDensity:
    """Gaussian kernel density of a relation's real weights, cut to [0, 1] or, if all are positive, (0, 1].

    Attributes
    ----------
    values
        The real weights; empty: uniform draws.
    bandwidth
        Scott's rule as in scipy; for (nearly) constant weights, where it vanishes, 0.1.
    least
        Least weight to draw, in grid units: 0 or 1.
    """

    values: Weights
    bandwidth: float
    least: int

    @classmethod
    def fit(cls, weights: Weights, relation: str) -> WeightDensity:
        """Fit to the weights of a relation.

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
        least = int(bool((weights > 0).all()))
        if not len(weights) or float(weights.std()) < 1e-6:
            return cls(weights, 0.1, least)
        from scipy.stats import gaussian_kde

        return cls(weights, max(1e-3, float(np.sqrt(gaussian_kde(weights).covariance[0, 0]))), least)

    def draw(self, rng: np.random.Generator, size: int) -> Units:
        """Draw weights in grid units, least <= unit <= GRID; draws outside are drawn again.

        Examples
        --------
        >>> density = WeightDensity.fit(np.array([0.2, 0.9, 1.0]), "own")
        >>> drawn = density.draw(np.random.default_rng(0), 1000)
        >>> bool((drawn >= 1).all() and (drawn <= GRID).all())
        True
        """
        if not len(self.values):
            return rng.integers(self.least, GRID, size, endpoint=True)
        units = np.empty(size, dtype=np.int64)
        missing = np.arange(size)
        for _ in range(_ROUNDS):
            centre = self.values[rng.integers(0, len(self.values), len(missing))]
            drawn = np.rint(rng.normal(centre, self.bandwidth) * GRID)
            inside = (drawn >= self.least) & (drawn <= GRID)
            units[missing[inside]] = drawn[inside].astype(np.int64)
            missing = missing[~inside]
            if not len(missing):
                return units
        raise AnonymizationError(f"no weight inside [0, 1] was drawn in {_ROUNDS} attempts")
