"""Knowledge graph generalization (KGG): users of a cluster get equal values and degrees.

Attribute values of a cluster are united. In each relation every cluster gets a target out- and in-degree
(`degree_targets`), and a graph with these degrees is built that keeps as many edges as possible (`realize`). Links of a
mutual relation are added and removed in both directions at once, since one-way links would be recognizable as added;
their targets have an even sum, and the graph comes from `undirected_realization.relaxed`. If no simple graph has the
degrees, a target is lowered (Degree Decrement) and never raised again; all degrees zero are those of the graph without
edges, so the loop terminates. The published modes use `dga_generalization` in place of all that, but for mutual
relations.

References
----------
THESIS, Algorithm 2 and section 4.3; PCKGA, section 3.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kgreason.base import cores
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.degree_targets import KEEP, Targets, balance
from kgreason.people.anonymizers.dga_generalization import dga_generalized
from kgreason.people.anonymizers.directed_realization import Unrealizable, realize
from kgreason.people.anonymizers.history import History
from kgreason.people.anonymizers.undirected_realization import obstacle, relaxed
from kgreason.people.anonymizers.user_distances import Clusters
from kgreason.people.model import Attribute, Counts, Links, PeopleGraph, completed
from kgreason.people.release_tables import opaque


def united(attribute: Attribute, clusters: Clusters) -> Attribute:
    """Give each user the values of all users of the same cluster; the domain then has the used values only."""
    of = collected(attribute, clusters)
    count = np.bincount(of.user, minlength=int(clusters.max(initial=-1)) + 1)
    first = np.cumsum(count) - count
    each = count[clusters]
    user = np.repeat(np.arange(len(clusters)), each)
    entry = np.arange(len(user)) - np.repeat(np.cumsum(each) - each - first[clusters], each)
    return replace(of, user=user, value=of.value[entry])


def collected(attribute: Attribute, clusters: Clusters) -> Attribute:
    """Give each cluster, 0 .. c-1, the values of all its users; the users of the result are the clusters.

    The domain of the result has the used values only.

    Examples
    --------
    >>> ages = Attribute("numeric", np.array(["18", "19"]), np.array([0, 1, 2]), np.array([0, 1, 1]))
    >>> both = collected(ages, np.array([0, 0, 1]))
    >>> both.user.tolist(), both.value.tolist()
    ([0, 0, 1], [0, 1, 1])
    """
    width = max(len(attribute.domain), 1)
    pairs = np.unique(clusters[attribute.user] * width + attribute.value)
    known, value = np.unique(pairs % width, return_inverse=True)
    domain = attribute.domain[known]
    return replace(attribute, domain=domain, user=pairs // width, value=value.astype(np.int64))


def mutually_alike(
    links: Links, clusters: Clusters, rng: np.random.Generator, removal: float
) -> tuple[Links, int]:
    """Make the degrees of a mutual relation equal in each cluster, 0 .. c-1.

    Returns also the number of times a target was lowered; `removal` is the cost of a removed link, where an added one
    costs 1.
    """
    n = len(clusters)
    degree = np.bincount(links.source, minlength=n)
    count = int(clusters.max()) + 1
    caps = np.full(2 * count, n - 1)
    lowered = 0
    while True:
        targets = Targets(degree, degree, clusters, removal, caps)
        _even(targets, count)
        target = targets.value[:count][clusters]
        found = obstacle(target)
        if found is None:
            return mutual_links(links, target, rng), lowered
        worst = int(targets.value[:count].argmax())
        share = found.short // max(int(targets.size[worst]), found.largest)
        cap = targets.value[worst] - max(1, share)
        caps[worst] = caps[count + worst] = max(int(cap), 0)
        lowered += 1


def _even(targets: Targets, count: int) -> None:
    """Change one target by one if the sum of the degrees of all users is odd; a degree above 0 exists then."""
    value, size = targets.value[:count], targets.size[:count]
    if int(value @ size) % 2 == 0:
        return
    steps = []
    for i in np.flatnonzero(size % 2).tolist():
        for by in (1, -1):
            cost = targets.cost(i, by, int(value[i]))
            if cost is not None:
                steps.append((cost, -int(value[i]), i, by))
    _, _, i, by = min(steps)
    value[i] += by


def mutual_links(links: Links, target: Counts, rng: np.random.Generator) -> Links:
    """Build a mutual relation with given degrees, which a graph must have, keeping as many links as possible."""
    n = len(target)
    active = target > 0
    active[links.source] = True
    users = np.flatnonzero(active)
    place = np.cumsum(active) - 1
    once = links.source < links.target
    edges = place[np.stack([links.source[once], links.target[once]], axis=1)]
    made = users[relaxed(edges, target[users], rng)]
    return completed(n, Links(made[:, 0], made[:, 1]))


@record
class LinkFigures:
    """Changes to one relation; a link of a mutual relation counts as two edges, one in each direction.

    Attributes
    ----------
    gone
        Edges of removed users.
    kept, removed
        Other edges that were kept, and that were removed.
    added
        Synthetic edges.
    least_removed
        Lower bound on removed edges, given the degrees.
    lowered
        Number of times a degree was lowered because no graph had the degrees.
    """

    gone: int
    kept: int
    removed: int
    added: int
    least_removed: int
    lowered: int


@record
class Figures:
    """Changes by the generalization.

    Attributes
    ----------
    users, removed
        Users in the release, and users in no cluster.
    values, values_gone
        Values added to users, by attribute, and values of removed users.
    """

    users: int
    removed: int
    values: Mapping[str, int]
    values_gone: Mapping[str, int]
    links: Mapping[str, LinkFigures]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dataclasses.asdict(self)


@record(eq=False)
class Generalized:
    """A generalized graph.

    Attributes
    ----------
    graph
        The users in clusters, by ascending number.
    users
        Number of each released user in the original graph.
    clusters
        Cluster of each released user, 0 .. c-1.
    """

    graph: PeopleGraph
    users: Vertices
    clusters: Clusters
    figures: Figures


def generalize(
    graph: PeopleGraph,
    clusters: Clusters,
    rng: np.random.Generator,
    removal: float = KEEP,
    *,
    literal: bool = False,
) -> Generalized:
    """Make users of a cluster alike: equal values, and equal out- and in-degrees in every relation.

    Parameters
    ----------
    clusters
        Cluster of each user, from 0, int64, shape (n,); -1: the user is removed with all edges.
    rng
        Random choice, among optimal ones, of the edges to keep and add.
    removal
        Cost of a removed edge, where an added one costs 1. With `KEEP`, the degrees of a cluster become its largest
        ones, as in the papers, and edges are removed only if necessary; with 1, the fewest edges change.
    literal
        Whether directed relations are generalized as published (`dga_generalization`); `removal` is then unused.
    """
    users = np.flatnonzero(clusters >= 0)
    kept = graph.of(users)
    dense = np.unique(clusters[users], return_inverse=True)[1].astype(np.int64)
    attributes = {name: united(a, dense) for name, a in kept.attributes.items()}
    streams = rng.spawn(len(kept.relations))
    made = cores.each(
        lambda task: _generalized(task[0], dense, task[1], removal, literal),
        zip(kept.relations.values(), streams, strict=True),
    )
    relations = {name: links for name, (links, _) in zip(kept.relations, made, strict=True)}
    figures = Figures(
        len(users),
        graph.n - len(users),
        {name: len(attributes[name]) - len(a) for name, a in kept.attributes.items()},
        {name: len(graph.attributes[name]) - len(a) for name, a in kept.attributes.items()},
        {
            name: _figures(graph.relations[name], before, *made[i], kept.n)
            for i, (name, before) in enumerate(kept.relations.items())
        },
    )
    return Generalized(PeopleGraph(kept.labels, attributes, relations), users, dense, figures)


def _generalized(
    links: Links, clusters: Clusters, rng: np.random.Generator, removal: float, literal: bool
) -> tuple[Links, int]:
    """A relation with equal degrees in each cluster, and the number of times a degree was lowered."""
    n = len(clusters)
    if not len(links):
        return links, 0
    if links.mutual:
        return mutually_alike(links, clusters, rng, removal)
    if literal:
        return dga_generalized(links, clusters, rng)
    out, into = np.bincount(links.source, minlength=n), np.bincount(links.target, minlength=n)
    count = int(clusters.max()) + 1
    caps = np.full(2 * count, n - 1)
    lowered = 0
    while True:
        targets = Targets(out, into, clusters, removal, caps)
        balance(targets)
        found = realize(links, targets.value[:count][clusters], targets.value[count:][clusters], rng)
        if isinstance(found, Links):
            return found, lowered
        _lower(targets, clusters, found)
        lowered += 1


def _lower(targets: Targets, clusters: Clusters, missing: Unrealizable) -> None:
    """Lower the cap of the target missing most edges, by about the number that each of its users misses."""
    lack = [np.bincount(clusters, weights=side) for side in (missing.out, missing.into)]
    lacking = np.concatenate(lack).astype(np.int64)
    worst = int(lacking.argmax())
    targets.caps[worst] = targets.value[worst] - max(1, lacking[worst] // targets.size[worst])


def _figures(original: Links, before: Links, after: Links, lowered: int, n: int) -> LinkFigures:
    kept = int(np.isin(after.source * n + after.target, before.source * n + before.target).sum())
    ends = (before.source, after.source), (before.target, after.target)
    losses = [np.bincount(b, minlength=n) - np.bincount(a, minlength=n) for b, a in ends]
    return LinkFigures(
        gone=len(original) - len(before),
        kept=kept,
        removed=len(before) - kept,
        added=len(after) - kept,
        least_removed=max(int(np.maximum(loss, 0).sum()) for loss in losses),
        lowered=lowered,
    )


@record
class PeopleRelease:
    """A release of a graph of people and its private mapping.

    Attributes
    ----------
    graph
        The graph to publish: users in random order with random labels.
    mapping
        Released user of each original user, -1: removed; int64, shape (n,).
    figures
        Changes by the anonymization, for the private report.
    history
        For a series: the private history for the next release.
    """

    graph: PeopleGraph
    mapping: Vertices
    figures: Mapping[str, object]
    history: History | None = None


def publish(
    made: PeopleGraph,
    users: Vertices,
    figures: Mapping[str, object],
    original: PeopleGraph,
    rng: np.random.Generator | None,
) -> PeopleRelease:
    """Give the users of a graph random numbers and labels, none of them of the original.

    `users` holds the number of each user in the original. `rng` is for experiments; `None`: the source of the operating
    system, as labels are published.
    """
    graph, number = opaque(made, rng, original.labels.tolist())
    mapping = np.full(original.n, -1, dtype=np.int64)
    mapping[users] = number
    return PeopleRelease(graph, mapping, figures)
