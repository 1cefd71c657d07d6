"""A few members of each class that are apart from each other: most attacked subgraphs have their images among them."""

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
INNER, OPEN = -2, -1  # in place of a class: of a node with children, of a pattern of several classes


class Patterns:
    """Patterns of an adjacency, their classes, and visits to their sets.

    Attributes
    ----------
    tree
        The patterns.
    classes, ground, canonical
        Of each node: its class or `INNER` or `OPEN`; its ground class; the canonical order of the chosen vertices.
    """

    def __init__(self, adjacency: Adjacency, catalogue: Catalogue) -> None:
        self.adjacency, self.catalogue, self.size = adjacency, catalogue, catalogue.size
        self.traits = np.ascontiguousarray(catalogue.space.traits[adjacency.vertices])
        self.tree = Tree()
        self.classes = np.empty(0, dtype=np.int64)
        self.ground = np.empty(0, dtype=np.int64)
        self.canonical = np.empty((0, self.size), dtype=np.int64)

    def learn(self, shares: Sequence[Share], quota: int) -> int:
        """Classify the patterns in some shares, at most `quota` sets of each; returns the number of sets."""
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
        )  # whoever met them, they come in this order
        leaves, rows = leaves[order], rows[first[order]]
        _, classes, orders, ground = self.catalogue.settled(rows)
        room = len(self.tree.nodes)
        self.classes = _longer(self.classes, room, INNER)
        self.ground = _longer(self.ground, room, INNER)
        self.canonical = _longer(self.canonical, room, 0)
        self.classes[leaves], self.ground[leaves], self.canonical[leaves] = classes, ground, orders

    def jobs(self, of_class: Ints, all_open: bool = False) -> Ints:
        """Job of each node, given those of the classes; open patterns are handed out where one of their classes may be.

        Where nothing is shared, a pattern tells no ground edges, so that any class may be there. Nodes are skipped if
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
