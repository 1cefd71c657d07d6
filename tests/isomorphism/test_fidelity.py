"""Fidelity against the area between distribution functions."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.isomorphism.utility.query_utility import fidelity
from tests.examples import inputs


def make(n: int, pairs: list[tuple[int, int]], **more: Relation) -> KnowledgeGraph:
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    labels = np.array([str(v) for v in range(n)], dtype=object)
    weight = np.linspace(0, 1, len(ends))
    own = Relation(ends[:, 0].copy(), ends[:, 1].copy(), weight)
    return KnowledgeGraph(labels, {"own": own, **more})


def area(before: np.ndarray, after: np.ndarray) -> float:
    """Wasserstein-1 of two samples: the area between their distribution functions."""
    points = np.unique(np.concatenate([before, after]))
    gaps = [abs((before <= p).mean() - (after <= p).mean()) for p in points[:-1]]
    return float(np.dot(gaps, np.diff(points)))


PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12)


@settings(max_examples=inputs(60), deadline=None)
@given(PAIRS, PAIRS, st.integers(5, 8))
def test_distances(before: list, after: list, n: int) -> None:
    original, released = make(5, before), make(n, after)
    found = fidelity(original, released)
    assert found.in_degree == pytest.approx(area(original.in_degree(), released.in_degree()))
    assert found.out_degree == pytest.approx(area(original.out_degree(), released.out_degree()))
    total = [g.in_degree() + g.out_degree() for g in (original, released)]
    assert found.degree == pytest.approx(area(*total))
    weights = [g.relations["own"].weight for g in (original, released)]
    assert found.weights["own"] == pytest.approx(area(*weights))
    assert (found.vertices_added, found.edges_added) == (n - 5, len(after) - len(before))
    assert found.vertices_added_percent == pytest.approx(100 * (n - 5) / 5)
    json.dumps(found.as_dict())


def test_empty_and_unweighted() -> None:
    bare = Relation(np.array([0]), np.array([1]), None)
    found = fidelity(make(0, []), make(2, [(0, 1)], knows=bare))
    assert (found.vertices_added, found.vertices_added_percent, found.degree) == (2, 0.0, 0.0)
    assert found.weights == {"own": 0.0}
    assert fidelity(make(2, [], knows=bare), make(2, [], knows=bare)).weights == {"own": 0.0}
