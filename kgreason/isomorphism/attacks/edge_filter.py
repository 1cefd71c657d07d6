"""Attackers who remove the edges that a trained classifier finds most suspicious, and then look for an x-subgraph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kgreason.base.progress import SILENT
from kgreason.base.records import entries, record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices, inside
from kgreason.isomorphism.attacks.attack_settings import PARTS
from kgreason.isomorphism.attacks.known_parts import draw_parts, index_of, without_edges
from kgreason.isomorphism.verification.images import decide
from kgreason.language.check.checked_program import CheckedProgram

Flags = npt.NDArray[np.bool_]

TARGETS = 150  # attacked subgraphs of all sizes together
LARGEST = 5  # vertices of an attacked subgraph; larger ones are not examined
VISITED = 1 << 24  # sets of the release that a search for images may visit
DEFINED = next(part for part in PARTS if part.name == "part:weights+rules")


@record
class Withstood:
    """Attacked subgraphs that are still protected after edges were removed from the release.

    Attributes
    ----------
    k
        Required number of disjoint occurrences with different degrees.
    subgraphs
        Number of attacked subgraphs; a sample if there are more than `TARGETS`.
    kept
        Number of those with k occurrences in the rest, the true one among them.
    misled
        Number of those whose true occurrence is gone, because original edges were removed.
    undecided
        Number of those whose search was given up.
    removed, synthetic
        Numbers of removed edges, and of synthetic ones among them.
    sizes
        Sizes of the subgraphs.
    reason
        Reason why there are none.
    """

    k: int
    subgraphs: int = 0
    kept: int = 0
    misled: int = 0
    undecided: int = 0
    removed: int = 0
    synthetic: int = 0
    sizes: tuple[int, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        if self.reason:
            return f"not measured: {self.reason}"
        share = self.kept / max(self.subgraphs, 1)
        what = f"attacked subgraphs of {', '.join(map(str, self.sizes))} vertices"
        others = {"are not found at all": self.misled, "are undecided": self.undecided}
        rest = "".join(f"; {count:,} {words}" for words, count in others.items() if count)
        return f"{self.kept:,} of {self.subgraphs:,} {what} keep {self.k} occurrences ({share:.1%}){rest}"

    def as_dict(self) -> dict[str, object]:
        """Return a JSON-serializable dict."""
        return entries(self)


def withstood(
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Vertices,
    rules: CheckedProgram,
    k: int,
    sizes: Sequence[int],
    suspicion: npt.NDArray[np.float64],
    synthetic: Flags,
    rng: np.random.Generator,
    parts: Vertices | None = None,
) -> Withstood:
    """Remove the most suspicious edges, as many as are synthetic, and measure the guarantee on attacked subgraphs.

    Attackers know x-subgraphs of the `sizes` with released weights, and run the rules on them.

    Parameters
    ----------
    suspicion, synthetic
        Score of each released edge, and whether it is synthetic; shape (m,).
    parts
        As in `kgreason.verify`.
    """
    removed = np.zeros(released.m, dtype=np.bool_)
    removed[np.argsort(-suspicion, kind="stable")[: int(synthetic.sum())]] = True
    rest = without_edges(released, removed)
    whole = original if parts is None else inside(original, parts)
    index = index_of(rest, DEFINED, {"rules": rules})
    total = kept = misled = undecided = 0
    examined = [size for size in sizes if size <= LARGEST]
    for size in examined:
        members = mapping[draw_parts(whole, size, TARGETS // len(examined), rng).members]
        rows = members[~_changed(released, removed, members)]
        if len(rows):
            outcome = decide(index, size, rows, k, SILENT, most=VISITED)
            kept, undecided = kept + outcome.satisfied, undecided + outcome.undecided
        total, misled = total + len(members), misled + len(members) - len(rows)
    reason = "" if total else "no component has so many vertices"
    if not examined:
        reason = f"subgraphs of more than {LARGEST} vertices are not examined"
    counts = total, kept, misled, undecided, int(removed.sum()), int((removed & synthetic).sum())
    return Withstood(k, *counts, tuple(examined), reason)


def _changed(released: KnowledgeGraph, removed: Flags, members: Vertices) -> Flags:
    """Whether a removed edge joins two members of each vertex set."""
    source, target = (ends[removed] for ends in released.ends)
    joined = members[:, :, None] * released.n + members[:, None, :]
    found = np.isin(joined, source * released.n + target)
    return np.asarray(found.any(axis=(1, 2)))
