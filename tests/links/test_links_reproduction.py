"""The page of Figures 7 to 9 of LINKS: that it can be made, and that its checks can fail."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest

from tests.folders import ROOT

BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def parts() -> Iterator[dict[str, ModuleType]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        names = ("series", "conclusions", "derived", "values", "drawing", "page")
        found = {name: import_module(f"zheleva.{name}") for name in names}
        for name in [*(f"zheleva.{name}" for name in names), "zheleva", "plots"]:
            patch.delitem(sys.modules, name)
        yield found


@pytest.fixture(scope="module")
def measured(parts):
    return parts["series"].everything(1, 0)


@pytest.fixture(scope="module")
def derived(parts):
    return parts["derived"].derived(1, 0)


@pytest.fixture(scope="module")
def values(parts):
    return parts["values"].valued(1, 0)


@pytest.mark.slow
def test_conclusions_hold_for_what_is_measured_and_fail_where_it_is_turned_round(
    parts, measured, derived, values
) -> None:
    series, conclusions = parts["series"], parts["conclusions"]
    said = conclusions.conclusions(measured)
    first, constrained = said[0], said[2]
    assert (first.verdict, constrained.verdict) == ("holds", "holds")
    points = dict(measured.dense.points)
    points[series.FINE, 0.8] = points[series.PARTIAL, 0.8]
    turned = conclusions.conclusions(replace(measured, dense=replace(measured.dense, points=points)))
    assert turned[0].verdict == "fails at: dense, 0.8, k=2"
    text = parts["page"].page(measured, derived, values, "COMMAND", 0)
    assert "COMMAND" in text
    assert "$" not in text.replace("$ COMMAND", "")
    assert all(one.says in text for one in said)
    plots = parts["drawing"].plots(measured)
    assert all(f"({name}.svg)" in text for name in (*plots, "links_rules", "links_values"))


@pytest.mark.slow
def test_countries_tell_of_friends_unless_they_are_close(parts, values) -> None:
    """Of removed links the values are left; merged clusters have nearly all countries each."""
    way, blind, seeing = parts["values"].Way, *parts["values"].ATTACKERS
    revealed = {
        (close, who): values.points[way("removed", close), who, 0.4].revealed
        for close in (None, parts["values"].CLOSE)
        for who in (blind, seeing)
    }
    assert revealed[None, blind] == 0 < 100 < revealed[None, seeing]
    assert revealed[parts["values"].CLOSE, seeing] < 0.1 * revealed[None, seeing]
    assert all(apart <= parts["values"].CLOSE for way, apart in values.apart.items() if way.closeness)
    assert parts["drawing"].plot_of_values(values).rows[0][1].lines["removed"][0.4] == revealed[None, seeing]
    assert parts["page"].of_values(values).count("\n") == 1 + 2 * len(parts["values"].WAYS)


def test_readings_of_a_count_between_clusters(parts) -> None:
    """30 links between clusters of 10: 0.3 of their pairs, 0.075 of |V|² (section 7)."""
    from kgreason.links.attacks.noisy_or import Knowledge
    from kgreason.links.model import LinkGraph, Observations, Released

    count = Observations(np.array([0]), np.array([1]), np.array([30]), mutual=True)
    labels = np.array(["a", "b", None], dtype=object)[:-1]
    graph = LinkGraph(labels, {"classmates": count}, size=np.array([10, 10]))
    for reading, chance in (("slots", 0.3), ("one", 0.3), ("all", 0.075)):
        known = Knowledge({"classmates": 1}, {"classmates": 30})
        found = parts["series"].believed(Released(graph, "cluster-edge"), known, reading)
        believed = found.probability[(found.source == 0) & (found.target == 1)]
        assert believed.tolist() == pytest.approx([0.2 + 0.8 * 0.4 * chance])


@pytest.mark.slow
def test_conclusions_on_control_hold_for_what_is_measured_and_fail_where_it_is_turned_round(
    parts, derived
) -> None:
    series, rules = parts["series"], parts["derived"]
    verdict = {one.says[:2]: one.verdict for one in rules.conclusions_of_rules(derived)}
    assert (verdict["1."], verdict["R1"], verdict["R2"], verdict["R4"]) == ("holds",) * 4
    register = derived.graphs["register"]
    points = dict(register.points)
    points[series.PARTIAL, 0.8] = points[series.FINE, 0.2]  # some of it false, and not as many
    turned = replace(derived, graphs={**derived.graphs, "register": replace(register, points=points)})
    verdict = {one.says[:2]: one.verdict for one in rules.conclusions_of_rules(turned)}
    assert verdict["R1"] == "fails at: register, partial 50 %, 0.8"
    assert verdict["R2"] == "fails at: register, partial 50 %"
    text = parts["page"].of_control(derived.graphs)
    assert text.count("\n") == 1 + 2 * len(series.SIX)
    plot = parts["drawing"].plot_of_rules(derived)
    assert plot.rows[0][0].lines["partial 50 %"][0.2] == register.points[series.PARTIAL, 0.2].revealed


def test_control_and_what_its_adversary_believes(parts) -> None:
    """A holds B, and with B holds C; half of D is no majority. Who sees it all has all of it with 0.9."""
    from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
    from kgreason.links.model import Released

    own = Relation(np.array([0, 0, 1, 0]), np.array([1, 2, 2, 3]), np.array([0.6, 0.3, 0.3, 0.5]))
    rules = parts["derived"]
    original = rules.controlled(KnowledgeGraph(np.array(list("ABCD"), dtype=object), {"own": own}))
    sensitive = original.sensitive
    assert list(zip(sensitive.source, sensitive.target, strict=True)) == [(0, 1), (0, 2)]
    found = rules.believed(Released(original.graph, "intact"), original, np.random.default_rng(0))
    believed = dict(
        zip(zip(found.source.tolist(), found.target.tolist(), strict=True), found.probability, strict=True)
    )
    assert believed == {(0, 1): pytest.approx(rules.CERTAINTY), (0, 2): pytest.approx(rules.CERTAINTY)}
    assert found.others == 0


@pytest.mark.slow
def test_plots_are_written(parts, measured, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    for name, plot in parts["drawing"].plots(measured).items():
        plot.write(tmp_path / f"{name}.svg")
        assert "<svg" in (tmp_path / f"{name}.svg").read_text(encoding="utf-8")


def test_precisions_of_almost_no_predictions_are_not_shown(parts) -> None:
    """Of 100 schools with 15 predicted pairs in all a precision says nothing."""
    point, page, formatted = parts["series"].Point, parts["page"].both, parts["conclusions"].formatted
    some = {point(0.15, 0.13, 1800.0): "few", point(1.0, 0.5, 1800.0): "0.50", point(0.0, 0.0, 1.0): "none"}
    for one, shown in some.items():
        assert page(one) == f"{shown}, 0.00"
        assert formatted(one) == f"{one.revealed:.1f} ({shown})"
