"""Verdicts of checkers: conditions with states and witnesses, and the conditions common to all families."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.release.digests import Fault

CONFIDENCE = 0.95
NORMAL = 1.959963984540054  # 97.5 % quantile of the standard normal distribution
SHOWN = 5  # maximum number of witnesses
State = Literal["holds", "given up", "undecided", "fails"]


@record
class Item:
    """One condition of a verdict, such as those of Definition 4.1.

    Attributes
    ----------
    detail
        Finding, in one sentence.
    witnesses
        Examples of violations, in words.
    given_up
        Whether it is violated only as far as the release declares to give it up.
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
        """State in one or two words."""
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
    """First few witnesses, and the number of further ones: ``... and 2 more``."""
    words = iter(words)
    shown = tuple(islice(words, SHOWN))
    more = sum(1 for _ in words) if total is None else total - len(shown)
    return (*shown, f"... and {more:,} more") if more > 0 else shown


def judged(name: str, words: Iterable[str], fails: str, holds: str, total: int | None = None) -> Item:
    """Condition that holds if and only if there are no witnesses, which are passed to `listing`."""
    shown = listing(words, total)
    return Item(name, not shown, fails if shown else holds, shown)


class Examined:
    """Base class of verdicts: the conditions that were examined.

    `needs_original` names conditions without an item: only the release was examined, and they require the original.
    """

    items: tuple[Item, ...]
    needs_original: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every item holds; for a release alone, this does not cover `needs_original`."""
        return all(item.holds for item in self.items)

    @property
    def as_promised(self) -> bool:
        """Whether every item holds or is given up."""
        return all(item.holds or item.given_up for item in self.items)

    @property
    def nothing_against(self) -> bool:
        """Whether no item contradicts the guarantee; weaker than `holds` for samples."""
        return self.as_promised

    @property
    def fails(self) -> bool:
        """Whether an item is refuted, and not given up."""
        return any(item.state == "fails" for item in self.items)

    @property
    def state(self) -> State:
        """Combined state of all items."""
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
        return next(item for item in self.items if item.name == name)

    def __str__(self) -> str:
        alone = (f"NOT DECIDABLE without the original  {what}" for what in self.needs_original)
        return "\n".join([*map(str, self.items), *alone])


class Labelled(Protocol):
    """A graph of any family."""

    @property
    def labels(self) -> npt.NDArray[np.object_]:
        """Vertex labels."""

    @property
    def n(self) -> int:
        """Number of vertices."""


def no_label_kept(original: Labelled, released: Labelled, what: str = "label") -> Item:
    """Condition that no original label is in the release."""
    kept = sorted(set(map(str, original.labels.tolist())).intersection(map(str, released.labels.tolist())))
    fails = f"{len(kept):,} original {what}s are in the release"
    return judged("labels", kept, fails, f"no original {what} is in the release")


def files(faults: Sequence[Fault]) -> Item:
    """Condition that the files are as written, except for harmless changes."""
    harm = [str(fault) for fault in faults if not fault.harmless]
    some = "file is" if len(harm) == 1 else "files are"
    other = "; ".join(f"{fault.file}: {fault.kind}" for fault in faults)
    holds = f"they say what was written, but for {other}" if other else "they are as written"
    return judged("files", harm, f"{len(harm):,} {some} not as written", holds)


def mapping(
    original: Labelled, released: Labelled, mapping: Vertices, who: str = "vertices", least: int = 0
) -> Item:
    """Condition that each original vertex has its own released vertex; numbers from `least` to -1 denote none."""
    if len(mapping) != original.n:
        return Item("mapping", False, f"{len(mapping):,} entries for {original.n:,} original {who}")
    lost = np.flatnonzero((mapping < least) | (mapping >= released.n))
    if len(lost):
        words = (f"{original.labels[v]} has none" for v in lost[:SHOWN])
        detail = f"{len(lost):,} original {who} have no released ones"
        return Item("mapping", False, detail, listing(words, len(lost)))
    count = np.bincount(mapping[mapping >= 0], minlength=released.n)
    images, shared = np.flatnonzero(count), np.flatnonzero(count > 1)
    words = (
        f"{', '.join(map(str, original.labels[mapping == v]))} all are {released.labels[v]}"
        for v in shared[:SHOWN]
    )
    detail = f"{len(shared):,} released {who} are assigned to several originals"
    own = f"each of {len(images):,} {who} has its own among {released.n:,}"
    return judged("mapping", words, detail, own, len(shared))
