"""Detection AUC: how well a classifier distinguishes synthetic from original vertices by structural features.

An attacker who can distinguish them can remove the synthetic vertices, and with them the protection. The classifier
gives a lower bound on what an attacker can do with the features below; on the other hand it is trained with the truth
about half of the vertices, which an attacker does not have.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.base.records import entries, record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices, Weights
from kgreason.graph.measures import clustering, coreness, pairs
from kgreason.isomorphism.utility.randomized_trees import roc_auc, scores
from kgreason.release.verdicts import NORMAL

Features = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]

FEWEST = 10  # minimum number of synthetic vertices, for meaningful halves
MOST = 3_000  # maximum number of examined vertices of either kind; the standard error is then below 0.008
FEW = 1_000  # number of synthetic vertices below which several divisions into halves are averaged
DIVISIONS = 5
NONE = -1.0  # value of a mean, minimum or maximum of nothing

# columns of `features`
NAMES = (
    *("in-degree", "out-degree", "coreness", "clustering"),
    *(
        f"{what} degree of {way} neighbours"
        for way in ("out", "in")
        for what in ("mean", "least", "greatest")
    ),
    *(f"{what} {way}going weight" for way in ("out", "in") for what in ("mean", "least", "greatest")),
)


def features(graph: KnowledgeGraph, vertices: Vertices) -> Features:
    """Structural features of ascending unique vertices, float64, shape (vertices, features), columns as in `NAMES`.

    A feature is -1 where there is no neighbour or weight.

    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.5), ("b", "c", 0.25), ("c", "a", 1.0), ("d", "a", 0.75)])
    >>> dict(zip(NAMES, features(graph, np.array([0]))[0].round(2).tolist()))["clustering"]
    0.33
    """
    edges = pairs(graph.n, *graph.ends)
    ins, outs = graph.in_degree(), graph.out_degree()
    whole = ins, outs, coreness(graph.n, edges), clustering(graph.n, edges)
    (source, target), degree = graph.ends, (ins + outs).astype(np.float64)
    weighted = [(r.source, r.target, r.weight) for r in graph.relations.values() if r.weight is not None]
    none = source[:0], target[:0], degree[:0]
    begin, end, weight = (np.concatenate(parts) for parts in zip(none, *weighted, strict=True))
    sides = (source, degree[target]), (target, degree[source]), (begin, weight), (end, weight)
    around = [column for own, values in sides for column in _summary(own, values, vertices, graph.n)]
    return np.column_stack([*(figure[vertices] for figure in whole), *around]).astype(np.float64)


def _summary(own: Vertices, values: Weights, vertices: Vertices, n: int) -> list[Features]:
    """Mean, minimum and maximum of the values of the edges at each vertex; `own` are the ends of edges."""
    index = np.full(n, -1, dtype=np.int64)
    index[vertices] = np.arange(len(vertices))
    at = index[own]
    order = np.lexsort((values, at))[np.count_nonzero(at < 0) :]
    at, values = at[order], values[order]
    many = np.bincount(at, minlength=len(vertices))
    end = np.cumsum(many)
    some = many > 0
    found = [np.full(len(vertices), NONE) for _ in range(3)]
    found[0][some] = np.bincount(at, values, len(vertices))[some] / many[some]
    found[1][some] = values[(end - many)[some]]
    found[2][some] = values[end[some] - 1]
    return found


@record
class Detection:
    """Detection AUC of synthetic vertices.

    Attributes
    ----------
    auc
        Area under the ROC curve: the probability that the classifier ranks a random synthetic vertex above a random
        original one. 0.5: no better than chance; `None`: not measured.
    low, high
        95 % confidence interval of `auc` from the numbers of examined vertices.
    synthetic
        Number of synthetic vertices of the release.
    reason
        Reason why there is no AUC.
    """

    auc: float | None
    low: float | None
    high: float | None
    synthetic: int
    reason: str = ""

    def __str__(self) -> str:
        if self.auc is None:
            return f"not measured: {self.reason}"
        return f"ROC-AUC {self.auc:.3f} ({self.low:.3f} to {self.high:.3f}) of {self.synthetic:,} synthetic vertices"

    def as_dict(self) -> dict[str, object]:
        """Return a JSON-serializable dict."""
        return entries(self)


def detection(released: KnowledgeGraph, mapping: Vertices, rng: np.random.Generator) -> Detection:
    """Train a classifier on one half of the vertices of a release and test it on the other half, in both directions.

    Vertices in the mapping are original, all others synthetic; `rng` chooses the halves and, of many vertices, the
    examined ones.

    References
    ----------
    J. A. Hanley, B. J. McNeil: The meaning and use of the area under a ROC curve (1982), for the interval.

    Examples
    --------
    Twelve original vertices in a ring, each with a synthetic pendant vertex:

    >>> ring = [(f"v{i}", f"v{(i + 1) % 12}") for i in range(12)]
    >>> graph = KnowledgeGraph.from_edges(ring + [(f"v{i}", f"s{i}") for i in range(12)])
    >>> originals = np.array([i for i, label in enumerate(graph.labels) if label[0] == "v"])
    >>> detection(graph, originals, np.random.default_rng(0)).auc
    1.0
    """
    truth = np.ones(released.n, dtype=np.bool_)
    truth[mapping] = False
    kinds = np.flatnonzero(truth), np.flatnonzero(~truth)
    count = len(kinds[0])
    if min(map(len, kinds)) < FEWEST:
        kind = "synthetic" if count < FEWEST else "original"
        return Detection(None, None, None, count, f"there are fewer than {FEWEST} {kind} vertices")
    chosen = np.sort(np.concatenate([rng.choice(k, min(len(k), MOST), replace=False) for k in kinds]))
    values, truth = features(released, chosen), truth[chosen]
    areas = [_area(values, truth, rng) for _ in range(1 if count >= FEW else DIVISIONS)]
    auc = float(np.mean(areas))
    return Detection(auc, *interval(auc, int(truth.sum()), int((~truth).sum())), count)


def _area(values: Features, truth: Truth, rng: np.random.Generator) -> float:
    """Mean area of two classifiers, each trained on one half and tested on the other."""
    half = np.zeros(len(truth), dtype=np.bool_)
    for kind in (np.flatnonzero(truth), np.flatnonzero(~truth)):
        half[rng.permutation(kind)[: len(kind) // 2]] = True
    areas = []
    for train in (half, ~half):
        found = scores(values[train], truth[train], values[~train], rng)
        areas.append(roc_auc(truth[~train], found))
    return float(np.mean(areas))


def interval(auc: float, positive: int, negative: int) -> tuple[float, float]:
    """95 % confidence interval of an area under the curve, by its standard error (Hanley and McNeil)."""
    first, second = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    spread = auc * (1 - auc) + (positive - 1) * (first - auc**2) + (negative - 1) * (second - auc**2)
    error = float(np.sqrt(max(0.0, spread) / (positive * negative)))
    return max(0.0, auc - NORMAL * error), min(1.0, auc + NORMAL * error)
