"""Structural changes of a graph: edges, degrees, clustering coefficients and distances.

References
----------
Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, section 6; KDEGREE.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

import numpy as np

from kgreason.graph.knowledge_graph import Vertices
from kgreason.graph.measures import degrees, distances, keys, pairs, triangles
from kgreason.people.model import Links, PeopleGraph


def linked(graph: PeopleGraph) -> tuple[Vertices, Vertices]:
    """Both ends of the links of all relations; int64, shape (m,)."""
    parts = [np.stack([links.source, links.target]) for links in graph.relations.values()]
    source, target = np.concatenate([np.empty((2, 0), dtype=np.int64), *parts], axis=1)
    return source, target


NONE = Links(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class Changes:
    """Changed edges of one relation.

    Attributes
    ----------
    original
        |E|.
    added
        |E' - E|: released edges that are no image of an original one, including those of fake users.
    removed
        |E - E'|: original edges without an image, including those of removed users.
    """

    original: int
    added: int
    removed: int


def changed_edges(original: PeopleGraph, released: PeopleGraph, mapping: Vertices) -> dict[str, Changes]:
    """Compare the edges of each relation; `mapping` is as for `measure`."""
    width = max(released.n, 1)
    found = {}
    for name, links in original.relations.items():
        theirs = released.relations.get(name, NONE)
        source, target = mapping[links.source], mapping[links.target]
        there = (source >= 0) & (target >= 0)
        images, edges = (source * width + target)[there], theirs.source * width + theirs.target
        common = len(np.intersect1d(images, edges, assume_unique=True))
        found[name] = Changes(len(links), len(edges) - common, len(links) - common)
    return found


def clustering(graph: PeopleGraph) -> float:
    """Average clustering coefficient of the directed graph of all relations, without multiple edges.

    The coefficient of a user is the number of directed triangles through the user over the possible number for the
    user's degrees, 0 if none is possible. Takes time O(m^1.5) and memory O(n + m), also for vertices adjacent to all
    others.

    References
    ----------
    Fagiolo, "Clustering in complex directed networks", 2007, equation 8; also `networkx.average_clustering`.

    Examples
    --------
    A triangle whose links all run both ways, and a directed cycle, in which every second orientation is closed:

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
    # an edge in both directions weighs 2: it is part of twice as many directed triangles
    numbers, weight = np.unique(keys(n, *np.divmod(ways, n)), return_counts=True)
    ends = np.stack(np.divmod(numbers, n))
    degree = degrees(n, ends) + (mutual := degrees(n, ends[:, weight == 2]))
    possible = degree * (degree - 1) - 2 * mutual
    # exact sum: the result must not depend on the order of users, which follows the labels
    return fsum((triangles(n, ends, weight) / np.where(possible > 0, possible, 1)).tolist()) / n


EXACT = 3_000  # most users of graphs in which distances are measured from all
SOURCES = 200


@dataclass(frozen=True)
class Structure:
    """Figures of a graph whose only relation is mutual; each edge counts once.

    Attributes
    ----------
    l1
        Sum of absolute changes of the degrees of released users.
    edges
        Edges of the original.
    added, removed, kept
        Number of edges only in the release, only in the original, and in both.
    clustering, clustering_released
        Average clustering coefficients.
    path_length, path_length_released
        Mean distance of ordered pairs of users that are connected; `None` if none are, or it was not measured.
    connected, connected_released
        Share of the ordered pairs of users that are connected; `None` if there are no pairs, or it was not measured.
    sources
        Number of users from whom distances were measured; `None`: all.
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
    """Compare two undirected graphs; `None` unless the original has exactly one relation, and it is mutual.

    Parameters
    ----------
    mapping
        As for `kgreason.people.utility.attribute_utility.measure`.
    clustering
        Average clustering coefficients of both graphs.
    rng
        Draws `SOURCES` users of graphs with more than `EXACT`; `None`: distances are not measured in these.

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
    """Users from whom distances are measured: all, or in large graphs the same sample in both."""
    if max(before, after) <= EXACT:
        return np.arange(before), np.arange(after)
    kept = np.flatnonzero(mapping >= 0)
    some = kept[:0] if rng is None else rng.choice(kept, min(SOURCES, len(kept)), replace=False)
    return some, mapping[some]
