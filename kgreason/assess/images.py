"""Item 4 of Definition 4.1: which attacked subgraphs have k - 1 images in the release.

Subgraphs X1 of the original and subgraphs of the release fall into classes by KG-isomorphism, each written in
the canonical order of its class. An image of X1 is then a member of its class turned by an automorphism, and
what remains is to find k - 1 of these that share no vertex and no trait at any position. Most X1 find them
among the X1 of their class; for the others the subgraphs of the release are listed, and only those in classes
that still need members are kept. An X1 fails only after all members of its class have been looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import cached_property
from itertools import combinations, islice

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram
from kgreason.assess.packing import packs, placements, tokens
from kgreason.assess.subgraphs import CHUNK, Classes, Pairs, connected_subsets, scrambled
from kgreason.cores import each
from kgreason.graph.facts import InducedReasoner
from kgreason.graph.model import KnowledgeGraph
from kgreason.progress import Progress
from kgreason.records import dataclass

Ints = npt.NDArray[np.int64]

PATIENCE = 1 << 12  # comparisons per X1 while the listing may still bring members
BUDGET = 1 << 24  # comparisons per X1 at the end, before the search by tokens
HARD = 1 << 33  # comparisons of that search for all X1 of a size together; some minutes
BLOCK = 1 << 14  # attacked subgraphs that one thread takes at once
SAMPLE = 1 << 14  # members of a class that are tried before the release is listed
ALL_SUBSETS = 1 << 22  # vertex sets listed at most when an attacked subgraph is disconnected in the release


class Space:
    """The release as the checker sees it: pair types, derived edges, and traits of vertices.

    Attributes
    ----------
    graph, rules
        The release and the rules.
    traits
        In-degree, out-degree and label number of each vertex, int64 (n, 3).
    """

    def __init__(self, graph: KnowledgeGraph, rules: CheckedProgram) -> None:
        self.graph = graph
        self.rules = rules
        self.pairs = Pairs(graph)
        self._reasoner = InducedReasoner(graph, rules)
        _, labels = np.unique(graph.labels.astype(str), return_inverse=True)
        self.traits = np.ascontiguousarray(
            np.stack([graph.in_degree(), graph.out_degree(), labels.reshape(-1).astype(np.int64)], axis=1)
        )

    @cached_property
    def degree_marks(self) -> Ints:
        """A number for each pair of in- and out-degree, to sort by; shape (n,)."""
        degrees, mark = np.unique(self.traits[:, :2], axis=0, return_inverse=True)
        marks: Ints = scrambled(len(degrees))[mark.reshape(-1)]
        return marks

    @cached_property
    def ground_types(self) -> int:
        """Number of types of ground pairs; a full type is ground + this * (bit set of derived predicates)."""
        return len(self.pairs.counts)

    def with_derived(self, members: Ints, ground: Ints) -> Ints:
        """Add to the ground types of all pairs (N, x * x) the derived edges of Σ(A[X])."""
        if not len(members) or not self.rules.derived:
            return ground
        derived = self._reasoner.derived(members)
        bits = (1 << np.arange(len(self.rules.derived), dtype=np.int64))[None, :, None, None]
        sets: Ints = (derived * bits).sum(axis=1).reshape(ground.shape)
        return ground + self.ground_types * sets


@dataclass
class Targets:
    """The attacked subgraphs of one size.

    Attributes
    ----------
    members
        Vertices of the release in canonical order, int64 (T, x).
    classes
        Class of each, int64 (T,).
    status
        1 has its images, 0 has none, -1 not decided; int64 (T,).
    pools
        All members of those classes in which some X1 failed, by class, each of shape (M, x).
    forms
        The classes' canonical forms.
    """

    members: Ints
    classes: Ints
    status: Ints
    forms: Classes
    pools: dict[int, Ints] = field(default_factory=dict)


def attacked_subsets(original: KnowledgeGraph, x: int) -> Iterator[tuple[int, Iterable[Ints]]]:
    """Vertex sets of the original that an attacker may know, by size.

    Those of x vertices that induce a weakly connected subgraph, and each smaller component as a whole.
    """
    _, component = original.components()
    sizes = np.bincount(component)[component] if original.n else component
    order = np.lexsort((component, sizes))
    for size in np.unique(sizes[sizes < x]).tolist():
        yield size, [order[sizes[order] == size].reshape(-1, size)]
    if (sizes >= x).any():
        yield x, connected_subsets(original, x)


def decide(space: Space, size: int, subsets: Iterable[Ints], k: int, progress: Progress) -> Targets:
    """Decide for each vertex set of the release in `subsets` whether it has k - 1 images.

    Parameters
    ----------
    space
        The release.
    size
        Number of vertices of each set.
    subsets
        int64 arrays of shape (any, size).
    """
    search = _Search(space, size, k, progress)
    search.collect(subsets)
    if k > 1:
        search.try_each_other()
        search.try_release()
    else:
        search.targets.status[:] = 1
    return search.targets


class _Search:
    def __init__(self, space: Space, size: int, k: int, progress: Progress) -> None:
        self.space, self.size, self.need, self.progress = space, size, k - 1, progress
        self.ground = Classes(size)
        self.full = Classes(size)
        self.targets = Targets(
            np.empty((0, size), dtype=np.int64),
            np.empty(0, dtype=np.int64),
            np.empty(0, dtype=np.int64),
            self.full,
        )
        self.ground_of_class: dict[int, int] = {}

    def classify(self, members: Ints, ground: Ints, ground_classes: Ints) -> tuple[Ints, Ints]:
        """Full class of each set, and its vertices in canonical order."""
        classes, orders = self.full.classify(self.space.with_derived(members, ground))
        first = np.unique(classes, return_index=True)[1]
        self.ground_of_class.update(zip(classes[first].tolist(), ground_classes[first].tolist(), strict=True))
        return classes, np.take_along_axis(members, orders, axis=1)

    def collect(self, subsets: Iterable[Ints]) -> None:
        """Classify the attacked subgraphs."""
        self.progress.step(f"Listing the attacked subgraphs of {self.size} vertices")
        found: list[tuple[Ints, Ints]] = []
        for members in subsets:
            ground = self.space.pairs.of(members)
            classes, ordered = self.classify(members, ground, self.ground.classify(ground)[0])
            found.append((ordered, classes))
            self.progress.advance(len(members))
        if found:
            self.targets.members = np.concatenate([m for m, _ in found])
            self.targets.classes = np.concatenate([c for _, c in found])
            self.targets.status = np.zeros(len(self.targets.classes), dtype=np.int64)

    def open_classes(self) -> Ints:
        """Classes in which some X1 has no images yet."""
        return np.unique(self.targets.classes[self.targets.status != 1])

    def try_each_other(self) -> None:
        """Look for images among the attacked subgraphs themselves."""
        t = self.targets
        self.progress.step(f"Searching images of the subgraphs of {self.size} vertices", len(t.classes))
        order = np.argsort(t.classes, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(t.classes[order])) + 1):
            if len(rows):
                self.resolve(rows, _sample(t.members[rows], self.space.traits), PATIENCE)
                self.progress.advance(len(rows))

    def resolve(self, rows: Ints, pool: Ints, budget: int) -> None:
        """Search the images of attacked subgraphs, all of one class, in a pool of members of that class."""
        from kgreason.assess.kernels import find_images

        t = self.targets
        traits = self.space.traits
        # where this wraps around, equal degrees are still neighbours of each other, only not of them alone
        marks = self.space.degree_marks[t.members[rows]] @ (len(traits) + 1) ** np.arange(self.size)
        rows = rows[np.argsort(marks)]
        turns = self.full.form(int(t.classes[rows[0]])).automorphisms
        pool = _spread(pool)
        index = unusual_degrees(pool, traits)

        def block(mine: Ints) -> None:
            images = np.empty((len(mine), self.need), dtype=np.int64)
            t.status[mine] = find_images(
                t.members[mine], pool, turns, traits, *index, self.need, PATIENCE, budget, images
            )

        each(block, np.array_split(rows, len(rows) // BLOCK + 1))

    def try_release(self) -> None:
        """Look for images among all subgraphs of the release."""
        open_ = self.open_classes()
        connected = np.array(
            [self.full.form(int(c)).connected_ground(self.space.ground_types) for c in open_], bool
        )
        if connected.any():
            self.stream(connected_subsets(self.space.graph, self.size), open_[connected])
        if not connected.all():
            self.stream_all(open_[~connected])

    def stream_all(self, wanted: Ints) -> None:
        """Look at every vertex set, for classes that are not connected."""
        n = self.space.graph.n
        if math.comb(n, self.size) > ALL_SUBSETS:
            rows = np.isin(self.targets.classes, wanted) & (self.targets.status != 1)
            self.targets.status[rows] = -1
            return
        self.stream(_all_subsets(n, self.size), wanted)

    def stream(self, subsets: Iterable[Ints], wanted: Ints) -> None:
        """List subgraphs of the release, keep those of wanted classes, and try again as they grow."""
        self.progress.step(f"Searching the release for images of {self.size} vertices")
        pool = _Pool(self.size)
        tried = 0
        for members in subsets:
            self.progress.advance(len(members))
            ground = self.space.pairs.of(members)
            ground_classes = self.ground.classify(ground)[0]
            keep = np.isin(ground_classes, [self.ground_of_class[c] for c in wanted.tolist()])
            classes, ordered = self.classify(members[keep], ground[keep], ground_classes[keep])
            keep = np.isin(classes, wanted)
            pool.add(ordered[keep], classes[keep])
            if pool.count >= 4 * tried:
                wanted = self.attempt(pool, wanted, PATIENCE)
                if not len(wanted):
                    return
                tried = max(pool.count, 1)
        wanted = self.attempt(pool, wanted, BUDGET)
        self.decide_hard(pool, wanted)
        wanted = np.intersect1d(self.open_classes(), wanted)
        self.targets.pools.update((c, pool.of(c)) for c in wanted.tolist())

    def decide_hard(self, pool: _Pool, wanted: Ints) -> None:
        """Decide the attacked subgraphs that the kernel gave up."""
        t, traits = self.targets, self.space.traits
        rows = np.flatnonzero((t.status == -1) & np.isin(t.classes, wanted))
        if len(rows):
            self.progress.step(f"Deciding hard cases of {self.size} vertices", len(rows))
        left = HARD
        for row in rows:
            number = int(t.classes[row])
            turns = self.full.form(number).automorphisms
            placed = placements(t.members[row], pool.of(number), turns, traits)
            t.status[row], spent = packs(tokens(placed, traits), self.need, left)
            left -= spent
            self.progress.advance()

    def attempt(self, pool: _Pool, wanted: Ints, budget: int) -> Ints:
        """Resolve what can be resolved with the members so far; return the classes still open."""
        t = self.targets
        pool.settle(wanted)
        rows = np.flatnonzero((t.status != 1) & np.isin(t.classes, wanted))
        rows = rows[np.argsort(t.classes[rows], kind="stable")]
        for mine in np.split(rows, np.flatnonzero(np.diff(t.classes[rows])) + 1):
            if len(mine):
                self.resolve(mine, pool.of(int(t.classes[mine[0]])), budget)
        return np.intersect1d(self.open_classes(), wanted)


class _Pool:
    """Members of classes, as they come in."""

    def __init__(self, size: int) -> None:
        self.count = 0
        self._new: list[tuple[Ints, Ints]] = []
        self._members = np.empty((0, size), dtype=np.int64)
        self._classes = np.empty(0, dtype=np.int64)

    def add(self, members: Ints, classes: Ints) -> None:
        """Take members in."""
        self._new.append((members, classes))
        self.count += len(members)

    def settle(self, wanted: Ints) -> None:
        """Sort the members by class and forget those that are no longer wanted."""
        members = np.concatenate([self._members, *(m for m, _ in self._new)])
        classes = np.concatenate([self._classes, *(c for _, c in self._new)])
        self._new = []
        order = scrambled(len(classes))
        order = order[np.isin(classes[order], wanted)]
        order = order[np.argsort(classes[order], kind="stable")]
        self._members, self._classes, self.count = members[order], classes[order], len(order)

    def of(self, number: int) -> Ints:
        """Members of a class, in no particular order."""
        first, stop = np.searchsorted(self._classes, [number, number + 1])
        return self._members[first:stop]


def unusual_degrees(pool: Ints, traits: Ints) -> tuple[Ints, Ints, Ints]:
    """List the members whose degree at a position is not the usual one there, where these are few.

    An attacked subgraph with the usual degree can only have images among them.

    Returns
    -------
    usual, start, unusual
        As `find_images` takes them.
    """
    usual: list[int] = []
    rows: list[Ints] = []
    for q in range(pool.shape[1]):
        for d in range(2):
            degrees = traits[pool[:, q], d]
            usual.append(int(np.bincount(degrees, minlength=1).argmax()))
            rows.append(np.flatnonzero(degrees != usual[-1]))
            if len(rows[-1]) > len(pool) // 4:
                usual[-1], rows[-1] = -1, rows[-1][:0]
    start = np.cumsum([0, *map(len, rows)])
    return np.array(usual, dtype=np.int64), start.astype(np.int64), np.concatenate(rows).astype(np.int64)


def _sample(members: Ints, traits: Ints) -> Ints:
    """Some members, half of them with unusual degrees, which differ from most others."""
    if len(members) <= SAMPLE:
        return members
    order = scrambled(len(members))
    _, _, unusual = unusual_degrees(members, traits)
    odd = np.bincount(unusual, minlength=len(members))
    half = SAMPLE // 2
    picked: Ints = np.concatenate([order[np.argsort(-odd[order], kind="stable")[:half]], order[:half]])
    sample: Ints = members[picked]
    return sample


def _spread(pool: Ints) -> Ints:
    """Put members that share no vertex with earlier ones first, so that they go together.

    Without that a hub, which is in most members of some classes, is also in most of the first ones.
    """
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
