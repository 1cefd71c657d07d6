"""Properties that every generated graph has, and the laws they are drawn from."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import AnonymizationError
from kgreason.graph.generators import erdos_renyi, ownership, scale_free
from kgreason.graph.knowledge_graph import KnowledgeGraph
from tests.examples import inputs

SEEDS = st.integers(0, 2**32 - 1)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def weights(graph: KnowledgeGraph) -> np.ndarray:
    weight = graph.relations["own"].weight
    assert weight is not None
    return weight


def check_simple(graph: KnowledgeGraph) -> None:
    source, target = graph.ends
    assert (source != target).all()
    assert len(set(zip(source.tolist(), target.tolist(), strict=True))) == graph.m
    weight = weights(graph)
    assert ((weight > 0) & (weight <= 1)).all()
    assert (np.abs(weight * 1e6 - np.rint(weight * 1e6)) < 1e-6).all()
    assert len(set(graph.labels.tolist())) == graph.n


def check_shares(graph: KnowledgeGraph) -> None:
    sums = np.bincount(graph.relations["own"].target, weights(graph), minlength=graph.n)
    assert (sums <= 1 + 1e-9).all()


@given(st.integers(1, 12), st.floats(0, 1), SEEDS)
def test_erdos_renyi(n: int, density: float, seed: int) -> None:
    m = int(density * n * (n - 1))
    graph = erdos_renyi(n, m, rng(seed))
    check_simple(graph)
    assert (graph.n, graph.m) == (n, m)


def test_erdos_renyi_is_uniform() -> None:
    random = rng()
    counts = np.zeros((4, 4))
    for _ in range(3000):
        source, target = erdos_renyi(4, 3, random).ends
        counts[source, target] += 1
    off = counts[~np.eye(4, dtype=bool)]
    chi2 = ((off - 750) ** 2 / 750).sum()
    assert chi2 < 31.3  # 0.999 quantile at 11 degrees of freedom
    assert np.trace(counts) == 0


def test_erdos_renyi_default_size_and_limits() -> None:
    assert erdos_renyi(1000, None, rng()).m == round(1000 * math.log(1000) / 2)
    assert erdos_renyi(1, None, rng()).m == 0
    assert erdos_renyi(0, 0, rng()).n == 0
    with pytest.raises(AnonymizationError, match="3 vertices have at most 6 edges"):
        erdos_renyi(3, 7, rng())


@settings(max_examples=inputs(50))
@given(st.integers(2, 30), st.floats(1.1, 4), st.booleans(), SEEDS)
def test_scale_free(n: int, alpha: float, economic: bool, seed: int) -> None:
    graph = scale_free(n, alpha, rng(seed), economic=economic)
    check_simple(graph)
    assert graph.out_degree().min() >= 1
    if economic:
        check_shares(graph)


def test_scale_free_follows_the_power_law() -> None:
    n, alpha = 50_000, 2.5
    degree = scale_free(n, alpha, rng()).out_degree()
    mass = np.arange(1, n, dtype=np.float64) ** -alpha
    for d in (1, 2, 3, 5):
        expected = mass[d - 1] / mass.sum()
        assert abs((degree == d).mean() - expected) < 5 * math.sqrt(expected / n)


def test_scale_free_limits() -> None:
    with pytest.raises(AnonymizationError, match="at least 2 vertices"):
        scale_free(1, 2.0, rng())
    with pytest.raises(AnonymizationError, match="alpha must be above 1"):
        scale_free(10, 1.0, rng())


@settings(max_examples=inputs(50))
@given(st.integers(2, 80), st.floats(0, 0.6), SEEDS)
def test_ownership(n: int, persons: float, seed: int) -> None:
    graph = ownership(n, rng(seed), persons=persons)
    check_simple(graph)
    check_shares(graph)
    assert graph.n == n


def test_ownership_looks_like_a_register() -> None:
    graph = ownership(3000, rng())
    share, out, into = weights(graph), graph.out_degree(), graph.in_degree()
    majority = np.unique(graph.relations["own"].target[share > 0.5])
    assert 0.4 < len(majority) / 2250 < 0.95
    assert ((into == 0) & (out > 0)).sum() > 300  # persons at the top
    assert out.max() >= 8
    assert (into >= 2).sum() > 200
    assert graph.components()[0] > 50
    with pytest.raises(AnonymizationError, match="share of persons below 1"):
        ownership(10, rng(), persons=1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda r: erdos_renyi(50, 120, r),
        lambda r: scale_free(50, 2.0, r, economic=True),
        lambda r: ownership(50, r),
    ],
)
def test_seeds_repeat(make: Callable[[np.random.Generator], KnowledgeGraph]) -> None:
    first, second, other = make(rng(5)), make(rng(5)), make(rng(6))
    assert np.array_equal(first.ends, second.ends)
    assert np.array_equal(weights(first), weights(second))
    assert first.m != other.m or not np.array_equal(first.ends, other.ends)


@pytest.mark.slow
def test_a_million_vertices() -> None:
    for graph in (erdos_renyi(10**6, 3 * 10**6, rng()), ownership(10**6, rng())):
        assert graph.n == 10**6
        assert graph.m > 10**6
