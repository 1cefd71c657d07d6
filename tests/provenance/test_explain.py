"""Proofs hold step by step, are as low as they can be, and read well; and why a fact does not hold is told."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgreason.base.errors import EvaluationError, KgreasonError, ProgramError
from kgreason.data.fact_loading import load_facts
from kgreason.data.program_tables import sources
from kgreason.engine.expressions.compiled_expressions import has_skolem
from kgreason.engine.plan.ir import variables
from kgreason.engine.relations.fact_tables import Facts
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.language.check.checked_program import Assign, CheckedAtom, CheckedProgram, CheckedRule
from kgreason.language.syntax.syntax_tree import Constant, Variable
from kgreason.language.values import Null
from kgreason.provenance.explanation import Explanation, explain_fact
from kgreason.provenance.proof_tree import EQUAL, Proof, WhyNot
from kgreason.provenance.rendering import proof_text, proofs_dot, why_not_dot, why_not_text
from tests.examples import inputs
from tests.naive import evaluate as naive
from tests.naive.expressions import Scene
from tests.naive.expressions import evaluate as value_of
from tests.strategies import cases
from tests.texts import load_text

Rows = dict[str, list[tuple[Any, ...]]]
Fact = tuple[str, tuple[Any, ...]]

CLOSURE = "t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z)."
SUMS = """
%% Every company controls itself.
control(X, X) :- company(X).
@label("majority").
%% A company controls what it and those that it controls
%% own more than half of.
control(X, Z) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>), V > 0.5.
"""
TOTALS = """
control(X, X) :- company(X).
control(X, Z) :- total(X, Z, V), V > 0.5.
total(X, Z, V) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>).
"""
SHARES = [("a", "b", 0.6), ("a", "c", 0.3), ("b", "c", 0.3), ("c", "b", 0.2), ("c", "d", 0.4)]
COMPANIES = [("a",), ("b",), ("c",), ("d",)]
DATA: Rows = {"own": SHARES, "company": COMPANIES}


def asked(text: str, rows: Rows, goal: str, **options: Any) -> Explanation:
    return explain_fact(load_text(text), Facts.from_rows(rows), goal, **options)


def proof_of(text: str, rows: Rows, goal: str) -> Proof:
    found = asked(text, rows, goal)
    assert found.proofs, found.why_not
    return found.proofs[0]


def as_text(found: Explanation | Proof | WhyNot, depth: int | None = None) -> str:
    if isinstance(found, WhyNot):
        return why_not_text(found)
    return proof_text(found, depth=depth) if isinstance(found, Proof) else found.as_text(depth)


def as_dot(found: Explanation | Proof | WhyNot) -> str:
    if isinstance(found, WhyNot):
        return why_not_dot(found)
    return proofs_dot([found]) if isinstance(found, Proof) else found.as_dot()


def missing(text: str, rows: Rows, goal: str) -> WhyNot:
    found = asked(text, rows, goal)
    assert found.why_not is not None, found.proofs
    return found.why_not


# --- an independent checker -----------------------------------------------------------------------------------


def unify(atom: CheckedAtom, values: tuple[Any, ...], binding: dict[str, Any]) -> bool:
    for term, value in zip(atom.terms, values, strict=True):
        known = term.value if isinstance(term, Constant) else binding.setdefault(term.name, value)
        if known != value:
            return False
    return True


def scene(rule: CheckedRule) -> Scene:
    def invent(*_: Any) -> Any:
        raise AssertionError("no Skolem terms in these tests")

    return Scene(rule, set(), invent)


def steps_hold(rule: CheckedRule, steps: Any, binding: dict[str, Any]) -> bool:
    for step in steps:
        value = value_of(step.expression, binding, scene(rule))
        if not isinstance(step, Assign):
            if not value:
                return False
        elif step.variable in binding and binding[step.variable] != value:
            return False
        else:
            binding[step.variable] = value
    return True


def matched(rule: CheckedRule, premises: tuple[Proof, ...], facts: set[Fact]) -> dict[str, Any] | None:
    """The binding under which the body of a rule holds, by the premises given and the negated atoms."""
    binding: dict[str, Any] = {}
    if [p.predicate for p in premises] != [a.predicate for a in rule.positives]:
        return None
    if not all(unify(a, p.values, binding) for a, p in zip(rule.positives, premises, strict=True)):
        return None
    if not steps_hold(rule, rule.before, binding):
        return None
    for atom in rule.negatives:
        if any(p == atom.predicate and unify(atom, row, dict(binding)) for p, row in facts):
            return None
    return binding


def total_of(rule: CheckedRule, step: Proof, facts: set[Fact]) -> dict[str, Any] | None:
    """The binding of a group whose contributions are those of the step."""
    aggregation, total = rule.aggregation, step.total
    assert aggregation is not None
    assert total is not None
    group: dict[str, Any] = {}
    seen = set()
    for contribution in total.contributions:
        binding = matched(rule, contribution.premises, facts)
        if binding is None:
            return None
        if any(group.setdefault(v, binding[v]) != binding[v] for v in aggregation.group):
            return None
        seen.add(tuple(binding[v] for v in aggregation.contributors))
        if aggregation.argument is not None and not aggregation.function.endswith("count"):
            assert contribution.value == value_of(aggregation.argument, binding, scene(rule))
    assert len(seen) == len(total.contributions), "each contributor counts once"
    values = [c.value for c in total.contributions]
    known = {"sum": sum, "count": len, "min": min, "max": max}
    name = (
        aggregation.function.removeprefix("m") if aggregation.function[1:] in known else aggregation.function
    )
    if name == "count":
        assert total.size == total.value
    elif name in known and (not total.others or name in ("min", "max")):  # of very many not all are told
        assert known[name](values) == pytest.approx(total.value)  # type: ignore[operator]
    return {**group, aggregation.variable: total.value}


def instantiates(rule: CheckedRule, step: Proof, facts: set[Fact]) -> bool:
    """Whether the step is an application of the rule."""
    if rule.aggregation is None:
        binding = matched(rule, step.premises, facts)
    else:
        binding = total_of(rule, step, facts)
        if binding is not None and not steps_hold(rule, rule.after, binding):
            return False
    return binding is not None and unify(rule.head, step.values, binding)


def check(program: CheckedProgram, proof: Proof, rows: Rows, facts: set[Fact]) -> None:
    """Every step is given, or an application of its rule to facts of lesser height."""
    given_facts = {(p, tuple(row)) for p, some in rows.items() for row in some}
    given_facts |= {(a.predicate, tuple(t.value for t in a.terms)) for a in program.facts}  # type: ignore[union-attr]
    for step in proof.steps():
        below = [p.height for p in step.below]
        if step.rule is None:
            assert step.height == 0, step
            assert (step.predicate, step.values) in given_facts, step
            continue
        rules = [r for r in program.rules if r.text == step.rule.text and r.head.predicate == step.predicate]
        assert any(instantiates(rule, step, facts) for rule in rules), (step, step.premises, step.total)
        assert all(h < step.height for h in below), step
        if step.total is None:
            assert step.height == 1 + max(below, default=0), step
        if step.final is None:
            assert (step.predicate, step.values) in facts, step


def head_values(rule: CheckedRule, step: Proof) -> dict[str, Any]:
    pairs = zip(rule.head.terms, step.values, strict=False)
    return {t.name: v for t, v in pairs if isinstance(t, Variable)}


class Whole:
    """Checks proofs with nulls: each step is an application of its rule, and what became another value is justified.

    A null that a rule makes is whatever the step says, but one null for one function and one frontier.
    """

    def __init__(self, program: CheckedProgram, rows: Rows, proofs: Iterable[Proof]) -> None:
        self.program, self.rows = program, rows
        self.steps = list({id(s): s for proof in proofs for s in proof.steps()}.values())
        self.roots: dict[Any, Any] = {}
        self.made: dict[Any, Any] = {}
        for step in self.steps:
            if step.predicate == EQUAL:
                a, b = map(self.root, step.values)
                if a != b:
                    self.roots[a] = b

    def root(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self.root, value))
        while value in self.roots:
            value = self.roots[value]
        return value

    def check(self) -> None:
        given_facts = {(p, tuple(row)) for p, some in self.rows.items() for row in some}
        given_facts |= {(a.predicate, tuple(t.value for t in a.terms)) for a in self.program.facts}  # type: ignore[union-attr]
        for step in self.steps:
            assert all(p.height < step.height for p in step.below), step
            for identified in step.identified:
                value = identified.made
                for link in identified.chain:
                    assert link.predicate == EQUAL
                    assert value in link.values
                    value = link.values[link.values[0] == value]
                assert value == identified.value
            if step.predicate == EQUAL and step.rule is None:
                assert all(p.predicate == EQUAL for p in step.premises)
                assert step.premises, "equal values need a reason"
            elif step.rule is None and step.premises:  # a union
                sets = [set(v) for p in step.premises for v in p.values if isinstance(v, frozenset)]
                assert any(set.union(*sets) == v for v in step.values), step
            elif step.rule is None:
                assert any(self.became(row, step) for p, row in given_facts if p == step.predicate), step
            else:
                hidden = {u.predicate for u in self.program.unifications}
                rules = [r for r in self.program.rules if r.number == step.rule.number]
                heads = hidden if step.predicate == EQUAL else {step.predicate}
                assert any(self.fits(r, step) for r in rules if r.head.predicate in heads), (
                    step,
                    step.premises,
                )

    def became(self, row: tuple[Any, ...], step: Proof) -> bool:
        """Whether the equalities of a step turn a given fact into that of the step."""

        def new(value: Any, place: str) -> Any:
            if isinstance(value, tuple):
                return tuple(new(v, place) for v in value)
            return next((i.value for i in step.identified if (i.variable, i.made) == (place, value)), value)

        return tuple(new(v, f"argument {n}") for n, v in enumerate(row, 1)) == step.values

    def fits(self, rule: CheckedRule, step: Proof) -> bool:
        if rule.aggregation is not None:
            group = self.group(rule, step)
            return group is not None and unify(rule.head, step.values, group)
        binding = self.body(rule, step.premises, dict(step.binding), step)
        if binding is None:
            return False
        known = dict(step.binding)
        for invention in rule.inventions:
            binding[invention.variable] = known.get(invention.variable)
        width = len(step.values)
        if not unify(CheckedAtom("", rule.head.terms[:width], rule.head.span), step.values, binding):
            return False
        for invention in rule.inventions:
            identified = [i for i in step.identified if i.variable == invention.variable]
            made = identified[0].made if identified else binding[invention.variable]
            assert isinstance(made, Null), (step, made)
            source = (invention.function, *(self.root(binding[v]) for v in invention.frontier))
            assert self.root(self.made.setdefault(source, made)) == self.root(made), source
        return True

    def group(self, rule: CheckedRule, step: Proof) -> dict[str, Any] | None:
        assert rule.aggregation is not None
        assert step.total is not None
        group: dict[str, Any] = {}
        for contribution in step.total.contributions:
            binding = self.body(rule, contribution.premises, dict(step.binding), step)
            if binding is None:
                return None
            for v in rule.aggregation.group:
                if v in binding and group.setdefault(v, binding[v]) != binding[v]:
                    return None
        return {**group, rule.aggregation.variable: step.total.value}

    def body(
        self, rule: CheckedRule, premises: tuple[Proof, ...], known: dict[str, Any], step: Proof
    ) -> dict[str, Any] | None:
        """The binding under which the body holds; what has Skolem terms is believed."""
        binding: dict[str, Any] = {}
        if [p.predicate for p in premises] != [a.predicate for a in rule.positives]:
            return None
        if not all(unify(a, p.values, binding) for a, p in zip(rule.positives, premises, strict=True)):
            return None
        for item in rule.before:
            made = has_skolem(item.expression) or any(
                binding.get(v, 0) is None for v in variables(item.expression)
            )
            if made:
                if isinstance(item, Assign):
                    heads = head_values(rule, step)
                    value = known.get(item.variable, heads.get(item.variable))
                    binding.setdefault(item.variable, value)
            elif not steps_hold(rule, (item,), binding):
                return None
        return binding


# --- heights against brute force --------------------------------------------------------------------------------

ATOMS = [
    "e(X,Y)",
    "e(Y,Z)",
    "f(X)",
    "p(X,Y)",
    "p(Y,Z)",
    "p(Z,X)",
    "q(Y)",
    "q(Z)",
    "r(X,Z)",
    "p(X,X)",
    'e(Y,"1")',
]
HEADS = ["p(X,Y)", "p(X,Z)", "q(X)", "q(Y)", "r(Z,X)", 'p(Y,"0")']


@st.composite
def datalog(draw: Any) -> tuple[str, Rows]:
    lines = []
    for _ in range(draw(st.integers(2, 6))):
        head = draw(st.sampled_from(HEADS))
        body = draw(st.lists(st.sampled_from(ATOMS), min_size=1, max_size=3, unique=True))
        bound = set("".join(body)) & set("XYZ")
        body += [f"e({v},{v})" for v in sorted((set(head) & set("XYZ")) - bound)]
        if draw(st.booleans()):
            body.append(f"not f({sorted(set(head) & set('XYZ'))[0]})")
        lines.append(f"{head} :- {', '.join(body)}.")
    lines += ["s(X) :- p(X,Y), not q(X).", "s(X) :- r(X,Y), q(Y), s(Y).", "u(X) :- s(X), e(X,Y)."]
    cell = st.sampled_from("0123")
    rows: Rows = {"e": draw(st.lists(st.tuples(cell, cell), min_size=2, max_size=6, unique=True))}
    rows["f"] = draw(st.lists(st.tuples(cell), max_size=2, unique=True))
    rows["q"] = draw(st.lists(st.tuples(cell), max_size=1, unique=True))
    rows["p"] = draw(st.lists(st.tuples(cell, cell), max_size=1, unique=True))
    return "\n".join(lines), rows


def brute(program: CheckedProgram, rows: Rows, facts: set[Fact]) -> dict[Fact, int]:
    """Heights by Bellman-Ford over all ground rules, given what holds."""
    heights: dict[Fact, int] = {(p, tuple(row)): 0 for p, some in rows.items() for row in some}
    ground: list[tuple[Fact, list[Fact]]] = []
    for rule in program.rules:
        names = sorted({v for a in rule.positives for v in a.variables})
        for cells in product("0123", repeat=len(names)):
            binding = dict(zip(names, cells, strict=True))

            def fact(atom: CheckedAtom, b: dict[str, str] = binding) -> Fact:
                return atom.predicate, tuple(
                    b[t.name] if isinstance(t, Variable) else t.value for t in atom.terms
                )

            body = [fact(a) for a in rule.positives]
            if all(f in facts for f in body) and not any(fact(a) in facts for a in rule.negatives):
                ground.append((fact(rule.head), body))
    changed = True
    while changed:
        changed = False
        for head, body in ground:
            if all(f in heights for f in body):
                height = 1 + max(heights[f] for f in body)
                if height < heights.get(head, 10**9):
                    heights[head], changed = height, True
    return heights


@settings(max_examples=inputs(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(datalog())
def test_heights_are_least_and_proofs_hold(case: tuple[str, Rows]) -> None:
    text, rows = case
    try:
        program = load_text(text)
    except ProgramError:
        return  # not stratified
    facts = {(p, row) for p, some in naive(program, rows).items() for row in some}
    heights = brute(program, rows, facts)
    assert set(heights) == facts
    for predicate in sorted(program.heads):
        arity = program.arities[predicate]
        goal = f"{predicate}({','.join('ABC'[:arity])})"
        found = explain_fact(program, Facts.from_rows(rows), goal, most=1000)
        assert {(p.predicate, p.values) for p in found.proofs} == {f for f in facts if f[0] == predicate}
        for proof in found.proofs:
            assert proof.height == heights[proof.predicate, proof.values], (text, rows, proof)
            check(program, proof, rows, facts)
        json.dumps(found.as_dict())
        assert as_text(found)
        assert as_dot(found)


def rounds(own: list[tuple[str, str, float]], names: list[str]) -> dict[tuple[str, str], int]:
    """In which round a company is first seen to control another: all of what it controls by then counts."""
    heights = {(n, n): 1 for n in names}
    level = 1
    while True:
        new = {}
        for x, z in product(names, names):
            if (x, z) not in heights:
                shares = [w for y, t, w in own if t == z and (x, y) in heights]
                if sum(shares) > 0.5:
                    new[x, z] = level + 1
        if not new:
            return heights
        heights |= new
        level += 1


@settings(max_examples=inputs(40), deadline=None)
@given(st.data(), st.sampled_from([SUMS, TOTALS]))
def test_control_against_rounds(data: st.DataObject, text: str) -> None:
    names = list("abcde")
    pairs = [(x, y) for x in names for y in names if x != y]
    some = data.draw(st.lists(st.sampled_from(pairs), min_size=3, max_size=10, unique=True))
    own = [(x, y, data.draw(st.integers(1, 6)) / 8) for x, y in some]
    program, rows = load_text(text), {"own": own, "company": [(n,) for n in names]}
    facts = {(p, row) for p, found in naive(program, rows).items() for row in found}
    wanted = rounds(own, names)
    found = explain_fact(program, Facts.from_rows(rows), "control(X, Y)", most=100)
    assert {p.values for p in found.proofs} == set(wanted)
    for proof in found.proofs:
        if text == SUMS:
            assert proof.height == wanted[proof.values]  # type: ignore[index]
        check(program, proof, rows, facts)


@settings(max_examples=inputs(40), deadline=None)
@given(st.data())
def test_improving_values(data: st.DataObject) -> None:
    """Shortest paths: a proof of the final value rests on values with proofs of their own."""
    cell = st.integers(0, 4)
    edges = data.draw(
        st.lists(st.tuples(cell, cell, st.integers(0, 5)), min_size=1, max_size=10, unique=True)
    )
    text = "d(X, Y, C) :- e(X, Y, W), C = mmin(W). d(X, Z, C) :- d(X, Y, A), e(Y, Z, W), C = mmin(A + W)."
    program, rows = load_text(text), {"e": edges}
    facts = {(p, row) for p, found in naive(program, rows).items() for row in found}
    found = explain_fact(program, Facts.from_rows(rows), "d(X, Y, C)", most=100)
    assert {("d", p.values) for p in found.proofs} == {f for f in facts if f[0] == "d"}
    for proof in found.proofs:
        check(program, proof, rows, facts)


# --- one by one -----------------------------------------------------------------------------------------------


def test_control_reads_well(ownership: Path) -> None:
    from kgreason.language.check.program_checker import load_file

    program = load_file(ownership / "control.vada")
    found = explain_fact(
        program, load_facts(program, {}), 'control("Adler","Biber")', sources=sources(program, {})
    )
    assert as_text(found).replace(str(ownership), "") == WANTED


HALF = "It controls what it and those it controls own more than half of."
WANTED = f"""\
control("Adler","Biber")                             by rule 2 (/control.vada:12): {HALF}
├─ V = 0.65: msum(W, <Y>) of 2 contributions
│  ├─ Y = "Adler" gives 0.4
│  │  ├─ control("Adler","Adler")                    by rule 1 (/control.vada:10): A company controls itself.
│  │  │  └─ company("Adler")                         /own.csv:2 (end of own)
│  │  └─ own("Adler","Biber",0.4)                    /own.csv:4
│  └─ Y = "Elster" gives 0.25
│     ├─ control("Adler","Elster")                   by rule 2
│     │  ├─ V = 0.8: msum(W, <Y>) of 1 contribution
│     │  │  └─ Y = "Dachs" gives 0.8
│     │  │     ├─ control("Adler","Dachs")           by rule 2
│     │  │     │  ├─ V = 0.72: msum(W, <Y>) of 1 contribution
│     │  │     │  │  └─ Y = "Adler" gives 0.72
│     │  │     │  │     ├─ control("Adler","Adler")  (see above)
│     │  │     │  │     └─ own("Adler","Dachs",0.72) /own.csv:2
│     │  │     │  └─ 0.72 > 0.5
│     │  │     └─ own("Dachs","Elster",0.8)          /own.csv:3
│     │  └─ 0.8 > 0.5
│     └─ own("Elster","Biber",0.25)                  /own.csv:5
└─ 0.65 > 0.5"""


def test_a_contribution_counts_as_soon_as_it_suffices() -> None:
    proof = proof_of(TOTALS, DATA, 'control("a","c")')
    values = {p.fact: p for p in proof.steps() if p.predicate == "total"}
    early = values['total("a","b",0.6)']
    assert early.final == 0.8
    assert 'total("a","b",0.8)' not in values  # it rests on the control that is to be proved
    assert "by rule 3 (in the end 0.8)" in proof_text(proof)


def test_deep_proofs_need_no_deep_stack() -> None:
    n = 3 * sys.getrecursionlimit()
    rows: Rows = {"e": [(i, i + 1) for i in range(n)], "s": [(0,)]}
    found = asked("t(X) :- s(X). t(Y) :- t(X), e(X, Y).", rows, f"t({n})")
    assert found.proofs[0].height == n + 1
    text = as_text(found, depth=5)
    assert text.endswith("(not shown: the proofs of 1 fact below level 5; --levels shows more)")
    assert len(text.splitlines()) == 12
    whole = found.proofs[0].as_dict()
    assert len(json.loads(json.dumps(whole))["steps"]) == 2 * n + 2
    assert as_dot(found).count("shape=ellipse") == n + 1


def test_stratified_aggregate_lists_all_contributions() -> None:
    rows: Rows = {"own": [(f"o{i:02}", "c", i) for i in range(1, 31)]}
    proof = proof_of("n(C, S) :- own(O, C, W), S = sum(W, <O>).", rows, 'n("c", S)')
    assert len(proof.contributions) == 30
    assert proof.total is not None
    assert proof.total.value == 465
    assert "   └─ ... and 10 more" in proof_text(proof)
    assert len(proof.as_dict()["steps"][0]["aggregate"]["contributions"]) == 30


@pytest.mark.parametrize(
    ("function", "value"),
    [
        ("avg", "2.0"),
        ("median", "1.0"),
        ("list", "[1, 1, 4]"),
        ("set", "{1, 4}"),
        ("min", "1"),
        ("prod", "4"),
    ],
)
def test_every_aggregate(function: str, value: str) -> None:
    rows: Rows = {"e": [("a", 1), ("b", 1), ("c", 4)]}
    proof = proof_of(f"n(S) :- e(X, W), S = {function}(W, <X>).", rows, "n(S)")
    assert proof.fact == f"n({value})"
    assert len(proof.contributions) == 3


def test_existentials_keep_their_nulls() -> None:
    text = "works(X, Y) :- person(X). firm(Y) :- works(X, Y). boss(Y, Z) :- firm(Y)."
    found = asked(text, {"person": [("jack",), ("ruth",)]}, "boss(Y, Z)", most=2)
    assert [p.height for p in found.proofs] == [3, 3]
    for proof in found.proofs:
        firm = proof.premises[0]
        assert firm.premises[0].values[1] == firm.values[0] == proof.values[0] != proof.values[1]


def test_skolem_terms() -> None:
    text = "f(X, #pair(X, Y)) :- e(X, Y). g(Z) :- f(X, Z)."
    proof = proof_of(text, {"e": [(1, 2)]}, "g(Z)")
    assert proof.height == 2
    assert proof.premises[0].premises[0].fact == "e(1,2)"


def test_unifications_are_named() -> None:
    text = (
        '@label("one boss").\nY = Z :- boss(X, Y), boss(X, Z).\nboss(X, Y) :- staff(X). boss("jack", "mia").'
    )
    found = asked(text, {"staff": [("jack",), ("ruth",)]}, 'boss("jack", "mia")')
    assert found.proofs[0].height == 0  # it is given
    text = "Y = Z :- boss(X, Y), boss(X, Z). boss(X, Y) :- staff(X). boss(X, Y) :- told(X, A, Y), staff(X), top(X)."
    rows: Rows = {"staff": [("jack",)], "told": [("jack", 1, "mia")], "top": [("jack",)]}
    found = asked(text, rows, "boss(X, Y)")
    assert as_text(found) == NAMED
    Whole(load_text(text), rows, found.proofs).check()


NAMED = """\
boss("jack","mia")               by rule 2 (<text>:1): boss(X, Y) :- staff(X).
├─ staff("jack")                 given
└─ Y is _:n1 here, which is one with "mia":
   └─ _:n1 = "mia"               by rule 1 (<text>:1): Y = Z :- boss(X, Y), boss(X, Z).
      ├─ boss("jack",_:n1)       by rule 2
      │  └─ staff("jack")        given
      └─ boss("jack","mia")      by rule 3 (<text>:1): boss(X, Y) :- told(X, A, Y), staff(X), top(X).
         ├─ told("jack",1,"mia") given
         ├─ staff("jack")        given
         └─ top("jack")          given"""

FAMILY = """
family(P, F) :- person(P).
@label("partners").
F = G :- partner(P, Q), family(P, F), family(Q, G).
@label("parents").
F = G :- parent(P, Q), family(P, F), family(Q, G).
seat(F, S) :- family(P, F).
relatives(P, Q) :- family(P, F), family(Q, F), P != Q.
neighbours(P, Q) :- family(P, F), family(Q, G), seat(F, S), seat(G, S), P != Q.
"""
RELATED: Rows = {
    "person": [("Anna",), ("Boris",), ("Carla",)],
    "partner": [("Anna", "Boris")],
    "parent": [("Boris", "Carla")],
}


def test_a_chain_of_unifications() -> None:
    found = asked(FAMILY, RELATED, 'relatives("Anna","Carla")')
    Whole(load_text(FAMILY), RELATED, found.proofs).check()
    facts = {step.fact for step in found.proofs[0].steps()}
    assert {'partner("Anna","Boris")', 'parent("Boris","Carla")', "_:n1 = _:n2", "_:n1 = _:n3"} <= facts
    carla = found.proofs[0].premises[1]
    (identified,) = carla.identified
    assert (identified.variable, str(identified.made), str(identified.value)) == ("F", "_:n3", "_:n1")
    assert [p.rule.label for p in identified.chain if p.rule] == ["parents"]
    steps = json.loads(json.dumps(found.as_dict()))["proofs"][0]["steps"]
    (told,) = next(s for s in steps if s["fact"] == 'family("Carla",_:n1)')["identified"]
    assert [steps[i]["fact"] for i in told["equations"]] == ["_:n1 = _:n3"]
    assert '-> r2 [style=dashed, label="F: _:n3 is _:n1"];' in as_dot(found)


def test_nulls_of_one_function_become_one_with_their_arguments() -> None:
    found = asked(FAMILY, RELATED, 'neighbours("Anna","Carla")')
    Whole(load_text(FAMILY), RELATED, found.proofs).check()
    text = (
        "p(X, #f(X)) :- q(X). Y = Z :- p(1, Y), p(2, Z). h(X, [#g(N), 1]) :- p(X, N). g(X, #g(N)) :- p(X, N)."
        "Y = Z :- g(X, Y), k(X, Z). r(X) :- p(X, N), N == #f(2), h(X, [#g(N), 1])."
    )
    rows: Rows = {"q": [(1,), (2,)], "k": [(1, "c")]}
    for goal in ("h(X, L)", "p(X, N)", "g(X, N)", "r(X)"):
        assert len(asked(text, rows, goal, most=9).proofs) == 2
        Whole(load_text(text), rows, asked(text, rows, goal, most=9).proofs).check()


def test_nulls_of_the_data_are_unified() -> None:
    text = '@input("b"). Y = Z :- b(X, Y), b(X, Z). c(Y) :- b(X, Y), d(Y).'
    rows: Rows = {"b": [(1, Null(1)), (1, "mia"), (2, "x")], "d": [("mia",)]}
    found = asked(text, rows, 'b(1, "mia")', most=2)
    assert proof_text(found.proofs[0]).splitlines()[0].split() == ['b(1,"mia")', "given"]
    Whole(load_text(text), rows, found.proofs).check()
    Whole(load_text(text), rows, asked(text, rows, "c(X)").proofs).check()


@settings(max_examples=inputs(40), deadline=None)
@given(st.data())
def test_random_unifications(data: st.DataObject) -> None:
    people = data.draw(st.lists(st.sampled_from("abcdef"), min_size=2, max_size=6, unique=True))
    pairs = st.lists(st.tuples(st.sampled_from(people), st.sampled_from(people)), max_size=4, unique=True)
    rows: Rows = {"person": [(p,) for p in people]}
    rows |= {"partner": data.draw(pairs), "parent": data.draw(pairs), "named": data.draw(pairs)[:1]}
    text = FAMILY + data.draw(
        st.sampled_from(
            [
                "family(P, N) :- named(P, N), person(P).",
                "seat(F, N) :- family(P, F), named(P, N). S = T :- seat(F, S), seat(F, T).",
                "F = G :- seat(F, S), seat(G, S).",
            ]
        )
    )
    program = load_text(text)
    try:
        facts = evaluate(program, Facts.from_rows(rows)).facts
    except EvaluationError:
        return  # two names for one family
    for goal in ("relatives(P, Q)", "neighbours(P, Q)", "family(P, F)", "seat(F, S)"):
        found = asked(text, rows, goal, most=50)
        assert {p.values for p in found.proofs} == set(facts.rows(goal.split("(")[0])), (
            "nulls keep their numbers"
        )
        Whole(program, rows, found.proofs).check()


def test_functions_dates_and_collections() -> None:
    text = 'p(N, D) :- q(S, D), N = to_upper(S) + "!", year(D) > 2020, S in ["a", "b"]. q("a", 2024-01-15).'
    found = asked(text, {}, 'p("A!", 2024-01-15)')
    assert set(found.proofs[0].conditions) == {
        'N = to_upper("a") + "!" = "A!"',
        "year(2024-01-15) > 2020",
        '"a" in ["a", "b"]',
    }


def test_zero_arity_and_patterns() -> None:
    found = asked("p :- q(X). r(X, Y) :- q(X), q(Y).", {"q": [(1,), (2,)]}, "p")
    assert found.proofs[0].fact == "p"
    assert found.proofs[0].height == 1
    found = asked("p :- q(X). r(X, Y) :- q(X), q(Y).", {"q": [(1,), (2,)]}, "r(X, X)", most=1)
    assert (len(found.proofs), found.others) == (1, 1)
    assert as_text(found).endswith("\n\n1 other fact fits r(X, X)")


def test_facts_given_twice_are_one() -> None:
    text = "t(X, Z) :- t(X, Y), t(Y, Z). t(1, 2). t(2, 3)."
    found = asked(text, {"t": [(1, 2), (3, 4)]}, "t(X, Y)", most=10)
    assert sorted(p.fact for p in found.proofs) == [f"t({a},{b})" for a in (1, 2, 3) for b in range(a + 1, 5)]


def test_only_some_rules_of_a_recursion_can_fire() -> None:
    text = "p(X, Y) :- e(X, Y), q(Z). q(X) :- none(X), p(X, Y)."
    found = asked(text, {"e": [(0, 1)], "q": [(0,)]}, "p(0, 1)")
    assert found.proofs[0].height == 1


def test_shared_proofs_are_shown_once() -> None:
    text = "b(X) :- a(X). c(X) :- b(X). d(X) :- b(X), c(X)."
    proof = proof_of(text, {"a": [(1,)]}, "d(1)")
    assert len(proof.steps()) == 4
    assert proof_text(proof) == SHARED
    assert proof.premises[1].premises[0] is proof.premises[0]


SHARED = """\
d(1)       by rule 3 (<text>:1): d(X) :- b(X), c(X).
├─ b(1)    by rule 1 (<text>:1): b(X) :- a(X).
│  └─ a(1) given
└─ c(1)    by rule 2 (<text>:1): c(X) :- b(X).
   └─ b(1) (see above)"""


# --- why not --------------------------------------------------------------------------------------------------

CONSTANTS = ["it only gives facts whose argument 1 is 1", "it only gives facts whose argument 2 is 3"]
WHY_NOT = [
    (CLOSURE, {"e": [(1, 2), (3, 4)]}, "t(1, 4)", ["there is no e(1,4)", "there is no e(2,4)"]),
    ("p(X) :- q(X), X > 2.", {"q": [(1,), (5,)]}, "p(1)", ["1 > 2 does not hold"]),
    ("p(X) :- q(X), not r(X).", {"q": [(1,)], "r": [(1,)]}, "p(1)", ["r(1) holds"]),
    ("p(X) :- q(X), r(X).", {"q": [(1,)]}, "p(1)", ["there is no fact of r at all"]),
    (
        "p(Y) :- q(X), Y = X * 2.",
        {"q": [(1,)]},
        "p(3)",
        ["Y = 1 * 2: that is 2, and the goal has 3"],
    ),
    (
        SUMS,
        DATA,
        'control("a", "d")',
        [
            "it only gives facts whose arguments 1 and 2 are equal",
            "V = msum(W, <Y>) = 0.4 from 1 contribution, but 0.4 > 0.5 does not hold",
        ],
    ),
    ("p(1, X) :- q(X). p(X, 3) :- q(X).", {"q": [(4,)]}, "p(2, 4)", CONSTANTS),
    ("p(X) :- q(X, W), W > 2, r(X).", {"q": [(1, 2)], "r": [(5,)]}, "p(1)", ["2 > 2 does not hold"]),
    ("p(X) :- r(X), not s(X), q(X).", {"q": [(5,)], "r": [(1,)], "s": [(1,)]}, "p(1)", ["s(1) holds"]),
    (CLOSURE, {"e": [(1, 2)]}, "t(A, A)", ["1 == 2 does not hold", "there is no e(2,Z)"]),
    ("p(X, Y) :- q(X, Y).", {"q": [(1, "a")]}, "p(A, A)", ["it never gives one value as arguments 1 and 2"]),
    ("p(X) :- r(X), q(X).", {"q": [(5,)], "r": [(6,)]}, "p(1)", ["there is no r(1)"]),
    ("p(X) :- r(Y), q(X, Y).", {"q": [(1, 5)], "r": [(6,)]}, "p(1)", ["there is no r(5)"]),
]


@pytest.mark.parametrize(("text", "rows", "goal", "words"), WHY_NOT)
def test_why_not(text: str, rows: Rows, goal: str, words: list[str]) -> None:
    found = missing(text, rows, goal)
    assert [reason.words for reason in found.reasons] == words
    assert json.loads(json.dumps(found.as_dict()))["goal"] == goal
    assert as_dot(found).startswith("digraph")


def test_why_not_tells_the_furthest_match() -> None:
    text = "p(X, Z) :- a(X, Y), b(Y, Z), c(Z, X)."
    rows: Rows = {"a": [(1, 1), (1, 2), (1, 3)], "b": [(2, 5), (3, 6)], "c": [(9, 9)]}
    reason = missing(text, rows, "p(1, 5)").reasons[0]
    assert (reason.unmet, reason.met) == ("c(Z, X)", ("a(1,2)", "b(2,5)"))
    assert dict(reason.binding) == {"X": 1, "Z": 5, "Y": 2}


def test_why_not_reads_well() -> None:
    assert why_not_text(missing(SUMS, DATA, 'control("a","d")')) == MISSING
    assert missing(TOTALS, DATA, 'total("a","b",0.7)').note == "the value in the result is 0.8"


MISSING = """\
control("a","d") does not hold.
├─ rule 1 (<text>:3): Every company controls itself.
│  └─ fails: it only gives facts whose arguments 1 and 2 are equal
├─ "majority" (<text>:7): A company controls what it and those that it controls own more than half of.
│  ├─ counts: Y = "c": 0.4
│  └─ fails: V > 0.5: V = msum(W, <Y>) = 0.4 from 1 contribution, but 0.4 > 0.5 does not hold
└─ facts that come near:
      control("a","a")
      control("a","b")
      control("a","c")
      control("d","d")"""


def test_why_not_looks_behind_missing_facts() -> None:
    text = """
    significant(X, Y) :- share(X, Y, W), W >= 0.2.
    share(X, Y, S) :- own(X, Y, W), S = sum(W).
    linked(X, Y) :- close(X, Y), company(Y).
    close(X, Y) :- significant(X, Y).
    close(X, Y) :- same(X, Y).
    same(X, Y) :- address(X, A), address(Y, A).
    """
    rows: Rows = {
        "own": [("a", "b", 0.12), ("a", "c", 0.5)],
        "address": [("a", 1), ("c", 1)],
        "company": [("b",)],
    }
    found = missing(text, rows, 'linked("a","b")')
    assert as_text(found) == BEHIND
    deeper = json.loads(json.dumps(found.as_dict()))["reasons"][0]["deeper"]
    assert deeper["deeper"]["words"] == "0.12 >= 0.2 does not hold"
    assert 'label="0.12 >= 0.2 does not hold"' in as_dot(found)


BEHIND = """\
linked("a","b") does not hold: there is no fact of linked at all.
└─ rule 3 (<text>:4): linked(X, Y) :- close(X, Y), company(Y).
   └─ fails: there is no close("a","b")
      └─ rule 4 (<text>:5): close(X, Y) :- significant(X, Y).
         └─ fails: there is no significant("a","b")
            └─ rule 1 (<text>:2): significant(X, Y) :- share(X, Y, W), W >= 0.2.
               ├─ holds: share("a","b",0.12)
               └─ fails: W >= 0.2: 0.12 >= 0.2 does not hold"""


def test_why_not_ends_in_recursion() -> None:
    rows: Rows = {"e": [(i, i + 1) for i in range(9)] + [(20, 21)]}
    text = why_not_text(missing("t(X, Y) :- e(X, Y). t(X, Z) :- e(X, Y), t(Y, Z).", rows, "t(0, 21)"))
    assert text.count("fails") <= 2 + 3


def test_why_not_names_the_witness_of_a_negation() -> None:
    text = "front(X, Y) :- own(X, Y), not behind(_, Y). behind(X, Y) :- own(Z, Y), own(X, Z)."
    rows: Rows = {"own": [("x", "i24"), ("z", "i24"), ("y", "z")]}
    reason = missing(text, rows, 'front("x","i24")').reasons[0]
    assert reason.words == 'behind("y","i24") holds, by rule 2 from own("z","i24"), own("y","z")'
    assert reason.unmet == "not behind(_, Y)"


LATER = [
    ("p(X) :- X + 1 > 2, e(X, 0).", "p(_:n9)", "there is no e(_:n9,0)"),
    ("p(T) :- day(T) > 27, e(T, 5).", "p(_:n9)", "there is no e(_:n9,5)"),
    ("p(X) :- e(X, Y), 10 / Y > 2, f(Y).", "p(5)", "there is no f(0)"),
    ("p(V) :- f(Y), 10 / V > 2, V = Y * 2.", "p(0)", "V = 7 * 2: that is 14, and the goal has 0"),
    ("p(X, S) :- X + 1 > 2, e(X, 0), S = sum(X).", "p(_:n9,1)", "there is no e(_:n9,0)"),
]


@pytest.mark.parametrize(("rule", "goal", "words"), LATER)
def test_why_not_leaves_what_cannot_be_carried_out_for_later(rule: str, goal: str, words: str) -> None:
    day = datetime(2024, 1, 28)
    rows: Rows = {"e": [(day, 5), (Null(9), 1)] if "day" in rule else [(5, 0), (Null(9), 1)], "f": [(7,)]}
    assert missing(rule + " g(X) :- f(X).", rows, goal).reasons[0].words == words


SPOUSES = """
e(I, E) :- r(I, _).
E = F :- r(I, N), r(J, N), e(I, E), e(J, F).
@label("told"). E = F :- e(I, E), told(I, F).
E = F :- other(I, E), other(J, F), r(I, N), r(J, N).
other(I, E) :- r(I, _).
same(I, J) :- e(I, E), e(J, E), I < J.
"""


def test_why_not_tells_what_made_no_two_nulls_one() -> None:
    rows: Rows = {"r": [(1, "a"), (2, "b"), (3, "b"), (4, "c")], "told": [(4, "x")]}
    found = missing(SPOUSES, rows, "same(1,2)")
    assert as_text(found) == APART
    assert "no equality-generating dependency" not in json.dumps(found.as_dict())
    assert missing(SPOUSES, rows, 'other(1,"x")').reasons[0].words == (
        'what it makes of these values is _:n5, not "x", and no equality-generating dependency can make them one'
    )
    reason = missing(SPOUSES, rows, 'e(2,"x")').reasons[0]
    words = 'what it makes of these values is _:n2, not "x", and rule 2 and "told" do not make them one'
    assert (reason.words, reason.deeper and reason.deeper.words) == (words, 'there is no r(4,"b")')
    text = "e(I, [#f(I)]) :- r(I)."
    found = missing(text, {"r": [(1,), (2,)]}, "e(1, [_:n2])")
    assert found.reasons[0].words == "what it makes of these values is _:n1, not _:n2"


APART = """\
same(1,2) does not hold.
└─ rule 6 (<text>:7): same(I, J) :- e(I, E), e(J, E), I < J.
   ├─ holds: e(1,_:n1)
   └─ fails: there is no e(2,_:n1)
      └─ rule 1 (<text>:2): e(I, E) :- r(I, _).
         ├─ holds: r(2,"b")
         └─ fails: what it makes of these values is _:n2, not _:n1, and rule 2 does not make them one
            └─ rule 2 (<text>:3): E = F :- r(I, N), r(J, N), e(I, E), e(J, F).
               ├─ holds: e(2,_:n2)
               ├─ holds: e(1,_:n1)
               ├─ holds: r(2,"b")
               └─ fails: there is no r(1,"b")"""


def test_why_not_tells_the_nearest_number() -> None:
    rows: Rows = {"q": [(1, 3), (1, 8), (1, 5)]}
    assert missing("p(X) :- q(X, W), W > 9.", rows, "p(1)").reasons[0].words == "8 > 9 does not hold"


def test_why_not_tells_a_better_value() -> None:
    text = "d(X, Y, C) :- e(X, Y, W), C = mmin(W). d(X, Z, C) :- d(X, Y, A), e(Y, Z, W), C = mmin(A + W)."
    found = missing(text, {"e": [(1, 2, 5), (2, 3, 1), (1, 3, 9)]}, "d(1, 3, 9)")
    assert found.note == "the value in the result is 6"
    assert [r.words for r in found.reasons] == [
        "it gives this, but the value in the result is 6",
        "C = mmin(A + W) = 6 from 1 contribution, not what the goal says",
    ]
    text = "best(X, C) :- s(X, Y, W), C = mmax(W). best(X, C) :- fixed(X, C). top(X) :- best(X, C), C == 3."
    found = missing(text, {"s": [(1, 1, 3)], "fixed": [(1, 7)]}, "best(1, 3)")
    assert found.reasons[0].words == "it gives this, but the value in the result is 7"
    assert [r.words for r in found.reasons[1:]] == ["there is no fixed(1,3)"]


NULLS = [
    ("p(X, Y) :- q(X), not r(X).", ["r(1) holds (<text>:1)"]),
    ("p(X, #f(X)) :- q(X), not r(X).", ["r(1) holds (<text>:1)"]),
    ("p(X, Y) :- q(X), X > 1.", ["1 > 1 does not hold"]),
    ("p(X, X) :- q(X), #f(X) == #f(2).", ["_:n1 == _:n2 does not hold"]),
    (
        "p(X, #f(X)) :- q(X), V = sum(X), V > 5.",
        ["V = sum(X) = 1 from 1 contribution, but 1 > 5 does not hold"],
    ),
]


@pytest.mark.parametrize(("rule", "words"), NULLS)
def test_why_not_where_nulls_would_be_made(rule: str, words: list[str]) -> None:
    found = missing(rule + " q(1). r(1).", {}, "p(1, Y)")
    assert [r.words for r in found.reasons] == words
    assert "#made" not in json.dumps(found.as_dict()) + as_text(found) + as_dot(found)
    assert "#f(X)" in as_text(found) or "#" not in rule


def test_facts_whose_recursion_never_starts() -> None:
    text = "t(X, Y) :- x(X, Y). x(X, Y) :- t(X, Y), k(X). x(1, 3)."
    assert asked(text, {}, "t(1, 3)").proofs[0].height == 1
    assert asked(text, {}, "x(1, 3)").proofs[0].source == "<text>:1"
    words = missing(text, {}, "x(3, 1)").reasons[0].words
    assert words == "there is no fact of k at all"


# --- unions, notes ------------------------------------------------------------------------------------------------

SETS = "r(1, 2). r(2, 3). g(X, S) :- r(X, _), S = munion({X}). g(X, S) :- r(Y, X), g(Y, T), S = munion(T)."


def test_unions_of_several_rules() -> None:
    found = asked(SETS, {}, "g(2, S)")
    proof = found.proofs[0]
    assert [(p.fact, p.rule.number) for p in proof.premises if p.rule] == [("g(2,{2})", 1), ("g(2,{1})", 2)]
    assert "the union of 2 parts" in as_text(found)
    Whole(load_text(SETS), {}, asked(SETS, {}, "g(X, S)", most=9).proofs).check()
    flat = "g(X, S) :- a(X, Y), S = munion(Y). g(X, S) :- b(X, Y), S = munion(Y). h(X, S) :- g(X, S)."
    rows: Rows = {"a": [(1, 1), (1, 2)], "b": [(1, 2), (1, 3)]}
    proof = proof_of(flat, rows, "h(1, S)")
    assert (proof.fact, [p.fact for p in proof.premises[0].premises]) == (
        "h(1,{1, 2, 3})",
        ["g(1,{1, 2})", "g(1,{3})"],
    )
    Whole(load_text(flat), rows, [proof]).check()


def test_unions_of_given_facts() -> None:
    text = (
        "g(X, S) :- r(X, Y), S = munion(Y). g(X, {9}) :- r(X, 7). g(1, {5}). g(2, {1}). g(2, {3})."
        "g(X, S) :- e(Y, X), g(Y, T), S = munion(T)."
    )
    rows: Rows = {
        "r": [(1, 2), (2, 7), (3, 4)],
        "e": [(1, 2), (3, 3)],
        "g": [(4, frozenset({0})), (4, frozenset({2}))],
    }
    program = load_text(text)
    found = asked(text, rows, "g(X, S)", most=9)
    Whole(program, rows, found.proofs).check()
    parts = {p.fact: [q.fact for q in p.premises] for p in found.proofs}
    assert parts["g(4,{0, 2})"] == ["g(4,{0})", "g(4,{2})"]
    assert parts["g(2,{1, 2, 3, 5, 7, 9})"] == ["g(2,{1})", "g(2,{3})", "g(2,{7})", "g(2,{9})", "g(2,{2, 5})"]


def test_very_many_contributions_are_counted() -> None:
    rows: Rows = {"own": [(i, i % 7) for i in range(5000)]}
    proof = proof_of("n(S) :- own(X, W), S = sum(W, <X>).", rows, "n(S)")
    assert proof.total is not None
    assert (proof.total.size, len(proof.contributions), proof.total.others) == (5000, 100, 4900)
    assert {c.value for c in proof.contributions} == {6}
    assert "└─ ... and 4,980 more" in proof_text(proof)
    assert proof.as_dict()["steps"][0]["aggregate"]["others"] == 4900


def test_violated_constraints_are_noted() -> None:
    text = '@label("no loop"). #F :- e(X, X). ' + CLOSURE
    found = asked(text, {"e": [(1, 2), (2, 2)]}, "t(1, 2)")
    assert found.notes == ('the constraint "no loop" (<text>:1) is violated once: #F :- e(X, X).',)
    assert as_text(found).endswith("\n\nnote: " + found.notes[0])
    assert json.loads(json.dumps(found.as_dict()))["notes"] == list(found.notes)
    assert not asked(text, {"e": [(1, 2)]}, "t(1, 2)").notes


def test_variables_that_look_like_names_are_noted() -> None:
    rows: Rows = {"e": [("H1", "B"), ("C", "D")]}
    assert asked(CLOSURE, rows, "t(H1, X)").notes == (
        'H1 is a variable here, which fits any value; write "H1" for the name',
    )
    assert asked(CLOSURE, rows, "t(A, B)").notes == (
        'B is a variable here, which fits any value; write "B" for the name',
    )
    assert not asked(CLOSURE, rows, "t(B, H1)").notes


def test_nulls_within_lists_of_the_data() -> None:
    rows: Rows = {"e": [((Null(3), 1),)]}
    assert asked("p(X) :- e(X).", rows, "p([_:n3, 1])").holds
    with pytest.raises(ProgramError, match="_:n4 occurs nowhere"):
        asked("p(X) :- e(X).", rows, "p([_:n4, 1])")


MIXED = "pairs(X, Y) :- e(X, F), e(Y, F). e(X, N) :- c(X)."
NUMBER = """\
<goal>:1:7: error[E524]: argument 1 of pairs is an integer, and "1" is not
  1 | pairs("1",2)
    |       ^^^
  note: an argument of a predicate has one type
  help: write 1"""


def test_types_of_columns_that_hold_nulls() -> None:
    with pytest.raises(ProgramError) as error:
        asked(MIXED, {"c": [(1,), (2,)], "e": [(Null(9), Null(4))]}, 'pairs("1",2)')
    assert str(error.value) == NUMBER
    rows: Rows = {"c": [("a",), ("b",)], "e": [(Null(9), Null(4))]}
    assert asked(MIXED, rows, 'pairs(1,"b")').notes == (
        'argument 1 of pairs is a string wherever it is no null, and 1 is not; write "1"',
    )
    assert not asked(MIXED, rows, 'pairs("a","b")').notes


def test_goals_with_nulls() -> None:
    text = '@output("p"). @output("m"). m(X, Z) :- q(X). p(X, Y) :- q(X). Y = Z :- p(1, Y), p(2, Z).'
    rows: Rows = {"q": [(1,), (2,), (3,)]}
    written = {f"p({x},{y})" for x, y in evaluate(load_text(text), Facts.from_rows(rows)).facts.rows("p")}
    for fact in written:
        assert asked(text, rows, fact).proofs[0].fact == fact
    assert len(written) == 3
    text = "p(X, Y) :- q(X). Y = Z :- p(1, Y), p(2, Z). s(X, [Y]) :- p(X, Y)."
    found = asked(text, rows, "p(2, _:n2)")
    assert (found.proofs[0].fact, found.notes) == ("p(2,_:n1)", ("_:n2 has become _:n1",))
    assert asked(text, rows, "s(3, [_:n3])").holds
    assert not asked(text, rows, "p(3, _:n1)").holds
    with pytest.raises(ProgramError, match="_:n9 occurs nowhere"):
        asked(text, rows, "p(3, _:n9)")


# --- goals ----------------------------------------------------------------------------------------------------

BAD = [
    ("contrl(X, Y)", "E522", "the rules know no predicate contrl", "did you mean control?"),
    (
        "control(X)",
        "E523",
        "control has 2 arguments, not 1",
        "write control(X1,X2); variables match any value",
    ),
    ('control("A", X)', "E525", '"A" occurs nowhere in the data', 'did you mean "a"?'),
    (
        'control("zzz", X)',
        "E525",
        '"zzz" occurs nowhere in the data',
        "names must be written exactly as in the data",
    ),
    ("control(1, X)", "E524", "argument 1 of control is a string, and 1 is not", 'write "1"'),
    ("control(X, Y) :- own(X, Y, W)", "E521", "this is not one atom", None),
    ("control(1 + 2, X)", "E521", "1 + 2 is an expression", "write the value, or a variable"),
    ("control(X, P-Ben)", "E521", "P - Ben is an expression", 'write "P-Ben" for a name'),
    (
        "control(X, Ben AG)",
        "E001",
        "unexpected `AG`",
        'a name with signs or blanks in it needs quotes, as in control("a","b & c")',
    ),
]


@pytest.mark.parametrize(("goal", "code", "message", "hint"), BAD)
def test_bad_goals(goal: str, code: str, message: str, hint: str | None) -> None:
    with pytest.raises(ProgramError) as error:
        asked(SUMS, DATA, goal)
    found = error.value.diagnostics[0]
    assert (found.code, found.message) == (code, message)
    assert hint is None or found.hint == hint


def test_a_syntax_error_in_a_goal() -> None:
    with pytest.raises(ProgramError, match="<goal>:1:"):
        asked(SUMS, DATA, 'control("a",')


# --- sources --------------------------------------------------------------------------------------------------


def test_sources_of_facts(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text('source,target,w\na,b,0.6\n\n"c\nd",b,0.1\n', encoding="utf-8")
    text = '@node("company"). @edge("own").\ncontrol(X, X) :- company(X).\nown("x", "y", 0.5).'
    program = load_text(text)
    data = {"own": tmp_path / "own.csv"}
    find = sources(program, data)
    assert find("own", ("a", "b", 0.6)) == f"{tmp_path / 'own.csv'}:2"
    assert find("own", ("c\nd", "b", 0.1)) == f"{tmp_path / 'own.csv'}:4"
    assert find("own", ("a", "b", 0.7)) is None
    assert find("company", ("b",)) == f"{tmp_path / 'own.csv'}:2 (end of own)"
    found = explain_fact(program, load_facts(program, data), 'own("x", "y", X)', sources=find)
    assert found.proofs[0].source == "<text>:3"


def test_many_facts_are_found_like_few(tmp_path: Path) -> None:
    lines = ["source,target", *(f"{i % 150},{i % 7}" for i in range(2000))]
    (tmp_path / "e.csv").write_text("\n".join(lines), encoding="utf-8")
    find = sources(load_text("t(X, Y) :- e(X, Y)."), {"e": tmp_path / "e.csv"})
    pairs = [(i % 150, i % 7) for i in range(2000)]
    for pair in dict.fromkeys(pairs):  # the first ones are looked for, the others have an index
        assert find("e", pair) == f"{tmp_path / 'e.csv'}:{pairs.index(pair) + 2}"
    assert find("e", (150, 0)) is None


def test_nothing_is_read_before_it_is_asked_for(tmp_path: Path) -> None:
    program = load_text("p(X) :- q(X).")
    sources(program, {"q": tmp_path / "none.csv"})


# --- whatever rules there are ---------------------------------------------------------------------------------


@settings(max_examples=inputs(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_random_programs(case: Any) -> None:
    """Every derived fact of small random programs has a proof that holds."""
    program = load_text(case.text)
    try:
        facts = {(p, row) for p, some in naive(program, case.facts).items() for row in some}
    except EvaluationError:
        return
    for predicate in sorted(program.heads):
        goal = f"{predicate}({', '.join(f'V{i}' for i in range(program.arities[predicate]))})"
        goal = goal if program.arities[predicate] else predicate
        try:
            found = explain_fact(program, Facts.from_rows(case.facts), goal, most=20)
        except KgreasonError:
            return
        for proof in found.proofs:
            check(program, proof, case.facts, facts)


@settings(max_examples=inputs(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(whole=True), st.data())
def test_programs_of_the_whole_language(case: Any, data: st.DataObject) -> None:
    """Whatever is derived is traced down to given facts, and whatever is asked has an answer."""
    try:
        program = load_text(case.text)
        facts = Facts.from_rows(case.facts)
        derived = evaluate(program, facts, goals=sorted(program.heads)).facts
    except (KgreasonError, TypeError):
        return
    for predicate in sorted(p for p in program.heads if not p.startswith("#")):
        names = [f"V{i}" for i in range(program.arities[predicate])]
        goal = f"{predicate}({', '.join(names)})" if names else predicate
        found = explain_fact(program, facts, goal, most=20)
        assert len(found.proofs) + found.others == derived.count(predicate)
        assert not any("traced" in note for p in found.proofs for s in p.steps() for note in s.notes)
        Whole(program, case.facts, found.proofs).check()
        cells = [data.draw(st.sampled_from([*names, "0", "1", '"a"', "0.5", "#T"])) for _ in names]
        goal = f"{predicate}({', '.join(cells)})" if cells else predicate
        try:
            answer = explain_fact(program, facts, goal)
        except ProgramError as error:
            if error.diagnostics[0].code not in {"E524", "E525"}:
                raise
            continue
        assert answer.holds == (answer.why_not is None)
        assert as_text(answer)
        assert json.dumps(answer.as_dict())
