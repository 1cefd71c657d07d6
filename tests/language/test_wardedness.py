"""Affected positions, wards and fragments; the chase itself is the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.cli import app
from kgreason.language.check.affected_positions import affected_positions, written
from kgreason.language.check.checked_program import CheckedAtom, CheckedProgram, CheckedRule, Wardedness
from kgreason.language.check.program_checker import load_text, restricted
from kgreason.language.check.wardedness import endless, explain
from kgreason.language.syntax.syntax_tree import Constant, Variable
from tests.examples import inputs

# Example 3 of the Vadalog paper in spirit: companies, their unknown key persons, and who shares them.
STRONG_LINKS = """
keyPerson(P, X) :- company(X).
keyPerson(P, Y) :- control(X, Y), keyPerson(P, X).
strongLink(X, Y) :- keyPerson(P, X), keyPerson(P, Y), X != Y.
company("a"). company("b"). control("a", "b").
"""


def nulls(text: str) -> Wardedness:
    return load_text(text).wardedness


def positions(text: str) -> set[str]:
    return {f"{p}[{i}]" for p, i in nulls(text).affected}


def codes(program: CheckedProgram) -> list[str]:
    return [w.code for w in program.warnings]


def test_strong_links() -> None:
    found = nulls(STRONG_LINKS)
    assert found == Wardedness("piecewise linear", frozenset({("keyPerson", 0)}), True, 2)
    rules = {w.rule.number: w for w in explain(load_text(STRONG_LINKS)).rules}
    assert (rules[2].harmless, rules[2].harmful, rules[2].dangerous) == (("X", "Y"), ("P",), ("P",))
    assert str(rules[2].ward) == "keyPerson(P, X)"
    assert (rules[3].dangerous, rules[3].ward, rules[3].joined) == ((), None, 2)


def test_datalog_has_no_nulls() -> None:
    assert nulls("p(X, Z) :- p(X, Y), e(Y, Z). p(X, Y) :- e(X, Y).") == Wardedness()


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("p(X, Y) :- e(X).", "linear"),
        ("p(#f(X)) :- e(X).", "linear"),
        ("p(X, Z) :- e(X, Y), f(X).", "guarded"),
        ("p(X, Z) :- e(X, Y), f(X, V).", "piecewise linear"),
        ("p(X, Y) :- e(X). p(X, Z) :- p(X, Y), f(Y, X). p(X, Z) :- p(X, Y), e(Y).", "guarded"),
        ("q(X, Y) :- e(X). t(X, Z) :- t(X, Y), t(Y, Z). t(X, Y) :- f(X, Y).", "warded"),
        ("q(X, Y) :- e(X). t(X, Z) :- t(X, Y), f(Y, Z). t(X, Y) :- f(X, Y).", "piecewise linear"),
        ("p(X, Y) :- e(X). e(Y) :- p(X, Y). q(X, Y) :- e(X), e(Y).", "none"),
        ("p(X, Y) :- e(X). Y = Z :- p(X, Y), p(X, Z), f(V). #F :- p(X, Y), f(Z).", "linear"),
    ],
)
def test_fragment(text: str, fragment: str) -> None:
    assert nulls(text).fragment == fragment


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(X, Y) :- e(X).", {"p[1]"}),
        ("p(X, Y), q(Y) :- e(X).", {"p[1]", "q[0]"}),
        ("p(#f(X)) :- e(X).", {"p[0]"}),
        ("p(X, Y) :- e(X). q(Y) :- p(X, Y), e(Y). r(Y) :- p(X, Y).", {"p[1]", "r[0]"}),
        ("p(X, Y) :- e(X). q(Z) :- p(X, Y), e(Z), Z = Y.", {"p[1]"}),
        ("p(X, Y) :- e(X). q(Y) :- p(X, Y), Y > 3.", {"p[1]"}),
        ("p(X, Y) :- e(X). q(Y) :- p(X, Y), is_not_null(Y).", {"p[1]"}),
        ("p(X, Y) :- e(X). q(Y) :- p(X, Y), Y = 3.", {"p[1]"}),
        ("p(X, Y) :- e(X). q(Z) :- p(X, Y), Z = Y.", {"p[1]", "q[0]"}),
        ("p(X, Y) :- e(X). q(Z) :- p(X, Y), Z = [X, Y].", {"p[1]", "q[0]"}),
        ("p(X, Y) :- e(X). q(Z) :- p(X, Y), Z = if(X > 1, Y, X).", {"p[1]", "q[0]"}),
        ("p(X, Y) :- e(X). q(Z) :- p(X, Y), Z = as_string(Y).", {"p[1]"}),
        ("p(X, Y) :- e(X). q(X, S) :- p(X, Y), S = set(Y).", {"p[1]", "q[1]"}),
        ("p(X, Y) :- e(X). q(X, S) :- p(X, Y), S = count(Y).", {"p[1]"}),
        ('@bind("e", "csv missing=null", "", "e.csv"). p(X) :- e(X, Y), f(X).', {"e[0]", "e[1]"}),
    ],
)
def test_affected_positions(text: str, expected: set[str]) -> None:
    assert positions(text) == expected


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("s(X, Y) :- e(X), e(Y).", "no body atom holds all of the dangerous variables X, Y"),
        (
            "s(X, Z) :- p(X, Y), p(Y, Z), e(Z), f(Z).",
            "`p(X, Y)` holds the dangerous variable X, but shares the harmful Y with `p(Y, Z)`",
        ),
        (
            "s(X) :- e(X), not s2(X). s2(1).",
            "`e(X)` holds the dangerous variable X, but shares the harmful X with `s2(X)` under `not`",
        ),
    ],
)
def test_not_warded(rule: str, reason: str) -> None:
    program = load_text(f"p(X, Y) :- e(X). e(Y) :- p(X, Y). {rule}")
    assert not program.wardedness.warded
    assert [w.reason for w in explain(program).rules if w.reason] == [reason]
    (warning,) = (w for w in program.warnings if w.code == "W509")
    assert warning.message == f"this rule is not warded: {reason}"
    assert warning.span is not None
    assert warning.span.column == 35


def test_no_warning_where_the_chase_ends() -> None:
    program = load_text("p(X, Y) :- e(X). s(Y, Z) :- p(X, Y), p(X2, Z).")
    assert not program.wardedness.warded
    assert explain(program).ends
    assert "W509" not in codes(program)


def test_what_is_left_of_a_program_may_be_warded() -> None:
    program = load_text("p(X, Y) :- e(X). e(Y) :- p(X, Y). s(X, Y) :- e(X), e(Y). e(1).")
    assert restricted(program, ["s"]).wardedness == program.wardedness
    assert restricted(program, ["p"]).wardedness.fragment == "linear"
    assert restricted(program, ["p"]).wardedness.warded


@pytest.mark.parametrize(
    ("body", "joined"),
    [
        ("p(X, Y), p(Z, Y)", 2),
        ("p(X, Y), p(Z, Y), p(V, Y), f(X, Z)", 3),
        ("p(X, Y), p(Z, W), f(X, Z)", 0),
        ("p(X, Y), p(Z, W), Y != W", 2),
        ("p(X, Y), p(Z, W), Y = W", 2),
        ("p(X, Y), not p(X, Y)", 2),
        ("p(X, Y), p(Z, Y), g(Y)", 0),
        ("p(X, Y), K = count(Y), K > 0", 2),
        ("p(X, Y), V = Y, K = max(V), K > 0", 2),
        ("p(X, Y), K = count(X), K > 0", 2),  # X is in the head: matches are counted, and Y tells them apart
        ("p(X, Y), p(Z, Y), K = list(Y), K != []", 3),
    ],
)
def test_harmful_joins(body: str, joined: int) -> None:
    assert nulls(f"p(X, Y) :- e(X). q(X) :- {body}.").harmful_joins == joined


def test_denials_and_equalities_have_harmful_joins() -> None:
    assert nulls("p(X, Y) :- e(X). #F :- p(X, Y), p(Z, Y), X != Z.").harmful_joins == 2
    assert nulls("p(X, Y) :- e(X). A = B :- p(X, A), p(X, B).").harmful_joins == 0


def test_report_as_text() -> None:
    program = load_text('@bind("e", "csv missing=null", "", "e.csv"). q(X, Z) :- e(X), p(X).')
    assert str(explain(program)) == (
        "fragment: guarded\n"
        "affected positions:\n"
        "  e[1]: its source is read with missing=null\n"
        "  q[2]: rule 1: q(X, Z) :- e(X), p(X).\n"
        "rule 1: q(X, Z) :- e(X), p(X).\n"
        "  harmless: X"
    )
    assert str(explain(load_text("p(1)."))) == "fragment: Datalog\naffected positions:\n  none"


def test_long_chains() -> None:
    """Neither a thousand predicates in a row nor a thousand equations exhaust the stack or the patience."""
    rules = ["p0(X, Y) :- e(X)."] + [f"p{i + 1}(X, Y) :- p{i}(X, Y)." for i in range(1000)]
    assert len(nulls(" ".join(rules)).affected) == 1001
    steps = ", ".join(f"V{i + 1} = V{i}" for i in range(499))
    assert positions(f"p(X, V0) :- e(X). q(V499) :- p(X, V0), {steps}.") == {"p[1]", "q[0]"}


VARIABLES = st.sampled_from(["X", "Y", "Z"])
PREDICATES = st.sampled_from(["a", "b", "c"])


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Rules over three binary predicates, with existential variables as they fall."""

    def atom() -> str:
        return f"{draw(PREDICATES)}({draw(VARIABLES)}, {draw(VARIABLES)})"

    def atoms(most: int) -> str:
        return ", ".join(atom() for _ in range(draw(st.integers(1, most))))

    rules = [f"{atoms(2)} :- {atoms(3)}." for _ in range(draw(st.integers(1, 4)))]
    return "".join(rules) + "a(1, 2). b(2, 3)."


Tree = int | tuple[object, ...]
Facts = set[tuple[str, tuple[Tree, ...]]]


def matches(rule: CheckedRule, facts: Facts) -> Iterator[dict[str, Tree]]:
    for choice in product(facts, repeat=len(rule.positives)):
        binding: dict[str, Tree] = {}
        if all(unify(atom, fact, binding) for atom, fact in zip(rule.positives, choice, strict=True)):
            yield binding


def unify(atom: CheckedAtom, fact: tuple[str, tuple[Tree, ...]], binding: dict[str, Tree]) -> bool:
    return atom.predicate == fact[0] and all(
        binding.setdefault(t.name, value) == value
        for t, value in zip(atom.terms, fact[1], strict=True)
        if isinstance(t, Variable)
    )


def chase(program: CheckedProgram, rounds: int, most: int) -> tuple[Facts, bool]:
    """Facts of the oblivious Skolem chase, and whether it came to its end."""
    facts: Facts = {
        (a.predicate, tuple(int(str(t.value)) for t in a.terms if isinstance(t, Constant)))
        for a in program.facts
    }
    for _ in range(rounds):
        new: Facts = set()
        for rule in program.rules:
            for binding in matches(rule, facts):
                for i in rule.inventions:
                    binding[i.variable] = (i.function, *(binding[v] for v in i.frontier))
                row = tuple(binding[t.name] for t in rule.head.terms if isinstance(t, Variable))
                new.add((rule.head.predicate, row))
        if new <= facts:
            return facts, True
        facts |= new
        if len(facts) > most:
            break
    return facts, False


@settings(max_examples=inputs(150), deadline=None)
@given(programs())
def test_nulls_stand_in_affected_positions_only(text: str) -> None:
    program = load_text(text)
    facts, _ = chase(program, 3, 25)
    holding = {(p, i) for p, row in facts for i, value in enumerate(row) if isinstance(value, tuple)}
    assert holding <= program.wardedness.affected


@settings(max_examples=inputs(150), deadline=None)
@given(programs())
def test_a_chase_that_is_said_to_end_makes_no_null_of_its_own_kind(text: str) -> None:
    program = load_text(text)
    rules = written(program.rules)
    if endless(rules, affected_positions(rules, ())):
        return
    facts, _ = chase(program, 4, 40)
    assert not any(cyclic(value, ()) for _, row in facts for value in row)


def cyclic(value: object, above: tuple[object, ...]) -> bool:
    if not isinstance(value, tuple):
        return False
    return value[0] in above or any(cyclic(v, (*above, value[0])) for v in value[1:])


@settings(max_examples=inputs(100), deadline=None)
@given(programs())
def test_linear_programs_are_warded(text: str) -> None:
    program = load_text(text)
    found = program.wardedness
    if found.fragment in ("Datalog", "linear", "piecewise linear", "warded"):
        assert found.warded
    if found.fragment == "none":
        assert not found.warded
    assert len(explain(program).rules) == text.count(":-")


def test_the_fragment_is_said_once(tmp_path: Path) -> None:
    file = tmp_path / "links.vada"
    file.write_text(STRONG_LINKS, encoding="utf-8")
    for arguments in ([str(file)], ["--explain", str(file)]):
        result = CliRunner().invoke(app, ["check", *arguments])
        assert result.stdout.count("fragment: piecewise linear") == 1


def test_an_aggregate_over_nulls_counts_as_an_atom() -> None:
    program = load_text("psc(C, P) :- e(C). cnt(P, N) :- psc(C, P), N = count(C). e(1).")
    last = str(explain(program)).splitlines()[-1]
    assert last == "  joins 2 atoms through nulls, the aggregate counted as one"
