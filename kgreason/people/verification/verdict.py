"""Input and verdict of the checker of graphs of people."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kgreason.base.printable import Displayed
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.model import PeopleGraph
from kgreason.people.settings import PeopleModel
from kgreason.release.verdicts import Examined, Item


@record(eq=False)
class Source:
    """The original of a release and the mapping.

    Original user u is released user ``mapping[u]``, `REMOVED` or `UNLISTED`; int64, shape (n,).
    """

    graph: PeopleGraph
    mapping: Vertices


@record
class Rows:
    """Defects of the rows of a written release, which the graph, a set of triples, does not show.

    Numbers of repeated rows and of loops, and some of them in words.
    """

    repeated: int = 0
    loops: int = 0
    examples: tuple[str, ...] = ()


@record(eq=False)
class Published:
    """A release to verify.

    Attributes
    ----------
    graph
        The released graph.
    source
        Its original and mapping, if known.
    rows
        Defects of its rows, if it was read from files.
    name
        Name for messages.
    files
        Result of the file check, if it was read from a folder.
    """

    graph: PeopleGraph
    source: Source | None = None
    rows: Rows | None = None
    name: str = "the release"
    files: Item | None = None


@record
class Figures:
    """Sizes of the equivalence classes of users.

    Attributes
    ----------
    users
        Number of users that the definition covers: of the release, or of all releases of the window.
    classes
        Number of equivalence classes.
    smallest
        Size of the smallest class, 0 if there are no users.
    below
        Users in a class smaller than their k; `None` if it is unknown which user has which k.
    ratio
        Least ratio of class size and k over all users, 1.0 if there are no users; `None` as for `below`.
    """

    users: int
    classes: int
    smallest: int
    below: int | None
    ratio: float | None


@dataclass(frozen=True)
class PeopleVerdict(Examined, Displayed):
    """Verdict on a release, or a series of releases, of a graph of people.

    Attributes
    ----------
    model
        The anonymity model.
    k
        Least number of users that are alike; `None` if users have different k.
    window
        Number of releases that were examined, the latest ones.
    items
        All examined conditions: those of the definition first, then those on the original.
    figures
        Sizes of the equivalence classes.
    needs_original
        Names of the conditions that need the original, if only the release was examined.
    notes
        Limits of the model for this release.
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
