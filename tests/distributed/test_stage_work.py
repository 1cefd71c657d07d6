"""Stages as work for other processes: together, the tasks derive what one evaluation derives."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

from kgreason.base.errors import EngineError, EvaluationError, ProgramError
from kgreason.base.progress import SILENT
from kgreason.distributed import spark_stages, stage_work
from kgreason.distributed.spark_stages import SparkRun
from kgreason.distributed.stage_work import columns, schema
from kgreason.engine.parts.stage_evaluation import planned
from kgreason.engine.relations.fact_tables import Facts
from kgreason.engine.relations.symbols import Symbols
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.language.check.program_checker import load_text
from tests.distributed.processes import ProcessEngine
from tests.engine.test_parts import LIMITS, MADE, random_data
from tests.examples import inputs
from tests.strategies import Case, cases


def values(table: Any) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def on_workers(program: Any, facts: Facts, goals: Any) -> tuple[dict[str, Any], SparkRun]:
    plan = planned(program, facts, goals)
    kinds = plan.kinds.tables()
    schemas = {g: schema([f"c{i}" for i in range(len(kinds[g]))], kinds[g]) for g in plan.goals}
    run = SparkRun(plan, schemas, ProcessEngine(), LIMITS, SILENT)  # type: ignore[arg-type]
    for stage in run.stages:
        run.evaluate(stage, "auto")
    run.finish()
    found = {}
    for goal in plan.goals:
        rows: Counter[tuple[Any, ...]] = Counter()
        if goal in run.found and (table := run.found[goal].table(goal)) is not None:
            assert table.schema.equals(schemas[goal])
            rows = values(table)
        elif goal in run.local:
            rows = Counter(
                zip(*(c.to_pylist() for c in columns(run.local[goal], facts.symbols)), strict=True)
            )
        found[goal] = Counter(set(rows)) if run.division.places.get(goal) == "scattered" else rows
    return found, run


def alone(program: Any, facts: Facts, goals: Any) -> dict[str, Any]:
    result = evaluate(program, facts, goals=goals, limits=LIMITS).facts
    tables = {g: columns(result.tables[g], result.symbols) for g in goals}
    return {g: Counter(zip(*(c.to_pylist() for c in made), strict=True)) for g, made in tables.items()}


def assert_same(program: Any, data: Any, goals: Any = None) -> SparkRun | None:
    goals = sorted(p for p in program.heads if not p.startswith("#")) if goals is None else goals
    expected: Any
    found: Any
    try:
        expected = alone(program, Facts.from_rows(data), goals)
    except EvaluationError:
        expected = EvaluationError
    run = None
    try:
        found, run = on_workers(program, Facts.from_rows(data), goals)
    except EvaluationError:
        found = EvaluationError
    except ProgramError:
        return None
    except EngineError as error:
        if "that rules compute" in error.message or "values of several types" in error.message:
            return None
        raise
    if found is not EvaluationError and expected is not EvaluationError:
        found = {
            g: Counter(set(rows)) if not expected[g] or len(next(iter(rows), ())) == 0 else rows
            for g, rows in found.items()
        }
    assert found == expected
    return run


@contextmanager
def small_parts() -> Iterator[None]:
    """Many tasks, some of which read the same blocks, with many parts and blocks."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (spark_stages, stage_work):
            patch.setattr(module, "PART", 64)
        patch.setattr(spark_stages, "TASK", 64)
        patch.setattr(stage_work, "ROWS", 3)
        patch.setattr(spark_stages, "MOST", 20)
        yield


@settings(
    max_examples=inputs(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.booleans().flatmap(lambda whole: cases(whole=whole)))
def test_tasks_agree_with_one_evaluation(case: Case) -> None:
    note(case)
    with small_parts():
        run = assert_same(load_text(case.text), case.facts)
    event("not divided" if run is None else f"{len(run.parts)} stages")


VALUES = ["a", 1, True, 1.5, 2.0, 2, (1,), (True, "b"), frozenset({2}), frozenset({2.0})]


def test_symbols_in_another_process() -> None:
    symbols = Symbols()
    codes = [symbols.intern(value) for value in VALUES]
    copy = pickle.loads(pickle.dumps(symbols))
    assert [copy.intern(value) for value in VALUES] == codes
    assert [copy.intern(value) for value in ("new", (2,))] == [len(symbols), len(symbols) + 1]


@pytest.mark.parametrize(
    "text",
    [
        "small(L) :- e(X, Y), Y < 100, L = [X, Y]. r(X, L) :- e(X, Y), L = [X, Y], not small(L).",
        "r(X, M) :- e(X, Y), M = [X, Y], l(X, M). l(1, [1, 2]). l(2, [2, 9]).",
        "r(X, S) :- e(X, Y), S = {Y}, not s(S). s({3}). s({4}).",
    ],
)
def test_collections(text: str) -> None:
    data = {"e": [(i, 7 * i % 150) for i in range(1, 150)]}
    assert assert_same(load_text(text), data, ["r"]) is not None


@pytest.mark.parametrize("name", MADE)
def test_tasks_agree_on_recursions_across_parts(name: str) -> None:
    for seed in range(3):
        program = load_text(MADE[name])
        data = {p: rows for p, rows in random_data(random.Random(seed)).items() if p in program.arities}
        with small_parts() if seed else nullcontext():
            assert assert_same(program, data) is not None
