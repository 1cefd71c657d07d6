"""Methods of the attribute family: one pipeline of distances, clusters, valid clusters and generalization.

k-degree anonymity of undirected graphs needs no clusters and has its own implementation (`k_degree`).

References
----------
THESIS chapters 3 (CDGA), 4 (CKGA), 5 (CTKGA); PCKGA section 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from kgreason.base.cores import cores
from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import SILENT, Progress
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers import clusterers, valid_clusters
from kgreason.people.anonymizers.cdga_merging import merge
from kgreason.people.anonymizers.cluster_loss import Columns, Search
from kgreason.people.anonymizers.ctkga import next_release
from kgreason.people.anonymizers.degree_clusters import degree_clusters
from kgreason.people.anonymizers.generalization import Generalized, PeopleRelease, generalize, publish
from kgreason.people.anonymizers.history import History
from kgreason.people.anonymizers.indicator import learn
from kgreason.people.anonymizers.k_degree import k_degree_release
from kgreason.people.anonymizers.local_search import nearest, refine, weigh
from kgreason.people.anonymizers.losses import (
    AttributeDegreeLoss,
    TruthDegreeLoss,
    direction_weights,
)
from kgreason.people.anonymizers.user_distances import (
    Among,
    AnonymizationDistance,
    Clusters,
    Distance,
    Levels,
)
from kgreason.people.model import Numbers, PeopleGraph
from kgreason.people.settings import Settings

_SMALL = 1_000  # most users for which all starts are refined; in larger graphs only the best, for time
_TAUS = (1.0, 0.5, 0.0)  # values of tau tried with the published order
_WEIGHED = 5  # most rounds of user removal, each with a local search


def release_of(
    graph: PeopleGraph,
    levels: Levels,
    settings: Settings,
    history: History | None,
    rng: np.random.Generator,
    progress: Progress = SILENT,
    *,
    k: int = 3,
    seeded: bool = False,
) -> PeopleRelease:
    """Anonymize a graph by one of the methods.

    Parameters
    ----------
    levels
        The k of each user.
    history
        For ``"ctkga"``: history of the earlier releases; `None` before the first.
    k
        The k of a graph without users.
    seeded
        Whether `rng` also draws labels, for experiments; otherwise the source of the operating system does.
    """
    settings = settings.filled()
    _check(graph, levels, settings)
    secret = rng if seeded else None
    if settings.method == "k-degree":
        return k_degree_release(graph, int(levels.max()), settings, rng, progress, secret)
    if settings.method == "ctkga":
        work = Clustering(graph, levels, settings, rng, progress)
        return _next(work, history, work.most if graph.n else k, secret)
    # random order: ties between users are broken by number, which depends on the input file
    order = rng.permutation(graph.n)
    shuffled = graph.of(order)
    made = Clustering(shuffled, levels[order], settings, rng, progress).best()
    release = publish(made.graph, made.users, made.figures.as_dict(), shuffled, secret)
    mapping = np.empty(graph.n, dtype=np.int64)
    mapping[order] = release.mapping
    return replace(release, mapping=mapping)


def _next(
    work: Clustering, history: History | None, k: int, secret: np.random.Generator | None
) -> PeopleRelease:
    work.progress.step(f"Clustering users of each history ({work.settings.clustering})")
    made = next_release(
        work.graph,
        history,
        k,
        work.settings.window,
        work.rng,
        distance=work.distance,
        cluster=work.alike,
        partition=work.parted,
        generalize=work.generalized,
        left_out=work.settings.left_out,
        secret=secret,
    )
    return PeopleRelease(made.graph, made.mapping, {**made.figures, **made.changes.as_dict()}, made.history)


def _check(graph: PeopleGraph, levels: Levels, settings: Settings) -> None:
    if settings.method in ("cdga", "k-degree") and graph.attributes:
        some = ", ".join(graph.attributes)
        raise AnonymizationError(
            f"{settings.method} anonymizes degrees, not attributes, and this graph has some ({some})",
            hint="take --method ckga or pckga, or leave the attributes out",
        )
    if not graph.attributes and not graph.relations:
        raise AnonymizationError(
            "the graph has neither attributes nor relations: there is nothing to anonymize",
            hint="name attributes or relations: in a schema under [kinds], or by --attributes and --relations",
        )
    if settings.clustering in ("degrees", "merging") and not graph.relations:
        raise AnonymizationError(
            f"{settings.clustering} clusters users by relations, and the graph has none",
            hint="take another clustering",
        )
    if not graph.n and settings.method != "ctkga":
        raise AnonymizationError(
            "the graph has no users", hint="is the file empty, or its only line taken for names of columns?"
        )
    if levels.min(initial=1) < 1:
        raise AnonymizationError("each k must be at least 1")


class Clustering:
    """The stages of one run; shared intermediate results are computed on first use."""

    def __init__(
        self,
        graph: PeopleGraph,
        levels: Levels,
        settings: Settings,
        rng: np.random.Generator,
        progress: Progress,
    ) -> None:
        self.graph, self.levels, self.settings = graph, levels, settings
        self.rng, self.progress = rng, progress
        self.most = int(levels.max(initial=2))

    @cached_property
    def distance(self) -> Distance:
        """Loss of making two users alike."""
        if self.settings.loss == "adm" or not self.graph.attributes:
            return AttributeDegreeLoss(self.graph, self.settings.alpha, self.settings.alpha_dm)
        self.progress.step("Learning which pairs of values are truthful")
        truth = learn(self.graph, self.settings.dimensions, self.rng)
        return TruthDegreeLoss(self.graph, truth, self.settings.alpha, self.settings.alpha_dm)

    @cached_property
    def points(self) -> Numbers:
        """Embedding of the users: Euclidean distances approximate the losses."""
        self.progress.step("Placing users as points")
        return clusterers.points(self.distance, self.settings.dimensions, self.rng)

    @cached_property
    def far(self) -> AnonymizationDistance:
        """Anonymization distance of the users."""
        return AnonymizationDistance(self.distance, self.levels)

    def best(self) -> Generalized:
        """Generalization with least loss among all clusters that the method finds.

        The loss of values and removed users follows from the clusters; that of degrees is known after the
        generalization. An `AnonymizationError` if no user is left.
        """
        found = list(self.candidates())
        self.progress.step("Generalizing users")
        if len(found) == 1 and (found[0] >= 0).any():
            return self.generalized(self.graph, found[0], self.rng)
        best, least = None, np.inf
        for cost, clusters in sorted(
            zip(map(self.certain, found), found, strict=True), key=lambda pair: pair[0]
        ):
            if cost >= least:
                break
            if self.graph.n and (clusters < 0).all():
                raise self._nobody(found)
            made = self.generalized(self.graph, clusters, self.rng)
            cost += self.by_degrees(made)
            if cost < least:
                best, least = made, cost
        assert best is not None
        return best

    def generalized(self, graph: PeopleGraph, clusters: Clusters, rng: np.random.Generator) -> Generalized:
        """Users of each cluster made equal, as published or exactly."""
        return generalize(graph, clusters, rng, literal=self.settings.mode == "published")

    def _nobody(self, found: list[Clusters]) -> AnonymizationError:
        price, n = self.settings.removal_price, self.graph.n
        if any((clusters >= 0).any() for clusters in found):
            return AnonymizationError(
                f"no user is worth {price:g}, the price of a removed one: all {n:,} are removed",
                hint="raise the price: 1 is all that can be lost of a user",
            )
        return AnonymizationError(
            f"no user can be released: {n:,} users ask for k = {self.levels.min()} or more, and clustering "
            f"({self.settings.clustering}) found no cluster of so many",
            hint="lower k, or choose another clustering",
        )

    def certain(self, clusters: Clusters) -> float:
        """Loss by removed users and by values (or their untruthfulness), without that of degrees."""
        removed = np.count_nonzero(clusters < 0) * self.settings.removal_price
        if isinstance(self.distance, TruthDegreeLoss):
            users = np.arange(self.graph.n)
            return removed + self.settings.alpha * self.distance.untruth(clusters, users)
        return removed + Search(self.values, clusters).loss()

    def by_degrees(self, made: Generalized) -> float:
        """Loss of the degrees of a generalized graph (PCKGA, section 6.3)."""
        both = (
            (self.graph.out_degrees(), made.graph.out_degrees()),
            (self.graph.in_degrees(), made.graph.in_degrees()),
        )
        changed = sum(
            factor * int(np.abs(before[made.users] - after).sum())
            for (before, after), factor in zip(both, direction_weights(self.settings.alpha_dm), strict=True)
        )
        return (1 - self.settings.alpha) * changed / (2 * self.graph.n * max(len(self.graph.relations), 1))

    def candidates(self) -> Iterator[Clusters]:
        """Valid clusters: of the clusterings and, in exact mode, refined."""
        settings, small = self.settings, self.graph.n <= _SMALL
        published = settings.mode == "published"
        starts = [self.valid(self.first(published), 1.0 if settings.weighs else settings.tau)]
        if settings.weighs and settings.clustering == "vac":
            found = self.first(literal=True)
            starts += [self.valid(found, tau) for tau in (_TAUS if small else _TAUS[:1])]
            starts.sort(key=self.certain)
        for i, start in enumerate(starts):
            yield start
            if published or (settings.method, settings.clustering) == ("cdga", "degrees"):
                continue
            if i == 0 or small:
                yield self.refined(start)

    def first(self, literal: bool = False) -> Clusters:
        """Clusters of similar users, of any sizes."""
        self.progress.step(f"Clustering ({self.settings.clustering}{', as published' * literal})")
        if self.settings.clustering == "vac":
            return valid_clusters.vac(self.far, literal)
        return self.clustered(np.arange(self.graph.n), self.levels, self.rng)

    def refined(self, found: Clusters) -> Clusters:
        """Clusters refined by local search; if removal is weighed, also by removing and returning users."""
        self.progress.step("Refining clusters")
        found = refine(self.columns, found, self.near)
        for _ in range(_WEIGHED if self.settings.weighs else 0):
            pull = valid_clusters.between_medoids(self.far, self.rng)
            weighed = weigh(self.columns, found, self.settings.removal_price, pull)
            if np.array_equal(weighed, found):
                break
            found = refine(self.columns, weighed, self.near)
        return found

    @cached_property
    def columns(self) -> Columns:
        """Loss columns of all users."""
        return Columns.of(self.graph, self.levels, self.settings.alpha, self.settings.alpha_dm)

    @cached_property
    def values(self) -> Columns:
        """Loss columns of attributes alone."""
        return Columns.of(replace(self.graph, relations={}), self.levels, self.settings.alpha)

    @cached_property
    def near(self) -> Vertices:
        """The nearest users of each user."""
        return nearest(self.distance)

    def alike(self, part: Among, k: int, rng: np.random.Generator) -> Clusters:
        """Clusters of similar users with the same history, of any sizes."""
        return self.clustered(part.users, np.full(part.n, k, dtype=np.int64), rng)

    def clustered(self, users: Vertices, levels: Levels, rng: np.random.Generator) -> Clusters:
        """Clusters of similar users among `users`, by the clustering of the settings."""
        settings, most = self.settings, int(levels.max(initial=1))
        count = max(len(users) // most, 1)
        degrees = self.graph.out_degrees()[users], self.graph.in_degrees()[users]

        def part() -> Distance:  # computed on demand: some clusterings need no distances
            # Algorithm 1 of PCKGA clusters by the anonymization distance, and all users at once
            return self.far if settings.method == "pckga" else Among(self.distance, users)

        match settings.clustering:
            case "vac":
                # of the loss: `part` may be an anonymization distance already
                far = AnonymizationDistance(Among(self.distance, users), levels)
                return valid_clusters.vac(far, literal=settings.mode == "published")
            case "degrees":
                return degree_clusters(*degrees, levels, rng, runs=cores())
            case "merging":
                largest = settings.epsilon or 2 * most
                return merge(
                    *degrees,
                    most,
                    settings.tau,
                    settings.omega,
                    largest,
                    rng,
                    alpha_dm=settings.alpha_dm,
                    literal=settings.mode == "published",
                )
            case "k-means":
                return clusterers.k_means(self.points[users], count, rng)
            case "k-medoids":
                return clusterers.k_medoids(part(), count, rng)
            case "hdbscan":
                return clusterers.hdbscan(part(), most)
            case "hdb-star":
                return clusterers.hdb_star(part(), levels)
            case name:
                asked = {"n_clusters": count, "n_components": count, "min_cluster_size": most}
                return clusterers.scikit(str(name), self.points[users], asked, rng)

    def valid(self, found: Clusters, tau: float = 1.0) -> Clusters:
        """Valid clusters, large ones split, by the partition of the settings."""
        match self.settings.partition:
            case "merge-split":
                return valid_clusters.merge_split(self.far, found, tau, self.rng)
            case "k-means":
                return valid_clusters.k_means_partition(self.points, found, self.most, tau)
            case "k-medoids":
                return valid_clusters.k_medoids_partition(self.distance, found, self.most, self.rng)
            case _:
                return valid_clusters.invalid_removal(found, self.levels)

    def parted(self, part: Among, found: Clusters, k: int, rng: np.random.Generator) -> Clusters:
        """Valid clusters of users with the same history; in exact mode refined, unless truthfulness would decrease."""
        found = valid_clusters.k_medoids_partition(part, found, k, rng)
        if self.settings.mode == "published":
            return found
        levels = np.full(part.n, k, dtype=np.int64)
        columns = Columns.of(self.graph.of(part.users), levels, self.settings.alpha, self.settings.alpha_dm)
        made = refine(columns, found, nearest(part))
        if isinstance(self.distance, TruthDegreeLoss):
            before, after = (self.distance.untruth(clusters, part.users) for clusters in (found, made))
            return made if after <= before else found
        return made
