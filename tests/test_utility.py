"""Semantic utility against set arithmetic on answers of the naive evaluator."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.analysis.check import load_text
from kgreason.assess.utility import QueryUtility, utility
from kgreason.engine import naive
from kgreason.graph.model import KnowledgeGraph, Relation

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


@settings(max_examples=80, deadline=None)
@given(edges(4), edges(6), st.permutations(range(6)))
def test_against_sets(before: list, after: list, number: list[int]) -> None:
    mapping = np.array(number[:4])
    original, released = make(4, before), make(6, after)
    found = utility(original, released, mapping, RULES)
    q_g = naive.evaluate(RULES, {"own": before, "company": [(v,) for v in range(4)]})
    q_a = naive.evaluate(RULES, {"own": after, "company": [(v,) for v in range(6)]})
    us, symmetric = [], []
    for name, places in (("reach", 2), ("big", 1), ("some", 0)):
        g = {tuple(number[x] if i < places else x for i, x in enumerate(row)) for row in q_g.get(name, ())}
        a = set(q_a.get(name, ()))
        assert found.per_query[name] == QueryUtility(len(g), len(a), len(g - a), len(a - g))
        us.append(len(g - a) / len(g) if g else 0.0)
        symmetric.append(len(g ^ a) / len(g | a) if g | a else 0.0)
    assert found.u == sum(us) / 3
    assert found.u_symmetric == sum(symmetric) / 3


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
