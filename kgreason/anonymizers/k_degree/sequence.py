"""k-anonymous sequences of degrees: each degree is that of at least k vertices.

Vertices are sorted by degree and cut into groups of at least k that lie together; each group gets one degree.

Groups that lie together suffice: if the old and the new degrees are each sorted, the sum of their differences does not
grow, no new degree gets below an old one if none was before, and the new degrees stay the same numbers, so their
frequencies and the parity of their sum do.

What a group costs is convex in its degree. So the cheapest degree of the other parity, which only a group of an odd
number of vertices may need, lies next to the cheapest of all.

An even sum within 0 .. n - 1 always exists, for any cut: an even group adds nothing odd. If n is even, there is an
even number of odd groups; were the degrees of all of them n - 1, which is odd, their sum would be even, so one is less
and may rise, whose degree is even. If n is odd, n - 1 is even, and where the sum is odd an odd group has an odd degree,
which may rise.

References
----------
KDEGREE, "Degree Anonymization": equations (2) and (3), "Greedy Algorithm (1), (2)".
Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, sections 4 and 5.
"""

from __future__ import annotations

import numpy as np

from kgreason.anonymizers.k_degree import sequence_kernels as kernels
from kgreason.anonymizers.k_degree.realizable import obstacle
from kgreason.choices import Sequence
from kgreason.errors import AnonymizationError
from kgreason.graph.people.model import Counts


def anonymous(degrees: Counts, k: int) -> bool:
    """Whether each degree that occurs is that of at least k vertices; degrees int64, shape (n,).

    Examples
    --------
    >>> anonymous(np.array([5, 5, 3, 3, 2, 2, 2]), 2), anonymous(np.array([5, 5, 3, 3, 2, 2, 2]), 3)
    (True, False)
    """
    _, count = np.unique(degrees, return_counts=True)
    return bool((count >= k).all())


def anonymous_degrees(
    degrees: Counts,
    k: int,
    *,
    rng: np.random.Generator,
    method: Sequence = "dp",
    lowering: bool = False,
    even: bool = False,
) -> Counts:
    """Find k-anonymous degrees near given ones.

    Parameters
    ----------
    degrees
        Degree of each vertex, int64, shape (n,), not negative.
    k
        How many vertices at least shall have each degree.
    rng
        Decides which of equal degrees come into which of two groups; their order in `degrees` says nothing about it.
    method
        ``"dp"`` finds the least sum of changes in time O(nk) by dynamic programming, ``"greedy"`` a small one in
        O(n) once they are sorted.
    lowering
        Whether degrees may also fall: then a group gets a median of its degrees, else the largest.
    even
        Whether the sum has to be even and no degree above n - 1, as in every simple graph. Then degrees that may fall
        are also balanced: where a group has several medians, which cost the same, those are taken that bring the sum
        near the old one, so that few edges have to go; unless only the lowest of them are degrees of a graph.

    Returns
    -------
    Counts
        New degree of each vertex, int64, shape (n,).

    Raises
    ------
    AnonymizationError
        If there are some, but fewer than k vertices, or k is below 1, or degrees are not those of any graph.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> anonymous_degrees(np.array([1, 5, 4, 3, 1]), 2, rng=rng).tolist()
    [1, 5, 5, 5, 1]
    >>> anonymous_degrees(np.array([1, 5, 4, 3, 1]), 2, rng=rng, lowering=True).tolist()
    [1, 4, 4, 4, 1]
    >>> anonymous_degrees(np.array([1, 4, 4, 3, 1]), 2, rng=rng, even=True).tolist()
    [1, 4, 4, 4, 1]
    """
    degrees = np.asarray(degrees, dtype=np.int64)
    _check(degrees, k, even)
    n = len(degrees)
    if n == 0:
        return degrees.copy()
    order = rng.permutation(n)
    order = order[np.argsort(-degrees[order], kind="stable")]
    falling = degrees[order]
    sums = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(falling)])
    first = np.searchsorted(-falling, -falling, side="left")
    end = np.searchsorted(-falling, -falling, side="right")
    made, starts = np.empty((2, n), dtype=np.int64)
    if method == "greedy":
        groups = kernels.deal(falling, sums, k, lowering, starts)
        kernels.level(falling, sums, first, end, starts, groups, lowering, even, made)
        starts = starts[:groups]
    else:
        best, back = np.empty((2, n + 1, 2), dtype=np.int64)
        kernels.fill(falling, sums, first, end, k, lowering, even, best, back)
        groups = kernels.trace(falling, sums, first, end, lowering, even, back, starts, made)
        starts = starts[n - groups :]
    if even and lowering:
        made = _balanced(falling, made, starts)
    found = np.empty(n, dtype=np.int64)
    found[order] = made
    return found


def _balanced(falling: Counts, made: Counts, starts: Counts) -> Counts:
    """Raise even groups within their medians, the lowest first, until the sum is that of the old degrees, or near it.

    Parameters
    ----------
    falling, made
        Old and new degrees, shape (n,); each even group has the lowest of its medians.
    starts
        First place of each group in ascending order, shape (groups,).
    """
    size = np.diff(starts, append=len(falling))
    middle = starts + size // 2
    room = np.where(size % 2, 0, falling[middle - 1] - falling[middle])
    raised, missing = np.zeros(len(starts), dtype=np.int64), int(falling.sum() - made.sum())
    for group in np.flatnonzero(room)[::-1]:
        raised[group] = min(room[group], max(missing // size[group], 0))
        missing -= int(raised[group] * size[group])
    able = np.flatnonzero(raised < room)
    if len(able):
        least = able[np.argmin(size[able])]
        raised[least] += size[least] <= 2 * missing  # no further above the old sum than it is below without
    balanced = made + np.repeat(raised, size)
    return made if obstacle(balanced) is not None and obstacle(made) is None else balanced


def _check(degrees: Counts, k: int, even: bool) -> None:
    n = len(degrees)
    if k < 1:
        raise AnonymizationError(
            f"k is at least 1, not {k}", hint="with k = 10 each degree is that of 10 vertices or more"
        )
    if 0 < n < k:
        raise AnonymizationError(
            f"{n} vertices cannot be {k}-degree anonymous: at least {k} of them would need the same degree",
            hint=f"take k = {n} or less",
        )
    if (degrees < 0).any():
        raise AnonymizationError(f"a degree is {degrees.min()}, but no degree is negative")
    if even and (degrees >= n).any():
        raise AnonymizationError(
            f"a degree is {degrees.max()}, but a vertex of a simple graph of {n} has at most {n - 1} edges",
            hint="count each pair of vertices once, and no loops",
        )
