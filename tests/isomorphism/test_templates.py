"""Templates: the cheapest place of a member against all places, and what growing leaves alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.anonymizers.augmentation import EdgeIndex
from kgreason.isomorphism.anonymizers.templates import Example, Template, _order
from tests.examples import inputs
from tests.graphs import graphs
from tests.reference import least_addition

FULL = 0.9


def random_example(rng: np.random.Generator, x: int) -> Example:
    """Kinds and numbers of edges that agree, loops among them, and weights of those that come in."""
    kinds = rng.integers(0, 3, (x, x)) * (rng.random((x, x)) < 0.7)
    edges = np.array([0, 1, 2])[kinds]
    weights = np.where(edges > 0, rng.choice([0.0, 0.2, 0.5], (x, x)), 0.0)
    return Example(rng.permutation(20)[:x], kinds, edges, weights)


def random_template(rng: np.random.Generator, t: int) -> tuple[np.ndarray, np.ndarray]:
    known = rng.integers(-1, 3, (t, t))
    known[np.arange(t), np.arange(t)] = rng.integers(0, 2, t)
    return known, rng.choice([0.0, 0.3, 0.8], t)


@settings(max_examples=inputs(300), deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 4), st.integers(1, 3), st.sampled_from([0.5, 1.0, 2.0, 6.0]))
def test_the_cheapest_place(seed: int, t: int, x: int, vertex_cost: float) -> None:
    from kgreason.isomorphism.anonymizers.templates import cheapest

    rng = np.random.default_rng(seed)
    (known, incoming), example = random_template(rng, t), random_example(rng, x)
    expected = least_addition(
        known.tolist(), example.kinds.tolist(), example.edges.tolist(), example.weights.tolist(),
        incoming.tolist(), vertex_cost, FULL,
    )  # fmt: skip

    def placed(steps: int) -> tuple[float, np.ndarray]:
        room = np.zeros(x, np.int64), np.zeros(x + 1, np.int64), np.zeros(x + 1)
        best = np.full(x, 77, dtype=np.int64)
        found = cheapest(
            *(known, example.kinds, example.edges, example.weights.ravel(), incoming),
            *(rng.permutation(x), rng.permutation(t), vertex_cost, FULL, steps, *room, best),
        )
        return found, best

    found, best = placed(200_000)
    assert found == pytest.approx(expected)
    for steps in (0, 1, 5, 200_000):  # also what is found in few steps is a place, and costs what it says
        found, best = placed(steps)
        assert found >= expected - 1e-9
        assert cost(known, incoming, example, best, vertex_cost) == pytest.approx(found)


def cost(
    known: np.ndarray, incoming: np.ndarray, example: Example, place: np.ndarray, vertex_cost: float
) -> float:
    """What a place adds; it must be one."""
    old = place[place >= 0]
    assert len(set(old.tolist())) == len(old)
    total, sums = vertex_cost * float((place < 0).sum()), np.zeros(len(place))
    for a, u in enumerate(place):
        for b, v in enumerate(place):
            if u < 0 or v < 0 or known[u, v] < 0:
                total += int(example.edges[a, b])
                sums[b] += example.weights[a, b]
            else:
                assert known[u, v] == example.kinds[a, b]
    for b, v in enumerate(place):
        assert v < 0 or incoming[v] + sums[b] <= FULL + 1e-9 or not len(old)
    return total


@settings(max_examples=inputs(80), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([0.5, 2.0, 6.0]), st.booleans())
def test_growing_leaves_earlier_members_alone(seed: int, many: int, vertex_cost: float, apart: bool) -> None:
    rng = np.random.default_rng(seed)
    template = Template(rng, vertex_cost)
    examples = [random_example(rng, int(rng.integers(1, 5))) for _ in range(many)]
    places: list[np.ndarray] = []
    sums: dict[tuple[int, int], float] = {}
    for number, example in enumerate(examples):
        before = len(template)
        place = template.place(example, apart=apart and number % 2 == 1)
        fresh = place[place >= before]
        assert sorted(fresh.tolist()) == list(range(before, before + len(fresh)))
        assert len(set(place.tolist())) == len(place)
        if apart and number % 2 == 1:
            assert len(fresh) == len(place)
        template.add(example, place)
        places.append(place)
        assert len(template) == before + len(fresh)
        for a, u in enumerate(place.tolist()):
            for b, v in enumerate(place.tolist()):
                sums.setdefault((u, v), float(example.weights[a, b]))
        for v in place[place < before].tolist():
            assert sum(w for (_, target), w in sums.items() if target == v) <= FULL + 1e-9
        for earlier, where in zip(examples, places, strict=False):
            assert np.array_equal(template.kinds[where[:, None], where], earlier.kinds)
    held = np.zeros((len(template), len(template)), dtype=np.bool_)
    for where in places:
        held[where[:, None], where] = True
    assert np.array_equal(template.kinds >= 0, held)
    assert np.array_equal(template.origin[:, :, 0] >= 0, held)
    for u, v in zip(*np.nonzero(held), strict=True):
        first = next(i for i, where in enumerate(places) if u in where and v in where)
        example, where = examples[first], places[first].tolist()
        assert template.origin[u, v].tolist() == [
            example.member[where.index(u)],
            example.member[where.index(v)],
        ]


def test_equal_members_stand_in_one_place() -> None:
    rng = np.random.default_rng(0)
    template = Template(rng, 2.0)
    drawn = random_example(rng, 4)
    example = Example(drawn.member, drawn.kinds, drawn.edges, drawn.weights * 0)
    for _ in range(3):
        template.add(example, template.place(example))
    assert len(template) == 4


def test_full_vertices_are_not_shared() -> None:
    """Two edges into one vertex, of half its weight each: room for one."""
    kinds = np.array([[0, 1], [0, 0]])
    one, other = (
        Example(np.array(m), k, (k > 0).astype(np.int64), np.where(k > 0, w, 0.0))
        for m, k, w in (([0, 1], kinds, 0.5), ([2, 3], 2 * kinds, 0.5))
    )
    template = Template(np.random.default_rng(0), 100.0)
    for example in (one, other):
        template.add(example, template.place(example))
    assert len(template) == 3
    sources, targets = np.nonzero(template.kinds > 0)
    assert len(set(targets.tolist())) == len(sources) == 2


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_positions_follow_their_ties(seed: int, x: int) -> None:
    rng = np.random.default_rng(seed)
    tied = rng.random((x, x)) < 0.5
    tied |= tied.T
    order = _order(tied.tobytes(), len(tied)).tolist()
    assert sorted(order) == list(range(x))
    for i in range(1, x):
        most = max(int(tied[a, order[:i]].sum()) for a in order[i:])
        assert int(tied[order[i], order[:i]].sum()) == most


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(least=2), st.randoms(use_true_random=False))
def test_edges_between_vertices(graph: KnowledgeGraph, random) -> None:
    some = np.array(random.sample(range(graph.n), random.randint(1, graph.n)))
    pairs = np.array([(random.randrange(graph.n), random.randrange(graph.n)) for _ in range(6)])
    for name, between in EdgeIndex.of(graph).items():
        r = graph.relations[name]
        edges = list(zip(r.source.tolist(), r.target.tolist(), strict=True))
        number, row = between.rows(pairs[:, 0], pairs[:, 1])
        expected = [
            (i, e) for i, p in enumerate(pairs.tolist()) for e, uv in enumerate(edges) if list(uv) == p
        ]
        assert sorted(zip(number.tolist(), row.tolist(), strict=True)) == expected
        a, b, row = between.among(some)
        assert sorted(row.tolist()) == [e for e, (u, v) in enumerate(edges) if {u, v} <= set(some.tolist())]
        assert [(int(some[i]), int(some[j])) for i, j in zip(a, b, strict=True)] == [edges[e] for e in row]
