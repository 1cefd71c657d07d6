"""Number of attacked subgraphs that lack images in the original graph, which determines the additions of KGUARD."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.base.progress import SILENT, Progress
from kgreason.isomorphism.risk.occurrences import Survey
from kgreason.isomorphism.verification.images import decide, decide_each
from kgreason.isomorphism.verification.population import small_components
from kgreason.isomorphism.verification.release_index import ReleaseIndex, scrambled
from kgreason.release.verdicts import NORMAL

Ints = npt.NDArray[np.int64]

MOST, LEAST = (
    1 << 12,
    1 << 3,
)  # sample size: total for components of each size, and minimum per class
FEW = 1 << 12  # estimated number of subgraphs without images up to which all are decided


@dataclass(frozen=True)
class Lacking:
    """Number of attacked subgraphs of one size without k - 1 images in the graph itself.

    Attributes
    ----------
    x, total
        Size; number of attacked subgraphs: the connected sets of x vertices, and smaller components as a whole.
    lacking, low, high
        Number of those without images, with a 95 % confidence interval; the three are equal if all were decided.
    classes, edges
        Number of classes with a subgraph without images, and the sum of their ground edges.
    """

    x: int
    total: int
    lacking: float
    low: float
    high: float
    classes: int
    edges: int

    @property
    def exact(self) -> bool:
        """Whether all subgraphs were decided."""
        return self.low == self.high

    @property
    def share(self) -> float:
        """Share of the attacked subgraphs that lack images; 0 if there are none."""
        return self.lacking / self.total if self.total else 0.0


def lacking(surveyed: Survey, k: int, progress: Progress = SILENT) -> Lacking:
    """Decide for a sample of each class, or for all if few lack images, whether subgraphs have k - 1 images.

    Parameters
    ----------
    surveyed
        Survey of all connected sets of x vertices.
    """
    space, forms = surveyed.catalogue.index, surveyed.catalogue.full
    rows, of = surveyed.drawn.some(max(LEAST, MOST // max(1, len(forms))))
    status = decide_each(space, rows, k, progress)
    found, low, high = _estimated(surveyed.counts, of, status)
    without = np.bincount(of[status != 1], minlength=len(forms))
    if low < high and found <= FEW:
        size, everywhere = surveyed.size, np.arange(space.graph.n, dtype=np.int64)
        where = space.bonds(size).attacked(space.graph, everywhere) if size > 1 else everywhere[:, None]
        every = decide(space, size, where, k, progress, hurried=True)
        forms, without = every.forms, every.lacking
        found = high = float(every.total - every.satisfied)
        low = found - every.undecided
    types = [forms.form(c).types % space.ground_types for c in np.flatnonzero(without).tolist()]
    edges = sum(int(space.pairs.counts[t].sum()) for t in types)
    small, *alone = _components(space, surveyed.size, k, progress)
    found, low, high = (a + b for a, b in zip((found, low, high), alone, strict=True))
    return Lacking(surveyed.size, int(surveyed.counts.sum()) + small, found, low, high, len(types), edges)


def _estimated(counts: Ints, of: Ints, status: Ints) -> tuple[float, float, float]:
    """Estimate of subgraphs without images and its interval; given-up searches count except at the lower bound."""
    looked, sure, without = (
        np.bincount(of[chosen], minlength=len(counts)) for chosen in (status < 2, status == 0, status != 1)
    )
    found, _, high = stratified(counts, looked, without)
    return found, stratified(counts, looked, sure)[1], high


def stratified(counts: Ints, looked: Ints, without: Ints) -> tuple[float, float, float]:
    """Estimate the number of subgraphs without images from a stratified sample, with a 95 % confidence interval.

    Parameters
    ----------
    counts, looked, without
        Per class: all members, sampled members, and sampled members without images.

    Examples
    --------
    Classes that were sampled completely have no error:

    >>> stratified(np.array([4, 2]), np.array([4, 2]), np.array([1, 2]))
    (3.0, 3.0, 3.0)
    """
    seen = np.maximum(looked, 1)
    found = float((counts * without / seen).sum())
    likely = (without + 1) / (looked + 2)  # a sample without lacking members does not exclude them
    left = 1 - looked / np.maximum(counts, 1)
    variance = counts.astype(np.float64) ** 2 * left * likely * (1 - likely) / seen
    margin = NORMAL * math.sqrt(float(variance.sum()))
    if not margin:
        return found, found, found
    most = float((counts - looked + without).sum())
    return found, max(float(without.sum()), found - margin), min(most, found + margin)


def _components(
    space: ReleaseIndex, size: int, k: int, progress: Progress
) -> tuple[int, float, float, float]:
    """Number of smaller components, of those without images, and its interval."""
    total, found, low, high = 0, 0.0, 0.0, 0.0
    for _, rows in small_components(space.graph, size)[0]:
        some = rows[scrambled(len(rows))[:MOST]]
        status = decide_each(space, some, k, progress)
        one = _estimated(np.array([len(rows)]), np.zeros_like(status), status)
        total += len(rows)
        found, low, high = found + one[0], low + one[1], high + one[2]
    return total, found, low, high
