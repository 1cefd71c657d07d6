"""Counts of connected subgraphs by pattern, and visits of them, against all combinations."""

from __future__ import annotations

import builtins
from collections import Counter
from itertools import permutations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.divided_work import divided_by
from kgreason.graph.generators import erdos_renyi
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.induced.situations import Cells, Ties
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.subgraphs import census as censuses
from kgreason.graph.subgraphs import census as pieces
from kgreason.graph.subgraphs import enumeration as visits
from kgreason.graph.subgraphs.census import Census, census
from kgreason.graph.subgraphs.enumeration import DRAW, PASS, TAKE, visit_all
from kgreason.graph.subgraphs.ordered_adjacency import Adjacency
from kgreason.graph.subgraphs.patterns import Catalogue, classify
from kgreason.language.check.program_checker import load_text
from tests.examples import inputs
from tests.graphs import build, graphs
from tests.reference import connected_sets

CONTROL = load_text(
    """@node("company"). @edge("own"). @edge("knows"). @derived("control").
    control(X,X) :- company(X).
    control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5."""
)
REACH = load_text(
    """@edge("own"). @derived("reach").
    reach(X,Y) :- own(X,Y,W), X != Y, W > 0.3.
    reach(X,Y) :- reach(X,Z), own(Z,Y,W), X != Y, Z != Y, W > 0.3."""
)
NOTHING = load_text("""@edge("own"). @query("owned"). owned(Y) :- own(X,Y,W).""")
ORDERED = load_text(
    """@edge("own"). @derived("above").
    above(X,Z) :- own(X,Y,W), own(Y,Z,V), X < Z."""  # by names: vertices cannot stand for each other
)
RULES = {"control": CONTROL, "reach": REACH, "nothing": NOTHING, "ordered": ORDERED}


STAKES = [0.05, 0.2, 0.24, 0.3, 0.45, 0.6, 0.6]


@st.composite
def holdings(draw: Any) -> KnowledgeGraph:
    """Ownership in which the cells of the weights often leave control open."""
    n = draw(st.integers(3, 6))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.sampled_from(STAKES))
    return build(n, draw(st.lists(pairs, min_size=n, max_size=4 * n, unique_by=lambda e: e[:2])))


def near(graph: KnowledgeGraph) -> list[set[int]]:
    found: list[set[int]] = [set() for _ in range(graph.n)]
    for u, v in zip(*(ends.tolist() for ends in graph.ends), strict=True):
        found[u].add(v)
        found[v].add(u)
    return found


def contents(graph: KnowledgeGraph, cells: dict[str, Cells] | None) -> dict[tuple[int, int], tuple]:
    """What runs from one vertex to another: how many edges of each relation, and the set of cells of each."""
    found: dict[tuple[int, int], tuple] = {}
    for u in range(graph.n):
        for v in range(graph.n):
            rows = [np.flatnonzero((r.source == u) & (r.target == v)) for r in graph.relations.values()]
            seen = [
                frozenset(cells[name].of_edge[row].tolist()) if cells and name in cells else frozenset()
                for name, row in zip(graph.relations, rows, strict=True)
            ]
            found[u, v] = (*map(len, rows), *seen)
    return found


def matrix(content: dict[tuple[int, int], tuple], members: tuple[int, ...]) -> tuple:
    return tuple(content[u, v] for u in members for v in members)


def form(content: dict[tuple[int, int], tuple], members: tuple[int, ...]) -> frozenset:
    """The same for isomorphic subgraphs, and only for them."""
    return frozenset(matrix(content, order) for order in permutations(members))


@pytest.fixture(params=["whole", "small"])
def room(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Tables that grow from nearly nothing, and tasks of one extension each."""
    if request.param == "small":
        monkeypatch.setattr(censuses, "_PATTERNS", 2)
        monkeypatch.setattr(censuses, "_VALUES", 2)
        monkeypatch.setattr(visits, "_ROWS", 1)
        small_tasks(monkeypatch)
    return str(request.param)


def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    def least(a: int, b: int) -> int:
        return builtins.max(1 if a == 64 else a, b)

    monkeypatch.setattr(pieces, "max", least, raising=False)


def with_cells(graph: KnowledgeGraph, seen: bool) -> tuple[Adjacency, dict[str, Cells] | None]:
    if not seen:
        return Adjacency.of(graph), None
    own = graph.relations["own"]
    assert own.weight is not None
    cells = {"own": Cells.between(own.weight, np.array([0.25, 0.5]))}
    return Adjacency.of(graph, Ties.of(graph, cells)), cells


def path(found: Census, pattern: int) -> list[int]:
    values, node = [], found.first + pattern
    while node:
        values.append(int(found.nodes[node, 1]))
        node = int(found.nodes[node, 0])
    return values[::-1]


@pytest.mark.usefixtures("room")
@settings(max_examples=inputs(60), deadline=None)
@given(graphs(), st.integers(1, 5), st.booleans())
def test_counts_by_pattern_are_those_of_all_combinations(graph: KnowledgeGraph, x: int, seen: bool) -> None:
    adjacency, cells = with_cells(graph, seen)
    found = census(adjacency, x)
    expected = connected_sets(near(graph), x)
    assert found.total == len(expected)
    content = contents(graph, cells)
    counted: Counter[frozenset] = Counter()
    for example, count in zip(found.examples.tolist(), found.counts.tolist(), strict=True):
        assert count > 0
        assert tuple(sorted(example)) in expected
        counted[form(content, example)] += count
    assert counted == Counter(form(content, members) for members in expected)
    assert len({matrix(content, example) for example in found.examples.tolist()}) == len(found.counts)
    assert census(Adjacency.plain(graph), x).total == len(expected)


def assert_examples_lie_at_the_ends_of_their_paths(a: Adjacency, found: Census) -> None:
    rank = {int(v): i for i, v in enumerate(a.original)}
    for pattern, example in enumerate(found.examples.tolist()):
        mine = [rank[v] for v in example]
        values = [int(a.colour[v]) for v in mine]
        for j, v in enumerate(mine):
            for i, u in enumerate(mine[:j]):
                row = slice(a.indptr[u], a.indptr[u + 1])
                tie = int(a.tie[row][a.neighbour[row] == v].sum())
                values[j] |= tie << a.low + a.bits * i
        assert path(found, pattern) == values


@pytest.mark.usefixtures("room")
@settings(max_examples=inputs(30), deadline=None)
@given(graphs(least=3), st.integers(1, 5), st.booleans())
def test_examples_lie_at_the_ends_of_their_paths(graph: KnowledgeGraph, x: int, seen: bool) -> None:
    a, _ = with_cells(graph, seen)
    assert_examples_lie_at_the_ends_of_their_paths(a, census(a, x))


def hubs(seed: int) -> KnowledgeGraph:
    """Two hubs with common neighbours, and some edges between these."""
    rng = np.random.default_rng(seed)
    own = [(0, v, 0.2) for v in range(2, 12)] + [(v, 1, 0.6) for v in range(5, 15)]
    own += [(int(u), int(v), 0.3) for u, v in rng.integers(2, 15, (8, 2))]
    return build(15, own, [(0, 1), (2, 3)])


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("x", [3, 4, 5])
def test_subgraphs_of_hubs(x: int) -> None:
    graph = hubs(x)
    plain = nx.Graph(list(zip(*(ends.tolist() for ends in graph.ends), strict=True)))
    expected = connected_sets(near(graph), x)
    assert all(nx.is_connected(plain.subgraph(members)) for members in expected)
    found = census(Adjacency.of(graph), x)
    assert found.total == len(expected)
    assert_examples_lie_at_the_ends_of_their_paths(Adjacency.of(graph), found)


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    small_tasks(monkeypatch)
    adjacency = Adjacency.of(hubs(1))
    assert len(pieces.tasks(adjacency)) > 20
    found = []
    for cores in (1, 2, 3):
        monkeypatch.setattr("kgreason.base.cores.cores", lambda cores=cores: cores)
        found.append(census(adjacency, 4))
    for other in found[1:]:
        assert np.array_equal(other.nodes, found[0].nodes)
        assert np.array_equal(other.counts, found[0].counts)


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(most=12, edges=40), st.integers(1, 4))
def test_tasks_hold_every_root_and_extension_once(graph: KnowledgeGraph, pieces_of_hub: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        small_tasks(patch)
        patch.setattr(pieces, "_PIECES", pieces_of_hub)
        adjacency = Adjacency.plain(graph)
        held = Counter(
            (root, extension)
            for start, end, low, high in pieces.tasks(adjacency).tolist()
            for root in range(start, end)
            for extension in range(low, min(high, graph.n))
        )
    for root in range(graph.n):
        neighbours = adjacency.neighbour[adjacency.indptr[root] : adjacency.indptr[root + 1]]
        for extension in range(int((neighbours > root).sum())):
            assert held[root, extension] == 1


@given(graphs(), st.integers(3, 4), st.integers(0, 40))
def test_a_limit_is_exceeded_where_there_are_more(graph: KnowledgeGraph, x: int, limit: int) -> None:
    expected = len(connected_sets(near(graph), x))
    found = census(Adjacency.plain(graph), x, limit).total
    assert found == expected if expected <= limit else limit < found <= expected


def test_counting_stops_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgreason.base.cores.cores", lambda: 1)
    path = KnowledgeGraph.from_edges([(f"v{i}", f"v{i + 1}") for i in range(2_000)])
    assert census(Adjacency.plain(path), 4).total == 1_998
    assert 10 < census(Adjacency.plain(path), 4, 10).total < 200


def test_no_vertices_are_no_size() -> None:
    with pytest.raises(ValueError, match="x must be at least 1, not 0"):
        census(Adjacency.plain(build(3, [])), 0)


def catalogue(graph: KnowledgeGraph, rules: object, x: int, seed: int = 0) -> Catalogue:
    return Catalogue(graph, InducedReasoner(graph, rules), x, np.random.default_rng(seed))


@pytest.mark.usefixtures("room")
@settings(max_examples=inputs(50), deadline=None)
@given(graphs(least=2) | holdings(), st.integers(1, 5), st.sampled_from(sorted(RULES)))
def test_all_subgraphs_are_visited_once_in_their_class(graph: KnowledgeGraph, x: int, name: str) -> None:
    rules = RULES[name]
    mine = catalogue(graph, rules, x)
    told: list[int] = []
    wanted = np.full(len(mine.forms), TAKE, dtype=np.uint8)
    members, kinds = visit_all(mine, wanted, advance=told.append)
    expected = connected_sets(near(graph), x)
    assert sorted(tuple(sorted(row)) for row in members.tolist()) == expected
    assert x == 1 or sum(told) == len(expected)
    if not expected:
        return
    classes = mine.class_of[kinds]
    ordered = mine.ordered(members, kinds)
    theirs = classify(graph, rules, members)
    assert len(set(zip(classes.tolist(), theirs.ids.tolist(), strict=True))) == theirs.count
    assert len(set(classes.tolist())) == theirs.count
    content, derived = contents(graph, None), InducedReasoner(graph, rules).masks(ordered)
    seen: dict[int, tuple] = {}
    for number, row, masks in zip(classes.tolist(), ordered.tolist(), derived.tolist(), strict=True):
        facts = (matrix(content, row), masks)
        assert seen.setdefault(number, facts) == facts
    again, of = mine.classified(members)
    assert np.array_equal(of, classes)
    for number, row, masks in zip(
        of.tolist(), again.tolist(), InducedReasoner(graph, rules).masks(again).tolist(), strict=True
    ):
        assert seen[number] == (matrix(content, row), masks)
    counts = np.bincount(classes, minlength=len(mine.forms))
    unambiguous = mine.class_counts()
    assert (unambiguous <= counts[: len(unambiguous)]).all()
    assert counts.sum() == unambiguous.sum() + mine.ambiguous


@pytest.mark.usefixtures("room")
@settings(max_examples=inputs(30), deadline=None)
@given(graphs(least=2) | holdings(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_only_wanted_classes_are_returned(graph: KnowledgeGraph, x: int, random) -> None:
    mine = catalogue(graph, CONTROL, x)
    every = visit_all(mine, np.full(len(mine.forms), TAKE, dtype=np.uint8))
    classes = mine.class_of[every[1]]
    wanted = np.array([random.choice((PASS, TAKE)) for _ in range(len(mine.forms))], dtype=np.uint8)
    members, kinds = visit_all(mine, wanted)
    assert (wanted[mine.class_of[kinds]] == TAKE).all()
    chosen = every[0][wanted[classes] == TAKE]
    assert sorted(map(sorted, members.tolist())) == sorted(map(sorted, chosen.tolist()))


class Backwards:
    """Engine that does the last tasks first."""

    def pays(self, steps: float) -> bool:
        return True

    def run(self, work, tasks: int, advance) -> list:
        return [work(iter([number]), advance) for number in range(tasks)[::-1]]


def triangles(many: int) -> KnowledgeGraph:
    """Whether the first vertex controls the third one depends on the sum of two weights of one cell each."""
    sums = [(0.3, 0.22) if i % 2 else (0.27, 0.2) for i in range(many)]
    edges = [
        row
        for i, (a, b) in enumerate(sums)
        for row in ((3 * i, 3 * i + 1, 0.6), (3 * i, 3 * i + 2, a), (3 * i + 1, 3 * i + 2, b))
    ]
    return build(3 * many, edges)


def test_classes_do_not_depend_on_who_was_first(monkeypatch: pytest.MonkeyPatch) -> None:
    small_tasks(monkeypatch)
    found = []
    for engine in (None, Backwards()):
        with divided_by(engine):
            mine = catalogue(triangles(8), CONTROL, 3)
            assert mine.ambiguous == 8
            members, kinds = visit_all(mine, np.full(len(mine.forms), TAKE, dtype=np.uint8))
        found.append((members, mine.class_of[kinds]))
    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("x", [3, 4])
def test_drawn_subgraphs_do_not_depend_on_threads(x: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = erdos_renyi(200, 500, np.random.default_rng(1))
    drawn = []
    for cores, small in ((1, False), (2, False), (2, True)):
        with monkeypatch.context() as patch:
            patch.setattr("kgreason.base.cores.cores", lambda cores=cores: cores)
            if small:
                patch.setattr(visits, "_ROWS", 7)
                small_tasks(patch)
            mine = catalogue(graph, NOTHING, x, seed=5)
            wanted = np.full(len(mine.forms), DRAW, dtype=np.uint8)
            drawn.append(visit_all(mine, wanted, threshold=np.full(len(wanted), 2**31 // 4)))
    assert all(np.array_equal(drawn[0][0], members) for members, _ in drawn[1:])
    total = mine.census.total
    assert abs(len(drawn[0][0]) / total - 0.25) < 5 * np.sqrt(0.25 * 0.75 / total)
    assert len({tuple(sorted(row)) for row in drawn[0][0].tolist()}) == len(drawn[0][0])
    other = catalogue(graph, NOTHING, x, seed=6)
    again = visit_all(other, wanted, threshold=np.full(len(wanted), 2**31 // 4))[0]
    assert not np.array_equal(again, drawn[0][0])


def test_each_class_is_drawn_by_its_own_share() -> None:
    graph = erdos_renyi(200, 500, np.random.default_rng(1))
    mine = catalogue(graph, NOTHING, 3)
    shares = np.linspace(0, 1, len(mine.forms))
    threshold = (2.0**31 * shares).astype(np.int64)
    _, kinds = visit_all(mine, np.full(len(shares), DRAW, dtype=np.uint8), threshold=threshold)
    drawn = np.bincount(mine.class_of[kinds], minlength=len(shares))
    counts = mine.class_counts()
    assert drawn[0] == 0
    assert drawn[-1] == counts[-1]
    assert (np.abs(drawn - shares * counts) <= 5 * np.sqrt(counts) + 1).all()


@settings(max_examples=inputs(30), deadline=None)
@given(holdings(), st.integers(1, 4))
def test_all_ambiguous_subgraphs_are_drawn_if_there_are_few(graph: KnowledgeGraph, x: int) -> None:
    mine = catalogue(graph, CONTROL, x)
    known = len(mine.forms)
    wanted, threshold = np.full(known, DRAW, dtype=np.uint8), np.full(known, 2**31)
    members, _ = visit_all(mine, wanted, threshold=threshold)
    assert sorted(tuple(sorted(row)) for row in members.tolist()) == connected_sets(near(graph), x)


@settings(max_examples=inputs(40), deadline=None)
@given(graphs(least=2), st.integers(2, 4))
def test_ties_are_equal_where_the_same_runs(graph: KnowledgeGraph, x: int) -> None:
    mine = catalogue(graph, NOTHING, x)
    sets = [tuple(members) for members in permutations(range(graph.n), x)][:200]
    ties = mine.ties(np.array(sets, dtype=np.int64).reshape(-1, x))
    content = contents(graph, None)
    names: dict[object, int] = {}
    for members, cells in zip(sets, ties.tolist(), strict=True):
        for i, u in enumerate(members):
            for j, v in enumerate(members):
                what = (u == v, content[u, v], content[v, u])
                assert names.setdefault(what, cells[i][j]) == cells[i][j]
                nothing = u != v and not any(sum(w[: len(graph.relations)]) for w in what[1:])
                assert u == v or (cells[i][j] == 0) == nothing
    proper = [number for (loop, *_), number in names.items() if not loop]
    assert len(set(proper)) == len(proper)
