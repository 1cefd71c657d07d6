"""What becomes of an undirected graph: its degrees, edges, triangles and distances.

References
----------
Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, section 6; KDEGREE.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

import numpy as np
import numpy.typing as npt

from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Counts, Links, PeopleGraph
from kgreason.jit import Ints, kernel

Pairs = npt.NDArray[np.int64]


def keys(n: int, source: Vertices, target: Vertices) -> Vertices:
    """A number of the pair of each link, whichever way it runs; the order of numbers is that of pairs."""
    return np.minimum(source, target) * n + np.maximum(source, target)


def pairs(n: int, source: Vertices, target: Vertices) -> Pairs:
    """Pairs of different users that are linked, each once; int64, shape (2, m), the smaller number first, in order.

    Examples
    --------
    >>> pairs(3, np.array([0, 1, 2, 2]), np.array([1, 0, 1, 2])).tolist()
    [[0, 1], [1, 2]]
    """
    other = source != target
    return np.stack(np.divmod(np.unique(keys(n, source[other], target[other])), max(n, 1)))


def degrees(n: int, edges: Pairs) -> Counts:
    """How many users each of n is linked with; int64, shape (n,)."""
    return np.bincount(edges.ravel(), minlength=n)


def rows(n: int, tail: Vertices, head: Vertices) -> tuple[Vertices, Vertices, Vertices]:
    """Heads by their tails: those of v are ``near[start[v] : start[v + 1]]``, and where each of them was.

    Returns
    -------
    start, near, order
        int64, shapes (n + 1,), (m,), (m,).
    """
    order = np.argsort(tail, kind="stable")
    start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(tail, minlength=n), out=start[1:])
    return start, head[order], order


def linked(graph: PeopleGraph) -> tuple[Vertices, Vertices]:
    """Both ends of the links of all relations; int64, shape (m,)."""
    parts = [np.stack([links.source, links.target]) for links in graph.relations.values()]
    source, target = np.concatenate([np.empty((2, 0), dtype=np.int64), *parts], axis=1)
    return source, target


_NONE = Links(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class Changes:
    """Changed edges of one relation.

    Attributes
    ----------
    original
        |E|.
    added
        |E' - E|: edges of the release that are no image of an original one; those of fake users are among them.
    removed
        |E - E'|: original edges without an image; those of removed users are among them.
    """

    original: int
    added: int
    removed: int


def changed_edges(original: PeopleGraph, released: PeopleGraph, mapping: Vertices) -> dict[str, Changes]:
    """Compare the edges of each relation; `mapping` is as for `measure`."""
    width = max(released.n, 1)
    found = {}
    for name, links in original.relations.items():
        theirs = released.relations.get(name, _NONE)
        source, target = mapping[links.source], mapping[links.target]
        there = (source >= 0) & (target >= 0)
        images, edges = (source * width + target)[there], theirs.source * width + theirs.target
        common = len(np.intersect1d(images, edges, assume_unique=True))
        found[name] = Changes(len(links), len(edges) - common, len(links) - common)
    return found


@kernel
def triangles(start: Ints, near: Ints, weight: Ints, mark: Ints, found: Ints) -> None:
    """Add to each vertex the product of the weights of each triangle's edges.

    If vertices are numbered by their degrees, none has more than sqrt(2m) neighbours of greater number, so that it
    takes time O(m^1.5).

    Parameters
    ----------
    start, near, weight
        The neighbours of v of greater number, ``near[start[v] : start[v + 1]]``, and the weights, above 0, of the edges
        to them.
    mark
        Scratch, shape (n,), 0 throughout.
    found
        The sums, shape (n,).
    """
    for u in range(len(start) - 1):
        begin, end = start[u], start[u + 1]
        for e in range(begin, end):
            mark[near[e]] = weight[e]
        for e in range(begin, end):
            v = near[e]
            closed = 0
            for f in range(start[v], start[v + 1]):
                w = near[f]
                if mark[w] > 0:
                    product = weight[e] * weight[f] * mark[w]
                    closed += product
                    found[w] += product
            found[u] += closed
            found[v] += closed
        for e in range(begin, end):
            mark[near[e]] = 0


def clustering(graph: PeopleGraph) -> float:
    """Average clustering coefficient of the directed graph of all relations, edges in several of them counting once.

    The coefficient of a user is the number of directed triangles through him over that of those possible with his
    degrees, 0 where none is possible. It takes time O(m^1.5) and memory O(n + m), also where somebody is linked with
    everybody.

    References
    ----------
    Fagiolo, "Clustering in complex directed networks", 2007, equation 8; also `networkx.average_clustering`.

    Examples
    --------
    A triangle whose links all run both ways, and one with a link missing, in which every second way round is closed:

    >>> both = PeopleGraph.from_triples("abc", [], [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")], mutual=["r"])
    >>> clustering(both)
    1.0
    >>> clustering(PeopleGraph.from_triples("abc", [], [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")]))
    0.5
    """
    n = graph.n
    if not n:
        return 0.0
    source, target = linked(graph)
    ways = np.unique((source * n + target)[source != target])
    # an edge that runs both ways weighs 2: it is part of twice as many directed triangles
    pairs, weight = np.unique(keys(n, *np.divmod(ways, n)), return_counts=True)
    ends = np.stack(np.divmod(pairs, n))
    degree = degrees(n, ends) + (mutual := degrees(n, ends[:, weight == 2]))
    place = np.empty(n, dtype=np.int64)
    place[np.argsort(degree - mutual, kind="stable")] = np.arange(n)
    low, high = np.sort(place[ends], axis=0)
    start, near, order = rows(n, low, high)
    found = np.zeros(n, dtype=np.int64)
    triangles(start, near, weight[order], np.zeros(n, dtype=np.int64), found)
    possible = degree * (degree - 1) - 2 * mutual
    # exact, so that the order of users, which labels decide, makes no difference
    return fsum((found[place] / np.where(possible > 0, possible, 1)).tolist()) / n


@kernel
def spread(
    start: Ints, near: Ints, sources: Ints, seen: Ints, front: Ints, coming: Ints, active: Ints, found: Ints
) -> None:
    """Add the distances of all vertices that sources reach, themselves excepted, and their number.

    References
    ----------
    Then et al., "The more the merrier: efficient multi-source graph traversal", PVLDB 2014.

    Parameters
    ----------
    start, near
        The neighbours of v are ``near[start[v] : start[v + 1]]``.
    sources
        At most 63 vertices, none twice.
    seen, front, coming
        Who has reached a vertex, has done so in the last step, does so in this one: scratch, shape (n,), 0 throughout.
    active
        Vertices that somebody reached in the last step, and in this one: scratch, shape (2n,).
    found
        Sum of the distances, and number of the pairs: shape (2,).
    """
    n = len(start) - 1
    count = len(sources)
    for i in range(count):
        v = sources[i]
        seen[v] = front[v] = 1 << i
        active[i] = v
    distance = 0
    while count > 0:
        distance += 1
        more = 0
        for i in range(count):
            v = active[i]
            bits = front[v]
            for e in range(start[v], start[v + 1]):
                w = near[e]
                fresh = bits & ~seen[w]
                if fresh != 0:
                    if coming[w] == 0:
                        active[n + more] = w
                        more += 1
                    coming[w] |= fresh
        reached = 0
        for i in range(more):
            w = active[n + i]
            active[i] = w
            bits = coming[w]
            coming[w] = 0
            front[w] = bits
            seen[w] |= bits
            while bits != 0:
                bits &= bits - 1
                reached += 1
        found[0] += distance * reached
        found[1] += reached
        count = more


AT_ONCE = 63  # bits of a whole number above 0


def distances(n: int, edges: Pairs, sources: Vertices) -> tuple[float | None, float | None]:
    """Mean distance of connected pairs of a source and another user, and the share of pairs that are connected.

    It takes time O(m) for each source at most, much less if many are near one another, and memory O(n + m).

    Parameters
    ----------
    edges
        Pairs of users, each once; int64, shape (2, m).
    sources
        int64, none twice.

    Returns
    -------
    mean, share
        `None` if there are no such pairs.

    Examples
    --------
    >>> distances(4, np.array([[0, 1], [1, 2]]), np.array([0, 3]))
    (1.5, 0.3333333333333333)
    """
    start, near, _ = rows(n, np.concatenate([edges[0], edges[1]]), np.concatenate([edges[1], edges[0]]))
    found, active = np.zeros(2, dtype=np.int64), np.empty(2 * n, dtype=np.int64)
    for first in range(0, len(sources), AT_ONCE):
        seen, front, coming = (np.zeros(n, dtype=np.int64) for _ in range(3))
        spread(start, near, sources[first : first + AT_ONCE], seen, front, coming, active, found)
    total, pairs = map(int, found)
    possible = len(sources) * (n - 1)
    return total / pairs if pairs else None, pairs / possible if possible else None


EXACT = 3_000  # users; of more, distances are measured from some
SOURCES = 200


@dataclass(frozen=True)
class Structure:
    """Figures of a graph whose only relation is mutual; each edge counts once.

    Attributes
    ----------
    l1
        Sum of the differences between the degrees of users before and after; of those that remain.
    edges
        Edges of the original.
    added, removed, kept
        Edges that are only in the release, only in the original, and in both.
    clustering, clustering_released
        Average clustering coefficients.
    path_length, path_length_released
        Mean distance of ordered pairs of users that are connected; `None` if none are, or it was not measured.
    connected, connected_released
        Share of the ordered pairs of users that are connected; `None` if there are no pairs, or it was not measured.
    sources
        How many users distances were measured from; `None`: from all.
    """

    l1: int
    edges: int
    added: int
    removed: int
    kept: int
    clustering: float
    clustering_released: float
    path_length: float | None
    path_length_released: float | None
    connected: float | None
    connected_released: float | None
    sources: int | None


def structure(
    original: PeopleGraph,
    released: PeopleGraph,
    mapping: Vertices,
    clustering: tuple[float, float],
    rng: np.random.Generator | None,
) -> Structure | None:
    """Compare two undirected graphs; `None` if the original is none with a single relation, which is mutual.

    Parameters
    ----------
    mapping
        As for `kgreason.assess.people.utility.measure`.
    clustering
        Average clustering coefficients of both graphs.
    rng
        Draws `SOURCES` users of graphs with more than `EXACT`; `None`: distances are not measured there.

    Examples
    --------
    A path of three users becomes a triangle:

    >>> path, triangle = (
    ...     PeopleGraph.from_triples("abc", [], [(u, "mail", v) for u, v in ends], mutual=["mail"])
    ...     for ends in ("ab bc".split(), "ab bc ca".split())
    ... )
    >>> found = structure(path, triangle, np.arange(3), (0.0, 1.0), None)
    >>> found.l1, found.added, found.removed, found.path_length, found.path_length_released
    (2, 1, 0, 1.3333333333333333, 1.0)
    """
    if len(original.relations) != 1:
        return None
    ((name, links),) = original.relations.items()
    if not links.mutual:
        return None
    before = pairs(original.n, links.source, links.target)
    theirs = released.relations.get(name, Links(links.source[:0], links.target[:0]))
    after = pairs(released.n, theirs.source, theirs.target)
    there = (mapping[before] >= 0).all(axis=0)
    kept = len(np.intersect1d(keys(released.n, *mapping[before[:, there]]), keys(released.n, *after)))
    users = np.flatnonzero(mapping >= 0)
    fall = degrees(original.n, before)[users] - degrees(released.n, after)[mapping[users]]
    sources = _sources(original.n, released.n, mapping, rng)
    lengths = [distances(original.n, before, sources[0]), distances(released.n, after, sources[1])]
    return Structure(
        l1=int(np.abs(fall).sum()),
        edges=before.shape[1],
        added=after.shape[1] - kept,
        removed=before.shape[1] - kept,
        kept=kept,
        clustering=clustering[0],
        clustering_released=clustering[1],
        path_length=lengths[0][0],
        path_length_released=lengths[1][0],
        connected=lengths[0][1],
        connected_released=lengths[1][1],
        sources=None if max(original.n, released.n) <= EXACT else len(sources[0]),
    )


def _sources(
    before: int, after: int, mapping: Vertices, rng: np.random.Generator | None
) -> tuple[Vertices, Vertices]:
    """Users whose distances are measured in either graph: all, or in large graphs the same few in both."""
    if max(before, after) <= EXACT:
        return np.arange(before), np.arange(after)
    kept = np.flatnonzero(mapping >= 0)
    some = kept[:0] if rng is None else rng.choice(kept, min(SOURCES, len(kept)), replace=False)
    return some, mapping[some]
