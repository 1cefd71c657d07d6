"""Costs of the methods: additions, time and memory. All figures not stated as exact are estimates.

The constants are fitted to runs of `anonymize`; docs/risk.md describes the runs and the errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.anonymizers.assembly import is_symmetric
from kgreason.isomorphism.anonymizers.degree_distributions import DegreeDistribution, choose_across
from kgreason.isomorphism.risk.missing_images import Lacking
from kgreason.isomorphism.risk.occurrences import Survey

Ints = npt.NDArray[np.int64]

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
EXTRA = 1.1  # edges that published KGUARD adds per position of each class


@dataclass(frozen=True)
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
    def around(cls, value: float, factor: float, least: float = 0.0) -> Range:
        """Estimate that may be off by a factor in either direction."""
        return cls(value, max(least, value / factor), value * factor)

    @property
    def exact(self) -> bool:
        """Whether the value is exact."""
        return self.low == self.high

    def __str__(self) -> str:
        return f"{self.value:,.0f}" + ("" if self.exact else f" ({self.low:,.0f} to {self.high:,.0f})")

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-serializable dict."""
        return vars(self) | {"exact": self.exact}


@dataclass(frozen=True)
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
        return {name: found.as_dict() for name, found in vars(self).items()}


def of_klone(graph: KnowledgeGraph, k: int, subgraphs: int, rng: np.random.Generator) -> Cost:
    """Cost of k copies; degrees are chosen as in KLONE, so the error in edges is a few per cent.

    Parameters
    ----------
    subgraphs
        Number of x-subgraphs that are verified.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("a", "c")])
    >>> of_klone(graph, 3, 1, np.random.default_rng(0)).vertices.value
    6.0
    """
    lacks = [_raised(d, k, rng) for d in (graph.out_degree(), graph.in_degree())]
    more = (k - 1) * graph.m + (lacks[0] if is_symmetric(graph) else max(lacks))
    n, m = k * graph.n, graph.m + more
    return Cost(
        Range((k - 1.0) * graph.n, (k - 1.0) * graph.n, 1.1 * (k - 1) * graph.n + 1),
        Range.around(more, 1.1),
        Range.around(SECONDS + KLONE_SECONDS * (n + m) + KGUARD_SECONDS[0] * subgraphs, 3),
        Range.around(MEGABYTES + KLONE_BYTES * n / 1e6, 1.5),
    )


def _raised(degrees: Ints, k: int, rng: np.random.Generator) -> float:
    current = np.repeat(degrees[:, None], k, axis=1)
    return float((choose_across(current, DegreeDistribution.fit(degrees), rng) - current).sum())


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


def of_published(k: int, surveyed: Survey) -> Cost:
    """Cost of published KGUARD: images for classes with fewer than k disjoint members, and degree diversity."""
    space, x = surveyed.catalogue.index, surveyed.size
    rows, of = surveyed.drawn.rows, surveyed.drawn.classes
    vertices, edges = 0, 0.0
    for part in np.split(np.arange(len(of)), np.flatnonzero(np.diff(of)) + 1) if len(of) else ():
        lacking = k - _disjoint(rows[part], k)
        types = surveyed.catalogue.full.form(int(of[part[0]])).types % space.ground_types
        vertices += lacking * x
        edges += lacking * int(space.pairs.counts[types].sum())
    apart = edges + EXTRA * x * len(surveyed.counts)
    total = int(surveyed.counts.sum())
    return Cost(
        Range.around(vertices, 3),
        Range(apart, edges, 3 * apart),
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
