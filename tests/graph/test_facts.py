from __future__ import annotations

import numpy as np
import pytest

from kgreason.engine.relations.fact_tables import Kind
from kgreason.graph.facts import answers, derived_edges, graph_facts
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.language.check.program_checker import load_text
from tests import naive

RULES = """@node("company"). @edge("own"). @derived("control"). @derived("ultimate").
@query("holding"). @query("two_owns"). @query("two_q_owns").
control(X,X) :- company(X).
control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.
controlled(Y) :- control(X,Y), X != Y.
ultimate(X,Y) :- control(X,Y), X != Y, not controlled(X).
holding(X) :- control(X,Y), X != Y, C = mcount(Y), C >= 2.
two_owns(X) :- own(X,Y,W), X != Y, K = mcount(Y), K >= 2.
two_q_owns(X) :- own(X,Y,W), X != Y, W > 0.5, K = mcount(Y), K >= 2.
"""


@pytest.fixture
def figure_1() -> KnowledgeGraph:
    edges = [("A", "D", 0.6), ("D", "E", 0.8), ("E", "B", 0.4), ("A", "B", 0.25), ("C", "B", 0.1)]
    return KnowledgeGraph.from_edges(edges, relation="own", vertices="ABCDE")


def named(graph: KnowledgeGraph, source: np.ndarray, target: np.ndarray) -> set[str]:
    return {f"{graph.labels[u]}{graph.labels[v]}" for u, v in zip(source, target, strict=True)}


def test_control_of_figure_1(figure_1: KnowledgeGraph) -> None:
    edges = derived_edges(figure_1, load_text(RULES))
    assert list(edges) == ["control", "ultimate"]
    assert named(figure_1, *edges["control"]) == {"AD", "DE", "AE", "AB", "AA", "BB", "CC", "DD", "EE"}
    assert named(figure_1, *edges["ultimate"]) == {"AD", "AE", "AB"}


def test_restricting_the_whole_is_more_than_reasoning_on_a_part(figure_1: KnowledgeGraph) -> None:
    program = load_text(RULES)
    a, b, _, _, e = range(5)
    inside = InducedReasoner(figure_1, program).derived(np.array([[a, b, e]]))
    assert np.array_equal(inside[0, 0], np.eye(3, dtype=bool))
    assert not inside[0, 1].any()
    source, target = derived_edges(figure_1, program)["control"]
    kept = np.isin(source, [a, b, e]) & np.isin(target, [a, b, e])
    assert named(figure_1, source[kept], target[kept]) == {"AA", "BB", "EE", "AE", "AB"}


def test_answers_of_the_queries(figure_1: KnowledgeGraph) -> None:
    found = answers(figure_1, load_text(RULES))
    assert {q: figure_1.labels[rows[:, 0]].tolist() for q, rows in found.items()} == {
        "holding": ["A"],
        "two_owns": ["A"],
        "two_q_owns": [],
    }
    assert all(rows.dtype == np.int64 and rows.shape[1] == 1 for rows in found.values())


def test_without_queries_the_derived_edges_are_the_answers(figure_1: KnowledgeGraph) -> None:
    program = load_text('@edge("own"). @derived("strong"). strong(X,Y) :- own(X,Y,W), W > 0.5.')
    assert answers(figure_1, program)["strong"].tolist() == [[0, 3], [3, 4]]


def test_facts_of_each_arity() -> None:
    own = Relation(np.array([0, 0]), np.array([1, 1]), np.array([0.2, 0.3]))
    knows = Relation(np.array([1]), np.array([0]))
    graph = KnowledgeGraph(np.array(["a", "b"], dtype=object), {"own": own, "knows": knows, "unseen": knows})
    swapped = load_text(
        '@edge("own"). @edge("knows"). @edge("none").'
        "p(X,Y) :- own(X,Y), knows(Y,X,W), W == 1.0, not none(X,Y)."
    )
    facts = graph_facts(graph, swapped)
    assert {p: sorted(facts.rows(p)) for p in facts.tables} == {"own": [(0, 1)], "knows": [(1, 0, 1.0)]}
    assert facts.tables["knows"].kinds == (Kind.INT, Kind.INT, Kind.DOUBLE)
    assert derived_edges(graph, swapped)["p"] == (np.array([0]), np.array([1]))


def test_as_naive() -> None:
    rng = np.random.default_rng(3)
    program = load_text(RULES)
    for _ in range(5):
        source, target, weight = rng.integers(0, 12, 40), rng.integers(0, 12, 40), rng.integers(0, 9, 40) / 10
        own = Relation(source, target, weight)
        graph = KnowledgeGraph(np.arange(12).astype(str).astype(object), {"own": own}).distinct()
        facts = graph_facts(graph, program)
        expected = naive.evaluate(program, {p: set(facts.rows(p)) for p in facts.tables})
        for predicate, (u, v) in derived_edges(graph, program).items():
            assert list(zip(u.tolist(), v.tolist(), strict=True)) == sorted(expected[predicate])
        for predicate, rows in answers(graph, program).items():
            assert list(map(tuple, rows.tolist())) == sorted(expected.get(predicate, set()))


def test_values_are_not_vertices(figure_1: KnowledgeGraph) -> None:
    text = '@edge("own"). @derived("fan"). fan(X,C) :- own(X,Y,_), C = mcount(Y).'
    source, _ = derived_edges(figure_1, load_text(text))["fan"]
    assert len(source) == 0
    assert not InducedReasoner(figure_1, load_text(text)).derived(np.array([[0, 1, 3]])).any()


def test_given_facts_are_not_derived() -> None:
    graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")], relation="e")
    program = load_text('@edge("e"). @derived("e"). e(X,Z) :- e(X,Y), e(Y,Z).')
    assert named(graph, *derived_edges(graph, program)["e"]) == {"ad", "bd"}
