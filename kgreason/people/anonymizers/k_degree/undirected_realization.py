"""Simple undirected graphs with given degrees that keep all edges of a graph, or most of them.

Let s be the total excess of all degrees, and r the size of the largest set of edges in which no vertex has more edges
than its excess, so that each of them corrects both its ends. Then every graph with these degrees misses at least s - r
original edges. Step 1 looks for such a set; the other steps cost more edges only if it gets stuck.

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
Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, section 6.1 (Supergraph).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.people.anonymizers.k_degree import alternating_rows
from kgreason.people.anonymizers.k_degree.alternating_rows import ADDED, FREE, KEPT, LOST, Graph, Search
from kgreason.people.anonymizers.k_degree.degree_construction import (
    Degrees,
    Edges,
    construct,
    ensure_realizable,
    joined,
    ordered,
)

_ROUNDS = 8  # mean number of switches of each added edge
_LONGEST = 256  # most vertices of an alternating row
Ints = npt.NDArray[np.int64]


class Workpiece:
    """A graph under modification; vertices and edges are in random order, so ties are broken at random.

    Parameters
    ----------
    edges
        The original edges, the reference for costs.
    degrees
        Wanted degree of each vertex, int64, shape (n,).
    begin
        The initial edges; the original ones if `None`.
    """

    def __init__(
        self, edges: Edges, degrees: Degrees, rng: np.random.Generator, begin: Edges | None = None
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
        """Add missing edges; `turns` are the vertices that miss some, in the order in which they choose others."""
        made, _ = joined(self._there, self.graph.lack, turns, self.rng)
        alternating_rows.put_all(self.graph, made)

    def mend(self, cost: int, ahead: int = 0) -> None:
        """Apply alternating rows, each with a net cost of at most `cost` original edges.

        Along the row the cost may be `ahead` higher.
        """
        self._mend(np.flatnonzero(self.graph.lack), top=cost + ahead, most=cost, fresh=True)

    def _mend(self, turns: Ints, top: int, most: int, fresh: bool) -> None:
        if len(turns):
            shuffled = self.rng.permutation(turns)
            alternating_rows.mend_all(self.graph, self._scratch(top), shuffled, 1, top, most, fresh)

    def _scratch(self, top: int) -> Search:
        """Scratch memory for costs of 0 .. top."""
        states = 2 * self.n * (top + 1)
        return Search(
            before=np.empty(states, dtype=np.int64),
            seen=np.zeros(states, dtype=np.int64),
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
                    scratch.seen[scratch.queue[: scratch.size[0]]] = 0

    def mix(self) -> None:
        """Switch added edges at random, to remove traces of the order of construction."""
        added = np.flatnonzero(self.graph.kind == ADDED)
        if len(added) > 1:
            one, other = self.rng.choice(added, (2, _ROUNDS * len(added)))
            alternating_rows.mix(self.graph, one, other, self.rng.random(len(one)) < 0.5)


_ATTEMPTS = 3  # the search for rows fails by chance about once in a few thousand cases
_NEAR = 8  # missing edge ends up to which the failure may be by chance


def supergraph(edges: Edges, degrees: Degrees, rng: np.random.Generator) -> tuple[Edges | None, int]:
    """Add edges until every vertex has its degree.

    Vertices in random order are joined with those that miss most edges and are not adjacent. If that gets stuck, added
    edges are exchanged along alternating rows: x-y is replaced by u-x and y-v, and so on.

    Parameters
    ----------
    edges
        The original edges, all of which are kept; int64, shape (m, 2).
    degrees
        Wanted degree of each vertex, int64, shape (n,).
    rng
        Random order of vertices, and random choice among equal ones.

    Returns
    -------
    Edges or None
        `None` if none was found: except in rare cases, none exists.
    int
        Number of edge ends still missing then; 0 if a graph was found, or degrees are below the present ones, or their
        sum is odd.

    Examples
    --------
    >>> supergraph(np.array([[0, 1], [1, 2], [2, 3]]), np.array([2, 2, 2, 2]), np.random.default_rng(0))[0].tolist()
    [[0, 1], [0, 3], [1, 2], [2, 3]]
    >>> supergraph(np.array([[0, 1], [1, 2]]), np.array([3, 2, 3]), np.random.default_rng(0))
    (None, 2)
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


def relaxed(edges: Edges, degrees: Degrees, rng: np.random.Generator) -> Edges:
    """Find a simple graph with given degrees that keeps as many of the original edges as possible, or nearly so.

    Parameters
    ----------
    edges
        The original edges, int64, shape (m, 2).
    degrees
        Wanted degree of each vertex, int64, shape (n,).
    rng
        Random choice of the edges to remove and add, among equal ones.

    Raises
    ------
    NotRealizable
        If no simple graph has these degrees (and never otherwise).

    References
    ----------
    Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, section 6.3, solve the same problem by a
    graph from the degrees alone and switches of two edges.

    Examples
    --------
    >>> path = np.array([[0, 1], [1, 2], [2, 3]])
    >>> relaxed(path, np.array([2, 1, 1, 2]), np.random.default_rng(0)).tolist()
    [[0, 1], [0, 3], [2, 3]]
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


__all__ = ["Degrees", "Edges", "construct", "relaxed", "supergraph"]
