"""Proofs of what was hard to trace: computed groups, whole doubles beside nulls, types of rules that never fire."""

from __future__ import annotations

from typing import Any

import pytest

from kgreason.engine.relations.fact_tables import Facts
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.language.check.program_checker import load_text
from kgreason.language.values import Null
from kgreason.provenance.explanation import Explanation, explain_fact

Rows = dict[str, list[tuple[Any, ...]]]


def asked(text: str, rows: Rows, goal: str) -> Explanation:
    return explain_fact(load_text(text), Facts.from_rows(rows), goal, most=20)


COUNTRIES = """
known(I) :- a(I, _).
v(I, V) :- known(I), a(I, V).
g(C, S) :- v(I, V), C = substring(I, 0, 2), V > 0, not barred(I), S = sum(V).
a("DE1", 2). a("DE2", 0). a("US1", 1). barred("US9").
"""
BY_COUNTRY = """\
g("DE",2)                 by rule 3 (<text>:4): g(C, S) :- v(I, V), C = substring(I, 0, 2), V > 0, not barred(I), S = sum(V).
└─ S = 2: sum(V) of 1 contribution
   └─ I = "DE1", V = 2 gives 2
      ├─ v("DE1",2)       by rule 2 (<text>:3): v(I, V) :- known(I), a(I, V).
      │  ├─ known("DE1")  by rule 1 (<text>:2): known(I) :- a(I, _).
      │  │  └─ a("DE1",2) <text>:5
      │  └─ a("DE1",2)    <text>:5
      ├─ not barred("DE1")
      ├─ 2 > 0
      └─ C = substring("DE1", 0, 2) = "DE"\
"""  # noqa: E501


def test_totals_by_a_computed_group() -> None:
    found = asked(COUNTRIES, {}, 'g("DE", S)')
    assert found.as_text() == BY_COUNTRY
    contribution = found.as_dict()["proofs"][0]["steps"][0]["aggregate"]["contributions"][0]
    assert contribution["conditions"] == ["2 > 0", 'C = substring("DE1", 0, 2) = "DE"']
    assert contribution["absent"] == ['barred("DE1")']
    assert 'I = \\"DE1\\", V = 2: 2\\nnot barred(\\"DE1\\")\\n2 > 0' in found.as_dot()


@pytest.mark.parametrize(
    "function", ["sum(V)", "min(V)", "avg(V)", "median(V)", "list(V)", "set(V)", "count(I)"]
)
def test_any_aggregate_of_a_computed_group(function: str) -> None:
    text = COUNTRIES.replace("sum(V)", function).replace("V > 0", "V >= 0")
    found = asked(text, {}, "g(C, S)")
    assert [(p.values[0], p.height, p.total.size) for p in found.proofs if p.total] == [
        ("DE", 3, 2),
        ("US", 3, 1),
    ]


WHOLE_DOUBLES: list[tuple[str, Rows, str, str]] = [
    (
        "e(1.0). h(1.0). k(1). a(W) :- e(W). a(W) :- a(W), h(W). a(N) :- k(1).",
        {},
        "a(1.0)",
        "a(1.0)    by rule 1 (<text>:1): a(W) :- e(W).\n└─ e(1.0) <text>:1",
    ),
    (
        "a(0.0) :- t. a(I) :- a(I), b(I). b(I) :- a(I), b(I). d(I) :- b(I), c(I). c(N) :- t.",
        {"t": [()]},
        "a(X)",
        "a(0.0) by rule 1 (<text>:1): a(0.0) :- t.\n└─ t   given",
    ),
    (  # only a rule that never fires makes doubles of the numbers
        "a(W) :- e(W). a(0.5) :- k(9). a(N) :- k(9). a(W) :- a(W), h(W). b(V) :- a(W), V = W / 2. e(1). h(1).",
        {},
        "b(X)",
        "b(0.5)     by rule 5 (<text>:1): b(V) :- a(W), V = W / 2.\n"
        "├─ a(1.0)  by rule 1 (<text>:1): a(W) :- e(W).\n"
        "│  └─ e(1) <text>:1\n"
        "└─ V = 1.0 / 2 = 0.5",
    ),
    (
        "a(1, W) :- e(W). a(N, 0.5) :- k(9). a(X, M) :- k(9). "
        "s(T) :- a(_, W), T = msum(W, <W>). s(T) :- s(U), a(_, W), T = msum(W + 0 * U, <W>). e(1). e(2).",
        {},
        "s(X)",
        "s(3.0)            by rule 4 (<text>:1): s(T) :- a(_, W), T = msum(W, <W>).\n"
        "└─ T = 3.0: msum(W) of 2 contributions\n"
        "   ├─ W = 2.0 gives 2.0\n"
        "   │  └─ a(1,2.0) by rule 1 (<text>:1): a(1, W) :- e(W).\n"
        "   │     └─ e(2)  <text>:1\n"
        "   └─ W = 1.0 gives 1.0\n"
        "      └─ a(1,1.0) by rule 1\n"
        "         └─ e(1)  <text>:1",
    ),
    (  # a variable that stands where there are doubles, and where there are none
        "p(V, V) :- e(V).",
        {"e": [(Null(3),), (0,)], "p": [(1.0, Null(5))]},
        "p(0.0, 0)",
        "p(0.0,0) by rule 1 (<text>:1): p(V, V) :- e(V).\n└─ e(0)  given",
    ),
]


@pytest.mark.parametrize(("text", "rows", "goal", "proof"), WHOLE_DOUBLES)
def test_whole_doubles_where_nulls_can_stand(text: str, rows: Rows, goal: str, proof: str) -> None:
    assert asked(text, rows, goal).as_text() == proof


def test_every_fact_beside_nulls_has_a_proof() -> None:
    text = "e(1.0). h(1.0). g(1.0). a(W) :- e(W). a(N) :- g(_). g(X) :- a(X), h(X)."
    found = asked(text, {}, "a(X)")
    assert (
        len(found.proofs) == evaluate(load_text(text), Facts.from_rows({}), goals=["a"]).facts.count("a") == 2
    )
    assert [p.fact for p in found.proofs] == ["a(1.0)", "a(_:n1)"]


@pytest.mark.parametrize("value", ["2", "2.0"])
def test_a_null_that_became_a_whole_double(value: str) -> None:
    text = f"p(X, N) :- c(X). Y = Z :- p(X, Y), w(X, Z). p(9, 0.5) :- c(1). c(1). w(1, {value})."
    proof = asked(text, {}, "p(1, X)").proofs[0]
    assert (proof.fact, [p.fact for p in proof.premises], proof.notes) == ("p(1,2.0)", ["c(1)"], ())
    assert [i.chain[0].fact for i in proof.identified] == ["_:n1 = 2.0"]


def test_rules_without_facts_have_the_types_of_the_whole_program() -> None:
    text = 'p("a") :- e(1). p(0) :- e(2). p(N) :- q(3). q(X) :- e(X), X > 7. e(5).'
    found = asked(text, {}, "p(0)")
    assert found.why_not is not None
    assert [r.words for r in found.why_not.reasons] == [
        'it only gives facts whose argument 1 is "a"',
        "there is no e(2)",
        "there is no fact of q at all",
    ]


def test_a_union_with_a_constant_of_a_second_head() -> None:
    found = asked("p(X, J), p(X, {0}) :- e(X), J = munion({X}). e(1).", {}, "p(1, J)")
    assert [p.fact for p in found.proofs[0].premises] == ["p(1,{1})", "p(1,{0})"]
    assert found.proofs[0].notes == ("the union of 2 parts",)


@pytest.mark.parametrize("value", [2, 2.0])
def test_a_given_null_that_became_a_whole_double(value: float) -> None:
    text = "Y = Z :- p(X, Y), w(X, Z). p(X, Y) :- e(X, Y)."
    rows: Rows = {"p": [(1, Null(7))], "w": [(1, value)], "e": [(3, 0.5)]}
    proof = asked(text, rows, "p(1, X)").proofs[0]
    assert (proof.fact, proof.premises) == ("p(1,2.0)", ())
    assert [(i.made, i.value) for i in proof.identified] == [(Null(7), 2.0)]
    assert [p.fact for p in proof.identified[0].chain[0].premises] == ["p(1,_:n7)", f"w(1,{value})"]


def test_unions_that_grow_in_a_circle() -> None:
    text = "m(X, J) :- e(X, Y), J = munion({Y}). m(X, J) :- e(X, Y), m(Y, K), J = munion(K)."
    proofs = asked(text, {"e": [(0, 3), (3, 0)]}, "m(X, J)").proofs
    assert [(p.fact, p.height, [q.fact for q in p.premises]) for p in proofs] == [
        ("m(3,{0, 3})", 3, ["m(3,{0})", "m(3,{3})"]),
        ("m(0,{0, 3})", 3, ["m(0,{3})", "m(0,{0})"]),
    ]


@pytest.mark.parametrize("null", [[], [("n", 0, Null(1))]])
def test_a_product_tells_the_factors_that_count(null: list[tuple[Any, ...]]) -> None:
    """Of a contributor the least factor if one is below 1, else the greatest."""
    rows = [("a", 1, 0.5), ("a", 1, 4.0), ("a", 1, 0.25), ("a", 2, 2.0), ("a", 2, 8.0), *null]
    found = asked("f(G, P) :- s(G, C, X), is_not_null(X), P = mprod(X, <C>).", {"s": rows}, 'f("a", P)')
    aggregate = found.as_dict()["proofs"][0]["steps"][0]["aggregate"]
    assert [c["value"] for c in aggregate["contributions"]] == [8.0, 0.25]
    assert found.as_text().startswith('f("a",2.0)')
