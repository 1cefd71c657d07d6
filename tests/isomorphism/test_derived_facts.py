"""False facts to expect of derived edges, against the rules evaluated with an edge that derives it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.graph.facts import derived_edges
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.isomorphism.anonymizers.augmentation import Augmentation
from kgreason.isomorphism.anonymizers.derived_facts import NEW, DerivedFacts, Pairs
from kgreason.isomorphism.anonymizers.natural_cover import Cover, Lack
from kgreason.isomorphism.anonymizers.template_hosts import HostSearch, Planned
from kgreason.language.check.program_checker import load_text
from tests.examples import inputs
from tests.graphs import build
from tests.isomorphism.test_kguard_published import RULES

STRONG = load_text('@edge("own"). @edge("knows"). @derived("strong"). strong(X,Y) :- own(X,Y,W), W > 0.5.')


def groups(parents: list[int]) -> list[tuple[int, int, float]]:
    """Shares of a group of companies: each has the majority of those whose parent it is; -1: no parent."""
    return [(parent, v, 0.9) for v, parent in enumerate(parents) if parent >= 0]


def controls(n: int, shares: list[tuple[int, int, float]]) -> set[tuple[int, int]]:
    source, target = derived_edges(build(n, shares), RULES)["control"]
    return set(zip(source.tolist(), target.tolist(), strict=True))


@st.composite
def forests(draw: st.DrawFn) -> list[int]:
    n = draw(st.integers(2, 9))
    return [draw(st.integers(-1, v - 1)) for v in range(n)]


@settings(max_examples=inputs(60), deadline=None)
@given(forests(), st.data())
def test_expected_false_facts_are_those_that_the_rules_derive(
    parents: list[int], data: st.DataObject
) -> None:
    n, shares = len(parents), groups(parents)
    facts = DerivedFacts(build(n, shares), RULES)
    before = controls(n + 2, shares)
    # the vertices n and n + 1 are new ones
    u, v = data.draw(st.permutations(range(n + 2)))[:2]
    more = len(controls(n + 2, [*shares, (u, v, 0.9)]) - before)
    if not any(
        parent >= 0 and parents[parent] >= 0 for parent in parents
    ):  # nothing shows that control composes
        assert facts.expected("control", NEW if u >= n else u, into=False)[NEW if v >= n else v] in (0, 1)
        return
    assert facts.expected("control", NEW if u >= n else u, into=False)[NEW if v >= n else v] == more
    assert facts.expected("control", NEW if v >= n else v, into=True)[NEW if u >= n else u] == more


def test_facts_that_do_not_compose() -> None:
    facts = DerivedFacts(build(4, [(0, 1, 0.9), (1, 2, 0.9)]), STRONG)
    assert facts.expected("strong", 2, into=False)[:4].tolist() == [1, 1, 0, 1]
    assert facts.expected("strong", 0, into=False)[:4].tolist() == [0, 0, 1, 1]
    edges = np.zeros((3, 3), dtype=np.bool_)
    edges[[0, 1], [1, 2]] = True
    assert (facts.joined("strong", edges) == edges).all()


def test_facts_that_compose_join_in_templates() -> None:
    facts = DerivedFacts(build(3, groups([-1, 0, 1])), RULES)
    edges = np.zeros((4, 4), dtype=np.bool_)
    edges[[0, 1, 2], [1, 2, 0]] = True
    wanted = np.zeros((4, 4), dtype=np.bool_)
    wanted[:3, :3] = ~np.eye(3, dtype=np.bool_)
    assert (facts.joined("control", edges) == wanted).all()


def test_half_of_the_facts_compose() -> None:
    half = Pairs.of(np.array([0, 1, 1, 0]), np.array([1, 2, 3, 2]), 4)
    assert half.composed == 0.5
    assert Pairs.of(np.empty(0, np.int64), np.empty(0, np.int64), 0).composed == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_hosts_are_vertices_that_derive_little(seed: int) -> None:
    """An edge that derives control is put on two companies outside groups."""
    n, rng = 40, np.random.default_rng(seed)
    parents = [-1] + [0] * 9 + [-1, 10, 11, 12, 13] + [-1] * 25
    rest = [(v, v + 1, 0.2) for v in range(20, 38, 2)]
    graph = build(n, [*groups(parents), *rest])
    augmentation = Augmentation(graph, 2, RULES.incoming_sums, rng, symmetric=False)
    cover = Cover(graph, InducedReasoner(graph, RULES), 2, None, 1, rng)
    lack = Lack(np.array([[0, 1]]), np.array([0]), np.array([1]))
    cover.rely(lack)
    own = Relation(np.array([0]), np.array([1]), np.array([0.05]))
    derived = np.zeros((1, 2, 2), dtype=np.bool_)
    derived[0, 0, 1] = True
    template = Planned(
        np.empty((2, 2, 2)),
        KnowledgeGraph(np.array(["0", "1"], dtype=object), {"own": own}),
        {(2, 0): np.arange(2)},
        {(2, 0): derived},
    )
    facts = DerivedFacts(graph, RULES)
    found = HostSearch(augmentation, [(cover, lack)], rng, facts, 10.0).choose(template)
    assert found is not None
    source, target = found.hosts.tolist()
    assert facts.expected("control", source, into=False)[target] <= 1
