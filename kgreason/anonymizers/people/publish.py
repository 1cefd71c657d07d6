"""From a generalized graph to one that may be shown: users in random order under labels that say nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from kgreason.anonymizers.publish import fresh_labels, permutation
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import PeopleGraph, Texts
from kgreason.records import dataclass


@dataclass(frozen=True)
class PeopleRelease:
    """A graph of people to publish, and the secret that connects it with the original.

    Attributes
    ----------
    graph
        Users in random order, under labels that are opaque.
    mapping
        Original user v is user ``mapping[v]`` of `graph`, or removed if that is -1; int64, shape (n,).
    figures
        What was done, for the private report.
    """

    graph: PeopleGraph
    mapping: Vertices
    figures: Mapping[str, float] = field(default_factory=dict)


def publish(
    graph: PeopleGraph,
    users: Vertices,
    original: PeopleGraph,
    figures: Mapping[str, float],
    rng: np.random.Generator | None,
    labels: Texts | None = None,
) -> PeopleRelease:
    """Permute the users of a generalized graph at random and give them labels.

    Parameters
    ----------
    graph, users
        The graph, and the original user behind each of its users, or -1 for a fake one; int64, shape (graph.n,).
    original
        Its labels must not occur.
    rng
        For experiments. `None`: the operating system's source, as labels are seen.
    labels
        Labels that users have already, of earlier releases; `None`: new ones.

    References
    ----------
    docs/people.md, What is written.
    """
    order = permutation(graph.n, rng)
    if labels is None:
        labels = fresh_labels(graph.n, rng, original.labels.tolist())
    shuffled = PeopleGraph(labels, graph.attributes, graph.relations).of(order)
    behind = users[order]
    real = np.flatnonzero(behind >= 0)
    mapping = np.full(original.n, -1, dtype=np.int64)
    mapping[behind[real]] = real
    return PeopleRelease(shuffled, mapping, figures)
