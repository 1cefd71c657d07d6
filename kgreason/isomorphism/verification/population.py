"""Attacked subgraphs of a graph in a fixed order, counted without storing them, and random samples of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from kgreason.base.divided_work import Advance, divided
from kgreason.base.errors import TooLargeError
from kgreason.base.jit import Ints, Rows, Shorts, inlined, kernel
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.verification.release_index import Adjacency, undirected
from kgreason.isomorphism.verification.subgraph_visits import SHARES, Share, shares, with_roots, work_of

MOST = 1 << 63  # ranks must fit into a word
LARGEST = 8  # vertices of an attacked subgraph; canonical forms try all permutations
CHOSEN, NEXT, END, LIMIT = range(4)  # rows of the path of `_count_sets`


@inlined
def _last_to_join(
    indptr: Ints,
    neighbour: Shorts,
    w: int,
    reached: Shorts,
    opened: Shorts,
    begin: int,
    stop: int,
    number: int,
) -> int:
    """Vertex that joins last: among those waiting in ``opened[begin:stop]`` and the new neighbours of w."""
    if begin + number < stop:
        return int(opened[begin + number])
    number -= stop - begin
    e = indptr[w + 1] - 1
    while reached[neighbour[e]] != 0 or number > 0:
        number -= 1 - reached[neighbour[e]]
        e -= 1
    return int(neighbour[e])


@kernel
def _count_sets(
    indptr: Ints, neighbour: Shorts, first: int, stop: int, root: int, path: Rows, reached: Shorts, opened: Shorts,
    ranks: Ints, out: Rows,
) -> int:  # fmt: skip
    """Count the sets of a share and output those of some ranks; the last vertices to join are counted, not visited."""
    # The share begins at vertex `root`. `path`, `reached` and `opened` are scratch arrays of (4, x + 1), n and n + 1
    # numbers; `reached` is zero before and after.
    size = path.shape[1] - 1
    total = 0
    written = 0
    while root < len(indptr) - 1 and indptr[root] < stop:
        high = 0
        begin = 0
        end = 0
        for e in range(indptr[root + 1] - 1, indptr[root] - 1, -1):
            u = neighbour[e]
            if u <= root:
                break
            reached[u] = 1
            opened[high] = u
            high += 1
            if e >= stop:
                begin = high
            if e >= first:
                end = high
        if size == 2:
            while written < len(ranks) and ranks[written] < total + end - begin:
                out[written, 0] = root
                out[written, 1] = opened[begin + ranks[written] - total]
                written += 1
            total += end - begin
        depth = 1 if size > 2 else 0
        path[CHOSEN, 0] = root
        path[NEXT, 1] = begin
        path[END, 1] = high
        path[LIMIT, 1] = end
        while depth >= 1:
            if path[NEXT, depth] == path[LIMIT, depth]:
                depth -= 1
                for i in range(path[END, depth], path[END, depth + 1]):
                    if depth >= 1:
                        reached[opened[i]] = 0
                continue
            w = opened[path[NEXT, depth]]
            path[CHOSEN, depth] = w
            path[NEXT, depth] += 1
            top = path[END, depth]
            e = indptr[w + 1] - 1
            if depth == size - 2:
                more = top - path[NEXT, depth]
                while e >= indptr[w] and neighbour[e] > root:
                    more += 1 - reached[neighbour[e]]
                    e -= 1
                while written < len(ranks) and ranks[written] < total + more:
                    for p in range(size - 1):
                        out[written, p] = path[CHOSEN, p]
                    out[written, size - 1] = _last_to_join(
                        indptr, neighbour, w, reached, opened, path[NEXT, depth], top, ranks[written] - total
                    )
                    written += 1
                total += more
                continue
            while e >= indptr[w] and neighbour[e] > root:
                u = neighbour[e]
                if reached[u] == 0:
                    reached[u] = 1
                    opened[top] = u
                    top += 1
                e -= 1
            depth += 1
            path[NEXT, depth] = path[NEXT, depth - 1]
            path[END, depth] = top
            path[LIMIT, depth] = top
        for i in range(high):
            reached[opened[i]] = 0
        root += 1
    return total


def count_connected(adjacency: Adjacency, size: int, limit: int) -> int:
    """Count the connected vertex sets; stops soon after `limit`."""
    parts = shares(adjacency, size, SHARES)
    work = partial(_counts, adjacency, size, parts, limit, [])
    found = divided(work, len(parts), _steps(adjacency, size))
    return sum(count for some in found for _, count in some)


def _steps(adjacency: Adjacency, size: int) -> float:
    """Elementary steps of counting: the last vertex of a set is not visited."""
    return float(work_of(adjacency, max(size - 1, 2)).sum())


def _counts(
    adjacency: Adjacency,
    size: int,
    parts: Sequence[Share],
    limit: int | None,
    met: list[int],
    numbers: Iterator[int],
    _: Advance,
) -> list[tuple[int, int]]:
    """Numbers of some shares and of their sets; the threads of a process share `met`, and stop at the limit."""
    n, none = len(adjacency.vertices), np.empty(0, dtype=np.int64)
    reached, opened = np.zeros(n, dtype=np.int32), np.empty(n + 1, dtype=np.int32)
    path, out = np.zeros((4, size + 1), dtype=np.int64), none.reshape(0, size)
    graph, where = (adjacency.indptr, adjacency.neighbour), with_roots(adjacency, parts)
    found = []
    for number in numbers:
        if limit is None or sum(met) <= limit:
            a, b, root = where[number].tolist()
            count = _count_sets(*graph, a, b, root, path, reached, opened, none, out)
            met.append(count)
            found.append((number, count))
    return found


def share_counts(adjacency: Adjacency, size: int, parts: Sequence[Share]) -> list[int]:
    """Numbers of the connected vertex sets of shares."""
    work = partial(_counts, adjacency, size, parts, None, [])
    found = divided(work, len(parts), _steps(adjacency, size))
    return [count for _, count in sorted(share for some in found for share in some)]


def pick(adjacency: Adjacency, size: int, share: Share, ranks: Ints | None = None) -> tuple[int, Ints]:
    """Count the connected vertex sets of a share, and list those of some ranks, (len(ranks), size).

    The ranks in the order of the enumeration are ascending and unique.
    """
    ranks = np.empty(0, dtype=np.int64) if ranks is None else ranks
    n = len(adjacency.vertices)
    reached, opened = np.zeros(n, dtype=np.int32), np.empty(n + 1, dtype=np.int32)
    path, out = np.zeros((4, size + 1), dtype=np.int64), np.empty((len(ranks), size), dtype=np.int64)
    ((begin, stop, root),) = with_roots(adjacency, [share]).tolist()
    where = adjacency.indptr, adjacency.neighbour, begin, stop, root
    total = _count_sets(*where, path, reached, opened, ranks, out)
    return total, adjacency.vertices[out]


def small_components(graph: KnowledgeGraph, x: int) -> tuple[list[tuple[int, Ints]], bool]:
    """Weakly connected components with fewer than x vertices, (C, size) by ascending size, and whether others exist.

    `TooLargeError` is raised if attacked subgraphs, these components or sets of x vertices, exceed 8 vertices.
    """
    _, component = graph.components()
    sizes = np.bincount(component)[component] if graph.n else component
    order = np.lexsort((component, sizes))
    smaller, largest = np.unique(sizes[sizes < x]).tolist(), int(sizes.max(initial=0))
    if min(x, largest) > LARGEST:
        raise TooLargeError(
            f"subgraphs of {min(x, largest)} vertices cannot be decided",
            hint=f"choose an x of at most {LARGEST}",
        )
    return [(s, order[sizes[order] == s].reshape(-1, s)) for s in smaller], largest >= x


@record
class Population:
    """Attacked subgraphs of x vertices by rank: smaller components first, then the connected sets."""

    x: int
    listed: Sequence[tuple[int, Ints]]  # stored sets, by size
    adjacency: Adjacency  # in which the connected sets are enumerated
    divided: Sequence[Share]
    counts: Sequence[int]  # number of sets of each share

    @classmethod
    def of(cls, graph: KnowledgeGraph, x: int, limit: int) -> Population:
        """Count the sets, in about the time of an enumeration of the connected sets of x - 1 vertices.

        `TooLargeError` is raised for more than `limit` of these, or if sets of x vertices are too large to be decided.
        """
        listed, larger = small_components(graph, x)
        adjacency, divided = undirected(graph), list[Share]()
        if x == 1:
            listed.append((1, np.arange(graph.n)[:, None]))
        elif larger:
            _check_countable(adjacency, x, limit)
            divided = shares(adjacency, x, SHARES)
        return cls(x, listed, adjacency, divided, share_counts(adjacency, x, divided))

    @property
    def total(self) -> int:
        """Number of attacked subgraphs."""
        return sum(len(rows) for _, rows in self.listed) + sum(self.counts)

    def of_ranks(self, ranks: Ints) -> list[tuple[int, Ints]]:
        """Sets of these ranks (ascending), by size: int64 (N, size)."""
        found, begin = [], 0
        for size, rows in self.listed:
            found.append((size, rows[_between(ranks, begin, begin + len(rows))]))
            begin += len(rows)
        starts = np.cumsum([begin, *self.counts], dtype=np.int64).tolist()
        wanted = [_between(ranks, a, b) for a, b in pairwise(starts)]
        tasks = [(share, mine) for share, mine in zip(self.divided, wanted, strict=True) if len(mine)]
        work = partial(_picked, self.adjacency, self.x, tasks)
        picked = dict(
            pair for some in divided(work, len(tasks), _steps(self.adjacency, self.x)) for pair in some
        )
        if picked:
            found.append((self.x, np.concatenate([picked[i] for i in range(len(tasks))])))
        return [(size, rows) for size, rows in found if len(rows)]


def _picked(
    adjacency: Adjacency, size: int, tasks: Sequence[tuple[Share, Ints]], numbers: Iterator[int], _: Advance
) -> list[tuple[int, Ints]]:
    return [(number, pick(adjacency, size, *tasks[number])[1]) for number in numbers]


def _between(ranks: Ints, begin: int, stop: int) -> Ints:
    """Ranks in ``[begin, stop)``, relative to `begin`."""
    first, last = np.searchsorted(ranks, [begin, stop])
    return ranks[first:last] - begin


def _check_countable(adjacency: Adjacency, x: int, limit: int) -> None:
    """Refuse sets that would take too long to count; smaller sets first, as this check takes time, too."""
    fewer = len(adjacency.vertices)
    for size in range(2, x):
        fewer = count_connected(adjacency, size, limit)
        if fewer > limit:
            raise TooLargeError(
                f"the graph has more than {limit:,} connected subgraphs with {size} vertices, too many to count those "
                f"with {x}, of which a sample is to be drawn",
                hint=f"choose an x of at most {size}, or allow more with --max-subgraphs, which takes time",
            )
    if fewer * len(adjacency.vertices) >= MOST:  # each smaller set may be extended by any vertex
        raise TooLargeError(
            f"the graph has {fewer:,} connected subgraphs with {x - 1} vertices and {len(adjacency.vertices):,} "
            f"vertices: there may be 2^63 or more with {x} vertices, and they cannot be numbered",
            hint=f"choose an x smaller than {x}",
        )


@record
class Drawn:
    """Random sample of the attacked subgraphs of x vertices."""

    population: int | None  # number of attacked subgraphs to draw from; `None`: these are all
    limit: int  # maximum number of sets of the release that are visited
    # by size (smaller components are attacked as a whole): original vertices, (N, size)
    sets: Sequence[tuple[int, Ints]]


def draw(
    graph: KnowledgeGraph, sizes: Sequence[int], count: int, limit: int, rng: np.random.Generator
) -> Mapping[int, Drawn]:
    """Draw attacked subgraphs of all sizes x together, uniformly at random without replacement.

    If there are at most `count` attacked subgraphs, the result is empty: all should be decided. `TooLargeError` is
    raised for more than `limit` connected subgraphs of x - 1 vertices, which determine the time, or too many sets for
    64-bit ranks; the image search visits at most `limit` sets of the release.

    Examples
    --------
    >>> star = KnowledgeGraph.from_edges([("hub", f"leaf {i}") for i in range(1000)])
    >>> drawn = draw(star, [4], 5, 10**9, np.random.default_rng(1))[4]
    >>> drawn.population, [(size, rows.shape) for size, rows in drawn.sets]
    (166167000, [(4, (5, 4))])
    """
    populations = [Population.of(graph, x, limit) for x in sizes]
    ends = np.cumsum([0, *(p.total for p in populations)], dtype=object).tolist()
    if count >= ends[-1]:
        return {}
    if ends[-1] >= MOST:
        raise TooLargeError(
            f"there are {ends[-1]:,} subgraphs, too many to be numbered",
            hint="take a smaller x, or a lower max_subgraphs: only a random sample is then decided",
        )
    ranks = np.sort(rng.choice(ends[-1], count, replace=False, shuffle=False))
    return {
        p.x: Drawn(p.total, limit, p.of_ranks(_between(ranks, a, b)))
        for p, (a, b) in zip(populations, pairwise(ends), strict=True)
    }
