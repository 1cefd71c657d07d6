"""Inputs of the paper's algorithms that are not the graph: distributions of degrees and weights, labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import CallError, DataError, KgreasonError
from kgreason.base.progress import SILENT
from kgreason.cli import app
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.algorithm_inputs import AlgorithmInputs
from kgreason.isomorphism.anonymizers.assembly import publish
from kgreason.isomorphism.anonymizers.degree_distributions import DegreeDistribution, SampledDegrees
from kgreason.isomorphism.anonymizers.klone import Klone
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising
from kgreason.isomorphism.definition import Augmented, Guarantee
from kgreason.isomorphism.settings import Settings
from tests.examples import inputs
from tests.graphs import graphs
from tests.isomorphism.test_kguard_published import RULES

RULE = '@edge("own"). @derived("reach"). reach(X,Y) :- own(X,Y,W), W > 0.0.'
CHAIN = {"own": [(f"v{i}", f"v{i + 1}", 0.4) for i in range(6)]}
BOTH_WAYS = {"own": [(f"v{u}", f"v{v}", 0.4) for i in range(6) for u, v in ((i, i + 1), (i + 1, i))]}
LABELS = [f"L{i}" for i in range(400)]


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


@settings(max_examples=inputs(30), deadline=None)
@given(
    graphs(least=2, most=6, edges=9), st.integers(2, 4), st.lists(st.integers(0, 30), min_size=1), st.data()
)
def test_klone_draws_degrees_that_must_differ(
    graph: KnowledgeGraph, k: int, values: list[int], data: st.DataObject
) -> None:
    """A degree is that of another copy, a given value, or follows one that was taken: so the copies still differ."""
    draws = SampledDegrees(np.array(values))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    made = Klone(k, 1, degrees=(draws, draws)).augment(graph, RULES, rng, SILENT)
    for degree in (made.made.in_degree(), made.made.out_degree()):
        rows = np.sort(degree[: k * graph.n].reshape(k, graph.n), axis=0)
        assert (np.diff(rows, axis=0) > 0).all()


@pytest.mark.parametrize("method", [{"method": "klone"}, {"mode": "published"}, {"mode": "literal"}])
@pytest.mark.parametrize("which", ["in", "out"])
def test_given_degrees_are_drawn(method: dict[str, Any], which: str) -> None:
    """Degrees of 40 occur only if they are asked for, on the side for which they are."""
    found = kgreason.anonymize(RULE, CHAIN, k=3, x=2, seed=1, **method, **{f"{which}_degrees": [40]})
    plain = kgreason.anonymize(RULE, CHAIN, k=3, x=2, seed=1, **method)
    greatest = {side: int(getattr(found.release.graph, f"{side}_degree")().max()) for side in ("in", "out")}
    assert greatest[which] >= 40
    assert greatest["out" if which == "in" else "in"] < 40
    assert max(plain.release.graph.in_degree().max(), plain.release.graph.out_degree().max()) < 40
    if method == {"method": "klone"}:
        assert found.holds


@pytest.mark.parametrize(
    "method",
    [{}, {"method": "klone"}, {"mode": "published"}, {"mode": "literal"}, {"also": "degree"}],
)
def test_new_weights_are_distributed_as_given(method: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    edges = [
        (int(u), int(v), float(w))
        for (u, v), w in zip(rng.integers(0, 40, (90, 2)), 0.2 * rng.random(90), strict=True)
    ]
    graph = {"own": [edge for edge in edges if edge[0] != edge[1]]}
    found = kgreason.anonymize(RULE, graph, k=2, x=2, seed=1, weights_from=[0.8, 0.82, 0.84], **method)
    weight = found.release.graph.relations["own"].weight
    assert abs(weight.mean() - 0.82) < 0.02
    assert found.run.parameters["weights_from"] == "3 values"
    assert found.verdict["weights"].holds


def test_given_weights_stay_on_their_side_of_thresholds() -> None:
    graph = KnowledgeGraph.from_edges([("a", "b", 0.9), ("b", "c", 0.1)], relation="own")
    noising = WeightNoising.fit(graph, RULES, 1, np.array([0.3, 0.7]))
    for seed in range(20):
        drawn = noising.originals(np.random.default_rng(seed), SILENT).relations["own"].weight
        assert drawn[0] > 0.5 >= drawn[1]


@settings(max_examples=inputs(30), deadline=None)
@given(st.integers(1, 8), st.integers(0, 5), st.integers(0, 99))
def test_labels_are_assigned_at_random(n: int, more: int, seed: int) -> None:
    """Any label may be left over, and any vertex may have any label."""
    graph = KnowledgeGraph.from_edges([(f"v{i}", f"v{i + 1}") for i in range(n)])
    augmented = Augmented(graph, Guarantee(1, None), originals=graph.n)
    listed = LABELS[: graph.n + more]
    released = publish(augmented, None, np.random.default_rng(seed), listed).graph
    assert set(released.labels) <= set(listed)
    assert len(set(released.labels)) == graph.n


def test_the_first_vertex_gets_each_label_about_as_often() -> None:
    graph = KnowledgeGraph.from_edges([("a", "b")])
    augmented = Augmented(graph, Guarantee(1, None), originals=2)
    rng = np.random.default_rng(0)
    counts = dict.fromkeys(LABELS[:4], 0)
    for _ in range(400):
        made = publish(augmented, None, rng, LABELS[:4])
        counts[made.graph.labels[made.mapping[0]]] += 1
    assert all(60 < count < 140 for count in counts.values())


def test_a_release_with_labels_of_a_list_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.vada").write_text(RULE)
    (tmp_path / "own.csv").write_text("a,b,w\n" + "".join(f"{a},{b},{w}\n" for a, b, w in CHAIN["own"]))
    (tmp_path / "labels.txt").write_text("\n".join(LABELS) + "\n\n")
    words = ["--rules", "rules.vada", "--data", "own=own.csv"]
    made = run("anonymize", *words, "-k", "2", "-x", "2", "--labels", "labels.txt")
    assert made.exit_code == 0, made.output
    readme = (tmp_path / "release" / "README.txt").read_text()
    assert "Labels are from a list of the owner of the data, assigned at random." in readme
    assert "labels.txt" not in "".join(p.read_text() for p in (tmp_path / "release").glob("*.*"))
    checked = run("verify", "release", *words, "--mapping", "private", "-k", "2", "-x", "2", "--json")
    assert checked.exit_code == 0, checked.output
    assert "labels are from a list, whose words were not judged" in checked.output
    (tmp_path / "release" / "README.txt").write_text(readme.replace("assigned at random", "assigned"))
    assert run("verify", "release", *words, "--mapping", "private", "-k", "2", "-x", "2").exit_code == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"in_degrees": [3]}, "KGUARD in its exact mode draws no degrees, so it takes no --in-degrees"),
        ({"out_degrees": [3]}, "KGUARD in its exact mode draws no degrees, so it takes no --out-degrees"),
        *(
            ({"method": "k-iso", name: [1]}, "k-Iso takes no --")
            for name in ("in_degrees", "weights_from", "labels")
        ),
        ({"mode": "published", "in_degrees": "negative-binomial:3"}, "is no mean and variance"),
        ({"mode": "published", "in_degrees": "negative-binomial:3,2"}, "3,3 is Poisson"),
        *(
            ({"mode": "published", "in_degrees": f"negative-binomial:{numbers}"}, "is no mean and variance")
            for numbers in ("3,-9", "nan,9", "3,nan", "3,inf", "1e300,1e300", "3,1e300", "1e-300,3", "")
        ),
        ({"mode": "published", "in_degrees": [1.5]}, "in_degrees:1: '1.5': a degree is a whole number"),
        ({"mode": "published", "in_degrees": [1, -1]}, "in_degrees:2: '-1': a degree is a whole number"),
        ({"mode": "published", "out_degrees": "nowhere"}, "nowhere: cannot be read: No such file"),
        ({"weights_from": [0.5, 1.5]}, r"weights_from:2: '1.5': a weight lies in \[0, 1\]"),
        ({"weights_from": []}, "there are no values"),
        (
            {"labels": LABELS[:3]},
            "7 vertices or more need labels, and 3 are given\n  help: list at least 4 more",
        ),
        ({"labels": [*LABELS, "v0", "v1"]}, "2 of the labels are labels of the graph, for instance 'v0'"),
        ({"labels": [*LABELS, "L1"]}, "labels: 'L1' is listed twice"),
        ({"labels": [*LABELS, "17"]}, "labels:401: '17': a label begins with a letter"),
        ({"labels": [*LABELS, "NaN"]}, "labels:401: 'NaN': .* is no word such as true, null or nan"),
        ({"labels": [*LABELS, "a,b"]}, "labels:401: 'a,b': a label begins with a letter"),
    ],
)
def test_inputs_that_have_no_meaning_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(KgreasonError, match=message):
        kgreason.anonymize(RULE, CHAIN, **{"k": 2, "x": 2} | options)


def test_values_of_no_kind_are_refused() -> None:
    with pytest.raises(CallError, match="labels has the type int"):
        kgreason.anonymize(RULE, CHAIN, k=2, x=2, labels=7)  # type: ignore[arg-type]


def test_too_few_labels_for_new_vertices() -> None:
    """How many vertices are made is known late."""
    with pytest.raises(KgreasonError, match="vertices or more need labels, and 20 are given"):
        kgreason.anonymize(RULE, CHAIN, k=3, x=2, method="klone", labels=LABELS[:20], seed=0)


def test_out_degrees_of_a_graph_with_all_reverses_are_refused() -> None:
    with pytest.raises(KgreasonError, match="so a vertex has one degree, drawn from --in-degrees"):
        kgreason.anonymize(RULE, BOTH_WAYS, k=2, x=2, mode="published", out_degrees=[3])
    found = kgreason.anonymize(RULE, BOTH_WAYS, k=3, x=2, method="klone", in_degrees=[30], seed=0)
    assert found.release.graph.out_degree().max() >= 30


def test_weights_of_a_graph_without_weights_are_refused() -> None:
    rules = '@edge("own"). @derived("reach"). reach(X,Y) :- own(X,Y).'
    with pytest.raises(KgreasonError, match="the edges of the graph have no weights"):
        kgreason.anonymize(rules, {"own": [("a", "b"), ("c", "d")]}, k=2, x=1, weights_from=[0.5])


def test_lines_of_files_are_named(tmp_path: Path) -> None:
    file = tmp_path / "degrees.txt"
    file.write_text("1\n\n2\nthree\n")
    with pytest.raises(DataError, match=r"degrees.txt:4: 'three': a degree is a whole number"):
        AlgorithmInputs.of(Settings(mode="published", in_degrees=file))
    file.write_text("\ufeff1\r\n\r\n2\r\n", encoding="utf-8")
    read = AlgorithmInputs.of(Settings(mode="published", in_degrees=str(file))).in_degrees
    assert isinstance(read, SampledDegrees)
    assert read.values.tolist() == [1, 2]
    named = AlgorithmInputs.of(Settings(method="klone", out_degrees="negative-binomial:3,9")).out_degrees
    assert isinstance(named, DegreeDistribution)
    assert (named.mean, named.variance) == (3.0, 9.0)


def test_each_label_of_a_format_is_kept(tmp_path: Path) -> None:
    """Labels that look like other values are refused; others are read back as they are, accents included."""
    labels = [f"É{i}" for i in range(20)] + [f"e{i}" for i in range(20)] + [f"x-{i}_Y" for i in range(20)]
    for format in ("csv", "graphml"):
        folders = kgreason.Folders(tmp_path / f"{format}-r", tmp_path / f"{format}-p", format=format)
        found = kgreason.anonymize(RULE, CHAIN, k=2, x=2, labels=labels, folders=folders)
        assert found.holds
        assert set(found.mapping.values()) <= set(labels)
