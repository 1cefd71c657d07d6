"""Existential rules, unification of nulls and constraints, against an oblivious chase."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kgreason.base.errors import EvaluationError, ProgramError
from kgreason.engine.chase.constraints import promptly
from kgreason.engine.limits import Limits
from kgreason.engine.relations.fact_tables import Facts
from kgreason.engine.relations.rows import Keys
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.language.check.program_checker import load_text
from kgreason.language.values import Null
from tests.chase import Oblivious, Unequal, ground, homomorphism
from tests.examples import inputs
from tests.naive.fixpoint import derive as derive_naive

quick = settings(max_examples=inputs(80), deadline=None)
FACTS = min(300, inputs(750))  # of the oblivious chase, whose steps take the longer the more there are
N = Null
NO_LIMITS = Limits()


def derive(text, limits=NO_LIMITS, **rows):
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
    third = draw(st.sampled_from(["", "", ", t(K, Z, V)"]))
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
    result = evaluate(program, Facts.from_rows(given_rows), limits=Limits(cyclic=300))
    assume(not result.warnings)
    found = facts_of(result)
    outputs = set(result.facts.tables)
    oracle = Oblivious(program, given_rows, most=150).run(5)
    wanted = [f for f in oracle.facts if f[0] in outputs]
    # these are read with "not"
    certain = [f for f in wanted if oracle.complete or f[0] not in ("lonely", "many")]
    assert ground(certain) <= ground(found)
    if oracle.complete:
        assert homomorphism(found, wanted)
        assert homomorphism(wanted, found)
        assert ground(wanted) == ground(found)


@quick
@given(st.one_of(programs(tops=False), chains(False), chains(True)), data)
def test_all_that_is_derived_follows(text, given_rows):
    program = warded(text)
    result = evaluate(program, Facts.from_rows(given_rows), limits=Limits(cyclic=100))
    rounds = sum(s.rounds for s in result.stats.strata)
    oracle = Oblivious(program, given_rows, most=FACTS)
    oracle.run(rounds)
    assume(len(oracle.facts) <= FACTS)
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
    facts_found = {p: [r for q, r in found if q == p] for p in "pqr"}
    again = Oblivious(program, {**given_rows, **facts_found}, most=10_000)
    again.run(1)  # its first round carries out all rules once, and the dependencies on what is there
    assert homomorphism([f for f in again.facts if f[0] in "pqr"], found)


def test_many_unifications_one_after_another_are_no_endless_chase():
    text = """
        addr(P, A) :- p(P).             A = B :- addr(P, A), given(P, B).
        reach(P) :- addr(P, A), is_not_null(A).
        A = B :- reach(P), next(P, Q), addr(P, A), addr(Q, B).
        n(A, N) :- addr(P, A), N = count(P).   @output("n").
    """
    given = {"p": [(i,) for i in range(9)], "given": [(0, "x")], "next": [(i, i + 1) for i in range(8)]}
    result = derive(text, Limits(restarts=2), **given)
    assert rows(result, "n") == [("x", 9)]
    assert result.stats.restarts == 9


def test_nulls_inside_of_cyclic_ones_give_no_room_for_more():
    text = """
        t(K, X, X), t(K, X, N) :- t(K, X, Y), e(K, L).
        t(K, Y, X), t(K, X, M) :- t(K, X, X), e(K, L).
        t(L, N, X) :- t(K, X, Y), e(K, L).
        t(K, K, N) :- c(K).             @output("t").
    """
    result = derive(text, Limits(cyclic=100), e=[(0, 0)], c=[(0,)])
    assert result.facts.count("t") < 100
    assert not result.warnings


def test_what_a_unification_mends_is_no_warning():
    text = """
        person("c").                    mother(X, Y) :- person(X).            person(Y) :- mother(X, Y).
        gm(X, Z) :- mother(X, Y), mother(Y, Z).   ggm(X, Z) :- gm(X, Y), mother(Y, Z).
        X = Z :- ggm(X, Z).             @output("mother").
    """
    result = derive(text)
    assert rows(result, "mother") == [("c", N(1)), (N(1), N(2)), (N(2), "c")]
    assert not result.warnings


# --- doubles that nulls become --------------------------------------------------------------

UNKNOWN = ["p0", "p1", "p2", "p3"]
amounts = st.dictionaries(st.integers(0, 3), st.sampled_from([1, 3, 4]), max_size=3)
equated = st.lists(
    st.tuples(st.sampled_from(UNKNOWN), st.sampled_from([*UNKNOWN, "whole", "half", "half"])),
    min_size=1,
    max_size=6,
    unique=True,
)


def amounts_of_equated(edges, whole, half):
    """What the null of each predicate and key becomes, `None` where it would be two numbers, and its type."""
    together = {p: {p} for p in UNKNOWN}
    for _ in UNKNOWN:
        for a, b in edges:
            if b in together:
                together[a] = together[b] = together[a] | together[b]
    expected = {}
    for p, others in together.items():
        given = [given for given in (whole, half) for a, b in edges if b == given["name"] and a in others]
        exact = float if half in given else int
        for x in range(4):
            values = [source[x] for source in given if x in source]
            if len(set(values)) > 1:
                return None
            if values:
                expected[p, x] = exact(values[0])
    return expected


@quick
@given(equated, amounts, amounts)
def test_nulls_that_become_doubles_are_written_as_doubles(edges, whole, half):
    rules = [f"Y = Z :- {a}(X, Y), {b}(X, Z)." for a, b in edges]
    for p in UNKNOWN:
        rules.append(f"{p}(X, N), also_{p}(N, X) :- c(X).")
        rules.append(f"text_{p}(X, V) :- {p}(X, Z), is_not_null(Z), V = as_string(Z).")
        rules.append(f"list_{p}(X, [Z]) :- also_{p}(Z, X), is_not_null(Z).")
    program = load_text(" ".join([*rules, 'whole(9, 9). half(9, 9.0). c(0). @output("c").']))
    program = replace(program, outputs=tuple(sorted(h for h in program.heads if not h.startswith("#"))))
    given_rows = {
        "c": [(x,) for x in range(4)],
        "whole": list(whole.items()),
        "half": [(x, float(v)) for x, v in half.items()],
    }
    given_rows = {p: table for p, table in given_rows.items() if table}
    expected = amounts_of_equated(edges, {"name": "whole", **whole}, {"name": "half", **half})
    if expected is None:
        for run in (
            lambda: evaluate(program, Facts.from_rows(given_rows)),
            lambda: derive_naive(program, given_rows),
        ):
            with pytest.raises(EvaluationError, match=r"one value|equal"):
                run()
        return
    result = evaluate(program, Facts.from_rows(given_rows))
    naive = derive_naive(program, given_rows)
    for p in UNKNOWN:
        values = [(x, value) for (q, x), value in expected.items() if q == p]
        texts = [(x, str(v)) for x, v in values]
        for found in (result.facts.rows, naive.__getitem__):
            known = [row for row in found(p) if not isinstance(row[1], Null)]
            swapped = [(x, v) for v, x in found(f"also_{p}") if not isinstance(v, Null)]
            assert sorted(map(repr, known)) == sorted(map(repr, values))
            assert sorted(map(repr, swapped)) == sorted(map(repr, values))
            assert sorted(map(repr, found(f"text_{p}"))) == sorted(map(repr, texts))
            assert sorted(map(repr, found(f"list_{p}"))) == sorted(repr((x, (v,))) for x, v in values)


@pytest.mark.parametrize("run", ["engine", "naive"])
def test_nulls_inside_of_collections_become_doubles_too(run):
    text = """
        Y = Z :- p(X, Y), w(X, Z).
        half(X, V) :- p(X, Z), is_not_null(Z), V = Z / 2.
        same(X) :- l(X, L), p(X, Z), L == [Z, 1].
        @output("p"). @output("l"). @output("half"). @output("same").
    """
    given_rows = {
        "p": [(1, N(1)), (2, 5)],
        "w": [(1, 3.0)],
        "l": [(1, (N(1), 1))],
        "s": [(frozenset({N(1), 4}),)],
    }
    program = load_text(text + 'sets(S) :- s(S). @output("sets").')
    if run == "engine":
        found = evaluate(program, Facts.from_rows(given_rows)).facts.rows
    else:
        found = derive_naive(program, given_rows).__getitem__
    assert sorted(map(repr, found("p"))) == ["(1, 3.0)", "(2, 5.0)"]
    assert sorted(map(repr, found("half"))) == ["(1, 1.5)", "(2, 2.5)"]
    assert list(map(repr, found("l"))) == ["(1, (3.0, 1))"]
    assert [sorted(map(repr, s)) for (s,) in found("sets")] == [["3.0", "4.0"]]
    assert list(found("same")) == [(1,)]


def test_an_integer_that_no_null_stands_beside_stays_one():
    text = "Y = Z :- a(X, Y), w(X, Z). text(X, V) :- a(X, Z), V = as_string(Z)."
    assert rows(derive(text, a=[(1, 3)], w=[(1, 3.0)]), "text") == [(1, "3")]
    for number in (5, "3", True):
        with pytest.raises(EvaluationError, match="cannot be one value"):
            derive(
                text.partition("text")[0] + 'r(X) :- a(X, _). @output("r").', a=[(1, number)], w=[(1, 3.0)]
            )


def test_a_null_in_a_set_cannot_become_what_the_set_cannot_hold():
    text = "Y = Z :- p(X, Y), w(X, Z). q(S) :- s(S)."
    with pytest.raises(EvaluationError) as caught:
        derive(text, p=[(1, N(1))], w=[(1, True)], s=[(frozenset({N(1), 1}),)])
    assert str(caught.value) == (
        "a set holds booleans or numbers, not both, in {_:n1, 1} with _:n1 = #T\n"
        "  help: values cannot become equal (X = Y :- ...) that no set holds side by side"
    )
    program = load_text(text)
    with pytest.raises(EvaluationError, match="booleans and numbers in one set"):
        derive_naive(program, {"p": [(1, N(1))], "w": [(1, True)], "s": [(frozenset({N(1), 1}),)]})


# --- worked cases -------------------------------------------------------------------------


def test_two_facts_with_two_different_nulls():
    result = derive("employee(X), manager(X, Y) :- person(X).", person=[("jack",), ("ruth",)])
    assert rows(result, "manager") == [("jack", N(1)), ("ruth", N(2))]
    assert rows(result, "employee") == [("jack",), ("ruth",)]


def test_heads_of_one_rule_share_their_nulls():
    result = derive("owns(X, Y), share(Y, X) :- person(X).", person=[("a",), ("b",)])
    assert sorted((x, y) for y, x in result.facts.rows("share")) == sorted(result.facts.rows("owns"))


def test_unification_with_a_constant_reaches_what_was_derived():
    text = """
        manager(X, Y) :- person(X).
        manager(X, Y) :- boss(X, Y).
        below(Y, X) :- manager(X, Y).
        Y = Z :- manager(X, Y), manager(X, Z).
    """
    result = derive(text, person=[("jack",), ("ruth",)], boss=[("jack", "ada")])
    assert rows(result, "manager") == [("jack", "ada"), ("ruth", N(2))]
    assert rows(result, "below") == [(N(2), "ruth"), ("ada", "jack")] or rows(result, "below") == [
        ("ada", "jack"),
        (N(2), "ruth"),
    ]
    assert result.stats.restarts == 1


def test_two_constants_cannot_be_unified():
    text = "Y = Z :- boss(X, Y), boss(X, Z), Y < Z."
    with pytest.raises(EvaluationError) as caught:
        derive(
            text + ' p(X) :- boss(X, _). @output("p").',
            boss=[("jack", "ada"), ("jack", "bob"), ("eve", "ada")],
        )
    assert str(caught.value) == (
        '<text>:1:1: "ada" and "bob" cannot be one value, with Y = "ada", Z = "bob", X = "jack"\n'
        '  fact: boss("jack", "ada")\n'
        '  fact: boss("jack", "bob")\n'
        "  rule: Y = Z :- boss(X, Y), boss(X, Z), Y < Z.\n"
        "  help: correct one of the facts, or derive a difference instead of demanding equality"
    )


def test_constants_that_meet_through_a_null():
    text = """
        p(X, N) :- c(X). q(N) :- p(_, N).
        Y = Z :- p(X, Y), a(X, Z). Y = Z :- p(X, Y), b(X, Z).
    """
    with pytest.raises(EvaluationError, match="1 and 2 cannot be one value, with"):
        derive(text, c=[(0,)], a=[(0, 1)], b=[(0, 2)])


def test_unification_is_congruent_with_skolem_terms():
    text = """
        p(X, #f(X)) :- c(X). q(Z, #g(Z)) :- p(_, Z).
        Y = Z :- p(X, Y), p(W, Z), same(X, W).
    """
    result = derive(text, c=[(1,), (2,), (3,)], same=[(1, 2)])
    first, second, third = (null for _, null in rows(result, "p"))
    assert first == second != third
    assert len(rows(result, "q")) == 2


def test_unification_of_nulls_of_the_data():
    result = derive(
        "p(X, Y) :- e(X, Y). Y = Z :- e(X, Y), e(X, Z).", e=[(1, N(7)), (1, "a"), (2, N(7)), (3, N(8))]
    )
    assert rows(result, "p") == [(1, "a"), (2, "a"), (3, N(8))]


def test_new_nulls_differ_from_those_of_the_data():
    result = derive("p(X, Y) :- e(X). p(1, Y) :- e(Y).", e=[(N(4),), (1,)])
    assert {row[1] for row in rows(result, "p")} == {N(4), N(5), N(6), 1}


def test_constraint_lists_what_violates_it():
    text = "#F :- e(X, Y), X > Y. p(X) :- e(X, _)."
    with pytest.raises(EvaluationError) as caught:
        derive(text, e=[(i, 0) for i in range(12)])
    listed = "".join(f"  with X = {i}, Y = 0\n    fact: e({i}, 0)\n" for i in range(1, 11))
    assert str(caught.value) == (
        f"<text>:1:1: the constraint is violated 11 times\n{listed}  and 1 more\n"
        "  rule: #F :- e(X, Y), X > Y."
    )
    assert derive(text, e=[(0, 1)]).warnings == ()


@pytest.mark.parametrize(
    ("body", "listed"),
    [
        ("own(X, W), S = sum(W), S > 1.", ["fact: own(1, 0.5)", "fact: own(2, 0.75)"]),
        (
            "own(X, W), c(Y), W > 0.5, T = count(X), T > 0, c(_).",
            ["fact: c(3)", "(the facts that contribute to T are not listed)"],
        ),
        ("e(X, X), S = sum(X), S > 1.", ["(the facts that contribute to S are not listed)"]),
        ("many(X), S = count(), S > 1.", [*(f"fact: many({i})" for i in range(10)), "and 2 more facts"]),
    ],
)
def test_a_constraint_on_a_total_lists_all_that_contribute_or_says_so(body, listed):
    tables = {
        "own": [(1, 0.5), (2, 0.75)],
        "c": [(3,)],
        "e": [(1, 2), (3, 3)],
        "many": [(i,) for i in range(12)],
    }
    with pytest.raises(EvaluationError) as caught:
        derive(f"#F :- {body}", **tables)
    lines = str(caught.value).splitlines()
    assert lines[0] == "<text>:1:1: the constraint is violated"
    assert [line.strip() for line in lines[2:]] == [*listed, f"rule: #F :- {body}"]


def test_all_violated_constraints_are_listed():
    text = """@label("loop").
#F :- e(X, X).
%% nobody knows 3
#F :- e(X, Y), f(Y), not g(Y).
#F :- g(7).
p(X, Y) :- e(X, _), Y = 1 / (X - 1).
"""
    with pytest.raises(EvaluationError) as caught:  # the division by zero that they may explain is not shown
        derive(text, e=[(1, 1), (2, 3)], f=[(3,)], g=[(1,)])
    assert (
        str(caught.value)
        == """2 constraints are violated

<text>:2:1: the constraint "loop" is violated
  with X = 1
    fact: e(1, 1)
  rule: #F :- e(X, X).

<text>:4:1: the constraint is violated
  nobody knows 3
  with X = 2, Y = 3
    fact: e(2, 3)
    fact: f(3)
  rule: #F :- e(X, Y), f(Y), not g(Y)."""
    )


def test_constants_that_meet_through_a_null_that_is_tested():
    text = "A = B :- e(K, A), e(K, B), is_null(A). e(K, N) :- k(K). e(1, 5). e(1, 7). k(1)."
    with pytest.raises(EvaluationError, match="5 and 7 cannot be one value, with A = ") as caught:
        derive(text)
    assert all(f"fact: e(1, {v})" in str(caught.value) for v in ("5", "7", "_:n1"))


def test_a_chase_that_ends_is_carried_out_in_full():
    text = "q(X, Y) :- e(X, Y). q(W, N) :- q(Y, W), f(Y). n(C) :- q(_, N), C = count(N)."
    given = {"e": [("a", "a"), ("a", "b")], "f": [("a",), ("b",)]}
    assert rows(derive(text, **given), "n") == [(6,)]
    many = {"e": [(i, j) for i in range(1000) for j in (i, i + 1)], "f": [(i,) for i in range(1001)]}
    result = derive(text, **many)
    oracle = Oblivious(load_text(text), {"e": [(0, 0), (0, 1)], "f": [(0,), (1,)]})
    oracle.run(9)
    assert oracle.complete
    assert rows(result, "n") == [(1001 + 2 * 1001,)]
    assert result.warnings == ()


def test_what_counts_the_nulls_of_an_endless_chase_is_warned_of():
    text = "person(Y), father(X, Y) :- person(X). person(X) :- c(X). n(K) :- father(_, Y), K = count(Y)."
    (warning,) = derive(text, c=[(1,), (2,)]).warnings
    assert "so what rules negate or aggregate over nulls is not certain" in warning.message


def test_rules_that_are_not_warded_grow_to_a_bound():
    text = """
        p1(W) :- p0(Z, W, X). p0(X, X, W) :- c(X), f(W, Z), f(Z, W), X != W. p0(X, N, Z) :- p1(Z), p1("a"), p1(X).
        p1(W) :- e(W, Z). p1(W), p1(N) :- f(Y, W), c(Z).
        e("a", "c"). e("b", "a"). f("b", "a"). f("b", "b"). f("a", "b"). c("a").
    """
    result = derive(text)
    (warning,) = result.warnings
    assert re.search(r"those behind the first 10\d\d are left out", warning.message)
    assert "rule: p0(X, N, Z) :- " in warning.message
    assert len(rows(result, "p0")) < 1200


def test_a_constraint_waits_for_unification():
    text = """
        p(X, N) :- c(X). Y = Z :- p(X, Y), e(X, Z).
        #F :- p(X, Y), not e(X, Y).
    """
    assert rows(derive(text, c=[(1,)], e=[(1, 5)]), "p") == [(1, 5)]
    with pytest.raises(EvaluationError, match="the constraint is violated"):
        derive(text, c=[(1,), (2,)], e=[(1, 5)])


CONTROL = """
    psc(X, P) :- company(X).
    psc(Y, P) :- psc(X, P), control(X, Y).
    psc(X, P) :- key(X, P).
    strong(X, Y) :- psc(X, P), psc(Y, P), X < Y.
    @output("psc"). @output("strong").
"""


def test_strong_links():
    result = derive(
        CONTROL,
        company=[("a",), ("b",), ("c",), ("d",)],
        control=[("a", "b"), ("b", "c")],
        key=[("d", "ada"), ("c", "ada")],
    )
    assert rows(result, "strong") == [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")]


def test_warded_recursion_ends():
    text = "person(Y), father(X, Y) :- person(X). known(X) :- father(X, _), c(X). person(X) :- c(X)."
    result = derive(text + '@output("known"). @output("father").', c=[(1,), (2,)])
    assert rows(result, "known") == [(1,), (2,)]
    assert len(rows(result, "father")) == 3  # what the null of 2 leads to is as for that of 1
    assert result.warnings == ()


def test_unfoldings_that_a_harmful_join_needs():
    text = """
        t(K, K, N) :- c(K). t(K, Y, N) :- t(K, X, Y).
        m(K) :- t(K, K, A), t(K, A, B), t(K, B, C), t(K, C, D).
        @output("m").
    """
    assert rows(derive(text, c=[(1,), (2,)]), "m") == [(1,), (2,)]


def test_rules_that_are_not_warded_stop_at_a_bound():
    text = """p(X, N) :- c(X). q(Y) :- p(_, Y). p(Y, N), s(Z, N) :- p(X, Y), p(X, Z), q(Z). @output("p")."""
    program = load_text(text)
    program = replace(program, wardedness=replace(program.wardedness, warded=False))
    result = evaluate(program, Facts.from_rows({"c": [(1,)]}), limits=Limits(depth=2))
    (warning,) = result.warnings
    assert warning.render() == (
        "<text>:1:35: warning[W506]: this rule makes nulls from its own nulls; those nested more than 2 deep are left "
        "out, so results can be missing\n"
        "  rule: p(Y, N), s(Z, N) :- p(X, Y), p(X, Z), q(Z).\n"
        "  note: nulls that can be nested without end need a bound where rules are not warded, or join nulls\n"
        "  help: make the rules warded (kgreason check --explain shows what they lack) or raise the bound (--depth)"
    )


def test_cyclic_skolem_terms_stop_at_a_bound():
    result = derive("p(#f(X)) :- p(X). p(X) :- c(X).", limits=Limits(depth=5), c=[(1,)])
    assert len(rows(result, "p")) == 6
    assert [w.code for w in result.warnings] == ["W506"]


def test_what_ends_by_itself_is_carried_out_whatever_the_rules_are():
    text = "l(#cons(N, L), N1) :- l(L, N), N < 40, N1 = N + 1. n(N) :- l(_, N). l(0, 0)."
    result = derive(text)
    assert len(rows(result, "n")) == 41
    assert not result.warnings
    text = "p(X, N) :- c(X). q(Y) :- p(_, Y). p(Y, N), s(Z, N) :- p(X, Y), p(X, Z), q(Z), X == 1."
    result = derive(text, c=[(1,)])
    assert not result.warnings
    assert len(rows(result, "p")) == 2


def test_what_is_said_of_nulls_that_were_left_out():
    text = "p(#f(X)) :- p(X). p(X) :- c(X). last(X) :- c(X), not p(#f(X)). many(N) :- p(X), N = count(X)."
    (warning,) = derive(text, c=[(1,)]).warnings
    assert warning.message.startswith(
        "#f(...) makes nulls from its own nulls; those nested more than 3 deep are left out, so results can be "
        "missing, and what rules negate or aggregate over nulls is not certain"
    )
    assert warning.hint == "bound the recursion by a condition or raise the bound (--depth)"


def test_many_activations_under_harmful_joins_stop_at_a_bound():
    text = """
        t(K, K, N) :- c(K). t(K, Y, N) :- t(K, X, Y). t(K, N, X) :- t(K, X, Y).
        m(K, L) :- t(K, A, B), t(L, B, C), t(K, C, D).
    """
    result = derive(text, limits=Limits(cyclic=0), c=[(1,), (2,)])
    assert {w.code for w in result.warnings} == {"W506"}


def test_negation_and_aggregation_over_nulls():
    text = """
        p(X, N) :- c(X). p(X, Y) :- e(X, Y).
        open(X) :- c(X), not e(X, _). lone(Y) :- p(_, Y), not e(_, Y).
        n(K) :- p(_, Y), K = count(Y).
        @output("open"). @output("n"). @output("lone").
    """
    result = derive(text, c=[(1,), (2,)], e=[(1, 5)])
    assert rows(result, "open") == [(2,)]
    assert rows(result, "lone") == [(N(1),), (N(2),)]
    assert rows(result, "n") == [(3,)]


def test_unifications_come_before_what_negates():
    program = load_text(
        "p(X, N) :- c(X). q(X) :- c(X), not d(X). d(X) :- p(_, X). Y = Z :- p(X, Y), e(X, Z)."
    )
    strata = promptly(program.strata, {u.predicate for u in program.unifications})
    order = [p for s in strata for p in s.predicates]
    assert sorted(order) == sorted(p for s in program.strata for p in s.predicates)
    assert order.index(program.unifications[0].predicate) == order.index("p") + 1


def test_frontiers_without_columns():
    frontiers = Keys(0)
    assert frontiers.number(np.empty((3, 0), dtype=np.int64)).tolist() == [0, 0, 0]
