"""Plausible places of synthetic edges: degrees that original edges have, and joins that connect the graph."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.anonymizers.assembly import is_symmetric
from kgreason.isomorphism.anonymizers.augmentation import Augmentation
from kgreason.isomorphism.anonymizers.edge_plausibility import EdgePlausibility, intervals, plausible_joins
from tests.examples import inputs
from tests.graphs import graphs, mirrored

NOTHING = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)


def register(pairs: int) -> KnowledgeGraph:
    """Owners are never owned: ten of them share eleven companies, `pairs` of them own one company each."""
    shares = [(f"o{i}", f"c{(i + j) % 6}") for i in range(10) for j in range(1 + i % 3)]
    shares += [(f"o{i}", f"e{i // 2}") for i in range(10)]
    return KnowledgeGraph.from_edges([*shares, *((f"p{i}", f"d{i}") for i in range(pairs))])


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(least=1, most=9), st.booleans(), st.integers(0, 10**6))
def test_joins_connect_the_components(graph: KnowledgeGraph, both: bool, seed: int) -> None:
    graph = mirrored(graph) if both else graph
    count, component = graph.components()
    symmetric = is_symmetric(graph)
    joins = plausible_joins(graph, np.random.default_rng(seed), symmetric=symmetric)
    assert len(joins[0]) == max(0, count - 1)
    largest = np.bincount(component, minlength=1).argmax()
    sides = np.stack([component[ends] for ends in joins])
    assert ((sides == largest).sum(axis=0) == 1).all()
    assert sorted(sides[sides != largest].tolist()) == [c for c in range(count) if c != largest]
    again = plausible_joins(graph, np.random.default_rng(seed), symmetric=symmetric)
    assert all(np.array_equal(a, b) for a, b in zip(joins, again, strict=True))


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(least=2, most=9))
def test_kinds_of_more_original_edges_are_more_plausible(graph: KnowledgeGraph) -> None:
    degrees = graph.in_degree(), graph.out_degree()
    model = EdgePlausibility.fit(degrees, graph.ends, NOTHING)
    source, target = graph.ends
    ends = [(d[source], d[target]) for d in degrees]
    found = model.of((ends[0][0], ends[1][0]), (ends[0][1], ends[1][1])).tolist()
    kinds = list(zip(*(intervals(d).tolist() for pair in ends for d in pair), strict=True))
    for kind, odds in zip(kinds, found, strict=True):
        assert odds >= np.log(0.9 * Counter(kinds)[kind])
    if found:
        unseen = np.array([1 << 20])
        assert model.of((unseen, unseen), (unseen, unseen))[0] < min(found)


@settings(max_examples=inputs(30), deadline=None)
@given(st.integers(0, 10**6))
def test_joins_run_from_owners_to_owned(seed: int) -> None:
    graph = register(40)
    source, target = plausible_joins(graph, np.random.default_rng(seed), symmetric=False)
    assert (graph.out_degree()[source] > 0).all()
    assert (graph.in_degree()[target] > 0).all()


@settings(max_examples=inputs(30), deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_partners_have_degrees_of_real_edges(seed: int, incoming: bool) -> None:
    graph = register(30)
    augmented = Augmentation(graph, 3, {}, np.random.default_rng(seed), symmetric=False)
    inner, outer = graph.in_degree(), graph.out_degree()
    for v in np.flatnonzero(inner if incoming else outer)[::3].tolist():
        augmented.tie_to_partner(v, incoming=incoming)
    partners = augmented.ties[not incoming]
    assert len(partners)
    assert augmented.n == graph.n
    assert ((outer if incoming else inner)[partners] > 0).all()


def test_synthetic_edges_are_spread_over_plausible_kinds() -> None:
    degrees = np.array([0, 0, 1, 2]), np.array([1, 2, 0, 0])
    real = np.array([0] * 9 + [1] * 6), np.array([2] * 9 + [3] * 6)
    first, second = (tuple(d[[v]] for d in degrees) for v in (0, 1))
    to_first, to_second = (tuple(d[[v]] for d in degrees) for v in (2, 3))
    before = EdgePlausibility.fit(degrees, real, NOTHING)
    assert before.of(first, to_first)[0] > before.of(second, to_second)[0]
    many = EdgePlausibility.fit(degrees, real, (np.zeros(5, dtype=np.int64), np.full(5, 2)))
    assert many.of(first, to_first)[0] < many.of(second, to_second)[0]
