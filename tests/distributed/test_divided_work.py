"""Divided work: the same results from copies of the work in other processes as from threads of this one."""

from __future__ import annotations

import pickle
from functools import partial
from itertools import chain
from threading import Lock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.divided_work import divided, divided_by
from kgreason.base.progress import SILENT
from kgreason.graph.generators import erdos_renyi, ownership, scale_free
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.subgraphs import census as censuses
from kgreason.graph.subgraphs import enumeration as visits
from kgreason.graph.subgraphs.census import Census, census
from kgreason.graph.subgraphs.enumeration import TAKE, connected_subgraphs, visit_all
from kgreason.graph.subgraphs.ordered_adjacency import Adjacency
from kgreason.graph.subgraphs.patterns import Catalogue
from kgreason.isomorphism.risk import occurrences
from kgreason.isomorphism.risk.occurrences import Survey, survey
from kgreason.isomorphism.verification.checker import count_attacked, verify, verify_alone
from kgreason.isomorphism.verification.population import draw
from kgreason.isomorphism.verification.release_index import ReleaseIndex
from kgreason.language.check.program_checker import load_text
from tests.distributed.copies import Copies, all_mapped, same
from tests.examples import inputs
from tests.graphs import graphs

CONTROL = load_text(
    """@node("company"). @edge("own"). @derived("control"). @incoming_sum("own", 1.0).
    control(X,X) :- company(X).
    control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5."""
)
MINOR = (
    load_text(  # what is derived may vanish as weights grow: sets of one pattern are classified one by one
        """@edge("own"). @derived("minor").
    held(Y,S) :- own(X,Y,W), S = sum(W,<X>).
    minor(X,Y) :- own(X,Y,W), held(Y,S), S < 0.5."""
    )
)
RULES = {"control": CONTROL, "minor": MINOR}


@pytest.fixture(autouse=True)
def _mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    all_mapped(monkeypatch)


def star(leaves: int) -> KnowledgeGraph:
    """A hub with many neighbours, some of which are neighbours of each other."""
    edges = [("hub", f"v{i}", 0.3 if i % 3 else 0.6) for i in range(leaves)]
    return KnowledgeGraph.from_edges([*edges, ("v1", "v2", 0.6), ("v2", "v5", 0.4)], relation="own")


def numbers(tasks, advance):
    found = list(tasks)
    advance(len(found))
    return found


def test_each_task_is_done_once() -> None:
    units: list[int] = []
    for engine in (None, Copies(1), Copies(4)):
        units.clear()
        with divided_by(engine):
            assert sorted(chain(*divided(numbers, 10, advance=units.append))) == [*range(10)]
        assert sum(units) == 10


def test_the_engine_ends_with_its_block() -> None:
    engine = Copies()
    with divided_by(engine):
        with divided_by(None):
            divided(numbers, 3)
        assert engine.calls == 0
        divided(numbers, 3)
    divided(numbers, 3)
    assert engine.calls == 1


def test_work_that_does_not_pay_stays() -> None:
    engine = Copies()
    engine.pays = lambda steps: steps > 1000
    with divided_by(engine):
        divided(numbers, 3, 10)
        assert engine.calls == 0
        divided(numbers, 3, 1e6)
        assert engine.calls == 1


def test_no_tasks_need_no_engine() -> None:
    engine = Copies()
    with divided_by(engine):
        assert [*chain(*divided(numbers, 0))] == []
    assert engine.calls == 0


def test_work_that_cannot_be_sent() -> None:
    def locked(lock, tasks, advance):
        return list(tasks)

    with divided_by(Copies()), pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        divided(partial(locked, Lock()), 3)


def equal(one: Census, other: Census) -> bool:
    """Slots are left out: they follow from the nodes."""
    return one.first == other.first and all(
        same(getattr(one, name), getattr(other, name)) for name in ("nodes", "counts")
    )


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(2, 9, 20), st.integers(3, 5), st.integers(1, 4))
def test_census(graph: KnowledgeGraph, x: int, parts: int) -> None:
    adjacency = Adjacency.of(graph)
    alone = census(adjacency, x)
    with divided_by(Copies(parts)):
        assert equal(alone, census(adjacency, x))


@pytest.mark.parametrize("rules", [None, CONTROL], ids=["none", "control"])
def test_census_of_hubs(rules) -> None:
    graph = scale_free(400, 2.1, np.random.default_rng(5))
    ties = InducedReasoner(graph, rules).ties if rules else None
    adjacency = Adjacency.of(graph, ties)
    assert len(censuses.tasks(adjacency)) > 10
    engine = Copies(5)
    alone = census(adjacency, 4)
    with divided_by(engine):
        found = census(adjacency, 4)
    assert engine.calls == 1
    assert equal(alone, found)
    assert alone.total > 10_000


def test_a_hub_is_cut() -> None:
    """No task holds all subgraphs around the hub, in a census and in visits."""
    graph = star(500)
    engine = Copies(8)
    with divided_by(engine):
        assert len(connected_subgraphs(graph, 3)) == census(Adjacency.plain(graph), 3).total
    todo = censuses.tasks(Adjacency.plain(graph))
    assert (todo[:, 1] == 1).sum() >= 7  # ranges of extensions of the first root


def test_census_stops_at_the_limit() -> None:
    adjacency = Adjacency.plain(star(300))
    with divided_by(Copies(3)):
        assert 1000 < census(adjacency, 3, 1000).total < 45_000
        assert census(adjacency, 3, 10**6).total == census(adjacency, 3).total


@pytest.mark.parametrize("name", RULES)
def test_visits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visits, "_ROWS", 50)
    graph = scale_free(120, 2.3, np.random.default_rng(2))
    found = []
    for engine in (None, Copies(3)):
        with divided_by(engine):
            reasoner = InducedReasoner(graph, RULES[name])
            catalogue = Catalogue(graph, reasoner, 3, np.random.default_rng(1))
            members, kinds = visit_all(catalogue, np.full(len(catalogue.forms), TAKE, dtype=np.uint8))
            found.append((members, catalogue.class_of[kinds], catalogue.ordered(members, kinds)))
    assert same(*found)
    assert len(found[0][0]) > 500


def surveyed(found: Survey) -> tuple:
    rows = np.column_stack([found.drawn.classes, found.drawn.rows])
    positions = [found.full.counts(), found.ground.counts()]
    return found.total, found.examined, found.counts, *positions, rows[np.lexsort(rows.T)]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("most", [10**6, 400])
def test_risk(name: str, most: int) -> None:
    graph = erdos_renyi(60, 130, np.random.default_rng(3))
    found = []
    for engine in (None, Copies(3)):
        with divided_by(engine):
            index = ReleaseIndex(graph, RULES[name])
            found.append(surveyed(survey(index, 3, most, np.random.default_rng(0), SILENT)))
    assert found[0][1] > 200
    if name == "control":
        assert same(*found)
    else:  # classes are numbered as they are met
        assert found[0][:2] == found[1][:2]
        assert sorted(found[0][2]) == sorted(found[1][2])


def test_what_a_copy_records_is_merged() -> None:
    """Classes of patterns of several classes may be new: who has the catalogue numbers them."""
    graph = erdos_renyi(40, 90, np.random.default_rng(3))
    engine = Copies(4)
    with divided_by(engine):
        found = survey(ReleaseIndex(graph, MINOR), 3, 10**6, np.random.default_rng(0), SILENT)
    assert found.counts.sum() == found.examined == found.total == len(connected_subgraphs(graph, 3))
    tally = occurrences.Tally(found.full, found.drawn, lambda rows, nodes: (nodes, rows))
    assert pickle.loads(pickle.dumps(tally)).resolve is None


@pytest.mark.parametrize("name", RULES)
def test_verdict_on_the_release_alone(name: str) -> None:
    graph = ownership(120, np.random.default_rng(4))
    verdicts = []
    for engine in (None, Copies(3)):
        with divided_by(engine):
            verdicts.append(verify_alone(graph, RULES[name], 2, 3, also=(2,)))
    one, other = verdicts
    assert one.items == other.items
    assert str(one.delta) == str(other.delta)
    assert 0 < one.delta.satisfied < one.delta.total


def test_anonymization_and_verdict() -> None:
    edges = ownership(60, np.random.default_rng(7))
    found = []
    for engine in (None, copies := Copies(3)):
        with divided_by(engine):
            result = kgreason.anonymize(CONTROL, edges, k=2, x=range(2, 4), seed=5)
        assert result.holds
        found.append(result)
    assert copies.calls > 10
    one, other = (result.release for result in found)
    assert same(one.mapping, other.mapping)
    for name, relation in one.graph.relations.items():
        assert same(relation.source, other.graph.relations[name].source)
        assert same(relation.weight, other.graph.relations[name].weight)


def test_a_verdict_of_a_sample() -> None:
    graph = erdos_renyi(80, 200, np.random.default_rng(3))
    found = []
    for engine in (None, Copies(3)):
        with divided_by(engine):
            drawn = draw(graph, [3, 4], 50, 10**6, np.random.default_rng(2))
            same_graph = verify(graph, graph, np.arange(graph.n), CONTROL, 2, 4, also=(3,), drawn=drawn)
            found.append((count_attacked(graph, 4, 10**6), same_graph.items))
    assert found[0] == found[1]
