"""Noise of Probing: some degrees are changed before they are made anonymous, at random among equal ones."""

from __future__ import annotations

import numpy as np

from kgreason.graph.people.model import Counts


def raised(degrees: Counts, amount: int, rng: np.random.Generator) -> Counts:
    """Add one to the degrees of so many vertices, the lowest first; to all and then again where they are too few.

    Low degrees mend most, and drawing from all would raise some of them again and again.

    Examples
    --------
    >>> raised(np.array([3, 0, 2, 3, 1]), 2, np.random.default_rng(0)).tolist()
    [3, 1, 2, 3, 2]
    """
    n = len(degrees)
    rounds, rest = divmod(amount, max(n, 1))
    noisy = np.minimum(degrees + min(rounds, n), n - 1)
    able = np.flatnonzero(noisy < n - 1)
    lowest = np.lexsort((rng.random(len(able)), noisy[able]))
    noisy[able[lowest[:rest]]] += 1
    return noisy


def lowered(degrees: Counts, amount: int, largest: int, rng: np.random.Generator) -> Counts:
    """Take so much from so many largest degrees, from each of them as much as from the others.

    Examples
    --------
    >>> lowered(np.array([3, 0, 2, 4, 1]), 5, 2, np.random.default_rng(0)).tolist()
    [1, 0, 2, 1, 1]
    """
    top = np.lexsort((rng.random(len(degrees)), -degrees))[:largest]
    rounds, rest = divmod(amount, max(len(top), 1))
    noisy = degrees.copy()
    noisy[top] -= min(rounds, len(degrees))
    noisy[top[:rest]] -= 1
    return np.maximum(noisy, 0)
