"""What the checker of graphs of people looks at, and what it finds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kgreason.base.printable import Displayed
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.model import PeopleGraph
from kgreason.people.settings import PeopleModel
from kgreason.release.verdicts import Examined, Item


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


@dataclass(frozen=True)
class Figures:
    """How many users share what can be extracted of them.

    Attributes
    ----------
    users
        Users that the definition speaks of: those of the release, or of all releases of the window.
    classes
        Sets of users who share it.
    smallest
        Size of the smallest of them, 0 if there are no users.
    below
        Users in a class smaller than their k; `None` if it is not known whose k is which.
    ratio
        The least size of a user's class, divided by his k, 1.0 if there are no users; `None` as for `below`.
    """

    users: int
    classes: int
    smallest: int
    below: int | None
    ratio: float | None


@dataclass(frozen=True)
class PeopleVerdict(Examined, Displayed):
    """Whether a release of a graph of people, or a series of releases, satisfies a model.

    Attributes
    ----------
    model
        What was checked.
    k
        How many users must share, the user himself included; `None` where each user has his own k.
    window
        How many releases were looked at, the last ones.
    items
        All conditions that were examined: of the definition first, then of what becomes of the original.
    figures
        How many users share.
    needs_original
        Conditions that cannot be decided without the original, where only the release was looked at; no items.
    notes
        What the model does not protect in this release.
    """

    model: PeopleModel
    k: int | None
    window: int
    items: tuple[Item, ...]
    figures: Figures
    needs_original: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<PeopleVerdict: {self.asked}: {self.state}>"

    @property
    def asked(self) -> str:
        """The guarantee in words."""
        over = f" over {self.window} release{'s' * (self.window > 1)}" if self.model == "kw-tad" else ""
        return f"{self.model} with {'each user’s own k' if self.k is None else f'k = {self.k}'}{over}"

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(f"NOTE  {note}" for note in self.notes)])

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "format": 1,
            "model": self.model,
            "k": self.k,
            "window": self.window,
            "notes": list(self.notes),
            "figures": asdict(self.figures),
            **super().as_dict(),
        }
