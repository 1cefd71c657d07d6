"""A few members of each class that are apart from each other: most attacked subgraphs have their images among them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.assess.patterns import Patterns
from kgreason.assess.space import Catalogue
from kgreason.assess.visits import HANDED, SKIPPED, Orders, Share, Walker, fill, settle

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

ENTRIES = 1 << 11  # places of the release where members are sampled, and of the attacked subgraphs
QUOTA = 1 << 8  # sets visited at each of these places
RAREST = 1 << 19  # sets of rare degrees visited, about
BLOCKS = 1 << 6  # of a pool at most
KEPT = 1 << 12  # sampled members of a class that are kept beside its pool


class Pools:
    """Members of classes in blocks that are pairwise apart: no vertex and, by position, no trait in common.

    A vertex of an attacked subgraph is in at most one member of a block, and at its position its in-degree and its
    out-degree are in at most one each. So a block of k - 1 + 3x members serves all attacked subgraphs of its class.

    Attributes
    ----------
    most
        So many members.
    first
        The first block of each class.
    blocks, members
        The pools: block b has ``blocks[b, 0]`` of the `members`, from ``b * most`` on, vertices of the release, and is
        followed by block ``blocks[b, 1]``, or by none if that is negative.
    sampled
        Members that were met, in pools or not, and their classes: where little of the release may be visited, the
        search for images begins with them.
    """

    def __init__(self, catalogue: Catalogue, need: int) -> None:
        self._catalogue, self.need = catalogue, need
        self.most = need + (3 if catalogue.space.distinct else 4) * catalogue.size
        self.first = np.zeros(0, dtype=np.int64)
        self.blocks = np.zeros((0, 2), dtype=np.int64)
        self.members = np.zeros((0, catalogue.size), dtype=np.int64)
        self.sampled: list[tuple[Ints, Ints]] = []
        self._last = np.zeros(0, dtype=np.int64)
        self._count = np.zeros(0, dtype=np.int64)
        self._kept = np.zeros(0, dtype=np.int64)
        self._turns = np.zeros((0, catalogue.size), dtype=np.int64)
        self._starts = np.zeros(1, dtype=np.int64)

    def reserve(self) -> None:
        """Make a block for each class that is new."""
        known, count = len(self.first), len(self._catalogue.full)
        if count == known:
            return
        new = self._more(count - known)
        forms = [self._catalogue.full.form(c).automorphisms for c in range(known, count)]
        self.first, self._last = np.concatenate([self.first, new]), np.concatenate([self._last, new])
        self._count = np.concatenate([self._count, np.ones(count - known, dtype=np.int64)])
        self._kept = np.concatenate([self._kept, np.zeros(count - known, dtype=np.int64)])
        self._turns = np.concatenate([self._turns, *forms])
        ends = self._starts[-1] + np.cumsum([len(f) for f in forms])
        self._starts = np.concatenate([self._starts, ends.astype(np.int64)])

    def _more(self, count: int) -> Ints:
        new = np.arange(len(self.blocks), len(self.blocks) + count)
        self.blocks = np.concatenate([self.blocks, np.tile([0, -1], (count, 1))])
        rows = np.zeros((count * self.most, self._catalogue.size), dtype=np.int64)
        self.members = np.concatenate([self.members, rows])
        return new

    def full(self) -> Flags:
        """Which classes need no more members."""
        full: Flags = self.blocks[self.first, 0] >= self.most
        return full

    def add(self, rows: Ints, classes: Ints) -> None:
        """Put members into the last blocks of their classes, if they are apart from all that are there."""
        self.reserve()
        fill(
            *(np.ascontiguousarray(rows), classes, self._turns, self._starts, self._last, self.most),
            *(self.blocks, self.members, self._catalogue.space.traits),
        )

    def room(self, number: int) -> bool:
        """Whether a class may have one more block."""
        return bool(self._count[number] < BLOCKS)

    def extend(self, number: int, members: Ints) -> None:
        """Give a class one more block of members, those of them that are apart from all before."""
        if not self.room(number):
            return
        new = int(self._more(1)[0])
        self.blocks[self._last[number], 1] = new
        self._last[number] = new
        self._count[number] += 1
        self.add(members, np.full(len(members), number, dtype=np.int64))

    def adopt(self, members: Ints, number: int) -> None:
        """Give a class members, in canonical order, that are known to be apart from each other."""
        self.reserve()
        for begin in range(0, len(members), self.most):
            part = members[begin : begin + self.most]
            block = int(self._last[number])
            if self.blocks[block, 0]:
                new = int(self._more(1)[0])
                self.blocks[block, 1] = self._last[number] = block = new
            self.members[block * self.most : block * self.most + len(part)] = part
            self.blocks[block, 0] = len(part)

    def in_blocks(self) -> list[Ints]:
        """Members of each block that has as many as are needed, in canonical order, each of shape (M, x)."""
        size = self.blocks[:, 0]
        return [
            self.members[b * self.most : b * self.most + size[b]].copy()
            for b in np.flatnonzero(size >= max(self.need, 1)).tolist()
        ]

    def settled(self, rows: Ints, classes: Ints) -> Flags:
        """Tell for each row whether it has its images in the pool of its class."""
        self.reserve()
        status = np.zeros(len(rows), dtype=np.int64)
        pools = self.first[classes], self.most, self.blocks, self.members, self.need
        settle(np.ascontiguousarray(rows), *pools, self._catalogue.space.traits, status)
        return np.equal(status, 1)

    def sample(self, patterns: Patterns, wanted: Flags, places: list[Share], quota: int) -> None:
        """Fill the pools of the wanted classes, those that are not full, with sets of some shares."""
        self.reserve()
        wanted = np.concatenate([wanted, np.ones(len(self.first) - len(wanted), dtype=bool)])
        if not (wanted & ~self.full()).any() or not places:
            return
        patterns.learn(places, quota)
        self.reserve()
        wanted = np.concatenate([wanted, np.zeros(len(self.first) - len(wanted), dtype=bool)])
        open_ = wanted & ~self.full()

        def jobs() -> Ints:
            return patterns.jobs(np.where(open_, HANDED, SKIPPED))

        orders = Orders(jobs(), np.zeros_like(patterns.classes), patterns.canonical)

        def keep(rows: Ints, nodes: Ints) -> None:
            nonlocal open_
            classes, rows = patterns.resolve(rows, nodes)
            self.reserve()
            flags = np.append(open_, False)  # classes that are new have none
            mine = np.flatnonzero(flags[np.minimum(classes, len(open_))])
            self.add(rows[mine], classes[mine])
            self._keep(rows[mine], classes[mine])
            still = open_ & ~self.full()[: len(open_)]
            if (still != open_).any():
                open_ = still
                fresh = jobs()
                orders.jobs[: len(fresh)] = fresh

        # skipping branches, it gets farther than `learn` did: what it meets there is still to be learned
        walker = Walker(patterns.adjacency, patterns.traits, patterns.size, patterns.tree.copy())
        for share in places:
            walker.walk(share, orders, keep, quota)

    def _keep(self, rows: Ints, classes: Ints) -> None:
        order = np.argsort(classes, kind="stable")
        ordered = classes[order]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered) + self._kept[ordered]
        kept = order[rank < KEPT]
        self.sampled.append((rows[kept], classes[kept]))
        self._kept += np.bincount(classes[kept], minlength=len(self._kept))
