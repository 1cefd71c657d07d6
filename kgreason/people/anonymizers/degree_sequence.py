"""k-anonymous degree sequences: each degree is that of at least k vertices.

`falling` holds degrees in descending order, shape (n,); `sums[i]` is the sum of the first i, shape (n + 1,). Degrees
equal to that at index i are at ``first[i] .. end[i] - 1``. A group is a range a .. b - 1.

Vertices are sorted by degree and cut into groups of at least k consecutive ones; each group gets one degree.

Consecutive groups suffice: if the old and the new degrees are each sorted, the sum of their differences does not
increase, no new degree gets below an old one if none was before, and the new degrees stay the same multiset, so their
frequencies and the parity of their sum are preserved.

The cost of a group is convex in its degree. So the cheapest degree of the other parity, which only a group of an odd
number of vertices may need, is adjacent to the cheapest of all.

An even sum within 0 .. n - 1 exists for any cut: even groups contribute nothing odd. If n is even, the number of odd
groups is even; if all of them had degree n - 1, which is odd, their sum would be even, so for an odd sum one of them
has an even, smaller degree and may rise. If n is odd, n - 1 is even, and for an odd sum some odd group has an odd
degree, which may rise.

References
----------
KDEGREE, "Degree Anonymization": equations (2) and (3), "Greedy Algorithm (1), (2)".
Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, sections 4 and 5.
"""

from __future__ import annotations

import numpy as np

from kgreason.base.errors import AnonymizationError
from kgreason.base.jit import Ints, Rows, inlined, kernel
from kgreason.people.anonymizers.undirected_realization import obstacle
from kgreason.people.model import Counts
from kgreason.people.settings import Sequence

NEVER = 1 << 62  # infinite cost


@inlined
def price(falling: Ints, sums: Ints, a: int, b: int, lowering: bool) -> tuple[int, int]:
    """Cost of a group and its cheapest degree: the largest, or a median if degrees may fall."""
    middle = a + (b - a) // 2 if lowering else a
    degree = falling[middle]
    above = sums[middle] - sums[a] - degree * (middle - a)
    return above + degree * (b - middle) - (sums[b] - sums[middle]), degree


@inlined
def turn(falling: Ints, first: Ints, end: Ints, a: int, b: int, lowering: bool, most: int) -> tuple[int, int]:
    """Cost and change, +1 or -1, for the cheapest degree of an odd group adjacent to that of `price`.

    The change is 0 if there is no such degree within 0 .. `most`.
    """
    size = b - a
    if not lowering:
        return size, 1 if falling[a] < most else 0
    middle = a + size // 2
    above, below = max(first[middle] - a, 0), max(b - end[middle], 0)
    up, down = size - 2 * above, size - 2 * below
    if falling[middle] < most and (up <= down or falling[middle] == 0):
        return up, 1
    return down, -1 if falling[middle] > 0 else 0


@kernel
def fill(
    falling: Ints, sums: Ints, first: Ints, end: Ints, k: int, lowering: bool, even: bool,
    best: Rows, back: Rows,
) -> None:  # fmt: skip
    """Least cost of the first i degrees, for all i: equations (2) and (3), in O(nk).

    A group of 2k degrees or more costs no less than two groups of at least k: they may keep its degree, and find a
    cheaper one each. So only groups of k .. 2k - 1 are tried. This also holds for each parity: if both keep the degree,
    the sum is unchanged, so the cheapest degrees of the same parities cost no more.

    Ties: the larger last group is taken. Then more vertices get a low degree and fewer a high one, which more often
    gives a realizable sequence.

    The output has the shape (n + 1, 2). The columns of `best`, the costs, are for an even and for an odd sum of the new
    degrees; without `even` the first column holds the cost of any sum. `back` holds the choices: twice the size of the
    last group, plus the column of the degrees before it.
    """
    n = len(falling)
    columns = 2 if even else 1
    for i in range(n + 1):
        for column in range(2):
            best[i, column] = NEVER
    best[0, 0] = 0
    for i in range(k, n + 1):
        for size in range(k, min(2 * k - 1, i) + 1):
            a = i - size
            if 0 < a < k:
                continue
            cost, degree = price(falling, sums, a, i, lowering)
            odd = size % 2 * (degree % 2) if even else 0
            for column in range(columns):
                if best[a, column] + cost <= best[i, column ^ odd]:
                    best[i, column ^ odd] = best[a, column] + cost
                    back[i, column ^ odd] = 2 * size + column
            if even and size % 2:
                more, by = turn(falling, first, end, a, i, lowering, n - 1)
                for column in range(2):
                    other = column ^ odd ^ 1
                    if by != 0 and best[a, column] + cost + more <= best[i, other]:
                        best[i, other] = best[a, column] + cost + more
                        back[i, other] = 2 * size + column


@kernel
def trace(
    falling: Ints, sums: Ints, first: Ints, end: Ints, lowering: bool, even: bool, back: Rows,
    starts: Ints, made: Ints,
) -> int:  # fmt: skip
    """Reconstruct groups and degrees from the choices of `fill`; returns the number of groups.

    The output, shape (n,), is `starts`, the first index of each group, at its end, and `made`, the new degrees.
    """
    i, column, groups = len(falling), 0, 0
    while i > 0:
        a, before = i - back[i, column] // 2, back[i, column] % 2
        _, degree = price(falling, sums, a, i, lowering)
        if even and (i - a) * degree % 2 != column ^ before:
            _, by = turn(falling, first, end, a, i, lowering, len(falling) - 1)
            degree += by
        for j in range(a, i):
            made[j] = degree
        groups += 1
        starts[len(starts) - groups] = a
        i, column = a, before
    return groups


@kernel
def deal(falling: Ints, sums: Ints, k: int, lowering: bool, starts: Ints) -> int:
    """Cut greedily: a degree joins the current group unless a new group is cheaper; returns the number of groups.

    If joining would leave fewer than k degrees, which cannot form a group, they join as well; the last fewer than k
    degrees always join. The output `starts`, shape (n,), holds the first index of each group.
    """
    n = len(falling)
    starts[0] = 0
    groups = 1
    a, i = 0, k
    while i + k <= n:
        joined = i + 1 if i + 1 + k <= n else n
        merged, _ = price(falling, sums, a, joined, lowering)
        present, _ = price(falling, sums, a, i, lowering)
        merged -= present
        if joined < n:
            merged += price(falling, sums, joined, joined + k, lowering)[0]
        if merged > price(falling, sums, i, i + k, lowering)[0]:
            a = i
            starts[groups] = a
            groups += 1
            i += k
        else:
            i += 1
    return groups


@kernel
def level(
    falling: Ints, sums: Ints, first: Ints, end: Ints, starts: Ints, groups: int, lowering: bool, even: bool,
    made: Ints,
) -> None:  # fmt: skip
    """Give each group its degree, and if the sum is odd one group its next best; output `made`, shape (n,)."""
    n = len(falling)
    total, least, turned = 0, NEVER, -1
    for group in range(groups):
        a = starts[group]
        b = starts[group + 1] if group + 1 < groups else n
        _, degree = price(falling, sums, a, b, lowering)
        total += (b - a) * degree
        for j in range(a, b):
            made[j] = degree
        if (b - a) % 2:
            more, by = turn(falling, first, end, a, b, lowering, n - 1)
            if by != 0 and more < least:
                least, turned = more, group
    if not even or total % 2 == 0:
        return
    a = starts[turned]
    b = starts[turned + 1] if turned + 1 < groups else n
    _, by = turn(falling, first, end, a, b, lowering, n - 1)
    for j in range(a, b):
        made[j] += by


def anonymous_degrees(
    degrees: Counts,
    k: int,
    *,
    rng: np.random.Generator,
    method: Sequence = "dp",
    lowering: bool = False,
    even: bool = False,
) -> Counts:
    """Make a degree sequence k-anonymous at least cost (``"dp"``) or greedily.

    Parameters
    ----------
    lowering
        Whether degrees may also fall.
    even
        Whether the sum must be even and no degree above n - 1, as in every simple graph. Then degrees that may fall are
        also balanced: among the medians of a group, which cost the same, those are chosen that bring the sum near the
        old one, so that few edges are removed; unless only the lowest medians are realizable.

    Raises
    ------
    AnonymizationError
        If the number of vertices is below k but not 0, or k is below 1, or degrees are not those of any graph.
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
        groups = deal(falling, sums, k, lowering, starts)
        level(falling, sums, first, end, starts, groups, lowering, even, made)
        starts = starts[:groups]
    else:
        best, back = np.empty((2, n + 1, 2), dtype=np.int64)
        fill(falling, sums, first, end, k, lowering, even, best, back)
        groups = trace(falling, sums, first, end, lowering, even, back, starts, made)
        starts = starts[n - groups :]
    if even and lowering:
        made = _balanced(falling, made, starts)
    found = np.empty(n, dtype=np.int64)
    found[order] = made
    return found


def _balanced(falling: Counts, made: Counts, starts: Counts) -> Counts:
    """Raise even groups within their medians, lowest first, until the sum is about that of the old degrees."""
    # `falling` and `made`, shape (n,): old and new degrees, each even group at the lowest of its medians.
    # `starts`, shape (groups,): first index of each group in ascending order.
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
        raised[least] += size[least] <= 2 * missing  # only if the sum gets no further from the old one
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
