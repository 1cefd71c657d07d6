"""Pictures of a graph before and after: which part is shown, what of it is synthetic, and where each vertex stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.records import dataclass
from kgreason.report.data import Picture
from kgreason.report.layout import Matrix, places
from kgreason.report.sample import BRANCHES, sample

MOST = 400
"""Vertices of a picture: more are not told apart."""

MOST_EDGES = 1500
"""Edges of a picture; of a denser one the others are left out, which the note tells."""

LENGTHS = (6.0, 3.0, 1.0)
"""How far a synthetic edge keeps its ends apart, by the number of them that are synthetic.

Edges of the original have length 1: they give the shape. A synthetic vertex stands near its neighbours, and copies of a
part look like it.
"""


def pictures(
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Vertices,
    rng: np.random.Generator,
    most: int = MOST,
) -> tuple[Picture, Picture]:
    """Draw a graph and its release, or a sample of both; a vertex and its image stand at the same place.

    Parameters
    ----------
    original, released
        The graphs.
    mapping
        Number in the release of each vertex of the original, int64, shape (n_original,); below 0: it is not released.
    rng
        Source of the sample and of the layout.
    most
        Vertices of the original and synthetic ones, together, at most.

    Returns
    -------
    tuple of Picture
        The original, and the release. Vertices that are in both have the same numbers; they come first.

    Notes
    -----
    An edge between images is synthetic if the release has more edges of its relation there than the original has; of
    parallel edges, whose weights have changed, the last ones count as synthetic.

    Examples
    --------
    >>> before = KnowledgeGraph.from_edges([("A", "B", 0.6)], relation="own")
    >>> after = KnowledgeGraph.from_edges([("p", "q", 0.3), ("q", "r", 0.2)], relation="own")
    >>> _, drawn = pictures(before, after, np.array([0, 1]), np.random.default_rng(1))
    >>> drawn.labels, drawn.synthetic, [edge[-1] for edge in drawn.edges]
    (('p', 'q', 'r'), (False, False, True), [False, True])
    """
    own, made = sample(original, released, mapping, most, rng)
    own = own[np.argsort(mapping[own] < 0, kind="stable")]
    kept = own[mapping[own] >= 0]
    images = np.concatenate([mapping[kept], made])
    # numbers of the drawing: what both have, what only the original has, what only the release has
    n = len(own) + len(made)
    here, there = np.arange(len(own)), np.concatenate([np.arange(len(kept)), np.arange(len(own), n)])
    before, after = _induced(original, own, here), _induced(released, images, there)
    after = _marked(before, after)
    at = _placed([*before, *after], n, len(own), rng)
    first = rng.random((n, n))  # which edges are drawn where they are too many: the same in both
    how = _how(original, released, len(own), len(made))
    return (
        _drawn(
            "Before: {} of the original",
            original.labels[own],
            original.n,
            here,
            len(own),
            before,
            at,
            first,
            how,
        ),
        _drawn(
            "After: {} of the release",
            released.labels[images],
            released.n,
            there,
            len(own),
            after,
            at,
            first,
            how,
        ),
    )


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between vertices of the drawing, and whether it is synthetic."""

    source: int
    target: int
    relation: str
    weight: str
    synthetic: bool = False


def _induced(graph: KnowledgeGraph, members: Vertices, numbers: Vertices) -> list[Edge]:
    """Edges between `members`, in their `numbers` of the drawing."""
    number = np.full(graph.n, -1, dtype=np.int64)
    number[members] = numbers
    return list(_edges(graph, number))


def _edges(graph: KnowledgeGraph, number: Vertices) -> Iterator[Edge]:
    for name, relation in graph.relations.items():
        source, target = number[relation.source], number[relation.target]
        inside = (source >= 0) & (target >= 0)
        ends = zip(source[inside].tolist(), target[inside].tolist(), strict=True)
        if relation.weight is None:
            yield from (Edge(s, t, name, "") for s, t in ends)
        else:
            weights = relation.weight[inside].tolist()
            yield from (Edge(s, t, name, f"{w:.4g}") for (s, t), w in zip(ends, weights, strict=True))


def _marked(before: list[Edge], after: list[Edge]) -> list[Edge]:
    """Edges of the release, of which those are synthetic that the original does not have."""
    left = Counter((e.source, e.target, e.relation) for e in before)
    marked = []
    for edge in after:
        ends = (edge.source, edge.target, edge.relation)
        left[ends] -= 1
        marked.append(Edge(*ends, edge.weight, left[ends] < 0))
    return marked


def _placed(edges: list[Edge], n: int, own: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    source = np.array([e.source for e in edges], dtype=np.int64)
    target = np.array([e.target for e in edges], dtype=np.int64)
    made = (source >= own).astype(np.int64) + (target >= own)
    plain = np.array([not e.synthetic for e in edges], dtype=np.bool_)
    length = np.where(plain, 1.0, np.array(LENGTHS)[made])
    return places(n, source, target, length, rng)


def _drawn(
    name: str,
    labels: npt.NDArray[np.object_],
    of: int,
    numbers: Vertices,
    own: int,
    edges: list[Edge],
    at: tuple[Matrix, Matrix],
    first: Matrix,
    how: str,
) -> Picture:
    shown = sorted(edges, key=lambda e: first[e.source, e.target])[:MOST_EDGES]
    place = {number: i for i, number in enumerate(numbers.tolist())}
    count = f"{len(labels):,} of {of:,} vertices" if len(labels) < of else f"all {of:,} vertices"
    fewer = f"{len(shown):,} of the {len(edges):,} edges between them are drawn, chosen at random."
    return Picture(
        title=name.format(count),
        x=tuple(at[0][numbers].tolist()),
        y=tuple(at[1][numbers].tolist()),
        labels=tuple(map(str, labels)),
        synthetic=tuple((numbers >= own).tolist()),
        edges=tuple(
            (place[e.source], place[e.target], e.relation, e.weight, e.synthetic)
            for e in sorted(shown, key=lambda e: (e.synthetic, e.source, e.target, e.relation))
        ),
        note=" ".join(filter(None, [how, fewer if len(shown) < len(edges) else ""])),
    )


def _how(original: KnowledgeGraph, released: KnowledgeGraph, own: int, made: int) -> str:
    """How the sample was taken; empty if all is shown."""
    if own == original.n and own + made >= released.n:
        return ""
    beside = f", and {made:,} synthetic vertices that have an edge to these, chosen at random" if made else ""
    return (
        f"A sample: {own:,} vertices of the original, met on the way from a random vertex along its edges in either "
        f"direction, up to {BRANCHES} of each vertex at a time{beside}."
    )
