import math
import re
from datetime import datetime
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason import reason
from kgreason.base import memory
from kgreason.base.errors import DataError, EvaluationError, ProgramError
from kgreason.engine.limits import Limits
from kgreason.engine.plan.ir import Part
from kgreason.engine.relations import hash_kernels
from kgreason.engine.relations import relation as relation_module
from kgreason.engine.relations import rows as rows_module
from kgreason.engine.relations.fact_tables import Facts, Kind, doubles
from kgreason.engine.relations.relation import KeyedRelation, Relation
from kgreason.engine.relations.rows import CHUNK, Slots
from kgreason.engine.relations.symbols import Symbols
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.engine.seminaive.grouped_aggregates import Groups
from kgreason.engine.seminaive.rule_evaluation import Rule
from kgreason.engine.seminaive.rule_pipeline import Joining, Matching, Probe
from kgreason.language.check.checked_program import Aggregation, Keyed
from kgreason.language.check.program_checker import load_text
from kgreason.language.functions import function
from kgreason.language.syntax.syntax_tree import NOWHERE
from kgreason.language.values import Null
from tests import naive, reference
from tests.examples import inputs
from tests.renamings import isomorphic

quick = settings(max_examples=inputs(60), deadline=None)
small = st.integers(-3, 3)


def derive(text, goal, **rows):
    """Rows of the goal, after a look at what the naive evaluator says."""
    program = load_text(text)
    given = {p: list(dict.fromkeys(r)) for p, r in rows.items()}
    found = sorted(evaluate(program, Facts.from_rows(given), goals=[goal]).facts.rows(goal))
    assert found == sorted(naive.evaluate(program, given)[goal])
    return found


# --- one feature each ------------------------------------------------------------

OWN = [("a", "d", 0.8), ("d", "e", 0.6), ("e", "b", 0.35), ("a", "b", 0.3), ("b", "c", 0.1)]
CONTROL = """
    control(X, X) :- company(X).
    control(X, Z) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>), V > 0.5.
"""

CASES = {
    "closure": (
        "t(X,Y) :- e(X,Y). t(X,Z) :- t(X,Y), e(Y,Z).",
        {"e": [(1, 2), (2, 3), (3, 1)]},
        [(a, b) for a in (1, 2, 3) for b in (1, 2, 3)],
    ),
    "doubly recursive": (
        "t(X,Y) :- e(X,Y). t(X,Z) :- t(X,Y), t(Y,Z).",
        {"e": [(i, i + 1) for i in range(9)]},
        [(a, b) for a in range(9) for b in range(a + 1, 10)],
    ),
    "mutual recursion": (
        "t(0). t(Y) :- s(X), Y = X + 1. s(Y) :- t(X), n(X), Y = X + 1.",
        {"n": [(0,), (2,), (4,)]},
        [(0,), (2,), (4,), (6,)],
    ),
    "constants and repeated variables": (
        't(X) :- e(X,X,"k"), f(Y,Y,X), g(X,Y,1).',
        {
            "e": [(1, 1, "k"), (2, 2, "k"), (3, 3, "j"), (1, 2, "k")],
            "f": [(5, 5, 1), (5, 6, 2)],
            "g": [(1, 5, 1)],
        },
        [(1,)],
    ),
    "product": ("t(X,Y) :- a(X), b(Y).", {"a": [(1,), (2,)], "b": [(3,)]}, [(1, 3), (2, 3)]),
    "no arguments": ("t(X) :- a(X), on. on :- b(_).", {"a": [(1,)], "b": [(2,), (3,)]}, [(1,)]),
    "switched off": ("t(X) :- a(X), on. on :- b(9).", {"a": [(1,)], "b": [(2,)]}, []),
    "several heads": ("t(X), u(Y) :- e(X,Y). t(Z) :- u(Z).", {"e": [(1, 2)]}, [(1,), (2,)]),
    "negation": (
        "t(X) :- n(X), not e(X,_). ",
        {"n": [(1,), (2,)], "e": [(1, 5)]},
        [(2,)],
    ),
    "negation of a repeated existential": (
        "t(X) :- n(X), not e(Y,Y), not f(X,Z,Z).",
        {"n": [(1,), (2,)], "e": [(1, 5)], "f": [(1, 2, 2), (2, 1, 2)]},
        [(2,)],
    ),
    "negation of an assigned variable": (
        "t(Y) :- n(X), Y = X + 1, not n(Y).",
        {"n": [(1,), (2,), (5,)]},
        [(3,), (6,)],
    ),
    "no data": ("t(X) :- e(X), f(X). ", {"e": [(1,)]}, []),
    "facts": ('t("x"). t(X) :- e(X).', {"e": [("y",)]}, [("x",), ("y",)]),
    "text": (
        't(Z) :- e(X), e(Y), X < Y, Z = X + Y, Z != "bc".',
        {"e": [("c",), ("a",), ("b",)]},
        [("ab",), ("ac",)],
    ),
    "booleans": ("t(X,B) :- e(X), B = X > 1, !(X == 3).", {"e": [(1,), (2,), (3,)]}, [(1, False), (2, True)]),
    "integers": (
        "t(A,B,C) :- e(X,Y), A = X / Y, B = X % Y, C = -X.",
        {"e": [(7, 2), (-7, 2), (7, -2)]},
        [(-3.5, -1, 7), (-3.5, 1, -7), (3.5, 1, -7)],
    ),
    "integers meet doubles": (
        "t(Z) :- e(X), f(X), Z = X / 2.",
        {"e": [(1,), (2,)], "f": [(1.0,), (3.5,)]},
        [(0.5,)],
    ),
    "decided on the left": ("t(X) :- e(X), X == 0 || 6 / X > 2.", {"e": [(2,), (5,)]}, [(2,)]),
    "control": (
        CONTROL,
        {"own": OWN, "company": [(c,) for c in "abcde"]},
        sorted([*zip("abcde", "abcde", strict=True), *[("a", "b"), ("a", "d"), ("a", "e"), ("d", "e")]]),
    ),
    "best contribution counts": (
        "t(X,S) :- e(X,Y,V), S = msum(V,<Y>).",
        {"e": [(1, "a", 3), (1, "b", 7), (1, "a", 5)]},
        [(1, 12)],
    ),
    "shortest paths": (
        "t(X,0.0) :- s(X). t(Y,D) :- t(X,C), e(X,Y,W), B = C + W, D = mmin(B).",
        {"s": [(0,)], "e": [(0, 1, 9.0), (0, 2, 1.0), (2, 1, 2.0), (1, 3, 1.0), (3, 0, 1.0)]},
        [(0, 0.0), (1, 3.0), (2, 1.0), (3, 4.0)],
    ),
    "aggregates": (
        "t(A,B,C,D,E,F) :- s(A), c(B), m(C), n(D), v(E), w(F)."
        "s(X) :- e(_,Y), X = sum(Y). c(X) :- e(_,Y), X = count(Y). m(X) :- e(_,Y), X = min(Y)."
        "n(X) :- e(_,Y), X = prod(Y). v(X) :- e(_,Y), X = avg(Y). w(X) :- e(_,Y), X = median(Y).",
        {"e": [(1, 2), (2, 2), (3, 5), (4, 10)]},
        [(19, 3, 2, 200, 4.75, 3.5)],
    ),
    "extremes of text": (
        "t(A,B) :- l(A), g(B). l(X) :- e(Y), X = min(Y). g(X) :- e(Y), X = mmax(Y).",
        {"e": [("c",), ("a",), ("b",)]},
        [("a", "c")],
    ),
    "cycle of keyed values": (
        "t(X,M) :- e(X,_), M = mmin(X). t(Y,M) :- t(X,L), e(X,Y), M = mmin(L).",
        {"e": [(3, 2), (2, 1), (1, 3), (5, 4), (4, 5)]},
        [(1, 1), (2, 1), (3, 1), (4, 4), (5, 4)],
    ),
    "functions": (
        't(S,N) :- e(X), S = to_upper(substring(X, 0, 2)), N = if(contains(X, "-"), string_length(X), 0).',
        {"e": [("a-b",), ("cde",)]},
        [("A-", 3), ("CD", 0)],
    ),
    "dates": (
        "t(Y,D) :- e(A,B), A < B, Y = year(B), D = diff(B,A).",
        {"e": [(datetime(2024, 2, 28), datetime(2024, 3, 1)), (datetime(2024, 1, 1), datetime(2023, 1, 1))]},
        [(2024, 2)],
    ),
    "lists and sets": (
        "t(L) :- e(X), s(S), X in S, L = [X] + [X * 2]. s({1,3}).",
        {"e": [(1,), (2,), (3,)]},
        [((1, 2),), ((3, 6),)],
    ),
    "sets that grow in recursion": (
        "t(X,S) :- e(X,Y), S = munion(Y). t(X,S) :- e(X,Y), t(Y,Z), S = munion(Z).",
        {"e": [(1, 2), (2, 3), (3, 2)]},
        [(1, frozenset({2, 3})), (2, frozenset({2, 3})), (3, frozenset({2, 3}))],
    ),
    "lists of what was found": (
        "t(X,L) :- e(X,Y), L = list(Y).",
        {"e": [(1, "b"), (1, "a"), (2, "c")]},
        [(1, ("a", "b")), (2, ("c",))],
    ),
    "keyed value as a condition": (
        "t(X,M) :- e(X,M). t(Y,M) :- t(X,L), e(X,_), f(X,Y,L), N = L + 1, M = mmax(N).",
        {"e": [(1, 1), (2, 0)], "f": [(1, 2, 1), (2, 1, 5)]},
        [(1, 1), (2, 2)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_feature(name):
    text, rows, expected = CASES[name]
    assert derive(text, "t" if name != "control" else "control", **rows) == expected


def test_keyed_value_in_a_join_inside_recursion():
    text = "t(X,M) :- e(X,M). t(Y,M) :- s(X), t(X,L), t(Y,L), f(X,Y), M = mmax(9). s(X) :- e(X,_), t(X,_)."
    assert derive(text, "t", e=[(1, 4), (2, 4), (3, 5)], f=[(1, 2), (1, 3)]) == [(1, 4), (2, 9), (3, 5)]


def test_goals_leave_the_rest_alone_and_statistics_count():
    program = load_text("t(X) :- e(X). u(Y) :- e(X), Y = 1 / (X - X). t(X) :- t(X), e(X).")
    result = evaluate(program, Facts.from_rows({"e": [(1,), (2,)], "unrelated": [("x",)]}), goals=["t"])
    assert list(result.facts.tables) == ["t"]
    assert result.stats.facts == 2
    assert [(s.predicates, s.rounds) for s in result.stats.strata] == [(("t",), 2)]
    assert [r.facts for r in result.stats.strata[0].rules] == [2, 0]


def test_results_larger_than_a_chunk():
    n = 3 * CHUNK
    rows = [(i % 7, i) for i in range(n)]
    facts = Facts.from_rows({"e": rows, "f": [(i,) for i in range(7)]})
    result = evaluate(load_text("t(Y,X) :- f(X), e(X,Y), Y >= 0. n(N) :- t(Y,_), N = count(Y)."), facts)
    assert result.facts.count("t") == n
    assert list(result.facts.rows("n")) == [(n,)]


def test_sums_do_not_depend_on_order():
    rng = np.random.default_rng(1)
    values = (rng.random(500) * 10.0 ** rng.integers(-12, 12, 500)).tolist()
    for order in (values, values[::-1], sorted(values)):
        rows = [(i, v) for i, v in zip(rng.permutation(500).tolist(), order, strict=True)]
        assert derive("t(S) :- e(X,V), S = msum(V,<X>).", "t", e=rows) == [(math.fsum(values),)]


# --- the whole language ------------------------------------------------------------


@function
def reversed_text(text: str) -> str:
    seen.append(text)
    return text[::-1]


@function(name="halved")
def half_of(value: float) -> float:
    return value / 2


@function
def picky(value: int) -> int:
    if value > 2:
        raise ValueError("too large")
    return value


@function
def unfaithful(value: int) -> int:
    return str(value)  # type: ignore[return-value]


seen: list[str] = []


def test_functions_of_users_are_called_once_for_each_combination():
    seen.clear()
    rows = [(i, text) for i, text in enumerate(["ab", "cd", "ab", "ab"])]
    program = load_text("t(X,Y) :- e(X,S), Y = reversed_text(S).")
    found = set(evaluate(program, Facts.from_rows({"e": rows})).facts.rows("t"))
    assert found == {(0, "ba"), (1, "dc"), (2, "ba"), (3, "ba")}
    assert sorted(seen) == ["ab", "cd"]
    assert naive.evaluate(program, {"e": rows})["t"] == found


def test_integers_are_good_for_doubles_of_functions():
    assert derive("t(Y) :- e(X), Y = halved(X).", "t", e=[(3,)]) == [(1.5,)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("picky", "picky fails with ValueError: too large in picky(X), with X = 3"),
        ("unfaithful", 'unfaithful gives "3", a string, but promises an int in unfaithful(X), with X = 3'),
    ],
)
def test_functions_of_users_that_fail(name, words):
    program = load_text(f"t(Y) :- e(X), Y = {name}(X).")
    with pytest.raises(EvaluationError) as caught:
        evaluate(program, Facts.from_rows({"e": [(3,)]}))
    assert words in str(caught.value)
    assert f"rule: t(Y) :- e(X), Y = {name}(X)." in str(caught.value)
    with pytest.raises(EvaluationError):
        naive.evaluate(program, {"e": [(3,)]})


def derive_up_to_names(text, *goals, **rows):
    """Facts of the goals, after a look at what the naive evaluator says of them up to the names of nulls."""
    program = load_text(text)
    facts = evaluate(program, Facts.from_rows(rows), goals=goals).facts
    found = {goal: set(facts.rows(goal)) for goal in goals}
    slow = naive.evaluate(program, rows)
    assert isomorphic(found, {goal: slow[goal] for goal in goals}, typed=True)
    return found


def test_new_nulls_are_numbered_behind_those_of_the_data():
    found = derive_up_to_names("t(X,N) :- e(X).", "t", e=[(Null(3),), ("a",)])
    assert {n for _, n in found["t"]}.isdisjoint({Null(3)})
    assert {x for x, _ in found["t"]} == {Null(3), "a"}


def test_columns_with_nulls_hold_values_of_all_types():
    found = derive_up_to_names(
        "t(X) :- a(X). t(X) :- b(X). t(N) :- a(Y), b(Y2). same(X) :- t(X), a(X).",
        "t",
        "same",
        a=[(1,), (2,)],
        b=[("x",)],
    )
    assert found["same"] == {(1,), (2,)}
    assert len(found["t"]) == 4


def test_equalities_act_before_what_stands_above_them():
    found = derive_up_to_names(
        """
        owner(F,P) :- flat(F). owner(F,P) :- sold(F,P).
        A = B :- owner(F,A), owner(F,B).
        landlord(P,N) :- owner(F,P), N = mcount(F).
        nobody(F) :- flat(F), not sold(F,_), owner(F,P), is_null(P).
        """,
        "landlord",
        "nobody",
        flat=[(1,), (2,), (3,)],
        sold=[(1, "ann"), (2, "ann")],
    )
    assert ("ann", 2) in found["landlord"]
    assert len(found["landlord"]) == 2
    assert found["nobody"] == {(3,)}


def test_goals_leave_constraints_in_force():
    program = load_text("#F :- e(X), X > 2. t(X) :- f(X).")
    with pytest.raises(EvaluationError, match="the constraint is violated"):
        evaluate(program, Facts.from_rows({"e": [(3,)], "f": [(1,)]}), goals=["t"])


# --- errors ------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("t(Y) :- e(X), Y = 6 / (X - 2).", "division by zero in 6 / (X - 2), with X = 2"),
        ("t(Y) :- e(X), Y = 6 % (X - X).", "division by zero in 6 % (X - X), with X = 1"),
        ("t(Y) :- e(X), Y = X * 9223372036854775807.", "integer overflow"),
        ("t(Y) :- e(X), B = X * 4611686018427387904, Y = sum(B).", "integer overflow"),
        (
            "t(X, 0) :- e(X). t(X, S) :- t(X, V), f(V, W), S = msum(W, <W>).",
            "to msum in recursion is negative, with",
        ),
        (
            "t(X, 1) :- e(X). t(X, S) :- t(X, V), N = V + 1, S = mmax(N).",
            "after 40 rounds, for instance X = ",
        ),
        ("t(1). t(Y) :- t(X), Y = X + 1.", "values still change after 40 rounds"),
    ],
)
def test_evaluation_error(text, words):
    facts = Facts.from_rows({"e": [(1,), (2,)], "f": [(0, -1)]})
    with pytest.raises(EvaluationError) as caught:
        evaluate(load_text(text), facts, limits=Limits(rounds=40))
    assert words in str(caught.value)
    assert "rule: t(" in str(caught.value)


@pytest.mark.parametrize("operator", ["/", "%"])
def test_a_division_by_zero_that_no_row_reaches_is_silent(operator):
    program = load_text(f"t(Y) :- Y = 4 {operator} 0, e(-3).")
    assert list(evaluate(program, Facts.from_rows({"e": [(1,)]})).facts.rows("t")) == []


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("t(X) :- e(X), s(X).", "E501", "X is an integer, but argument 1 of s is a string (from the data)"),
        ("t(X) :- e(X). t(X) :- s(X).", "E501", "argument 1 of t is an integer in rule t(X) :- e(X). and"),
        ('t(X) :- e("a"), s(X).', "E501", '"a" is a string, but argument 1 of e is an integer'),
        ('t(X) :- e(X), X < "a".', "E503", '< does not apply to X, an integer, and "a", a string'),
        ("t(X) :- e(X), s(Y), X == Y.", "E503", "== does not apply"),
        ("t(Z) :- e(X), s(Y), Z = X + Y.", "E502", "+ does not apply"),
        ("t(Z) :- s(Y), Z = sum(Y).", "E502", "sum takes numbers, but Y is a string"),
    ],
)  # fmt: skip
def test_clash_of_kinds(text, code, words):
    with pytest.raises(ProgramError) as caught:
        evaluate(load_text(text), Facts.from_rows({"e": [(1,)], "s": [("a",)]}))
    assert [d.code for d in caught.value.diagnostics] == [code]
    assert words in str(caught.value)


def test_goal_that_nothing_mentions():
    program = load_text("control(X) :- own(X). own(1).")
    with pytest.raises(EvaluationError) as caught:
        evaluate(program, Facts({}), goals=["contrl"])
    assert (
        str(caught.value)
        == "no rule and no fact mentions the predicate contrl\n  help: did you mean control?"
    )
    with pytest.raises(EvaluationError, match=r"predicate xyz\n  help: there are control, own$"):
        evaluate(program, Facts({}), goals=["xyz"])


def test_goal_that_only_the_data_hold():
    program = load_text('@output("own").')
    facts = evaluate(program, Facts.from_rows({"own": [("a", 0.5)]})).facts
    assert list(facts.rows("own")) == [("a", 0.5)]


def test_arity_of_the_data_must_fit():
    with pytest.raises(EvaluationError, match="e has 2 arguments in the rules, but 1 columns in the data"):
        evaluate(load_text("t(X) :- e(X,_)."), Facts.from_rows({"e": [(1,)]}))


def test_small_improvements_count_until_patience_ends():
    text = "t(X, 1.0) :- e(X). t(X, S) :- t(X, V), W = 1.0 + V / 2.0, S = mmax(W)."
    program, facts = load_text(text), Facts.from_rows({"e": [(1,)]})
    for limits, least in ((Limits(), 2.0), (Limits(patience=0), 2 - 1e-11), (Limits(0, 0.1, 0), 1.5)):
        result = evaluate(program, facts, limits=Limits(100, limits.growth, limits.patience))
        [(_, value)] = result.facts.rows("t")
        assert least <= value <= 2.0
        assert (value == 2.0) == (limits.patience > 0)


# --- kernels against their twins ------------------------------------------------------------


def rows_of(width, **kwargs):
    return st.lists(st.tuples(*[small] * width), max_size=40, **kwargs)


def array(rows, width):
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def as_rows(data):
    return [tuple(row) for row in data.tolist()]


@quick
@given(old=rows_of(2), batch=rows_of(2))
def test_insert(old, batch):
    relation = Relation(2)
    relation.insert(array(old, 2))
    before = relation.count
    assert relation.insert(array(batch, 2)) == relation.count - before
    assert as_rows(relation.buffer[: relation.count]) == reference.insert(batch, reference.insert(old, []))


@quick
@given(
    batches=st.lists(
        st.lists(st.tuples(*[st.integers(0, 2) | st.integers(0, 2**40) | st.integers(-2, 2**63 - 1)] * 3)),
        min_size=2,
        max_size=4,
    ),
    loaded=st.booleans(),
)
def test_rows_that_outgrow_their_packing(batches, loaded):
    relation = Relation(3)
    known = []
    for i, batch in enumerate(batches):
        if i == 0 and loaded:
            known = reference.insert(batch, [])
            relation.load(array(known, 3), distinct=True)
        else:
            known = reference.insert(batch, known)
            relation.insert(array(batch, 3))
    assert as_rows(relation.buffer[: relation.count]) == known


@quick
@given(
    batches=st.lists(
        st.lists(st.tuples(*[st.integers(0, 5) | st.integers(0, 200) | st.integers(-1, 2**40)] * 2)),
        max_size=5,
    ),
    loaded=st.booleans(),
    cheap=st.sampled_from([1 << 10, 1 << 25]),
)
def test_pairs_that_are_kept_as_bits(batches, loaded, cheap):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation_module, "MANY", 1)
        patch.setattr(relation_module, "CHEAP", cheap)
        patch.setattr(Slots, "full", lambda _, keys: keys > 0)
        relation = Relation(2)
        known = []
        for i, batch in enumerate(batches):
            known = reference.insert(batch, known)
            if i == 0 and loaded:
                relation.load(array(known, 2), distinct=True)
            else:
                relation.insert(array(batch, 2))
    assert as_rows(relation.buffer[: relation.count]) == known


@quick
@given(
    values=st.lists(st.integers(0, 2**62 - 1) | st.integers(0, 50), unique=True, max_size=60),
    before=st.integers(0, 20),
    more=st.integers(1, 80),
    room=st.sampled_from([0, 1, 5, 60]),
)
def test_tables_grow_where_they_stand(values, before, more, room):
    rows, bits = array([(v,) for v in values], 1), np.array([62])
    slots, held = np.full(len(values) + before + more, -1), np.empty_like(rows)
    small = slots[: len(values) + 1 + before]
    hash_kernels.insert_packed(rows, held, small, bits, 0, 0)
    spare = np.empty(room, dtype=np.int64)
    waiting = hash_kernels.spread(slots, len(small), spare)
    kept = [*slots[slots >= 0].tolist(), *spare[: max(waiting, 0)].tolist()]
    assert sorted(kept) == sorted(values)
    if waiting < 0:  # each is found again
        assert hash_kernels.insert_packed(rows, held, slots, bits, 0, 0) == (len(values), 0)
    else:
        assert waiting == room < len(values)


@pytest.mark.parametrize("spare", [0, 1 << 12])
def test_packed_tables_grow_slowly(spare, monkeypatch):
    monkeypatch.setattr(rows_module, "SPARE", spare)
    relation, seen = Relation(2), set()
    for start in range(0, 300_000, 1_000):
        values = np.arange(start, start + 1_000)
        relation.insert(np.column_stack([values, values << 20]))
        slots = relation._slots.array
        seen.add(len(slots))
        assert (slots >= 0).sum() == relation.count
        assert relation.count < 30_000 or 8 * len(slots) < 24 * relation.count
        assert relation.count < 100_000 or 8 * len(slots) < 15 * relation.count
    assert relation.insert(np.column_stack([values, values << 20])) == 0
    assert len(seen) > 8


def test_a_fact_that_is_looked_up_takes_forty_bytes():
    """At any time, with its row, what tells whether it is new, and the index."""
    relation, rng = Relation(2), np.random.default_rng(1)
    index, most = relation.index((0,)), 0.0
    for _ in range(60):
        keys, values = rng.integers(0, 500, CHUNK), rng.integers(0, 2**30, CHUNK)
        relation.insert(np.column_stack([keys, values]))
        relation.turn()
        held = relation.buffer.nbytes + relation._slots.array.nbytes + index.slots.array.nbytes
        held += index.arena.nbytes + index.entries.nbytes
        if relation.count > 150_000:
            most = max(most, held / relation.count)
    assert relation.count > 900_000
    assert 30 < most <= 40


@pytest.mark.parametrize("step", [1, 414, 4096, 100_000, 514_229, 832_040, 1 << 20])
def test_rows_of_even_distance_are_spread_over_a_table(step):
    relation = Relation(1)
    for start in range(0, 60_000, 10_000):
        relation.insert(step * np.arange(start, start + 10_000)[:, None])
    slots = relation._slots.array
    assert (slots >= 0).sum() == 60_000
    free = np.flatnonzero(slots < 0)
    assert np.diff(free).max() < 500


def test_dense_pairs_take_little_memory():
    relation = Relation(2)
    for a in range(400):
        relation.insert(np.column_stack([np.full(200, a), np.arange(200)]))
    assert relation.count == 80_000
    assert relation._matrix is not None
    assert relation._matrix.nbytes < 80_000
    assert len(relation._slots.array) == 64


@quick
@given(
    rows=rows_of(2, unique=True),
    key=st.sampled_from([(), (0,), (1,), (0, 1)]),
    cuts=st.lists(st.integers(0, 40)),
    far=st.integers(0, 40),
    spread=st.sampled_from([1, -1, 5_000, 10**6]),
)
def test_rows_of_one_key_come_together(rows, key, cuts, far, spread):
    # keys by value, then by hash
    rows = list(dict.fromkeys([*rows[:far], *(tuple(spread * v for v in row) for row in rows[far:])]))
    relation = Relation(2)
    index = relation.index(key)
    for start, end in pairwise([0, *sorted(cuts), 40]):
        relation.insert(array(rows[start:end], 2))
        relation.turn()
    values = [tuple(row[i] for i in key) for row in rows]
    held, width = {}, len(index.rest)
    for k in range(index.keys):
        blocks, counts, _, *value = index.entries[k].tolist()
        block, last, count, parts = blocks >> 32, blocks & hash_kernels.LOW, counts >> 32, []
        while width and len(parts) < count:
            size = int(index.arena[block]) & hash_kernels.LOW
            words = index.arena[block + 1 :][: min(size, count - len(parts)) * width]
            parts += map(tuple, words.reshape(-1, width).tolist())
            assert (block == last) == (len(parts) == count)
            block = int(index.arena[block]) >> 32
        held[tuple(value)] = parts if width else [()] * count
    assert held == {
        v: [tuple(r[i] for i in index.rest) for r, w in zip(rows, values, strict=True) if w == v]
        for v in values
    }


@quick
@given(known=rows_of(2, unique=True), asked=rows_of(2))
def test_places(known, asked):
    held, slots = np.empty((40, 2), dtype=np.int64), Slots()
    slots.reserve(40)
    key = np.arange(2)
    hash_kernels.insert(array(known, 2), held, slots.array, key, 0)
    found = np.empty(len(asked), dtype=np.int64)
    hash_kernels.find_rows(array(asked, 2), key, held, key, slots.array, found)
    assert found.tolist() == [known.index(row) if row in known else -1 for row in asked]


def test_an_index_never_has_more_words_than_its_positions_can_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relation_module, "WORDS", 200_000)
    relation = Relation(2)
    index = relation.index((0,))

    def add() -> None:
        for start in range(0, 400_000, CHUNK):
            numbers = np.arange(start, start + CHUNK, dtype=np.int64)
            relation.insert(np.column_stack([numbers % 1000, numbers]))
            relation.turn()
            assert len(index.arena) <= 200_000

    with pytest.raises(memory.Exhausted, match=r"an index of a predicate has more than 2\^31 values"):
        add()
    assert len(index.arena) > 180_000


def test_rows_whose_numbers_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "HASHED", 3 * CHUNK)
    numbers = np.arange(CHUNK, dtype=np.int64)
    packed, hashed = Relation(2), Relation(2)

    def add(relation: Relation, sign: int) -> None:
        for start in range(0, 5 * CHUNK, CHUNK):
            relation.insert(np.column_stack([sign * (start + numbers), numbers]))

    add(packed, 1)
    assert packed.count == 5 * CHUNK
    with pytest.raises(memory.Exhausted, match=r"a table has more than 2\^31 rows"):
        add(hashed, -1)
    assert hashed.count == 3 * CHUNK
    with pytest.raises(memory.Exhausted, match=r"a table has more than 2\^31 rows"):
        rows_module.first_rows([np.arange(3 * CHUNK + 1)])


@quick
@given(old=rows_of(3), batch=rows_of(3), greatest=st.booleans(), real=st.booleans())
def test_improve(old, batch, greatest, real):
    kind = Kind.DOUBLE if real else Kind.INT
    keyed = Keyed(1, "greatest" if greatest else "least")
    relation = KeyedRelation(3, keyed, kind, Symbols(), Limits())
    for rows in (old, batch):
        relation.turn()
        data = array(rows, 3)
        if real:
            data[:, 1] = doubles(data[:, 1] / 4)
        relation.insert(data)
    relation.turn()

    def values(data):
        shown = data[:, 1].view(np.float64) * 4 if real else data[:, 1]
        return {
            (a, c): v
            for a, c, v in zip(data[:, 0].tolist(), data[:, 2].tolist(), shown.tolist(), strict=True)
        }

    known, _ = reference.improve(old, {}, 1, greatest)
    expected, changed = reference.improve(batch, known, 1, greatest)
    assert values(np.ascontiguousarray(relation.buffer[: relation.count])) == expected
    assert values(relation.rows(Part.RECENT)).keys() == changed


@quick
@given(
    left=rows_of(2),
    right=rows_of(3, unique=True),
    key=st.sampled_from([(), (0,), (1, 2)]),
    cut=st.integers(0, 40),
    late=st.booleans(),
    live=st.booleans(),
    room=st.sampled_from([3, 256]),
)
def test_join_and_matches(left, right, key, cut, late, live, room):
    relation = Relation(3)
    relation.fluid = 0 if live else None
    relation.insert(array(right[:cut], 3))
    relation.turn()
    if not late:
        relation.index(key)
    relation.insert(array(right[cut:], 3))
    relation.turn()
    index = relation.index(key)
    left_key = list(range(len(key)))
    probe = Probe(index, np.array(left_key, dtype=np.int64), np.empty(0, dtype=np.int64), (), "")
    for part, seen in ((Part.ALL, right), (Part.STABLE, right[:cut])):
        joining = Joining(probe, part, [0, 1, -1, -2, -3])
        joining.rooms = (room, room)  # where it is small, the kernel must stop and go on
        found = [row for batch in joining(iter([array(left, 2)])) for row in as_rows(batch)]
        assert sorted(found) == reference.join(left, left_key, seen, key)
        kept = [
            row for batch in Matching(probe, part, True)(iter([array(left, 2)])) for row in as_rows(batch)
        ]
        wanted = reference.matches(left, left_key, seen, key)
        assert kept == [row for row, yes in zip(left, wanted, strict=True) if yes]


@quick
@given(
    left=rows_of(2),
    right=rows_of(3, unique=True),
    takes=st.sampled_from([(0, -1), (-3, 1), (-2, 0), (0, 1, -1, -2, -3)]),
    room=st.sampled_from([3, 256]),
)
def test_rows_of_a_complete_relation_are_sorted(left, right, takes, room):
    relation = Relation(3)
    relation.load(array(right, 3), distinct=True)
    relation.settle()
    index = relation.index((1,))
    assert (len(index.starts) > 0) == (right != [] and min(row[1] for row in right) >= 0)
    probe = Probe(index, np.array([1]), np.empty(0, dtype=np.int64), (), "")
    joining = Joining(probe, Part.ALL, takes)
    joining.rooms = (room, room)
    found = [row for batch in joining(iter([array(left, 2)])) for row in as_rows(batch)]
    assert found == [
        tuple(a[j] if j >= 0 else b[-1 - j] for j in takes) for a in left for b in right if a[1] == b[1]
    ]
    kept = [
        row for batch in Matching(probe, Part.ALL, True)(iter([array(left, 2)])) for row in as_rows(batch)
    ]
    assert kept == [row for row in left if any(row[1] == b[1] for b in right)]


@quick
@given(
    left=rows_of(2),
    right=rows_of(2, unique=True),
    known=rows_of(2, unique=True),
    swapped=st.booleans(),
    complete=st.booleans(),
    room=st.sampled_from([3, 256]),
)
def test_known_pairs_are_omitted(left, right, known, swapped, complete, room):
    """Of a join that makes pairs, those that a relation holds, if it does so in a matrix of bits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation_module, "MANY", 1)
        patch.setattr(Slots, "full", lambda _, keys: keys > 0)
        head = Relation(2)
        for rows in (known[:1], known):  # the second insertion finds rows, which the matrix takes
            head.insert(array(rows, 2))
        head.tried = 100
        relation = Relation(2)
        relation.insert(array(right, 2))
        relation.turn()
        if complete:
            relation.settle()
        index = relation.index((0,))
    probe = Probe(index, np.array([1]), np.empty(0, dtype=np.int64), (), "")
    joining = Joining(probe, Part.ALL, [-2, 0] if swapped else [0, -2])
    joining.head, joining.rooms = head, (room, room)
    found = [row for batch in joining(iter([array(left, 2)])) for row in as_rows(batch)]
    pairs = [(d, a) if swapped else (a, d) for a, b in left for c, d in right if b == c]
    assert (head._matrix is not None) == (known != [] and min(map(min, known)) >= 0)
    assert found == [pair for pair in pairs if head._matrix is None or pair not in known]
    assert (joining.found, joining.omitted) == (len(pairs), len(pairs) - len(found))


@quick
@given(
    batches=st.lists(
        st.lists(st.tuples(small, small, st.integers(1, 5)), max_size=30), min_size=1, max_size=3
    ),
    function=st.sampled_from(["sum", "count", "min", "max", "prod"]),
    tracked=st.booleans(),
    real=st.booleans(),
)
def test_totals(batches, function, tracked, real):
    aggregation = Aggregation("V", function, None, (), (), False, NOWHERE)
    contributors = 0 if function in ("min", "max") else 1
    groups = Groups(aggregation, 1, contributors, Kind.DOUBLE if real else Kind.INT, Symbols())
    current = {}

    def note(keys, totals):
        shown = totals.view(np.float64) if real and function != "count" else totals
        current.update(zip(as_rows(keys), shown.tolist(), strict=True))

    for batch in batches:
        data = array(batch, 3)
        if real:
            data[:, 2] = doubles(data[:, 2].astype(np.float64))
        if not contributors:
            data = np.ascontiguousarray(data[:, [0, 2]])
        groups.add(data, track=tracked)
        if tracked:
            note(*groups.changes())
    if not tracked:
        note(*groups.totals())
    everything = [row for batch in batches for row in batch]
    assert current == reference.totals(everything, 1, function)


@quick
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2))
def test_order_of_doubles(pair):
    a, b = doubles(np.array(pair)).tolist()
    assert hash_kernels.before(a, b, hash_kernels.DOUBLE, np.empty(0, dtype=np.int64)) == (pair[0] < pair[1])


def test_a_mean_of_nothing_is_still_a_double():
    text = "p(A) :- nothing(X), A = avg(X). p(X) :- e(X). q(Y) :- p(X), Y = X / 2."
    program = load_text(text)
    assert set(evaluate(program, Facts.from_rows({"e": [(1,)]})).facts.rows("q")) == {(0.5,)}


LAZY = """
@bind("own", "csv", "", "own.csv").
@bind("extra", "csv", "", "extra.csv").
@bind("stake", "csv useHeaders=false", "", "stake.csv").
p(X, V) :- own(X, W), V = W / 2.
q(X) :- own(X, _), extra(X, _).
r(X) :- own(X, W), stake(W).
#F :- p(X, V), V > 100.
"""


def test_files_that_no_goal_needs_are_not_opened(tmp_path):
    (tmp_path / "own.csv").write_text("a,3\nb,5\n")
    (tmp_path / "stake.csv").write_text("0.5\n")
    rules = tmp_path / "lazy.vada"
    rules.write_text(LAZY)
    halves = [("a", 1.5), ("b", 2.5)]  # since r compares own with doubles, whatever is asked for
    assert sorted(reason(rules, outputs="p").rows("p")) == halves
    with pytest.raises(DataError, match=r"extra\.csv"):
        reason(rules, outputs=["p", "q"])
    (tmp_path / "extra.csv").write_text("a,1\n")
    assert sorted(reason(rules, outputs=["p", "q"]).rows("p")) == halves
    (tmp_path / "stake.csv").unlink()
    with pytest.raises(DataError, match=r"stake\.csv"):
        reason(rules, outputs="p")
    (tmp_path / "own.csv").write_text("a,3.0\nb,5.0\n")  # doubles already
    assert sorted(reason(rules, outputs="p").rows("p")) == halves


@pytest.mark.parametrize(
    ("rule", "grown"),
    [
        ("n(Y) :- n(X), Y = X + [1]. n([1]).", "n([1, 1, 1, 1"),
        ("n(Y) :- n(X), Y = [X, X]. n([1]).", "n([[[["),
        ('n(Y) :- n(X), Y = X + "abc". n("a").', 'n("aabcabc'),
        ('n(Y) :- n(X), Y = concat(X, X). n("a").', 'n("aaaa'),
        ("n(S) :- n(X), S = munion({X}). n({1}).", "n({{{"),
        (
            "n(L, 0) :- n(K, 0), L = K + [1]. n([9], M) :- n([9], N), M = N + 1. n([0], 0). n([9], 1).",
            "n([0, 1, 1",
        ),
        ('n(T) :- n(S), T = S + "ab", U = T + "ab", contains(U, "b"). n("a").', 'n("aabab'),
        ('n(T) :- n(S), T = mmax(S + "aabbccdd"). n("a").', 'n("aaabb'),
        (
            'n(1, S) :- n(1, T), S = T + "abc". n(1, "s"). n(K, "k") :- n(J, "k"), K = J + 1. n(2, "k").',
            'n(1, "sabc',
        ),
    ],
)
def test_values_that_grow_in_length_are_stopped(rule: str, grown: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(load_text(rule), Facts.from_rows({}), limits=Limits(length=100))
    text = str(caught.value)
    assert re.match(r"<text>:1:1: values still grow after \d+ rounds, for instance ", text)
    assert grown in text
    assert (
        "help: bound the values that grow in the recursion, or allow longer ones (in Python Limits(length=N))"
        in text
    )
    assert len(text) < 500


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("n(Y, T, D) :- n(X, T, E), e(X, Y), D = E + 1, D < 5. n(0, T, 0) :- p(T).", 3),
        ("n(Y, S, 0) :- n(X, T, 0), e(X, Y), S = to_upper(T). n(0, T, 0) :- p(T).", 3),
        ("n(X, S) :- e(X, Y), n(Y, T), S = munion(T). n(2, {1}). n(2, S) :- c(I), S = munion({I}).", 3),
        ("n(X, S) :- e(X, Y), n(Y, _), c(I), T = {I}, S = munion(T). n(2, {1}).", 3),
        ("n(X, L) :- e(X, 1), c(I), L = list(I). n(X, M) :- n(Y, L), e(Y, X), M = L + [X].", 3),
        ('n(X, S) :- e(X, 1), p(T), S = T + T + T. n(X, M) :- n(X, _), M = to_lower("A").', 2),
    ],
)
def test_long_values_of_the_data_do_not_grow(text: str, facts: int) -> None:
    given = {"p": [("lorem" * 1000,)], "e": [(0, 1), (1, 2)], "c": [(i,) for i in range(300)]}
    result = evaluate(load_text(text + '@output("n").'), Facts.from_rows(given), limits=Limits(length=100))
    assert result.facts.count("n") == facts


def test_memory_that_runs_out_is_told_with_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    insert = Rule._insert

    def little(rule: Rule, rows: np.ndarray) -> int:
        if rule.facts >= 6:
            raise MemoryError
        return insert(rule, rows)

    monkeypatch.setattr(Rule, "_insert", little)
    program = load_text("path(X, Y, [X, Y]) :- e(X, Y). path(X, Z, L + [Z]) :- path(X, Y, L), e(Y, Z).")
    with pytest.raises(
        EvaluationError, match="not enough memory for what this rule derives, besides the 6 facts so far, for"
    ) as e:
        evaluate(program, Facts.from_rows({"e": [(0, 1), (1, 2), (2, 0)]}))
    assert "rule: path(X, Z, L + [Z]) :- " in str(e.value)


@pytest.mark.parametrize("least", [-5, 2**40])
def test_a_table_has_room_for_rows_that_do_not_fit_the_packing_of_loaded_ones(least):
    relation = Relation(2)
    relation.load(np.array([(least + i, i) for i in range(3)]), distinct=True)
    batch = np.array([(least + i, 7 * i) for i in range(CHUNK)])
    assert relation.insert(batch) == CHUNK - 1
    assert relation.insert(batch) == 0
