"""Degrees of vertices that would invalidate images of KGUARD."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.base.jit import Ints
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.graph.sorted_keys import distinct
from kgreason.isomorphism.anonymizers.assembly import Pairs
from kgreason.isomorphism.anonymizers.natural_cover import Cover, Lack

Flags = npt.NDArray[np.bool_]
ClassKey = tuple[int, int]  # size and class

_DEGREES = 64, 8_192  # number of distinguished degrees above the highest one, and in total at most


@record(eq=False)
class ForbiddenDegrees:
    """Degrees and host vertices that would invalidate an image, for classes that lack images or have made ones.

    The positions of a class are numbered consecutively.

    Attributes
    ----------
    first
        First position of each class.
    lacking, images
        Degrees that occur at each position in subgraphs that lack images, and in made images; the last column
        stands for all higher degrees. Shape (2, positions, top).
    vertex, position
        Pairs of a vertex and its position in subgraphs that rely on made images, ascending. A vertex is its index among
        the vertices given to `of`.
    within
        Per class, the vertices in subgraphs that lack images.
    """

    first: dict[ClassKey, int]
    lacking: Flags
    images: Flags
    vertex: Vertices
    position: Vertices
    within: dict[ClassKey, Vertices]

    @classmethod
    def of(
        cls, degrees: Sequence[Vertices], lacks: Sequence[tuple[Cover, Lack]], vertices: Vertices
    ) -> ForbiddenDegrees:
        """Create for some vertices; the covers must already list the lacking subgraphs as relying on images."""
        highest = max(int(d.max(initial=0)) for d in degrees)
        above, most = _DEGREES
        top = min(2 * highest + above, most)
        degrees = [np.minimum(d, top - 1) for d in degrees]
        n, at = len(vertices), np.full(len(degrees[0]), -1, dtype=np.int64)
        at[vertices] = np.arange(n)
        classes = [np.union1d(cover.made[1], lack.classes) for cover, lack in lacks]
        sizes = [cover.x * len(mine) for (cover, _), mine in zip(lacks, classes, strict=True)]
        starts = np.cumsum([0, *sizes]).tolist()
        count, first = starts[-1], dict[ClassKey, int]()
        kinds = np.zeros((2, 2, count, top), dtype=np.bool_)
        within, pairs = dict[ClassKey, Vertices](), [np.empty(0, dtype=np.int64)]
        for (cover, lack), mine, start in zip(lacks, classes, starts, strict=False):
            x, made = cover.x, Lack(*cover.made, np.ones(len(cover.made[0]), dtype=np.int64))
            lacking, fixed, *relying = (
                _renumbered(one.places, mine, start, x) for one in (lack, made, *cover.relying)
            )
            for kind, (position, vertex) in zip(kinds, (lacking, fixed), strict=True):
                for phi in range(2):
                    kind[phi, position, degrees[phi][vertex]] = True
            position, vertex = lacking[0], at[lacking[1]]
            keys = distinct(((position - start) // x * n + vertex)[vertex >= 0])
            ends = np.searchsorted(keys, np.arange(len(mine) + 1) * n)
            inside = np.split(keys % max(n, 1), ends[1:-1])
            for number, c in enumerate(mine.tolist()):
                first[x, c], within[x, c] = start + number * x, inside[number]
            for position, vertex in relying:
                found = at[vertex]
                pairs.append((found * count + position)[found >= 0])
        vertex, position = np.divmod(distinct(np.concatenate(pairs)), max(1, count))
        return cls(first, kinds[0], kinds[1], vertex, position, within)

    def copy(self) -> ForbiddenDegrees:
        """Return an independent copy."""
        return replace(self, lacking=self.lacking.copy(), images=self.images.copy())

    def next_free(self, phi: int, positions: Ints) -> Ints:
        """For each degree the smallest degree not below it that an image may have at all of some positions.

        The last index stands for all higher degrees; it is the result where no other degree is free.
        """
        free = ~(self.lacking[phi, positions] | self.images[phi, positions]).any(axis=0)
        at = np.where(free, np.arange(len(free)), len(free) - 1)
        return np.minimum.accumulate(at[::-1])[::-1].astype(np.int64)

    def first_allowed(self, vertices: Ints, degrees: Sequence[Vertices]) -> int:
        """First of some vertices to which no image forbids its degrees; -1 if there is none.

        In- and out-degrees are in the order of the vertices.
        """
        start, size = 0, 1
        degrees = [np.minimum(degree, self.images.shape[2] - 1) for degree in degrees]
        while start < len(vertices):
            rows = slice(start, start + size)
            some = vertices[rows]
            low, high = (np.searchsorted(self.vertex, some, side=s) for s in ("left", "right"))
            owner = np.repeat(np.arange(len(some)), high - low)
            at = np.arange(len(owner)) + np.repeat(low - (np.cumsum(high - low) - (high - low)), high - low)
            bad = np.zeros(len(some), dtype=np.bool_)
            for phi in range(2):
                bad[owner[self.images[phi, self.position[at], degrees[phi][rows][owner]]]] = True
            if not bad.all():
                return int(some[bad.argmin()])
            start, size = start + size, 4 * size
        return -1

    def record(self, vertex: int, degrees: Iterable[int]) -> None:
        """Record new degrees of a vertex, given by its index."""
        low, high = np.searchsorted(self.vertex, [vertex, vertex + 1])
        for phi, degree in enumerate(degrees):
            self.lacking[phi, self.position[low:high], degree] = True


def _renumbered(places: Pairs, classes: Ints, start: int, x: int) -> Pairs:
    """Places of `Lack` in some of the `classes`, whose positions are numbered from `start` on, and their vertices."""
    position, vertex = places
    known = np.isin(position // x, classes)
    of, p = np.divmod(position[known], x)
    return start + x * np.searchsorted(classes, of) + p, vertex[known]
