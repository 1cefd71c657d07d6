"""The classifier of synthetic vertices: what it sees, on random graphs, and what it finds, on planted ones."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.graph.generators import erdos_renyi
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.graph.measures import clustering, coreness, pairs
from kgreason.isomorphism.utility.detection_auc import FEWEST, NAMES, NONE, detection, features
from kgreason.isomorphism.utility.randomized_trees import LEAF, TREES, roc_auc, scores
from tests import reference
from tests.examples import inputs
from tests.graphs import graphs
from tests.needs import quick


def neighbours(graph: KnowledgeGraph) -> list[set[int]]:
    source, target = graph.ends
    near: list[set[int]] = [set() for _ in range(graph.n)]
    for u, v in zip(source.tolist(), target.tolist(), strict=True):
        if u != v:
            near[u].add(v)
            near[v].add(u)
    return near


@settings(max_examples=inputs(100), deadline=None)
@given(graphs(most=12, edges=40))
def test_coreness_and_clustering(graph: KnowledgeGraph) -> None:
    near, edges = neighbours(graph), pairs(graph.n, *graph.ends)
    plain = nx.Graph([(u, v) for u in range(graph.n) for v in near[u]])
    plain.add_nodes_from(range(graph.n))
    assert coreness(graph.n, edges).tolist() == reference.coreness(near)
    assert reference.coreness(near) == [nx.core_number(plain)[v] for v in range(graph.n)]
    shares = clustering(graph.n, edges)
    counts = [reference.links(near, v) / max(len(near[v]) * (len(near[v]) - 1), 1) for v in range(graph.n)]
    assert shares.tolist() == counts
    assert counts == pytest.approx([nx.clustering(plain)[v] for v in range(graph.n)])


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(), st.data())
def test_features_of_some_vertices(graph: KnowledgeGraph, data: st.DataObject) -> None:
    chosen = sorted(data.draw(st.sets(st.integers(0, graph.n - 1), min_size=1)))
    found = features(graph, np.array(chosen))
    degree = graph.in_degree() + graph.out_degree()
    own = graph.relations["own"]
    assert own.weight is not None
    ends = list(zip(*(e.tolist() for e in graph.ends), strict=True))
    rows = list(zip(own.source.tolist(), own.target.tolist(), own.weight.tolist(), strict=True))
    for v, row in zip(chosen, found.tolist(), strict=True):
        seen = dict(zip(NAMES, row, strict=True))
        assert (seen["in-degree"], seen["out-degree"]) == (graph.in_degree()[v], graph.out_degree()[v])
        values = {
            "degree of out neighbours": [degree[b] for a, b in ends if a == v],
            "degree of in neighbours": [degree[a] for a, b in ends if b == v],
            "outgoing weight": [w for a, _, w in rows if a == v],
            "ingoing weight": [w for _, b, w in rows if b == v],
        }
        for name, some in values.items():
            summary = (np.mean(some), min(some), max(some)) if some else (NONE, NONE, NONE)
            told = [seen[f"{what} {name}"] for what in ("mean", "least", "greatest")]
            assert told == pytest.approx(summary)


def with_more(graph: KnowledgeGraph, more: list[tuple[int, int, float]]) -> KnowledgeGraph:
    """The graph with further edges, to further vertices."""
    (own,) = graph.relations.values()
    assert own.weight is not None
    source, target, weight = (np.array(column) for column in zip(*more, strict=True))
    n = max(graph.n, int(max(source.max(), target.max())) + 1)
    parts = [np.concatenate(p) for p in ((own.source, source), (own.target, target), (own.weight, weight))]
    return KnowledgeGraph(np.arange(n).astype(object), {"own": Relation(*parts)})


PLANTED = {
    "pendants": lambda v, rng: [(v, int(rng.integers(400)), 0.5)],
    "hubs": lambda v, rng: [(v, int(u), rng.random()) for u in rng.choice(400, 60, replace=False)],
    "weights": lambda v, rng: (
        [(v, int(u), 0.123) for u in rng.choice(400, 4)] + [(int(u), v, 0.123) for u in rng.choice(400, 4)]
    ),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_synthetic_vertices_of_another_kind_are_told(kind: str) -> None:
    rng = np.random.default_rng(1)
    graph = erdos_renyi(400, 1_600, rng)
    more = [edge for v in range(400, 440) for edge in PLANTED[kind](v, rng)]
    found = detection(with_more(graph, more), np.arange(400), rng)
    assert found.auc is not None
    assert found.auc > 0.97
    assert found.synthetic == 40


@pytest.mark.parametrize(("n", "synthetic"), quick(2, [(2_000, 1_000), (2_000, 100), (8_000, 4_000)]))
def test_exchangeable_vertices_are_not_told(n: int, synthetic: int) -> None:
    rng = np.random.default_rng(2)
    graph = erdos_renyi(n, 4 * n, rng)
    found = detection(graph, np.sort(rng.permutation(n)[synthetic:]), rng)
    assert found.auc is not None
    assert found.low is not None
    assert found.high is not None
    assert abs(found.auc - 0.5) < 0.05
    assert found.low - 0.03 < 0.5 < found.high + 0.03
    assert (found.high - found.low < 0.06) == (synthetic > 100)


def test_the_same_graph_gives_the_same_figure() -> None:
    graph = erdos_renyi(300, 1_000, np.random.default_rng(0))
    found = [detection(graph, np.arange(200), np.random.default_rng(3)) for _ in range(2)]
    assert found[0] == found[1]


@pytest.mark.parametrize("synthetic", [0, FEWEST - 1])
def test_few_synthetic_vertices_give_no_figure(synthetic: int) -> None:
    graph = erdos_renyi(50, 100, np.random.default_rng(0))
    found = detection(graph, np.arange(50 - synthetic), np.random.default_rng(0))
    assert (found.auc, found.synthetic) == (None, synthetic)
    assert str(found) == "not measured: there are fewer than 10 synthetic vertices"
    assert found.as_dict()["reason"] == "there are fewer than 10 synthetic vertices"


def test_few_original_vertices_give_no_figure() -> None:
    graph = erdos_renyi(50, 100, np.random.default_rng(0))
    assert detection(graph, np.arange(3), np.random.default_rng(0)).reason.endswith("10 original vertices")


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])), min_size=2, max_size=20)
)
def test_areas_are_those_of_scikit_learn(rows: list[tuple[bool, float]]) -> None:
    from sklearn.metrics import roc_auc_score

    truth, found = (np.array(column) for column in zip(*rows, strict=True))
    if 0 < truth.sum() < len(truth):
        assert roc_auc(truth, found) == pytest.approx(roc_auc_score(truth, found))


@pytest.mark.parametrize(
    ("n", "positive", "shift"), quick(1, [(300, 30, 1.0), (80, 40, 0.5), (400, 100, 0.0)])
)
def test_trees_classify_as_well_as_those_of_scikit_learn(n: int, positive: int, shift: float) -> None:
    from sklearn.ensemble import ExtraTreesClassifier

    truth = np.arange(n) < positive
    areas = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        train, test = rng.normal(size=(2, n, 16))
        for points in (train, test):
            points[:, 8:15] = np.round(points[:, 8:15])
            points[:, 15] = 1  # constant
            points[truth, :3] += shift
        theirs = ExtraTreesClassifier(
            TREES, min_samples_leaf=LEAF, class_weight="balanced", random_state=seed
        )
        known = theirs.fit(train, truth).predict_proba(test)[:, 1]
        areas.append((roc_auc(truth, scores(train, truth, test, rng)), roc_auc(truth, known)))
    ours, twins = np.mean(areas, axis=0)
    assert ours == pytest.approx(twins, abs=0.03)


def test_trees_of_points_that_cannot_be_split() -> None:
    rng = np.random.default_rng(0)
    same = np.ones((8, 3))
    assert scores(same, np.arange(8) < 4, same, rng).tolist() == [0.5] * 8
    assert scores(same, np.ones(8, dtype=np.bool_), same[:2], rng).tolist() == [1.0, 1.0]
