"""The checker: what a checked program says, and every diagnostic with its full text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import ProgramError, render_all
from kgreason.base.resources import resource
from kgreason.graph.induced.lifted import lift
from kgreason.language.check.checked_program import Keyed
from kgreason.language.check.genericity import check_generic
from kgreason.language.check.program_checker import examine_file, load_file, load_text, restricted
from kgreason.language.syntax.syntax_tree import Program
from tests.language.test_parser import EXAMPLE, PIECES, PROGRAMS

CONTROL = """@edge("own").
control(X,X) :- company(X).
control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.
controlled(Y) :- control(X,Y), X != Y.
ultimateC(X,Y) :- control(X,Y), X != Y, not controlled(X).
"""


def errors(text: str) -> str:
    with pytest.raises(ProgramError) as caught:
        load_text(text)
    return str(caught.value)


def codes(text: str) -> list[str]:
    with pytest.raises(ProgramError) as caught:
        load_text(text)
    return [d.code for d in caught.value.diagnostics if d.severity == "error"]


def test_strata_of_control() -> None:
    program = load_text(CONTROL)
    assert [(set(s.predicates), s.recursive) for s in program.strata] == [
        ({"control"}, True),
        ({"controlled"}, False),
        ({"ultimateC"}, False),
    ]
    assert program.outputs == ("control", "controlled", "ultimateC")
    assert program.derived == ("control", "ultimateC")
    assert program.arities == {"control": 2, "company": 1, "own": 3, "controlled": 1, "ultimateC": 2}


def test_order_of_a_rule() -> None:
    program = load_text(
        "p(X,S) :- T > 1, B = A + 1, e(X,Y), A = Y * 2, X != 0, S = msum(B,<Y>), T = S * 2, not f(X,_)."
    )
    (rule,) = program.rules
    assert [str(s) for s in rule.before] == ["X != 0", "A = Y * 2", "B = A + 1"]
    assert [str(s) for s in rule.after] == ["T = S * 2", "T > 1"]
    assert rule.aggregation is not None
    assert (rule.aggregation.group, rule.aggregation.contributors) == (("X",), ("Y",))
    assert program.keyed == {"p": Keyed(1, "greatest")}


def test_equation_filters_what_is_bound() -> None:
    (rule,) = load_text("p(X) :- e(X,Y), X = Y, Z = X, Z = 3.").rules
    assert [str(s) for s in rule.before] == ["X == Y", "Z = X", "Z == 3"]


def test_contributors_by_default() -> None:
    text = "d(X,Y,D) :- e(X,Y,W), D = mmin(W). d(X,Z,D) :- d(X,Y,A), e(Y,Z,W), D = mmin(A+W)."
    program = load_text(text)
    found = [r.aggregation.contributors for r in program.rules if r.aggregation]
    assert found == [("X", "Y", "W"), ("X", "Y", "Z", "W")]
    assert program.keyed == {"d": Keyed(2, "least")}


@pytest.mark.parametrize(
    ("text", "contributors"),
    [
        ("mcount(Y)", ("Y",)),
        ("count(Y)", ("Y",)),
        ("mcount()", ("X", "Y", "W")),
        ("mcount(1)", ("X", "Y", "W")),
    ],
)
def test_counting(text: str, contributors: tuple[str, ...]) -> None:
    (rule,) = load_text(f"p(X,C) :- e(X,Y,W), C = {text}.").rules
    assert rule.aggregation is not None
    assert (rule.aggregation.argument, rule.aggregation.contributors) == (None, contributors)


def test_several_heads_share_the_group() -> None:
    program = load_text("p(X,S), q(Y) :- e(X,Y,W), S = msum(W).")
    groups = {r.head.predicate: r.aggregation.group for r in program.rules if r.aggregation}
    assert groups == {"p": ("X", "Y"), "q": ("X", "Y")}
    assert program.keyed == {"p": Keyed(1, "greatest")}


def test_annotations() -> None:
    program = load_text(
        """@input("own"). @output("p"). @node("company"). @edge("own"). @incoming_sum("own", 1).
        @bind("own", "csv useHeaders=true, delimiter=';' quote=\\"'\\"", "data", "a.csv").
        @bind("own", "pajek", "", "/b.net"). @mapping("own", 2, "share", "float"). @query("q"). @derived("p").
        p(X,Y) :- own(X,Y,_), company(X). q(X) :- p(X,_)."""
    )
    assert program.inputs == ("own",)
    assert (program.nodes, program.edges, program.queries) == (("company",), ("own",), ("q",))
    assert (program.outputs, program.derived, program.incoming_sums) == (("p",), ("p",), {"own": 1.0})
    first, second = program.binds
    assert (first.source, first.path) == ("csv", "data/a.csv")
    assert first.options == {"useHeaders": "true", "delimiter": ";", "quote": "'"}
    assert (second.source, second.path) == ("net", "/b.net")
    assert [(m.position, m.column, m.type) for m in program.mappings] == [(2, "share", "double")]


def test_paths_are_relative_to_the_rule_file(tmp_path: Path) -> None:
    file = tmp_path / "a.vada"
    file.write_text('@bind("own","csv","","own.csv"). p(X) :- own(X,_).', encoding="utf-8")
    assert load_file(file).binds[0].path == str(tmp_path / "own.csv")


def test_restricted() -> None:
    program = load_text(CONTROL + "other(X) :- company(X). company(1).")
    assert restricted(program, ["controlled"]).heads == {"control", "controlled"}


@pytest.mark.parametrize("name", ["control", "ultimate_controller", "reachability", "holding"])
def test_rule_library(name: str) -> None:
    program = load_file(resource("rules", f"{name}.vada"))
    assert not program.warnings
    assert not check_generic(program)
    assert program.queries


def test_functions_may_be_predicates() -> None:
    (rule,) = load_text('@input("contains"). p(X) :- contains(X,Y).').rules
    assert [a.predicate for a in rule.positives] == ["contains"]
    (rule,) = load_text('q("a"). p(X) :- q(X), contains(X,"a"), not string:starts_with(X,"b").').rules
    assert [a.predicate for a in rule.positives] == ["q"]
    assert [str(s) for s in rule.before] == ['contains(X, "a")', '!string:starts_with(X, "b")']


ERRORS = {
    "E009": ("% nothing\n", "error[E009]: <text> holds no fact, no rule and no annotation"),
    "E101": (
        "q(1). p(X) :- q(X), Wieght > 2, r(Weight). r(1).",
        """\
<text>:1:21: error[E101]: the variable Wieght is not bound
  1 | q(1). p(X) :- q(X), Wieght > 2, r(Weight). r(1).
    |                     ^^^^^^
  note: a variable of a condition, an assignment or an aggregate needs a value: \
from a positive atom of the body or an assignment
  help: did you mean Weight?""",
    ),
    "E102": (
        "p(1). p(X).",
        """\
<text>:1:9: error[E102]: the fact holds the variable X
  1 | p(1). p(X).
    |         ^
  note: a fact consists of constants
  help: write "X" for a string, or give the clause a body""",
    ),
    "E103": (
        "q(1,2). p(S) :- q(X,Y), q(X,Y > 1), S = 1. p(msum(X)) :- q(X,_).",
        """\
<text>:1:29: error[E103]: `Y > 1` cannot be an argument of an atom
  1 | q(1,2). p(S) :- q(X,Y), q(X,Y > 1), S = 1. p(msum(X)) :- q(X,_).
    |                             ^^^^^
  note: arguments are values; a condition is an item of the body by itself
  help: if its value is meant, assign it in the body: `Value = Y > 1`

<text>:1:46: error[E103]: `msum(X)` cannot be an argument of an atom
  1 | q(1,2). p(S) :- q(X,Y), q(X,Y > 1), S = 1. p(msum(X)) :- q(X,_).
    |                                              ^^^^^^^
  note: arguments are values; a condition is an item of the body by itself
  help: if its value is meant, assign it in the body: `Value = msum(X)`""",
    ),
    "E104": (
        "q(1).\nq(1,2).",
        """\
<text>:2:1: error[E104]: `q` has 2 arguments here and 1 elsewhere
  2 | q(1,2).
    | ^^^^^^
  <text>:1:1: with 1 argument
  1 | q(1).
    | ^^^^
  note: a predicate has the same number of arguments everywhere""",
    ),
    "E105": (
        "q(1). p(X) :- q(X), A = B + 1, B = A - 1.",
        """\
<text>:1:21: error[E105]: assignments need each other: A -> B -> A
  1 | q(1). p(X) :- q(X), A = B + 1, B = A - 1.
    |                     ^^^^^^^^^
  <text>:1:32: `B = A - 1`
  1 | q(1). p(X) :- q(X), A = B + 1, B = A - 1.
    |                                ^^^^^^^^^
  note: an assignment computes the value of a variable from others; it is no equation to solve
  help: bind one of the variables in an atom""",
    ),
    "E106": (
        "m(1).\np(X) :- m(X), not q(X).\nq(X) :- r(X).\nr(X) :- p(X).",
        """\
<text>:2:15: error[E106]: `p` depends on its own negation: p -> q -> r -> p
  2 | p(X) :- m(X), not q(X).
    |               ^^^^^^^^
  <text>:2:15: `p` depends on `q` under `not`
  2 | p(X) :- m(X), not q(X).
    |               ^^^^^^^^
  <text>:3:9: `q` depends on `r`
  3 | q(X) :- r(X).
    |         ^^^^
  <text>:4:9: `r` depends on `p`
  4 | r(X) :- p(X).
    |         ^^^^
  note: all of a predicate must be known before it is negated or aggregated: no cycle may do so
  help: negate a predicate that does not depend on this one""",
    ),
    "E106 aggregate": (
        "p(1,1). p(X,S) :- p(X,Y), S = avg(Y).",
        """\
<text>:1:19: error[E106]: `p` depends on an aggregate of itself: p -> p
  1 | p(1,1). p(X,S) :- p(X,Y), S = avg(Y).
    |                   ^^^^^^
  <text>:1:19: `p` depends on `p` under an aggregate
  1 | p(1,1). p(X,S) :- p(X,Y), S = avg(Y).
    |                   ^^^^^^
  note: all of a predicate must be known before it is negated or aggregated: no cycle may do so
  help: use a monotonic aggregate (msum, mprod, mcount, mmin, mmax, munion), or aggregate in a later rule""",
    ),
    "E107": (
        "q(1). p(X) :- q(X), X + 1.",
        """\
<text>:1:21: error[E107]: `X + 1` is no condition
  1 | q(1). p(X) :- q(X), X + 1.
    |                     ^^^^^
  note: a body consists of atoms, negations, assignments and conditions that are true or false
  help: compare it, as in `X + 1 > 0`""",
    ),
    "E107 operand": (
        "q(1). p(X) :- q(X), X = 1 || X = 2.".replace("X = 2", "X == 2"),
        """\
<text>:1:25: error[E107]: `||` takes a condition, and `1` is none
  1 | q(1). p(X) :- q(X), X = 1 || X == 2.
    |                         ^
  note: conditions are comparisons and booleans, joined by `&&`, `||` and `!`
  help: inside of an expression, equality is written `==`""",
    ),
    "E108": (
        "q(1). p(Y) :- q(X), Y = absolute(X) + subst(X).",
        """\
<text>:1:25: error[E108]: there is no function `absolute`
  1 | q(1). p(Y) :- q(X), Y = absolute(X) + subst(X).
    |                         ^^^^^^^^^^^
  note: an expression holds no predicates
  help: functions of your own are written in Python, under @kgreason.function, and given by --functions FILE.py

<text>:1:39: error[E108]: there is no function `subst`
  1 | q(1). p(Y) :- q(X), Y = absolute(X) + subst(X).
    |                                       ^^^^^^^^
  note: an expression holds no predicates
  help: did you mean `substring`?""",
    ),
    "E108 negation": (
        "q(1). r(1,2). p(X) :- q(X), !r(X,_).",
        """\
<text>:1:30: error[E108]: there is no function `r`
  1 | q(1). r(1,2). p(X) :- q(X), !r(X,_).
    |                              ^^^^^^
  note: `!` negates conditions, and an expression holds no predicates
  help: negation of atoms is `not`: `not r(X, _)`; a function of your own needs --functions FILE.py""",
    ),
    "E101 in": (
        "q([1,2]). p(X) :- q(L), X in L.",
        """\
<text>:1:25: error[E101]: the variable X is not bound
  1 | q([1,2]). p(X) :- q(L), X in L.
    |                         ^
  note: a variable of a condition, an assignment or an aggregate needs a value: \
from a positive atom of the body or an assignment
  help: `in` tests and binds nothing; nothing takes a list apart: keep its elements in facts of their own""",
    ),
    "E107 comma": (
        "own(1,2,0.5). p(X) :- own(X,_,W), W>=0,05.",
        """\
<text>:1:40: error[E107]: `5` is no condition
  1 | own(1,2,0.5). p(X) :- own(X,_,W), W>=0,05.
    |                                        ^^
  note: a body consists of atoms, negations, assignments and conditions that are true or false
  help: a decimal point is written `.`: `0.05`""",
    ),
    "E110": (
        "q(1,2). p(X,S,T) :- q(X,Y), S = msum(Y), T = mmax(Y).",
        """\
<text>:1:42: error[E110]: a rule has one aggregate at most
  1 | q(1,2). p(X,S,T) :- q(X,Y), S = msum(Y), T = mmax(Y).
    |                                          ^^^^^^^^^^^
  <text>:1:29: the first one
  1 | q(1,2). p(X,S,T) :- q(X,Y), S = msum(Y), T = mmax(Y).
    |                             ^^^^^^^^^^^
  note: an aggregation groups the matches of the body; a second one would have none to group
  help: write one rule for each and join their results""",
    ),
    "E111": (
        "q(1,2). p(X) :- q(X,Y), msum(Y,<Y>) > 2.",
        """\
<text>:1:25: error[E111]: `msum(Y, <Y>)` must be the whole right side of an assignment
  1 | q(1,2). p(X) :- q(X,Y), msum(Y,<Y>) > 2.
    |                         ^^^^^^^^^^^
  help: write `Total = msum(Y, <Y>)` and use Total""",
    ),
    "E111 bound": (
        "q(1,2). p(X) :- q(X,Y), Y = msum(X).",
        """\
<text>:1:29: error[E111]: `msum(X)` must be the whole right side of an assignment
  1 | q(1,2). p(X) :- q(X,Y), Y = msum(X).
    |                             ^^^^^^^
  note: Y has a value already, so that `=` compares
  help: write `Total = msum(X)`, Total == Y""",
    ),
    "E112": (
        "q(1,2). p(X,S) :- q(X,Y), S = msum(<Y>).",
        """\
<text>:1:31: error[E112]: `msum` has nothing to aggregate
  1 | q(1,2). p(X,S) :- q(X,Y), S = msum(<Y>).
    |                               ^^^^^^^^^
  help: write `msum(X, <C>)`: the values X, one for each contributor C""",
    ),
    "E113": (
        "q(1,2). p(X) :- q(X,Y), S = msum(Y), S > Y.",
        """\
<text>:1:42: error[E113]: the variable Y has no value after the aggregation
  1 | q(1,2). p(X) :- q(X,Y), S = msum(Y), S > Y.
    |                                          ^
  note: after `S = msum(Y)` each group has one result, and the group is the head variables
  help: put Y into the head, or the condition into another rule""",
    ),
    "E114": (
        "q(1,2). r(3). p(X) :- q(X,Y), S = msum(Y), not r(S).",
        """\
<text>:1:48: error[E114]: `not r(S)` uses a value of the aggregation
  1 | q(1,2). r(3). p(X) :- q(X,Y), S = msum(Y), not r(S).
    |                                                ^^^^
  note: negated atoms are tested before the aggregation
  help: derive the aggregate in one rule and negate in a second one""",
    ),
    "E115": (
        "q(1,2). p(X,S) :- q(X,Y), S = mmin(Y). p(S,X) :- q(X,Y), S = mmin(Y).",
        """\
<text>:1:40: error[E115]: `p` has aggregates in more than one way
  1 | q(1,2). p(X,S) :- q(X,Y), S = mmin(Y). p(S,X) :- q(X,Y), S = mmin(Y).
    |                                        ^^^^^^
  note: a predicate with a monotonic aggregate has one value for each key, at one position in all \
of its rules, and either always the greatest value or always the least
  help: use a predicate for each""",
    ),
    "E116": (
        "p(1,2). p(X,T) :- p(X,Y), S = msum(Y), T = S * 2.",
        """\
<text>:1:9: error[E116]: the head of a recursive rule holds a value computed from the aggregate S
  1 | p(1,2). p(X,T) :- p(X,Y), S = msum(Y), T = S * 2.
    |         ^^^^^^
  note: an aggregate in recursion improves step by step, and only its own value is replaced
  help: put S into the head, and compute in a rule that reads `p`""",
    ),
    "E117": (
        "q(1,2). p(X,S) :- q(X,Y), S = msum(Y,[Y],[Y]).",
        """\
<text>:1:31: error[E117]: the group [Y] differs from the one of the head [X]
  1 | q(1,2). p(X,S) :- q(X,Y), S = msum(Y,[Y],[Y]).
    |                               ^^^^^^^^^^^^^^^
  note: the group of an aggregate is the other variables of the head
  help: write `msum(Y, <Y>)`""",
    ),
    "E119": (
        "q(1,2). p(X,S) :- q(X,Y), S = msum(Y). p(X,S) :- q(X,Y), S = mmax(Y).",
        """\
<text>:1:40: error[E119]: argument 2 of `p` is a max here and a sum elsewhere
  1 | q(1,2). p(X,S) :- q(X,Y), S = msum(Y). p(X,S) :- q(X,Y), S = mmax(Y).
    |                                        ^^^^^^
  <text>:1:9: a sum here
  1 | q(1,2). p(X,S) :- q(X,Y), S = msum(Y). p(X,S) :- q(X,Y), S = mmax(Y).
    |         ^^^^^^
  note: an aggregated position of a predicate holds the results of one function
  help: use a predicate for each""",
    ),
    "E119 null": (
        "q(1). p(X,Y) :- q(X). p(X,S) :- q(X), S = mcount(X).",
        """\
<text>:1:11: error[E119]: argument 2 of `p` is a null here and an aggregate elsewhere
  1 | q(1). p(X,Y) :- q(X). p(X,S) :- q(X), S = mcount(X).
    |           ^
  note: a null is neither greater nor less than a value, so that none of the two could be kept
  help: use a predicate for each""",
    ),
    "E120": (
        "p(1,2). Owner = Holder :- p(Owner,Holders).",
        """\
<text>:1:17: error[E120]: the variable Holder of the equality is not bound in the body
  1 | p(1,2). Owner = Holder :- p(Owner,Holders).
    |                 ^^^^^^
  note: `X = Y :- ...` makes one of two values that its body finds
  help: did you mean Holders?""",
    ),
    "E121": (
        "q(1). p(Y) :- q(X), Y = substring(X), contains(X).",
        """\
<text>:1:25: error[E121]: `substring` does not take 1 argument
  1 | q(1). p(Y) :- q(X), Y = substring(X), contains(X).
    |                         ^^^^^^^^^^^^
  note: the function is substring(string, int [, int])

<text>:1:39: error[E121]: `contains` does not take 1 argument
  1 | q(1). p(Y) :- q(X), Y = substring(X), contains(X).
    |                                       ^^^^^^^^^^^
  note: the function is contains(any, any)""",
    ),
    "E122": (
        "q(1). p(X) :- q(X), X in {1, #T}.",
        """\
<text>:1:26: error[E122]: the set `{1, #T}` mixes booleans and numbers
  1 | q(1). p(X) :- q(X), X in {1, #T}.
    |                          ^^^^^^^
  note: a set holds booleans or numbers, not both; integers become doubles beside doubles
  help: write a list: [...]""",
    ),
    "E123": (
        'q(1). p(Y) :- q(X), Y = sqrt("2"), Z = substring("ab", 1.5), contains(3, X), X !in 3.',
        """\
<text>:1:30: error[E123]: `sqrt` takes a number as argument 1, and `"2"` is a string
  1 | q(1). p(Y) :- q(X), Y = sqrt("2"), Z = substring("ab", 1.5), contains(3, X), X !in 3.
    |                              ^^^
  note: the function is sqrt(number)

<text>:1:56: error[E123]: `substring` takes an int as argument 2, and `1.5` is a double
  1 | q(1). p(Y) :- q(X), Y = sqrt("2"), Z = substring("ab", 1.5), contains(3, X), X !in 3.
    |                                                        ^^^
  note: the function is substring(string, int [, int])
  help: write `floor(1.5)` or `round(1.5)`

<text>:1:71: error[E123]: `contains` takes a string, a list or a set as argument 1, and `3` is an int
  1 | q(1). p(Y) :- q(X), Y = sqrt("2"), Z = substring("ab", 1.5), contains(3, X), X !in 3.
    |                                                                       ^
  note: the function is contains(any, any)

<text>:1:84: error[E123]: `!in` takes a list or a set, and `3` is an int
  1 | q(1). p(Y) :- q(X), Y = sqrt("2"), Z = substring("ab", 1.5), contains(3, X), X !in 3.
    |                                                                                    ^
  note: `X in [1, 2]` and `X in {1, 2}` test whether X is one of the elements
  help: write `X != 3`""",
    ),
    "E124": (
        """q(1). p(Y) :- q(X), Y = 2024-01-15 - X, Z = {X} + {1}, "1" < 2, V = X * "2", W = "n" + X % 2.""",
        """\
<text>:1:25: error[E124]: `-` takes numbers, and `2024-01-15` is a date
  1 | q(1). p(Y) :- q(X), Y = 2024-01-15 - X, Z = {X} + {1}, "1" < 2, V = X * "2", W = "n" + X % 2.
    |                         ^^^^^^^^^^
  note: arithmetic is for numbers; `+` joins strings and lists as well
  help: write `diff(A, B)` for the days from B to A

<text>:1:45: error[E124]: `+` takes no dates or sets, and `{X}` is a set
  1 | q(1). p(Y) :- q(X), Y = 2024-01-15 - X, Z = {X} + {1}, "1" < 2, V = X * "2", W = "n" + X % 2.
    |                                             ^^^
  note: `+` adds two numbers, or joins two strings or two lists

<text>:1:62: error[E124]: `<` takes a string here, and `2` is an int
  1 | q(1). p(Y) :- q(X), Y = 2024-01-15 - X, Z = {X} + {1}, "1" < 2, V = X * "2", W = "n" + X % 2.
    |                                                              ^
  note: an order is within one type; integers and doubles compare
  help: write `as_string(2)`

<text>:1:73: error[E124]: `*` takes numbers, and `"2"` is a string
  1 | q(1). p(Y) :- q(X), Y = 2024-01-15 - X, Z = {X} + {1}, "1" < 2, V = X * "2", W = "n" + X % 2.
    |                                                                         ^^^
  note: arithmetic is for numbers; `+` joins strings and lists as well
  help: write `as_int("2")` or `as_double("2")`

<text>:1:88: error[E124]: `+` takes a string here, and `X % 2` is a number
  1 | q(1). p(Y) :- q(X), Y = 2024-01-15 - X, Z = {X} + {1}, "1" < 2, V = X * "2", W = "n" + X % 2.
    |                                                                                        ^^^^^
  note: `+` adds two numbers, or joins two strings or two lists
  help: write `as_string(X % 2)`""",
    ),
    "E202": (
        "q(1). p(Y) :- q(X), Y = llm:ask(X), Z = strng:concat(X).",
        """\
<text>:1:25: error[E202]: library functions (`llm:`) are not supported by this version
  1 | q(1). p(Y) :- q(X), Y = llm:ask(X), Z = strng:concat(X).
    |                         ^^^^^^^^^^
  note: the libraries are collections:, date:, math:, nullManagement:, string:, type:

<text>:1:41: error[E202]: library functions (`strng:`) are not supported by this version
  1 | q(1). p(Y) :- q(X), Y = llm:ask(X), Z = strng:concat(X).
    |                                         ^^^^^^^^^^^^^^^
  note: the libraries are collections:, date:, math:, nullManagement:, string:, type:
  help: did you mean `string:concat`?""",
    ),
    "E203": (
        "q(1). p(X) :- q(X), [-] r(X).",
        """\
<text>:1:21: error[E203]: temporal operator: `[-] r(X)` is not supported by this version
  1 | q(1). p(X) :- q(X), [-] r(X).
    |                     ^^^^^^^^""",
    ),
    "E205": (
        "q(1). <-> p(X) :- q(X).",
        """\
<text>:1:7: error[E205]: temporal operator: not supported by this version
  1 | q(1). <-> p(X) :- q(X).
    |       ^^^^^^^^^^^^^^^^^""",
    ),
    "E207": (
        '@bind("p","mysql","db","t"). q(X) :- p(X).',
        """\
<text>:1:11: error[E207]: the source 'mysql' is not supported by this version
  1 | @bind("p","mysql","db","t"). q(X) :- p(X).
    |           ^^^^^^^""",
    ),
    "E301": (
        '@ouput("p"). p(1).',
        """\
<text>:1:1: error[E301]: there is no annotation @ouput
  1 | @ouput("p"). p(1).
    | ^^^^^^^^^^^
  note: the annotations are @input @output @bind @qbind @mapping @post @param @include \
@module @label @node @edge @derived @query @sensitive @incoming_sum
  help: did you mean @output?""",
    ),
    "E302": (
        '@bind("p","csv","p.csv"). q(X) :- p(X).',
        """\
<text>:1:1: error[E302]: wrong arguments of @bind
  1 | @bind("p","csv","p.csv"). q(X) :- p(X).
    | ^^^^^^^^^^^^^^^^^^^^^^^^
  help: write @bind("predicate", "csv useHeaders=true", "folder", "file.csv")""",
    ),
    "E303": (
        '@edge("own"). p(X) :- own(X).',
        """\
<text>:1:1: error[E303]: @edge: `own` has 1 argument
  1 | @edge("own"). p(X) :- own(X).
    | ^^^^^^^^^^^^
  note: an edge predicate has a source, a target and perhaps a weight""",
    ),
    "E304": (
        '@query("holdng"). holding(X) :- q(X). q(1).',
        """\
<text>:1:1: error[E304]: @query: no rule derives `holdng`
  1 | @query("holdng"). holding(X) :- q(X). q(1).
    | ^^^^^^^^^^^^^^^^
  help: did you mean 'holding'?""",
    ),
    "E305": (
        '@param("a",1). @param("a",2). q(${a}).',
        """\
<text>:1:16: error[E305]: the parameter 'a' has two values
  1 | @param("a",1). @param("a",2). q(${a}).
    |                ^^^^^^^^^^^^^
  <text>:1:1: the first one
  1 | @param("a",1). @param("a",2). q(${a}).
    | ^^^^^^^^^^^^^
  note: a file sets the parameters of the files that it includes; otherwise a parameter has one value
  help: keep one of them""",
    ),
    "E307": (
        '@bind("p","cvs","","p.csv"). q(X) :- p(X).',
        """\
<text>:1:11: error[E307]: there is no source 'cvs'
  1 | @bind("p","cvs","","p.csv"). q(X) :- p(X).
    |           ^^^^^
  note: the sources are bods, csv, duckdb, edges, gleif, gml, graphml, json, konect, """
        """mtx, neo4j, net, pajek, parquet, postgresql, rdf, sqlite, tsv
  help: did you mean 'csv'?""",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(name: str) -> None:
    text, expected = ERRORS[name]
    assert errors(text) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("q(1,2). p(X,C) :- q(X,Y), C = mcount(Y+1).", "E112"),
        ("q(1,2). p(X,C) :- q(X,Y), C = msum(X,Y,<Y>).", "E012"),
        ("q(1). p(X) :- q(_), Y = X.", "E101"),
        ("q(1). p(X,[Y]) :- q(X).", "E101"),
        ("q(1). p(X) :- q(X), not r([X,Y]).", "E101"),
        ("q(1). p(X) :- q(X), abs(X).", "E107"),
        ("q(1). p(X) :- q(X), #f(X).", "E107"),
        ("q(1). p(X) :- q(X), not upper(X), X && substring(X,1).", "E107"),
        ("q(1). p(Y) :- q(X), Y = math:sqr(X).", "E108"),
        ("p(#f(X)).", "E102"),
        ("p(1 > 0).", "E103"),
        ("q(1). p(X) :- q(X), r(f(X)).", "E108"),
        ("q(1). p(X) :- q(X), msum(X,<X>).", "E107"),
        ("q(1). p(X) :- q(X), [-] r(X).", "E203"),
        ("q(1). p(X) :- [0,5] q(X).", "E205"),
        ("q(1). p(X) :- q(X), [0, 5] q(X).", "E205"),
        ("q(1). p(X) :- q(X) S[0,1] q(X).", "E205"),
        ("q(1). p(X) :- q(X) U q(X).", "E205"),
        ('@library("sns:","snowFlake"). q(1).', "E206"),
        ('@executionMode("x"). q(1).', "E206"),
        ("@timeGranularity(days). q(1).", "E206"),
        ("q(1). p(X,S) :- q(X), S = mssum(X,<X>).", "E012"),
        ("q(1). p(X,S) :- q(X), r(Y), S = mcount([Z],[Y]).", "E117"),
        ("p(X) <- SELECT * FROM q.", "E205"),
        ('@mapping("p",5,"c","int"). p(1).', "E303"),
        ('@mapping("p",-1,"c","int"). p(1).', "E302"),
        ('@mapping("p",0,"c","integr"). p(1).', "E302"),
        ('@mapping("p",0,"c","int"). @mapping("p",0,"d","int"). p(1).', "E305"),
        ('@incoming_sum("own",1.0). p(X) :- own(X,_,_).', "E304"),
        ('@edge("own"). @incoming_sum("own",-1). p(X) :- own(X,_,_).', "E302"),
        ('@bind("p","csv delimiter","","f"). q(X) :- p(X).', "E302"),
        ('@output("Not a name"). p(1).', "E302"),
        ('@derived("d"). d(X) :- q(X). q(1).', "E303"),
        ("p(1,1). p(X,S) :- p(X,Y), S = msum(Y), not p(X,3).", "E106"),
    ],
)
def test_code(text: str, code: str) -> None:
    assert code in codes(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "q(1). p(X) :- q(X), !contain(X,1).",
            "did you mean `contains`? negation of atoms is `not`: `not contain(X, 1)`",
        ),
        ("q(1). p(X) :- q(X), X > 0, 5.", "compare it, as in `5 > 0`"),  # no decimal comma: there is a space
        ("q(1). p(X,Y) :- q(X), Y = 0,5.", "a decimal point is written `.`: `0.5`"),
        ("q(1). p(X) :- q(X), X > 0.5,5.", "compare it, as in `5 > 0`"),
    ],
)
def test_hints(text: str, hint: str) -> None:
    with pytest.raises(ProgramError) as caught:
        load_text(text)
    assert [d.hint for d in caught.value.diagnostics] == [hint]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('p(X) :- q(X), startsWith(X,"A"). q("A").', "did you mean the function starts_with?"),
        ('p(X) :- q(X), contain(X,"A"). q("A").', "did you mean the function contains?"),
        (
            'p(X) :- q(X), startsWith(X). q("A").',
            'if its facts come from outside, say so: @input("startsWith")',
        ),
    ],
)
def test_atoms_that_are_meant_as_functions(text: str, hint: str) -> None:
    (warning,) = load_text(text).warnings
    assert (warning.code, warning.hint) == ("W501", hint)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(X) :- a(X), X > ${q}, X + ${q} < 3, X in ${q}, Y = sqrt(${q}), X < Y. a(1).", ["E306"]),
        ('@param("l", [1,2]). p(X) :- a(X), X in ${l}. a(1).', ["E013"]),
        ('@param("a", ${b}). @param("b", ${a}). p(X) :- a(X), X > ${a}. a(1).', ["E015"]),
        ('p(X) :- a(X), X > "${q}". a(1).', ["E306"]),
        (
            '@include("contrl"). @output("control"). @derived("control"). @incoming_sum("own", 1). '
            "big(X) :- control(X,Y), X != Y.",
            ["E321"],
        ),
    ],
)
def test_one_error_brings_no_others(text: str, expected: list[str]) -> None:
    with pytest.raises(ProgramError) as caught:
        load_text(text)
    assert list(dict.fromkeys(d.code for d in caught.value.diagnostics)) == expected


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            '@bind("p", "duckdb", "out", "res.duckdb", "p").',
            '@bind("predicate", "duckdb", "file.db", "table")',
        ),
        (
            '@bind("p", "sqlite columns=a").',
            '@bind("predicate", "sqlite", "file.db", "table")',
        ),
        ('@bind("p", "tsv").', '@bind("predicate", "csv useHeaders=true", "folder", "file.csv")'),
    ],
)
def test_form_of_a_bind(text: str, hint: str) -> None:
    with pytest.raises(ProgramError) as caught:
        load_text(text + " q(X) :- p(X).")
    assert [(d.code, d.hint) for d in caught.value.diagnostics if d.code == "E302"] == [
        ("E302", f"write {hint}")
    ]


def test_good_clauses_are_checked_beside_syntax_errors() -> None:
    text = (
        "own(1,2,0.5).\nbig(X) :- own(X,_,W), w>0.5.\nt(X) :- own(X,Y), Z > 1.\ncontrol(X,Y) :- own(X,Z,W), W>0.5."
        "\nu(X) :- big(X), nobody(X).\nn(X) :- own(X,_,_), not n(X)."
    )
    assert codes(text) == ["E001", "E104", "E101", "E106"]
    with pytest.raises(ProgramError) as caught:
        load_text(text)
    found = {(d.span and d.span.line, d.code) for d in caught.value.diagnostics}
    assert found == {(2, "E001"), (3, "E104"), (3, "E101"), (4, "W507"), (6, "E106")}  # no W501 of `big`


def test_variable_of_a_negation_is_existential_there() -> None:
    program = load_text("n(1). e(1,2). sink(X) :- n(X), not e(X,Y).")
    assert program.rules[0].negatives[0].variables == ("X", "Y")


@pytest.mark.parametrize(
    ("clause", "code"),
    [
        ("g(X) :- own(X).", "E104"),
        ("g(Y) :- own(X,_), Y = foo(X).", "E108"),
        ("g(S) :- own(X,_), S = mssum(X,<X>).", "E012"),
        ("g(Y) :- own(X,_), Y = 2001-02-30.", "E014"),
        ("g(Y) :- own(X,_), Y = ${no}.", "E306"),
    ],
)
def test_typos_are_told_beside_other_errors(clause: str, code: str) -> None:
    with pytest.raises(ProgramError) as caught:
        load_text(f'@output("contol"). @input("onw"). own(1,2). f(X) :- comtrol(X,Y). {clause}')
    found = [d.code for d in caught.value.diagnostics]
    assert found.count(code) == 1
    assert {"E304", "W503", "W501"} < {*found}


@pytest.mark.parametrize(
    "text",
    [
        '@input("own"). p(X,Y) :- #TC(own)(X,Y).',
        '@input("own"). p(X,Y) :- [-] own(X,Y).',
        '@input("own"). p(X) <- SELECT X FROM own.',
        '@input("own"). p(X,Y) :- q(X) S[0,1] own(Y).',
        '@bind("own","mysql","db","own"). @output("p"). p(X,Y) :- #TC(own)(X,Y).',
    ],
)
def test_nothing_is_missing_where_something_is_refused(text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        load_text(text)
    assert {d.code for d in caught.value.diagnostics} <= {"E203", "E205", "E207"}


def test_facts_that_nothing_needs() -> None:
    (warning,) = load_text('@output("a"). p(1). a(X) :- p(X). z(2). z(3). a(4).').warnings
    assert (warning.code, warning.span and warning.span.column) == ("W510", 35)
    assert warning.message == "`z` has facts, but no output and no rule needs them"
    assert warning.hint == 'show it: @output("z"), or leave its facts out'
    assert load_text("p(1). a(X) :- p(X). z(2).").warnings == ()
    assert load_text('@output("a"). @node("z"). p(1). a(X) :- p(X). z(2).').warnings == ()


@pytest.mark.parametrize(
    ("written", "hint"),
    [("msum(W,Y)", "msum(W, <Y>)"), ("msum(W,X,Y)", "msum(W, <X, Y>)"), ("msum(W,Y+1)", "msum(W, <C>)")],
)
def test_help_with_the_variables_of_the_aggregate(written: str, hint: str) -> None:
    with pytest.raises(ProgramError) as caught:
        load_text(f"q(1,2,3). p(X,S) :- q(X,Y,W), S = {written}.")
    assert [(d.code, d.hint) for d in caught.value.diagnostics] == [("E112", f"write `{hint}`")]


def test_all_errors_of_a_file_in_the_order_of_the_text() -> None:
    text = "p(X) :- q(X), contains(X).\nr(a).\ns(X) :- p(X,X), t(X) .\n@foo(1).\nu(X) :- v(X), not w(X).\nw(X) :- u(X)."
    assert codes(text) == ["E121", "E010", "E104", "E301", "E106"]


def test_warnings_do_not_stop() -> None:
    text = "company(1). p(X,S) :- compny(X), p(X,Y), S = sum(Y)."
    program = load_text(text)
    assert (
        render_all(program.warnings, text)
        == """\
<text>:1:23: warning[W501]: `compny` has no facts, no rules and no source in this file
  1 | company(1). p(X,S) :- compny(X), p(X,Y), S = sum(Y).
    |                       ^^^^^^^^^
  help: did you mean 'company'?

<text>:1:46: warning[W502]: `sum` in recursion is read as `msum`
  1 | company(1). p(X,S) :- compny(X), p(X,Y), S = sum(Y).
    |                                              ^^^^^^
  note: only a monotonic aggregate has a meaning in recursion
  help: write `msum`"""
    )
    (rule,) = program.rules
    assert rule.aggregation is not None
    assert (rule.aggregation.function, rule.aggregation.monotonic) == ("msum", True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '@edge("anteile"). c(X,Y) :- anteil(X,Y,W), W > 0.5. @input("anteil").',
            "<text>:1:1: warning[W503]: @edge: no rule and no fact mentions `anteile`\n"
            '  1 | @edge("anteile"). c(X,Y) :- anteil(X,Y,W), W > 0.5. @input("anteil").\n'
            "    | ^^^^^^^^^^^^^^^^\n  help: did you mean 'anteil'?",
        ),
        ('@node("compny"). company("A").', "@node: no rule and no fact mentions `compny`"),
        ('@mapping("owm",0,"a","int"). own(1).', "@mapping: no rule and no fact mentions `owm`"),
        ('@bind("shares","csv","","f.csv"). own(1).', 'if only data hold it, say so: @output("shares")'),
        ('@input("shares"). own(1).', "@input: no rule and no fact mentions `shares`"),
        ('@edge("links"). own(1).', 'if only data hold it, say so: @input("links")'),
    ],
)
def test_annotations_of_what_nothing_mentions(text: str, words: str) -> None:
    (warning,) = load_text(text).warnings
    assert warning.code == "W503"
    assert words in warning.render(text)


@pytest.mark.parametrize(
    "text",
    [
        '@input("own"). @output("own").',
        '@bind("own","csv","","f.csv"). @output("own").',
        '@bind("own","csv","","f.csv"). @edge("own"). @incoming_sum("own",1.0).',
        '@input("n"). @node("n").',
    ],
)
def test_data_without_rules(text: str) -> None:
    assert load_text(text).warnings == ()


def test_missing_vertices_and_misspelt_edges() -> None:
    text = '@edge("own"). c(X,X) :- company(X). c(X,Y) :- own(X,Y,W), W > 0.5.'
    (warning,) = load_text(text).warnings
    assert warning.hint == (
        'if it holds for every vertex, say so: @node("company"); if its facts come from outside: '
        '@input("company")'
    )
    assert "help: did you mean 'own'?" in errors('@edge("own"). @incoming_sum("owns",1). c(X) :- own(X,_,_).')


def test_unreadable_files(tmp_path: Path) -> None:
    latin = tmp_path / "latin.vada"
    latin.write_bytes(b'p(1).\np("\xe9").')
    missing = tmp_path / "missing.vada"
    assert [d.render() for d in examine_file(latin).diagnostics] == [
        f"error[E008]: {latin}: line 2 is not UTF-8 text (byte 0xe9)\n"
        "  note: rule files are UTF-8\n  help: save the file as UTF-8"
    ]
    assert [d.render() for d in examine_file(missing).diagnostics] == [
        f"error[E007]: cannot read {missing}: No such file or directory\n  help: the folder holds latin.vada"
    ]
    assert [d.code for d in examine_file(tmp_path).diagnostics] == ["E007"]
    for path in (latin, missing, tmp_path):
        with pytest.raises(ProgramError):
            load_file(path)


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "windows.vada"
    file.write_bytes(b"\xef\xbb\xbf% text\r\np(1).\r\nq(X) :- p(X).\r\n")
    assert load_file(file).outputs == ("q",)


def test_many_rules_in_a_chain() -> None:
    text = "p0(1). " + " ".join(f"p{i + 1}(X) :- p{i}(X)." for i in range(1500))
    assert len(load_text(text).strata) == 1500


@settings(deadline=None)
@given(PROGRAMS)
def test_any_tree_is_checked_or_diagnosed(program: Program) -> None:
    check_all(str(program))


@settings(deadline=None)
@given(st.integers(0, len(EXAMPLE)), st.integers(0, 8), st.lists(PIECES, max_size=4).map("".join))
def test_any_mutation_is_checked_or_diagnosed(start: int, length: int, patch: str) -> None:
    check_all(EXAMPLE[:start] + patch + EXAMPLE[start + length :])


def check_all(text: str) -> None:
    """Take a text through the whole front end."""
    try:
        program = load_text(text)
    except ProgramError as error:
        render_all(error.diagnostics, text)
        return
    render_all((*program.warnings, *check_generic(program)), text)
    if not (program.unifications or program.denials):
        lift(restricted(program, program.outputs), "its_own_part")


# Rules for anonymization


def generic(text: str) -> str:
    program = load_text(text)
    return render_all(check_generic(program), program.text)


NOTE = "  note: an anonymized graph has new vertex names, so that rules must treat all vertices alike\n"
HINT = "  help: compare vertices with vertices only, by `==` and `!=`"
GENERIC = {
    "E401": (
        "reach(X,Y) :- own(X,Y).",
        """\
error[E401]: no @edge says which predicate holds the edges of the graph
  help: add @edge("own") with the name of your predicate

<text>:1:1: error[E406]: `reach` is no derived edge: not both of its arguments are vertices
  1 | reach(X,Y) :- own(X,Y).
    | ^^^^^^^^^^
  note: without any @derived, every binary output counts as derived edges
  help: name the derived edges of your rules: @derived("...")""",
    ),
    "E402": (
        '@edge("own"). @node("company"). @node("bank"). p(X,Y) :- company(X,"IT"), own(X,Y), bank(Y).',
        """\
error[E402]: there are several @node predicates: company, bank
  note: (k,x)-isomorphism does not protect what distinguishes kinds of vertices
  help: keep one of them

<text>:1:58: error[E402]: the @node predicate `company` has attributes
  1 | @edge("own"). @node("company"). @node("bank"). p(X,Y) :- company(X,"IT"), own(X,Y), bank(Y).
    |                                                          ^^^^^^^^^^^^^^^
  note: attributes of vertices are not protected by (k,x)-isomorphism
  help: use a predicate of the vertex alone: company(X)""",
    ),
    "E403": (
        '@edge("own"). p(X) :- own("Acme", X).',
        """\
<text>:1:27: error[E403]: the constant "Acme" is at a vertex position of `own`
  1 | @edge("own"). p(X) :- own("Acme", X).
    |                           ^^^^^^
"""
        + NOTE
        + HINT,
    ),
    "E403 fact": (
        '@edge("own"). own("a","b"). p(X) :- own(X,Y).',
        """\
<text>:1:19: error[E403]: the fact names the vertex "a"
  1 | @edge("own"). own("a","b"). p(X) :- own(X,Y).
    |                   ^^^
"""
        + NOTE
        + "  help: put the graph into a file: rules and data are published apart",
    ),
    "E404": (
        '@edge("own"). p(X) :- own(X,Y), Y != "Acme".',
        """\
<text>:1:33: error[E404]: the vertex Y is compared with the constant "Acme"
  1 | @edge("own"). p(X) :- own(X,Y), Y != "Acme".
    |                                 ^^^^^^^^^^^
"""
        + NOTE
        + HINT,
    ),
    "E404 join": (
        '@edge("own"). listed("Acme"). p(X) :- own(X,Y), listed(X).',
        """\
<text>:1:56: error[E404]: the vertex X meets argument 1 of `listed`, which is no vertex of the graph
  1 | @edge("own"). listed("Acme"). p(X) :- own(X,Y), listed(X).
    |                                                        ^
"""
        + NOTE
        + HINT,
    ),
    "E405": (
        '@edge("own"). p(X) :- own(X,Y), X < Y.',
        """\
<text>:1:33: error[E405]: `X < Y` compares vertices by their names
  1 | @edge("own"). p(X) :- own(X,Y), X < Y.
    |                                 ^^^^^
"""
        + NOTE
        + HINT,
    ),
    "E405 aggregate": (
        '@edge("own"). p(X) :- own(X,Y), M = mmax(Y), M > 3.',
        """\
<text>:1:42: error[E405]: `mmax` aggregates vertices
  1 | @edge("own"). p(X) :- own(X,Y), M = mmax(Y), M > 3.
    |                                          ^
"""
        + NOTE
        + "  help: count them (mcount), or use them as contributors: <X>",
    ),
    "E408": (
        '@edge("own"). p(X,Z) :- own(X,Y,W). q(X,Y) :- own(X,Y,W), V = #f(W), V == #f(W).',
        """\
<text>:1:15: error[E406]: `p` is no derived edge: not both of its arguments are vertices
  1 | @edge("own"). p(X,Z) :- own(X,Y,W). q(X,Y) :- own(X,Y,W), V = #f(W), V == #f(W).
    |               ^^^^^^
  note: without any @derived, every binary output counts as derived edges
  help: name the derived edges of your rules: @derived("...")

<text>:1:15: error[E408]: the rule invents a null for Z, which anonymization cannot follow
  1 | @edge("own"). p(X,Z) :- own(X,Y,W). q(X,Y) :- own(X,Y,W), V = #f(W), V == #f(W).
    |               ^^^^^^^^^^^^^^^^^^^^^
  note: an anonymized graph is judged by the edges that rules derive from vertices and weights alone
  help: leave the rule out of the rule file for anonymization

<text>:1:37: error[E408]: the rule makes the null `#f(W)`, which anonymization cannot follow
  1 | @edge("own"). p(X,Z) :- own(X,Y,W). q(X,Y) :- own(X,Y,W), V = #f(W), V == #f(W).
    |                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  note: an anonymized graph is judged by the edges that rules derive from vertices and weights alone
  help: leave the rule out of the rule file for anonymization""",
    ),
    "E408 equality": (
        '@edge("own"). X = Y :- own(X,Y,W), W > 0.9. #F :- own(X,X,W). p(X,Y) :- own(X,Y,_).',
        """\
<text>:1:15: error[E408]: the rule merges values that its body finds, which anonymization cannot follow
  1 | @edge("own"). X = Y :- own(X,Y,W), W > 0.9. #F :- own(X,X,W). p(X,Y) :- own(X,Y,_).
    |               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  note: an anonymized graph is judged by the edges that rules derive from vertices and weights alone
  help: leave the rule out of the rule file for anonymization

<text>:1:45: error[E408]: the rule is a constraint, which anonymization cannot follow
  1 | @edge("own"). X = Y :- own(X,Y,W), W > 0.9. #F :- own(X,X,W). p(X,Y) :- own(X,Y,_).
    |                                             ^^^^^^^^^^^^^^^^^
  note: an anonymized graph is judged by the edges that rules derive from vertices and weights alone
  help: leave the rule out of the rule file for anonymization""",
    ),
    "E408 function": (
        '@edge("own"). p(X,Y) :- own(X,Y,W), starts_with(X,"A"), abs(W) > 0.5.',
        """\
<text>:1:37: error[E408]: `starts_with(X, "A")` takes the vertex X
  1 | @edge("own"). p(X,Y) :- own(X,Y,W), starts_with(X,"A"), abs(W) > 0.5.
    |                                     ^^^^^^^^^^^^^^^^^^
"""
        + NOTE
        + "  help: functions may take weights and counts",
    ),
    "E406": (
        '@edge("own"). @derived("p"). p(X,W) :- own(X,_,W).',
        """\
<text>:1:30: error[E406]: `p` is no derived edge: not both of its arguments are vertices
  1 | @edge("own"). @derived("p"). p(X,W) :- own(X,_,W).
    |                              ^^^^^^
  note: without any @derived, every binary output counts as derived edges
  help: name the derived edges of your rules: @derived("...")""",
    ),
}


def test_an_output_that_nothing_mentions_is_an_error() -> None:
    with pytest.raises(ProgramError) as caught:
        load_text('@output("contol"). control(1).')
    (found,) = caught.value.diagnostics
    assert (found.code, found.hint) == ("E304", "did you mean 'control'?")
    assert found.message == "@output: no rule and no fact mentions `contol`"


def test_a_side_table_is_not_published() -> None:
    text = '@edge("own"). p(X,Y) :- own(X,Y,W), limit(L), W > L.'
    assert (
        generic(text)
        == """\
<text>:1:37: error[E407]: `limit` is neither derived nor part of the graph
  1 | @edge("own"). p(X,Y) :- own(X,Y,W), limit(L), W > L.
    |                                     ^^^^^^^^
  note: an anonymized graph is its vertices and edges; other tables are not published with it
  help: write the facts of `limit` into the rule file, or annotate it with @edge or @node"""
    )
    assert generic(text + " limit(0.5).") == ""


@pytest.mark.parametrize("name", GENERIC)
def test_not_generic(name: str) -> None:
    text, expected = GENERIC[name]
    assert generic(text) == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("p(X) :- own(X,Y,W), Z = X, Z + 1 > 2.", "E405"),
        ("p(X) :- q(X), X > 3. q(Y) :- own(_,Y,_).", "E405"),
        ('p(X) :- own(X,Y,W). p("Acme") :- own(X,Y,W).', "E403"),
        ('p(X) :- own(X,Y,W), not own("Acme",X,W).', "E403"),
        ("p(X) :- own(X,Y,W). p(W) :- own(X,Y,W).", "E404"),
        ("p(X) :- own(X,Y,W), X == W.", "E404"),
        ('p(X) :- own(X,Y,W), X in ["a"].', "E404"),
        ("p(X) :- own(X,Y,W), Z = [Y], Z != [].", "E408"),
        ("p(X) :- own(X,Y,W), S = munion(Y), contains(S, 1).", "E405"),
    ],
)
def test_not_generic_by_flow(text: str, found: str) -> None:
    assert found in generic(f'@edge("own"). {text}')


@pytest.mark.parametrize(
    "text",
    [
        "p(X) :- own(X,Y,W), X != Y, W > 0.5.",
        "p(X) :- own(X,Y,W), not own(Y,X,_), C = mcount(Y), C > 1.",
        "p(X) :- own(X,Y,W), Z = X, Z == Y, V = msum(W,<Y>), V * 2 > 1.",
        "p(X) :- own(X,Y,W), limit(W). limit(0.5).",
        "p(X) :- own(X,Y,W), round(W) in [0, 1], not between(W, 0.2, 0.3).",
    ],
)
def test_generic(text: str) -> None:
    assert generic(f'@edge("own"). {text}') == ""
