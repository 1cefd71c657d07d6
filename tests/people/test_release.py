"""Releases of graphs of people from end to end: every method, in memory and as files, against the plain definitions."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import stat
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason import Folders
from kgreason.base.errors import AnonymizationError, CallError, DataError, ReleaseError
from kgreason.base.progress import Silent
from kgreason.cli import app
from kgreason.people import PeopleGraph
from kgreason.people import anonymization as stage
from kgreason.people import anonymize as anonymize_people
from kgreason.people import read as read_people
from kgreason.people.result import PeopleAnonymization
from tests.examples import inputs
from tests.needs import quick
from tests.people_definition import People, k_ad, k_w_tad, p_k_ad, paired_k_degree

EXAMPLE = Path(kgreason.__file__).resolve().parents[1] / "examples" / "people"
SCHEMA, LEVELS = EXAMPLE / "people.toml", EXAMPLE / "k.csv"
RELEASE_FILES = {
    "README.txt",
    "attributes.csv",
    "people.toml",
    "relations.csv",
    "users.csv",
    "report.html",
    "report.json",
}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def plain(graph: PeopleGraph) -> People:
    """A graph as the plain definitions want it."""
    names = graph.labels.tolist()
    values = {
        (names[u], name, str(a.domain[v]))
        for name, a in graph.attributes.items()
        for u, v in zip(a.user.tolist(), a.value.tolist(), strict=True)
    }
    links = {
        (names[s], name, names[t])
        for name, r in graph.relations.items()
        for s, t in zip(r.source.tolist(), r.target.tolist(), strict=True)
    }
    return People(tuple(names), frozenset(values), frozenset(links), tuple(graph.relations))


def nothing_lost(result: PeopleAnonymization) -> None:
    """Each user is released with all his values, or is listed; what links are missing is counted."""
    original, released, mapping = plain(result.original), plain(result.release.graph), result.mapping
    assert sorted([*mapping, *result.removed]) == sorted(original.users)
    assert len(set(mapping.values())) == len(mapping)
    assert not set(released.users) & set(original.users)
    carried = {(mapping[u], a, v) for u, a, v in original.values if u in mapping}
    assert carried <= released.values
    kept = {(mapping[s], r, mapping[t]) for s, r, t in original.links if s in mapping and t in mapping}
    lost = sum(change.removed for change in result.utility.changes.values())
    assert lost == len(original.links) - len(kept & released.links)
    assert all(s != t for s, _, t in released.links)


@st.composite
def graphs(draw: Any, attributes: bool = True) -> PeopleGraph:
    n = draw(st.integers(2, 14))
    users = [f"person {i}" for i in range(n)]
    person = st.sampled_from(users)
    values = st.tuples(person, st.sampled_from(["job", "age"]), st.sampled_from("123"))
    links = st.tuples(person, st.sampled_from(["knows", "likes"]), person)
    return PeopleGraph.from_triples(
        users,
        draw(st.lists(values, max_size=20)) if attributes else [],
        draw(st.lists(links, max_size=25)),
        numeric=["age"],
        relations=["knows"],
    )


def released(graph: PeopleGraph, **options: Any) -> PeopleAnonymization | None:
    """A release, if anybody can be released."""
    try:
        return anonymize_people(graph, seed=1, **options)
    except AnonymizationError as error:
        refusal = str(error)
    assert "no user can be released" in refusal
    return None


def feasible(levels: list[int]) -> int:
    """How many users can be in a valid cluster: as many as find so many of lower or equal k."""
    some = sorted(levels)
    while some and some[-1] > len(some):
        some.pop()
    return len(some)


@settings(max_examples=inputs(80), deadline=None)
@given(graphs(), st.data())
def test_pckga_gives_everyone_his_own_k(graph: PeopleGraph, data: st.DataObject) -> None:
    levels = data.draw(st.lists(st.integers(1, 6), min_size=graph.n, max_size=graph.n))
    own = dict(zip(graph.labels.tolist(), levels, strict=True))
    mode = data.draw(st.sampled_from(["exact", "published"]))
    clustering = data.draw(st.sampled_from([None, "k-medoids", "hdb-star"]))
    dear = {"removal_price": float(graph.n)} if clustering is None and mode == "exact" else {}
    result = released(graph, k_values=own, mode=mode, clustering=clustering, **dear)
    if dear:
        assert (0 if result is None else result.release.graph.n) == feasible(levels)
    if result is None:
        return
    assert result.holds
    assert p_k_ad(plain(result.release.graph), {result.mapping[u]: own[u] for u in result.mapping})
    nothing_lost(result)


@settings(max_examples=inputs(50), deadline=None)
@given(graphs(), st.integers(2, 4), st.sampled_from(["k-means", "hdbscan", "AgglomerativeClustering"]))
def test_ckga_makes_k_alike(graph: PeopleGraph, k: int, clustering: str) -> None:
    result = released(graph, method="ckga", k=k, clustering=clustering, dimensions=3)
    if result is None:
        return
    assert result.holds
    assert k_ad(plain(result.release.graph), k)
    nothing_lost(result)


@settings(max_examples=inputs(50), deadline=None)
@given(graphs(attributes=False), st.integers(2, 4), st.sampled_from(["exact", "published"]))
def test_cdga_makes_degrees_of_k_alike(graph: PeopleGraph, k: int, mode: Any) -> None:
    if k > graph.n:
        k = 2
    result = anonymize_people(graph, method="cdga", k=k, mode=mode, seed=1)
    assert result.holds
    assert paired_k_degree(plain(result.release.graph), k)
    nothing_lost(result)


@pytest.mark.parametrize(
    ("loss", "method"), quick(1, [("atdm", "pckga"), ("adm", "ckga"), ("adm", "pckga"), ("atdm", "ckga")])
)
def test_the_example_holds(method: Any, loss: Any) -> None:
    graph = read_people(SCHEMA)
    dimensions = {} if (method, loss) == ("pckga", "adm") else {"dimensions": 5}
    result = anonymize_people(graph, method=method, loss=loss, k=3, seed=2, **dimensions)
    assert result.holds
    assert k_ad(plain(result.release.graph), 3)
    nothing_lost(result)


def test_exact_mode_loses_less_than_the_published_one() -> None:
    graph = read_people(SCHEMA)
    loss = {
        mode: anonymize_people(graph, k_values=LEVELS, mode=mode).utility.ail  # type: ignore[arg-type]
        for mode in ("exact", "published")
    }
    assert loss["exact"] < loss["published"]


def test_one_value_for_all_costs_nothing() -> None:
    graph = PeopleGraph.from_triples("abcd", [(u, "job", "cook") for u in "abcd"])
    result = anonymize_people(graph, k=2)
    assert (result.utility.ail, result.utility.values_added) == (0, 0)


# Files


def test_the_command_writes_what_it_verified(tmp_path: Path) -> None:
    release, private = tmp_path / "release", tmp_path / "private"
    done = run(
        *("people", "anonymize", SCHEMA, "--method", "pckga", "--k-values", LEVELS),
        *("--release", release, "--private", private),
    )
    assert done.exit_code == 0, done.output
    assert re.search(r"verdict +holds: p-k-ad", done.output)
    assert {p.name for p in release.iterdir()} == RELEASE_FILES
    assert {p.name for p in private.iterdir()} == {"mapping.csv", "report.html", "report.json"}
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    with (private / "mapping.csv").open(encoding="utf-8") as rows:
        mapping = {row["original"]: row["released"] for row in csv.DictReader(rows)}
    original, released = read_people(SCHEMA), read_people(release / "people.toml")
    assert sorted(mapping) == sorted(original.labels)
    text = "".join((release / name).read_text(encoding="utf-8") for name in RELEASE_FILES)
    assert not [label for label in original.labels if label in text]
    assert str(tmp_path) not in text
    assert EXAMPLE.name + "/" not in text
    with LEVELS.open(encoding="utf-8") as rows:
        levels = {row["user"]: int(row["k"]) for row in csv.DictReader(rows)}
    assert p_k_ad(plain(released), {mapping[user]: k for user, k in levels.items()})
    told = json.loads((private / "report.json").read_text(encoding="utf-8"))
    assert (told["removed"], told["verdict"]["holds"]) == ([], True)
    checked = run(
        *("people", "verify", release, "--model", "p-k-ad", "--original", SCHEMA),
        *("--mapping", private, "--k-values", LEVELS),
    )
    assert checked.exit_code == 0, checked.output


def test_the_command_measures_a_release(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "release", tmp_path / "private")
    result = anonymize_people(SCHEMA, k=3, folders=folders)
    done = run(
        "people", "score", folders.release, "--original", SCHEMA, "--mapping", folders.private, "--json"
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told.pop("format") == 1
    assert told == json.loads(json.dumps(result.utility.as_dict()))
    assert told["changes"]["follows"]["original"] == 204
    assert re.search(
        r"AIL .* by values",
        run("people", "score", folders.release, "--original", SCHEMA, "--mapping", folders.private).output,
    )
    again = kgreason.people.score(result.original, result.release.graph, result.mapping)
    assert again.ail == pytest.approx(result.utility.ail)
    assert again.changes == result.utility.changes


def test_removed_users_are_listed_and_nowhere_else(tmp_path: Path) -> None:
    levels = tmp_path / "k.csv"
    graph = read_people(SCHEMA)
    rows = [f"{label},{61 if i == 0 else 2}" for i, label in enumerate(graph.labels)]
    levels.write_text("user,k\n" + "\n".join(rows) + "\n", encoding="utf-8")
    folders = Folders(tmp_path / "release", tmp_path / "private")
    result = anonymize_people(SCHEMA, k_values=levels, folders=folders)
    who = graph.labels[0]
    assert result.holds
    assert result.removed == [who]
    assert json.loads((folders.private / "report.json").read_text(encoding="utf-8"))["removed"] == [who]
    assert f"{who},\n" in (folders.private / "mapping.csv").read_text(encoding="utf-8").replace("\r", "")
    assert result.utility.rru == pytest.approx(1 / 60)
    assert who not in json.dumps(result.summary())


def test_the_order_of_rows_and_labels_says_nothing(tmp_path: Path) -> None:
    runs = []
    for i in range(2):
        folders = Folders(tmp_path / f"release{i}", tmp_path / f"private{i}")
        result = anonymize_people(SCHEMA, method="ckga", k=2, folders=folders)
        released = read_people(folders.release / "people.toml").labels.tolist()
        assert released == sorted(released)
        runs.append([released.index(result.mapping[label]) for label in result.original.labels])
    assert runs[0] != runs[1]  # equal in one of 60! cases
    assert abs(np.corrcoef(runs[0], np.arange(60))[0, 1]) < 0.6


def test_a_seed_is_repeatable_and_not_for_publishing(tmp_path: Path) -> None:
    texts = []
    for i in range(2):
        done = run(
            *("people", "anonymize", SCHEMA, "--method", "pckga", "--seed", "7"),
            *("--release", tmp_path / f"r{i}", "--private", tmp_path / f"p{i}"),
        )
        assert done.exit_code == 0, done.output
        assert "not for publishing" in done.output
        texts.append({p.name: p.read_bytes() for p in (tmp_path / f"r{i}").iterdir()})
    assert texts[0] == texts[1]
    assert texts[0]["README.txt"].startswith(b"EXPERIMENT")


def test_a_release_that_fails_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kgreason.people.anonymizers import generalization

    monkeypatch.setattr(generalization, "united", lambda attribute, _: attribute)
    done = run(
        *("people", "anonymize", SCHEMA, "--method", "ckga"),
        *("--release", tmp_path / "r", "--private", tmp_path / "p"),
    )
    assert done.exit_code == 1
    assert "DOES NOT HOLD" in done.output
    assert (tmp_path / "r" / "UNVERIFIED").exists()
    assert (tmp_path / "r" / "README.txt").read_text(encoding="utf-8").startswith("UNVERIFIED")


def test_nothing_is_overwritten_without_force(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "release", tmp_path / "private")
    anonymize_people(SCHEMA, k=2, folders=folders)
    with pytest.raises(ReleaseError, match="exists already"):
        anonymize_people(SCHEMA, k=2, folders=folders)
    anonymize_people(SCHEMA, k=2, folders=Folders(folders.release, folders.private, force=True))


def test_triples_and_tables_without_a_schema(tmp_path: Path) -> None:
    facts = tmp_path / "facts.csv"
    facts.write_text("a,age,30\nb,age,31\na,knows,b\nb,job,cook\n", encoding="utf-8")
    where = ("-k", "2", "--release", tmp_path / "r", "--private", tmp_path / "p")
    said = ("--attributes", "job", "--numeric", "age", "--relations", "knows")
    done = run("people", "anonymize", facts, "--method", "ckga", "--dimensions", "2", *said, *where)
    assert done.exit_code == 0, done.output
    table = tmp_path / "table.csv"
    table.write_text("name,age,job\na,30,cook\nb,31,nurse\n", encoding="utf-8")
    said = ("--table", "--numeric", "age", "--force")
    done = run("people", "anonymize", f"{table}?id=name", "--method", "pckga", *said, *where)
    assert done.exit_code == 0, done.output
    assert read_people(tmp_path / "r" / "people.toml").attributes.keys() == {"age", "job"}


# A series of releases


def snapshot(folder: Path, first: int, last: int) -> Path:
    """The people of the example from one line of the table to another, and what is known of them."""
    folder.mkdir()
    people = (EXAMPLE / "people.csv").read_text(encoding="utf-8").splitlines()
    kept = people[1 + first : 1 + last]
    names = {line.split(",")[0] for line in kept}
    facts = (EXAMPLE / "facts.csv").read_text(encoding="utf-8").splitlines()
    known = [
        f for f in facts[1:] if f.split(",")[0] in names and (",speaks," in f or f.split(",")[2] in names)
    ]
    (folder / "people.csv").write_text("\n".join([people[0], *kept]) + "\n", encoding="utf-8")
    (folder / "facts.csv").write_text("\n".join([facts[0], *known]) + "\n", encoding="utf-8")
    shutil.copy(SCHEMA, folder)
    return folder / "people.toml"


def test_a_series_holds_over_its_window(tmp_path: Path) -> None:
    spans = [(0, 40), (3, 45), (1, 60), (10, 58)]
    releases = [tmp_path / f"r{i}" for i in range(len(spans))]
    results = []
    for i, span in enumerate(spans):
        after = () if i == 0 else ("--after", tmp_path / f"p{i - 1}")
        done = run(
            *("people", "anonymize", snapshot(tmp_path / f"s{i}", *span), "--method", "ctkga", "-k", "2"),
            *("--release", releases[i], "--private", tmp_path / f"p{i}", *after, "--json"),
        )
        assert done.exit_code == 0, done.output
        results.append(json.loads(done.stdout))
    assert [r["verdict"]["window"] for r in results] == [1, 2, 3, 3]
    graphs = [plain(read_people(folder / "people.toml")) for folder in releases]
    for first in (0, 1):
        assert k_w_tad(graphs[first : first + 3], 2)
    assert run("people", "verify", *releases, "--model", "kw-tad", "-k", "2", "--window", "3").exit_code == 0
    stays = [set(a.users) & set(b.users) for a, b in pairwise(graphs)]
    assert all(len(labels) > 20 for labels in stays)  # who stays keeps his label


def test_a_series_needs_the_releases_before(tmp_path: Path) -> None:
    schema = snapshot(tmp_path / "s", 0, 20)
    for i in range(2):
        after = None if i == 0 else tmp_path / "p0"
        folders = Folders(tmp_path / f"r{i}", tmp_path / f"p{i}")
        anonymize_people(schema, method="ctkga", k=2, after=after, folders=folders)
    shutil.rmtree(tmp_path / "r0")
    folders = Folders(tmp_path / "r2", tmp_path / "p2")
    result = anonymize_people(schema, method="ctkga", k=2, after=tmp_path / "p1", folders=folders)
    assert result.verdict.state == "undecided"
    assert "r0" in result.verdict["earlier releases"].witnesses[0]
    assert (folders.release / "UNVERIFIED").exists()


def test_a_release_changed_afterwards_is_found(tmp_path: Path) -> None:
    schema = snapshot(tmp_path / "s", 0, 20)
    first = Folders(tmp_path / "r0", tmp_path / "p0")
    anonymize_people(schema, method="ctkga", k=2, folders=first)
    values = first.release / "attributes.csv"
    lines = values.read_text(encoding="utf-8").splitlines()
    os.chmod(values, 0o644)
    values.write_text("\n".join([*lines[:3], *lines[4:]]) + "\n", encoding="utf-8")
    folders = Folders(tmp_path / "r1", tmp_path / "p1")
    result = anonymize_people(schema, method="ctkga", k=2, after=first.private, folders=folders)
    assert not result.holds


# What cannot be done


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "pckga"], "no data are named"),
        (["--method", "pckga", "no.toml"], "no.toml: there is no such file"),
        (["--method", "cdga", SCHEMA], "cdga anonymizes degrees, not attributes"),
        (["--method", "ckga", SCHEMA, "--k-values", LEVELS], "ckga has one k for all users"),
        (["--method", "ckga", SCHEMA, "-x", "3"], "no such option '-x'"),
        (["--method", "ckga", SCHEMA, "--rules", "r.vada"], "no such option '--rules'"),
        (["--method", "ckga", SCHEMA, "--after", "p"], "makes single releases"),
        (["--schema", SCHEMA], "no such option '--schema'"),
        ([], "no data are named"),
        (["--method", "kguard", SCHEMA], "'kguard' is not one of"),
        (["--method", "pckga", SCHEMA, "--clustering", "kmeans"], "kmeans"),
        (["--method", "pckga", SCHEMA, "-k", "61"], "no user can be released"),
        (["--method", "ctkga", SCHEMA, "--after", "nowhere"], "nowhere"),
    ],
)
def test_bad_usage_says_what_to_do(tmp_path: Path, options: list[str | Path], message: str) -> None:
    where = ("--release", tmp_path / "r", "--private", tmp_path / "p")
    done = run("people", "anonymize", *options, *where)
    assert done.exit_code == 2, done.output
    assert message in done.output
    assert "help:" in done.output or "no such file" in done.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"alpha": 2}, "alpha must lie between 0 and 1"),
        ({"method": "pcka"}, "unknown method 'pcka'"),
        ({"window": 0}, "window must be a whole number of at least 1"),
        ({"k": 1}, "k must be a whole number of at least 2"),
        ({"k_values": {"a": 2}}, "users have no k"),
        ({"k_values": {"a": 2, "b": 0}}, "the k of 'b'"),
        ({"k": 2, "k_values": {"A": 6}}, "there is no user 'A' in the graph"),
        ({"method": "ckga", "after": "p"}, "single releases"),
        ({"method": "cdga", "construction": "supergraph"}, "construction has no meaning with method cdga"),
        ({"method": "ckga", "window": 4}, "window has no meaning with method ckga"),
        ({"omega": 0.3}, "omega has no meaning with method pckga"),
        (
            {"tau": 0.5},
            "tau has no meaning with method pckga, mode exact\n  help: leave it out, or say removal_price",
        ),
        (
            {"tau": 0.5, "clustering": "hdbscan"},
            "tau has no meaning with method pckga, mode exact, clustering hdb",
        ),
        (
            {"mode": "published", "removal_price": 2.0},
            "pckga, mode published\n  help: leave it out, or say tau",
        ),
        ({"method": "ckga", "removal_price": 2.0}, "removal_price has no meaning with method ckga"),
        ({"method": "cdga", "loss": "atdm"}, "loss has no meaning with method cdga"),
        ({"method": "cdga", "alpha": 0.3, "clustering": "vac"}, "alpha has no meaning with method cdga"),
        ({"method": "cdga", "alpha_dm": 0.3}, "alpha_dm has no meaning with method cdga"),
        ({"method": "k-degree", "alpha_dm": 0.3}, "alpha_dm has no meaning with method k-degree"),
        ({"alpha_dm": 2}, "alpha_dm must lie between 0 and 1"),
        ({"alpha": "a"}, "alpha must be a number, not 'a'"),
        ({"removal_price": None}, "removal_price must be a number, not None"),
        ({"removal_price": 0}, "removal_price must be above 0 and finite, not 0"),
        ({"removal_price": float("nan")}, "removal_price must be above 0 and finite, not nan"),
        ({"method": "k-degree", "mode": "published"}, "mode has no meaning with method k-degree"),
        ({"method": "k-degree", "clustering": "vac"}, "clustering has no meaning with method k-degree"),
        ({"method": "k-degree", "tries": 1.5}, "tries must be a whole number of at least 1, not 1.5"),
        ({"method": "k-degree", "tries": "a"}, "tries must be a whole number of at least 1, not 'a'"),
        ({"epsilon": "many"}, "epsilon must be a whole number of at least 1, not 'many'"),
        ({"dimensions": 2.5}, "dimensions must be a whole number of at least 1, not 2.5"),
    ],
)
def test_bad_arguments_are_named(given: dict[str, Any], message: str) -> None:
    graph = PeopleGraph.from_triples("ab", [("a", "job", "cook"), ("b", "job", "nurse")])
    with pytest.raises(AnonymizationError, match=re.escape(message)):
        anonymize_people(graph, **given)


def test_a_figure_that_cannot_be_told_costs_no_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*_: object, **__: object) -> None:
        raise MemoryError("there are 8 bytes of memory")

    monkeypatch.setattr(stage, "measure", too_large)
    notes: list[str] = []
    told = Notes(notes)
    result = anonymize_people(SCHEMA, k=3, progress=told, folders=Folders(tmp_path / "r", tmp_path / "p"))
    assert result.holds
    assert result.utility is None
    assert notes == ["what is lost could not be measured: there are 8 bytes of memory"]
    assert "not measured" in repr(result)
    assert json.loads((tmp_path / "p" / "report.json").read_text(encoding="utf-8"))["utility"] is None
    assert not (tmp_path / "r" / "UNVERIFIED").exists()
    assert anonymize_people(SCHEMA, k=3, progress=told).utility is None
    where = ("--release", tmp_path / "r", "--private", tmp_path / "p", "--force")
    done = run("people", "anonymize", SCHEMA, "--method", "pckga", *where)
    assert done.exit_code == 0, done.output
    assert re.search(r"lost +not measured", done.output)


class Notes(Silent):
    """Keeps what is said."""

    def __init__(self, notes: list[str]) -> None:
        self.notes = notes

    def note(self, message: str) -> None:
        self.notes.append(message)


def test_a_graph_of_nobody_is_refused() -> None:
    for method in ("cdga", "ckga", "pckga"):
        with pytest.raises(AnonymizationError, match="has no users"):
            anonymize_people(PeopleGraph.from_triples([], [], relations=["knows"]), method=method)  # type: ignore[arg-type]


def test_degrees_are_not_clustered_without_relations() -> None:
    graph = PeopleGraph.from_triples("ab", [("a", "job", "cook"), ("b", "job", "nurse")])
    with pytest.raises(AnonymizationError, match="clusters users by relations, and the graph has none"):
        anonymize_people(graph, clustering="degrees")


def test_a_graph_without_anything_is_refused() -> None:
    with pytest.raises(AnonymizationError, match="neither attributes nor relations"):
        anonymize_people(PeopleGraph.from_triples("ab", []))


def test_a_history_of_another_series_is_refused(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "r", tmp_path / "p")
    anonymize_people(SCHEMA, k=2, folders=folders)  # no series
    with pytest.raises(ReleaseError, match="no release of a series has its secret there"):
        anonymize_people(SCHEMA, method="ctkga", k=2, after=folders.private)
    with pytest.raises(ReleaseError, match="there is no such folder"):
        anonymize_people(SCHEMA, method="ctkga", k=2, after=tmp_path / "no")


def test_a_release_does_not_replace_its_predecessor(tmp_path: Path) -> None:
    schema = snapshot(tmp_path / "s", 0, 20)
    first = Folders(tmp_path / "r0", tmp_path / "p0")
    anonymize_people(schema, method="ctkga", k=2, folders=first)
    again = Folders(tmp_path / "r1", first.private, force=True)
    with pytest.raises(ReleaseError, match="cannot have its private files in the same folder"):
        anonymize_people(schema, method="ctkga", k=2, after=first.private, folders=again)


def test_another_release_in_the_place_of_an_earlier_one_is_found(tmp_path: Path) -> None:
    schema = snapshot(tmp_path / "s", 0, 20)
    for i in range(2):
        after = None if i == 0 else tmp_path / "p0"
        places = Folders(tmp_path / f"r{i}", tmp_path / f"p{i}")
        anonymize_people(schema, method="ctkga", k=2, after=after, folders=places)
    shutil.rmtree(tmp_path / "r0")
    anonymize_people(schema, method="ctkga", k=2, folders=Folders(tmp_path / "r0", tmp_path / "other"))
    shutil.rmtree(tmp_path / "p0" / "mapping.csv", ignore_errors=True)
    shutil.copy(tmp_path / "other" / "mapping.csv", tmp_path / "p0" / "mapping.csv")
    result = anonymize_people(
        schema, method="ctkga", k=2, after=tmp_path / "p1", folders=Folders(tmp_path / "r2", tmp_path / "p2")
    )
    assert result.verdict["earlier releases"].state == "fails"
    assert "r0 is not the release that was made then" in result.verdict["earlier releases"].detail


@pytest.mark.parametrize("clustering", ["vac", "k-medoids", "k-means", "hdb-star", "AgglomerativeClustering"])
def test_a_series_by_any_clustering(tmp_path: Path, clustering: str) -> None:
    schema = snapshot(tmp_path / "s", 0, 20)
    result = anonymize_people(schema, method="ctkga", k=2, clustering=clustering)
    assert result.holds


def test_a_series_of_which_nobody_may_be_seen(tmp_path: Path) -> None:
    def graph(users: str) -> PeopleGraph:
        return PeopleGraph.from_triples(
            users, [(u, "job", "cook") for u in users], numeric=[], relations=["knows"]
        )

    after = None
    for i, users in enumerate(["", "abc", "ab", "", "abcd"]):
        places = Folders(tmp_path / f"r{i}", tmp_path / f"p{i}")
        result = anonymize_people(graph(users), method="ctkga", k=3, after=after, folders=places)
        assert result.holds
        assert result.verdict.k == 3
        after = places.private
    with pytest.raises(AnonymizationError, match="cannot be raised from 3 to 4"):
        anonymize_people(graph(""), method="ctkga", k=4, after=after)
    assert result.release.graph.n >= 3


def test_truth_is_not_lost_to_the_search_for_less_loss() -> None:
    rng = np.random.default_rng(3)
    values = [(str(u), name, str(rng.integers(6))) for u in range(40) for name in "abc"]
    graph = PeopleGraph.from_triples(map(str, range(40)), values)
    both = [
        anonymize_people(graph, method="ckga", loss="atdm", mode=mode, k=3, dimensions=4, seed=1)  # type: ignore[arg-type]
        for mode in ("exact", "published")
    ]
    assert both[0].utility.untruthful <= both[1].utility.untruthful * 1.05


def test_a_lost_private_folder_of_a_series_is_named(tmp_path: Path) -> None:
    schema = snapshot(tmp_path / "s", 0, 20)
    for i in range(2):
        after = None if i == 0 else tmp_path / "p0"
        places = Folders(tmp_path / f"r{i}", tmp_path / f"p{i}")
        anonymize_people(schema, method="ctkga", k=2, after=after, folders=places)
    shutil.rmtree(tmp_path / "p0")
    with pytest.raises(DataError, match="must stay where they are") as caught:
        anonymize_people(
            schema,
            method="ctkga",
            k=2,
            after=tmp_path / "p1",
            folders=Folders(tmp_path / "r2", tmp_path / "p2"),
        )
    assert str(tmp_path / "p0" / "report.json") in str(caught.value)


def test_one_k_for_all_by_pckga_is_verified_by_it(tmp_path: Path) -> None:
    release, private = tmp_path / "r", tmp_path / "p"
    done = run(
        "people",
        "anonymize",
        SCHEMA,
        "--method",
        "pckga",
        "-k",
        "4",
        "--release",
        release,
        "--private",
        private,
    )
    assert re.search(r"verdict +holds: p-k-ad with k = 4", done.output)
    assert "finds at least 4 users" in (release / "README.txt").read_text(encoding="utf-8")
    checked = run(
        "people",
        "verify",
        release,
        "--model",
        "p-k-ad",
        "-k",
        "4",
        "--original",
        SCHEMA,
        "--mapping",
        private,
    )
    assert checked.exit_code == 0, checked.output
    assert run("people", "verify", release, "--model", "p-k-ad", "-k", "30").exit_code == 1


def test_k_is_of_those_whom_the_table_leaves_out(tmp_path: Path) -> None:
    levels = tmp_path / "k.csv"
    levels.write_text("Ada Ivanova,7\n", encoding="utf-8")
    graph = read_people(SCHEMA)
    with pytest.raises(DataError, match="no k for"):
        anonymize_people(graph, k_values=levels)
    result = anonymize_people(graph, k=2, k_values=levels)
    own = {label: 7 if label == "Ada Ivanova" else 2 for label in graph.labels}
    assert p_k_ad(plain(result.release.graph), {result.mapping[u]: k for u, k in own.items()})
    where = ("--release", tmp_path / "r", "--private", tmp_path / "p")
    said = ("--k-values", levels, "-k", "2")
    assert run("people", "anonymize", SCHEMA, "--method", "pckga", *said, *where).exit_code == 0
    known = ("--original", SCHEMA, "--mapping", tmp_path / "p")
    checked = run("people", "verify", tmp_path / "r", "--model", "p-k-ad", *said, *known)
    assert checked.exit_code == 0, checked.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "ckga", "--window", "4"], "--window has no meaning with --method ckga"),
        (["--method", "pckga", "--omega", "0.3"], "--omega has no meaning"),
        (["--method", "pckga", "--epsilon", "3"], "--epsilon has no meaning"),
        (["--method", "pckga", "--dimensions", "3"], "--dimensions has no meaning"),
        (["--method", "ctkga", "--partition", "removal"], "--partition has no meaning"),
    ],
)
def test_options_without_meaning_are_refused(tmp_path: Path, options: list[str], message: str) -> None:
    where = ("--release", tmp_path / "r", "--private", tmp_path / "p")
    done = run("people", "anonymize", SCHEMA, *options, *where)
    assert done.exit_code == 2
    assert message in done.output


def test_what_is_no_graph_is_named() -> None:
    with pytest.raises(CallError, match="data are a PeopleGraph or a schema, not of type dict"):
        anonymize_people({"a": 1})  # type: ignore[arg-type]
    with pytest.raises(CallError, match="a release of people is a graph or a folder"):
        kgreason.people.verify(3, model="k-ad")  # type: ignore[arg-type]


def test_levels_of_nobody_prove_nothing() -> None:
    graph = PeopleGraph.from_triples("ab", [("a", "job", "cook"), ("b", "job", "nurse")])
    for levels in ({}, {"q": 1}):
        with pytest.raises(AnonymizationError, match="has no k"):
            kgreason.people.verify(graph, model="p-k-ad", levels=levels)


def test_a_release_is_verified_by_its_folder(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "release", tmp_path / "private")
    anonymize_people(SCHEMA, k=3, folders=folders)
    assert kgreason.people.verify(folders.release, model="k-ad", k=3).holds
    assert kgreason.people.verify(str(folders.release), model="k-ad", k=61).state == "fails"
    assert read_people(folders.release).n == 60


def test_where_users_stand_in_a_file_does_not_tell_whom_they_join() -> None:
    """Eight are alike, and two of them have to join four others: which two is left to chance."""
    users = [f"u{i}" for i in range(12)]
    graph = PeopleGraph.from_triples(users, [(user, "job", "ab"[i >= 8]) for i, user in enumerate(users)])
    joined = set()
    for seed in range(30):
        result = anonymize_people(graph, method="pckga", k=6, seed=seed)
        jobs = result.release.graph.attributes["job"]
        mixed = set(np.flatnonzero(np.bincount(jobs.user, minlength=12) == 2).tolist())
        joined.add(frozenset(i for i in range(8) if result.release.mapping[i] in mixed))
    assert {len(some) for some in joined} == {2}
    assert len(joined) > 10
    assert set().union(*joined) == set(range(8))
