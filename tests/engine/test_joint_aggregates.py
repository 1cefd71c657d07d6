"""Aggregates in recursion whose values travel on through copying rules: only the last value stays."""

from __future__ import annotations

import itertools
import math

import pytest

from kgreason.base.errors import EvaluationError, ProgramError
from kgreason.engine.limits import Limits
from kgreason.engine.relations.fact_tables import Facts
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.graph.induced.lifted import lift
from kgreason.language.check.checked_program import Keyed
from kgreason.language.check.program_checker import load_text
from tests import naive

WAYS = [
    "n(X,C) :- src(X), C = 1.",
    "n(X,C) :- k(X,C).",
    "k(X,C) :- e(Y,X), n(Y,D), C = mcount(Y).",
]
DAMPED = [
    "v(X,A) :- src(X,A).",
    "v(X,A) :- w(X,A).",
    "w(X,S) :- e(Y,X,F), v(Y,V), S = msum(F*V,<Y>).",
]


def both(program, goals=None, **rows):
    """What the two engines derive, which must be the same."""
    goals = goals or program.outputs
    result = evaluate(program, Facts.from_rows(rows), goals=goals).facts
    fast = {p: set(result.rows(p)) if result.count(p) else set() for p in goals}
    slow = naive.evaluate(program, rows, growth=0.0)
    assert fast == {p: slow[p] for p in goals}
    return fast


def errors(program, **rows):
    """The messages with which the two engines stop."""
    with pytest.raises(EvaluationError) as fast:
        evaluate(program, Facts.from_rows(rows))
    with pytest.raises(EvaluationError) as slow:
        naive.evaluate(program, rows)
    assert fast.value.rule == slow.value.rule
    return str(fast.value), str(slow.value)


# --- copies -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [0, 1, 2, 5])
@pytest.mark.parametrize("rules", list(itertools.permutations(WAYS)))
def test_a_copy_forgets_the_values_before(rules, delay):
    """The second way to t is longer by `delay` edges, so that its count comes that many rounds later."""
    way = ["s", *(f"m{i}" for i in range(delay + 1)), "t"]
    edges = [("s", "t"), *itertools.pairwise(way)]
    expected = {(v, 1) for v in way[1:-1]} | {("t", 2)}
    for order in (edges, edges[::-1]):
        found = both(load_text(" ".join(rules)), e=order, src=[("s",)])
        assert found == {"k": expected, "n": expected | {("s", 1)}}


@pytest.mark.parametrize("rules", list(itertools.permutations(DAMPED)))
def test_a_damped_cycle_has_one_value_for_each_vertex(rules):
    edges = [("a", "b", 0.5), ("b", "c", 0.5), ("c", "a", 0.5), ("b", "b", 0.5)]
    found = both(load_text(" ".join(rules)), e=edges, src=[("a", 1.0)])
    assert sorted(x for x, _ in found["v"]) == ["a", "b", "c"]
    values = dict(found["v"])
    assert values["b"] == pytest.approx(1.0)
    assert dict(found["w"])["a"] == pytest.approx(0.25)
    assert values["a"] == 1.0  # the fact is greater than what comes round


def test_copies_of_copies_at_any_position():
    program = load_text(
        """a(X,C) :- s(X,C). a(X,C) :- d(C,X,_). b(C,X) :- m(X,C). d(T,X,1) :- b(C,X), T = C.
        m(X,C) :- e(Y,X,W), a(Y,D), C = mmin(D + W)."""
    )
    least = {p: Keyed(i, "least") for p, i in {"m": 1, "a": 1, "b": 0, "d": 0}.items()}
    assert program.keyed == least
    assert lift(program).keyed == {p: Keyed(k.position + 1, "least") for p, k in least.items()}
    edges = [(1, 2, 5), (1, 3, 1), (3, 4, 1), (4, 2, 1), (2, 5, 1)]
    assert both(program, ["a"], e=edges, s=[(1, 0)])["a"] == {(1, 0), (2, 3), (3, 1), (4, 2), (5, 4)}
    parts = {"e": [(p, *row) for p in (7, 8) for row in edges], "s": [(7, 1, 0), (8, 3, 0)]}
    lifted = both(lift(program), ["a"], **parts, part_=[(7,), (8,)])["a"]
    assert {row[1:] for row in lifted if row[0] == 8} == {(3, 0), (4, 1), (2, 2), (5, 3)}


def test_a_copied_value_tells_no_contributors_apart():
    program = load_text("n(X,C) :- src(X,C). n(X,C) :- k(X,C). k(X,C) :- e(Y,X), n(Y,D), C = msum(D).")
    [contributors] = [r.aggregation.contributors for r in program.rules if r.aggregation]
    assert contributors == ("Y", "X")
    edges = [("s", "t"), ("s", "m"), ("m", "t"), ("t", "u")]
    found = both(program, e=edges, src=[("s", 1)])["k"]
    assert found == {("m", 1), ("t", 2), ("u", 2)}


def test_copies_in_a_later_stratum_are_ordinary_facts():
    program = load_text(" ".join(WAYS) + " all(C) :- n(_,C). next(X,D) :- n(X,C), D = C + 1.")
    assert program.keyed.keys() == {"k", "n"}
    found = both(program, e=[("s", "t"), ("s", "m"), ("m", "t")], src=[("s",)])
    assert found["all"] == {(1,), (2,)}
    assert found["next"] == {("s", 2), ("m", 2), ("t", 3)}


def test_a_computed_value_stays_under_the_key_of_an_aggregate():
    text = "d(X,D) :- s(X,D). d(X,T) :- d(Y,D), e(Y,X), T = D + 1. d(X,M) :- d(Y,D), f(Y,X), M = mmin(D)."
    program = load_text(text)
    assert program.keyed == {"d": Keyed(1, "least")}
    found = both(program, s=[(1, 0)], e=[(1, 2), (2, 3), (3, 1)], f=[(1, 3)])["d"]
    assert found == {(1, 0), (2, 1), (3, 0)}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "n(X,C,C) :- k(X,C).",
            """\
<text>:1:1: error[E115]: `n` has aggregates in more than one way
  1 | n(X,C,C) :- k(X,C).
    | ^^^^^^^^
  <text>:1:13: C is an aggregate of `k`
  1 | n(X,C,C) :- k(X,C).
    |             ^^^^^^
  note: a predicate with a monotonic aggregate has one value for each key, at one position in all \
of its rules, and either always the greatest value or always the least
  help: use a predicate for each""",
        ),
        (
            "n(X,C,D) :- k(X,C), e(X,_,Y), D = mmin(Y).",
            "error[E115]: `n` has aggregates in more than one way",
        ),
        ("n(X,1,D) :- k(X,D). n(X,C,1) :- e(X,1,Y), C = mmin(Y).", "error[E115]: `n` has aggregates"),
        ("n(X,C,1) :- k(X,C). n(X,C,1) :- e(X,1,Y), C = mmin(Y).", "error[E115]: `n` has aggregates"),
        (
            "n(X,T,1) :- k(X,C), T = 2 * C.",
            """\
<text>:1:1: error[E116]: the head of a recursive rule holds T, computed from the aggregate C
  1 | n(X,T,1) :- k(X,C), T = 2 * C.
    | ^^^^^^^^
  <text>:1:13: C is an aggregate of `k`
  1 | n(X,T,1) :- k(X,C), T = 2 * C.
    |             ^^^^^^
  note: an aggregate in recursion improves step by step, and what is computed from it stays
  help: if it grows with C, write `T = mmax(2 * C)`""",
        ),
        ("n(X,U,1) :- k(X,C), T = 2 * C, U = T.", "holds T, computed from the aggregate C"),
        ("n(X,B,1) :- k(X,C), B = C > 1, N = mcount(X), N > 2.", "holds B, computed from the aggregate C"),
    ],
)
def test_no_other_use_of_an_improving_value_enters_a_head(rule, message):
    text = f"{rule}\ne(1,2,3). n(X,1,1) :- e(X,_,_). k(X,C) :- e(Y,X,_), n(Y,_,_), C = mcount(Y)."
    with pytest.raises(ProgramError) as caught:
        load_text(text)
    assert len(caught.value.diagnostics) == 1
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("aggregate", "fine"),
    [
        ("mcount(D)", False),
        ("msum(1, <Y, D>)", False),
        ("mcount(1, <E>)", False),
        ("mcount(Y)", True),
        ("msum(D,<Y>)", True),
        ("mmax(D,<D>)", True),
    ],
)
def test_an_improving_value_tells_no_contributions_apart(aggregate, fine):
    text = f"n(X,1) :- e(X,_). n(X,C) :- k(X,C). k(X,C) :- e(Y,X), n(Y,D), E = D + 1, C = {aggregate}."
    if fine:
        assert load_text("e(1,2). " + text).keyed.keys() == {"n", "k"}
        return
    with pytest.raises(ProgramError, match="E118") as caught:
        load_text("e(1,2). " + text)
    [diagnostic] = caught.value.diagnostics
    assert (
        diagnostic.message == f"`{aggregate}` distinguishes contributions by an aggregate that still improves"
    )
    assert diagnostic.note == "each value on the way to the last would contribute"


def test_an_aggregate_of_a_lower_stratum_may_tell_contributions_apart():
    text = " ".join(WAYS) + " many(N) :- n(_,C), N = mcount(C)."
    found = both(load_text(text), e=[("s", "t"), ("s", "m"), ("m", "t")], src=[("s",)])
    assert found["many"] == {(2,)}


# --- every aggregate ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "function", "argument", "contributors"),
    [
        ("munion(Y)", "munion", "Y", ("X", "Y", "W")),
        ("union(Y,<W>)", "union", "Y", ("W",)),
        ("set(Y)", "set", "Y", ("X", "Y", "W")),
        ("list(Y + 1,<Y>)", "list", "Y + 1", ("Y",)),
        ("median(W)", "median", "W", ("X", "Y", "W")),
        ("sum(W)", "sum", "W", ("X", "Y", "W")),
        ("sum(1,<Y>)", "sum", "1", ("Y",)),
        ("count(Y)", "count", None, ("Y",)),
        ("mcount()", "mcount", None, ("X", "Y", "W")),
        ("msum(W,[X],[Y])", "msum", "W", ("Y",)),
        ("mprod(W,[X],[])", "mprod", "W", ("X", "Y", "W")),
        ("msum(W,[X])", "msum", "W", ("X", "Y", "W")),
        ("msum(W,[Y])", "msum", "W", ("Y",)),
        ("msum(W,[X,Y])", "msum", "W", ("X", "Y")),
        ("mcount(X)", "mcount", None, ("X", "Y", "W")),
        ("count(X)", "count", None, ("X", "Y", "W")),
        ("mcount([X])", "mcount", None, ("X", "Y", "W")),
        ("mcount([Y])", "mcount", None, ("Y",)),
        ("mcount([X],[Y])", "mcount", None, ("Y",)),
        ("mcount([X],[])", "mcount", None, ("X", "Y", "W")),
        ("mcount(X,<X>)", "mcount", None, ("X",)),
        ("set([Y, 1])", "set", "[Y, 1]", ("X", "Y", "W")),
    ],
)
def test_forms(call, function, argument, contributors):
    (rule,) = load_text(f"e(1,2,3). p(X,S) :- e(X,Y,W), S = {call}.").rules
    found = rule.aggregation
    assert (found.function, found.argument and str(found.argument)) == (function, argument)
    assert (found.group, found.contributors) == (("X",), contributors)


@pytest.mark.parametrize(
    "program",
    [
        'w("s", W) :- W = mprod(1). w(Y, W) :- w(X), s(X, Y, N), W = mprod(N, <X>).',
        "n(X, 1) :- e(X, _). n(X, C) :- e(Y, X), n(Y), C = mcount(Y), C > 2.",
        "n(X, S) :- e(X, S), m(_), S = msum(X). m(X) :- n(X). n(X, C) :- n(X), C = msum(X).",
    ],
)
def test_atoms_that_lack_the_aggregated_argument(program):
    with pytest.raises(ProgramError) as caught:
        load_text(program)
    assert "E104" in [d.code for d in caught.value.diagnostics]


def test_sets_that_grow_in_recursion_are_kept_by_their_union():
    program = load_text(
        """s(X,{}) :- e(X,_). s(X,S) :- t(X,S). t(X,S) :- e(Y,X), s(Y,T), S = munion(T).
        t(X,S) :- f(X,Y), S = munion(Y). f(1,2). e(1,2)."""
    )
    assert program.keyed == {"t": Keyed(1, "union"), "s": Keyed(1, "union")}
    found = [r.aggregation.contributors for r in program.rules if r.aggregation]
    assert found == [("Y", "X"), ("X", "Y")]


@pytest.mark.parametrize("function", ["list", "set", "union"])
def test_collections_are_stratified(function):
    with pytest.raises(ProgramError) as caught:
        load_text(f"e(1,2). p(X,S) :- q(X,S). q(X,S) :- p(X,Y), S = {function}(Y).")
    [diagnostic] = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == (
        "E106",
        "`q` depends on an aggregate of itself: q -> p -> q",
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("p(X,S) :- e(X,Y), S = msum(Y). p(X,S) :- e(X,Y), S = mmin(Y).", "E119"),
        ("p(X,S) :- e(X,Y), S = munion(Y). p(X,S) :- e(X,Y), S = mmax(Y).", "E119"),
        ("p(X,S) :- e(X,Y), S = avg(Y). p(X,S) :- e(X,Y), S = median(Y).", "E119"),
        ("p(1,S) :- e(_,Y), S = mmin(Y). p(2,S) :- e(_,Y), S = mmax(Y).", "E119"),
        ("p(X,S) :- e(X,Y), S = mmin(Y). p(X,#f(X)) :- e(X,_).", "E119"),
        ("p(X,S) :- e(X,Y), S = mmin(Y). p(S,X) :- e(X,Y), S = mmin(Y).", "E115"),
        ("p(1,S) :- e(_,Y), S = avg(Y). p(2,S) :- e(_,Y), S = median(Y).", None),
        ("p(1,S) :- e(_,Y), S = msum(Y). p(2,S) :- e(_,Y), S = mmax(Y).", None),
        ("p(X,S) :- e(X,Y), S = msum(Y). p(X,S) :- e(X,Y), S = sum(Y).", None),
        ("p(X,S) :- e(X,Y), S = msum(Y). p(X,Y) :- e(X,Y).", None),
        ("p(X,S) :- e(X,Y), S = avg(Y). p(X,#f(X)) :- e(X,_).", None),
    ],
)
def test_rules_of_a_predicate_agree_on_what_a_position_holds(text, found):
    if found is None:
        assert load_text(text + " e(1,2).").rules
        return
    with pytest.raises(ProgramError) as caught:
        load_text(text + " e(1,2).")
    assert [d.code for d in caught.value.diagnostics] == [found]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "n(X,C,[C]) :- k(X,C).",
            """\
<text>:1:1: error[E116]: the head of a recursive rule holds `[C]`, computed from the aggregate C
  1 | n(X,C,[C]) :- k(X,C).
    | ^^^^^^^^^^
  <text>:1:15: C is an aggregate of `k`
  1 | n(X,C,[C]) :- k(X,C).
    |               ^^^^^^
  note: an aggregate in recursion improves step by step, and what is computed from it stays
  help: if it grows with C, write `T1 = mmax([C])`""",
        ),
        (
            "n(X,C,N) :- k(X,C).",
            """\
<text>:1:1: error[E116]: the head of a recursive rule holds N, a null of the aggregate C
  1 | n(X,C,N) :- k(X,C).
    | ^^^^^^^^
  <text>:1:13: C is an aggregate of `k`
  1 | n(X,C,N) :- k(X,C).
    |             ^^^^^^
  note: an aggregate in recursion improves step by step, and what is computed from it stays
  help: make the null in a rule outside of the recursion""",
        ),
    ],
)
def test_no_list_and_no_null_of_an_improving_value(rule, message):
    with pytest.raises(ProgramError) as caught:
        load_text(f"{rule}\ne(1,2). n(X,1,1) :- e(X,_). k(X,C) :- e(Y,X), n(Y,_,_), C = mcount(Y).")
    assert str(caught.value) == message


def test_a_term_of_the_group_may_stand_beside_an_aggregate_in_recursion():
    text = "n(X,1,[X]) :- e(X,_). n(X,C,[X]) :- e(Y,X), n(Y,_,_), C = mcount(Y)."
    assert load_text(text + " e(1,2).").keyed == {"n": Keyed(1, "greatest")}


# --- growth -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "kind"), [("1.0", "double"), ("1", "integer")])
def test_a_product_that_grows_for_ever_names_rule_and_group(one, kind):
    text = "b(X,S) :- e(Y,X,W), b(Y,V), S = msum(W * V,<Y>)."
    program = load_text(f'e("a","a",{2 * float(one) if "." in one else 2}). b("a",{one}). {text}')
    fast, slow = errors(program)
    assert f"{kind} overflow in W * V, with W = 2" in fast
    assert 'in the group X = "a"\n  rule: b(X, S)' in fast
    assert f'{kind} overflow, with Y = "a", X = "a", W = 2' in slow


@pytest.mark.parametrize(
    ("value", "kind"), [(1.5e308, "double"), (2**62, "integer")], ids=["double", "integer"]
)
@pytest.mark.parametrize("function", ["sum", "msum", "prod", "mprod"])
def test_an_aggregate_that_overflows_names_rule_and_group(function, value, kind):
    program = load_text(f"q(X,T) :- e(X,I,V), T = {function}(V,<I>).")
    fast, slow = errors(program, e=[("fine", 1, value), ("a", 1, value), ("a", 2, value)])
    assert f'{kind} overflow in {function}, in the group X = "a"\n  rule: q(X, T)' in fast
    assert f'{kind} overflow in {function}, with X = "a"\n  rule: q(X, T)' in slow


@pytest.mark.parametrize("function", ["avg", "median"])
def test_a_mean_of_finite_doubles_is_finite(function):
    program = load_text(f"q(T) :- e(I,V), T = {function}(V,<I>).")
    assert both(program, e=[(1, 1.5e308), (2, 1.6e308)])["q"] == {(1.55e308,)}


@pytest.mark.parametrize(
    ("function", "values", "total"),
    [("sum", [1.7e308, 1.6e308, -1.6e308], 1.7e308), ("prod", [1e308, 10.0, 0.5, 0.125], 6.25e307)],
)
def test_an_overflow_on_the_way_to_a_finite_total_is_none(function, values, total):
    program = load_text(f"q(T) :- e(I,V), T = {function}(V,<I>).")
    for order in itertools.permutations(values):
        [(found,)] = both(program, e=list(enumerate(order)))["q"]
        assert found == pytest.approx(total, rel=1e-15)


def test_a_better_contribution_may_take_a_total_to_the_end_of_the_range():
    text = "t(X,1.5e307) :- s(X). t(X,S) :- t(Y,V), e(Y,X), S = msum(V * 5.0,<Y>)."
    program = load_text(text + " t(X,B) :- big(X,B).")
    found = dict(both(program, s=[(1,), (2,)], e=[(1, 3), (2, 3)], big=[(2, 2e307)])["t"])
    assert found[3] == math.fsum([7.5e307, 1e308])


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("q(X) :- p(Y), X = Y * 1e308 * 10.", ["double overflow in (Y * 1e+308) * 10, with Y = 1.0"]),
        ("q(X) :- p(Y), X = 1e308 / (Y / 1e10).", ["double overflow in 1e+308 / (Y / 10000000000.0), with"]),
        ("q(Y) :- p(Y), Y + 1.7e308 - -1.7e308 > 0.", ["double overflow in", "with Y = 1.0"]),
        ("q(X) :- p(Y), X = Y - 2e308 / 2.", None),
    ],
)
def test_arithmetic_that_leaves_the_range_of_doubles(rule, words):
    if words is None:
        with pytest.raises(ProgramError):
            load_text(rule)
        return
    fast, slow = errors(load_text(rule), p=[(1.0,)])
    for word in words:
        assert word in fast
    assert "double overflow, with Y = 1.0" in slow
    assert f"rule: {rule[:7]}" in fast


def test_the_rule_and_group_that_grow_are_named_behind_a_copy():
    program = load_text("b(X,S) :- c(X,S). c(X,S) :- e(Y,X), b(Y,V), S = msum(V + 1,<Y>).")
    with pytest.raises(EvaluationError) as caught:
        evaluate(program, Facts.from_rows({"e": [("a", "a")], "b": [("a", 1)]}), limits=Limits(rounds=51))
    assert 'values still change after 51 rounds, for instance X = "a", S = ' in str(caught.value)
    assert "rule: c(X, S) :- " in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "clash"),
    [
        ({"c": [(1,)], "w": [(1, 5)]}, ("_:n1, a labelled null, meets 5, an integer", "_:n1 and 5 do not")),
        ({"w": [(1, 5)], "s": [(1, "a")]}, ('5, an integer, meets "a", a string', '5 and "a" do not')),
    ],
)
def test_nulls_and_values_of_other_types_do_not_meet_numbers(rows, clash):
    program = load_text(
        "best(X,V) :- n(X,V). n(X,N) :- c(X). n(X,V) :- w(X,V). n(X,V) :- s(X,V).\n"
        "best(Y,M) :- best(X,V), e(X,Y), M = mmax(V)."
    )
    for found, expected in zip(errors(program, e=[(1, 2)], **rows), clash, strict=True):
        assert expected in found
        assert "rule: best(X, V) :- n(X, V)." in found


def test_a_factor_below_one_is_shown_even_if_computed():
    program = load_text("t(X,V) :- w(X,V). t(Y,M) :- t(X,V), e(X,Y), M = mprod(V * 0.5,<X>).")
    for message in errors(program, w=[(1, 0.5)], e=[(1, 2)]):
        assert "contribution 0.25 to mprod in recursion" in message
