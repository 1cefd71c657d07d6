"""Threads that share the rows of a rule derive the same facts in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from kgreason.base import memory
from kgreason.base.errors import EvaluationError
from kgreason.engine.limits import Limits
from kgreason.engine.relations import relation
from kgreason.engine.relations.fact_tables import Facts
from kgreason.engine.relations.rows import Slots
from kgreason.engine.seminaive import fixpoint, rule_pipeline, shared_rows
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.language.check.program_checker import load_text
from tests import naive
from tests.examples import inputs
from tests.strategies import Case, cases

random_programs = settings(
    max_examples=inputs(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
POINTS_TO = """
    p(V, O) :- a(V, O).
    p(V, O) :- c(V, U), p(U, O).
    p(V, O) :- l(V, P), p(P, A), h(A, O).
    h(A, O) :- s(P, U), p(P, A), p(U, O).
"""
SAME_GENERATION = "g(X, Y) :- up(X, P), up(Y, P). g(X, Y) :- g(A, B), up(X, A), up(Y, B)."


@contextmanager
def threads(number: int, dense: bool = False) -> Iterator[None]:
    """Share everything among a number of threads, in pieces and steps as small as possible."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (
            "kgreason.base.cores",
            fixpoint.__name__,
            rule_pipeline.__name__,
            shared_rows.__name__,
        ):
            patch.setattr(f"{module}.cores", lambda: number)
        patch.setattr(rule_pipeline, "LEAST", 1)
        patch.setattr(rule_pipeline, "TASK", 0)
        patch.setattr(rule_pipeline, "RESULT", 0)
        patch.setattr(shared_rows, "ROOM", 2)
        patch.setattr(rule_pipeline.Joining, "rooms", (2, 2))
        patch.setattr(fixpoint, "MANY", 0)
        if dense:
            patch.setattr(relation, "MANY", 1)
            patch.setattr(Slots, "full", lambda _, keys: keys > 0)
        yield


def derived(program, facts):
    """Columns of all predicates and counts of all rules, or the text of an error."""
    goals = sorted(p for p in program.heads if not p.startswith("#"))
    try:
        result = evaluate(program, Facts.from_rows(facts), goals=goals, limits=Limits(rounds=300))
    except EvaluationError as error:
        return str(error)
    tables = {p: [column.tolist() for column in t.columns] for p, t in result.facts.tables.items()}
    rules = [(r.rule, r.facts, r.tried) for s in result.stats.strata for r in s.rules]
    return tables, rules, [(j.probed, j.found) for s in result.stats.strata for j in s.joins]


@random_programs
@given(cases() | cases(whole=True), st.booleans())
def test_the_number_of_threads_does_not_matter(case: Case, dense: bool) -> None:
    note(case)
    program = load_text(case.text)
    with threads(1):
        expected = derived(program, case.facts)
    with threads(3, dense):
        assert derived(program, case.facts) == expected


pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=25, unique=True)


@random_programs
@given(
    st.fixed_dictionaries({"a": pairs, "c": pairs, "l": pairs, "s": pairs, "up": pairs}),
    st.sampled_from([POINTS_TO, SAME_GENERATION]),
    st.booleans(),
)
def test_joins_that_derive_much_again(facts, text: str, dense: bool) -> None:
    program = load_text(text)
    with threads(1):
        expected = derived(program, facts)
    with threads(3, dense):
        tables, rules, joins = derived(program, facts)
    assert (tables, rules, joins) == expected
    known = naive.evaluate(program, facts)
    for predicate, columns in tables.items():
        assert sorted(zip(*columns, strict=True)) == sorted(known[predicate])


def test_large_rounds_are_shared_by_themselves() -> None:
    rng = np.random.default_rng(1)
    facts = {p: np.unique(rng.integers(0, 200, (700, 2)), axis=0).tolist() for p in "acls"}
    program = load_text(POINTS_TO)
    shared, each = 0, shared_rows.each

    def counted(work, tasks):
        nonlocal shared
        shared += len(tasks)
        return each(work, tasks)

    found = []
    for number in (1, 2, 5):
        with pytest.MonkeyPatch.context() as patch:
            for module in (
                "kgreason.base.cores",
                fixpoint.__name__,
                rule_pipeline.__name__,
                shared_rows.__name__,
            ):
                patch.setattr(f"{module}.cores", lambda number=number: number)
            patch.setattr(shared_rows, "each", counted)
            found.append(derived(program, facts))
        assert (shared > 0) == (number > 1)
    assert found[0] == found[1] == found[2]


def test_a_failure_ends_the_rules_of_all_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    facts = {p: np.unique(rng.integers(0, 50, (300, 2)), axis=0).tolist() for p in "acls"}
    calls = 0

    def look() -> None:
        nonlocal calls
        calls += 1
        if calls > 20:
            raise MemoryError

    with threads(2):
        monkeypatch.setattr(memory, "look", look)
        with pytest.raises(EvaluationError, match="not enough memory"):
            evaluate(load_text(POINTS_TO), Facts.from_rows(facts), goals=["p"])
        assert calls < 40  # of more than 100,000
