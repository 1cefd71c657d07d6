"""Joins that are split off from rules, and what remains the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.engine.plan.separable_strata import factored
from kgreason.engine.relations.fact_tables import Facts
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.language.check.program_checker import load_text
from tests import naive
from tests.examples import inputs

POINTS_TO = """
    pt(V, O) :- alloc(V, O).
    pt(V, O) :- assign(V, U), pt(U, O).
    pt(V, O) :- load(V, P), pt(P, A), heap(A, O).
    heap(A, O) :- store(P, U), pt(P, A), pt(U, O).
"""


def bodies(text: str) -> list[str]:
    return [f"{r.head} :- {', '.join(map(str, r.positives))}" for r in factored(load_text(text)).rules]


def test_points_to() -> None:
    assert bodies(POINTS_TO)[2:] == [
        "#join1(A, V) :- pt(P, A), load(V, P)",
        "pt(V, O) :- #join1(A, V), heap(A, O)",
        "#join2(A, U) :- pt(P, A), store(P, U)",
        "heap(A, O) :- #join2(A, U), pt(U, O)",
    ]


@pytest.mark.parametrize(
    "rule",
    [
        "p(X, Z) :- p(X, Y), p(Y, Z).",  # nothing but recursive atoms
        "p(X, Z) :- p(X, Y), e(Y, Z).",  # one recursive atom
        "p(X, Z) :- p(X, Y), e(Y, W), p(W, Z), Y > W.",  # all variables are used later
        "p(X, Z) :- p(X, Y), f(Y, V, W), p(W, Z), p(V, X).",  # three recursive atoms
        "p(X, Z) :- p(X, Y), f(Y, U, W), p(W, Z), V = mcount(U), V > 1.",
        "p(X, Z) :- p(X, Y), p(Y, Z), e(U, V).",  # no shared variable
    ],
)
def test_what_stays_whole(rule: str) -> None:
    text = f"p(X, Y) :- e(X, Y). {rule}"
    assert factored(load_text(text)) == load_text(text)


pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)


@settings(max_examples=inputs(60), deadline=None)
@given(st.fixed_dictionaries(dict.fromkeys(("alloc", "assign", "load", "store"), pairs)))
def test_the_facts_are_the_same(facts: dict[str, list[tuple[int, int]]]) -> None:
    program = load_text(POINTS_TO)
    found = evaluate(program, Facts.from_rows(facts)).facts
    assert set(found.tables) == {"pt", "heap"}
    slow = naive.derive(program, facts)
    for predicate in ("pt", "heap"):
        assert sorted(found.rows(predicate)) == sorted(slow[predicate])
