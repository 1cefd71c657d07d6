"""Schools, their releases, and the pairs that an attacker discloses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgreason.links.anonymizers import apply, clusters_of
from kgreason.links.attacks.disclosure import disclosure
from kgreason.links.attacks.entity_pairs import Beliefs, pairs_between
from kgreason.links.attacks.noisy_or import Knowledge, Noise, beliefs_of, knowledge_of
from kgreason.links.model import Original, Released
from kgreason.links.school import school
from kgreason.links.settings import THRESHOLDS, Strategy

NOISE = Noise(0.2, {"classmates": 0.4, "groupmates": 0.6})
PERCENT = 50.0
STUDENTS = 100


@dataclass(frozen=True)
class Release:
    """A strategy, the least size of clusters, and the model of its attacker.

    Attributes
    ----------
    reading
        ``"slots"`` is that of kgreason. ``"sharp"`` makes more of constrained clusters. Others are readings of section
        7.1: ``"one"`` takes the links of a relation between two entities for one observation, with the count by the
        pairs of the two clusters as its probability; ``"all"`` divides by all pairs of the graph, |V|², instead.
    """

    strategy: Strategy
    k: int = 6
    reading: str = "slots"

    def __str__(self) -> str:
        if self.strategy == "intact":
            return "intact"
        if self.strategy == "partial":
            return f"partial {PERCENT:g} %"
        return f"{self.strategy} k={self.k}"


INTACT, PARTIAL = Release("intact"), Release("partial")
FINE, COARSE = Release("cluster-edge", 2), Release("cluster-edge", 6)
FINE_CONSTRAINED, COARSE_CONSTRAINED = Release("constrained", 2), Release("constrained", 6)
SIX = (INTACT, PARTIAL, FINE, COARSE, FINE_CONSTRAINED, COARSE_CONSTRAINED)
READINGS = tuple(Release("cluster-edge", k, reading) for reading in ("one", "all") for k in (2, 6))
SHARP = tuple(Release("constrained", k, "sharp") for k in (2, 6))


@dataclass(frozen=True)
class Point:
    """What is disclosed at one threshold, on the average of some graphs.

    Attributes
    ----------
    predicted, revealed, sensitive
        Mean numbers of pairs.
    """

    predicted: float
    revealed: float
    sensitive: float

    @property
    def precision(self) -> float | None:
        """Of all predictions for all graphs together; `None` if there is none."""
        return self.revealed / self.predicted if self.predicted else None

    @property
    def recall(self) -> float:
        """Of all sensitive pairs of all graphs together."""
        return self.revealed / self.sensitive


Points = Mapping[tuple[Release, float], Point]


@dataclass(frozen=True)
class Series:
    """Schools, or other graphs, that were drawn alike.

    Attributes
    ----------
    students
        How many there are; of other graphs, entities.
    densities
        Mean number of links of a pair of students, by relation.
    friends
        Share of the pairs that are friends, or have another sensitive link.
    points
        By release and threshold.
    """

    students: int
    densities: Mapping[str, float]
    friends: float
    points: Points


def measured(graphs: int, seed: Sequence[int], releases: Sequence[Release], **drawn: Any) -> Series:
    """Attack all releases of some schools; `drawn` is what :func:`kgreason.links.school.school` takes."""
    return attacked(
        graphs,
        seed,
        releases,
        lambda rng: school(rng, **drawn),
        lambda released, original, release, _: believed(
            released, knowledge_of(original.graph), release.reading
        ),
    )


def attacked(
    graphs: int,
    seed: Sequence[int],
    releases: Sequence[Release],
    draw: Callable[[np.random.Generator], Original],
    believe: Callable[[Released, Original, Release, np.random.Generator], Beliefs],
) -> Series:
    """Draw graphs, release each in all ways, and compare the beliefs of an attacker with the truth."""
    found: dict[tuple[Release, float], list[tuple[int, int, int]]] = {}
    densities: dict[str, list[float]] = {}
    shares, entities = [], []
    for number in range(graphs):
        rng = np.random.default_rng([*seed, number])
        original = draw(rng)
        for release in releases:
            clusters = clusters_of(original.graph, "random", release.k, rng)
            graph, mapping = apply(original.graph, clusters, release.strategy, PERCENT, rng)
            beliefs = believe(Released(graph, release.strategy), original, release, rng)
            result = disclosure(beliefs, graph, original.sensitive, mapping, THRESHOLDS)
            for at in result.at:
                row = (at.predicted, at.revealed, result.sensitive)
                found.setdefault((release, at.threshold), []).append(row)
        shares.append(result.base_rate)
        entities.append(result.entities)
        for name, links in original.graph.observed.items():
            densities.setdefault(name, []).append(links.total / result.pairs)
    points = {key: Point(*np.mean(rows, axis=0).tolist()) for key, rows in found.items()}
    means = {name: float(np.mean(values)) for name, values in densities.items()}
    return Series(round(float(np.mean(entities))), means, float(np.mean(shares)), points)


def believed(released: Released, known: Knowledge, reading: str) -> Beliefs:
    """Beliefs of the attacker of a reading."""
    if reading in ("slots", "sharp"):
        return beliefs_of(released, NOISE, known, mutual=True, sharp=reading == "sharp")
    graph = released.graph
    source, target = np.triu_indices(graph.n)
    pairs = pairs_between(graph.size, source, target, mutual=True)
    every = np.full(len(pairs), int(graph.size.sum()) ** 2) if reading == "all" else pairs
    chances = []
    for found in graph.observed.values():
        count = np.zeros((graph.n, graph.n))
        count[found.source, found.target] = found.count
        chances.append(np.minimum(1.0, count[source, target] / np.maximum(every, 1)))
    weights = [NOISE.weight(name) for name in graph.observed]
    lacking = np.prod(1 - np.asarray(weights) * np.stack(chances, axis=1), axis=1)
    return Beliefs(source, target, NOISE.leak + (1 - NOISE.leak) * (1 - lacking), NOISE.leak, True)


@dataclass(frozen=True)
class Measured:
    """All series of the page.

    Attributes
    ----------
    graphs
        How many schools there are of each kind.
    dense, sparse
        With 10, and with 30, classes and groups.
    by_density
        By the share of the ten classes that each student takes.
    by_size
        By the number of students, with the same densities.
    """

    graphs: int
    dense: Series
    sparse: Series
    by_density: Mapping[float, Series]
    by_size: Mapping[int, Series]


def everything(graphs: int, seed: int) -> Measured:
    """Draw and attack all schools."""
    wide = (*SIX, *READINGS, *SHARP)
    return Measured(
        graphs,
        measured(graphs, (seed, 7, 10), wide, classes=10, groups=10),
        measured(graphs, (seed, 7, 30), wide, classes=30, groups=30),
        {
            each / 10: measured(
                graphs, (seed, 9, each), (*SIX, *READINGS), classes_each=each, class_size=STUDENTS
            )
            for each in range(1, 9)
        },
        {
            n: measured(graphs, (seed, 10, n), SIX, students=n, class_size=n // 4, group_size=3 * n // 20)
            for n in (100, 200, 300, 400)
        },
    )
