"""k-degree anonymity: sequences of degrees, why some are those of no graph, and the way from one to a graph."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations_with_replacement, pairwise, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kgreason.base.errors import AnonymizationError
from kgreason.people.anonymizers import degree_sequence
from kgreason.people.anonymizers.degree_sequence import _balanced, anonymous_degrees
from kgreason.people.anonymizers.k_degree import anonymize_degrees
from kgreason.people.anonymizers.undirected_realization import obstacle
from kgreason.people.settings import Sequence
from tests.degree_graphs import anonymous, demands, rng, star
from tests.examples import inputs

SLIDES = [5, 5, 3, 3, 2, 2, 2]
Degrees = list[int]


def made(degrees: Degrees, k: int, **options: object) -> Degrees:
    return anonymous_degrees(np.array(degrees, dtype=np.int64), k, rng=rng(), **options).tolist()  # type: ignore[arg-type]


def cost(old: Degrees, new: Degrees) -> int:
    return sum(abs(a - b) for a, b in zip(old, new, strict=True))


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


@pytest.mark.parametrize("method", ["dp", "greedy"])
def test_chance_decides_between_equal_degrees(method: Sequence) -> None:
    """Two of these ten rise to 8; which, the order of the users does not tell: each as often as the others."""
    degrees = np.array([8, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4])
    often = np.zeros(len(degrees), dtype=np.int64)
    for seed in range(1000):
        new = anonymous_degrees(degrees, 3, rng=rng(seed), method=method)
        assert sorted(new.tolist()) == [4] * 8 + [8] * 3
        often += new > degrees
    assert often[0] == 0
    assert ((often[1:] - 200) ** 2 / 200).sum() < 30  # chi-square, 9 degrees of freedom: 1 in 2,000 is beyond


@settings(max_examples=inputs(100), deadline=None)
@given(
    demand=demands(20), method=st.sampled_from(["dp", "greedy"]), lowering=st.booleans(), even=st.booleans()
)
def test_the_order_of_the_users_changes_no_degrees(
    demand: tuple[Degrees, int], method: Sequence, lowering: bool, even: bool
) -> None:
    degrees, k = demand
    options = {"method": method, "lowering": lowering, "even": even}
    assert sorted(made(degrees, k, **options)) == sorted(made(degrees[::-1], k, **options))


@settings(max_examples=inputs(300), deadline=None)
@given(demand=demands(20))
@example(demand=([9, 9, 1, 1, 1, 1, 1, 1, 1, 1], 5))
def test_medians_bring_the_sum_near_the_old_one(demand: tuple[Degrees, int]) -> None:
    """Against the lowest medians, which cost the same; and no way of raising one group further comes nearer."""
    degrees, k = demand
    falling = np.array(sorted(degrees, reverse=True))
    n = len(falling)
    sums = np.concatenate([[0], np.cumsum(falling)])
    first, end = (np.searchsorted(-falling, -falling, side=side) for side in ("left", "right"))
    best, back = np.empty((2, n + 1, 2), dtype=np.int64)
    lowest, starts = np.empty((2, n), dtype=np.int64)
    degree_sequence.fill(falling, sums, first, end, k, True, True, best, back)
    groups = degree_sequence.trace(falling, sums, first, end, True, True, back, starts, lowest)
    new = _balanced(falling, lowest, starts[n - groups :])
    assert cost(falling.tolist(), new.tolist()) == cost(falling.tolist(), lowest.tolist()) == best[n, 0]
    assert (new >= lowest).all()
    assert new.sum() % 2 == 0
    assert obstacle(new) is None or obstacle(lowest) is not None
    off, before = int(new.sum() - falling.sum()), int(lowest.sum() - falling.sum())
    assert abs(off) <= abs(before)
    if (new == lowest).all() and obstacle(lowest) is None:
        return  # the others may be degrees of no graph
    for a, b in pairwise([*starts[n - groups :].tolist(), n]):
        if (b - a) % 2 == 0 and new[a] < falling[(a + b) // 2 - 1]:
            assert abs(off + b - a) >= abs(off)


def test_medians_of_a_star() -> None:
    """Of a hub with 1,999 links and an end both may have 1,000, and half of the links stay; or 1, and one does."""
    degrees = np.bincount(star(2000).ravel())
    new = anonymous_degrees(degrees, 2, rng=rng(), lowering=True, even=True)
    assert sorted(new.tolist()) == [1] * 1998 + [1000] * 2
    figures = anonymize_degrees(star(2000), 2000, 2, rng=rng()).figures
    assert (figures.distance, figures.kept, figures.tries) == (1998, 1000, 1)


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
def test_what_is_short_at_the_worst(degrees: Degrees) -> None:
    """Told by the definition, for the number of largest degrees that want most beyond what there is."""
    falling = sorted(degrees, reverse=True)
    found = obstacle(np.array(degrees))
    shorts = [
        sum(falling[:r]) - r * (r - 1) - sum(min(r, d) for d in falling[r:])
        for r in range(1, len(falling) + 1)
    ]
    worst = 0 if sum(degrees) % 2 else max(shorts)
    assert (found.short if found else 0) == max(worst, 0)
    assert (found.largest if found else 0) == (shorts.index(worst) + 1 if worst > 0 else 0)


def test_no_vertices_are_a_graph() -> None:
    assert obstacle(np.array([], dtype=np.int64)) is None
