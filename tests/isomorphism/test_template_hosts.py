"""Hosts and degrees of a copy: it serves all lacking subgraphs, and undoes nothing that images did before."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import inf

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.graph.generators import erdos_renyi, scale_free
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.isomorphism.anonymizers import forbidden_degrees
from kgreason.isomorphism.anonymizers.augmentation import Augmentation
from kgreason.isomorphism.anonymizers.forbidden_degrees import ForbiddenDegrees
from kgreason.isomorphism.anonymizers.natural_cover import Cover, Lack
from kgreason.isomorphism.anonymizers.template_hosts import Embedding, HostSearch, Planned
from tests.examples import inputs
from tests.graphs import build
from tests.isomorphism.test_kguard_published import RULES

X = 3


def drafted(graph: KnowledgeGraph, seed: int) -> tuple[Augmentation, Cover, Lack]:
    """An augmentation, and the subgraphs that lack images, each two of them, as if there were no natural ones."""
    rng = np.random.default_rng(seed)
    augmented = Augmentation(graph, X, RULES.incoming_sums, rng, symmetric=False)
    cover = Cover(graph, InducedReasoner(graph, RULES), X, None, 2, rng)
    some = np.flatnonzero(rng.random(len(cover.classes)) < 0.5)
    some = some[np.argsort(cover.classes[some], kind="stable")]
    lack = Lack(cover.members[some], cover.classes[some], np.full(len(some), 2))
    cover.rely(lack)
    return augmented, cover, lack


def planned(cover: Cover, lack: Lack) -> Planned:
    """A template in which the members of successive classes share a vertex."""
    classes = np.unique(lack.classes)
    t = 2 * len(classes) + 1
    places = {(X, int(c)): np.arange(2 * i, 2 * i + 3) for i, c in enumerate(classes)}
    ends = np.array(list(pairwise(range(t))), dtype=np.int64).reshape(-1, 2).T
    own = Relation(ends[0].copy(), ends[1].copy(), np.full(t - 1, 0.001))
    return Planned(
        np.empty((t, t, 2)), KnowledgeGraph(np.arange(t).astype(str).astype(object), {"own": own}), places
    )


def chosen(
    augmented: Augmentation, cover: Cover, lack: Lack, template: Planned, seed: int, most: float = inf
) -> Embedding:
    """The hosts that a search chooses."""
    found = HostSearch(augmented, [(cover, lack)], np.random.default_rng(seed)).choose(template, most)
    assert found is not None
    return found


def stood(augmented: Augmentation, choice: Embedding) -> tuple[np.ndarray, np.ndarray]:
    """Put a copy where it was chosen to stand; its vertices, and the degrees of all vertices then."""
    vertices = choice.hosts.copy()
    vertices[vertices < 0] = augmented.add_vertices(int((vertices < 0).sum()))
    degrees = np.stack([augmented.inner, augmented.outer])
    degrees[:, vertices] = choice.degrees
    return vertices, degrees


def serves(image: np.ndarray, member: np.ndarray, degrees: np.ndarray) -> bool:
    """Whether one is an image of the other, apart from their class."""
    return not set(image) & set(member) and not (degrees[:, image] == degrees[:, member]).any()


def check_distances(augmented: Augmentation, template: Planned, choice: Embedding) -> None:
    """Hosts that an edge joins are X or more apart, others of one member are not adjacent."""
    near = nx.Graph(zip(*(ends.tolist() for ends in augmented.graph.ends), strict=True))
    near.add_edges_from(zip(*(ends.tolist() for ends in augmented.ties), strict=True))
    ends = {frozenset(pair) for pair in zip(*template.graph.ends, strict=True)}
    for member in template.members.values():
        for u, v in combinations(member.tolist(), 2):
            a, b = int(choice.hosts[u]), int(choice.hosts[v])
            if min(a, b) >= 0 and a in near and b in near and nx.has_path(near, a, b):
                least = X if frozenset((u, v)) in ends else 2
                assert nx.shortest_path_length(near, a, b) >= least


@settings(max_examples=inputs(40), deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_a_copy_serves_all_that_lack(seed: int, economic: bool) -> None:
    rng = np.random.default_rng(seed)
    graph = scale_free(60, 3.0, rng, economic=True) if economic else erdos_renyi(40, 60, rng)
    augmented, cover, lack = drafted(graph, seed)
    if not len(lack.members):
        return
    template = planned(cover, lack)
    copies: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(2):  # the second leaves what the first one does as it is
        choice = chosen(augmented, cover, lack, template, seed)
        check_distances(augmented, template, choice)
        vertices, degrees = stood(augmented, choice)
        assert len(set(vertices)) == len(vertices)
        old = np.stack([augmented.inner, augmented.outer])[:, vertices]
        assert (degrees[:, vertices] >= old).all()
        copies.append((vertices, degrees))
        for image, _ in copies:
            for member, c in zip(lack.members, lack.classes.tolist(), strict=True):
                assert serves(image[template.members[X, c]], member, degrees)
        augmented.add_copy(vertices.tolist())
        augmented.promise(vertices, *(degrees - np.stack([augmented.inner, augmented.outer]))[:, vertices])
        keys = list(template.members)
        cover.add(vertices[np.stack([template.members[key] for key in keys])], np.array([c for _, c in keys]))
    first, second = (vertices for vertices, _ in copies)
    for place in template.members.values():
        assert serves(first[place], second[place], degrees)


def test_hosts_have_room_for_weights() -> None:
    graph = build(8, [(0, 1, 0.9), (2, 3, 0.9), (4, 5, 0.9), (6, 7, 0.1)])
    augmented = Augmentation(graph, 2, {"own": 1.0}, np.random.default_rng(0), symmetric=False)
    cover = Cover(graph, InducedReasoner(graph, RULES), 2, None, 1, np.random.default_rng(0))
    own = Relation(np.array([0]), np.array([1]), np.array([0.6]))
    template = Planned(
        np.empty((2, 2, 2)),
        KnowledgeGraph(np.array(["0", "1"], dtype=object), {"own": own}),
        {(2, 0): np.arange(2)},
    )
    lack = Lack(np.array([[0, 1]]), np.array([0]), np.array([1]))
    cover.rely(lack)
    for seed in range(20):
        host = int(chosen(augmented, cover, lack, template, seed).hosts[1])
        assert host not in (1, 3, 5)


def test_apart_there_are_no_hosts() -> None:
    graph = scale_free(40, 3.0, np.random.default_rng(0))
    augmented, cover, lack = drafted(graph, 0)
    template = planned(cover, lack)
    augmented.keep_degrees = True
    assert (chosen(augmented, cover, lack, template, 0).hosts < 0).all()
    augmented.keep_degrees = False
    assert (chosen(augmented, cover, lack, template, 0).hosts >= 0).any()


@pytest.mark.parametrize("seed", range(5))
def test_a_copy_costs_less_than_another(seed: int) -> None:
    augmented, cover, lack = drafted(scale_free(60, 3.0, np.random.default_rng(seed)), seed)
    template = planned(cover, lack)
    first = chosen(augmented, cover, lack, template, seed)
    assert np.array_equal(
        chosen(augmented, cover, lack, template, seed, first.cost + 0.5).degrees, first.degrees
    )
    for most in (first.cost, first.cost / 2):
        search = HostSearch(augmented, [(cover, lack)], np.random.default_rng(seed))
        assert search.choose(template, most) is None


def test_ends_of_a_path_may_be_near_each_other() -> None:
    star = [(0, v, 0.1) for v in range(1, 12)]
    graph = build(15, [*star, (12, 13, 0.1), (13, 14, 0.1)])
    augmented, cover, _ = drafted(graph, 0)
    lack = Lack(np.array([[12, 13, 14]]), np.array([0]), np.array([2]))
    cover.rely(lack)
    path = Relation(np.array([0, 1]), np.array([1, 2]), np.array([0.01, 0.01]))
    template = Planned(
        np.empty((3, 3, 2)),
        KnowledgeGraph(np.arange(3).astype(str).astype(object), {"own": path}),
        {(X, 0): np.arange(3)},
    )
    ends = [chosen(augmented, cover, lack, template, seed).hosts[[0, 2]] for seed in range(20)]
    assert any((pair >= 0).all() and (pair < 12).all() for pair in ends)


def test_what_would_hurt() -> None:
    graph = build(6, [(0, 1, 0.5), (2, 3, 0.5), (4, 5, 0.5)])
    augmented = Augmentation(graph, 2, {}, np.random.default_rng(0), symmetric=False)
    cover = Cover(graph, InducedReasoner(graph, RULES), 2, None, 1, np.random.default_rng(0))
    cover.rely(Lack(np.array([[0, 1]]), np.array([0]), np.array([1])))
    cover.add(np.array([[2, 3]]), np.array([0]))
    augmented.promise(np.array([2, 3]), np.array([4, 0]), np.array([0, 7]))
    none = Lack(np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    forbidden = ForbiddenDegrees.of((augmented.inner, augmented.outer), [(cover, none)], np.arange(6))

    def allowed(vertex: int, inner: int, outer: int) -> bool:
        return forbidden.first_allowed(np.array([vertex]), (np.array([inner]), np.array([outer]))) == vertex

    assert not allowed(0, 4, 2)
    assert not allowed(1, 2, 7)
    assert allowed(0, 5, 7)
    assert allowed(4, 4, 1)  # relies on nothing
    augmented.forbidden = forbidden
    assert not augmented.may_have(0, 4, 2)
    assert augmented.may_have(0, 5, 7)
    augmented.add_copy([2, 3])
    assert not augmented.may_have(2, 9, 9)  # serves as an image
    for _ in range(4):
        augmented.tie_to_partner(4, incoming=True)
    assert not {2, 3} & set(augmented.ties[0].tolist())  # they serve as an image


@settings(max_examples=inputs(20), deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_forbidden_degrees_against_plain_sets(seed: int, some: bool) -> None:
    rng = np.random.default_rng(seed)
    graph = erdos_renyi(12, 18, rng)
    augmented, cover, lack = drafted(graph, seed)
    for number in np.unique(cover.classes)[:3].tolist():
        cover.add(rng.permutation(12)[None, :X], np.array([number]))
    degrees = augmented.inner, augmented.outer
    vertices = rng.permutation(12)[: 7 if some else 12]
    found = ForbiddenDegrees.of(degrees, [(cover, lack)], vertices)
    at = {int(v): i for i, v in enumerate(vertices)}
    pairs = set()
    assert set(found.first) == {(X, int(c)) for c in (*lack.classes, *cover.made[1])}
    for (_, c), first in found.first.items():
        for kinds, (members, classes) in zip(
            (found.lacking, found.images), ((lack.members, lack.classes), cover.made), strict=True
        ):
            for p in range(X):
                for phi in range(2):
                    expected = {int(degrees[phi][v]) for v in members[classes == c][:, p]}
                    assert set(np.flatnonzero(kinds[phi, first + p]).tolist()) == expected
        inside = {at[v] for v in lack.members[lack.classes == c].ravel().tolist() if v in at}
        assert found.within[X, c].tolist() == sorted(inside)
        pairs |= {
            (at[v], first + p) for row in lack.of_class.get(c, []) for p, v in enumerate(row) if v in at
        }
    assert list(zip(found.vertex.tolist(), found.position.tolist(), strict=True)) == sorted(pairs)
    wanted = [rng.integers(0, 4, len(vertices)) for _ in range(2)]
    order = rng.permutation(len(vertices))
    bad = {
        v
        for v, position in zip(found.vertex.tolist(), found.position.tolist(), strict=True)
        if any(found.images[phi, position, wanted[phi][v]] for phi in range(2))
    }
    free = [v for v in order.tolist() if v not in bad]
    assert found.first_allowed(order, [degree[order] for degree in wanted]) == (free[0] if free else -1)


def test_high_degrees_are_not_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forbidden_degrees, "_DEGREES", (64, 8))
    graph = build(30, [(0, v, 0.01) for v in range(1, 30)])
    augmented, cover, lack = drafted(graph, 1)
    forbidden = ForbiddenDegrees.of((augmented.inner, augmented.outer), [(cover, lack)], np.arange(30))
    assert forbidden.lacking.shape[2] == 8
    choice = chosen(augmented, cover, lack, planned(cover, lack), 0)
    assert 0 not in choice.hosts
    assert (choice.degrees < 8).all()
