"""Input and verdict of the checker of link releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kgreason.base.printable import Displayed
from kgreason.graph.knowledge_graph import Vertices
from kgreason.links.model import LinkGraph
from kgreason.links.settings import Strategy
from kgreason.release.verdicts import Examined, Item


@dataclass(frozen=True, eq=False)
class Source:
    """The original of a release and the mapping.

    Attributes
    ----------
    graph
        The observed links of the original.
    mapping
        Released node of each entity; int64, shape (n,); -1: none.
    """

    graph: LinkGraph
    mapping: Vertices


@dataclass(frozen=True)
class Nodes:
    """Counts of the nodes of a release.

    Attributes
    ----------
    number
        Number of nodes.
    entities
        Number of entities.
    groups
        Number of sets of entities that differ in links only: nodes that are clusters, or nodes with equal values.
    smallest
        Entities of the smallest set, 0 if there are none.
    """

    number: int
    entities: int
    groups: int
    smallest: int

    def as_dict(self) -> dict[str, int]:
        """Plain data for JSON."""
        return {
            "nodes": self.number,
            "entities": self.entities,
            "clusters": self.groups,
            "smallest": self.smallest,
        }


@dataclass(frozen=True)
class LinksVerdict(Examined, Displayed):
    """Verdict on a release of links: whether it matches its strategy and omits the sensitive relation.

    Attributes
    ----------
    strategy
        Strategy of the release.
    k
        Least number of entities that differ in links only; `None` if it was not asked for, or nothing but links is
        released.
    items
        All examined conditions.
    nodes
        Counts of nodes and of entities with equal values.
    needs_original
        Names of the conditions that need the original, if only the release was examined.
    """

    strategy: Strategy
    k: int | None
    items: tuple[Item, ...]
    nodes: Nodes
    needs_original: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<LinksVerdict: {self.asked}: {self.state}>"

    @property
    def asked(self) -> str:
        """What was checked, in words."""
        return f"{self.strategy}{'' if self.k is None else f' with k = {self.k}'}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "format": 1,
            "model": "links",
            "strategy": self.strategy,
            "k": self.k,
            "nodes": self.nodes.as_dict(),
            **super().as_dict(),
        }
