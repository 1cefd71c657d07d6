"""Images that a certificate names, in place of those that a search finds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kgreason.assess.certificate import Donors
from kgreason.assess.pools import Pools
from kgreason.assess.space import Catalogue

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Proof:
    """The donors of one size, each looked at; those that are not what they should be are left out.

    Attributes
    ----------
    complaints
        What is wrong with them.
    """

    def __init__(self, catalogue: Catalogue, pools: Pools, donors: Sequence[Donors]) -> None:
        self._catalogue, self._space, self._need = catalogue, catalogue.space, pools.need
        self.complaints: list[str] = []
        self.found: list[tuple[Ints, Ints]] = []
        for part in donors:
            self._fill(pools, part.blocks)
            self._keep(part)

    def decide(self, rows: Ints, _classes: Ints) -> Ints:
        """Tell which attacked subgraphs, in any order of their vertices, are named: 1, or -1 for the others."""
        named = np.concatenate([rows[:0], *(targets for targets, _ in self.found)])
        both = np.sort(np.concatenate([named, rows]), axis=1)
        _, number = np.unique(both, axis=0, return_inverse=True)
        mine, asked = np.split(number.reshape(-1), [len(named)])
        return np.where(np.isin(asked, mine), 1, -1).astype(np.int64)

    def members(self, _number: int) -> None:
        """Nothing is listed."""

    def _fill(self, pools: Pools, blocks: Sequence[Ints]) -> None:
        if not blocks:
            return
        rows = np.concatenate(blocks)
        of = np.repeat(np.arange(len(blocks)), [len(b) for b in blocks])
        sound = self._known(rows)
        self._complain(rows, ~sound, "is no set of vertices of the release")
        rows = np.where(sound[:, None], rows, np.arange(rows.shape[1]))
        classes, canonical = self._catalogue.classify(rows)
        # as the first member of its block is turned into canonical order, so are the others
        first = np.searchsorted(of, of)
        turn = (canonical[first][:, :, None] == rows[first][:, None, :]).argmax(axis=2)
        rows = np.take_along_axis(rows, turn, axis=1)
        number = classes[first]
        alike = self._types(rows) == np.stack(
            [self._catalogue.full.form(int(c)).types.reshape(-1) for c in number]
        )
        same = alike.all(axis=1)
        self._complain(rows, sound & ~same, "does not look like the others of its block")
        met = repeated(rows, of, self._space.traits)
        self._complain(
            rows, sound & same & met, "meets another of its block in a vertex, a degree or a label"
        )
        good = np.bincount(of, ~(sound & same & ~met)) == 0
        ends = np.cumsum([len(b) for b in blocks])
        for block in np.flatnonzero(good & (np.bincount(of) >= max(self._need, 1))).tolist():
            mine = slice(ends[block] - len(blocks[block]), ends[block])
            pools.adopt(rows[mine], int(number[mine][0]))

    def _keep(self, donors: Donors) -> None:
        targets, images = donors.targets, donors.images[:, : self._need]
        if not len(targets) or images.shape[1] < self._need:
            return
        count, size = targets.shape
        placed = np.concatenate([targets[:, None], images], axis=1)
        rows = placed.reshape(-1, size)
        known = self._known(rows)
        rows = np.where(known[:, None], rows, np.arange(size))
        types = self._types(rows).reshape(count, -1, size * size)
        same = (types == types[:, :1]).all(axis=(1, 2))
        met = repeated(rows, np.repeat(np.arange(count), placed.shape[1]), self._space.traits)
        good = same & known.reshape(count, -1).all(axis=1) & ~met.reshape(count, -1).any(axis=1)
        self._complain(targets, ~good, "has images that are none")
        self.found.append((targets[good], images[good]))

    def _known(self, rows: Ints) -> Flags:
        ordered = np.sort(rows, axis=1)
        inside = ((rows >= 0) & (rows < self._space.graph.n)).all(axis=1)
        known: Flags = inside & (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
        return known

    def _types(self, rows: Ints) -> Ints:
        """Ground and derived edges of all ordered pairs of positions, shape (N, x * x)."""
        return self._space.with_masks(self._space.pairs.of(rows), self._space.reasoner.masks(rows))

    def _complain(self, rows: Ints, where: Flags, why: str) -> None:
        labels = self._space.graph.labels
        for row in rows[where]:
            named = (str(labels[v]) if 0 <= v < len(labels) else f"no vertex {v}" for v in row.tolist())
            self.complaints.append(f"the donor {', '.join(named)} {why}")


def repeated(rows: Ints, of: Ints, traits: Ints) -> Flags:
    """Which rows share a vertex, or a trait at some position, with another row of the same block.

    Parameters
    ----------
    rows
        Vertices by position, shape (N, x).
    of
        Block of each row.
    traits
        In-degree, out-degree and label number of each vertex, shape (n, 3).

    Examples
    --------
    >>> traits = np.array([[1, 1, 0], [2, 2, 1], [3, 1, 2]])
    >>> repeated(np.array([[0], [1], [2], [1]]), np.array([0, 0, 0, 1]), traits).tolist()
    [True, False, True, False]
    """
    count, size = rows.shape
    found = np.zeros(count, dtype=bool)
    everyone = np.stack([np.repeat(of, size), rows.reshape(-1)], axis=1)
    found |= _twice(everyone).reshape(count, size).any(axis=1)
    for p in range(size):
        for trait in traits.T:
            found |= _twice(np.stack([of, trait[rows[:, p]]], axis=1))
    return found


def _twice(pairs: Ints) -> Flags:
    """Which pairs of numbers stand more than once."""
    _, number, count = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    twice: Flags = count[number.reshape(-1)] > 1
    return twice
