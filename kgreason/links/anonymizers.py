"""Anonymizers of observed links: clusters of entities, and the strategies that decide which links are released.

Clusterings see the attribute values and observed links, with the entities in random order. The sensitive relation is
not part of a `LinkGraph` and cannot influence them.

References
----------
LINKS, section 4.2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, fsum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import SILENT, Progress
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.links.model import LinkGraph, Observations, Released, observations
from kgreason.links.settings import CLUSTERED, Criterion, Strategy
from kgreason.links.settings import Clusters as GivenClusters
from kgreason.people.anonymity_levels import read_user_table
from kgreason.people.anonymizers.generalization import collected, united
from kgreason.people.anonymizers.methods import Clustering
from kgreason.people.anonymizers.valid_clusters import numbered
from kgreason.people.model import PeopleGraph, completed, distinct_links
from kgreason.people.settings import CLUSTERINGS, Settings
from kgreason.release.mapping import fresh_labels, permutation, whole_numbers

Clusters = Vertices  # cluster of each entity, all of 0 .. c-1, int64, shape (n,)
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

    Raises
    ------
    AnonymizationError
        If there are fewer than k entities, the clustering is unknown, or it finds no cluster of k entities.
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
    return _people_clusters(graph, clustering, k, rng, progress)


def _people_clusters(
    graph: LinkGraph, clustering: str, k: int, rng: np.random.Generator, progress: Progress
) -> Clusters:
    # clusterings break ties by vertex number, and vertex numbers follow the order of the input file
    """Clusters by a clustering of the people family."""
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
    relations = {}
    for name, found in graph.observed.items():
        if len(found):
            links = distinct_links(graph.n, found.source, found.target)
            relations[name] = completed(graph.n, links) if found.mutual else links
    return PeopleGraph(graph.labels, {name: a for name, a in graph.attributes.items() if len(a)}, relations)


def given_clusters(given: GivenClusters, graph: LinkGraph) -> Clusters:
    """Clusters given as names by entity, as numbers, or as a table; numbered by first entity.

    Raises
    ------
    DataError
        If a table names an unknown entity, or repeats one.
    AnonymizationError
        If an entity has no cluster.
    """
    if isinstance(given, Path | str):
        return read_clusters(given, graph)
    if not isinstance(given, Mapping):
        numbers = whole_numbers(given)
        if numbers is None or numbers.shape != (graph.n,):
            raise AnonymizationError(
                f"the clusters are no {graph.n:,} whole numbers",
                hint="give one for each entity, in their order",
            )
        names = numbers.tolist()
    else:
        labels = graph.labels.tolist()
        known = set(labels)
        if unknown := [name for name in given if name not in known]:
            raise AnonymizationError(
                f"there is no entity {unknown[0]!r} in the graph, although a cluster is given",
                hint="use the names of the data",
            )
        if lacking := [label for label in labels if label not in given]:
            more = f", and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
            raise AnonymizationError(
                f"the entity {lacking[0]!r} is in no cluster{more}", hint="name a cluster for each entity"
            )
        names = [given[label] for label in labels]
    number: dict[object, int] = {}
    for name in names:
        try:
            number.setdefault(name, len(number))
        except TypeError as error:  # not hashable
            what = f"the name of a cluster cannot be of type {type(name).__name__}"
            raise AnonymizationError(what, hint="use texts or whole numbers") from error
    return np.array([number[name] for name in names], dtype=np.int64)


def read_clusters(given: Path | str, graph: LinkGraph) -> Clusters:
    """Read a table ``user,cluster``, with or without this header line; clusters are numbered by first entity.

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


def apply(
    graph: LinkGraph,
    clusters: Clusters,
    strategy: Strategy,
    percent: float,
    rng: np.random.Generator,
    criterion: Criterion = "random",
) -> tuple[LinkGraph, Vertices]:
    """Apply a strategy to the observed links: the released graph (see `publish`), and the node of each entity.

    With ``"intact"``, ``"partial"`` and ``"removed"`` the nodes are entities, which share the attribute values of their
    cluster; with ``"cluster-edge"`` and ``"constrained"`` the nodes are clusters.

    Parameters
    ----------
    percent
        For ``"partial"``: share of the links of each relation to remove, 0 to 100; rounded up to whole links.
    criterion
        For ``"partial"``: the links to remove are drawn at random, or they are those with the largest product of the
        degrees of their ends in the relation, with random ties.

    Raises
    ------
    AnonymizationError
        If the clusters do not match the graph, or weights are too large for their mean.
    """
    _check(graph, clusters)
    if strategy in CLUSTERED:
        most = strategy == "constrained"
        merged = {name: _between(found, clusters, most=most) for name, found in graph.observed.items()}
        return _collapsed(graph, clusters, merged), clusters.copy()
    share = {"intact": 0.0, "partial": percent, "removed": 100.0}[strategy]
    attributes = {name: united(a, clusters) for name, a in graph.attributes.items()}
    left = {name: _thinned(found, share, rng, criterion) for name, found in graph.observed.items()}
    return replace(graph, observed=left, attributes=attributes), np.arange(graph.n)


def removed_links(total: int, percent: float) -> int:
    """Number of links to remove: `percent` of `total`, rounded up."""
    return ceil(Fraction(str(percent)) * total / 100)  # exact for the decimal number as written


def _thinned(
    found: Observations, percent: float, rng: np.random.Generator, criterion: Criterion
) -> Observations:
    """Remove a share of the links by the criterion; parallel links of a pair are drawn individually."""
    if percent == 0:
        return found
    count = np.zeros_like(found.count)
    if percent < 100:
        many = removed_links(found.total, percent)
        if criterion == "random":
            gone = rng.choice(found.total, many, replace=False, shuffle=False)
        else:
            product = np.repeat(_degree_products(found), found.count)
            gone = np.lexsort((rng.random(found.total), -product))[:many]
        row = np.searchsorted(np.cumsum(found.count), gone, side="right")
        count = found.count - np.bincount(row, minlength=len(found))
    rows = np.flatnonzero(count)
    weight = None if found.weight is None else found.weight[rows]
    return Observations(found.source[rows], found.target[rows], count[rows], found.mutual, weight)


def _degree_products(found: Observations) -> Vertices:
    """Product of the degrees of the ends of each row: numbers of links, out and in, of both entities."""
    ends, count = np.concatenate([found.source, found.target]), np.tile(found.count, 2)
    degree = np.bincount(ends, count).astype(np.int64)
    return degree[found.source] * degree[found.target]


def _between(found: Observations, clusters: Clusters, *, most: bool) -> Observations:
    """Links between clusters: their number, or with `most` the largest number between two entities."""
    whole = Observations(clusters[found.source], clusters[found.target], found.count, found.mutual)
    summed = observations(whole.source, whole.target, count=found.count, mutual=found.mutual)
    weight = None if found.weight is None else _mean(summed, whole, found.weight)
    if not most:
        return replace(summed, weight=weight)
    pairs = observations(found.source, found.target, count=found.count, mutual=found.mutual)
    ends = Observations(clusters[pairs.source], clusters[pairs.target], pairs.count, found.mutual)
    count = np.zeros(len(summed), dtype=np.int64)
    np.maximum.at(count, _places(summed, ends), pairs.count)
    return replace(summed, count=count, weight=weight)


def _mean(
    summed: Observations, whole: Observations, weight: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Mean weight of each row of `summed`: an exact sum (independent of the order of links), clipped to its range."""
    place = _places(summed, whole)
    with np.errstate(over="ignore"):
        terms = weight * whole.count
    if not np.isfinite(np.bincount(place, weights=np.abs(terms), minlength=len(summed))).all():
        raise AnonymizationError(
            f"weights of up to {np.abs(weight).max():g} are too large to take their mean",
            hint="give the weights in a larger unit, or choose intact, partial or removed",
        )
    order = np.argsort(place, kind="stable")
    bounds = np.searchsorted(place[order], np.arange(len(summed) + 1))
    sorted_terms = terms[order].tolist()
    sums = np.array([fsum(sorted_terms[i:j]) for i, j in pairwise(bounds.tolist())])
    low, high = np.full(len(summed), np.inf), np.full(len(summed), -np.inf)
    np.minimum.at(low, place, weight)
    np.maximum.at(high, place, weight)
    return np.clip(sums / summed.count, low, high)  # equal weights keep their exact value


def _places(summed: Observations, links: Observations) -> Vertices:
    """Row of `summed` for the end nodes of each link."""
    source, target = links.source, links.target
    if links.mutual:
        source, target = np.minimum(source, target), np.maximum(source, target)
    width = int(max(summed.source.max(initial=0), summed.target.max(initial=0))) + 1
    return np.searchsorted(summed.source * width + summed.target, source * width + target)


def _collapsed(graph: LinkGraph, clusters: Clusters, links: Mapping[str, Observations]) -> LinkGraph:
    """The graph of clusters, each with all attribute values of its entities."""
    count = int(clusters.max(initial=-1)) + 1
    size = np.zeros(count, dtype=np.int64)
    np.add.at(size, clusters, graph.size)
    labels = np.arange(count).astype(str).astype(object)
    attributes = {name: collected(a, clusters) for name, a in graph.attributes.items()}
    return LinkGraph(labels, links, attributes, size)


def _check(graph: LinkGraph, clusters: Clusters) -> None:
    count = int(clusters.max(initial=-1)) + 1
    if len(clusters) != graph.n or not np.bincount(clusters[clusters >= 0], minlength=count).all():
        raise AnonymizationError(
            "the clusters are not those of this graph: some are empty, or lack entities",
            hint="name a table user,cluster that has each user of this graph once",
        )
    if clusters.min(initial=0) < 0:
        raise AnonymizationError("an entity is in no cluster", hint="no entity can be removed from links")


@record
class LinksRelease:
    """A release with random node labels, and its private mapping: released node of each entity, int64, shape (n,)."""

    released: Released
    mapping: Vertices


def publish(
    graph: LinkGraph,
    strategy: Strategy,
    mapping: Vertices,
    labels: Collection[str],
    rng: np.random.Generator | None,
    criterion: Criterion = "random",
) -> LinksRelease:
    """Give the nodes of an anonymized graph random numbers and labels.

    Parameters
    ----------
    mapping
        Node of each original entity, int64, shape (n,).
    labels
        Original names, which the new labels avoid.
    rng
        Generator, for experiments; `None`: the source of the operating system, as labels are published.
    """
    order = permutation(graph.n, rng)
    place = np.empty(graph.n, dtype=np.int64)
    place[order] = np.arange(graph.n)
    shown = replace(graph.renumbered(order), labels=fresh_labels(graph.n, rng, set(labels)))
    return LinksRelease(Released(shown, strategy, criterion), place[mapping])
