"""Steps and starting points of walks, against the same arrays made of all rows at once by sorting."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import EvaluationError
from kgreason.engine.plan.ir import Separable
from kgreason.engine.relations.fact_tables import Facts, Kind, Table
from kgreason.engine.relations.relation import Relation
from kgreason.engine.seminaive import separable_walks
from kgreason.engine.seminaive import walk_preparation as walk
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.engine.statistics import Recorder
from tests import reference
from tests.engine.test_separable import DATA, NEGATIVE, SEEDS, STEPS
from tests.examples import inputs
from tests.texts import load_text

Arrays = tuple[np.ndarray, ...]
Columns = list[np.ndarray]


def codes_of(columns: Columns) -> np.ndarray:
    values = np.concatenate([np.empty(0, dtype=np.int64), *columns])
    dense = not len(values) or (values.min() >= 0 and values.max() < 4 * len(values) + 1024)
    return np.arange(values.max(initial=-1) + 1) if dense else np.unique(values)


def by_source(steps: Arrays, states: int) -> Arrays:
    source, target, weights = steps
    order = np.argsort(source, kind="stable")
    bounds = np.searchsorted(source[order], np.arange(states + 1))
    return bounds, target[order].astype(np.int32), weights[order] if len(weights) else weights


def joined(steps: list[Arrays]) -> Arrays:
    none = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    source, target, weights = (np.concatenate(column) for column in zip(none, *steps, strict=True))
    return source, target, weights


def prepared(
    plan: Separable, seeds: Sequence[tuple[np.ndarray, ...]], find: walk.Find, numbered: bool
) -> Any:
    """Rows of plain steps and of those with contributions, and codes of the states; `None` for unsafe sums."""
    found = []
    for steps in plan.steps:
        rows, kind = np.empty((0, max(len(steps.columns), 2) + 1), dtype=np.int64), Kind.INT
        if steps.body is not None:
            batches, kind = find(steps)
            rows = np.concatenate([rows, *(batch.copy() for batch in batches)])
        last = rows[:, -1].copy()
        weights = last.view(np.float64) if kind is Kind.DOUBLE else last.astype(np.float64)
        keys = rows[:, :-1]
        if steps.bound is not None and (weights < 0).any():
            return None
        if steps.bound is not None and len(np.unique(keys, axis=0)) < len(keys):
            order = np.lexsort((weights, *keys.T))
            order = order[np.append((np.diff(keys[order], axis=0) != 0).any(axis=1), True)]
            rows, weights = rows[order], weights[order]
        found.append((steps, rows, weights))
    parts = list(plan.fixed)
    doubling = any(steps.doubling for steps in plan.steps)
    columns = [column for pair in seeds for column in (pair if doubling else pair[1:])]
    codes = codes_of([*columns, *(rows[:, i] for _, rows, _ in found for i in (0, 1))])
    size = len(codes) * len(parts)
    plain, sums = [], []
    for number, (steps, rows, weights) in enumerate(found):
        source, target = parts.index(steps.source), parts.index(steps.head)
        ends = seeds[source] if steps.doubling else (codes, codes) if steps.body is None else rows.T[:2]
        one, other = (
            np.searchsorted(codes, end) + p * len(codes)
            for end, p in zip(ends, (source, target), strict=True)
        )
        if steps.bound is None:
            plain.append((one, other, np.full(len(one) if numbered else 0, float(number))))
        else:
            sums.append((one, other, weights))
    lists = [joined(plain), joined(sums)]
    if len(parts) == 1 and size >= walk.MANY:
        steps_of = [
            row for source, target, _ in lists for row in zip(source.tolist(), target.tolist(), strict=True)
        ]
        numbers = np.array(reference.preorder(steps_of, size), dtype=np.int64)
        lists = [(numbers[source], numbers[target], weights) for source, target, weights in lists]
        codes = codes[np.argsort(numbers)]
    one, several = (by_source(steps, size) for steps in lists)
    return one, several if sums or numbered else None, codes


def started(fixed: np.ndarray, states: np.ndarray) -> Arrays:
    """Arrays of `Seeds`."""
    if not (fixed[1:] > fixed[:-1]).all():
        order = np.lexsort((states, fixed))
        fixed, states = fixed[order], states[order]
    values, first = np.unique(fixed, return_index=True)
    if len(values) == len(fixed):
        order = np.argsort(states, kind="stable")
        values, states = fixed[order], states[order]
    return values, np.append(first, len(fixed)), states


def same(found: Arrays, expected: Arrays) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@settings(max_examples=inputs(450), deadline=None)
@given(
    seeds=st.lists(st.sampled_from(SEEDS), min_size=1, max_size=2, unique=True),
    rules=st.lists(st.sampled_from(STEPS), min_size=1, max_size=3, unique=True),
    facts=st.fixed_dictionaries(DATA) | st.fixed_dictionaries(DATA | NEGATIVE),
    spread=st.sampled_from([1, 10**7, 2**33, -1]),
    near=st.booleans(),
    numbered=st.booleans(),
)
def test_walks_are_prepared_as_by_sorting(seeds, rules, facts, spread, near, numbered):
    facts = {
        p: [tuple(v * spread if i < 2 else v for i, v in enumerate(row)) for row in rows]
        for p, rows in facts.items()
    }
    build, make = walk.build, walk.Seeds.make

    def compared(plan, given, find, *, numbered, values):
        assert not values
        found, expected = build(plan, given, find, numbered=numbered), prepared(plan, given, find, numbered)
        assert (found is None) == (expected is None)
        if found is not None:
            plain, sums, codes = expected
            same(found.plain, plain)
            assert (found.sums is None) == (sums is None)
            if sums is not None:
                same(found.sums, sums)
            same((found.numbering.codes,), (codes,))
        return found

    def starting(fixed, states):
        found = make(fixed, states)
        same(found, started(fixed, states))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "MANY", 0 if near else walk.MANY)
        patch.setattr(walk, "GATHERED", 2)
        patch.setattr(separable_walks, "build", compared)
        patch.setattr(walk.Seeds, "make", starting)
        try:
            text = "\n".join((*seeds, *rules, "q(X, Y) :- s(X, Y)."))
            evaluate(load_text(text), Facts.from_rows(facts), recorder=Recorder(profile=numbered))
        except EvaluationError:
            pass  # of a negative contribution


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("least", [0, 2**40])
def test_starting_points_take_the_place_of_facts(parts: int, least: int) -> None:
    columns = [np.array(values) + least for values in ([3, 1, 3], [1, 2, 0])]
    numbering, held = walk.Numbering([np.arange(4) + least]), list(map(weakref.ref, columns))
    seeds = [tuple(columns)] * parts
    del columns
    found = walk.Seeds.of(numbering, seeds)
    assert not seeds
    assert [column() for column in held] == [None, None]
    assert found.values.dtype == np.int64
    states = [[4 * part + state for part in range(parts) for state in of] for of in ([2], [0, 1])]
    same(found, (np.array([1, 3]) + least, np.cumsum([0, *map(len, states)]), np.concatenate(states)))


def test_long_rows_keep_the_greatest_weight() -> None:
    rng = np.random.default_rng(1)
    source, target, weights = rng.integers(0, 5, 9_000), rng.integers(0, 800, 9_000), rng.random(9_000)
    steps = source.astype(np.int32), target.astype(np.int32), weights
    found = walk.Compressed.make([steps], 800).distinct()
    order = np.lexsort((weights, target, source))
    last = np.append(np.diff(source[order] * 800 + target[order]) != 0, True)
    same(found, by_source((source[order[last]], target[order[last]], weights[order[last]]), 800))


def test_given_relations_keep_the_columns_of_their_table() -> None:
    columns = np.array([1, 2, 3]), np.array([2, 3, 4])
    facts = Facts({"e": Table((Kind.INT, Kind.INT), columns, 3)})
    text = 't(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z). @output("t"). @output("e").'
    result = evaluate(load_text(text), facts).facts
    assert sorted(result.rows("t")) == [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]
    assert result.tables["e"].columns[0] is columns[0]


@pytest.mark.parametrize("weight", [1, 2**60])
def test_packed_facts_are_found_again(weight: int) -> None:
    """Sums that could be rounded are evaluated in rounds, in which the facts of other rules are known."""
    facts = {"n": [(i,) for i in range(5)], "f": [(i, i + 1, weight) for i in range(4)]}
    text = "p(X, X) :- n(X). p(X, Z) :- p(X, Y), f(Y, Z, W), V = msum(W, <Y>), V > 0."
    found = evaluate(load_text(text), Facts.from_rows(facts))
    assert sorted(found.facts.rows("p")) == [(i, j) for i in range(5) for j in range(i, 5)]
    assert found.stats.strata[-1].walks == (5 if weight == 1 else 0)


def test_packed_rows_take_more_rows() -> None:
    relation = Relation(2)
    rows = np.stack([np.arange(100), np.arange(100) % 7], axis=1)
    relation.insert(rows)
    relation.pack()
    assert relation.column(1).tolist() == rows[:, 1].tolist()
    shifted = rows + 50
    assert relation.insert(shifted) == 100
    assert relation.insert(rows) == relation.insert(shifted) == 0
    assert relation.buffer[: relation.count].tolist() == [*rows.tolist(), *shifted.tolist()]
