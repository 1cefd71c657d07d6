"""Text to syntax tree: lexing, round trips, and every syntax error with its full text."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import ProgramError, render_all
from kgreason.language.syntax import clauses
from kgreason.language.syntax.parser import parse, read
from kgreason.language.syntax.syntax_tree import (
    Aggregate,
    Annotation,
    Atom,
    Binary,
    Call,
    Clause,
    Collection,
    Condition,
    Constant,
    Constraint,
    Equality,
    Equation,
    Fact,
    Negation,
    Program,
    Rule,
    Skolem,
    Unsupported,
    UnsupportedClause,
    Variable,
)
from kgreason.language.values import Value
from tests.examples import inputs
from tests.syntax import PIECES, PROGRAMS

X, Y, Z, W = (Variable(n) for n in "XYZW")


def body(text: str) -> tuple[object, ...]:
    """Items of the one rule ``p(X) :- text.``."""
    (rule,) = parse(f"p(X) :- {text}.").clauses
    assert isinstance(rule, Rule)
    return rule.body


def values(text: str) -> list[object]:
    """Arguments of the fact ``p(text).``."""
    (fact,) = parse(f"p({text}).").clauses
    assert isinstance(fact, Fact)
    return [a.value if isinstance(a, Constant) else a for a in fact.atom.arguments]


def test_rule() -> None:
    (rule,) = parse("control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.").clauses
    assert rule == Rule(
        (Atom("control", (X, Z)),),
        (
            Atom("control", (X, Y)),
            Atom("own", (Y, Z, W)),
            Equation(Variable("V"), Aggregate("msum", W, (Y,))),
            Condition(Binary(">", Variable("V"), Constant(0.5))),
        ),
    )


@pytest.mark.parametrize("text", ["W > 0.", "W > 0 .", "W>0.% note", "W > 0.\n", "W > 0. q(1)."])
def test_end_after_integer(text: str) -> None:
    rule = parse(f"p(X) :- {text}").clauses[0]
    assert isinstance(rule, Rule)
    assert rule.body == (Condition(Binary(">", W, Constant(0))),)


def test_end_after_double() -> None:
    assert body("X = 0.00 ") == (Equation(X, Constant(0.0)),)
    assert body("X > 0.5") == (Condition(Binary(">", X, Constant(0.5))),)


def test_left_arrow_and_comparison_with_a_negative_number() -> None:
    (rule,) = parse("p(X) <- q(X), X<-1.").clauses
    assert rule == Rule((Atom("p", (X,)),), (Atom("q", (X,)), Condition(Binary("<", X, Constant(-1)))))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-1", -1),
        ("007", 7),
        ("1.5", 1.5),
        ("2E3", 2000.0),
        ("2.71f", 2.71),
        ("1e-7", 1e-7),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775807", 2**63 - 1),
        ("#T", True),
        ("#F", False),
        ('""', ""),
        ('"a""b"', 'a"b'),
        ('"""a"""', '"a"'),
        (r'"a\"b\\c\n\t"', 'a"b\\c\n\t'),
        ('"two\nlines"', "two\nlines"),
        ('"% no comment"', "% no comment"),
        (r'"\${x}"', "${x}"),
    ],
)
def test_constants(text: str, value: object) -> None:
    (found,) = values(text)
    assert (found, type(found)) == (value, type(value))


def test_empty_strings_beside_each_other() -> None:
    assert values('"","a",""') == ["", "a", ""]


def test_comment_or_remainder() -> None:
    assert body("q(X), X % 2 == 0") == (
        Atom("q", (X,)),
        Condition(Binary("==", Binary("%", X, Constant(2)), Constant(0))),
    )
    assert body("q(X) % the rest\n, X > 1 % of it is text\n") == (
        Atom("q", (X,)),
        Condition(Binary(">", X, Constant(1))),
    )
    assert body("q(X), % X, too\n r(X)") == (Atom("q", (X,)), Atom("r", (X,)))


def test_documentation_is_the_block_right_above() -> None:
    text = "%% of the file\n\n%% One.\n%% Two.\n% a comment\np(1).\n%% Rule.\nq(X) :- p(X). %% after\n"
    fact, rule = parse(text).clauses
    assert isinstance(fact, Fact)
    assert isinstance(rule, Rule)
    assert (fact.documentation, rule.documentation) == ("", "Rule.")
    (fact,) = parse("%% One.\n%% Two.\np(1).").clauses
    assert isinstance(fact, Fact)
    assert fact.documentation == "One.\nTwo."


def test_names_of_aggregates_and_operators_are_predicates_too() -> None:
    (rule,) = parse("mmin(X) :- msum(X,Y), count(X), in(Y), not max(X), sum().").clauses
    assert rule == Rule(
        (Atom("mmin", (X,)),),
        (
            Atom("msum", (X, Y)),
            Atom("count", (X,)),
            Atom("in", (Y,)),
            Negation(Atom("max", (X,))),
            Atom("sum", ()),
        ),
    )


@pytest.mark.parametrize(
    ("text", "aggregate"),
    [
        ("mcount()", Aggregate("mcount", None, None)),
        ("mcount(1)", Aggregate("mcount", Constant(1), None)),
        ("mcount(<X,Y>)", Aggregate("mcount", None, (X, Y))),
        ("sum(1,<Y>)", Aggregate("sum", Constant(1), (Y,))),
        ("sum(W)", Aggregate("sum", W, None)),
        ("msum(W,[X],[Y])", Aggregate("msum", W, (Y,), groups=(X,))),
        ("msum(W,[X,Y])", Aggregate("msum", W, None, groups=(X, Y))),
        ("mcount([X],[Y])", Aggregate("mcount", None, (Y,), groups=(X,))),
        ("mmin(W+1)", Aggregate("mmin", Binary("+", W, Constant(1)), None)),
    ],
)
def test_forms_of_aggregates(text: str, aggregate: Aggregate) -> None:
    assert body(f"Z = {text}") == (Equation(Z, aggregate),)


def test_precedence() -> None:
    (condition,) = body("X + Y * -Z % 2 < 3 && !X == Y || #T")
    assert str(condition) == "((X + ((Y * -Z) % 2)) < 3) && (!(X == Y)) || #T".replace(
        "((X", "(((X", 1
    ).replace("(!(X == Y))", "(!(X == Y)))")
    assert body("X - Y - Z > 0")[0] == Condition(Binary(">", Binary("-", Binary("-", X, Y), Z), Constant(0)))
    assert body("X <> Y")[0] == Condition(Binary("!=", X, Y))
    assert body("(X = 1) || (Y = 2)")[0] == Condition(
        Binary("||", Binary("==", X, Constant(1)), Binary("==", Y, Constant(2)))
    )


def test_anonymous_variables_are_all_different() -> None:
    atom = body("q(_, _1, _tmp, _)")[0]
    assert isinstance(atom, Atom)
    assert len(set(atom.arguments)) == 4
    assert str(atom) == "q(_, _, _, _)"


def test_zero_arity() -> None:
    assert parse("p. q :- p(), not r.").clauses == (
        Fact(Atom("p", ())),
        Rule((Atom("q", ()),), (Atom("p", ()), Negation(Atom("r", ())))),
    )


def test_parameters() -> None:
    text = 'p(${n}, "${n}|${name}|${n}"). @param("n", 5). @param("name", "x"). q(X) :- p(X,_), X > ${n}.'
    fact, _, _, rule = parse(text).clauses
    assert fact == Fact(Atom("p", (Constant(5), Constant("5|x|5"))))
    assert isinstance(rule, Rule)
    assert rule.body[1] == Condition(Binary(">", X, Constant(5)))


def test_annotations() -> None:
    text = '@output(control). @mapping("p",0,"c","int"). @incoming_sum("own",-1.5). @label("r") p(X) :- q(X).'
    assert parse(text).clauses == (
        Annotation("output", (Constant("control"),)),
        Annotation("mapping", (Constant("p"), Constant(0), Constant("c"), Constant("int"))),
        Annotation("incoming_sum", (Constant("own"), Constant(-1.5))),
        Annotation("label", (Constant("r"),)),
        Rule((Atom("p", (X,)),), (Atom("q", (X,)),), label="r"),
    )


@pytest.mark.parametrize(
    ("text", "feature"),
    [
        ("p(X) :- SELECT * FROM t.", "SQL in a rule body"),
        ("[+] p(X) :- q(X).", "temporal operator"),
        ("p(X) :- #TC(own).", "graph call #TC"),
        ("p(X) :- q(X), X = #GR(own, f([a]), 1).", "graph call #GR"),
    ],
)
def test_unsupported_clauses(text: str, feature: str) -> None:
    assert parse(text).clauses == (UnsupportedClause(feature, text),)


@pytest.mark.parametrize(("text", "feature"), [("#TC(X)", "graph call #TC"), ("#GR()", "graph call #GR")])
def test_unsupported_terms(text: str, feature: str) -> None:
    assert values(text) == [Unsupported(feature, text)]
    assert body(f"X = {text}") == (Equation(X, Unsupported(feature, text)),)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-01-15", datetime(2024, 1, 15)),
        ("0001-01-01", datetime(1, 1, 1)),
        ("2024-02-29 10:00", datetime(2024, 2, 29, 10)),
        ("2024-01-15 10:00:01", datetime(2024, 1, 15, 10, 0, 1)),
        ("2024-01-15T10:00:01.5", datetime(2024, 1, 15, 10, 0, 1, 500_000)),
    ],
)
def test_dates(text: str, value: Value) -> None:
    assert values(text) == [value]  # by the fast way for plain facts
    assert body(f"X = {text}") == (Equation(X, Constant(value)),)
    assert body(f"X = {text} ") == (Equation(X, Constant(value)),)
    assert parse(f"p({Constant(value)}).") == parse(f"p({text}).")


def test_a_difference_of_numbers_is_no_date() -> None:
    assert body("X = 2024 - 1 - 15") == body("X = 2024-1-15")
    assert values("2024-1-15") == [
        Binary("-", Binary("-", Constant(2024), Constant(1)), Constant(15)),
    ]


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("[]", Collection("list", ())),
        ("{}", Collection("set", ())),
        ('[1, "a", X]', Collection("list", (Constant(1), Constant("a"), X))),
        ("{1, {X}, [Y+1]}", None),
        ("#f()", Skolem("f", ())),
        ("#f(X, #g(Y), {1})", Skolem("f", (X, Skolem("g", (Y,)), Collection("set", (Constant(1),))))),
    ],
)
def test_collections_and_skolem_terms(text: str, node: object) -> None:
    if node is None:
        inner = Collection("list", (Binary("+", Y, Constant(1)),))
        node = Collection("set", (Constant(1), Collection("set", (X,)), inner))
    assert values(text) == [node]
    assert body(f"X = {text}") == (Equation(X, node),)  # type: ignore[arg-type]
    assert body(f"q({text}), not q({text})") == (
        Atom("q", (node,)),  # type: ignore[arg-type]
        Negation(Atom("q", (node,))),  # type: ignore[arg-type]
    )
    assert str(parse(f"p({text}) :- q({text}).")) == str(parse(str(parse(f"p({text}) :- q({text}).")))), text


def test_membership() -> None:
    numbers = Collection("set", (Constant(1), Constant(2)))
    assert body("X in {1,2}") == (Condition(Binary("in", X, numbers)),)
    assert body("X !in {1,2}") == body("X ! in {1,2}") == (Condition(Binary("!in", X, numbers)),)
    assert body("X in Y || X+1 in [1] ")[0] == Condition(
        Binary(
            "||",
            Binary("in", X, Y),
            Binary("in", Binary("+", X, Constant(1)), Collection("list", (Constant(1),))),
        )
    )


def test_remainder_in_collections() -> None:
    remainder = Binary("%", X, Constant(2))
    assert body("Y = [X % 2]") == (Equation(Y, Collection("list", (remainder,))),)
    assert body("Y in {X%2}") == (Condition(Binary("in", Y, Collection("set", (remainder,)))),)
    assert body("Y = X % math:abs(Z)") == (Equation(Y, Binary("%", X, Call("math:abs", (Z,)))),)


def test_library_calls() -> None:
    assert body("Y = string:concat(X, type:as_string(1))") == (
        Equation(Y, Call("string:concat", (X, Call("type:as_string", (Constant(1),))))),
    )


def test_equalities_and_constraints() -> None:
    items = (Atom("p", (X,)), Condition(Binary(">", X, Constant(1))))
    text = "X = Y :- p(X), X > 1. %% Never.\n#F <- p(X), X > 1.\n%% Doc.\n#F :- p(X), X > 1."
    equality, first, second = parse(text).clauses
    assert equality == Equality(X, Y, items)
    assert first == second == Constraint(items)
    assert isinstance(first, Constraint)
    assert isinstance(second, Constraint)
    assert (first.documentation, second.documentation) == ("", "Doc.")
    assert str(parse(text)) == "X = Y :- p(X), X > 1.\n#F :- p(X), X > 1.\n#F :- p(X), X > 1.\n"


@pytest.mark.parametrize(
    "text",
    [
        '@label("one") p(X) :- q(X). @label("two") X = X :- q(X). @label("three") #F :- q(X). r :- q(X).',
        '@label("one"). p(X) :- q(X). % c\n@label("two"). X = X :- q(X).'
        '@param("n", "three"). @label("${n}").\n\n#F :- q(X). r :- q(X).',
        '@label("one"). @output("p"). p(X) :- q(X). @label("two") @output("r") X = X :- q(X).'
        "@label(three) #F :- q(X). r :- q(X).",
    ],
)
def test_labels(text: str) -> None:
    def label(clause: Clause) -> str | None:
        return clause.label if isinstance(clause, Rule | Equality | Constraint) else None

    labels = [label(c) for c in parse(text).clauses]
    assert [text for text in labels if text is not None] == ["one", "two", "three", ""]


def test_probabilities_of_rules() -> None:
    text = """@param("often", 0.4). @label("a", ${often}) p(X) :- q(X). @label("b", 1). p(X) :- r(X).
    @label("c") p(X) :- s(X). p(X) :- t(X). @label("d", #T) p(X) :- u(X). @label("e", 1, 2) p(X) :- v(X)."""
    found = [c.weight for c in parse(text).clauses if isinstance(c, Rule)]
    assert found == [0.4, 1.0, None, None, None, None]
    assert [type(w) for w in found[:2]] == [float, float]


@pytest.mark.parametrize("broken", ["p(X) :- ;.", "p(X :- q(X).", "[+] p(X) :- q(X)."])
def test_a_label_does_not_slip_past_a_refused_rule(broken: str) -> None:
    program, found = read(f'@label("one") {broken}\n@label("two"). {broken} r(X) :- q(X).')
    assert {d.code for d in found} <= {"E001", "E003"}
    assert [c.label for c in program.clauses if isinstance(c, Rule)] == [""]


def test_parameters_in_any_order_and_through_each_other() -> None:
    text = (
        '@param("a", "<${b}>"). p(${a}, ${d}). @param("b", "${c}${c}"). @param("c", 5). @param("d", -${c}).'
    )
    fact = parse(text).clauses[1]
    assert fact == Fact(Atom("p", (Constant("<55>"), Constant(-5))))


def test_a_chain_of_three_thousand_parameters() -> None:
    text = (
        "".join(f'@param("a{i}", "${{a{i + 1}}}").' for i in range(3_000)) + '@param("a3000", 7). p(${a0}).'
    )
    assert parse(text).clauses[-1] == Fact(Atom("p", (Constant("7"),)))


def test_parameters_that_double_themselves() -> None:
    text = '@param("a0", "ha").' + "".join(f'@param("a{i + 1}", "${{a{i}}}${{a{i}}}").' for i in range(64))
    with pytest.raises(ProgramError, match=r"E019.*parameters make this string longer than 1,000,000"):
        parse(text)


def test_spans() -> None:
    rule = parse("a(1).\n  p(X) :-\n    q(X), X > 1 .").clauses[1]
    assert isinstance(rule, Rule)
    ends = [(n.span.line, n.span.column, n.span.end_line, n.span.end_column) for n in (rule, *rule.body)]
    assert ends == [(2, 3, 3, 18), (3, 5, 3, 9), (3, 11, 3, 16)]


ERRORS = {
    "E001 arrow": (
        "p(X) :- q(X) r(X).",
        """\
<text>:1:14: error[E001]: unexpected `r`
  1 | p(X) :- q(X) r(X).
    |              ^
  note: expected `.`, `,` or an operator""",
    ),
    "E001 end": (
        "p(X) :- q(X)\nr(X) :- s(X).",
        """\
<text>:2:1: error[E001]: unexpected `r`
  2 | r(X) :- s(X).
    | ^
  note: expected `.`, `,` or an operator
  help: the clause above may lack its final `.`""",
    ),
    "E001 chain": (
        "p(X) :- q(X), 1 < X < 5.",
        """\
<text>:1:21: error[E001]: unexpected `<`
  1 | p(X) :- q(X), 1 < X < 5.
    |                     ^
  note: expected `.`, `,` or an operator
  help: compare two values at a time: `X < Y, Y < Z`; write `==` inside of an expression""",
    ),
    "E001 plus": (
        "p(+2.5).",
        """\
<text>:1:3: error[E001]: unexpected `+`
  1 | p(+2.5).
    |   ^
  note: expected `(`, `)`, a predicate or a term
  help: numbers have no sign `+`: leave it out""",
    ),
    "E001 capital": (
        "p(X) :- Q(X).",
        """\
<text>:1:10: error[E001]: unexpected `(`
  1 | p(X) :- Q(X).
    |          ^
  note: expected `.`, `,` or an operator
  help: predicates begin with a small letter: `q(`""",
    ),
    "E001 comma": (
        "p(X) :- q(X), .",
        """\
<text>:1:15: error[E001]: unexpected `.`
  1 | p(X) :- q(X), .
    |               ^
  note: expected `(`, a predicate, `not` or a term
  help: remove the `,` before it""",
    ),
    "E002": (
        'p("a).',
        """\
<text>:1:3: error[E002]: this string is not closed
  1 | p("a).
    |   ^^^^
  note: a string runs from one double quote to the next, over several lines if need be
  help: end it with `"`""",
    ),
    "E002 lines": (
        'own("a","b,0.5).\nown("b","c",0.7).\nown("c","d",0.7).',
        """\
<text>:1:9: error[E002]: this string is probably not closed in its line
  1 | own("a","b,0.5).
    |         ^^^^^^^^
  <text>:3:11: the last double quote of the file, which has no partner
  3 | own("c","d",0.7).
    |           ^^^^^^^
  note: a string runs from one double quote to the next, over several lines if need be
  help: close it with `"` where it should end""",
    ),
    "E003 comment": (
        "/* One\n   or two. */ p(1).",
        """\
<text>:1:1: error[E003]: `/*` has no meaning here
  1 | /* One
    | ^^
  note: a comment begins with `%` and ends with its line
  help: begin each line of the comment with `%`

<text>:2:12: error[E001]: unexpected `*`
  2 |    or two. */ p(1).
    |            ^
  note: expected a predicate, an annotation or a term
  help: a comment begins with `%` and ends with its line""",
    ),
    "E003": (
        "p(X) :- q(X); r(X).",
        """\
<text>:1:13: error[E003]: the character `;` has no meaning here
  1 | p(X) :- q(X); r(X).
    |             ^
  help: write one rule for each alternative, and `,` between the conditions of one rule""",
    ),
    "E004": (
        "p(1).\nq(2)",
        """\
<text>:2:4: error[E004]: the clause has no end
  2 | q(2)
    |    ^
  note: every fact, rule and annotation ends with `.`
  help: put `.` here""",
    ),
    "E005": (
        "p(9223372036854775808).",
        """\
<text>:1:3: error[E005]: the integer 9223372036854775808 is too large
  1 | p(9223372036854775808).
    |   ^^^^^^^^^^^^^^^^^^^
  note: integers have 64 bits: -9223372036854775808 to 9223372036854775807
  help: write it as a double (with a decimal point) or as a string""",
    ),
    "E005 double": (
        "p(1e999).",
        """\
<text>:1:3: error[E005]: the double 1e999 is too large
  1 | p(1e999).
    |   ^^^^^
  note: doubles end near 1.8e308""",
    ),
    "E006": (
        "p(X) :- X = 1" + "+1" * 120 + ".",
        """\
<text>:1:13: error[E006]: this is nested more than 100 levels deep
  1 | p(X) :- X = 1"""
        + "+1" * 73
        + """+
    |             """
        + "^" * 100
        + """
  note: long chains of one operator count as nesting, too
  help: give names to parts of it: `Part = ...`""",
    ),
    "E010": (
        "p(alice).",
        """\
<text>:1:3: error[E010]: unexpected bare word `alice`
  1 | p(alice).
    |   ^^^^^
  note: arguments are constants and variables; variables begin with a capital letter
  help: write "alice" for the string, or `Alice` for a variable""",
    ),
    "E011": (
        r'p("C:\data").',
        r"""<text>:1:3: error[E011]: unknown escape `\d` in a string
  1 | p("C:\data").
    |   ^^^^^^^^^
  note: the escapes are \n \t \r \" \\ and \$
  help: write `\\` for a backslash""",
    ),
    "E012": (
        "p(X) :- q(X), V = msu(X,<X>).",
        """\
<text>:1:25: error[E012]: contributors `<X>` outside of an aggregate
  1 | p(X) :- q(X), V = msu(X,<X>).
    |                         ^^^
  note: `<...>` is the last argument of an aggregate such as msum; 'msu' is none
  help: did you mean 'msum'?""",
    ),
    "E013": (
        "@output([a]).",
        """\
<text>:1:9: error[E013]: `[a]` cannot be an argument of an annotation
  1 | @output([a]).
    |         ^^^
  note: arguments of annotations are strings, numbers, booleans, dates and bare words""",
    ),
    "E003 NUL": (
        'p("a").\nq("\0").',
        """\
<text>:2:4: error[E003]: the character U+0000 has no meaning here
  2 | q(" ").
    |    ^
  note: rules are text: they hold neither NUL nor halves of surrogate pairs
  help: if the file is UTF-16, save it as UTF-8""",
    ),
    "E003 surrogate": (
        "% \ud83d!\np(1).",
        """\
<text>:1:3: error[E003]: the character U+D83D has no meaning here
  1 | %  !
    |   ^
  note: rules are text: they hold neither NUL nor halves of surrogate pairs""",
    ),
    "E014 day": (
        "p(2023-02-29).",
        """\
<text>:1:3: error[E014]: there is no date 2023-02-29
  1 | p(2023-02-29).
    |   ^^^^^^^^^^
  note: the days of February 2023 run from 01 to 28""",
    ),
    "E014 month": (
        "p(X) :- q(X), X > 2023-13-01.",
        """\
<text>:1:19: error[E014]: there is no date 2023-13-01
  1 | p(X) :- q(X), X > 2023-13-01.
    |                   ^^^^^^^^^^
  note: a date is written year-month-day, and months run from 01 to 12""",
    ),
    "E014 year": (
        "p(0000-01-01).",
        """\
<text>:1:3: error[E014]: there is no date 0000-01-01
  1 | p(0000-01-01).
    |   ^^^^^^^^^^
  note: years run from 0001 to 9999""",
    ),
    "E014 time": (
        "p(2023-01-01 10:60:00).",
        """\
<text>:1:3: error[E014]: there is no date 2023-01-01 10:60:00
  1 | p(2023-01-01 10:60:00).
    |   ^^^^^^^^^^^^^^^^^^^
  note: hours run from 00 to 23, minutes and seconds from 00 to 59""",
    ),
    "E014 zone": (
        "p(2023-01-01T10:00+01:00).",
        """\
<text>:1:3: error[E014]: the date 2023-01-01T10:00+01:00 has a time zone
  1 | p(2023-01-01T10:00+01:00).
    |   ^^^^^^^^^^^^^^^^^^^^^^
  note: a date is a day, or a day and a time without a zone, exact to microseconds
  help: write 2023-01-01T10:00""",
    ),
    "E014 digits": (
        "p(2023-01-01 10:00:00.1234567).",
        """\
<text>:1:3: error[E014]: the date 2023-01-01 10:00:00.1234567 has more than six digits of a second
  1 | p(2023-01-01 10:00:00.1234567).
    |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  note: a date is a day, or a day and a time without a zone, exact to microseconds
  help: write 2023-01-01 10:00:00.123456""",
    ),
    "E015": (
        '@param("x", 1).\n@param("a", "${x}${b}").\n@param("b", "${c}").\n@param("c", "<${a}>").\np("${a}").',
        """\
<text>:2:1: error[E015]: the parameter 'a' needs itself: a -> b -> c -> a
  2 | @param("a", "${x}${b}").
    | ^^^^^^^^^^^^^^^^^^^^^^^
  <text>:3:1: 'b' is in the circle
  3 | @param("b", "${c}").
    | ^^^^^^^^^^^^^^^^^^^
  <text>:4:1: 'c' is in the circle
  4 | @param("c", "<${a}>").
    | ^^^^^^^^^^^^^^^^^^^^^
  note: the value of a parameter may hold other parameters, but not in a circle
  help: give one of them a value without `${...}`""",
    ),
    "E015 itself": (
        '@param("a", ${a}). p(${a}).',
        """\
<text>:1:1: error[E015]: the parameter 'a' needs itself: a -> a
  1 | @param("a", ${a}). p(${a}).
    | ^^^^^^^^^^^^^^^^^
  note: the value of a parameter may hold other parameters, but not in a circle
  help: give one of them a value without `${...}`""",
    ),
    "E016 mixed": (
        "p(X), X = Y :- q(X, Y).",
        """\
<text>:1:7: error[E016]: `X = Y` must be the only item of its head
  1 | p(X), X = Y :- q(X, Y).
    |       ^^^^^
  note: a head is one or more atoms, or one equality `X = Y`, or `#F`
  help: write a second clause with the same body""",
    ),
    "E016 mixed constraint": (
        "#F, p(X) :- q(X).",
        """\
<text>:1:1: error[E016]: `#F` must be the only item of its head
  1 | #F, p(X) :- q(X).
    | ^^
  note: a head is one or more atoms, or one equality `X = Y`, or `#F`
  help: write a second clause with the same body""",
    ),
    "E016 false": (
        "false :- p(X).",
        """\
<text>:1:1: error[E016]: `false` cannot be a head
  1 | false :- p(X).
    | ^^^^^
  note: a constraint `#F :- body` says that the body must never hold
  help: did you mean `#F`?""",
    ),
    "E016 true": (
        "#T :- p(X).",
        """\
<text>:1:1: error[E016]: `#T` cannot be a head
  1 | #T :- p(X).
    | ^^
  note: a constraint `#F :- body` says that the body must never hold""",
    ),
    "E017": (
        "X = Y.",
        """\
<text>:1:1: error[E017]: the equality `X = Y` has no body
  1 | X = Y.
    | ^^^^^
  note: `X = Y :- body` makes X and Y one value wherever the body holds""",
    ),
    "E017 constraint": (
        "#F.",
        """\
<text>:1:1: error[E017]: the constraint `#F` has no body
  1 | #F.
    | ^^
  note: `#F :- body` says that the body must never hold""",
    ),
    "E018": (
        '@label("one"). p(1).',
        """\
<text>:1:1: error[E018]: this label names no rule
  1 | @label("one"). p(1).
    | ^^^^^^^^^^^^^
  note: `@label("name")` names the rule, equality or constraint right after it""",
    ),
    "E306": (
        '@param("limit", 3). p(${limt}).',
        """\
<text>:1:23: error[E306]: there is no parameter 'limt'
  1 | @param("limit", 3). p(${limt}).
    |                       ^^^^^^^
  note: `${name}` is the value that @param("name", value) gives
  help: did you mean ${limit}?""",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(name: str) -> None:
    text, expected = ERRORS[name]
    with pytest.raises(ProgramError) as caught:
        parse(text)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("X == Y :- p(X,Y).", "an equality is written `X = Y :- ...`, with two variables"),
        ("X = 1 :- p(X).", "an equality is written `X = Y :- ...`, with two variables"),
        ("X != Y :- p(X,Y).", "an equality is written `X = Y :- ...`, with two variables"),
        ("False :- p(X).", "did you mean `#F`?"),
        (":- p(X).", "a constraint is written `#F :- ...`"),
        ("Control :- p(X).", "predicates begin with a small letter: `control`"),
        ("Control(X) :- p(X).", "predicates begin with a small letter: `control(`"),
        ("p(X) :- q(X), X not in {1}.", "write `!in`"),
        ("p(X) :- q(X), X in (1,2).", "a set is written `{1, 2}`, a list `[1, 2]`"),
        ("p(X) :- q(X), X in {1,2.", "a bracket is still open"),
        (
            "p(X, Y, P) :- e(X, Y), P={}|X|Y.",
            "write the set `{X, Y}`, or a list that can grow: `[X, Y]`, and `P = Q + [X]`",
        ),
        (
            "p(X, P) :- q(X, Y, Q), P=Q|Y, X !in Q.",
            "a collection that grows is kept as a list: `P = Q + [X]`",
        ),
        ("p(X, S) :- e(X, Y), S = {1, 2} | Y.", "a collection that grows is kept as a list: `P = Q + [X]`"),
        ("p(X, S) :- e(X, Y), S = munion({}|Y).", "write `munion(Y)`: it gathers single values, too"),
        (
            "p(S) :- e(X, Y), S = X & Y.",
            "there is no intersection: `X in S, X in T` asks whether both sets hold X",
        ),
        ("p(X) :- e(X, Y) | f(X, Y).", "write one rule for each alternative; `||` is the or of conditions"),
        (
            "p(X) :- e(X, Y), X > 3 & Y > 2.",
            "write `,` between the conditions of a rule; `&&` is the and of an expression",
        ),
        ("p(X) :- q(X,W), w > 0.5.", "variables begin with a capital letter: `W`"),
        ("p(X) :- q(X,W), W > 0.5, share + W < 1.", "variables begin with a capital letter: `Share`"),
        ("p(X) :- q(X,W), v = msum(W).", "variables begin with a capital letter: `V`"),
        ("p(X) :- q(X,W), W =< 1.", "write `<=`"),
        ("p(X) :- q(X,W), W => 1.", "write `>=`"),
        ("p(X) :- q(X,W), V is W.", "write `V = ...`"),
        ("/* a comment */ p(1).", "begin each line of the comment with `%`"),
        ("// a comment\np(1).", "begin each line of the comment with `%`"),
        ('p("a","b,1).\np("x;y","z",1).', 'the string that begins in line 1 may lack its closing `"`'),
        ("p(#f(a)).", 'write "a" for the string, or `A` for a variable'),
        ("p(#F1(1), a).", 'write "a" for the string, or `A` for a variable'),
    ],
)
def test_hints(text: str, hint: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse(text)
    assert [d.hint for d in caught.value.diagnostics] == [hint]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("p(X) :- q(X,W), W > 50%.", "`%` begins a comment; write 0.5 for `50%`"),
        ("p(X) :- q(X,W), W > 62.5 %, X != 1.\nr(1).", "`%` begins a comment; write 0.625 for `62.5%`"),
        ("p(X) :- q(X,W), W > 50 % half\nr(1).", "the clause above may lack its final `.`"),
        ("p(X) :- q(X,W), W > 50 %% half", "put `.` here"),
    ],
)
def test_percentages_in_rules(text: str, hint: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse(text)
    assert [d.hint for d in caught.value.diagnostics] == [hint]


def test_all_errors_together_and_the_good_clauses_parsed() -> None:
    text = "p(1).\nq(a).\nr(X) :- ;.\ns(2).\nt(X :- u(X).\nv(3)"
    program, found = read(text)
    assert [(d.code, d.span and d.span.line) for d in found] == [
        ("E010", 2),
        ("E003", 3),
        ("E001", 5),
        ("E004", 6),
    ]
    assert [str(c) for c in program.clauses] == ["p(1).", "s(2)."]


@pytest.mark.parametrize(
    "text",
    [
        "p(X) :- X = " + "(" * 1000 + "1" + ")" * 1000 + ".",
        "p(X) :- " + "!" * 5000 + "X.",
        "p(X) :- X = " + "-" * 5000 + "Y.",
        "p(X) :- X = " + "f(" * 1000 + "1" + ")" * 1000 + ".",
        "p(X) :- X = " + "[" * 1000 + "]" * 1000 + ".",
    ],
)
def test_deep_nesting_is_a_diagnostic(text: str) -> None:
    with pytest.raises(ProgramError, match="E006"):
        parse(text)


def test_integer_of_ten_thousand_digits() -> None:
    with pytest.raises(ProgramError, match="E005"):
        parse(f"p({'9' * 10_000}).")


def test_reading_stops_after_a_thousand_errors() -> None:
    program, found = read("p(;).\n" * 2_000 + "q(1).")
    assert len(found) == 1_001
    assert found[-1].render() == "<text>:1001:1: error[E019]: reading stops here, after 1,000 errors"
    assert program.clauses == ()


def test_ten_thousand_facts() -> None:
    text = "".join(f'own("c{i}","d{i}",0.{i}).\n' for i in range(10_000))
    assert len(parse(text).clauses) == 10_000


def test_import_is_light() -> None:
    code = "import sys, kgreason; kgreason.function; assert not {'lark', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# Round trips


@settings(deadline=None)
@given(PROGRAMS)
def test_source_parses_back(program: Program) -> None:
    assert parse(str(program)) == program


EXAMPLE = """%% doc
@bind("own","csv useHeaders=true delimiter=';'","","own.csv"). @param("q", 0.5).
control(X,X) :- company(X). p(#f(X), {1,2}, [3], 2024-01-15) :- X = Y % 2, _ > ${q}.
control(X,Z) <- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5, not r("a""b\\n"), X<-1.
X = Y :- p(X,Y). #F :- q.
@label("x") r(1) . s(-9223372036854775808, ${q}, "${q}") :- [-][0,1] p(X), llm:f(X)."""


@settings(deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=60))
def test_random_text_ends_in_diagnostics_at_worst(text: str) -> None:
    program, found = read(text)
    render_all(found, text)
    if not found:
        assert parse(str(program)) == program


@settings(deadline=None)
@given(st.integers(0, len(EXAMPLE)), st.integers(0, 8), st.lists(PIECES, max_size=4).map("".join))
def test_mutated_program_ends_in_diagnostics_at_worst(start: int, length: int, patch: str) -> None:
    text = EXAMPLE[:start] + patch + EXAMPLE[start + length :]
    program, found = read(text)
    render_all(found, text)
    if not found:
        assert parse(str(program)) == program


LINES = [
    'q("a", 1).',
    "q(-2, 0.5, -0.0, 1.5e3, #T).",
    "q(1). q(2).",
    "q(1). % last",
    "%% of q",
    "q(1e5).",
    "q(1.0e999).",
    "q(99999999999999999999).",
    'q("a""b").',
    'q("a\\n", "${v}").',
    'q("two',
    'lines").',
    "q(2024-01-15).",
    "  q(1).",
    "q(1) .",
    "q(X) :- r(X).",
    '@label("l").',
    '@param("v", 3).',
    "in(1).",
    "not(1).",
    "q(1,).",
    "q(1).\r",
    "",
    'q(" % ").',
    'q("',
]


@settings(max_examples=inputs(300), deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=8), st.sampled_from(["", "\n"]))
def test_facts_alone_in_their_lines_are_read_as_by_the_parser(lines, end):
    text = "\n".join(lines) + end
    quick = read(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clauses, "plain_facts", lambda text, start, line, file: ([], start))
        slow = read(text)
    assert repr(asdict(quick[0])) == repr(asdict(slow[0]))  # with all spans
    assert quick[1] == slow[1]


@pytest.mark.parametrize(
    ("rule", "written"),
    [
        ("p(X) -> q(X).", "q(X) :- p(X)."),
        ("p(X), r(X) => q(X).", "q(X) :- p(X), r(X)."),
        ("company(x)→control(x,x).", "control(X,X) :- company(X)."),
        (
            "control(x,y),own(y,z,w),v=sum(w),v>0.5→control(x,z).",
            "control(X,Z) :- control(X,Y),own(Y,Z,W),V=sum(W),V>0.5.",
        ),
        ("own(x,y,w), w > 0.5 -> control(x,y)", "control(X,Y) :- own(X,Y,W), W > 0.5."),
        (
            "own(x,y,w),x≠y,w≤1→reach(x,y)\nreach(x,z),own(z,y,w)→reach(x,y).",
            "reach(X,Y) :- own(X,Y,W),X!=Y,W<=1.",
        ),
        (
            "owns(x,y,w), % those of x\n k=sum(1,⟨y⟩),\n k≥2 ∧ not dead(x) → two(x), many(k).",
            "two(X), many(K) :- owns(X,Y,W), K=sum(1,<Y>), K>=2 , not dead(X).",
        ),
        (
            'a(x,"b -> c",w), math:abs(w) > ${q} ⇒ p(x, #f(w)).',
            'p(X, #f(W)) :- a(X,"b -> c",W), math:abs(W) > ${q}.',
        ),
    ],
)
def test_a_rule_that_begins_with_its_body_is_rewritten(rule: str, written: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse(f'@param("q", 1). {rule}')
    (found,) = caught.value.diagnostics
    assert found.code == "E126"
    assert found.hint == f"write `{written}`"
    assert parse(f'@param("q", 1). {written}').clauses


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("p(X) :- q(X), X -> 3.", "E001"),
        ("p(X) :- q(X) -> r(X).", "E001"),
        ("-> p(X).", "E001"),
        ('p("a -> b") q(1).', "E001"),
        ("p(x, y).", "E010"),
        ('@label("a") p(X) -> q(X).', "E126"),
    ],
)
def test_other_arrows(text: str, code: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse(text)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert "@" not in (found.hint or "")
