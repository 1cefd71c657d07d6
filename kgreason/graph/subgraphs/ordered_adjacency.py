"""Adjacency for the enumeration of subgraphs: vertices by descending degree, with ties."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.base import memory
from kgreason.base.errors import AnonymizationError
from kgreason.base.records import record
from kgreason.engine.relations.rows import Keys
from kgreason.graph.induced.situations import Ties
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.graph.sorted_keys import descending, row_numbers
from kgreason.graph.subgraphs import adjacency_kernels as kernels

Ints = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.int32]
_WIDTH = 62
_BATCH = 1 << 14  # neighbours whose kinds are numbered at once
_MOST = np.iinfo(np.int32).max  # vertices


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
        return kernels.sum_of_powers(self.indptr, self.neighbour, max(x - 2, 0)) / 2

    @property
    def greater(self) -> Ints:
        """Number of greater neighbours of each vertex, shape (n,)."""
        found = np.empty(self.n, dtype=np.int64)
        kernels.count_greater(self.indptr, self.neighbour, found)
        return found

    @classmethod
    def plain(cls, graph: KnowledgeGraph) -> Adjacency:
        """All ties equal, for counting only."""
        return _hubs_first(graph, coded=False)

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
        return _hubs_first(graph, coded=True, cells=cells)


def undirected(graph: KnowledgeGraph) -> tuple[Ints, Ints]:
    """Neighbours of v by edges of any relation, without v: ``neighbours[indptr[v]:indptr[v + 1]]``, ascending.

    Returns `indptr` and `neighbours`, int64.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "a"), ("b", "c"), ("c", "c")])
    >>> [a.tolist() for a in undirected(graph)]
    [[0, 1, 3, 4], [1, 0, 2, 1]]
    """
    ptr, entries, *_ = _entries(graph, coded=False)
    kernels.drop_repeated(ptr, entries)
    return ptr, entries[: ptr[-1]]


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


def _entries(graph: KnowledgeGraph, *, coded: bool) -> tuple[Ints, Ints, Ints, int]:
    """Bounds and sorted entries of all vertices (see `adjacency_kernels`), numbers of neighbours, and number of codes.

    If `coded`, relation i of r has code i at the sources of its edges, and r + i at the targets; else all have code 0.
    """
    relations = list(graph.relations.values())
    ptr = np.zeros(graph.n + 2, dtype=np.int64)
    ends = [(np.ascontiguousarray(r.source), np.ascontiguousarray(r.target)) for r in relations]
    for source, target in ends:
        kernels.count_entries(source, target, ptr)
    np.cumsum(ptr, out=ptr)
    memory.claim(8 * int(ptr[-1]))
    entries = np.empty(ptr[-1], dtype=np.int64)
    codes = 2 * len(relations) if coded else 1
    for i, (source, target) in enumerate(ends):
        outgoing, incoming = (i, len(relations) + i) if coded else (0, 0)
        kernels.place_entries(source, target, codes, outgoing, incoming, ptr, entries)
    degree = np.empty(graph.n, dtype=np.int64)
    kernels.sort_entries(ptr, entries, codes, degree)
    return ptr[:-1], entries, degree, codes


def _hubs_first(graph: KnowledgeGraph, *, coded: bool, cells: Ties | None = None) -> Adjacency:
    """Number vertices by descending degree; unless `coded`, all ties and colours are equal."""
    n, nothing = graph.n, np.empty(0, dtype=np.int64)
    if n > _MOST:  # neighbours have 32 bits
        raise AnonymizationError(
            f"the graph has {n:,} vertices, more than {_MOST:,}", hint="divide it into several graphs"
        )
    ptr, entries, degree, codes = _entries(graph, coded=coded)
    original = descending(degree)
    rank = np.empty(n, dtype=np.int32)
    rank[original] = np.arange(n, dtype=np.int32)
    indptr = np.zeros(n + 2, dtype=np.int64)
    np.cumsum(degree[original], out=indptr[2:])
    del degree
    memory.claim(8 * int(indptr[-1]))
    neighbour = np.empty(indptr[-1], dtype=np.int32)
    tie = np.empty(indptr[-1] if coded else 0, dtype=np.int32)
    by_cells = (nothing,) * 3 if cells is None else (cells.indptr, cells.neighbour, cells.tie)
    owners, others = np.empty((2, _BATCH), dtype=np.int64)
    kinds = np.empty((_BATCH, codes + (cells is not None)), dtype=np.int64)
    known, numbers = Keys(kinds.shape[1]), nothing
    at = e = 0
    # a row is ascending, as each vertex is appended to those of its neighbours in the order of vertices
    while at < n:
        at, e, rows = kernels.describe(original, ptr, entries, codes, *by_cells, at, e, owners, others, kinds)
        if coded:
            numbers = known.number(kinds[:rows])
        kernels.append(owners, others, numbers, rows, rank, indptr, neighbour, tie)
    del entries, ptr, rank
    if not coded:
        return Adjacency(
            original, indptr[:-1], neighbour, np.ones_like(neighbour), np.zeros(n, dtype=np.int32), 1, 0
        )
    numbers = 1 + row_numbers(list(known.rows[: known.count].T))
    for start in range(0, len(tie), _BATCH):
        some = tie[start : start + _BATCH]
        some[:] = numbers[some]
    colour = _colours(graph, cells)[original].astype(np.int32)
    bits, low = int(tie.max(initial=1)).bit_length(), int(colour.max(initial=0)).bit_length()
    return Adjacency(original, indptr[:-1], neighbour, tie, colour, bits, low)


def _colours(graph: KnowledgeGraph, cells: Ties | None) -> Ints:
    """Colour of each vertex by its loops."""
    relations = graph.relations.values()
    columns = [np.bincount(r.source[r.source == r.target], minlength=graph.n) for r in relations]
    return row_numbers(
        [np.zeros(graph.n, dtype=np.int64), *columns, *([] if cells is None else [cells.loop])]
    )
