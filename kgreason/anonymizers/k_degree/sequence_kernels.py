"""The loops of sequence.py: where falling degrees are cut into groups of at least k, and the degree of each group.

`falling` holds degrees from the largest to the smallest, shape (n,); `sums[i]` is the sum of the first i, shape
(n + 1,). Equal degrees stand at ``first[i] .. end[i] - 1`` for each of their places i. A group is the range a .. b - 1.
"""

from __future__ import annotations

from kgreason.jit import Ints, Rows, kernel

NEVER = 1 << 62  # a cost beyond all others


@kernel
def price(falling: Ints, sums: Ints, a: int, b: int, lowering: bool) -> tuple[int, int]:
    """Find what a group costs, and its cheapest degree: the largest, or a median if degrees may fall."""
    middle = a + (b - a) // 2 if lowering else a
    degree = falling[middle]
    above = sums[middle] - sums[a] - degree * (middle - a)
    return above + degree * (b - middle) - (sums[b] - sums[middle]), degree


@kernel
def turn(falling: Ints, first: Ints, end: Ints, a: int, b: int, lowering: bool, most: int) -> tuple[int, int]:
    """Find the cheapest other degree next to the one of `price` for an odd group.

    Returns
    -------
    more, by
        What it costs beyond `price`, and +1 or -1, or 0 where degrees lie between 0 and `most` and there is no such.
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
    """Find what the first i degrees cost at least, for all i: equations (2) and (3), in O(nk).

    A group of 2k degrees or more costs no less than two groups of at least k: they may keep its degree, and find a
    cheaper one each. So only groups of k .. 2k - 1 are tried. This holds with parity, too: where both keep the degree,
    the sum stays the same, so the cheapest degrees with the parities that they then have cost no more.

    Of two ways that cost the same, the one whose last group is larger is taken: more vertices get a low degree and
    fewer a high one, which more often leaves a sequence that some graph has.

    Parameters
    ----------
    even
        Whether to tell even sums from odd ones.
    best
        Takes the costs, shape (n + 1, 2): where the sum of the new degrees is even, and where it is odd. Without
        `even` the first column holds the cost of any sum.
    back
        Takes how `best` comes about, shape (n + 1, 2): twice the size of the last group, plus the column of the
        degrees before it.
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
    """Go back through what `fill` found.

    Parameters
    ----------
    starts
        Takes the first place of each group, at its end, shape (n,).
    made
        Takes the new degrees, shape (n,).

    Returns
    -------
    groups
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
    """Cut greedily: a degree joins the group before it unless a new group is cheaper.

    Where fewer than k degrees would follow the joining one, they could not make a group and have to join as well;
    where fewer than k are left, they join without a choice.

    Parameters
    ----------
    starts
        Takes the first place of each group, shape (n,).

    Returns
    -------
    groups
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
    """Give each group its degree, and one group the next best where the sum is odd; `made` takes them, shape (n,)."""
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
