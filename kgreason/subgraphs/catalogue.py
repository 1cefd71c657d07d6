"""The connected subgraphs of a graph by class of KG-isomorphism: counted, visited, sampled; never all stored."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kgreason.graph.induced import InducedReasoner
from kgreason.graph.model import KnowledgeGraph
from kgreason.subgraphs.adjacency import Adjacency, Ints, Shorts, looked_up
from kgreason.subgraphs.census import census
from kgreason.subgraphs.patterns import Forms, cells_between, distinct_rows, pair_kinds


class Catalogue:
    """Kinds of the connected subgraphs with x vertices.

    A kind is a pattern with what the rules derive in it. Where rules add up weights, a pattern may leave this open:
    the subgraphs of such an *ambiguous* pattern are reasoned on one by one, each time they are visited.

    Attributes
    ----------
    graph, x
        As given.
    census
        The patterns.
    forms
        The classes.
    class_of, orders
        By kind, which for an unambiguous pattern is its node in the census: the class, -1 if ambiguous; and the
        order of the vertices, as they are visited, that makes them the canonical ones of the class.
    """

    def __init__(
        self, graph: KnowledgeGraph, reasoner: InducedReasoner | None, x: int, rng: np.random.Generator
    ) -> None:
        self.graph, self.x = graph, x
        self._reasoner = reasoner if reasoner is not None and reasoner.predicates else None
        self._shared = self._reasoner is not None and self._reasoner.ties is not None
        self.adjacency = Adjacency.of(graph, self._reasoner.ties if self._shared and self._reasoner else None)
        if self._shared and not self.adjacency.fits(x):  # too many kinds of ties: each subgraph on its own
            self._shared, self.adjacency = False, Adjacency.of(graph)
        self.census = census(self.adjacency, x)
        self.forms = Forms(x)
        self.marks = rng.integers(-(2**63), 2**63, graph.n, dtype=np.int64)
        self._open: dict[bytes, int] = {}
        self._pairs = pair_kinds(graph)
        self._ground = cells_between(self._pairs, self.census.examples)
        self._classify()

    def _classify(self) -> None:
        c, count = self.census, len(self.census.counts)
        known, cells = np.ones(count, dtype=np.bool_), self._ground
        if self._reasoner and not self._shared:
            known[:] = False
        elif self._reasoner:
            known, masks = self._reasoner.settled(c.examples)
            cells = _with_derived(cells, masks)
        size = len(c.nodes)
        self.class_of: Shorts = np.full(size, -1, dtype=np.int32)
        self.orders: Ints = np.tile(np.arange(self.x, dtype=np.int64), (size, 1))
        at = np.flatnonzero(known)
        classes, orders = self.forms.number(cells[at])
        self.class_of[c.first + at] = classes
        self.orders[c.first + at] = orders

    @property
    def ambiguous(self) -> int:
        """Number of subgraphs whose class their pattern leaves open."""
        return int(self.census.counts[self._of < 0].sum())

    @property
    def _of(self) -> Shorts:
        return self.class_of[self.census.first : len(self.census.nodes)]

    def class_counts(self) -> Ints:
        """Unambiguous subgraphs of each class."""
        known = self._of >= 0
        weights = self.census.counts[known]
        counts = np.zeros(len(self.forms), dtype=np.int64)
        np.add.at(counts, self._of[known], weights)
        return counts

    def resolve(self, members: Ints, patterns: Ints) -> Ints:
        """Kinds of subgraphs of ambiguous patterns; `members` in the numbers of the graph."""
        assert self._reasoner is not None
        masks = self._reasoner.masks(members)
        rows, inverse = np.unique(np.column_stack([patterns, masks]), axis=0, return_inverse=True)
        keys = [row.tobytes() for row in rows]
        new = np.array([i for i, key in enumerate(keys) if key not in self._open], dtype=np.int64)
        if len(new):
            cells = _with_derived(self._ground[rows[new, 0] - self.census.first], rows[new, 1:])
            classes, orders = self.forms.number(cells)
            self._open |= {keys[i]: kind for kind, i in enumerate(new.tolist(), len(self.class_of))}
            self.class_of = np.concatenate([self.class_of, classes.astype(np.int32)])
            self.orders = np.concatenate([self.orders, orders])
        kinds = np.array([self._open[key] for key in keys], dtype=np.int64)
        return kinds[inverse.reshape(-1)]

    def classified(self, members: Ints) -> tuple[Ints, Ints]:
        """Any sets of x vertices in the canonical order of their classes, and these."""
        cells = cells_between(self._pairs, members)
        if self._reasoner:
            cells = _with_derived(cells, self._reasoner.masks(members))
        first, at = distinct_rows(cells.reshape(len(cells), -1))
        classes, orders = self.forms.number(cells[first])
        return np.take_along_axis(members, orders[at], axis=1), classes[at]

    @cached_property
    def _keys(self) -> tuple[Ints, Ints]:
        """Number of each vertex in the adjacency, and keys of the pairs with a tie, ascending."""
        a = self.adjacency
        rank = np.empty(a.n, dtype=np.int64)
        rank[a.original] = np.arange(a.n)
        return rank, np.repeat(np.arange(a.n), np.diff(a.indptr)) * a.n + a.neighbour

    def ties(self, members: Ints) -> Ints:
        """What runs between the vertices of sets: numbers of ties, on the diagonal colours; shape (N, x, x)."""
        a, (rank, keys) = self.adjacency, self._keys
        mine = rank[members]
        found = looked_up(keys, a.tie, mine[:, :, None] * a.n + mine[:, None, :])
        places = np.arange(members.shape[1])
        found[:, places, places] = a.colour[mine]
        return found

    def ordered(self, members: Ints, kinds: Ints) -> Ints:
        """Vertices in the canonical order of their class."""
        return np.take_along_axis(members, self.orders[kinds], axis=1)


def _with_derived(cells: Ints, masks: Ints) -> Ints:
    x = cells.shape[1]
    bits = np.arange(x * x, dtype=np.int64).reshape(x, x)
    for column in masks.T:
        cells = cells * 2 + (column[:, None, None] >> bits & 1)
    return cells
