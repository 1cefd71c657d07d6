"""Pictures of a graph before and after anonymization: sampling, marking of synthetic elements, and layout."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.release.report.report_data import Picture

Matrix = npt.NDArray[np.float32]  # a layout takes half the time of that in double precision
# source and target in the drawing, relation, weight, whether synthetic
Edge = tuple[int, int, str, str, bool]

MOST = 400  # vertices of a picture: more cannot be distinguished
MOST_EDGES = 1500  # edges of a picture; the note says how many are left out
OWN = 0.75  # share of a sample for vertices of the original; the rest is for synthetic ones beside them
BRANCHES = (
    6  # neighbours that a snowball takes of a vertex before it goes on, so that one hub does not fill it
)
# Length of a synthetic edge by the number of its ends that are synthetic; edges of the original have length 1: they
# give the shape. A synthetic vertex stands near its neighbours, and copies of a part look like it.
LENGTHS = (6.0, 3.0, 1.0)
APART = 0.75  # distance of unconnected vertices: this quantile of the distances of connected ones
JITTER = 0.1  # spread of the initial positions, so that no two vertices begin at the same one
ROUNDS = 80  # of majorization: later ones move vertices by less than a picture shows
DIRECTIONS, TURNS = (
    8,
    16,
)  # of the subspace in which classical scaling looks for two directions, and its iterations


def pictures(
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Vertices,
    rng: np.random.Generator,
    most: int = MOST,
) -> tuple[Picture, Picture]:
    """Pictures of a graph and its release, or of a sample of both; a vertex and its image have the same position.

    An edge between images is synthetic if the release has more edges of its relation there than the original graph; of
    parallel edges, whose weights have changed, the last ones count as synthetic.

    Parameters
    ----------
    mapping
        Released vertex of each original vertex, int64, shape (n_original,); negative: not released.
    most
        Maximum number of original and synthetic vertices in total.

    Returns
    -------
    tuple of Picture
        The original graph and the release. Vertices in both have the same numbers and come first.

    Examples
    --------
    >>> before = KnowledgeGraph.from_edges([("A", "B", 0.6)], relation="own")
    >>> after = KnowledgeGraph.from_edges([("p", "q", 0.3), ("q", "r", 0.2)], relation="own")
    >>> _, drawn = pictures(before, after, np.array([0, 1]), np.random.default_rng(1))
    >>> drawn.labels, drawn.synthetic, [edge[-1] for edge in drawn.edges]
    (('p', 'q', 'r'), (False, False, True), [False, True])
    """
    own, made = _sample(original, released, mapping, most, rng)
    own = own[np.argsort(mapping[own] < 0, kind="stable")]
    kept = own[mapping[own] >= 0]
    images = np.concatenate([mapping[kept], made])
    # drawing numbers: vertices in both graphs, then those in the original only, then those in the release only
    n, first = len(own) + len(made), len(own)
    here, there = np.arange(first), np.concatenate([np.arange(len(kept)), np.arange(first, n)])
    before = list(_edges(original, own, here, Counter()))
    after = list(_edges(released, images, there, Counter(edge[:3] for edge in before)))
    before = [(*edge[:4], False) for edge in before]
    x, y = _placed([*before, *after], n, first, rng)
    order = rng.random((n, n))  # random priority of edges for truncation, the same in both pictures
    how = ""
    if first < original.n or n < released.n:
        beside = f", and {len(made):,} synthetic vertices that have an edge to these, chosen at random"
        how = (
            f"A sample: {first:,} vertices of the original, met on the way from a random vertex along its edges in "
            f"either direction, up to {BRANCHES} of each vertex at a time{beside if len(made) else ''}."
        )

    def drawn(
        title: str, graph: KnowledgeGraph, members: Vertices, at: Vertices, edges: list[Edge]
    ) -> Picture:
        shown = sorted(edges, key=lambda edge: order[edge[0], edge[1]])[:MOST_EDGES]
        place = {number: i for i, number in enumerate(at.tolist())}
        few = f"{len(members):,} of {graph.n:,}" if len(members) < graph.n else f"all {graph.n:,}"
        fewer = f"{len(shown):,} of the {len(edges):,} edges between them are drawn, chosen at random."
        return Picture(
            title=title.format(f"{few} vertices"),
            x=tuple(x[at].tolist()),
            y=tuple(y[at].tolist()),
            labels=tuple(map(str, graph.labels[members])),
            synthetic=tuple((at >= first).tolist()),
            edges=tuple(
                (place[s], place[t], relation, weight, synthetic)
                for s, t, relation, weight, synthetic in sorted(shown, key=lambda e: (e[4], *e[:3]))
            ),
            note=" ".join(filter(None, [how, fewer if len(shown) < len(edges) else ""])),
        )

    return (
        drawn("Before: {} of the original", original, own, here, before),
        drawn("After: {} of the release", released, images, there, after),
    )


def _edges(
    graph: KnowledgeGraph, members: Vertices, numbers: Vertices, left: Counter[tuple[int, int, str]]
) -> Iterator[Edge]:
    """Edges between `members`, with drawing numbers `numbers`; those not in `left` are synthetic."""
    number = np.full(graph.n, -1, dtype=np.int64)
    number[members] = numbers
    for name, relation in graph.relations.items():
        source, target = number[relation.source], number[relation.target]
        inside = (source >= 0) & (target >= 0)
        weights = [""] * int(inside.sum())
        if relation.weight is not None:
            weights = [f"{weight:.4g}" for weight in relation.weight[inside].tolist()]
        for s, t, weight in zip(source[inside].tolist(), target[inside].tolist(), weights, strict=True):
            left[s, t, name] -= 1
            yield s, t, name, weight, left[s, t, name] < 0


def _sample(
    original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, most: int, rng: np.random.Generator
) -> tuple[Vertices, Vertices]:
    """At most `most` vertices: a snowball of the original, and adjacent synthetic vertices of the release."""
    synthetic = np.ones(released.n, dtype=np.bool_)
    synthetic[mapping[mapping >= 0]] = False
    if original.n + int(synthetic.sum()) <= most:
        return np.arange(original.n), np.flatnonzero(synthetic)
    order = snowball(original, most, rng)
    own = order[: max(1, int(most * OWN))]
    shown = np.zeros(released.n, dtype=np.bool_)
    images = mapping[own]
    shown[images[images >= 0]] = True
    source, target = released.ends
    beside = np.unique(np.concatenate([target[shown[source]], source[shown[target]]]))
    made = rng.permutation(beside[synthetic[beside]])[: most - len(own)]
    return order[: most - len(made)], np.sort(made)


def snowball(graph: KnowledgeGraph, most: int, rng: np.random.Generator) -> Vertices:
    """Snowball sample: `most` vertices in breadth-first order from a random vertex, int64.

    Directions are ignored. Up to `BRANCHES` neighbours of a vertex are taken at first; the others are taken when no
    further vertices are queued, and a new start vertex is drawn when a component is exhausted.

    References
    ----------
    Goodman, L. A.: Snowball sampling. The Annals of Mathematical Statistics 32(1), 1961.
    """
    return np.fromiter(islice(_met(graph, rng), most), dtype=np.int64)


def _met(graph: KnowledgeGraph, rng: np.random.Generator) -> Iterator[int]:
    source, target = graph.ends
    ends, others = np.concatenate([source, target]), np.concatenate([target, source])
    begin = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=graph.n))])
    neighbours = others[np.argsort(ends, kind="stable")]
    taken = np.zeros(graph.n, dtype=np.bool_)
    starts = rng.permutation(graph.n)
    alone = np.diff(begin)[starts] == 0
    for start in np.concatenate([starts[~alone], starts[alone]]).tolist():
        if taken[start]:
            continue
        taken[start] = True
        yield start
        queue = deque([start])
        while queue:
            vertex = queue.popleft()
            near = neighbours[begin[vertex] : begin[vertex + 1]]
            free = np.unique(near[~taken[near]])
            chosen = rng.permutation(free)[:BRANCHES]
            taken[chosen] = True
            yield from chosen.tolist()
            queue.extend(chosen.tolist())
            if len(free) > BRANCHES:
                queue.append(vertex)


def _placed(edges: list[Edge], n: int, own: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    source = np.array([edge[0] for edge in edges], dtype=np.int64)
    target = np.array([edge[1] for edge in edges], dtype=np.int64)
    made = (source >= own).astype(np.int64) + (target >= own)
    synthetic = np.array([edge[4] for edge in edges], dtype=np.bool_)
    length = np.where(synthetic, np.array(LENGTHS, dtype=np.float32)[made], np.float32(1))
    return places(n, source, target, length, rng)


def places(
    n: int, source: Vertices, target: Vertices, length: Matrix, rng: np.random.Generator
) -> tuple[Matrix, Matrix]:
    """Layout in the unit square with distances close to path lengths: x and y of each vertex, rounded to three digits.

    networkx's layout with the same stress (Kamada and Kawai's) takes 4 to 10 seconds for 400 vertices, this one less
    than a second; scikit-learn's SMACOF takes as long, and another second to import.

    Parameters
    ----------
    source, target, length
        The edges, and the length of each, above 0; shape (m,).

    References
    ----------
    Gansner, E., Koren, Y., North, S.: Graph drawing by stress majorization. Graph Drawing 2004, section 2. The initial
    positions are by classical scaling.
    """
    if n < 2:
        return np.full(n, 0.5), np.full(n, 0.5)
    distance = _distances(n, source, target, length)
    jitter = rng.normal(scale=JITTER, size=(n, 2)).astype(np.float32)
    at = _majorized(distance, _scaled(distance, rng) + jitter)
    spans = np.ptp(at, axis=0)
    span = max(float(spans.max()), 1e-9)  # common to both axes, to preserve angles
    fitted = np.round((at - at.min(axis=0)).astype(np.float64) / span + (1 - spans / span) / 2, 3)
    return fitted[:, 0], fitted[:, 1]


def _scaled(distance: Matrix, rng: np.random.Generator) -> Matrix:
    """Classical scaling: positions by the two directions in which squared distances vary most, shape (n, 2)."""
    squares = distance**2
    mean = squares.mean(axis=0)
    products = -0.5 * (squares - mean - mean[:, None] + mean.mean())
    # subspace iteration: NumPy has no routine for some of the eigenvectors, and all take longer than the rest
    basis = rng.normal(size=(len(distance), min(DIRECTIONS, len(distance)))).astype(np.float32)
    for _ in range(TURNS):
        basis = np.linalg.qr(products @ basis)[0]
    values, vectors = np.linalg.eigh(basis.T @ products @ basis)
    found: Matrix = basis @ vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
    return found


def _distances(n: int, source: Vertices, target: Vertices, length: Matrix) -> Matrix:
    """Shortest path lengths between all vertices, shape (n, n), all finite."""
    direct = np.full((n, n), np.inf, dtype=np.float32)
    np.minimum.at(direct, (source, target), length)
    found: Matrix = np.minimum(direct, direct.T)
    np.fill_diagonal(found, 0.0)
    by_way = np.empty_like(found)
    for middle in range(n):  # Floyd and Warshall; SciPy takes 0.3 s to be imported
        np.minimum(found, np.add(found[:, middle, None], found[middle], out=by_way), out=found)
    known = found[np.isfinite(found) & (found > 0)]
    found[np.isinf(found)] = np.quantile(known, APART) if len(known) else 1.0
    return found


def _majorized(distance: Matrix, at: Matrix) -> Matrix:
    """Positions of lower stress, the sum of squared errors of all distances relative to the distance."""
    n = len(at)
    with np.errstate(divide="ignore"):
        weight = 1 / distance**2
    np.fill_diagonal(weight, 0.0)
    inverse = np.linalg.inv(np.diag(weight.sum(axis=0)) - weight + 1 / n)
    pull, (ratio, squares) = weight * distance, np.empty((2, n, n), dtype=np.float32)
    for _ in range(ROUNDS):
        x, y = np.ascontiguousarray(at.T)
        np.square(np.subtract(x[:, None], x, out=ratio), out=ratio)
        ratio += np.square(np.subtract(y[:, None], y, out=squares), out=squares)
        np.divide(pull, np.maximum(np.sqrt(ratio, out=ratio), 1e-9, out=ratio), out=ratio)
        at = inverse @ (ratio.sum(axis=1)[:, None] * at - ratio @ at)
    return at
