"""Programs in parts: what is divided, and that parts together derive what one evaluation derives."""

from __future__ import annotations

import random
import tempfile
from itertools import pairwise
from pathlib import Path
from time import process_time

import pytest
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

from kgreason.base import memory
from kgreason.base.errors import EvaluationError, MemoryLimitError, ProgramError
from kgreason.engine.limits import Limits
from kgreason.engine.parts import slices
from kgreason.engine.parts.slices import HASHES
from kgreason.engine.parts.stage_evaluation import StageEvaluation, evaluate_in_parts
from kgreason.engine.parts.stage_programs import divided, undivided
from kgreason.engine.plan.separable_strata import factored
from kgreason.engine.relations.fact_tables import Facts
from kgreason.engine.seminaive import separable_walks
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
    except EvaluationError:
        expected = EvaluationError
    try:
        found, evaluated = in_parts(program, Facts.from_rows(data), goals, parts)
    except EvaluationError:
        found = EvaluationError
    except ProgramError as error:
        return {d.code for d in error.diagnostics} - {"E541"} or None
    assert found == expected
    return None if found is EvaluationError else evaluated


@settings(
    max_examples=inputs(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(cases(), st.sampled_from([1, 2, 3, 7, "auto"]))
def test_parts_agree_with_one_evaluation(case: Case, parts):
    note(case)
    evaluated = assert_same(load_text(case.text), case.facts, parts)
    if evaluated is None:
        event("not divided")
    else:
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
    "counted by group": f"{CLOSURE} n(Y, N) :- p(X, Y), N = count(X, <Y>). m(Y, N) :- p(X, Y), N = mcount(<Y>).",
    "a fact by a rule": f"{CLOSURE} loop :- p(X, X). loop. c :- e(1, 1). d(X) :- p(X, _), loop.",
    "totals": f"{CLOSURE} s(S) :- p(X, Y), S = sum(X). n(N) :- p(X, Y), N = count().",
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
    "mixed kinds": f"{CLOSURE} p(U, Y) :- h(U, Y). n(X, N) :- p(X, Y), N = count(Y).",
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
        "w": [
            (x, y, rng.random() / 3)
            for x, y in {(f"v{vertex()}", f"v{vertex()}") for _ in range(size)}
            if x != y
        ],
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


def library(name: str):
    program = load_file(ROOT / "rules" / f"{name}.vada")
    division, _ = divided(factored(program), program.outputs)
    return division, undivided(program, program.outputs, division)


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("asset_eligibility", 3),
        ("close_links", 1),
        ("control", 1),
        ("golden_power", 2),
        ("holding", 1),
        ("integrated_ownership", 1),
        ("reachability", 1),
        ("transitive_closure", 1),
        ("ultimate_controller", 2),
    ],
)
def test_rules_of_the_library_that_are_divided(name: str, stages: int):
    division, why = library(name)
    told = "all facts of own_after must fit into the memory: control_after reads them at once"
    assert [d.message for d in why] == ([told] if name == "golden_power" else [])
    assert not division.whole
    assert division.last == stages


@pytest.mark.parametrize(
    ("name", "whole", "atom"),
    [
        ("default_propagation", ("default", "loss"), "default(Y)"),
        ("points_to", ("points_to",), "points_to(Y, Z)"),
    ],
)
def test_rules_of_the_library_whose_recursion_stays_whole(name: str, whole: tuple[str, ...], atom: str):
    division, (why,) = library(name)
    assert division.whole == whole
    assert why.code == "W516"
    assert f"no argument of {atom} is copied" in why.message
    assert why.span is not None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("family_links", "an equality-generating dependency equates values of different parts"),
        (
            "same_generation",
            "same_generation cannot be divided: no argument of same_generation(P, Q) is copied",
        ),
        ("significant_control", "the null P would be made anew in every part"),
        ("strong_links", "the null P would be made anew in every part"),
    ],
)
def test_rules_of_the_library_that_are_refused(name: str, reason: str):
    division, why = library(name)
    assert division is None
    assert {d.code for d in why} == {"E541"}
    assert why[0].message.startswith(reason)
    assert all(d.span is not None and d.hint for d in why)


def test_every_rule_file_of_the_library_is_in_a_table():
    tables = [
        mark.args[1]
        for test in (
            test_rules_of_the_library_that_are_divided,
            test_rules_of_the_library_whose_recursion_stays_whole,
            test_rules_of_the_library_that_are_refused,
        )
        for mark in test.pytestmark
    ]
    named = sorted(row[0] for table in tables for row in table)
    assert named == sorted(file.stem for file in (ROOT / "rules").glob("*.vada"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            '@output("p"). @post("p", "limit(2)"). p(X) :- e(X, _).',
            "@post compares facts of p of different parts",
        ),
        ("p(X, N) :- e(X, Y), N = #f(Y).", "the nulls of N = #f(Y) would be made anew in every part"),
        ("p(N) :- e(X, Y), N = count().", "p cannot be divided: its head keeps no value of the body"),
        ('@output("e"). p(X) :- e(X, _).', "nothing is derived for e that could be divided"),
    ],
)
def test_programs_that_are_refused(text: str, reason: str):
    program = load_text(text)
    with pytest.raises(ProgramError) as caught:
        in_parts(program, Facts.from_rows({"e": [(1, 2)]}), program.outputs, 2)
    (found,) = caught.value.diagnostics
    assert found.message.startswith(reason)


def test_aggregates_across_parts_are_combined_from_those_of_the_parts():
    rules = f"{CLOSURE} many(Y, N) :- p(X, Y), N = count(X). most(M) :- p(X, Y), M = max(Y)."
    goals = ["many", "most"]
    facts = Facts.from_rows({"e": [(1, 2), (2, 3), (3, 1)]})
    found, evaluated = in_parts(load_text(rules), facts, goals, 3)
    assert {row for _, rows in found.values() for row in facts_of(rows)} == {(1, 3), (2, 3), (3, 3), (3,)}
    stages = evaluated.division.stages
    partial = [p for p in stages if p.startswith("#partial")]
    assert [stages[p] for p in partial] == [1, 1]
    assert stages["many"] == stages["most"] == 2


def facts_of(rows):
    return {tuple(value for _, value in row) for row in rows}


def test_facts_are_exchanged_only_where_they_must():
    division, _ = divided(
        load_text(f"{CLOSURE} end(Y) :- p(_, Y). alone(X) :- p(X, _), not end(X)."), ["alone"]
    )
    assert str(division) == "stage 1: end scattered, p by argument 1\nstage 2: alone by argument 1"


def test_a_plan_for_many_rules_is_made_at_once():
    names = [f"p{i}" for i in range(40)]
    rules = ["p0(X, Y, Z) :- l(X, Y, Z)."]
    for before, name in pairwise(names):
        rules.append(f"{name}(X, Y, Z) :- {before}(X, Y, Z).")
        rules.append(f"{name}(X, Y, Z) :- {name}(X, Y, A), {before}(A, Y, Z).")
        rules.append(f"n{name}(Y, N) :- {name}(X, Y, Z), N = count(X).")
    program = load_text("\n".join(rules))
    start = process_time()
    division, _ = divided(program, program.outputs)
    assert process_time() - start < 0.1
    assert division is not None
    assert set(division.places.values()) == {0, 1}
    ring = ["a0(X, Y, Z) :- l(X, Y, Z)."]
    for i in range(12):
        ring.append(f"b{i}(X, Y, W) :- a{i}(X, Y, Z), l(X, Z, W).")
        ring.append(f"a{(i + 1) % 12}(Y, X, W) :- b{i}(X, Y, Z), l(X, Z, W).")
    program = load_text("\n".join(ring))
    start = process_time()
    divided(program, program.outputs)
    assert process_time() - start < 0.1


def test_given_and_stated_facts_of_derived_predicates():
    program = load_text(f"{CLOSURE} p(7, 8). v(X) :- e(X, _). v(9). n(X) :- v(X), not p(X, _).")
    data = {"e": [(1, 2), (2, 3)], "p": [(8, 1)], "v": [(5,)]}
    assert assert_same(program, data, 3) is not None


def test_constraints_are_checked_in_every_part():
    program = load_text(f"{CLOSURE} #F :- p(X, X).")
    for data in ([(1, 2), (2, 3)], [(1, 2), (2, 1)]):
        assert_same(program, {"e": data}, 4)
    with pytest.raises(EvaluationError, match="constraint"):
        in_parts(program, Facts.from_rows({"e": [(1, 2), (2, 1)]}), ["p"], 4)


def test_a_violated_constraint_names_the_facts_of_earlier_stages():
    program = load_text(f"{CLOSURE} bad(Y) :- p(X, Y), p(Y, X). #F :- bad(Y), p(X, Y), p(Y, X), X != Y.")
    with pytest.raises(EvaluationError, match="constraint is violated") as caught:
        in_parts(program, Facts.from_rows({"e": [(1, 2), (2, 1)]}), ["p"], 2)
    assert "fact: p(1, 2)" in str(caught.value)


def test_an_unknown_output_is_named():
    with pytest.raises(EvaluationError, match="no rule and no fact mentions the predicate nix"):
        in_parts(load_text(CLOSURE), Facts.from_rows({"e": [(1, 2)]}), ["nix"], 2)


def test_what_is_read_at_once_is_named():
    program = load_text(f"{CLOSURE} s(S) :- p(X, Y), S = sum(X).")
    division, _ = divided(factored(program), ["s"])
    (found,) = undivided(program, ["s"], division)
    assert found.message == "all facts of p must fit into the memory: s reads them at once"
    assert found.span is not None


def test_parts_that_do_not_fit_are_divided_again(monkeypatch: pytest.MonkeyPatch):
    widths = []
    part = StageEvaluation.part

    def tight(self, low, high, progress):
        if high - low > HASHES // 8:
            raise MemoryLimitError("too large")
        widths.append(high - low)
        return part(self, low, high, progress)

    monkeypatch.setattr(StageEvaluation, "part", tight)
    for parts in (1, 3, "auto"):
        widths.clear()
        data = {"e": [(i, i + 1) for i in range(30)]}
        evaluated = assert_same(load_text(CLOSURE), data, parts)
        assert sum(widths) == HASHES
        assert evaluated.parts == {1: len(widths)}
        assert len(widths) >= 8


def test_a_single_value_that_does_not_fit_ends_the_run(monkeypatch: pytest.MonkeyPatch):
    def never(self, low, high, progress):
        raise MemoryLimitError("there is not enough memory for what this rule derives")

    monkeypatch.setattr(StageEvaluation, "part", never)
    with pytest.raises(MemoryLimitError, match="not enough memory"):
        in_parts(load_text(CLOSURE), Facts.from_rows({"e": [(1, 2), (2, 3)]}), ["p"], 2)


def test_the_number_of_parts_follows_the_memory(monkeypatch: pytest.MonkeyPatch):
    program, data = load_text(CLOSURE), {"e": [(i, (7 * i + k) % 300) for i in range(300) for k in (1, 2, 3)]}
    facts = 300 * 300 * 16  # bytes
    numbers = []
    for free in (100 * facts, 12 * facts, 3 * facts):
        monkeypatch.setattr(memory, "left", lambda free=free: free)
        _, evaluated = in_parts(program, Facts.from_rows(data), ["p"], "auto")
        numbers.append(evaluated.parts[1])
    assert numbers == sorted(numbers)
    assert numbers[0] == 4
    assert 3 <= numbers[2] <= 20


def test_walks_go_on_over_one_graph(monkeypatch: pytest.MonkeyPatch):
    built = []
    build = separable_walks.build
    monkeypatch.setattr(separable_walks, "build", lambda *a, **k: built.append(1) or build(*a, **k))
    data = {"w": [(f"v{i}", f"v{(3 * i) % 50}", 0.6) for i in range(50)]}
    evaluated = assert_same(load_text(MADE["control"]), data, 20)
    assert evaluated.parts[1] == 20
    assert len(built) == 1 + 1  # in parts, and as a whole


def test_facts_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(slices, "_KEPT", 100)
    rules = f"{CLOSURE} pair(X, Z) :- p(X, Y), p(Z, Y). all(Y, S) :- p(X, Y), S = sum(X)."
    data = {"e": [(i, (5 * i + 1) % 40) for i in range(40)]}
    assert_same(load_text(rules), data, 7)
