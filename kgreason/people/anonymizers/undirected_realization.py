"""Simple undirected graphs with given degrees: from the degrees alone, or with all or most edges of a graph.

`construct` joins each vertex with those that miss most edges. `order` holds the vertices by missing edges, most first;
`place` is its inverse; ``head[r]`` is the number of vertices that miss more than r. A vertex that gets an edge is
swapped with the last one of equal deficit, and the boundary moves over it: no sorting is needed. Any choice of the next
vertex finds a graph if there is one (Hakimi).

`relaxed` keeps edges. Let s be the total excess of all degrees, and r the size of the largest set of edges in which no
vertex has more edges than its excess, so that each of them corrects both its ends. Then every graph with these degrees
misses at least s - r original edges. Step 1 looks for such a set; the other steps cost more edges only if it gets
stuck.

1. Edges between vertices with an excess are removed, along alternating rows; then other edges of vertices that still
   have one.
2. Missing edges are added between vertices that are not adjacent, those with most missing edges first.
3. If that gets stuck, edges x-y are replaced by u-x and y-v, or along longer alternating rows: added edges if possible,
   else original ones, as few as possible.
4. Original edges are restored wherever a row without cost allows it.

If the rows of step 3 do not reach the degrees although graphs with them exist, one is constructed from the degrees
alone, and step 4 restores as many original edges as it can.

References
----------
Erdős and Gallai, "Graphs with prescribed degrees of vertices", 1960.
Hakimi, SIAM J. Appl. Math. 10, 1962.
KDEGREE, "Construct Graph Algorithm", where the answer is "No", and Algorithm 1 (ConstructGraph).
Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, section 6; 6.1 (Supergraph); 6.3 solves the
problem of `relaxed` by a graph from the degrees alone and switches of two edges.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import NotRealizable
from kgreason.base.jit import Ints, Rows, inlined, kernel
from kgreason.base.records import record
from kgreason.people.anonymizers import alternating_rows
from kgreason.people.anonymizers.alternating_rows import ADDED, FREE, KEPT, LOST, Graph, Search
from kgreason.people.model import Counts

# edges of an undirected simple graph: rows u < v in ascending order, none twice; shape (m, 2)
Edges = npt.NDArray[np.int64]


@inlined
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

    Row v of the existing adjacency is ``near[start[v] : start[v + 1]]``. `lack` holds the missing edges of each vertex,
    zero throughout at the end. `order`, `place` (-1: not to be chosen) and `head`, shapes (l,), (n,), (most + 1,), are
    those of the module docstring, for the vertices that may be chosen. `taken` (-1 throughout) and `chosen` are
    scratch, shape (n,). The output is `stuck`, the edges that each vertex still misses, and `made`, the new pairs in no
    order, whose number is returned.
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


@record
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

    `None` if there is such a graph; else the first of: an impossible degree, an odd sum, the smallest number of largest
    degrees that demand too much.

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


def construct(degrees: Counts, rng: np.random.Generator) -> Edges:
    """Construct a simple graph with given degrees, in time linear in its edges except for one sort.

    Raises
    ------
    NotRealizable
        If no simple graph has these degrees (and never otherwise).

    References
    ----------
    KDEGREE, Algorithm 1.
    """
    ensure_realizable(degrees)
    turns = rng.permutation(np.flatnonzero(degrees))
    made, _ = joined(np.empty((0, 2), dtype=np.int64), degrees, turns, rng)
    return ordered(made, len(degrees))


def ensure_realizable(degrees: Counts) -> None:
    """Raise `NotRealizable` unless a simple graph has these degrees."""
    found = obstacle(degrees)
    if found:
        raise NotRealizable(
            f"no simple graph has these degrees: {found}", "give some vertices another degree"
        )


def joined(
    edges: Edges, lack: Counts, turns: Counts, rng: np.random.Generator, others: Counts | None = None
) -> tuple[Edges, npt.NDArray[np.int64]]:
    """Join vertices that miss edges with each other, unless they are adjacent in `edges`.

    The vertices `turns` choose in this order, of `others` or, if `None`, of themselves; `lack` holds the missing edges
    of each vertex. Returns the new edges in no order, the choosing vertex first, and the edges that each vertex still
    misses.
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


_ROUNDS = 8  # mean number of switches of each added edge
_LONGEST = 256  # most vertices of an alternating row


class Workpiece:
    """A graph under modification; vertices and edges are in random order, so ties are broken at random.

    Costs refer to the original `edges`; the initial ones are `begin`, if given.
    """

    def __init__(
        self, edges: Edges, degrees: Counts, rng: np.random.Generator, begin: Edges | None = None
    ) -> None:
        self.n, self.rng = len(degrees), rng
        self.vertices = rng.permutation(self.n)
        place = np.empty(self.n, dtype=np.int64)
        place[self.vertices] = np.arange(self.n)
        originals = ordered(place[edges], self.n)
        pairs, kinds = originals, np.full(len(originals), KEPT, dtype=np.int64)
        if begin is not None:
            begun = ordered(place[begin], self.n)
            keys, kept = (some[:, 0] * self.n + some[:, 1] for some in (originals, begun))
            kinds[~np.isin(keys, kept)] = LOST
            new = begun[~np.isin(kept, keys)]
            pairs = np.concatenate([originals, new])
            kinds = np.concatenate([kinds, np.full(len(new), ADDED, dtype=np.int64)])
        mixed = rng.permutation(len(pairs))
        lack = degrees[self.vertices] - np.bincount(pairs[kinds != LOST].ravel(), minlength=self.n)
        pairs, kinds, room = pairs[mixed], kinds[mixed], len(pairs) + int(degrees.sum()) // 2 + 4
        more = room - len(pairs)
        self.graph = Graph(
            ends=np.concatenate([pairs, np.zeros((more, 2), dtype=np.int64)]),
            kind=np.concatenate([kinds, np.full(more, FREE)]),
            first=np.full((self.n, 3), -1, dtype=np.int64),
            chain=np.empty((2 * room, 2), dtype=np.int64),
            table=np.full(1 << (room + room // 4).bit_length(), -1, dtype=np.int64),
            free=np.concatenate([np.arange(room - 1, -1, -1), [more]]),
            lack=lack,
        )
        alternating_rows.enter(self.graph, len(pairs))

    @property
    def _there(self) -> Edges:
        there: Edges = self.graph.ends[(self.graph.kind == KEPT) | (self.graph.kind == ADDED)]
        return there

    @property
    def edges(self) -> Edges:
        """The current edges, in the original vertex numbers."""
        return ordered(self.vertices[self._there], self.n)

    @property
    def finished(self) -> bool:
        """Whether all vertices have their wanted degrees."""
        return not self.graph.lack.any()

    def drop(self) -> None:
        """Remove excess edges: first between vertices that both have an excess, as many as possible."""
        self._mend(np.flatnonzero(self.graph.lack < 0), top=1, most=1, fresh=False)
        alternating_rows.drop(self.graph)

    def join(self, turns: Ints) -> None:
        """Add missing edges; the vertices `turns`, which miss some, choose others in this order."""
        made, _ = joined(self._there, self.graph.lack, turns, self.rng)
        alternating_rows.put_all(self.graph, made)

    def mend(self, cost: int, ahead: int = 0) -> None:
        """Apply alternating rows that cost at most `cost` original edges, and along the row at most `ahead` more."""
        self._mend(np.flatnonzero(self.graph.lack), top=cost + ahead, most=cost, fresh=True)

    def _mend(self, turns: Ints, top: int, most: int, fresh: bool) -> None:
        if len(turns):
            shuffled = self.rng.permutation(turns)
            alternating_rows.mend_all(self.graph, self._scratch(top), shuffled, 1, top, most, fresh)

    def _scratch(self, top: int) -> Search:
        states = 2 * self.n * (top + 1)
        return Search(
            before=np.empty(states, dtype=np.int64),
            visited=np.zeros(states, dtype=np.int64),
            queue=np.empty(states, dtype=np.int64),
            left=np.empty((top + 1, self.n + 1), dtype=np.int64),
            taken=np.empty(self.n, dtype=np.int64),
            path=np.empty(_LONGEST, dtype=np.int64),
            size=np.zeros(2, dtype=np.int64),
        )

    def restore(self, steps: int) -> None:
        """Restore original edges where a row between their ends costs nothing, in about `steps` search steps."""
        graph, scratch = self.graph, self._scratch(top=1)
        stamp, gained = 0, True
        while gained:
            gained = False
            for pair in self.rng.permutation(np.flatnonzero(graph.kind == LOST)).tolist():
                if scratch.size[1] > steps:
                    return
                if graph.kind[pair] != LOST:
                    continue
                stamp += 1
                ends = graph.ends[pair : pair + 1]
                alternating_rows.put_all(graph, ends)
                alternating_rows.mend_all(graph, scratch, ends[0, :1], stamp, 1, 0, True)
                if graph.lack[ends[0, 0]] == 0:
                    gained = True
                else:
                    alternating_rows.take(graph, pair)
                    scratch.visited[scratch.queue[: scratch.size[0]]] = 0

    def mix(self) -> None:
        """Switch added edges at random, to remove traces of the order of construction."""
        added = np.flatnonzero(self.graph.kind == ADDED)
        if len(added) > 1:
            one, other = self.rng.choice(added, (2, _ROUNDS * len(added)))
            alternating_rows.mix(self.graph, one, other, self.rng.random(len(one)) < 0.5)


_ATTEMPTS = 3  # the search for rows fails by chance about once in a few thousand cases
_NEAR = 8  # missing edge ends up to which the failure may be by chance


def supergraph(edges: Edges, degrees: Counts, rng: np.random.Generator) -> tuple[Edges | None, int]:
    """Add edges until every vertex has its degree; all original edges are kept.

    Vertices in random order are joined with those that miss most edges and are not adjacent. If that gets stuck, added
    edges are exchanged along alternating rows: x-y is replaced by u-x and y-v, and so on. `None` if no graph was found:
    except in rare cases, none exists. The number is that of edge ends still missing then; 0 if a graph was found, or
    degrees are below the present ones, or their sum is odd.
    """
    lacking = degrees - np.bincount(edges.ravel(), minlength=len(degrees))
    if (lacking < 0).any() or lacking.sum() % 2:
        return None, 0
    least = int(lacking.sum())
    for _ in range(_ATTEMPTS):
        graph = Workpiece(edges, degrees, rng)
        graph.join(rng.permutation(np.flatnonzero(graph.graph.lack)))
        graph.mend(cost=0)
        if graph.finished:
            graph.mix()
            return graph.edges, 0
        least = min(least, int(graph.graph.lack.sum()))
        if least > _NEAR:
            break
    return None, least


_COSTS = 4  # exclusive bound on the cost of a row, in original edges
_STEPS = 20_000_000  # of the search that restores original edges


def relaxed(edges: Edges, degrees: Counts, rng: np.random.Generator) -> Edges:
    """Find a simple graph with given degrees that keeps as many of the original edges as possible, or nearly so.

    Raises
    ------
    NotRealizable
        If no simple graph has these degrees (and never otherwise).
    """
    ensure_realizable(degrees)
    graph = Workpiece(edges, degrees, rng)
    graph.drop()
    turns = rng.permutation(np.flatnonzero(graph.graph.lack))
    graph.join(turns[np.argsort(-graph.graph.lack[turns], kind="stable")])
    graph.mend(0, ahead=1)
    for cost in range(1, _COSTS):
        graph.mend(cost)
    if not graph.finished:
        graph = Workpiece(edges, degrees, rng, construct(degrees, rng))
    graph.restore(_STEPS)
    graph.mix()
    return graph.edges
