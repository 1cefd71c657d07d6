"""A release of a graph of people, and what is known of where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from kgreason.assess.verdict import Item
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import PeopleGraph


@dataclass(frozen=True, eq=False)
class Source:
    """The original of a release, and who is who.

    Attributes
    ----------
    graph
        The original.
    mapping
        Original user u is released user ``mapping[u]``, `REMOVED` or `UNLISTED`; int64, shape (n,).
    """

    graph: PeopleGraph
    mapping: Vertices


@dataclass(frozen=True)
class Rows:
    """What a written release holds that is lost in a graph, which is a set of triples.

    Attributes
    ----------
    repeated, loops
        Rows that stand again, and links from a user to himself.
    examples
        Some of them, in words.
    """

    repeated: int = 0
    loops: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Published:
    """A release.

    Attributes
    ----------
    graph
        Its users.
    source
        Its original, if that is known.
    rows
        What became of its rows when it was read, if it was.
    name
        What to call it.
    files
        Whether its folder holds nothing else, if it was read from one.
    """

    graph: PeopleGraph
    source: Source | None = None
    rows: Rows | None = None
    name: str = "the release"
    files: Item | None = None
