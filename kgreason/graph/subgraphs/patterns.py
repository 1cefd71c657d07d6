"""Classes of KG-isomorphic subgraphs, identified by a canonical form of their ground and derived edges.

For large graphs, `Catalogue` counts, visits and samples the classes without storing all subgraphs.
"""

from __future__ import annotations

from functools import cached_property
from itertools import permutations

import numpy as np
import numpy.typing as npt

from kgreason.base.progress import SILENT, Progress
from kgreason.base.records import record
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.graph.sorted_keys import looked_up, row_numbers
from kgreason.graph.subgraphs.census import census, too_many
from kgreason.graph.subgraphs.ordered_adjacency import (
    Adjacency,
    Ints,
    Shorts,
    ordered_pairs,
)
from kgreason.language.check.checked_program import CheckedProgram

Members = npt.NDArray[np.int64]
PairKinds = tuple[tuple[Vertices, Vertices], Ints]
LARGEST = 6
_CHUNK = 1 << 18


@record(eq=False)
class Classes:
    """Partition of subgraphs of one size into classes of KG-isomorphism.

    Attributes
    ----------
    ids
        Class of each subgraph, 0 .. count-1; shape (N,).
    members
        Shape (N, x): the vertices of each subgraph in canonical order, so that mapping position to position is an
        isomorphism between two subgraphs of one class.
    count
        Number of classes.
    forms
        Their canonical forms, in order.
    """

    ids: Ints
    members: Members
    count: int
    forms: Forms | None = None


def classify(
    graph: KnowledgeGraph, program: CheckedProgram, members: Members, progress: Progress = SILENT
) -> Classes:
    """Partition subgraphs by KG-isomorphism under the rules of `program`.

    Two subgraphs are isomorphic if a bijection preserves, for every ordered pair of vertices (including a vertex with
    itself), the number of ground edges of each relation and whether each predicate of ``program.derived`` holds in
    Σ(G[X]).

    Parameters
    ----------
    members
        int64, shape (N, x) with x <= 6.

    References
    ----------
    docs/anonymization.md, Definition 4.1.
    """
    x = members.shape[1]
    if x > LARGEST:
        raise ValueError(f"canonical forms are for at most {LARGEST} vertices, not {x}")
    pairs = pair_kinds(graph)
    reasoner = InducedReasoner(graph, program) if program.derived else None
    situations, codes, met = [], [], 0
    for start in range(0, len(members), _CHUNK):
        chunk = members[start : start + _CHUNK]
        cells = cells_between(pairs, chunk)
        if reasoner:
            for derived in np.moveaxis(reasoner.derived(chunk), 1, 0):
                cells *= 2
                cells += derived
        first, number = distinct_rows(cells.reshape(len(chunk), -1))
        situations.append(cells[first])
        codes.append(number + met)
        met += len(first)
        progress.advance(len(chunk))
    if not codes:
        return Classes(np.empty(0, dtype=np.int64), members, 0)
    first, merged = distinct_rows(np.concatenate(situations).reshape(met, x * x))
    forms = Forms(x)
    classes, orders = forms.number(np.concatenate(situations)[first])
    which = merged[np.concatenate(codes)]
    return Classes(classes[which], np.take_along_axis(members, orders[which], axis=1), len(forms), forms)


def cells_between(pairs: PairKinds, members: Members) -> Ints:
    """Kind of each ordered pair in sets of vertices: its number of edges of each relation; 0: no edge; shape (N, x, x).

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.1), ("a", "b", 0.2), ("b", "a", 0.5)])
    >>> cells_between(pair_kinds(graph), np.array([[0, 1]])).tolist()
    [[[0, 2], [1, 0]]]
    """
    from kgreason.graph.subgraphs.census_kernels import pair_cells

    count, x = members.shape
    cells = np.empty((count, x * x), dtype=np.int64)
    rows, kinds = pairs
    pair_cells(*rows, kinds, np.ascontiguousarray(members), cells)
    return cells.reshape(count, x, x)


def pair_kinds(graph: KnowledgeGraph) -> PairKinds:
    """Ordered pairs with an edge as compressed rows, and the kind of each, numbered from 1."""
    keys, kinds = ordered_pairs(graph)
    indptr = np.searchsorted(keys, np.arange(graph.n + 1) * graph.n).astype(np.int64)
    return (indptr, keys % max(graph.n, 1)), kinds


def distinct_rows(rows: Ints) -> tuple[Ints, Ints]:
    """First row of each distinct row of non-negative integers, in lexicographic order, and the number of each row.

    Examples
    --------
    >>> [a.tolist() for a in distinct_rows(np.array([[1, 0], [0, 5], [1, 0]]))]
    [[1, 0], [1, 0, 1]]
    """
    number = row_numbers([np.zeros(len(rows), dtype=np.int64), *np.ascontiguousarray(rows.T)])
    return np.unique(number, return_index=True)[1].astype(np.int64), number


def canonical(cells: Ints) -> tuple[Ints, Ints]:
    """Canonical form of non-negative matrices, shape (D, x, x), under permutations of the vertices.

    Equal rows of the first result mean isomorphic matrices; row i of the second is the permutation that gives form i.
    """
    count, x, _ = cells.shape
    rows = np.arange(count)
    forms, orders = cells.reshape(count, x * x).copy(), np.tile(np.arange(x, dtype=np.int64), (count, 1))
    for order in permutations(range(x)):
        permuted = cells[:, order][:, :, order].reshape(count, x * x)
        at = (permuted != forms).argmax(axis=1)  # the first difference decides
        less = permuted[rows, at] < forms[rows, at]
        forms[less], orders[less] = permuted[less], order
    return forms, orders


class Forms:
    """Classes of x by x matrices up to permutation of the vertices, numbered in order of occurrence."""

    def __init__(self, x: int) -> None:
        self.x = x
        self._numbers: dict[bytes, int] = {}
        self._cells: list[Ints] = []

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def cells(self) -> Ints:
        """The canonical matrix of each class, shape (C, x, x)."""
        return np.concatenate([np.zeros((0, self.x, self.x), dtype=np.int64), *self._cells])

    def number(self, cells: Ints) -> tuple[Ints, Ints]:
        """Class of each matrix (D, x, x), and the order of its vertices that gives the canonical matrix.

        Examples
        --------
        >>> forms = Forms(2)
        >>> [a.tolist() for a in forms.number(np.array([[[0, 1], [0, 0]], [[0, 0], [1, 0]]]))]
        [[0, 0], [[1, 0], [0, 1]]]
        """
        forms, orders = canonical(cells)
        classes = np.empty(len(cells), dtype=np.int64)
        for i, form in enumerate(forms):
            classes[i] = self._numbers.setdefault(form.tobytes(), len(self._numbers))
            if classes[i] == len(self._cells):
                self._cells.append(form.reshape(1, self.x, self.x))
        return classes, orders

    def turns(self) -> tuple[Ints, Ints]:
        """Automorphisms of each class: those of class c are ``turns[first[c]:first[c + 1]]``, the identity first."""
        cells = self.cells
        orders = np.array(list(permutations(range(self.x))), dtype=np.int64)
        same = np.stack([(cells[:, o][:, :, o] == cells).all(axis=(1, 2)) for o in orders], axis=1)
        which, turn = np.nonzero(same)
        first = np.searchsorted(which, np.arange(len(cells) + 1))
        return first.astype(np.int64), orders[turn]


class Catalogue:
    """Kinds of the connected subgraphs with x vertices; more than `limit` of these raise `AnonymizationError`.

    A kind is a pattern with its derived edges. Where rules add up weights, a pattern may not determine these: the
    subgraphs of such an *ambiguous* pattern are evaluated one by one at each visit.

    Attributes
    ----------
    census
        The patterns.
    forms
        The classes.
    class_of, orders
        By kind, which for an unambiguous pattern is its node in the census: the class, -1 if ambiguous; and the order
        of the vertices, as visited, that is canonical for the class.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        reasoner: InducedReasoner | None,
        x: int,
        rng: np.random.Generator,
        limit: int | None = None,
    ) -> None:
        self.graph, self.x = graph, x
        self._reasoner = reasoner if reasoner is not None and reasoner.predicates else None
        self._shared = self._reasoner is not None and self._reasoner.ties is not None
        self.adjacency = Adjacency.of(graph, self._reasoner.ties if self._shared and self._reasoner else None)
        if self._shared and not self.adjacency.fits(x):  # too many kinds of ties to share
            self._shared, self.adjacency = False, Adjacency.of(graph)
        self.census = census(self.adjacency, x, limit)
        if limit is not None and self.census.total > limit:
            raise too_many(x, limit)
        self.forms = Forms(x)
        self.marks = rng.integers(-(2**63), 2**63, graph.n, dtype=np.int64)
        self._resolved: dict[bytes, int] = {}  # kinds of ambiguous patterns with their derived edges
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
        """Number of subgraphs whose class is not determined by their pattern."""
        return int(self.census.counts[self._pattern_class < 0].sum())

    @property
    def _pattern_class(self) -> Shorts:
        return self.class_of[self.census.first : len(self.census.nodes)]

    def class_counts(self) -> Ints:
        """Unambiguous subgraphs of each class."""
        known = self._pattern_class >= 0
        counts = np.zeros(len(self.forms), dtype=np.int64)
        np.add.at(counts, self._pattern_class[known], self.census.counts[known])
        return counts

    def resolve(self, members: Ints, patterns: Ints) -> Ints:
        """Kinds of subgraphs of ambiguous patterns; `members` are vertices of the graph."""
        assert self._reasoner is not None
        masks = self._reasoner.masks(members)
        rows, inverse = np.unique(np.column_stack([patterns, masks]), axis=0, return_inverse=True)
        keys = [row.tobytes() for row in rows]
        new = np.array([i for i, key in enumerate(keys) if key not in self._resolved], dtype=np.int64)
        if len(new):
            cells = _with_derived(self._ground[rows[new, 0] - self.census.first], rows[new, 1:])
            classes, orders = self.forms.number(cells)
            self._resolved |= {keys[i]: kind for kind, i in enumerate(new.tolist(), len(self.class_of))}
            self.class_of = np.concatenate([self.class_of, classes.astype(np.int32)])
            self.orders = np.concatenate([self.orders, orders])
        kinds = np.array([self._resolved[key] for key in keys], dtype=np.int64)
        return kinds[inverse.reshape(-1)]

    def classified(self, members: Ints) -> tuple[Ints, Ints]:
        """Sets of x vertices in the canonical order of their classes, and these classes."""
        cells = cells_between(self._pairs, members)
        if self._reasoner:
            cells = _with_derived(cells, self._reasoner.masks(members))
        first, at = distinct_rows(cells.reshape(len(cells), -1))
        classes, orders = self.forms.number(cells[first])
        return np.take_along_axis(members, orders[at], axis=1), classes[at]

    @cached_property
    def _keys(self) -> tuple[Ints, Ints]:
        """Number of each vertex in the adjacency, and the ascending keys of the pairs with a tie."""
        a = self.adjacency
        rank = np.empty(a.n, dtype=np.int64)
        rank[a.original] = np.arange(a.n)
        return rank, np.repeat(np.arange(a.n), np.diff(a.indptr)) * a.n + a.neighbour

    def ties(self, members: Ints) -> Ints:
        """Ties between the vertices of sets, with colours on the diagonal; shape (N, x, x)."""
        a, (rank, keys) = self.adjacency, self._keys
        mine = rank[members]
        found = looked_up(keys, a.tie, mine[:, :, None] * a.n + mine[:, None, :])
        diagonal = np.arange(members.shape[1])
        found[:, diagonal, diagonal] = a.colour[mine]
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
