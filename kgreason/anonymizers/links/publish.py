"""From anonymized links to what may be shown: nodes in random order under labels that say nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from kgreason.choices import Strategy
from kgreason.graph.labels import fresh_labels, permutation
from kgreason.graph.links.model import LinkGraph, Released
from kgreason.graph.model import Vertices


@dataclass(frozen=True)
class LinksRelease:
    """Links to publish, and the secret that connects them with the original.

    Attributes
    ----------
    released
        Nodes in random order, under labels that are opaque.
    mapping
        Original entity v is in node ``mapping[v]``; int64, shape (n,).
    """

    released: Released
    mapping: Vertices


def publish(
    graph: LinkGraph,
    strategy: Strategy,
    mapping: Vertices,
    labels: Collection[str],
    rng: np.random.Generator | None,
) -> LinksRelease:
    """Give the nodes of an anonymized graph random numbers and labels.

    Parameters
    ----------
    strategy
        How it was made.
    mapping
        Node of each original entity, int64, shape (n,).
    labels
        Names of the original entities, which must not occur.
    rng
        For experiments. `None`: the operating system's source, as labels are seen.

    Examples
    --------
    >>> from kgreason.graph.links.model import Observations
    >>> links = {"knows": Observations(np.array([0]), np.array([1]), np.array([1]))}
    >>> graph = LinkGraph(np.array(["Ann", "Bob"], dtype=object), links)
    >>> made = publish(graph, "intact", np.arange(2), graph.labels, None)
    >>> made.released.graph.observed["knows"].source.tolist() == [made.mapping[0]]
    True
    >>> "Ann" in made.released.graph.labels
    False
    """
    order = permutation(graph.n, rng)
    place = np.empty(graph.n, dtype=np.int64)
    place[order] = np.arange(graph.n)
    shown = replace(graph.renumbered(order), labels=fresh_labels(graph.n, rng, set(labels)))
    return LinksRelease(Released(shown, strategy), place[mapping])
