"""Partition of a graph into parts by recursive bisection, and merging of augmented parts.

With *stubs*, every edge that leaves a part ends at a stub, a vertex that represents the other end: an anonymizer of the
part sees the true degrees of its vertices. Edges to stubs belong to a separate relation, in which every stub has a
loop. So no subgraph with a stub is isomorphic to one without, and stubs are images of stubs only: afterwards they can
be removed, and the edges to them replaced by the edges that they represent.

References
----------
KGISO, split & merge; G. Karypis, V. Kumar: A fast and high quality multilevel scheme for partitioning irregular
graphs (METIS, 1998).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgreason.base.errors import AnonymizationError
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Piece, Relation, Vertices, labels_with_synthetic
from kgreason.graph.subgraphs.ordered_adjacency import undirected
from kgreason.isomorphism.anonymizers.assembly import Edges
from kgreason.isomorphism.anonymizers.weight_density import weights_of
from kgreason.language.check.checked_program import CheckedProgram

_MOST = np.iinfo(np.int32).max  # ends of edges, which METIS numbers in 32 bits


def partition(graph: KnowledgeGraph, size: int, least: int) -> Vertices:
    """Partition a graph deterministically into parts of about `size` and at least `least` vertices.

    Returns the part of each vertex, int64, numbered from 0 without gaps. Components of fewer than `least` vertices are
    not divided.

    Raises
    ------
    AnonymizationError
        If `size` is below `least`, the library is not installed, or the graph has more than 2^30 edges.

    Examples
    --------
    >>> edges = [(f"{side}{i}", f"{side}{j}") for side in "ab" for i in range(5) for j in range(i)]
    >>> graph = KnowledgeGraph.from_edges([*edges, ("a0", "b0")])
    >>> parts = partition(graph, 5, 3)
    >>> [len(set(parts[:5].tolist())), len(set(parts[5:].tolist())), int(parts.max())]
    [1, 1, 1]
    """
    if size < least:
        raise AnonymizationError(
            f"parts of {size} vertices hold no subgraph of {least}",
            hint=f"choose larger parts, as in --split 1000, or x <= {size}",
        )
    count = round(graph.n / size)
    if count < 2:
        return np.zeros(graph.n, dtype=np.int64)
    try:
        import pymetis
    except ModuleNotFoundError as error:
        raise AnonymizationError(
            "dividing a graph into parts needs the package pymetis",
            hint="pip install '.[split]' in a checkout of kgreason, or leave --split out",
        ) from error
    indptr, neighbours = undirected(graph)
    if len(neighbours) > _MOST:
        raise AnonymizationError(
            f"the graph has {len(neighbours):,} ends of edges, more than the {_MOST:,} that can be divided into parts",
            hint="leave --split out; --method klone needs no parts",
        )
    adjacency = pymetis.CSRAdjacency(indptr.astype(np.int32), neighbours.astype(np.int32))
    _, found = pymetis.part_graph(count, adjacency, recursive=True)
    return _with_least(_whole(graph, np.array(found, dtype=np.int64), least), least)


def _whole(graph: KnowledgeGraph, parts: Vertices, least: int) -> Vertices:
    """Assign components of fewer than `least` vertices, which are attacked as a whole, to the part of one vertex."""
    _, component = graph.components()
    small = np.bincount(component)[component] < least
    _, first = np.unique(component, return_index=True)
    return np.where(small, parts[first[component]], parts)


def _with_least(parts: Vertices, least: int) -> Vertices:
    """Number parts from 0; parts with too few vertices are merged with the smallest other part."""
    while True:
        parts = np.unique(parts, return_inverse=True)[1].reshape(-1).astype(np.int64)
        sizes = np.bincount(parts)
        first, *others = np.argsort(sizes, kind="stable").tolist()
        if sizes[first] >= least or not others:
            return parts
        parts = np.where(parts == first, others[0], parts)


def stub_relation(graph: KnowledgeGraph, rules: CheckedProgram) -> str:
    """Name of the relation of edges to stubs, used neither by the graph nor by the rules."""
    name = "stub"
    while name in graph.relations or name in rules.arities:
        name += "_"
    return name


def with_stubs(
    graph: KnowledgeGraph, parts: Vertices, divided: Sequence[Piece], name: str
) -> list[KnowledgeGraph]:
    """Add a stub to the pieces for every edge between parts; an edge and its reverse share one.

    >>> from kgreason.graph.knowledge_graph import pieces
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("c", "b")])
    >>> parts = np.array([0, 0, 1])
    >>> first, second = with_stubs(graph, parts, pieces(graph, parts), "stub")
    >>> first.n, list(zip(*(e.tolist() for e in (first.relations["stub"].source, first.relations["stub"].target))))
    (3, [(1, 2), (2, 1), (2, 2)])
    """
    source, target = graph.ends
    cut = parts[source] != parts[target]
    source, target = source[cut], target[cut]
    own, other = np.concatenate([source, target]), np.concatenate([target, source])
    leaves = np.arange(len(own)) < len(source)
    number = _numbered((own * graph.n + other) * 2 + leaves)  # parallel edges have separate stubs
    key = (own * graph.n + other) * (number.max(initial=0) + 1) + number
    local = np.empty(graph.n, dtype=np.int64)
    found = []
    for part, piece in enumerate(divided):
        local[piece.vertices] = np.arange(piece.graph.n)
        mine = np.flatnonzero(parts[own] == part)
        stubs, stub = np.unique(key[mine], return_inverse=True)
        inner, outer = local[own[mine]], piece.graph.n + stub.reshape(-1)
        loops = piece.graph.n + np.arange(len(stubs))
        ends = (
            np.concatenate([np.where(leaves[mine], inner, outer), loops]),
            np.concatenate([np.where(leaves[mine], outer, inner), loops]),
        )
        relations = {**piece.graph.relations, name: Relation(*ends)}
        found.append(KnowledgeGraph(labels_with_synthetic(piece.graph, len(stubs)), relations))
    return found


def _numbered(keys: Vertices) -> Vertices:
    """Number equal keys from 0."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    number = np.empty(len(keys), dtype=np.int64)
    number[order] = np.arange(len(keys)) - np.searchsorted(ordered, ordered)
    return number


@record(eq=False)
class Merged:
    """Augmented parts with the edges between them restored.

    Attributes
    ----------
    graph
        Vertices of the original graph, then the synthetic ones. In each relation: original edges inside parts,
        synthetic ones, original edges between parts, and synthetic ones that led to stubs.
    weighed
        Number of leading edges of each relation with final weights; the others are drawn later.
    part
        Part of each vertex; -1 for former stubs, which are in no image.
    numbers
        New number of each vertex of an augmented part; -1 if it was removed.
    """

    graph: KnowledgeGraph
    weighed: dict[str, int]
    part: Vertices
    numbers: list[Vertices]


def without_stubs(
    graph: KnowledgeGraph,
    divided: Sequence[Piece],
    stubbed: Sequence[KnowledgeGraph],
    augmented: Sequence[KnowledgeGraph],
    name: str | None = None,
) -> Merged:
    """Merge augmented pieces, and replace edges to stubs by the original edges between pieces, if any.

    Stubs with further edges stay as synthetic vertices. Synthetic edges of the relation of stubs are assigned to the
    largest relation: no image contains both of their ends.
    """
    n, part, added, numbers = graph.n, [np.empty(graph.n, dtype=np.int64)], [], []
    for i, (piece, before, after) in enumerate(zip(divided, stubbed, augmented, strict=True)):
        edges = _added(before, after, name)
        kept = np.arange(after.n) >= before.n
        for new in edges.values():
            kept[new.source] = kept[new.target] = True
        number = np.full(after.n, -1, dtype=np.int64)
        number[: piece.graph.n] = piece.vertices
        synthetic = np.flatnonzero(kept & (number < 0))
        number[synthetic] = np.arange(n, n + len(synthetic))
        n += len(synthetic)
        part[0][piece.vertices] = i
        part.append(np.where(synthetic < before.n, -1, i))
        numbers.append(number)
        added.append({r: Edges(number[e.source], number[e.target], e.weight) for r, e in edges.items()})
    largest = max(graph.relations, key=lambda r: len(graph.relations[r]), default=None)
    relations, weighed = {}, {}
    for r in graph.relations:
        to_stubs = [edges[name] for edges in added] if name and r == largest else []
        inner = [edges[r] for edges in added]
        relations[r], weighed[r] = _merged_relation(graph, r, divided, augmented, inner, to_stubs)
    whole = KnowledgeGraph(labels_with_synthetic(graph, n - graph.n), relations)
    return Merged(whole, weighed, np.concatenate(part), numbers)


def _added(before: KnowledgeGraph, after: KnowledgeGraph, name: str | None) -> dict[str, Edges]:
    """Synthetic edges of each relation, without loops of copied stubs."""
    found = {}
    for r, relation in after.relations.items():
        new = np.arange(len(relation)) >= len(before.relations[r])
        if r == name:
            new &= relation.source != relation.target
        weight = None if relation.weight is None else relation.weight[new]
        found[r] = Edges(relation.source[new], relation.target[new], weight)
    return found


def _merged_relation(
    graph: KnowledgeGraph,
    name: str,
    divided: Sequence[Piece],
    augmented: Sequence[KnowledgeGraph],
    added: Sequence[Edges],
    to_stubs: Sequence[Edges],
) -> tuple[Relation, int]:
    """Edges in the order of `Merged.graph`, and the number of those with final weights."""
    relation = graph.relations[name]
    inside = np.zeros(len(relation), dtype=np.bool_)
    inside[np.concatenate([piece.rows[name] for piece in divided])] = True
    first, between = relation.take(inside), relation.take(~inside)
    parts: list[Relation | Edges] = [first, *added, between, *to_stubs]
    weighed = len(first) + sum(len(edges.source) for edges in added)
    weight = None
    if relation.weight is not None:
        drawn = np.zeros(len(relation))
        for piece, found in zip(divided, augmented, strict=True):
            final = weights_of(found.relations[name])
            drawn[piece.rows[name]] = final[: len(piece.rows[name])]
        known = [drawn[inside], *(edges.weight for edges in added if edges.weight is not None)]
        weight = np.concatenate([*known, np.zeros(sum(len(part.source) for part in parts) - weighed)])
    source, target = np.concatenate([e.source for e in parts]), np.concatenate([e.target for e in parts])
    return Relation(source, target, weight, relation.columns), weighed
