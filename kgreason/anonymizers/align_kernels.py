"""Compiled search for places in blocks at which many edges are in common."""

from __future__ import annotations

from math import exp

from kgreason.jit import Doubles, Ints, kernel

ELSEWHERE = 8  # of so many attempts without an example one goes to a random row


@kernel
def _count(begin: Ints, key: Ints, count: Ints, v: int, wanted: int) -> int:
    """Number of arcs of a vertex with a key."""
    low, high = begin[v], begin[v + 1]
    while low < high:
        middle = (low + high) // 2
        if key[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    if low < begin[v + 1] and key[low] == wanted:
        found: int = count[low]
        return found
    return 0


@kernel
def _common(begin: Ints, key: Ints, count: Ints, place: Ints, at: Ints, k: int, v: int, skip: int) -> int:
    """Edges at a vertex that its block has in common with others, but for what another vertex has part in."""
    n = len(place)
    block, row, total = place[v] % k, place[v] // k, 0
    for arc in range(begin[v], begin[v + 1]):
        w, kind = key[arc] % n, key[arc] // n
        if w == skip or place[w] % k != block:
            continue
        other_row = place[w] // k
        for b in range(k):
            u, x = at[row * k + b], at[other_row * k + b]
            if b != block and u != skip and x != skip:
                total += min(count[arc], _count(begin, key, count, u, kind * n + x))
    return total


@kernel
def _both(begin: Ints, key: Ints, count: Ints, place: Ints, at: Ints, k: int, u: int, v: int) -> int:
    """Edges in common that one of two vertices has part in."""
    found: int = _common(begin, key, count, place, at, k, u, -1)
    found += _common(begin, key, count, place, at, k, v, u)
    return found


@kernel
def _owner(begin: Ints, arc: int) -> int:
    """Vertex that an arc belongs to."""
    low, high = 0, len(begin) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if begin[middle] <= arc:
            low = middle
        else:
            high = middle
    return low


@kernel
def _exchange(place: Ints, at: Ints, u: int, v: int) -> None:
    a, b = place[u], place[v]
    place[u], place[v] = b, a
    at[a], at[b] = v, u


@kernel
def align(
    begin: Ints, key: Ints, count: Ints, place: Ints, at: Ints, k: int, heat: float, dice: Doubles, work: int
) -> int:
    """Exchange the places of vertices, again and again, where this brings edges in common.

    A vertex z goes to where it has with a neighbour w the edge that another block has there: into the block of w, and
    into the row of a neighbour of whoever stands in the row of w there. Where that has none, a random row is tried
    sometimes.

    Parameters
    ----------
    begin, key, count
        Arcs of each vertex v, from ``begin[v]`` on: ``kind * n + w``, ascending, and how many edges that are. The
        kind is twice the relation for edges from v to w, one more for those from w to v.
    place, at
        Place of each vertex, ``row * k + block``, and the vertex at each place; they are changed.
    heat
        Temperature: the mean loss that is accepted now and then.
    dice
        Five random numbers in [0, 1) for each attempt.
    work
        Arcs of exchanged vertices after which no more is tried.

    Returns
    -------
    int
        What was gained: edges in common, of all pairs of blocks.
    """
    n, gained = len(place), 0
    for roll in range(0, len(dice) - 4, 5):
        if work < 0:
            break
        arc = int(dice[roll] * len(key))
        z, w, back = _owner(begin, arc), key[arc] % n, (key[arc] // n) ^ 1
        block = place[w] % k
        other = (block + 1 + int(dice[roll + 1] * (k - 1))) % k
        u = at[place[w] // k * k + other]
        row, degree = -1, begin[u + 1] - begin[u]
        if degree > 0:
            example = key[begin[u] + int(dice[roll + 2] * degree)]
            v = example % n
            if example // n == back and place[v] % k == other:
                row = place[v] // k
        if row < 0:
            row = int(dice[roll + 4] * ELSEWHERE * (n // k))
            if row >= n // k:
                continue
        y = at[row * k + block]
        if y == z:
            continue
        work -= begin[z + 1] - begin[z] + begin[y + 1] - begin[y]
        before = _both(begin, key, count, place, at, k, z, y)
        _exchange(place, at, z, y)
        gain = _both(begin, key, count, place, at, k, z, y) - before
        if gain >= 0 or (heat > 0 and dice[roll + 3] < exp(gain / heat)):
            gained += gain
        else:
            _exchange(place, at, z, y)
    return gained
