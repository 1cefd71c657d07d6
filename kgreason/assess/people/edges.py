"""Edges that are only in the original, and only in the release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Links, PeopleGraph

_NONE = Links(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class Changes:
    """Changed edges of one relation.

    Attributes
    ----------
    original
        |E|.
    added
        |E' - E|: edges of the release that are no image of an original one; those of fake users are among them.
    removed
        |E - E'|: original edges without an image; those of removed users are among them.
    """

    original: int
    added: int
    removed: int


def changed_edges(original: PeopleGraph, released: PeopleGraph, mapping: Vertices) -> dict[str, Changes]:
    """Compare the edges of each relation; `mapping` is as for `measure`."""
    width = max(released.n, 1)
    found = {}
    for name, links in original.relations.items():
        theirs = released.relations.get(name, _NONE)
        source, target = mapping[links.source], mapping[links.target]
        there = (source >= 0) & (target >= 0)
        images, edges = (source * width + target)[there], theirs.source * width + theirs.target
        common = len(np.intersect1d(images, edges, assume_unique=True))
        found[name] = Changes(len(links), len(edges) - common, len(links) - common)
    return found
