from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import SILENT
from kgreason.data.fact_loading import load_graph
from kgreason.graph.facts import derived_edges
from kgreason.graph.generators import erdos_renyi, scale_free
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.isomorphism.anonymizers.assembly import fresh_labels, is_symmetric, publish
from kgreason.isomorphism.anonymizers.copy_ties import copy_ties, lifts
from kgreason.isomorphism.anonymizers.degree_distributions import (
    DegreeDistribution,
    between_copies,
    choose_across,
    match_between,
    to_new_vertices,
)
from kgreason.isomorphism.anonymizers.degree_diversity import choose_apart
from kgreason.isomorphism.anonymizers.klone import Klone, connect_components
from kgreason.isomorphism.definition import Augmented, Guarantee
from kgreason.isomorphism.utility.edge_detection import edge_detection, synthetic_edges
from kgreason.language.check.program_checker import load_text
from tests.examples import inputs
from tests.folders import ROOT
from tests.graphs import build, graphs, mirrored
from tests.needs import quick

NONE = np.empty(0, dtype=np.int64)
RULES = load_text(
    """@node("company"). @edge("own"). @edge("knows"). @derived("control"). @query("holding").
    @incoming_sum("own", 1.0).
    control(X,X) :- company(X).
    control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.
    holding(X) :- control(X,Y), X != Y."""
)

UNBOUNDED = load_text('@edge("own"). @derived("two"). two(X,Y) :- own(X,Z), own(Z,Y).')


def klone(graph: KnowledgeGraph, k: int = 3, seed: int = 0) -> Augmented:
    return Klone(k, trials=1 + seed % 2).augment(graph, RULES, np.random.default_rng(seed), SILENT)


def rows(relation: Relation) -> list[tuple[float, ...]]:
    columns = [relation.source, relation.target, *([] if relation.weight is None else [relation.weight])]
    return list(zip(*(c.tolist() for c in columns), strict=True))


def induced(graph: KnowledgeGraph, first: int, last: int) -> KnowledgeGraph:
    """The subgraph on the vertices first .. last - 1, renumbered from 0."""
    relations = {}
    for name, r in graph.relations.items():
        keep = (r.source >= first) & (r.source < last) & (r.target >= first) & (r.target < last)
        weight = None if r.weight is None else r.weight[keep]
        relations[name] = Relation(r.source[keep] - first, r.target[keep] - first, weight)
    return KnowledgeGraph(graph.labels[first:last], relations)


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(), st.integers(2, 5), st.integers(0, 1000))
def test_klone_makes_an_anonymization_for_every_x(graph: KnowledgeGraph, k: int, seed: int) -> None:
    augmented = klone(graph, k, seed)
    released, n = augmented.graph, graph.n
    assert augmented.guarantee == Guarantee(k, None)
    assert augmented.originals == n
    assert k * n <= released.n <= 2 * k * n + 1
    assert released.components()[0] == 1
    for name, relation in graph.relations.items():  # originals first, in their order
        new = released.relations[name]
        assert np.array_equal(new.source[: len(relation)], relation.source)
        assert np.array_equal(new.target[: len(relation)], relation.target)
    copies = [induced(released, j * n, j * n + n) for j in range(k)]
    for copy in copies:  # nothing was added inside a copy, weights are those of the first
        for name, relation in copies[0].relations.items():
            assert Counter(rows(copy.relations[name])) == Counter(rows(relation))
            assert len(relation) == len(graph.relations[name])
        found, first = derived_edges(copy, RULES), derived_edges(copies[0], RULES)
        assert [a.tolist() for p in found for a in found[p]] == [a.tolist() for p in first for a in first[p]]
    for degree in (released.in_degree(), released.out_degree()):
        for v in range(n):
            assert len({int(degree[j * n + v]) for j in range(k)}) == k
    own = released.relations["own"]
    assert ((own.weight > 0) & (own.weight <= 1)).all()
    if len(own):
        assert np.bincount(own.target, own.weight).max() < 1


@settings(max_examples=inputs(40), deadline=None)
@given(graphs(), st.integers(2, 4))
def test_no_synthetic_edge_stands_out(graph: KnowledgeGraph, k: int) -> None:
    released = klone(graph, k).graph
    pairs = Counter()
    for name, relation in released.relations.items():
        synthetic = slice(k * len(graph.relations[name]), None)
        pairs.update(
            zip(relation.source[synthetic].tolist(), relation.target[synthetic].tolist(), strict=True)
        )
    assert all(count == 1 for count in pairs.values())
    assert all(u != v for u, v in pairs)
    if graph.m:  # relations without edges get none
        assert all(len(released.relations[n]) == 0 for n, r in graph.relations.items() if not len(r))


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(), st.integers(2, 5), st.integers(0, 1000))
def test_symmetric_graphs_stay_symmetric(drawn: KnowledgeGraph, k: int, seed: int) -> None:
    graph = mirrored(drawn)
    released = klone(graph, k, seed).graph
    assert is_symmetric(released) == is_symmetric(graph)
    assert k * graph.n <= released.n <= 2 * k * graph.n + 1
    assert released.components()[0] == 1
    degree = released.out_degree()
    for v in range(graph.n):
        assert len({int(degree[j * graph.n + v]) for j in range(k)}) == k
    for name, relation in released.relations.items():
        synthetic = slice(k * len(graph.relations[name]), None)
        ends = list(zip(relation.source[synthetic], relation.target[synthetic], strict=True))
        assert len(set(ends)) == len(ends)


def test_one_way_graphs_are_not_symmetric() -> None:
    assert not is_symmetric(build(3, []))
    assert not is_symmetric(build(3, [(0, 0, 0.5)]))
    assert not is_symmetric(build(3, [(0, 1, 0.5), (1, 0, 0.25)], [(1, 2)]))
    assert not is_symmetric(build(3, [(0, 1, 0.5)], [(1, 0)]))
    assert is_symmetric(build(3, [(0, 1, 0.5), (1, 0, 0.25), (2, 2, 0.5)], [(1, 2), (2, 1)]))


def test_the_same_seed_gives_the_same_graph() -> None:
    graph = build(6, [(0, 1, 0.5), (1, 2, 0.25), (3, 4, 0.75)], [(1, 5)])
    first, second, other = klone(graph, seed=4), klone(graph, seed=4), klone(graph, seed=5)
    assert rows(first.graph.relations["own"]) == rows(second.graph.relations["own"])
    assert rows(first.graph.relations["own"]) != rows(other.graph.relations["own"])


def test_the_original_is_not_known_by_the_least_degree() -> None:
    rng = np.random.default_rng(0)
    n = 200
    graph = build(n, [(int(u), int(v), 0.1) for u, v in rng.integers(0, n, (400, 2))])
    degree = klone(graph).graph.out_degree()[: 3 * n].reshape(3, n)
    assert 0.2 < (degree.argmin(axis=0) == 0).mean() < 0.47


def test_the_true_copy_is_not_known_by_the_synthetic_edges() -> None:
    """New vertices, leftover ends and ties meet every copy alike, over many draws."""
    rng = np.random.default_rng(0)
    n, k, draws = 40, 3, 400
    edges = [(int(u), int(v), 0.1) for u, v in rng.integers(0, n, (60, 2))]
    graph = build(n, edges)
    touched, most = np.zeros(k), np.zeros((2, k))
    for _ in range(draws):
        ends = Klone(k, 1)._synthetic_edges(graph, False, {}, None, rng)[0]
        for phi in (0, 1):
            at_new = ends[phi][ends[1 - phi] >= n * k] // n
            touched += np.bincount(at_new, minlength=k) > 0
            most[phi, np.bincount(ends[phi] // n, minlength=k + 1)[:k].argmax()] += 1
    assert touched.sum() > draws / 4
    for counts in (touched, *most):  # four standard deviations
        assert (np.abs(counts - counts.mean()) < 4 * np.sqrt(counts.mean())).all()


def test_neighbours_of_a_new_vertex_are_no_sequence() -> None:
    sources, targets = np.arange(40), np.repeat(np.arange(20), 2)
    (_, new), (again, _), count = to_new_vertices(sources, targets, 60, 20.0, np.random.default_rng(0))
    assert count == len(set(new.tolist())) == len(set(again.tolist())) == 2
    (ends, new), *_ = to_new_vertices(sources, targets, 60, 20.0, np.random.default_rng(0))
    assert len(set(np.diff(np.sort(ends[new == 60])).tolist())) > 2


def test_few_vertices_are_added_to_a_large_graph() -> None:
    rng = np.random.default_rng(0)
    n = 300
    graph = build(n, [(int(u), int(v), 0.1) for u, v in rng.integers(0, n, (900, 2))])
    assert klone(graph).graph.n <= 3 * n + 5


MEASURED = [(2, 2.2, 4.2), (3, 3.5, 7.3), (5, 6.0, 15.0)]


@pytest.mark.parametrize(("k", "least", "most"), quick(1, MEASURED))
def test_the_edges_are_as_many_as_the_readme_says(k: int, least: float, most: float) -> None:
    alike = erdos_renyi(500, 5_000, np.random.default_rng(0))
    unlike = scale_free(500, 3.0, np.random.default_rng(0))
    for graph in (alike, unlike):
        copied = Klone(k=k, trials=1).augment(graph, RULES, np.random.default_rng(1), SILENT).graph
        assert least <= round(copied.m / graph.m, 1) <= most
    said = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"\b{least:g} to {most:g} times (as many as before )?for k = {k}\b", said)


@pytest.mark.parametrize(("k", "least", "most"), quick(1, MEASURED))
def test_shareholdings_stay_within_these_figures(real_data: Path, k: int, least: float, most: float) -> None:
    """Of the graphs that were measured, the one that gets most edges."""
    table = real_data / "ownership" / "asx200_shares.csv.gz"
    graph = load_graph(RULES, {"own": str(table), "knows": str(table)})
    copied = Klone(k=k, trials=1).augment(graph, RULES, np.random.default_rng(1), SILENT).graph
    assert least <= round(copied.m / graph.m, 1) <= most


def test_empty_graphs() -> None:
    nothing = KnowledgeGraph(np.empty(0, dtype=object), {"own": build(1, []).relations["own"]})
    assert klone(nothing).graph.n == 0
    edgeless = klone(build(2, []))
    assert edgeless.graph.components()[0] == 1
    with pytest.raises(AnonymizationError, match="no relation"):
        klone(KnowledgeGraph(np.array(["a"], dtype=object), {}))


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(), st.integers(2, 5), st.integers(0, 99))
def test_ties_make_a_tree_of_all_pieces(graph: KnowledgeGraph, k: int, seed: int) -> None:
    source, target = connect_components(graph, k, (NONE, NONE), np.random.default_rng(seed))
    count, component = graph.components()
    assert len(source) == count * k - 1
    assert (source // graph.n != target // graph.n).all()
    piece = nx.Graph()
    piece.add_edges_from(
        (((component[u % graph.n], u // graph.n)), (component[v % graph.n], v // graph.n))
        for u, v in zip(source.tolist(), target.tolist(), strict=True)
    )
    assert nx.is_tree(piece)
    assert piece.number_of_nodes() == count * k


@settings(max_examples=inputs(80), deadline=None)
@given(st.integers(1, 8), st.integers(2, 4), st.integers(0, 1000), st.booleans())
def test_matching_uses_each_open_end_once(n: int, k: int, seed: int, undirected: bool) -> None:
    rng = np.random.default_rng(seed)
    missing = rng.integers(0, 4, (2, n, k))
    barred = rng.integers(0, n * k, 5), rng.integers(0, n * k, 5)
    source, target, sources_left, targets_left = match_between(*missing, barred, rng, undirected=undirected)
    pairs, taken = (
        list(zip(*(e.tolist() for e in ends), strict=True)) for ends in ((source, target), barred)
    )
    if undirected:
        pairs, taken = ([(min(p), max(p)) for p in listed] for listed in (pairs, taken))
    assert len(set(pairs)) == len(pairs)
    assert not set(pairs) & set(taken)
    assert (source // n != target // n).all()
    for ends, left, wanted in ((source, sources_left, missing[0]), (target, targets_left, missing[1])):
        used = np.bincount(np.concatenate([ends, left]), minlength=n * k)
        assert np.array_equal(used.reshape(k, n).T, wanted)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=5))
def test_quotas_between_copies_fit(totals: list[tuple[int, int]]) -> None:
    outgoing, incoming = np.array(totals).T
    quotas = between_copies(outgoing, incoming)
    assert (quotas >= 0).all()
    assert not np.diag(quotas).any()
    assert (quotas.sum(axis=1) <= outgoing).all()
    assert (quotas.sum(axis=0) <= incoming).all()


@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 99))
def test_chosen_degrees_differ_and_never_fall(n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    current = rng.integers(0, 5, (n, k))
    chosen = choose_across(current, DegreeDistribution.fit(current.ravel()), rng)
    assert (chosen >= current).all()
    assert all(len(set(row)) == k for row in chosen.tolist())
    assert (chosen == current).any(axis=1).all()


@given(st.integers(1, 12), st.integers(0, 99))
def test_degrees_chosen_apart_differ(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    current = rng.integers(0, 3, n)
    edges = [(int(u), int(v)) for u, v in rng.integers(0, n, (2 * n, 2)) if u != v]
    apart: list[set[int]] = [set() for _ in range(n)]
    for u, v in edges:
        apart[u].add(v)
        apart[v].add(u)
    chosen = choose_apart(current, range(n), apart, DegreeDistribution.fit(current), rng)
    assert (chosen >= current).all()
    assert all(chosen[u] != chosen[v] for u, v in edges)


@pytest.mark.parametrize(("mean", "variance"), [(3.0, 9.0), (3.0, 2.0), (0.0, 0.0)])
def test_drawn_degrees_have_the_fitted_moments(mean: float, variance: float) -> None:
    drawn = DegreeDistribution(mean, variance, 1000).draw(np.random.default_rng(0), 20_000)
    assert abs(drawn.mean() - mean) < 0.1
    assert abs(drawn.var() - max(mean, variance)) < 0.4


def test_publication_hides_order_and_names() -> None:
    graph = build(30, [(i, i + 1, 0.5) for i in range(29)])
    augmented = klone(graph)
    release = publish(augmented, set(graph.labels), np.random.default_rng(7))
    assert not set(release.graph.labels) & set(graph.labels)
    assert len(set(release.graph.labels)) == release.graph.n
    assert len(release.mapping) == graph.n == len(set(release.mapping.tolist()))
    assert release.graph.attributes == {}
    assert release.mapping.tolist() != list(range(graph.n))
    published, secret = release.graph.relations["own"], augmented.graph.relations["own"]
    assert rows(published) != rows(secret)
    weights = Counter(published.weight.tolist())
    assert weights == Counter(secret.weight.tolist())
    located = {(u, v): w for u, v, w in rows(published)}
    for u, v, w in rows(secret)[: graph.m]:
        assert located[int(release.mapping[int(u)]), int(release.mapping[int(v)])] == w
    degree = augmented.graph.in_degree()[: graph.n]
    assert np.array_equal(release.graph.in_degree()[release.mapping], degree)


def test_labels_are_never_those_to_avoid() -> None:
    first = fresh_labels(20, np.random.default_rng(3))
    second = fresh_labels(20, np.random.default_rng(3), set(first[:5]))
    assert not set(second) & set(first[:5])
    assert {len(label) for label in second} == {10}


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(), st.integers(2, 5), st.integers(0, 1000), st.booleans())
def test_lifts_run_beside_real_edges_between_copies(
    graph: KnowledgeGraph, k: int, seed: int, symmetric: bool
) -> None:
    graph, n = mirrored(graph) if symmetric else graph, graph.n
    real = set(zip(*(ends.tolist() for ends in graph.ends), strict=True))
    nothing = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    rng = np.random.default_rng(seed)
    source, target = lifts(graph, k, nothing, {}, rng, symmetric=symmetric)
    assert (source // n != target // n).all()
    pairs = list(zip(source.tolist(), target.tolist(), strict=True))
    assert {(u % n, v % n) for u, v in pairs} <= real
    both = [*pairs, *((v, u) for u, v in pairs)] if symmetric else pairs
    assert len(set(both)) == len(both)
    for ends in (source, target):  # each copy has as many
        assert len(set(np.bincount(ends // n, minlength=k).tolist())) == 1
    placed = source[::2], target[::2]
    again = lifts(graph, k, placed, {}, rng, symmetric=symmetric)
    assert not set(zip(*(ends.tolist() for ends in again), strict=True)) & set(both[::2])
    ties, _ = copy_ties(graph, k, placed, {}, rng, symmetric=symmetric)
    assert not set(zip(*(ends.tolist() for ends in ties), strict=True)) & set(both[::2])


def test_lifts_have_the_surroundings_of_real_edges() -> None:
    """Each copy of one side and the next copy of the other one form one more copy of the edges between the sides."""
    graph = erdos_renyi(60, 600, np.random.default_rng(0))
    nothing = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    source, target = lifts(graph, 3, nothing, {}, np.random.default_rng(1), symmetric=False)
    whole = nx.Graph()
    for u, v in zip(*(ends.tolist() for ends in graph.ends), strict=True):
        whole.add_edges_from((j * 60 + u, j * 60 + v) for j in range(3))
    real = [len([*nx.common_neighbors(whole, u, v)]) for u, v in whole.edges]
    whole.add_edges_from(zip(source.tolist(), target.tolist(), strict=True))
    lifted = [
        len([*nx.common_neighbors(whole, u, v)])
        for u, v in zip(source.tolist(), target.tolist(), strict=True)
    ]
    assert np.mean(lifted) > 0.6 * np.mean(real)


def test_sums_without_room_get_no_lifts() -> None:
    graph = build(40, [(u, u + 20, 0.9) for u in range(20)])
    nothing = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    counts = [
        len(lifts(graph, 3, nothing, {"own": bound}, np.random.default_rng(0), symmetric=False)[0])
        for bound in (0.9, 1.0, 9.0)
    ]
    assert counts == [0, 3 * 2, 3 * 20 + 3 * 10]


def test_edges_between_copies_are_hardly_told() -> None:
    """Two random graphs, with and without vertices that only own or are only owned."""
    for graph, most in (
        (erdos_renyi(150, 900, np.random.default_rng(0)), 0.75),
        (scale_free(300, 2.5, np.random.default_rng(0)), 0.8),
    ):
        augmented = Klone(3, 1).augment(graph, UNBOUNDED, np.random.default_rng(1), SILENT)
        truth = synthetic_edges(graph, augmented.graph, np.arange(graph.n), augmented.copies)
        found, _ = edge_detection(augmented.graph, truth, np.random.default_rng(0))
        assert found.auc is not None
        assert found.auc < most
