"""Pools of members of each class that are pairwise apart; most attacked subgraphs have their images in a pool."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kgreason.base.cores import together
from kgreason.isomorphism.verification.adjacency import Adjacency
from kgreason.isomorphism.verification.release_index import Catalogue
from kgreason.isomorphism.verification.subgraph_visits import (
    FREE,
    HANDED,
    SKIPPED,
    Orders,
    Share,
    Tree,
    Walker,
    fill,
    settle,
)

Ints = npt.NDArray[np.int64]
INNER, OPEN = -2, -1  # instead of a class: node with children, pattern of several classes


class Patterns:
    """Patterns of an adjacency with their classes.

    Attributes
    ----------
    tree
        Tree of patterns.
    classes, ground, canonical
        Per node: class, `INNER` or `OPEN`; ground class; canonical order of the chosen vertices.
    """

    def __init__(self, adjacency: Adjacency, catalogue: Catalogue) -> None:
        self.adjacency, self.catalogue, self.size = adjacency, catalogue, catalogue.size
        self.traits = np.ascontiguousarray(catalogue.space.traits[adjacency.vertices])
        self.tree = Tree()
        self.classes = np.empty(0, dtype=np.int64)
        self.ground = np.empty(0, dtype=np.int64)
        self.canonical = np.empty((0, self.size), dtype=np.int64)

    def learn(self, shares: Sequence[Share], quota: int) -> int:
        """Classify the patterns of some shares, at most `quota` sets of each; returns the number of sets."""
        begin = self.tree.used
        waiting = deque(shares)

        def work() -> tuple[Tree, list[tuple[Ints, Ints]], int]:
            walker = Walker(self.adjacency, self.traits, self.size, self.tree.copy())
            orders = Orders.learning(len(walker.tree.nodes), self.size)
            found: list[tuple[Ints, Ints]] = []
            total = 0
            while True:
                try:
                    share = waiting.popleft()
                except IndexError:
                    return walker.tree, found, total
                new, _, seen = walker.gather(share, orders, quota)
                found += new
                total += seen

        rows, leaves, total = [], [], 0
        for tree, found, count in together(work, len(shares), waiting.clear):
            numbers = self.tree.merge(tree, begin)
            rows += [members for members, _ in found]
            leaves += [numbers[nodes] for _, nodes in found]
            total += count
        if rows:
            self._classify(np.concatenate(rows), np.concatenate(leaves))
        return total

    def _classify(self, rows: Ints, leaves: Ints) -> None:
        leaves, first = np.unique(leaves, return_index=True)
        order = np.lexsort(
            self.tree.paths(leaves, self.size).T[::-1]
        )  # the order must not depend on the thread that found them
        leaves, rows = leaves[order], rows[first[order]]
        _, classes, orders, ground = self.catalogue.settled(rows)
        room = len(self.tree.nodes)
        self.classes = _longer(self.classes, room, INNER)
        self.ground = _longer(self.ground, room, INNER)
        self.canonical = _longer(self.canonical, room, 0)
        self.classes[leaves], self.ground[leaves], self.canonical[leaves] = classes, ground, orders

    def jobs(self, of_class: Ints, all_open: bool = False) -> Ints:
        """Job of each node from the jobs of the classes; open patterns that may be of a wanted class are handed out.

        Where patterns are not shared, a pattern contains no ground edges and may be of any class. Nodes are skipped if
        all their children are.
        """
        jobs = np.full(len(self.tree.nodes), SKIPPED, dtype=np.int64)
        known = np.flatnonzero(self.classes >= 0)
        jobs[known] = of_class[self.classes[known]]
        wanted = np.flatnonzero(of_class != SKIPPED)
        open_ = np.flatnonzero(self.classes == OPEN)
        if not all_open and self.catalogue.space.shares(self.size):
            open_ = open_[np.isin(self.ground[open_], self.catalogue.ground_of[wanted])]
        if all_open or len(wanted):
            jobs[open_] = HANDED
        at = np.flatnonzero(jobs != SKIPPED)
        for _ in range(self.size - 1):
            at = np.unique(self.tree.nodes[at, 0])
            jobs[at] = FREE
        return jobs

    def resolve(self, rows: Ints, nodes: Ints) -> tuple[Ints, Ints]:
        """Class of each set handed out, and its vertices in canonical order."""
        classes = self.classes[nodes]
        open_ = np.flatnonzero(classes < 0)
        if len(open_):
            classes[open_], rows[open_] = self.catalogue.classify(rows[open_])
        return classes, rows


def _longer(array: Ints, length: int, value: int) -> Ints:
    if length <= len(array):
        return array
    more = np.full((length, *array.shape[1:]), value, dtype=np.int64)
    more[: len(array)] = array
    return more


Flags = npt.NDArray[np.bool_]

ENTRIES = 1 << 11  # adjacency entries at which sets are sampled, of release and original each
QUOTA = 1 << 8  # sets visited at each entry
RAREST = 1 << 19  # approximate number of visited sets of rare degrees
BLOCKS = 1 << 6  # maximum number of blocks of a pool
KEPT = 1 << 12  # sampled members of a class that are kept outside its pool


class Pools:
    """Pools: blocks of class members that are pairwise apart (no common vertex and, by position, no common trait).

    Each vertex of an attacked subgraph is in at most one member of a block, and at its position its in-degree and its
    out-degree occur in at most one member each. So a block of k - 1 + 3x members serves all subgraphs of its class.

    Attributes
    ----------
    most
        Maximum number of members of a block.
    first
        First block of each class.
    blocks, members
        Block b has ``blocks[b, 0]`` rows of `members`, from ``b * most`` on (vertices of the release), and is followed
        by block ``blocks[b, 1]``, or by none if that is negative.
    sampled
        Members that were visited, in pools or not, and their classes; the image search begins with them if only little
        of the release may be visited.
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
        """Allocate a block for each new class."""
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
        """Whether the pool of each class is full."""
        full: Flags = self.blocks[self.first, 0] >= self.most
        return full

    def add(self, rows: Ints, classes: Ints) -> None:
        """Put members into the last blocks of their classes if they are apart from all members there."""
        self.reserve()
        fill(
            *(np.ascontiguousarray(rows), classes, self._turns, self._starts, self._last, self.most),
            *(self.blocks, self.members, self._catalogue.space.traits),
        )

    def room(self, number: int) -> bool:
        """Whether a class may have another block."""
        return bool(self._count[number] < BLOCKS)

    def extend(self, number: int, members: Ints) -> None:
        """Add a block to a class, with those of the members that are pairwise apart."""
        if not self.room(number):
            return
        new = int(self._more(1)[0])
        self.blocks[self._last[number], 1] = new
        self._last[number] = new
        self._count[number] += 1
        self.add(members, np.full(len(members), number, dtype=np.int64))

    def adopt(self, members: Ints, number: int) -> None:
        """Add members, in canonical order, that are known to be pairwise apart, to a class."""
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
        """Members of each block with enough members, in canonical order, each of shape (M, x)."""
        size = self.blocks[:, 0]
        return [
            self.members[b * self.most : b * self.most + size[b]].copy()
            for b in np.flatnonzero(size >= max(self.need, 1)).tolist()
        ]

    def settled(self, rows: Ints, classes: Ints) -> Flags:
        """Whether each row has its images in the pool of its class."""
        self.reserve()
        status = np.zeros(len(rows), dtype=np.int64)
        pools = self.first[classes], self.most, self.blocks, self.members, self.need
        settle(np.ascontiguousarray(rows), *pools, self._catalogue.space.traits, status)
        return np.equal(status, 1)

    def sample(self, patterns: Patterns, wanted: Flags, places: list[Share], quota: int) -> None:
        """Fill the pools of the wanted classes that are not full with sets of some shares."""
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
            flags = np.append(open_, False)  # new classes have none
            mine = np.flatnonzero(flags[np.minimum(classes, len(open_))])
            self.add(rows[mine], classes[mine])
            self._keep(rows[mine], classes[mine])
            still = open_ & ~self.full()[: len(open_)]
            if (still != open_).any():
                open_ = still
                fresh = jobs()
                orders.jobs[: len(fresh)] = fresh

        # with branches skipped, the walker visits more than `learn` did and may meet patterns that are not learned yet
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
