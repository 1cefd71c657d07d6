"""Situations: induced subgraphs as rules see them, numbered so that equal ones share a number."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgreason.base.jit import Ints, Rows, inlined, kernel
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices, Weights
from kgreason.graph.sorted_keys import ranks, sorted_rows
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.weight_visibility import Use, WeightUse

Marked = npt.NDArray[np.bool_]
CUTS = (0.5, 1.0)  # boundaries of the cells of added weights, as fractions of the bound of the sum


@record
class Cells:
    """Edges of a relation partitioned into cells; rules distinguish weights only by their cells."""

    of_edge: Ints  # cell 0 .. c-1 of each edge, shape (m,)
    low: Weights  # least weight in each cell, shape (c,)
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


@record
class Ties:
    """Symmetric adjacency of a graph whose edges are partitioned into cells.

    A tie is the set of edges between two vertices as seen from one of them: cells of outgoing and of incoming edges.
    Ties are numbered from 1. Tie t holds ``content[start[t]:start[t + 1]]``: twice the number of a cell (cells are
    numbered consecutively over all relations), plus 1 for an incoming edge.
    """

    indptr: Ints  # entries of vertex v are ``indptr[v]:indptr[v + 1]``, sorted by neighbour
    neighbour: Ints
    tie: Ints
    mirror: Ints  # number of each tie as seen from the other vertex, shape (ties + 1,)
    loop: Ints  # tie of each vertex with itself, 0 for none, shape (n,)
    start: Ints
    content: Ints

    @classmethod
    def of(cls, graph: KnowledgeGraph, cells: Mapping[str, Cells]) -> Ties:
        """Collect the edges of the relations named in `cells`."""
        u, v, code = _entries(graph, cells)
        first = np.flatnonzero(np.r_[True, (u[1:] != u[:-1]) | (v[1:] != v[:-1])][: len(u)])
        size = np.diff(np.r_[first, len(u)])
        tie, example = _intern_sets(first, size, code)
        u, v = u[first], v[first]
        start = np.r_[0, 0, np.cumsum(size[example])].astype(np.int64)
        content = code[_ranges(first[example], size[example])]
        # The entries (u, v) and (v, u) are mirror images of each other. Loops are excluded: a loop may share its
        # tie with plain edges, and would make this tie its own mirror.
        mirror, one = np.zeros((2, len(example) + 1), dtype=np.int64)
        proper = np.flatnonzero(u != v)
        one[tie[proper]] = proper + 1  # an entry of each tie, from 1
        known = np.flatnonzero(one)
        one = one[known] - 1
        mirror[known] = tie[np.searchsorted(u * graph.n + v, v[one] * graph.n + u[one])]
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
    u, v, code = sorted_rows(np.concatenate(columns, axis=1))
    return u, v, code


def _intern_sets(first: Ints, size: Ints, content: Ints) -> tuple[Ints, Ints]:
    """Number the sorted sets ``content[first:first+size]`` from 1; also the index of an example of each number."""
    # Left fold: a set is identified by the number of all but its last element, and this element.
    number = np.zeros(len(first), dtype=np.int64)
    used = 1
    for depth in range(int(size.max(initial=0))):
        longer = np.flatnonzero(size > depth)
        pairs = number[longer] * (int(content.max()) + 1) + content[first[longer] + depth]
        among = ranks(pairs)
        number[longer] = used + among
        used += int(among.max()) + 1
    dense = ranks(number)
    example = np.empty(int(dense.max(initial=-1)) + 1, dtype=np.int64)
    example[dense[::-1]] = np.arange(len(dense))[::-1]  # the last write is the first occurrence
    return dense + 1, example


def _ranges(first: Ints, size: Ints) -> Ints:
    """Concatenate ``first[i] .. first[i] + size[i] - 1``."""
    ends = np.cumsum(size)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + size, size)


@inlined
def tie_between(indptr: Ints, neighbour: Ints, tie: Ints, mirror: Ints, u: int, v: int) -> int:
    """Tie of two vertices as seen from u, 0 for none; searched on the side of the lower degree."""
    swap = indptr[u + 1] - indptr[u] > indptr[v + 1] - indptr[v]
    at, wanted = (v, u) if swap else (u, v)
    low, high = indptr[at], indptr[at + 1]
    end = high
    while high - low > 8:
        middle = (low + high) >> 1
        if neighbour[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    while low < end and neighbour[low] < wanted:  # few steps, with predictable branches
        low += 1
    if low == end or neighbour[low] != wanted:
        return 0
    return int(mirror[tie[low]] if swap else tie[low])


@inlined
def place_of(keys: Rows, row: int, table: Ints) -> int:
    """Slot of the key ``keys[row]`` in an open-addressing table, or the free slot for it."""
    mixed = np.uint64(0)
    for w in range(keys.shape[1]):
        mixed = (mixed ^ np.uint64(keys[row, w])) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    mask = len(table) - 1
    place = np.int64(mixed >> np.uint64(1)) & mask
    while table[place] >= 0:
        same = True
        for w in range(keys.shape[1]):
            same &= keys[table[place], w] == keys[row, w]
        if same:
            break
        place = (place + 1) & mask
    return int(place)


@kernel
def intern_induced(
    indptr: Ints, neighbour: Ints, tie: Ints, mirror: Ints, loop: Ints, members: Rows, bits: int,
    keys: Rows, count: int, table: Ints, rebuild: bool, ids: Ints,
) -> int:  # fmt: skip
    """Number the induced subgraphs of vertex tuples: equal numbers if and only if equal ties.

    The key of a tuple packs the ties of the positions a <= b, row by row, ``63 // bits`` to a word.

    Parameters
    ----------
    indptr, neighbour, tie, mirror, loop
        `Ties`.
    members
        Shape (N, x), distinct vertices in each row.
    bits
        Width of a tie in a key.
    keys
        Shape (capacity, words), capacity at least count + N; rows 0 .. count-1 hold the known keys, new keys are
        appended.
    table
        Open-addressing table of key numbers, -1 for free; its length is a power of two of at least 2 (count + N), so
        that a search always ends at a free slot.
    rebuild
        Whether `table` is new and the known keys must be inserted first.
    ids
        Receives the key number of each tuple, shape (N,).

    Returns the new count.
    """
    if rebuild:
        for row in range(count):
            table[place_of(keys, row, table)] = row
    size, x = members.shape
    full = 63 // bits * bits
    for i in range(size):
        word, shift, packed = 0, 0, 0
        for a in range(x):
            u = members[i, a]
            for b in range(a, x):
                v = members[i, b]
                found = loop[u] if a == b else tie_between(indptr, neighbour, tie, mirror, u, v)
                packed |= found << shift
                shift += bits
                if shift == full:
                    keys[count, word] = packed
                    word, shift, packed = word + 1, 0, 0
        if shift:
            keys[count, word] = packed
        place = place_of(keys, count, table)
        if table[place] < 0:
            table[place] = count
            count += 1
        ids[i] = table[place]
    return count


class Situations:
    """Numbering of the induced subgraphs of vertex tuples of length x; it grows with the tuples."""

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
        """Number the induced subgraph of each tuple, shape (N, x): equal for the same ties at each position."""
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
        index = (self._keys, self._count, self._table, rebuild)
        ids = np.empty(len(members), dtype=np.int64)
        self._count = intern_induced(*adjacency, np.ascontiguousarray(members), t.bits, *index, ids)
        return ids

    def edges(self, numbers: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Edges of numbered situations: index in `numbers`, positions of source and target, and cell of each."""
        keys, bits = self._keys[numbers], self._ties.bits
        slot = np.arange(len(self._positions[0]))
        ties = (keys[:, slot // self._per_word] >> (bits * (slot % self._per_word))) & ((1 << bits) - 1)
        situation, slot = np.nonzero(ties)
        tie = ties[situation, slot]
        start, size = self._ties.start[tie], np.diff(self._ties.start)[tie]
        content = self._ties.content[_ranges(start, size)]
        a, b = (np.repeat(p[slot], size) for p in self._positions)
        incoming = (content & 1).astype(bool)
        source, target = np.where(incoming, b, a), np.where(incoming, a, b)
        return np.repeat(situation, size), source, target, content >> 1


class Sight:
    """Relations of a graph that the rules read, with their weights partitioned into cells by their uses."""

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

    def ends(
        self, marked: Marked | None = None
    ) -> dict[str, tuple[Vertices, Vertices, tuple[Weights, Weights]]]:
        """Sources, targets and extreme weights by relation; each cell between two vertices occurs once.

        With `marked` vertices, shape (n,), only of the edges between these.
        """
        found = {}
        for predicate, relation in self.relations.items():
            cells, rows = self.cells[predicate], _between(relation, marked)
            columns = [relation.source[rows], relation.target[rows], cells.of_edge[rows]]
            source, target, cell = sorted_rows(columns)
            found[predicate] = (source, target, (cells.low[cell], cells.high[cell]))
        return found

    def edges(self, marked: Marked | None = None) -> dict[str, tuple[Vertices, Vertices, tuple[Weights]]]:
        """Sources, targets and weights by relation; `marked` as in `ends`."""
        found = {}
        for predicate, relation in self.relations.items():
            rows = _between(relation, marked)
            found[predicate] = (relation.source[rows], relation.target[rows], (weights(relation)[rows],))
        return found


def _between(relation: Relation, marked: Marked | None) -> slice | Vertices:
    """Edges between marked vertices."""
    if marked is None:
        return slice(None)
    return np.flatnonzero(marked[relation.source] & marked[relation.target])


def weights(relation: Relation) -> Weights:
    """Weights as rules see them: 1 if the relation has none."""
    return relation.weight if relation.weight is not None else np.ones(len(relation))


def _cells(relation: Relation, use: WeightUse) -> Cells:
    if use.use is Use.READ:
        return Cells.exact(weights(relation))
    # Most sums depend only on whether one weight exceeds the bound, or two are below half of it.
    return Cells.between(weights(relation), np.union1d(use.constants, np.outer(use.bounds, CUTS)))
