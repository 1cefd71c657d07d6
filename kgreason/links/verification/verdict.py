"""What the checker of releases of links looks at, and what it finds."""

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


@dataclass(frozen=True)
class Nodes:
    """The nodes of a release.

    Attributes
    ----------
    number
        How many there are.
    entities
        How many entities they stand for.
    groups
        Sets of entities that nothing but links tells apart: one node of a cluster, or all nodes with the same values.
    smallest
        Entities of the smallest of them, 0 if there are none.
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
    """Whether a release of links is what its strategy says, and keeps the sensitive relation to itself.

    Attributes
    ----------
    strategy
        How the release was made.
    k
        Entities that must be told apart by nothing but links; `None` where nobody has asked for any, or nothing else is
        released.
    items
        All conditions that were examined.
    nodes
        What the release tells of entities besides their links.
    needs_original
        Conditions that cannot be decided without the original, where only the release was looked at; no items.
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
