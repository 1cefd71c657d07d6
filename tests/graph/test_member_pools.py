"""Canonical forms, pools of members, and the searches for images, against plain twins."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kgreason.graph.generators import erdos_renyi
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.subgraphs import enumeration as visits
from kgreason.graph.subgraphs.enumeration import PASS, TAKE, TEST, visit_all
from kgreason.graph.subgraphs.member_pools import MOST, Pools, degree_ranks, diverse
from kgreason.graph.subgraphs.patterns import Catalogue, Forms
from kgreason.isomorphism.anonymizers.natural_cover import Cover
from tests.examples import inputs
from tests.graph.test_census import CONTROL, RULES, holdings, near, small_tasks
from tests.graphs import graphs
from tests.reference import apart, connected_sets, has_images


def coloured(cells: np.ndarray) -> nx.DiGraph:
    found = nx.DiGraph()
    for a in range(len(cells)):
        found.add_node(a, cell=int(cells[a, a]))
    found.add_edges_from((a, b, {"cell": int(cells[a, b])}) for a, b in permutations(range(len(cells)), 2))
    return found


def isomorphic(a: np.ndarray, b: np.ndarray) -> bool:
    matching = nx.algorithms.isomorphism
    nodes, edges = (
        matching.categorical_node_match("cell", None),
        matching.categorical_edge_match("cell", None),
    )
    return bool(nx.is_isomorphic(coloured(a), coloured(b), nodes, edges))


MATRICES = st.integers(1, 4).flatmap(
    lambda x: hnp.arrays(np.int64, (7, x, x), elements=st.sampled_from([0, 1, 5, 2**40]))
)


@settings(max_examples=inputs(60), deadline=None)
@given(MATRICES, st.integers(0, 7), st.randoms(use_true_random=False))
def test_forms_number_classes_of_isomorphism(cells: np.ndarray, cut: int, random: Any) -> None:
    """The same when matrices come in two batches, the second with other numbers of cells."""
    x = cells.shape[1]
    order = random.sample(range(x), x)
    cells = np.concatenate([cells, cells[:3][:, order][:, :, order]])
    forms = Forms(x)
    parts = [forms.number(part) for part in (cells[:cut], cells[cut:])]
    classes, orders = (np.concatenate(part) for part in zip(*parts, strict=True))
    for i, j in combinations(range(len(cells)), 2):
        assert (classes[i] == classes[j]) == isomorphic(cells[i], cells[j])
    assert sorted(set(classes.tolist())) == list(range(len(forms)))
    for cell, number, o in zip(cells, classes, orders, strict=True):
        assert np.array_equal(cell[o][:, o], forms.cells[number])


@settings(max_examples=inputs(60), deadline=None)
@given(MATRICES)
def test_turns_are_the_automorphisms(cells: np.ndarray) -> None:
    x = cells.shape[1]
    forms = Forms(x)
    forms.number(cells)
    first, turns = forms.turns()
    assert len(first) == len(forms) + 1
    for number, cell in enumerate(forms.cells):
        mine = turns[first[number] : first[number + 1]].tolist()
        same = [list(o) for o in permutations(range(x)) if np.array_equal(cell[list(o)][:, list(o)], cell)]
        assert sorted(mine) == same
        assert mine[0] == list(range(x))


def test_no_matrices() -> None:
    first, turns = Forms(3).turns()
    assert (first.tolist(), turns.shape, Forms(3).cells.shape) == ([0], (0, 3), (0, 3, 3))


class Case:
    """Members of two classes: one whose members have all turns, one whose members have one."""

    def __init__(self, seed: int, count: int = 14, n: int = 16, values: int = 6) -> None:
        rng = np.random.default_rng(seed)
        self.n, self.x = n, int(rng.integers(1, 4))
        self.degrees = tuple(rng.integers(0, values, n) for _ in range(2))
        rows = np.unique(
            np.sort(np.array([rng.permutation(n)[: self.x] for _ in range(count)]), axis=1), axis=0
        )
        self.classes = np.sort(rng.integers(0, 2, len(rows)))
        self.members = rng.permuted(rng.permutation(rows), axis=1)
        every = np.array([*permutations(range(self.x)), range(self.x)], dtype=np.int64)
        self.turns = np.array([0, len(every) - 1, len(every)]), every
        self.ranks, self.width = degree_ranks(self.degrees)
        self.targets = np.array([rng.permutation(n)[: self.x] for _ in range(30)])
        self.of = rng.integers(0, 2, 30)

    def mine(self, number: int) -> list[tuple[int, ...]]:
        return [tuple(row) for row in self.members[self.classes == number].tolist()]

    def turned(self, number: int) -> list[tuple[int, ...]]:
        first, turns = self.turns
        return [tuple(turn) for turn in turns[first[number] : first[number + 1]].tolist()]

    def pools(self, most: int = MOST) -> Pools:
        return diverse(self.members, self.classes, 2, self.turns, self.ranks, self.width, most)


def test_ranks_are_equal_where_degrees_are() -> None:
    ranks, width = degree_ranks((np.array([3, 0, 3]), np.array([3, 7, 0])))
    assert (ranks.tolist(), width) == ([1, 3, 0, 4, 1, 2], 5)


@settings(max_examples=inputs(150), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 8))
def test_pools_hold_groups_of_members_that_are_apart(seed: int, most: int) -> None:
    case = Case(seed)
    pools = case.pools(most)
    for number in range(2):
        pool = [tuple(r) for r in pools.members[pools.first[number] : pools.first[number + 1]].tolist()]
        turned = {tuple(m[a] for a in turn) for m in case.mine(number) for turn in case.turned(number)}
        assert set(pool) <= turned
        assert len({frozenset(row) for row in pool}) == len(pool) == min(most, len(case.mine(number)))
        expected: list[tuple[int, ...]] = []  # greedily, group by group
        left = case.mine(number)
        while left and len(expected) < most:
            group: list[tuple[int, ...]] = []
            for row in list(left):
                placed = (tuple(row[a] for a in turn) for turn in case.turned(number))
                fits = (p for p in placed if all(apart(p, other, case.degrees) for other in group))
                if len(expected) + len(group) < most and (found := next(fits, None)):
                    group.append(found)
                    left.remove(row)
            expected += group
        assert pool == expected


@settings(max_examples=inputs(100), deadline=None)
@given(st.integers(0, 2**32))
def test_sets_of_pools(seed: int) -> None:
    case = Case(seed)
    pools = case.pools()
    far, taken = pools.sets
    for c in range(2):
        rows = range(int(pools.first[c]), int(pools.first[c + 1]))
        pool = [tuple(pools.members[i].tolist()) for i in rows]
        for i, one in enumerate(pool):
            bits = sum(apart(one, other, case.degrees) << j for j, other in enumerate(pool))
            assert far[rows[i]] == bits
        for a in range(case.x):
            for v in range(case.n):
                for phi in range(2):
                    rank = int(case.ranks[2 * v + phi])
                    bits = sum(
                        int(case.degrees[phi][m[a]] == case.degrees[phi][v]) << j for j, m in enumerate(pool)
                    )
                    assert taken[(c * case.x + a) * pools.width + rank] == bits


@settings(max_examples=inputs(150), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.booleans())
def test_images_in_a_pool(seed: int, need: int, renumber: bool) -> None:
    case = Case(seed)
    pools = case.pools()
    targets, degrees = case.targets, case.degrees
    if renumber:
        original = np.random.default_rng(seed).permutation(case.n)
        rank = np.argsort(original)
        pools, targets = pools.renumbered(original), rank[targets]
        degrees = tuple(d[original] for d in degrees)
    found = pools.finds(targets, case.of, need)
    for target, number, one in zip(targets.tolist(), case.of.tolist(), found.tolist(), strict=True):
        pool = pools.members[pools.first[number] : pools.first[number + 1]].tolist()
        # An automorphism turns the subgraph; members of the pool stay as they are.
        turned = [tuple(target[a] for a in turn) for turn in case.turned(number)]
        identity = [tuple(range(case.x))]
        assert one == any(has_images(t, map(tuple, pool), identity, degrees, need) for t in turned)


def test_a_full_pool() -> None:
    """63 members, which fill a number."""
    n = 64
    degrees = np.arange(n), np.arange(n)
    ranks, width = degree_ranks(degrees)
    members, turns = np.arange(n)[:, None], (np.array([0, 1]), np.array([[0]]))
    pools = diverse(members, np.zeros(n, dtype=np.int64), 1, turns, ranks, width)
    assert len(pools.members) == MOST
    for need, expected in ((MOST - 1, [True, True]), (MOST, [False, True]), (MOST + 1, [False, False])):
        found = pools.finds(members[[5, 63]], np.zeros(2, dtype=np.int64), need)
        assert found.tolist() == expected


def searched(case: Case, need: int, places: int = 512, budget: int = 1 << 20) -> np.ndarray:
    from kgreason.graph.subgraphs.member_pools import search

    bounds = np.searchsorted(case.classes, np.arange(3)).astype(np.int64)
    found, count = np.ones(len(case.targets), dtype=np.bool_), np.zeros(len(case.targets), dtype=np.int64)
    room = [np.zeros(size, dtype=np.int64) for size in (places, places, need)]
    known = case.targets, case.of, bounds, case.members, *case.turns, case.ranks
    search(*known, need, budget, *room, found, count)
    single = [
        has_images(tuple(target), case.mine(number), case.turned(number), case.degrees, 1)
        for target, number in zip(case.targets.tolist(), case.of.tolist(), strict=True)
    ]
    assert (count > 0).tolist() == single
    assert (count <= places).all()
    return found


@settings(max_examples=inputs(100), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_search_among_all_members(seed: int, need: int) -> None:
    case = Case(seed)
    expected = [
        has_images(tuple(target), case.mine(number), case.turned(number), case.degrees, need)
        for target, number in zip(case.targets.tolist(), case.of.tolist(), strict=True)
    ]
    assert searched(case, need).tolist() == expected
    for fewer in (searched(case, need, places=3), searched(case, need, budget=5)):
        assert (~fewer | expected).all()


def covering(graph: KnowledgeGraph, name: str, x: int, need: int) -> Cover:
    rules = RULES[name]
    return Cover(graph, InducedReasoner(graph, rules), x, None, need, np.random.default_rng(0))


def few_degrees(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 5, n), rng.integers(0, 5, n)


@pytest.mark.parametrize("small", [False, True])
@settings(max_examples=inputs(40), deadline=None)
@given(
    graphs(least=4, most=8, edges=20) | holdings(),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 999),
    st.sampled_from(sorted(RULES)),
)
def test_tested_are_those_without_images_in_their_pool(
    small: bool, graph: KnowledgeGraph, x: int, need: int, seed: int, name: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(visits, "_ROWS", 1)
            small_tasks(patch)
        rules, rng = RULES[name], np.random.default_rng(seed)
        mine = Catalogue(graph, InducedReasoner(graph, rules), x, rng)
        members, kinds = visit_all(mine, np.full(len(mine.forms), TAKE, dtype=np.uint8))
        if not len(members):
            return
        classes, ordered = mine.class_of[kinds].astype(np.int64), mine.ordered(members, kinds)
        order = np.lexsort((rng.random(len(classes)), classes))[: int(rng.integers(1, 40))]
        degrees, count = few_degrees(seed, graph.n), len(mine.forms)
        turns = mine.forms.turns()
        pools = diverse(ordered[order], classes[order], count, turns, *degree_ranks(degrees))
        tested = rng.random(count) < 0.8
        wanted = np.where(tested, TEST, PASS).astype(np.uint8)
        failing, _ = visit_all(mine, wanted, pools, need)
    expected = []
    for row, c in zip(ordered.tolist(), classes.tolist(), strict=True):
        pool = [tuple(m) for m in pools.members[pools.first[c] : pools.first[c + 1]].tolist()]
        turned = [tuple(row[a] for a in turn) for turn in turns[1][turns[0][c] : turns[0][c + 1]].tolist()]
        fine = any(has_images(t, pool, [tuple(range(x))], degrees, need) for t in turned)
        if tested[c] and not fine:
            expected.append(sorted(row))
    assert sorted(sorted(row) for row in failing.tolist()) == sorted(expected)


@pytest.mark.parametrize(("x", "need", "values"), [(2, 1, 4), (2, 3, 9), (3, 1, 4), (3, 2, 7)])
def test_tested_in_a_larger_graph(x: int, need: int, values: int) -> None:
    """Some subgraphs find images that are apart, others only such that differ in one of the degrees."""
    rng = np.random.default_rng(x + need)
    graph = erdos_renyi(40, 50, rng)
    mine = Catalogue(graph, None, x, rng)
    members, kinds = visit_all(mine, np.full(len(mine.forms), TAKE, dtype=np.uint8))
    classes, ordered = mine.class_of[kinds].astype(np.int64), mine.ordered(members, kinds)
    order = np.lexsort((rng.random(len(classes)), classes))
    order = order[np.arange(len(order)) - np.searchsorted(classes[order], classes[order]) < 6]
    degrees, turns = (rng.integers(0, values, 40), rng.integers(0, values, 40)), mine.forms.turns()
    pools = diverse(ordered[order], classes[order], len(mine.forms), turns, *degree_ranks(degrees))
    failing, _ = visit_all(mine, np.full(len(mine.forms), TEST, dtype=np.uint8), pools, need)
    expected = []
    for row, c in zip(ordered.tolist(), classes.tolist(), strict=True):
        pool = [tuple(m) for m in pools.members[pools.first[c] : pools.first[c + 1]].tolist()]
        turned = [tuple(row[a] for a in turn) for turn in turns[1][turns[0][c] : turns[0][c + 1]].tolist()]
        if not any(has_images(t, pool, [tuple(range(x))], degrees, need) for t in turned):
            expected.append(sorted(row))
    assert 0 < len(expected) < len(ordered)
    assert sorted(sorted(row) for row in failing.tolist()) == sorted(expected)


@settings(max_examples=inputs(30), deadline=None)
@given(
    graphs(least=4, most=8, edges=20) | holdings(),
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(0, 999),
    st.sampled_from(sorted(RULES)),
)
def test_what_lacks_images_has_none(graph: KnowledgeGraph, x: int, need: int, seed: int, name: str) -> None:
    cover = covering(graph, name, x, need)
    degrees = few_degrees(seed, graph.n)
    lack = cover.lack(degrees)
    everywhere = np.array(connected_sets(near(graph), x), dtype=np.int64).reshape(-1, x)
    if not len(everywhere):
        assert not len(lack.members)
        return
    ordered, classes = cover.catalogue.classified(everywhere)
    first, turns = cover.catalogue.forms.turns()
    expected = {}
    for row, c in zip(ordered.tolist(), classes.tolist(), strict=True):
        mine = [tuple(m) for m in ordered[classes == c].tolist()]
        turned = [tuple(turn) for turn in turns[first[c] : first[c + 1]].tolist()]
        found = [has_images(tuple(row), mine, turned, degrees, many) for many in range(1, need + 1)]
        if not all(found):
            expected[frozenset(row)] = (need - sum(found), c)
    assert {
        frozenset(row): (missing, c)
        for row, missing, c in zip(
            lack.members.tolist(), lack.missing.tolist(), lack.classes.tolist(), strict=True
        )
    } == expected


def test_members_that_were_made_are_images() -> None:
    """A single class of pairs, whose degrees are all alike but for those of a new member."""
    graph = KnowledgeGraph.from_edges([("a", "b"), ("c", "d")], relation="own")
    cover = Cover(graph, InducedReasoner(graph, CONTROL), 2, None, 1, np.random.default_rng(0))
    degrees = np.array([0, 1, 0, 1, 5, 6]), np.array([1, 0, 1, 0, 7, 8])
    assert cover.lack(degrees).missing.tolist() == [1, 1]
    cover.add(np.array([[4, 5]]), np.array([0]))
    assert not len(cover.lack(degrees).members)
    cover.forget()
    assert len(cover.lack(degrees).members) == 2
