"""Parts with stubs: every edge that leaves a part ends at a stub, a vertex that represents the other end.

An anonymizer of such a part sees the true degrees of its vertices. Edges to stubs belong to a separate relation, in
which every stub has a loop. So no subgraph with a stub is isomorphic to one without, and stubs are images of stubs
only: afterwards they can be removed, and the edges to them replaced by the edges that they represent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgreason.graph.knowledge_graph import KnowledgeGraph, Piece, Relation, Vertices, Weights
from kgreason.isomorphism.anonymizers.assembly import Pairs, synthetic_labels
from kgreason.language.check.checked_program import CheckedProgram


@dataclass(frozen=True, eq=False)
class Glued:
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

    Examples
    --------
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
        labels = np.array(synthetic_labels(piece.graph, len(stubs)), dtype=object)
        relations = {**piece.graph.relations, name: Relation(*ends)}
        found.append(KnowledgeGraph(np.concatenate([piece.graph.labels, labels], dtype=object), relations))
    return found


def _numbered(keys: Vertices) -> Vertices:
    """Number equal keys from 0."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    number = np.empty(len(keys), dtype=np.int64)
    number[order] = np.arange(len(keys)) - np.searchsorted(ordered, ordered)
    return number


def without_stubs(
    graph: KnowledgeGraph,
    divided: Sequence[Piece],
    stubbed: Sequence[KnowledgeGraph],
    augmented: Sequence[KnowledgeGraph],
    name: str | None = None,
) -> Glued:
    """Merge augmented pieces, and replace edges to stubs by the original edges between pieces, if any.

    Stubs with further edges stay as synthetic vertices. Synthetic edges of the relation of stubs are assigned to the
    largest relation: no image contains both of their ends.
    """
    n, part, added, numbers = graph.n, [np.empty(graph.n, dtype=np.int64)], [], []
    for i, (piece, before, after) in enumerate(zip(divided, stubbed, augmented, strict=True)):
        edges = _added(before, after, name)
        kept = np.arange(after.n) >= before.n
        for source, target, _ in edges.values():
            kept[source] = kept[target] = True
        number = np.full(after.n, -1, dtype=np.int64)
        number[: piece.graph.n] = piece.vertices
        new = np.flatnonzero(kept & (number < 0))
        number[new] = np.arange(n, n + len(new))
        n += len(new)
        part[0][piece.vertices] = i
        part.append(np.where(new < before.n, -1, i))
        numbers.append(number)
        added.append({r: (number[e[0]], number[e[1]], e[2]) for r, e in edges.items()})
    largest = max(graph.relations, key=lambda r: len(graph.relations[r]), default=None)
    relations, weighed = {}, {}
    for r in graph.relations:
        led = [edges[name][:2] for edges in added] if name and r == largest else []
        relations[r], weighed[r] = _glued(graph, r, divided, augmented, [edges[r] for edges in added], led)
    labels = np.array(synthetic_labels(graph, n - graph.n), dtype=object)
    whole = KnowledgeGraph(np.concatenate([graph.labels, labels], dtype=object), relations)
    return Glued(whole, weighed, np.concatenate(part), numbers)


Added = tuple[Vertices, Vertices, Weights | None]


def _added(before: KnowledgeGraph, after: KnowledgeGraph, name: str | None) -> dict[str, Added]:
    """Synthetic edges of each relation, without loops of copied stubs."""
    found: dict[str, Added] = {}
    for r, relation in after.relations.items():
        new = np.arange(len(relation)) >= len(before.relations[r])
        if r == name:
            new &= relation.source != relation.target
        weight = None if relation.weight is None else relation.weight[new]
        found[r] = relation.source[new], relation.target[new], weight
    return found


def _glued(
    graph: KnowledgeGraph,
    name: str,
    divided: Sequence[Piece],
    augmented: Sequence[KnowledgeGraph],
    added: Sequence[Added],
    led: Sequence[Pairs],
) -> tuple[Relation, int]:
    relation = graph.relations[name]
    rows = np.concatenate([p.rows[name] for p in divided])
    inside = np.zeros(len(relation), dtype=np.bool_)
    inside[rows] = True
    first, between = np.flatnonzero(inside), np.flatnonzero(~inside)
    source = [relation.source[first], *(a[0] for a in added), relation.source[between], *(e[0] for e in led)]
    target = [relation.target[first], *(a[1] for a in added), relation.target[between], *(e[1] for e in led)]
    weighed = len(first) + sum(len(a[0]) for a in added)
    weight = None
    if relation.weight is not None:
        drawn = np.zeros(len(relation))
        for piece, found in zip(divided, augmented, strict=True):
            given = found.relations[name].weight
            assert given is not None
            drawn[piece.rows[name]] = given[: len(piece.rows[name])]
        known = [drawn[first], *(a[2] for a in added if a[2] is not None)]
        weight = np.concatenate([*known, np.zeros(sum(map(len, source)) - weighed)])
    columns = relation.columns
    return Relation(np.concatenate(source), np.concatenate(target), weight, columns), weighed
