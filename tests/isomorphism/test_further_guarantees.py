"""Further guarantees: degrees and neighbours' degrees that at least k vertices of a release share."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import AnonymizationError, ReleaseError
from kgreason.base.progress import SILENT
from kgreason.base.resources import resource
from kgreason.graph.generators import erdos_renyi, scale_free
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.graph.refinement import refined
from kgreason.isomorphism.anonymizers.assembly import is_symmetric, publish
from kgreason.isomorphism.anonymizers.degree_fillers import filled
from kgreason.isomorphism.anonymizers.degree_raises import DegreeRaises, pair_counts
from kgreason.isomorphism.anonymizers.further_guarantees import WithFurther
from kgreason.isomorphism.anonymizers.kguard import Kguard
from kgreason.isomorphism.anonymizers.kguard_published import PublishedKguard
from kgreason.isomorphism.anonymizers.klone import Klone
from kgreason.isomorphism.anonymizers.partition import partition
from kgreason.isomorphism.anonymizers.split_keep import SplitKeep
from kgreason.isomorphism.anonymizers.split_merge import SplitMerge
from kgreason.isomorphism.definition import Anonymizer, Augmented
from kgreason.isomorphism.settings import Further
from kgreason.isomorphism.verification.checker import verify
from kgreason.isomorphism.verification.verdict import Certificate, Verdict
from kgreason.isomorphism.verification.vertex_knowledge import shared_knowledge
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import load_file
from tests.cli.test_commands import run
from tests.examples import inputs
from tests.folders import REAL
from tests.graphs import graphs, mirrored
from tests.isomorphism.test_kguard_published import REACH, RULES
from tests.needs import quick

CONTROL, REACHABILITY = resource("rules", "control.vada"), resource("rules", "reachability.vada")
DEGREE: tuple[Further, ...] = ("degree",)
NEIGHBOURS: tuple[Further, ...] = ("degree", "neighbours")


def known(graph: KnowledgeGraph, further: Further) -> list[Hashable]:
    """What an attacker knows of each vertex, in plain Python: docs/risk.md and nothing else."""
    into, out, ties = Counter[int](), Counter[int](), dict[tuple[int, int], Counter[tuple[str, int]]]()
    for name, relation in graph.relations.items():
        for u, v in zip(relation.source.tolist(), relation.target.tolist(), strict=True):
            out[u] += 1
            into[v] += 1
            for one, other, way in ((u, v, 1), (v, u, -1)):
                ties.setdefault((one, other), Counter())[name, way] += 1
    degree = [(into[v], out[v]) for v in range(graph.n)]
    if further == "degree":
        return list(degree)
    around: list[Counter[Hashable]] = [Counter() for _ in degree]
    for (one, other), edges in ties.items():
        around[one][frozenset(edges.items()), degree[other]] += 1
    return [(degree[v], frozenset(around[v].items())) for v in range(graph.n)]


def shared(graph: KnowledgeGraph, further: Further) -> int:
    """Least number of vertices of which an attacker knows the same."""
    return min(Counter(known(graph, further)).values())


def anonymizer(method: str, k: int, x: int, further: tuple[Further, ...]) -> Anonymizer:
    if method == "published":
        return PublishedKguard(k, x, 1, 10**7)
    return Klone(k, 1) if method == "klone" else Kguard(k, (x,), 1, 10**9, plans=1, degrees=further == DEGREE)


def made(
    graph: KnowledgeGraph, rules: CheckedProgram, inner: Anonymizer, k: int, further: tuple[Further, ...]
) -> Augmented:
    return WithFurther(inner, k, further).augment(graph, rules, np.random.default_rng(0), SILENT)


def checked(
    graph: KnowledgeGraph, augmented: Augmented, rules: CheckedProgram, x: int, **more: Any
) -> Verdict:
    release = publish(augmented, frozenset(graph.labels.tolist()), np.random.default_rng(1))
    guarantee, certificate = augmented.guarantee, None
    if release.copies is not None:
        certificate = Certificate(guarantee.k, copies=release.copies)
    arguments = graph, release.graph, release.mapping, rules, guarantee.k, x
    return verify(*arguments, certificate=certificate, further=guarantee.further, **more)


@settings(max_examples=inputs(60), deadline=None)
@given(
    graphs(least=3, most=9, edges=14),
    st.sampled_from([RULES, REACH]),
    st.sampled_from(["kguard", "klone", "published"]),
    st.integers(2, 4),
    st.integers(1, 3),
    st.sampled_from([DEGREE, NEIGHBOURS]),
    st.booleans(),
)
def test_k_vertices_share_what_is_known_and_images_stay(
    drawn: KnowledgeGraph,
    rules: CheckedProgram,
    method: str,
    k: int,
    x: int,
    further: tuple[Further, ...],
    both: bool,
) -> None:
    graph = mirrored(drawn) if both else drawn
    if k > math.comb(graph.n, x):
        return
    augmented = made(graph, rules, anonymizer(method, k, x, further), k, further)
    released = augmented.graph
    assert released.components()[0] == 1
    assert is_symmetric(released) == is_symmetric(graph)
    for one in further:
        assert shared(released, one) >= k
    verdict = checked(graph, augmented, rules, x)
    # the published KGUARD does not give images to all subgraphs
    failing = {item.name for item in verdict.items if not item.holds}
    assert failing <= ({"images"} if method == "published" else set()), str(verdict)
    alone = Counter(zip(*(ends.tolist() for ends in released.ends), strict=True))
    before = Counter(zip(*(ends.tolist() for ends in graph.ends), strict=True))
    assert all(alone[pair] >= count for pair, count in before.items())


@pytest.mark.parametrize("further", [DEGREE, NEIGHBOURS])
@pytest.mark.parametrize("method", quick(2, ["kguard", "klone", "published"]))
def test_graphs_of_usual_shapes(method: str, further: tuple[Further, ...]) -> None:
    rng = np.random.default_rng(1)
    economic, random = scale_free(60, 3.0, rng, economic=True), erdos_renyi(60, 200, rng)
    for graph, rules in ((economic, RULES), (random, REACH), (mirrored(random), REACH)):
        augmented = made(graph, rules, anonymizer(method, 3, 3, further), 3, further)
        assert all(shared(augmented.graph, one) >= 3 for one in further)
        verdict = checked(graph, augmented, rules, 3)
        assert verdict.holds or (method == "published" and verdict["degrees"].holds), str(verdict)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("method", ["kguard", "klone"])
@pytest.mark.parametrize("further", [DEGREE, NEIGHBOURS])
def test_graphs_in_parts(method: str, further: tuple[Further, ...], keep: bool) -> None:
    graph = erdos_renyi(60, 120, np.random.default_rng(2))
    rules = load_file(str(REACHABILITY))
    parts = partition(graph, 30, 2)
    inner = anonymizer(method, 2, 2, NEIGHBOURS)
    divided: Anonymizer = SplitKeep(inner, parts, 2, 2) if keep else SplitMerge(inner, parts)
    augmented = made(graph, rules, divided, 2, further)
    assert all(shared(augmented.graph, one) >= 2 for one in further)
    verdict = checked(graph, augmented, rules, 2, parts=None if keep else parts)
    assert verdict.as_promised, str(verdict)


def test_few_degrees_are_raised_rather_than_filled() -> None:
    """A third of the vertices of a dense random graph has a pair of degrees of its own."""
    graph = erdos_renyi(200, 3_000, np.random.default_rng(0))
    augmented = made(graph, REACH, anonymizer("kguard", 3, 2, DEGREE), 3, DEGREE).graph
    assert augmented.n - graph.n < 10
    assert augmented.m - graph.m < graph.m / 20


def test_a_rotation_maps_a_release_of_copies_onto_itself() -> None:
    graph = scale_free(40, 2.5, np.random.default_rng(3), economic=True)
    augmented = made(graph, RULES, anonymizer("kguard", 3, 2, NEIGHBOURS), 3, NEIGHBOURS).graph
    for relation in augmented.relations.values():
        rows = zip(relation.source.tolist(), relation.target.tolist(), relation.weight.tolist(), strict=True)
        rotated = [
            ((u + augmented.n // 3) % augmented.n, (v + augmented.n // 3) % augmented.n) for u, v, _ in rows
        ]
        assert Counter(rotated) == Counter(
            zip(relation.source.tolist(), relation.target.tolist(), strict=True)
        )
    assert np.bincount(refined(augmented, augmented.n)).min() >= 3  # knowledge of any number of hops


@pytest.mark.slow
def test_risk_tells_the_price_beforehand(tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    assert run("generate", "ownership", "-n", "100", "--seed", "3", "--out", table).exit_code == 0
    data = {"own": table}
    found = kgreason.risk(CONTROL, data, k=3, x=2)
    names = [method.name for method in found.advice.further]
    assert [name.split(" --also ")[1] for name in names] == 2 * ["degree", "neighbours"]
    for method in found.advice.further:
        name = "klone" if "klone" in method.options else "kguard"
        also = method.options.split()[-1]
        score = kgreason.anonymize(CONTROL, data, method=name, k=3, x=2, also=also, trials=1, seed=1).score
        assert method.cost is not None
        for cost, added in (
            (method.cost.vertices, score.fidelity.vertices_added),
            (method.cost.edges, score.fidelity.edges_added),
        ):
            assert cost.low <= added <= cost.high, (method.options, added)
    assert [entry["name"] for entry in found.as_dict()["further"]] == names
    printed = run("risk", "--rules", CONTROL, "--data", f"own={table}", "-x", "2").stdout
    assert all(f"\n{name}  " in printed for name in names)


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason="the real graphs of ../shared/data are not there")
@pytest.mark.parametrize(
    ("file", "share"),
    [
        ("infect-dublin.edges", 0.1),
        ("1138_bus.mtx?scale=abs", 0.01),
        ("soc-sign-bitcoinalpha.csv.gz?columns=1,2,3&scale=minmax&header=false", 0.15),
    ],
)
def test_real_graphs(file: str, share: float) -> None:
    data = {"own": f"{REAL}/weighted/{file}"}
    found = kgreason.anonymize(REACHABILITY, data, k=3, x=3, also="degree", trials=1, seed=1)
    assert found.holds
    assert shared(found.release.graph, "degree") >= 3
    assert found.score.fidelity.vertices_added == 0
    assert found.score.fidelity.edges_added < share * found.original.m


# --- the steps ----------------------------------------------------------------------------------------------


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(least=2, most=12, edges=30), st.integers(2, 4), st.booleans(), st.integers(0, 100))
def test_raises_only_raise_and_leave_some_as_they_are(
    drawn: KnowledgeGraph, k: int, both: bool, seed: int
) -> None:
    graph, rng = mirrored(drawn) if both else drawn, np.random.default_rng(seed)
    inner, outer = graph.in_degree(), graph.out_degree()
    movable = rng.random(graph.n) < 0.7
    raises = DegreeRaises(inner, outer, k, movable=movable, symmetric=both)
    raises.run(rng)
    more = raises.inner - inner, raises.outer - outer
    assert min(map(np.min, more)) >= 0
    assert not any(degrees[~movable].any() for degrees in more)
    if both:
        assert (more[0] == more[1]).all()
    before, after = (pair_counts(*degrees)[2] for degrees in ((inner, outer), (raises.inner, raises.outer)))
    assert after[after < k].sum() <= before[before < k].sum()


@settings(max_examples=inputs(100), deadline=None)
@given(
    graphs(least=2, most=12, edges=30),
    st.lists(st.integers(0, 11), max_size=8),
    st.integers(1, 4),
    st.booleans(),
)
def test_fillers_supply_what_is_promised_and_all_pairs_are_frequent(
    drawn: KnowledgeGraph, ends: list[int], k: int, both: bool
) -> None:
    graph = mirrored(drawn) if both else drawn
    ends = [v % graph.n for v in ends]
    promised = (ends, ends) if both else (ends[::2], ends[1::2])
    start = graph.in_degree(), graph.out_degree()
    degrees = tuple(
        d + np.bincount(np.array(e, dtype=np.int64), minlength=graph.n)
        for d, e in zip(start, promised, strict=True)
    )
    found = filled(
        (degrees[0], degrees[1]),
        promised,
        k,
        lambda u, v: (u + v) % 3 > 0,
        np.random.default_rng(0),
        symmetric=both,
    )
    if found is None:
        assert k > 1
        return
    n, (source, target) = len(found.inner), found.edges
    edges = list(zip(source.tolist(), target.tolist(), strict=True))
    ways = [*edges, *((v, u) for u, v in edges)] if both else edges
    assert len(set(ways)) == len(ways)
    assert all(u != v for u, v in edges)
    assert all((u + v) % 3 > 0 for u, v in edges if max(u, v) < graph.n)
    for into, before, after in ((1, start[0], found.inner), (0, start[1], found.outer)):
        more = Counter(edge[into] for edge in ways)
        assert [more[v] for v in range(n)] == (after - np.pad(before, (0, n - graph.n))).tolist()
    assert pair_counts(found.inner, found.outer)[2].min() >= min(k, 1 if k == 1 else k)
    if n > graph.n:  # all new vertices are connected to the graph
        reached, left = set(range(graph.n)), set(edges)
        while more_edges := {e for e in left if reached & set(e)}:
            left -= more_edges
            reached |= {v for e in more_edges for v in e}
        assert len(reached) == n


# --- the checker --------------------------------------------------------------------------------------------


@settings(max_examples=inputs(150), deadline=None)
@given(graphs(least=1, most=9, edges=12), st.integers(1, 4))
def test_the_checker_counts_as_the_definition_says(graph: KnowledgeGraph, k: int) -> None:
    for further, item in zip(NEIGHBOURS, shared_knowledge(graph, k, NEIGHBOURS), strict=True):
        assert item.holds == (shared(graph, further) >= k)
        few = [count for count in Counter(known(graph, further)).values() if count < k]
        assert not few or item.detail.startswith(f"{sum(few):,} of {graph.n:,} ")


@pytest.fixture(scope="module", params=[DEGREE, NEIGHBOURS], ids=["degree", "neighbours"])
def released(request: pytest.FixtureRequest) -> kgreason.Anonymization:
    graph = scale_free(40, 2.5, np.random.default_rng(5), economic=True)
    also = request.param[-1]
    return kgreason.anonymize(CONTROL, graph, k=3, x=2, also=also, trials=1, seed=1, plans=1)


def graphs_of(result: kgreason.Anonymization) -> tuple[KnowledgeGraph, KnowledgeGraph, Any]:
    return result.original, result.release.graph, result.release.mapping


def test_a_changed_edge_fails(released: kgreason.Anonymization) -> None:
    further = released.release.guarantee.further
    assert released.holds
    original, graph, mapping = graphs_of(released)
    relation, failed = graph.relations["own"], 0
    for row in np.random.default_rng(0).choice(len(relation), 4, replace=False).tolist():
        target = relation.target.copy()
        target[row] = (target[row] + 1) % graph.n
        changed = KnowledgeGraph(graph.labels, {"own": Relation(relation.source, target, relation.weight)})
        verdict = kgreason.verify(original, changed, mapping, CONTROL, k=3, x=2, also=further)
        for one, name in zip(further, ("degrees", "neighbours' degrees"), strict=False):
            assert verdict[name].holds == (shared(changed, one) >= 3)
            failed += not verdict[name].holds
    assert failed


def test_a_certificate_states_them_and_is_not_believed(released: kgreason.Anonymization) -> None:
    further, certificate = released.release.guarantee.further, released.verdict.certificate
    assert certificate is not None
    assert certificate.further == further
    verdict = kgreason.verify(*graphs_of(released), CONTROL, k=3, x=2, certificate=certificate)
    assert verdict.holds
    assert [item.name for item in verdict.items if "degrees" in item.name] == [
        "degrees",
        "neighbours' degrees",
    ][: len(further)]


def test_a_false_certificate_fails(tmp_path: Path) -> None:
    graph = scale_free(40, 2.5, np.random.default_rng(5), economic=True)
    folders = kgreason.Folders(tmp_path / "release", tmp_path / "private")
    plain = kgreason.anonymize(CONTROL, graph, k=3, x=2, trials=1, seed=1, plans=1, folders=folders)
    assert shared(plain.release.graph, "degree") < 3
    file = tmp_path / "private" / "certificate.json"
    data = json.loads(file.read_text())
    assert data["also"] == []
    read = kgreason.isomorphism.reading.read_release(
        load_file(str(CONTROL)), graph, tmp_path / "release", tmp_path / "private" / "mapping.csv"
    )
    graphs_read = read.original, read.released, read.mapping
    assert kgreason.verify(*graphs_read, CONTROL, k=3, x=2, certificate=file).holds
    file.write_text(json.dumps({**data, "also": ["degree"]}))
    verdict = kgreason.verify(*graphs_read, CONTROL, k=3, x=2, certificate=file)
    assert [item.name for item in verdict.items if not item.holds] == ["degrees"]
    del data["also"]  # as earlier versions wrote it
    file.write_text(json.dumps(data))
    assert kgreason.verify(*graphs_read, CONTROL, k=3, x=2, certificate=file).holds
    file.write_text(json.dumps({**data, "also": ["age"]}))
    with pytest.raises(ReleaseError, match=r"\['age'\] are no further guarantees"):
        kgreason.verify(*graphs_read, CONTROL, k=3, x=2, certificate=file)


# --- errors, command line, texts ------------------------------------------------------------------------------


def test_errors() -> None:
    graph = scale_free(20, 2.5, np.random.default_rng(5), economic=True)
    with pytest.raises(AnonymizationError, match="unknown further guarantee 'hubs'") as error:
        kgreason.anonymize(CONTROL, graph, also=["degree", "hubs"])
    assert error.value.hint == "choose degree or neighbours"
    with pytest.raises(AnonymizationError, match="k-Iso has no further guarantees"):
        kgreason.anonymize(CONTROL, graph, method="k-iso", also="degree")
    with pytest.raises(AnonymizationError, match="k-Iso has no further guarantees"):
        kgreason.verify_alone(graph, CONTROL, model="k-iso", also="degree")
    with pytest.raises(AnonymizationError, match="unknown further guarantee 3"):
        kgreason.verify_alone(graph, CONTROL, also=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("words", [("--also", "degree"), ("--also", "degree", "--also", "neighbours")])
def test_the_command_line_and_the_texts_of_a_release(tmp_path: Path, words: tuple[str, ...]) -> None:
    table, place = (
        tmp_path / "own.csv",
        ("--release", tmp_path / "release", "--private", tmp_path / "private"),
    )
    assert run("generate", "ownership", "-n", "60", "--seed", "3", "--out", table).exit_code == 0
    rules = ("--rules", CONTROL, "--data", f"own={table}")
    found = run("anonymize", *rules, *words, "-x", "2", "--plans", "1", *place, "--json")
    assert found.exit_code == 0, found.output
    text = "(3,2)-isomorphism with 3-anonymous degrees" + " and neighbours' degrees" * (len(words) > 2)
    result = json.loads(found.stdout)
    assert result["guarantee"] == text
    assert "degrees" in [item["name"] for item in result["verdict"]["items"]]
    readme = (tmp_path / "release" / "README.txt").read_text()
    assert f"Guarantee: {text}, for the edges own, control." in readme
    assert "finds at least 3 vertices." in readme
    public = json.loads((tmp_path / "release" / "report.json").read_text())
    assert "the degree of a vertex in the whole graph" not in json.dumps(public)
    judge = ("verify", tmp_path / "release", *rules, "--mapping", tmp_path / "private", "-x", "2")
    told = run(*judge)
    assert told.exit_code == 0, told.output
    assert f"-k 3 -x 2 {' '.join(words[-2:])} asks for that" in told.stderr
    report = json.loads((tmp_path / "private" / "report.json").read_text())["page"]
    (section,) = (part for part in report["sections"] if part["title"] == "Risk before and after")
    tables = {item["title"].split(":")[0]: item for item in section["items"] if item["kind"] == "table"}
    promised = {row[0]: row for row in tables["Candidates, promised"]["rows"]}
    assert int(promised["in- and out-degree"][2]) >= 3 > int(promised["in- and out-degree"][1])
    assert ("neighbours' degrees" in promised) == (len(words) > 2)
    assert "in- and out-degree" not in {row[0] for row in tables["Candidates, not promised"]["rows"]}
    good = run(*judge, *words, "--certificate", tmp_path / "private", "--json")
    assert good.exit_code == 0, good.output
    names = [item["name"] for item in json.loads(good.stdout)["items"]]
    assert {"degrees", "files", "certificate", *["neighbours' degrees"] * (len(words) > 2)} <= set(names)
    more = run(*judge, "--also", "neighbours")
    assert more.exit_code == (0 if len(words) > 2 else 1), more.output


def test_a_file_of_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("generate", "ownership", "-n", "40", "--seed", "3", "--out", "own.csv").exit_code == 0
    (tmp_path / "kgreason.toml").write_text('[anonymize]\nalso = ["degree"]\nx = 2\nplans = 1\n')
    found = run("anonymize", "--rules", CONTROL, "--data", "own=own.csv", "--json")
    assert json.loads(found.stdout)["guarantee"] == "(3,2)-isomorphism with 3-anonymous degrees"
