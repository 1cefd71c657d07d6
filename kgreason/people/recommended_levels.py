"""Recommended levels: the k that a user needs for a wanted confidence of attackers (PCKGA, section 7).

An attacker finds a user of a class of k equal users with confidence 1/k (PCKGA, Theorem 1). An attacker who finds the
class believes in a value with the share of the class's users who truly have it. The class is not known before the
anonymization; the user and the k - 1 nearest users, whom the methods try to group, stand for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kgreason.base.errors import AnonymizationError
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.losses import AttributeDegreeLoss
from kgreason.people.anonymizers.user_distances import neighbours
from kgreason.people.model import Attribute, Counts, PeopleGraph

FARTHEST = 10  # largest k that is recommended, in multiples of the least
EXAMINED = 1 << 22  # pairs of an own value and a neighbour that are examined at a time


@record(eq=False)
class Recommended:
    """Least k of each user for a wanted confidence of attackers.

    Attributes
    ----------
    confidence
        Confidence that should not be exceeded.
    sensitive
        Attributes whose values should not be concluded with more confidence.
    least
        Least k by which a user is found with no more confidence: guaranteed, and necessary.
    most
        Largest k that was examined.
    k
        Recommended k of each user, 0 if none up to `most` suffices; int64, shape (n,).
    """

    confidence: float
    sensitive: tuple[str, ...]
    least: int
    most: int
    k: Counts

    @property
    def without(self) -> Vertices:
        """Users for whom no examined k suffices."""
        return np.flatnonzero(self.k == 0)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON, without users."""
        levels, counts = np.unique(self.k[self.k > 0], return_counts=True)
        return {
            "confidence": self.confidence,
            "sensitive": list(self.sensitive),
            "least": self.least,
            "most": self.most,
            "k": {str(k): count for k, count in zip(levels.tolist(), counts.tolist(), strict=True)},
            "none_suffices": len(self.without),
        }


def recommended(graph: PeopleGraph, confidence: float, sensitive: Sequence[str] = ()) -> Recommended:
    """Recommend the least k of each user for a wanted confidence.

    It is at least 1 / `confidence`, rounded up. For every s from k to 2 k - 1, the sizes of classes that the methods
    aim at, each value that the user has of a sensitive attribute is held by at most the share `confidence` of the user
    and the s - 1 nearest users, or by no greater share of them than of all users: then the class tells no more than the
    knowledge that somebody is in the data. This holds for k = n at the latest, but no more than 10 times the least k is
    recommended.

    The distance is ADM with alpha = 1/2; takes time O(n²) with sensitive attributes.

    Raises
    ------
    AnonymizationError
        If there is no such attribute, or there are fewer than 1 / `confidence` users.

    Examples
    --------
    Nurses look alike; two others are needed to hide that a user is one:

    >>> jobs = ["nurse", "nurse", "clerk", "cook"]
    >>> graph = PeopleGraph.from_triples("abcd", [(u, "job", j) for u, j in zip("abcd", jobs)])
    >>> recommended(graph, 0.5).k.tolist(), recommended(graph, 0.5, ["job"]).k.tolist()
    ([2, 2, 2, 2], [4, 4, 2, 2])
    """
    needed = (1 - 1e-9) / confidence
    if needed > graph.n:
        raise AnonymizationError(
            f"a confidence of {confidence:g} needs more users than the {graph.n:,} of the graph",
            hint=f"the least that {graph.n:,} users allow is 1/{graph.n}",
        )
    least = math.ceil(needed)
    most = min(FARTHEST * least, graph.n)
    k = np.full(graph.n, least, dtype=np.int64)
    attributes = []
    for name in (sensitive := tuple(dict.fromkeys(sensitive))):
        if name not in graph.attributes:
            known = ", ".join(graph.attributes) or "none"
            raise AnonymizationError(f"there is no attribute {name!r}", hint=f"the attributes are: {known}")
        attributes.append(graph.attributes[name])
    if attributes:
        loss, holders = (
            AttributeDegreeLoss(graph),
            np.unique(np.concatenate([one.user for one in attributes])),
        )
        step = max(1, EXAMINED // (2 * most))
        for first in range(0, len(holders), step):
            users = holders[first : first + step]
            k[users] = _least(loss, users, attributes, least, most, confidence)
    return Recommended(confidence, sensitive, least, most, k)


def _least(
    loss: AttributeDegreeLoss,
    users: Vertices,
    attributes: Sequence[Attribute],
    least: int,
    most: int,
    confidence: float,
) -> Counts:
    """Least k of consecutive holders of values, by the values of their neighbours; 0 if none suffices."""
    n = loss.n
    largest = min(2 * most - 1, n)
    wanted = np.zeros(n, dtype=np.int64)
    wanted[users] = largest - 1
    near = neighbours(loss, wanted).user.reshape(len(users), largest - 1)
    size = np.arange(1, largest + 1)
    failing = np.full((len(users), largest), largest + 1)  # the least size from here on that does not suffice
    for one in attributes:
        _mark(failing, users, one, near, confidence, n)
    failing = np.minimum.accumulate(failing[:, ::-1], axis=1)[:, ::-1]
    fine = failing > np.minimum(2 * size - 1, n)
    fine[:, : least - 1] = False
    fine[:, most:] = False
    return np.where(fine.any(axis=1), fine.argmax(axis=1) + 1, 0)


def _mark(
    failing: Counts, users: Vertices, held: Attribute, near: Vertices, confidence: float, n: int
) -> None:
    """Mark each size s, in ``failing[i, s - 1]``, for which a value of user i is held too often."""
    domain, size = max(len(held.domain), 1), np.arange(1, failing.shape[1] + 1)
    pairs = held.user * domain + held.value  # ascending
    total = np.bincount(held.value, minlength=domain)
    start, stop = np.searchsorted(held.user, (users[0], users[-1] + 1)).tolist()
    step = max(1, EXAMINED // len(size))
    for first in range(start, stop, step):
        some = slice(first, min(first + step, stop))
        row, value = np.searchsorted(users, held.user[some]), held.value[some]
        wanted = near[row] * domain + value[:, None]
        place = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
        own = np.ones((len(row), 1), dtype=np.int64)
        holders = np.cumsum(np.concatenate([own, pairs[place] == wanted], axis=1), axis=1)
        many = holders > np.floor(confidence * size + 1e-9)
        many &= holders * n > total[value][:, None] * size
        np.minimum.at(failing, row, np.where(many, size, failing.shape[1] + 1))
