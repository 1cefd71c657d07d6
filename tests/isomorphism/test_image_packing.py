"""The exact search for the cases that the kernel gives up."""

from __future__ import annotations

from itertools import combinations
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from kgreason.isomorphism.verification import image_pools, image_search
from kgreason.isomorphism.verification.checker import verify
from kgreason.isomorphism.verification.image_pools import packs, placements, tokens
from tests.examples import inputs
from tests.isomorphism.test_verify import Brute, random_case


def incidence(sets: list[set[int]]) -> csr_array:
    held = np.zeros((len(sets), 10), dtype=np.int32)
    for row, tokens_of in zip(held, sets, strict=True):
        row[list(tokens_of)] = 1
    return csr_array(held)


@settings(max_examples=inputs(200), deadline=None)
@given(
    st.lists(st.sets(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=12), st.integers(1, 4)
)
def test_packs_is_brute_force(sets: list[set[int]], need: int) -> None:
    of = incidence(sets)
    expected = any(
        all(a.isdisjoint(b) for a, b in combinations(chosen, 2)) for chosen in combinations(sets, need)
    )
    status, spent, chosen = packs(of, need, 10**9)
    assert status == int(expected)
    assert len(set(chosen)) == (need if expected else 0)
    assert all(sets[a].isdisjoint(sets[b]) for a, b in combinations(chosen, 2))
    assert packs(of, need, spent)[0] == status


def test_packs_gives_up_beyond_the_budget() -> None:
    sets = csr_array(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=np.int32))
    _, cost, _ = packs(sets, 2, 1 << 30)
    assert packs(sets, 2, cost - 1)[0] == -1
    assert packs(sets, 2, cost)[0] == 0


@settings(max_examples=inputs(100), deadline=None)
@given(
    st.lists(st.sets(st.integers(0, 9), min_size=1, max_size=3), min_size=6, max_size=10), st.integers(3, 4)
)
def test_a_budget_that_is_too_small_decides_nothing(sets: list[set[int]], need: int) -> None:
    of = incidence(sets)
    _, spent, _ = packs(of, need, 10**9)
    for budget in range(image_pools.CALL, spent, max(1, spent // 50)):
        assert packs(of, need, budget)[0] == -1


def test_three_disjoint_sets_are_found_and_four_are_not_there() -> None:
    sets = incidence([{0, 1, 2}, {0}, {1}, {2, 3}, {3, 4}, {5, 0}])
    for need, expected in ((2, 1), (3, 1), (4, 0)):
        status, _, chosen = packs(sets, need, 10**9)
        assert (status, len(chosen)) == (expected, need * expected)


def test_tokens_meet_where_placements_do() -> None:
    rng = np.random.default_rng(3)
    traits = np.stack([rng.integers(0, 4, 12), rng.integers(0, 4, 12), np.arange(12)], axis=1)
    members = np.array([rng.choice(12, 3, replace=False) for _ in range(60)])
    target, turns = np.array([0, 1, 2]), np.array([[0, 1, 2], [1, 0, 2]])
    placed = placements(target, members, turns, traits)
    expected = [
        m[turn].tolist()
        for turn in turns
        for m in members
        if (traits[m[turn]] != traits[target]).all() and not set(m) & set(target)
    ]
    assert placed.tolist() == expected
    common = (tokens(placed, traits) @ tokens(placed, traits).T).toarray()
    for i, j in combinations(range(len(placed)), 2):
        a, b = placed[i], placed[j]
        apart = not set(a) & set(b) and (traits[a] != traits[b]).all()
        assert apart == (common[i, j] == 0)


@settings(max_examples=inputs(120), deadline=None)
@given(st.integers(0, 2**32))
def test_verification_by_tokens_alone_is_that_of_brute_force(seed: int) -> None:
    original, released, mapping, rules, k, x = random_case(seed)
    with patch.object(image_search, "PATIENCE", 0), patch.object(image_search, "BUDGET", 0):
        verdict = verify(original, released, mapping, rules, k, x)
    expected = Brute(original, released, mapping, rules).delta(k, x)
    assert (verdict.delta.satisfied, verdict.delta.total) == expected
    assert verdict.delta.exact
