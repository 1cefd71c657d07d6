"""Post-processing of outputs, against plain Python."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import Span
from kgreason.engine.post_processing import apply_posts
from kgreason.engine.relations.fact_tables import Facts
from kgreason.language.check.checked_program import Post
from kgreason.language.check.program_checker import load_text
from kgreason.language.values import Null, Value
from tests.examples import inputs

PROGRAM = load_text("t(X) :- s(X).")
HERE = Span("a.vada", 1, 1, 1, 2)
Row = tuple[Value, ...]
Operation = tuple[str, tuple[int, ...]]


def run(rows: list[Row], *operations: Operation) -> list[Row]:
    posts = tuple(Post("t", name, arguments, HERE) for name, arguments in operations)
    facts = Facts.from_rows({"t": rows, "other": [(2,), (1,)]})
    found = apply_posts(replace(PROGRAM, posts=posts), facts)
    assert list(found.rows("other")) == [(2,), (1,)]
    return list(found.rows("t"))


def test_order_by_several_columns() -> None:
    rows: list[Row] = [(1, "b", 5), (1, "a", 1), (1, "c", 1)]
    assert run(rows, ("orderby", (3, -2))) == [(1, "c", 1), (1, "a", 1), (1, "b", 5)]


def test_facts_stand_in_the_order_of_their_values_first() -> None:
    assert run([("b", 2), ("a", 3), ("b", 1)], ("limit", (2,))) == [("a", 3), ("b", 1)]
    assert run([(-1.5,), (0.25,), (-2.0,)], ("limit", (5,))) == [(-2.0,), (-1.5,), (0.25,)]


def test_strings_and_integers_at_the_ends_of_their_ranges() -> None:
    rows: list[Row] = [("é", 2**63 - 1), ("a", -(2**63)), ("Z", 0)]
    assert run(rows, ("orderby", (-2,))) == [("é", 2**63 - 1), ("Z", 0), ("a", -(2**63))]
    assert [row[0] for row in run(rows, ("orderby", (1,)))] == ["Z", "a", "é"]


def test_least_and_greatest_per_group() -> None:
    rows: list[Row] = [(1, "b", 5), (1, "b", 1), (1, "c", 1)]
    assert run(rows, ("min", (3,))) == [(1, "b", 1), (1, "c", 1)]
    assert run(rows, ("max", (3,))) == [(1, "b", 5), (1, "c", 1)]


def test_least_and_greatest_of_several_positions_are_lexicographic() -> None:
    assert run([(1, "b", 1), (2, "c", 1), (1, "a", 1)], ("min", (1, 2))) == [(1, "a", 1)]
    assert run([(2, "b", 1), (1, "c", 1), (2, "a", 1)], ("max", (2, 1))) == [(1, "c", 1)]


def test_least_of_a_named_group() -> None:
    rows: list[Row] = [(1, 3, "a", 3), (4, 3, "a", 5), (2, 6, "b", 7), (2, 6, "b", 8), (3, 6, "b", 9)]
    assert run(rows, ("argmin", (4, 2, 3)), ("orderby", (1,))) == [(1, 3, "a", 3), (2, 6, "b", 7)]
    assert run(rows, ("argmax", (4, 2, 3)), ("orderby", (1,))) == [(3, 6, "b", 9), (4, 3, "a", 5)]
    assert run(rows, ("argmax", (2,))) == [(2, 6, "b", 7), (2, 6, "b", 8), (3, 6, "b", 9)]


def test_certain_looks_into_lists_and_sets() -> None:
    rows: list[Row] = [("a", (1, Null(1))), ("b", (1, 2)), ("c", ((Null(2),),))]
    assert run(rows, ("certain", ())) == [("b", (1, 2))]
    assert run([(Null(1), 1), ("x", 2), (Null(2), 2)], ("certain", ())) == [("x", 2)]
    assert run([(frozenset({1}),), (frozenset({Null(4)}),)], ("certain", ())) == [(frozenset({1}),)]


def test_unique_keeps_the_first_of_each_combination() -> None:
    rows: list[Row] = [("a", 1), ("b", 1), ("a", 2)]
    assert run(rows, ("orderby", (-2,)), ("unique", (1,))) == [("a", 2), ("b", 1)]
    assert run(rows, ("unique", ())) == sorted(rows)


def test_operations_run_in_the_order_of_the_text_but_prelimit_first() -> None:
    rows: list[Row] = [(i,) for i in range(10)]
    assert run(rows, ("orderby", (-1,)), ("limit", (3,))) == [(9,), (8,), (7,)]
    assert run(rows, ("limit", (3,)), ("orderby", (-1,))) == [(2,), (1,), (0,)]
    assert run(rows, ("orderby", (-1,)), ("prelimit", (3,))) == [(2,), (1,), (0,)]


def test_nothing_and_propositions() -> None:
    assert run([()], ("certain", ()), ("unique", ()), ("limit", (1,))) == [()]
    assert run([()], ("limit", (0,))) == []
    none = Facts.from_rows({"t": [("a", 1)]})
    empty = apply_posts(replace(PROGRAM, posts=(Post("t", "limit", (0,), HERE),)), none)
    again = apply_posts(replace(PROGRAM, posts=(Post("t", "argmax", (2, 1), HERE),)), empty)
    assert (again.count("t"), again.tables["t"].kinds) == (0, none.tables["t"].kinds)


def test_dates_and_truth_values_have_an_order() -> None:
    rows: list[Row] = [(datetime(2024, 5, 1), True), (datetime(1969, 1, 1), False)]
    assert run(rows, ("argmax", (1,))) == rows[:1]
    assert run(rows, ("orderby", (2,))) == rows[::-1]


CELLS = st.tuples(st.integers(-2, 2), st.sampled_from("abc"), st.sampled_from([-1.5, 0.0, 2.0]))


def plain(rows: list[Row], operation: str, arguments: tuple[int, ...]) -> set[Row]:
    """The twin: the extremes of each group, by dictionaries."""
    values, group = arguments[:1], arguments[1:]
    if operation in ("min", "max"):
        values, group = arguments, tuple(p for p in (1, 2, 3) if p not in arguments)
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[p - 1] for p in group)].append(row)
    choose = max if operation.endswith("max") else min
    kept: set[Row] = set()
    for members in groups.values():
        best = choose(tuple(row[p - 1] for p in values) for row in members)  # type: ignore[type-var]
        kept.update(row for row in members if tuple(row[p - 1] for p in values) == best)
    return kept


@settings(max_examples=inputs(40), deadline=None)
@given(
    st.lists(CELLS, max_size=12, unique=True),
    st.sampled_from(["min", "max", "argmin", "argmax"]),
    st.permutations([1, 2, 3]),
    st.integers(1, 3),
)
def test_extremes_agree_with_the_twin(
    rows: list[Row], operation: str, positions: list[int], count: int
) -> None:
    arguments = tuple(positions[:count])
    assert set(run(rows, (operation, arguments))) == (plain(rows, operation, arguments) if rows else set())


@settings(max_examples=inputs(40), deadline=None)
@given(
    st.lists(CELLS, max_size=12, unique=True),
    st.permutations([1, 2, 3]),
    st.lists(st.booleans(), min_size=3, max_size=3),
)
def test_sorting_agrees_with_the_twin(rows: list[Row], positions: list[int], down: list[bool]) -> None:
    found = run(rows, ("orderby", tuple(-p if d else p for p, d in zip(positions, down, strict=True))))
    expected = sorted(rows)  # type: ignore[type-var]
    for position, descending in reversed(list(zip(positions, down, strict=True))):
        expected.sort(key=lambda row: row[position - 1], reverse=descending)  # type: ignore[arg-type, return-value]
    assert found == expected


@pytest.mark.parametrize("operation", ["min", "max", "argmin", "argmax", "orderby", "unique"])
def test_mixed_columns_are_ordered_by_type(operation: str) -> None:
    rows: list[Row] = [(Null(1),), (2,), ("a",)]
    least, greatest = [(Null(1),)], [("a",)]
    expected = {"min": least, "argmin": least, "max": greatest, "argmax": greatest}
    assert run(rows, (operation, (1,))) == expected.get(operation, [(Null(1),), (2,), ("a",)])
