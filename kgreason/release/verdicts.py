"""Verdicts of checkers: conditions with their states and witnesses, and the conditions that all families share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import Vertices
from kgreason.release.digests import Fault

CONFIDENCE = 0.95


NORMAL = 1.959963984540054  # standard errors on either side of a normal mean that hold so much of it


SHOWN = 5  # witnesses


State = Literal["holds", "given up", "undecided", "fails"]


@dataclass(frozen=True)
class Item:
    """One condition of Definition 4.1.

    Attributes
    ----------
    name
        Which condition.
    holds
        Whether it holds.
    detail
        What was found, in one sentence.
    witnesses
        For a violated condition, some of the places where it fails, in words.
    given_up
        Whether it is violated just as far as the release says that it gives it up.
    undecided
        Whether it could neither be confirmed nor refuted.
    """

    name: str
    holds: bool
    detail: str
    witnesses: tuple[str, ...] = ()
    given_up: bool = False
    undecided: bool = False

    @property
    def state(self) -> State:
        """What was found, in a word or two."""
        if self.holds:
            return "holds"
        return "given up" if self.given_up else "undecided" if self.undecided else "fails"

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            "name": self.name,
            "holds": self.holds,
            "state": self.state,
            "given_up": self.given_up,
            "detail": self.detail,
            "witnesses": list(self.witnesses),
        }

    def __str__(self) -> str:
        state = self.state
        head = f"{state if self.holds else state.upper()}  {self.name}: {self.detail}"
        return "\n".join([head, *("    " + line for w in self.witnesses for line in w.splitlines())])


def listing(words: Iterable[str], total: int | None = None) -> tuple[str, ...]:
    """The first few of many witnesses, and how many there are more.

    Examples
    --------
    >>> listing(f"edge {i}" for i in range(7))
    ('edge 0', 'edge 1', 'edge 2', 'edge 3', 'edge 4', '... and 2 more')
    """
    words = iter(words)
    shown = tuple(islice(words, SHOWN))
    more = sum(1 for _ in words) if total is None else total - len(shown)
    return (*shown, f"... and {more:,} more") if more > 0 else shown


def judged(name: str, words: Iterable[str], fails: str, holds: str, total: int | None = None) -> Item:
    """A condition that fails if there are witnesses, as `listing` takes them, and else holds."""
    shown = listing(words, total)
    return Item(name, not shown, fails if shown else holds, shown)


class Examined:
    """What all verdicts have in common: the conditions that were examined.

    Attributes
    ----------
    items
        The conditions.
    needs_original
        Conditions that cannot be decided without the original, where only the release was looked at; no items.
    """

    items: tuple[Item, ...]
    needs_original: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every item holds; for a release alone, all that it tells but not what `needs_original`."""
        return all(item.holds for item in self.items)

    @property
    def as_promised(self) -> bool:
        """Whether every item holds but those that are given up."""
        return all(item.holds or item.given_up for item in self.items)

    @property
    def nothing_against(self) -> bool:
        """Whether nothing speaks against the promise; a sample in which everything holds is no proof, but this."""
        return self.as_promised

    @property
    def fails(self) -> bool:
        """Whether an item is refuted, and not given up."""
        return any(item.state == "fails" for item in self.items)

    @property
    def state(self) -> State:
        """What was found of all items together."""
        if self.fails:
            return "fails"
        return "holds" if self.holds else "given up" if self.as_promised else "undecided"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "holds": self.holds,
            "state": self.state,
            "needs_original": list(self.needs_original),
            "items": [item.as_dict() for item in self.items],
        }

    def __getitem__(self, name: str) -> Item:
        """Look an item up by name."""
        return next(item for item in self.items if item.name == name)

    def __str__(self) -> str:
        alone = (f"NOT DECIDABLE without the original  {what}" for what in self.needs_original)
        return "\n".join([*map(str, self.items), *alone])


class Labelled(Protocol):
    """A graph of any family."""

    @property
    def labels(self) -> npt.NDArray[np.object_]:
        """Of its vertices."""

    @property
    def n(self) -> int:
        """Number of its vertices."""


def no_label_kept(original: Labelled, released: Labelled, what: str = "label") -> Item:
    """Whether no original label is in the release."""
    kept = sorted(set(map(str, original.labels)) & set(map(str, released.labels)))
    fails, holds = (
        f"{len(kept):,} original {what}s are in the release",
        f"no original {what} is in the release",
    )
    return judged("labels", kept, fails, holds)


def files(faults: Sequence[Fault]) -> Item:
    """Whether the files are those that were written, but for what changes nothing."""
    harm = [str(fault) for fault in faults if not fault.harmless]
    some = "file is" if len(harm) == 1 else "files are"
    other = "; ".join(f"{fault.file}: {fault.kind}" for fault in faults)
    holds = f"they say what was written, but for {other}" if other else "they are as written"
    return judged("files", harm, f"{len(harm):,} {some} not as written", holds)


def mapping(
    original: Labelled, released: Labelled, mapping: Vertices, who: str = "vertices", least: int = 0
) -> Item:
    """Whether each original vertex has a released one of its own; negative numbers from `least` on are of nobody."""
    if len(mapping) != original.n:
        return Item("mapping", False, f"{len(mapping):,} entries for {original.n:,} original {who}")
    lost = np.flatnonzero((mapping < least) | (mapping >= released.n))
    if len(lost):
        words = (f"{original.labels[v]} has none" for v in lost[:SHOWN])
        detail = f"{len(lost):,} original {who} have no released ones"
        return Item("mapping", False, detail, listing(words, len(lost)))
    images, count = np.unique(mapping[mapping >= 0], return_counts=True)
    shared = images[count > 1]
    words = (
        f"{', '.join(map(str, original.labels[mapping == v]))} all are {released.labels[v]}"
        for v in shared[:SHOWN]
    )
    detail = f"{len(shared):,} released {who} stand for several originals"
    own = f"each of {len(images):,} {who} has its own among {released.n:,}"
    return judged("mapping", words, detail, own, len(shared))
