"""k-degree anonymity from end to end: the command, the checker of releases, the figures of undirected graphs."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason import Folders
from kgreason.base.errors import AnonymizationError
from kgreason.cli import app
from kgreason.cli.terminal import people_rows, rows
from kgreason.people import PeopleGraph
from kgreason.people import anonymization as stage
from kgreason.people import anonymize as anonymize_people
from kgreason.people import read as read_people
from kgreason.people import utility as measuring
from kgreason.people.model import Links
from kgreason.people.release_tables import write_people
from kgreason.people.report import utility_items
from kgreason.people.utility import structure
from tests.examples import inputs

RELEASE_FILES = {
    "README.txt",
    "attributes.csv",
    "people.toml",
    "relations.csv",
    "users.csv",
    "report.html",
    "report.json",
}
several = settings(max_examples=inputs(60), deadline=None)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def mails(n: int, edges: int, seed: int) -> list[tuple[str, str]]:
    """A graph of n users in which few have most of the edges."""
    rng = np.random.default_rng(seed)
    found = {(int(rng.integers(0, v)) // 4, v) for v in range(1, n)}
    while len(found) < edges:
        a, b = sorted(rng.integers(0, n, 2).tolist())
        found |= {(a // 3, b)} if a // 3 < b else set()
    return [(f"person {a}", f"person {b}") for a, b in sorted(found)]


def undirected(edges: list[tuple[str, str]], users: str = "") -> PeopleGraph:
    named = dict.fromkeys([*users, *(u for edge in edges for u in edge)])
    return PeopleGraph.from_triples(named, [], [(a, "mail", b) for a, b in edges], mutual=["mail"])


def pairs(graph: PeopleGraph) -> set[frozenset[str]]:
    """Who is linked with whom; fails if a link runs one way only."""
    names = graph.labels.tolist()
    (links,) = graph.relations.values()
    both = [(names[s], names[t]) for s, t in zip(links.source.tolist(), links.target.tolist(), strict=True)]
    assert set(both) == {(t, s) for s, t in both}
    assert all(s != t for s, t in both)
    return {frozenset(ends) for ends in both}


def degree_anonymous(graph: PeopleGraph, k: int) -> bool:
    """The definition in plain words: of each degree that occurs there are k users."""
    degree = dict.fromkeys(graph.labels, 0)
    for edge in pairs(graph):
        for user in edge:
            degree[user] += 1
    return all(number >= k for number in Counter(degree.values()).values())


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "mails.csv"
    rows = "".join(f"{a},{b}\n" for a, b in mails(60, 120, 5))
    path.write_text(rows, encoding="utf-8")
    return path


def command(table: Path, *more: str | Path) -> Result:
    where = ("--release", table.parent / "release", "--private", table.parent / "private")
    return run(
        *("people", "anonymize", "--method", "k-degree", f"{table}?columns=user,target&relation=mail"),
        *(*where, *more),
    )


# the command


@pytest.mark.parametrize("construction", ["relaxed", "supergraph", "construct"])
@pytest.mark.parametrize("sequence", ["dp", "greedy"])
def test_the_command_writes_what_it_verified(table: Path, construction: str, sequence: str) -> None:
    how = ("--construction", construction, "--sequence", sequence)
    done = command(table, "--mutual", "mail", "-k", "4", *how, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    release, private = table.parent / "release", table.parent / "private"
    assert told["guarantee"] == "k-degree with k = 4"
    assert told["verdict"]["holds"]
    assert {p.name for p in release.iterdir()} == RELEASE_FILES
    released = read_people(release)
    assert degree_anonymous(released, 4)
    with (private / "mapping.csv").open(encoding="utf-8") as rows:
        mapping = {row["original"]: row["released"] for row in csv.DictReader(rows)}
    real = {frozenset(mapping[user] for user in edge) for edge in mails(60, 120, 5)}
    assert set(mapping.values()) == set(released.labels)
    text = "".join((release / name).read_text(encoding="utf-8") for name in RELEASE_FILES)
    assert "person " not in text.replace("a person ", "").replace("person is linked", "")
    figures = told["utility"]["structure"]
    kept = len(real & pairs(released))
    assert (figures["edges"], figures["kept"]) == (len(real), kept)
    assert (figures["added"], figures["removed"]) == (len(pairs(released)) - kept, len(real) - kept)
    assert construction != "supergraph" or figures["removed"] == 0


def test_the_table_tells_of_edges_and_not_of_information(table: Path) -> None:
    done = command(table, "--mutual", "mail", "-k", "3")
    assert done.exit_code == 0, done.output
    for row in (
        "graph +60 users; relations: mail 120\n",
        "verdict +holds: k-degree with k = 3",
        "links of mail +120 original, .* added, .* left out",
    ):
        assert re.search(row, done.output)
    for row in ("L1 (0 is best)", "clustering coefficient ", "path length "):
        assert row in done.output
    readme = (table.parent / "release" / "README.txt").read_text(encoding="utf-8")
    assert "At least 3 users have the number of links that a user has here" in readme
    assert "the neighbours of a person" in readme
    assert "cdga" in readme


def test_a_release_is_verified_and_scored_with_its_schema(table: Path) -> None:
    schema = table.parent / "original.toml"
    schema.write_text(
        f'[[triples]]\nfiles = ["{table.name}"]\ncolumns = ["user", "target"]\nrelation = "mail"\n'
        '[kinds]\nmutual = ["mail"]\n',
        encoding="utf-8",
    )
    release, private = table.parent / "release", table.parent / "private"
    where = ("--release", release, "--private", private)
    made = run("people", "anonymize", schema, "--method", "k-degree", "-k", "3", *where, "--json")
    assert made.exit_code == 0, made.output
    known = ("--original", schema, "--mapping", private)
    checked = run("people", "verify", release, "--model", "k-degree", "-k", "3", *known)
    assert checked.exit_code == 0, checked.output
    assert "holds: k-degree with k = 3" in checked.output
    alone = run("people", "verify", release, "--model", "k-degree", "-k", "3")
    assert "holds, for all conditions that a release alone shows" in alone.output
    assert run("people", "verify", release, "--model", "k-degree", "-k", "60").exit_code == 1
    scored = run("people", "score", release, *known, "--json")
    assert json.loads(scored.stdout)["structure"] == json.loads(made.stdout)["utility"]["structure"]
    shown = run("people", "score", release, *known).output
    assert "L1 (0 is best)" in shown


def test_a_release_is_verified_with_the_files_that_it_was_made_of(table: Path) -> None:
    source = f"{table}?columns=user,target&relation=mail"
    release, private = table.parent / "release", table.parent / "private"
    assert command(table, "--mutual", "mail", "-k", "3").exit_code == 0
    known = (release, "--model", "k-degree", "-k", "3", "--original", source, "--mapping", private)
    checked = run("people", "verify", *known, "--mutual", "mail")
    assert checked.exit_code == 0, checked.output
    assert "mapping, labels, users, fakes" in checked.output
    other = table.parent / "other.csv"
    other.write_text("Ann,Bob\n", encoding="utf-8")
    cases: list[tuple[tuple[str | Path, ...], str]] = [
        (
            (*known[:6], f"{other}?columns=user,target&relation=mail", *known[7:], "--mutual", "mail"),
            "person",
        ),
        ((source, *known, "--mutual", "mail"), "k-degree is of one release, and 2 are named"),
        ((*known[:-2], "--mutual", "mail"), "no mapping"),
        ((*known, "--mutual", "mail", "--original", "people.toml"), "the schema says what is read"),
        ((*known[:5], *known[7:], "--mutual", "mail"), "options describe files, but no files are named"),
        ((release, "--original", source, "--model", "kw-tad"), "for the original of one release"),
        ((*known, "--rules", other, "--mutual", "mail"), "no such option '--rules'"),
    ]
    for asked, said in cases:
        refused = run("people", "verify", *asked)
        assert refused.exit_code == 2, (asked, refused.output)
        assert said in refused.stderr
    refused = run("verify", release, "--rules", other, "--mutual", "mail")
    assert refused.exit_code == 2
    assert "no such option '--mutual'" in refused.stderr


def test_a_seed_repeats_a_release(table: Path) -> None:
    texts = []
    for _ in range(2):
        done = command(table, "--mutual", "mail", "--seed", "3", "--force")
        assert "not for publishing" in done.output
        texts.append((table.parent / "release" / "relations.csv").read_bytes())
    assert texts[0] == texts[1]


def test_from_python(tmp_path: Path) -> None:
    graph = undirected(mails(40, 70, 1))
    folders = Folders(tmp_path / "release", tmp_path / "private")
    result = anonymize_people(graph, method="k-degree", k=5, construction="supergraph", folders=folders)
    assert result.holds
    assert result.removed == []
    assert degree_anonymous(result.release.graph, 5)
    assert result.release.figures["tries"] >= 1  # type: ignore[operator]
    assert "edges added" in repr(result)
    assert kgreason.people.verify(folders.release, model="k-degree", k=5).holds
    scored = kgreason.people.score(graph, result.release.graph, result.mapping)
    assert scored.structure == result.utility.structure


@several
@given(st.integers(2, 14), st.integers(0, 60), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_any_graph_of_k_users_is_anonymized(n: int, edges: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, (edges, 2))
    graph = PeopleGraph.from_triples(
        map(str, range(n)), [], [(str(a), "r", str(b)) for a, b in ends.tolist()], mutual=["r"]
    )
    k = min(k, n)
    result = anonymize_people(graph, method="k-degree", k=k, seed=seed)
    assert result.holds
    assert degree_anonymous(result.release.graph, k)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--relations", "mail"], "links of mail have a direction\n  help: say --mutual mail"),
        (["--relations", "mail"], "--method cdga for a directed graph"),
        (["--mutual", "mail,other"], "one relation, and this one has 2 (mail, other)"),
        (["--mutual", "mail", "-k", "61"], "the graph has 60 users, and each user must share"),
        (["--mutual", "mail", "--mode", "published"], "--mode has no meaning with --method k-degree"),
        (["--mutual", "mail", "--loss", "atdm"], "--loss has no meaning with --method k-degree"),
        (["--mutual", "mail", "--clustering", "vac"], "--clustering has no meaning"),
        (["--mutual", "mail", "--window", "2"], "--window has no meaning"),
        (["--mutual", "mail", "--after", "private"], "k-degree makes single releases"),
        (["--mutual", "mail", "-x", "3"], "no such option '-x'"),
        (["--mutual", "mail", "--k-values", "k.csv"], "k-degree has one k for all users"),
    ],
)
def test_what_cannot_be_done(table: Path, options: list[str], said: str) -> None:
    done = command(table, *options)
    assert done.exit_code == 2, done.output
    assert said in done.output
    assert "help: " in done.output
    assert not (table.parent / "release").exists()


def test_degrees_of_no_graph_are_explained(table: Path) -> None:
    """Of a star: two users who are linked with all others leave nobody with one link."""
    table.write_text("".join(f"hub,spoke {i}\n" for i in range(5)), encoding="utf-8")
    done = command(table, "--mutual", "mail", "-k", "2", "--construction", "supergraph", "--tries", "1")
    assert done.exit_code == 2
    assert "the 2 largest degrees, 5, 5, want 10 ends of edges" in done.output
    assert "help: take a smaller k, or --construction relaxed" in done.output
    assert not (table.parent / "release").exists()
    assert command(table, "--mutual", "mail", "-k", "2", "--construction", "supergraph").exit_code == 0


@pytest.mark.parametrize(
    ("n", "k", "said"),
    [
        (
            1,
            2,
            "the graph has 1 user, and each user must share a degree with k - 1 = 1 other\n  help: one user alone",
        ),
        (
            2,
            3,
            "the graph has 2 users, and each user must share a degree with k - 1 = 2 others\n  help: lower k",
        ),
    ],
)
def test_too_few_users_are_counted(n: int, k: int, said: str) -> None:
    graph = PeopleGraph.from_triples("ab"[:n], [], mutual=["mail"])
    with pytest.raises(AnonymizationError, match=re.escape(said)):
        anonymize_people(graph, method="k-degree", k=k)


@pytest.mark.parametrize("option", ["--sequence=dp", "--construction=supergraph", "--tries=5"])
@pytest.mark.parametrize("method", ["pckga", "ctkga", "cdga"])
def test_other_methods_know_nothing_of_sequences(
    table: Path, method: str, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(table.parent)
    files = (f"{table}?columns=user,target&relation=mail", "--mutual", "mail")
    done = run("people", "anonymize", "--method", method, *files, option)
    assert done.exit_code == 2, done.output
    assert f"{option.split('=')[0]} has no meaning with --method {method}" in done.output
    done = run("anonymize", "--rules", "r.vada", "--method", "kguard", option)
    assert done.exit_code == 2, done.output
    name = option.partition("=")[0]
    assert f"no such option '{name}'" in done.output


def test_attributes_are_refused() -> None:
    graph = PeopleGraph.from_triples("ab", [("a", "job", "cook")], [("a", "mail", "b")], mutual=["mail"])
    with pytest.raises(AnonymizationError, match="k-degree anonymizes degrees, not attributes") as caught:
        anonymize_people(graph, method="k-degree", k=2)
    assert "take --method ckga or pckga, or leave the attributes out" in str(caught.value)
    for wrong in ({"sequence": "exact"}, {"construction": "new"}, {"tries": 0}):
        with pytest.raises(AnonymizationError, match=next(iter(wrong))):
            anonymize_people(graph, method="k-degree", **wrong)


# the checker


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A path of six users whose release is a circle: all have the degree 2."""
    ring = [("uvwxyz"[i], "uvwxyz"[(i + 1) % 6]) for i in range(6)]
    write_people(tmp_path / "original", undirected([*zip("abcde", "bcdef", strict=True)]))
    write_people(tmp_path / "release", undirected(ring))
    (tmp_path / "private").mkdir()
    rows = "".join(f"{a},{b}\n" for a, b in zip("abcdef", "uvwxyz", strict=True))
    (tmp_path / "private" / "mapping.csv").write_text("original,released\n" + rows, encoding="utf-8")
    return tmp_path


def verify(folder: Path, *more: str, k: int = 6) -> Any:
    known = ("--original", folder / "original" / "people.toml", "--mapping", folder / "private")
    done = run(
        "people", "verify", folder / "release", "--model", "k-degree", "-k", str(k), *known, "--json", *more
    )
    assert done.exit_code in (0, 1), done.output
    found = json.loads(done.stdout)
    assert found["holds"] == (done.exit_code == 0)
    return found


def failing(found: Any) -> set[str]:
    return {item["name"] for item in found["items"] if item["state"] == "fails"}


def test_a_good_release_passes(written: Path) -> None:
    found = verify(written)
    assert found["holds"]
    assert [item["name"] for item in found["items"]] == [
        *(
            "classes",
            "simple",
            "undirected",
            "relation",
            "attributes",
            "files",
            "mapping",
            "labels",
            "users",
            "fakes",
        )
    ]
    assert found["figures"] == {"users": 6, "classes": 1, "smallest": 6, "below": 0, "ratio": 1.0}


@pytest.mark.parametrize(
    ("name", "before", "after", "items"),
    [
        ("release/relations.csv", "u,mail,v\n|v,mail,u\n", "|", {"classes"}),
        ("release/relations.csv", "u,mail,z\n", "u,mail,x\n", {"undirected"}),
        ("release/relations.csv", "u,mail,v\n", "", {"undirected"}),
        ("release/relations.csv", "u,mail,v\n", "u,mail,v\nu,mail,v\n", {"simple"}),
        ("release/relations.csv", "u,mail,v\n", "u,mail,u\nu,mail,v\n", {"simple"}),
        ("release/relations.csv", "u,mail,v\n|v,mail,u\n", "u,phone,v\n|v,phone,u\n", {"relation"}),
        (
            "release/attributes.csv",
            "user,attribute,value\n",
            "user,attribute,value\nu,age,7\n",
            {"attributes"},
        ),
        ("release/users.csv", "z\n", "z\nz1\n", {"classes", "fakes"}),
        ("release/relations.csv", "mail", "phone", {"relation"}),
        ("private/mapping.csv", "a,u\n", "a,v\n", {"mapping"}),
        ("private/mapping.csv", "a,u\n", "a,\n", {"users", "fakes"}),
        ("private/mapping.csv", "a,u\n", "", {"users", "fakes"}),
        ("original/*.csv", "f", "u", {"labels"}),
    ],
)
def test_a_bad_one_does_not(written: Path, name: str, before: str, after: str, items: set[str]) -> None:
    for path in written.glob(name):
        text = path.read_text(encoding="utf-8")
        for old, new in zip(before.split("|"), after.split("|"), strict=True):
            assert old in text or path.name == "attributes.csv"
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
    if name.startswith("original"):
        path = written / "private" / "mapping.csv"
        path.write_text(path.read_text(encoding="utf-8").replace("f,", "u,"), encoding="utf-8")
    found = verify(written)
    assert not found["holds"]
    assert items <= failing(found)
    if items & {"labels", "attributes", "simple"}:
        assert failing(found) == items


def test_all_edges_are_asked_for(written: Path) -> None:
    """The circle has all edges of the path, and one more."""
    found = verify(written, "--all-edges")
    assert found["holds"]
    assert found["items"][-1]["name"] == "edges"
    assert found["items"][-1]["detail"] == "all 5 original edges are in the release"


@pytest.mark.parametrize(
    ("name", "before", "after", "lost"),
    [
        ("release/relations.csv", "u,mail,v\n|v,mail,u\n", "|", "1 of 5|a and b"),
        ("private/mapping.csv", "a,u\n|b,v\n", "a,v\n|b,u\n", "1 of 5|b and c"),
        ("private/mapping.csv", "f,z\n", "f,\n", "1 of 5|e and f"),
        ("release/relations.csv", "mail", "phone", "5 of 5|a and b"),
        ("original/relations.csv", "a,mail,b\n|b,mail,a\n", "a,mail,d\n|d,mail,a\n", "1 of 5|a and d"),
    ],
)
def test_a_lost_edge_is_found(written: Path, name: str, before: str, after: str, lost: str) -> None:
    for path in written.glob(name):
        text = path.read_text(encoding="utf-8")
        for old, new in zip(before.split("|"), after.split("|"), strict=True):
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
    item = verify(written, "--all-edges")["items"][-1]
    number, witness = lost.split("|")
    assert item["name"] == "edges"
    assert item["state"] == "fails"
    assert item["detail"] == f"{number} original edges are not in the release"
    assert item["witnesses"][0] == witness


def test_all_edges_need_the_original_and_a_mapping(written: Path) -> None:
    known = ("--model", "k-degree", "-k", "3", "--all-edges", "--json")
    alone = json.loads(run("people", "verify", written / "release", *known).stdout)
    assert alone["needs_original"][-1] == "edges: whether all original edges are in the release"
    done = run("people", "verify", written / "release", "--model", "k-ad", "--all-edges")
    assert done.exit_code == 2
    assert "--all-edges has no meaning with --model k-ad" in done.output
    with pytest.raises(AnonymizationError, match="all_edges has no meaning with k-ad"):
        kgreason.people.verify(written / "release", model="k-ad", all_edges=True)
    path = written / "private" / "mapping.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("a,u", "a,v"), encoding="utf-8")
    found = {item["name"]: item["state"] for item in verify(written, "--all-edges")["items"]}
    assert (found["mapping"], found["edges"]) == ("fails", "undecided")


def test_an_original_with_directions_is_noted(written: Path) -> None:
    path = written / "original" / "people.toml"
    text = path.read_text(encoding="utf-8")
    assert not verify(written)["notes"]
    path.write_text(text.replace('mutual = ["mail"]', 'relations = ["mail"]'), encoding="utf-8")
    found = verify(written)
    assert found["holds"]
    assert "the original does not say that mail is mutual" in found["notes"][0]


@pytest.mark.parametrize(
    ("construction", "links"),
    [
        ("relaxed", "some were added, some removed"),
        ("supergraph", "some were added, none removed"),
        ("construct", "all drawn anew"),
    ],
)
def test_what_is_said_of_links_is_proved(table: Path, construction: str, links: str) -> None:
    done = command(table, "--mutual", "mail", "--construction", construction, "--json")
    items = {item["name"]: item for item in json.loads(done.stdout)["verdict"]["items"]}
    assert links in (table.parent / "release" / "README.txt").read_text(encoding="utf-8")
    assert ("edges" in items) == (construction == "supergraph")
    if construction == "supergraph":
        assert items["edges"]["detail"] == "all 120 original edges are in the release"


def test_a_supergraph_that_lost_an_edge_is_not_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = stage.write_people

    def careless(folder: Path, graph: PeopleGraph, format: str) -> None:
        ring = {(i, (i + step) % graph.n) for i in range(graph.n) for step in (1, -1)}
        ends = np.array(sorted(ring)).T
        honest(folder, PeopleGraph(graph.labels, {}, {"mail": Links(ends[0], ends[1], mutual=True)}), format)

    monkeypatch.setattr(stage, "write_people", careless)
    asked: Any = {"method": "k-degree", "k": 3}
    for construction, holds in (("relaxed", True), ("supergraph", False)):
        folders = Folders(tmp_path / construction, tmp_path / "private" / construction)
        graph = undirected(mails(40, 70, 1))
        result = anonymize_people(graph, construction=construction, folders=folders, **asked)
        assert result.holds == holds
        assert (folders.release / "UNVERIFIED").exists() != holds


@pytest.mark.parametrize(("tries", "more"), [(1, ""), (11, " (1,844 before 11 tries)")])
def test_probing_is_told(tries: int, more: str) -> None:
    graph = undirected([*zip("abcd", "bcde", strict=True)])
    utility = kgreason.people.score(graph, graph, {u: u for u in "abcde"})
    told = dict(rows(utility_items(utility, {"tries": tries, "cheapest": 1844})))
    assert told["L1 (0 is best)"] == f"0{more}"
    assert dict(rows(utility_items(utility)))["L1 (0 is best)"] == "0"


def test_edges_are_told_once(table: Path) -> None:
    done = json.loads(command(table, "--mutual", "mail", "--json").stdout)
    assert set(done["figures"]) <= {"tries", "cheapest"}
    assert {"added", "removed", "kept", "l1"} <= set(done["utility"]["structure"])


@pytest.mark.parametrize(("n", "k", "times"), [(20_000, 2, "10,000"), (5, 2, "2.50"), (4, 4, "1")])
def test_how_many_times_as_many(n: int, k: int, times: str) -> None:
    graph = PeopleGraph.from_triples(map(str, range(n)), [], mutual=["mail"])
    told = dict(people_rows(kgreason.people.verify(graph, model="k-degree", k=k)))
    assert told["least class over k (1 or more is best)"] == times


def test_witnesses_are_degrees(written: Path) -> None:
    path = written / "release" / "relations.csv"
    text = path.read_text(encoding="utf-8").replace("u,mail,v\n", "").replace("v,mail,u\n", "")
    path.write_text(text, encoding="utf-8")
    shown = run("people", "verify", written / "release", "--model", "k-degree", "-k", "3")
    assert shown.exit_code == 1
    assert "2 of 6 users share the degree with too few; at worst 2 users where k = 3" in shown.output
    assert "degree 1: 2 users (u, v), k = 3" in shown.output
    assert run("people", "verify", written / "release", "--model", "k-degree", "-k", "2").exit_code == 0


@several
@given(st.integers(0, 9), st.data())
def test_the_checker_decides_the_definition(n: int, data: st.DataObject) -> None:
    user = st.integers(0, max(n - 1, 0)).map(str)
    links = data.draw(st.lists(st.tuples(user, user), max_size=20)) if n else []
    graph = PeopleGraph.from_triples(
        map(str, range(n)), [], [(a, "r", b) for a, b in links], mutual=["r"], relations=["r"]
    )
    k = data.draw(st.integers(1, 5))
    assert kgreason.people.verify(graph, model="k-degree", k=k).holds == degree_anonymous(graph, k)


def test_direction_and_kinds_do_not_hide_a_degree() -> None:
    """Degrees are of the undirected graph of all links, whatever else is wrong with it."""
    graph = PeopleGraph.from_triples("abcd", [], [("a", "r", "b"), ("b", "r", "a"), ("a", "s", "c")])
    found = kgreason.people.verify(graph, model="k-degree", k=2)
    assert not found["undirected"].holds
    assert found["undirected"].witnesses == ("s: a to c, not back",)
    assert not found["relation"].holds
    assert [w.split(":")[0] for w in found["classes"].witnesses] == ["degree 0", "degree 2"]


def test_a_model_of_one_k(written: Path) -> None:
    done = run(
        "people", "verify", written / "release", "--model", "k-degree", "--k-values", written / "k.csv"
    )
    assert done.exit_code == 2
    assert "k-degree has one k for all users" in done.output


# figures


@st.composite
def changed(draw: st.DrawFn) -> tuple[PeopleGraph, PeopleGraph, np.ndarray]:
    n = draw(st.integers(1, 12))
    extra = draw(st.integers(0, 2))
    node = st.integers(0, n - 1)
    some = draw(st.lists(st.tuples(node, node), max_size=25))
    other = draw(
        st.lists(st.tuples(st.integers(0, n + extra - 1), st.integers(0, n + extra - 1)), max_size=25)
    )
    order = np.array(draw(st.permutations(range(n + extra))))[:n]
    gone = draw(st.sets(node, max_size=2))
    order[list(gone)] = -1
    graphs = [
        PeopleGraph.from_triples(
            map(str, range(size)), [], [(str(a), "r", str(b)) for a, b in edges], mutual=["r"]
        )
        for size, edges in ((n, some), (n + extra, other))
    ]
    return graphs[0], graphs[1], order


def as_networkx(graph: PeopleGraph) -> nx.Graph[Any]:
    links = graph.relations["r"]
    found = nx.Graph(zip(links.source.tolist(), links.target.tolist(), strict=True))
    found.add_nodes_from(range(graph.n))
    return found


def path_length(graph: nx.Graph[Any]) -> float | None:
    lengths = [d for _, to in nx.all_pairs_shortest_path_length(graph) for d in to.values() if d]
    return sum(lengths) / len(lengths) if lengths else None


@several
@given(changed())
def test_figures_are_those_of_networkx(case: tuple[PeopleGraph, PeopleGraph, np.ndarray]) -> None:
    original, released, mapping = case
    names = [None if m < 0 else str(m) for m in mapping.tolist()]
    found = kgreason.people.score(
        original, released, dict(zip(original.labels.tolist(), names, strict=True))
    ).structure
    assert found is not None
    before, after = as_networkx(original), as_networkx(released)
    images = {
        frozenset((mapping[a], mapping[b])) for a, b in before.edges if min(mapping[a], mapping[b]) >= 0
    }
    edges = {frozenset(edge) for edge in after.edges}
    assert (found.edges, found.kept) == (len(before.edges), len(images & edges))
    assert (found.added, found.removed) == (len(edges - images), len(before.edges) - found.kept)
    assert found.l1 == sum(abs(before.degree[u] - after.degree[m]) for u, m in enumerate(mapping) if m >= 0)
    for graph, clustering, length in (
        (before, found.clustering, found.path_length),
        (after, found.clustering_released, found.path_length_released),
    ):
        assert clustering == pytest.approx(nx.average_clustering(graph))
        assert length == pytest.approx(path_length(graph))
    if original.n > 1:
        reached = sum(len(part) * (len(part) - 1) for part in nx.connected_components(before))
        assert found.connected == pytest.approx(reached / (original.n * (original.n - 1)))


def test_figures_by_hand() -> None:
    """a-b-c-d becomes a-b-c, d-a: distances 1, 2, 3, 1, 2, 1 of the path stay; a triangle has clustering 1."""
    path = undirected([*zip("abc", "bcd", strict=True)])
    tailed = undirected([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    found = structure(path, tailed, np.arange(4), (0.0, 7 / 12), None)
    assert found is not None
    assert (found.l1, found.edges, found.added, found.removed, found.kept) == (2, 3, 1, 0, 3)
    assert found.path_length == pytest.approx(10 / 6)
    assert found.path_length_released == pytest.approx(8 / 6)
    scored = kgreason.people.score(path, tailed, {u: u for u in "abcd"})
    assert (scored.clustering, scored.clustering_released) == pytest.approx((0, 7 / 12))


def test_of_large_graphs_distances_are_measured_from_some(
    monkeypatch: pytest.MonkeyPatch, table: Path
) -> None:
    monkeypatch.setattr(measuring, "EXACT", 50)
    monkeypatch.setattr(measuring, "SOURCES", 20)
    graph = undirected(mails(60, 120, 5))
    mapping = np.arange(graph.n)
    rng = [np.random.default_rng(0) for _ in range(2)]
    found, again = (structure(graph, graph, mapping, (0.0, 0.0), one) for one in rng)
    assert found == again
    assert found is not None
    assert found.sources == 20
    assert found.path_length == found.path_length_released  # from the same users
    whole = nx.Graph(mails(60, 120, 5))
    assert found.path_length == pytest.approx(path_length(whole), rel=0.15)
    without = structure(graph, graph, mapping, (0.0, 0.0), None)
    assert without is not None
    assert (without.sources, without.path_length) == (0, None)
    assert "(from 20 sources)" in command(table, "--mutual", "mail", "-k", "3").output


def test_a_graph_that_is_not_undirected_has_no_such_figures() -> None:
    directed = PeopleGraph.from_triples("ab", [], [("a", "r", "b")])
    both = PeopleGraph.from_triples("ab", [], [("a", "r", "b")], mutual=["r", "s"])
    for graph in (directed, both, PeopleGraph.from_triples("ab", [])):
        assert structure(graph, graph, np.arange(2), (0.0, 0.0), None) is None


def test_a_link_back_that_is_missing_counts_once() -> None:
    graph = undirected([("a", "b")])
    one = Links(np.array([0]), np.array([1]), mutual=True)
    found = structure(graph, PeopleGraph(graph.labels, {}, {"mail": one}), np.arange(2), (0.0, 0.0), None)
    assert found is not None
    assert (found.added, found.removed, found.kept, found.l1) == (0, 0, 1, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "added", "removed"), [(10, 1_633, 664), (20, 3_371, 1_196)])
def test_few_edges_of_real_mails_change(real_data: Path, k: int, added: int, removed: int) -> None:
    """Edges that another program adds and removes on the same graph."""
    table = real_data / "social" / "email-Eu-core.txt"
    ends = [line.split() for line in table.read_text(encoding="utf-8").splitlines()]
    graph = undirected([(a, b) for a, b in ends if a != b])
    for construction in ("relaxed", "supergraph"):
        result = anonymize_people(graph, method="k-degree", k=k, construction=construction)
        assert result.holds
        found = result.utility.structure
        assert found is not None
        assert found.edges == 16_064
        assert (found.added < added, found.removed < removed) == (True, True)
