"""Recursions that fall apart by the value of an argument: against the general way, the naive one, and by hand."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from kgreason.base import cores
from kgreason.base.errors import EvaluationError
from kgreason.base.progress import Silent
from kgreason.engine.relations.fact_tables import Facts
from kgreason.engine.seminaive import separable_walks as walk
from kgreason.engine.seminaive import walk_kernels as kernels
from kgreason.engine.seminaive import walk_preparation
from kgreason.engine.seminaive.evaluation import Result, evaluate
from kgreason.engine.statistics import Recorder
from tests import naive, reference
from tests.examples import inputs
from tests.texts import load_text

quick = settings(max_examples=inputs(150), deadline=None)

SEEDS = ["p(X, Y) :- s(X, Y).", "p(X, X) :- n(X).", "p(X, Y) :- e(X, Y).", "p(X, Y) :- s(X, Z), e(Z, Y)."]
STEPS = [
    "p(X, Z) :- p(X, Y), e(Y, Z).",
    "p(X, Z) :- e(X, Y), p(Y, Z).",
    "p(X, Z) :- p(X, Y), f(Y, Z, W), W > 1.",
    "p(X, Z) :- p(X, Y), e(Y, Z), not n(Z).",
    "p(X, Z) :- p(X, Y), e(Y, Z), n(Z).",
    "p(X, Z) :- p(X, Y), e(Y, Z), s(Z, _).",
    "p(X, Z) :- p(X, Y), f(Y, Z, W), V = msum(W, <Y>), V > 2.",
    "p(X, Z) :- p(X, Y), f(Y, Z, W), V = msum(W), 2 <= V.",
    "p(X, Z) :- p(X, Y), h(Y, Z, K, W), V = msum(W, <Y, K>), V >= 2.5.",
    "p(X, Z) :- p(X, Y), h(Y, Z, K, W), V = msum(W, <K>), V > 1.",
    "p(X, Z) :- p(X, Y), e(Y, Z), V = mcount(Y), V >= 2.",
    "p(X, Y) :- p(X, Y), e(Y, Z), V = mcount(Z), V >= 2.",
    "q(X, Y) :- p(X, Y), e(Y, Z), V = mcount(Z), V >= 2.",
    "q(X, Y) :- p(X, Y), f(Y, Z, W), V = msum(W, <Z>), V > 1.",
    "p(X, Z) :- p(X, Y), h(Y, Z, _, W), V = msum(W, <Y>), V > 1.",
    "p(X, Y) :- q(X, Y).",
    "q(X, Z) :- p(X, Z).",
    "q(X, Z) :- p(X, Y), f(Y, Z, W), V = msum(W, <Y>), V > 1.",
    "p(X, Z) :- q(X, Y), e(Y, Z).",
    "p(X, Z) :- p(X, Y), e(Y, Z), X != Z.",
    "p(X, Z) :- p(X, Y), p(Y, Z).",
    "q(Z, X) :- p(X, Z).",
    "p(X, 3) :- p(X, Y), e(Y, _).",
]
small = st.integers(0, 5)
DATA: dict[str, st.SearchStrategy[Any]] = {
    "s": st.lists(st.tuples(small, small), max_size=4),
    "n": st.lists(st.tuples(small), max_size=4),
    "e": st.lists(st.tuples(small, small), max_size=12),
    "f": st.lists(st.tuples(small, small, st.sampled_from([0, 1, 1, 2, 3])), max_size=12),
    "h": st.lists(st.tuples(small, small, small, st.sampled_from([0.25, 0.5, 1.0, 2.0])), max_size=12),
}
NEGATIVE = {
    "f": st.lists(st.tuples(small, small, st.integers(-1, 3)), max_size=8),
    "h": st.lists(st.tuples(small, small, small, st.sampled_from([-1.0, 0.5, 1.0, 2.0])), max_size=8),
}


def outcome(text: str, facts: dict[str, list[tuple[Any, ...]]], *, generally: bool) -> Any:
    watch = (lambda _: None) if generally else None
    try:
        result = evaluate(load_text(text), Facts.from_rows(facts), on_round=watch)
    except EvaluationError as error:
        return str(error).split("\n")[0].split(" is ")[-1]
    return {p: sorted(result.facts.rows(p)) for p in result.facts.tables if result.facts.count(p)}


@quick
@given(
    seeds=st.lists(st.sampled_from(SEEDS), min_size=1, max_size=2, unique=True),
    rules=st.lists(st.sampled_from(STEPS), min_size=1, max_size=3, unique=True),
    facts=st.fixed_dictionaries(DATA) | st.fixed_dictionaries(DATA | NEGATIVE),
    spread=st.sampled_from([1, 10**7, -1]),
    near=st.booleans(),
)
def test_walks_agree_with_rounds(seeds, rules, facts, spread, near):
    text = "\n".join((*seeds, *rules, "q(X, Y) :- s(X, Y)."))
    note(text)
    if spread != 1:  # codes that are not dense
        facts = {
            p: [
                tuple(v * spread if i < 2 and not isinstance(v, float) else v for i, v in enumerate(row))
                for row in rows
            ]
            for p, rows in facts.items()
        }
    with pytest.MonkeyPatch.context() as patch:
        for module in (walk, walk_preparation):
            patch.setattr(module, "MANY", 0 if near else walk_preparation.MANY)
        patch.setattr(walk, "LEAST", 1)
        patch.setattr(walk, "SLOTS", 2)
        patch.setattr(walk, "STEPS", 8)
        patch.setattr(walk, "REACHED", 3)
        patch.setattr(walk, "BLOCKS", 1)
        patch.setattr(cores, "cores", lambda: 3)
        found = outcome(text, facts, generally=False)
    note(found)
    assert found == outcome(text, facts, generally=True)
    if isinstance(found, dict):
        slow = naive.derive(load_text(text), facts)
        assert found == {p: sorted(slow[p]) for p in slow if p in ("p", "q") and slow[p]}


def run(text: str, **facts: list[tuple[Any, ...]]) -> Result:
    return evaluate(load_text(text), Facts.from_rows(facts))


CHAIN = [(0, 1), (1, 2), (2, 3), (7, 0)]


@pytest.mark.parametrize(
    ("rules", "walks"),
    [
        ("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z).", 4),
        ("t(X, Y) :- e(X, Y). t(X, Z) :- e(X, Y), t(Y, Z).", 4),
        ("t(X, Y) :- e(X, Y), X = 0. t(X, Z) :- t(X, Y), e(Y, Z).", 1),
        ("t(X, Y) :- e(X, Y). t(X, Z) :- u(X, Y), e(Y, Z). u(X, Y) :- t(X, Y).", 4),
        ("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z), V = mcount(Y), V > 0.", 4),
        ("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z), e(Y, _), not e(Z, 9).", 4),
        ("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z), X != Z.", 0),  # the step depends on X
        ("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), t(Y, Z).", 4),
        ("t(X, Y) :- e(X, Y). t(X, Z) :- t(Y, Z), t(X, Y).", 4),
        ("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), t(Y, Z), X != Z.", 0),  # two recursive atoms
        ("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), t(Z, Y).", 0),
        ("t(X, Y) :- e(X, Y). t(X, X) :- t(X, Y), t(Y, X).", 0),
        ("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), t(Y, Z). t(X, Z) :- t(X, Y), e(Y, Z).", 0),
        ("t(X, Y) :- e(X, Y). t(Z, X) :- t(X, Y), e(Y, Z).", 0),  # nothing is kept
        ("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(_, Z).", 0),  # more steps than facts
        ("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, W), e(W, Z).", 0),
        ("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), Z = Y + 1, Z < 9.", 0),  # new values
        ("t(X, Y, 1) :- e(X, Y). t(X, Z, 1) :- t(X, Y, _), e(Y, Z).", 0),  # three arguments
    ],
)
def test_what_falls_apart(rules: str, walks: int) -> None:
    result = run(rules, e=CHAIN)
    assert sum(stratum.walks for stratum in result.stats.strata) == walks


def test_control_of_the_example() -> None:
    rules = """
        control(X, X) :- company(X).
        control(X, Z) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>), V > 0.5.
    """
    own = [
        ("a", "b", 0.6),
        ("a", "c", 0.3),
        ("b", "c", 0.3),
        ("c", "d", 0.5),
        ("a", "d", 0.0001),
        ("d", "a", 0.5),
    ]
    result = run(rules, own=own, company=[(x,) for x in "abcd"])
    assert sorted(result.facts.rows("control")) == [
        *(("a", y) for y in "abcd"),
        ("b", "b"),
        ("c", "c"),
        ("d", "d"),
    ]
    (stratum,) = result.stats.strata
    assert (stratum.walks, stratum.rules[1].facts, stratum.rules[1].tried) == (4, 3, 9)


def test_a_sum_that_could_overflow_goes_the_general_way() -> None:
    rules = "t(X, X) :- n(X). t(X, Z) :- t(X, Y), f(Y, Z, W), V = msum(W, <Y>), V > 0."
    result = run(rules, n=[(0,)], f=[(0, 1, 2**62), (1, 2, 1)])
    assert result.stats.strata[0].walks == 0
    assert sorted(result.facts.rows("t")) == [(0, 0), (0, 1), (0, 2)]
    with pytest.raises(EvaluationError, match="integer overflow in msum"):
        run(rules, n=[(0,)], f=[(0, 1, 2**62), (1, 2, 2**62), (0, 2, 2**62)])


def test_a_negative_part_counts_only_where_it_is_reached() -> None:
    rules = "t(X, X) :- n(X). t(X, Z) :- t(X, Y), f(Y, Z, W), V = msum(W, <Y>), V > 0."
    assert run(rules, n=[(0,)], f=[(0, 1, 1), (5, 6, -1)]).facts.count("t") == 2
    with pytest.raises(EvaluationError, match="contribution -1 to msum in recursion is negative"):
        run(rules, n=[(0,)], f=[(0, 5, 1), (5, 6, -1)])


def test_progress_counts_each_fact_once() -> None:
    class Counter(Silent):
        facts = 0

        def advance(self, units: int = 1) -> None:
            self.facts += units

    counter, rules = Counter(), "t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z)."
    result = evaluate(load_text(rules), Facts.from_rows({"e": CHAIN}), progress=counter)
    assert counter.facts == result.facts.count("t") == result.stats.facts == 10


def test_contributions_at_the_place_itself() -> None:
    rules = """
        p(X, X) :- n(X).
        q(X, Y) :- p(X, Y), f(Y, Z, W), V = msum(W, <Z>), V > 0.5.
        p(X, Y) :- q(X, Y).
    """
    result = run(rules, n=[("a",)], f=[("a", "b", 0.3), ("a", "c", 0.3)])
    assert sorted(result.facts.rows("q")) == [("a", "a")]
    assert result.stats.strata[0].walks == 1


def test_a_negative_contribution_is_an_error_beside_a_greater_one() -> None:
    rules = "p(X, X) :- n(X). p(X, Z) :- p(X, Y), h(Y, Z, K, W), V = msum(W, <Y>), V > 1."
    with pytest.raises(EvaluationError, match="contribution -5 to msum in recursion is negative"):
        run(rules, n=[(1,)], h=[(1, 2, 0, -5), (1, 2, 1, 2)])


def test_threads_share_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    edges = rng.integers(0, 300, (900, 2)).tolist()
    rules = "t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z)."
    found = []
    for workers in (1, 2, 5):
        monkeypatch.setattr(cores, "cores", lambda workers=workers: workers)
        found.append(sorted(run(rules, e=[tuple(e) for e in edges]).facts.rows("t")))
    assert found[0] == found[1] == found[2]


def test_a_failing_thread_stops_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def fail(*args: Any) -> tuple[int, int, int]:
        calls.append(1)
        raise MemoryError

    monkeypatch.setattr(cores, "cores", lambda: 2)
    monkeypatch.setattr(kernels, "reach", fail)
    with pytest.raises(EvaluationError, match="not enough memory for what this rule derives"):
        run("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z).", e=[(i, i + 1) for i in range(500)])
    assert len(calls) <= 2


# --- kernels against their twins ---------------------------------------------------------------------------

edges = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=15)
weighted = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 4)), max_size=15)
starts = st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=3), max_size=5)


def compressed(rows: list[tuple[int, ...]]) -> walk_preparation.Compressed:
    source, target = (np.array([r[i] for r in rows], dtype=np.int32) for i in (0, 1))
    weights = np.array([r[2] / 4 for r in rows if len(r) > 2])
    return walk_preparation.Compressed.make([(source, target, weights)], 7)


@quick
@given(edges)
def test_by_source(rows):
    made = compressed(rows)
    listed = [(s, t) for s in range(7) for t in made.to[made.ptr[s] : made.ptr[s + 1]].tolist()]
    assert listed == reference.by_source(rows)


@quick
@given(edges, weighted)
def test_preorder(rows, sums):
    one, several = compressed(rows), compressed(sums)
    numbers = np.full(7, -1, dtype=np.int32)
    stack = np.empty(len(rows) + len(sums) + 1, dtype=np.int32)
    kernels.preorder(one.ptr, one.to, several.ptr, several.to, stack, numbers)
    assert numbers.tolist() == reference.preorder([*rows, *sums], 7)


@quick
@given(
    rows=edges,
    sums=weighted,
    seeds=starts,
    room=st.integers(7, 20),
    bound=st.integers(0, 6),
    plainly=st.booleans(),
    hashed=st.booleans(),
)
def test_walks(rows, sums, seeds, room, bound, plainly, hashed):
    one, several = compressed(rows), compressed(sums)
    ptr = np.cumsum([0, *map(len, seeds)])
    states = np.array([s for seed in seeds for s in seed], dtype=np.int32)
    counts = np.zeros(len(seeds), dtype=np.int64)
    slots = 128 if hashed else 0
    room += slots // 2
    keys, bounds = np.empty(slots, dtype=np.int32), np.array([bound / 4])
    stamps, cells = np.zeros(slots or 7, dtype=np.int32), np.zeros(4 * (slots or 7))
    found: list[int] = []
    untold = np.empty((0, 2), dtype=np.int64)
    i = tried = 0
    while i < len(seeds):
        out = np.empty(room, dtype=np.int32)
        if plainly:
            i, used, steps_ = kernels.reach(
                ptr, states, one.ptr, one.to, keys, stamps, out, 0, counts, i, len(seeds)
            )
        else:
            i, used, steps_ = kernels.accumulate(
                ptr, states, one.ptr, one.to, one.weights, several.ptr, several.to, several.weights,
                np.zeros(1, dtype=np.int64), bounds, keys, cells, out, 0, counts, untold, i, len(seeds),
            )  # fmt: skip
        found += out[:used].tolist()
        tried += steps_
    expected = [reference.walk(seed, rows, [] if plainly else sums, bound) for seed in seeds]
    assert counts.tolist() == [len(reached) for reached in expected]
    ends = np.cumsum([0, *counts])
    assert [set(found[a:b]) for a, b in pairwise(ends)] == expected
    degree = [sum(r[0] == s for r in [*rows, *([] if plainly else sums)]) for s in range(7)]
    assert tried == sum(degree[s] for reached in expected for s in reached)
    codes = np.arange(7) * 10
    fixed, moving = np.empty(len(found), dtype=np.int64), np.empty(len(found), dtype=np.int64)
    values = np.arange(len(seeds)) + 100
    kernels.unfold(values, counts, np.array(found, dtype=np.int32), codes, fixed, moving, 0, len(seeds))
    assert set(zip(fixed.tolist(), moving.tolist(), strict=True)) == {
        (100 + i, 10 * s) for i, reached in enumerate(expected) for s in reached
    }


@settings(quick, max_examples=inputs(60))
@given(rows=weighted, sums=weighted, seeds=starts, bound=st.integers(0, 6), deepest=st.integers(1, 7))
def test_counting(rows, sums, seeds, bound, deepest):
    one, several = compressed([(a, b, 4 * rule) for a, b, rule in rows]), compressed(sums)
    ptr = np.cumsum([0, *map(len, seeds)])
    states = np.array([s for seed in seeds for s in seed], dtype=np.int32)
    counts, tally = np.zeros(len(seeds), dtype=np.int64), np.zeros((deepest, 20), dtype=np.int64)
    done, used, tried = kernels.accumulate(
        ptr, states, one.ptr, one.to, one.weights, several.ptr, several.to, several.weights,
        np.array([9]), np.array([bound / 4]), np.empty(0, dtype=np.int32), np.zeros(28),
        np.empty(50, dtype=np.int32), 0, counts, tally, 0, len(seeds),
    )  # fmt: skip
    assert done == len(seeds)
    assert counts.tolist() == [len(reference.walk(s, [r[:2] for r in rows], sums, bound)) for s in seeds]
    assert used == counts.sum()
    expected = np.zeros_like(tally)
    for seed in seeds:
        for number, here in enumerate(reference.rounds_of_walk(seed, rows, sums, bound)):
            for (what, rule), n in here.items():
                expected[min(number, deepest - 1), 2 * rule + (what == "new")] += n
    assert tally.tolist() == expected.tolist()
    assert tried == tally[:, ::2].sum()


def by_round(result: Result) -> tuple[Counter[Any], Counter[Any]]:
    """Facts tried by each rule, and new ones of each predicate, in each round."""
    tried, new = Counter[Any](), Counter[Any]()
    for rule in (rule for stratum in result.stats.strata for rule in stratum.rules):
        for done in rule.rounds:
            tried[rule.rule, done.round] += done.tried
            new[rule.rule[0], done.round] += done.facts
    return +tried, +new


@settings(quick, max_examples=inputs(25))
@given(
    seed=st.sampled_from(SEEDS),
    rules=st.lists(
        st.sampled_from([s for s in STEPS if "p(Y, Z)" not in s]), min_size=1, max_size=3, unique=True
    ),
    facts=st.fixed_dictionaries(DATA),
)
def test_a_round_of_walks_is_one_of_the_general_way(seed, rules, facts):
    text = "\n".join((seed, *rules, "q(X, Y) :- s(X, Y)."))
    note(text)
    program, given_ = load_text(text), Facts.from_rows(facts)
    walked = evaluate(program, given_, recorder=Recorder(profile=True))
    assume(any(stratum.walks for stratum in walked.stats.strata))
    rounds = evaluate(program, given_, on_round=lambda _: None)
    assert by_round(walked)[1] == by_round(rounds)[1]
    assert walked.stats.facts == rounds.stats.facts
    if "msum" not in text and "mcount" not in text:  # of equal contributions walks take one
        assert by_round(walked)[0] == by_round(rounds)[0]
