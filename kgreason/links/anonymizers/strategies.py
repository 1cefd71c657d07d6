"""Release strategies for observed links: intact, partial, cluster-edge, constrained and removed.

References
----------
LINKS, section 4.2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, fsum

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError
from kgreason.graph.knowledge_graph import Vertices
from kgreason.links.model import LinkGraph, Observations, Released, observations
from kgreason.links.settings import CLUSTERED, Strategy
from kgreason.people.anonymizers.generalization import collected, united
from kgreason.people.model import Counts
from kgreason.release.opaque_labels import fresh_labels, permutation

Clusters = Vertices
"""Cluster of each entity, all of 0 .. c-1, int64, shape (n,)."""


def apply(
    graph: LinkGraph,
    clusters: Clusters,
    strategy: Strategy,
    percent: float,
    rng: np.random.Generator,
) -> tuple[LinkGraph, Vertices]:
    """Apply a strategy to the observed links.

    With ``"intact"``, ``"partial"`` and ``"removed"`` the nodes are entities, which share the attribute values of their
    cluster; with ``"cluster-edge"`` and ``"constrained"`` the nodes are clusters.

    Parameters
    ----------
    clusters
        Cluster of each entity, all of 0 .. c-1, int64, shape (n,).
    percent
        For ``"partial"``: share of the links of each relation to remove, 0 to 100; rounded up to whole links.
    rng
        For ``"partial"``: random choice of these links.

    Returns
    -------
    LinkGraph
        The released graph with the original numbers and labels, or those of the clusters; see `publish`.
    numpy.ndarray
        Node of each entity, int64, shape (n,).

    Raises
    ------
    AnonymizationError
        If the clusters do not match the graph, or weights are too large for their mean.

    Examples
    --------
    >>> classes = observations(np.array([0, 0, 1, 1]), np.array([1, 2, 2, 2]), mutual=True)
    >>> graph = LinkGraph(np.array(["Ann", "Bob", "Cid"], dtype=object), {"classmates": classes})
    >>> couple, rng = np.array([0, 0, 1]), np.random.default_rng(1)
    >>> summed, node = apply(graph, couple, "cluster-edge", 0, rng)
    >>> found = summed.observed["classmates"]
    >>> found.source.tolist(), found.target.tolist(), found.count.tolist(), node.tolist()
    ([0, 0], [0, 1], [1, 3], [0, 0, 1])
    >>> apply(graph, couple, "constrained", 0, rng)[0].observed["classmates"].count.tolist()
    [1, 2]
    >>> apply(graph, couple, "partial", 30, rng)[0]
    <LinkGraph with 3 nodes; classmates 2>
    """
    _check(graph, clusters)
    if strategy in CLUSTERED:
        most = strategy == "constrained"
        merged = {name: _between(found, clusters, most=most) for name, found in graph.observed.items()}
        return _collapsed(graph, clusters, merged), clusters.copy()
    share = {"intact": 0.0, "partial": percent, "removed": 100.0}[strategy]
    attributes = {name: united(a, clusters) for name, a in graph.attributes.items()}
    left = {name: _thinned(found, share, rng) for name, found in graph.observed.items()}
    return replace(graph, observed=left, attributes=attributes), np.arange(graph.n)


def removed_links(total: int, percent: float) -> int:
    """Number of links to remove: `percent` of `total`, rounded up.

    Examples
    --------
    >>> removed_links(8, 50), removed_links(9, 50), removed_links(1000, 0.1)
    (4, 5, 1)
    """
    return ceil(
        Fraction(str(percent)) * total / 100
    )  # the decimal number as written: 0.1 % of 1000 is exactly 1


def _thinned(found: Observations, percent: float, rng: np.random.Generator) -> Observations:
    """Remove a share of the links uniformly at random; parallel links of a pair are drawn individually."""
    if not 0 < percent < 100:
        return found if percent == 0 else _some(found, found.count[:0], np.empty(0, dtype=np.int64))
    gone = rng.choice(found.total, removed_links(found.total, percent), replace=False, shuffle=False)
    row = np.searchsorted(np.cumsum(found.count), gone, side="right")
    count = found.count - np.bincount(row, minlength=len(found))
    rows = np.flatnonzero(count)
    return _some(found, count[rows], rows)


def _some(found: Observations, count: Counts, rows: Vertices) -> Observations:
    weight = None if found.weight is None else found.weight[rows]
    return replace(found, source=found.source[rows], target=found.target[rows], count=count, weight=weight)


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
    """Mean weight of each row of `summed`, clipped to the range of the averaged weights."""
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
    # exact sums: no digit depends on the order of links
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
    labels = np.array([*map(str, range(count)), None], dtype=object)[:-1]
    return LinkGraph(
        labels, links, {name: collected(a, clusters) for name, a in graph.attributes.items()}, size
    )


def _check(graph: LinkGraph, clusters: Clusters) -> None:
    count = int(clusters.max(initial=-1)) + 1
    if len(clusters) != graph.n or not np.bincount(clusters[clusters >= 0], minlength=count).all():
        raise AnonymizationError(
            "the clusters are not those of this graph: some are empty, or lack entities",
            hint="name a table user,cluster that has each user of this graph once",
        )
    if clusters.min(initial=0) < 0:
        raise AnonymizationError("an entity is in no cluster", hint="nobody can be left out of links")


@dataclass(frozen=True)
class LinksRelease:
    """A release of links and its private mapping.

    Attributes
    ----------
    released
        The graph to publish: nodes in random order with random labels.
    mapping
        Released node of each entity; int64, shape (n,).
    """

    released: Released
    mapping: Vertices


def publish(
    graph: LinkGraph,
    strategy: Strategy,
    mapping: Vertices,
    labels: Collection[str],
    rng: np.random.Generator | None,
) -> LinksRelease:
    """Give the nodes of an anonymized graph random numbers and labels.

    Parameters
    ----------
    strategy
        Strategy of the release.
    mapping
        Node of each original entity, int64, shape (n,).
    labels
        Original names, which the new labels avoid.
    rng
        Generator, for experiments; `None`: the source of the operating system, as labels are published.

    Examples
    --------
    >>> from kgreason.links.model import Observations
    >>> links = {"knows": Observations(np.array([0]), np.array([1]), np.array([1]))}
    >>> graph = LinkGraph(np.array(["Ann", "Bob"], dtype=object), links)
    >>> made = publish(graph, "intact", np.arange(2), graph.labels, None)
    >>> made.released.graph.observed["knows"].source.tolist() == [made.mapping[0]]
    True
    >>> "Ann" in made.released.graph.labels
    False
    """
    order = permutation(graph.n, rng)
    place = np.empty(graph.n, dtype=np.int64)
    place[order] = np.arange(graph.n)
    shown = replace(graph.renumbered(order), labels=fresh_labels(graph.n, rng, set(labels)))
    return LinksRelease(Released(shown, strategy), place[mapping])
