"""Conditions on releases of every family: labels, mapping and files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import Vertices
from kgreason.release.digests import Fault
from kgreason.release.verdicts import SHOWN, Item, judged, listing


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
