"""Vertices that look the same, and candidates in connected subgraphs, against plain twins."""

from __future__ import annotations

from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import SILENT
from kgreason.graph.generators import erdos_renyi
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, beside
from kgreason.graph.refinement import Pairs
from kgreason.isomorphism.risk.candidate_counts import knowledge, of_subgraphs, of_vertices, surveys
from kgreason.isomorphism.risk.occurrences import Incidence, Sample, first_counts, mark, survey
from kgreason.isomorphism.verification.isomorphism_classes import Classes
from kgreason.isomorphism.verification.release_index import ReleaseIndex
from kgreason.language.check.checked_program import CheckedProgram
from tests.examples import inputs
from tests.graph.test_census import RULES, holdings
from tests.graphs import build, graphs
from tests.reference import connected_sets

RNG = np.random.default_rng(0)


def partition(classes: np.ndarray) -> list[list[int]]:
    """For each vertex those that look the same."""
    return [np.flatnonzero(classes == c).tolist() for c in classes]


def types(graph: KnowledgeGraph) -> np.ndarray:
    """Type of every ordered pair."""
    n = graph.n
    return Pairs(graph).types_at(np.arange(n * n)).reshape(n, n)


def refined(graph: KnowledgeGraph, rounds: int | None) -> list[object]:
    """Colour of each vertex by degrees, then by its own colour and those of its neighbours."""
    pairs = types(graph)
    seen: list[object] = list(zip(graph.in_degree(), graph.out_degree(), strict=True))
    for _ in range(graph.n if rounds is None else rounds):
        numbers = {c: i for i, c in enumerate(sorted(map(repr, set(seen))))}
        colours = [numbers[repr(c)] for c in seen]
        seen = [
            (
                colours[v],
                tuple(
                    sorted(
                        (pairs[v, u], pairs[u, v], colours[u])
                        for u in range(graph.n)
                        if pairs[v, u] or pairs[u, v]
                    )
                ),
            )
            for v in range(graph.n)
        ]
    return seen


def same(values: list[object]) -> list[list[int]]:
    return [[u for u, other in enumerate(values) if other == value] for value in values]


@settings(max_examples=inputs(80), deadline=None)
@given(graphs())
def test_what_looks_the_same(graph: KnowledgeGraph) -> None:
    found = {name: partition(classes) for name, classes in knowledge(graph) if classes is not None}
    assert found["nothing"] == [list(range(graph.n))] * graph.n
    inner, outer = graph.in_degree().tolist(), graph.out_degree().tolist()
    assert found["in-degree"] == same(inner)
    assert found["out-degree"] == same(outer)
    assert found["in- and out-degree"] == same(list(zip(inner, outer, strict=True)))
    assert found["neighbours' degrees"] == same(refined(graph, 1))
    assert found["refinement"] == same(refined(graph, None))


def ego(pairs: np.ndarray, v: int) -> nx.DiGraph:
    around = [u for u in range(len(pairs)) if u == v or pairs[v, u] or pairs[u, v]]
    graph = nx.DiGraph()
    graph.add_nodes_from((u, {"kind": (u == v, int(pairs[u, u]))}) for u in around)
    graph.add_edges_from(
        (a, b, {"kind": int(pairs[a, b])}) for a, b in permutations(around, 2) if pairs[a, b]
    )
    return graph


def alike(a: nx.DiGraph, b: nx.DiGraph) -> bool:
    matching = nx.algorithms.isomorphism
    kinds = matching.categorical_node_match("kind", None), matching.categorical_edge_match("kind", None)
    return bool(nx.is_isomorphic(a, b, *kinds))


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(most=6))
def test_neighbourhoods_are_rooted_graphs(graph: KnowledgeGraph) -> None:
    """As small as these, refinement tells all that are not isomorphic."""
    egos = [ego(types(graph), v) for v in range(graph.n)]
    found = dict(knowledge(graph))["neighbourhood"]
    assert found is not None
    assert partition(found) == [[u for u, other in enumerate(egos) if alike(one, other)] for one in egos]


def test_neighbourhoods_are_compared_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = erdos_renyi(60, 150, np.random.default_rng(1))
    whole = dict(knowledge(graph))["neighbourhood"]
    monkeypatch.setattr("kgreason.graph.refinement.BLOCK", 8)
    parts = dict(knowledge(graph))["neighbourhood"]
    assert whole is not None
    assert parts is not None
    assert partition(whole) == partition(parts)
    monkeypatch.setattr("kgreason.isomorphism.risk.candidate_counts.NEIGHBOURHOODS", 8)
    assert dict(knowledge(graph))["neighbourhood"] is None


def test_refinement_needs_rounds() -> None:
    """On a path a round tells one more vertex from each end."""
    path = build(9, [(i, i + 1, 0.5) for i in range(8)])
    mirrored = build(9, [e for i in range(8) for e in ((i, i + 1, 0.5), (i + 1, i, 0.5))])
    assert len(np.unique(dict(knowledge(path))["refinement"])) == 9
    assert len(np.unique(dict(knowledge(mirrored))["refinement"])) == 5


def candidates(
    graph: KnowledgeGraph, program: CheckedProgram, x: int, *, derived: bool, n: int
) -> tuple[list[int], list[int]]:
    """Least numbers of candidates of each vertex before n, among these and among the others at least as many."""
    pairs = types(graph)
    near = [{u for u in range(graph.n) if u != v and (pairs[u, v] or pairs[v, u])} for v in range(graph.n)]
    component = graph.components()[1]
    reasoner = InducedReasoner(graph, program)

    def matrix(rows: tuple[int, ...]) -> list[object]:
        size = len(rows)
        masks = reasoner.masks(np.array([rows]))[0].tolist() if derived else []
        return [
            [(int(pairs[a, b]), *(m >> (i * size + j) & 1 for m in masks)) for j, b in enumerate(rows)]
            for i, a in enumerate(rows)
        ]

    fewest, among = [], []
    for v in range(n):
        size = min(x, int((component == component[v]).sum()))
        sets = connected_sets(near, size)
        counts = []
        for known in (s for s in sets if v in s):
            wanted, at = matrix(known), known.index(v)
            fits = {turn[at] for s in sets for turn in permutations(s) if matrix(turn) == wanted}
            counts.append((sum(u < n for u in fits), sum(u >= n for u in fits)))
        fewest.append(min(inside for inside, _ in counts))
        among.append(min(max(both) for both in counts))
    return fewest, among


@settings(max_examples=inputs(40), deadline=None)
@given(graphs(most=5, edges=9), st.integers(1, 4), st.sampled_from(sorted(RULES)))
def test_candidates(graph: KnowledgeGraph, x: int, name: str) -> None:
    program = RULES[name]
    if set(program.edges) != set(graph.relations):
        return
    found = surveys(graph, program, [x], 10**6, RNG)
    exposures = list(of_subgraphs(graph, found, x, graph.n, 2, program.derived))
    assert len(exposures) == 1 + bool(program.derived)
    for e, derived in zip(exposures, (False, True), strict=False):
        expected, _ = candidates(graph, program, x, derived=derived, n=graph.n)
        assert e.candidates.tolist() == e.population.tolist() == expected
        assert e.looked is None


@settings(max_examples=inputs(20), deadline=None)
@given(holdings(), st.integers(2, 4))
def test_candidates_where_sums_decide(graph: KnowledgeGraph, x: int) -> None:
    program = RULES["control"]
    graph = KnowledgeGraph(
        graph.labels, {"own": graph.relations["own"], "knows": build(0, [], []).relations["knows"]}
    )
    found = surveys(graph, program, [x], 10**6, RNG)
    ground, full = of_subgraphs(graph, found, x, graph.n, 2, program.derived)
    assert ground.candidates.tolist() == candidates(graph, program, x, derived=False, n=graph.n)[0]
    assert full.candidates.tolist() == candidates(graph, program, x, derived=True, n=graph.n)[0]


@settings(max_examples=inputs(20), deadline=None)
@given(graphs(most=3, edges=5, second=False), graphs(most=3, edges=5, second=False), st.integers(1, 3))
def test_candidates_in_a_population(graph: KnowledgeGraph, population: KnowledgeGraph, x: int) -> None:
    program, both = RULES["reach"], beside(graph, population)
    found = surveys(both, program, [x], 10**6, RNG)
    for e, derived in zip(of_subgraphs(both, found, x, graph.n, 2, ("reach",)), (False, True), strict=True):
        expected = candidates(both, program, x, derived=derived, n=graph.n)
        assert (e.candidates.tolist(), e.population.tolist()) == expected
    for name, exposure in of_vertices(graph, population, 2):
        assert exposure is not None
        alone = dict(of_vertices(graph, None, 2))[name]
        assert alone is not None
        assert exposure.candidates.tolist() == alone.candidates.tolist()
        assert (exposure.population >= exposure.candidates).all()


def test_a_part_of_a_large_graph_is_looked_at() -> None:
    graph, program = erdos_renyi(300, 1500, np.random.default_rng(3)), RULES["nothing"]
    graph = (
        KnowledgeGraph(graph.labels, {"own": graph.relations["own"]}) if "own" in graph.relations else graph
    )
    space = ReleaseIndex(graph, program)
    whole = survey(space, 4, 10**6, np.random.default_rng(0), SILENT)
    part = survey(space, 4, 5_000, np.random.default_rng(0), SILENT)
    assert whole.exact
    assert whole.total == part.total == whole.examined
    assert not part.exact
    assert 2_000 < part.examined < 10_000
    assert (part.full.counts() <= part.examined).all()


def test_a_sample_of_each_class() -> None:
    drawn = Sample(2, np.random.default_rng(0).integers(0, 2**64, 1000, dtype=np.uint64))
    rows = np.arange(1000).reshape(-1, 2)
    classes = np.arange(500) % 2 * (np.arange(500) < 20)
    for begin in range(0, 500, 50):
        drawn.add(rows[begin : begin + 50], classes[begin : begin + 50])
    drawn.settle()
    assert np.bincount(drawn.classes).tolist() == [64, 10]
    assert len(np.unique(drawn.rows[:, 0])) == 74
    assert drawn.rows[drawn.classes == 0, 0].mean() == pytest.approx(500, abs=150)
    assert np.bincount(drawn.some(5)[1]).tolist() == [5, 5]


@settings(max_examples=inputs(50), deadline=None)
@given(st.data(), st.integers(1, 20), st.integers(1, 4))
def test_kernels_of_places(data: st.DataObject, n: int, places: int) -> None:
    pairs = data.draw(st.lists(st.tuples(st.integers(0, places - 1), st.integers(0, n - 1)), max_size=20))
    width = (n + 7) // 8
    bits = np.zeros(places * width, dtype=np.uint8)
    at = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    mark(at[:, 1:].copy(), at[:, :1].copy(), width, bits)
    first = data.draw(st.integers(0, n))
    incidence = Incidence(n, Classes(1), bits, places)
    counts = incidence.counts(first)
    assert counts.tolist() == [len({v for p, v in pairs if p == q and v >= first}) for q in range(places)]
    trait = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=np.int64)
    values = [len({int(trait[v]) for p, v in pairs if p == q}) for q in range(places)]
    assert incidence.values(trait).tolist() == values
    found = np.full(8 * width, -1, dtype=np.int64)
    first_counts(np.argsort(counts, kind="stable"), counts, width, bits, found)
    expected = [min((counts[p] for p, u in pairs if u == v), default=-1) for v in range(n)]
    assert found[:n].tolist() == expected


def test_too_many_kinds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgreason.isomorphism.risk.occurrences.ROOM", 1)
    graph = build(3, [(0, 1, 0.6), (1, 2, 0.6)])
    with pytest.raises(AnonymizationError, match="subgraphs of 2 vertices have too many kinds"):
        survey(ReleaseIndex(graph, RULES["reach"]), 2, 10, RNG, SILENT)
