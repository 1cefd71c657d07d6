"""Weakly connected components, numbered by their first vertices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from kgreason.graph import knowledge_graph
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from tests.examples import inputs


def graph_of(n: int, edges: list[tuple[int, int]]) -> KnowledgeGraph:
    source, target = (
        np.array(ends, dtype=np.int64) for ends in (zip(*edges, strict=True) if edges else ([], []))
    )
    return KnowledgeGraph(np.arange(n).astype(object), {"own": Relation(source, target)})


@st.composite
def edges(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    n = draw(st.integers(1, 30))
    ends = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(ends, ends), max_size=40))


@settings(max_examples=inputs(200), deadline=None)
@given(edges())
def test_components_are_those_of_scipy(given: tuple[int, list[tuple[int, int]]]) -> None:
    n, pairs = given
    graph = graph_of(n, pairs)
    matrix = coo_array((np.ones(graph.m, dtype=np.int8), graph.ends), shape=(n, n))
    count, component = connected_components(matrix, directed=False)
    found = graph.components()
    assert found[0] == count
    assert found[1].tolist() == component.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_components_of_long_paths_and_stars(seed: int) -> None:
    names = np.random.default_rng(seed).permutation(5_000).tolist()
    path = list(zip(names[:-1:2], names[1::2], strict=True)) + list(
        zip(names[1:-1:2], names[2::2], strict=True)
    )
    assert graph_of(5_000, path).components()[0] == 1
    star = [(names[0], v) for v in names[1:4_000]]
    assert graph_of(5_000, star).components()[0] == 1_001


def test_degrees_are_counted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge_graph, "PIECE", 1)
    source, target = np.random.default_rng(1).integers(0, 7, (2, 50))
    graph = KnowledgeGraph(np.array(list("abcdefgh"), dtype=object), {"e": Relation(source, target)})
    for found, ends in ((graph.out_degree(), source), (graph.in_degree(), target)):
        assert found.tolist() == [ends.tolist().count(v) for v in range(8)]
