"""Isomorphism classes of small vertex sets by canonical forms, and the classes that lack images by their degrees."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from kgreason.base.jit import Ints, Rows, kernel
from kgreason.base.records import record
from kgreason.isomorphism.verification.release_index import ReleaseIndex


@kernel
def _intern(rows: Rows, store: Rows, slots: Ints, used: int, ids: Ints) -> int:
    """Number distinct rows by first occurrence, after those in `store`; `slots` is their hash table."""
    mask = len(slots) - 1
    width = rows.shape[1]
    for i in range(len(rows)):
        h = 0
        for j in range(width):
            h = (h ^ rows[i, j]) * -7046029254386353727
            h ^= h >> 29
        slot = h & mask
        while True:
            known = slots[slot]
            if known < 0:
                for j in range(width):
                    store[used, j] = rows[i, j]
                slots[slot] = used
                ids[i] = used
                used += 1
                break
            same = True
            for j in range(width):
                if store[known, j] != rows[i, j]:
                    same = False
                    break
            if same:
                ids[i] = known
                break
            slot = (slot + 1) & mask
    return used


@kernel
def _least_order(matrices: Rows, permutations: Rows, best: Ints) -> None:
    """Find for each matrix, a row, the permutation of its vertices that gives the smallest matrix."""
    size = permutations.shape[1]
    for i in range(len(matrices)):
        winner = 0
        for p in range(1, len(permutations)):
            verdict = 0
            for a in range(size):
                for b in range(size):
                    new = matrices[i, permutations[p, a] * size + permutations[p, b]]
                    old = matrices[i, permutations[winner, a] * size + permutations[winner, b]]
                    if new != old:
                        verdict = -1 if new < old else 1
                        break
                if verdict != 0:
                    break
            if verdict < 0:
                winner = p
        best[i] = winner


class Interner:
    """Numbering of distinct integer rows by first occurrence."""

    def __init__(self, width: int) -> None:
        self.count = 0
        self._store = np.empty((0, width), dtype=np.int64)
        self._slots = np.full(1, -1, dtype=np.int64)

    @property
    def rows(self) -> Ints:
        """Distinct rows so far, by number."""
        return self._store[: self.count]

    def number(self, rows: Ints) -> Ints:
        """Return the number of each row, adding new rows."""
        rows = np.ascontiguousarray(rows)
        if self.count + len(rows) > len(self._store):
            self._grow(2 * (self.count + len(rows)))
        ids = np.empty(len(rows), dtype=np.int64)
        self.count = int(_intern(rows, self._store, self._slots, self.count, ids))
        return ids

    def _grow(self, capacity: int) -> None:
        old = self.rows.copy()
        self._store = np.empty((capacity, old.shape[1]), dtype=np.int64)
        self._slots = np.full(1 << (2 * capacity - 1).bit_length(), -1, dtype=np.int64)
        _intern(old, self._store, self._slots, 0, np.empty(len(old), dtype=np.int64))


@record
class Form:
    """Canonical form of a class: type of every ordered pair of positions."""

    types: Ints  # shape (x, x)
    automorphisms: (
        Ints  # permutations of the positions that preserve the types, the identity first; shape (F, x)
    )

    def connected_ground(self, ground_types: int) -> bool:
        """Whether ground edges, of types below `ground_types`, connect the positions weakly."""
        size = len(self.types)
        ground = self.types % ground_types
        reach = ((ground + ground.T) != 0) | np.eye(size, dtype=bool)
        for _ in range(size):
            reach = reach @ reach
        return bool(reach.all())


class Classes:
    """Classes of x by x matrices up to permutation of the vertices; equal matrices are processed once."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._permutations = np.array(list(permutations(range(size))), dtype=np.int64)
        self._matrices = Interner(size * size)
        self._forms = Interner(size * size)
        self._class = np.empty(0, dtype=np.int64)
        self._order = np.empty(0, dtype=np.int64)
        self._known: dict[int, Form] = {}

    def __len__(self) -> int:
        return self._forms.count

    def classify(self, matrices: Ints) -> tuple[Ints, Ints]:
        """Class of each matrix (N, x * x), and the order of its vertices in the canonical form, shape (N, x)."""
        ids = self._matrices.number(matrices)
        self._learn(self._matrices.rows[len(self._class) :])
        return self._class[ids], self._permutations[self._order[ids]]

    def _learn(self, fresh: Ints) -> None:
        if not len(fresh):
            return
        best = np.empty(len(fresh), dtype=np.int64)
        _least_order(np.ascontiguousarray(fresh), self._permutations, best)
        order = self._permutations[best]
        cells = (order[:, :, None] * self.size + order[:, None, :]).reshape(len(fresh), -1)
        forms = np.take_along_axis(fresh, cells, axis=1)
        self._class = np.concatenate([self._class, self._forms.number(forms)])
        self._order = np.concatenate([self._order, best])

    def form(self, number: int) -> Form:
        """Canonical form of a class."""
        if number not in self._known:
            types = self._forms.rows[number].reshape(self.size, self.size)
            turned = types[self._permutations[:, :, None], self._permutations[:, None, :]]
            same = (turned == types).all(axis=(1, 2))
            self._known[number] = Form(types, self._permutations[same])
        return self._known[number]


class Catalogue:
    """KG-isomorphism classes of the vertex sets of one size, extended on demand."""

    def __init__(self, index: ReleaseIndex, size: int) -> None:
        self.index, self.size = index, size
        self.full, self.ground = Classes(size), Classes(size)  # by all edges, and by ground edges alone
        self.ground_of = np.empty(0, dtype=np.int64)  # ground class of each class

    def settled(self, members: Ints) -> tuple[Ints, Ints, Ints]:
        """Class of all sets of equal pattern, -1 if there are several; canonical order, and ground class."""
        ground = self.index.pairs.of(members)
        ground_classes = self.ground.classify(ground)[0]
        classes = np.full(len(members), -1, dtype=np.int64)
        orders = np.tile(np.arange(self.size), (len(members), 1))
        if self.index.shares(self.size):
            known, masks = self.index.reasoner.settled(members)
            found = self._classify(ground[known], masks[known], ground_classes[known])
            classes[known], orders[known] = found
        return classes, orders, ground_classes

    def classify(self, members: Ints) -> tuple[Ints, Ints]:
        """Class of each set by its exact weights, and its vertices in canonical order."""
        ground = self.index.pairs.of(members)
        masks = self.index.reasoner.masks(members)
        classes, orders = self._classify(ground, masks, self.ground.classify(ground)[0])
        return classes, np.take_along_axis(members, orders, axis=1)

    def _classify(self, ground: Ints, masks: Ints, ground_classes: Ints) -> tuple[Ints, Ints]:
        classes, orders = self.full.classify(self.index.with_masks(ground, masks))
        if (count := len(self.full)) > len(self.ground_of):
            more = np.zeros(count, dtype=np.int64)
            more[: len(self.ground_of)] = self.ground_of
            more[classes] = ground_classes
            self.ground_of = more
        return classes, orders


@record
class Scarce:
    """Position of a canonical form that too few vertices fit."""

    position: int
    trait: int  # even for in-degrees, odd for out-degrees
    ingoing: int  # edges of the position within the subgraph
    outgoing: int
    values: int  # of the trait among the vertices with at least these edges, fewer than k


class Scarcity:
    """Test for classes without images: too few different degrees occur among the vertices that fit a position.

    An attacked subgraph and its images differ in in-degree and out-degree at every position (Definition 4.1 (iii)), and
    have at least the edges of the position within the subgraph there. No images exist if fewer than k in-degrees, or
    fewer than k out-degrees, occur among the vertices of the release with at least these edges. In a graph of users and
    rated items, for instance, every user has in-degree 0.

    Examples
    --------
    Two users rate two items, which rate nothing:

    >>> from kgreason.language.check.program_checker import load_text
    >>> from kgreason.graph.knowledge_graph import KnowledgeGraph
    >>> rules = load_text('@edge("rates"). @output("rates").')
    >>> graph = KnowledgeGraph.from_edges([("u", "a"), ("u", "b"), ("v", "b")], relation="rates")
    >>> catalogue = Catalogue(ReleaseIndex(graph, rules), 2)
    >>> _ = catalogue.classify(np.array([[0, 1]]))
    >>> found = Scarcity(catalogue.index).of(catalogue.full.form(0), k=2)
    >>> found.trait, found.values
    (1, 1)
    """

    def __init__(self, index: ReleaseIndex) -> None:
        self._index = index
        self._ingoing, self._outgoing = index.graph.in_degree(), index.graph.out_degree()
        self._edges = index.pairs.counts.sum(axis=1)
        self._values: dict[tuple[int, int], tuple[int, ...]] = {}

    def of(self, form: Form, k: int) -> Scarce | None:
        """First position of a canonical form that fewer than k vertices of different traits fit, if any."""
        edges = self._edges[form.types % self._index.ground_types]
        needs = zip(edges.sum(axis=0).tolist(), edges.sum(axis=1).tolist(), strict=True)
        for position, (ingoing, outgoing) in enumerate(needs):
            for trait, values in enumerate(self._occurring(ingoing, outgoing)):
                if values < k:
                    return Scarce(position, trait, ingoing, outgoing, values)
        return None

    def _occurring(self, ingoing: int, outgoing: int) -> tuple[int, ...]:
        """Numbers of different values of each degree among the vertices with at least these edges."""
        if (ingoing, outgoing) not in self._values:
            fit = (self._ingoing >= ingoing) & (self._outgoing >= outgoing)
            traits = self._index.traits[fit, :-1].T
            self._values[ingoing, outgoing] = tuple(len(np.unique(t)) for t in traits)
        return self._values[ingoing, outgoing]
