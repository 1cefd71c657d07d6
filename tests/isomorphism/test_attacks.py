"""Attackers against plain twins: candidates by trying all vertex sets, traits by networkx, Table 4 both ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations, pairwise, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import AnonymizationError, DataError, ReleaseError
from kgreason.graph.generators import erdos_renyi
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.graph.refinement import degrees, neighbourhoods, refined
from kgreason.isomorphism.attacks.attack_settings import PARTS, Part, World, induced, united
from kgreason.isomorphism.attacks.known_parts import (
    Means,
    candidates,
    draw_parts,
    implausibility,
    lasting,
    without_implausible,
)
from kgreason.isomorphism.attacks.known_vertices import fingerprints, hubs, propagate, vertex_candidates
from kgreason.isomorphism.attacks.twin_graphs import redrawn, rewired
from kgreason.isomorphism.utility.edge_detection import synthetic_edges
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import load_text
from kgreason.release.rates import Rate
from tests import naive
from tests.conftest import OWNERSHIP
from tests.examples import inputs
from tests.graphs import build, graphs, mirrored
from tests.reference import connected_sets

CONTROL = load_text("""
@node("company"). @edge("own"). @derived("control"). @derived("ultimate"). @output("control").
control(X,X) :- company(X).
control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.
controlled(Y) :- control(X,Y), X != Y.
ultimate(X,Y) :- control(X,Y), X != Y, not controlled(X).
""")
OTHER = load_text("""
@edge("own"). @derived("more").
more(X,Y) :- own(X,Y,V), own(X,Z,W), V > W.
more(X,Y) :- own(X,Y,W), W > 0.25.
""")
RULES = {"rules": CONTROL, "other": OTHER}
ROWS = {part.name: part for part in PARTS}
MANY = 1 << 30


# --- parts, by brute force ----------------------------------------------------------------------------------


def near(graph: KnowledgeGraph) -> list[set[int]]:
    found: list[set[int]] = [set() for _ in range(graph.n)]
    for u, v in zip(*map(np.ndarray.tolist, graph.ends), strict=True):
        if u != v:
            found[u].add(v)
            found[v].add(u)
    return found


def flat(graph: KnowledgeGraph) -> KnowledgeGraph:
    ones = {name: np.ones(len(r)) for name, r in graph.relations.items() if r.weight is not None}
    return graph.with_weights(ones).distinct()


def derived(graph: KnowledgeGraph, rules: CheckedProgram, vertices: Iterable[int]) -> set[tuple]:
    inside = set(vertices)
    facts: dict[str, list] = {p: [(v,) for v in sorted(inside)] for p in rules.nodes}
    for name, r in graph.relations.items():
        weights = r.weight if r.weight is not None else np.ones(len(r))
        facts[name] = [
            row
            for row in zip(r.source.tolist(), r.target.tolist(), weights.tolist(), strict=True)
            if set(row[:2]) <= inside
        ]
    found = naive.evaluate(rules, facts)
    return {(p, *row) for p in rules.derived for row in found.get(p, ())}


def ground(graph: KnowledgeGraph, vertices: Iterable[int]) -> Counter:
    inside = set(vertices)
    return Counter(
        (name, u, v)
        for name, r in graph.relations.items()
        for u, v in zip(r.source.tolist(), r.target.tolist(), strict=True)
        if {u, v} <= inside
    )


def moved(edges: Iterable[tuple], phi: dict[int, int]) -> list[tuple]:
    return [(p, phi[u], phi[v]) for p, u, v in edges]


def brute(world: World, part: Part, members: tuple[int, ...]) -> set[frozenset[int]]:
    """Candidates of a known part: all vertex sets and bijections are tried, and the naive evaluator reasons."""
    rules = RULES["other"] if part.sees == "other" else CONTROL
    known, released = world.known, world.released
    if not part.weighted and part.sees in {"rules", "other"}:
        known_facts, released_facts = flat(known), flat(released)
    else:
        known_facts, released_facts = known, released
    mine = derived(known_facts, rules, members)
    stay = set(lasting(CONTROL).derived)
    everything = derived(released, CONTROL, range(released.n)) if part.sees == "derived" else set()
    found = set()
    edges = ground(known, members)
    for place in connected_sets(near(released), len(members)):
        there = ground(released, place)
        for order in permutations(place):
            phi = dict(zip(members, order, strict=True))
            if Counter(dict(zip(moved(edges, phi), edges.values(), strict=True))) != there:
                continue
            if part.sees == "derived":
                fits = set(moved([d for d in mine if d[0] in stay], phi)) <= everything
            elif part.sees == "edges":
                fits = True
            else:
                fits = set(moved(mine, phi)) == derived(released_facts, rules, place)
            if fits:
                found.add(frozenset(place))
                break
    return found


@st.composite
def worlds(draw) -> World:
    """A known graph, a release that holds more edges or fewer, and a mapping."""
    known = draw(graphs(least=2, most=5, edges=8, second=False))
    extra = draw(st.integers(0, 2))
    n = known.n + extra
    truth = np.array(draw(st.permutations(range(n)))[: known.n])
    r = known.relations["own"]
    kept = draw(st.lists(st.sampled_from(range(len(r))), unique=True)) if len(r) else []
    new = draw(
        st.lists(
            st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.sampled_from([0.2, 0.6])), max_size=4
        )
    )
    old = [(int(truth[r.source[i]]), int(truth[r.target[i]]), float(r.weight[i])) for i in kept]
    return World(known, build(n, [*old, *new]), truth, known)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
@given(world=worlds(), size=st.integers(1, 3))
@settings(max_examples=inputs(25), deadline=None)
def test_candidates_are_those_of_brute_force(part: Part, world: World, size: int) -> None:
    members = connected_sets(near(world.known), size)
    if not members:
        return
    found = candidates(world, part, Means(RULES, MANY), np.array(members))
    expected = [brute(world, part, chosen) for chosen in members]
    assert found.sizes.tolist() == [len(e) for e in expected]
    true = [frozenset(world.truth[list(chosen)].tolist()) for chosen in members]
    assert found.right.tolist() == [t in e for t, e in zip(true, expected, strict=True)]
    assert found.total == len(connected_sets(near(world.released), size))


@given(world=worlds(), k=st.integers(2, 3))
@settings(max_examples=inputs(60), deadline=None)
def test_who_knows_less_has_more_candidates(world: World, k: int) -> None:
    found = kgreason.attack(
        *(world.known, world.released, world.truth, CONTROL), knowledge="part", known=2, k=k, x=2, seed=1
    )
    if not found.attacks:
        return
    rows = [found[f"part:{name}"] for name in ("edges", "weights+derived", "weights+rules") if world.known.m]
    for weak, strong in pairwise(rows):
        assert weak.runs["main"].found.value <= strong.runs["main"].found.value + 1e-12
    same = [found[f"part:{name}"] for name in ("edges", "edges+rules", "weights")]
    assert len({(a.runs["main"], a.promise.resisted) for a in same}) == 1


def test_a_release_with_too_many_places_gives_bounds() -> None:
    graph = erdos_renyi(60, 240, np.random.default_rng(1))
    world = World(graph, graph, np.arange(60), graph)
    members = draw_parts(graph, 3, 50, np.random.default_rng(2)).members
    part = ROWS["part:weights+rules"]
    whole = candidates(world, part, Means(RULES, MANY), members)
    some = candidates(world, part, Means(RULES, 500), members)
    assert whole.complete
    assert not some.complete
    assert 0 < some.total <= 500 < whole.total
    assert (some.sizes <= whole.sizes).all()
    assert (some.sizes >= 1).all()


def test_parts_are_connected_and_spread(ownership_graph: KnowledgeGraph) -> None:
    graph = erdos_renyi(300, 600, np.random.default_rng(3))
    drawn = draw_parts(graph, 4, 100, np.random.default_rng(1))
    assert not drawn.all
    beside = near(graph)
    for row in drawn.members.tolist():
        inside = nx.Graph([(u, v) for u in row for v in beside[u] & set(row)])
        assert len(inside) == 4
        assert nx.is_connected(inside)
    assert len(np.unique(drawn.members)) > 150
    few = draw_parts(ownership_graph, 3, 1000, np.random.default_rng(1))
    assert few.all
    assert sorted(map(tuple, few.members.tolist())) == connected_sets(near(ownership_graph), 3)


# --- Table 4 ------------------------------------------------------------------------------------------------


@pytest.fixture
def ownership_graph() -> KnowledgeGraph:
    return KnowledgeGraph.from_edges(OWNERSHIP, relation="own")


def attacked(result: kgreason.Anonymization, known, x, k: int, **more) -> kgreason.Attacks:
    return kgreason.attack(
        *(result.original, result.release.graph, result.mapping, CONTROL),
        other_rules=OTHER,
        knowledge="part",
        k=k,
        x=x,
        known=known,
        seed=1,
        **more,
    )


def test_klone_resists_every_row_and_size(ownership_graph: KnowledgeGraph) -> None:
    result = kgreason.anonymize(CONTROL, ownership_graph, method="klone", k=3, x=4, seed=5)
    found = attacked(result, (1, 2, 3, 5), range(1, 8), 3)
    assert len(found.attacks) == 4 * 8
    for attack in found.attacks:
        assert attack.promise.resists, (attack.knowledge, attack.size)
        assert not attack.promise.undecided
        assert attack.runs["main"].candidates[0] >= 3
        assert attack.promise.promised == (attack.knowledge != "part:weights+other")
    # the same attackers find something in the original: they have power
    assert found["part:weights+rules", 5].runs["unprotected"].unique.value == 0.4
    assert found["part:weights+rules", 5].runs["main"].unique.value == 0


@pytest.mark.slow
def test_kguard_resists_smaller_parts_if_the_rules_commute() -> None:
    rules = load_text('@edge("own"). @derived("major"). @output("major"). major(X,Y) :- own(X,Y,W), W > 0.5.')
    thresholds = "".join(f"over{i}(X,Y) :- own(X,Y,W), W > 0.{i}." for i in range(1, 10))
    other = load_text('@edge("own").' + "".join(f'@derived("over{i}").' for i in range(1, 10)) + thresholds)
    graph = erdos_renyi(60, 90, np.random.default_rng(1))
    result = kgreason.anonymize(rules, graph, k=2, x=3, trials=1, plans=1, seed=5)
    assert (result.holds, result.release.graph.n) == (True, pytest.approx(60, abs=20))  # KGUARD, not KLONE
    pair = result.original, result.release.graph, result.mapping
    found = kgreason.attack(
        *pair, rules, other_rules=other, knowledge="part", k=2, x=3, known=(2, 3, 5), targets=200, seed=1
    )
    for size in (2, 3):
        for part in PARTS:
            promise = found[part.name, size].promise
            assert promise.promised == (part.name != "part:weights+other")
            assert promise.resists or not promise.promised, (part.name, size)
    # other rules with weights, and larger parts, tell some places apart
    assert not found["part:weights+other", 3].promise.resists
    assert not found["part:weights+rules", 5].promise.resists
    assert not found["part:weights+rules", 5].promise.promised
    assert found.as_promised


@pytest.mark.slow
def test_kguard_resists_all_sizes_that_were_asked_for() -> None:
    graph = erdos_renyi(40, 70, np.random.default_rng(1))
    result = kgreason.anonymize(CONTROL, graph, k=2, x=range(2, 4), plans=1, seed=5)
    assert result.holds
    found = attacked(result, range(2, 6), range(2, 4), 2)
    for size in (2, 3):
        for part in PARTS:
            promise = found[part.name, size].promise
            assert promise.resists or part.name == "part:weights+other", (part.name, size)
    assert not found["part:weights+other", 3].promise.resists
    assert not found["part:weights+rules", 5].promise.resists


@pytest.mark.parametrize("k", [2, 3])
def test_all_parts_together_are_delta(ownership_graph: KnowledgeGraph, k: int) -> None:
    more = [*OWNERSHIP, ("Iltis", "Kranich", 0.9), ("Kranich", "Luchs", 0.6), ("Hase", "Kranich", 0.05)]
    released = KnowledgeGraph.from_edges([*more, ("Luchs", "Marder", 0.7)], relation="own")
    pair = ownership_graph, released, np.arange(7)
    delta = kgreason.verify(*pair, CONTROL, k=k, x=2).delta
    found = kgreason.attack(*pair, CONTROL, knowledge="part:weights+rules", k=k, x=2, known=2)
    promise = found["part:weights+rules"].promise
    assert (promise.resisted, promise.targets) == (delta.satisfied, delta.total)
    assert delta.satisfied < delta.total
    assert (delta.satisfied > 0) == (k == 2)


FIRST = [
    ("A", "B", 0.61),
    ("A", "C", 0.61),
    ("A", "E", 0.61),
    ("B", "D", 0.3),
    ("C", "D", 0.3),
    ("E", "D", 0.1),
]


def figure_3() -> tuple[KnowledgeGraph, KnowledgeGraph, dict[str, str]]:
    """Two structures of five vertices with the same ultimate controller, of which four vertices show it in one only.

    The second has an edge in and an edge out more at each vertex, but those are at vertices outside.
    """
    first = [(u.lower(), v.lower(), w + 0.01) for u, v, w in FIRST]
    second = [
        ("f", "g", 0.6),
        ("f", "h", 0.6),
        ("f", "i", 0.6),
        ("g", "l", 0.2),
        ("h", "l", 0.2),
        ("i", "l", 0.2),
    ]
    around = [edge for i, v in enumerate("fghil") for edge in ((f"p{i}", v, 0.1), (v, f"q{i}", 0.1))]
    joined = [(f"{side}{i}", f"{side}{i + 1}", 0.1) for side in "pq" for i in range(4)]
    original = KnowledgeGraph.from_edges(FIRST, relation="own")
    released = KnowledgeGraph.from_edges([*first, *second, *around, *joined], relation="own")
    return original, released, {v: v.lower() for v in "ABCDE"}


def test_smaller_parts_under_ultimate_controller_as_in_figure_3() -> None:
    pair = figure_3()
    verdict = kgreason.verify(*pair, CONTROL, k=2, x=5)
    assert verdict["images"].holds
    found = kgreason.attack(
        *pair, CONTROL, other_rules=OTHER, knowledge="part", k=2, x=5, known=(4, 5), seed=1
    )
    assert found["part:weights+rules", 5].promise.resists
    assert not found["part:weights+other", 5].promise.resists
    assert found["part:edges+other", 5].promise.resists
    smaller = found["part:weights+rules", 4]
    assert (smaller.promise.promised, smaller.promise.resists) == (False, False)
    assert smaller.runs["main"].unique.value > 0
    for name in ("edges", "edges+derived", "edges+rules", "weights", "weights+derived"):
        promise = found[f"part:{name}", 4].promise
        assert (promise.promised, promise.resists) == (True, True), name
    assert found.as_promised


def test_a_release_without_protection_is_broken(ownership_graph: KnowledgeGraph) -> None:
    found = kgreason.attack(
        *(ownership_graph, ownership_graph, np.arange(ownership_graph.n), CONTROL),
        knowledge="part:weights+rules",
        known=4,
        k=2,
    )
    assert not found.as_promised
    assert found.broken[0].runs["main"].unique.value == pytest.approx(3 / 13)
    assert found.broken[0].exposed[0].found == 1
    assert found.filtered.dropped == 0


@pytest.mark.parametrize("places", [3, 1 << 20])
def test_too_many_places_do_not_hide_that_a_release_is_without_protection(
    ownership_graph: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch, places: int
) -> None:
    monkeypatch.setattr("kgreason.isomorphism.attacks.panel.MOST_OCCURRENCES", places)
    pair = ownership_graph, ownership_graph, np.arange(ownership_graph.n)
    found = kgreason.attack(*pair, CONTROL, knowledge="part", known=4, k=3, x=4)
    assert found["part:weights+rules"].runs["main"].complete == (places > 3)
    for name in ("part:edges", "part:edges+rules", "part:weights+rules"):
        promise = found[name].promise
        assert (promise.promised, promise.state, promise.resists) == (True, "succeeds", False)
        assert promise.undecided == 0
    loose = found["part:edges+derived"].promise
    assert loose.state == ("undecided" if places == 3 else "succeeds")
    assert not loose.resists
    assert not found.as_promised


def test_too_many_places_leave_a_protected_release_protected(
    ownership_graph: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgreason.isomorphism.attacks.panel.MOST_OCCURRENCES", 3)
    result = kgreason.anonymize(CONTROL, ownership_graph, method="klone", k=3, x=3, seed=5)
    found = attacked(result, 3, 3, 3)
    assert not any(a.runs["main"].complete for a in found.attacks)
    assert {a.promise.state for a in found.attacks if a.promise.promised} == {"resists"}
    assert found.as_promised


def test_a_promised_attacker_of_whom_nothing_is_known_is_not_resisted(
    ownership_graph: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgreason.isomorphism.attacks.panel.MOST_OCCURRENCES", 3)
    pair = ownership_graph, ownership_graph, np.arange(ownership_graph.n)
    found = kgreason.attack(*pair, CONTROL, knowledge="part:edges+derived", known=4, k=3, x=4)
    assert found.broken == ()
    assert found.undecided == found.attacks
    assert not found.as_promised
    data = found.as_dict()
    assert (data["as_promised"], data["attacks"][0]["promise"]["state"]) == (False, "undecided")
    assert not data["attacks"][0]["promise"]["resists"]
    assert "UNDECIDED" in str(found)
    assert "BROKEN" not in str(found)


def test_nothing_is_promised_about_what_original_weights_derive() -> None:
    core = [("p", "q", 0.3), ("p", "z", 0.9), ("z", "q", 0.6), ("r", "s", 0.2)]
    fillers = [("z", "r", 0.1), ("s", "t", 0.1)]
    original = KnowledgeGraph.from_edges([("A", "B", 0.8)], relation="own", vertices=["A", "B", "C"])
    released = KnowledgeGraph.from_edges([*core, *fillers], relation="own")
    pair = original, released, {"A": "p", "B": "q", "C": "t"}
    verdict = kgreason.verify(*pair, CONTROL, k=2, x=range(1, 3))
    assert verdict.holds, str(verdict)
    found = kgreason.attack(
        *(*pair, CONTROL), knowledge="part", known=2, k=2, x=range(1, 3), weights="original"
    )
    for name in ("edges+derived", "weights+derived", "weights+rules"):
        assert not found[f"part:{name}"].promise.promised
    for name in ("edges", "edges+rules", "weights"):
        assert found[f"part:{name}"].promise.promised
    assert found["part:weights+derived"].promise.state == "succeeds"
    assert found.as_promised
    worst = kgreason.attack(*(*pair, CONTROL), knowledge="part", known=2, k=2, x=range(1, 3))
    assert all(attack.promise.promised and attack.promise.resists for attack in worst.attacks)


def test_strangers_have_the_weights_that_the_attacker_knows() -> None:
    edges = [(f"v{i}", f"v{(i + 1) % 8}") for i in range(8)]
    original = KnowledgeGraph.from_edges([(u, v, 0.8) for u, v in edges], relation="own")
    released = KnowledgeGraph.from_edges([(u, v, 0.3) for u, v in edges], relation="own")
    for weights, strangers in (("released", 8.0), ("original", 0.0)):
        found = kgreason.attack(
            *(original, released, np.arange(8), CONTROL),
            knowledge="part:weights+rules",
            known=2,
            weights=weights,
            seed=1,
        )
        assert found["part:weights+rules"].runs["control"].candidates == (strangers,) * 5
        assert found["part:weights+rules"].runs["main"].candidates == (strangers,) * 5


def test_who_knows_the_original_weights_may_be_misled() -> None:
    original = KnowledgeGraph.from_edges([("A", "B", 0.8), ("B", "C", 0.7)], relation="own")
    released = KnowledgeGraph.from_edges([("a", "b", 0.3), ("b", "c", 0.7)], relation="own")
    pair = original, released, {"A": "a", "B": "b", "C": "c"}
    options = {"knowledge": "part:weights+rules", "known": 2, "x": 2, "k": 2}
    worst = kgreason.attack(*pair, CONTROL, **options)["part:weights+rules"].runs["main"]
    assert (worst.found.value, worst.misled.value) == (1.0, 0.0)
    real = kgreason.attack(*pair, CONTROL, **options, weights="original")["part:weights+rules"].runs["main"]
    assert (real.found.value, real.misled.value) == (0.5, 0.5)


def test_edges_that_are_given_up_are_not_attacked() -> None:
    original = KnowledgeGraph.from_edges([("A", "B", 0.8), ("B", "C", 0.7)], relation="own")
    released = KnowledgeGraph.from_edges([("a", "b", 0.3), ("b", "d", 0.7), ("d", "c", 0.2)], relation="own")
    found = kgreason.attack(
        *(original, released, {"A": "a", "B": "b", "C": "c"}, CONTROL),
        knowledge="part",
        known=2,
        x=2,
        k=2,
        parts=np.array([0, 0, 1]),
    )
    assert found["part:edges"].runs["main"].targets == 1  # the other edge was between parts


# --- single vertices ----------------------------------------------------------------------------------------


def colours_by_dictionary(graph: KnowledgeGraph, rounds: int) -> list[object]:
    ties: dict[tuple[int, int], Counter] = {}
    for name, r in graph.relations.items():
        for u, v in zip(r.source.tolist(), r.target.tolist(), strict=True):
            ties.setdefault((u, v), Counter())[name, "out"] += 1
            ties.setdefault((v, u), Counter())[name, "in"] += 1
    colours: list[object] = [0] * graph.n
    for _ in range(rounds):
        colours = [
            (
                colours[v],
                tuple(sorted(str((sorted(t.items()), colours[w])) for (u, w), t in ties.items() if u == v)),
            )
            for v in range(graph.n)
        ]
    return colours


def partition(values: Iterable[object]) -> list[int]:
    numbers: dict[object, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]


@given(graph=graphs(), rounds=st.integers(0, 3))
@settings(max_examples=inputs(60), deadline=None)
def test_refinement_is_that_of_dictionaries(graph: KnowledgeGraph, rounds: int) -> None:
    assert partition(refined(graph, rounds).tolist()) == partition(colours_by_dictionary(graph, rounds))
    pairs = zip(graph.in_degree().tolist(), graph.out_degree().tolist(), strict=True)
    assert partition(degrees(graph).tolist()) == partition(pairs)


@given(graph=graphs(most=6, edges=18))
@settings(max_examples=inputs(60), deadline=None)
def test_neighbourhoods_are_isomorphic_where_they_agree(graph: KnowledgeGraph) -> None:
    found = neighbourhoods(graph)
    beside = near(graph)

    def ego(v: int) -> nx.DiGraph:
        inside = {v, *beside[v]}
        made = nx.DiGraph()
        made.add_nodes_from((u, {"centre": u == v}) for u in inside)
        pairs: dict[tuple[int, int], Counter] = {}
        for (name, a, b), count in ground(graph, inside).items():
            pairs.setdefault((a, b), Counter())[name] = count
        made.add_edges_from((a, b, {"kind": kind}) for (a, b), kind in pairs.items())
        return made

    egos = [ego(v) for v in range(graph.n)]
    for u, v in combinations(range(graph.n), 2):
        same = nx.is_isomorphic(
            *(egos[u], egos[v]),
            node_match=lambda a, b: a["centre"] == b["centre"],
            edge_match=lambda a, b: a["kind"] == b["kind"],
        )
        assert same == (found[u] == found[v])


@given(graph=graphs())
@settings(max_examples=inputs(25), deadline=None)
def test_fingerprints_are_distances(graph: KnowledgeGraph) -> None:
    directed = nx.DiGraph()
    directed.add_nodes_from(range(graph.n))
    directed.add_edges_from(zip(*map(np.ndarray.tolist, graph.ends), strict=True))
    best = hubs(graph, 2)
    ways = [
        nx.single_source_shortest_path_length(way, int(h))
        for h in best
        for way in (directed, directed.reverse())
    ]
    expected = [tuple(way.get(v, -1) for way in ways) for v in range(graph.n)]
    assert partition(fingerprints(graph, best[:, None]).tolist()) == partition(expected)


@given(world=worlds(), name=st.sampled_from(["degree", "neighbourhood", "refinement:1", "refinement:3"]))
@settings(max_examples=inputs(60), deadline=None)
def test_vertices_are_sought_by_what_is_known_of_them(world: World, name: str) -> None:
    tell = {"degree": degrees, "neighbourhood": neighbourhoods}.get(name) or (
        lambda graph: refined(graph, int(name[-1]))
    )
    traits = tell(united(world.known, world.released)).tolist()
    here, there = traits[: world.known.n], traits[world.known.n :]
    sizes, right = vertex_candidates(name, world, np.arange(world.known.n))
    assert sizes.tolist() == [there.count(trait) for trait in here]
    assert right.tolist() == [there[t] == trait for t, trait in zip(world.truth, here, strict=True)]


def noisy(graph: KnowledgeGraph, share: float, rng: np.random.Generator) -> KnowledgeGraph:
    r = graph.relations["own"]
    rows = rng.random(len(r)) >= share
    return replace(graph, relations={"own": Relation(r.source[rows], r.target[rows], r.weight[rows])})


def test_propagation_finds_a_noisy_copy_and_not_a_stranger() -> None:
    rng = np.random.default_rng(7)
    graph = erdos_renyi(200, 2400, rng)
    one, other = noisy(graph, 0.05, rng), noisy(graph, 0.05, rng)
    order = rng.permutation(200)
    r = other.relations["own"]
    hidden = replace(other, relations={"own": Relation(order[r.source], order[r.target], r.weight)})
    seeds = {v: int(order[v]) for v in range(15)}
    found = propagate(one, hidden, seeds)
    assert sum(order[v] == u for v, u in found.items()) > 190
    assert sum(order[v] != u for v, u in found.items()) < 5
    assert len(set(found.values())) == len(found)
    stranger = propagate(erdos_renyi(200, 2400, rng), hidden, seeds)
    assert sum(order[v] == u for v, u in stranger.items() if v not in seeds) < 10


def test_the_runs_tell_power_protection_and_population() -> None:
    rng = np.random.default_rng(2)
    graph = erdos_renyi(120, 700, rng)
    order = rng.permutation(120)
    r = graph.relations["own"]
    hidden = replace(graph, relations={"own": Relation(order[r.source], order[r.target], 1 - r.weight / 2)})
    found = kgreason.attack(
        *(graph, hidden, order, CONTROL), knowledge=["refinement:2", "seeds", "degree", "hubs"], seed=1
    )
    for name in ("refinement:2", "seeds", "hubs"):
        runs = found[name].runs
        assert runs["main"].found.value == runs["unprotected"].found.value > 0.9
        assert runs["control"].found.value < 0.1
        assert found[name].excess > 0.9
    assert found["degree"].runs["naive"].found.value == pytest.approx(1 / 120)
    assert found["seeds"].runs["main"].targets == 110
    assert found["degree"].runs["main"].found.low == found["degree"].runs["main"].found.value  # exact


# --- edges, twins, figures ----------------------------------------------------------------------------------


@given(graph=graphs(most=6, edges=12))
@settings(max_examples=inputs(40), deadline=None)
def test_detours_are_counted(graph: KnowledgeGraph) -> None:
    from kgreason.isomorphism.attacks.known_parts import _detours

    beside = near(graph)
    expected = []
    for u, v in zip(*map(np.ndarray.tolist, graph.ends), strict=True):
        two = len(beside[u] & beside[v]) if u != v else 0
        walks = [
            (a, b)
            for a in beside[u]
            for b in beside[a]
            if v in beside[b] and {u, v} not in ({u, a}, {a, b}, {b, v})
        ]
        expected.append(two + len(walks) if u != v else 0)
    assert _detours(graph).tolist() == expected


def test_the_filter_finds_bridges_between_cliques() -> None:
    cliques = [(f"{c}{i}", f"{c}{j}", 0.5) for c in "abc" for i in range(6) for j in range(6) if i != j]
    bridges = [("a0", "b0", 0.1), ("b1", "c1", 0.1)]
    original = KnowledgeGraph.from_edges(cliques, relation="own")
    released = KnowledgeGraph.from_edges([*cliques, *bridges], relation="own")
    made = synthetic_edges(original, released, np.arange(18))
    assert np.flatnonzero(made).tolist() == [90, 91]
    rest, dropped = without_implausible(released, 2)
    assert (dropped == made).all()
    assert rest.m == original.m
    assert 0 <= implausibility(released).min() <= implausibility(released).max() <= 1
    found = kgreason.attack(original, released, np.arange(18), CONTROL, knowledge="degree")
    assert (found.filtered.precision, found.filtered.recall) == (1.0, 1.0)
    assert found["degree"].runs["filtered"].misled.value == 0
    assert found["degree"].runs["main"].misled.value == pytest.approx(4 / 18)
    third = kgreason.attack(original, released, np.arange(18), CONTROL, knowledge="degree", drop=0.5)
    assert (third.filtered.dropped, third.filtered.recall) == (46, 1.0)


@given(graph=graphs(least=4, most=8, edges=16), seed=st.integers(0, 100))
@settings(max_examples=inputs(40), deadline=None)
def test_twins_keep_degrees_or_numbers(graph: KnowledgeGraph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    twin = rewired(graph, rng)
    for name, r in graph.relations.items():
        other = twin.relations[name]
        for ends in ("source", "target"):
            a, b = (np.bincount(getattr(x, ends), minlength=graph.n) for x in (r, other))
            assert a.tolist() == b.tolist()
        if r.weight is not None:
            assert sorted(zip(r.target, r.weight, strict=True)) == sorted(
                zip(other.target, other.weight, strict=True)
            )
        assert np.count_nonzero(other.source == other.target) <= np.count_nonzero(r.source == r.target)
    assert redrawn(graph, rng).m == graph.m


def test_twins_of_undirected_graphs_are_undirected() -> None:
    graph = mirrored(erdos_renyi(60, 120, np.random.default_rng(1)))
    graph = KnowledgeGraph(graph.labels, {"own": Relation(*np.unique(np.stack(graph.ends), axis=1))})
    for twin in (rewired(graph, np.random.default_rng(2)), redrawn(graph, np.random.default_rng(2))):
        pairs = set(zip(*map(np.ndarray.tolist, twin.ends), strict=True))
        assert len(pairs) == graph.m
        assert pairs == {(v, u) for u, v in pairs}
        assert pairs != set(zip(*map(np.ndarray.tolist, graph.ends), strict=True))
    twin = rewired(graph, np.random.default_rng(2))
    assert (twin.in_degree() == graph.in_degree()).all()


def test_graphs_are_joined_and_induced() -> None:
    graph = build(3, [(0, 1, 0.5), (1, 2, 0.3)])
    both = united(graph, graph)
    assert (both.n, both.m) == (6, 4)
    part = induced(graph, np.array([2, 1]))
    assert (part.m, part.ends[0].tolist(), part.relations["own"].weight.tolist()) == (1, [1], [0.3])


def test_intervals_hold_the_mean_and_vanish_where_nothing_is_estimated() -> None:
    values = np.array([1.0, 0.0, 0.5, 0.25])
    sampled = Rate.of(values, exact=False)
    assert sampled.low < sampled.value < sampled.high
    assert Rate.of(values, exact=True).low == Rate.of(values, exact=True).high == 0.4375
    assert 0 < Rate.of(np.zeros(100), exact=False).high < 0.05


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"knowledge": "everything"}, "there is no knowledge 'everything'"),
        ({"knowledge": "refinement:x"}, "there is no knowledge 'refinement:x'"),
        ({"knowledge": []}, "no knowledge is named"),
        ({"known": 9}, "places of a part of 9 vertices cannot be distinguished exactly"),
        ({"known": 0}, "x must be a whole number of at least 1"),
        ({"knowledge": "part:weights+other"}, "which other rules does the attacker have?"),
        (
            {"other_rules": '@edge("own"). @output("p"). p(X) :- own(X,_,_).'},
            "the other rules derive no edges",
        ),
        ({"seeds": ["Nobody"]}, "the seed 'Nobody' is no vertex"),
        ({"seeds": 0}, "seeds must be a whole number of at least 1"),
        ({"seeds": []}, "no seeds are given"),
        ({"drop": 1.5}, "must lie between 0 and 1"),
        ({"weights": "mine"}, "weights are 'released' or 'original'"),
        ({"knowledge": "degree", "known": 2}, "--known has no effect"),
        ({"knowledge": "seeds", "weights": "original"}, "--weights original has no effect"),
        ({"knowledge": "hubs", "other_rules": '@edge("own").'}, "--other-rules has no effect"),
        ({"knowledge": "part:edges", "other_rules": '@edge("own").'}, "--other-rules has no effect"),
        ({"knowledge": ["degree", "part"], "seeds": 10}, "--seeds has no effect"),
        ({"targets": 0}, "targets must be a whole number"),
    ],
)
def test_bad_questions_are_refused(ownership_graph: KnowledgeGraph, options: dict, words: str) -> None:
    pair = ownership_graph, ownership_graph, np.arange(ownership_graph.n)
    with pytest.raises(AnonymizationError, match=words.replace("?", r"\?")):
        kgreason.attack(*pair, CONTROL, **options)


def test_broken_mappings_and_graphs_are_refused(ownership_graph: KnowledgeGraph) -> None:
    n = ownership_graph.n
    for mapping in (np.zeros(n, dtype=np.int64), np.arange(n - 1), np.arange(n) - 1):
        with pytest.raises(ReleaseError, match="another mapping"):
            kgreason.attack(ownership_graph, ownership_graph, mapping, CONTROL)
    other = load_text('@edge("knows"). @derived("d"). d(X,Y) :- knows(X,Y).')
    with pytest.raises(DataError, match="relations"):
        kgreason.attack(ownership_graph, ownership_graph, np.arange(n), CONTROL, other_rules=other)
    nothing = build(0, [])
    with pytest.raises(AnonymizationError, match="no vertices"):
        kgreason.attack(nothing, nothing, np.arange(0), CONTROL)
    weightless = ownership_graph.with_weights({"own": np.full(8, np.nan)})
    with pytest.raises(AnonymizationError, match="not numbers"):
        kgreason.attack(weightless, weightless, np.arange(n), CONTROL)


def test_places_of_single_vertices(ownership_graph: KnowledgeGraph) -> None:
    found = kgreason.attack(
        *(ownership_graph, ownership_graph, np.arange(ownership_graph.n), CONTROL),
        knowledge="part:edges",
        known=(1, 8),
    )
    assert found["part:edges", 1].runs["main"].candidates == (7.0,) * 5
    assert found.notes == ("no connected subgraph has 8 vertices",)


def test_results_are_plain_data(ownership_graph: KnowledgeGraph) -> None:
    import json

    pair = ownership_graph, ownership_graph, np.arange(ownership_graph.n)
    found = kgreason.attack(*pair, CONTROL, knowledge=["degree", "part:edges"], known=2, seed=3)
    data = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert data["format"] == 1
    assert [a["knowledge"] for a in data["attacks"]] == ["part:edges", "degree"]
    assert set(data["attacks"][0]["runs"]) == {"main", "naive", "control", "unprotected", "filtered"}
    again = kgreason.attack(*pair, CONTROL, knowledge=["degree", "part:edges"], known=2, seed=3)
    assert again.as_dict() == found.as_dict()
    with pytest.raises(KeyError):
        found["hubs"]
