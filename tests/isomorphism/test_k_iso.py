"""k-Iso releases: verified, counted, and no protection against what the rules derive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.progress import SILENT
from kgreason.cli import app
from kgreason.graph.generators import scale_free
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.isomorphism.anonymizers.assembly import publish
from kgreason.isomorphism.anonymizers.k_iso import Arcs, KIso, align, equal_blocks
from kgreason.isomorphism.definition import Guarantee
from kgreason.isomorphism.settings import Method
from kgreason.isomorphism.verification.block_checker import verify
from kgreason.isomorphism.verification.checker import delta
from kgreason.isomorphism.verification.image_search import Search
from kgreason.isomorphism.verification.verdict import Certificate
from kgreason.language.check.program_checker import load_text
from tests.examples import inputs
from tests.folders import ROOT
from tests.graphs import build, graphs, mirrored
from tests.isomorphism.test_verify import CONTROL, NOTHING, REACH, Brute
from tests.reference import aligned, common_edges

RULES = [CONTROL, REACH, NOTHING]


def listed(graph: KnowledgeGraph) -> list[tuple[int, int, int]]:
    relations = enumerate(graph.relations.values())
    return [
        (i, u, v) for i, r in relations for u, v in zip(r.source.tolist(), r.target.tolist(), strict=True)
    ]


@given(graphs(least=4, most=9), st.integers(2, 3), st.integers(0, 2**20), st.sampled_from([0.0, 1.0]))
@settings(deadline=None, max_examples=inputs(60))
def test_places_are_those_of_the_plain_twin(graph, k, seed, heat) -> None:
    if not graph.m:
        return
    n, rng = -(-graph.n // k) * k, np.random.default_rng(seed)
    arcs, dice, at = Arcs.of(graph, n), rng.random(5 * 40), rng.permutation(n)
    place = np.empty(n, dtype=np.int64)
    place[at] = np.arange(n)
    before = common_edges(listed(graph), place.tolist(), k)
    expected = aligned(listed(graph), place.tolist(), k, heat, dice.tolist())
    gained = align(arcs.begin, arcs.key, arcs.count, place, at, k, heat, dice, 1 << 20)
    assert (place.tolist(), gained) == expected
    assert gained == common_edges(listed(graph), place.tolist(), k) - before
    assert at[place].tolist() == list(range(n))


@given(graphs(most=8, second=False), st.integers(2, 4), st.integers(0, 2**20))
@settings(deadline=None, max_examples=inputs(60))
def test_blocks_agree_with_the_fewest_changes(graph, k, seed) -> None:
    n, rng = -(-graph.n // k) * k, np.random.default_rng(seed)
    place, relation = rng.permutation(n), graph.relations["own"]
    row, block = np.divmod(place, k)
    counts = np.zeros((n, n, k), dtype=int)
    between = 0
    for u, v in zip(relation.source, relation.target, strict=True):
        if block[u] == block[v]:
            counts[row[u], row[v], block[u]] += 1
        else:
            between += 1
    fewest = between + sum(
        min(sum(abs(c - to) for c in each) for to in range(15)) for each in counts.reshape(-1, k).tolist()
    )
    found, kept = equal_blocks(relation, place, k, rng)
    assert len(relation) - kept + len(found) - kept == fewest
    old = set(zip(relation.source, relation.target, relation.weight, strict=True))
    new = list(zip(found.source, found.target, found.weight, strict=True))
    assert set(new[:kept]) <= old
    assert all(block[u] == block[v] for u, v, _ in new)


@given(graphs(most=9), st.integers(2, 4), st.sampled_from(RULES), st.booleans(), st.integers(0, 99))
@settings(deadline=None, max_examples=inputs(60))
def test_every_release_is_verified_and_its_changes_are_counted(graph, k, rules, both, seed) -> None:
    if rules is CONTROL:  # weights into a vertex sum to 1 at most
        r = graph.relations["own"]
        sums = np.maximum(np.bincount(r.target, r.weight, graph.n), 1)
        graph = KnowledgeGraph(
            graph.labels,
            graph.relations | {"own": Relation(r.source, r.target, r.weight / sums[r.target])},
        )
    graph = (mirrored(graph) if both and rules is not CONTROL else graph).distinct()
    rng = np.random.default_rng(seed)
    release = publish(KIso(k, 2).augment(graph, rules, rng, SILENT), graph.labels.tolist(), rng)
    verdict = verify(release.graph, rules, k, 2, graph, release.mapping)
    assert verdict.holds, str(verdict)
    assert release.graph.m == release.graph.distinct().m
    figures = release.figures
    assert verdict.edits is not None
    assert verdict.edits.as_dict() == {
        name: figures[name] for name in ("vertices_added", "edges_inserted", "edges_deleted")
    }
    assert release.guarantee == Guarantee(k, None, deleted=int(figures["edges_deleted"]), model="k-iso")
    assert figures["vertices_added"] == -graph.n % k
    assert release.graph.m == graph.m + figures["edges_inserted"] - figures["edges_deleted"]


def test_equal_blocks_are_found_and_nothing_is_changed() -> None:
    edges = [(0, 1, 0.5), (1, 2, 0.25), (2, 3, 1.0), (1, 3, 0.2), (3, 4, 0.3), (4, 5, 0.3)]
    three = build(18, [(u + c, v + c, w) for c in (0, 6, 12) for u, v, w in edges])
    found = KIso(3, 10).augment(three, REACH, np.random.default_rng(0), SILENT)
    assert (found.figures["edges_inserted"], found.figures["edges_deleted"]) == (0, 0)


def test_parallel_edges_that_are_inserted_get_weights_of_their_own() -> None:
    graph = build(4, [(0, 1, w) for w in (0.2, 0.3, 0.4, 0.5, 0.6)] + [(2, 3, 0.2)])
    for seed in range(5):
        found = KIso(2, 10).augment(graph, REACH, np.random.default_rng(seed), SILENT)
        assert found.figures["edges_inserted"] == 4
        assert found.graph.distinct().m == 10


def test_a_seed_makes_the_same_release() -> None:
    graph = scale_free(60, 3, np.random.default_rng(1), economic=True)
    one, two = (
        kgreason.anonymize(TABLE_3["control"], graph, method="k-iso", seed=7, x=2).release.graph
        for _ in range(2)
    )
    assert one.labels.tolist() == two.labels.tolist()
    assert all(np.array_equal(a, b) for a, b in zip(one.ends, two.ends, strict=True))


# --- δ-anonymity --------------------------------------------------------------------------------------------


class Alike(Brute):
    """Images need not differ in degrees."""

    def differ(self, u: int, v: int) -> bool:
        return u != v


@given(graphs(most=6, edges=8), st.sampled_from(RULES), st.integers(2, 3), st.integers(1, 3))
@settings(deadline=None, max_examples=inputs(60))
def test_delta_is_that_of_brute_force(graph, rules, k, x) -> None:
    same = np.arange(graph.n)
    for diverse, brute in ((True, Brute), (False, Alike)):
        found = delta(graph, rules, k, x, diverse)
        assert (found.satisfied, found.total) == brute(graph, graph, same, rules).delta(k, x)


def test_who_rates_is_never_rated_and_no_search_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = build(12, [(u, v, 0.5) for u in range(6) for v in range(6, 12) if (u + v) % 5])
    assert delta(graph, REACH, 2, 3, diverse=False).satisfied > 0

    def searched(self: Search, rows: np.ndarray, classes: np.ndarray) -> np.ndarray:
        assert not len(rows)
        return classes

    monkeypatch.setattr(Search, "_search", searched)
    found = delta(graph, REACH, 2, 3)
    assert (found.satisfied, found.undecided) == (0, 0)
    reach = ROOT / "rules" / "reachability.vada"
    words = str(kgreason.verify(graph, graph, np.arange(12), reach, k=2, x=3))
    assert "ingoing and" in words
    assert "differ too little: number of in-degrees: 1" in words or "number of out-degrees: 1" in words


TABLE_3 = {
    derived: load_text(f"""@node("company"). @edge("own"). @incoming_sum("own", 1.0). @derived("{derived}").
    @output("control"). @output("ultimate").
    control(X,X) :- company(X).
    control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.
    controlled(Y) :- control(X,Y), X != Y.
    ultimate(X,Y) :- control(X,Y), X != Y, not controlled(X).
    """)
    for derived in ("control", "ultimate")
}


def power_law() -> KnowledgeGraph:
    return scale_free(100, 3, np.random.default_rng(0), economic=True)


@pytest.mark.parametrize("derived", TABLE_3)
def test_derived_edges_break_k_iso(derived: str) -> None:
    """Table 3 of the KGISO paper, PowerLaw-100: k = 3, x = 4."""
    baseline = kgreason.anonymize(TABLE_3[derived], power_law(), method="k-iso", seed=1)
    diverse, alike = baseline.verdict.delta, baseline.verdict.alike
    assert baseline.holds
    assert diverse is not None
    assert alike is not None
    assert diverse.exact
    assert alike.exact
    assert diverse.value < alike.value < 1


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"method": "klone"}, {"plans": 1}], ids=["klone", "kguard"])
@pytest.mark.parametrize("derived", TABLE_3)
def test_derived_edges_do_not_break_the_others(derived: str, options: dict[str, Any]) -> None:
    """The other columns of Table 3."""
    found = kgreason.anonymize(TABLE_3[derived], power_law(), seed=1, **options).verdict
    assert found.holds
    assert found.delta is not None
    assert found.delta.value == 1


def test_reachability_over_positive_weights_cannot_break_blocks() -> None:
    """It derives the same from the same edges, so that degrees alone tell blocks apart."""
    graph = scale_free(60, 3, np.random.default_rng(0))
    found = kgreason.anonymize(ROOT / "rules" / "reachability.vada", graph, method="k-iso", seed=1).verdict
    assert found.alike is not None
    assert found.delta is not None
    assert found.alike.value == 1 > found.delta.value


@pytest.mark.slow
@pytest.mark.parametrize("method", ["k-iso", "klone"])
def test_reachability_of_table_3(method: Method) -> None:
    """PowerLaw-100: k-Iso does not make degrees differ; KLONE's release is searched without a certificate."""
    reach, graph = ROOT / "rules" / "reachability.vada", power_law()
    made = kgreason.anonymize(reach, graph, method=method, seed=1)
    if method == "k-iso":
        found = made.verdict
    else:
        found = kgreason.verify(graph, made.release.graph, made.release.mapping, reach)
    assert found.holds
    assert found.delta is not None
    assert found.delta.exact
    assert found.delta.value < 0.1 if method == "k-iso" else found.delta.value == 1


@pytest.mark.slow
def test_infect_dublin_of_table_3(real_data: Path) -> None:
    """With x = 3, which is quick."""
    data = {"own": f"{real_data}/weighted/infect-dublin.edges"}
    made = kgreason.anonymize(ROOT / "rules" / "reachability.vada", data, method="k-iso", seed=1, x=3)
    assert made.holds
    assert made.verdict.delta is not None
    assert made.verdict.delta.value < 1


def test_too_many_subgraphs_leave_delta_open_and_the_rest_decided() -> None:
    graph = scale_free(60, 3, np.random.default_rng(0))
    told = []

    class Notes(type(SILENT)):  # type: ignore[misc]
        def note(self, message: str) -> None:
            told.append(message)

    found = kgreason.anonymize(
        TABLE_3["control"],
        scale_free(60, 3, np.random.default_rng(0), economic=True),
        method="k-iso",
        max_subgraphs=5,
        progress=Notes(),
    )
    assert graph.n == 60
    assert found.holds
    assert found.verdict.delta is None
    assert any(note.startswith("δ is not measured: the graph has more than 5") for note in told)


def test_a_sample_estimates_delta() -> None:
    graph = scale_free(100, 3, np.random.default_rng(0), economic=True)
    rules = TABLE_3["control"]
    released = kgreason.anonymize(rules, graph, method="k-iso", seed=1, x=3).release.graph
    found = kgreason.verify_alone(released, rules, x=3, sample=50, seed=0, model="k-iso")
    assert found.holds
    assert found.delta is not None
    assert found.delta.sampled
    assert found.delta.total == 50


# --- command line -------------------------------------------------------------------------------------------


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def release(ownership: Path) -> Path:
    """A folder with a k-Iso release of the small ownership graph."""
    folders = "--release", ownership / "release", "--private", ownership / "private"
    result = run(
        "anonymize", "--rules", ownership / "control.vada", "--method", "k-iso", "-k", 2, "-x", 2, *folders
    )
    assert result.exit_code == 0, result.output
    for words in ("2 isomorphic blocks", "NOT PROTECTED", "verified", "holds", "whatever degrees", "deleted"):
        assert words in result.output
    return ownership


def test_a_release_says_that_it_is_a_baseline(release: Path) -> None:
    assert not (release / "release" / "UNVERIFIED").exists()
    text = (release / "release" / "README.txt").read_text()
    assert "NOT PROTECTED: derived edges" in text
    assert "same degrees" in text
    assert "Confirmed by an exact check.\n" in text
    report = json.loads((release / "private" / "report.json").read_text())
    assert report["verdict"]["model"] == "k-iso"
    assert report["verdict"]["edits"]["edges_deleted"] > 0
    assert report["verdict"]["delta_alike"]["exact"]


def test_a_release_is_verified_with_its_original_and_alone(release: Path) -> None:
    rules = "--rules", release / "control.vada", "--model", "k-iso", "-x", 2
    data = f"own={release / 'own.csv'}?percent=true"
    known = "verify", release / "release", "--data", data, "--mapping", release / "private"
    found = run(*known, *rules, "-k", 2)
    assert found.exit_code == 0
    assert "changes" in found.output
    assert "holds for k = 2" in found.output
    alone = run("verify", release / "release", *rules, "-k", 2)
    assert alone.exit_code == 0
    assert "undecidable alone" in alone.output
    wrong = run("verify", release / "release", *rules, "-k", 3)
    assert wrong.exit_code == 1
    assert "no multiples of 3" in wrong.output
    other = run(*known, *rules[:2], "-x", 2, "-k", 2)  # it is no (k,x)-isomorphism anonymization
    assert other.exit_code == 1
    assert "augmentation" in other.output


def test_isolated_vertices_are_read_from_a_release_of_rules_without_nodes(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("source,target,weight\na,b,0.5\n")
    rules = ROOT / "rules" / "reachability.vada"
    folders = "--release", tmp_path / "release", "--private", tmp_path / "private"
    data = f"own={tmp_path / 'own.csv'}"
    made = run("anonymize", "--rules", rules, "--data", data, "--method", "k-iso", *folders)
    assert made.exit_code == 0
    assert "1 edges deleted" in made.output
    assert len((tmp_path / "release" / "nodes.csv").read_text().split()) == 4
    found = run("verify", tmp_path / "release", "--rules", rules, "--model", "k-iso")
    assert found.exit_code == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--split", "10"], "k-Iso divides the graph itself"),
        (["--mode", "published"], "only KGUARD has modes"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    ownership: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("anonymize", "--rules", ownership / "control.vada", "--method", "k-iso", *more)
    assert result.exit_code == 2
    assert words in result.output


def test_unknown_models_are_refused() -> None:
    with pytest.raises(kgreason.AnonymizationError, match="unknown model 'iso'"):
        kgreason.verify_alone(build(2, [(0, 1, 0.5)]), NOTHING, model="iso")  # type: ignore[arg-type]


def test_a_certificate_says_nothing_of_blocks() -> None:
    graph = build(2, [(0, 1, 0.5)])
    with pytest.raises(kgreason.AnonymizationError, match="a certificate shows images, not blocks"):
        kgreason.verify(graph, graph, np.arange(2), NOTHING, model="k-iso", certificate=Certificate(2))
