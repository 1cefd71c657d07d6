"""Degrees to give: distributions fitted to the real ones, and draws that make degrees differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Degrees = npt.NDArray[np.int64]


@dataclass(frozen=True)
class DegreeDistribution:
    """Negative binomial with the moments of observed degrees; Poisson if they are not overdispersed.

    Attributes
    ----------
    mean, variance
        Moments of the observed degrees.
    bound
        Draws above it are cut to it: the greatest observed degree, so that no drawn one stands out, but
        at least 1 and at most the number of vertices.

    References
    ----------
    docs/anonymization.md, KLONE; "p_in and p_out negative binomial".

    Examples
    --------
    >>> fitted = DegreeDistribution.fit(np.array([0, 1, 1, 6]))
    >>> fitted.mean, fitted.variance, fitted.bound
    (2.0, 5.5, 4)
    >>> fitted.draw(np.random.default_rng(1), 5).max() <= 4
    np.True_
    """

    mean: float
    variance: float
    bound: int

    @classmethod
    def fit(cls, degrees: Degrees) -> DegreeDistribution:
        """Fit by moments."""
        if not len(degrees):
            return cls(0.0, 0.0, 1)
        bound = max(1, min(int(degrees.max()), len(degrees)))
        return cls(float(degrees.mean()), float(degrees.var()), bound)

    def draw(self, rng: np.random.Generator, size: int) -> Degrees:
        """Draw degrees, shape (size,)."""
        if self.variance > self.mean > 0:
            successes = self.mean**2 / (self.variance - self.mean)
            drawn = rng.negative_binomial(successes, self.mean / self.variance, size)
        else:
            drawn = rng.poisson(self.mean, size)
        return np.minimum(drawn, self.bound).astype(np.int64)


def choose_across(degrees: Degrees, fitted: DegreeDistribution, rng: np.random.Generator) -> Degrees:
    """Raise degrees so that those in each row differ.

    In each row a random entry keeps its degree; every other one keeps it if it is free, else takes
    max(degree + 1, draw) until free. Who keeps its degree is random, because an original that always had the
    least degree of its copies would be known by that.

    Parameters
    ----------
    degrees
        Shape (n, k): degrees of the k copies of each vertex.

    References
    ----------
    KGISO, Algorithm 1 lines 8-12 and Algorithm 4 (ChooseDeg).

    Examples
    --------
    >>> fitted = DegreeDistribution.fit(np.array([1, 2, 3]))
    >>> chosen = choose_across(np.array([[2, 2, 2], [0, 1, 5]]), fitted, np.random.default_rng(3))
    >>> chosen[1].tolist(), len(set(chosen[0].tolist()))
    ([0, 1, 5], 3)
    """
    order = np.argsort(rng.random(degrees.shape), axis=1)
    chosen = np.take_along_axis(degrees, order, axis=1)
    for j in range(1, degrees.shape[1]):
        rows = np.arange(len(chosen))
        while True:
            taken = (chosen[rows, :j] == chosen[rows, j, None]).any(axis=1)
            rows = rows[taken]
            if not len(rows):
                break
            chosen[rows, j] = np.maximum(chosen[rows, j] + 1, fitted.draw(rng, len(rows)))
    result = np.empty_like(chosen)
    np.put_along_axis(result, order, chosen, axis=1)
    return result


def choose_apart(
    degrees: Degrees,
    order: Iterable[int],
    apart: Sequence[Iterable[int]],
    fitted: DegreeDistribution,
    rng: np.random.Generator,
) -> Degrees:
    """Raise degrees so that each vertex differs from the vertices it must stay apart from (ChooseDeg).

    Parameters
    ----------
    degrees
        Current degrees, shape (n,).
    order
        Vertices to settle, in this order.
    apart
        For each vertex those whose degree must differ from its own; symmetric.

    Examples
    --------
    >>> fitted = DegreeDistribution.fit(np.array([0]))
    >>> rng = np.random.default_rng(0)
    >>> choose_apart(np.array([2, 2, 2]), [0, 1, 2], [[1], [0, 2], [1]], fitted, rng).tolist()
    [2, 3, 2]
    """
    chosen = degrees.copy()
    settled: set[int] = set()
    for v in order:
        taken = {int(chosen[u]) for u in apart[v] if u in settled}
        degree = int(chosen[v])
        while degree in taken:
            degree = max(degree + 1, int(fitted.draw(rng, 1)[0]))
        chosen[v] = degree
        settled.add(v)
    return chosen
