"""t-closeness of released values: the checker against definitions, clusters that are merged, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

import kgreason
from kgreason.base.errors import AnonymizationError
from kgreason.cli import app
from kgreason.links.anonymizers import apply
from kgreason.links.close_clusters import check_given, close_clusters
from kgreason.links.closeness import close, distances
from kgreason.links.model import LinkGraph, Original, Released, Sensitive
from kgreason.links.settings import Strategy
from kgreason.links.verification import verify_links
from kgreason.people.model import Kind, attribute
from tests.examples import inputs

Sets = list[set[int]]


def graph(sets: Sets, kind: Kind = "numeric", size: list[int] | None = None) -> LinkGraph:
    user = [node for node, values in enumerate(sets) for _ in values]
    text = [str(value) for values in sets for value in values]
    a = attribute(kind, np.array(user, dtype=np.int64), np.array([*text, None], dtype=object)[:-1])
    labels = np.array([*(f"n{i}" for i in range(len(sets))), None], dtype=object)[:-1]
    return LinkGraph(labels, {}, {"salary": a}, np.array(size or [1] * len(sets), dtype=np.int64))


def naive(sets: Sets, kind: Kind, size: list[int]) -> list[float]:
    """Distance of each node, by the definitions of both distances over all values."""
    values = sorted(set().union(*sets))
    having = sum(n for own, n in zip(sets, size, strict=True) if own)
    spread = [{v: 1 / len(own) for v in own} for own in sets]
    overall = [sum(n * own.get(v, 0) for own, n in zip(spread, size, strict=True)) / having for v in values]
    found = []
    for own in spread:
        share = [own.get(v, 0) for v in values]
        if not own:
            found.append(having / sum(size))
            continue
        ranks = range(len(values))
        apart = (
            wasserstein_distance(ranks, ranks, share, overall) / max(len(values) - 1, 1)
            if kind == "numeric"
            else sum(abs(p - q) for p, q in zip(share, overall, strict=True)) / 2
        )
        found.append(max(apart, 1 - having / sum(size)))
    return found


SOME = st.lists(st.sets(st.integers(-3, 12), max_size=4), min_size=1, max_size=6).filter(any)
KINDS = st.sampled_from(["numeric", "categorical"])


@settings(max_examples=inputs(150), deadline=None)
@given(SOME, KINDS, st.data())
def test_distances_are_those_of_the_definition(sets: Sets, kind: Kind, data: st.DataObject) -> None:
    size = data.draw(st.lists(st.integers(1, 9), min_size=len(sets), max_size=len(sets)))
    (found,) = distances(graph(sets, kind, size))
    expected = naive(sets, kind, size)
    assert found.distance == pytest.approx(max(expected), abs=1e-12)
    assert expected[int(found.node[1:])] == pytest.approx(found.distance, abs=1e-12)


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_distances_do_not_depend_on_the_order_of_nodes(kind: Kind) -> None:
    """Not in the last digit either: the published report, which has them, is compared byte for byte."""
    rng = np.random.default_rng(2)
    rows = [({*rng.integers(0, 9, rng.integers(1, 7)).tolist()}, int(rng.integers(1, 9))) for _ in range(40)]
    found = set()
    for _ in range(20):
        some = [rows[i] for i in rng.permutation(len(rows))]
        found.add(distances(graph([own for own, _ in some], kind, [n for _, n in some]))[0].distance)
    assert len(found) == 1


@pytest.mark.parametrize(("salaries", "distance"), [({3, 4, 5}, 0.375), ({6, 8, 11}, 1 / 6)])
def test_salaries_of_the_paper(salaries: set[int], distance: float) -> None:
    """Li et al. 2007, section 5: among nine salaries, 3k to 5k are at 0.375, and 6k, 8k and 11k at 0.167."""
    many = 10**9
    (found,) = distances(graph([salaries, set(range(3, 12))], size=[3, many]))
    assert (found.node, found.distance) == ("n0", pytest.approx(distance, abs=1e-6))


def test_numbers_that_are_written_differently_are_one_value() -> None:
    a = attribute("numeric", np.array([0, 1, 1]), np.array(["1", "1.0", "2"], dtype=object))
    both = LinkGraph(np.array(["a", "b"], dtype=object), {}, {"age": a})
    assert distances(both) == distances(
        LinkGraph(both.labels, {}, {"age": graph([{1}, {1, 2}]).attributes["salary"]})
    )


def test_the_furthest_cluster_is_named() -> None:
    far = graph([{3, 4, 5}, {6, 8, 11}, {7, 9, 10}])
    verdict = verify_links(Released(far, "cluster-edge"), k=1, closeness=0.37)
    assert not verdict.holds
    assert verdict["closeness"].witnesses == ("n0 is furthest in salary: 0.375",)
    assert verdict["closeness"].detail.endswith("by more than 0.37 in salary")
    assert verdict.asked == "cluster-edge with k = 1 and closeness 0.37"
    fine = verify_links(Released(far, "cluster-edge"), closeness=0.375)
    assert fine["closeness"].holds
    assert fine.as_dict()["distances"] == {"salary": {"distance": pytest.approx(0.375), "node": "n0"}}
    broken = LinkGraph(far.labels, {}, far.attributes, np.array([0, 1, 1]))
    assert verify_links(Released(broken, "cluster-edge"), closeness=0.375)["closeness"].state == "undecided"


def both_ways(sets: Sets, kind: Kind, clusters: list[int], most: float) -> tuple[bool, bool]:
    """Whether merged clusters are close, as the merging and as the checker say."""
    people = graph(sets, kind)
    made, _ = apply(people, np.array(clusters), "cluster-edge", 0, np.random.default_rng(0))
    try:
        check_given(people, np.array(clusters), most)
    except AnonymizationError:
        return False, close(distances(made), most).holds
    return True, close(distances(made), most).holds


@settings(max_examples=inputs(150), deadline=None)
@given(SOME, KINDS, st.floats(0, 1), st.data())
def test_merging_and_checker_agree(sets: Sets, kind: Kind, most: float, data: st.DataObject) -> None:
    several = data.draw(st.integers(1, len(sets)))
    clusters = np.array(sorted(i % several for i in range(len(sets))))
    merging, checker = both_ways(sets, kind, clusters.tolist(), most)
    assert merging == checker
    try:
        found = close_clusters(graph(sets, kind), clusters, most, np.random.default_rng(0))
    except AnonymizationError as error:
        assert several > 1  # of one cluster all is close
        best = float(re.findall(r"came to ([0-9.]+)", str(error))[0])
        assert best >= most - 1e-3
        return
    assert both_ways(sets, kind, found.tolist(), most) == (True, True)
    assert all(len(set(found[clusters == c].tolist())) == 1 for c in range(several))
    assert not merging or found.max() + 1 == several  # nothing is merged without need


def test_many_clusters_are_merged_a_little() -> None:
    rng = np.random.default_rng(3)
    people = graph([{int(age)} for age in rng.integers(0, 30, 900)])
    found = close_clusters(people, np.arange(900) // 3, 0.2, rng)
    assert 60 < found.max() + 1 < 300
    assert np.bincount(found).max() <= 24


# --- commands -----------------------------------------------------------------------------


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


KINDS_OF_FILE = (*("--numeric", "age", "--mutual", "knows,likes", "--sensitive", "likes"),)


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("aged") / "facts.csv"
    rows = [f"p{i},age,{20 + i // 2}" for i in range(24)]
    rows += [f"p{i},knows,p{(i * 5 + 1) % 24}" for i in range(24)] + ["p0,likes,p1"]
    path.write_text("\n".join([*rows, ""]), encoding="utf-8")
    return path


@pytest.mark.parametrize("strategy", ["cluster-edge", "intact"])
def test_close_values_from_the_command_line(tmp_path: Path, facts: Path, strategy: Strategy) -> None:
    release, private = tmp_path / "release", tmp_path / "private"
    folders = ("--release", release, "--private", private, "--strategy", strategy, "-k", 3)
    loose = run("links", "anonymize", facts, *KINDS_OF_FILE, *folders, "--json")
    assert loose.exit_code == 0, loose.stderr
    far = json.loads(loose.stdout)["verdict"]["distances"]["age"]["distance"]
    assert far > 0.3
    judged = run("links", "verify", release, "--closeness", 0.25)
    assert judged.exit_code == 1
    assert re.search(r"is furthest in age: 0\.[0-9]{3}$", judged.stdout, re.MULTILINE)
    made = run("links", "anonymize", facts, *KINDS_OF_FILE, *folders, "--closeness", 0.25, "--force")
    assert made.exit_code == 0, made.stdout + made.stderr
    assert re.search(r"^distance of values \(0 is best\) +0\.[012][0-9]+ \(age\)", made.stdout, re.MULTILINE)
    assert "with k = 3 and closeness 0.25" in made.stdout
    told = json.loads((private / "report.json").read_text(encoding="utf-8"))
    assert told["closeness"] == told["verdict"]["closeness"] == 0.25
    assert told["verdict"]["distances"]["age"]["distance"] <= 0.25
    assert "Distance of values" in (release / "report.html").read_text(encoding="utf-8")
    known = ("--original", facts, *KINDS_OF_FILE, "--mapping", private)
    assert run("links", "verify", release, *known, "--closeness", 0.25).exit_code == 0
    best = run("links", "anonymize", facts, *KINDS_OF_FILE, *folders, "--closeness", 0, "-k", 9, "--force")
    assert best.exit_code == 2
    assert re.search(r"two or more clusters came to 0\.[0-9]+ at best", best.stderr)
    assert re.search(r"allow 0\.[0-9]+ or more with closeness \(--closeness\), or lower k", best.stderr)


def test_given_clusters_are_not_merged(tmp_path: Path, facts: Path) -> None:
    given = tmp_path / "clusters.csv"
    given.write_text("".join(f"p{i},{i // 12}\n" for i in range(24)), encoding="utf-8")
    asked = ("links", "anonymize", facts, *KINDS_OF_FILE, "--clusters", given)
    folders = ("--release", tmp_path / "release", "--private", tmp_path / "private")
    said = run(*asked, *folders, "--closeness", 0.1)
    assert said.exit_code == 2
    assert "closeness 0.1 is not reached: the given clusters come to 0.273" in said.stderr
    assert "allow 0.273 with closeness" in said.stderr
    assert run(*asked, *folders, "--closeness", 0.273).exit_code == 0


def test_closeness_needs_values(tmp_path: Path, facts: Path) -> None:
    bare: Any = LinkGraph(np.array(["a", "b", "c"], dtype=object), {})
    none = np.empty(0, dtype=np.int64)
    original = Original(bare, Sensitive("likes", none, none))
    with pytest.raises(
        AnonymizationError, match="closeness changes nothing: the entities have no attributes"
    ):
        kgreason.links.anonymize(original, closeness=0.2)
    with pytest.raises(AnonymizationError, match="closeness must lie between 0 and 1"):
        kgreason.links.anonymize(original, closeness=1.2)
    made = kgreason.links.anonymize(original)
    with pytest.raises(AnonymizationError, match="closeness has no effect: the release has no values"):
        kgreason.links.verify(made.release.released, closeness=0.2)
    with pytest.raises(AnonymizationError, match="closeness must lie between 0 and 1"):
        kgreason.links.verify(made.release.released, closeness=-1)
