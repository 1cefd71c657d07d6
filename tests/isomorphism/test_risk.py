"""What a graph gives away and what anonymization would cost: figures by hand, estimates against runs, the command."""

from __future__ import annotations

import importlib
import json
import stat
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings

import kgreason
from kgreason.base.progress import SILENT
from kgreason.cli import app
from kgreason.cli.risking import print_grid
from kgreason.graph.generators import erdos_renyi, ownership
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.risk.advice import Risk
from kgreason.isomorphism.risk.candidate_counts import Exposure, surveys
from kgreason.isomorphism.risk.method_costs import Range, lacking, of_klone, stratified
from kgreason.isomorphism.risk.occurrences import Survey
from kgreason.isomorphism.verification.images import attacked, decide, decide_each
from kgreason.isomorphism.verification.release_index import ReleaseIndex
from kgreason.language.check.program_checker import load_text
from tests.examples import inputs
from tests.graphs import graphs

RUNNER = CliRunner()
KNOWS = '@edge("knows"). @derived("mutual"). mutual(X, Y) :- knows(X, Y), knows(Y, X).'
REACH = (
    '@edge("own"). @derived("reach"). reach(X, Y) :- own(X, Y, _). reach(X, Z) :- reach(X, Y), own(Y, Z, _).'
)


def undirected(graph: nx.Graph) -> dict[str, list[tuple[str, str]]]:
    both = [*graph.edges, *((b, a) for a, b in graph.edges)]
    return {"knows": [(str(a), str(b)) for a, b in both]}


def test_figures_by_hand() -> None:
    """Classes of 4, 2, 2, 1, 1 in a population where they are 10, 2, 3, 1, 5."""
    fits = np.array([4, 4, 4, 4, 2, 2, 2, 2, 1, 1])
    among = np.array([10, 10, 10, 10, 2, 2, 3, 3, 1, 5])
    e = Exposure("in-degree", fits, among, k=3)
    assert (e.unique, e.vertices, e.highest, e.at_risk) == (2, 10, 1.0, 0.6)
    assert e.average == pytest.approx(5 / 10)  # classes / n
    assert (e.journalist_highest, e.journalist_at_risk) == (1.0, 0.3)
    assert e.marketer == pytest.approx((4 / 10 + 2 / 2 + 2 / 3 + 1 + 1 / 5) / 10)
    assert e.sizes() == {1: 2, 2: 4, 4: 4}
    assert e.as_dict()["prosecutor"] == {"highest": 1.0, "average": 0.5, "above_1_in_k": 0.6}


def test_vertices_not_looked_at_do_not_count() -> None:
    fits = np.array([0, 2, 2, 1])
    e = Exposure("part", fits, fits, k=2, looked=3)
    assert (e.vertices, e.unique, e.highest, e.average) == (3, 1, 1.0, pytest.approx(2 / 3))
    assert e.as_dict()["estimate"]
    assert Exposure("part", fits[:1], fits[:1], 2).highest == 0


def unique(found: Risk) -> dict[str, int]:
    return {e.knowledge: e.unique for e in found.exposures}


def test_star() -> None:
    found = unique(kgreason.risk(KNOWS, undirected(nx.star_graph(9)), x=(1, 3)))
    assert found == {
        "nothing": 0,
        "in-degree": 1,
        "out-degree": 1,
        "in- and out-degree": 1,
        "neighbours' degrees": 1,
        "degrees within two hops": 1,
        "refinement": 1,
        "neighbourhood": 1,
        "part of 1 vertex, ground edges": 0,
        "part of 1 vertex, with mutual": 0,
        "part of 3 vertices, ground edges": 1,
        "part of 3 vertices, with mutual": 1,
    }


def test_cycle() -> None:
    found = kgreason.risk(KNOWS, undirected(nx.cycle_graph(9)), x=range(1, 4))
    assert set(unique(found).values()) == {0}
    assert [e.average for e in found.exposures] == pytest.approx([1 / 9] * 14)


def test_karate() -> None:
    """Six degrees occur once: 1, 9, 10, 12, 16, 17."""
    found = kgreason.risk(KNOWS, undirected(nx.karate_club_graph()), x=2)
    e = found["in- and out-degree"]
    assert (e.unique, e.highest, e.average) == (6, 1.0, pytest.approx(11 / 34))
    assert e.sizes() == {1: 6, 2: 2, 3: 3, 6: 12, 11: 11}
    further = "neighbours' degrees", "degrees within two hops", "refinement"
    assert [found[knowledge].unique for knowledge in further] == [23] * 3


def test_karate_as_a_file(real_data: Path) -> None:
    found = kgreason.risk(REACH, {"own": f"{real_data}/classic/karate.gml?symmetric=true"}, x=2)
    assert found["in-degree"].unique == 6


def test_a_graph_within_its_population() -> None:
    """A star among three stars of its size: its middle is no longer alone."""
    stars = nx.disjoint_union_all([nx.star_graph(3)] * 3)
    found = kgreason.risk(KNOWS, undirected(nx.star_graph(3)), population=undirected(stars), k=2, x=(2, 3))
    for name in ("in-degree", "neighbourhood", "part of 3 vertices, with mutual"):
        e = found[name]
        assert (e.unique, e.highest, e.at_risk) == (1, 1.0, 0.25)
        assert (e.journalist_highest, e.journalist_at_risk) == (pytest.approx(1 / 3), 0.0)
        assert e.marketer == pytest.approx((1 / 3 + 3 / 9) / 4)
    assert found.population == 12


def surveyed(graph: KnowledgeGraph, x: int) -> dict[int, Survey]:
    return surveys(graph, load_text(REACH), [x], 10**6, np.random.default_rng(0))


@settings(max_examples=inputs(25), deadline=None)
@given(graphs(least=4, most=7, second=False))
def test_lacking_is_what_the_checker_finds(graph: KnowledgeGraph) -> None:
    space = ReleaseIndex(graph, load_text(REACH))
    for x in (1, 2, 3):
        found = lacking(surveyed(graph, x), x, 2)
        everything = [
            decide(space, s, w, 2, SILENT) for s, w in attacked(space, graph, np.arange(graph.n), x)
        ]
        assert found.exact
        assert found.total == sum(o.total for o in everything)
        assert found.lacking == sum(o.total - o.satisfied for o in everything)
        assert found.share == (found.lacking / found.total if found.total else 0)


@settings(max_examples=inputs(25), deadline=None)
@given(graphs(least=4, most=7, second=False))
def test_no_member_of_a_class_with_few_degrees_has_images(graph: KnowledgeGraph) -> None:
    for x, k in ((2, 2), (3, 2), (2, 3)):
        found = surveyed(graph, x)[x]
        degrees = found.catalogue.index.traits[:, :2]
        members = found.drawn.rows, found.drawn.classes  # all of them: there are fewer than the sample holds
        for c, diverse in enumerate(found.diverse(k).tolist()):
            turns = found.catalogue.full.form(c).automorphisms
            placed = members[0][members[1] == c][:, turns].reshape(-1, x)
            few = min(len({*d}) for p in range(x) for d in degrees[placed[:, p]].T.tolist())
            assert diverse == (few >= k)
            if not diverse:
                mine = members[0][members[1] == c]
                assert (decide_each(found.catalogue.index, mine, k, SILENT) == 0).all()


def test_lacking_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval holds the number that a visit to all finds."""
    found_in = surveyed(erdos_renyi(200, 300, np.random.default_rng(0)), 4)
    exact = lacking(found_in, 4, 3)
    assert exact.exact
    assert exact.lacking > 100
    monkeypatch.setattr("kgreason.isomorphism.risk.method_costs.DECIDED", 0)
    found = lacking(found_in, 4, 3)
    assert not found.exact
    assert found.low <= exact.lacking <= found.high
    assert found.high - found.low < exact.lacking


def pairs_apart(count: int) -> KnowledgeGraph:
    """Pairs of vertices, each joined by an edge, and a path of three."""
    ends = [(f"{i}a", f"{i}b") for i in range(count)] + [("u", "v"), ("v", "w")]
    return KnowledgeGraph.from_edges(ends, relation="own")


def test_components_that_are_given_up_leave_the_number_open(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = surveyed(pairs_apart(9), 3)
    assert lacking(pairs, 3, 2).exact
    found = importlib.import_module("kgreason.isomorphism.risk.method_costs")

    def given_up(space: ReleaseIndex, rows: np.ndarray, *_: object) -> np.ndarray:
        return np.where(np.arange(len(rows)) < 4, -1, 0) if rows.shape[1] == 2 else np.zeros(len(rows), int)

    monkeypatch.setattr(found, "decide_each", given_up)
    monkeypatch.setattr(Survey, "diverse", lambda one, _: np.ones(len(one.counts), dtype=bool))
    open_ = lacking(pairs, 3, 2)
    assert (open_.total, open_.low, open_.lacking, open_.high) == (10, 6, 10, 10)
    assert not open_.exact


def test_lacking_of_a_sample_of_components(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgreason.isomorphism.risk.method_costs.SAMPLE", 100)
    found = lacking(surveyed(pairs_apart(300), 3), 3, 2)
    assert (found.total, found.high) == (301, 301)
    assert not found.exact
    assert found.low < 301


def test_intervals_of_strata() -> None:
    """Nine of ten of the intervals, at least, hold the true number."""
    rng, counts, held = np.random.default_rng(0), np.array([4000, 50, 3]), 0
    poor = [rng.permutation(c) < share * c for c, share in zip(counts, (0.1, 0.5, 1.0), strict=True)]
    truth = sum(int(p.sum()) for p in poor)
    for _ in range(300):
        looked = np.minimum(counts, 64)
        without = [rng.choice(p, n, replace=False).sum() for p, n in zip(poor, looked, strict=True)]
        _, low, high = stratified(counts, looked, np.array(without))
        held += low <= truth <= high
    assert held >= 270
    _, low, high = stratified(np.array([10_000]), np.array([64]), np.array([0]))
    assert (low, high > 100) == (0, True)  # none in the sample does not show that there are none


def test_cost_of_klone() -> None:
    graph = erdos_renyi(300, 900, np.random.default_rng(0))
    cost = of_klone(graph, 3, 0, np.random.default_rng(0))
    result = kgreason.anonymize(REACH, graph, method="klone", k=3, x=2, trials=1, seed=0)
    figures = result.release.figures
    assert cost.vertices.low <= figures["vertices_added"] <= cost.vertices.high
    assert cost.edges.low <= figures["edges_added"] <= cost.edges.high


@pytest.mark.slow
def test_cost_of_kguard() -> None:
    rules = Path(kgreason.__file__).parents[1] / "examples" / "ownership" / "control.vada"
    graph = ownership(300, np.random.default_rng(20))
    found = kgreason.risk(rules, graph, x=4)
    method = next(m for m in found.advice.methods if m.options == found.advice.options == "-x 2..4")
    result = kgreason.anonymize(rules, graph, x=range(2, 5), seed=0)
    figures = result.release.figures
    assert method.cost is not None
    assert method.cost.vertices.low <= figures["vertices_added"] <= method.cost.vertices.high
    assert method.cost.edges.low <= figures["edges_added"] <= method.cost.edges.high


def methods(found: Risk) -> dict[str, bool]:
    return {m.name: m.feasible for m in found.advice.methods}


def test_advice_where_nothing_lacks() -> None:
    found = kgreason.risk(REACH, erdos_renyi(400, 2000, np.random.default_rng(0)), k=2, x=3)
    assert found.advice.options == "-x 2..3"
    assert "lacks images, so that next to nothing is added" in found.advice.reason
    assert methods(found)["kguard --split 1000"] is False


def test_rules_that_commute_need_one_size() -> None:
    found = kgreason.risk(KNOWS, undirected(nx.gnm_random_graph(60, 120, seed=0)), k=2, x=3)
    assert found.advice.options == "-x 3"
    assert "kguard -x 2" not in methods(found)


def test_advice_where_kguard_cannot() -> None:
    graph = undirected(nx.gnm_random_graph(80, 160, seed=0))
    found = kgreason.risk(KNOWS, graph, k=70, x=2)
    assert methods(found) == {"kguard -x 2": False, "klone": True}
    assert found.advice.options == "--method klone"
    found = kgreason.risk(KNOWS, undirected(nx.path_graph(9)), k=2, x=7)
    assert methods(found)["kguard -x 7"] is False
    assert "kguard handles x up to 6" in next(
        m.remark for m in found.advice.methods if m.name == "kguard -x 7"
    )


def test_advice_where_copies_are_cheaper() -> None:
    """In a small graph of many kinds nearly all lack images."""
    found = kgreason.risk(REACH, erdos_renyi(12, 30, np.random.default_rng(0)), k=3, x=5)
    assert found.advice.options == "--method klone"
    assert "kguard would add about as much as the 2 copies of klone" in found.advice.reason


def test_estimates_of_parts_of_large_graphs() -> None:
    graph = erdos_renyi(300, 1500, np.random.default_rng(0))
    found = kgreason.risk(REACH, graph, x=(2, 4), max_subgraphs=5_000)
    assert found["part of 2 vertices, ground edges"].looked is None
    e = found["part of 4 vertices, ground edges"]
    assert e.looked is not None
    assert e.vertices <= 300
    method = next(m for m in found.advice.methods if m.name == "kguard -x 4")
    assert method.cost is None
    assert f"--max-subgraphs {method.subgraphs} would do it" in method.remark
    assert "how many lack images was not examined" in found.advice.reason


def test_neighbourhoods_may_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgreason.isomorphism.risk.candidate_counts.NEIGHBOURHOODS", 1)
    found = kgreason.risk(KNOWS, undirected(nx.cycle_graph(9)), x=2)
    assert found.left_out == {"neighbourhood": "its neighbourhoods have too many edges"}


def test_exposed_vertices() -> None:
    found = kgreason.risk(KNOWS, undirected(nx.star_graph(9)), x=2)
    ((first, what), second) = found.exposed(2)
    assert (first, what[0], second[1]) == ("0", "in-degree", ())
    assert "exposed" not in found.as_dict()
    assert found.as_dict(exposed=1)["exposed"][0]["vertex"] == "0"
    assert repr(found).startswith("<Risk of 10 vertices; kgreason anonymize -")


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ([("a", "b")], {"k": 1}, "k must be a whole number of at least 2, not 1"),
        ([("a", "b")], {"x": 3}, "x = 3 is not between 1 and the number of vertices, 2"),
        ([("a", "b")], {"x": 0}, "x must be a whole number of at least 1, not 0"),
        ([], {}, "the graph has no vertices"),
        ([(str(i), str(i + 1)) for i in range(12)], {"x": 9}, "subgraphs of 9 vertices cannot be decided"),
    ],
)
def test_what_cannot_be_asked(data: list[tuple[str, str]], options: dict[str, int], message: str) -> None:
    with pytest.raises(kgreason.AnonymizationError, match=message):
        kgreason.risk(KNOWS, {"knows": data}, **options)  # type: ignore[arg-type]


def test_a_single_vertex() -> None:
    found = kgreason.risk(KNOWS, {"knows": [("a", "a")]}, k=2)
    assert found["nothing"].unique == 1
    assert found.advice.options == "--method klone"


def test_ranges() -> None:
    assert str(Range.around(10, 2)) == "10 (5 to 20)"
    assert Range(1, 1, 1).exact
    assert Range.around(4, 2).as_dict() == {"value": 4, "low": 2.0, "high": 8, "exact": False}


def test_grid(capsys: pytest.CaptureFixture[str]) -> None:
    print_grid(("who", "many", "", ""), [("a", "1", "", "why"), ("bcd", "10,000", "", "")])
    assert capsys.readouterr().out.splitlines() == ["who    many", "a         1  why", "bcd  10,000"]


def command(*arguments: object) -> tuple[int, str, str]:
    result = RUNNER.invoke(app, ["risk", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_the_command(ownership: Path) -> None:
    code, out, _ = command("--rules", ownership / "control.vada", "-x", "2..3", "-k", "2")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "7 vertices, 8 edges, before any anonymization"
    assert any(line.split() == ["nothing", "0", "0.0%", "0.0%", "0.1429", "0.1429"] for line in lines)
    assert any(line.startswith("part of 3 vertices, with control ") for line in lines)
    assert any(line.startswith("kguard -x 2..3 ") for line in lines)
    assert f"kgreason anonymize --rules {ownership / 'control.vada'} -k 2 " in out
    assert "Adler" not in out


def test_the_command_with_a_table(ownership: Path) -> None:
    table = f"{ownership / 'own.csv'}?percent=true"
    code, out, _ = command(
        "--data", f"own={table}", "--rules", ownership / "control.vada", "-x", "2", "--population", table
    )
    assert code == 0, out
    assert f"--data 'own={table}'" in out
    assert "marketer" in out


def test_the_command_names_vertices_when_asked(ownership: Path) -> None:
    code, out, err = command("--rules", ownership / "control.vada", "-x", "2", "--exposed", "2")
    assert code == 0
    assert "unique if an attacker knows" in out
    assert "keep this output secret" in err


def test_the_command_as_json(ownership: Path, tmp_path: Path) -> None:
    report = tmp_path / "risk.json"
    code, out, _ = command("--rules", ownership / "control.vada", "-x", "2", "--json", "--out", report)
    assert code == 0
    found = json.loads(out)
    assert found == json.loads(report.read_text(encoding="utf-8"))
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert (found["format"], found["k"], found["graph"]) == (1, 3, {"vertices": 7, "edges": 8})
    first = found["exposure"][0]
    assert first["candidates"] == [{"candidates": 7, "vertices": 7}]
    assert set(first) >= {"knowledge", "estimate", "unique", "prosecutor", "journalist", "marketer"}
    assert set(found["recommendation"]) == {"options", "reason"}
    assert "Adler" not in out


def test_errors_of_the_command(ownership: Path, tmp_path: Path) -> None:
    rules = ownership / "control.vada"
    code, _, err = command("--data", f"own={tmp_path / 'no.csv'}", "--rules", rules)
    assert (code, "no.csv" in err, "there is no such file" in err) == (2, True, True)
    code, _, err = command("--rules", rules, "-x", "8")
    assert (code, "x = 8 is not between 1 and the number of vertices, 7" in err) == (2, True)
    assert command("--rules", rules, "-k", "1")[0] == 2
    empty = tmp_path / "empty.csv"
    empty.write_text("owner,company,share\n", encoding="utf-8")
    code, _, err = command("--data", f"own={empty}", "--rules", rules)
    assert (code, "the graph has no vertices" in err) == (2, True)
    assert command("--rules", tmp_path / "no.vada")[0] == 2
    code, _, err = command("--rules", rules, "--out", tmp_path / "no" / "risk.json")
    assert (code, f"there is no folder {tmp_path / 'no'}" in err) == (2, True)


def test_small_components_have_no_parts_that_are_estimated() -> None:
    """Parts of x vertices are all whole components or none: the published mode has nothing to add for."""
    own = [("A", "B", 0.6), ("B", "C", 0.7), ("E", "D", 0.2), ("F", "D", 0.2)]
    found = kgreason.risk("rules/control.vada", {"own": own})
    assert found.graph.n == 6
