from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base import cores
from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import SILENT
from kgreason.graph.generators import erdos_renyi, scale_free
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.subgraphs.member_pools import degree_ranks
from kgreason.isomorphism.anonymizers import kguard, natural_cover
from kgreason.isomorphism.anonymizers.assembly import is_symmetric, publish
from kgreason.isomorphism.anonymizers.kguard import Kguard
from kgreason.isomorphism.anonymizers.klone import Klone
from kgreason.isomorphism.definition import Augmented, Guarantee
from kgreason.isomorphism.verification.checker import verify
from kgreason.isomorphism.verification.verdict import Verdict
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import load_text
from tests.examples import inputs
from tests.folders import REAL
from tests.graphs import build, graphs, mirrored
from tests.isomorphism.test_kguard_published import REACH, RULES

APART = load_text(
    """@edge("own"). @edge("knows"). @derived("apart"). @derived("heavy").
    apart(X,Y) :- own(X,Y,_), not knows(X,Y), X != Y.
    heavy(X,Z) :- own(X,Y,V), own(Y,Z,W), V + W > 0.8."""
)
FRIENDS = load_text('@edge("knows"). friend(X,Y) :- knows(X,Y). @derived("friend").')


def made(
    graph: KnowledgeGraph,
    rules: CheckedProgram,
    k: int,
    sizes: tuple[int, ...],
    seed: int = 0,
    plans: int = 1,
) -> Augmented:
    return Kguard(k, sizes, trials=1, max_subgraphs=10**9, plans=plans).augment(
        graph, rules, np.random.default_rng(seed), SILENT
    )


def checked(
    graph: KnowledgeGraph, augmented: Augmented, rules: CheckedProgram, k: int, sizes: tuple[int, ...]
) -> Verdict:
    release = publish(augmented, frozenset(graph.labels.tolist()), np.random.default_rng(1))
    *also, x = sizes
    return verify(graph, release.graph, release.mapping, rules, k, x, also=also)


@settings(max_examples=inputs(40), deadline=None)
@given(
    graphs(least=3, most=9, edges=14),
    st.sampled_from([RULES, REACH, APART]),
    st.integers(2, 4),
    st.sampled_from([(1,), (2,), (3,), (4,), (1, 2), (2, 3)]),
    st.integers(0, 1000),
    st.booleans(),
)
def test_every_attacked_subgraph_has_its_images(
    drawn: KnowledgeGraph, rules: CheckedProgram, k: int, sizes: tuple[int, ...], seed: int, both: bool
) -> None:
    graph = mirrored(drawn) if both else drawn
    if sizes[-1] > graph.n or k > math.comb(graph.n, sizes[0]) or k > math.comb(graph.n, sizes[-1]):
        return
    augmented = made(graph, rules, k, sizes, seed)
    assert is_symmetric(augmented.graph) == is_symmetric(graph)
    verdict = checked(graph, augmented, rules, k, sizes)
    assert verdict.holds, str(verdict)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("graph", "rules", "sizes"),
    [
        (erdos_renyi(60, 200, np.random.default_rng(1)), REACH, (3,)),
        (erdos_renyi(60, 200, np.random.default_rng(1)), REACH, (2, 3)),
        (scale_free(50, 3.0, np.random.default_rng(2), economic=True), RULES, (3,)),
        (scale_free(80, 5.0, np.random.default_rng(3), economic=True), RULES, (4,)),
        (mirrored(erdos_renyi(50, 60, np.random.default_rng(4))), REACH, (3,)),
    ],
    ids=["random", "two sizes", "hubs", "sparse", "symmetric"],
)
def test_graphs_of_usual_shapes(
    graph: KnowledgeGraph, rules: CheckedProgram, sizes: tuple[int, ...], seed: int
) -> None:
    augmented = made(graph, rules, 3, sizes, seed)
    verdict = checked(graph, augmented, rules, 3, sizes)
    assert verdict.holds, str(verdict)
    assert verdict.delta is not None
    assert verdict.delta.value == 1.0
    assert augmented.guarantee == Guarantee(3, sizes[-1], sizes[:-1])
    assert augmented.graph.n < 3 * graph.n


def test_nothing_is_added_where_the_graph_has_all_images() -> None:
    graph = erdos_renyi(400, 2_000, np.random.default_rng(0))
    augmented = made(graph, REACH, 3, (2,))
    assert augmented.graph.m == graph.m
    assert checked(graph, augmented, REACH, 3, (2,)).holds


def test_few_rare_subgraphs_cost_few_edges_and_no_vertex() -> None:
    """What the random graph lacks is completed with edges between far vertices."""
    graph = erdos_renyi(1_000, 3_453, np.random.default_rng(0))
    augmented = made(graph, REACH, 3, (3,))
    assert checked(graph, augmented, REACH, 3, (3,)).holds
    assert augmented.graph.n == graph.n
    assert 0 < augmented.graph.m - graph.m < 30


def test_edges_between_original_vertices_lie_outside_all_attacked_subgraphs() -> None:
    graph = scale_free(300, 5.0, np.random.default_rng(3), economic=True)
    augmented = made(graph, RULES, 3, (3,))
    import networkx as nx

    plain = nx.Graph(zip(*(e.tolist() for e in graph.ends), strict=True))
    for source, target in zip(*(e[graph.m :].tolist() for e in augmented.graph.ends), strict=True):
        if source < graph.n and target < graph.n:
            near = nx.single_source_shortest_path_length(plain, source, cutoff=2)
            assert target not in near


def test_a_tiny_graph_falls_back_to_klone() -> None:
    graph = build(3, [(0, 1, 0.3), (1, 2, 0.6)])
    augmented = made(graph, RULES, 3, (3,))
    assert augmented.guarantee.x is None
    assert augmented.graph.n <= 2 * 3 * graph.n + 1


@pytest.mark.parametrize("seed", range(3))
def test_components_are_no_reason_for_klone(seed: int) -> None:
    ring = [(10 + v, 10 + (v + 1) % 12, 0.1) for v in range(12)]
    pairs = [(v, v + 1, 0.1) for v in range(22, 30, 2)]
    graph = build(30, [*((0, v, 0.1) for v in range(1, 10)), *ring, *pairs])
    augmented = made(graph, REACH, 2, (2,), seed)
    assert checked(graph, augmented, REACH, 2, (2,)).holds
    assert augmented.guarantee.x == 2


def test_not_more_than_klone() -> None:
    for seed in range(1):
        graph = scale_free(40, 3.0, np.random.default_rng(seed), economic=True)
        exact = made(graph, RULES, 3, (4,), seed).graph
        klone = Klone(3, 1).augment(graph, RULES, np.random.default_rng(seed), SILENT).graph
        assert exact.n <= klone.n


@pytest.mark.slow
def test_the_same_seed_makes_the_same_release_on_one_core_and_on_four(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = scale_free(50, 3.0, np.random.default_rng(5), economic=True)
    found = []
    for count in (1, 4):
        monkeypatch.setattr(cores, "cores", lambda count=count: count)
        augmented = made(graph, RULES, 3, (3, 4), seed=7, plans=2).graph
        found.append([*augmented.ends, augmented.relations["own"].weight])
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


def test_samples_come_first_where_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(natural_cover, "_MANY", 10)
    monkeypatch.setattr(natural_cover, "SAMPLE", 20)
    monkeypatch.setattr(natural_cover, "_SEARCHED", 5)
    graph = scale_free(60, 3.0, np.random.default_rng(6), economic=True)
    augmented = made(graph, RULES, 3, (3,))
    assert checked(graph, augmented, RULES, 3, (3,)).holds


@settings(max_examples=inputs(25), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_nothing_is_apart_in_classes_with_one_degree_at_a_position(seed: int, x: int) -> None:
    rng = np.random.default_rng(seed)
    graph = erdos_renyi(10, 9, rng)
    cover = natural_cover.Cover(graph, InducedReasoner(graph, RULES), x, None, 2, rng)
    ranks, _ = degree_ranks((graph.in_degree(), graph.out_degree()))
    found = cover._uniform(cover.members, cover.classes, ranks)
    for c, rows in natural_cover.Lack(cover.members, cover.classes, cover.classes).of_class.items():
        _, apart = cover.search(rows, np.full(len(rows), c), ranks, 1)
        if c in found:
            assert (apart == 0).all()
        turns = cover.turns[1][cover.turns[0][c] : cover.turns[0][c + 1]]
        placed = rows[:, turns].reshape(-1, x)
        values = [
            len({*d[placed[:, p]].tolist()})
            for d in (graph.in_degree(), graph.out_degree())
            for p in range(x)
        ]
        assert (c in found) == (min(values) == 1)


def test_small_components_are_attacked_as_a_whole() -> None:
    graph = build(9, [(0, 1, 0.3), (2, 3, 0.6), (4, 5, 0.2), (5, 6, 0.4), (6, 7, 0.7)])
    augmented = made(graph, RULES, 2, (3,))
    assert augmented.graph.components()[0] == 1
    assert checked(graph, augmented, RULES, 2, (3,)).holds


def test_unweighted_relations_alone() -> None:
    rng = np.random.default_rng(0)
    pairs = [(int(a), int(b)) for a, b in rng.integers(0, 40, (70, 2)) if a != b]
    graph = build(40, [], pairs)
    augmented = made(graph, FRIENDS, 3, (3,))
    assert checked(graph, augmented, FRIENDS, 3, (3,)).holds


def test_no_rules_at_all() -> None:
    nothing = load_text('@edge("own"). @output("own2"). own2(X,Y) :- own(X,Y,_).')
    graph = erdos_renyi(50, 120, np.random.default_rng(0))
    augmented = made(graph, nothing, 3, (3,))
    assert checked(graph, augmented, nothing, 3, (3,)).holds


@pytest.mark.parametrize(
    ("algorithm", "text"),
    [
        (Kguard(65, (4,), 1, 100), "k up to 64, not 65"),
        (Kguard(3, (3,), 1, max_subgraphs=1), "more than 1 connected subgraphs with 3 vertices"),
    ],
)
def test_what_cannot_be_is_refused(algorithm: Kguard, text: str) -> None:
    graph = build(4, [(0, 1, 0.3), (1, 2, 0.6), (2, 3, 0.5)])
    with pytest.raises(AnonymizationError, match=text):
        algorithm.augment(graph, RULES, np.random.default_rng(0), SILENT)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"k": 1}, "k must be a whole number of at least 2, not 1"),
        ({"x": 7}, "x from 1 to 6, not 7"),
        ({"x": (1, 5)}, "x = 5 is not between 1 and the number of vertices, 4"),
        ({"mode": "published", "k": 1}, "k must be a whole number of at least 2, not 1"),
        ({"mode": "published", "x": 0}, "x must be a whole number of at least 1, not 0"),
        ({"mode": "published", "x": 7}, "x from 1 to 6, not 7"),
        ({"mode": "published", "x": 5}, "x = 5 is not between 1 and the number of vertices, 4"),
        ({"method": "klone", "k": 1}, "k must be a whole number of at least 2, not 1"),
        ({"method": "klone", "k": 0}, "k must be a whole number of at least 2, not 0"),
        ({"method": "klone", "k": -3}, "k must be a whole number of at least 2, not -3"),
    ],
)
def test_parameters_out_of_range_are_refused(settings: dict[str, Any], text: str) -> None:
    graph = build(4, [(0, 1, 0.3), (1, 2, 0.6), (2, 3, 0.5)])
    with pytest.raises(AnonymizationError, match=text):
        kgreason.anonymize(REACH, graph, **settings)


def test_kinds_that_do_not_fit_into_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    from kgreason.graph.subgraphs import ordered_adjacency

    graph = scale_free(40, 3.0, np.random.default_rng(2), economic=True)
    monkeypatch.setattr(ordered_adjacency, "_WIDTH", 4)  # ground edges fit, the cells of weights do not
    augmented = made(graph, RULES, 3, (3,))
    monkeypatch.undo()
    assert checked(graph, augmented, RULES, 3, (3,)).holds
    monkeypatch.setattr(ordered_adjacency, "_WIDTH", 1)
    with pytest.raises(AnonymizationError, match="too many kinds of parallel edges and loops"):
        made(graph, RULES, 3, (3,))


def test_degrees_are_counted_again_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = np.empty(0, dtype=np.int64)
    monkeypatch.setattr(kguard.Augmentation, "ties", property(lambda _: (nothing, nothing)))
    with pytest.raises(RuntimeError, match="lost count"):
        made(scale_free(60, 3.0, np.random.default_rng(5), economic=True), RULES, 3, (3,))


@pytest.mark.slow
def test_published_adds_more() -> None:
    """On a random graph the exact mode adds at most a third of what the published one does, and protects all."""
    from kgreason.isomorphism.anonymizers.kguard_published import PublishedKguard

    graph = erdos_renyi(500, 5_000, np.random.default_rng(0))
    exact = made(graph, REACH, 3, (4,), seed=1)
    published = PublishedKguard(3, 4, 1, 10**7).augment(graph, REACH, np.random.default_rng(1), SILENT)
    assert checked(graph, exact, REACH, 3, (4,)).holds
    assert 3 * (exact.graph.n - graph.n) <= published.graph.n - graph.n
    assert 3 * (exact.graph.m - graph.m) <= published.graph.m - graph.m


def shared_data() -> Path:
    return REAL


@pytest.mark.slow
@pytest.mark.skipif(not shared_data().is_dir(), reason="the real graphs of ../shared/data are not there")
def test_a_real_graph_with_millions_of_subgraphs() -> None:
    from kgreason.base.resources import resource
    from kgreason.isomorphism.arguments import anonymizable, read_graph
    from kgreason.reasoning.api import load

    rules = load(resource("rules", "reachability.vada"))
    source = f"{shared_data()}/weighted/soc-sign-bitcoinalpha.csv.gz?columns=1,2,3&scale=abs&header=false"
    graph = read_graph(rules, {"own": source})
    rules = anonymizable(rules)
    augmented = made(graph, rules, 3, (4,))
    verdict = checked(graph, augmented, rules, 3, (4,))
    assert verdict.holds, str(verdict)
    assert verdict.delta is not None
    assert verdict.delta.total == 73_832_383 + 4  # components of fewer vertices as a whole
    assert augmented.graph.m - graph.m <= 22
