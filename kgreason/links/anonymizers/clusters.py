"""Clusters of entities: random, by a clustering of the people family, or read from a table.

Clusterings see the attribute values and observed links, with the entities in random order. The sensitive relation is
not part of a `LinkGraph` and cannot influence them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import SILENT, Progress
from kgreason.links.anonymizers.strategies import Clusters
from kgreason.links.model import LinkGraph
from kgreason.people.anonymity_levels import read_user_table
from kgreason.people.anonymizers.methods import Clustering
from kgreason.people.anonymizers.valid_clusters import numbered
from kgreason.people.model import Links, PeopleGraph, completed, distinct_links
from kgreason.people.settings import CLUSTERINGS, Settings

RANDOM = "random"


def clusters_of(
    graph: LinkGraph, clustering: str, k: int, rng: np.random.Generator, progress: Progress = SILENT
) -> Clusters:
    """Cluster the entities into clusters of at least k; every entity is in a cluster.

    Parameters
    ----------
    clustering
        ``"random"``; ``"vac"``, ``"degrees"``, ``"k-means"`` or another of `CLUSTERINGS`; or the name of a scikit-learn
        clusterer.
    k
        Minimum cluster size; 1: each entity is a cluster of its own.
    rng
        Random generator.

    Returns
    -------
    numpy.ndarray
        Cluster of each entity, all of 0 .. c-1, int64, shape (n,).

    Raises
    ------
    AnonymizationError
        If there are fewer than k entities, the clustering is unknown, or it finds no cluster of k entities.

    Examples
    --------
    >>> graph = LinkGraph(np.array(list("abcdefg"), dtype=object), {})
    >>> np.bincount(clusters_of(graph, "random", 3, np.random.default_rng(1))).tolist()
    [4, 3]
    """
    if k < 1:
        raise AnonymizationError(f"k must be at least 1, not {k}")
    if graph.n < k:
        have = f"{graph.n:,} {'entity' if graph.n == 1 else 'entities'}"
        raise AnonymizationError(f"k is {k}, and the graph has {have}", hint="lower k")
    if k == 1:
        return np.arange(graph.n)
    if clustering == RANDOM:
        clusters = np.empty(graph.n, dtype=np.int64)
        clusters[rng.permutation(graph.n)] = np.arange(graph.n) % (graph.n // k)
        return clusters
    return _like(graph, clustering, k, rng, progress)


def _like(
    graph: LinkGraph, clustering: str, k: int, rng: np.random.Generator, progress: Progress
) -> Clusters:
    # clusterings break ties by vertex number, and vertex numbers follow the order of the input file
    order = rng.permutation(graph.n)
    people = as_people(graph.renumbered(order))
    if clustering in ("degrees", "merging") and not people.relations:
        raise AnonymizationError(
            f"{clustering} clusters entities by links, and the graph has none", hint="take another clustering"
        )
    if not people.attributes and not people.relations:
        raise AnonymizationError(
            "there are neither attributes nor links to cluster entities by", hint="take random clusters"
        )
    settings = Settings(method="ckga", clustering=clustering, partition="merge-split")
    work = Clustering(people, np.full(graph.n, k, dtype=np.int64), settings, rng, progress)
    found = work.valid(work.first())
    if clustering != "degrees":  # degree clusters are already optimized for links
        found = work.refined(found)
    if (found < 0).any():  # unclustered entities were joined to a cluster if there is one
        others = ", ".join((RANDOM, *CLUSTERINGS))
        raise AnonymizationError(
            f"clustering ({clustering}) found no cluster of {k} or more entities",
            hint=f"lower k, or choose another: {others}, or a class of sklearn.cluster",
        )
    clusters = np.empty(graph.n, dtype=np.int64)
    clusters[order] = found
    return numbered(clusters)


def as_people(graph: LinkGraph) -> PeopleGraph:
    """The graph that clusterings see: attributes and observed relations, each linked pair once."""
    return PeopleGraph(
        graph.labels,
        {name: a for name, a in graph.attributes.items() if len(a)},
        {name: _simple(graph, name) for name, found in graph.observed.items() if len(found)},
    )


def _simple(graph: LinkGraph, name: str) -> Links:
    found = graph.observed[name]
    links = distinct_links(graph.n, found.source, found.target)
    return completed(graph.n, links) if found.mutual else links


def read_clusters(given: Path | str, graph: LinkGraph) -> Clusters:
    """Read a table ``user,cluster``, with or without this header line.

    Parameters
    ----------
    given
        The file, optionally with options after a question mark, as in ``clusters.csv?delimiter=;``.

    Returns
    -------
    numpy.ndarray
        Cluster of each entity, numbered from 0 by first entity, int64, shape (n,).

    Raises
    ------
    DataError
        If the table names an unknown entity, repeats or lacks an entity, or leaves a cluster name empty.
    """
    table = read_user_table(given, "cluster", graph.labels)
    clusters = np.full(graph.n, -1, dtype=np.int64)
    code: dict[str, int] = {}
    for row, entity in enumerate(table.numbers(graph.labels), table.first):
        if not table.cells[row]:
            what = f"there is no cluster of {table.users[row]!r}"
            raise table.raw.error(row, what, hint="complete the line")
        clusters[entity] = code.setdefault(table.cells[row], len(code))
    if len(lacking := np.flatnonzero(clusters < 0)):
        raise table.lacking(lacking, graph.labels, "add a line for each of them")
    return numbered(clusters)
