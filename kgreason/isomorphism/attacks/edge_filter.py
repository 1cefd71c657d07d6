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
    removed, synthetic
        Numbers of removed edges, and of synthetic ones among them.
    """

    k: int
    subgraphs: int
    kept: int
    misled: int
    removed: int
    synthetic: int

    def __str__(self) -> str:
        share = self.kept / max(self.subgraphs, 1)
        gone = f"; {self.misled:,} are not found at all" if self.misled else ""
        return f"{self.kept:,} of {self.subgraphs:,} attacked subgraphs keep {self.k} occurrences ({share:.1%}){gone}"

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
    total = kept = misled = 0
    examined = [size for size in sizes if size <= LARGEST]
    for size in examined:
        members = mapping[draw_parts(whole, size, TARGETS // len(examined), rng).members]
        rows = members[~_changed(released, removed, members)]
        if len(rows):
            kept += decide(index, size, rows, k, SILENT, most=VISITED).satisfied
        total, misled = total + len(members), misled + len(members) - len(rows)
    return Withstood(k, total, kept, misled, int(removed.sum()), int((removed & synthetic).sum()))


def _changed(released: KnowledgeGraph, removed: Flags, members: Vertices) -> Flags:
    """Whether a removed edge joins two members of each vertex set."""
    source, target = (ends[removed] for ends in released.ends)
    joined = members[:, :, None] * released.n + members[:, None, :]
    found = np.isin(joined, source * released.n + target)
    return np.asarray(found.any(axis=(1, 2)))
