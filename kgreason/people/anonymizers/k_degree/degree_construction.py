"""Construction of simple undirected graphs from degrees, and the reason if no such graph exists.

`order` holds the vertices by missing edges, most first; `place` is its inverse; ``head[r]`` is the number of vertices
that miss more than r. A vertex that gets an edge is swapped with the last one of equal deficit, and the boundary moves
over it: no sorting is needed.

References
----------
Erdős and Gallai, "Graphs with prescribed degrees of vertices", 1960.
KDEGREE, "Construct Graph Algorithm", where the answer is "No", and Algorithm 1 (ConstructGraph).
Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, section 6.
Hakimi, SIAM J. Appl. Math. 10, 1962: any choice of the next vertex finds a graph if there is one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import NotRealizable
from kgreason.base.jit import Ints, Rows, kernel
from kgreason.people.model import Counts


@kernel
def lower(lack: Ints, order: Ints, place: Ints, head: Ints, v: int) -> None:
    """Decrement the deficit of v."""
    last = head[lack[v] - 1] - 1
    other = order[last]
    order[place[v]], place[other] = other, place[v]
    order[last], place[v] = v, last
    lack[v] -= 1
    head[lack[v]] = last


@kernel
def join_all(
    start: Ints, near: Ints, lack: Ints, turns: Ints, order: Ints, place: Ints, head: Ints, taken: Ints, chosen: Ints,
    stuck: Ints, made: Rows,
) -> int:  # fmt: skip
    """Join each vertex of `turns` with as many others as it misses: those with most missing edges, not yet adjacent.

    A vertex misses nothing after its turn. If it finds too few others it is stuck, as all vertices that miss an edge
    are adjacent to it by then; it gets no further edges.

    Parameters
    ----------
    start, near
        Existing adjacency: row v is `near[start[v] : start[v + 1]]`.
    lack
        Missing edges of each vertex, shape (n,); zero throughout at the end.
    turns
        The vertices with missing edges, in order of processing, shape (l,).
    order, place, head
        See the module docstring, for the vertices that may be chosen; `place` is -1 for others; shapes (l,), (n,),
        (most + 1,).
    taken, chosen
        Scratch, shape (n,); `taken` -1 throughout.
    stuck
        Output: edges that each vertex still misses, shape (n,).
    made
        Output: the new pairs, in no order, shape (at least half of the missing edge ends, 2).

    Returns
    -------
    count
        Number of new pairs.
    """
    count = 0
    for u in turns:
        wanted = lack[u]
        if wanted == 0:
            continue
        if place[u] >= 0:
            for _ in range(wanted):
                lower(lack, order, place, head, u)
        taken[u] = u
        for i in range(start[u], start[u + 1]):
            taken[near[i]] = u
        some = 0
        for i in range(head[0]):
            if some == wanted:
                break
            if taken[order[i]] != u:
                chosen[some] = order[i]
                some += 1
        for i in range(some):  # in a second loop, as the order changes
            v = chosen[i]
            lower(lack, order, place, head, v)
            made[count, 0], made[count, 1] = u, v
            count += 1
        stuck[u] = wanted - some
    return count


_LISTED = 6  # most degrees listed in a message


@dataclass(frozen=True)
class Obstacle:
    """Reason why no graph has given degrees.

    Attributes
    ----------
    reason
        A clause for error messages, to follow a colon.
    short
        Largest number of edge ends that some largest degrees demand beyond those available; 0 for other reasons. At
        least that many other degrees must rise by one, or that much must be taken from these degrees.
    largest
        Number of largest degrees with that demand; `reason` names the first that demand too much.
    """

    reason: str
    short: int = 0
    largest: int = 0

    def __str__(self) -> str:
        return self.reason


def obstacle(degrees: Counts) -> Obstacle | None:
    """Find why no simple undirected graph has these degrees, in O(n log n) (Erdős–Gallai).

    Parameters
    ----------
    degrees
        Degree of each vertex, int64, shape (n,).

    Returns
    -------
    Obstacle or None
        `None` if there is such a graph; else the first of: an impossible degree, an odd sum, the smallest number of
        largest degrees that demand too much.

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
    many = np.maximum(r, np.searchsorted(-falling, -r, side="right"))  # at least r, or among the first r
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
    """Message on the demand of the largest degrees."""
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


Edges = npt.NDArray[np.int64]
"""Edges of an undirected simple graph: rows u < v in ascending order, none twice; int64, shape (m, 2)."""
Degrees = npt.NDArray[np.int64]


def construct(degrees: Degrees, rng: np.random.Generator) -> Edges:
    """Construct a simple graph with given degrees, in time linear in its edges except for one sort.

    Parameters
    ----------
    degrees
        Degree of each vertex, int64, shape (n,).
    rng
        Random order of the vertices, and random choice among equal deficits.

    Returns
    -------
    Edges
        int64, shape (m, 2).

    Raises
    ------
    NotRealizable
        If no simple graph has these degrees (and never otherwise).

    References
    ----------
    KDEGREE, Algorithm 1.

    Examples
    --------
    >>> construct(np.array([1, 2, 1]), np.random.default_rng(0)).tolist()
    [[0, 1], [1, 2]]
    """
    ensure_realizable(degrees)
    turns = rng.permutation(np.flatnonzero(degrees))
    made, _ = joined(np.empty((0, 2), dtype=np.int64), degrees, turns, rng)
    return ordered(made, len(degrees))


def ensure_realizable(degrees: Degrees) -> None:
    """Raise `NotRealizable` unless a simple graph has these degrees."""
    found = obstacle(degrees)
    if found:
        raise NotRealizable(
            f"no simple graph has these degrees: {found}", "give some vertices another degree"
        )


def joined(
    edges: Edges, lack: Degrees, turns: Degrees, rng: np.random.Generator, others: Degrees | None = None
) -> tuple[Edges, npt.NDArray[np.int64]]:
    """Join vertices that miss edges with each other, unless they are adjacent in `edges`.

    Parameters
    ----------
    lack
        Missing edges of each vertex, int64, shape (n,).
    turns
        The vertices with missing edges, in the order in which they choose others.
    others
        The vertices that may be chosen; `None`: those of `turns`.

    Returns
    -------
    Edges
        The new edges, in no order; the choosing vertex comes first.
    NDArray[np.int64]
        Edges that each vertex still misses, shape (n,).
    """
    n = len(lack)
    start, near = neighbours(edges, n)
    order = rng.permutation(turns if others is None else others)
    order = order[np.argsort(-lack[order], kind="stable")]
    place = np.full(n, -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    head = np.searchsorted(-lack[order], -np.arange(int(lack.max(initial=0)) + 1), side="left").astype(
        np.int64
    )
    stuck = np.zeros(n, dtype=np.int64)
    made = np.empty((int(lack.sum()) // 2, 2), dtype=np.int64)
    count = join_all(
        start, near, lack.copy(), turns, order, place, head,
        np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64), stuck, made,
    )  # fmt: skip
    return made[:count], stuck


def neighbours(edges: Edges, n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Adjacency lists: start of each row, shape (n + 1,), and the neighbours, shape (2m,)."""
    end, other = np.concatenate([edges, edges[:, ::-1]]).T
    start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(end, minlength=n))])
    return start, other[np.argsort(end, kind="stable")]


def ordered(pairs: Edges, n: int) -> Edges:
    """The same edges with the smaller end first, in ascending order."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    keys = np.sort(low * n + high)
    return np.stack(np.divmod(keys, max(n, 1)), axis=1)
