from __future__ import annotations

from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.subgraphs.enumeration import connected_subgraphs
from kgreason.graph.subgraphs.patterns import canonical, cells_between, classify, distinct_rows, pair_kinds
from kgreason.language.check.program_checker import load_text
from tests.examples import inputs
from tests.graphs import build, graphs

CONTROL = load_text(
    """@node("company"). @edge("own"). @derived("control").
    control(X,X) :- company(X).
    control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5."""
)


def coloured(cells: np.ndarray) -> nx.DiGraph:
    found = nx.DiGraph()
    for a in range(len(cells)):
        found.add_node(a, cell=int(cells[a, a]))
    for a, b in permutations(range(len(cells)), 2):
        found.add_edge(a, b, cell=int(cells[a, b]))
    return found


def isomorphic(a: np.ndarray, b: np.ndarray) -> bool:
    same = nx.algorithms.isomorphism.categorical_node_match("cell", None)
    return nx.is_isomorphic(
        coloured(a), coloured(b), same, nx.algorithms.isomorphism.categorical_edge_match("cell", None)
    )


@settings(max_examples=inputs(60), deadline=None)
@given(
    st.integers(1, 5).flatmap(lambda x: hnp.arrays(np.int64, (6, x, x), elements=st.integers(0, 2))),
    st.randoms(),
)
def test_canonical_forms_agree_with_vf2(cells: np.ndarray, random: object) -> None:
    x = cells.shape[1]
    order = random.sample(range(x), x)
    cells = np.concatenate([cells, cells[:2][:, order][:, :, order]])
    forms, orders = canonical(cells)
    for i, j in combinations(range(len(cells)), 2):
        assert (forms[i] == forms[j]).all() == isomorphic(cells[i], cells[j])
    permuted = [c[o][:, o] for c, o in zip(cells, orders, strict=True)]
    for i, j in combinations(range(len(cells)), 2):
        assert (forms[i] == forms[j]).all() == (permuted[i] == permuted[j]).all()


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(least=3), st.integers(2, 4))
def test_classes_are_those_of_kg_isomorphism(graph: KnowledgeGraph, x: int) -> None:
    members = connected_subgraphs(graph, x)
    found = classify(graph, CONTROL, members)
    facts = [situation(graph, m) for m in members.tolist()]
    for i, j in combinations(range(min(len(members), 12)), 2):
        same = any(
            facts[i] == situation(graph, [members[j][p] for p in order]) for order in permutations(range(x))
        )
        assert (found.ids[i] == found.ids[j]) == same
    for number in range(found.count):
        aligned = [situation(graph, m) for m in found.members[found.ids == number].tolist()]
        assert all(a == aligned[0] for a in aligned)
    assert np.array_equal(np.sort(found.members), np.sort(members))


def situation(graph: KnowledgeGraph, members: list[int]) -> list[object]:
    """Edge counts by relation, and control, for every ordered pair of one subgraph: by plain loops."""
    counts = [
        [
            sum(u == a and v == b for u, v in zip(r.source, r.target, strict=True))
            for r in graph.relations.values()
        ]
        for a in members
        for b in members
    ]
    own = graph.relations["own"]
    control = {(a, a) for a in members}
    while True:
        more = set(control)
        for a in members:
            for b in members:
                held = {
                    y: max(
                        (
                            w
                            for u, v, w in zip(own.source, own.target, own.weight, strict=True)
                            if (u, v) == (y, b)
                        ),
                        default=0.0,
                    )
                    for (c, y) in control
                    if c == a
                }
                if sum(held.values()) > 0.5 + 1e-12:
                    more.add((a, b))
        if more == control:
            break
        control = more
    return [counts, [(a, b) in control for a in members for b in members]]


@given(hnp.arrays(np.int64, st.tuples(st.integers(0, 12), st.integers(0, 4)), elements=st.integers(0, 2**62)))
def test_distinct_rows_are_numbered_in_order(rows: np.ndarray) -> None:
    first, number = distinct_rows(rows)
    expected = sorted(set(map(tuple, rows.tolist())))
    assert [tuple(rows[i].tolist()) for i in first] == expected
    assert [expected[i] for i in number] == list(map(tuple, rows.tolist()))


def test_parallel_edges_loops_and_relations_count() -> None:
    graph = build(4, [(0, 1, 0.5), (0, 1, 0.6), (2, 3, 0.5), (2, 2, 0.1)], [(2, 3)])
    cells = cells_between(pair_kinds(graph), np.array([[0, 1], [2, 3]]))
    assert len({int(cells[0, 0, 1]), int(cells[1, 0, 1]), int(cells[1, 0, 0]), 0}) == 4


def test_no_members() -> None:
    found = classify(build(2, []), CONTROL, np.empty((0, 3), dtype=np.int64))
    assert (found.count, found.ids.shape, found.members.shape) == (0, (0,), (0, 3))


def test_seven_vertices_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 6"):
        classify(build(7, [(0, 1, 0.5)], []), CONTROL, np.arange(7).reshape(1, 7))
