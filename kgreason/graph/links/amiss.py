"""What looks amiss in a graph of links: what gives sensitive links away however links are anonymized."""

from __future__ import annotations

import numpy as np

from kgreason.graph.links.model import LinkGraph, Observations, Original
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Texts
from kgreason.progress import Progress

_ALIKE = 0.9  # share of the pairs of either relation that are pairs of both, where one tells the other
_FEWEST = 10  # links that tell whether a relation is mutual
_SHOWN = 3


def tell_amiss(original: Original, progress: Progress) -> None:
    """Note observed relations that are nearly the sensitive one."""
    graph, secret = original.graph, original.sensitive
    hidden = _pairs(graph.n, secret.source, secret.target)
    for name, found in graph.observed.items():
        share = _jaccard(_pairs(graph.n, found.source, found.target), hidden)
        if share >= _ALIKE:
            progress.note(
                f"{name} links nearly the same entities as {secret.name} ({100 * share:.0f} % of the pairs of either): "
                f"it tells {secret.name}. Leave it out, or release no links"
            )


def tell_unknown(labels: Texts, links: int, name: str, progress: Progress) -> None:
    """Note entities that only sensitive links name, and how many of these are left out with them."""
    if not len(labels):
        return
    shown = ", ".join(repr(label) for label in labels[:_SHOWN].tolist())
    more = f" and {len(labels) - _SHOWN:,} more" if len(labels) > _SHOWN else ""
    progress.note(
        f"of {shown}{more} nothing is known but {name}: {len(labels):,} entities and {links:,} links of {name} are "
        "left out, for nodes without links and values would tell of them. A table that lists entities keeps them"
    )


def _pairs(n: int, source: Vertices, target: Vertices) -> Vertices:
    """A number for each pair that is linked in any direction, ascending."""
    return np.unique(np.minimum(source, target) * n + np.maximum(source, target))


def _jaccard(one: Vertices, other: Vertices) -> float:
    both = len(np.intersect1d(one, other, assume_unique=True))
    return both / max(len(one) + len(other) - both, 1)


def tell_both_ways(graph: LinkGraph, progress: Progress) -> None:
    """Note relations that may be mutual though nobody said so: all their links run both ways."""
    for name, found in graph.observed.items():
        if _both_ways(found, graph.n):
            progress.note(
                f"each link of {name} has its reverse: if {name} is mutual, say so, or each link counts as two"
            )


def _both_ways(found: Observations, n: int) -> bool:
    """Whether a directed relation has each of its links in both directions."""
    back = np.sort(found.target * n + found.source)
    return (
        not found.mutual and len(found) >= _FEWEST and bool((back == found.source * n + found.target).all())
    )
