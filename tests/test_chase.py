"""Existential rules, unification of nulls and constraints, against an oblivious chase."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kgreason.analysis.check import load_text
from kgreason.engine.constraints import promptly
from kgreason.engine.frontiers import Frontiers
from kgreason.engine.limits import Limits
from kgreason.engine.seminaive import evaluate
from kgreason.engine.table import Facts
from kgreason.errors import EvaluationError, ProgramError
from kgreason.lang.values import Null
from tests.chase import Oblivious, Unequal, ground, homomorphism

quick = settings(max_examples=80, deadline=None)
N = Null


def derive(text, limits=Limits(), **rows):
    program = load_text(text)
    return evaluate(program, Facts.from_rows(rows), limits=limits)


def rows(result, predicate):
    return sorted(result.facts.rows(predicate), key=str)


def facts_of(result):
    return [(p, row) for p in result.facts.tables for row in result.facts.rows(p)]


# --- random programs --------------------------------------------------------------------

ARITIES = {"e": 2, "c": 1, "p": 2, "q": 2, "r": 1}
VARIABLES = ["X", "Y", "Z"]


@st.composite
def rule(draw):
    body = []
    for _ in range(draw(st.integers(1, 2))):
        predicate = draw(st.sampled_from(["p", "q", "r", "p", "q", "e", "c"]))
        names = [draw(st.sampled_from(VARIABLES)) for _ in range(ARITIES[predicate])]
        body.append(f"{predicate}({', '.join(names)})")
    heads = []
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        predicate = draw(st.sampled_from(["p", "q", "r"]))
        names = [draw(st.sampled_from([*VARIABLES, "N", "M"])) for _ in range(ARITIES[predicate])]
        heads.append(f"{predicate}({', '.join(names)})")
    return f"{', '.join(heads)} :- {', '.join(body)}."


EGDS = [
    "Y = Z :- p(X, Y), p(X, Z).",
    "Y = Z :- p(Y, X), p(Z, X).",
    "Y = X :- q(X, Y), c(X).",
    "Y = Z :- q(X, Y), p(X, Z), c(X).",
]
TOP = """
    lonely(X) :- c(X), not p(X, _).
    meets(X) :- c(X), p(X, Y), q(_, Y).
    many(K) :- lonely(X), K = count(X).
"""
BASE = ["p(X, N) :- c(X).", "q(X, Y) :- e(X, Y).", "r(X) :- c(X).", "p(X, Y) :- e(X, Y).", "q(N, X) :- c(X)."]
data = st.fixed_dictionaries(
    {
        "e": st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=3, unique=True),
        "c": st.lists(st.tuples(st.integers(0, 2)), min_size=1, max_size=2, unique=True),
    }
)


@st.composite
def programs(draw, tops=True, egds=False):
    rules = draw(st.lists(rule(), min_size=1, max_size=3))
    base = draw(st.lists(st.sampled_from(BASE), min_size=1, max_size=2, unique=True))
    chosen = draw(st.lists(st.sampled_from(EGDS), min_size=1, max_size=2, unique=True)) if egds else []
    tops = TOP if tops else ""
    text = "\n".join([*base, *rules, *chosen, tops, "r(99) :- c(98). q(99,99) :- c(98). p(99,99) :- c(98)."])
    text += '\n@output("p"). @output("q"). @output("r").'
    return text + ('@output("lonely"). @output("meets"). @output("many").' if tops else "")


def warded(text):
    try:
        program = load_text(text)
    except ProgramError:
        assume(False)
    assume(program.wardedness.warded)
    return program


@quick
@given(programs(), data)
def test_agrees_with_the_oblivious_chase(text, given_rows):
    program = warded(text)
    result = evaluate(program, Facts.from_rows(given_rows))
    found = facts_of(result)
    outputs = set(result.facts.tables)
    oracle = Oblivious(program, given_rows).run(6)
    wanted = [f for f in oracle.facts if f[0] in outputs]
    certain = [f for f in wanted if oracle.complete or f[0] not in ("lonely", "many")]  # these are read with "not"
    assert ground(certain) <= ground(found)
    if oracle.complete:
        assert homomorphism(found, wanted)
        assert homomorphism(wanted, found)
        assert ground(wanted) == ground(found)


@quick
@given(programs(tops=False), data)
def test_all_that_is_derived_follows(text, given_rows):
    program = warded(text)
    result = evaluate(program, Facts.from_rows(given_rows))
    rounds = sum(s.rounds for s in result.stats.strata)
    oracle = Oblivious(program, given_rows, most=600)
    oracle.run(rounds)
    assume(len(oracle.facts) <= 600)
    assert homomorphism(facts_of(result), oracle.facts)


@quick
@given(programs(tops=False, egds=True), data)
def test_unification_agrees_with_the_oblivious_chase(text, given_rows):
    program = warded(text)
    oracle = Oblivious(program, given_rows, most=200)
    try:
        oracle.again(12)
    except Unequal:
        with pytest.raises(EvaluationError, match="cannot be one value"):
            evaluate(program, Facts.from_rows(given_rows))
        return
    assume(oracle.complete)
    result = evaluate(program, Facts.from_rows(given_rows))
    found = facts_of(result)
    wanted = [f for f in oracle.facts if f[0] in result.facts.tables]
    assert homomorphism(found, wanted)
    assert homomorphism(wanted, found)
    again = Oblivious(program, {**given_rows, **{p: [r for q, r in found if q == p] for p in "pqr"}})
    again.run(1)  # its first round carries out all rules once, and the dependencies on what is there
    assert homomorphism([f for f in again.facts if f[0] in "pqr"], found)
