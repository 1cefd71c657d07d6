"""What shows that attacked subgraphs have their images, so that it need not be searched for again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.imprint import Fault

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Donors:
    """Members of classes that are images of most attacked subgraphs of one size, and the images of the others.

    Attributes
    ----------
    size
        Number x of vertices.
    blocks
        Vertices by position, each int64 (M, x): members of one class, no two of which have a vertex or, at any
        position, a degree or a label in common.
    targets, images
        Attacked subgraphs with images of their own: vertices by position, int64 (T, x) and (T, k - 1, x).
    """

    size: int
    blocks: tuple[Ints, ...]
    targets: Ints
    images: Ints


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proof of item 4 of Definition 4.1 that can be checked without a search.

    Nothing in it has to be believed: whether donors are images, and copies are copies, is looked up in the release.

    Attributes
    ----------
    k
        Number of places that it shows.
    donors
        For each number of vertices.
    copies
        Or the k - 1 copies of each original vertex v, ``copies[:, v]``, int64 (k - 1, n): they show it for any
        number of vertices, and whatever the rules are.
    complaints
        What is wrong with it already, such as that it is of another release.
    files
        How the files of the release and of the mapping differ from those that were written with it; `None` if that
        was not asked.
    """

    k: int
    donors: tuple[Donors, ...] = ()
    copies: Ints | None = None
    complaints: tuple[str, ...] = ()
    files: tuple[Fault, ...] | None = None

    def of(self, size: int, k: int) -> tuple[Donors, ...]:
        """Donors of one number of vertices; none if something is wrong with the certificate, or k too large for it."""
        return () if self.complaints or self.k < k else tuple(d for d in self.donors if d.size == size)
