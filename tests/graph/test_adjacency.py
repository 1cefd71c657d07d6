"""Adjacency for the enumeration of subgraphs, against the same arrays made of sorted keys of pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base import memory
from kgreason.base.errors import AnonymizationError
from kgreason.graph.generators import erdos_renyi, scale_free
from kgreason.graph.induced.situations import Cells, Ties
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.graph.sorted_keys import looked_up, row_numbers
from kgreason.graph.subgraphs import ordered_adjacency
from kgreason.graph.subgraphs.ordered_adjacency import Adjacency, Ints, ordered_pairs, undirected
from tests.examples import inputs
from tests.graphs import build, graphs


def pairs_of(graph: KnowledgeGraph) -> Ints:
    """Pairs u < v with an edge, as u n + v."""
    u, v = np.divmod(ordered_pairs(graph)[0], max(graph.n, 1))
    return np.unique((np.minimum(u, v) * graph.n + np.maximum(u, v))[u != v])


def twin(graph: KnowledgeGraph, cells: Ties | None = None, *, plain: bool = False) -> tuple[np.ndarray, ...]:
    """Arrays of an adjacency."""
    pairs, (keys, kinds), n = pairs_of(graph), ordered_pairs(graph), max(graph.n, 1)
    u, v = np.divmod(pairs, n)
    forth, back = looked_up(keys, kinds, pairs), looked_up(keys, kinds, v * n + u)
    one, other = [forth, back], [back, forth]
    colours = [looked_up(keys, kinds, np.arange(graph.n) * (n + 1))]
    if cells is not None:
        owner = np.repeat(np.arange(graph.n), np.diff(cells.indptr))
        tie = looked_up(owner * n + cells.neighbour, cells.tie, pairs)
        one.append(tie)
        other.append(cells.mirror[tie])
        colours.append(cells.loop)
    ties = 1 + row_numbers([np.concatenate(column) for column in zip(one, other, strict=True)])
    colour = row_numbers(colours)
    if plain:
        ties, colour = np.ones_like(ties), np.zeros_like(colour)
    ends, others = np.concatenate([v, u]), np.concatenate([u, v])
    degree = np.bincount(ends, minlength=graph.n)
    original = np.argsort(-degree, kind="stable")
    rank = np.argsort(original)
    order = np.lexsort((rank[others], rank[ends]))
    indptr = np.append(0, np.cumsum(degree[original]))
    return original, indptr, rank[others][order], ties[order], colour[original]


def agrees(found: Adjacency, expected: tuple[np.ndarray, ...]) -> None:
    arrays = found.original, found.indptr, found.neighbour, found.tie, found.colour
    for array, wanted, kind in zip(
        arrays, expected, ("int64", "int64", "int32", "int32", "int32"), strict=True
    ):
        assert array.dtype == kind
        np.testing.assert_array_equal(array, wanted)
    _, _, _, ties, colours = expected
    assert found.bits == int(ties.max(initial=1)).bit_length()
    assert found.low == int(colours.max(initial=0)).bit_length()


@pytest.fixture(params=[1 << 14, 3])
def batch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few neighbours at once, fewer than some vertices have."""
    monkeypatch.setattr(ordered_adjacency, "_BATCH", request.param)


@pytest.mark.usefixtures("batch")
@settings(max_examples=inputs(60), deadline=None)
@given(graphs(), st.booleans())
def test_adjacency_is_that_of_sorted_pairs(graph: KnowledgeGraph, seen: bool) -> None:
    agrees(Adjacency.of(graph), twin(graph))
    agrees(Adjacency.plain(graph), twin(graph, plain=True))
    weight = graph.relations["own"].weight
    assert weight is not None
    ties = Ties.of(graph, {"own": Cells.between(weight, np.array([0.25, 0.5])[: 1 + seen])})
    agrees(Adjacency.of(graph, ties), twin(graph, ties))


@settings(max_examples=inputs(60), deadline=None)
@given(graphs())
def test_neighbours_are_those_of_sorted_pairs(graph: KnowledgeGraph) -> None:
    u, v = np.divmod(pairs_of(graph), max(graph.n, 1))
    keys = np.sort(np.concatenate([u * graph.n + v, v * graph.n + u]))
    indptr, neighbours = undirected(graph)
    assert indptr.tolist() == np.searchsorted(keys, np.arange(graph.n + 1) * graph.n).tolist()
    assert neighbours.tolist() == (keys % max(graph.n, 1)).tolist()


def test_long_rows_are_sorted() -> None:
    graph = scale_free(3_000, 1.5, np.random.default_rng(1))
    agrees(Adjacency.of(graph), twin(graph))


@pytest.mark.parametrize("n", [0, 1, 3])
def test_graphs_without_edges(n: int) -> None:
    graph = build(n, [])
    agrees(Adjacency.of(graph), twin(graph))
    assert [a.tolist() for a in undirected(graph)] == [[0] * (n + 1), []]
    bare = KnowledgeGraph(graph.labels, {})
    assert Adjacency.of(bare).indptr.tolist() == [0] * (n + 1)


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(most=12, edges=40), st.integers(1, 5))
def test_greater_neighbours_and_steps(graph: KnowledgeGraph, x: int) -> None:
    found = Adjacency.plain(graph)
    owner = np.repeat(np.arange(graph.n), np.diff(found.indptr))
    degree = np.bincount(owner, minlength=graph.n)
    assert found.greater.tolist() == np.bincount(owner[found.neighbour > owner], minlength=graph.n).tolist()
    assert found.steps(x) == ((degree[owner] + degree[found.neighbour]) ** max(x - 2, 0)).sum() / 2


def test_vertices_beyond_32_bits_are_refused() -> None:
    none = np.empty(0, dtype=np.int64)
    labels = np.broadcast_to(np.array("", dtype=object), 2**31)
    graph = KnowledgeGraph(labels, {"own": Relation(none, none)})
    with pytest.raises(
        AnonymizationError, match="the graph has 2,147,483,648 vertices, more than 2,147,483,647"
    ):
        Adjacency.plain(graph)


def test_memory_is_claimed_before_it_is_filled() -> None:
    graph = erdos_renyi(20_000, 100_000, np.random.default_rng(1))
    with (
        memory.limited(memory.held()),
        pytest.raises(memory.Exhausted, match="more are needed, the limit is"),
    ):
        Adjacency.of(graph)
