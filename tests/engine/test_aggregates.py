"""Every aggregate over every kind of value, in and out of recursion, beside plain Python."""

import math
import statistics
from collections import defaultdict
from datetime import datetime
from fractions import Fraction
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import EvaluationError, ProgramError
from kgreason.engine.relations.fact_tables import Facts
from kgreason.engine.relations.symbols import key
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.language.check.program_checker import load_text
from kgreason.language.values import Null, identity
from tests import naive

quick = settings(max_examples=8, deadline=None)

DATES = [datetime(2024, 1, 15), datetime(2024, 1, 15, 10), datetime(1969, 7, 20), datetime(9999, 12, 31)]
KINDS = {
    "int": st.integers(-5, 5),
    "double": st.sampled_from([-2.5, -1.0, 0.0, 0.5, 0.1, 3.0]),
    "string": st.sampled_from(["b", "a", "", "é"]),
    "boolean": st.booleans(),
    "date": st.sampled_from(DATES),
    "list": st.lists(st.integers(0, 2), max_size=2).map(tuple),
    "set": st.frozensets(st.integers(0, 2), max_size=3),
}
NUMBERS = ("int", "double")
ORDERED = (*NUMBERS, "string", "boolean", "date")


program = lru_cache(load_text)


def derive(text, goal="r", **rows):
    return list(evaluate(program(text), Facts.from_rows(rows), goals=[goal]).facts.rows(goal))


def failure(text, **rows):
    with pytest.raises(EvaluationError) as caught:
        derive(text, **rows)
    return str(caught.value)


def rows_of(kind):
    return st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), KINDS[kind]), min_size=1, max_size=14)


def exact(numbers):
    total = sum(map(Fraction, numbers))
    return float(total) if any(isinstance(n, float) for n in numbers) else int(total)


def product(numbers):
    total = math.prod(map(Fraction, numbers))
    return float(total) if any(isinstance(n, float) for n in numbers) else int(total)


def best_factor(*factors):
    return min(factors) if min(factors) < 1 else max(factors)


TOTALS = {
    "sum": exact,
    "prod": product,
    "count": len,
    "min": min,
    "max": max,
    "avg": lambda numbers: exact(numbers) / len(numbers),
    "median": lambda numbers: float(statistics.median(numbers)),
    "set": frozenset,
    "list": lambda values: tuple(sorted(values)),
    "union": lambda values: frozenset().union(*(v if isinstance(v, frozenset) else {v} for v in values)),
}
CASES = (
    [(f, k) for f in ("sum", "prod", "avg", "median") for k in NUMBERS]
    + [(f, k) for f in ("min", "max", "list") for k in ORDERED]
    + [(f, k) for f in ("count", "set", "union") for k in KINDS]
)


@pytest.mark.parametrize("beside_nulls", [False, True], ids=["typed", "any"])
@pytest.mark.parametrize(("function", "kind"), CASES)
def test_aggregate_of_contributors(function, kind, beside_nulls):
    """One contribution per contributor: the least value for a minimum and of factors below 1, else the greatest."""
    guard = ", is_not_null(V)" if beside_nulls else ""
    text = f"r(G, S) :- e(G, C, V){guard}, S = {function}(V, <C>)."
    if function == "count":
        text = f"r(G, S) :- e(G, C, V){guard}, S = count(1, <C>)."

    @given(rows_of(kind))
    @quick
    def check(rows):
        groups = defaultdict(dict)
        keep = {"min": min, "prod": best_factor}.get(function, max)
        for g, c, v in rows:
            held = groups[g]
            if function in ("set", "union"):  # each value counts, whoever contributes it
                held[c, v] = v
            else:
                held[c] = keep(held[c], v) if c in held and kind in ORDERED else v
        expected = {(g, identity(TOTALS[function](list(held.values())))) for g, held in groups.items()}
        given_rows = [*rows, (0, 9, Null(1))] if beside_nulls else rows
        found = derive(text, e=given_rows)
        assert {(g, key(s)) for g, s in found} == {(g, key(s)) for g, s in derive(text, e=given_rows[::-1])}
        if beside_nulls:
            expected = {(g, key(TOTALS[function](list(held.values())))) for g, held in groups.items()}
            assert {(g, key(s)) for g, s in found} == expected
        else:
            assert {(g, identity(s)) for g, s in found} == expected

    check()


def test_without_contributors():
    """Each body match counts once."""
    rows = [(1, "a", 2), (1, "b", 2), (1, "b", 3), (2, "a", 5)]
    assert derive("r(G, S) :- e(G, _, V), S = list(V).", e=rows) == [(1, (2, 2, 3)), (2, (5,))]
    assert derive("r(S) :- e(_, C, _), S = set(C).", e=rows) == [(frozenset({"a", "b"}),)]


def test_lists_are_sorted_by_type_then_value():
    rows = [("b",), (2.5,), (Null(1),), (True,), (1,), ("a",), (datetime(2024, 1, 15),), ((1,),)]
    assert derive("r(S) :- e(V), S = list(V).", e=rows) == [
        ((True, datetime(2024, 1, 15), (1,), Null(1), 1, 2.5, "a", "b"),)
    ]


def test_sets_take_nulls_and_mix_numbers_as_doubles():
    assert derive("r(S) :- e(V), S = set(V).", e=[(Null(1),), (Null(2),), ("a",)]) == [
        (frozenset({Null(1), Null(2), "a"}),)
    ]
    ((found,),) = derive("r(S) :- e(V), S = union(V).", e=[(frozenset({1}),), (frozenset({1.0, 2.5}),)])
    assert {identity(v) for v in found} == {("float", 1.0), ("float", 2.5)}


def test_count_of_any():
    rows = [(1, Null(1)), (1, Null(2)), (1, "a"), (2, 1)]
    assert sorted(derive("r(G, N) :- e(G, V), N = count(V).", e=rows)) == [(1, 3), (2, 1)]


# --- recursion ------------------------------------------------------------------------------------------

edges = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12)


def reachable(pairs, start):
    seen, todo = set(), [start]
    while todo:
        for a, b in pairs:
            if a == todo[0] and b not in seen:
                seen.add(b)
                todo.append(b)
        todo.pop(0)
    return seen


REACH = """
    r(X, S) :- e(X, Y), S = munion(Y).
    r(X, S) :- e(X, Y), r(Y, T), S = munion(T).
"""


@given(edges)
@quick
def test_union_in_recursion(pairs):
    found = dict(derive(REACH, e=pairs)) if pairs else {}
    assert found == {a: frozenset(reachable(pairs, a)) for a, _ in pairs}


def test_union_in_recursion_improves_in_place():
    """The answer is one set per key, also where it goes through a copy and a condition on it."""
    text = REACH + "c(X, S) :- r(X, S), contains(S, 3)."
    pairs = [(0, 1), (1, 2), (2, 0), (2, 3)]
    everything = frozenset({0, 1, 2, 3})
    assert sorted(derive(text, "c", e=pairs)) == [(i, everything) for i in range(3)]


LEAST = "r(X, V) :- e(X, Y), w(Y, W), V = m{0}(W). r(X, V) :- e(X, Y), r(Y, W), V = m{0}(W)."


@pytest.mark.parametrize("beside_nulls", [False, True], ids=["typed", "any"])
@pytest.mark.parametrize("kind", ORDERED)
@pytest.mark.parametrize("function", ["min", "max"])
def test_extreme_in_recursion(function, kind, beside_nulls):
    text = LEAST.format(function)
    if beside_nulls:
        text = text.replace("w(Y, W),", "w(Y, W), is_not_null(W),")

    @given(edges, st.lists(KINDS[kind], min_size=6, max_size=6))
    @settings(max_examples=8, deadline=None)
    def check(pairs, values):
        if kind == "double":
            values = [float(v) for v in values]
        weights = list(enumerate(values)) + ([(0, Null(1))] if beside_nulls else [])
        found = {x: key(v) for x, v in derive(text, e=pairs, w=weights)} if pairs else {}
        pick = min if function == "min" else max
        assert found == {a: key(pick(values[b] for b in reachable(pairs, a))) for a, _ in pairs}

    check()


CONTROL = """
    c(X, X) :- own(X, _, _).
    c(X, Z) :- c(X, Y), own(Y, Z, W), is_not_null(W), V = msum(W, <Y>), V > 0.5.
"""


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([0.25, 0.375, 0.625])), max_size=14
    )
)
@quick
def test_sum_in_recursion_beside_nulls(rows):
    """Control where some shares are not known is control without them."""
    rows = list({(a, b): (a, b, w) for a, b, w in rows}.values())
    if not rows:
        return
    known = sorted(derive(CONTROL, "c", own=rows))
    assert sorted(derive(CONTROL, "c", own=[*rows, (0, 1, Null(1)), (rows[0][0], 9, Null(2))])) == sorted(
        {*known, (0, 0)}
    )


def test_double_beside_integer():
    """Where doubles come beside nulls, 1 is a double, whatever 1 is elsewhere."""
    text = "r(X, T) :- w(X, W), is_not_null(W), T = as_string(W). s(T) :- i(X), is_not_null(X), T = as_string(X)."
    rows = {"i": [(1,), (3,), (Null(1),)], "w": [("a", 1.0), ("b", 0.5), ("c", Null(2))]}
    assert sorted(derive(text, **rows)) == [("a", "1.0"), ("b", "0.5")]
    assert sorted(derive(text, "s", **rows)) == [("1",), ("3",)]


# --- errors ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "rows", "message"),
    [
        ("S = sum(V)", [(1, 2**63 - 1), (1, 1)], "integer overflow in sum, in the group G = 1"),
        ("S = sum(V)", [(1, 1e308), (1, 1.1e308)], "double overflow in sum, in the group G = 1"),
        ("S = prod(V)", [(1, 2**62), (1, 4)], "integer overflow in prod, in the group G = 1"),
        (
            "is_not_null(V), S = sum(V)",
            [(1, 2**63 - 1), (1, 1), (2, Null(1))],
            "integer overflow in sum, in the group G = 1",
        ),
        (
            "is_not_null(V), S = prod(V)",
            [(1, 1e200), (1, 1e201), (2, Null(1))],
            "double overflow in prod, in the group G = 1",
        ),
        (
            "S = sum(V)",
            [(1, Null(4)), (1, 1)],
            "sum needs values, but _:n4 is a labelled null, with V = _:n4, in the group G = 1"
            "\n  rule: r(G, S) :- e(G, V), S = sum(V).\n  help: test is_not_null(V) first",
        ),
        (
            "S = max(V)",
            [(1, Null(4))],
            "max needs values, but _:n4 is a labelled null, with V = _:n4, in the group G = 1"
            "\n  rule: r(G, S) :- e(G, V), S = max(V).\n  help: test is_not_null(V) first",
        ),
        (
            "is_not_null(V), S = avg(V)",
            [(1, Null(4)), (2, "a")],
            'type clash: avg takes numbers, not "a", a string, with V = "a", in the group G = 2',
        ),
        (
            "is_not_null(V), S = min(V)",
            [(1, Null(4)), (2, (1,))],
            "type clash: min compares values, not [1], a list, with V = [1], in the group G = 2",
        ),
        (
            "is_not_null(V), S = min(V)",
            [(1, Null(4)), (2, "a"), (2, 1)],
            'type clash: "a", a string, meets 1, an integer in min, in the group G = 2',
        ),
        (
            "S = set(V)",
            [(1, Null(4)), (2, True), (2, 1)],
            "a set holds booleans or numbers, not both in set, in the group G = 2",
        ),
        (
            "S = set(V)",
            [(1, (1,)), (1, (1.0,))],
            "a set cannot hold both [1.0] and [1], which differ only in the types of their elements in set,"
            " in the group G = 1",
        ),
    ],
)
def test_error(body, rows, message):
    rule = f"r(G, S) :- e(G, V), {body}."
    if "rule:" not in message:
        message += f"\n  rule: {rule}"
    if message.startswith("integer overflow"):
        message += (
            "\n  help: doubles reach further than integers of 64 bits: as_double(...) of the contribution"
        )
    if message.startswith("a set"):
        message += "\n  help: a list holds them side by side; as_string(...) makes them strings"
    if "avg takes" in message:
        message += "\n  help: as_string(V) makes a string, as_double(V) makes a double of one"
    if "meets 1" in message:
        message += "\n  help: as_string(...) makes a string, as_int(...) makes an integer of one"
    assert failure(rule, e=rows) == f"<text>:1:1: {message}"


def test_negative_contribution_beside_nulls():
    rule = "c(X, Z) :- c(X, Y), own(Y, Z, W), is_not_null(W), V = msum(W, <Y>), V > 0.5."
    rows = [(1, 2, -0.5), (1, 3, Null(1))]
    with pytest.raises(EvaluationError) as caught:
        derive(f"c(X, X) :- own(X, _, _).\n{rule}", "c", own=rows)
    assert str(caught.value).startswith(
        "<text>:2:1: contribution -0.5 to msum in recursion is negative, with "
    )


RANGES = [
    ("prod", (1e-200, 1e-200, 1e200), 1e-200),
    ("prod", (1e-200, 1e200, 1e-200), 1e-200),
    ("sum", (1e308, 1e200, 3.0, -1e308, -1e200), 3.0),
    ("sum", (1.0, 1e-300, 1e-300, 1e16), 1.0000000000000002e16),
    ("avg", (1e300, 3.0, -1e300), 1.0),
    ("prod", (3.0, -1e300, 3.0, -1.827248092588773), 1.6445232833298958e301),
    ("prod", (1e-160, 1e-160, 1e300), 1.0000000000000001e-20),
    ("prod", (0.0, 1e-300, 1e-300), 0.0),
    ("avg", (1e308, 1e308), 1e308),
    ("avg", (1e308, -1e308, 1.5e308), 5e307),
    ("median", (1e308, 1e308, 1e308, 1.2e308), 1e308),
    ("median", (1e308, 1.2e308), 1.1e308),
]


@pytest.mark.parametrize("more", [[], [(-1, None)]], ids=["doubles", "any"])
@pytest.mark.parametrize(("function", "values", "total"), RANGES)
def test_totals_do_not_leave_the_doubles_on_the_way(function, values, total, more):
    text = f"s(S) :- e(I, X), I >= 0, S = {function}(X)."
    rows = [*enumerate(values), *((i, Null(1)) for i, _ in more)]
    assert derive(text, "s", e=rows) == [(total,)]
    assert naive.evaluate(load_text(text), {"e": rows})["s"] == {(total,)}


CLASHES = [
    ("x", 3, "type clash: 3, an integer, meets _:n1, a labelled null, in best(K, V)"),
    ("y", 3, 'type clash: 3, an integer, meets "b", a string, in best(K, V)'),
]


@pytest.mark.parametrize(("name", "value", "message"), CLASHES)
def test_values_of_one_key_that_do_not_compare(name, value, message):
    text = """d(K, N) :- k(K). best(K, J) :- a(K, V), J = mmin(V). best(K, V) :- d(K, V)."""
    given = {"a": [(name, 5)], "d": [(name, value)], "k": [("x",)]}
    given["d"] += [("y", "b"), ("z", Null(7))] if name == "y" else []
    with pytest.raises(EvaluationError) as caught:
        derive(text, "best", **given)
    assert message in str(caught.value)
    with pytest.raises(EvaluationError, match="do not compare, in best"):
        naive.evaluate(load_text(text), given)


def test_an_overflow_without_groups_names_a_contribution():
    found = failure("r(S) :- a(X), S = sum(X * 1).", a=[(2**63 - 1,), (1,)])
    assert found.startswith("<text>:1:1: integer overflow in sum, whose first contribution is 922337203685")


def test_union_of_booleans_and_numbers():
    text = "r(X, S) :- a(X, Y), S = munion(Y).\nr(X, S) :- b(X, Y), S = munion(Y)."
    message = "<text>:2:1: a set holds booleans or numbers, not both, in r(X, S)\n  rule: "
    found = failure(text, a=[(1, 1)], b=[(1, True)])
    assert found == message + "r(X, S) :- b(X, Y), S = munion(Y)."


@pytest.mark.parametrize(
    ("aggregate", "message"),
    [
        ("sum(V)", "sum takes numbers, but V is a date"),
        ("max([V])", "max compares values, but [V] is a list"),
        ("median({V})", "median takes numbers, but {V} is a set"),
    ],
)
def test_misfit(aggregate, message):
    with pytest.raises(ProgramError) as caught:
        derive(f"r(S) :- e(V), S = {aggregate}.", e=[(DATES[0],)])
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message.split("\n")[0]) == ("E502", message)
