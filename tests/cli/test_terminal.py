"""The tour, errors of the command line, quiet runs, the log, kgreason.toml and shell completion."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import kgreason
from kgreason.cli import TOUR, app, terminal
from kgreason.cli.run import Log
from kgreason.graph.generators import erdos_renyi
from tests.test_architecture import FILES, module, nodes


def run(*arguments: object, columns: int = 80) -> Result:
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(app, [str(a) for a in arguments])


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command, and the words that call it."""
    for name, command in (group or app).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


@pytest.fixture
def here(ownership: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(ownership)
    return ownership


def test_the_tour_fits_one_screen() -> None:
    lines = TOUR.split("\n")
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 80


def test_nothing_but_the_name_shows_the_tour() -> None:
    shown = run()
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout == TOUR + "\n"
    assert "\x1b" not in shown.stdout


@pytest.mark.slow
def test_what_the_tour_says_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = re.findall(r"^  kgreason (.*?)(?:  .*)?$", TOUR, re.MULTILINE)
    assert [words.split()[0] for words in said] == [
        "generate",
        "init",
        "reason",
        "risk",
        "anonymize",
        "verify",
    ]
    for words in said:
        done = run(*shlex.split(words))
        assert done.exit_code == 0, (words, done.output)
    assert (tmp_path / "release" / "own.csv").is_file()


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        ("anonimize", "no such command 'anonimize'. Did you mean 'anonymize'?", "kgreason --help"),
        ("generate ownershp --out x", "no such command 'ownershp'. Did you mean 'ownership'?", "--help"),
        ("own.csv", "no such command 'own.csv'", "kgreason init own.csv"),
        ("control.vada", "no such command 'control.vada'", "kgreason check control.vada"),
        ("reason --rulez control.vada", "'--rulez'. (Did you mean one of: '--profile', '--rules'?)", "--help"),
        ("reason", "kgreason reason: missing option '--rules'", "say --rules FILE"),
        ("check", "kgreason check: missing argument 'FILE'", "kgreason check --help"),
        ("reason --rules control.vada --format jsno --out o", "'jsno' is not one of 'csv'", "did you mean json?"),
        ("anonymize -k two", "'--k': 'two' is not a valid integer", "kgreason anonymize --help"),
        ("anonymize -k 1", "'--k': 1 is not in the range x>=2", "kgreason anonymize --help"),
        ("anonymize -x no", "'--x': 'no' is no number of vertices", "kgreason anonymize --help"),
        ("reason --rules", "option '--rules' requires an argument", "kgreason reason --help"),
        ("anonymize own.csv", "missing option '--rules'", "kgreason init own.csv writes rules"),
        ("anonymize own.csv --rules control.vada", "extra argument (own.csv)", "--data [PRED=]own.csv"),
        ("reason own.csv --rules control.vada", "extra argument (own.csv)", "--data [PRED=]own.csv"),
        ("risk own.csv --rules control.vada", "extra argument (own.csv)", "--data [PRED=]own.csv"),
        ("reason own.csv", "missing option '--rules'", "kgreason init own.csv writes rules, and --rules"),
        ("explain own.csv p(a)", "missing option '--rules'", "kgreason init own.csv writes rules"),
        ("reason control.vada", "missing option '--rules'", "--rules control.vada"),
        ("anonymize control.vada", "missing option '--rules'", "rules go by an option: --rules control.vada"),
        ("score own.csv release --rules control.vada --mapping x", "argument (release)", "--data [PRED=]own.csv"),
        ("score own.csv release --mapping x", "missing option '--rules'", "kgreason init own.csv writes rules"),
        ("attack own.csv release --mapping x", "missing option '--rules'", "kgreason init own.csv writes rules"),
        ("score release nothing --rules control.vada --mapping x", "extra argument (nothing)", "score --help"),
        ("score release own.csv --rules control.vada --mapping x", "argument (own.csv)", "--data [PRED=]own.csv"),
        ("risk own=own.csv --rules control.vada", "extra argument (own=own.csv)", "--data [PRED=]own.csv"),
        ("verify own=own.csv release --rules control.vada", "extra argument (release)", "--data [PRED=]own.csv"),
        ("init --data own.csv", "no such option '--data'", "kgreason init --help"),
        ("generate-k te own.csv --out k.csv", "no such command 'generate-k'", "kgreason --help"),
        ("generate school --out x", "no such command 'school'", "kgreason generate --help"),
        ("people anonymise own.csv", "'anonymise'. Did you mean 'anonymize'?", "kgreason people --help"),
        ("people anonymize own=own.csv", "own=own.csv is of rules, and none are named", "name own.csv alone"),
        ("people anonymize", "no data are named", "name a schema (.toml), or files of triples"),
        ("people verify release", "kgreason people verify: missing option '--model'", "kgreason people verify --help"),
        ("people anonymize own.csv --data own.csv", "no such option '--data'", "kgreason people anonymize --help"),
        ("anonymize --method pckga", "'pckga' is not one of", "say kgreason people anonymize FILE --method pckga"),
        ("anonymize --method links", "'links' is not one of", "say kgreason links anonymize FILE"),
        ("verify release --model k-ad", "'k-ad' is not one of", "say kgreason people verify RELEASE --model k-ad"),
        ("verify release --model links", "'links' is not one of", "say kgreason links verify RELEASE"),
        ("attack release --model parts", "no such option '--model'", "kgreason attack --help"),
        ("verify own.csv release --rules control.vada", "extra argument (release)", "--data [PRED=]own.csv"),
        ("verify release own.csv --rules control.vada", "extra argument (own.csv)", "--data [PRED=]own.csv"),
        ("attack release --truth own.csv --rules control.vada", "no such option '--truth'", "kgreason attack --help"),
        ("reason --rules control.vada --data own.csv", "expected PRED=FILE", "as in own=own.csv"),
        ("check own.csv", "own.csv: this is a table, no rule file", "kgreason init own.csv"),
        ("reason --rules own.csv", "own.csv: this is a table, no rule file", "kgreason init own.csv"),
        ("reason --rules control.vada more", "extra argument (more)", "kgreason reason --help"),
        ("reason --config x.toml", "kgreason reason: no such option '--config'", "kgreason --config ... reason"),
        ("--json reason --rules x", "kgreason: no such option '--json'", "kgreason reason ... --json"),
        ("reason --rules contrl.vada", "cannot read contrl.vada", "did you mean control.vada?"),
        ("reason --rules control.vada --data own=ow.csv", "ow.csv: there is no such file", "did you mean own.csv?"),
        ("reason --rules control.vada --data own=zzzzzz.csv", "no such file", "the folder holds control.vada, own.csv"),
        ("init none/own.csv", "there is no such file", "there is no folder none either"),
    ],
)  # fmt: skip
def test_errors_on_the_command_line_tell_the_next_step(here: Path, words: str, what: str, hint: str) -> None:
    done = run(*shlex.split(words))
    assert done.exit_code == 2
    first, _, rest = done.stderr.partition("\n")
    assert first.startswith("error")
    assert what in first
    assert hint in rest
    assert "  help: " in rest
    assert "╭" not in done.stderr


@pytest.fixture
def released(here: Path) -> Path:
    """A folder with what a release of these rules holds, as far as it matters here."""
    folder = here / "release"
    folder.mkdir()
    rules = (here / "control.vada").read_text(encoding="utf-8")
    bound = "" if "@bind" in rules else '@bind("own", "csv", "", "own.csv").\n'
    (folder / "rules.vada").write_text(bound + rules, encoding="utf-8")
    (folder / "own.csv").write_text("from,to,weight\nv1,v2,0.5\n", encoding="utf-8")
    (folder / "nodes.csv").write_text("id\nv1\nv2\n", encoding="utf-8")
    (here / "mapping.csv").write_text("original,released\na,v1\nb,v2\n", encoding="utf-8")
    (here / "empty").mkdir()
    (here / "schemas.toml").mkdir()
    (here / "schemas.toml" / "facts.csv").touch()
    (here / "people.toml").write_text('[[triples]]\nfiles = ["facts.csv"]\n', encoding="utf-8")
    return folder


SCHEMA = "kgreason people anonymize people.toml"
THEIRS = "it is a folder; name a rule file in it, such as release/rules.vada"


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        ("verify release", "missing option '--rules'", "say --rules release/rules.vada"),
        ("verify release --mapping mapping.csv", "missing option '--rules'", "--rules FILE"),
        ("verify nothing", "missing option '--rules'", "say --rules FILE"),
        (
            "verify release --rules release/rules.vada --mapping mapping.csv",
            "the original vertex 'v1' has no row",
            "rules and schemas in its folder read the release; name those of the original",
        ),
        (
            "score release --rules release/rules.vada --mapping mapping.csv",
            "the original vertex 'v1' has no row",
            "rules and schemas in its folder read the release; name those of the original",
        ),
        (
            "verify release --rules control.vada --schema people.toml",
            "no such option '--schema'",
            "kgreason verify --help lists its options",
        ),
        ("check people.toml", "people.toml: this is a schema, no rule file", SCHEMA),
        ("fmt people.toml", "people.toml: this is a schema, no rule file", SCHEMA),
        ("risk --rules people.toml", "people.toml: this is a schema, no rule file", SCHEMA),
        ("reason --rules people.toml", "people.toml: this is a schema, no rule file", SCHEMA),
        ("init people.toml", "people.toml: this is a schema, no table", SCHEMA),
        ("fmt own.csv", "own.csv: this is a table, no rule file", "kgreason init own.csv"),
        ("reason --rules release", "cannot read release", THEIRS),
        ("anonymize --rules release --release r --private p", "cannot read release", THEIRS),
        (
            "reason --rules empty",
            "cannot read empty",
            "the folder holds no rule files (.vada)",
        ),
        ("reason --rules nosuch", "cannot read nosuch", "the folder holds control.vada"),
        (
            "people anonymize schemas.toml --release r --private p",
            "schemas.toml: this is a folder, no file",
            "the folder holds facts.csv",
        ),
        (
            "people anonymize release --release r --private p",
            "release: this is a folder, no file",
            "the folder holds",
        ),
        (
            "reason --rules control.vada --data own=empty",
            "empty: this is a folder, no file",
            "the folder holds no files",
        ),
        (
            "anonymize --rules control.vada --keep-cuts --release r --private p",
            "--keep-cuts has no meaning without --split",
            "say for instance --split 1000",
        ),
    ],
)
@pytest.mark.usefixtures("released")
def test_files_and_folders_in_the_place_of_others(words: str, what: str, hint: str) -> None:
    done = run(*shlex.split(words))
    assert done.exit_code == 2
    assert what in done.stderr
    assert hint in done.stderr.split("help: ")[1]


@pytest.mark.parametrize(
    ("claim", "words", "note"),
    [
        (
            "(3,x)-isomorphism for x = 2, 3",
            "",
            "the release says k = 3, x = 2..3: -k 3 -x 2..3 asks for that\n",
        ),
        ("(2,4)-isomorphism", "", "the release says k = 2, x = 4: -k 2 -x 4 asks for that\n"),
        ("(2,4)-isomorphism", "-x 3", "the release says k = 2, x = 4: -k 2 -x 4 asks for that\n"),
        ("(2,x)-isomorphism for every x", "", "the release says k = 2: -k 2 asks for that\n"),
        ("(3,x)-isomorphism for every x", "", None),
        ("(3,4)-isomorphism", "", None),
        ("(3,x)-isomorphism for x = 2, 3", "-x 4", None),
        ("(2,4)-isomorphism", "-k 3", None),
        ("(2,4)-isomorphism", "--model k-iso", None),
    ],
)
def test_other_numbers_than_a_release_says_are_noted(
    released: Path, claim: str, words: str, note: str | None
) -> None:
    (released / "README.txt").write_text(f"Guarantee: {claim}, for the edges own.\n", encoding="utf-8")
    done = run(*shlex.split(f"verify release --rules release/rules.vada {words}"))
    assert done.exit_code == 1, done.stderr
    assert done.stderr.startswith(note) if note else "the release says" not in done.stderr


EVERY = list(commands())


@pytest.mark.parametrize(("path", "command"), EVERY, ids=[" ".join(path) for path, _ in EVERY])
def test_every_command_is_quiet_logs_and_prints_json(path: tuple[str, ...], command: Any) -> None:
    flags = {flag for param in command.params for flag in param.opts}
    assert {"--quiet", "--log", "--json"} <= flags
    shown = run(*path, "--help")
    assert shown.exit_code == 0
    assert max(len(line) for line in shown.stdout.split("\n")) <= 80
    assert "…" not in shown.stdout


def test_help_on_a_narrow_terminal_cuts_no_option() -> None:
    variables = {**os.environ, "COLUMNS": "40", "PYTHONPATH": str(Path(kgreason.__file__).parent.parent)}
    words = [sys.executable, "-m", "kgreason", "anonymize", "--help"]
    shown = subprocess.run(words, capture_output=True, env=variables, check=True).stdout.decode()
    assert "…" not in shown
    assert "--max-subgraphs" in shown


def test_paths_are_known_as_such_by_their_metavar() -> None:
    """What a file of options calls a file or folder is relative to it; the metavar tells which these are."""
    for path, command in EVERY:
        hints = command.callback.__annotations__
        for param in command.params:
            if "Path" in str(hints.get(param.name)) and param.param_type_name == "option":
                assert re.search("FILE|DIR", param.metavar or ""), (path, param.name)


@pytest.mark.parametrize("before", [True, False])
def test_quiet_says_nothing_but_results_and_errors(here: Path, before: bool) -> None:
    def quiet(command: str, *words: object) -> Result:
        return run("--quiet", command, *words) if before else run(command, *words, "-q")

    checked = quiet("check", "control.vada")
    assert (checked.exit_code, checked.output) == (0, "")
    facts = quiet("reason", "--rules", "control.vada", "--data", "own=own.csv")
    assert (facts.exit_code, facts.stderr) == (0, "")
    assert facts.stdout.startswith("control(")
    data = quiet("reason", "--rules", "control.vada", "--json")
    assert json.loads(data.stdout)["facts"]["control"]
    wrong = quiet("reason", "--rules", "none.vada")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("error")
    (here / "bad.vada").write_text("p(X :- q.\n", encoding="utf-8")
    bad = quiet("check", "bad.vada")
    assert bad.exit_code == 1
    assert "error[" in bad.stderr
    assert "warning[" not in bad.stderr
    made = quiet("anonymize", "--rules", "control.vada", "-x", 2, "--trials", 1)
    assert (made.exit_code, made.output) == (0, "")
    assert (here / "release" / "own.csv").is_file()


@pytest.mark.parametrize(
    ("words", "kind", "told"),
    [
        (
            "reason --rules none.vada",
            "input",
            {"message": "cannot read none.vada: No such file or directory"},
        ),
        ("reason --rules bad.vada", "input", {"file": "bad.vada", "line": 1, "column": 3}),
        ("init none.csv", "input", {"file": "none.csv", "message": "there is no such file", "line": None}),
        ("verify none --rules control.vada --data own=own.csv --mapping x", "input", {"file": "none"}),
        ("risk", "usage", {"message": "kgreason risk: missing option '--rules'"}),
        ("frobnicate", "usage", {"message": "kgreason: no such command 'frobnicate'"}),
        ("init postgresql://ada:hunter2@db.example/register", "input", {}),
        ("convert own.csv own.csv", "input", {}),
        ("--log none/run.log --config none.toml risk", "input", {"file": "none.toml"}),
    ],
)
def test_an_error_is_json_for_who_asks_for_json(
    here: Path, words: str, kind: str, told: dict[str, object]
) -> None:
    (here / "bad.vada").write_text("p(X\n", encoding="utf-8")
    done = run(*words.split(), "--json")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["exit"], found["error"]["kind"]) == (2, 2, kind)
    assert found["error"].items() >= told.items()
    assert found["error"]["hint"]
    assert "error" in done.stderr
    assert "hunter2" not in done.output
    assert run(*words.split()).stdout == ""


def test_json_keeps_letters_that_the_terminal_lacks(here: Path) -> None:
    (here / "register.csv").write_text("owner,company,share\nÄpfel,Öl,0.6\n", encoding="utf-8")
    words = [sys.executable, "-m", "kgreason", "reason", "--rules", "control.vada", "--json"]
    variables = {
        **os.environ,
        "PYTHONIOENCODING": "ascii",
        "PYTHONPATH": str(Path(kgreason.__file__).parent.parent),
    }
    done = subprocess.run(
        [*words, "--data", "own=register.csv"], capture_output=True, env=variables, check=True
    )
    assert ["Äpfel", "Öl"] in json.loads(done.stdout.decode("ascii"))["facts"]["control"]


def test_a_defect_is_json_too(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no such thing")

    monkeypatch.setattr("kgreason.cli.reasoning.load_rules", broken)
    done = run("reason", "--rules", "control.vada", "--json")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["error"]["kind"], found["exit"]) == (1, "defect", 1)
    assert "RuntimeError: no such thing" in found["error"]["message"]


def test_a_text_that_is_formatted_and_a_file_that_is_converted_are_json(here: Path) -> None:
    text = 'p( X):-q(X ).\n@output("p").\n'
    done = CliRunner().invoke(app, ["fmt", "-", "--json"], input=text)
    assert json.loads(done.stdout)["text"].startswith("p(X) :- q(X).")
    found = json.loads(run("convert", "own.csv", "own.gml", "--json").stdout)
    assert found["read"] == found["written"] > 0


def test_check_fmt_and_generate_print_json(here: Path) -> None:
    (here / "bad.vada").write_text("p(X :- q.\n", encoding="utf-8")
    good, bad = json.loads(run("check", "control.vada", "bad.vada", "--json").stdout)["files"]
    assert (good["file"], good["fragment"]) == ("control.vada", "Datalog")
    assert bad["fragment"] is None
    assert {"code", "line", "hint"} <= set(bad["findings"][0])
    assert json.loads(run("fmt", "bad.vada", "--check", "--json").stdout)["failed"] == ["bad.vada"]
    made = json.loads(run("generate", "er", "-n", 9, "-m", 5, "--out", "er.csv", "--json").stdout)
    assert (made["file"], made["edges"]) == ("er.csv", 5)


def kinds(log: Path) -> list[str]:
    return [
        line.split()[2] for line in log.read_text(encoding="utf-8").splitlines() if not line.startswith(" ")
    ]


def test_the_log_tells_what_was_run_and_how_it_ended(here: Path) -> None:
    log = here / "run.log"
    assert run("reason", "--rules", "control.vada", "--log", log).exit_code == 0
    assert run("--log", log, "reason", "--rules", "none.vada").exit_code == 2
    assert run("reason", "--log", log, "--rulez", "none.vada").exit_code == 2
    found = kinds(log)
    assert [k for k in found if k in ("start", "error", "end")] == [
        *("start", "end"),
        *("start", "error", "end"),
        *("start", "error", "end"),
    ]  # fmt: skip
    text = log.read_text(encoding="utf-8")
    assert f"kgreason {kgreason.__version__}: kgreason reason --rules control.vada" in text
    assert '"rules": "control.vada"' in text
    assert re.search(r"step Reading own\.csv: \d+\.\d{3} s", text)
    assert text.count("end exit code 2") == 2
    assert "    --help" not in text
    assert "Adler" not in text
    assert log.stat().st_mode & 0o777 == 0o600


def test_defects_are_logged_with_where_they_came_from(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("kgreason.reasoning.api.reason", broken)
    done = run("reason", "--rules", "control.vada", "--log", "run.log")
    assert isinstance(done.exception, ZeroDivisionError)
    text = (here / "run.log").read_text(encoding="utf-8")
    assert "defect Traceback" in text
    assert "ZeroDivisionError: a defect" in text
    assert text.endswith("end exit code 1\n")


def test_a_table_gets_no_lines_of_a_log(here: Path) -> None:
    before = (here / "own.csv").read_bytes()
    for words in (["reason", "--rules", "control.vada"], ["reason", "--rulez", "none.vada"]):
        done = run(*words, "--log", "own.csv")
        assert done.exit_code == 2
        assert "the log own.csv does not end in .log: lines are added to it" in done.stderr
        assert "help: name it own.csv.log" in done.stderr
    assert (here / "own.csv").read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        ["generate", "er"],
        ["generate", "scale-free"],
        ["generate", "ownership"],
        ["links", "generate"],
        ["people", "generate-k", "te", "own.csv", "--table"],
        ["people", "generate-k", "zipf", "own.csv", "--table"],
        ["risk", "--rules", "control.vada"],
    ],
)
def test_what_is_there_is_replaced_by_force_alone(here: Path, words: list[str]) -> None:
    before = (here / "own.csv").read_bytes()
    done = run(*words, "--out", "own.csv")
    assert done.exit_code == 2
    assert "own.csv exists already\n  help: use --force to replace it, or name another file" in done.stderr
    assert (here / "own.csv").read_bytes() == before
    (here / "new.csv").write_text("x")
    assert run(*words, "--out", "new.csv", "--force").exit_code == 0
    assert (here / "new.csv").read_bytes() != b"x"


@pytest.mark.parametrize("place", ["release/run.log", "private/run.log", "old/run.log", "old/deep/run.log"])
def test_a_log_is_never_published(here: Path, place: str) -> None:
    (here / "old" / "deep").mkdir(parents=True)
    (here / "old" / "README.txt").touch()
    (here / "old" / "rules.vada").touch()
    done = run("anonymize", "--rules", "control.vada", "--log", place)
    assert done.exit_code == 2
    assert f"the log {place} would lie in" in done.stderr
    assert "--log run.log" in done.stderr
    assert not (here / place).exists()
    assert not (here / "release").exists()


def test_a_log_that_cannot_be_written_is_told_before_the_work(here: Path) -> None:
    done = run("anonymize", "--rules", "control.vada", "--log", "none/run.log")
    assert (done.exit_code, (here / "release").exists()) == (2, False)
    assert (
        "the log none/run.log cannot be written: No such file or directory\n  help: name another"
        in done.stderr
    )


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("own=postgresql://ada:hunter2@db/x", "own=postgresql://ada:***@db/x"),
        ("a?password=hunter2&x=1", "a?password=***&x=1"),
        ("Password='hunter2' dbname=x", "Password=*** dbname=x"),
    ],
)
def test_no_password_is_logged(tmp_path: Path, text: str, safe: str) -> None:
    Log(tmp_path / "run.log").write("note", text)
    written = (tmp_path / "run.log").read_text(encoding="utf-8")
    assert written.rstrip().endswith(f" note {safe}")


CONFIG = """\
log = "all.log"

[reason]
rules = "control.vada"
output = ["two_owns"]   # a list
stats = true

[anonymize]
rules = "control.vada"
k = 2
x = "2..3"
trials = 1
release = "out/release"
private = "out/private"

[generate.er]
n = 20
"""


def test_options_come_from_the_file_and_the_command_line_wins(here: Path) -> None:
    (here / "kgreason.toml").write_text(CONFIG, encoding="utf-8")
    done = run("reason")
    assert done.exit_code == 0, done.output
    assert "kgreason.toml says --rules, --output, --stats, --log" in done.stderr
    assert {line.partition("(")[0] for line in done.stdout.splitlines()} == {"two_owns"}
    assert "derived  " in done.stderr
    other = run("reason", "--output", "control", "--quiet")
    assert other.stdout.startswith("control(")
    assert other.stderr == ""
    made = run("anonymize", "-k", 3, "--json")
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["release"] == "out/release"
    text = (here / "all.log").read_text(encoding="utf-8")
    assert text.count(" start ") == 3
    assert '"k": 3' in text
    assert '"x": "2..3"' in text
    drawn = run("generate", "er", "-m", 5, "--out", "er.csv")
    assert drawn.exit_code == 0
    assert "kgreason.toml says -n, --log" in drawn.stderr


def test_paths_of_the_file_are_relative_to_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = here / "deep"
    deep.mkdir()
    text = '[reason]\nrules = "control.vada"\ndata = ["own=own.csv?percent=true"]\nout = "facts"\n'
    for name in ("control.vada", "own.csv"):
        (here / name).rename(deep / name)
    (deep / "long.toml").write_text(text, encoding="utf-8")
    done = run("--config", "deep/long.toml", "reason")
    assert done.exit_code == 0, done.output
    assert (deep / "facts" / "control.csv").is_file()
    monkeypatch.chdir(deep)
    (here / "kgreason.toml").write_text("[reason]\nno = 1\n", encoding="utf-8")
    assert "missing option '--rules'" in run("reason").stderr  # that of a parent folder is not read


@pytest.mark.parametrize(
    ("text", "line", "what", "hint"),
    [
        ("[anonimize]\nk = 2\n", 1, "there is no command 'anonimize'", "did you mean [anonymize]?"),
        ("\n[anonymize]\nkk = 2\n", 3, "kgreason anonymize has no option --kk", "did you mean k?"),
        ("[anonymize]\nmax_subgraphs = 2\n", 2, "no option --max_subgraphs", "did you mean max-subgraphs?"),
        ("[generate.err]\nn = 2\n", 1, "there is no command 'generate err'", "did you mean [generate.er]?"),
        ("k = 2\n[anonymize]\n", 1, "unknown key 'k'", "as [anonymize]"),
        ("quite = true\n", 1, "unknown key 'quite'", "did you mean quiet?"),
        ("[anonymize]\nforce = 1\n", 2, "force cannot be 1", "write force = true"),
        ("[anonymize]\nk = true\n", 2, "k cannot be true", "write k ="),
        ("[anonymize]\nk = [\n1,\n2]\n", 2, "k is one value, not a list", "write k = 1"),
        ('[anonymize]\ndata = [\n  "own=own.csv",\n  1979-05-27]\n', 2, "data cannot be 1979-05-27", "write data"),
        ("[anonymize]\nk = \n", 2, "no TOML", "write a section"),
        ("[anonymize]\nk = 2\n[anonymize.klone]\nk = 3\n", 3, "no section [anonymize.klone]", 'method = "klone"'),
        ("[anonymize]\nk = 2\nk = 3\n", 3, "this key is there already", "leave one of them out"),
        ('[anonymize]\nrules = "a.vada"\n# k\nk = "two"\n', 4, "'--k': 'two' is not a valid integer", "--help"),
        ('[anonymize]\nrules = "a.vada"\nmode = "exct"\n', 3, "'--mode': 'exct' is not one of", "did you mean exact?"),
        ('[anonymize]\nrules = "control.vada"\nkeep-cuts = true\n', 3, "--keep-cuts has no meaning", "leave it out"),
        ('[anonymize]\nrules = "control.vada"\ntau = 4\n', 3, "anonymize has no option --tau", "--help lists"),
        ("[people.anonymise]\nk = 2\n", 1, "no command 'people anonymise'", "did you mean [people.anonymize]?"),
        ("[people.anonymize]\nschema = 2\n", 2, "kgreason people anonymize has no option --schema", "--help lists"),
    ],
)  # fmt: skip
def test_mistakes_in_the_file_are_told_with_their_line(
    here: Path, text: str, line: int, what: str, hint: str
) -> None:
    (here / "kgreason.toml").write_text(text, encoding="utf-8")
    done = run("anonymize")
    assert done.exit_code == 2
    assert f"kgreason.toml:{line}" in done.stderr
    assert what in done.stderr
    assert hint in done.stderr


def test_options_of_people_come_from_the_file(here: Path) -> None:
    (here / "facts.csv").write_text("".join(f"p{i},job,{'cook' if i % 2 else 'nurse'}\n" for i in range(8)))
    (here / "people.toml").write_text(
        '[[triples]]\nfiles = ["facts.csv"]\n[kinds]\ncategorical = ["job"]\n', encoding="utf-8"
    )
    text = '[people.anonymize]\ndata = ["people.toml"]\nk = 2\n[people.verify]\nmodel = "p-k-ad"\nk = 2\n'
    text += 'original = ["people.toml"]\nmapping = ["private"]\n'
    (here / "kgreason.toml").write_text(text, encoding="utf-8")
    made = run("people", "anonymize", "--json")
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["guarantee"].startswith("p-k-ad with k = 2")
    checked = run("people", "verify", "release", "--json")
    assert checked.exit_code == 0, checked.output
    assert json.loads(checked.stdout)["k"] == 2
    (here / "kgreason.toml").write_text(text.replace("k = 2\n", "k = 2\nwindow = 4\n", 1), encoding="utf-8")
    refused = run("people", "anonymize", "--force")
    assert refused.exit_code == 2
    assert "kgreason.toml:4: --window has no meaning with --method pckga" in refused.stderr
    assert "leave it out" in refused.stderr


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """An environment in which ``kgreason`` is a program of this checkout."""
    program = tmp_path / "bin" / "kgreason"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m kgreason "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    root = str(Path(kgreason.__file__).resolve().parent.parent)
    return {
        **os.environ,
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "PYTHONPATH": root,
        "HOME": str(tmp_path),
    }


BASH = """\
shopt -s expand_aliases
eval "$(kgreason --show-completion bash)"
while read -r line; do
  eval "COMP_WORDS=($line)"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
  _kgreason_completion kgreason
  echo "${COMPREPLY[*]}"
done
"""


def test_bash_completes(here: Path, shell: dict[str, str]) -> None:
    asked = {
        "kgreason anon": "anonymize",
        "kgreason anonymize --method k-": "k-iso",
        "kgreason people anonymize --method k-": "k-degree",
        "kgreason people ver": "verify",
        "kgreason people verify --model paired": "paired-k-degree",
        "kgreason check con": "control.vada",
        "kgreason reason --rules control.vada --data o": "own=own.csv",
        "kgreason anonymize --method klone --data o": "own.csv",
        "kgreason anonymize --rel": "--release",
        "kgreason people anonymize --rel": "--release --relations",
    }
    done = subprocess.run(
        ["bash", "--norc", "-c", BASH],
        input="".join(f"{line}\n" for line in asked),
        capture_output=True,
        text=True,
        cwd=here,
        env=shell,
        check=True,
    )
    assert dict(zip(asked, done.stdout.splitlines(), strict=True)) == asked, done.stderr


@pytest.mark.parametrize("kind", ["zsh", "fish"])
def test_other_shells_are_answered(shell: dict[str, str], here: Path, kind: str) -> None:
    """What their scripts ask for, as they ask it."""
    words = "kgreason people anonymize --method k-"
    last = {"zsh": "4", "fish": "k-"}[kind]
    env = {**shell, "_KGREASON_COMPLETE": f"{kind}_complete", "COMP_WORDS": words, "COMP_CWORD": last}
    done = subprocess.run(["kgreason"], capture_output=True, text=True, cwd=here, env=env, check=True)
    assert "k-degree" in done.stdout
    assert "kguard" not in done.stdout
    assert "pckga" not in done.stdout


@pytest.mark.parametrize("kind", ["bash", "zsh", "fish", "powershell"])
def test_scripts_of_completion_name_the_program(kind: str) -> None:
    done = run("--show-completion", kind)
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"_KGREASON_COMPLETE={kind}_complete" in done.stdout.replace("'", "").replace('"', "").replace(
        " = ", "="
    )


# Errors without a hint, by module, and why each needs none. The message of a bad parameter says what it can be
# ("alpha must be above 1"); others pass on what was found elsewhere, together with what is said there.
SAYS_WHAT_CAN_BE = {
    "people.anonymizers.degree_sequence": 1,
    "links.anonymizers": 1,
    "people.anonymizers.cdga_merging": 1,
    "people.anonymizers.methods": 1,
    "people.settings": 1,
    "base.setting_fields": 3,
    "people.verification.checker": 1,
    "links.attacks.disclosure": 1,
    "isomorphism.attacks.attack_settings": 2,
    "graph.generators": 3,
    "people.anonymity_levels": 1,
    "people.file_schema": 1,
}
PASSES_ON = {
    "engine.chase.constraints": 2,  # the message is the rule's own
    "engine.seminaive.evaluation": 2,
    "data.edge_checks": 1,
    "language.functions": 3,  # what the user's own Python file raised
    "reasoning.reasoner": 1,
}
HINT_AT = {
    "DataError": 4,
    "EvaluationError": 3,
    **dict.fromkeys(("CallError", "AnonymizationError", "ReleaseError", "TooLargeError", "NotRealizable"), 1),
}


def test_errors_of_users_tell_the_next_step() -> None:
    found: dict[str, int] = {}
    for path in FILES:
        if "Error(" not in path.read_text(encoding="utf-8") and "NotRealizable(" not in path.read_text(
            encoding="utf-8"
        ):
            continue  # most files, which need not be parsed
        for node in nodes(path):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            at = HINT_AT.get(node.func.id)
            if at is None or len(node.args) > at or any(isinstance(a, ast.Starred) for a in node.args):
                continue
            if not any(keyword.arg in ("hint", None) for keyword in node.keywords):
                name = module(path).removeprefix("kgreason.")
                found[name] = found.get(name, 0) + 1
    assert found == {**SAYS_WHAT_CAN_BE, **PASSES_ON}


@pytest.mark.parametrize("added", [False, True])
def test_what_others_could_still_find(added: bool) -> None:
    """Counts of unique vertices are those of `kgreason risk`, and a release without additions is called so."""
    rules = '@edge("own"). @derived("two"). two(X,Y) :- own(X,Z,_), own(Z,Y,_).'
    m = 40 if added else 700
    graph = erdos_renyi(100, m, np.random.default_rng(0))
    made = kgreason.anonymize(rules, graph, k=2, x=2, trials=1)
    rows = dict(terminal.anonymization_rows(made))
    assert made.unchanged is not added
    as_it_is = "the graph is released as it is" in rows["what others could still find"]
    assert as_it_is is not added
    before = kgreason.risk(rules, graph, x=2)
    unique = made.as_dict()["still_unique"]
    for knowledge in ("in- and out-degree", "neighbours' degrees", "degrees within two hops"):
        first, last = rows[f"  unique by {knowledge}"].split(" -> ")
        assert first == f"{before[knowledge].unique:,} ({before[knowledge].unique / graph.n:.1%})"
        assert (first == last) or added
        assert unique[knowledge]["after"] == int(last.split(" (")[0].replace(",", ""))
    released = made.release.graph
    pairs = list(zip(released.in_degree().tolist(), released.out_degree().tolist(), strict=True))
    alone = sum(pairs.count(pairs[v]) == 1 for v in made.release.mapping.tolist())
    assert unique["in- and out-degree"]["after"] == alone, "true or not, what the release shows is unique"
