"""Detection of synthetic edges: how well a classifier distinguishes them from original edges by structure and weight.

An attacker who can distinguish them removes them, and with them occurrences of attacked subgraphs. The classifier is
trained on the edges within one half of the vertices, whose truth an attacker may know, and tested within the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from kgreason.base.records import entries, record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.graph.sorted_keys import distinct, places
from kgreason.graph.subgraphs.ordered_adjacency import undirected
from kgreason.isomorphism.utility.detection_auc import (
    FEWEST,
    NONE,
    Features,
    Truth,
    interval,
)
from kgreason.isomorphism.utility.randomized_trees import roc_auc, scores

MOST = 20_000  # number of edges of a release above which a sample of either kind is examined
_SAMPLE = 3_000
_DIVISIONS = 3  # into halves of the vertices
_LEAST = 3  # minimum number of edges of either kind within a half
_HUBS = (
    1 << 20
)  # product of degrees above which the ends of an edge are assumed to have neighbours that are adjacent
_CHUNK = 1 << 22

# columns of `edge_features`, by what they describe
GROUPS: Mapping[str, tuple[str, ...]] = {
    "degrees": (
        "out-degree of the source",
        "in-degree of the source",
        "out-degree of the target",
        "in-degree of the target",
    ),
    "surroundings": ("common neighbours", "distance without the edge", "edge in the other direction"),
    "weight": ("weight", "decimals of the weight", "share of the incoming weight of the target"),
}
NAMES = tuple(name for names in GROUPS.values() for name in names)


def synthetic_edges(
    original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, copies: Vertices | None = None
) -> Truth:
    """Whether each released edge joins vertices that no original edge of its relation joins; shape (m,).

    With `copies` of a release by KLONE: whether it runs between copies. Nobody can tell a copied edge from an original
    one, so copied edges do not count as synthetic.
    """
    if copies is not None:
        return edges_between_copies(released, mapping, copies)
    found = [np.empty(0, dtype=np.bool_)]
    for name, r in released.relations.items():
        own = original.relations[name]
        keys = mapping[own.source] * released.n + mapping[own.target]
        found.append(~np.isin(r.source * released.n + r.target, keys))
    return np.concatenate(found)


def edges_between_copies(released: KnowledgeGraph, mapping: Vertices, copies: Vertices) -> Truth:
    """Whether each edge runs between different copies, shape (k - 1, n), or has a new vertex; shape (m,)."""
    copy = np.full(released.n, -1, dtype=np.int64)
    copy[np.vstack([mapping, copies])] = np.arange(len(copies) + 1)[:, None]
    one, other = (copy[ends] for ends in released.ends)
    return np.asarray((one != other) | (one < 0))


def edge_features(graph: KnowledgeGraph, edges: Vertices) -> Features:
    """Structural features of some edges, by their rows in `graph.ends`; float64, shape (edges, features), see `NAMES`.

    A feature of weights is -1 where a relation has none. The distance is 4 if it is larger.

    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.5), ("b", "c", 0.25), ("c", "a", 1.0), ("b", "a", 0.75)])
    >>> found = dict(zip(NAMES, edge_features(graph, np.array([0]))[0].tolist()))
    >>> found["common neighbours"], found["edge in the other direction"], found["decimals of the weight"]
    (1.0, 1.0, 1.0)
    """
    source, target = (ends[edges] for ends in graph.ends)
    ins, outs = graph.in_degree(), graph.out_degree()
    whole = distinct(graph.ends[0] * graph.n + graph.ends[1])
    common, distance = _detours(graph, source, target)
    weights = [
        np.full((len(r), 2), NONE)
        if r.weight is None
        else np.column_stack(
            [r.weight, r.weight / np.bincount(r.target, r.weight, graph.n).clip(1e-300)[r.target]]
        )
        for r in graph.relations.values()
    ]
    weight, share = np.concatenate([np.empty((0, 2)), *weights])[edges].T
    columns = (
        *(outs[source], ins[source], outs[target], ins[target]),
        *(common, distance, np.isin(target * graph.n + source, whole)),
        *(weight, [_decimals(w) for w in weight.tolist()], share),
    )
    return np.column_stack(columns).astype(np.float64)


def _decimals(weight: float) -> int:
    return len(repr(weight).partition(".")[2])


def _detours(graph: KnowledgeGraph, source: Vertices, target: Vertices) -> tuple[Vertices, Vertices]:
    """Number of common neighbours of the ends of each edge, and their distance without the edge, at most 4."""
    indptr, near = undirected(graph)
    degree = np.diff(indptr)
    adjacent = np.repeat(np.arange(graph.n), degree) * graph.n + near
    low = degree[source] <= degree[target]
    u, v = np.where(low, source, target), np.where(low, target, source)
    row, w = _expanded(np.arange(len(u)), u, indptr, near)
    beside = (w != v[row]) & (w != u[row])
    row, w = row[beside], w[beside]
    common = np.bincount(row[places(adjacent, w * graph.n + v[row])[1]], minlength=len(u))
    distance = np.where(common > 0, 2, 4)
    far = common[row] == 0
    row, w = row[far], w[far]
    hubs = degree[u] * degree[v] > _HUBS
    distance[hubs & (distance == 4)] = 3
    row, w = row[~hubs[row]], w[~hubs[row]]
    ends = np.cumsum(degree[v[row]])
    for begin, end in _chunks(ends):
        pair, z = _expanded(np.arange(begin, end), v[row[begin:end]], indptr, near)
        linked = (z != u[row[pair]]) & (z != v[row[pair]]) & places(adjacent, w[pair] * graph.n + z)[1]
        distance[row[pair[linked]]] = 3
    return common, distance


def _chunks(ends: Vertices) -> list[tuple[int, int]]:
    """Ranges of rows, of which each range has about `_CHUNK` entries; `ends` are the cumulative numbers of entries."""
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, np.arange(_CHUNK, total + _CHUNK, _CHUNK), side="left") + 1
    bounds = distinct(np.concatenate([[0], np.minimum(cuts, len(ends)), [len(ends)]])).tolist()
    return list(pairwise(bounds))


def _expanded(
    numbers: Vertices, vertices: Vertices, indptr: Vertices, near: Vertices
) -> tuple[Vertices, Vertices]:
    """Neighbours of some vertices, each with the number of its vertex."""
    count = indptr[vertices + 1] - indptr[vertices]
    skip = np.repeat(indptr[vertices] - (np.cumsum(count) - count), count)
    return np.repeat(numbers, count), near[np.arange(int(count.sum())) + skip]


@record
class EdgeDetection:
    """Detection of the synthetic edges of a release.

    Attributes
    ----------
    auc
        Area under the ROC curve: the probability that the classifier ranks a random synthetic edge above a random
        original one. 0.5: no better than chance; `None`: not measured.
    low, high
        95 % confidence interval of `auc` from the numbers of edges that are tested in a division into halves.
    precision
        Share of synthetic edges among the highest-ranked ones, as many as there are synthetic edges. Each edge is
        ranked by classifiers that were not trained on it.
    base
        The same share for a random ranking.
    synthetic
        Number of synthetic edges of the release.
    reason
        Reason why there is no AUC.
    between
        Whether these are the edges between copies alone, of a release by KLONE, and not the copied edges.
    """

    auc: float | None
    low: float | None
    high: float | None
    precision: float | None
    base: float
    synthetic: int
    reason: str = ""
    between: bool = False

    def __str__(self) -> str:
        if self.auc is None:
            return f"not measured: {self.reason}"
        return f"ROC-AUC {self.auc:.3f} ({self.low:.3f} to {self.high:.3f}) of {self.synthetic:,} {self.kind}"

    @property
    def kind(self) -> str:
        """Words for the detected edges."""
        return "edges between copies" if self.between else "synthetic edges"

    def as_dict(self) -> dict[str, object]:
        """Return a JSON-serializable dict."""
        return entries(self)


Suspicion = npt.NDArray[np.float64]  # score of each released edge, shape (m,)


def edge_detection(
    released: KnowledgeGraph,
    truth: Truth,
    rng: np.random.Generator,
    columns: Sequence[str] = NAMES,
) -> tuple[EdgeDetection, Suspicion | None]:
    """Train a classifier on the edges within one half of the vertices, and test it within the other, both ways.

    `truth` marks the synthetic edges, shape (m,). The classifier sees the features in `columns`; `rng` chooses the
    halves and, of many edges, the examined ones. The second result ranks all edges by classifiers that were not trained
    on them; `None`: not all edges were examined.

    References
    ----------
    J. A. Hanley, B. J. McNeil: The meaning and use of the area under a ROC curve (1982), for the interval.

    Examples
    --------
    Forty rings of four vertices, each with a synthetic edge to the next one:

    >>> rings = [(f"{i}.{j}", f"{i}.{(j + 1) % 4}") for i in range(40) for j in range(4)]
    >>> original = KnowledgeGraph.from_edges(rings)
    >>> released = KnowledgeGraph.from_edges(rings + [(f"{i}.0", f"{(i + 1) % 40}.1") for i in range(40)])
    >>> mapping = np.array([released.labels.tolist().index(label) for label in original.labels])
    >>> truth = synthetic_edges(original, released, mapping)
    >>> found, _ = edge_detection(released, truth, np.random.default_rng(0))
    >>> found.synthetic, found.auc > 0.9
    (40, True)
    """
    count, m = int(truth.sum()), len(truth)
    base = count / max(m, 1)
    few = "synthetic" if count < FEWEST else "original" if m - count < FEWEST else ""
    if few:
        reason = f"there are fewer than {FEWEST} {few} edges"
        return EdgeDetection(None, None, None, None, base, count, reason), None
    examined, weight = np.arange(m), np.ones(m)
    if m > MOST:
        kinds = np.flatnonzero(truth), np.flatnonzero(~truth)
        chosen = [rng.choice(kind, min(len(kind), _SAMPLE), replace=False) for kind in kinds]
        for kind, some in zip(kinds, chosen, strict=True):
            weight[some] = len(kind) / len(some)
        examined = np.sort(np.concatenate(chosen))
        weight = weight[examined]
    ends = np.stack(released.ends)[:, examined]
    seen = [NAMES.index(name) for name in columns]
    values, truth = edge_features(released, examined)[:, seen], truth[examined]
    total, tested, areas = np.zeros(len(truth)), np.zeros(len(truth)), []
    counts = np.zeros(2)  # of synthetic and original edges that are tested in a division
    for _ in range(_DIVISIONS):
        half = np.zeros(released.n, dtype=np.bool_)
        half[rng.permutation(released.n)[: released.n // 2]] = True
        inside = half[ends[0]] & half[ends[1]], ~half[ends[0]] & ~half[ends[1]]
        if any(min(truth[part].sum(), (~truth[part]).sum()) < _LEAST for part in inside):
            continue
        for train, test in (inside, inside[::-1]):
            others = np.flatnonzero(~train)
            found = scores(values[train], truth[train], values[others], rng)
            total[others] += found
            tested[others] += 1
            areas.append(roc_auc(truth[test], found[test[others]]))
            counts += truth[test].sum(), (~truth[test]).sum()
    if not areas:
        reason = f"halves of the vertices have fewer than {_LEAST} synthetic or original edges"
        return EdgeDetection(None, None, None, None, base, count, reason), None
    auc, suspicion = float(np.mean(areas)), total / np.maximum(tested, 1)
    synthetic, others = np.rint(2 * counts / len(areas)).astype(int).tolist()
    bounds = interval(auc, synthetic, others)
    measured = EdgeDetection(auc, *bounds, _precision(truth, suspicion, weight), base, count)
    return measured, suspicion if len(examined) == m else None


def _precision(truth: Truth, found: Suspicion, weight: npt.NDArray[np.float64]) -> float:
    """Share of true points among those with the highest scores, whose total weight is that of the true points.

    Of points with equal scores, each counts by an equal share.
    """
    _, group = np.unique(-found, return_inverse=True)
    both, true = np.bincount(group, weight), np.bincount(group, weight * truth)
    before = np.cumsum(both) - both
    share = np.clip((true.sum() - before) / both, 0.0, 1.0)
    return float((share * true).sum() / true.sum())
