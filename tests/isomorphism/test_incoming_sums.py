"""Sides of weights and of sums of weights against all subsets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.isomorphism.anonymizers import weight_density
from kgreason.isomorphism.anonymizers.incoming_sums import fitted_room, fitted_sums, room_below, sides_kept
from kgreason.isomorphism.anonymizers.weight_density import GRID, Cuts, floored, nearest, thresholds
from kgreason.language.check.program_checker import load_text
from kgreason.language.check.weight_visibility import Use, only_grows
from tests.examples import inputs

CUTS = [Cuts.of(cuts) for cuts in ([], [(0.5, False)], [(0.5, True)], [(0.25, True), (0.5, False)])]
UNITS = st.sampled_from([1, 100_000, 200_000, 249_999, 250_000, 300_000, 499_999, 500_000, 700_000])


def subsets(values: list[int]) -> list[int]:
    return [sum(some) for size in range(len(values) + 1) for some in combinations(values, size)]


def beyond(units: int, value: float, above: bool) -> bool:
    return units >= value * GRID if above else units > value * GRID


@settings(max_examples=inputs(150), deadline=None)
@given(st.sampled_from(CUTS), st.lists(st.tuples(st.integers(0, 2), UNITS, UNITS), max_size=8))
def test_sides_of_sums_are_kept(cuts: Cuts, edges: list[tuple[int, int, int]]) -> None:
    target, old, new = np.array(edges, dtype=np.int64).reshape(-1, 3).T
    kept = sides_kept(target, old / GRID, new, cuts)
    for v in set(target.tolist()):
        here = [(o, n) for t, o, n in edges if t == v]
        pairs = zip(subsets([o for o, _ in here]), subsets([n for _, n in here]), strict=True)
        expected = all(
            beyond(o, value, above) == beyond(n, value, above) and n != value * GRID
            for o, n in list(pairs)[1:]
            for value, above in zip(cuts.value.tolist(), cuts.above.tolist(), strict=True)
        )
        assert set(kept[target == v].tolist()) == {expected}


@settings(max_examples=inputs(150), deadline=None)
@given(st.sampled_from(CUTS), st.lists(st.tuples(st.integers(0, 2), UNITS), max_size=8))
def test_room_below_the_next_cut(cuts: Cuts, edges: list[tuple[int, int]]) -> None:
    target, units = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    room = room_below(target, units, 4, cuts)
    for v in range(4):
        sums = subsets([u for t, u in edges if t == v])
        left = [value * GRID - 0.5 - s for value in cuts.value.tolist() for s in sums]
        assert room[v] == min((some for some in left if some > 0), default=np.inf)


@settings(max_examples=inputs(50), deadline=None)
@given(
    st.sets(st.integers(1, GRID), min_size=1, max_size=30),
    st.lists(st.one_of(st.floats(-2, GRID * 1.1), st.integers(0, 2 * GRID).map(lambda half: half / 2))),
)
def test_rounding_by_a_table(some: set[int], values: list[float]) -> None:
    levels, units = np.array(sorted(some), dtype=np.int64), np.array(values, dtype=np.float64)
    up = levels[np.searchsorted((levels[1:] + levels[:-1]) / 2, units)]
    down = levels[np.maximum(np.searchsorted(levels, units, side="right") - 1, 0)]
    for most in (0, 1 << 14):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(weight_density, "_TABLED", most)
            assert nearest(levels, units).tolist() == up.tolist()
            assert floored(levels, units).tolist() == down.tolist()


def test_many_edges_are_only_summed_together() -> None:
    cuts, target = CUTS[1], np.zeros(12, dtype=np.int64)
    small, large = np.full(12, 10_000), np.full(12, 60_000)
    assert room_below(target, small, 1, cuts).tolist() == [379_999.5]
    assert room_below(target, large, 1, cuts).tolist() == [0.0]
    assert sides_kept(target, small / GRID, small + 1, cuts).all()
    assert not sides_kept(target, small / GRID, large, cuts).any()


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), UNITS), min_size=1, max_size=10), st.integers(0, 99))
def test_sums_are_fitted(edges: list[tuple[int, int]], seed: int) -> None:
    target, units = np.array(edges, dtype=np.int64).T
    levels = np.union1d(np.arange(1, GRID + 1, 999), units)
    rng = np.random.default_rng(seed)
    for share in (1.0, 0.0):
        fitted = fitted_sums(units, target, GRID, levels, rng, share)
        assert (np.bincount(target, fitted) <= GRID).all()
        assert (fitted <= units).all()
    room = np.array([0.0, 20.0, 300_000.0, np.inf])
    for alike, usual in ((1, levels), (3, levels), (1, levels[:0])):
        fitted = fitted_room(units, target, room, usual, levels, rng, alike)
        count, total = np.bincount(target, minlength=4), np.bincount(target, fitted, minlength=4)
        assert (total <= np.maximum(room, count)).all()
        assert np.array_equal(fitted[target == 3], units[target == 3])


@pytest.mark.parametrize(
    ("body", "sides", "grows"),
    [
        ("own(X,Y,W), W > 0.5", [0, 0, 1], True),
        ("own(X,Y,W), 0.5 < W", [0, 0, 1], True),
        ("own(X,Y,W), W >= 0.5", [0, 1, 1], True),
        ("own(X,Y,W), W < 0.5", [0, 1, 1], False),
        ("own(X,Y,W), W == 0.5", [0, 1, 2], False),
        ("own(X,Y,0.5)", [0, 1, 2], False),
        ("own(X,Y,W), V = msum(W, <X>), V > 0.5", [0, 0, 1], True),
        ("own(X,Y,_), not own(Y,X,_)", [0, 0, 0], True),
        ("own(X,Y,W), own(Y,X,W)", [0, 0, 0], False),
        ("own(X,Y,W), W > 0.5, C = mcount(X), C >= 2", [0, 0, 1], True),
        ("own(X,Y,W), W > 0.5, C = count(X), C < 2", [0, 0, 1], False),
        ("own(X,Y,W), W > 0.5, not own(Y,X,_)", [0, 0, 1], False),
    ],
)
def test_what_rules_see(body: str, sides: list[int], grows: bool) -> None:
    program = load_text(f'@edge("own"). @output("p"). p(Y) :- {body}.')
    seen = thresholds(program)["own"]
    assert seen.single.side(np.array([0.4, 0.5, 0.6])).tolist() == sides
    assert only_grows(program) is grows
    assert (seen.use is Use.UNREAD) == ("W" not in body and "0.5" not in body)


def test_negated_weights_do_not_only_grow() -> None:
    text = '@edge("own"). @output("p"). big(Y) :- own(X,Y,W), W > 0.5. p(X) :- own(X,Y,_), not big(Y).'
    assert not only_grows(load_text(text))
