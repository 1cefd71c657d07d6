"""Candidates of each vertex among the occurrences of the connected subgraphs around it.

An attacker who knows X, with the vertex v in it, finds all occurrences of X in the graph. The candidates of v are the
vertices that correspond to v in an occurrence. A *position* is a KG-isomorphism class with an orbit of its
automorphisms: the vertices at a position are indistinguishable by the class.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.divided_work import Advance, divided
from kgreason.base.errors import AnonymizationError
from kgreason.base.jit import Bytes, Flags, Ints, Rows, kernel
from kgreason.base.progress import Progress
from kgreason.base.records import record
from kgreason.isomorphism.settings import MAX_SUBGRAPHS
from kgreason.isomorphism.verification.image_pools import Patterns
from kgreason.isomorphism.verification.isomorphism_classes import Catalogue, Classes
from kgreason.isomorphism.verification.population import count_connected
from kgreason.isomorphism.verification.release_index import Adjacency, ReleaseIndex, scrambled, undirected
from kgreason.isomorphism.verification.subgraph_visits import (
    ENDLESS,
    HANDED,
    SHARES,
    Orders,
    Share,
    Tree,
    Walker,
    shares,
    steps_of,
)

SAMPLED = 1 << 6  # stored subgraphs of each class
ROOM = 1 << 31  # maximum number of bytes of the position bits
PART = 1 << 15  # approximate number of sets of a share
_LOCK = threading.Lock()
PENDING = 1 << 18  # number of buffered rows at which the sample is updated

Bits = npt.NDArray[np.uint8]


@kernel
def mark(rows: Rows, positions: Rows, width: int, bits: Bytes) -> None:
    """Set the bit of vertex ``rows[i, p]`` at position ``positions[i, p]``; a position has `width` bytes of `bits`."""
    for i in range(rows.shape[0]):
        for p in range(rows.shape[1]):
            v = rows[i, p]
            bits[positions[i, p] * width + (v >> 3)] |= 1 << (v & 7)


@kernel
def first_counts(order: Ints, counts: Ints, width: int, bits: Bytes, found: Ints) -> None:
    """Assign each vertex the count of the first position, in ascending order of counts, at which it occurs.

    `found` is -1 for vertices without a count; a vertex at no position keeps it.
    """
    left = len(found)
    i = 0
    while i < len(order) and left > 0:
        position = order[i]
        for b in range(width):
            byte = bits[position * width + b]
            if byte:
                for r in range(8):
                    v = 8 * b + r
                    if byte >> r & 1 and found[v] < 0:
                        found[v] = counts[position]
                        left -= 1
        i += 1


@dataclass(eq=False)
class Incidence:
    """Incidence of vertices and positions: `bits` has one bit for each position and vertex.

    `positions` are the numbers of the positions of each class, shape (classes, x).
    """

    n: int
    forms: Classes
    bits: Bits = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))
    count: int = 0

    def __post_init__(self) -> None:
        self.positions = np.empty((0, self.forms.size), dtype=np.int64)
        self.width = (self.n + 7) // 8

    def reserve(self) -> None:
        """Allocate the positions of new classes."""
        new = []
        for number in range(len(self.positions), len(self.forms)):
            orbits = self.forms.form(number).automorphisms.min(axis=0)
            _, positions = np.unique(orbits, return_inverse=True)
            new.append(positions.reshape(-1) + self.count)
            self.count += int(positions.max()) + 1
        if not new:
            return
        self.positions = np.concatenate([self.positions, np.array(new, dtype=np.int64)])
        if (wanted := self.count * self.width) > len(self.bits):
            if wanted > ROOM:
                raise AnonymizationError(
                    f"subgraphs of {self.forms.size} vertices have too many kinds to be compared",
                    hint="choose a smaller x",
                )
            more = np.zeros(max(wanted, min(2 * len(self.bits), ROOM)), dtype=np.uint8)
            more[: len(self.bits)] = self.bits
            self.bits = more

    def add(self, rows: Ints, classes: Ints) -> None:
        """Record sets in canonical order."""
        self.reserve()
        mark(np.ascontiguousarray(rows), self.positions[classes], self.width, self.bits)

    def merge(self, other: Incidence) -> None:
        """Add what another incidence of some of these classes records."""
        self.reserve()
        size = other.count * other.width
        self.bits[:size] |= other.bits[:size]

    def counts(self, first: int = 0, stop: int | None = None) -> Ints:
        """Number of vertices in ``[first, stop)`` at each position."""
        wanted = np.zeros(self.n, dtype=np.bool_)
        wanted[first:stop] = True
        mask = np.packbits(wanted, bitorder="little")
        bits = self.bits[: self.count * self.width].reshape(self.count, self.width)
        return np.array([np.bitwise_count(row & mask).sum() for row in bits], dtype=np.int64)

    def values(self, trait: Ints) -> Ints:
        """Number of different values of a trait of the vertices, shape (n,), at each position."""
        kinds, kind = np.unique(trait, return_inverse=True)
        bits = self.bits[: self.count * self.width].reshape(self.count, self.width)
        found = np.zeros(self.count, dtype=np.int64)
        for position, row in enumerate(bits):
            occurs = np.zeros(len(kinds), dtype=np.bool_)
            occurs[kind[np.unpackbits(row, count=self.n, bitorder="little").view(np.bool_)]] = True
            found[position] = occurs.sum()
        return found

    def fewest(self, counts: Ints) -> Ints:
        """Smallest count of the positions of each vertex, shape (n,); -1 if it has none."""
        found = np.full(8 * self.width, -1, dtype=np.int64)
        first_counts(np.argsort(counts, kind="stable"), counts, self.width, self.bits, found)
        return found[: self.n]


@dataclass(eq=False)
class Sample:
    """Random sample of the sets of each class: those with the smallest keys."""

    size: int
    marks: npt.NDArray[np.uint64]

    def __post_init__(self) -> None:
        self.rows = np.empty((0, self.size), dtype=np.int64)
        self.classes = np.empty(0, dtype=np.int64)
        self._keys = np.empty(0, dtype=np.uint64)
        self._bound = np.empty(0, dtype=np.uint64)
        self._new: list[tuple[Ints, Ints, npt.NDArray[np.uint64]]] = []
        self._waiting = 0

    def add(self, rows: Ints, classes: Ints) -> None:
        """Add the sets whose keys are among the smallest of their class so far."""
        keys = self.marks[rows].sum(axis=1, dtype=np.uint64)
        more = int(classes.max(initial=-1)) + 1 - len(self._bound)
        if more > 0:
            self._bound = np.concatenate([self._bound, np.full(more, np.iinfo(np.uint64).max)])
        mine = keys <= self._bound[classes]
        self._new.append((rows[mine], classes[mine], keys[mine]))
        self._waiting += int(mine.sum())
        if self._waiting > PENDING:
            self.settle()

    def settle(self) -> None:
        """Reduce the sample to the sets with the smallest keys."""
        if not self._new:
            return
        parts = [(self.rows, self.classes, self._keys), *self._new]
        rows, classes, keys = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.lexsort((keys, classes))
        rank = np.arange(len(order)) - np.searchsorted(classes[order], classes[order])
        last = order[rank == SAMPLED - 1]
        self._bound = self._bound.copy()  # that of a copy is read-only
        self._bound[classes[last]] = keys[last]
        order = order[rank < SAMPLED]
        self.rows, self.classes, self._keys = rows[order], classes[order], keys[order]
        self._new, self._waiting = [], 0

    def merge(self, other: Sample) -> None:
        """Add another sample of sets with the same marks."""
        other.settle()
        self.add(other.rows, other.classes)

    def some(self, each: int) -> tuple[Ints, Ints]:
        """At most `each` sets of each class, and their classes."""
        kept = np.arange(len(self.classes)) - np.searchsorted(self.classes, self.classes) < each
        return self.rows[kept], self.classes[kept]


@dataclass(eq=False)
class Tally:
    """What a survey records of sets in canonical order.

    Attributes
    ----------
    resolve
        Classifies rows of patterns of several classes, given their nodes; copies in other processes have none.
    counts
        Number of sets of each class.
    open
        In other processes, the rows of patterns of several classes, and their nodes.
    """

    full: Incidence
    drawn: Sample
    resolve: Callable[[Ints, Ints], tuple[Ints, Ints]] | None = None
    counts: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    open: list[tuple[Ints, Ints]] = field(default_factory=list)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "resolve": None}

    def take(self, classes: Ints, rows: Ints) -> None:
        """Record sets."""
        self._count(np.bincount(classes))
        self.full.add(rows, classes)
        self.drawn.add(rows, classes)

    def take_open(self, rows: Ints, nodes: Ints) -> None:
        """Record sets of patterns of several classes, or keep them for who can classify them."""
        if self.resolve is None:
            self.open.append((rows, nodes))
        else:
            self.take(*self.resolve(rows, nodes))

    def _count(self, counts: Ints) -> None:
        more = np.zeros(max(len(counts), len(self.counts)), dtype=np.int64)
        more[: len(self.counts)] = self.counts
        more[: len(counts)] += counts
        self.counts = more

    def merge(self, other: Tally) -> None:
        """Add what another tally of some of these classes records."""
        self._count(other.counts)
        self.full.merge(other.full)
        self.drawn.merge(other.drawn)
        for rows, nodes in other.open:
            self.take_open(rows, nodes)


@record(eq=False)
class Survey:
    """Classes and candidate counts of the connected sets of one size.

    Attributes
    ----------
    total
        Number of sets; `None`: more than a billion.
    examined
        Number of examined sets: all, or those of random shares of the graph.
    catalogue, counts
        KG-isomorphism classes, and the number of examined sets of each.
    full, ground
        Incidence of vertices and positions by ground and derived edges, and by ground edges alone.
    drawn
        Sample of the sets of each class.
    """

    size: int
    total: int | None
    examined: int
    catalogue: Catalogue
    counts: Ints
    full: Incidence
    ground: Incidence
    drawn: Sample

    @property
    def exact(self) -> bool:
        """Whether all sets were examined."""
        return self.examined == self.total

    def diverse(self, k: int) -> Flags:
        """Whether the members of each class have at least k in-degrees and k out-degrees at every position, if known.

        No member of another class has k - 1 images, as these and the member differ in both degrees at every position.
        """
        if not self.exact:
            return np.ones(len(self.catalogue.full), dtype=np.bool_)
        degrees = self.catalogue.index.traits[:, :2].T
        values = np.min([self.full.values(degree) for degree in degrees], axis=0)
        found: Flags = (values[self.full.positions] >= k).all(axis=1)
        return found


def survey(index: ReleaseIndex, size: int, most: int, rng: np.random.Generator, progress: Progress) -> Survey:
    """Examine all connected sets of a size, or those of random shares of the graph if there are more than `most`.

    Raises
    ------
    AnonymizationError
        If they have too many classes.
    """
    n, catalogue = index.graph.n, Catalogue(index, size)
    marks = rng.integers(0, 2**64, n, dtype=np.uint64)
    tally = Tally(Incidence(n, catalogue.full), Sample(size, marks))
    if size == 1:
        total = n
        tally.take(*catalogue.classify(np.arange(n, dtype=np.int64)[:, None]))
    else:
        progress.step(f"Counting the connected subgraphs of {size} vertices")
        total = count_connected(undirected(index.graph), size, MAX_SUBGRAPHS)
        _visit(catalogue, tally, total, most, rng, progress)
    tally.drawn.settle()
    tally.full.reserve()
    counts = np.pad(tally.counts, (0, len(catalogue.full) - len(tally.counts)))
    known = total if total <= MAX_SUBGRAPHS else None
    ground = _ground(catalogue, tally.full)
    return Survey(size, known, int(counts.sum()), catalogue, counts, tally.full, ground, tally.drawn)


def _visit(
    catalogue: Catalogue,
    tally: Tally,
    total: int,
    most: int,
    rng: np.random.Generator,
    progress: Progress,
) -> None:
    """Visit all sets, or those of random shares if there are too many."""
    index, size = catalogue.index, catalogue.size
    adjacency = index.bonds(size).attacked(index.graph, np.arange(index.graph.n))
    all_shares = shares(adjacency, size, max(SHARES, min(total, MAX_SUBGRAPHS) // PART))
    quota = ENDLESS
    if total <= most:
        chosen = [all_shares[i] for i in scrambled(len(all_shares))]
    else:
        some = max(1, len(all_shares) * most // total)
        chosen = [all_shares[i] for i in rng.permutation(len(all_shares))[:some]]
        quota = max(1, most // some)
    progress.step(f"Listing the patterns of {size} vertices")
    patterns = Patterns(adjacency, catalogue)
    tally.resolve = patterns.resolve
    patterns.learn(chosen, quota)
    progress.step(f"Visiting subgraphs of {size} vertices", min(total, most))
    if not chosen or not total:
        return
    jobs = patterns.jobs(np.full(len(catalogue.full), HANDED), all_open=True)
    orders = Orders(jobs, np.zeros_like(jobs), patterns.canonical)
    walk = adjacency, patterns.traits, size, patterns.tree
    work = partial(_taken, walk, patterns.classes, chosen, orders, quota, tally)
    steps = min(steps_of(adjacency, size, chosen), float(most))
    for found in divided(work, len(chosen), steps, progress.advance):
        if found is not tally:  # of another process
            tally.merge(found)


def _taken(
    walk: tuple[Adjacency, Ints, int, Tree],
    known: Ints,
    chosen: Sequence[Share],
    orders: Orders,
    quota: int,
    tally: Tally,
    numbers: Iterator[int],
    advance: Advance,
) -> Tally:
    """Record the sets of some shares, those of `known` classes at once; threads share the tally."""

    def handle(rows: Ints, nodes: Ints) -> None:
        classes = known[nodes]
        sure = classes >= 0
        with _LOCK:
            tally.take(classes[sure], rows[sure])
            if not sure.all():
                tally.take_open(rows[~sure], nodes[~sure])
        advance(len(rows))

    walker = Walker(*walk)
    for number in numbers:
        walker.walk([chosen[number]], orders, handle, quota)
    return tally


def _ground(catalogue: Catalogue, full: Incidence) -> Incidence:
    """Incidence without knowledge of derived edges: positions of one ground class are merged."""
    types = catalogue.index.ground_types
    ground = Incidence(full.n, catalogue.ground)
    ground.reserve()
    bits = full.bits[: full.count * full.width].reshape(full.count, full.width)
    merged = ground.bits[: ground.count * ground.width].reshape(ground.count, ground.width)
    for number, positions in enumerate(full.positions):
        matrix = catalogue.full.form(number).types % types
        classes, orders = catalogue.ground.classify(matrix.reshape(1, -1))
        for position, p in zip(ground.positions[classes[0]], orders[0], strict=True):
            merged[position] |= bits[positions[p]]
    return ground
