"""Facts that follow edits: after each of them all is as if derived from the edited data."""

from __future__ import annotations

import copy
import pickle
import signal
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from kgreason import EvaluationError, KgreasonError, Null, Reasoner, function, reason
from kgreason.base.errors import CallError
from kgreason.engine.incremental import database
from kgreason.engine.incremental import delete_rederive as rederive
from kgreason.engine.incremental.maintenance import Evaluated
from kgreason.engine.limits import Limits
from kgreason.engine.relations.fact_tables import Facts, Table
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.language.values import identity
from tests.examples import inputs
from tests.renamings import has_nulls, isomorphic
from tests.strategies import Case, cases
from tests.texts import load_text

EXAMPLES = inputs(60)
edited_programs = settings(
    max_examples=max(1, EXAMPLES // 2),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
LIMITS = Limits(rounds=300)


@pytest.fixture(autouse=True, scope="module")
def small():
    """What happens to large relations happens to small ones, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "SLACK", 3)
        patch.setattr(database, "FEW", 4)
        patch.setattr(rederive, "LEAST", 6)
        yield


Edit = tuple[bool, dict[str, list[tuple]]]


def comparable(rows):
    return {tuple(map(identity, row)) for row in rows}


class Oracle:
    """The same edits on plain sets, and a fresh evaluation after each."""

    def __init__(self, text, data, edits):
        self.program = load_text(text)
        self.goals = sorted(p for p in self.program.heads if not p.startswith("#"))
        every = {p: list(rows) for p, rows in data.items()}
        for _, edit in edits:
            for predicate, rows in edit.items():
                every.setdefault(predicate, []).extend(rows)
        self.pool = Facts.from_rows({p: rows for p, rows in every.items() if rows})
        self.rows = {p: comparable(rows) for p, rows in data.items()}
        self.known = {p for p, rows in data.items() if rows}

    def edit(self, add, edit):
        for predicate, rows in edit.items():
            held = self.rows.setdefault(predicate, set())
            if add:
                held |= comparable(rows)
                self.known |= {predicate} if rows else set()
            else:
                held -= comparable(rows)

    def facts(self):
        tables = {}
        for predicate in self.known:
            table = self.pool.tables[predicate]
            keep = np.array(
                [tuple(map(identity, r)) in self.rows[predicate] for r in self.pool.rows(predicate)]
            )
            tables[predicate] = Table(table.kinds, tuple(c[keep] for c in table.columns), int(keep.sum()))
        return Facts(tables, self.pool.symbols)

    def derived(self):
        result = evaluate(self.program, self.facts(), goals=self.goals, limits=LIMITS)
        return {p: comparable(result.facts.rows(p)) if result.facts.count(p) else set() for p in self.goals}


def held(reasoner):
    return {p: comparable(reasoner.rows(p)) for p in reasoner.predicates}


def typed(rows):
    """Rows whose columns do not mix integers and doubles."""
    double = [any(isinstance(v, float) for v in column) for column in zip(*rows, strict=True)]
    return [
        tuple(float(v) if d and not isinstance(v, Null) else v for v, d in zip(row, double, strict=True))
        for row in rows
    ]


def follow(text, data, edits, least=database.LEAST):
    """Carry out edits on a reasoner and on the oracle; both must agree, and failed edits leave no trace.

    Of `least` work on, updates are stopped and all is evaluated anew. Changes are looked at when all edits are done.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "LEAST", least)
        for changes, shown, after in _followed(text, data, edits):
            for predicate in after:
                added, removed = (comparable(c.get(predicate, ())) for c in (changes.added, changes.removed))
                assert added == after[predicate] - shown[predicate]
                assert removed == shown[predicate] - after[predicate]


def _followed(text, data, edits):
    """Changes of each edit that did not fail, and the outputs before and after it."""
    found = []
    oracle = Oracle(text, data, edits)
    try:
        before = oracle.derived()
    except KgreasonError:
        assume(False)
    reasoner = Reasoner(
        oracle.program, {p: rows for p, rows in data.items() if rows}, outputs=oracle.goals, limits=LIMITS
    )
    assert_same(held(reasoner), before)
    for add, edit in edits:
        kept = {p: set(rows) for p, rows in oracle.rows.items()}, set(oracle.known)
        oracle.edit(add, edit)
        try:
            expected = oracle.derived()
        except KgreasonError as error:
            note(f"refused: {error}")
            with pytest.raises(KgreasonError):
                (reasoner.add_facts if add else reasoner.remove_facts)(edit)
            oracle.rows, oracle.known = kept
            expected = None
        shown = held(reasoner)
        if expected is None:
            assert_same(shown, before)
            continue
        changes = (reasoner.add_facts if add else reasoner.remove_facts)(edit)
        after = held(reasoner)
        assert_same(after, expected)
        found.append((changes, shown, after))
        before = expected
    return found


leasts = st.sampled_from([database.LEAST, 160, 80, 40, 20, 0])


def assert_same(found, expected):
    if has_nulls(expected):
        assert isomorphic(found, expected, typed=True), f"{found} is not {expected}"
    else:
        assert found == expected


@st.composite
def edits_of(draw, data, most=5):
    """Random edits of some predicates; what is added was there before, or is mixed from what was."""
    found: list[Edit] = []
    for _ in range(draw(st.integers(1, most))):
        add = draw(st.booleans())
        edit = {}
        for predicate in draw(st.lists(st.sampled_from(sorted(data)), min_size=1, max_size=2, unique=True)):
            rows = data[predicate]
            columns = [st.sampled_from(column) for column in zip(*rows, strict=True)]
            row = st.sampled_from(rows) | st.tuples(*columns)
            edit[predicate] = draw(st.lists(row, min_size=1, max_size=3))
        found.append((add, edit))
    return found


def filled(value):
    return "z" if value == "" and isinstance(value, str) else value


@st.composite
def edited(draw, whole):
    case: Case = draw(cases(whole=whole))
    known = load_text(case.text).arities
    pool = {
        p: typed([tuple(map(filled, row)) for row in rows])
        for p, rows in case.facts.items()
        if rows and known.get(p)  # no table has rows without columns
    }
    assume(pool)
    data = {p: [r for r in rows if draw(st.booleans())] for p, rows in pool.items()}
    return case.text, data, draw(edits_of(pool)), draw(leasts)


@edited_programs
@given(edited(whole=False))
def test_edits_of_random_programs(case):
    note(case)
    follow(*case)


@settings(edited_programs, max_examples=max(1, EXAMPLES // 4))
@given(edited(whole=True))
def test_edits_of_random_programs_of_the_whole_language(case):
    note(case)
    follow(*case)


FAMILIES = {
    "closure": "t(X,Y) :- e(X,Y,_). t(X,Z) :- t(X,Y), e(Y,Z,_).",
    "closure, right": "t(X,Y) :- e(X,Y,_). t(X,Z) :- e(X,Y,_), t(Y,Z).",
    "closure, not linear": "t(X,Y) :- e(X,Y,_). t(X,Z) :- t(X,Y), t(Y,Z).",
    "closure of weak edges": "t(X,X) :- v(X). t(X,Z) :- t(X,Y), e(Y,Z,W), W < 0.5, not v(Z).",
    "control": """
        c(X,X) :- e(X,_,_). c(X,X) :- e(_,X,_).
        c(X,Z) :- c(X,Y), e(Y,Z,W), V = msum(W,<Y>), V > 0.5.
        controlled(Y) :- c(X,Y), X != Y.
        ultimate(X,Y) :- c(X,Y), X != Y, not controlled(X).
        size(X,N) :- ultimate(X,Y), N = count(Y).
        largest(M) :- size(_,N), M = max(N).
    """,
    "control by heads": "c(X,X) :- v(X). c(X,Z) :- c(X,Y), e(Y,Z,W), N = mcount(<Y,W>), N >= 2.",
    "two predicates": """
        odd(X,Y) :- e(X,Y,_). odd(X,Z) :- even(X,Y), e(Y,Z,_). even(X,Z) :- odd(X,Y), e(Y,Z,_).
        even(X,Y) :- odd(X,Y), v(Y).
        only(X,Y) :- odd(X,Y), not even(X,Y).
    """,
    "copies": """
        p(X,Y) :- e(X,Y,_). k(X,Y) :- p(X,Y). p(X,Z) :- k(X,Y), e(Y,Z,W), W > 0.3. p(X,X) :- v(X).
    """,
    "same generation": """
        s(X,X) :- v(X). s(X,Y) :- e(U,X,_), s(U,V), e(V,Y,_), not far(X,Y). far(X,Y) :- e(X,_,W), e(_,Y,W), W > 0.6.
    """,
    "aggregates": """
        total(X,S) :- e(X,_,W), S = sum(W). total(X,S) :- v(X), S = 0.0. many(N) :- e(X,Y,_), N = count(X).
        least(Y,M) :- total(X,S), e(X,Y,_), M = min(S). mean(A) :- total(_,S), A = avg(S).
        names("all",L) :- v(X), L = list(X). pairs(X,V) :- e(X,Y,W), not v(Y), V = msum(W,<Y>).
        pairs2(X,V) :- pairs(X,U), V = mmax(U). pairs2(X,V) :- v(X), V = mmax(0.25).
    """,
    "shortest": """
        d(X,Y,W) :- e(X,Y,W). d(X,Z,L) :- d(X,Y,D), e(Y,Z,W), L = mmin(D + W).
        near(X,Y) :- d(X,Y,D), D < 0.8, not v(Y).
    """,
    "constraint": "t(X,Y) :- e(X,Y,_). t(X,Z) :- t(X,Y), e(Y,Z,_). #F :- t(X,X), v(X). n(N) :- t(X,_), N = count(X).",
    "existentials": """
        boss(X,B) :- v(X). A = B :- e(X,Y,W), W > 0.5, boss(X,A), boss(Y,B). same(X,Y) :- boss(X,B), boss(Y,B).
    """,
    "nulls alone": "owner(X,O) :- v(X). owner(X,O) :- e(X,Y,_), owner(Y,O).",
    "given and derived": """
        p(X,Y) :- e(X,Y,_). q(X) :- p(X,Y), not r(Y). r("a"). r(X) :- v(X). q(X) :- q(Y), p(X,Y), r(Y). t(X) :- q(X).
        t(X) :- p(X,_), not q(X), not e(_,X,0.5).
    """,
    "nothing to compute": "p(X,Y,Z) :- e(X,Y,W), Z = W + 1. z() :- v(X), not e(X,X,_). y(X) :- v(X), not z().",
}
vertices = st.sampled_from("abcdefg")
weights = st.integers(1, 9).map(lambda k: k / 10)
edges = st.lists(st.tuples(vertices, vertices, weights), max_size=4)


@st.composite
def graph_edits(draw):
    data = {
        "q": [(x,) for x in draw(st.lists(vertices, max_size=2))],
        "e": draw(st.lists(st.tuples(vertices, vertices, weights), max_size=14)),
        "v": [(x,) for x in draw(st.lists(vertices, max_size=4))],
    }
    found: list[Edit] = []
    there = set(data["e"])
    for _ in range(draw(st.integers(1, 7))):
        add = draw(st.booleans())
        rows = draw(edges)
        if not add and there:
            rows += draw(st.lists(st.sampled_from(sorted(there)), min_size=1, max_size=3))
        edit = {"e": rows}
        if draw(st.integers(0, 3)) == 0:
            edit[draw(st.sampled_from("vvq"))] = [
                (x,) for x in draw(st.lists(vertices, min_size=1, max_size=2))
            ]
        there = there | set(rows) if add else there - set(rows)
        found.append((add, edit))
    return data, found


@pytest.mark.parametrize("name", FAMILIES)
@settings(edited_programs, max_examples=max(1, EXAMPLES // 3))
@given(graph_edits(), leasts)
def test_edits_of_programs_of_the_field(name, case, least):
    data, edits = case
    known = load_text(FAMILIES[name]).arities
    edits = [(add, {p: rows for p, rows in edit.items() if p in known}) for add, edit in edits]
    follow(FAMILIES[name], {p: rows for p, rows in data.items() if p in known}, edits, least)


# --- what users meet ----------------------------------------------------------------------------------------

CONTROL = """
@edge("own"). @node("company"). @output("control"). @output("alone").
control(X,X) :- company(X).
control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.
controlled(Y) :- control(X,Y), X != Y.
alone(X) :- company(X), not controlled(X).
"""


def fresh(rules, data, reasoner):
    return {p: comparable(rows) for p in reasoner.predicates for rows in [reason(rules, data).rows(p)]}


def test_vertices_come_and_go_with_their_edges():
    own = [("a", "b", 0.6), ("b", "c", 0.3), ("a", "c", 0.3)]
    reasoner = Reasoner(CONTROL, {"own": own, "company": ["b"]})
    changes = reasoner.add_facts({"own": [("c", "new", 1)]})
    assert set(changes.added["control"]) == {("a", "new"), ("c", "new"), ("new", "new")}
    assert not changes.removed
    reasoner.remove_facts({"own": [("a", "b", 0.6)]})
    assert held(reasoner) == fresh(
        CONTROL, {"own": [*own[1:], ("c", "new", 1.0)], "company": ["b"]}, reasoner
    )
    gone = reasoner.remove_facts({"own": [("c", "new", 1.0), *own], "company": ["b"]})
    assert gone.edited == 4
    assert held(reasoner) == {"control": set(), "alone": set()}
    reasoner.add_facts({"own": own, "company": ["b"]})
    assert held(reasoner) == fresh(CONTROL, {"own": own, "company": ["b"]}, reasoner)


def test_many_new_values():
    reasoner = Reasoner(CONTROL, {"own": [("a", "b", 0.6)]})
    chain = [(f"x{i}", f"x{i + 1}", 0.7) for i in range(300)]
    assert len(reasoner.add_facts({"own": chain}).added["control"]) == 301 * 302 // 2
    changes = reasoner.remove_facts({"own": [chain[150]]})
    assert len(changes.removed["control"]) == 151 * 150
    assert changes.added == {"alone": [("x151",)]}


def test_what_is_there_already_changes_nothing():
    reasoner = Reasoner(CONTROL, {"own": [("a", "b", 0.6)]})
    for changes in (
        reasoner.add_facts({"own": [("a", "b", 0.6)]}),
        reasoner.remove_facts({"own": [("b", "a", 0.6), ("z", "z", 0.1)]}),
        reasoner.add_facts({"own": []}),
        reasoner.add_facts({}),
    ):
        assert not changes
        assert changes.edited == 0
    assert reasoner.count("control") == 3
    assert repr(reasoner) == "<Reasoner: control: 3, alone: 1>"


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"owns": [("a", "b", 0.5)]}, "did you mean 'own'"),
        ({"size": [("a",)]}, "2 arguments"),
        ({"own": [("a", "b", "half")]}, "half"),
        ({"own": 5}, "no table"),
        ({"size": [("a", "x")]}, "argument 2 of size is an integer in the data so far, but a string"),
        ({"own": [("q", "r", 0.2)], "size": [("a", 2**62), ("b", 2**62)]}, "integer overflow"),
        ({"own": [("q", "r", 0.2)], "banned": [("a",)]}, "constraint"),
        ({"own": [("q", "r", -0.2)]}, "negative"),
    ],
)
@pytest.mark.parametrize("least", [database.LEAST, 30, 0])
def test_an_edit_that_fails_leaves_no_trace(facts, message, least, monkeypatch):
    monkeypatch.setattr(database, "LEAST", least)
    rules = (
        CONTROL
        + """
        @output("total"). total(S) :- size(_,N), S = sum(N).
        #F :- banned(X), control(X,Y), X != Y.
    """
    )
    data = {"own": [("a", "b", 0.6)], "size": [("a", 1)], "banned": [("c",)]}
    reasoner = Reasoner(rules, data)
    before = held(reasoner)
    with pytest.raises(KgreasonError) as error:
        reasoner.add_facts(facts)
    assert message in str(error.value)
    assert held(reasoner) == before
    reasoner.add_facts({"own": [("b", "c", 0.9)]})
    assert held(reasoner) == fresh(rules, data | {"own": [*data["own"], ("b", "c", 0.9)]}, reasoner)


def test_only_mappings_are_facts():
    with pytest.raises(KgreasonError, match="mapping"):
        Reasoner(CONTROL, {"own": []}).add_facts([("a", "b", 0.5)])


def test_types_can_become_wider():
    rules = "text(X,Y) :- e(X,N), Y = as_string(N). other(X) :- f(X), e(X,_)."
    reasoner = Reasoner(rules, {"e": [("a", 3)]})
    assert reasoner.rows("text") == [("a", "3")]
    changes = reasoner.add_facts({"e": [("b", 0.5)]})
    assert comparable(changes.added["text"]) == comparable([("a", "3.0"), ("b", "0.5")])
    assert comparable(changes.removed["text"]) == comparable([("a", "3")])
    assert reasoner.add_facts({"f": [("b",)]}).added == {"other": [("b",)]}
    assert reasoner.remove_facts({"e": [("a", 3)]}).removed == {"text": [("a", "3.0")]}


def test_outputs_are_processed_as_post_says():
    rules = '@output("best"). best(X,N) :- e(X,N). @post("best", "argmax(2)"). @post("best", "limit(1)").'
    reasoner = Reasoner(rules, {"e": [("a", 3), ("b", 2)]})
    assert not reasoner.add_facts({"e": [("c", 1)]})
    changes = reasoner.add_facts({"e": [("c", 5)]})
    assert (changes.added, changes.removed) == ({"best": [("c", 5)]}, {"best": [("a", 3)]})
    assert reasoner.count("best") == 1


def test_facts_of_the_rules_and_derived_ones_stay():
    reasoner = Reasoner("p(X) :- e(X). e(1). p(7).", {"e": [(1,), (2,)]})
    assert not reasoner.remove_facts({"e": [(1,)], "p": [(2,), (7,)]})
    assert reasoner.add_facts({"p": [(2,), (3,)]}).added == {"p": [(3,)]}
    assert not reasoner.remove_facts({"e": [(2,)]})
    assert reasoner.remove_facts({"p": [(2,)]}).removed == {"p": [(2,)]}


def test_what_no_output_needs_may_be_edited_too():
    rules = "p(X) :- e(X). q(X) :- f(X), not e(X). r(N) :- e(_), N = count(1)."
    reasoner = Reasoner(rules, {"e": [(1,)], "f": [(1,), (2,)]}, outputs="p")
    changes = reasoner.add_facts({"f": [(3,)], "e": [(2,)], "q": [(9,)]})
    assert (changes.added, changes.edited) == ({"p": [(2,)]}, 3)
    assert reasoner.remove_facts({"f": [(3,)]}).edited == 1
    assert reasoner.predicates == ("p",)


def test_an_edit_that_makes_a_function_fail_leaves_no_trace():
    @function(name="part_of_twelve")
    def part(n: int) -> int:
        return 12 // n

    reasoner = Reasoner("p(X,Y) :- e(X), Y = part_of_twelve(X). q(Y) :- p(_,Y), not e(Y).", {"e": [(3,)]})
    with pytest.raises(EvaluationError, match="part_of_twelve"):
        reasoner.add_facts({"e": [(4,), (0,)]})
    assert held(reasoner) == {"p": comparable([(3, 4)]), "q": comparable([(4,)])}
    changes = reasoner.add_facts({"e": [(4,)]})
    assert (changes.added, changes.removed) == ({"p": [(4, 3)]}, {"q": [(4,)]})


def test_a_result_stays_as_it_was():
    reasoner = Reasoner(CONTROL, {"own": [("a", "b", 0.6)]})
    result = reasoner.result()
    reasoner.remove_facts({"own": [("a", "b", 0.6)]})
    assert sorted(result.rows("control")) == [("a", "a"), ("a", "b"), ("b", "b")]
    assert not reasoner.result().rows("control")
    with pytest.raises(KeyError, match="control"):
        reasoner.rows("contrl")


def test_sums_that_are_not_safe_are_derived_in_the_general_way():
    rules = "c(X,X) :- v(X). c(X,Z) :- c(X,Y), e(Y,Z,W), V = msum(W,<Y>), V > 10."
    data = {"v": [("a",), ("b",)], "e": [("a", "b", 11), ("b", "c", 2**53)]}
    reasoner = Reasoner(rules, data)
    for add, row in (
        (True, ("c", "d", 12)),
        (False, ("b", "c", 2**53)),
        (True, ("b", "c", 2**54)),
        (True, ("b", "c", 5)),
    ):
        (reasoner.add_facts if add else reasoner.remove_facts)({"e": [row]})
        data["e"] = [r for r in data["e"] if r != row] + [row] * add
        assert held(reasoner) == fresh(rules, data, reasoner)


def test_a_type_that_widens_where_no_double_equals_an_integer() -> None:
    reasoner = Reasoner('@output("t"). t(X, Y) :- e(X, Y).', {"e": [(2**53, 1), (2**53 + 1, 1)]})
    before = sorted(reasoner.rows("t"))
    with pytest.raises(EvaluationError, match="no double equals the integer 9007199254740993"):
        reasoner.add_facts({"e": [(0.5, 2)]})
    assert sorted(reasoner.rows("t")) == before
    assert reasoner.remove_facts({"e": [(2**53 + 1, 1)]}).edited
    assert reasoner.add_facts({"e": [(0.5, 2)]}).edited
    assert sorted(reasoner.rows("t")) == [(0.5, 2), (2.0**53, 1)]


def test_outputs_that_do_not_change_have_no_changes() -> None:
    reasoner = Reasoner('@output("s"). @output("t"). s(X) :- e(X). t(X) :- f(X).', {"e": [(1,)], "f": [(1,)]})
    changes = reasoner.add_facts({"e": [(2,)]})
    assert (changes.added["s"], changes.added["t"], changes.removed["s"]) == ([(2,)], [], [])
    assert repr(changes) == "<Changes: 1 edited, 1 added, 0 removed>"
    with pytest.raises(KeyError, match="'tt' is no output; did you mean 't'"):
        changes.added["tt"]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_reasoner_is_no_thing_to_copy(copied: Any) -> None:
    with pytest.raises(TypeError, match="a Reasoner cannot be copied or pickled; build another one"):
        copied(Reasoner("t(X) :- e(X).", {"e": [(1,)]}))


# --- evaluations anew ---------------------------------------------------------------------------------------

CLOSURE = '@output("t"). t(X,Y) :- e(X,Y). t(X,Z) :- t(X,Y), e(Y,Z).'


def chain(first, last):
    return [(i, i + 1) for i in range(first, last)]


def test_an_edit_of_much_is_evaluated_anew_and_small_ones_are_followed_again():
    reasoner = Reasoner(CLOSURE, {"e": chain(0, 200)})
    gone = reasoner.remove_facts({"e": chain(40, 200)})
    assert isinstance(reasoner._state, Evaluated)
    came = reasoner.add_facts({"e": [(900, 901)]})
    assert not isinstance(reasoner._state, Evaluated)
    assert (came.edited, came.added, came.removed) == (1, {"t": [(900, 901)]}, {})
    assert repr(gone) == "<Changes: 160 edited, 0 added, 19,280 removed>"
    assert len(gone.removed["t"]) == 200 * 201 // 2 - 40 * 41 // 2


def test_an_update_that_does_too_much_is_stopped():
    reasoner = Reasoner(CLOSURE, {"e": chain(0, 100)})
    changes = reasoner.remove_facts({"e": [(50, 51)]})
    assert isinstance(reasoner._state, Evaluated)
    assert len(changes.removed["t"]) == 51 * 50
    assert held(reasoner) == fresh(CLOSURE, {"e": chain(0, 50) + chain(51, 100)}, reasoner)


def test_who_is_stopped_again_and_again_waits_longer_and_longer():
    reasoner, tried = Reasoner(CLOSURE, {"e": chain(0, 100)}), []
    for i in range(14):
        (reasoner.add_facts if i % 2 else reasoner.remove_facts)({"e": [(50, 51)]})
        tried.append(reasoner._wait == reasoner._patience)
    assert [i for i, found in enumerate(tried) if found] == [0, 2, 6]
    assert reasoner.count("t") == 100 * 101 // 2


def test_changes_can_be_sent_elsewhere():
    for changes in (
        Reasoner(CLOSURE, {"e": [(1, 2)]}).add_facts({"e": [(2, 3)]}),
        Reasoner(CLOSURE, {"e": chain(0, 2)}).add_facts({"e": chain(3, 200)}),
    ):
        again = pickle.loads(pickle.dumps(changes))
        assert (again.added, again.removed) == (changes.added, changes.removed)
        assert repr(again) == repr(changes)
        with pytest.raises(KeyError, match="no output"):
            again.added["e"]


OWNERS = """
    @output("owner"). @output("pair").
    owner(X,O) :- v(X). owner(X,O) :- e(X,Y,_), owner(Y,O). pair(X,P) :- owner(X,O), P = #pair(X,O).
"""


@settings(edited_programs, max_examples=max(1, EXAMPLES // 8))
@given(graph_edits())
def test_nulls_keep_their_numbers(case):
    data, edits = case
    reasoner = Reasoner(OWNERS, {p: data[p] for p in "ev"})
    for add, edit in edits:
        changes = (reasoner.add_facts if add else reasoner.remove_facts)(
            {p: edit[p] for p in edit if p in "ev"}
        )
        assert not (changes.removed if add else changes.added)


def test_numbers_of_nulls_are_those_of_the_data_first():
    reasoner = Reasoner(OWNERS, {"v": ["a"], "e": []})
    ((_, made),) = reasoner.rows("owner")
    reasoner.add_facts({"owner": [("b", made)]})
    (mine,) = (o for x, o in reasoner.rows("owner") if x == "a")
    assert mine != made
    assert len(reasoner.rows("pair")) == 2


def test_unified_nulls_keep_their_numbers_where_nothing_new_is_known_of_them():
    rules = "boss(X,B) :- v(X). A = B :- e(X,Y), boss(X,A), boss(Y,B). chief(B,C) :- boss(_,B)."
    reasoner = Reasoner(rules, {"v": ["a", "b", "c", "d"], "e": [("b", "c")]})
    assert set(reasoner.add_facts({"v": ["e"], "e": [("x", "y")]}).added) == {"boss", "chief"}
    changes = reasoner.remove_facts({"v": ["e"]})
    assert (list(changes.added), {p: len(rows) for p, rows in changes.removed.items()}) == (
        [],
        {"boss": 1, "chief": 1},
    )


class Told:
    """Remembers what is noted and begun."""

    def __init__(self):
        self.steps, self.notes = [], []

    def step(self, title, total=None, unit=""):
        self.steps.append(title)

    def advance(self, units=1):
        pass

    def note(self, message):
        self.notes.append(message)


def test_edits_tell_what_is_odd():
    told = Told()
    reasoner = Reasoner(CONTROL, {"own": [("a", "b", 0.6)]})
    reasoner.add_facts({"own": [("b", "c", 1.5)]}, progress=told)
    assert told.notes[0].startswith("own: 1 of 1 weights lies outside [0,1], the first, 1.5, in <own>")
    reasoner.remove_facts({"own": [("b", "c", 1.5)]}, progress=told)
    assert len(told.notes) == 2


def test_warnings_are_those_of_the_last_evaluation():
    reasoner = Reasoner("f(X,Y) :- v(X), Y = #f(X). v(Y) :- f(_,Y), go(_).", {"v": ["a"]}, outputs=["f"])
    assert reasoner.warnings == ()
    told = Told()
    reasoner.add_facts({"go": ["b"]}, progress=told)
    assert [w.code for w in reasoner.warnings] == ["W506"]
    assert reasoner.result().warnings == reasoner.warnings
    assert any("Deriving" in step for step in told.steps)
    reasoner.remove_facts({"go": ["b"]})
    assert reasoner.warnings == ()


def test_vertices_that_no_rule_reads_are_edited_too():
    reasoner = Reasoner(
        '@edge("e"). @node("v"). @output("t"). w("q"). t(X,Y) :- e(X,Y,_).', {"e": [("a", "b", 0.5)]}
    )
    assert reasoner.add_facts({"v": ["c"]}).edited == 1
    assert reasoner.remove_facts({"v": ["c"], "e": [("a", "b", 0.5)]}).removed == {"t": [("a", "b")]}


def test_a_walk_that_was_given_up_leaves_no_trace():
    rules = """
    @input("e"). @input("bad"). @output("t").
    t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z). #F :- t(X, Y), bad(X, Y).
    """
    edges = [(10, 100 + i) for i in range(3000)]
    reasoner = Reasoner(rules, {"e": edges, "bad": [(1, 100)]})
    with pytest.raises(EvaluationError, match="constraint"):  # after more work than it is worth
        reasoner.add_facts({"e": [(1, 10)]})
    assert reasoner.add_facts({"e": [(2, 105)]}).added["t"] == [(2, 105)]
    assert sorted(reasoner.rows("t")) == sorted([*edges, (2, 105)])


def test_an_interrupt_waits_until_an_edit_is_whole(monkeypatch):
    reasoner = Reasoner(STEPS_RULES, {"e": [(i, i + 1000) for i in range(50)]})
    reasoner.add_facts({"e": [(100, 101)]})
    update = type(reasoner._state).update

    def interrupted(*given, **named):
        signal.raise_signal(signal.SIGINT)
        return update(*given, **named)

    monkeypatch.setattr(type(reasoner._state), "update", interrupted)
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            reasoner.add_facts({"e": [(50, 51)]})
    finally:
        signal.signal(signal.SIGINT, usual)
    monkeypatch.undo()
    assert reasoner.count("t") == 52
    assert not reasoner.add_facts({"e": [(50, 51)]}).edited


@pytest.mark.parametrize("facts", [None, 5, [("e", 1)]])
def test_edits_are_named_by_predicate(facts):
    reasoner = Reasoner(STEPS_RULES, {"e": [(1, 2)]})
    with pytest.raises(CallError, match="data are a mapping from predicates, not of type"):
        reasoner.add_facts(facts)
    with pytest.raises(KeyError, match="nope"):
        reasoner.count("nope")


STEPS_RULES = '@input("e"). @output("t"). t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z).'
