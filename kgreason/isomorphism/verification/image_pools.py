"""Pools of members of each class that are pairwise apart; most attacked subgraphs have their images in a pool.

If they do not, `packs` decides whether any members of the class are images.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kgreason.base.cores import each
from kgreason.base.divided_work import Advance, divided
from kgreason.graph.sorted_keys import ascending
from kgreason.isomorphism.verification.isomorphism_classes import Catalogue
from kgreason.isomorphism.verification.release_index import Adjacency
from kgreason.isomorphism.verification.subgraph_visits import (
    ENDLESS,
    FREE,
    HANDED,
    SKIPPED,
    Orders,
    Share,
    Tree,
    Walker,
    fill,
    grouped,
    longer,
    settle,
    steps_of,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ints = npt.NDArray[np.int64]
INNER, OPEN = -2, -1  # instead of a class: node with children, pattern of several classes
Flags = npt.NDArray[np.bool_]
ENTRIES = 1 << 11  # adjacency entries at which sets are sampled, of release and original each
QUOTA = 1 << 8  # sets visited at each entry
RAREST = 1 << 19  # approximate number of visited sets of rare degrees
BLOCKS = 1 << 6  # maximum number of blocks of a pool
FEWER = 1 << 4  # groups of shares whose sets are listed, where each call takes few shares
KEPT = 1 << 12  # sampled members of a class that are kept outside its pool
COMPARED = 64  # sets compared with all others at once
SETTLED = 1 << 14  # sets whose images one core looks up at a time
CALL = 1 << 14  # number of comparisons that cost as much as another call of `packs`


class Patterns:
    """Patterns of an adjacency with their classes."""

    def __init__(self, adjacency: Adjacency, catalogue: Catalogue) -> None:
        self.adjacency, self.catalogue, self.size = adjacency, catalogue, catalogue.size
        self.traits = np.ascontiguousarray(catalogue.index.traits[adjacency.vertices])
        self.tree = Tree()
        self.classes = np.empty(0, dtype=np.int64)  # of each node: class, `INNER` or `OPEN`
        self.ground = np.empty(0, dtype=np.int64)  # ground class of each node
        self.canonical = np.empty((0, self.size), dtype=np.int64)  # canonical order of the chosen vertices

    def learn(self, shares: Sequence[Share], quota: int) -> int:
        """Classify the patterns of some shares, at most `quota` sets of each; returns the number of sets."""
        begin, groups = self.tree.used, grouped(shares)
        work = partial(_learned, *self._walk, groups, quota)
        rows, leaves, total = [], [], 0
        for tree, found, count in divided(work, len(groups), self._steps(shares, quota)):
            numbers = self.tree.merge(tree, begin)
            rows += [members for members, _ in found]
            leaves += [numbers[nodes] for _, nodes in found]
            total += count
        if rows:
            self._classify(np.concatenate(rows), np.concatenate(leaves))
        return total

    @property
    def _walk(self) -> tuple[Adjacency, Ints, int, Tree]:
        """Arguments of `Walker`."""
        return self.adjacency, self.traits, self.size, self.tree

    def _steps(self, parts: Sequence[Share], quota: int = ENDLESS) -> float:
        return quota * len(parts) if quota < ENDLESS else steps_of(self.adjacency, self.size, parts)

    def visit(
        self, parts: Sequence[Share], orders: Orders, advance: Advance, fewer: int | None = None
    ) -> tuple[list[tuple[Ints, Ints]], int]:
        """Visit shares with known patterns: rows with their nodes in the order of the shares, and the number settled.

        `fewer`: group shares into about this many tasks; default: one share each.
        """
        groups = [[part] for part in parts] if fewer is None else grouped(parts, fewer)
        some = divided(
            partial(_visited, *self._walk, groups, orders), len(groups), self._steps(parts), advance
        )
        found = sorted((task for tasks, _ in some for task in tasks), key=lambda task: task[0])
        return [pair for _, pairs in found for pair in pairs], sum(settled for _, settled in some)

    def _classify(self, rows: Ints, leaves: Ints) -> None:
        leaves, first = np.unique(leaves, return_index=True)
        # the order must not depend on the thread that found them
        order = np.lexsort(self.tree.paths(leaves, self.size).T[::-1])
        leaves, rows = leaves[order], rows[first[order]]
        classes, orders, ground = self.catalogue.settled(rows)
        length = len(self.tree.nodes)
        self.classes = longer(self.classes, length, INNER)
        self.ground = longer(self.ground, length, INNER)
        self.canonical = longer(self.canonical, length)
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
        ambiguous = np.flatnonzero(self.classes == OPEN)
        if not all_open and self.catalogue.index.shares(self.size):
            ambiguous = ambiguous[np.isin(self.ground[ambiguous], self.catalogue.ground_of[wanted])]
        if all_open or len(wanted):
            jobs[ambiguous] = HANDED
        at = np.flatnonzero(jobs != SKIPPED)
        for _ in range(self.size - 1):
            at = np.unique(self.tree.nodes[at, 0])
            jobs[at] = FREE
        return jobs

    def members(self, parts: Sequence[Share], wanted: Ints | None = None) -> Iterator[tuple[Ints, Ints]]:
        """Classes of the sets of some shares, and their vertices in canonical order.

        Sets of classes that are not `wanted` are left out where their patterns show the class.
        """
        of_class = np.full(len(self.catalogue.full), SKIPPED, dtype=np.int64)
        of_class[slice(None) if wanted is None else wanted] = HANDED
        jobs = self.jobs(of_class, all_open=wanted is None)
        orders = Orders(jobs, np.zeros_like(jobs), self.canonical)
        for rows, nodes in self.visit(parts, orders, lambda _: None, FEWER)[0]:
            yield self.resolve(rows, nodes)

    def resolve(self, rows: Ints, nodes: Ints) -> tuple[Ints, Ints]:
        """Class of each set handed out, and its vertices in canonical order."""
        classes = self.classes[nodes]
        ambiguous = np.flatnonzero(classes < 0)
        if len(ambiguous):
            classes[ambiguous], rows[ambiguous] = self.catalogue.classify(rows[ambiguous])
        return classes, rows


def _learned(
    adjacency: Adjacency,
    traits: Ints,
    size: int,
    known: Tree,
    groups: Sequence[Sequence[Share]],
    quota: int,
    numbers: Iterator[int],
    _: Advance,
) -> tuple[Tree, list[tuple[Ints, Ints]], int]:
    """Tree of the known patterns and those of some groups of shares; a set of each new pattern; number of sets."""
    walker = Walker(adjacency, traits, size, known.copy())
    orders = Orders.learning(len(walker.tree.nodes), size)
    found: list[tuple[Ints, Ints]] = []
    total = 0
    for number in numbers:
        new, _settled, visited = walker.gather(groups[number], orders, quota)
        found += new
        total += visited
    return walker.tree, found, total


def _visited(
    adjacency: Adjacency,
    traits: Ints,
    size: int,
    known: Tree,
    groups: Sequence[Sequence[Share]],
    orders: Orders,
    numbers: Iterator[int],
    advance: Advance,
) -> tuple[list[tuple[int, list[tuple[Ints, Ints]]]], int]:
    """Rows with their nodes that some groups of shares hand out, by group, and the number of sets settled."""
    walker = Walker(adjacency, traits, size, known)
    found, settled = [], 0
    for number in numbers:
        rows, done, visited = walker.gather(groups[number], orders)
        if rows:
            found.append((number, rows))
        settled += done
        advance(visited)
    return found, settled


class Pools:
    """Pools: blocks of class members that are pairwise apart (no common vertex and, by position, no common trait).

    Each vertex of an attacked subgraph is in at most one member of a block, and at its position its in-degree and its
    out-degree occur in at most one member each. So a block of k - 1 + 3x members serves all subgraphs of its class.

    Block b has ``blocks[b, 0]`` rows of `members`, from ``b * most`` on (vertices of the release), and is followed by
    block ``blocks[b, 1]``, or by none if that is negative.
    """

    def __init__(self, catalogue: Catalogue, need: int) -> None:
        self._catalogue, self.need = catalogue, need
        self.most = need + (3 if catalogue.index.distinct else 4) * catalogue.size  # members of a block
        self.first = np.zeros(0, dtype=np.int64)  # first block of each class
        self.blocks = np.zeros((0, 2), dtype=np.int64)
        self.members = np.zeros((0, catalogue.size), dtype=np.int64)
        # Members that were visited, in pools or not, and their classes: the image search begins with them.
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
        self._count = longer(self._count, count, 1)
        self._kept = longer(self._kept, count)
        self._turns = np.concatenate([self._turns, *forms])
        ends = self._starts[-1] + np.cumsum([len(f) for f in forms])
        self._starts = np.concatenate([self._starts, ends.astype(np.int64)])

    def _more(self, count: int) -> Ints:
        new = np.arange(len(self.blocks), len(self.blocks) + count)
        self.blocks = np.concatenate([self.blocks, np.tile([0, -1], (count, 1))])
        self.members = longer(self.members, len(self.blocks) * self.most)
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
            *(self.blocks, self.members, self._catalogue.index.traits),
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
        found = np.zeros(len(rows), dtype=np.bool_)
        rows, first, traits = np.ascontiguousarray(rows), self.first[classes], self._catalogue.index.traits

        def block(begin: int) -> None:
            mine = slice(begin, begin + SETTLED)
            pools = first[mine], self.most, self.blocks, self.members, self.need
            settle(rows[mine], *pools, traits, found[mine])

        each(block, range(0, len(rows), SETTLED))
        return found

    def sample(self, patterns: Patterns, parts: list[Share], quota: int) -> None:
        """Fill the pools of known classes that are not full with sets of some shares."""
        self.reserve()
        known = len(self.first)
        if self.full().all() or not parts:
            return
        patterns.learn(parts, quota)
        self.reserve()
        wanted = ~self.full() & (np.arange(len(self.first)) < known)

        def jobs() -> Ints:
            return patterns.jobs(np.where(wanted, HANDED, SKIPPED))

        orders = Orders(jobs(), np.zeros_like(patterns.classes), patterns.canonical)
        met: list[tuple[Ints, Ints]] = []

        def keep(rows: Ints, nodes: Ints) -> None:
            nonlocal wanted
            learned = nodes < len(patterns.classes)
            classes, rows = patterns.resolve(rows[learned], nodes[learned])
            self.reserve()
            if len(self.first) > len(wanted):  # new classes are not wanted
                wanted = np.append(wanted, np.zeros(len(self.first) - len(wanted), dtype=np.bool_))
            mine = wanted[classes]
            if not mine.all():
                rows, classes = rows[mine], classes[mine]
            self.add(rows, classes)
            met.append((rows, classes))
            full = self.full()
            if (wanted & full).any():
                wanted = wanted & ~full
                changed = jobs()
                orders.jobs[: len(changed)] = changed

        # with branches skipped, the walker visits more than `learn` did and may meet patterns that are not learned yet
        walker = Walker(patterns.adjacency, patterns.traits, patterns.size, patterns.tree.copy())
        for some in grouped(parts):
            walker.walk(some, orders, keep, quota)
        self._keep(met)

    def _keep(self, met: Sequence[tuple[Ints, Ints]]) -> None:
        """Keep the first members of each class, those met last in front."""
        if not met:
            return
        rows, classes = map(np.concatenate, zip(*met, strict=True))
        order = ascending(classes)
        ordered = classes[order]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered) + self._kept[ordered]
        kept = order[rank < KEPT]
        part = np.repeat(np.arange(len(met)), [len(some) for some, _ in met])[kept]
        kept = kept[np.lexsort((kept, -part))]
        self.sampled.append((rows[kept], classes[kept]))
        self._kept += np.bincount(classes[kept], minlength=len(self._kept))


def placements(target: Ints, members: Ints, turns: Ints, traits: Ints) -> Ints:
    """Members of a class (M, x), permuted by its automorphisms (F, x), that are apart from a target (x,); shape (P, x).

    They differ from the target in all traits at every position and share no vertex with it.
    """
    found = [members[:0]]
    for turn in turns:
        placed = members[:, turn]
        apart = (traits[placed] != traits[target][None]).all(axis=(1, 2))
        found.append(placed[apart & ~np.isin(placed, target).any(axis=1)])
    return np.concatenate(found)


def tokens(placed: Ints, traits: Ints) -> csr_array[Any]:
    """Incidence of placements (rows) and tokens: vertices, and at each position the traits.

    Two placements are apart if and only if they have no common token.
    """
    from scipy.sparse import csr_array

    (count, size), many = placed.shape, traits.shape[1]
    slot = np.arange(size * many).reshape(1, size, many)
    marks = len(traits) + slot * (int(traits.max(initial=0)) + 1) + traits[placed]
    ids = np.concatenate([placed, marks.reshape(count, size * many)], axis=1)
    _, dense = np.unique(ids, return_inverse=True)
    starts = np.arange(count + 1) * ids.shape[1]
    ones = np.ones(dense.size, dtype=np.int32)
    return csr_array((ones, dense.reshape(-1), starts), shape=(count, int(dense.max(initial=-1)) + 1))


def packs(sets: csr_array[Any], need: int, budget: int) -> tuple[int, int, tuple[int, ...]]:
    """Decide whether `need` of the sets are pairwise disjoint.

    At most one of them contains the most frequent token, so the others are among the sets without it: only these are
    tried as a start, each against all others. Returns 1 if they exist, 0 if they do not (exact), -1 if the search is
    given up since its cost would exceed `budget`; the number of pairs compared; and the numbers of the chosen sets.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> sets = csr_array(np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]], dtype=np.int32))
    >>> packs(sets, 2, 1 << 20)[::2], packs(sets, 3, 1 << 20)[0]
    ((1, (0, 2)), 0)
    """
    count = sets.shape[0]
    if need <= 1 or count < need:
        return (1, 0, tuple(range(need))) if count >= need else (0, 0, ())
    commonest = int(np.asarray(sets.sum(axis=0)).argmax())
    without = np.flatnonzero(sets[:, [commonest]].toarray().reshape(-1) == 0)
    spent = CALL
    for begin in range(0, len(without), COMPARED):
        starts = without[begin : begin + COMPARED]
        spent += len(starts) * count
        if spent > budget:
            return -1, spent, ()
        disjoint = (sets @ sets[starts].T).toarray() == 0
        if need == 2 and disjoint.any():
            other, column = np.argwhere(disjoint)[0]
            return 1, spent, (int(other), int(starts[column]))
        if need > 2:
            for column in range(len(starts)):
                others = np.flatnonzero(disjoint[:, column])
                status, more, found = packs(sets[others], need - 1, budget - spent)
                spent += more
                if status or spent > budget:
                    chosen = (*others[list(found)].tolist(), int(starts[column])) if found else ()
                    return status or -1, spent, chosen
    return 0, spent, ()
