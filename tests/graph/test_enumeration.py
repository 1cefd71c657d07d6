from __future__ import annotations

from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import AnonymizationError
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.graph.subgraphs.enumeration import attacked_subgraphs, connected_subgraphs, count_connected
from kgreason.graph.subgraphs.ordered_adjacency import undirected
from tests.examples import inputs
from tests.graphs import build, graphs


def plain(graph: KnowledgeGraph) -> nx.Graph:
    found = nx.Graph()
    found.add_nodes_from(range(graph.n))
    found.add_edges_from(zip(*(e.tolist() for e in graph.ends), strict=True))
    return found


def brute_force(graph: KnowledgeGraph, x: int) -> set[frozenset[int]]:
    whole = plain(graph)
    return {frozenset(s) for s in combinations(range(graph.n), x) if nx.is_connected(whole.subgraph(s))}


@settings(max_examples=inputs(150), deadline=None)
@given(graphs(most=9, edges=24), st.integers(1, 6))
def test_lists_exactly_the_connected_sets(graph: KnowledgeGraph, x: int) -> None:
    listed = connected_subgraphs(graph, x)
    expected = brute_force(graph, x)
    assert listed.shape == (len(expected), x)
    assert {frozenset(s) for s in listed.tolist()} == expected
    assert count_connected(graph, x) == len(expected)


@settings(max_examples=inputs(80), deadline=None)
@given(graphs(most=8, edges=18), st.integers(1, 5), st.integers(0, 20))
def test_counting_stops_above_the_limit(graph: KnowledgeGraph, x: int, limit: int) -> None:
    exact = count_connected(graph, x)
    limited = count_connected(graph, x, limit)
    assert limited == exact if exact <= limit else limited > limit


@settings(max_examples=inputs(80), deadline=None)
@given(graphs(most=9, edges=10), st.integers(1, 5))
def test_small_components_are_attacked_as_a_whole(graph: KnowledgeGraph, x: int) -> None:
    expected = {
        frozenset(s)
        for c in nx.connected_components(plain(graph))
        for s in combinations(sorted(c), min(x, len(c)))
        if nx.is_connected(plain(graph).subgraph(s))
    }
    groups = attacked_subgraphs(graph, x)
    assert [g.shape[1] for g in groups] == sorted({len(s) for s in expected})
    assert sorted(map(sorted, (s for g in groups for s in g.tolist()))) == sorted(map(sorted, expected))


def test_a_hub_is_counted_without_being_listed() -> None:
    leaves = 2000
    star = build(leaves + 1, [(0, i, 0.5) for i in range(1, leaves + 1)])
    assert count_connected(star, 4) == leaves * (leaves - 1) * (leaves - 2) // 6
    assert count_connected(star, 5, limit=10**6) > 10**6


def test_too_many_subgraphs_are_refused_with_advice() -> None:
    with pytest.raises(AnonymizationError, match="more than 2 connected subgraphs with 2 vertices") as caught:
        connected_subgraphs(build(4, [(0, 1, 0.5), (1, 2, 0.5), (2, 3, 0.5)]), 2, limit=2)
    assert "--max-subgraphs" in str(caught.value)
    assert "KLONE" in str(caught.value)


def test_x_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        count_connected(build(2, []), 0)


def test_empty_graph() -> None:
    empty = KnowledgeGraph(np.empty(0, dtype=object), {})
    assert attacked_subgraphs(empty, 3) == []
    assert [a.tolist() for a in undirected(empty)] == [[0], []]


@pytest.mark.slow
def test_infect_dublin_has_the_known_counts(real_data: Path) -> None:
    edges = np.loadtxt(real_data / "weighted/infect-dublin.edges", dtype=np.int64, comments="%") - 1
    labels = np.arange(410).astype(str).astype(object)
    graph = KnowledgeGraph(labels, {"own": Relation(edges[:, 0].copy(), edges[:, 1].copy())})
    assert [count_connected(graph, x) for x in (3, 4)] == [34_756, 535_413]
    assert len(np.unique(np.sort(connected_subgraphs(graph, 4)), axis=0)) == 535_413
