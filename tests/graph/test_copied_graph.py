"""Copies of a graph that are held as one, compared with all their edges."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.graph.copied_graph import CopiedGraph
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from tests.examples import inputs
from tests.graphs import graphs

Edge = tuple[int, int, float | None]


def edges(relation: Relation) -> list[Edge]:
    weights = [None] * len(relation) if relation.weight is None else relation.weight.tolist()
    return list(zip(relation.source.tolist(), relation.target.tolist(), weights, strict=True))


@settings(max_examples=inputs(80), deadline=None)
@given(graphs(), st.integers(1, 4), st.integers(0, 3), st.integers(0, 9))
def test_the_whole_graph_has_the_edges_of_all_copies_and_the_ties(
    graph: KnowledgeGraph, k: int, new: int, count: int
) -> None:
    rng, n = np.random.default_rng(count), k * graph.n + new
    ties = {
        name: Relation(*rng.integers(0, n, (2, count)), None if r.weight is None else np.zeros(count))
        for name, r in graph.relations.items()
    }
    drawn = {"own": rng.random(count)}
    copied = CopiedGraph(graph, k, n, ties).with_ties(drawn)
    whole = copied.whole()
    for name, relation in whole.relations.items():
        shifted: list[Edge] = [
            (j * graph.n + u, j * graph.n + v, w)
            for j in range(k)
            for u, v, w in edges(graph.relations[name])
        ]
        between = ties[name].source.tolist(), ties[name].target.tolist()
        weights = drawn.get(name, np.full(count, None)).tolist()
        assert edges(relation) == shifted + list(zip(*between, weights, strict=True))
        assert len(copied.relations[name]) == len(relation)
        assert relation.columns == graph.relations[name].columns
    assert (copied.n, copied.m) == (whole.n, whole.m) == (n, k * graph.m + count * len(ties))
    assert np.array_equal(copied.in_degree(), whole.in_degree())
    assert np.array_equal(copied.out_degree(), whole.out_degree())
