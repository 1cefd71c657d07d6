"""What is known of where a release of links comes from."""

from __future__ import annotations

from dataclasses import dataclass

from kgreason.graph.links.model import LinkGraph
from kgreason.graph.model import Vertices


@dataclass(frozen=True, eq=False)
class Source:
    """The original of a release, and who is who.

    Attributes
    ----------
    graph
        The observed links of the original.
    mapping
        Entity u is in the released node ``mapping[u]``; int64, shape (n,), -1: in none.
    """

    graph: LinkGraph
    mapping: Vertices
