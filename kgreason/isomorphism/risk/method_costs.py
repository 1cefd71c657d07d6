"""Costs of the methods: additions, time and memory. All figures not stated as exact are estimates.

The constants are fitted to runs of `anonymize`; docs/risk.md describes the runs and the errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kgreason.base.jit import Ints
from kgreason.base.progress import SILENT, Progress
from kgreason.base.records import entries, record
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.anonymizers.assembly import is_symmetric
from kgreason.isomorphism.anonymizers.copy_ties import chosen_degrees, lifts
from kgreason.isomorphism.anonymizers.degree_raises import DegreeRaises, pair_counts
from kgreason.isomorphism.risk.occurrences import Survey
from kgreason.isomorphism.verification.images import decide, decide_each
from kgreason.isomorphism.verification.population import small_components
from kgreason.isomorphism.verification.release_index import scrambled
from kgreason.release.verdicts import NORMAL

MEGABYTES = 300.0  # of a process with all modules loaded
SECONDS = 2.5  # of a run on a small graph
KGUARD_SECONDS = (2e-7, 1e-4)  # per x-subgraph and per vertex, on two cores
MENDING, PATIENCE = 0.05, 8.0  # seconds to add an edge, and at most to add all
KGUARD_BYTES = 1.3e3  # per vertex
KLONE_SECONDS, KLONE_BYTES = 1e-5, 9e2  # per vertex or edge of the release, per vertex of the release
PUBLISHED_SECONDS, PUBLISHED_BYTES = 2.5e-6, 1e2  # per x-subgraph
PER_EDGE, FEW_PER_EDGE, POWER = 4.0, 1.2, 0.65  # added edges by ground edges of lacking classes
FEW, MANY = 0.01, 0.1  # shares of lacking subgraphs between which the number of edges per image grows
PER_VERTEX = 0.04  # added vertices per added edge
PAIRED, APART = (
    1.5,
    3.0,
)  # edges per planned one for frequent degrees: usual, and if few raised vertices are far apart
LEAST_RAISED = 10.0  # edges beside the planned ones, as made images change degrees, too
EXTRA = 1.1  # edges that published KGUARD adds per position of each class
SAMPLE = 1 << 12  # components of each size that are decided, and members of all classes together
SAMPLE_OF_CLASS = 1 << 3  # members of a class that are decided at least
DECIDED = 1 << 12  # estimated number of subgraphs without images up to which all are decided


@record
class Range:
    """Estimate with bounds; the three are equal for exact values.

    Examples
    --------
    >>> str(Range(250, 100, 625)), str(Range(582, 582, 582))
    ('250 (100 to 625)', '582')
    """

    value: float
    low: float
    high: float

    @classmethod
    def around(cls, value: float, factor: float) -> Range:
        """Estimate that may be off by a factor in either direction."""
        return cls(value, value / factor, value * factor)

    @property
    def exact(self) -> bool:
        """Whether the value is exact."""
        return self.low == self.high

    def __str__(self) -> str:
        return f"{self.value:,.0f}" + ("" if self.exact else f" ({self.low:,.0f} to {self.high:,.0f})")

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-serializable dict."""
        return entries(self) | {"exact": self.exact}


@record
class Cost:
    """Additions of a method, and its resources on a machine with two cores.

    Attributes
    ----------
    vertices, edges
        Numbers of additions.
    seconds, megabytes
        Resources of the whole command, verification included.
    """

    vertices: Range
    edges: Range
    seconds: Range
    megabytes: Range

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-serializable dict."""
        return {name: found.as_dict() for name, found in entries(self).items()}


def of_klone(graph: KnowledgeGraph, k: int, subgraphs: int, rng: np.random.Generator) -> Cost:
    """Cost of k copies, with `subgraphs` to verify.

    Ties are drawn as in KLONE, so the error in edges is a few per cent, unless sums are bounded.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("a", "c")])
    >>> of_klone(graph, 3, 1, np.random.default_rng(0)).vertices.value
    6.0
    """
    # bounded sums may leave no room for the weights of lifts
    least, more = (
        float(_of_copies(graph, k, rng, lifted=lifted)[0].sum() - graph.m) for lifted in (False, True)
    )
    n, m = k * graph.n, graph.m + more
    return Cost(
        Range((k - 1.0) * graph.n, (k - 1.0) * graph.n, 1.1 * (k - 1) * graph.n + 1),
        Range(more, least / 1.1, 1.1 * more),
        Range.around(SECONDS + KLONE_SECONDS * (n + m) + KGUARD_SECONDS[0] * subgraphs, 3),
        Range.around(MEGABYTES + KLONE_BYTES * n / 1e6, 1.5),
    )


def _of_copies(
    graph: KnowledgeGraph, k: int, rng: np.random.Generator, *, lifted: bool = True
) -> tuple[Ints, Ints]:
    """Out- and in-degrees of the k copies of each vertex, as KLONE chooses them, shape (n, k)."""
    symmetric, nothing = is_symmetric(graph), np.empty(0, dtype=np.int64)
    ties = nothing, nothing
    if lifted:
        ties = lifts(graph, k, ties, {}, rng, symmetric=symmetric)
    return chosen_degrees(graph, k, ties, rng, symmetric=symmetric)


@record
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


def of_kguard(graph: KnowledgeGraph, k: int, found: Lacking) -> Cost:
    """Cost of images for all subgraphs that lack them, and of edges that join components.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("a", "c")])
    >>> of_kguard(graph, 3, Lacking(2, 3, 0, 0, 0, 0, 0)).edges
    Range(value=0.0, low=0.0, high=0.0)
    """
    rare = float(np.interp(found.share, [FEW, MANY], [FEW_PER_EDGE, PER_EDGE]))
    edges = (k - 1) * rare * found.edges**POWER
    joined = (graph.components()[0] - 1) * (1 + is_symmetric(graph))
    seconds = SECONDS + KGUARD_SECONDS[0] * found.total + KGUARD_SECONDS[1] * graph.n
    return Cost(
        Range(PER_VERTEX * edges, 0, edges / 4 + (k - 1) * found.x * bool(found.classes)),
        Range(joined + edges, joined + edges / 3, joined + 3 * edges),
        Range.around(seconds + min(PATIENCE, MENDING * edges), 2.5),
        Range.around(MEGABYTES + KGUARD_BYTES * graph.n / 1e6, 1.5),
    )


def with_degrees(
    cost: Cost, graph: KnowledgeGraph, k: int, rng: np.random.Generator, copies: int = 1
) -> Cost:
    """Cost of a method whose release is also to have k vertices with each in- and out-degree.

    The raises are those that the anonymizer plans, for the degrees of the graph or of its `copies` by KLONE.

    Examples
    --------
    Of a star with four leaves, two other centres are made, with four edges each:

    >>> star = KnowledgeGraph.from_edges([("a", leaf) for leaf in "bcde"])
    >>> nothing = Cost(*(Range(0, 0, 0) for _ in range(4)))
    >>> with_degrees(nothing, star, 3, np.random.default_rng(0)).edges.value
    12.0
    """
    degrees = [graph.in_degree(), graph.out_degree()]
    if copies > 1:
        degrees = [degree.ravel() for degree in reversed(_of_copies(graph, copies, rng))]
    raises = DegreeRaises(degrees[0], degrees[1], k, symmetric=is_symmetric(graph))
    raises.run(rng)
    pairs, _, counts = pair_counts(raises.inner, raises.outer)
    lack = np.maximum(k - counts, 0)
    more = [int((new - old).sum()) for new, old in zip((raises.inner, raises.outer), degrees, strict=True)]
    edges = float((np.array(more) + lack @ pairs).max())
    new, low = float(lack.sum()), cost.vertices.low
    return Cost(
        Range(cost.vertices.value + new, low, cost.vertices.high + 2 * new + edges / 10 + k),
        Range(
            cost.edges.value + PAIRED * edges,
            cost.edges.low,
            cost.edges.high + APART * edges + LEAST_RAISED * k,
        ),
        cost.seconds,
        cost.megabytes,
    )


def with_copies(cost: Cost, graph: KnowledgeGraph, k: int) -> Cost:
    """Cost of k copies of a release, which give each vertex k - 1 others with the same neighbours' degrees.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("a", "c")])
    >>> with_copies(of_klone(graph, 3, 1, np.random.default_rng(0)), graph, 3).vertices.value
    27.0
    """

    def times(found: Range, size: int, ring: int) -> Range:
        return Range(*(k * (size + each) - size + ring for each in (found.value, found.low, found.high)))

    vertices = times(cost.vertices, graph.n, k)
    edges = times(cost.edges, graph.m, 2 * k * (1 + is_symmetric(graph)))
    more = KLONE_SECONDS * (vertices.value + edges.value)
    return Cost(
        vertices,
        edges,
        Range.around(cost.seconds.value + more, 3),
        Range.around(cost.megabytes.value + KLONE_BYTES * vertices.value / 1e6, 1.5),
    )


def of_published(k: int, surveyed: Survey) -> Cost:
    """Cost of published KGUARD: images for classes with fewer than k disjoint members, and degree diversity."""
    index, x = surveyed.catalogue.index, surveyed.size
    rows, of = surveyed.drawn.rows, surveyed.drawn.classes
    vertices, edges = 0, 0.0
    for part in np.split(np.arange(len(of)), np.flatnonzero(np.diff(of)) + 1) if len(of) else ():
        lacking = k - _disjoint(rows[part], k)
        types = surveyed.catalogue.full.form(int(of[part[0]])).types % index.ground_types
        vertices += lacking * x
        edges += lacking * int(index.pairs.counts[types].sum())
    diverse = edges + EXTRA * x * len(surveyed.counts)
    total = int(surveyed.counts.sum())
    return Cost(
        Range.around(vertices, 3),
        Range(diverse, edges, 3 * diverse),
        Range.around(SECONDS + PUBLISHED_SECONDS * total, 4),
        Range.around(MEGABYTES + PUBLISHED_BYTES * total / 1e6, 2),
    )


def _disjoint(rows: Ints, most: int) -> int:
    """Number of rows without a common vertex, chosen greedily in their order, up to a bound."""
    taken: set[int] = set()
    count = 0
    for row in rows.tolist():
        if count < most and taken.isdisjoint(row):
            taken.update(row)
            count += 1
    return count


def lacking(surveys: Mapping[int, Survey], x: int, k: int, progress: Progress = SILENT) -> Lacking:
    """Decide for a sample of each class, or for all if few lack images, whether subgraphs have k - 1 images.

    `surveys` are those of size x and of the sizes of smaller components.
    """
    surveyed = surveys[x]
    index, forms = surveyed.catalogue.index, surveyed.catalogue.full
    rows, of = surveyed.drawn.some(max(SAMPLE_OF_CLASS, SAMPLE // max(1, len(forms))))
    status = _status(surveyed, rows, of, k, progress)
    found, low, high = _estimated(surveyed.counts, of, status)
    without = np.bincount(of[status != 1], minlength=len(forms))
    if low < high and found <= DECIDED:
        everywhere = np.arange(index.graph.n, dtype=np.int64)
        where = index.bonds(x).attacked(index.graph, everywhere) if x > 1 else everywhere[:, None]
        every = decide(index, x, where, k, progress, hurried=True)
        forms, without = every.forms, every.lacking
        found = high = float(every.total - every.satisfied)
        low = found - every.undecided
    types = [forms.form(c).types % index.ground_types for c in np.flatnonzero(without).tolist()]
    edges = sum(int(index.pairs.counts[t].sum()) for t in types)
    small, *alone = _components(surveys, x, k, progress)
    found, low, high = (a + b for a, b in zip((found, low, high), alone, strict=True))
    return Lacking(x, int(surveyed.counts.sum()) + small, found, low, high, len(types), edges)


def _status(surveyed: Survey, rows: Ints, classes: Ints, k: int, progress: Progress) -> Ints:
    """Status of sets as in `decide_each`; only those of classes with enough degrees are searched for images."""
    status, searched = np.zeros(len(rows), dtype=np.int64), surveyed.diverse(k)[classes]
    if searched.any():
        status[searched] = decide_each(surveyed.catalogue.index, rows[searched], k, progress)
    return status


def _estimated(counts: Ints, of: Ints, status: Ints) -> tuple[float, float, float]:
    """Estimate of subgraphs without images and its interval; given-up searches count except at the lower bound."""
    sampled, sure, without = (
        np.bincount(of[chosen], minlength=len(counts)) for chosen in (status < 2, status == 0, status != 1)
    )
    found, _, high = stratified(counts, sampled, without)
    return found, stratified(counts, sampled, sure)[1], high


def stratified(counts: Ints, sampled: Ints, without: Ints) -> tuple[float, float, float]:
    """Estimate the number of subgraphs without images from a stratified sample, with a 95 % confidence interval.

    Arrays hold, per class, the numbers of all members, sampled members, and sampled members without images.

    Examples
    --------
    Classes that were sampled completely have no error:

    >>> stratified(np.array([4, 2]), np.array([4, 2]), np.array([1, 2]))
    (3.0, 3.0, 3.0)
    """
    divisor = np.maximum(sampled, 1)
    found = float((counts * without / divisor).sum())
    likely = (without + 1) / (sampled + 2)  # a sample without lacking members does not exclude them
    left = 1 - sampled / np.maximum(counts, 1)
    variance = counts.astype(np.float64) ** 2 * left * likely * (1 - likely) / divisor
    margin = NORMAL * math.sqrt(float(variance.sum()))
    if not margin:
        return found, found, found
    most = float((counts - sampled + without).sum())
    return found, max(float(without.sum()), found - margin), min(most, found + margin)


def _components(
    surveys: Mapping[int, Survey], x: int, k: int, progress: Progress
) -> tuple[int, float, float, float]:
    """Number of smaller components, of those without images, and its interval."""
    total, found, low, high = 0, 0.0, 0.0, 0.0
    for size, rows in small_components(surveys[x].catalogue.index.graph, x)[0]:
        classes, some = surveys[size].catalogue.classify(rows[scrambled(len(rows))[:SAMPLE]])
        status = _status(surveys[size], some, classes, k, progress)
        one = _estimated(np.array([len(rows)]), np.zeros_like(status), status)
        total += len(rows)
        found, low, high = found + one[0], low + one[1], high + one[2]
    return total, found, low, high
