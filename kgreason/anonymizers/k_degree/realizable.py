"""Why no simple undirected graph has given degrees.

References
----------
Erdős and Gallai, "Graphs with prescribed degrees of vertices", 1960.
KDEGREE, "Construct Graph Algorithm": there the answer is "No".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgreason.graph.people.model import Counts

_LISTED = 6  # degrees that a sentence can bear


@dataclass(frozen=True)
class Obstacle:
    """What stands between degrees and a graph.

    Attributes
    ----------
    reason
        In words, as a clause that can stand after a colon.
    short
        How many ends of edges some largest degrees want at most beyond those there are; 0 if the trouble is another
        one. So many other degrees at least have to rise by one, or of these degrees to fall.
    largest
        How many largest degrees want that: not always those of `reason`, the first that want too much.
    """

    reason: str
    short: int = 0
    largest: int = 0

    def __str__(self) -> str:
        return self.reason


def obstacle(degrees: Counts) -> Obstacle | None:
    """Find why no simple undirected graph has these degrees, in O(n log n).

    Parameters
    ----------
    degrees
        Degree of each vertex, int64, shape (n,).

    Returns
    -------
    Obstacle or None
        `None` if there is such a graph; else the first of: a degree that no vertex can have, an odd sum, the smallest
        number of largest degrees that want too much.

    Examples
    --------
    >>> print(obstacle(np.array([2, 2, 2])))
    None
    >>> print(obstacle(np.array([3, 2, 2])))
    a degree is 3, but each of the 3 vertices has only 2 others
    >>> print(obstacle(np.array([4, 4, 4, 1, 1])))
    the 2 largest degrees, 4, 4, want 8 ends of edges; 2 can lie between these 2 and 4 at the others, which makes 6
    """
    n = len(degrees)
    if n == 0:
        return None
    falling = np.sort(degrees)[::-1]
    if falling[-1] < 0:
        return Obstacle(f"a degree is {falling[-1]}, but no degree is negative")
    if falling[0] >= n:
        each = f"each of the {n} vertices has only {n - 1} others" if n > 1 else "there is one vertex only"
        return Obstacle(f"a degree is {falling[0]}, but {each}")
    if falling.sum() % 2:
        return Obstacle(f"the sum of all degrees is {falling.sum()}, but every edge has two ends")
    r = np.arange(1, n + 1)
    sums = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(falling)])
    many = np.maximum(
        r, np.searchsorted(-falling, -r, side="right")
    )  # have r or more, or are among the first r
    inside = r * (r - 1)
    outside = r * (many - r) + sums[-1] - sums[many]
    short = sums[1:] - inside - outside
    worst = int(short.argmax())
    if short[worst] <= 0:
        return None
    i = int(np.argmax(short > 0))
    reason = _wanting(falling[: i + 1].tolist(), int(inside[i]), int(outside[i]))
    return Obstacle(reason, int(short[worst]), worst + 1)


def _wanting(largest: list[int], inside: int, outside: int) -> str:
    """Say how the largest degrees want more than there is."""
    r, wanted = len(largest), sum(largest)
    named = [str(d) for d in largest]
    if r > _LISTED:
        named = [*named[: _LISTED - 2], "...", named[-1]]
    listed = ", ".join(named)
    if r == 1:
        return f"the largest degree, {listed}, wants {wanted} ends of edges, but only {outside} of the others have any"
    return (
        f"the {r} largest degrees, {listed}, want {wanted} ends of edges; {inside} can lie between these {r} and "
        f"{outside} at the others, which makes {inside + outside}"
    )
