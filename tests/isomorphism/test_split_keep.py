"""Split & merge that loses nothing: every subgraph is protected, those that cross the cuts too."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import SILENT
from kgreason.base.resources import resource
from kgreason.graph.generators import erdos_renyi, scale_free
from kgreason.graph.knowledge_graph import KnowledgeGraph, pieces
from kgreason.isomorphism.anonymizers import split_merge
from kgreason.isomorphism.anonymizers.assembly import is_symmetric, publish
from kgreason.isomorphism.anonymizers.klone import Klone
from kgreason.isomorphism.anonymizers.partition import partition, with_stubs, without_stubs
from kgreason.isomorphism.anonymizers.split_keep import (
    DegreeConstraints,
    SplitKeep,
    connecting_edges,
    copies,
    seam,
)
from kgreason.isomorphism.verification.checker import verify
from tests.examples import inputs
from tests.graphs import graphs, mirrored
from tests.isomorphism.test_split import CONTROL, REACH, numbered


def whole_components(graph: KnowledgeGraph, parts: np.ndarray, least: int) -> np.ndarray:
    """The parts, but with components of fewer than `least` vertices in one of them."""
    _, component = graph.components()
    first = np.unique(component, return_index=True)[1]
    small = np.bincount(component)[component] < least
    return numbered(np.where(small, parts[first[component]], parts).tolist())


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(least=3, most=10, edges=18), st.integers(0, 99), st.booleans(), st.integers(2, 3), st.data())
def test_every_subgraph_is_protected(
    graph: KnowledgeGraph, seed: int, both: bool, k: int, data: st.DataObject
) -> None:
    graph = mirrored(graph) if both else graph
    x = 3
    drawn = np.array(data.draw(st.lists(st.integers(0, 2), min_size=graph.n, max_size=graph.n)))
    parts = whole_components(graph, drawn, x)
    program = replace(CONTROL, incoming_sums={})
    rng = np.random.default_rng(seed)
    augmented = SplitKeep(Klone(k, 1), parts, k, x).augment(graph, program, rng, SILENT)
    for name, r in graph.relations.items():
        there = augmented.graph.relations[name]
        assert there.source[: len(r)].tolist() == r.source.tolist()
        assert there.target[: len(r)].tolist() == r.target.tolist()
    release = publish(augmented, frozenset(graph.labels.tolist()), rng)
    verdict = verify(graph, release.graph, release.mapping, program, k, x)
    failed = [str(item) for item in verdict.items if not item.holds and item.name != "parameters"]
    assert failed == []


def test_bounded_sums_and_natural_images() -> None:
    graph = scale_free(300, 3.0, np.random.default_rng(4), economic=True)
    release = kgreason.anonymize(
        resource("rules", "ultimate_controller.vada"),
        graph,
        method="klone",
        k=3,
        x=4,
        trials=1,
        split=60,
        keep_cuts=True,
        seed=1,
    )
    assert release.verdict.holds
    assert release.release.parts is None
    assert release.release.guarantee.cut == 0
    assert release.release.figures["cut_edges"] > 0


@settings(max_examples=inputs(80), deadline=None)
@given(graphs(least=2, most=9, second=False), st.integers(2, 4), st.data())
def test_the_seam_is_the_union_of_what_crosses(graph: KnowledgeGraph, x: int, data: st.DataObject) -> None:
    drawn = np.array(data.draw(st.lists(st.integers(0, 2), min_size=graph.n, max_size=graph.n)))
    parts = whole_components(graph, drawn, x)
    source, target = graph.ends
    plain = nx.Graph(list(zip(source.tolist(), target.tolist(), strict=True)))
    plain.add_nodes_from(range(graph.n))
    crossing = {
        v
        for members in combinations(range(graph.n), x)
        if nx.is_connected(plain.subgraph(members)) and len(set(parts[list(members)].tolist())) > 1
        for v in members
    }
    assert set(seam(graph, parts, x).tolist()) == crossing


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(least=2, most=9), st.data())
def test_stubs_show_the_true_degrees_and_vanish(graph: KnowledgeGraph, data: st.DataObject) -> None:
    parts = numbered(data.draw(st.lists(st.integers(0, 2), min_size=graph.n, max_size=graph.n)))
    divided = pieces(graph, parts)
    stubbed = with_stubs(graph, parts, divided, "stub")
    for piece, more in zip(divided, stubbed, strict=True):
        own = piece.vertices
        assert more.in_degree()[: len(own)].tolist() == graph.in_degree()[own].tolist()
        assert more.out_degree()[: len(own)].tolist() == graph.out_degree()[own].tolist()
        stubs = more.relations["stub"]
        loops = stubs.source == stubs.target
        assert sorted(stubs.source[loops].tolist()) == list(range(len(own), more.n))
        ends = set(zip(stubs.source.tolist(), stubs.target.tolist(), strict=True))
        assert len(ends) == len(stubs)
        assert all(u < len(own) <= v or v < len(own) <= u or u == v for u, v in ends)
        if is_symmetric(graph):
            assert all((v, u) in ends for u, v in ends)
    back = without_stubs(graph, divided, stubbed, stubbed, "stub")
    assert back.graph.n == graph.n
    assert back.part.tolist() == parts.tolist()
    for name, r in graph.relations.items():
        ends = sorted(zip(r.source.tolist(), r.target.tolist(), strict=True))
        there = back.graph.relations[name]
        assert sorted(zip(there.source.tolist(), there.target.tolist(), strict=True)) == ends
        assert back.weighed[name] == int((parts[r.source] == parts[r.target]).sum())


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(least=2, most=9), st.integers(2, 4), st.integers(0, 99), st.booleans(), st.data())
def test_copies_of_a_region_stay_apart(
    graph: KnowledgeGraph, k: int, seed: int, both: bool, data: st.DataObject
) -> None:
    graph = mirrored(graph) if both else graph
    both = both and is_symmetric(graph)
    region = np.array(sorted(data.draw(st.sets(st.integers(0, graph.n - 1), min_size=1))))
    found = copies(graph, region, k, np.random.default_rng(seed), symmetric=both)
    source, target = found.synthetic
    assert source.min(initial=graph.n) >= graph.n
    assert target.min(initial=graph.n) >= graph.n
    assert (source < found.n).all()
    last = graph.n + len(region) * (k - 1)
    copy_of = (np.arange(found.n) - graph.n) // len(region)
    inside = (source < last) & (target < last)
    assert (copy_of[source] != copy_of[target])[inside].all()
    forth = (np.concatenate([source, target]), np.concatenate([target, source])) if both else (source, target)
    for phi, own in enumerate((graph.out_degree(), graph.in_degree())):
        ends = [e.target if phi else e.source for e in found.edges.values()]
        degree = np.bincount(np.concatenate([forth[phi], *ends]), minlength=found.n)
        for i, v in enumerate(region.tolist()):
            seen = [int(own[v]), *(int(degree[graph.n + j * len(region) + i]) for j in range(k - 1))]
            assert len(set(seen)) == k


@settings(max_examples=inputs(80), deadline=None)
@given(graphs(least=3, most=10, second=False), st.integers(0, 99), st.booleans(), st.data())
def test_ties_keep_apart(graph: KnowledgeGraph, seed: int, both: bool, data: st.DataObject) -> None:
    graph = mirrored(graph) if both else graph
    both = both and is_symmetric(graph)
    part = np.array(data.draw(st.lists(st.integers(-1, 1), min_size=graph.n, max_size=graph.n)))
    rows = np.array([[0, 1]]) if data.draw(st.booleans()) else np.empty((0, 2), dtype=np.int64)
    degrees = graph.out_degree(), graph.in_degree()
    found, n = connecting_edges(
        graph.components()[1],
        degrees,
        DegreeConstraints(part, rows),
        np.random.default_rng(seed),
        symmetric=both,
    )
    edges = [*zip(*(e.tolist() for e in graph.ends), strict=True)]
    added = [*zip(*(e.tolist() for e in found), strict=True)]
    tied = nx.Graph([*edges, *added])
    tied.add_nodes_from(range(n))
    assert nx.is_connected(tied)
    more = [*added, *((b, a) for a, b in added)] if both else added
    pairs = [
        (u, v)
        for u, v in combinations(range(graph.n), 2)
        if part[u] == part[v] >= 0 or [u, v] in rows.tolist()
    ]
    for phi, before in enumerate(degrees):
        after = before + np.bincount([e[phi] for e in more], minlength=n)[: graph.n]
        assert all(after[u] != after[v] for u, v in pairs if before[u] != before[v])


def test_one_and_two_processes_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = erdos_renyi(120, 160, np.random.default_rng(3))
    parts = partition(graph, 30, 3)
    seen = []
    for count in (1, 2):
        monkeypatch.setattr(split_merge, "cores", lambda count=count: count)
        found = SplitKeep(Klone(2, 1), parts, 2, 3).augment(graph, REACH, np.random.default_rng(5), SILENT)
        (own,) = found.graph.relations.values()
        assert own.weight is not None
        seen.append((own.source.tolist(), own.target.tolist(), own.weight.tolist()))
    assert seen[0] == seen[1]


def test_single_vertices_cross_nothing() -> None:
    graph = erdos_renyi(20, 40, np.random.default_rng(0))
    with pytest.raises(AnonymizationError, match="single vertices cross no cut"):
        SplitKeep(Klone(2, 1), np.arange(20) // 10, 2, 1).augment(
            graph, REACH, np.random.default_rng(0), SILENT
        )


def test_cuts_need_parts() -> None:
    graph = erdos_renyi(20, 40, np.random.default_rng(0))
    with pytest.raises(AnonymizationError, match="keep_cuts has no meaning without split"):
        kgreason.anonymize(resource("rules", "reachability.vada"), graph, keep_cuts=True)


def test_small_components_are_not_divided() -> None:
    edges = [(f"a{i}", f"a{i + 1}") for i in range(40)] + [(f"b{i}", f"c{i}") for i in range(20)]
    graph = KnowledgeGraph.from_edges(edges)
    parts = partition(graph, 10, 3)
    assert all(parts[u] == parts[v] for u, v in zip(*graph.ends, strict=True) if graph.labels[u][0] == "b")
