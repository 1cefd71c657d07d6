"""What a release alone tells, against brute force over all that may be its original."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import AnonymizationError, DataError
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.isomorphism.verification.checker import NEEDS_ORIGINAL, verify, verify_alone
from kgreason.isomorphism.verification.verdict import Delta
from kgreason.language.check.program_checker import load_text
from tests.examples import inputs
from tests.isomorphism.test_verify import CONTROL, OWN_REACH, RULES, Brute, graph, klone_release

MUTUAL = load_text('@edge("own"). @derived("mutual"). mutual(X,Y) :- own(X,Y,_), own(Y,X,_).')


def random_release(seed: int) -> KnowledgeGraph:
    """Mostly arcs from each vertex to all after it, so that all degrees differ."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    kept = rng.choice([0.5, 0.9, 1.0])
    weights = [0.1] if rng.random() < 0.7 else [0.1, 0.35, 0.7]
    own = [
        (u, v, float(rng.choice(weights))) for u in range(n) for v in range(u + 1, n) if rng.random() < kept
    ]
    knows = [tuple(int(i) for i in rng.integers(n, size=2)) for _ in range(int(rng.integers(0, 2)))]
    return graph([f"r{v}" for v in range(n)], own=own, knows=knows).distinct()


def possible_original(released: KnowledgeGraph, rng: np.random.Generator):
    """Some vertices and some of the edges between them, under other labels and with other weights."""
    chosen = rng.permutation(released.n)[: rng.integers(1, released.n + 1)]
    number = np.full(released.n, -1)
    number[chosen] = np.arange(len(chosen))
    relations = {}
    for name, r in released.relations.items():
        kept = (number[r.source] >= 0) & (number[r.target] >= 0) & (rng.random(len(r)) < 0.8)
        weight = None if r.weight is None else r.weight[kept] / 2
        relations[name] = Relation(number[r.source[kept]], number[r.target[kept]], weight)
    return KnowledgeGraph(np.array([f"o{v}" for v in chosen], dtype=object), relations), chosen


@settings(max_examples=inputs(80), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(2, 3))
def test_delta_is_that_of_all_connected_sets(seed: int, x: int, k: int) -> None:
    released, rules = random_release(seed), RULES[seed % len(RULES)]
    verdict = verify_alone(released, rules, k, x)
    good, total = Brute(released, released, np.arange(released.n), rules).delta(k, x)
    assert verdict.delta == Delta(good, total)
    assert verdict["images"].state == ("holds" if good == total else "undecided" if good else "fails")


@pytest.mark.parametrize(("x", "which"), [(1, "original"), (2, "original with 2 connected vertices")])
def test_which_originals_a_release_alone_refutes(x: int, which: str) -> None:
    """One vertex with a loop, or two with an edge between them: neither stands at two places."""
    released = graph(["r1", "r2"][:x], own=[(0, x - 1, 0.1)])
    item = verify_alone(released, CONTROL, 2, x)["images"]
    assert item.state == "fails"
    assert item.detail.endswith(f"and so does none of any {which}")


def held_or_refuted(seed: int) -> str:
    """Check what is said of every original on some of them; returns what that was."""
    released, rules = random_release(seed), RULES[seed % len(RULES)]
    rng = np.random.default_rng(seed)
    x, k = int(rng.integers(1, 3)), 2
    verdict = verify_alone(released, rules, k, x, also=range(1, x))
    items = [verdict["images of 1 vertices"], verdict["images"]] if x == 2 else [verdict["images"]]
    for _ in range(4):
        original, mapping = possible_original(released, rng)
        brute = Brute(original, released, mapping, rules)
        if all(item.holds for item in items):
            good, total = brute.delta(k, x)
            assert good == total
            assert verify(original, released, mapping, rules, k, x)["images"].holds
        if verdict["images"].state == "fails" and np.bincount(original.components()[1]).max() >= x:
            assert brute.delta(k, x)[0] < brute.delta(k, x)[1]
    return "holds" if all(item.holds for item in items) else verdict["images"].state


@settings(max_examples=inputs(80), deadline=None)
@given(st.integers(0, 2**32))
def test_what_is_said_of_every_original_holds_of_each(seed: int) -> None:
    held_or_refuted(seed)


def test_all_three_answers_occur() -> None:
    states = [held_or_refuted(seed) for seed in range(45)]
    assert min(states.count(state) for state in ("holds", "undecided", "fails")) >= 4, states


@pytest.mark.parametrize("rules", [CONTROL, OWN_REACH], ids=["control", "reach"])
def test_klone_releases_alone(rules) -> None:
    """Sets that synthetic edges connect may lack images: that is not decided, and nothing else is wrong."""
    _, release = klone_release(rules, 2)
    verdict = verify_alone(release.graph, rules, 3, 1)
    assert verdict.holds, str(verdict)
    verdict = verify_alone(release.graph, rules, 3, 3)
    assert [item.name for item in verdict.items if not item.holds] == ["images"]
    assert (verdict.state, verdict.nothing_against, verdict.fails) == ("undecided", False, False)
    assert "the others may be synthetic" in verdict["images"].detail
    assert "(original" not in verdict["images"].witnesses[0]
    assert verdict["distinct labels"].detail.endswith("all are letters and digits of one length")
    assert verdict.needs_original == NEEDS_ORIGINAL


def test_kguard_release_that_holds_for_every_original() -> None:
    """In a random graph all small parts have look-alikes, whichever vertices are synthetic."""
    rng = np.random.default_rng(1)
    edges = [(f"v{a}", f"v{b}", 0.5) for a, b in rng.integers(60, size=(240, 2)) if a != b]
    made = kgreason.anonymize(OWN_REACH, {"own": edges}, k=3, x=2, trials=1, plans=1, seed=2)
    verdict = kgreason.verify_alone(made.release.graph, OWN_REACH, k=3, x=(1, 2))
    assert made.verdict.holds
    assert verdict.holds, str(verdict)
    assert verdict.nothing_against
    assert verdict["images"].detail.endswith("and so do all of any original")


def test_smaller_components_of_the_original_are_an_assumption() -> None:
    released = graph(
        [f"r{v}" for v in range(5)], own=[(u, v, 0.1) for u in range(5) for v in range(u + 1, 5)]
    )
    one = verify_alone(released, OWN_REACH, 2, 2)
    both = verify_alone(released, OWN_REACH, 2, 2, also=(1,))
    commuting = verify_alone(released, MUTUAL, 2, 2)
    assert one.holds
    assert one["images"].detail.endswith("and so do all of any original without components of fewer vertices")
    assert both["images"].detail.endswith("and so do all of any original")
    assert commuting["images"].detail.endswith("and so do all of any original")
    assert commuting.sizes.endswith("2 and fewer (the rules commute)")


def test_what_a_release_shows_is_checked() -> None:
    good = graph([f"r{v}" for v in range(4)], own=[(u, v, 0.1) for u in range(4) for v in range(u + 1, 4)])
    assert verify_alone(good, CONTROL, 2, 1).holds

    def failing(released: KnowledgeGraph) -> list[str]:
        return [item.name for item in verify_alone(released, CONTROL, 2, 1).items if item.state == "fails"]

    heavy = good.with_weights({"own": good.relations["own"].weight * 6})
    assert failing(heavy) == ["incoming sums of own"]
    assert failing(good.with_weights({"own": good.relations["own"].weight - 0.2})) == [
        "weight range",
        "images",
    ]
    assert "connected" in failing(graph([f"r{v}" for v in range(4)], own=[(0, 1, 0.1), (2, 3, 0.1)]))
    twice = replace(good, labels=np.array(["r0", "r1", "r1", "r3"], dtype=object))
    assert "distinct labels" in failing(twice)
    assert verify_alone(twice, CONTROL, 2, 1)["distinct labels"].witnesses == ("r1",)
    assert failing(good.with_weights({"own": good.relations["own"].weight * np.nan}))[-1] == "images"
    assert verify_alone(good, CONTROL, 2, 5)["parameters"].state == "fails"


def test_a_sample_of_a_release_alone() -> None:
    _, release = klone_release(OWN_REACH, 2)
    verdict = kgreason.verify_alone(release.graph, OWN_REACH, k=2, x=1, sample=5, seed=1)
    assert (verdict.state, verdict.nothing_against) == ("undecided", True)
    assert verdict.delta == Delta(5, 5, population=release.graph.n)
    all_fail = kgreason.verify_alone(release.graph, OWN_REACH, k=30, x=3, sample=5, seed=1)
    assert (all_fail.state, all_fail.nothing_against) == ("undecided", False)


def test_as_text_and_as_json() -> None:
    _, release = klone_release(OWN_REACH, 2)
    verdict = verify_alone(release.graph, OWN_REACH, 3, 3)
    assert "\nUNDECIDED  images: " in str(verdict)
    assert "NOT DECIDABLE without the original  weights: every original edge" in str(verdict)
    found = verdict.as_dict()
    assert found["state"] == "undecided"
    assert found["needs_original"] == list(NEEDS_ORIGINAL)
    assert [i["state"] for i in found["items"] if i["name"] == "images"] == ["undecided"]


def test_bad_calls() -> None:
    _, release = klone_release(OWN_REACH, 2)
    with pytest.raises(AnonymizationError, match="more than 3 connected subgraphs with 3 vertices"):
        kgreason.verify_alone(release.graph, OWN_REACH, x=3, max_subgraphs=3)
    with pytest.raises(DataError, match="the graph has the relations knows, the rules have own"):
        kgreason.verify_alone(KnowledgeGraph.from_edges([("a", "b")], relation="knows"), OWN_REACH)
