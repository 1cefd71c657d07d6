"""t-closeness of released values: how far those of a node are from those of all entities. Part of the checker.

The values of a node are spread evenly: each of m values has the share 1/m. The overall distribution is the mean over
all entities that have values. Whether an entity has any value is a distribution of its own.

References
----------
Li, Li and Venkatasubramanian, t-closeness: privacy beyond k-anonymity and l-diversity, ICDE 2007: equal distance for
names (half of the sum of absolute differences), ordered distance for numbers (work to move the shares between ranks,
divided by the largest number of ranks).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.links.model import LinkGraph
from kgreason.people.model import Attribute
from kgreason.release.verdicts import Item, judged

Shares = npt.NDArray[np.float64]
ROUNDING = 1e-9  # a distance this little above the largest allowed counts as equal to it


@record
class Distance:
    """Largest distance of the values of a node in an attribute from those of all entities, 0 to 1."""

    attribute: str
    distance: float
    node: str


def distances(graph: LinkGraph) -> tuple[Distance, ...]:
    """Node with the largest distance, for each attribute that has values.

    Examples
    --------
    >>> owner, value = np.array([0, 0, 1, 1]), np.arange(4)
    >>> salary = Attribute("numeric", np.array(["3", "4", "5", "6"], dtype=object), owner, value)
    >>> labels = np.array(["low", "high"], dtype=object)
    >>> graph = LinkGraph(labels, {}, {"salary": salary}, size=np.array([2, 2]))
    >>> distances(graph)
    (Distance(attribute='salary', distance=0.3333333333333333, node='low'),)
    """
    return tuple(_largest(graph, name, a) for name, a in sorted(graph.attributes.items()) if len(a))


def _largest(graph: LinkGraph, name: str, values: Attribute) -> Distance:
    size = graph.size.tolist()
    held = _held(values)
    having = sum(size[node] for node in held)
    share = having / sum(size)  # of the entities that have values
    entities: Counter[tuple[int, ...]] = Counter()
    for node, own in held.items():
        entities[own] += size[node]
    overall = np.zeros(1 + max(map(max, entities)))
    for own, number in sorted(entities.items()):  # rounding must not depend on the order of nodes
        overall[list(own)] += number / len(own) / having
    apart = _ordered(overall) if values.kind == "numeric" else partial(_equal, overall)
    known = {own: apart(own) for own in entities}
    worst, at = -1.0, 0
    for node in range(graph.n):
        found = max(known[held[node]], 1 - share) if node in held else share
        if found > worst:
            worst, at = found, node
    return Distance(name, worst, str(graph.labels[at]))


def _held(values: Attribute) -> dict[int, tuple[int, ...]]:
    """Ranks of the different values of each node that has any, ascending."""
    texts = (values.numbers if values.kind == "numeric" else values.domain).tolist()
    used = sorted({texts[value] for value in values.value.tolist()})
    rank = {text: i for i, text in enumerate(used)}
    held: dict[int, set[int]] = {}
    for node, value in zip(values.user.tolist(), values.value.tolist(), strict=True):
        held.setdefault(node, set()).add(rank[texts[value]])
    return {node: tuple(sorted(own)) for node, own in held.items()}


def _equal(overall: Shares, own: tuple[int, ...]) -> float:
    """Total variation: what the values have above their overall shares."""
    return float(np.maximum(1 / len(own) - overall[list(own)], 0.0).sum())


def _ordered(overall: Shares) -> Callable[[tuple[int, ...]], float]:
    """Earth mover's distance of ranks: the mean gap between both distribution functions, over all but the last rank."""
    below = np.cumsum(overall)[:-1]
    sums = np.append(0.0, np.cumsum(below))

    def apart(own: tuple[int, ...]) -> float:
        # the function of `own` is a level from each of its ranks to the next; that of all ascends, and crosses it once
        level = np.arange(len(own) + 1) / len(own)
        start, end = np.array([0, *own]), np.array([*own, len(below)])
        cross = np.clip(np.searchsorted(below, level), start, end)
        gaps = level * (2 * cross - start - end) + sums[start] + sums[end] - 2 * sums[cross]
        return float(gaps.sum()) / max(len(below), 1)

    return apart


def close(found: tuple[Distance, ...], most: float) -> Item:
    """Condition ``closeness``: no distance is above `most`."""
    far = sorted((one for one in found if one.distance > most + ROUNDING), key=lambda one: -one.distance)
    holds = f"values of nodes differ from those of all entities by {largest(found):.3f} at most"
    fails = f"values differ from those of all entities by more than {most:g} in {', '.join(x.attribute for x in far)}"
    return judged("closeness", list(_words(far)), fails, holds)


def _words(far: list[Distance]) -> Iterator[str]:
    return (f"{one.node} is furthest in {one.attribute}: {one.distance:.3f}" for one in far)


def largest(found: tuple[Distance, ...]) -> float:
    """Largest distance of all attributes, 0 if there are none."""
    return max((one.distance for one in found), default=0.0)
