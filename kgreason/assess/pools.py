"""A few members of each class that are apart from each other: most attacked subgraphs have their images among them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kgreason.assess.patterns import Patterns
from kgreason.assess.space import Catalogue
from kgreason.assess.visit_kernels import CHECKED, FREE, HANDED, SKIPPED, fill, settle
from kgreason.assess.visits import ENDLESS, Orders, Share, Walker

Ints = npt.NDArray[np.int64]

ENTRIES = 1 << 11  # places of the release where members are sampled, and of the attacked subgraphs
QUOTA = 1 << 8  # sets visited at each of these places
RAREST = 1 << 19  # sets of rare degrees visited, about
KEPT = 1 << 10  # sampled members of a class that are kept beside its pool


class Pools:
    """Members of classes that are pairwise apart: no vertex and, position by position, no trait in common.

    A vertex of an attacked subgraph is in at most one of them, and at its position its in-degree and its out-degree
    are in at most one each. So a pool of k - 1 + 3x members serves all attacked subgraphs of its class.

    Attributes
    ----------
    most
        So many members.
    sizes, members
        Number of members of each class; those of class c begin at row ``c * most``, as vertices of the release.
    sampled
        Members that were met, and their classes.
    """

    def __init__(self, catalogue: Catalogue, need: int) -> None:
        self._catalogue, self.need = catalogue, need
        self.most = need + (3 if catalogue.space.distinct else 4) * catalogue.size
        self.sizes = np.zeros(0, dtype=np.int64)
        self.members = np.zeros((0, catalogue.size), dtype=np.int64)
        self.sampled: list[tuple[Ints, Ints]] = []
        self._kept = np.zeros(0, dtype=np.int64)

    def reserve(self) -> None:
        """Make room for the classes that are new."""
        more = len(self._catalogue.full) - len(self.sizes)
        if more > 0:
            self.sizes = np.concatenate([self.sizes, np.zeros(more, dtype=np.int64)])
            self._kept = np.concatenate([self._kept, np.zeros(more, dtype=np.int64)])
            rows = np.zeros((more * self.most, self._catalogue.size), dtype=np.int64)
            self.members = np.concatenate([self.members, rows])

    def full(self) -> npt.NDArray[np.bool_]:
        """Which classes need no more members."""
        return self.sizes >= self.most

    def add(self, rows: Ints, classes: Ints) -> None:
        """Put members into the pools that are apart from all that are there."""
        self.reserve()
        forms = [self._catalogue.full.form(c).automorphisms for c in range(len(self.sizes))]
        starts = np.cumsum([0, *map(len, forms)]).astype(np.int64)
        turns = np.concatenate(forms) if forms else np.zeros((0, rows.shape[1]), dtype=np.int64)
        traits = self._catalogue.space.traits
        fill(
            np.ascontiguousarray(rows), classes, turns, starts, traits, self.sizes, self.members, self.most
        )

    def prefer(self, images: Ints, number: int) -> None:
        """Let some members that are apart from each other be the first of their class."""
        first = number * self.most
        old = self.members[first : first + self.sizes[number]].copy()
        self.sizes[number] = len(images)
        self.members[first : first + len(images)] = images
        self.add(old, np.full(len(old), number, dtype=np.int64))

    def settled(self, rows: Ints, classes: Ints) -> npt.NDArray[np.bool_]:
        """Tell for each row whether it has its images in the pool of its class."""
        self.reserve()
        status = np.zeros(len(rows), dtype=np.int64)
        settle(
            *(np.ascontiguousarray(rows), classes, self._catalogue.space.traits),
            *(self.sizes, self.members, self.most, self.need, status),
        )
        return status == 1

    def sample(self, patterns: Patterns, wanted: npt.NDArray[np.bool_], places: list[Share], quota: int) -> None:
        """Fill the pools of the wanted classes, those that are not full, with sets of some shares."""
        self.reserve()
        wanted = np.concatenate([wanted, np.ones(len(self.sizes) - len(wanted), dtype=bool)])
        if not (wanted & ~self.full()).any() or not places:
            return
        patterns.learn(places, quota)
        self.reserve()
        wanted = np.concatenate([wanted, np.zeros(len(self.sizes) - len(wanted), dtype=bool)])
        open_ = wanted & ~self.full()

        def jobs() -> Ints:
            return patterns.jobs(np.where(open_, HANDED, SKIPPED))

        orders = Orders(jobs(), patterns.classes, patterns.canonical)

        def keep(rows: Ints, nodes: Ints) -> None:
            nonlocal open_
            classes, rows = patterns.resolve(rows, nodes)
            self.reserve()
            mine = np.flatnonzero(_at(open_, classes))
            self.add(rows[mine], classes[mine])
            self._keep(rows[mine], classes[mine])
            still = open_ & ~self.full()[: len(open_)]
            if (still != open_).any():
                open_ = still
                orders.jobs[:] = jobs()

        walker = Walker(patterns.adjacency, patterns.traits, patterns.size, patterns.tree)
        for share in places:
            walker.walk(share, orders, keep, quota)

    def _keep(self, rows: Ints, classes: Ints) -> None:
        rank = _ranks(classes) + self._kept[classes]
        kept = rank < KEPT
        self.sampled.append((rows[kept], classes[kept]))
        self._kept += np.bincount(classes[kept], minlength=len(self._kept))


def _at(flags: npt.NDArray[np.bool_], numbers: Ints) -> npt.NDArray[np.bool_]:
    """Flags of numbers, those beyond the end have none."""
    return (numbers < len(flags)) & flags[np.minimum(numbers, len(flags) - 1)]


def _ranks(classes: Ints) -> Ints:
    """How often each number stands before."""
    order = np.argsort(classes, kind="stable")
    ordered = classes[order]
    ranks = np.empty(len(classes), dtype=np.int64)
    ranks[order] = np.arange(len(classes)) - np.searchsorted(ordered, ordered)
    return ranks
