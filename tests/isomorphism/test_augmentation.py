"""Drafts: additions that change no attacked subgraph, and degrees that are those of the graph in the end."""

from __future__ import annotations

from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.graph.generators import erdos_renyi
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.anonymizers import augmentation
from kgreason.isomorphism.anonymizers.assembly import assemble, is_symmetric
from kgreason.isomorphism.anonymizers.augmentation import Draft
from tests.examples import inputs
from tests.graph.test_census import near
from tests.graphs import build, graphs, mirrored
from tests.reference import connected_sets


def drafted(graph: KnowledgeGraph, x: int, seed: int = 0, bounds: dict[str, float] | None = None) -> Draft:
    return Draft(graph, x, bounds or {}, np.random.default_rng(seed), symmetric=is_symmetric(graph))


def assembled(draft: Draft) -> KnowledgeGraph:
    rng = np.random.default_rng(0)
    return assemble(draft.graph, draft.n, draft.edges(), draft.ties, rng, symmetric=draft.symmetric)[0]


def check_degrees(draft: Draft) -> KnowledgeGraph:
    released = assembled(draft)
    assert released.in_degree().tolist() == draft.inner.tolist()
    assert released.out_degree().tolist() == draft.outer.tolist()
    return released


def induced(graph: KnowledgeGraph, members: tuple[int, ...]) -> list[Any]:
    found = []
    for name, r in graph.relations.items():
        inside = np.isin(r.source, members) & np.isin(r.target, members)
        found += [
            (name, u, v) for u, v in zip(r.source[inside].tolist(), r.target[inside].tolist(), strict=True)
        ]
    return sorted(found)


def check_safe(draft: Draft, x: int) -> None:
    """Attacked subgraphs are as before."""
    released = assembled(draft)
    for members in connected_sets(near(draft.graph), x):
        assert induced(released, members) == induced(draft.graph, members)


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(least=2, most=8), st.integers(1, 5), st.booleans())
def test_safe_edges_change_no_attacked_subgraph(graph: KnowledgeGraph, x: int, both: bool) -> None:
    draft = drafted(mirrored(graph) if both else graph, x)
    refused = set()
    for u, v in product(range(graph.n), repeat=2):
        if draft.fits(u, v):
            draft.tie(u, v)
        else:
            refused.add(frozenset((u, v)))
    check_safe(draft, x)
    check_degrees(draft)
    ties = list(zip(*(ends.tolist() for ends in draft.ties), strict=True))
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
    draft = drafted(graph, x)
    for v in range(graph.n):
        assert draft.ball(v) == set(nx.single_source_shortest_path_length(plain, v, max(x - 1, 1)))


def test_edges_that_are_not_safe() -> None:
    path = build(5, [(0, 1, 0.1), (1, 2, 0.1), (2, 3, 0.1), (3, 4, 0.1)])
    draft = drafted(path, 3)
    assert [draft.fits(0, v) for v in range(5)] == [False, False, False, True, True]
    new = draft.new(3).tolist()
    assert new == [5, 6, 7]
    assert all(draft.fits(v, 0) and draft.fits(0, v) for v in new)
    assert not draft.fits(5, 5)
    draft.piece([5, 0, 6])
    assert draft.mates(5) == {5, 0, 6}
    assert not any(draft.fits(u, v) for u, v in [(5, 0), (0, 5), (5, 6), (6, 5)])
    assert draft.fits(7, 5)
    draft.tie(7, 5)
    assert not draft.fits(7, 5)
    assert not draft.fits(5, 7)
    assert draft.beside(7) == {5}
    draft.edge("own", 7, 0, 0.5)
    assert not draft.fits(0, 7)


@settings(max_examples=inputs(80), deadline=None)
@given(graphs(least=3, most=9), st.booleans(), st.integers(1, 4), st.integers(0, 10**6), st.booleans())
def test_promises_are_kept(graph: KnowledgeGraph, both: bool, x: int, seed: int, apart: bool) -> None:
    graph = mirrored(graph) if both else graph
    draft, rng = drafted(graph, x, seed), np.random.default_rng(seed)
    for _ in range(int(rng.integers(1, 4))):
        made = draft.new(int(rng.integers(1, 4)))
        draft.piece(made.tolist())
        name = next(iter(graph.relations))
        for u, v in zip(made[:-1].tolist(), made[1:].tolist(), strict=True):
            draft.edge(name, u, v, 0.1)
            if draft.symmetric:
                draft.edge(name, v, u, 0.1)
        check_degrees(draft)
    draft.apart = apart
    new = np.arange(graph.n, draft.n)
    rest, real = (draft.inner[: graph.n].copy(), draft.outer[: graph.n].copy()), draft.n
    lacks = rng.integers(-2, 4, (2, len(new)))
    lacks[1] = lacks[0] if draft.symmetric else lacks[1]
    promised = draft.inner[new] + np.maximum(lacks[0], 0), draft.outer[new] + np.maximum(lacks[1], 0)
    draft.promise(new, *lacks)
    assert draft.inner[new].tolist() == promised[0].tolist()
    assert sorted(draft.open[0]) == np.repeat(new, np.maximum(lacks[0], 0)).tolist()
    expected = draft.added
    draft.settle()
    assert draft.open == ([], [])
    released = check_degrees(draft)
    assert draft.added == released.n - graph.n + released.m - graph.m
    assert draft.inner[new].tolist() == promised[0].tolist()
    assert draft.outer[new].tolist() == promised[1].tolist()
    assert draft.added >= expected
    check_safe(draft, x)
    assert is_symmetric(released) or not draft.symmetric
    source, target = draft.ties
    assert len({frozenset(t) for t in zip(source.tolist(), target.tolist(), strict=True)}) == len(source)
    if apart:
        moved = (draft.inner[: graph.n] - rest[0]) + (draft.outer[: graph.n] - rest[1])
        assert int(moved.sum()) <= (draft.n > real) * (2 if draft.symmetric else 1)


@settings(max_examples=inputs(80), deadline=None)
@given(graphs(least=3, most=9), st.booleans(), st.integers(1, 3), st.integers(0, 10**6))
def test_promises_to_original_vertices(graph: KnowledgeGraph, both: bool, x: int, seed: int) -> None:
    """They may be partners of others, too, and get more than they were promised; never less."""
    graph = mirrored(graph) if both else graph
    draft, rng = drafted(graph, x, seed), np.random.default_rng(seed)
    lacks = rng.integers(0, 3, (2, graph.n))
    lacks[1] = lacks[0] if draft.symmetric else lacks[1]
    draft.promise(np.arange(graph.n), *lacks)
    promised = draft.inner.copy(), draft.outer.copy()
    draft.settle()
    released = check_degrees(draft)
    assert (draft.inner[: graph.n] >= promised[0]).all()
    assert (draft.outer[: graph.n] >= promised[1]).all()
    assert draft.added == released.n - graph.n + released.m - graph.m
    check_safe(draft, x)


@pytest.mark.parametrize("incoming", [True, False])
@settings(max_examples=inputs(40), deadline=None)
@given(graphs(least=2, most=6), st.integers(1, 4), st.integers(0, 10**6), st.booleans())
def test_no_two_synthetic_edges_join_the_same_vertices(
    incoming: bool, graph: KnowledgeGraph, x: int, seed: int, apart: bool
) -> None:
    """In a relation without weights they would be one."""
    draft = drafted(graph, x, seed)
    draft.apart = apart
    with patch.object(augmentation, "_TRIES", 10):
        for _ in range(3):
            for v in range(graph.n):
                draft.tie_to_partner(v, incoming=incoming)
    source, target = draft.ties
    assert len({frozenset(t) for t in zip(source.tolist(), target.tolist(), strict=True)}) == len(source)
    assert (source != target).all()
    check_degrees(draft)
    check_safe(draft, x)


def test_promises_are_kept_among_each_other() -> None:
    """Most ends find each other, so that there are about half as many edges as ends."""
    graph = erdos_renyi(400, 500, np.random.default_rng(0))
    draft, some = drafted(graph, 3), np.arange(0, 400, 4)
    draft.promise(some, np.full(100, 2), np.full(100, 2))
    draft.settle()
    assert 200 <= len(draft.ties[0]) <= 204
    assert all(v not in draft.ball(u) for u, v in zip(*(e.tolist() for e in draft.ties), strict=True))


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(least=2, most=6, second=False), st.integers(0, 10**6))
def test_room_for_weights(graph: KnowledgeGraph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    draft = drafted(graph, 2, seed, {"own": 2.0})
    made, own = draft.new(2), graph.relations["own"]
    assert own.weight is not None
    sums = np.zeros(draft.n)
    np.add.at(sums, own.target, own.weight)
    for _ in range(5):
        u, v = rng.choice(draft.n, 2, replace=False).tolist()
        draft.edge("own", u, v, 0.25)
        sums[v] += 0.25
    every = np.arange(draft.n)
    room = draft.room("own", every)
    assert (room < 2.0 - sums).all()
    assert np.allclose(room, 0.97 * 2.0 - sums)
    assert draft.room("own", int(made[0])) == room[made[0]]
    assert np.isinf(draft.room("knows", every)).all()
    check_degrees(draft)
