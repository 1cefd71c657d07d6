"""A graph on its way to given degrees, and what can be done to it.

The compiled loops are in `alternating_rows`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.k_degree import alternating_rows
from kgreason.anonymizers.k_degree.alternating_rows import ADDED, FREE, KEPT, LOST, Graph, Search
from kgreason.anonymizers.k_degree.construct import Degrees, Edges, joined, ordered

_ROUNDS = 8  # switches that each added edge takes part in, on average
_LONGEST = 256  # vertices of an alternating row
Ints = npt.NDArray[np.int64]


class Workpiece:
    """A graph that is changed; vertices and edges are in random order, so ties are decided by chance.

    Parameters
    ----------
    edges
        The original edges, with which all others are compared.
    degrees
        Degree that each vertex shall have, int64, shape (n,).
    begin
        The edges to begin with; the original ones if `None`.
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
        """The graph as it is, in the numbers of its caller."""
        return ordered(self.vertices[self._there], self.n)

    @property
    def finished(self) -> bool:
        """Whether all vertices have the degrees that they shall have."""
        return not self.graph.lack.any()

    def drop(self) -> None:
        """Remove edges of those who have too many: at first between two of them, as many as can be."""
        self._mend(np.flatnonzero(self.graph.lack < 0), top=1, most=1, fresh=False)
        alternating_rows.drop(self.graph)

    def join(self, turns: Ints) -> None:
        """Join those who lack edges; `turns` are all of them, in the order in which they choose others."""
        made, _ = joined(self._there, self.graph.lack, turns, self.rng)
        alternating_rows.put_all(self.graph, made)

    def mend(self, cost: int, ahead: int = 0) -> None:
        """Carry out alternating rows, each of which removes no more than `cost` original edges on balance.

        `ahead` is how many more it may have removed on its way.
        """
        self._mend(np.flatnonzero(self.graph.lack), top=cost + ahead, most=cost, fresh=True)

    def _mend(self, turns: Ints, top: int, most: int, fresh: bool) -> None:
        if len(turns):
            shuffled = self.rng.permutation(turns)
            alternating_rows.mend_all(self.graph, self._scratch(top), shuffled, 1, top, most, fresh)

    def _scratch(self, top: int) -> Search:
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
        """Bring original edges back wherever a row from one end to the other costs nothing, in about so many steps."""
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
        """Switch added edges at random, so that nothing is left of the order in which they came."""
        added = np.flatnonzero(self.graph.kind == ADDED)
        if len(added) > 1:
            one, other = self.rng.choice(added, (2, _ROUNDS * len(added)))
            alternating_rows.mix(self.graph, one, other, self.rng.random(len(one)) < 0.5)
