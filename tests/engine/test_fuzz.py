"""Any input ends in facts or in diagnostics: generated programs, broken ones, and files that are no programs."""

from __future__ import annotations

import random
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgreason.base.errors import KgreasonError, ProgramError
from kgreason.base.progress import SILENT, Progress
from kgreason.engine.limits import Limits
from kgreason.engine.relations.fact_tables import Facts
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.language.check.program_checker import examine_file, load_file, load_text
from kgreason.language.syntax.tree_builder import grammar
from tests.examples import inputs
from tests.folders import ROOT
from tests.syntax import PIECES, PROGRAMS

REAL = [
    f.read_text(encoding="utf-8", errors="replace")
    for folder in ("rules", "examples", "tests/programs")
    for f in sorted((ROOT / folder).rglob("*.vada"))
]
LIMITS = Limits(rounds=50, restarts=5)
TINY = {
    "e": [(1, 2), (2, 3), (3, 1), (2, 2)],
    "w": [("a", "b", 0.6), ("b", "c", 0.5), ("a", "c", -1.5)],
    "d": [("a", datetime(2024, 1, 15)), ("b", datetime(2023, 5, 1, 10))],
    "c": [(1, (1, 2)), (2, ())],
    "own": [("a", "b", 0.6), ("b", "c", 0.5)],
    "company": [("a",), ("b",), ("c",)],
}


def survive(text: str | Path, limits: Limits = LIMITS, progress: Progress = SILENT) -> bool:
    """Check a program and evaluate it; whether it came so far. Nothing but our own errors may be raised."""
    try:
        program = load_file(text) if isinstance(text, Path) else load_text(text)
    except ProgramError as error:
        return not str(error)
    data = {p: rows for p, rows in TINY.items() if program.arities.get(p) == len(rows[0])}
    try:
        result = evaluate(program, Facts.from_rows(data), limits=limits, progress=progress)
    except KgreasonError as error:
        str(error)
        return True
    for predicate in program.outputs:
        list(result.facts.rows(predicate))
    return True


# Programs that are likely to pass the checker

_SOURCES = ["e(X, Y)", "e(Y, Z)", "w(A, B, U)", "w(B, C, V)", "d(A, D)", "d(B, E)", "c(X, L)", "e(_, X)"]
_OPERANDS = [*"XYZABCUVDELS", "1", "2.5", '"a"', "#T", "2024-01-15", "[1, X]", "{X, 2}", "[]", "{}", "#f(X)"]
_OPERATORS = ["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "in", "!in"]
_CALLS = """
substring(A, 0, 1); contains(A, B); contains(L, X); concat(A, B); string_length(A); to_upper(A); split(A, B);
rlike(A, "("); rlike(A, B); if(X > 1, X, Y); if(X > 1, A, X); between(X, Y, Z); as_string(X); as_int(A);
as_int(U); as_date(A); as_double(A); as_boolean(A); is_null(X); is_not_null(N); coalesce(N, X); sqrt(V);
pow(X, Y); exp(U); log(V); round(U); round(U, 1); abs(X); min(X, Y); max(A, B); year(D); month(A);
diff(D, E); math:sqrt(X); date:day(D); index_of(A, B); replace(A, B, A); nope(X)
""".strip().split(";")
_AGGREGATES = """
msum(U, <B>); msum(X); mprod(U); mcount(X); mcount(); mcount(<X, Y>); mmin(X); mmax(U, <A>); munion(L);
munion(X); sum(X); prod(X); count(A); count(); min(A); max(D); avg(U); median(X); list(X); set(A); union(L);
sum(1, <Y>); sum(A); max(L); msum(U, [A], [B]); msum(X * 2 + 1, <Y>)
""".strip().split(";")
_RESULTS = ["p", "q", "r", "s"]


@st.composite
def _expression(draw: st.DrawFn, depth: int = 0) -> str:
    kind = draw(st.integers(0, 5 if depth < 3 else 1))
    if kind <= 1:
        return draw(st.sampled_from(_OPERANDS))
    if kind == 2:
        return draw(st.sampled_from(_CALLS))
    if kind == 3:
        return draw(st.sampled_from(["-", "!"])) + f"({draw(_expression(depth + 1))})"
    operator = draw(st.sampled_from(_OPERATORS))
    return f"({draw(_expression(depth + 1))} {operator} {draw(_expression(depth + 1))})"


@st.composite
def _derived(draw: st.DrawFn) -> str:
    arguments = draw(st.lists(st.sampled_from(["X", "Y", "A", "N", "_", "1"]), min_size=2, max_size=2))
    return f"{draw(st.sampled_from(_RESULTS))}({', '.join(arguments)})"


@st.composite
def _rule(draw: st.DrawFn) -> str:
    body = draw(st.lists(st.sampled_from(_SOURCES) | _derived(), min_size=1, max_size=3))
    for _ in range(draw(st.integers(0, 2))):
        kind = draw(st.integers(0, 3))
        if kind == 0:
            body.append(f"S = {draw(_expression())}")
        elif kind == 1:
            body.append(draw(_expression()))
        elif kind == 2:
            body.append(f"T = {draw(st.sampled_from(_AGGREGATES))}")
        else:
            body.append(f"not {draw(st.sampled_from(_SOURCES) | _derived())}")
    head = draw(st.integers(0, 9))
    if head == 0:
        return f"#F :- {', '.join(body)}."
    if head == 1:
        return f"{draw(st.sampled_from('XAN'))} = {draw(st.sampled_from('YBN'))} :- {', '.join(body)}."
    terms = st.sampled_from([*"XYABTSNM", "#f(X)", "#g(X, A)", "[X, Y]", "{A}", "X + 1", '"a"', "2024-01-15"])
    atoms = [
        f"{draw(st.sampled_from(_RESULTS))}({draw(terms)}, {draw(terms)})"
        for _ in range(draw(st.integers(1, 2)))
    ]
    return f"{', '.join(atoms)} :- {', '.join(body)}."


_EXTRAS = [
    '@output("p").',
    '@output("q").',
    '@label("a rule")',
    '@post("p", "certain").',
    '@post("q", "orderby(1)"). @post("q", "limit(2)").',
    '@param("n", "${m}"). @param("m", 3).',
    "p(1, 2). q([1], {2}).",
    'p(#f(1), "${n}").',
    'r("a", 2024-02-29).',
]
LIKELY = st.lists(_rule() | st.sampled_from(_EXTRAS), min_size=1, max_size=5).map("\n".join)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A program of the repository with some of its words deleted, doubled, swapped, cut off or replaced."""
    text = draw(st.sampled_from(REAL))
    tokens: list[str] = [str(t) for t in grammar()[0].lex(text)]
    for _ in range(draw(st.integers(1, 4))):
        i = draw(st.integers(0, len(tokens) - 1)) if tokens else 0
        j = draw(st.integers(0, len(tokens) - 1)) if tokens else 0
        match draw(st.sampled_from(["delete", "double", "swap", "cut", "insert", "copy"])):
            case "delete":
                del tokens[i : i + 1]
            case "double":
                tokens[i:i] = tokens[i : i + 1]
            case "swap" if tokens:
                tokens[i], tokens[j] = tokens[j], tokens[i]
            case "cut":
                del tokens[i + 1 :]
            case "copy" if tokens:
                tokens[i] = tokens[j]
            case _:
                tokens.insert(i, draw(PIECES))
    return draw(st.sampled_from([" ", "\n", ""])).join(tokens)


_QUICK = settings(deadline=None, max_examples=inputs(80), suppress_health_check=list(HealthCheck))
_LONG = settings(deadline=None, max_examples=2_000, suppress_health_check=list(HealthCheck))


@_QUICK
@given(PROGRAMS)
def test_programs_of_the_grammar(program: object) -> None:
    survive(str(program))


@_QUICK
@given(LIKELY)
def test_programs_that_could_run(text: str) -> None:
    survive(text)


@_QUICK
@given(mutated())
def test_broken_programs(text: str) -> None:
    survive(text)


@pytest.mark.slow
@_LONG
@given(PROGRAMS.map(str) | LIKELY | mutated())
def test_many_programs(text: str) -> None:
    survive(text)


def test_the_generated_programs_do_run() -> None:
    """A fuzzer whose programs all fail in the parser tests the parser only."""
    passed = []

    @settings(deadline=None, max_examples=100, database=None, suppress_health_check=list(HealthCheck))
    @given(LIKELY)
    def run(text: str) -> None:
        passed.append(survive(text))

    run()
    assert sum(passed) >= 5


# Files and texts that are no programs


@pytest.mark.parametrize(
    "text",
    [
        "p(" + "(" * 1000 + "1" + ")" * 1000 + ").",
        "p(" + "[" * 1000 + "]" * 1000 + ").",
        "p(" + "{" * 1000 + "}" * 1000 + ").",
        "p(" + "#f(" * 1000 + ")" * 1000 + ").",
        "p(X) :- q(Y), X = " + "-" * 1000 + "Y.",
        "p(X) :- q(X), " + "!" * 1000 + "X.",
        "p(X) :- q(X), X" + " + X" * 1000 + " > 0.",
        "p(X) :- q(X), X" + " && X" * 1000 + ".",
        "X = Y :- q(X), Y = " + "abs(" * 1000 + "X" + ")" * 1000 + ".",
        "#F :- q(X), X in " + "[" * 1000 + "]" * 1000 + ".",
    ],
)
def test_deep_nesting(text: str) -> None:
    with pytest.raises(ProgramError, match="E006"):
        load_text(text)


@pytest.mark.parametrize(
    "text", ["p(X) :- q(X), " + "not " * 1000 + "r(X).", "@" * 1000, "%" * 1000, "." * 1000]
)
def test_long_nonsense(text: str) -> None:
    with pytest.raises(ProgramError, match=r"E00[139]"):
        load_text(text)


def test_nesting_up_to_the_bound_runs() -> None:
    for deep in ["[" * 98 + "]" * 98, "#f(" * 98 + ")" * 98, "-(" * 49 + "1" + ")" * 49, "1" + " + 1" * 98]:
        assert survive(f"p(X) :- e(Y, _), X = {deep}, Y > 0."), deep[:9]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "E009"),
        (b"% only\n%% comments\n", "E009"),
        (b" \n\t\r\n", "E009"),
        ('p("a").'.encode("utf-16"), "E008"),
        ('p("a").'.encode("utf-16-le"), "E003"),
        ('p("ä").'.encode("latin-1"), "E008"),
        (b'p("a\0").', "E003"),
        (b"\0" * 100_000, "E003"),
        (random.Random(1).randbytes(100_000), "E008"),
        (b"\x7fELF\x02\x01\x01" + bytes(100), "E003"),
        (b"PK\x03\x04 p(1).", "E003"),
    ],
)
def test_files_that_are_no_programs(tmp_path: Path, content: bytes, code: str) -> None:
    file = tmp_path / "bad.vada"
    file.write_bytes(content)
    assert code in [d.code for d in examine_file(file).diagnostics]
    with pytest.raises(ProgramError, match=code):
        load_file(file)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.vada", tmp_path / "a\0b.vada", tmp_path / ("x" * 300)):
        with pytest.raises(ProgramError, match="E007"):
            load_file(path)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(" * 500_000, "E001|E006"),
        ("p(" + "a" * 1_500_000, "E004"),
        ('p("' + "a" * 1_500_000, "E002"),
        ("p(" + "9" * 1_500_000 + ").", "E005"),
        ("p(;" + "1;" * 500_000 + ").", "E003"),
        ("p(" + "?" * 500_000 + ").", "E003"),
        ('p("' + "\\d" * 250_000 + '").', "E011"),
    ],
    ids=["brackets", "name", "string", "digits", "characters", "queries", "escapes"],
)
@pytest.mark.slow
def test_lines_of_megabytes(text: str, code: str) -> None:
    with pytest.raises(ProgramError, match=code):
        load_text(text)


def test_a_string_of_ten_megabytes() -> None:
    program = load_text(f'p("{"x" * 10_000_000}"). % ' + "y" * 10_000_000)
    assert len(program.facts) == 1
