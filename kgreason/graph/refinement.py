"""Structural neighbourhood of vertices: degrees, vertex refinement, neighbourhoods.

References
----------
M. Hay, G. Miklau, D. Jensen, D. Towsley, P. Weis: Resisting structural re-identification in anonymized social networks,
VLDB 2008: vertex refinement queries. B. Zhou, J. Pei: Preserving privacy in social networks against neighborhood
attacks, ICDE 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgreason.base.jit import Ints, Rows, kernel
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.sorted_keys import distinct, looked_up, places, row_numbers

BLOCK = 1 << 22  # ties of neighbourhoods compared at once


@dataclass(frozen=True, eq=False)
class Sides:
    """Ties of a graph in both directions: the tie from ``u[i]`` to ``v[i]`` has kind ``kind[i]``.

    Two ties are of the same kind if they have the same number of edges of each relation in either direction. Entries
    are sorted by u.
    """

    n: int
    u: Ints
    v: Ints
    kind: Ints

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> Sides:
        """Ties of a graph, loops included."""
        pairs, n = Pairs(graph), max(graph.n, 1)
        source, target = np.divmod(pairs.keys, n)
        keys = distinct(np.concatenate([pairs.keys, target * n + source]))
        u, v = np.divmod(keys, n)
        forth, back = pairs.types_at(keys), pairs.types_at(v * n + u)
        return cls(graph.n, u, v, forth * len(pairs.counts) + back)

    @cached_property
    def starts(self) -> Ints:
        """First entry of each vertex, shape (n + 1,)."""
        return np.searchsorted(self.u, np.arange(self.n + 1))

    def within(self, vertices: Ints) -> Sides:
        """Ties of whole components, with vertices renumbered in the given order."""
        number = np.empty(self.n, dtype=np.int64)
        number[vertices] = np.arange(len(vertices))
        entry, u = _entries(self.starts, vertices)
        return Sides(len(vertices), u, number[self.v[entry]], self.kind[entry])

    def layers(self) -> Ints:
        """Round in which each vertex is removed when all vertices of degree at most one go at once; -1 for the core.

        Examples
        --------
        A path, and a cycle with a leaf:

        >>> edges = [("a", "b"), ("b", "c"), ("p", "q"), ("q", "r"), ("r", "p"), ("p", "s")]
        >>> Sides.of(KnowledgeGraph.from_edges(edges)).layers().tolist()
        [0, 1, 0, -1, -1, -1, 0]
        """
        proper = self.u != self.v
        end, other = self.u[proper], self.v[proper]
        layer = np.full(self.n, -1, dtype=np.int64)
        number = 0
        while True:
            leaves = (np.bincount(end, minlength=self.n) <= 1) & (layer < 0)
            if not leaves.any():
                return layer
            layer[leaves] = number
            number += 1
            left = ~(leaves[end] | leaves[other])
            end, other = end[left], other[left]


def degrees(graph: KnowledgeGraph) -> Ints:
    """Number each vertex by its in- and out-degree over all relations; shape (n,)."""
    return row_numbers([graph.in_degree(), graph.out_degree()])


def refined(graph: KnowledgeGraph, rounds: int) -> Ints:
    """Number the vertices by H_i of Hay et al.

    H_0 is constant. H_(i+1) is H_i of the vertex and of each of its neighbours, together with their ties: the relations
    and directions of the edges.

    Examples
    --------
    >>> path = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("c", "d")])
    >>> [len(set(refined(path, i).tolist())) for i in range(3)]
    [1, 3, 4]
    """
    return refine(Sides.of(graph), np.zeros(graph.n, dtype=np.int64), rounds)


def refine(sides: Sides, colours: Ints, rounds: int) -> Ints:
    """Refine colours by those of neighbours until stable or for a number of rounds; exact, without hashing."""
    colours = paired(colours, np.zeros_like(colours))
    for _ in range(rounds):
        finer = paired(colours, multisets(sides.u, paired(sides.kind, colours[sides.v]), sides.n))
        if finer.max(initial=-1) == colours.max(initial=-1):
            return finer
        colours = finer
    return colours


def neighbourhoods(graph: KnowledgeGraph) -> Ints:
    """Number the vertices by the subgraph induced by each vertex and its neighbours.

    Isomorphic neighbourhoods (with the vertex itself fixed) get the same number. Others get different numbers as far as
    colour refinement with the vertex singled out distinguishes them, which is nearly always. The smallest that it does
    not distinguish have six neighbours: one in a ring, the other in two triangles.
    """
    sides, numbers = Sides.of(graph), degrees(graph)
    work = _work(sides, numbers)
    centres = np.flatnonzero(work)
    centres = centres[np.argsort(numbers[centres], kind="stable")]
    # neighbourhoods of different degrees are not compared
    last = np.flatnonzero(np.diff(numbers[centres], append=-1))
    cuts = last[np.flatnonzero(np.diff(np.cumsum(work[centres])[last] // BLOCK))] + 1
    count = graph.n
    for part in np.split(centres, cuts):
        egos, centre = _egos(sides, part)
        colours = np.zeros(egos.n, dtype=np.int64)
        colours[centre] = 1
        numbers[part] = refine(egos, colours, egos.n)[centre] + count
        count += egos.n
    return numbered(numbers[:, None])


def effort(graph: KnowledgeGraph) -> int:
    """Approximate number of edges that `neighbourhoods` reads."""
    return int(_work(Sides.of(graph), degrees(graph)).sum())


def _work(sides: Sides, numbers: Ints) -> Ints:
    """Number of ties of each vertex and its neighbours; 0 where the degrees already make the vertex unique."""
    degree = np.bincount(sides.u, minlength=sides.n)
    work = 1 + degree + np.bincount(sides.u, degree[sides.v], sides.n).astype(np.int64)
    return np.where(np.bincount(numbers, minlength=1)[numbers] == 1, 0, work)


def _egos(sides: Sides, roots: Ints) -> tuple[Sides, Ints]:
    """Disjoint union of the ego graphs of some vertices, and the position of each centre."""
    n, starts = sides.n, sides.starts
    own = np.arange(len(roots)) * n + roots
    entry, ego = _entries(starts, roots)
    keys = distinct(np.concatenate([own, ego * n + sides.v[entry]]))
    ego, member = np.divmod(keys, max(n, 1))
    entry, u = _entries(starts, member)
    v, inside = places(keys, ego[u] * n + sides.v[entry])
    return Sides(len(keys), u[inside], v[inside], sides.kind[entry[inside]]), np.searchsorted(keys, own)


def _entries(starts: Ints, vertices: Ints) -> tuple[Ints, Ints]:
    """Entries of the ties of some vertices, and the index of the vertex of each entry."""
    count = np.diff(starts)[vertices]
    owner = np.repeat(np.arange(len(vertices)), count)
    return starts[vertices][owner] + np.arange(len(owner)) - (np.cumsum(count) - count)[owner], owner


def paired(left: Ints, right: Ints) -> Ints:
    """Number pairs of non-negative numbers from 0: equal numbers if and only if the pairs are equal.

    Examples
    --------
    >>> paired(np.array([7, 0, 7]), np.array([2, 2, 2])).tolist()
    [1, 0, 1]
    """
    # Both are numbers of vertices or rows, far below sqrt(2**63).
    keys = left * (int(right.max(initial=0)) + 1) + right
    numbers: Ints = np.unique(keys, return_inverse=True)[1]
    return numbers.astype(np.int64)


def multisets(owner: Ints, value: Ints, n: int) -> Ints:
    """Number the multisets of values of n owners: equal if and only if the multisets are; 0 for owners without values.

    Sorted values are folded pairwise into numbers of pairs until one number per owner is left.

    Examples
    --------
    >>> multisets(np.array([0, 0, 1, 3, 3]), np.array([5, 2, 2, 2, 5]), 4).tolist()
    [4, 3, 0, 4]
    """
    width = int(value.max(initial=0)) + 1
    owner, value = np.divmod(np.sort(owner * width + value), width)
    found = np.zeros(n, dtype=np.int64)
    named = 1
    while len(owner):
        first = np.append(True, owner[1:] != owner[:-1])
        alone = first & np.append(first[1:], True)
        if alone.any():
            # numbers differ within a round; multisets named in different rounds differ in size
            found[owner[alone]] = named + value[alone]
            named += int(value[alone].max()) + 1
        owner, value, starts = owner[~alone], value[~alone], np.flatnonzero(first[~alone])
        rank = np.arange(len(owner)) - np.repeat(starts, np.diff(np.append(starts, len(owner))))
        left = np.flatnonzero(rank % 2 == 0)
        right = np.append(value, 0)[left + 1] + 1
        right[np.append(rank, 0)[left + 1] == 0] = 0  # the next entry belongs to another owner
        owner, value = owner[left], paired(value[left], right)
    return found


def numbered(rows: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> Ints:
    """Number rows from 0; equal rows get the same number.

    Examples
    --------
    >>> numbered(np.array([[2, 1], [0, 5], [2, 1]])).tolist()
    [1, 0, 1]
    """
    if not len(rows):
        return np.empty(0, dtype=np.int64)
    order = np.lexsort(rows.T[::-1])
    new = (np.diff(rows[order], axis=0) != 0).any(axis=1)
    numbers = np.empty(len(rows), dtype=np.int64)
    numbers[order] = np.concatenate([[0], np.cumsum(new)])
    return numbers


@kernel
def _pair_types(members: Rows, indptr: Ints, indices: Ints, types: Ints, out: Rows) -> None:
    """Type of every ordered pair of vertices of every set, from the sorted successors of each vertex; 0: no edge."""
    size = members.shape[1]
    for i in range(len(members)):
        for a in range(size):
            first, stop = indptr[members[i, a]], indptr[members[i, a] + 1]
            for b in range(size):
                v = members[i, b]
                low, high = first, stop
                while low < high:
                    middle = (low + high) // 2
                    if indices[middle] < v:
                        low = middle + 1
                    else:
                        high = middle
                out[i, a * size + b] = types[low] if low < stop and indices[low] == v else 0


class Pairs:
    """Ground edges of a graph by ordered pair of vertices.

    The type of a pair is determined by the number of edges of each relation between the two in that direction; 0: no
    edge.

    `counts` holds the edges per relation of each type, shape (types, relations); `keys` u * n + v for each ordered pair
    with edges, ascending.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        n = max(graph.n, 1)
        self.n, (source, target) = graph.n, graph.ends
        self.keys, position = np.unique(source * n + target, return_inverse=True)
        none = len(self.keys)  # place of a pair without edges
        ends = np.cumsum([len(r) for r in graph.relations.values()])
        counts = [np.bincount(part, minlength=none + 1) for part in np.split(position, ends)[:-1]]
        types = row_numbers(counts) if counts else np.zeros(1, dtype=np.int64)
        self.counts = np.zeros((int(types.max()) + 1, len(counts)), dtype=np.int64)
        self.counts[types] = np.stack([*counts, types], axis=1)[:, :-1]
        self._types = types[:none]
        self._indptr = np.searchsorted(self.keys, np.arange(graph.n + 1) * n)
        self._indices = self.keys % n

    def types_at(self, keys: Ints) -> Ints:
        """Types of ordered pairs given by their keys."""
        return looked_up(self.keys, self._types, keys)

    def of(self, members: Ints) -> Ints:
        """Types of all ordered pairs within each vertex set (N, x), shape (N, x * x)."""
        types = np.empty((len(members), members.shape[1] ** 2), dtype=np.int64)
        _pair_types(np.ascontiguousarray(members), self._indptr, self._indices, self._types, types)
        return types
