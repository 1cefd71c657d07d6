"""Rates of attackers: the probability that a guess among candidates is right, and its confidence interval."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.release.verdicts import NORMAL

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@record
class Rate:
    """Mean over targets of a number between 0 and 1, with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats, exact: bool) -> Rate:
        """Mean of values with its confidence interval.

        Wilson's interval for shares, which is conservative for a mean of numbers in [0, 1]. If all targets were
        examined (`exact`), the interval is the mean itself.

        Examples
        --------
        >>> Rate.of(np.array([1.0, 0.0, 1.0, 0.0]), exact=False)
        Rate(value=0.5, low=0.15003898915214947, high=0.8499610108478506)
        """
        count = len(values)
        mean = float(values.mean()) if count else 0.0
        if exact or not count:
            return cls(mean, mean, mean)
        z = NORMAL
        centre = (mean + z * z / (2 * count)) / (1 + z * z / count)
        width = z * math.sqrt(mean * (1 - mean) / count + z * z / (4 * count * count)) / (1 + z * z / count)
        return cls(mean, max(0.0, centre - width), min(1.0, centre + width))


def chances(sizes: Ints, right: Flags) -> Floats:
    """Probability that a uniform guess among the candidates of a target finds it."""
    return np.where(right, 1 / np.maximum(sizes, 1), 0.0)
