"""Probabilities of links of which each has several causes, and may be a cause itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]

ROUNDS = 10_000
TOLERANCE = 1e-12
"""With less change in a round the fixpoint is reached."""


@dataclass(frozen=True, eq=False)
class Causes:
    """Causes of one strength, row by row.

    Attributes
    ----------
    head
        Number of the link that each may bring about; int64, shape (m,).
    weight
        Probability that one does, given all that it needs.
    count
        How many alike each row stands for; float64, shape (m,).
    needs
        Numbers of the links that must hold for it; int64, shape (m, r).
    """

    head: Ints
    weight: float
    count: Doubles
    needs: Ints


def least_fixpoint(causes: Sequence[Causes], leak: Doubles) -> tuple[Doubles, bool]:
    """Least solution of P(h) = 1 - (1 - leak) Π (1 - weight Π P(b)), the products over causes of h and what they need.

    All values grow from 0 and are at most 1, so what is found if the rounds do not suffice is too small, never too
    large.

    Parameters
    ----------
    leak
        Probability of each link without any cause, shape (links,).

    Returns
    -------
    Doubles
        Shape (links,).
    bool
        Whether the fixpoint was reached.

    Examples
    --------
    >>> first = Causes(np.array([0]), 0.5, np.array([2.0]), np.empty((1, 0), dtype=np.int64))
    >>> second = Causes(np.array([1]), 0.4, np.array([1.0]), np.array([[0]]))
    >>> least_fixpoint([first, second], np.zeros(2))
    (array([0.75, 0.3 ]), True)
    """
    links = len(leak)
    fixed = [c for c in causes if not c.needs.size]
    moving = [c for c in causes if c.needs.size]
    failing = sum((_failing(c, np.full(len(c.head), c.weight), links) for c in fixed), np.zeros(links))
    believed = np.zeros(links)
    for _ in range(ROUNDS if moving else 1):
        logs = failing
        for c in moving:
            logs = logs + _failing(c, c.weight * believed[c.needs].prod(axis=1), links)
        before, believed = believed, leak + (1 - leak) * -np.expm1(logs)
        if not moving or np.abs(believed - before).max(initial=0.0) <= TOLERANCE:
            return believed, True
    return believed, False


def _failing(causes: Causes, probability: Doubles, links: int) -> Doubles:
    """Logarithm of the probability that all causes of a link fail, shape (links,)."""
    with np.errstate(divide="ignore"):
        logs = causes.count * np.log1p(-probability)
    return np.bincount(causes.head, logs, minlength=links).astype(np.float64)
