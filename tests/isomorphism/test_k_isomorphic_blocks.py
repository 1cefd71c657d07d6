"""Isomorphic components, and whether a graph is k isomorphic blocks, against brute force."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.isomorphism.verification.block_checker import Components, blocks, verify
from kgreason.language.check.program_checker import load_text
from tests.examples import inputs
from tests.graphs import build, graphs

RULES = load_text('@edge("own"). @edge("knows"). @derived("r"). r(X,Y) :- own(X,Y,W), W > 0.5, knows(X,Y).')


def copies(graph: KnowledgeGraph, count: int, order: np.ndarray) -> KnowledgeGraph:
    """Disjoint copies of a graph, vertices numbered in some order."""
    relations = {}
    for name, r in graph.relations.items():
        ends = [order[np.concatenate([e + c * graph.n for c in range(count)])] for e in (r.source, r.target)]
        relations[name] = Relation(*ends, None if r.weight is None else np.tile(r.weight, count))
    return KnowledgeGraph(np.array([f"v{i}" for i in range(graph.n * count)], dtype=object), relations)


def without(graph: KnowledgeGraph, name: str, edge: int) -> KnowledgeGraph:
    r = graph.relations[name]
    weight = None if r.weight is None else np.delete(r.weight, edge)
    less = Relation(np.delete(r.source, edge), np.delete(r.target, edge), weight)
    return KnowledgeGraph(graph.labels, {**graph.relations, name: less})


def typed(graph: KnowledgeGraph) -> nx.DiGraph:
    """Numbers of edges of each relation by ordered pair."""
    found = nx.DiGraph()
    found.add_nodes_from(range(graph.n))
    for name, r in graph.relations.items():
        for u, v in zip(r.source.tolist(), r.target.tolist(), strict=True):
            if not found.has_edge(u, v):
                found.add_edge(u, v)
            found[u][v][name] = found[u][v].get(name, 0) + 1
    return found


def isomorphic(one: nx.DiGraph, other: nx.DiGraph) -> bool:
    return nx.is_isomorphic(one, other, edge_match=lambda a, b: a == b)


def divided(left: list[int], size: int) -> list[list[tuple[int, ...]]]:
    """All ways to divide vertices into blocks of a size."""
    if not left:
        return [[]]
    first, *rest = left
    return [
        [(first, *others), *more]
        for others in combinations(rest, size - 1)
        for more in divided([v for v in rest if v not in others], size)
    ]


def brute_blocks(graph: KnowledgeGraph, k: int) -> bool:
    """The definition: some division into k isomorphic blocks leaves no edge between them."""
    if graph.n % k:
        return False
    whole = typed(graph)
    for parts in divided(list(range(graph.n)), graph.n // k):
        of = {v: i for i, part in enumerate(parts) for v in part}
        if any(of[u] != of[v] for u, v in whole.edges):
            continue
        first, *others = (whole.subgraph(part) for part in parts)
        if all(isomorphic(first, other) for other in others):
            return True
    return False


@given(graphs(most=3, edges=5), st.integers(2, 3), st.randoms(use_true_random=False), st.booleans())
@settings(deadline=None, max_examples=inputs(120))
def test_blocks_are_found_just_where_brute_force_finds_them(graph, k, random, whole) -> None:
    order = np.array(random.sample(range(graph.n * k), graph.n * k))
    many = copies(graph, k, order)
    assert blocks(many, k).holds
    if many.m and not whole:
        name = random.choice([n for n, r in many.relations.items() if len(r)])
        many = without(many, name, random.randrange(len(many.relations[name])))
    for blocks_asked in (2, 3):
        assert blocks(many, blocks_asked).holds == brute_blocks(many, blocks_asked)


@given(graphs(most=8, edges=10))
@settings(deadline=None, max_examples=inputs(100))
def test_components_are_isomorphic_just_where_networkx_says_so(graph) -> None:
    components, whole = Components(graph), typed(graph)
    for a, b in combinations(range(len(components.members)), 2):
        one, other = (whole.subgraph(components.members[i].tolist()) for i in (a, b))
        assert components.isomorphic(a, b) == isomorphic(one, other)


def both_ways(*parts: nx.Graph) -> KnowledgeGraph:
    whole = nx.disjoint_union_all(parts)
    edges = [(u, v, 0.5) for u, v in whole.to_directed().edges]
    return build(whole.number_of_nodes(), edges)


def shrikhande() -> nx.Graph:
    steps = [(0, 1), (1, 0), (1, 1)]
    edges = [((a, b), ((a + x) % 4, (b + y) % 4)) for a in range(4) for b in range(4) for x, y in steps]
    return nx.convert_node_labels_to_integers(nx.Graph(edges))


ROOK = nx.convert_node_labels_to_integers(nx.line_graph(nx.complete_bipartite_graph(4, 4)))
ALIKE = [
    (nx.complete_bipartite_graph(3, 3), nx.circular_ladder_graph(3)),  # 3-regular
    (ROOK, shrikhande()),  # strongly regular
]


@pytest.mark.parametrize(("one", "other"), ALIKE, ids=["regular", "strongly regular"])
def test_components_of_the_same_colours_are_told_apart_by_search(one: nx.Graph, other: nx.Graph) -> None:
    assert Components(both_ways(one, other)).alike() == [[0, 1]]
    found = blocks(both_ways(one, other), 2)
    assert not found.holds
    assert "1 isomorphic components of" in found.witnesses[0]
    assert blocks(both_ways(one, other, one, other), 2).holds
    assert not blocks(both_ways(one, other, one, one), 2).holds


def test_a_search_that_is_given_up_says_so() -> None:
    graph = both_ways(*ALIKE[1], *ALIKE[1])
    found = blocks(graph, 2, Components(graph, budget=0))
    assert (found.holds, found.state) == (False, "undecided")
    assert "not decided" in found.detail


def test_many_twins_need_no_deep_recursion() -> None:
    graph = both_ways(nx.complete_bipartite_graph(2, 1100), nx.complete_bipartite_graph(2, 1100))
    assert blocks(graph, 2, Components(graph, budget=2_000_000)).state in ("holds", "undecided")


def test_large_stars_and_isolated_vertices_are_counted() -> None:
    star = [(0, v, 0.5) for v in range(1, 200)]
    two = star + [(u + 200, v + 200, w) for u, v, w in star]
    assert blocks(build(402, two), 2).holds
    assert blocks(build(403, two), 2).witnesses == (
        "3 isomorphic components of 1 vertices and 0 edges, for instance v400",
    )


PAIR = build(4, [(0, 1, 0.25), (2, 3, 0.75)], [(0, 1), (2, 3)])
ORIGINAL = KnowledgeGraph(np.array(list("abcd"), dtype=object), build(4, [(0, 1, 0.5)], [(1, 0)]).relations)


def test_a_release_with_its_original() -> None:
    found = verify(PAIR, RULES, 2, 2, ORIGINAL, np.arange(4))
    assert found.holds
    assert found.model == "k-iso"
    assert found.needs_original == ()
    # own 0 -> 1 is kept, own 2 -> 3 and both of knows are new, knows 1 -> 0 is gone
    assert found.edits is not None
    assert found.edits.as_dict() == {
        "vertices_added": 0,
        "edges_inserted": 3,
        "edges_deleted": 1,
    }


def test_a_release_alone_says_what_it_cannot_know() -> None:
    found = verify(PAIR, RULES, 2, 2)
    assert found.holds
    assert found.edits is None
    assert [what.split(":")[0] for what in found.needs_original] == ["labels", "weights"]


@pytest.mark.parametrize(
    ("item", "released"),
    [
        ("blocks", build(4, [(0, 1, 0.25), (2, 3, 0.75), (1, 2, 0.1)], [(0, 1), (2, 3)])),
        ("blocks", build(4, [(0, 1, 0.25), (2, 3, 0.75)], [(0, 1)])),
        ("blocks", build(4, [(0, 1, 0.25), (2, 3, 0.75), (2, 3, 0.8)], [(0, 1), (2, 3)])),
        ("blocks", build(4, [(0, 1, 0.25), (2, 3, 0.75)], [(0, 1), (3, 2)])),
        ("labels", KnowledgeGraph(np.array(["p", "q", "d", "r"], dtype=object), PAIR.relations)),
        ("weights", build(4, [(0, 1, 0.5), (2, 3, 0.75)], [(0, 1), (2, 3)])),
        ("weight range", build(4, [(0, 1, 0.25), (2, 3, 1.75)], [(0, 1), (2, 3)])),
    ],
)
def test_what_is_violated_is_named(item: str, released: KnowledgeGraph) -> None:
    found = verify(released, RULES, 2, 2, ORIGINAL, np.arange(4))
    assert [i.name for i in found.items if not i.holds] == [item]
    assert found[item].witnesses


def test_a_broken_mapping_is_named() -> None:
    found = verify(PAIR, RULES, 2, 2, ORIGINAL, np.array([0, 1, 2, 2]))
    assert [i.name for i in found.items if not i.holds] == ["mapping"]
    assert found.edits is None
