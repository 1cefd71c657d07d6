from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import SILENT
from kgreason.graph.facts import answers
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.isomorphism.anonymizers.answer_loss import Judge, symmetric_loss
from kgreason.isomorphism.anonymizers.replacement_weights import Drawing
from kgreason.isomorphism.anonymizers.weight_density import GRID, NO_THRESHOLDS, WeightDensity
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising
from kgreason.language.check.program_checker import load_text
from tests.examples import inputs
from tests.graphs import build, graphs

FREE = load_text('@edge("own"). @edge("knows"). @derived("d"). d(X,Y) :- own(X,Y,W), W > 0.5.')
BOUND = load_text(
    '@edge("own"). @edge("knows"). @incoming_sum("own", 1.0). @derived("d"). @query("q").'
    "d(X,Y) :- own(X,Y,W), W > 0.5. q(X) :- d(X,_)."
)


def noised(graph: KnowledgeGraph, program: object, seed: int = 0, trials: int = 1) -> KnowledgeGraph:
    return WeightNoising.fit(graph, program, trials).originals(np.random.default_rng(seed), SILENT)


@settings(max_examples=inputs(80), deadline=None)
@given(graphs(), st.sampled_from([FREE, BOUND]), st.integers(0, 100))
def test_weights_change_and_stay_in_range(graph: KnowledgeGraph, program: object, seed: int) -> None:
    new = noised(graph, program, seed)
    old_weights, weights = graph.relations["own"].weight, new.relations["own"].weight
    assert ((weights > 0) & (weights <= 1)).all()
    assert np.array_equal(weights, np.rint(weights * GRID) / GRID)
    before, after = defaultdict(set), defaultdict(list)
    ends = zip(graph.relations["own"].source.tolist(), graph.relations["own"].target.tolist(), strict=True)
    for pair, old, weight in zip(ends, old_weights.tolist(), weights.tolist(), strict=True):
        before[pair].add(old)
        after[pair].append(weight)
    assert not any(before[pair] & set(after[pair]) for pair in after)
    assert all(len(set(drawn)) == len(drawn) for drawn in after.values())
    if program is BOUND:
        for v in range(graph.n):
            assert math.fsum(weights[graph.relations["own"].target == v].tolist()) < 1.0
    for name in graph.relations:
        assert new.relations[name].source is graph.relations[name].source


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(most=5), graphs(least=7, edges=20), st.integers(0, 100))
def test_synthetic_weights_fill_only_the_room_left(
    graph: KnowledgeGraph, more: KnowledgeGraph, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    noising = WeightNoising.fit(graph, BOUND, 2)
    fixed = noising.originals(rng, SILENT)
    own, extra = fixed.relations["own"], more.relations["own"]
    edges = [
        *zip(own.source, own.target, own.weight, strict=True),
        *((u, v, 9.0) for u, v in zip(extra.source, extra.target, strict=True)),
    ]
    columns = np.array(edges, dtype=np.float64).reshape(-1, 3)
    relation = Relation(columns[:, 0].astype(np.int64), columns[:, 1].astype(np.int64), columns[:, 2].copy())
    augmented = KnowledgeGraph(more.labels, {"own": relation})
    weights = noising.synthetic(augmented, {"own": len(own)}, rng, SILENT).relations["own"].weight
    assert np.array_equal(weights[: len(own)], own.weight)
    assert ((weights > 0) & (weights <= 1)).all()
    for v in range(more.n):
        assert math.fsum(weights[relation.target == v].tolist()) < 1.0


def test_the_head_room_of_a_full_vertex_has_no_threshold() -> None:
    graph = build(4, [(0, 3, 0.5), (1, 3, 0.3), (2, 3, 0.2)])
    sums = [noised(graph, BOUND, seed).relations["own"].weight.sum() for seed in range(100)]
    assert max(sums) < 1
    assert 0.01 < np.mean(np.array(sums) > 0.9) < 0.3
    assert 0.7 < np.mean(sums) < 0.9


@pytest.mark.parametrize(("weight", "next_to_it"), [(0.0, {1e-6}), (0.3, {0.29, 0.31}), (1.0, {0.99})])
def test_constant_weights_stay_constant(weight: float, next_to_it: set[float]) -> None:
    """A reader gives edges without weight 1; drawn ones would tell original from synthetic edges by nothing else."""
    graph = build(3, [(0, 1, weight), (1, 2, weight)])
    found = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        noising = WeightNoising.fit(graph, FREE, 1)
        fixed = noising.originals(rng, SILENT).relations["own"]
        more = Relation(np.append(fixed.source, 2), np.append(fixed.target, 0), np.append(fixed.weight, 0.0))
        augmented = KnowledgeGraph(graph.labels, {"own": more})
        weights = noising.synthetic(augmented, {"own": 2}, rng, SILENT).relations["own"].weight
        assert len(set(weights.tolist())) == 1
        found.add(float(weights[0]))
    assert found == next_to_it


def test_constant_weights_under_a_bound_are_noised() -> None:
    graph = build(4, [(0, 3, 0.25), (1, 3, 0.25), (2, 3, 0.25)])
    weights = noised(graph, BOUND).relations["own"].weight
    assert len(set(weights.tolist())) > 1
    assert (weights != 0.25).all()


def test_few_significant_digits_let_weights_repeat() -> None:
    rng = np.random.default_rng(0)
    for size, digits in ((3_000, 2), (20_001, 3)):
        weight = rng.beta(0.4, 2.0, size)
        graph = KnowledgeGraph(
            np.arange(size + 1).astype(str).astype(object),
            {"own": Relation(np.arange(size), np.arange(size) + 1, weight)},
        )
        new = noised(graph, FREE).relations["own"].weight
        assert {len(f"{w:.6f}".replace(".", "").strip("0")) for w in new} <= set(range(1, digits + 1))
        assert len(np.unique(new)) < size / 5


def test_weights_that_hardly_differ_are_told_apart() -> None:
    graph = build(40, [(i, i + 1, w) for i, w in enumerate([0.5, 0.5001, 0.4999] * 13)])
    for program in (FREE, BOUND):
        weights = noised(graph, program).relations["own"].weight
        assert (weights != graph.relations["own"].weight).all()
        assert (weights > 0.4).all()


def test_many_parallel_edges_get_different_weights() -> None:
    graph = build(2, [(0, 1, i / 200_000) for i in range(1, 301)])
    for program in (FREE, BOUND):
        weights = noised(graph, program).relations["own"].weight
        assert len(set(weights.tolist())) == 300
        assert not set(weights.tolist()) & set(graph.relations["own"].weight.tolist())


def test_a_weight_that_occurs_once_tells_nothing() -> None:
    """As many synthetic weights as original ones stand alone, and their digits are as many."""
    rng = np.random.default_rng(0)
    ends = np.arange(200)
    relation = Relation(ends, (ends + 1) % 200, rng.beta(2.0, 4.0, 200))
    graph = KnowledgeGraph(np.arange(200).astype(str).astype(object), {"own": relation})
    alone = np.zeros(2)
    for _ in range(10):
        noising = WeightNoising.fit(graph, FREE, 1)
        fixed = noising.originals(rng, SILENT).relations["own"]
        more = Relation(*map(np.append, (fixed.source, fixed.target), (fixed.target, fixed.source)))
        more = Relation(more.source, more.target, np.append(fixed.weight, np.zeros(200)))
        augmented = KnowledgeGraph(graph.labels, {"own": more})
        weights = noising.synthetic(augmented, {"own": 200}, rng, SILENT).relations["own"].weight
        assert np.isin(np.rint(weights * GRID), noising.densities["own"].levels).all()
        _, place, count = np.unique(weights, return_inverse=True, return_counts=True)
        alone += (count[place] == 1).reshape(2, 200).sum(axis=1)
    assert alone.min() > 20
    assert 0.6 < alone[0] / alone[1] < 1.6


@pytest.mark.parametrize("weight", [1.5, -0.1, float("nan")])
def test_weights_outside_the_unit_interval_are_refused(weight: float) -> None:
    with pytest.raises(AnonymizationError, match=r"'own' has weights outside \[0, 1\]") as caught:
        noised(build(2, [(0, 1, weight)]), FREE)
    assert "scale" in str(caught.value)


def test_more_edges_than_grid_units_are_refused() -> None:
    tight = load_text('@edge("own"). @incoming_sum("own", 0.000003). @derived("d"). d(X,Y) :- own(X,Y,_).')
    with pytest.raises(AnonymizationError, match=r"6 edges of relation 'own' into one vertex"):
        noised(build(7, [(i, 6, 0.1) for i in range(6)]), tight)


FREE_SUMS = """
@edge("own"). @query("q"). @query("r").
q(X,Z) :- own(X,Y,W), own(Y,Z,V), W * V > 0.2.
r(Y,S) :- own(X,Y,W), S = msum(W, <X>).
"""


@pytest.mark.parametrize("program", [BOUND, load_text(FREE_SUMS)], ids=["compared", "read"])
@pytest.mark.parametrize("trials", [1, 2, pytest.param(6, marks=pytest.mark.slow)])
def test_the_search_begins_with_the_best_of_the_trials_and_ends_no_worse(
    program: object, trials: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Incoming sums are far above their bound, so that answers are lost."""
    judged: list[float] = []
    judge = Judge.judged

    def recorded(self: Judge, graph: KnowledgeGraph) -> object:
        found = judge(self, graph)
        judged.append(found.loss)
        return found

    monkeypatch.setattr(Judge, "judged", recorded)
    for seed in range(3):
        judged.clear()
        rng = np.random.default_rng(1)
        ends, weights = rng.integers(0, 40, (2, 60)), rng.random(60)
        graph = build(40, [(int(u), int(v), float(w)) for u, v, w in zip(*ends, weights, strict=True)])
        noising = WeightNoising.fit(graph, program, trials)
        new = noising.originals(np.random.default_rng(seed), SILENT)
        loss = symmetric_loss(noising.judge.reference, answers(new, noising.judge.needed))
        assert len(judged) <= 2 * trials + (8 * trials + 1 if program is BOUND else 0)  # of what to lower
        assert loss == min(judged) > 0


def test_at_least_one_trial() -> None:
    with pytest.raises(AnonymizationError, match="at least 1"):
        kgreason.anonymize(FREE, build(2, [(0, 1, 0.5)]), trials=0)


def test_draws_follow_the_weights() -> None:
    drawn = (
        WeightDensity.fit(np.array([0.1, 0.12, 0.9, 0.88] * 50), "own").draw(np.random.default_rng(0), 5000)
        / GRID
    )
    assert 0.45 < drawn.mean() < 0.55
    assert ((drawn < 0.4) | (drawn > 0.6)).mean() > 0.7


def test_loss_of_queries() -> None:
    empty = np.empty((0, 1), dtype=np.int64)
    assert symmetric_loss({"q": empty}, {"q": empty}) == 0
    assert symmetric_loss({}, {}) == 0
    pairs = {"p": np.array([[0, -5], [1, 7]]), "q": empty}
    assert symmetric_loss(pairs, {"p": np.array([[1, 7]]), "q": empty}) == 0.25


def test_hopeless_collisions_are_named() -> None:
    """Three parallel edges, and one level that is not an old weight."""
    graph = build(2, [(0, 1, 0.1), (0, 1, 0.2), (0, 1, 0.3)])
    density = WeightDensity(np.array([0.1]), 0.1, np.array([100_000, 500_000]), np.array([], dtype=np.int64))
    rng = np.random.default_rng(0)
    drawing = Drawing(
        "own",
        graph.relations["own"],
        density,
        None,
        NO_THRESHOLDS,
        rng,
        forbidden=graph.relations["own"].weight,
    )
    with pytest.raises(AnonymizationError, match="no weights of relation 'own' were found"):
        drawing.run()
