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


@st.composite
def chain_rule(draw):
    """A rule that hands two values on, nulls among them, under a constant; often it makes new ones."""
    name = st.sampled_from(["X", "Y", "Y", "N", "M", "X"])
    more = draw(st.sampled_from(["", "", ", c(K)", ", e(K, L)", ", m(K, L)"]))
    key = draw(st.sampled_from(["K", "L"])) if "L" in more else "K"
    heads = [f"t({key}, {draw(name)}, {draw(name)})" for _ in range(draw(st.sampled_from([1, 1, 2])))]
    return f"{', '.join(heads)} :- t(K, X, {draw(st.sampled_from('YYYX'))}){more}."


@st.composite
def meeting(draw):
    """A harmful join: two chains meet in a null."""
    names = [draw(st.sampled_from("XYZ")) for _ in range(4)]
    third = draw(st.sampled_from(["", "", ", t(K, Z, V)", ", t(M, Y, V), t(M, V, Z)"]))
    return f"m(K, L) :- t(K, {names[0]}, {names[1]}), t(L, {names[2]}, {names[3]}){third}."


@st.composite
def chains(draw, harmful):
    rules = ["t(K, K, N) :- c(K).", *draw(st.lists(chain_rule(), min_size=1, max_size=3))]
    rules += draw(st.lists(meeting(), min_size=1, max_size=2)) if harmful else ["m(K, L) :- e(L, K)."]
    top = "alone(K) :- c(K), not m(K, K). alone(98) :- t(98, K, K). some(N) :- alone(K), N = count(K)."
    text = "\n".join([*rules, *draw(st.sampled_from([[], [top]]))])
    return text + "\nm(99, 99) :- c(98)." + '\n@output("t"). @output("m").'


def warded(text):
    try:
        program = load_text(text)
    except ProgramError:
        assume(False)
    assume(program.wardedness.warded)
    return program


everything = st.one_of(programs(), chains(False), chains(True), chains(True))


@quick
@given(everything, data)
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
@given(st.one_of(programs(tops=False), chains(False), chains(True)), data)
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
