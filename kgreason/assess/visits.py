"""Visits to the connected vertex sets of an adjacency, on all cores; nothing depends on how many there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from kgreason.assess.adjacency import Adjacency
from kgreason.assess.count_kernels import count_sets
from kgreason.assess.visit_kernels import (
    DONE,
    LEFT,
    ROOT,
    SEEN,
    SETTLED,
    TABLE_FULL,
    USED,
    add_nodes,
    visit,
)
from kgreason.cores import each

Ints = npt.NDArray[np.int64]
Share = tuple[int, int]
Handler = Callable[[Ints, Ints], None]

ROWS = 1 << 14  # handed out at once
SHARES = 256  # of about equal work, into which all visits are divided
FEW = 1 << 12  # entries of which a share need not be divided
NODES = 1 << 10  # in a new tree of patterns
ENDLESS = 1 << 62


def shares(adjacency: Adjacency, size: int, count: int) -> list[Share]:
    """Divide all entries into ranges of about equal work.

    A vertex u joins a root v with neighbours that join in turn: about (deg u + deg v)^(size - 2) sets.
    """
    m = len(adjacency.neighbour)
    if not m:
        return []
    degree = np.diff(adjacency.indptr)
    source = np.repeat(np.arange(len(degree)), degree)
    u = adjacency.neighbour
    work = np.where(u > source, (degree[u] + degree[source]).astype(np.float64) ** (size - 2), 0) + 1
    done = np.cumsum(work)
    cuts = np.searchsorted(done, done[-1] * np.arange(1, count) / count)
    cuts = np.unique(np.concatenate([[0], cuts, [m]]))
    return [(int(a), int(b)) for a, b in pairwise(cuts)]


def count_connected(adjacency: Adjacency, size: int, limit: int) -> int:
    """Count the connected vertex sets; stops soon after the limit."""
    found: dict[int, int] = {}

    def some(share: Share) -> None:
        if sum(found.values()) <= limit:
            found[share[0]] = pick(adjacency, size, share)[0]

    each(some, shares(adjacency, size, SHARES))
    return sum(found.values())


def pick(adjacency: Adjacency, size: int, share: Share, ranks: Ints | None = None) -> tuple[int, Ints]:
    """Count the connected vertex sets of a share, and list those of some ranks.

    Parameters
    ----------
    ranks
        Numbers of sets in the order of the count, ascending and without doubles; `None` for none.

    Returns
    -------
    total
        Number of sets.
    rows
        Vertices of each set that was asked for, int64 (len(ranks), size).
    """
    ranks = np.empty(0, dtype=np.int64) if ranks is None else ranks
    n = len(adjacency.vertices)
    seen, opened = np.zeros(n, dtype=np.int32), np.empty(n + 1, dtype=np.int32)
    path, out = np.zeros((4, size + 1), dtype=np.int64), np.empty((len(ranks), size), dtype=np.int64)
    where = adjacency.indptr, adjacency.neighbour, *share, _root(adjacency, share[0])
    total = count_sets(*where, path, seen, opened, ranks, out)
    return total, adjacency.vertices[out]


def _root(adjacency: Adjacency, entry: int) -> int:
    return int(np.searchsorted(adjacency.indptr, entry, side="right")) - 1


class Tree:
    """Patterns of vertex sets: paths of what each vertex holds when it joins.

    Attributes
    ----------
    table, nodes, used
        As `visit` takes them.
    """

    def __init__(self) -> None:
        self.used = 0
        self.nodes = np.zeros((NODES, 2), dtype=np.int64)
        self.table = _empty(NODES)

    def copy(self) -> Tree:
        """A tree that grows on its own."""
        other = Tree()
        other.used, other.nodes, other.table = self.used, self.nodes.copy(), self.table.copy()
        return other

    def reserve(self, count: int) -> None:
        """Make room for as many nodes."""
        if count <= len(self.nodes):
            return
        old = self.nodes[: self.used]
        self.nodes = np.zeros((1 << (count - 1).bit_length(), 2), dtype=np.int64)
        self.table = _empty(len(self.nodes))
        add_nodes(self.table, self.nodes, 0, old, 0, self.used, np.empty(self.used, dtype=np.int64))

    def merge(self, other: Tree, begin: int) -> Ints:
        """Take over the nodes of a tree that has those before `begin` in common; their numbers here."""
        numbers = np.arange(other.used)
        self.reserve(self.used + other.used - begin)
        self.used = add_nodes(self.table, self.nodes, self.used, other.nodes, begin, other.used, numbers)
        return numbers

    def paths(self, leaves: Ints, size: int) -> Ints:
        """What each vertex holds on the way to each leaf, shape (N, size)."""
        held = np.empty((len(leaves), size), dtype=np.int64)
        at = leaves
        for depth in range(size - 1, -1, -1):
            held[:, depth] = self.nodes[at, 1]
            at = self.nodes[at, 0]
        return held


def _empty(nodes: int) -> Ints:
    return np.full(8 * nodes, -1, dtype=np.int64)  # four numbers a slot, half of the slots used at most


@dataclass
class Orders:
    """What to do with the sets of each pattern.

    Attributes
    ----------
    jobs, pools, canonical
        For each node of the tree: `FREE`, `CHECKED`, `HANDED` or `SKIPPED`; its pool; and the order of the chosen
        vertices that is canonical, shape (nodes, x).
    need, most, blocks, members
        Images needed, and pools in blocks of at most `most` members, in the numbers of the adjacency.
    """

    jobs: Ints
    pools: Ints
    canonical: Ints
    need: int = 1
    most: int = 0
    blocks: Ints = field(default_factory=lambda: np.zeros((1, 2), dtype=np.int64))
    members: Ints = field(default_factory=lambda: np.zeros((1, 1), dtype=np.int64))

    @classmethod
    def learning(cls, nodes: int, size: int) -> Orders:
        """Only learn patterns."""
        return cls(
            np.zeros(nodes, dtype=np.int64),
            np.zeros(nodes, dtype=np.int64),
            np.zeros((nodes, size), dtype=np.int64),
        )


class Walker:
    """Visits shares one after the other, with a tree of patterns of its own if they may be new."""

    def __init__(self, adjacency: Adjacency, traits: Ints, size: int, tree: Tree) -> None:
        self._adjacency, self._traits, self._size, self.tree = adjacency, traits, size, tree
        n = len(adjacency.vertices)
        self._held = adjacency.kinds.copy()
        self._opened = np.empty(n + 1, dtype=np.int32)
        self._head = np.zeros(8, dtype=np.int64)
        self._path = np.zeros((5, size + 1), dtype=np.int64)
        self._out = np.empty((ROWS, size), dtype=np.int64)
        self._patterns = np.empty(ROWS, dtype=np.int64)

    def gather(
        self, share: Share, orders: Orders, quota: int = ENDLESS
    ) -> tuple[list[tuple[Ints, Ints]], int, int]:
        """Visit a share; return the rows handed out with their patterns, and the numbers of sets settled and seen."""
        found: list[tuple[Ints, Ints]] = []
        settled, seen = self.walk(
            share, orders, lambda rows, nodes: found.append((rows, nodes.copy())), quota
        )
        return found, settled, seen

    def walk(self, share: Share, orders: Orders, handler: Handler, quota: int = ENDLESS) -> tuple[int, int]:
        """Visit a share, at most `quota` sets; give the rows handed out to the handler; count sets settled and seen."""
        a, tree, head = self._adjacency, self.tree, self._head
        head[:] = 0
        head[ROOT], head[LEFT] = _root(a, share[0]), quota
        shape = np.array([a.bits, a.low, a.link(self._size), orders.need, orders.most], dtype=np.int64)
        while True:
            head[USED] = tree.used
            why = visit(
                *(a.indptr, a.neighbour, a.tie, *share, shape, self._held, self._opened, head, self._path),
                *(tree.table, tree.nodes, orders.jobs, orders.pools, orders.canonical, self._traits),
                *(orders.blocks, orders.members, self._out, self._patterns),
            )
            tree.used = int(head[USED])
            if count := int(head[LEFT + 1]):
                handler(a.vertices[self._out[:count]], self._patterns[:count])
            if why == DONE:
                return int(head[SETTLED]), int(head[SEEN])
            if why == TABLE_FULL:
                tree.reserve(2 * len(tree.nodes))
                more = Orders.learning(len(tree.nodes), self._size)
                more.jobs[: len(orders.jobs)] = orders.jobs
                more.pools[: len(orders.pools)] = orders.pools
                more.canonical[: len(orders.canonical)] = orders.canonical
                orders.jobs, orders.pools, orders.canonical = more.jobs, more.pools, more.canonical
