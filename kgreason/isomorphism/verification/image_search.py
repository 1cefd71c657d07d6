"""Search for images of single attacked subgraphs in a growing portion of the release."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import chain, combinations, islice

import numpy as np
import numpy.typing as npt

from kgreason.base.divided_work import Advance, divided
from kgreason.base.jit import Ints
from kgreason.base.progress import Progress
from kgreason.graph.sorted_keys import ascending
from kgreason.isomorphism.verification.image_pools import Patterns, Pools, packs, placements, tokens
from kgreason.isomorphism.verification.image_search_kernels import find_images
from kgreason.isomorphism.verification.isomorphism_classes import Catalogue, Scarcity
from kgreason.isomorphism.verification.population import share_counts
from kgreason.isomorphism.verification.release_index import scrambled
from kgreason.isomorphism.verification.subgraph_visits import (
    ENDLESS,
    Share,
    shares,
    work_of,
)

PATIENCE = 1 << 12  # comparisons per X1 while the listing may still bring members
BUDGET = 1 << 24  # comparisons per X1 at the end, before the search by tokens
HARD = 1 << 33  # comparisons of the search by tokens for all X1 of a size together; some minutes
BLOCK = 1 << 11  # attacked subgraphs per thread at a time
SAMPLE = 1 << 14  # members of a class that are reordered so that disjoint ones come first
GIVEN_UP = -1  # replaces the number of rounds of a class with too many members to keep or to visit
PARTS = 1 << 10  # shares of the release
ROUND = 64  # shares visited in the first round; each later round visits GROWTH times as many
GROWTH = 8
FEW_SETS = 1 << 23  # approximate number of sets of a release that are visited in one round
AT_ONCE = 64  # shares visited between counts of the members
STOCK = 1 << 24  # maximum number of stored members
ALL_SUBSETS = 1 << 22  # maximum number of listed sets for attacked subgraphs disconnected in the release
CHUNK = 1 << 16
MANY = 1 << 12  # more attacked subgraphs of a class are not searched one by one during the listing
FEW = 1 << 6  # number of unserved attacked subgraphs above which the pool of a class is extended
PROBED = 1 << 12  # of these, attacked subgraphs for which a new block is tried first


class Search:
    """Image search with the members of classes found so far.

    At most `most` sets of the release are visited; classes that need more are given up. `found` holds the attacked
    subgraphs outside the pools, and their images: vertices by position, shapes (T, x) and (T, k - 1, x).
    """

    def __init__(self, catalogue: Catalogue, pools: Pools, progress: Progress, most: int = ENDLESS) -> None:
        self.catalogue, self.index, self.size = catalogue, catalogue.index, catalogue.size
        self.pools, self.need, self.progress = pools, pools.need, progress
        self.budget, self.left, self.most, self._cut = BUDGET, HARD, most, False
        self.found: list[tuple[Ints, Ints]] = []
        self._stock, self._scarcity = _Stock(self.size), Scarcity(self.index)
        self._hopeless: dict[int, bool] = {}
        self._rounds: dict[int, int] = {}  # number of visited rounds of each class

    @cached_property
    def release(self) -> Patterns:
        """The release, sets of rare degrees last."""
        return Patterns(self.index.rare_first(self.size), self.catalogue)

    @cached_property
    def parts(self) -> list[list[Share]]:
        """Rounds of shares of the release, sets of rare degrees first."""
        if self.size == 1:
            return []
        adjacency = self.release.adjacency
        rest = shares(adjacency, self.size, PARTS)[::-1]
        if self.most < ENDLESS:  # first shares that together have at most `most` sets
            number = share_counts(adjacency, self.size, rest)
            kept = int(np.searchsorted(np.cumsum(number, dtype=np.float64), self.most, side="right"))
            self._cut = kept < len(rest)
            rest = rest[:kept]
        # a small budget finds more images in several rounds
        few = self.budget == BUDGET and work_of(adjacency, self.size).sum() < FEW_SETS
        rounds, count = [], len(rest) if few else ROUND
        while rest:
            rounds.append(rest[:count])
            rest = rest[count:]
            count *= GROWTH
        return rounds

    def members(self, number: int) -> Ints | None:
        """All members of a class if the whole release was visited for it, else `None`."""
        return self._stock.of(number) if self._rounds.get(number, 0) > len(self.parts) else None

    def decide(self, rows: Ints, classes: Ints) -> Ints:
        """Status of attacked subgraphs in canonical order: 1 images, 0 none, -1 undecided."""
        while self.pools.sampled:
            self._stock.add(*self.pools.sampled.pop())
        status = np.zeros(len(rows), dtype=np.int64)
        left = ~np.isin(classes, [c for c in np.unique(classes).tolist() if self._scarce(c)])
        status[left] = self._search(rows[left], classes[left])
        return status

    def _scarce(self, number: int) -> bool:
        """Whether degrees alone show that no member of a class has images."""
        if number not in self._hopeless:
            form = self.catalogue.full.form(number)
            self._hopeless[number] = self._scarcity.of(form, self.need + 1) is not None
        return self._hopeless[number]

    def _search(self, rows: Ints, classes: Ints) -> Ints:
        """Decide with the stored members and, while these do not suffice, with more and more of the release."""
        status = np.full(len(rows), -1, dtype=np.int64)  # 0 until the end: no images among the stored members
        self.attempt(rows, classes, status, np.unique(classes), PATIENCE)
        self.progress.step(f"Searching the release for images of {self.size} vertices")
        while True:
            left = np.unique(classes[status != 1]).tolist()
            wanted = [c for c in left if 0 <= self._rounds.get(c, 0) <= len(self.parts)]
            if not wanted:
                break
            extended = np.array(self._extend(wanted), dtype=np.int64)
            status[(status == 0) & np.isin(classes, extended)] = -1
            self.attempt(rows, classes, status, extended, PATIENCE)
        whole = [c for c, rounds in self._rounds.items() if rounds > len(self.parts)]
        self.attempt(rows, classes, status, np.array(whole, dtype=np.int64), self.budget)
        for i in np.flatnonzero((status == -1) & np.isin(classes, whole)):
            if self.left > 0:
                self._search_exactly(int(i), rows, classes, status)
        status[(status == 0) & ~np.isin(classes, whole)] = -1
        return status

    def _extend(self, wanted: list[int]) -> list[int]:
        """Visit the next round of the release for the wanted classes with the fewest visited rounds.

        Returns the classes that may have other stored members than before.
        """
        at = min(self._rounds.get(c, 0) for c in wanted)
        mine = [c for c in wanted if self._rounds.get(c, 0) == at]
        if at == 0:
            self._stock.forget(mine)
        if at < len(self.parts):
            visited = mine
            self._visit(np.array(mine), self.parts[at])
        elif self._cut:
            visited = []
            self._rounds.update(dict.fromkeys(mine, GIVEN_UP))
        else:
            form, types = self.catalogue.full.form, self.index.ground_types
            visited = [c for c in mine if self.size == 1 or not form(c).connected_ground(types)]
            self._list_all(visited)
        for c in mine:
            if self._rounds.get(c) != GIVEN_UP:
                self._rounds[c] = at + 1
        return visited

    def _list_all(self, wanted: list[int]) -> None:
        """List the members of classes in which ground edges do not connect the vertices, or give them up."""
        n = self.index.graph.n
        if self.size > 1 and math.comb(n, self.size) > ALL_SUBSETS:
            self._rounds.update(dict.fromkeys(wanted, GIVEN_UP))
        elif wanted:
            self._stock.forget(wanted)
            sets = combinations(range(n), self.size)
            while members := list(islice(sets, CHUNK)):
                classes, rows = self.catalogue.classify(np.array(members, dtype=np.int64))
                keep = np.isin(classes, wanted)
                self._stock.add(rows[keep], classes[keep])

    def _visit(self, wanted: Ints, parts: list[Share]) -> None:
        """Collect members of classes in some shares of the release; give up classes with too many."""
        self.release.learn(parts, ENDLESS)
        for begin in range(0, len(parts), AT_ONCE):
            for classes, rows in self.release.members(parts[begin : begin + AT_ONCE], wanted):
                keep = np.isin(classes, wanted)
                self._stock.add(rows[keep], classes[keep])
            wanted = wanted[~np.isin(wanted, self._give_up())]

    def _give_up(self) -> list[int]:
        """Give up the classes with the most members, if there are more members than can be stored."""
        counts = self._stock.counts()
        largest: list[int] = []
        for c in sorted(counts, key=lambda c: (-counts[c], c)):
            if sum(counts.values()) <= STOCK:
                break
            largest.append(c)
            counts[c] = 0
            self._rounds[c] = GIVEN_UP
        return largest

    def attempt(self, rows: Ints, classes: Ints, status: Ints, wanted: Ints, budget: int) -> None:
        """Decide the attacked subgraphs of the wanted classes as far as the members found so far suffice."""
        mine = np.flatnonzero((status < 0) & np.isin(classes, wanted))
        for number, at in _by_class(classes[mine]):
            part = mine[at]
            rest = part[~self._covered(rows[part], number)]
            status[part] = 1
            late = budget == PATIENCE and len(rest) > MANY  # more members will serve many at once
            status[rest] = -1 if late else self._images(rows[rest], number, budget)

    def _covered(self, rows: Ints, number: int) -> npt.NDArray[np.bool_]:
        """Extend the pool of a class; return which attacked subgraphs have their images there."""
        same = np.full(len(rows), number, dtype=np.int64)
        covered = self.pools.settled(rows, same)
        stock = self._stock.of(number)[:SAMPLE]
        placed = stock[:, self.catalogue.full.form(number).automorphisms].reshape(-1, self.size)
        while len(left := np.flatnonzero(~covered)) > FEW and self.pools.room(number):
            rare = ascending(_collisions(rows[left], placed, self.index.traits))
            self.pools.extend(number, placed[rare[:SAMPLE]])
            some = rows[left[:: len(left) // PROBED + 1]]
            if np.count_nonzero(self.pools.settled(some, same[: len(some)])) < 0.25 * len(some):
                break
            covered[left] = self.pools.settled(rows[left], same[left])
        return covered

    def _images(self, rows: Ints, number: int, budget: int) -> Ints:
        pool = _spread(self._stock.of(number))
        traits = self.index.traits
        marks = self.index.degree_marks[rows] @ (len(traits) + 1) ** np.arange(self.size)
        order = np.argsort(marks, kind="stable")
        turns = self.catalogue.full.form(number).automorphisms
        status = np.zeros(len(rows), dtype=np.int64)
        images = np.zeros((len(rows), self.need), dtype=np.int64)
        blocks = np.array_split(order, len(order) // BLOCK + 1)
        work = partial(_searched, rows, blocks, pool, turns, traits, self.need, budget)
        compared = min(len(pool) * len(turns), PATIENCE)
        for number, states, chosen in chain(*divided(work, len(blocks), len(rows) * compared)):
            status[blocks[number]], images[blocks[number]] = states, chosen
        done = np.flatnonzero(status == 1)
        member, turn = np.divmod(images[done], len(turns))
        self.found.append((rows[done], np.take_along_axis(pool[member], turns[turn], axis=2)))
        return status

    def _search_exactly(self, i: int, rows: Ints, classes: Ints, status: Ints) -> None:
        """Decide an attacked subgraph that the kernel gave up."""
        number, traits = int(classes[i]), self.index.traits
        turns = self.catalogue.full.form(number).automorphisms
        placed = placements(rows[i], self._stock.of(number), turns, traits)
        status[i], spent, chosen = packs(tokens(placed, traits), self.need, self.left)
        self.left -= spent
        if status[i] == 1:
            self.found.append((rows[i : i + 1], placed[None, list(chosen)]))


def _searched(
    rows: Ints,
    blocks: Sequence[Ints],
    pool: Ints,
    turns: Ints,
    traits: Ints,
    need: int,
    budget: int,
    numbers: Iterator[int],
    _: Advance,
) -> list[tuple[int, Ints, Ints]]:
    """Status and images of the rows of some blocks."""
    found = []
    for number in numbers:
        mine = rows[blocks[number]]
        chosen = np.zeros((len(mine), need), dtype=np.int64)
        status = find_images(mine, pool, turns, traits, need, PATIENCE, budget, chosen)
        found.append((number, status, chosen))
    return found


class _Stock:
    """Members of classes, sorted by class on demand."""

    def __init__(self, size: int) -> None:
        self._none = np.empty((0, size), dtype=np.int64)
        self._new: list[tuple[Ints, Ints]] = []
        self._members: dict[int, list[Ints]] = {}

    def add(self, members: Ints, classes: Ints) -> None:
        self._new.append((members, classes))

    def forget(self, classes: list[int]) -> None:
        self._settle()
        for c in classes:
            self._members.pop(c, None)

    def _settle(self) -> None:
        if not self._new:
            return
        members, classes = map(np.concatenate, zip(*self._new, strict=True))
        self._new = []
        for number, rows in _by_class(classes):
            self._members.setdefault(number, []).append(members[rows])

    def counts(self) -> dict[int, int]:
        self._settle()
        return {c: sum(map(len, parts)) for c, parts in self._members.items()}

    def of(self, number: int) -> Ints:
        self._settle()
        parts = self._members.get(number, [])
        if len(parts) > 1:
            whole = np.concatenate(parts)
            parts[:] = [whole[scrambled(len(whole))]]
        return parts[0] if parts else self._none


def _by_class(classes: Ints) -> Iterator[tuple[int, Ints]]:
    """Classes that occur, ascending, and the indices of each."""
    order = ascending(classes)
    for part in np.split(order, np.flatnonzero(np.diff(classes[order])) + 1):
        if len(part):
            yield int(classes[part[0]]), part


def _collisions(rows: Ints, placed: Ints, traits: Ints) -> Ints:
    """Number of degree collisions with rows, position by position, of each placement."""
    found = np.zeros(len(placed), dtype=np.int64)
    for p in range(rows.shape[1]):
        for d in range(traits.shape[1] - 1):
            degrees = traits[placed[:, p], d]
            often = np.bincount(traits[rows[:, p], d], minlength=int(degrees.max(initial=0)) + 1)
            found += often[degrees]
    return found


def _spread(pool: Ints) -> Ints:
    """Put members that share no vertex with earlier ones first."""
    # Otherwise a hub, which is in most members of some classes, is also in most of the first ones.
    first = pool[:SAMPLE]
    vertices = first.reshape(-1)
    order = ascending(vertices)
    occurrence = np.empty_like(order)
    occurrence[order] = np.arange(len(order)) - np.searchsorted(vertices[order], vertices[order])
    best = ascending(occurrence.reshape(first.shape).max(axis=1, initial=0))
    return np.concatenate([first[best], pool[SAMPLE:]])
