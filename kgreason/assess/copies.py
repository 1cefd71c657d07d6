"""Whether a release holds copies of the original: then every attacked subgraph has its images, of any size.

Let k places be named for each vertex of the graph that is attacked, itself the first, and all places be different.
Suppose that for each weakly connected component C of this graph the ground edges of the release inside C and inside
each copy of it are the same, weights included, and that the k places of each vertex differ in in-degree, out-degree
and label. An attacked subgraph X1 lies in one C. Its copies are disjoint, and rules derive the same from the same
edges and weights, so they are KG-isomorphic to it: item 4 of Definition 4.1 holds for every x, and for any rules. All
this is looked up in time linear in the release, but for sorting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import numpy.typing as npt

from kgreason.assess.witness import listing
from kgreason.graph.model import KnowledgeGraph, Relation

Ints = npt.NDArray[np.int64]


def faults_of_copies(
    attacked: KnowledgeGraph, released: KnowledgeGraph, mapping: Ints, copies: Ints, k: int
) -> tuple[str, ...]:
    """Say why named copies do not show that every subgraph stands at k places; nothing if they do.

    Parameters
    ----------
    attacked
        The original graph, without the edges that are given up.
    mapping
        Vertices of the release, int64 (n,).
    copies
        Their copies in the release, int64 (K - 1, n) with K >= k.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.5)])
    >>> edges = [("p", "q", 0.7), ("r", "s", 0.7), ("p", "s", 0.1), ("q", "r", 0.2)]
    >>> released = KnowledgeGraph.from_edges(edges)
    >>> faults_of_copies(graph, released, np.array([0, 1]), np.array([[2, 3]]), 2)
    ()
    """
    places = np.concatenate([mapping[None], copies[: k - 1]])
    if len(places) < k:
        return (f"it names {len(places)} places of each vertex, not {k}",)
    if places.shape[1] != attacked.n or (places < 0).any() or (places >= released.n).any():
        return ("its copies are not of vertices of this release",)
    _, component = attacked.components()
    return listing(
        [
            *_meetings(released, places),
            *_alike(attacked, released, places),
            *_differences(component, released, places),
        ]
    )


def _meetings(released: KnowledgeGraph, places: Ints) -> Iterator[str]:
    """Vertices that are the places of several."""
    vertices, count = np.unique(places, return_counts=True)
    for v in vertices[count > 1].tolist():
        yield f"{released.labels[v]} is the place of several vertices"


def _alike(attacked: KnowledgeGraph, released: KnowledgeGraph, places: Ints) -> Iterator[str]:
    """Vertices of which two places have a degree or a label in common."""
    _, label = np.unique(released.labels.astype(str), return_inverse=True)
    traits = {"in-degree": released.in_degree(), "out-degree": released.out_degree(), "label": label}
    for name, trait in traits.items():
        held = trait.reshape(-1)[places]
        for i, j in combinations(range(len(places)), 2):
            for v in np.flatnonzero(held[i] == held[j]).tolist():
                a, b = (released.labels[places[p, v]] for p in (i, j))
                yield f"the places {a}, {b} of original {attacked.labels[v]} have equal {name}"


def _differences(component: Ints, released: KnowledgeGraph, places: Ints) -> Iterator[str]:
    """Edges inside a component that some copy lacks, or has besides."""
    for name, relation in released.relations.items():
        first, *others = (_inside(relation, component, row, released.n) for row in places)
        for number, other in enumerate(others, start=1):
            for source, target, weight in _difference(first, other):
                ends = " -> ".join(str(released.labels[places[0, v]]) for v in (source, target))
                yield f"{name}: {ends} with weight {weight} is not the same in copy {number}"


def _inside(relation: Relation, component: Ints, place: Ints, n: int) -> npt.NDArray[np.float64]:
    """Source, target and weight of the edges inside the places of components, as the original numbers them, sorted."""
    original = np.full(n, -1, dtype=np.int64)
    original[place] = np.arange(len(place))
    ends = original[relation.source], original[relation.target]
    mine = np.flatnonzero((ends[0] >= 0) & (ends[1] >= 0))
    source, target = (end[mine] for end in ends)
    weight = np.zeros(len(mine)) if relation.weight is None else relation.weight[mine]
    same = component[source] == component[target]
    rows = np.stack([source, target, weight], axis=1)[same]
    ordered: npt.NDArray[np.float64] = rows[np.lexsort(rows.T[::-1])]
    return ordered


def _difference(
    first: npt.NDArray[np.float64], other: npt.NDArray[np.float64]
) -> list[tuple[int, int, float]]:
    """Rows of which the one has more than the other."""
    if np.array_equal(first, other):
        return []
    counts = Counter(map(tuple, first.tolist()))
    counts.subtract(map(tuple, other.tolist()))
    return [(int(u), int(v), w) for (u, v, w), count in counts.items() if count]
