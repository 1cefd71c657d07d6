"""From a generalized graph to one that may be shown: users in random order under labels that say nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kgreason.anonymizers.people.generalize import Generalized
from kgreason.anonymizers.people.history import History
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import PeopleGraph
from kgreason.graph.people.write import opaque


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
    history
        Of one release of a series: what the next one needs to know.
    """

    graph: PeopleGraph
    mapping: Vertices
    figures: Mapping[str, object]
    history: History | None = None


def publish(made: Generalized, original: PeopleGraph, rng: np.random.Generator | None) -> PeopleRelease:
    """Give the users of a generalized graph random numbers and labels.

    Parameters
    ----------
    original
        The graph that was generalized; its labels must not occur.
    rng
        For experiments. `None`: the operating system's source, as labels are seen.
    """
    return relabelled(made.graph, made.users, made.figures.as_dict(), original, rng)


def relabelled(
    made: PeopleGraph,
    users: Vertices,
    figures: Mapping[str, object],
    original: PeopleGraph,
    rng: np.random.Generator | None,
) -> PeopleRelease:
    """Give users random numbers and labels.

    Parameters
    ----------
    made
        The graph to publish, under any labels.
    users
        Number of each of its users in the original, int64, shape (n,).
    figures, original, rng
        As for `PeopleRelease` and `publish`.
    """
    graph, number = opaque(made, rng, original.labels.tolist())
    mapping = np.full(original.n, -1, dtype=np.int64)
    mapping[users] = number
    return PeopleRelease(graph, mapping, figures)
