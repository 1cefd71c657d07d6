"""A graph on its way to given degrees, and what can be done to it.

The compiled loops are in `alternating_rows`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.k_degree import alternating_rows
from kgreason.anonymizers.k_degree.alternating_rows import ADDED, FREE, KEPT, LOST
from kgreason.anonymizers.k_degree.construct import Degrees, Edges, joined, ordered

_ROUNDS = 8  # switches that each added edge takes part in, on average
_LOOKS = 10_000  # looks at an edge or a vertex, for one more edge
_LONGEST = 256  # vertices of an alternating row
Ints = npt.NDArray[np.int64]


class Scratch(NamedTuple):
    """What `alternating_rows.search` needs besides the graph; shapes are told there."""

    before: Ints
    seen: Ints
    queue: Ints
    left: Edges
    taken: Ints
    path: Ints
    size: Ints


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
        self._enter(pairs[mixed], kinds[mixed], int(degrees.sum()) // 2)
        there = pairs[kinds != LOST]
        self.lack = degrees[self.vertices] - np.bincount(there.ravel(), minlength=self.n)

    def _enter(self, pairs: Edges, kinds: Ints, more: int) -> None:
        """Make the arrays of alternating_rows, with room for some pairs more."""
        room = len(pairs) + more + 4
        self.ends = np.zeros((room, 2), dtype=np.int64)
        self.ends[: len(pairs)] = pairs
        self.kind = np.full(room, FREE, dtype=np.int64)
        self.kind[: len(pairs)] = kinds
        self._first = np.full((self.n, 3), -1, dtype=np.int64)
        self._chain = np.empty((2 * room, 2), dtype=np.int64)
        self._table = np.full(1 << (room + room // 4).bit_length(), -1, dtype=np.int64)
        self._free = np.concatenate([np.arange(room - 1, -1, -1), [room - len(pairs)]])
        alternating_rows.enter(self.ends, self.kind, self._first, self._chain, self._table, len(pairs))

    @property
    def _arrays(self) -> tuple[Edges, Ints, Edges, Edges, Ints, Ints, Ints]:
        return self.ends, self.kind, self._first, self._chain, self._table, self._free, self.lack

    @property
    def edges(self) -> Edges:
        """The graph as it is, in the numbers of its caller."""
        there = (self.kind == KEPT) | (self.kind == ADDED)
        return ordered(self.vertices[self.ends[there]], self.n)

    @property
    def finished(self) -> bool:
        """Whether all vertices have the degrees that they shall have."""
        return not self.lack.any()

    def drop(self) -> None:
        """Remove edges of those who have too many: at first between two of them, as many as can be."""
        self._mend(np.flatnonzero(self.lack < 0), top=1, most=1, fresh=False)
        alternating_rows.drop(*self._arrays)

    def join(self, turns: Ints) -> None:
        """Join those who lack edges; `turns` are all of them, in the order in which they choose others."""
        there = (self.kind == KEPT) | (self.kind == ADDED)
        made, _ = joined(self.ends[there], self.lack, turns, self.rng)
        alternating_rows.put_all(*self._arrays, made)

    def mend(self, cost: int, ahead: int = 0) -> None:
        """Carry out alternating rows, each of which removes no more than `cost` original edges on balance.

        `ahead` is how many more it may have removed on its way.
        """
        self._mend(np.flatnonzero(self.lack), top=cost + ahead, most=cost, fresh=True)

    def spread(self) -> None:
        """Carry out the shortest rows that cost one original edge, all over the graph."""
        turns = self.rng.permutation(np.flatnonzero(self.lack > 0))
        kept = self.rng.permutation(np.flatnonzero(self.kind == KEPT))
        if len(turns) and len(kept):
            halves = 2 * kept + self.rng.integers(2, size=len(kept))
            alternating_rows.spread(*self._arrays, turns, halves, _LOOKS)

    def _mend(self, turns: Ints, top: int, most: int, fresh: bool) -> None:
        if len(turns):
            alternating_rows.mend_all(
                *self._arrays, *self._scratch(top), self.rng.permutation(turns), 1, top, most, fresh
            )

    def _scratch(self, top: int) -> Scratch:
        """Scratch for costs of 0 .. top."""
        states = 2 * self.n * (top + 1)
        return Scratch(
            before=np.empty(states, dtype=np.int64),
            seen=np.zeros(states, dtype=np.int64),
            queue=np.empty(states, dtype=np.int64),
            left=np.empty((top + 1, self.n + 1), dtype=np.int64),
            taken=np.empty(self.n, dtype=np.int64),
            path=np.empty(_LONGEST, dtype=np.int64),
            size=np.zeros(2, dtype=np.int64),
        )

    def switch(self) -> None:
        """Bring original edges back by switches of two edges, as long as that can be."""
        while alternating_rows.gain_all(*self._arrays, self._lost()):
            pass

    def restore(self, steps: int) -> None:
        """Bring original edges back wherever a row from one end to the other costs nothing, in about so many steps."""
        scratch = self._scratch(top=1)
        stamp, gained = 0, True
        while gained:
            gained = False
            for pair in self._lost().tolist():
                if scratch.size[1] > steps:
                    return
                if self.kind[pair] != LOST:
                    continue
                stamp += 1
                ends = self.ends[pair : pair + 1]
                alternating_rows.put_all(*self._arrays, ends)
                alternating_rows.mend_all(*self._arrays, *scratch, ends[0, :1], stamp, 1, 0, True)
                if self.lack[ends[0, 0]] == 0:
                    gained = True
                else:
                    alternating_rows.take(*self._arrays, pair)
                    scratch.seen[scratch.queue[: scratch.size[0]]] = 0

    def _lost(self) -> Ints:
        return self.rng.permutation(np.flatnonzero(self.kind == LOST))

    def mix(self) -> None:
        """Switch added edges at random, so that nothing is left of the order in which they came."""
        added = np.flatnonzero(self.kind == ADDED)
        if len(added) > 1:
            one, other = self.rng.choice(added, (2, _ROUNDS * len(added)))
            alternating_rows.mix(*self._arrays, one, other, self.rng.random(len(one)) < 0.5)
