"""Clusters of people: VAC, Merge-Split, partitions, CDGA's merging, and clusterings of libraries."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import AnonymizationError, TooLargeError
from kgreason.base.progress import SILENT
from kgreason.people.anonymizers import clusterers
from kgreason.people.anonymizers.cdga_merging import merge
from kgreason.people.anonymizers.losses import AttributeDegreeLoss
from kgreason.people.anonymizers.methods import Clustering
from kgreason.people.anonymizers.user_distances import AnonymizationDistance, neighbours
from kgreason.people.anonymizers.valid_clusters import (
    adopted,
    invalid_removal,
    k_means_partition,
    k_medoids_partition,
    members,
    merge_split,
    numbered,
    vac,
)
from kgreason.people.model import PeopleGraph
from kgreason.people.settings import Settings
from tests.examples import inputs
from tests.people.distances import MatrixDistance

RNG = np.random.default_rng

# PCKGA, Fig. 1a; distances that no example gives are chosen as large as d^a_max allows
D = np.array(
    [
        [0, 0.108, 0.2, 0.2, 0.2333],
        [0.108, 0, 0.2, 0.2, 0.208],
        [0.2, 0.2, 0, 0.108, 0.108],
        [0.2, 0.2, 0.108, 0, 0],
        [0.2333, 0.208, 0.108, 0, 0],
    ]
)
K = np.array([2, 2, 2, 1, 4])
FIG_1 = AnonymizationDistance(MatrixDistance(D), K)


def test_core_and_anonymization_distances_of_pckga():
    found = FIG_1
    assert [found.near.user[a:b].tolist() for a, b in pairwise(found.near.start)] == [
        [1],
        [0],
        [3],
        [],
        [3, 2, 1],
    ]
    assert found.core == pytest.approx([0.108, 0.108, 0.108, 0, 0.208])  # example 3
    far = found.between(np.arange(5))
    assert far[0, 1] == pytest.approx(0.216)  # example 4
    assert far[3, 4] == pytest.approx(0.833, abs=0.002)
    assert found.costs == pytest.approx([0.216, 0.216, 0.216, 0, 0.833], abs=0.002)  # example 5
    assert np.argsort(found.costs, kind="stable").tolist() == [3, 0, 1, 2, 4]


def test_vac_of_pckga():
    found = vac(FIG_1, literal=True)
    assert groups(found) == {(3,), (0, 1), (2, 4)}  # example 6; {2, 4} is invalid
    assert groups(invalid_removal(found, K)) == {(3,), (0, 1)}


def test_vac_leaves_nobody_where_the_published_one_does():
    found = vac(FIG_1)
    assert min(found) == 0
    assert_valid(found, K)


def test_merge_split_of_pckga():
    found = vac(FIG_1, literal=True)
    assert groups(merge_split(FIG_1, found, 0.5, RNG(1))) == {(0, 1), (2, 3)}  # example 7


THESIS_DEGREES = np.array([[3, 0], [2, 2], [1, 2], [1, 1], [0, 2]])
"""Out- and in-degree of the users of THESIS, Table 3.1."""


@pytest.mark.parametrize("literal", [False, True])
def test_example_5_of_thesis(literal):
    """2 and 4 are merged, then 1 and 3, and 0 is too far from both; 2 is as near to 1 and 3 as to 4."""
    found = Counter()
    for seed in range(200):
        order = RNG(seed).permutation(5)  # chooses among equally near clusters
        outs, ins = THESIS_DEGREES[order].T[:, :, None]
        made = merge(outs, ins, 2, 0.4, 0.5, 4, RNG(seed), literal=literal)
        found[frozenset(frozenset(order[list(c)].tolist()) for c in groups(made))] += 1
    assert found[frozenset({frozenset({1, 3}), frozenset({2, 4})})] > 0
    # what other draws give; user 0 is never near enough to two users
    assert all(0 not in cluster for clusters in found for cluster in clusters)


def test_the_published_merging_stops_at_a_draw_without_a_near_cluster():
    degrees = np.array([0, 0, 0, 0, 100])[:, None]
    every = [merge(degrees, degrees, 2, 0.1, 0.2, 4, RNG(seed)) for seed in range(40)]
    assert {(made < 0).sum() for made in every} == {1}
    every = [merge(degrees, degrees, 2, 0.1, 0.2, 4, RNG(seed), literal=True) for seed in range(40)]
    assert {(made < 0).sum() for made in every} == {1, 2, 3, 5}


def test_merging_weighs_directions():
    """Definition 5: alpha weighs out-degrees, 1 - alpha in-degrees."""
    outs, ins = np.array([[0, 0, 4, 4], [0, 3, 0, 3]])[:, :, None]
    assert groups(merge(outs, ins, 2, 1.0, 1.0, 2, RNG(1), alpha_dm=0.9)) == {(0, 1), (2, 3)}
    assert groups(merge(outs, ins, 2, 1.0, 1.0, 2, RNG(1), alpha_dm=0.1)) == {(0, 2), (1, 3)}


@st.composite
def cases(draw, highest=6):
    """Distances with ties, levels, and clusters of any kind."""
    n = draw(st.integers(1, 24))
    rng = RNG(draw(st.integers(0, 2**32)))
    places = rng.integers(0, draw(st.sampled_from([2, 6, 1000])), (n, 2)).astype(float)
    matrix = np.abs(places[:, None] - places).sum(axis=2)
    levels = rng.integers(1, draw(st.integers(1, highest)) + 1, n)
    clusters = rng.integers(-1, draw(st.integers(1, n)), n)
    return MatrixDistance(matrix), levels, clusters


@settings(deadline=None, max_examples=inputs(60))
@given(cases())
def test_neighbours_are_those_of_a_sort(case):
    distance, levels, _ = case
    found = neighbours(distance, levels)
    for u in range(distance.n):
        order = [v for v in np.argsort(distance.matrix[u], kind="stable") if v != u][: levels[u]]
        part = slice(found.start[u], found.start[u + 1])
        assert found.user[part].tolist() == order
        assert found.distance[part].tolist() == distance.matrix[u, order].tolist()


@settings(deadline=None, max_examples=inputs(60))
@given(cases(), st.booleans())
def test_vac_is_that_of_the_plain_twin(case, literal):
    distance, levels, _ = case
    assert vac(AnonymizationDistance(distance, levels), literal).tolist() == plain_vac(
        distance.matrix, levels, literal
    )


@settings(deadline=None, max_examples=inputs(60))
@given(cases(highest=12))
def test_vac_serves_everybody_whose_level_can_be_reached(case):
    distance, levels, _ = case
    found = vac(AnonymizationDistance(distance, levels))
    assert_valid(found, levels)
    possible = levels <= distance.n
    if np.count_nonzero(possible) >= levels[possible].max(initial=0):
        assert np.array_equal(found >= 0, possible)


@settings(deadline=None, max_examples=inputs(60))
@given(cases(), st.sampled_from([0.0, 0.3, 1.0]))
def test_merge_split_makes_valid_clusters_that_cannot_be_split(case, tau):
    distance, levels, clusters = case
    found = merge_split(AnonymizationDistance(distance, levels), clusters, tau, RNG(1))
    assert_valid(found, levels)
    assert all(len(users) < 2 * levels[users].max() for users in members(found))
    assert np.all(found[invalid_removal(clusters, levels) >= 0] >= 0)


@settings(deadline=None, max_examples=inputs(60))
@given(cases())
def test_adoption_leaves_nobody_whom_a_cluster_could_take(case):
    distance, levels, clusters = case
    found = adopted(distance, clusters, levels, 1.0)
    assert_valid(found, levels)
    for users in members(found):
        rest = np.flatnonzero(found < 0)
        assert np.all(len(users) + 1 < np.maximum(levels[rest], levels[users].max()))


@settings(deadline=None, max_examples=inputs(60))
@given(cases(), st.sampled_from([0.0, 0.3, 1.0]))
def test_adoption_is_that_of_the_plain_twin(case, tau):
    distance, levels, clusters = case
    assert adopted(distance, clusters, levels, tau).tolist() == plain_adopted(
        distance.matrix, clusters, levels, tau
    )


@settings(deadline=None, max_examples=inputs(60))
@given(cases(), st.integers(1, 6))
def test_partitions_have_clusters_of_k_to_2k_minus_1(case, k):
    distance, _, clusters = case
    points = distance.matrix[:, :2].astype(float)
    by_means = k_means_partition(points, clusters, k, 1.0)
    by_medoids = k_medoids_partition(distance, clusters, k, RNG(1))
    some = np.bincount(clusters[clusters >= 0], minlength=1).max() >= k
    for found in (by_means, by_medoids):
        assert all(k <= len(users) < 2 * k for users in members(found))
        assert np.all(found >= 0) if some else np.all(found == -1)


def test_parts_are_the_near_ones_as_far_as_sizes_allow():
    at = np.array([0, 10, 1, 11, 20, 21, 0.5, 22])
    found = k_means_partition(at[:, None], np.zeros(8, np.int64), 2)
    assert all(2 <= len(users) <= 3 for users in members(found))
    assert len(members(found)) == 4
    by_medoids = k_medoids_partition(MatrixDistance(abs(AT[:, None] - AT)), np.zeros(9, np.int64), 3, RNG(1))
    assert groups(by_medoids) == THREE


def test_levels_that_nobody_reaches_remove_everybody():
    distance, levels, one = MatrixDistance(np.zeros((3, 3))), np.full(3, 4), np.zeros(3, np.int64)
    assert vac(AnonymizationDistance(distance, levels)).tolist() == [-1, -1, -1]
    assert merge_split(AnonymizationDistance(distance, levels), one, 1.0, RNG(1)).tolist() == [-1, -1, -1]
    assert k_medoids_partition(distance, one, 4, RNG(1)).tolist() == [-1, -1, -1]
    none = MatrixDistance(np.zeros((0, 0)))
    empty = np.zeros(0, np.int64)
    far = AnonymizationDistance(none, empty)
    assert len(vac(far)) == len(merge_split(far, empty, 0.5, RNG(1))) == 0


def test_tau_outside_of_its_range():
    with pytest.raises(AnonymizationError, match=r"tau must be between 0 and 1, not 1\.5"):
        merge_split(FIG_1, np.zeros(5, np.int64), 1.5, RNG(1))


@settings(deadline=None, max_examples=inputs(60))
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=14), st.data())
def test_merging_is_complete_linkage(degrees, data):
    outs, ins = np.array(degrees).T
    k, tau = data.draw(st.integers(1, 4)), data.draw(st.sampled_from([0.05, 0.2, 1.0]))
    epsilon = k + data.draw(st.integers(0, 4))
    columns = outs[:, None], ins[:, None]
    found = merge(*columns, k, tau, 1.0, epsilon, RNG(1))
    apart = (abs(outs[:, None] - outs) + abs(ins[:, None] - ins)) / (4 * len(outs))
    of_two = apart[~np.eye(len(outs), dtype=bool)]
    least = of_two.min(initial=99)
    limit = least + tau * (max(of_two.max(initial=0) - least, 0))
    for users in members(found):
        assert k <= len(users) <= epsilon
        assert len(users) == 1 or apart[np.ix_(users, users)].max() <= limit + 1e-9
    # chance plays no part if all are drawn
    assert merge(*columns, k, tau, 1.0, epsilon, RNG(2)).tolist() == found.tolist()


@settings(deadline=None, max_examples=inputs(60))
@given(st.integers(1, 3), st.integers(0, 99))
def test_merging_by_several_relations_joins_nearest_first(relations, seed):
    outs, ins = RNG(seed).integers(0, 9, (2, 8, relations))
    found = merge(outs, ins, 2, 1.0, 1.0, 8, RNG(1))
    apart = (abs(outs[:, None] - outs) + abs(ins[:, None] - ins)).sum(axis=2) + 1000 * np.eye(8, dtype=int)
    assert min(found) == 0
    nearest = np.argwhere(apart == apart.min())
    assert any(found[u] == found[v] for u, v in nearest)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"omega": 0}, "omega must be above 0 and at most 1, not 0"),
        ({"epsilon": 1}, "epsilon must be at least k = 2, not 1"),
        ({"k": 0}, "k must be at least 1"),
        ({"outs": np.ones((3, 5))}, "at most 4 relations, not 5"),
    ],
)
def test_parameters_of_merging(change, words):
    given_ = {"outs": np.ones((3, 1)), "k": 2, "tau": 1, "omega": 1, "epsilon": 4} | change
    degrees = given_.pop("outs").astype(np.int64)
    with pytest.raises(AnonymizationError, match=words):
        merge(degrees, degrees, **given_, rng=RNG(1))


AT = np.array([0.0, 1, 2, 50, 51, 52, 90, 91, 92])
THREE = {(0, 1, 2), (3, 4, 5), (6, 7, 8)}


def line():
    return MatrixDistance(abs(AT[:, None] - AT))


def test_clusterings_of_libraries():
    points = AT[:, None]
    assert groups(clusterers.k_medoids(line(), 3, RNG(1))) == THREE
    assert groups(clusterers.hdbscan(line(), 3)) == THREE
    assert groups(clusterers.hdb_star(line(), np.full(9, 3))) == THREE
    # KMeans of one random start may end elsewhere; three centres in three groups are its best
    assert len(groups(clusterers.k_means(points, 3, RNG(1)))) == 3
    # the last of them it does not have
    named = {
        "n_clusters": 3,
        "linkage": "complete",
        "min_cluster_size": 3,
    }
    assert groups(clusterers.scikit("AgglomerativeClustering", points, named, RNG(1))) == THREE
    dense = {"eps": 3.0, "min_samples": 2}
    assert groups(clusterers.scikit("sklearn.cluster.DBSCAN", points, dense, RNG(1))) == THREE


def test_hdb_star_keeps_levels_apart():
    levels = np.array([2, 2, 2, 3, 3, 3, 2, 2, 2])
    found = clusterers.hdb_star(line(), levels)
    assert all(len(set(levels[users])) == 1 for users in members(found))


def test_outliers_of_hdbscan_are_a_cluster():
    from sklearn.cluster import HDBSCAN

    rng = RNG(3)
    at = np.concatenate([rng.normal(0, 1, 30), rng.normal(50, 1, 30), rng.uniform(-500, 500, 12)])
    apart = abs(at[:, None] - at)
    plain = HDBSCAN(min_cluster_size=5, metric="precomputed", copy=True).fit_predict(apart)
    assert 5 < np.count_nonzero(plain < 0) < 20
    found = clusterers.hdbscan(MatrixDistance(apart), 5)
    assert groups(found) == {tuple(np.flatnonzero(plain == c).tolist()) for c in np.unique(plain)}
    star = clusterers.hdb_star(MatrixDistance(apart), np.full(72, 5))
    assert groups(star) == groups(found)


def test_pckga_clusters_by_the_anonymization_distance():
    """Algorithm 1: the clustering gets the anonymization distance; CKGA has one k and takes the loss itself."""
    rng = RNG(4)
    values = [(f"u{i}", "a", str(v)) for i in range(60) for v in rng.integers(0, 30, 3)]
    graph = PeopleGraph.from_triples([f"u{i}" for i in range(60)], values)
    levels = rng.choice([2, 9], 60)
    loss = AttributeDegreeLoss(graph)
    for method, distance in (("pckga", AnonymizationDistance(loss, levels)), ("ckga", loss)):
        settings = Settings(method=method, clustering="k-medoids", mode="published").filled()
        first = Clustering(graph, levels, settings, RNG(1), SILENT).first()
        assert groups(first) == groups(clusterers.k_medoids(distance, 60 // 9, RNG(1)))
    assert groups(clusterers.k_medoids(AnonymizationDistance(loss, levels), 6, RNG(1))) != groups(first)


def test_clusterings_that_are_not_possible():
    with pytest.raises(AnonymizationError, match="there is no clustering Nonsense"):
        clusterers.scikit("Nonsense", AT[:, None], {}, RNG(1))
    with pytest.raises(AnonymizationError, match=r"there is no clustering os\.path"):
        clusterers.scikit("os.path", AT[:, None], {}, RNG(1))
    with pytest.raises(AnonymizationError, match="10 clusters of 9 users"):
        clusterers.k_medoids(line(), 10, RNG(1))


def test_matrices_are_bounded(monkeypatch):
    monkeypatch.setattr(clusterers, "MATRIX_USERS", 8)
    with pytest.raises(TooLargeError, match="use VAC"):
        clusterers.k_medoids(line(), 3, RNG(1))


def groups(clusters):
    return {tuple(users.tolist()) for users in members(clusters) if len(users)}


def assert_valid(clusters, levels):
    assert clusters.dtype == np.int64
    assert all(len(users) >= levels[users].max() for users in members(clusters))


def plain_vac(d, levels, literal):
    n = len(d)
    ks = levels.tolist()
    near = [[int(v) for v in np.argsort(d[u], kind="stable") if v != u][: ks[u] - 1] for u in range(n)]
    core = [max((d[u, v] for v in near[u]), default=np.float32(0)) for u in range(n)]

    def far(u, v):
        return np.float32(max(core[u], core[v], d[u, v]) * np.float32(max(ks[u], ks[v])))

    cost = [
        max((float(max(core[u], core[v], d[u, v])) * max(ks[u], ks[v]) for v in near[u]), default=0.0)
        for u in range(n)
    ]
    free = {u for u in range(n) if literal or ks[u] <= n}
    found, count = [-1] * n, 0
    for u in sorted(range(n), key=lambda u: cost[u] if literal else -cost[u]):
        if u not in free:
            continue
        if ks[u] > len(free):
            break
        cluster = [u]
        free.remove(u)
        while free and (
            len(cluster) < max(ks[v] for v in cluster)
            or (not literal and len(free) < max(ks[v] for v in free))
        ):
            ratio = {v: np.float32(max(ks[u], ks[v]) / min(ks[u], ks[v])) for v in free}
            best = min(free, key=lambda v: (far(u, v) if literal else d[u, v] * ratio[v], v))
            cluster.append(best)
            free.remove(best)
        for v in cluster:
            found[v] = count
        count += 1
    return found


def plain_adopted(d, clusters, levels, tau):
    found = invalid_removal(clusters, levels)
    pairs = d[~np.eye(len(d), dtype=bool)].astype(float)
    limit = tau * (pairs.max() - pairs.min()) + pairs.min() if len(pairs) and tau < 1 else np.inf
    joined = True
    while joined:
        joined = False
        for u in np.flatnonzero(found < 0):
            options = []
            for c in range(found.max(initial=-1) + 1):
                users = np.flatnonzero(found == c)
                farthest = float(d[u, users].max())
                if farthest <= limit and len(users) + 1 >= max(levels[u], levels[users].max()):
                    options.append((farthest, c))
            if options:
                found[u] = min(options)[1]
                joined = True
    return found.tolist()


def test_numbers_follow_first_users():
    assert numbered(np.array([7, -1, 3, 7, 5])).tolist() == [0, -1, 1, 0, 2]
