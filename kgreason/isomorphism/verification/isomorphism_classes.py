"""Isomorphism classes of small vertex sets by canonical forms."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt

from kgreason.base.jit import Ints, Rows, kernel


def mixed(values: Ints) -> npt.NDArray[np.uint64]:
    """Hash integers to 64-bit words, injectively."""
    # splitmix64 (Steele, Lea, Flood 2014)
    z = (values.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    words: npt.NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return words


def scrambled(count: int) -> Ints:
    """Fixed pseudorandom permutation of 0 .. count-1."""
    return np.argsort(mixed(np.arange(count)))


@kernel
def _intern(rows: Rows, store: Rows, slots: Ints, used: int, ids: Ints) -> int:
    """Number distinct rows by first occurrence, after those in `store`; `slots` is their hash table."""
    mask = len(slots) - 1
    width = rows.shape[1]
    for i in range(len(rows)):
        h = 0
        for j in range(width):
            h = (h ^ rows[i, j]) * -7046029254386353727
            h ^= h >> 29
        slot = h & mask
        while True:
            known = slots[slot]
            if known < 0:
                for j in range(width):
                    store[used, j] = rows[i, j]
                slots[slot] = used
                ids[i] = used
                used += 1
                break
            same = True
            for j in range(width):
                if store[known, j] != rows[i, j]:
                    same = False
                    break
            if same:
                ids[i] = known
                break
            slot = (slot + 1) & mask
    return used


@kernel
def _least_order(matrices: Rows, permutations: Rows, best: Ints) -> None:
    """Find for each matrix, a row, the permutation of its vertices that gives the smallest matrix."""
    size = permutations.shape[1]
    for i in range(len(matrices)):
        winner = 0
        for p in range(1, len(permutations)):
            verdict = 0
            for a in range(size):
                for b in range(size):
                    new = matrices[i, permutations[p, a] * size + permutations[p, b]]
                    old = matrices[i, permutations[winner, a] * size + permutations[winner, b]]
                    if new != old:
                        verdict = -1 if new < old else 1
                        break
                if verdict != 0:
                    break
            if verdict < 0:
                winner = p
        best[i] = winner


class Interner:
    """Numbering of distinct integer rows by first occurrence."""

    def __init__(self, width: int) -> None:
        self.count = 0
        self._store = np.empty((0, width), dtype=np.int64)
        self._slots = np.full(1, -1, dtype=np.int64)

    @property
    def rows(self) -> Ints:
        """Distinct rows seen so far, by number."""
        return self._store[: self.count]

    def number(self, rows: Ints) -> Ints:
        """Return the number of each row, adding new rows."""
        rows = np.ascontiguousarray(rows)
        if self.count + len(rows) > len(self._store):
            self._grow(2 * (self.count + len(rows)))
        ids = np.empty(len(rows), dtype=np.int64)
        self.count = int(_intern(rows, self._store, self._slots, self.count, ids))
        return ids

    def _grow(self, capacity: int) -> None:
        old = self.rows.copy()
        self._store = np.empty((capacity, old.shape[1]), dtype=np.int64)
        self._slots = np.full(1 << (2 * capacity - 1).bit_length(), -1, dtype=np.int64)
        _intern(old, self._store, self._slots, 0, np.empty(len(old), dtype=np.int64))


@dataclass(frozen=True)
class Form:
    """Canonical form of a class: type of every ordered pair of positions.

    Attributes
    ----------
    types
        int64 (x, x).
    automorphisms
        Permutations of the positions that preserve the types, the identity first; int64 (F, x).
    """

    types: Ints
    automorphisms: Ints

    def connected_ground(self, ground_types: int) -> bool:
        """Whether ground edges, of types below `ground_types`, connect the positions weakly."""
        size = len(self.types)
        ground = self.types % ground_types
        reach = ((ground + ground.T) != 0) | np.eye(size, dtype=bool)
        for _ in range(size):
            reach = reach @ reach
        return bool(reach.all())


class Classes:
    """Classes of x by x matrices up to permutation of the vertices; equal matrices are processed once."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._permutations = np.array(list(permutations(range(size))), dtype=np.int64)
        self._matrices = Interner(size * size)
        self._forms = Interner(size * size)
        self._class = np.empty(0, dtype=np.int64)
        self._order = np.empty(0, dtype=np.int64)
        self._known: dict[int, Form] = {}

    def __len__(self) -> int:
        return self._forms.count

    def classify(self, matrices: Ints) -> tuple[Ints, Ints]:
        """Return the class of each matrix, and the vertex order that gives the canonical form.

        Parameters
        ----------
        matrices
            int64 (N, x * x).

        Returns
        -------
        classes
            int64 (N,).
        orders
            int64 (N, x): position p of the canonical form is vertex ``orders[i, p]`` of the set.
        """
        ids = self._matrices.number(matrices)
        self._learn(self._matrices.rows[len(self._class) :])
        return self._class[ids], self._permutations[self._order[ids]]

    def _learn(self, fresh: Ints) -> None:
        if not len(fresh):
            return
        best = np.empty(len(fresh), dtype=np.int64)
        _least_order(np.ascontiguousarray(fresh), self._permutations, best)
        order = self._permutations[best]
        places = (order[:, :, None] * self.size + order[:, None, :]).reshape(len(fresh), -1)
        forms = np.take_along_axis(fresh, places, axis=1)
        self._class = np.concatenate([self._class, self._forms.number(forms)])
        self._order = np.concatenate([self._order, best])

    def form(self, number: int) -> Form:
        """Canonical form of a class."""
        if number not in self._known:
            types = self._forms.rows[number].reshape(self.size, self.size)
            turned = types[self._permutations[:, :, None], self._permutations[:, None, :]]
            same = (turned == types).all(axis=(1, 2))
            self._known[number] = Form(types, self._permutations[same])
        return self._known[number]
