"""Pictures of a graph before and after: what they show, what they call synthetic, and how a sample is taken."""

from __future__ import annotations

import time
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import shortest_path

from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.release.report import pictures as picturing
from kgreason.release.report.pictures import pictures, places, snowball
from kgreason.release.report.report_data import Picture
from tests.examples import inputs
from tests.reports import companies


def drawn(n: int = 60, most: int = 400, made: int = 12) -> tuple[Picture, Picture]:
    return pictures(*companies(n, made), np.random.default_rng(5), most)


def named(picture: Picture) -> set[tuple[str, str]]:
    return {(picture.labels[s], picture.labels[t]) for s, t, *_ in picture.edges}


def test_small_graphs_are_shown_whole() -> None:
    original, released, mapping = companies(60)
    before, after = drawn()
    assert set(before.labels) == set(original.labels)
    assert set(after.labels) == set(released.labels)
    assert (len(before.edges), len(after.edges)) == (original.m, released.m)
    assert before.note == after.note == ""
    assert before.title == "Before: all 60 vertices of the original"
    assert not any(before.synthetic)
    assert not any(edge[-1] for edge in before.edges)
    images = {released.labels[i] for i in mapping}
    assert {label for label, s in zip(after.labels, after.synthetic, strict=True) if not s} == images


def test_a_vertex_and_its_image_have_one_number_and_place() -> None:
    original, released, mapping = companies(60)
    for most in (400, 30):
        before, after = drawn(most=most)
        image = dict(zip(original.labels, released.labels[mapping], strict=True))
        assert [image[label] for label in before.labels] == list(after.labels[: len(before.labels)])
        assert after.x[: len(before.x)] == before.x
        assert after.y[: len(before.y)] == before.y


def test_synthetic_edges_are_those_that_the_original_lacks() -> None:
    original, released, mapping = companies(60)
    _, after = drawn()
    real = {
        (released.labels[mapping[s]], released.labels[mapping[t]])
        for r in original.relations.values()
        for s, t in zip(r.source, r.target, strict=True)
    }
    plain = [(after.labels[s], after.labels[t]) for s, t, _, _, synthetic in after.edges if not synthetic]
    assert Counter(plain) == Counter(real)
    assert sum(made for *_, made in after.edges) == released.m - original.m


def test_of_parallel_edges_as_many_are_real_as_the_original_has() -> None:
    before = KnowledgeGraph.from_edges([("a", "b", 0.1), ("a", "b", 0.2)], relation="own")
    after = KnowledgeGraph.from_edges(
        [("p", "q", 0.3), ("p", "q", 0.4), ("p", "q", 0.5), ("q", "p", 0.6)], relation="own"
    )
    _, shown = pictures(before, after, np.array([0, 1]), np.random.default_rng(1))
    assert Counter((s, t, made) for s, t, _, _, made in shown.edges) == {
        (0, 1, False): 2,
        (0, 1, True): 1,
        (1, 0, True): 1,
    }


def test_relations_are_told_apart() -> None:
    ends = np.array([0]), np.array([1])
    labels = np.array(["a", "b"], dtype=object)
    before = KnowledgeGraph(labels, {"own": Relation(*ends), "lend": Relation(*ends, np.array([0.25]))})
    after = KnowledgeGraph(labels, {"own": Relation(*ends), "other": Relation(*ends)})
    first, second = pictures(before, after, np.array([0, 1]), np.random.default_rng(1))
    assert {edge[2:] for edge in first.edges} == {("own", "", False), ("lend", "0.25", False)}
    assert {edge[2:] for edge in second.edges} == {("own", "", False), ("other", "", True)}


def test_who_is_not_released_is_in_the_first_picture_only() -> None:
    before = KnowledgeGraph.from_edges([("a", "b"), ("b", "c")])
    after = KnowledgeGraph.from_edges([("p", "q")])
    first, second = pictures(before, after, np.array([0, -1, 1]), np.random.default_rng(1))
    assert first.labels == ("a", "c", "b")
    assert second.labels == ("p", "q")
    assert second.synthetic == (False, False)
    assert second.edges == ((0, 1, "edge", "", True),)


@pytest.mark.parametrize("most", [1, 2, 10, 50])
def test_samples(most: int) -> None:
    before, after = drawn(300, most, made=40)
    assert 1 <= len(before.labels) <= len(after.labels) <= most
    assert f"{len(before.labels):,} of 300 vertices" in before.title
    assert f"{len(after.labels):,} of 340 vertices" in after.title
    assert before.note == after.note
    assert before.note.startswith(f"A sample: {len(before.labels):,} vertices")
    touching = {v for s, t, *_ in after.edges for v in (s, t)}
    assert all(v in touching for v, made in enumerate(after.synthetic) if made)


def test_samples_are_repeated_by_their_generator() -> None:
    assert drawn(300, 50) == drawn(300, 50)


@settings(max_examples=inputs(40), deadline=None)
@given(st.integers(1, 40), st.integers(0, 2**32), st.floats(0, 0.2))
def test_a_snowball_leaves_a_component_when_it_is_exhausted(most: int, seed: int, density: float) -> None:
    found = nx.gnp_random_graph(40, density, seed=seed % 1000)
    source, target = np.array(found.edges, dtype=np.int64).reshape(-1, 2).T
    graph = KnowledgeGraph(
        np.arange(40).astype(str).astype(object), {"e": Relation(source.copy(), target.copy())}
    )
    taken = snowball(graph, most, np.random.default_rng(seed)).tolist()
    assert len(set(taken)) == len(taken) == most
    parts = list(nx.connected_components(found.subgraph(taken)))
    exhausted = [c for c in nx.connected_components(found) if c <= set(taken)]
    assert len(parts) <= len(exhausted) + 1


def test_a_hub_does_not_fill_a_sample() -> None:
    star = [("hub", f"leaf{i}") for i in range(500)]
    chains = [(f"leaf{i}", f"{j}-{i}") for i in range(500) for j in range(3)]
    graph = KnowledgeGraph.from_edges(star + chains)
    rng = np.random.default_rng(2)
    inner = [sum("leaf" in label for label in graph.labels[snowball(graph, 100, rng)]) for _ in range(5)]
    assert max(inner) < 70


def test_too_many_edges_are_thinned_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picturing, "MOST_EDGES", 50)
    original, released, mapping = companies(60)
    before, after = drawn()
    assert len(before.edges) == len(after.edges) == 50
    assert f"50 of the {original.m:,} edges" in before.note
    assert f"50 of the {released.m:,} edges" in after.note
    image = dict(zip(original.labels, released.labels[mapping], strict=True))
    kept = {(image[s], image[t]) for s, t in named(before)}
    plain = {(after.labels[s], after.labels[t]) for s, t, _, _, made in after.edges if not made}
    assert plain <= kept


def test_the_layout_follows_the_edges() -> None:
    found = nx.path_graph(30)
    source, target = np.array(found.edges).T
    x, y = places(30, source, target, np.ones(29), np.random.default_rng(1))
    along = np.hypot(np.diff(x), np.diff(y))
    assert along.max() < 3 * along.min()
    assert np.hypot(x[0] - x[-1], y[0] - y[-1]) > 0.7


@settings(max_examples=inputs(30), deadline=None)
@given(st.integers(0, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=20))
def test_any_graph_is_placed_within_the_unit_square(n: int, edges: list[tuple[int, int]]) -> None:
    inside = np.array([e for e in edges if max(e) < n], dtype=np.int64).reshape(-1, 2)
    x, y = places(n, inside[:, 0], inside[:, 1], np.ones(len(inside)), np.random.default_rng(1))
    assert len(x) == len(y) == n
    assert all(0 <= value <= 1 for value in (*x, *y))
    # vertices without edges, or with the same neighbours, are not drawn over each other
    assert len(set(zip(x, y, strict=True))) == n


def test_an_empty_graph_has_pictures() -> None:
    empty = KnowledgeGraph.from_edges([])
    assert pictures(empty, empty, np.array([], dtype=np.int64), np.random.default_rng(1))[1].labels == ()


@pytest.mark.slow
def test_pictures_are_quick() -> None:
    graphs = companies(20_000, 4_000)
    drawn(400)  # imports
    start = time.perf_counter()
    _, after = pictures(*graphs, np.random.default_rng(1))
    assert time.perf_counter() - start < 2
    assert len(after.labels) == 400


@settings(max_examples=inputs(60), deadline=None)
@given(st.integers(1, 20), st.data())
def test_distances_are_those_of_scipy(n: int, data: st.DataObject) -> None:
    ends = st.integers(0, n - 1)
    rows = data.draw(st.lists(st.tuples(ends, ends, st.sampled_from([0.5, 1.0, 2.0])), max_size=30))
    rows = [row for row in rows if row[0] != row[1]]
    source, target = (np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1))
    length = np.array([row[2] for row in rows])
    direct = np.full((n, n), np.inf)
    np.minimum.at(direct, (source, target), length)
    known = np.asarray(shortest_path(np.minimum(direct, direct.T), directed=False))
    found = picturing._distances(n, source, target, length)
    finite = np.isfinite(known)
    assert found[finite].tolist() == known[finite].tolist()
    assert np.isfinite(found).all()
