"""Triangles and distances of graphs of people: the kernels, each beside its definition, and graphs with a hub."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.graph.measures import degrees, distances, pairs, triangles
from kgreason.people.model import Links, PeopleGraph, completed
from kgreason.people.utility import clustering, linked, measure
from tests.examples import inputs

several = settings(max_examples=inputs(100), deadline=None)
Edge = tuple[int, int]


@st.composite
def edges(draw: st.DrawFn, most: int = 12) -> tuple[int, list[Edge]]:
    """Vertices, and edges from the smaller number to the greater, each once."""
    n = draw(st.integers(1, most))
    every = list(combinations(range(n), 2))
    return n, sorted(draw(st.sets(st.sampled_from(every)))) if every else []


def ends_of(some: list[Edge]) -> Any:
    return np.array(some, dtype=np.int64).reshape(-1, 2).T


def people(n: int, some: list[Edge], *, mutual: bool = False) -> PeopleGraph:
    names = {"mutual": ["r"]} if mutual else {"relations": ["r"]}
    return PeopleGraph.from_triples(map(str, range(n)), [], [(str(a), "r", str(b)) for a, b in some], **names)


# triangles


@several
@given(edges(), st.data())
def test_triangles_are_weighed(case: tuple[int, list[Edge]], data: st.DataObject) -> None:
    n, some = case
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(some), max_size=len(some)))
    of = dict(zip(some, weights, strict=True))
    expected: Counter[int] = Counter()
    for a, b, c in combinations(range(n), 3):
        for v in (a, b, c):
            expected[v] += of.get((a, b), 0) * of.get((b, c), 0) * of.get((a, c), 0)
    found = triangles(n, ends_of(some), np.array(weights, dtype=np.int64))
    assert found.tolist() == [expected[v] for v in range(n)]


@several
@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=40))
def test_clustering_is_as_defined(n: int, some: list[Edge]) -> None:
    """Fagiolo's equation in matrices, and networkx."""
    some = sorted({(a % n, b % n) for a, b in some if a % n != b % n})
    a = np.zeros((n, n), dtype=np.int64)
    a[tuple(ends_of(some))] = 1
    both, total = a + a.T, (a + a.T).sum(axis=1)
    possible = 2 * (total * (total - 1) - 2 * np.diag(a @ a))
    expected = np.diag(both @ both @ both) / np.maximum(possible, 1)
    graph = nx.DiGraph(some)
    graph.add_nodes_from(range(n))
    found = clustering(people(n, some))
    assert found == pytest.approx(expected.mean(), rel=1e-12)
    assert found == pytest.approx(nx.average_clustering(graph))
    mutual = clustering(people(n, some, mutual=True))
    assert mutual == pytest.approx(nx.average_clustering(graph.to_undirected()))


def test_links_of_several_relations_and_to_oneself_count_once() -> None:
    graph = PeopleGraph.from_triples("abc", [], [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")])
    own = Links(np.array([0, 0, 1]), np.array([0, 1, 2]))
    assert clustering(PeopleGraph(graph.labels, {}, {"r": graph.relations["r"], "s": own})) == 0.5


# distances


def reached(n: int, some: list[Edge], sources: list[int]) -> tuple[int, int]:
    graph = nx.Graph(some)
    graph.add_nodes_from(range(n))
    far = [d for s in sources for d in nx.single_source_shortest_path_length(graph, s).values() if d]
    return sum(far), len(far)


@several
@given(edges(), st.data())
def test_all_sources_spread_at_once(case: tuple[int, list[Edge]], data: st.DataObject) -> None:
    n, some = case
    sources = data.draw(st.lists(st.integers(0, n - 1), unique=True))
    total, there = reached(n, some, sources)
    assert distances(n, ends_of(some), np.array(sources, dtype=np.int64)) == (
        total / there if there else None,
        there / (len(sources) * (n - 1)) if sources and n > 1 else None,
    )


@pytest.mark.parametrize("number", [0, 1, 62, 63, 64, 150])
def test_sources_are_as_many_as_there_may_be(number: int) -> None:
    graph = nx.gnm_random_graph(150, 170, seed=number)
    some = sorted((min(e), max(e)) for e in graph.edges)
    total, there = reached(150, some, list(range(number)))
    assert distances(150, ends_of(some), np.arange(number)) == (
        total / there if there else None,
        there / (number * 149) if number else None,
    )


# edges


@several
@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=40))
def test_pairs_and_degrees(n: int, some: list[Edge]) -> None:
    some = [(a % n, b % n) for a, b in some]
    found = pairs(n, *ends_of(some))
    assert [*map(tuple, found.T.tolist())] == sorted({(min(e), max(e)) for e in some if e[0] != e[1]})
    graph = nx.Graph([e for e in some if e[0] != e[1]])
    graph.add_nodes_from(range(n))
    assert degrees(n, found).tolist() == [graph.degree[v] for v in range(n)]


def test_nobody_is_linked() -> None:
    nobody = people(0, [])
    assert linked(nobody)[0].shape == (0,)
    assert clustering(nobody) == 0
    assert distances(0, ends_of([]), np.arange(0)) == (None, None)


def test_a_star_of_many_users_is_measured() -> None:
    """The squares of its degrees add up to 10^10."""
    n = 100_000
    spokes = Links(np.zeros(n - 1, dtype=np.int64), np.arange(1, n))
    labels = np.array([f"u{i}" for i in range(n)], dtype=object)
    star = PeopleGraph(labels, {}, {"r": completed(n, spokes)})
    found = measure(star, star, np.arange(n), rng=np.random.default_rng(0))
    assert found.clustering == 0
    assert found.structure is not None
    assert found.structure.connected == 1
    assert found.structure.path_length == pytest.approx(2, abs=1e-3)
