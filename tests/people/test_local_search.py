"""Local search on the loss of clusters, its columns and its tallies."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.people.anonymizers.cluster_loss import (
    Columns,
    Search,
    changes,
    count_down,
    count_up,
    enter,
    leave,
    slot,
)
from kgreason.people.anonymizers.local_search import nearest, refine
from kgreason.people.anonymizers.user_distances import AnonymizationDistance
from kgreason.people.anonymizers.valid_clusters import members, vac
from kgreason.people.model import PeopleGraph
from tests.examples import inputs
from tests.people.distances import MatrixDistance

RNG = np.random.default_rng


@st.composite
def graphs(draw):
    """Graphs with attributes of both kinds, users without values, and up to two relations."""
    n = draw(st.integers(2, 20))
    rng = RNG(draw(st.integers(0, 2**32)))
    names = [f"u{i}" for i in range(n)]
    values = [
        (names[rng.integers(n)], a, f"{rng.integers(-3, 6)}")
        for a in ("job", "town", "age")
        for _ in range(2 * n)
    ]
    links = [
        (names[rng.integers(n)], r, names[rng.integers(n)])
        for r in ("knows", "likes")[: draw(st.integers(0, 2))]
        for _ in range(2 * n)
    ]
    graph = PeopleGraph.from_triples(names, values, links, numeric=["age"])
    return graph, rng.integers(1, 5, n), rng


def plain_loss(graph, clusters, alpha, alpha_dm=0.5):
    """AIL as PCKGA defines it, user by user; a user without numbers takes over a range, of its width and 1."""
    total = 0.0
    for users in members(clusters):
        for u in users:
            for a in graph.attributes.values():
                values = {w: set(a.value[a.user == w].tolist()) for w in users}
                union, own = set().union(*values.values()), values[u]
                if a.kind == "categorical":
                    lost = len(union - own) / max(len(a.domain) - len(own), 1)
                else:
                    at = a.numbers
                    all_, mine = [at[v] for v in union], [at[v] for v in own]
                    span = at.max() - at.min()
                    if not all_:
                        lost = 0
                    elif not mine:
                        lost = (max(all_) - min(all_) + 1) / (span + 1)
                    else:
                        grown = min(mine) - min(all_) + max(all_) - max(mine)
                        lost = grown / max(min(mine) - at.min() + at.max() - max(mine), grown, 1e-9)
                total += alpha * lost / len(graph.attributes)
            both = (graph.out_degrees(), alpha_dm), (graph.in_degrees(), 1 - alpha_dm)
            for degrees, share in both:
                more = (degrees[users].max(axis=0) - degrees[u]).sum()
                total += (1 - alpha) * share * more / (graph.n * max(len(graph.relations), 1))
    return total


@settings(deadline=None, max_examples=inputs(60))
@given(graphs(), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.3, 0.5]))
def test_loss_is_that_of_the_definition(case, alpha, alpha_dm):
    graph, levels, rng = case
    clusters = rng.integers(-1, 4, graph.n)
    search = Search(Columns.of(graph, levels, alpha, alpha_dm), clusters)
    assert np.isclose(search.loss(), plain_loss(graph, clusters, alpha, alpha_dm), rtol=1e-5)
    assert not search.losses()[clusters < 0].any()
    assert ((search.losses() > -1e-9) & (search.losses() < 1 + 1e-9)).all()


@settings(deadline=None, max_examples=inputs(60))
@given(graphs(), st.sampled_from([0.2, 0.5, 1.0]))
def test_refining_lowers_the_loss_and_keeps_clusters_valid(case, alpha):
    graph, levels, rng = case
    places = rng.random((graph.n, 2))
    distance = MatrixDistance(np.linalg.norm(places[:, None] - places, axis=2))
    clusters = vac(AnonymizationDistance(distance, levels))
    clusters[clusters == rng.integers(-1, 3)] = -1
    columns, near = Columns.of(graph, levels, alpha), nearest(distance, 6)
    found = refine(columns, clusters, near)
    assert plain_loss(graph, found, alpha) <= plain_loss(graph, clusters, alpha) + 1e-9
    assert np.array_equal(found < 0, clusters < 0)
    assert all(len(users) >= levels[users].max() for users in members(found))
    assert np.array_equal(found, refine(columns, clusters, near))


@settings(deadline=None, max_examples=inputs(60))
@given(graphs())
def test_no_single_move_or_swap_is_left(case):
    graph, levels, _ = case
    distance = MatrixDistance(1 - np.eye(graph.n))
    start = vac(AnonymizationDistance(distance, levels))
    found = refine(Columns.of(graph, levels, 0.5), start, nearest(distance, graph.n), rounds=1000, least=0.0)
    best = plain_loss(graph, found, 0.5)
    for other in neighbouring(found, levels):
        assert plain_loss(graph, other, 0.5) >= best - 1e-9


def neighbouring(clusters, levels):
    """Valid clusterings that differ by one move to another cluster, or by one swap."""
    inside = np.flatnonzero(clusters >= 0)[:8].tolist()
    for u in inside:
        for c in set(clusters.tolist()) - {clusters[u], -1}:
            other = clusters.copy()
            other[u] = c
            yield from [other] if valid(other, levels) else []
        for v in inside:
            other = clusters.copy()
            other[[u, v]] = clusters[[v, u]]
            yield from [other] if valid(other, levels) else []


def valid(clusters, levels):
    return all(len(users) >= levels[users].max() for users in members(clusters) if len(users))


@settings(deadline=None, max_examples=inputs(60))
@given(graphs(), st.data())
def test_changes_are_differences_of_losses(case, data):
    graph, levels, rng = case
    clusters = rng.integers(0, 3, graph.n)
    search = Search(Columns.of(graph, levels, 0.5), clusters)
    u = data.draw(st.integers(0, graph.n - 1))
    c, scratch = int(clusters[u]), np.empty(search.columns.own.shape[1])
    outside = [v for v in range(graph.n) if clusters[v] != c]
    v = data.draw(st.sampled_from(outside)) if outside else -1
    found = changes(search.state, c, v, u, scratch)
    before = objective(search, c)
    leave(search.state, u)
    if v >= 0:
        leave(search.state, v)
        enter(search.state, v, c)
    assert np.isclose(objective(search, c) - before, found)
    again = search.clusters.copy()
    fresh = Search(search.columns, np.append(again, 2)[: graph.n])
    width = len(scratch)
    size = len(fresh.state.sums)
    assert np.allclose(search.state.sums[:size, : 3 * width], fresh.state.sums)
    assert not search.state.sums[size:].round(9).any()


@settings(deadline=None, max_examples=inputs(60))
@given(graphs())
def test_the_cheapest_cluster_is_the_one_with_the_least_loss_afterwards(case):
    graph, levels, rng = case
    clusters = rng.integers(0, 4, graph.n)
    u = int(rng.integers(graph.n))
    clusters[u] = -1
    search = Search(Columns.of(graph, levels, 0.5), clusters)
    found = search.cheapest(u)
    sizes = np.bincount(clusters[clusters >= 0], minlength=4)
    open_ = [c for c in range(4) if sizes[c] and levels[u] <= sizes[c] + 1]
    assert (found < 0) == (not open_)
    after = {c: plain_loss(graph, np.where(np.arange(graph.n) == u, c, clusters), 0.5) for c in open_}
    if open_:
        assert np.isclose(after[found], min(after.values()))
        assert np.isclose(search.joining(u, found), after[found] - plain_loss(graph, clusters, 0.5))


def objective(search, c):
    width = search.columns.own.shape[1]
    return (search.state.sums[c, :width] * search.state.sums[c, width : 2 * width]).sum()


@settings(deadline=None, max_examples=inputs(60))
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=200))
def test_tallies_are_counters(steps):
    tally, twin = np.full((16, 2), -1, dtype=np.int64), Counter()
    for up, key in steps:
        key *= 10**12
        if up:
            twin[key] += 1
            assert count_up(tally, key) == twin[key]
        elif twin[key]:
            twin[key] -= 1
            assert count_down(tally, key) == twin[key]
        for k, many in twin.items():
            row = tally[slot(tally, k)]
            assert (row[0] == k and row[1] == many) if many else row[0] == -1
