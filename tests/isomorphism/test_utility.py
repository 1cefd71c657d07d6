"""Semantic utility against set arithmetic on answers of the naive evaluator."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.cli.terminal import rows
from kgreason.graph.facts import answers
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.isomorphism.report import utility_items
from kgreason.isomorphism.utility import transitive_closure as closure_kernels
from kgreason.isomorphism.utility.query_utility import QueryUtility, Utility, utility
from kgreason.isomorphism.utility.transitive_closure import Closure, closure, closure_rules, compare
from kgreason.language.check.program_checker import load_text
from tests import naive
from tests.examples import inputs

RULES = load_text("""
@node("company"). @edge("own"). @query("reach"). @query("big"). @query("some").
reach(X,Y) :- own(X,Y,_).
reach(X,Y) :- reach(X,Z), own(Z,Y,_).
big(X,N) :- own(X,Y,_), N = mcount(Y), N >= 2.
some() :- own(X,X,W), W > 0.5.
""")


def make(n: int, edges: list[tuple[int, int, float]]) -> KnowledgeGraph:
    columns = np.array(edges, dtype=np.float64).reshape(-1, 3)
    ends = columns[:, :2].astype(np.int64)
    labels = np.array([str(v) for v in range(n)], dtype=object)
    relation = Relation(ends[:, 0].copy(), ends[:, 1].copy(), columns[:, 2].copy())
    return KnowledgeGraph(labels, {"own": relation}).distinct()


def edges(n: int) -> st.SearchStrategy[list[tuple[int, int, float]]]:
    vertex = st.integers(0, n - 1)
    return st.lists(st.tuples(vertex, vertex, st.sampled_from([0.25, 0.75])), max_size=8)


@pytest.mark.parametrize(
    "rule",
    [
        "r(X,Y) :- r(X,Y), e(Y,Y).",  # no step: the pair is there already
        "r(X,Y) :- r(X,Z), r(Z,Y), e(Z,Y).",  # two pairs, and a condition on where they meet
        "r(X,Y) :- r(Z,Y), e(X,Y).",  # the middle is lost
        "r(X,Y) :- r(X,Z), e(Z,Y), e(X,Z).",  # the step depends on where the pair begins
    ],
)
def test_other_recursion_is_no_closure(rule: str) -> None:
    text = '@edge("e"). @query("r"). r(X,Y) :- e(X,Y). '
    assert closure_rules(load_text(text + rule), "r") is None


@settings(max_examples=inputs(80), deadline=None)
@given(edges(4), edges(6), st.permutations(range(6)))
def test_against_sets(before: list, after: list, number: list[int]) -> None:
    mapping = np.array(number[:4])
    original, released = make(4, before), make(6, after)
    found = utility(original, released, mapping, RULES)
    q_g = naive.evaluate(RULES, {"own": before, "company": [(v,) for v in range(4)]})
    q_a = naive.evaluate(RULES, {"own": after, "company": [(v,) for v in range(6)]})
    known = answers(original, replace(RULES, queries=("big",)))
    assert utility(original, released, mapping, RULES, known) == found
    us, symmetric = [], []
    for name, places in (("reach", 2), ("big", 1), ("some", 0)):
        g = {tuple(number[x] if i < places else x for i, x in enumerate(row)) for row in q_g.get(name, ())}
        a = set(q_a.get(name, ()))
        assert found.per_query[name] == QueryUtility(len(g), len(a), len(g - a), len(a - g))
        us.append(len(g - a) / len(g) if g else 0.0)
        symmetric.append(len(g ^ a) / len(g | a) if g | a else 0.0)
        precision = len(g & a) / len(a) if a else 1.0
        assert found.per_query[name].precision == pytest.approx(precision)
        assert found.per_query[name].recall == pytest.approx(len(g & a) / len(g) if g else 1.0)
    assert found.per_derived == {}
    assert found.u == sum(us) / 3
    assert found.u_symmetric == sum(symmetric) / 3
    every = found.per_query.values()  # each answer counts alike
    lost, gained, there = (sum(getattr(q, part) for q in every) for part in ("lost", "gained", "original"))
    assert found.pooled.u == (lost / there if there else 0)
    assert found.pooled.u_symmetric == ((lost + gained) / (there + gained) if there + gained else 0)


DERIVED = """
@node("company"). @edge("own"). @edge("knows"). @derived("near"). @derived("path"). @derived("knows").
near(X,X) :- company(X).
near(X,Y) :- own(X,Z,W), own(Z,Y,_), W > 0.5.
path(X,Y) :- own(X,Y,_).
path(X,Y) :- path(X,Z), own(Z,Y,_).
knows(X,Y) :- own(Y,X,W), W > 0.5.
"""


@settings(max_examples=inputs(60), deadline=None)
@given(edges(4), edges(6), st.permutations(range(6)), st.booleans())
def test_derived_edges_against_sets(before: list, after: list, number: list[int], queried: bool) -> None:
    """Edges of a vertex to itself, and stated edges, are not counted."""
    rules = load_text(DERIVED + '@query("near").' * queried)
    graphs, sides = [], []
    for some, n in ((before, 4), (after, 6)):
        graph, half = make(n, some), len(some) // 2
        known = make(n, some[:half]).relations["own"]
        knows = Relation(known.source, known.target, None)
        graphs.append(KnowledgeGraph(graph.labels, {**graph.relations, "knows": knows}).distinct())
        stated = {("knows", u, v) for u, v, _ in some[:half]}
        given_ = {"own": some, "knows": [pair[1:] for pair in stated], "company": [(v,) for v in range(n)]}
        facts = naive.evaluate(rules, given_)
        pairs = {(p, u, v) for p in ("near", "path", "knows") for u, v in facts.get(p, ())}
        sides.append({pair for pair in pairs - stated if pair[1] != pair[2]})
    found = utility(*graphs, np.array(number[:4]), rules)
    a = sides[1]
    g = {(p, number[u], number[v]) for p, u, v in sides[0]}
    for name in ("near", "path", "knows"):
        mine, theirs = ({pair for pair in side if pair[0] == name} for side in (g, a))
        counts = len(mine), len(theirs), len(mine - theirs), len(theirs - mine)
        assert found.per_derived[name] == QueryUtility(*counts)
    assert (found.per_query == found.per_derived) is not queried
    if not queried:
        assert found.u_symmetric == pytest.approx(sum(q.u_symmetric for q in found.per_derived.values()) / 3)


def test_lost_and_gained() -> None:
    """A -> B -> C; the release cuts nothing off but adds an owner of A."""
    original = make(3, [(0, 1, 0.2), (1, 2, 0.2)])
    released = make(4, [(0, 1, 0.3), (1, 2, 0.3), (3, 0, 0.1)])
    rules = load_text('@edge("own"). @query("owner"). owner(X) :- own(X,Y,W), W < 0.3.')
    found = utility(original, released, np.arange(3), rules)
    assert found.per_query["owner"] == QueryUtility(original=2, released=1, lost=2, gained=1)
    assert (found.u, found.u_symmetric) == (1.0, 1.0)
    assert json.loads(json.dumps(found.as_dict()))["queries"]["owner"]["lost"] == 2


def test_no_answers_count_as_nothing_lost() -> None:
    found = utility(make(2, []), make(2, []), np.arange(2), RULES)
    assert (found.u, found.u_symmetric) == (0.0, 0.0)


CLOSURES = {
    "left": "r(X,Y) :- own(X,Y,_). r(X,Y) :- r(X,Z), own(Z,Y,_).",
    "right": "r(X,Y) :- own(X,Y,_). r(X,Y) :- own(X,Z,_), r(Z,Y).",
    "doubling": "r(X,Y) :- own(X,Y,_). r(X,Y) :- r(X,Z), r(Z,Y).",
    "apart": "r(X,Y) :- own(X,Y,W), X != Y, W > 0.5. r(X,Y) :- r(X,Z), own(Z,Y,W), X != Y, Z != Y, W > 0.5.",
    "no circles": "r(X,Y) :- own(X,Y,_). r(X,Y) :- r(X,Z), own(Z,Y,_), X != Y, X != Z.",
    "own circles": "r(X,Y) :- own(X,Y,_), X != Y. r(X,Y) :- r(X,Z), own(Z,Y,_).",
    "reflexive": "r(X,X) :- company(X). r(X,Y) :- own(X,Y,_). r(X,Y) :- r(X,Z), own(Z,Y,_).",
    "both ends": "r(X,Y) :- own(X,Y,_). r(X,Y) :- r(X,Z), own(Z,Y,_). r(X,Y) :- own(X,Z,_), r(Z,Y).",
    "two steps": "r(X,Y) :- own(X,Z,_), own(Z,Y,_). r(X,Y) :- r(X,V), own(V,Z,_), own(Z,Y,_).",
    "other steps": "r(X,Y) :- own(X,Y,_). r(X,Y) :- r(X,Z), own(Z,Y,W), W > 0.5.",
}


@pytest.mark.parametrize("name", CLOSURES)
@settings(max_examples=inputs(60), deadline=None)
@given(before=edges(5), after=edges(8), number=st.permutations(range(8)), keep=st.booleans())
def test_closures_are_counted(name: str, before: list, after: list, number: list[int], keep: bool) -> None:
    rules = load_text(f'@node("company"). @edge("own"). @query("r"). {CLOSURES[name]}')
    assert closure_rules(rules, "r") is not None
    after = [*after, *((number[u], number[v], w) for u, v, w in before if keep)]
    found = utility(make(5, before), make(8, after), np.array(number[:5]), rules).per_query["r"]
    q_g = naive.evaluate(rules, {"own": before, "company": [(v,) for v in range(5)]})
    q_a = naive.evaluate(rules, {"own": after, "company": [(v,) for v in range(8)]})
    g, a = {(number[x], number[y]) for x, y in q_g.get("r", ())}, set(q_a.get("r", ()))
    assert found == QueryUtility(len(g), len(a), len(g - a), len(a - g))


@pytest.mark.parametrize(
    "rules",
    [
        "r(X,Y) :- own(X,Y,_). r(X,Y) :- r(X,Z), own(Z,Y,_), own(X,Y,_).",
        "r(X,Y) :- own(X,Y,_). r(X,Y) :- r(Z,X), own(Z,Y,_).",
        "r(X,Y) :- own(X,Y,_). r(X,Y) :- r(X,Z), own(Z,Y,_), not own(Y,Z,_).",
        "r(X,Y) :- own(X,Y,_). r(X,Y) :- r(X,Z), own(Z,Y,_). r(X,Y) :- r(Y,X), own(X,Y,_).",
        "r(X,Y) :- own(X,Y,_). r(X,Y) :- r(X,Z), own(Z,Y,W), V = msum(W, <Z>), V > 0.5.",
        "r(X,Y) :- own(X,Y,_).",
        "r(X,Y) :- own(X,Y,_). r(X,Y) :- s(X,Z), own(Z,Y,_). s(X,Y) :- r(X,Y).",
    ],
)
def test_what_is_no_closure_is_listed(rules: str) -> None:
    assert closure_rules(load_text(f'@edge("own"). @query("r"). {rules}'), "r") is None


def test_other_steps_than_those_of_the_base_are_listed() -> None:
    rules = load_text(f'@edge("own"). @query("r"). {CLOSURES["other steps"]}')
    graph = make(3, [(0, 1, 0.75), (1, 2, 0.25)])
    closing = closure_rules(rules, "r")
    assert closing is not None
    assert closure(graph, closing) is None
    assert utility(graph, graph, np.arange(3), rules).per_query["r"] == QueryUtility(2, 2, 0, 0)


def test_large_closures_are_estimated_with_their_error() -> None:
    rng = np.random.default_rng(0)
    n = 6_000
    source, target = np.arange(n - 1), np.arange(1, n)
    loops = np.zeros(n, dtype=np.bool_)
    before = Closure(n, source, target, loops, cycles=True)
    cut = rng.random(n - 1) < 0.999
    after = Closure(n, source[cut], target[cut], loops, cycles=True)
    exact = compare(before, after, np.arange(n))
    assert exact.before == n * (n - 1) // 2
    assert (exact.common, exact.sampled, exact.margin) == (exact.after, 0, 0.0)
    rough = compare(before, after, np.arange(n), effort=1_000_000)
    assert 0 < rough.sampled < n
    truth, found = (1 - p.common / (p.before + p.after - p.common) for p in (exact, rough))
    assert 0 < rough.margin < 0.1
    assert abs(found - truth) < 2 * rough.margin
    assert abs(rough.before / exact.before - 1) < 0.2
    twice = compare(before, after, np.arange(n), effort=1_000_000)
    assert twice == rough


def test_an_estimate_says_so() -> None:
    query = QueryUtility(100, 120, 5, 25, sampled=64, margin=0.02)
    scored = Utility(0.05, 0.24, {"r": query, "q": QueryUtility(1, 1, 0, 0)})
    assert scored.margin == 0.01
    assert scored.as_dict()["queries"]["r"]["margin"] == 0.02
    assert "margin" not in scored.as_dict()["queries"]["q"]
    shown = dict(rows(utility_items(scored)))
    assert shown["U△ (0 is best)"] == "0.240 ± 0.010 (95 %)"
    assert shown["answers of r, from 64 random targets"].endswith("0.050 U, 0.240 ± 0.020 U△")
    assert "answers of q" in shown


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda e: e[0] > e[1]), max_size=15),
    st.integers(1, 2),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 127)), max_size=9),
)
def test_kernels_against_sets(arcs: list[tuple[int, int]], width: int, marked: list[tuple[int, int]]) -> None:
    """Bits spread along edges to lower numbers; common ones are counted."""
    arcs = sorted(set(arcs))
    marked = [(row, column % (64 * width)) for row, column in marked]
    ptr = np.searchsorted([a for a, _ in arcs], np.arange(8)).astype(np.int64)
    to = np.array([b for _, b in arcs], dtype=np.int64)
    marks = np.zeros((7, width), dtype=np.int64)
    for row, column in marked:
        marks[row, column >> 6] |= np.int64(1) << (column & 63)
    reached = [{c for row, c in marked if row == v} for v in range(7)]
    for v in range(7):
        for a, b in arcs:
            if a == v:
                reached[v] |= reached[b]
    closure_kernels.spread(ptr, to, marks)
    assert [{c for c in range(64 * width) if marks[v, c >> 6] >> (c & 63) & 1} for v in range(7)] == reached
    a, b = np.array([0, 3, 5]), np.array([6, 3, 1])
    sizes = np.array([1, 2, 3])
    common = sum(int(s) * len(reached[i] & reached[j]) for s, i, j in zip(sizes, a, b, strict=True))
    assert closure_kernels.common_bits(sizes, a, marks, b, marks) == common
