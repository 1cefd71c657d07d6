"""Programs in parts: what is divided, and that parts together derive what one evaluation derives."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

from kgreason.base.errors import EvaluationError, MemoryLimitError, ProgramError
from kgreason.engine.limits import Limits
from kgreason.engine.parts.evaluation import evaluate_in_parts
from kgreason.engine.parts.stage_programs import divided, undivided
from kgreason.engine.plan.separable_strata import factored
from kgreason.engine.relations.fact_tables import Facts
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.language.check.program_checker import load_file, load_text
from kgreason.language.values import identity
from tests.examples import inputs
from tests.folders import ROOT
from tests.strategies import Case, cases

LIMITS = Limits(rounds=300)


def whole(program, facts, goals):
    """Kinds and rows of each goal."""
    result = evaluate(program, facts, goals=goals, limits=LIMITS)
    return {g: (result.facts.tables[g].kinds, as_set(result.facts, g)) for g in goals}


def as_set(facts, goal):
    return {tuple(map(identity, row)) for row in facts.rows(goal)}


def in_parts(program, facts, goals, parts):
    found: dict[str, tuple] = {}

    def receive(goal, table):
        rows = as_set(Facts({goal: table}, facts.symbols), goal)
        assert len(rows) == table.length
        kinds, before = found.setdefault(goal, (table.kinds, set()))
        assert kinds == table.kinds
        assert not rows & before
        before |= rows

    with tempfile.TemporaryDirectory() as folder:
        evaluated = evaluate_in_parts(
            program, facts, parts, receive, Path(folder), goals=goals, limits=LIMITS
        )
    return found, evaluated


def assert_same(program, data, parts, goals=None):
    goals = sorted(p for p in program.heads if not p.startswith("#")) if goals is None else goals
    try:
        expected = whole(program, Facts.from_rows(data), goals)
    except EvaluationError as error:
        note(f"whole: {error}")
        expected = EvaluationError
    try:
        found, evaluated = in_parts(program, Facts.from_rows(data), goals, parts)
    except EvaluationError as error:
        note(f"in parts: {error}")
        found = EvaluationError
    except ProgramError as error:
        assert {d.code for d in error.diagnostics} == {"E541"}

        return None
    assert found == expected
    return None if found is EvaluationError else evaluated


@settings(max_examples=inputs(60), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(cases(), st.sampled_from([1, 2, 3, 7, "auto"]))
def test_parts_agree_with_one_evaluation(case: Case, parts):
    note(case)
    evaluated = assert_same(load_text(case.text), case.facts, parts)
    if evaluated is not None:
        event(f"{len(evaluated.parts)} stages")
        event(f"scattered: {'scattered' in evaluated.division.places.values()}")
        event(f"whole: {bool(evaluated.division.whole)}")


CLOSURE = "p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), e(Y, Z)."
MADE = {
    "left": CLOSURE,
    "doubling": "p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), p(Y, Z).",
    "right": "p(X, Y) :- e(X, Y). p(X, Z) :- e(X, Y), p(Y, Z).",
    "mutual": """
        odd(X, Y) :- e(X, Y). even(X, Z) :- odd(X, Y), e(Y, Z). odd(X, Z) :- even(X, Y), e(Y, Z).
        p(X, Y) :- odd(X, Y), even(X, Y).""",
    "negated": f"{CLOSURE} v(X) :- e(X, _). v(Y) :- e(_, Y). no(X, Y) :- v(X), v(Y), not p(X, Y).",
    "negated across": f"{CLOSURE} top(X) :- p(X, _), not p(_, X). none(X) :- p(_, X), not p(X, _).",
    "counted": f"{CLOSURE} many(X, N) :- p(X, Y), N = count(Y).",
    "counted across": f"{CLOSURE} many(Y, N) :- p(X, Y), N = count(X). some(N) :- many(_, N), N > 2.",
    "least across": f"{CLOSURE} least(Y, N) :- p(X, Y), N = min(X). most(M) :- p(X, Y), M = max(Y).",
    "joined with itself": f"{CLOSURE} cycle(X, Y) :- p(X, Y), p(Y, X). pair(X, Z) :- p(X, Y), p(Z, Y).",
    "ternary": "q(K, X, Y) :- l(K, X, Y). q(K, X, Z) :- q(K, X, Y), l(K, Y, Z).",
    "shortest": "d(X, Y, C) :- l(X, Y, C). d(X, Z, C) :- d(X, Y, A), l(Y, Z, B), C = mmin(A + B), C < 30.",
    "sums": """
        part(X, X, 1.0) :- w(X, _, _). part(X, Y, S) :- part(X, Z, V), w(Z, Y, W), S = msum(V * W, <Z>), S > 0.001.
        total(Y, S) :- part(X, Y, V), S = sum(V).""",
    "control": """
        c(X, X) :- w(X, _, _). c(X, Z) :- c(X, Y), w(Y, Z, W), V = msum(W, <Y>), V > 0.3.
        over(Y, N) :- c(X, Y), X != Y, N = mcount(X). top(X) :- c(X, _), not over(X, _).""",
    "scattered": f"{CLOSURE} both(Y, X) :- p(X, Y). both(X, Y) :- p(X, Y). end(Y) :- p(_, Y). found(1) :- end(_).",
    "bare": f"{CLOSURE} loops :- p(X, X). calm(X) :- e(X, _), not loops.",
    "mixed kinds": "p(X, Y) :- e(X, Y). p(U, Y) :- h(U, Y). p(X, Z) :- p(X, Y), e(Y, Z). n(X, N) :- p(X, Y), N = count(Y).",
    "whole first": "s(X, Y) :- e(X, Y). s(X, Y) :- e(A, X), s(A, B), e(B, Y). n(X, N) :- s(X, Y), N = count(Y).",
    "factored": "v(X, O) :- e(X, O). v(X, O) :- l(X, Y, _), v(Y, Z), v(Z, O). n(O, N) :- v(X, O), N = count(X).",
}  # fmt: skip


def random_data(rng: random.Random) -> dict[str, list[tuple]]:
    n = rng.choice([3, 8, 20])
    vertex = lambda: rng.randrange(n)  # noqa: E731
    size = rng.randrange(1, 3 * n)
    return {
        "e": [(vertex(), vertex()) for _ in range(size)],
        "l": [(vertex(), vertex(), rng.choice([1, 2, 3])) for _ in range(size)],
        "w": [(x, y, rng.random() / 3) for x, y in {(f"v{vertex()}", f"v{vertex()}") for _ in range(size)} if x != y],
        "h": [(vertex() / rng.choice([1, 2]), vertex()) for _ in range(3)],
    }


@pytest.mark.parametrize("name", MADE)
def test_parts_agree_on_recursions_across_parts(name: str):
    rng = random.Random(name)
    program = load_text(MADE[name])
    for _ in range(max(3, inputs(100))):
        data = {p: rows for p, rows in random_data(rng).items() if p in program.arities}
        evaluated = assert_same(program, data, rng.choice([1, 2, 5, 40, "auto"]))
        assert evaluated is not None
