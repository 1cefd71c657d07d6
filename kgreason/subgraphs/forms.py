"""Canonical forms: which small matrices are alike up to the order of their vertices."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from kgreason.subgraphs.adjacency import Ints
from kgreason.subgraphs.patterns import canonical


class Forms:
    """Classes of x by x matrices up to permutation of the vertices, numbered as they are met.

    Attributes
    ----------
    x
        Number of vertices.
    cells
        The canonical matrix of each class, shape (C, x, x).
    """

    def __init__(self, x: int) -> None:
        self.x = x
        self._numbers: dict[bytes, int] = {}
        self._cells: list[Ints] = []

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def cells(self) -> Ints:
        """The canonical matrix of each class, shape (C, x, x)."""
        return np.concatenate([np.zeros((0, self.x, self.x), dtype=np.int64), *self._cells])

    def number(self, cells: Ints) -> tuple[Ints, Ints]:
        """Class of each matrix, and the order of its vertices that makes it the canonical one.

        Parameters
        ----------
        cells
            int64 >= 0, shape (D, x, x).

        Examples
        --------
        >>> forms = Forms(2)
        >>> [a.tolist() for a in forms.number(np.array([[[0, 1], [0, 0]], [[0, 0], [1, 0]]]))]
        [[0, 0], [[1, 0], [0, 1]]]
        """
        _, orders = canonical(cells)
        at = np.arange(len(cells))[:, None, None]
        formed = np.ascontiguousarray(cells[at, orders[:, :, None], orders[:, None, :]])
        classes = np.empty(len(cells), dtype=np.int64)
        for i, form in enumerate(formed):
            key = form.tobytes()
            known = self._numbers.get(key)
            if known is None:
                known = self._numbers[key] = len(self._numbers)
                self._cells.append(form[None])
            classes[i] = known
        return classes, orders

    def turns(self) -> tuple[Ints, Ints]:
        """Automorphisms of each class: those of class c are ``turns[first[c]:first[c + 1]]``, the identity first."""
        cells = self.cells
        orders = np.array(list(permutations(range(self.x))), dtype=np.int64).reshape(-1, self.x)
        same = np.stack([(cells[:, o][:, :, o] == cells).all(axis=(1, 2)) for o in orders], axis=1)
        which, turn = np.nonzero(same)
        first = np.searchsorted(which, np.arange(len(cells) + 1))
        return first.astype(np.int64), orders[turn]
