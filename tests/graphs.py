"""Random small graphs for property tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation

WEIGHTS = st.sampled_from([0.05, 0.2, 0.25, 0.3, 0.5, 0.51, 0.75, 1.0])


def build(
    n: int, own: list[tuple[int, int, float]], knows: list[tuple[int, int]] | None = None
) -> KnowledgeGraph:
    """A graph with a weighted relation ``own`` and, if given, an unweighted one ``knows``."""
    relations = {"own": _relation(own, 3)}
    if knows is not None:
        relations["knows"] = _relation(knows, 2)
    return KnowledgeGraph(np.array([f"v{i}" for i in range(n)], dtype=object), relations).distinct()


def _relation(edges: list[Any], width: int) -> Relation:
    columns = np.array(edges, dtype=np.float64).reshape(-1, width)
    ends = columns[:, :2].astype(np.int64)
    return Relation(ends[:, 0].copy(), ends[:, 1].copy(), columns[:, 2].copy() if width == 3 else None)


@st.composite
def graphs(draw: Any, least: int = 1, most: int = 7, edges: int = 14, second: bool = True) -> KnowledgeGraph:
    """Multigraphs with loops and parallel edges, often disconnected."""
    n = draw(st.integers(least, most))
    vertex = st.integers(0, n - 1)
    own = draw(st.lists(st.tuples(vertex, vertex, WEIGHTS), max_size=edges))
    knows = draw(st.none() | st.lists(st.tuples(vertex, vertex), max_size=edges // 2)) if second else None
    return build(n, own, knows)


def mirrored(graph: KnowledgeGraph) -> KnowledgeGraph:
    """The graph with the reverse of every edge."""
    relations = {}
    for name, r in graph.relations.items():
        ends = np.concatenate([r.source, r.target]), np.concatenate([r.target, r.source])
        relations[name] = Relation(*ends, None if r.weight is None else np.tile(r.weight, 2))
    return KnowledgeGraph(graph.labels, relations).distinct()
