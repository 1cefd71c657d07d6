"""What is done to a graph on its way to other degrees: the kernels, each beside its definition."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.people.anonymizers import alternating_rows
from kgreason.people.anonymizers.alternating_rows import ADDED, FREE, KEPT, LOST
from kgreason.people.anonymizers.undirected_realization import Workpiece
from tests.degree_graphs import Edges, Pair, degrees_of, edges_of, rng, two_graphs
from tests.examples import inputs


def begun(n: int, edges: Edges, other: Edges, seed: int) -> Workpiece:
    """A graph with the edges `other`, on its way from `edges`, with degrees that are off here and there."""
    degrees = degrees_of(other, n) + rng(seed).integers(-1, 2, size=n)
    return Workpiece(edges, np.maximum(degrees, 0), rng(seed), other)


def state(graph: Workpiece) -> dict[int, set[Pair]]:
    """Pairs by their kind, in the numbers of the workpiece; fails if lists, table and kinds differ."""
    found: dict[int, set[Pair]] = {KEPT: set(), LOST: set(), ADDED: set()}
    for pair in np.flatnonzero(graph.graph.kind != FREE).tolist():
        found[int(graph.graph.kind[pair])].add(frozenset(graph.graph.ends[pair].tolist()))
        at = alternating_rows.slot_of(graph.graph, *graph.graph.ends[pair].tolist())
        assert graph.graph.table[at] == pair
    assert np.count_nonzero(graph.graph.table >= 0) == sum(map(len, found.values()))
    assert graph.graph.free[-1] == np.count_nonzero(graph.graph.kind == FREE)
    for v in range(graph.n):
        for kind, pairs in found.items():
            near, half, last = [], int(graph.graph.first[v, kind]), -1
            while half >= 0:
                assert graph.graph.ends[half >> 1, half & 1] == v
                assert graph.graph.chain[half, 1] == last
                near.append(int(graph.graph.ends[half >> 1, 1 - (half & 1)]))
                half, last = int(graph.graph.chain[half, 0]), half
            assert sorted(near) == sorted(w for pair in pairs if v in pair for w in pair - {v})
    return found


def lack_of(graph: Workpiece, target: npt.NDArray[np.int64], found: dict[int, set[Pair]]) -> None:
    """What vertices lack is what their edges say."""
    edges = edges_of(found[KEPT] | found[ADDED])
    assert (graph.graph.lack == target - degrees_of(edges, graph.n)).all()


@given(two_graphs(), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=40))
@settings(max_examples=inputs(200), deadline=None)
def test_pairs_are_put_and_taken(two: tuple[int, Edges, Edges], flips: list[tuple[int, int]]) -> None:
    n, edges, other = two
    graph = Workpiece(edges, np.full(n, max(n - 1, 0)), rng(), other)
    found = state(graph)
    originals = found[KEPT] | found[LOST]
    there = found[KEPT] | found[ADDED]
    for a, b in flips:
        if a == b or max(a, b) >= n:
            continue
        pair = frozenset((a, b))
        if pair in there:
            number = graph.graph.table[alternating_rows.slot_of(graph.graph, a, b)]
            alternating_rows.take(graph.graph, int(number))
        else:
            alternating_rows.put(graph.graph, a, b)
        there ^= {pair}
        assert state(graph) == {KEPT: there & originals, LOST: originals - there, ADDED: there - originals}
        lack_of(graph, np.full(n, n - 1), state(graph))


def short_rows(graph: Workpiece, found: dict[int, set[Pair]], u: int, cost: int) -> bool:
    """Whether there is a row of one pair or of three from u that costs no more, of any pairs."""
    n, lack = graph.n, graph.graph.lack.tolist()
    there = found[KEPT] | found[ADDED]
    sign = 1 if lack[u] > 0 else -1
    price = dict.fromkeys(found[KEPT], 1) | dict.fromkeys(found[LOST], -1)
    for length in (1, 3):
        for rest in permutations([v for v in range(n) if v != u] + ([u] if length == 3 else []), length):
            row = [u, *rest]
            pairs = [frozenset(pair) for pair in pairwise(row)]
            if any(len(pair) < 2 for pair in pairs) or len(set(pairs)) < length:
                continue
            fits = all((pair in there) == ((i % 2 == 0) == (sign < 0)) for i, pair in enumerate(pairs))
            ends = lack[row[-1]] * sign > (1 if row[-1] == u else 0)
            levels = [0]
            for pair in pairs:
                levels.append(max(levels[-1] + price.get(pair, 0), 0))
            if fits and ends and max(levels) <= cost:
                return True
    return False


@given(two_graphs(most=7), st.integers(0, 5), st.integers(0, 2))
@settings(max_examples=inputs(300), deadline=None)
def test_rows_mend_both_ends(two: tuple[int, Edges, Edges], seed: int, cost: int) -> None:
    n, edges, other = two
    graph = begun(n, edges, other, seed)
    before = state(graph)
    target = graph.graph.lack + degrees_of(edges_of(before[KEPT] | before[ADDED]), n)
    for u in np.flatnonzero(graph.graph.lack).tolist():
        if graph.graph.lack[u] == 0:  # mended by a row from another
            continue
        lack = graph.graph.lack.copy()
        lost = len(before[LOST])
        there = short_rows(graph, before, u, cost)
        alternating_rows.mend_all(graph.graph, graph._scratch(cost), np.array([u]), 1, cost, cost, True)
        row = bool((graph.graph.lack != lack).any())
        before = state(graph)
        lack_of(graph, target, before)
        assert row or not there
        rows = (np.abs(lack).sum() - np.abs(graph.graph.lack).sum()) // 2
        assert row == (rows > 0)
        assert len(before[LOST]) - lost <= cost * rows


@given(two_graphs(), st.integers(0, 5))
@settings(max_examples=inputs(200), deadline=None)
def test_original_edges_come_back(two: tuple[int, Edges, Edges], seed: int) -> None:
    n, edges, other = two
    graph = Workpiece(edges, degrees_of(other, n), rng(seed), other)
    lost = len(state(graph)[LOST])
    graph.restore(-1)
    assert len(state(graph)[LOST]) == lost
    graph.restore(1_000_000)
    after = state(graph)
    assert not graph.graph.lack.any()
    lack_of(graph, degrees_of(other, n)[graph.vertices], after)
    assert len(after[LOST]) <= lost


@given(two_graphs(), st.integers(0, 5))
@settings(max_examples=inputs(200), deadline=None)
def test_mixing_keeps_degrees_and_original_edges(two: tuple[int, Edges, Edges], seed: int) -> None:
    n, edges, other = two
    graph = Workpiece(edges, degrees_of(other, n), rng(seed), other)
    found = state(graph)
    added = np.flatnonzero(graph.graph.kind == ADDED)
    if not len(added):
        return
    one, two_ = rng(seed).choice(added, (2, 20))
    turn = rng(seed).random(20) < 0.5
    pairs = {pair: tuple(graph.graph.ends[pair].tolist()) for pair in added.tolist()}
    taken = set().union(*found.values())
    for p, q, turned in zip(one.tolist(), two_.tolist(), turn.tolist(), strict=True):
        (a, b), (c, d) = pairs[p], pairs[q][::-1] if turned else pairs[q]
        new = {frozenset((a, c)), frozenset((b, d))}
        if len({a, b, c, d}) == 4 and not new & taken:
            taken = (taken - {frozenset((a, b)), frozenset((c, d))}) | new
            pairs[q], pairs[p] = tuple(sorted((a, c))), tuple(sorted((b, d)))
    alternating_rows.mix(graph.graph, one, two_, turn)
    after = state(graph)
    assert after == {**found, ADDED: {frozenset(pair) for pair in pairs.values()}}
