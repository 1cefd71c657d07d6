"""What released values tell of friends, and removal by degrees: schools whose students have countries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kgreason.base.errors import AnonymizationError
from kgreason.graph.knowledge_graph import Vertices
from kgreason.language.check.program_checker import load_text
from kgreason.links.anonymizers import apply, clusters_of
from kgreason.links.attacks.disclosure import disclosure
from kgreason.links.attacks.entity_pairs import Beliefs
from kgreason.links.attacks.noisy_or import Noise, beliefs_of, knowledge_of
from kgreason.links.attacks.rule_attacker import rule_beliefs
from kgreason.links.close_clusters import close_clusters
from kgreason.links.closeness import distances, largest
from kgreason.links.model import Original, Released, Sensitive
from kgreason.links.school import school
from kgreason.links.settings import Criterion, Strategy
from kgreason.people.model import attribute
from zheleva.series import NOISE, PERCENT, Point

COUNTRIES, ALIKE = 5, 0.4  # uniform; a common country causes a friendship with this probability
PLACES = 30  # classes and groups, as in the sparse graph
K, WORLDS = 6, 30
# who sees links alone takes common countries for causes that nobody observes
BLIND = Noise(1 - (1 - NOISE.leak) * (1 - ALIKE / COUNTRIES), NOISE.weights)
RULES = load_text(
    "".join(
        f'@label("{name}", {p}) friends(X, Y) :- {name}(X, Y).\n' for name, p in sorted(NOISE.weights.items())
    )
    + f'@label("country", {ALIKE}) friends(X, Y) :- country(X, C), country(Y, C), X != Y.'
)
LINKS, VALUES = ATTACKERS = "links", "links and countries"


@dataclass(frozen=True)
class Way:
    """A strategy with the largest distance of the values of its clusters, and what partial removes."""

    strategy: Strategy
    closeness: float | None = None
    criterion: Criterion = "random"

    def __str__(self) -> str:
        by = " by degree" if self.criterion == "degree" else ""
        close = f", closeness {self.closeness:g}" if self.closeness is not None else ""
        return f"{self.strategy}{f' {PERCENT:g} %' if self.strategy == 'partial' else ''}{by}{close}"


CLOSE = 0.2
WAYS = (
    Way("intact"),
    Way("intact", CLOSE),
    Way("partial"),
    Way("partial", criterion="degree"),
    Way("cluster-edge"),
    Way("cluster-edge", CLOSE),
    Way("removed"),
    Way("removed", CLOSE),
)


@dataclass(frozen=True)
class Valued:
    """Means over schools.

    Attributes
    ----------
    friends
        Share of the pairs that are friends.
    points
        By way of release, attacker and threshold.
    apart
        Largest distance of values, by way of release.
    clusters
        Number of clusters, by way of release.
    """

    friends: float
    points: Mapping[tuple[Way, str, float], Point]
    apart: Mapping[Way, float]
    clusters: Mapping[Way, float]


def valued(graphs: int, seed: int) -> Valued:
    """Draw schools, release each in all ways, and attack it with and without countries."""
    rows: dict[tuple[Way, str, float], list[tuple[int, int, int]]] = {}
    shares, apart, clusters = [], {way: [] for way in WAYS}, {way: [] for way in WAYS}
    for number in range(graphs):
        rng = np.random.default_rng([seed, 13, number])
        original = with_countries(rng)
        alike = clusters_of(original.graph, "vac", K, rng)
        for way in WAYS:
            of = alike if way.closeness is None else closer(original, alike, way.closeness, rng)
            graph, node = apply(original.graph, of, way.strategy, PERCENT, rng, way.criterion)
            released = Released(graph, way.strategy, way.criterion)
            apart[way].append(largest(distances(graph)))
            clusters[way].append(int(of.max()) + 1)
            for attacker in ATTACKERS:
                beliefs = believed(released, original, attacker, rng)
                found = disclosure(beliefs, graph, original.sensitive, node)
                shares.append(found.base_rate)
                for at in found.at:
                    row = at.predicted, at.revealed, found.sensitive
                    rows.setdefault((way, attacker, at.threshold), []).append(row)
    points = {key: Point(*np.mean(some, axis=0).tolist()) for key, some in rows.items()}
    means = [{way: float(np.mean(some)) for way, some in one.items()} for one in (apart, clusters)]
    return Valued(float(np.mean(shares)), points, *means)


def with_countries(rng: np.random.Generator) -> Original:
    """A sparse school whose students have countries, and more friends if these are alike."""
    drawn = school(rng, classes=PLACES, groups=PLACES)
    n = drawn.graph.n
    country = rng.integers(0, COUNTRIES, n)
    friends = np.zeros((n, n), dtype=np.bool_)
    friends[drawn.sensitive.source, drawn.sensitive.target] = True
    friends |= (country[:, None] == country) & (rng.random((n, n)) < ALIKE)
    source, target = np.nonzero(np.triu(friends, 1))
    values = attribute("categorical", np.arange(n), country.astype(str).astype(object))
    graph = replace(drawn.graph, attributes={"country": values})
    return Original(graph, Sensitive("friends", source, target, mutual=True))


def closer(original: Original, clusters: Vertices, most: float, rng: np.random.Generator) -> Vertices:
    """Merged clusters; a single one where several are not found close enough."""
    try:
        return close_clusters(original.graph, clusters, most, rng)
    except AnonymizationError:
        return np.zeros_like(clusters)


def believed(
    released: Released, original: Original, attacker: str, rng: np.random.Generator, worlds: int = WORLDS
) -> Beliefs:
    """Beliefs of the noisy-or attacker about links, or of the same one with countries."""
    known = knowledge_of(original.graph)
    if attacker == LINKS:
        return beliefs_of(released, BLIND, known, mutual=True)
    return rule_beliefs(
        released,
        RULES,
        sensitive="friends",
        leak=NOISE.leak,
        worlds=worlds,
        rng=rng,
        mutual=True,
        limits=known.limits,
    )
