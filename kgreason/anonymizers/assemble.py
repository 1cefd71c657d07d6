"""Put an augmented graph together: originals, then copies, then synthetic edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kgreason.errors import AnonymizationError
from kgreason.graph.model import KnowledgeGraph, Relation, Vertices, Weights


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges to add to one relation."""

    source: Vertices
    target: Vertices
    weight: Weights | None


def synthetic_labels(graph: KnowledgeGraph, count: int) -> list[str]:
    """Labels for new vertices, for internal use only: `publish` replaces all labels."""
    present = set(graph.labels.tolist())
    mark = "new"
    while any(label.startswith(mark) for label in present):
        mark += "'"
    return [f"{mark}{i}" for i in range(count)]


def assemble(
    graph: KnowledgeGraph,
    n: int,
    copies: Mapping[str, Edges],
    source: Vertices,
    target: Vertices,
    rng: np.random.Generator,
) -> tuple[KnowledgeGraph, dict[str, int]]:
    """Add vertices, copied edges and synthetic edges.

    Each synthetic edge joins a relation at random, in proportion to the relations' sizes; its weight is still
    to be drawn (0 until then).

    Parameters
    ----------
    n
        Number of vertices afterwards.
    copies
        By relation.

    Returns
    -------
    graph, fixed
        The augmented graph, and for each relation how many of its leading edges are originals or copies.

    Raises
    ------
    AnonymizationError
        If there are synthetic edges but no relation that could hold them.
    """
    names = list(graph.relations)
    if len(source) and not names:
        raise AnonymizationError(
            "the graph has no relation, so it can have no synthetic edges",
            hint="name the predicate of its edges with @edge",
        )
    of = _proportional(graph, len(source), rng)
    relations, fixed = {}, {}
    for number, name in enumerate(names):
        relation, copied, chosen = graph.relations[name], copies.get(name), of == number
        parts: list[Relation | Edges] = [relation, copied] if copied else [relation]
        fixed[name] = sum(len(p.source) for p in parts)
        new = Edges(source[chosen], target[chosen], np.zeros(int(chosen.sum())))
        relations[name] = _joined(relation, [*parts, new])
    labels = np.concatenate(
        [graph.labels, np.array(synthetic_labels(graph, n - graph.n), dtype=object)], dtype=object
    )
    return KnowledgeGraph(labels, relations), fixed


def _proportional(graph: KnowledgeGraph, count: int, rng: np.random.Generator) -> Vertices:
    sizes = np.array([len(r) for r in graph.relations.values()], dtype=np.float64)
    if not len(sizes) or not count:
        return np.zeros(count, dtype=np.int64)
    share = sizes / sizes.sum() if sizes.sum() else np.full(len(sizes), 1 / len(sizes))
    return rng.choice(len(sizes), count, p=share).astype(np.int64)


def _joined(relation: Relation, parts: list[Relation | Edges]) -> Relation:
    weights = [p.weight for p in parts if p.weight is not None]
    return replace(
        relation,
        source=np.concatenate([p.source for p in parts]),
        target=np.concatenate([p.target for p in parts]),
        weight=None if relation.weight is None else np.concatenate(weights),
    )
