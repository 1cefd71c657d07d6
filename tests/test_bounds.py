"""Lower bounds and least additions, beside each other, the definition and KGUARD."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import kgreason
from kgreason.graph.generators import erdos_renyi
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.arguments import anonymizable
from kgreason.language.check.checked_program import CheckedProgram
from tests import definition
from tests.graphs import build

ROOT = Path(__file__).parents[1]
BY_HAND = {
    "reachability": definition.Rules(definition.reach),
    "control": definition.Rules(definition.control),
}


@pytest.fixture(scope="module")
def scripts() -> SimpleNamespace:
    """The two scripts, which stand beside each other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        import bounds
        import optimum

    return SimpleNamespace(bounds=bounds, optimum=optimum)


def rules_of(name: str) -> CheckedProgram:
    return anonymizable(kgreason.load(ROOT / "rules" / f"{name}.vada"))


def released(graph: KnowledgeGraph, edges: list[tuple[int, int, float]], new: int = 0) -> definition.Graph:
    """The graph with more edges, under labels that the definition takes as different."""
    own = graph.relations["own"]
    assert own.weight is not None
    rows = list(zip(own.source.tolist(), own.target.tolist(), own.weight.tolist(), strict=True)) + edges
    labels = tuple(f"r{v}" for v in range(graph.n + new))
    return definition.Graph(labels, frozenset(("own", *row) for row in rows))


def protects(graph: KnowledgeGraph, released: definition.Graph, name: str, k: int, x: int) -> bool:
    original = definition.Graph(
        tuple(map(str, graph.labels)), frozenset(e for e in released.edges if _old(graph, e))
    )
    connected = len(released.components()) == 1
    return connected and definition.images(original, released, range(graph.n), BY_HAND[name], k, x) == 1


def _old(graph: KnowledgeGraph, edge: definition.Edge) -> bool:
    own = graph.relations["own"]
    return bool(((own.source == edge[1]) & (own.target == edge[2])).any())


@pytest.mark.parametrize(
    ("name", "n", "m", "k", "x", "seed"),
    [
        ("reachability", 8, 9, 2, 2, 0),
        ("reachability", 8, 9, 2, 2, 2),
        pytest.param("reachability", 7, 7, 3, 2, 1, marks=pytest.mark.slow),
        pytest.param("reachability", 7, 8, 2, 3, 3, marks=pytest.mark.slow),
        ("control", 6, 6, 2, 3, 2),
        ("control", 10, 12, 2, 2, 0),
        pytest.param("control", 9, 10, 2, 2, 3, marks=pytest.mark.slow),
        pytest.param("control", 6, 6, 2, 3, 3, marks=pytest.mark.slow),
    ],
)
def test_bound_optimum_and_kguard_are_in_order(
    scripts: SimpleNamespace, name: str, n: int, m: int, k: int, x: int, seed: int
) -> None:
    graph, rules = scripts.optimum.random_graph(name, n, m, seed), rules_of(name)
    levels = scripts.optimum.LEVELS[name]
    found = scripts.optimum.least(graph, rules, k, x, levels, seconds=100.0)
    assert found.proven
    edges = [(u, v, levels[level]) for u, v, level in found.edges]
    assert protects(graph, released(graph, edges, found.vertices), name, k, x)
    mine, delta = scripts.optimum.added(graph, rules, k, x, "exact", seed)
    assert delta == 1
    assert scripts.bounds.lower_bound(graph, rules, k, x).additions <= found.additions <= mine


def test_the_optimum_is_that_of_trying_everything(scripts: SimpleNamespace) -> None:
    rules = rules_of("reachability")
    solved = 0
    for seed in range(6):
        graph = scripts.optimum.random_graph("reachability", 6, 6, seed)
        found = scripts.optimum.least(graph, rules, 2, 2, (0.1,), spares=0)
        joined = {frozenset(e) for e in zip(*(ends.tolist() for ends in graph.ends), strict=True)}
        free = [(u, v, 0.1) for u in range(6) for v in range(6) if u != v and frozenset((u, v)) not in joined]
        tried = (list(some) for count in range(4) for some in combinations(free, count))
        least = next(
            (len(e) for e in tried if protects(graph, released(graph, e), "reachability", 2, 2)), None
        )
        assert found.proven
        assert least == found.additions or (least is None and (found.additions or 4) > 3)
        solved += least is not None
    assert solved


def test_where_nothing_lacks_the_bound_is_0(scripts: SimpleNamespace) -> None:
    graph = erdos_renyi(60, 300, np.random.default_rng(1))
    found = scripts.bounds.lower_bound(graph, rules_of("reachability"), 2, 2)
    assert found == scripts.bounds.Bound(0, 0)


def test_components_must_be_joined_and_new_images_derive_false_facts(scripts: SimpleNamespace) -> None:
    """Each of the four edges into one vertex needs an image, which must be new, as there is no other edge."""
    star = build(5, [(v, 4, 0.2) for v in range(4)])
    found = scripts.bounds.lower_bound(star, rules_of("reachability"), 3, 2)
    assert found.false_facts == 2
    pairs = build(8, [(v, v + 1, 0.2) for v in range(0, 8, 2)])
    assert scripts.bounds.lower_bound(pairs, rules_of("reachability"), 2, 2).additions >= 3


def test_weights_that_are_no_levels_are_refused(scripts: SimpleNamespace) -> None:
    graph = build(4, [(0, 2, 0.3), (1, 2, 0.3), (0, 1, 0.6), (2, 3, 0.1)])  # 0 controls 2 by two minorities
    with pytest.raises(ValueError, match="something else from the levels"):
        list(scripts.optimum.facts(graph, rules_of("control"), 3, (0.01, 0.51), 0))
    with pytest.raises(ValueError, match="loops, parallel edges or weights below all levels"):
        list(scripts.optimum.facts(build(2, [(0, 0, 0.3)]), rules_of("control"), 2, (0.01, 0.51), 0))
