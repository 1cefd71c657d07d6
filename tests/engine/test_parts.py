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
    return {g: (result.facts.tables[g].kinds, as_set(result.facts, g)) for g in goals if result.facts.count(g)}


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
        event("not divided")
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
