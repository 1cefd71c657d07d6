"""The command line as its users meet it: what it prints, what it writes, how it ends."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import get_args
from unittest.mock import patch

import pytest
from click import BadParameter
from click.testing import CliRunner, Result

from kgreason.base import atomic_files
from kgreason.cli import app
from kgreason.cli.options import Format
from kgreason.cli.options import sizes as sizes_of
from kgreason.data.targets import FORMATS
from tests.conftest import OWNERSHIP
from tests.folders import ROOT
from tests.needs import quick

REPORT = "report.html", "report.json"
NAMES = {end for owner, company, _ in OWNERSHIP for end in (owner, company)}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def anywhere(ownership: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder other than that of the rules."""
    place = ownership / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


def anonymize(folder: Path, *more: str) -> Result:
    return run(
        "anonymize",
        "--rules",
        folder / "control.vada",
        "--method",
        "klone",
        "-x",
        "3",
        "--trials",
        "2",
        *more,
    )


def test_check_accepts_the_rule_library() -> None:
    result = run("check", *sorted((ROOT / "rules").glob("*.vada")))
    assert result.exit_code == 0, result.output
    assert "control.vada: 0 errors, 0 warnings" in result.output


def test_check_tells_whether_rules_commute(tmp_path: Path) -> None:
    file = tmp_path / "rules.vada"
    file.write_text('@edge("own"). @derived("d").\nd(X,Y) :- own(X,Y), own(Y,X).\n', encoding="utf-8")
    result = run("check", file)
    assert f"{file}: the rules commute with taking parts of the graph" in result.output
    file.write_text('@edge("own"). @derived("d").\nd(X,Z) :- own(X,Y), own(Y,Z).\n', encoding="utf-8")
    result = run("check", file)
    assert result.exit_code == 0
    assert f"{file}: the rules do not commute with taking parts of the graph" in result.output
    assert "d(a, c) follows from own(a, b), own(b, c), but not without b\n" in result.output
    assert f"{file}:2: the head leaves out the vertex Y\n" in result.output
    file.write_text("d(X,Z) :- own(X,Y), own(Y,Z).\nown(1,2).\n", encoding="utf-8")
    assert "commute" not in run("check", file).output


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["-x", "3"], True),
        (["-x", "2"], False),
        (["-x", "2..3"], False),
        (["-x", "3", "--method", "klone"], False),
    ],
)
def test_anonymize_tells_what_x_leaves_out(
    ownership: Path, anywhere: Path, options: list[str], told: bool
) -> None:
    result = run("anonymize", "--rules", ownership / "control.vada", "-k", "2", "--trials", "1", *options)
    assert result.exit_code == 0, result.output
    note = "-x 3 covers subgraphs of 3 vertices, not smaller ones"
    assert (note in result.stderr) == told
    assert ("-x 2..3 covers them, too" in result.stderr) == told
    assert "and fewer" not in result.stdout


def test_rules_that_commute_cover_fewer_vertices(ownership: Path, anywhere: Path) -> None:
    rules = ownership / "major.vada"
    rules.write_text(
        '@edge("own"). @derived("major"). @output("major"). '
        '@bind("own", "csv useHeaders=true", "", "own.csv").\n'
        "major(X,Y) :- own(X,Y,W), W > 0.5.\n",
        encoding="utf-8",
    )
    result = run("anonymize", "--rules", rules, "-k", "2", "-x", "3", "--trials", "1")
    assert result.exit_code == 0, result.output
    assert "covers subgraphs of" not in result.stderr
    assert "holds for every x" in result.stdout, "KGUARD found nothing cheaper than copies"
    files = ["release/own.csv", "--mapping", "private"]
    one = run("verify", "--rules", rules, *files, "-k", "2", "-x", "3")
    assert "holds for k = 2, x = 3 and fewer (the rules commute)" in one.stdout
    found = json.loads(run("verify", "--rules", rules, *files, "-k", "2", "-x", "3", "--json").stdout)
    assert (found["holds"], found["commute"]) == (True, True)
    smaller = json.loads(run("verify", "--rules", rules, *files, "-k", "2", "-x", "1..2", "--json").stdout)
    assert smaller["holds"]
    more = run("verify", "--rules", rules, *files, "-k", "3", "-x", "3")
    assert "and fewer" not in more.stdout


REFUSED = sorted(
    p.parent.name
    for p in (ROOT / "tests" / "programs").glob("diagnostic_E*/command.txt")
    if p.read_text(encoding="utf-8").startswith("anonymize")
)


@pytest.mark.parametrize("case", [c for c in REFUSED if c != "diagnostic_E401"])  # of rules about a graph
def test_check_tells_what_anonymize_refuses(case: str, anywhere: Path) -> None:
    rules = ROOT / "tests" / "programs" / case / "program.vada"
    refused, checked = run("anonymize", "--rules", rules), run("check", rules)
    assert refused.exit_code == 2
    assert checked.exit_code == 0
    first = refused.output.strip().split("\n\n")[0]
    assert f"{rules}: reason takes these rules, anonymize refuses them:\n{first}\n" in checked.output
    (told,) = json.loads(run("check", rules, "--json").output)["files"]
    assert told["anonymize"][0]["code"] == case.removeprefix("diagnostic_")


def test_edges_that_rules_derive_are_anonymized_as_a_table(anywhere: Path) -> None:
    Path("own.csv").write_text("x,y,w\na,b,0.6\nb,c,0.7\nc,d,0.8\nd,a,0.2\n", encoding="utf-8")
    rules = """
        @bind("own", "csv useHeaders=true", "", "own.csv"). @edge("control"). @derived("linked").
        big(X, Y) :- own(X, Y, W), W > 0.5.
        control(X, Y) :- big(X, Y).
        linked(X, Y) :- control(X, Z), control(Z, Y).
    """
    Path("a.vada").write_text(rules, encoding="utf-8")
    (told,) = json.loads(run("check", "a.vada", "--json").output)["files"]
    (only,) = told["anonymize"]
    command = re.search(r"`kgreason (.*?)`", only["hint"])
    bind = re.search(r"@bind\(.*?\)", only["hint"])
    assert command
    assert bind
    assert run(*command[1].split()).exit_code == 0
    linked = rules.strip().splitlines()[-1]
    Path("b.vada").write_text(f'{bind[0]}. @edge("control"). @derived("linked"). {linked}', encoding="utf-8")
    assert "anonymize" not in run("check", "b.vada").output
    found = run("anonymize", "--rules", "b.vada", "--method", "klone", "-k", "2", "-x", "2", "--trials", "1")
    assert found.exit_code == 0
    assert "4 vertices, 3 edges -> " in found.output


def test_edges_that_rules_derive_from_the_graph_are_no_given_ones(anywhere: Path) -> None:
    rules = """
        @edge("own"). @edge("control"). @derived("linked"). own("a", "b", 0.6). own("b", "c", 0.6).
        control(X, Y) :- own(X, Y, W), W > 0.5.
        linked(X, Y) :- control(X, Z), control(Z, Y).
    """
    Path("a.vada").write_text(rules, encoding="utf-8")
    result = run("anonymize", "--rules", "a.vada")
    assert result.exit_code == 2
    assert "@edge says that 'control' is given, but it has no data: rules derive it" in result.output
    assert 'goes by @derived("control")' in result.output
    told = run("check", "a.vada").output
    assert "anonymize refuses them unless --data gives the edges:\na.vada:3:9: error[E127]: @edge" in told
    assert "`control` is given, but it has no data" in told
    assert "or give its table, --data control=FILE" in told
    Path("b.vada").write_text(rules + '@input("control").', encoding="utf-8")
    assert "anonymize refuses" not in run("check", "b.vada").output


def test_check_tells_of_all_that_anonymize_refuses(anywhere: Path) -> None:
    rules = """
        @input("other"). @edge("knows"). @edge("owns"). @edge("third"). @derived("two").
        knows(Y, X) :- knows(X, Y).
        knows(X, Y) :- other(X, Y).
        third(X, Y) :- owns(X, Y).
        two(X, Z) :- knows(X, Y), third(Y, Z), X != "a".
        %s
    """
    Path("a.vada").write_text(rules % "", encoding="utf-8")
    told = run("check", "a.vada").output
    assert "anonymize refuses them:\n" in told
    assert re.findall(r"error\[(\w+)\]: .*?`(\w+)`", told) == [("E127", "knows"), ("E127", "third")]
    Path("b.vada").write_text((rules % 'two(X, "b") :- knows(X, Y).').replace("knows(X, Y) :- other", "% "))
    codes = [d["code"] for d in json.loads(run("check", "b.vada", "--json").output)["files"][0]["anonymize"]]
    assert codes.count("E127") == 2
    assert codes.count("E404") >= 1
    assert run("check", "b.vada").output.count("error[") == len(codes)


def test_edges_that_the_data_give_are_no_hindrance(anywhere: Path) -> None:
    text = (
        '@edge("knows"). @derived("two"). knows(Y, X) :- knows(X, Y). two(X, Z) :- knows(X, Y), knows(Y, Z).'
    )
    Path("a.vada").write_text(text, encoding="utf-8")
    Path("knows.csv").write_text("source,target\na,b\nb,c\n", encoding="utf-8")
    assert "anonymize refuses them unless --data gives the edges:\na.vada:1:" in run("check", "a.vada").output
    data = ("--data", "knows=knows.csv", "--method", "klone", "-k", "2", "-x", "2", "--trials", "1")
    assert run("anonymize", "--rules", "a.vada", *data).exit_code == 0


def test_check_prints_all_errors_and_fails(tmp_path: Path) -> None:
    file = tmp_path / "bad.vada"
    file.write_text("p(X, Y) :- q(X), Y > 1.\nr(X) :- s(X), not r(X).\ns(1). q(1).\n", encoding="utf-8")
    result = run("check", file)
    assert result.exit_code == 1
    assert f"{file}:1:" in result.output
    assert f"{file}:2:" in result.output
    assert "^" in result.output


def test_reason_prints_clauses(ownership: Path) -> None:
    result = run("reason", "--rules", ownership / "control.vada")
    assert result.exit_code == 0, result.output
    assert 'control("Adler", "Elster").' in result.output.splitlines()
    assert 'control("Adler", "Biber").' in result.output.splitlines()


def test_reason_as_json_with_other_output(ownership: Path) -> None:
    result = run("reason", "--rules", ownership / "control.vada", "--output", "two_owns", "--json")
    document = json.loads(result.stdout)
    assert sorted(document["facts"]["two_owns"]) == [["Adler"], ["Dachs"], ["Falke"]]
    assert document["counts"] == {"two_owns": 3}


def test_reason_writes_tables(ownership: Path) -> None:
    out = ownership / "out"
    result = run("reason", "--rules", ownership / "control.vada", "--out", out, "--stats")
    assert result.exit_code == 0, result.output
    with (out / "control.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert ["Adler", "Biber"] in rows
    assert [p.name for p in out.iterdir()] == ["control.csv"]


def test_data_replaces_the_bind(ownership: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("a,b,w\nx,y,60\n", encoding="utf-8")
    result = run("reason", "--rules", ownership / "control.vada", "--data", f"own={other}?percent=true")
    assert sorted(result.stdout.splitlines()) == [
        'control("x", "x").',
        'control("x", "y").',
        'control("y", "y").',
    ]


def test_anonymize_writes_both_folders(ownership: Path, anywhere: Path) -> None:
    result = anonymize(ownership)
    assert result.exit_code == 0, result.output
    release, private = anywhere / "release", anywhere / "private"
    assert {p.name for p in release.iterdir()} == {
        "own.csv",
        "nodes.csv",
        "rules.vada",
        "README.txt",
        *REPORT,
    }
    assert {p.name for p in private.iterdir()} == {"mapping.csv", "certificate.json", "series.json", *REPORT}
    modes = {
        p: stat.S_IMODE(p.stat().st_mode) for p in (private, *private.iterdir(), release, *release.iterdir())
    }
    assert modes.pop(private) == 0o700
    assert modes.pop(release) == 0o755
    assert {m for p, m in modes.items() if p.parent == private} == {0o600}
    assert {m for p, m in modes.items() if p.parent == release} == {0o644}
    assert len({p.stat().st_mtime_ns for p in release.iterdir()}) == 1
    assert {p.name for p in anywhere.iterdir()} == {"release", "private"}
    with (private / "mapping.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["original", "released"]
    assert {row[0] for row in rows} == NAMES
    report = json.loads((private / "report.json").read_text())
    assert report["verdict"]["holds"] is True
    assert report["seed"] is None


def test_anonymize_prints_one_table(ownership: Path, anywhere: Path) -> None:
    result = anonymize(ownership)
    best = ("U (0 is best)", "U△ (0 is best)", "detection AUC (0.5 is best)")
    for word in ("guarantee", "δ-anonymity", *best, "vertices added", "time"):
        assert word in result.stdout
    assert "1.000" in result.stdout


def test_release_tells_nothing_of_the_input(ownership: Path, anywhere: Path) -> None:
    assert anonymize(ownership, "--seed", "4711").exit_code == 0
    public = {p.name: p.read_text(encoding="utf-8") for p in (anywhere / "release").iterdir()}
    for name, text in public.items():
        for secret in (*NAMES, "Confidential", "investigation", str(ownership), "4711"):
            assert secret not in text, (name, secret)
    assert public["own.csv"].splitlines()[0] == "owner,company,share"


def test_rules_that_name_a_vertex_in_a_string_are_not_published(ownership: Path, anywhere: Path) -> None:
    with (ownership / "control.vada").open("a") as file:
        file.write('noted(X, N) :- control(X, Y), X != Y, N = "near Adler". @query("noted").\n')
    result = anonymize(ownership)
    assert result.exit_code == 2
    assert "the rules hold the string 'near Adler', which names the vertex 'Adler'" in result.output
    assert list(anywhere.iterdir()) == []


def test_rules_that_nobody_needs_are_not_published(ownership: Path, anywhere: Path) -> None:
    with (ownership / "control.vada").open("a") as file:
        file.write('secret("Adler", "Dachs", 0.72).\nwatched(X) :- secret(X, Y, W).\n')
    assert anonymize(ownership).exit_code == 0
    text = (anywhere / "release" / "rules.vada").read_text()
    assert "secret" not in text
    assert "watched" not in text


def test_release_runs_in_its_place(ownership: Path, anywhere: Path) -> None:
    assert anonymize(ownership).exit_code == 0
    result = run("reason", "--rules", anywhere / "release" / "rules.vada", "--json")
    assert result.exit_code == 0, result.output
    with (anywhere / "release" / "nodes.csv").open(newline="") as file:
        nodes = {row[0] for row in list(csv.reader(file))[1:]}
    facts = json.loads(result.stdout)["facts"]["control"]
    assert {tuple(f) for f in facts} >= {(v, v) for v in nodes}


def test_anonymize_refuses_to_overwrite(ownership: Path, anywhere: Path) -> None:
    assert anonymize(ownership).exit_code == 0
    before = (anywhere / "release" / "own.csv").read_bytes()
    again = anonymize(ownership)
    assert again.exit_code == 2
    assert "release exists already" in again.output
    assert "--force" in again.output
    assert (anywhere / "release" / "own.csv").read_bytes() == before
    assert anonymize(ownership, "--force").exit_code == 0
    assert (anywhere / "release" / "own.csv").read_bytes() != before


@pytest.mark.parametrize("folder", ["release", "private"])
@pytest.mark.parametrize("mixed", [True, False])
def test_force_spares_foreign_files(ownership: Path, anywhere: Path, folder: str, mixed: bool) -> None:
    if mixed:
        assert anonymize(ownership).exit_code == 0
    (anywhere / folder).mkdir(exist_ok=True)
    (anywhere / folder / "thesis.csv").write_text("years of work")
    result = anonymize(ownership, "--force")
    assert result.exit_code == 2
    what = (
        "holds files that kgreason did not write" if mixed else "does not list the files that kgreason wrote"
    )
    assert f"{folder} {what}" in result.output
    assert "(thesis.csv)" in result.output.replace("there are ", "")
    assert (anywhere / folder / "thesis.csv").read_text() == "years of work"


def test_rules_do_not_say_what_may_be_replaced(ownership: Path, anywhere: Path) -> None:
    assert anonymize(ownership).exit_code == 0
    rules, mine = anywhere / "release" / "rules.vada", anywhere / "release" / "mine.csv"
    rules.write_text(rules.read_text(encoding="utf-8") + '@bind("mine", "csv", "", "mine.csv").\n')
    mine.write_text("years of work")
    result = anonymize(ownership, "--force")
    assert result.exit_code == 2
    assert "(mine.csv, rules.vada)" in result.output
    assert mine.read_text() == "years of work"


def test_parent_folders_are_made(ownership: Path, anywhere: Path) -> None:
    assert anonymize(ownership, "--release", "a/b/release", "--private", "c/private").exit_code == 0
    assert (anywhere / "a" / "b" / "release" / "own.csv").is_file()


def test_verify_takes_folders(ownership: Path, anywhere: Path) -> None:
    assert anonymize(ownership).exit_code == 0
    result = run(
        "verify", "release", "--rules", ownership / "control.vada", "--mapping", "private", "-x", "2"
    )
    assert result.exit_code == 0, result.output
    assert "holds for k = 3, x = 2" in result.output


def test_private_inside_release_is_refused(ownership: Path, anywhere: Path) -> None:
    result = anonymize(ownership, "--private", "release/private")
    assert result.exit_code == 2
    assert "overlap" in result.output
    assert not (anywhere / "release").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("disk full")])
def test_nothing_half_written(
    ownership: Path,
    anywhere: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException | type[BaseException],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("kgreason.isomorphism.assessment.verify", fail)
    result = anonymize(ownership)
    assert result.exit_code != 0
    assert list(anywhere.iterdir()) == []


VERIFICATION_WITH_A_SIGNAL = """
import os, signal, sys
from kgreason.isomorphism import assessment
from kgreason.__main__ import main
number, before = int(sys.argv.pop()), sys.argv.pop()
signal.signal(number, {"ignored": signal.SIG_IGN, "by default": signal.SIG_DFL}[before])
if number == signal.SIGINT and before == "by default":
    signal.signal(number, signal.default_int_handler)  # as Python starts
verify = assessment.verify
def send(*values, **options):
    exec("os.kill(os.getpid(), number)")  # after which Python would end by a signal
    return verify(*values, **options)
assessment.verify = send
main()
"""
IMPORT_WITH_A_SIGNAL = """
import os, signal, sys
from kgreason.__main__ import main
number = int(sys.argv.pop())
if number == signal.SIGINT:
    signal.signal(number, signal.default_int_handler)
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "click":
            os.kill(os.getpid(), number)
sys.meta_path.insert(0, Finder())
main()
"""


def anonymize_with_signal(
    ownership: Path, folder: Path, number: int, before: str
) -> subprocess.CompletedProcess[str]:
    rules = str(ownership / "control.vada")
    words = ["anonymize", "--rules", rules, "--method", "klone", "-x", "2", "--trials", "1"]
    return subprocess.run(
        [sys.executable, "-c", VERIFICATION_WITH_A_SIGNAL, *words, before, str(int(number))],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.parametrize("number", quick(1, [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]))
def test_a_signal_leaves_nothing_behind(ownership: Path, anywhere: Path, number: signal.Signals) -> None:
    done = anonymize_with_signal(ownership, anywhere, number, "by default")
    assert done.returncode == 130, done.stderr
    assert "interrupted; nothing was written" in done.stderr
    assert list(anywhere.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_command_line_is_imported(number: signal.Signals) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_WITH_A_SIGNAL, "--version", str(int(number))],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stderr) == (130, "interrupted; nothing was written\n")


def test_nohup_keeps_a_run_alive(ownership: Path, anywhere: Path) -> None:
    done = anonymize_with_signal(ownership, anywhere, signal.SIGHUP, "ignored")
    assert done.returncode == 0, done.stderr
    assert (anywhere / "release").is_dir()


def test_failed_replacement_restores_both_folders(
    ownership: Path, anywhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert anonymize(ownership).exit_code == 0
    before = {p: p.read_bytes() for p in anywhere.rglob("*.csv")}
    put = atomic_files.Side.put

    def fail(self: atomic_files.Side, inode: int) -> None:
        if self.target.name == "release":
            raise OSError("no space left")
        put(self, inode)

    monkeypatch.setattr(atomic_files.Side, "put", fail)
    result = anonymize(ownership, "--force")
    monkeypatch.undo()
    assert result.exit_code == 2
    assert "no space left" in result.output
    assert {p.name for p in anywhere.iterdir()} == {"release", "private"}
    assert {p: p.read_bytes() for p in anywhere.rglob("*.csv")} == before


def test_seeded_run_repeats_and_says_that_it_is_no_release(ownership: Path, anywhere: Path) -> None:
    first = anonymize(ownership, "--seed", "1")
    assert "not for publishing" in first.output
    table = (anywhere / "release" / "own.csv").read_bytes()
    assert json.loads((anywhere / "private" / "report.json").read_text())["seed"] == 1
    anonymize(ownership, "--seed", "1", "--force")
    assert (anywhere / "release" / "own.csv").read_bytes() == table
    assert "Do not publish" in (anywhere / "release" / "README.txt").read_text()


def test_verify_and_score_agree_with_anonymize(ownership: Path, anywhere: Path) -> None:
    done = json.loads(anonymize(ownership, "--json").stdout)
    files = [
        anywhere / "release" / "own.csv",
        "--data",
        f"own={ownership / 'own.csv'}",
        "--rules",
        ownership / "control.vada",
        "--mapping",
        anywhere / "private" / "mapping.csv",
    ]
    verdict = run("verify", *files, "-x", "3", "--certificate", anywhere / "private", "--json")
    assert verdict.exit_code == 0, verdict.output
    items = json.loads(verdict.stdout)["items"]
    assert [i["name"] for i in items if i["holds"]].count("files") == 1
    assert [{**i, "witnesses": None} for i in items if i["name"] != "files"] == [
        {**i, "witnesses": None} for i in done["verdict"]["items"]
    ]
    scored = json.loads(run("score", *files, "--json").stdout)
    assert scored["utility"] == done["utility"]
    assert scored["fidelity"] == done["fidelity"]
    assert scored["detection"] == done["detection"]


def test_verify_finds_a_tampered_release(ownership: Path, anywhere: Path) -> None:
    assert anonymize(ownership).exit_code == 0
    table = anywhere / "release" / "own.csv"
    header, _, *rows = table.read_text().splitlines(keepends=True)
    tampered = anywhere / "tampered.csv"
    tampered.write_text("".join([header, *rows]))
    results = [
        run(
            *(
                "verify",
                file,
                "--rules",
                ownership / "control.vada",
            ),
            *("--mapping", anywhere / "private" / "mapping.csv", "-x", "3"),
        )
        for file in (table, tampered)
    ]
    assert results[0].exit_code == 0
    assert "holds" in results[0].stdout


def test_unverified_release_is_marked(ownership: Path, anywhere: Path) -> None:
    result = run("anonymize", "--rules", ownership / "control.vada", "-x", "2", "-k", "2", "--seed", "1")
    marked = (anywhere / "release" / "UNVERIFIED").exists()
    assert not any(name in result.output for name in NAMES), "logs must not hold the mapping"
    assert marked == (result.exit_code == 1)
    assert marked == (anywhere / "release" / "README.txt").read_text().startswith("UNVERIFIED")
    assert marked == ("--method klone" in result.output)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "1"], "k"),
        (["-x", "99"], "x"),
        (["-x", "2.."], "'2..' is no number of vertices"),
        (["--release", "r" * 250], "cannot be made"),
        (["--mode", "published", "--method", "klone"], "only KGUARD has modes"),
        (["--mode", "published", "-x", "2..3"], "the published KGUARD protects one x, not several"),
        (["--method", "kguard", "--max-subgraphs", "3"], "--max-subgraphs"),
        (["--data", "own=missing.csv"], "missing.csv"),
        (["--data", "missing.csv"], "PRED=FILE"),
        (["--method", "klone", "-x", "99"], "x = 99 is not between 1 and the number of vertices, 7"),
        (["--method", "klone", "-x", "7"], "k = 3 is not between 1 and the number of sets of 7 vertices, 1"),
        (["--method", "klone", "-k", "99999999999999999999"], "is not between 1 and the number of sets"),
        (["--seed", "-1"], "seed"),
    ],
)
def test_bad_input_is_named(ownership: Path, anywhere: Path, arguments: list[str], message: str) -> None:
    result = run("anonymize", "--rules", ownership / "control.vada", *arguments)
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert "Traceback" not in result.output
    assert list(anywhere.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "sizes"), [("2..4", range(2, 5)), ("3", range(3, 4)), ("2..2", range(2, 3))]
)
def test_sizes_are_a_range(text: str, sizes: range) -> None:
    assert sizes_of(text) == sizes


@pytest.mark.parametrize("text", ["2..", "0..2", "0", "3..2", "..2", "2..x", "2...3", "-1", ""])
def test_no_range_of_sizes(text: str) -> None:
    with pytest.raises(BadParameter) as caught:
        sizes_of(text)
    assert str(caught.value) == f"{text!r} is no number of vertices; say for instance 4, or 2..4"


def test_no_line_of_help_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for command in ("check", "fmt", "reason", "explain", "anonymize", "verify", "score"):
        text = run(command, "--help").output
        assert "Usage" in text
        assert "…" not in text, command


def test_a_release_that_is_not_there(ownership: Path) -> None:
    words = ["--rules", ownership / "control.vada", "--mapping", "private"]
    result = run("verify", "relaese", *words)
    assert result.exit_code == 2
    assert result.output == (
        "error: relaese: there is no such file or folder\n  help: name a release folder or its table\n"
    )
    near = run("verify", ownership / "owm.csv", *words)
    assert near.output.endswith("there is no such file or folder\n  help: did you mean own.csv?\n")
    missing = run("verify", ownership / "own.csv", "--data", "own=original", *words)
    assert (
        missing.output
        == "error: original: there is no such file\n  help: name a table of the original graph\n"
    )


def test_a_relation_called_nodes_is_refused(ownership: Path, anywhere: Path) -> None:
    rules = ownership / "control.vada"
    rules.write_text(rules.read_text().replace("own(", "nodes(").replace('"own"', '"nodes"'))
    for result in (anonymize(ownership), run("check", rules)):
        assert "error[E129]: the edges `nodes` would be written to where the vertices go" in result.output
    assert anonymize(ownership).exit_code == 2


def test_verify_refuses_what_would_take_too_long(ownership: Path, anywhere: Path) -> None:
    assert anonymize(ownership).exit_code == 0
    words = ["release", "--rules", ownership / "control.vada"]
    result = run("verify", *words, "--mapping", "private", "--max-subgraphs", "2")
    assert result.exit_code == 2
    assert "more than 2 connected subgraphs with 4 vertices" in result.output


def test_without_derived_edges_the_guarantee_says_so(ownership: Path, anywhere: Path) -> None:
    rules = ownership / "control.vada"
    rules.write_text(rules.read_text().replace('@output("control")', '@output("two_owns")'))
    result = anonymize(ownership)
    assert result.exit_code == 0, result.output
    assert "none: the guarantee covers ground edges alone" in result.output
    assert "for the edges own." in (anywhere / "release" / "README.txt").read_text()


def test_an_output_that_is_nothing_is_refused(ownership: Path, anywhere: Path) -> None:
    rules = ownership / "control.vada"
    rules.write_text(rules.read_text().replace('@output("control")', '@output("contrl")'))
    result = anonymize(ownership)
    assert result.exit_code == 2
    assert "@output: no rule and no fact mentions `contrl`" in result.output
    assert "did you mean 'control'?" in result.output


def test_places_are_checked_before_the_work(ownership: Path, anywhere: Path) -> None:
    (anywhere / "file").write_text("mine")
    result = anonymize(ownership, "--release", "file/release")
    assert result.exit_code == 2
    assert "file/release cannot be made" in result.output
    assert "to protect" not in result.output


def test_a_release_beyond_memory_is_refused(ownership: Path, anywhere: Path) -> None:
    with patch("kgreason.isomorphism.anonymizers.assembly.MAX_VERTICES", 50):
        for method in ("klone", "kguard"):
            words = ["--method", method, "-k", "12", "-x", "3"]
            result = run("anonymize", "--rules", ownership / "control.vada", *words)
            assert result.exit_code == 2, result.output
            assert "vertices or more, beyond 50" in result.output


def test_an_empty_graph_is_refused(ownership: Path, anywhere: Path) -> None:
    (ownership / "own.csv").write_text("owner,company,share\n")
    result = anonymize(ownership)
    assert result.exit_code == 2
    assert "the graph has no vertices" in result.output


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("two_owns(X) :- own(X, Y, W), vip(N), N > 1. vip(4711).", "the constant '4711'"),
        ("two_owns(Adler_AG) :- own(Adler_AG, Y, W), W > 0.9.", "the variable 'Adler_AG'"),
    ],
)
def test_no_constant_or_variable_names_a_vertex(
    ownership: Path, anywhere: Path, rule: str, message: str
) -> None:
    with (ownership / "own.csv").open("a") as file:
        file.write("4711,Hase,1%\n")
    with (ownership / "control.vada").open("a") as file:
        file.write(rule)
    result = anonymize(ownership)
    assert result.exit_code == 2
    assert message in result.output


def test_a_terminal_without_greek(ownership: Path, anywhere: Path) -> None:
    words = [
        "anonymize",
        "--rules",
        str(ownership / "control.vada"),
        "--method",
        "klone",
        "-x",
        "2",
        "--trials",
        "1",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "kgreason", *words],
        capture_output=True,
        check=False,
        cwd=anywhere,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "latin-1"},
    )
    assert done.returncode == 0, done.stderr
    assert b"?-anonymity" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["reason", "--out", "own.csv"],
        ["generate", "er", "--out", "."],
        ["generate", "er", "--out", "own.csv/g.csv"],
    ],
)
def test_unwritable_places_are_named(
    ownership: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(ownership)
    rules = ["--rules", "control.vada"] if words[0] == "reason" else []
    result = run(*words, *rules)
    assert result.exit_code == 2
    assert f"error: {words[-1].partition('/')[0]}" in result.output
    assert (ownership / "own.csv").read_text().startswith("owner")


def test_version() -> None:
    assert run("--version").output == "kgreason 0.1.0\n"


def test_missing_rule_file(tmp_path: Path) -> None:
    result = run("reason", "--rules", tmp_path / "nowhere.vada")
    assert result.exit_code == 2
    assert "nowhere.vada" in result.output


@pytest.mark.parametrize("model", ["er", "scale-free", "ownership"])
def test_generate(tmp_path: Path, model: str) -> None:
    out = tmp_path / "graph.csv"
    result = run("generate", model, "-n", "50", "--seed", "1", "--out", out)
    assert result.exit_code == 0, result.output
    header, *rows = out.read_text().splitlines()
    ends = {end for row in rows for end in row.split(",")[:2]}
    assert f"{len(ends)} vertices, {len(rows)} edges" in result.output
    assert (len(ends) < 50) == ("without edges" in result.output)
    assert header == "source,target,weight"
    assert rows
    assert all(0 < float(row.split(",")[2]) <= 1 for row in rows)


def test_help_is_quick_and_the_module_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "kgreason", "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "100"},
    )
    assert "anonymize" in done.stdout
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert not imported & {"numpy", "numba", "networkx", "scipy", "duckdb", "pyarrow", "lark"}


UNFORMATTED = "p(X):-q(X).\n"


def test_fmt_writes_through_a_link_and_keeps_the_mode(tmp_path: Path) -> None:
    file, link = tmp_path / "a.vada", tmp_path / "link.vada"
    file.write_text(UNFORMATTED, encoding="utf-8")
    file.chmod(0o640)
    link.symlink_to(file.name)
    result = run("fmt", link)
    assert (result.exit_code, result.stdout) == (0, f"{link}: formatted\n")
    assert link.is_symlink()
    assert file.read_text(encoding="utf-8") == "p(X) :- q(X).\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_fmt_goes_on_after_a_bad_file(tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.vada", tmp_path / "good.vada"
    bad.write_text("p(X", encoding="utf-8")
    good.write_text(UNFORMATTED, encoding="utf-8")
    result = run("fmt", bad, tmp_path / "none.vada", good)
    assert (result.exit_code, result.stdout) == (2, f"{good}: formatted\n")
    assert f"{bad}:1:3: error[E004]" in result.stderr
    assert "none.vada: No such file" in result.stderr
    assert good.read_text(encoding="utf-8") == "p(X) :- q(X).\n"


def test_fmt_takes_standard_input() -> None:
    shown = CliRunner().invoke(app, ["fmt", "-"], input=UNFORMATTED)
    assert (shown.exit_code, shown.stdout) == (0, "p(X) :- q(X).\n")
    checked = CliRunner().invoke(app, ["fmt", "--check", "-"], input=UNFORMATTED)
    assert (checked.exit_code, checked.stdout) == (1, "<stdin>: would change\n")
    bad = CliRunner().invoke(app, ["fmt", "-"], input=b"\xff")
    assert (bad.exit_code, bad.stderr) == (
        2,
        "error: <stdin>: no UTF-8 text: invalid start byte\n  help: save it as UTF-8\n",
    )


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.vada"
    file.write_text(
        '@output("p"). @output("big"). @output("n").\n'
        "p(X) :- q(X). q(1). big(X) :- q(X), X > 3.\nn(1). n(Y) :- n(X), Y = X + 1.\n",
        encoding="utf-8",
    )
    return file


def test_outputs_without_facts_are_told(small: Path) -> None:
    result = run("reason", "--rules", small, "--output", "p", "--output", "big")
    assert (result.exit_code, result.stdout) == (0, "p(1).\n")
    assert result.stderr.endswith("big: 0 facts\n")


def test_rounds_are_bounded(small: Path) -> None:
    message = "small.vada:3:7: values still change after 5 rounds"
    for command in (("reason", "--output", "n"), ("explain", "n(3)")):
        result = run(command[0], "--rules", small, *command[1:], "--rounds", "5")
        assert result.exit_code == 2
        assert message in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reason", "--format", "json"], "--format: needs --out DIR, the folder of the files"),
        (["reason", "--format", "jsn", "--out", "out"], "help: did you mean json?"),
        (["explain", "p(1)", "--json", "--dot"], "--dot: choose it or --json, not both"),
    ],
)
def test_bad_usage_is_told_before_the_run(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments, "--rules", small)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert not Path("out").exists()


def test_outputs_never_replace_what_is_read(small: Path) -> None:
    data, kept = small.parent / "p.csv", "a\n1\n"
    data.write_text(kept)
    result = run("reason", "--rules", small, "--data", f"q={data}", "--output", "p", "--out", small.parent)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the output p is not written over the file that q is read from" in result.stderr
    bad = run("reason", "--rules", small, "--output", "n", "--out", small)  # told before n is tried in vain
    assert f"{small}/n.csv cannot be made" in bad.stderr
    assert data.read_text() == kept


def test_formats_are_those_that_can_be_written() -> None:
    assert set(get_args(Format)) == set(FORMATS)


def test_empty_files_are_empty_relations(tmp_path: Path) -> None:
    rules = tmp_path / "r.vada"
    rules.write_text('@input("q"). @output("p"). p(X, Y) :- q(X, Y).\n', encoding="utf-8")
    for name, text in (("e.csv", ""), ("n.csv", "\n"), ("e.json", ""), ("a.json", "[]"), ("h.csv", "a,b\n")):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        result = run("reason", "--rules", rules, "--data", f"q={file}")
        assert (result.exit_code, result.stdout) == (0, "")
        assert result.stderr.endswith(f"{file}: no rows\np: 0 facts\n")


def test_data_of_a_predicate_that_the_rules_do_not_declare(tmp_path: Path) -> None:
    (tmp_path / "r.vada").write_text('@output("p"). p(X) :- lo(X), other(X).')
    (tmp_path / "lo.csv").write_text("x\n1\n")
    for more in (("reason",), ("explain", "p(1)")):
        command, *goal = more
        result = run(command, "--rules", tmp_path / "r.vada", "--data", f"lo={tmp_path / 'lo.csv'}", *goal)
        assert "`lo`" not in result.stderr
        assert "warning[W501]: `other` has no facts" in result.stderr


def test_verify_by_a_sample(ownership: Path, anywhere: Path) -> None:
    assert anonymize(ownership).exit_code == 0
    words = [
        "verify",
        "release",
        "--rules",
        ownership / "control.vada",
        "--mapping",
        "private",
    ]
    words += ["-x", "3", "--sample", "4", "--seed", "1"]
    result = run(*words, "--max-subgraphs", "9")
    assert result.exit_code == 0, result.output
    assert "ESTIMATE 1.000 (4 of 4 drawn from 11; with 95 % confidence between 0.39" in result.stdout
    assert "WAS NOT REFUTED BY A SAMPLE, WHICH IS NO PROOF for k = 3, x = 3" in result.stdout
    assert "holds" not in result.stdout
    found = json.loads(run(*words, "--json").stdout)
    assert (found["holds"], found["state"], found["nothing_against"]) == (False, "undecided", True)
    assert found["delta"]["estimate"]
    refuted = run(*words, "-k", "9")
    assert refuted.exit_code == 1
    assert "DOES NOT HOLD" in refuted.stdout
    everything = run(*words[:-4], "--sample", "1000")
    assert "holds for k = 3, x = 3" in everything.stdout
    uncountable = run(*words, "--max-subgraphs", "2")
    assert uncountable.exit_code == 2
    assert (
        "more than 2 connected subgraphs with 2 vertices, too many to count those with 3"
        in uncountable.output
    )
    assert "seed has no meaning without sample" in run(*words[:-4], "--seed", "1").output


def test_verify_a_release_alone(ownership: Path, anywhere: Path) -> None:
    assert anonymize(ownership).exit_code == 0
    rules = ["--rules", ownership / "control.vada"]
    result = run("verify", "release", *rules, "-x", "1")
    assert result.exit_code == 0, result.output
    assert "holds, for all conditions that a release alone shows, for k = 3, x = 1" in result.stdout
    assert "augmentation, labels, weights: needs the original" in result.stdout
    result = run("verify", "release", *rules, "-x", "3")
    assert result.exit_code == 1
    assert "NOT DECIDED for k = 3, x = 3" in result.stdout
    assert "Undecided of images:" in result.stdout
    found = json.loads(run("verify", Path("release") / "own.csv", *rules, "-x", "3", "--json").stdout)
    assert found["state"] == "undecided"
    assert len(found["needs_original"]) == 3


def test_verify_says_which_of_its_words_are_missing(ownership: Path, anywhere: Path) -> None:
    assert anonymize(ownership).exit_code == 0
    rules = ["--rules", ownership / "control.vada"]
    unknown = run("verify", "release", *rules, "--data", f"own={ownership / 'own.csv'}")
    assert unknown.exit_code == 2
    assert "the original is named, but no mapping of its release" in unknown.output
    lost = run("verify", "release", "--rules", "release/rules.vada", "--certificate", "private")
    assert lost.exit_code == 2
    assert "no mapping is named\n  help: say --mapping FILE" in lost.output
    gone = run("verify", "relaese", *rules)
    assert gone.exit_code == 2
    assert "relaese: there is no such file or folder" in gone.output


def test_the_help_of_the_program_has_the_words_of_each_command() -> None:
    shown = " ".join(run("--help").output.split())
    for name, command in app.commands.items():
        words = command.help.partition("\n\n")[0].split()
        assert " ".join([name, *words]) in shown


@pytest.mark.parametrize("command", ["verify r --rules control.vada", "links verify r --original own.csv"])
def test_a_release_has_one_mapping(ownership: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.chdir(ownership)
    done = run(*command.split(), "--mapping", "a", "--mapping", "b")
    assert done.exit_code == 2
    assert "several mappings are named" in done.output
