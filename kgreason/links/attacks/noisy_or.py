"""The noisy-or attacker: each observed link independently causes a sensitive link.

References
----------
LINKS, sections 6.1 (noisy-or, certain and uncertain observations), 7.1 (counts between clusters) and 7.2 (constraints).
Section 7.1 divides the count between two clusters by all pairs of the graph, |V|²; the example of section 7.2 divides
it by the pairs of the two clusters (30 of 10 times 10 give 0.3), which is the probability of an observation. This
module follows the example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError
from kgreason.base.records import record
from kgreason.base.setting_fields import check_probabilities
from kgreason.graph.knowledge_graph import Vertices
from kgreason.links.attacks.entity_pairs import (
    Beliefs,
    Doubles,
    all_pairs,
    expected_power,
    pairs_between,
    slots_of,
)
from kgreason.links.model import LinkGraph, Observations, Released, observations
from kgreason.people.model import Counts

Ints = npt.NDArray[np.int64]
ROUNDS = 10_000
TOLERANCE = 1e-12  # largest change of a round at which the fixpoint counts as reached


@record(eq=False)
class Causes:
    """Causes with the same probability `weight`, given all needed links; one per row.

    Attributes
    ----------
    head
        Number of the link that each may cause; int64, shape (m,).
    count
        Number of equal causes of each row; float64, shape (m,).
    needs
        Numbers of the links that each needs; int64, shape (m, r).
    """

    head: Ints
    weight: float
    count: Doubles
    needs: Ints


def least_fixpoint(causes: Sequence[Causes], leak: Doubles) -> tuple[Doubles, bool]:
    """Least solution of P(h) = 1 - (1 - leak) Π (1 - weight Π P(b)), over all causes of h and the links b they need.

    Iteration from 0: all values grow and are at most 1, so a result before convergence is too small, never too large.
    Returns the probability of each link, as the `leak` has shape (links,), and whether the fixpoint was reached.

    Examples
    --------
    >>> first = Causes(np.array([0]), 0.5, np.array([2.0]), np.empty((1, 0), dtype=np.int64))
    >>> second = Causes(np.array([1]), 0.4, np.array([1.0]), np.array([[0]]))
    >>> least_fixpoint([first, second], np.zeros(2))
    (array([0.75, 0.3 ]), True)
    """
    links = len(leak)
    fixed = [c for c in causes if not c.needs.size]
    moving = [c for c in causes if c.needs.size]
    failing = sum((_failing(c, np.full(len(c.head), c.weight), links) for c in fixed), np.zeros(links))
    believed = np.zeros(links)
    for _ in range(ROUNDS if moving else 1):
        logs = failing
        for c in moving:
            logs = logs + _failing(c, c.weight * believed[c.needs].prod(axis=1), links)
        before, believed = believed, leak + (1 - leak) * -np.expm1(logs)
        if not moving or np.abs(believed - before).max(initial=0.0) <= TOLERANCE:
            return believed, True
    return believed, False


def _failing(causes: Causes, probability: Doubles, links: int) -> Doubles:
    """Logarithm of the probability that all causes of a link fail, shape (links,)."""
    with np.errstate(divide="ignore"):
        logs = causes.count * np.log1p(-probability)
    return np.bincount(causes.head, logs, minlength=links).astype(np.float64)


@dataclass(frozen=True)
class Noise:
    """Parameters of the noisy-or model: probabilities of independent causes.

    Attributes
    ----------
    leak
        Probability of unobserved causes, from 0 to 1.
    weights
        Probability of one link of each observed relation, by its name, from 0 to 1.
    """

    leak: float
    weights: Mapping[str, float]

    def __post_init__(self) -> None:
        weights = {f"the weight of {name!r}": weight for name, weight in self.weights.items()}
        check_probabilities(**{"the leak": self.leak}, **weights)
        object.__setattr__(self, "weights", MappingProxyType(dict(self.weights)))

    def weight(self, name: str) -> float:
        """Probability of a relation."""
        if name not in self.weights:
            known = ", ".join(map(repr, self.weights)) or "none"
            raise AnonymizationError(
                f"the relation {name!r} of the release has no weight (there are: {known})",
                hint="give each observed relation a probability; 0 says that it is no evidence",
            )
        return self.weights[name]


@record
class Knowledge:
    """Background knowledge of an attacker about the original (constraints, LINKS, section 3).

    Attributes
    ----------
    limits
        Most links of each observed relation between any two entities, per direction if it is directed.
    totals
        Number of links of each observed relation between different entities.
    """

    limits: Mapping[str, int]
    totals: Mapping[str, int]

    def of(self, name: str) -> tuple[int, int]:
        """Limit and total of a relation."""
        if name not in self.limits or name not in self.totals:
            raise AnonymizationError(
                f"nothing is known of the relation {name!r} of the release",
                hint="give the number of its links in the original, and the most between two entities",
            )
        return self.limits[name], self.totals[name]


def knowledge_of(original: LinkGraph) -> Knowledge:
    """The exact limits and totals of a graph whose nodes are entities."""
    limits, totals = {}, {}
    for name, found in original.observed.items():
        every = _unweighted(found)
        count = every.count[every.source != every.target]
        limits[name], totals[name] = int(count.max(initial=0)), int(count.sum())
    return Knowledge(limits, totals)


def _believed(leak: float, lacking: npt.ArrayLike) -> Doubles:
    """Noisy-or of the leak and causes that all fail with probability `lacking`; exactly the leak without causes."""
    return np.asarray(leak + (1 - leak) * (1 - np.asarray(lacking)), dtype=np.float64)


@record(eq=False)
class _NoCause:
    """Probability that no link of one relation is a cause: for listed pairs of nodes, or (`every`) for all pairs."""

    source: Vertices
    target: Vertices
    probability: Doubles
    every: float = 1.0


def beliefs_of(
    released: Released, noise: Noise, knowledge: Knowledge, mutual: bool, *, sharp: bool = False
) -> Beliefs:
    """Beliefs of the noisy-or attacker about a release.

    - Links between entities (intact, partial) are certain; removed ones count as absent.
    - Of c links between two clusters the attacker only knows that no pair of entities has more than the limit. Each
      pair thus has that many slots, and all choices of c slots are equally likely.
    - For constrained clusters only the totals are used: all slots of the graph are equally likely.
    - If all links were removed, the leak remains.

    If the sensitive relation is mutual, links in both directions are causes for a pair. If it is directed, links of the
    same direction are, and mutual links in both.

    Parameters
    ----------
    knowledge
        Background knowledge; needed for releases of clusters only.
    mutual
        Whether the sensitive relation is symmetric.
    sharp
        For constrained clusters: whether only linked clusters have slots, as many for each pair as the release says.
        This attacker is stronger than that of the paper.

    Raises
    ------
    AnonymizationError
        If a relation has no weight, or knowledge that is needed is missing.
    """
    graph = released.graph
    relations = []
    for name, found in graph.observed.items() if released.strategy != "removed" else ():
        fails = 1 - noise.weight(name)
        every = _informative(found, graph.size)
        if released.strategy == "cluster-edge":
            relations.append(_placed(every, graph.size, fails, knowledge.of(name)[0], mutual))
        elif released.strategy != "constrained":
            relations.append(_cause(every, np.power(fails, every.count.astype(np.float64)), mutual))
        elif sharp:
            relations.append(_shared(every, graph.size, fails, knowledge.of(name)[1], mutual))
        else:
            relations.append(_uniform(every.mutual, int(graph.size.sum()), fails, knowledge.of(name), mutual))
    return _together(relations, noise.leak, graph.n, mutual)


def _unweighted(found: Observations) -> Observations:
    if found.weight is None:
        return found
    return observations(found.source, found.target, count=found.count, mutual=found.mutual)


def _informative(found: Observations, size: Counts) -> Observations:
    """One row for each pair of nodes, without loops of entities."""
    every = _unweighted(found)
    kept = (every.source != every.target) | (size[every.source] > 1)
    return Observations(every.source[kept], every.target[kept], every.count[kept], every.mutual)


def _cause(every: Observations, probability: Doubles, mutual: bool) -> _NoCause:
    """Rows as pairs of the sensitive relation; rows of one pair in both directions remain independent causes."""
    source, target = every.source, every.target
    if not mutual and every.mutual:
        back = source != target
        source, target = np.append(source, target[back]), np.append(target, source[back])
        probability = np.append(probability, probability[back])
    return _NoCause(source, target, probability)


def _own(every: Observations, mutual: bool) -> Counts:
    """Number of directions of each row that concern the same pair of entities."""
    both = mutual and not every.mutual
    return np.where(both & (every.source == every.target), 2, 1).astype(np.int64)


def _placed(every: Observations, size: Counts, fails: float, limit: int, mutual: bool) -> _NoCause:
    """Links between clusters, each row with its own slots."""
    slots = slots_of(limit, pairs_between(size, every.source, every.target, every.mutual))
    links = np.minimum(every.count, slots)  # loops of entities are counted but have no slot
    return _cause(every, expected_power(fails, slots, links, limit * _own(every, mutual)), mutual)


def _uniform(undirected: bool, entities: int, fails: float, known: tuple[int, int], mutual: bool) -> _NoCause:
    """All links of the original on the slots of all pairs."""
    limit, total = known
    none = np.empty(0, dtype=np.int64)
    slots = int(slots_of(limit, np.array([all_pairs(entities, undirected)]))[0])
    own = limit * (2 if mutual and not undirected else 1) if slots else 0
    placed = expected_power(fails, np.array([slots]), np.array([min(total, slots)]), np.array([own]))
    return _NoCause(none, none, np.empty(0), float(placed[0]))


def _shared(every: Observations, size: Counts, fails: float, total: int, mutual: bool) -> _NoCause:
    """All links of the original on the slots of linked clusters; a mutual pair has the slots of both directions."""
    slots = int(slots_of(every.count, pairs_between(size, every.source, every.target, every.mutual)).sum())
    own = every.count * _own(every, mutual)
    if mutual:
        pairs = observations(every.source, every.target, count=own, mutual=True)
        every, own = pairs, pairs.count
    all_slots = np.full(len(own), slots)
    return _cause(every, expected_power(fails, all_slots, np.minimum(total, all_slots), own), mutual)


def _together(relations: list[_NoCause], leak: float, n: int, mutual: bool) -> Beliefs:
    """Combine the causes of all relations for each pair of nodes."""
    keys = []
    for one in relations:
        source, target = one.source, one.target
        if mutual:
            source, target = np.minimum(source, target), np.maximum(source, target)
        keys.append(source * n + target)
    pairs = np.unique(np.concatenate([*keys, np.empty(0, dtype=np.int64)]))
    all_have = np.prod([one.every for one in relations])
    product = np.full(len(pairs), all_have)
    for key, one in zip(keys, relations, strict=True):
        np.multiply.at(product, np.searchsorted(pairs, key), one.probability)
    source, target = pairs // max(n, 1), pairs % max(n, 1)
    return Beliefs(source, target, _believed(leak, product), float(_believed(leak, all_have)), mutual)
