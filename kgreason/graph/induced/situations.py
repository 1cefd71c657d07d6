"""Situations: induced subgraphs as rules see them, numbered so that equal ones share a number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices, Weights
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.weight_visibility import Use, WeightUse

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """Edges of a relation partitioned into cells; rules distinguish weights only by their cells.

    Attributes
    ----------
    of_edge
        Cell 0 .. c-1 of each edge, shape (m,).
    low, high
        Least and greatest weight in each cell, shape (c,).
    """

    of_edge: Ints
    low: Weights
    high: Weights

    @classmethod
    def between(cls, weight: Weights, constants: Weights) -> Cells:
        """One cell for each constant and for each open interval between two constants."""
        left, right = (np.searchsorted(constants, weight, side) for side in ("left", "right"))
        return cls._of(weight, (left + right).astype(np.int64))

    @classmethod
    def exact(cls, weight: Weights) -> Cells:
        """One cell for each weight."""
        return cls._of(weight, weight + 0.0)

    @classmethod
    def _of(cls, weight: Weights, values: npt.NDArray[np.generic]) -> Cells:
        cells, of_edge = np.unique(values, return_inverse=True)
        low, high = np.full(len(cells), np.inf), np.full(len(cells), -np.inf)
        np.minimum.at(low, of_edge, weight)
        np.maximum.at(high, of_edge, weight)
        return cls(of_edge.astype(np.int64), low, high)


@dataclass(frozen=True)
class Ties:
    """Symmetric adjacency of a graph whose edges are partitioned into cells.

    A tie is the set of edges between two vertices as seen from one of them: cells of outgoing and of incoming edges.
    Ties are numbered from 1.

    Attributes
    ----------
    indptr, neighbour, tie
        Entries of vertex v are ``indptr[v]:indptr[v+1]``, sorted by neighbour.
    mirror
        Number of each tie as seen from the other vertex, shape (ties + 1,).
    loop
        Tie of each vertex with itself, 0 for none, shape (n,).
    start, content
        Tie t holds ``content[start[t]:start[t+1]]``: twice the number of a cell (cells are numbered consecutively over
        all relations), plus 1 for an incoming edge.
    """

    indptr: Ints
    neighbour: Ints
    tie: Ints
    mirror: Ints
    loop: Ints
    start: Ints
    content: Ints

    @classmethod
    def of(cls, graph: KnowledgeGraph, cells: Mapping[str, Cells]) -> Ties:
        """Collect the edges of the relations named in `cells`."""
        u, v, what = _entries(graph, cells)
        first = np.flatnonzero(np.r_[True, (u[1:] != u[:-1]) | (v[1:] != v[:-1])][: len(u)])
        size = np.diff(np.r_[first, len(u)])
        tie, example = _intern_sets(first, size, what)
        u, v = u[first], v[first]
        start = np.r_[0, 0, np.cumsum(size[example])].astype(np.int64)
        content = what[_ranges(first[example], size[example])]
        mirror = np.zeros(len(example) + 1, dtype=np.int64)
        # Entries by (u, v) and by (v, u) are mirror images of each other. Loops are excluded: a loop may share its
        # tie with plain edges, and would make this tie its own mirror.
        proper = np.flatnonzero(u != v)
        mirror[tie[proper]] = tie[np.lexsort((u, v))][proper]
        loop = np.zeros(graph.n, dtype=np.int64)
        loop[u[u == v]] = tie[u == v]
        indptr = np.searchsorted(u, np.arange(graph.n + 1)).astype(np.int64)
        return cls(indptr, v, tie, mirror, loop, start, content)

    @property
    def bits(self) -> int:
        """Width of a tie number."""
        return max(1, (len(self.mirror) - 1).bit_length())


def _entries(graph: KnowledgeGraph, cells: Mapping[str, Cells]) -> tuple[Vertices, Vertices, Ints]:
    """Distinct (vertex, neighbour, content) in lexicographic order; a loop counts as outgoing only."""
    columns, offset = [np.empty((3, 0), dtype=np.int64)], 0
    for name, cell in cells.items():
        source, target = graph.relations[name].source, graph.relations[name].target
        code = 2 * (offset + cell.of_edge)
        offset += len(cell.low)
        straight = source != target
        columns.append(np.stack([source, target, code]))
        columns.append(np.stack([target, source, code + 1])[:, straight])
    u, v, what = np.concatenate(columns, axis=1)
    order = np.lexsort((what, v, u))
    u, v, what = u[order], v[order], what[order]
    new = np.r_[True, (np.diff(u) != 0) | (np.diff(v) != 0) | (np.diff(what) != 0)][: len(u)]
    return u[new], v[new], what[new]


def _intern_sets(first: Ints, size: Ints, what: Ints) -> tuple[Ints, Ints]:
    """Number the sorted sets ``what[first:first+size]`` from 1; also the index of an example of each number."""
    # Left fold: a set is identified by the number of all but its last element, and this element.
    number = np.zeros(len(first), dtype=np.int64)
    used = 1
    for depth in range(int(size.max(initial=0))):
        longer = np.flatnonzero(size > depth)
        pair = np.stack([number[longer], what[first[longer] + depth]])
        _, inverse = np.unique(pair[0] * (int(what.max()) + 1) + pair[1], return_inverse=True)
        number[longer] = used + inverse
        used += int(inverse.max()) + 1
    _, example, dense = np.unique(number, return_index=True, return_inverse=True)
    return dense.astype(np.int64) + 1, example.astype(np.int64)


def _ranges(first: Ints, size: Ints) -> Ints:
    """Concatenate ``first[i] .. first[i] + size[i] - 1``."""
    ends = np.cumsum(size)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + size, size)


class Situations:
    """Numbering of the induced subgraphs of vertex tuples of one length; it grows with the tuples seen.

    Parameters
    ----------
    ties
        Adjacency.
    x
        Length of the tuples.
    """

    def __init__(self, ties: Ties, x: int) -> None:
        self.x = x
        self._ties = ties
        pairs = x * (x + 1) // 2
        self._per_word = 63 // ties.bits
        self._keys = np.empty((0, -(-pairs // self._per_word)), dtype=np.int64)
        self._table = np.empty(0, dtype=np.int64)
        self._count = 0
        self._positions = np.triu_indices(x)

    def __len__(self) -> int:
        return self._count

    def intern(self, members: Vertices) -> Ints:
        """Number the induced subgraph of each tuple.

        Parameters
        ----------
        members
            Shape (N, x), distinct vertices in each row.

        Returns
        -------
        ndarray
            int64, shape (N,): equal for tuples that have the same ties at each position.
        """
        from kgreason.graph.induced.situation_kernels import intern_induced

        needed = self._count + len(members)
        if needed + 1 > len(self._keys):
            grown = np.empty((2 * needed + 1, self._keys.shape[1]), dtype=np.int64)
            grown[: self._count] = self._keys[: self._count]
            self._keys = grown
        rebuild = 2 * (needed + 1) > len(self._table)
        if rebuild:
            self._table = np.full(1 << (4 * (needed + 1)).bit_length(), -1, dtype=np.int64)
        t = self._ties
        adjacency = (t.indptr, t.neighbour, t.tie, t.mirror, t.loop)
        members = np.ascontiguousarray(members)
        ids, self._count = intern_induced(
            *adjacency, members, t.bits, self._keys, self._count, self._table, rebuild
        )
        return ids

    def edges(self, numbers: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Edges of the situations with these numbers.

        Returns
        -------
        tuple
            For each edge: the index of its situation in `numbers`, the positions of its source and target in the tuple,
            and its cell.
        """
        keys, bits = self._keys[numbers], self._ties.bits
        slot = np.arange(len(self._positions[0]))
        ties = (keys[:, slot // self._per_word] >> (bits * (slot % self._per_word))) & ((1 << bits) - 1)
        situation, slot = np.nonzero(ties)
        tie = ties[situation, slot]
        start, size = self._ties.start[tie], np.diff(self._ties.start)[tie]
        content = self._ties.content[_ranges(start, size)]
        a, b = (np.repeat(p[slot], size) for p in self._positions)
        incoming = (content & 1).astype(bool)
        return (
            np.repeat(situation, size),
            np.where(incoming, b, a),
            np.where(incoming, a, b),
            content >> 1,
        )


CUTS = (0.5, 1.0)  # boundaries of the cells of added weights, as fractions of the bound of the sum


class Sight:
    """Relations of a graph that the rules read, with their weights partitioned into cells.

    Parameters
    ----------
    uses
        How the rules use the weights.
    """

    def __init__(self, graph: KnowledgeGraph, program: CheckedProgram, uses: Mapping[str, WeightUse]) -> None:
        read = {a.predicate for r in program.rules for a in (r.head, *r.positives, *r.negatives)}
        self.graph, self.uses = graph, uses
        self.relations = {p: graph.relations[p] for p in program.edges if p in graph.relations and p in read}

    @cached_property
    def cells(self) -> dict[str, Cells]:
        """Cells of the weights by relation."""
        unread = WeightUse(Use.UNREAD)
        return {p: _cells(relation, self.uses.get(p, unread)) for p, relation in self.relations.items()}

    @cached_property
    def ties(self) -> Ties:
        """Adjacency by cells."""
        return Ties.of(self.graph, self.cells)

    def ends(self) -> dict[str, tuple[Vertices, Vertices, tuple[Weights, Weights]]]:
        """Sources, targets and extreme weights by relation; each cell between two vertices occurs once."""
        found = {}
        for predicate, relation in self.relations.items():
            cells = self.cells[predicate]
            rows = np.stack([relation.source, relation.target, cells.of_edge], axis=1)
            source, target, cell = np.ascontiguousarray(np.unique(rows, axis=0).T)
            found[predicate] = (source, target, (cells.low[cell], cells.high[cell]))
        return found

    def edges(self) -> dict[str, tuple[Vertices, Vertices, tuple[Weights]]]:
        """Sources, targets and weights by relation."""
        return {p: (r.source, r.target, (weights(r),)) for p, r in self.relations.items()}


def weights(relation: Relation) -> Weights:
    """Weights as rules see them: 1 if the relation has none."""
    return relation.weight if relation.weight is not None else np.ones(len(relation))


def _cells(relation: Relation, use: WeightUse) -> Cells:
    if use.use is Use.READ:
        return Cells.exact(weights(relation))
    # Most sums depend only on whether one weight exceeds the bound, or two are below half of it.
    return Cells.between(weights(relation), np.union1d(use.constants, np.outer(use.bounds, CUTS)))
