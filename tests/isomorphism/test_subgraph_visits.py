"""Visits of connected vertex sets against all combinations, their patterns and pools against plain twins."""

from __future__ import annotations

from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.progress import SILENT
from kgreason.graph.generators import erdos_renyi
from kgreason.graph.induced.situations import Cells, Ties
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.refinement import Pairs
from kgreason.isomorphism.verification import population
from kgreason.isomorphism.verification import subgraph_visits as visit_kernels
from kgreason.isomorphism.verification import subgraph_visits as visits
from kgreason.isomorphism.verification.images import decide_each
from kgreason.isomorphism.verification.population import count_connected
from kgreason.isomorphism.verification.release_index import Bonds, ReleaseIndex, undirected
from kgreason.isomorphism.verification.subgraph_visits import (
    ENDLESS,
    FREE,
    Orders,
    Tree,
    Walker,
    grouped,
    shares,
)
from kgreason.language.check.program_checker import load_text
from tests.examples import inputs
from tests.graphs import graphs


def connected(graph: KnowledgeGraph, size: int) -> list[tuple[int, ...]]:
    """Twin of the listing: all combinations."""
    plain = nx.Graph()
    plain.add_nodes_from(range(graph.n))
    plain.add_edges_from(zip(*(ends.tolist() for ends in graph.ends), strict=True))
    return [c for c in combinations(range(graph.n), size) if nx.is_connected(plain.subgraph(c))]


def walked(adjacency, size: int, parts: int, quota: int = ENDLESS):
    """All sets that are visited, the tree of their patterns, and the pattern of each set."""
    tree = Tree()
    n = len(adjacency.vertices)
    walker = Walker(adjacency, np.zeros((n, 3), dtype=np.int64), size, tree)
    learned = Orders.learning(len(tree.nodes), size)
    divided = shares(adjacency, size, parts)
    seen = walker.walk(divided, learned, lambda rows, nodes: None, quota)[1]
    rows, nodes = [], []
    handing = Orders.learning(len(tree.nodes), size)
    handing.jobs[:] = visit_kernels.HANDED
    handing.canonical[:] = np.arange(size)
    for share in divided:
        walker.walk([share], handing, lambda r, p: (rows.extend(r.tolist()), nodes.extend(p.tolist())), quota)
    assert quota < ENDLESS or seen == len(rows)
    assert (walker._held == adjacency.kinds).all()
    return rows, tree, nodes


@settings(max_examples=inputs(80), deadline=None)
@given(graphs(most=9, edges=16), st.integers(2, 5), st.integers(1, 4), st.booleans())
def test_every_connected_set_is_visited_once(
    graph: KnowledgeGraph, size: int, parts: int, tiny: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if tiny:
            patch.setattr(visits, "ROWS", 1)
            patch.setattr(visits, "NODES", 1)
        patch.setattr(population, "SHARES", parts)
        expected = connected(graph, size)
        rows, _, _ = walked(undirected(graph), size, parts)
        assert sorted(tuple(sorted(row)) for row in rows) == expected
        assert count_connected(undirected(graph), size, 10**9) == len(expected)


@settings(max_examples=inputs(80), deadline=None)
@given(graphs(most=8), graphs(most=8), st.integers(2, 4), st.randoms(use_true_random=False))
def test_patterns_are_what_is_tied(
    original: KnowledgeGraph, released: KnowledgeGraph, size: int, random
) -> None:
    """Sets are connected in the original; their pattern tells all that runs between them in the release."""
    n = max(original.n, released.n)
    labels = np.array([f"r{v}" for v in range(n)], dtype=object)
    released = KnowledgeGraph(labels, released.relations)
    mapping = np.array(random.sample(range(n), original.n))
    cells = {
        name: Cells.exact(r.weight if r.weight is not None else np.ones(len(r)))
        for name, r in released.relations.items()
    }
    pairs = Pairs(released)
    adjacency = Bonds.of(pairs, Ties.of(released, cells)).attacked(original, mapping)
    rows, tree, nodes = walked(adjacency, size, 2)
    back = {int(r): v for v, r in enumerate(mapping)}
    assert sorted(tuple(sorted(back[v] for v in row)) for row in rows) == connected(original, size)

    def content(row: list[int]) -> tuple:
        edges = []
        for name, r in released.relations.items():
            weights = r.weight if r.weight is not None else np.ones(len(r))
            for u, v, w in zip(r.source.tolist(), r.target.tolist(), weights.tolist(), strict=True):
                if u in row and v in row:
                    edges.append((name, row.index(u), row.index(v), w))
        return tuple(sorted(edges))

    contents: dict[int, tuple] = {}
    for row, node in zip(rows, nodes, strict=True):
        assert contents.setdefault(node, content(row)) == content(row)
    paths = tree.paths(np.array(sorted(contents), dtype=np.int64), size)
    assert len({tuple(path) for path in paths.tolist()}) == len(contents)


def test_a_quota_leaves_everything_as_it_was() -> None:
    star = KnowledgeGraph.from_edges([("hub", f"v{i}") for i in range(9)])
    adjacency = undirected(star)
    rows, _, _ = walked(adjacency, 3, 1, quota=5)
    assert len(rows) == 5


@settings(max_examples=inputs(40), deadline=None)
@given(graphs(most=9, edges=16), st.integers(2, 4), st.integers(1, 6), st.integers(1, 5))
def test_shares_in_one_call_as_one_after_the_other(
    graph: KnowledgeGraph, size: int, parts: int, quota: int
) -> None:
    adjacency = undirected(graph)
    divided = shares(adjacency, size, parts)
    found = []
    for calls in ([divided], [[share] for share in divided]):
        walker = Walker(adjacency, np.zeros((graph.n, 3), dtype=np.int64), size, Tree())
        rows: list[list[int]] = []
        seen = 0
        for some in calls:
            orders = Orders.learning(len(walker.tree.nodes), size)
            orders.jobs[:] = visit_kernels.HANDED
            orders.canonical[:] = np.arange(size)
            seen += walker.walk(some, orders, lambda r, _, rows=rows: rows.extend(r.tolist()), quota)[1]
        found.append((rows, seen))
        assert (walker._held == adjacency.kinds).all()
    assert found[0] == found[1]
    assert [share for some in grouped(divided, 2) for share in some] == divided


def test_counting_stops_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgreason.base.cores.cores", lambda: 1)
    path = KnowledgeGraph.from_edges([(f"v{i}", f"v{i + 1}") for i in range(2_000)])
    assert count_connected(undirected(path), 3, 10**9) == 1_999
    assert 10 < count_connected(undirected(path), 3, 10) < 100


@settings(max_examples=inputs(100), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_pools_against_plain_twins(seed: int, need: int) -> None:
    rng = np.random.default_rng(seed)
    n, size, most = 14, int(rng.integers(1, 4)), int(rng.integers(1, 5))
    traits = np.stack([rng.integers(0, 5, n), rng.integers(0, 5, n), rng.permutation(n)], axis=1)
    rows = np.array([rng.permutation(n)[:size] for _ in range(15)])
    classes = rng.integers(0, 2, 15)
    turns = np.array([*permutations(range(size)), range(size)])
    starts = np.array([0, len(turns) - 1, len(turns)])
    blocks, members = np.array([[0, -1], [0, -1], [0, -1]]), np.zeros((3 * most, size), dtype=np.int64)
    visit_kernels.fill(rows, classes, turns, starts, np.array([0, 1]), most, blocks, members, traits)
    blocks[0, 1] = 2  # a second block of the first pool
    visit_kernels.fill(rows, classes, turns, starts, np.array([2, 1]), most, blocks, members, traits)

    def apart(p, q) -> bool:
        return not set(p) & set(q) and all((traits[u] != traits[v]).all() for u, v in zip(p, q, strict=True))

    plain: dict[int, list[list[int]]] = {}
    for block, number in ((0, 0), (1, 1), (2, 0), (1, 1)):
        pool = plain.setdefault(block, [])
        for row in rows[classes == number].tolist():
            for turn in turns[starts[number] : starts[number + 1]].tolist():
                placed = [row[i] for i in turn]
                if len(pool) < most and all(apart(placed, other) for other in pool):
                    pool.append(placed)
                    break
    for block, pool in plain.items():
        assert members[block * most : block * most + blocks[block, 0]].tolist() == pool
    settled = np.zeros(15, dtype=np.bool_)
    visit_kernels.settle(rows, classes, most, blocks, members, need, traits, settled)
    for row, number, found in zip(rows.tolist(), classes.tolist(), settled.tolist(), strict=True):
        mine = [plain[0], plain[2]] if number == 0 else [plain[1]]
        assert found == any(sum(apart(row, other) for other in pool) >= need for pool in mine)


def test_learning_orders_only_learn() -> None:
    assert (Orders.learning(4, 3).jobs == FREE).all()


def test_a_sample_may_visit_patterns_that_were_not_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample skips other classes, so its quota reaches further sets, whose patterns here outgrow the learned tree."""
    monkeypatch.setattr("kgreason.base.cores.cores", lambda: 1)
    ends = erdos_renyi(60, None, np.random.default_rng(126)).ends
    edges = [(str(u), str(v)) for u, v in zip(*(e.tolist() for e in ends), strict=True)]
    rules = load_text('@edge("edge"). @derived("mutual"). mutual(X, Y) :- edge(X, Y), edge(Y, X).')
    index = ReleaseIndex(KnowledgeGraph.from_edges(edges), rules)
    assert decide_each(index, np.array([[0, 1, 2, 3, 31, 24]]), 5, SILENT).tolist() == [0]
