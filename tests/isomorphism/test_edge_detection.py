"""Detection of synthetic edges, and the guarantee that remains without the suspicious ones."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.cli import app
from kgreason.graph.generators import erdos_renyi
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.attacks.edge_filter import withstood
from kgreason.isomorphism.utility import edge_detection as detecting
from kgreason.isomorphism.utility.edge_detection import (
    NAMES,
    NONE,
    _precision,
    edge_detection,
    edge_features,
    synthetic_edges,
)
from tests.examples import inputs
from tests.graphs import graphs
from tests.isomorphism.test_verify import Brute, random_case


@settings(max_examples=inputs(100), deadline=None)
@given(graphs(most=9, edges=24), st.booleans(), st.data())
def test_features_of_some_edges(graph: KnowledgeGraph, chunks: bool, data: st.DataObject) -> None:
    rows = sorted(
        data.draw(st.sets(st.integers(0, max(graph.m - 1, 0)), max_size=graph.m)) if graph.m else ()
    )
    with pytest.MonkeyPatch.context() as patch:
        if chunks:
            patch.setattr(detecting, "_CHUNK", 3)
        found = edge_features(graph, np.array(rows, dtype=np.int64))
    ends = list(zip(*(e.tolist() for e in graph.ends), strict=True))
    plain = nx.Graph([(u, v) for u, v in ends if u != v])
    plain.add_nodes_from(range(graph.n))
    weights = [
        w for r in graph.relations.values() for w in ([None] * len(r) if r.weight is None else r.weight)
    ]
    own = graph.relations["own"]
    into = np.bincount(own.target, own.weight, graph.n)
    for row, values in zip(rows, found.tolist(), strict=True):
        seen = dict(zip(NAMES, values, strict=True))
        (u, v), weight = ends[row], weights[row]
        assert seen["out-degree of the source"] == sum(a == u for a, _ in ends)
        assert seen["in-degree of the target"] == sum(b == v for _, b in ends)
        rest = plain.copy()
        if u != v:
            rest.remove_edge(u, v)
            assert seen["common neighbours"] == len([*nx.common_neighbors(plain, u, v)])
            distance = nx.shortest_path_length(rest, u, v) if nx.has_path(rest, u, v) else 4
            assert seen["distance without the edge"] == min(distance, 4)
        assert seen["edge in the other direction"] == ((v, u) in ends)
        assert seen["weight"] == (NONE if weight is None else weight)
        assert seen["decimals of the weight"] == (
            len(str(float(NONE if weight is None else weight)).split(".")[1])
        )
        share = NONE if weight is None else weight / into[v]
        assert seen["share of the incoming weight of the target"] == pytest.approx(share)


@settings(max_examples=inputs(60), deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=1, max_size=6))
def test_precision_is_a_mean_over_all_orders_of_equal_scores(points: list[tuple[bool, int]]) -> None:
    truth = np.array([true for true, _ in points])
    many = int(truth.sum())
    if not many:
        return
    chosen = [some for some in combinations(points, many) if _highest(some, points)]
    expected = np.mean([sum(true for true, _ in some) / many for some in chosen])
    found = np.array([float(s) for _, s in points])
    assert _precision(truth, found, np.ones(len(points))) == pytest.approx(expected)
    tripled = np.tile(truth, 3), np.tile(found, 3), np.ones(3 * len(points))
    assert _precision(truth, found, np.full(len(points), 3.0)) == pytest.approx(_precision(*tripled))


def _highest(some: tuple[tuple[bool, int], ...], points: list[tuple[bool, int]]) -> bool:
    scores = Counter(score for _, score in some)
    return sorted(scores.elements()) == sorted(score for _, score in points)[-len(some) :]


def rings(count: int) -> tuple[KnowledgeGraph, KnowledgeGraph]:
    """Rings of four vertices; in the release also a long chord from each to the next."""
    edges = [(f"{i}.{j}", f"{i}.{(j + 1) % 4}") for i in range(count) for j in range(4)]
    chords = [(f"{i}.0", f"{(i + 1) % count}.1") for i in range(count)]
    return KnowledgeGraph.from_edges(edges, relation="own"), KnowledgeGraph.from_edges(
        [*edges, *chords], relation="own"
    )


def test_chords_are_detected_and_their_removal_is_measured() -> None:
    original, released = rings(60)
    mapping = np.arange(original.n)
    assert original.labels.tolist() == released.labels.tolist()[: original.n]
    found, suspicion = edge_detection(
        released, synthetic_edges(original, released, mapping), np.random.default_rng(0)
    )
    assert found.synthetic == 60
    assert found.auc is not None
    assert found.low is not None
    assert found.auc > 0.95
    assert found.low <= found.auc
    assert found.precision is not None
    assert found.precision > 0.9 > 2 * found.base
    assert suspicion is not None
    truth = synthetic_edges(original, released, mapping)
    assert suspicion[truth].min() > np.median(suspicion[~truth])


def test_edges_that_nothing_distinguishes() -> None:
    """Of a random graph a random part is called synthetic."""
    graph = erdos_renyi(300, 2_400, np.random.default_rng(1))
    own = graph.relations["own"]
    kept = np.random.default_rng(2).permutation(graph.m) >= 400
    original = KnowledgeGraph(graph.labels, {"own": own.take(kept)})
    found, _ = edge_detection(
        graph, synthetic_edges(original, graph, np.arange(graph.n)), np.random.default_rng(3)
    )
    assert found.auc is not None
    assert 0.4 < found.auc < 0.6
    assert found.precision == pytest.approx(found.base, abs=0.1)


def test_few_and_many_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    original, released = rings(9)
    found, suspicion = edge_detection(
        released, synthetic_edges(original, released, np.arange(original.n)), np.random.default_rng(0)
    )
    assert (found.auc, suspicion) == (None, None)
    assert str(found) == "not measured: there are fewer than 10 synthetic edges"
    monkeypatch.setattr(detecting, "MOST", 100)
    monkeypatch.setattr(detecting, "_SAMPLE", 150)
    original, released = rings(60)
    found, suspicion = edge_detection(
        released, synthetic_edges(original, released, np.arange(original.n)), np.random.default_rng(0)
    )
    assert found.auc is not None
    assert found.auc > 0.9
    assert suspicion is None, "a sample does not rank all edges"
    assert found.precision is not None
    assert found.precision > 0.8
    graph = erdos_renyi(300, 2_400, np.random.default_rng(1))
    own = graph.relations["own"]
    original = KnowledgeGraph(graph.labels, {"own": own.take(np.arange(graph.m) >= 400)})
    found, _ = edge_detection(
        graph, synthetic_edges(original, graph, np.arange(graph.n)), np.random.default_rng(3)
    )
    assert found.precision == pytest.approx(found.base, abs=0.1), "of all edges, not of the sample"


@settings(max_examples=inputs(80), deadline=None)
@given(st.integers(0, 2**32))
def test_what_withstands_is_that_of_brute_force(seed: int) -> None:
    original, released, mapping, rules, k, x = random_case(seed)
    rng = np.random.default_rng(seed)
    truth = rng.random(released.m) < 0.3
    suspicion = rng.random(released.m)
    found = withstood(original, released, mapping, rules, k, (x,), suspicion, truth, rng)
    removed = np.argsort(-suspicion, kind="stable")[: int(truth.sum())]
    gone = {tuple(ends[e] for ends in released.ends) for e in removed.tolist()}
    relations, start = {}, 0
    for name, r in released.relations.items():
        relations[name] = r.take(~np.isin(np.arange(start, start + len(r)), removed))
        start += len(r)
    rest = KnowledgeGraph(released.labels, relations)
    brute = Brute(original, rest, mapping, rules)
    plain = nx.Graph(list(zip(*(e.tolist() for e in original.ends), strict=True)))
    plain.add_nodes_from(range(original.n))
    attacked = [s for s in combinations(range(original.n), x) if nx.is_connected(plain.subgraph(s))]
    whole = [mapping[list(s)].tolist() for s in attacked]
    alike = [s for s in whole if not any((u, v) in gone for u in s for v in s)]
    kept = sum(brute.satisfied(frozenset(s), k) for s in alike)
    assert (found.subgraphs, found.misled, found.kept) == (len(whole), len(whole) - len(alike), kept)
    assert (found.removed, found.synthetic) == (len(removed), int(truth[removed].sum()))


def test_score_measures_edges() -> None:
    original, released = rings(60)
    rules = '@edge("own"). @derived("two"). two(X,Y) :- own(X,Z), own(Z,Y).'
    score = kgreason.score(original, released, np.arange(original.n), rules, k=2, x=2)
    assert score.edge_detection.synthetic == 60
    assert score.withstood is not None
    assert score.withstood.removed == 60
    assert 75 < score.as_dict()["withstood"]["subgraphs"] == score.withstood.subgraphs <= 150
    with pytest.raises(kgreason.KgreasonError, match="k "):
        kgreason.score(original, released, np.arange(original.n), rules, k=0)


def test_a_guarantee_that_is_not_measured_again_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    original, released = rings(60)
    rules, same = '@edge("own"). @derived("two"). two(X,Y) :- own(X,Z), own(Z,Y).', np.arange(original.n)
    score = kgreason.score(original, released, same, rules, k=2, x=6)
    assert str(score.withstood) == "not measured: subgraphs of more than 5 vertices are not examined"
    monkeypatch.setattr(detecting, "MOST", 100)
    monkeypatch.setattr(detecting, "_SAMPLE", 150)
    score = kgreason.score(original, released, same, rules, k=2, x=2)
    assert str(score.withstood) == "not measured: the release has more than 100 edges"
    few = kgreason.score(original, original, same, rules, k=2, x=2)
    assert few.withstood is None, "no synthetic edge is removed"


@pytest.mark.slow
def test_intervals_cover_graphs_without_signal() -> None:
    """Of 40 random graphs with a random part called synthetic, about two intervals miss one half."""
    missed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        graph = erdos_renyi(150, 400, rng)
        kept = rng.permutation(graph.m) >= 40
        original = KnowledgeGraph(graph.labels, {"own": graph.relations["own"].take(kept)})
        found, _ = edge_detection(graph, synthetic_edges(original, graph, np.arange(graph.n)), rng)
        assert found.low is not None
        assert found.high is not None
        missed += not found.low <= 0.5 <= found.high
    assert missed <= 5


def test_of_copies_the_edges_between_them_are_detected() -> None:
    rules = '@edge("own"). @derived("two"). two(X,Y) :- own(X,Z), own(Z,Y).'
    graph = erdos_renyi(40, 80, np.random.default_rng(1))
    made = kgreason.anonymize(rules, graph, method="klone", k=3, seed=1)
    release = made.release
    assert release.copies is not None
    copy = {int(v): 0 for v in release.mapping}
    copy |= {int(v): 1 + j for j, row in enumerate(release.copies) for v in row}
    between = [
        copy.get(u, u + 3) != copy.get(v, v + 3)
        for u, v in zip(*(ends.tolist() for ends in release.graph.ends), strict=True)
    ]
    truth = synthetic_edges(made.original, release.graph, release.mapping, release.copies)
    assert truth.tolist() == between
    found = made.score.edge_detection
    assert found.between
    assert found.synthetic == sum(between) == release.graph.m - 3 * graph.m
    assert "edges between copies" in str(found)
    assert made.score.withstood is not None
    assert made.score.withstood.removed == found.synthetic
    graphs = made.original, release.graph, release.mapping
    again = kgreason.score(*graphs, rules, certificate=made.verdict.certificate)
    assert again.edge_detection == found
    without = kgreason.score(*graphs, rules).edge_detection
    assert (without.between, without.synthetic) == (False, release.graph.m - graph.m)


def test_score_reads_the_copies_beside_the_mapping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.vada").write_text('@edge("own"). @derived("two"). two(X,Y) :- own(X,Z), own(Z,Y).')
    rows = [f"{u},{v}" for u, v in zip(*erdos_renyi(40, 80, np.random.default_rng(1)).ends, strict=True)]
    Path("own.csv").write_text("\n".join(["from,to", *rows]))
    named = ["--rules", "r.vada", "--data", "own=own.csv"]
    run = CliRunner().invoke
    assert run(app, ["anonymize", *named, "--method", "klone"]).exit_code == 0
    scored = ["score", "release", *named, "--mapping", "private"]
    assert "edges between copies" in run(app, scored).stdout
    Path("private/certificate.json").unlink()
    assert "edges between copies" not in run(app, scored).stdout
