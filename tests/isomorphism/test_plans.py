"""Plans: which one is chosen, what its figures count, and where they are shown."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import SILENT
from kgreason.graph.facts import answers, derived_edges
from kgreason.graph.generators import scale_free
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.anonymizers import kguard
from kgreason.isomorphism.anonymizers.kguard import Kguard
from kgreason.isomorphism.anonymizers.plans import PlanJudge, choose
from kgreason.isomorphism.definition import Augmented, Plan
from tests.examples import inputs
from tests.isomorphism.test_kguard import checked
from tests.isomorphism.test_kguard_published import REACH, RULES

CONTROL = """
@node("company"). @edge("own"). @derived("control"). @query("holding"). @incoming_sum("own", 1.0).
control(X,X) :- company(X).
control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.
holding(X) :- control(X,Y), X != Y.
"""
SECRET = ("plans", "false_facts", "unique_degrees", "false facts", "unique degrees")


def register(seed: int, n: int = 60) -> KnowledgeGraph:
    return scale_free(n, 3.0, np.random.default_rng(seed), economic=True)


def augmented(graph: KnowledgeGraph, seed: int, plans: int | None = None) -> Augmented:
    return Kguard(2, (3,), 2, 10**9, plans).augment(graph, RULES, np.random.default_rng(seed), SILENT)


plans = st.builds(
    Plan,
    st.integers(0, 5),
    st.integers(90, 130),
    st.integers(0, 9),
    st.sampled_from([0.2, 0.5, 0.9]),
    st.integers(0, 9),
    st.just(0.1),
)


@settings(max_examples=inputs(100), deadline=None)
@given(st.lists(plans, min_size=1, max_size=9))
def test_the_most_precise_of_those_with_few_additions_is_chosen(some: list[Plan]) -> None:
    chosen = some[choose(some)]
    few = [plan for plan in some if 10 * plan.added <= 11 * min(one.added for one in some)]
    assert chosen in few
    assert chosen.precision == max(plan.precision or 0.0 for plan in few)
    equal = [plan for plan in few if plan.precision == chosen.precision]
    assert chosen.wrong_answers == min(plan.wrong_answers or 0 for plan in equal)
    assert chosen.added == min(p.added for p in equal if p.wrong_answers == chosen.wrong_answers)


def test_plans_without_judgement_are_chosen_by_additions() -> None:
    some = [Plan(0, added, None, None, None, 0.5) for added in (105, 100, 103)]
    assert choose(some) == 1


@settings(max_examples=inputs(6), deadline=None)
@given(st.integers(0, 10**6))
def test_the_chosen_plan_is_the_release(seed: int) -> None:
    graph = register(seed)
    found = augmented(graph, seed, 3)
    assert checked(graph, found, RULES, 2, (3,)).holds
    if found.guarantee.x is None:  # KLONE, which has no plans
        assert not found.plans
        return
    (chosen,) = (plan for plan in found.plans if plan.chosen)
    assert 1 <= len(found.plans) <= 3
    assert chosen.added <= 1.1 * min(plan.added for plan in found.plans)
    release, before, after = (
        found.graph,
        *(
            set(zip(*(ends.tolist() for ends in derived_edges(g, RULES)["control"]), strict=True))
            for g in (graph, found.graph)
        ),
    )
    wrong = [{tuple(row) for row in answers(g, RULES)["holding"].tolist()} for g in (graph, release)]
    false, facts = ({(u, v) for u, v in some if u != v} for some in (after - before, after))
    assert chosen.false_facts == len(false)
    assert chosen.precision == pytest.approx(1 - len(false) / max(len(facts), 1))
    assert chosen.wrong_answers == len(wrong[0] ^ wrong[1])
    assert (chosen.vertices_added, chosen.edges_added) == (release.n - graph.n, release.m - graph.m)
    pairs = list(zip(release.in_degree().tolist(), release.out_degree().tolist(), strict=True))
    assert chosen.unique_degrees == sum(pairs.count(pair) == 1 for pair in pairs) / release.n


def test_large_graphs_and_closures_are_not_judged() -> None:
    assert PlanJudge(register(0), RULES).derives
    assert not PlanJudge(register(0), REACH).derives
    assert not PlanJudge(register(0, 4_001), RULES).derives


def test_where_nothing_is_judged_the_fewest_additions_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kguard, "_LITTLE", 0)
    graph = register(1)
    found = Kguard(2, (3,), 1, 10**9, 3).augment(graph, REACH, np.random.default_rng(0), SILENT)
    *outdone, plan = found.plans
    assert plan.chosen
    assert not any(one.chosen for one in outdone)
    assert all(one.added > plan.added for one in outdone)
    assert all((p.false_facts, p.precision, p.wrong_answers) == (None, None, None) for p in found.plans)


def test_plans_are_in_the_result_and_in_the_private_report_alone(tmp_path: Path) -> None:
    public, private = tmp_path / "release", tmp_path / "private"
    found = kgreason.anonymize(
        CONTROL, register(2), k=2, x=3, seed=1, plans=2, trials=1, folders=kgreason.Folders(public, private)
    )
    listed = found.as_dict()["plans"]
    assert json.loads(json.dumps(listed)) == listed
    assert [set(plan) for plan in listed] == [{field.name for field in fields(Plan)}] * len(listed)
    assert sum(plan["chosen"] for plan in listed) == 1
    report = json.loads((private / "report.json").read_text(encoding="utf-8"))
    (run,) = (section for section in report["page"]["sections"] if section["title"] == "The run")
    (table,) = (item for item in run["items"] if item.get("title") == "Plans")
    assert len(table["rows"]) == len(listed)
    assert report["plans"] == listed
    for file in public.rglob("*"):
        if file.is_file():
            text = file.read_text(encoding="utf-8").lower()
            assert not [word for word in SECRET if word in text], file


def test_there_is_at_least_one_plan() -> None:
    with pytest.raises(AnonymizationError, match="plans must be a whole number of at least 1, not 0"):
        kgreason.anonymize(RULES, register(0), plans=0)


@pytest.mark.parametrize("other", [{"method": "klone"}, {"method": "k-iso"}, {"mode": "published"}])
def test_other_methods_have_no_plans(other: dict[str, Any]) -> None:
    with pytest.raises(
        AnonymizationError, match="only KGUARD in its exact mode makes several plans"
    ) as caught:
        kgreason.anonymize(CONTROL, register(0), k=2, x=3, plans=2, **other)
    assert "leave --plans out" in str(caught.value.hint)
