"""What an attacker may know of a vertex, and which vertices look the same to him.

References
----------
M. Hay, G. Miklau, D. Jensen, D. Towsley, P. Weis, "Resisting structural re-identification in anonymized social
networks", PVLDB 1(1), 2008: vertex refinement queries. Here edges are directed, of several relations, and parallel.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from kgreason.assess.classes import Pairs
from kgreason.graph.model import KnowledgeGraph
from kgreason.records import dataclass

Ints = npt.NDArray[np.int64]
Colours = npt.NDArray[np.uint64]

BLOCK = 1 << 22  # edges of neighbourhoods looked at together
MOST = 1 << 24  # edges of all neighbourhoods, above which they are not looked at
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(0x9E3779B97F4A7C15))


@dataclass(frozen=True)
class Ties:
    """Neighbours of vertices, and how each is tied to them.

    Attributes
    ----------
    indptr, other, tie
        Neighbours of each vertex, ascending, and a number that tells the edges in both directions by relation.
    kind
        The same of loops; shape (n,).
    """

    indptr: Ints
    other: Ints
    tie: Ints
    kind: Ints

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> Ties:
        """The ties of a graph."""
        n, pairs = max(graph.n, 1), Pairs(graph)
        source, target = np.divmod(pairs.keys, n)
        keys = np.union1d(pairs.keys, target * n + source)
        u, v = np.divmod(keys, n)
        straight = u != v
        keys, u, v = keys[straight], u[straight], v[straight]
        tie = pairs.types_at(keys) * len(pairs.counts) + pairs.types_at(v * n + u)
        indptr = np.searchsorted(u, np.arange(graph.n + 1))
        return cls(indptr, v, tie, pairs.types_at(np.arange(graph.n) * (n + 1)))

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1

    @property
    def degree(self) -> Ints:
        """Number of neighbours of each vertex."""
        return np.diff(self.indptr)


def knowledge(graph: KnowledgeGraph) -> Iterator[tuple[str, Ints | None]]:
    """Partitions of the vertices into those that look the same, from little knowledge to much.

    Yields
    ------
    tuple
        What is known, and the class of each vertex, int64, shape (n,); `None` if that would take too long.

    Notes
    -----
    In- and out-degrees count edges of all relations. All that is known beyond degrees tells relations apart. Classes of
    refinement are compared by hashes of 64 bits. *Neighbourhood* compares the induced subgraphs on a vertex and its
    neighbours by refinement that begins at the vertex: what differs is not isomorphic, and what is not isomorphic
    differs unless both are as regular as refinement cannot tell. So it may give away more, never less.

    Examples
    --------
    Of a path of five vertices the ends and the middle are unique once refinement has come to them:

    >>> path = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("d", "c"), ("e", "d")])
    >>> {what: len(np.unique(classes)) for what, classes in knowledge(path)}["refinement"]
    3
    """
    ties = Ties.of(graph)
    inner, outer = graph.in_degree(), graph.out_degree()
    both = _numbered(inner * (int(outer.max(initial=0)) + 1) + outer)
    yield "nothing", np.zeros(graph.n, dtype=np.int64)
    yield "in-degree", inner
    yield "out-degree", outer
    yield "in- and out-degree", both
    colours = _mixed(both.astype(np.uint64) * _MIX[2] + ties.kind.astype(np.uint64))
    yield "neighbours' degrees", _numbered(refined(ties, colours))
    yield "refinement", _numbered(fixpoint(ties, colours))
    yield "neighbourhood", neighbourhoods(ties, both)


def refined(ties: Ties, colours: Colours) -> Colours:
    """One round: each vertex sees its colour and how many neighbours of each colour are tied to it in which way."""
    seen = _mixed(colours[ties.other] + _mixed(ties.tie.astype(np.uint64) * _MIX[2] + _MIX[0]))
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(seen, dtype=np.uint64)])
    return _mixed(colours * _MIX[2] + sums[ties.indptr[1:]] - sums[ties.indptr[:-1]])


def fixpoint(ties: Ties, colours: Colours) -> Colours:
    """Refine until no class is divided any more."""
    count, found = -1, len(np.unique(colours))
    while count < found:
        colours, count = refined(ties, colours), found
        found = len(np.unique(colours))
    return colours


def neighbourhoods(ties: Ties, degrees: Ints) -> Ints | None:
    """Classes of vertices by the subgraph that they and their neighbours induce; `None` if it has too many edges.

    Parameters
    ----------
    degrees
        Class of each vertex by degrees: where these differ, neighbourhoods do.
    """
    reached = np.concatenate([[0], np.cumsum(ties.degree[ties.other])])
    work = ties.degree + reached[ties.indptr[1:]] - reached[ties.indptr[:-1]]
    sizes = np.bincount(degrees)
    classes = degrees.copy()
    open_ = np.flatnonzero(sizes[degrees] > 1)  # the others are told by their degrees already
    if work[open_].sum() > MOST:
        return None
    open_ = open_[np.argsort(degrees[open_], kind="stable")]
    ends = np.cumsum(sizes[sizes > 1])
    block = np.cumsum(work[open_])[ends - 1] // BLOCK
    count = len(sizes)
    for part in np.split(open_, ends[np.flatnonzero(np.diff(block))]):
        found = _numbered(_rooted(ties, part) + _mixed(degrees[part].astype(np.uint64)))
        classes[part] = found + count
        count += len(part)
    return classes


def _rooted(ties: Ties, roots: Ints) -> Colours:
    """Colour of each root after refinement in the subgraph that it and its neighbours induce."""
    n = ties.n
    entry, root = _entries(ties, roots)
    keys = np.sort(np.concatenate([np.arange(len(roots)) * n + roots, root * n + ties.other[entry]]))
    root, vertex = np.divmod(keys, n)
    entry, place = _entries(ties, vertex)
    wanted = root[place] * n + ties.other[entry]
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    inside = keys[found] == wanted
    indptr = np.searchsorted(place[inside], np.arange(len(keys) + 1))
    within = Ties(indptr, found[inside], ties.tie[entry[inside]], ties.kind[vertex])
    chosen = vertex == roots[root]
    begin = _mixed(within.kind.astype(np.uint64) * np.uint64(2) + chosen)
    colours: Colours = fixpoint(within, begin)[chosen]
    return colours


def _entries(ties: Ties, vertices: Ints) -> tuple[Ints, Ints]:
    """Entries of the neighbours of some vertices, and to which of these each belongs."""
    degree = ties.degree[vertices]
    owner = np.repeat(np.arange(len(vertices)), degree)
    first = np.cumsum(degree) - degree
    return ties.indptr[vertices][owner] + np.arange(len(owner)) - first[owner], owner


def _mixed(values: npt.NDArray[np.uint64]) -> Colours:
    """Scatter 64-bit numbers, a bijection (splitmix64: Steele, Lea, Flood 2014)."""
    z = (values ^ (values >> np.uint64(30))) * _MIX[0]
    z = (z ^ (z >> np.uint64(27))) * _MIX[1]
    return z ^ (z >> np.uint64(31))


def _numbered(values: npt.NDArray[np.generic]) -> Ints:
    numbers: Ints = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return numbers
