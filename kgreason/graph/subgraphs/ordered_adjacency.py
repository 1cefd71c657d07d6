"""Adjacency for the enumeration of subgraphs: vertices by descending degree, with ties."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.graph.induced.situations import Ties
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.graph.sorted_keys import descending, distinct, looked_up, row_numbers

Ints = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.int32]
_WIDTH = 62


@record(eq=False)
class Adjacency:
    """Undirected simple graph whose vertices are numbered by descending degree.

    The search takes hubs as roots first and then removes them. Ties are numbered from 1, as seen from the neighbour:
    the number of edges of each relation in either direction, and the cells of their weights that rules distinguish.
    Colours are the same for the loops of each vertex, numbered from 0.
    """

    original: Vertices  # number of each vertex in the graph, shape (n,)
    indptr: Ints  # the neighbours of v are ``neighbour[indptr[v]:indptr[v + 1]]``, ascending
    neighbour: Shorts
    tie: Shorts
    colour: Shorts
    bits: int  # width of the number of a tie
    low: int  # width of the number of a colour

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.original)

    def fits(self, x: int) -> bool:
        """Whether the ties and the colour of one of x vertices fit into a word."""
        return (x - 1) * self.bits + self.low <= _WIDTH

    def steps(self, x: int) -> float:
        """Approximate number of the connected sets of x vertices: sum of (deg u + deg v)^(x - 2) over neighbours."""
        degree = np.diff(self.indptr).astype(np.float64)
        pairs = np.repeat(degree, np.diff(self.indptr)) + degree[self.neighbour]
        return float((pairs ** max(x - 2, 0)).sum()) / 2

    @classmethod
    def plain(cls, graph: KnowledgeGraph) -> Adjacency:
        """All ties equal, for counting only."""
        pairs, _ = _pairs(graph)
        return _hubs_first(graph.n, pairs, np.ones(2 * len(pairs), np.int64), np.zeros(graph.n, np.int64))

    @classmethod
    def of(cls, graph: KnowledgeGraph, cells: Ties | None = None) -> Adjacency:
        """Distinguish ties by their edges and, optionally, by the cells of their weights.

        Examples
        --------
        >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("c", "b"), ("c", "c")])
        >>> found = Adjacency.of(graph)
        >>> found.original.tolist(), found.neighbour.tolist(), found.colour.tolist()
        ([1, 0, 2], [1, 2, 0, 0], [0, 0, 1])
        >>> len(set(found.tie.tolist()))
        3
        """
        pairs, (keys, kinds) = _pairs(graph)
        n = max(graph.n, 1)
        low, high = np.divmod(pairs, n)
        forth, back = looked_up(keys, kinds, pairs), looked_up(keys, kinds, high * n + low)
        loops = looked_up(keys, kinds, np.arange(graph.n) * (n + 1))
        one, other = [forth, back], [back, forth]
        colours = [loops]
        if cells is not None:
            owner = np.repeat(np.arange(graph.n), np.diff(cells.indptr))
            tie = looked_up(owner * n + cells.neighbour, cells.tie, pairs)
            one.append(tie)
            other.append(cells.mirror[tie])
            colours.append(cells.loop)
        ties = row_numbers([np.concatenate(column) for column in zip(one, other, strict=True)])
        return _hubs_first(graph.n, pairs, ties + 1, row_numbers(colours))


def undirected(graph: KnowledgeGraph) -> tuple[Ints, Ints]:
    """Neighbours of v by edges of any relation, without v: ``neighbours[indptr[v]:indptr[v + 1]]``, ascending.

    Returns `indptr` and `neighbours`, int64.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "a"), ("b", "c"), ("c", "c")])
    >>> [a.tolist() for a in undirected(graph)]
    [[0, 1, 3, 4], [1, 0, 2, 1]]
    """
    n = max(graph.n, 1)
    u, v = np.divmod(_pairs(graph)[0], n)
    keys = np.sort(np.concatenate([u * n + v, v * n + u]))
    return np.searchsorted(keys, np.arange(graph.n + 1) * n), keys % n


def ordered_pairs(graph: KnowledgeGraph) -> tuple[Ints, Ints]:
    """Ordered pairs with an edge, as u n + v, ascending, and the kind of each.

    Kinds are numbered from 1: pairs of a kind have the same number of edges of each relation.
    """
    source, target = graph.ends
    keys, at = np.unique(source * max(graph.n, 1) + target, return_inverse=True)
    sizes = [len(r) for r in graph.relations.values()]
    relation = np.repeat(np.arange(len(sizes)), sizes)
    counts = [np.bincount(at[relation == i], minlength=len(keys)) for i in range(len(sizes))]
    return keys, row_numbers(counts) + 1 if len(keys) else keys


def _pairs(graph: KnowledgeGraph) -> tuple[Ints, tuple[Ints, Ints]]:
    """Pairs u < v with an edge, as u n + v, ascending, and the result of `ordered_pairs`."""
    n = max(graph.n, 1)
    keys, kinds = ordered_pairs(graph)
    u, v = np.divmod(keys, n)
    proper = u != v
    both = np.minimum(u, v)[proper] * n + np.maximum(u, v)[proper]
    return distinct(both), (keys, kinds)


def _hubs_first(n: int, pairs: Ints, ties: Ints, colours: Ints) -> Adjacency:
    """Number vertices by descending degree; `ties` holds those of all pairs (u, v), then those of all (v, u)."""
    u, v = np.divmod(pairs, max(n, 1))
    ends, others = np.concatenate([v, u]), np.concatenate([u, v])
    degree = np.bincount(ends, minlength=n)
    original = descending(degree)
    rank = np.empty_like(original)
    rank[original] = np.arange(n)
    owner, neighbour = rank[ends], rank[others]
    order = np.argsort(owner * n + neighbour)
    indptr = np.concatenate([[0], np.cumsum(degree[original])])
    entries = neighbour[order].astype(np.int32), ties[order].astype(np.int32)
    bits, low = int(ties.max(initial=1)).bit_length(), int(colours.max(initial=0)).bit_length()
    return Adjacency(original, indptr, *entries, colours[original].astype(np.int32), bits, low)
