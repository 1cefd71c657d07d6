"""From degrees to graphs: exact degrees, simple graphs, and as many original edges as brute force finds."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import NotRealizable
from kgreason.people.anonymizers.degree_sequence import anonymous_degrees
from kgreason.people.anonymizers.undirected_realization import construct, joined, relaxed, supergraph
from tests.degree_graphs import EMPTY, Edges, Pair, check, degrees_of, edges_of, pairs_of, rng, two_graphs
from tests.examples import inputs
from tests.needs import quick


def erdos_gallai(degrees: list[int]) -> bool:
    falling = sorted(degrees, reverse=True)
    return sum(degrees) % 2 == 0 and all(
        sum(falling[:r]) <= r * (r - 1) + sum(min(d, r) for d in falling[r:])
        for r in range(1, len(falling) + 1)
    )


@given(st.lists(st.integers(0, 8), max_size=10), st.integers(0, 3))
@settings(max_examples=inputs(300), deadline=None)
def test_construct_finds_a_graph_iff_there_is_one(degrees: list[int], seed: int) -> None:
    wanted = np.array(degrees, dtype=np.int64)
    if erdos_gallai(degrees):
        check(construct(wanted, rng(seed)), wanted)
    else:
        with pytest.raises(NotRealizable, match="no simple graph has these degrees: "):
            construct(wanted, rng(seed))


def test_construct_of_the_slides() -> None:
    wanted = np.array([5, 5, 3, 3, 2, 2, 2])
    check(construct(wanted, rng()), wanted)


def test_negative_degrees_are_refused() -> None:
    with pytest.raises(NotRealizable, match="-1"):
        construct(np.array([1, 2, -1]), rng())


def test_large_graphs_are_constructed() -> None:
    ends = rng().integers(20_000, size=200_000)
    wanted = np.bincount(ends, minlength=20_000)
    check(construct(wanted, rng()), wanted)


@given(two_graphs(), st.integers(0, 3))
@settings(max_examples=inputs(200), deadline=None)
def test_those_who_lack_most_are_joined(two: tuple[int, Edges, Edges], seed: int) -> None:
    n, edges, other = two
    lack = degrees_of(other, n)
    turns = rng(seed).permutation(np.flatnonzero(lack))
    made, stuck = joined(edges, lack, turns, rng(seed))
    linked, rows, left = pairs_of(edges), made.tolist(), lack.tolist()
    assert len(pairs_of(made)) == len(made)
    for u in turns.tolist():
        chosen = [w for v, w in rows if v == u]
        others = [w for w in range(n) if w != u and left[w] and {u, w} not in linked]
        assert stuck[u] == left[u] - len(chosen)
        left[u] = 0
        assert set(chosen) <= set(others)
        passed = [left[w] for w in others if w not in chosen]
        assert min((left[w] for w in chosen), default=0) >= max(passed, default=0) or not chosen
        assert not stuck[u] or not passed
        for w in chosen:
            left[w] -= 1


@given(two_graphs(), st.integers(0, 3))
@settings(max_examples=inputs(300), deadline=None)
def test_relaxed_has_the_degrees(two: tuple[int, Edges, Edges], seed: int) -> None:
    n, edges, other = two
    wanted = degrees_of(other, n)
    check(relaxed(edges, wanted, rng(seed)), wanted)


@given(two_graphs(), st.integers(0, 3))
@settings(max_examples=inputs(300), deadline=None)
def test_supergraphs_have_all_edges(two: tuple[int, Edges, Edges], seed: int) -> None:
    n, edges, more = two
    union = edges_of(pairs_of(edges) | pairs_of(more))
    for wanted in (degrees_of(union, n), degrees_of(more, n)):
        found, lacking = supergraph(edges, wanted, rng(seed))
        if found is not None:
            check(found, wanted)
            assert pairs_of(edges) <= pairs_of(found)
            assert lacking == 0
        else:
            assert lacking % 2 == 0
            assert lacking <= max(int((wanted - degrees_of(edges, n)).sum()), 0)


def test_a_supergraph_that_is_not_there_tells_what_is_lacking() -> None:
    """Both ends of a path are linked with its middle: they can be joined with each other, and then lack one each."""
    assert supergraph(np.array([[0, 1], [1, 2]]), np.array([3, 2, 3]), rng()) == (None, 2)
    hubs = np.array([[0, v] for v in range(1, 50)])
    wanted = np.array([49, 49, *[1] * 48])
    assert supergraph(hubs, wanted, rng()) == (None, 48)


@cache
def all_graphs(n: int) -> dict[tuple[int, ...], list[frozenset[Pair]]]:
    """All graphs by their degrees."""
    found = defaultdict(list)
    possible = [frozenset(pair) for pair in combinations(range(n), 2)]
    for number in range(1 << len(possible)):
        pairs = frozenset(pair for i, pair in enumerate(possible) if number >> i & 1)
        degree = [0] * n
        for pair in pairs:
            for v in pair:
                degree[v] += 1
        found[tuple(degree)].append(pairs)
    return dict(found)


def different(n: int) -> list[frozenset[Pair]]:
    """One of each class of isomorphic graphs."""
    known: set[frozenset[Pair]] = set()
    found = []
    for pairs in (g for some in all_graphs(n).values() for g in some):
        if pairs not in known:
            found.append(pairs)
            known |= {
                frozenset(frozenset(p[v] for v in pair) for pair in pairs) for p in permutations(range(n))
            }
    return found


def loss(pairs: frozenset[Pair], degrees: tuple[int, ...], seed: int) -> tuple[int, bool]:
    """Original edges that were lost beyond those that had to be; whether a supergraph was missed."""
    n, edges = len(degrees), edges_of(pairs)
    best = max(len(pairs & other) for other in all_graphs(n)[degrees])
    wanted = np.array(degrees, dtype=np.int64)
    made = relaxed(edges, wanted, rng(seed))
    check(made, wanted)
    over, _ = supergraph(edges, wanted, rng(seed))
    assert over is None or best == len(pairs)
    return best - len(pairs_of(made) & pairs), over is None and best == len(pairs)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_small_graphs_are_optimal(n: int) -> None:
    assert {loss(pairs, degrees, 0) for pairs in different(n) for degrees in all_graphs(n)} == {(0, False)}


@pytest.mark.slow
def test_five_vertices_are_optimal_but_for_chance() -> None:
    losses = [loss(pairs, degrees, 0) for pairs in different(5) for degrees in all_graphs(5)]
    assert max(lost for lost, _ in losses) <= 1
    assert sum(lost for lost, _ in losses) <= len(losses) / 2000
    assert not any(missed for _, missed in losses)


@pytest.mark.parametrize("count", [250, pytest.param(5_000, marks=pytest.mark.slow)])
def test_six_vertices_are_nearly_always_optimal(count: int) -> None:
    chance = rng(1)
    sequences = list(all_graphs(6))
    every = [g for some in all_graphs(6).values() for g in some]
    losses = [
        loss(every[chance.integers(len(every))], sequences[chance.integers(len(sequences))], seed)
        for seed in range(count)
    ]
    assert max(lost for lost, _ in losses) <= 1
    assert sum(lost for lost, _ in losses) <= count / 500
    assert sum(missed for _, missed in losses) <= count / 500


def test_an_edge_that_gets_stuck_is_exchanged() -> None:
    """0 and 1 are linked with all who lack an edge; only 2-3 can be given up for 0-2, 1-3."""
    edges = np.array([[0, 1]])
    for seed in range(20):
        found, _ = supergraph(edges, np.array([2, 2, 1, 1]), rng(seed))
        assert found is not None
        check(found, np.array([2, 2, 1, 1]))
        assert [0, 1] in found.tolist()


STAR = np.array([[0, v] for v in range(1, 9)])
COMPLETE = np.array(list(combinations(range(8), 2)))


@pytest.mark.parametrize(
    ("edges", "degrees"),
    [
        (EMPTY, []),
        (EMPTY, [0]),
        (EMPTY, [1, 1]),
        (np.array([[0, 1]]), [0, 0]),
        (EMPTY, [7] * 8),
        (COMPLETE, [0] * 8),
        (COMPLETE, [1] * 8),
        (COMPLETE, [7] * 8),
        (STAR, [8, 8, 2, 2, 2, 2, 2, 2, 2]),
        (STAR, [2] * 9),
        (STAR, [0, 1, 1, 1, 1, 1, 1, 1, 1]),
        (STAR, [1] * 8 + [2]),
    ],
)
def test_extreme_graphs(edges: Edges, degrees: list[int]) -> None:
    wanted = np.array(degrees, dtype=np.int64)
    check(construct(wanted, rng()), wanted)
    made = relaxed(edges, wanted, rng())
    check(made, wanted)
    found, _ = supergraph(edges, wanted, rng())
    if found is not None:
        check(found, wanted)
        assert pairs_of(edges) <= pairs_of(found)


def test_relaxed_refuses_what_no_graph_has() -> None:
    for degrees in ([3, 3, 1, 1], [1, 0], [2, 1, 1, 1]):
        with pytest.raises(NotRealizable):
            relaxed(np.array([[0, 1]]), np.array(degrees), rng())


def test_supergraph_refuses_lower_degrees_and_odd_sums() -> None:
    assert supergraph(np.array([[0, 1]]), np.array([0, 1, 1]), rng()) == (None, 0)
    assert supergraph(np.array([[0, 1]]), np.array([1, 1, 1]), rng()) == (None, 0)


def test_the_seed_decides() -> None:
    wanted = np.full(12, 2)
    path = np.array([[v, v + 1] for v in range(11)])
    made = [relaxed(path, wanted + 1, rng(seed)).tolist() for seed in (0, 0, 1)]
    assert made[0] == made[1] != made[2]


def test_graphs_that_need_an_original_edge_lose_them_all_over() -> None:
    """Two hubs that lack many edges take one end each of edges everywhere, not those of one vertex."""
    ring = np.array(sorted(sorted((v, (v + 1) % 60)) for v in range(60)))
    wanted = np.full(60, 2)
    wanted[:2] = 20
    made = relaxed(ring, wanted, rng())
    check(made, wanted)
    lost = pairs_of(ring) - pairs_of(made)
    assert len(lost) == 18  # each for two of the 36 ends that the hubs lack, whom nobody else lacks


@pytest.mark.parametrize(("k", "added", "removed"), quick(1, [(10, 1633, 664), (20, 3371, 1196)]))
def test_the_figures_of_email(real_data: Path, k: int, added: int, removed: int) -> None:
    """Fewer edges added and removed than these figures."""
    rows = np.loadtxt(real_data / "social" / "email-Eu-core.txt", dtype=np.int64)
    rows = np.unique(np.sort(rows[rows[:, 0] != rows[:, 1]], axis=1), axis=0)
    edges = np.unique(rows, return_inverse=True)[1].reshape(-1, 2).astype(np.int64)
    n = int(edges.max()) + 1
    assert (n, len(edges)) == (986, 16_064)
    for lowering in (False, True):
        wanted = anonymous_degrees(degrees_of(edges, n), k, rng=rng(), lowering=lowering, even=True)
        made = relaxed(edges, wanted, rng())
        check(made, wanted)
        kept = len(pairs_of(made) & pairs_of(edges))
        assert len(made) - kept < added
        assert len(edges) - kept < removed
