"""Augmentations: additions that change no attacked subgraph, and degrees that are those of the graph in the end."""

from __future__ import annotations

from itertools import product
from typing import Any
from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.graph.generators import erdos_renyi
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.anonymizers import augmentation
from kgreason.isomorphism.anonymizers.assembly import assemble, is_symmetric
from kgreason.isomorphism.anonymizers.augmentation import Augmentation
from tests.examples import inputs
from tests.graph.test_census import near
from tests.graphs import build, graphs, mirrored
from tests.reference import connected_sets


def drafted(
    graph: KnowledgeGraph, x: int, seed: int = 0, bounds: dict[str, float] | None = None
) -> Augmentation:
    return Augmentation(graph, x, bounds or {}, np.random.default_rng(seed), symmetric=is_symmetric(graph))


def assembled(augmented: Augmentation) -> KnowledgeGraph:
    rng = np.random.default_rng(0)
    return assemble(
        augmented.graph,
        augmented.n,
        augmented.edges(),
        augmented.ties,
        rng,
        symmetric=augmented.symmetric,
    )[0]


def check_degrees(augmented: Augmentation) -> KnowledgeGraph:
    released = assembled(augmented)
    assert released.in_degree().tolist() == augmented.inner.tolist()
    assert released.out_degree().tolist() == augmented.outer.tolist()
    return released


def induced(graph: KnowledgeGraph, members: tuple[int, ...]) -> list[Any]:
    found = []
    for name, r in graph.relations.items():
        inside = np.isin(r.source, members) & np.isin(r.target, members)
        found += [
            (name, u, v) for u, v in zip(r.source[inside].tolist(), r.target[inside].tolist(), strict=True)
        ]
    return sorted(found)


def check_safe(augmented: Augmentation, x: int) -> None:
    """Attacked subgraphs are as before."""
    released = assembled(augmented)
    for members in connected_sets(near(augmented.graph), x):
        assert induced(released, members) == induced(augmented.graph, members)


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(least=2, most=8), st.integers(1, 5), st.booleans())
def test_safe_edges_change_no_attacked_subgraph(graph: KnowledgeGraph, x: int, both: bool) -> None:
    augmented = drafted(mirrored(graph) if both else graph, x)
    refused = set()
    for u, v in product(range(graph.n), repeat=2):
        if augmented.fits(u, v):
            augmented.tie(u, v)
        else:
            refused.add(frozenset((u, v)))
    check_safe(augmented, x)
    check_degrees(augmented)
    ties = list(zip(*(ends.tolist() for ends in augmented.ties), strict=True))
    assert len({frozenset(tie) for tie in ties}) == len(ties)
    inside = {frozenset(p) for s in connected_sets(near(graph), x) for p in product(s, repeat=2)}
    smaller = {
        frozenset(p)
        for y in range(1, x)
        for s in connected_sets(near(graph), y)
        for p in product(s, repeat=2)
    }
    tied = {frozenset(tie) for tie in ties}
    edges = {frozenset(edge) for edge in zip(*(ends.tolist() for ends in graph.ends), strict=True)}
    assert refused <= inside | smaller | tied | edges  # nothing is refused without need
    assert not tied & edges  # which might be the same edge twice


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(least=1, most=8), st.integers(1, 4))
def test_balls(graph: KnowledgeGraph, x: int) -> None:
    import networkx as nx

    plain = nx.Graph()
    plain.add_nodes_from(range(graph.n))
    plain.add_edges_from(zip(*(ends.tolist() for ends in graph.ends), strict=True))
    augmented = drafted(graph, x)
    for v in range(graph.n):
        assert augmented.ball(v) == set(nx.single_source_shortest_path_length(plain, v, max(x - 1, 1)))


def test_edges_that_are_not_safe() -> None:
    path = build(5, [(0, 1, 0.1), (1, 2, 0.1), (2, 3, 0.1), (3, 4, 0.1)])
    augmented = drafted(path, 3)
    assert [augmented.fits(0, v) for v in range(5)] == [False, False, False, True, True]
    new = augmented.add_vertices(3).tolist()
    assert new == [5, 6, 7]
    assert all(augmented.fits(v, 0) and augmented.fits(0, v) for v in new)
    assert not augmented.fits(5, 5)
    augmented.add_copy([5, 0, 6])
    assert augmented.copy_mates(5) == {5, 0, 6}
    assert not any(augmented.fits(u, v) for u, v in [(5, 0), (0, 5), (5, 6), (6, 5)])
    assert augmented.fits(7, 5)
    augmented.tie(7, 5)
    assert not augmented.fits(7, 5)
    assert not augmented.fits(5, 7)
    assert augmented.tied_to(7) == {5}
    augmented.add_edge("own", 7, 0, 0.5)
    assert not augmented.fits(0, 7)


@settings(max_examples=inputs(80), deadline=None)
@given(graphs(least=3, most=9), st.booleans(), st.integers(1, 4), st.integers(0, 10**6), st.booleans())
def test_promises_are_kept(graph: KnowledgeGraph, both: bool, x: int, seed: int, apart: bool) -> None:
    graph = mirrored(graph) if both else graph
    augmented, rng = drafted(graph, x, seed), np.random.default_rng(seed)
    for _ in range(int(rng.integers(1, 4))):
        made = augmented.add_vertices(int(rng.integers(1, 4)))
        augmented.add_copy(made.tolist())
        name = next(iter(graph.relations))
        for u, v in zip(made[:-1].tolist(), made[1:].tolist(), strict=True):
            augmented.add_edge(name, u, v, 0.1)
            if augmented.symmetric:
                augmented.add_edge(name, v, u, 0.1)
        check_degrees(augmented)
    augmented.keep_degrees = apart
    new = np.arange(graph.n, augmented.n)
    rest, real = (augmented.inner[: graph.n].copy(), augmented.outer[: graph.n].copy()), augmented.n
    lacks = rng.integers(-2, 4, (2, len(new)))
    lacks[1] = lacks[0] if augmented.symmetric else lacks[1]
    promised = (
        augmented.inner[new] + np.maximum(lacks[0], 0),
        augmented.outer[new] + np.maximum(lacks[1], 0),
    )
    augmented.promise(new, *lacks)
    assert augmented.inner[new].tolist() == promised[0].tolist()
    assert sorted(augmented.open[0]) == np.repeat(new, np.maximum(lacks[0], 0)).tolist()
    expected = augmented.added
    augmented.settle()
    assert augmented.open == ([], [])
    released = check_degrees(augmented)
    assert augmented.added == released.n - graph.n + released.m - graph.m
    assert augmented.inner[new].tolist() == promised[0].tolist()
    assert augmented.outer[new].tolist() == promised[1].tolist()
    assert augmented.added >= expected
    check_safe(augmented, x)
    assert is_symmetric(released) or not augmented.symmetric
    source, target = augmented.ties
    assert len({frozenset(t) for t in zip(source.tolist(), target.tolist(), strict=True)}) == len(source)
    if apart:
        moved = (augmented.inner[: graph.n] - rest[0]) + (augmented.outer[: graph.n] - rest[1])
        assert int(moved.sum()) <= (augmented.n > real) * (2 if augmented.symmetric else 1)


@settings(max_examples=inputs(80), deadline=None)
@given(graphs(least=3, most=9), st.booleans(), st.integers(1, 3), st.integers(0, 10**6))
def test_promises_to_original_vertices(graph: KnowledgeGraph, both: bool, x: int, seed: int) -> None:
    """They may be partners of others, too, and get more than they were promised; never less."""
    graph = mirrored(graph) if both else graph
    augmented, rng = drafted(graph, x, seed), np.random.default_rng(seed)
    lacks = rng.integers(0, 3, (2, graph.n))
    lacks[1] = lacks[0] if augmented.symmetric else lacks[1]
    augmented.promise(np.arange(graph.n), *lacks)
    promised = augmented.inner.copy(), augmented.outer.copy()
    augmented.settle()
    released = check_degrees(augmented)
    assert (augmented.inner[: graph.n] >= promised[0]).all()
    assert (augmented.outer[: graph.n] >= promised[1]).all()
    assert augmented.added == released.n - graph.n + released.m - graph.m
    check_safe(augmented, x)


@pytest.mark.parametrize("incoming", [True, False])
@settings(max_examples=inputs(40), deadline=None)
@given(graphs(least=2, most=6), st.integers(1, 4), st.integers(0, 10**6), st.booleans())
def test_no_two_synthetic_edges_join_the_same_vertices(
    incoming: bool, graph: KnowledgeGraph, x: int, seed: int, apart: bool
) -> None:
    """In a relation without weights they would be one."""
    augmented = drafted(graph, x, seed)
    augmented.keep_degrees = apart
    with patch.object(augmentation, "_TRIES", (10, 10)):
        for _ in range(3):
            for v in range(graph.n):
                augmented.tie_to_partner(v, incoming=incoming)
    source, target = augmented.ties
    assert len({frozenset(t) for t in zip(source.tolist(), target.tolist(), strict=True)}) == len(source)
    assert (source != target).all()
    check_degrees(augmented)
    check_safe(augmented, x)


def test_promises_are_kept_among_each_other() -> None:
    """Most ends find each other, so that there are about half as many edges as ends."""
    graph = erdos_renyi(400, 1500, np.random.default_rng(0))
    assert graph.components()[0] == 1
    augmented, some = drafted(graph, 3), np.arange(0, 400, 4)
    augmented.promise(some, np.full(100, 2), np.full(100, 2))
    augmented.settle()
    assert 200 <= len(augmented.ties[0]) <= 204
    assert all(v not in augmented.ball(u) for u, v in zip(*(e.tolist() for e in augmented.ties), strict=True))


def pairs_graph(pairs: int) -> KnowledgeGraph:
    """A ring of 40 vertices, and some pairs of vertices apart."""
    ring = [(v, (v + 1) % 40, 0.1) for v in range(40)]
    return build(40 + 2 * pairs, [*ring, *((v, v + 1, 0.1) for v in range(40, 40 + 2 * pairs, 2))])


@pytest.mark.parametrize("pairs", [0, 5, 30])
def test_promised_edges_join_components(pairs: int) -> None:
    """Each of 20 ends joins one component while there are any, and no edge is added for them alone."""
    graph = pairs_graph(pairs)
    augmented = drafted(graph, 3)
    assert augmented.parts.count == graph.components()[0] == pairs + 1
    some = np.arange(0, 40, 4)
    augmented.promise(some, np.ones(10, dtype=np.int64), np.ones(10, dtype=np.int64))
    augmented.settle()
    check_parts(augmented)
    assert augmented.parts.count <= max(1, pairs + 1 - 16)
    assert len(augmented.ties[0]) <= 20
    check_degrees(augmented)


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(least=2, most=9), st.booleans(), st.integers(0, 10**6))
def test_parts_are_joined(graph: KnowledgeGraph, both: bool, seed: int) -> None:
    graph = mirrored(graph) if both else graph
    augmented = drafted(graph, 3, seed)
    new = augmented.add_vertices(2)
    augmented.tie(int(new[0]), 0)
    check_parts(augmented)
    augmented.tie(int(new[1]), int(new[0]))
    augmented.join()
    check_parts(augmented)
    assert augmented.parts.count == 1
    check_degrees(augmented)
    check_safe(augmented, 3)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("held", [False, True])
def test_each_part_is_joined_by_one_edge(apart: bool, held: bool) -> None:
    star, ring = [(0, v, 0.1) for v in range(1, 10)], [(10 + v, 10 + (v + 1) % 12, 0.1) for v in range(12)]
    loops = [(v, v, 0.1) for v in range(22, 25)]
    for edges in ([*star, *ring, *loops], loops):
        graph = build(25, edges)
        augmented = drafted(graph, 3)
        augmented.keep_degrees = apart
        parts = augmented.parts.count
        if held:  # all vertices are in copies: their images change
            augmented.add_copy([*range(25)])
        augmented.join()
        check_parts(augmented)
        assert augmented.parts.count == 1
        assert len(augmented.ties[0]) == parts - 1
        assert augmented.n == graph.n


def check_parts(augmented: Augmentation) -> None:
    """The parts are the components of the graph with all additions."""
    found = nx.Graph(zip(*(ends.tolist() for ends in augmented.graph.ends), strict=True))
    found.add_nodes_from(range(augmented.n))
    found.add_edges_from(zip(*(ends.tolist() for ends in augmented.ties), strict=True))
    components = list(nx.connected_components(found))
    assert len(components) == augmented.parts.count
    assert {frozenset(map(augmented.parts.of, c)) for c in components} == {
        frozenset([augmented.parts.of(next(iter(c)))]) for c in components
    }


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(least=2, most=6, second=False), st.integers(0, 10**6))
def test_room_for_weights(graph: KnowledgeGraph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    augmented = drafted(graph, 2, seed, {"own": 2.0})
    made, own = augmented.add_vertices(2), graph.relations["own"]
    assert own.weight is not None
    sums = np.zeros(augmented.n)
    np.add.at(sums, own.target, own.weight)
    for _ in range(5):
        u, v = rng.choice(augmented.n, 2, replace=False).tolist()
        augmented.add_edge("own", u, v, 0.25)
        sums[v] += 0.25
    every = np.arange(augmented.n)
    room = augmented.room("own", every)
    assert (room < 2.0 - sums).all()
    assert np.allclose(room, 0.97 * 2.0 - sums)
    assert augmented.room("own", int(made[0])) == room[made[0]]
    assert np.isinf(augmented.room("knows", every)).all()
    check_degrees(augmented)
