"""Degrees and host vertices that would invalidate an image, per class position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import Vertices
from kgreason.graph.subgraphs.ordered_adjacency import Ints
from kgreason.isomorphism.anonymizers.natural_cover import Cover, Lack

Flags = npt.NDArray[np.bool_]


Key = tuple[int, int]
"""Size and class."""


_DEGREES = 64, 8_192  # number of distinguished degrees above the highest one, and in total at most


@dataclass(frozen=True, eq=False)
class Standing:
    """Degrees and host vertices that would invalidate an image, for classes that lack images or have made ones.

    Each position of each class is a *place*; the places of a class have consecutive numbers.

    Attributes
    ----------
    first
        First place of each class.
    lacking, images
        Degrees that occur at each place in subgraphs that lack images, and in made images; the last column stands for
        all higher degrees. Shape (2, places, top).
    vertex, place
        Pairs of a vertex and its place in subgraphs that rely on made images, ascending. A vertex is its index among
        the vertices given to `of`.
    within
        Per class, the vertices in subgraphs that lack images.
    """

    first: dict[Key, int]
    lacking: Flags
    images: Flags
    vertex: Vertices
    place: Vertices
    within: dict[Key, Vertices]

    @classmethod
    def of(
        cls, degrees: Sequence[Vertices], lacks: Sequence[tuple[Cover, Lack]], vertices: Vertices
    ) -> Standing:
        """Create for some vertices; the covers must already list the lacking subgraphs as relying on images."""
        highest = max(int(d.max(initial=0)) for d in degrees)
        above, most = _DEGREES
        top = min(2 * highest + above, most)
        degrees = [np.minimum(d, top - 1) for d in degrees]
        at = np.full(len(degrees[0]), -1, dtype=np.int64)
        at[vertices] = np.arange(len(vertices))
        classes = [(cover, lack, np.union1d(cover.made[1], lack.classes).tolist()) for cover, lack in lacks]
        starts = np.cumsum([0, *(cover.x for cover, _, mine in classes for _ in mine)]).tolist()
        first = dict(
            zip(((cover.x, c) for cover, _, mine in classes for c in mine), starts[:-1], strict=True)
        )
        kinds = np.zeros((2, 2, starts[-1], top), dtype=np.bool_)
        within, pairs = {}, [np.empty(0, dtype=np.int64)]
        for cover, lack, mine in classes:
            for c in mine:
                key, place = (cover.x, c), first[cover.x, c] + np.arange(cover.x)
                lacking = lack.members[lack.classes == c]
                relying, made = (of[0][of[1] == c] for of in (cover.relying, cover.made))
                for kind, some in zip(kinds, (lacking, made), strict=True):
                    for phi in range(2):
                        kind[phi, place, degrees[phi][some]] = True
                inside = np.unique(at[lacking])
                within[key] = inside[inside >= 0]
                found = at[relying]
                pairs.append(np.unique((found * starts[-1] + place)[found >= 0]))
        vertex, stands = np.divmod(np.sort(np.concatenate(pairs)), max(1, starts[-1]))
        return cls(first, kinds[0], kinds[1], vertex, stands, within)

    def copy(self) -> Standing:
        """Return an independent copy."""
        return replace(self, lacking=self.lacking.copy(), images=self.images.copy())

    def after(self, phi: int, places: Ints) -> Ints:
        """For each degree the smallest degree not below it that an image may have at all given places.

        The last index stands for all higher degrees; it is the result where no other degree is free.
        """
        free = ~(self.lacking[phi, places] | self.images[phi, places]).any(axis=0)
        at = np.where(free, np.arange(len(free)), len(free) - 1)
        return np.minimum.accumulate(at[::-1])[::-1].astype(np.int64)

    def harmless(self, degrees: Sequence[Vertices]) -> Flags:
        """Whether each vertex may get these in- and out-degrees without equalling an image at a place of the vertex."""
        bad = np.zeros(len(degrees[0]), dtype=np.bool_)
        for phi in range(2):
            bad[self.vertex[self.images[phi, self.place, degrees[phi][self.vertex]]]] = True
        return ~bad

    def hurts(self, vertex: int, degrees: Iterable[int]) -> bool:
        """Whether these in- and out-degrees of a vertex would equal those of an image at a place of the vertex."""
        low, high = np.searchsorted(self.vertex, [vertex, vertex + 1])
        top = self.images.shape[2] - 1
        return any(
            bool(self.images[phi, self.place[low:high], min(degree, top)].any())
            for phi, degree in enumerate(degrees)
        )

    def change(self, vertex: int, degrees: Iterable[int]) -> None:
        """Record new degrees of a vertex, given by its index."""
        low, high = np.searchsorted(self.vertex, [vertex, vertex + 1])
        for phi, degree in enumerate(degrees):
            self.lacking[phi, self.place[low:high], degree] = True
