"""The oracle on cases that a person can follow."""

from __future__ import annotations

import pytest

from kgreason.analysis.check import load_text
from kgreason.engine.naive import evaluate
from kgreason.errors import EvaluationError

OWNERSHIP = [("A", "D", 0.6), ("D", "E", 0.7), ("E", "B", 0.3), ("A", "B", 0.35)]
CONTROL = """
    control(X,X) :- company(X).
    control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.
    company(X) :- own(X,_,_).
    company(Y) :- own(_,Y,_).
"""


def run(text, rounds=10_000, **facts):
    return evaluate(load_text(text), facts, rounds=rounds)


def test_control_of_figure_1():
    control = run(CONTROL, own=OWNERSHIP)["control"]
    assert {(x, y) for x, y in control if x != y} == {("A", "D"), ("D", "E"), ("A", "E"), ("A", "B")}
    assert {x for x, y in control if x == y} == set("ABDE")


def test_control_ends_at_exactly_half():
    assert ("A", "B") not in run(CONTROL, own=[("A", "B", 0.5)])["control"]


def test_greatest_contribution_of_each_contributor_counts_once():
    text = "f(X,S) :- e(X,Y,V), S = msum(V,<Y>)."
    assert run(text, e=[(1, "a", 3), (1, "b", 7), (1, "a", 5)])["f"] == {(1, 12)}


def test_negation_through_a_lower_stratum():
    text = """
        reach(X,Y) :- e(X,Y).
        reach(X,Z) :- reach(X,Y), e(Y,Z).
        apart(X,Y) :- v(X), v(Y), not reach(X,Y).
        far(X,Y) :- apart(X,Y).
        far(X,Z) :- far(X,Y), apart(Y,Z).
    """
    result = run(text, v=[(1,), (2,), (3,)], e=[(1, 2), (2, 3)])
    assert result["apart"] == {(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)}
    assert result["far"] == result["apart"]


def test_ultimate_controller():
    text = (
        CONTROL
        + """
        controlled(Y) :- control(X,Y), X != Y.
        ultimateC(X,Y) :- control(X,Y), X != Y, not controlled(X).
    """
    )
    assert run(text, own=OWNERSHIP)["ultimateC"] == {("A", "D"), ("A", "E"), ("A", "B")}


def test_existential_variable_under_negation():
    result = run("leaf(X) :- v(X), not e(X,_). dry(X) :- v(X), not e(Z,Z).", v=[(1,), (2,)], e=[(1, 2)])
    assert result["leaf"] == {(2,)}
    assert result["dry"] == {(1,), (2,)}


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("sum(V)", 15),
        ("prod(V)", 105),
        ("count()", 3),
        ("count(V)", 3),
        ("count(Y)", 2),
        ("min(V)", 3),
        ("max(V)", 7),
        ("avg(V)", 5.0),
        ("median(V)", 5.0),
        ("sum(V,<Y>)", 12),
        ("msum(1,<Y>)", 2),
        ("mprod(V,<Y>)", 35),
        ("mcount()", 3),
        ("mcount(1)", 3),
        ("mcount(Y)", 2),
        ("mmin(V)", 3),
        ("mmax(V,<Y>)", 7),
    ],
)
def test_aggregates_outside_recursion(aggregate, expected):
    rows = run(f"f(X,S) :- e(X,Y,V), S = {aggregate}.", e=[(1, "a", 3), (1, "b", 7), (1, "a", 5)])["f"]
    assert rows == {(1, expected)}
    assert [type(s) for _, s in rows] == [type(expected)]


def test_shortest_paths_keep_the_least_value_under_each_key():
    text = """
        d(X,Y,W) :- e(X,Y,W).
        d(X,Z,L) :- d(X,Y,D), e(Y,Z,W), L = mmin(D + W).
    """
    edges = [(1, 2, 1.5), (2, 3, 1.0), (1, 3, 4.0), (3, 1, 1.0)]
    expected = {(1, 2, 1.5), (2, 3, 1.0), (1, 3, 2.5), (3, 1, 1.0), (1, 1, 3.5), (2, 1, 2.0)}
    expected |= {(2, 2, 3.5), (3, 2, 2.5), (3, 3, 3.5)}
    assert run(text, e=edges)["d"] == expected


def test_condition_acts_after_aggregation():
    assert run("big(X) :- e(X,V), S = msum(V), S >= 5.", e=[(1, 2), (1, 3), (2, 4)])["big"] == {(1,)}


def test_count_inside_recursion():
    text = "ill(X) :- seed(X). ill(X) :- meets(X,Y), ill(Y), N = mcount(Y), N >= 2."
    meets = [(3, 1), (3, 2), (4, 3), (4, 1), (5, 4)]
    assert run(text, seed=[(1,), (2,)], meets=meets)["ill"] == {(1,), (2,), (3,), (4,)}


def test_sums_of_doubles_do_not_depend_on_order():
    values = [0.1] * 10 + [1e16, 1.0, -1e16]
    rows = [(i, v) for i, v in enumerate(values)]
    assert run("s(S) :- e(I,V), S = sum(V,<I>).", e=rows)["s"] == {(2.0,)}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7 / -2", -3),
        ("7 % -2", 1),
        ("-7 % 2", -1),
        ("7 / 2.0", 3.5),
        ("-7.5 % 2", -1.5),
        ("2 + 3 * 4", 14),
        ("-(2 - 5)", 3),
    ],
)
def test_arithmetic(expression, value):
    (row,) = run(f"p(X) :- q, X = {expression}.", q=[()])["p"]
    assert row == (value,)
    assert type(row[0]) is type(value)


def test_a_position_of_doubles_turns_its_integers_into_doubles():
    rows = run("p(X) :- a(X). p(X) :- b(X). half(Y) :- p(X), Y = X / 2.", a=[(1,)], b=[(0.5,)])
    assert rows["half"] == {(0.5,), (0.25,)}


def test_a_boolean_is_no_integer():
    rows = run("yes :- b(X), X. no :- b(X), !X.", b=[(False,)])
    assert rows["yes"] == set()
    assert rows["no"] == {()}


def test_constants_and_repeated_variables_select():
    rows = run('p(Y) :- e("a",Y,Y).', e=[("a", 1, 1), ("a", 1, 2), ("b", 3, 3)])
    assert rows["p"] == {(1,)}


def test_facts_of_the_file_and_given_rows_meet():
    assert run("e(1,2). t(X,Y) :- e(X,Y). t(9,9).", e=[(2, 3)])["t"] == {(1, 2), (2, 3), (9, 9)}


def test_overflow_names_rule_and_binding():
    with pytest.raises(EvaluationError, match=r"integer overflow.*X = 9223372036854775807") as error:
        run("p(Y) :- q(X), Y = X + 1.", q=[(2**63 - 1,)])
    assert "rule: p(Y) :- q(X), Y = X + 1." in str(error.value)


def test_division_by_zero_names_rule_and_binding():
    with pytest.raises(EvaluationError, match=r"division by zero.*A = 4, B = 0") as error:
        run("p(Y) :- q(A,B), Y = A / B.", q=[(4, 0)])
    assert "rule: p(Y)" in str(error.value)


def test_negative_contribution_to_recursive_msum():
    text = "c(X,X) :- v(X). c(X,Z) :- c(X,Y), own(Y,Z,W), S = msum(W,<Y>), S > 0.5."
    with pytest.raises(EvaluationError, match=r"contribution -0.25 to msum in recursion.*Z = 2") as error:
        run(text, v=[(1,)], own=[(1, 2, -0.25)])
    assert "rule: c(X, Z)" in str(error.value)


def test_negative_contributions_outside_recursion_are_summed():
    assert run("s(S) :- e(I,V), S = msum(V,<I>).", e=[(1, -0.5), (2, 2.0)])["s"] == {(1.5,)}


def test_values_that_grow_for_ever_stop_with_rule_and_group():
    text = "p(X,V) :- s(X,V). p(X,S) :- p(Y,V), e(Y,X), S = msum(V + 1,<Y>)."
    with pytest.raises(EvaluationError, match=r"still change after 50 rounds.*p\(1,") as error:
        run(text, rounds=50, s=[(1, 1)], e=[(1, 1)])
    assert "rule: p(X, S)" in str(error.value)


def test_counting_up_without_a_bound_stops_with_the_rule():
    with pytest.raises(EvaluationError, match="still change after 20 rounds"):
        run("n(0). n(Y) :- n(X), Y = X + 1.", rounds=20)


def test_growth_below_the_tolerance_ends():
    text = "v(X,A) :- s(X,A). v(Y,S) :- v(X,A), e(X,Y,W), S = msum(A * W,<X>)."
    values = dict(run(text, s=[(1, 1.0)], e=[(1, 2, 1.0), (2, 2, 0.5)])["v"])
    assert values[2] == pytest.approx(2.0, rel=1e-9)
