"""A graph on its way to given degrees, and what can be done to it.

The loops are in pair_kernels (its state), row_kernels (alternating rows) and switch_kernels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.k_degree import pair_kernels, row_kernels, switch_kernels
from kgreason.anonymizers.k_degree.construct import Degrees, Edges, joined, ordered
from kgreason.anonymizers.k_degree.pair_kernels import ADDED, FREE, KEPT, LOST

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
        originals = ordered(rng.permutation(place[edges]), self.n)
        begun = originals if begin is None else ordered(place[begin], self.n)
        keys, kept = (pairs[:, 0] * self.n + pairs[:, 1] for pairs in (originals, begun))
        pairs = np.concatenate([originals, begun[~np.isin(kept, keys)]])
        kinds = np.full(len(pairs), ADDED, dtype=np.int64)
        kinds[: len(originals)] = np.where(np.isin(keys, kept), KEPT, LOST)
        mixed = rng.permutation(len(pairs))
        self._enter(pairs[mixed], kinds[mixed], int(degrees.sum()) // 2)
        self.lack = degrees[self.vertices] - np.bincount(begun.ravel(), minlength=self.n)

    def _enter(self, pairs: Edges, kinds: Ints, more: int) -> None:
        """Make the arrays of pair_kernels, with room for some pairs more."""
        room = len(pairs) + more + 4
        self.ends = np.zeros((room, 2), dtype=np.int64)
        self.ends[: len(pairs)] = pairs
        self.kind = np.full(room, FREE, dtype=np.int64)
        self.kind[: len(pairs)] = kinds
        self._first = np.full((self.n, 3), -1, dtype=np.int64)
        self._chain = np.empty((2 * room, 2), dtype=np.int64)
        self._table = np.full(1 << (room + room // 4).bit_length(), -1, dtype=np.int64)
        self._free = np.concatenate([np.arange(room - 1, -1, -1), [room - len(pairs)]])
        pair_kernels.enter(self.ends, self.kind, self._first, self._chain, self._table, len(pairs))

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
        pair_kernels.drop(*self._arrays)

    def join(self, turns: Ints) -> None:
        """Join those who lack edges; `turns` are all of them, in the order in which they choose others."""
        there = (self.kind == KEPT) | (self.kind == ADDED)
        made, _ = joined(self.ends[there], self.lack, turns, self.rng)
        pair_kernels.put_all(*self._arrays, made)

    def mend(self, cost: int) -> None:
        """Carry out alternating rows, each of which removes no more than `cost` original edges on balance."""
        self._mend(np.flatnonzero(self.lack), top=cost, most=cost, fresh=True)

    def _mend(self, turns: Ints, top: int, most: int, fresh: bool) -> None:
        if len(turns):
            row_kernels.mend_all(
                *self._arrays, *self._scratch(top), self.rng.permutation(turns), top, most, fresh
            )

    def _scratch(self, top: int) -> tuple[Ints, Ints, Ints, Edges, Ints, Ints, Ints]:
        """What `row_kernels.search` needs besides, for some levels of cost."""
        states = 2 * self.n * (top + 1)
        return (
            np.empty(states, dtype=np.int64),
            np.zeros(states, dtype=np.int64),
            np.empty(states, dtype=np.int64),
            np.empty((top + 1, self.n + 1), dtype=np.int64),
            np.empty(self.n, dtype=np.int64),
            np.empty(_LONGEST, dtype=np.int64),
            np.zeros(2, dtype=np.int64),
        )

    def switch(self) -> None:
        """Bring original edges back by switches of two edges, as long as that can be."""
        while switch_kernels.gain_all(*self._arrays, self._lost()):
            pass

    def restore(self, steps: int) -> None:
        """Bring original edges back by alternating rows, in about so many steps at most."""
        size = self._scratch(1)
        while row_kernels.restore(*self._arrays, *size, self._lost(), 1, steps):
            size[1][:] = 0

    def _lost(self) -> Ints:
        return self.rng.permutation(np.flatnonzero(self.kind == LOST))

    def mix(self) -> None:
        """Switch added edges at random, so that nothing is left of the order in which they came."""
        added = np.flatnonzero(self.kind == ADDED)
        if len(added) > 1:
            one, other = self.rng.choice(added, (2, _ROUNDS * len(added)))
            switch_kernels.mix(*self._arrays, one, other, self.rng.random(len(one)) < 0.5)
