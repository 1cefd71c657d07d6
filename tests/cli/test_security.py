"""What a stranger's files can and cannot do: a test for each line of docs/security.md."""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from click.testing import CliRunner, Result

import kgreason
from kgreason.base import caches
from kgreason.base.errors import DataError, KgreasonError, ProgramError
from kgreason.cli import app
from kgreason.cli.run import Log
from kgreason.data.fact_writing import write_targets
from kgreason.data.format_list import read_table
from kgreason.data.formats.duckdb_files import _opened
from kgreason.data.formats.postgresql import one_select
from kgreason.data.sources import SourceSpec
from kgreason.language.check.program_checker import examine_file, load_file, load_text
from tests.base.test_interrupts import ENDLESS, endless, interrupted
from tests.cli.test_terminal import commands
from tests.folders import ROOT

TITLE = "\x1b]0;OWNED\x07"
EDGES = "source,target,share\na,b,0.6\nb,c,0.7\nc,a,0.8\n"
SAID: list[str] = []
"""Lines of the page that have a test."""

Test = Callable[..., Any]


def says(line: str) -> Callable[[Test], Test]:
    """Mark the test of a line of the page by its first words."""
    SAID.append(line)
    return lambda test: test


def test_each_line_of_the_page_has_a_test() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    lines = re.findall(r"^- (.*)$", page, re.M)
    assert len(lines) > 20
    for line in lines:
        assert sum(line.startswith(said) for said in SAID) == 1, line
    assert len(lines) == len(SAID)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a stranger's folder in it; secrets lie above it."""
    for folder in ("home/work/theirs/data", "home/work/mine", "home/.ssh", "home/work/theirs/.hidden"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for file in (
        *("home/own.csv", "home/.ssh/own.csv", "home/work/mine/own.csv", "home/work/theirs/.hidden/own.csv"),
        *("home/work/theirs/own.csv", "home/work/theirs/data/own.csv", "outside.csv"),
    ):
        (tmp_path / file).write_text(EDGES, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "home" / "work")
    return tmp_path / "home" / "work"


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def rules(text: str, file: str = "theirs/r.vada") -> Path:
    Path(file).write_text(text, encoding="utf-8")
    return Path(file)


def reads(folder: str, file: str = "own.csv", *more: str) -> str:
    """What becomes of rules of the stranger that bind a file: a code, or nothing."""
    path = rules(f'@bind("own", "csv", "{folder}", "{file}"). @output("p"). p(X) :- own(X, Y, W).')
    done = run("reason", "--rules", path, *more)
    checked = run("check", path, *more)
    assert (done.exit_code, checked.exit_code) in ((0, 0), (2, 1)), (done.output, checked.output)
    found = re.findall(r"error\[(\w+)\]", done.stderr)
    assert found == re.findall(r"error\[(\w+)\]", checked.stdout)
    return found[0] if found else ""


@says("A rule file runs no Python")
def test_rules_run_no_code(here: Path) -> None:
    (here / "theirs" / "evil.py").write_text("open('mark', 'w')\n")
    for text in (
        '@functions("evil.py").',
        '@library("evil.py", "e:").',
        '@include("evil.py").',
        '@bind("q","python","","evil.py").',
    ):
        assert run("reason", "--rules", rules(f"{text} p(X) :- q(X). q(1).")).exit_code == 2
    assert run("reason", "--rules", rules("p(X) :- q(Y), X = system(Y). q(1).")).exit_code == 2
    assert not (here / "mark").exists()
    assert not (here / "theirs" / "mark").exists()


@says("It includes files of its own folder")
def test_includes_stay_in_the_folder(here: Path) -> None:
    (here / "mine" / "secret.vada").write_text("secret(1).\n")
    (here / "theirs" / "data" / "more.vada").write_text("more(1).\n")
    (here / "theirs" / "link.vada").symlink_to(here / "mine" / "secret.vada")
    for name in ("../mine/secret.vada", str(here / "mine" / "secret"), "link", "data/../../mine/secret"):
        found = examine_file(rules(f'@include("{name}"). p(X) :- secret(X).'))
        assert [d.code for d in found.diagnostics] == ["E209"], name
        with pytest.raises(ProgramError):
            load_file("theirs/r.vada")
        assert "p" in load_file("theirs/r.vada", allow_files=True).heads
    load_file(rules('@include("data/more"). @include("reachability"). p(X) :- more(X).'))


@says("Its `@bind` and `@qbind` read there")
def test_binds_read_the_folder_and_the_working_directory(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reads("") == reads("data") == reads("../mine") == reads(str(here / "mine")) == ""
    assert (
        reads("../..") == reads(str(here.parent.parent), "outside.csv") == reads("/etc", "passwd") == "E209"
    )
    assert reads("../..", "own.csv", "--allow-files") == ""
    monkeypatch.chdir(here / "mine")  # the rules lie elsewhere
    (here / "mine" / "theirs").symlink_to(here / "theirs")
    assert reads("../mine") == reads(str(here / "mine")) == "E209"
    monkeypatch.chdir(here.parent)
    monkeypatch.setattr(sys.modules[__name__], "rules", lambda text: _at(here / "theirs" / "r.vada", text))
    assert reads("../mine") == reads("../..") == "E209"
    assert reads("") == ""


def _at(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@says("Nothing whose name begins with a dot")
def test_hidden_files_are_left_alone(here: Path) -> None:
    assert reads(".hidden") == reads("", ".hidden/own.csv") == "E209"
    (here.parent / "r.vada").write_text('@bind("own", "csv", ".ssh", "own.csv"). p(X) :- own(X, Y, W).')
    assert "E209" in run("reason", "--rules", here.parent / "r.vada").stderr
    for folder, file in ((".hidden", "p.csv"), ("", ".bashrc"), ("", ".p.csv")):
        assert writes(folder, file) == "E210"


@says("Links and `..` are followed")
def test_links_lead_nowhere_else(here: Path) -> None:
    outside = here.parent.parent / "outside.csv"
    (here / "theirs" / "link.csv").symlink_to(outside)
    (here / "theirs" / "up").symlink_to(here.parent.parent)
    (here / "theirs" / "twice").symlink_to("up")
    assert reads("", "link.csv") == reads("up", "outside.csv") == reads("twice", "outside.csv") == "E209"
    assert reads("data/../../../..", "outside.csv") == reads("data", "../../../../outside.csv") == "E209"
    (here / "theirs" / "in.csv").symlink_to(here / "theirs" / "data" / "own.csv")
    assert reads("", "in.csv") == reads("data/../data") == ""
    assert writes("", "link.csv") == writes("up", "p.csv") == writes("..", "p.csv") == "E210"
    assert outside.read_text(encoding="utf-8") == EDGES


@pytest.mark.parametrize(
    "bind",
    [
        '"mtx labels=/etc/hosts", "", "a.mtx"',
        '"konect labels=../../own.csv", "", "out.a"',
        '"neo4j", "", "a.csv,/etc/hosts"',
        '"neo4j", "", "folder"',
        '"sqlite", "data", "/home/x/cookies.sqlite"',
        '"sqlite table=../../../x.db", "data", "t"',
        '"duckdb", "data", "../../../x.duckdb"',
        '"sqlite", "../../x.db", "t"',
    ],
)
def test_second_files_and_tables_are_files_too(here: Path, bind: str) -> None:
    (here / "theirs" / "a.csv").touch()
    (here / "theirs" / "folder").mkdir()
    (here / "theirs" / "folder" / "b.csv").symlink_to(here.parent / "own.csv")
    found = examine_file(rules(f'@bind("own", {bind}). p(X) :- own(X, Y, W).'))
    assert [d.code for d in found.diagnostics] == ["E209"]
    output = f'@input("e"). @output("p"). @bind("p", {bind}). p(X, Y, W) :- e(X, Y, W).'
    assert [d.code for d in examine_file(rules(output)).diagnostics] == ["E210"]


def writes(folder: str, file: str, *more: str) -> str:
    """What becomes of rules of the stranger that bind an output: a code, or nothing."""
    bind = f'@bind("p", "csv", "{folder}", "{file}"). @output("p"). p(X) :- e(X). e(1).'
    path = rules(bind)
    done, checked = run("reason", "--rules", path, *more), run("check", path, *more)
    found = re.findall(r"error\[(\w+)\]", done.stderr)
    assert found == re.findall(r"error\[(\w+)\]", checked.stdout)
    assert bool(found) == bool(done.exit_code), done.output
    return found[0] if found else ""


@says("Its outputs replace data files")
def test_outputs_stay_in_the_folder(here: Path) -> None:
    before = {path: path.read_bytes() for path in here.parent.parent.rglob("*") if path.is_file()}
    for folder, file in (
        *(("..", "p.csv"), ("../mine", "own.csv"), (str(here / "mine"), "own.csv"), ("/tmp", "p.csv")),
        *(("", "numpy.py"), ("", "Makefile"), ("", "r.vada"), ("data", "x.sh"), ("", "kgreason.toml")),
    ):
        assert writes(folder, file) == "E210", file
    (here / "theirs" / "r.vada").unlink()
    assert before == {path: path.read_bytes() for path in here.parent.parent.rglob("*") if path.is_file()}
    assert writes("", "p.csv") == writes("data/new", "p.csv.gz") == writes("", "own.csv") == ""
    assert writes("../mine", "p.csv", "--allow-files") == ""
    assert (here / "mine" / "p.csv").is_file()


DUCKDB = [
    "select * from read_text('/etc/hostname')",
    "select * from read_csv('own.csv')",
    "from 'own.csv'",
    "select * from glob('/etc/*')",
    "select (select content from read_text('/etc/hostname'))",
    "from sniff_csv('own.csv')",
    "from read_blob('data/own.csv')",
    "select * from 'https://example.org/x.csv'",
    "from query('from ''own.csv''')",
]
NEITHER = [
    "copy (select 1) to 'theirs/x.csv'",
    "attach 'theirs/x.db' as x",
    "install httpfs",
    "load httpfs",
    "set enable_external_access = true",
    "pragma database_list",
    "create table x as select 1",
    "select 1; copy (select 1) to 'theirs/x.csv'",
    "export database 'theirs/x'",
]
SQLITE = [
    "attach 'theirs/x.db' as x",
    "vacuum into 'theirs/x.db'",
    "select load_extension('theirs/x.so')",
    "select readfile('/etc/hostname')",
    "select writefile('theirs/x.db', 'x')",
    "insert into own values ('x')",
    "drop table own",
]


def database(kind: str, *statements: str) -> Path:
    """A database of the stranger."""
    file = Path(f"theirs/own.{kind}")
    file.unlink(missing_ok=True)
    opened = sqlite3.connect(file) if kind == "sqlite" else pytest.importorskip("duckdb").connect(str(file))
    with closing(opened) as connection:
        for statement in ("create table own (owner text)", "insert into own values ('a')", *statements):
            connection.execute(statement)
        connection.commit()
    return file


@says("A query of DuckDB or SQLite reads the database")
@pytest.mark.parametrize(
    ("kind", "query"),
    [*(("duckdb", q) for q in (*DUCKDB, *NEITHER)), *(("sqlite", q) for q in SQLITE)],
)
def test_queries_read_their_database(here: Path, kind: str, query: str) -> None:
    file = database(kind)
    before = {path: path.read_bytes() for path in here.parent.rglob("*") if path.is_file()}
    for where in (f"own.{kind}", *([""] if kind == "duckdb" else [])):
        path = rules(f'@qbind("q", "{kind}", "{where}", "{query}"). @output("p"). p(X) :- q(X).')
        done = run("reason", "--rules", path)
        assert done.exit_code == 2, done.output
        assert "error: theirs/r.vada:1:1: the query" in done.stderr
        assert ("--allow-files" in done.stderr) == (query in DUCKDB), done.stderr
        if kind == "duckdb" and "sniff" not in query:
            assert run("check", path).exit_code == 1
    (here / "theirs" / "r.vada").unlink()
    assert before == {path: path.read_bytes() for path in here.parent.rglob("*") if path.is_file()}
    assert read_table(SourceSpec(file, kind)).columns[0].to_pylist() == ["a"]


def test_allowed_queries_read_files_and_nothing_more(here: Path) -> None:
    pytest.importorskip("duckdb")
    path = rules('@qbind("q", "duckdb", "", "select source from \'own.csv\'"). @output("p"). p(X) :- q(X).')
    done = run("reason", "--rules", path, "--allow-files")
    assert done.stdout == 'p("a").\np("b").\np("c").\n', done.output
    for query in NEITHER:
        rules(f'@qbind("q", "duckdb", "", "{query}"). @output("p"). p(X) :- q(X).')
        assert run("reason", "--rules", path, "--allow-files").exit_code == 2, query


def test_a_query_sees_no_variable_of_the_program(here: Path) -> None:
    pytest.importorskip("duckdb")
    import pyarrow as pa

    tables = pa.table({"x": [1]})  # of this name in the frame that opens the database
    assert tables.num_rows
    with pytest.raises(DataError, match="tables"):
        read_table(SourceSpec(database("duckdb"), "duckdb", {}, "select * from found"))


@says("It reaches no server.")
@pytest.mark.parametrize("host", ["host='db.invalid'", "", "service=x"])
def test_rules_reach_no_server(here: Path, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    def connect(*_: object, **__: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr("psycopg.connect", connect)
    for text in (
        f'@bind("q", "postgresql {host}", "db", "t"). @output("p"). p(X) :- q(X).',
        f'@qbind("q", "postgresql {host}", "db", "select 1"). @output("p"). p(X) :- q(X).',
        f'@output("p"). @bind("p", "postgresql {host}", "db", "t"). p(X) :- e(X). e(1).',
    ):
        done = run("reason", "--rules", rules(text))
        assert "error[E211]" in done.stderr, done.output
        with pytest.raises(AssertionError, match="asked"):
            CliRunner().invoke(
                app, ["reason", "--rules", "theirs/r.vada", "--allow-files"], catch_exceptions=False
            )


@says("Of an included file that does not end in `.vada`")
def test_included_files_are_not_shown(here: Path) -> None:
    (here / "theirs" / "data" / "passwd").write_text("root:x:0:0:hunter2\nada:x:1:1:hunter3\n")
    for name in ("data/passwd",):
        found = str(examine_file(rules(f'@include("{name}"). p(1).')))
        assert "E322" in found
        assert "theirs/data/passwd: line 1 is no Vadalog" in found
        assert "root" not in found
        assert "hunter" not in found
    table = str(examine_file(rules('@include("own.csv"). p(1).')))
    assert "theirs/own.csv is a table, no rule file" in table
    assert "a,b" not in table
    outside = str(examine_file(rules('@include("/etc/passwd"). p(1).'), allow_files=True))
    assert "E322" in outside
    assert "root:" not in outside


@says("A regular expression takes time in proportion")
def test_rules_do_not_run_for_ever(here: Path) -> None:
    slow = 'rlike("' + "a" * 60 + 'b", "^(a+)+$")'
    for text in (
        f"p(X) :- q(X), {slow}. q(1).",
        f'@edge("own"). @derived("p"). p(X, Y) :- own(X, Z, _), own(Z, Y, _), {slow}.',
    ):
        since = monotonic()
        assert run("check", rules(text)).exit_code == 0
        assert monotonic() - since < 10
    assert run("reason", "--rules", rules(f"p(X) :- q(X), {slow}. q(1).")).exit_code == 0
    grows = run("reason", "--rules", rules('p("a"). p(Y) :- p(X), Y = concat(X, X).'))
    assert (grows.exit_code, "values still grow" in grows.stderr) == (2, True)


@says("`kgreason check` lists the files and servers")
def test_check_tells_and_opens_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = rules(
        '@bind("a", "csv", "/etc", "passwd"). @bind("b", "postgresql", "db", "t"). @output("p").\n'
        '@bind("p", "csv", "..", "p.csv"). p(X) :- a(X), b(X).'
    )
    opened: list[str] = []
    usual = io.open

    def follow(file: Any, *arguments: Any, **options: Any) -> Any:
        opened.append(str(file))
        return usual(file, *arguments, **options)

    monkeypatch.setattr(io, "open", follow)
    found = json.loads(run("check", path, "--json").stdout)["files"][0]["findings"]
    assert [(f["code"], f["line"]) for f in found] == [("E209", 1), ("E211", 1), ("E210", 2)]
    assert "theirs/r.vada" in opened
    assert not any("passwd" in file for file in opened)
    assert json.loads(run("check", path, "--json", "--allow-files").stdout)["files"][0]["findings"] == []


@says("Files that you name yourself")
def test_what_is_named_is_read_and_written(here: Path) -> None:
    path = rules(
        '@bind("own", "csv", "/etc", "passwd"). @output("p"). @bind("p", "csv", "..", "x.csv"). p(X) :- own(X, Y, W).'
    )
    outside = here.parent.parent
    done = run("reason", "--rules", path, "--data", f"own={outside}/outside.csv", "--out", outside / "facts")
    assert done.exit_code == 0, done.output
    assert (outside / "facts" / "p.csv").is_file()
    assert sorted(kgreason.reason(path, {"own": [("a", "b", 1.0)]}).rows("p")) == [("a",)]


@says("Neither a rule file nor a data file")
def test_nobody_else_allows_files(here: Path) -> None:
    for annotation in ("allow_files", "allow-files", "allowFiles"):
        assert run("check", rules(f'@{annotation}("true"). p(1).')).exit_code == 1
    bind = '@bind("own", "csv {}", "../..", "own.csv"). @output("p"). p(X) :- own(X, Y, W).'
    for option in ("allow_files=true", "allow-files=true", "allow_files='true'"):
        done = run("reason", "--rules", rules(bind.format(option)))
        assert done.exit_code == 2
    for section in ("reason", "check", "anonymize"):
        Path("kgreason.toml").write_text(f"[{section}]\nallow-files = true\n")
        done = run("check", rules("p(1)."))
        assert done.exit_code == 2
        assert "kgreason.toml:2: allow-files is an option of the command line alone" in done.stderr
    Path("kgreason.toml").write_text("allow-files = true\n")
    assert run("check", rules("p(1).")).exit_code == 2


def test_every_command_with_rules_has_the_option() -> None:
    found = {
        " ".join(path): {flag for param in command.params for flag in param.opts}
        for path, command in commands()
    }
    assert {name for name, flags in found.items() if "--allow-files" in flags} == {
        *(name for name, flags in found.items() if "--rules" in flags),
        *("check", "convert"),
    }


def test_python_says_it_by_an_argument(here: Path) -> None:
    path = rules(
        '@edge("own"). @bind("own", "csv", "../..", "own.csv"). @derived("p"). p(X, Y) :- own(X, Y, _).'
    )
    for function in (
        *(
            kgreason.load,
            kgreason.reason,
            kgreason.explain,
            kgreason.read_graph,
            kgreason.anonymize,
            kgreason.risk,
        ),
        *(kgreason.verify, kgreason.verify_alone, kgreason.score, kgreason.attack, kgreason.links.of_rules),
        kgreason.Reasoner,
    ):
        assert inspect.signature(function).parameters["allow_files"].default is False
    for call in (kgreason.reason, kgreason.read_graph, kgreason.Reasoner):
        with pytest.raises(ProgramError, match="E209"):
            call(path)
        call(path, allow_files=True)
        call(kgreason.load(path, allow_files=True))
    text = path.read_text(encoding="utf-8").replace("../..", "mine")  # seen from the working directory
    assert kgreason.reason(text).rows("p")
    with pytest.raises(ProgramError, match="E209"):
        kgreason.reason(
            path.read_text(encoding="utf-8").replace("../..", "/etc").replace("own.csv", "passwd")
        )


# --- data -----------------------------------------------------------------------


@says("Nothing in a data file is run")
def test_data_is_text(here: Path) -> None:
    name = f'own\n@include("evil").{TITLE}$(touch mark).csv'
    header = '"owner\np(""x"").",company,"share\n@bind"'
    Path(name).write_text(f"{header}\na,b,0.5\nb,c,0.6\n", encoding="utf-8")
    done = run("init", name, "--out", "made.vada", "--json")
    assert done.exit_code == 0, done.output
    made = Path("made.vada").read_text(encoding="utf-8")
    plain = [line for line in made.split("\n") if line and not line.startswith("%")]
    assert not any(line.startswith(("@include", "p(")) for line in plain)
    assert run("reason", "--rules", "made.vada").exit_code == 0
    assert run("init", name).exit_code == 0
    (own,) = [p for p in here.iterdir() if p.name.startswith("own") and p.suffix == ".vada"]
    assert "@include" not in [line.partition("(")[0] for line in own.read_text(encoding="utf-8").split("\n")]
    assert not (here / "mark").exists()


@says("A view of a DuckDB or SQLite database")
def test_views_read_their_database(here: Path) -> None:
    pytest.importorskip("duckdb")
    (here / "home.csv").write_text("x\n")
    database(
        "duckdb",
        "create view v as select * from read_csv('home.csv', auto_detect=false, columns={'a': 'text'})",
    )
    source = "q=theirs/own.duckdb?table=v"
    path = rules("p(X) :- q(X).")
    done = run("reason", "--rules", path, "--data", source)
    assert done.exit_code == 2
    assert "it reaches beyond its database" in done.stderr
    assert "--allow-files" in done.stderr
    assert run("reason", "--rules", path, "--data", source, "--allow-files").stdout == 'p("x").\n'
    assert run("convert", "theirs/own.duckdb?table=v", "v.csv").exit_code == 2
    assert run("convert", "theirs/own.duckdb?table=v", "v.csv", "--allow-files").exit_code == 0
    assert run("init", "theirs/own.duckdb?table=v").exit_code == 2
    for asked in ("load_extension('x')", "file from pragma_database_list"):  # SQLite itself trusts the second
        database("sqlite", f"create view v as select {asked}")
        done = run("reason", "--rules", path, "--data", "q=theirs/own.sqlite?table=v")
        assert done.exit_code == 2, done.output
        assert "unsafe use of" in done.stderr


@pytest.mark.parametrize("allowed", [[], ["--allow-files"]])
def test_settings_of_duckdb_are_locked(here: Path, allowed: list[str]) -> None:
    duckdb = pytest.importorskip("duckdb")
    false = ("autoinstall_known_extensions", "autoload_known_extensions", "allow_persistent_secrets")
    off = " and ".join(f"not current_setting('{name}')" for name in false)
    asked = f"select current_setting('lock_configuration') and {off} as locked"
    file = database("duckdb", f"create view v as {asked}")
    for where in ("own.duckdb", ""):
        path = rules(f'@qbind("q", "duckdb", "{where}", "{asked}"). @output("p"). p(X) :- q(X).')
        assert run("reason", "--rules", path, *allowed).stdout == "p(#T).\n", where
    path = rules("p(X) :- q(X).")
    table = f"q={file}?table=v"
    assert run("reason", "--rules", path, "--data", table, *allowed).stdout == "p(#T).\n"
    for place in (file, file.parent):
        with closing(_opened(place, allow_files=bool(allowed))) as connection:
            for setting in ("autoload_known_extensions = true", "threads = 2"):
                with pytest.raises(duckdb.Error, match="locked"):
                    connection.execute(f"set {setting}")


@says("An XML file that defines entities")
@pytest.mark.parametrize(
    "entity", ['<!ENTITY x "lol">', '<!ENTITY x SYSTEM "file:///etc/hostname">', '<!ENTITY % x "lol">']
)
@pytest.mark.parametrize("format", ["graphml", "xml"])
def test_entities_are_refused(here: Path, entity: str, format: str) -> None:
    root = "graphml" if format == "graphml" else "RelationshipData"
    Path(f"x.{format}").write_text(
        f'<!DOCTYPE {root} [{entity}]>\n<{root}><graph><node id="a"/></graph></{root}>'
    )
    done = run("reason", "--rules", rules("p(X) :- q(X)."), "--data", f"q=x.{format}")
    assert done.exit_code == 2
    assert "entity 'x'" in done.stderr


@says("A schema (`.toml`) names tables anywhere")
def test_schemas_read_tables(here: Path) -> None:
    outside = here.parent.parent / "people.csv"
    outside.write_text("name,city\nada,Roma\nbea,Oslo\n", encoding="utf-8")
    schema = Path("theirs/people.toml")
    text = '[[tables]]\nfiles = ["{}"]\nid = "name"\nheader = true\n'
    schema.write_text(text.format(outside), encoding="utf-8")
    before = {path: path.read_bytes() for path in here.parent.parent.rglob("*") if path.is_file()}
    assert kgreason.people.read(schema).n == 2
    assert before == {path: path.read_bytes() for path in here.parent.parent.rglob("*") if path.is_file()}
    for other in (database("sqlite"), "postgresql://x@db.invalid/y?table=own"):
        schema.write_text(text.format(other), encoding="utf-8")
        with pytest.raises(DataError):
            kgreason.people.read(schema)


# --- configuration -----------------------------------------------------------


@says("`kgreason.toml` is read from the working directory")
def test_configurations_of_folders_above_are_not_read(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("kgreason.toml").write_text("[check]\nno = 1\n")
    path = rules("p(1).")
    assert run("check", path).exit_code == 2
    monkeypatch.chdir(here / "theirs")
    assert run("check", "r.vada").exit_code == 0
    assert run("--config", "../kgreason.toml", "check", "r.vada").exit_code == 2


@says("It names no Python functions")
@pytest.mark.parametrize("section", ["reason", "check", "explain"])
def test_a_configuration_runs_no_code(here: Path, section: str) -> None:
    Path("evil.py").write_text("import pathlib\npathlib.Path('mark').touch()\n")
    path = rules("p(1).")
    Path("kgreason.toml").write_text(f'[{section}]\nfunctions = "evil.py"\n')
    for words in (["check", path], ["reason", "--rules", path], ["explain", "--rules", path, "p(1)"]):
        done = run(*words)
        assert done.exit_code == 2
        assert "kgreason.toml:2: functions is an option of the command line alone" in done.stderr
        assert "say --functions on the command line" in done.stderr
    assert not (here / "mark").exists()
    Path("kgreason.toml").unlink()
    assert run("check", path, "--functions", "evil.py").exit_code == 0
    assert (here / "mark").exists()


OUTSIDE = [
    ('log = "../run.log"\n', 1),
    ('log = "/tmp/run.log"\n', 1),
    ('log = "link.log"\n', 1),
    ('[reason]\nlog = "../run.log"\n', 2),
    ('[reason]\nout = "../facts"\n', 2),
    ('[reason]\nrules = "../r.vada"\n', 2),
    ('[reason]\ndata = ["own=own.csv", "own=/etc/passwd"]\n', 2),
    ('[reason]\ndata = "own=own.mtx?labels=/etc/passwd"\n', 2),
    ('[reason]\ndata = "own=a.csv,/etc/passwd?format=neo4j"\n', 2),
    ('[reason]\ndata = "own=postgresql://x@db.invalid/y?table=own"\n', 2),
    ('[anonymize]\nrelease = "../release"\n', 2),
    ('[anonymize]\nprivate = "link/private"\n', 2),
    ('[risk]\nout = "a/../../x.json"\n', 2),
]


def test_the_log_of_a_configuration_is_no_other_file(here: Path) -> None:
    Path("table.csv").write_text("a,b\n")
    Path("kgreason.toml").write_text('log = "table.csv"\n')
    done = run("reason")
    assert done.exit_code == 2
    assert "kgreason.toml:1: log names no log" in done.stderr
    assert 'log = "table.csv.log"' in done.stderr
    assert Path("table.csv").read_text() == "a,b\n"


@says("Files, folders and the log that it names")
@pytest.mark.parametrize(("text", "line"), OUTSIDE)
def test_a_configuration_stays_in_its_folder(here: Path, text: str, line: int) -> None:
    (here / "link.log").symlink_to(here.parent / "run.log")
    (here / "link").symlink_to(here.parent)
    (here / "a.csv").touch()
    Path("kgreason.toml").write_text(text)
    before = set(here.parent.parent.rglob("*"))
    done = run("reason")
    assert done.exit_code == 2
    assert f"kgreason.toml:{line}: " in done.stderr
    assert "on the command line" in done.stderr
    assert before == set(here.parent.parent.rglob("*"))
    assert not Path("/tmp/run.log").exists()


def test_a_configuration_may_name_what_lies_beside_it(here: Path) -> None:
    Path("kgreason.toml").write_text(
        'log = "run.log"\n[reason]\nrules = "theirs/r.vada"\n'
        'data = "own=theirs/own.csv?useHeaders=true"\nout = "facts"\n'
    )
    rules("p(X) :- own(X, Y, W).")
    done = run("reason")
    assert done.exit_code == 0, done.output
    assert (here / "facts" / "p.csv").is_file()
    assert "end exit code 0" in (here / "run.log").read_text(encoding="utf-8")


@says("A line on standard error lists the options")
def test_what_a_configuration_says_is_told(here: Path) -> None:
    Path("kgreason.toml").write_text('[reason]\nrules = "theirs/r.vada"\n')
    rules("p(1).")
    assert "kgreason.toml says --rules" in run("reason").stderr
    assert "kgreason.toml" not in run("reason", "-q").stderr
    Path("kgreason.toml").write_text('quiet = true\n[reason]\nrules = "theirs/r.vada"\n')
    assert "kgreason.toml says --rules, --quiet" in run("reason").stderr


# --- releases --------------------------------------------------------------------


@says("A user who works in a folder of an unknown author")
def test_modules_of_the_working_directory_are_not_imported(here: Path) -> None:
    for name in ("numpy", "rich", "click", "duckdb", "pyarrow", "signal", "sitecustomize"):
        Path(f"{name}.py").write_text("open('mark', 'w')\nraise SystemExit(9)\n")
    rules("p(1).")
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "kgreason", "check", "theirs/r.vada"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not (here / "mark").exists()


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "{{ 7 * 7 }}",
    '" onload="x',
    "a",
    "b",
]


@says("A page that kgreason makes")
def test_pages_escape_data(here: Path) -> None:
    edges = [(HOSTILE[i], HOSTILE[(i + s) % 6], w) for i in range(6) for s, w in ((1, 0.7), (2, 0.2))]
    text = '@edge("own"). @derived("p"). @query("p"). p(X, Y) :- own(X, Y, W), W > 0.5.'
    result = kgreason.anonymize(text, {"own": edges}, method="klone", k=2, x=2, trials=1, seed=1)
    report = kgreason.report(result)
    for page in (kgreason.report_page(report),):
        _check_page(page)
        assert "&lt;img src=x" in page
    from kgreason.release.report.html_page import write_report

    write_report(here, report)
    stored = (here / "report.json").read_text(encoding="utf-8")
    title = json.dumps(report.title)
    assert title in stored
    (here / "report.json").write_text(stored.replace(title, json.dumps(HOSTILE[1])), encoding="utf-8")
    assert run("report", ".", "--out", "page.html").exit_code == 0
    _check_page((here / "page.html").read_text(encoding="utf-8"))


def _check_page(page: str) -> None:
    assert "default-src 'none'" in page.replace("&#39;", "'")
    assert page.count("<script") == 1
    assert not re.search(r"<[^>]*\son\w+=", page)
    assert "<img" not in page
    assert not re.search(r"""(src|href)=["']?(?!#|data:)\w+:""", page)


@says("`kgreason report` and `kgreason init` replace no file")
def test_links_in_a_folder_are_not_written_through(here: Path) -> None:
    target = here.parent / "precious"
    target.write_text("precious")
    (here / "theirs" / "own.vada").symlink_to(target)
    done = run("init", "theirs/own.csv", "--out", "theirs/own.vada")
    assert (done.exit_code, "exists already" in done.stderr) == (2, True)
    target.unlink()
    assert run("init", "theirs/own.csv", "--out", "theirs/own.vada").exit_code == 2
    assert not target.exists()
    target.write_text("precious")
    result = kgreason.anonymize(
        '@edge("own").', {"own": [("a", "b"), ("b", "c"), ("c", "a")]}, k=2, x=2, method="klone"
    )
    from kgreason.release.report.html_page import write_report

    write_report(here / "theirs", kgreason.report(result))
    (here / "theirs" / "report.html").unlink()
    (here / "theirs" / "report.html").symlink_to(target)
    done = run("report", "theirs")
    assert (done.exit_code, "is a link to" in done.stderr) == (2, True)
    assert target.read_text() == "precious"


# --- what is shown ---------------------------------------------------------------


@says("Control characters, sequences for terminals")
def test_what_is_shown_does_not_act(here: Path) -> None:
    Path("own.csv").write_text(f"a{TITLE},b\u202e\n", encoding="utf-8")
    done = run("reason", "--rules", rules("p(X) :- own(X)."), "--data", "own=own.csv", "--log", "run.log")
    shown = done.stderr + (here / "run.log").read_text(encoding="utf-8")
    assert done.exit_code == 2
    error = str(DataError(f"a{TITLE}\u202e", "x"))
    for text in (shown, error):
        assert not re.search("[\x07\x1b\u202e]", text)
    assert error == "a\\u001b]0;OWNED\\u0007\\u202e: x"


@says("Results that go to a pipe or to a file")
def test_results_are_the_data(here: Path) -> None:
    Path("own.csv").write_text(f"x\n{TITLE}\u202e\n", encoding="utf-8")
    words = ["reason", "--rules", rules("p(X) :- own(X)."), "--data", "own=own.csv"]
    assert f'"{TITLE}\u202e"' in run(*words).stdout
    assert json.loads(run(*words, "--json").stdout)["facts"]["p"] == [[f"{TITLE}\u202e"]]
    assert run(*words, "--out", "facts").exit_code == 0
    assert f"{TITLE}\u202e" in Path("facts/p.csv").read_text(encoding="utf-8")
    Path("own.csv").write_text("x\n=1+1\n", encoding="utf-8")  # a formula for spreadsheets
    assert run(*words, "--out", "facts").exit_code == 0
    assert "=1+1" in [row.strip('"') for row in Path("facts/p.csv").read_text(encoding="utf-8").splitlines()]


@says("Passwords are neither taken")
def test_passwords_are_not_shown(here: Path) -> None:
    text = '@bind("q", "postgresql password=\'rosebud\'", "db", "t"). p(X) :- q(X).'
    done = run("reason", "--rules", rules(text), "--allow-files", "--log", "run.log")
    assert "error[E208]" in done.stderr
    assert "rosebud" not in done.output + Path("run.log").read_text(encoding="utf-8")
    Log(Path("run.log")).write("note", "postgresql://ada:rosebud@db/x")
    assert "rosebud" not in Path("run.log").read_text(encoding="utf-8")


@says("A query of PostgreSQL is one SELECT")
@pytest.mark.parametrize(
    "query",
    [
        "copy t to program 'id'",
        "select 1; copy t to program 'id'",
        "insert into t values (1)",
        "do $$ begin end $$",
        "set role x",
        "",
    ],
)
def test_queries_of_servers_read(query: str) -> None:
    """What a server makes of cunning ones: `test_no_query_leaves_its_statement` in test_postgres.py."""
    with pytest.raises(DataError, match="write one SELECT"):
        one_select(query, "r.vada:1:1")
    assert one_select("select 1;", "r.vada:1:1") == "select 1"


# --- the machine -------------------------------------------------------------------


@says("Compiled kernels, tables of the parser and syntax trees")
def test_caches_of_others_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More in test_caches.py."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "shared"))
    caches.write("a.bin", __file__, b"code")
    assert caches.read("a.bin", __file__) == b"code"
    (tmp_path / "shared").chmod(0o777)
    assert caches.read("a.bin", __file__) is None
    assert caches.place("vadalog.grammar", __file__) is None


@says("The syntax trees of up to 64 rule files")
def test_trees_are_kept_for_their_owner(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More in test_kept_trees.py."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(here / "cache"))
    kept = (here / "cache").glob
    for text in ("p(X) :- q(X). q(1).", "p(X) :- q(X"):
        run("check", rules(text))
    assert not list(kept("*.tree"))
    for number in range(80):
        load_text(f"p(X) :- q(X), X > {number}.")
    modes = [file.stat().st_mode & 0o77 for file in kept("*.tree")]
    assert 20 < len(modes) <= 64
    assert not any(modes)


@says("Ctrl-C and SIGTERM end the query of a database within a second")
def test_an_interrupt_ends_a_query(tmp_path: Path) -> None:
    """More in test_interrupts.py, test_jit.py, test_publication.py and test_postgres.py."""
    source = endless("sqlite", tmp_path)
    with interrupted(signal.SIGTERM):
        read_table(source)
    assert [p.name for p in tmp_path.iterdir()] == ["own.sqlite"]
    assert ENDLESS


def test_a_loaded_program_cannot_write_beyond_its_reach(here: Path) -> None:
    program = load_file(rules('@output("p"). @bind("p", "csv", "..", "p.csv"). p(X) :- e(X). e(1).'))
    facts = kgreason.reason(program).facts
    with pytest.raises(KgreasonError, match="E210"):
        write_targets(program, facts)
    assert not (here / "p.csv").exists()
