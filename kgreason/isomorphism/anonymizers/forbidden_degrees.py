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


_DEGREES = 64, 8_192  # degrees that are told apart: above the highest, and at most


@dataclass(frozen=True, eq=False)
class Standing:
    """What bars degrees and hosts, for the classes that lack images or have made ones.

    Each position of each class is a *place*; places of a class have successive numbers.

    Attributes
    ----------
    first
        Number of the first place of each class.
    lacking, images
        Which in- and out-degrees subgraphs that lack images, and made images, have at each place; the last column
        tells of all higher degrees. Shape (2, places, top).
    vertex, place
        Pairs, ascending: which of some vertices stand at which places in subgraphs that rely on made images. A
        vertex is its number among those that were given to `of`.
    within
        Which of these vertices are in subgraphs of a class that lack images.
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
        """Look where some vertices stand; the covers know already that the lacking subgraphs will rely on images."""
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
        """One that may be changed."""
        return replace(self, lacking=self.lacking.copy(), images=self.images.copy())

    def after(self, phi: int, places: Ints) -> Ints:
        """For each degree the least one from it on that an image may have that stands at some places at once.

        The last one stands for all that are higher; it serves where no other does.
        """
        free = ~(self.lacking[phi, places] | self.images[phi, places]).any(axis=0)
        at = np.where(free, np.arange(len(free)), len(free) - 1)
        return np.minimum.accumulate(at[::-1])[::-1].astype(np.int64)

    def harmless(self, degrees: Sequence[Vertices]) -> Flags:
        """Which vertices may get these in- and out-degrees: no image has them where the vertex stands."""
        bad = np.zeros(len(degrees[0]), dtype=np.bool_)
        for phi in range(2):
            bad[self.vertex[self.images[phi, self.place, degrees[phi][self.vertex]]]] = True
        return ~bad

    def hurts(self, vertex: int, degrees: Iterable[int]) -> bool:
        """Whether a vertex must not get these in- and out-degrees: an image has them where it stands."""
        low, high = np.searchsorted(self.vertex, [vertex, vertex + 1])
        top = self.images.shape[2] - 1
        return any(
            bool(self.images[phi, self.place[low:high], min(degree, top)].any())
            for phi, degree in enumerate(degrees)
        )

    def change(self, vertex: int, degrees: Iterable[int]) -> None:
        """Give a vertex, by its number, other degrees."""
        low, high = np.searchsorted(self.vertex, [vertex, vertex + 1])
        for phi, degree in enumerate(degrees):
            self.lacking[phi, self.place[low:high], degree] = True
