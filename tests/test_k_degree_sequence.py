"""k-degree anonymity: sequences of degrees, why some are those of no graph, and the way from one to a graph."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations_with_replacement, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kgreason.anonymizers.k_degree import k_degree
from kgreason.anonymizers.k_degree.k_degree import Figures, anonymize_degrees
from kgreason.anonymizers.k_degree.noise import lowered, raised
from kgreason.anonymizers.k_degree.realizable import obstacle
from kgreason.anonymizers.k_degree.realize import construct
from kgreason.anonymizers.k_degree.sequence import anonymous, anonymous_degrees
from kgreason.choices import Construction, Sequence
from kgreason.errors import AnonymizationError, NotRealizable
from tests.examples import inputs

SLIDES = [5, 5, 3, 3, 2, 2, 2]
Degrees = list[int]


@st.composite
def demands(draw: st.DrawFn, most: int = 12) -> tuple[Degrees, int]:
    """Degrees within 0 .. n - 1, and a k of at most n."""
    n = draw(st.integers(1, most))
    degrees = draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))
    return degrees, draw(st.integers(1, n))


def made(degrees: Degrees, k: int, **options: object) -> Degrees:
    return anonymous_degrees(np.array(degrees, dtype=np.int64), k, rng=rng(), **options).tolist()  # type: ignore[arg-type]


def cost(old: Degrees, new: Degrees) -> int:
    return sum(abs(a - b) for a, b in zip(old, new, strict=True))


def star(n: int) -> np.ndarray:
    return np.array([[0, i] for i in range(1, n)], dtype=np.int64)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# Brute force


def cuts(n: int, k: int) -> Iterator[list[int]]:
    """Sizes of groups of at least k, in all ways."""
    if n == 0:
        yield []
    for size in range(k, n + 1):
        for rest in cuts(n - size, k):
            yield [size, *rest]


def cheapest_cut(degrees: Degrees, k: int, lowering: bool, even: bool) -> int:
    """Least cost over all cuts of the falling degrees, each group with each degree of 0 .. n - 1."""
    falling = sorted(degrees, reverse=True)

    @cache
    def prices(a: int, b: int) -> list[float]:
        """Least cost of a group whose new degrees have an even, and an odd sum."""
        found = [float("inf")] * 2
        for degree in range(0 if lowering else falling[a], len(degrees)):
            parity = (b - a) * degree % 2
            found[parity] = min(found[parity], sum(abs(degree - d) for d in falling[a:b]))
        return found

    best = float("inf")
    for sizes in cuts(len(falling), k):
        a, sums = 0, [0.0, float("inf")]
        for size in sizes:
            one = prices(a, a + size)
            sums = [min(sums[0] + one[p], sums[1] + one[1 - p]) for p in range(2)]
            a += size
        best = min(best, sums[0] if even else min(sums))
    return int(best)


@cache
def anonymous_vectors(n: int, k: int) -> np.ndarray:
    vectors = np.array(list(product(range(n), repeat=n)))
    count = (vectors[:, :, None] == vectors[:, None, :]).sum(axis=2)
    return vectors[(count >= k).all(axis=1)]


def cheapest_vector(degrees: Degrees, k: int, lowering: bool, even: bool) -> int:
    """Least cost over all k-anonymous vectors of 0 .. n - 1, in whatever groups."""
    vectors = anonymous_vectors(len(degrees), k)
    change = vectors - np.array(degrees)
    fits = np.ones(len(vectors), dtype=bool) if lowering else (change >= 0).all(axis=1)
    if even:
        fits &= vectors.sum(axis=1) % 2 == 0
    return int(np.abs(change[fits]).sum(axis=1).min())


# Plain twin of the greedy cut


def group_cost(group: Degrees, lowering: bool) -> int:
    degree = group[len(group) // 2 if lowering else 0] if group else 0
    return sum(abs(degree - d) for d in group)


def greedy_cut(falling: Degrees, k: int, lowering: bool) -> list[Degrees]:
    groups, rest = [falling[:k]], falling[k:]
    while len(rest) >= k:
        takes = 1 if len(rest) > k else len(rest)
        merge = group_cost(groups[-1] + rest[:takes], lowering) - group_cost(groups[-1], lowering)
        merge += group_cost(rest[takes : takes + k], lowering)
        if merge > group_cost(rest[:k], lowering):
            groups.append(rest[:k])
            rest = rest[k:]
        else:
            groups[-1] = groups[-1] + rest[:1]
            rest = rest[1:]
    groups[-1] = groups[-1] + rest
    return groups


# Sequences


@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("lowering", [False, True])
@settings(max_examples=inputs(100), deadline=None)
@given(demand=demands())
@example(demand=([0], 1))
@example(demand=([2, 2, 2], 3))
@example(demand=([2, 1, 0], 3))
@example(demand=([4, 3, 3, 2, 0], 2))
def test_dynamic_programming_is_exact(demand: tuple[Degrees, int], lowering: bool, even: bool) -> None:
    degrees, k = demand
    new = made(degrees, k, lowering=lowering, even=even)
    assert cost(degrees, new) == cheapest_cut(degrees, k, lowering, even)
    assert anonymous(np.array(new), k)
    assert lowering or all(a <= b for a, b in zip(degrees, new, strict=True))
    assert not even or sum(new) % 2 == 0
    assert all(0 <= d < len(degrees) for d in new)


@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("lowering", [False, True])
@settings(max_examples=inputs(100), deadline=None)
@given(demand=demands(6))
def test_groups_that_lie_together_suffice(demand: tuple[Degrees, int], lowering: bool, even: bool) -> None:
    degrees, k = demand
    new = made(degrees, k, lowering=lowering, even=even)
    assert cost(degrees, new) == cheapest_vector(degrees, k, lowering, even)


@pytest.mark.parametrize("lowering", [False, True])
@settings(max_examples=inputs(200), deadline=None)
@given(demand=demands(20))
@example(demand=([9, 8, 8, 8, 3, 3, 3, 1, 1, 0], 3))
def test_greedy_does_what_the_slides_say(demand: tuple[Degrees, int], lowering: bool) -> None:
    degrees, k = demand
    groups = greedy_cut(sorted(degrees, reverse=True), k, lowering)
    expected = [g[len(g) // 2] if lowering else g[0] for g in groups for _ in g]
    assert sorted(made(degrees, k, method="greedy", lowering=lowering), reverse=True) == expected


@pytest.mark.parametrize("lowering", [False, True])
@settings(max_examples=inputs(200), deadline=None)
@given(demand=demands(20))
def test_greedy_with_an_even_sum(demand: tuple[Degrees, int], lowering: bool) -> None:
    degrees, k = demand
    plain = made(degrees, k, method="greedy", lowering=lowering)
    new = made(degrees, k, method="greedy", lowering=lowering, even=True)
    assert anonymous(np.array(new), k)
    assert sum(new) % 2 == 0
    assert all(0 <= d < len(degrees) for d in new)
    assert lowering or all(a <= b for a, b in zip(degrees, new, strict=True))
    if sum(plain) % 2 == 0:
        assert cost(degrees, new) == cost(degrees, plain)
        assert lowering or new == plain
        return
    # the cheapest group of all that are odd, changed by one
    falling, options = sorted(degrees, reverse=True), []
    groups = greedy_cut(falling, k, lowering)
    for group in groups:
        if len(group) % 2:
            degree = group[len(group) // 2] if lowering else group[0]
            for by in (1, -1) if lowering else (1,):
                if 0 <= degree + by < len(degrees):
                    options.append(sum(abs(degree + by - d) for d in group) - group_cost(group, lowering))
    assert cost(degrees, new) == sum(group_cost(g, lowering) for g in groups) + min(options)


@settings(max_examples=inputs(200), deadline=None)
@given(demand=demands(40), lowering=st.booleans(), even=st.booleans())
def test_greedy_is_no_better_than_exact(demand: tuple[Degrees, int], lowering: bool, even: bool) -> None:
    degrees, k = demand
    exact = cost(degrees, made(degrees, k, lowering=lowering, even=even))
    assert exact <= cost(degrees, made(degrees, k, method="greedy", lowering=lowering, even=even))


def test_greedy_by_hand() -> None:
    """7 joins 9 8: that costs 2 + I(3, 2) = 3, a new group I(7, 3) = 4. For 3 a new group costs I(3, 2) = 1."""
    assert made([9, 8, 7, 3, 2], 2, method="greedy") == [9, 9, 9, 3, 3]


def test_the_vector_of_the_slides_is_2_anonymous() -> None:
    assert anonymous(np.array(SLIDES), 2)
    assert not anonymous(np.array(SLIDES), 3)
    assert made(SLIDES, 2) == SLIDES
    assert made(SLIDES, 2, lowering=True, even=True) == SLIDES
    assert made(SLIDES, 2, method="greedy") == SLIDES


def test_both_pictures_of_the_slides() -> None:
    """The text has only the captions of its Figure 1: these are graphs with the properties that they name."""
    triangle_with_tails = nx.Graph([(0, 1), (1, 2), (0, 2), (0, 3), (1, 4), (2, 5)])
    path = nx.path_graph(4)
    for graph, k in ((triangle_with_tails, 3), (path, 2)):
        degrees = [d for _, d in sorted(graph.degree)]
        assert anonymous(np.array(degrees), k)
        assert not anonymous(np.array(degrees), k + 1)
        assert made(degrees, k, even=True) == degrees


def test_degrees_come_back_in_their_order() -> None:
    assert made([1, 5, 0, 5, 1, 0, 4], 2) == [1, 5, 0, 5, 1, 0, 5]


def test_nobody_is_anonymous() -> None:
    assert made([], 3) == []
    assert made([], 3, method="greedy", even=True) == []
    assert anonymous(np.array([], dtype=np.int64), 3)


@pytest.mark.parametrize(
    ("degrees", "k", "even", "words"),
    [
        ([1, 1], 0, False, "k is at least 1, not 0"),
        ([1, 1], 3, False, "2 vertices cannot be 3-degree anonymous"),
        ([1, -1], 1, False, "a degree is -1"),
        ([2, 2], 1, True, "a vertex of a simple graph of 2 has at most 1"),
    ],
)
def test_refusals(degrees: Degrees, k: int, even: bool, words: str) -> None:
    with pytest.raises(AnonymizationError) as error:
        made(degrees, k, even=even)
    assert words in str(error.value)
    assert error.value.hint or k == 1


@pytest.mark.slow
def test_a_million_degrees() -> None:
    degrees = np.minimum(rng().zipf(2.0, 1_000_000), 999_999)
    for lowering, even in product([False, True], repeat=2):
        new = anonymous_degrees(degrees, 50, rng=rng(), lowering=lowering, even=even)
        assert anonymous(new, 50)


# Why there is no graph


@cache
def degrees_of_all_graphs(n: int) -> frozenset[tuple[int, ...]]:
    """Falling degrees of every simple graph of n vertices."""
    pairs = np.array([(u, v) for v in range(n) for u in range(v)], dtype=np.int64).reshape(-1, 2)
    chosen = np.array(list(product((0, 1), repeat=len(pairs))), dtype=np.int64).reshape(2 ** len(pairs), -1)
    at = np.zeros((len(pairs), n), dtype=np.int64)
    at[np.arange(len(pairs)), pairs[:, 0]] = at[np.arange(len(pairs)), pairs[:, 1]] = 1
    return frozenset(map(tuple, -np.sort(-(chosen @ at), axis=1)))


@pytest.mark.parametrize("n", range(1, 7))
def test_an_obstacle_is_there_where_no_graph_is(n: int) -> None:
    there = degrees_of_all_graphs(n)
    for degrees in combinations_with_replacement(range(n, -2, -1), n):
        assert (obstacle(np.array(degrees)) is None) is (degrees in there)


@settings(max_examples=inputs(300), deadline=None)
@given(degrees=st.lists(st.integers(0, 14), min_size=8, max_size=20))
def test_obstacles_of_larger_graphs(degrees: Degrees) -> None:
    assert (obstacle(np.array(degrees)) is None) is nx.is_graphical(degrees)


@pytest.mark.parametrize(
    ("degrees", "words"),
    [
        ([2, 1, 0], "the sum of all degrees is 3, but every edge has two ends"),
        ([1, -1], "a degree is -1, but no degree is negative"),
        ([1, 4, 1], "a degree is 4, but each of the 3 vertices has only 2 others"),
        ([1], "a degree is 1, but there is one vertex only"),
        ([2, 0, 0, 0], "the largest degree, 2, wants 2 ends of edges, but only 0 of the others have any"),
        (
            [1, 1, 1, 9, 9, 9, 1, 1, 2, 2],
            "the 2 largest degrees, 9, 9, want 18 ends of edges; 2 can lie between these 2 and 11 at the others, "
            "which makes 13",
        ),
        (
            [9] * 7 + [7, 1, 1],
            "the 2 largest degrees, 9, 9, want 18 ends of edges; 2 can lie between these 2 and 14 at the others, "
            "which makes 16",
        ),
        (
            [8] * 8 + [1] * 6,
            "the 7 largest degrees, 8, 8, 8, 8, ..., 8, want 56 ends of edges; 42 can lie between these 7 and 13 at "
            "the others, which makes 55",
        ),
    ],
)
def test_obstacles_in_words(degrees: Degrees, words: str) -> None:
    assert str(obstacle(np.array(degrees))) == words


@settings(max_examples=inputs(100), deadline=None)
@given(degrees=st.lists(st.integers(0, 9), min_size=10, max_size=10))
def test_what_is_short_at_the_first_obstacle(degrees: Degrees) -> None:
    """Told by the definition, for the first number of largest degrees that want more than there is."""
    falling = sorted(degrees, reverse=True)
    found = obstacle(np.array(degrees))
    shorts = [
        sum(falling[:r]) - r * (r - 1) - sum(min(r, d) for d in falling[r:])
        for r in range(1, len(falling) + 1)
    ]
    expected = 0 if sum(degrees) % 2 else next((short for short in shorts if short > 0), 0)
    assert (found.short if found else 0) == expected


def test_no_vertices_are_a_graph() -> None:
    assert obstacle(np.array([], dtype=np.int64)) is None


# The way to a graph


@settings(max_examples=inputs(100), deadline=None)
@given(
    demand=demands(),
    seed=st.integers(0, 99),
    construction=st.sampled_from(["relaxed", "supergraph", "construct"]),
    sequence=st.sampled_from(["dp", "greedy"]),
)
def test_every_graph_becomes_anonymous(
    demand: tuple[Degrees, int], seed: int, construction: Construction, sequence: Sequence
) -> None:
    n, k = len(demand[0]), demand[1]
    graph = nx.gnp_random_graph(n, seed / 99, seed=seed)
    edges = np.sort(np.array(list(graph.edges), dtype=np.int64).reshape(-1, 2), axis=1)
    made = anonymize_degrees(edges, n, k, sequence=sequence, construction=construction, rng=rng())
    assert anonymous(made.degrees, k)
    old = np.array([d for _, d in sorted(graph.degree)], dtype=np.int64)
    assert np.bincount(made.edges.ravel(), minlength=n).tolist() == made.degrees.tolist()
    assert construction == "relaxed" or (made.degrees >= old).all()
    assert construction != "supergraph" or made.figures.removed == 0
    before, after = ({(int(u), int(v)) for u, v in one} for one in (edges, made.edges))
    assert made.figures == Figures(
        made.figures.tries,
        int(np.abs(made.degrees - old).sum()),
        made.figures.cheapest,
        len(after - before),
        len(before - after),
        len(before & after),
    )


def test_noise_helps_where_hubs_want_too_much() -> None:
    """Two hubs of a star of 1000 want two ends of everybody else: nothing less will do, and no more is done."""
    made = anonymize_degrees(star(1000), 1000, 2, construction="supergraph", rng=rng())
    assert made.figures.distance == 998 + 998
    assert 1 < made.figures.tries < 20
    assert made.figures.cheapest == 998
    assert made.figures.as_dict()["distance"] == 1996


def test_tries_are_bounded_and_the_last_obstacle_is_told() -> None:
    with pytest.raises(NotRealizable) as error:
        anonymize_degrees(star(30), 30, 3, construction="supergraph", tries=1, rng=rng())
    assert "1 sequence of 3-anonymous degrees tried" in str(error.value)
    assert "the 2 largest degrees, 29, 29, want 58 ends of edges" in str(error.value)
    assert "--construction relaxed" in str(error.value.hint)
    with pytest.raises(AnonymizationError, match="at least 1 try"):
        anonymize_degrees(star(30), 30, 3, tries=0, rng=rng())


def test_noise_helps_where_a_construction_gets_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Degrees] = []

    def stuck(edges: np.ndarray, degrees: np.ndarray, *_: object) -> tuple[np.ndarray | None, int]:
        seen.append(degrees.tolist())
        return (construct(degrees, rng()), 0) if len(seen) == 4 else (None, 0)

    monkeypatch.setattr(k_degree, "_realized", stuck)
    ring = np.array([[i, i + 1] for i in range(9)] + [[0, 9]])
    made = anonymize_degrees(ring, 10, 2, construction="supergraph", rng=rng())
    assert made.figures.tries == 4
    assert seen[0] == [2] * 10
    assert made.degrees.tolist() == seen[-1] != seen[0]
    seen.clear()
    with pytest.raises(AnonymizationError, match="3 sequences of 2-anonymous degrees tried") as error:
        anonymize_degrees(ring, 10, 2, construction="supergraph", tries=3, rng=rng())
    assert len(seen) == 3
    assert "by supergraph" in str(error.value)
    assert "none with all edges of the original one" in str(error.value)
    assert not isinstance(error.value, NotRealizable)


def test_noise_goes_to_the_lowest_and_never_above_all_others() -> None:
    degrees = np.array([3, 0, 2, 3, 1])
    assert raised(degrees, 2, rng()).tolist() == [3, 1, 2, 3, 2]
    assert raised(degrees, 7, rng()).tolist() == [4, 2, 3, 4, 3]
    assert raised(np.array([2, 2, 2]), 9, rng()).tolist() == [2, 2, 2]
    assert raised(degrees, 10**40, rng()).tolist() == [4] * 5
    drawn = {tuple(raised(np.zeros(4, dtype=np.int64), 1, g)) for g in [rng()] for _ in range(50)}
    assert len(drawn) == 4


def test_noise_is_taken_from_the_largest_and_never_below_none() -> None:
    degrees = np.array([3, 0, 2, 4, 1])
    assert lowered(degrees, 1, 2, rng()).tolist() == [3, 0, 2, 3, 1]
    assert lowered(degrees, 5, 2, rng()).tolist() == [1, 0, 2, 1, 1]
    assert lowered(degrees, 10**40, 3, rng()).tolist() == [0, 0, 0, 0, 1]
    assert lowered(np.array([2, 2]), 3, 0, rng()).tolist() == [2, 2]
    drawn = {tuple(lowered(np.ones(4, dtype=np.int64), 1, 1, g)) for g in [rng()] for _ in range(50)}
    assert len(drawn) == 4


def test_no_edges_and_nobody() -> None:
    none = np.empty((0, 2), dtype=np.int64)
    for construction in ("relaxed", "supergraph", "construct"):
        for n in (0, 1, 5):
            made = anonymize_degrees(none, n, 1, construction=construction, rng=rng())  # type: ignore[arg-type]
            assert (made.edges.shape, made.degrees.tolist()) == ((0, 2), [0] * n)
            assert made.figures == Figures(1, 0, 0, 0, 0, 0)
