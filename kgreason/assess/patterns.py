"""The patterns of vertex sets, each classified once."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kgreason.assess.adjacency import Adjacency
from kgreason.assess.space import Catalogue
from kgreason.assess.visits import FREE, HANDED, SKIPPED, Orders, Share, Tree, Walker
from kgreason.cores import together

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
