"""From clauses to checked rules: nulls, terms, equalities, constraints, and what they are warned of."""

from __future__ import annotations

from datetime import datetime

import pytest

from kgreason.base.errors import ProgramError, render_all
from kgreason.graph.induced.lifted import lift
from kgreason.language.check.checked_program import CheckedRule, Invention
from kgreason.language.check.program_checker import load_text, restricted
from kgreason.language.functions import function
from kgreason.language.syntax.syntax_tree import Constant, Variable


def rules(text: str) -> tuple[CheckedRule, ...]:
    return load_text(text).rules


def names(rule: CheckedRule) -> list[str]:
    return [t.name if isinstance(t, Variable) else str(t) for t in rule.head.terms]


def steps(rule: CheckedRule) -> list[str]:
    return [
        f"{s.expression.left.name} == {s.expression.right}"  # type: ignore[union-attr]
        if str(s).startswith("_ ==")
        else str(s)
        for s in rule.before
    ]


# Existential variables


def test_heads_share_their_nulls() -> None:
    text = "q(1,2).\n%% Who is\n%% managed.\nstaff(X,Z), boss(Z,_,Y) :- q(X,Y). p(X) :- q(X,_)."
    program = load_text(text)
    by_name = {r.head.predicate: r for r in program.rules}
    assert by_name["staff"].inventions == by_name["boss"].inventions
    first, second = by_name["staff"].inventions
    assert first == Invention("Z", "1:Z", ("X", "Y"))
    assert second.variable.startswith("_")
    assert [by_name[p].number for p in ("staff", "boss", "p")] == [1, 1, 2]
    assert by_name["staff"].documentation == "Who is\nmanaged."
    assert by_name["p"].inventions == ()


def test_the_frontier_holds_head_variables_of_the_body_only() -> None:
    (rule,) = rules("q(1,2,3). p(Y,N,#f(Z),[W,W]) :- q(X,Y,Z), W = X + 1, X > 0.")
    assert rule.inventions == (Invention("N", "1:N", ("Y", "Z", "W")),)
    assert (names(rule), steps(rule)) == (
        ["Y", "N", "_T1", "_T2"],
        ["X > 0", "W = X + 1", "_T1 = #f(Z)", "_T2 = [W, W]"],
    )


def test_an_aggregated_value_is_no_part_of_the_frontier() -> None:
    (rule,) = rules("q(1,2). p(X,N,S,[X,S],#f(X)) :- q(X,Y), S = msum(Y).")
    assert rule.inventions == (Invention("N", "1:N", ("X",)),)
    assert rule.aggregation is not None
    assert rule.aggregation.group == ("X",)
    assert [str(s) for s in rule.after] == ["_T1 = [X, S]", "_T2 = #f(X)"]


# Terms


def test_ground_lists_sets_and_dates_are_constants() -> None:
    program = load_text('p([1,[2,"a"]], {2,1.5}, 2024-01-15). q(X) :- p(X,{},_), X in [{1}], p([],_,X).')
    (fact,) = program.facts
    assert fact.terms == (
        Constant((1, (2, "a"))),
        Constant(frozenset({2.0, 1.5})),
        Constant(datetime(2024, 1, 15)),
    )
    (rule,) = program.rules
    assert [a.terms[1] for a in rule.positives] == [Constant(frozenset()), Variable("_2")]
    assert steps(rule) == ["X in [{1}]"]


def test_terms_of_the_body_are_compared() -> None:
    (rule,) = rules("q(1). r(1,2). p(X) :- r(X,Y), q([X,1]), q(#f(Y)), not q({Y}).")
    assert [a.variables for a in (*rule.positives, *rule.negatives)] == [
        ("X", "Y"),
        ("_T1",),
        ("_T2",),
        ("_T3",),
    ]
    assert steps(rule) == ["_T1 == [X, 1]", "_T2 == #f(Y)", "_T3 = {Y}"]


def test_a_fact_with_a_null_is_a_rule_without_a_body() -> None:
    program = load_text('p(#f(1),[#g("a")],2). p(1,2,3). q(X) :- p(X,_,_).')
    assert [f.predicate for f in program.facts] == ["p"]
    fact, _ = program.rules
    assert (fact.positives, fact.inventions, fact.number) == ((), (), 2)
    assert steps(fact) == ["_T1 = #f(1)", '_T2 = [#g("a")]']
    assert fact.text == 'p(#f(1), [#g("a")], 2).'
    assert program.outputs == ("q",)


def test_expressions_in_atoms_are_computed() -> None:
    program = load_text("q(1). p(X + 1) :- q(X), q(X * 2). p(1 + 1).")
    first, second = sorted(program.rules, key=lambda r: r.number)
    assert (names(first), steps(first)) == (["_T2"], ["_T1 == X * 2", "_T2 = X + 1"])
    assert steps(second) == ["_T1 = 1 + 1"]


def test_functions_of_users() -> None:
    @function(name="doubled_for_test")
    def doubled(number: int) -> int:
        return 2 * number

    (rule,) = rules("q(1). p(Y) :- q(X), Y = doubled_for_test(X).")
    assert steps(rule) == ["Y = doubled_for_test(X)"]
    with pytest.raises(
        ProgramError, match='`doubled_for_test` takes an int as argument 1, and `"a"` is a string'
    ):
        load_text('q(1). p(Y) :- q(X), Y = doubled_for_test("a").')


# Equalities and constraints


def test_equalities_and_constraints_are_rules_of_hidden_predicates() -> None:
    program = load_text(
        'r(X) :- q(X,_). @label("one") X = Y :- q(Z,X), q(Z,Y), _1 = Z, W = X. '
        "#F :- q(X,X), not r(Z), X > 1. q(1,2)."
    )
    (unification,), (denial,) = program.unifications, program.denials
    assert (unification.predicate, names(unification.rule)) == ("#equal_2", ["X", "Y", "Z", "W"])
    assert (denial.predicate, names(denial.rule)) == ("#false_3", ["X"])
    assert (unification.rule.text[:12], unification.rule.label) == ("X = Y :- q(Z", "one")
    assert {unification.rule, denial.rule} <= set(program.rules)
    assert (program.arities["#equal_2"], program.arities["#false_3"]) == (4, 1)
    assert (program.outputs, program.derived) == (("r",), ())
    assert {"#equal_2", "#false_3"} <= restricted(program, ["r"]).heads


def test_an_equality_of_a_variable_with_itself() -> None:
    (rule,) = rules("X = X :- q(X,Y). q(1,2).")
    assert names(rule) == ["X", "X", "Y"]


def test_aggregates_of_equalities_and_constraints() -> None:
    first, second, third = rules(
        "q(1,2). X = Y :- q(X,Y), q(Z,Y), N = mcount(Z), M = N * 2, M > 1."
        "#F :- q(X,Y), N = mcount(X), N > 3. #F :- q(X,Y), N = msum(X,[Y],[X]), N > 3."
    )
    found = [(r.aggregation.group, names(r)) for r in (first, second, third) if r.aggregation]
    assert found == [(("X", "Y"), ["X", "Y", "N", "M"]), ((), ["N"]), (("Y",), ["Y", "N"])]


# Warnings

WARNINGS = {
    "W505 aggregate": (
        "e(1). m(X,Y) :- e(X). n(X,N) :- m(X,Y), N = count(Y). X = Y :- m(Z,X), n(Z,2), m(_,Y).",
        """\
<text>:1:55: warning[W505]: the equality depends on `m` under an aggregate, and merging nulls can change it
  1 | e(1). m(X,Y) :- e(X). n(X,N) :- m(X,Y), N = count(Y). X = Y :- m(Z,X), n(Z,2), m(_,Y).
    |                                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  <text>:1:33: `m` under an aggregate
  1 | e(1). m(X,Y) :- e(X). n(X,N) :- m(X,Y), N = count(Y). X = Y :- m(Z,X), n(Z,2), m(_,Y).
    |                                 ^^^^^^
  note: equalities are applied to what was known before the merging, and never taken back
  help: let the equality depend on predicates without nulls there""",
    ),
    "W505": (
        "e(1). m(X,#f(X)) :- e(X). same(X,Y) :- m(X,Y). X = Y :- m(Z,X), m(_,Y), not same(Z,Y).",
        """\
<text>:1:48: warning[W505]: the equality depends on `same` under `not`, and merging nulls can change it
  1 | e(1). m(X,#f(X)) :- e(X). same(X,Y) :- m(X,Y). X = Y :- m(Z,X), m(_,Y), not same(Z,Y).
    |                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  note: equalities are applied to what was known before the merging, and never taken back
  help: let the equality depend on predicates without nulls there""",
    ),
    "W507": (
        "q(1,2). p(Onwer,X) :- q(Owner,X).",
        """\
<text>:1:11: warning[W507]: the head variable Onwer is not bound in the body, and Owner is not used in the head
  1 | q(1,2). p(Onwer,X) :- q(Owner,X).
    |           ^^^^^
  note: a variable that only the head has is existential: its value is a new null
  help: did you mean Owner?""",
    ),
    "W507 once": (
        "own(1,2,0.5). control(X,Y) :- own(X,Z,W), W > 0.5.",
        """\
<text>:1:25: warning[W507]: Y occurs only in the head, so it is a labelled null, and Z occurs only once
  1 | own(1,2,0.5). control(X,Y) :- own(X,Z,W), W > 0.5.
    |                         ^
  <text>:1:37: Z occurs only here
  1 | own(1,2,0.5). control(X,Y) :- own(X,Z,W), W > 0.5.
    |                                     ^
  note: a variable that only the head has is existential: its value is a new null
  help: is Z meant in the head? If not, write `_` for what does not matter""",
    ),
    "W507 several": (
        "own(1,2,0.5). owner(X,Y) :- own(X,Z,W).",
        """\
<text>:1:23: warning[W507]: Y occurs only in the head, so it is a labelled null, and Z and W occur only once
  1 | own(1,2,0.5). owner(X,Y) :- own(X,Z,W).
    |                       ^
  <text>:1:35: Z occurs only here
  1 | own(1,2,0.5). owner(X,Y) :- own(X,Z,W).
    |                                   ^
  <text>:1:37: W occurs only here
  1 | own(1,2,0.5). owner(X,Y) :- own(X,Z,W).
    |                                     ^
  note: a variable that only the head has is existential: its value is a new null
  help: is one of them meant in the head? If not, write `_` for what does not matter""",
    ),
    "W513": (
        """\
own(1,2,0.5).
acc(X,Y,W) :- own(X,Y,V), W = msum(V,<X>).
acc(X,Z,W) :- acc(X,Y,A), own(Y,Z,V), W = msum(A*V,<Y>).""",
        """\
<text>:3:43: warning[W513]: what several rules contribute to `acc` is not added up
  3 | acc(X,Z,W) :- acc(X,Y,A), own(Y,Z,V), W = msum(A*V,<Y>).
    |                                           ^^^^^^^^^^^^^
  <text>:2:31: the other aggregate
  2 | acc(X,Y,W) :- own(X,Y,V), W = msum(V,<X>).
    |                               ^^^^^^^^^^^
  note: each rule aggregates the matches of its own body; of two values for one group the greater counts
  help: let the rules derive their contributions into one predicate, and aggregate that once, \
as rules/integrated_ownership.vada does""",
    ),
    "W513 facts": (
        'u("a",0.1). u("b",0). w("a","x",0.2). u(X,S) :- w(X,Y,W), S=msum(W,<Y>).',
        """\
<text>:1:1: warning[W513]: what facts contribute to `u` is not added up
  1 | u("a",0.1). u("b",0). w("a","x",0.2). u(X,S) :- w(X,Y,W), S=msum(W,<Y>).
    | ^^^^^^^^^^
  <text>:1:61: the aggregate
  1 | u("a",0.1). u("b",0). w("a","x",0.2). u(X,S) :- w(X,Y,W), S=msum(W,<Y>).
    |                                                             ^^^^^^^^^^^
  note: each rule aggregates the matches of its own body; of two values for one group the greater counts
  help: let the rules derive their contributions into one predicate, and aggregate that once, \
as rules/integrated_ownership.vada does""",
    ),
    "W513 plain": (
        "b(1,2). c(1,3). u(X,W) :- b(X,W). u(X,S) :- c(X,Y), S=mcount(Y).",
        """\
<text>:1:17: warning[W513]: what rules without an aggregate contribute to `u` is not counted together
  1 | b(1,2). c(1,3). u(X,W) :- b(X,W). u(X,S) :- c(X,Y), S=mcount(Y).
    |                 ^^^^^^
  <text>:1:55: the aggregate
  1 | b(1,2). c(1,3). u(X,W) :- b(X,W). u(X,S) :- c(X,Y), S=mcount(Y).
    |                                                       ^^^^^^^^^
  note: each rule aggregates the matches of its own body; of two values for one group the greater counts
  help: let the rules derive their contributions into one predicate, and aggregate that once, \
as rules/integrated_ownership.vada does""",
    ),
    "W513 stratified": (
        "a(1,2). t(X,N) :- a(X,Y), N = count(Y). t(X,N) :- a(Y,X), M = count(Y), N = M * 2. t(X,0) :- a(X,_).",
        """\
<text>:1:63: warning[W513]: what several rules contribute to `t` is not counted together
  1 | a(1,2). t(X,N) :- a(X,Y), N = count(Y). t(X,N) :- a(Y,X), M = count(Y), N = M * 2. t(X,0) :- a(X,_).
    |                                                               ^^^^^^^^
  <text>:1:31: the other aggregate
  1 | a(1,2). t(X,N) :- a(X,Y), N = count(Y). t(X,N) :- a(Y,X), M = count(Y), N = M * 2. t(X,0) :- a(X,_).
    |                               ^^^^^^^^
  note: each rule aggregates the matches of its own body; of two values for one group both are facts
  help: let the rules derive their contributions into one predicate, and aggregate that once, \
as rules/integrated_ownership.vada does""",
    ),
    "W508": (
        "e(1,2). n(X,0) :- e(X,_). n(X,C) :- e(Y,X), n(Y,D), D < 3, C = mcount(Y).",
        """\
<text>:1:53: warning[W508]: a greater value in the recursion can undo `D < 3`
  1 | e(1,2). n(X,0) :- e(X,_). n(X,C) :- e(Y,X), n(Y,D), D < 3, C = mcount(Y).
    |                                                     ^^^^^
  note: an aggregate in recursion improves step by step; what a condition let through on the way stays, \
so that the result depends on the order of evaluation
  help: test the final value in a rule outside of the recursion""",
    ),
    "W504": (
        "#F :- own(X,Y,W), S = msum(W,<X>), S > 1. own(1,2,0.5).",
        """\
<text>:1:23: warning[W504]: `msum(W, <X>)` is one value for all matches of the body, not one for each Y
  1 | #F :- own(X,Y,W), S = msum(W,<X>), S > 1. own(1,2,0.5).
    |                       ^^^^^^^^^^^
  note: the group of an aggregate is the other variables of the head, and a constraint has none
  help: derive `total(Y, S)` in a rule of its own, and test it in the constraint""",
    ),
}


def warned(text: str) -> str:
    wanted = ("W505", "W507", "W508", "W504", "W513")
    return render_all([w for w in load_text(text).warnings if w.code in wanted], text)


@pytest.mark.parametrize("name", WARNINGS)
def test_warning(name: str) -> None:
    text, expected = WARNINGS[name]
    assert warned(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "q(1,2). p(Owner2,X) :- q(Owner,X), Owner != X.",  # a second one, not a slip
        "q(1,2). p(Owner,Owned) :- q(Owner,_).",
        "q(1,2). p(_,B) :- q(A,B).",  # a null that has no name
        "q(1,2). p(A,B) :- q(A,C), not q(C,D).",
        "q(1,2). p(A,B,S) :- q(A,C), S = msum(1,<C>).",
        "q(1,2). p(A) :- q(A,C).",
        "e(1). m(X,Y) :- e(X). X = Y :- m(Z,X), m(Z,Y), not e(Y).",
        "e(1). m(X,Y) :- e(X). n(X) :- m(X,_), not m(_,X). X = Y :- m(Z,X), m(Z,Y).",
        "e(1,2). n(X,C) :- e(X,_), C = mcount(X). m(X) :- n(X,C), C < 3.",  # not in recursion
        "e(1,2). n(X,0) :- e(X,_). n(X,C) :- e(Y,X), n(Y,D), D > 0, C = mcount(Y), C >= 1, 0 < C.",
        "e(1,2,3). d(X,D) :- e(X,_,D). d(X,D) :- d(Y,A), e(Y,X,W), A < 9, D = mmin(A + W), !(D > 9).",
        "e(1,2). s(X,{1}) :- e(X,_). s(X,S) :- e(Y,X), s(Y,T), 1 in T, S = munion(T).",
        "#F :- own(X,_,_), N = mcount(X), N > 9. own(1,2,0.5).",
        # what is added up by several rules, but of different groups, or not shown, or in one rule
        'a(1,2). t(X,"in",N) :- a(Y,X), N = count(Y). t(X,"out",N) :- a(X,Y), N = count(Y).',
        "a(1,2). t(X,X,N) :- a(X,Y), N = count(Y). t(X,Y,N) :- a(X,Y), X != Y, a(Y,Z), N = count(Z).",
        "a(1,2). t(X,N) :- a(X,Y), X != 1, N = count(Y). t(1,N) :- a(_,Y), N = count(Y).",
        "a(1,2). b(1). t(X,N) :- a(X,Y), b(X), N = count(Y). t(Z,N) :- a(Y,Z), not b(Z), N = count(Y).",
        "a(1,2). t(X) :- a(X,Y), N = count(Y), N > 1. t(X) :- a(Y,X), N = count(Y), N > 1.",
        "a(1,2). t(X,N) :- a(X,Y), N = mmax(Y). t(X,N) :- a(Y,X), N = mmax(Y).",
        "a(1,2). t(X,N), t(Y,N) :- a(X,Y), N = count(Z), a(Y,Z).",
        # facts and plain rules beside an aggregate
        "a(1,2). t(3,4). t(1,0). t(X,X) :- a(X,_). t(X,N) :- a(X,Y), N = mmax(Y).",
        "a(1,2). t(3,{4}). t(X,{1}) :- a(X,_). t(X,N) :- a(X,Y), N = munion(Y).",
        "a(1,2). t(3,4). t(X,X) :- a(X,_). t(X,N) :- a(X,Y), N = count(Y).",  # all of them stay
        "a(1,2). t(X,0) :- a(X,_). t(X,N) :- a(X,Y), N = mcount(Y).",
        "a(1,2). t(3,3,1). t(X,X,1) :- a(X,_). t(X,Y,N) :- a(X,Y), X != Y, N = mcount(Y).",
    ],
)
def test_no_warning(text: str) -> None:
    assert warned(text) == ""


@pytest.mark.parametrize(
    ("condition", "undone"),
    [
        ("C == 2", True),
        ("C != 2", True),
        ("C - 5 <= 0", True),
        ("5 - C >= 0", True),
        ("!(C * 2 > 4)", True),
        ("C * -2 > -4", True),
        ("C / -2 < -4", False),
        ("C > 1 && C < 3", True),
        ("T = C + 1, T < 3", True),
        ("C in [1,2]", True),
        ("C * X < 3", False),  # nobody knows the sign of X
        ("X < 3", False),
        ("C - D < 3", False),
    ],
)
def test_which_conditions_a_greater_value_undoes(condition: str, undone: bool) -> None:
    text = f"e(1,2). n(X,0) :- e(X,_). n(X,C) :- e(Y,X), n(Y,D), C = mcount(Y), {condition}."
    if "D <" in condition:  # visible before the aggregation only
        text = "e(1,2). n(X,1) :- e(X,_). n(X,C) :- e(Y,X), n(Y,D), n(Y,E), D - E < 3, C = mcount(Y)."
    assert ("W508" in warned(text)) == undone


# Lifting


def test_nulls_of_parts_do_not_meet() -> None:
    lifted = lift(load_text("q(1,2). p(X,N,#f(Y)) :- q(X,Y)."))
    rule = next(r for r in lifted.rules if r.head.predicate == "p")
    assert rule.inventions == (Invention("N", "1:N", ("Part", "X", "Y")),)
    assert steps(rule) == ["_T1 = #f(Part, Y)"]


@pytest.mark.parametrize("clause", ["X = Y :- q(X,Y).", "#F :- q(X,X)."])
def test_equalities_are_not_lifted(clause: str) -> None:
    with pytest.raises(ValueError, match="equalities or constraints cannot be lifted"):
        lift(load_text(f"q(1,2). {clause}"))
