"""Weight noise: the search for weights that change no answers, and the weights of copies and of synthetic edges."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from kgreason.base.progress import SILENT
from kgreason.graph.copied_graph import CopiedGraph
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, joined
from kgreason.isomorphism.anonymizers.answer_loss import Answers, Judge, Judged, Repair, Rows
from kgreason.isomorphism.anonymizers.weight_density import GRID, in_units, weights_of
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising
from kgreason.language.check.program_checker import load_text
from tests.graphs import build

CHAIN = build(7, [(i, i + 1, 0.1) for i in range(6)])
NOTHING: Answers = {}
SUMS = load_text(
    '@edge("own"). @incoming_sum("own", 1.0). @query("q"). q(X,Z) :- own(X,Y,W), own(Y,Z,V), W * V > 0.2.'
)
FREE_PRODUCT = '@edge("own"). @query("q"). q(X,Z) :- own(X,Y,W), own(Y,Z,V), W * V > 0.02.'


class Told:
    """Progress that counts."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, int | None]] = []
        self.advanced = 0

    def step(self, title: str, total: int | None = None, unit: str = "") -> None:
        self.steps.append((title, total))

    def advance(self, units: int = 1) -> None:
        self.advanced += units

    def note(self, message: str) -> None:
        raise AssertionError(message)


def search(losses: list[float], trials: int, told: Told | None = None, **options: Any) -> Repair:
    """A search whose candidates have these losses, one after another."""
    coming = iter(losses)
    judge = SimpleNamespace(
        judged=lambda graph: Judged(graph, NOTHING, next(coming)),
        differing=lambda answers, wanted, n: np.arange(n) == 3,
    )
    return Repair(cast(Judge, judge), trials, told or SILENT, "Judging", **options)


@pytest.mark.parametrize(
    ("losses", "least", "draws", "best"),
    [
        ([0.5, 0.4, 0.6], 0.0, 2, 0.4),
        ([0.5, 0.0], 0.0, 1, 0.0),
        ([0.5, 0.25], 0.25, 1, 0.25),
        ([0.1], 0.2, 0, 0.1),
    ],
)
def test_draws_end_with_the_best_there_can_be(
    losses: list[float], least: float, draws: int, best: float
) -> None:
    told, drawn = Told(), []

    def draw() -> KnowledgeGraph:
        drawn.append(1)
        return CHAIN

    found = search(losses, 3, told, least=least).best(CHAIN, draw)
    assert (len(drawn), found.loss) == (draws, best)
    assert (told.steps, told.advanced) == ([("Judging", 3)], 3)


def test_redraws_go_farther_and_end_after_three_in_vain() -> None:
    told, attempts, reached = Told(), [], []

    def redraw(graph: KnowledgeGraph, rows: Rows, attempt: int) -> KnowledgeGraph:
        attempts.append(attempt)
        reached.append(np.flatnonzero(rows["own"]).tolist())
        return graph

    start = Judged(CHAIN, NOTHING, 0.9)
    found = search([0.8, 0.7, 0.7, 0.9, 0.8, 0.1], 10, told).repaired(start, NOTHING, redraw)
    assert attempts == [0, 1, 2, 3, 4]
    assert found.loss == 0.7
    # edge i runs from i to i + 1; the vertex 3 is marked, and then what lies one, two and three edges away from it
    assert reached == [[2, 3], [1, 2, 3, 4], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]]
    assert told.steps == [("Redrawing weights that changed answers", None)]


def test_redraws_are_no_more_than_the_trials() -> None:
    attempts = []

    def redraw(graph: KnowledgeGraph, rows: Rows, attempt: int) -> KnowledgeGraph:
        attempts.append(attempt)
        return graph

    found = search([0.8, 0.7, 0.6], 3).repaired(Judged(CHAIN, NOTHING, 0.9), NOTHING, redraw)
    assert (attempts, found.loss) == ([0, 1, 2], 0.6)


def test_an_edge_is_drawn_with_all_others_into_its_target_but_for_fixed_ones() -> None:
    # 0 -> 1, 2 -> 1, 3 -> 1, 1 -> 4, 5 -> 6
    graph = build(7, [(0, 1, 0.1), (2, 1, 0.1), (3, 1, 0.1), (1, 4, 0.1), (5, 6, 0.1)])
    marked = np.arange(7) == 2
    free = search([], 1)._near(graph, marked, 1)["own"]
    assert free.tolist() == [True, True, True, False, False]
    for fixed, expected in ((1, [False, True, True, False, False]), (2, [False] * 5)):
        some = search([], 1, fixed={"own": fixed})._near(graph, marked, 1)["own"]
        assert some.tolist() == expected
    assert marked.tolist() == [False, False, True, False, False, False, False]


def test_redraws_are_the_nearer_to_the_old_weights_the_more_there_were() -> None:
    """Copies are drawn as the originals were, so what was drawn anew is kept, with how near it came."""
    nears = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        ends, weights = rng.integers(0, 30, (2, 60)), rng.random(60) / 4
        graph = build(30, [(int(u), int(v), float(w)) for u, v, w in zip(*ends, weights, strict=True)])
        noising = WeightNoising.fit(graph, load_text(FREE_PRODUCT), 5)
        noising.originals(rng, SILENT)
        found = [near for _, near in noising.redraws]
        assert found == sorted(found)
        nears |= set(found)
    assert nears == {30, 60, 90, 100}


def test_sums_at_the_bound_need_no_lowering() -> None:
    for over, lowered in ((0.0, False), (1e-12, False), (1e-3, True)):
        graph = build(4, [(0, 3, 0.5), (1, 3, 0.25), (2, 3, 0.25 + over)])
        noising = WeightNoising.fit(graph, SUMS, 2)
        found = noising._within_bounds(np.random.default_rng(0), SILENT)
        assert (found is not None) == lowered


def test_relations_that_no_rule_reads_are_noised() -> None:
    old = np.array([0.25, 0.5, 0.75])
    lent = Relation(np.array([0, 1, 2]), np.array([1, 2, 0]), old)
    graph = build(3, [(0, 1, 0.5), (1, 2, 0.7)])
    graph = KnowledgeGraph(graph.labels, {**graph.relations, "lent": lent})
    noising = WeightNoising.fit(graph, load_text(FREE_PRODUCT), 2)
    assert set(noising._queried) == {"own"}
    weight = noising.originals(np.random.default_rng(0), SILENT).relations["lent"].weight
    assert weight is not None
    assert (weight != old).all()


def test_copies_draw_from_a_hundred_weights_an_edge() -> None:
    cases = (2, 1, 200), (60, 1, 6_000), (150, 1, 10_000), (20_000, 1, 10_000), (20_000, 150, 15_000)
    for m, copies, size in (*cases, (20_000, 1_000, 20_000)):
        graph = build(m + 1, [(i, i + 1, 0.1 + i / 40_000) for i in range(m)])
        noising = WeightNoising.fit(graph, load_text(FREE_PRODUCT), 1)
        noising.originals(np.random.default_rng(0), SILENT)
        sample = noising._sample("own", copies)
        assert len(sample.units) == size
        assert (np.diff(sample.units) >= 0).all()
        assert noising._sample("own", copies) is sample


@pytest.mark.parametrize("bounded", [False, True])
def test_synthetic_weights_are_drawn_again_where_sums_have_no_bound(bounded: bool) -> None:
    """Where they have one, synthetic weights are taken from those that are there, and lowered to the room left."""
    graph = build(41, [(i, i + 1, 0.1 + i / 100) for i in range(40)])
    noising = WeightNoising.fit(graph, SUMS if bounded else load_text(FREE_PRODUCT), 1)
    rng = np.random.default_rng(0)
    new = noising.originals(rng, SILENT).relations["own"]
    present = in_units(weights_of(new))
    more = joined(new, new.take(np.arange(31)))
    for alike in (1, 2):
        drawn = noising._like("own", more, 40, alike, rng)
        assert len(drawn) == 31
        assert np.isin(drawn, present).all() == bounded
        if not bounded and alike == 2:
            values, often = np.unique(drawn[~np.isin(drawn, present)], return_counts=True)
            assert len(values)
            assert (often % 2 == 0).all()
    assert not len(noising._like("own", new, 40, 1, rng))


BOUNDED = '@edge("own"). @incoming_sum("own", 9.0). @derived("d"). d(X,Y) :- own(X,Y,W).'


@pytest.mark.parametrize("rules", [FREE_PRODUCT, BOUNDED])
@pytest.mark.parametrize("constant", [False, True])
def test_ties_get_the_weights_that_they_get_in_the_whole_graph(rules: str, constant: bool) -> None:
    graph = build(41, [(i, i + 1, 0.5 if constant else 0.1 + i / 100) for i in range(40)])
    made = []
    for whole in (False, True):
        rng = np.random.default_rng(0)
        noising = WeightNoising.fit(graph, load_text(rules), 1)
        ends = rng.permutation(82)
        tie = Relation(ends[:41], ends[41:], np.zeros(41))
        copied = CopiedGraph(noising.originals(rng, SILENT), 2, 82, {"own": tie})
        assert not noising.lowered
        fixed = {"own": 80}
        if whole:
            made.append(noising.synthetic(copied.whole(), fixed, rng, SILENT, alike=2))
        else:
            made.append(
                copied.with_ties(noising.synthetic_weights(copied.relations, fixed, rng, alike=2)).whole()
            )
    one, other = (weights_of(graph.relations["own"]) for graph in made)
    assert np.array_equal(one, other)
    assert one.min() > 0


def test_further_draws_take_each_edge_equally_often_and_on_its_side_of_the_cut() -> None:
    half = load_text('@edge("own"). @query("q"). q(X,Y) :- own(X,Y,W), W > 0.5.')
    weights = [0.3, 0.4, 0.6, 0.7, 0.9]
    graph = build(6, [(i, i + 1, w) for i, w in enumerate(weights)])
    noising = WeightNoising.fit(graph, half, 1)
    noising.originals(np.random.default_rng(0), SILENT)
    drawing = noising.drawings["own"]
    found = drawing.again(5_000, []).reshape(1_000, 5)
    assert ((found > GRID // 2) == (np.array(weights) > 0.5)).all()
    assert (found != np.rint(np.array(weights) * GRID)).all()
    one_by_one = np.array([drawing.run() for _ in range(1_000)])
    for share in (0.25, 0.5, 0.75):
        apart = np.quantile(found, share, axis=0) - np.quantile(one_by_one, share, axis=0)
        assert (abs(apart) < 0.04 * GRID).all()
    for size in (0, 1, 4, 5, 6, 23):
        assert len(noising.drawings["own"].again(size, [])) == size


def test_parallel_edges_of_further_draws_get_different_weights() -> None:
    graph = build(3, [(0, 1, 0.1), (0, 1, 0.2), (0, 1, 0.3), (1, 2, 0.4)])
    noising = WeightNoising.fit(graph, load_text(FREE_PRODUCT), 1)
    noising.originals(np.random.default_rng(0), SILENT)
    drawing = noising.drawings["own"]
    found = drawing.again(4 * 50, []).reshape(50, 4)
    old: Mapping[int, set[int]] = {0: {100_000, 200_000, 300_000}, 3: {400_000}}
    for draw in found:
        assert len({*draw[:3].tolist()}) == 3
        assert not old[0] & {*draw[:3].tolist()}
        assert draw[3] not in old[3]


def test_rules_with_negation_do_not_only_grow() -> None:
    graph = build(4, [(0, 1, 0.1), (1, 2, 0.2), (2, 3, 0.3)])
    large = '@edge("own"). @query("q"). q(X,Y) :- own(X,Y,W), W > 0.1.'
    more = ' @query("s"). s(X) :- own(X,Y,W), W > 0.2, not q(X,Y).'
    for program, grows in ((large, True), (large + more, False)):
        assert WeightNoising.fit(graph, load_text(program), 1)._grows is grows


def test_a_relation_of_synthetic_edges_alone_does_not_end_the_lowering_of_others() -> None:
    """All weights of `own` are synthetic, so there are none to follow; those of `lend` fall below the cut."""
    both = load_text(
        '@edge("own"). @edge("lend"). @incoming_sum("own", 1.0). @incoming_sum("lend", 1.0). @query("q").'
        "q(X,Y) :- own(X,Y,W), W > 0.5. q(X,Y) :- lend(X,Y,W), W > 0.5."
    )
    ends, weight = np.arange(10), np.array([0.3, 0.35, 0.4, 0.45, 0.48, 0.6, 0.7, 0.8, 0.85, 0.9])
    edges = Relation(ends, ends + 10, weight)
    graph = KnowledgeGraph(np.arange(20).astype(str).astype(object), {"own": edges, "lend": edges})
    noising = WeightNoising.fit(graph, both, 1)
    lowered = noising._lowered(graph, ["own", "lend"], {"own": 0, "lend": 5}, 1, np.random.default_rng(0))
    own, lend = (lowered.relations[name].weight for name in ("own", "lend"))
    assert own is not None
    assert lend is not None
    assert own.tolist() == weight.tolist()
    assert lend[:5].tolist() == weight[:5].tolist()
    assert (lend[5:] < 0.5).all()


def test_further_draws_repeat_what_was_drawn_anew_and_how_near() -> None:
    graph = build(6, [(i, i + 1, 0.3 + i / 10) for i in range(5)])
    noising = WeightNoising.fit(graph, load_text(FREE_PRODUCT), 1)
    noising.originals(np.random.default_rng(0), SILENT)
    old = graph.relations["own"].weight
    assert old is not None
    found = noising.drawings["own"].again(1_000, [(np.arange(5) == 0, 100)]).reshape(200, 5) / GRID
    near = (abs(found / old - 1) < 0.06).mean(axis=0)
    assert near[0] > 0.9
    assert (near[1:] < 0.4).all()


def test_further_draws_keep_the_bound_of_sums() -> None:
    graph = build(5, [(0, 4, 0.3), (1, 4, 0.3), (2, 4, 0.35), (4, 3, 0.9)])
    noising = WeightNoising.fit(graph, SUMS, 1)
    noising.originals(np.random.default_rng(0), SILENT)
    found = noising.drawings["own"].again(400, [(np.arange(4) < 3, 60)]).reshape(100, 4) / GRID
    assert found[:, :3].sum(axis=1).max() < 1
    assert found[:, 3].max() < 1
    assert found.min() > 0
