"""Links from the command line and from Python: generated, anonymized, verified, attacked; and input that is refused."""

from __future__ import annotations

import json
import re
import stat
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import kgreason
from kgreason.base.errors import AnonymizationError, CallError, DataError, ReleaseError
from kgreason.cli import app
from kgreason.links.folder import read_released
from kgreason.links.model import LinkGraph, Original, Sensitive, observations
from kgreason.links.school import school
from kgreason.links.settings import CLUSTERED, Strategy
from kgreason.people.file_schema import schema_of_options
from kgreason.people.model import PeopleGraph
from kgreason.people.release_tables import write_people

ROOT = Path(kgreason.__file__).resolve().parent.parent
STRATEGIES: tuple[Strategy, ...] = ("intact", "partial", "cluster-edge", "constrained", "removed")
MUTUAL = ("--mutual", "classmates,groupmates,friends")
SECRET = ("--sensitive", "friends")
NOISE = ("--noise", "classmates=0.4", "--noise", "groupmates=0.6", "--leak", "0.2")
OWN = "A,B,0.6\nB,C,0.3\nA,C,0.4\nC,D,0.7\nE,D,0.2\n"
CONTROL = """
@edge("own"). @node("company"). @output("control"). @sensitive("control").
control(X, X) :- company(X).
control(X, Z) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>), V > 0.5.
"""
ADVERSARY = """
@edge("classmates"). @edge("groupmates").
@label("a class", 0.4)
friends(X, Y) :- classmates(X, Y).
@label("a group", 0.6)
friends(X, Y) :- groupmates(X, Y).
"""


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


def ok(*args: object) -> str:
    result = run(*args)
    assert result.exit_code == 0, result.output + result.stderr
    return result.stdout


def refused(*args: object) -> str:
    result = run(*args)
    assert result.exit_code == 2, result.output
    return result.stderr


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Triples of a small school, as a source with options."""
    path = tmp_path_factory.mktemp("school") / "school.csv"
    ok("links", "generate", "--students", 30, "--classes", 6, "--groups", 6, "--seed", 3, "--out", path)
    return f"{path}?header=true"


def anonymize(place: Path, table: str, *args: object) -> Result:
    folders = ("--release", place / "release", "--private", place / "private")
    return run("links", "anonymize", table, *MUTUAL, *folders, *args)


def of(table: str, place: Path) -> tuple[object, ...]:
    given = (*MUTUAL, *SECRET, "--mapping", place / "private")
    return place / "release", "--original", table, *given


def test_a_generated_school_has_a_row_for_each_shared_class(tmp_path: Path) -> None:
    out = tmp_path / "school.csv"
    said = ok("links", "generate", "--students", 30, "--classes", 6, "--groups", 6, "--seed", 3, "--out", out)
    drawn = school(np.random.default_rng(3), students=30, classes=6, groups=6)
    rows = [line.split(",") for line in out.read_text(encoding="utf-8").splitlines()]
    assert rows[0] == ["user", "relation", "target"]
    many = {name: sum(row[1] == name for row in rows) for name in ("classmates", "groupmates", "friends")}
    assert many == {
        **{name: found.total for name, found in drawn.graph.observed.items()},
        "friends": len(drawn.sensitive),
    }
    assert f"30 students, {many['classmates']:,} links of classmates" in said
    schema = schema_of_options([f"{out}?header=true"], mutual=["classmates", "groupmates", "friends"])
    read = kgreason.links.read(schema, "friends")
    assert len(read.sensitive) == len(drawn.sensitive)
    assert {n: f.total for n, f in read.graph.observed.items()} == {
        n: f.total for n, f in drawn.graph.observed.items()
    }
    lonely = run(
        *("links", "generate", "--students", 3, "--classes", 0, "--classes-each", 0),
        *("--groups-each", 0, "--leak", 0),
        *("--out", tmp_path / "alone.csv"),
    )
    assert "3 students without links" in lonely.stderr
    full = refused("links", "generate", "--students", 100, "--classes", 1, "--out", tmp_path / "none.csv")
    assert "cannot be picked" in full


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_from_triples_to_an_attack(tmp_path: Path, table: str, strategy: Strategy) -> None:
    k = ("-k", 5) if strategy in CLUSTERED else ()
    made = anonymize(tmp_path, table, *SECRET, "--strategy", strategy, *k)
    assert made.exit_code == 0, made.output + made.stderr
    assert re.search(f"^verified +holds: {strategy}", made.stdout, re.MULTILINE)
    public, private = tmp_path / "release", tmp_path / "private"
    assert {p.name for p in public.iterdir()} == {
        *("README.txt", "nodes.csv", "attributes.csv", "links.csv", "links.toml"),
        *("report.html", "report.json"),
    }
    assert {p.name for p in private.iterdir()} == {"mapping.csv", "report.html", "report.json"}
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    for file in public.iterdir():  # neither the secret nor anybody's name
        text = file.read_text(encoding="utf-8")
        assert "friend" not in text
        assert "student" not in text
    assert f"strategy {strategy}" in (public / "README.txt").read_text(encoding="utf-8")
    report = json.loads((private / "report.json").read_text(encoding="utf-8"))
    assert report["sensitive"]["name"] == "friends"
    assert report["verdict"]["holds"] is True
    links = report["links"]["classmates"]
    kept = {"intact": 1.0, "partial": 0.5, "cluster-edge": 1.0, "removed": 0.0}
    judged = ok("links", "verify", *of(table, tmp_path), *k)
    counts = f"classmates {links['original']:,} -> {links['released']:,}"
    assert (counts in judged) == (strategy == "partial")  # of the others it follows from the strategy
    assert ("any share may be missing" in judged) == (strategy == "partial")
    if strategy == "partial":
        assert "any share" not in ok("links", "verify", *of(table, tmp_path), "--percent", 50)
    if strategy in kept:
        assert links["released"] == int(links["original"] * kept[strategy])
    kept_of = f"{links['original']:,} original, {links['released']:,} released"
    assert re.search(f"^links of classmates +{kept_of}", made.stdout, re.MULTILINE)

    assert re.search(f"^verified +holds: {strategy}", judged, re.MULTILINE)
    told = json.loads(
        ok(
            "links",
            "attack",
            public,
            "--original",
            table,
            *MUTUAL,
            *SECRET,
            *NOISE,
            "--mapping",
            private,
            "--json",
        )
    )
    assert [row["threshold"] for row in told["thresholds"]] == [0.2, 0.4, 0.6, 0.8]
    assert told["base_rate"] == told["sensitive"] / told["pairs"]
    if strategy in ("intact", "partial"):
        assert told["thresholds"][2]["revealed"] > 0
    if strategy == "removed":
        assert all(row["predicted"] == 0 for row in told["thresholds"])


def test_the_release_alone_is_judged(tmp_path: Path, table: str) -> None:
    assert anonymize(tmp_path, table, *SECRET, "-k", 5).exit_code == 0
    alone = ok("links", "verify", tmp_path / "release", "-k", 5)
    assert "sensitive, mapping, labels, values, links: needs the original" in alone
    named = ok("links", "verify", tmp_path / "release", *SECRET)
    assert re.search("checked and kept +sensitive, files, clusters, simple", named)
    more = run("links", "verify", tmp_path / "release", "-k", 9)
    assert more.exit_code == 1
    assert "represent fewer than 9 entities" in more.stdout
    told = run("links", "verify", tmp_path / "release", "--sensitive", "classmates", "--json")
    assert told.exit_code == 1
    assert json.loads(told.stdout)["items"][0]["state"] == "fails"


def test_damage_to_the_folders_is_found(tmp_path: Path, table: str) -> None:
    assert anonymize(tmp_path, table, *SECRET, "-k", 5).exit_code == 0
    file = tmp_path / "release" / "links.csv"
    head, first, *rest = file.read_text(encoding="utf-8").splitlines(keepends=True)
    *ends, count = first.rsplit(",", 1)
    file.write_text("".join([head, f"{ends[0]},{int(count) + 1}\n", *rest]), encoding="utf-8")
    found = run("links", "verify", *of(table, tmp_path), "-k", 5)
    assert found.exit_code == 1
    assert re.search("^violated +links", found.stdout, re.MULTILINE)
    assert "more links than the entities have" in found.stdout
    file.write_text("".join([head, first, *rest]), encoding="utf-8")
    readme = tmp_path / "release" / "README.txt"
    readme.write_text(
        readme.read_text(encoding="utf-8") + "Who is friends with whom was left out.\n", encoding="utf-8"
    )
    found = run("links", "verify", *of(table, tmp_path), "-k", 5)
    assert found.exit_code == 1
    assert "  README.txt: not as it was written" in found.stdout
    other = run("links", "verify", *of(table, tmp_path), "--strategy", "constrained")
    assert re.search("^violated +strategy", other.stdout, re.MULTILINE)


def test_what_names_the_secret_is_marked(tmp_path: Path) -> None:
    facts = tmp_path / "facts.csv"
    facts.write_text("a,knows,b\nb,knows,c\na,likes,c\na,note,Likes c\nb,note,none\n", encoding="utf-8")
    folders = ("--release", tmp_path / "release", "--private", tmp_path / "private")
    kinds = ("--relations", "knows,likes", "--attributes", "note", "--sensitive", "likes")
    made = run("links", "anonymize", facts, *kinds, *folders)
    assert made.exit_code == 1
    assert re.search("^verified +DOES NOT HOLD", made.stdout, re.MULTILINE)
    assert "nothing; " in made.stdout
    assert "report.json tells what does not hold" in made.stderr
    assert (tmp_path / "release" / "UNVERIFIED").is_file()
    assert (tmp_path / "release" / "README.txt").read_text(encoding="utf-8").startswith("UNVERIFIED")
    report = json.loads((tmp_path / "private" / "report.json").read_text(encoding="utf-8"))
    assert "Likes c" in str(report["verdict"]["items"][0]["witnesses"])
    again = run("links", "verify", tmp_path / "release", "--sensitive", "likes")
    assert again.exit_code == 1


def test_a_seed_is_for_experiments(tmp_path: Path, table: str) -> None:
    for name in ("one", "two"):
        made = anonymize(
            tmp_path / name, table, *SECRET, "--strategy", "partial", "--percent", 30, "--seed", 5
        )
        assert made.exit_code == 0
        assert "not for publishing" in made.stderr
    one, two = (tmp_path / name / "release" for name in ("one", "two"))
    assert (one / "links.csv").read_bytes() == (two / "links.csv").read_bytes()
    assert "EXPERIMENT" in (one / "README.txt").read_text(encoding="utf-8")
    again = anonymize(tmp_path / "one", table, *SECRET)
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert anonymize(tmp_path / "one", table, *SECRET, "--force").exit_code == 0


def test_clusters_may_be_given(tmp_path: Path, table: str) -> None:
    given = tmp_path / "clusters.csv"
    rows = [f"student{i},{'abc'[i % 3]}" for i in range(1, 31)]
    given.write_text("\n".join(["user,cluster", *rows, ""]), encoding="utf-8")
    made = anonymize(tmp_path, table, *SECRET, "--clusters", given, "--json")
    assert made.exit_code == 0, made.stderr
    told = json.loads(made.stdout)
    assert told["clusters"] == {"number": 3, "smallest": 10}
    assert told["k"] == 10
    semicolons = tmp_path / "semicolons.csv"
    semicolons.write_text("\n".join(rows).replace(",", ";"), encoding="utf-8")
    again = anonymize(
        tmp_path, table, *SECRET, "--clusters", f"{semicolons}?delimiter=;", "--json", "--force"
    )
    assert json.loads(again.stdout)["clusters"] == told["clusters"]
    few = anonymize(tmp_path, table, *SECRET, "--clusters", given, "-k", 11, "--force")
    assert "a cluster has 10 entities, fewer than k = 11" in few.stderr
    both = anonymize(tmp_path, table, *SECRET, "--clusters", given, "--clustering", "vac", "--force")
    assert both.exit_code == 2
    assert "clusters are given" in both.stderr
    given.write_text("\n".join([*rows[1:], ""]), encoding="utf-8")
    assert "'student1'" in anonymize(tmp_path, table, *SECRET, "--clusters", given, "--force").stderr


def test_values_of_a_cluster_are_shared(tmp_path: Path) -> None:
    facts = tmp_path / "facts.csv"
    people = "abcdef"
    rows = [f"{p},job,{job}" for p, job in zip(people, ["nurse", "cook"] * 3, strict=True)]
    rows += ["a,knows,b", "b,knows,c", "d,knows,e", "a,likes,f", "c,likes,d"]
    facts.write_text("\n".join([*rows, ""]), encoding="utf-8")
    kinds = ("--attributes", "job", "--relations", "knows,likes")
    for strategy in STRATEGIES:
        place = tmp_path / strategy
        folders = ("--release", place / "release", "--private", place / "private")
        asked = (facts, *kinds, "--sensitive", "likes", "--strategy", strategy, "-k", 3)
        said = ok("links", "anonymize", *asked, *folders)
        assert "by vac" in said
        found = read_released(place / "release").graph
        assert found.n == (2 if strategy in CLUSTERED else 6)
        rest = (*kinds, "--sensitive", "likes", "--mapping", place / "private")
        assert "values" in ok("links", "verify", place / "release", "--original", facts, *rest, "-k", 3)
        assert run("links", "verify", place / "release", "--original", facts, *rest, "-k", 4).exit_code == 1


def test_links_under_rules(tmp_path: Path) -> None:
    own, rules = tmp_path / "own.csv", tmp_path / "control.vada"
    own.write_text(f"a,b,w\n{OWN}", encoding="utf-8")
    rules.write_text(CONTROL, encoding="utf-8")
    release, private = tmp_path / "release", tmp_path / "private"
    under = ("--rules", rules)
    folders = ("--release", release, "--private", private)
    said = ok(
        *("links", "anonymize", *under, f"own={own}?header=true"),
        *folders,
        *("--strategy", "intact"),
    )
    assert re.search("^left out +4 links of control, which is sensitive", said, re.MULTILINE)
    assert "control" not in "".join(p.read_text(encoding="utf-8") for p in release.iterdir())
    source = f"own={own}?header=true"
    judged = ok("links", "verify", release, "--original", source, *under, "--mapping", private)
    assert "holds: intact" in judged
    told = json.loads(
        ok(
            *("links", "attack", release, "--original", source, *under),
            *("--mapping", private, "--json"),
        )
    )
    assert {row["recall"] for row in told["thresholds"]} == {1.0}  # all is derived from what is released
    assert {row["precision"] for row in told["thresholds"]} == {1.0}
    unsure = tmp_path / "unsure.vada"
    unsure.write_text(
        CONTROL.replace("control(X, Z) :-", '@label("owns", 0.5)\ncontrol(X, Z) :-'), encoding="utf-8"
    )
    told = json.loads(
        ok(
            *("links", "attack", release, "--original", source, *under),
            *("--other-rules", unsure, "--mapping", private, "--json"),
        )
    )
    assert told["thresholds"][0]["recall"] > told["thresholds"][3]["recall"]
    guessed = ("--rules", unsure, "--sensitive", "control", "--mapping", private)
    noted = run("links", "attack", release, "--original", source, *guessed).stderr
    assert "as if all rules were certain, but @label gives 'owns' the probability 0.5" in noted


def test_an_adversary_with_rules_agrees_with_the_noisy_or(tmp_path: Path, table: str) -> None:
    assert anonymize(tmp_path, table, *SECRET, "--strategy", "partial").exit_code == 0
    rules = tmp_path / "attacker.vada"
    rules.write_text(ADVERSARY, encoding="utf-8")
    attacked = ("links", "attack", tmp_path / "release", "--original", table, *MUTUAL, *SECRET)
    asked = (*attacked, "--mapping", tmp_path / "private", "--thresholds", "0.3,0.7")
    by_noise = ok(*asked, *NOISE)
    assert ok(*asked, "--rules", rules, "--leak", "0.2") == by_noise
    assert [line.split()[0] for line in by_noise.splitlines()[1:3]] == ["0.3", "0.7"]


def test_the_adversary_of_the_page_needs_no_annotations(tmp_path: Path, table: str) -> None:
    page = (ROOT / "docs" / "links.md").read_text(encoding="utf-8")
    _, block = page.split("```prolog\n")
    printed, whole = tmp_path / "printed.vada", ROOT / "examples" / "school" / "attacker.vada"
    printed.write_text(block.split("```")[0], encoding="utf-8")
    for strategy in ("partial", "cluster-edge"):
        place = tmp_path / strategy
        assert anonymize(place, table, *SECRET, "--strategy", strategy).exit_code == 0
        asked = ("links", "attack", place / "release", "--original", table, *MUTUAL, *SECRET)
        drawn = ("--worlds", 3, "--seed", 1) if strategy == "cluster-edge" else ()
        asked = (*asked, "--mapping", place / "private", "--leak", "0.2", *drawn, "--rules")
        found = run(*asked, printed)
        assert (found.exit_code, found.stdout) == (0, ok(*asked, whole)), found.stderr
        assert "warning" not in found.stderr


def test_the_example_is_the_school_that_the_page_says(tmp_path: Path) -> None:
    said = (
        (ROOT / "docs" / "links.md")
        .read_text(encoding="utf-8")
        .split("`kgreason links generate ")[1]
        .split("`")[0]
    )
    ok("links", "generate", *said.replace("school.csv", str(tmp_path / "school.csv")).split())
    made = (tmp_path / "school.csv").read_bytes()
    assert made == (ROOT / "examples" / "school" / "school.csv").read_bytes()


# input that is refused


def test_options_that_do_not_go_together_are_refused(
    tmp_path: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cases: list[tuple[tuple[object, ...], str, str]] = [
        ((), "no sensitive relation", "--sensitive"),
        (("--sensitive", "freinds"), "freinds", "friends"),
        ((*SECRET, "--percent", 40), "percentage", "partial"),
        ((*SECRET, "--strategy", "intact", "-k", 4), "changes nothing", "cluster-edge"),
        ((*SECRET, "-k", 31), "31", "lower k"),
        ((*SECRET, "--tau", 0.5), "no such option '--tau'", "kgreason links anonymize --help"),
        ((*SECRET, "--trials", 3), "no such option '--trials'", "kgreason links anonymize --help"),
        ((*SECRET, "--mode", "published"), "no such option '--mode'", "kgreason links anonymize --help"),
        ((*SECRET, "own=own.csv"), "own=own.csv is of rules", "--rules"),
        ((*SECRET, "--clustering", "nonsense"), "nonsense", ""),
    ]
    for args, what, hint in cases:
        found = anonymize(tmp_path, table, *args)
        assert found.exit_code == 2, (args, found.output)
        assert what in found.stderr, (args, found.stderr)
        assert hint in found.stderr, (args, found.stderr)
    rules = tmp_path / "control.vada"
    rules.write_text(CONTROL, encoding="utf-8")
    both = anonymize(tmp_path, table, "--rules", rules)
    assert "has no meaning" in both.stderr
    for option in (SECRET, ("--strategy", "intact"), ("--percent", 3), ("--clusters", table)):
        for words in (
            ("anonymize", "--method", "kguard", "--rules", rules),
            ("people", "anonymize", "s.toml", "--method", "ckga"),
        ):
            assert f"no such option '{option[0]}'" in refused(*words, *option)
    assert not (tmp_path / "release").exists()


def test_a_release_of_another_kind_is_recognized(tmp_path: Path, table: str) -> None:
    assert anonymize(tmp_path, table, *SECRET).exit_code == 0
    (tmp_path / "release").rename(tmp_path / "links")
    write_people(tmp_path / "people", PeopleGraph.from_triples("ab", [], [("a", "likes", "b")]))
    (tmp_path / "a graph under rules").mkdir()
    for name, text in {
        "rules.vada": CONTROL,
        "nodes.csv": "node\na\nb\n",
        "own.csv": "a,b,w\na,b,1\n",
    }.items():
        (tmp_path / "a graph under rules" / name).write_text(text, encoding="utf-8")
    rules = tmp_path / "a graph under rules" / "rules.vada"
    judges = {
        "links": ("links", "verify"),
        "people": ("people", "verify", "--model", "k-degree"),
        "a graph under rules": ("verify", "--rules", rules),
    }
    hints = {"links": "kgreason links verify", "people": "--model k-ad", "a graph under rules": "--rules"}
    for kind in judges:
        for other in judges:
            if kind != other:
                said = refused(*judges[other], tmp_path / kind)
                assert f"{kind}: this is a release of {kind}, not of {other}" in said
                assert hints[kind] in said.split("help: ")[1]
    known = ("--original", tmp_path / "people" / "people.toml", "--mapping", tmp_path / "private")
    assert "the share of links kept, in place of a score" in refused(
        "people", "score", tmp_path / "links", *known
    )
    noisy = ("links", "attack", tmp_path / "people", "--mapping", tmp_path, *NOISE)
    assert "this is a release of people, not of links" in refused(
        *noisy, "--original", table, *MUTUAL, *SECRET
    )


@pytest.mark.parametrize(
    "named", [("--sensitive", "friends", "--sensitive", "groupmates"), ("--sensitive", "friends, groupmates")]
)
def test_one_relation_is_sensitive(tmp_path: Path, table: str, named: tuple[str, ...]) -> None:
    release, private = tmp_path / "release", tmp_path / "private"
    judged = run("links", "verify", *of(table, tmp_path)[:3], *MUTUAL, *named, "--mapping", private)
    attacked = run(
        *("links", "attack", release, "--original", table),
        *(*MUTUAL, *named, *NOISE, "--mapping", private),
    )
    for found in (anonymize(tmp_path, table, *named), judged, attacked):
        assert found.exit_code == 2
        assert "one relation can be sensitive, and 2 are named: friends, groupmates" in found.stderr
        assert 'ignore = ["groupmates"]' in found.stderr
    assert not release.exists()


def test_what_verify_and_attack_lack_is_said(tmp_path: Path, table: str) -> None:
    assert anonymize(tmp_path, table, *SECRET).exit_code == 0
    release, private = tmp_path / "release", tmp_path / "private"
    judge = ("links", "verify")
    assert "no mapping" in refused(*judge, release, "--original", table, *MUTUAL, *SECRET)
    assert "but no original" in refused(*judge, release, "--mapping", private)
    assert "no such option '-x'" in refused(*judge, release, "-x", 3)
    assert "no such option '--sensitive'" in refused("people", "verify", release, "--model", "k-ad", *SECRET)
    assert "no such option '--percent'" in refused("verify", release, "--percent", 3, "--rules", "r.vada")
    truth = ("--original", table, *MUTUAL)
    to = ("links", "attack", release)
    assert "no mapping" in refused(*to, *truth, *SECRET, *NOISE)
    known = (*to, "--mapping", private)
    assert "neither noise nor rules" in refused(*known, *truth, *SECRET)
    assert "no sensitive relation" in refused(*known, *truth, *NOISE)
    assert "no data are named" in refused(*known, *MUTUAL, *SECRET, *NOISE)
    assert "'groupmates' of the release has no weight" in refused(
        *known, *truth, *SECRET, "--noise", "classmates=0.4"
    )
    for noise in ("classmates", "classmates=2", "classmates=much", "=0.4"):
        assert "--noise" in refused(*known, *truth, *SECRET, "--noise", noise)
    assert "twice" in refused(*known, *truth, *SECRET, "--noise", "a=0.1", "--noise", "a=0.2")
    assert "--thresholds must be a probability, not 'x'" in refused(
        *known, *truth, *SECRET, *NOISE, "--thresholds", "0.2,x"
    )
    assert "by noise, or by rules" in refused(*known, *truth, *SECRET, *NOISE, "--rules", "r.vada")
    assert "no such option '--known'" in refused(*known, *truth, *SECRET, *NOISE, "--known", 3)
    parts = ("attack", release, "--mapping", private)
    assert "no such option '--leak'" in refused(*parts, "--leak", 0.2)
    assert "missing option '--rules'" in refused(*parts)
    assert "r.vada" in refused(*parts, "--rules", "r.vada")
    assert "no such release folder" in refused(
        "links", "attack", tmp_path / "none", *known[3:], *truth, *SECRET, *NOISE
    )


def test_options_without_effect_are_refused(tmp_path: Path, table: str) -> None:
    rules = tmp_path / "attacker.vada"
    rules.write_text(ADVERSARY, encoding="utf-8")
    for strategy in ("intact", "partial", "constrained", "cluster-edge"):
        assert anonymize(tmp_path / strategy, table, *SECRET, "--strategy", strategy).exit_code == 0
    judge = ("links", "verify")
    attack = ("links", "attack", "--original", table, *MUTUAL, *SECRET, "--mapping")
    leave = "leave it out"
    alone = refused(*judge, tmp_path / "partial" / "release", "--percent", 50)
    assert "--percent has no meaning without the original" in alone
    assert "or name the original" in alone
    for strategy in ("intact", "constrained"):
        found = refused(*judge, *of(table, tmp_path / strategy), "--percent", 50)
        assert f"percent has no effect: {strategy}" in found
        assert leave in found
    for strategy in ("intact", "partial"):
        for given in (of(table, tmp_path / strategy), (tmp_path / strategy / "release",)):
            found = refused(*judge, *given, "-k", 3)
            assert f"k has no effect: {strategy} leaves entities as nodes" in found
            assert leave in found
    # what a release must be it may fail to be: that is for the verdict
    wrong = run(*judge, tmp_path / "intact" / "release", "--strategy", "constrained", "-k", 3)
    assert (wrong.exit_code, bool(re.search("^violated +strategy", wrong.stdout, re.MULTILINE))) == (
        1,
        True,
    ), wrong.output

    def place(strategy: str) -> tuple[object, ...]:
        return *attack, tmp_path / strategy / "private", tmp_path / strategy / "release"

    by_rules = ("--rules", rules)
    assert "--worlds has no meaning with --noise" in refused(*place("cluster-edge"), *NOISE, "--worlds", 9)
    assert "--seed has no meaning with --noise" in refused(*place("cluster-edge"), *NOISE, "--seed", 9)
    for option in ("--worlds", "--seed"):
        found = refused(*place("partial"), *by_rules, option, 9)
        assert f"{option} has no meaning for a release that says which entities are linked" in found
        assert leave in found
        assert ok(*place("cluster-edge"), *by_rules, "--worlds", 2, "--seed", 9)
    for strategy in ("intact", "cluster-edge"):
        found = refused(*place(strategy), *NOISE, "--sharp")
        assert f"--sharp has no meaning for a release made by {strategy}" in found
    assert "--sharp has no meaning with --rules" in refused(*place("constrained"), *by_rules, "--sharp")
    assert ok(*place("constrained"), *NOISE, "--sharp")
    found = refused(*place("intact"), *NOISE, "--noise", "enemies=0.9")
    assert "noise of 'enemies', which is no relation of the release" in found
    assert "did you mean 'classmates'" in refused(*place("intact"), "--noise", "classmate=0.4")


def test_a_relation_of_the_release_is_not_inferred(tmp_path: Path, table: str) -> None:
    assert anonymize(tmp_path, table, *SECRET).exit_code == 0
    rules = tmp_path / "attacker.vada"
    rules.write_text(ADVERSARY.replace("friends(", "groupmates("), encoding="utf-8")
    asked = ("links", "attack", tmp_path / "release", "--original", table, *MUTUAL)
    for infers in (("--noise", "classmates=0.4"), ("--rules", rules)):
        found = refused(*asked, "--sensitive", "groupmates", "--mapping", tmp_path / "private", *infers)
        assert "the release holds the relation 'groupmates' itself" in found


def test_rules_tell_what_they_leave_unread(tmp_path: Path, table: str) -> None:
    assert anonymize(tmp_path, table, *SECRET, "--strategy", "intact").exit_code == 0
    rules = tmp_path / "attacker.vada"
    asked = ("links", "attack", tmp_path / "release", "--original", table, *MUTUAL, *SECRET)
    asked = (*asked, "--mapping", tmp_path / "private", "--rules", rules)
    rules.write_text(ADVERSARY[: ADVERSARY.rindex("@label")], encoding="utf-8")
    found = run(*asked)
    assert found.exit_code == 0
    assert "do not read groupmates, which the release holds" in found.stderr
    rules.write_text(ADVERSARY.replace(":- classmates(", ":- clasmates("), encoding="utf-8")
    assert "did you mean 'classmates'?" in refused(*asked)


def test_a_readme_that_leads_nowhere_is_refused(tmp_path: Path, table: str) -> None:
    assert anonymize(tmp_path, table, *SECRET).exit_code == 0
    readme = tmp_path / "release" / "README.txt"
    readme.unlink()
    readme.symlink_to(tmp_path / "nowhere")
    assert "a link that leads nowhere" in refused("links", "verify", tmp_path / "release", *SECRET)


# from Python


def test_rules_see_relations_without_links() -> None:
    """A relation that nobody has cannot hold any link between two entities: that is its limit."""
    some = observations(np.array([0, 1]), np.array([1, 2]), mutual=True)
    none = observations(np.array([], dtype=np.int64), np.array([], dtype=np.int64), mutual=True)
    names = np.array([*"abcd", None], dtype=object)[:-1]
    graph = LinkGraph(names, {"classmates": some, "groupmates": none})
    original = Original(graph, Sensitive("friends", np.array([0]), np.array([1]), True))
    made = kgreason.links.anonymize(original, k=2)
    asked: dict[str, Any] = {"leak": 0.2, "thresholds": [0.1]}
    found = kgreason.links.attack(
        made.release.released, original, made.mapping, rules=ADVERSARY, worlds=3, **asked
    )
    assert found.at[0].recall == 1.0


def test_python_does_what_the_command_does(tmp_path: Path) -> None:
    drawn = school(np.random.default_rng(1), students=30, classes=8, groups=8)
    folders = kgreason.Folders(tmp_path / "release", tmp_path / "private")
    result = kgreason.links.anonymize(drawn, strategy="cluster-edge", k=5, folders=folders)
    assert result.holds
    assert "holds; 100% of the links kept" in repr(result)
    assert sorted(result.mapping) == sorted(drawn.graph.labels)
    assert set(result.cluster_sizes) == {5}
    for mapping in (folders.private, result.mapping, result.release.mapping):
        written = mapping is folders.private or isinstance(mapping, dict)
        released: Any = folders.release if written else result.release.released
        verdict = kgreason.links.verify(released, original=drawn, mapping=mapping, k=5)
        assert verdict.holds, verdict
    noise = {"classmates": 0.4, "groupmates": 0.6}
    asked: dict[str, Any] = {"noise": noise, "leak": 0.2, "thresholds": [0.1, 0.5]}
    found = kgreason.links.attack(folders.release, drawn, folders.private, **asked)
    assert (
        found.as_dict()
        == kgreason.links.attack(result.release.released, drawn, result.mapping, **asked).as_dict()
    )
    assert found.at[0].recall == 1.0
    single = kgreason.links.attack(folders.release, drawn, folders.private, **asked | {"thresholds": 0.5})
    assert single.at == found.at[1:]


def test_python_takes_rules() -> None:
    data = {"own": [("A", "B", 0.6), ("B", "C", 0.3), ("A", "C", 0.4), ("C", "D", 0.7)]}
    original = kgreason.links.of_rules(CONTROL, data)
    assert original.sensitive.name == "control"
    result = kgreason.links.anonymize(data, rules=CONTROL, strategy="removed")
    assert result.holds
    assert result.links == {"own": (4, 0)}
    assert result.utility == 0.0
    given = kgreason.links.anonymize(original, clusters={"A": 1, "B": 1, "C": 2, "D": 2})
    assert given.verdict.k == 2


def test_python_refuses_what_makes_no_sense() -> None:
    drawn = school(np.random.default_rng(1), students=12)
    made = kgreason.links.anonymize(drawn)
    anyhow: Any = kgreason.links  # whatever the types of arguments
    cases: list[tuple[type[Exception], str, Any]] = [
        (CallError, "not of type int", lambda: anyhow.anonymize(3)),
        (AnonymizationError, "unknown strategy", lambda: anyhow.anonymize(drawn, strategy="all")),
        (
            AnonymizationError,
            "percent",
            lambda: anyhow.anonymize(drawn, strategy="partial", percent=101),
        ),
        (AnonymizationError, "'foes' is named", lambda: anyhow.anonymize(drawn, sensitive="foes")),
        (AnonymizationError, "sensitive", lambda: anyhow.anonymize("school.toml")),
        (
            AnonymizationError,
            "in no cluster",
            lambda: anyhow.anonymize(drawn, clusters={"student1": 1}),
        ),
        (AnonymizationError, "whole numbers", lambda: anyhow.anonymize(drawn, clusters=np.ones(3))),
        (AnonymizationError, "k must be", lambda: anyhow.anonymize(drawn, k=0)),
        (DataError, "no such release folder", lambda: anyhow.verify("nowhere")),
        (CallError, "release of links", lambda: anyhow.verify(drawn)),
        (
            AnonymizationError,
            "belong together",
            lambda: anyhow.verify(made.release.released, original=drawn),
        ),
        (
            ReleaseError,
            "the original entity 'student1' has no row",
            lambda: anyhow.attack(made.release.released, drawn, {}, noise={}),
        ),
        (
            AnonymizationError,
            "by rules",
            lambda: anyhow.attack(made.release.released, drawn, made.mapping),
        ),
        (
            AnonymizationError,
            "leak must be a probability",
            lambda: anyhow.attack(made.release.released, drawn, made.mapping, noise={}, leak=2),
        ),
        (AnonymizationError, "sensitive", lambda: anyhow.of_rules("p(X,Y) :- q(X,Y). q(1,2).")),
        (
            AnonymizationError,
            "cluster cannot be of type list",
            lambda: anyhow.anonymize(drawn, clusters={name: [1] for name in drawn.graph.labels}),
        ),
        (AnonymizationError, "whole numbers", lambda: anyhow.anonymize(drawn, clusters=[[1], [1, 2]])),
    ]
    release, nodes, noise = made.release.released, made.release.mapping, {"classmates": 0.4, "groupmates": 1}
    for mapping, kind, what in (
        (-np.ones(12, dtype=np.int64), ReleaseError, "has the number -1"),
        (nodes + release.graph.n, ReleaseError, "'student1' has the number"),
        (nodes[1:], ReleaseError, "11 numbers for 12 names"),
        (nodes.reshape(12, 1), CallError, r"of shape \(12, 1\)"),
        (["a"] * 12, CallError, "of type list"),
        ([[1], [1, 2]], CallError, "of type list"),
        (nodes + 0.3, CallError, "not float64 of shape"),
        (nodes.astype(float), CallError, "whole numbers of the release"),
        (5, CallError, "not of type int"),
        ({name: [1] for name in drawn.graph.labels}, ReleaseError, "which the release does not contain"),
    ):
        cases.append((kind, what, partial(anyhow.attack, release, drawn, mapping, noise=noise)))
        cases.append((kind, what, partial(anyhow.verify, release, original=drawn, mapping=mapping)))
    attack = partial(anyhow.attack, release)
    cases += [
        (CallError, "whole numbers of the release", partial(attack, drawn, None, noise=noise)),
        (CallError, "not of type LinkGraph", partial(attack, drawn.graph, nodes, noise=noise)),
        (CallError, "not of type str", partial(anyhow.verify, release, original="x", mapping=nodes)),
        (CallError, "noise is a mapping", partial(attack, drawn, nodes, noise=[1])),
        (
            AnonymizationError,
            "weight of 'classmates' must be",
            partial(attack, drawn, nodes, noise=noise | {"classmates": "much"}),
        ),
        (AnonymizationError, "'enemies'", partial(attack, drawn, nodes, noise=noise | {"enemies": 0.9})),
        (
            AnonymizationError,
            "a threshold must be",
            partial(attack, drawn, nodes, noise=noise, thresholds="0.4"),
        ),
        (
            AnonymizationError,
            "a threshold must be",
            partial(attack, drawn, nodes, noise=noise, thresholds=None),
        ),
        (AnonymizationError, "no threshold", partial(attack, drawn, nodes, noise=noise, thresholds=[])),
        (AnonymizationError, "sharp has no meaning", partial(attack, drawn, nodes, noise=noise, sharp=True)),
        (
            AnonymizationError,
            "sharp has no meaning for an attacker with rules",
            partial(attack, drawn, nodes, rules=ADVERSARY, sharp=True),
        ),
        (AnonymizationError, "worlds has no meaning", partial(attack, drawn, nodes, noise=noise, worlds=100)),
        (AnonymizationError, "seed has no meaning", partial(attack, drawn, nodes, noise=noise, seed=1)),
        (AnonymizationError, "percent has no effect", partial(anyhow.verify, release, percent=10)),
        (
            AnonymizationError,
            "percent has no effect without",
            partial(anyhow.verify, release, strategy="partial", percent=10),
        ),
    ]
    for kind, what, call in cases:
        with pytest.raises(kind, match=what):
            call()


def test_the_rules_of_an_adversary_say_what_he_is_after(tmp_path: Path, table: str) -> None:
    assert anonymize(tmp_path, table, *SECRET).exit_code == 0
    rules = tmp_path / "attacker.vada"
    rules.write_text('@sensitive("friends").' + ADVERSARY, encoding="utf-8")
    asked = ("links", "attack", tmp_path / "release", "--original", table, *MUTUAL)
    known = (*asked, "--mapping", tmp_path / "private", "--rules", rules, "--worlds", 3, "--seed", 1)
    assert ok(*known) == ok(*known, *SECRET)
    said = refused(*known, "--sensitive", "groupmates")
    assert "the rules call friends sensitive, and --sensitive says groupmates" in said


def test_of_removed_links_the_leak_alone_is_left(tmp_path: Path, table: str) -> None:
    assert anonymize(tmp_path, table, *SECRET, "--strategy", "removed").exit_code == 0
    known = ("--original", table, *MUTUAL, *SECRET, "--mapping", tmp_path / "private")
    told = ok("links", "attack", tmp_path / "release", *known, "--leak", 0.3, "--json")
    pairs = 30 * 29 // 2
    assert [one["predicted"] for one in json.loads(told)["thresholds"]] == [pairs, 0, 0, 0]


def test_verify_tells_of_the_mark_of_a_failed_check(tmp_path: Path, table: str) -> None:
    assert anonymize(tmp_path, table, *SECRET).exit_code == 0
    asked = ("links", "verify", tmp_path / "release", *SECRET)
    assert "UNVERIFIED" not in run(*asked).stderr
    (tmp_path / "release" / "UNVERIFIED").touch()
    assert "is marked UNVERIFIED: it was not confirmed when it was made" in run(*asked).stderr


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_sensitive_edge_needs_no_rule(tmp_path: Path, strategy: Strategy) -> None:
    (tmp_path / "own.csv").write_text("a,b\nA,B\nB,C\nC,D\nD,A\n", encoding="utf-8")
    (tmp_path / "knows.csv").write_text("a,b\nA,C\nX,B\n", encoding="utf-8")
    (tmp_path / "r.vada").write_text(
        '@bind("own","csv useHeaders=true","","own.csv"). @bind("knows","csv useHeaders=true","","knows.csv").\n'
        '@edge("own"). @edge("knows"). @sensitive("knows").',
        encoding="utf-8",
    )
    folders = ("--release", tmp_path / "release", "--private", tmp_path / "private")
    asked = ("--rules", tmp_path / "r.vada", "--strategy", strategy)
    k = ("-k", 2) if strategy in CLUSTERED else ()
    said = ok("links", "anonymize", *asked, *folders, *k)
    assert "  1 links of knows, which is sensitive, and 1 of entities that are left out" in said
    graph = read_released(tmp_path / "release").graph
    assert set(graph.observed) == {"own"}
    assert graph.size.sum() == 4


def test_nobody_is_released_of_whom_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("A,likes,B\nC,likes,D\nA,owns,A\n", encoding="utf-8")
    (tmp_path / "m.csv").write_text("A,likes,B\n", encoding="utf-8")
    named = ("--relations", "likes,owns", "--sensitive", "likes")
    folders = ("--release", tmp_path / "release", "--private", tmp_path / "private")
    said = ok(
        "links",
        "anonymize",
        tmp_path / "n.csv",
        *named,
        "--strategy",
        "intact",
        *folders,
        "--json",
    )
    assert json.loads(said)["sensitive"] == {"name": "likes", "links": 0, "left_out": 2}
    for strategy in STRATEGIES:
        asked = ("--strategy", strategy, "--release", tmp_path / "r", "--private", tmp_path / "p")
        told = refused("links", "anonymize", tmp_path / "m.csv", *named, *asked)
        assert "no relation or value besides likes" in told or "no relation" in told


def test_other_rules_need_rules_of_the_truth(tmp_path: Path, table: str) -> None:
    assert anonymize(tmp_path, table, *SECRET).exit_code == 0
    asked = ("links", "attack", tmp_path / "release", "--original", table, *MUTUAL, *SECRET)
    known = (*asked, "--mapping", tmp_path / "private")
    for rules in ((), ("--rules", "r.vada")):
        assert "name the attacker's rules by --rules" in refused(*known, *rules, "--other-rules", "s.vada")
    said = refused(*known, "--noise", "classmates=0.4,groupmates=0.6")
    assert "say --noise once for each" in said
