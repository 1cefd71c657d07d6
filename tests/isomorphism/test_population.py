"""Random attacked subgraphs: counted and drawn as all combinations say, uniformly, and what is estimated from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from math import comb
from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, hypergeom

import kgreason
from kgreason.base.errors import AnonymizationError
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.verification import population
from kgreason.isomorphism.verification.checker import verify
from kgreason.isomorphism.verification.population import Population, draw, pick
from kgreason.isomorphism.verification.release_index import undirected
from kgreason.isomorphism.verification.verdict import Delta, Verdict
from kgreason.release.verdicts import Item
from tests.examples import inputs
from tests.graphs import graphs
from tests.isomorphism.test_verify import OWN_REACH, Brute, klone_release, random_case, small
from tests.needs import quick

STAR = KnowledgeGraph.from_edges([("hub", f"leaf {i}", 0.5) for i in range(2_999)], relation="own")


def attacked(graph: KnowledgeGraph, x: int) -> list[tuple[int, ...]]:
    """All attacked subgraphs, by looking at every combination of vertices."""
    plain = nx.Graph()
    plain.add_nodes_from(range(graph.n))
    plain.add_edges_from(zip(*(ends.tolist() for ends in graph.ends), strict=True))
    return sorted(
        chosen
        for component in nx.connected_components(plain)
        for chosen in combinations(sorted(component), min(x, len(component)))
        if nx.is_connected(plain.subgraph(chosen))
    )


def joined(near: list[list[int]], size: int) -> Iterator[list[int]]:
    """Twin of the count: the connected sets in its order, the vertices in the order in which they join."""

    def more(chosen: list[int], waiting: list[int], seen: set[int]) -> Iterator[list[int]]:
        if len(chosen) == size:
            yield chosen
            return
        for i, w in enumerate(waiting):
            fresh = [u for u in reversed(near[w]) if u > chosen[0] and u not in seen]
            yield from more([*chosen, w], waiting[i + 1 :] + fresh, seen | set(fresh))

    for root in range(len(near)):
        first = [u for u in reversed(near[root]) if u > root]
        yield from more([root], first, set(first))


def sets(drawn: list[tuple[int, np.ndarray]]) -> list[tuple[int, ...]]:
    return sorted(tuple(sorted(row)) for _, rows in drawn for row in rows.tolist())


@settings(max_examples=inputs(100), deadline=None)
@given(graphs(most=9, edges=18), st.integers(2, 5), st.data())
def test_ranks_against_a_plain_twin(graph: KnowledgeGraph, size: int, data: st.DataObject) -> None:
    a = undirected(graph)
    if not len(a.neighbour):
        return
    near = [a.neighbour[i:j].tolist() for i, j in zip(a.indptr[:-1], a.indptr[1:], strict=True)]
    expected = list(joined(near, size))
    ranks = sorted(data.draw(st.sets(st.integers(0, max(0, len(expected) - 1)), max_size=len(expected))))
    total, rows = pick(a, size, (0, len(a.neighbour)), np.array(ranks, dtype=np.int64))
    assert total == len(expected)
    assert rows.tolist() == [a.vertices[expected[r]].tolist() for r in ranks]


@settings(max_examples=inputs(100), deadline=None)
@given(graphs(most=9, edges=16), st.integers(1, 5), st.integers(1, 6))
def test_each_rank_is_another_attacked_subgraph(graph: KnowledgeGraph, x: int, parts: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(population, "SHARES", parts)
        whole = Population.of(graph, x, 10**9)
        expected = attacked(graph, x)
        assert whole.total == len(expected)
        assert sets(whole.of_ranks(np.arange(whole.total))) == expected
        half = np.arange(0, whole.total, 2)
        assert (
            sorted([*sets(whole.of_ranks(half)), *sets(whole.of_ranks(half[: whole.total // 2] + 1))])
            == expected
        )


@pytest.mark.parametrize(("x", "count"), quick(2, [((1, 2, 3), 4), ((3,), 1), ((4,), 5)]))
def test_drawing_is_uniform(x: tuple[int, ...], count: int) -> None:
    rng = np.random.default_rng(5)
    edges = [(f"v{a}", f"v{b}") for a, b in rng.integers(9, size=(13, 2))]
    graph = KnowledgeGraph.from_edges([*edges, ("small", "component"), ("alone", "alone")])
    expected = [(size, chosen) for size in x for chosen in attacked(graph, size)]
    seen: Counter[tuple[int, tuple[int, ...]]] = Counter()
    times = 15 * len(expected) // count
    for _ in range(times):
        drawn = draw(graph, x, count, 10**9, rng)
        mine = [(size, chosen) for size in x for chosen in sets(drawn[size].sets)]
        assert len(set(mine)) == count
        seen.update(mine)
    assert set(seen) <= set(expected)
    assert (
        chisquare([seen[e] for e in expected]).pvalue > 0.001
    )  # of draws without replacement too small, if anything


def test_a_star_of_billions() -> None:
    drawn = draw(STAR, (4,), 1000, 10**9, np.random.default_rng(0))[4]
    assert drawn.population == comb(2_999, 3)
    ((size, rows),) = drawn.sets
    assert size == 4
    assert rows.shape == (1000, 4)
    assert (rows == 0).any(axis=1).all()
    assert len({tuple(sorted(row)) for row in rows.tolist()}) == 1000
    leaves = np.sort(rows, axis=1)[:, 1:] / 3_000
    assert abs(leaves.mean() - 0.5) < 0.02


def test_what_cannot_be_counted_is_refused() -> None:
    with pytest.raises(
        AnonymizationError, match="more than 5,000 connected subgraphs with 3 vertices"
    ) as error:
        draw(STAR, (5,), 10, 5_000, np.random.default_rng(0))
    assert "too many to count those with 5" in str(error.value)
    assert "choose an x of at most 3" in str(error.value)


def test_what_cannot_be_numbered_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(population, "MOST", 10**9)
    with pytest.raises(
        AnonymizationError, match=r"4,495,501 connected subgraphs with 3 vertices and 3,000 vertices"
    ):
        draw(STAR, (4,), 10, 10**9, np.random.default_rng(0))
    monkeypatch.setattr(population, "MOST", 4_495_501 * 3_000 + 1)
    with pytest.raises(
        AnonymizationError, match="there are 17,964,021,996 subgraphs, too many to be numbered"
    ):
        draw(STAR, (4, 4, 4, 4), 10, 10**9, np.random.default_rng(0))


def test_more_than_eight_vertices_are_refused_before_they_are_counted() -> None:
    with pytest.raises(AnonymizationError, match="subgraphs of 9 vertices cannot be decided"):
        draw(STAR, (9,), 10, 10**9, np.random.default_rng(0))


# --- estimates ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("total", [4, 17, 30])
def test_intervals_cover_every_share_of_every_population(total: int) -> None:
    for drawn in range(1, total):
        bounds = [Delta(s, drawn, population=total).interval for s in range(drawn + 1)]
        for good in range(total + 1):
            chance = hypergeom(total, good, drawn).pmf(np.arange(drawn + 1))
            covered = [low <= good / total <= high for low, high in bounds]
            assert chance[covered].sum() > 0.95 - 1e-9, (drawn, good)


def test_intervals_are_those_of_clopper_and_pearson() -> None:
    """All of 10 good: the lower bound is the share that gives ten with a chance of 2.5 %."""
    assert Delta(10, 10, population=99).interval == (pytest.approx(0.025**0.1), 1.0)
    assert Delta(0, 10, population=99).interval == (0.0, pytest.approx(1 - 0.025**0.1))
    low, high = Delta(5, 10, 2, population=99).interval
    assert low == Delta(5, 10, population=99).interval[0]
    assert high == Delta(7, 10, population=99).interval[1]
    assert Delta(0, 0, population=99).interval == (0.0, 1.0)
    assert Delta(3, 4, 1).interval == (0.75, 1.0)
    assert Delta(3, 4).interval == (0.75, 0.75)


def test_samples_of_a_release_cover_its_delta() -> None:
    original, release = klone_release(OWN_REACH, 3)
    broken = release.mapping.copy()
    broken[[0, 5]] = broken[[5, 0]]
    known = original, release.graph, broken
    exact = kgreason.verify(*known, OWN_REACH, k=5, x=3).delta
    assert exact.exact
    assert 0 < exact.value < 1
    inside = 0
    for seed in range(14):
        delta = kgreason.verify(*known, OWN_REACH, k=5, x=3, sample=20, seed=seed).delta
        assert (delta.total, delta.population) == (20, exact.total)
        low, high = delta.interval
        inside += low <= exact.value <= high
    assert inside >= 13


@settings(max_examples=inputs(60), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_drawn_subgraphs_are_decided_as_brute_force_does(seed: int, count: int) -> None:
    original, released, mapping, rules, k, x = random_case(seed)
    drawn = draw(original, (x,), count, 10**9, np.random.default_rng(seed))
    total = len(attacked(original, x))
    if not drawn:
        assert count >= total
        return
    verdict = verify(original, released, mapping, rules, k, x, drawn=drawn)
    brute = Brute(original, released, mapping, rules)
    chosen = [frozenset(mapping[list(s)].tolist()) for s in sets(drawn[x].sets)]
    good = sum(brute.satisfied(x1, k) for x1 in chosen)
    assert verdict.delta == Delta(good, count, population=total)
    assert verdict["images"].state == ("undecided" if good == count else "fails")
    assert not verdict.holds


@settings(max_examples=inputs(60), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 40))
def test_a_release_too_large_to_be_searched_leaves_some_undecided(seed: int, count: int, limit: int) -> None:
    """What is found in a part of the release is right, and nothing else counts as refuted."""
    original, released, mapping, rules, k, x = random_case(seed)
    drawn = draw(original, (x,), count, 10**9, np.random.default_rng(seed))
    if not drawn:
        return
    with pytest.MonkeyPatch.context() as patch:
        small(patch)
        whole = verify(original, released, mapping, rules, k, x, drawn=drawn).delta
        limited = {x: replace(drawn[x], limit=limit)}
        some = verify(original, released, mapping, rules, k, x, drawn=limited).delta
    assert some.satisfied <= whole.satisfied <= some.satisfied + some.undecided
    assert some.total - some.satisfied - some.undecided <= whole.total - whole.satisfied


@patch(
    "kgreason.isomorphism.verification.image_search.Scarcity.of", lambda *_, **__: None
)  # so that only a search decides
def test_what_the_search_does_not_reach_is_undecided() -> None:
    original, release = klone_release(OWN_REACH, 3)
    drawn = draw(original, (3,), 10, 10**9, np.random.default_rng(1))
    known = original, release.graph, release.mapping, OWN_REACH, 9, 3
    assert verify(*known, drawn=drawn).fails
    verdict = verify(*known, drawn={3: replace(drawn[3], limit=10)})
    assert verdict.delta.undecided == 10 - verdict.delta.satisfied > 0
    assert (verdict.state, verdict.nothing_against) == ("undecided", False)
    assert verdict["images"].witnesses[0].endswith("not decided: the search was given up")


def test_a_sample_proves_nothing() -> None:
    original, release = klone_release(OWN_REACH, 3)
    known = original, release.graph, release.mapping, OWN_REACH
    verdict = kgreason.verify(*known, k=3, x=3, sample=10, seed=1)
    assert (verdict.holds, verdict.as_promised, verdict.fails, verdict.nothing_against) == (
        False,
        False,
        False,
        True,
    )
    assert verdict.state == verdict["images"].state == "undecided"
    assert verdict["images"].detail.startswith("no failure among 10 of ")
    assert "δ = ESTIMATE 1.000 (10 of 10 drawn from " in str(verdict)
    found = verdict.as_dict()["delta"]
    assert found["estimate"]
    assert not found["exact"]
    assert found["confidence"] == 0.95
    assert found["interval"] == [pytest.approx(0.025**0.1), 1.0]
    assert found["population"] == kgreason.verify(*known, k=3, x=3).delta.total


def test_failures_in_a_sample_refute() -> None:
    original, release = klone_release(OWN_REACH, 3)
    verdict = kgreason.verify(
        original, release.graph, release.mapping, OWN_REACH, k=9, x=3, sample=10, seed=1
    )
    assert verdict.fails
    assert not verdict.nothing_against
    assert verdict["images"].witnesses
    assert verdict.delta.sampled


def test_another_violation_beside_a_clean_sample() -> None:
    items = (Item("labels", False, "kept"), Item("images", False, "none found", undecided=True))
    verdict = Verdict(2, 2, items, Delta(5, 5, population=9))
    assert (verdict.state, verdict.nothing_against) == ("fails", False)
    given_up = (Item("augmentation", False, "cut", given_up=True), items[1])
    assert Verdict(2, 2, given_up, Delta(5, 5, population=9)).nothing_against
    assert not Verdict(2, 2, given_up, Delta(4, 5, 1, population=9)).nothing_against


def test_as_many_as_there_are_decides_exactly() -> None:
    original, release = klone_release(OWN_REACH, 3)
    known = original, release.graph, release.mapping, OWN_REACH
    exact = kgreason.verify(*known, k=3, x=3)
    assert kgreason.verify(*known, k=3, x=3, sample=exact.delta.total, max_subgraphs=50) == exact
    assert kgreason.verify(*known, k=3, x=3, sample=exact.delta.total - 1).delta.sampled


def test_several_sizes_share_a_sample() -> None:
    original, release = klone_release(OWN_REACH, 3)
    verdict = kgreason.verify(
        original, release.graph, release.mapping, OWN_REACH, k=3, x=(1, 2, 3), sample=2, seed=0
    )
    assert verdict.delta.total == 2
    assert verdict.delta.population == sum(len(attacked(original, x)) for x in (1, 2, 3))
    said = "none of 14 subgraphs was drawn: ask for this number of vertices alone"
    assert verdict["images of 1 vertices"].detail == said
    assert 1 in verdict.unseen
    assert not verdict.nothing_against, "of that size nothing is known"


def test_the_same_seed_draws_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    some = [sets(draw(STAR, (3,), 5, 10**9, np.random.default_rng(8))[3].sets)]
    monkeypatch.setattr("kgreason.base.cores.cores", lambda: 1)
    some.append(sets(draw(STAR, (3,), 5, 10**9, np.random.default_rng(8))[3].sets))
    assert some[0] == some[1]


def test_a_seed_without_a_sample_is_refused() -> None:
    original, release = klone_release(OWN_REACH, 3)
    with pytest.raises(AnonymizationError, match="seed has no meaning without sample"):
        kgreason.verify(original, release.graph, release.mapping, OWN_REACH, seed=1)
    with pytest.raises(AnonymizationError, match="sample must be a whole number of at least 1, not 0"):
        kgreason.verify(original, release.graph, release.mapping, OWN_REACH, sample=0)
