"""Keys, ranks and rows against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.graph import sorted_keys
from kgreason.graph.sorted_keys import (
    ascending,
    descending,
    distinct,
    looked_up,
    places,
    ranks,
    repeated,
    row_numbers,
    sorted_rows,
)
from tests.examples import inputs

VALUES = st.one_of(st.integers(0, 5), st.integers(0, 2**40))


@settings(max_examples=inputs(100), deadline=None)
@given(st.lists(VALUES))
def test_distinct_values_and_their_ranks(values: list[int]) -> None:
    array, ordered = np.array(values, dtype=np.int64), sorted(set(values))
    assert distinct(array).tolist() == ordered
    assert ranks(array).tolist() == [ordered.index(value) for value in values]
    assert ascending(array).tolist() == sorted(range(len(values)), key=values.__getitem__)
    assert descending(array).tolist() == sorted(range(len(values)), key=lambda i: -values[i])


@settings(max_examples=inputs(100), deadline=None)
@given(st.lists(st.tuples(VALUES, VALUES, VALUES)))
def test_rows(rows: list[tuple[int, int, int]]) -> None:
    columns = list(np.array(rows, dtype=np.int64).reshape(-1, 3).T)
    ordered = sorted(set(rows))
    assert list(zip(*sorted_rows(columns).tolist(), strict=True)) == ordered
    assert row_numbers(columns).tolist() == [ordered.index(row) for row in rows]


@settings(max_examples=inputs(100), deadline=None)
@given(keys=st.lists(VALUES))
def test_all_but_the_first_of_equal_keys_are_repeated(keys: list[int]) -> None:
    found = repeated(np.array(keys, dtype=np.int64))
    assert found.tolist() == [key in keys[:i] for i, key in enumerate(keys)]


@pytest.mark.parametrize("many", [0, 1 << 16])
@settings(max_examples=inputs(100), deadline=None)
@given(keys=st.sets(VALUES), wanted=st.lists(VALUES))
def test_values_looked_up(many: int, keys: set[int], wanted: list[int]) -> None:
    ordered, queries = sorted(keys), np.array(wanted, dtype=np.int64)
    array = np.array(ordered, dtype=np.int64)
    values = array[::-1] + 7
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_keys, "_MANY", many)
        at, there = places(array, queries)
        found = looked_up(array, values, queries, -1)
    assert there.tolist() == [key in keys for key in wanted]
    assert at.tolist() == [ordered.index(key) if key in keys else 0 for key in wanted]
    assert found.tolist() == [int(values[ordered.index(key)]) if key in keys else -1 for key in wanted]
