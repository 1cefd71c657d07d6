from __future__ import annotations

from itertools import permutations
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import SILENT
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.graph.subgraphs.enumeration import attacked_subgraphs, connected_subgraphs
from kgreason.graph.subgraphs.ordered_adjacency import undirected
from kgreason.graph.subgraphs.patterns import Classes, cells_between, classify, pair_kinds
from kgreason.isomorphism.anonymizers import kguard_published
from kgreason.isomorphism.anonymizers.assembly import is_symmetric
from kgreason.isomorphism.anonymizers.augmentation import ball
from kgreason.isomorphism.anonymizers.degree_diversity import classes_of
from kgreason.isomorphism.anonymizers.kguard_published import (
    PublishedKguard,
    choose_disjoint,
    copied_edges,
    partitioned,
    reweighed,
)
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising
from kgreason.isomorphism.definition import Augmented, Guarantee
from kgreason.language.check.program_checker import load_text
from tests.examples import inputs
from tests.graphs import build, graphs, mirrored

RULES = load_text(
    """@node("company"). @edge("own"). @edge("knows"). @derived("control"). @query("holding").
    @incoming_sum("own", 1.0).
    control(X,X) :- company(X).
    control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.
    holding(X) :- control(X,Y), X != Y."""
)
REACH = load_text(
    """@edge("own"). @derived("reach"). @query("two_owns").
    reach(X,Y) :- own(X,Y,W), X != Y, W > 0.
    reach(X,Y) :- reach(X,Z), own(Z,Y,W), X != Y, Z != Y, W > 0.
    two_owns(X) :- own(X,Y,W), X != Y, K = mcount(Y), K >= 2."""
)


def kguard(graph: KnowledgeGraph, k: int = 2, x: int = 2, seed: int = 0) -> Augmented:
    return PublishedKguard(k, x, 1 + seed % 2, 10**7).augment(
        graph, RULES, np.random.default_rng(seed), SILENT
    )


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(least=3), st.integers(2, 4), st.integers(1, 3), st.integers(0, 1000))
def test_kguard_only_adds(graph: KnowledgeGraph, k: int, x: int, seed: int) -> None:
    augmented = kguard(graph, k, x, seed)
    released = augmented.graph
    assert augmented.guarantee == Guarantee(k, x)
    assert augmented.originals == graph.n
    assert released.components()[0] == 1
    for name, relation in graph.relations.items():
        new = released.relations[name]
        assert np.array_equal(new.source[: len(relation)], relation.source)
        assert np.array_equal(new.target[: len(relation)], relation.target)
    own = released.relations["own"]
    assert ((own.weight > 0) & (own.weight <= 1)).all()
    assert (own.weight[: len(graph.relations["own"])] != graph.relations["own"].weight).all()
    if len(own):
        assert np.bincount(own.target, own.weight).max() < 1
    assert released.n - graph.n == augmented.figures["vertices_added"]


@settings(max_examples=inputs(40), deadline=None)
@given(graphs(least=3, most=7, edges=10), st.integers(2, 4), st.integers(1, 3), st.integers(0, 1000))
def test_symmetric_graphs_stay_symmetric(drawn: KnowledgeGraph, k: int, x: int, seed: int) -> None:
    graph = mirrored(drawn)
    released = kguard(graph, k, x, seed).graph
    assert is_symmetric(released) == is_symmetric(graph)
    assert released.components()[0] == 1


@settings(max_examples=inputs(40), deadline=None)
@given(graphs(least=3, most=6, edges=9), st.integers(1, 3), st.integers(0, 1000))
def test_some_member_of_each_class_is_protected(graph: KnowledgeGraph, x: int, seed: int) -> None:
    released = kguard(graph, 2, x, seed).graph
    for members in attacked_subgraphs(graph, x):
        classes = classify(released, RULES, members)
        everywhere = connected_subgraphs(released, members.shape[1])
        assert len(members) <= len(everywhere)
        protected = {
            int(c) for c, m in zip(classes.ids, members, strict=True) if has_image(released, m, everywhere)
        }
        assert protected == set(range(classes.count)) or near_edges(graph, released, x)


@settings(max_examples=inputs(40), deadline=None)
@given(graphs(least=3, most=6, edges=9), st.integers(0, 1000))
def test_copies_have_weights_of_their_own(graph: KnowledgeGraph, seed: int) -> None:
    """New weights, from which the rules derive on each copy what they derive on its model."""
    rng = np.random.default_rng(seed)
    noising = WeightNoising.fit(graph, RULES, 1)
    noised, members = noising.originals(rng, SILENT), connected_subgraphs(graph, 2)
    if not len(members):
        return
    model = members[rng.integers(0, len(members), 6)]
    copy = graph.n + rng.permutation(12).reshape(6, 2)
    copied = [(model[:4], copy[:4]), (model[4:], copy[4:])]
    edges = {name: copied_edges(r, graph.n, copied) for name, r in noised.relations.items()}
    changed = reweighed(noised, copied, edges, noising, rng)
    own, old = changed["own"], edges["own"]
    assert np.array_equal(own.source, old.source)
    assert len(set(zip(own.source, own.target, own.weight, strict=True))) == len(own.source)
    released = KnowledgeGraph(
        np.arange(graph.n + 12).astype(object),
        {name: Relation(e.source, e.target, e.weight) for name, e in changed.items()},
    )
    assert np.array_equal(
        InducedReasoner(released, RULES).derived(copy), InducedReasoner(noised, RULES).derived(model)
    )
    if len(own.source):
        assert np.bincount(own.target, own.weight).max() < 1


def test_copied_edges_are_not_known_by_equal_weights() -> None:
    rng = np.random.default_rng(0)
    graph = build(
        60,
        [
            (int(u), int(v), float(w))
            for (u, v), w in zip(rng.integers(0, 60, (70, 2)), rng.random(70) / 8, strict=True)
            if u != v
        ],
    )
    noising = WeightNoising.fit(graph, RULES, 1)
    noised = noising.originals(rng, SILENT)
    model = connected_subgraphs(graph, 3)[:40]
    copied = [(model, 60 + np.arange(120).reshape(40, 3))]
    edges = {name: copied_edges(r, 60, copied) for name, r in noised.relations.items()}
    changed = reweighed(noised, copied, edges, noising, rng)["own"].weight
    assert np.mean(changed == edges["own"].weight) < 0.1


def near_edges(graph: KnowledgeGraph, released: KnowledgeGraph, x: int) -> bool:
    """Whether a synthetic edge joins original vertices nearer than x: it may have changed classes."""
    indptr, neighbours = undirected(graph)
    for name, relation in released.relations.items():
        start = len(graph.relations[name])
        for u, v in zip(relation.source[start:].tolist(), relation.target[start:].tolist(), strict=True):
            if max(u, v) < graph.n and ball(indptr, neighbours, u, x - 1)[v]:
                return True
    return False


def has_image(graph: KnowledgeGraph, member: np.ndarray, candidates: np.ndarray) -> bool:
    """Whether some disjoint candidate is an image of the member with different degrees (item 4 for k = 2)."""
    degrees = (graph.in_degree(), graph.out_degree())
    disjoint = candidates[~np.isin(candidates, member).any(axis=1)]
    own = facts_within(graph, member[None])
    for order in permutations(range(len(member))):
        images = disjoint[:, order]
        same = (facts_within(graph, images) == own).all(axis=1)
        for degree in degrees:
            same &= (degree[images] != degree[member]).all(axis=1)
        if same.any():
            return True
    return False


def facts_within(graph: KnowledgeGraph, members: np.ndarray) -> np.ndarray:
    ground = cells_between(pair_kinds(graph), members)
    derived = InducedReasoner(graph, RULES).derived(members)
    return np.concatenate([ground.reshape(len(members), -1), derived.reshape(len(members), -1)], axis=1)


def test_edges_are_added_far_away_where_possible() -> None:
    rng = np.random.default_rng(2)
    graph = build(60, [(int(u), int(v), 0.2) for u, v in rng.integers(0, 60, (50, 2)) if u != v])
    assert not near_edges(graph, kguard(graph, 3, 2).graph, 2)


def test_members_that_differ_in_degrees_are_preferred() -> None:
    members = np.arange(40).reshape(20, 2)
    degree = np.ones(40, dtype=np.int64)
    degree[14:16] = 2
    chosen = choose_disjoint(
        Classes(np.zeros(20, dtype=np.int64), members, 1), 2, (degree, degree), np.random.default_rng(0)
    )
    assert 14 in chosen[0]


@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 99))
def test_chosen_members_are_disjoint(count: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    members = np.array([rng.choice(12, 3, replace=False) for _ in range(count)])
    ids = rng.integers(0, 2, count)
    classes = Classes(ids, members, int(ids.max()) + 1)
    degree = rng.integers(0, 3, 12)
    for number, chosen in enumerate(choose_disjoint(classes, k, (degree, degree), rng)):
        assert len(chosen) <= k
        assert len(np.unique(chosen)) == chosen.size
        assert len(chosen) > 0 or not (ids == number).any()


def test_the_same_seed_gives_the_same_graph() -> None:
    graph = build(6, [(0, 1, 0.5), (1, 2, 0.25), (3, 4, 0.75)], [(1, 5)])
    released = [kguard(graph, 3, 2, seed).graph.relations["own"] for seed in (4, 4, 5)]
    assert np.array_equal(released[0].source, released[1].source)
    assert np.array_equal(released[0].weight, released[1].weight)
    assert not np.array_equal(released[0].weight, released[2].weight)


def test_too_many_subgraphs_are_refused_before_any_work() -> None:
    graph = build(30, [(0, i, 0.5) for i in range(1, 30)])
    with pytest.raises(AnonymizationError, match="more than 1,000 connected subgraphs with 4 vertices"):
        PublishedKguard(3, 4, 10, max_subgraphs=1_000).augment(graph, RULES, np.random.default_rng(0), SILENT)


def test_empty_graphs() -> None:
    nothing = KnowledgeGraph(np.empty(0, dtype=object), {"own": build(1, []).relations["own"]})
    assert kguard(nothing).graph.n == 0
    assert kguard(build(2, []), x=1).graph.components()[0] == 1


@settings(max_examples=inputs(40), deadline=None)
@given(graphs(least=3, most=6, edges=9), st.integers(1, 3), st.integers(0, 1000))
def test_line_11_as_it_stands(graph: KnowledgeGraph, x: int, seed: int) -> None:
    """Vertices that chains of isomorphisms between any subgraphs connect are one part of the partition."""
    rng = np.random.default_rng(seed)
    noised = WeightNoising.fit(graph, RULES, 1).originals(rng, SILENT)
    naive = np.eye(graph.n, dtype=np.bool_)
    parts = np.arange(graph.n)
    for members in attacked_subgraphs(noised, x):
        for one in members:
            own = facts_within(noised, one[None])
            for order in permutations(range(len(one))):
                images = members[:, order]
                images = images[(facts_within(noised, images) == own).all(axis=1)]
                naive[np.broadcast_to(one, images.shape), images] = True
        parts = partitioned(parts, classify(noised, RULES, members))
    for v in range(graph.n):  # Warshall
        naive |= np.outer(naive[:, v], naive[v])
    assert np.array_equal(parts, naive.argmax(axis=1))


@settings(max_examples=inputs(20), deadline=None)
@given(graphs(least=3, most=6, edges=9), st.integers(1, 3), st.integers(0, 1000))
def test_chosen_vertices_of_a_part_differ_if_line_11_is_literal(
    graph: KnowledgeGraph, x: int, seed: int
) -> None:
    with patch.object(kguard_published, "classes_of", side_effect=classes_of) as asked:
        made = PublishedKguard(2, x, 1, 10**7, literal=True).augment(
            graph, RULES, np.random.default_rng(seed), SILENT
        )
    (numbers, buckets, _), _ = asked.call_args
    chosen = np.unique(np.concatenate([bucket.ravel() for bucket in buckets]))
    for degree in (made.graph.in_degree(), made.graph.out_degree()):
        held = list(zip(numbers[chosen].tolist(), degree[chosen].tolist(), strict=True))
        assert len(set(held)) == len(held)
    for bucket in buckets:  # with copies
        assert (numbers[bucket] == numbers[bucket[0]]).all()


def test_the_literal_reading_adds_more() -> None:
    """Chains of three vertices: their vertices are all images of each other, so all chosen ones differ."""
    graph = build(40, [(3 * i + j, 3 * i + j + 1, 0.2) for i in range(13) for j in range(2)])
    light, literal = (
        PublishedKguard(2, 2, 1, 10**7, mode).augment(graph, RULES, np.random.default_rng(0), SILENT)
        for mode in (False, True)
    )
    assert literal.figures["edges_added"] > light.figures["edges_added"]


@pytest.mark.slow
def test_infect_dublin_within_a_minute(real_data: Path) -> None:
    edges = np.loadtxt(real_data / "weighted/infect-dublin.edges", dtype=np.int64, comments="%") - 1
    labels = np.arange(410).astype(str).astype(object)
    graph = KnowledgeGraph(labels, {"own": Relation(edges[:, 0].copy(), edges[:, 1].copy())})
    augmented = PublishedKguard(3, 4, 10, 10**7).augment(graph, REACH, np.random.default_rng(0), SILENT)
    assert augmented.figures["subgraphs"] == 535_413
    assert augmented.figures["vertices_added"] <= 5
