"""What the tables of PCKGA measure: clusterings with and without Merge-Split, the whole command, and CKGA."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path

import numpy as np

from kgreason.isomorphism.settings import Mode
from kgreason.people import anonymize as anonymize_people
from kgreason.people import verify as verify_people
from kgreason.people.anonymizers import clusterers
from kgreason.people.anonymizers.generalization import generalize, publish
from kgreason.people.anonymizers.losses import AttributeDegreeLoss
from kgreason.people.anonymizers.user_distances import AnonymizationDistance, Clusters, Levels, rows_of
from kgreason.people.anonymizers.valid_clusters import (
    invalid_removal,
    k_means_partition,
    merge_split,
    vac,
)
from kgreason.people.model import Numbers, PeopleGraph
from kgreason.people.utility import Utility, measure
from people_kg.figures import Case, Measured
from people_kg.people_data import authors_levels, people

HARD = "zipf_5-50-5-2"  # the setting of Tables 3 and 5
ONE_K = {"min": np.min, "mean": np.mean, "max": np.max}  # k_unique, from all k
FEW = 400  # users of a quick series


@dataclass(frozen=True)
class Users:
    """A graph of PCKGA, or its first users."""

    name: str
    title: str
    quick: bool = False

    def __str__(self) -> str:
        return f"{self.name}, {FEW} users" if self.quick else self.name

    def of(self, data: Path, setting: str, run: int) -> tuple[PeopleGraph, Levels]:
        """The graph, and the k of each user."""
        graph, levels = people(data, self.name), authors_levels(data, self.name, setting, run)
        few = np.arange(min(graph.n, FEW))
        return (graph.of(few), levels[few]) if self.quick else (graph, levels)


def clustered(users: Users, setting: str, clustering: str, tau: str | None = None, runs: int = 0) -> Case:
    """A clustering, then Merge-Split; without `tau`, the removal of invalid clusters."""
    how = "" if tau is None else f" tau={tau}"
    case = partial(_clustered, users, setting, clustering, None if tau is None else float(tau))
    return Case(f"{users} {setting} {clustering}{how}", case, runs or runs_of(users, setting))


def anonymized(users: Users, setting: str, mode: Mode) -> Case:
    """The whole command."""
    return Case(
        f"{users} {setting} {mode}", partial(_anonymized, users, setting, mode), runs_of(users, setting)
    )


def ckga(users: Users, clustering: str, tau: str) -> Case:
    """CKGA with one k for all, the highest."""
    return Case(f"{users} CKGA {clustering} tau={tau}", partial(_ckga, users, clustering, float(tau)))


def runs_of(users: Users, setting: str) -> int:
    """Files of k: several of those that are drawn, but for Coil."""
    return 3 if setting.startswith("zipf") and users.name != "coil" else 1


def _clustered(
    users: Users, setting: str, clustering: str, tau: float | None, data: Path, run: int
) -> Measured:
    graph, levels = users.of(data, setting, run)
    far, found, spent = _clusters(users, setting, clustering, data, run)
    rng = np.random.default_rng([run, 1])
    start = time.process_time()
    found = invalid_removal(found, levels) if tau is None else merge_split(far, found, tau, rng)
    seconds = {"cluster_seconds": spent, "split_seconds": time.process_time() - start}
    return {**released(graph, levels, found, rng), **seconds}


@cache
def _clusters(
    users: Users, setting: str, clustering: str, data: Path, run: int
) -> tuple[AnonymizationDistance, Clusters, float]:
    """Clusters before they are made valid, the same for each tau, and the processor time that they took."""
    graph, levels = users.of(data, setting, run)
    start = time.process_time()
    far = AnonymizationDistance(AttributeDegreeLoss(graph), levels)
    found = clusters_of(clustering, far, np.random.default_rng(run))
    return far, found, time.process_time() - start


def clusters_of(clustering: str, far: AnonymizationDistance, rng: np.random.Generator) -> Clusters:
    """Clusters of a clustering; "hdbscan max" and the like have one k for all users."""
    kind, _, level = clustering.partition(" ")
    if kind == "VAC":
        return vac(far, literal=True)
    if kind == "HDB*":
        return clusterers.hdb_star(far, far.levels)
    if kind == "program":
        return vac_of_the_program(far)
    k = float(ONE_K[level](far.levels))
    if kind == "hdbscan":
        return clusterers.hdbscan(far, int(k))
    return clusterers.k_medoids(far, int(far.n / k), rng)


def vac_of_the_program(far: AnonymizationDistance) -> Clusters:
    """VAC as the authors' program has it.

    The cost of a user is the largest anonymization distance to the k - 1 users nearest by that distance, not by the
    information loss (Definition 8). The next user of a cluster is the one whose largest distance to all users in it is
    least, not the one nearest to the first (Function 1).
    """
    rows, levels = rows_of(far, np.arange(far.n)), far.levels
    np.fill_diagonal(rows, 0)
    costs = [np.partition(row, k - 1)[k - 1] for row, k in zip(rows, np.minimum(levels, far.n), strict=True)]
    found, widest = np.full(far.n, -1, dtype=np.int64), np.empty(far.n, dtype=np.float32)
    for seed in np.argsort(costs, kind="stable").tolist():
        if found[seed] >= 0:
            continue
        cluster, user, size, highest = found.max() + 1, seed, 0, 0
        widest.fill(-1)
        while True:
            found[user], size, highest = cluster, size + 1, max(highest, levels[user])
            np.maximum(widest, rows[user], out=widest)
            if size >= highest or (found >= 0).all():
                break
            user = int(np.where(found < 0, widest, np.inf).argmin())
    return found


def released(graph: PeopleGraph, levels: Levels, clusters: Clusters, rng: np.random.Generator) -> Measured:
    """What a release by these clusters loses, and whether it is one."""
    made = generalize(graph, clusters, rng)
    release = publish(made.graph, made.users, made.figures.as_dict(), graph, rng)
    verdict = verify_people(
        release.graph, model="p-k-ad", levels=levels, original=graph, mapping=release.mapping
    )
    return {**lost(measure(graph, release.graph, release.mapping)), "holds": verdict.holds}


def lost(utility: Utility) -> dict[str, float]:
    """AIL and RRU; ``ail_program`` is the AIL of the authors' program, which adds 1 to denominators of attributes."""
    kept = (utility.users - utility.removed) / max(utility.users, 1)
    by_attributes = utility.am * kept / 2
    return {
        "ail": utility.ail,
        "rru": utility.rru,
        "ail_program": by_attributes + utility.ail_degrees + utility.ail_removed,
    }


def _anonymized(users: Users, setting: str, mode: Mode, data: Path, run: int) -> Measured:
    graph, levels = users.of(data, setting, run)
    own = dict(zip(graph.labels.tolist(), levels.tolist(), strict=True))
    start = time.process_time()
    result = anonymize_people(graph, k_values=own, mode=mode, seed=run)
    assert result.utility is not None
    return {**lost(result.utility), "holds": result.holds, "seconds": time.process_time() - start}


def _ckga(users: Users, clustering: str, tau: float, data: Path, run: int) -> Measured:
    graph, levels = users.of(data, HARD, run)
    highest = np.full(graph.n, levels.max())
    points, found = _points(users, data)
    valid = k_means_partition(points, found[clustering], int(highest[0]), tau)
    return released(graph, highest, valid, np.random.default_rng(run))


@lru_cache(maxsize=1)
def _points(users: Users, data: Path) -> tuple[Numbers, dict[str, Clusters]]:
    """Users as points of 50 dimensions, and clusters by the information loss: the same for each tau."""
    graph, levels = users.of(data, HARD, 0)
    loss, rng, k = AttributeDegreeLoss(graph), np.random.default_rng(0), int(levels.max())
    found = {
        "hdbscan": clusterers.hdbscan(loss, k),
        "k-medoids": clusterers.k_medoids(loss, max(graph.n // k, 1), rng),
    }
    return clusterers.points(loss, 50, rng), found
