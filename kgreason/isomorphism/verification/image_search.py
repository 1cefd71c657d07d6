"""Search for images of single attacked subgraphs in a growing portion of the release."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kgreason.base.cores import each
from kgreason.base.progress import Progress
from kgreason.isomorphism.verification.image_pools import Patterns, Pools
from kgreason.isomorphism.verification.isomorphism_classes import scrambled
from kgreason.isomorphism.verification.population import pick
from kgreason.isomorphism.verification.release_index import Catalogue, Scarcity
from kgreason.isomorphism.verification.subgraph_visits import (
    ENDLESS,
    HANDED,
    SKIPPED,
    Orders,
    Share,
    Walker,
    shares,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ints = npt.NDArray[np.int64]

PATIENCE = 1 << 12  # comparisons per X1 while the listing may still bring members
BUDGET = 1 << 24  # comparisons per X1 at the end, before the search by tokens
HARD = 1 << 33  # comparisons of the search by tokens for all X1 of a size together; some minutes
BLOCK = 1 << 14  # attacked subgraphs per thread at a time
SAMPLE = 1 << 14  # members of a class that are reordered so that disjoint ones come first
GIVEN_UP = -1  # replaces the number of rounds of a class with too many members to keep or to visit
PARTS = 1 << 10  # shares of the release
ROUND = 64  # shares visited in the first round; each later round visits GROWTH times as many
GROWTH = 8
AT_ONCE = 64  # shares visited between counts of the members
STOCK = 1 << 24  # maximum number of stored members
ALL_SUBSETS = 1 << 22  # maximum number of listed sets for attacked subgraphs disconnected in the release
CHUNK = 1 << 16
MANY = 1 << 12  # more attacked subgraphs of a class are not searched one by one during the listing
FEW = 1 << 6  # number of unserved attacked subgraphs above which the pool of a class is extended


class Search:
    """Image search with the members of classes found so far.

    Attributes
    ----------
    most
        Maximum number of sets of the release that are visited; classes that need more are given up.
    found
        Attacked subgraphs outside the pools, and their images: vertices by position, shapes (T, x) and (T, k - 1, x).
    """

    def __init__(self, catalogue: Catalogue, pools: Pools, progress: Progress, most: int = ENDLESS) -> None:
        self.catalogue, self.space, self.size = catalogue, catalogue.space, catalogue.size
        self.pools, self.need, self.progress = pools, pools.need, progress
        self.budget, self.left, self.most, self._cut = BUDGET, HARD, most, False
        self.found: list[tuple[Ints, Ints]] = []
        self._stock, self._scarcity = _Stock(self.size), Scarcity(self.space)
        self._hopeless: dict[int, bool] = {}
        self._rounds: dict[int, int] = {}  # number of visited rounds of each class

    @cached_property
    def release(self) -> Patterns:
        """The release, sets of rare degrees last."""
        return Patterns(self.space.rare_first(self.size), self.catalogue)

    @cached_property
    def parts(self) -> list[list[Share]]:
        """Rounds of shares of the release, sets of rare degrees first."""
        if self.size == 1:
            return []
        rest = self._affordable(shares(self.release.adjacency, self.size, PARTS)[::-1])
        rounds, count = [], ROUND
        while rest:
            rounds.append(rest[:count])
            rest = rest[count:]
            count *= GROWTH
        return rounds

    def _affordable(self, parts: list[Share]) -> list[Share]:
        """First shares that together have at most `most` sets."""
        if self.most >= ENDLESS:
            return parts
        counts = each(lambda share: pick(self.release.adjacency, self.size, share)[0], parts)
        kept = int(np.searchsorted(np.cumsum(counts, dtype=np.float64), self.most, side="right"))
        self._cut = kept < len(parts)
        return parts[:kept]

    def members(self, number: int) -> Ints | None:
        """All members of a class if the whole release was visited for it, else `None`."""
        return self._stock.of(number) if self._rounds.get(number, 0) > len(self.parts) else None

    def decide(self, rows: Ints, classes: Ints) -> Ints:
        """Status of attacked subgraphs in canonical order: 1 images, 0 none, -1 undecided."""
        while self.pools.sampled:
            self._stock.add(*self.pools.sampled.pop())
        status = np.zeros(len(rows), dtype=np.int64)
        open_ = ~np.isin(classes, [c for c in np.unique(classes).tolist() if self._scarce(c)])
        status[open_] = self._visited(rows[open_], classes[open_])
        return status

    def _scarce(self, number: int) -> bool:
        """Whether degrees alone show that no member of a class has images."""
        if number not in self._hopeless:
            form = self.catalogue.full.form(number)
            self._hopeless[number] = self._scarcity.of(form, self.need + 1) is not None
        return self._hopeless[number]

    def _visited(self, rows: Ints, classes: Ints) -> Ints:
        """Decide with the stored members and, while these do not suffice, with more and more of the release."""
        status = np.zeros(len(rows), dtype=np.int64)
        self.attempt(rows, classes, status, np.unique(classes), PATIENCE)
        self.progress.step(f"Searching the release for images of {self.size} vertices")
        while True:
            left = np.unique(classes[status != 1]).tolist()
            wanted = np.array(
                [c for c in left if 0 <= self._rounds.get(c, 0) <= len(self.parts)], dtype=np.int64
            )
            if not len(wanted):
                break
            self._extend(wanted)
            self.attempt(rows, classes, status, wanted, PATIENCE)
        whole = [c for c, rounds in self._rounds.items() if rounds > len(self.parts)]
        self.attempt(rows, classes, status, np.array(whole, dtype=np.int64), self.budget)
        for i in np.flatnonzero((status == -1) & np.isin(classes, whole)):
            if self.left > 0:
                self._hard(int(i), rows, classes, status)
        status[(status == 0) & ~np.isin(classes, whole)] = -1
        return status

    def _extend(self, wanted: Ints) -> None:
        """Visit the next round of the release for the wanted classes with the fewest visited rounds."""
        at = min(self._rounds.get(c, 0) for c in wanted.tolist())
        mine = [c for c in wanted.tolist() if self._rounds.get(c, 0) == at]
        if at == 0:
            self._stock.forget(mine)
        if at == len(self.parts) and self._cut:
            self._rounds.update(dict.fromkeys(mine, GIVEN_UP))
            return
        form = self.catalogue.full.form
        loose = [c for c in mine if not form(c).connected_ground(self.space.ground_types)]
        if at == len(self.parts):
            if loose or self.size == 1:
                mine = self._list_all(mine if self.size == 1 else loose, mine)
        else:
            self._visit(np.array(mine), self.parts[at])
        for c in mine:
            if self._rounds.get(c) != GIVEN_UP:
                self._rounds[c] = at + 1

    def _list_all(self, wanted: list[int], mine: list[int]) -> list[int]:
        n = self.space.graph.n
        if self.size > 1 and math.comb(n, self.size) > ALL_SUBSETS:
            for c in wanted:
                self._rounds[c] = GIVEN_UP
            return [c for c in mine if c not in wanted]
        self._stock.forget(wanted)
        for members in _all_subsets(n, self.size):
            classes, rows = self.catalogue.classify(members)
            keep = np.isin(classes, wanted)
            self._stock.add(rows[keep], classes[keep])
        return mine

    def _visit(self, wanted: Ints, parts: list[Share]) -> None:
        """Collect members of classes in some shares of the release; give up classes with too many."""
        self.release.learn(parts, ENDLESS)
        for begin in range(0, len(parts), AT_ONCE):
            self._collect(wanted, parts[begin : begin + AT_ONCE])
            wanted = wanted[~np.isin(wanted, self._given_up())]

    def _given_up(self) -> list[int]:
        """Classes with the most members, if there are more members than can be stored."""
        counts = self._stock.counts()
        most: list[int] = []
        for c in sorted(counts, key=lambda c: (-counts[c], c)):
            if sum(counts.values()) <= STOCK:
                break
            most.append(c)
            counts[c] = 0
            self._rounds[c] = GIVEN_UP
        return most

    def _collect(self, wanted: Ints, parts: list[Share]) -> None:
        asked = np.full(len(self.catalogue.full), SKIPPED, dtype=np.int64)
        asked[wanted] = HANDED
        release = self.release
        jobs = release.jobs(asked)
        orders = Orders(jobs, np.zeros_like(jobs), release.canonical)

        def visit(share: Share) -> list[tuple[Ints, Ints]]:
            walker = Walker(release.adjacency, release.traits, self.size, release.tree)
            return walker.gather(share, orders)[0]

        for rows, nodes in (part for found in each(visit, parts) for part in found):
            classes, rows = release.resolve(rows, nodes)
            keep = np.isin(classes, wanted)
            self._stock.add(rows[keep], classes[keep])

    def attempt(self, rows: Ints, classes: Ints, status: Ints, wanted: Ints, budget: int) -> None:
        """Decide the attacked subgraphs of the wanted classes as far as the members found so far suffice."""
        mine = np.flatnonzero((status != 1) & np.isin(classes, wanted))
        mine = mine[np.argsort(classes[mine], kind="stable")]
        for part in np.split(mine, np.flatnonzero(np.diff(classes[mine])) + 1):
            if len(part):
                number = int(classes[part[0]])
                rest = part[~self._covered(rows[part], number)]
                status[part] = 1
                late = budget == PATIENCE and len(rest) > MANY  # more members will serve many at once
                status[rest] = 0 if late else self._images(rows[rest], number, budget)

    def _covered(self, rows: Ints, number: int) -> npt.NDArray[np.bool_]:
        """Extend the pool of a class; return which attacked subgraphs have their images there."""
        same = np.full(len(rows), number, dtype=np.int64)
        covered = self.pools.settled(rows, same)
        stock = self._stock.of(number)[:SAMPLE]
        turns = self.catalogue.full.form(number).automorphisms
        while len(left := np.flatnonzero(~covered)) > FEW and self.pools.room(number):
            placed = stock[:, turns].reshape(-1, self.size)
            rare = np.argsort(_collisions(rows[left], placed, self.space.traits), kind="stable")
            self.pools.extend(number, placed[rare[:SAMPLE]])
            covered[left] = self.pools.settled(rows[left], same[left])
            if np.count_nonzero(~covered) > 0.75 * len(left):
                break
        return covered

    def _images(self, rows: Ints, number: int, budget: int) -> Ints:
        from kgreason.isomorphism.verification.image_kernels import find_images

        pool = _spread(self._stock.of(number))
        traits = self.space.traits
        marks = self.space.degree_marks[rows] @ (len(traits) + 1) ** np.arange(self.size)
        order = np.argsort(marks, kind="stable")
        turns = self.catalogue.full.form(number).automorphisms
        status = np.zeros(len(rows), dtype=np.int64)
        images = np.zeros((len(rows), self.need), dtype=np.int64)

        def block(mine: Ints) -> None:
            chosen = np.zeros((len(mine), self.need), dtype=np.int64)
            status[mine] = find_images(rows[mine], pool, turns, traits, self.need, PATIENCE, budget, chosen)
            images[mine] = chosen

        each(block, np.array_split(order, len(order) // BLOCK + 1))
        done = np.flatnonzero(status == 1)
        member, turn = np.divmod(images[done], len(turns))
        placed = np.take_along_axis(pool[member], turns[turn], axis=2)
        self.found.append((rows[done], placed))
        return status

    def _hard(self, i: int, rows: Ints, classes: Ints, status: Ints) -> None:
        """Decide an attacked subgraph that the kernel gave up."""
        number, traits = int(classes[i]), self.space.traits
        turns = self.catalogue.full.form(number).automorphisms
        placed = placements(rows[i], self._stock.of(number), turns, traits)
        status[i], spent, chosen = packs(tokens(placed, traits), self.need, self.left)
        self.left -= spent
        if status[i] == 1:
            self.found.append((rows[i : i + 1], placed[None, list(chosen)]))


class _Stock:
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
        members = np.concatenate([m for m, _ in self._new])
        classes = np.concatenate([c for _, c in self._new])
        self._new = []
        order = np.argsort(classes, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(classes[order])) + 1):
            if len(part):
                self._members.setdefault(int(classes[part[0]]), []).append(members[part])

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


def _collisions(rows: Ints, placed: Ints, traits: Ints) -> Ints:
    """Number of degree collisions with rows, position by position, of each placement."""
    found = np.zeros(len(placed), dtype=np.int64)
    for p in range(rows.shape[1]):
        for d in range(2):
            degrees = traits[placed[:, p], d]
            often = np.bincount(traits[rows[:, p], d], minlength=int(degrees.max(initial=0)) + 1)
            found += often[degrees]
    return found


def _spread(pool: Ints) -> Ints:
    """Put members that share no vertex with earlier ones first."""
    # Otherwise a hub, which is in most members of some classes, is also in most of the first ones.
    first = pool[:SAMPLE]
    vertices = first.reshape(-1)
    order = np.argsort(vertices, kind="stable")
    begins = np.searchsorted(vertices[order], vertices[order])
    occurrence = np.empty_like(order)
    occurrence[order] = np.arange(len(order)) - begins
    best = np.argsort(occurrence.reshape(first.shape).max(axis=1, initial=0), kind="stable")
    return np.concatenate([first[best], pool[SAMPLE:]])


def _all_subsets(n: int, size: int) -> Iterator[Ints]:
    sets = combinations(range(n), size)
    while part := list(islice(sets, CHUNK)):
        yield np.array(part, dtype=np.int64)


COMPARED = 64  # sets compared with all others at once
CALL = 1 << 14  # number of comparisons that cost as much as another call of `packs`


def placements(target: Ints, members: Ints, turns: Ints, traits: Ints) -> Ints:
    """List the placements of members that are apart from a target.

    Parameters
    ----------
    target
        Vertices in canonical order, shape (x,).
    members, turns
        Members of the class of the target, shape (M, x), and the automorphisms of the class, shape (F, x).
    traits
        In-degree, out-degree and label number of each vertex, shape (n, 3).

    Returns
    -------
    ndarray
        int64 (P, x): they differ from the target in all traits at every position and share no vertex with it.
    """
    found = [members[:0]]
    for turn in turns:
        placed = members[:, turn]
        apart = (traits[placed] != traits[target][None]).all(axis=(1, 2))
        found.append(placed[apart & ~np.isin(placed, target).any(axis=1)])
    return np.concatenate(found)


def tokens(placed: Ints, traits: Ints) -> csr_array[Any]:
    """Tokens of placements: the vertices, and at each position an in-degree, an out-degree and a label.

    Two placements are apart if and only if they have no common token.

    Returns
    -------
    csr_array
        Incidence of placements (rows) and tokens, int32.
    """
    from scipy.sparse import csr_array

    count, size = placed.shape
    n = len(traits)
    vertices = placed.reshape(count, size)
    place = np.arange(size * 3).reshape(1, size, 3)
    most = int(traits.max(initial=0)) + 1
    marks = n + place * most + traits[placed]
    ids = np.concatenate([vertices, marks.reshape(count, size * 3)], axis=1)
    _, dense = np.unique(ids, return_inverse=True)
    starts = np.arange(count + 1) * ids.shape[1]
    ones = np.ones(dense.size, dtype=np.int32)
    return csr_array((ones, dense.reshape(-1), starts), shape=(count, int(dense.max(initial=-1)) + 1))


def packs(sets: csr_array[Any], need: int, budget: int) -> tuple[int, int, tuple[int, ...]]:
    """Decide whether `need` of the sets are pairwise disjoint.

    At most one of them contains the most frequent token, so the others are among the sets without it: only these are
    tried as a start, each against all others.

    Returns
    -------
    status, spent, chosen
        Status (1 they exist, 0 they do not (exact), -1 given up as the cost would exceed `budget`), number of pairs
        compared, and numbers of the chosen sets.

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
