"""Where vertices stand in attacked subgraphs, and which degrees these and their images have there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.cover import Cover, Lack
from kgreason.anonymizers.draft import Draft
from kgreason.graph.model import Vertices
from kgreason.records import dataclass
from kgreason.subgraphs.adjacency import Ints

Flags = npt.NDArray[np.bool_]
Key = tuple[int, int]
"""Size and class."""


_ABOVE, _MOST = 64, 8_192  # degrees that are told apart


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
        Pairs, ascending: which of some vertices stand at which places in subgraphs that lack images or rely on made
        ones. A vertex is its number among those that were given to `of`.
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
    def of(cls, draft: Draft, lacks: Sequence[tuple[Cover, Lack]], vertices: Vertices) -> Standing:
        """Look where some vertices stand."""
        highest = max(int(d.max(initial=0)) for d in (draft.inner, draft.outer))
        top = min(2 * highest + _ABOVE, _MOST)
        degrees = [np.minimum(d, top - 1) for d in (draft.inner, draft.outer)]
        at = np.full(draft.n, -1, dtype=np.int64)
        at[vertices] = np.arange(len(vertices))
        none = np.empty(0, dtype=np.int64)
        first: dict[Key, int] = {}
        within, rows, pairs, count = {}, [], [], 0
        for cover, lack in lacks:
            for c in np.union1d(cover.made[1], lack.classes).tolist():
                first[cover.x, c] = count
                lacking = lack.members[lack.classes == c]
                relying, made = (of[0][of[1] == c] for of in (cover.relying, cover.made))
                attacked = np.concatenate([relying, lacking])
                found = at[attacked] + 1  # 0: none of these vertices
                places = np.broadcast_to(np.arange(count, count + cover.x), found.shape)
                pairs.append(np.unique(np.stack([found[found > 0] - 1, places[found > 0]]), axis=1))
                inside = np.unique(at[lacking])
                within[cover.x, c] = inside[inside >= 0]
                rows.append((count, lacking, made))
                count += cover.x
        kinds = np.zeros((2, 2, count, top), dtype=np.bool_)
        for start, *members in rows:
            for kind, some in zip(kinds, members, strict=True):
                for p in range(some.shape[1]):
                    for phi in range(2):
                        kind[phi, start + p, degrees[phi][some[:, p]]] = True
        vertex, place = np.concatenate([np.stack([none, none]), *pairs], axis=1)
        order = np.argsort(vertex, kind="stable")
        return cls(first, kinds[0], kinds[1], vertex[order], place[order], within)

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
