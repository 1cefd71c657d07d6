"""Text to syntax tree: lexing, round trips, and every syntax error with its full text."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.errors import ProgramError, render_all
from kgreason.lang.ast import (
    Aggregate,
    Annotation,
    Atom,
    Binary,
    Condition,
    Constant,
    Equation,
    Expression,
    Fact,
    Negation,
    Program,
    Rule,
    Unary,
    Unsupported,
    UnsupportedClause,
    Variable,
)
from kgreason.lang.parser import parse, read

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
        Rule((Atom("p", (X,)),), (Atom("q", (X,)),)),
    )


@pytest.mark.parametrize(
    ("text", "feature"),
    [
        ("X = Y :- p(X,Y).", "equality-generating dependency `X = Y :- ...`"),
        ("#F :- p(X).", "constraint `#F :- ...`"),
        ("p(X) :- SELECT * FROM t.", "SQL in a rule body"),
        ("[+] p(X) :- q(X).", "temporal operator"),
    ],
)
def test_unsupported_clauses(text: str, feature: str) -> None:
    assert parse(text).clauses == (UnsupportedClause(feature, text),)


@pytest.mark.parametrize(
    ("text", "feature"),
    [
        ("2024-01-15", "date"),
        ("2024-01-15 10:00:00", "date"),
        ("{1,2}", "set"),
        ('[1,"a"]', "list"),
        ("#f(X,Y)", "Skolem term #f"),
        ("#TC(X)", "graph call #TC"),
    ],
)
def test_unsupported_terms(text: str, feature: str) -> None:
    assert values(text) == [Unsupported(feature, text)]
    assert body(f"X = {text}") == (Equation(X, Unsupported(feature, text)),)


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
<text>:1:1: error[E006]: this is nested more than 100 levels deep
  1 | p(X) :- X = 1+1+1+1+1+1+1+1+1\
+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+\
1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+
    | """
        + "^" * 100
        + """
  note: long chains of one operator count as nesting, too
  help: give names to parts of it: `Part = ...`""",
    ),
    "E010": (
        "p(alice).",
        """\
<text>:1:3: error[E010]: the bare word `alice` cannot stand here
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
<text>:1:25: error[E012]: contributors `<X>` stand outside of an aggregate
  1 | p(X) :- q(X), V = msu(X,<X>).
    |                         ^^^
  note: `<...>` is the last argument of an aggregate such as msum; 'msu' is none
  help: did you mean 'msum'?""",
    ),
    "E013": (
        "@output([a]).",
        """\
<text>:1:9: error[E013]: `[a]` cannot stand in an annotation
  1 | @output([a]).
    |         ^^^
  note: arguments of annotations are strings, numbers, booleans and bare words""",
    ),
    "E306": (
        '@param("limit", 3). p(${limt}).',
        """\
<text>:1:23: error[E306]: there is no parameter 'limt'
  1 | @param("limit", 3). p(${limt}).
    |                       ^^^^^^^
  note: `${name}` stands for the value that @param("name", value) gives
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


def test_ten_thousand_facts() -> None:
    text = "".join(f'own("c{i}","d{i}",0.{i}).\n' for i in range(10_000))
    assert len(parse(text).clauses) == 10_000


def test_import_is_light() -> None:
    code = "import sys, kgreason.lang.parser; assert not {'lark', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# Round trips


NAMES = st.sampled_from(["p", "own", "msum", "in", "aB_1"])
VARIABLES = st.builds(Variable, st.sampled_from(["X", "Y", "Total_1"]))
CONSTANTS = st.builds(
    Constant,
    st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.text(st.characters(codec="utf-8"), max_size=8)
    | st.sampled_from(['"', "\\", "${x}", "$", "%", "a\nb", '""']),
)
TERMS = VARIABLES | CONSTANTS


def _negatable(node: Expression) -> bool:
    return not isinstance(node, Constant)  # minus and a number make a number


def _numeric_remainder(node: Binary) -> bool:
    """Beside a string or a boolean, ``%`` starts a comment."""
    sides = (node.left, node.right)
    return node.operator != "%" or not any(
        isinstance(s, Constant) and type(s.value) in (str, bool) for s in sides
    )


def _larger(smaller: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    operators = st.sampled_from(
        ["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "in", "!in"]
    )
    return (
        st.builds(Binary, operators, smaller, smaller).filter(_numeric_remainder)
        | st.builds(Unary, st.just("-"), smaller.filter(_negatable))
        | st.builds(Unary, st.just("!"), smaller)
    )


EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(TERMS, _larger, max_leaves=8)
ATOMS = st.builds(Atom, NAMES, st.lists(TERMS, max_size=3).map(tuple))
AGGREGATES = st.builds(
    Aggregate,
    st.sampled_from(["msum", "min", "avg"]),
    st.none() | EXPRESSIONS,
    st.none() | st.lists(VARIABLES, min_size=1, max_size=2).map(tuple),
)
ITEMS = (
    ATOMS
    | st.builds(Negation, ATOMS)
    | st.builds(Equation, EXPRESSIONS, EXPRESSIONS | AGGREGATES)
    | st.builds(Condition, EXPRESSIONS)
)
CLAUSES = (
    st.builds(Fact, ATOMS)
    | st.builds(
        Rule,
        st.lists(ATOMS, min_size=1, max_size=2).map(tuple),
        st.lists(ITEMS, min_size=1, max_size=4).map(tuple),
    )
    | st.builds(
        Annotation, st.sampled_from(["output", "mapping"]), st.lists(CONSTANTS, max_size=3).map(tuple)
    )
)
PROGRAMS = st.builds(Program, st.lists(CLAUSES, max_size=4).map(tuple))


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
PIECES = st.sampled_from(
    [*list('pX_()[]{}<>,.;:-=!&|+*/%@#$"\\\n1 '), "${", ":-", "<-", "not", "in", "0.", "\x00", "é"]
)


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
